/* support/issuer_client.c - an authorization server for tests: who its clients are */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "support/issuer_parts.h"

#define ASSERTION_TYPE "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

/* ---- who registered --------------------------------------------------------------- */

static struct client *
client_find(const struct issuer *issuer, const char *id)
{
    struct client *at = issuer->clients;

    while (at && strcmp(at->id, id) != 0)
        at = at->next;
    return at;
}

static bool
is_known_first(const struct issuer *issuer, const char *id)
{
    return issuer->opt.client_id && strcmp(issuer->opt.client_id, id) == 0;
}

static bool
is_document(const struct issuer *issuer, const char *id)
{
    return issuer->opt.takes_documents && strncmp(id, "https://", 8) == 0 &&
           strchr(id + 8, '/');
}

/* What a client that registers must say (RFC 7591, and SEP-837). */
static bool
is_registration(const mcp_json *said, const char *methods)
{
    const mcp_json *type = mcp_json_get(said, "application_type");
    const char *method = mcp_json_string(
        mcp_json_get(said, "token_endpoint_auth_method"), "client_secret_basic");

    if (mcp_json_count(mcp_json_get(said, "redirect_uris")) == 0)
        return false;
    if (type && !mcp_json_is_string(type, "native") && !mcp_json_is_string(type, "web"))
        return false;
    return !methods || word_is_in(methods, method);
}

struct client *
client_add(struct issuer *issuer, mcp_doc *take_doc)
{
    const mcp_json *said = mcp_doc_root(take_doc);
    struct client *client;

    if (!is_registration(said, issuer->opt.auth_methods)) {
        mcp_doc_free(take_doc);
        return NULL;
    }
    client = calloc(1, sizeof(*client));
    issuer_must(client != NULL, "there is memory");
    client->doc = take_doc;
    word_make(issuer, "client", client->id);
    (void)snprintf(client->method, sizeof(client->method), "%s",
                   mcp_json_string(mcp_json_get(said, "token_endpoint_auth_method"),
                                   "client_secret_basic"));
    if (strncmp(client->method, "client_secret", 13) == 0)
        word_make(issuer, "secret", client->secret);
    client->next = issuer->clients;
    issuer->clients = client;
    issuer->counts.registered++;
    return client;
}

void
clients_free(struct client *client)
{
    struct client *next;

    for (; client; client = next) {
        next = client->next;
        mcp_doc_free(client->doc);
        free(client);
    }
}

/* ---- where it may be sent --------------------------------------------------------- */

/* The length up to the port, of http on loopback; 0: it is none of those. */
static size_t
loopback_length(const char *uri)
{
    static const char *const begins[] = {"http://127.0.0.1", "http://localhost",
                                         "http://[::1]"};

    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
        if (strncmp(uri, begins[i], strlen(begins[i])) == 0)
            return strlen(begins[i]);
    return 0;
}

/* The same; on loopback, whatever the port (RFC 8252, 7.3). */
static bool
is_same_uri(const char *uri, const char *registered)
{
    size_t len = loopback_length(registered);

    if (strcmp(uri, registered) == 0)
        return true;
    if (len == 0 || strncmp(uri, registered, len) != 0)
        return false;
    uri += len + strcspn(uri + len, "/?");
    registered += len + strcspn(registered + len, "/?");
    return strcmp(uri, registered) == 0;
}

bool
client_may_go(const struct issuer *issuer, const char *id, const char *uri)
{
    const struct client *client = client_find(issuer, id);
    const char *fixed = issuer->opt.redirect_uri;
    mcp_json_iterator it;

    if (is_document(issuer, id) || is_known_first(issuer, id))
        return fixed ? is_same_uri(uri, fixed) : loopback_length(uri) > 0;
    if (!client)
        return false;
    it = mcp_json_each(mcp_json_get(mcp_doc_root(client->doc), "redirect_uris"));
    while (mcp_json_next(&it))
        if (is_same_uri(uri, mcp_json_string(it.value, "")))
            return true;
    return false;
}

