/* http_session_test.c - legacy sessions: streams, coming back, idleness, the end */
#include "link/http_session.h"

#include <stdlib.h>
#include <string.h>

#include "support/turn.h"

#define NEWEST "2025-11-25"
#define OLDER "2025-06-18"
#define IDLE ((int64_t)120 * SECOND)

/* A desk with a session of a client of that version. */
static struct mcpi_session *
start(struct desk *d, const char *version)
{
    desk_start(d);
    return desk_session(d, version);
}

/* Streams can be resumed. */
static mcp_memory_store *
start_with_store(struct desk *d)
{
    mcp_memory_store *store;

    desk_start(d);
    assert_int_equal(mcp_memory_store_new(&d->mem->allocator, 0, &store), 0);
    d->http.store = mcp_memory_store_interface(store);
    return store;
}

static void
end_with_store(struct desk *d, mcp_memory_store *store)
{
    desk_end_sessions(d);
    mcp_memory_store_free(store);
    d->http.store = NULL;
    desk_close(d);
}

/* ---- finding --------------------------------------------------------------- */

static void
D20_a_session_is_its_own_credentials(void **state)
{
    struct desk d;
    struct mcpi_session *a, *b;

    (void)state;
    desk_start(&d);
    assert_int_equal(mcpi_session_new(&d.endpoint, SENDER("ann"), &a), 0);
    assert_int_equal(mcpi_session_new(&d.endpoint, SENDER(""), &b), 0);
    assert_string_not_equal(a->id, b->id);
    assert_ptr_equal(mcpi_session_find(&d.endpoint, a->id, "ann"), a);
    assert_null(mcpi_session_find(&d.endpoint, a->id, "bob"));
    assert_null(mcpi_session_find(&d.endpoint, a->id, ""));
    assert_null(mcpi_session_find(&d.endpoint, a->id, NULL));
    assert_ptr_equal(mcpi_session_find(&d.endpoint, b->id, ""), b);
    assert_null(mcpi_session_find(&d.endpoint, b->id, "ann"));
    assert_null(mcpi_session_find(&d.endpoint, "", "ann"));
    assert_null(mcpi_session_find(&d.endpoint, "0-0", "ann"));
    desk_close(&d);
}

/* Issue 20, 6: clients that leave their sessions behind lock nobody out. */
static void
the_longest_idle_session_makes_room_for_a_new_one(void **state)
{
    struct mcpi_session *first, *second, *third, *s;
    char gone[MCPI_SESSION_ID];
    struct desk d;

    (void)state;
    desk_start(&d);
    assert_int_equal(mcpi_session_new(&d.endpoint, SENDER("ann"), &first), 0);
    desk_pass(&d, SECOND);
    assert_int_equal(mcpi_session_new(&d.endpoint, SENDER("bob"), &second), 0);
    assert_int_equal(mcpi_session_new(&d.endpoint, SENDER("cay"), &third), 0);
    mcpi_session_touch(first);
    strcpy(gone, second->id);
    assert_int_equal(mcpi_session_new(&d.endpoint, SENDER("dan"), &s), 0);
    assert_null(mcpi_session_find(&d.endpoint, gone, "bob"));
    assert_ptr_equal(mcpi_session_find(&d.endpoint, first->id, "ann"), first);
    assert_ptr_equal(mcpi_session_find(&d.endpoint, third->id, "cay"), third);
    assert_int_equal(d.counted[0], 3);
    desk_close(&d);
}

static void
sessions_with_a_request_or_a_stream_are_not_idle(void **state)
{
    struct mcpi_session *running, *listening, *s;
    struct turn call, get, other;
    struct desk d;

    (void)state;
    running = start(&d, NEWEST);
    desk_post(&d, running, &call, LEGACY_CALL("1"));
    listening = desk_session(&d, NEWEST);
    desk_get(&d, listening, &get, NULL);
    s = desk_session(&d, NEWEST);
    desk_get(&d, s, &other, NULL);
    assert_int_equal(mcpi_session_new(&d.endpoint, SENDER(""), &s), MCP_E_LIMIT);
    turn_go(&call); /* its handler runs on (D12) */
    desk_step(&d);
    assert_int_equal(mcpi_session_new(&d.endpoint, SENDER(""), &s), MCP_E_LIMIT);
    assert_int_equal(d.jobs[0].told, 0);
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    assert_int_equal(mcpi_session_new(&d.endpoint, SENDER(""), &s), 0);
    assert_int_equal(d.counted[0], 3);
    desk_end_sessions(&d);
    turn_done(&call);
    turn_done(&get);
    turn_done(&other);
    desk_close(&d);
}

/* Thousands that listen must not be looked at again for each new one. */
static void
sessions_that_were_found_busy_are_looked_at_last(void **state)
{
    struct mcpi_session *listening, *idle[2], *s;
    struct turn get;
    struct desk d;

    (void)state;
    listening = start(&d, NEWEST);
    desk_get(&d, listening, &get, NULL);
    for (int i = 0; i < 2; i++)
        idle[i] = desk_session(&d, NEWEST);
    assert_ptr_equal(mcpi_list_first(&d.endpoint.all_sessions),
                     &listening->in_endpoint);
    assert_int_equal(mcpi_session_new(&d.endpoint, SENDER(""), &s), 0);
    assert_ptr_equal(mcpi_list_first(&d.endpoint.all_sessions), &idle[1]->in_endpoint);
    assert_ptr_equal(idle[1]->in_endpoint.next, &listening->in_endpoint);
    assert_int_equal(d.counted[0], 3);
    desk_end_sessions(&d);
    turn_done(&get);
    desk_close(&d);
}

/* It may be a request, and its client has every reason to think that its session is
 * there. */
static void
sessions_whose_next_message_is_authenticated_are_not_idle(void **state)
{
    struct mcpi_session *sessions[3], *s;
    struct mcpi_expected message;
    struct turn gets[2];
    struct desk d;

    (void)state;
    desk_start(&d);
    for (int i = 0; i < 3; i++)
        sessions[i] = desk_session(&d, NEWEST);
    for (int i = 0; i < 2; i++)
        desk_get(&d, sessions[i], &gets[i], NULL);
    mcpi_expected_init(&message);
    assert_int_equal(mcpi_peer_expect(sessions[2]->peer, &message, d.now), 0);
    assert_int_equal(mcpi_session_new(&d.endpoint, SENDER(""), &s), MCP_E_LIMIT);
    mcpi_expected_done(&message);
    assert_int_equal(mcpi_session_new(&d.endpoint, SENDER(""), &s), 0);
    assert_int_equal(d.counted[0], 3);
    desk_end_sessions(&d);
    for (int i = 0; i < 2; i++)
        turn_done(&gets[i]);
    desk_close(&d);
}

