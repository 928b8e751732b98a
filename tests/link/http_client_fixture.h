/*
 * http_client_fixture.h - a client link with a real engine, whose server is the test
 *
 * Requests go to a fake fetcher, time is the test's, and nothing happens but in lab_run
 * and lab_pass. The world in it is only there for calls and their outcomes.
 */
#ifndef TESTS_LINK_HTTP_CLIENT_FIXTURE_H
#define TESTS_LINK_HTTP_CLIENT_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine.h"
#include "core/leg.h"
#include "link/http_client.h"
#include "link/http_entry.h"
#include "support/fake_fetch.h"
#include "support/messages.h"
#include "support/streams.h"
#include "support/wire.h"
#include "support/world.h"

#define URL "http://server.test/mcp"
#define JSON_TYPE "application/json"
#define SSE_HEAD "Content-Type: text/event-stream"
#define SESSION_HEAD "Mcp-Session-Id: s-1"

struct lab {
    struct world w; /* now, and the peer */
    struct test_mem own_mem, *mem;
    struct fake_fetcher fetcher;
    struct mcpi_log log;
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    struct mcpi_http_client *client;
    const struct mcpi_mirror *mirror; /* what there is for each tool */
    int ready, ready_status, renewed, lost, closed, notices;
    struct mcpi_exchange *asked; /* the last request of the server's; counted */
    char logged[8192];
    char shown[16384]; /* to who watches: "> ", "< " or "= ", and a newline behind */
};

struct lab_options {
    enum mcpi_era era;
    struct mcpi_times times;
    struct test_mem *mem; /* NULL: its own */
    const char *url;      /* NULL: URL */
    const char *fields;
    size_t fields_len;
    bool no_stream, no_2024;
    struct mcpi_http_auth *auth;
    void (*closed)(void *user, struct mcpi_http_client *client); /* NULL: it counts */
};

/* ---- what the engine and the link tell ------------------------------------- */

static inline void
lab_job_begin(struct mcpi_exchange *x)
{
    (void)x;
}

static const struct mcpi_served_ops lab_job_ops = {.begin = lab_job_begin};

static inline int
lab_on_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    struct lab *l = user;

    (void)why;
    assert_null(l->asked);
    l->asked = mcpi_exchange_ref(x);
    mcpi_exchange_serve(x, &lab_job_ops, l);
    return 0;
}

static inline void
lab_on_notified(void *user, struct mcpi_peer *peer, const struct mcpi_rpc *note,
                struct mcpi_exchange *about)
{
    struct lab *l = user;

    (void)peer;
    (void)note;
    (void)about;
    l->notices++;
}

static inline void
lab_on_ready(void *user, struct mcpi_peer *peer, int status,
             const struct mcpi_rpc *reply)
{
    struct lab *l = user;

    (void)peer;
    (void)reply;
    l->ready++;
    l->ready_status = status;
}

static inline void
lab_on_lost(void *user, struct mcpi_peer *peer, int status)
{
    struct lab *l = user;

    (void)peer;
    (void)status;
    l->lost++;
}

static const struct mcpi_router lab_router = {.route = lab_on_route,
                                              .notified = lab_on_notified,
                                              .ready = lab_on_ready,
                                              .closed = lab_on_lost};

static inline void
lab_on_log(void *user, enum mcp_log_level level, const char *line)
{
    struct lab *l = user;
    size_t used = strlen(l->logged);

    snprintf(l->logged + used, sizeof(l->logged) - used, "%c: %s\n", " EWID"[level],
             line);
}

static inline void
lab_show(struct lab *l, char what, const char *text, size_t len)
{
    size_t used = strlen(l->shown);

    snprintf(l->shown + used, sizeof(l->shown) - used, "%c %.*s\n", what, (int)len,
             text);
}

static inline void
lab_on_sent(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    wire_trace(user, peer, text, len);
    lab_show(user, '>', text, len);
}

static inline void
lab_on_came(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    (void)peer;
    lab_show(user, '<', text, len);
}

static inline void
lab_on_event(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    (void)peer;
    lab_show(user, '=', text, len);
}

static inline int64_t
lab_clock(void *user)
{
    const struct lab *l = user;

    return l->w.now;
}

static inline const struct mcpi_mirror *
lab_on_mirror(void *user, const char *tool)
{
    const struct lab *l = user;

    assert_non_null(tool);
    return l->mirror;
}

static inline void
lab_on_closed(void *user, struct mcpi_http_client *client)
{
    struct lab *l = user;

    assert_ptr_equal(client, l->client);
    l->closed++;
}

/* ---- making and freeing ---------------------------------------------------- */

