/* call_rounds_test.c - a call in several rounds: its ids, and how it ends (group L) */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/client_fixture.h"

#define FRAME "notifications/cancelled"
#define ASKS(key)                                                                      \
    "\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"" key          \
    "\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":" \
    "\"who?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}},"         \
    "\"requestState\":\"state-" key "\"}"
#define WAITS \
    "\"result\":{\"resultType\":\"input_required\",\"requestState\":\"later\"}"
#define DONE "\"result\":{\"resultType\":\"complete\",\"content\":[]}"

/* ---- who is asked -------------------------------------------------------- */

struct asked {
    struct fixture f;
    struct told inside; /* states: began to ask; done: was told to stop */
};

/* Says no at once. */
static int
say_no(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    told_state(NULL, 0, user);
    return mcp_result_decline(out);
}

/* Thinks until it is told to stop, and says no all the same. */
static int
think(mcp_request *req, mcp_result *out, void *user)
{
    told_state(NULL, 0, user);
    if (mcp_request_sleep(req, 60000) == MCP_E_CANCELED)
        told_done(NULL, MCP_E_CANCELED, NULL, user);
    return mcp_result_decline(out);
}

static int
fail_at_it(mcp_request *req, mcp_result *out, void *user)
{
    (void)out;
    (void)user;
    return mcp_request_fail(req, -32042, NULL, "not %s", "now");
}

static void
asked_open(struct asked *a, mcp_client_options *opt)
{
    fixture_prepare(&a->f, MCP_ERA_MODERN);
    told_init(&a->inside);
    opt->allocator = &a->f.mem.allocator;
    opt->elicit.user = &a->inside;
    a->f.client = script_client(&a->f.s, opt);
}

static void
asked_close(struct asked *a)
{
    fixture_close(&a->f);
    told_clear(&a->inside);
}

static mcp_call *
start(struct asked *a, const mcp_call_options *opt)
{
    mcp_call *call = NULL;

    assert_int_equal(mcp_client_start_tool(a->f.client, "t", NULL, opt, told_done,
                                           &a->f.told, &call),
                     0);
    return call;
}

/* A call whose question is being thought about. */
static mcp_call *
start_thinking(struct asked *a, const mcp_call_options *opt)
{
    mcp_call *call;

    script_plan(&a->f.s, "tools/call", ASKS("a"));
    call = start(a, opt);
    told_await(&a->inside, states, 1);
    return call;
}

/* All that the client ever wrote is there: so many requests, so many cancels. */
static void
assert_wrote(struct asked *a, size_t calls, size_t frames)
{
    mcp_client_close(a->f.client);
    script_await_end(&a->f.s);
    assert_int_equal(script_count(&a->f.s, "tools/call"), calls);
    assert_int_equal(script_count(&a->f.s, FRAME), frames);
}

static void
assert_has(const char *line, const char *part)
{
    if (!strstr(line, part))
        fail_msg("%s is not in %s", part, line);
}

/* ---- ids ----------------------------------------------------------------- */

static void
each_round_has_an_id_of_its_own(void **state)
{
    const char *first, *last;
    struct asked a;
    mcp_call *call;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.reply = say_no));
    script_plan(&a.f.s, "tools/call", ASKS("a"));
    script_plan(&a.f.s, "tools/call", ASKS("b"));
    script_plan(&a.f.s, "tools/call", NULL);
    call = start(&a, &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("2")));
    first = mcp_call_id(call);
    last = script_line(&a.f.s, "tools/call", 3);
    assert_has(script_line(&a.f.s, "tools/call", 1), "\"id\":\"2\"");
    assert_has(script_line(&a.f.s, "tools/call", 2), "\"id\":1,");
    assert_has(script_line(&a.f.s, "tools/call", 2), "\"requestState\":\"state-a\"");
    assert_has(last, "\"id\":3,"); /* 2 was the first one's */
    assert_has(last, "\"inputResponses\":{\"b\":{\"action\":\"decline\"");
    assert_string_equal(first, "\"2\"");
    assert_string_equal(mcp_call_id(call), "3");
    script_say(&a.f.s, "{\"jsonrpc\":\"2.0\",\"id\":3," DONE "}");
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL), 0);
    assert_string_equal(first, "\"2\""); /* it is still good */
    mcp_call_free(call);
    asked_close(&a);
}

