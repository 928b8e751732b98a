/* subscription_legacy_test.c - subscriptions to a server that knows no listen */
#include <mcp/subscription.h>

#include "api/subscription_heard.h"

#define FRAME "notifications/cancelled"
#define SUBSCRIBE "\"resources/subscribe\""
#define UNSUBSCRIBE "\"resources/unsubscribe\""
#define TOOLS "tools/list_changed"
#define PROMPTS "prompts/list_changed"
#define UPDATED "resources/updated"

static const char *const a[] = {"file:///a", NULL};
static const char *const a_and_b[] = {"file:///a", "file:///b", NULL};

/* ---- what is agreed to --------------------------------------------------- */

static void
lists_are_agreed_to_as_the_server_is_able(void **state)
{
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open_as(&t, MCP_ERA_LEGACY,
                   "{\"tools\":{\"listChanged\":true},\"prompts\":{},"
                   "\"resources\":{\"listChanged\":true,\"subscribe\":false}}",
                   TELLER_OPTIONS(.quiet = true));
    s = subscribe(
        &t, MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED | MCP_PROMPTS_CHANGED, .uris = a));
    assert_int_equal(mcp_subscription_lists(s), MCP_TOOLS_CHANGED);
    assert_false(mcp_subscription_watches(s, "file:///a"));
    teller_tell(&t, NULL, PROMPTS, NULL);
    teller_tell(&t, NULL, "resources/list_changed", NULL);
    teller_tell(&t, NULL, UPDATED, "file:///a");
    teller_tell(&t, NULL, TOOLS, NULL);
    teller_tell(&t, NULL, TOOLS, NULL);
    teller_sync(&t);
    expect_event(s, MCP_TOOLS_CHANGED, NULL);
    expect_none(s);
    mcp_subscription_free(s);
    teller_await_end(&t);
    assert_int_equal(teller_count(&t, "subscri"), 0); /* nothing was sent */
    teller_close(&t);
}

static void
an_agreement_to_nothing_is_one(void **state)
{
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open_as(&t, MCP_ERA_LEGACY, "{}", TELLER_OPTIONS(.quiet = true));
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = a));
    assert_int_equal(mcp_subscription_lists(s), 0);
    teller_tell(&t, NULL, TOOLS, NULL);
    teller_sync(&t);
    expect_none(s);
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
resources_are_subscribed_to_and_let_go_of(void **state)
{
    mcp_subscription *s;
    struct teller t;
    const char *line;

    (void)state;
    teller_open_legacy(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = a_and_b));
    line = teller_line(&t, SUBSCRIBE, 2);
    assert_non_null(strstr(line, "\"params\":{\"uri\":\"file:///b\"}"));
    assert_int_equal(mcp_subscription_lists(s), ALL_LISTS);
    assert_true(mcp_subscription_watches(s, "file:///a"));
    teller_tell(&t, NULL, UPDATED, "file:///b");
    teller_tell(&t, NULL, UPDATED, "file:///c");
    teller_tell(&t, NULL, UPDATED, "file:///bb");
    teller_tell(&t, NULL, UPDATED, "file:///a/below");
    teller_tell(&t, NULL, TOOLS, NULL);
    expect_event(s, MCP_RESOURCE_UPDATED, "file:///b");
    expect_event(s, MCP_RESOURCE_UPDATED, "file:///a/below");
    expect_event(s, MCP_TOOLS_CHANGED, NULL);
    teller_sync(&t);
    expect_none(s);
    mcp_subscription_free(s);
    line = teller_line(&t, UNSUBSCRIBE, 2);
    assert_non_null(strstr(line, "\"params\":{\"uri\":\"file:///b\"}"));
    teller_await_end(&t);
    assert_int_equal(teller_count(&t, SUBSCRIBE), 2);
    assert_int_equal(teller_count(&t, UNSUBSCRIBE), 2);
    assert_int_equal(teller_count(&t, "subscriptions/listen"), 0);
    assert_int_equal(teller_count(&t, FRAME), 0);
    teller_close(&t);
}

/* ---- shared -------------------------------------------------------------- */

static void
a_resource_is_subscribed_to_once_and_let_go_of_by_the_last(void **state)
{
    mcp_subscription *first, *second;
    struct teller t;

    (void)state;
    teller_open_legacy(&t);
    first = subscribe(&t, MCP_SUBSCRIBE(.uris = a));
    second = subscribe(&t, MCP_SUBSCRIBE(.uris = a_and_b));
    assert_true(mcp_subscription_watches(second, "file:///a"));
    teller_tell(&t, NULL, UPDATED, "file:///a");
    expect_event(first, MCP_RESOURCE_UPDATED, "file:///a");
    expect_event(second, MCP_RESOURCE_UPDATED, "file:///a");
    mcp_subscription_free(first);
    teller_sync(&t);
    assert_int_equal(teller_count(&t, UNSUBSCRIBE), 0);
    teller_tell(&t, NULL, UPDATED, "file:///a");
    expect_event(second, MCP_RESOURCE_UPDATED, "file:///a");
    mcp_subscription_free(second);
    teller_line(&t, UNSUBSCRIBE, 2);
    teller_sync(&t);
    assert_int_equal(teller_count(&t, SUBSCRIBE), 2);
    first = subscribe(&t, MCP_SUBSCRIBE(.uris = a)); /* and again */
    teller_line(&t, SUBSCRIBE, 3);
    mcp_subscription_free(first);
    teller_close(&t);
}

