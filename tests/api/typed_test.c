/* typed_test.c - the methods of a client: what is sent, what is refused before that */
#include <stdio.h>
#include <string.h>

#include "api/client_fixture.h"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

static void
assert_has(const char *line, const char *part)
{
    if (!strstr(line, part))
        fail_msg("%s is not in %s", part, line);
}

static void
assert_lacks(const char *line, const char *part)
{
    if (strstr(line, part))
        fail_msg("%s is in %s", part, line);
}

/* The next request of that method has these params, but for _meta, and gets this. */
static const char *
expect(struct fixture *f, const char *method, const char *params, size_t nth)
{
    const char *line = script_line(&f->s, method, nth);
    char part[256];

    snprintf(part, sizeof part, "\"method\":\"%s\",\"params\":{%s", method, params);
    assert_has(line, part);
    return line;
}

#define ITEMS(key) \
    "\"result\":{\"resultType\":\"complete\",\"" key "\":[1,2],\"nextCursor\":\"c\"}"

/* ---- lists --------------------------------------------------------------- */

typedef int list_fn(mcp_client *client, const char *cursor, const mcp_call_options *opt,
                    mcp_reply **ret_reply, mcp_error *err);

static void
each_list_is_asked_for_page_by_page(void **state)
{
    static const struct {
        list_fn *fn;
        const char *method, *answer;
    } cases[] = {
        {mcp_client_list_tools, "tools/list", ITEMS("tools")},
        {mcp_client_list_resources, "resources/list", ITEMS("resources")},
        {mcp_client_list_templates, "resources/templates/list",
         ITEMS("resourceTemplates")},
        {mcp_client_list_prompts, "prompts/list", ITEMS("prompts")},
    };
    struct fixture f;
    mcp_reply *reply;
    size_t i;

    fixture_open(&f, state);
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        script_plan(&f.s, cases[i].method, cases[i].answer);
        script_plan(&f.s, cases[i].method, cases[i].answer);
        assert_int_equal(cases[i].fn(f.client, NULL, NULL, &reply, NULL), 0);
        assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 2);
        assert_string_equal(mcp_reply_cursor(reply), "c");
        mcp_reply_free(reply);
        assert_lacks(script_line(&f.s, cases[i].method, 1), "cursor");
        assert_int_equal(cases[i].fn(f.client, "a\"b\n", NULL, NULL, NULL), 0);
        expect(&f, cases[i].method, "\"cursor\":\"a\\\"b\\n\"", 2);
        assert_int_equal(cases[i].fn(f.client, "\xff", NULL, NULL, NULL), MCP_E_INVAL);
        assert_int_equal(cases[i].fn(NULL, NULL, NULL, NULL, NULL), MCP_E_INVAL);
    }
    fixture_close(&f);
}

/* ---- resources and prompts ----------------------------------------------- */

static void
a_resource_is_read(void **state)
{
    static const char
        *const answer = "\"result\":{\"resultType\":\"complete\","
                        "\"contents\":[{\"uri\":\"x:1\",\"text\":\"t\"}]}";
    struct fixture f;
    mcp_reply *reply;
    mcp_error err;

    fixture_open(&f, state);
    script_plan(&f.s, "resources/read", answer);
    script_plan(&f.s, "resources/read", answer);
    assert_int_equal(mcp_client_read(f.client, "x:\"1\"", NULL, &reply, &err), 0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 1);
    mcp_reply_free(reply);
    expect(&f, "resources/read", "\"uri\":\"x:\\\"1\\\"\"", 1);
    assert_int_equal(
        mcp_client_start_read(f.client, "x:2", NULL, told_done, &f.told, NULL), 0);
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), 0);
    expect(&f, "resources/read", "\"uri\":\"x:2\"", 2);
    assert_int_equal(mcp_client_read(f.client, NULL, NULL, NULL, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "the URI of a resource must be a UTF-8 text");
    assert_int_equal(
        mcp_client_start_read(f.client, "\xc3", NULL, told_done, &f.told, NULL),
        MCP_E_INVAL);
    fixture_close(&f);
}

