/* peer_test.c - one counterpart, from the first byte to the last: EOF, stop, loss */
#include "core/peer.h"

#include <stdio.h>
#include <string.h>

#include "support/messages.h"
#include "support/world.h"

static enum mcpi_era modern = MCPI_ERA_MODERN, legacy = MCPI_ERA_LEGACY;

/* A world in which the client has called, and the server works on it. */
static void
start_busy(struct world *w, const struct world_options *opt, struct outcome *out)
{
    world_start_with(w, opt);
    world_plain_call(w, out);
    world_run(w);
    assert_int_equal(w->job_count[SERVER], 1);
    world_forget(w);
}

static void
stop(struct world *w, struct outcome *out)
{
    outcome_done(out);
    world_close(w);
}

/* ---- their end ----------------------------------------------------------- */

static void
F27_loss_of_the_client_tells_every_handler_of_either_era(void **state)
{
    struct world w;
    struct world_options opt = {.client_era = MCPI_ERA_LEGACY, .times = {.drain = -1}};

    (void)state;
    world_start_with(&w, &opt);
    world_inject(&w, CLIENT, LEGACY_CALL("1"));
    world_inject(&w, CLIENT, MODERN_CALL("2"));
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 2);
    world_cut(&w, CLIENT);
    world_run(&w);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(w.jobs[SERVER][i].told, 1);
        assert_int_equal(w.jobs[SERVER][i].how, MCPI_DROPPED);
    }
    assert_int_equal(w.engine[SERVER]->counts.exchanges, 0);
    assert_int_equal(w.closed[SERVER], 1);
    world_close(&w);
}

static void
F27_B22_loss_of_the_peer_wakes_our_own_waiters_once(void **state)
{
    struct world w;
    struct outcome asked;
    struct mcpi_call_options opt = {.method = "roots/list"};

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_call(&w, SERVER, &opt, &asked);
    world_run(&w);
    world_cut(&w, CLIENT);
    world_run(&w);
    assert_int_equal(asked.done, 1);
    assert_int_equal(asked.status, MCP_E_CLOSED);
    assert_int_equal(world_try_call(&w, SERVER, &opt, &(struct outcome){0}),
                     MCP_E_CLOSED);
    stop(&w, &asked);
}

static void
F28_request_that_ends_within_the_drain_is_answered(void **state)
{
    struct world w;
    struct world_options opt = {.client_era = *(enum mcpi_era *)*state};

    /* A shell pipe: a request, and EOF right behind it. */
    world_start_with(&w, &opt);
    world_inject(&w, CLIENT,
                 opt.client_era == MCPI_ERA_MODERN ? MODERN_CALL("7")
                                                   : LEGACY_CALL("7"));
    mcpi_pair_shutdown(w.end[CLIENT], w.now);
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 0);
    world_pass(&w, 1 * SECOND - 1);
    assert_int_equal(w.closed[SERVER], 0);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    assert_int_equal(world_count_sent(&w, SERVER, "\"id\":7,\"result\""), 1);
    assert_int_equal(world_job(&w, SERVER)->told, 0);
    assert_int_equal(w.closed[SERVER], 1); /* at once: nothing is left to wait for */
    world_close(&w);
}

static void
F28_request_that_does_not_is_dropped_when_the_drain_ends(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {.client_era = *(enum mcpi_era *)*state};

    start_busy(&w, &opt, &out);
    mcpi_pair_shutdown(w.end[CLIENT], w.now);
    world_run(&w);
    world_pass(&w, 1 * SECOND - 1);
    assert_int_equal(world_job(&w, SERVER)->told, 0);
    world_pass(&w, 1);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    assert_int_equal(world_job(&w, SERVER)->how, MCPI_DROPPED);
    assert_int_equal(w.closed[SERVER], 1);
    assert_int_equal(w.sent_count[SERVER], 0);
    stop(&w, &out);
}

static void
F28_without_a_drain_requests_are_dropped_at_once(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {.times = {.drain = -1}};

    (void)state;
    start_busy(&w, &opt, &out);
    mcpi_pair_shutdown(w.end[CLIENT], w.now);
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->how, MCPI_DROPPED);
    assert_int_equal(w.closed[SERVER], 1);
    stop(&w, &out);
}

static void
F28_idle_server_closes_at_once_when_its_input_ends(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_BOTH);
    mcpi_pair_shutdown(w.end[CLIENT], w.now);
    world_run(&w);
    assert_int_equal(w.closed[SERVER], 1);
    assert_int_equal(w.closed[CLIENT], 1);
    world_close(&w);
}

static void
F28_F5_canceled_handler_that_still_runs_does_not_prolong_the_drain(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {0};

    (void)state;
    start_busy(&w, &opt, &out);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, w.now), 0);
    world_run(&w);
    mcpi_pair_shutdown(w.end[CLIENT], w.now);
    world_run(&w);
    assert_int_equal(w.closed[SERVER], 1);
    assert_int_equal(w.engine[SERVER]->counts.held, 1);
    stop(&w, &out);
}

