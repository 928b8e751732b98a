/*
 * mcp/prompt.h - what a server proposes to say: prompts
 *
 *     static int review(mcp_request *req, mcp_result *out, void *user)
 *     {
 *         return mcp_result_textf(out, "Review this: %s",
 *                                 mcp_request_argument(req, "code"));
 *     }
 */
#ifndef MCP_PROMPT_H
#define MCP_PROMPT_H

#include <mcp/request.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_prompt_argument {
    const char *name;
    const char *title;
    const char *description;
    bool required;             /* a request without it is refused */
    const char *const *values; /* proposed by completion; ends with NULL; NULL: none, or
                                  what the prompt's handler proposes */
} mcp_prompt_argument;

typedef struct mcp_prompt {
    size_t size;
    const char *name; /* as a tool's */
    const char *title;
    const char *description;
    const mcp_prompt_argument *arguments; /* ends with {0}; NULL: none */
    const mcp_icon *icons;
    const char *meta;

    /* Writes the messages, block by block. */
    mcp_handler_fn *run;
    mcp_handler_fn *start;
    mcp_handler_fn *reply;
    void *user;

    /* Completes arguments that have no values of their own. */
    mcp_handler complete;

    unsigned flags; /* mcp_handler_flags */
    int64_t limit_ms;
} mcp_prompt;

#define MCP_PROMPT(...) ((mcp_prompt){.size = sizeof(mcp_prompt), __VA_ARGS__})

/* Offer a prompt; the struct is copied, with its arguments and their values. Otherwise
 * as mcp_server_add_tool. */
MCP_API int mcp_server_add_prompt(mcp_server *server, const mcp_prompt *prompt,
                                  mcp_error *err);
MCP_API int mcp_server_remove_prompt(mcp_server *server, const char *name);

#ifdef __cplusplus
}
#endif
#endif
