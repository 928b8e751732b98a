/* support/issuer_key.c - an authorization server for tests: keys, and what they sign */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth/dpop.h"
#include "auth/jwt.h"
#include "base/mem.h"
#include "support/issuer_parts.h"

#define LIFETIME 3600
#define LEEWAY 30

/* ---- keys ------------------------------------------------------------------------- */

static EVP_PKEY *
pair_make(enum issuer_alg alg)
{
    if (alg == ISSUER_RS256)
        return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
    if (alg == ISSUER_EDDSA)
        return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    return EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
}

static struct mcpi_key *
key_make(enum issuer_alg alg)
{
    EVP_PKEY *pair = pair_make(alg);
    BIO *bio = BIO_new(BIO_s_mem());
    struct mcpi_key *key = NULL;
    char *text = NULL;
    long len;

    issuer_must(pair && bio &&
                    PEM_write_bio_PKCS8PrivateKey(bio, pair, NULL, NULL, 0, NULL, NULL),
                "a key can be made");
    len = BIO_get_mem_data(bio, &text);
    text = strndup(text, (size_t)len);
    issuer_must(text && mcpi_key_from_pem(mcpi_mem_or_malloc(NULL), text, &key) == 0,
                "the key can be read");
    free(text);
    BIO_free(bio);
    EVP_PKEY_free(pair);
    return key;
}

void
key_add(struct issuer *issuer)
{
    size_t most = sizeof(issuer->keys) / sizeof(*issuer->keys);

    keys_drop(issuer, most - 1);
    memmove(issuer->keys + 1, issuer->keys, issuer->key_count * sizeof(*issuer->keys));
    issuer->key_count++;
    issuer->keys[0].key = key_make(issuer->opt.alg);
    word_make(issuer, "key", issuer->keys[0].kid);
}

void
keys_drop(struct issuer *issuer, size_t from)
{
    while (issuer->key_count > from)
        mcpi_key_unref(issuer->keys[--issuer->key_count].key);
}

/* A key of it, as a member of a set: with a name, and what it is for. */
static void
key_write(const struct signer *signer, struct mcpi_buf *into)
{
    size_t at;

    mcpi_buf_text(into, "{\"kid\":\"");
    mcpi_buf_text(into, signer->kid);
    mcpi_buf_text(into, "\",\"use\":\"sig\",\"alg\":\"");
    mcpi_buf_text(into, mcpi_key_alg(signer->key));
    mcpi_buf_text(into, "\"");
    at = into->len;
    issuer_must(mcpi_key_write(signer->key, false, into) == 0, "the key can be told");
    into->data[at] = ','; /* instead of its brace */
}

void
keys_write(struct issuer *issuer, struct mcpi_buf *into)
{
    mcpi_buf_text(into, "{\"keys\":[");
    for (size_t i = 0; i < issuer->key_count; i++) {
        if (i > 0)
            mcpi_buf_char(into, ',');
        key_write(&issuer->keys[i], into);
    }
    mcpi_buf_text(into, "]}");
}

/* ---- signing ---------------------------------------------------------------------- */

char *
claims_sign(struct issuer *issuer, const char *typ, const char *claims)
{
    const struct mcpi_jwt_make make = {.key = issuer->keys[0].key,
                                       .typ = typ,
                                       .kid = issuer->keys[0].kid,
                                       .claims = claims,
                                       .claims_len = strlen(claims)};
    struct mcpi_buf text;
    char *copy;

    text_buf(&text);
    issuer_must(mcpi_jwt_write(&make, &text) == 0, "it can be signed");
    mcpi_buf_char(&text, '\0');
    copy = text_copy(text.data);
    mcpi_buf_done(&text);
    return copy;
}

static void
put_times(struct issuer *issuer, mcp_builder *b)
{
    int64_t lifetime = issuer->opt.lifetime ? issuer->opt.lifetime : LIFETIME;
    char jti[WORD_ROOM];

    word_make(issuer, "jti", jti);
    mcp_builder_int(b, "iat", issuer_now(issuer));
    mcp_builder_int(b, "exp", issuer_now(issuer) + lifetime);
    mcp_builder_string(b, "jti", jti);
}

char *
token_sign(struct issuer *issuer, const struct token *token)
{
    const char *audience = issuer->opt.audience;
    mcp_builder *b = mcp_builder_new(NULL);
    char *text;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "iss", issuer->url);
    mcp_builder_string(b, "sub", "a user");
    mcp_builder_string(b, "aud", audience ? audience : token->resource);
    mcp_builder_string(b, "client_id", token->client_id);
    if (token->scope && *token->scope)
        mcp_builder_string(b, "scope", token->scope);
    put_times(issuer, b);
    if (token->jkt && *token->jkt) {
        mcp_builder_begin_object(b, "cnf");
        mcp_builder_string(b, "jkt", token->jkt);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
    issuer_must(mcp_builder_status(b) == 0, "a token can be built");
    text = claims_sign(issuer, "at+jwt", mcp_builder_text(b, NULL));
    mcp_builder_free(b);
    return text;
}

