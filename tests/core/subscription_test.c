/* subscription_test.c - our own subscriptions/listen: opened, fed, ended once */
#include "core/subscription.h"

#include <stdio.h>
#include <string.h>

#include "support/fake.h"
#include "support/listening.h"

/* ---- a subscription and what it hears -------------------------------------- */

enum when { NEVER, IN_OPENED, IN_EVENT, IN_ENDED };

struct heard {
    struct mcpi_subscription *s;
    int opened, events, ended;
    bool filtered; /* an object came with it */
    char last[64]; /* method of the last event */
    enum mcpi_subscription_end how;
    int status, code;
    char order[64];       /* "o", "e", "x" as they came */
    enum when close_when; /* from inside a callback */
};

static void
heard_note(struct heard *h, char what, enum when when)
{
    size_t used = strlen(h->order);

    if (used + 1 < sizeof(h->order)) {
        h->order[used] = what;
        h->order[used + 1] = '\0';
    }
    if (h->close_when == when) {
        mcpi_subscription_close(h->s, 0);
        h->s = NULL;
    }
}

static void
on_opened(void *user, const mcp_json *filter)
{
    struct heard *h = user;

    h->opened++;
    h->filtered = mcp_json_get_type(filter) == MCP_JSON_OBJECT;
    heard_note(h, 'o', IN_OPENED);
}

static void
on_event(void *user, const struct mcpi_rpc *note)
{
    struct heard *h = user;

    h->events++;
    snprintf(h->last, sizeof(h->last), "%.*s", (int)note->method_len,
             note->method_name);
    heard_note(h, 'e', IN_EVENT);
}

static void
on_ended(void *user, enum mcpi_subscription_end how, int status,
         const struct mcpi_rpc *answer)
{
    struct heard *h = user;

    h->ended++;
    h->how = how;
    h->status = status;
    h->code = status == MCP_E_PEER ? answer->error_code : 0;
    heard_note(h, 'x', IN_ENDED);
}

static const struct mcpi_subscription_ops ops = {on_opened, on_event, on_ended};

#define FILTER "{\"toolsListChanged\":true}"

static int
try_open(struct mcpi_peer *peer, const struct mcpi_subscription_options *given,
         int64_t now, struct heard *h)
{
    struct mcpi_subscription_options opt = {0};

    if (given)
        opt = *given;
    memset(h, 0, sizeof(*h));
    opt.filter = FILTER;
    opt.filter_len = strlen(FILTER);
    opt.ops = &ops;
    opt.user = h;
    return mcpi_subscription_open(peer, &opt, now, &h->s);
}

static void
start(struct fake *f)
{
    fake_start_with(f, &fake_links[MODERN_PIPE]);
}

/* Open one on a link and let its request leave. */
static void
open_on(struct fake *f, struct heard *h)
{
    assert_int_equal(try_open(f->peer, NULL, f->w.now, h), 0);
    fake_run(f);
    fake_forget(f);
}

/* A modern client with a subscription of id "listen-1" that is open. */
static void
start_open(struct fake *f, struct heard *h)
{
    start(f);
    open_on(f, h);
    fake_receive(f, ACK("\"listen-1\"", FILTER));
    assert_int_equal(h->opened, 1);
}

static void
let_go(struct fake *f, struct heard *h)
{
    mcpi_subscription_close(h->s, f->w.now);
    h->s = NULL;
}

static void
finish(struct fake *f, struct heard *h)
{
    let_go(f, h);
    fake_close(f);
}

static void
expect_end(const struct heard *h, enum mcpi_subscription_end how, int status)
{
    assert_int_equal(h->ended, 1);
    assert_int_equal(h->how, how);
    assert_int_equal(h->status, status);
    if (h->s)
        assert_int_equal(mcpi_subscription_how(h->s), how);
}

static struct mcpi_leg *
leg_of(struct fake *f, const struct heard *h)
{
    return mcpi_leg_find_any(f->peer, mcpi_subscription_id(h->s));
}

