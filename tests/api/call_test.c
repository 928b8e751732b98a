/* call_test.c - how calls end, in both eras, as the server and the caller see it */
#include <mcp/client.h>
#include <stdio.h>
#include <string.h>

#include "api/client_fixture.h"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

static void
open_with(struct fixture *f, enum mcp_era era, mcp_client_options *opt)
{
    fixture_prepare(f, era);
    opt->allocator = &f->mem.allocator;
    f->client = script_client(&f->s, opt);
}

static mcp_call *
start(struct fixture *f, const char *tool, const mcp_call_options *opt)
{
    mcp_call *call = NULL;

    assert_int_equal(
        mcp_client_start_tool(f->client, tool, NULL, opt, told_done, &f->told, &call),
        0);
    return call;
}

/* Start a tool that hangs, and wait until the server has the request. */
static mcp_call *
start_hanging(struct fixture *f, const mcp_call_options *opt, size_t nth)
{
    mcp_call *call = start(f, "hang", opt);

    script_line(&f->s, "\"hang\"", nth);
    return call;
}

static void
assert_has(const char *line, const char *part)
{
    if (!strstr(line, part))
        fail_msg("%s is not in %s", part, line);
}

/* One round trip: all that was written before has arrived. */
static void
settle(struct fixture *f)
{
    assert_int_equal(mcp_client_ping(f->client, NULL, NULL), 0);
}

#define FRAME "notifications/cancelled"

/* ---- cancel -------------------------------------------------------------- */

static void
B1_a_cancel_reaches_the_server(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    call = start_hanging(&f, NULL, 1);
    assert_int_equal(mcp_call_cancel(call, "no more"), 0);
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), MCP_E_CANCELED);
    assert_has(script_line(&f.s, FRAME, 1), "\"requestId\":1");
    assert_has(script_line(&f.s, FRAME, 1), "\"reason\":\"no more\"");
    settle(&f); /* the session goes on */
    mcp_call_free(call);
    fixture_close(&f);
}

static void
B2_only_that_call_ends(void **state)
{
    mcp_call *first, *second;
    struct fixture f;
    mcp_error err;

    fixture_open(&f, state);
    first = start_hanging(&f, NULL, 1);
    second = start_hanging(&f, NULL, 2);
    mcp_call_cancel(first, NULL);
    assert_int_equal(mcp_call_wait(first, MCP_TIMEOUT_NONE, NULL, &err),
                     MCP_E_CANCELED);
    assert_int_equal(mcp_call_wait(second, 0, NULL, &err), MCP_E_AGAIN);
    script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    assert_int_equal(mcp_call_wait(second, MCP_TIMEOUT_NONE, NULL, &err), 0);
    mcp_call_free(first);
    mcp_call_free(second);
    fixture_close(&f);
}

static void
B3_a_timeout_reaches_the_server(void **state)
{
    struct fixture f;
    mcp_error err;
    int r;

    fixture_open(&f, state);
    r = mcp_client_call_tool(f.client, "hang", NULL,
                             &MCP_CALL_OPTIONS(.timeout_ms = 30), NULL, &err);
    assert_int_equal(r, MCP_E_TIMEOUT);
    assert_int_equal(err.status, MCP_E_TIMEOUT);
    assert_int_equal(err.rpc_code, 0); /* B31 */
    assert_string_equal(err.message, "tools/call timed out after 30 ms");
    assert_has(script_line(&f.s, FRAME, 1), "timed out after 30 ms");
    settle(&f);                                          /* B30 */
    assert_int_equal(script_count(&f.s, "\"hang\""), 1); /* B29 */
    fixture_close(&f);
}

