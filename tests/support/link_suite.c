/* support/link_suite.c - what must hold on every link, in both eras */
#include "support/link_suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/early_cancel.h"

#define CANCELLED "notifications/cancelled"
#define FRAME(id) \
    "{\"jsonrpc\":\"2.0\",\"method\":\"" CANCELLED "\",\"params\":{" id "}}"
#define REASON_TEXT ",\"reason\":\"by hand\""

enum when { ALWAYS, LEGACY, MODERN };

struct suite_case {
    const char *name;
    void (*run)(struct world *w);
    enum when when;
    struct world_options opt;
    unsigned needs;
};

/* One case in one era: what a test_case carries. */
struct suite_run {
    const struct suite_case *what;
    const struct world_link *link;
    enum mcpi_era client, server;
    char name[128];
};

/* ---- words that repeat ----------------------------------------------------- */

static const struct mcpi_id id7 = {.kind = MCPI_ID_INT, .number = 7};
static const struct mcpi_id text7 = {.kind = MCPI_ID_STRING, .text = "7", .len = 1};

static void
start(struct world *w, const struct mcpi_call_options *opt, struct outcome *out)
{
    world_call(w, CLIENT, opt, out);
    world_run(w);
}

static void
answer(struct world *w, size_t job)
{
    job_finish(w, &w->jobs[SERVER][job], "{\"content\":[]}");
    world_run(w);
}

static void
expect(const struct outcome *out, int status)
{
    assert_int_equal(out->done, 1);
    assert_int_equal(out->status, status);
}

static size_t
signals(struct world *w)
{
    return world_count_signals(w, CLIENT);
}

/* The server's handler was told, once, and why; only a frame brings the reason. */
static void
expect_told(struct world *w, const struct job *job, const char *reason)
{
    assert_int_equal(job->told, 1);
    assert_int_equal(job->how, MCPI_CANCELED);
    if (world_has_session(w))
        assert_string_equal(job->reason, reason);
}

/* The session still serves: the proof that nothing else was lost. */
static void
expect_service(struct world *w)
{
    struct outcome out;

    start(w, NULL, &out);
    answer(w, w->job_count[SERVER] - 1);
    expect(&out, 0);
    outcome_done(&out);
}

/* ---- A: ids ---------------------------------------------------------------- */

static void
a_call_is_answered(struct world *w)
{
    struct outcome out;

    start(w, NULL, &out);
    assert_int_equal(out.done, 0);
    job_finish(w, world_job(w, SERVER), "{\"content\":[],\"echo\":\"\xc3\xa9\"}");
    world_run(w);
    expect(&out, 0);
    assert_non_null(strstr(out.result, "\"echo\":\"\xc3\xa9\""));
    world_assert_quiet(w);
    outcome_done(&out);
}

static void
ids_of_both_types_arrive_verbatim(struct world *w)
{
    static const char spelled[] = "k\"\\\xc3\xa9/07";
    struct mcpi_id odd = mcpi_id_string(spelled, sizeof(spelled) - 1);
    const struct mcpi_id *ids[] = {&id7, &text7, &odd};
    struct mcpi_call_options opt = {0};
    struct outcome out;

    for (size_t i = 0; i < 3; i++) {
        const struct mcpi_id *seen;

        opt.id = ids[i];
        start(w, &opt, &out);
        seen = &world_job(w, SERVER)->x->rpc.id;
        assert_int_equal(seen->kind, ids[i]->kind);
        assert_int_equal(seen->len, ids[i]->len);
        if (seen->len > 0)
            assert_memory_equal(seen->text, ids[i]->text, seen->len);
        answer(w, i);
        expect(&out, 0);
        outcome_done(&out);
    }
}

static void
a_twin_of_a_pending_id_is_refused(struct world *w)
{
    struct mcpi_call_options first = {.id = &id7}, twin = {.id = &text7};
    struct outcome a, b;

    start(w, &first, &a);
    assert_int_equal(world_try_call(w, CLIENT, &twin, &b), MCP_E_ID_IN_USE);
    assert_int_equal(w->sent_count[CLIENT], 1);
    answer(w, 0);
    expect(&a, 0);
    start(w, &twin, &b); /* free again */
    answer(w, 1);
    expect(&b, 0);
    outcome_done(&a);
    outcome_done(&b);
}

static void
an_answer_in_the_other_spelling_is_found(struct world *w)
{
    struct mcpi_call_options opt = {.id = &id7};
    struct outcome out;

    start(w, &opt, &out);
    world_inject(w, SERVER, "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}");
    world_run(w);
    expect(&out, 0);
    outcome_done(&out);
}

/* ---- B: abandon ------------------------------------------------------------ */

