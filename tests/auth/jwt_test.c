/* jwt_test.c - tokens: written, read, checked; and the hostile ones */
#include "auth/jwt.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "auth/jwt_fixture.h"

#define NOW 1700000000

static int
status_of(const char *text, size_t len)
{
    struct mcpi_jwt jwt = {0};
    struct test_mem mem;
    int r;

    test_mem_init(&mem);
    r = mcpi_jwt_read(&mem.allocator, text, len, &jwt);
    mcpi_jwt_done(&jwt);
    test_mem_done(&mem);
    return r;
}

/* What comes of a token with that header and those claims, well signed. */
static int
made_status(const char *head, const char *claims)
{
    struct token token;
    int r;

    token_make(&token, head, claims, EC_PRIVATE);
    r = status_of(token.text.data, token.text.len);
    token_done(&token);
    return r;
}

static bool
is_signed_by(const char *text, const char *jwk)
{
    struct mcpi_key *key = key_of(jwk);
    struct mcpi_jwt jwt;
    bool is;

    assert_int_equal(mcpi_jwt_read(NULL, text, strlen(text), &jwt), 0);
    is = mcpi_jwt_is_signed_by(&jwt, key);
    mcpi_jwt_done(&jwt);
    mcpi_key_unref(key);
    return is;
}

/* ---- read ---------------------------------------------------------------------- */

static void
tokens_of_the_standard_are_read_and_good(void **state)
{
    static const char rs256[] = JWS_RSA_TEXT "." JWS_RSA_SIGNATURE;
    static const char es256[] = JWS_EC_TEXT "." JWS_EC_SIGNATURE;

    (void)state;
    assert_true(is_signed_by(rs256, RSA_PUBLIC));
    assert_true(is_signed_by(es256, EC_PUBLIC));
    assert_true(is_signed_by(es256, EC_PRIVATE));
    /* of RFC 8037 the claims are no JSON */
    assert_int_equal(status_of(JWS_ED_TEXT "." JWS_ED_SIGNATURE,
                               strlen(JWS_ED_TEXT "." JWS_ED_SIGNATURE)),
                     MCP_E_INVAL);
}

static void
what_was_read_is_there(void **state)
{
    struct mcpi_jwt jwt;
    struct token token;

    (void)state;
    token_make(&token, "{'alg':'ES256','kid':'k','typ':'at+jwt','x':1}", "{'sub':'me'}",
               EC_PRIVATE);
    assert_int_equal(mcpi_jwt_read(NULL, token.text.data, token.text.len, &jwt), 0);
    assert_string_equal(jwt.alg, "ES256");
    assert_string_equal(jwt.kid, "k");
    assert_string_equal(jwt.typ, "at+jwt");
    assert_true(mcp_json_is_string(mcp_json_get(jwt.claims, "sub"), "me"));
    assert_int_equal(mcp_json_int(mcp_json_get(jwt.head, "x"), 0), 1);
    assert_ptr_equal(jwt.signed_part, token.text.data);
    assert_int_equal(jwt.signed_part[jwt.signed_len], '.');
    assert_int_equal(jwt.signature.len, 64);
    mcpi_jwt_done(&jwt);
    mcpi_jwt_done(&jwt); /* a zeroed one */
    token_done(&token);
}

static void
names_that_are_not_there_are_empty(void **state)
{
    struct mcpi_jwt jwt;
    struct token token;

    (void)state;
    token_make(&token, "{'alg':'ES256'}", "{}", EC_PRIVATE);
    assert_int_equal(mcpi_jwt_read(NULL, token.text.data, token.text.len, &jwt), 0);
    assert_string_equal(jwt.kid, "");
    assert_string_equal(jwt.typ, "");
    mcpi_jwt_done(&jwt);
    token_done(&token);
}

#define H "eyJhbGciOiJFUzI1NiJ9" /* {"alg":"ES256"} */
#define C "e30"                  /* {} */

static void
three_parts_and_two_dots_it_has(void **state)
{
    static const char *const bad[] = {"",
                                      ".",
                                      "..",
                                      "...",
                                      H,
                                      H "." C,
                                      H "." C ".",
                                      "." C ".AQ",
                                      H "..AQ",
                                      H "." C ".AQ.",
                                      "." H "." C ".AQ",
                                      H "." C ".AQ.AQ",
                                      H "." C ".AQ.AQ.AQ",
                                      H "," C ",AQ",
                                      H "." C "..AQ"};

    (void)state;
    assert_int_equal(status_of(H "." C ".AQ", strlen(H "." C ".AQ")), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (status_of(bad[i], strlen(bad[i])) != MCP_E_INVAL)
            fail_msg("was read: %s", bad[i]);
    }
}

