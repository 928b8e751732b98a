/* access_token_test.c - a token that is a JWT: of an issuer that is trusted, and for us? */
#include "auth/watch.h"

/* ---- what it says ----------------------------------------------------------- */

static void
a_token_is_refused_for_what_it_says(void **state)
{
    static const struct {
        const char *claims, *why;
    } rows[] = {
        {WITH(ISSUER, "'" RESOURCE "'", ",'exp':1799999969"), "the token has expired"},
        {WITH(ISSUER, "'" RESOURCE "'", ""), "the token has no expiry"},
        {WITH(ISSUER, "'" RESOURCE "'", ",'exp':1800000600,'nbf':1800000031"),
         "the token is not valid yet"},
        {WITH(ISSUER, "'https://other.test/mcp'", ",'exp':1800000600"),
         "the token is for another audience"},
        {WITH(ISSUER, "['a','b']", ",'exp':1800000600"),
         "the token is for another audience"},
        {WITH("https://evil.test", "'" RESOURCE "'", ",'exp':1800000600"),
         "the token is not of an issuer that is trusted"},
        {WITH(ISSUER "/", "'" RESOURCE "'", ",'exp':1800000600"),
         "the token is not of an issuer that is trusted"},
        {"{'aud':'" RESOURCE "','exp':1800000600,'sub':'ann'}",
         "the token is not of an issuer that is trusted"},
        {"{'iss':'" ISSUER "','aud':'" RESOURCE "','exp':1800000600}",
         "the token names nobody"},
        {ANN(",'cnf':{'x5t#S256':'x'}"),
         "the token is bound to what cannot be checked here"},
    };
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        watch_refuses(&w, HEAD_EC, rows[i].claims, EC_PRIVATE, rows[i].why);
    assert_int_equal(w.f.served, 0);
    watch_lets_in(&w, WITH(ISSUER, "['a','" RESOURCE "']", ",'exp':1799999971"));
    watch_lets_in(&w,
                  WITH(ISSUER, "'" RESOURCE "'", ",'exp':1800000600,'nbf':1800000030"));
    watch_close(&w);
}

static void
another_audience_may_be_ours(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.audience = "api"));
    watch_lets_in(&w, WITH(ISSUER, "'api'", ",'exp':1800000600"));
    watch_refuses(&w, HEAD_EC, ANN(""), EC_PRIVATE,
                  "the token is for another audience");
    watch_close(&w);
}

#define AT_JWT "{'alg':'ES256','kid':'one','typ':'at+jwt'}"

/* It may well be for us, if our audience is the name of a client. */
static void
an_id_token_is_no_access_token(void **state)
{
    static const char *const marks[] = {ANN(",'nonce':'n'"), ANN(",'at_hash':'h'"),
                                        ANN(",'c_hash':'h'")};
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        watch_refuses(&w, HEAD_EC, marks[i], EC_PRIVATE, "this is no access token");
        watch_refuses(&w, "{'alg':'ES256','kid':'one','typ':'JWT'}", marks[i],
                      EC_PRIVATE, "this is no access token");
        watch_call(&w, AT_JWT, marks[i], EC_PRIVATE); /* it says that it is one */
        watch_gives(&w, 200);
    }
    watch_close(&w);
}

static void
tokens_may_have_to_say_that_they_are_access_tokens(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.typed_only = true));
    watch_refuses(&w, HEAD_EC, ANN(""), EC_PRIVATE, "this is no access token");
    watch_refuses(&w, "{'alg':'ES256','kid':'one','typ':'JWT'}", ANN(""), EC_PRIVATE,
                  "this is no access token");
    watch_call(&w, AT_JWT, ANN(""), EC_PRIVATE);
    watch_gives(&w, 200);
    watch_call(&w, "{'alg':'ES256','kid':'one','typ':'application/AT+JWT'}", ANN(""),
               EC_PRIVATE);
    watch_gives(&w, 200);
    watch_close(&w);
}

/* ---- who signed it ---------------------------------------------------------- */

