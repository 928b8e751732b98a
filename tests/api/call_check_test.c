/* call_check_test.c - structured output is what the tool has promised, or no answer */
#include <mcp/server.h>
#include <stdio.h>
#include <string.h>

#include "api/client_fixture.h"

#define FRAME "notifications/cancelled"
#define OUTPUT(n)                                             \
    "\"result\":{\"resultType\":\"complete\",\"content\":[]," \
    "\"structuredContent\":{\"n\":" #n "}}"
#define NO_OUTPUT "\"result\":{\"resultType\":\"complete\",\"content\":[]}"
#define FAILED(more) \
    "\"result\":{\"resultType\":\"complete\",\"content\":[],\"isError\":true" more "}"
#define TOOL(name, type)                                                              \
    "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{" \
    "\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"" type "\"}}}}"
#define LIST(tools, more) \
    "\"result\":{\"resultType\":\"complete\",\"tools\":[" tools "]" more "}"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

struct watched {
    struct fixture f;
    atomic_int warnings;
    char line[512]; /* the last one */
};

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    struct watched *w = user;

    (void)level;
    snprintf(w->line, sizeof w->line, "%s", line);
    atomic_fetch_add(&w->warnings, 1);
}

static void
watched_open_with(struct watched *w, void **state, mcp_client_options *opt)
{
    enum mcp_era *era = *state;

    memset(w, 0, sizeof *w);
    fixture_prepare(&w->f, era ? *era : MCP_ERA_MODERN);
    opt->allocator = &w->f.mem.allocator;
    opt->on_log = on_log;
    opt->log_user = w;
    w->f.client = script_client(&w->f.s, opt);
}

static void
watched_open(struct watched *w, void **state)
{
    watched_open_with(w, state, &SCRIPT_OPTIONS());
}

static int
call_t(struct watched *w, const mcp_call_options *opt, mcp_error *err)
{
    mcp_reply *reply = NULL;
    int r;

    r = mcp_client_call_tool(w->f.client, "t", NULL, opt, &reply, err);
    assert_int_equal(r == 0, reply != NULL);
    mcp_reply_free(reply);
    return r;
}

static void
plan_call(struct watched *w, const char *answer)
{
    script_plan(&w->f.s, "tools/call", answer);
}

static void
plan_list(struct watched *w, const char *answer)
{
    script_plan(&w->f.s, "tools/list", answer);
}

static size_t
lists_asked(struct watched *w)
{
    return script_count(&w->f.s, "tools/list");
}

/* ---- the list ------------------------------------------------------------ */

static void
an_unknown_tool_has_the_list_fetched_once(void **state)
{
    struct watched w;
    int i;

    watched_open(&w, state);
    plan_list(&w, LIST(TOOL("u", "string"), ",\"nextCursor\":\"a \\\"b\\\"\""));
    plan_list(&w, LIST(TOOL("t", "integer"), ""));
    for (i = 0; i < 3; i++) {
        plan_call(&w, OUTPUT(1));
        assert_int_equal(call_t(&w, NULL, NULL), 0);
    }
    assert_int_equal(lists_asked(&w), 2);
    assert_non_null(
        strstr(script_line(&w.f.s, "tools/list", 2), "\"cursor\":\"a \\\"b\\\"\""));
    assert_non_null(strstr(script_line(&w.f.s, "tools/list", 1), "\"id\":2,"));
    fixture_close(&w.f);
}

static void
what_does_not_fit_is_no_answer(void **state)
{
    struct watched w;
    mcp_error err;

    watched_open(&w, state);
    plan_call(&w, OUTPUT("1"));
    plan_list(&w, LIST(TOOL("t", "integer"), ""));
    assert_int_equal(call_t(&w, NULL, &err), MCP_E_PROTO);
    assert_string_equal(err.message, "the output of tool t is not what it promised: /n "
                                     "must be an integer, not a string");
    plan_call(&w, OUTPUT(1));
    plan_list(&w, LIST(TOOL("t", "integer"), "")); /* it might have changed */
    assert_int_equal(call_t(&w, NULL, &err), 0);
    plan_call(&w, NO_OUTPUT);
    assert_int_equal(call_t(&w, NULL, &err), MCP_E_PROTO);
    assert_string_equal(err.message, "tool t promised structured output and gave none");
    fixture_close(&w.f);
}

