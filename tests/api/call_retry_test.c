/*
 * call_retry_test.c - a tool call whose headers were refused is made once more
 *
 * The link is a socket that says it is HTTP: what would stand in headers is asked of the
 * client itself.
 */
#include <stdio.h>
#include <string.h>

#include "api/client.h"
#include "api/client_fixture.h"

#define FRAME "notifications/cancelled"
#define CALL "\"method\":\"tools/call\""
#define LISTING "\"method\":\"tools/list\""
#define CHANGED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"

#define REFUSED(n) \
    "\"error\":{\"code\":-32020,\"message\":\"refusal " #n "\",\"data\":" #n "}"
#define DONE                                                                   \
    "\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\"," \
    "\"text\":\"done\"}]}"
#define OUTPUT(n)                                             \
    "\"result\":{\"resultType\":\"complete\",\"content\":[]," \
    "\"structuredContent\":{\"n\":" #n "}}"
#define SCHEMA(header)                      \
    "{\"type\":\"object\",\"properties\":{" \
    "\"a\":{\"type\":\"string\",\"x-mcp-header\":\"" header "\"}}}"
#define TOOL(name, header) "{\"name\":\"" name "\",\"inputSchema\":" SCHEMA(header) "}"
#define PROMISING(name, header)                       \
    "{\"name\":\"" name "\",\"inputSchema\":" SCHEMA( \
        header) ",\"outputSchema\":{"                 \
                "\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}}"
#define PLAIN(name) "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}}"
#define LIST(tools, more) \
    "\"result\":{\"resultType\":\"complete\",\"tools\":[" tools "]" more "}"
#define NO_LIST "\"error\":{\"code\":-32603,\"message\":\"no list today\"}"
#define KEPT ",\"ttlMs\":3600000,\"cacheScope\":\"private\""
#define TO(cursor) ",\"nextCursor\":\"" cursor "\""

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
watched_open_as(struct watched *w, enum mcp_era era, mcp_client_options *opt)
{
    memset(w, 0, sizeof *w);
    fixture_prepare(&w->f, era);
    opt->allocator = &w->f.mem.allocator;
    opt->on_log = on_log;
    opt->log_user = w;
    w->f.client = script_client(&w->f.s, opt);
    w->f.client->mirrors.on = true;
}

static void
watched_open(struct watched *w)
{
    watched_open_as(w, MCP_ERA_MODERN, &SCRIPT_OPTIONS());
}

static void
plan_call(struct watched *w, const char *answer)
{
    script_plan(&w->f.s, CALL, answer);
}

static void
plan_list(struct watched *w, const char *answer)
{
    script_plan(&w->f.s, LISTING, answer);
}

static void
expect_sent(struct watched *w, size_t calls, size_t lists)
{
    assert_int_equal(script_count(&w->f.s, CALL), calls);
    assert_int_equal(script_count(&w->f.s, LISTING), lists);
}

static int
call_t(struct watched *w, const mcp_call_options *opt, mcp_error *err)
{
    return mcp_client_call_tool(w->f.client, "t", "{\"a\":\"x\"}", opt, NULL, err);
}

static void
expect_refusal(struct watched *w, const mcp_call_options *opt, const char *message)
{
    mcp_error err = {0};

    assert_int_equal(call_t(w, opt, &err), MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32020);
    assert_int_equal(err.http_status, 0);
    assert_string_equal(err.message, message);
}

static mcp_reply *
list_tools(struct watched *w)
{
    mcp_reply *reply = NULL;

    assert_int_equal(mcp_client_list_tools(w->f.client, NULL, NULL, &reply, NULL), 0);
    return reply;
}

/* The program lists its tools. */
static void
know(struct watched *w, const char *list)
{
    plan_list(w, list);
    mcp_reply_free(list_tools(w));
}

/* ---- made again ---------------------------------------------------------- */

