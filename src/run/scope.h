/*
 * scope.h - one flag over many calls, that even a signal handler may raise
 *
 * A scope is canceled once, or its time runs out; a scope whose parent is over is over.
 * Raising it takes no lock: a flag, a short copy, and one write to its descriptor.
 * Loops with something under the scope watch that descriptor and do the rest.
 */
#ifndef MCPI_RUN_SCOPE_H
#define MCPI_RUN_SCOPE_H

#include "base/list.h"
#include "run/loop.h"

struct mcpi_scope;

/* A scope with one reference. parent may be NULL, and is kept. deadline: monotonic
 * microseconds, or MCPI_NEVER. MCP_E_NOMEM; MCP_E_LIMIT: no descriptor left. */
int mcpi_scope_new(const mcp_allocator *mem, struct mcpi_scope *parent,
                   int64_t deadline, struct mcpi_scope **ret_scope);
struct mcpi_scope *mcpi_scope_ref(struct mcpi_scope *scope);
void mcpi_scope_unref(struct mcpi_scope *scope); /* NULL ok */

/* False in a process that was forked off: its descriptor is the parent's too, whose
 * loops must not be woken by it. [any, signal handler] */
bool mcpi_scope_is_ours(const struct mcpi_scope *scope);

/* Cancel it; later ones change nothing. The reason is cut to MCPI_REASON_MAX bytes;
 * NULL: "". False: it was canceled before. [any, signal handler] */
bool mcpi_scope_cancel(struct mcpi_scope *scope, const char *reason);

/* 0: not over at this moment. MCP_E_CANCELED: it or a parent was canceled.
 * MCP_E_TOTAL_TIMEOUT: its or a parent's time has run out, and none was canceled. So a
 * late cancel changes the answer; hooks are told once, what was true at that moment. */
int mcpi_scope_status(const struct mcpi_scope *scope, int64_t now);

/* Why it was canceled: the text of the nearest one that was, itself or a parent; "" if
 * none. The text stays valid and unchanged while the scope lives. */
const char *mcpi_scope_reason(const struct mcpi_scope *scope);

/* Told once, on the loop's thread, when the scope is over; off the list then. Embedded
 * by its owner, who zeroes it and sets fn. */
struct mcpi_scope_watch;
struct mcpi_scope_hook {
    struct mcpi_list node;
    struct mcpi_scope_watch *watch; /* NULL: not hooked */
    void (*fn)(struct mcpi_scope_hook *self, int status, const char *reason);
};

/* Watch a scope on a loop; all hooks of one loop share one watcher a scope. A scope
 * that is over already tells in the next turn. MCP_E_NOMEM, MCP_E_LIMIT. [loop] */
int mcpi_scope_hook(struct mcpi_scope *scope, struct mcpi_loop *loop,
                    struct mcpi_scope_hook *hook);
/* No-op if it is not hooked, or was told. The watcher of the last one closes in the
 * next turn, or when the loop is freed; until then it keeps the scope. [loop] */
void mcpi_scope_unhook(struct mcpi_scope_hook *hook);

#endif
