/*
 * auth/watch.h - a guard in front of an endpoint, and tokens for it
 *
 * Loop, time and network are the test's: the guard fetches with a fetcher that the test
 * answers, on the endpoint's own loop.
 */
#ifndef TESTS_AUTH_WATCH_H
#define TESTS_AUTH_WATCH_H

#include "auth/dpop.h"
#include "auth/guard.h"
#include "auth/jwt_fixture.h"
#include "link/http_front.h"
#include "support/fake_fetch.h"

#define WATCH_NOW ((int64_t)1800000000)
#define RESOURCE "https://mcp.test/mcp"
#define ISSUER "https://as.test"
#define KEYS_URL "https://as.test/keys"
#define DOCUMENT "https://mcp.test/.well-known/oauth-protected-resource/mcp"
#define SAYS_DOCUMENT "resource_metadata=\"" DOCUMENT "\""

/* A token of ann's that is good for ten minutes; more: members, each with its comma
 * before. */
#define CLAIMS_OF(sub, more)                                                \
    "{'iss':'" ISSUER "','aud':'" RESOURCE "','exp':1800000600,'sub':'" sub \
    "','client_id':'app','who':'" sub "'" more "}"
#define ANN(more) CLAIMS_OF("ann", more)
/* Any other. */
#define WITH(iss, aud, rest) "{'iss':'" iss "','aud':" aud ",'sub':'ann'" rest "}"
#define HEAD_EC "{'alg':'ES256','kid':'one'}"
#define SET_EC                                                                   \
    "{\"keys\":[{\"kid\":\"one\",\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"" EC_X \
    "\",\"y\":\"" EC_Y "\"}]}"
#define SET_ED                                                                      \
    "{\"keys\":[{\"kid\":\"two\",\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"" ED_X \
    "\"}]}"
#define HEAD_ED "{'alg':'EdDSA','kid':'two'}"

struct watch {
    struct front f;
    struct test_mem own_mem, *mem; /* the guard's */
    struct fake_fetcher fetcher;
    mcp_guard *guard;
    int64_t unix_time;
    struct visit v; /* the last one */
    char headers[sizeof(((struct visit *)0)->headers)];
};

static inline int64_t
watch_now(void *user)
{
    return ((struct watch *)user)->unix_time;
}

static const char *const watch_issuers[] = {ISSUER, NULL};

static inline int
watch_try(struct watch *w, struct test_mem *mem, mcp_guard_options opt)
{
    struct mcpi_guard_seams seams = {.now = watch_now, .user = w};
    mcp_error err = {0};
    int r;

    memset(w, 0, sizeof(*w));
    test_mem_init(&w->own_mem);
    w->mem = mem ? mem : &w->own_mem;
    w->unix_time = WATCH_NOW;
    front_init(&w->f);
    front_open(&w->f);
    fake_fetcher_init(&w->fetcher, &w->mem->allocator);
    seams.loop = w->f.loop;
    seams.fetcher = &w->fetcher.fetcher;
    opt.resource = opt.resource ? opt.resource : RESOURCE;
    opt.issuers = opt.issuers ? opt.issuers : watch_issuers;
    opt.allocator = &w->mem->allocator;
    r = mcpi_guard_new(&opt, &seams, &w->guard, &err);
    if (r < 0)
        return r;
    w->f.http.identify = mcpi_guard_identify;
    w->f.http.identify_user = w->guard;
    w->f.endpoint->opt.notice = mcpi_guard_notice(w->guard);
    return 0;
}

static inline void
watch_open(struct watch *w, mcp_guard_options opt)
{
    assert_int_equal(watch_try(w, NULL, opt), 0);
}

/* With the key of HEAD_EC. */
#define WATCH_OPTIONS(...) MCP_GUARD_OPTIONS(.jwks = SET_EC, __VA_ARGS__)

static inline void
watch_close(struct watch *w)
{
    w->f.http.identify = NULL;
    mcp_guard_free(w->guard);
    fake_fetcher_done(&w->fetcher);
    front_close(&w->f);
    if (w->mem == &w->own_mem)
        test_mem_done(w->mem);
}

/* ---- requests ------------------------------------------------------------ */

/* A request with these headers, and that credential: "Bearer", or "DPoP" with a proof
 * (NULL: none). It is begun, and not done with. */
static inline void
watch_begin(struct watch *w, const char *scheme, const char *token, const char *proof,
            const char *headers, const char *body)
{
    int len = snprintf(w->headers, sizeof(w->headers), "%s%s%s%s%s%s%s%s%s", headers,
                       scheme ? "Authorization: " : "", scheme ? scheme : "",
                       scheme ? " " : "", scheme ? token : "", scheme ? "\n" : "",
                       proof ? "DPoP: " : "", proof ? proof : "", proof ? "\n" : "");

    assert_true(len > 0 && (size_t)len < sizeof(w->headers));
    front_post(&w->f, &w->v, w->headers, body);
}