static inline int
lab_open_engine(struct lab *l, const struct lab_options *opt)
{
    struct mcpi_engine_options eo = {
        .mem = &l->mem->allocator,
        .role = MCPI_CLIENT,
        .era = opt->era,
        .identity = {.info = "{\"name\":\"lab\",\"version\":\"1\"}",
                     .capabilities = "{\"roots\":{}}"},
        .timers = mcpi_loop_timers(l->loop),
        .router = &lab_router,
        .router_user = l,
        .log = {lab_on_log, l, MCP_LOG_DEBUG},
        .trace = lab_on_sent,
        .trace_came = lab_on_came,
        .trace_event = lab_on_event,
        .trace_user = l,
        .times = opt->times,
        .seed = {1, 2, 3, 4},
    };

    return mcpi_engine_new(&eo, &l->engine);
}

static inline int
lab_open(struct lab *l, const struct lab_options *opt)
{
    struct mcpi_http_client_options co = {.url = opt->url ? opt->url : URL,
                                          .fields = opt->fields,
                                          .fields_len = opt->fields_len,
                                          .idle_us = MCPI_NEVER,
                                          .no_stream = opt->no_stream,
                                          .no_2024 = opt->no_2024,
                                          .auth = opt->auth,
                                          .mirror = lab_on_mirror,
                                          .closed = opt->closed ? opt->closed
                                                                : lab_on_closed,
                                          .user = l};
    int status;

    memset(l, 0, sizeof(*l));
    l->w.now = 1000 * SECOND;
    test_mem_init(&l->own_mem);
    l->mem = opt->mem ? opt->mem : &l->own_mem;
    fake_fetcher_init(&l->fetcher, &l->mem->allocator);
    l->log = (struct mcpi_log){lab_on_log, l, MCP_LOG_DEBUG};
    status = mcpi_loop_new(&l->mem->allocator, &l->log, &l->loop);
    if (status < 0)
        return status;
    mcpi_loop_set_clock(l->loop, lab_clock, l);
    status = lab_open_engine(l, opt);
    if (status < 0)
        return status;
    co.loop = l->loop;
    co.engine = l->engine;
    co.fetcher = &l->fetcher.fetcher;
    status = mcpi_http_client_new(&co, &l->client);
    if (status == 0)
        l->w.peer[CLIENT] = mcpi_http_client_peer(l->client);
    return status;
}

static inline void
lab_free_link(struct lab *l)
{
    mcpi_http_client_free(l->client);
    l->client = NULL;
    l->w.peer[CLIENT] = NULL;
}

/* Frees all; nothing may be left. */
static inline void
lab_close(struct lab *l)
{
    struct mcpi_result nothing;

    lab_free_link(l);
    if (l->asked) {
        mcpi_result_init(&nothing, l->engine);
        mcpi_exchange_finish(l->asked, &nothing, l->w.now);
        mcpi_exchange_unref(l->asked);
    }
    if (l->loop)
        assert_int_equal(mcpi_timers_next(mcpi_loop_timers(l->loop)), MCPI_NEVER);
    assert_int_equal(mcpi_engine_free(l->engine), 0);
    mcpi_loop_free(l->loop);
    fake_fetcher_done(&l->fetcher);
    test_mem_done(&l->own_mem);
}

/* ---- time and motion ------------------------------------------------------- */

static inline void
lab_run(struct lab *l)
{
    do
        assert_int_equal(mcpi_loop_step(l->loop), 0);
    while (loop_is_busy(l->loop));
}

/* At each deadline on the way. */
static inline void
lab_pass(struct lab *l, int64_t us)
{
    struct mcpi_timers *timers = mcpi_loop_timers(l->loop);
    int64_t until = l->w.now + us;

    lab_run(l);
    while (mcpi_timers_next(timers) <= until) {
        if (mcpi_timers_next(timers) > l->w.now)
            l->w.now = mcpi_timers_next(timers);
        lab_run(l);
    }
    l->w.now = until;
    lab_run(l);
}

/* ---- requests as the server sees them -------------------------------------- */

#define lab_count(l) ((l)->fetcher.count)
#define lab_at(l, index) fake_at(&(l)->fetcher, index)
#define lab_last(l) fake_last(&(l)->fetcher)

static inline bool
fetch_says(const struct fake_fetch *fetch, const char *part)
{
    return fetch->body && strstr(fetch->body, part);
}

/* Those whose body has that in it. */
static inline size_t
lab_posted(const struct lab *l, const char *part)
{
    size_t n = 0;

    for (size_t i = 0; i < l->fetcher.count; i++)
        n += fetch_says(l->fetcher.all[i], part);
    return n;
}

/* The newest of them. */
static inline struct fake_fetch *
lab_post(const struct lab *l, const char *part)
{
    struct fake_fetch *found = NULL;

    for (size_t i = 0; i < l->fetcher.count; i++)
        if (fetch_says(l->fetcher.all[i], part))
            found = l->fetcher.all[i];
    assert_non_null(found);
    return found;
}

static inline bool
lab_logged(const struct lab *l, const char *part)
{
    return strstr(l->logged, part) != NULL;
}