static void
cancel_reaches_the_peer(struct world *w)
{
    struct outcome out;

    start(w, NULL, &out);
    assert_int_equal(mcpi_call_cancel(out.call, "enough", w->now), 0);
    expect(&out, MCP_E_CANCELED);
    world_deliver(w);
    expect_told(w, world_job(w, SERVER), "enough");
    assert_int_equal(signals(w), 1);
    expect_service(w);
    outcome_done(&out);
}

static void
cancel_is_scoped_to_one_request(struct world *w)
{
    struct outcome a, b;

    start(w, NULL, &a);
    start(w, NULL, &b);
    mcpi_call_cancel(a.call, NULL, w->now);
    world_deliver(w);
    assert_int_equal(w->jobs[SERVER][0].told, 1);
    assert_int_equal(w->jobs[SERVER][1].told, 0);
    answer(w, 1);
    expect(&b, 0);
    outcome_done(&a);
    outcome_done(&b);
}

static void
timeout_reaches_the_peer(struct world *w)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND};
    struct outcome out;

    start(w, &opt, &out);
    world_pass(w, SECOND);
    expect(&out, MCP_E_TIMEOUT);
    world_deliver(w);
    assert_int_equal(world_job(w, SERVER)->told, 1);
    assert_int_equal(signals(w), 1);
    expect_service(w);
    outcome_done(&out);
}

static void
total_timeout_reaches_the_peer(struct world *w)
{
    struct mcpi_call_options opt = {.timeout_us = MCPI_NEVER, .total_us = SECOND};
    struct outcome out;

    start(w, &opt, &out);
    world_pass(w, SECOND);
    expect(&out, MCP_E_TOTAL_TIMEOUT);
    world_deliver(w);
    assert_int_equal(world_job(w, SERVER)->told, 1);
    assert_int_equal(signals(w), 1);
    outcome_done(&out);
}

static void
freeing_the_handle_abandons_in_silence(struct world *w)
{
    struct outcome out;

    start(w, NULL, &out);
    outcome_done(&out);
    world_deliver(w);
    assert_int_equal(out.done, 0);
    assert_int_equal(world_job(w, SERVER)->told, 1);
    answer(w, 0);
    assert_int_equal(out.done, 0);
    assert_int_equal(signals(w), 1);
}

static void
canceled_before_it_is_sent_nothing_is(struct world *w)
{
    struct outcome out;

    world_call(w, CLIENT, NULL, &out);
    mcpi_call_cancel(out.call, NULL, w->now);
    expect(&out, MCP_E_CANCELED);
    world_run(w);
    assert_int_equal(w->sent_count[CLIENT], 0);
    assert_int_equal(w->job_count[SERVER], 0);
    outcome_done(&out);
}

static void
the_frame_follows_its_request_and_leads_what_follows(struct world *w)
{
    struct outcome a, b;
    size_t frames = world_hangs_up(w) ? 0 : 1; /* else the call is the next (E2) */

    start(w, NULL, &a);
    mcpi_call_cancel(a.call, NULL, w->now);
    world_plain_call(w, &b);
    world_deliver(w);
    assert_int_equal(w->sent_count[CLIENT], 2 + frames);
    assert_non_null(strstr(world_sent(w, CLIENT, 0), "\"tools/call\""));
    if (frames > 0)
        assert_non_null(strstr(world_sent(w, CLIENT, 1), CANCELLED));
    assert_non_null(strstr(world_sent(w, CLIENT, 1 + frames), "\"tools/call\""));
    assert_int_equal(signals(w), 1);
    assert_int_equal(w->jobs[SERVER][0].told, 1);
    answer(w, 1);
    expect(&b, 0);
    outcome_done(&a);
    outcome_done(&b);
}

static void
one_signal_at_most(struct world *w)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND, .total_us = 2 * SECOND};
    struct outcome a, b;

    start(w, &opt, &a);
    start(w, &opt, &b);
    assert_int_equal(mcpi_call_cancel(a.call, NULL, w->now), 0);
    assert_int_equal(mcpi_call_cancel(a.call, NULL, w->now), MCP_E_STATE);
    world_pass(w, 3 * SECOND);
    assert_int_equal(mcpi_call_cancel(b.call, NULL, w->now), MCP_E_STATE);
    outcome_done(&a);
    outcome_done(&b);
    world_deliver(w);
    assert_int_equal(signals(w), 2);
    assert_int_equal(w->jobs[SERVER][0].told, 1);
    assert_int_equal(w->jobs[SERVER][1].told, 1);
}

static void
no_signal_after_settlement(struct world *w)
{
    struct outcome out;

    start(w, NULL, &out);
    answer(w, 0);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, w->now), MCP_E_STATE);
    outcome_done(&out);
    world_run(w);
    assert_int_equal(w->sent_count[CLIENT], 1);
    assert_int_equal(signals(w), 0);
    assert_int_equal(w->jobs[SERVER][0].told, 0);
}

