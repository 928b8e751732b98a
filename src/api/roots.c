/* roots.c - the roots that a client has by itself, without a handler */
#include <string.h>

#include "api/client.h"
#include "api/identity.h"
#include "api/inquiry.h"
#include "api/request.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/dialect.h"

static int
roots_build(mcp_builder *b, const mcp_root *roots, mcp_error *err)
{
    int r;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_begin_array(b, "roots");
    for (; roots->uri; roots++) {
        r = mcpi_text_check(roots->name, "name of a root", err);
        if (r < 0)
            return r;
        if (!mcpi_root_fits(roots->uri))
            return mcpi_error_set(err, MCP_E_INVAL, "a root is a file: URI, not %.80s",
                                  roots->uri);
        mcp_builder_begin_object(b, NULL);
        mcp_builder_string(b, "uri", roots->uri);
        if (roots->name)
            mcp_builder_string(b, "name", roots->name);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
    mcp_builder_end(b);
    return 0;
}

int
mcpi_roots_print(const mcp_allocator *mem, const mcp_root *roots, char **ret_text,
                 mcp_error *err)
{
    mcp_builder *b = mcp_builder_new(mem);
    const char *text;
    size_t len;
    char *copy;
    int r;

    r = roots_build(b, roots, err);
    if (r < 0) {
        mcp_builder_free(b);
        return r;
    }
    text = mcp_builder_text(b, &len);
    copy = mcp_builder_status(b) == 0 ? mcpi_alloc(mem, len + 1) : NULL;
    if (copy)
        memcpy(copy, text, len + 1);
    mcp_builder_free(b);
    if (!copy)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    *ret_text = copy;
    return 0;
}

int
mcpi_roots_reply(mcp_request *req, mcp_result *out, void *user)
{
    struct mcp_client *client = user;

    (void)req;
    pthread_mutex_lock(&client->lock);
    mcpi_buf_text(&out->answer.body, client->answerer.root_list);
    pthread_mutex_unlock(&client->lock);
    return out->answer.body.status;
}

void
mcpi_roots_tell(struct mcp_client *client)
{
    bool differ;
    int r;

    pthread_mutex_lock(&client->lock);
    differ = client->answerer.roots_differ;
    client->answerer.roots_differ = false;
    pthread_mutex_unlock(&client->lock);
    if (!differ || !client->peer || !client->peer->agreed ||
        client->peer->dialect->modern)
        return; /* who asks gets the new ones */
    r = mcpi_peer_notify(client->peer, mcpi_method_name(MCPI_METHOD_NOTE_ROOTS_CHANGED),
                         NULL, 0, mcpi_loop_now(client->host.inside));
    if (r < 0)
        MCPI_LOG(&client->host.log, MCP_LOG_WARNING,
                 "the server was not told that the roots have changed: %s",
                 mcp_status_text(r));
}

int
mcp_client_set_roots(mcp_client *client, const mcp_root *roots)
{
    char *text = NULL, *old;
    bool post;
    int r;

    if (!client || !roots)
        return MCP_E_INVAL;
    if (!mcpi_client_is_ours(client))
        return MCP_E_STATE;
    r = mcpi_roots_print(client->host.mem, roots, &text, NULL);
    if (r < 0)
        return r;
    pthread_mutex_lock(&client->lock);
    old = client->answerer.root_list;
    if (!old) {
        pthread_mutex_unlock(&client->lock);
        mcp_text_free(text, client->host.mem);
        return MCP_E_STATE;
    }
    client->answerer.root_list = text;
    client->answerer.roots_differ = true;
    post = mcpi_client_wants_look(client);
    pthread_mutex_unlock(&client->lock);
    mcp_text_free(old, client->host.mem);
    if (post)
        mcpi_loop_post(client->host.inside, &client->look);
    return 0;
}