static void
B4_the_rule_is_the_same_for_every_method(void **state)
{
    static const char *const methods[] = {"resources/read", "prompts/get", "tools/list",
                                          "logging/setLevel", "x/custom"};
    struct fixture f;
    mcp_call *call;
    size_t i;

    fixture_open(&f, state);
    settle(&f);
    script_ignore(&f.s, true);
    for (i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        assert_int_equal(
            mcp_client_start(f.client, methods[i], NULL, NULL, NULL, NULL, &call), 0);
        script_line(&f.s, methods[i], 1);
        mcp_call_cancel(call, methods[i]);
        script_line(&f.s, FRAME, i + 1);
        mcp_call_free(call);
    }
    fixture_close(&f);
}

static void
B12_a_cancel_is_ahead_of_what_follows(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    call = start_hanging(&f, NULL, 1);
    mcp_call_cancel(call, NULL);
    mcp_call_free(call);
    settle(&f);
    assert_true(script_place(&f.s, FRAME) + 1 == script_place(&f.s, "\"id\":2"));
    fixture_close(&f);
}

static void
B12_a_close_does_not_overtake_a_cancel(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    call = start_hanging(&f, NULL, 1);
    mcp_call_cancel(call, NULL);
    mcp_client_close(f.client);
    script_await_end(&f.s);
    assert_int_equal(script_count(&f.s, FRAME), 1);
    mcp_call_free(call);
    fixture_close(&f);
}

static void
B13_there_is_one_signal_at_most(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    call = start_hanging(&f, &MCP_CALL_OPTIONS(.timeout_ms = 60000), 1);
    assert_int_equal(mcp_call_cancel(call, "first"), 0);
    mcp_call_cancel(call, "second");
    told_await(&f.told, done, 1);
    assert_int_equal(mcp_call_cancel(call, "third"), MCP_E_STATE);
    mcp_call_free(call);
    mcp_client_close(f.client);
    script_await_end(&f.s);
    assert_int_equal(script_count(&f.s, FRAME), 1);
    assert_has(script_line(&f.s, FRAME, 1), "first");
    fixture_close(&f);
}

static void
B14_there_is_none_after_the_answer(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    call = start(&f, "echo", NULL);
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), 0);
    assert_int_equal(mcp_call_cancel(call, NULL), MCP_E_STATE);
    mcp_call_free(call);
    mcp_client_close(f.client);
    script_await_end(&f.s);
    assert_int_equal(script_count(&f.s, FRAME), 0);
    fixture_close(&f);
}

static void
B15_a_reason_is_clean_and_short(void **state)
{
    char reason[300];
    struct fixture f;
    const char *line;
    mcp_call *call;

    fixture_open(&f, state);
    memset(reason, 'r', sizeof reason);
    reason[sizeof reason - 1] = '\0';
    reason[0] = '\n';
    call = start_hanging(&f, NULL, 1);
    mcp_call_cancel(call, reason);
    line = script_line(&f.s, FRAME, 1);
    assert_has(line, "\"?rrr");
    assert_true(strlen(line) < 240);
    mcp_call_free(call);
    call = start_hanging(&f, NULL, 2);
    mcp_call_cancel(call, NULL);
    assert_has(script_line(&f.s, FRAME, 2), "\"reason\":\"canceled by the caller\"");
    mcp_call_free(call);
    fixture_close(&f);
}

static void
B26_a_detached_call_tells_nobody(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    call = start_hanging(&f, &MCP_CALL_OPTIONS(.on_abandon = MCP_ABANDON_DETACHES), 1);
    mcp_call_cancel(call, NULL);
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), MCP_E_CANCELED);
    script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    settle(&f);
    assert_int_equal(script_count(&f.s, FRAME), 0);
    mcp_call_free(call);
    fixture_close(&f);
}

static void
B32_freeing_abandons_and_nothing_is_told(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    call = start_hanging(&f, NULL, 1);
    mcp_call_free(call);
    assert_has(script_line(&f.s, FRAME, 1), "abandoned by the caller");
    settle(&f);
    assert_int_equal(told_count(&f.told, done), 0);
    fixture_close(&f);
}