/* ---- who asks --------------------------------------------------------------------- */

struct proof {
    const char *method;
    char id[2048], secret[512];
};

static bool
basic_read(const char *header, struct proof *proof)
{
    struct mcpi_buf text;
    char *colon = NULL;

    text_buf(&text);
    (void)mcpi_base64_read(&text, header + 6, strlen(header + 6));
    mcpi_buf_char(&text, '\0');
    colon = strchr(text.data, ':');
    if (colon) {
        *colon = '\0';
        form_decode(text.data);
        form_decode(colon + 1);
        (void)snprintf(proof->id, sizeof(proof->id), "%s", text.data);
        (void)snprintf(proof->secret, sizeof(proof->secret), "%s", colon + 1);
    }
    mcpi_buf_done(&text);
    return colon != NULL;
}

/* Without a client_id: sub of the assertion, which is looked at later. */
static bool
proof_read(struct issuer *issuer, const struct record *record, struct proof *proof)
{
    const char *header = record_header(record, "Authorization");
    const char *id = record_param(record, "client_id");
    const char *secret = record_param(record, "client_secret");
    const char *assertion = record_param(record, "client_assertion");

    (void)snprintf(proof->id, sizeof(proof->id), "%s", id ? id : "");
    if ((header != NULL) + (secret != NULL) + (assertion != NULL) > 1)
        return false; /* RFC 6749, 2.3: one way at a time */
    if (header) {
        proof->method = "client_secret_basic";
        return strncmp(header, "Basic ", 6) == 0 && basic_read(header, proof);
    }
    if (secret) {
        proof->method = "client_secret_post";
        (void)snprintf(proof->secret, sizeof(proof->secret), "%s", secret);
    } else if (assertion) {
        proof->method = "private_key_jwt";
        if (!id && issuer->opt.client_id)
            (void)snprintf(proof->id, sizeof(proof->id), "%s", issuer->opt.client_id);
    } else {
        proof->method = "none";
    }
    return *proof->id != '\0';
}

static bool
assertion_check(struct issuer *issuer, const struct record *record, const char *id)
{
    const char *type = record_param(record, "client_assertion_type");

    return type && strcmp(type, ASSERTION_TYPE) == 0 &&
           assertion_is_good(issuer, record_param(record, "client_assertion"), id);
}

/* One that was known before: by its key, its secret, or its name alone. */
static bool
first_check(struct issuer *issuer, const struct record *record,
            const struct proof *proof)
{
    const char *secret = issuer->opt.client_secret;

    if (issuer->opt.client_key)
        return strcmp(proof->method, "private_key_jwt") == 0 &&
               assertion_check(issuer, record, proof->id);
    if (secret)
        return strcmp(proof->secret, secret) == 0;
    return strcmp(proof->method, "none") == 0;
}

const char *
client_prove(struct issuer *issuer, const struct record *record, const char **ret_why)
{
    static _Thread_local struct proof proof;
    const char *methods = issuer->opt.auth_methods;
    const struct client *client;
    bool ok;

    proof = (struct proof){0};
    *ret_why = "the client does not prove who it is, or in two ways";
    if (!proof_read(issuer, record, &proof))
        return NULL;
    *ret_why = "there is no such way to prove who one is here";
    if (methods && !word_is_in(methods, proof.method))
        return NULL;
    *ret_why = "no client of mine, or not as it registered";
    client = client_find(issuer, proof.id);
    if (is_known_first(issuer, proof.id))
        ok = first_check(issuer, record, &proof);
    else if (is_document(issuer, proof.id))
        ok = strcmp(proof.method, "none") == 0;
    else
        ok = client && strcmp(client->method, proof.method) == 0 &&
             strcmp(client->secret, proof.secret) == 0;
    return ok ? proof.id : NULL;
}