static void
a_server_without_structured_output_is_not_asked(void **state)
{
    struct watched w;

    watched_open(&w, state);
    plan_call(&w, NO_OUTPUT);
    plan_list(&w, LIST(TOOL("t", "integer"), ""));
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    assert_int_equal(lists_asked(&w), 0);
    fixture_close(&w.f);
}

static void
a_tool_that_failed_owes_nothing(void **state)
{
    struct watched w;

    watched_open(&w, state);
    plan_call(&w, FAILED(",\"structuredContent\":{\"n\":\"x\"}"));
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    assert_int_equal(lists_asked(&w), 0);
    fixture_close(&w.f);
}

static void
a_tool_that_failed_owes_nothing_of_what_is_known(void **state)
{
    struct watched w;

    watched_open(&w, state);
    plan_list(&w, LIST(TOOL("t", "integer"), ""));
    assert_int_equal(mcp_client_list_tools(w.f.client, NULL, NULL, NULL, NULL), 0);
    plan_call(&w, FAILED(",\"structuredContent\":{\"n\":\"x\"}"));
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    plan_call(&w, FAILED(""));
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    plan_call(&w, OUTPUT("x")); /* the same from one that did its job */
    assert_int_equal(call_t(&w, NULL, NULL), MCP_E_PROTO);
    assert_int_equal(lists_asked(&w), 1);
    fixture_close(&w.f);
}

static void
a_tool_that_is_not_listed_owes_nothing(void **state)
{
    struct watched w;
    int i;

    watched_open(&w, state);
    plan_list(&w, LIST(TOOL("u", "integer"), ""));
    for (i = 0; i < 2; i++) {
        plan_call(&w, OUTPUT("x"));
        assert_int_equal(call_t(&w, NULL, NULL), 0);
    }
    assert_int_equal(lists_asked(&w), 1);
    fixture_close(&w.f);
}

static void
what_the_program_listed_is_known(void **state)
{
    struct watched w;

    watched_open(&w, state);
    plan_list(&w, LIST(TOOL("t", "integer"), ",\"nextCursor\":\"on\""));
    assert_int_equal(mcp_client_list_tools(w.f.client, NULL, NULL, NULL, NULL), 0);
    plan_call(&w, OUTPUT("x"));
    assert_int_equal(call_t(&w, NULL, NULL), MCP_E_PROTO);
    assert_int_equal(lists_asked(&w), 1);
    fixture_close(&w.f);
}

static void
a_list_that_has_changed_is_fetched_again(void **state)
{
    struct watched w;

    watched_open(&w, state);
    plan_call(&w, OUTPUT(1));
    plan_list(&w, LIST(TOOL("t", "integer"), ""));
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    script_say(&w.f.s, "{\"jsonrpc\":\"2.0\",\"method\":"
                       "\"notifications/tools/list_changed\"}");
    plan_call(&w, OUTPUT("x"));
    plan_list(&w, LIST(TOOL("t", "string"), ""));
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    assert_int_equal(lists_asked(&w), 2);
    fixture_close(&w.f);
}

static void
a_list_that_cannot_be_had_loses_no_answer(void **state)
{
    struct watched w;

    watched_open(&w, state);
    plan_call(&w, OUTPUT("x"));
    plan_list(&w, "\"error\":{\"code\":-32603,\"message\":\"no list today\"}");
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    assert_string_equal(
        w.line, "the output of tool t is not checked: no list of tools: no list today");
    plan_call(&w, OUTPUT("x"));
    plan_list(&w, "\"result\":7");
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    fixture_hold_time(&w.f);
    plan_call(&w, OUTPUT("x"));
    script_plan_late(&w.f.s, "tools/list", NULL, &w.f.clock, 2500);
    assert_int_equal(call_t(&w, &MCP_CALL_OPTIONS(.timeout_ms = 2500), NULL), 0);
    script_line(&w.f.s, FRAME, 1); /* of the list */
    fixture_close(&w.f);
}