static void
a_refused_call_is_made_again_after_the_list(void **state)
{
    struct watched w;

    (void)state;
    watched_open(&w);
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("t", "Region"), ""));
    plan_call(&w, DONE);
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    expect_sent(&w, 2, 1);
    assert_non_null(strstr(script_line(&w.f.s, CALL, 1), "\"id\":1,"));
    assert_non_null(strstr(script_line(&w.f.s, LISTING, 1), "\"id\":2,"));
    assert_non_null(strstr(script_line(&w.f.s, CALL, 2), "\"id\":3,"));
    assert_non_null(strstr(script_line(&w.f.s, CALL, 2),
                           "\"name\":\"t\",\"arguments\":{\"a\":\"x\"}"));
    assert_non_null(mcpi_mirrors_find(&w.f.client->mirrors, "t"));
    plan_call(&w, DONE);
    assert_int_equal(call_t(&w, NULL, NULL), 0); /* it is known now */
    expect_sent(&w, 3, 1);
    assert_int_equal(atomic_load(&w.warnings), 0);
    fixture_close(&w.f);
}

static void
pages_are_read_until_the_tool_is_found(void **state)
{
    struct watched w;

    (void)state;
    watched_open(&w);
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("u", "U"), TO("\\\"2\\\"")));
    plan_list(&w, LIST(TOOL("t", "T"), TO("3")));
    plan_call(&w, DONE);
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    expect_sent(&w, 2, 2);
    assert_non_null(
        strstr(script_line(&w.f.s, LISTING, 2), "\"cursor\":\"\\\"2\\\"\""));
    assert_non_null(mcpi_mirrors_find(&w.f.client->mirrors, "u"));
    fixture_close(&w.f);
}

static void
headers_that_have_changed_are_learned_anew(void **state)
{
    struct watched w;

    (void)state;
    watched_open(&w);
    know(&w, LIST(TOOL("t", "Old"), ""));
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("t", "New"), ""));
    plan_call(&w, DONE);
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    plan_call(&w, REFUSED(2));
    plan_list(&w, LIST(PLAIN("t"), "")); /* none any more */
    plan_call(&w, DONE);
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    expect_sent(&w, 4, 3);
    assert_null(mcpi_mirrors_find(&w.f.client->mirrors, "t"));
    fixture_close(&w.f);
}

static void
the_list_is_not_the_one_that_is_kept(void **state)
{
    struct watched w;
    mcp_reply *reply;

    (void)state;
    watched_open(&w);
    know(&w, LIST(TOOL("t", "Old"), KEPT));
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("t", "New"), KEPT));
    plan_call(&w, DONE);
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    expect_sent(&w, 2, 2);
    plan_list(&w, LIST(TOOL("t", "New"), KEPT)); /* what was kept is old */
    reply = list_tools(&w);
    expect_sent(&w, 2, 3);
    mcp_reply_free(reply);
    mcp_reply_free(list_tools(&w));
    expect_sent(&w, 2, 3);
    fixture_close(&w.f);
}

static void
any_call_of_a_tool_is_made_again(void **state)
{
    struct watched w;

    (void)state;
    watched_open_as(&w, MCP_ERA_MODERN, &SCRIPT_OPTIONS(.no_output_check = true));
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("t", "T"), ""));
    plan_call(&w, DONE);
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    plan_call(&w, REFUSED(2));
    plan_list(&w, LIST(TOOL("t", "T") "," TOOL("u", "U"), ""));
    plan_call(&w, DONE);
    assert_int_equal(mcp_client_call(w.f.client, "tools/call",
                                     "{\"x\":[1],\"name\":\"u\"}", NULL, NULL, NULL),
                     0);
    expect_sent(&w, 4, 2);
    assert_non_null(strstr(script_line(&w.f.s, CALL, 4), "\"x\":[1],\"name\":\"u\""));
    fixture_close(&w.f);
}

static void
its_output_is_checked_by_the_same_list(void **state)
{
    struct watched w;

    (void)state;
    watched_open(&w);
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("u", "U"), TO("2")));
    plan_list(&w, LIST(PROMISING("t", "T"), TO("3")));
    plan_call(&w, OUTPUT("no integer"));
    assert_int_equal(call_t(&w, NULL, NULL), MCP_E_PROTO);
    expect_sent(&w, 2, 2);
    plan_call(&w,
              OUTPUT(1)); /* that was forgotten: a list for the check, from its start */
    plan_list(&w, LIST(PROMISING("t", "T"), ""));
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    expect_sent(&w, 3, 3);
    fixture_close(&w.f);
}

/* Two are refused for the same reason; the list that the first one asks for must not be
 * taken for what was known when the second was sent. */