/* As many as that client gets. */
static size_t
open_all(struct desk *d, struct mcpi_account *account, size_t most)
{
    const struct mcpi_http_who who = {.principal = "x", .account = account};
    struct mcpi_session *s;
    size_t count = 0;

    while (count < most && mcpi_session_new(&d->endpoint, &who, &s) == 0)
        count++;
    return count;
}

static size_t
sessions_of(const struct mcpi_account *account)
{
    return atomic_load(&account->used[MCPI_HELD_SESSIONS]);
}

/* Others have come since, so that its share is less than it has: that must not cost it
 * all that is over. */
static void
a_new_session_costs_its_client_one_idle_one_at_most(void **state)
{
    struct mcpi_account accounts[3];
    struct mcpi_budget budget;
    struct desk d;

    (void)state;
    desk_start(&d);
    d.http.sessions = 100;
    mcpi_budget_init(&budget);
    mcpi_budget_raise(&budget, MCPI_HELD_SESSIONS, d.http.sessions);
    for (int i = 0; i < 3; i++)
        mcpi_account_init(&accounts[i], &budget, NULL);
    assert_int_equal(open_all(&d, &accounts[0], 50), 50);
    assert_int_equal(open_all(&d, &accounts[1], 25), 25);
    assert_int_equal(open_all(&d, &accounts[2], 12), 12);
    assert_int_equal(open_all(&d, &accounts[0], 3), 3);
    assert_int_equal(sessions_of(&accounts[0]), 50);
    assert_int_equal(d.counted[0], 87);
    desk_end_sessions(&d);
    for (int i = 0; i < 3; i++)
        assert_int_equal(sessions_of(&accounts[i]), 0);
    desk_close(&d);
}

/* Issue 20: with thousands that listen each search is work, and its client was told when
 * to come back. */
static void
a_search_that_found_no_idle_session_is_not_repeated_at_once(void **state)
{
    struct mcpi_session *sessions[2], *s;
    struct mcpi_account account;
    struct mcpi_budget budget;
    struct turn gets[2];
    struct desk d;
    struct mcpi_http_who who = {.principal = "", .account = &account};

    (void)state;
    desk_start(&d);
    mcpi_budget_init(&budget);
    mcpi_budget_raise(&budget, MCPI_HELD_SESSIONS, 2);
    mcpi_account_init(&account, &budget, NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mcpi_session_new(&d.endpoint, &who, &sessions[i]), 0);
        desk_get(&d, sessions[i], &gets[i], NULL);
    }
    assert_int_equal(mcpi_session_new(&d.endpoint, &who, &s), MCP_E_LIMIT);
    turn_go(&gets[0]);
    desk_step(&d);
    assert_int_equal(mcpi_session_new(&d.endpoint, &who, &s), MCP_E_LIMIT);
    desk_pass(&d, SECOND);
    assert_int_equal(mcpi_session_new(&d.endpoint, &who, &s), 0);
    assert_int_equal(sessions_of(&account), 2);
    desk_end_sessions(&d);
    turn_done(&gets[0]);
    turn_done(&gets[1]);
    desk_close(&d);
}

/* ---- disconnects ----------------------------------------------------------- */

static void
D12_a_disconnect_is_not_a_cancel(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn a, b;

    (void)state;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_post(&d, s, &b, LEGACY_CALL("2"));
    desk_notify(&d, 1, "x");
    desk_step(&d);
    turn_go(&a);
    turn_go(&b);
    desk_step(&d);
    assert_int_equal(d.jobs[0].told, 0);
    assert_int_equal(d.jobs[1].told, 0);
    assert_int_equal(desk_streams(&d), 0);
    assert_int_equal(s->kept_count, 0);
    desk_notify(&d, 0, "y");
    desk_finish(&d, 0, "{}");
    desk_finish(&d, 1, "{}");
    desk_step(&d);
    turn_assert_said(&a, "");
    turn_assert_said(&b, "open");
    assert_true(mcpi_peer_is_idle(s->peer));
    turn_done(&a);
    turn_done(&b);
    desk_close(&d);
}

static void
D22_only_that_request_is_lost(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn a, b;

    (void)state;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    turn_go(&a); /* before the loop turned once */
    desk_post(&d, s, &b, LEGACY_CALL("2"));
    desk_finish(&d, 1, "{}");
    desk_step(&d);
    turn_assert_said(&b, "reply");
    turn_done(&a);
    turn_done(&b);
    desk_close(&d);
}

/* ---- cancels --------------------------------------------------------------- */

static void
D13_D14_D15_a_canceled_post_ends(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn a, b;

    (void)state;
    d.prompt = true;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_post(&d, s, &b, LEGACY_CALL("2"));
    desk_notify(&d, 1, "x");
    desk_step(&d);
    desk_note(&d, s, CANCEL("1"));
    turn_assert_said(&a, "reply");
    assert_int_equal(a.status, 200);
    assert_true(turn_says(&a, "-32800"));
    turn_assert_said(&b, "open");
    desk_note(&d, s, CANCEL("2"));
    turn_assert_said(&b, "open write end");
    assert_true(turn_says(&b, "-32800"));
    assert_int_equal(d.jobs[1].told, 1);
    turn_done(&a);
    turn_done(&b);
    desk_close(&d);
}

static void
D13_a_cancel_of_another_session_finds_nothing(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST), *other = desk_session(&d, NEWEST);
    struct turn t;

    (void)state;
    desk_post(&d, s, &t, LEGACY_CALL("1"));
    desk_note(&d, other, CANCEL("1"));
    assert_int_equal(d.jobs[0].told, 0);
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "reply");
    turn_done(&t);
    desk_close(&d);
}

static void
D14_a_deaf_handler_holds_the_post_for_five_seconds(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn t;

    (void)state;
    desk_post(&d, s, &t, LEGACY_CALL("1"));
    desk_note(&d, s, CANCEL("1"));
    desk_pass(&d, 5 * SECOND - 1);
    turn_assert_said(&t, "");
    desk_pass(&d, 1);
    turn_assert_said(&t, "reply");
    assert_true(turn_says(&t, "-32800"));
    turn_done(&t);
    desk_close(&d);
}