static void
a_server_that_goes_meanwhile_has_answered(void **state)
{
    struct watched w;
    mcp_call *call;

    watched_open(&w, state);
    plan_call(&w, OUTPUT("x"));
    plan_list(&w, NULL);
    assert_int_equal(
        mcp_client_start_tool(w.f.client, "t", NULL, NULL, told_done, &w.f.told, &call),
        0);
    script_line(&w.f.s, "tools/list", 1);
    script_leave(&w.f.s);
    told_await(&w.f.told, done, 1);
    assert_int_equal(told_status(&w.f.told), 0);
    mcp_call_free(call);
    fixture_close(&w.f);
}

static void
pages_without_end_have_an_end(void **state)
{
    struct watched w;
    int i;

    watched_open(&w, state);
    plan_call(&w, OUTPUT("x"));
    for (i = 0; i < 110; i++)
        plan_list(&w, LIST(TOOL("u", "integer"), ",\"nextCursor\":\"same\""));
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    assert_int_equal(lists_asked(&w), 100);
    fixture_close(&w.f);
}

/* Each time the list may have become better. */
static void
a_schema_that_is_none_ends_its_calls(void **state)
{
    struct watched w;
    mcp_error err;
    int i;

    watched_open(&w, state);
    for (i = 0; i < 2; i++) {
        plan_list(&w, LIST(TOOL("t", "nothing"), ""));
        plan_call(&w, OUTPUT(1));
        assert_int_equal(call_t(&w, NULL, &err), MCP_E_PROTO);
        if (!strstr(err.message, "the output of tool t cannot be checked by its "
                                 "schema: #/properties/n/type "))
            fail_msg("%s", err.message);
    }
    plan_list(&w, LIST(TOOL("t", "integer"), ""));
    plan_call(&w, OUTPUT(1));
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    assert_int_equal(atomic_load(&w.warnings), 0);
    fixture_close(&w.f);
}

/* A promise in JSON Schema, and what is given for it. */
struct given {
    const char *schema, *output;
    int status;
};

/* The program reads what was given, as it came. */
static void
given_is_read(const struct given *given, const mcp_reply *reply)
{
    char *printed;

    assert_int_equal(
        mcp_json_print(mcp_reply_structured(reply), false, NULL, &printed, NULL), 0);
    assert_string_equal(printed, given->output);
    mcp_text_free(printed, NULL);
}

static void
give(const struct given *given, void **state)
{
    char list[512], answer[256];
    mcp_reply *reply = NULL;
    struct watched w;

    snprintf(list, sizeof list,
             LIST("{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"},"
                  "\"outputSchema\":%s}",
                  ""),
             given->schema);
    snprintf(answer, sizeof answer,
             "\"result\":{\"resultType\":\"complete\",\"content\":[],"
             "\"structuredContent\":%s}",
             given->output);
    watched_open(&w, state);
    plan_list(&w, list);
    plan_call(&w, answer);
    if (mcp_client_call_tool(w.f.client, "t", NULL, NULL, &reply, NULL) !=
        given->status)
        fail_msg("%s for %s", given->output, given->schema);
    assert_int_equal(given->status == 0, reply != NULL);
    if (reply)
        given_is_read(given, reply);
    mcp_reply_free(reply);
    assert_int_equal(atomic_load(&w.warnings), 0);
    fixture_close(&w.f);
}

#define PAIR "\"prefixItems\":[{\"type\":\"integer\"},{\"type\":\"string\"}]"

