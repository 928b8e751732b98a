/* http_reached_test.c - clients over HTTP: calls, how they end, and what is told of that */
#include "api/http_reached.h"

#include <mcp/ask.h>
#include <mcp/subscription.h>

/* ---- calls --------------------------------------------------------------- */

static void
a_client_finds_the_era_and_calls(void **state)
{
    enum mcp_era era = *(enum mcp_era *)*state;
    struct reached f;
    mcp_reply *reply;

    reached_open(&f, state);
    assert_string_equal(mcp_client_version(f.client),
                        era == MCP_ERA_MODERN ? "2026-07-28" : "2025-11-25");
    assert_string_equal(
        mcp_json_string(mcp_json_get(mcp_client_server_info(f.client), "name"), ""),
        "raw");
    assert_int_equal(mcp_client_pid(f.client), 0);
    reached_says(f.client);
    assert_int_equal(mcp_client_list_all(f.client, MCP_LIST_TOOLS, NULL, &reply, NULL),
                     0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 4);
    mcp_reply_free(reply);
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    assert_int_equal(raw_counts(&f.raw).sessions, era == MCP_ERA_LEGACY);
    mcp_client_free(f.client);
    f.client = NULL;
    RAW_UNTIL(raw_counts(&f.raw).sessions == 0); /* D19: it was deleted */
    RAW_UNTIL(raw_counts(&f.raw).connections == 0);
    reached_close(&f);
}

static void
an_error_of_the_server_is_the_server_s(void **state)
{
    struct reached f;
    mcp_error err;

    reached_open(&f, state);
    assert_int_equal(mcp_client_call_tool(f.client, "fail", NULL, NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32077);
    assert_string_equal(err.message, "not today");
    assert_int_equal(err.http_status, 0);
    reached_says(f.client);
    reached_close(&f);
}

static void
I12_progress_comes_before_the_end(void **state)
{
    struct reached f;
    mcp_call_options opt;

    reached_open(&f, state);
    opt = MCP_CALL_OPTIONS(.on_progress = told_progress, .user = &f.told);
    for (size_t i = 1; i <= 5; i++) {
        f.told.last_step = 0;
        assert_int_equal(
            mcp_client_call_tool(f.client, "steps", NULL, &opt, NULL, NULL), 0);
        assert_int_equal(told_count(&f.told, steps), i * 20);
    }
    assert_false(f.told.out_of_order);
    reached_close(&f);
}

#define MANY 50

static void
many_calls_are_answered_each_with_its_own(void **state)
{
    mcp_call *calls[MANY];
    struct reached f;
    mcp_reply *reply;

    reached_open(&f, state);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(mcp_client_start_tool(f.client, i % 2 ? "say" : "steps", NULL,
                                               NULL, NULL, NULL, &calls[i]),
                         0);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, &reply, NULL), 0);
        assert_string_equal(mcp_reply_text(reply), i % 2 ? "said to <>" : "done");
        mcp_reply_free(reply);
        mcp_call_free(calls[i]);
    }
    reached_close(&f);
}

#define STREAMS 6

/* What comes on one stream. */
struct ear {
    int number;
    atomic_int heard, strange;
};

static void
ear_progress(mcp_call *call, double progress, double total, const char *message,
             void *user)
{
    struct ear *ear = user;

    (void)call, (void)total, (void)message;
    atomic_fetch_add(&ear->heard, 1);
    if ((int)progress != ear->number)
        atomic_fetch_add(&ear->strange, 1);
}

/* Reports its number, and answers with it once it may. */
static int
tool_number(mcp_request *req, mcp_result *out, void *user)
{
    int64_t number = mcp_json_int(mcp_json_get(mcp_request_arguments(req), "n"), 0);

    (void)mcp_request_progress(req, (double)number, 0, NULL);
    gate_pass(user);
    return mcp_result_textf(out, "%d", (int)number);
}