static void
calls_that_are_refused_together_are_all_made_again(void **state)
{
    mcp_call *first, *second;
    struct watched w;

    (void)state;
    watched_open(&w);
    plan_call(&w, NULL);
    plan_call(&w, NULL);
    assert_int_equal(
        mcp_client_start_tool(w.f.client, "t", NULL, NULL, NULL, NULL, &first), 0);
    assert_int_equal(
        mcp_client_start_tool(w.f.client, "t", NULL, NULL, NULL, NULL, &second), 0);
    script_line(&w.f.s, CALL, 2);
    plan_list(&w, LIST(TOOL("t", "T"), ""));
    plan_call(&w, DONE);
    script_say(&w.f.s, "{\"jsonrpc\":\"2.0\",\"id\":1," REFUSED(1) "}");
    assert_int_equal(mcp_call_wait(first, MCP_TIMEOUT_NONE, NULL, NULL), 0);
    plan_list(&w, LIST(TOOL("t", "T"), ""));
    plan_call(&w, DONE);
    script_say(&w.f.s, "{\"jsonrpc\":\"2.0\",\"id\":2," REFUSED(2) "}");
    assert_int_equal(mcp_call_wait(second, MCP_TIMEOUT_NONE, NULL, NULL), 0);
    expect_sent(&w, 4, 2);
    mcp_call_free(first);
    mcp_call_free(second);
    fixture_close(&w.f);
}

static void
only_progress_of_the_call_itself_is_told(void **state)
{
    struct watched w;
    mcp_call *call;

    (void)state;
    watched_open(&w);
    plan_call(&w, REFUSED(1));
    plan_list(&w, NULL);
    plan_call(&w, NULL);
    assert_int_equal(
        mcp_client_start_tool(
            w.f.client, "t", NULL,
            &MCP_CALL_OPTIONS(.on_progress = told_progress, .user = &w.f.told),
            told_done, &w.f.told, &call),
        0);
    script_line(&w.f.s, LISTING, 1);
    assert_string_equal(mcp_call_id(call), "2");
    script_say(&w.f.s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                       "\"params\":{\"progressToken\":2,\"progress\":7}}");
    script_say(&w.f.s, "{\"jsonrpc\":\"2.0\",\"id\":2," LIST(TOOL("t", "T"), "") "}");
    script_line(&w.f.s, CALL, 2);
    script_say(&w.f.s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                       "\"params\":{\"progressToken\":3,\"progress\":1}}");
    told_await(&w.f.told, steps, 1);
    script_say(&w.f.s, "{\"jsonrpc\":\"2.0\",\"id\":3," DONE "}");
    told_await(&w.f.told, done, 1);
    assert_int_equal(told_status(&w.f.told), 0);
    assert_int_equal(told_count(&w.f.told, steps), 1);
    assert_false(w.f.told.out_of_order);
    mcp_call_free(call);
    fixture_close(&w.f);
}

/* What the second try is answered is checked as any answer is. */
static void
a_change_after_the_list_does_not_concern_the_check(void **state)
{
    struct watched w;
    mcp_call *call;

    (void)state;
    watched_open(&w);
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("t", "T"), ""));
    plan_call(&w, NULL);
    assert_int_equal(
        mcp_client_start_tool(w.f.client, "t", NULL, NULL, NULL, NULL, &call), 0);
    script_line(&w.f.s, CALL, 2);
    script_say(&w.f.s, CHANGED);
    script_say(&w.f.s, "{\"jsonrpc\":\"2.0\",\"id\":3," DONE "}");
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL), 0);
    assert_int_equal(atomic_load(&w.warnings), 0);
    mcp_call_free(call);
    fixture_close(&w.f);
}

/* ---- not made again ------------------------------------------------------ */

static void
a_second_refusal_is_the_end(void **state)
{
    struct watched w;

    (void)state;
    watched_open(&w);
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("t", "T"), ""));
    plan_call(&w, REFUSED(2));
    expect_refusal(&w, NULL, "refusal 2");
    expect_sent(&w, 2, 1);
    fixture_close(&w.f);
}

static void
a_list_that_says_nothing_new_leaves_the_refusal(void **state)
{
    struct watched w;

    (void)state;
    watched_open(&w);
    know(&w, LIST(TOOL("t", "T") "," TOOL("gone", "G"), ""));
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("t", "T"), ""));
    expect_refusal(&w, NULL, "refusal 1");
    plan_call(&w, REFUSED(2));
    plan_list(&w, LIST(PLAIN("x") "," PLAIN("t"), ""));
    plan_call(&w, DONE);
    assert_int_equal(call_t(&w, NULL, NULL), 0); /* this is new */
    plan_call(&w, REFUSED(3));
    plan_list(&w, LIST(PLAIN("t"), ""));
    expect_refusal(&w, NULL, "refusal 3");
    expect_sent(&w, 4, 4);
    fixture_close(&w.f);
}

