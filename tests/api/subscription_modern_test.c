/* subscription_modern_test.c - subscriptions to a modern server: asked for, agreed to */
#include <mcp/subscription.h>

#include "api/subscription_heard.h"

#define FRAME "notifications/cancelled"
#define LISTEN "subscriptions/listen"
#define TOOLS "tools/list_changed"
#define PROMPTS "prompts/list_changed"
#define UPDATED "resources/updated"

/* ---- opening ------------------------------------------------------------- */

static void
H1_it_has_an_id_of_its_own_and_asks_for_what_was_asked(void **state)
{
    const char *uris[] = {"file:///a", "file:///b", "file:///a", NULL};
    mcp_subscription *s;
    struct teller t;
    const char *line;

    (void)state;
    teller_open(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = uris));
    line = teller_line(&t, LISTEN, 1);
    assert_non_null(strstr(line, "\"id\":\"listen-1\""));
    assert_non_null(strstr(line, "\"notifications\":{\"toolsListChanged\":true,"
                                 "\"promptsListChanged\":true,"
                                 "\"resourcesListChanged\":true,"
                                 "\"resourceSubscriptions\":[\"file:///a\","
                                 "\"file:///b\"]}"));
    assert_int_equal(mcp_subscription_lists(s), ALL_LISTS);
    assert_true(mcp_subscription_watches(s, "file:///b"));
    assert_false(mcp_subscription_watches(s, "file:///c"));
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
A9_an_id_of_a_callers_own_is_stepped_over(void **state)
{
    mcp_subscription *s;
    struct teller t;
    mcp_call *call;

    (void)state;
    teller_open(&t);
    teller_set_mute(&t, true);
    assert_int_equal(mcp_client_start(t.client, "x/hang", NULL,
                                      &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("listen-1")),
                                      NULL, NULL, &call),
                     0);
    teller_line(&t, "x/hang", 1);
    teller_set_mute(&t, false);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED));
    teller_line(&t, "\"id\":\"listen-2\"", 1);
    assert_int_equal(mcp_client_start(t.client, "x/hang", NULL,
                                      &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("listen-2")),
                                      NULL, NULL, NULL),
                     MCP_E_ID_IN_USE);
    mcp_call_free(call);
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
what_is_agreed_to_is_what_is_let_in(void **state)
{
    const char *uris[] = {"file:///a", "file:///b", NULL};
    struct opening o;
    struct teller t;

    (void)state;
    teller_open(&t);
    teller_set_mute(&t, true);
    opening_begin(
        &o, &t,
        MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED | MCP_PROMPTS_CHANGED, .uris = uris));
    teller_line(&t, LISTEN, 1);
    teller_tell(&t, "listen-1", TOOLS, NULL); /* before the acknowledgment: no event */
    teller_ack(&t, "listen-1",
               "{\"promptsListChanged\":true,\"resourcesListChanged\":true,"
               "\"toolsListChanged\":false,"
               "\"resourceSubscriptions\":[\"file:///b\",\"file:///z\",7]}");
    assert_int_equal(opening_end(&o), 0);
    assert_int_equal(mcp_subscription_lists(o.s), MCP_PROMPTS_CHANGED);
    assert_false(mcp_subscription_watches(o.s, "file:///a"));
    assert_true(mcp_subscription_watches(o.s, "file:///b"));
    assert_false(mcp_subscription_watches(o.s, "file:///z"));
    teller_tell(&t, "listen-1", TOOLS, NULL);
    teller_tell(&t, "listen-1", "resources/list_changed", NULL);
    teller_tell(&t, "listen-1", "message", NULL);
    teller_tell(&t, "listen-1", UPDATED, NULL);
    teller_tell(&t, "listen-1", UPDATED, "file:///b\\u0000");
    teller_tell(&t, "listen-1", PROMPTS, NULL);
    teller_tell(&t, "listen-1", UPDATED, "file:///b/below");
    expect_event(o.s, MCP_PROMPTS_CHANGED, NULL);
    expect_event(o.s, MCP_RESOURCE_UPDATED, "file:///b/below");
    teller_sync(&t);
    expect_none(o.s);
    mcp_subscription_free(o.s);
    teller_close(&t);
}

/* Both are under way before the first is acknowledged. */
static void
each_is_agreed_to_by_its_own_acknowledgment(void **state)
{
    mcp_subscription *s[2];
    struct teller t;

    (void)state;
    teller_open(&t);
    teller_set_mute(&t, true);
    for (int i = 0; i < 2; i++)
        s[i] = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .no_wait = true));
    teller_line(&t, LISTEN, 2);
    teller_ack(&t, "listen-2", "{\"promptsListChanged\":true}");
    teller_sync(&t);
    assert_int_equal(mcp_subscription_lists(s[0]), 0);
    assert_int_equal(mcp_subscription_lists(s[1]), MCP_PROMPTS_CHANGED);
    teller_ack(&t, "listen-1", "{\"toolsListChanged\":true}");
    teller_sync(&t);
    assert_int_equal(mcp_subscription_lists(s[0]), MCP_TOOLS_CHANGED);
    assert_int_equal(mcp_subscription_lists(s[1]), MCP_PROMPTS_CHANGED);
    for (int i = 0; i < 2; i++)
        mcp_subscription_free(s[i]);
    teller_close(&t);
}

