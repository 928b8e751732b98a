/* asked_test.c - a client is asked within its own calls (2026-07-28) */
#include <stdlib.h>

#include "api/desk.h"

/* ---- a server by hand ------------------------------------------------------ */

/* The id, as JSON text, of the nth tools/call that was sent. */
static void
call_id(struct desk *d, size_t nth, char *into, size_t size)
{
    const char *line = script_line(&d->f.s, "\"tools/call\"", nth);
    mcp_doc *doc;
    char *text;

    assert_int_equal(mcp_doc_parse(line, strlen(line), NULL, &doc, NULL), 0);
    assert_int_equal(
        mcp_json_print(mcp_json_get(mcp_doc_root(doc), "id"), false, NULL, &text, NULL),
        0);
    snprintf(into, size, "%s", text);
    mcp_text_free(text, NULL);
    mcp_doc_free(doc);
}

/* Answer it with a result of these members. */
static void
answer_call(struct desk *d, size_t nth, const char *members)
{
    char line[2048], id[64];

    call_id(d, nth, id, sizeof id);
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{%s}}", id,
             members);
    script_say(&d->f.s, line);
}

#define ELICIT "{\"method\":\"elicitation/create\",\"params\":{" DESK_FORM "}}"
#define ASKS(requests) \
    "\"resultType\":\"input_required\",\"inputRequests\":{" requests "}"
#define DONE "\"resultType\":\"complete\",\"content\":[]"

/* A modern client whose server only does what it is told. */
static void
desk_begin(struct desk *d, mcp_client_options opt)
{
    desk_prepare(d, MCP_ERA_MODERN);
    desk_attach(d, opt);
    script_ignore(&d->f.s, true);
}

static mcp_call *
call_start(struct desk *d)
{
    mcp_call *call;

    assert_int_equal(
        mcp_client_start_tool(d->f.client, "t", NULL, NULL, NULL, NULL, &call), 0);
    return call;
}

static void
call_end(mcp_call *call, int status)
{
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), status);
    mcp_call_free(call);
}

/* All that was sent so far has been read: what a call of ours sends comes after it. */
static void
desk_flush(struct desk *d)
{
    assert_int_equal(mcp_client_notify(d->f.client, "test/flush", NULL), 0);
    (void)script_line(&d->f.s, "test/flush", 1);
}

/* ---- answered --------------------------------------------------------------- */

static int
answer_sample(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    (void)desk_of(req);
    assert_string_equal(mcp_request_version(req), "2026-07-28");
    (void)mcp_result_model(out, "parrot");
    return mcp_result_text(out, "hi");
}

static const mcp_root one_root[] = {{"file:///here", NULL}, {NULL, NULL}};

static void
questions_are_answered_in_the_next_leg(void **state)
{
    struct desk d;
    mcp_call *call;
    const char *line;

    (void)state;
    desk_begin(&d,
               SCRIPT_OPTIONS(.elicit.run = answer_ann, .sample.reply = answer_sample,
                              .root_list = one_root));
    call = call_start(&d);
    answer_call(&d, 1,
                ASKS("\"who\":" ELICIT
                     ",\"what\":{\"method\":\"sampling/createMessage\","
                     "\"params\":{\"messages\":[],\"maxTokens\":5}},\"where\":{"
                     "\"method\":\"roots/list\"}") ",\"requestState\":\"s\"");
    line = script_line(&d.f.s, "\"tools/call\"", 2);
    assert_non_null(
        strstr(line, "\"who\":{\"action\":\"accept\",\"content\":{\"name\":\"Ann\"}}"));
    assert_non_null(strstr(line, "\"what\":{\"content\": {\"type\":\"text\",\"text\":"
                                 "\"hi\"},\"model\":\"parrot\",\"role\":"
                                 "\"assistant\"}"));
    assert_non_null(strstr(line, "\"where\":{\"roots\":[{\"uri\":\"file:///here\"}]}"));
    assert_non_null(strstr(line, "\"requestState\":\"s\""));
    answer_call(&d, 2, DONE);
    call_end(call, 0);
    desk_close(&d);
}

static int
dismiss(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    (void)desk_of(req);
    return mcp_result_dismiss(out);
}

