/* credential.c - what an authorization server gave us, and all it is bound to */
#include "auth/credential.h"

#include <stddef.h>
#include <string.h>

#include "auth/record.h"
#include "base/mem.h"
#include "json/value.h"

/* Longest text of one in a store. */
#define TEXT_MAX ((size_t)4 * MCPI_CREDENTIAL_MAX)

static const struct mcpi_record_field fields[] = {
    {"issuer", offsetof(struct mcpi_credential, issuer)},
    {"resource", offsetof(struct mcpi_credential, resource)},
    {"client_id", offsetof(struct mcpi_credential, client_id)},
    {"access_token", offsetof(struct mcpi_credential, access)},
    {"refresh_token", offsetof(struct mcpi_credential, refresh)},
    {"scope", offsetof(struct mcpi_credential, scope)},
    {"registration", offsetof(struct mcpi_credential, who)},
    {0},
};

int
mcpi_credential_new(const mcp_allocator *mem, const struct mcpi_credential *parts,
                    struct mcpi_credential **ret_token)
{
    struct mcpi_credential *token;

    token = mcpi_record_new(mem, parts, sizeof(*parts), fields);
    if (!token)
        return MCP_E_NOMEM;
    token->mem = mem;
    if (token->key)
        token->key = mcpi_key_ref(token->key);
    *ret_token = token;
    return 0;
}

void
mcpi_credential_free(struct mcpi_credential *token)
{
    if (!token)
        return;
    mcpi_key_unref(token->key);
    mcpi_free(token->mem, token);
}

bool
mcpi_credential_is_text(const char *text)
{
    size_t len = 0;

    for (; text[len]; len++)
        if (text[len] <= ' ' || text[len] > '~' || len >= MCPI_CREDENTIAL_MAX)
            return false;
    return len > 0;
}

void
mcpi_credential_write(const struct mcpi_credential *token, struct mcpi_buf *into)
{
    mcpi_buf_char(into, '{');
    mcpi_record_write(token, fields, into);
    if (token->expires_at != MCPI_NEVER) {
        MCPI_BUF_LITERAL(into, ",\"expires_at\":");
        mcpi_buf_int(into, token->expires_at);
    }
    if (token->key) {
        MCPI_BUF_LITERAL(into, ",\"key\":");
        (void)mcpi_key_write(token->key, true, into);
    }
    mcpi_buf_char(into, '}');
}

static int
read_object(const mcp_allocator *mem, const mcp_json *json,
            struct mcpi_credential **ret_token)
{
    const mcp_json *expires = mcp_json_get(json, "expires_at");
    const mcp_json *jwk = mcp_json_get(json, "key");
    struct mcpi_credential parts = {.expires_at = MCPI_NEVER};
    int r = 0;

    if (!mcpi_record_read(json, fields, &parts) ||
        !mcpi_credential_is_text(parts.access) ||
        (expires && mcp_json_to_int64(expires, &parts.expires_at) < 0))
        return MCP_E_INVAL;
    if (jwk)
        r = mcpi_key_from_jwk(mem, jwk, &parts.key);
    if (r == 0 && parts.key && !mcpi_key_is_private(parts.key))
        r = MCP_E_INVAL;
    if (r == 0)
        r = mcpi_credential_new(mem, &parts, ret_token);
    mcpi_key_unref(parts.key);
    return r;
}

int
mcpi_credential_read(const mcp_allocator *mem, const char *text,
                     struct mcpi_credential **ret_token)
{
    const struct mcpi_json_limits limits = {TEXT_MAX, 4};
    mcp_doc *doc;
    int r;

    r = mcpi_doc_parse(mem, text, strlen(text), &limits, &doc);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : MCP_E_INVAL;
    r = read_object(mem, mcp_doc_root(doc), ret_token);
    mcp_doc_free(doc);
    return r;
}