static void
F32_loss_while_many_handlers_wait_on_the_client_is_clean(void **state)
{
    enum { MANY = 40 };
    static struct outcome asked[MANY];
    struct mcpi_call_options opt = {.method = "roots/list"};
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    for (int i = 0; i < MANY; i++) {
        char line[200];

        snprintf(line, sizeof(line), REQUEST("%d", "tools/call", "{\"name\":\"t\"}"),
                 100 + i);
        world_inject(&w, CLIENT, line);
        world_run(&w);
        opt.parent = world_job(&w, SERVER)->x;
        world_call(&w, SERVER, &opt, &asked[i]);
    }
    world_run(&w);
    world_cut(&w, CLIENT);
    world_run(&w);
    world_pass(&w, 1 * SECOND);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(asked[i].done, 1);
        assert_int_equal(asked[i].status, MCP_E_CLOSED);
        assert_int_equal(w.jobs[SERVER][i].told, 1);
        outcome_done(&asked[i]);
    }
    assert_int_equal(w.peer[SERVER]->pending.count, 0);
    assert_int_equal(w.peer[SERVER]->in_flight.count, 0);
    world_close(&w);
}

static void
F35_answer_for_a_vanished_peer_is_swallowed(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {.client_era = *(enum mcpi_era *)*state};

    start_busy(&w, &opt, &out);
    world_cut(&w, CLIENT);
    job_finish(&w, world_job(&w, SERVER), "{}"); /* not yet noticed */
    world_run(&w);
    assert_int_equal(w.closed[SERVER], 1);
    assert_false(world_logged(&w, 'E', ""));
    assert_false(world_logged(&w, 'W', ""));
    stop(&w, &out);
}

static void
F35_answer_after_the_loss_is_swallowed(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {.client_era = *(enum mcpi_era *)*state};

    start_busy(&w, &opt, &out);
    world_cut(&w, CLIENT);
    world_run(&w);
    world_pass(&w, 2 * SECOND);
    assert_int_equal(w.closed[SERVER], 1);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    assert_int_equal(w.engine[SERVER]->counts.held, 0);
    stop(&w, &out);
}

/* ---- our end ------------------------------------------------------------- */

static void
F29_our_stop_answers_what_runs(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {.client_era = *(enum mcpi_era *)*state};

    start_busy(&w, &opt, &out);
    mcpi_peer_close(w.peer[SERVER], w.now);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    assert_int_equal(world_job(&w, SERVER)->how, MCPI_CLOSED);
    world_run(&w);
    assert_int_equal(out.status, MCP_E_PEER);
    assert_int_equal(out.code, opt.client_era == MCPI_ERA_LEGACY ? -32000 : -32603);
    assert_string_equal(out.message, "Connection closed");
    assert_int_equal(w.closed[SERVER], 1);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 1);
    stop(&w, &out);
}

static void
F29_our_stop_leaves_canceled_requests_unanswered(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {.client_era = *(enum mcpi_era *)*state};

    start_busy(&w, &opt, &out);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, w.now), 0);
    world_run(&w);
    mcpi_peer_close(w.peer[SERVER], w.now);
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    assert_int_equal(world_job(&w, SERVER)->how, MCPI_CANCELED);
    stop(&w, &out);
}

static void
F30_stopping_server_reads_no_more_and_flushes_before_it_closes(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {0};

    (void)state;
    start_busy(&w, &opt, &out);
    world_inject(&w, CLIENT, MODERN_CALL("\"too late\"")); /* in the ring, unread */
    mcpi_peer_close(w.peer[SERVER], w.now);
    assert_int_equal(w.closed[SERVER], 0); /* the answer is still here */
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 1);
    assert_int_equal(w.sent_count[SERVER], 1);
    assert_int_equal(out.status, MCP_E_PEER);
    assert_int_equal(w.closed[SERVER], 1);
    assert_int_equal(w.closed[CLIENT], 1);
    assert_int_equal(mcpi_timers_next(&w.timers), w.now + 5 * SECOND); /* deafness */
    stop(&w, &out);
}

/* Fill the ring towards a client that does not read. */
static void
start_wedged(struct world *w, struct outcome *out)
{
    struct world_options opt = {.ring_bytes = 1000};
    char params[1500] = "{\"level\":\"info\",\"data\":\"";

    start_busy(w, &opt, out);
    memset(params + strlen(params), 'x', 1200);
    strcat(params, "\"}");
    assert_int_equal(mcpi_peer_notify(w->peer[SERVER], "notifications/message", params,
                                      strlen(params), w->now),
                     0);
    while (mcpi_pair_step(w->end[SERVER], w->now) > 0)
        continue;
    assert_int_equal(w->sent_count[SERVER], 1);
}