static void
a_late_answer_is_dropped(struct world *w)
{
    struct mcpi_call_options opt = {.id = &id7};
    struct outcome out;

    start(w, &opt, &out);
    mcpi_call_cancel(out.call, NULL, w->now);
    world_run(w);
    world_inject(w, SERVER, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}");
    world_inject(
        w, SERVER,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,\"message\":\"\"}}");
    world_run(w);
    expect(&out, MCP_E_CANCELED);
    assert_true(world_logged(w, 'D', "late answer"));
    assert_false(world_logged(w, 'W', "answer"));
    expect_service(w);
    outcome_done(&out);
}

static void
closing_wakes_all(struct world *w)
{
    struct outcome out[3], late;

    for (int i = 0; i < 3; i++)
        start(w, NULL, &out[i]);
    mcpi_peer_close(w->peer[CLIENT], w->now);
    for (int i = 0; i < 3; i++)
        expect(&out[i], MCP_E_CLOSED);
    assert_int_equal(world_try_call(w, CLIENT, NULL, &late), MCP_E_CLOSED);
    assert_int_equal(
        mcpi_peer_notify(w->peer[CLIENT], "notifications/x", NULL, 0, w->now), 0);
    world_run(w);
    world_pass(w, 2 * SECOND);
    assert_int_equal(w->closed[CLIENT], 1);
    assert_int_equal(w->closed[SERVER], world_has_session(w));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(w->jobs[SERVER][i].told, 1);
        outcome_done(&out[i]);
    }
}

static void
the_death_of_the_peer_wakes_all_and_signals_nothing(struct world *w)
{
    struct outcome out[3];

    for (int i = 0; i < 3; i++)
        start(w, NULL, &out[i]);
    world_cut(w, SERVER);
    world_pass(w, w->link->patience_us);
    for (int i = 0; i < 3; i++)
        expect(&out[i], MCP_E_CLOSED);
    assert_int_equal(signals(w), 0);
    for (int i = 0; i < 3; i++)
        outcome_done(&out[i]);
}

static void
a_detached_call_sends_no_signal(struct world *w)
{
    struct mcpi_call_options opt = {.on_abandon = MCPI_ABANDON_DETACHES};
    struct outcome out;

    start(w, &opt, &out);
    mcpi_call_cancel(out.call, NULL, w->now);
    world_deliver(w);
    assert_int_equal(signals(w), 0);
    assert_int_equal(world_job(w, SERVER)->told, 0);
    answer(w, 0); /* late, and dropped */
    expect(&out, MCP_E_CANCELED);
    outcome_done(&out);
}

static void
a_frame_by_hand_settles_the_call(struct world *w)
{
    static const char params[] = "{\"requestId\":\"7\",\"reason\":\"by hand\"}";
    struct mcpi_call_options opt = {.id = &id7};
    struct outcome out;

    start(w, &opt, &out);
    mcpi_peer_notify(w->peer[CLIENT], CANCELLED, params, sizeof(params) - 1, w->now);
    world_deliver(w);
    expect(&out, MCP_E_CANCELED);
    assert_int_equal(signals(w), 1);
    world_expect_named(w, "7");
    expect_told(w, world_job(w, SERVER), "by hand");
    outcome_done(&out);
}

/* ---- F: the receiving side ------------------------------------------------- */

/* The server has said nothing but what ends so many canceled requests. */
static void
expect_last_words(struct world *w, size_t canceled)
{
    size_t words = world_has_last_words(w) ? canceled : 0;

    assert_int_equal(world_count_sent(w, SERVER, "\"code\":-32800"), words);
    assert_int_equal(w->sent_count[SERVER], words);
}

static void
silence_after_a_cancel(struct world *w)
{
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct outcome a, b;

    start(w, &opt, &a);
    start(w, &opt, &b);
    mcpi_call_cancel(a.call, NULL, w->now);
    mcpi_call_cancel(b.call, NULL, w->now);
    world_deliver(w);
    assert_int_equal(
        mcpi_exchange_progress(w->jobs[SERVER][0].x, 1, (double)NAN, NULL, w->now),
        MCP_E_CANCELED);
    answer(w, 0);
    job_fail(w, &w->jobs[SERVER][1], -32603, "broke while stopping");
    world_run(w);
    expect_last_words(w, 2);
    assert_true(world_logged(w, 'I', "broke while stopping"));
    outcome_done(&a);
    outcome_done(&b);
}

static void
an_answer_that_stands_beats_the_frame(struct world *w)
{
    struct mcpi_call_options opt = {.id = &id7};
    struct outcome out;

    start(w, &opt, &out);
    job_finish(w, world_job(w, SERVER), "{}"); /* waits to be written */
    mcpi_call_cancel(out.call, NULL, w->now);
    world_deliver(w);
    assert_int_equal(world_job(w, SERVER)->told, 0);
    assert_int_equal(w->sent_count[SERVER], 1);
    expect(&out, MCP_E_CANCELED);
    outcome_done(&out);
}

