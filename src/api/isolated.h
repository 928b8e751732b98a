/*
 * isolated.h - inside a helper process: one tool, served to the program that started it
 *
 * A helper is a server over its descriptor 3, of 2026-07-28, with the tool and one
 * method of ours. Its tool is called one call at a time; what comes meanwhile is
 * refused. Limits are set before its first call, when all that it needs itself is
 * there; that on processor time anew for each call.
 *
 *   words   tool name, memory_bytes, cpu_seconds, files, file_bytes; decimal
 *   MCPI_ISOLATED_REST
 *           a request that is answered once the handler has returned, so also after a
 *           cancel, when no answer of the call itself comes any more. Result
 *           {"left": bool}: has what it started outlived it? Also MCPI_ISOLATED_LEFT in
 *           _meta of each result of the tool, if true; after an error of the tool only
 *           this tells. Who sees it ends the helper. One at a time.
 */
#ifndef MCPI_API_ISOLATED_H
#define MCPI_API_ISOLATED_H

#include <mcp/isolate.h>

#define MCPI_ISOLATED_REST "libmcp/rest"
/* Members of _meta between the two: not for anybody else, and taken out on the way. */
#define MCPI_ISOLATED_LEFT "libmcp/left"
#define MCPI_ISOLATED_PRINCIPAL "libmcp/principal"

/* Was the program told that it can be started again with this tool? */
bool mcpi_isolated_knows(const char *name);

/* Serve, and exit: what mcp_isolated_enter does in a helper. */
_Noreturn void mcpi_isolated_serve(char *const *words, const mcp_tool *tools,
                                   size_t count);

#endif
