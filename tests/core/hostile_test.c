/*
 * hostile_test.c - what an unfriendly peer, a full link or a handler in a hurry can do
 *
 * The handlers here keep no reference to their exchange, as core/exchange.h allows: the
 * run's own is all that holds it, so an exchange used after its end is caught.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/note.h"
#include "support/endpoint.h"
#include "support/fake.h"

#define HELLO \
    "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{}}"
#define CANCELLED "notifications/cancelled"

/* Does a traced message, which has no terminator, contain this? */
static bool
says(const char *text, size_t len, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= len; i++)
        if (memcmp(text + i, part, n) == 0)
            return true;
    return false;
}

/* ---- a router that holds nothing ------------------------------------------- */

struct plain {
    struct mcpi_exchange *x; /* the newest one; not counted */
    int begun, ended;
    bool close_in_route;
    int64_t now;
};

static void
plain_begin(struct mcpi_exchange *x)
{
    struct plain *p = x->served_user;

    p->x = x;
    p->begun++;
}

static void
plain_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct plain *p = x->served_user;

    (void)how;
    (void)reason;
    p->ended++;
}

static const struct mcpi_served_ops plain_ops = {.begin = plain_begin,
                                                 .ended = plain_ended};

static int
plain_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    struct plain *p = user;

    (void)why;
    if (strncmp(x->rpc.method_name, "no/", 3) == 0)
        return MCP_E_INVAL;
    mcpi_exchange_serve(x, &plain_ops, p);
    if (p->close_in_route)
        mcpi_peer_close(x->peer, p->now);
    return 0;
}

static const struct mcpi_router plain_router = {.route = plain_route};

static void
plain_use(struct plain *p, struct mcpi_engine *e, int64_t now)
{
    memset(p, 0, sizeof(*p));
    p->now = now;
    e->router = &plain_router;
    e->router_user = p;
}

static void
finish(struct mcpi_exchange *x, int64_t now)
{
    struct mcpi_result result;

    mcpi_result_init(&result, x->engine);
    mcpi_buf_text(&result.body, "{}");
    mcpi_exchange_finish(x, &result, now);
}

/* A server on a pipe. */
static void
server_open_with(struct fake *f, struct plain *p, const struct mcpi_limits *limits)
{
    struct fake_options opt = {.kind = FAKE_PIPE, .role = MCPI_SERVER};

    if (limits)
        opt.limits = *limits;
    assert_int_equal(fake_open(f, &opt), 0);
    plain_use(p, f->engine, f->w.now);
}

static void
server_open(struct fake *f, struct plain *p)
{
    server_open_with(f, p, NULL);
}

/* A server with a stream for each request, a legacy client, and its first request. */
static struct endpoint_stream *
endpoint_begin(struct endpoint *ep, struct plain *p, unsigned traits,
               const struct mcpi_times *times)
{
    endpoint_open(ep, traits, times);
    endpoint_greet(ep, 0);
    plain_use(p, ep->engine, ep->now);
    return endpoint_post(ep, LEGACY_CALL("1"));
}

/* ---- an exchange and what is said about it --------------------------------- */

#define CALL_WITH_TOKEN                                                         \
    REQUEST("1", "tools/call",                                                  \
            "{\"name\":\"t\",\"_meta\":{\"progressToken\":9," META_KEY(         \
                "protocolVersion") ":\"2026-07-28\"," META_KEY("clientCapabili" \
                                                               "ties") ":{}}}")

static void
a_note_half_written_outlives_its_exchange(void **state)
{
    struct fake f;
    struct plain p;

    (void)state;
    server_open(&f, &p);
    fake_receive(&f, CALL_WITH_TOKEN);
    assert_int_equal(mcpi_exchange_progress(p.x, 1, 2, NULL, f.w.now), 0);
    assert_int_equal(fake_take(&f), 1); /* some of it has left */
    fake_receive(&f, CANCEL("1"));
    assert_int_equal(p.ended, 1);
    finish(p.x, f.w.now); /* the exchange is gone */
    assert_int_equal(f.open_count, 1);
    fake_written(&f, 0);
    assert_string_equal(fake_said(&f), "note");
    fake_close(&f);
}

static void
refused_progress_may_be_said_again(void **state)
{
    struct fake f;
    struct plain p;

    (void)state;
    server_open(&f, &p);
    fake_receive(&f, CALL_WITH_TOKEN);
    assert_int_equal(mcpi_exchange_progress(p.x, 1, INFINITY, NULL, f.w.now),
                     MCP_E_INVAL);
    assert_int_equal(mcpi_exchange_progress(p.x, 1, 2, "\xff", f.w.now), MCP_E_INVAL);
    assert_int_equal(mcpi_exchange_progress(p.x, 1, 2, NULL, f.w.now), 0);
    assert_int_equal(mcpi_exchange_progress(p.x, 1, 2, NULL, f.w.now), MCP_E_INVAL);
    assert_int_equal(fake_take(&f), 1);
    finish(p.x, f.w.now);
    fake_run(&f);
    fake_close(&f);
}

