/*
 * link/http_front.h - an endpoint over a real engine, and what it answers
 *
 * A request is written as a client writes it: headers are lines. The tool "hold" waits
 * until it is told to stop or let go; whatever else is routed answers at once, but for
 * methods that begin with "no/", which are not found.
 */
#ifndef TESTS_LINK_HTTP_FRONT_H
#define TESTS_LINK_HTTP_FRONT_H

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/exchange.h"
#include "core/peer.h"
#include "link/http_session.h"
#include "support/messages.h"
#include "support/test.h"
#include "support/wire.h"

#define MS ((int64_t)1000) /* in microseconds */
#define SECOND (1000 * MS)

#define FRONT_FIELDS 32
#define FRONT_JOBS 16

#define HOST "Host: localhost:8080\n"
#define BOTH "Accept: application/json, text/event-stream\n"
#define JSON "Content-Type: application/json\n"
#define PLAIN HOST BOTH JSON
#define VERSION(v) "MCP-Protocol-Version: " v "\n"
#define METHOD(m) "Mcp-Method: " m "\n"
#define NAME(n) "Mcp-Name: " n "\n"
#define MODERN PLAIN VERSION("2026-07-28")
#define MODERN_T MODERN METHOD("tools/call") NAME("t")
#define MODERN_HOLD MODERN METHOD("tools/call") NAME("hold")
#define HOLD(id) REQUEST(id, "tools/call", "{\"name\":\"hold\"," STAMP "}")
#define LEGACY_HOLD(id) REQUEST(id, "tools/call", "{\"name\":\"hold\"}")
#define HELLO INITIALIZE("0", "2025-11-25")

struct front {
    struct test_mem own_mem, *mem;
    mcp_http_options http;
    struct mcpi_endpoint_options opt;
    enum mcpi_era era;
    struct mcpi_limits limits;
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    struct mcpi_endpoint *endpoint;
    int64_t now;
    struct mcpi_exchange *jobs[FRONT_JOBS]; /* that are held */
    size_t job_count;
    int served, told, canceled, closed, noted, elsewhere;
    char principal[64]; /* of the last request that was served */
    char version[16];   /* likewise */
    char scope[64];     /* likewise; "-": none */
    char claim[64];     /* likewise: the claim "who" */
    int sessions, streams;
};

/* One request and its answer. */
struct visit {
    struct mcpi_turn turn;
    mcp_http_field fields[FRONT_FIELDS];
    char headers[2048], target[256];
    struct mcpi_http_in in;
    int replies, opens, ends, aborts;
    int status;
    bool close;
    char type[64];
    char said[2048]; /* headers of the answer, as lines */
    char *text;      /* its body, terminated */
    size_t len;
};

/* ---- what is served ------------------------------------------------------ */

static inline void
front_finish(struct front *f, struct mcpi_exchange *x)
{
    struct mcpi_result result;

    mcpi_result_init(&result, x->engine);
    mcpi_buf_text(&result.body, "{\"content\":[]}");
    mcpi_exchange_finish(x, &result, mcpi_loop_now(f->loop));
}

static inline void
front_begin(struct mcpi_exchange *x)
{
    struct front *f = x->served_user;
    const char *tool = mcp_json_string(mcp_json_get(x->rpc.params, "name"), "");

    f->served++;
    (void)snprintf(f->principal, sizeof f->principal, "%s", x->caller.principal);
    (void)snprintf(f->version, sizeof f->version, "%s", x->caller.version);
    (void)snprintf(f->scope, sizeof f->scope, "%s",
                   x->caller.scope ? x->caller.scope : "-");
    (void)snprintf(
        f->claim, sizeof f->claim, "%s",
        mcp_json_string(mcp_json_get(mcp_doc_root(x->caller.claims), "who"), "-"));
    if (strcmp(tool, "hold") != 0) {
        front_finish(f, x);
        return;
    }
    assert_true(f->job_count < FRONT_JOBS);
    f->jobs[f->job_count++] = x;
}