static void
frames_that_name_nothing_are_ignored(struct world *w)
{
    static const char *const lines[] = {FRAME("\"requestId\":99"),
                                        FRAME("\"requestId\":null"),
                                        FRAME("\"requestId\":true"),
                                        FRAME("\"requestId\":7.5"),
                                        FRAME("\"requestId\":[7]"),
                                        FRAME("\"reason\":\"none\""),
                                        "{\"jsonrpc\":\"2.0\",\"method\":\"" CANCELLED
                                        "\"}"};
    struct mcpi_call_options opt = {.id = &id7};
    struct outcome out;

    start(w, &opt, &out);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        world_inject(w, CLIENT, lines[i]);
    world_run(w);
    assert_int_equal(w->sent_count[SERVER], 0);
    assert_int_equal(world_job(w, SERVER)->told, 0);
    answer(w, 0);
    expect(&out, 0);
    outcome_done(&out);
}

static void
a_frame_for_an_unknown_id_poisons_nothing(struct world *w)
{
    struct mcpi_call_options opt = {.id = &id7};
    struct outcome out;

    world_inject(w, CLIENT, FRAME("\"requestId\":7"));
    world_run(w);
    if (world_has_last_words(w))
        world_pass(w, MCPI_EARLY_HOLD_MAX); /* it is held for its request */
    start(w, &opt, &out);
    assert_int_equal(world_job(w, SERVER)->told, 0);
    answer(w, 0);
    expect(&out, 0);
    world_inject(w, CLIENT, FRAME("\"requestId\":7")); /* settled by now */
    world_run(w);
    expect_service(w);
    outcome_done(&out);
}

static void
a_frame_that_arrives_first_ends_its_request(struct world *w)
{
    struct mcpi_call_options opt = {.id = &id7};
    struct outcome out;

    world_inject(w, CLIENT, FRAME("\"requestId\":7"));
    world_run(w);
    start(w, &opt, &out);
    assert_int_equal(w->job_count[SERVER], 0);
    expect(&out, MCP_E_PEER);
    outcome_done(&out);
    start(w, &opt, &out); /* the id is used now: a late frame does not strike it */
    answer(w, 0);
    expect(&out, 0);
    outcome_done(&out);
}

/* A server may send both on streams of their own, too. */
static void
a_question_whose_frame_arrives_first_is_not_asked(struct world *w)
{
    struct outcome out;

    start(w, NULL, &out);
    world_inject(w, SERVER, FRAME("\"requestId\":77"));
    world_inject(w, SERVER,
                 "{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"roots/list\"}");
    world_run(w);
    assert_int_equal(w->job_count[CLIENT], 0);
    world_inject(w, SERVER,
                 "{\"jsonrpc\":\"2.0\",\"id\":78,\"method\":\"roots/list\"}");
    world_run(w);
    assert_int_equal(w->job_count[CLIENT], 1);
    job_finish(w, world_job(w, CLIENT), "{\"roots\":[]}");
    answer(w, 0);
    expect(&out, 0);
    outcome_done(&out);
}

static void
repeated_frames_are_applied_once_and_in_any_spelling(struct world *w)
{
    struct mcpi_call_options opt = {.id = &id7};
    struct outcome out;

    start(w, &opt, &out);
    world_inject(w, CLIENT, FRAME("\"requestId\":\"7\"" REASON_TEXT));
    world_inject(w, CLIENT, FRAME("\"requestId\":7"));
    world_inject(w, CLIENT, FRAME("\"requestId\":\"7\""));
    world_run(w);
    assert_int_equal(world_job(w, SERVER)->told, 1);
    assert_string_equal(world_job(w, SERVER)->reason, "by hand");
    outcome_done(&out);
}

/* A hostile client: the bytes of its own request once more. */
static void
a_duplicate_id_is_refused_and_the_first_goes_on(struct world *w)
{
    struct mcpi_call_options opt = {.id = &id7};
    struct outcome out;
    char again[512];

    start(w, &opt, &out);
    snprintf(again, sizeof(again), "%s", world_sent(w, CLIENT, 0));
    world_inject(w, CLIENT, again);
    w->link->step(w, SERVER);
    assert_int_equal(w->job_count[SERVER], 1);
    assert_int_equal(world_job(w, SERVER)->told, 0);
    while (w->link->step(w, SERVER) > 0)
        continue;
    assert_int_equal(world_count_sent(w, SERVER, "-32600"), 1);
    job_finish(w, world_job(w, SERVER), "{}");
    world_run(w);
    assert_int_equal(w->sent_count[SERVER], 2);
    assert_int_equal(out.done, 1);
    outcome_done(&out);
}

