/* auth/flow_post_test.c - asking a token endpoint, and keeping what it gives */
#include "auth/dpop.h"
#include "auth/flow_fixture.h"
#include "auth/flow_steps.h"
#include "auth/jwt.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define METHODS(list)                                            \
    "{'issuer':'" ISSUER "','token_endpoint':'" TOKEN_PLACE "'," \
    "'token_endpoint_auth_methods_supported':[" list "]}"
#define BOUND_JSON "{'access_token':'geheim-new','token_type':'DPoP'}"
#define USE_NONCE "{'error':'use_dpop_nonce'}"

/* The program itself asks, as "c 1". */
static void
client_set(struct scene *s)
{
    scene_set(s);
    s->auth.grant = MCP_GRANT_CLIENT;
    s->auth.client_id = "c 1";
    s->auth.client_secret = "geheim:secret";
}

static void
run(struct scene *s, const char *issuer_json)
{
    refused(s, NULL, "");
    resource_says(s, RESOURCE_JSON(ISSUER, ""));
    issuer_says(s, issuer_json);
}

static void
client_open(struct scene *s)
{
    client_set(s);
    scene_init(s);
    run(s, METHODS("'client_secret_basic'"));
}

/* ---- who asks ---------------------------------------------------------------------- */

#define FORM "grant_type=client_credentials&resource=https%3A%2F%2Fmcp.test%2Fv1%2Fmcp"

static void
a_client_shows_a_password(void **state)
{
    struct fake_fetch *post;
    struct scene s;

    (void)state;
    client_open(&s);
    post = token_asked(&s);
    assert_string_equal(post->body, FORM);
    /* c%201:geheim%3Asecret */
    assert_string_equal(fake_field(post, "Authorization"),
                        "Basic YyUyMDE6Z2VoZWltJTNBc2VjcmV0");
    assert_string_equal(fake_field(post, "Accept"), "application/json");
    assert_null(fake_field(post, "DPoP"));
    assert_true(post->stays);
    assert_int_equal(post->nearest, MCPI_ADDRESS_PUBLIC);
    scene_close(&s);
}

static void
or_says_it(void **state)
{
    struct scene s;

    (void)state;
    client_set(&s);
    scene_init(&s);
    run(&s, METHODS("'client_secret_post'"));
    assert_string_equal(token_asked(&s)->body,
                        FORM "&client_id=c%201&client_secret=geheim%3Asecret");
    assert_null(fake_field(token_asked(&s), "Authorization"));
    scene_close(&s);
}

