/*
 * mcp/loop.h - an event loop that clients and servers can share
 *
 * You rarely need one: a client runs a loop on a thread of its own, and a server runs
 * one inside mcp_server_run. Make one to put several of them on one thread, or to run
 * them inside a loop that your program already has:
 *
 *     mcp_loop_step(loop);                           once, before the first sleep
 *     watch mcp_loop_fd(loop) for reading, sleep at most mcp_loop_timeout_ms(loop),
 *     mcp_loop_step(loop), again and again
 *
 * The thread that runs or steps a loop is its thread; [loop] in a contract means that
 * one. Signal dispositions are never changed. While a thread runs or steps a loop,
 * SIGPIPE is blocked in it.
 */
#ifndef MCP_LOOP_H
#define MCP_LOOP_H

#include <mcp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_loop mcp_loop;

typedef struct mcp_loop_options {
    size_t size;
    const mcp_allocator *allocator; /* NULL: malloc. Outlives the loop */
    mcp_log_fn *on_log; /* what links and children have to say; NULL: silent */
    void *log_user;
    enum mcp_log_level log_level; /* 0: warnings */
} mcp_loop_options;

#define MCP_LOOP_OPTIONS(...) \
    ((mcp_loop_options){.size = sizeof(mcp_loop_options), __VA_ARGS__})

/* A new loop; opt may be NULL. MCP_E_NOMEM, MCP_E_LIMIT (descriptors). */
MCP_API int mcp_loop_new(const mcp_loop_options *opt, mcp_loop **ret_loop,
                         mcp_error *err);

/* Frees it. Clients and servers on it must be freed before: it runs until what they
 * left to do is done, within a few seconds unless they were given more. Not while it
 * runs. */
MCP_API void mcp_loop_free(mcp_loop *loop);

/* Run it on this thread until mcp_loop_stop. MCP_E_STATE: it runs already, or this is a
 * process that was forked off. */
MCP_API int mcp_loop_run(mcp_loop *loop);

/* Make mcp_loop_run return after this turn; if it does not run now, its next run
 * returns at once. [any, and signal handlers] */
MCP_API void mcp_loop_stop(mcp_loop *loop);

/* Inside another loop; see above. timeout is in milliseconds, 0: step now, -1: sleep
 * until the descriptor is readable. */
MCP_API int mcp_loop_fd(const mcp_loop *loop);
MCP_API int mcp_loop_timeout_ms(mcp_loop *loop);
MCP_API int mcp_loop_step(mcp_loop *loop);

/* ---- events, for handlers that do not block ------------------------------ */

/* Call fn(user) on the loop's thread, soon, in the order of these calls. MCP_E_NOMEM.
 * [any] */
MCP_API int mcp_loop_post(mcp_loop *loop, void (*fn)(void *user), void *user);

/* Call fn(user) on the loop's thread once, after that time. Freeing the timer stops it;
 * it must be freed also after it ran, and may be from inside fn. [loop] MCP_E_NOMEM */
typedef struct mcp_timer mcp_timer;
MCP_API int mcp_timer_new(mcp_loop *loop, int64_t ms, void (*fn)(void *user),
                          void *user, mcp_timer **ret_timer);
MCP_API void mcp_timer_free(mcp_timer *timer); /* [loop] NULL ok */

/* Call fn(user, events) on the loop's thread whenever the descriptor can be read or
 * written, or has an error or hang-up, which counts as both. Watch a descriptor once on
 * a loop, and free the watch before you close it; from inside fn is fine. [loop]
 * MCP_E_INVAL: cannot be watched (a plain file), MCP_E_NOMEM. */
enum mcp_events { MCP_READABLE = 1, MCP_WRITABLE = 2 };
typedef struct mcp_watch mcp_watch;
MCP_API int mcp_watch_new(mcp_loop *loop, int fd, unsigned events,
                          void (*fn)(void *user, unsigned events), void *user,
                          mcp_watch **ret_watch);
MCP_API int mcp_watch_set(mcp_watch *watch, unsigned events); /* [loop] 0: pause */
MCP_API void mcp_watch_free(mcp_watch *watch);                /* [loop] NULL ok */

#ifdef __cplusplus
}
#endif
#endif
