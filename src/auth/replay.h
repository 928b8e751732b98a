/*
 * replay.h - names that were seen lately, so that none is seen twice
 *
 * Bounded: at its limit it forgets nothing before its time, and refuses. No owner of names
 * has more of them than there is room left for all others: one alone gets half of it, and
 * however greedy a few are, there is room for who comes next. One lock, a leaf. [any]
 */
#ifndef MCPI_AUTH_REPLAY_H
#define MCPI_AUTH_REPLAY_H

#include <mcp/base.h>

struct mcpi_replay;

/* most: names at a time. */
int mcpi_replay_new(const mcp_allocator *mem, size_t most,
                    struct mcpi_replay **ret_replay);
void mcpi_replay_free(struct mcpi_replay *replay); /* NULL ok */

/* 0: it is new, and kept until `until`; MCP_E_STATE: it was there, whoever brought it;
 * MCP_E_LIMIT: too many, of this owner or of all; MCP_E_NOMEM. now, until: any one clock. */
int mcpi_replay_add(struct mcpi_replay *replay, const char *owner, const char *name,
                    int64_t now, int64_t until);

#endif
