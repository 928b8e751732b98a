/*
 * registration.h - who we are to one issuer: agreed on before, a document, or registered
 *
 * Good at that issuer only (Authorization Server Binding). One owner; its memory is
 * wiped by who gave it (wipe.h). As text it is JSON, for a store.
 */
#ifndef MCPI_AUTH_REGISTRATION_H
#define MCPI_AUTH_REGISTRATION_H

#include "auth/metadata.h"
#include "base/buf.h"

/* How a client shows at the token endpoint that it is who it says. */
enum mcpi_client_auth {
    MCPI_CLIENT_NONE = 0, /* it does not: a public client */
    MCPI_CLIENT_BASIC,
    MCPI_CLIENT_POST,
    MCPI_CLIENT_JWT /* private_key_jwt */
};

struct mcpi_registration {
    const mcp_allocator *mem;
    enum mcpi_client_auth auth;
    const char *issuer; /* texts: in this block; "" none */
    const char *client_id;
    const char *client_secret;
    const char *redirect_uri; /* it was registered with */
};

int mcpi_registration_new(const mcp_allocator *mem,
                          const struct mcpi_registration *parts,
                          struct mcpi_registration **ret);
void mcpi_registration_free(struct mcpi_registration *registration); /* NULL ok */

/* How one that was agreed on shows who it is, by what it has and what the issuer takes.
 * MCP_E_AUTH: the issuer takes none of that. */
int mcpi_registration_choose(const struct mcpi_issuer_metadata *issuer, bool has_secret,
                             bool has_key, enum mcpi_client_auth *ret_auth);

/* The body of a request to register (RFC 7591). */
struct mcpi_registration_ask {
    const char *name;
    const char *uri; /* NULL: none */
    const char *redirect_uri;
    const char *scope;                         /* "" none */
    const struct mcpi_issuer_metadata *issuer; /* decides on the method */
};
void mcpi_registration_ask(const struct mcpi_registration_ask *ask,
                           struct mcpi_buf *into);

/* What came of it. MCP_E_AUTH: it is none, and *ret_why, a constant, says what is wrong. */
int mcpi_registration_answer(const mcp_allocator *mem, const mcp_json *json,
                             const struct mcpi_registration_ask *ask,
                             struct mcpi_registration **ret, const char **ret_why);

void mcpi_registration_write(const struct mcpi_registration *registration,
                             struct mcpi_buf *into);
/* MCP_E_INVAL: no such text; MCP_E_NOMEM. */
int mcpi_registration_read(const mcp_allocator *mem, const char *text,
                           struct mcpi_registration **ret);

#endif
