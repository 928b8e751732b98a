/* turn.c - turns that only record, and a desk that serves them */
#include "support/turn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/peer.h"
#include "wire/rpc.h"

/* ---- the carrier ----------------------------------------------------------- */

static struct turn *
turn_of(struct mcpi_turn *turn)
{
    return MCPI_CONTAINER(turn, struct turn, turn);
}

static void
turn_note(struct turn *t, const char *what)
{
    size_t used = strlen(t->said);

    snprintf(t->said + used, sizeof(t->said) - used, "%s%s", used > 0 ? " " : "", what);
}

static bool
turn_append(struct turn *t, const char *data, size_t len)
{
    t->text = realloc(t->text, t->len + len + 1);
    assert_non_null(t->text);
    if (len > 0)
        memcpy(t->text + t->len, data, len);
    t->len += len;
    t->text[t->len] = '\0';
    t->longest = len > t->longest ? len : t->longest;
    t->kept = t->full;
    return !t->full;
}

static void
turn_head(struct turn *t, const struct mcpi_http_out *out)
{
    size_t used = 0;

    assert_int_equal(t->status, 0);
    t->status = out->status;
    snprintf(t->type, sizeof(t->type), "%s", out->type ? out->type : "");
    t->fields[0] = '\0';
    for (size_t i = 0; i < out->field_count; i++)
        used += (size_t)snprintf(t->fields + used, sizeof(t->fields) - used, "%s: %s\n",
                                 out->fields[i].name, out->fields[i].value);
}

/* Who gives a turn back has let go of it before. */
static bool
op_reply(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    struct turn *t = turn_of(turn);

    assert_null(turn->served);
    assert_false(t->kept);
    turn_note(t, "reply");
    turn_head(t, out);
    return turn_append(t, out->body, out->body_len);
}

static bool
op_open(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    struct turn *t = turn_of(turn);

    assert_non_null(turn->served);
    assert_false(t->kept);
    turn_note(t, "open");
    turn_head(t, out);
    return turn_append(t, out->body, out->body_len);
}

static bool
op_write(struct mcpi_turn *turn, const char *data, size_t len)
{
    struct turn *t = turn_of(turn);

    assert_non_null(turn->served);
    assert_false(t->kept);
    assert_int_not_equal(t->status, 0);
    turn_note(t, "write");
    return turn_append(t, data, len);
}

static void
op_end(struct mcpi_turn *turn)
{
    assert_null(turn->served);
    turn_note(turn_of(turn), "end");
}

static void
op_abort(struct mcpi_turn *turn)
{
    assert_null(turn->served);
    turn_note(turn_of(turn), "abort");
}

static const struct mcpi_turn_ops turn_ops = {.reply = op_reply,
                                              .open = op_open,
                                              .write = op_write,
                                              .end = op_end,
                                              .abort = op_abort};

void
turn_init(struct turn *t)
{
    memset(t, 0, sizeof(*t));
    t->turn.ops = &turn_ops;
    (void)turn_append(t, NULL, 0);
}

void
turn_done(struct turn *t)
{
    assert_null(t->turn.served);
    free(t->text);
}

void
turn_read(struct turn *t)
{
    bool kept = t->kept;

    t->full = t->kept = false;
    if (kept)
        mcpi_turn_written(&t->turn);
}

void
turn_go(struct turn *t)
{
    assert_non_null(t->turn.served);
    mcpi_turn_gone(&t->turn);
    assert_null(t->turn.served);
}

bool
turn_is_over(const struct turn *t)
{
    return !t->turn.served;
}

