/* completion_test.c - completion/complete: what could be typed next */
#include "api/conforms.h"
#include "api/raw_client.h"

static const char *const languages[] = {"c", "c++", "python", NULL};

static const mcp_prompt_argument arguments[] = {
    {.name = "language", .values = languages},
    {.name = "framework"},
    {0},
};

/* Says all that it can see. */
static int
propose(mcp_request *req, mcp_result *out, void *user)
{
    const char *known = mcp_request_complete_known(req, "language");
    const char *id = mcp_request_complete_known(req, "id");

    (void)user;
    if (mcp_request_argument(req, "language"))
        return MCP_E_PROTO;
    mcp_result_value(out, mcp_request_name(req));
    mcp_result_value(out, mcp_request_complete_name(req));
    mcp_result_value(out, mcp_request_complete_value(req));
    mcp_result_value(out, known ? known : "-");
    mcp_result_value(out, id ? id : "-");
    return mcp_result_total(out, 7);
}

static int
nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

static void
add_prompt(struct raw *raw, mcp_prompt prompt)
{
    mcp_error err = {0};

    if (mcp_server_add_prompt(raw->server, &prompt, &err) < 0)
        fail_msg("%s", err.message);
}

static void
add_template(struct raw *raw, mcp_template template)
{
    mcp_error err = {0};

    if (mcp_server_add_template(raw->server, &template, &err) < 0)
        fail_msg("%s", err.message);
}

static void
open_with(struct raw *raw, bool modern)
{
    const mcp_handler handler = {.run = propose};

    raw_make(raw, MCP_SERVER_OPTIONS(.page = 0));
    add_prompt(raw, MCP_PROMPT(.name = "review", .arguments = arguments,
                               .reply = nothing, .complete = handler));
    add_prompt(raw,
               MCP_PROMPT(.name = "plain", .arguments = arguments, .reply = nothing));
    add_template(raw, MCP_TEMPLATE(.uri_template = "users://{id}/{part}", .name = "n",
                                   .reply = nothing, .complete = handler));
    add_template(
        raw, MCP_TEMPLATE(.uri_template = "x://{y}", .name = "n", .reply = nothing));
    raw_start(raw, modern);
}

/* ref and argument as JSON, with ' for quotes; more as in raw_ask. */
static void
complete(struct raw *raw, const char *ref, const char *argument, const char *more)
{
    char text[1024];

    snprintf(text, sizeof(text), ",'ref':%s,'argument':%s%s", ref, argument, more);
    for (char *at = text; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    raw_ask(raw, "1", "completion/complete", text);
}

#define REVIEW "{'type':'ref/prompt','name':'review'}"

static void
values_are_proposed_by_what_they_begin_with(void **state)
{
    struct raw raw;

    open_with(&raw, RAW_MODERN);
    complete(&raw, REVIEW, "{'name':'language','value':''}", "");
    raw_expect(&raw,
               "\"result\":{\"completion\":{\"values\":[\"c\",\"c++\",\"python\"],"
               "\"total\":3,\"hasMore\":false}");
    complete(&raw, REVIEW, "{'name':'language','value':'c'}", "");
    raw_expect(&raw, "{\"values\":[\"c\",\"c++\"],\"total\":2,\"hasMore\":false}");
    complete(&raw, REVIEW, "{'name':'language','value':'x'}", "");
    raw_expect(&raw, "{\"values\":[],\"total\":0,\"hasMore\":false}");
    raw_done(&raw);
}

static void
what_has_no_values_is_the_handler_s(void **state)
{
    struct raw raw;

    open_with(&raw, RAW_MODERN);
    complete(&raw, REVIEW, "{'name':'framework','value':'fl'}",
             ",'context':{'arguments':{'language':'python'}}");
    raw_expect(&raw, "{\"values\":[\"review\",\"framework\",\"fl\",\"python\",\"-\"],"
                     "\"total\":7,\"hasMore\":true}");
    complete(&raw, "{'type':'ref/prompt','name':'plain'}",
             "{'name':'framework','value':'fl'}", "");
    raw_expect(&raw, "{\"values\":[],\"total\":0,\"hasMore\":false}");
    raw_done(&raw);
}

static void
a_template_is_named_by_its_text_or_by_a_uri(void **state)
{
    struct raw raw;

    open_with(&raw, RAW_MODERN);
    complete(&raw, "{'type':'ref/resource','uri':'users://{id}/{part}'}",
             "{'name':'part','value':'ca'}", ",'context':{'arguments':{'id':'7'}}");
    raw_expect(&raw, "[\"users://{id}/{part}\",\"part\",\"ca\",\"-\",\"7\"]");
    complete(&raw, "{'type':'ref/resource','uri':'users://8/c'}",
             "{'name':'part','value':'ca'}", "");
    raw_expect(&raw, "[\"users://{id}/{part}\",\"part\",\"ca\",\"-\",\"8\"]");
    complete(&raw, "{'type':'ref/resource','uri':'x://{y}'}",
             "{'name':'y','value':'ca'}", ",'context':{}");
    raw_expect(&raw, "{\"values\":[],\"total\":0,\"hasMore\":false}");
    raw_done(&raw);
}

static void
who_asks_wrongly_is_told_why(void **state)
{
    static const struct {
        const char *ref, *argument, *more, *why;
    } wrong[] = {
        {"{'type':'ref/prompt','name':'none'}", "{'name':'a','value':''}", "",
         "Unknown prompt: none"},
        {"{'type':'ref/resource','uri':'a:none'}", "{'name':'a','value':''}", "",
         "Unknown resource template: a:none"},
        {REVIEW, "{'name':'none','value':''}", "", "Unknown argument: none"},
        {"{'type':'ref/resource','uri':'x://{y}'}", "{'name':'z','value':''}", "",
         "Unknown argument: z"},
        {"{'type':'ref/other','name':'x'}", "{'name':'a','value':''}", "",
         "Invalid params: ref must be a ref/prompt or a ref/resource"},
        {"5", "{'name':'a','value':''}", "",
         "Invalid params: ref must be a ref/prompt or a ref/resource"},
        {"{'type':'ref/prompt'}", "{'name':'a','value':''}", "",
         "Invalid params: ref.name must be a string"},
        {"{'type':'ref/resource','uri':1}", "{'name':'a','value':''}", "",
         "Invalid params: ref.uri must be a string"},
        {REVIEW, "{'name':'language'}", "",
         "Invalid params: argument must have a name and a value, both strings"},
        {REVIEW, "{'value':'language'}", "",
         "Invalid params: argument must have a name and a value, both strings"},
        {REVIEW, "{'name':'language','value':''}", ",'context':[]",
         "Invalid params: context must be an object"},
        {REVIEW, "{'name':'language','value':''}", ",'context':{'arguments':{'a':1}}",
         "Invalid params: each of arguments must be a string"},
    };
    char part[200];
    struct raw raw;

    open_with(&raw, RAW_MODERN);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        complete(&raw, wrong[i].ref, wrong[i].argument, wrong[i].more);
        snprintf(part, sizeof(part), "\"error\":{\"code\":-32602,\"message\":\"%s\"}}",
                 wrong[i].why);
        raw_expect(&raw, part);
    }
    raw_done(&raw);
}