#define CLOSED_BY_SERVER(id) RESULT(id, "{\"resultType\":\"complete\"," TAG(id) "}")

/* ---- opening --------------------------------------------------------------- */

static void
look_for_route(struct fake *f, struct mcpi_outlet *outlet)
{
    struct mcpi_id id = mcpi_id_string("listen-1", 8);

    (void)outlet;
    if (mcpi_leg_find_any(f->peer, &id))
        f->user = f;
}

static void
H1_request_has_a_text_for_an_id_and_its_route_is_there_first(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    start(&f);
    f.on_wake = look_for_route;
    assert_int_equal(try_open(f.peer, NULL, f.w.now, &h), 0);
    assert_ptr_equal(f.user, &f);
    fake_run(&f);
    assert_non_null(
        strstr(fake_text(&f, 0),
               "{\"jsonrpc\":\"2.0\",\"id\":\"listen-1\",\"method\":"
               "\"subscriptions/listen\",\"params\":{\"notifications\":" FILTER
               ",\"_meta\":{"));
    assert_string_equal(mcpi_subscription_id(h.s)->text, "listen-1");
    assert_int_equal(mcpi_subscription_how(h.s), MCPI_SUBSCRIPTION_OPEN);
    assert_int_equal(h.opened, 0);
    finish(&f, &h);
}

static void
H1_ids_are_the_callers_or_differ(void **state)
{
    struct mcpi_id taken = mcpi_id_string("listen-2", 8), own = mcpi_id_string("7", 1);
    struct mcpi_subscription_options opt = {.id = &taken};
    struct heard a, b, c, d;
    struct fake f;

    (void)state;
    start(&f);
    assert_int_equal(try_open(f.peer, &opt, f.w.now, &a), 0);
    assert_int_equal(try_open(f.peer, &opt, f.w.now, &b), MCP_E_ID_IN_USE);
    open_on(&f, &b);
    open_on(&f, &c);
    assert_string_equal(mcpi_subscription_id(b.s)->text, "listen-1");
    assert_string_equal(mcpi_subscription_id(c.s)->text, "listen-3");
    opt.id = &own;
    opt.meta = "{\"mine\":1}";
    opt.meta_len = strlen(opt.meta);
    assert_int_equal(try_open(f.peer, &opt, f.w.now, &d), 0);
    fake_run(&f);
    assert_non_null(strstr(fake_text(&f, 0), "\"id\":\"7\""));
    assert_non_null(strstr(fake_text(&f, 0), "\"mine\":1"));
    fake_receive(&f, ACK("7", "{}")); /* the other spelling of the same (A6) */
    assert_int_equal(d.opened, 1);
    let_go(&f, &a);
    let_go(&f, &b);
    let_go(&f, &c);
    finish(&f, &d);
}

static void
only_a_modern_server_that_is_agreed_with_is_asked(void **state)
{
    struct fake_options server = {.role = MCPI_SERVER};
    struct heard h;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fake_links[LEGACY_PIPE]);
    assert_int_equal(try_open(f.peer, NULL, f.w.now, &h), MCP_E_NO_CHANNEL);
    fake_close(&f);
    assert_int_equal(fake_open(&f, &fake_links[MODERN_PIPE]), 0);
    assert_int_equal(try_open(f.peer, NULL, f.w.now, &h), MCP_E_NO_CHANNEL);
    fake_close(&f);
    assert_int_equal(fake_open(&f, &server), 0);
    assert_int_equal(try_open(f.peer, NULL, f.w.now, &h), MCP_E_NO_CHANNEL);
    fake_close(&f);
    start(&f);
    mcpi_peer_close(f.peer, f.w.now);
    assert_int_equal(try_open(f.peer, NULL, f.w.now, &h), MCP_E_CLOSED);
    fake_close(&f);
}

