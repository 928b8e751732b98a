/* dpop_test.c - proofs: written and judged; that of the standard, and the hostile ones */
#include "auth/dpop.h"

#include "auth/jwt_fixture.h"

#define NOW 1700000000
#define URL "https://a.example/mcp"
#define TOKEN "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"
#define ATH "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"

#define HEAD "{'typ':'dpop+jwt','alg':'ES256','jwk':" EC_PUBLIC "}"
#define CLAIMS_AT(iat) "{'jti':'j','htm':'POST','htu':'" URL "','iat':" iat "}"
#define CLAIMS CLAIMS_AT("1700000000")

static const struct mcpi_dpop plain = {.method = "POST", .url = URL, .now = NOW};

/* ---- what comes of a proof ----------------------------------------------------- */

struct verdict {
    const char *fault;
    char thumbprint[MCPI_KEY_THUMBPRINT_SIZE];
    char jti[MCPI_KEY_THUMBPRINT_SIZE];
    bool wants_nonce;
};

static struct verdict
judge(const char *proof, const struct mcpi_dpop *what)
{
    struct verdict v = {.thumbprint = "-", .jti = "-", .wants_nonce = true};
    struct test_mem mem;

    test_mem_init(&mem);
    v.fault = mcpi_dpop_fault(&mem.allocator, proof, what, v.thumbprint, v.jti,
                              &v.wants_nonce);
    test_mem_done(&mem);
    if (v.fault) { /* nothing is written then */
        assert_string_equal(v.thumbprint, "-");
        assert_string_equal(v.jti, "-");
    }
    return v;
}

/* With that header and those claims, signed by the key of the fixture. */
static struct verdict
judge_made(const char *head, const char *claims, const struct mcpi_dpop *what)
{
    struct verdict v;
    struct token token;

    token_make(&token, head, claims, EC_PRIVATE);
    v = judge(token.text.data, what);
    token_done(&token);
    return v;
}

static void
good(const char *head, const char *claims, const struct mcpi_dpop *what)
{
    struct verdict v = judge_made(head, claims, what);

    if (v.fault)
        fail_msg("%s %s: %s", head, claims, v.fault);
    assert_false(v.wants_nonce);
}

static void
bad(const char *head, const char *claims, const struct mcpi_dpop *what, const char *why)
{
    struct verdict v = judge_made(head, claims, what);

    if (!v.fault || !strstr(v.fault, why))
        fail_msg("%s %s: %s", head, claims, v.fault ? v.fault : "good");
    assert_false(v.wants_nonce);
}

/* ---- the standard -------------------------------------------------------------- */

#define RFC_HEAD                                                                  \
    "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw" \
    "4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX0" \
    "9rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19"
#define RFC_THUMBPRINT "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"

/* RFC 9449, 4.1 and 7.1. */
static const char rfc_post[] = RFC_HEAD
    ".eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi"
    "8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-"
    "GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-"
    "FNyJK70nfbV37xRZT3Lg";
static const char rfc_get[] = RFC_HEAD
    ".eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJ"
    "jZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlV"
    "IeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-"
    "Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA";

static void
proofs_of_the_standard_are_good(void **state)
{
    struct mcpi_dpop what = {
        .method = "POST", .url = "https://server.example.com/token", .now = 1562262616};
    struct verdict v = judge(rfc_post, &what);

    (void)state;
    assert_null(v.fault);
    assert_string_equal(v.thumbprint, RFC_THUMBPRINT);
    what = (struct mcpi_dpop){.method = "GET",
                              .url = "https://resource.example.org/protectedresource",
                              .token = TOKEN,
                              .now = 1562262618};
    v = judge(rfc_get, &what);
    assert_null(v.fault);
    assert_string_equal(v.thumbprint, RFC_THUMBPRINT);
    what.token = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxV";
    assert_non_null(judge(rfc_get, &what).fault);
}

/* ---- written ------------------------------------------------------------------- */

static void
write_and_judge(const struct mcpi_dpop *made, const struct mcpi_dpop *what,
                struct verdict *ret)
{
    struct mcpi_key *key = key_of(EC_PRIVATE);
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, NULL, 1 << 16);
    assert_int_equal(mcpi_dpop_write(key, made, &buf), 0);
    mcpi_buf_append(&buf, "", 1);
    *ret = judge(buf.data, what);
    mcpi_buf_done(&buf);
    mcpi_key_unref(key);
}