static void
another_tool_that_is_gone_is_nothing_new(void **state)
{
    struct watched w;

    (void)state;
    watched_open(&w);
    know(&w, LIST(PLAIN("t") "," TOOL("gone", "G"), ""));
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(PLAIN("t"), ""));
    expect_refusal(&w, NULL, "refusal 1");
    expect_sent(&w, 1, 2);
    fixture_close(&w.f);
}

static void
a_tool_that_is_not_listed_is_not_called_again(void **state)
{
    struct watched w;

    (void)state;
    watched_open(&w);
    know(&w, LIST(TOOL("t", "T"), ""));
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("u", "U"), TO("2")));
    plan_list(&w, LIST(TOOL("v", "V"), ""));
    expect_refusal(&w, NULL, "refusal 1");
    expect_sent(&w, 1, 3);
    fixture_close(&w.f);
}

static void
a_tool_that_breaks_a_rule_is_not_called_again(void **state)
{
    struct watched w;

    (void)state;
    watched_open(&w);
    know(&w, LIST(TOOL("t", "T"), ""));
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("t", "no token"), ""));
    expect_refusal(&w, NULL, "refusal 1");
    assert_string_equal(w.line, "tool t is left out: x-mcp-header is no HTTP token");
    expect_sent(&w, 1, 2);
    fixture_close(&w.f);
}

static void
a_list_that_cannot_be_had_leaves_the_refusal(void **state)
{
    struct watched w;

    (void)state;
    watched_open(&w);
    plan_call(&w, REFUSED(1));
    plan_list(&w, NO_LIST);
    expect_refusal(&w, NULL, "refusal 1");
    plan_call(&w, REFUSED(2));
    plan_list(&w, "\"result\":7");
    expect_refusal(&w, NULL, "refusal 2");
    plan_call(&w, REFUSED(3));
    plan_list(&w, REFUSED(4)); /* of the list itself */
    expect_refusal(&w, NULL, "refusal 3");
    fixture_hold_time(&w.f);
    plan_call(&w, REFUSED(5));
    script_plan_late(&w.f.s, LISTING, NULL, &w.f.clock, 2500);
    expect_refusal(&w, &MCP_CALL_OPTIONS(.timeout_ms = 2500), "refusal 5");
    assert_non_null(strstr(script_line(&w.f.s, FRAME, 1), "\"requestId\":8,"));
    expect_sent(&w, 4, 4);
    fixture_close(&w.f);
}

static void
a_server_that_goes_meanwhile_has_refused(void **state)
{
    struct watched w;
    mcp_call *call;

    (void)state;
    watched_open(&w);
    plan_call(&w, REFUSED(1));
    plan_list(&w, NULL);
    assert_int_equal(
        mcp_client_start_tool(w.f.client, "t", NULL, NULL, told_done, &w.f.told, &call),
        0);
    script_line(&w.f.s, LISTING, 1);
    script_leave(&w.f.s);
    told_await(&w.f.told, done, 1);
    assert_int_equal(told_status(&w.f.told), MCP_E_PEER);
    assert_int_equal(mcp_call_error(call)->rpc_code, -32020);
    assert_int_equal(mcp_json_int(mcp_call_error_data(call), 0), 1);
    mcp_call_free(call);
    fixture_close(&w.f);
}

static void
pages_without_end_have_an_end(void **state)
{
    struct watched w;
    int i;

    (void)state;
    watched_open(&w);
    plan_call(&w, REFUSED(1));
    for (i = 0; i < 110; i++)
        plan_list(&w, LIST(PLAIN("u"), TO("same")));
    expect_refusal(&w, NULL, "refusal 1");
    expect_sent(&w, 1, 100);
    fixture_close(&w.f);
}

