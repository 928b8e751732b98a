/* request_call_test.c - a handler asks its client and waits, and what ends the wait */
#include <mcp/client.h>

#include "ask_fixture.h"

#define PING(id) "{'jsonrpc':'2.0','id':" id ",'method':'x/ask','params':{'a':1}}"

/* What a handler calls with, and what came of it. */
struct asks {
    const char *method, *params;
    int64_t timeout_ms;
    bool listens;        /* to progress */
    atomic_bool is_slow; /* it stays in there */
    atomic_int heard, entered, status, code;
    double progress, total; /* the last that it heard of */
    char message[32];
};

static void
asks_hear(mcp_request *req, double progress, double total, const char *message,
          void *user)
{
    struct asks *asks = user;

    assert_non_null(req);
    assert_true(progress > asks->progress);
    asks->progress = progress;
    asks->total = total;
    snprintf(asks->message, sizeof asks->message, "%s", message ? message : "-");
    atomic_fetch_add(&asks->heard, 1);
    RAW_UNTIL(!atomic_load(&asks->is_slow));
}

static int
asks_run(mcp_request *req, mcp_result *out, void *user)
{
    struct asks *asks = user;
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    int r;

    atomic_fetch_add(&asks->entered, 1);
    r = mcp_request_call(
        req, asks->method, asks->params,
        &MCP_REQUEST_CALL_OPTIONS(.timeout_ms = asks->timeout_ms,
                                  .on_progress = asks->listens ? asks_hear : NULL,
                                  .user = asks),
        &reply, &err);
    atomic_store(&asks->code, err.rpc_code);
    if (r == 0)
        r = mcp_result_text(
            out, mcp_json_string(mcp_json_get(mcp_reply_result(reply), "said"), "-"));
    else if (r != MCP_E_CANCELED)
        (void)mcp_result_textf(out, "%s", err.message);
    mcp_reply_free(reply);
    atomic_store(&asks->status, r == 0 ? 1 : r);
    return r == MCP_E_CANCELED ? r : 0;
}

static void
start_asks(struct raw *raw, struct asks *asks, mcp_server_options opt)
{
    asks->method = "x/ask";
    asks->params = "{ \"a\": 1 }";
    ask_start_with(raw, false, MCP_TOOL(.run = asks_run, .user = asks), opt);
    ask_call(raw, "1", "");
    ask_expect(raw, PING("1"));
}