static void
many_streams_are_heard_at_once_each_by_its_call(void **state)
{
    size_t inlets = *(enum mcp_era *)*state == MCP_ERA_LEGACY;
    struct gate gate = {0};
    struct ear ears[STREAMS] = {{0}};
    mcp_call *calls[STREAMS];
    struct reached f;
    mcp_reply *reply;
    char text[32];

    reached_open(&f, state);
    raw_tool(&f.raw, MCP_TOOL(.name = "number", .run = tool_number, .user = &gate));
    for (int i = 0; i < STREAMS; i++) {
        ears[i].number = i + 1;
        snprintf(text, sizeof(text), "{\"n\":%d}", i + 1);
        assert_int_equal(
            mcp_client_start_tool(
                f.client, "number", text,
                &MCP_CALL_OPTIONS(.on_progress = ear_progress, .user = &ears[i]), NULL,
                NULL, &calls[i]),
            0);
    }
    for (int i = 0; i < STREAMS; i++)
        RAW_UNTIL(atomic_load(&ears[i].heard) == 1);
    RAW_UNTIL(raw_counts(&f.raw).streams == STREAMS + inlets);
    atomic_store(&gate.open, true);
    for (int i = STREAMS - 1; i >= 0; i--) {
        assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, &reply, NULL), 0);
        snprintf(text, sizeof(text), "%d", i + 1);
        assert_string_equal(mcp_reply_text(reply), text);
        assert_int_equal(atomic_load(&ears[i].strange), 0);
        mcp_reply_free(reply);
        mcp_call_free(calls[i]);
    }
    reached_close(&f);
}

/* ---- how they end -------------------------------------------------------- */

static void
B1_a_cancel_reaches_the_handler_and_no_other(void **state)
{
    struct reached f;
    mcp_call *one, *other;
    mcp_error err;

    reached_open(&f, state);
    one = reached_hangs(&f, f.client, NULL);
    other = reached_hangs(&f, f.client, NULL);
    assert_int_equal(mcp_call_cancel(one, "enough"), 0);
    assert_int_equal(mcp_call_wait(one, MCP_TIMEOUT_NONE, NULL, &err), MCP_E_CANCELED);
    assert_string_equal(err.message, "tools/call was canceled: enough");
    assert_int_equal(mcp_call_flush(one, AWAIT_MS), 0);
    RAW_UNTIL(atomic_load(&f.gate.left) == 1);
    RAW_UNTIL(raw_counts(&f.raw).canceled_by_peer == 1);
    assert_int_equal(mcp_call_wait(other, 0, NULL, NULL), MCP_E_AGAIN);
    reached_says(f.client);
    assert_int_equal(raw_counts(&f.raw).live_handlers, 1);
    mcp_call_free(one);
    mcp_call_free(other); /* abandons it */
    RAW_UNTIL(atomic_load(&f.gate.left) == 2);
    reached_says(f.client);
    reached_close(&f);
}

/* A call of `hang` whose time is up once its handler has begun. */
static void
time_out(struct reached *f, struct virtual_clock *clock, bool in_all)
{
    int before = atomic_load(&f->gate.entered);
    mcp_call_options opt = MCP_CALL_OPTIONS(.rounds = 0);
    mcp_error err;
    mcp_call *call;

    *(in_all ? &opt.total_ms : &opt.timeout_ms) = MINUTE_MS;
    call = reached_hangs(f, f->client, &opt);
    virtual_clock_pass(clock, MINUTE_MS);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, &err),
                     in_all ? MCP_E_TOTAL_TIMEOUT : MCP_E_TIMEOUT);
    assert_string_equal(err.message,
                        in_all ? "tools/call used up its total time of 60000 ms"
                               : "tools/call timed out after 60000 ms");
    mcp_call_free(call);
    reached_says(f->client);
    RAW_UNTIL(atomic_load(&f->gate.left) == before + 1);
}

static void
B35_a_timeout_reaches_the_handler(void **state)
{
    struct virtual_clock clock;
    struct reached f;

    reached_open(&f, state);
    reached_hold_time(&f, &clock);
    time_out(&f, &clock, false);
    time_out(&f, &clock, true);
    reached_says(f.client);
    reached_close(&f);
}

static void
B35_a_scope_reaches_all_handlers(void **state)
{
    mcp_call *calls[3];
    struct reached f;
    mcp_scope *scope;

    reached_open(&f, state);
    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    for (int i = 0; i < 3; i++)
        calls[i] = reached_hangs(&f, f.client, &MCP_CALL_OPTIONS(.scope = scope));
    assert_int_equal(mcp_scope_cancel(scope, "all"), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mcp_call_wait(calls[i], MCP_TIMEOUT_NONE, NULL, NULL),
                         MCP_E_CANCELED);
        mcp_call_free(calls[i]);
    }
    RAW_UNTIL(atomic_load(&f.gate.left) == 3);
    reached_says(f.client);
    mcp_scope_free(scope);
    reached_close(&f);
}

