/* leaving_test.c - a peer whose requests have streams of their own comes to its end: our
 * stop, the end of a session, a stream let go */
#include <string.h>

#include "support/endpoint.h"

enum {
    SESSION = MCPI_LAST_WORD,
    SHARED = MCPI_PRIVATE_IDS | MCPI_GONE_CANCELS | MCPI_NO_REQUESTS
};

#define MODERN_LISTEN(id) REQUEST(id, "last/listen", "{" STAMP "}")
#define LEGACY_LISTEN(id) REQUEST(id, "last/listen", "{}")

static void
open_session(struct endpoint *ep)
{
    endpoint_open(ep, SESSION, NULL);
    endpoint_greet(ep, 0);
    endpoint_greet(ep, 1);
}

static void
free_peer(struct endpoint *ep, int peer)
{
    mcpi_peer_free(ep->peer[peer]);
    ep->peer[peer] = NULL;
}

/* ---- our own stop, with time --------------------------------------------- */

static void
H17_drain_ends_what_lasts_with_its_result_and_lets_the_rest_run(void **state)
{
    struct endpoint_stream *listen, *post;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    post = endpoint_post(&ep, MODERN_CALL("1"));
    listen = endpoint_post(&ep, MODERN_LISTEN("2"));
    mcpi_peer_drain(ep.peer[0], ep.now);
    endpoint_run(&ep);
    assert_int_equal(listen->count, 1);
    assert_non_null(strstr(listen->sent[0], "\"id\":2,\"result\":{\"over\":true"));
    assert_int_equal(listen->codes[0], 0);
    assert_int_equal(listen->settled, 1);
    assert_int_equal(post->count, 0);
    assert_int_equal(ep.closes, 0);
    endpoint_finish(&ep, ep.jobs[0]);
    endpoint_run(&ep);
    assert_int_equal(post->count, 1);
    assert_int_equal(post->codes[0], 0);
    assert_int_equal(ep.closes, 1); /* the last one closes */
    assert_int_equal(ep.how, MCPI_CLOSE_DRAIN);
    endpoint_close(&ep);
}

static void
drain_refuses_what_comes_now(void **state)
{
    struct endpoint_stream *late;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    endpoint_post(&ep, MODERN_CALL("1"));
    mcpi_peer_drain(ep.peer[0], ep.now);
    late = endpoint_post(&ep, MODERN_CALL("2"));
    endpoint_run(&ep);
    assert_int_equal(ep.job_count, 1);
    assert_int_equal(late->count, 1);
    assert_int_equal(late->codes[0], -32603);
    assert_non_null(strstr(late->sent[0], "Connection closed"));
    endpoint_close(&ep);
}

static void
F29_what_runs_too_long_while_we_drain_is_answered_with_an_error(void **state)
{
    struct mcpi_times times = {.drain = 2 * SECOND};
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SESSION, &times);
    endpoint_greet(&ep, 0);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    mcpi_peer_drain(ep.peer[0], ep.now);
    endpoint_pass(&ep, 2 * SECOND - 1);
    assert_int_equal(endpoint_job(&ep)->told, 0);
    endpoint_pass(&ep, 1);
    assert_int_equal(endpoint_job(&ep)->told, 1);
    assert_int_equal(endpoint_job(&ep)->how, MCPI_CLOSED);
    assert_int_equal(post->count, 1);
    assert_int_equal(post->codes[0], -32000);
    assert_int_equal(ep.closes, 1);
    assert_int_equal(ep.how, MCPI_CLOSE_DRAIN);
    endpoint_close(&ep);
}

static void
drain_with_nothing_open_or_without_time_closes_at_once(void **state)
{
    struct mcpi_times times = {.drain = -1};
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SHARED, &times);
    mcpi_peer_drain(ep.peer[1], ep.now);
    assert_int_equal(ep.closes, 1);
    post = endpoint_post(&ep, MODERN_CALL("1"));
    mcpi_peer_drain(ep.peer[0], ep.now);
    endpoint_run(&ep);
    assert_int_equal(ep.closes, 2);
    assert_int_equal(post->count, 1);
    assert_int_equal(post->codes[0], -32603);
    mcpi_peer_drain(ep.peer[0], ep.now); /* and again: nothing */
    assert_int_equal(ep.closes, 2);
    endpoint_close(&ep);
}