static void
D14_the_end_can_be_silent(void **state)
{
    struct desk d;
    struct mcpi_session *s;
    struct turn a, b;

    (void)state;
    desk_start(&d);
    d.http.silent_end = true;
    d.prompt = true;
    s = desk_session(&d, NEWEST);
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_post(&d, s, &b, LEGACY_CALL("2"));
    desk_notify(&d, 1, "x");
    desk_step(&d);
    desk_note(&d, s, CANCEL("1"));
    desk_note(&d, s, CANCEL("2"));
    turn_assert_said(&a, "open end");
    assert_string_equal(a.text, "");
    turn_assert_said(&b, "open end");
    assert_false(turn_says(&b, "-32800"));
    turn_done(&a);
    turn_done(&b);
    desk_close(&d);
}

/* ---- questions ------------------------------------------------------------- */

static void
leg_ended(void *user, struct mcpi_leg *leg, int status, const struct mcpi_rpc *answer)
{
    (void)leg;
    (void)answer;
    *(int *)user = status;
}

static const struct mcpi_leg_owner leg_owner = {.ended = leg_ended};

static struct mcpi_leg *
ask(struct desk *d, size_t job, int *status)
{
    struct mcpi_exchange *x = desk_job(d, job);
    const struct mcpi_leg_options opt = {.method = "roots/list",
                                         .timeout_us = MCPI_NEVER,
                                         .parent = x,
                                         .dialect = x->caller.dialect,
                                         .owner = &leg_owner,
                                         .owner_user = status};
    struct mcpi_leg *leg;

    *status = 1;
    assert_int_equal(mcpi_leg_open(x->peer, &opt, &leg), 0);
    return leg;
}

static void
D21_what_a_handler_asks_rides_on_its_requests_stream(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn get, t;
    struct mcpi_leg *leg;
    int status;

    (void)state;
    desk_get(&d, s, &get, NULL);
    desk_post(&d, s, &t, LEGACY_CALL("1"));
    leg = ask(&d, 0, &status);
    desk_step(&d);
    turn_assert_said(&t, "open");
    assert_true(turn_says(&t, "roots/list"));
    mcpi_leg_end(leg, MCP_E_CANCELED, NULL, "too late");
    desk_step(&d);
    assert_int_equal(status, MCP_E_CANCELED);
    turn_assert_said(&t, "open write");
    assert_true(turn_says(&t, "notifications/cancelled"));
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "open write write end");
    assert_string_equal(get.text, "");
    turn_go(&get);
    turn_done(&get);
    turn_done(&t);
    desk_close(&d);
}

static void
who_reads_no_events_cannot_be_asked(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn t;
    int status;

    (void)state;
    d.may_sse = false;
    desk_post(&d, s, &t, LEGACY_CALL("1"));
    (void)ask(&d, 0, &status);
    desk_step(&d);
    assert_int_equal(status, MCP_E_SEND_FAILED);
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "reply");
    turn_done(&t);
    desk_close(&d);
}

/* ---- GET ------------------------------------------------------------------- */

static void
a_get_is_answered_at_once_and_pinged(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn t;

    (void)state;
    desk_get(&d, s, &t, NULL);
    turn_assert_said(&t, "open");
    assert_int_equal(t.status, 200);
    assert_string_equal(t.type, "text/event-stream");
    assert_string_equal(t.text, "");
    desk_pass(&d, 15 * SECOND);
    assert_string_equal(t.text, ":\n\n");
    turn_go(&t);
    assert_int_equal(desk_streams(&d), 0);
    assert_int_equal(s->kept_count, 0);
    turn_done(&t);
    desk_close(&d);
}

static void
the_newest_get_is_told_and_no_other(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn a, b;

    (void)state;
    desk_tell(&d, s, "waits for somebody");
    desk_step(&d);
    desk_get(&d, s, &a, NULL);
    assert_true(turn_says(&a, "waits for somebody"));
    desk_get(&d, s, &b, NULL);
    desk_tell(&d, s, "two");
    desk_step(&d);
    assert_false(turn_says(&a, "two"));
    assert_int_equal(turn_count(&b, "two"), 1);
    b.full = true;
    desk_tell(&d, s, "three");
    desk_step(&d);
    desk_tell(&d, s, "four");
    desk_step(&d);
    turn_go(&b);
    desk_step(&d);
    assert_false(turn_says(&a, "three")); /* b was told */
    assert_int_equal(turn_count(&a, "four"), 1);
    turn_go(&a);
    turn_done(&a);
    turn_done(&b);
    desk_close(&d);
}

static void
an_older_get_takes_nothing_from_the_newest(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn a, b;

    (void)state;
    desk_get(&d, s, &a, NULL);
    a.full = true;
    desk_tell(&d, s, "one");
    desk_step(&d);
    desk_get(&d, s, &b, NULL);
    b.full = true;
    desk_tell(&d, s, "two");
    desk_step(&d);
    desk_tell(&d, s, "three");
    turn_read(&a);
    desk_step(&d);
    assert_false(turn_says(&a, "three"));
    turn_read(&b);
    desk_step(&d);
    assert_int_equal(turn_count(&b, "three"), 1);
    turn_go(&a);
    turn_go(&b);
    turn_done(&a);
    turn_done(&b);
    desk_close(&d);
}

static void
too_many_gets_are_refused(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn t[4];

    (void)state;
    for (int i = 0; i < 3; i++)
        desk_get(&d, s, &t[i], NULL);
    desk_get(&d, s, &t[3], NULL);
    assert_int_equal(t[3].status, 429);
    turn_done(&t[3]);
    turn_go(&t[0]);
    desk_get(&d, s, &t[3], NULL);
    assert_int_equal(t[3].status, 200);
    for (int i = 1; i < 4; i++)
        turn_go(&t[i]);
    for (int i = 0; i < 4; i++)
        turn_done(&t[i]);
    desk_close(&d);
}

static void
a_server_of_json_has_no_get(void **state)
{
    struct desk d;
    struct mcpi_session *s;
    struct turn t;

    (void)state;
    desk_start(&d);
    d.http.json = true;
    s = desk_session(&d, NEWEST);
    desk_get(&d, s, &t, NULL);
    assert_int_equal(t.status, 405);
    turn_done(&t);
    desk_close(&d);
}