static void
a_prompt_is_got(void **state)
{
    static const char *const answer = "\"result\":{\"resultType\":\"complete\","
                                      "\"messages\":[1,2,3]}";
    struct fixture f;
    mcp_reply *reply;
    mcp_error err;

    fixture_open(&f, state);
    script_plan(&f.s, "prompts/get", answer);
    script_plan(&f.s, "prompts/get", answer);
    assert_int_equal(
        mcp_client_get_prompt(f.client, "p\\", " {\"a\" :\"1\"} ", NULL, &reply, &err),
        0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 3);
    mcp_reply_free(reply);
    expect(&f, "prompts/get", "\"name\":\"p\\\\\",\"arguments\":{\"a\" :\"1\"}", 1);
    assert_int_equal(
        mcp_client_start_prompt(f.client, "q", NULL, NULL, told_done, &f.told, NULL),
        0);
    told_await(&f.told, done, 1);
    assert_lacks(expect(&f, "prompts/get", "\"name\":\"q\"", 2), "arguments");
    assert_int_equal(
        mcp_client_get_prompt(f.client, "p", "{\"a\":1}", NULL, NULL, &err),
        MCP_E_INVAL);
    assert_string_equal(err.message, "arguments: a must be a text");
    assert_int_equal(mcp_client_get_prompt(f.client, NULL, NULL, NULL, NULL, &err),
                     MCP_E_INVAL);
    assert_string_equal(err.message, "a prompt's name must be a UTF-8 text");
    assert_int_equal(
        mcp_client_start_prompt(f.client, "p", "[]", NULL, NULL, NULL, NULL),
        MCP_E_INVAL);
    fixture_close(&f);
}

static void
a_tool_is_called_and_started(void **state)
{
    static const char *const answer = "\"result\":{\"resultType\":\"complete\","
                                      "\"content\":[]}";
    struct fixture f;

    fixture_open(&f, state);
    script_plan(&f.s, "tools/call", answer);
    script_plan(&f.s, "tools/call", answer);
    assert_int_equal(mcp_client_call_tool(f.client, "a\"", NULL, NULL, NULL, NULL), 0);
    expect(&f, "tools/call", "\"name\":\"a\\\"\",\"arguments\":{}", 1);
    assert_int_equal(mcp_client_start_tool(f.client, "b", "{\"n\":1}", NULL, told_done,
                                           &f.told, NULL),
                     0);
    told_await(&f.told, done, 1);
    expect(&f, "tools/call", "\"name\":\"b\",\"arguments\":{\"n\":1}", 2);
    fixture_close(&f);
}

/* ---- completion ---------------------------------------------------------- */

static void
what_was_typed_is_completed(void **state)
{
    static const char *const answer = "\"result\":{\"resultType\":\"complete\","
                                      "\"completion\":{\"values\":[\"a\",\"b\"]}}";
    struct fixture f;
    mcp_reply *reply;

    fixture_open(&f, state);
    script_plan(&f.s, "completion/complete", answer);
    script_plan(&f.s, "completion/complete", answer);
    assert_int_equal(mcp_client_complete(
                         f.client,
                         &MCP_COMPLETE(.prompt = "p", .argument = "x", .value = "\""),
                         NULL, &reply, NULL),
                     0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 2);
    mcp_reply_free(reply);
    assert_lacks(expect(&f, "completion/complete",
                        "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":"
                        "{\"name\":\"x\",\"value\":\"\\\"\"}",
                        1),
                 "\"context\"");
    assert_int_equal(
        mcp_client_complete(f.client,
                            &MCP_COMPLETE(.uri_template = "x:{a}", .argument = "a",
                                          .value = "", .context = "{\"b\":\"2\"}"),
                            NULL, NULL, NULL),
        0);
    expect(&f, "completion/complete",
           "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"x:{a}\"},\"argument\":{"
           "\"name\":\"a\",\"value\":\"\"},\"context\":{\"arguments\":{\"b\":\"2\"}}",
           2);
    fixture_close(&f);
}

