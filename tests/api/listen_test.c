/* listen_test.c - subscriptions/listen, resources/subscribe, resources/unsubscribe */
#include <mcp/subscription.h>

#include "api/raw_client.h"
#include "core/names.h"

#define SUBSCRIPTION(id) "\"_meta\":{" META_KEY("subscriptionId") ":" id "}"
#define ACKNOWLEDGED(id, filter)                     \
    NOTE("notifications/subscriptions/acknowledged", \
         "{" SUBSCRIPTION(id) ",\"notifications\":" filter "}")
#define UPDATED(id, uri)                    \
    NOTE("notifications/resources/updated", \
         "{" SUBSCRIPTION(id) ",\"uri\":\"" uri "\"}")
#define TOOLS_CHANGED(id) \
    NOTE("notifications/tools/list_changed", "{" SUBSCRIPTION(id) "}")

#define ALL (MCP_TOOLS_CHANGED | MCP_PROMPTS_CHANGED | MCP_RESOURCES_CHANGED)

static void
expect_exact(struct raw *raw, const char *line)
{
    assert_string_equal(raw_line(raw), line);
}

static void
listen_to(struct raw *raw, const char *id, const char *filter)
{
    char more[1024];

    snprintf(more, sizeof(more), ",\"notifications\":%s", filter);
    raw_ask(raw, id, "subscriptions/listen", more);
}

static void
updated(struct raw *raw, const char *uri)
{
    assert_int_equal(mcp_server_resource_updated(raw->server, uri), 0);
}

static int
reply_ok(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_text(out, "ok");
}

/* ---- it begins ----------------------------------------------------------- */

static void
H15_it_is_acknowledged_first_and_told_what_it_asked_for(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .changes_ms = -1));
    raw_start(&raw, true);
    listen_to(&raw, "\"all\"",
              "{\"toolsListChanged\":true,\"promptsListChanged\":true,"
              "\"resourcesListChanged\":false,\"resourceSubscriptions\":[\"a:b\"]}");
    expect_exact(&raw, ACKNOWLEDGED("\"all\"", "{\"toolsListChanged\":true,"
                                               "\"promptsListChanged\":true,"
                                               "\"resourceSubscriptions\":[\"a:b\"]}"));
    raw_tool(&raw, MCP_TOOL(.name = "t", .reply = reply_ok));
    expect_exact(&raw, TOOLS_CHANGED("\"all\""));
    updated(&raw, "a:b/c");
    updated(&raw, "a:c");
    expect_exact(&raw, UPDATED("\"all\"", "a:b/c"));
    raw_expect_silence(&raw);
    assert_int_equal(raw_counts(&raw).in_flight, 1);
    assert_int_equal(raw_counts(&raw).live_handlers, 0);
    raw_done(&raw);
}

/* It has arrived, and has not begun. */
static int
update_meanwhile(mcp_request *req, void *user)
{
    (void)req;
    updated(user, "a:b");
    return 0;
}

static void
H15_what_happens_meanwhile_follows_the_acknowledgment(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL));
    assert_int_equal(
        mcp_server_use(raw.server,
                       &MCP_MIDDLEWARE(.before = update_meanwhile, .user = &raw)),
        0);
    raw_start(&raw, true);
    listen_to(&raw, "1", "{\"resourceSubscriptions\":[\"a:b\"]}");
    raw_expect(&raw, "acknowledged");
    expect_exact(&raw, UPDATED("1", "a:b"));
    raw_done(&raw);
}

static void
what_the_server_has_not_is_not_acknowledged(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = MCP_TOOLS_CHANGED, .changes_ms = -1));
    raw_start(&raw, true);
    listen_to(&raw, "1",
              "{\"toolsListChanged\":true,\"promptsListChanged\":true,"
              "\"resourceSubscriptions\":[\"a:b\"]}");
    expect_exact(&raw, ACKNOWLEDGED("1", "{\"toolsListChanged\":true}"));
    updated(&raw, "a:b");
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static void
a_filter_that_is_none_is_refused(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .subscribed = 1));
    raw_start(&raw, true);
    raw_ask(&raw, "1", "subscriptions/listen", "");
    raw_expect(&raw, "\"id\":1,\"error\":{\"code\":-32602");
    listen_to(&raw, "2", "{\"toolsListChanged\":1}");
    raw_expect(&raw, "\"id\":2,\"error\":{\"code\":-32602");
    listen_to(&raw, "3", "{\"resourceSubscriptions\":[\"a:b\",\"a:c\"]}");
    raw_expect(&raw, "\"id\":3,\"error\":{\"code\":-32602");
    assert_int_equal(raw_counts(&raw).in_flight, 0);
    assert_int_equal(raw_counts(&raw).failed, 3);
    raw_done(&raw);
}

