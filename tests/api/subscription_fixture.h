/*
 * subscription_fixture.h - a server that tells of changes, at the other end of a socket
 *
 * A thread writes down every line that comes and answers: negotiation in its era, ping,
 * subscriptions/listen with an acknowledgment of all that was asked, resources/subscribe
 * and resources/unsubscribe. What contains `refuse` is answered with an error; while it
 * is `mute` only negotiation and pings are, and the test says the rest by hand. All waits
 * are bounded, and fail the case.
 */
#ifndef TESTS_API_SUBSCRIPTION_FIXTURE_H
#define TESTS_API_SUBSCRIPTION_FIXTURE_H

#include <errno.h>
#include <mcp/subscription.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "api/client.h"
#include "support/test.h"
#include "support/virtual_clock.h"

#define SUBSCRIPTION_KEY "\"io.modelcontextprotocol/subscriptionId\""
#define ALL_LISTS (MCP_TOOLS_CHANGED | MCP_PROMPTS_CHANGED | MCP_RESOURCES_CHANGED)

/* What a legacy server is able to. */
#define TELLS_ALL                                                           \
    "{\"tools\":{\"listChanged\":true},\"prompts\":{\"listChanged\":true}," \
    "\"resources\":{\"listChanged\":true,\"subscribe\":true}}"

struct teller {
    struct test_mem mem;
    mcp_client *client;
    int fd;
    enum mcp_era era;
    const char *capabilities; /* legacy; constant */
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    bool mute, silent; /* silent: nothing is answered at all */
    const char *refuse;
    char **lines;
    size_t count;
    bool over; /* the client has hung up */
};

/* ---- saying -------------------------------------------------------------- */

static inline void
teller_say(struct teller *t, const char *line)
{
    size_t len = strlen(line), at = 0;
    char *text = malloc(len + 2);

    assert_non_null(text);
    memcpy(text, line, len);
    text[len] = '\n';
    while (at < len + 1) {
        ssize_t n = send(t->fd, text + at, len + 1 - at, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            break; /* the client is gone */
        at += n > 0 ? (size_t)n : 0;
    }
    free(text);
}

static inline void __attribute__((format(printf, 2, 3)))
teller_sayf(struct teller *t, const char *format, ...)
{
    char line[8192];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    teller_say(t, line);
}

/* members: of the result. id: JSON text. */
static inline void
teller_answer(struct teller *t, const char *id, const char *members)
{
    teller_sayf(t, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{%s%s%s}}", id,
                t->era == MCP_ERA_LEGACY ? "" : "\"resultType\":\"complete\"",
                t->era != MCP_ERA_LEGACY && members[0] ? "," : "", members);
}

static inline void
teller_refuse(struct teller *t, const char *id)
{
    teller_sayf(t,
                "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32602,"
                "\"message\":\"not\\nthat\"}}",
                id);
}

/* listen: the name of a subscription, as "listen-1"; filter: JSON text. */
static inline void
teller_ack(struct teller *t, const char *listen, const char *filter)
{
    teller_sayf(t,
                "{\"jsonrpc\":\"2.0\",\"method\":"
                "\"notifications/subscriptions/"
                "acknowledged\",\"params\":{\"_meta\":{" SUBSCRIPTION_KEY
                ":\"%s\"},\"notifications\":%s}}",
                listen, filter);
}

/* The listen result. */
static inline void
teller_end(struct teller *t, const char *listen)
{
    teller_sayf(t,
                "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"resultType\":"
                "\"complete\",\"_meta\":{" SUBSCRIPTION_KEY ":\"%s\"}}}",
                listen, listen);
}

/* A cancel frame. */
static inline void
teller_revoke(struct teller *t, const char *listen)
{
    teller_sayf(t,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                "\"params\":{\"requestId\":\"%s\"}}",
                listen);
}

/* what: "tools/list_changed"; listen NULL: untagged, as a legacy server does. uri NULL:
 * none. */