static void
other_errors_and_other_methods_are_not_for_it(void **state)
{
    struct watched w;
    mcp_error err;

    (void)state;
    watched_open(&w);
    plan_call(&w, "\"error\":{\"code\":-32021,\"message\":\"no\"}");
    assert_int_equal(call_t(&w, NULL, &err), MCP_E_PEER);
    plan_call(&w, REFUSED(1)); /* it calls no tool */
    assert_int_equal(
        mcp_client_call(w.f.client, "tools/call", "{\"name\":7}", NULL, NULL, &err),
        MCP_E_PEER);
    plan_call(&w, REFUSED(1));
    assert_int_equal(mcp_client_call(w.f.client, "tools/call", NULL, NULL, NULL, &err),
                     MCP_E_PEER);
    script_plan(&w.f.s, "prompts/get", REFUSED(1));
    assert_int_equal(mcp_client_get_prompt(w.f.client, "t", NULL, NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32020);
    expect_sent(&w, 3, 0);
    fixture_close(&w.f);
}

static void
a_legacy_server_has_no_such_headers(void **state)
{
    struct watched w;
    mcp_reply *reply;

    (void)state;
    watched_open_as(&w, MCP_ERA_LEGACY, &SCRIPT_OPTIONS());
    plan_call(&w, REFUSED(1));
    expect_refusal(&w, NULL, "refusal 1");
    expect_sent(&w, 1, 0);
    plan_list(&w, LIST(TOOL("t", ""), ""));
    reply = list_tools(&w);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 1);
    mcp_reply_free(reply);
    fixture_close(&w.f);
}

static void
a_link_without_headers_has_none(void **state)
{
    struct watched w;
    mcp_reply *reply;

    (void)state;
    watched_open(&w);
    w.f.client->mirrors.on = false;
    plan_call(&w, REFUSED(1));
    expect_refusal(&w, NULL, "refusal 1");
    expect_sent(&w, 1, 0);
    plan_list(&w, LIST(TOOL("t", "") "," TOOL("u", "U"), ""));
    reply = list_tools(&w);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 2);
    mcp_reply_free(reply);
    assert_null(mcpi_mirrors_find(&w.f.client->mirrors, "u"));
    fixture_close(&w.f);
}

/* ---- ends ---------------------------------------------------------------- */

/* Until the list, or the second try, is out. */
static mcp_call *
start_until(struct watched *w, bool again, const mcp_call_options *opt)
{
    mcp_call *call = NULL;

    plan_call(w, REFUSED(1));
    plan_list(w, again ? LIST(TOOL("t", "T"), "") : NULL);
    plan_call(w, NULL);
    assert_int_equal(mcp_client_start_tool(w->f.client, "t", NULL, opt, told_done,
                                           &w->f.told, &call),
                     0);
    script_line(&w->f.s, LISTING, 1);
    if (again)
        script_line(&w->f.s, CALL, 2);
    return call;
}

static void
L1_a_cancel_names_the_leg_under_way(void **state)
{
    struct watched w;
    mcp_call *call;
    int again;

    (void)state;
    for (again = 0; again < 2; again++) {
        watched_open(&w);
        call = start_until(&w, again, NULL);
        assert_int_equal(mcp_call_cancel(call, NULL), 0);
        told_await(&w.f.told, done, 1);
        assert_int_equal(told_status(&w.f.told), MCP_E_CANCELED);
        assert_non_null(strstr(script_line(&w.f.s, FRAME, 1),
                               again ? "\"requestId\":3," : "\"requestId\":2,"));
        mcp_call_free(call);
        fixture_close(&w.f);
    }
}

static void
L5_the_total_covers_all_legs(void **state)
{
    struct watched w;
    mcp_call *call;
    int again;

    (void)state;
    for (again = 0; again < 2; again++) {
        watched_open(&w);
        fixture_hold_time(&w.f);
        call = start_until(&w, again, &MCP_CALL_OPTIONS(.total_ms = 2500));
        virtual_clock_pass(&w.f.clock, 2500);
        told_await(&w.f.told, done, 1);
        assert_int_equal(told_status(&w.f.told), MCP_E_TOTAL_TIMEOUT);
        mcp_call_free(call);
        fixture_close(&w.f);
    }
}

static void
B32_a_free_covers_all_legs(void **state)
{
    struct watched w;
    int again;

    (void)state;
    for (again = 0; again < 2; again++) {
        watched_open(&w);
        mcp_call_free(start_until(&w, again, NULL));
        script_line(&w.f.s, FRAME, 1);
        assert_int_equal(told_count(&w.f.told, done), 0);
        fixture_close(&w.f);
    }
}