static void
H20_without_a_free_slot_it_is_refused_before_any_acknowledgment(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .listeners = 2));
    raw_start(&raw, true);
    listen_to(&raw, "1", "{}");
    expect_exact(&raw, ACKNOWLEDGED("1", "{}"));
    listen_to(&raw, "2", "{}");
    expect_exact(&raw, ACKNOWLEDGED("2", "{}"));
    listen_to(&raw, "3", "{}");
    raw_expect(&raw, "\"id\":3,\"error\":{\"code\":-32603,\"message\":\"Too many");
    raw_cancel(&raw, "1", "");
    listen_to(&raw, "4", "{}"); /* its slot is free at once */
    expect_exact(&raw, ACKNOWLEDGED("4", "{}"));
    raw_done(&raw);
}

#define MANY 100

static void
many_subscriptions_live_on_one_connection(void **state)
{
    bool told[MANY] = {false};
    char id[16], mark[128];
    const char *line;
    struct raw raw;
    int n;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .changes_ms = -1));
    raw_start(&raw, true);
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof(id), "%d", i);
        listen_to(&raw, id, i % 2 ? "{\"resourceSubscriptions\":[\"a:b\"]}" : "{}");
        raw_expect(&raw, "acknowledged");
    }
    updated(&raw, "a:b");
    for (int i = 0; i < MANY / 2; i++) {
        line = raw_expect(&raw, "notifications/resources/updated");
        assert_int_equal(
            sscanf(strstr(line, "subscriptionId"), "subscriptionId\":%d", &n), 1);
        assert_true(n >= 0 && n < MANY && n % 2 == 1 && !told[n]);
        told[n] = true;
    }
    raw_expect_silence(&raw);
    mcp_server_stop(raw.server);
    for (int i = 0; i < MANY; i++) {
        snprintf(mark, sizeof(mark),
                 "\"id\":%d,\"result\":{\"resultType\":\"complete\"", i);
        raw_expect(&raw, mark);
    }
    assert_true(raw_at_eof(&raw));
    raw_done(&raw);
}

/* ---- it ends ------------------------------------------------------------- */

/* With a middleware a request stays as long as it is served, without one only its
 * listener does. Nothing else may differ. */
static void
look_on(struct raw *raw, const bool *looks)
{
    if (*looks)
        assert_int_equal(mcp_server_use(raw->server, &MCP_MIDDLEWARE(.user = NULL)), 0);
}

static bool looked_on[2] = {false, true};

#define TEST_LOOKED_ON(function)                          \
    TEST_AS("alone." #function, function, &looked_on[0]), \
        TEST_AS("looked_on." #function, function, &looked_on[1])

static void
H16_after_a_cancel_nothing_more_of_it_is_said(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .listeners = 1));
    look_on(&raw, *state);
    raw_start(&raw, true);
    listen_to(&raw, "1", "{\"resourceSubscriptions\":[\"a:b\"]}");
    raw_expect(&raw, "acknowledged");
    raw_cancel(&raw, "1", "enough");
    RAW_UNTIL(raw_counts(&raw).canceled_by_peer == 1);
    updated(&raw, "a:b");
    raw_expect_silence(&raw);
    assert_int_equal(raw_counts(&raw).in_flight, 0);
    assert_int_equal(raw_counts(&raw).stopped, 1);
    assert_int_equal(raw_counts(&raw).never_started, 0);
    listen_to(&raw, "1", "{\"resourceSubscriptions\":[\"a:b\"]}"); /* id and slot */
    raw_expect(&raw, "acknowledged");
    raw_done(&raw);
}

static void
H16_H23_a_client_that_goes_leaves_nothing_behind(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .listeners = 1));
    look_on(&raw, *state);
    raw_start(&raw, true);
    listen_to(&raw, "1", "{\"resourceSubscriptions\":[\"a:b\"]}");
    raw_expect(&raw, "acknowledged");
    close(raw.fd);
    RAW_UNTIL(raw_counts(&raw).clients == 0);
    assert_int_equal(raw_counts(&raw).in_flight, 0);
    assert_int_equal(raw_counts(&raw).canceled_by_loss, 1);
    raw_connect(&raw, true);
    raw_expect_silence(&raw);
    updated(&raw, "a:b"); /* it has not asked again */
    raw_expect_silence(&raw);
    listen_to(&raw, "1", "{\"resourceSubscriptions\":[\"a:b\"]}");
    raw_expect(&raw, "acknowledged");
    updated(&raw, "a:b");
    expect_exact(&raw, UPDATED("1", "a:b"));
    raw_done(&raw);
}