static void
J10_a_user_who_looks_away_has_answered(void **state)
{
    struct desk d;
    mcp_call *call;

    (void)state;
    desk_begin(&d, SCRIPT_OPTIONS(.elicit.reply = dismiss));
    call = call_start(&d);
    answer_call(&d, 1, ASKS("\"who\":" ELICIT));
    assert_non_null(strstr(script_line(&d.f.s, "\"tools/call\"", 2),
                           "\"inputResponses\":{\"who\":{\"action\":\"cancel\"}}"));
    answer_call(&d, 2, DONE);
    call_end(call, 0);
    desk_close(&d);
}

/* ---- not answered ------------------------------------------------------------ */

static void
J7_a_modern_server_that_asks_by_itself_hears_nothing(void **state)
{
    struct desk d;
    mcp_call *call;

    (void)state;
    desk_begin(&d, SCRIPT_OPTIONS(.elicit.reply = answer_ann, .root_list = one_root));
    script_say(&d.f.s, DESK_ELICIT("\"q\""));
    script_say(&d.f.s, "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"roots/list\"}");
    call = call_start(&d);
    answer_call(&d, 1, DONE);
    call_end(call, 0);
    assert_int_equal(script_count(&d.f.s, "\"q\""), 0);
    assert_int_equal(script_count(&d.f.s, "\"r\""), 0);
    assert_int_equal(desk_count(&d, &d.asked), 0);
    desk_close(&d);
}

static void
L2_a_cancel_between_legs_reaches_the_handler(void **state)
{
    struct desk d;
    mcp_call *call;

    (void)state;
    desk_begin(&d, SCRIPT_OPTIONS(.elicit.run = wait_for_cancel));
    call = call_start(&d);
    answer_call(&d, 1, ASKS("\"who\":" ELICIT));
    desk_await(&d, &d.asked, 1);
    assert_int_equal(mcp_call_cancel(call, "never mind"), 0);
    call_end(call, MCP_E_CANCELED);
    desk_await(&d, &d.canceled, 1);
    assert_int_equal(desk_count(&d, &d.told), 1);
    desk_flush(&d);
    assert_int_equal(script_count(&d.f.s, "notifications/cancelled"), 0);
    assert_int_equal(script_count(&d.f.s, "\"tools/call\""), 1);
    desk_close(&d);
}

static void
L4_one_that_fails_cancels_the_others(void **state)
{
    struct desk d;
    mcp_call *call;
    mcp_error err;

    (void)state;
    desk_begin(&d, SCRIPT_OPTIONS(.elicit.run = wait_for_cancel));
    call = call_start(&d);
    answer_call(&d, 1,
                ASKS("\"who\":" ELICIT ",\"where\":{\"method\":\"roots/list\"}"));
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, &err), MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32601);
    mcp_call_free(call);
    desk_await(&d, &d.returned, desk_count(&d, &d.asked)); /* it may not have begun */
    assert_int_equal(desk_count(&d, &d.canceled), desk_count(&d, &d.asked));
    desk_flush(&d);
    assert_int_equal(script_count(&d.f.s, "\"tools/call\""), 1);
    desk_close(&d);
}

static void
L7_an_answer_after_the_cancel_sends_nothing(void **state)
{
    struct desk d;
    mcp_call *call;

    (void)state;
    desk_begin(&d, SCRIPT_OPTIONS(.elicit.run = answer_late));
    call = call_start(&d);
    answer_call(&d, 1, ASKS("\"who\":" ELICIT));
    desk_await(&d, &d.asked, 1);
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    call_end(call, MCP_E_CANCELED);
    desk_open(&d);
    desk_await(&d, &d.returned, 1);
    assert_int_equal(desk_count(&d, &d.canceled), 1);
    desk_flush(&d);
    assert_int_equal(script_count(&d.f.s, "\"tools/call\""), 1);
    assert_int_equal(script_count(&d.f.s, "inputResponses"), 0);
    desk_close(&d);
}

static void
a_server_that_goes_takes_its_questions_along(void **state)
{
    struct desk d;
    mcp_call *call;

    (void)state;
    desk_begin(&d, SCRIPT_OPTIONS(.elicit.run = wait_for_cancel));
    call = call_start(&d);
    answer_call(&d, 1, ASKS("\"who\":" ELICIT));
    desk_await(&d, &d.asked, 1);
    script_leave(&d.f.s);
    desk_await(&d, &d.canceled, 1);
    call_end(call, MCP_E_CLOSED);
    desk_close(&d);
}