static void
a_scope_ends_all_legs(void **state)
{
    mcp_scope *scope;
    struct watched w;
    mcp_call *call;

    (void)state;
    watched_open(&w);
    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    call = start_until(&w, false, &MCP_CALL_OPTIONS(.scope = scope));
    mcp_scope_cancel(scope, NULL);
    told_await(&w.f.told, done, 1);
    assert_int_equal(told_status(&w.f.told), MCP_E_CANCELED);
    mcp_call_free(call);
    mcp_scope_free(scope);
    fixture_close(&w.f);
}

/* ---- rounds -------------------------------------------------------------- */

#define ASKS(state)                                                                 \
    "\"result\":{\"resultType\":\"input_required\",\"requestState\":\"" state "\"," \
    "\"inputRequests\":{\"q\":{\"method\":\"elicitation/create\",\"params\":{"      \
    "\"mode\":\"form\",\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\"," \
    "\"properties\":{}}}}}}"

static int
say_no(mcp_request *req, mcp_result *out, void *user)
{
    atomic_int *asked = user;

    (void)req;
    (void)out;
    atomic_fetch_add(asked, 1);
    return mcp_result_decline(out);
}

static void
a_round_that_is_refused_is_made_again_with_its_answers(void **state)
{
    atomic_int asked = 0;
    struct watched w;

    (void)state;
    watched_open_as(&w, MCP_ERA_MODERN,
                    &SCRIPT_OPTIONS(.elicit = {.reply = say_no, .user = &asked}));
    plan_call(&w, ASKS("one"));
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("t", "T"), ""));
    plan_call(&w, ASKS("two"));
    plan_call(&w, DONE);
    assert_int_equal(call_t(&w, &MCP_CALL_OPTIONS(.rounds = 2), NULL), 0);
    expect_sent(&w, 4, 1);
    assert_int_equal(atomic_load(&asked), 2);
    assert_non_null(strstr(script_line(&w.f.s, CALL, 2), "\"requestState\":\"one\""));
    assert_non_null(strstr(script_line(&w.f.s, CALL, 3), "\"requestState\":\"one\""));
    assert_non_null(strstr(script_line(&w.f.s, CALL, 3), "\"decline\""));
    assert_non_null(strstr(script_line(&w.f.s, CALL, 3), "\"a\":\"x\""));
    assert_non_null(strstr(script_line(&w.f.s, CALL, 4), "\"requestState\":\"two\""));
    assert_null(strstr(script_line(&w.f.s, CALL, 4), "\"requestState\":\"one\""));
    fixture_close(&w.f);
}

static void
L6_a_second_try_is_no_round(void **state)
{
    atomic_int asked = 0;
    struct watched w;
    mcp_error err;

    (void)state;
    watched_open_as(&w, MCP_ERA_MODERN,
                    &SCRIPT_OPTIONS(.elicit = {.reply = say_no, .user = &asked}));
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("t", "T"), ""));
    plan_call(&w, ASKS("one"));
    plan_call(&w, ASKS("two"));
    assert_int_equal(call_t(&w, &MCP_CALL_OPTIONS(.rounds = 1), &err), MCP_E_LIMIT);
    assert_string_equal(err.message,
                        "tools/call: the server has asked more than 1 times");
    assert_int_equal(atomic_load(&asked), 1);
    expect_sent(&w, 3, 1);
    fixture_close(&w.f);
}

/* ---- what the program sees of the list ----------------------------------- */

static void
the_program_does_not_see_tools_that_break_a_rule(void **state)
{
    struct watched w;
    mcp_reply *reply;
    int i;

    (void)state;
    watched_open(&w);
    plan_list(&w, LIST(TOOL("bad", "no token") "," TOOL("good", "G"), KEPT));
    for (i = 0; i < 2; i++) { /* from the server, and what is kept */
        reply = list_tools(&w);
        assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 1);
        assert_true(mcp_json_is_string(
            mcp_json_get(mcp_json_at(mcp_reply_items(reply), 0), "name"), "good"));
        mcp_reply_free(reply);
    }
    expect_sent(&w, 0, 1);
    assert_int_equal(atomic_load(&w.warnings), 1);
    assert_string_equal(w.line, "tool bad is left out: x-mcp-header is no HTTP token");
    fixture_close(&w.f);
}

