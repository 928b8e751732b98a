/*
 * typed.c - the methods of a client, typed: arguments are checked, params written
 *
 * Each method has one function that fills an ask; what blocks and what only starts
 * share it. The text of the params is freed by whoever asked. Whoever asks so gets no
 * answer that only looks empty: the list that it is about has to be one.
 */
#include <string.h>

#include "api/call.h"
#include "base/mem.h"
#include "base/text.h"
#include "wire/severity.h"

/* ---- writing params ------------------------------------------------------ */

struct typed {
    struct mcpi_ask ask;
    struct mcpi_buf params;
};

/* What is a list in its result. Of tools/call nothing: many servers leave out content. */
static const char *
list_of(enum mcpi_method method)
{
    switch (method) {
    case MCPI_METHOD_TOOLS_LIST:
        return "tools";
    case MCPI_METHOD_RESOURCES_LIST:
        return "resources";
    case MCPI_METHOD_RESOURCES_TEMPLATES_LIST:
        return "resourceTemplates";
    case MCPI_METHOD_PROMPTS_LIST:
        return "prompts";
    case MCPI_METHOD_RESOURCES_READ:
        return "contents";
    case MCPI_METHOD_PROMPTS_GET:
        return "messages";
    case MCPI_METHOD_COMPLETE:
        return "completion.values";
    default:
        return NULL;
    }
}

int
mcpi_typed_check(enum mcpi_method method, const mcp_json *result, mcp_error *err)
{
    const mcp_json *type = mcp_json_get(result, "resultType");
    const char *list = list_of(method);
    const char *dot = list ? strchr(list, '.') : NULL;
    const char *name = dot ? dot + 1 : list;

    if (!list || mcp_json_is_string(type, "input_required"))
        return 0;
    if (dot)
        result = mcp_json_get_n(result, list, (size_t)(dot - list));
    if (mcp_json_get_type(mcp_json_get(result, name)) == MCP_JSON_ARRAY)
        return 0;
    return mcpi_error_set(err, MCP_E_PROTO, "the answer to %s has no list \"%s\"",
                          mcpi_method_name(method), list);
}

static void
typed_init(struct typed *t, const struct mcp_client *client, enum mcpi_method method)
{
    t->ask.method = mcpi_method_name(method);
    t->ask.typed = method;
    mcpi_buf_init(&t->params, client->host.mem, client->max_bytes);
}

/* what: as in "a tool's name". */
static int
text_check(const char *text, const char *what, mcp_error *err)
{
    if (!text || !mcpi_utf8_valid(text, strlen(text)))
        return mcpi_error_set(err, MCP_E_INVAL, "%s must be a UTF-8 text", what);
    return 0;
}

/* A text that was checked; all failures are the buffer's. */
static void
text_write(struct mcpi_buf *into, const char *text)
{
    (void)mcpi_json_write_string(into, text, strlen(text));
}

/* An object of texts and nothing else. */
static int
texts_find(const struct mcp_client *client, const char *text, const char *what,
           struct mcpi_text *ret, mcp_error *err)
{
    mcp_json_iterator it;
    mcp_doc *doc;
    int r;

    r = mcpi_object_text(client, text, what, ret, &doc, err);
    if (r < 0)
        return r;
    for (it = mcp_json_each(mcp_doc_root(doc)); r == 0 && mcp_json_next(&it);) {
        if (mcp_json_get_type(it.value) != MCP_JSON_STRING)
            r = mcpi_error_set(err, MCP_E_INVAL, "%s: %s must be a text", what,
                               mcp_json_string(it.key, ""));
    }
    mcp_doc_free(doc);
    return r;
}

/* All is written. */
static int
typed_close(struct typed *t, mcp_error *err)
{
    int r = t->params.status;

    if (r < 0)
        return mcpi_error_set(err, r, "arguments: %s", mcp_status_text(r));
    t->ask.params = t->params.data;
    t->ask.params_len = t->params.len;
    return 0;
}

/* r: what filling it said. */
static int
typed_wait(struct typed *t, struct mcp_client *client, int r,
           const mcp_call_options *opt, mcp_reply **ret_reply, mcp_error *err)
{
    if (r == 0)
        r = typed_close(t, err);
    if (r == 0)
        r = mcpi_ask_wait(client, &t->ask, opt, ret_reply, err);
    mcpi_buf_done(&t->params);
    return r;
}

