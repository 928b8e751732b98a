/* http_world_test.c - both suites over Streamable HTTP, and what is HTTP's own, between
 * our client and our server */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/http_entry.h"
#include "support/http_world.h"
#include "support/link_suite.h"
#include "support/messages.h"
#include "support/session_suite.h"

#define TOOL "\"tools/call\""
#define FRAME "\"notifications/cancelled\""
#define ANSWER "{\"content\":[]}"
#define EVENT(text) "data: " text "\n\n"
#define ROOTS(id) REQUEST(id, "roots/list", "{}")

/* ---- words that repeat ----------------------------------------------------- */

static void
start_with(struct world *w, const struct http_world_link *link, enum mcpi_era era,
           struct world_options opt)
{
    opt.link = &link->link;
    opt.client_era = era;
    world_start_with(w, &opt);
}

static void
start(struct world *w, const struct http_world_link *link, enum mcpi_era era)
{
    start_with(w, link, era, (struct world_options){0});
}

static struct memory_http *
net_of(struct world *w)
{
    return &http_world_of(w)->net;
}

static void
call(struct world *w, const struct mcpi_call_options *opt, struct outcome *out)
{
    world_call(w, CLIENT, opt, out);
    world_run(w);
}

static void
cancel(struct world *w, struct outcome *out)
{
    assert_int_equal(mcpi_call_cancel(out->call, "enough", w->now), 0);
    world_run(w);
    if (world_has_session(w))
        world_pass(w, MCPI_HTTP_OVERTAKEN_MAX);
}

static void
answer(struct world *w, size_t job)
{
    job_finish(w, &w->jobs[SERVER][job], ANSWER);
    world_run(w);
}

static void
expect(const struct outcome *out, int status)
{
    assert_int_equal(out->done, 1);
    assert_int_equal(out->status, status);
}

/* The server asks the client, on behalf of the request that came last. */
static void
ask(struct world *w, struct outcome *out)
{
    struct mcpi_call_options opt = {.method = "roots/list",
                                    .parent = world_job(w, SERVER)->x};

    world_call(w, SERVER, &opt, out);
    world_run(w);
}

static const enum mcpi_era eras[] = {MCPI_ERA_MODERN, MCPI_ERA_LEGACY};
#define EACH_ERA(i) for (size_t i = 0; i < 2; i++)

/* ---- cancel ---------------------------------------------------------------- */

static void
E1_E2_a_modern_cancel_closes_its_own_response_and_posts_nothing(void **state)
{
    struct outcome out[3];
    struct world w;
    size_t posts;

    (void)state;
    start(&w, &world_http, MCPI_ERA_MODERN);
    for (size_t i = 0; i < 3; i++)
        call(&w, NULL, &out[i]);
    posts = net_of(&w)->arrived[0];
    cancel(&w, &out[1]);
    assert_int_equal(net_of(&w)->hangups, 1);
    assert_int_equal(w.jobs[SERVER][1].told, 1);
    assert_int_equal(memory_http_count(net_of(&w), "POST"), 2);
    outcome_done(&out[1]);
    call(&w, NULL, &out[1]);
    assert_int_equal(net_of(&w)->arrived[0], posts + 1);
    assert_int_equal(net_of(&w)->frames, 0);
    for (size_t i = 0; i < 3; i++) {
        answer(&w, i == 1 ? 3 : i);
        expect(&out[i], 0);
        outcome_done(&out[i]);
    }
    world_close(&w);
}

/* The handler takes its time, so that it is not the server who ends the response. */
static void
D1_D2_D6_a_legacy_cancel_posts_a_frame_and_closes_after_the_grace(void **state)
{
    struct world_options opt = {.times = {.deaf = 60 * SECOND}};
    struct outcome out;
    struct world w;

    (void)state;
    start_with(&w, &world_http, MCPI_ERA_LEGACY, opt);
    call(&w, NULL, &out);
    cancel(&w, &out);
    assert_int_equal(net_of(&w)->frames, 1);
    assert_string_equal(net_of(&w)->session, http_world_session(&w)->id);
    assert_string_equal(net_of(&w)->version, w.peer[CLIENT]->version);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    assert_int_equal(memory_http_count(net_of(&w), "POST"), 1);
    world_pass(&w, w.engine[CLIENT]->times.grace - MCPI_HTTP_OVERTAKEN_MAX - 1);
    assert_int_equal(memory_http_count(net_of(&w), "POST"), 1);
    assert_int_equal(net_of(&w)->hangups, 0);
    world_pass(&w, 1);
    assert_int_equal(memory_http_count(net_of(&w), "POST"), 0);
    assert_int_equal(net_of(&w)->hangups, 1);
    assert_int_equal(net_of(&w)->frames, 1);
    outcome_done(&out);
    world_close(&w);
}