static void
what_is_written_is_good(void **state)
{
    struct mcpi_dpop what = plain;
    struct verdict v;

    (void)state;
    write_and_judge(&what, &what, &v);
    assert_null(v.fault);
    what.token = TOKEN;
    what.nonce = "the \"nonce\"";
    what.url = URL "?query#fragment";
    write_and_judge(&what, &what, &v);
    assert_null(v.fault);
    what.nonce = "";
    write_and_judge(&what, &what, &v);
    assert_null(v.fault);
}

static void
no_two_that_are_written_are_the_same(void **state)
{
    struct verdict a, b;

    (void)state;
    write_and_judge(&plain, &plain, &a);
    write_and_judge(&plain, &plain, &b);
    assert_string_equal(a.thumbprint, b.thumbprint);
    assert_string_not_equal(a.jti, b.jti);
}

static void
it_says_what_it_is_for_and_no_secret(void **state)
{
    const struct mcpi_dpop what = {
        .method = "GET", .url = URL "?a=b#c", .token = TOKEN, .nonce = "n", .now = NOW};
    struct mcpi_key *key = key_of(EC_PRIVATE);
    struct mcpi_jwt jwt;
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1 << 16);
    assert_int_equal(mcpi_dpop_write(key, &what, &buf), 0);
    assert_int_equal(mcpi_jwt_read(NULL, buf.data, buf.len, &jwt), 0);
    assert_true(mcp_json_is_string(mcp_json_get(jwt.claims, "htm"), "GET"));
    assert_true(mcp_json_is_string(mcp_json_get(jwt.claims, "htu"), URL));
    assert_true(mcp_json_is_string(mcp_json_get(jwt.claims, "ath"), ATH));
    assert_true(mcp_json_is_string(mcp_json_get(jwt.claims, "nonce"), "n"));
    assert_int_equal(mcp_json_int(mcp_json_get(jwt.claims, "iat"), 0), NOW);
    assert_string_equal(jwt.typ, "dpop+jwt");
    assert_null(mcp_json_get(mcp_json_get(jwt.head, "jwk"), "d"));
    mcpi_jwt_done(&jwt);
    mcpi_buf_done(&buf);
    mcpi_key_unref(key);
}

static void
what_cannot_be_written_leaves_nothing(void **state)
{
    struct mcpi_key *public = key_of(EC_PUBLIC), *private = key_of(EC_PRIVATE);
    struct mcpi_dpop what = plain;
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1 << 16);
    assert_int_equal(mcpi_dpop_write(public, &what, &buf), MCP_E_STATE);
    what.nonce = "\xff";
    assert_int_equal(mcpi_dpop_write(private, &what, &buf), MCP_E_INVAL);
    assert_int_equal(buf.len, 0);
    mcpi_buf_done(&buf);
    mcpi_buf_init(&buf, NULL, 300);
    assert_int_equal(mcpi_dpop_write(private, &plain, &buf), MCP_E_LIMIT);
    assert_int_equal(buf.len, 0);
    mcpi_buf_done(&buf);
    mcpi_key_unref(public);
    mcpi_key_unref(private);
}

/* ---- what it is for ------------------------------------------------------------ */

static void
the_method_is_the_same(void **state)
{
    struct mcpi_dpop what = plain;

    (void)state;
    good(HEAD, CLAIMS, &what);
    what.method = "GET";
    bad(HEAD, CLAIMS, &what, "method");
    what.method = "post";
    bad(HEAD, CLAIMS, &what, "method");
    bad(HEAD, "{'jti':'j','htu':'" URL "','iat':1700000000}", &plain, "method");
    bad(HEAD, "{'jti':'j','htm':['POST'],'htu':'" URL "','iat':1700000000}", &plain,
        "method");
    bad(HEAD, "{'jti':'j','htm':'POST\\u0000','htu':'" URL "','iat':1700000000}",
        &plain, "method");
}

static void
assert_url(const char *htu, const char *url, bool same)
{
    struct mcpi_dpop what = plain;
    char claims[256];

    (void)snprintf(claims, sizeof(claims),
                   "{'jti':'j','htm':'POST','htu':%s,'iat':1700000000}", htu);
    what.url = url;
    if (same)
        good(HEAD, claims, &what);
    else
        bad(HEAD, claims, &what, "URL");
}