static void
H2_only_the_wait_for_the_ack_has_a_clock(void **state)
{
    struct mcpi_subscription_options opt = {.open_us = SECOND};
    struct heard h;
    struct fake f;

    (void)state;
    start(&f);
    assert_int_equal(try_open(f.peer, &opt, f.w.now, &h), 0);
    fake_run(&f);
    fake_pass(&f, SECOND - 1);
    fake_receive(&f, ACK("\"listen-1\"", FILTER));
    assert_int_equal(h.opened, 1);
    assert_true(h.filtered);
    fake_pass(&f, 24 * 3600 * SECOND);
    fake_receive(&f, CHANGED("\"listen-1\"", "tools"));
    assert_int_equal(h.events, 1);
    assert_string_equal(h.last, "notifications/tools/list_changed");
    assert_int_equal(h.ended, 0);
    finish(&f, &h);
}

static void
H2_the_wait_is_that_of_a_request_unless_said_otherwise(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    start(&f);
    open_on(&f, &h);
    fake_pass(&f, 60 * SECOND - 1);
    assert_int_equal(h.ended, 0);
    fake_pass(&f, 1);
    expect_end(&h, MCPI_SUBSCRIPTION_LOST, MCP_E_TIMEOUT);
    finish(&f, &h);
}

static void
H5_no_ack_in_time_fails_the_open_with_a_frame(void **state)
{
    struct mcpi_subscription_options opt = {.open_us = SECOND};
    struct heard h;
    struct fake f;

    (void)state;
    start(&f);
    assert_int_equal(try_open(f.peer, &opt, f.w.now, &h), 0);
    fake_run(&f);
    fake_forget(&f);
    fake_pass(&f, SECOND);
    expect_end(&h, MCPI_SUBSCRIPTION_LOST, MCP_E_TIMEOUT);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "frame");
    assert_non_null(strstr(fake_text(&f, 0), "\"requestId\":\"listen-1\""));
    fake_receive(&f, ACK("\"listen-1\"", FILTER)); /* late: its route is gone */
    fake_receive(&f, CHANGED("\"listen-1\"", "tools"));
    assert_string_equal(h.order, "x");
    finish(&f, &h);
}

static void
H5_open_that_is_refused_is_lost_with_the_error(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    start(&f);
    open_on(&f, &h);
    fake_receive(&f, ERROR("\"listen-1\"", "-32603"));
    expect_end(&h, MCPI_SUBSCRIPTION_LOST, MCP_E_PEER);
    assert_int_equal(h.code, -32603);
    assert_int_equal(h.opened, 0);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "");
    finish(&f, &h);
}

static void
ack_without_a_filter_opens_with_none_and_a_second_one_is_dropped(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    start(&f);
    open_on(&f, &h);
    fake_receive(&f, CHANGED("\"listen-1\"", "tools")); /* before it began */
    assert_int_equal(h.events, 0);
    assert_true(fake_logged(&f, "D: event before the start of subscription"));
    fake_receive(&f, ACK("\"listen-1\"", "[]"));
    assert_int_equal(h.opened, 1);
    assert_false(h.filtered);
    fake_receive(&f, ACK("\"listen-1\"", FILTER));
    assert_string_equal(h.order, "o");
    assert_true(fake_logged(&f, "D: second acknowledgment of subscription"));
    finish(&f, &h);
}

/* ---- we close it ----------------------------------------------------------- */

static void
H3_close_on_a_pipe_is_one_frame(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    start_open(&f, &h);
    let_go(&f, &h);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "frame");
    assert_non_null(strstr(fake_text(&f, 0), "\"requestId\":\"listen-1\""));
    fake_assert_quiet(&f);
    fake_receive(&f, CHANGED("\"listen-1\"", "tools"));
    assert_string_equal(h.order, "o");
    mcpi_subscription_close(NULL, 0);
    fake_close(&f);
}

static void
H4_close_on_a_stream_of_its_own_is_a_hangup(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fake_links[MODERN_STREAMS]);
    open_on(&f, &h);
    fake_receive_on(&f, leg_of(&f, &h), ACK("\"listen-1\"", FILTER));
    assert_int_equal(h.opened, 1);
    let_go(&f, &h);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "hangup:0");
    fake_close(&f);
}

