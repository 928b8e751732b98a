/*
 * call_retry.c - a tool call whose headers were refused is made once more
 *
 * A modern server refuses a call over HTTP whose Mcp-Param-* headers are not those that
 * it wants (-32020): the client knew none, or those of an older list. So the list of
 * tools is asked for, up to the page that has the tool, and if it says something else
 * of the tool's headers than what was known when the call was sent, the call is made
 * again (2026-07-28, basic/transports/streamable-http, "Client Behavior"). All these are
 * further legs of the same call, so that its cancel and its clocks cover them. Whatever
 * stands in the way, the call ends with the first refusal; and a second one is the end.
 *
 * What is made again is the leg that was refused, which may be that of a later round.
 */
#include <string.h>

#include "api/call.h"
#include "base/mem.h"

struct mcpi_retry {
    mcp_doc *refusal;
    mcp_doc *params;      /* of what was refused */
    const mcp_json *name; /* of the tool; in it */
    uint64_t version;     /* of what was known of it when the refusal came */
    bool is_late;         /* and when it was sent, that was something else */
    bool is_made;
    size_t len;
    char text[]; /* of params */
};

static void
retry_free(const mcp_allocator *mem, struct mcpi_retry *retry)
{
    mcp_doc_free(retry->refusal);
    mcp_doc_free(retry->params);
    mcpi_free(mem, retry);
}

bool
mcpi_retry_is_asking(const mcp_call *call)
{
    return call->retry && !call->retry->is_made;
}

/* ---- the beginning ------------------------------------------------------- */

static bool
retry_is_due(const mcp_call *call, int status, const struct mcpi_rpc *answer)
{
    return status == MCP_E_PEER && answer->error_code == MCPI_RPC_HEADER_MISMATCH &&
           !call->retry && !mcpi_check_is_asking(call) &&
           strcmp(call->method, mcpi_method_name(MCPI_METHOD_TOOLS_CALL)) == 0 &&
           mcpi_handle_has_headers(call);
}

/* False: no memory, or it calls no tool. */
static bool
retry_read(struct mcpi_retry *retry, const mcp_call *call)
{
    const struct mcpi_json_limits limits = {MCPI_JSON_TEXT_MAX, SIZE_MAX};

    if (mcpi_doc_parse(call->mem, retry->text, retry->len, &limits, &retry->params) < 0)
        return false;
    retry->name = mcp_json_get(mcp_doc_root(retry->params), "name");
    return mcp_json_get_type(retry->name) == MCP_JSON_STRING;
}

static bool
retry_begin(mcp_call *call, const struct mcpi_call *core, const struct mcpi_rpc *answer,
            struct mcpi_next_leg *next)
{
    const struct mcpi_mirrors *mirrors = &call->client->mirrors;
    struct mcpi_retry *retry;
    const char *params;
    size_t len;

    params = mcpi_call_params(core, &len);
    if (!params)
        return false;
    retry = mcpi_alloc_zero_first(call->mem, sizeof(*retry) + len, sizeof(*retry));
    if (!retry)
        return false;
    memcpy(retry->text, params, len);
    retry->len = len;
    retry->refusal = mcp_doc_ref(answer->doc);
    if (!retry_read(retry, call)) {
        retry_free(call->mem, retry);
        return false;
    }
    retry->version = mcpi_mirrors_version(mirrors, retry->name);
    retry->is_late = mcpi_mirrors_changed(mirrors, retry->name, call->known);
    call->retry = retry;
    mcpi_check_first_page(call, next);
    return true;
}

/* ---- the list ------------------------------------------------------------ */

static const mcp_json *
page_find(const mcp_json *result, const mcp_json *name)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(mcp_json_get(result, "tools")); mcp_json_next(&it);) {
        if (mcp_json_equal(mcp_json_get(it.value, "name"), name))
            return it.value;
    }
    return NULL;
}

/* The tool may be used, and its headers are others than those that were sent. What is
 * kept of the list is older than that. */
static bool
retry_make(mcp_call *call, const mcp_json *tool, struct mcpi_next_leg *next)
{
    struct mcpi_retry *retry = call->retry;
    struct mcp_client *client = call->client;
    bool is_new = retry->is_late ||
                  retry->version != mcpi_mirrors_version(&client->mirrors, retry->name);

    if (!is_new || mcpi_mirrors_check(&client->mirrors, tool) < 0)
        return false;
    mcpi_cache_drop(&client->cache, MCPI_METHOD_TOOLS_LIST);
    retry->is_made = true;
    next->method = call->method;
    next->params = retry->text;
    next->params_len = retry->len;
    return true;
}

static bool
retry_read_page(mcp_call *call, const mcp_json *result, struct mcpi_next_leg *next)
{
    const mcp_json *tool;

    if (mcpi_check_learn(call, result) < 0)
        return false;
    tool = page_find(result, call->retry->name);
    return tool ? retry_make(call, tool, next)
                : mcpi_check_next_page(call, result, next);
}

bool
mcpi_retry_more(mcp_call *call, const struct mcpi_call *core, int status,
                const struct mcpi_rpc *answer, struct mcpi_next_leg *next)
{
    if (mcpi_retry_is_asking(call))
        return status == 0 && retry_read_page(call, answer->result, next);
    return retry_is_due(call, status, answer) && retry_begin(call, core, answer, next);
}

/* ---- the end ------------------------------------------------------------- */

void
mcpi_retry_end(mcp_call *call, int status, const struct mcpi_rpc *answer)
{
    struct mcpi_rpc refusal;

    if (status == MCP_E_CANCELED || status == MCP_E_TOTAL_TIMEOUT) {
        mcpi_handle_end(call, status, answer);
        return;
    }
    mcpi_rpc_read(mcp_doc_root(call->retry->refusal), &refusal);
    refusal.doc = mcp_doc_ref(call->retry->refusal);
    call->error.http_status = 0;                 /* that was the list's */
    mcpi_handle_end(call, MCP_E_PEER, &refusal); /* may be the last of the call */
    mcp_doc_free(refusal.doc);
}

void
mcpi_retry_done(mcp_call *call)
{
    if (call->retry)
        retry_free(call->mem, call->retry);
}