static void
what_cannot_be_completed_is_refused(void **state)
{
    static const struct {
        mcp_complete what;
        const char *words;
    } cases[] = {
        {{sizeof(mcp_complete), NULL, NULL, "a", "v", NULL},
         "an argument is of a prompt or of a template"},
        {{sizeof(mcp_complete), "p", "t", "a", "v", NULL},
         "an argument is of a prompt or of a template"},
        {{sizeof(mcp_complete), "p", NULL, NULL, "v", NULL},
         "an argument's name must be a UTF-8 text"},
        {{sizeof(mcp_complete), "p", NULL, "a", NULL, NULL},
         "what was typed must be a UTF-8 text"},
        {{sizeof(mcp_complete), NULL, "\xff", "a", "v", NULL},
         "a template must be a UTF-8 text"},
        {{sizeof(mcp_complete), "p", NULL, "a", "v", "{\"b\":2}"},
         "context: b must be a text"},
        {{3, "p", NULL, "a", "v", NULL}, "there is nothing to complete"},
    };
    struct fixture f;
    mcp_error err;
    size_t i;

    fixture_open(&f, state);
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(
            mcp_client_complete(f.client, &cases[i].what, NULL, NULL, &err),
            MCP_E_INVAL);
        assert_string_equal(err.message, cases[i].words);
    }
    assert_int_equal(mcp_client_complete(f.client, NULL, NULL, NULL, &err),
                     MCP_E_INVAL);
    assert_int_equal(script_count(&f.s, "completion"), 0);
    fixture_close(&f);
}

/* ---- answers without what was asked for ---------------------------------- */

static int
ask_completion(mcp_client *client, const char *cursor, const mcp_call_options *opt,
               mcp_reply **ret_reply, mcp_error *err)
{
    (void)cursor;
    return mcp_client_complete(
        client, &MCP_COMPLETE(.prompt = "p", .argument = "a", .value = ""), opt,
        ret_reply, err);
}

static int
ask_contents(mcp_client *client, const char *cursor, const mcp_call_options *opt,
             mcp_reply **ret_reply, mcp_error *err)
{
    (void)cursor;
    return mcp_client_read(client, "x:1", opt, ret_reply, err);
}

static int
ask_messages(mcp_client *client, const char *cursor, const mcp_call_options *opt,
             mcp_reply **ret_reply, mcp_error *err)
{
    (void)cursor;
    return mcp_client_get_prompt(client, "p", NULL, opt, ret_reply, err);
}

static const struct {
    list_fn *fn;
    const char *method, *member;
    const char *result; /* with something else than a list */
} listless[] = {
    {mcp_client_list_tools, "tools/list", "tools", "\"tools\":{\"a\":{}}"},
    {mcp_client_list_resources, "resources/list", "resources", "\"resources\":null"},
    {mcp_client_list_templates, "resources/templates/list", "resourceTemplates",
     "\"resourceTemplates\":\"[]\""},
    {mcp_client_list_prompts, "prompts/list", "prompts", "\"tools\":[]"},
    {ask_contents, "resources/read", "contents", "\"contents\":{\"text\":\"t\"}"},
    {ask_messages, "prompts/get", "messages", "\"messages\":7"},
    {ask_completion, "completion/complete", "completion.values",
     "\"completion\":{\"values\":\"a\"}"},
    {ask_completion, "completion/complete", "completion.values",
     "\"completion\":[],\"values\":[]"},
};

static void
an_answer_without_its_list_is_none(void **state)
{
    char answer[128], words[128];
    struct fixture f;
    mcp_reply *reply;
    mcp_error err;
    size_t i, n;

    fixture_open(&f, state);
    for (i = 0; i < sizeof listless / sizeof listless[0]; i++) {
        for (n = 0; n < 2; n++) { /* it is not there at all; it is something else */
            snprintf(answer, sizeof answer,
                     "\"result\":{\"resultType\":\"complete\"%s%s}", n ? "," : "",
                     n ? listless[i].result : "");
            snprintf(words, sizeof words, "the answer to %s has no list \"%s\"",
                     listless[i].method, listless[i].member);
            script_plan(&f.s, listless[i].method, answer);
            reply = NULL;
            assert_int_equal(listless[i].fn(f.client, NULL, NULL, &reply, &err),
                             MCP_E_PROTO);
            assert_null(reply);
            assert_string_equal(err.message, words);
        }
    }
    fixture_close(&f);
}