static void
drain_closes_when_all_that_was_open_lasted(void **state)
{
    struct endpoint_stream *a, *b;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    a = endpoint_post(&ep, MODERN_LISTEN("1"));
    b = endpoint_post(&ep, MODERN_LISTEN("1"));
    mcpi_peer_drain(ep.peer[0], ep.now);
    endpoint_run(&ep);
    assert_int_equal(a->count + b->count, 2);
    assert_int_equal(ep.closes, 1);
    endpoint_close(&ep);
}

static void
D13_F2_frames_and_answers_still_count_while_we_drain(void **state)
{
    struct endpoint_stream *canceled, *asking;
    struct outcome asked;
    struct endpoint ep;

    (void)state;
    open_session(&ep);
    canceled = endpoint_post(&ep, LEGACY_CALL("1"));
    asking = endpoint_post(&ep, LEGACY_CALL("2"));
    mcpi_peer_drain(ep.peer[0], ep.now);
    assert_int_equal(endpoint_ask(&ep, ep.jobs[1], &asked),
                     0); /* it runs: it may ask */
    endpoint_run(&ep);
    endpoint_post(&ep, CANCEL("1"));
    endpoint_post(&ep, RESULT("1", "{\"roots\":[]}"));
    assert_int_equal(ep.jobs[0]->how, MCPI_CANCELED);
    assert_int_equal(asked.status, 0);
    assert_int_equal(asked.done, 1);
    endpoint_finish(&ep, ep.jobs[0]);
    assert_int_equal(ep.closes, 0);
    endpoint_finish(&ep, ep.jobs[1]);
    endpoint_run(&ep);
    assert_int_equal(ep.closes, 1);
    assert_int_equal(canceled->codes[0], -32800);
    assert_int_equal(asking->count, 2);
    mcpi_call_free(asked.call, ep.now);
    endpoint_close(&ep);
}

static void
F28_end_of_input_while_we_drain_gives_no_more_time(void **state)
{
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SESSION, NULL);
    endpoint_greet(&ep, 0);
    endpoint_post(&ep, LEGACY_CALL("1"));
    mcpi_peer_drain(ep.peer[0], ep.now);
    endpoint_pass(&ep, SECOND / 2);
    mcpi_peer_input_ended(ep.peer[0], ep.now);
    endpoint_pass(&ep, SECOND / 2 - 1);
    assert_int_equal(endpoint_job(&ep)->told, 0);
    endpoint_pass(&ep, 1);
    assert_int_equal(endpoint_job(&ep)->told, 1);
    assert_int_equal(endpoint_job(&ep)->how, MCPI_DROPPED);
    assert_int_equal(ep.closes, 1);
    endpoint_close(&ep);
}

static void
F31_link_that_does_not_flush_is_closed_in_time_after_a_drain(void **state)
{
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    endpoint_post(&ep, MODERN_CALL("1"));
    mcpi_peer_drain(ep.peer[0], ep.now);
    endpoint_pass(&ep, SECOND); /* the drain */
    assert_int_equal(ep.how, MCPI_CLOSE_DRAIN);
    endpoint_pass(&ep, SECOND); /* the stop */
    assert_int_equal(ep.how, MCPI_CLOSE_NOW);
    assert_int_equal(ep.peer[0]->state, MCPI_PEER_CLOSED);
    endpoint_close(&ep);
}

/* ---- the end of a session ------------------------------------------------ */

