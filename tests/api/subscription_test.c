/* subscription_test.c - subscriptions: fed, and ended once */
#include <mcp/subscription.h>

#include "api/subscription_heard.h"

#define FRAME "notifications/cancelled"
#define LISTEN "subscriptions/listen"
#define TOOLS "tools/list_changed"
#define PROMPTS "prompts/list_changed"
#define UPDATED "resources/updated"

/* ---- the ends ------------------------------------------------------------ */

static void
H3_a_local_close_is_one_frame_that_names_it(void **state)
{
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED));
    mcp_subscription_free(s);
    assert_non_null(strstr(teller_line(&t, FRAME, 1), "\"requestId\":\"listen-1\""));
    teller_sync(&t);
    teller_await_end(&t);
    assert_int_equal(teller_count(&t, FRAME), 1);
    teller_close(&t);
}

static void
H6_the_first_reason_wins(void **state)
{
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED));
    teller_end(&t, "listen-1");
    teller_revoke(&t, "listen-1");
    teller_sync(&t);
    teller_leave(&t);
    expect_end(s, MCP_SUBSCRIPTION_GRACEFUL, 0);
    mcp_client_free(t.client);
    t.client = NULL;
    expect_end(s, MCP_SUBSCRIPTION_GRACEFUL, 0);
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
H7_what_waits_is_delivered_before_a_graceful_end(void **state)
{
    const char *uris[] = {"a", NULL};
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = uris));
    teller_tell(&t, "listen-1", UPDATED, "a");
    teller_tell(&t, "listen-1", TOOLS, NULL);
    teller_tell(&t, "listen-1", UPDATED, "a");
    teller_end(&t, "listen-1");
    teller_sync(&t);
    assert_int_equal(mcp_subscription_how(s), MCP_SUBSCRIPTION_GRACEFUL);
    expect_event(s, MCP_RESOURCE_UPDATED, "a");
    expect_event(s, MCP_TOOLS_CHANGED, NULL);
    expect_end(s, MCP_SUBSCRIPTION_GRACEFUL, 0);
    mcp_subscription_free(s);
    teller_await_end(&t);
    assert_int_equal(teller_count(&t, FRAME), 0);
    teller_close(&t);
}

static void
H8_a_result_before_the_acknowledgment_is_a_graceful_end(void **state)
{
    struct opening o;
    struct teller t;

    (void)state;
    teller_open(&t);
    teller_set_mute(&t, true);
    opening_begin(&o, &t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    teller_line(&t, LISTEN, 1);
    teller_end(&t, "listen-1");
    assert_int_equal(opening_end(&o), 0);
    assert_int_equal(mcp_subscription_lists(o.s), 0);
    expect_end(o.s, MCP_SUBSCRIPTION_GRACEFUL, 0);
    mcp_subscription_free(o.s);
    teller_close(&t);
}

static void
H9_a_frame_of_the_servers_ends_that_one_alone(void **state)
{
    mcp_subscription *first, *second;
    struct opening o;
    struct teller t;

    (void)state;
    teller_open(&t);
    first = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    second = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    teller_tell(&t, "listen-1", TOOLS, NULL);
    teller_revoke(&t, "listen-1");
    expect_event(first, MCP_TOOLS_CHANGED, NULL);
    expect_end(first, MCP_SUBSCRIPTION_LOST, MCP_E_CANCELED);
    teller_set_mute(&t, true);
    opening_begin(&o, &t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    teller_line(&t, "\"listen-3\"", 1);
    teller_revoke(&t, "listen-3");
    assert_int_equal(opening_end(&o), MCP_E_CANCELED);
    assert_string_equal(o.err.message, "the server took the subscription back");
    expect_none(second);
    mcp_subscription_free(first);
    mcp_subscription_free(second);
    teller_await_end(&t);
    assert_int_equal(teller_count(&t, FRAME), 1); /* of the second */
    teller_close(&t);
}

static void
H10_a_lost_connection_loses_it_and_nothing_listens_again(void **state)
{
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    teller_tell(&t, "listen-1", TOOLS, NULL);
    teller_sync(&t);
    teller_leave(&t);
    expect_event(s, MCP_TOOLS_CHANGED, NULL);
    expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    teller_await_end(&t);
    assert_int_equal(teller_count(&t, LISTEN), 1);
    mcp_subscription_free(s);
    teller_close(&t);
}

static void *
await_end(void *user)
{
    mcp_notice event;

    return (void *)(intptr_t)mcp_subscription_next(user, MCP_TIMEOUT_NONE, &event);
}

static void
H11_all_are_lost_with_the_client_and_who_waits_wakes(void **state)
{
    mcp_subscription *s[3];
    pthread_t threads[3];
    struct teller t;
    void *result;
    size_t i;

    (void)state;
    teller_open(&t);
    for (i = 0; i < 3; i++) {
        s[i] = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
        assert_int_equal(pthread_create(&threads[i], NULL, await_end, s[i]), 0);
    }
    mcp_client_free(t.client);
    t.client = NULL;
    for (i = 0; i < 3; i++) {
        pthread_join(threads[i], &result);
        assert_int_equal((int)(intptr_t)result, MCP_E_CLOSED);
        expect_end(s[i], MCP_SUBSCRIPTION_LOST, MCP_E_CLOSED);
        assert_int_equal(mcp_subscription_lists(s[i]), ALL_LISTS);
        mcp_subscription_free(s[i]);
    }
    teller_close(&t);
}

static void
H12_a_canceled_scope_discards_what_waits(void **state)
{
    mcp_subscription *s;
    struct teller t;
    mcp_scope *scope;

    (void)state;
    teller_open(&t);
    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .scope = scope));
    teller_tell(&t, "listen-1", TOOLS, NULL);
    teller_sync(&t);
    mcp_scope_cancel(scope, NULL);
    teller_line(&t, FRAME, 1);
    expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_CANCELED);
    mcp_subscription_free(s);
    mcp_scope_free(scope);
    teller_close(&t);
}

