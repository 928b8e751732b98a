/* endpoint_test.c - a link whose requests have streams of their own, served by core */
#include <stdio.h>
#include <string.h>

#include "support/endpoint.h"

enum {
    SESSION = MCPI_LAST_WORD,                         /* legacy, with a session */
    SESSION_JSON = MCPI_LAST_WORD | MCPI_NO_REQUESTS, /* the same, in JSON mode */
    SHARED = MCPI_PRIVATE_IDS | MCPI_GONE_CANCELS | MCPI_NO_REQUESTS, /* modern */
    STATELESS = SHARED | MCPI_STATELESS                               /* legacy */
};

static void
open_session(struct endpoint *ep, unsigned traits)
{
    endpoint_open(ep, traits, NULL);
    endpoint_greet(ep, 0);
    endpoint_greet(ep, 1);
}

/* ---- a session: cancel frames, last words -------------------------------- */

static void
D13_posted_frame_cancels_in_its_own_session_only(void **state)
{
    struct endpoint ep;
    struct endpoint_job *mine, *other;

    (void)state;
    open_session(&ep, SESSION);
    endpoint_post_to(&ep, 0, LEGACY_CALL("1"));
    mine = endpoint_job(&ep);
    endpoint_post_to(&ep, 1, LEGACY_CALL("1"));
    other = endpoint_job(&ep);
    endpoint_post_to(&ep, 0, CANCEL("1"));
    assert_int_equal(mine->told, 1); /* at once, while the handler runs */
    assert_int_equal(other->told, 0);
    endpoint_close(&ep);
}

static void
D14_canceled_post_ends_with_one_error_when_its_handler_has_stopped(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *post;

    (void)state;
    open_session(&ep, SESSION);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    endpoint_post(&ep, CANCEL("1"));
    endpoint_run(&ep);
    assert_int_equal(post->count, 0);
    assert_int_equal(post->settled, 0);
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_run(&ep);
    assert_int_equal(post->count, 1);
    assert_non_null(strstr(post->sent[0], "\"id\":1,\"error\":{\"code\":-32800"));
    assert_int_equal(post->settled, 1);
    endpoint_close(&ep);
}

static void
D15_canceled_post_in_json_mode_has_its_error_as_only_message(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *post;

    (void)state;
    open_session(&ep, SESSION_JSON);
    post = endpoint_post(&ep, LEGACY_CALL("\"j\""));
    (void)mcpi_exchange_progress(endpoint_job(&ep)->x, 1, 2, NULL, ep.now);
    endpoint_post(&ep, CANCEL("\"j\""));
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_run(&ep);
    assert_int_equal(post->count, 1);
    assert_non_null(strstr(post->sent[0], "\"id\":\"j\",\"error\":{\"code\":-32800"));
    assert_int_equal(post->settled, 1);
    endpoint_close(&ep);
}

static void
D14_F5_deaf_handler_holds_its_post_for_five_seconds_at_most(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *post;

    (void)state;
    open_session(&ep, SESSION);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    endpoint_post(&ep, CANCEL("1"));
    endpoint_pass(&ep, 5 * SECOND - 1);
    assert_int_equal(post->count, 0);
    endpoint_pass(&ep, 1);
    assert_int_equal(post->count, 1);
    assert_non_null(strstr(post->sent[0], "-32800"));
    assert_int_equal(post->settled, 1);
    assert_int_equal(ep.engine->counts.deaf, 1);
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_run(&ep);
    assert_int_equal(post->count, 1); /* nothing more, and told once */
    assert_int_equal(post->settled, 1);
    assert_int_equal(ep.engine->counts.held, 0);
    endpoint_close(&ep);
}

static void
D14_link_that_wants_no_last_word_is_settled_without_one(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *post;

    (void)state;
    open_session(&ep, 0);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    endpoint_post(&ep, CANCEL("1"));
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_run(&ep);
    assert_int_equal(post->count, 0);
    assert_int_equal(post->settled, 1);
    endpoint_close(&ep);
}