static void
F31_stop_ends_within_its_bound_though_nobody_reads(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    start_wedged(&w, &out);
    mcpi_peer_close(w.peer[SERVER], w.now);
    while (mcpi_pair_step(w.end[SERVER], w.now) > 0)
        continue;
    w.now += 1 * SECOND - 1;
    mcpi_timers_expire(&w.timers, w.now);
    assert_int_equal(w.closed[SERVER], 0);
    w.now += 1;
    mcpi_timers_expire(&w.timers, w.now);
    assert_int_equal(w.closed[SERVER], 1);
    assert_true(world_logged(&w, 'W', "not all could be written in time"));
    stop(&w, &out);
}

static void
C7_input_is_read_while_output_is_stuck(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    start_wedged(&w, &out);
    world_inject(&w, CLIENT, CANCEL("1"));
    while (mcpi_pair_step(w.end[SERVER], w.now) > 0)
        continue;
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    assert_int_equal(w.closed[SERVER], 0);
    stop(&w, &out);
}

static void
C7_peer_that_does_not_read_its_answers_is_given_up(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {.ring_bytes = 4096, .limits = {.queued_answers = 3}};
    char line[200];

    (void)state;
    world_start_with(&w, &opt);
    world_plain_call(&w, &out);
    world_run(&w);
    for (int i = 0; i < 5; i++) {
        snprintf(line, sizeof(line), REQUEST("%d", "no/such", "{" STAMP "}"), 100 + i);
        world_inject(&w, CLIENT, line);
    }
    assert_true(mcpi_pair_step(w.end[SERVER], w.now) > 0); /* reads all, writes none */
    world_pass(&w, 0);
    assert_int_equal(w.closed[SERVER], 1);
    assert_int_equal(w.closed_status[SERVER], MCP_E_LIMIT);
    assert_true(world_logged(&w, 'E', "does not read its answers"));
    assert_int_equal(world_job(&w, SERVER)->how, MCPI_DROPPED);
    stop(&w, &out);
}

static void
closing_twice_is_closing_once(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {0};

    (void)state;
    start_busy(&w, &opt, &out);
    mcpi_peer_close(w.peer[SERVER], w.now);
    mcpi_peer_close(w.peer[SERVER], w.now);
    world_run(&w);
    mcpi_peer_close(w.peer[SERVER], w.now);
    mcpi_peer_lost(w.peer[SERVER], MCP_E_CLOSED, w.now);
    assert_int_equal(w.closed[SERVER], 1);
    assert_int_equal(w.sent_count[SERVER], 1);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    stop(&w, &out);
}

static void
B22_notifications_are_dropped_quietly_once_closed(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_BOTH);
    mcpi_peer_close(w.peer[CLIENT], w.now);
    assert_int_equal(
        mcpi_peer_notify(w.peer[CLIENT], "notifications/message", NULL, 0, w.now), 0);
    world_run(&w);
    assert_int_equal(
        mcpi_peer_notify(w.peer[CLIENT], "notifications/message", NULL, 0, w.now), 0);
    assert_int_equal(w.sent_count[CLIENT], 0);
    world_close(&w);
}

static void
handler_may_outlive_its_peer(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {.client_era = MCPI_ERA_LEGACY};
    struct mcpi_exchange *x;

    (void)state;
    start_busy(&w, &opt, &out);
    x = world_job(&w, SERVER)->x;
    world_cut(&w, SERVER);
    assert_null(x->peer);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    assert_string_equal(mcp_json_string(mcp_json_get(x->caller.info, "name"), ""),
                        "test-client");
    assert_int_equal(mcpi_exchange_progress(x, 1, 1, NULL, w.now), MCP_E_CANCELED);
    job_finish(&w, world_job(&w, SERVER), "{}");
    assert_int_equal(w.engine[SERVER]->counts.held, 0);
    stop(&w, &out);
}

/* ---- what lasts until one side ends it ------------------------------------ */

struct lasting {
    int asked, told;
    enum mcpi_ending how;
    bool finish; /* by itself, when it is asked for its last word */
};

static void
lasting_closing(struct mcpi_exchange *x, struct mcpi_result *last)
{
    struct lasting *l = x->served_user;

    l->asked++;
    MCPI_BUF_LITERAL(&last->body, "{\"bye\":1}");
    if (l->finish)
        mcpi_exchange_finish(x, last, x->engine->now);
}

static void
lasting_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct lasting *l = x->served_user;
    struct mcpi_result nothing;

    (void)reason;
    l->told++;
    l->how = how;
    mcpi_result_init(&nothing, x->engine);
    mcpi_exchange_finish(x, &nothing, x->engine->now);
}

