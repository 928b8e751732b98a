/* client_auth.c - scenarios of authorization: who the client is, each time, and no more */
#include <stdlib.h>
#include <string.h>

#include "client_scenarios.h"

/* Where we would say who we are; the suite only looks whether we name it. */
#define DOCUMENT "https://conformance-test.local/client-metadata.json"

static const char *
text_of(const mcp_json *context, const char *key)
{
    return mcp_json_string(mcp_json_get(context, key), NULL);
}

/* ---- who we are --------------------------------------------------------------------- */

/* A user who signs in at once: the page answers with the redirect. */
static void
as_user(mcp_auth_options *auth, const mcp_json *context)
{
    (void)context;
    auth->headless = true;
    auth->metadata_url = DOCUMENT;
}

static void
as_known(mcp_auth_options *auth, const mcp_json *context)
{
    auth->headless = true;
    auth->client_id = text_of(context, "client_id");
    auth->client_secret = text_of(context, "client_secret");
    auth->issuer = text_of(context, "issuer");
}

static void
as_user_with_key(mcp_auth_options *auth, const mcp_json *context)
{
    as_user(auth, context);
    auth->dpop = true;
}

static void
as_program(mcp_auth_options *auth, const mcp_json *context)
{
    auth->grant = MCP_GRANT_CLIENT;
    auth->client_id = text_of(context, "client_id");
    auth->client_secret = text_of(context, "client_secret");
    auth->private_key = text_of(context, "private_key_pem");
}

/* user: the text itself. */
static int
assertion_give(void *user, const char *audience, char **ret_assertion, mcp_error *err)
{
    char *copy = user ? strdup(user) : NULL;

    (void)audience, (void)err;
    if (!copy)
        return user ? MCP_E_NOMEM : MCP_E_AUTH;
    *ret_assertion = copy;
    return 0;
}

static void
assertion_set(mcp_auth_options *auth, const char *text)
{
    auth->assertion = assertion_give;
    auth->assertion_user = (void *)(uintptr_t)text; /* of the context, which stays */
}

static void
as_employee(mcp_auth_options *auth, const mcp_json *context)
{
    as_program(auth, context);
    auth->grant = MCP_GRANT_ENTERPRISE;
    auth->idp_token_endpoint = text_of(context, "idp_token_endpoint");
    auth->idp_client_id = text_of(context, "idp_client_id");
    assertion_set(auth, text_of(context, "idp_id_token"));
}

static void
as_workload(mcp_auth_options *auth, const mcp_json *context)
{
    as_program(auth, context);
    auth->grant = MCP_GRANT_ASSERTION;
    assertion_set(auth, text_of(context, "valid_jwt"));
}

/* ---- what is done, once we are in --------------------------------------------------- */

static int
use_server(mcp_client *client, const mcp_json *context, mcp_error *err)
{
    (void)context;
    return list_and_call(client, "test-tool", "{}", "", err);
}

/* Some of these servers are not to be believed: we end with MCP_E_AUTH there, and gate.py
 * knows which. */
const struct scenario auth_scenarios[] = {
    {"auth/metadata-default", use_server, as_user},
    {"auth/metadata-var1", use_server, as_user},
    {"auth/metadata-var2", use_server, as_user},
    {"auth/metadata-var3", use_server, as_user},
    {"auth/basic-cimd", use_server, as_user},
    {"auth/scope-from-www-authenticate", use_server, as_user},
    {"auth/scope-from-scopes-supported", use_server, as_user},
    {"auth/scope-omitted-when-undefined", use_server, as_user},
    {"auth/scope-step-up", use_server, as_user},
    {"auth/scope-retry-limit", use_server, as_user},
    {"auth/token-endpoint-auth-basic", use_server, as_user},
    {"auth/token-endpoint-auth-post", use_server, as_user},
    {"auth/token-endpoint-auth-none", use_server, as_user},
    {"auth/pre-registration", use_server, as_known},
    {"auth/resource-mismatch", use_server, as_user},
    {"auth/offline-access-scope", use_server, as_user},
    {"auth/offline-access-not-supported", use_server, as_user},
    {"auth/authorization-server-migration", use_server, as_user},
    {"auth/iss-supported", use_server, as_user},
    {"auth/iss-not-advertised", use_server, as_user},
    {"auth/iss-supported-missing", use_server, as_user},
    {"auth/iss-wrong-issuer", use_server, as_user},
    {"auth/iss-unexpected", use_server, as_user},
    {"auth/iss-normalized", use_server, as_user},
    {"auth/metadata-issuer-mismatch", use_server, as_user},
    {"auth/client-credentials-jwt", use_server, as_program},
    {"auth/client-credentials-basic", use_server, as_program},
    {"auth/enterprise-managed-authorization", use_server, as_employee},
    {"auth/dpop", use_server, as_user_with_key},
    {"auth/dpop-nonce", use_server, as_user_with_key},
    {"auth/wif-jwt-bearer", use_server, as_workload},
    {0},
};