static void
what_is_started_is_looked_at_too(void **state)
{
    struct fixture f;
    mcp_call *call;
    mcp_error err;

    fixture_open(&f, state);
    script_plan(&f.s, "resources/read", "\"result\":{\"resultType\":\"complete\"}");
    assert_int_equal(
        mcp_client_start_read(f.client, "x:1", NULL, told_done, &f.told, &call), 0);
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), MCP_E_PROTO);
    assert_int_equal(mcp_call_wait(call, 0, NULL, &err), MCP_E_PROTO);
    assert_string_equal(err.message,
                        "the answer to resources/read has no list \"contents\"");
    mcp_call_free(call);
    script_plan(&f.s, "prompts/get", "\"result\":{\"resultType\":\"complete\"}");
    assert_int_equal(
        mcp_client_start_prompt(f.client, "p", NULL, NULL, told_done, &f.told, NULL),
        0);
    told_await(&f.told, done, 2);
    assert_int_equal(told_status(&f.told), MCP_E_PROTO);
    fixture_close(&f);
}

/* Who calls a method by its name gets what there is, and so does who calls a tool. */
static void
other_answers_may_be_anything(void **state)
{
    struct fixture f;
    size_t i;

    fixture_open(&f, state);
    for (i = 0; i < sizeof listless / sizeof listless[0]; i++) {
        script_plan(&f.s, listless[i].method,
                    "\"result\":{\"resultType\":\"complete\"}");
        assert_int_equal(
            mcp_client_call(f.client, listless[i].method, NULL, NULL, NULL, NULL), 0);
    }
    script_plan(&f.s, "tools/call", "\"result\":{\"resultType\":\"complete\"}");
    assert_int_equal(mcp_client_call_tool(f.client, "t", NULL, NULL, NULL, NULL), 0);
    fixture_close(&f);
}

static void
an_answer_without_its_list_is_not_kept(void **state)
{
    struct fixture f;
    mcp_reply *reply;

    fixture_open(&f, state);
    script_plan(&f.s, "prompts/list",
                "\"result\":{\"resultType\":\"complete\",\"ttlMs\":60000,"
                "\"cacheScope\":\"private\"}");
    script_plan(&f.s, "prompts/list", ITEMS("prompts"));
    assert_int_equal(mcp_client_call(f.client, "prompts/list", NULL, NULL, NULL, NULL),
                     0);
    assert_int_equal(mcp_client_list_prompts(f.client, NULL, NULL, &reply, NULL), 0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 2);
    mcp_reply_free(reply);
    fixture_close(&f);
}

/* With rounds -1 it is the program's to answer. */
static void
a_question_needs_no_list(void **state)
{
    struct fixture f;
    mcp_reply *reply;

    fixture_open(&f, state);
    script_plan(&f.s, "resources/read",
                "\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{"
                "\"a\":{\"method\":\"roots/list\"}}}");
    assert_int_equal(
        mcp_client_read(f.client, "x:1", &MCP_CALL_OPTIONS(.rounds = -1), &reply, NULL),
        0);
    assert_true(mcp_json_is_string(mcp_json_get(mcp_reply_result(reply), "resultType"),
                                   "input_required"));
    mcp_reply_free(reply);
    fixture_close(&f);
}

/* ---- log messages -------------------------------------------------------- */

#define LEVEL "\"io.modelcontextprotocol/logLevel\":"

static const char *
called(struct fixture *f, const mcp_call_options *opt, size_t nth)
{
    assert_int_equal(mcp_client_call_tool(f->client, "echo", NULL, opt, NULL, NULL), 0);
    return script_line(&f->s, "tools/call", nth);
}