static void
who_comes_while_it_is_asked_for_waits_for_the_same_answer(void **state)
{
    struct opening first, second;
    struct teller t;
    const char *line;

    (void)state;
    teller_open_legacy(&t);
    teller_set_mute(&t, true);
    opening_begin(&first, &t, MCP_SUBSCRIBE(.uris = a));
    line = teller_line(&t, SUBSCRIBE, 1);
    opening_begin(&second, &t, MCP_SUBSCRIBE(.uris = a));
    teller_sync(&t);
    teller_answer(&t, line_id(line), "");
    assert_int_equal(opening_end(&first), 0);
    assert_int_equal(opening_end(&second), 0);
    assert_true(mcp_subscription_watches(second.s, "file:///a"));
    assert_int_equal(teller_count(&t, SUBSCRIBE), 1);
    mcp_subscription_free(first.s);
    mcp_subscription_free(second.s);
    teller_close(&t);
}

static void
who_comes_while_it_is_let_go_of_waits_for_that(void **state)
{
    struct opening o;
    mcp_subscription *s;
    struct teller t;
    const char *line;

    (void)state;
    teller_open_legacy(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.uris = a));
    teller_set_mute(&t, true);
    mcp_subscription_free(s);
    line = teller_line(&t, UNSUBSCRIBE, 1);
    opening_begin(&o, &t, MCP_SUBSCRIBE(.uris = a));
    teller_sync(&t);
    assert_int_equal(teller_count(&t, SUBSCRIBE), 1);
    teller_refuse(&t, line_id(line)); /* whatever it says */
    line = teller_line(&t, SUBSCRIBE, 2);
    teller_answer(&t, line_id(line), "");
    assert_int_equal(opening_end(&o), 0);
    mcp_subscription_free(o.s);
    teller_close(&t);
}

/* ---- refused ------------------------------------------------------------- */

static void
a_refused_resource_is_not_agreed_to(void **state)
{
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open_legacy(&t);
    teller_set_refuse(&t, "file:///a");
    s = subscribe(&t, MCP_SUBSCRIBE(.uris = a_and_b));
    assert_false(mcp_subscription_watches(s, "file:///a"));
    assert_true(mcp_subscription_watches(s, "file:///b"));
    teller_tell(&t, NULL, UPDATED, "file:///a");
    teller_tell(&t, NULL, UPDATED, "file:///b");
    expect_event(s, MCP_RESOURCE_UPDATED, "file:///b");
    mcp_subscription_free(s);
    teller_line(&t, UNSUBSCRIBE, 1);
    teller_await_end(&t);
    assert_int_equal(teller_count(&t, UNSUBSCRIBE), 1);
    teller_close(&t);
}

static void
if_all_is_refused_the_opening_fails(void **state)
{
    mcp_subscription *s = NULL;
    struct teller t;
    mcp_error err;

    (void)state;
    teller_open_legacy(&t);
    teller_set_refuse(&t, SUBSCRIBE);
    assert_int_equal(
        mcp_client_subscribe(t.client, &MCP_SUBSCRIBE(.uris = a_and_b), &s, &err),
        MCP_E_PEER);
    assert_null(s);
    assert_int_equal(err.rpc_code, -32602);
    assert_string_equal(err.message, "not?that");
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED, .uris = a));
    assert_int_equal(mcp_subscription_lists(s), MCP_TOOLS_CHANGED); /* not all */
    mcp_subscription_free(s);
    teller_await_end(&t);
    assert_int_equal(teller_count(&t, UNSUBSCRIBE), 0);
    teller_close(&t);
}

static void
what_is_no_answer_fails_the_opening(void **state)
{
    struct opening o;
    struct teller t;

    (void)state;
    teller_open_legacy(&t);
    teller_set_mute(&t, true);
    opening_begin(&o, &t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = a));
    teller_sayf(&t, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":7}",
                line_id(teller_line(&t, SUBSCRIBE, 1)));
    assert_int_equal(opening_end(&o), MCP_E_PROTO);
    teller_close(&t);
}

/* ---- not agreed to ------------------------------------------------------- */