static void
H16_an_end_of_input_is_not_waited_for(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .drain_ms = 3600000));
    look_on(&raw, *state);
    raw_start(&raw, true);
    listen_to(&raw, "1", "{}");
    raw_expect(&raw, "acknowledged");
    shutdown(raw.fd, SHUT_WR);
    assert_true(raw_at_eof(&raw)); /* no result, and no drain */
    raw_done(&raw);
}

#define RESULT_OF(id)                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"resultType\":\"complete\"," \
    "\"_meta\":{" META_KEY("subscriptionId") ":" id "," META_KEY(                 \
        "serverInfo") ":{\"name\":\"raw\",\"version\":\"1.0\"}}}}"

static void
H17_a_stop_tells_what_is_due_and_answers(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .changes_ms = 3600000));
    look_on(&raw, *state);
    raw_start(&raw, true);
    listen_to(&raw, "1",
              "{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"a:\"]}");
    raw_expect(&raw, "acknowledged");
    updated(&raw, "a:/1");
    updated(&raw, "a:/2");
    raw_tool(&raw, MCP_TOOL(.name = "t", .reply = reply_ok)); /* would wait an hour */
    mcp_server_stop(raw.server);
    for (int i = 0; i < 3; i++)
        raw_expect(&raw, "\"method\":\"notifications/"); /* in which order is free */
    expect_exact(&raw, RESULT_OF("1"));
    assert_true(raw_at_eof(&raw));
    RAW_UNTIL(raw_counts(&raw).clients == 0);
    assert_int_equal(raw_counts(&raw).canceled_by_stop, 1);
    raw_done(&raw);
}

static void
H17_a_stop_waits_for_nothing_else(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .stop_ms = 20000));
    look_on(&raw, *state);
    raw_start(&raw, true);
    raw_hold_time(&raw); /* one that waits for time to pass never ends */
    listen_to(&raw, "1", "{}");
    raw_expect(&raw, "acknowledged");
    raw_close(&raw); /* what it says fits into the socket */
    test_mem_done(raw.mem);
}

static int
reply_large(mcp_request *req, mcp_result *out, void *user)
{
    static char text[4 << 20];

    (void)req;
    (void)user;
    memset(text, 'x', sizeof(text) - 1);
    return mcp_result_text(out, text);
}

static void
H19_who_does_not_keep_up_is_ended_and_told_so(void **state)
{
    const char *line;
    struct raw raw;
    char uri[32];

    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .subscribed = 4));
    look_on(&raw, *state);
    raw_tool(&raw, MCP_TOOL(.name = "large", .reply = reply_large));
    raw_start(&raw, true);
    listen_to(&raw, "1", "{\"resourceSubscriptions\":[\"a:/d\"]}");
    raw_expect(&raw, "acknowledged");
    raw_call(&raw, "2", "large", NULL); /* more than the socket takes */
    RAW_UNTIL(raw_counts(&raw).answered == 1);
    for (int i = 0; raw_counts(&raw).in_flight > 0 && i < 100000; i++) {
        snprintf(uri, sizeof(uri), "a:/d/%d", i);
        updated(&raw, uri);
        raw_pause(); /* turn by turn */
    }
    assert_int_equal(raw_counts(&raw).in_flight, 0); /* though its writer is stuck */
    assert_int_equal(raw_counts(&raw).failed, 1);
    raw_expect(&raw, "xxx");
    for (line = raw_line(&raw); strstr(line, "updated"); line = raw_line(&raw))
        continue;
    assert_non_null(strstr(line, "\"id\":1,\"error\":{\"code\":-32603,\"message\":"
                                 "\"The subscription has ended"));
    raw_expect_silence(&raw);
    raw_done(&raw);
}

/* A handler of the server is ended by its limit, and by then the listener would be. */
static int
sleep_long(mcp_request *req, mcp_result *out, void *user)
{
    (void)out;
    (void)user;
    return mcp_request_sleep(req, 3600000);
}