/* ---- checking --------------------------------------------------------------------- */

static bool
is_signed(const struct issuer *issuer, const struct mcpi_jwt *jwt)
{
    for (size_t i = 0; i < issuer->key_count; i++)
        if (mcpi_jwt_is_signed_by(jwt, issuer->keys[i].key))
            return true;
    return false;
}

static bool
is_issued(struct issuer *issuer, const struct mcpi_jwt *jwt, const char *audience)
{
    const struct mcpi_jwt_rules rules = {.issuer = issuer->url,
                                         .audience = audience,
                                         .now = issuer_now(issuer),
                                         .leeway = LEEWAY,
                                         .needs_expiry = true};

    return is_signed(issuer, jwt) && !mcpi_jwt_fault(jwt, &rules);
}

/* The other's lock is taken under ours; so no two of them trust each other. */
static bool
is_issued_by_other(struct issuer *other, const struct mcpi_jwt *jwt,
                   const char *audience)
{
    bool is_so;

    if (!other)
        return false;
    pthread_mutex_lock(&other->lock);
    is_so = is_issued(other, jwt, audience);
    pthread_mutex_unlock(&other->lock);
    return is_so;
}

mcp_doc *
claims_of(struct issuer *issuer, const char *text, const char *typ,
          const char *audience)
{
    struct mcpi_jwt jwt = {0};
    mcp_doc *doc = NULL;

    if (!text || mcpi_jwt_read(mcpi_mem_or_malloc(NULL), text, strlen(text), &jwt) < 0)
        return NULL;
    if ((!typ || strcmp(jwt.typ, typ) == 0) &&
        (is_issued(issuer, &jwt, audience) ||
         is_issued_by_other(issuer->opt.trusts, &jwt, audience)))
        doc = mcp_doc_ref(jwt.claims_doc);
    mcpi_jwt_done(&jwt);
    return doc;
}

/* Meant for us: for the issuer, or its token endpoint (RFC 7523). */
static bool
assertion_is_ours(struct issuer *issuer, const struct mcpi_jwt *jwt,
                  const char *client_id)
{
    char endpoint[URL_ROOM + 8];
    struct mcpi_jwt_rules rules = {.issuer = client_id,
                                   .audience = issuer->url,
                                   .now = issuer_now(issuer),
                                   .leeway = LEEWAY,
                                   .needs_expiry = true};

    if (mcpi_jwt_fault(jwt, &rules)) {
        (void)snprintf(endpoint, sizeof(endpoint), "%s/token", issuer->url);
        rules.audience = endpoint;
        if (mcpi_jwt_fault(jwt, &rules))
            return false;
    }
    return mcp_json_is_string(mcp_json_get(jwt->claims, "sub"), client_id) &&
           name_is_new(issuer, mcp_json_string(mcp_json_get(jwt->claims, "jti"), NULL));
}

bool
assertion_is_good(struct issuer *issuer, const char *text, const char *client_id)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(NULL);
    struct mcpi_key *key = NULL;
    struct mcpi_jwt jwt = {0};
    bool ok;

    if (!issuer->opt.client_key ||
        mcpi_key_from_pem(mem, issuer->opt.client_key, &key) < 0)
        return false;
    ok = mcpi_jwt_read(mem, text, strlen(text), &jwt) == 0 &&
         mcpi_jwt_is_signed_by(&jwt, key) && assertion_is_ours(issuer, &jwt, client_id);
    mcpi_jwt_done(&jwt);
    mcpi_key_unref(key);
    return ok;
}

bool
name_is_new(struct issuer *issuer, const char *name)
{
    if (!name)
        return false;
    for (const struct name *at = issuer->names; at; at = at->next)
        if (strcmp(at->text, name) == 0)
            return false;
    name_add(&issuer->names, name);
    return true;
}

const char *
proof_fault(struct issuer *issuer, const struct record *record, char *ret_jkt)
{
    const char *proof = record_header(record, "DPoP");
    char jti[MCPI_KEY_THUMBPRINT_SIZE], url[URL_ROOM + 8];
    struct mcpi_dpop what = {.method = "POST", .url = url, .now = issuer_now(issuer)};
    bool wants_nonce = false;

    *ret_jkt = '\0';
    if (!proof)
        return issuer->opt.dpop_only ? "invalid_dpop_proof" : NULL;
    (void)snprintf(url, sizeof(url), "%s/token", issuer->url);
    if (issuer->opt.dpop_nonce)
        what.nonce = issuer->nonce;
    if (mcpi_dpop_fault(mcpi_mem_or_malloc(NULL), proof, &what, ret_jkt, jti,
                        &wants_nonce))
        return wants_nonce ? "use_dpop_nonce" : "invalid_dpop_proof";
    return name_is_new(issuer, jti) ? NULL : "invalid_dpop_proof";
}