static void
the_url_is_the_same(void **state)
{
    (void)state;
    assert_url("'HTTPS://A.Example:443/mcp'", URL, true);
    assert_url("'https://a.example/mcp?x#y'", URL, true);
    assert_url("'https://a.example/mcp'", URL "?x#y", true);
    assert_url("'https://a.example'", "https://a.example/", true);
    assert_url("'http://a.example/mcp'", URL, false);
    assert_url("'https://a.example:8443/mcp'", URL, false);
    assert_url("'https://b.example/mcp'", URL, false);
    assert_url("'https://a.example/MCP'", URL, false);
    assert_url("'https://a.example/mcp/'", URL, false);
    assert_url("'https://a.example/mcp\\u0000'", URL, false);
    assert_url("'/mcp'", URL, false);
    assert_url("''", URL, false);
    assert_url("null", URL, false);
    assert_url("['" URL "']", URL, false);
}

static void
it_is_of_now(void **state)
{
    (void)state;
    good(HEAD, CLAIMS_AT("1699999700"), &plain);
    bad(HEAD, CLAIMS_AT("1699999699"), &plain, "now");
    good(HEAD, CLAIMS_AT("1700000300"), &plain);
    bad(HEAD, CLAIMS_AT("1700000301"), &plain, "now");
    good(HEAD, CLAIMS_AT("1700000000.25"), &plain);
    good(HEAD, CLAIMS_AT("17e8"), &plain);
}

static void
its_time_is_a_number_whatever_it_is(void **state)
{
    static const char *const times[] = {"0",
                                        "-1",
                                        "-9223372036854775808",
                                        "9223372036854775807",
                                        "1e300",
                                        "-1e300",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "1700000000000",
                                        "'1700000000'",
                                        "null",
                                        "true",
                                        "[1700000000]",
                                        "{}"};
    char claims[256];

    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        (void)snprintf(claims, sizeof(claims),
                       "{'jti':'j','htm':'POST','htu':'" URL "','iat':%s}", times[i]);
        bad(HEAD, claims, &plain, "now");
    }
    bad(HEAD, "{'jti':'j','htm':'POST','htu':'" URL "'}", &plain, "now");
}

/* A text that is no time must not become one at a clock near 1970. */
static void
at_a_clock_of_zero_a_text_is_no_time(void **state)
{
    struct mcpi_dpop what = plain;

    (void)state;
    what.now = 0;
    good(HEAD, CLAIMS_AT("0"), &what);
    bad(HEAD, CLAIMS_AT("'0'"), &what, "now");
    bad(HEAD, CLAIMS_AT("null"), &what, "now");
}

#define CLAIMS_WITH(more) "{'jti':'j','htm':'POST','htu':'" URL "','iat':17e8," more "}"

static void
it_is_for_this_token(void **state)
{
    struct mcpi_dpop what = plain;

    (void)state;
    what.token = TOKEN;
    good(HEAD, CLAIMS_WITH("'ath':'" ATH "'"), &what);
    bad(HEAD, CLAIMS, &what, "token");
    bad(HEAD, CLAIMS_WITH("'ath':''"), &what, "token");
    bad(HEAD, CLAIMS_WITH("'ath':null"), &what, "token");
    bad(HEAD, CLAIMS_WITH("'ath':'" ATH "='"), &what, "token");
    bad(HEAD, CLAIMS_WITH("'ath':['" ATH "']"), &what, "token");
    bad(HEAD, CLAIMS_WITH("'ath':'" TOKEN "'"), &what, "token");
    what.token = "another";
    bad(HEAD, CLAIMS_WITH("'ath':'" ATH "'"), &what, "token");
    good(HEAD, CLAIMS_WITH("'ath':'anything'"), &plain); /* where there is no token */
}

static void
it_has_a_jti_of_sound_length(void **state)
{
    char longest[513], claims[1024];

    (void)state;
    memset(longest, 'x', sizeof(longest));
    longest[512] = '\0';
    (void)snprintf(claims, sizeof(claims),
                   "{'jti':'%s','htm':'POST','htu':'" URL "','iat':17e8}", longest);
    good(HEAD, claims, &plain);
    (void)snprintf(claims, sizeof(claims),
                   "{'jti':'%sx','htm':'POST','htu':'" URL "','iat':17e8}", longest);
    bad(HEAD, claims, &plain, "jti");
    bad(HEAD, "{'htm':'POST','htu':'" URL "','iat':17e8}", &plain, "jti");
    bad(HEAD, "{'jti':'','htm':'POST','htu':'" URL "','iat':17e8}", &plain, "jti");
    bad(HEAD, "{'jti':1,'htm':'POST','htu':'" URL "','iat':17e8}", &plain, "jti");
    bad(HEAD, "{'jti':null,'htm':'POST','htu':'" URL "','iat':17e8}", &plain, "jti");
}

