/* scope.c - the public scope: many calls, one cancel */
#include "api/scope.h"

#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"

int
mcp_scope_new(const mcp_scope_options *given, mcp_scope **ret_scope)
{
    int64_t deadline = MCPI_NEVER;
    struct mcpi_scope *scope;
    mcp_scope_options opt;
    int r;

    if (!ret_scope || mcpi_options_read(&opt, sizeof(opt), given) < 0)
        return MCP_E_INVAL;
    if (opt.timeout_ms < 0 && opt.timeout_ms != MCP_TIMEOUT_NONE)
        return MCP_E_INVAL;
    if (opt.parent && !mcpi_scope_is_ours(mcpi_scope_inside(opt.parent)))
        return MCP_E_STATE;
    if (opt.timeout_ms > 0)
        deadline = mcpi_time_add(mcpi_loop_clock(), mcpi_ms(opt.timeout_ms));
    r = mcpi_scope_new(opt.allocator, mcpi_scope_inside(opt.parent), deadline, &scope);
    if (r == 0)
        *ret_scope = (mcp_scope *)scope;
    return r;
}

void
mcp_scope_free(mcp_scope *scope)
{
    mcpi_scope_unref(mcpi_scope_inside(scope));
}

int
mcp_scope_cancel(mcp_scope *scope, const char *reason)
{
    if (!scope)
        return MCP_E_INVAL;
    if (!mcpi_scope_is_ours(mcpi_scope_inside(scope)))
        return MCP_E_STATE;
    return mcpi_scope_cancel(mcpi_scope_inside(scope), reason) ? 0 : MCP_E_STATE;
}

bool
mcp_scope_is_over(const mcp_scope *scope)
{
    return mcpi_scope_check(scope, NULL) != 0;
}

int
mcpi_scope_check(const mcp_scope *scope, mcp_error *err)
{
    int r;

    if (!scope)
        return 0;
    if (!mcpi_scope_is_ours(mcpi_scope_inside(scope)))
        return mcpi_error_set(err, MCP_E_STATE, "this process was forked off");
    r = mcpi_scope_status(mcpi_scope_inside(scope), mcpi_loop_clock());
    if (r == MCP_E_TOTAL_TIMEOUT)
        return mcpi_error_set(err, r, "the time of the scope is used up");
    if (r < 0)
        return mcpi_error_set(err, r, "the scope is canceled");
    return 0;
}
