/* issuer_test.c - the authorization server of the tests keeps its word, good or bad */
#include "support/issuer.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/dpop.h"
#include "auth/jwt.h"
#include "base/base64.h"
#include "base/mem.h"
#include "support/http_raw.h"
#include "support/issuer_warm.h"

#define RESOURCE "http://127.0.0.1:99/mcp"
#define REDIRECT "http://127.0.0.1:7/callback"
/* RFC 7636, appendix B */
#define VERIFIER "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
#define CHALLENGE "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
#define FORM "application/x-www-form-urlencoded"

/* ---- asking ----------------------------------------------------------------------- */

struct asked {
    int status;
    char location[2048], nonce[128];
    mcp_doc *doc; /* NULL: no JSON */
};

static void
asked_done(struct asked *asked)
{
    mcp_doc_free(asked->doc);
}

static const char *
asked_member(const struct asked *asked, const char *name)
{
    return mcp_json_string(mcp_json_get(mcp_doc_root(asked->doc), name), "");
}

static void
keep(char *into, size_t size, const char *text)
{
    (void)snprintf(into, size, "%s", text ? text : "");
}

static int
port_of(const struct issuer *issuer)
{
    return (int)strtol(strrchr(issuer_origin(issuer), ':') + 1, NULL, 10);
}

static void
request_say(struct http_raw *h, const char *target, const char *fields,
            const char *type, const char *body)
{
    char head[8192];

    (void)snprintf(head, sizeof(head),
                   "%s %s HTTP/1.1\r\nHost: a\r\n%s%s%s%sContent-Length: %zu\r\n\r\n",
                   body ? "POST" : "GET", target, fields ? fields : "",
                   type ? "Content-Type: " : "", type ? type : "", type ? "\r\n" : "",
                   body ? strlen(body) : 0);
    http_say(h, head);
    http_say(h, body ? body : "");
}

static struct asked
ask(const struct issuer *issuer, const char *target, const char *fields,
    const char *type, const char *body)
{
    struct asked asked = {0};
    struct http_raw h;
    const char *said;

    http_open(&h, port_of(issuer), NULL);
    request_say(&h, target, fields, type, body);
    asked.status = http_answer(&h);
    keep(asked.location, sizeof(asked.location), http_field(&h, "Location"));
    keep(asked.nonce, sizeof(asked.nonce), http_field(&h, "DPoP-Nonce"));
    said = http_body(&h);
    (void)mcp_doc_parse(said, strlen(said), NULL, &asked.doc, NULL);
    http_close(&h);
    return asked;
}

static int
status_of(const struct issuer *issuer, const char *target)
{
    struct asked asked = ask(issuer, target, NULL, NULL, NULL);

    asked_done(&asked);
    return asked.status;
}

/* ---- signing in ------------------------------------------------------------------- */

/* A client, by what its token requests have in them. */
struct who {
    char id[128];
    char form[512];   /* "&client_id=..." */
    char fields[512]; /* headers */
};

static struct who
who_registers(const struct issuer *issuer)
{
    struct asked asked = ask(issuer, "/register", NULL, "application/json",
                             "{\"redirect_uris\":[\"" REDIRECT
                             "\"],\"application_type\":\"native\","
                             "\"token_endpoint_auth_method\":\"none\"}");
    struct who who = {0};

    assert_int_equal(asked.status, 201);
    keep(who.id, sizeof(who.id), asked_member(&asked, "client_id"));
    (void)snprintf(who.form, sizeof(who.form), "&client_id=%s", who.id);
    asked_done(&asked);
    return who;
}

static struct asked
visit(const struct issuer *issuer, const char *id, const char *redirect,
      const char *more)
{
    char target[2048];

    (void)snprintf(target, sizeof(target),
                   "/authorize?response_type=code&client_id=%s&redirect_uri=%s&state=s"
                   "%s",
                   id, redirect, more);
    return ask(issuer, target, NULL, NULL, NULL);
}

#define GOOD_VISIT                                             \
    "&code_challenge=" CHALLENGE "&code_challenge_method=S256" \
    "&scope=a%20b&resource=" RESOURCE

static void
code_take(const struct issuer *issuer, const struct who *who, char *into, size_t size)
{
    struct asked asked = visit(issuer, who->id, REDIRECT, GOOD_VISIT);
    const char *at = strstr(asked.location, "?code=");

    assert_int_equal(asked.status, 302);
    assert_non_null(at);
    (void)snprintf(into, size, "%.*s", (int)strcspn(at + 6, "&"), at + 6);
    asked_done(&asked);
}