/* Of one key each jti has a name of its own, also behind a NUL; and of two keys the same
 * jti has two. */
static void
names_of_jtis_differ(void **state)
{
    static const char other[] = "{'jti':'j\\u0000k','htm':'POST','htu':'" URL
                                "','iat':17e8}";
    struct verdict a = judge_made(HEAD, CLAIMS, &plain);
    struct verdict same = judge_made(HEAD, CLAIMS_WITH("'x':1"), &plain);
    struct verdict b = judge_made(HEAD, other, &plain), c;
    struct token token;

    (void)state;
    token_make(&token, "{'typ':'dpop+jwt','alg':'EdDSA','jwk':" ED_PUBLIC "}", CLAIMS,
               ED_PRIVATE);
    c = judge(token.text.data, &plain);
    token_done(&token);
    assert_true(!a.fault && !same.fault && !b.fault && !c.fault);
    assert_string_equal(a.jti, same.jti);
    assert_string_not_equal(a.jti, b.jti);
    assert_string_not_equal(a.jti, c.jti);
    assert_string_not_equal(a.thumbprint, c.thumbprint);
}

/* ---- nonces -------------------------------------------------------------------- */

static void
assert_nonce(const char *claims, bool is_good)
{
    struct mcpi_dpop what = plain;
    struct verdict v;

    what.nonce = "right";
    v = judge_made(HEAD, claims, &what);
    assert_int_equal(v.wants_nonce, !is_good);
    assert_int_equal(v.fault == NULL, is_good);
}

static void
a_nonce_is_asked_for_if_nothing_else_is_wrong(void **state)
{
    struct mcpi_dpop what = plain;
    struct token token;

    (void)state;
    assert_nonce(CLAIMS_WITH("'nonce':'right'"), true);
    assert_nonce(CLAIMS_WITH("'nonce':'wrong'"), false);
    assert_nonce(CLAIMS_WITH("'nonce':'right\\u0000'"), false);
    assert_nonce(CLAIMS_WITH("'nonce':''"), false);
    assert_nonce(CLAIMS_WITH("'nonce':null"), false);
    assert_nonce(CLAIMS_WITH("'nonce':['right']"), false);
    assert_nonce(CLAIMS, false);
    good(HEAD, CLAIMS_WITH("'nonce':'any'"), &plain);
    what.nonce = "right"; /* these do not want one */
    what.method = "GET";
    bad(HEAD, CLAIMS, &what, "method");
    what.method = "POST";
    token_make(&token, HEAD, CLAIMS, ED_PRIVATE);
    assert_false(judge(token.text.data, &what).wants_nonce);
    assert_non_null(judge(token.text.data, &what).fault);
    token_done(&token);
}

/* ---- who made it --------------------------------------------------------------- */

static void
its_type_is_that_of_a_proof(void **state)
{
    (void)state;
    bad("{'typ':'JWT','alg':'ES256','jwk':" EC_PUBLIC "}", CLAIMS, &plain, "type");
    bad("{'typ':'dpop','alg':'ES256','jwk':" EC_PUBLIC "}", CLAIMS, &plain, "type");
    bad("{'typ':'','alg':'ES256','jwk':" EC_PUBLIC "}", CLAIMS, &plain, "type");
    bad("{'alg':'ES256','jwk':" EC_PUBLIC "}", CLAIMS, &plain, "type");
}

#define HEAD_WITH(alg, jwk) "{'typ':'dpop+jwt','alg':'" alg "','jwk':" jwk "}"

static void
a_private_key_in_it_is_refused(void **state)
{
    (void)state;
    bad(HEAD_WITH("ES256", EC_PRIVATE), CLAIMS, &plain, "private");
    bad(HEAD_WITH("ES256", "{" EC_MEMBERS ",'d':null}"), CLAIMS, &plain, "private");
    bad(HEAD_WITH("RS256", "{'kty':'RSA','e':'AQAB','n':'" RSA_N "','p':'AQ'}"), CLAIMS,
        &plain, "private");
    bad(HEAD_WITH("HS256", "{'kty':'oct','k':'AyM1SysPpbyDfgZld3umj1qzKObwVMko'}"),
        CLAIMS, &plain, "private");
}