/* No time passes: the server hears of it by the end of the connection. */
static void
D16_a_cancel_in_no_session_reaches_the_handler_at_once(void **state)
{
    struct world_options opt = {.times = {.deaf = 60 * SECOND}};
    struct outcome out, other;
    struct world w;

    (void)state;
    start_with(&w, &world_http_stateless, MCPI_ERA_LEGACY, opt);
    call(&w, NULL, &other);
    call(&w, NULL, &out);
    cancel(&w, &out);
    assert_int_equal(w.jobs[SERVER][1].told, 1);
    assert_int_equal(w.jobs[SERVER][0].told, 0);
    assert_int_equal(memory_http_count(net_of(&w), "POST"), 1);
    assert_int_equal(net_of(&w)->hangups, 1);
    world_pass(&w, MCPI_HTTP_OVERTAKEN_MAX);
    assert_int_equal(net_of(&w)->frames, 1);
    answer(&w, 0);
    expect(&other, 0);
    outcome_done(&other);
    outcome_done(&out);
    world_close(&w);
}

static void
D6_D14_what_belongs_to_a_canceled_request_still_arrives_and_its_end_is_the_end(
    void **state)
{
    struct outcome out, asked;
    struct world w;

    (void)state;
    start(&w, &world_http, MCPI_ERA_LEGACY);
    call(&w, NULL, &out);
    ask(&w, &asked);
    assert_int_equal(w.job_count[CLIENT], 1);
    cancel(&w, &out);
    expect(&asked, MCP_E_CANCELED);
    assert_int_equal(world_job(&w, CLIENT)->told, 1); /* its frame came on it */
    answer(&w, 0);
    assert_int_equal(world_count_sent(&w, SERVER, "-32800"), 1);
    assert_int_equal(memory_http_count(net_of(&w), "POST"), 0);
    assert_int_equal(net_of(&w)->hangups, 0);
    outcome_done(&asked);
    outcome_done(&out);
    world_close(&w);
}

static void
B5_what_still_connects_is_given_up_without_a_word(void **state)
{
    struct outcome out;
    struct world w;
    size_t posts;

    (void)state;
    EACH_ERA(i)
    {
        start(&w, &world_http, eras[i]);
        posts = net_of(&w)->arrived[0];
        net_of(&w)->held = true;
        call(&w, NULL, &out);
        assert_int_equal(w.sent_count[CLIENT], 1);
        cancel(&w, &out);
        expect(&out, MCP_E_CANCELED);
        net_of(&w)->held = false;
        world_pass(&w, 60 * SECOND);
        assert_int_equal(net_of(&w)->arrived[0], posts);
        assert_int_equal(w.job_count[SERVER], 0);
        assert_int_equal(world_count_signals(&w, CLIENT), 0);
        world_assert_quiet(&w);
        outcome_done(&out);
        world_close(&w);
    }
}

/* How far a request is when it is canceled. */
enum phase {
    CONNECTING,
    SENDING,
    AWAITING, /* a head */
    READING,  /* JSON */
    IDLE,     /* a stream that has said something */
    MIDWAY,   /* in an event */
    PINGED,   /* a stream that has said nothing else */
    PHASES
};

static void
reach_phase(struct world *w, enum phase phase, struct outcome *out)
{
    static char params[200032];
    struct mcpi_call_options opt = {.params = params};

    snprintf(params, sizeof(params), "{\"name\":\"%0*d\"}",
             phase == SENDING ? 200000 : 1, 0);
    net_of(w)->held = phase == CONNECTING;
    world_call(w, CLIENT, &opt, out);
    if (phase == SENDING)
        assert_true(w->link->step(w, CLIENT) > 0);
    else
        world_run(w);
    net_of(w)->held = false;
    if (phase == READING)
        memory_http_write(net_of(w), TOOL, "application/json", "{\"jsonrpc\":");
    if (phase == IDLE || phase == MIDWAY)
        memory_http_write(net_of(w), TOOL, MEMORY_EVENTS,
                          EVENT(NOTE("notifications/x", "{}")));
    if (phase == MIDWAY)
        memory_http_write(net_of(w), TOOL, MEMORY_EVENTS, "data: {\"json");
    if (phase == PINGED)
        memory_http_write(net_of(w), TOOL, MEMORY_EVENTS, ": \n\n: \n\n");
    if (phase >= READING)
        world_run(w);
}

static void
E3_a_request_is_aborted_in_whatever_phase(void **state)
{
    struct outcome out, next;
    struct world w;

    (void)state;
    for (enum phase phase = 0; phase < PHASES; phase++) {
        start(&w, &world_http, MCPI_ERA_MODERN);
        reach_phase(&w, phase, &out);
        assert_int_equal(memory_http_count(net_of(&w), "POST"), 1);
        assert_int_equal(mcpi_call_cancel(out.call, NULL, w.now), 0);
        assert_int_equal(memory_http_count(net_of(&w), "POST"), 0);
        expect(&out, MCP_E_CANCELED);
        world_run(&w);
        assert_int_equal(w.job_count[SERVER], phase >= AWAITING);
        assert_int_equal(world_count_signals(&w, CLIENT), phase >= AWAITING);
        if (phase >= AWAITING)
            assert_int_equal(world_job(&w, SERVER)->told, 1);
        call(&w, NULL, &next);
        answer(&w, w.job_count[SERVER] - 1);
        expect(&next, 0);
        outcome_done(&next);
        outcome_done(&out);
        world_close(&w);
    }
}