static struct asked
token_ask(const struct issuer *issuer, const struct who *who, const char *form)
{
    char body[8192];

    (void)snprintf(body, sizeof(body), "%s%s", form, who->form);
    return ask(issuer, "/token", who->fields, FORM, body);
}

static struct asked
code_spend(const struct issuer *issuer, const struct who *who, const char *code)
{
    char form[1024];

    (void)snprintf(form, sizeof(form),
                   "grant_type=authorization_code&code=%s&redirect_uri=" REDIRECT
                   "&code_verifier=" VERIFIER "&resource=" RESOURCE,
                   code);
    return token_ask(issuer, who, form);
}

static struct asked
sign_in(const struct issuer *issuer, const struct who *who)
{
    char code[128];

    code_take(issuer, who, code, sizeof(code));
    return code_spend(issuer, who, code);
}

static struct asked
refresh(const struct issuer *issuer, const struct who *who, const char *token)
{
    char form[1024];

    (void)snprintf(form, sizeof(form),
                   "grant_type=refresh_token&refresh_token=%s&resource=" RESOURCE,
                   token);
    return token_ask(issuer, who, form);
}

/* What a token says, if one of the published keys has signed it. */
static mcp_doc *
token_read(struct issuer *issuer, const char *text)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(NULL);
    struct mcpi_jwt jwt = {0};
    struct mcpi_key *key = NULL;
    mcp_doc *keys = NULL, *claims = NULL;
    char *set = issuer_keys(issuer);
    const mcp_json *one;

    assert_int_equal(mcp_doc_parse(set, strlen(set), NULL, &keys, NULL), 0);
    assert_int_equal(mcpi_jwt_read(mem, text, strlen(text), &jwt), 0);
    one = mcp_json_find(mcp_json_get(mcp_doc_root(keys), "keys"), "kid", jwt.kid);
    if (one) {
        assert_int_equal(mcpi_key_from_jwk(mem, one, &key), 0);
        assert_true(mcpi_jwt_is_signed_by(&jwt, key));
        claims = mcp_doc_ref(jwt.claims_doc);
    }
    mcpi_key_unref(key);
    mcpi_jwt_done(&jwt);
    mcp_doc_free(keys);
    free(set);
    return claims;
}

static void
expect_error(struct asked asked, int status, const char *error)
{
    assert_int_equal(asked.status, status);
    assert_string_equal(asked_member(&asked, "error"), error);
    asked_done(&asked);
}

/* ---- a good server ---------------------------------------------------------------- */

static void
metadata_is_where_it_should_be(void **state)
{
    static const char *const places[] = {"/.well-known/oauth-authorization-server/a",
                                         "/.well-known/openid-configuration/a",
                                         "/a/.well-known/openid-configuration"};
    struct issuer *issuer = issuer_open(&ISSUER_OPTIONS(.path = "/a"));

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        issuer_change(issuer, &ISSUER_OPTIONS(.documents = 1U << i));
        for (unsigned j = 0; j < 3; j++)
            assert_int_equal(status_of(issuer, places[j]), i == j ? 200 : 404);
    }
    assert_int_equal(status_of(issuer, "/.well-known/oauth-authorization-server"), 404);
    assert_int_equal(issuer_count(issuer, "/.well-known/*"), 7);
    issuer_close(issuer);
}

static void
a_code_becomes_a_token_for_the_resource(void **state)
{
    struct issuer *issuer = issuer_open(NULL);
    struct who who = who_registers(issuer);
    struct asked asked = sign_in(issuer, &who);
    mcp_doc *claims = token_read(issuer, asked_member(&asked, "access_token"));
    const mcp_json *said = mcp_doc_root(claims);

    (void)state;
    assert_int_equal(asked.status, 200);
    assert_string_equal(asked_member(&asked, "token_type"), "Bearer");
    assert_true(mcp_json_is_string(mcp_json_get(said, "iss"), issuer_url(issuer)));
    assert_true(mcp_json_is_string(mcp_json_get(said, "aud"), RESOURCE));
    assert_true(mcp_json_is_string(mcp_json_get(said, "client_id"), who.id));
    assert_true(mcp_json_is_string(mcp_json_get(said, "scope"), "a b"));
    assert_string_equal(issuer_param(issuer, "/token", 0, "code_verifier"), VERIFIER);
    assert_string_equal(issuer_param(issuer, "/authorize", 0, "scope"), "a b");
    assert_string_equal(issuer_member(issuer, "/register", 0, "application_type"),
                        "native");
    assert_null(issuer_param(issuer, "/token", 1, "code"));
    assert_int_equal(issuer_counts(issuer).tokens, 1);
    mcp_doc_free(claims);
    asked_done(&asked);
    issuer_close(issuer);
}