static void
a_promise_without_a_dialect_is_of_the_newest(void **state)
{
    static const struct given rows[] = {
        {"{\"properties\":{\"p\":{" PAIR "}}}", "{\"p\":[1,\"a\"]}", 0},
        {"{\"properties\":{\"p\":{" PAIR "}}}", "{\"p\":[\"a\",1]}", MCP_E_PROTO},
        {"{\"$schema\":\"http://json-schema.org/draft-07/schema#\","
         "\"properties\":{\"p\":{" PAIR "}}}",
         "{\"p\":[\"a\",1]}", 0}, /* where there is no such keyword */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        give(&rows[i], state);
}

static void
a_promise_may_refer_to_its_own_parts(void **state)
{
    static const struct given rows[] = {
        {"{\"properties\":{\"n\":{\"$ref\":\"#/$defs/n\"}},"
         "\"$defs\":{\"n\":{\"type\":\"integer\"}}}",
         "{\"n\":1}", 0},
        {"{\"properties\":{\"n\":{\"$ref\":\"#/$defs/n\"}},"
         "\"$defs\":{\"n\":{\"type\":\"integer\"}}}",
         "{\"n\":\"1\"}", MCP_E_PROTO},
        {"{\"properties\":{\"n\":{\"$ref\":\"#here\"}},"
         "\"$defs\":{\"n\":{\"$anchor\":\"here\",\"type\":\"integer\"}}}",
         "{\"n\":1}", 0},
        {"{\"properties\":{\"n\":{\"$ref\":\"#here\"}},"
         "\"$defs\":{\"n\":{\"$anchor\":\"here\",\"type\":\"integer\"}}}",
         "{\"n\":\"1\"}", MCP_E_PROTO},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        give(&rows[i], state);
}

static void
output_may_be_of_any_type_and_of_no_weight(void **state)
{
    static const struct given rows[] = {
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}", "[1,2]", 0},
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}", "[1,\"2\"]",
         MCP_E_PROTO},
        {"{\"type\":\"integer\"}", "0", 0},
        {"{\"type\":\"integer\"}", "false", MCP_E_PROTO},
        {"{\"type\":\"integer\"}", "null", MCP_E_PROTO},
        {"{\"type\":\"boolean\"}", "false", 0},
        {"{\"type\":\"string\"}", "\"\"", 0},
        {"{\"type\":\"null\"}", "null", 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        give(&rows[i], state);
}

#define ODD                                                  \
    "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}," \
    "\"outputSchema\":{\"$schema\":\"https://odd.example/dialect\"}}"

/* Such a tool can be listed, and others are checked as ever. */
static void
a_promise_that_cannot_be_read_harms_no_other(void **state)
{
    static const char *const list = LIST(ODD "," TOOL("u", "integer"), "");
    mcp_reply *reply = NULL;
    struct watched w;
    mcp_error err;

    watched_open(&w, state);
    plan_list(&w, list);
    assert_int_equal(mcp_client_list_tools(w.f.client, NULL, NULL, &reply, NULL), 0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 2);
    mcp_reply_free(reply);
    plan_call(&w, NO_OUTPUT);
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    plan_call(&w, OUTPUT(1));
    assert_int_equal(call_t(&w, NULL, &err), MCP_E_PROTO);
    assert_string_equal(err.message,
                        "the output of tool t cannot be checked by its schema: "
                        "#/$schema is not a supported dialect "
                        "(2020-12, 2019-09, draft-07, draft-06): "
                        "https://odd.example/dialect");
    plan_list(&w, list);
    plan_call(&w, OUTPUT(1));
    assert_int_equal(mcp_client_call_tool(w.f.client, "u", NULL, NULL, NULL, NULL), 0);
    plan_call(&w, OUTPUT("x"));
    assert_int_equal(mcp_client_call_tool(w.f.client, "u", NULL, NULL, NULL, NULL),
                     MCP_E_PROTO);
    fixture_close(&w.f);
}

/* As servers had it before there were versions. */
static void
a_result_of_another_shape_is_given_whole(void **state)
{
    mcp_reply *reply = NULL;
    struct watched w;

    watched_open(&w, state);
    plan_call(&w, "\"result\":{\"toolResult\":{\"n\":7}}");
    assert_int_equal(mcp_client_call_tool(w.f.client, "t", NULL, NULL, &reply, NULL),
                     0);
    assert_int_equal(
        mcp_json_int(
            mcp_json_get(mcp_json_get(mcp_reply_result(reply), "toolResult"), "n"), 0),
        7);
    assert_string_equal(mcp_reply_text(reply), "");
    mcp_reply_free(reply);
    fixture_close(&w.f);
}

/* ---- not wanted ---------------------------------------------------------- */

static void
a_client_may_trust_its_server(void **state)
{
    struct watched w;

    watched_open_with(&w, state, &SCRIPT_OPTIONS(.no_output_check = true));
    plan_list(&w, LIST(TOOL("t", "integer"), ""));
    assert_int_equal(mcp_client_list_tools(w.f.client, NULL, NULL, NULL, NULL), 0);
    plan_call(&w, OUTPUT("x"));
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    plan_list(&w, LIST(ODD, ""));
    assert_int_equal(mcp_client_list_tools(w.f.client, NULL, NULL, NULL, NULL), 0);
    plan_call(&w, OUTPUT("x"));
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    fixture_close(&w.f);
}

static void
calls_of_any_method_are_not_checked(void **state)
{
    struct watched w;

    watched_open(&w, state);
    plan_call(&w, OUTPUT("x"));
    assert_int_equal(mcp_client_call(w.f.client, "tools/call",
                                     "{\"name\":\"t\",\"arguments\":{}}", NULL, NULL,
                                     NULL),
                     0);
    assert_int_equal(lists_asked(&w), 0);
    fixture_close(&w.f);
}

/* ---- ends ---------------------------------------------------------------- */

static mcp_call *
start_until_list(struct watched *w, const mcp_call_options *opt)
{
    mcp_call *call = NULL;

    plan_call(w, OUTPUT("x"));
    plan_list(w, NULL);
    assert_int_equal(mcp_client_start_tool(w->f.client, "t", NULL, opt, told_done,
                                           &w->f.told, &call),
                     0);
    script_line(&w->f.s, "tools/list", 1);
    return call;
}

static void
L1_a_cancel_covers_the_list(void **state)
{
    struct watched w;
    mcp_call *call;

    watched_open(&w, state);
    call = start_until_list(&w, NULL);
    assert_string_equal(mcp_call_id(call), "2");
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    told_await(&w.f.told, done, 1);
    assert_int_equal(told_status(&w.f.told), MCP_E_CANCELED);
    assert_non_null(strstr(script_line(&w.f.s, FRAME, 1), "\"requestId\":2,"));
    mcp_call_free(call);
    fixture_close(&w.f);
}

static void
L5_the_total_covers_the_list(void **state)
{
    struct watched w;
    mcp_call *call;

    watched_open(&w, state);
    fixture_hold_time(&w.f);
    call = start_until_list(&w, &MCP_CALL_OPTIONS(.total_ms = 2500));
    virtual_clock_pass(&w.f.clock, 2500);
    told_await(&w.f.told, done, 1);
    assert_int_equal(told_status(&w.f.told), MCP_E_TOTAL_TIMEOUT);
    mcp_call_free(call);
    fixture_close(&w.f);
}

static void
B32_a_free_covers_the_list(void **state)
{
    struct watched w;

    watched_open(&w, state);
    mcp_call_free(start_until_list(&w, NULL));
    script_line(&w.f.s, FRAME, 1);
    assert_int_equal(told_count(&w.f.told, done), 0);
    fixture_close(&w.f);
}

/* While a callback holds the lane the answer waits for its check, and the call can be
 * ended. */
static mcp_call *
start_until_check(struct watched *w, const mcp_call_options *given)
{
    mcp_call_options opt = given ? *given : MCP_CALL_OPTIONS();
    mcp_call *call = NULL;

    opt.on_progress = told_progress;
    opt.user = &w->f.told;
    plan_list(w, LIST(TOOL("t", "integer"), ""));
    assert_int_equal(mcp_client_list_tools(w->f.client, NULL, NULL, NULL, NULL), 0);
    told_gate(&w->f.told, true);
    plan_call(w, NULL);
    assert_int_equal(mcp_client_start_tool(w->f.client, "t", NULL, &opt, told_done,
                                           &w->f.told, &call),
                     0);
    script_line(&w->f.s, "tools/call", 1);
    script_say(&w->f.s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                        "\"params\":{\"progressToken\":2,\"progress\":1}}");
    told_await(&w->f.told, at_gate, 1);
    script_say(&w->f.s, "{\"jsonrpc\":\"2.0\",\"id\":2," OUTPUT(1) "}");
    assert_int_equal(mcp_client_ping(w->f.client, NULL, NULL), 0);
    assert_int_equal(mcp_call_wait(call, 0, NULL, NULL), MCP_E_AGAIN);
    return call;
}

static void
B14_what_is_being_checked_can_still_be_canceled(void **state)
{
    struct watched w;
    mcp_call *call;

    watched_open(&w, state);
    call = start_until_check(&w, NULL);
    assert_int_equal(mcp_call_cancel(call, "changed my mind"), 0);
    assert_int_equal(mcp_client_ping(w.f.client, NULL, NULL), 0);
    told_gate(&w.f.told, false);
    told_await(&w.f.told, done, 1);
    assert_int_equal(told_status(&w.f.told), MCP_E_CANCELED);
    assert_int_equal(mcp_call_flush(call, AWAIT_MS), 0);
    mcp_call_free(call);
    assert_int_equal(script_count(&w.f.s, FRAME), 0); /* it was answered */
    fixture_close(&w.f);
}

static void
a_scope_ends_what_is_being_checked(void **state)
{
    mcp_scope *scope;
    struct watched w;
    mcp_call *call;

    watched_open(&w, state);
    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    call = start_until_check(&w, &MCP_CALL_OPTIONS(.scope = scope));
    mcp_scope_cancel(scope, NULL);
    assert_int_equal(mcp_client_ping(w.f.client, NULL, NULL), 0);
    told_gate(&w.f.told, false);
    told_await(&w.f.told, done, 1);
    assert_int_equal(told_status(&w.f.told), MCP_E_CANCELED);
    mcp_call_free(call);
    mcp_scope_free(scope);
    fixture_close(&w.f);
}

static void
a_list_that_changes_while_it_is_read_is_warned_of(void **state)
{
    struct watched w;
    mcp_call *call;

    watched_open(&w, state);
    plan_call(&w, OUTPUT("x"));
    plan_list(&w, NULL);
    assert_int_equal(
        mcp_client_start_tool(w.f.client, "t", NULL, NULL, NULL, NULL, &call), 0);
    script_line(&w.f.s, "tools/list", 1);
    script_say(&w.f.s, "{\"jsonrpc\":\"2.0\",\"method\":"
                       "\"notifications/tools/list_changed\"}");
    script_say(&w.f.s,
               "{\"jsonrpc\":\"2.0\",\"id\":2," LIST(TOOL("t", "integer"), "") "}");
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL), 0);
    assert_int_equal(atomic_load(&w.warnings), 1);
    assert_string_equal(
        w.line, "the output of tool t is not checked: the list of tools changes");
    mcp_call_free(call);
    fixture_close(&w.f);
}