static void
modern_calls_say_which_messages_they_want(void **state)
{
    const mcp_call_options own = MCP_CALL_OPTIONS(.messages = MCP_SEVERITY_DEBUG);
    mcp_client *other = NULL;
    struct fixture f;
    mcp_error err;

    (void)state;
    fixture_prepare(&f, MCP_ERA_MODERN);
    f.client = script_client(&f.s, &SCRIPT_OPTIONS(.allocator = &f.mem.allocator,
                                                   .messages = MCP_SEVERITY_WARNING));
    assert_has(called(&f, NULL, 1), LEVEL "\"warning\"");
    assert_has(called(&f, &own, 2), LEVEL "\"debug\"");
    assert_int_equal(
        mcp_client_set_messages(f.client, MCP_SEVERITY_EMERGENCY, NULL, &err), 0);
    assert_has(called(&f, NULL, 3), LEVEL "\"emergency\"");
    assert_int_equal(mcp_client_set_messages(f.client, MCP_SEVERITY_NONE, NULL, &err),
                     0);
    assert_lacks(called(&f, NULL, 4), "logLevel");
    assert_has(called(&f, &own, 5), LEVEL "\"debug\"");
    assert_int_equal(script_count(&f.s, "logging/setLevel"), 0);
    assert_int_equal(
        mcp_client_set_messages(f.client, (enum mcp_severity)9, NULL, &err),
        MCP_E_INVAL);
    assert_int_equal(
        mcp_client_call_tool(f.client, "echo", NULL,
                             &MCP_CALL_OPTIONS(.messages = (enum mcp_severity)9), NULL,
                             &err),
        MCP_E_INVAL);
    assert_string_equal(err.message, "messages: of no severity there is");
    assert_int_equal(
        mcp_client_attach(f.s.fd, f.s.fd,
                          &SCRIPT_OPTIONS(.messages = (enum mcp_severity)9), &other,
                          &err),
        MCP_E_INVAL);
    assert_string_equal(err.message, "messages: of no severity there is");
    assert_int_equal(
        mcp_client_attach(f.s.fd, f.s.fd, &SCRIPT_OPTIONS(.rounds = -2), &other, &err),
        MCP_E_INVAL);
    assert_string_equal(err.message, "rounds: there cannot be -2");
    fixture_close(&f);
}

static void
a_legacy_server_is_told_and_waited_for(void **state)
{
    struct fixture f;
    mcp_error err;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    f.client = script_client(&f.s, &SCRIPT_OPTIONS(.allocator = &f.mem.allocator));
    script_plan(&f.s, "logging/setLevel", "\"result\":{}");
    script_plan(&f.s, "logging/setLevel", "\"result\":{}");
    assert_int_equal(mcp_client_set_messages(f.client, MCP_SEVERITY_NOTICE, NULL, &err),
                     0);
    expect(&f, "logging/setLevel", "\"level\":\"notice\"}", 1);
    assert_int_equal(mcp_client_set_messages(f.client, MCP_SEVERITY_NONE, NULL, &err),
                     0);
    expect(&f, "logging/setLevel", "\"level\":\"emergency\"}", 2);
    assert_int_equal(mcp_client_set_messages(f.client, MCP_SEVERITY_ERROR, NULL, &err),
                     MCP_E_PEER); /* it knows of none */
    assert_lacks(called(&f, NULL, 1), "logLevel");
    fixture_close(&f);
}

#define INITIALIZED(capabilities)                                                    \
    "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{" capabilities \
    "},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}"

struct logs {
    pthread_mutex_t lock;
    char line[512];
};

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    struct logs *logs = user;

    (void)level;
    pthread_mutex_lock(&logs->lock);
    snprintf(logs->line, sizeof logs->line, "%s", line);
    pthread_mutex_unlock(&logs->lock);
}

static void
a_legacy_server_is_told_when_it_is_ready(void **state)
{
    struct logs logs = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct fixture f;
    int i;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    script_plan(&f.s, "\"initialize\"", INITIALIZED("\"logging\":{}"));
    script_plan(&f.s, "logging/setLevel",
                "\"error\":{\"code\":-32603,\"message\":\"no ink\"}");
    f.client = script_client(&f.s, &SCRIPT_OPTIONS(.allocator = &f.mem.allocator,
                                                   .on_log = on_log, .log_user = &logs,
                                                   .messages = MCP_SEVERITY_INFO));
    expect(&f, "logging/setLevel", "\"level\":\"info\"}", 1);
    called(&f, NULL, 1);
    assert_true(script_place(&f.s, "logging/setLevel") <
                script_place(&f.s, "tools/call"));
    mcp_client_free(f.client); /* after all callbacks */
    f.client = NULL;
    assert_string_equal(logs.line,
                        "the server was asked for its log messages in vain: no ink");
    fixture_close(&f);
    for (i = 0; i < 2; i++) { /* not wanted; not known */
        fixture_prepare(&f, MCP_ERA_LEGACY);
        script_plan(&f.s, "\"initialize\"", INITIALIZED(""));
        f.client = script_client(
            &f.s,
            &SCRIPT_OPTIONS(.messages = i ? MCP_SEVERITY_INFO : MCP_SEVERITY_NONE));
        called(&f, NULL, 1);
        assert_int_equal(script_count(&f.s, "logging/setLevel"), 0);
        fixture_close(&f);
    }
}

