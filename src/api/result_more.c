/* result_more.c - what a handler writes for a prompt, a resource or a completion */
#include <stdio.h>
#include <string.h>

#include "api/prompt.h"
#include "api/resource.h"
#include "api/result.h"
#include "base/text.h"

/* ---- prompts ------------------------------------------------------------ */

int
mcp_result_role(mcp_result *out, enum mcp_role role)
{
    if (!out || (role != MCP_ROLE_USER && role != MCP_ROLE_ASSISTANT))
        return MCP_E_INVAL;
    if (!mcpi_result_takes(out, MCPI_KIND(PROMPT) | MCPI_KIND(SAMPLE), "role"))
        return out->status;
    out->role = role;
    out->has_role = true;
    return 0;
}

int
mcp_result_description(mcp_result *out, const char *text)
{
    if (!out || !text)
        return MCP_E_INVAL;
    if (!mcpi_result_takes(out, MCPI_KIND(PROMPT), "description"))
        return out->status;
    return mcpi_result_aside(out, ",\"description\":", text, "description");
}

static void
close_prompt(struct mcp_result *out)
{
    if (out->aside.len == 0 && out->prompt && out->prompt->description)
        (void)mcpi_result_aside(out, ",\"description\":", out->prompt->description,
                                "description");
    mcpi_result_list_end(out);
}

/* ---- resources ---------------------------------------------------------- */

int
mcp_result_cache(mcp_result *out, int64_t ttl_ms, enum mcp_cache_scope scope)
{
    if (!out)
        return MCP_E_INVAL;
    if (!mcpi_result_takes(out, MCPI_KIND(RESOURCE), "time to be kept"))
        return out->status;
    if (ttl_ms < 0 || (scope != MCP_CACHE_PRIVATE && scope != MCP_CACHE_PUBLIC))
        return mcpi_tool_result_fail(out, MCP_E_INVAL,
                                     "a time to be kept is negative, or its scope "
                                     "is unknown");
    out->has_cache = true;
    out->ttl_ms = ttl_ms;
    out->scope = scope;
    return 0;
}

/* How long it may be kept is to be said in the modern era (server/utilities/caching),
 * and nothing that an older client knows. */
static void
close_resource(struct mcp_result *out)
{
    mcpi_result_list_end(out);
    if (!out->modern)
        return;
    if (!out->has_cache && out->resource) {
        out->ttl_ms = out->resource->ttl_ms;
        out->scope = out->resource->scope;
    }
    mcpi_cache_write(&out->answer.body, out->ttl_ms, out->scope);
}

/* ---- completions -------------------------------------------------------- */

int
mcp_result_value(mcp_result *out, const char *value)
{
    if (!out || !value)
        return MCP_E_INVAL;
    if (!mcpi_result_takes(out, MCPI_KIND(COMPLETION), "values"))
        return out->status;
    if (out->count >= MCPI_VALUES_MAX) {
        out->count++;
        return 0;
    }
    if (mcpi_result_item(out, strlen(value) + 3))
        mcpi_result_string(out, value, strlen(value), "value of a completion");
    return mcpi_tool_result_status(out);
}

int
mcp_result_total(mcp_result *out, int64_t total)
{
    if (!out)
        return MCP_E_INVAL;
    if (!mcpi_result_takes(out, MCPI_KIND(COMPLETION), "total"))
        return out->status;
    if (total < 0)
        return mcpi_tool_result_fail(out, MCP_E_INVAL, "a total is negative");
    out->total = total;
    return 0;
}

/* A total that is less than what was written is none. */
static void
close_completion(struct mcp_result *out)
{
    struct mcpi_buf *body = &out->answer.body;
    int64_t total = out->total, sent;

    if (total < (int64_t)out->count)
        total = (int64_t)out->count;
    sent = out->count < MCPI_VALUES_MAX ? (int64_t)out->count : MCPI_VALUES_MAX;
    mcpi_result_list_end(out);
    MCPI_BUF_LITERAL(body, ",\"total\":");
    mcpi_buf_int(body, total);
    MCPI_BUF_LITERAL(body, ",\"hasMore\":");
    mcpi_buf_text(body, total > sent ? "true}" : "false}");
}

/* ---- the end ------------------------------------------------------------ */

void
mcpi_result_close_more(struct mcp_result *out)
{
    if (out->kind == MCPI_RESULT_PROMPT)
        close_prompt(out);
    else if (out->kind == MCPI_RESULT_RESOURCE)
        close_resource(out);
    else
        close_completion(out);
    mcpi_buf_char(&out->answer.body, '}');
}