/* B23 in the legacy era. */
static void
B22_a_client_that_is_freed_ends_its_calls_on_both_sides(void **state)
{
    struct reached f;
    mcp_call *calls[3];

    reached_open(&f, state);
    for (int i = 0; i < 3; i++)
        calls[i] = reached_hangs(&f, f.client, NULL);
    mcp_client_free(f.client);
    f.client = NULL;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mcp_call_wait(calls[i], 0, NULL, NULL), MCP_E_CLOSED);
        mcp_call_free(calls[i]);
    }
    RAW_UNTIL(atomic_load(&f.gate.left) == 3);
    RAW_UNTIL(raw_counts(&f.raw).sessions == 0);
    reached_close(&f);
}

static void
B26_a_detached_call_goes_on(void **state)
{
    struct reached f;
    mcp_call *call;

    reached_open(&f, state);
    call = reached_hangs(&f, f.client,
                         &MCP_CALL_OPTIONS(.on_abandon = MCP_ABANDON_DETACHES));
    mcp_call_free(call);
    reached_says(f.client);
    reached_says(f.client);
    assert_int_equal(raw_counts(&f.raw).live_handlers, 1);
    assert_int_equal(atomic_load(&f.gate.left), 0);
    reached_close(&f);
}

static void
two_clients_do_not_disturb_each_other(void **state)
{
    mcp_client *other;
    struct reached f;
    mcp_call *here, *there;

    reached_open(&f, state);
    other = reached_client(&f, REACHED_OPTIONS());
    /* the same id in both, under way at once */
    here = reached_hangs(&f, f.client, &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("x")));
    there = reached_hangs(&f, other, &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("x")));
    assert_int_equal(mcp_call_cancel(here, NULL), 0);
    RAW_UNTIL(atomic_load(&f.gate.left) == 1);
    assert_int_equal(mcp_call_wait(there, 0, NULL, NULL), MCP_E_AGAIN);
    mcp_client_free(f.client);
    f.client = NULL;
    reached_says(other);
    assert_int_equal(raw_counts(&f.raw).live_handlers, 1);
    mcp_call_free(here);
    mcp_call_free(there);
    mcp_client_free(other);
    RAW_UNTIL(atomic_load(&f.gate.left) == 2);
    reached_close(&f);
}

/* The server goes while calls are under way; the connection's loss is theirs. */
static void
B22_a_server_that_goes_ends_the_calls(void **state)
{
    struct reached f;
    mcp_call *call;
    mcp_error err;
    int r;

    reached_serve(&f,
                  MCP_SERVER_OPTIONS(.era = *(enum mcp_era *)*state, .drain_ms = 20),
                  MCP_HTTP_OPTIONS(.port = 0));
    f.client = reached_client(&f, REACHED_OPTIONS(.flush_ms = AWAIT_MS));
    call = reached_hangs(&f, f.client, NULL);
    mcp_server_stop(f.raw.server);
    r = mcp_call_wait(call, AWAIT_MS, NULL, &err);
    assert_true(r == MCP_E_CLOSED || r == MCP_E_PEER);
    mcp_call_free(call);
    RAW_UNTIL(served_is_refused(f.port));
    RAW_UNTIL(raw_counts(&f.raw).connections == 0); /* that might be used once more */
    r = mcp_client_call_tool(f.client, "say", NULL, NULL, NULL, &err);
    assert_int_equal(r, MCP_E_SEND_FAILED);
    assert_non_null(strstr(err.message, "tools/call: "));
    assert_non_null(strstr(err.message, "127.0.0.1"));
    assert_int_equal(err.http_status, 0);
    reached_close(&f);
}

/* ---- asking, and listening ------------------------------------------------- */

#define WHO                                                                \
    "{\"type\":\"object\",\"properties\":{\"who\":{\"type\":\"string\"}}," \
    "\"required\":[\"who\"]}"

static int
tool_ask(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *answer = mcp_request_answer(req, "who");

    (void)user;
    if (!answer)
        return mcp_request_elicit(req, "who",
                                  &MCP_ELICIT(.message = "Who?", .schema = WHO));
    return mcp_result_textf(
        out, "it is %s",
        mcp_json_string(mcp_json_get(mcp_json_get(answer, "content"), "who"), "?"));
}

static int
answer_alice(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_json(out, "{\"who\":\"alice\"}", 15);
}

