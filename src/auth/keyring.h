/*
 * keyring.h - the keys of one issuer: fetched, kept for a while, fetched anew
 *
 * Where they are is what the issuer's metadata says, unless that is known. They are good
 * for keys_us. After that, and for a token that names a key which is not among them, they
 * are fetched once more, for all who wait at once: but not within MCPI_KEYRING_PAUSE_US
 * of the end of the last time, or whoever sends tokens of nobody could make us call the
 * issuer as often as they like. For as long again they will do while that goes on, so
 * that nobody has to wait; older ones are not used unseen, for a key may have been given
 * up. But if it fails, what there was is used for MCPI_KEYRING_GRACE_US past its time, so
 * that a short illness of the issuer locks nobody out; after that there are no keys.
 *
 * Looked at on any thread, under a lock that is a leaf; fetched on one loop.
 */
#ifndef MCPI_AUTH_KEYRING_H
#define MCPI_AUTH_KEYRING_H

#include "auth/keys.h"
#include "base/list.h"
#include "run/fetch.h"
#include "run/loop.h"

#define MCPI_KEYRING_PAUSE_US ((int64_t)10 * 1000000)
#define MCPI_KEYRING_GRACE_US ((int64_t)3600 * 1000000)
/* For each document. */
#define MCPI_KEYRING_FETCH_US ((int64_t)10 * 1000000)

struct mcpi_keyring;

struct mcpi_keyring_options {
    const mcp_allocator *mem;
    struct mcpi_loop *loop;
    struct mcpi_fetcher *fetcher;
    const char *issuer;   /* outlives it */
    const char *jwks_uri; /* likewise; NULL: metadata says */
    int64_t keys_us;
    enum mcpi_address_kind nearest;
    const struct mcpi_log *log;
};

int mcpi_keyring_new(const struct mcpi_keyring_options *opt,
                     struct mcpi_keyring **ret_ring); /* [any] */
/* It is closed, or nobody ever asked. NULL ok. [any] */
void mcpi_keyring_free(struct mcpi_keyring *ring);

/* How the keys are that there are. */
struct mcpi_keyring_state {
    bool fresh;    /* within their time */
    bool will_do;  /* if not, so they are good enough not to wait for others */
    bool may_wait; /* others are under way, or may be asked for */
};

/* The keys, with a reference for the caller; NULL: none. now: monotonic. [any] */
struct mcpi_keys *mcpi_keyring_get(struct mcpi_keyring *ring, int64_t now,
                                   struct mcpi_keyring_state *ret_state);

/* Who waits for newer ones; embedded. */
struct mcpi_keyring_wait {
    struct mcpi_list node; /* the ring's */
    void (*ready)(struct mcpi_keyring_wait *wait);
};

/* Have them fetched, or wait with others; then ready(wait) is called, once, whatever has
 * come of it: from inside, if there is nothing to wait for. [loop] */
void mcpi_keyring_ask(struct mcpi_keyring *ring, struct mcpi_keyring_wait *wait);

/* Nothing is fetched any more; all who wait are told that they are ready. [loop] */
void mcpi_keyring_close(struct mcpi_keyring *ring);

#endif