static void
D17_end_of_a_session_cancels_all_and_ends_every_post_at_once(void **state)
{
    struct endpoint_stream *open, *deaf, *listen, *other;
    struct endpoint ep;

    (void)state;
    open_session(&ep);
    open = endpoint_post(&ep, LEGACY_CALL("1"));
    deaf = endpoint_post(&ep, LEGACY_CALL("2"));
    listen = endpoint_post(&ep, LEGACY_LISTEN("3"));
    other = endpoint_post_to(&ep, 1, LEGACY_CALL("1"));
    endpoint_post(&ep, CANCEL("2")); /* whose handler does not listen */
    mcpi_peer_end(ep.peer[0], "the session was deleted", ep.now);
    endpoint_run(&ep);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ep.jobs[i]->told, 1);
        assert_int_equal(ep.jobs[i]->how, MCPI_CANCELED);
    }
    assert_string_equal(ep.jobs[0]->x->reason, "the session was deleted");
    assert_int_equal(open->count, 1);
    assert_int_equal(open->codes[0], -32800);
    assert_int_equal(open->settled, 1);
    assert_int_equal(deaf->count, 1);
    assert_int_equal(deaf->codes[0], -32800);
    assert_int_equal(deaf->settled, 1);
    assert_int_equal(listen->codes[0], -32800);
    assert_int_equal(ep.closes, 1);
    assert_int_equal(ep.how, MCPI_CLOSE_DRAIN);
    assert_int_equal(ep.jobs[3]->told, 0); /* of another session */
    assert_int_equal(other->count, 0);
    endpoint_close(&ep);
}

static void
D17_nothing_more_is_said_when_the_handlers_have_stopped(void **state)
{
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    open_session(&ep);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    mcpi_peer_end(ep.peer[0], "idle", ep.now);
    endpoint_run(&ep);
    assert_int_equal(post->count, 1);
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_run(&ep);
    assert_int_equal(post->count, 1);
    assert_int_equal(post->settled, 1);
    assert_int_equal(ep.engine->counts.held, 0);
    assert_true(mcpi_peer_is_idle(ep.peer[0]));
    endpoint_close(&ep);
}

static void
D17_F5_handlers_that_outlive_their_session_are_counted_until_they_stop(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep);
    endpoint_post(&ep, LEGACY_CALL("1"));
    endpoint_post(&ep, LEGACY_CALL("2"));
    mcpi_peer_end(ep.peer[0], "deleted", ep.now);
    endpoint_run(&ep);
    assert_int_equal(ep.engine->counts.exchanges, 0);
    assert_int_equal(ep.engine->counts.held, 2);
    assert_false(mcpi_peer_is_idle(ep.peer[0]));
    mcpi_peer_lost(ep.peer[0], MCP_E_CLOSED, ep.now);
    free_peer(&ep, 0);
    assert_int_equal(ep.engine->counts.held, 2);
    endpoint_pass(&ep, 5 * SECOND);
    assert_int_equal(ep.engine->counts.deaf, 2);
    endpoint_finish(&ep, ep.jobs[0]);
    assert_int_equal(ep.engine->counts.held, 1);
    assert_int_equal(ep.engine->counts.deaf, 1);
    endpoint_finish(&ep, ep.jobs[1]);
    assert_int_equal(ep.engine->counts.held, 0);
    assert_int_equal(ep.engine->counts.deaf, 0);
    assert_int_equal(mcpi_timers_next(&ep.timers), MCPI_NEVER);
    endpoint_close(&ep);
}

static void
D17_end_without_last_words_settles_every_post(void **state)
{
    struct endpoint_stream *post, *canceled;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, 0, NULL);
    endpoint_greet(&ep, 0);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    canceled = endpoint_post(&ep, LEGACY_CALL("2"));
    endpoint_post(&ep, CANCEL("2"));
    mcpi_peer_end(ep.peer[0], "deleted", ep.now);
    endpoint_run(&ep);
    assert_int_equal(post->count, 0);
    assert_int_equal(post->settled, 1);
    assert_int_equal(canceled->count, 0);
    assert_int_equal(canceled->settled, 1);
    endpoint_close(&ep);
}