static void
H5_close_before_the_ack_tears_down_what_was_sent(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    start(&f);
    assert_int_equal(try_open(f.peer, NULL, f.w.now, &h), 0);
    let_go(&f, &h); /* not yet issued: without a trace */
    fake_run(&f);
    assert_string_equal(fake_said(&f), "");
    open_on(&f, &h);
    let_go(&f, &h);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "frame");
    assert_string_equal(h.order, "");
    fake_close(&f);
}

static void
H12_nothing_is_heard_after_a_close_from_inside(void **state)
{
    static const struct {
        enum when when;
        const char *order;
    } rows[] = {{IN_OPENED, "o"}, {IN_EVENT, "oe"}, {IN_ENDED, "oeex"}};
    struct heard h;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        start(&f);
        open_on(&f, &h);
        h.close_when = rows[i].when;
        fake_receive(&f, ACK("\"listen-1\"", FILTER));
        fake_receive(&f, CHANGED("\"listen-1\"", "tools"));
        fake_receive(&f, CHANGED("\"listen-1\"", "tools"));
        fake_receive(&f, CLOSED_BY_SERVER("\"listen-1\""));
        assert_string_equal(h.order, rows[i].order);
        assert_null(h.s);
        fake_run(&f);
        assert_string_equal(fake_said(&f), rows[i].when == IN_ENDED ? "" : "frame");
        fake_close(&f);
    }
}

static void
B34_frame_by_hand_ends_it_with_that_one_frame(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    start_open(&f, &h);
    fake_frame(&f, "{\"requestId\":\"listen-1\"}");
    expect_end(&h, MCPI_SUBSCRIPTION_LOST, MCP_E_CANCELED);
    let_go(&f, &h);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "frame");
    fake_close(&f);
}

/* ---- the server ends it ---------------------------------------------------- */

static void
H7_result_is_a_graceful_end_after_all_events(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    start_open(&f, &h);
    fake_receive(&f, CHANGED("\"listen-1\"", "tools"));
    fake_receive(&f, UPDATED("\"listen-1\"", "x:1"));
    fake_receive(&f, CLOSED_BY_SERVER("\"listen-1\""));
    expect_end(&h, MCPI_SUBSCRIPTION_GRACEFUL, 0);
    assert_string_equal(h.order, "oeex");
    assert_string_equal(mcpi_subscription_id(h.s)->text, "listen-1");
    let_go(&f, &h);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "");
    fake_close(&f);
}

static void
H8_result_before_the_ack_opens_it_and_ends_it(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    start(&f);
    open_on(&f, &h);
    fake_receive(&f, CLOSED_BY_SERVER("\"listen-1\""));
    assert_string_equal(h.order, "ox");
    assert_false(h.filtered);
    expect_end(&h, MCPI_SUBSCRIPTION_GRACEFUL, 0);
    let_go(&f, &h);
    open_on(&f, &h);
    h.close_when = IN_OPENED;
    fake_receive(&f, CLOSED_BY_SERVER("\"listen-2\""));
    assert_string_equal(h.order, "o"); /* closed between the two */
    fake_close(&f);
}

static void
result_that_asks_for_something_is_no_end(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    start(&f);
    open_on(&f, &h);
    fake_receive(&f, RESULT("\"listen-1\"", "{\"resultType\":\"input_required\"}"));
    expect_end(&h, MCPI_SUBSCRIPTION_LOST, MCP_E_PROTO);
    assert_int_equal(h.opened, 0);
    finish(&f, &h);
}

