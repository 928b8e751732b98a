/*
 * access_token.h - a token that is a JWT: of an issuer that is trusted, and for us?
 *
 * (RFC 9068, 4.) What it says is looked at before its signature, which costs more: what
 * cannot be true anyway is not worth fetching keys for.
 */
#ifndef MCPI_AUTH_ACCESS_TOKEN_H
#define MCPI_AUTH_ACCESS_TOKEN_H

#include "auth/guard.h"
#include "auth/refusal.h"

enum mcpi_access_verdict {
    MCPI_ACCESS_GOOD,
    MCPI_ACCESS_REFUSED,
    MCPI_ACCESS_WAIT /* for newer keys: there may be one that it was signed with */
};

/* last: nobody waits any more, and what is not known now never will be. *ret_refusal is
 * written if it is refused, *ret_issuer (whose keys; an index of the guard's) if it has to
 * wait. [any] */
enum mcpi_access_verdict mcpi_access_token_judge(const mcp_guard *guard,
                                                 const struct mcpi_jwt *jwt, bool last,
                                                 struct mcpi_refusal *ret_refusal,
                                                 size_t *ret_issuer);

#endif
