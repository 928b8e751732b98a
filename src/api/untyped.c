/* untyped.c - a client calls any method, and sends any notification */
#include <string.h>

#include "api/call.h"
#include "base/mem.h"
#include "base/text.h"

/* ---- arguments ----------------------------------------------------------- */

int
mcpi_client_check(const struct mcp_client *client, mcp_error *err)
{
    if (!client)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no client");
    if (!mcpi_client_is_ours(client))
        return mcpi_error_set(err, MCP_E_STATE, "this process was forked off");
    return 0;
}

/* The method and its params, as text or NULL. What goes into _meta is partly the
 * library's own, so the caller's part of it has a way of its own. *ret_doc keeps what
 * the key borrows; to be freed in every case. */
static int
ask_fill(const struct mcp_client *client, const char *method, const char *params,
         struct mcpi_ask *ask, mcp_doc **ret_doc, mcp_error *err)
{
    struct mcpi_text found = {NULL, 0};
    int r;

    *ret_doc = NULL;
    if (!method)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no method");
    if (params) {
        r = mcpi_object_text(client, params, "params", &found, ret_doc, err);
        if (r < 0)
            return r;
    }
    if (mcp_json_get(mcp_doc_root(*ret_doc), "_meta"))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "params: _meta is given in the options, as meta");
    ask->method = method;
    ask->params = found.text;
    ask->params_len = found.len;
    ask->key = mcpi_cache_key_read(method, mcp_doc_root(*ret_doc));
    return 0;
}

/* ---- calls --------------------------------------------------------------- */

int
mcpi_ask_start(struct mcp_client *client, struct mcpi_ask *ask,
               const mcp_call_options *given, mcp_call **ret_call, mcp_error *err)
{
    mcp_call_options opt;
    int r;

    if (mcpi_options_read(&opt, sizeof(opt), given) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "these are no options of a call");
    r = mcpi_declared_check(client, ask->method, err);
    if (r < 0)
        return r;
    ask->has_handle = ret_call != NULL;
    return mcpi_handle_begin(client, ask, &opt, ret_call, err);
}

int
mcpi_ask_wait(struct mcp_client *client, struct mcpi_ask *ask,
              const mcp_call_options *given, mcp_reply **ret_reply, mcp_error *err)
{
    mcp_call *call = NULL;
    int r;

    r = mcpi_client_may_wait(client, err);
    if (r < 0)
        return r;
    r = mcpi_pool_wait_begin();
    if (r < 0)
        return mcpi_error_set(err, r, "too many workers wait already");
    r = mcpi_ask_start(client, ask, given, &call, err);
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
    struct mcpi_ask ask = {0};
    mcp_doc *doc;
    int r;

    r = mcpi_client_check(client, err);
    if (r < 0)
        return r;
    r = ask_fill(client, method, params, &ask, &doc, err);
    if (r == 0)
        r = mcpi_ask_wait(client, &ask, opt, ret_reply, err);
    mcp_doc_free(doc);
    return r;
}

int
mcp_client_start(mcp_client *client, const char *method, const char *params,
                 const mcp_call_options *opt, mcp_done_fn *done, void *user,
                 mcp_call **ret_call)
{
    struct mcpi_ask ask = {.done = done, .user = user};
    mcp_doc *doc;
    int r;

    r = mcpi_client_check(client, NULL);
    if (r < 0)
        return r;
    r = ask_fill(client, method, params, &ask, &doc, NULL);
    if (r == 0)
        r = mcpi_ask_start(client, &ask, opt, ret_call, NULL);
    mcp_doc_free(doc);
    return r;
}

int
mcp_client_ping(mcp_client *client, const mcp_call_options *opt, mcp_error *err)
{
    struct mcpi_ask ask = {.method = mcpi_method_name(MCPI_METHOD_PING)};
    bool ready, modern;
    int r;

    r = mcpi_client_check(client, err);
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
    return mcpi_ask_wait(client, &ask, opt, NULL, err);
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
                             mcpi_loop_now(client->host.inside));
    if (r < 0)
        MCPI_LOG(&client->host.log, MCP_LOG_WARNING, "notification %s is lost: %s",
                 note->method, mcp_status_text(r));
    mcpi_free(client->host.mem, note);
    mcpi_client_unref(client);
}

static struct note *
note_new(struct mcp_client *client, const char *method, const struct mcpi_text *params)
{
    size_t method_size = strlen(method) + 1;
    struct note *note;

    note = mcpi_alloc_zero_first(
        client->host.mem, sizeof(*note) + method_size + params->len, sizeof(*note));
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

    r = mcpi_client_check(client, NULL);
    if (r < 0)
        return r;
    if (!method || !method[0] || !mcpi_utf8_valid(method, strlen(method)))
        return MCP_E_INVAL;
    if (client->answerer.roots.kind == MCPI_NO_HANDLER &&
        strcmp(method, mcpi_method_name(MCPI_METHOD_NOTE_ROOTS_CHANGED)) == 0)
        return MCP_E_STATE; /* the server was told of none (client/roots) */
    if (params)
        r = mcpi_object_text(client, params, "params", &found, NULL, NULL);
    if (r < 0)
        return r;
    note = note_new(client, method, &found);
    if (!note)
        return MCP_E_NOMEM;
    mcpi_loop_post(client->host.inside, &note->post);
    return 0;
}
