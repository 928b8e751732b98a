/*
 * guard.h - who stands in front of a server and asks for tokens (mcp/auth.h)
 *
 * Tokens are checked on the server's own loop threads, with the keys that there are. Only
 * for keys that are missing or old a request goes to the guard's own loop, which fetches
 * them; its ticket waits meanwhile. A guard without keys to fetch has no loop, and no
 * thread.
 */
#ifndef MCPI_AUTH_GUARD_H
#define MCPI_AUTH_GUARD_H

#include <stdatomic.h>

#include "auth/guard_settings.h"
#include "auth/keyring.h"
#include "auth/nonce.h"
#include "auth/replay.h"

/* Requests that wait for keys, or for the program's own verdict: each has a token and a
 * proof with it. More get 503. */
#define MCPI_GUARD_WAITING_MAX 4096
/* Of their bodies, which wait too: more do not, as soon as it is that much. As if each had
 * one of 64 KiB. */
#define MCPI_GUARD_WAITING_BYTES_MAX ((size_t)256 * 1024 * 1024)
/* Proofs that are remembered: 400 a second for the ten minutes that one is good for, some
 * 35 MiB. More get 503; and so does a credential that has more of them than there is room
 * left (replay.h): alone, half of these. */
#define MCPI_GUARD_PROOFS_MAX 262144

/* For tests that hold time and network in their hands; NULL or zero: the real ones. */
struct mcpi_guard_seams {
    struct mcpi_loop *loop; /* which the test steps; with a fetcher */
    struct mcpi_fetcher *fetcher;
    int64_t (*now)(void *user); /* seconds since 1970 */
    void *user;
};

/* Keys that are fetched beside, while the old ones do: one flight for a ring. */
struct mcpi_guard_renewal {
    struct mcpi_post post;
    struct mcpi_keyring_wait wait;
    mcp_guard *guard; /* counted while busy */
    struct mcpi_keyring *ring;
    atomic_bool busy;
};

struct mcp_guard {
    const mcp_allocator *mem;
    atomic_uint refs; /* its owner's, and of each request that waits */
    struct mcpi_guard_settings *settings;
    struct mcpi_guard_seams seams;
    struct mcpi_log log;
    struct mcpi_nonces nonces;
    struct mcpi_replay *replay;
    struct mcpi_keys *fixed;             /* that the options gave; or NULL */
    struct mcpi_keyring **rings;         /* for each issuer; or NULL */
    struct mcpi_guard_renewal *renewals; /* likewise */
    struct mcpi_loop *loop;              /* of the rings; or NULL */
    struct mcpi_fetcher *fetcher;
    struct mcpi_post down;
    atomic_size_t waiting, waiting_bytes;
};

/* As mcp_guard_new; seams NULL: none. [any] */
int mcpi_guard_new(const mcp_guard_options *opt, const struct mcpi_guard_seams *seams,
                   mcp_guard **ret_guard, mcp_error *err);
mcp_guard *mcpi_guard_ref(mcp_guard *guard);
void mcpi_guard_unref(mcp_guard *guard);

/* Have the keys of that issuer fetched, and do not wait for them. [any] */
void mcpi_guard_renew(const mcp_guard *guard, size_t issuer);

/* Seconds since 1970; monotonic microseconds. [any] */
int64_t mcpi_guard_now(const mcp_guard *guard);
int64_t mcpi_guard_ticks(const mcp_guard *guard);

/* The hook, user is the guard (token_check.c). On loop threads. */
mcp_http_identify_fn mcpi_guard_identify;

/* Its document. */
const struct mcpi_http_notice *mcpi_guard_notice(const mcp_guard *guard);

#endif
