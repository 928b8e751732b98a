/* desk.h - a client that is asked by a scripted server, and what its handlers saw */
#ifndef TESTS_API_DESK_H
#define TESTS_API_DESK_H

#include <mcp/client.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/client_fixture.h"

struct desk {
    struct fixture f;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    size_t asked;    /* handlers that were called */
    size_t told;     /* hooks that ran */
    size_t canceled; /* handlers that saw a cancel and returned */
    size_t returned; /* handlers of any kind that are done */
    char reason[64]; /* that the last of these was given */
    bool open;       /* handlers that wait for it may go on */
};

static inline void
desk_prepare(struct desk *d, enum mcp_era era)
{
    memset(d, 0, sizeof *d);
    fixture_prepare(&d->f, era);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
}

static inline void
desk_attach(struct desk *d, mcp_client_options opt)
{
    mcp_client *client;

    opt.allocator = &d->f.mem.allocator;
    opt.user = d;
    client = script_client(&d->f.s, &opt);
    pthread_mutex_lock(&d->lock);
    d->f.client = client;
    pthread_mutex_unlock(&d->lock);
}

static inline void
desk_close(struct desk *d)
{
    fixture_close(&d->f);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
}

static inline void
desk_add(struct desk *d, size_t *member)
{
    pthread_mutex_lock(&d->lock);
    *member += 1;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

static inline size_t
desk_count(struct desk *d, const size_t *member)
{
    size_t value;

    pthread_mutex_lock(&d->lock);
    value = *member;
    pthread_mutex_unlock(&d->lock);
    return value;
}

static inline void
desk_await(struct desk *d, const size_t *member, size_t value)
{
    struct timespec at;
    int r = 0;
    size_t is;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += 60;
    pthread_mutex_lock(&d->lock);
    while (*member < value && r == 0)
        r = pthread_cond_timedwait(&d->changed, &d->lock, &at);
    is = *member;
    pthread_mutex_unlock(&d->lock);
    if (is < value)
        fail_msg("waited for %zu, got %zu", value, is);
}

/* Let handlers go on that wait for it. */
static inline void
desk_open(struct desk *d)
{
    pthread_mutex_lock(&d->lock);
    d->open = true;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

/* Wait for that, deaf to any cancel. */
static inline void
desk_pass(struct desk *d)
{
    pthread_mutex_lock(&d->lock);
    while (!d->open)
        pthread_cond_wait(&d->changed, &d->lock);
    pthread_mutex_unlock(&d->lock);
}

/* The server has heard all that came before: a ping of it is answered. */
static inline void
desk_sync(struct desk *d, const char *id)
{
    char line[96];

    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"ping\"}", id);
    script_say(&d->f.s, line);
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{}}",
             id);
    (void)script_line(&d->f.s, line, 1);
}

/* ---- handlers; the client's user is the desk ------------------------------ */

static inline struct desk *
desk_of(mcp_request *req)
{
    struct desk *d = mcp_request_server_user(req);

    desk_add(d, &d->asked);
    return d;
}

/* "Ann", at once. */
static inline int
answer_ann(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    (void)desk_of(req);
    return mcp_result_json(out, "{\"name\":\"Ann\"}", 14);
}

/* A handler that was told: its hook ran. */
struct hooked {
    struct desk *desk;
    bool told; /* under the desk's lock */
};

static inline void
desk_hook(void *user)
{
    struct hooked *h = user;

    pthread_mutex_lock(&h->desk->lock);
    h->told = true;
    h->desk->told++;
    pthread_cond_broadcast(&h->desk->changed);
    pthread_mutex_unlock(&h->desk->lock);
}

static inline void
desk_await_hook(struct hooked *h)
{
    pthread_mutex_lock(&h->desk->lock);
    while (!h->told)
        pthread_cond_wait(&h->desk->changed, &h->desk->lock);
    pthread_mutex_unlock(&h->desk->lock);
}

static inline int
desk_leave(struct desk *d, mcp_request *req, int status)
{
    pthread_mutex_lock(&d->lock);
    snprintf(d->reason, sizeof d->reason, "%s", mcp_request_cancel_reason(req));
    d->canceled += mcp_request_is_canceled(req);
    d->returned++;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    return status;
}

/* Waits for its cancel, in a wait of the library's, and then for its hook. */
static inline int
wait_for_cancel(mcp_request *req, mcp_result *out, void *user)
{
    struct desk *d = mcp_request_server_user(req);
    struct hooked h = {.desk = d};
    int r, fd = -1;

    (void)out;
    (void)user;
    r = mcp_request_on_cancel(req, desk_hook, &h, NULL);
    if (r == 0)
        r = mcp_request_cancel_fd(req, &fd);
    desk_add(d, &d->asked);
    if (r == 0)
        r = mcp_request_sleep(req, 60000);
    if (r == MCP_E_CANCELED) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        assert_int_equal(poll(&p, 1, AWAIT_MS), 1);
        desk_await_hook(&h);
    }
    return desk_leave(d, req, r);
}

/* Waits for the desk to be opened, and answers "Ann" whatever has become of the
 * request. */
static inline int
answer_late(mcp_request *req, mcp_result *out, void *user)
{
    struct desk *d = desk_of(req);

    (void)user;
    desk_pass(d);
    return desk_leave(d, req, mcp_result_json(out, "{\"name\":\"Ann\"}", 14));
}

/* ---- what the server says -------------------------------------------------- */

#define DESK_FORM                                                    \
    "\"message\":\"Who?\",\"requestedSchema\":{\"type\":\"object\"," \
    "\"required\":[\"name\"],\"properties\":{\"name\":{\"type\":\"string\"}}}"

#define DESK_ELICIT(id)                                                     \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"elicitation/create\"," \
    "\"params\":{" DESK_FORM "}}"

#define DESK_CANCEL(id)                                            \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"," \
    "\"params\":{\"requestId\":" id ",\"reason\":\"no need\"}}"

#endif