static void
the_limit_of_a_run_does_not_end_it(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .limit_ms = 30));
    raw_tool(&raw, MCP_TOOL(.name = "sleep", .run = sleep_long));
    raw_start(&raw, true);
    listen_to(&raw, "1", "{\"resourceSubscriptions\":[\"a:b\"]}");
    raw_expect(&raw, "acknowledged");
    raw_call(&raw, "2", "sleep", NULL);
    raw_expect(&raw, "Run limit");
    updated(&raw, "a:b");
    expect_exact(&raw, UPDATED("1", "a:b"));
    raw_done(&raw);
}

/* ---- middleware ---------------------------------------------------------- */

struct witness {
    atomic_int before, after, canceled;
    atomic_int code;
    char reason[64];
    bool refuse;
};

static int
on_before(mcp_request *req, void *user)
{
    struct witness *w = user;

    if (strcmp(mcp_request_method(req), "subscriptions/listen") != 0)
        return 0;
    atomic_fetch_add(&w->before, 1);
    return w->refuse ? mcp_request_fail(req, -32001, NULL, "no") : 0;
}

static void
on_after(mcp_request *req, int rpc_code, void *user)
{
    struct witness *w = user;

    if (strcmp(mcp_request_method(req), "subscriptions/listen") != 0)
        return;
    atomic_store(&w->code, rpc_code);
    atomic_fetch_add(&w->after, 1);
}

static void
on_cancel(mcp_request *req, const char *reason, void *user)
{
    struct witness *w = user;

    (void)req;
    snprintf(w->reason, sizeof(w->reason), "%s", reason);
    atomic_fetch_add(&w->canceled, 1);
}

static void
middleware_sees_it(void **state)
{
    struct witness w = {.refuse = false};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL));
    assert_int_equal(
        mcp_server_use(raw.server,
                       &MCP_MIDDLEWARE(.before = on_before, .after = on_after,
                                       .on_cancel = on_cancel, .user = &w)),
        0);
    raw_start(&raw, true);
    listen_to(&raw, "1", "{}");
    raw_expect(&raw, "acknowledged");
    assert_int_equal(w.before, 1);
    raw_cancel(&raw, "1", "enough");
    RAW_UNTIL(atomic_load(&w.canceled) == 1);
    assert_string_equal(w.reason, "enough");
    raw_ask(&raw, "2", "subscriptions/listen", "");
    raw_expect(&raw, "-32602");
    assert_int_equal(w.before, 2);
    assert_int_equal(w.after, 1);
    assert_int_equal(w.code, -32602);
    w.refuse = true;
    listen_to(&raw, "3", "{}");
    raw_expect(&raw, "\"id\":3,\"error\":{\"code\":-32001");
    raw_expect_silence(&raw);
    assert_int_equal(raw_counts(&raw).in_flight, 0);
    raw_done(&raw);
}

/* ---- 2025-11-25 ---------------------------------------------------------- */

#define LEGACY_UPDATED(uri) \
    NOTE("notifications/resources/updated", "{\"uri\":\"" uri "\"}")

static void
a_session_subscribes_and_unsubscribes(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL));
    raw_start(&raw, false);
    updated(&raw, "a:b");
    raw_ask(&raw, "1", "resources/subscribe", ",\"uri\":\"a:b\"");
    expect_exact(&raw, RESULT("1", "{}"));
    raw_ask(&raw, "2", "resources/subscribe", ",\"uri\":\"a:b\""); /* as once */
    expect_exact(&raw, RESULT("2", "{}"));
    updated(&raw, "a:b");
    expect_exact(&raw, LEGACY_UPDATED("a:b"));
    raw_expect_silence(&raw);
    raw_ask(&raw, "3", "resources/unsubscribe", ",\"uri\":\"a:b\"");
    expect_exact(&raw, RESULT("3", "{}"));
    raw_ask(&raw, "4", "resources/unsubscribe", ",\"uri\":\"a:b\"");
    expect_exact(&raw, RESULT("4", "{}"));
    updated(&raw, "a:b");
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static void
a_subscription_to_nothing_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      ",\"uri\":7",
                                      ",\"uri\":\"\"",
                                      ",\"uri\":\"no scheme\"",
                                      ",\"uri\":\"a:b c\"",
                                      ",\"uri\":\"a:b\\u0000\""};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .subscribed = 1));
    raw_start(&raw, false);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        raw_ask(&raw, "1", "resources/subscribe", bad[i]);
        raw_expect(&raw, "\"id\":1,\"error\":{\"code\":-32602");
        raw_ask(&raw, "2", "resources/unsubscribe", bad[i]);
        raw_expect(&raw, "\"id\":2,\"error\":{\"code\":-32602");
    }
    raw_ask(&raw, "1", "resources/subscribe", ",\"uri\":\"a:1\"");
    expect_exact(&raw, RESULT("1", "{}"));
    raw_ask(&raw, "2", "resources/subscribe", ",\"uri\":\"a:2\"");
    raw_expect(&raw, "\"id\":2,\"error\":{\"code\":-32603,\"message\":\"Too many");
    raw_done(&raw);
}