size_t
turn_count(const struct turn *t, const char *part)
{
    const char *at = t->text;
    size_t count = 0;

    for (at = strstr(at, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

bool
turn_says(const struct turn *t, const char *part)
{
    return turn_count(t, part) > 0;
}

/* ---- what http_endpoint.c would do ----------------------------------------- */

static struct desk *
desk_of(struct mcpi_endpoint *endpoint)
{
    return MCPI_CONTAINER(endpoint, struct desk, endpoint);
}

void
mcpi_endpoint_check(struct mcpi_endpoint *endpoint)
{
    (void)endpoint;
}

void
mcpi_endpoint_count(struct mcpi_endpoint *endpoint, int sessions, int streams)
{
    struct desk *d = desk_of(endpoint);

    endpoint->session_count += (size_t)sessions;
    d->counted[0] += sessions;
    d->counted[1] += streams;
}

void
mcpi_endpoint_refuse(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn, int status,
                     const struct mcpi_id *id, int rpc_code, const char *message)
{
    const struct mcpi_id none = {0};
    struct mcpi_http_out out = {.status = status, .type = "application/json"};

    mcpi_buf_clear(&endpoint->refusal);
    mcpi_rpc_write_error(&endpoint->refusal, id ? id : &none, rpc_code, message, NULL,
                         0);
    out.body = endpoint->refusal.data;
    out.body_len = endpoint->refusal.len;
    turn->served = NULL;
    turn->by = NULL;
    (void)turn->ops->reply(turn, &out);
}

static bool
outlet_is_common(const struct mcpi_outlet *outlet)
{
    return outlet == mcpi_peer_outlet(mcpi_outlet_peer(outlet));
}

static void
op_wake(struct mcpi_outlet *outlet)
{
    if (!outlet_is_common(outlet))
        mcpi_http_stream_wake(mcpi_outlet_link(outlet));
}

static void
op_settle(struct mcpi_outlet *outlet)
{
    mcpi_http_stream_settle(mcpi_outlet_link(outlet));
}

static void
op_fail(struct mcpi_outlet *outlet, int status)
{
    mcpi_http_stream_fail(mcpi_outlet_link(outlet), status);
}

static void
op_close(struct mcpi_peer *peer, enum mcpi_closing how)
{
    (void)peer;
    (void)how;
}

static const struct mcpi_link_ops shared_ops = {
    .wake = op_wake, .settle = op_settle, .fail = op_fail, .close = op_close};

/* ---- handlers -------------------------------------------------------------- */

static void
job_begin(struct mcpi_exchange *x)
{
    (void)x;
}

static struct job *
job_of(const struct desk *d, const struct mcpi_exchange *x)
{
    for (size_t i = 0; i < d->job_count; i++)
        if (d->jobs[i].x == x)
            return &d->jobs[i];
    return NULL;
}

static void
job_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct desk *d = x->served_user;
    struct mcpi_result result;

    (void)how;
    (void)reason;
    job_of(d, x)->told++;
    if (!d->prompt)
        return;
    mcpi_result_init(&result, d->engine);
    mcpi_exchange_finish(x, &result, d->now);
}

static const struct mcpi_served_ops job_ops = {.begin = job_begin, .ended = job_ended};

static int
on_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    struct desk *d = user;

    (void)why;
    d->jobs = realloc(d->jobs, (d->job_count + 1) * sizeof(*d->jobs));
    assert_non_null(d->jobs);
    d->jobs[d->job_count++] = (struct job){.x = mcpi_exchange_ref(x)};
    mcpi_exchange_serve(x, &job_ops, d);
    return 0;
}

static const struct mcpi_router router = {.route = on_route};

struct mcpi_exchange *
desk_job(struct desk *d, size_t index)
{
    assert_true(index < d->job_count);
    return d->jobs[index].x;
}

void
desk_finish(struct desk *d, size_t index, const char *result)
{
    struct mcpi_result last;

    mcpi_result_init(&last, d->engine);
    mcpi_buf_text(&last.body, result);
    mcpi_exchange_finish(desk_job(d, index), &last, d->now);
}

void
desk_fail(struct desk *d, size_t index, int code)
{
    struct mcpi_result result;

    mcpi_result_init(&result, d->engine);
    mcpi_result_error(&result, code, "no");
    mcpi_exchange_finish(desk_job(d, index), &result, d->now);
}

void
desk_notify(struct desk *d, size_t index, const char *text)
{
    char params[256];
    int len = snprintf(params, sizeof(params), "{\"text\":\"%s\"}", text);

    (void)mcpi_exchange_notify(desk_job(d, index), "notifications/test", params,
                               (size_t)len, d->now);
}

void
desk_tell(struct desk *d, struct mcpi_session *session, const char *text)
{
    char params[256];
    int len = snprintf(params, sizeof(params), "{\"text\":\"%s\"}", text);

    assert_int_equal(mcpi_peer_notify(session->peer, "notifications/test", params,
                                      (size_t)len, d->now),
                     0);
}

/* ---- the desk -------------------------------------------------------------- */

static int64_t
desk_clock(void *user)
{
    return ((struct desk *)user)->now;
}

static int
desk_set_up(struct desk *d)
{
    const mcp_allocator *mem = &d->mem->allocator;
    struct mcpi_engine_options eo = {
        .mem = mem,
        .role = MCPI_SERVER,
        .identity = {.info = "{\"name\":\"desk\",\"version\":\"1\"}"},
        .router = &router,
        .router_user = d,
        .seed = {1, 2, 3, 4},
    };
    struct mcpi_endpoint *e = &d->endpoint;
    int r;

    r = mcpi_loop_new(mem, &d->log, &d->loop);
    if (r < 0)
        return r;
    mcpi_loop_set_clock(d->loop, desk_clock, d);
    eo.timers = mcpi_loop_timers(d->loop);
    r = mcpi_engine_new(&eo, &d->engine);
    if (r < 0)
        return r;
    e->loop = d->loop;
    e->engine = d->engine;
    if (!mcpi_buf_reserve(&e->scratch, MCPI_FRAME_MAX))
        return MCP_E_NOMEM;
    return mcpi_peer_new(d->engine, &shared_ops, MCPI_PRIVATE_IDS | MCPI_GONE_CANCELS,
                         e, &e->anonymous);
}

int
desk_open(struct desk *d, struct test_mem *mem)
{
    static const unsigned char seed[MCPI_SEED_SIZE] = {5};
    struct mcpi_endpoint *e = &d->endpoint;

    memset(d, 0, sizeof(*d));
    test_mem_init(&d->own_mem);
    d->mem = mem ? mem : &d->own_mem;
    d->now = 1000 * SECOND;
    d->may_json = d->may_sse = true;
    d->http = MCP_HTTP_OPTIONS(.ping_ms = 15000, .retry_ms = 1000,
                               .session_idle_ms = 120000, .sessions = 3,
                               .session_streams = 3);
    e->mem = &d->mem->allocator;
    e->http = &d->http;
    e->log = &d->log;
    mcpi_map_init(&e->sessions, e->mem, seed);
    mcpi_list_init(&e->all_sessions);
    mcpi_list_init(&e->streams);
    mcpi_list_init(&e->tickets);
    mcpi_buf_init(&e->scratch, e->mem, (size_t)128 * 1024 * 1024);
    mcpi_buf_init(&e->refusal, e->mem, 65536);
    return desk_set_up(d);
}

void
desk_start(struct desk *d)
{
    assert_int_equal(desk_open(d, NULL), 0);
}

static void
desk_finish_jobs(struct desk *d)
{
    for (size_t i = 0; i < d->job_count; i++) {
        if (d->jobs[i].x->running)
            desk_finish(d, i, "{}");
        mcpi_exchange_unref(d->jobs[i].x);
    }
    free(d->jobs);
}

void
desk_end_sessions(struct desk *d)
{
    struct mcpi_map *all = &d->endpoint.sessions;

    while (all->count > 0) {
        mcpi_session_end(MCPI_CONTAINER(mcpi_map_any(all), struct mcpi_session, by_id),
                         "enough");
        desk_step(d);
    }
    if (d->loop)
        desk_pass(d, 2 * SECOND); /* past the time that core gives a link */
    assert_int_equal(d->endpoint.session_count, 0);
}

/* As an endpoint that closes without a drain. */
void
desk_close(struct desk *d)
{
    struct mcpi_endpoint *e = &d->endpoint;
    struct mcpi_list *node;

    desk_end_sessions(d);
    while ((node = mcpi_list_first(&e->streams)) != NULL)
        mcpi_http_stream_end(
            MCPI_CONTAINER(node, struct mcpi_http_stream, in_endpoint));
    mcpi_peer_free(e->anonymous);
    if (d->engine)
        desk_finish_jobs(d);
    assert_int_equal(d->counted[0], 0);
    assert_int_equal(d->counted[1], 0);
    assert_int_equal(mcpi_engine_free(d->engine), 0);
    mcpi_loop_free(d->loop);
    mcpi_map_done(&e->sessions);
    mcpi_buf_done(&e->scratch);
    mcpi_buf_done(&e->refusal);
    test_mem_done(&d->own_mem);
}

/* What a flush asks for again comes a turn later. */
void
desk_step(struct desk *d)
{
    for (int i = 0; i < 6; i++)
        assert_true(mcpi_loop_step(d->loop) >= 0);
}

void
desk_pass(struct desk *d, int64_t us)
{
    d->now += us;
    desk_step(d);
}

/* ---- requests -------------------------------------------------------------- */

static int
desk_receive(struct desk *d, struct mcpi_peer *peer, struct mcpi_outlet *outlet,
             const char *text)
{
    struct mcpi_arrival arrival = {.outlet = outlet};

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &arrival.take_doc, NULL),
                     0);
    mcpi_peer_receive(peer, &arrival, d->now);
    return 0;
}