/* Callbacks that block have all workers, so that nobody is left for the check. */
static void
workers_block(struct watched *w, bool block)
{
    int i;

    told_gate(&w->f.told, block);
    for (i = 0; block && i < 16; i++)
        assert_int_equal(mcp_client_start(w->f.client, "x/any", NULL, NULL, told_done,
                                          &w->f.told, NULL),
                         0);
    if (block)
        told_await(&w->f.told, at_gate, 16);
}

static void
L5_the_clocks_cover_the_check(void **state)
{
    const mcp_call_options opts[] = {MCP_CALL_OPTIONS(.total_ms = 2500),
                                     MCP_CALL_OPTIONS(.timeout_ms = 2500)};
    const int ends[] = {MCP_E_TOTAL_TIMEOUT, MCP_E_TIMEOUT};
    struct watched w;
    mcp_call *calls[2];
    size_t i;

    watched_open(&w, state);
    fixture_hold_time(&w.f);
    plan_call(&w, OUTPUT(1));
    plan_list(&w, LIST(TOOL("t", "integer"), ""));
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    workers_block(&w, true);
    for (i = 0; i < 2; i++) {
        plan_call(&w, OUTPUT(1));
        assert_int_equal(mcp_client_start_tool(w.f.client, "t", NULL, &opts[i], NULL,
                                               NULL, &calls[i]),
                         0);
    }
    assert_int_equal(mcp_client_ping(w.f.client, NULL, NULL),
                     0); /* they are answered */
    virtual_clock_pass(&w.f.clock, 2500);
    for (i = 0; i < 2; i++) {
        assert_int_equal(mcp_call_wait(calls[i], MCP_TIMEOUT_NONE, NULL, NULL),
                         ends[i]);
        mcp_call_free(calls[i]);
    }
    workers_block(&w, false);
    plan_call(&w, OUTPUT(1));
    assert_int_equal(call_t(&w, &opts[0], NULL), 0);
    assert_int_equal(script_count(&w.f.s, FRAME), 0); /* it was answered */
    fixture_close(&w.f);
}

