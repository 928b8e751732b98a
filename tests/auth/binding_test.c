/* binding_test.c - a token that is bound to a key, and the proof that it comes with */
#include "auth/watch.h"

#define ALGS "DPoP algs=\"ES256 EdDSA RS256\", "
#define BAD_PROOF(why) \
    ALGS "error=\"invalid_dpop_proof\", error_description=\"" why "\", " SAYS_DOCUMENT
#define BAD_TOKEN(why) \
    ALGS "error=\"invalid_token\", error_description=\"" why "\", " SAYS_DOCUMENT

static void
a_bound_token_comes_with_its_proof(void **state)
{
    struct token token;
    struct proof p;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    token_make(&token, HEAD_EC, BOUND, EC_PRIVATE);
    proof_init(&p, &w, token.text.data);
    watch_call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_gives(&w, 200);
    assert_string_equal(w.f.principal, ISSUER "|app|ann");
    watch_call_bound(&w, &token, p.text.data);
    watch_refused(&w, 401, BAD_PROOF("the proof was used before"));
    watch_call_bound(&w, &token, NULL);
    watch_refused(&w, 401, BAD_PROOF("one proof is needed"));
    watch_begin(&w, "DPoP", token.text.data, proof_write(&p, EC_PRIVATE),
                MODERN_T "DPoP: x\n", MODERN_CALL("1"));
    watch_refused(&w, 401, BAD_PROOF("one proof is needed"));
    watch_call_bound(&w, &token, proof_write(&p, ED_PRIVATE));
    watch_refused(&w, 401, BAD_PROOF("the proof is of another key"));
    watch_begin(&w, "Bearer", token.text.data, NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(&w, 401,
                  BAD_TOKEN("the token is bound to a key and needs its proof"));
    watch_begin(&w, "Bearer", token.text.data, proof_write(&p, EC_PRIVATE), MODERN_T,
                MODERN_CALL("1"));
    watch_refused(&w, 401,
                  BAD_TOKEN("the token is bound to a key and needs its proof"));
    assert_int_equal(w.f.served, 1);
    mcpi_buf_done(&p.text);
    token_done(&token);
    watch_close(&w);
}

static void
a_proof_is_for_one_request(void **state)
{
    struct token token;
    struct proof p;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    token_make(&token, HEAD_EC, BOUND, EC_PRIVATE);
    proof_init(&p, &w, token.text.data);
    p.what.method = "GET";
    watch_call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_refused(&w, 401, BAD_PROOF("the DPoP proof is for another method"));
    p.what.method = "POST";
    p.what.url = "https://mcp.test/other";
    watch_call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_refused(&w, 401, BAD_PROOF("the DPoP proof is for another URL"));
    p.what.url = "http://localhost:8080/mcp"; /* where we are is not where clients go */
    watch_call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_refused(&w, 401, BAD_PROOF("the DPoP proof is for another URL"));
    p.what.url = RESOURCE;
    p.what.token = "another";
    watch_call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_refused(&w, 401, BAD_PROOF("the DPoP proof is for another token"));
    p.what.token = token.text.data;
    p.what.now = w.unix_time - MCPI_DPOP_AGE_MAX - 1;
    watch_call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_refused(&w, 401, BAD_PROOF("the DPoP proof is not of now"));
    assert_int_equal(w.f.served, 0);
    mcpi_buf_done(&p.text);
    token_done(&token);
    watch_close(&w);
}

static void
a_token_that_is_not_bound_needs_no_proof_and_gets_none(void **state)
{
    struct token token;
    struct proof p;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    token_make(&token, HEAD_EC, ANN(""), EC_PRIVATE);
    proof_init(&p, &w, token.text.data);
    watch_call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_refused(&w, 401, BAD_TOKEN("the token must be bound to a key"));
    watch_close(&w);
    watch_open(&w, WATCH_OPTIONS(.dpop_only = true));
    watch_begin(&w, "Bearer", token.text.data, NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(&w, 401, BAD_TOKEN("the token must be bound to a key"));
    watch_begin(&w, NULL, NULL, NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(&w, 401, ALGS SAYS_DOCUMENT);
    assert_int_equal(w.f.served, 0);
    mcpi_buf_done(&p.text);
    token_done(&token);
    watch_close(&w);
}

/* The nonce that the last answer said. */
static void
nonce_of(const struct watch *w, char into[MCPI_NONCE_SIZE])
{
    const char *at = strstr(w->v.said, "DPoP-Nonce: ");
    size_t len;

    assert_non_null(at);
    at += strlen("DPoP-Nonce: ");
    len = strcspn(at, "\n");
    assert_true(len < MCPI_NONCE_SIZE);
    memcpy(into, at, len);
    into[len] = '\0';
}

static void
a_proof_may_need_a_nonce_of_ours(void **state)
{
    char nonce[MCPI_NONCE_SIZE], next[MCPI_NONCE_SIZE];
    struct token token;
    struct proof p;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.dpop_nonce = true));
    token_make(&token, HEAD_EC, BOUND, EC_PRIVATE);
    proof_init(&p, &w, token.text.data);
    watch_call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    nonce_of(&w, nonce);
    watch_refused(&w, 401,
                  ALGS
                  "error=\"use_dpop_nonce\", error_description=\"the proof needs a "
                  "nonce\", " SAYS_DOCUMENT);
    p.what.nonce = nonce;
    watch_call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_gives(&w, 200);
    p.what.now = w.unix_time += MCPI_NONCE_WINDOW;
    watch_call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    nonce_of(&w, next);
    watch_gives(&w, 200); /* the one before is good too, and the answer has the next */
    assert_string_not_equal(nonce, next);
    p.what.now = w.unix_time += MCPI_NONCE_WINDOW;
    watch_call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_gives(&w, 401);
    p.what.nonce = next;
    watch_call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_gives(&w, 200);
    watch_call_bound(&w, &token, p.text.data);
    watch_refused(&w, 401, BAD_PROOF("the proof was used before"));
    mcpi_buf_done(&p.text);
    token_done(&token);
    watch_close(&w);
}

/* As many proofs as one may have. */
static void
fill_share(struct watch *w, const char *owner)
{
    char name[32];
    int r = 0;

    for (int i = 0; r == 0; i++) {
        (void)snprintf(name, sizeof(name), "%d", i);
        r = mcpi_replay_add(w->guard->replay, owner, name, w->unix_time,
                            w->unix_time + 600);
    }
    assert_int_equal(r, MCP_E_LIMIT);
}

static void
who_has_used_up_their_proofs_harms_nobody_else(void **state)
{
    struct token ann, bob;
    struct proof p;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    token_make(&ann, HEAD_EC, BOUND, EC_PRIVATE);
    token_make(&bob, HEAD_EC, CLAIMS_OF("bob", ",'cnf':{'jkt':'" THUMB "'}"),
               EC_PRIVATE);
    fill_share(&w, ISSUER "|app|ann");
    proof_init(&p, &w, ann.text.data);
    watch_call_bound(&w, &ann, proof_write(&p, EC_PRIVATE));
    watch_gives(&w, 503);
    p.what.token = bob.text.data;
    watch_call_bound(&w, &bob, proof_write(&p, EC_PRIVATE));
    watch_gives(&w, 200);
    mcpi_buf_done(&p.text);
    token_done(&ann);
    token_done(&bob);
    watch_close(&w);
}

static void
ask_bound_once(struct test_mem *mem, void *user)
{
    struct token token;
    struct proof p;
    struct watch w;

    if (watch_try(&w, mem, *(mcp_guard_options *)user) == 0) {
        token_make(&token, HEAD_EC, BOUND, EC_PRIVATE);
        proof_init(&p, &w, token.text.data);
        watch_call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
        watch_gives(&w, atomic_load(&mem->failed) ? 503 : 200);
        mcpi_buf_done(&p.text);
        token_done(&token);
    }
    watch_close(&w);
}

static void
want_of_memory_is_no_fault_of_the_proof(void **state)
{
    mcp_guard_options opt = WATCH_OPTIONS(.name = "x");

    (void)state;
    assert_true(test_each_allocation_fails(ask_bound_once, &opt) > 10);
}

TEST_MAIN(TEST(a_bound_token_comes_with_its_proof), TEST(a_proof_is_for_one_request),
          TEST(a_token_that_is_not_bound_needs_no_proof_and_gets_none),
          TEST(a_proof_may_need_a_nonce_of_ours),
          TEST(who_has_used_up_their_proofs_harms_nobody_else),
          TEST(want_of_memory_is_no_fault_of_the_proof))