/* Let the oldest one that is held go. */
static inline void
front_let_go(struct front *f)
{
    struct mcpi_exchange *x = f->jobs[0];

    assert_true(f->job_count > 0);
    f->job_count--;
    memmove(&f->jobs[0], &f->jobs[1], f->job_count * sizeof(f->jobs[0]));
    front_finish(f, x);
}

static inline void
front_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct front *f = x->served_user;

    (void)reason;
    f->told++;
    f->canceled += how == MCPI_CANCELED;
    for (size_t i = 0; i < f->job_count; i++) {
        if (f->jobs[i] != x)
            continue;
        f->jobs[i] = f->jobs[--f->job_count];
        front_finish(f, x);
        return;
    }
}

static inline int
front_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    static const struct mcpi_served_ops ops = {.begin = front_begin,
                                               .ended = front_ended};

    (void)why;
    if (strncmp(x->rpc.method_name, "no/", 3) == 0)
        return MCP_E_INVAL;
    mcpi_exchange_serve(x, &ops, user);
    return 0;
}

static inline void
front_notified(void *user, struct mcpi_peer *peer, const struct mcpi_rpc *note,
               struct mcpi_exchange *about)
{
    (void)peer, (void)note, (void)about;
    ((struct front *)user)->noted++;
}

/* ---- its life ------------------------------------------------------------ */

static inline int64_t
front_clock(void *user)
{
    return ((struct front *)user)->now;
}

static inline void
front_on_closed(void *user, struct mcpi_endpoint *endpoint)
{
    struct front *f = user;

    f->closed++;
    mcpi_endpoint_free(endpoint);
    f->endpoint = NULL;
}

static inline void
front_changed(void *user, int connections, int sessions, int streams)
{
    struct front *f = user;

    assert_int_equal(connections, 0);
    f->sessions += sessions;
    f->streams += streams;
}

/* Options as a server has read them; a test may change some before front_open. */
static inline void
front_init(struct front *f)
{
    memset(f, 0, sizeof *f);
    test_mem_init(&f->own_mem);
    f->mem = &f->own_mem;
    f->now = 1000 * SECOND;
    f->http = MCP_HTTP_OPTIONS(.host = "127.0.0.1", .path = "/mcp", .threads = 1,
                               .retry_ms = 1000, .ping_ms = 15000, .head_ms = 10000,
                               .body_ms = 60000, .idle_ms = 75000, .write_ms = 30000,
                               .session_idle_ms = 1800000, .connections = 16384,
                               .sessions = 10000, .session_streams = 64,
                               .body_bytes = 1 << 20, .head_bytes = 32768);
    f->opt = (struct mcpi_endpoint_options){.modern = true,
                                            .legacy = true,
                                            .loopback = true,
                                            .port = 8080,
                                            .shards = 1,
                                            .gauges = {front_changed, f},
                                            .closed = front_on_closed,
                                            .user = f};
}

/* The loop has memory of its own: only the endpoint's may be short. */
static inline int
front_try_open(struct front *f)
{
    static const struct mcpi_router router = {.route = front_route,
                                              .notified = front_notified};
    struct mcpi_engine_options engine = {
        .mem = &f->mem->allocator,
        .role = MCPI_SERVER,
        .era = f->era,
        .identity = {.info = "{\"name\":\"front\",\"version\":\"1\"}"},
        .router = &router,
        .router_user = f,
        .limits = f->limits,
        .trace = wire_trace};
    int r;

    assert_int_equal(mcpi_loop_new(NULL, NULL, &f->loop), 0);
    mcpi_loop_set_clock(f->loop, front_clock, f);
    engine.timers = mcpi_loop_timers(f->loop);
    r = mcpi_engine_new(&engine, &f->engine);
    if (r < 0)
        return r;
    f->opt.loop = f->loop;
    f->opt.engine = f->engine;
    f->opt.http = &f->http;
    f->opt.modern = f->era != MCPI_ERA_LEGACY;
    f->opt.legacy = f->era != MCPI_ERA_MODERN;
    return mcpi_endpoint_new(&f->opt, &f->endpoint);
}

