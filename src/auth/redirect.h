/*
 * redirect.h - the answer of an authorization server, as the browser brings it: judged
 *
 * Pure. State first, then who it is from (RFC 9207), and only then what it says: an error
 * of somebody else is nothing to be shown.
 */
#ifndef MCPI_AUTH_REDIRECT_H
#define MCPI_AUTH_REDIRECT_H

#include "base/buf.h"

struct mcpi_redirect_rules {
    const char *redirect_uri; /* where it must have been sent: same but for the query */
    const char *state;
    const char *issuer;
    bool sends_iss; /* it must say who it is */
};

/* 0: *ret_code has the code, terminated (the buffer is the caller's, initialized).
 * MCP_E_AUTH: refused, and why says so (cut to size, cleaned for people): not the answer to
 * our question, from somebody else, an error, no code. MCP_E_NOMEM. */
int mcpi_redirect_read(const char *uri, const struct mcpi_redirect_rules *rules,
                       struct mcpi_buf *ret_code, char *why, size_t size);

#endif