static void
H6_the_first_reason_wins(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    start_open(&f, &h);
    fake_receive(&f, CLOSED_BY_SERVER("\"listen-1\""));
    fake_receive(&f, CANCEL("\"listen-1\""));
    fake_receive(&f, CLOSED_BY_SERVER("\"listen-1\""));
    mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
    expect_end(&h, MCPI_SUBSCRIPTION_GRACEFUL, 0);
    finish(&f, &h);
    start_open(&f, &h);
    fake_receive(&f, CANCEL("\"listen-1\""));
    fake_receive(&f, CLOSED_BY_SERVER("\"listen-1\""));
    expect_end(&h, MCPI_SUBSCRIPTION_LOST, MCP_E_CANCELED);
    finish(&f, &h);
}

static void
H9_frame_of_the_server_ends_that_one_alone_and_is_not_returned(void **state)
{
    struct outcome call;
    struct heard a, b;
    struct fake f;

    (void)state;
    start_open(&f, &a);
    open_on(&f, &b); /* "listen-2", not acknowledged */
    fake_issue(&f, NULL, &call);
    fake_receive(&f, CANCEL("\"listen-1\""));
    expect_end(&a, MCPI_SUBSCRIPTION_LOST, MCP_E_CANCELED);
    assert_int_equal(b.ended, 0);
    fake_receive(&f, CANCEL("\"listen-2\"")); /* before the ack: the open fails */
    expect_end(&b, MCPI_SUBSCRIPTION_LOST, MCP_E_CANCELED);
    assert_int_equal(b.opened, 0);
    fake_receive(&f, CANCEL("3")); /* not for a server to cancel (J4) */
    assert_int_equal(call.done, 0);
    assert_true(fake_logged(&f, "W: the peer cancels request 3, which is ours"));
    fake_run(&f);
    assert_string_equal(fake_said(&f), "");
    outcome_done(&call);
    let_go(&f, &a);
    finish(&f, &b);
}

static void
H9_frame_that_is_tagged_is_a_frame(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    start_open(&f, &h);
    fake_receive(&f, NOTE("notifications/cancelled",
                          "{\"requestId\":\"listen-1\"," TAG("\"listen-1\"") "}"));
    expect_end(&h, MCPI_SUBSCRIPTION_LOST, MCP_E_CANCELED);
    assert_string_equal(h.order, "ox");
    finish(&f, &h);
}

static void
H9_H14_on_streams_each_is_reached_by_its_own_only(void **state)
{
    struct heard a, b;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fake_links[MODERN_STREAMS]);
    open_on(&f, &a);
    open_on(&f, &b);
    fake_receive_on(&f, leg_of(&f, &b), ACK("\"listen-1\"", FILTER));
    assert_int_equal(a.opened, 0);
    fake_receive_on(&f, leg_of(&f, &a), ACK("\"listen-1\"", FILTER));
    fake_receive_on(&f, leg_of(&f, &b), CHANGED("\"listen-1\"", "tools"));
    fake_receive_on(&f, leg_of(&f, &b), CANCEL("\"listen-1\""));
    assert_string_equal(a.order, "o");
    assert_string_equal(b.order, "");
    fake_receive_on(&f, leg_of(&f, &a), CANCEL("\"listen-1\""));
    expect_end(&a, MCPI_SUBSCRIPTION_LOST, MCP_E_CANCELED);
    assert_string_equal(fake_said(&f), "hangup:0"); /* and no frame */
    let_go(&f, &a);
    finish(&f, &b);
}

static void
H10_stream_that_breaks_is_lost_and_nothing_is_reopened(void **state)
{
    struct heard h;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fake_links[MODERN_STREAMS]);
    open_on(&f, &h);
    fake_receive_on(&f, leg_of(&f, &h), ACK("\"listen-1\"", FILTER));
    mcpi_leg_fail(leg_of(&f, &h), &(struct mcpi_fault){.status = MCP_E_CLOSED},
                  f.w.now);
    expect_end(&h, MCPI_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    fake_pass(&f, 3600 * SECOND);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "hangup:0");
    finish(&f, &h);
}

