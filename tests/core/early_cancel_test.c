/* early_cancel_test.c - cancels that arrive before the request they name */
#include "core/early_cancel.h"

#include <stdio.h>
#include <string.h>

#include "support/endpoint.h"

enum { SESSION = MCPI_UNORDERED | MCPI_LAST_WORD };

#define HOLD MCPI_EARLY_HOLD_MAX

static void
open_session(struct endpoint *ep, unsigned traits)
{
    endpoint_open(ep, traits, NULL);
    endpoint_greet(ep, 0);
    endpoint_greet(ep, 1);
}

static struct endpoint_stream *
call(struct endpoint *ep, long long id)
{
    char text[128];

    (void)snprintf(text, sizeof(text), LEGACY_CALL("%lld"), id);
    return endpoint_post(ep, text);
}

static void
cancel(struct endpoint *ep, long long id)
{
    char text[128];

    (void)snprintf(text, sizeof(text), CANCEL("%lld"), id);
    endpoint_post(ep, text);
}

/* A request with that id, answered: the id is used. */
static void
use(struct endpoint *ep, long long id)
{
    size_t before = ep->job_count;

    call(ep, id);
    assert_int_equal(ep->job_count, before + 1);
    endpoint_finish(ep, endpoint_job(ep));
    endpoint_run(ep);
}

static bool
starts(struct endpoint *ep, long long id)
{
    size_t before = ep->job_count;

    call(ep, id);
    if (ep->job_count == before)
        return false;
    endpoint_finish(ep, endpoint_job(ep));
    return true;
}

/* ---- held ------------------------------------------------------------------- */

static void
D25_request_whose_cancel_arrived_first_never_starts(void **state)
{
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    cancel(&ep, 1);
    post = call(&ep, 1);
    endpoint_run(&ep);
    assert_int_equal(ep.job_count, 0);
    assert_int_equal(post->count, 1);
    assert_non_null(strstr(post->sent[0], "\"id\":1,\"error\":{\"code\":-32800"));
    assert_int_equal(post->settled, 1);
    assert_int_equal(ep.engine->counts.exchanges, 0);
    assert_int_equal(ep.peer[0]->exchange_count, 0);
    assert_int_equal(ep.peer[0]->in_flight.count, 0);
    assert_true(starts(&ep, 2));
    endpoint_close(&ep);
}

static void
D25_link_without_last_words_is_settled_without_one(void **state)
{
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    open_session(&ep, MCPI_UNORDERED);
    cancel(&ep, 1);
    post = call(&ep, 1);
    endpoint_run(&ep);
    assert_int_equal(ep.job_count, 0);
    assert_int_equal(post->count, 0);
    assert_int_equal(post->settled, 1);
    endpoint_close(&ep);
}

static void
D25_ids_are_folded(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    endpoint_post(&ep, CANCEL("\"7\""));
    endpoint_post(&ep, CANCEL("\"seven\""));
    endpoint_post(&ep, CANCEL("18446744073709551615"));
    assert_false(starts(&ep, 7));
    endpoint_post(&ep, LEGACY_CALL("\"seven\""));
    endpoint_post(&ep, LEGACY_CALL("18446744073709551615"));
    assert_int_equal(ep.job_count, 0);
    endpoint_close(&ep);
}

static void
D25_cancel_is_held_for_its_own_session_only(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    cancel(&ep, 1);
    endpoint_post_to(&ep, 1, LEGACY_CALL("1"));
    assert_int_equal(ep.job_count, 1);
    assert_false(starts(&ep, 1));
    endpoint_close(&ep);
}

static void
D25_F17_cancel_is_held_for_two_seconds(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    cancel(&ep, 1);
    cancel(&ep, 2);
    endpoint_pass(&ep, HOLD - 1);
    assert_false(starts(&ep, 1));
    endpoint_pass(&ep, 1);
    assert_true(starts(&ep, 2));
    endpoint_close(&ep);
}

static void
D25_cancel_ends_one_request(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    cancel(&ep, 1);
    cancel(&ep, 1);
    assert_false(starts(&ep, 1));
    assert_true(starts(&ep, 1));
    endpoint_close(&ep);
}

