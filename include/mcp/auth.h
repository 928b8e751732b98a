/*
 * mcp/auth.h - authorization over HTTP (OAuth 2.1), both sides, in libmcp-http
 *
 * A client that may be asked who it is:
 *
 *     mcp_auth_browser_new(NULL, &browser, &err);
 *     auth = MCP_AUTH_OPTIONS(.agent = mcp_auth_browser_interface(browser));
 *     http = MCP_HTTP_CLIENT_OPTIONS(.auth = &auth);
 *     mcp_client_connect_http(url, &http, &me, &client, &err);
 *
 * A 401, or a 403 for want of scope, then starts what the specification describes: the
 * server's metadata, its authorization server's, registration, sign-in, token; the
 * request that met it waits meanwhile, with its own clocks running, and is sent again.
 * Many that wait cause one sign-in. When nobody waits any more, it is given up.
 *
 * A server that lets in only whom others vouch for: mcp_guard, below.
 */
#ifndef MCP_AUTH_H
#define MCP_AUTH_H

#include <mcp/http.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the user's part ------------------------------------------------------- */

/* One sign-in, from begin to end. */
typedef struct mcp_auth_visit mcp_auth_visit;

#define MCP_AUTH_URI_MAX 2048

/* Who shows a page to the user and learns where that sent them back to. Called on the
 * client's loop thread: must not block. */
typedef struct mcp_auth_agent {
    size_t size;
    /* A sign-in begins: write the URI that the browser is to be sent back to, https, or
     * http on loopback; ret_uri has room for MCP_AUTH_URI_MAX bytes. earlier: the one we
     * are registered with, or NULL; if it can be used again, nobody has to register anew.
     * Negative: no sign-in, and that is why; MCP_E_STATE: the place to come back to, a
     * port say, is taken. */
    int (*begin)(void *self, mcp_auth_visit *visit, const char *earlier, char *ret_uri);
    /* Show this page. Then, once, mcp_auth_answer or mcp_auth_refuse. Negative: it cannot
     * be shown. */
    int (*open)(void *self, mcp_auth_visit *visit, const char *url);
    /* It is over, answered or not: the visit is gone when this returns, so no other
     * thread may be about to answer. Always called after a begin that succeeded. */
    void (*end)(void *self, mcp_auth_visit *visit);
    void *self;
} mcp_auth_agent;

#define MCP_AUTH_AGENT(...) \
    ((mcp_auth_agent){.size = sizeof(mcp_auth_agent), __VA_ARGS__})

/* The URI the browser was sent back to, whole, with its query; copied. Also one that
 * brings an error. A second answer counts as none. An agent whom strangers can reach looks
 * first whether it has the `state` of the page: an answer to another question ends the
 * sign-in, and badly. [any, until end] */
MCP_API void mcp_auth_answer(mcp_auth_visit *visit, const char *uri);
/* The user will not, or cannot: why, for people; or NULL. [any, until end] */
MCP_API void mcp_auth_refuse(mcp_auth_visit *visit, const char *why);

/* A ready-made agent: listens on 127.0.0.1 and opens the user's browser. What comes to the
 * port without the `state` of the page is no answer, and the waiting goes on; a page
 * without one is not opened. Several clients may share one, which outlives them. */
typedef struct mcp_auth_browser mcp_auth_browser;

typedef struct mcp_auth_browser_options {
    size_t size;
    int port;         /* 0: the earlier one if it is free, else any */
    const char *path; /* NULL: "/callback" */
    const char *host; /* in the URI: NULL: "127.0.0.1"; or "localhost" */
    /* What opens a page: a program, its arguments, NULL at the end; the URL is one more.
     * None at all: nothing does, and on_url must be there. NULL: $BROWSER, xdg-open,
     * open. */
    const char *const *command;
    /* Also told of the page, on the loop thread: to print it for a user whose browser does
     * not open. May be NULL. */
    void (*on_url)(void *user, const char *url);
    void *user;
    const mcp_allocator *allocator; /* NULL: malloc */
} mcp_auth_browser_options;