static void
notes_of_an_exchange_pass_before_its_answer_while_negotiating(void **state)
{
    struct fake_options opt = {.kind = FAKE_PIPE, .era = MCPI_ERA_LEGACY};
    struct fake f;
    struct plain p;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    plain_use(&p, f.engine, f.w.now);
    assert_int_equal(mcpi_peer_connect(f.peer, f.w.now), 0);
    fake_run(&f);
    fake_forget(&f);
    fake_receive(&f, REQUEST("\"s\"", "sampling/createMessage",
                             "{\"_meta\":{\"progressToken\":9}}"));
    assert_int_equal(mcpi_exchange_progress(p.x, 1, 2, NULL, f.w.now), 0);
    assert_int_equal(mcpi_exchange_notify(p.x, "x/y", NULL, 0, f.w.now), 0);
    finish(p.x, f.w.now);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "note note answer");
    assert_non_null(strstr(fake_text(&f, 0), "notifications/progress"));
    fake_receive(&f, RESULT("0", HELLO));
    fake_run(&f);
    assert_string_equal(fake_said(&f), "note note answer note");
    fake_close(&f);
}

static void
a_request_that_ended_while_it_was_routed_is_not_begun(void **state)
{
    struct fake f;
    struct plain p;

    (void)state;
    server_open(&f, &p);
    p.close_in_route = true;
    fake_receive(&f, MODERN_CALL("1"));
    assert_int_equal(p.begun, 0);
    assert_int_equal(p.ended, 0);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "drain answer");
    assert_non_null(strstr(fake_text(&f, 1), "Connection closed"));
    assert_int_equal(f.engine->counts.exchanges, 0);
    fake_close(&f);
}

static void
text_of_the_peer_in_a_refusal_is_cleaned_in_place(void **state)
{
    struct fake f;
    struct plain p;

    (void)state;
    server_open(&f, &p);
    fake_receive(&f,
                 REQUEST("1", "no/\xc2\x85\xe2\x82\xac\xe2\x82\xac", "{" STAMP "}"));
    fake_run(&f);
    assert_non_null(
        strstr(fake_text(&f, 0), "Method not found: no/?\xe2\x82\xac\xe2\x82\xac\""));
    fake_close(&f);
}

static void
a_result_whose_meta_failed_becomes_the_internal_error(void **state)
{
    struct mcpi_limits limits = {.message_bytes = 2048};
    struct mcpi_result result;
    struct fake f;
    struct plain p;

    (void)state;
    server_open_with(&f, &p, &limits);
    fake_receive(&f, MODERN_CALL("1"));
    mcpi_result_init(&result, f.engine);
    mcpi_buf_text(&result.body, "{}");
    mcpi_buf_text(&result.meta, "{\"a\":\"");
    for (int i = 0; i < 300; i++)
        mcpi_buf_text(&result.meta, "0123456789");
    mcpi_buf_text(&result.meta, "\"}");
    assert_int_not_equal(result.meta.status, 0);
    mcpi_exchange_finish(p.x, &result, f.w.now);
    fake_run(&f);
    assert_string_equal(fake_text(&f, 0),
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,"
                        "\"message\":\"Internal error\"}}");
    fake_close(&f);
}

/* ---- settle and nested requests -------------------------------------------- */

/* What the link of one stream saw. */
struct watch {
    struct mcpi_outlet *outlet;
    int settled;
    int late;       /* times it was woken after that */
    size_t waiting; /* answers that waited then */
    struct plain *plain;
    struct endpoint *ep;
    int done;
};

static struct watch *watching; /* endpoint has no room for it */

static void
watch_wake(struct mcpi_outlet *outlet)
{
    if (outlet == watching->outlet && watching->settled)
        watching->late++;
}

static void
watch_settle(struct mcpi_outlet *outlet)
{
    if (outlet != watching->outlet)
        return;
    watching->settled++;
    watching->waiting = outlet->answers;
}

static void
watch_close(struct mcpi_peer *peer, enum mcpi_closing how)
{
    (void)peer;
    (void)how;
}

static const struct mcpi_link_ops watch_ops = {
    .wake = watch_wake, .settle = watch_settle, .close = watch_close};

/* The first of two nested calls that ends finishes the run. */
static void
nested_done(void *user, struct mcpi_call *call, int status,
            const struct mcpi_rpc *answer)
{
    struct watch *w = user;

    (void)call;
    (void)answer;
    assert_int_equal(status, MCP_E_CANCELED);
    if (w->done++ == 0)
        finish(w->plain->x, w->ep->now);
}

static const struct mcpi_call_ops nested_ops = {.done = nested_done};