static void
H10_H11_lost_or_closed_connection_ends_all_as_lost(void **state)
{
    struct heard a, b;
    struct fake f;

    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        start_open(&f, &a);
        open_on(&f, &b);
        fake_end_by(&f, lost ? LOST : CLOSE, NULL);
        expect_end(&a, MCPI_SUBSCRIPTION_LOST, MCP_E_CLOSED);
        expect_end(&b, MCPI_SUBSCRIPTION_LOST, MCP_E_CLOSED);
        fake_run(&f);
        assert_string_equal(fake_said(&f), lost ? "" : "drain");
        let_go(&f, &a);
        finish(&f, &b);
    }
}

static void
subscription_may_outlive_its_peer(void **state)
{
    struct heard h;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    assert_int_equal(try_open(w.peer[CLIENT], NULL, w.now, &h), 0);
    world_run(&w);
    world_cut(&w, CLIENT);
    expect_end(&h, MCPI_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    assert_string_equal(mcpi_subscription_id(h.s)->text, "listen-1");
    mcpi_subscription_close(h.s, w.now);
    world_close(&w);
}

/* ---- strays ---------------------------------------------------------------- */

static size_t
count_notices(const struct world *w, int side, const char *method)
{
    size_t n = 0;

    for (size_t i = 0; i < w->notice_count; i++)
        n += w->notices[i].side == side && strcmp(w->notices[i].method, method) == 0;
    return n;
}

static void
H14_stray_events_reach_nobody(void **state)
{
    static const char *const strays[] = {
        CHANGED("\"listen-9\"", "tools"), /* never was */
        CHANGED("3", "tools"),            /* a call */
        ACK("\"listen-2\"", FILTER),      /* closed */
        NOTE("notifications/tools/list_changed",
             "{\"_meta\":{" META_KEY("protocolVersion") ":1}}"),
    };
    struct heard open, closed;
    struct outcome call;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    assert_int_equal(try_open(w.peer[CLIENT], NULL, w.now, &open), 0);
    assert_int_equal(try_open(w.peer[CLIENT], NULL, w.now, &closed), 0);
    world_plain_call(&w, &call);
    world_run(&w);
    world_inject(&w, SERVER, ACK("\"listen-1\"", FILTER));
    world_run(&w);
    mcpi_subscription_close(closed.s, w.now);
    for (size_t i = 0; i < sizeof(strays) / sizeof(strays[0]); i++)
        world_inject(&w, SERVER, strays[i]);
    world_run(&w);
    assert_string_equal(open.order, "o");
    assert_string_equal(closed.order, "");
    assert_int_equal(w.notice_count, 1); /* the server heard our cancel */
    assert_int_equal(call.done, 0);
    outcome_done(&call);
    mcpi_subscription_close(open.s, w.now);
    world_close(&w);
}

static void
H14_what_is_not_tagged_reaches_the_router_as_ever(void **state)
{
    static const char method[] = "notifications/tools/list_changed";
    struct heard h;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    assert_int_equal(try_open(w.peer[CLIENT], NULL, w.now, &h), 0);
    world_run(&w);
    world_inject(&w, SERVER, ACK("\"listen-1\"", FILTER));
    world_inject(&w, SERVER, NOTE("notifications/tools/list_changed", "{}"));
    world_inject(&w, SERVER, CHANGED("{}", "tools")); /* no id: no tag (A12) */
    world_run(&w);
    assert_string_equal(h.order, "o");
    assert_int_equal(count_notices(&w, CLIENT, method), 2);
    world_inject(&w, CLIENT, CHANGED("1", "tools")); /* a server has none of its own */
    world_run(&w);
    assert_int_equal(count_notices(&w, SERVER, method), 1);
    mcpi_subscription_close(h.s, w.now);
    world_close(&w);
    world_start(&w, MCPI_ERA_LEGACY);
    world_inject(&w, SERVER, CHANGED("1", "tools")); /* nor has the legacy era */
    world_run(&w);
    assert_int_equal(count_notices(&w, CLIENT, method), 1);
    world_close(&w);
}

/* ---- both sides ------------------------------------------------------------ */

/* Open one, have the server serve it, and let the acknowledgment come. */
static void
join(struct world *w, struct heard *h, struct stream *s)
{
    struct job *job;

    assert_int_equal(try_open(w->peer[CLIENT], NULL, w->now, h), 0);
    world_run(w);
    job = world_job(w, SERVER);
    memset(s, 0, sizeof(*s));
    job->finished = true; /* from now on the stream's to say */
    assert_int_equal(stream_serve(s, job->x, EVERYTHING), 0);
    world_run(w);
    assert_int_equal(h->opened, 1);
    assert_true(h->filtered);
}

static void
H15_H3_H16_both_sides_open_tell_and_close(void **state)
{
    struct heard a, b;
    struct stream sa, sb;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_BOTH);
    join(&w, &a, &sa);
    join(&w, &b, &sb);
    mcpi_engine_publish(w.engine[SERVER], &tools, w.now);
    mcpi_engine_publish(w.engine[SERVER], &prompts, w.now);
    world_run(&w);
    assert_int_equal(a.events, 1);
    assert_int_equal(b.events, 1);
    mcpi_subscription_close(a.s, w.now);
    world_run(&w);
    assert_int_equal(sa.how, MCPI_CANCELED);
    assert_int_equal(sb.ended, 0);
    assert_int_equal(w.engine[SERVER]->listener_count, 1);
    mcpi_engine_publish(w.engine[SERVER], &tools, w.now);
    world_run(&w);
    assert_int_equal(a.events, 1);
    assert_int_equal(b.events, 2);
    assert_int_equal(w.notice_count, 1); /* the frame, and nothing at the client */
    mcpi_subscription_close(b.s, w.now);
    world_run(&w);
    assert_int_equal(w.engine[SERVER]->listener_count, 0);
    world_assert_quiet(&w);
    world_close(&w);
}

