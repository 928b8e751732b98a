/*
 * grant.h - what is posted to a token endpoint, and what it answers
 *
 * Pure but for randomness: forms, the client's authentication, and how an answer is read.
 */
#ifndef MCPI_AUTH_GRANT_H
#define MCPI_AUTH_GRANT_H

#include "auth/credential.h"
#include "auth/registration.h"

/* Assertions of ours are good for so long. */
#define MCPI_GRANT_ASSERTION_S 60

/* Longest form that is posted: an assertion or a token, and the rest. */
#define MCPI_GRANT_FORM_MAX ((size_t)64 * 1024)

/* Who asks. */
struct mcpi_grant_client {
    const struct mcpi_registration *registration;
    const struct mcpi_key *key; /* MCPI_CLIENT_JWT */
    const char *kid;            /* NULL: none */
    int64_t now;                /* seconds since 1970 */
};

/* Append what shows who we are: header lines to fields, members to form. A failure is the
 * buffers', or returned: MCP_E_LIMIT without randomness. */
int mcpi_grant_authenticate(const struct mcpi_grant_client *client,
                            struct mcpi_buf *fields, struct mcpi_buf *form);

/* What a token endpoint said, of a request for a token. */
struct mcpi_grant_answer {
    const char *access; /* borrowed from the document; "" none */
    const char *refresh;
    const char *scope;
    bool dpop;          /* token_type; else Bearer */
    int64_t expires_at; /* seconds since 1970; MCPI_NEVER: not said */
};

/* 0; or MCP_E_AUTH, with why it is none, cut to size, cleaned for people: the error that it
 * names, or what is missing. *ret_code, if not NULL: that error, or "" (borrowed).
 * http 200 is a success, unless it names an error instead of a token; json may be NULL. */
int mcpi_grant_read(int http, const mcp_json *json, int64_t now,
                    struct mcpi_grant_answer *ret, const char **ret_code, char *why,
                    size_t size);

/* The ID-JAG of an answer to a token exchange: issued_token_type must be it. */
int mcpi_grant_read_exchange(int http, const mcp_json *json, const char **ret_assertion,
                             char *why, size_t size);

/* A code verifier (RFC 7636), and the challenge of it; texts of fixed length. */
#define MCPI_PKCE_SIZE 44
int mcpi_pkce_make(char *ret_verifier, char *ret_challenge);

/* base64url of 32 random bytes, terminated, MCPI_PKCE_SIZE: a state, a jti. */
int mcpi_nonce_make(char *ret_text);

#endif