static void
no_resource_is_let_in_if_none_was_agreed_to(void **state)
{
    const char *uris[] = {"file:///a", NULL};
    struct opening o;
    struct teller t;

    (void)state;
    teller_open(&t);
    teller_set_mute(&t, true);
    opening_begin(&o, &t, MCP_SUBSCRIBE(.uris = uris));
    teller_line(&t, LISTEN, 1);
    teller_ack(&t, "listen-1", "{}");
    assert_int_equal(opening_end(&o), 0); /* an empty agreement is one */
    assert_int_equal(mcp_subscription_lists(o.s), 0);
    assert_false(mcp_subscription_watches(o.s, "file:///a"));
    teller_tell(&t, "listen-1", UPDATED, "file:///a");
    teller_sync(&t);
    expect_none(o.s);
    mcp_subscription_free(o.s);
    teller_close(&t);
}

static void
a_refusal_is_told_with_the_servers_words(void **state)
{
    mcp_subscription *s = NULL;
    struct teller t;
    mcp_error err;

    (void)state;
    teller_open(&t);
    teller_set_refuse(&t, LISTEN);
    assert_int_equal(mcp_client_subscribe(t.client, &MCP_SUBSCRIBE(), &s, &err),
                     MCP_E_PEER);
    assert_null(s);
    assert_int_equal(err.status, MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32602);
    assert_string_equal(err.message, "not?that");
    teller_await_end(&t);
    assert_int_equal(teller_count(&t, FRAME), 0);
    teller_close(&t);
}

static void
H2_only_the_wait_for_the_acknowledgment_is_limited(void **state)
{
    struct virtual_clock clock;
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open_as(&t, MCP_ERA_MODERN, NULL, TELLER_OPTIONS(.timeout_ms = 10000));
    teller_hold_time(&t, &clock);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED, .timeout_ms = 2500));
    virtual_clock_pass(&clock, 20000);
    expect_none(s);
    teller_tell(&t, "listen-1", TOOLS, NULL);
    expect_event(s, MCP_TOOLS_CHANGED, NULL);
    assert_int_equal(teller_count(&t, FRAME), 0);
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
H5_no_acknowledgment_in_time_fails_the_opening(void **state)
{
    mcp_subscription *s = NULL;
    struct teller t;
    mcp_error err;

    (void)state;
    teller_open(&t);
    teller_set_mute(&t, true);
    assert_int_equal(
        mcp_client_subscribe(
            t.client, &MCP_SUBSCRIBE(.lists = ALL_LISTS, .timeout_ms = 30), &s, &err),
        MCP_E_TIMEOUT);
    assert_string_equal(err.message, "the server has not agreed to it within 30 ms");
    assert_non_null(strstr(teller_line(&t, FRAME, 1), "\"requestId\":\"listen-1\""));
    teller_ack(&t, "listen-1", "{\"toolsListChanged\":true}"); /* the route is gone */
    teller_sync(&t);
    teller_await_end(&t);
    assert_int_equal(teller_count(&t, FRAME), 1);
    teller_close(&t);
}

static void
H5_a_canceled_scope_fails_the_opening(void **state)
{
    struct opening o;
    struct teller t;
    mcp_scope *scope;

    (void)state;
    teller_open(&t);
    teller_set_mute(&t, true);
    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    opening_begin(&o, &t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .scope = scope));
    teller_line(&t, LISTEN, 1);
    mcp_scope_cancel(scope, "enough");
    assert_int_equal(opening_end(&o), MCP_E_CANCELED);
    assert_string_equal(o.err.message, "the scope was canceled: enough");
    teller_line(&t, FRAME, 1);
    opening_begin(&o, &t, MCP_SUBSCRIBE(.scope = scope)); /* over: never sent */
    assert_int_equal(opening_end(&o), MCP_E_CANCELED);
    teller_await_end(&t);
    assert_int_equal(teller_count(&t, LISTEN), 1);
    assert_int_equal(teller_count(&t, FRAME), 1);
    mcp_scope_free(scope);
    teller_close(&t);
}

