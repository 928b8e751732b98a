/*
 * loop.h - one thread's event loop: posts, deadlines and flushes, over libuv
 *
 * A turn: run what must be flushed, sleep until a descriptor, a post or a deadline,
 * handle descriptors and posts, expire deadlines, flush again. Deadlines are expired
 * after the poll, so an answer that can be read at the same tick wins (I16).
 *
 * A loop runs on a thread of its own (mcpi_loop_start), on the caller's thread
 * (mcpi_loop_run), or inside another loop (fd, timeout_ms, step). The thread that runs
 * or steps it is its thread; [loop] means that one.
 */
#ifndef MCPI_RUN_LOOP_H
#define MCPI_RUN_LOOP_H

#include <uv.h>

#include "base/list.h"
#include "base/log.h"
#include "base/timers.h"
#include "run/post.h"

struct mcpi_loop;

int mcpi_loop_new(const mcp_allocator *mem, const struct mcpi_log *log,
                  struct mcpi_loop **ret_loop);

/* Ends and joins its own thread, if it has one. Posts that still wait are run, on this
 * thread, and what they post; handles that were closed get their last word. Nobody else
 * posts, stops or runs it any more; one whose post was the last to run may still be on
 * its way out. No handle of others may be open, no deadline armed. Not from inside it.
 * NULL ok. */
void mcpi_loop_free(struct mcpi_loop *loop);

const mcp_allocator *mcpi_loop_mem(const struct mcpi_loop *loop);
const struct mcpi_log *mcpi_loop_log(const struct mcpi_loop *loop);
uv_loop_t *mcpi_loop_uv(struct mcpi_loop *loop);              /* [loop] */
struct mcpi_timers *mcpi_loop_timers(struct mcpi_loop *loop); /* [loop] */

/* Monotonic microseconds: of this turn, that is when somebody first asked in it, or of
 * this moment between turns [loop]; of this moment [any]. */
int64_t mcpi_loop_now(const struct mcpi_loop *loop);
int64_t mcpi_loop_clock(void);

/* This moment by the loop's clock, also inside a turn: for a deadline that a thread outside
 * keeps, or a time that must be granted in full, however long the turn has taken. [any] */
int64_t mcpi_loop_moment(const struct mcpi_loop *loop);

/* For tests that hold time in their hand: where mcpi_loop_now and mcpi_loop_moment come
 * from, instead of mcpi_loop_clock. How long the loop sleeps is still real. [loop] */
typedef int64_t mcpi_clock_fn(void *user);
void mcpi_loop_set_clock(struct mcpi_loop *loop, mcpi_clock_fn *clock, void *user);

/* Run a node on the loop's thread, in the order of posting; cannot fail. [any] */
void mcpi_loop_post(struct mcpi_loop *loop, struct mcpi_post *node);

/* Run what was posted before now, at once: a link does so before it dispatches what it
 * read, so that a result which came home first wins (F10). [loop] */
void mcpi_loop_run_posts(struct mcpi_loop *loop);

/* Is this its thread? False while nobody runs it. [any] */
bool mcpi_loop_is_here(const struct mcpi_loop *loop);

/* Does this thread run or step any loop at the moment? Whoever would block must not do
 * so then. [any] */
bool mcpi_loop_any_here(void);

/* False in a process that was forked off without exec: nothing of the loop may be used
 * there. Costs one load. [any] */
bool mcpi_loop_is_ours(const struct mcpi_loop *loop);

/* Something to do once before the loop sleeps: one write a link and turn, however many
 * messages wait. Asking again before it ran changes nothing; asked for from inside a
 * flush it runs a turn later, without a sleep between. [loop] */
struct mcpi_flush {
    struct mcpi_list node;
    void (*fn)(struct mcpi_flush *self);
};
void mcpi_flush_init(struct mcpi_flush *flush, void (*fn)(struct mcpi_flush *self));
void mcpi_loop_flush(struct mcpi_loop *loop, struct mcpi_flush *flush);
void mcpi_flush_cancel(struct mcpi_flush *flush);

/* Run until mcpi_loop_stop; MCP_E_STATE if it runs already. Meanwhile, as in a step,
 * SIGPIPE is blocked on this thread, and what our writes raised is gone (M21). */
int mcpi_loop_run(struct mcpi_loop *loop);
/* Run on a thread of its own until mcpi_loop_stop. That thread blocks all signals, so
 * the program's own handlers run where they always did. MCP_E_STATE; MCP_E_LIMIT: no
 * thread. */
int mcpi_loop_start(struct mcpi_loop *loop);
/* Ask it to end after this turn; sticky until a run returns, so one before the run ends
 * it after one turn. [any, signal handler] */
void mcpi_loop_stop(struct mcpi_loop *loop);

/* Inside another loop: watch fd for reading, sleep timeout_ms at the most (-1: for
 * ever), then step; step once before the first sleep. [loop] */
int mcpi_loop_fd(const struct mcpi_loop *loop);
int mcpi_loop_timeout_ms(struct mcpi_loop *loop);
int mcpi_loop_step(struct mcpi_loop *loop);

#endif