static int
typed_start(struct typed *t, struct mcp_client *client, int r,
            const mcp_call_options *opt, mcp_call **ret_call)
{
    if (r == 0)
        r = typed_close(t, NULL);
    if (r == 0)
        r = mcpi_ask_start(client, &t->ask, opt, ret_call, NULL);
    mcpi_buf_done(&t->params);
    return r;
}

/* ---- tools --------------------------------------------------------------- */

static int
tool_fill(struct typed *t, const struct mcp_client *client, const char *name,
          const char *arguments, mcp_error *err)
{
    struct mcpi_text found = {"{}", 2};
    int r;

    typed_init(t, client, MCPI_METHOD_TOOLS_CALL);
    r = text_check(name, "a tool's name", err);
    if (r == 0 && arguments)
        r = mcpi_object_text(client, arguments, "arguments", &found, NULL, err);
    if (r < 0)
        return r;
    t->ask.tool = name;
    MCPI_BUF_LITERAL(&t->params, "{\"name\":");
    text_write(&t->params, name);
    MCPI_BUF_LITERAL(&t->params, ",\"arguments\":");
    mcpi_buf_append(&t->params, found.text, found.len);
    mcpi_buf_char(&t->params, '}');
    return 0;
}

int
mcp_client_call_tool(mcp_client *client, const char *name, const char *arguments,
                     const mcp_call_options *opt, mcp_reply **ret_reply, mcp_error *err)
{
    struct typed t = {.ask.done = NULL};
    int r;

    r = mcpi_client_check(client, err);
    if (r < 0)
        return r;
    r = tool_fill(&t, client, name, arguments, err);
    return typed_wait(&t, client, r, opt, ret_reply, err);
}

int
mcp_client_start_tool(mcp_client *client, const char *name, const char *arguments,
                      const mcp_call_options *opt, mcp_done_fn *done, void *user,
                      mcp_call **ret_call)
{
    struct typed t = {.ask = {.done = done, .user = user}};
    int r;

    r = mcpi_client_check(client, NULL);
    if (r < 0)
        return r;
    r = tool_fill(&t, client, name, arguments, NULL);
    return typed_start(&t, client, r, opt, ret_call);
}

/* ---- lists --------------------------------------------------------------- */

static int
page_fill(struct typed *t, const struct mcp_client *client, enum mcpi_method method,
          const char *cursor, mcp_error *err)
{
    int r;

    typed_init(t, client, method);
    t->ask.key.method = method;
    if (!cursor)
        return 0;
    r = text_check(cursor, "a cursor", err);
    if (r < 0)
        return r;
    t->ask.key.text = cursor;
    t->ask.key.len = strlen(cursor);
    MCPI_BUF_LITERAL(&t->params, "{\"cursor\":");
    text_write(&t->params, cursor);
    mcpi_buf_char(&t->params, '}');
    return 0;
}

static int
page_wait(struct mcp_client *client, enum mcpi_method method, const char *cursor,
          const mcp_call_options *opt, mcp_reply **ret_reply, mcp_error *err)
{
    struct typed t = {.ask.done = NULL};
    int r;

    r = mcpi_client_check(client, err);
    if (r < 0)
        return r;
    r = page_fill(&t, client, method, cursor, err);
    return typed_wait(&t, client, r, opt, ret_reply, err);
}

int
mcp_client_list_tools(mcp_client *client, const char *cursor,
                      const mcp_call_options *opt, mcp_reply **ret_reply,
                      mcp_error *err)
{
    return page_wait(client, MCPI_METHOD_TOOLS_LIST, cursor, opt, ret_reply, err);
}

int
mcp_client_list_resources(mcp_client *client, const char *cursor,
                          const mcp_call_options *opt, mcp_reply **ret_reply,
                          mcp_error *err)
{
    return page_wait(client, MCPI_METHOD_RESOURCES_LIST, cursor, opt, ret_reply, err);
}

int
mcp_client_list_templates(mcp_client *client, const char *cursor,
                          const mcp_call_options *opt, mcp_reply **ret_reply,
                          mcp_error *err)
{
    return page_wait(client, MCPI_METHOD_RESOURCES_TEMPLATES_LIST, cursor, opt,
                     ret_reply, err);
}

