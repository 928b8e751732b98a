/*
 * mirrored.c - arguments of a tool that stand in HTTP headers too
 *
 * 2026-07-28, basic/transports/streamable-http, "Server Behavior for Custom Headers".
 */
#include "api/mirrored.h"

#include <stdio.h>
#include <string.h>

#include "api/server.h"
#include "api/tool.h"

/* One call: what is compared, and where the sentence goes. */
struct check {
    const struct mcpi_mirror *mirror;
    const mcp_allocator *mem;
    const mcp_json *arguments;
    mcpi_mirrored_fn *header;
    void *user;
    char *why;
    size_t size;
};

static int
check_fail(const struct check *check, size_t index, const char *fault)
{
    snprintf(check->why, check->size, "Mcp-Param-%.100s %s",
             mcpi_mirror_name(check->mirror, index), fault);
    return MCP_E_PROTO;
}

/* A header that says what the arguments do not say is as wrong as a missing one: who
 * routes by it would be misled. */
static int
check_one(const struct check *check, size_t index)
{
    const mcp_json *said = mcpi_mirror_value(check->mirror, index, check->arguments);
    bool is_said = said && mcp_json_get_type(said) != MCP_JSON_NULL;
    size_t count = 0;
    const char *value = check->header(check->user,
                                      mcpi_mirror_header(check->mirror, index), &count);
    int r;

    if (!value)
        return is_said ? check_fail(check, index, "is missing") : 0;
    if (!is_said)
        return check_fail(check, index, "stands there without its argument");
    if (count > 1)
        return check_fail(check, index, "stands there more than once");
    r = mcpi_mirror_compare(check->mem, value, strlen(value), said);
    if (r == MCP_E_PROTO)
        return check_fail(check, index, "does not say what its argument says");
    return r;
}

int
mcpi_mirrored_check(mcp_server *server, const char *tool, const mcp_json *arguments,
                    mcpi_mirrored_fn *header, void *user, char *why, size_t size)
{
    struct mcpi_catalog *tools = &server->catalogs[MCPI_TOOLS];
    struct mcpi_offer *offer = mcpi_catalog_find(tools, tool, strlen(tool));
    struct check check = {.arguments = arguments,
                          .header = header,
                          .user = user,
                          .why = why,
                          .size = size};
    int r = 0;

    if (!offer)
        return 0;
    check.mirror = mcpi_tool_of(offer)->mirror;
    check.mem = offer->mem;
    for (size_t i = 0; r == 0 && i < mcpi_mirror_count(check.mirror); i++)
        r = check_one(&check, i);
    mcpi_offer_unref(offer);
    return r;
}