static void
B26_a_detached_call_goes_on_though_nobody_waits(void **state)
{
    struct mcpi_call_options opt = {.on_abandon = MCPI_ABANDON_DETACHES};
    struct outcome out;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        start(&w, &world_http, eras[i]);
        call(&w, &opt, &out);
        cancel(&w, &out);
        expect(&out, MCP_E_CANCELED);
        world_pass(&w, 30 * SECOND);
        assert_int_equal(world_job(&w, SERVER)->told, 0);
        assert_int_equal(net_of(&w)->frames, 0);
        answer(&w, 0);
        world_assert_quiet(&w);
        outcome_done(&out);
        world_close(&w);
    }
}

/* The frame for the first of them must not cancel the second. */
static void
A8_E15_an_id_is_free_at_once_and_nothing_of_its_past_reaches_it(void **state)
{
    struct mcpi_id seven = mcpi_id_int(7);
    struct mcpi_call_options opt = {.id = &seven};
    struct outcome out, again;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        start(&w, &world_http, eras[i]);
        call(&w, &opt, &out);
        net_of(&w)->reversed = true; /* they have connections of their own */
        assert_int_equal(mcpi_call_cancel(out.call, NULL, w.now), 0);
        call(&w, &opt, &again);
        world_pass(&w, SECOND);
        assert_int_equal(w.job_count[SERVER], 2);
        assert_int_equal(w.jobs[SERVER][0].told, 1);
        assert_int_equal(w.jobs[SERVER][1].told, 0);
        answer(&w, 0);
        assert_int_equal(again.done, 0);
        answer(&w, 1);
        expect(&again, 0);
        expect(&out, MCP_E_CANCELED);
        world_assert_quiet(&w);
        outcome_done(&out);
        outcome_done(&again);
        world_close(&w);
    }
}

static void
E15_I10_what_comes_on_a_stream_is_for_its_own_request_only(void **state)
{
    struct mcpi_id one = mcpi_id_int(101), two = mcpi_id_int(102);
    struct mcpi_call_options a = {.id = &one, .ops = &outcome_progress_ops};
    struct mcpi_call_options b = {.id = &two, .ops = &outcome_progress_ops};
    struct outcome out[2];
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        start(&w, &world_http, eras[i]);
        call(&w, &a, &out[0]);
        call(&w, &b, &out[1]);
        memory_http_write(net_of(&w), "\"id\":101", MEMORY_EVENTS,
                          EVENT(NOTE("notifications/progress",
                                     "{\"progressToken\":102,\"progress\":1}")));
        memory_http_write(net_of(&w), "\"id\":101", MEMORY_EVENTS,
                          EVENT(RESULT("102", "{}")));
        world_run(&w);
        assert_int_equal(out[0].done + out[1].done, 0);
        assert_int_equal(out[1].progressed, 0);
        answer(&w, 1);
        expect(&out[1], 0);
        answer(&w, 0);
        expect(&out[0], 0);
        outcome_done(&out[0]);
        outcome_done(&out[1]);
        world_close(&w);
    }
}

static void
a_stream_that_was_answered_and_does_not_end_is_closed_soon(void **state)
{
    struct mcpi_id seven = mcpi_id_int(7);
    struct mcpi_call_options opt = {.id = &seven};
    struct outcome out;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        start(&w, &world_http, eras[i]);
        call(&w, &opt, &out);
        world_inject(&w, SERVER, RESULT("7", "{}"));
        world_run(&w);
        expect(&out, 0);
        assert_int_equal(memory_http_count(net_of(&w), "POST"), 1);
        world_pass(&w, MCPI_HTTP_LINGER);
        assert_int_equal(memory_http_count(net_of(&w), "POST"), 0);
        outcome_done(&out);
        world_close(&w);
    }
}

/* ---- what the server asks and says ----------------------------------------- */

static void
J5_D21_a_question_and_its_frame_ride_on_the_call(void **state)
{
    struct outcome out, asked;
    struct world w;

    (void)state;
    start(&w, &world_http, MCPI_ERA_LEGACY);
    assert_int_equal(memory_http_count(net_of(&w), "GET"), 1);
    call(&w, NULL, &out);
    ask(&w, &asked);
    assert_int_equal(memory_http_heard(net_of(&w), "POST", TOOL, "\"roots/list\""), 1);
    mcpi_call_cancel(asked.call, NULL, w.now);
    world_run(&w);
    assert_int_equal(memory_http_heard(net_of(&w), "POST", TOOL, FRAME), 1);
    assert_int_equal(memory_http_heard(net_of(&w), "GET", "", "{"), 0);
    assert_int_equal(world_job(&w, CLIENT)->told, 1);
    answer(&w, 0);
    expect(&out, 0);
    outcome_done(&asked);
    outcome_done(&out);
    world_close(&w);
}