static void
only_the_one_spelling_is_read(void **state)
{
    static const char *const bad[] = {" " H "." C ".AQ",
                                      H "." C ".AQ ",
                                      H "." C ".AQ\n",
                                      H " ." C ".AQ",
                                      H "." C "=.AQ",
                                      H "." C ".AQ==",
                                      H "." C ".AR",
                                      H "." C ".A",
                                      H "."
                                        "e31.AQ",
                                      H "." C ".A+",
                                      H "." C ".A/",
                                      H "." C ".\xc3\xa9",
                                      "eyJhbGciOiJFUzI1NiJ9=." C ".AQ",
                                      "eyJhbGci\nOiJFUzI1NiJ9." C ".AQ"};
    static const char nul[] = H "." C ".AQ\0AA", inside[] = H "." C ".A\0QA";

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (status_of(bad[i], strlen(bad[i])) != MCP_E_INVAL)
            fail_msg("was read: %s", bad[i]);
    }
    assert_int_equal(status_of(nul, sizeof(nul) - 1), MCP_E_INVAL);
    assert_int_equal(status_of(nul, strlen(nul) + 1), MCP_E_INVAL);
    assert_int_equal(status_of(inside, sizeof(inside) - 1), MCP_E_INVAL);
}

static void
header_and_claims_are_objects(void **state)
{
    (void)state;
    assert_int_equal(made_status("{'alg':'ES256'}", "{}"), 0);
    assert_int_equal(made_status("['alg']", "{}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256'}", "[]"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256'}", "'x'"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256'}", "null"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256'", "{}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256'}", "{} {}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256'}", "{'a':'\xff'}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256'}", "{'a':NaN}"), MCP_E_INVAL);
}

static void
a_member_named_twice_is_refused(void **state)
{
    (void)state;
    assert_int_equal(made_status("{'alg':'ES256','alg':'ES256'}", "{}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'none','alg':'ES256'}", "{}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256','\\u0061lg':'none'}", "{}"),
                     MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256'}", "{'exp':1,'exp':2}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256'}", "{'cnf':{'jkt':'a','jkt':'b'}}"),
                     MCP_E_INVAL);
}