static const struct mcpi_served_ops lasting_ops = {.ended = lasting_ended,
                                                   .closing = lasting_closing};

/* Request 1 lasts, request 2 does not. */
static void
start_lasting(struct world *w, struct lasting *l)
{
    memset(l, 0, sizeof(*l));
    world_start(w, MCPI_ERA_MODERN);
    world_inject(w, CLIENT, MODERN_CALL("1"));
    world_inject(w, CLIENT, MODERN_CALL("2"));
    world_run(w);
    assert_int_equal(w->job_count[SERVER], 2);
    mcpi_exchange_serve(w->jobs[SERVER][0].x, &lasting_ops, l);
    w->jobs[SERVER][0].finished = true; /* it sees to that itself */
    world_forget(w);
}

static void
F29_H17_our_stop_asks_what_lasts_for_its_last_word(void **state)
{
    struct lasting l;
    struct world w;

    (void)state;
    for (int finish = 0; finish < 2; finish++) {
        start_lasting(&w, &l);
        l.finish = finish;
        mcpi_peer_close(w.peer[SERVER], w.now);
        world_run(&w);
        assert_int_equal(l.asked, 1);
        assert_int_equal(l.told, !finish);
        assert_int_equal(w.sent_count[SERVER], 2);
        assert_non_null(
            strstr(world_sent(&w, SERVER, 0), "\"id\":1,\"result\":{\"bye\""));
        assert_non_null(strstr(world_sent(&w, SERVER, 1), "\"id\":2,\"error\""));
        assert_int_equal(w.closed[SERVER], 1);
        world_close(&w);
    }
}

static void
F28_what_lasts_is_dropped_before_the_drain(void **state)
{
    struct lasting l;
    struct world w;

    (void)state;
    start_lasting(&w, &l);
    mcpi_pair_shutdown(w.end[CLIENT], w.now);
    world_run(&w);
    assert_int_equal(l.asked, 0);
    assert_int_equal(l.told, 1);
    assert_int_equal(l.how, MCPI_DROPPED);
    assert_int_equal(w.jobs[SERVER][1].told, 0);
    assert_int_equal(w.closed[SERVER], 0);
    job_finish(&w, &w.jobs[SERVER][1], "{}");
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 1);
    assert_int_equal(w.closed[SERVER], 1);
    world_close(&w);
}

static void
F6_what_lasts_and_is_canceled_has_no_last_word(void **state)
{
    struct lasting l;
    struct world w;

    (void)state;
    start_lasting(&w, &l);
    world_inject(&w, CLIENT, CANCEL("1"));
    world_run(&w);
    assert_int_equal(l.how, MCPI_CANCELED);
    mcpi_peer_close(w.peer[SERVER], w.now);
    world_run(&w);
    assert_int_equal(l.asked, 0);
    assert_int_equal(w.sent_count[SERVER], 1);
    world_close(&w);
}

/* clang-format off */
#define IN_BOTH_ERAS(function) \
    TEST_AS("modern." #function, function, &modern), \
    TEST_AS("legacy." #function, function, &legacy)

TEST_MAIN(TEST(F27_loss_of_the_client_tells_every_handler_of_either_era),
          TEST(F27_B22_loss_of_the_peer_wakes_our_own_waiters_once),
          IN_BOTH_ERAS(F28_request_that_ends_within_the_drain_is_answered),
          IN_BOTH_ERAS(F28_request_that_does_not_is_dropped_when_the_drain_ends),
          TEST(F28_without_a_drain_requests_are_dropped_at_once),
          TEST(F28_idle_server_closes_at_once_when_its_input_ends),
          TEST(F28_F5_canceled_handler_that_still_runs_does_not_prolong_the_drain),
          TEST(F32_loss_while_many_handlers_wait_on_the_client_is_clean),
          IN_BOTH_ERAS(F35_answer_for_a_vanished_peer_is_swallowed),
          IN_BOTH_ERAS(F35_answer_after_the_loss_is_swallowed),
          IN_BOTH_ERAS(F29_our_stop_answers_what_runs),
          IN_BOTH_ERAS(F29_our_stop_leaves_canceled_requests_unanswered),
          TEST(F30_stopping_server_reads_no_more_and_flushes_before_it_closes),
          TEST(F31_stop_ends_within_its_bound_though_nobody_reads),
          TEST(C7_input_is_read_while_output_is_stuck),
          TEST(C7_peer_that_does_not_read_its_answers_is_given_up),
          TEST(closing_twice_is_closing_once),
          TEST(B22_notifications_are_dropped_quietly_once_closed),
          TEST(handler_may_outlive_its_peer),
          TEST(F29_H17_our_stop_asks_what_lasts_for_its_last_word),
          TEST(F28_what_lasts_is_dropped_before_the_drain),
          TEST(F6_what_lasts_and_is_canceled_has_no_last_word))
/* clang-format on */