static void
J9_where_there_is_no_room_nobody_is_asked(void **state)
{
    static const struct http_world_link *const links[] = {&world_http_json,
                                                          &world_http_stateless};
    struct outcome out, asked;
    struct world w;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct mcpi_call_options opt = {.method = "roots/list"};

        start(&w, links[i], MCPI_ERA_LEGACY);
        call(&w, NULL, &out);
        opt.parent = world_job(&w, SERVER)->x;
        assert_int_equal(world_try_call(&w, SERVER, &opt, &asked), MCP_E_NO_CHANNEL);
        world_run(&w);
        assert_int_equal(w.job_count[CLIENT], 0);
        answer(&w, 0);
        expect(&out, 0);
        outcome_done(&out);
        world_close(&w);
    }
}

static void
what_belongs_to_no_request_comes_on_the_get_which_is_opened_again(void **state)
{
    static const char method[] = "notifications/tools/list_changed";
    struct world w;

    (void)state;
    start(&w, &world_http, MCPI_ERA_LEGACY);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(memory_http_count(net_of(&w), "GET"), 1);
        assert_int_equal(mcpi_peer_notify(w.peer[SERVER], method, NULL, 0, w.now), 0);
        world_run(&w);
        assert_int_equal(w.notice_count, i + 1);
        assert_int_equal(w.notices[i].side, CLIENT);
        assert_string_equal(w.notices[i].method, method);
        memory_http_break(net_of(&w), "GET", "");
        world_pass(&w, 60 * SECOND);
    }
    world_close(&w);
}

/* ---- the end of a session -------------------------------------------------- */

static void
B23_D19_closing_takes_all_back_and_then_deletes_the_session(void **state)
{
    struct outcome out[2], asked;
    struct world w;

    (void)state;
    start(&w, &world_http, MCPI_ERA_LEGACY);
    for (size_t i = 0; i < 2; i++)
        call(&w, NULL, &out[i]);
    ask(&w, &asked);
    mcpi_peer_close(w.peer[CLIENT], w.now);
    for (size_t i = 0; i < 2; i++)
        expect(&out[i], MCP_E_CLOSED);
    world_run(&w);
    world_pass(&w, MCPI_HTTP_OVERTAKEN_MAX);
    assert_int_equal(net_of(&w)->frames, 2);
    assert_int_equal(net_of(&w)->arrived[2], 1);
    assert_int_equal(w.closed[CLIENT], 1);
    assert_int_equal(http_world_of(&w)->told[CLIENT], 1);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(w.jobs[SERVER][i].told, 1);
    expect(&asked, MCP_E_CANCELED); /* with its call */
    assert_null(http_world_session(&w));
    assert_int_equal(w.closed[SERVER], 1);
    assert_int_equal(memory_http_count(net_of(&w), "POST"), 0);
    assert_int_equal(memory_http_count(net_of(&w), "GET"), 0);
    outcome_done(&asked);
    for (size_t i = 0; i < 2; i++)
        outcome_done(&out[i]);
    world_close(&w);
}

/* That its client is gone, nobody can see; that its session is over, everybody. */
static void
J8_D12_D17_a_handler_that_waits_hears_that_the_session_is_over(void **state)
{
    struct outcome out, asked;
    struct world w;

    (void)state;
    start(&w, &world_http, MCPI_ERA_LEGACY);
    call(&w, NULL, &out);
    ask(&w, &asked);
    outcome_done(&out);
    world_cut(&w, CLIENT);
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 0);
    assert_int_equal(asked.done, 0);
    mcpi_session_end(http_world_session(&w), "by whatever");
    expect(&asked, MCP_E_CLOSED);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    world_run(&w);
    assert_null(http_world_session(&w));
    outcome_done(&asked);
    world_close(&w);
}

static void
E1_closing_a_modern_client_aborts_all_and_posts_nothing(void **state)
{
    struct outcome out[2];
    struct world w;
    size_t posts;

    (void)state;
    start(&w, &world_http, MCPI_ERA_MODERN);
    for (size_t i = 0; i < 2; i++)
        call(&w, NULL, &out[i]);
    posts = net_of(&w)->arrived[0];
    mcpi_peer_close(w.peer[CLIENT], w.now);
    world_run(&w);
    assert_int_equal(net_of(&w)->hangups, 2);
    assert_int_equal(net_of(&w)->arrived[0], posts);
    assert_int_equal(net_of(&w)->arrived[1] + net_of(&w)->arrived[2], 0);
    assert_int_equal(http_world_of(&w)->told[CLIENT], 1);
    for (size_t i = 0; i < 2; i++) {
        expect(&out[i], MCP_E_CLOSED);
        assert_int_equal(w.jobs[SERVER][i].told, 1);
        outcome_done(&out[i]);
    }
    world_close(&w);
}