static void
what_the_header_says_must_be_texts(void **state)
{
    (void)state;
    assert_int_equal(made_status("{}", "{}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':''}", "{}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':null}", "{}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':['ES256']}", "{}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256\\u0000'}", "{}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256','kid':1}", "{}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256','kid':'a\\u0000b'}", "{}"),
                     MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256','typ':{}}", "{}"), MCP_E_INVAL);
}

static void
what_is_critical_is_unknown_to_us(void **state)
{
    (void)state;
    assert_int_equal(made_status("{'alg':'ES256','crit':['exp'],'exp':1}", "{}"),
                     MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256','crit':['b64'],'b64':false}", "{}"),
                     MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256','crit':[]}", "{}"), MCP_E_INVAL);
    assert_int_equal(made_status("{'alg':'ES256','crit':null}", "{}"), MCP_E_INVAL);
}

static void
too_long_or_too_deep_is_a_limit(void **state)
{
    char claims[MCPI_JWT_BYTES_MAX], deep[2 * MCPI_JWT_DEPTH_MAX + 16];
    char text[MCPI_JWT_BYTES_MAX + 1];

    (void)state;
    memset(text, 'A', sizeof(text));
    memcpy(text, H "." C ".", strlen(H "." C "."));
    assert_int_equal(status_of(text, sizeof(text)), MCP_E_LIMIT);
    assert_int_equal(status_of(text, sizeof(text) - 1), 0);
    assert_int_equal(status_of(text, SIZE_MAX), MCP_E_LIMIT);
    memset(claims, ' ', sizeof(claims));
    memcpy(claims, "{}", 2);
    claims[sizeof(claims) - 1] = '\0';
    assert_int_equal(made_status("{'alg':'ES256'}", claims), MCP_E_LIMIT);
    memcpy(deep, "{'a':", 5);
    memset(deep + 5, '[', MCPI_JWT_DEPTH_MAX);
    memset(deep + 5 + MCPI_JWT_DEPTH_MAX, ']', MCPI_JWT_DEPTH_MAX);
    memcpy(deep + 5 + 2 * MCPI_JWT_DEPTH_MAX, "}", 2);
    assert_int_equal(made_status("{'alg':'ES256'}", deep), MCP_E_LIMIT);
}

/* ---- who signed it ------------------------------------------------------------- */

static void
none_is_no_algorithm_in_any_spelling(void **state)
{
    static const char *const names[] = {"none", "None",  "NONE",
                                        "nOnE", "none ", "null"};
    static const char *const keys[] = {RSA_PUBLIC, EC_PUBLIC, ED_PUBLIC};
    struct token token;
    char head[64];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(head, sizeof(head), "{'alg':'%s'}", names[i]);
        token_begin(&token, head, "{}");
        token_end(&token, "", 0);
        assert_int_equal(status_of(token.text.data, token.text.len), MCP_E_INVAL);
        token_done(&token);
        token_make(&token, head, "{}", EC_PRIVATE); /* even if it is well signed */
        for (size_t k = 0; k < 3; k++)
            assert_false(is_signed_by(token.text.data, keys[k]));
        token_done(&token);
    }
}

/* As HS256 with that secret. */
static void
token_make_mac(struct token *token, const char *alg, const void *secret, size_t len)
{
    unsigned char mac[32];
    unsigned mac_len = sizeof(mac);
    char head[64];

    (void)snprintf(head, sizeof(head), "{'alg':'%s'}", alg);
    token_begin(token, head, "{}");
    assert_non_null(HMAC(EVP_sha256(), secret, (int)len,
                         (const unsigned char *)token->text.data, token->text.len, mac,
                         &mac_len));
    token_end(token, mac, sizeof(mac));
}

/* The secret of the attack is what everybody can read: the key as JSON, its modulus. */
static void
a_public_key_is_no_secret_of_hs256(void **state)
{
    static const char *const keys[] = {RSA_PUBLIC, EC_PUBLIC, ED_PUBLIC};
    static const char *const algs[] = {"HS256", "RS256", "ES256", "EdDSA"};
    struct mcpi_buf secret;
    unsigned char n[256];
    struct token token;

    (void)state;
    (void)unbase64(RSA_N, n, sizeof(n));
    for (size_t k = 0; k < 3; k++) {
        mcpi_buf_init(&secret, NULL, 4096);
        json_append(&secret, keys[k]);
        for (size_t a = 0; a < 4; a++) {
            token_make_mac(&token, algs[a], secret.data, secret.len);
            assert_false(is_signed_by(token.text.data, keys[k]));
            token_done(&token);
            token_make_mac(&token, algs[a], n, sizeof(n));
            assert_false(is_signed_by(token.text.data, keys[k]));
            token_done(&token);
        }
        mcpi_buf_done(&secret);
    }
}

/* A good signature of a key, in a token that names the algorithm of another. */
static void
the_key_says_which_algorithm_there_is(void **state)
{
    static const char *const private[] = {RSA_PRIVATE, EC_PRIVATE, ED_PRIVATE};
    static const char *const public[] = {RSA_PUBLIC, EC_PUBLIC, ED_PUBLIC};
    static const char *const algs[] = {"RS256", "ES256", "EdDSA", "PS256", "RS512",
                                       "ES384", "HS256", "rs256", "es256", "Ed25519"};
    struct token token;
    char head[64];

    (void)state;
    for (size_t signer = 0; signer < 3; signer++) {
        for (size_t a = 0; a < sizeof(algs) / sizeof(algs[0]); a++) {
            (void)snprintf(head, sizeof(head), "{'alg':'%s'}", algs[a]);
            token_make(&token, head, "{}", private[signer]);
            for (size_t k = 0; k < 3; k++)
                assert_int_equal(is_signed_by(token.text.data, public[k]),
                                 k == signer && a == signer);
            token_done(&token);
        }
    }
}

static void
another_key_of_the_same_kind_is_another_key(void **state)
{
    struct mcpi_key *other = NULL;
    struct mcpi_jwt jwt;
    struct token token;

    (void)state;
    token_make(&token, "{'alg':'ES256','jwk':" EC_PUBLIC "}", "{}", EC_PRIVATE);
    assert_int_equal(mcpi_key_generate(NULL, &other), 0);
    assert_int_equal(mcpi_jwt_read(NULL, token.text.data, token.text.len, &jwt), 0);
    assert_false(mcpi_jwt_is_signed_by(&jwt, other));
    mcpi_jwt_done(&jwt);
    mcpi_key_unref(other);
    token_done(&token);
}

static void
other_claims_than_were_signed_are_not_signed(void **state)
{
    struct token token;
    char *dot;

    (void)state;
    token_make(&token, "{'alg':'ES256'}", "{'a':1}", EC_PRIVATE);
    assert_true(is_signed_by(token.text.data, EC_PUBLIC));
    dot = strchr(token.text.data, '.');
    memcpy(dot + 1, "eyJhIjoyfQ", 10); /* {"a":2} */
    assert_false(is_signed_by(token.text.data, EC_PUBLIC));
    token_done(&token);
}

/* ---- what it says -------------------------------------------------------------- */

static const char *
fault_of(const char *claims, const struct mcpi_jwt_rules *rules)
{
    struct mcpi_jwt jwt;
    struct token token;
    const char *fault;

    token_make(&token, "{'alg':'ES256'}", claims, EC_PRIVATE);
    assert_int_equal(mcpi_jwt_read(NULL, token.text.data, token.text.len, &jwt), 0);
    fault = mcpi_jwt_fault(&jwt, rules);
    mcpi_jwt_done(&jwt);
    token_done(&token);
    return fault;
}

static void
assert_fault(const char *claims, const struct mcpi_jwt_rules *rules, const char *wanted)
{
    const char *fault = fault_of(claims, rules);

    if (fault && wanted ? !strstr(fault, wanted) : fault != wanted)
        fail_msg("%s: %s", claims, fault ? fault : "good");
}

static void
the_issuer_is_the_same_text(void **state)
{
    const struct mcpi_jwt_rules rules = {.issuer = "https://a.example", .now = NOW};

    (void)state;
    assert_fault("{'iss':'https://a.example'}", &rules, NULL);
    assert_fault("{'iss':'https://a.example/'}", &rules, "issuer");
    assert_fault("{'iss':'https://A.example'}", &rules, "issuer");
    assert_fault("{'iss':'https://a.example\\u0000'}", &rules, "issuer");
    assert_fault("{'iss':'https://a.exampl'}", &rules, "issuer");
    assert_fault("{'iss':['https://a.example']}", &rules, "issuer");
    assert_fault("{'iss':null}", &rules, "issuer");
    assert_fault("{}", &rules, "issuer");
}

static void
the_audience_is_the_text_or_has_it(void **state)
{
    const struct mcpi_jwt_rules rules = {.audience = "me", .now = NOW};

    (void)state;
    assert_fault("{'aud':'me'}", &rules, NULL);
    assert_fault("{'aud':['me']}", &rules, NULL);
    assert_fault("{'aud':['you','me']}", &rules, NULL);
    assert_fault("{'aud':'you'}", &rules, "audience");
    assert_fault("{'aud':'me\\u0000'}", &rules, "audience");
    assert_fault("{'aud':'me you'}", &rules, "audience");
    assert_fault("{'aud':[]}", &rules, "audience");
    assert_fault("{'aud':['you',['me']]}", &rules, "audience");
    assert_fault("{'aud':['me',1]}", &rules, "audience");
    assert_fault("{'aud':[null,'me']}", &rules, "audience");
    assert_fault("{'aud':{'me':'me'}}", &rules, "audience");
    assert_fault("{'aud':true}", &rules, "audience");
    assert_fault("{}", &rules, "audience");
}

static void
what_no_rule_asks_for_is_free(void **state)
{
    const struct mcpi_jwt_rules rules = {.now = NOW};

    (void)state;
    assert_fault("{}", &rules, NULL);
    assert_fault("{'iss':1,'aud':2}", &rules, NULL);
}

static void
expiry_is_the_first_second_that_is_too_late(void **state)
{
    struct mcpi_jwt_rules rules = {.now = NOW};

    (void)state;
    assert_fault("{'exp':1700000001}", &rules, NULL);
    assert_fault("{'exp':1700000000}", &rules, "expired");
    assert_fault("{'exp':0}", &rules, "expired");
    rules.leeway = 60;
    assert_fault("{'exp':1699999941}", &rules, NULL);
    assert_fault("{'exp':1699999940}", &rules, "expired");
}

static void
expiry_may_be_required(void **state)
{
    const struct mcpi_jwt_rules rules = {.now = NOW, .needs_expiry = true};

    (void)state;
    assert_fault("{'exp':1700000001}", &rules, NULL);
    assert_fault("{}", &rules, "no expiry");
    assert_fault("{'exp':null}", &rules, "no time");
}

static void
not_before_is_the_first_second_that_is_good(void **state)
{
    struct mcpi_jwt_rules rules = {.now = NOW};

    (void)state;
    assert_fault("{'nbf':1700000000}", &rules, NULL);
    assert_fault("{'nbf':0}", &rules, NULL);
    assert_fault("{'nbf':1700000001}", &rules, "not valid yet");
    rules.leeway = 60;
    assert_fault("{'nbf':1700000060}", &rules, NULL);
    assert_fault("{'nbf':1700000061}", &rules, "not valid yet");
}

static void
times_are_numbers_that_are_times(void **state)
{
    static const char *const bad[] = {"'1700000001'",
                                      "true",
                                      "null",
                                      "[]",
                                      "{}",
                                      "-1",
                                      "-1.5",
                                      "-1e300",
                                      "1e300",
                                      "1e16",
                                      "9007199254740993",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "18446744073709551615",
                                      "18446744073709551616",
                                      "-9223372036854775808",
                                      "123456789012345678901234567890"};
    static const char *const names[] = {"exp", "nbf", "iat"};
    const struct mcpi_jwt_rules rules = {.now = NOW, .leeway = 60};
    char claims[100];

    (void)state;
    for (size_t n = 0; n < 3; n++) {
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
            (void)snprintf(claims, sizeof(claims), "{'%s':%s}", names[n], bad[i]);
            assert_fault(claims, &rules, "no time");
        }
    }
    assert_fault("{'exp':1700000001.5}", &rules, NULL);
    assert_fault("{'exp':17e8,'nbf':16e8,'iat':0.5}", &rules, NULL);
    assert_fault("{'exp':1.7e7}", &rules, "expired");
    assert_fault("{'exp':9007199254740992,'iat':9007199254740992}", &rules, NULL);
    assert_fault("{'nbf':9007199254740992}", &rules, "not valid yet");
}