static void
F9_every_ending_settles_the_stream_once(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *answered, *limited, *refused;
    struct mcpi_times times = {.run = 2 * SECOND};

    (void)state;
    endpoint_open(&ep, SESSION, &times);
    endpoint_greet(&ep, 0);
    answered = endpoint_post(&ep, LEGACY_CALL("1"));
    endpoint_finish(&ep, endpoint_job(&ep));
    refused = endpoint_post(&ep, REQUEST("3", "no/such", "{}"));
    limited = endpoint_post(&ep, LEGACY_CALL("2"));
    endpoint_pass(&ep, 2 * SECOND);
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_pass(&ep, 10 * SECOND);
    assert_int_equal(answered->settled, 1);
    assert_int_equal(answered->count, 1);
    assert_int_equal(limited->settled, 1);
    assert_int_equal(limited->count, 1);
    assert_int_equal(refused->settled, 1);
    assert_int_equal(refused->count, 1);
    endpoint_close(&ep);
}

static void
F29_stop_answers_on_every_open_stream(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *open, *canceled;

    (void)state;
    open_session(&ep, 0);
    open = endpoint_post(&ep, LEGACY_CALL("1"));
    canceled = endpoint_post(&ep, LEGACY_CALL("2"));
    endpoint_post(&ep, CANCEL("2"));
    mcpi_peer_close(ep.peer[0], ep.now);
    endpoint_run(&ep);
    assert_int_equal(ep.closes, 1);
    assert_int_equal(open->count, 1);
    assert_non_null(strstr(open->sent[0], "\"code\":-32000"));
    assert_int_equal(canceled->count, 0);
    endpoint_close(&ep);
}

/* ---- clients that leave -------------------------------------------------- */

static void
D12_handler_of_a_session_goes_on_when_its_client_leaves(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *post;

    (void)state;
    open_session(&ep, SESSION);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    endpoint_leave(&ep, post);
    assert_int_equal(endpoint_job(&ep)->told, 0);
    assert_int_equal(ep.engine->counts.exchanges, 1);
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_run(&ep);
    assert_int_equal(post->count, 0); /* nowhere to go */
    assert_int_equal(ep.engine->counts.exchanges, 0);
    assert_int_equal(ep.peer[0]->exchange_count, 0);
    assert_int_equal(ep.peer[0]->in_flight.count, 0);
    endpoint_close(&ep);
}

static void
D12_F2_request_whose_client_left_can_still_be_canceled_by_frame(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    endpoint_leave(&ep, endpoint_post(&ep, LEGACY_CALL("1")));
    endpoint_post(&ep, CANCEL("1"));
    assert_int_equal(endpoint_job(&ep)->told, 1);
    endpoint_close(&ep);
}

static void
D16_handler_of_a_stateless_client_that_leaves_is_canceled(void **state)
{
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, STATELESS, NULL);
    endpoint_leave(&ep, endpoint_post(&ep, LEGACY_CALL("1")));
    assert_int_equal(endpoint_job(&ep)->told, 1);
    assert_int_equal(endpoint_job(&ep)->how, MCPI_CANCELED);
    endpoint_close(&ep);
}

static void
D16_canceling_on_leave_can_be_turned_off(void **state)
{
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, STATELESS & ~(unsigned)MCPI_GONE_CANCELS, NULL);
    endpoint_leave(&ep, endpoint_post(&ep, LEGACY_CALL("1")));
    assert_int_equal(endpoint_job(&ep)->told, 0);
    endpoint_close(&ep);
}

static void
E18_E19_disconnect_cancels_exactly_that_request(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *stays, *goes;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    stays = endpoint_post(&ep, MODERN_CALL("1"));
    goes = endpoint_post(&ep, MODERN_CALL("2"));
    endpoint_leave(&ep, goes);
    assert_int_equal(ep.jobs[1]->told, 1);
    assert_int_equal(ep.jobs[1]->how, MCPI_CANCELED);
    assert_int_equal(ep.jobs[0]->told, 0);
    endpoint_finish(&ep, ep.jobs[1]);
    assert_int_equal(ep.engine->counts.held, 0);
    endpoint_finish(&ep, ep.jobs[0]);
    endpoint_run(&ep);
    assert_int_equal(stays->count, 1);
    assert_int_equal(goes->count, 0);
    endpoint_close(&ep);
}

static void
E21_F35_nothing_is_said_after_the_client_has_left(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *post;
    struct mcpi_exchange *x;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    post = endpoint_post(&ep, MODERN_CALL("1"));
    x = endpoint_job(&ep)->x;
    assert_int_equal(mcpi_exchange_notify(x, "notifications/message", "{}", 2, ep.now),
                     0);
    endpoint_leave(&ep, post);
    assert_int_equal(mcpi_exchange_progress(x, 1, 2, NULL, ep.now), MCP_E_CANCELED);
    assert_int_equal(mcpi_exchange_notify(x, "notifications/message", "{}", 2, ep.now),
                     MCP_E_CANCELED);
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_pass(&ep, 10 * SECOND);
    assert_int_equal(post->count, 0);
    assert_int_equal(ep.own[0].count, 0);
    endpoint_close(&ep);
}