/* Two are sent in a session that the server has forgotten. */
static void
D17_a_session_that_is_gone_is_begun_anew_and_who_met_that_is_sent_again(void **state)
{
    struct outcome before, met, other;
    char id[MCPI_SESSION_ID];
    struct world w;

    (void)state;
    start(&w, &world_http, MCPI_ERA_LEGACY);
    call(&w, NULL, &before);
    answer(&w, 0);
    expect(&before, 0); /* somebody was served in it */
    outcome_done(&before);
    call(&w, NULL, &before);
    snprintf(id, sizeof(id), "%s", http_world_session(&w)->id);
    mcpi_session_end(http_world_session(&w), "forgotten");
    world_run(&w);
    expect(&before, MCP_E_PEER); /* the last word of its request */
    assert_int_equal(before.code, -32800);
    world_forget(&w);
    world_plain_call(&w, &met);
    world_plain_call(&w, &other);
    world_run(&w);
    expect(&other, MCP_E_CLOSED);
    assert_int_equal(met.done, 0);
    assert_string_not_equal(http_world_session(&w)->id, id);
    assert_int_equal(world_count_sent(&w, CLIENT, "\"initialize\""), 1);
    assert_int_equal(world_count_sent(&w, CLIENT, TOOL), 3);
    assert_int_equal(net_of(&w)->frames, 0);
    assert_int_equal(memory_http_count(net_of(&w), "GET"), 1);
    answer(&w, w.job_count[SERVER] - 1);
    expect(&met, 0);
    outcome_done(&before);
    outcome_done(&met);
    outcome_done(&other);
    world_close(&w);
}

/* A server counts its requests anew in each session. */
static void
D17_D25_ids_of_a_lost_session_are_not_used_in_the_next(void **state)
{
    struct outcome out;
    struct world w;

    (void)state;
    start(&w, &world_http, MCPI_ERA_LEGACY);
    call(&w, NULL, &out);
    world_inject(&w, SERVER, ROOTS("77"));
    world_run(&w);
    assert_int_equal(w.job_count[CLIENT], 1);
    job_finish(&w, world_job(&w, CLIENT), "{\"roots\":[]}");
    answer(&w, 0);
    expect(&out, 0);
    outcome_done(&out);
    mcpi_session_end(http_world_session(&w), "forgotten");
    world_run(&w);
    call(&w, NULL, &out); /* the session is begun anew for it */
    world_inject(&w, SERVER, CANCEL("77"));
    world_inject(&w, SERVER, ROOTS("77"));
    world_run(&w);
    assert_int_equal(w.job_count[CLIENT], 1);
    answer(&w, w.job_count[SERVER] - 1);
    expect(&out, 0);
    outcome_done(&out);
    world_close(&w);
}

/* ---- lost connections ------------------------------------------------------ */

static void
D9_E14_a_lost_connection_is_a_closed_call_and_the_session_goes_on(void **state)
{
    struct outcome out, next;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        start(&w, &world_http, eras[i]);
        call(&w, NULL, &out);
        memory_http_break(net_of(&w), "POST", TOOL);
        world_run(&w);
        expect(&out, MCP_E_CLOSED);
        assert_int_equal(world_job(&w, SERVER)->told, 1); /* a frame says so, or E18 */
        call(&w, NULL, &next);
        answer(&w, 1);
        expect(&next, 0);
        outcome_done(&out);
        outcome_done(&next);
        world_close(&w);
    }
}

static void
D8_D12_a_wanted_call_is_taken_up_again_where_it_was_lost(void **state)
{
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops,
                                    .timeout_us = MCPI_NEVER};
    struct outcome out;
    struct world w;

    (void)state;
    start(&w, &world_http_stored, MCPI_ERA_LEGACY);
    call(&w, &opt, &out);
    for (int n = 1; n <= 3; n++) {
        memory_http_break(net_of(&w), n == 1 ? "POST" : "GET", n == 1 ? TOOL : "");
        world_run(&w);
        assert_int_equal(
            mcpi_exchange_progress(world_job(&w, SERVER)->x, n, 3, NULL, w.now), 0);
        world_run(&w);
        assert_int_equal(out.progressed, n - 1); /* nobody is there */
        world_pass(&w, SECOND);
        assert_int_equal(out.progressed, n);
        assert_int_equal(world_job(&w, SERVER)->told, 0);
    }
    answer(&w, 0);
    expect(&out, 0);
    outcome_done(&out);
    world_close(&w);
}