static void
before_it_is_ready_nobody_knows_how_to_tell(void **state)
{
    mcp_client *client = NULL;
    struct fixture f;
    mcp_error err;

    (void)state;
    fixture_prepare(&f, MCP_ERA_MODERN);
    script_ignore(&f.s, true);
    assert_int_equal(mcp_client_attach(f.s.give_fd, f.s.give_fd,
                                       &SCRIPT_OPTIONS(.no_wait = true), &client, &err),
                     0);
    (void)script_give(&f.s);
    assert_int_equal(mcp_client_set_messages(client, MCP_SEVERITY_INFO, NULL, &err),
                     MCP_E_STATE);
    assert_string_equal(err.message, "the connection is not ready yet");
    mcp_client_free(client);
    fixture_close(&f);
}

/* ---- memory -------------------------------------------------------------- */

static void
ask_all(struct test_mem *mem)
{
    long fail_at = atomic_load(&mem->fail_at);
    mcp_client *client;
    struct script s;
    int i;

    script_open(&s, MCP_ERA_MODERN);
    atomic_store(&mem->fail_at, 0);
    client = script_client(&s, &SCRIPT_OPTIONS(.allocator = &mem->allocator));
    atomic_store(&mem->fail_at, atomic_load(&mem->total) + fail_at);
    for (i = 0; i < 4; i++)
        script_plan(&s, i < 2 ? "get" : "compl",
                    "\"result\":{\"resultType\":\"complete\"}");
    (void)mcp_client_get_prompt(client, "p", "{\"a\":\"b\"}", NULL, NULL, NULL);
    (void)mcp_client_complete(client,
                              &MCP_COMPLETE(.prompt = "p", .argument = "a", .value = "",
                                            .context = "{\"b\":\"c\"}"),
                              NULL, NULL, NULL);
    atomic_store(&mem->fail_at, 0);
    mcp_client_free(client);
    script_close(&s);
}

static void
each_allocation_may_fail(void **state)
{
    struct test_mem mem;
    long n, failed;

    (void)state;
    for (n = 1; n < 200; n++) {
        test_mem_init(&mem);
        atomic_store(&mem.fail_at, n);
        ask_all(&mem);
        failed = atomic_load(&mem.failed);
        test_mem_done(&mem);
        if (failed == 0)
            break;
    }
    assert_in_range(n, 10, 100);
}

#define IN_BOTH_ERAS(test) \
    TEST_AS("modern." #test, test, &modern), TEST_AS("legacy." #test, test, &legacy)

TEST_MAIN(IN_BOTH_ERAS(each_list_is_asked_for_page_by_page),
          IN_BOTH_ERAS(a_resource_is_read), IN_BOTH_ERAS(a_prompt_is_got),
          IN_BOTH_ERAS(a_tool_is_called_and_started),
          IN_BOTH_ERAS(what_was_typed_is_completed),
          TEST(what_cannot_be_completed_is_refused),
          IN_BOTH_ERAS(an_answer_without_its_list_is_none),
          IN_BOTH_ERAS(what_is_started_is_looked_at_too),
          IN_BOTH_ERAS(other_answers_may_be_anything),
          TEST(an_answer_without_its_list_is_not_kept), TEST(a_question_needs_no_list),
          TEST(modern_calls_say_which_messages_they_want),
          TEST(a_legacy_server_is_told_and_waited_for),
          TEST(a_legacy_server_is_told_when_it_is_ready),
          TEST(before_it_is_ready_nobody_knows_how_to_tell),
          TEST(each_allocation_may_fail))
