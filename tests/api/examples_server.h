/* examples_server.h - what a client says, fed to a server that offers what it names */
#ifndef TESTS_API_EXAMPLES_SERVER_H
#define TESTS_API_EXAMPLES_SERVER_H

#include <mcp/ask.h>

#include "api/examples.h"
#include "api/raw_client.h"

/* ---- what it offers ------------------------------------------------------ */

static int
say_done(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_text(out, "done");
}

static int
report(mcp_request *req, mcp_result *out, void *user)
{
    int r = mcp_request_progress(req, 50, 100, "Reticulating splines...");

    (void)user;
    return r < 0 ? r : mcp_result_text(out, "done");
}

static void
stop_waiting(void *user)
{
    mcp_request_finish(user, MCP_E_CANCELED);
}

static int
wait_for_cancel(mcp_request *req, mcp_result *out, void *user)
{
    (void)out, (void)user;
    return mcp_request_on_cancel(req, stop_waiting, req, NULL);
}

/* Tells the client what it has said of itself. */
static int
who(mcp_request *req, mcp_result *out, void *user)
{
    char *text = text_of(mcp_request_client_capabilities(req));
    int r = mcp_result_text(out, text);

    (void)user;
    mcp_text_free(text, NULL);
    return r;
}

#define PERSON                                                                \
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"    \
    "\"email\":{\"type\":\"string\",\"format\":\"email\"},\"age\":{\"type\":" \
    "\"number\"}},\"required\":[\"name\"]}"
#define WEATHER "[{\"name\":\"get_weather\",\"inputSchema\":{\"type\":\"object\"}}]"

/* Each asks its question under the name that `user` is, and answers with what it was
 * told. */
static int
tell(mcp_request *req, mcp_result *out, const char *key)
{
    char *text = text_of(mcp_request_answer(req, key));
    int r = mcp_result_text(out, text);

    mcp_text_free(text, NULL);
    return r;
}

static int
ask_form(mcp_request *req, mcp_result *out, void *user)
{
    if (mcp_request_answer(req, user))
        return tell(req, out, user);
    return mcp_request_elicit(req, user,
                              &MCP_ELICIT(.message = "who?", .schema = PERSON));
}

static int
ask_url(mcp_request *req, mcp_result *out, void *user)
{
    if (mcp_request_answer(req, user))
        return tell(req, out, user);
    return mcp_request_elicit(
        req, user, &MCP_ELICIT(.message = "key?", .url = "https://example.com/key"));
}

static int
ask_model(mcp_request *req, mcp_result *out, void *user)
{
    if (mcp_request_answer(req, user))
        return tell(req, out, user);
    return mcp_request_sample(
        req, user,
        &MCP_SAMPLE(.text = "weather?", .max_tokens = 100, .tools = WEATHER));
}

static int
ask_roots(mcp_request *req, mcp_result *out, void *user)
{
    if (mcp_request_answer(req, user))
        return tell(req, out, user);
    return mcp_request_roots(req, user);
}

/* Both questions of the example at once. */
static int
ask_both(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    if (mcp_request_answer(req, "github_login"))
        return tell(req, out, "capital_of_france");
    (void)mcp_request_elicit(req, "github_login",
                             &MCP_ELICIT(.message = "who?", .schema = PERSON));
    return mcp_request_sample(req, "capital_of_france",
                              &MCP_SAMPLE(.text = "Paris?", .max_tokens = 100));
}

static void
offer_tools(struct raw *raw)
{
    static char q[] = "q";
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "get_weather", .reply = say_done),
        MCP_TOOL(.name = "build_simulation", .reply = report),
        MCP_TOOL(.name = "wait", .start = wait_for_cancel),
        MCP_TOOL(.name = "who", .reply = who),
        MCP_TOOL(.name = "ask_form", .run = ask_form, .user = q),
        MCP_TOOL(.name = "ask_url", .run = ask_url, .user = q),
        MCP_TOOL(.name = "ask_model", .run = ask_model, .user = q),
        MCP_TOOL(.name = "ask_roots", .run = ask_roots, .user = q),
        MCP_TOOL(.name = "ask_both", .run = ask_both),
    };

    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        raw_tool(raw, tools[i]);
}