static void
a_code_is_good_once_and_for_who_asked(void **state)
{
    struct issuer *issuer = issuer_open(NULL);
    struct who who = who_registers(issuer), other = who_registers(issuer);
    struct asked asked;
    char code[128];

    (void)state;
    code_take(issuer, &who, code, sizeof(code));
    asked = code_spend(issuer, &who, code);
    assert_int_equal(asked.status, 200);
    expect_error(code_spend(issuer, &who, code), 400, "invalid_grant");
    expect_error(refresh(issuer, &who, asked_member(&asked, "refresh_token")), 400,
                 "invalid_grant");
    asked_done(&asked);
    code_take(issuer, &who, code, sizeof(code));
    expect_error(code_spend(issuer, &other, code), 400, "invalid_grant");
    issuer_close(issuer);
}

static void
what_a_client_must_send_is_insisted_on(void **state)
{
    static const struct {
        const char *more, *error;
    } visits[] = {
        {"&resource=" RESOURCE, "error=invalid_request"},
        {"&resource=" RESOURCE "&code_challenge=" VERIFIER
         "&code_challenge_method=plain",
         "error=invalid_request"},
        {"&code_challenge=" CHALLENGE "&code_challenge_method=S256",
         "error=invalid_target"},
    };
    struct issuer *issuer = issuer_open(NULL);
    struct who who = who_registers(issuer);
    struct asked asked;

    (void)state;
    for (size_t i = 0; i < sizeof(visits) / sizeof(*visits); i++) {
        asked = visit(issuer, who.id, REDIRECT, visits[i].more);
        assert_non_null(strstr(asked.location, visits[i].error));
        asked_done(&asked);
    }
    asked = visit(issuer, who.id, "http://127.0.0.1:7/other", GOOD_VISIT);
    assert_int_equal(asked.status, 400);
    asked_done(&asked);
    asked = visit(issuer, "nobody", REDIRECT, GOOD_VISIT);
    assert_int_equal(asked.status, 400);
    asked_done(&asked);
    issuer_close(issuer);
}

static void
a_wrong_verifier_and_another_resource_are_refused(void **state)
{
    struct issuer *issuer = issuer_open(NULL);
    struct who who = who_registers(issuer);
    char code[128], form[1024];

    (void)state;
    code_take(issuer, &who, code, sizeof(code));
    (void)snprintf(form, sizeof(form),
                   "grant_type=authorization_code&code=%s&redirect_uri=" REDIRECT
                   "&code_verifier=" CHALLENGE "&resource=" RESOURCE,
                   code);
    expect_error(token_ask(issuer, &who, form), 400, "invalid_grant");
    code_take(issuer, &who, code, sizeof(code));
    (void)snprintf(form, sizeof(form),
                   "grant_type=authorization_code&code=%s&redirect_uri=" REDIRECT
                   "&code_verifier=" VERIFIER "&resource=" RESOURCE "/",
                   code);
    expect_error(token_ask(issuer, &who, form), 400, "invalid_target");
    issuer_close(issuer);
}

static void
a_refresh_token_that_comes_twice_kills_its_family(void **state)
{
    struct issuer *issuer = issuer_open(NULL);
    struct who who = who_registers(issuer);
    struct asked first = sign_in(issuer, &who), second;

    (void)state;
    second = refresh(issuer, &who, asked_member(&first, "refresh_token"));
    assert_int_equal(second.status, 200);
    expect_error(refresh(issuer, &who, asked_member(&first, "refresh_token")), 400,
                 "invalid_grant");
    expect_error(refresh(issuer, &who, asked_member(&second, "refresh_token")), 400,
                 "invalid_grant");
    assert_int_equal(issuer_counts(issuer).reused, 1);
    assert_int_equal(issuer_counts(issuer).refreshed, 1);
    asked_done(&first);
    asked_done(&second);
    issuer_close(issuer);
}

/* ---- clients without a user ------------------------------------------------------- */

#define ITSELF "grant_type=client_credentials&resource=" RESOURCE