static inline void
teller_tell(struct teller *t, const char *listen, const char *what, const char *uri)
{
    char meta[128] = "", where[4096] = "";

    if (listen)
        snprintf(meta, sizeof meta, "\"_meta\":{" SUBSCRIPTION_KEY ":\"%s\"}", listen);
    if (uri)
        snprintf(where, sizeof where, "%s\"uri\":\"%s\"", listen ? "," : "", uri);
    teller_sayf(
        t, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s\",\"params\":{%s%s}}",
        what, meta, where);
}

/* ---- its thread ---------------------------------------------------------- */

static inline void
teller_acknowledge(struct teller *t, const mcp_json *root)
{
    const mcp_json *filter = mcp_json_get(mcp_json_get(root, "params"),
                                          "notifications");
    char *text;

    assert_int_equal(mcp_json_print(filter, false, NULL, &text, NULL), 0);
    teller_ack(t, mcp_json_string(mcp_json_get(root, "id"), "?"), text);
    mcp_text_free(text, NULL);
}

/* True: it was negotiation, or a ping. */
static inline bool
teller_negotiate(struct teller *t, const mcp_json *method, const char *id)
{
    if (mcp_json_is_string(method, "server/discover") && t->era != MCP_ERA_LEGACY)
        teller_answer(t, id,
                      "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{},"
                      "\"ttlMs\":0,\"cacheScope\":\"private\"");
    else if (mcp_json_is_string(method, "initialize"))
        teller_sayf(t,
                    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"protocolVersion\":"
                    "\"2025-11-25\",\"capabilities\":%s,\"serverInfo\":{\"name\":"
                    "\"teller\",\"version\":\"1\"}}}",
                    id, t->capabilities);
    else if (mcp_json_is_string(method, "ping"))
        teller_answer(t, id, "");
    else
        return false;
    return true;
}

static inline void
teller_serve(struct teller *t, const mcp_json *root, const char *id, const char *line)
{
    const mcp_json *method = mcp_json_get(root, "method");
    const char *refuse;
    bool mute, silent;

    pthread_mutex_lock(&t->lock);
    mute = t->mute;
    silent = t->silent;
    refuse = t->refuse;
    pthread_mutex_unlock(&t->lock);
    if (silent || teller_negotiate(t, method, id) || mute)
        return;
    if (refuse && strstr(line, refuse))
        teller_refuse(t, id);
    else if (mcp_json_is_string(method, "subscriptions/listen"))
        teller_acknowledge(t, root);
    else
        teller_answer(t, id, "");
}

static inline void
teller_handle(struct teller *t, const char *line)
{
    const mcp_json *id;
    mcp_doc *doc;
    char *text;

    pthread_mutex_lock(&t->lock);
    t->lines = realloc(t->lines, (t->count + 1) * sizeof *t->lines);
    t->lines[t->count++] = strdup(line);
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    if (mcp_doc_parse(line, strlen(line), NULL, &doc, NULL) < 0)
        return;
    id = mcp_json_get(mcp_doc_root(doc), "id");
    if (id && mcp_json_get(mcp_doc_root(doc), "method") &&
        mcp_json_print(id, false, NULL, &text, NULL) == 0) {
        teller_serve(t, mcp_doc_root(doc), text, line);
        mcp_text_free(text, NULL);
    }
    mcp_doc_free(doc);
}