static void
a_scope_whose_time_is_up_ends_it(void **state)
{
    struct virtual_clock clock;
    mcp_subscription *s;
    struct teller t;
    mcp_scope *scope;

    (void)state;
    teller_open(&t);
    teller_hold_time(&t, &clock);
    assert_int_equal(mcp_scope_new(&MCP_SCOPE_OPTIONS(.timeout_ms = MINUTE_MS), &scope),
                     0);
    s = subscribe(&t,
                  MCP_SUBSCRIBE(.lists = ALL_LISTS, .scope = scope, .no_wait = true));
    teller_sync(&t); /* it is open, and has no other limit */
    virtual_clock_pass(&clock, 2 * MINUTE_MS);
    expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_TOTAL_TIMEOUT);
    mcp_subscription_free(s);
    mcp_scope_free(scope);
    teller_close(&t);
}

static void
H13_a_consumer_that_is_too_slow_loses_it(void **state)
{
    const char *uris[] = {"a", NULL};
    mcp_subscription *s, *other;
    struct teller t;
    mcp_error err;

    (void)state;
    teller_open(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.uris = uris, .backlog = 2));
    other = subscribe(&t, MCP_SUBSCRIBE(.uris = uris));
    teller_tell(&t, "listen-1", UPDATED, "a/1");
    teller_tell(&t, "listen-1", UPDATED, "a/2");
    teller_tell(&t, "listen-1", UPDATED, "a/1"); /* each is counted once */
    teller_sync(&t);
    assert_int_equal(mcp_subscription_how(s), MCP_SUBSCRIPTION_OPEN);
    teller_tell(&t, "listen-1", UPDATED, "a/3");
    assert_non_null(strstr(teller_line(&t, FRAME, 1), "\"listen-1\""));
    expect_event(s, MCP_RESOURCE_UPDATED, "a/1");
    expect_event(s, MCP_RESOURCE_UPDATED, "a/2");
    expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_LIMIT);
    (void)mcp_subscription_status(s, &err);
    assert_string_equal(err.message, "more events wait than may: 2");
    expect_none(other);
    mcp_subscription_free(s);
    mcp_subscription_free(other);
    teller_close(&t);
}

