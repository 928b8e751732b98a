/* ask.c - what a client can be asked to do: calls of any method, tools, notifications
 * */
#include <string.h>

#include "api/call.h"
#include "base/mem.h"
#include "base/text.h"

/* ---- arguments ----------------------------------------------------------- */

static int
client_check(const struct mcp_client *client, mcp_error *err)
{
    if (!client)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no client");
    if (!mcpi_client_is_ours(client))
        return mcpi_error_set(err, MCP_E_STATE, "this process was forked off");
    return 0;
}

/* params as text, or NULL. What goes into _meta is partly the library's own, so the
 * caller's part of it has a way of its own. */
static int
params_find(const struct mcp_client *client, const char *text, struct mcpi_text *ret,
            mcp_error *err)
{
    mcp_doc *doc;
    int r;

    *ret = (struct mcpi_text){NULL, 0};
    if (!text)
        return 0;
    r = mcpi_object_text(client, text, "params", ret, &doc, err);
    if (r < 0)
        return r;
    if (mcp_json_get(mcp_doc_root(doc), "_meta"))
        r = mcpi_error_set(err, MCP_E_INVAL,
                           "params: _meta is given in the options, as meta");
    mcp_doc_free(doc);
    return r;
}

/* {"name":...,"arguments":{...}} at the end of an empty buffer. */
static int
tool_write(const struct mcp_client *client, const char *name, const char *arguments,
           struct mcpi_buf *into, mcp_error *err)
{
    struct mcpi_text found = {"{}", 2};
    int r;

    if (!name || !mcpi_utf8_valid(name, strlen(name)))
        return mcpi_error_set(err, MCP_E_INVAL, "a tool's name must be a UTF-8 text");
    if (arguments) {
        r = mcpi_object_text(client, arguments, "arguments", &found, NULL, err);
        if (r < 0)
            return r;
    }
    MCPI_BUF_LITERAL(into, "{\"name\":");
    (void)mcpi_json_write_string(into, name, strlen(name)); /* its failure is sticky */
    MCPI_BUF_LITERAL(into, ",\"arguments\":");
    mcpi_buf_append(into, found.text, found.len);
    mcpi_buf_char(into, '}');
    if (into->status < 0)
        return mcpi_error_set(err, into->status, "arguments: %s",
                              mcp_status_text(into->status));
    return 0;
}

static void
text_buf_init(struct mcpi_buf *buf, const struct mcp_client *client)
{
    mcpi_buf_init(buf, client->mem, client->max_bytes);
}

/* ---- calls --------------------------------------------------------------- */

static int
ask_start(struct mcp_client *client, struct mcpi_ask *ask,
          const mcp_call_options *given, mcp_call **ret_call, mcp_error *err)
{
    mcp_call_options opt;

    if (mcpi_options_read(&opt, sizeof(opt), given) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "these are no options of a call");
    ask->has_handle = ret_call != NULL;
    return mcpi_handle_begin(client, ask, &opt, ret_call, err);
}

/* The thread is asked for leave before anything is sent. */
static int
ask_and_wait(struct mcp_client *client, struct mcpi_ask *ask,
             const mcp_call_options *opt, mcp_reply **ret_reply, mcp_error *err)
{
    mcp_call *call = NULL;
    int r;

    r = mcpi_client_may_wait(client, err);
    if (r < 0)
        return r;
    r = mcpi_pool_wait_begin();
    if (r < 0)
        return mcpi_error_set(err, r, "too many workers wait already");
    r = ask_start(client, ask, opt, &call, err);
    if (r == 0) {
        r = mcpi_handle_wait(call, MCPI_NEVER, ret_reply, err);
        mcpi_handle_free(call);
    }
    mcpi_pool_wait_end();
    return r;
}

int
mcp_client_call(mcp_client *client, const char *method, const char *params,
                const mcp_call_options *opt, mcp_reply **ret_reply, mcp_error *err)
{
    struct mcpi_ask ask = {.method = method};
    struct mcpi_text found;
    int r;

    r = client_check(client, err);
    if (r < 0)
        return r;
    if (!method)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no method");
    r = params_find(client, params, &found, err);
    if (r < 0)
        return r;
    ask.params = found.text;
    ask.params_len = found.len;
    return ask_and_wait(client, &ask, opt, ret_reply, err);
}

int
mcp_client_start(mcp_client *client, const char *method, const char *params,
                 const mcp_call_options *opt, mcp_done_fn *done, void *user,
                 mcp_call **ret_call)
{
    struct mcpi_ask ask = {.method = method, .done = done, .user = user};
    struct mcpi_text found;
    int r;

    r = client_check(client, NULL);
    if (r < 0)
        return r;
    if (!method)
        return MCP_E_INVAL;
    r = params_find(client, params, &found, NULL);
    if (r < 0)
        return r;
    ask.params = found.text;
    ask.params_len = found.len;
    return ask_start(client, &ask, opt, ret_call, NULL);
}

/* What a call of a tool asks for; its params are to be freed in every case. */
static int
tool_ask(const struct mcp_client *client, const char *name, const char *arguments,
         struct mcpi_buf *params, struct mcpi_ask *ask, mcp_error *err)
{
    int r;

