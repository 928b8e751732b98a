/* support/issuer_grant.c - an authorization server for tests: the token endpoint */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/issuer_parts.h"

#define BAD "400 Bad Request"
#define EXCHANGE "urn:ietf:params:oauth:grant-type:token-exchange"
#define BEARER "urn:ietf:params:oauth:grant-type:jwt-bearer"
#define TYPE_ID_TOKEN "urn:ietf:params:oauth:token-type:id_token"
#define TYPE_ID_JAG "urn:ietf:params:oauth:token-type:id-jag"
#define JAG_TYP "oauth-id-jag+jwt"

/* One request. */
struct asking {
    struct issuer *issuer;
    const struct record *record;
    struct reply *reply;
    const char *client_id;
    const char *resource;
    const char *scope;
    char jkt[MCPI_KEY_THUMBPRINT_SIZE];
};

static void
refuse(struct asking *asking, const char *error, const char *why)
{
    reply_error(asking->reply, BAD, error, why);
}

static bool
same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* ---- what is given ---------------------------------------------------------------- */

void
grants_free(struct grant *grant)
{
    struct grant *next;

    for (; grant; grant = next) {
        next = grant->next;
        free(grant->client_id);
        free(grant->redirect_uri);
        free(grant->challenge);
        free(grant->scope);
        free(grant->resource);
        names_free(grant->old);
        free(grant);
    }
}

static bool
has_refresh(const struct issuer_options *opt, const char *scope)
{
    if (opt->no_refresh)
        return false;
    return !opt->offline_only || word_is_in(scope, "offline_access");
}

static int64_t
told_lifetime(const struct issuer_options *opt)
{
    if (opt->told)
        return opt->told;
    return opt->lifetime ? opt->lifetime : 3600;
}

/* grant NULL: nothing to refresh it with. */
static void
give(struct asking *asking, struct grant *grant)
{
    struct issuer *issuer = asking->issuer;
    const struct issuer_options *opt = &issuer->opt;
    const char *scope = opt->granted ? opt->granted : asking->scope;
    const char *type = *asking->jkt ? "DPoP" : "Bearer";
    mcp_builder *b = mcp_builder_new(NULL);
    char *token = token_sign(issuer, &(struct token){.client_id = asking->client_id,
                                                     .scope = scope,
                                                     .resource = asking->resource,
                                                     .jkt = asking->jkt});

    issuer->counts.tokens++;
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "access_token", token);
    mcp_builder_string(b, "token_type", opt->token_type ? opt->token_type : type);
    if (told_lifetime(opt) >= 0)
        mcp_builder_int(b, "expires_in", told_lifetime(opt));
    if (scope && *scope)
        mcp_builder_string(b, "scope", scope);
    if (grant && has_refresh(opt, scope)) {
        word_make(issuer, "refresh", grant->refresh);
        mcp_builder_string(b, "refresh_token", grant->refresh);
    }
    mcp_builder_end(b);
    reply_json(asking->reply, "200 OK", b);
    free(token);
}

/* ---- a code ----------------------------------------------------------------------- */

static struct grant *
code_find(const struct asking *asking)
{
    const char *code = record_param(asking->record, "code");
    struct grant *at = asking->issuer->grants;

    while (at && !same(at->code, code))
        at = at->next;
    return at;
}

static bool
verifier_is_right(const struct asking *asking, const struct grant *grant)
{
    const char *verifier = record_param(asking->record, "code_verifier");
    char challenge[MCPI_KEY_THUMBPRINT_SIZE];

    return verifier && strlen(verifier) >= 43 && strlen(verifier) <= 128 &&
           mcpi_sha256_text(verifier, strlen(verifier), challenge) == 0 &&
           same(challenge, grant->challenge);
}

static const char *
code_fault(const struct asking *asking, const struct grant *grant)
{
    if (!grant || grant->dead || grant->used)
        return "no code of mine, or used before";
    if (!same(grant->client_id, asking->client_id))
        return "the code is somebody else's";
    if (!same(grant->redirect_uri, record_param(asking->record, "redirect_uri")))
        return "another redirect_uri";
    if (!verifier_is_right(asking, grant))
        return "the verifier is not that of the challenge";
    if (*grant->jkt && !same(grant->jkt, asking->jkt))
        return "the code is bound to another key";
    return NULL;
}