static void
A8_the_id_of_a_round_that_is_over_is_free(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("mine"));
    struct asked a;
    mcp_call *call, *other;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.reply = say_no));
    script_plan(&a.f.s, "tools/call", ASKS("a"));
    script_plan(&a.f.s, "tools/call", NULL);
    call = start(&a, &opt);
    script_line(&a.f.s, "tools/call", 2);
    script_plan(&a.f.s, "tools/call", DONE);
    other = start(&a, &opt);
    assert_int_equal(mcp_call_wait(other, MCP_TIMEOUT_NONE, NULL, NULL), 0);
    assert_int_equal(mcp_call_wait(call, 0, NULL, NULL), MCP_E_AGAIN);
    assert_int_equal(mcp_client_call(a.f.client, "x/y", NULL,
                                     &MCP_CALL_OPTIONS(.id = MCP_NUMBER_ID(1)), NULL,
                                     NULL),
                     MCP_E_ID_IN_USE); /* that of the second round */
    mcp_call_free(call);
    mcp_call_free(other);
    asked_close(&a);
}

static void
A18_the_token_of_a_round_is_its_id(void **state)
{
    struct asked a;
    mcp_call *call;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.reply = say_no));
    script_plan(&a.f.s, "tools/call", ASKS("a"));
    script_plan(&a.f.s, "tools/call", NULL);
    call = start(&a,
                 &MCP_CALL_OPTIONS(.meta = "{\"k\":1}", .messages = MCP_SEVERITY_ERROR,
                                   .on_progress = told_progress, .user = &a.f.told));
    assert_has(script_line(&a.f.s, "tools/call", 2), "\"progressToken\":2");
    assert_has(script_line(&a.f.s, "tools/call", 2), "\"k\":1");
    assert_has(script_line(&a.f.s, "tools/call", 2),
               "\"io.modelcontextprotocol/logLevel\":\"error\"");
    script_say(&a.f.s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                       "\"params\":{\"progressToken\":2,\"progress\":4}}");
    told_await(&a.f.told, steps, 1);
    mcp_call_free(call);
    asked_close(&a);
}

struct reader {
    mcp_call *call;
    atomic_bool stop;
};

static void *
read_ids(void *user)
{
    struct reader *reader = user;
    size_t length = 0;

    do /* also if it is late: all is over by then */
        length += strlen(mcp_call_id(reader->call));
    while (!atomic_load(&reader->stop));
    assert_true(length > 0);
    return NULL;
}

static void
an_id_may_be_read_by_any_thread(void **state)
{
    struct reader reader = {.call = NULL};
    pthread_t thread;
    struct asked a;
    int i;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.run = say_no));
    script_plan(&a.f.s, "tools/call", NULL);
    reader.call = start(&a, &MCP_CALL_OPTIONS(.rounds = 20));
    script_line(&a.f.s, "tools/call", 1);
    assert_int_equal(pthread_create(&thread, NULL, read_ids, &reader), 0);
    for (i = 0; i < 19; i++)
        script_plan(&a.f.s, "tools/call", ASKS("a"));
    script_plan(&a.f.s, "tools/call", DONE);
    script_say(&a.f.s, "{\"jsonrpc\":\"2.0\",\"id\":1," ASKS("first") "}");
    assert_int_equal(mcp_call_wait(reader.call, MCP_TIMEOUT_NONE, NULL, NULL), 0);
    atomic_store(&reader.stop, true);
    pthread_join(thread, NULL);
    assert_string_equal(mcp_call_id(reader.call), "21");
    mcp_call_free(reader.call);
    asked_close(&a);
}

/* ---- in a round ---------------------------------------------------------- */

static void
L1_a_cancel_names_the_round_under_way(void **state)
{
    struct asked a;
    mcp_call *call;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.reply = say_no));
    script_plan(&a.f.s, "tools/call", ASKS("a"));
    script_plan(&a.f.s, "tools/call", NULL);
    call = start(&a, NULL);
    script_line(&a.f.s, "tools/call", 2);
    assert_int_equal(mcp_call_cancel(call, "enough"), 0);
    told_await(&a.f.told, done, 1);
    assert_int_equal(told_status(&a.f.told), MCP_E_CANCELED);
    assert_int_equal(mcp_call_flush(call, AWAIT_MS), 0);
    assert_has(script_line(&a.f.s, FRAME, 1), "\"requestId\":2,");
    assert_wrote(&a, 2, 1);
    mcp_call_free(call);
    asked_close(&a);
}