int
mcp_client_list_prompts(mcp_client *client, const char *cursor,
                        const mcp_call_options *opt, mcp_reply **ret_reply,
                        mcp_error *err)
{
    return page_wait(client, MCPI_METHOD_PROMPTS_LIST, cursor, opt, ret_reply, err);
}

/* ---- resources and prompts ----------------------------------------------- */

static int
read_fill(struct typed *t, const struct mcp_client *client, const char *uri,
          mcp_error *err)
{
    int r;

    typed_init(t, client, MCPI_METHOD_RESOURCES_READ);
    r = text_check(uri, "the URI of a resource", err);
    if (r < 0)
        return r;
    t->ask.key = (struct mcpi_cache_key){MCPI_METHOD_RESOURCES_READ, uri, strlen(uri)};
    MCPI_BUF_LITERAL(&t->params, "{\"uri\":");
    text_write(&t->params, uri);
    mcpi_buf_char(&t->params, '}');
    return 0;
}

int
mcp_client_read(mcp_client *client, const char *uri, const mcp_call_options *opt,
                mcp_reply **ret_reply, mcp_error *err)
{
    struct typed t = {.ask.done = NULL};
    int r;

    r = mcpi_client_check(client, err);
    if (r < 0)
        return r;
    r = read_fill(&t, client, uri, err);
    return typed_wait(&t, client, r, opt, ret_reply, err);
}

int
mcp_client_start_read(mcp_client *client, const char *uri, const mcp_call_options *opt,
                      mcp_done_fn *done, void *user, mcp_call **ret_call)
{
    struct typed t = {.ask = {.done = done, .user = user}};
    int r;

    r = mcpi_client_check(client, NULL);
    if (r < 0)
        return r;
    r = read_fill(&t, client, uri, NULL);
    return typed_start(&t, client, r, opt, ret_call);
}

static int
prompt_fill(struct typed *t, const struct mcp_client *client, const char *name,
            const char *arguments, mcp_error *err)
{
    struct mcpi_text found = {NULL, 0};
    int r;

    typed_init(t, client, MCPI_METHOD_PROMPTS_GET);
    r = text_check(name, "a prompt's name", err);
    if (r == 0 && arguments)
        r = texts_find(client, arguments, "arguments", &found, err);
    if (r < 0)
        return r;
    MCPI_BUF_LITERAL(&t->params, "{\"name\":");
    text_write(&t->params, name);
    if (found.text) {
        MCPI_BUF_LITERAL(&t->params, ",\"arguments\":");
        mcpi_buf_append(&t->params, found.text, found.len);
    }
    mcpi_buf_char(&t->params, '}');
    return 0;
}

int
mcp_client_get_prompt(mcp_client *client, const char *name, const char *arguments,
                      const mcp_call_options *opt, mcp_reply **ret_reply,
                      mcp_error *err)
{
    struct typed t = {.ask.done = NULL};
    int r;

    r = mcpi_client_check(client, err);
    if (r < 0)
        return r;
    r = prompt_fill(&t, client, name, arguments, err);
    return typed_wait(&t, client, r, opt, ret_reply, err);
}

int
mcp_client_start_prompt(mcp_client *client, const char *name, const char *arguments,
                        const mcp_call_options *opt, mcp_done_fn *done, void *user,
                        mcp_call **ret_call)
{
    struct typed t = {.ask = {.done = done, .user = user}};
    int r;

    r = mcpi_client_check(client, NULL);
    if (r < 0)
        return r;
    r = prompt_fill(&t, client, name, arguments, NULL);
    return typed_start(&t, client, r, opt, ret_call);
}

/* ---- completion ---------------------------------------------------------- */

static int
complete_check(const mcp_complete *what, mcp_error *err)
{
    const char *whose = what->prompt ? what->prompt : what->uri_template;
    int r;

    if (!what->prompt == !what->uri_template)
        return mcpi_error_set(err, MCP_E_INVAL,
                              "an argument is of a prompt or of a template");
    r = text_check(whose, what->prompt ? "a prompt's name" : "a template", err);
    if (r == 0)
        r = text_check(what->argument, "an argument's name", err);
    if (r == 0)
        r = text_check(what->value, "what was typed", err);
    return r;
}

