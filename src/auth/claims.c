/* claims.c - what the claims of an access token say of who brings it */
#include "auth/claims.h"

#include <string.h>

#include "auth/key.h"
#include "auth/scopes.h"

/* Longest text that is joined before it is told by its hash: three claims of a token of
 * 16 KiB, each byte written as three. */
#define JOINED_MAX ((size_t)64 * 1024)

#define HASHED "sha256:"

/* ---- names ------------------------------------------------------------------ */

static void
part_write(struct mcpi_buf *into, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c > ' ' && c != 0x7f && c != '|' && c != '%') {
            mcpi_buf_char(into, (char)c);
            continue;
        }
        mcpi_buf_char(into, '%');
        mcpi_buf_char(into, digits[c >> 4]);
        mcpi_buf_char(into, digits[c & 15]);
    }
}

int
mcpi_claims_principal(const mcp_allocator *mem, const char *issuer, const char *client,
                      const char *subject, char *ret_text)
{
    struct mcpi_buf joined;
    int r;

    mcpi_buf_init(&joined, mem, JOINED_MAX);
    part_write(&joined, issuer);
    mcpi_buf_char(&joined, '|');
    part_write(&joined, client);
    mcpi_buf_char(&joined, '|');
    part_write(&joined, subject);
    r = joined.status;
    if (r == 0 && joined.len > MCPI_CLAIMS_PRINCIPAL_MAX) {
        memcpy(ret_text, HASHED, sizeof(HASHED));
        r = mcpi_sha256_text(joined.data, joined.len, ret_text + sizeof(HASHED) - 1);
    } else if (r == 0) {
        memcpy(ret_text, joined.data, joined.len);
        ret_text[joined.len] = '\0';
    }
    mcpi_buf_done(&joined);
    return r;
}

/* ---- claims ----------------------------------------------------------------- */

/* A text that is not there is ""; one that hides something behind a terminator, or is no
 * text, is NULL. */
static const char *
text_of(const mcp_json *claims, const char *name)
{
    const mcp_json *value = mcp_json_get(claims, name);
    const char *text = mcp_json_string(value, NULL);

    if (!value)
        return "";
    return text && strlen(text) == mcp_json_string_length(value) ? text : NULL;
}

/* client_id is what RFC 9068 has; azp is what issuers of OpenID Connect have. */
static const char *
client_of(const mcp_json *claims)
{
    const char *client = text_of(claims, "client_id");

    return client && !*client ? text_of(claims, "azp") : client;
}

/* A text or a list; as `scope` or, with some issuers, as `scp`. */
static void
scope_read(const mcp_json *claims, struct mcpi_buf *into)
{
    static const char *const names[] = {"scope", "scp"};

    for (int i = 0; i < 2; i++) {
        const mcp_json *value = mcp_json_get(claims, names[i]);

        mcpi_scopes_add(into, mcp_json_string(value, NULL));
        mcpi_scopes_add_json(into, value);
    }
}

/* One that is bound to something else than a key of DPoP is bound to what nobody here
 * checks. */
static const char *
key_read(const mcp_json *claims, const char **ret_key)
{
    const mcp_json *bound = mcp_json_get(claims, "cnf");
    const char *key = text_of(bound, "jkt");

    *ret_key = NULL;
    if (!bound)
        return NULL;
    if (!key || !*key || mcp_json_count(bound) != 1)
        return "the token is bound to what cannot be checked here";
    *ret_key = key;
    return NULL;
}

static const char *
principal_read(const mcp_allocator *mem, const mcp_json *claims,
               struct mcpi_claims *ret, int *ret_status)
{
    const char *issuer = text_of(claims, "iss");
    const char *subject = text_of(claims, "sub");
    const char *client = client_of(claims);

    if (!issuer || !subject || !client || (!*subject && !*client))
        return "the token names nobody";
    *ret_status = mcpi_claims_principal(mem, issuer, client, subject, ret->principal);
    return *ret_status < 0 ? "the token's claims cannot be read" : NULL;
}

const char *
mcpi_claims_read(const mcp_allocator *mem, const mcp_json *claims,
                 struct mcpi_claims *ret, int *ret_status)
{
    const char *fault;

    *ret_status = 0;
    fault = key_read(claims, &ret->key);
    if (!fault)
        fault = principal_read(mem, claims, ret, ret_status);
    if (fault)
        return fault;
    mcpi_buf_init(&ret->scope, mem, MCPI_SCOPES_MAX);
    scope_read(claims, &ret->scope);
    if (ret->scope.status == 0)
        return NULL;
    if (ret->scope.status == MCP_E_NOMEM)
        *ret_status = MCP_E_NOMEM;
    mcpi_buf_done(&ret->scope);
    return "the token has too many scopes";
}

void
mcpi_claims_done(struct mcpi_claims *claims)
{
    mcpi_buf_done(&claims->scope);
}