static void
offer_rest(mcp_server *server)
{
    static const char *const languages[] = {"python", "pytorch", "pyside", NULL};
    static const char *const frameworks[] = {"flask", NULL};
    static const mcp_prompt_argument arguments[] = {
        {.name = "code"},
        {.name = "language", .values = languages},
        {.name = "framework", .values = frameworks},
        {0},
    };

    assert_int_equal(
        mcp_server_add_prompt(server,
                              &MCP_PROMPT(.name = "code_review", .arguments = arguments,
                                          .reply = say_done),
                              NULL),
        0);
    assert_int_equal(mcp_server_add_resource(
                         server,
                         &MCP_RESOURCE(.uri = "file:///project/src/main.rs",
                                       .name = "main.rs", .text = "fn main() {}"),
                         NULL),
                     0);
    assert_int_equal(
        mcp_server_add_template(server,
                                &MCP_TEMPLATE(.uri_template = "file:///{path}",
                                              .name = "any", .reply = say_done),
                                NULL),
        0);
}

static void
server_open_in(struct raw *raw, bool modern)
{
    raw_make(raw, MCP_SERVER_OPTIONS(.page = 0));
    offer_tools(raw);
    offer_rest(raw->server);
    raw_start(raw, modern);
}

static void
server_open(struct raw *raw)
{
    server_open_in(raw, true);
}

/* ---- asking it ----------------------------------------------------------- */

/* The next line is the answer to that id: its result, in a document of its own. */
static mcp_doc *
answer_to(struct raw *raw, const struct example *example, const mcp_json *id)
{
    mcp_doc *doc = parse_text(raw_line(raw));

    expect_equal(example, mcp_json_get(mcp_doc_root(doc), "id"), id);
    return doc;
}

static void
expect_result(struct raw *raw, const struct example *example, const mcp_json *request)
{
    mcp_doc *doc = answer_to(raw, example, mcp_json_get(request, "id"));
    const mcp_json *result = mcp_json_get(mcp_doc_root(doc), "result");

    if (!mcp_json_is_string(mcp_json_get(result, "resultType"), "complete"))
        fail_msg("%s: %s", example->name, raw->in);
    mcp_doc_free(doc);
}

/* A whole request. */
static void
request(const struct example *example, const char *arg)
{
    struct raw raw;

    (void)arg;
    server_open(&raw);
    raw_send(&raw, example->text);
    expect_result(&raw, example, example->root);
    raw_done(&raw);
}

/* A whole request of the legacy era. A cursor that the server has not made is refused;
 * progress comes before the answer. */
static void
legacy_request(const struct data_message *message, void *user)
{
    const struct example example = {message->name, message->value,
                                    text_of(message->value)};
    const mcp_json *params = mcp_json_get(message->value, "params");
    bool refused = mcp_json_get(params, "cursor") != NULL;
    struct raw raw;
    mcp_doc *doc;

    (void)user;
    server_open_in(&raw, false);
    raw_send(&raw, example.text);
    if (mcp_json_get(mcp_json_get(params, "_meta"), "progressToken"))
        (void)raw_expect(&raw, "notifications/progress");
    doc = answer_to(&raw, &example, mcp_json_get(message->value, "id"));
    if (!mcp_json_get(mcp_doc_root(doc), refused ? "error" : "result"))
        fail_msg("%s: %s", message->name, raw.in);
    mcp_doc_free(doc);
    raw_done(&raw);
    mcp_text_free(example.text, NULL);
}

/* The params of one: arg is its method. If they have a token, progress comes first. */
static void
params(const struct example *example, const char *arg)
{
    const mcp_json *token = mcp_json_get(mcp_json_get(example->root, "_meta"),
                                         "progressToken");
    char *line = fill("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}",
                      arg, example->text);
    mcp_doc *sent = parse_text(line), *note;
    struct raw raw;

    server_open(&raw);
    raw_send(&raw, line);
    if (token) {
        note = parse_text(raw_expect(&raw, "notifications/progress"));
        expect_equal(
            example,
            mcp_json_get(mcp_json_get(mcp_doc_root(note), "params"), "progressToken"),
            token);
        mcp_doc_free(note);
    }
    expect_result(&raw, example, mcp_doc_root(sent));
    raw_done(&raw);
    mcp_doc_free(sent);
    free(line);
}

/* A cursor is the server's own: one that it has not made is refused, as it says. */
static void
foreign_cursor(const struct example *example, const char *arg)
{
    static const char *const methods[] = {"tools/list", "resources/list",
                                          "resources/templates/list", "prompts/list"};
    struct raw raw;
    char *line;

    (void)arg;
    server_open(&raw);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        line = fill("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}",
                    methods[i], example->text);
        raw_send(&raw, line);
        (void)raw_expect(&raw, "\"error\":{\"code\":-32602,");
        free(line);
    }
    raw_done(&raw);
}