int
desk_try_post(struct desk *d, struct mcpi_session *session, struct turn *t,
              const char *text)
{
    bool hello = strstr(text, "\"initialize\"") != NULL;
    const struct mcpi_http_stream_options opt = {
        .endpoint = &d->endpoint,
        .session = session,
        .peer = session ? session->peer : d->endpoint.anonymous,
        .turn = &t->turn,
        .may_json = d->may_json,
        .may_sse = d->may_sse,
        .resumable = session && d->http.store,
        .say_session = hello && session ? session->id : NULL};
    int r;

    r = mcpi_http_stream_new(&opt, &d->last);
    if (r < 0)
        return r;
    return desk_receive(d, opt.peer, d->last->outlet, text);
}

void
desk_post(struct desk *d, struct mcpi_session *session, struct turn *t,
          const char *text)
{
    turn_init(t);
    assert_int_equal(desk_try_post(d, session, t, text), 0);
}

void
desk_note(struct desk *d, struct mcpi_session *session, const char *text)
{
    (void)desk_receive(d, session->peer, NULL, text);
    desk_step(d);
}

struct mcpi_session *
desk_session(struct desk *d, const char *version)
{
    struct mcpi_session *session;
    struct turn t;
    char text[512];

    snprintf(text, sizeof(text),
             REQUEST("0", "initialize",
                     "{\"protocolVersion\":\"%s\",\"capabilities\":{\"roots\":{}},"
                     "\"clientInfo\":{\"name\":\"raw\",\"version\":\"1\"}}"),
             version);
    assert_int_equal(mcpi_session_new(&d->endpoint, SENDER(""), &session), 0);
    desk_post(d, session, &t, text);
    desk_step(d);
    turn_assert_said(&t, "reply");
    assert_non_null(strstr(t.fields, "Mcp-Session-Id: 0-"));
    turn_done(&t);
    desk_note(d, session, NOTE("notifications/initialized", "{}"));
    return session;
}

void
desk_open_get(struct desk *d, struct mcpi_session *session, struct turn *t,
              const char *last_event_id)
{
    const mcp_http_field field = {"Last-Event-ID", last_event_id};
    const struct mcpi_http_in in = {.method = MCPI_HTTP_GET,
                                    .method_name = "GET",
                                    .fields = &field,
                                    .field_count = last_event_id ? 1 : 0};

    (void)d;
    turn_init(t);
    mcpi_session_get(session, &t->turn, &in);
}

void
desk_get(struct desk *d, struct mcpi_session *session, struct turn *t,
         const char *last_event_id)
{
    desk_open_get(d, session, t, last_event_id);
    desk_step(d);
}

size_t
desk_streams(const struct desk *d)
{
    const struct mcpi_list *node;
    size_t count = 0;

    for (node = d->endpoint.streams.next; node != &d->endpoint.streams;
         node = node->next)
        count++;
    return count;
}
