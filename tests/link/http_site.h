/*
 * link/http_site.h - an endpoint over a real engine on a loop, and carriers that write
 * down what they are given
 *
 * The server answers tools/call by the tool's name: "hold" waits until it is told or let
 * go, "flood" says `flood` log messages of `flood_bytes` first, all others answer at
 * once, with `answer_bytes` more than they must. A loop is stepped, with time in the test's hand, or runs on a thread of its own.
 */
#ifndef TESTS_LINK_HTTP_SITE_H
#define TESTS_LINK_HTTP_SITE_H

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine.h"
#include "core/exchange.h"
#include "link/http_endpoint.h"
#include "link/http_mount.h"
#include "support/messages.h"
#include "support/sender.h"
#include "support/test.h"

#define SITE_SECOND INT64_C(1000000)

enum { SITE_HELD_MAX = 512 };

#define MODERN_FIELDS                                            \
    {"Host", "localhost"}, {"Content-Type", "application/json"}, \
        {"Accept", "application/json, text/event-stream"},       \
        {"Mcp-Method", "tools/call"},                            \
    {                                                            \
        "MCP-Protocol-Version", "2026-07-28"                     \
    }
#define MODERN_TOOL(id, name) \
    REQUEST(id, "tools/call", "{\"name\":\"" name "\"," STAMP "}")
#define LEGACY_TOOL(id, name) REQUEST(id, "tools/call", "{\"name\":\"" name "\"}")

struct site {
    struct test_mem mem;
    mcp_http_options http;
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    struct mcpi_endpoint *endpoint;
    struct mcpi_mount *mount;
    struct mcpi_accounts *accounts; /* the test's; or NULL */
    bool threaded;
    int64_t now;
    struct mcpi_post post; /* of site_close */
    /* loop only */
    struct mcpi_exchange *held[SITE_HELD_MAX];
    size_t held_count;
    int flood, flood_bytes, answer_bytes;
    /* any */
    atomic_int served, told, canceled;
    atomic_bool closed;
};

/* ---- what it serves ------------------------------------------------------ */

static inline int64_t
site_now(const struct site *s)
{
    return mcpi_loop_now(s->loop);
}

static inline void
site_answer(struct mcpi_exchange *x)
{
    struct site *s = x->served_user;
    struct mcpi_result result;

    mcpi_result_init(&result, x->engine);
    mcpi_buf_text(&result.body, "{\"content\":[]");
    if (s->answer_bytes > 0) {
        mcpi_buf_text(&result.body, ",\"x\":0.");
        for (int i = 0; i < s->answer_bytes; i++)
            mcpi_buf_char(&result.body, '1');
    }
    mcpi_buf_char(&result.body, '}');
    mcpi_exchange_finish(x, &result, site_now(s));
}

static inline void
site_flood(struct mcpi_exchange *x)
{
    struct site *s = x->served_user;
    size_t size = (size_t)s->flood_bytes + 128;
    char *params = malloc(size);
    int len;

    assert_non_null(params);
    for (int i = 0; i < s->flood; i++) {
        len = snprintf(params, size, "{\"level\":\"error\",\"data\":\"<%d>%0*d\"}", i,
                       s->flood_bytes, 0);
        (void)mcpi_exchange_notify(x, "notifications/message", params, (size_t)len,
                                   site_now(s));
    }
    free(params);
}

static inline void
site_begin(struct mcpi_exchange *x)
{
    struct site *s = x->served_user;
    const char *tool = mcp_json_string(mcp_json_get(x->rpc.params, "name"), "");

    atomic_fetch_add(&s->served, 1);
    if (strcmp(tool, "flood") == 0)
        site_flood(x);
    if (strcmp(tool, "hold") == 0) {
        assert_true(s->held_count < SITE_HELD_MAX);
        s->held[s->held_count++] = x;
    } else {
        site_answer(x);
    }
}

static inline void
site_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct site *s = x->served_user;

    (void)reason;
    atomic_fetch_add(&s->told, 1);
    atomic_fetch_add(&s->canceled, how == MCPI_CANCELED);
    for (size_t i = 0; i < s->held_count; i++) {
        if (s->held[i] != x)
            continue;
        s->held[i] = s->held[--s->held_count];
        site_answer(x);
        return;
    }
}

static inline int
site_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    static const struct mcpi_served_ops ops = {.begin = site_begin,
                                               .ended = site_ended};

    (void)why;
    mcpi_exchange_serve(x, &ops, user);
    return 0;
}

/* Let the oldest one that is held go. */
static inline void
site_let_go(struct site *s)
{
    struct mcpi_exchange *x = s->held[0];

    assert_true(s->held_count > 0);
    s->held_count--;
    memmove(&s->held[0], &s->held[1], s->held_count * sizeof(s->held[0]));
    site_answer(x);
}

/* ---- its life ------------------------------------------------------------ */