/* A session keeps what it is subscribed to: that must not be all that fits into a
 * message, a thousand times. */
static void
a_uri_that_is_too_long_to_be_watched_is_refused(void **state)
{
    const size_t longest = MCPI_WATCHED_URI_MAX;
    char *line = malloc(2 * longest), *uri = malloc(longest + 2);
    struct raw raw;

    assert_non_null(line);
    assert_non_null(uri);
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL));
    raw_start(&raw, RAW_MODERN);
    for (size_t len = longest; len <= longest + 1; len++) {
        memset(uri, 'a', len);
        uri[1] = ':';
        uri[len] = '\0';
        snprintf(
            line, 2 * longest,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s\"%s\"%s,"
            "\"_meta\":{%s}}}",
            RAW_MODERN ? "subscriptions/listen" : "resources/subscribe",
            RAW_MODERN ? "\"notifications\":{\"resourceSubscriptions\":[" : "\"uri\":",
            uri, RAW_MODERN ? "]}" : "", RAW_MODERN ? RAW_STAMP : "");
        raw_send(&raw, line);
        if (len > longest)
            raw_expect(&raw, "\"id\":1,\"error\":{\"code\":-32602");
        else
            raw_expect(&raw,
                       RAW_MODERN ? "subscriptions/acknowledged" : "\"result\":{}");
        raw_cancel(&raw, "1", "");
    }
    raw_done(&raw);
    free(uri);
    free(line);
}

static void
each_era_has_its_own_methods(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL));
    raw_start(&raw, true);
    raw_ask(&raw, "1", "resources/subscribe", ",\"uri\":\"a:b\"");
    raw_expect(&raw, "\"code\":-32601");
    raw_ask(&raw, "2", "resources/unsubscribe", ",\"uri\":\"a:b\"");
    raw_expect(&raw, "\"code\":-32601");
    raw_done(&raw);
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = MCP_TOOLS_CHANGED));
    raw_start(&raw, false);
    listen_to(&raw, "1", "{}");
    raw_expect(&raw, "\"code\":-32601");
    raw_ask(&raw, "2", "resources/subscribe", ",\"uri\":\"a:b\""); /* it has none */
    raw_expect(&raw, "\"code\":-32601");
    raw_done(&raw);
}

/* ---- within the process ---------------------------------------------------- */

static mcp_client *
client_of(struct raw *raw, bool modern)
{
    const mcp_client_options opt = MCP_CLIENT_OPTIONS(.name = "c", .version = "1",
                                                      .era = modern ? MCP_ERA_MODERN
                                                                    : MCP_ERA_LEGACY);
    mcp_client *client;

    raw_make(raw, MCP_SERVER_OPTIONS(.offers = ALL, .changes_ms = -1));
    assert_int_equal(mcp_server_start(raw->server, NULL), 0);
    assert_int_equal(mcp_client_attach_server(raw->server, &opt, &client, NULL), 0);
    return client;
}

static mcp_subscription *
subscribe_to(mcp_client *client, const char *uri)
{
    const char *uris[] = {uri, NULL};
    mcp_subscription *s;
    mcp_error err = {0};

    if (mcp_client_subscribe(client,
                             &MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED, .uris = uris),
                             &s, &err) < 0)
        fail_msg("%s", err.message);
    return s;
}

static void
assert_next_is(mcp_subscription *s, enum mcp_change change, const char *uri)
{
    mcp_notice event = {.change = 0};

    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &event), 0);
    assert_int_equal(event.change, change);
    if (uri)
        assert_string_equal(event.uri, uri);
}