static void
what_is_being_checked_outlives_the_connection(void **state)
{
    struct watched w;
    mcp_call *call;

    watched_open(&w, state);
    call = start_until_check(&w, NULL);
    mcp_client_close(w.f.client);
    script_await_end(&w.f.s);
    told_gate(&w.f.told, false);
    told_await(&w.f.told, done, 1);
    assert_int_equal(told_status(&w.f.told), 0); /* it was answered in time */
    mcp_call_free(call);
    fixture_close(&w.f);
}

static void
B32_a_free_while_it_is_checked_tells_nobody(void **state)
{
    struct watched w;
    mcp_call *call;

    watched_open(&w, state);
    call = start_until_check(&w, NULL);
    mcp_call_release(call);
    told_gate(&w.f.told, false);
    told_await(&w.f.told, done, 1);
    assert_int_equal(told_status(&w.f.told), 0);
    fixture_close(&w.f);
    watched_open_with(&w, state, &SCRIPT_OPTIONS());
    plan_call(&w, OUTPUT("x"));
    plan_list(&w, LIST(TOOL("t", "integer"), ""));
    assert_int_equal(
        mcp_client_start_tool(w.f.client, "t", NULL, NULL, told_done, &w.f.told, &call),
        0);
    script_line(&w.f.s, "tools/list", 1);
    mcp_call_free(call); /* before, while or after it is checked */
    fixture_close(&w.f);
}