static void
one_that_comes_while_the_client_opens_begins_when_it_is_ready(void **state)
{
    mcp_subscription *s, *slow;
    struct teller t;
    mcp_error err;
    int fd;

    (void)state;
    fd = teller_prepare(&t, MCP_ERA_MODERN, NULL);
    assert_int_equal(
        mcp_client_attach(fd, fd,
                          &TELLER_OPTIONS(.allocator = &t.mem.allocator,
                                          .no_wait = true, .era = MCP_ERA_MODERN),
                          &t.client, &err),
        0);
    slow = subscribe(&t, MCP_SUBSCRIBE(.no_wait = true, .timeout_ms = 20));
    expect_end(slow, MCP_SUBSCRIPTION_LOST, MCP_E_TIMEOUT); /* the time covers that */
    mcp_subscription_free(slow);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED, .no_wait = true));
    assert_int_equal(mcp_subscription_lists(s), 0);
    expect_none(s);
    teller_start(&t);
    teller_line(&t, LISTEN, 1);
    teller_sync(&t); /* the acknowledgment is there */
    teller_tell(&t, "listen-2", TOOLS, NULL);
    expect_event(s, MCP_TOOLS_CHANGED, NULL);
    assert_int_equal(mcp_subscription_lists(s), MCP_TOOLS_CHANGED);
    assert_int_equal(teller_count(&t, LISTEN), 1);
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
one_that_waits_for_a_client_that_fails_to_open_is_lost(void **state)
{
    mcp_subscription *s;
    struct teller t;
    mcp_error err;
    int fd;

    (void)state;
    fd = teller_prepare(&t, MCP_ERA_MODERN, NULL);
    assert_int_equal(
        mcp_client_attach(fd, fd,
                          &TELLER_OPTIONS(.allocator = &t.mem.allocator,
                                          .no_wait = true, .era = MCP_ERA_MODERN),
                          &t.client, &err),
        0);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED, .no_wait = true));
    teller_leave(&t);
    expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    assert_int_equal(
        mcp_client_subscribe(t.client, &MCP_SUBSCRIBE(.no_wait = true), &s, &err),
        MCP_E_CLOSED);
    mcp_subscription_free(s);
    teller_start(&t);
    teller_close(&t);
}

/* ---- the client's own callback ------------------------------------------- */

static void
count_change(mcp_client *client, enum mcp_change change, const char *uri, void *user)
{
    mcp_notice event = {change, uri};

    (void)client;
    hear_event(NULL, &event, user);
}

static void
the_client_is_told_of_what_its_subscriptions_hear(void **state)
{
    const char *uris[] = {"a", NULL};
    mcp_subscription *s;
    struct heard h;
    struct teller t;

    (void)state;
    heard_init(&h);
    teller_open_as(&t, MCP_ERA_MODERN, NULL,
                   TELLER_OPTIONS(.on_change = count_change, .user = &h));
    teller_sync(&t);
    assert_int_equal(teller_count(&t, LISTEN), 0); /* not by itself */
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED, .uris = uris));
    teller_tell(&t, "listen-1", TOOLS, NULL);
    teller_tell(&t, "listen-1", PROMPTS, NULL); /* not asked for */
    teller_tell(&t, "listen-1", UPDATED, "a");
    heard_await(&h, count, 2);
    assert_string_equal(h.events, "1 8:a ");
    expect_event(s, MCP_TOOLS_CHANGED, NULL); /* and it has them too */
    expect_event(s, MCP_RESOURCE_UPDATED, "a");
    mcp_subscription_free(s);
    teller_close(&t);
    heard_done(&h);
}

/* ---- memory -------------------------------------------------------------- */

static void
listen_once(struct test_mem *mem, void *user)
{
    const char *uris[] = {"file:///a", "file:///b", NULL};
    mcp_subscription *s = NULL;
    struct teller t;
    mcp_notice event;
    int fd, poll_fd;

    (void)user;
    fd = teller_prepare(&t, MCP_ERA_MODERN, NULL);
    teller_start(&t);
    if (mcp_client_attach(
            fd, fd,
            &TELLER_OPTIONS(.allocator = &mem->allocator, .era = MCP_ERA_MODERN),
            &t.client, NULL) < 0)
        close(fd);
    if (t.client &&
        mcp_client_subscribe(t.client, &MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = uris),
                             &s, NULL) == 0) {
        assert_int_equal(mcp_subscription_fd(s, &poll_fd), 0);
        teller_tell(&t, "listen-1", UPDATED, "file:///a");
        teller_tell(&t, "listen-1", TOOLS, NULL);
        teller_end(&t, "listen-1");
        while (mcp_subscription_next(s, AWAIT_MS, &event) == 0) {
        }
        assert_int_not_equal(mcp_subscription_how(s), MCP_SUBSCRIPTION_OPEN);
    }
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_in_range(test_each_allocation_fails(listen_once, NULL), 20, 300);
}

TEST_MAIN(TEST(H1_it_has_an_id_of_its_own_and_asks_for_what_was_asked),
          TEST(A9_an_id_of_a_callers_own_is_stepped_over),
          TEST(what_is_agreed_to_is_what_is_let_in),
          TEST(each_is_agreed_to_by_its_own_acknowledgment),
          TEST(no_resource_is_let_in_if_none_was_agreed_to),
          TEST(a_refusal_is_told_with_the_servers_words),
          TEST(H2_only_the_wait_for_the_acknowledgment_is_limited),
          TEST(H5_no_acknowledgment_in_time_fails_the_opening),
          TEST(H5_a_canceled_scope_fails_the_opening),
          TEST(one_that_comes_while_the_client_opens_begins_when_it_is_ready),
          TEST(one_that_waits_for_a_client_that_fails_to_open_is_lost),
          TEST(the_client_is_told_of_what_its_subscriptions_hear),
          TEST(each_allocation_may_fail))
