/* registration.c - who we are to one issuer */
#include "auth/registration.h"

#include <stddef.h>
#include <string.h>

#include "auth/place.h"
#include "auth/record.h"
#include "base/mem.h"
#include "json/value.h"

/* Longest id or secret that is taken; and longest text of one in a store: each byte of
 * both may be six there. */
#define ID_MAX 2048
#define TEXT_MAX ((size_t)16 * ID_MAX)

static const struct mcpi_record_field fields[] = {
    {"issuer", offsetof(struct mcpi_registration, issuer)},
    {"client_id", offsetof(struct mcpi_registration, client_id)},
    {"client_secret", offsetof(struct mcpi_registration, client_secret)},
    {"redirect_uri", offsetof(struct mcpi_registration, redirect_uri)},
    {0},
};

/* As metadata and registrations spell them, by number. */
static const char *const methods[] = {"none", "client_secret_basic",
                                      "client_secret_post", "private_key_jwt"};

int
mcpi_registration_new(const mcp_allocator *mem, const struct mcpi_registration *parts,
                      struct mcpi_registration **ret)
{
    struct mcpi_registration *made;

    made = mcpi_record_new(mem, parts, sizeof(*parts), fields);
    if (!made)
        return MCP_E_NOMEM;
    made->mem = mem;
    *ret = made;
    return 0;
}

void
mcpi_registration_free(struct mcpi_registration *registration)
{
    if (registration)
        mcpi_free(registration->mem, registration);
}

int
mcpi_registration_choose(const struct mcpi_issuer_metadata *issuer, bool has_secret,
                         bool has_key, enum mcpi_client_auth *ret_auth)
{
    if (has_key && issuer->auth_jwt)
        *ret_auth = MCPI_CLIENT_JWT;
    else if (has_secret && issuer->auth_basic)
        *ret_auth = MCPI_CLIENT_BASIC;
    else if (has_secret && issuer->auth_post)
        *ret_auth = MCPI_CLIENT_POST;
    else if (has_secret || has_key)
        return MCP_E_AUTH;
    else
        *ret_auth = MCPI_CLIENT_NONE; /* whatever it lists: there is nothing to show */
    return 0;
}

/* ---- registering ------------------------------------------------------------- */

/* What we would like: a program on a user's machine keeps no secret. */
static enum mcpi_client_auth
wanted_auth(const struct mcpi_issuer_metadata *issuer)
{
    if (issuer->auth_none)
        return MCPI_CLIENT_NONE;
    if (issuer->auth_post && !issuer->auth_basic)
        return MCPI_CLIENT_POST;
    return MCPI_CLIENT_BASIC;
}

static void
add_member(struct mcpi_buf *into, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    MCPI_BUF_LITERAL(into, ",\"");
    mcpi_buf_text(into, name);
    MCPI_BUF_LITERAL(into, "\":");
    if (mcpi_json_write_string(into, value, strlen(value)) == MCP_E_INVAL)
        MCPI_BUF_LITERAL(into, "\"\"");
}

void
mcpi_registration_ask(const struct mcpi_registration_ask *ask, struct mcpi_buf *into)
{
    struct mcpi_place place;
    bool native;

    native = mcpi_place_read(ask->redirect_uri, &place) && !place.tls;
    MCPI_BUF_LITERAL(into, "{\"redirect_uris\":[");
    if (mcpi_json_write_string(into, ask->redirect_uri, strlen(ask->redirect_uri)) ==
        MCP_E_INVAL)
        MCPI_BUF_LITERAL(into, "\"\"");
    MCPI_BUF_LITERAL(into,
                     "],\"grant_types\":[\"authorization_code\",\"refresh_token\"],"
                     "\"response_types\":[\"code\"]");
    add_member(into, "token_endpoint_auth_method", methods[wanted_auth(ask->issuer)]);
    add_member(into, "application_type", native ? "native" : "web");
    add_member(into, "client_name", ask->name);
    add_member(into, "client_uri", ask->uri);
    add_member(into, "scope", ask->scope);
    mcpi_buf_char(into, '}');
}

