/*
 * api/ask_fixture.h - a handler that asks, and a raw client that can be asked
 *
 * JSON texts of the tests have ' instead of ", for the eye.
 */
#ifndef TESTS_API_ASK_FIXTURE_H
#define TESTS_API_ASK_FIXTURE_H

#include <mcp/ask.h>

#include "raw_client.h"

#define ASK_ROOM ((size_t)1 << 21) /* for the longest state, and more */

#define ABLE_ALL \
    "{'elicitation':{'form':{},'url':{}},'sampling':{'tools':{}},'roots':{}}"

/* What the client says that it knows, in both eras, and its version in the legacy
 * one. */
static const char *ask_able = ABLE_ALL;
static const char *ask_version = "2025-11-25";

/* Copy a text of a test's into one of JSON. */
static inline const char *
ask_json(char *into, size_t size, const char *text)
{
    size_t i;

    for (i = 0; text[i] && i + 1 < size; i++)
        into[i] = text[i] == '\'' ? '"' : text[i];
    assert_true(text[i] == '\0');
    into[i] = '\0';
    return into;
}

static inline mcp_doc *
ask_parse(const char *text)
{
    mcp_doc *doc;

    if (mcp_doc_parse(text, strlen(text), NULL, &doc, NULL) < 0)
        fail_msg("no JSON: %s", text);
    return doc;
}

/* Does the value say that? */
static inline void
ask_assert(const mcp_json *value, const char *wanted)
{
    char json[4096], *shown = NULL;
    mcp_doc *doc = ask_parse(ask_json(json, sizeof(json), wanted));
    bool same = mcp_json_equal(value, mcp_doc_root(doc));

    mcp_doc_free(doc);
    if (same)
        return;
    (void)mcp_json_print(value, false, NULL, &shown, NULL);
    fail_msg("%s\nis not %s", shown ? shown : "nothing", json);
}

/* ---- lines -------------------------------------------------------------- */

static inline void
ask_send(struct raw *raw, const char *text)
{
    char json[65536];

    raw_send(raw, ask_json(json, sizeof(json), text));
}

/* The next line; free it. */
static inline mcp_doc *
ask_next(struct raw *raw)
{
    return ask_parse(raw_line(raw));
}

/* The next line is just that. */
static inline void
ask_expect(struct raw *raw, const char *wanted)
{
    mcp_doc *doc = ask_next(raw);

    ask_assert(mcp_doc_root(doc), wanted);
    mcp_doc_free(doc);
}

/* The next line is an answer to id 1 or whatever, with that result or error. */
static inline void
ask_expect_member(struct raw *raw, const char *member, const char *wanted)
{
    mcp_doc *doc = ask_next(raw);

    ask_assert(mcp_json_get(mcp_doc_root(doc), member), wanted);
    mcp_doc_free(doc);
}

/* The next line answers with that text, the only block of its content. */
static inline void
ask_expect_text(struct raw *raw, const char *id, const char *wanted)
{
    const char *line = raw_line(raw);
    mcp_doc *doc = ask_parse(line);
    const mcp_json *content = mcp_json_get(mcp_json_get(mcp_doc_root(doc), "result"),
                                           "content");
    const char *text = mcp_json_string(mcp_json_get(mcp_json_at(content, 0), "text"),
                                       "no text");

    if (strcmp(text, wanted) != 0)
        fail_msg("not \"%s\": %s", wanted, line);
    if (mcp_json_int(mcp_json_get(mcp_doc_root(doc), "id"), -1) != atoi(id))
        fail_msg("not of %s: %s", id, line);
    mcp_doc_free(doc);
}

/* ---- requests ----------------------------------------------------------- */

/* A request of any method; params: its members but _meta. */
static inline void
ask_method(struct raw *raw, const char *id, const char *method, const char *params)
{
    char *line = malloc(3 * ASK_ROOM), stamp[1024];

    assert_non_null(line);
    snprintf(stamp, sizeof(stamp),
             "'io.modelcontextprotocol/protocolVersion':'2026-07-28',"
             "'io.modelcontextprotocol/clientCapabilities':%s",
             ask_able);
    snprintf(line, 3 * ASK_ROOM,
             "{'jsonrpc':'2.0','id':%s,'method':'%s','params':{%s,'_meta':{%s}}}", id,
             method, params, raw->modern ? stamp : "");
    for (char *at = strchr(line, '\''); at; at = strchr(at, '\''))
        *at = '"';
    raw_send(raw, line);
    free(line);
}

/* A call of the tool "t"; more: other members of params, with a comma in front. */
static inline void
ask_call(struct raw *raw, const char *id, const char *more)
{
    char *params = malloc(2 * ASK_ROOM);

    assert_non_null(params);
    snprintf(params, 2 * ASK_ROOM, "'name':'t'%s", more);
    ask_method(raw, id, "tools/call", params);
    free(params);
}