/* ---- callbacks on the loop; memory --------------------------------------- */

static void
without_workers_it_is_checked_on_the_loop(void **state)
{
    struct watched w;

    watched_open_with(&w, state, &SCRIPT_OPTIONS(.callbacks_on_loop = true));
    plan_call(&w, OUTPUT("x"));
    plan_list(&w, LIST(TOOL("t", "integer"), ""));
    assert_int_equal(call_t(&w, NULL, NULL), MCP_E_PROTO);
    fixture_close(&w.f);
}

static int
tool_of_ours(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_json(out, "{\"n\":7}", 7);
}

static void
our_own_server_keeps_its_promises(void **state)
{
    mcp_client *client = NULL;
    mcp_server *server = NULL;
    mcp_reply *reply = NULL;
    mcp_error err;

    assert_int_equal(
        mcp_server_new(&MCP_SERVER_OPTIONS(.name = "s", .version = "1"), &server, NULL),
        0);
    assert_int_equal(
        mcp_server_add_tool(
            server,
            &MCP_TOOL(.name = "n", .run = tool_of_ours,
                      .output_schema = "{\"type\":\"object\",\"properties\":{\"n\":{"
                                       "\"type\":\"integer\"}}}"),
            &err),
        0);
    assert_int_equal(mcp_server_start(server, NULL), 0);
    assert_int_equal(
        mcp_client_attach_server(
            server, &SCRIPT_OPTIONS(.era = *(enum mcp_era *)*state), &client, &err),
        0);
    assert_int_equal(mcp_client_call_tool(client, "n", NULL, NULL, &reply, &err), 0);
    assert_int_equal(mcp_json_int(mcp_json_get(mcp_reply_structured(reply), "n"), 0),
                     7);
    mcp_reply_free(reply);
    mcp_client_free(client);
    mcp_server_free(server);
}