static void
code_answer(struct asking *asking)
{
    struct grant *grant = code_find(asking);
    const char *fault = code_fault(asking, grant);

    if (fault) {
        if (grant)
            grant->dead = true;
        refuse(asking, "invalid_grant", fault);
        return;
    }
    grant->used = true;
    if (!same(grant->resource, asking->resource) && !asking->issuer->opt.any_resource) {
        refuse(asking, "invalid_target", "not the resource of the code");
        return;
    }
    (void)snprintf(grant->jkt, sizeof(grant->jkt), "%s", asking->jkt);
    asking->scope = grant->scope;
    give(asking, grant);
}

/* ---- a refresh token -------------------------------------------------------------- */

static bool
is_old(const struct grant *grant, const char *token)
{
    for (const struct name *at = grant->old; at; at = at->next)
        if (strcmp(at->text, token) == 0)
            return true;
    return false;
}

/* The family that it belongs to, be it the current one or one before. */
static struct grant *
refresh_find(const struct asking *asking, const char *token)
{
    struct grant *at = asking->issuer->grants;

    while (at && token && !same(at->refresh, token) && !is_old(at, token))
        at = at->next;
    return token ? at : NULL;
}

static const char *
refresh_fault(const struct asking *asking, const struct grant *grant)
{
    const char *scope = asking->scope;

    if (!grant || grant->dead)
        return "no refresh token of mine, or revoked";
    if (!same(grant->client_id, asking->client_id))
        return "the token is somebody else's";
    if (!same(grant->refresh, record_param(asking->record, "refresh_token")))
        return "the token was used before";
    if (*grant->jkt && !same(grant->jkt, asking->jkt))
        return "the token is bound to another key";
    if (scope && !words_are_in(grant->scope, scope))
        return "more scope than before";
    return NULL;
}

/* A token that comes twice was stolen, from one or the other: nobody gets more. */
static void
refresh_reused(struct asking *asking, struct grant *grant)
{
    if (!grant || grant->dead ||
        !is_old(grant, record_param(asking->record, "refresh_token")))
        return;
    grant->dead = true;
    asking->issuer->counts.reused++;
}

static void
refresh_answer(struct asking *asking)
{
    struct grant *grant = refresh_find(asking,
                                       record_param(asking->record, "refresh_token"));
    const char *fault = refresh_fault(asking, grant);

    if (fault) {
        refresh_reused(asking, grant);
        refuse(asking, "invalid_grant", fault);
        return;
    }
    if (!same(grant->resource, asking->resource) && !asking->issuer->opt.any_resource) {
        refuse(asking, "invalid_target", "not the resource of the sign-in");
        return;
    }
    name_add(&grant->old, grant->refresh);
    *grant->refresh = '\0';
    if (!asking->scope)
        asking->scope = grant->scope;
    asking->issuer->counts.refreshed++;
    give(asking, grant);
}

/* ---- without a user's browser ----------------------------------------------------- */

static void
client_answer(struct asking *asking)
{
    const struct record *record = asking->record;

    if (!asking->resource && !asking->issuer->opt.any_resource)
        refuse(asking, "invalid_target", "for which resource?");
    else if (!record_header(record, "Authorization") &&
             !record_param(record, "client_secret") &&
             !record_param(record, "client_assertion"))
        refuse(asking, "unauthorized_client", "only who has a secret may do that");
    else
        give(asking, NULL);
}

static void
put_param(mcp_builder *b, const char *key, const char *value)
{
    if (value)
        mcp_builder_string(b, key, value);
}

/* An ID-JAG: for the issuer that `audience` names, good for minutes. */
static char *
jag_sign(struct asking *asking, const mcp_json *claims)
{
    mcp_builder *b = mcp_builder_new(NULL);
    char jti[WORD_ROOM], *text;

    word_make(asking->issuer, "jag", jti);
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "iss", asking->issuer->url);
    mcp_builder_string(b, "sub",
                       mcp_json_string(mcp_json_get(claims, "sub"), "a user"));
    put_param(b, "aud", record_param(asking->record, "audience"));
    put_param(b, "resource", asking->resource);
    put_param(b, "scope", asking->scope);
    mcp_builder_string(b, "client_id", asking->client_id);
    mcp_builder_string(b, "jti", jti);
    mcp_builder_int(b, "iat", issuer_now(asking->issuer));
    mcp_builder_int(b, "exp", issuer_now(asking->issuer) + 300);
    mcp_builder_end(b);
    issuer_must(mcp_builder_status(b) == 0, "an ID-JAG can be built");
    text = claims_sign(asking->issuer, JAG_TYP, mcp_builder_text(b, NULL));
    mcp_builder_free(b);
    return text;
}

