/* answerer_test.c - a client is asked by a legacy server, and answers */
#include <mcp/ask.h>
#include <poll.h>

#include "api/desk.h"

/* ---- what it declares ----------------------------------------------------- */

static const mcp_root two_roots[] = {
    {"file:///place/me", "Home"}, {"file:///tmp", NULL}, {NULL, NULL}};

/* The capabilities in both eras, quotes written as '. */
static void
declared(mcp_client_options opt, const char *modern, const char *legacy)
{
    char wanted[512], *at;
    struct desk d;

    for (int era = 0; era < 2; era++) {
        desk_prepare(&d, era ? MCP_ERA_LEGACY : MCP_ERA_MODERN);
        opt.era = era ? MCP_ERA_LEGACY : MCP_ERA_MODERN;
        desk_attach(&d, opt);
        if (era)
            snprintf(wanted, sizeof wanted, "'capabilities':{%s},'clientInfo'",
                     legacy ? legacy : modern);
        else
            snprintf(wanted, sizeof wanted,
                     "'io.modelcontextprotocol/clientCapabilities':{%s}}", modern);
        for (at = wanted; *at; at++)
            *at = *at == '\'' ? '"' : *at;
        if (!strstr(script_line(&d.f.s, era ? "initialize" : "server/discover", 1),
                    wanted))
            fail_msg("no %s in %s", wanted,
                     script_line(&d.f.s, era ? "initialize" : "server/discover", 1));
        desk_close(&d);
    }
}

static void
a_client_declares_what_it_can_be_asked(void **state)
{
    (void)state;
    declared(SCRIPT_OPTIONS(0), "", NULL);
    declared(SCRIPT_OPTIONS(.elicit.reply = answer_ann), "'elicitation':{'form':{}}",
             NULL);
    declared(SCRIPT_OPTIONS(.elicit.reply = answer_ann, .able = MCP_ABLE_URL),
             "'elicitation':{'form':{},'url':{}}", NULL);
    declared(SCRIPT_OPTIONS(.elicit.reply = answer_ann,
                            .able = MCP_ABLE_URL | MCP_ABLE_NO_FORM),
             "'elicitation':{'url':{}}", NULL);
    declared(SCRIPT_OPTIONS(.sample.run = answer_ann), "'sampling':{}", NULL);
    declared(SCRIPT_OPTIONS(.sample.run = answer_ann,
                            .able = MCP_ABLE_SAMPLE_TOOLS | MCP_ABLE_SAMPLE_CONTEXT),
             "'sampling':{'tools':{},'context':{}}", NULL);
    declared(SCRIPT_OPTIONS(.roots.start = answer_ann), "'roots':{}",
             "'roots':{'listChanged':true}");
    declared(SCRIPT_OPTIONS(.root_list = two_roots), "'roots':{}",
             "'roots':{'listChanged':true}");
    declared(SCRIPT_OPTIONS(.experimental = "{\"x\": {}}",
                            .extensions = "{\"a.b/c\":{\"d\":1}}"),
             "'experimental':{'x':{}},'extensions':{'a.b/c':{'d':1}}", NULL);
}

static void
refused(mcp_client_options opt, const char *part)
{
    mcp_client *client = NULL;
    mcp_error err = {0};
    struct desk d;

    desk_prepare(&d, MCP_ERA_LEGACY);
    opt.allocator = &d.f.mem.allocator;
    assert_int_equal(
        mcp_client_attach(d.f.s.give_fd, d.f.s.give_fd, &opt, &client, &err),
        MCP_E_INVAL);
    assert_null(client);
    if (!strstr(err.message, part))
        fail_msg("no %s in %s", part, err.message);
    desk_close(&d);
}

static void
what_cannot_be_declared_is_refused(void **state)
{
    static const mcp_root no_file[] = {{"https://example.com/", NULL}, {NULL, NULL}};

    (void)state;
    refused(SCRIPT_OPTIONS(.elicit = {.run = answer_ann, .reply = answer_ann}),
            "elicit");
    refused(SCRIPT_OPTIONS(.able = 1024), "able");
    refused(SCRIPT_OPTIONS(.able = MCP_ABLE_URL), "able");
    refused(SCRIPT_OPTIONS(.able = MCP_ABLE_SAMPLE_TOOLS, .elicit.run = answer_ann),
            "able");
    refused(SCRIPT_OPTIONS(.able = MCP_ABLE_NO_FORM, .elicit.run = answer_ann), "able");
    refused(SCRIPT_OPTIONS(.roots.run = answer_ann, .root_list = two_roots), "both");
    refused(SCRIPT_OPTIONS(.root_list = no_file), "file:");
    refused(SCRIPT_OPTIONS(.extensions = "[]"), "extensions");
    refused(SCRIPT_OPTIONS(.experimental = "{\"x\":1}"), "experimental");
    refused(SCRIPT_OPTIONS(.experimental = "{"), "experimental");
}