static void
eof_lets_what_runs_finish(struct world *w)
{
    struct outcome out;

    start(w, NULL, &out);
    w->link->shutdown(w, CLIENT);
    world_run(w);
    assert_int_equal(world_job(w, SERVER)->told, 0);
    world_pass(w, SECOND - 1);
    answer(w, 0);
    expect(&out, 0);
    assert_int_equal(w->closed[SERVER], 1);
    outcome_done(&out);
}

static void
eof_cancels_what_does_not_finish(struct world *w)
{
    struct outcome out;

    start(w, NULL, &out);
    w->link->shutdown(w, CLIENT);
    world_run(w);
    world_pass(w, SECOND);
    assert_int_equal(world_job(w, SERVER)->told, 1);
    assert_int_equal(world_job(w, SERVER)->how, MCPI_DROPPED);
    world_run(w);
    expect(&out, MCP_E_CLOSED);
    assert_int_equal(w->sent_count[SERVER], 0);
    outcome_done(&out);
}

static void
our_own_stop_answers_what_runs_but_not_what_was_canceled(struct world *w)
{
    struct outcome a, b;

    start(w, NULL, &a);
    start(w, NULL, &b);
    mcpi_call_cancel(b.call, NULL, w->now);
    world_deliver(w);
    mcpi_peer_close(w->peer[SERVER], w->now);
    world_run(w);
    expect(&a, MCP_E_PEER);
    assert_string_equal(a.message, "Connection closed");
    assert_int_equal(w->sent_count[SERVER], world_has_last_words(w) ? 2 : 1);
    assert_int_equal(world_count_sent(w, SERVER, "Connection closed"), 1);
    assert_int_equal(w->jobs[SERVER][0].how, MCPI_CLOSED);
    assert_int_equal(w->jobs[SERVER][1].how, MCPI_CANCELED);
    outcome_done(&a);
    outcome_done(&b);
}

static void
over_the_limit_is_refused_and_cancels_still_apply(struct world *w)
{
    struct outcome a, b, c;

    start(w, NULL, &a);
    start(w, NULL, &b);
    start(w, NULL, &c);
    expect(&c, MCP_E_PEER);
    assert_int_equal(c.code, MCPI_RPC_INTERNAL_ERROR);
    mcpi_call_cancel(a.call, NULL, w->now);
    world_deliver(w);
    assert_int_equal(w->jobs[SERVER][0].told, 1);
    answer(w, 0);
    expect_service(w);
    outcome_done(&a);
    outcome_done(&b);
    outcome_done(&c);
}

static void
a_line_of_garbage_loses_nothing_else(struct world *w)
{
    struct outcome out;

    start(w, NULL, &out);
    world_inject(w, CLIENT, "{\"jsonrpc\":\"2.0\",\"id\":1");
    world_inject(w, CLIENT, "\x01\xff nonsense");
    world_inject(w, SERVER, "Listening on port 8080");
    world_run(w);
    assert_int_equal(world_count_sent(w, SERVER, "-32700"), 2);
    assert_int_equal(w->sent_count[CLIENT], 1); /* a client answers no nonsense */
    answer(w, 0);
    expect(&out, 0);
    outcome_done(&out);
}

/* ---- I: progress ----------------------------------------------------------- */

static void
progress_comes_in_order_and_resets_the_clock(struct world *w)
{
    struct mcpi_call_options opt = {
        .timeout_us = SECOND, .reset_on_progress = true, .ops = &outcome_progress_ops};
    struct outcome out;

    start(w, &opt, &out);
    for (int n = 1; n <= 4; n++) {
        world_pass(w, SECOND - 1);
        assert_int_equal(
            mcpi_exchange_progress(world_job(w, SERVER)->x, n, 4, NULL, w->now), 0);
        world_run(w);
        assert_int_equal(out.progressed, n);
        assert_true(out.last.progress == n && out.last.total == 4);
    }
    answer(w, 0);
    expect(&out, 0);
    outcome_done(&out);
}

static void
progress_does_not_move_the_total(struct world *w)
{
    struct mcpi_call_options opt = {
        .timeout_us = SECOND, .total_us = 2 * SECOND, .reset_on_progress = true};
    struct outcome out;

    start(w, &opt, &out);
    for (int n = 1; n <= 3; n++) {
        world_pass(w, SECOND / 2);
        mcpi_exchange_progress(world_job(w, SERVER)->x, n, (double)NAN, NULL, w->now);
        world_run(w);
    }
    assert_int_equal(out.done, 0);
    world_pass(w, SECOND / 2);
    expect(&out, MCP_E_TOTAL_TIMEOUT);
    outcome_done(&out);
}

/* ---- volume ---------------------------------------------------------------- */

#define BIG 300000