static void
exchange_answer(struct asking *asking)
{
    const struct record *record = asking->record;
    mcp_doc *doc = claims_of(asking->issuer, record_param(record, "subject_token"),
                             NULL, NULL);
    mcp_builder *b;
    char *jag;

    if (!doc || !same(record_param(record, "subject_token_type"), TYPE_ID_TOKEN) ||
        !same(record_param(record, "requested_token_type"), TYPE_ID_JAG) ||
        !record_param(record, "audience") || !asking->resource) {
        mcp_doc_free(doc);
        refuse(asking, "invalid_request", "no ID token, or nothing to make of it");
        return;
    }
    jag = jag_sign(asking, mcp_doc_root(doc));
    b = mcp_builder_new(NULL);
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "issued_token_type", TYPE_ID_JAG);
    mcp_builder_string(b, "access_token", jag);
    mcp_builder_string(b, "token_type", "N_A");
    mcp_builder_int(b, "expires_in", 300);
    mcp_builder_end(b);
    reply_json(asking->reply, "200 OK", b);
    free(jag);
    mcp_doc_free(doc);
}

/* An ID-JAG, whose resource counts; or any JWT that we trust, of a platform. */
static void
bearer_answer(struct asking *asking)
{
    mcp_doc *doc = claims_of(asking->issuer, record_param(asking->record, "assertion"),
                             NULL, asking->issuer->url);
    const mcp_json *claims = mcp_doc_root(doc);
    const char *resource = mcp_json_string(mcp_json_get(claims, "resource"), NULL);
    const char *jti = mcp_json_string(mcp_json_get(claims, "jti"), NULL);

    if (!doc || (jti && !name_is_new(asking->issuer, jti))) {
        refuse(asking, "invalid_grant", "no assertion for me, or used before");
    } else {
        if (!asking->resource)
            asking->resource = resource;
        if (!asking->scope)
            asking->scope = mcp_json_string(mcp_json_get(claims, "scope"), NULL);
        if (!asking->resource || (resource && !same(resource, asking->resource)))
            refuse(asking, "invalid_target", "for which resource?");
        else
            give(asking, NULL);
    }
    mcp_doc_free(doc);
}

/* ---- which one -------------------------------------------------------------------- */

static void
grant_answer(struct asking *asking)
{
    static const struct {
        const char *name;
        void (*answer)(struct asking *asking);
    } grants[] = {{"authorization_code", code_answer},
                  {"refresh_token", refresh_answer},
                  {"client_credentials", client_answer},
                  {EXCHANGE, exchange_answer},
                  {BEARER, bearer_answer}};
    const char *name = record_param(asking->record, "grant_type");

    for (size_t i = 0; i < sizeof(grants) / sizeof(*grants); i++)
        if (same(grants[i].name, name)) {
            grants[i].answer(asking);
            return;
        }
    refuse(asking, "unsupported_grant_type", "no such grant");
}

static void
nonce_tell(const struct issuer *issuer, struct reply *reply)
{
    if (!issuer->opt.dpop_nonce)
        return;
    mcpi_buf_text(&reply->fields, "DPoP-Nonce: ");
    mcpi_buf_text(&reply->fields, issuer->nonce);
    mcpi_buf_text(&reply->fields, "\r\n");
}

void
token_answer(struct issuer *issuer, const struct record *record, struct reply *reply)
{
    struct asking asking = {.issuer = issuer, .record = record, .reply = reply};
    const char *why = NULL, *fault;

    nonce_tell(issuer, reply);
    asking.resource = record_param(record, "resource");
    asking.scope = record_param(record, "scope");
    fault = proof_fault(issuer, record, asking.jkt);
    if (fault) {
        refuse(&asking, fault, "the proof does not do");
    } else {
        asking.client_id = client_prove(issuer, record, &why);
        if (asking.client_id)
            grant_answer(&asking);
        else
            reply_error(reply, "401 Unauthorized", "invalid_client", why);
    }
    issuer->counts.refused += strncmp(reply->status, "200", 3) != 0;
}