static void
B5_canceled_before_it_was_sent_it_never_is(void **state)
{
    mcp_loop *loop;
    struct fixture f;
    mcp_call *call;

    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), 0);
    open_with(&f, MCP_ERA_MODERN, &SCRIPT_OPTIONS(.loop = loop, .no_wait = true));
    while (!mcp_client_version(f.client))
        assert_int_equal(mcp_loop_step(loop), 0);
    call = start(&f, "hang", NULL);
    mcp_call_cancel(call, NULL);
    while (told_count(&f.told, done) == 0)
        assert_int_equal(mcp_loop_step(loop), 0);
    assert_int_equal(told_status(&f.told), MCP_E_CANCELED);
    mcp_call_free(call);
    mcp_client_free(f.client);
    f.client = NULL;
    mcp_loop_free(loop);
    script_await_end(&f.s);
    assert_int_equal(script_count(&f.s, "\"hang\"") + script_count(&f.s, FRAME), 0);
    fixture_close(&f);
}

/* ---- other ends ---------------------------------------------------------- */

static void
B22_a_close_wakes_all_and_ends_what_follows(void **state)
{
    struct fixture f;
    mcp_call *call;
    mcp_error err;

    fixture_open(&f, state);
    call = start_hanging(&f, NULL, 1);
    mcp_client_close(f.client);
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), MCP_E_CLOSED);
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL, NULL, NULL, &err),
                     MCP_E_CLOSED);
    assert_string_equal(err.message, "the connection is closed");
    assert_int_equal(mcp_client_notify(f.client, "x/note", NULL), 0);
    script_await_end(&f.s);
    assert_int_equal(script_count(&f.s, FRAME), 0); /* EOF says it (B35) */
    mcp_call_free(call);
    fixture_close(&f);
}

static void
B22_a_server_that_hangs_up_wakes_all(void **state)
{
    struct fixture f;
    mcp_call *call;
    mcp_error err;

    fixture_open(&f, state);
    call = start_hanging(&f, NULL, 1);
    script_leave(&f.s);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, &err), MCP_E_CLOSED);
    assert_string_equal(err.message,
                        "the connection closed before tools/call was answered");
    mcp_call_free(call);
    fixture_close(&f);
}

static void
B31_an_error_of_the_server_is_its_own(void **state)
{
    const mcp_error *said;
    struct fixture f;
    mcp_call *call;
    mcp_error err;

    fixture_open(&f, state);
    call = start(&f, "fail", NULL);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, &err), MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32602);
    assert_string_equal(err.message, "not?like that");
    said = mcp_call_error(call);
    assert_int_equal(said->rpc_code, -32602);
    assert_true(
        mcp_json_is_string(mcp_json_get(mcp_call_error_data(call), "why"), "because"));
    mcp_call_free(call);
    fixture_close(&f);
}

static void
an_answer_that_is_none_ends_the_call(void **state)
{
    struct fixture f;
    mcp_error err;

    fixture_open(&f, state);
    assert_int_equal(mcp_client_call_tool(f.client, "wrong", NULL, NULL, NULL, &err),
                     MCP_E_PROTO);
    settle(&f);
    fixture_close(&f);
}

static void
A16_there_is_one_outcome_whoever_is_first(void **state)
{
    mcp_client_counts counts = {.size = sizeof counts};
    struct fixture f;
    int i;

    fixture_open(&f, state);
    for (i = 0; i < 200; i++) {
        mcp_call *call = start(&f, i % 2 ? "echo" : "fail",
                               &MCP_CALL_OPTIONS(.timeout_ms = 1 + i % 3));

        mcp_call_cancel(call, NULL);
        mcp_call_release(call);
    }
    told_await(&f.told, done, 200);
    settle(&f);
    assert_int_equal(told_count(&f.told, done), 200);
    assert_int_equal(mcp_client_count(f.client, &counts), 0);
    assert_int_equal(counts.started, 201);
    assert_int_equal(counts.calls, 0);
    assert_int_equal(
        counts.answered + counts.failed + counts.canceled + counts.timed_out, 201);
    fixture_close(&f);
}