static void
check_once(struct test_mem *mem)
{
    long fail_at = atomic_load(&mem->fail_at);
    mcp_client *client;
    struct script s;
    int r;

    script_open(&s, MCP_ERA_MODERN);
    atomic_store(&mem->fail_at, 0);
    client = script_client(&s, &SCRIPT_OPTIONS(.allocator = &mem->allocator));
    atomic_store(&mem->fail_at, atomic_load(&mem->total) + fail_at);
    script_plan(&s, "tools/call", OUTPUT("x"));
    script_plan(&s, "tools/list", LIST(TOOL("u", "integer"), ",\"nextCursor\":\"2\""));
    script_plan(&s, "tools/list", LIST(TOOL("t", "integer"), ""));
    r = mcp_client_call_tool(client, "t", NULL, NULL, NULL, NULL);
    atomic_store(&mem->fail_at, 0);
    assert_true(r == MCP_E_PROTO || atomic_load(&mem->failed) > 0);
    mcp_client_free(client);
    script_close(&s);
}

static void
each_allocation_of_a_check_may_fail(void **state)
{
    struct test_mem mem;
    long n, failed;

    (void)state;
    for (n = 1; n < 200; n++) {
        test_mem_init(&mem);
        atomic_store(&mem.fail_at, n);
        check_once(&mem);
        failed = atomic_load(&mem.failed);
        test_mem_done(&mem);
        if (failed == 0)
            break;
    }
    assert_in_range(n, 20, 150);
}

#define IN_BOTH_ERAS(test) \
    TEST_AS("modern." #test, test, &modern), TEST_AS("legacy." #test, test, &legacy)

TEST_MAIN(IN_BOTH_ERAS(an_unknown_tool_has_the_list_fetched_once),
          IN_BOTH_ERAS(what_does_not_fit_is_no_answer),
          IN_BOTH_ERAS(a_server_without_structured_output_is_not_asked),
          IN_BOTH_ERAS(a_tool_that_failed_owes_nothing),
          IN_BOTH_ERAS(a_tool_that_failed_owes_nothing_of_what_is_known),
          IN_BOTH_ERAS(a_tool_that_is_not_listed_owes_nothing),
          IN_BOTH_ERAS(what_the_program_listed_is_known),
          IN_BOTH_ERAS(a_list_that_has_changed_is_fetched_again),
          IN_BOTH_ERAS(a_list_that_cannot_be_had_loses_no_answer),
          IN_BOTH_ERAS(a_server_that_goes_meanwhile_has_answered),
          TEST(pages_without_end_have_an_end),
          TEST(a_schema_that_is_none_ends_its_calls),
          IN_BOTH_ERAS(a_promise_without_a_dialect_is_of_the_newest),
          IN_BOTH_ERAS(a_promise_may_refer_to_its_own_parts),
          TEST(output_may_be_of_any_type_and_of_no_weight),
          IN_BOTH_ERAS(a_promise_that_cannot_be_read_harms_no_other),
          TEST_AS("legacy.a_result_of_another_shape_is_given_whole",
                  a_result_of_another_shape_is_given_whole, &legacy),
          TEST(a_client_may_trust_its_server),
          TEST(calls_of_any_method_are_not_checked),
          IN_BOTH_ERAS(L1_a_cancel_covers_the_list),
          IN_BOTH_ERAS(L5_the_total_covers_the_list),
          IN_BOTH_ERAS(B32_a_free_covers_the_list),
          IN_BOTH_ERAS(B14_what_is_being_checked_can_still_be_canceled),
          TEST(a_scope_ends_what_is_being_checked),
          IN_BOTH_ERAS(a_list_that_changes_while_it_is_read_is_warned_of),
          IN_BOTH_ERAS(L5_the_clocks_cover_the_check),
          TEST(what_is_being_checked_outlives_the_connection),
          TEST(B32_a_free_while_it_is_checked_tells_nobody),
          TEST(without_workers_it_is_checked_on_the_loop),
          IN_BOTH_ERAS(our_own_server_keeps_its_promises),
          TEST(each_allocation_of_a_check_may_fail))