static void
a_server_asks_and_is_answered(void **state)
{
    struct reached f;
    mcp_reply *reply;
    mcp_error err;

    reached_open(&f, state);
    raw_tool(&f.raw, MCP_TOOL(.name = "ask", .run = tool_ask));
    mcp_client_free(f.client);
    f.client = reached_client(&f, REACHED_OPTIONS(.elicit = {.run = answer_alice}));
    if (mcp_client_call_tool(f.client, "ask", NULL, NULL, &reply, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(mcp_reply_text(reply), "it is alice");
    mcp_reply_free(reply);
    reached_close(&f);
}

static void
L2_L10_a_cancel_takes_the_question_back(void **state)
{
    struct gate asked = {0};
    struct reached f;
    mcp_call *call;

    reached_open(&f, state);
    raw_tool(&f.raw, MCP_TOOL(.name = "ask", .run = tool_ask));
    mcp_client_free(f.client);
    f.client = reached_client(
        &f, REACHED_OPTIONS(.elicit = {.run = gate_hang, .user = &asked}));
    assert_int_equal(
        mcp_client_start_tool(f.client, "ask", NULL, NULL, NULL, NULL, &call), 0);
    RAW_UNTIL(atomic_load(&asked.entered) == 1);
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    RAW_UNTIL(atomic_load(&asked.left) == 1);
    mcp_call_free(call);
    reached_says(f.client);
    reached_close(&f);
}

static void
expect_change(mcp_subscription *s, enum mcp_change change)
{
    mcp_notice event;

    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &event), 0);
    assert_int_equal(event.change, change);
}

static void
a_subscription_hears_of_changes(void **state)
{
    static const char *const uris[] = {"test:///a", NULL};
    mcp_subscription *s;
    struct reached f;
    mcp_error err;

    reached_serve(&f,
                  MCP_SERVER_OPTIONS(.era = *(enum mcp_era *)*state,
                                     .offers = MCP_TOOLS_CHANGED | MCP_RESOURCE_UPDATED,
                                     .changes_ms = -1),
                  MCP_HTTP_OPTIONS(.port = 0));
    assert_int_equal(mcp_server_add_resource(
                         f.raw.server,
                         &MCP_RESOURCE(.uri = "test:///a", .name = "a", .text = "text"),
                         NULL),
                     0);
    f.client = reached_client(&f, REACHED_OPTIONS());
    if (mcp_client_subscribe(f.client,
                             &MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED, .uris = uris),
                             &s, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(mcp_subscription_lists(s), MCP_TOOLS_CHANGED);
    assert_true(mcp_subscription_watches(s, "test:///a"));
    raw_tool(&f.raw, MCP_TOOL(.name = "new", .reply = served_say));
    expect_change(s, MCP_TOOLS_CHANGED);
    assert_int_equal(mcp_server_resource_updated(f.raw.server, "test:///a"), 0);
    expect_change(s, MCP_RESOURCE_UPDATED);
    reached_says(f.client);
    mcp_subscription_free(s);
    reached_says(f.client);
    RAW_UNTIL(raw_counts(&f.raw).streams ==
              (*(enum mcp_era *)*state == MCP_ERA_LEGACY));
    reached_close(&f);
}

TEST_MAIN(IN_BOTH_ERAS(a_client_finds_the_era_and_calls),
          IN_BOTH_ERAS(an_error_of_the_server_is_the_server_s),
          IN_BOTH_ERAS(I12_progress_comes_before_the_end),
          IN_BOTH_ERAS(many_calls_are_answered_each_with_its_own),
          IN_BOTH_ERAS(many_streams_are_heard_at_once_each_by_its_call),
          IN_BOTH_ERAS(B1_a_cancel_reaches_the_handler_and_no_other),
          IN_BOTH_ERAS(B35_a_timeout_reaches_the_handler),
          IN_BOTH_ERAS(B35_a_scope_reaches_all_handlers),
          IN_BOTH_ERAS(B22_a_client_that_is_freed_ends_its_calls_on_both_sides),
          IN_BOTH_ERAS(B26_a_detached_call_goes_on),
          IN_BOTH_ERAS(two_clients_do_not_disturb_each_other),
          IN_BOTH_ERAS(B22_a_server_that_goes_ends_the_calls),
          IN_BOTH_ERAS(a_server_asks_and_is_answered),
          IN_BOTH_ERAS(L2_L10_a_cancel_takes_the_question_back),
          IN_BOTH_ERAS(a_subscription_hears_of_changes))