static void
D17_J8_question_of_a_session_that_ends_is_closed(void **state)
{
    struct endpoint_stream *post;
    struct outcome asked;
    struct endpoint ep;

    (void)state;
    open_session(&ep);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    assert_int_equal(endpoint_ask(&ep, endpoint_job(&ep), &asked), 0);
    endpoint_run(&ep);
    mcpi_peer_end(ep.peer[0], "deleted", ep.now);
    assert_int_equal(asked.done, 1);
    assert_int_equal(asked.status, MCP_E_CLOSED);
    endpoint_run(&ep);
    assert_int_equal(post->count, 3); /* what it asked, and its frame (J5) */
    assert_non_null(strstr(post->sent[1], "notifications/cancelled"));
    assert_int_equal(post->codes[2], -32800);
    mcpi_call_free(asked.call, ep.now);
    endpoint_close(&ep);
}

static void
D17_end_is_bounded_and_comes_once(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep);
    endpoint_post(&ep, LEGACY_CALL("1"));
    mcpi_peer_end(ep.peer[0], "deleted", ep.now);
    mcpi_peer_end(ep.peer[0], "deleted", ep.now);
    mcpi_peer_drain(ep.peer[0], ep.now);
    mcpi_peer_close(ep.peer[0], ep.now);
    assert_int_equal(ep.closes, 1);
    endpoint_pass(&ep, SECOND - 1);
    assert_int_equal(ep.closes, 1);
    endpoint_pass(&ep, 1);
    assert_int_equal(ep.closes, 2);
    assert_int_equal(ep.how, MCPI_CLOSE_NOW);
    assert_int_equal(ep.peer[0]->state, MCPI_PEER_CLOSED);
    endpoint_close(&ep);
}

static void
D17_session_can_end_while_we_drain(void **state)
{
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    open_session(&ep);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    mcpi_peer_drain(ep.peer[0], ep.now);
    mcpi_peer_end(ep.peer[0], "deleted", ep.now);
    endpoint_run(&ep);
    assert_int_equal(post->codes[0], -32800);
    assert_int_equal(ep.closes, 1);
    endpoint_close(&ep);
}

static void
D14_F29_our_stop_ends_the_posts_of_deaf_handlers_too(void **state)
{
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    open_session(&ep);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    endpoint_post(&ep, CANCEL("1"));
    mcpi_peer_close(ep.peer[0], ep.now);
    endpoint_run(&ep);
    assert_int_equal(post->count, 1);
    assert_int_equal(post->codes[0], -32800);
    assert_int_equal(post->settled, 1);
    endpoint_close(&ep);
}

/* ---- idle, room ---------------------------------------------------------- */

static void
D18_session_is_busy_while_a_request_is_open_or_its_handler_runs(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep);
    assert_true(mcpi_peer_is_idle(ep.peer[0]));
    endpoint_leave(&ep, endpoint_post(&ep, LEGACY_CALL("1"))); /* it goes on (D12) */
    assert_false(mcpi_peer_is_idle(ep.peer[0]));
    assert_true(mcpi_peer_is_idle(ep.peer[1]));
    endpoint_post(&ep, CANCEL("1"));
    assert_false(mcpi_peer_is_idle(ep.peer[0])); /* its handler has not stopped */
    endpoint_finish(&ep, endpoint_job(&ep));
    assert_true(mcpi_peer_is_idle(ep.peer[0]));
    endpoint_close(&ep);
}

static void
room_ends_with_the_limit_and_comes_back(void **state)
{
    struct endpoint_options opt = {.traits = SHARED, .limits = {.in_flight = 2}};
    struct endpoint_stream *a, *refused;
    struct endpoint ep;

    (void)state;
    endpoint_open_with(&ep, &opt);
    a = endpoint_post(&ep, MODERN_CALL("1"));
    assert_true(mcpi_peer_has_room(ep.peer[0]));
    endpoint_post(&ep, MODERN_CALL("1"));
    assert_false(mcpi_peer_has_room(ep.peer[0]));
    refused = endpoint_post(&ep, MODERN_CALL("1"));
    endpoint_run(&ep);
    assert_int_equal(refused->codes[0], -32603);
    endpoint_leave(&ep, a);
    assert_false(mcpi_peer_has_room(ep.peer[0])); /* its handler has not stopped */
    endpoint_finish(&ep, ep.jobs[0]);
    assert_true(mcpi_peer_has_room(ep.peer[0]));
    endpoint_close(&ep);
}