static void
a_client_that_is_freed_cancels_what_it_is_asked(void **state)
{
    struct desk d;
    mcp_call *call;

    (void)state;
    desk_begin(&d, SCRIPT_OPTIONS(.elicit.run = wait_for_cancel));
    call = call_start(&d);
    answer_call(&d, 1, ASKS("\"who\":" ELICIT));
    desk_await(&d, &d.asked, 1);
    mcp_client_free(d.f.client);
    d.f.client = NULL;
    assert_int_equal(desk_count(&d, &d.canceled), 1);
    call_end(call, MCP_E_CLOSED);
    desk_close(&d);
}

static void
L2_fifty_canceled_calls_leave_no_question_behind(void **state)
{
    mcp_call *calls[50];
    struct desk d;

    (void)state;
    desk_begin(&d, SCRIPT_OPTIONS(.elicit.run = wait_for_cancel));
    for (size_t i = 0; i < 50; i++)
        calls[i] = call_start(&d);
    for (size_t i = 0; i < 50; i++)
        answer_call(&d, i + 1, ASKS("\"who\":" ELICIT));
    desk_await(&d, &d.asked, 16);
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(mcp_call_cancel(calls[i], NULL), 0);
    for (size_t i = 0; i < 50; i++)
        call_end(calls[i], MCP_E_CANCELED);
    desk_flush(&d);
    mcp_client_free(d.f.client);
    d.f.client = NULL;
    assert_int_equal(desk_count(&d, &d.canceled), desk_count(&d, &d.asked));
    assert_int_equal(script_count(&d.f.s, "\"tools/call\""), 50);
    desk_close(&d);
}

/* ---- memory ------------------------------------------------------------------ */

/* Answer as soon as there is something to answer, or the client has hung up. */
static bool
await_calls(struct script *s, size_t count, mcp_call *call)
{
    while (script_count(s, "\"tools/call\"") < count)
        if (mcp_call_wait(call, 1, NULL, NULL) != MCP_E_AGAIN)
            return false;
    return true;
}

static void
ask_once(struct test_mem *mem, void *user)
{
    mcp_client *client = NULL;
    mcp_call *call = NULL;
    struct desk d;
    int r;

    (void)user;
    desk_prepare(&d, MCP_ERA_MODERN);
    r = mcp_client_attach(d.f.s.give_fd, d.f.s.give_fd,
                          &SCRIPT_OPTIONS(.allocator = &mem->allocator,
                                          .elicit.run = answer_ann,
                                          .root_list = one_root, .user = &d),
                          &client, NULL);
    if (r == 0)
        d.f.s.give_fd = -1;
    script_ignore(&d.f.s, true);
    if (r == 0)
        r = mcp_client_start_tool(client, "t", NULL, NULL, NULL, NULL, &call);
    if (r == 0 && await_calls(&d.f.s, 1, call)) {
        answer_call(&d, 1,
                    ASKS("\"who\":" ELICIT ",\"where\":{\"method\":\"roots/list\"}"));
        if (await_calls(&d.f.s, 2, call))
            answer_call(&d, 2, DONE);
        (void)mcp_call_wait(call, AWAIT_MS, NULL, NULL);
    }
    mcp_call_free(call);
    mcp_client_free(client);
    desk_close(&d);
}

static void
each_allocation_of_a_round_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(ask_once, NULL) > 20);
}

TEST_MAIN(TEST(questions_are_answered_in_the_next_leg),
          TEST(J10_a_user_who_looks_away_has_answered),
          TEST(J7_a_modern_server_that_asks_by_itself_hears_nothing),
          TEST(L2_a_cancel_between_legs_reaches_the_handler),
          TEST(L4_one_that_fails_cancels_the_others),
          TEST(L7_an_answer_after_the_cancel_sends_nothing),
          TEST(a_server_that_goes_takes_its_questions_along),
          TEST(a_client_that_is_freed_cancels_what_it_is_asked),
          TEST(L2_fifty_canceled_calls_leave_no_question_behind),
          TEST(each_allocation_of_a_round_may_fail))
