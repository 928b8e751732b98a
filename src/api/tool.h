/* tool.h - one tool of a server: what its arguments are checked with, and its output */
#ifndef MCPI_API_TOOL_H
#define MCPI_API_TOOL_H

#include <mcp/server.h>

#include "api/offer.h"
#include "base/list.h"
#include "wire/mirror.h"

struct mcpi_tool {
    struct mcpi_offer offer;
    mcp_fields *input; /* one of the two, or neither: any object */
    mcp_schema *input_schema;
    mcp_fields *output; /* likewise, neither: any, or none */
    mcp_schema *output_schema;
    struct mcpi_mirror *mirror; /* arguments that stand in headers too; NULL: none */
    struct mcpi_crew *crew;     /* it is isolated; NULL: it is not */
};

static inline struct mcpi_tool *
mcpi_tool_of(struct mcpi_offer *offer)
{
    return MCPI_CONTAINER(offer, struct mcpi_tool, offer);
}

/* A tool with one reference. MCP_E_INVAL: err names the tool and what is wrong with
 * it. */
int mcpi_tool_new(const mcp_allocator *mem, const mcp_tool *definition,
                  struct mcpi_tool **ret_tool, mcp_error *err);

/* It is isolated: its crew is its handler from now on. Before anybody else knows it. */
void mcpi_tool_isolate(struct mcpi_tool *tool, struct mcpi_crew *take_crew);

/* Do these arguments fit? MCP_E_INVAL, MCP_E_LIMIT: err says in a sentence why not. */
int mcpi_tool_check_input(const struct mcpi_tool *tool, const mcp_json *arguments,
                          mcp_error *err);

/* Has it promised structured output, and is this what it promised? */
bool mcpi_tool_has_output(const struct mcpi_tool *tool);
int mcpi_tool_check_output(const struct mcpi_tool *tool, const mcp_json *output,
                           mcp_error *err);

#endif
