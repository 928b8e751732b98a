/*
 * claims.h - what the claims of an access token say of who brings it (RFC 9068)
 *
 * Pure. Whether they are to be believed is for others to say, before.
 */
#ifndef MCPI_AUTH_CLAIMS_H
#define MCPI_AUTH_CLAIMS_H

#include <mcp/json.h>

#include "base/buf.h"

/* Longest name of a credential, as mcp/http.h has it. */
#define MCPI_CLAIMS_PRINCIPAL_MAX 1024

struct mcpi_claims {
    /* issuer|client|subject. What would be mistaken in there ('|', '%', blanks, control
     * characters) is percent-encoded, so no two credentials have the same. A longer one
     * is told by its SHA-256. */
    char principal[MCPI_CLAIMS_PRINCIPAL_MAX + 1];
    const char *key;       /* cnf.jkt, of the claims; NULL: not bound */
    struct mcpi_buf scope; /* a set (scopes.h), not terminated */
};

/* Read them. NULL: good; else what is wrong, a constant sentence, and there is nothing to
 * be freed. *ret_status: why it could not be read at all (MCP_E_NOMEM), or 0. */
const char *mcpi_claims_read(const mcp_allocator *mem, const mcp_json *claims,
                             struct mcpi_claims *ret, int *ret_status);
void mcpi_claims_done(struct mcpi_claims *claims);

/* The same of its parts; "" for what is not known. MCP_E_NOMEM. ret_text has
 * MCPI_CLAIMS_PRINCIPAL_MAX + 1 bytes. */
int mcpi_claims_principal(const mcp_allocator *mem, const char *issuer,
                          const char *client, const char *subject, char *ret_text);

#endif