static void
H5_a_subscribe_that_is_not_answered_in_time_is_taken_back(void **state)
{
    mcp_subscription *s = NULL;
    struct teller t;
    mcp_error err;

    (void)state;
    teller_open_legacy(&t);
    teller_set_mute(&t, true);
    assert_int_equal(mcp_client_subscribe(t.client,
                                          &MCP_SUBSCRIBE(.uris = a, .timeout_ms = 30),
                                          &s, &err),
                     MCP_E_TIMEOUT);
    teller_line(&t, FRAME, 1);
    teller_line(&t, UNSUBSCRIBE, 1);
    teller_answer(&t, line_id(teller_line(&t, SUBSCRIBE, 1)), ""); /* too late */
    teller_sync(&t);
    teller_await_end(&t);
    assert_int_equal(teller_count(&t, SUBSCRIBE), 1);
    assert_int_equal(teller_count(&t, UNSUBSCRIBE), 1);
    teller_close(&t);
}

static void
H5_one_who_gives_up_does_not_disturb_another(void **state)
{
    struct opening o;
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open_legacy(&t);
    teller_set_mute(&t, true);
    opening_begin(&o, &t, MCP_SUBSCRIBE(.uris = a));
    teller_line(&t, SUBSCRIBE, 1);
    s = subscribe(&t, MCP_SUBSCRIBE(.uris = a, .no_wait = true));
    teller_sync(&t);
    mcp_subscription_free(s);
    teller_sync(&t);
    assert_int_equal(teller_count(&t, FRAME), 0);
    teller_answer(&t, line_id(teller_line(&t, SUBSCRIBE, 1)), "");
    assert_int_equal(opening_end(&o), 0);
    mcp_subscription_free(o.s);
    teller_line(&t, UNSUBSCRIBE, 1);
    teller_close(&t);
}

/* ---- the ends ------------------------------------------------------------ */

static void
H10_a_lost_connection_loses_it(void **state)
{
    struct opening o;
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open_legacy(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = a));
    teller_tell(&t, NULL, UPDATED, "file:///a");
    teller_sync(&t);
    teller_set_mute(&t, true);
    opening_begin(&o, &t, MCP_SUBSCRIBE(.uris = a_and_b)); /* still waits for b */
    teller_line(&t, SUBSCRIBE, 2);
    teller_leave(&t);
    expect_event(s, MCP_RESOURCE_UPDATED, "file:///a");
    expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    assert_int_equal(opening_end(&o), MCP_E_CLOSED);
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
H11_a_closed_client_loses_it_and_says_nothing_more(void **state)
{
    struct opening o;
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open_legacy(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = a));
    teller_set_mute(&t, true);
    opening_begin(&o, &t, MCP_SUBSCRIBE(.uris = a_and_b));
    teller_line(&t, SUBSCRIBE, 2);
    teller_await_end(&t);
    expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    assert_int_equal(opening_end(&o), MCP_E_CLOSED);
    assert_int_equal(teller_count(&t, UNSUBSCRIBE), 0);
    assert_int_equal(teller_count(&t, FRAME), 0);
    mcp_client_free(t.client);
    t.client = NULL;
    expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
H12_a_canceled_scope_lets_go_of_the_resource(void **state)
{
    mcp_subscription *s;
    struct teller t;
    mcp_scope *scope;

    (void)state;
    teller_open_legacy(&t);
    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    s = subscribe(&t, MCP_SUBSCRIBE(.uris = a, .scope = scope));
    teller_tell(&t, NULL, UPDATED, "file:///a");
    teller_sync(&t);
    mcp_scope_cancel(scope, NULL);
    teller_line(&t, UNSUBSCRIBE, 1);
    expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_CANCELED);
    mcp_subscription_free(s);
    mcp_scope_free(scope);
    teller_close(&t);
}

static void
H13_a_consumer_that_is_too_slow_loses_it_alone(void **state)
{
    mcp_subscription *slow, *other;
    struct teller t;

    (void)state;
    teller_open_legacy(&t);
    slow = subscribe(&t, MCP_SUBSCRIBE(.uris = a_and_b, .backlog = 1));
    other = subscribe(&t, MCP_SUBSCRIBE(.uris = a));
    teller_tell(&t, NULL, UPDATED, "file:///a");
    teller_tell(&t, NULL, UPDATED, "file:///b");
    teller_line(&t, UNSUBSCRIBE, 1); /* of b, which nobody else wants */
    expect_event(slow, MCP_RESOURCE_UPDATED, "file:///a");
    expect_end(slow, MCP_SUBSCRIPTION_LOST, MCP_E_LIMIT);
    expect_event(other, MCP_RESOURCE_UPDATED, "file:///a");
    teller_sync(&t);
    expect_none(other);
    assert_int_equal(teller_count(&t, UNSUBSCRIBE), 1);
    mcp_subscription_free(slow);
    mcp_subscription_free(other);
    teller_close(&t);
}