static void
answer_is_waited_for(void **state)
{
    struct asks asks = {0};
    struct raw raw;

    (void)state;
    start_asks(&raw, &asks, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(raw_counts(&raw).live_handlers, 1);
    ask_send(&raw, "{'jsonrpc':'2.0','id':1,'result':{'said':'yes'}}");
    ask_expect_text(&raw, "1", "yes");
    ask_done(&raw);
}

static void
error_of_the_client_is_told(void **state)
{
    struct asks asks = {0};
    struct raw raw;

    (void)state;
    start_asks(&raw, &asks, MCP_SERVER_OPTIONS(.page = 0));
    ask_send(&raw, "{'jsonrpc':'2.0','id':1,'error':{'code':-7,'message':'not now'}}");
    ask_expect_text(&raw, "1", "not now");
    assert_int_equal(atomic_load(&asks.status), MCP_E_PEER);
    assert_int_equal(atomic_load(&asks.code), -7);
    ask_done(&raw);
}

static void
so_is_one_of_a_client_that_shows_no_roots(void **state)
{
    struct asks asks = {.method = "roots/list"};
    struct raw raw;

    (void)state;
    ask_start(&raw, false, asks_run, &asks);
    ask_call(&raw, "1", "");
    ask_expect(&raw, "{'jsonrpc':'2.0','id':1,'method':'roots/list'}");
    ask_send(&raw, "{'jsonrpc':'2.0','id':1,'error':{'code':-32603,'message':'no'}}");
    ask_expect_text(&raw, "1", "no");
    assert_int_equal(atomic_load(&asks.status), MCP_E_PEER);
    assert_int_equal(atomic_load(&asks.code), -32603);
    ask_done(&raw);
}

static void
J1_time_is_up_and_the_question_is_taken_back(void **state)
{
    struct asks asks = {.timeout_ms = 20};
    struct raw raw;

    (void)state;
    start_asks(&raw, &asks, MCP_SERVER_OPTIONS(.page = 0));
    raw_expect(&raw, "\"notifications/cancelled\",\"params\":{\"requestId\":1,");
    ask_expect_text(&raw, "1", "x/ask: timed out");
    assert_int_equal(atomic_load(&asks.status), MCP_E_TIMEOUT);
    ask_send(&raw, "{'jsonrpc':'2.0','id':1,'result':{'said':'late'}}");
    raw_expect_silence(&raw);
    ask_done(&raw);
}

static void
time_of_the_server_counts_if_none_is_given(void **state)
{
    struct asks asks = {0};
    struct raw raw;

    (void)state;
    start_asks(&raw, &asks, MCP_SERVER_OPTIONS(.ask_ms = 20));
    raw_expect(&raw, "\"notifications/cancelled\",\"params\":{\"requestId\":1,");
    ask_expect_text(&raw, "1", "x/ask: timed out");
    ask_done(&raw);
}

static void
F22_cancel_wakes_it_and_takes_the_question_back(void **state)
{
    struct asks asks = {0};
    struct raw raw;

    (void)state;
    start_asks(&raw, &asks, MCP_SERVER_OPTIONS(.page = 0));
    raw_cancel(&raw, "1", "enough");
    ask_expect(&raw, "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{"
                     "'requestId':1,'reason':'the request it belongs to has ended'}}");
    RAW_UNTIL(atomic_load(&asks.status) == MCP_E_CANCELED);
    raw_expect_silence(&raw);
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    assert_int_equal(raw_counts(&raw).stopped, 1);
    ask_done(&raw);
}

static void
F22_signal_only_handler_is_woken_too(void **state)
{
    struct asks asks = {.method = "x/ask", .params = "{\"a\":1}"};
    struct raw raw;

    (void)state;
    ask_start_with(&raw, false,
                   MCP_TOOL(.run = asks_run, .user = &asks, .flags = MCP_SIGNAL_ONLY),
                   MCP_SERVER_OPTIONS(.page = 0));
    ask_call(&raw, "1", "");
    ask_expect(&raw, PING("1"));
    raw_cancel(&raw, "1", "enough");
    raw_expect(&raw, "\"notifications/cancelled\",\"params\":{\"requestId\":1,");
    RAW_UNTIL(atomic_load(&asks.status) == MCP_E_CANCELED);
    ask_done(&raw);
}

static void
J8_client_that_is_gone_wakes_it(void **state)
{
    struct asks asks = {0};
    struct raw raw;

    (void)state;
    start_asks(&raw, &asks, MCP_SERVER_OPTIONS(.drain_ms = 60000));
    close(raw.fd);
    raw.fd = -1;
    RAW_UNTIL(atomic_load(&asks.status) == MCP_E_CLOSED);
    ask_done(&raw);
}

static void
F32_stop_wakes_it(void **state)
{
    struct asks asks = {0};
    struct raw raw;

    (void)state;
    start_asks(&raw, &asks, MCP_SERVER_OPTIONS(.page = 0));
    mcp_server_stop(raw.server);
    RAW_UNTIL(atomic_load(&asks.status) != 0);
    assert_int_equal(atomic_load(&asks.status), MCP_E_CLOSED);
    ask_done(&raw);
}

/* ---- progress ----------------------------------------------------------- */

#define PROGRESS(token, members)                \
    "{'jsonrpc':'2.0','method':'notifications/" \
    "progress','params':{'progressToken':" token "," members "}}"

static void
start_listening(struct raw *raw, struct asks *asks)
{
    asks->method = "x/ask";
    asks->listens = true;
    ask_start(raw, false, asks_run, asks);
    ask_call(raw, "1", "");
    ask_expect(raw, "{'jsonrpc':'2.0','id':1,'method':'x/ask','params':{'_meta':{"
                    "'progressToken':1}}}");
}

static void
I12_progress_of_the_client_is_heard_while_it_is_waited_for(void **state)
{
    struct asks asks = {0};
    struct raw raw;

    (void)state;
    start_listening(&raw, &asks);
    ask_send(&raw, PROGRESS("1", "'progress':1,'total':4,'message':'a quarter'"));
    RAW_UNTIL(atomic_load(&asks.heard) == 1);
    assert_true(asks.progress == 1 && asks.total == 4);
    assert_string_equal(asks.message, "a quarter");
    ask_send(&raw, PROGRESS("7", "'progress':9")); /* of what? */
    ask_send(&raw, PROGRESS("1", "'progress':3"));
    ask_send(&raw, "{'jsonrpc':'2.0','id':1,'result':{'said':'yes'}}");
    ask_expect_text(&raw, "1", "yes");
    assert_int_equal(atomic_load(&asks.heard), 2);
    assert_true(asks.progress == 3 && asks.total == 0);
    assert_string_equal(asks.message, "-");
    ask_done(&raw);
}

/* As many as wait for a slow callback of a client's. */
static void
of_too_much_progress_the_last_is_heard(void **state)
{
    struct asks asks = {.is_slow = true};
    struct raw raw;
    char text[256];

    (void)state;
    start_listening(&raw, &asks);
    for (int i = 1; i <= 100; i++) {
        snprintf(text, sizeof(text), PROGRESS("1", "'progress':%d"), i);
        ask_send(&raw, text);
    }
    ask_send(&raw, "{'jsonrpc':'2.0','id':1,'result':{'said':'yes'}}");
    ask_method(&raw, "2", "ping", "'a':1");
    raw_expect(&raw, "\"id\":2,\"result\"");
    atomic_store(&asks.is_slow, false);
    ask_expect_text(&raw, "1", "yes");
    assert_in_range(atomic_load(&asks.heard), 64, 65);
    assert_true(asks.progress == 100);
    ask_done(&raw);
}

static void
F22_after_a_cancel_no_progress_is_heard(void **state)
{
    struct asks asks = {.is_slow = true};
    struct raw raw;

    (void)state;
    start_listening(&raw, &asks);
    ask_send(&raw, PROGRESS("1", "'progress':1"));
    ask_send(&raw, PROGRESS("1", "'progress':2"));
    RAW_UNTIL(atomic_load(&asks.heard) == 1);
    raw_cancel(&raw, "1", "enough");
    raw_expect(&raw, "\"notifications/cancelled\",\"params\":{\"requestId\":1,");
    atomic_store(&asks.is_slow, false);
    RAW_UNTIL(atomic_load(&asks.status) == MCP_E_CANCELED);
    assert_int_equal(atomic_load(&asks.heard), 1);
    ask_done(&raw);
}

/* A client's handler reports to the server's, and that to the call of the client's. */

static int
sample_in_steps(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    assert_int_equal(mcp_request_progress(req, 1, 2, "half"), 0);
    assert_int_equal(mcp_request_progress(req, 2, 2, "done"), 0);
    (void)mcp_result_text(out, "hello");
    return mcp_result_model(out, "m");
}

static void
hand_on(mcp_request *req, double progress, double total, const char *message,
        void *user)
{
    atomic_int *count = user;

    atomic_fetch_add(count, 1);
    assert_int_equal(mcp_request_progress(req, progress, total, message), 0);
}

static int
ask_model(mcp_request *req, mcp_result *out, void *user)
{
    mcp_reply *reply = NULL;
    int r;

    r = mcp_request_call(
        req, "sampling/createMessage",
        "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
        "\"text\":\"hi\"}}],\"maxTokens\":9}",
        &MCP_REQUEST_CALL_OPTIONS(.on_progress = hand_on, .user = user), &reply, NULL);
    if (r == 0)
        r = mcp_result_text(
            out, mcp_json_string(mcp_json_get(mcp_reply_result(reply), "model"), ""));
    mcp_reply_free(reply);
    return r;
}

struct seen {
    int count;
    double progress, total;
    char message[32];
};

static void
see(mcp_call *call, double progress, double total, const char *message, void *user)
{
    struct seen *seen = user;

    (void)call;
    seen->count++;
    seen->progress = progress;
    seen->total = total;
    snprintf(seen->message, sizeof seen->message, "%s", message ? message : "-");
}

static void
I12_progress_goes_from_handler_to_handler(void **state)
{
    struct seen seen = {0};
    mcp_client *client = NULL;
    mcp_server *server = NULL;
    mcp_reply *reply = NULL;
    atomic_int heard = 0;
    mcp_error err;

    (void)state;
    assert_int_equal(
        mcp_server_new(&MCP_SERVER_OPTIONS(.name = "s", .version = "1"), &server, &err),
        0);
    assert_int_equal(
        mcp_server_add_tool(
            server, &MCP_TOOL(.name = "t", .run = ask_model, .user = &heard), &err),
        0);
    assert_int_equal(mcp_server_start(server, NULL), 0);
    assert_int_equal(
        mcp_client_attach_server(
            server,
            &MCP_CLIENT_OPTIONS(.name = "c", .version = "1", .era = MCP_ERA_LEGACY,
                                .sample = {.run = sample_in_steps}),
            &client, &err),
        0);
    assert_int_equal(
        mcp_client_call_tool(client, "t", NULL,
                             &MCP_CALL_OPTIONS(.on_progress = see, .user = &seen),
                             &reply, &err),
        0);
    assert_string_equal(mcp_reply_text(reply), "m");
    assert_int_equal(atomic_load(&heard), 2);
    assert_int_equal(seen.count, 2);
    assert_true(seen.progress == 2 && seen.total == 2);
    assert_string_equal(seen.message, "done");
    mcp_reply_free(reply);
    mcp_client_free(client);
    mcp_server_free(server);
}

/* ---- who may not -------------------------------------------------------- */

static void
G8_J7_modern_client_cannot_be_asked(void **state)
{
    struct asks asks = {.method = "roots/list"};
    struct raw raw;

    (void)state;
    ask_start(&raw, true, asks_run, &asks);
    ask_call(&raw, "1", "");
    ask_expect_text(&raw, "1", "roots/list: the peer cannot be asked from here");
    assert_int_equal(atomic_load(&asks.status), MCP_E_NO_CHANNEL);
    ask_done(&raw);
}

static void
nobody_waits_on_the_loop(void **state)
{
    struct asks asks = {.method = "roots/list"};
    struct raw raw;

    (void)state;
    ask_start_with(&raw, false, MCP_TOOL(.reply = asks_run, .user = &asks),
                   MCP_SERVER_OPTIONS(.page = 0));
    ask_call(&raw, "1", "");
    ask_expect_text(&raw, "1", "roots/list: not possible in this state");
    ask_done(&raw);
}

static void
assert_not_asked(const char *able, const char *method, const char *params, int status)
{
    struct asks asks = {.method = method, .params = params};
    struct raw raw;

    ask_able = able;
    ask_start(&raw, false, asks_run, &asks);
    ask_call(&raw, "1", "");
    raw_expect(&raw, "\"id\":1,\"result\"");
    assert_int_equal(atomic_load(&asks.status), status);
    if (status == MCP_E_PEER)
        assert_int_equal(atomic_load(&asks.code), -32021);
    raw_expect_silence(&raw);
    ask_done(&raw);
}

static void
what_a_client_has_not_declared_it_is_not_asked(void **state)
{
    (void)state;
    assert_not_asked("{}", "roots/list", NULL, MCP_E_PEER);
    assert_not_asked("{}", "sampling/createMessage", "{}", MCP_E_PEER);
    assert_not_asked("{'sampling':{}}", "sampling/createMessage", "{\"tools\":[]}",
                     MCP_E_PEER);
    assert_not_asked("{'sampling':{}}", "sampling/createMessage",
                     "{\"includeContext\":\"thisServer\"}", MCP_E_PEER);
    assert_not_asked("{'elicitation':{}}", "elicitation/create", "{\"mode\":\"url\"}",
                     MCP_E_PEER);
    assert_not_asked("{'elicitation':{'url':{}}}", "elicitation/create", "{}",
                     MCP_E_PEER);
}

static void
what_is_no_request_is_not_sent(void **state)
{
    (void)state;
    assert_not_asked("{}", "", NULL, MCP_E_INVAL);
    assert_not_asked("{}", "\xff", NULL, MCP_E_INVAL);
    assert_not_asked("{}", "x", "[]", MCP_E_INVAL);
    assert_not_asked("{}", "x", "{", MCP_E_INVAL);
    assert_not_asked("{}", "x", "{\"_meta\":{}}", MCP_E_INVAL);
    assert_int_equal(mcp_request_call(NULL, "x", NULL, NULL, NULL, NULL), MCP_E_INVAL);
}

/* ---- many --------------------------------------------------------------- */

static void
who_waits_does_not_keep_others_from_asking(void **state)
{
    struct asks asks = {.method = "x/ask", .params = "{\"a\":1}"};
    struct raw raw;
    char text[64];

    (void)state;
    ask_start_with(&raw, false, MCP_TOOL(.run = asks_run, .user = &asks),
                   MCP_SERVER_OPTIONS(.workers = 1));
    for (int i = 1; i <= 8; i++) {
        snprintf(text, sizeof(text), "%d", i);
        ask_call(&raw, text, "");
        raw_expect(&raw, "x/ask");
    }
    for (int i = 1; i <= 8; i++) {
        snprintf(text, sizeof(text), "{'jsonrpc':'2.0','id':%d,'result':{}}", i);
        ask_send(&raw, text);
        raw_expect(&raw, "\"result\"");
    }
    ask_done(&raw);
}

static void
fifty_canceled_while_waiting_leave_nothing(void **state)
{
    struct asks asks = {.method = "x/ask", .params = "{\"a\":1}"};
    struct raw raw;
    char id[16];

    (void)state;
    ask_start_with(&raw, false, MCP_TOOL(.run = asks_run, .user = &asks),
                   MCP_SERVER_OPTIONS(.workers = 4));
    for (int i = 1; i <= 50; i++) {
        snprintf(id, sizeof(id), "%d", i);
        ask_call(&raw, id, "");
    }
    for (int i = 1; i <= 50; i++) {
        snprintf(id, sizeof(id), "%d", i);
        raw_cancel(&raw, id, "enough");
    }
    RAW_UNTIL(raw_counts(&raw).canceled_by_peer == 50);
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    assert_int_equal(raw_counts(&raw).in_flight, 0);
    ask_done(&raw);
}

/* ---- out of memory ------------------------------------------------------ */

static void
flow(struct test_mem *mem, void *user)
{
    struct asks asks = {.method = "x/ask", .params = "{\"a\":1}", .listens = true};
    const char *line;
    struct raw raw;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.workers = 1)) < 0)
        return;
    raw.lenient = true;
    if (mcp_server_add_tool(raw.server,
                            &MCP_TOOL(.name = "t", .run = asks_run, .user = &asks),
                            NULL) == 0 &&
        raw_try_connect(&raw, false) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        raw_send(&raw, INITIALIZE("0", "2025-11-25"));
        raw_send(&raw, NOTE("notifications/initialized", "{}"));
        ask_call(&raw, "7", "");
        for (line = raw_next(&raw); line; line = raw_next(&raw)) {
            if (strstr(line, "\"id\":7,"))
                break;
            if (!strstr(line, "x/ask"))
                continue;
            ask_send(&raw, PROGRESS("1", "'progress':1,'message':'m'"));
            ask_send(&raw, "{'jsonrpc':'2.0','id':1,'result':{'said':'yes'}}");
        }
    }
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 20);
}

TEST_MAIN(TEST(answer_is_waited_for), TEST(error_of_the_client_is_told),
          TEST(so_is_one_of_a_client_that_shows_no_roots),
          TEST(J1_time_is_up_and_the_question_is_taken_back),
          TEST(time_of_the_server_counts_if_none_is_given),
          TEST(F22_cancel_wakes_it_and_takes_the_question_back),
          TEST(F22_signal_only_handler_is_woken_too),
          TEST(J8_client_that_is_gone_wakes_it), TEST(F32_stop_wakes_it),
          TEST(I12_progress_of_the_client_is_heard_while_it_is_waited_for),
          TEST(of_too_much_progress_the_last_is_heard),
          TEST(F22_after_a_cancel_no_progress_is_heard),
          TEST(I12_progress_goes_from_handler_to_handler),
          TEST(G8_J7_modern_client_cannot_be_asked), TEST(nobody_waits_on_the_loop),
          TEST(what_a_client_has_not_declared_it_is_not_asked),
          TEST(what_is_no_request_is_not_sent),
          TEST(who_waits_does_not_keep_others_from_asking),
          TEST(fifty_canceled_while_waiting_leave_nothing),
          TEST(each_allocation_may_fail))