/* ---- coming back ----------------------------------------------------------- */

static void
a_resumable_post_is_primed(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST);
    struct turn a, b;

    (void)state;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_step(&d);
    turn_assert_said(&a, "open");
    assert_string_equal(a.text, "id: 2-1\nretry: 1000\ndata: \n\n");
    desk_notify(&d, 0, "x");
    desk_step(&d);
    assert_true(turn_says(&a, "event: message\nid: 2-2\ndata: {"));
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    assert_true(turn_says(&a, "event: message\nid: 2-3\ndata: {"));
    turn_assert_said(&a, "open write write end");
    d.http.retry_ms = 250;
    desk_post(&d, s, &b, LEGACY_CALL("2"));
    desk_notify(&d, 1, "x");
    desk_step(&d);
    turn_assert_said(&b, "open");
    assert_ptr_equal(
        strstr(b.text, "id: 3-1\nretry: 250\ndata: \n\nevent: message\nid: 3-2\n"),
        b.text);
    turn_go(&b);
    turn_done(&a);
    turn_done(&b);
    end_with_store(&d, store);
}

static void
what_is_answered_at_once_needs_no_event(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST);
    struct turn t;

    (void)state;
    desk_post(&d, s, &t, LEGACY_CALL("1"));
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "reply");
    turn_done(&t);
    end_with_store(&d, store);
}

static void
an_older_client_gets_ids_but_no_empty_event(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, OLDER);
    struct turn a, b;

    (void)state;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_step(&d);
    turn_assert_said(&a, "");
    desk_pass(&d, 15 * SECOND);
    desk_notify(&d, 0, "x");
    desk_step(&d);
    assert_ptr_equal(strstr(a.text, ":\n\nevent: message\nid: 2-1\ndata: {"), a.text);
    turn_go(&a);
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    desk_get(&d, s, &b, "2-1");
    assert_true(turn_says(&b, "id: 2-2\n"));
    turn_assert_said(&b, "open write end");
    turn_done(&a);
    turn_done(&b);
    end_with_store(&d, store);
}

static void
D12_who_comes_back_gets_what_it_missed_and_what_follows(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST);
    struct turn a, b, other;

    (void)state;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_post(&d, s, &other, LEGACY_CALL("2"));
    desk_step(&d);
    turn_go(&a);
    assert_int_equal(s->kept_count, 1);
    desk_notify(&d, 0, "missed");
    desk_notify(&d, 1, "not yours");
    desk_step(&d);
    desk_get(&d, s, &b, "2-1");
    assert_ptr_equal(strstr(b.text, "event: message\nid: 2-2\ndata: {"), b.text);
    assert_int_equal(turn_count(&b, "missed"), 1);
    assert_int_equal(s->kept_count, 0);
    desk_notify(&d, 0, "live");
    desk_step(&d);
    assert_int_equal(turn_count(&b, "live"), 1);
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&b, "open write write write end");
    assert_true(turn_says(&b, "id: 2-4\n"));
    assert_false(turn_says(&b, "not yours"));
    desk_finish(&d, 1, "{}");
    desk_step(&d);
    turn_done(&a);
    turn_done(&b);
    turn_done(&other);
    end_with_store(&d, store);
}

static void
D12_an_answer_is_kept_for_who_comes_back_late(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST);
    struct turn a, b, c;

    (void)state;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_step(&d);
    turn_go(&a);
    desk_notify(&d, 0, "x");
    desk_finish(&d, 0, "{\"late\":1}");
    desk_step(&d);
    assert_int_equal(desk_streams(&d), 0);
    assert_int_equal(s->kept_count, 0);
    desk_get(&d, s, &b, "2-1");
    turn_assert_said(&b, "open write end");
    assert_true(turn_says(&b, "\"late\":1"));
    assert_int_equal(desk_streams(&d), 0);
    desk_get(&d, s, &c, "2-2"); /* the end of b has not arrived */
    assert_true(turn_says(&c, "\"late\":1"));
    assert_false(turn_says(&c, "notifications/test"));
    turn_done(&a);
    turn_done(&b);
    turn_done(&c);
    end_with_store(&d, store);
}

static void
D14_the_last_word_of_a_canceled_post_is_kept_too(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST);
    struct turn a, b;

    (void)state;
    d.prompt = true;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_step(&d);
    turn_go(&a);
    desk_note(&d, s, CANCEL("1"));
    desk_get(&d, s, &b, "2-1");
    turn_assert_said(&b, "open write end");
    assert_true(turn_says(&b, "-32800"));
    turn_done(&a);
    turn_done(&b);
    end_with_store(&d, store);
}

static void
delivered_answers_are_forgotten_after_a_while(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST);
    struct turn t;

    (void)state;
    for (size_t i = 0; i <= MCPI_SESSION_DELIVERED; i++) {
        desk_post(&d, s, &t, LEGACY_CALL("1"));
        desk_step(&d);
        desk_finish(&d, i, "{}");
        desk_step(&d);
        turn_done(&t);
    }
    desk_get(&d, s, &t, "2-1");
    assert_int_equal(t.status, 400);
    turn_done(&t);
    desk_get(&d, s, &t, "3-1");
    turn_assert_said(&t, "open write end");
    turn_done(&t);
    end_with_store(&d, store);
}

static void
an_event_nobody_knows_is_a_bad_request(void **state)
{
    static const char *const bad[] = {"2-9", "99-1", "0-0", "x", "-", "2", "2-1-1"};
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST), *other;
    struct turn a, t;

    (void)state;
    other = desk_session(&d, NEWEST); /* its streams are 1 and 2 */
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_step(&d);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        desk_get(&d, s, &t, bad[i]);
        assert_int_equal(t.status, 400);
        turn_assert_said(&t, "reply");
        turn_done(&t);
    }
    desk_get(&d, other, &t, "3-1");
    assert_int_equal(t.status, 400);
    turn_done(&t);
    turn_assert_said(&a, "open");
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_done(&a);
    end_with_store(&d, store);
}

static int
replay_nothing(void *self, const char *session, uint64_t stream, uint64_t after,
               void (*each)(void *user, uint64_t number, const char *data,
                            size_t length),
               void *user)
{
    (void)self, (void)session, (void)stream, (void)after, (void)each, (void)user;
    return MCP_E_LIMIT;
}

