/*
 * support/issuer.h - an authorization server for tests, as good or as bad as they want it
 *
 *     issuer = issuer_open(NULL);                  well-behaved, on a port of 127.0.0.1
 *     ... a client signs in at issuer_url(issuer) ...
 *     assert_int_equal(issuer_count(issuer, "/token"), 1);
 *     assert_string_equal(issuer_param(issuer, "/token", 0, "resource"), url);
 *     issuer_close(issuer);
 *
 * OAuth 2.1 with RFC 8414, 7591, 7523, 8693, 9068, 9207, 9449. Signing in takes no user:
 * /authorize sends the browser back at once. It insists on what clients must do: PKCE with
 * S256, a registered redirect URI, the same resource twice, a code or a refresh token once
 * only. One thread, plain HTTP/1.1; its memory is malloc's.
 *
 * A path is that of a request without its query, exactly; with a '*' at its end, whatever
 * begins so. Texts that are given stay with the caller, and as they are until close. What
 * is returned is good until the next call of the same function on this thread. [any]
 */
#ifndef TESTS_SUPPORT_ISSUER_H
#define TESTS_SUPPORT_ISSUER_H

#include <mcp/base.h>

struct issuer;

/* Where its metadata is, for a path "/a"; any of them together. */
enum {
    ISSUER_AT_OAUTH = 1,        /* /.well-known/oauth-authorization-server/a */
    ISSUER_AT_OPENID = 2,       /* /.well-known/openid-configuration/a */
    ISSUER_AT_OPENID_BEHIND = 4 /* /a/.well-known/openid-configuration */
};

enum issuer_word { ISSUER_RIGHT = 0, ISSUER_MISSING, ISSUER_WRONG, ISSUER_SLASH };
enum issuer_alg { ISSUER_ES256 = 0, ISSUER_RS256, ISSUER_EDDSA };

/* All zero is a good server that knows everything. */
struct issuer_options {
    /* What it is; read by open only. */
    const char *path; /* the end of its issuer identifier; NULL: "" */
    int port;         /* 0: any */
    enum issuer_alg alg;

    /* What it offers. */
    unsigned documents;       /* ISSUER_AT_*; 0: ISSUER_AT_OAUTH */
    const char *scopes;       /* scopes_supported, blanks between; NULL: not said */
    const char *auth_methods; /* at the token endpoint, blanks between; NULL: all */
    bool no_registration;
    bool takes_documents; /* https URLs as client_id; nothing is fetched from there */
    bool no_refresh;      /* there are no refresh tokens */
    bool offline_only;    /* there are, but only for the scope offline_access */
    bool dpop_only;       /* no token without a proof */
    bool dpop_nonce;      /* proofs need a nonce; see issuer_turn_nonce */

    /* What its tokens are. */
    int64_t lifetime;     /* s: 3600; below 0: dead from the start */
    int64_t told;         /* expires_in; 0: lifetime; below 0: not told */
    const char *granted;  /* this scope, whatever was asked for; NULL: that */
    const char *audience; /* aud; NULL: the resource */

    /* A client that need not register. */
    const char *client_id;
    const char *client_secret; /* NULL: none */
    const char *client_key;    /* PEM, for private_key_jwt; NULL: none */
    const char *redirect_uri;  /* NULL: any on loopback */

    /* Whose assertions are taken: its own, and those of this one. */
    struct issuer *trusts;

    /* How it misbehaves. */
    const char *claimed;    /* another issuer in its metadata */
    const char *elsewhere;  /* its endpoints are there: "http://127.0.0.1:99" */
    bool no_s256;           /* does not say that it knows S256 */
    bool plain_only;        /* says that it knows another method */
    bool hides_iss;         /* does not say that it sends iss */
    enum issuer_word iss;   /* in the redirect */
    enum issuer_word state; /* likewise; not SLASH */
    const char *error;      /* instead of a code */
    const char *token_type; /* a lie about it */
    bool any_resource;      /* does not care about resource: not of 2026-07-28 */
};
#define ISSUER_OPTIONS(...) ((struct issuer_options){__VA_ARGS__})

/* opt may be NULL. Ends the program if there is no port or memory to be had. A program with
 * a baseline includes issuer_warm.h. */
struct issuer *issuer_open(const struct issuer_options *opt);
void issuer_close(struct issuer *issuer); /* NULL ok */

const char *issuer_url(const struct issuer *issuer);    /* its identifier */
const char *issuer_origin(const struct issuer *issuer); /* "http://127.0.0.1:8080" */
/* From now on; path, port and alg stay. */
void issuer_change(struct issuer *issuer, const struct issuer_options *opt);

/* ---- answers of the test's own --------------------------------------------------- */

struct issuer_answer {
    const char *path;
    unsigned times;     /* so often; 0: always */
    const char *status; /* "503 Service Unavailable"; NULL: "200 OK" */
    const char *fields; /* header lines, each with its CRLF; NULL: none */
    const char *body;   /* NULL: none */
    bool endless;       /* the body goes on until the client has enough of it */
};
#define ISSUER_ANSWER(...) (&(struct issuer_answer){__VA_ARGS__})

/* Instead of what it would say; also for paths it does not know. The latest counts; at
 * most 16 of them. */
void issuer_say(struct issuer *issuer, const struct issuer_answer *answer);

/* Answers to this path are made at once, but wait until they are released, or the client
 * leaves. One path at a time. */
void issuer_hold(struct issuer *issuer, const char *path);
void issuer_release(struct issuer *issuer);

/* ---- what was asked -------------------------------------------------------------- */

size_t issuer_count(struct issuer *issuer, const char *path);
/* Wait until there were so many; false: not in 20 s. */
bool issuer_await(struct issuer *issuer, const char *path, size_t count);
/* Wait until so many clients left before their answer was out. */
bool issuer_await_left(struct issuer *issuer, size_t count);

/* Of the request of that number, from 0: a parameter of its query or form, a member of the
 * JSON in its body as text, a header; all of the body. NULL: there is none. */
const char *issuer_param(struct issuer *issuer, const char *path, size_t number,
                         const char *name);
const char *issuer_member(struct issuer *issuer, const char *path, size_t number,
                          const char *name);
const char *issuer_header(struct issuer *issuer, const char *path, size_t number,
                          const char *name);

struct issuer_counts {
    unsigned registered; /* clients */
    unsigned codes;      /* given out */
    unsigned tokens;     /* access tokens given out, of which */
    unsigned refreshed;  /* for a refresh token */
    unsigned refused;    /* answers of the token endpoint that were errors */
    unsigned reused;     /* refresh tokens that came twice: their family is dead then */
};
/* Programs get the same at /counts, as JSON. */
struct issuer_counts issuer_counts(struct issuer *issuer);

/* ---- what else happens at a server ------------------------------------------------ */

void issuer_forget_clients(struct issuer *issuer); /* who registered */
void issuer_revoke(struct issuer *issuer);         /* all refresh tokens */
void issuer_turn_nonce(struct issuer *issuer);     /* a new one */
/* A new key signs; the old one is published no more, unless keep. */
void issuer_turn_key(struct issuer *issuer, bool keep);

/* An access token for this resource, as if somebody had signed in; scope may be NULL, jkt
 * too. And any claims, a JSON object, signed with the key of the day; typ NULL: "JWT".
 * Freed by the caller. */
char *issuer_token(struct issuer *issuer, const char *resource, const char *scope,
                   const char *jkt);
char *issuer_sign(struct issuer *issuer, const char *typ, const char *claims);
/* All keys that it publishes, as /jwks does. Freed by the caller. */
char *issuer_keys(struct issuer *issuer);

#endif