static inline void *
teller_main(void *user)
{
    struct teller *t = user;
    char part[4096];
    char *buf = NULL;
    size_t len = 0;
    ssize_t n;

    while ((n = recv(t->fd, part, sizeof part, 0)) > 0) {
        char *end;

        buf = realloc(buf, len + (size_t)n + 1);
        memcpy(buf + len, part, (size_t)n);
        len += (size_t)n;
        buf[len] = '\0';
        while ((end = strchr(buf, '\n')) != NULL) {
            *end = '\0';
            teller_handle(t, buf);
            len -= (size_t)(end + 1 - buf);
            memmove(buf, end + 1, len + 1);
        }
    }
    free(buf);
    pthread_mutex_lock(&t->lock);
    t->over = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* ---- the test's side ----------------------------------------------------- */

#define TELLER_OPTIONS(...) \
    MCP_CLIENT_OPTIONS(.name = "test", .version = "1", __VA_ARGS__)

/* Without a client; the descriptor for one is returned. */
static inline int
teller_prepare(struct teller *t, enum mcp_era era, const char *capabilities)
{
    int ends[2];

    memset(t, 0, sizeof *t);
    test_mem_init(&t->mem);
    t->era = era;
    t->capabilities = capabilities;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    t->fd = ends[0];
    return ends[1];
}

static inline void
teller_start(struct teller *t)
{
    assert_int_equal(pthread_create(&t->thread, NULL, teller_main, t), 0);
}

static inline void
teller_open_as(struct teller *t, enum mcp_era era, const char *capabilities,
               mcp_client_options opt)
{
    int fd = teller_prepare(t, era, capabilities);
    mcp_error err;

    teller_start(t);
    opt.allocator = &t->mem.allocator;
    opt.era = era;
    if (mcp_client_attach(fd, fd, &opt, &t->client, &err) < 0)
        fail_msg("no client: %s", err.message);
}

static inline void
teller_open(struct teller *t)
{
    teller_open_as(t, MCP_ERA_MODERN, NULL, TELLER_OPTIONS(.quiet = true));
}

static inline void
teller_open_legacy(struct teller *t)
{
    teller_open_as(t, MCP_ERA_LEGACY, TELLS_ALL, TELLER_OPTIONS(.quiet = true));
}

/* From now on the client's time stands still, but for what passes on the clock. */
static inline void
teller_hold_time(struct teller *t, struct virtual_clock *clock)
{
    virtual_clock_init(clock);
    virtual_clock_hold(clock, t->client->host.inside);
}

static inline void
teller_leave(struct teller *t)
{
    (void)shutdown(t->fd, SHUT_RDWR);
}

static inline void
teller_close(struct teller *t)
{
    size_t i;

    mcp_client_free(t->client);
    teller_leave(t);
    pthread_join(t->thread, NULL);
    close(t->fd);
    for (i = 0; i < t->count; i++)
        free(t->lines[i]);
    free(t->lines);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    test_mem_done(&t->mem);
}

static inline void
teller_set_mute(struct teller *t, bool mute)
{
    pthread_mutex_lock(&t->lock);
    t->mute = mute;
    pthread_mutex_unlock(&t->lock);
}

static inline void
teller_set_refuse(struct teller *t, const char *part)
{
    pthread_mutex_lock(&t->lock);
    t->refuse = part;
    pthread_mutex_unlock(&t->lock);
}

/* Under lock. */
static inline const char *
teller_find(const struct teller *t, const char *part, size_t nth)
{
    size_t i;

    for (i = 0; i < t->count; i++) {
        if (strstr(t->lines[i], part) && --nth == 0)
            return t->lines[i];
    }
    return NULL;
}

static inline struct timespec
await_deadline(void)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += AWAIT_MS / 1000;
    return at;
}

/* The nth line (from 1) that contains this; waits for it. Good until the end. */
static inline const char *
teller_line(struct teller *t, const char *part, size_t nth)
{
    struct timespec at = await_deadline();
    const char *line;
    int r = 0;

    pthread_mutex_lock(&t->lock);
    while ((line = teller_find(t, part, nth)) == NULL && r == 0)
        r = pthread_cond_timedwait(&t->changed, &t->lock, &at);
    pthread_mutex_unlock(&t->lock);
    if (!line)
        fail_msg("no line %zu with %s", nth, part);
    return line;
}