/* It may come back, and nothing is lost of what it has missed. */
static void
a_store_that_fails_is_no_bad_request(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    const mcp_event_store *whole = d.http.store;
    struct mcpi_session *s = desk_session(&d, NEWEST);
    mcp_event_store failing = *whole;
    struct turn a, b, t;

    (void)state;
    failing.replay = replay_nothing;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_post(&d, s, &b, LEGACY_CALL("2"));
    desk_step(&d);
    turn_go(&a);
    turn_go(&b);
    desk_notify(&d, 1, "x"); /* b lives on */
    desk_finish(&d, 0, "{\"late\":1}");
    desk_step(&d);
    d.http.store = &failing;
    desk_get(&d, s, &t, "2-1");
    assert_int_equal(t.status, 503);
    turn_assert_said(&t, "reply");
    turn_done(&t);
    desk_get(&d, s, &t, "3-1");
    assert_int_equal(t.status, 503);
    turn_done(&t);
    d.http.store = whole;
    desk_get(&d, s, &t, "2-1");
    assert_true(turn_says(&t, "\"late\":1"));
    turn_done(&t);
    desk_get(&d, s, &t, "3-1");
    assert_true(turn_says(&t, "notifications/test"));
    desk_finish(&d, 1, "{}");
    desk_step(&d);
    turn_done(&t);
    turn_done(&a);
    turn_done(&b);
    end_with_store(&d, store);
}

static int looks; /* how often that one may still be asked */
static const mcp_event_store *looked_in;

static int
replay_for_a_while(void *self, const char *session, uint64_t stream, uint64_t after,
                   void (*each)(void *user, uint64_t number, const char *data,
                                size_t length),
                   void *user)
{
    if (looks-- <= 0)
        return MCP_E_LIMIT;
    return looked_in->replay(self, session, stream, after, each, user);
}

/* It is let go of, and comes back: what follows would hide what it has missed. */
static void
a_store_that_fails_in_the_middle_loses_nothing(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    const mcp_event_store *whole = d.http.store;
    struct mcpi_session *s = desk_session(&d, NEWEST);
    mcp_event_store failing = *whole;
    struct turn a, t;

    (void)state;
    looked_in = whole;
    failing.replay = replay_for_a_while;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_step(&d);
    turn_go(&a);
    desk_notify(&d, 0, "x");
    desk_step(&d);
    looks = 1;
    d.http.store = &failing;
    desk_get(&d, s, &t, "2-1");
    assert_int_equal(t.status, 200);
    turn_assert_said(&t, "open write end");
    assert_false(turn_says(&t, "data: {"));
    turn_done(&t);
    d.http.store = whole;
    desk_finish(&d, 0, "{\"late\":1}");
    desk_step(&d);
    looks = 1;
    d.http.store = &failing;
    desk_get(&d, s, &t, "2-1"); /* its answer is there, and nobody's stream any more */
    assert_int_equal(t.status, 200);
    turn_assert_said(&t, "open abort");
    turn_done(&t);
    d.http.store = whole;
    desk_get(&d, s, &t, "2-1");
    assert_true(turn_says(&t, "notifications/test"));
    assert_true(turn_says(&t, "\"late\":1"));
    turn_done(&t);
    turn_done(&a);
    end_with_store(&d, store);
}

static void
who_comes_back_early_takes_over(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST);
    struct turn a, b;

    (void)state;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_step(&d);
    a.full = true;
    desk_notify(&d, 0, "stuck");
    desk_step(&d);
    desk_get(&d, s, &b, "2-1");
    turn_assert_said(&a, "open write abort");
    assert_int_equal(turn_count(&b, "stuck"), 1);
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&b, "open write write end");
    turn_done(&a);
    turn_done(&b);
    end_with_store(&d, store);
}

static void
a_get_can_be_resumed(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST);
    struct turn a, b;

    (void)state;
    desk_get(&d, s, &a, NULL);
    desk_tell(&d, s, "one");
    desk_tell(&d, s, "two");
    desk_step(&d);
    assert_true(turn_says(&a, "id: 2-2\n"));
    turn_go(&a);
    assert_int_equal(s->kept_count, 1);
    desk_tell(&d, s, "three");
    desk_tell(&d, s, "four");
    desk_step(&d);
    desk_get(&d, s, &b, "2-1");
    assert_false(turn_says(&b, "one"));
    assert_int_equal(turn_count(&b, "two"), 1);
    assert_int_equal(turn_count(&b, "three"), 1);
    assert_int_equal(turn_count(&b, "four"), 1);
    assert_true(strstr(b.text, "two") < strstr(b.text, "three"));
    assert_true(strstr(b.text, "three") < strstr(b.text, "four"));
    assert_true(turn_says(&b, "id: 2-4\n"));
    assert_int_equal(s->kept_count, 1);
    turn_go(&b);
    turn_done(&a);
    turn_done(&b);
    end_with_store(&d, store);
}

static void
the_one_that_waits_longest_makes_room(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST);
    struct turn t;

    (void)state;
    for (int i = 0; i < 4; i++) { /* one more than is kept: streams 2 to 5 */
        desk_post(&d, s, &t, LEGACY_CALL("7"));
        desk_step(&d);
        turn_go(&t);
        turn_done(&t);
        desk_note(&d, s, CANCEL("7"));
        assert_true(s->kept_count <= 3);
    }
    desk_get(&d, s, &t, NULL);
    assert_int_equal(t.status, 200);
    assert_int_equal(s->kept_count, 3);
    turn_go(&t);
    turn_done(&t);
    desk_get(&d, s, &t, "5-1");
    assert_int_equal(t.status, 200);
    turn_go(&t);
    turn_done(&t);
    desk_get(&d, s, &t, "2-1"); /* or it would be asked for again and again */
    assert_int_equal(t.status, 400);
    turn_done(&t);
    end_with_store(&d, store);
}

/* One that was let go is kept above the limit, while all others listen; whoever listens
 * next must not get in by taking its place. */
