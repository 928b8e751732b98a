/* grant.c - what is posted to a token endpoint, and what it answers */
#include "auth/grant.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "auth/form.h"
#include "auth/jwt.h"
#include "auth/key_inside.h"
#include "base/base64.h"
#include "base/text.h"
#include "run/random.h"
#include "json/value.h"

#define ASSERTION_TYPE "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
#define ID_JAG "urn:ietf:params:oauth:token-type:id-jag"
/* A token that is said to live longer lives a century: its seconds are a number. */
#define LIFE_MAX (INT64_C(100) * 365 * 24 * 3600)
/* Of an error and what it says of itself, in a sentence for people. */
#define CODE_SHOWN 60
#define MORE_SHOWN 140

/* ---- randomness ------------------------------------------------------------- */

int
mcpi_nonce_make(char *ret_text)
{
    struct mcpi_buf buf = mcpi_buf_over(ret_text, MCPI_PKCE_SIZE);
    unsigned char bytes[32];
    int r = mcpi_random(bytes, sizeof(bytes));

    if (r < 0)
        return r;
    mcpi_base64url_write(&buf, bytes, sizeof(bytes));
    ret_text[buf.len] = '\0';
    explicit_bzero(bytes, sizeof(bytes));
    return 0;
}

int
mcpi_pkce_make(char *ret_verifier, char *ret_challenge)
{
    int r = mcpi_nonce_make(ret_verifier);

    return r < 0 ? r
                 : mcpi_sha256_text(ret_verifier, strlen(ret_verifier), ret_challenge);
}

/* ---- who asks ---------------------------------------------------------------- */

/* RFC 6749, 2.3.1: both are escaped before they are joined. */
static void
authenticate_basic(const struct mcpi_registration *who, struct mcpi_buf *fields)
{
    struct mcpi_buf pair;

    mcpi_buf_init(&pair, fields->mem, MCPI_GRANT_FORM_MAX);
    mcpi_form_escape(&pair, who->client_id);
    mcpi_buf_char(&pair, ':');
    mcpi_form_escape(&pair, who->client_secret);
    MCPI_BUF_LITERAL(fields, "Authorization: Basic ");
    mcpi_base64_write(fields, pair.data, pair.len);
    mcpi_buf_char(fields, '\0');
    if (pair.status < 0 && fields->status == 0)
        fields->status = pair.status;
    mcpi_buf_done(&pair);
}

static int
assertion_claims(const struct mcpi_grant_client *client, struct mcpi_buf *claims)
{
    const char *id = client->registration->client_id;
    const char *issuer = client->registration->issuer;
    char jti[MCPI_PKCE_SIZE];
    int r = mcpi_nonce_make(jti);

    if (r < 0)
        return r;
    MCPI_BUF_LITERAL(claims, "{\"iss\":");
    r = mcpi_json_write_string(claims, id, strlen(id));
    MCPI_BUF_LITERAL(claims, ",\"sub\":");
    if (r == 0)
        r = mcpi_json_write_string(claims, id, strlen(id));
    MCPI_BUF_LITERAL(claims, ",\"aud\":");
    if (r == 0)
        r = mcpi_json_write_string(claims, issuer, strlen(issuer));
    MCPI_BUF_LITERAL(claims, ",\"iat\":");
    mcpi_buf_int(claims, client->now);
    MCPI_BUF_LITERAL(claims, ",\"exp\":");
    mcpi_buf_int(claims, client->now + MCPI_GRANT_ASSERTION_S);
    MCPI_BUF_LITERAL(claims, ",\"jti\":\"");
    mcpi_buf_text(claims, jti);
    MCPI_BUF_LITERAL(claims, "\"}");
    return r < 0 ? r : claims->status;
}

static int
authenticate_jwt(const struct mcpi_grant_client *client, struct mcpi_buf *form)
{
    struct mcpi_jwt_make make = {.key = client->key, .typ = "JWT", .kid = client->kid};
    struct mcpi_buf claims, text;
    int r;

    mcpi_buf_init(&claims, form->mem, MCPI_JWT_BYTES_MAX);
    mcpi_buf_init(&text, form->mem, MCPI_JWT_BYTES_MAX);
    r = assertion_claims(client, &claims);
    if (r == 0) {
        make.claims = claims.data;
        make.claims_len = claims.len;
        r = mcpi_jwt_write(&make, &text);
    }
    mcpi_buf_char(&text, '\0');
    if (r == 0)
        r = text.status;
    if (r == 0) {
        mcpi_form_add(form, "client_assertion_type", ASSERTION_TYPE);
        mcpi_form_add(form, "client_assertion", text.data);
        r = form->status;
    }
    mcpi_buf_done(&claims);
    mcpi_buf_done(&text);
    return r;
}