/* ---- ids and tokens ------------------------------------------------------ */

static void
A8_an_id_is_free_when_its_end_is_told(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("seven"));
    struct fixture f;
    mcp_error err;
    int i;

    fixture_open(&f, state);
    for (i = 0; i < 50; i++)
        assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL, &opt, NULL, &err),
                         0);
    assert_int_equal(script_count(&f.s, "\"id\":\"seven\""), 50);
    fixture_close(&f);
}

static void
A4_an_id_in_flight_is_refused_and_nothing_is_written(void **state)
{
    struct fixture f;
    mcp_error err;
    mcp_call *call;

    fixture_open(&f, state);
    call = start_hanging(&f, &MCP_CALL_OPTIONS(.id = MCP_NUMBER_ID(7)), 1);
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL,
                                          &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("7")),
                                          NULL, &err),
                     MCP_E_ID_IN_USE);
    assert_string_equal(err.message, "request id \"7\" is in flight");
    script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}");
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, &err), 0);
    settle(&f);
    assert_int_equal(script_count(&f.s, "\"echo\""), 0);
    mcp_call_free(call);
    fixture_close(&f);
}

static void
A7_minted_ids_pass_over_those_in_flight(void **state)
{
    mcp_call *calls[4];
    struct fixture f;

    fixture_open(&f, state);
    calls[3] = start(&f, "hang", &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("3")));
    calls[0] = start(&f, "hang", NULL);
    calls[1] = start(&f, "hang", NULL);
    calls[2] = start(&f, "hang", NULL);
    assert_string_equal(mcp_call_id(calls[0]), "1"); /* A3 */
    assert_string_equal(mcp_call_id(calls[1]), "2");
    assert_string_equal(mcp_call_id(calls[2]), "4");
    assert_string_equal(mcp_call_id(calls[3]), "\"3\"");
    for (int i = 0; i < 4; i++)
        mcp_call_free(calls[i]);
    fixture_close(&f);
}

static void
A18_there_is_a_token_only_where_progress_is_wanted(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    call = start_hanging(&f, &MCP_CALL_OPTIONS(.meta = "{\"my/key\":1}"), 1);
    assert_null(strstr(script_line(&f.s, "\"hang\"", 1), "progressToken"));
    assert_has(script_line(&f.s, "\"hang\"", 1), "\"my/key\":1");
    mcp_call_free(call);
    call = start_hanging(&f,
                         &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("t"), .meta = "{\"k\":1}",
                                           .reset_on_progress = true),
                         2);
    assert_has(script_line(&f.s, "\"hang\"", 2), "\"progressToken\":\"t\"");
    assert_has(script_line(&f.s, "\"hang\"", 2), "\"k\":1");
    mcp_call_free(call);
    fixture_close(&f);
}

/* ---- time ---------------------------------------------------------------- */

static void
I1_the_calls_own_timeout_wins(void **state)
{
    struct fixture f;
    mcp_error err;
    mcp_call *call;

    (void)state;
    open_with(&f, MCP_ERA_MODERN, &SCRIPT_OPTIONS(.timeout_ms = 20));
    assert_int_equal(mcp_client_call_tool(f.client, "hang", NULL, NULL, NULL, &err),
                     MCP_E_TIMEOUT);
    assert_string_equal(err.message, "tools/call timed out after 20 ms");
    call = start_hanging(&f, &MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE), 2);
    assert_int_equal(mcp_client_call_tool(f.client, "hang", NULL, NULL, NULL, &err),
                     MCP_E_TIMEOUT);
    assert_int_equal(mcp_call_wait(call, 0, NULL, &err), MCP_E_AGAIN);
    mcp_call_free(call);
    assert_int_equal(mcp_client_call_tool(
                         f.client, "hang", NULL,
                         &MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NOW), NULL, &err),
                     MCP_E_TIMEOUT);
    fixture_close(&f);
}