/* Those that come in one turn of the loop have the same time. */
static void
D25_64_cancels_are_held_and_the_oldest_is_dropped_first(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    for (int id = 0; id < 3 * MCPI_EARLY_MAX; id++)
        cancel(&ep, 100 + id);
    for (int id = 0; id < 3 * MCPI_EARLY_MAX; id++)
        assert_int_equal(starts(&ep, 100 + id), id < 2 * MCPI_EARLY_MAX);
    endpoint_close(&ep);
}

static void
D25_cancel_that_is_repeated_is_held_from_then_on(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    cancel(&ep, 1);
    cancel(&ep, 2);
    endpoint_pass(&ep, HOLD - 1);
    cancel(&ep, 1);
    endpoint_pass(&ep, HOLD - 1);
    assert_false(starts(&ep, 1));
    assert_true(starts(&ep, 2));
    endpoint_close(&ep);
}

static void
D25_expired_cancels_leave_room_for_others(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    for (int id = 0; id < MCPI_EARLY_MAX; id++)
        cancel(&ep, 100 + id);
    endpoint_pass(&ep, HOLD);
    for (int id = 0; id < MCPI_EARLY_MAX; id++)
        cancel(&ep, 300 + id);
    for (int id = 0; id < MCPI_EARLY_MAX; id++)
        assert_false(starts(&ep, 300 + id));
    endpoint_close(&ep);
}

/* ---- not held --------------------------------------------------------------- */

static void
F17_cancel_is_not_held_where_messages_come_in_order(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, MCPI_LAST_WORD);
    cancel(&ep, 1);
    assert_true(starts(&ep, 1));
    endpoint_close(&ep);
}

static void
D25_F14_F17_cancel_of_a_used_id_is_not_held(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    use(&ep, 1);
    cancel(&ep, 1);
    assert_true(starts(&ep, 1));
    endpoint_post(&ep, LEGACY_CALL("\"one\""));
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_post(&ep, CANCEL("\"one\""));
    endpoint_post(&ep, LEGACY_CALL("\"one\""));
    assert_int_equal(ep.job_count, 4);
    endpoint_close(&ep);
}

static void
D25_id_of_a_refused_request_is_used(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    endpoint_post(&ep, REQUEST("1", "no/such", "{}"));
    cancel(&ep, 1);
    assert_true(starts(&ep, 1));
    endpoint_close(&ep);
}

static void
D25_F20_initialize_is_not_canceled(void **state)
{
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SESSION, NULL);
    cancel(&ep, 1);
    post = endpoint_post(&ep, INITIALIZE("1", "2025-11-25"));
    endpoint_run(&ep);
    assert_int_equal(post->count, 1);
    assert_non_null(strstr(post->sent[0], "\"protocolVersion\""));
    endpoint_close(&ep);
}

static void
D25_F15_malformed_cancel_is_not_held(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    endpoint_post(&ep, NOTE("notifications/cancelled", "{}"));
    endpoint_post(&ep, CANCEL("null"));
    endpoint_post(&ep, CANCEL("1.5"));
    endpoint_post(&ep, CANCEL("[1]"));
    assert_true(starts(&ep, 1));
    endpoint_close(&ep);
}

/* A cancel names a request of its sender, also while we have asked something under the
 * same id. */
static void
D25_J4_cancel_is_held_though_a_request_of_ours_has_the_id(void **state)
{
    struct outcome asked;
    struct endpoint ep;
    struct mcpi_id own;
    long long id;

    (void)state;
    open_session(&ep, SESSION);
    call(&ep, 1000);
    assert_int_equal(endpoint_ask(&ep, ep.jobs[0], &asked), 0);
    endpoint_run(&ep);
    id = ep.peer[0]->next_id;
    own = mcpi_id_int(id);
    assert_non_null(mcpi_leg_find(ep.peer[0], &own));
    cancel(&ep, id);
    assert_int_equal(asked.done, 0);
    assert_false(starts(&ep, id));
    endpoint_finish(&ep, ep.jobs[0]);
    mcpi_call_free(asked.call, ep.now);
    endpoint_close(&ep);
}

/* ---- ids that were used ------------------------------------------------------ */

/* A client that counts uses thousands of ids: all are known. */
static void
D25_all_ids_of_a_client_that_counts_are_known(void **state)
{
    static const int order[] = {2, 1, 0, 5, 3, 4}; /* connections overtake each other */
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    for (int id = 0; id < 3000; id++)
        use(&ep, id / 6 * 6 + order[id % 6]);
    for (int id = 0; id < 3000; id++)
        cancel(&ep, id);
    for (int id = 0; id < 3000; id += 7)
        assert_true(starts(&ep, id));
    cancel(&ep, 3000);
    assert_false(starts(&ep, 3000));
    endpoint_close(&ep);
}