static void
L1_a_timeout_names_the_round_under_way(void **state)
{
    struct asked a;
    mcp_error err;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.reply = say_no));
    fixture_hold_time(&a.f);
    script_plan(&a.f.s, "tools/call", ASKS("a"));
    script_plan_late(&a.f.s, "tools/call", NULL, &a.f.clock, 2500);
    assert_int_equal(mcp_client_call_tool(a.f.client, "t", NULL,
                                          &MCP_CALL_OPTIONS(.timeout_ms = 2500), NULL,
                                          &err),
                     MCP_E_TIMEOUT);
    assert_string_equal(err.message, "tools/call timed out after 2500 ms");
    assert_has(script_line(&a.f.s, FRAME, 1), "\"requestId\":2,");
    asked_close(&a);
}

/* ---- between two rounds -------------------------------------------------- */

static void
L2_between_rounds_a_cancel_stops_who_is_asked(void **state)
{
    struct asked a;
    mcp_call *call;
    mcp_error err;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.run = think));
    call = start_thinking(&a, NULL);
    assert_int_equal(mcp_call_cancel(call, "enough"), 0);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, &err), MCP_E_CANCELED);
    assert_string_equal(err.message, "tools/call was canceled: enough");
    told_await(&a.inside, done, 1);
    assert_int_equal(mcp_call_flush(call, 0), 0); /* there is nothing to tell */
    mcp_call_free(call);
    assert_wrote(&a, 1, 0); /* L7: what it said afterwards is not sent */
    asked_close(&a);
}

static void
L2_between_rounds_a_free_stops_who_is_asked(void **state)
{
    struct asked a;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.run = think));
    mcp_call_free(start_thinking(&a, NULL));
    told_await(&a.inside, done, 1);
    assert_wrote(&a, 1, 0);
    assert_int_equal(told_count(&a.f.told, done), 0);
    asked_close(&a);
}

static void
L2_between_rounds_a_scope_ends_the_call(void **state)
{
    mcp_scope *scope;
    struct asked a;
    mcp_call *call;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.run = think));
    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    call = start_thinking(&a, &MCP_CALL_OPTIONS(.scope = scope));
    mcp_scope_cancel(scope, "all of it");
    told_await(&a.f.told, done, 1);
    assert_int_equal(told_status(&a.f.told), MCP_E_CANCELED);
    told_await(&a.inside, done, 1);
    mcp_call_free(call);
    mcp_scope_free(scope);
    assert_wrote(&a, 1, 0);
    asked_close(&a);
}

static void
L2_between_rounds_a_close_ends_the_call(void **state)
{
    struct asked a;
    mcp_call *call;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.run = think));
    call = start_thinking(&a, NULL);
    mcp_client_close(a.f.client);
    told_await(&a.f.told, done, 1);
    assert_int_equal(told_status(&a.f.told), MCP_E_CLOSED);
    told_await(&a.inside, done, 1);
    mcp_call_free(call);
    assert_wrote(&a, 1, 0);
    asked_close(&a);
}

static void
L2_who_is_asked_has_no_timeout_but_the_total(void **state)
{
    struct asked a;
    mcp_call *call;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.run = think));
    fixture_hold_time(&a.f);
    call = start_thinking(&a, &MCP_CALL_OPTIONS(.timeout_ms = 1000, .total_ms = 2500));
    virtual_clock_pass(&a.f.clock, 2499);
    assert_int_equal(mcp_call_wait(call, 0, NULL, NULL), MCP_E_AGAIN);
    virtual_clock_pass(&a.f.clock, 1);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL),
                     MCP_E_TOTAL_TIMEOUT); /* L5 */
    mcp_call_free(call);
    told_await(&a.inside, done, 1);
    assert_wrote(&a, 1, 0);
    asked_close(&a);
}

static void
L3_a_pause_ends_at_once(void **state)
{
    struct asked a;
    mcp_call *call;
    int i;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS());
    for (i = 0; i < 3; i++)
        script_plan(&a.f.s, "tools/call", WAITS);
    call = start(&a, NULL);
    script_line(&a.f.s, "tools/call", 2);
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL), MCP_E_CANCELED);
    mcp_call_free(call);
    asked_close(&a);
}

