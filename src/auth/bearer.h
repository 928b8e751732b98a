/*
 * bearer.h - credentials in a request, and what is said of them (RFC 6750, RFC 9449, 7)
 *
 * The server's side: what the Authorization header brings, the challenge that an answer
 * has, the document that says who gives tokens out (RFC 9728). A token in a URL is none.
 * Pure.
 */
#ifndef MCPI_AUTH_BEARER_H
#define MCPI_AUTH_BEARER_H

#include <mcp/http.h>

#include "base/buf.h"

/* Longest token that is looked at; with it the head of a request is half full. */
#define MCPI_BEARER_TOKEN_MAX 16384
/* Longest challenge, with its terminator: a URL, scopes, a sentence. Proxies take a head
 * of 4 KiB at least. */
#define MCPI_BEARER_CHALLENGE_MAX 2048

enum mcpi_bearer_scheme {
    MCPI_BEARER_NONE = 0, /* nothing, or of a scheme that is not ours */
    MCPI_BEARER_PLAIN,
    MCPI_BEARER_DPOP
};

/* Borrowed from the request. */
struct mcpi_bearer {
    enum mcpi_bearer_scheme scheme;
    const char *token; /* "": none */
    const char *proof; /* of the header DPoP, the first; "": none */
    unsigned proofs;   /* how many of these there are */
};

/* NULL: read; else what is malformed, a constant sentence (400). */
const char *mcpi_bearer_read(const mcp_http_request *request, struct mcpi_bearer *ret);

struct mcpi_bearer_challenge {
    bool dpop;               /* else Bearer */
    const char *error;       /* a constant of the RFCs; NULL: none */
    const char *description; /* for people; NULL: none */
    const char *scope;       /* that is needed; NULL or "": none */
    const char *metadata;    /* URL of the document, without quotes */
};

/* As a value of WWW-Authenticate. What would not fit is left out: scope, then the
 * description. */
void mcpi_bearer_challenge(const struct mcpi_bearer_challenge *what,
                           char into[MCPI_BEARER_CHALLENGE_MAX]);

/* What the document says; NULL: nothing. */
struct mcpi_bearer_resource {
    const char *resource;
    const char *const *issuers; /* NULL at the end */
    const char *const *scopes;  /* likewise */
    const char *name, *documentation;
    bool dpop_only;
};

/* Append it. MCP_E_INVAL: a text is not UTF-8; or the buffer's failure. */
int mcpi_bearer_document(const struct mcpi_bearer_resource *what,
                         struct mcpi_buf *into);

#endif
