/* options.c - what a program says of its authorization, checked before anything is made */
#include <string.h>

#include "auth/client.h"
#include "auth/key.h"
#include "auth/place.h"
#include "base/mem.h"
#include "base/text.h"

#define LOGIN_MS INT64_C(300000)
#define FETCH_MS INT64_C(30000)
/* A day is longer than anybody waits, and its microseconds are a number. */
#define TIME_MAX_MS INT64_C(86400000)
#define HEADLESS_URI "http://127.0.0.1/callback"

static int
wrong(mcp_error *err, const char *member, const char *why)
{
    return mcpi_error_set(err, MCP_E_INVAL, "authorization option %s: %s", member, why);
}

static int
time_take(int64_t *value, int64_t otherwise, const char *member, mcp_error *err)
{
    if (*value < 0)
        return wrong(err, member, "a time must not be negative");
    if (*value == 0)
        *value = otherwise;
    if (*value > TIME_MAX_MS)
        *value = TIME_MAX_MS;
    return 0;
}

/* A document about us is at an https URL with a path. */
static bool
is_document(const char *url)
{
    struct mcpi_place place;

    return mcpi_place_read(url, &place) && place.tls && place.path_len > 1;
}

static int
key_check(const char *pem, mcp_error *err)
{
    struct mcpi_key *key = NULL;
    int r = mcpi_key_from_pem(NULL, pem, &key);

    mcpi_key_unref(key);
    if (r == MCP_E_INVAL)
        return wrong(err, "private_key", "is no private key of RSA, P-256 or Ed25519");
    return r < 0 ? mcpi_error_set(err, r, "authorization: %s", mcp_status_text(r)) : 0;
}

static int
who_check(const mcp_auth_options *opt, mcp_error *err)
{
    if (!opt->client_id &&
        (opt->client_secret || (opt->issuer && opt->grant != MCP_GRANT_ASSERTION)))
        return wrong(err, "client_id", "there is a secret or an issuer, and no client");
    if (opt->client_id && !*opt->client_id)
        return wrong(err, "client_id", "must not be empty");
    if (opt->private_key && !opt->client_id && !opt->metadata_url)
        return wrong(err, "private_key", "there is no client that it is of");
    if (opt->client_secret && opt->private_key)
        return wrong(err, "private_key", "there is a client_secret too: which is it?");
    if (opt->metadata_url && !is_document(opt->metadata_url))
        return wrong(err, "metadata_url", "must be https, with a path");
    if (opt->issuer && !mcpi_place_is_safe(opt->issuer))
        return wrong(err, "issuer", "must be https, or http on loopback");
    return opt->private_key ? key_check(opt->private_key, err) : 0;
}

static int
grant_check(const mcp_auth_options *opt, mcp_error *err)
{
    switch (opt->grant) {
    case MCP_GRANT_CODE:
        break;
    case MCP_GRANT_CLIENT:
        if (!opt->client_id || (!opt->client_secret && !opt->private_key))
            return wrong(err, "client_id",
                         "this grant needs it, and a secret or a key");
        break;
    case MCP_GRANT_ENTERPRISE:
        if (!opt->client_id || !opt->idp_token_endpoint || !opt->idp_client_id)
            return wrong(err, "idp_token_endpoint",
                         "this grant needs it, with idp_client_id and client_id");
        if (!*opt->idp_client_id)
            return wrong(err, "idp_client_id", "must not be empty");
        if (!mcpi_place_is_safe(opt->idp_token_endpoint))
            return wrong(err, "idp_token_endpoint",
                         "must be https, or http on loopback");
        break;
    case MCP_GRANT_ASSERTION:
        break;
    default:
        return wrong(err, "grant", "there is no such grant");
    }
    if (opt->grant >= MCP_GRANT_ENTERPRISE && !opt->assertion)
        return wrong(err, "assertion", "this grant needs it");
    return 0;
}