static inline void
front_open(struct front *f)
{
    assert_int_equal(front_try_open(f), 0);
}

static inline bool
front_is_busy(struct front *f)
{
    struct pollfd fd = {.fd = mcpi_loop_fd(f->loop), .events = POLLIN};

    return poll(&fd, 1, 0) > 0 || mcpi_loop_timeout_ms(f->loop) == 0;
}

static inline void
front_run(struct front *f)
{
    for (int i = 0; i < 10000; i++) {
        if (i > 0 && !front_is_busy(f))
            return;
        assert_int_equal(mcpi_loop_step(f->loop), 0);
    }
    fail_msg("the loop is never quiet");
}

static inline void
front_pass(struct front *f, int64_t us)
{
    f->now += us;
    (void)mcpi_timers_expire(mcpi_loop_timers(f->loop), f->now);
    front_run(f);
}

/* Close it; all that is held is told to stop in the end. */
static inline void
front_close(struct front *f)
{
    if (f->endpoint) {
        mcpi_endpoint_close(f->endpoint);
        assert_int_equal(f->closed, 0); /* not from inside */
        front_run(f);
        for (int i = 0; i < 10 && !f->closed; i++)
            front_pass(f, 10 * SECOND);
        assert_int_equal(f->closed, 1);
    }
    assert_int_equal(f->job_count, 0);
    assert_int_equal(f->sessions, 0);
    assert_int_equal(f->streams, 0);
    if (f->engine)
        assert_int_equal(mcpi_engine_free(f->engine), 0);
    mcpi_loop_free(f->loop);
    if (f->mem == &f->own_mem)
        test_mem_done(f->mem);
}

/* ---- a visit ------------------------------------------------------------- */

static inline void
visit_hear(struct visit *v, const char *data, size_t len)
{
    v->text = realloc(v->text, v->len + len + 1);
    assert_non_null(v->text);
    if (len > 0)
        memcpy(v->text + v->len, data, len);
    v->len += len;
    v->text[v->len] = '\0';
}

static inline void
visit_head(struct visit *v, const struct mcpi_http_out *out)
{
    size_t at = strlen(v->said);

    v->status = out->status;
    v->close = out->close;
    (void)snprintf(v->type, sizeof v->type, "%s", out->type ? out->type : "");
    for (size_t i = 0; i < out->field_count; i++)
        at += (size_t)snprintf(v->said + at, sizeof v->said - at, "%s: %s\n",
                               out->fields[i].name, out->fields[i].value);
    assert_true(at < sizeof v->said);
    visit_hear(v, out->body, out->body ? out->body_len : 0);
}

static inline bool
visit_reply(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    struct visit *v = MCPI_CONTAINER(turn, struct visit, turn);

    assert_null(turn->served);
    assert_int_equal(v->replies + v->opens, 0);
    v->replies++;
    visit_head(v, out);
    return true;
}

static inline bool
visit_open(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    struct visit *v = MCPI_CONTAINER(turn, struct visit, turn);

    assert_non_null(turn->served);
    assert_int_equal(v->replies + v->opens, 0);
    v->opens++;
    visit_head(v, out);
    return true;
}

static inline bool
visit_write(struct mcpi_turn *turn, const char *data, size_t len)
{
    visit_hear(MCPI_CONTAINER(turn, struct visit, turn), data, len);
    return true;
}

static inline void
visit_end(struct mcpi_turn *turn)
{
    assert_null(turn->served);
    MCPI_CONTAINER(turn, struct visit, turn)->ends++;
}

static inline void
visit_abort(struct mcpi_turn *turn)
{
    assert_null(turn->served);
    MCPI_CONTAINER(turn, struct visit, turn)->aborts++;
}