static void
who_listens_takes_no_place_that_was_one_too_many(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST);
    struct turn t[3], one;

    (void)state;
    for (int i = 0; i < 3; i++)
        desk_get(&d, s, &t[i], NULL);
    desk_post(&d, s, &one, LEGACY_CALL("7"));
    desk_step(&d);
    turn_go(&one);
    turn_done(&one);
    assert_int_equal(s->kept_count, 4);
    desk_get(&d, s, &one, NULL);
    assert_int_equal(one.status, 429);
    turn_done(&one);
    assert_int_equal(s->kept_count, 4); /* nor is it lost for that */
    desk_note(&d, s, CANCEL("7"));
    for (int i = 0; i < 3; i++) {
        turn_go(&t[i]);
        turn_done(&t[i]);
    }
    desk_get(&d, s, &one, NULL);
    assert_int_equal(one.status, 200);
    assert_int_equal(s->kept_count, 2); /* there was room for both */
    turn_go(&one);
    turn_done(&one);
    end_with_store(&d, store);
}

static void
who_gets_old_answers_is_told_nothing_new(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST);
    struct turn a, b, get;

    (void)state;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_step(&d);
    turn_go(&a);
    desk_finish(&d, 0, "{}");
    desk_get(&d, s, &get, NULL);
    desk_open_get(&d, s, &b, "2-1");
    b.full = true;
    desk_step(&d);
    desk_tell(&d, s, "news");
    desk_step(&d);
    assert_int_equal(turn_count(&get, "news"), 1);
    assert_false(turn_says(&b, "news"));
    turn_go(&b);
    turn_go(&get);
    turn_done(&a);
    turn_done(&b);
    turn_done(&get);
    end_with_store(&d, store);
}

/* 400 would be taken for a fault of the client's, and a stream that ends at once for one to
 * come back to for ever. */
static void
expect_nothing_more(struct desk *d, struct mcpi_session *s, const char *last_event_id)
{
    struct turn t;

    desk_get(d, s, &t, last_event_id);
    assert_int_equal(t.status, 204);
    turn_assert_said(&t, "reply");
    assert_string_equal(t.text, "");
    turn_done(&t);
}

static void
D14_who_comes_back_for_what_ended_without_a_word_is_told_so(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s;
    struct turn a, b;

    (void)state;
    d.http.silent_end = true;
    d.prompt = true;
    s = desk_session(&d, NEWEST);
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_post(&d, s, &b, LEGACY_CALL("2"));
    desk_step(&d);
    turn_go(&b);
    desk_note(&d, s, CANCEL("1"));
    desk_note(&d, s, CANCEL("2"));
    turn_assert_said(&a, "open end");
    assert_int_equal(desk_streams(&d), 0);
    expect_nothing_more(&d, s, "2-1");
    expect_nothing_more(&d, s, "2-1"); /* as often as it asks */
    expect_nothing_more(&d, s, "3-1");
    assert_int_equal(desk_streams(&d), 0);
    turn_done(&a);
    turn_done(&b);
    end_with_store(&d, store);
}

static void
D14_what_was_said_before_such_an_end_can_be_fetched(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s;
    struct turn a, t;

    (void)state;
    d.http.silent_end = true;
    d.prompt = true;
    s = desk_session(&d, NEWEST);
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_step(&d);
    turn_go(&a);
    desk_notify(&d, 0, "missed");
    desk_step(&d);
    desk_note(&d, s, CANCEL("1"));
    desk_get(&d, s, &t, "2-1");
    turn_assert_said(&t, "open write end");
    assert_true(turn_says(&t, "missed"));
    turn_done(&t);
    expect_nothing_more(&d, s, "2-2");
    turn_done(&a);
    end_with_store(&d, store);
}

/* Their events are few, however many a client cancels. */
static void
D14_such_ends_are_forgotten_after_a_while(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s;
    struct turn t;

    (void)state;
    d.http.silent_end = true;
    d.prompt = true;
    s = desk_session(&d, NEWEST);
    for (size_t i = 0; i <= MCPI_SESSION_DELIVERED; i++) {
        desk_post(&d, s, &t, LEGACY_CALL("1"));
        desk_step(&d);
        if (i % 2)
            turn_go(&t);
        desk_note(&d, s, CANCEL("1"));
        turn_done(&t);
    }
    desk_get(&d, s, &t, "2-1");
    assert_int_equal(t.status, 400);
    turn_done(&t);
    expect_nothing_more(&d, s, "3-1");
    end_with_store(&d, store);
}

static void
who_has_all_of_an_answer_is_told_so(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST);
    struct turn a, b;

    (void)state;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_post(&d, s, &b, LEGACY_CALL("2"));
    desk_step(&d);
    turn_go(&b);
    desk_finish(&d, 0, "{}");
    desk_finish(&d, 1, "{}");
    desk_step(&d);
    turn_assert_said(&a, "open write end");
    expect_nothing_more(&d, s, "2-2");
    expect_nothing_more(&d, s, "3-2");
    turn_done(&a);
    turn_done(&b);
    end_with_store(&d, store);
}

static void
a_handler_lets_its_client_go(void **state)
{
    struct desk d;
    mcp_memory_store *store = start_with_store(&d);
    struct mcpi_session *s = desk_session(&d, NEWEST);
    struct turn a, b;

    (void)state;
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    assert_int_equal(mcpi_exchange_detach(desk_job(&d, 0), d.now), 0);
    desk_step(&d);
    turn_assert_said(&a, "open write end");
    assert_string_equal(a.text, "id: 2-1\nretry: 1000\ndata: \n\nretry: 1000\n\n");
    desk_finish(&d, 0, "{\"polled\":1}");
    desk_step(&d);
    desk_get(&d, s, &b, "2-1");
    turn_assert_said(&b, "open write end");
    assert_true(turn_says(&b, "\"polled\":1"));
    turn_done(&a);
    turn_done(&b);
    end_with_store(&d, store);
}

static void
who_could_not_come_back_is_not_let_go(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn t;

    (void)state;
    desk_post(&d, s, &t, LEGACY_CALL("1"));
    desk_notify(&d, 0, "x");
    (void)mcpi_exchange_detach(desk_job(&d, 0), d.now);
    desk_step(&d);
    turn_assert_said(&t, "open");
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "open write end");
    turn_done(&t);
    desk_close(&d);
}

/* ---- idle ------------------------------------------------------------------ */