static void
D7_D11_nobody_comes_back_for_what_was_abandoned(void **state)
{
    struct outcome out;
    struct world w;
    size_t gets;

    (void)state;
    for (int late = 0; late < 2; late++) {
        struct world_options opt = {.times = {.deaf = 60 * SECOND}};

        start_with(&w, &world_http_stored, MCPI_ERA_LEGACY, opt);
        call(&w, NULL, &out);
        gets = net_of(&w)->arrived[1];
        if (late) { /* it waits for the retry */
            memory_http_break(net_of(&w), "POST", TOOL);
            world_run(&w);
            cancel(&w, &out);
        } else { /* it is read until the grace is over */
            cancel(&w, &out);
            memory_http_break(net_of(&w), "POST", TOOL);
        }
        world_pass(&w, 60 * SECOND);
        expect(&out, MCP_E_CANCELED);
        assert_int_equal(net_of(&w)->arrived[1], gets);
        assert_int_equal(net_of(&w)->frames, 1);
        assert_int_equal(world_job(&w, SERVER)->told, 1);
        outcome_done(&out);
        world_close(&w);
    }
}

static void
E13_a_modern_stream_is_never_resumed(void **state)
{
    struct outcome out;
    struct world w;

    (void)state;
    start(&w, &world_http, MCPI_ERA_MODERN);
    call(&w, NULL, &out);
    memory_http_write(net_of(&w), TOOL, MEMORY_EVENTS, "id: 1-1\nretry: 10\ndata:\n\n");
    world_run(&w);
    memory_http_break(net_of(&w), "POST", TOOL);
    world_pass(&w, 60 * SECOND);
    expect(&out, MCP_E_CLOSED);
    assert_int_equal(net_of(&w)->arrived[1], 0);
    outcome_done(&out);
    world_close(&w);
}

static char token[128];

static void
on_resumable(void *user, struct mcpi_call *c, const char *from)
{
    (void)user, (void)c;
    snprintf(token, sizeof(token), "%s", from);
}

static void
B27_B28_a_resumable_call_is_detached_and_another_one_gets_its_answer(void **state)
{
    struct mcpi_call_ops ops = outcome_ops;
    struct mcpi_call_options opt = {
        .resumable = true, .timeout_us = SECOND, .ops = &ops};
    struct outcome out, again;
    struct world w;

    (void)state;
    ops.resumable = on_resumable;
    token[0] = '\0';
    start(&w, &world_http_stored, MCPI_ERA_LEGACY);
    call(&w, &opt, &out);
    assert_string_not_equal(token, "");
    world_pass(&w, SECOND);
    expect(&out, MCP_E_TIMEOUT);
    assert_int_equal(net_of(&w)->frames, 0);
    assert_int_equal(world_job(&w, SERVER)->told, 0);
    assert_int_equal(memory_http_count(net_of(&w), "POST"), 0);
    answer(&w, 0);
    opt.resume_token = token;
    opt.id = mcpi_call_id(out.call);
    call(&w, &opt, &again);
    world_pass(&w, SECOND / 2);
    expect(&again, 0);
    assert_int_equal(w.job_count[SERVER], 1);
    outcome_done(&out);
    outcome_done(&again);
    world_close(&w);
}

/* ---- eras ------------------------------------------------------------------ */

/* A client that takes either, and a server that has one or both. */
static void
the_suite_holds_whichever_era_is_found(void **state)
{
    const struct world_link *link = &world_http.link;
    size_t modern, legacy;

    (void)state;
    modern = link_suite_run_all(link, MCPI_ERA_MODERN, MCPI_ERA_MODERN);
    legacy = link_suite_run_all(link, MCPI_ERA_LEGACY, MCPI_ERA_LEGACY);
    assert_true(modern > 25 && legacy > 25);
    assert_int_equal(link_suite_run_all(link, MCPI_ERA_BOTH, MCPI_ERA_BOTH), modern);
    assert_int_equal(link_suite_run_all(link, MCPI_ERA_BOTH, MCPI_ERA_MODERN), modern);
    assert_int_equal(link_suite_run_all(link, MCPI_ERA_BOTH, MCPI_ERA_LEGACY), legacy);
    assert_int_equal(link_suite_run_all(link, MCPI_ERA_LEGACY, MCPI_ERA_BOTH), legacy);
}

/* ---- chance ---------------------------------------------------------------- */

enum { CALLS = 24, QUESTIONS_MAX = 6, TURNS = 600 };

static unsigned chance;

/* What is under way: calls of the client's, and questions of the server's. */
struct affairs {
    struct outcome out[CALLS], asked[QUESTIONS_MAX];
};

/* The same for every run. */
static unsigned
draw(unsigned below)
{
    chance = chance * 1103515245u + 12345u;
    return (chance >> 16) % below;
}

/* Is there room for another one in its place? */
static bool
is_over(struct outcome *out)
{
    if (!out->world)
        return true;
    if (out->done == 0)
        return false;
    assert_int_equal(out->done, 1);
    outcome_done(out);
    out->world = NULL;
    return true;
}