static void
ask_twice(struct watch *w, struct endpoint *ep)
{
    struct mcpi_call_options opt = {
        .method = "roots/list", .parent = w->plain->x, .ops = &nested_ops, .user = w};

    for (int i = 0; i < 2; i++)
        assert_int_equal(mcpi_call_start(ep->peer[0], &opt, ep->now, NULL), 0);
    endpoint_run(ep);
    ep->peer[0]->ops = &watch_ops;
    watching = w;
}

static void
check_settled_last(const struct watch *w, const struct endpoint_stream *stream,
                   const char *last)
{
    assert_int_equal(w->done, 2);
    assert_int_equal(w->settled, 1);
    assert_int_equal(w->waiting, 1);
    assert_int_equal(w->late, 0);
    assert_int_equal(stream->count, 5); /* two requests, two frames, the answer */
    assert_non_null(strstr(stream->sent[2], CANCELLED));
    assert_non_null(strstr(stream->sent[3], CANCELLED));
    assert_non_null(strstr(stream->sent[4], last));
}

static void
J6_F9_settle_is_told_after_the_last_word_when_a_nested_done_finishes_the_run(
    void **state)
{
    struct endpoint_stream *stream;
    struct endpoint ep;
    struct plain p;
    struct watch w = {.plain = &p, .ep = &ep};

    (void)state;
    stream = endpoint_begin(&ep, &p, MCPI_LAST_WORD, NULL);
    w.outlet = stream->outlet;
    ask_twice(&w, &ep);
    endpoint_post(&ep, CANCEL("1"));
    endpoint_run(&ep);
    check_settled_last(&w, stream, "Request cancelled");
    endpoint_close(&ep);
}

static void
J6_F34_the_same_at_the_limit_of_the_run(void **state)
{
    struct mcpi_times times = {.run = SECOND};
    struct endpoint_stream *stream;
    struct endpoint ep;
    struct plain p;
    struct watch w = {.plain = &p, .ep = &ep};

    (void)state;
    stream = endpoint_begin(&ep, &p, 0, &times);
    w.outlet = stream->outlet;
    ask_twice(&w, &ep);
    endpoint_pass(&ep, SECOND);
    check_settled_last(&w, stream, "Run limit");
    assert_int_equal(p.ended, 0); /* it had finished */
    endpoint_close(&ep);
}

static void
J8_a_nested_request_still_queued_when_the_peer_is_lost_is_withdrawn(void **state)
{
    struct outcome out = {0};
    struct mcpi_call_options opt = {
        .method = "roots/list", .ops = &outcome_ops, .user = &out};
    struct endpoint_stream *stream;
    struct endpoint ep;
    struct plain p;
    struct world w = {0};

    (void)state;
    stream = endpoint_begin(&ep, &p, 0, NULL);
    out.world = &w;
    opt.parent = p.x;
    assert_int_equal(mcpi_call_start(ep.peer[0], &opt, ep.now, &out.call), 0);
    mcpi_peer_lost(ep.peer[0], MCP_E_CLOSED, ep.now);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_CLOSED);
    assert_null(mcpi_outlet_peer(stream->outlet));
    assert_true(mcpi_outlet_is_empty(stream->outlet));
    endpoint_run(&ep);
    assert_int_equal(stream->count, 0);
    mcpi_call_free(out.call, ep.now);
    finish(p.x, ep.now);
    endpoint_close(&ep);
}

/* Asks again when the first question is canceled. */
struct again {
    struct fake *f;
    struct plain *plain;
    int status;
};

static void
again_done(void *user, struct mcpi_call *call, int status,
           const struct mcpi_rpc *answer)
{
    struct again *a = user;
    struct mcpi_call_options opt = {
        .method = "roots/list", .parent = a->plain->x, .ops = &nested_ops};

    (void)call;
    (void)answer;
    assert_int_equal(status, MCP_E_CANCELED);
    a->status = mcpi_call_start(a->f->peer, &opt, a->f->w.now, NULL);
}

static void
F22_a_nested_start_inside_a_nested_done_is_refused_as_canceled(void **state)
{
    static const struct mcpi_call_ops ops = {.done = again_done};
    struct fake f;
    struct plain p;
    struct again a = {.f = &f, .plain = &p};
    struct mcpi_call_options opt = {.method = "roots/list", .ops = &ops, .user = &a};

    (void)state;
    server_open(&f, &p);
    fake_receive(&f, INITIALIZE("0", "2025-11-25"));
    fake_receive(&f, LEGACY_CALL("1"));
    opt.parent = p.x;
    assert_int_equal(mcpi_call_start(f.peer, &opt, f.w.now, NULL), 0);
    fake_run(&f);
    fake_receive(&f, CANCEL("1"));
    assert_int_equal(a.status, MCP_E_CANCELED);
    assert_int_equal(mcpi_exchange_progress(p.x, 1, 2, NULL, f.w.now), MCP_E_CANCELED);
    finish(p.x, f.w.now);
    fake_close(&f);
}

/* ---- negotiation ----------------------------------------------------------- */