/* ---- questions and answers ------------------------------------------------ */

static int
finish_ann(mcp_request *req, mcp_result *out, void *user)
{
    assert_ptr_equal(mcp_request_result(req), out);
    (void)answer_ann(req, out, user);
    mcp_request_finish(req, 0);
    return 0;
}

static mcp_handler kinds[] = {
    {.run = answer_ann}, {.start = finish_ann}, {.reply = answer_ann}};

static void
a_form_is_answered(void **state)
{
    struct desk d;

    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit = *(const mcp_handler *)*state,
                                   .callbacks_on_loop = true));
    script_say(&d.f.s, DESK_ELICIT("\"q\""));
    assert_string_equal(script_line(&d.f.s, "\"q\"", 1),
                        "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"action\":"
                        "\"accept\",\"content\":{\"name\":\"Ann\"}}}");
    assert_int_equal(desk_count(&d, &d.asked), 1);
    desk_close(&d);
}

static int
answer_sample(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *params = mcp_request_params(req);

    assert_ptr_equal(user, NULL);
    assert_string_equal(mcp_request_method(req), "sampling/createMessage");
    assert_string_equal(mcp_request_id(req), "7");
    assert_string_equal(mcp_request_name(req), "");
    assert_string_equal(mcp_request_version(req), "2025-11-25");
    assert_int_equal(mcp_json_int(mcp_json_get(params, "maxTokens"), 0), 5);
    (void)desk_of(req);
    (void)mcp_result_model(out, "parrot");
    return mcp_result_text(out, "hi");
}

static int
answer_roots(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    (void)desk_of(req);
    return mcp_result_root(out, "file:///here", NULL);
}

static void
a_sample_and_roots_are_answered(void **state)
{
    struct desk d;

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(
        &d, SCRIPT_OPTIONS(.sample.run = answer_sample, .roots.reply = answer_roots));
    script_say(&d.f.s,
               "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"sampling/createMessage\","
               "\"params\":{\"maxTokens\":5,\"messages\":[]}}");
    script_say(&d.f.s, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"roots/list\"}");
    assert_string_equal(
        script_line(&d.f.s, "\"id\":7", 1),
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\": {\"type\":\"text\","
        "\"text\":\"hi\"},\"model\":\"parrot\",\"role\":\"assistant\"}}");
    assert_string_equal(
        script_line(&d.f.s, "\"id\":8", 1),
        "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{\"roots\":[{\"uri\":\"file:///here\""
        "}]}}");
    desk_close(&d);
}

static void
what_was_not_declared_is_not_found(void **state)
{
    static const char *const asked[] = {"elicitation/create", "sampling/createMessage",
                                        "roots/list", "tools/list"};
    char line[160];
    struct desk d;

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(0));
    for (int i = 0; i < 4; i++) {
        snprintf(line, sizeof line,
                 "{\"jsonrpc\":\"2.0\",\"id\":\"q%d\",\"method\":"
                 "\"%s\",\"params\":{}}",
                 i, asked[i]);
        script_say(&d.f.s, line);
        snprintf(line, sizeof line,
                 "{\"jsonrpc\":\"2.0\",\"id\":\"q%d\",\"error\":{"
                 "\"code\":-32601,\"message\":\"Method not found: "
                 "%s\"}}",
                 i, asked[i]);
        (void)script_line(&d.f.s, line, 1);
    }
    desk_close(&d);
}

/* A tool result, and a text beside it. */
#define MIXED                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":\"sampling/createMessage\"," \
    "\"params\":{\"maxTokens\":1,\"messages\":[{\"role\":\"assistant\","       \
    "\"content\":{\"type\":\"tool_use\",\"id\":\"u\",\"name\":\"n\","          \
    "\"input\":{}}},{\"role\":\"user\",\"content\":[{\"type\":"                \
    "\"tool_result\",\"toolUseId\":\"u\",\"content\":[]},{\"type\":"           \
    "\"text\",\"text\":\"t\"}]}]}}"