static bool
method_read(const char *name, enum mcpi_client_auth *ret_auth)
{
    for (int i = MCPI_CLIENT_NONE; i < MCPI_CLIENT_JWT; i++) {
        if (strcmp(methods[i], name) == 0) {
            *ret_auth = (enum mcpi_client_auth)i;
            return true;
        }
    }
    return false;
}

/* Which method it is, if the answer does not say: the one that was asked for, unless
 * there is a secret for none, or none for one. */
static bool
answer_auth(const mcp_json *json, const struct mcpi_issuer_metadata *issuer,
            bool has_secret, enum mcpi_client_auth *ret_auth)
{
    const char *said = mcp_json_string(mcp_json_get(json, "token_endpoint_auth_method"),
                                       NULL);

    if (said && !method_read(said, ret_auth))
        return false;
    if (!said)
        *ret_auth = wanted_auth(issuer);
    if (!has_secret)
        *ret_auth = MCPI_CLIENT_NONE;
    else if (*ret_auth == MCPI_CLIENT_NONE && !said)
        *ret_auth = issuer->auth_post && !issuer->auth_basic ? MCPI_CLIENT_POST
                                                             : MCPI_CLIENT_BASIC;
    return true;
}

int
mcpi_registration_answer(const mcp_allocator *mem, const mcp_json *json,
                         const struct mcpi_registration_ask *ask,
                         struct mcpi_registration **ret, const char **ret_why)
{
    static const struct mcpi_record_field id[] = {
        {"client_id", offsetof(struct mcpi_registration, client_id)}, {0}};
    static const struct mcpi_record_field secret[] = {
        {"client_secret", offsetof(struct mcpi_registration, client_secret)}, {0}};
    struct mcpi_registration parts = {.issuer = ask->issuer->issuer,
                                      .redirect_uri = ask->redirect_uri};

    *ret_why = "the registration has no client_id";
    if (!mcpi_record_read(json, id, &parts) || !*parts.client_id)
        return MCP_E_AUTH;
    *ret_why = "the registration has a client_secret that is no text";
    if (!mcpi_record_read(json, secret, &parts))
        return MCP_E_AUTH;
    *ret_why = "the registration is too long";
    if (strlen(parts.client_id) > ID_MAX || strlen(parts.client_secret) > ID_MAX)
        return MCP_E_AUTH;
    *ret_why = "the registration wants a method of authentication that we do not have";
    if (!answer_auth(json, ask->issuer, *parts.client_secret != '\0', &parts.auth))
        return MCP_E_AUTH;
    return mcpi_registration_new(mem, &parts, ret);
}

/* ---- in a store ---------------------------------------------------------------- */

void
mcpi_registration_write(const struct mcpi_registration *registration,
                        struct mcpi_buf *into)
{
    mcpi_buf_char(into, '{');
    mcpi_record_write(registration, fields, into);
    add_member(into, "auth", methods[registration->auth]);
    mcpi_buf_char(into, '}');
}

int
mcpi_registration_read(const mcp_allocator *mem, const char *text,
                       struct mcpi_registration **ret)
{
    const struct mcpi_json_limits limits = {TEXT_MAX, 2};
    struct mcpi_registration parts = {0};
    const mcp_json *json;
    mcp_doc *doc;
    int r;

    r = mcpi_doc_parse(mem, text, strlen(text), &limits, &doc);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : MCP_E_INVAL;
    json = mcp_doc_root(doc);
    r = MCP_E_INVAL;
    if (mcpi_record_read(json, fields, &parts) && *parts.client_id && *parts.issuer &&
        method_read(mcp_json_string(mcp_json_get(json, "auth"), ""), &parts.auth))
        r = mcpi_registration_new(mem, &parts, ret);
    mcp_doc_free(doc);
    return r;
}