static void
lose_the_greeting(enum mcpi_era era, int status)
{
    struct fake_options opt = {.kind = FAKE_STREAMS, .era = era};
    struct mcpi_call_options co = {.timeout_us = MCPI_NEVER};
    struct outcome out;
    struct fake f;

    assert_int_equal(fake_open(&f, &opt), 0);
    assert_int_equal(mcpi_peer_connect(f.peer, f.w.now), 0);
    fake_run(&f);
    fake_call(&f, &co, &out);
    mcpi_leg_fail(fake_event(&f, 0)->leg, &(struct mcpi_fault){.status = status},
                  f.w.now);
    assert_int_equal(f.ready, 1);
    assert_int_equal(f.ready_status, status);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_CLOSED);
    fake_pass(&f, 3600 * SECOND);
    assert_int_equal(f.peer->state, MCPI_PEER_CLOSED);
    assert_int_equal(f.ready, 1);
    outcome_done(&out);
    fake_close(&f);
}

static void
a_lost_stream_of_the_greeting_fails_the_negotiation(void **state)
{
    static const enum mcpi_era eras[] = {MCPI_ERA_BOTH, MCPI_ERA_MODERN,
                                         MCPI_ERA_LEGACY};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        lose_the_greeting(eras[i], MCP_E_CLOSED);
        lose_the_greeting(eras[i], MCP_E_SEND_FAILED);
    }
}

static void
A2_a_callers_id_0_does_not_break_the_handshake(void **state)
{
    struct fake_options opt = {.kind = FAKE_PIPE, .era = MCPI_ERA_BOTH};
    struct mcpi_id zero = mcpi_id_int(0);
    struct mcpi_call_options co = {.id = &zero};
    struct outcome out;
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    assert_int_equal(mcpi_peer_connect(f.peer, f.w.now), 0);
    fake_call(&f, &co, &out);
    fake_run(&f);
    fake_receive(&f, ERROR("\"libmcp:discover\"", "-32601"));
    fake_run(&f);
    assert_int_equal(f.ready, 0);
    assert_non_null(strstr(fake_text(&f, 1), "\"id\":1,\"method\":\"initialize\""));
    fake_receive(&f, RESULT("1", HELLO));
    fake_run(&f);
    assert_int_equal(f.ready, 1);
    assert_int_equal(f.ready_status, 0);
    assert_non_null(strstr(fake_text(&f, 3), "\"id\":0,\"method\":\"tools/call\""));
    fake_receive(&f, RESULT("0", "{}"));
    assert_int_equal(out.status, 0);
    assert_int_equal(out.done, 1);
    outcome_done(&out);
    fake_close(&f);
}

static void
close_at_initialized(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    struct fake *f = user;

    if (says(text, len, "notifications/initialized"))
        mcpi_peer_close(peer, f->w.now);
}

static void
a_peer_closed_while_its_greeting_leaves_stays_closed(void **state)
{
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &fake_links[LEGACY_STREAMS]), 0);
    f.engine->trace = close_at_initialized;
    f.engine->trace_user = &f;
    assert_int_equal(mcpi_peer_connect(f.peer, f.w.now), 0);
    fake_receive(&f, RESULT("0", HELLO));
    assert_int_equal(f.peer->state, MCPI_PEER_CLOSING);
    assert_int_equal(f.ready, 1);
    assert_int_equal(f.ready_status, MCP_E_CLOSED);
    fake_written(&f, 0);
    fake_close(&f);
}

/* ---- calls ----------------------------------------------------------------- */

struct victim {
    struct fake *f;
    struct outcome *out;
};

static void
free_at_cancel(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    struct victim *v = user;
    struct mcpi_call *call = v->out->call;

    (void)peer;
    if (!says(text, len, CANCELLED))
        return;
    v->out->call = NULL;
    mcpi_call_free(call, v->f->w.now);
}

static void
B32_a_call_may_be_freed_while_its_cancel_leaves(void **state)
{
    static const enum fake_cause causes[] = {IDLE, TOTAL, CANCEL, BY_HAND};
    struct mcpi_call_options opt = {.timeout_us = SECOND, .total_us = SECOND};
    struct outcome out;
    struct fake f;
    struct victim v = {&f, &out};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        fake_start_with(&f, &fake_links[LEGACY_STREAMS]);
        opt.timeout_us = causes[i] == IDLE ? SECOND : MCPI_NEVER;
        opt.total_us = causes[i] == TOTAL ? SECOND : MCPI_NEVER;
        fake_issue(&f, &opt, &out);
        f.engine->trace = free_at_cancel;
        f.engine->trace_user = &v;
        fake_end_by(&f, causes[i], &out);
        assert_null(out.call);
        assert_int_equal(out.done, 0); /* no callback after free */
        assert_int_equal(f.engine->counts.calls, 0);
        fake_written(&f, 0);
        fake_close(&f);
    }
}

struct flush {
    int told;
    int status;
};

static void
on_flushed(void *user, int status)
{
    struct flush *f = user;

    f->told++;
    f->status = status;
}