static void
D18_an_idle_session_ends(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    char id[MCPI_SESSION_ID];

    (void)state;
    memcpy(id, s->id, sizeof(id));
    mcpi_session_touch(s);
    desk_pass(&d, IDLE / 2);
    mcpi_session_touch(s);
    desk_pass(&d, IDLE - 1);
    assert_non_null(mcpi_session_find(&d.endpoint, id, ""));
    desk_pass(&d, 1);
    assert_null(mcpi_session_find(&d.endpoint, id, ""));
    assert_int_equal(d.endpoint.session_count, 0);
    desk_close(&d);
}

/* A storm of initialize does not take all places for as long as that. */
static void
D18_a_session_that_nobody_used_ends_sooner(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    int64_t fresh = (int64_t)MCPI_SESSION_FRESH_MS * 1000;

    (void)state;
    assert_true(fresh < IDLE);
    assert_false(s->is_used);
    desk_pass(&d, fresh - 1);
    assert_int_equal(d.endpoint.session_count, 1);
    desk_pass(&d, 1);
    assert_int_equal(d.endpoint.session_count, 0);
    desk_close(&d);
}

static void
D18_a_busy_session_is_not_reaped(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn t;

    (void)state;
    desk_post(&d, s, &t, LEGACY_CALL("1"));
    desk_step(&d);
    turn_go(&t);
    turn_done(&t);
    for (int i = 0; i < 5; i++)
        desk_pass(&d, IDLE);
    assert_int_equal(d.endpoint.session_count, 1);
    assert_int_equal(d.jobs[0].told, 0);
    desk_finish(&d, 0, "{}");
    desk_pass(&d, IDLE);
    desk_pass(&d, IDLE);
    assert_int_equal(d.endpoint.session_count, 0);
    desk_close(&d);
}

static void
D18_nor_is_one_that_listens(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn t;

    (void)state;
    desk_get(&d, s, &t, NULL);
    for (int i = 0; i < 5; i++)
        desk_pass(&d, IDLE);
    assert_int_equal(d.endpoint.session_count, 1);
    turn_go(&t);
    desk_pass(&d, IDLE);
    desk_pass(&d, IDLE);
    assert_int_equal(d.endpoint.session_count, 0);
    turn_done(&t);
    desk_close(&d);
}

/* ---- the end --------------------------------------------------------------- */

static void
D17_the_end_cancels_all_and_ends_every_post(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn a, b, get;
    char id[MCPI_SESSION_ID];

    (void)state;
    memcpy(id, s->id, sizeof(id));
    desk_post(&d, s, &a, LEGACY_CALL("1"));
    desk_post(&d, s, &b, LEGACY_CALL("2"));
    desk_notify(&d, 1, "x");
    desk_get(&d, s, &get, NULL);
    mcpi_session_end(s, "deleted");
    assert_null(mcpi_session_find(&d.endpoint, id, ""));
    assert_int_equal(d.jobs[0].told, 1);
    assert_int_equal(d.jobs[1].told, 1);
    desk_step(&d);
    turn_assert_said(&a, "reply");
    assert_true(turn_says(&a, "-32800"));
    turn_assert_said(&b, "open write end");
    turn_assert_said(&get, "open end");
    assert_int_equal(d.endpoint.session_count, 0);
    assert_int_equal(desk_streams(&d), 0);
    turn_done(&a);
    turn_done(&b);
    turn_done(&get);
    desk_close(&d);
}

static void
D17_who_does_not_read_does_not_hold_it(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn t, get;

    (void)state;
    desk_post(&d, s, &t, LEGACY_CALL("1"));
    t.full = true;
    desk_notify(&d, 0, "x");
    desk_get(&d, s, &get, NULL);
    get.full = true;
    desk_tell(&d, s, "y");
    desk_step(&d);
    mcpi_session_end(s, "deleted");
    desk_step(&d);
    assert_int_equal(d.endpoint.session_count, 1);
    desk_pass(&d, SECOND);
    assert_int_equal(d.endpoint.session_count, 0);
    turn_assert_said(&t, "open end");
    turn_assert_said(&get, "open write end");
    turn_done(&t);
    turn_done(&get);
    desk_close(&d);
}

static void
D17_nor_does_one_that_leaves(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn t;

    (void)state;
    desk_post(&d, s, &t, LEGACY_CALL("1"));
    t.full = true;
    desk_notify(&d, 0, "x");
    desk_step(&d);
    mcpi_session_end(s, "deleted");
    desk_step(&d);
    assert_int_equal(d.endpoint.session_count, 1);
    turn_go(&t);
    desk_step(&d);
    assert_int_equal(d.endpoint.session_count, 0);
    turn_done(&t);
    desk_close(&d);
}

static void
D17_what_a_get_still_has_to_say_is_said(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn get;

    (void)state;
    desk_get(&d, s, &get, NULL);
    get.full = true;
    desk_tell(&d, s, "one");
    desk_step(&d);
    desk_tell(&d, s, "two");
    mcpi_session_end(s, "deleted");
    desk_step(&d);
    assert_int_equal(d.endpoint.session_count, 1);
    turn_read(&get);
    desk_step(&d);
    assert_int_equal(d.endpoint.session_count, 0);
    assert_true(turn_says(&get, "two"));
    turn_assert_said(&get, "open write write end");
    turn_done(&get);
    desk_close(&d);
}

static void
our_own_stop_lets_requests_finish(void **state)
{
    struct desk d;
    struct mcpi_session *a = start(&d, NEWEST), *b = desk_session(&d, NEWEST);
    struct turn t, get;

    (void)state;
    desk_post(&d, a, &t, LEGACY_CALL("1"));
    desk_get(&d, b, &get, NULL);
    mcpi_session_close_all(&d.endpoint);
    desk_step(&d);
    turn_assert_said(&get, "open end");
    assert_int_equal(d.endpoint.session_count, 1);
    assert_ptr_equal(mcpi_session_find(&d.endpoint, a->id, ""), a);
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "reply");
    assert_true(turn_says(&t, "\"result\""));
    assert_int_equal(d.endpoint.session_count, 0);
    turn_done(&t);
    turn_done(&get);
    desk_close(&d);
}

static void
our_own_stop_is_bounded(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn t;

    (void)state;
    desk_post(&d, s, &t, LEGACY_CALL("1"));
    mcpi_session_close(s);
    desk_step(&d);
    turn_assert_said(&t, "");
    desk_pass(&d, SECOND);
    turn_assert_said(&t, "reply");
    assert_true(turn_says(&t, "-32000"));
    assert_int_equal(d.endpoint.session_count, 0);
    turn_done(&t);
    desk_close(&d);
}