#define MCP_AUTH_BROWSER_OPTIONS(...) \
    ((mcp_auth_browser_options){.size = sizeof(mcp_auth_browser_options), __VA_ARGS__})

/* opt may be NULL. MCP_E_INVAL, MCP_E_NOMEM. [any] */
MCP_API int mcp_auth_browser_new(const mcp_auth_browser_options *opt,
                                 mcp_auth_browser **ret_browser, mcp_error *err);
MCP_API void mcp_auth_browser_free(mcp_auth_browser *browser); /* NULL ok */
MCP_API const mcp_auth_agent *mcp_auth_browser_interface(
    const mcp_auth_browser *browser);

/* ---- what is kept ----------------------------------------------------------- */

/*
 * Where a client keeps what it was given: tokens, and its registrations. A key names one
 * text of JSON; both are opaque. The text has secrets in it.
 *
 * Functions may block: they run on a worker of the client, one at a time for each client,
 * or on its loop if it has no workers; one that does not return holds what waits for it,
 * and the closing of its client. A store may be shared by clients and processes;
 * then it has lock and unlock: a refresh token is good for one use, and who holds the
 * lock is the only one to use it.
 */
typedef struct mcp_token_store {
    size_t size;
    /* *ret_text: freed by mcp_text_free with NULL; NULL if there is none. */
    int (*load)(void *self, const char *key, char **ret_text);
    int (*save)(void *self, const char *key, const char *text); /* NULL: forget it */
    /* Nobody else gets it for this key until unlock: what is kept there is ours to use up.
     * MCP_E_AGAIN: somebody else has it; it is asked again soon. Both NULL: nobody shares
     * it. */
    int (*lock)(void *self, const char *key);
    void (*unlock)(void *self, const char *key);
    void *self;
} mcp_token_store;

#define MCP_TOKEN_STORE(...) \
    ((mcp_token_store){.size = sizeof(mcp_token_store), __VA_ARGS__})

/* In memory, for the clients of one process; or in a file of mode 0600, which is replaced
 * as a whole, so that who reads it finds what was or what is. Processes that use the same
 * file take turns, by locks on "<path>.lock", which the system gives back when one dies.
 * The file's folder is made, mode 0700, if there is none.
 *
 * A file that is somebody else's, that others can read or write, that is a link or no
 * file, or in a folder that others can write to, is not used: MCP_E_INVAL, now (err says
 * which) or from load and save later. A damaged one: load says MCP_E_SYNTAX, which is to
 * be taken for "nothing kept"; the next save moves it aside, as "<path>.damaged", and
 * begins a new one. Other statuses: MCP_E_LIMIT (the disk is full; too large),
 * MCP_E_TIMEOUT (somebody else writes for ten seconds), MCP_E_NOMEM. [any] */
typedef struct mcp_token_keep mcp_token_keep;
MCP_API int mcp_token_keep_memory(const mcp_allocator *allocator,
                                  mcp_token_keep **ret_keep);
MCP_API int mcp_token_keep_file(const mcp_allocator *allocator, const char *path,
                                mcp_token_keep **ret_keep, mcp_error *err);
MCP_API void mcp_token_keep_free(mcp_token_keep *keep); /* NULL ok */
MCP_API const mcp_token_store *mcp_token_keep_interface(const mcp_token_keep *keep);

/* ---- a client --------------------------------------------------------------- */

/* By what right a client asks for a token. */
enum mcp_grant {
    MCP_GRANT_CODE = 0,   /* a user signs in (authorization_code, PKCE) */
    MCP_GRANT_CLIENT,     /* the program itself (client_credentials) */
    MCP_GRANT_ENTERPRISE, /* a user whom the company's provider knows: token exchange,
                             then jwt-bearer (ID-JAG) */
    MCP_GRANT_ASSERTION   /* a JWT that the platform gives the program (jwt-bearer):
                             workload identity */
};

/* The JWT, or the ID token, that vouches for us, freed by mcp_text_free with NULL. Asked
 * for each time that one is sent; audience: the issuer that is to accept it. On a worker,
 * as the store. */