/* The limit itself is still within it. */
static void
room_for_bytes_ends_past_the_limit(void **state)
{
    struct endpoint_stream *taken, *refused;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    endpoint_post(&ep, MODERN_CALL("1"));
    ep.engine->limits.held_bytes = ep.peer[0]->request_bytes;
    assert_true(mcpi_peer_has_room(ep.peer[0]));
    taken = endpoint_post(&ep, MODERN_CALL("2"));
    endpoint_run(&ep);
    assert_int_equal(taken->count, 0);
    assert_int_equal(ep.job_count, 2);
    assert_false(mcpi_peer_has_room(ep.peer[0]));
    refused = endpoint_post(&ep, MODERN_CALL("3"));
    endpoint_run(&ep);
    assert_int_equal(refused->codes[0], -32603);
    endpoint_close(&ep);
}

/* ---- letting a client go ------------------------------------------------- */

static void
detach_reaches_the_link_while_the_request_is_open(void **state)
{
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    open_session(&ep);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    assert_int_equal(mcpi_exchange_detach(ep.jobs[0]->x, ep.now), 0);
    assert_int_equal(post->detached, 1);
    endpoint_post(&ep, CANCEL("1"));
    assert_int_equal(mcpi_exchange_detach(ep.jobs[0]->x, ep.now), MCP_E_CANCELED);
    endpoint_post(&ep, LEGACY_CALL("2"));
    endpoint_finish(&ep, endpoint_job(&ep));
    assert_int_equal(mcpi_exchange_detach(endpoint_job(&ep)->x, ep.now), MCP_E_STATE);
    assert_int_equal(post->detached, 1);
    endpoint_close(&ep);
}

static void
detach_is_refused_where_nothing_can_be_let_go(void **state)
{
    struct endpoint_options bare = {.traits = SESSION, .bare = true};
    struct endpoint ep;

    (void)state;
    endpoint_open_with(&ep, &bare);
    endpoint_greet(&ep, 0);
    endpoint_post(&ep, LEGACY_CALL("1"));
    assert_int_equal(mcpi_exchange_detach(endpoint_job(&ep)->x, ep.now),
                     MCP_E_NO_CHANNEL);
    endpoint_close(&ep);
    open_session(&ep);
    endpoint_leave(&ep, endpoint_post(&ep, LEGACY_CALL("1")));
    assert_int_equal(mcpi_exchange_detach(endpoint_job(&ep)->x, ep.now),
                     MCP_E_NO_CHANNEL); /* it has gone by itself */
    endpoint_close(&ep);
}

TEST_MAIN(TEST(H17_drain_ends_what_lasts_with_its_result_and_lets_the_rest_run),
          TEST(drain_refuses_what_comes_now),
          TEST(F29_what_runs_too_long_while_we_drain_is_answered_with_an_error),
          TEST(drain_with_nothing_open_or_without_time_closes_at_once),
          TEST(drain_closes_when_all_that_was_open_lasted),
          TEST(D13_F2_frames_and_answers_still_count_while_we_drain),
          TEST(F28_end_of_input_while_we_drain_gives_no_more_time),
          TEST(F31_link_that_does_not_flush_is_closed_in_time_after_a_drain),
          TEST(D17_end_of_a_session_cancels_all_and_ends_every_post_at_once),
          TEST(D17_nothing_more_is_said_when_the_handlers_have_stopped),
          TEST(D17_F5_handlers_that_outlive_their_session_are_counted_until_they_stop),
          TEST(D17_end_without_last_words_settles_every_post),
          TEST(D17_J8_question_of_a_session_that_ends_is_closed),
          TEST(D17_end_is_bounded_and_comes_once),
          TEST(D17_session_can_end_while_we_drain),
          TEST(D14_F29_our_stop_ends_the_posts_of_deaf_handlers_too),
          TEST(D18_session_is_busy_while_a_request_is_open_or_its_handler_runs),
          TEST(room_ends_with_the_limit_and_comes_back),
          TEST(room_for_bytes_ends_past_the_limit),
          TEST(detach_reaches_the_link_while_the_request_is_open),
          TEST(detach_is_refused_where_nothing_can_be_let_go))