static void
no_clock_and_no_leeway_overflows(void **state)
{
    static const int64_t ends[] = {INT64_MIN, -1, 0, INT64_MAX};
    struct mcpi_jwt_rules rules = {0};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        rules.now = ends[i];
        rules.leeway = 0;
        assert_fault("{'exp':1}", &rules, i == 3 ? "expired" : NULL);
        assert_fault("{'nbf':9007199254740992}", &rules,
                     i == 3 ? NULL : "not valid yet");
        rules.leeway = INT64_MAX;
        assert_fault("{'exp':1}", &rules, NULL);
        assert_fault("{'nbf':9007199254740992}", &rules,
                     i == 0 ? "not valid yet" : NULL);
    }
}

/* ---- written ------------------------------------------------------------------- */

static void
assert_head(const struct mcpi_jwt_make *make, const char *wanted)
{
    struct mcpi_buf buf, head;
    char *dot;

    mcpi_buf_init(&buf, NULL, 1 << 16);
    assert_int_equal(mcpi_jwt_write(make, &buf), 0);
    dot = memchr(buf.data, '.', buf.len);
    mcpi_buf_init(&head, NULL, 1 << 16);
    assert_int_equal(mcpi_base64url_read(&head, buf.data, (size_t)(dot - buf.data)), 0);
    assert_text(&head, wanted);
    mcpi_buf_done(&head);
    mcpi_buf_done(&buf);
}

