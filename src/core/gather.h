/*
 * gather.h - the questions of one input_required answer, and what they are answered
 *
 * Each question is served as a local exchange, all at the same time. The first that
 * fails, is refused, or ends without an answer is the end of all; those that are still
 * asked are canceled when the gather is freed. It lives no longer than its peer. Loop
 * thread only.
 */
#ifndef MCPI_CORE_GATHER_H
#define MCPI_CORE_GATHER_H

#include "core/exchange.h"

struct mcpi_gather;

/* All are answered: 0. Or not: MCP_E_PEER with the error of a question, of which only
 * code and message are filled, borrowed; or another status and error NULL. Once, unless
 * it is freed first; it may be freed from here. */
typedef void mcpi_gathered_fn(void *user, int status, const struct mcpi_rpc *error);

/* Does this result ask? */
bool mcpi_gather_is_due(const struct mcpi_rpc *answer);

/* Read what such a result asks; nothing is begun. Keeps the document. MCP_E_PROTO: it
 * asks for nothing, or for something that is no question; MCP_E_LIMIT: for more than
 * may be in flight; MCP_E_NOMEM. */
int mcpi_gather_new(struct mcpi_peer *peer, const struct mcpi_rpc *answer,
                    struct mcpi_gather **ret);

/* How many questions; 0: it brings a state, and nothing to ask. */
size_t mcpi_gather_count(const struct mcpi_gather *gather);

/* Ask them all. fn may run before this returns. */
void mcpi_gather_start(struct mcpi_gather *gather, mcpi_gathered_fn *fn, void *user);

/* All are answered, or there are none: append the params of the next leg, which are
 * those of the first one (terminated text of an object, or NULL) with the answers and
 * the state of this round in the place of any other. 0, or what failed. */
int mcpi_gather_write(const struct mcpi_gather *gather, const char *params, size_t len,
                      struct mcpi_buf *into);

/* Cancel what is still asked, for that reason, and forget all of it. fn does not run
 * any more. Allocates nothing. NULL ok. */
void mcpi_gather_free(struct mcpi_gather *gather, const char *reason);

#endif