/* A call that was canceled, its frame waiting. */
static void
cancel_one(struct fake *f, struct outcome *out)
{
    fake_start_with(f, &fake_links[MODERN_PIPE]);
    fake_issue(f, NULL, out);
    assert_int_equal(mcpi_call_cancel(out->call, NULL, f->w.now), 0);
}

static void
B10_a_flush_after_the_fact_tells_whether_the_cancel_left(void **state)
{
    struct flush flush = {0};
    struct outcome out;
    struct fake f;

    (void)state;
    cancel_one(&f, &out);
    mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
    assert_int_equal(mcpi_call_flush(out.call, SECOND, on_flushed, &flush, f.w.now), 0);
    assert_int_equal(flush.told, 1);
    assert_int_equal(flush.status, MCP_E_CLOSED);
    outcome_done(&out);
    fake_close(&f);

    cancel_one(&f, &out);
    fake_run(&f);
    assert_int_equal(mcpi_call_flush(out.call, SECOND, on_flushed, &flush, f.w.now), 0);
    assert_int_equal(flush.told, 2);
    assert_int_equal(flush.status, 0);
    outcome_done(&out);
    fake_close(&f);
}

static void
B10_a_negative_bound_of_a_flush_is_at_once(void **state)
{
    struct flush flush = {0};
    struct outcome out;
    struct fake f;

    (void)state;
    cancel_one(&f, &out);
    assert_int_equal(mcpi_call_flush(out.call, -1, on_flushed, &flush, f.w.now), 0);
    fake_pass(&f, 0);
    assert_int_equal(flush.told, 1);
    assert_int_equal(flush.status, MCP_E_TIMEOUT);
    outcome_done(&out);
    fake_close(&f);
}

static void
B10_a_flush_does_not_call_a_cancel_sent_that_had_no_stream_left(void **state)
{
    struct outcome out = {0};
    struct world w = {0};
    struct mcpi_call_options opt = {
        .method = "roots/list", .ops = &outcome_ops, .user = &out};
    struct endpoint_stream *stream;
    struct flush flush = {0};
    struct endpoint ep;
    struct plain p;

    (void)state;
    stream = endpoint_begin(&ep, &p, 0, NULL);
    out.world = &w;
    opt.parent = p.x;
    assert_int_equal(mcpi_call_start(ep.peer[0], &opt, ep.now, &out.call), 0);
    endpoint_run(&ep);
    endpoint_leave(&ep, stream);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, ep.now), 0);
    assert_int_equal(mcpi_call_flush(out.call, SECOND, on_flushed, &flush, ep.now), 0);
    assert_int_equal(flush.told, 1);
    assert_int_equal(flush.status, MCP_E_CLOSED);
    outcome_done(&out);
    finish(p.x, ep.now);
    endpoint_close(&ep);
}

/* ---- a peer that floods, or does not read ---------------------------------- */

static void
many_open_and_held_requests_end_with_their_peer_in_one_call(void **state)
{
    enum { HALF = 8192 };
    static struct mcpi_exchange *all[2 * HALF];
    char text[512];
    struct fake f;
    struct plain p;

    (void)state;
    server_open(&f, &p);
    f.engine->log.fn = NULL;
    f.engine->trace = NULL;
    for (int i = 0; i < 2 * HALF; i++) {
        snprintf(text, sizeof(text), MODERN_CALL("%d"), i);
        fake_receive(&f, text);
        all[i] = p.x;
        snprintf(text, sizeof(text), CANCEL("%d"), i);
        if (i < HALF)
            fake_receive(&f, text);
    }
    assert_int_equal(f.engine->counts.exchanges, HALF);
    assert_int_equal(f.engine->counts.held, HALF);
    mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
    assert_int_equal(f.engine->counts.exchanges, 0);
    assert_int_equal(f.engine->counts.held, 2 * HALF);
    assert_int_equal(p.ended, 2 * HALF);
    for (int i = 0; i < 2 * HALF; i++)
        finish(all[i], f.w.now);
    assert_int_equal(f.peer->exchange_count, 0);
    fake_close(&f);
}

/* A request of some size, and its answer. */
static void
receive_large(struct fake *f, int id, size_t bytes)
{
    char *text = malloc(bytes + 512);
    int n;

    assert_non_null(text);
    n = snprintf(text, 512,
                 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\","
                 "\"params\":{\"name\":\"t\"," STAMP ",\"pad\":\"",
                 id);
    memset(text + n, 'x', bytes);
    strcpy(text + n + bytes, "\"}}");
    fake_receive(f, text);
    free(text);
}

static void
finish_large(struct mcpi_exchange *x, size_t bytes, int64_t now)
{
    struct mcpi_result result;

    mcpi_result_init(&result, x->engine);
    mcpi_buf_text(&result.body, "{\"pad\":\"");
    for (size_t i = 0; i < bytes; i++)
        mcpi_buf_char(&result.body, 'x');
    mcpi_buf_text(&result.body, "\"}");
    mcpi_exchange_finish(x, &result, now);
}

