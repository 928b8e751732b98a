/*
 * promise.h - what the tools of a server have promised to put out
 *
 * Pages of tools/list say which tools there are, and of some of them what their
 * structured output is like (outputSchema). What they say is kept as text and compiled
 * when an output is first checked: once for each version of the list.
 *
 * The collection belongs to the loop's thread. A single promise is counted and may be
 * used by any thread: checking takes time and stack, which the loop has not.
 */
#ifndef MCPI_API_PROMISE_H
#define MCPI_API_PROMISE_H

#include <mcp/schema.h>
#include <stdatomic.h>

#include "base/log.h"
#include "base/map.h"

/* Tools whose promises are known, and the length of all of them: a server must not fill
 * the memory of its clients. The output of tools beyond that is not checked. */
#define MCPI_PROMISES_MAX 4096
#define MCPI_PROMISES_BYTES_MAX ((size_t)16 << 20)

struct mcpi_promise {
    atomic_uint refs;
    const mcp_allocator *mem;
    struct mcpi_map_node node; /* loop thread only */
    const char *name;          /* of the tool; in this block, as the next */
    size_t name_len;
    const char *text; /* the schema; NULL: it has promised nothing */
    size_t text_len;
    _Atomic(mcp_schema *) schema; /* once it is compiled */
};

struct mcpi_promises {
    const mcp_allocator *mem;
    struct mcpi_map tools;
    size_t bytes;
    uint64_t version; /* of the list that all this is from */
    int64_t until;    /* stale from then on */
    bool is_whole;    /* the list was seen from its first page to its last */
    bool is_full;     /* there was no room for some */
};

void mcpi_promises_init(struct mcpi_promises *promises, const mcp_allocator *mem,
                        const unsigned char seed[MCPI_SEED_SIZE]);
void mcpi_promises_done(struct mcpi_promises *promises);

/* Forget all. */
void mcpi_promises_forget(struct mcpi_promises *promises);

/* Learn from the result of a tools/list, that came at this moment. version: counts the
 * changes of the list; what is known from another one is forgotten. is_first: the page
 * is the list's first. */
void mcpi_promises_learn(struct mcpi_promises *promises, const mcp_json *result,
                         bool is_first, uint64_t version, int64_t now);

/* All pages were learned, one after the other. */
void mcpi_promises_close(struct mcpi_promises *promises, uint64_t version);

/* What is known of this tool, borrowed; NULL: nothing. *ret_all: nothing more can be
 * learned by asking for the list. */
struct mcpi_promise *mcpi_promises_find(struct mcpi_promises *promises,
                                        const char *name, uint64_t version, int64_t now,
                                        bool *ret_all);

struct mcpi_promise *mcpi_promise_ref(struct mcpi_promise *promise); /* [any] */
void mcpi_promise_unref(struct mcpi_promise *promise); /* NULL ok; [any] */

/* Is the result of that tool what it promised? 0: it is, or that cannot be found out
 * within limits, which is logged. MCP_E_PROTO: it is not, or there is output, and its
 * schema is none, or of a dialect that is not supported; err says why. [any] */
int mcpi_promise_check(struct mcpi_promise *promise, const mcp_json *result,
                       const struct mcpi_log *log, mcp_error *err);

#endif