static void
E24_frame_posted_without_a_session_finds_nothing(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *post, *frame;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    post = endpoint_post(&ep, MODERN_CALL("1"));
    frame = endpoint_post(&ep, CANCEL("1"));
    assert_int_equal(endpoint_job(&ep)->told, 0);
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_run(&ep);
    assert_int_equal(post->count, 1);
    assert_int_equal(frame->count, 0);
    endpoint_close(&ep);
}

static void
E28_equal_ids_of_two_callers_never_meet(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *a, *b;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    a = endpoint_post(&ep, MODERN_CALL("1"));
    b = endpoint_post(&ep, MODERN_CALL("1"));
    assert_int_equal(ep.job_count, 2);
    endpoint_finish(&ep, ep.jobs[1]);
    endpoint_run(&ep);
    assert_int_equal(a->count, 0);
    assert_int_equal(b->count, 1);
    endpoint_finish(&ep, ep.jobs[0]);
    endpoint_run(&ep);
    assert_int_equal(a->count, 1);
    assert_int_equal(b->count, 1);
    assert_non_null(strstr(a->sent[0], "\"id\":1,\"result\""));
    endpoint_close(&ep);
}

/* One POST from beginning to end, with nothing kept of it by the test. */
static void
disconnect(struct endpoint *ep)
{
    struct endpoint_stream *post = endpoint_post(ep, MODERN_CALL("1"));
    struct endpoint_job *job = endpoint_job(ep);

    endpoint_leave(ep, post);
    assert_int_equal(job->told, 1);
    endpoint_finish(ep, job);
    endpoint_forget(ep);
}

static void
F33_ten_thousand_disconnects_leave_nothing_behind(void **state)
{
    struct endpoint ep;
    long before;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    disconnect(&ep);
    before = ep.mem.live;
    for (int i = 0; i < 10000; i++)
        disconnect(&ep);
    assert_int_equal(ep.mem.live, before);
    assert_int_equal(ep.engine->counts.exchanges, 0);
    assert_int_equal(ep.engine->counts.held, 0);
    assert_int_equal(ep.peer[0]->exchange_count, 0);
    assert_int_equal(mcpi_timers_next(&ep.timers), MCPI_NEVER);
    endpoint_close(&ep);
}

/* ---- nested requests ----------------------------------------------------- */

static void
J5_D21_abandoned_question_is_framed_on_the_stream_of_its_request(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *post;
    struct outcome asked;

    (void)state;
    open_session(&ep, SESSION);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    assert_true(endpoint_job(&ep)->x->caller.askable);
    assert_int_equal(endpoint_ask(&ep, endpoint_job(&ep), &asked), 0);
    endpoint_run(&ep);
    assert_int_equal(post->count, 1);
    assert_non_null(strstr(post->sent[0], "roots/list"));
    endpoint_pass(&ep, 60 * SECOND); /* its default timeout */
    assert_int_equal(asked.status, MCP_E_TIMEOUT);
    assert_int_equal(post->count, 2);
    assert_non_null(strstr(post->sent[1], "notifications/cancelled"));
    assert_int_equal(ep.own[0].count, 0);
    assert_int_equal(endpoint_job(&ep)->told, 0);
    mcpi_call_free(asked.call, ep.now);
    endpoint_close(&ep);
}

static void
J5_J6_frame_of_a_question_stands_before_the_last_word_of_its_request(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *post;
    struct outcome asked;

    (void)state;
    open_session(&ep, SESSION);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    assert_int_equal(endpoint_ask(&ep, endpoint_job(&ep), &asked), 0);
    endpoint_run(&ep);
    endpoint_post(&ep, CANCEL("1"));
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_run(&ep);
    assert_int_equal(asked.status, MCP_E_CANCELED);
    assert_int_equal(post->count, 3);
    assert_non_null(strstr(post->sent[1], "notifications/cancelled"));
    assert_non_null(strstr(post->sent[2], "-32800"));
    assert_int_equal(post->settled, 1);
    mcpi_call_free(asked.call, ep.now);
    endpoint_close(&ep);
}