/* The same, with an answer, of that status. */
static inline void
watch_gives(struct watch *w, int status)
{
    if (w->v.status != status)
        /* a failed case does not return, NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        fail_msg("%d: %s%s", w->v.status, w->v.said, w->v.text);
    visit_done(&w->v);
}

/* A modern call with a token of that header and those claims, signed by that key. */
static inline void
watch_call(struct watch *w, const char *head, const char *claims, const char *key)
{
    struct token token;

    token_make(&token, head, claims, key);
    watch_begin(w, "Bearer", token.text.data, NULL, MODERN_T, MODERN_CALL("1"));
    token_done(&token);
}

static inline void
watch_lets_in(struct watch *w, const char *claims)
{
    int served = w->f.served;

    watch_call(w, HEAD_EC, claims, EC_PRIVATE);
    watch_gives(w, 200);
    assert_int_equal(w->f.served, served + 1);
}

#define AUTHENTICATE "WWW-Authenticate: "

/* The answer is this refusal, with that challenge. */
static inline void
watch_refused(struct watch *w, int status, const char *challenge)
{
    char line[4096];

    (void)snprintf(line, sizeof(line), AUTHENTICATE "%s\n", challenge);
    if (!visit_says(&w->v, line))
        fail_msg("%d\n%s", w->v.status, w->v.said);
    assert_int_equal(visit_code(&w->v), -32600);
    watch_gives(w, status);
}

static inline void
watch_refuses(struct watch *w, const char *head, const char *claims, const char *key,
              const char *why)
{
    char challenge[512];
    int served = w->f.served;

    watch_call(w, head, claims, key);
    (void)snprintf(
        challenge, sizeof(challenge),
        "Bearer error=\"invalid_token\", error_description=\"%s\", " SAYS_DOCUMENT,
        why);
    watch_refused(w, 401, challenge);
    assert_int_equal(w->f.served, served);
}

/* ---- what a call of `t` needs ---------------------------------------------- */

/* For .needs, with .user: a text of 64 bytes, where what was asked is written. */
static inline const char *
watch_needs(void *user, const char *method, const char *name)
{
    char *seen = user;

    (void)snprintf(seen, 64, "%s %s", method, name);
    if (strcmp(method, "tools/call") == 0 && strcmp(name, "t") == 0)
        return "tools:t mcp";
    return NULL;
}

#define SAYS_MISSING                                                                  \
    "Bearer error=\"insufficient_scope\", error_description=\"the token has not all " \
    "scopes that are needed\", scope=\"mcp tools:t\", " SAYS_DOCUMENT

/* The same call, in a body that is longer than a stranger's may be. */
static inline void
watch_call_long(struct watch *w, const char *claims)
{
    static char big[70000];
    struct token token;

    memset(big, ' ', sizeof(big) - 1);
    memcpy(big, MODERN_CALL("1"), strlen(MODERN_CALL("1")));
    token_make(&token, HEAD_EC, claims, EC_PRIVATE);
    watch_begin(w, "Bearer", token.text.data, NULL, MODERN_T, big);
    token_done(&token);
}

/* ---- keys that are fetched -------------------------------------------------- */

#define WATCH_FETCHING MCP_GUARD_OPTIONS(.jwks_uri = KEYS_URL)

static inline void
watch_keys_come(struct watch *w, int status, const char *set)
{
    struct fake_fetch *get = fake_last(&w->fetcher);

    assert_string_equal(get->url, KEYS_URL);
    fake_answer(get, status, "application/json", set);
    front_run(&w->f);
}

/* ---- proofs ----------------------------------------------------------------- */

#define THUMB "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U" /* of EC_PUBLIC */
#define BOUND ANN(",'cnf':{'jkt':'" THUMB "'}")

/* A proof by that key, of a call with that token. */
struct proof {
    struct mcpi_buf text;
    struct mcpi_dpop what;
};

static inline void
proof_init(struct proof *p, const struct watch *w, const char *token)
{
    mcpi_buf_init(&p->text, NULL, 4096);
    p->what = (struct mcpi_dpop){
        .method = "POST", .url = RESOURCE, .token = token, .now = w->unix_time};
}

static inline const char *
proof_write(struct proof *p, const char *key_text)
{
    struct mcpi_key *key = key_of(key_text);

    mcpi_buf_clear(&p->text);
    assert_int_equal(mcpi_dpop_write(key, &p->what, &p->text), 0);
    mcpi_buf_char(&p->text, '\0');
    mcpi_key_unref(key);
    return p->text.data;
}

static inline void
watch_call_bound(struct watch *w, const struct token *token, const char *proof)
{
    watch_begin(w, "DPoP", token->text.data, proof, MODERN_T, MODERN_CALL("1"));
}

#endif