static inline int64_t
site_clock(void *user)
{
    return ((struct site *)user)->now;
}

static inline void
site_on_closed(void *user, struct mcpi_endpoint *endpoint)
{
    struct site *s = user;

    mcpi_mount_close(s->mount);
    mcpi_endpoint_free(endpoint);
    s->endpoint = NULL;
    atomic_store(&s->closed, true);
}

static inline void
site_on_close(struct mcpi_post *post)
{
    mcpi_endpoint_close(MCPI_CONTAINER(post, struct site, post)->endpoint);
}

/* Options as a server has them when it has read its own. */
static inline void
site_init(struct site *s)
{
    memset(s, 0, sizeof(*s));
    test_mem_init(&s->mem);
    s->now = 1000 * SITE_SECOND;
    s->flood = 3;
    s->http = MCP_HTTP_OPTIONS(.host = "127.0.0.1", .path = "/mcp", .threads = 1,
                               .retry_ms = 1000, .ping_ms = 15000, .head_ms = 10000,
                               .body_ms = 60000, .idle_ms = 75000, .write_ms = 30000,
                               .session_idle_ms = 1800000, .connections = 16384,
                               .sessions = 10000, .session_streams = 64,
                               .body_bytes = 1 << 20, .head_bytes = 32768);
    s->post.fn = site_on_close;
}

static inline void
site_open(struct site *s, bool threaded)
{
    static const struct mcpi_router router = {.route = site_route};
    const struct mcpi_engine_options eo = {
        .mem = &s->mem.allocator,
        .role = MCPI_SERVER,
        .identity = {.info = "{\"name\":\"site\",\"version\":\"1\"}"},
        .router = &router,
        .router_user = s};
    struct mcpi_engine_options engine = eo;
    struct mcpi_endpoint_options opt = {.http = &s->http,
                                        .modern = true,
                                        .legacy = true,
                                        .loopback = true,
                                        .shards = 1,
                                        .closed = site_on_closed,
                                        .user = s};

    s->threaded = threaded;
    assert_int_equal(mcpi_loop_new(&s->mem.allocator, NULL, &s->loop), 0);
    if (!threaded)
        mcpi_loop_set_clock(s->loop, site_clock, s);
    engine.timers = mcpi_loop_timers(s->loop);
    assert_int_equal(mcpi_engine_new(&engine, &s->engine), 0);
    opt.loop = s->loop;
    opt.engine = s->engine;
    assert_int_equal(mcpi_endpoint_new(&opt, &s->endpoint), 0);
    assert_int_equal(mcpi_mount_new(s->loop, &nobody_counts, &s->mount), 0);
    mcpi_mount_open(s->mount, s->endpoint);
    if (threaded)
        assert_int_equal(mcpi_loop_start(s->loop), 0);
}

static inline bool
site_is_busy(struct mcpi_loop *loop)
{
    struct pollfd fd = {.fd = mcpi_loop_fd(loop), .events = POLLIN};

    return poll(&fd, 1, 0) > 0 || mcpi_loop_timeout_ms(loop) == 0;
}

static inline void
site_run(struct site *s)
{
    for (int i = 0; i < 100000; i++) {
        if (i > 0 && !site_is_busy(s->loop))
            return;
        assert_int_equal(mcpi_loop_step(s->loop), 0);
    }
    fail_msg("the loop is never quiet");
}

static inline void
site_pass(struct site *s, int64_t us)
{
    s->now += us;
    (void)mcpi_timers_expire(mcpi_loop_timers(s->loop), s->now);
    site_run(s);
}

/* A bound for what happens soon on another thread. */
static inline void
site_nap(void)
{
    const struct timespec little = {.tv_nsec = 200000};

    (void)nanosleep(&little, NULL);
}

#define SITE_WAIT(condition)                          \
    do {                                              \
        int64_t until = mcpi_loop_clock() + AWAIT_US; \
                                                      \
        while (!(condition)) {                        \
            assert_true(mcpi_loop_clock() < until);   \
            site_nap();                               \
        }                                             \
    } while (0)

/* Our own stop: the endpoint closes, the mount with it. */
static inline void
site_stop(struct site *s)
{
    if (atomic_load(&s->closed))
        return;
    mcpi_loop_post(s->loop, &s->post);
    if (s->threaded) {
        SITE_WAIT(atomic_load(&s->closed));
        return;
    }
    site_run(s);
    if (!atomic_load(&s->closed))
        site_pass(s, 60 * SITE_SECOND);
    assert_true(atomic_load(&s->closed));
}

/* Stops and frees; nothing is left. The mount's last references are the test's. */
static inline void
site_close(struct site *s)
{
    site_stop(s);
    mcpi_mount_unref(s->mount);
    mcpi_loop_stop(s->loop);
    if (s->threaded) { /* handles of the endpoint's get their last word */
        mcpi_loop_free(s->loop);
        assert_int_equal(mcpi_engine_free(s->engine), 0);
    } else {
        site_run(s);
        assert_int_equal(mcpi_engine_free(s->engine), 0);
        mcpi_loop_free(s->loop);
    }
    assert_int_equal(s->held_count, 0);
    test_mem_done(&s->mem);
}

