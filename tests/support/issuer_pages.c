/* support/issuer_pages.c - an authorization server for tests: documents, registration,
 * signing in */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/issuer_parts.h"

#define ALL_METHODS "none client_secret_basic client_secret_post private_key_jwt"
#define EVIL "https://evil.example.com"

static const char *
issuer_path(const struct issuer *issuer)
{
    return issuer->opt.path ? issuer->opt.path : "";
}

/* ---- metadata --------------------------------------------------------------------- */

static void
put_words(mcp_builder *b, const char *key, const char *words)
{
    mcp_builder_begin_array(b, key);
    for (size_t len; *words; words += len + strspn(words + len, " ")) {
        len = strcspn(words, " ");
        mcp_builder_string_n(b, NULL, words, len);
    }
    mcp_builder_end(b);
}

static void
put_endpoint(mcp_builder *b, const struct issuer *issuer, const char *key,
             const char *name)
{
    const char *at = issuer->opt.elsewhere;
    char url[URL_ROOM * 2];

    (void)snprintf(url, sizeof(url), "%s%s%s", at ? at : issuer->origin,
                   issuer_path(issuer), name);
    mcp_builder_string(b, key, url);
}

static void
put_abilities(mcp_builder *b, const struct issuer_options *opt)
{
    const char *methods = opt->auth_methods ? opt->auth_methods : ALL_METHODS;

    put_words(b, "response_types_supported", "code");
    put_words(b, "grant_types_supported",
              "authorization_code refresh_token client_credentials "
              "urn:ietf:params:oauth:grant-type:token-exchange "
              "urn:ietf:params:oauth:grant-type:jwt-bearer");
    put_words(b, "token_endpoint_auth_methods_supported", methods);
    if (word_is_in(methods, "private_key_jwt"))
        put_words(b, "token_endpoint_auth_signing_alg_values_supported",
                  "ES256 RS256 EdDSA");
    if (!opt->no_s256)
        put_words(b, "code_challenge_methods_supported",
                  opt->plain_only ? "plain" : "S256");
    if (opt->scopes)
        put_words(b, "scopes_supported", opt->scopes);
    if (!opt->hides_iss)
        mcp_builder_bool(b, "authorization_response_iss_parameter_supported", true);
    if (opt->takes_documents)
        mcp_builder_bool(b, "client_id_metadata_document_supported", true);
    put_words(b, "dpop_signing_alg_values_supported", "ES256");
}

static void
metadata_answer(const struct issuer *issuer, struct reply *reply)
{
    const struct issuer_options *opt = &issuer->opt;
    mcp_builder *b = mcp_builder_new(NULL);

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "issuer", opt->claimed ? opt->claimed : issuer->url);
    put_endpoint(b, issuer, "authorization_endpoint", "/authorize");
    put_endpoint(b, issuer, "token_endpoint", "/token");
    put_endpoint(b, issuer, "jwks_uri", "/jwks");
    if (!opt->no_registration)
        put_endpoint(b, issuer, "registration_endpoint", "/register");
    put_abilities(b, opt);
    mcp_builder_end(b);
    reply_json(reply, "200 OK", b);
}

static bool
is_metadata(const struct issuer *issuer, const char *path)
{
    static const char *const forms[] = {"/.well-known/oauth-authorization-server%s",
                                        "/.well-known/openid-configuration%s",
                                        "%s/.well-known/openid-configuration"};
    unsigned documents = issuer->opt.documents ? issuer->opt.documents
                                               : ISSUER_AT_OAUTH;
    char expected[URL_ROOM * 2];

    for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        const char *blank = strstr(forms[i], "%s");

        (void)snprintf(expected, sizeof(expected), "%.*s%s%s", (int)(blank - forms[i]),
                       forms[i], issuer_path(issuer), blank + 2);
        if ((documents & 1U << i) && strcmp(path, expected) == 0)
            return true;
    }
    return false;
}

/* ---- registration ----------------------------------------------------------------- */

static void
client_tell(const struct client *client, struct reply *reply)
{
    mcp_json_iterator it = mcp_json_each(mcp_doc_root(client->doc));
    mcp_builder *b = mcp_builder_new(NULL);
    const char *key;

    mcp_builder_begin_object(b, NULL);
    while (mcp_json_next(&it)) {
        key = mcp_json_string(it.key, "");
        if (strcmp(key, "token_endpoint_auth_method") != 0)
            mcp_builder_value(b, key, it.value);
    }
    mcp_builder_string(b, "client_id", client->id);
    mcp_builder_string(b, "token_endpoint_auth_method", client->method);
    if (*client->secret) {
        mcp_builder_string(b, "client_secret", client->secret);
        mcp_builder_int(b, "client_secret_expires_at", 0);
    }
    mcp_builder_end(b);
    reply_json(reply, "201 Created", b);
}

static void
register_answer(struct issuer *issuer, const struct record *record, struct reply *reply)
{
    const struct client *client;
    mcp_doc *doc = NULL;

    if (issuer->opt.no_registration || strcmp(record->method, "POST") != 0) {
        reply->status = "404 Not Found";
        return;
    }
    if (mcp_doc_parse(record->body, strlen(record->body), NULL, &doc, NULL) < 0) {
        reply_error(reply, "400 Bad Request", "invalid_client_metadata", "no JSON");
        return;
    }
    client = client_add(issuer, doc);
    if (client)
        client_tell(client, reply);
    else
        reply_error(reply, "400 Bad Request", "invalid_client_metadata",
                    "not one that it can be");
}

/* ---- signing in ------------------------------------------------------------------- */