static void
J5_J6_F29_our_own_stop_takes_a_question_back_on_the_stream_of_its_request(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *post;
    struct outcome asked;

    (void)state;
    open_session(&ep, SESSION);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    assert_int_equal(endpoint_ask(&ep, endpoint_job(&ep), &asked), 0);
    endpoint_run(&ep);
    mcpi_peer_close(ep.peer[0], ep.now);
    endpoint_run(&ep);
    assert_int_equal(asked.status, MCP_E_CLOSED);
    assert_int_equal(post->count, 3);
    assert_non_null(strstr(post->sent[1], "notifications/cancelled"));
    assert_non_null(strstr(post->sent[2], "\"error\""));
    endpoint_finish(&ep, endpoint_job(&ep));
    mcpi_call_free(asked.call, ep.now);
    endpoint_close(&ep);
}

static void
J9_question_is_refused_at_once_where_there_is_no_room_for_it(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *post;
    struct outcome asked;
    struct mcpi_call_options opt = {.method = "roots/list", .ops = &outcome_ops};

    (void)state;
    open_session(&ep, SESSION_JSON);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    assert_false(endpoint_job(&ep)->x->caller.askable);
    assert_int_equal(endpoint_ask(&ep, endpoint_job(&ep), &asked), MCP_E_NO_CHANNEL);
    assert_int_equal(mcpi_call_start(ep.peer[0], &opt, ep.now, &asked.call),
                     MCP_E_NO_CHANNEL);
    endpoint_run(&ep);
    assert_int_equal(post->count, 0);
    assert_int_equal(ep.own[0].count, 0);
    assert_int_equal(ep.engine->counts.legs, 0);
    endpoint_close(&ep);
}

static void
question_on_a_stream_whose_client_left_is_closed(void **state)
{
    struct endpoint ep;
    struct outcome asked;

    (void)state;
    open_session(&ep, SESSION);
    endpoint_leave(&ep, endpoint_post(&ep, LEGACY_CALL("1")));
    assert_int_equal(endpoint_ask(&ep, endpoint_job(&ep), &asked), MCP_E_CLOSED);
    endpoint_close(&ep);
}

static void
F21_second_post_with_an_id_in_flight_is_refused_on_its_own_stream(void **state)
{
    struct endpoint ep;
    struct endpoint_stream *first, *second;

    (void)state;
    open_session(&ep, SESSION);
    first = endpoint_post(&ep, LEGACY_CALL("1"));
    second = endpoint_post(&ep, LEGACY_CALL("1"));
    endpoint_run(&ep);
    assert_int_equal(first->count, 0);
    assert_int_equal(second->count, 1);
    assert_non_null(strstr(second->sent[0], "\"code\":-32600"));
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_run(&ep);
    assert_int_equal(first->count, 1);
    assert_int_equal(second->count, 1);
    endpoint_close(&ep);
}

TEST_MAIN(
    TEST(D13_posted_frame_cancels_in_its_own_session_only),
    TEST(D14_canceled_post_ends_with_one_error_when_its_handler_has_stopped),
    TEST(D15_canceled_post_in_json_mode_has_its_error_as_only_message),
    TEST(D14_F5_deaf_handler_holds_its_post_for_five_seconds_at_most),
    TEST(D14_link_that_wants_no_last_word_is_settled_without_one),
    TEST(F9_every_ending_settles_the_stream_once),
    TEST(F29_stop_answers_on_every_open_stream),
    TEST(D12_handler_of_a_session_goes_on_when_its_client_leaves),
    TEST(D12_F2_request_whose_client_left_can_still_be_canceled_by_frame),
    TEST(D16_handler_of_a_stateless_client_that_leaves_is_canceled),
    TEST(D16_canceling_on_leave_can_be_turned_off),
    TEST(E18_E19_disconnect_cancels_exactly_that_request),
    TEST(E21_F35_nothing_is_said_after_the_client_has_left),
    TEST(E24_frame_posted_without_a_session_finds_nothing),
    TEST(E28_equal_ids_of_two_callers_never_meet),
    TEST(F33_ten_thousand_disconnects_leave_nothing_behind),
    TEST(J5_D21_abandoned_question_is_framed_on_the_stream_of_its_request),
    TEST(J5_J6_frame_of_a_question_stands_before_the_last_word_of_its_request),
    TEST(J5_J6_F29_our_own_stop_takes_a_question_back_on_the_stream_of_its_request),
    TEST(J9_question_is_refused_at_once_where_there_is_no_room_for_it),
    TEST(question_on_a_stream_whose_client_left_is_closed),
    TEST(F21_second_post_with_an_id_in_flight_is_refused_on_its_own_stream))
