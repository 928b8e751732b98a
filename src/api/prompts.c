/* prompts.c - prompts/get: which prompt, and are its arguments there */
#include "api/methods.h"
#include "api/prompt.h"
#include "api/server.h"

void
mcpi_prompts_find(mcp_request *req)
{
    const mcp_json *name = mcp_json_get(req->x->rpc.params, "name");
    struct mcpi_offer *offer;

    if (mcp_json_get_type(name) != MCP_JSON_STRING)
        return;
    offer = mcpi_catalog_find(&req->server->catalogs[MCPI_PROMPTS],
                              mcp_json_string(name, ""), mcp_json_string_length(name));
    if (!offer)
        return;
    mcpi_request_take_offer(req, offer, &offer->handler, MCPI_RESULT_PROMPT);
    req->out.prompt = mcpi_prompt_of(offer);
}

const char *
mcpi_texts_fault(const mcp_json *object)
{
    mcp_json_iterator it;

    if (!object)
        return NULL;
    if (mcp_json_get_type(object) != MCP_JSON_OBJECT)
        return "arguments must be an object";
    if (mcpi_json_has_duplicates(object))
        return "a key stands twice in arguments";
    for (it = mcp_json_each(object); mcp_json_next(&it);) {
        if (mcp_json_get_type(it.value) != MCP_JSON_STRING)
            return "each of arguments must be a string";
    }
    return NULL;
}

/* The first required argument that is not there, or NULL. */
static const char *
argument_missing(const struct mcpi_prompt *prompt, const mcp_json *given)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(prompt->arguments); mcp_json_next(&it);) {
        if (mcp_json_bool(mcp_json_get(it.value, "required"), false) &&
            !mcp_json_get(given, mcp_json_string(it.key, "")))
            return mcp_json_string(it.key, "");
    }
    return NULL;
}

void
mcpi_prompts_get(mcp_request *req)
{
    const mcp_json *name = mcp_json_get(req->x->rpc.params, "name");
    const mcp_json *arguments = mcp_request_arguments(req);
    const char *fault = mcpi_texts_fault(arguments), *missing = NULL;

    if (mcp_json_get_type(name) != MCP_JSON_STRING)
        fault = "name must be a string";
    if (fault) {
        mcpi_request_reject(req, fault);
        return;
    }
    if (req->offer)
        missing = argument_missing(req->out.prompt, arguments);
    if (req->offer && !missing) {
        mcpi_request_handle(req);
        return;
    }
    if (missing)
        mcpi_request_refuse(req, MCPI_RPC_INVALID_PARAMS,
                            "Invalid params: the argument %s is missing", missing);
    else
        mcpi_request_refuse(req, MCPI_RPC_INVALID_PARAMS, "Unknown prompt: %s",
                            mcp_request_name(req));
    (void)mcpi_request_end(req, MCP_E_PEER);
}
