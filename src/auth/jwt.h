/*
 * jwt.h - JSON Web Tokens, compact and signed (RFC 7515, 7519): written, read, checked
 *
 * Reading believes nothing: the header is looked at only to find a key, and the key says
 * which algorithm there is. "none", and every symmetric one, are no algorithms of ours.
 */
#ifndef MCPI_AUTH_JWT_H
#define MCPI_AUTH_JWT_H

#include "auth/key.h"

/* Longest that is read: what servers take as a header is less. */
#define MCPI_JWT_BYTES_MAX 16384
#define MCPI_JWT_DEPTH_MAX 16

/* Append header.claims.signature. claims: a JSON object. typ: NULL none; with_key: the
 * public key stands in the header (jwk), else its kid if kid is not NULL. */
struct mcpi_jwt_make {
    const struct mcpi_key *key;
    const char *typ;
    const char *kid;
    bool with_key;
    const char *claims;
    size_t claims_len;
};
int mcpi_jwt_write(const struct mcpi_jwt_make *make, struct mcpi_buf *into);

/* One that was read, and not checked. */
struct mcpi_jwt {
    mcp_doc *head_doc, *claims_doc;
    const mcp_json *head, *claims; /* objects without a key twice */
    const char *alg, *kid, *typ;   /* "" none */
    const char *signed_part;       /* header.claims, in the text that was read */
    size_t signed_len;
    struct mcpi_buf signature;
};

/* MCP_E_INVAL: it is none, or has `crit`, which we know nothing of; MCP_E_LIMIT: too long
 * or too deep; MCP_E_NOMEM. text is borrowed until done. */
int mcpi_jwt_read(const mcp_allocator *mem, const char *text, size_t len,
                  struct mcpi_jwt *ret_jwt);
void mcpi_jwt_done(struct mcpi_jwt *jwt); /* a zeroed one ok */

/* Was it signed with this key, and with the one algorithm of that key? */
bool mcpi_jwt_is_signed_by(const struct mcpi_jwt *jwt, const struct mcpi_key *key);

/* What the claims must say. NULL: anything. Times in seconds since 1970. */
struct mcpi_jwt_rules {
    const char *issuer;   /* iss, the same string */
    const char *audience; /* aud is it, or has it */
    int64_t now, leeway;
    bool needs_expiry; /* exp must be there */
};
/* NULL: good; else what is wrong, a constant sentence without values. */
const char *mcpi_jwt_fault(const struct mcpi_jwt *jwt,
                           const struct mcpi_jwt_rules *rules);

#endif