static void
what_is_no_question_reaches_no_handler(void **state)
{
    struct desk d;

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit.run = answer_ann, .sample.run = answer_ann));
    script_say(&d.f.s, MIXED);
    (void)script_line(&d.f.s,
                      "\"id\":\"m\",\"error\":{\"code\":-32602,\"message\":"
                      "\"Invalid params: tool results are mixed with other content",
                      1);
    script_say(&d.f.s, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":"
                       "\"elicitation/create\",\"params\":{\"mode\":\"url\","
                       "\"message\":\"m\",\"url\":\"https://x.example/\"}}");
    script_say(&d.f.s, "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":"
                       "\"elicitation/create\"}");
    script_say(&d.f.s, "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":"
                       "\"sampling/createMessage\",\"params\":{\"messages\":[],"
                       "\"maxTokens\":1,\"tools\":[]}}");
    (void)script_line(&d.f.s,
                      "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":"
                      "-32602,\"message\":\"Invalid params: that mode was not "
                      "declared\"}}",
                      1);
    (void)script_line(&d.f.s, "\"id\":\"b\",\"error\":{\"code\":-32602,", 1);
    (void)script_line(&d.f.s, "\"id\":\"c\",\"error\":{\"code\":-32602,", 1);
    assert_int_equal(desk_count(&d, &d.asked), 0);
    desk_close(&d);
}

/* ---- what handlers do wrong ------------------------------------------------ */

static int
answer_nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

static int
answer_misfit(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_json(out, "{\"name\":7}", 10);
}

static int
refuse_it(mcp_request *req, mcp_result *out, void *user)
{
    (void)out;
    (void)user;
    return mcp_request_fail(req, -1, NULL, "the user said no");
}

static void
note_log(void *user, enum mcp_log_level level, const char *line)
{
    char(*last)[200] = user;

    if (level <= MCP_LOG_WARNING)
        snprintf(*last, sizeof *last, "%s", line);
}

static void
a_wrong_answer_is_an_internal_error_and_a_line_in_the_log(void **state)
{
    char last[200] = "";
    struct desk d;

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit.reply = answer_misfit, .on_log = note_log,
                                   .log_user = &last, .sample.reply = refuse_it));
    script_say(&d.f.s, DESK_ELICIT("1"));
    assert_string_equal(script_line(&d.f.s, "\"id\":1", 1),
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,"
                        "\"message\":\"output does not match its schema\"}}");
    script_say(&d.f.s, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":"
                       "\"sampling/createMessage\",\"params\":{\"messages\":[],"
                       "\"maxTokens\":1}}");
    assert_string_equal(script_line(&d.f.s, "\"id\":2", 1),
                        "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-1,"
                        "\"message\":\"the user said no\"}}");
    desk_close(&d);
    assert_non_null(strstr(last, "/name"));
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit.reply = answer_nothing));
    script_say(&d.f.s, DESK_ELICIT("1"));
    assert_string_equal(script_line(&d.f.s, "\"id\":1", 1),
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,"
                        "\"message\":\"invalid argument\"}}");
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

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit.run = dismiss));
    script_say(&d.f.s, DESK_ELICIT("1"));
    assert_string_equal(script_line(&d.f.s, "\"id\":1", 1),
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":"
                        "\"cancel\"}}");
    desk_close(&d);
}

/* What is a server's is not there; what is a handler's is. */
static int
try_all(mcp_request *req, mcp_result *out, void *user)
{
    static const char *const command[] = {"echo", "hello", NULL};
    mcp_command_result result = {0};
    int number;

    (void)user;
    (void)desk_of(req);
    assert_false(mcp_request_can_ask(req, MCP_ASK_FORM));
    assert_int_equal(mcp_request_roots(req, "k"), MCP_E_STATE);
    assert_int_equal(mcp_request_call(req, "ping", NULL, NULL, NULL, NULL),
                     MCP_E_INVAL);
    assert_int_equal(mcp_request_bind(req, &number), MCP_E_STATE);
    assert_int_equal(mcp_request_log(req, MCP_SEVERITY_ALERT, NULL, "x"), 0);
    assert_int_equal(mcp_request_progress(req, 1, 2, "half"), 0);
    assert_null(mcp_request_argument(req, "message"));
    assert_int_equal(
        mcp_request_command(req, &MCP_COMMAND(.argv = command), &result, NULL), 0);
    assert_string_equal(result.output, "hello\n");
    mcp_command_result_done(&result);
    (void)mcp_result_text(out, "no content here");
    mcp_result_reset(out);
    return mcp_result_json(out, "{\"name\":\"Ann\"}", 14);
}

static void
a_handler_has_what_every_handler_has(void **state)
{
    struct desk d;

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit.run = try_all));
    script_say(&d.f.s,
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\","
               "\"params\":{\"_meta\":{\"progressToken\":\"t\"}," DESK_FORM "}}");
    assert_string_equal(
        script_line(&d.f.s, "notifications/progress", 1),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
        "\"progressToken\":\"t\",\"progress\":1.0,\"total\":2.0,\"message\":"
        "\"half\"}}");
    assert_non_null(strstr(script_line(&d.f.s, "\"id\":1", 1), "\"accept\""));
    assert_int_equal(script_count(&d.f.s, "notifications/message"), 0);
    desk_close(&d);
}

