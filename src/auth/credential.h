/*
 * credential.h - what an authorization server gave us, and all it is bound to
 *
 * Which issuer, resource, client and key: it is of no use elsewhere, and shown to nobody
 * else. Immutable, one owner; its memory is wiped by who gave it (wipe.h). As text it is
 * JSON, for a store.
 */
#ifndef MCPI_AUTH_CREDENTIAL_H
#define MCPI_AUTH_CREDENTIAL_H

#include "auth/key.h"
#include "base/timers.h"

/* Longest token of any kind: what servers take as a header is less. */
#define MCPI_CREDENTIAL_MAX 16384

struct mcpi_credential {
    const mcp_allocator *mem;
    struct mcpi_key *key; /* counted; NULL: whoever has it may use it (Bearer) */
    int64_t expires_at;   /* seconds since 1970; MCPI_NEVER: not said */
    const char *issuer;   /* texts: in this block; "" none */
    const char *resource;
    const char *client_id;
    const char *access;
    const char *refresh;
    const char *scope; /* what was asked for, and so may be asked for again */
    const char *who;   /* the client's registration (registration.h), as text; "" if it
                            did not register: we may have done so anew meanwhile */
};

/* Copies what `parts` has; mem and size of it are not looked at. NULL texts are "". */
int mcpi_credential_new(const mcp_allocator *mem, const struct mcpi_credential *parts,
                        struct mcpi_credential **ret_token);
void mcpi_credential_free(struct mcpi_credential *token); /* NULL ok */

/* Visible ASCII without blanks, not empty, not too long: what a header can carry. */
bool mcpi_credential_is_text(const char *text);

/* A failure is the buffer's. */
void mcpi_credential_write(const struct mcpi_credential *token, struct mcpi_buf *into);
/* MCP_E_INVAL: no such text; MCP_E_NOMEM. */
int mcpi_credential_read(const mcp_allocator *mem, const char *text,
                         struct mcpi_credential **ret_token);

#endif