/* arg: the text around it that makes it a whole message. */
static void
cancel_note(const struct example *example, const char *arg)
{
    char *line = embed(arg, example->text);
    struct raw raw;

    server_open(&raw);
    raw_call(&raw, "\"123\"", "wait", NULL);
    RAW_UNTIL(raw_counts(&raw).live_handlers == 1);
    raw_send(&raw, line);
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    assert_int_equal(raw_counts(&raw).canceled_by_peer, 1);
    raw_expect_silence(&raw);
    raw_done(&raw);
    free(line);
}

static void
listen_request(const struct example *example, const char *arg)
{
    const mcp_json *asked = mcp_json_get(mcp_json_get(example->root, "params"),
                                         "notifications");
    const mcp_json *told;
    struct raw raw;
    mcp_doc *doc;

    (void)arg;
    server_open(&raw);
    raw_send(&raw, example->text);
    doc = parse_text(raw_expect(&raw, "\"notifications/subscriptions/acknowledged\""));
    told = mcp_json_get(mcp_doc_root(doc), "params");
    expect_equal(example, mcp_json_get(told, "notifications"), asked);
    expect_equal(example,
                 mcp_json_get(mcp_json_get(told, "_meta"),
                              "io.modelcontextprotocol/subscriptionId"),
                 mcp_json_get(example->root, "id"));
    mcp_doc_free(doc);
    raw_done(&raw);
}

#define CALL(id, name, capabilities, more)                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{" \
    "\"name\":\"" name "\"" more ",\"_meta\":{"                                 \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","               \
    "\"io.modelcontextprotocol/clientCapabilities\":" capabilities "}}}"

/* The text of the answer is this JSON again. */
static void
expect_told(struct raw *raw, const struct example *example, const mcp_json *should)
{
    mcp_doc *doc = parse_text(raw_expect(raw, "\"resultType\":\"complete\""));
    const mcp_json *result = mcp_json_get(mcp_doc_root(doc), "result");
    const mcp_json *block = mcp_json_at(mcp_json_get(result, "content"), 0);
    mcp_doc *told = parse_text(mcp_json_string(mcp_json_get(block, "text"), ""));

    expect_equal(example, mcp_doc_root(told), should);
    mcp_doc_free(told);
    mcp_doc_free(doc);
}

static void
client_capabilities(const struct example *example, const char *arg)
{
    char *line = fill(CALL("1", "who", "%s", ""), example->text);
    struct raw raw;

    (void)arg;
    server_open(&raw);
    raw_send(&raw, line);
    expect_told(&raw, example, example->root);
    raw_done(&raw);
    free(line);
}

#define ABLE                                                                           \
    "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{\"tools\":{}},\"roots\":" \
    "{"                                                                                \
    "}}"

/* Let that tool ask; answer with these responses; it tells what it was answered. */
static void
answer_question(const struct example *example, const char *tool, const char *responses,
                const mcp_json *should)
{
    char *first = fill(CALL("1", "%s", ABLE, ""), tool);
    const mcp_json *state;
    struct raw raw;
    mcp_doc *asked;
    char *second;

    server_open(&raw);
    raw_send(&raw, first);
    asked = parse_text(raw_expect(&raw, "\"resultType\":\"input_required\""));
    state = mcp_json_get(mcp_json_get(mcp_doc_root(asked), "result"), "requestState");
    second = fill(
        CALL("2", "%s", ABLE, ",\"requestState\":\"%s\",\"inputResponses\":%s"), tool,
        mcp_json_string(state, ""), responses);
    raw_send(&raw, second);
    expect_told(&raw, example, should);
    raw_done(&raw);
    mcp_doc_free(asked);
    free(first);
    free(second);
}

/* What a client answers; arg: the tool that asks for such. */
static void
response(const struct example *example, const char *arg)
{
    char *responses = fill("{\"q\":%s}", example->text);
    bool by_url = strstr(example->name, "url-mode") != NULL;

    answer_question(example, by_url ? "ask_url" : arg, responses, example->root);
    free(responses);
}

static void
responses_of_both(const struct example *example, const char *arg)
{
    answer_question(example, arg, example->text,
                    mcp_json_get(example->root, "capital_of_france"));
}

static void
root(const struct example *example, const char *arg)
{
    char *roots = fill("{\"roots\":[%s]}", example->text);
    char *responses = fill("{\"q\":%s}", roots);
    mcp_doc *should = parse_text(roots);

    answer_question(example, arg, responses, mcp_doc_root(should));
    mcp_doc_free(should);
    free(responses);
    free(roots);
}

#endif