static void
a_client_proves_itself_with_its_secret(void **state)
{
    struct issuer *issuer = issuer_open(
        &ISSUER_OPTIONS(.client_id = "me", .client_secret = "a:b c"));
    struct who basic = {.fields = "Authorization: Basic bWU6YSUzQWIrYw==\r\n"};
    struct who post = {.form = "&client_id=me&client_secret=a%3Ab%20c"};
    struct who both = basic, wrong = {.form = "&client_id=me&client_secret=b"};
    struct asked asked;

    (void)state;
    strcpy(both.form, post.form);
    asked = token_ask(issuer, &basic, ITSELF);
    assert_int_equal(asked.status, 200);
    assert_string_equal(asked_member(&asked, "refresh_token"), "");
    asked_done(&asked);
    asked = token_ask(issuer, &post, ITSELF);
    assert_int_equal(asked.status, 200);
    asked_done(&asked);
    expect_error(token_ask(issuer, &both, ITSELF), 401, "invalid_client");
    expect_error(token_ask(issuer, &wrong, ITSELF), 401, "invalid_client");
    issuer_change(issuer, &ISSUER_OPTIONS(.client_id = "me", .client_secret = "a:b c",
                                          .auth_methods = "client_secret_basic"));
    expect_error(token_ask(issuer, &post, ITSELF), 401, "invalid_client");
    issuer_close(issuer);
}

static char *
pem_make(void)
{
    EVP_PKEY *pair = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    BIO *bio = BIO_new(BIO_s_mem());
    char *text, *copy;
    long len;

    assert_int_equal(
        PEM_write_bio_PKCS8PrivateKey(bio, pair, NULL, NULL, 0, NULL, NULL), 1);
    len = BIO_get_mem_data(bio, &text);
    copy = strndup(text, (size_t)len);
    BIO_free(bio);
    EVP_PKEY_free(pair);
    return copy;
}

static void
a_client_proves_itself_with_its_key(void **state)
{
    char *pem = pem_make(), claims[512], form[2048];
    struct issuer *issuer = issuer_open(
        &ISSUER_OPTIONS(.client_id = "me", .client_key = pem));
    struct mcpi_key *key = NULL;
    struct mcpi_buf jwt;
    struct asked asked;

    (void)state;
    mcpi_buf_init(&jwt, mcpi_mem_or_malloc(NULL), 8192);
    assert_int_equal(mcpi_key_from_pem(mcpi_mem_or_malloc(NULL), pem, &key), 0);
    (void)snprintf(claims, sizeof(claims),
                   "{\"iss\":\"me\",\"sub\":\"me\",\"aud\":\"%s\",\"jti\":\"1\","
                   "\"exp\":99999999999}",
                   issuer_url(issuer));
    assert_int_equal(
        mcpi_jwt_write(&(struct mcpi_jwt_make){.key = key,
                                               .claims = claims,
                                               .claims_len = strlen(claims)},
                       &jwt),
        0);
    (void)snprintf(form, sizeof(form),
                   ITSELF "&client_id=me&client_assertion_type=urn%%3Aietf%%3Aparams"
                          "%%3Aoauth%%3Aclient-assertion-type%%3Ajwt-bearer"
                          "&client_assertion=%.*s",
                   (int)jwt.len, jwt.data);
    asked = token_ask(issuer, &(struct who){0}, form);
    assert_int_equal(asked.status, 200);
    asked_done(&asked);
    expect_error(token_ask(issuer, &(struct who){0}, form), 401, "invalid_client");
    mcpi_buf_done(&jwt);
    mcpi_key_unref(key);
    issuer_close(issuer);
    free(pem);
}

static void
an_id_token_becomes_an_id_jag_and_that_a_token(void **state)
{
    struct issuer *company = issuer_open(
        &ISSUER_OPTIONS(.client_id = "me", .client_secret = "s"));
    struct issuer *issuer = issuer_open(
        &ISSUER_OPTIONS(.client_id = "me", .client_secret = "s", .trusts = company));
    struct who who = {.form = "&client_id=me&client_secret=s"};
    char claims[256], form[4096], *id;
    struct asked jag, asked;

    (void)state;
    (void)snprintf(
        claims, sizeof(claims),
        "{\"iss\":\"%s\",\"sub\":\"ann\",\"aud\":\"me\",\"exp\":99999999999}",
        issuer_url(company));
    id = issuer_sign(company, NULL, claims);
    (void)snprintf(form, sizeof(form),
                   "grant_type=urn:ietf:params:oauth:grant-type:token-exchange"
                   "&subject_token_type=urn:ietf:params:oauth:token-type:id_token"
                   "&requested_token_type=urn:ietf:params:oauth:token-type:id-jag"
                   "&subject_token=%s&audience=%s&resource=" RESOURCE,
                   id, issuer_url(issuer));
    jag = token_ask(company, &who, form);
    assert_int_equal(jag.status, 200);
    (void)snprintf(
        form, sizeof(form),
        "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=%s",
        asked_member(&jag, "access_token"));
    asked = token_ask(issuer, &who, form);
    assert_int_equal(asked.status, 200);
    expect_error(token_ask(issuer, &who, form), 400, "invalid_grant");
    expect_error(token_ask(company, &who, form), 400, "invalid_grant");
    asked_done(&jag);
    asked_done(&asked);
    free(id);
    issuer_close(issuer);
    issuer_close(company);
}