static void
the_header_has_what_it_is_told(void **state)
{
    struct mcpi_key *key = key_of(EC_PRIVATE);
    struct mcpi_jwt_make make = {.key = key, .claims = "{}", .claims_len = 2};

    (void)state;
    assert_head(&make, "{'alg':'ES256'}");
    make.kid = "a\\b\xc3\xa9";
    assert_head(&make, "{'alg':'ES256','kid':'a\\\\b\xc3\xa9'}");
    make.typ = "dpop+jwt";
    assert_head(&make, "{'alg':'ES256','typ':'dpop+jwt','kid':'a\\\\b\xc3\xa9'}");
    make.with_key = true; /* and the kid is left away */
    assert_head(&make, "{'alg':'ES256','typ':'dpop+jwt','jwk':" EC_PUBLIC "}");
    mcpi_key_unref(key);
}

static void
what_was_written_is_read_and_good(void **state)
{
    static const char *const keys[] = {RSA_PRIVATE, EC_PRIVATE, ED_PRIVATE};
    struct mcpi_buf buf;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct mcpi_key *key = key_of(keys[i]);
        const struct mcpi_jwt_make make = {.key = key,
                                           .typ = "x",
                                           .with_key = i == 1,
                                           .claims = "{\"a\":1}",
                                           .claims_len = 7};
        struct mcpi_jwt jwt;

        mcpi_buf_init(&buf, NULL, 1 << 16);
        mcpi_buf_text(&buf, "before");
        assert_int_equal(mcpi_jwt_write(&make, &buf), 0);
        assert_memory_equal(buf.data, "before", 6);
        assert_int_equal(mcpi_jwt_read(NULL, buf.data + 6, buf.len - 6, &jwt), 0);
        assert_true(mcpi_jwt_is_signed_by(&jwt, key));
        assert_string_equal(jwt.typ, "x");
        assert_int_equal(mcp_json_int(mcp_json_get(jwt.claims, "a"), 0), 1);
        mcpi_jwt_done(&jwt);
        mcpi_buf_done(&buf);
        mcpi_key_unref(key);
    }
}