static void
a_server_with_nothing_to_complete_has_no_such_method(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add_prompt(&raw, MCP_PROMPT(.name = "p", .reply = nothing));
    raw_start(&raw, RAW_MODERN);
    complete(&raw, "{'type':'ref/prompt','name':'p'}", "{'name':'a','value':''}", "");
    raw_expect(&raw, "\"code\":-32601,\"message\":\"Method not found: "
                     "completion/complete\"");
    raw_done(&raw);
}

static int
propose_many(mcp_request *req, mcp_result *out, void *user)
{
    int r = 0;

    (void)req;
    (void)user;
    for (int i = 0; r == 0 && i < 150; i++)
        r = mcp_result_value(out, "v");
    return r;
}

static int
wait_for_cancel(mcp_request *req, mcp_result *out, void *user)
{
    (void)out;
    atomic_store((atomic_bool *)user, true);
    return mcp_request_sleep(req, AWAIT_MS);
}

static void
a_handler_of_completions_can_be_canceled(void **state)
{
    atomic_bool entered = false;
    const mcp_handler handler = {.run = wait_for_cancel, .user = &entered};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add_template(&raw, MCP_TEMPLATE(.uri_template = "x://{y}", .name = "n",
                                    .reply = nothing, .complete = handler));
    raw_start(&raw, RAW_MODERN);
    complete(&raw, "{'type':'ref/resource','uri':'x://{y}'}", "{'name':'y','value':''}",
             "");
    RAW_UNTIL(atomic_load(&entered));
    raw_cancel(&raw, "1", "typed on");
    raw_expect_silence(&raw);
    RAW_UNTIL(raw_counts(&raw).stopped == 1);
    raw_done(&raw);
}

static void
what_is_answered_conforms_to_the_schema(void **state)
{
    const mcp_handler handler = {.reply = propose_many};
    const char *line;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add_template(&raw, MCP_TEMPLATE(.uri_template = "x://{y}", .name = "n",
                                    .reply = nothing, .complete = handler));
    raw_start(&raw, RAW_MODERN);
    complete(&raw, "{'type':'ref/resource','uri':'x://{y}'}", "{'name':'y','value':''}",
             "");
    line = raw_expect(&raw, "\"total\":150,\"hasMore\":true");
    conforms(line, RAW_MODERN, "CompleteResult");
    raw_done(&raw);
}

static void
complete_in(struct test_mem *mem, void *user)
{
    const mcp_handler handler = {.run = propose};
    const char *line;
    struct raw raw;

    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    raw.lenient = true;
    if (mcp_server_add_template(raw.server,
                                &MCP_TEMPLATE(.uri_template = "x://{y}", .name = "n",
                                              .reply = nothing, .complete = handler),
                                NULL) == 0 &&
        raw_try_connect(&raw, true) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        complete(&raw, user, "{'name':'y','value':''}", "");
        line = raw_next(&raw);
        if (line && (!strstr(line, "\"id\":1") || strstr(line, "Unknown")))
            fail_msg("%s", line);
    }
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(
                    complete_in, (char[]){"{'type':'ref/resource','uri':'x://{y}'}"}) >
                20);
    assert_true(test_each_allocation_fails(
                    complete_in, (char[]){"{'type':'ref/resource','uri':'x://z'}"}) >
                20);
}

TEST_MAIN(TEST_ERAS(values_are_proposed_by_what_they_begin_with),
          TEST_ERAS(what_has_no_values_is_the_handler_s),
          TEST_ERAS(a_template_is_named_by_its_text_or_by_a_uri),
          TEST_ERAS(who_asks_wrongly_is_told_why),
          TEST_ERAS(a_server_with_nothing_to_complete_has_no_such_method),
          TEST_ERAS(a_handler_of_completions_can_be_canceled),
          TEST_ERAS(what_is_answered_conforms_to_the_schema),
          TEST(each_allocation_may_fail))