static inline size_t
teller_count(struct teller *t, const char *part)
{
    size_t i, count = 0;

    pthread_mutex_lock(&t->lock);
    for (i = 0; i < t->count; i++)
        count += strstr(t->lines[i], part) != NULL;
    pthread_mutex_unlock(&t->lock);
    return count;
}

/* All that the client sent, and all that the server said, before now has arrived. */
static inline void
teller_sync(struct teller *t)
{
    mcp_error err;

    if (mcp_client_ping(t->client, NULL, &err) < 0)
        fail_msg("no answer to a ping: %s", err.message);
}

/* Close the client, and wait until all it ever wrote is there. */
static inline void
teller_await_end(struct teller *t)
{
    struct timespec at = await_deadline();
    int r = 0;

    mcp_client_close(t->client);
    pthread_mutex_lock(&t->lock);
    while (!t->over && r == 0)
        r = pthread_cond_timedwait(&t->changed, &t->lock, &at);
    pthread_mutex_unlock(&t->lock);
    assert_int_equal(r, 0);
}

/* The id of the request in a line, as JSON text, in a buffer that is used again. */
static inline const char *
line_id(const char *line)
{
    static char id[64];
    const char *at = strstr(line, "\"id\":");

    assert_non_null(at);
    assert_int_equal(sscanf(at + 5, "%63[^,}]", id), 1);
    return id;
}

/* ---- subscriptions ------------------------------------------------------- */

/* One that is open, or will be. */
static inline mcp_subscription *
subscribe(struct teller *t, mcp_subscribe opt)
{
    mcp_subscription *s = NULL;
    mcp_error err;

    if (mcp_client_subscribe(t->client, &opt, &s, &err) < 0)
        fail_msg("no subscription: %s", err.message);
    return s;
}

/* The next event is this. */
static inline void
expect_event(mcp_subscription *s, enum mcp_change change, const char *uri)
{
    mcp_notice event;

    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &event), 0);
    assert_int_equal(event.change, change);
    if (uri)
        assert_string_equal(event.uri, uri);
    else
        assert_null(event.uri);
}

/* There is none, and it is open. */
static inline void
expect_none(mcp_subscription *s)
{
    mcp_notice event;

    assert_int_equal(mcp_subscription_next(s, 0, &event), MCP_E_AGAIN);
    assert_int_equal(mcp_subscription_how(s), MCP_SUBSCRIPTION_OPEN);
    assert_int_equal(mcp_subscription_status(s, NULL), 0);
}

/* It ends, with no event before. */
static inline void
expect_end(mcp_subscription *s, enum mcp_subscription_end how, int status)
{
    mcp_error err = {0};
    mcp_notice event;

    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &event), MCP_E_CLOSED);
    assert_int_equal(mcp_subscription_next(s, 0, &event), MCP_E_CLOSED);
    assert_int_equal(mcp_subscription_how(s), how);
    assert_int_equal(mcp_subscription_status(s, &err), status);
    assert_int_equal(err.status, status);
}

/* A call of mcp_client_subscribe that waits, on a thread of its own. */
struct opening {
    mcp_client *client;
    mcp_subscribe opt;
    pthread_t thread;
    int r;
    mcp_subscription *s;
    mcp_error err;
};

static inline void *
opening_main(void *user)
{
    struct opening *o = user;

    o->r = mcp_client_subscribe(o->client, &o->opt, &o->s, &o->err);
    return NULL;
}

static inline void
opening_begin(struct opening *o, struct teller *t, mcp_subscribe opt)
{
    memset(o, 0, sizeof *o);
    o->client = t->client;
    o->opt = opt;
    assert_int_equal(pthread_create(&o->thread, NULL, opening_main, o), 0);
}

static inline int
opening_end(struct opening *o)
{
    pthread_join(o->thread, NULL);
    assert_int_equal(o->r == 0, o->s != NULL);
    assert_int_equal(o->err.status, o->r);
    return o->r;
}

#endif
