/* bearer.c - credentials in a request, and what is said of them */
#include "auth/bearer.h"

#include <string.h>
#include <strings.h>

#include "json/value.h"

/* Of proofs, as our keys can be (auth/key.h). */
#define ALGS "ES256 EdDSA RS256"
#define ALGS_JSON "[\"ES256\",\"EdDSA\",\"RS256\"]"

/* ---- reading ---------------------------------------------------------------- */

/* The value of the only header of that name; NULL: none. *ret_count: how many. */
static const char *
field_find(const mcp_http_request *request, const char *name, unsigned *ret_count)
{
    const char *found = NULL;

    *ret_count = 0;
    for (size_t i = 0; i < request->field_count; i++) {
        if (strcasecmp(request->fields[i].name, name) != 0)
            continue;
        if (!found)
            found = request->fields[i].value;
        (*ret_count)++;
    }
    return found;
}

static enum mcpi_bearer_scheme
scheme_find(const char *name, size_t len)
{
    if (len == 6 && strncasecmp(name, "Bearer", len) == 0)
        return MCPI_BEARER_PLAIN;
    if (len == 4 && strncasecmp(name, "DPoP", len) == 0)
        return MCPI_BEARER_DPOP;
    return MCPI_BEARER_NONE;
}

/* b64token (RFC 6750, 2.1) */
static bool
token_is_sound(const char *token)
{
    size_t len = strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "abcdefghijklmnopqrstuvwxyz0123456789-._~+/");

    return len > 0 && token[len + strspn(token + len, "=")] == '\0';
}

const char *
mcpi_bearer_read(const mcp_http_request *request, struct mcpi_bearer *ret)
{
    unsigned count;
    const char *value = field_find(request, "Authorization", &count);
    size_t len;

    *ret = (struct mcpi_bearer){.token = "", .proof = ""};
    if (count > 1)
        return "Authorization stands twice";
    if (!value)
        return NULL;
    len = strcspn(value, " ");
    ret->scheme = scheme_find(value, len);
    if (ret->scheme == MCPI_BEARER_NONE)
        return NULL;
    value += len + strspn(value + len, " ");
    if (!token_is_sound(value))
        return "this is no token";
    if (strlen(value) > MCPI_BEARER_TOKEN_MAX)
        return "the token is too long";
    ret->token = value;
    value = field_find(request, "DPoP", &ret->proofs);
    ret->proof = value ? value : "";
    return NULL;
}

/* ---- challenges ------------------------------------------------------------- */

struct challenge {
    char *into;
    size_t len;
    bool first; /* no parameter yet */
};

/* What may stand between quotes without an escape (RFC 6750, 3); nobody's words can end
 * them. */
static char
quotable(char c)
{
    if (c == '"')
        return '\'';
    return c < ' ' || c > '~' || c == '\\' ? '?' : c;
}

/* One parameter, if there is such a value and it leaves that much room. */
static void
challenge_say(struct challenge *to, const char *name, const char *value, size_t spare)
{
    const char *between = to->first ? " " : ", ";
    size_t need;

    if (!value || !*value)
        return;
    need = strlen(between) + strlen(name) + 1 + strlen(value) + 2;
    if (to->len + need + spare >= MCPI_BEARER_CHALLENGE_MAX)
        return;
    to->len = (size_t)(stpcpy(stpcpy(to->into + to->len, between), name) - to->into);
    to->into[to->len++] = '=';
    to->into[to->len++] = '"';
    for (; *value; value++)
        to->into[to->len++] = quotable(*value);
    to->into[to->len++] = '"';
    to->into[to->len] = '\0';
    to->first = false;
}

void
mcpi_bearer_challenge(const struct mcpi_bearer_challenge *what,
                      char into[MCPI_BEARER_CHALLENGE_MAX])
{
    struct challenge to = {.into = into, .first = true};
    size_t spare = strlen(", resource_metadata=\"\"") + strlen(what->metadata);

    to.len = (size_t)(stpcpy(into, what->dpop ? "DPoP" : "Bearer") - into);
    if (what->dpop)
        challenge_say(&to, "algs", ALGS, spare);
    challenge_say(&to, "error", what->error, spare);
    challenge_say(&to, "error_description", what->description, spare);
    challenge_say(&to, "scope", what->scope, spare);
    challenge_say(&to, "resource_metadata", what->metadata, 0);
}

/* ---- the document ----------------------------------------------------------- */

static int
document_text(struct mcpi_buf *into, const char *name, const char *value)
{
    if (!value)
        return 0;
    mcpi_buf_text(into, name);
    return mcpi_json_write_string(into, value, strlen(value));
}

static int
document_list(struct mcpi_buf *into, const char *name, const char *const *list)
{
    int r = 0;

    if (!list || !*list)
        return 0;
    mcpi_buf_text(into, name);
    for (size_t i = 0; r == 0 && list[i]; i++) {
        mcpi_buf_char(into, i == 0 ? '[' : ',');
        r = mcpi_json_write_string(into, list[i], strlen(list[i]));
    }
    mcpi_buf_char(into, ']');
    return r;
}

int
mcpi_bearer_document(const struct mcpi_bearer_resource *what, struct mcpi_buf *into)
{
    int r;

    r = document_text(into, "{\"resource\":", what->resource);
    if (r == 0)
        r = document_list(into, ",\"authorization_servers\":", what->issuers);
    if (r == 0)
        r = document_list(into, ",\"scopes_supported\":", what->scopes);
    MCPI_BUF_LITERAL(into, ",\"bearer_methods_supported\":[\"header\"]");
    if (r == 0)
        r = document_text(into, ",\"resource_name\":", what->name);
    if (r == 0)
        r = document_text(into, ",\"resource_documentation\":", what->documentation);
    MCPI_BUF_LITERAL(into, ",\"dpop_signing_alg_values_supported\":" ALGS_JSON);
    if (what->dpop_only)
        MCPI_BUF_LITERAL(into, ",\"dpop_bound_access_tokens_required\":true");
    mcpi_buf_char(into, '}');
    return r < 0 ? r : into->status;
}