static void
nor_by_any_other_way_to_the_list(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.meta = "{\"x\":1}");
    struct watched w;
    mcp_reply *reply;

    (void)state;
    watched_open(&w);
    plan_list(&w, LIST(TOOL("bad", ""), TO("2")));
    plan_list(&w, LIST(TOOL("good", "G") "," TOOL("bad", ""), ""));
    assert_int_equal(
        mcp_client_list_all(w.f.client, MCP_LIST_TOOLS, NULL, &reply, NULL), 0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 1);
    mcp_reply_free(reply);
    plan_list(&w, LIST(TOOL("bad", "") "," TOOL("x", "X"), ""));
    assert_int_equal(mcp_client_call(w.f.client, "tools/list", "{\"of\":\"mine\"}",
                                     NULL, &reply, NULL),
                     0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 1);
    mcp_reply_free(reply);
    plan_list(&w, LIST(TOOL("bad", "") "," TOOL("y", "Y"), ""));
    assert_int_equal(mcp_client_list_tools(w.f.client, NULL, &opt, &reply, NULL), 0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 1);
    mcp_reply_free(reply);
    assert_non_null(mcpi_mirrors_find(&w.f.client->mirrors, "good"));
    assert_non_null(mcpi_mirrors_find(&w.f.client->mirrors, "x"));
    assert_non_null(mcpi_mirrors_find(&w.f.client->mirrors, "y"));
    fixture_close(&w.f);
}

static void
all_pages_of_a_list_forget_what_is_gone(void **state)
{
    struct watched w;
    int i;

    (void)state;
    watched_open(&w);
    for (i = 0; i < 2; i++) {
        plan_list(&w, i == 0 ? LIST(TOOL("a", "A") "," TOOL("gone", "G"), TO("2"))
                             : LIST(TOOL("a", "A"), TO("2")));
        plan_list(&w, LIST(TOOL("b", "B"), ""));
        assert_int_equal(
            mcp_client_list_all(w.f.client, MCP_LIST_TOOLS, NULL, NULL, NULL), 0);
        assert_int_equal(!mcpi_mirrors_find(&w.f.client->mirrors, "gone"), i);
    }
    assert_non_null(mcpi_mirrors_find(&w.f.client->mirrors, "a"));
    assert_non_null(mcpi_mirrors_find(&w.f.client->mirrors, "b"));
    fixture_close(&w.f);
}

static void
pages_of_a_check_are_learned_from_too(void **state)
{
    struct watched w;

    (void)state;
    watched_open(&w);
    know(&w, LIST(TOOL("gone", "G"), TO("x")));
    plan_call(&w, OUTPUT(1));
    plan_list(&w, LIST(TOOL("u", "U"), TO("2")));
    plan_list(&w, LIST(TOOL("t", "T") "," TOOL("bad", ""), ""));
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    assert_non_null(mcpi_mirrors_find(&w.f.client->mirrors, "t"));
    assert_non_null(mcpi_mirrors_find(&w.f.client->mirrors, "u"));
    assert_null(mcpi_mirrors_find(&w.f.client->mirrors, "gone"));
    assert_int_equal(atomic_load(&w.warnings), 1);
    fixture_close(&w.f);
}

static void
a_change_of_the_list_makes_it_forget(void **state)
{
    struct watched w;

    (void)state;
    watched_open(&w);
    know(&w, LIST(TOOL("t", "T"), ""));
    script_say(&w.f.s, CHANGED);
    assert_int_equal(mcp_client_ping(w.f.client, NULL, NULL), 0);
    assert_null(mcpi_mirrors_find(&w.f.client->mirrors, "t"));
    plan_call(&w, REFUSED(1));
    plan_list(&w, LIST(TOOL("t", "T"), ""));
    plan_call(&w, DONE);
    assert_int_equal(call_t(&w, NULL, NULL), 0);
    assert_non_null(mcpi_mirrors_find(&w.f.client->mirrors, "t"));
    fixture_close(&w.f);
}

/* ---- memory -------------------------------------------------------------- */

struct flow {
    const char *name;
    void (*run)(struct script *s, mcp_client *client, struct test_mem *mem);
};

