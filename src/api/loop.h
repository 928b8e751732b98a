/* loop.h - the public loop, as the library's own layers see it */
#ifndef MCPI_API_LOOP_H
#define MCPI_API_LOOP_H

#include <mcp/loop.h>

#include "run/loop.h"

struct mcpi_loop *mcpi_loop_inside(mcp_loop *loop);

/* A client or a server lives on it from now on, until it leaves: mcp_loop_free runs the
 * loop until all have left. [any] */
void mcpi_loop_join(mcp_loop *loop);
void mcpi_loop_leave(mcp_loop *loop);

/* Keep the public object's own memory, and with it the answers of the two functions
 * below, beyond mcp_loop_free. [any] */
mcp_loop *mcpi_loop_keep(mcp_loop *loop);
void mcpi_loop_drop(mcp_loop *loop);

/* Is this the thread that runs it, or that stepped it last? It would wait for itself,
 * so whoever would block must not. [any] */
bool mcpi_loop_is_its_thread(mcp_loop *loop);

/* Does another thread run it or step it, so that waiting for it has an end? False for a
 * loop that nobody has run yet, or that was stopped. [any] */
bool mcpi_loop_is_run_elsewhere(mcp_loop *loop);

/* Is somebody inside it now, or was it entered since *turns was noted? Notes it anew.
 * [any] */
bool mcpi_loop_goes_on(mcp_loop *loop, unsigned *turns);

#endif