static void
H17_H7_both_sides_stop_of_the_server_is_graceful(void **state)
{
    struct outcome call;
    struct stream s;
    struct heard h;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    join(&w, &h, &s);
    world_plain_call(&w, &call);
    world_run(&w);
    mcpi_engine_publish(w.engine[SERVER], &tools, w.now);
    mcpi_peer_close(w.peer[SERVER], w.now);
    world_run(&w);
    expect_end(&h, MCPI_SUBSCRIPTION_GRACEFUL, 0);
    assert_string_equal(h.order, "oex");
    assert_int_equal(call.status, MCP_E_PEER); /* beside it: as ever (F29) */
    assert_int_equal(world_count_sent(&w, SERVER, "notifications/cancelled"), 0);
    mcpi_subscription_close(h.s, w.now);
    outcome_done(&call);
    world_close(&w);
}

static void
H10_H16_both_sides_loss_of_the_pipe_ends_both(void **state)
{
    struct heard a, b;
    struct stream sa, sb;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    join(&w, &a, &sa);
    world_cut(&w, SERVER);
    world_run(&w);
    expect_end(&a, MCPI_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    assert_int_equal(sa.how, MCPI_DROPPED);
    mcpi_subscription_close(a.s, w.now);
    world_close(&w);
    world_start(&w, MCPI_ERA_MODERN);
    join(&w, &b, &sb);
    mcpi_subscription_close(b.s, w.now);
    world_cut(&w, CLIENT); /* its frame never leaves: EOF says it */
    world_run(&w);
    assert_int_equal(sb.how, MCPI_DROPPED);
    assert_int_equal(w.closed[SERVER], 1); /* at once */
    assert_int_equal(w.engine[SERVER]->listener_count, 0);
    world_close(&w);
}

static void
H20_both_sides_refused_open_is_lost_with_an_error(void **state)
{
    struct world_options opt = {.limits = {.listeners = 1}};
    struct heard a, b;
    struct stream sa, sb = {0};
    struct world w;

    (void)state;
    world_start_with(&w, &opt);
    join(&w, &a, &sa);
    assert_int_equal(try_open(w.peer[CLIENT], NULL, w.now, &b), 0);
    world_run(&w);
    assert_int_equal(stream_serve(&sb, world_job(&w, SERVER)->x, EVERYTHING),
                     MCP_E_LIMIT);
    job_fail(&w, world_job(&w, SERVER), sb.why.code, sb.why.message);
    world_run(&w);
    expect_end(&b, MCPI_SUBSCRIPTION_LOST, MCP_E_PEER);
    assert_int_equal(b.code, MCPI_RPC_INTERNAL_ERROR);
    assert_string_equal(b.order, "x");
    mcpi_subscription_close(a.s, w.now);
    mcpi_subscription_close(b.s, w.now);
    world_close(&w);
}

/* ---- without memory -------------------------------------------------------- */

static void
open_flow(struct test_mem *mem, void *user)
{
    struct fake_options opt = {.era = MCPI_ERA_MODERN, .mem = mem};
    struct heard h = {0};
    struct fake f;

    (void)user;
    if (fake_open(&f, &opt) == 0 && mcpi_peer_connect(f.peer, f.w.now) == 0) {
        fake_negotiate(&f);
        if (f.ready == 1 && f.ready_status == 0 &&
            try_open(f.peer, NULL, f.w.now, &h) == 0) {
            fake_run(&f);
            fake_receive(&f, ACK("\"listen-1\"", FILTER));
            fake_receive(&f, CHANGED("\"listen-1\"", "tools"));
            assert_true(h.events == 1 || h.ended == 1);
        }
    }
    mcpi_subscription_close(h.s, f.w.now);
    fake_close(&f);
}

static void
every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(open_flow, NULL) > 5);
}