static void
flow_retry(struct script *s, mcp_client *client, struct test_mem *mem)
{
    mcp_error err = {0};
    int r;

    script_plan(s, CALL, REFUSED(1));
    script_plan(s, LISTING, LIST(TOOL("u", "U"), TO("2")));
    script_plan(s, LISTING, LIST(TOOL("t", "T"), ""));
    script_plan(s, CALL, DONE);
    r = mcp_client_call_tool(client, "t", "{\"a\":\"x\"}", NULL, NULL, &err);
    atomic_store(&mem->fail_at, 0);
    assert_true(r == 0 || atomic_load(&mem->failed) > 0);
    assert_true(r == 0 || r == MCP_E_NOMEM || r == MCP_E_CLOSED ||
                (r == MCP_E_PEER && err.rpc_code == -32020));
}

static void
flow_list(struct script *s, mcp_client *client, struct test_mem *mem)
{
    mcp_reply *reply = NULL;
    int r;

    script_plan(s, LISTING, LIST(TOOL("bad", "") "," TOOL("t", "T"), KEPT));
    r = mcp_client_list_tools(client, NULL, NULL, &reply, NULL);
    atomic_store(&mem->fail_at, 0);
    assert_true(r == 0 || atomic_load(&mem->failed) > 0);
    assert_true(r == 0 || r == MCP_E_NOMEM || r == MCP_E_CLOSED);
    if (r == 0)
        assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 1);
    mcp_reply_free(reply);
}

static const struct flow flows[] = {{"retry", flow_retry}, {"list", flow_list}};

static void
flow_once(const struct flow *flow, struct test_mem *mem)
{
    long fail_at = atomic_load(&mem->fail_at);
    mcp_client *client;
    struct script s;

    script_open(&s, MCP_ERA_MODERN);
    atomic_store(&mem->fail_at, 0);
    client = script_client(&s, &SCRIPT_OPTIONS(.allocator = &mem->allocator));
    client->mirrors.on = true;
    atomic_store(&mem->fail_at, atomic_load(&mem->total) + fail_at);
    flow->run(&s, client, mem);
    mcp_client_free(client);
    script_close(&s);
}

static void
each_allocation_may_fail(void **state)
{
    const struct flow *flow = *state;
    struct test_mem mem;
    long n, failed;

    for (n = 1; n < 200; n++) {
        test_mem_init(&mem);
        atomic_store(&mem.fail_at, n);
        flow_once(flow, &mem);
        failed = atomic_load(&mem.failed);
        test_mem_done(&mem);
        if (failed == 0)
            break;
    }
    assert_in_range(n, 10, 150);
}

#define FAILING(i)                                                    \
    TEST_AS("each_allocation_may_fail_" #i, each_allocation_may_fail, \
            (void *)(uintptr_t)&flows[i])

TEST_MAIN(TEST(a_refused_call_is_made_again_after_the_list),
          TEST(pages_are_read_until_the_tool_is_found),
          TEST(headers_that_have_changed_are_learned_anew),
          TEST(the_list_is_not_the_one_that_is_kept),
          TEST(any_call_of_a_tool_is_made_again),
          TEST(its_output_is_checked_by_the_same_list),
          TEST(calls_that_are_refused_together_are_all_made_again),
          TEST(only_progress_of_the_call_itself_is_told),
          TEST(a_change_after_the_list_does_not_concern_the_check),
          TEST(a_second_refusal_is_the_end),
          TEST(a_list_that_says_nothing_new_leaves_the_refusal),
          TEST(another_tool_that_is_gone_is_nothing_new),
          TEST(a_tool_that_is_not_listed_is_not_called_again),
          TEST(a_tool_that_breaks_a_rule_is_not_called_again),
          TEST(a_list_that_cannot_be_had_leaves_the_refusal),
          TEST(a_server_that_goes_meanwhile_has_refused),
          TEST(pages_without_end_have_an_end),
          TEST(other_errors_and_other_methods_are_not_for_it),
          TEST(a_legacy_server_has_no_such_headers),
          TEST(a_link_without_headers_has_none),
          TEST(L1_a_cancel_names_the_leg_under_way), TEST(L5_the_total_covers_all_legs),
          TEST(B32_a_free_covers_all_legs), TEST(a_scope_ends_all_legs),
          TEST(a_round_that_is_refused_is_made_again_with_its_answers),
          TEST(L6_a_second_try_is_no_round),
          TEST(the_program_does_not_see_tools_that_break_a_rule),
          TEST(nor_by_any_other_way_to_the_list),
          TEST(all_pages_of_a_list_forget_what_is_gone),
          TEST(pages_of_a_check_are_learned_from_too),
          TEST(a_change_of_the_list_makes_it_forget), FAILING(0), FAILING(1))