static void
draw_call(struct world *w, struct outcome *out)
{
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};

    if (!is_over(out))
        return;
    opt.timeout_us = draw(4) == 0 ? (int64_t)draw(3000) * MS + 1 : 0;
    if (draw(8) == 0)
        opt.on_abandon = MCPI_ABANDON_DETACHES;
    world_call(w, CLIENT, &opt, out);
}

static struct job *
draw_open_job(struct world *w, int side)
{
    struct job *job;

    if (w->job_count[side] == 0)
        return NULL;
    job = &w->jobs[side][draw((unsigned)w->job_count[side])];
    return job->finished ? NULL : job;
}

static void
draw_question(struct world *w, struct outcome *asked)
{
    const struct job *job = draw_open_job(w, SERVER);
    struct mcpi_call_options opt = {.method = "roots/list"};

    if (!job || !is_over(asked))
        return;
    opt.parent = job->x;
    opt.timeout_us = (int64_t)draw(3000) * MS + 1;
    if (world_try_call(w, SERVER, &opt, asked) < 0)
        asked->world = NULL;
}

static void
draw_job(struct world *w, int side)
{
    struct job *job = draw_open_job(w, side);

    if (!job)
        return;
    if (side == CLIENT)
        job_finish(w, job, "{\"roots\":[]}");
    else if (draw(3) == 0)
        (void)mcpi_exchange_progress(job->x, (double)draw(1000), 1000, NULL, w->now);
    else if (draw(6) == 0)
        job_fail(w, job, -1, "failed");
    else
        job_finish(w, job, ANSWER);
}

/* One side may fall behind. */
static void
draw_motion(struct world *w)
{
    if (draw(3) == 0)
        world_run(w);
    else
        (void)w->link->step(w, (int)draw(2));
}

static void
draw_turn(struct world *w, struct affairs *a)
{
    struct memory_http *net = net_of(w);
    struct outcome *out = &a->out[draw(CALLS)];

    switch (draw(10)) {
    case 0:
    case 1:
        draw_call(w, out);
        break;
    case 2:
        if (out->world && out->done == 0)
            (void)mcpi_call_cancel(out->call, NULL, w->now);
        break;
    case 3:
    case 4:
        draw_job(w, SERVER);
        break;
    case 7:
        draw_job(w, CLIENT);
        break;
    case 8:
        draw_question(w, &a->asked[draw(QUESTIONS_MAX)]);
        break;
    case 5:
        world_pass(w, (int64_t)draw(1500) * MS);
        break;
    case 6:
        net->held = draw(8) == 0;
        net->clogged = draw(8) == 0;
        net->reversed = draw(2) == 0;
        break;
    default:
        if (draw(4) == 0 && memory_http_count(net, "POST") > 0)
            (void)memory_http_break_any(net, draw(CALLS));
        break;
    }
    draw_motion(w);
}

static void
expect_an_end(struct outcome *out)
{
    if (!out->world)
        return;
    assert_int_equal(out->done, 1);
    switch (out->status) {
    case 0:
    case MCP_E_PEER:
    case MCP_E_CANCELED:
    case MCP_E_TIMEOUT:
    case MCP_E_CLOSED:
        break;
    default:
        fail_msg("ended with %s", mcp_status_name(out->status));
    }
    outcome_done(out);
}

static void
finish_jobs(struct world *w)
{
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < w->job_count[side]; i++)
            if (!w->jobs[side][i].finished)
                job_finish(w, &w->jobs[side][i], "{}");
}

static void
run_by_chance(const struct http_world_link *link, enum mcpi_era era, unsigned seed)
{
    struct affairs a = {0};
    struct world w;

    chance = seed;
    start(&w, link, era);
    for (int i = 0; i < TURNS; i++)
        draw_turn(&w, &a);
    net_of(&w)->held = false;
    world_run(&w);
    finish_jobs(&w);
    world_pass(&w, 300 * SECOND);
    finish_jobs(&w); /* some came late, on a stream that was taken up again */
    world_pass(&w, 60 * SECOND);
    for (size_t i = 0; i < CALLS; i++)
        expect_an_end(&a.out[i]);
    for (size_t i = 0; i < QUESTIONS_MAX; i++)
        expect_an_end(&a.asked[i]);
    world_assert_quiet(&w);
    world_close(&w);
}

static void
A16_whatever_happens_each_call_ends_once_and_nothing_is_left(void **state)
{
    static const struct http_world_link *const links[] = {
        &world_http,      &world_http_bytes,     &world_http_events,
        &world_http_json, &world_http_stateless, &world_http_stored};

    (void)state;
    for (unsigned seed = 1; seed <= 8; seed++)
        for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
            for (size_t era = 0; era < 2; era++)
                run_by_chance(links[i], eras[era], seed);
}

/* ---- memory ---------------------------------------------------------------- */

#define LIMIT (200 * SECOND) /* by then everything has ended, one way or the other */