static void
a_message_larger_than_the_wire_arrives_whole(struct world *w)
{
    static char params[BIG + 32];
    struct mcpi_call_options opt = {.params = params};
    struct outcome out;

    snprintf(params, sizeof(params), "{\"name\":\"%0*d\"}", BIG, 0);
    start(w, &opt, &out);
    assert_int_equal(
        strlen(mcp_json_string(
            mcp_json_get(world_job(w, SERVER)->x->rpc.params, "name"), "")),
        BIG);
    job_finish(w, world_job(w, SERVER), params);
    world_run(w);
    expect(&out, 0);
    assert_true(strlen(out.result) > BIG);
    outcome_done(&out);
}

static void
a_request_half_written_is_followed_by_its_frame(struct world *w)
{
    static char params[BIG + 32];
    struct mcpi_call_options opt = {.params = params};
    struct outcome out;

    snprintf(params, sizeof(params), "{\"name\":\"%0*d\"}", BIG, 0);
    world_call(w, CLIENT, &opt, &out);
    w->link->step(w, CLIENT);
    assert_int_equal(w->job_count[SERVER], 0);
    mcpi_call_cancel(out.call, NULL, w->now);
    world_deliver(w);
    if (!world_has_session(w)) { /* a request that ends midway is none (E3, D16) */
        assert_int_equal(w->job_count[SERVER], 0);
        assert_int_equal(w->sent_count[CLIENT], world_hangs_up(w) ? 1 : 2);
    } else {
        assert_int_equal(world_job(w, SERVER)->told, 1);
        assert_int_equal(w->sent_count[CLIENT], 2);
    }
    outcome_done(&out);
    expect_service(w);
}

#define MANY 500

static void
many_at_once_each_get_their_own_end(struct world *w)
{
    static struct outcome out[MANY];

    for (size_t i = 0; i < MANY; i++)
        world_plain_call(w, &out[i]);
    world_run(w);
    assert_int_equal(w->job_count[SERVER], MANY);
    for (size_t i = 0; i < MANY; i += 2)
        mcpi_call_cancel(out[i].call, NULL, w->now);
    for (size_t i = MANY; i-- > 0;)
        job_finish(w, &w->jobs[SERVER][i], "{}");
    world_run(w);
    for (size_t i = 0; i < MANY; i++) {
        expect(&out[i], i % 2 ? 0 : MCP_E_CANCELED);
        outcome_done(&out[i]);
    }
    world_assert_quiet(w);
}

/* ---- J: server to client --------------------------------------------------- */

/* A tool call whose handler asks the client something, which waits there. */
static void
nest(struct world *w, struct outcome *parent, struct outcome *nested)
{
    struct mcpi_call_options opt = {.method = "roots/list"};

    start(w, NULL, parent);
    opt.parent = world_job(w, SERVER)->x;
    world_call(w, SERVER, &opt, nested);
    world_run(w);
    assert_int_equal(w->job_count[CLIENT], 1);
}

static void
a_nested_request_goes_with_its_parent(struct world *w)
{
    struct outcome parent, nested;

    nest(w, &parent, &nested);
    mcpi_call_cancel(parent.call, NULL, w->now);
    world_run(w);
    expect(&nested, MCP_E_CANCELED);
    assert_int_equal(world_job(w, CLIENT)->told, 1);
    assert_int_equal(world_job(w, SERVER)->told, 1);
    job_finish(w, world_job(w, CLIENT), "{\"roots\":[]}");
    world_run(w);
    assert_int_equal(w->sent_count[CLIENT], 2); /* the call and its frame */
    outcome_done(&nested);
    outcome_done(&parent);
}

static void
a_nested_request_that_times_out_is_canceled_alone(struct world *w)
{
    struct mcpi_call_options opt = {.method = "roots/list", .timeout_us = SECOND};
    struct outcome parent, nested;

    start(w, NULL, &parent);
    opt.parent = world_job(w, SERVER)->x;
    world_call(w, SERVER, &opt, &nested);
    world_run(w);
    world_pass(w, SECOND);
    expect(&nested, MCP_E_TIMEOUT);
    assert_int_equal(world_job(w, CLIENT)->told, 1);
    assert_int_equal(world_job(w, SERVER)->told, 0);
    answer(w, 0);
    expect(&parent, 0);
    outcome_done(&nested);
    outcome_done(&parent);
}

static void
a_frame_acts_only_in_its_own_direction(struct world *w)
{
    struct mcpi_call_options up = {.id = &id7};
    struct mcpi_call_options down = {.method = "roots/list", .id = &id7};
    struct outcome parent, nested;

    start(w, &up, &parent);
    down.parent = world_job(w, SERVER)->x;
    world_call(w, SERVER, &down, &nested);
    world_run(w);
    mcpi_call_cancel(nested.call, NULL, w->now);
    world_run(w);
    assert_int_equal(world_job(w, CLIENT)->told, 1);
    assert_int_equal(parent.done, 0);
    answer(w, 0);
    expect(&parent, 0);
    outcome_done(&nested);
    outcome_done(&parent);
}