static void
a_session_that_is_given_up_breaks_its_responses(void **state)
{
    struct desk d;
    struct mcpi_session *s = start(&d, NEWEST);
    struct turn t, get;

    (void)state;
    desk_post(&d, s, &t, LEGACY_CALL("1"));
    desk_get(&d, s, &get, NULL);
    mcpi_peer_fail(s->peer, MCP_E_NOMEM, "for a test");
    desk_step(&d);
    turn_assert_said(&t, "abort");
    turn_assert_said(&get, "open end");
    assert_int_equal(d.endpoint.session_count, 0);
    assert_int_equal(d.jobs[0].told, 1);
    turn_done(&t);
    turn_done(&get);
    desk_close(&d);
}

static void
flow(struct test_mem *mem, void *user)
{
    struct mcpi_session *session;
    struct desk d;

    (void)user;
    if (desk_open(&d, mem) == 0 &&
        mcpi_session_new(&d.endpoint, SENDER("ann"), &session) == 0)
        assert_ptr_equal(mcpi_session_find(&d.endpoint, session->id, "ann"), session);
    desk_close(&d);
}

/* A client that asks, leaves, and comes back. */
static void
visit(struct desk *d, struct mcpi_session *session, struct turn *t)
{
    if (desk_try_post(d, session, &t[0], INITIALIZE("0", NEWEST)) < 0)
        return;
    desk_step(d);
    if (!*mcpi_peer_agreed_version(session->peer) ||
        desk_try_post(d, session, &t[1], LEGACY_CALL("1")) < 0)
        return;
    desk_step(d);
    if (d->job_count == 0)
        return;
    desk_notify(d, 0, "a");
    desk_step(d);
    if (!turn_is_over(&t[1]))
        turn_go(&t[1]);
    desk_notify(d, 0, "b");
    desk_step(d);
    free(t[2].text);
    desk_get(d, session, &t[2], "2-1");
    desk_finish(d, 0, "{}");
    desk_step(d);
    assert_true(turn_is_over(&t[2]));
}

static void
resuming_flow(struct test_mem *mem, void *user)
{
    mcp_memory_store *store = NULL;
    struct mcpi_session *session;
    struct turn t[3];
    struct desk d;

    (void)user;
    for (int i = 0; i < 3; i++)
        turn_init(&t[i]);
    if (desk_open(&d, mem) == 0 &&
        mcp_memory_store_new(&mem->allocator, 0, &store) == 0) {
        d.http.store = mcp_memory_store_interface(store);
        if (mcpi_session_new(&d.endpoint, SENDER(""), &session) == 0)
            visit(&d, session, t);
    }
    desk_end_sessions(&d);
    mcp_memory_store_free(store);
    d.http.store = NULL;
    desk_close(&d);
    for (int i = 0; i < 3; i++)
        turn_done(&t[i]);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 4);
    assert_true(test_each_allocation_fails(resuming_flow, NULL) > 20);
}

TEST_MAIN(TEST(D20_a_session_is_its_own_credentials),
          TEST(the_longest_idle_session_makes_room_for_a_new_one),
          TEST(sessions_with_a_request_or_a_stream_are_not_idle),
          TEST(sessions_that_were_found_busy_are_looked_at_last),
          TEST(sessions_whose_next_message_is_authenticated_are_not_idle),
          TEST(a_new_session_costs_its_client_one_idle_one_at_most),
          TEST(a_search_that_found_no_idle_session_is_not_repeated_at_once),
          TEST(D12_a_disconnect_is_not_a_cancel), TEST(D22_only_that_request_is_lost),
          TEST(D13_D14_D15_a_canceled_post_ends),
          TEST(D13_a_cancel_of_another_session_finds_nothing),
          TEST(D14_a_deaf_handler_holds_the_post_for_five_seconds),
          TEST(D14_the_end_can_be_silent),
          TEST(D21_what_a_handler_asks_rides_on_its_requests_stream),
          TEST(who_reads_no_events_cannot_be_asked),
          TEST(a_get_is_answered_at_once_and_pinged),
          TEST(the_newest_get_is_told_and_no_other),
          TEST(an_older_get_takes_nothing_from_the_newest),
          TEST(too_many_gets_are_refused), TEST(a_server_of_json_has_no_get),
          TEST(a_resumable_post_is_primed),
          TEST(what_is_answered_at_once_needs_no_event),
          TEST(an_older_client_gets_ids_but_no_empty_event),
          TEST(D12_who_comes_back_gets_what_it_missed_and_what_follows),
          TEST(D12_an_answer_is_kept_for_who_comes_back_late),
          TEST(D14_the_last_word_of_a_canceled_post_is_kept_too),
          TEST(delivered_answers_are_forgotten_after_a_while),
          TEST(an_event_nobody_knows_is_a_bad_request),
          TEST(a_store_that_fails_is_no_bad_request),
          TEST(a_store_that_fails_in_the_middle_loses_nothing),
          TEST(who_comes_back_early_takes_over), TEST(a_get_can_be_resumed),
          TEST(the_one_that_waits_longest_makes_room),
          TEST(who_listens_takes_no_place_that_was_one_too_many),
          TEST(who_gets_old_answers_is_told_nothing_new),
          TEST(D14_who_comes_back_for_what_ended_without_a_word_is_told_so),
          TEST(D14_what_was_said_before_such_an_end_can_be_fetched),
          TEST(D14_such_ends_are_forgotten_after_a_while),
          TEST(who_has_all_of_an_answer_is_told_so), TEST(a_handler_lets_its_client_go),
          TEST(who_could_not_come_back_is_not_let_go), TEST(D18_an_idle_session_ends),
          TEST(D18_a_session_that_nobody_used_ends_sooner),
          TEST(D18_a_busy_session_is_not_reaped), TEST(D18_nor_is_one_that_listens),
          TEST(D17_the_end_cancels_all_and_ends_every_post),
          TEST(D17_who_does_not_read_does_not_hold_it),
          TEST(D17_nor_does_one_that_leaves),
          TEST(D17_what_a_get_still_has_to_say_is_said),
          TEST(our_own_stop_lets_requests_finish), TEST(our_own_stop_is_bounded),
          TEST(a_session_that_is_given_up_breaks_its_responses),
          TEST(each_allocation_may_fail))