static void
a_key_that_cannot_be_used_is_refused(void **state)
{
    (void)state;
    bad("{'typ':'dpop+jwt','alg':'ES256'}", CLAIMS, &plain, "no key");
    bad(HEAD_WITH("ES256", "null"), CLAIMS, &plain, "no key");
    bad(HEAD_WITH("ES256", "'" EC_X "'"), CLAIMS, &plain, "no key");
    bad(HEAD_WITH("ES256", "[" EC_PUBLIC "]"), CLAIMS, &plain, "no key");
    bad(HEAD_WITH("ES256", "{'kty':'EC','crv':'P-256','x':'" EC_X "','y':'" EC_X "'}"),
        CLAIMS, &plain, "no key");
    bad(HEAD_WITH("HS256", "{'kty':'oct'}"), CLAIMS, &plain, "no key");
}

static void
its_algorithm_is_that_of_its_key(void **state)
{
    (void)state;
    bad(HEAD_WITH("none", EC_PUBLIC), CLAIMS, &plain, "not signed");
    bad(HEAD_WITH("HS256", EC_PUBLIC), CLAIMS, &plain, "not signed");
    bad(HEAD_WITH("RS256", EC_PUBLIC), CLAIMS, &plain, "not signed");
    bad(HEAD_WITH("ES256", RSA_PUBLIC), CLAIMS, &plain, "not signed");
    bad(HEAD_WITH("RS256", RSA_PUBLIC), CLAIMS, &plain, "not signed");
    bad(HEAD_WITH("EdDSA", ED_PUBLIC), CLAIMS, &plain, "not signed");
}

static void
what_is_no_token_is_no_proof(void **state)
{
    static const char *const texts[] = {"",      "x",          "..",
                                        "a.b.c", "e30.e30.AQ", "e30.e30."};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct verdict v = judge(texts[i], &plain);

        assert_non_null(v.fault);
        assert_false(v.wants_nonce);
    }
    bad("{'typ':'dpop+jwt','alg':'ES256','crit':[],'jwk':" EC_PUBLIC "}", CLAIMS,
        &plain, "no signed token");
    bad(HEAD, "{'jti':'j','jti':'k','htm':'POST','htu':'" URL "','iat':17e8}", &plain,
        "no signed token");
}

/* ---- memory -------------------------------------------------------------------- */

static void
flow(struct test_mem *mem, void *user)
{
    char thumbprint[MCPI_KEY_THUMBPRINT_SIZE], jti[MCPI_KEY_THUMBPRINT_SIZE];
    struct mcpi_buf buf;
    const char *fault;
    bool wants_nonce;
    int r;

    mcpi_buf_init(&buf, &mem->allocator, 1 << 16);
    r = mcpi_dpop_write(user, &plain, &buf);
    if (r == 0)
        mcpi_buf_append(&buf, "", 1);
    if (buf.status == 0 && r == 0) {
        fault = mcpi_dpop_fault(&mem->allocator, buf.data, &plain, thumbprint, jti,
                                &wants_nonce);
        r = fault ? MCP_E_NOMEM : 0;
        assert_true(!fault || strcmp(fault, mcp_status_text(MCP_E_NOMEM)) == 0);
    }
    assert_int_equal(r < 0 || buf.status<0, atomic_load(&mem->failed)> 0);
    mcpi_buf_done(&buf);
}

static void
each_allocation_may_fail(void **state)
{
    struct mcpi_key *key = key_of(EC_PRIVATE);

    (void)state;
    assert_true(test_each_allocation_fails(flow, key) > 8);
    mcpi_key_unref(key);
}

TEST_MAIN(TEST(proofs_of_the_standard_are_good), TEST(what_is_written_is_good),
          TEST(no_two_that_are_written_are_the_same),
          TEST(it_says_what_it_is_for_and_no_secret),
          TEST(what_cannot_be_written_leaves_nothing), TEST(the_method_is_the_same),
          TEST(the_url_is_the_same), TEST(it_is_of_now),
          TEST(its_time_is_a_number_whatever_it_is),
          TEST(at_a_clock_of_zero_a_text_is_no_time), TEST(it_is_for_this_token),
          TEST(it_has_a_jti_of_sound_length), TEST(names_of_jtis_differ),
          TEST(a_nonce_is_asked_for_if_nothing_else_is_wrong),
          TEST(its_type_is_that_of_a_proof), TEST(a_private_key_in_it_is_refused),
          TEST(a_key_that_cannot_be_used_is_refused),
          TEST(its_algorithm_is_that_of_its_key), TEST(what_is_no_token_is_no_proof),
          TEST(each_allocation_may_fail))