static void
a_frame_of_the_server_for_our_own_request_is_ignored(struct world *w)
{
    struct mcpi_call_options opt = {.id = &id7};
    struct outcome out;

    start(w, &opt, &out);
    world_inject(w, SERVER, FRAME("\"requestId\":7"));
    world_inject(w, SERVER, FRAME("\"requestId\":7"));
    world_run(w);
    assert_int_equal(out.done, 0);
    answer(w, 0);
    expect(&out, 0);
    outcome_done(&out);
}

static void
handlers_that_wait_wake_when_the_client_is_gone(struct world *w)
{
    struct outcome parent, nested;

    nest(w, &parent, &nested);
    outcome_done(&parent);
    world_cut(w, CLIENT);
    world_run(w);
    expect(&nested, MCP_E_CLOSED);
    outcome_done(&nested);
}

static void
a_modern_server_cannot_ask(struct world *w)
{
    struct mcpi_call_options opt = {.method = "roots/list"};
    struct outcome parent, nested;

    start(w, NULL, &parent);
    opt.parent = world_job(w, SERVER)->x;
    assert_int_equal(world_try_call(w, SERVER, &opt, &nested), MCP_E_NO_CHANNEL);
    world_inject(w, SERVER, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}");
    world_run(w);
    assert_int_equal(w->job_count[CLIENT], 0);
    assert_int_equal(w->sent_count[CLIENT], 1);
    answer(w, 0);
    expect(&parent, 0);
    outcome_done(&parent);
}

/* ---- the table ------------------------------------------------------------- */