TEST_MAIN(TEST(H1_request_has_a_text_for_an_id_and_its_route_is_there_first),
          TEST(H1_ids_are_the_callers_or_differ),
          TEST(only_a_modern_server_that_is_agreed_with_is_asked),
          TEST(H2_only_the_wait_for_the_ack_has_a_clock),
          TEST(H2_the_wait_is_that_of_a_request_unless_said_otherwise),
          TEST(H5_no_ack_in_time_fails_the_open_with_a_frame),
          TEST(H5_open_that_is_refused_is_lost_with_the_error),
          TEST(ack_without_a_filter_opens_with_none_and_a_second_one_is_dropped),
          TEST(H3_close_on_a_pipe_is_one_frame),
          TEST(H4_close_on_a_stream_of_its_own_is_a_hangup),
          TEST(H5_close_before_the_ack_tears_down_what_was_sent),
          TEST(H12_nothing_is_heard_after_a_close_from_inside),
          TEST(B34_frame_by_hand_ends_it_with_that_one_frame),
          TEST(H7_result_is_a_graceful_end_after_all_events),
          TEST(H8_result_before_the_ack_opens_it_and_ends_it),
          TEST(result_that_asks_for_something_is_no_end),
          TEST(H6_the_first_reason_wins),
          TEST(H9_frame_of_the_server_ends_that_one_alone_and_is_not_returned),
          TEST(H9_frame_that_is_tagged_is_a_frame),
          TEST(H9_H14_on_streams_each_is_reached_by_its_own_only),
          TEST(H10_stream_that_breaks_is_lost_and_nothing_is_reopened),
          TEST(H10_H11_lost_or_closed_connection_ends_all_as_lost),
          TEST(subscription_may_outlive_its_peer), TEST(H14_stray_events_reach_nobody),
          TEST(H14_what_is_not_tagged_reaches_the_router_as_ever),
          TEST(H15_H3_H16_both_sides_open_tell_and_close),
          TEST(H17_H7_both_sides_stop_of_the_server_is_graceful),
          TEST(H10_H16_both_sides_loss_of_the_pipe_ends_both),
          TEST(H20_both_sides_refused_open_is_lost_with_an_error),
          TEST(every_allocation_may_fail))
