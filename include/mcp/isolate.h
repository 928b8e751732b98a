/*
 * mcp/isolate.h - tools in processes of their own, which can be ended at any moment
 *
 *     int
 *     main(int argc, char **argv)
 *     {
 *         const mcp_tool crunch = MCP_TOOL(.name = "crunch", .run = crunch_run,
 *                                          .isolate = &MCP_ISOLATE());
 *
 *         mcp_isolated_enter(argc, argv, &crunch, 1);
 *         ...
 *         r = mcp_server_add_tool(server, &crunch, &err);
 *
 * The handler of an isolated tool is plain blocking C in a helper process: a call that
 * is canceled, out of time or whose client is gone is told so, as any other, and if it
 * does not end within a grace its process is killed, with all that it has started, and
 * replaced. If it crashes that is an error of this one call, and the server lives on.
 *
 * A helper is this very program, executed anew, which serves its tool instead of going
 * on in main. What crosses: the arguments, `_meta` with its trace context, the
 * principal, progress, log messages, the cancel with its reason, the result or error.
 * What does not: the memory of the server, its middleware (which runs on its side), HTTP
 * headers, the client's info and capabilities, and questions: a handler that asks gets
 * MCP_E_NO_CHANNEL. docs/isolation.md has the whole of it, and what it costs.
 *
 * This bounds mistakes, not malice: a helper runs as the same user.
 */
#ifndef MCP_ISOLATE_H
#define MCP_ISOLATE_H

#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a tool is isolated. Limits are for each helper; 0: none of ours. */
typedef struct mcp_isolate {
    size_t size;
    int64_t grace_ms;      /* from the cancel to the kill: 2000; -1: at once */
    size_t warm;           /* helpers that are ready before a call comes: 1 */
    size_t most;           /* calls at once: 16; more wait in line. Calls that were told
                              to stop do not count; of those there may be as many again,
                              then the oldest is killed before its grace is over */
    uint64_t memory_bytes; /* that it may map, beyond what a fresh helper has */
    int64_t cpu_seconds;   /* of processor time in one call */
    size_t files;          /* open descriptors, those of the library included */
    uint64_t file_bytes;   /* longest file that it may write: EFBIG beyond; what it
                              starts is ended by SIGXFSZ. stderr counts, if it is one */
    /* "NAME=value", ends with NULL, copied. Of the program's own environment a helper
     * has HOME, LOGNAME, PATH, SHELL, TERM, USER, LANG, LC_ALL, TZ, TMPDIR,
     * LD_LIBRARY_PATH and LD_PRELOAD only. */
    const char *const *env;
} mcp_isolate;

#define MCP_ISOLATE(...) ((mcp_isolate){.size = sizeof(mcp_isolate), __VA_ARGS__})

/* First in main, before threads are started, files opened or options read: what comes
 * before it is done in each helper too. In the program it returns at once. In a helper
 * it serves one of these tools, those that are isolated, and does not return. The tools
 * are borrowed until the program ends. Without any (NULL, 0) it makes ready for
 * mcp_command.contained, as it always does. */
MCP_API void mcp_isolated_enter(int argc, char **argv, const mcp_tool *tools,
                                size_t count);

#ifdef __cplusplus
}
#endif
#endif