static void
or_signs(void **state)
{
    const mcp_json *claims;
    struct mcpi_jwt jwt;
    const char *text;
    struct scene s;

    (void)state;
    client_set(&s);
    s.auth.client_secret = NULL;
    s.auth.key_id = "k1";
    s.client_key = key_of(EC_PRIVATE);
    scene_init(&s);
    run(&s, METHODS("'private_key_jwt'"));
    assert_value(token_asked(&s)->body, "client_assertion_type",
                 "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    text = value_of(token_asked(&s)->body, "client_assertion");
    assert_int_equal(mcpi_jwt_read(NULL, text, strlen(text), &jwt), 0);
    assert_true(mcpi_jwt_is_signed_by(&jwt, s.client_key));
    claims = jwt.claims;
    assert_true(mcp_json_is_string(mcp_json_get(claims, "iss"), "c 1"));
    assert_true(mcp_json_is_string(mcp_json_get(claims, "sub"), "c 1"));
    assert_true(mcp_json_is_string(mcp_json_get(claims, "aud"), ISSUER));
    mcpi_jwt_done(&jwt);
    scene_close(&s);
}

static void
with_an_algorithm_that_the_issuer_takes(void **state)
{
    struct scene s;

    (void)state;
    client_set(&s);
    s.auth.client_secret = NULL;
    s.client_key = key_of(EC_PRIVATE);
    scene_init(&s);
    run(&s, METHODS("'private_key_jwt'],"
                    "'token_endpoint_auth_signing_alg_values_supported':['RS256'"));
    expect_failure(
        &s, 1, "the authorization server takes no authentication that we have", false);
    scene_close(&s);
}

/* It is not the server that has lured us there. */
static void
an_issuer_that_the_program_names_may_be_anywhere(void **state)
{
    struct scene s;

    (void)state;
    client_set(&s);
    s.auth.issuer = ISSUER;
    scene_init(&s);
    run(&s, METHODS("'client_secret_basic'"));
    assert_int_equal(token_asked(&s)->nearest, MCPI_ADDRESS_ANY);
    assert_int_equal(fake_at(&s.st.fetcher, 0)->nearest, MCPI_ADDRESS_PUBLIC);
    scene_close(&s);
}

/* ---- what it answers ----------------------------------------------------------------- */

static void
a_token_is_kept_with_all_it_is_bound_to(void **state)
{
    struct scene s;

    (void)state;
    client_open(&s);
    token_says(&s, 200, "{'access_token':'geheim-new','token_type':'bearer'}");
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(s.token->client_id, "c 1");
    assert_true(s.token->expires_at == MCPI_NEVER);
    assert_null(s.token->key);
    assert_string_equal(s.store.log, "save ");
    assert_string_equal(store_get(&s.store, "the token", "access_token"), "geheim-new");
    assert_string_equal(store_get(&s.store, "the token", "issuer"), ISSUER);
    assert_string_equal(store_get(&s.store, "the token", "resource"), SERVER);
    assert_string_equal(store_get(&s.store, "the token", "client_id"), "c 1");
    scene_close(&s);
}

static void
a_token_that_cannot_be_kept_is_good_all_the_same(void **state)
{
    struct scene s;

    (void)state;
    client_open(&s);
    s.store.save_status = MCP_E_LIMIT;
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    scene_close(&s);
}

static void
what_is_no_token_is_refused(void **state)
{
    static const char none[] = "the authorization server gave no usable token";
    static const struct {
        int http;
        const char *json, *why;
    } answers[] = {
        {200, "", none},
        {200, "[]", none},
        {200, "{}", none},
        {200, "{'access_token':''}", none},
        {200, "{'access_token':'geheim x','token_type':'Bearer'}", none},
        {200, "{'access_token':7,'token_type':'Bearer'}", none},
        {200, "{'access_token':'geheim'}",
         "the token is of a type that we do not know"},
        {200, "{'access_token':'geheim','token_type':'mac'}",
         "the token is of a type that we do not know"},
        {400, "{'error':'invalid_scope','error_description':'a\\u0007b'}",
         "the authorization server refused: invalid_scope: a?b"},
        {201, TOKEN_JSON(""), "the authorization server answered with HTTP 201"},
        {500, "<html>", "the authorization server answered with HTTP 500"},
        {401, "{'error':'invalid_client'}",
         "the authorization server refused: invalid_client"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(answers); i++) {
        struct scene s;

        client_open(&s);
        token_says(&s, answers[i].http, answers[i].json);
        expect_failure(&s, 1, answers[i].why, false);
        assert_string_equal(s.store.log, "");
        asked_no_more(&s.st, 3); /* once */
        scene_close(&s);
    }
}

/* Whoever is behind it would get what is meant for another. */
static void
nobody_is_handed_on(void **state)
{
    static const int statuses[] = {301, 302, 303, 307, 308};

    (void)state;
    for (size_t i = 0; i < COUNT(statuses); i++) {
        char why[64];
        struct scene s;

        client_open(&s);
        answer_headed(token_asked(&s), statuses[i], "Location: https://evil.test/", "");
        (void)snprintf(why, sizeof(why),
                       "the authorization server answered with HTTP %d", statuses[i]);
        expect_failure(&s, 1, why, false);
        asked_no_more(&s.st, 3);
        scene_close(&s);
    }
}

static void
who_does_not_answer_gives_no_token(void **state)
{
    static const char *const whys[] = {
        "the authorization server: no answer in time",
        "the authorization server: the connection was lost",
        "the authorization server: the document is too long",
        "the token could not be asked for"};

    (void)state;
    for (size_t i = 0; i < COUNT(whys); i++) {
        struct scene s;

        client_set(&s);
        scene_init(&s);
        refused(&s, NULL, "");
        resource_says(&s, RESOURCE_JSON(ISSUER, ""));
        (void)asked(&s.st, "GET", ISSUER_PLACE);
        s.st.fetcher.refuse = i == 3 ? MCP_E_INVAL : 0;
        issuer_says(&s, METHODS("'client_secret_basic'"));
        if (i < 3)
            (void)token_asked(&s);
        if (i == 0)
            stage_pass(&s.st, s.auth.fetch_ms * 1000);
        else if (i == 1)
            fake_fail(fake_last(&s.st.fetcher), MCP_E_CLOSED,
                      "the connection was lost");
        else if (i == 2)
            answer_too_long(fake_last(&s.st.fetcher));
        expect_failure(&s, 1, whys[i], false);
        scene_close(&s);
    }
}

/* ---- proofs --------------------------------------------------------------------------- */

static void
expect_proof(const struct fake_fetch *post, const char *nonce)
{
    const struct mcpi_dpop what = {
        .method = "POST", .url = TOKEN_PLACE, .nonce = nonce, .now = wall_now};
    char thumb[MCPI_KEY_THUMBPRINT_SIZE], jti[MCPI_KEY_THUMBPRINT_SIZE];
    bool wants_nonce;

    assert_non_null(fake_field(post, "DPoP"));
    assert_null(mcpi_dpop_fault(NULL, fake_field(post, "DPoP"), &what, thumb, jti,
                                &wants_nonce));
}

#define KNOWS ",'dpop_signing_alg_values_supported':['ES256']"

/* By whose will a token is bound to a key. */
static const struct {
    bool demanded, bearer, dpop, required, knows, bound;
} wills[] = {
    {.bearer = true},
    {.bearer = true, .knows = true},
    {.demanded = true, .bearer = true, .bound = true},
    {.dpop = true, .bound = true},
    {.dpop = true, .bearer = true},
    {.dpop = true, .bearer = true, .knows = true, .bound = true},
    {.bearer = true, .required = true, .bound = true},
};

static void
a_token_is_bound_if_we_want_or_they_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(wills); i++) {
        struct mcpi_challenge challenge = {.bearer = wills[i].bearer,
                                           .dpop = wills[i].dpop};
        struct scene s;

        client_set(&s);
        s.auth.dpop = wills[i].demanded;
        scene_init(&s);
        mcpi_flow_start(&s.flow, MCPI_FLOW_REFUSED, NULL, &challenge,
                        MCPI_ADDRESS_PUBLIC);
        resource_says(
            &s, wills[i].required
                    ? RESOURCE_JSON(ISSUER, ",'dpop_bound_access_tokens_required':true")
                    : RESOURCE_JSON(ISSUER, ""));
        issuer_says(&s, wills[i].knows ? ISSUER_JSON(ISSUER, KNOWS)
                                       : ISSUER_JSON(ISSUER, ""));
        if (wills[i].bound)
            expect_proof(token_asked(&s), NULL);
        else
            assert_null(fake_field(token_asked(&s), "DPoP"));
        token_says(&s, 200, wills[i].bound ? BOUND_JSON : TOKEN_JSON(""));
        expect_token(&s, 1, "geheim-new");
        assert_int_equal(s.token->key != NULL, wills[i].bound);
        scene_close(&s);
    }
}