static int
complete_fill(struct typed *t, const struct mcp_client *client,
              const mcp_complete *what, mcp_error *err)
{
    struct mcpi_text known = {NULL, 0};
    int r;

    typed_init(t, client, MCPI_METHOD_COMPLETE);
    r = complete_check(what, err);
    if (r == 0 && what->context)
        r = texts_find(client, what->context, "context", &known, err);
    if (r < 0)
        return r;
    mcpi_buf_text(&t->params, what->prompt
                                  ? "{\"ref\":{\"type\":\"ref/prompt\",\"name\":"
                                  : "{\"ref\":{\"type\":\"ref/resource\",\"uri\":");
    text_write(&t->params, what->prompt ? what->prompt : what->uri_template);
    MCPI_BUF_LITERAL(&t->params, "},\"argument\":{\"name\":");
    text_write(&t->params, what->argument);
    MCPI_BUF_LITERAL(&t->params, ",\"value\":");
    text_write(&t->params, what->value);
    mcpi_buf_char(&t->params, '}');
    if (known.text) {
        MCPI_BUF_LITERAL(&t->params, ",\"context\":{\"arguments\":");
        mcpi_buf_append(&t->params, known.text, known.len);
        mcpi_buf_char(&t->params, '}');
    }
    mcpi_buf_char(&t->params, '}');
    return 0;
}

int
mcp_client_complete(mcp_client *client, const mcp_complete *what,
                    const mcp_call_options *opt, mcp_reply **ret_reply, mcp_error *err)
{
    struct typed t = {.ask.done = NULL};
    mcp_complete read;
    int r;

    r = mcpi_client_check(client, err);
    if (r < 0)
        return r;
    if (!what || mcpi_options_read(&read, sizeof(read), what) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "there is nothing to complete");
    r = complete_fill(&t, client, &read, err);
    return typed_wait(&t, client, r, opt, ret_reply, err);
}

/* ---- log messages -------------------------------------------------------- */

/* Emergencies only are the least that a legacy server can be asked for. */
static void
level_fill(struct typed *t, const struct mcp_client *client, enum mcp_severity severity)
{
    if (severity == MCP_SEVERITY_NONE)
        severity = MCP_SEVERITY_EMERGENCY;
    typed_init(t, client, MCPI_METHOD_SET_LEVEL);
    MCPI_BUF_LITERAL(&t->params, "{\"level\":");
    text_write(&t->params, mcpi_severity_name(severity));
    mcpi_buf_char(&t->params, '}');
}

int
mcp_client_set_messages(mcp_client *client, enum mcp_severity severity,
                        const mcp_call_options *opt, mcp_error *err)
{
    struct typed t = {.ask.done = NULL};
    bool ready, modern;
    int r;

    r = mcpi_client_check(client, err);
    if (r < 0)
        return r;
    if (severity != MCP_SEVERITY_NONE && !mcpi_severity_is_one(severity))
        return mcpi_error_set(err, MCP_E_INVAL, "messages: of no severity there is");
    pthread_mutex_lock(&client->lock);
    ready = client->hello.version != NULL;
    modern = client->hello.is_modern;
    pthread_mutex_unlock(&client->lock);
    if (!ready)
        return mcpi_error_set(err, MCP_E_STATE, "the connection is not ready yet");
    atomic_store(&client->messages, (int)severity);
    if (modern)
        return 0;
    level_fill(&t, client, severity);
    return typed_wait(&t, client, 0, opt, NULL, err);
}

static void
level_is_set(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    const mcp_error *error = mcp_call_error(call);
    struct mcp_client *client = user;

    (void)reply;
    if (status < 0 && status != MCP_E_CLOSED)
        MCPI_LOG(&client->host.log, MCP_LOG_WARNING,
                 "the server was asked for its log messages in vain: %s",
                 error ? error->message : mcp_status_text(status));
}

void
mcpi_client_ask_messages(struct mcp_client *client)
{
    const struct mcpi_hello *hello = &client->hello; /* the loop's to write */
    struct typed t = {.ask = {.done = level_is_set, .user = client}};
    enum mcp_severity severity = (enum mcp_severity)atomic_load(&client->messages);
    int r;

    if (severity == MCP_SEVERITY_NONE || hello->is_modern ||
        !mcp_json_get(hello->capabilities, "logging"))
        return;
    level_fill(&t, client, severity);
    r = typed_start(&t, client, 0, NULL, NULL);
    if (r < 0)
        MCPI_LOG(&client->host.log, MCP_LOG_WARNING,
                 "the server could not be asked for its log messages: %s",
                 mcp_status_text(r));
}