/* Run the server, with a client that can be asked. */
static inline void
ask_connect(struct raw *raw, bool modern)
{
    char line[2048];

    raw_connect(raw, modern);
    assert_int_equal(mcp_server_start(raw->server, NULL), 0);
    if (modern)
        return;
    snprintf(line, sizeof(line),
             "{'jsonrpc':'2.0','id':0,'method':'initialize','params':{"
             "'protocolVersion':'%s','capabilities':%s,"
             "'clientInfo':{'name':'raw','version':'1'}}}",
             ask_version, ask_able);
    ask_send(raw, line);
    raw_expect(raw, ask_version);
    raw_send(raw, NOTE("notifications/initialized", "{}"));
}

/* The same, with a server that has one tool. */
static inline void
ask_start_with(struct raw *raw, bool modern, mcp_tool tool, mcp_server_options opt)
{
    raw_make(raw, opt);
    tool.name = "t";
    raw_tool(raw, tool);
    ask_connect(raw, modern);
}

static inline void
ask_start(struct raw *raw, bool modern, mcp_handler_fn *run, void *user)
{
    ask_start_with(raw, modern, MCP_TOOL(.run = run, .user = user),
                   MCP_SERVER_OPTIONS(.page = 0));
}

static inline void
ask_done(struct raw *raw)
{
    raw_done(raw);
    ask_able = ABLE_ALL;
    ask_version = "2025-11-25";
}

/* ---- the modern era: what is to be sent back ---------------------------- */

/* The next line asks. The state is the caller's to free; wanted: inputRequests, NULL:
 * there is none. */
static inline char *
ask_expect_input(struct raw *raw, const char *wanted)
{
    const char *line = raw_line(raw);
    mcp_doc *doc = ask_parse(line);
    const mcp_json *result = mcp_json_get(mcp_doc_root(doc), "result");
    const mcp_json *state = mcp_json_get(result, "requestState");
    char *copy;

    if (!mcp_json_is_string(mcp_json_get(result, "resultType"), "input_required"))
        fail_msg("does not ask: %s", line);
    assert_null(mcp_json_get(result, "ttlMs"));
    if (wanted)
        ask_assert(mcp_json_get(result, "inputRequests"), wanted);
    else
        assert_null(mcp_json_get(result, "inputRequests"));
    assert_int_equal(mcp_json_get_type(state), MCP_JSON_STRING);
    copy = strdup(mcp_json_string(state, ""));
    assert_non_null(copy);
    mcp_doc_free(doc);
    return copy;
}

/* Call again with these responses. The state is freed. */
static inline void
ask_retry(struct raw *raw, const char *id, const char *responses, char *take_state)
{
    char *more = malloc(2 * ASK_ROOM);

    assert_non_null(more);
    snprintf(more, 2 * ASK_ROOM, ",'inputResponses':%s,'requestState':'%s'", responses,
             take_state ? take_state : "");
    ask_call(raw, id, more);
    free(more);
    free(take_state);
}

/* ---- both eras ---------------------------------------------------------- */

/* The client is asked one thing. In the legacy era it is question number `number` of
 * this connection; in the modern one the state is the caller's. params NULL: none. */
static inline char *
ask_expect_question(struct raw *raw, int number, const char *key, const char *method,
                    const char *params)
{
    char text[4096];

    snprintf(text, sizeof(text), "'method':'%s'%s%s}", method,
             params ? ",'params':" : "", params ? params : "");
    if (raw->modern) {
        char whole[4300];

        snprintf(whole, sizeof(whole), "{'%s':{%s}", key, text);
        return ask_expect_input(raw, whole);
    } else {
        char whole[4300];

        snprintf(whole, sizeof(whole), "{'jsonrpc':'2.0','id':%d,%s", number, text);
        ask_expect(raw, whole);
        return NULL;
    }
}

/* And answers it; the state is freed. The call goes on as id in the modern era. */
static inline void
ask_answer(struct raw *raw, int number, const char *key, const char *result,
           const char *id, char *take_state)
{
    char text[4096];

    if (raw->modern) {
        snprintf(text, sizeof(text), "{'%s':%s}", key, result);
        ask_retry(raw, id, text, take_state);
    } else {
        snprintf(text, sizeof(text), "{'jsonrpc':'2.0','id':%d,'result':%s}", number,
                 result);
        ask_send(raw, text);
        free(take_state); /* there is none */
    }
}

/* The id that an answer to a retry has: in the legacy era there is none. */
static inline const char *
ask_id(const struct raw *raw, const char *modern)
{
    return raw->modern ? modern : "1";
}

#endif
