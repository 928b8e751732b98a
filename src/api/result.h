/*
 * result.h - what a handler has written, as the rest of the api sees it
 *
 * The text of the answer is written as it will be sent, straight into the buffer that
 * the exchange takes over in the end.
 */
#ifndef MCPI_API_RESULT_H
#define MCPI_API_RESULT_H

#include <mcp/request.h>

#include "api/tool.h"
#include "core/engine.h"

struct mcp_result {
    const struct mcpi_tool *tool; /* whose; NULL: no tool's */
    mcp_builder *structured;      /* made when first asked for */
    int status;                   /* the first failure; answer.message says more */
    bool has_block;               /* the body is `{"content":[` and blocks */
    bool can_annotate;            /* the last block has no annotations yet */
    bool is_error;
    struct mcpi_result answer; /* last: its long text is not cleared */
};

/* All members but answer are zero. */
void mcpi_tool_result_init(struct mcp_result *out, const struct mcpi_engine *engine,
                           const struct mcpi_tool *tool);
void mcpi_tool_result_done(struct mcp_result *out);

/* Nothing more will be written: check what was promised, and make out->answer the
 * CallToolResult. A negative status: it cannot be, and err says why. MCP_E_PROTO: the
 * output is not what the tool has promised. */
int mcpi_tool_result_close(struct mcp_result *out, mcp_error *err);

/* ---- for who writes into it --------------------------------------------- */

/* It has failed, for that reason; the first one counts. Returns its status. */
int mcpi_tool_result_fail(mcp_result *out, int status, const char *why);

/* Its status; a failure of a buffer is one of the result. */
int mcpi_tool_result_status(mcp_result *out);

/* Parse what must be one value; `what` names it in the failure. */
int mcpi_tool_result_parse(mcp_result *out, const char *json, size_t length,
                           const char *what, mcp_doc **ret_doc);

/* A block of text. */
int mcpi_tool_result_text(mcp_result *out, const char *text, size_t len);

#endif
