/* needs.c - the scopes that a request needs */
#include "auth/needs.h"

#include "auth/scopes.h"
#include "wire/rpc.h"
#include "json/value.h"

/* Of a message; deeper ones are refused elsewhere. */
#define BODY_DEPTH_MAX 256

static const struct mcpi_refusal unknown = {.status = 500,
                                            .why = "it is not known what this needs"};

/* As mcp_request_name; of a completion, of what it completes. */
static const char *
name_of(const struct mcpi_rpc *rpc)
{
    const mcp_json *ref;

    switch (rpc->method) {
    case MCPI_METHOD_TOOLS_CALL:
    case MCPI_METHOD_PROMPTS_GET:
        return mcp_json_string(mcp_json_get(rpc->params, "name"), "");
    case MCPI_METHOD_RESOURCES_READ:
    case MCPI_METHOD_RESOURCES_SUBSCRIBE:
    case MCPI_METHOD_RESOURCES_UNSUBSCRIBE:
        return mcp_json_string(mcp_json_get(rpc->params, "uri"), "");
    case MCPI_METHOD_COMPLETE:
        ref = mcp_json_get(rpc->params, "ref");
        return mcp_json_string(mcp_json_get(ref, "name"),
                               mcp_json_string(mcp_json_get(ref, "uri"), ""));
    default:
        return "";
    }
}

/* MCP_E_NOMEM; MCP_E_INVAL: they are no scopes. */
static int
add_message(const mcp_guard *guard, const mcp_json *message, struct mcpi_buf *into)
{
    const mcp_guard_options *opt = &guard->settings->opt;
    const char *words;
    struct mcpi_rpc rpc;

    mcpi_rpc_read(message, &rpc);
    if (rpc.kind != MCPI_RPC_REQUEST && rpc.kind != MCPI_RPC_NOTIFICATION)
        return 0;
    words = opt->needs(opt->user, rpc.method_name, name_of(&rpc));
    mcpi_scopes_add(into, words);
    if (into->status == MCP_E_NOMEM)
        return MCP_E_NOMEM;
    if (mcpi_scopes_are(words) && into->status == 0)
        return 0;
    MCPI_LOG(&guard->log, MCP_LOG_ERROR,
             "guard option needs: what it says of %.100s are no scopes, or too many",
             rpc.method_name);
    return MCP_E_INVAL;
}

static int
add_body(const mcp_guard *guard, const mcp_http_request *request, struct mcpi_buf *into)
{
    const struct mcpi_json_limits limits = {SIZE_MAX, BODY_DEPTH_MAX};
    mcp_doc *doc;
    int r;

    /* as the endpoint reads it: what it serves must not need nothing here */
    r = mcpi_doc_parse_lenient(guard->mem, request->body, request->body_length, &limits,
                               &doc);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : 0;
    r = add_message(guard, mcp_doc_root(doc), into);
    mcp_doc_free(doc);
    return r;
}

const struct mcpi_refusal *
mcpi_needs_find(const mcp_guard *guard, const mcp_http_request *request, bool with_body,
                struct mcpi_buf *into)
{
    const mcp_guard_options *opt = &guard->settings->opt;
    int r = 0;

    mcpi_scopes_add(into, opt->scope);
    if (with_body && opt->needs && request->body_length > 0)
        r = add_body(guard, request, into);
    mcpi_buf_append(into, "", 1);
    if (r == 0)
        r = into->status;
    if (r < 0)
        return r == MCP_E_NOMEM ? &mcpi_refusal_later : &unknown;
    return NULL;
}