void
form_write(struct mcpi_buf *into, const char *name, const char *value)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789-._~";
    char code[8];

    mcpi_buf_text(into, name);
    mcpi_buf_char(into, '=');
    for (; *value; value++) {
        (void)snprintf(code, sizeof(code), "%%%02X", (unsigned char)*value);
        if (strchr(plain, *value))
            mcpi_buf_char(into, *value);
        else
            mcpi_buf_text(into, code);
    }
}

/* What is wrong with it, as an error for the redirect; NULL: nothing. */
static const char *
authorize_fault(const struct issuer *issuer, const struct record *record)
{
    const char *type = record_param(record, "response_type");
    const char *method = record_param(record, "code_challenge_method");
    const char *challenge = record_param(record, "code_challenge");

    if (issuer->opt.error)
        return issuer->opt.error;
    if (!type || strcmp(type, "code") != 0)
        return "unsupported_response_type";
    if (!method || strcmp(method, "S256") != 0 || !challenge ||
        strlen(challenge) != MCPI_KEY_THUMBPRINT_SIZE - 1)
        return "invalid_request";
    if (!record_param(record, "resource") && !issuer->opt.any_resource)
        return "invalid_target";
    return NULL;
}

static const struct grant *
grant_make(struct issuer *issuer, const struct record *record)
{
    struct grant *grant = calloc(1, sizeof(*grant));
    const char *jkt = record_param(record, "dpop_jkt");

    issuer_must(grant != NULL, "there is memory");
    word_make(issuer, "code", grant->code);
    grant->client_id = text_copy(record_param(record, "client_id"));
    grant->redirect_uri = text_copy(record_param(record, "redirect_uri"));
    grant->challenge = text_copy(record_param(record, "code_challenge"));
    grant->scope = text_copy(record_param(record, "scope"));
    grant->resource = text_copy(record_param(record, "resource"));
    (void)snprintf(grant->jkt, sizeof(grant->jkt), "%s", jkt ? jkt : "");
    grant->next = issuer->grants;
    issuer->grants = grant;
    issuer->counts.codes++;
    return grant;
}

static void
put_state(struct mcpi_buf *into, enum issuer_word how, const char *state)
{
    if (how == ISSUER_MISSING || !state)
        return;
    mcpi_buf_char(into, '&');
    form_write(into, "state", how == ISSUER_WRONG ? "another" : state);
}

static void
put_iss(struct mcpi_buf *into, enum issuer_word how, const char *url)
{
    char slashed[URL_ROOM + 1];

    if (how == ISSUER_MISSING)
        return;
    (void)snprintf(slashed, sizeof(slashed), "%s/", url);
    mcpi_buf_char(into, '&');
    if (how == ISSUER_WRONG)
        form_write(into, "iss", EVIL);
    else
        form_write(into, "iss", how == ISSUER_SLASH ? slashed : url);
}

static void
authorize_answer(struct issuer *issuer, const struct record *record,
                 struct reply *reply)
{
    const char *uri = record_param(record, "redirect_uri");
    const char *id = record_param(record, "client_id");
    const char *fault = authorize_fault(issuer, record);
    struct mcpi_buf *fields = &reply->fields;

    if (!uri || !id || !client_may_go(issuer, id, uri)) {
        reply->status = "400 Bad Request";
        reply->type = "text/plain";
        mcpi_buf_text(&reply->body, "no client of mine, or not to be sent there\n");
        return;
    }
    reply->status = "302 Found";
    mcpi_buf_text(fields, "Location: ");
    mcpi_buf_text(fields, uri);
    mcpi_buf_char(fields, strchr(uri, '?') ? '&' : '?');
    if (fault)
        form_write(fields, "error", fault);
    else
        form_write(fields, "code", grant_make(issuer, record)->code);
    put_state(fields, issuer->opt.state, record_param(record, "state"));
    put_iss(fields, issuer->opt.iss, issuer->url);
    mcpi_buf_text(fields, "\r\n");
}

/* ---- for programs that are not in C ----------------------------------------------- */

static void
counts_answer(const struct issuer *issuer, struct reply *reply)
{
    const struct issuer_counts *counts = &issuer->counts;
    mcp_builder *b = mcp_builder_new(NULL);

    mcp_builder_begin_object(b, NULL);
    mcp_builder_int(b, "registered", counts->registered);
    mcp_builder_int(b, "codes", counts->codes);
    mcp_builder_int(b, "tokens", counts->tokens);
    mcp_builder_int(b, "refreshed", counts->refreshed);
    mcp_builder_int(b, "refused", counts->refused);
    mcp_builder_int(b, "reused", counts->reused);
    mcp_builder_end(b);
    reply_json(reply, "200 OK", b);
}

/* ---- which one -------------------------------------------------------------------- */

static bool
is_endpoint(const struct issuer *issuer, const char *path, const char *name)
{
    size_t len = strlen(issuer_path(issuer));

    return strncmp(path, issuer_path(issuer), len) == 0 &&
           strcmp(path + len, name) == 0;
}

void
page_answer(struct issuer *issuer, const struct record *record, struct reply *reply)
{
    if (is_metadata(issuer, record->path)) {
        metadata_answer(issuer, reply);
    } else if (is_endpoint(issuer, record->path, "/jwks")) {
        reply->type = "application/json";
        keys_write(issuer, &reply->body);
    } else if (is_endpoint(issuer, record->path, "/register")) {
        register_answer(issuer, record, reply);
    } else if (is_endpoint(issuer, record->path, "/authorize")) {
        authorize_answer(issuer, record, reply);
    } else if (is_endpoint(issuer, record->path, "/token") &&
               strcmp(record->method, "POST") == 0) {
        token_answer(issuer, record, reply);
    } else if (is_endpoint(issuer, record->path, "/counts")) {
        counts_answer(issuer, reply);
    } else {
        reply->status = "404 Not Found";
    }
}
