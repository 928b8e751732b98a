/*
 * oauth_rig.h - a guarded server of ours, and the issuer that it believes; clients of ours
 *
 *     oauth_open(&o, &ISSUER_OPTIONS(...), NULL);
 *     oauth_connect(&o, &MCP_AUTH_OPTIONS(.headless = true), &client);
 *     ...
 *     mcp_client_free(client);
 *     oauth_close(&o);
 *
 * Its tools: whoami says who asks; admin the same, but needs the scope "admin"; hang does
 * not end by itself.
 */
#ifndef TESTS_END_OAUTH_RIG_H
#define TESTS_END_OAUTH_RIG_H

#include <mcp/auth.h>
#include <mcp/client.h>
#include <mcp/server.h>
#include <pthread.h>

#include "support/issuer.h"
#include "support/test.h"

struct oauth {
    struct test_mem mem; /* of the clients */
    struct issuer *issuer;
    mcp_guard *guard;
    mcp_server *server;
    char url[MCP_HTTP_URL_MAX]; /* of the server, and the resource */

    pthread_mutex_t lock;
    char last[2048], banned[2048]; /* tokens; under lock */
};

/* guard: what else its options have; NULL: nothing. */
void oauth_open(struct oauth *o, const struct issuer_options *issuer,
                const mcp_guard_options *guard);
/* The same, but it believes every token, until one is banned. */
void oauth_open_gullible(struct oauth *o, const struct issuer_options *issuer);
void oauth_ban(struct oauth *o); /* the one that came last */
/* Nothing is left then of clients, which are freed before. */
void oauth_close(struct oauth *o);

int oauth_try(struct oauth *o, const mcp_auth_options *auth, mcp_client **ret_client,
              mcp_error *err);
void oauth_connect(struct oauth *o, const mcp_auth_options *auth,
                   mcp_client **ret_client);

/* The answer of a tool has this text in it. */
void oauth_expect(mcp_client *client, const char *tool, const char *said);
/* The server has nothing to do any more. */
void oauth_rest(struct oauth *o);

#endif