static void
a_request_above_the_bytes_that_may_be_held_is_refused(void **state)
{
    struct mcpi_limits limits = {.held_bytes = 40000};
    struct mcpi_exchange *first;
    struct fake f;
    struct plain p;

    (void)state;
    server_open_with(&f, &p, &limits);
    receive_large(&f, 1, 9000);
    first = p.x;
    receive_large(&f, 2, 9000); /* one more than fits: the rest is refused */
    receive_large(&f, 3, 10);
    assert_int_equal(p.begun, 2);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "answer");
    assert_non_null(strstr(fake_text(&f, 0), "\"id\":3,\"error\":{\"code\":-32603,"));
    finish(first, f.w.now);
    finish(p.x, f.w.now);
    fake_run(&f);
    receive_large(&f, 4, 10); /* there is room again */
    assert_int_equal(p.begun, 3);
    finish(p.x, f.w.now);
    fake_run(&f);
    assert_int_equal(f.peer->request_bytes, 0);
    assert_int_equal(f.peer->answer_bytes, 0);
    assert_int_equal(f.peer->failing, 0);
    fake_close(&f);
}

static void
C7_a_peer_that_does_not_read_large_answers_is_given_up(void **state)
{
    struct mcpi_limits limits = {.held_bytes = 50000};
    struct mcpi_exchange *x[3];
    struct fake f;
    struct plain p;

    (void)state;
    server_open_with(&f, &p, &limits);
    for (int i = 0; i < 3; i++) {
        receive_large(&f, i, 10);
        x[i] = p.x;
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(f.peer->failing, 0);
        finish_large(x[i], 30000, f.w.now);
    }
    assert_int_equal(f.peer->failing, MCP_E_LIMIT);
    fake_pass(&f, 0);
    assert_int_equal(f.peer->state, MCPI_PEER_CLOSED);
    assert_int_equal(f.peer->answer_bytes, 0);
    fake_close(&f);
}

static void
one_request_above_the_limit_does_not_cost_a_peer_that_reads_its_link(void **state)
{
    struct mcpi_limits limits = {.held_bytes = 1000};
    struct mcpi_exchange *small;
    struct fake f;
    struct plain p;

    (void)state;
    server_open_with(&f, &p, &limits);
    receive_large(&f, 1, 10);
    small = p.x;
    receive_large(&f, 2, 9000);
    finish(p.x, f.w.now);
    finish(small, f.w.now); /* two in one turn */
    assert_int_equal(f.peer->failing, 0);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "answer answer");
    fake_close(&f);
}

static void
an_answer_that_has_left_is_not_held_by_who_keeps_its_request(void **state)
{
    struct mcpi_exchange *kept;
    struct fake f;
    struct plain p;

    (void)state;
    server_open(&f, &p);
    receive_large(&f, 1, 10);
    kept = mcpi_exchange_ref(p.x);
    finish_large(p.x, 5000, f.w.now);
    assert_true(f.peer->answer_bytes > 5000);
    fake_run(&f);
    assert_int_equal(f.peer->answer_bytes, 0);
    assert_int_not_equal(f.peer->request_bytes, 0);
    mcpi_exchange_unref(kept);
    assert_int_equal(f.peer->request_bytes, 0);
    fake_close(&f);
}

/* A request with a very long id that is refused at once: its params are none. */
static void
receive_long_id(struct fake *f, size_t bytes)
{
    char *text = malloc(bytes + 512);
    int n;

    assert_non_null(text);
    n = snprintf(text, 512,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\",\"params\":{"
                 "\"a\":1,\"a\":2},\"id\":\"");
    memset(text + n, 'i', bytes);
    strcpy(text + n + bytes, "\"}");
    fake_receive(f, text);
    free(text);
}

static void
C7_refusals_that_are_not_read_count_as_well(void **state)
{
    struct mcpi_limits limits = {.held_bytes = 50000};
    struct fake f;
    struct plain p;

    (void)state;
    server_open_with(&f, &p, &limits);
    for (int i = 0; i < 4; i++) { /* they have as much room again as the rest */
        assert_int_equal(f.peer->failing, 0);
        receive_long_id(&f, 30000);
    }
    assert_int_equal(f.peer->failing, MCP_E_LIMIT);
    fake_run(&f);
    assert_int_equal(f.peer->answer_bytes, 0);
    fake_pass(&f, 0);
    assert_int_equal(f.peer->state, MCPI_PEER_CLOSED);
    fake_close(&f);
}