static void
what_cannot_be_written_leaves_nothing(void **state)
{
    struct mcpi_key *public = key_of(EC_PUBLIC), *private = key_of(EC_PRIVATE);
    struct mcpi_jwt_make make = {.key = public, .claims = "{}", .claims_len = 2};
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 100);
    mcpi_buf_text(&buf, "x");
    assert_int_equal(mcpi_jwt_write(&make, &buf), MCP_E_STATE);
    make.key = private;
    make.kid = "\xff";
    assert_int_equal(mcpi_jwt_write(&make, &buf), MCP_E_INVAL);
    make.kid = NULL;
    assert_int_equal(mcpi_jwt_write(&make, &buf), MCP_E_LIMIT);
    assert_int_equal(buf.len, 1);
    mcpi_buf_done(&buf);
    mcpi_key_unref(public);
    mcpi_key_unref(private);
}

/* ---- memory -------------------------------------------------------------------- */

static void
flow(struct test_mem *mem, void *user)
{
    const struct mcpi_jwt_make make = {
        .key = user, .with_key = true, .claims = "{\"a\":1}", .claims_len = 7};
    struct mcpi_jwt jwt = {0};
    struct mcpi_buf buf;
    int r;

    mcpi_buf_init(&buf, &mem->allocator, 1 << 16);
    r = mcpi_jwt_write(&make, &buf);
    if (r == 0) {
        r = mcpi_jwt_read(&mem->allocator, buf.data, buf.len, &jwt);
        mcpi_jwt_done(&jwt);
    }
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    mcpi_buf_done(&buf);
}

static void
each_allocation_may_fail(void **state)
{
    struct mcpi_key *key = key_of(EC_PRIVATE);

    (void)state;
    assert_true(test_each_allocation_fails(flow, key) > 6);
    mcpi_key_unref(key);
}

TEST_MAIN(
    TEST(tokens_of_the_standard_are_read_and_good), TEST(what_was_read_is_there),
    TEST(names_that_are_not_there_are_empty), TEST(three_parts_and_two_dots_it_has),
    TEST(only_the_one_spelling_is_read), TEST(header_and_claims_are_objects),
    TEST(a_member_named_twice_is_refused), TEST(what_the_header_says_must_be_texts),
    TEST(what_is_critical_is_unknown_to_us), TEST(too_long_or_too_deep_is_a_limit),
    TEST(none_is_no_algorithm_in_any_spelling),
    TEST(a_public_key_is_no_secret_of_hs256),
    TEST(the_key_says_which_algorithm_there_is),
    TEST(another_key_of_the_same_kind_is_another_key),
    TEST(other_claims_than_were_signed_are_not_signed),
    TEST(the_issuer_is_the_same_text), TEST(the_audience_is_the_text_or_has_it),
    TEST(what_no_rule_asks_for_is_free),
    TEST(expiry_is_the_first_second_that_is_too_late), TEST(expiry_may_be_required),
    TEST(not_before_is_the_first_second_that_is_good),
    TEST(times_are_numbers_that_are_times), TEST(no_clock_and_no_leeway_overflows),
    TEST(the_header_has_what_it_is_told), TEST(what_was_written_is_read_and_good),
    TEST(what_cannot_be_written_leaves_nothing), TEST(each_allocation_may_fail))