struct flow {
    const struct http_world_link *link;
    enum mcpi_era era;
};

static void
flow_act(struct world *w)
{
    struct outcome out[2] = {0};

    for (size_t i = 0; i < 2; i++)
        if (world_try_call(w, CLIENT, NULL, &out[i]) < 0)
            out[i].call = NULL;
    world_run(w);
    if (out[0].call)
        (void)mcpi_call_cancel(out[0].call, NULL, w->now);
    world_run(w);
    for (size_t i = 0; i < w->job_count[SERVER]; i++)
        if (w->jobs[SERVER][i].x->ending == MCPI_OPEN)
            job_finish(w, &w->jobs[SERVER][i], ANSWER);
    world_pass(w, LIMIT);
    for (size_t i = 0; i < 2; i++) {
        if (!out[i].call)
            continue;
        assert_int_equal(out[i].done, 1);
        outcome_done(&out[i]);
    }
}

static void
flow_run(struct test_mem *mem, void *user)
{
    const struct flow *flow = user;
    struct world_options opt = {
        .client_era = flow->era, .mem = mem, .link = &flow->link->link};
    struct world w;
    int r;

    r = world_open(&w, &opt);
    if (r == 0)
        r = mcpi_peer_connect(w.peer[CLIENT], w.now);
    if (r == 0) {
        world_run(&w);
        flow_act(&w);
        assert_int_equal(w.ready_count, 1);
        mcpi_peer_close(w.peer[CLIENT], w.now);
        world_pass(&w, LIMIT);
        assert_int_equal(w.closed[CLIENT], 1);
    } else {
        assert_int_equal(r, MCP_E_NOMEM);
    }
    world_close(&w);
}

static void
each_allocation_may_fail_and_nobody_waits_for_ever(void **state)
{
    struct flow flow = {&world_http, MCPI_ERA_MODERN};

    (void)state;
    EACH_ERA(i)
    {
        flow.era = eras[i];
        assert_true(test_each_allocation_fails(flow_run, &flow) > 50);
    }
    flow.link = &world_http_stored;
    assert_true(test_each_allocation_fails(flow_run, &flow) > 50);
}

/* ---- all of it ------------------------------------------------------------- */

static const struct test_case own[] = {
    TEST(E1_E2_a_modern_cancel_closes_its_own_response_and_posts_nothing),
    TEST(D1_D2_D6_a_legacy_cancel_posts_a_frame_and_closes_after_the_grace),
    TEST(D16_a_cancel_in_no_session_reaches_the_handler_at_once),
    TEST(
        D6_D14_what_belongs_to_a_canceled_request_still_arrives_and_its_end_is_the_end),
    TEST(B5_what_still_connects_is_given_up_without_a_word),
    TEST(E3_a_request_is_aborted_in_whatever_phase),
    TEST(B26_a_detached_call_goes_on_though_nobody_waits),
    TEST(A8_E15_an_id_is_free_at_once_and_nothing_of_its_past_reaches_it),
    TEST(E15_I10_what_comes_on_a_stream_is_for_its_own_request_only),
    TEST(a_stream_that_was_answered_and_does_not_end_is_closed_soon),
    TEST(J5_D21_a_question_and_its_frame_ride_on_the_call),
    TEST(J9_where_there_is_no_room_nobody_is_asked),
    TEST(what_belongs_to_no_request_comes_on_the_get_which_is_opened_again),
    TEST(B23_D19_closing_takes_all_back_and_then_deletes_the_session),
    TEST(J8_D12_D17_a_handler_that_waits_hears_that_the_session_is_over),
    TEST(E1_closing_a_modern_client_aborts_all_and_posts_nothing),
    TEST(D17_a_session_that_is_gone_is_begun_anew_and_who_met_that_is_sent_again),
    TEST(D17_D25_ids_of_a_lost_session_are_not_used_in_the_next),
    TEST(D9_E14_a_lost_connection_is_a_closed_call_and_the_session_goes_on),
    TEST(D8_D12_a_wanted_call_is_taken_up_again_where_it_was_lost),
    TEST(D7_D11_nobody_comes_back_for_what_was_abandoned),
    TEST(E13_a_modern_stream_is_never_resumed),
    TEST(B27_B28_a_resumable_call_is_detached_and_another_one_gets_its_answer),
    TEST(the_suite_holds_whichever_era_is_found),
    TEST(A16_whatever_happens_each_call_ends_once_and_nothing_is_left),
    TEST(each_allocation_may_fail_and_nobody_waits_for_ever),
};

int
main(void)
{
    static const struct world_link *const links[] = {
        &world_http.link,      &world_http_bytes.link,     &world_http_events.link,
        &world_http_json.link, &world_http_stateless.link, &world_http_stored.link};

    return session_suites_main(__FILE__, links, sizeof(links) / sizeof(links[0]), own,
                               sizeof(own) / sizeof(own[0]));
}