/* The peer reports on a call, and the callback has been told. */
static void
report(struct fixture *f, mcp_call *call, int progress)
{
    char line[160];

    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
             "{\"progressToken\":%s,\"progress\":%d}}",
             mcp_call_id(call), progress);
    script_say(&f->s, line);
    told_await(&f->told, steps, (size_t)progress);
}

static void
I3_progress_prolongs_a_call_that_asked_for_it(void **state)
{
    struct fixture f;
    char line[160];
    mcp_call *call;
    int i;

    fixture_open(&f, state);
    fixture_hold_time(&f);
    call = start_hanging(
        &f,
        &MCP_CALL_OPTIONS(.timeout_ms = 1500, .reset_on_progress = true,
                          .on_progress = told_progress, .user = &f.told),
        1);
    for (i = 1; i <= 4; i++) {
        virtual_clock_pass(&f.clock, 1499);
        assert_int_equal(mcp_call_wait(call, 0, NULL, NULL), MCP_E_AGAIN);
        report(&f, call, i);
    }
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}",
             mcp_call_id(call));
    script_say(&f.s, line);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL), 0);
    mcp_call_free(call);
    fixture_close(&f);
}

static void
I5_the_total_is_absolute(void **state)
{
    struct fixture f;
    mcp_error err;

    fixture_open(&f, state);
    assert_int_equal(
        mcp_client_call_tool(f.client, "hang", NULL,
                             &MCP_CALL_OPTIONS(.total_ms = 30, .timeout_ms = 60000),
                             NULL, &err),
        MCP_E_TOTAL_TIMEOUT);
    assert_string_equal(err.message, "tools/call used up its total time of 30 ms");
    assert_has(script_line(&f.s, FRAME, 1), "total time of 30 ms used up"); /* I6 */
    fixture_close(&f);
}

#define IN_BOTH_ERAS(test) \
    TEST_AS("modern." #test, test, &modern), TEST_AS("legacy." #test, test, &legacy)

TEST_MAIN(IN_BOTH_ERAS(B1_a_cancel_reaches_the_server),
          IN_BOTH_ERAS(B2_only_that_call_ends),
          IN_BOTH_ERAS(B3_a_timeout_reaches_the_server),
          IN_BOTH_ERAS(B4_the_rule_is_the_same_for_every_method),
          IN_BOTH_ERAS(B12_a_cancel_is_ahead_of_what_follows),
          IN_BOTH_ERAS(B12_a_close_does_not_overtake_a_cancel),
          IN_BOTH_ERAS(B13_there_is_one_signal_at_most),
          IN_BOTH_ERAS(B14_there_is_none_after_the_answer),
          IN_BOTH_ERAS(B15_a_reason_is_clean_and_short),
          IN_BOTH_ERAS(B26_a_detached_call_tells_nobody),
          IN_BOTH_ERAS(B32_freeing_abandons_and_nothing_is_told),
          TEST(B5_canceled_before_it_was_sent_it_never_is),
          IN_BOTH_ERAS(B22_a_close_wakes_all_and_ends_what_follows),
          IN_BOTH_ERAS(B22_a_server_that_hangs_up_wakes_all),
          IN_BOTH_ERAS(B31_an_error_of_the_server_is_its_own),
          IN_BOTH_ERAS(an_answer_that_is_none_ends_the_call),
          IN_BOTH_ERAS(A16_there_is_one_outcome_whoever_is_first),
          IN_BOTH_ERAS(A8_an_id_is_free_when_its_end_is_told),
          IN_BOTH_ERAS(A4_an_id_in_flight_is_refused_and_nothing_is_written),
          IN_BOTH_ERAS(A7_minted_ids_pass_over_those_in_flight),
          IN_BOTH_ERAS(A18_there_is_a_token_only_where_progress_is_wanted),
          TEST(I1_the_calls_own_timeout_wins),
          TEST(I3_progress_prolongs_a_call_that_asked_for_it),
          IN_BOTH_ERAS(I5_the_total_is_absolute))