static void
D25_gap_between_used_ids_is_not_used(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    use(&ep, 10);
    use(&ep, 12);
    cancel(&ep, 9);
    cancel(&ep, 11);
    cancel(&ep, 13);
    assert_false(starts(&ep, 9));
    assert_false(starts(&ep, 11));
    assert_false(starts(&ep, 13));
    endpoint_close(&ep);
}

static void
D25_least_recent_range_is_forgotten_first(void **state)
{
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    for (int i = 0; i < MCPI_EARLY_RANGES_MAX; i++)
        use(&ep, 10 * i);
    use(&ep, 1); /* the range that begins with 0 is the most recent now */
    use(&ep, 10 * MCPI_EARLY_RANGES_MAX);
    cancel(&ep, 0);
    cancel(&ep, 10);
    cancel(&ep, 20);
    assert_true(starts(&ep, 0));
    assert_false(starts(&ep, 10));
    assert_true(starts(&ep, 20));
    endpoint_close(&ep);
}

static void
D25_ids_at_the_ends_of_their_range(void **state)
{
    static const long long ids[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1};
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    for (size_t i = 0; i < 4; i++)
        use(&ep, ids[i]);
    cancel(&ep, 0);
    assert_false(starts(&ep, 0));
    for (size_t i = 0; i < 4; i++) {
        cancel(&ep, ids[i]);
        assert_true(starts(&ep, ids[i]));
    }
    endpoint_close(&ep);
}

/* ---- announced --------------------------------------------------------------- */

static void
announce(struct endpoint *ep, struct mcpi_expected *message)
{
    mcpi_expected_init(message);
    assert_int_equal(mcpi_peer_expect(ep->peer[0], message, ep->now), 0);
}

static void
D25_cancel_does_not_expire_while_a_message_waits(void **state)
{
    struct mcpi_expected message;
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    announce(&ep, &message);
    cancel(&ep, 1);
    cancel(&ep, 2);
    endpoint_pass(&ep, 100 * HOLD);
    cancel(&ep, 3);
    assert_false(starts(&ep, 1));
    mcpi_expected_done(&message);
    assert_true(starts(&ep, 2));
    assert_false(starts(&ep, 3));
    endpoint_close(&ep);
}

/* A session in which some message always waits. */
static void
D25_F17_messages_announced_later_do_not_hold_a_cancel(void **state)
{
    struct mcpi_expected first, second;
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    announce(&ep, &first);
    cancel(&ep, 1);
    cancel(&ep, 2);
    endpoint_pass(&ep, HOLD - 1);
    announce(&ep, &second); /* it may still be the request */
    endpoint_pass(&ep, HOLD);
    mcpi_expected_done(&first);
    assert_false(starts(&ep, 1));
    announce(&ep, &first);
    mcpi_expected_done(&second);
    assert_true(starts(&ep, 2));
    mcpi_expected_done(&first);
    endpoint_close(&ep);
}

enum { MANY = 1000 };

static void
D25_one_more_cancel_is_held_for_each_message_that_waits(void **state)
{
    static struct mcpi_expected messages[MANY];
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    for (int i = 0; i < MANY; i++)
        announce(&ep, &messages[i]);
    for (int i = 0; i < MANY + MCPI_EARLY_MAX; i++)
        cancel(&ep, i);
    for (int i = 0; i < MANY + MCPI_EARLY_MAX; i++)
        assert_false(starts(&ep, i));
    for (int i = 0; i < MANY; i++)
        mcpi_expected_done(&messages[i]);
    for (int i = 0; i < 2 * MCPI_EARLY_MAX; i++) /* and no more again */
        cancel(&ep, 5000 + i);
    for (int i = 0; i < 2 * MCPI_EARLY_MAX; i++)
        assert_int_equal(starts(&ep, 5000 + i), i < MCPI_EARLY_MAX);
    endpoint_close(&ep);
}