static int
agent_check(const mcp_auth_options *opt, mcp_error *err)
{
    const mcp_auth_agent *agent = opt->agent;

    if (agent && agent->size < sizeof(*agent))
        return wrong(err, "agent", "lacks its size: MCP_AUTH_AGENT sets it");
    if (agent && (!agent->begin || !agent->open || !agent->end))
        return wrong(err, "agent", "lacks a function");
    if (agent && opt->headless)
        return wrong(err, "headless", "there is an agent too: which is it?");
    if (opt->redirect_uri && !opt->headless)
        return wrong(err, "redirect_uri", "goes with headless: an agent has its own");
    if (opt->redirect_uri && !mcpi_place_is_safe(opt->redirect_uri))
        return wrong(err, "redirect_uri", "must be https, or http on loopback");
    if (opt->redirect_uri && strlen(opt->redirect_uri) >= MCP_AUTH_URI_MAX)
        return wrong(err, "redirect_uri", "is too long");
    return 0;
}

static int
store_check(const mcp_token_store *store, mcp_error *err)
{
    if (store && store->size < sizeof(*store))
        return wrong(err, "store", "lacks its size: MCP_TOKEN_STORE sets it");
    if (store && (!store->load || !store->save || !store->lock != !store->unlock))
        return wrong(err, "store", "lacks a function");
    return 0;
}

int
mcpi_auth_options_take(mcp_auth_options *opt, mcp_error *err)
{
    int r = who_check(opt, err);

    if (r == 0)
        r = grant_check(opt, err);
    if (r == 0)
        r = agent_check(opt, err);
    if (r == 0)
        r = store_check(opt->store, err);
    if (r == 0)
        r = time_take(&opt->login_ms, LOGIN_MS, "login_ms", err);
    if (r == 0)
        r = time_take(&opt->fetch_ms, FETCH_MS, "fetch_ms", err);
    if (r == 0 && opt->headless && !opt->redirect_uri)
        opt->redirect_uri = HEADLESS_URI;
    return r;
}

/* ---- a copy ------------------------------------------------------------------------ */

#define TEXTS 13

static void
texts_of(mcp_auth_options *opt, const char **ret[TEXTS])
{
    const char **const all[TEXTS] = {
        &opt->client_id,
        &opt->client_secret,
        &opt->private_key,
        &opt->key_id,
        &opt->issuer,
        &opt->metadata_url,
        &opt->client_name,
        &opt->client_uri,
        &opt->redirect_uri,
        &opt->scope,
        &opt->idp_token_endpoint,
        &opt->idp_client_id,
        &opt->idp_client_secret,
    };

    memcpy(ret, all, sizeof(all));
}

static size_t
texts_size(mcp_auth_options *opt)
{
    const char **texts[TEXTS];
    size_t size = 0;

    texts_of(opt, texts);
    for (int i = 0; i < TEXTS; i++)
        size += *texts[i] ? strlen(*texts[i]) + 1 : 0;
    return size;
}

mcp_auth_options *
mcpi_auth_options_copy(const mcp_allocator *mem, const mcp_auth_options *opt)
{
    mcp_auth_options kept = *opt;
    mcp_auth_options *copy = mcpi_alloc(mem, sizeof(*copy) + texts_size(&kept));
    const char **texts[TEXTS];
    char *at;

    if (!copy)
        return NULL;
    *copy = kept;
    at = (char *)(copy + 1);
    texts_of(copy, texts);
    for (int i = 0; i < TEXTS; i++)
        *texts[i] = mcpi_text_stow(&at, *texts[i], *texts[i] ? strlen(*texts[i]) : 0);
    return copy;
}

void
mcpi_auth_options_free(const mcp_allocator *mem, mcp_auth_options *opt)
{
    if (opt)
        explicit_bzero(opt, sizeof(*opt) + texts_size(opt));
    mcpi_free(mem, opt);
}