static void
tokens_of_all_kinds_of_keys_are_taken(void **state)
{
    static const char set[] =
        "{\"keys\":[{\"kid\":\"r\",\"kty\":\"RSA\",\"e\":\"AQAB\","
        "\"n\":\"" RSA_N "\"},{\"kid\":\"two\",\"crv\":"
        "\"Ed25519\",\"kty\":\"OKP\",\"x\":\"" ED_X "\"}]}";
    struct watch w;

    (void)state;
    watch_open(&w, MCP_GUARD_OPTIONS(.jwks = set));
    watch_call(&w, "{'alg':'RS256','kid':'r','typ':'at+jwt'}", ANN(""), RSA_PRIVATE);
    watch_gives(&w, 200);
    watch_call(&w, "{'alg':'EdDSA','kid':'two','typ':'JWT'}", ANN(""), ED_PRIVATE);
    watch_gives(&w, 200);
    watch_close(&w);
}

static void
a_token_is_refused_for_how_it_is_signed(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    watch_refuses(&w, "{'alg':'none','kid':'one'}", ANN(""), EC_PRIVATE,
                  "the token is signed in a way that is not taken");
    watch_refuses(&w, "{'alg':'HS256','kid':'one'}", ANN(""), EC_PRIVATE,
                  "the token is signed in a way that is not taken");
    watch_refuses(&w, "{'alg':'EdDSA','kid':'one'}", ANN(""), ED_PRIVATE,
                  "the token is not signed by its issuer");
    watch_refuses(&w, "{'alg':'ES256','kid':'one'}", ANN(""), ED_PRIVATE,
                  "the token is not signed by its issuer");
    watch_refuses(&w, "{'alg':'ES256','kid':'two'}", ANN(""), EC_PRIVATE,
                  "the token is not signed by its issuer");
    watch_refuses(&w, "{'alg':'ES256','kid':'one','typ':'dpop+jwt'}", ANN(""),
                  EC_PRIVATE, "this is no access token");
    watch_refuses(&w, "{'alg':'ES256','kid':'one','crit':['x']}", ANN(""), EC_PRIVATE,
                  "this is no token of a kind that is taken");
    watch_begin(&w, "Bearer", "opaque", NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(
        &w, 401,
        "Bearer error=\"invalid_token\", error_description=\"this is no token "
        "of a kind that is taken\", " SAYS_DOCUMENT);
    assert_int_equal(w.f.served, 0);
    watch_close(&w);
}

/* "none" without a signature, and HS256 with our public key as its secret. */
static void
no_algorithm_is_talked_into(void **state)
{
    static const char *const heads[] = {"{'alg':'none'}",
                                        "{'alg':'HS256','kid':'one'}"};
    struct token token;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    for (int i = 0; i < 2; i++) {
        token_begin(&token, heads[i], ANN(""));
        token_end(&token, SET_EC, i == 0 ? 0 : 32);
        watch_begin(&w, "Bearer", token.text.data, NULL, MODERN_T, MODERN_CALL("1"));
        watch_gives(&w, 401);
        token_done(&token);
    }
    assert_int_equal(w.f.served, 0);
    watch_close(&w);
}

/* ---- keys that are fetched -------------------------------------------------- */

static void
an_unknown_key_is_looked_for_once(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    w.f.now += MCPI_KEYRING_PAUSE_US;
    watch_call(&w, HEAD_ED, ANN(""), ED_PRIVATE);
    assert_int_equal(w.fetcher.count, 2);
    watch_keys_come(&w, 200, SET_EC);
    watch_gives(&w, 401);
    for (int i = 0; i < 50; i++)
        watch_refuses(&w, HEAD_ED, ANN(""), ED_PRIVATE,
                      "the token is not signed by its issuer");
    watch_refuses(&w, HEAD_EC, ANN(""), ED_PRIVATE,
                  "the token is not signed by its issuer");
    assert_int_equal(w.fetcher.count, 2);
    watch_lets_in(&w, ANN(""));
    watch_close(&w);
}

static void
keys_may_change(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    w.f.now += MCPI_KEYRING_PAUSE_US;
    watch_call(&w, HEAD_ED, ANN(""), ED_PRIVATE);
    watch_keys_come(&w, 200, SET_ED);
    watch_gives(&w, 200);
    watch_refuses(&w, HEAD_EC, ANN(""), EC_PRIVATE,
                  "the token is not signed by its issuer");
    watch_close(&w);
}

static void
what_cannot_be_true_is_not_worth_a_flight(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_FETCHING);
    watch_refuses(&w, "{'alg':'none'}", ANN(""), EC_PRIVATE,
                  "the token is signed in a way that is not taken");
    watch_refuses(&w, HEAD_EC, WITH(ISSUER, "'" RESOURCE "'", ",'exp':1700000000"),
                  EC_PRIVATE, "the token has expired");
    watch_refuses(&w, HEAD_EC, WITH("https://evil.test", "'x'", ""), EC_PRIVATE,
                  "the token is not of an issuer that is trusted");
    assert_int_equal(w.fetcher.count, 0);
    watch_close(&w);
}

