/*
 * pair.h - the memory link: two engines, two byte rings, no wire
 *
 * The same pipe as over a descriptor, with a ring in the middle of each direction, so a
 * client and a server in one process obey the same contract as over stdio. Each end
 * belongs to the thread of its engine; the two may be different threads. Nothing is
 * done behind anyone's back: an end moves when it is stepped, and `wake` says when that
 * is worth while.
 */
#ifndef MCPI_LINK_PAIR_H
#define MCPI_LINK_PAIR_H

#include "core/port.h"

struct mcpi_pair;     /* the two rings */
struct mcpi_pair_end; /* what one engine has of them */

/* This end has something to do: bytes came, room was made, the other end closed, or
 * core wants to write. Called on either thread, without a lock, often; must only
 * note it down. */
typedef void mcpi_pair_wake_fn(void *user);

struct mcpi_pair_side {
    struct mcpi_engine *engine;
    mcpi_pair_wake_fn *wake; /* may be NULL */
    /* [its thread] Something was read and is about to be dispatched: the time to run
     * what came home before (F10). It may free the end. May be NULL. */
    void (*arriving)(void *user);
    void *wake_user; /* of both */
};

/* The rings alone, with two ends that nobody has opened yet. ring_bytes is the size of
 * each direction; 0: 64 KiB. The memory is freed by the end that goes last, on its
 * thread. [any] */
int mcpi_pair_make(const mcp_allocator *mem, size_t ring_bytes,
                   struct mcpi_pair **ret_pair);

/* [its thread] Open end 0 or 1, once. What the other end wrote before is there: step it
 * without waiting to be woken. */
int mcpi_pair_open(struct mcpi_pair *pair, unsigned index,
                   const struct mcpi_pair_side *side, struct mcpi_pair_end **ret_end);

/* Give up an end that was never opened; the other one sees the close. Each end is
 * given up or, once open, freed; the pair is gone with the second. [any] NULL ok */
void mcpi_pair_unmake(struct mcpi_pair *pair, unsigned index);

struct mcpi_pair_options {
    struct mcpi_pair_side side[2];
    size_t ring_bytes; /* of each direction; 0: 64 KiB */
};

/* Make a pair and open both ends, where one thread has both engines. */
int mcpi_pair_new(const struct mcpi_pair_options *opt,
                  struct mcpi_pair_end *ret_ends[2]);

/* [its thread] Frees an end; the other one sees the close. When it returns, wake of
 * this end does not run and will not. The last end frees the rings. NULL ok. */
void mcpi_pair_free(struct mcpi_pair_end *end, int64_t now);

struct mcpi_peer *mcpi_pair_peer(const struct mcpi_pair_end *end);

/* [its thread] Read, dispatch, write what can be without waiting. 1: did something,
 * call again; 0: nothing to do; MCP_E_CLOSED: this end is closed. */
int mcpi_pair_step(struct mcpi_pair_end *end, int64_t now);

/* [its thread] Say EOF: this end writes no more, but still reads. What it had not yet
 * written is dropped. */
void mcpi_pair_shutdown(struct mcpi_pair_end *end, int64_t now);

/* Put raw bytes into the other end's input, as a peer that breaks rules would.
 * Returns how many found room. */
size_t mcpi_pair_inject(struct mcpi_pair_end *end, const char *bytes, size_t len);

#endif
