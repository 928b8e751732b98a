/*
 * tool.h - one tool of a server: what lists say of it, what its arguments are checked
 * with, who runs it
 *
 * Counted and immutable: a call keeps its tool though it was withdrawn meanwhile. All
 * functions are [any].
 */
#ifndef MCPI_API_TOOL_H
#define MCPI_API_TOOL_H

#include <mcp/server.h>
#include <stdatomic.h>

#define MCPI_TOOL_NAME_MAX 128

enum mcpi_handler_kind { MCPI_RUNS, MCPI_STARTS, MCPI_REPLIES };

struct mcpi_tool {
    atomic_uint refs;
    const mcp_allocator *mem;
    enum mcpi_handler_kind kind;
    mcp_handler_fn *handler;
    void *user;
    bool signal_only;  /* F4 */
    int64_t limit_us;  /* 0: the server's; MCPI_NEVER: none */
    mcp_fields *input; /* one of the two, or neither: any object */
    mcp_schema *input_schema;
    mcp_fields *output; /* likewise, neither: any, or none */
    mcp_schema *output_schema;
    mcp_builder *shown; /* the object that lists have of it; not written to any more */
    char name[MCPI_TOOL_NAME_MAX + 1];
};

/* A tool with one reference. MCP_E_INVAL: err names the tool and what is wrong with
 * it. */
int mcpi_tool_new(const mcp_allocator *mem, const mcp_tool *definition,
                  struct mcpi_tool **ret_tool, mcp_error *err);
struct mcpi_tool *mcpi_tool_ref(struct mcpi_tool *tool);
void mcpi_tool_unref(struct mcpi_tool *tool); /* NULL ok */

/* May a tool have this name? */
bool mcpi_tool_name_fits(const char *name, size_t len);

/* Do these arguments fit? MCP_E_INVAL, MCP_E_LIMIT: err says in a sentence why not. */
int mcpi_tool_check_input(const struct mcpi_tool *tool, const mcp_json *arguments,
                          mcp_error *err);

/* Has it promised structured output, and is this what it promised? */
bool mcpi_tool_has_output(const struct mcpi_tool *tool);
int mcpi_tool_check_output(const struct mcpi_tool *tool, const mcp_json *output,
                           mcp_error *err);

#endif