/* ---- requests ------------------------------------------------------------ */

static inline struct mcpi_http_in
request_of(enum mcpi_http_method method, const char *target,
           const mcp_http_field *fields, size_t count, const char *body)
{
    static const char *const names[] = {"OTHER",  "GET",     "POST",
                                        "DELETE", "OPTIONS", "HEAD"};

    return (struct mcpi_http_in){.method = method,
                                 .method_name = names[method],
                                 .target = target,
                                 .path_len = strcspn(target, "?"),
                                 .fields = fields,
                                 .field_count = count,
                                 .body = body,
                                 .body_len = body ? strlen(body) : 0};
}

/* A modern call of a tool, by POST. name: as in Mcp-Name. */
static inline struct mcpi_http_in
modern_call(const char *name, const char *body)
{
    static mcp_http_field fields[][6] = {
        {MODERN_FIELDS, {"Mcp-Name", "echo"}},
        {MODERN_FIELDS, {"Mcp-Name", "hold"}},
        {MODERN_FIELDS, {"Mcp-Name", "flood"}},
    };
    size_t i = 0;

    while (strcmp(fields[i][5].value, name) != 0) {
        i++;
        assert_true(i < sizeof(fields) / sizeof(fields[0]));
    }
    return request_of(MCPI_HTTP_POST, "/mcp", fields[i], 6, body);
}

/* ---- a carrier ----------------------------------------------------------- */

struct carrier {
    struct mcpi_turn turn;
    bool full;  /* takes nothing more at once: what comes is kept */
    bool keeps; /* it does */
    int replies, opens, writes, ends, aborts;
    int status;
    char type[64], session[64];
    size_t field_count;
    char *text; /* of all bodies, terminated */
    size_t len;
};

static inline void
carrier_hear(struct carrier *c, const char *data, size_t len)
{
    c->text = realloc(c->text, c->len + len + 1);
    assert_non_null(c->text);
    if (len > 0)
        memcpy(c->text + c->len, data, len);
    c->len += len;
    c->text[c->len] = '\0';
}

static inline bool
carrier_head(struct carrier *c, const struct mcpi_http_out *out)
{
    assert_false(c->keeps);
    c->status = out->status;
    c->field_count = out->field_count;
    (void)snprintf(c->type, sizeof(c->type), "%s", out->type ? out->type : "");
    carrier_hear(c, out->body, out->body ? out->body_len : 0);
    c->keeps = c->full;
    return !c->full;
}

static inline bool
carrier_reply(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    struct carrier *c = MCPI_CONTAINER(turn, struct carrier, turn);

    assert_null(turn->served);
    c->replies++;
    return carrier_head(c, out);
}

static inline bool
carrier_open(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    struct carrier *c = MCPI_CONTAINER(turn, struct carrier, turn);

    assert_non_null(turn->served);
    c->opens++;
    return carrier_head(c, out);
}

static inline bool
carrier_write(struct mcpi_turn *turn, const char *data, size_t len)
{
    struct carrier *c = MCPI_CONTAINER(turn, struct carrier, turn);

    assert_false(c->keeps);
    assert_int_equal(c->opens, 1);
    c->writes++;
    carrier_hear(c, data, len);
    c->keeps = c->full;
    return !c->full;
}

static inline void
carrier_end(struct mcpi_turn *turn)
{
    assert_null(turn->served);
    MCPI_CONTAINER(turn, struct carrier, turn)->ends++;
}

static inline void
carrier_abort(struct mcpi_turn *turn)
{
    assert_null(turn->served);
    MCPI_CONTAINER(turn, struct carrier, turn)->aborts++;
}

static inline void
carrier_init(struct carrier *c)
{
    static const struct mcpi_turn_ops ops = {.reply = carrier_reply,
                                             .open = carrier_open,
                                             .write = carrier_write,
                                             .end = carrier_end,
                                             .abort = carrier_abort};

    memset(c, 0, sizeof(*c));
    c->turn.ops = &ops;
    carrier_hear(c, "", 0);
}

static inline void
carrier_done(struct carrier *c)
{
    assert_null(c->turn.served);
    free(c->text);
}

/* What was kept has left. */
static inline void
carrier_drain(struct carrier *c)
{
    bool kept = c->keeps;

    c->keeps = false;
    if (kept)
        mcpi_turn_written(&c->turn);
}

static inline bool
carrier_is_done(const struct carrier *c)
{
    return c->replies + c->ends + c->aborts > 0;
}

/* How often it was told that. */
static inline size_t
carrier_heard(const struct carrier *c, const char *part)
{
    size_t count = 0;

    for (const char *at = strstr(c->text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

#endif