/* ---- DPoP ------------------------------------------------------------------------- */

static void
proof_make(const struct issuer *issuer, const struct mcpi_key *key, const char *nonce,
           struct who *who)
{
    struct mcpi_buf text;
    char url[256];

    (void)snprintf(url, sizeof(url), "%s/token", issuer_url(issuer));
    mcpi_buf_init(&text, mcpi_mem_or_malloc(NULL), 8192);
    assert_int_equal(mcpi_dpop_write(key,
                                     &(struct mcpi_dpop){.method = "POST",
                                                         .url = url,
                                                         .nonce = nonce,
                                                         .now = time(NULL)},
                                     &text),
                     0);
    assert_true(text.len < sizeof(who->fields) - 16);
    (void)snprintf(who->fields, sizeof(who->fields), "DPoP: %.*s\r\n", (int)text.len,
                   text.data);
    mcpi_buf_done(&text);
}

static void
proofs_bind_tokens_and_need_a_nonce(void **state)
{
    struct issuer *issuer = issuer_open(
        &ISSUER_OPTIONS(.client_id = "me", .client_secret = "s", .dpop_only = true,
                        .dpop_nonce = true));
    struct who who = {.form = "&client_id=me&client_secret=s"};
    char thumbprint[MCPI_KEY_THUMBPRINT_SIZE];
    struct mcpi_key *key = NULL;
    struct asked asked;
    mcp_doc *claims;

    (void)state;
    assert_int_equal(mcpi_key_generate(mcpi_mem_or_malloc(NULL), &key), 0);
    assert_int_equal(mcpi_key_thumbprint(key, thumbprint), 0);
    expect_error(token_ask(issuer, &who, ITSELF), 400, "invalid_dpop_proof");
    proof_make(issuer, key, NULL, &who);
    asked = token_ask(issuer, &who, ITSELF);
    assert_string_equal(asked_member(&asked, "error"), "use_dpop_nonce");
    proof_make(issuer, key, asked.nonce, &who);
    asked_done(&asked);
    asked = token_ask(issuer, &who, ITSELF);
    assert_string_equal(asked_member(&asked, "token_type"), "DPoP");
    claims = token_read(issuer, asked_member(&asked, "access_token"));
    assert_true(mcp_json_is_string(
        mcp_json_get(mcp_json_get(mcp_doc_root(claims), "cnf"), "jkt"), thumbprint));
    expect_error(token_ask(issuer, &who, ITSELF), 400, "invalid_dpop_proof");
    mcp_doc_free(claims);
    asked_done(&asked);
    mcpi_key_unref(key);
    issuer_close(issuer);
}

/* ---- keys ------------------------------------------------------------------------- */

static void
keys_of_each_kind_sign_and_turn(void **state)
{
    static const enum issuer_alg algs[] = {ISSUER_ES256, ISSUER_RS256, ISSUER_EDDSA};
    struct issuer *issuer;
    mcp_doc *claims;
    char *token;

    (void)state;
    for (size_t i = 0; i < sizeof(algs) / sizeof(*algs); i++) {
        issuer = issuer_open(&ISSUER_OPTIONS(.alg = algs[i]));
        token = issuer_token(issuer, RESOURCE, "a", NULL);
        issuer_turn_key(issuer, true);
        claims = token_read(issuer, token);
        assert_non_null(claims);
        mcp_doc_free(claims);
        issuer_turn_key(issuer, false);
        assert_null(token_read(issuer, token));
        free(token);
        issuer_close(issuer);
    }
}

/* ---- a bad server ----------------------------------------------------------------- */

static void
expect_redirect(struct issuer *issuer, const struct who *who, const char *has,
                const char * not )
{
    struct asked asked = visit(issuer, who->id, REDIRECT, GOOD_VISIT);

    assert_non_null(strstr(asked.location, has));
    if (not )
        assert_null(strstr(asked.location, not ));
    asked_done(&asked);
}