static void
L4_a_question_that_nobody_answers_fails_the_call(void **state)
{
    struct asked a;
    mcp_call *call;
    mcp_error err;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.reply = fail_at_it));
    script_plan(&a.f.s, "tools/call", ASKS("a"));
    call = start(&a, NULL);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, &err), MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32042);
    assert_string_equal(err.message, "not now");
    assert_int_equal(mcp_call_error(call)->rpc_code, -32042);
    assert_null(mcp_call_error_data(call));
    mcp_call_free(call);
    assert_wrote(&a, 1, 0);
    asked_close(&a);
}

/* ---- how often ----------------------------------------------------------- */

static void
L6_a_server_may_not_ask_for_ever(void **state)
{
    struct asked a;
    mcp_error err;
    int i;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.reply = say_no, .rounds = 3));
    for (i = 0; i < 4; i++)
        script_plan(&a.f.s, "tools/call", ASKS("a"));
    assert_int_equal(mcp_client_call_tool(a.f.client, "t", NULL, NULL, NULL, &err),
                     MCP_E_LIMIT);
    assert_string_equal(err.message,
                        "tools/call: the server has asked more than 3 times");
    for (i = 0; i < 2; i++)
        script_plan(&a.f.s, "tools/call", ASKS("a"));
    assert_int_equal(mcp_client_call_tool(a.f.client, "t", NULL,
                                          &MCP_CALL_OPTIONS(.rounds = 1), NULL, &err),
                     MCP_E_LIMIT);
    assert_int_equal(told_count(&a.inside, states), 4);
    assert_wrote(&a, 6, 0);
    asked_close(&a);
}

static void
rounds_may_be_the_callers_own(void **state)
{
    struct asked a;
    mcp_reply *reply;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.reply = say_no));
    script_plan(&a.f.s, "tools/call", ASKS("a"));
    assert_int_equal(mcp_client_call_tool(a.f.client, "t", NULL,
                                          &MCP_CALL_OPTIONS(.rounds = -1), &reply,
                                          NULL),
                     0);
    assert_true(mcp_json_is_string(
        mcp_json_get(mcp_reply_result(reply), "requestState"), "state-a"));
    mcp_reply_free(reply);
    assert_int_equal(told_count(&a.inside, states), 0);
    assert_int_equal(mcp_client_call_tool(a.f.client, "t", NULL,
                                          &MCP_CALL_OPTIONS(.rounds = -2), NULL, NULL),
                     MCP_E_INVAL);
    assert_wrote(&a, 1, 0);
    asked_close(&a);
}

static void
L8_the_state_of_a_canceled_call_is_forgotten(void **state)
{
    struct asked a;
    mcp_call *call;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.run = think));
    call = start_thinking(&a, NULL);
    mcp_call_cancel(call, NULL);
    told_await(&a.f.told, done, 1);
    script_plan(&a.f.s, "tools/call", DONE);
    assert_int_equal(mcp_client_call_tool(a.f.client, "t", NULL, NULL, NULL, NULL), 0);
    mcp_call_free(call);
    assert_wrote(&a, 2, 0);
    assert_int_equal(script_count(&a.f.s, "state-a"), 0);
    asked_close(&a);
}

static void
what_took_several_rounds_is_not_kept(void **state)
{
    static const char *const kept = "\"result\":{\"resultType\":\"complete\","
                                    "\"contents\":[],\"ttlMs\":3600000,"
                                    "\"cacheScope\":\"private\"}";
    struct asked a;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.reply = say_no));
    script_plan(&a.f.s, "resources/read", ASKS("a"));
    script_plan(&a.f.s, "resources/read", kept);
    script_plan(&a.f.s, "resources/read", kept);
    assert_int_equal(mcp_client_read(a.f.client, "x:1", NULL, NULL, NULL), 0);
    assert_int_equal(mcp_client_read(a.f.client, "x:1", NULL, NULL, NULL), 0);
    assert_int_equal(mcp_client_read(a.f.client, "x:1", NULL, NULL, NULL), 0);
    assert_int_equal(script_count(&a.f.s, "resources/read"), 3);
    asked_close(&a);
}

/* ---- memory -------------------------------------------------------------- */