static void
H15_H16_a_client_of_ours_listens_and_stops(void **state)
{
    mcp_subscription *one, *two;
    struct raw raw;
    mcp_client *client = client_of(&raw, RAW_MODERN);

    one = subscribe_to(client, "a:1");
    two = subscribe_to(client, "a:2");
    updated(&raw, "a:1");
    assert_next_is(one, MCP_RESOURCE_UPDATED, "a:1");
    updated(&raw, "a:2");
    assert_next_is(two, MCP_RESOURCE_UPDATED, "a:2");
    raw_tool(&raw, MCP_TOOL(.name = "t", .reply = reply_ok));
    assert_next_is(one, MCP_TOOLS_CHANGED, NULL);
    assert_next_is(two, MCP_TOOLS_CHANGED, NULL);
    mcp_subscription_free(one);
    RAW_UNTIL(raw_counts(&raw).in_flight == (RAW_MODERN ? 1 : 0));
    updated(&raw, "a:2");
    assert_next_is(two, MCP_RESOURCE_UPDATED, "a:2");
    mcp_subscription_free(two);
    RAW_UNTIL(raw_counts(&raw).in_flight == 0);
    mcp_client_free(client);
    raw_done(&raw);
}

static void
H17_a_client_of_ours_sees_a_graceful_end(void **state)
{
    mcp_notice event;
    mcp_subscription *s;
    struct raw raw;
    mcp_client *client = client_of(&raw, true);

    (void)state;
    s = subscribe_to(client, "a:1");
    updated(&raw, "a:1");
    mcp_server_stop(raw.server);
    assert_next_is(s, MCP_RESOURCE_UPDATED, "a:1");
    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &event), MCP_E_CLOSED);
    assert_int_equal(mcp_subscription_how(s), MCP_SUBSCRIPTION_GRACEFUL);
    mcp_subscription_free(s);
    mcp_client_free(client);
    raw_done(&raw);
}

/* ---- memory -------------------------------------------------------------- */

/* Whatever fails, the stop brings it to its end. */
static void
flow_in(struct test_mem *mem, void *user)
{
    bool modern = *(const bool *)user;
    struct raw raw;

    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.offers = ALL, .changes_ms = -1)) < 0)
        return;
    raw.lenient = true;
    if (raw_try_connect(&raw, modern) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        if (modern) {
            listen_to(
                &raw, "1",
                "{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"a:b\"]}");
        } else {
            raw_send(&raw, INITIALIZE("0", "2025-11-25"));
            raw_ask(&raw, "1", "resources/subscribe", ",\"uri\":\"a:b\"");
        }
        (void)raw_next(&raw); /* begun, or refused, or gone */
        (void)mcp_server_resource_updated(raw.server, "a:b");
        (void)mcp_server_add_tool(raw.server, &MCP_TOOL(.name = "t", .reply = reply_ok),
                                  NULL);
        mcp_server_stop(raw.server);
        while (raw_next(&raw))
            continue;
    }
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    test_limit(240);
    assert_true(test_each_allocation_fails(flow_in, *state) > 10);
}

TEST_MAIN(TEST(H15_it_is_acknowledged_first_and_told_what_it_asked_for),
          TEST(H15_what_happens_meanwhile_follows_the_acknowledgment),
          TEST(what_the_server_has_not_is_not_acknowledged),
          TEST(a_filter_that_is_none_is_refused),
          TEST(H20_without_a_free_slot_it_is_refused_before_any_acknowledgment),
          TEST(many_subscriptions_live_on_one_connection),
          TEST_LOOKED_ON(H16_after_a_cancel_nothing_more_of_it_is_said),
          TEST_LOOKED_ON(H16_H23_a_client_that_goes_leaves_nothing_behind),
          TEST_LOOKED_ON(H16_an_end_of_input_is_not_waited_for),
          TEST_LOOKED_ON(H17_a_stop_tells_what_is_due_and_answers),
          TEST_LOOKED_ON(H17_a_stop_waits_for_nothing_else),
          TEST_LOOKED_ON(H19_who_does_not_keep_up_is_ended_and_told_so),
          TEST(the_limit_of_a_run_does_not_end_it), TEST(middleware_sees_it),
          TEST(a_session_subscribes_and_unsubscribes),
          TEST(a_subscription_to_nothing_is_refused),
          TEST_ERAS(a_uri_that_is_too_long_to_be_watched_is_refused),
          TEST(each_era_has_its_own_methods),
          TEST_ERAS(H15_H16_a_client_of_ours_listens_and_stops),
          TEST(H17_a_client_of_ours_sees_a_graceful_end),
          TEST_ERAS(each_allocation_may_fail))