int
mcpi_grant_authenticate(const struct mcpi_grant_client *client, struct mcpi_buf *fields,
                        struct mcpi_buf *form)
{
    const struct mcpi_registration *who = client->registration;

    switch (who->auth) {
    case MCPI_CLIENT_BASIC:
        authenticate_basic(who, fields);
        break;
    case MCPI_CLIENT_JWT:
        return authenticate_jwt(client, form);
    case MCPI_CLIENT_POST:
        mcpi_form_add(form, "client_id", who->client_id);
        mcpi_form_add(form, "client_secret", who->client_secret);
        break;
    case MCPI_CLIENT_NONE:
        if (*who->client_id)
            mcpi_form_add(form, "client_id", who->client_id);
        break;
    }
    return fields->status < 0 ? fields->status : form->status;
}

/* ---- the answer --------------------------------------------------------------- */

/* "" if it is none, or has a NUL in it. */
static const char *
text_of(const mcp_json *json, const char *name)
{
    const mcp_json *value = mcp_json_get(json, name);
    const char *text = mcp_json_string(value, "");

    return strlen(text) == mcp_json_string_length(value) ? text : "";
}

static int
refused(char *why, size_t size, const char *what)
{
    (void)mcpi_text_clean(why, size, what, strlen(what));
    return MCP_E_AUTH;
}

/* What an error says (RFC 6749, 5.2), for people. */
static int
read_error(int http, const mcp_json *json, const char **ret_code, char *why,
           size_t size)
{
    const char *code = text_of(json, "error");
    const char *more = text_of(json, "error_description");
    size_t code_len = mcpi_utf8_cut(code, strlen(code), CODE_SHOWN);
    size_t more_len = mcpi_utf8_cut(more, strlen(more), MORE_SHOWN);
    char text[320];

    if (ret_code)
        *ret_code = code;
    if (*code)
        snprintf(text, sizeof(text), "the authorization server refused: %.*s%s%.*s",
                 (int)code_len, code, *more ? ": " : "", (int)more_len, more);
    else
        snprintf(text, sizeof(text), "the authorization server answered with HTTP %d",
                 http);
    return refused(why, size, text);
}

/* Digits and nothing else; -1: it is not that. */
static double
seconds_of(const char *text)
{
    double seconds = 0;

    if (!*text)
        return -1;
    for (; *text >= '0' && *text <= '9'; text++)
        seconds = seconds * 10 + (*text - '0');
    return *text ? -1 : seconds;
}

/* A number of seconds; some servers write it as a text. */
static int64_t
read_expiry(const mcp_json *json, int64_t now)
{
    double seconds = mcp_json_number(mcp_json_get(json, "expires_in"),
                                     seconds_of(text_of(json, "expires_in")));

    if (!(seconds >= 0))
        return MCPI_NEVER;
    return now + (seconds > (double)LIFE_MAX ? LIFE_MAX : (int64_t)seconds);
}

int
mcpi_grant_read(int http, const mcp_json *json, int64_t now,
                struct mcpi_grant_answer *ret, const char **ret_code, char *why,
                size_t size)
{
    const char *type = text_of(json, "token_type");
    const char *access = text_of(json, "access_token");
    const char *refresh = text_of(json, "refresh_token");

    if (ret_code)
        *ret_code = "";
    if (http != 200 || (!*access && *text_of(json, "error"))) /* some say 200 */
        return read_error(http, json, ret_code, why, size);
    if (!mcpi_credential_is_text(access))
        return refused(why, size, "the authorization server gave no usable token");
    if (strcasecmp(type, "Bearer") != 0 && strcasecmp(type, "DPoP") != 0)
        return refused(why, size, "the token is of a type that we do not know");
    *ret = (struct mcpi_grant_answer){
        .access = access,
        .refresh = mcpi_credential_is_text(refresh) ? refresh : "",
        .scope = text_of(json, "scope"),
        .dpop = strcasecmp(type, "DPoP") == 0,
        .expires_at = read_expiry(json, now),
    };
    return 0;
}

int
mcpi_grant_read_exchange(int http, const mcp_json *json, const char **ret_assertion,
                         char *why, size_t size)
{
    const char *access = text_of(json, "access_token");

    if (http != 200)
        return read_error(http, json, NULL, why, size);
    if (strcmp(text_of(json, "issued_token_type"), ID_JAG) != 0 ||
        !mcpi_credential_is_text(access))
        return refused(why, size, "the identity provider gave no ID-JAG");
    *ret_assertion = access;
    return 0;
}