static void
C7_at_the_limit_a_request_is_refused_and_the_link_stays(void **state)
{
    struct mcpi_limits limits = {.held_bytes = 50000};
    struct mcpi_exchange *first;
    struct fake f;
    struct plain p;

    (void)state;
    server_open_with(&f, &p, &limits);
    receive_large(&f, 1, 10);
    first = p.x;
    receive_large(&f, 2, 10);
    finish_large(first, 30000, f.w.now);
    finish_large(p.x, 30000, f.w.now);
    receive_large(&f, 3, 10); /* none of the answers has left */
    receive_large(&f, 4, 10);
    assert_int_equal(p.begun, 2);
    assert_int_equal(f.peer->failing, 0);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "answer answer answer answer");
    assert_non_null(strstr(fake_text(&f, 2), "\"id\":3,\"error\":{\"code\":-32603,"));
    assert_non_null(strstr(fake_text(&f, 3), "\"id\":4,\"error\":{\"code\":-32603,"));
    assert_int_equal(f.peer->answer_bytes, 0);
    receive_large(&f, 5, 10); /* and goes on when it is read */
    assert_int_equal(p.begun, 3);
    finish(p.x, f.w.now);
    fake_run(&f);
    fake_pass(&f, 0);
    assert_int_not_equal(f.peer->state, MCPI_PEER_CLOSED);
    fake_close(&f);
}

static void
a_refusal_that_cannot_be_written_gives_the_link_up(void **state)
{
    struct fake f;
    struct plain p;

    (void)state;
    server_open(&f, &p);
    receive_long_id(&f, 10000);
    f.mem->fail_at = f.mem->total + 1;
    fake_run(&f);
    f.mem->fail_at = 0;
    assert_int_equal(f.mem->failed, 1);
    assert_string_equal(fake_said(&f), "");
    assert_int_equal(f.peer->failing, MCP_E_NOMEM); /* its sender must not wait */
    fake_close(&f);
}

static void
a_peer_that_is_given_up_does_not_drain_first(void **state)
{
    struct fake f;
    struct plain p;

    (void)state;
    for (int ended_first = 0; ended_first < 2; ended_first++) {
        server_open(&f, &p);
        f.engine->times.drain = f.engine->times.stop = MCPI_NEVER;
        fake_receive(&f, MODERN_CALL("1"));
        if (ended_first)
            mcpi_peer_input_ended(f.peer, f.w.now);
        mcpi_peer_fail(f.peer, MCP_E_LIMIT, "test");
        if (ended_first)
            finish(p.x, f.w.now);
        else
            mcpi_peer_input_ended(f.peer, f.w.now);
        fake_pass(&f, 0);
        assert_int_equal(f.peer->state, MCPI_PEER_CLOSED);
        assert_string_equal(fake_said(&f), "now");
        if (!ended_first)
            finish(p.x, f.w.now);
        fake_close(&f);
    }
}

static void
exchanges_that_outlive_their_peer_leave_its_accounts_alone(void **state)
{
    struct mcpi_exchange *held;
    struct fake f;
    struct plain p;

    (void)state;
    server_open(&f, &p);
    receive_large(&f, 1, 5000);
    held = p.x;
    receive_large(&f, 2, 5000);
    assert_int_equal(fake_take(&f), 0);
    mcpi_peer_free(f.peer);
    f.peer = NULL;
    finish(held, f.w.now);
    finish_large(p.x, 5000, f.w.now);
    assert_int_equal(f.engine->counts.held, 0);
    fake_close(&f);
}

/* ---- outlets and the end of their peer ------------------------------------- */

static void
a_request_that_comes_while_the_peer_closes_is_refused_on_its_stream(void **state)
{
    struct endpoint_stream *stream;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, 0, NULL);
    endpoint_greet(&ep, 0);
    mcpi_peer_close(ep.peer[0], ep.now);
    stream = endpoint_post(&ep, LEGACY_CALL("5"));
    endpoint_run(&ep);
    assert_int_equal(stream->count, 1);
    assert_non_null(strstr(stream->sent[0], "\"id\":5,\"error\":{\"code\":-32603,"));
    assert_non_null(strstr(stream->sent[0], "Connection closed"));
    endpoint_close(&ep);
}

static void
an_outlet_of_a_lost_peer_may_outlive_it(void **state)
{
    struct mcpi_outlet *before, *after;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, 0, NULL);
    assert_int_equal(mcpi_outlet_new(ep.peer[1], NULL, &before), 0);
    mcpi_peer_lost(ep.peer[1], MCP_E_CLOSED, ep.now);
    assert_null(mcpi_outlet_peer(before));
    assert_int_equal(mcpi_outlet_new(ep.peer[1], NULL, &after), 0);
    mcpi_peer_free(ep.peer[1]);
    assert_null(mcpi_outlet_peer(after));
    mcpi_outlet_kill(before);
    mcpi_outlet_unref(before);
    mcpi_outlet_unref(after);
    assert_int_equal(mcpi_peer_new(ep.engine, ep.peer[0]->ops, 0, &ep, &ep.peer[1]), 0);
    endpoint_close(&ep);
}