/* How often something was shown that begins so. */
static inline size_t
lab_shown(const struct lab *l, const char *line)
{
    const char *at = l->shown;
    size_t n = 0;

    for (; at && *at; at = strchr(at, '\n') + 1)
        n += strncmp(at, line, strlen(line)) == 0;
    return n;
}

static inline void
lab_reply(struct lab *l, struct fake_fetch *fetch, const char *text)
{
    fake_answer(fetch, 200, JSON_TYPE, text);
    lab_run(l);
}

/* One event of a stream. */
static inline void
lab_event(struct lab *l, struct fake_fetch *fetch, const char *text)
{
    char event[2048];

    snprintf(event, sizeof(event), "data: %s\n\n", text);
    fake_body(fetch, event);
    lab_run(l);
}

static inline void
lab_stream(struct lab *l, struct fake_fetch *fetch)
{
    fake_stream(fetch);
    lab_run(l);
}

/* ---- opening --------------------------------------------------------------- */

#define DISCOVERED                                                           \
    "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"   \
    "\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}," \
    "\"ttlMs\":0,\"cacheScope\":\"private\"}"
#define INITIALIZED(version)                                    \
    "{\"protocolVersion\":\"" version "\",\"capabilities\":{}," \
    "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}"

static inline void
lab_connect(struct lab *l, const struct lab_options *opt)
{
    assert_int_equal(lab_open(l, opt), 0);
    assert_int_equal(mcpi_peer_connect(l->w.peer[CLIENT], l->w.now), 0);
    lab_run(l);
}

/* Answer initialize, with these header lines too, and what follows it. */
static inline void
lab_welcome(struct lab *l, struct fake_fetch *fetch, const char *lines)
{
    char head[256];

    snprintf(head, sizeof(head), "Content-Type: " JSON_TYPE "%s%s", lines ? "\n" : "",
             lines ? lines : "");
    fake_head(fetch, 200, head);
    if (fetch->state == FAKE_OPEN) /* unless there was no memory for it */
        fake_body(fetch, RESULT("0", INITIALIZED("2025-11-25")));
    if (fetch->state == FAKE_OPEN)
        fake_end(fetch);
    lab_run(l);
}

static inline void
lab_accept(struct lab *l, struct fake_fetch *fetch)
{
    fake_answer(fetch, 202, NULL, NULL);
    lab_run(l);
}

/* What follows it, the GET, is refused. */
static inline void
lab_accept_without_stream(struct lab *l, struct fake_fetch *greeting)
{
    lab_accept(l, greeting);
    assert_string_equal(lab_last(l)->method, "GET");
    fake_answer(lab_last(l), 405, NULL, NULL);
    lab_run(l);
}

/* A modern one; one request was made. */
static inline void
lab_start_modern(struct lab *l)
{
    struct lab_options opt = {.era = MCPI_ERA_MODERN};

    lab_connect(l, &opt);
    lab_reply(l, lab_last(l), RESULT("\"libmcp:discover\"", DISCOVERED));
    assert_int_equal(l->ready, 1);
    assert_int_equal(l->ready_status, 0);
    assert_int_equal(lab_count(l), 1);
}

/* A legacy one, with a session; initialize, initialized and the GET were made, which is
 * refused. */
static inline void
lab_start_legacy_with(struct lab *l, const struct lab_options *opt)
{
    lab_connect(l, opt);
    lab_welcome(l, lab_last(l), SESSION_HEAD);
    if (opt->no_stream)
        lab_accept(l, lab_last(l));
    else
        lab_accept_without_stream(l, lab_last(l));
    assert_int_equal(l->ready, 1);
    assert_int_equal(l->ready_status, 0);
    assert_int_equal(fake_open_count(&l->fetcher), 0);
}

static inline void
lab_start_legacy(struct lab *l)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};

    lab_start_legacy_with(l, &opt);
    assert_int_equal(lab_count(l), 3);
}

/* A call whose request is on its way. */
static inline struct fake_fetch *
lab_call(struct lab *l, const struct mcpi_call_options *opt, struct outcome *out)
{
    size_t before = lab_count(l);

    world_call(&l->w, CLIENT, opt, out);
    lab_run(l);
    assert_int_equal(lab_count(l), before + 1);
    return lab_last(l);
}

static inline void
lab_cancel(struct lab *l, struct outcome *out)
{
    assert_int_equal(mcpi_call_cancel(out->call, "enough", l->w.now), 0);
}

/* Close it, and let the link say when it has. */
static inline void
lab_shut(struct lab *l)
{
    mcpi_peer_close(l->w.peer[CLIENT], l->w.now);
    lab_run(l);
}

static inline void
expect(const struct outcome *out, int status)
{
    assert_int_equal(out->done, 1);
    assert_int_equal(out->status, status);
}

static inline void
expect_open(const struct outcome *out)
{
    assert_int_equal(out->done, 0);
}

/* The leg ids of calls in a fresh rig are minted from 1. */
#define ANSWER(id) RESULT(id, "{\"content\":[],\"resultType\":\"complete\"}")

#endif
