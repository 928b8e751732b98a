/*
 * dpop.h - proofs that a request was made by who holds a key (RFC 9449)
 */
#ifndef MCPI_AUTH_DPOP_H
#define MCPI_AUTH_DPOP_H

#include "auth/jwt.h"

/* Proofs differ from our clock by no more than that. */
#define MCPI_DPOP_AGE_MAX 300 /* s */

struct mcpi_dpop {
    const char *method; /* htm */
    const char *url;    /* htu is this without query and fragment */
    const char *token;  /* ath is of this; NULL: none (at the token endpoint) */
    const char *nonce;  /* NULL or "": none */
    int64_t now;        /* seconds since 1970: iat */
};

/* Append a proof, with a random jti. MCP_E_LIMIT: no randomness; a failure of the buffer. */
int mcpi_dpop_write(const struct mcpi_key *key, const struct mcpi_dpop *what,
                    struct mcpi_buf *into);

/* The server's side: is this a proof for this request? what->nonce is compared if it is
 * not NULL. NULL: it is, and ret_thumbprint (MCPI_KEY_THUMBPRINT_SIZE) and ret_jti (its
 * SHA-256 with the thumbprint as text, same size) are written; else what is wrong, a
 * constant sentence, that of MCP_E_NOMEM (mcp_status_text) if there is no memory to tell.
 * *ret_wants_nonce: only the nonce is wrong or missing. Compared htu: scheme and host
 * without case, default ports left away, no query, no fragment. */
const char *mcpi_dpop_fault(const mcp_allocator *mem, const char *proof,
                            const struct mcpi_dpop *what, char *ret_thumbprint,
                            char *ret_jti, bool *ret_wants_nonce);

#endif