static void
H14_a_stray_event_reaches_no_other_subscription(void **state)
{
    mcp_subscription *gone, *s;
    struct teller t;

    (void)state;
    teller_open(&t);
    gone = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    mcp_subscription_free(gone);
    teller_line(&t, FRAME, 1);
    teller_tell(&t, "listen-1", TOOLS, NULL); /* closed */
    teller_tell(&t, "listen-9", TOOLS, NULL); /* unknown */
    teller_tell(&t, NULL, TOOLS, NULL);       /* of none */
    teller_ack(&t, "listen-1", "{\"toolsListChanged\":true}");
    teller_tell(&t, "listen-2", PROMPTS, NULL);
    expect_event(s, MCP_PROMPTS_CHANGED, NULL);
    teller_sync(&t);
    expect_none(s);
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
H23_a_new_connection_must_be_listened_to_again(void **state)
{
    struct teller old, now;
    mcp_subscription *s;

    (void)state;
    teller_open(&old);
    s = subscribe(&old, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    teller_leave(&old);
    expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    mcp_subscription_free(s);
    teller_close(&old);
    teller_open(&now);
    teller_sync(&now);
    assert_int_equal(teller_count(&now, LISTEN), 0);
    s = subscribe(&now, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    teller_tell(&now, "listen-1", TOOLS, NULL);
    expect_event(s, MCP_TOOLS_CHANGED, NULL);
    mcp_subscription_free(s);
    teller_close(&now);
}

/* ---- callbacks ----------------------------------------------------------- */

static void
callbacks_get_each_event_in_order_and_then_the_end(void **state)
{
    const char *uris[] = {"a", NULL};
    mcp_subscription *s;
    struct heard h;
    struct teller t;
    mcp_notice event;
    int fd;

    (void)state;
    teller_open(&t);
    heard_init(&h);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = uris,
                                    .on_event = hear_event, .on_end = hear_end,
                                    .user = &h));
    assert_int_equal(mcp_subscription_next(s, 0, &event), MCP_E_STATE);
    assert_int_equal(mcp_subscription_fd(s, &fd), MCP_E_STATE);
    heard_gate(&h, true);
    teller_tell(&t, "listen-1", TOOLS, NULL);
    heard_await(&h, at_gate, 1);
    teller_tell(&t, "listen-1", UPDATED, "a");
    teller_tell(&t, "listen-1", TOOLS, NULL); /* the other one was taken already */
    teller_tell(&t, "listen-1", UPDATED, "a");
    teller_end(&t, "listen-1");
    teller_sync(&t);
    heard_gate(&h, false);
    heard_await(&h, ends, 1);
    assert_string_equal(h.events, "1 8:a 1 ");
    assert_int_equal(h.how, MCP_SUBSCRIPTION_GRACEFUL);
    assert_int_equal(h.status, 0);
    mcp_subscription_free(s);
    teller_close(&t);
    heard_done(&h);
}

static void
H12_no_callback_runs_after_a_free(void **state)
{
    mcp_subscription *s;
    struct heard h;
    struct teller t;

    (void)state;
    teller_open(&t);
    heard_init(&h);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .on_event = hear_event,
                                    .on_end = hear_end, .user = &h));
    teller_tell(&t, "listen-1", TOOLS, NULL);
    heard_await(&h, count, 1);
    teller_tell(&t, "listen-1", TOOLS, NULL);
    teller_tell(&t, "listen-1", PROMPTS, NULL);
    mcp_subscription_free(s);
    pthread_mutex_lock(&h.lock);
    h.out_of_order = false;
    h.ends = 1; /* from now on each counts as out of order */
    pthread_mutex_unlock(&h.lock);
    teller_sync(&t);
    mcp_client_free(t.client);
    t.client = NULL;
    teller_close(&t);
    assert_int_equal(h.ends, 1);
    heard_done(&h);
}

static void
on_end_alone_tells_how_it_was_lost(void **state)
{
    mcp_subscription *s;
    struct heard h;
    struct teller t;

    (void)state;
    teller_open(&t);
    heard_init(&h);
    s = subscribe(&t,
                  MCP_SUBSCRIBE(.lists = ALL_LISTS, .on_end = hear_end, .user = &h));
    teller_tell(&t, "listen-1", TOOLS, NULL);
    expect_event(s, MCP_TOOLS_CHANGED, NULL);
    teller_leave(&t);
    heard_await(&h, ends, 1);
    assert_int_equal(h.how, MCP_SUBSCRIPTION_LOST);
    assert_int_equal(h.status, MCP_E_CLOSED);
    expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    mcp_subscription_free(s);
    teller_close(&t);
    heard_done(&h);
}