/* Headers are lines: "Name: value\n". */
static inline void
visit_init(struct visit *v, const char *method, const char *target, const char *headers,
           const char *body)
{
    static const struct mcpi_turn_ops ops = {.reply = visit_reply,
                                             .open = visit_open,
                                             .write = visit_write,
                                             .end = visit_end,
                                             .abort = visit_abort};
    static const char *const methods[] = {"",       "GET",     "POST",
                                          "DELETE", "OPTIONS", "HEAD"};
    char *at;

    memset(v, 0, sizeof *v);
    v->turn.ops = &ops;
    visit_hear(v, "", 0);
    assert_true(strlen(headers) < sizeof v->headers);
    strcpy(v->headers, headers);
    (void)snprintf(v->target, sizeof v->target, "%s", target);
    v->in = (struct mcpi_http_in){.method_name = method,
                                  .target = v->target,
                                  .path_len = strcspn(v->target, "?"),
                                  .fields = v->fields,
                                  .body = body ? body : "",
                                  .body_len = body ? strlen(body) : 0};
    for (int i = MCPI_HTTP_GET; i <= MCPI_HTTP_HEAD; i++)
        if (strcmp(method, methods[i]) == 0)
            v->in.method = (enum mcpi_http_method)i;
    for (at = v->headers; *at;) {
        mcp_http_field *field = &v->fields[v->in.field_count++];
        char *colon = strstr(at, ": "), *end = strchr(at, '\n');

        assert_true(v->in.field_count <= FRONT_FIELDS && colon && end);
        *colon = *end = '\0';
        field->name = at;
        field->value = colon + 2;
        at = end + 1;
    }
}

static inline void
visit_done(struct visit *v)
{
    assert_null(v->turn.served);
    free(v->text);
}

/* As a carrier does it: the head, then the whole. */
static inline void
visit_begin(struct front *f, struct visit *v)
{
    struct mcpi_http_out out;

    if (mcpi_endpoint_check_head(f->endpoint, &v->in, v->in.body_len, &out)) {
        mcpi_endpoint_serve(f->endpoint, &v->turn, &v->in);
        return;
    }
    v->replies++;
    visit_head(v, &out);
}

static inline void
front_ask(struct front *f, struct visit *v, const char *method, const char *headers,
          const char *body)
{
    visit_init(v, method, "/mcp", headers, body);
    visit_begin(f, v);
    front_run(f);
}

static inline void
front_post(struct front *f, struct visit *v, const char *headers, const char *body)
{
    front_ask(f, v, "POST", headers, body);
}

/* The code of the error in an answer; 0: it has none. */
static inline int
visit_code(const struct visit *v)
{
    const char *at = strstr(v->text, "\"error\":{\"code\":");

    return at ? atoi(at + strlen("\"error\":{\"code\":")) : 0;
}

static inline bool
visit_says(const struct visit *v, const char *header)
{
    return strstr(v->said, header) != NULL;
}

/* The id in it, as JSON text, is this; NULL: there is none. */
static inline void
visit_assert_id(const struct visit *v, const char *id)
{
    char part[128];

    if (!id) {
        assert_null(strstr(v->text, "\"id\":"));
        return;
    }
    (void)snprintf(part, sizeof part, "\"id\":%s,", id);
    assert_non_null(strstr(v->text, part));
}

/* Open a session: its id goes into a header line. */
static inline void
front_hello(struct front *f, char line[128])
{
    struct visit v;
    const char *at, *end;

    front_post(f, &v, PLAIN, HELLO);
    assert_int_equal(v.status, 200);
    at = strstr(v.said, "Mcp-Session-Id: ");
    assert_non_null(at);
    end = strchr(at, '\n') + 1;
    assert_true(end - at < 128);
    memcpy(line, at, (size_t)(end - at));
    line[end - at] = '\0';
    visit_done(&v);
}

/* Headers and a session's own. */
static inline const char *
front_with(char *into, size_t size, const char *headers, const char *session)
{
    (void)snprintf(into, size, "%s%s", headers, session);
    return into;
}

#endif