    text_buf_init(params, client);
    r = tool_write(client, name, arguments, params, err);
    ask->method = mcpi_method_name(MCPI_METHOD_TOOLS_CALL);
    ask->params = params->data;
    ask->params_len = params->len;
    return r;
}

int
mcp_client_call_tool(mcp_client *client, const char *name, const char *arguments,
                     const mcp_call_options *opt, mcp_reply **ret_reply, mcp_error *err)
{
    struct mcpi_ask ask = {0};
    struct mcpi_buf params;
    int r;

    r = client_check(client, err);
    if (r < 0)
        return r;
    r = tool_ask(client, name, arguments, &params, &ask, err);
    if (r == 0)
        r = ask_and_wait(client, &ask, opt, ret_reply, err);
    mcpi_buf_done(&params);
    return r;
}

int
mcp_client_start_tool(mcp_client *client, const char *name, const char *arguments,
                      const mcp_call_options *opt, mcp_done_fn *done, void *user,
                      mcp_call **ret_call)
{
    struct mcpi_ask ask = {.done = done, .user = user};
    struct mcpi_buf params;
    int r;

    r = client_check(client, NULL);
    if (r < 0)
        return r;
    r = tool_ask(client, name, arguments, &params, &ask, NULL);
    if (r == 0)
        r = ask_start(client, &ask, opt, ret_call, NULL);
    mcpi_buf_done(&params);
    return r;
}

int
mcp_client_list_tools(mcp_client *client, const char *cursor,
                      const mcp_call_options *opt, mcp_reply **ret_reply,
                      mcp_error *err)
{
    struct mcpi_ask ask = {.method = mcpi_method_name(MCPI_METHOD_TOOLS_LIST)};
    struct mcpi_buf params;
    int r;

    r = client_check(client, err);
    if (r < 0)
        return r;
    text_buf_init(&params, client);
    if (cursor) {
        MCPI_BUF_LITERAL(&params, "{\"cursor\":");
        r = mcpi_json_write_string(&params, cursor, strlen(cursor));
        mcpi_buf_char(&params, '}');
        r = r < 0 ? r : params.status;
    }
    if (r == 0) {
        ask.params = params.data;
        ask.params_len = params.len;
        r = ask_and_wait(client, &ask, opt, ret_reply, err);
    } else {
        (void)mcpi_error_set(err, r, "cursor: %s", mcp_status_text(r));
    }
    mcpi_buf_done(&params);
    return r;
}

int
mcp_client_ping(mcp_client *client, const mcp_call_options *opt, mcp_error *err)
{
    struct mcpi_ask ask = {.method = mcpi_method_name(MCPI_METHOD_PING)};
    bool ready, modern;
    int r;

    r = client_check(client, err);
    if (r < 0)
        return r;
    pthread_mutex_lock(&client->lock);
    ready = client->hello.version != NULL;
    modern = client->hello.is_modern;
    pthread_mutex_unlock(&client->lock);
    if (!ready)
        return mcpi_error_set(err, MCP_E_STATE, "the connection is not ready yet");
    if (modern)
        ask.method = mcpi_method_name(MCPI_METHOD_DISCOVER);
    return ask_and_wait(client, &ask, opt, NULL, err);
}

/* ---- notifications ------------------------------------------------------- */

/* One block: the post, and what is to be sent. */
struct note {
    struct mcpi_post post;
    struct mcp_client *client; /* counted */
    const char *method;
    const char *params;
    size_t params_len;
    char texts[];
};

static void
note_send(struct mcpi_post *post)
{
    struct note *note = MCPI_CONTAINER(post, struct note, post);
    struct mcp_client *client = note->client;
    int r = 0;

    if (client->peer)
        r = mcpi_peer_notify(client->peer, note->method, note->params, note->params_len,
                             mcpi_loop_now(client->loop));
    if (r < 0)
        MCPI_LOG(&client->log, MCP_LOG_WARNING, "notification %s is lost: %s",
                 note->method, mcp_status_text(r));
    mcpi_free(client->mem, note);
    mcpi_client_unref(client);
}

static struct note *
note_new(struct mcp_client *client, const char *method, const struct mcpi_text *params)
{
    size_t method_size = strlen(method) + 1;
    struct note *note;

    note = mcpi_alloc_zero_first(client->mem, sizeof(*note) + method_size + params->len,
                                 sizeof(*note));
    if (!note)
        return NULL;
    note->post.fn = note_send;
    memcpy(note->texts, method, method_size);
    note->method = note->texts;
    if (params->text) {
        note->params = note->texts + method_size;
        note->params_len = params->len;
        mcpi_copy_line(note->texts + method_size, params);
    }
    mcpi_client_ref(client);
    note->client = client;
    return note;
}

int
mcp_client_notify(mcp_client *client, const char *method, const char *params)
{
    struct mcpi_text found = {NULL, 0};
    struct note *note;
    int r;

    r = client_check(client, NULL);
    if (r < 0)
        return r;
    if (!method || !method[0] || !mcpi_utf8_valid(method, strlen(method)))
        return MCP_E_INVAL;
    if (params)
        r = mcpi_object_text(client, params, "params", &found, NULL, NULL);
    if (r < 0)
        return r;
    note = note_new(client, method, &found);
    if (!note)
        return MCP_E_NOMEM;
    mcpi_loop_post(client->loop, &note->post);
    return 0;
}