static void
dpop_open(struct scene *s)
{
    client_set(s);
    s->auth.dpop = true;
    scene_init(s);
    run(s, METHODS("'client_secret_basic'"));
}

static void
a_bound_token_is_kept_with_its_key(void **state)
{
    struct scene s;

    (void)state;
    dpop_open(&s);
    token_says(&s, 200, BOUND_JSON);
    expect_token(&s, 1, "geheim-new");
    assert_non_null(strstr(*store_at(&s.store, "the token"), "\"d\":\""));
    scene_close(&s);
}

static void
a_token_that_is_not_bound_is_refused_where_we_demand_it(void **state)
{
    struct scene s;

    (void)state;
    dpop_open(&s);
    token_says(&s, 200, TOKEN_JSON(""));
    expect_failure(&s, 1, "the token is not bound to our key", false);
    assert_string_equal(s.store.log, "");
    scene_close(&s);
}

static void
and_taken_where_only_the_server_spoke_of_it(void **state)
{
    struct mcpi_challenge challenge = {.dpop = true};
    struct scene s;

    (void)state;
    client_set(&s);
    scene_init(&s);
    mcpi_flow_start(&s.flow, MCPI_FLOW_REFUSED, NULL, &challenge, MCPI_ADDRESS_PUBLIC);
    discovered(&s);
    expect_proof(token_asked(&s), NULL);
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    assert_null(s.token->key);
    scene_close(&s);
}

/* To whose key, if we showed none? */
static void
a_bound_token_without_a_proof_is_refused(void **state)
{
    struct scene s;

    (void)state;
    client_open(&s);
    token_says(&s, 200, BOUND_JSON);
    expect_failure(&s, 1, "the token is bound to a key that is not ours", false);
    scene_close(&s);
}

static void
a_nonce_that_is_wanted_is_given(void **state)
{
    struct scene s;

    (void)state;
    dpop_open(&s);
    answer_headed(token_asked(&s), 400, "DPoP-Nonce: n1", USE_NONCE);
    expect_proof(token_asked(&s), "n1");
    assert_string_equal(token_asked(&s)->body, FORM); /* else the same */
    assert_non_null(fake_field(token_asked(&s), "Authorization"));
    answer_headed(token_asked(&s), 200, "DPoP-Nonce: n2", BOUND_JSON);
    scene_settle(&s);
    expect_token(&s, 1, "geheim-new");
    run(&s, METHODS("'client_secret_basic'")); /* the latest one, the next time */
    expect_proof(token_asked(&s), "n2");
    scene_close(&s);
}