static void
without_keys_nobody_can_tell(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_keys_come(&w, 500, "{}");
    assert_true(visit_says(&w.v, "Retry-After: "));
    assert_false(visit_says(&w.v, AUTHENTICATE));
    watch_gives(&w, 503);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_gives(&w, 503); /* at once: the issuer is left alone */
    assert_int_equal(w.fetcher.count, 1);
    watch_close(&w);
}

static void
old_keys_do_while_the_issuer_is_ill(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    w.f.now += 300 * SECOND;
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_keys_come(&w, 500, "{}");
    watch_gives(&w, 200);
    watch_lets_in(&w, ANN(""));
    assert_int_equal(w.fetcher.count, 2);
    watch_close(&w);
}

static void
nobody_waits_for_an_issuer_that_hangs_while_old_keys_do(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    w.f.now += 300 * SECOND;
    watch_lets_in(&w, ANN(""));
    watch_lets_in(&w, ANN(""));
    assert_int_equal(w.fetcher.count, 2); /* beside, and once */
    w.f.now += MCPI_KEYRING_FETCH_US;
    front_run(&w.f);
    watch_lets_in(&w, ANN(""));
    assert_int_equal(w.fetcher.count, 2);
    w.f.now += MCPI_KEYRING_PAUSE_US;
    watch_lets_in(&w, ANN(""));
    assert_int_equal(w.fetcher.count, 3);
    watch_call(&w, HEAD_ED, ANN(""), ED_PRIVATE); /* a new key is worth the time */
    assert_int_equal(w.v.replies + w.v.opens, 0);
    watch_keys_come(&w, 200, SET_ED);
    watch_gives(&w, 200);
    watch_close(&w);
}

static void
keys_that_rested_for_long_are_not_believed_unseen(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    w.f.now += 600 * SECOND;
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    assert_int_equal(w.v.replies + w.v.opens, 0);
    watch_keys_come(&w, 200, SET_ED);
    watch_gives(&w, 401);
    watch_close(&w);
}

TEST_MAIN(TEST(a_token_is_refused_for_what_it_says), TEST(another_audience_may_be_ours),
          TEST(an_id_token_is_no_access_token),
          TEST(tokens_may_have_to_say_that_they_are_access_tokens),
          TEST(tokens_of_all_kinds_of_keys_are_taken),
          TEST(a_token_is_refused_for_how_it_is_signed),
          TEST(no_algorithm_is_talked_into), TEST(an_unknown_key_is_looked_for_once),
          TEST(keys_may_change), TEST(what_cannot_be_true_is_not_worth_a_flight),
          TEST(without_keys_nobody_can_tell), TEST(old_keys_do_while_the_issuer_is_ill),
          TEST(nobody_waits_for_an_issuer_that_hangs_while_old_keys_do),
          TEST(keys_that_rested_for_long_are_not_believed_unseen))