typedef int mcp_assertion_fn(void *user, const char *audience, char **ret_assertion,
                             mcp_error *err);

/* Zero or NULL means the default. Texts are copied; agent and store are borrowed and
 * outlive the client. */
typedef struct mcp_auth_options {
    size_t size;
    enum mcp_grant grant;

    /* Who we are, if that was agreed on before: known to one authorization server, and
     * told to no other. */
    const char *client_id;
    const char *client_secret; /* NULL: none */
    const char *private_key; /* PEM text; the client signs (private_key_jwt); RSA, P-256
                                  or Ed25519 */
    const char *key_id;      /* its kid; NULL: none */
    const char *issuer;      /* of that server, exactly; NULL: the one that the resource
                                  names at first, as long as the store knows it. Without
                                  client_id: whom an assertion is for, and nobody else */

    /* Who we are, if not: the URL of a document that says so (https, with a path), for
     * servers that take those; else we register. */
    const char *metadata_url;
    const char *client_name; /* NULL: the client's */
    const char *client_uri;  /* NULL: none */
    bool no_registration;

    /* Signing in. */
    const mcp_auth_agent *agent; /* NULL: nobody can */
    bool
        headless; /* the page answers at once with a redirect, which is followed here: for
                      tests and machines. redirect_uri then says where to */
    const char *redirect_uri; /* NULL: "http://127.0.0.1/callback" */

    /* What is asked for. */
    /* Always, besides what the server wants; spaces between. A token in the store that was
     * asked for without it is replaced, if somebody can sign in. NULL: none. */
    const char *scope;
    bool no_offline; /* do not ask for offline_access where it is offered */
    bool dpop; /* tokens bound to a key of ours (RFC 9449), even if the server does
                          not ask for it */

    /* MCP_GRANT_ENTERPRISE, MCP_GRANT_ASSERTION. */
    mcp_assertion_fn *assertion;
    void *assertion_user;
    const char *idp_token_endpoint; /* enterprise: who makes an ID-JAG of it */
    const char *idp_client_id;
    const char *idp_client_secret; /* NULL: none */

    const mcp_token_store *store; /* NULL: in memory, for this client only */

    int64_t login_ms; /* for the user to sign in: 300000 */
    int64_t fetch_ms; /* for each document and token: 30000 */
} mcp_auth_options;

#define MCP_AUTH_OPTIONS(...) \
    ((mcp_auth_options){.size = sizeof(mcp_auth_options), __VA_ARGS__})

/* ---- a server as protected resource ------------------------------------------ */

/*
 * Who may call: bearer of an access token that one of the listed issuers gave out for
 * this very resource. Who has none, or a wrong one, is told where to get one (401); who
 * has one for less than is needed, what is missing (403). The metadata document of the
 * resource is served besides (/.well-known/oauth-protected-resource...).
 *
 *     mcp_guard_new(&MCP_GUARD_OPTIONS(.resource = "https://mcp.example.com/mcp",
 *                                      .issuers = issuers), &guard, &err);
 *     mcp_server_listen_http(server, &MCP_HTTP_OPTIONS(.guard = guard), url, &err);
 *
 * A session belongs to the credential that opened it, here issuer, client and subject;
 * handlers see who asks (mcp_request_principal, mcp_request_claims, mcp_request_scope).
 */
typedef struct mcp_guard mcp_guard;

/* What a token says, checked. Borrowed. */
typedef struct mcp_identity {
    size_t size;
    const char *principal; /* names the credential, at most 1024 bytes; not "" */
    const char *scope;     /* granted, spaces between; NULL: none */
    const char *claims;    /* a JSON object, for handlers; NULL: none */
    const char *key;       /* thumbprint of the key that it is bound to (cnf.jkt), whose
                              proof (DPoP) the guard then checks; NULL: not bound */
} mcp_identity;

#define MCP_IDENTITY(...) ((mcp_identity){.size = sizeof(mcp_identity), __VA_ARGS__})

