/*
 * completion.c - completion/complete: what could be typed next
 *
 * Of an argument of a prompt, or of a variable of a template, which is named by its
 * text or by a URI that it matches. Values that a prompt was added with are proposed
 * here; for all else its handler is asked, which is run like any other.
 */
#include <string.h>

#include "api/methods.h"
#include "api/prompt.h"
#include "api/resource.h"
#include "api/server.h"

static const mcp_json *
ref_of(const mcp_request *req)
{
    return mcp_json_get(req->x->rpc.params, "ref");
}

static const mcp_json *
argument_of(const mcp_request *req, const char *member)
{
    return mcp_json_get(mcp_json_get(req->x->rpc.params, "argument"), member);
}

/* ---- values that are known ---------------------------------------------- */

/* Those of the argument, of a prompt; NULL: it has none. */
static const mcp_json *
values_of(const mcp_request *req)
{
    const struct mcpi_prompt *prompt = req->out.prompt;
    const mcp_json *name = argument_of(req, "name");

    if (!prompt)
        return NULL;
    return mcp_json_get(mcp_json_get_n(prompt->arguments, mcp_json_string(name, ""),
                                       mcp_json_string_length(name)),
                        "values");
}

static int
values_reply(mcp_request *req, mcp_result *out, void *user)
{
    const char *typed = mcp_request_complete_value(req);
    size_t len = strlen(typed);
    mcp_json_iterator it;
    const char *value;
    int r = 0;

    (void)user;
    for (it = mcp_json_each(values_of(req)); r == 0 && mcp_json_next(&it);) {
        value = mcp_json_string(it.value, "");
        if (strncmp(value, typed, len) == 0)
            r = mcp_result_value(out, value);
    }
    return r;
}

static const struct mcpi_handler values_handler = {.kind = MCPI_REPLIES,
                                                   .fn = values_reply};

/* ---- finding ------------------------------------------------------------ */

/* By its text, or by a URI. */
static int
template_find(mcp_request *req, const mcp_json *uri, struct mcpi_offer **ret_offer)
{
    *ret_offer = mcpi_catalog_find(&req->server->catalogs[MCPI_TEMPLATES],
                                   mcp_json_string(uri, ""),
                                   mcp_json_string_length(uri));
    return *ret_offer ? 0 : mcpi_templates_match(req, uri, ret_offer);
}

void
mcpi_completion_find(mcp_request *req)
{
    const mcp_json *ref = ref_of(req), *type = mcp_json_get(ref, "type");
    const mcp_json *name = mcp_json_get(ref, "name"), *uri = mcp_json_get(ref, "uri");
    struct mcpi_offer *offer = NULL;
    bool handled;

    if (mcp_json_is_string(type, "ref/prompt") &&
        mcp_json_get_type(name) == MCP_JSON_STRING) {
        offer = mcpi_catalog_find(&req->server->catalogs[MCPI_PROMPTS],
                                  mcp_json_string(name, ""),
                                  mcp_json_string_length(name));
        req->out.prompt = offer ? mcpi_prompt_of(offer) : NULL;
    } else if (mcp_json_is_string(type, "ref/resource") &&
               mcp_json_get_type(uri) == MCP_JSON_STRING) {
        req->sought = template_find(req, uri, &offer);
    }
    if (!offer)
        return;
    handled = offer->complete.kind != MCPI_NO_HANDLER && !values_of(req);
    mcpi_request_take_offer(req, offer, handled ? &offer->complete : &values_handler,
                            MCPI_RESULT_COMPLETION);
}

/* ---- asking ------------------------------------------------------------- */

static const char *
ref_fault(const mcp_json *ref)
{
    const mcp_json *type = mcp_json_get(ref, "type");

    if (mcp_json_is_string(type, "ref/prompt")) {
        if (mcp_json_get_type(mcp_json_get(ref, "name")) != MCP_JSON_STRING)
            return "ref.name must be a string";
    } else if (mcp_json_is_string(type, "ref/resource")) {
        if (mcp_json_get_type(mcp_json_get(ref, "uri")) != MCP_JSON_STRING)
            return "ref.uri must be a string";
    } else {
        return "ref must be a ref/prompt or a ref/resource";
    }
    return NULL;
}

/* A sentence for what is wrong with the form of the request, or NULL. */
static const char *
complete_fault(const mcp_request *req)
{
    const mcp_json *context = mcp_json_get(req->x->rpc.params, "context");
    const char *fault = ref_fault(ref_of(req));

    if (fault)
        return fault;
    if (mcp_json_get_type(argument_of(req, "name")) != MCP_JSON_STRING ||
        mcp_json_get_type(argument_of(req, "value")) != MCP_JSON_STRING)
        return "argument must have a name and a value, both strings";
    if (context && mcp_json_get_type(context) != MCP_JSON_OBJECT)
        return "context must be an object";
    return mcpi_texts_fault(mcp_json_get(context, "arguments"));
}

static bool
argument_exists(const mcp_request *req)
{
    const mcp_json *name = argument_of(req, "name");
    const char *text = mcp_json_string(name, "");
    size_t len = mcp_json_string_length(name);

    if (req->out.prompt)
        return mcp_json_get_n(req->out.prompt->arguments, text, len) != NULL;
    return strlen(text) == len && mcpi_template_has(mcpi_resource_of(req->offer), text);
}

static void
refuse_unknown(mcp_request *req)
{
    const mcp_json *ref = ref_of(req), *name = mcp_json_get(ref, "name");

    if (req->offer)
        mcpi_request_refuse(req, MCPI_RPC_INVALID_PARAMS, "Unknown argument: %s",
                            mcp_request_complete_name(req));
    else if (mcp_json_is_string(mcp_json_get(ref, "type"), "ref/prompt"))
        mcpi_request_refuse(req, MCPI_RPC_INVALID_PARAMS, "Unknown prompt: %s",
                            mcp_json_string(name, ""));
    else
        mcpi_request_refuse(req, MCPI_RPC_INVALID_PARAMS,
                            "Unknown resource template: %s",
                            mcp_json_string(mcp_json_get(ref, "uri"), ""));
    (void)mcpi_request_end(req, MCP_E_PEER);
}

void
mcpi_completion_complete(mcp_request *req)
{
    const char *fault = complete_fault(req);

    if (fault)
        mcpi_request_reject(req, fault);
    else if (req->sought < 0)
        (void)mcpi_request_end(req, req->sought);
    else if (!req->offer || !argument_exists(req))
        refuse_unknown(req);
    else
        mcpi_request_handle(req);
}

/* ---- what was asked, for handlers --------------------------------------- */

static bool
is_completion(const mcp_request *req)
{
    return req && req->out.kind == MCPI_RESULT_COMPLETION;
}

const char *
mcp_request_complete_name(const mcp_request *req)
{
    return is_completion(req) ? mcp_json_string(argument_of(req, "name"), "") : "";
}

const char *
mcp_request_complete_value(const mcp_request *req)
{
    return is_completion(req) ? mcp_json_string(argument_of(req, "value"), "") : "";
}

const char *
mcp_request_complete_known(const mcp_request *req, const char *name)
{
    const mcp_json *context;
    const char *known;

    if (!is_completion(req) || !name)
        return NULL;
    context = mcp_json_get(req->x->rpc.params, "context");
    known = mcp_json_string(mcp_json_get(mcp_json_get(context, "arguments"), name),
                            NULL);
    return known ? known : mcpi_variable_text(req, name);
}