/* clang-format off */
#define NEEDING(needs, items, function, when) \
    {items #function, function, when, {0}, needs}
/* clang-format on */
#define CASE(items, function, when) NEEDING(0, items, function, when)

static const struct suite_case suite[] = {
    CASE("", a_call_is_answered, ALWAYS),
    CASE("A2_", ids_of_both_types_arrive_verbatim, ALWAYS),
    CASE("A4_A8_", a_twin_of_a_pending_id_is_refused, ALWAYS),
    CASE("A6_", an_answer_in_the_other_spelling_is_found, ALWAYS),
    CASE("B1_", cancel_reaches_the_peer, ALWAYS),
    CASE("B2_", cancel_is_scoped_to_one_request, ALWAYS),
    CASE("B3_B30_I17_", timeout_reaches_the_peer, ALWAYS),
    CASE("I5_I6_", total_timeout_reaches_the_peer, ALWAYS),
    CASE("B32_", freeing_the_handle_abandons_in_silence, ALWAYS),
    CASE("B7_", canceled_before_it_is_sent_nothing_is, ALWAYS),
    CASE("B8_B12_", the_frame_follows_its_request_and_leads_what_follows, ALWAYS),
    CASE("B13_", one_signal_at_most, ALWAYS),
    CASE("B14_", no_signal_after_settlement, ALWAYS),
    NEEDING(AN_EAR, "B20_", a_late_answer_is_dropped, ALWAYS),
    CASE("B22_", closing_wakes_all, ALWAYS),
    CASE("B22_", the_death_of_the_peer_wakes_all_and_signals_nothing, ALWAYS),
    CASE("B26_", a_detached_call_sends_no_signal, ALWAYS),
    CASE("B34_", a_frame_by_hand_settles_the_call, ALWAYS),
    CASE("F6_F7_F8_", silence_after_a_cancel, ALWAYS),
    CASE("F10_", an_answer_that_stands_beats_the_frame, ALWAYS),
    CASE("F13_F15_F16_", frames_that_name_nothing_are_ignored, ALWAYS),
    CASE("F14_F17_", a_frame_for_an_unknown_id_poisons_nothing, ALWAYS),
    NEEDING(A_SESSION | A_RESPONSE, "D25_", a_frame_that_arrives_first_ends_its_request,
            LEGACY),
    NEEDING(A_SESSION | A_RESPONSE, "D25_",
            a_question_whose_frame_arrives_first_is_not_asked, LEGACY),
    NEEDING(A_SESSION, "F18_F19_", repeated_frames_are_applied_once_and_in_any_spelling,
            ALWAYS),
    NEEDING(A_SESSION, "F21_", a_duplicate_id_is_refused_and_the_first_goes_on, ALWAYS),
    NEEDING(A_PIPE, "F28_", eof_lets_what_runs_finish, ALWAYS),
    NEEDING(A_PIPE, "F27_", eof_cancels_what_does_not_finish, ALWAYS),
    CASE("F29_", our_own_stop_answers_what_runs_but_not_what_was_canceled, ALWAYS),
    {"F38_over_the_limit_is_refused_and_cancels_still_apply",
     over_the_limit_is_refused_and_cancels_still_apply,
     ALWAYS,
     {.limits = {.in_flight = 2}},
     0},
    CASE("", a_line_of_garbage_loses_nothing_else, ALWAYS),
    NEEDING(NOTES, "I3_I12_", progress_comes_in_order_and_resets_the_clock, ALWAYS),
    NEEDING(NOTES, "I5_I7_", progress_does_not_move_the_total, ALWAYS),
    CASE("", a_message_larger_than_the_wire_arrives_whole, ALWAYS),
    CASE("B6_B7_B8_", a_request_half_written_is_followed_by_its_frame, ALWAYS),
    CASE("", many_at_once_each_get_their_own_end, ALWAYS),
    NEEDING(QUESTIONS, "F22_J6_", a_nested_request_goes_with_its_parent, LEGACY),
    NEEDING(QUESTIONS, "J1_", a_nested_request_that_times_out_is_canceled_alone,
            LEGACY),
    NEEDING(QUESTIONS, "J3_", a_frame_acts_only_in_its_own_direction, LEGACY),
    CASE("J4_", a_frame_of_the_server_for_our_own_request_is_ignored, LEGACY),
    NEEDING(A_PIPE, "J8_", handlers_that_wait_wake_when_the_client_is_gone, LEGACY),
    CASE("J7_", a_modern_server_cannot_ask, MODERN),
};

#define SUITE_COUNT (sizeof(suite) / sizeof(suite[0]))

static void
run_once(const struct suite_run *run)
{
    struct world_options opt = run->what->opt;
    struct world w;

    opt.link = run->link;
    opt.client_era = run->client;
    opt.server_era = run->server;
    world_start_with(&w, &opt);
    run->what->run(&w);
    world_close(&w);
}

static void
run_case(void **state)
{
    run_once(*state);
}

bool
link_suite_fits(unsigned needs, const struct world_link *link, bool legacy)
{
    unsigned traits = link->traits;
    unsigned lacks = 0;

    if (link->era != MCPI_ERA_BOTH && (link->era == MCPI_ERA_LEGACY) != legacy)
        return false;
    if (traits & WORLD_RESPONSES)
        lacks |= legacy ? A_PIPE : A_PIPE | A_SESSION | AN_EAR;
    else
        lacks |= A_RESPONSE;
    if (traits & WORLD_STATELESS)
        lacks |= A_SESSION | AN_EAR;
    if (traits & WORLD_ANSWERS_ONLY)
        lacks |= NOTES;
    if (traits & WORLD_NO_QUESTIONS)
        lacks |= QUESTIONS;
    return (needs & lacks) == 0;
}

/* Is it meant for what a client and a server of these eras agree on? */
static bool
meets(const struct suite_case *what, const struct world_link *link,
      enum mcpi_era client, enum mcpi_era server)
{
    bool legacy = client == MCPI_ERA_LEGACY || server == MCPI_ERA_LEGACY;

    if (!link_suite_fits(what->needs, link, legacy))
        return false;
    return what->when == ALWAYS || (what->when == LEGACY) == legacy;
}

size_t
link_suite_run_all(const struct world_link *link, enum mcpi_era client,
                   enum mcpi_era server)
{
    size_t count = 0;

    for (size_t i = 0; i < SUITE_COUNT; i++) {
        struct suite_run run = {
            .what = &suite[i], .link = link, .client = client, .server = server};

        if (!meets(&suite[i], link, client, server))
            continue;
        run_once(&run);
        count++;
    }
    return count;
}

void
link_suite_add(struct case_list *list, const struct world_link *link)
{
    static const enum mcpi_era eras[] = {MCPI_ERA_MODERN, MCPI_ERA_LEGACY};

    for (size_t i = 0; i < 2 * SUITE_COUNT; i++) {
        enum mcpi_era era = eras[i % 2];
        struct suite_run *run;

        if (!meets(&suite[i / 2], link, era, era))
            continue;
        run = calloc(1, sizeof(*run));
        if (!run)
            abort();
        *run = (struct suite_run){&suite[i / 2], link, era, era, ""};
        snprintf(run->name, sizeof(run->name), "%s.%s_%s", link->name, run->what->name,
                 era == MCPI_ERA_LEGACY ? "legacy" : "modern");
        case_list_add(list, (struct test_case){run->name, run_case, run}, run);
    }
}

/* ---- lists of cases -------------------------------------------------------- */

static void *
more(void *array, size_t count, size_t size)
{
    void *bigger = realloc(array, (count + 1) * size);

    if (!bigger)
        abort(); /* no test has begun that could fail */
    return bigger;
}

void
case_list_add(struct case_list *list, struct test_case one, void *owned)
{
    list->cases = more(list->cases, list->count, sizeof(*list->cases));
    list->owned = more(list->owned, list->count, sizeof(*list->owned));
    list->cases[list->count] = one;
    list->owned[list->count++] = owned;
}

int
case_list_main(const char *file, struct case_list *list)
{
    int r = test_main(file, list->cases, list->count);

    for (size_t i = 0; i < list->count; i++)
        free(list->owned[i]);
    free(list->owned);
    free(list->cases);
    return r;
}