/* For a hook of your own that asks who comes (mcp/http.h), instead of mcp_http_allow: with
 * what handlers may see besides. Copied. A key must not be there: nobody would check its
 * proof. Nobody's identity, or claims that are no object: 500. [any] */
MCP_API void mcp_http_allow_identity(mcp_http_ticket *ticket,
                                     const mcp_identity *identity);

/*
 * A verifier of your own: of opaque tokens, say. Called on loop threads: must not block.
 * Answer once, with one of the three below, from inside or later, from any thread; the
 * token is good until then. It must be answered whatever happens, also if client, server
 * and guard are gone meanwhile. What it must see to: that the token is genuine, alive, and
 * meant for this resource. Scopes and proofs are the guard's.
 */
typedef struct mcp_token_check mcp_token_check;
typedef void mcp_verify_fn(void *user, const char *token, mcp_token_check *check);
/* Nobody's identity, or claims that are no object: 500. [any] */
MCP_API void mcp_token_accept(mcp_token_check *check, const mcp_identity *identity);
/* 401 invalid_token; why: for the caller, no secrets; NULL: none. [any] */
MCP_API void mcp_token_reject(mcp_token_check *check, const char *why);
/* It cannot be told now: 503. [any] */
MCP_API void mcp_token_fail(mcp_token_check *check);

typedef struct mcp_guard_options {
    size_t size;
    const char *resource;       /* our URL, as clients know it: what tokens are for */
    const char *const *issuers; /* NULL at the end; at least one */
    const char *const *scopes;  /* published as scopes_supported; NULL: none */
    const char *scope;          /* that every request needs; NULL: none */
    const char *const *implies; /* "admin read write": who has the first has the others
                                         too; NULL at the end. NULL: none does */
    /* More scopes that this request needs, spaces between, or NULL; method "tools/call",
     * name of tool or prompt, or URI, "" if there is none. On loop threads, must not block;
     * the text is borrowed for the call. What has words that are no scopes: 500. */
    const char *(*needs)(void *user, const char *method, const char *name);
    void *user;
    const char *name;          /* of the resource, for people; NULL: none */
    const char *documentation; /* a URL; NULL: none */

    /* Who checks: NULL: we do. Tokens are JWTs (RS256, ES256, EdDSA), signed with a key that
     * their issuer publishes; iss, aud, exp, nbf and scope are looked at. */
    mcp_verify_fn *verify;
    void *verify_user;
    const char *jwks; /* the keys, as JSON, if there is one issuer; NULL: fetched */
    const char
        *jwks_uri; /* where from, if there is one issuer; NULL: its metadata says */
    const char
        *audience;     /* what aud must have, never the id of a client, for whom there
                                are ID tokens; NULL: resource */
    bool typed_only;   /* of typ at+jwt (RFC 9068) only, not JWT or none */
    int64_t leeway_ms; /* by which clocks may differ: 30000 */
    int64_t keys_ms;   /* fetched keys are good for so long: 300000 */
    const char *tls_ca_file; /* for fetching; as in mcp_http_client_options */
    bool private_issuers;    /* they may be at private addresses, as we are */

    /* DPoP. A token that is bound to a key needs its proof in any case. */
    bool dpop_only;     /* others are not accepted */
    bool dpop_nonce;    /* proofs need a nonce of ours, good for some minutes */
    mcp_log_fn *on_log; /* NULL: none */
    void *log_user;
    const mcp_allocator *allocator; /* NULL: malloc */
} mcp_guard_options;

#define MCP_GUARD_OPTIONS(...) \
    ((mcp_guard_options){.size = sizeof(mcp_guard_options), __VA_ARGS__})

/* For any number of servers, which it outlives. Texts are copied. It has a thread of its
 * own only if keys must be fetched. MCP_E_INVAL (err says what), MCP_E_NOMEM, MCP_E_LIMIT.
 * [any] */
MCP_API int mcp_guard_new(const mcp_guard_options *opt, mcp_guard **ret_guard,
                          mcp_error *err);
MCP_API void mcp_guard_free(mcp_guard *guard); /* NULL ok */

#ifdef __cplusplus
}
#endif

#endif
