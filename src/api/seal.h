/*
 * seal.h - a text that travels through a client and comes back as it was
 *
 * Between two rounds of a request nothing is kept here (L9): what is known so far goes
 * out with the answer and comes back with the retry (2026-07-28, basic/patterns/mrtr).
 * It is sealed, so that a client can neither read it nor change it, and is bound to
 * what it was made for: the method, the parameters, who asks, and a time until which it
 * is good. It may come back more than once: who must know that keeps a list.
 *
 *   1 byte      version
 *   24 bytes    nonce
 *   8 bytes     expiry, milliseconds since 1970, little-endian    sealed
 *   16 bytes    hash of the parameters                            sealed
 *   n bytes     the text                                          sealed
 *   16 bytes    tag, of the principal and the method too
 *
 * all of it as base64url. Anybody may send one, with parameters as long as a message can
 * be, so what is not ours is refused before the parameters are looked at, and looking at
 * them takes one pass and no memory. [any]
 */
#ifndef MCPI_API_SEAL_H
#define MCPI_API_SEAL_H

#include <mcp/json.h>

#include "base/aead.h"
#include "base/buf.h"

/* Longest sealed text: a client has to send all of it with its next request, and we
 * have to look at what anybody sends. */
#define MCPI_SEAL_MAX ((size_t)1 << 20)

/* Most values in the parameters of a request that asks, keys included: they are hashed
 * on the loop, twice for each round, and so many take milliseconds. */
#define MCPI_SEAL_VALUES_MAX ((size_t)1 << 16)

/* What it is bound to. */
struct mcpi_seal {
    const unsigned char *key; /* MCPI_AEAD_KEY bytes */
    const char *principal;    /* who asks; "": nobody knows */
    const char *method;
    /* Of the request; all members count but _meta and those that the retry brings. An
     * object, or NULL. */
    const mcp_json *params;
};

/* The time by which seals expire. */
int64_t mcpi_seal_now_ms(void);

/* Append the sealed text. MCP_E_LIMIT: too long, too many parameters, or no randomness;
 * MCP_E_NOMEM. The buffer's allocator is used. */
int mcpi_seal_write(const struct mcpi_seal *to, int64_t expires_ms, const char *text,
                    size_t len, struct mcpi_buf *into);

/* Append what was sealed. MCP_E_INVAL: it is not what we have sealed, or for something
 * else; MCP_E_TIMEOUT: it is too old; MCP_E_LIMIT: too long; MCP_E_NOMEM. */
int mcpi_seal_open(const struct mcpi_seal *to, int64_t now_ms, const char *sealed,
                   size_t len, struct mcpi_buf *into);

#endif