static void
callbacks_hear_of_it_only_once_it_is_open(void **state)
{
    struct opening o;
    struct heard h;
    struct teller t;
    char first[64];

    (void)state;
    teller_open_legacy(&t);
    heard_init(&h);
    teller_set_mute(&t, true);
    opening_begin(&o, &t,
                  MCP_SUBSCRIBE(.uris = a_and_b, .on_event = hear_event,
                                .on_end = hear_end, .user = &h));
    snprintf(first, sizeof first, "%s", line_id(teller_line(&t, "file:///a", 1)));
    teller_line(&t, "file:///b", 1);
    teller_answer(&t, first, "");
    teller_tell(&t, NULL, UPDATED, "file:///a"); /* it is agreed to, the other is not */
    teller_sync(&t);
    assert_int_equal(heard_count(&h), 0);
    teller_answer(&t, line_id(teller_line(&t, "file:///b", 1)), "");
    assert_int_equal(opening_end(&o), 0);
    heard_await(&h, count, 1);
    assert_string_equal(h.events, "8:file:///a ");
    teller_leave(&t);
    heard_await(&h, ends, 1);
    assert_int_equal(h.status, MCP_E_CLOSED);
    mcp_subscription_free(o.s);
    teller_close(&t);
    heard_done(&h);
}

static void
many_resources_are_asked_for_at_once(void **state)
{
    const char *uris[301] = {NULL};
    char texts[300][32];
    mcp_subscription *s[2];
    struct teller t;
    size_t i;

    (void)state;
    for (i = 0; i < 300; i++) {
        snprintf(texts[i], sizeof texts[i], "file:///%zu", i);
        uris[i] = texts[i];
    }
    teller_open_legacy(&t);
    for (i = 0; i < 2; i++)
        s[i] = subscribe(&t, MCP_SUBSCRIBE(.uris = uris));
    for (i = 0; i < 300; i++)
        assert_true(mcp_subscription_watches(s[1], uris[i]));
    assert_int_equal(teller_count(&t, SUBSCRIBE), 300);
    for (i = 0; i < 2; i++)
        mcp_subscription_free(s[i]);
    teller_line(&t, UNSUBSCRIBE, 300);
    teller_close(&t);
}

/* ---- memory -------------------------------------------------------------- */

static void
subscribe_once(struct test_mem *mem, void *user)
{
    mcp_subscription *s = NULL, *other = NULL;
    struct teller t;
    mcp_notice event;
    int fd;

    (void)user;
    fd = teller_prepare(&t, MCP_ERA_LEGACY, TELLS_ALL);
    teller_start(&t);
    if (mcp_client_attach(
            fd, fd,
            &TELLER_OPTIONS(.allocator = &mem->allocator, .era = MCP_ERA_LEGACY),
            &t.client, NULL) < 0)
        close(fd);
    if (t.client && mcp_client_subscribe(
                        t.client, &MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = a_and_b),
                        &s, NULL) == 0) {
        (void)mcp_client_subscribe(t.client, &MCP_SUBSCRIBE(.uris = a), &other, NULL);
        mcp_subscription_free(other);
        teller_tell(&t, NULL, UPDATED, "file:///a");
        teller_tell(&t, NULL, TOOLS, NULL);
        (void)mcp_client_ping(t.client, NULL, NULL);
        while (mcp_subscription_next(s, 0, &event) == 0) {
        }
    }
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_in_range(test_each_allocation_fails(subscribe_once, NULL), 20, 300);
}

TEST_MAIN(TEST(lists_are_agreed_to_as_the_server_is_able),
          TEST(an_agreement_to_nothing_is_one),
          TEST(resources_are_subscribed_to_and_let_go_of),
          TEST(a_resource_is_subscribed_to_once_and_let_go_of_by_the_last),
          TEST(who_comes_while_it_is_asked_for_waits_for_the_same_answer),
          TEST(who_comes_while_it_is_let_go_of_waits_for_that),
          TEST(a_refused_resource_is_not_agreed_to),
          TEST(if_all_is_refused_the_opening_fails),
          TEST(what_is_no_answer_fails_the_opening),
          TEST(H5_a_subscribe_that_is_not_answered_in_time_is_taken_back),
          TEST(H5_one_who_gives_up_does_not_disturb_another),
          TEST(H10_a_lost_connection_loses_it),
          TEST(H11_a_closed_client_loses_it_and_says_nothing_more),
          TEST(H12_a_canceled_scope_lets_go_of_the_resource),
          TEST(H13_a_consumer_that_is_too_slow_loses_it_alone),
          TEST(callbacks_hear_of_it_only_once_it_is_open),
          TEST(many_resources_are_asked_for_at_once), TEST(each_allocation_may_fail))