static void
its_redirects_can_lie(void **state)
{
    struct issuer *issuer = issuer_open(NULL);
    struct who who = who_registers(issuer);
    char slashed[64];

    (void)state;
    expect_redirect(issuer, &who, "&state=s&iss=http%3A%2F%2F127.0.0.1", NULL);
    issuer_change(issuer, &ISSUER_OPTIONS(.iss = ISSUER_WRONG));
    expect_redirect(issuer, &who, "&iss=https%3A%2F%2Fevil", NULL);
    issuer_change(issuer, &ISSUER_OPTIONS(.iss = ISSUER_SLASH));
    (void)snprintf(slashed, sizeof(slashed), "%s%%2F",
                   strrchr(issuer_url(issuer), ':') + 1);
    expect_redirect(issuer, &who, slashed, NULL);
    issuer_change(issuer,
                  &ISSUER_OPTIONS(.iss = ISSUER_MISSING, .state = ISSUER_WRONG));
    expect_redirect(issuer, &who, "&state=another", "iss=");
    issuer_change(issuer, &ISSUER_OPTIONS(.error = "access_denied"));
    expect_redirect(issuer, &who, "?error=access_denied&state=s", "code=");
    issuer_close(issuer);
}

static void
it_says_what_it_is_told(void **state)
{
    struct issuer *issuer = issuer_open(NULL);

    (void)state;
    issuer_say(issuer, ISSUER_ANSWER(.path = "/jwks", .times = 2,
                                     .status = "503 Service Unavailable"));
    issuer_say(issuer, ISSUER_ANSWER(.path = "/jwks", .times = 1, .status = "302 Found",
                                     .fields = "Location: http://127.0.0.1:1/\r\n"));
    assert_int_equal(status_of(issuer, "/jwks"), 302);
    assert_int_equal(status_of(issuer, "/jwks"), 503);
    assert_int_equal(status_of(issuer, "/jwks"), 503);
    assert_int_equal(status_of(issuer, "/jwks"), 200);
    issuer_close(issuer);
}

static void
an_answer_can_be_endless(void **state)
{
    struct issuer *issuer = issuer_open(NULL);
    struct http_raw h;

    (void)state;
    issuer_say(issuer, ISSUER_ANSWER(.path = "/jwks", .body = "{", .endless = true));
    http_open(&h, port_of(issuer), NULL);
    request_say(&h, "/jwks", NULL, NULL, NULL);
    assert_int_equal(http_head(&h), 200);
    while (h.len < (size_t)1 << 20)
        assert_true(http_wait(&h, AWAIT_MS));
    http_reset(&h);
    assert_true(issuer_await_left(issuer, 1));
    issuer_close(issuer);
}

static void
an_answer_waits_until_it_is_released(void **state)
{
    struct issuer *issuer = issuer_open(NULL);
    struct http_raw first, second;

    (void)state;
    issuer_hold(issuer, "/jwks");
    http_open(&first, port_of(issuer), NULL);
    http_open(&second, port_of(issuer), NULL);
    request_say(&first, "/jwks", NULL, NULL, NULL);
    request_say(&second, "/jwks", NULL, NULL, NULL);
    assert_true(issuer_await(issuer, "/jwks", 2));
    assert_int_equal(status_of(issuer, "/counts"), 200); /* others do not wait */
    http_close(&first);
    assert_true(issuer_await_left(issuer, 1));
    issuer_release(issuer);
    assert_int_equal(http_answer(&second), 200);
    http_close(&second);
    issuer_close(issuer);
}

TEST_MAIN(TEST(metadata_is_where_it_should_be),
          TEST(a_code_becomes_a_token_for_the_resource),
          TEST(a_code_is_good_once_and_for_who_asked),
          TEST(what_a_client_must_send_is_insisted_on),
          TEST(a_wrong_verifier_and_another_resource_are_refused),
          TEST(a_refresh_token_that_comes_twice_kills_its_family),
          TEST(a_client_proves_itself_with_its_secret),
          TEST(a_client_proves_itself_with_its_key),
          TEST(an_id_token_becomes_an_id_jag_and_that_a_token),
          TEST(proofs_bind_tokens_and_need_a_nonce),
          TEST(keys_of_each_kind_sign_and_turn), TEST(its_redirects_can_lie),
          TEST(it_says_what_it_is_told), TEST(an_answer_can_be_endless),
          TEST(an_answer_waits_until_it_is_released))