static void
a_refusal_longer_than_a_message_may_be_gives_the_link_up(void **state)
{
    struct mcpi_limits limits = {.message_bytes = 10000};
    struct fake f;
    struct plain p;

    (void)state;
    server_open_with(&f, &p, &limits);
    receive_long_id(&f, 9950); /* with what is around it, it does not fit */
    assert_int_not_equal(f.peer->failing, 0);
    fake_pass(&f, 0); /* its sender hears that */
    assert_int_equal(f.peer->state, MCPI_PEER_CLOSED);
    assert_string_equal(fake_said(&f), "now");
    fake_close(&f);
}

/* ---- memory and the log ---------------------------------------------------- */

static void
an_answer_that_no_memory_can_hold_wakes_its_waiter(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = MCPI_NEVER};
    struct outcome out;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_call(&w, CLIENT, &opt, &out);
    world_run(&w);
    job_finish(&w, world_job(&w, SERVER), "{}");
    mcpi_pair_step(w.end[SERVER], w.now);
    w.mem->fail_at = w.mem->total + 1;
    mcpi_pair_step(w.end[CLIENT], w.now);
    w.mem->fail_at = 0;
    assert_int_equal(w.mem->failed, 1);
    assert_int_equal(out.done, 0);
    world_pass(&w, 0); /* the next turn */
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_CLOSED);
    assert_int_equal(w.peer[CLIENT]->state, MCPI_PEER_CLOSED);
    assert_int_equal(w.closed_status[CLIENT], MCP_E_NOMEM);
    outcome_done(&out);
    world_close(&w);
}

static void
what_a_peer_can_repeat_is_warned_of_once(void **state)
{
    static const char *const lines[] = {
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"m\"}}", "x",
        REQUEST("1", "a", "{}"), "{\"jsonrpc\":\"2.0\",\"id\":{}}", CANCEL("1")};
    struct outcome out;
    struct world w;
    size_t warned = 0, again = 0;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_plain_call(&w, &out);
    world_run(&w);
    for (int i = 0; i < 100; i++)
        for (size_t k = 0; k < 5; k++) {
            world_inject(&w, SERVER, lines[k]);
            world_run(&w);
        }
    for (size_t i = 0; i < w.log_count; i++) {
        warned += w.log[i][0] == 'W';
        again += strncmp(w.log[i], "D: not a message", 16) == 0;
    }
    assert_int_equal(warned, 5);
    assert_int_equal(again, 99);
    outcome_done(&out);
    world_close(&w);
}

TEST_MAIN(
    TEST(a_note_half_written_outlives_its_exchange),
    TEST(refused_progress_may_be_said_again),
    TEST(notes_of_an_exchange_pass_before_its_answer_while_negotiating),
    TEST(a_request_that_ended_while_it_was_routed_is_not_begun),
    TEST(text_of_the_peer_in_a_refusal_is_cleaned_in_place),
    TEST(a_result_whose_meta_failed_becomes_the_internal_error),
    TEST(J6_F9_settle_is_told_after_the_last_word_when_a_nested_done_finishes_the_run),
    TEST(J6_F34_the_same_at_the_limit_of_the_run),
    TEST(J8_a_nested_request_still_queued_when_the_peer_is_lost_is_withdrawn),
    TEST(F22_a_nested_start_inside_a_nested_done_is_refused_as_canceled),
    TEST(a_lost_stream_of_the_greeting_fails_the_negotiation),
    TEST(A2_a_callers_id_0_does_not_break_the_handshake),
    TEST(a_peer_closed_while_its_greeting_leaves_stays_closed),
    TEST(B32_a_call_may_be_freed_while_its_cancel_leaves),
    TEST(B10_a_flush_after_the_fact_tells_whether_the_cancel_left),
    TEST(B10_a_negative_bound_of_a_flush_is_at_once),
    TEST(B10_a_flush_does_not_call_a_cancel_sent_that_had_no_stream_left),
    TEST(many_open_and_held_requests_end_with_their_peer_in_one_call),
    TEST(a_request_above_the_bytes_that_may_be_held_is_refused),
    TEST(C7_a_peer_that_does_not_read_large_answers_is_given_up),
    TEST(one_request_above_the_limit_does_not_cost_a_peer_that_reads_its_link),
    TEST(an_answer_that_has_left_is_not_held_by_who_keeps_its_request),
    TEST(C7_refusals_that_are_not_read_count_as_well),
    TEST(C7_at_the_limit_a_request_is_refused_and_the_link_stays),
    TEST(a_refusal_that_cannot_be_written_gives_the_link_up),
    TEST(a_peer_that_is_given_up_does_not_drain_first),
    TEST(exchanges_that_outlive_their_peer_leave_its_accounts_alone),
    TEST(a_request_that_comes_while_the_peer_closes_is_refused_on_its_stream),
    TEST(an_outlet_of_a_lost_peer_may_outlive_it),
    TEST(a_refusal_longer_than_a_message_may_be_gives_the_link_up),
    TEST(an_answer_that_no_memory_can_hold_wakes_its_waiter),
    TEST(what_a_peer_can_repeat_is_warned_of_once))