/* ---- where a handler is ---------------------------------------------------- */

static int
look_around(mcp_request *req, mcp_result *out, void *user)
{
    mcp_loop **loop = user;

    *loop = mcp_request_loop(req);
    assert_int_equal(mcp_request_sleep(req, 0), MCP_E_STATE); /* on the loop */
    (void)desk_of(req);
    return mcp_result_decline(out);
}

/* Wait for something to do, a little, and do it. */
static void
loop_turn(mcp_loop *loop)
{
    struct pollfd fd = {.fd = mcp_loop_fd(loop), .events = POLLIN};

    (void)poll(&fd, 1, 10);
    assert_int_equal(mcp_loop_step(loop), 0);
}

static void
a_handler_sees_the_loop_that_was_lent(void **state)
{
    mcp_loop *loop, *seen = NULL;
    struct desk d;

    (void)state;
    assert_int_equal(mcp_loop_new(&MCP_LOOP_OPTIONS(0), &loop, NULL), 0);
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.loop = loop, .no_wait = true,
                                   .elicit = {.reply = look_around, .user = &seen}));
    while (!mcp_client_version(d.f.client))
        loop_turn(loop);
    script_say(&d.f.s, DESK_ELICIT("1"));
    while (desk_count(&d, &d.asked) == 0)
        loop_turn(loop);
    assert_ptr_equal(seen, loop);
    while (script_count(&d.f.s, "{\"action\":\"decline\"}") == 0)
        loop_turn(loop);
    mcp_client_free(d.f.client);
    d.f.client = NULL;
    while (atomic_load(&d.f.mem.live) > 0)
        loop_turn(loop);
    desk_close(&d);
    mcp_loop_free(loop);

    seen = (mcp_loop *)(uintptr_t)1;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit = {.reply = look_around, .user = &seen}));
    script_say(&d.f.s, DESK_ELICIT("1"));
    (void)script_line(&d.f.s, "{\"action\":\"decline\"}", 1);
    desk_close(&d);
    assert_null(seen);
}

/* ---- memory ---------------------------------------------------------------- */

/* Wait for an answer to "q", or for the client to hang up. */
static void
await_answer_or_end(struct script *s)
{
    bool over = false;

    while (!over && script_count(s, "\"id\":\"q\"") == 0) {
        pthread_mutex_lock(&s->lock);
        over = s->over;
        pthread_mutex_unlock(&s->lock);
        sched_yield();
    }
}

static void
ask_once(struct test_mem *mem, void *user)
{
    const mcp_handler *handler = user;
    mcp_client *client = NULL;
    struct desk d;
    int r;

    desk_prepare(&d, MCP_ERA_LEGACY);
    r = mcp_client_attach(d.f.s.give_fd, d.f.s.give_fd,
                          &SCRIPT_OPTIONS(.allocator = &mem->allocator,
                                          .era = MCP_ERA_LEGACY, .elicit = *handler,
                                          .root_list = two_roots, .user = &d),
                          &client, NULL);
    if (r == 0) {
        d.f.s.give_fd = -1;
        script_say(&d.f.s, DESK_ELICIT("\"q\""));
        await_answer_or_end(&d.f.s);
        (void)mcp_client_set_roots(client, two_roots + 1);
        mcp_client_free(client);
    }
    desk_close(&d);
}

static void
each_allocation_of_a_question_may_fail(void **state)
{
    assert_true(test_each_allocation_fails(ask_once, *state) > 20);
}

#define OF_EACH(kind, number, test, table) \
    TEST_AS(kind "." #test, test, (table) + (number))

TEST_MAIN(TEST(a_client_declares_what_it_can_be_asked),
          TEST(what_cannot_be_declared_is_refused),
          OF_EACH("run", 0, a_form_is_answered, kinds),
          OF_EACH("start", 1, a_form_is_answered, kinds),
          OF_EACH("reply", 2, a_form_is_answered, kinds),
          TEST(a_sample_and_roots_are_answered),
          TEST(what_was_not_declared_is_not_found),
          TEST(what_is_no_question_reaches_no_handler),
          TEST(a_wrong_answer_is_an_internal_error_and_a_line_in_the_log),
          TEST(J10_a_user_who_looks_away_has_answered),
          TEST(a_handler_has_what_every_handler_has),
          TEST(a_handler_sees_the_loop_that_was_lent),
          OF_EACH("run", 0, each_allocation_of_a_question_may_fail, kinds),
          OF_EACH("reply", 2, each_allocation_of_a_question_may_fail, kinds))