/* Their cancels stay, for nobody knows that they are theirs, and cost no other its own. */
static void
D25_messages_that_are_refused_cost_no_other_its_cancel(void **state)
{
    static struct mcpi_expected messages[MANY];
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    for (int i = 0; i < MANY; i++) {
        announce(&ep, &messages[i]);
        cancel(&ep, i);
    }
    for (int i = 10; i < MANY; i++)
        mcpi_expected_done(&messages[i]);
    cancel(&ep, MANY);
    for (int i = 0; i < 10; i++)
        assert_false(starts(&ep, i));
    for (int i = 0; i < 10; i++)
        mcpi_expected_done(&messages[i]);
    endpoint_close(&ep);
}

static void
D25_message_that_waits_may_outlive_its_peer(void **state)
{
    struct mcpi_expected messages[2];
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    announce(&ep, &messages[0]);
    announce(&ep, &messages[1]);
    endpoint_close(&ep);
    mcpi_expected_done(&messages[0]);
    mcpi_expected_done(&messages[0]);
    mcpi_expected_done(&messages[1]);
}

static void
announcing_to_a_peer_in_order_does_nothing(void **state)
{
    struct mcpi_expected message;
    struct endpoint ep;

    (void)state;
    open_session(&ep, MCPI_LAST_WORD);
    announce(&ep, &message);
    cancel(&ep, 1);
    assert_true(starts(&ep, 1));
    mcpi_expected_done(&message);
    endpoint_close(&ep);
}

/* ---- memory ------------------------------------------------------------------ */

static void
D25_holding_a_cancel_allocates_nothing(void **state)
{
    struct endpoint ep;
    struct mcpi_id id;
    long before;

    (void)state;
    open_session(&ep, SESSION);
    before = ep.mem.total;
    for (int i = 0; i < 2 * MCPI_EARLY_MAX; i++) {
        id = mcpi_id_int(i);
        assert_true(mcpi_early_cancel_hold(ep.peer[0], &id));
    }
    assert_int_equal(ep.mem.total, before);
    endpoint_close(&ep);
}

static void
announcing_without_memory_fails_and_loses_nothing(void **state)
{
    struct mcpi_expected message;
    struct endpoint ep;

    (void)state;
    open_session(&ep, SESSION);
    cancel(&ep, 1);
    mcpi_expected_init(&message);
    ep.mem.fail_at = ep.mem.total + 1;
    assert_int_equal(mcpi_peer_expect(ep.peer[0], &message, ep.now), MCP_E_NOMEM);
    ep.mem.fail_at = 0;
    mcpi_expected_done(&message);
    assert_false(starts(&ep, 1));
    endpoint_close(&ep);
}

TEST_MAIN(TEST(D25_request_whose_cancel_arrived_first_never_starts),
          TEST(D25_link_without_last_words_is_settled_without_one),
          TEST(D25_ids_are_folded), TEST(D25_cancel_is_held_for_its_own_session_only),
          TEST(D25_F17_cancel_is_held_for_two_seconds),
          TEST(D25_cancel_ends_one_request),
          TEST(D25_64_cancels_are_held_and_the_oldest_is_dropped_first),
          TEST(D25_cancel_that_is_repeated_is_held_from_then_on),
          TEST(D25_expired_cancels_leave_room_for_others),
          TEST(F17_cancel_is_not_held_where_messages_come_in_order),
          TEST(D25_F14_F17_cancel_of_a_used_id_is_not_held),
          TEST(D25_id_of_a_refused_request_is_used),
          TEST(D25_F20_initialize_is_not_canceled),
          TEST(D25_F15_malformed_cancel_is_not_held),
          TEST(D25_J4_cancel_is_held_though_a_request_of_ours_has_the_id),
          TEST(D25_all_ids_of_a_client_that_counts_are_known),
          TEST(D25_gap_between_used_ids_is_not_used),
          TEST(D25_least_recent_range_is_forgotten_first),
          TEST(D25_ids_at_the_ends_of_their_range),
          TEST(D25_cancel_does_not_expire_while_a_message_waits),
          TEST(D25_F17_messages_announced_later_do_not_hold_a_cancel),
          TEST(D25_one_more_cancel_is_held_for_each_message_that_waits),
          TEST(D25_messages_that_are_refused_cost_no_other_its_cancel),
          TEST(D25_message_that_waits_may_outlive_its_peer),
          TEST(announcing_to_a_peer_in_order_does_nothing),
          TEST(D25_holding_a_cancel_allocates_nothing),
          TEST(announcing_without_memory_fails_and_loses_nothing))