static void
who_waits_for_a_failed_opening_hears_of_it_there_only(void **state)
{
    mcp_subscription *s;
    struct heard h;
    struct teller t;
    mcp_error err;

    (void)state;
    teller_open(&t);
    heard_init(&h);
    teller_set_refuse(&t, LISTEN);
    assert_int_equal(
        mcp_client_subscribe(t.client, &MCP_SUBSCRIBE(.on_end = hear_end, .user = &h),
                             &s, &err),
        MCP_E_PEER);
    assert_int_equal(h.ends, 0);
    s = subscribe(&t, MCP_SUBSCRIBE(.on_end = hear_end, .user = &h, .no_wait = true));
    heard_await(&h, ends, 1);
    assert_int_equal(h.how, MCP_SUBSCRIPTION_LOST);
    assert_int_equal(h.status, MCP_E_PEER);
    expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_PEER);
    mcp_subscription_free(s);
    teller_close(&t);
    assert_int_equal(h.ends, 1);
    heard_done(&h);
}

/* ---- many ---------------------------------------------------------------- */

#define MANY 100

static void
a_hundred_at_once_each_hear_their_own(void **state)
{
    mcp_client_counts counts = {.size = sizeof counts};
    mcp_subscription *s[MANY];
    const char *uris[] = {NULL, NULL};
    char name[32], uri[32];
    struct teller t;
    size_t i;

    (void)state;
    teller_open(&t);
    for (i = 0; i < MANY; i++) {
        snprintf(uri, sizeof uri, "file:///%zu", i);
        uris[0] = uri;
        s[i] = subscribe(&t, MCP_SUBSCRIBE(.uris = uris, .no_wait = i % 2 == 0));
    }
    teller_line(&t, LISTEN, MANY);
    teller_sync(&t); /* all are acknowledged */
    for (i = 0; i < MANY; i++) {
        snprintf(uri, sizeof uri, "file:///%zu", i);
        snprintf(name, sizeof name, "listen-%zu", i + 1);
        teller_tell(&t, name, UPDATED, uri);
    }
    for (i = 0; i < MANY; i++) {
        snprintf(uri, sizeof uri, "file:///%zu", i);
        expect_event(s[i], MCP_RESOURCE_UPDATED, uri);
    }
    assert_int_equal(mcp_client_count(t.client, &counts), 0);
    assert_int_equal(counts.calls, MANY);
    teller_sync(&t);
    for (i = 0; i < MANY; i++) {
        expect_none(s[i]);
        mcp_subscription_free(s[i]);
    }
    teller_line(&t, FRAME, MANY);
    teller_sync(&t);
    assert_int_equal(mcp_client_count(t.client, &counts), 0);
    assert_int_equal(counts.calls, 0);
    assert_int_equal(counts.canceled, MANY);
    teller_close(&t);
}

TEST_MAIN(TEST(H3_a_local_close_is_one_frame_that_names_it),
          TEST(H6_the_first_reason_wins),
          TEST(H7_what_waits_is_delivered_before_a_graceful_end),
          TEST(H8_a_result_before_the_acknowledgment_is_a_graceful_end),
          TEST(H9_a_frame_of_the_servers_ends_that_one_alone),
          TEST(H10_a_lost_connection_loses_it_and_nothing_listens_again),
          TEST(H11_all_are_lost_with_the_client_and_who_waits_wakes),
          TEST(H12_a_canceled_scope_discards_what_waits),
          TEST(a_scope_whose_time_is_up_ends_it),
          TEST(H13_a_consumer_that_is_too_slow_loses_it),
          TEST(H14_a_stray_event_reaches_no_other_subscription),
          TEST(H23_a_new_connection_must_be_listened_to_again),
          TEST(callbacks_get_each_event_in_order_and_then_the_end),
          TEST(H12_no_callback_runs_after_a_free),
          TEST(on_end_alone_tells_how_it_was_lost),
          TEST(who_waits_for_a_failed_opening_hears_of_it_there_only),
          TEST(a_hundred_at_once_each_hear_their_own))