static void
a_nonce_is_not_given_for_ever(void **state)
{
    struct scene s;

    (void)state;
    dpop_open(&s);
    for (int i = 0; i < MCPI_FLOW_NONCES_MAX; i++)
        answer_headed(token_asked(&s), 400, "DPoP-Nonce: n", USE_NONCE);
    expect_nothing(&s);
    answer_headed(token_asked(&s), 400, "DPoP-Nonce: n", USE_NONCE);
    expect_failure(&s, 1, "the authorization server refused: use_dpop_nonce", false);
    asked_no_more(&s.st, 3 + MCPI_FLOW_NONCES_MAX);
    run(&s, METHODS("'client_secret_basic'")); /* counted anew each time */
    answer_headed(token_asked(&s), 400, "DPoP-Nonce: n", USE_NONCE);
    (void)token_asked(&s);
    scene_close(&s);
}

static void
nobody_is_asked_again_without_a_nonce(void **state)
{
    char lines[MCPI_FLOW_NONCE_MAX + 32];
    struct scene s;

    (void)state;
    (void)snprintf(lines, sizeof(lines), "DPoP-Nonce: %0*d", MCPI_FLOW_NONCE_MAX, 0);
    for (int i = 0; i < 5; i++) {
        const char *const said[] = {NULL, lines, "DPoP-Nonce: n", "DPoP-Nonce: n",
                                    "DPoP-Nonce: caf\xe9"};

        client_set(&s);
        s.auth.dpop = i != 3; /* and who shows no proof needs none */
        scene_init(&s);
        run(&s, METHODS("'client_secret_basic'"));
        answer_headed(token_asked(&s), 400, said[i],
                      i == 2 ? "{'error':'invalid_client'}" : USE_NONCE);
        assert_int_equal(s.done, 1);
        assert_non_null(strstr(s.why, i == 2 ? "invalid_client" : "use_dpop_nonce"));
        assert_int_equal(s.status, MCP_E_AUTH);
        asked_no_more(&s.st, 3);
        scene_close(&s);
    }
}

/* ---- memory ------------------------------------------------------------------------------ */

static void
flow(struct test_mem *mem, void *user)
{
    struct scene s;

    (void)user;
    client_set(&s);
    s.auth.client_secret = NULL;
    s.client_key = key_of(EC_PRIVATE);
    s.auth.dpop = true;
    if (scene_init_with(&s, mem) == 0) {
        refused(&s, NULL, "");
        scene_settle(&s);
        for (int i = 0; i < 4 && s.done == 0; i++) {
            struct fake_fetch *fetch = fake_last(&s.st.fetcher);

            if (i == 0)
                answer(fetch, 200, RESOURCE_JSON(ISSUER, ""));
            else if (i == 1)
                answer(fetch, 200, METHODS("'private_key_jwt'"));
            else if (i == 2)
                answer_headed(fetch, 400, "DPoP-Nonce: n", USE_NONCE);
            else
                answer(fetch, 200, BOUND_JSON);
            scene_settle(&s);
        }
        assert_int_equal(s.done, 1);
        assert_true(s.status == 0 ||
                    (s.status == MCP_E_NOMEM && atomic_load(&mem->failed) > 0));
    }
    scene_close(&s);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 40);
}

TEST_MAIN(TEST(a_client_shows_a_password), TEST(or_says_it), TEST(or_signs),
          TEST(with_an_algorithm_that_the_issuer_takes),
          TEST(an_issuer_that_the_program_names_may_be_anywhere),
          TEST(a_token_is_kept_with_all_it_is_bound_to),
          TEST(a_token_that_cannot_be_kept_is_good_all_the_same),
          TEST(what_is_no_token_is_refused), TEST(nobody_is_handed_on),
          TEST(who_does_not_answer_gives_no_token),
          TEST(a_token_is_bound_if_we_want_or_they_do),
          TEST(a_bound_token_is_kept_with_its_key),
          TEST(a_token_that_is_not_bound_is_refused_where_we_demand_it),
          TEST(and_taken_where_only_the_server_spoke_of_it),
          TEST(a_bound_token_without_a_proof_is_refused),
          TEST(a_nonce_that_is_wanted_is_given), TEST(a_nonce_is_not_given_for_ever),
          TEST(nobody_is_asked_again_without_a_nonce), TEST(each_allocation_may_fail))