static void
two_rounds(struct test_mem *mem)
{
    long fail_at = atomic_load(&mem->fail_at);
    struct told inside;
    mcp_client *client;
    struct script s;
    int r;

    told_init(&inside);
    script_open(&s, MCP_ERA_MODERN);
    atomic_store(&mem->fail_at, 0);
    client = script_client(
        &s, &SCRIPT_OPTIONS(.allocator = &mem->allocator,
                            .elicit = {.reply = say_no, .user = &inside}));
    atomic_store(&mem->fail_at, atomic_load(&mem->total) + fail_at);
    script_plan(&s, "tools/call", ASKS("a"));
    script_plan(&s, "tools/call", DONE);
    r = mcp_client_call_tool(client, "t", NULL, NULL, NULL, NULL);
    atomic_store(&mem->fail_at, 0);
    assert_true(r == 0 || atomic_load(&mem->failed) > 0);
    mcp_client_free(client);
    script_close(&s);
    told_clear(&inside);
}

static void
B34_a_cancel_by_hand_ends_a_call_between_rounds(void **state)
{
    struct asked a;
    mcp_call *call;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.run = think));
    call = start_thinking(&a, NULL);
    assert_int_equal(mcp_client_notify(a.f.client, FRAME,
                                       "{\"requestId\":1,\"reason\":\"by hand\"}"),
                     0);
    told_await(&a.f.told, done, 1);
    assert_int_equal(told_status(&a.f.told), MCP_E_CANCELED);
    told_await(&a.inside, done, 1);
    assert_wrote(&a, 1, 0); /* the request was answered: nothing to tell (L2) */
    mcp_call_free(call);
    asked_close(&a);
}

static void
a_request_that_cannot_ask_is_answered_by_none_that_does(void **state)
{
    static const char *const methods[] = {
        "tools/list",   "resources/list",      "resources/templates/list",
        "prompts/list", "completion/complete", "server/discover"};
    struct asked a;
    size_t i;

    (void)state;
    asked_open(&a, &SCRIPT_OPTIONS(.elicit.reply = say_no));
    for (i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        script_plan(&a.f.s, methods[i], ASKS("a"));
        assert_int_equal(
            mcp_client_call(a.f.client, methods[i], NULL, NULL, NULL, NULL),
            MCP_E_PROTO);
    }
    assert_int_equal(told_count(&a.inside, states), 0); /* nobody was asked */
    script_plan(&a.f.s, "x/any", ASKS("a"));            /* an extension may */
    script_plan(&a.f.s, "x/any", DONE);
    assert_int_equal(mcp_client_call(a.f.client, "x/any", NULL, NULL, NULL, NULL), 0);
    assert_int_equal(told_count(&a.inside, states), 1);
    asked_close(&a);
}

static void
each_allocation_of_two_rounds_may_fail(void **state)
{
    struct test_mem mem;
    long n, failed;

    (void)state;
    for (n = 1; n < 200; n++) {
        test_mem_init(&mem);
        atomic_store(&mem.fail_at, n);
        two_rounds(&mem);
        failed = atomic_load(&mem.failed);
        test_mem_done(&mem);
        if (failed == 0)
            break;
    }
    assert_in_range(n, 10, 100);
}

TEST_MAIN(TEST(each_round_has_an_id_of_its_own),
          TEST(A8_the_id_of_a_round_that_is_over_is_free),
          TEST(A18_the_token_of_a_round_is_its_id),
          TEST(an_id_may_be_read_by_any_thread),
          TEST(L1_a_cancel_names_the_round_under_way),
          TEST(L1_a_timeout_names_the_round_under_way),
          TEST(L2_between_rounds_a_cancel_stops_who_is_asked),
          TEST(L2_between_rounds_a_free_stops_who_is_asked),
          TEST(L2_between_rounds_a_scope_ends_the_call),
          TEST(L2_between_rounds_a_close_ends_the_call),
          TEST(L2_who_is_asked_has_no_timeout_but_the_total),
          TEST(L3_a_pause_ends_at_once),
          TEST(L4_a_question_that_nobody_answers_fails_the_call),
          TEST(L6_a_server_may_not_ask_for_ever), TEST(rounds_may_be_the_callers_own),
          TEST(L8_the_state_of_a_canceled_call_is_forgotten),
          TEST(what_took_several_rounds_is_not_kept),
          TEST(B34_a_cancel_by_hand_ends_a_call_between_rounds),
          TEST(a_request_that_cannot_ask_is_answered_by_none_that_does),
          TEST(each_allocation_of_two_rounds_may_fail))
