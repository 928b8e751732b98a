/* grant_test.c - what is posted to a token endpoint, and what it answers */
#include "auth/grant.h"

#include <mcp/json.h>

#include "auth/form.h"
#include "auth/jwt.h"
#include "auth/key_fixture.h"
#include "auth/safe.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NOW INT64_C(1800000000)
#define ISSUER "https://as.test/t"
#define URL_ALPHABET "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/* ---- randomness -------------------------------------------------------------- */

static void
a_verifier_is_one_and_the_challenge_is_its_hash(void **state)
{
    char verifier[MCPI_PKCE_SIZE], challenge[MCPI_PKCE_SIZE], hash[MCPI_PKCE_SIZE];

    (void)state;
    memset(verifier, 'x', sizeof(verifier));
    memset(challenge, 'x', sizeof(challenge));
    assert_int_equal(mcpi_pkce_make(verifier, challenge), 0);
    /* RFC 7636, 4.1: 43 to 128 unreserved characters */
    assert_int_equal(strlen(verifier), 43);
    assert_int_equal(strspn(verifier, URL_ALPHABET), 43);
    assert_int_equal(strlen(challenge), 43);
    assert_int_equal(mcpi_sha256_text(verifier, 43, hash), 0);
    assert_string_equal(challenge, hash);
}

static void
no_two_are_the_same(void **state)
{
    char a[MCPI_PKCE_SIZE], b[MCPI_PKCE_SIZE], c[MCPI_PKCE_SIZE], d[MCPI_PKCE_SIZE];

    (void)state;
    assert_int_equal(mcpi_pkce_make(a, b), 0);
    assert_int_equal(mcpi_pkce_make(c, d), 0);
    assert_string_not_equal(a, c);
    assert_string_not_equal(b, d);
    assert_int_equal(mcpi_nonce_make(a), 0);
    assert_int_equal(mcpi_nonce_make(b), 0);
    assert_int_equal(strlen(a), 43);
    assert_int_equal(strspn(a, URL_ALPHABET), 43);
    assert_string_not_equal(a, b);
}

/* ---- who asks ------------------------------------------------------------------ */

struct asked {
    struct safe safe;
    struct mcpi_buf fields, form;
};

static void
asked_init(struct asked *asked, struct test_mem *mem)
{
    safe_init(&asked->safe, mem);
    mcpi_buf_init(&asked->fields, asked->safe.allocator, MCPI_GRANT_FORM_MAX);
    mcpi_buf_init(&asked->form, asked->safe.allocator, MCPI_GRANT_FORM_MAX);
}

static void
asked_done(struct asked *asked)
{
    mcpi_buf_done(&asked->fields);
    mcpi_buf_done(&asked->form);
    if (asked->safe.mem == &asked->safe.own)
        safe_done(&asked->safe);
}

/* What is posted, by one who is that. */
static void
authenticates(struct mcpi_registration who, const char *fields, const char *form)
{
    const struct mcpi_grant_client client = {.registration = &who, .now = NOW};
    struct asked asked;

    asked_init(&asked, NULL);
    assert_int_equal(mcpi_grant_authenticate(&client, &asked.fields, &asked.form), 0);
    if (*fields)
        mcpi_buf_truncate(&asked.fields, asked.fields.len - 1); /* its NUL */
    assert_text(&asked.fields, fields);
    assert_text(&asked.form, form);
    asked_done(&asked);
}

#define WHO(how, id, secret)     \
    ((struct mcpi_registration){ \
        .auth = how, .issuer = ISSUER, .client_id = id, .client_secret = secret})

static void
a_public_client_says_its_name(void **state)
{
    (void)state;
    authenticates(WHO(MCPI_CLIENT_NONE, "app", ""), "", "client_id=app");
    authenticates(WHO(MCPI_CLIENT_NONE, "https://app.test/c?a=b&c", ""), "",
                  "client_id=https%3A%2F%2Fapp.test%2Fc%3Fa%3Db%26c");
    authenticates(WHO(MCPI_CLIENT_NONE, "", ""), "", "");
    /* one that it has stays with us */
    authenticates(WHO(MCPI_CLIENT_NONE, "app", SECRET), "", "client_id=app");
}

static void
a_secret_may_be_posted(void **state)
{
    (void)state;
    authenticates(WHO(MCPI_CLIENT_POST, "app", SECRET), "",
                  "client_id=app&client_secret=" SECRET);
    authenticates(WHO(MCPI_CLIENT_POST, "a&b=c", "+ %\xC3\xA4~"), "",
                  "client_id=a%26b%3Dc&client_secret=%2B%20%25%C3%A4~");
    authenticates(WHO(MCPI_CLIENT_POST, "app", ""), "", "client_id=app&client_secret=");
}

static void
basic_is(const char *id, const char *secret, const char *pair)
{
    struct mcpi_buf line;

    mcpi_buf_init(&line, NULL, MCPI_GRANT_FORM_MAX);
    mcpi_buf_text(&line, "Authorization: Basic ");
    mcpi_base64_write(&line, pair, strlen(pair));
    mcpi_buf_char(&line, '\0');
    authenticates(WHO(MCPI_CLIENT_BASIC, id, secret), line.data, "");
    mcpi_buf_done(&line);
}

/* RFC 6749, 2.3.1: escaped as in a form, then joined. */
static void
a_secret_may_stand_in_a_header(void **state)
{
    (void)state;
    /* RFC 6749, 2.3.1 */
    authenticates(WHO(MCPI_CLIENT_BASIC, "s6BhdRkqt3", "7Fjfp0ZBr1KtDRbnfVdmIw"),
                  "Authorization: Basic czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3",
                  "");
    basic_is("app", SECRET, "app:" SECRET);
    basic_is("a:b", "c:d", "a%3Ab:c%3Ad");
    basic_is("https://app.test/c", "+/=%\r\n",
             "https%3A%2F%2Fapp.test%2Fc:"
             "%2B%2F%3D%25%0D%0A");
    basic_is("a b", "\xC3\xA4\xFF", "a%20b:%C3%A4%FF");
    basic_is("app", "", "app:");
}

static void
the_form_goes_on_where_it_was(void **state)
{
    struct mcpi_registration who = WHO(MCPI_CLIENT_POST, "app", "s");
    const struct mcpi_grant_client client = {.registration = &who};
    struct asked asked;

    (void)state;
    asked_init(&asked, NULL);
    mcpi_form_add(&asked.form, "grant_type", "client_credentials");
    assert_int_equal(mcpi_grant_authenticate(&client, &asked.fields, &asked.form), 0);
    assert_text(&asked.form,
                "grant_type=client_credentials&client_id=app&client_secret=s");
    asked_done(&asked);
}

/* ---- with a key ---------------------------------------------------------------- */

#define ASSERTION_TYPE "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

/* The member of the form, and that there is one of it. */
static void
form_member(const struct mcpi_buf *form, const char *name, struct mcpi_buf *ret)
{
    mcpi_buf_init(ret, NULL, MCPI_GRANT_FORM_MAX);
    assert_int_equal(mcpi_form_find(ret, form->data, form->len, name), 1);
}

/* The assertion that is posted; done is for the caller. */
static void
assertion_make(const char *jwk, const char *kid, struct mcpi_buf *ret_text,
               struct mcpi_jwt *ret_jwt)
{
    struct mcpi_registration who = WHO(MCPI_CLIENT_JWT, "a\"pp", "");
    struct mcpi_key *key = key_of(jwk);
    const struct mcpi_grant_client client = {
        .registration = &who, .key = key, .kid = kid, .now = NOW};
    struct mcpi_buf type;
    struct asked asked;

    asked_init(&asked, NULL);
    assert_int_equal(mcpi_grant_authenticate(&client, &asked.fields, &asked.form), 0);
    assert_int_equal(asked.fields.len, 0);
    form_member(&asked.form, "client_assertion_type", &type);
    assert_string_equal(type.data, ASSERTION_TYPE);
    form_member(&asked.form, "client_assertion", ret_text);
    assert_int_equal(
        mcpi_jwt_read(NULL, ret_text->data, strlen(ret_text->data), ret_jwt), 0);
    assert_true(mcpi_jwt_is_signed_by(ret_jwt, key));
    mcpi_buf_done(&type);
    mcpi_key_unref(key);
    asked_done(&asked);
}

static const char *
claim(const struct mcpi_jwt *jwt, const char *name)
{
    return mcp_json_string(mcp_json_get(jwt->claims, name), "(none)");
}

static void
a_key_signs_who_asks_whom_and_when(void **state)
{
    struct mcpi_buf text;
    struct mcpi_jwt jwt;

    (void)state;
    assertion_make(EC_PRIVATE, "key 1", &text, &jwt);
    assert_string_equal(jwt.alg, "ES256");
    assert_string_equal(jwt.kid, "key 1");
    assert_string_equal(claim(&jwt, "iss"), "a\"pp");
    assert_string_equal(claim(&jwt, "sub"), "a\"pp");
    assert_string_equal(claim(&jwt, "aud"), ISSUER);
    assert_int_equal(mcp_json_int(mcp_json_get(jwt.claims, "iat"), 0), NOW);
    assert_int_equal(mcp_json_int(mcp_json_get(jwt.claims, "exp"), 0),
                     NOW + MCPI_GRANT_ASSERTION_S);
    assert_int_equal(strlen(claim(&jwt, "jti")), MCPI_PKCE_SIZE - 1);
    assert_int_equal(mcp_json_count(jwt.claims), 6);
    mcpi_jwt_done(&jwt);
    mcpi_buf_done(&text);
}

static void
each_kind_of_key_signs(void **state)
{
    static const char *const keys[][2] = {
        {RSA_PRIVATE, "RS256"}, {EC_PRIVATE, "ES256"}, {ED_PRIVATE, "EdDSA"}};

    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++) {
        struct mcpi_buf text;
        struct mcpi_jwt jwt;

        assertion_make(keys[i][0], NULL, &text, &jwt);
        assert_string_equal(jwt.alg, keys[i][1]);
        assert_string_equal(jwt.kid, "");
        assert_null(mcp_json_get(jwt.head, "jwk"));
        mcpi_jwt_done(&jwt);
        mcpi_buf_done(&text);
    }
}

static void
no_assertion_is_used_twice(void **state)
{
    struct mcpi_buf text[2];
    struct mcpi_jwt jwt[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        assertion_make(EC_PRIVATE, NULL, &text[i], &jwt[i]);
    assert_string_not_equal(claim(&jwt[0], "jti"), claim(&jwt[1], "jti"));
    for (int i = 0; i < 2; i++) {
        mcpi_jwt_done(&jwt[i]);
        mcpi_buf_done(&text[i]);
    }
}

static void
what_cannot_be_signed_is_not_posted(void **state)
{
    static char longest[MCPI_JWT_BYTES_MAX + 1];
    struct mcpi_registration who = WHO(MCPI_CLIENT_JWT, "\xFF", "");
    struct mcpi_key *key = key_of(EC_PUBLIC), *good = key_of(EC_PRIVATE);
    struct mcpi_grant_client client = {.registration = &who, .key = good, .now = NOW};
    struct asked asked;

    (void)state;
    asked_init(&asked, NULL);
    assert_int_equal(mcpi_grant_authenticate(&client, &asked.fields, &asked.form),
                     MCP_E_INVAL);
    memset(longest, 'a', MCPI_JWT_BYTES_MAX);
    who.client_id = longest;
    assert_int_equal(mcpi_grant_authenticate(&client, &asked.fields, &asked.form),
                     MCP_E_LIMIT);
    who.client_id = "app";
    client.key = key;
    assert_int_equal(mcpi_grant_authenticate(&client, &asked.fields, &asked.form),
                     MCP_E_STATE);
    assert_int_equal(asked.form.len, 0);
    mcpi_key_unref(key);
    mcpi_key_unref(good);
    asked_done(&asked);
}

/* ---- what does not fit ----------------------------------------------------------- */

static void
what_does_not_fit_is_told(void **state)
{
    static const enum mcpi_client_auth ways[] = {MCPI_CLIENT_BASIC, MCPI_CLIENT_POST,
                                                 MCPI_CLIENT_JWT, MCPI_CLIENT_NONE};
    struct mcpi_key *key = key_of(EC_PRIVATE);

    (void)state;
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct mcpi_registration who = WHO(ways[i], "application", SECRET);
        const struct mcpi_grant_client client = {
            .registration = &who, .key = key, .now = NOW};
        struct asked asked;

        asked_init(&asked, NULL);
        asked.fields.max = asked.form.max = 16;
        assert_int_equal(mcpi_grant_authenticate(&client, &asked.fields, &asked.form),
                         MCP_E_LIMIT);
        asked_done(&asked);
    }
    mcpi_key_unref(key);
}

static void
authenticate_flow(struct test_mem *mem, void *user)
{
    const struct mcpi_grant_client *client = user;
    struct asked asked;
    int r;

    asked_init(&asked, mem);
    r = mcpi_grant_authenticate(client, &asked.fields, &asked.form);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    asked_done(&asked);
}

static void
memory_may_fail_anywhere(void **state)
{
    static const enum mcpi_client_auth ways[] = {MCPI_CLIENT_BASIC, MCPI_CLIENT_POST,
                                                 MCPI_CLIENT_JWT, MCPI_CLIENT_NONE};
    struct mcpi_key *key = key_of(EC_PRIVATE);

    (void)state;
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct mcpi_registration who = WHO(ways[i], "app", SECRET SECRET SECRET SECRET);
        struct mcpi_grant_client client = {
            .registration = &who, .key = key, .kid = "one", .now = NOW};

        assert_true(test_each_allocation_fails(authenticate_flow, &client) > 0);
    }
    mcpi_key_unref(key);
}

/* ---- an answer ------------------------------------------------------------------- */

struct read {
    mcp_doc *doc;
    struct mcpi_grant_answer answer;
    const char *code;
    char why[256];
};

static int
read_answer(struct read *read, int http, const char *text)
{
    memset(read, 0, sizeof(*read));
    read->answer.access = "untouched";
    read->code = "untouched";
    read->doc = text ? json_doc(NULL, text) : NULL;
    return mcpi_grant_read(http, mcp_doc_root(read->doc), NOW, &read->answer,
                           &read->code, read->why, sizeof(read->why));
}

static void
read_done(struct read *read)
{
    mcp_doc_free(read->doc);
}

static void
a_token_is_read(void **state)
{
    struct read read;

    (void)state;
    assert_int_equal(read_answer(&read, 200,
                                 "{'access_token':'abc','token_type':'Bearer',"
                                 "'expires_in':3600,'refresh_token':'def',"
                                 "'scope':'a b','id_token':'x.y.z'}"),
                     0);
    assert_string_equal(read.answer.access, "abc");
    assert_string_equal(read.answer.refresh, "def");
    assert_string_equal(read.answer.scope, "a b");
    assert_int_equal(read.answer.expires_at, NOW + 3600);
    assert_false(read.answer.dpop);
    assert_string_equal(read.code, "");
    read_done(&read);
    assert_int_equal(
        read_answer(&read, 200, "{'access_token':'abc','token_type':'bearer'}"), 0);
    assert_string_equal(read.answer.refresh, "");
    assert_string_equal(read.answer.scope, "");
    assert_int_equal(read.answer.expires_at, MCPI_NEVER);
    read_done(&read);
}

/* What is wrong with an answer of HTTP 200. */
static void
is_none(const char *text, const char *why)
{
    struct read read;

    if (read_answer(&read, 200, text) != MCP_E_AUTH)
        fail_msg("%s", text);
    assert_string_equal(read.why, why);
    assert_string_equal(read.answer.access, "untouched");
    assert_string_equal(read.code, "");
    read_done(&read);
}

#define NO_TOKEN "the authorization server gave no usable token"
#define NO_TYPE "the token is of a type that we do not know"

static void
what_is_no_token_is_refused(void **state)
{
    (void)state;
    is_none(NULL, NO_TOKEN);
    is_none("[]", NO_TOKEN);
    is_none("'abc'", NO_TOKEN);
    is_none("{}", NO_TOKEN);
    is_none("{'token_type':'Bearer'}", NO_TOKEN);
    is_none("{'access_token':'','token_type':'Bearer'}", NO_TOKEN);
    is_none("{'access_token':null,'token_type':'Bearer'}", NO_TOKEN);
    is_none("{'access_token':5,'token_type':'Bearer'}", NO_TOKEN);
    is_none("{'access_token':'a b','token_type':'Bearer'}", NO_TOKEN);
    is_none("{'access_token':'a\\r\\nX: b','token_type':'Bearer'}", NO_TOKEN);
    is_none("{'access_token':'a\\u0000','token_type':'Bearer'}", NO_TOKEN);
    is_none("{'access_token':'\xC3\xA4','token_type':'Bearer'}", NO_TOKEN);
}

static void
a_token_that_is_too_long_is_none(void **state)
{
    static char text[MCPI_CREDENTIAL_MAX + 128];
    struct read read;

    (void)state;
    for (int more = 0; more < 2; more++) {
        int len = MCPI_CREDENTIAL_MAX + more;

        (void)snprintf(text, sizeof(text),
                       "{'token_type':'Bearer','access_token':'%0*d'}", len, 0);
        assert_int_equal(read_answer(&read, 200, text), more ? MCP_E_AUTH : 0);
        read_done(&read);
    }
}

static void
types_are_two_whatever_their_case(void **state)
{
    struct read read;

    (void)state;
    assert_int_equal(
        read_answer(&read, 200, "{'access_token':'abc','token_type':'BEARER'}"), 0);
    assert_false(read.answer.dpop);
    read_done(&read);
    assert_int_equal(
        read_answer(&read, 200, "{'access_token':'abc','token_type':'dpop'}"), 0);
    assert_true(read.answer.dpop);
    read_done(&read);
    is_none("{'access_token':'abc'}", NO_TYPE);
    is_none("{'access_token':'abc','token_type':''}", NO_TYPE);
    is_none("{'access_token':'abc','token_type':null}", NO_TYPE);
    is_none("{'access_token':'abc','token_type':1}", NO_TYPE);
    is_none("{'access_token':'abc','token_type':['Bearer']}", NO_TYPE);
    is_none("{'access_token':'abc','token_type':'mac'}", NO_TYPE);
    is_none("{'access_token':'abc','token_type':'Bearer '}", NO_TYPE);
    is_none("{'access_token':'abc','token_type':'Bearer\\u0000'}", NO_TYPE);
    is_none("{'access_token':'abc','token_type':'N_A'}", NO_TYPE);
}

#define CENTURY (INT64_C(100) * 365 * 24 * 3600)

static void
expires_in_is_read_in_all_its_shapes(void **state)
{
    static const struct {
        const char *text;
        int64_t at;
    } rows[] = {
        {"3600", NOW + 3600},
        {"0", NOW},
        {"3599.9", NOW + 3599},
        {"0.5", NOW},
        {"1e3", NOW + 1000},
        {"'3600'", NOW + 3600},
        {"'0'", NOW},
        {"'0060'", NOW + 60},
        {"'1234567890'", NOW + 1234567890},
        {"99999999999999", NOW + CENTURY},
        {"18446744073709551615", NOW + CENTURY},
        {"1e300", NOW + CENTURY},
        {"'99999999999999999999999999'", NOW + CENTURY},
        /* not said */
        {"-1", MCPI_NEVER},
        {"-0.5", MCPI_NEVER},
        {"-1e300", MCPI_NEVER},
        {"null", MCPI_NEVER},
        {"true", MCPI_NEVER},
        {"[3600]", MCPI_NEVER},
        {"{}", MCPI_NEVER},
        {"''", MCPI_NEVER},
        {"'-1'", MCPI_NEVER},
        {"'+1'", MCPI_NEVER},
        {"' 1'", MCPI_NEVER},
        {"'1 h'", MCPI_NEVER},
        {"'1e3'", MCPI_NEVER},
        {"'0x10'", MCPI_NEVER},
        {"'soon'", MCPI_NEVER},
        {"'1\\u0000'", MCPI_NEVER},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[128];
        struct read read;

        (void)snprintf(text, sizeof(text),
                       "{'access_token':'abc','token_type':'Bearer','expires_in':%s}",
                       rows[i].text);
        assert_int_equal(read_answer(&read, 200, text), 0);
        if (read.answer.expires_at != rows[i].at)
            fail_msg("%s: %lld", rows[i].text, (long long)read.answer.expires_at);
        read_done(&read);
    }
}

/* The token is good without them. */
static void
what_else_is_wrong_is_as_if_it_were_not_there(void **state)
{
    static const char *const rows[] = {
        "'refresh_token':null,'scope':null",
        "'refresh_token':5,'scope':['a']",
        "'refresh_token':'a b','scope':''",
        "'refresh_token':'','scope':5",
        "'refresh_token':'a\\u0000b','scope':{}",
        "'scope':'a\\u0000b'",
        "'refresh_token':'\xC3\xA4'",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[128];
        struct read read;

        (void)snprintf(text, sizeof(text),
                       "{'access_token':'abc','token_type':'Bearer',%s}", rows[i]);
        assert_int_equal(read_answer(&read, 200, text), 0);
        assert_string_equal(read.answer.refresh, "");
        assert_string_equal(read.answer.scope, "");
        read_done(&read);
    }
}

/* ---- an error ---------------------------------------------------------------------- */

static void
says(int http, const char *text, const char *code, const char *why)
{
    struct read read;

    if (read_answer(&read, http, text) != MCP_E_AUTH)
        fail_msg("%s", text);
    assert_string_equal(read.why, why);
    assert_string_equal(read.code, code);
    assert_string_equal(read.answer.access, "untouched");
    read_done(&read);
}

#define REFUSED "the authorization server refused: "

static void
an_error_is_named(void **state)
{
    (void)state;
    says(400, "{'error':'invalid_grant'}", "invalid_grant", REFUSED "invalid_grant");
    says(401, "{'error':'invalid_client','error_description':'No such client.'}",
         "invalid_client", REFUSED "invalid_client: No such client.");
    says(400, "{'error':'invalid_grant','error_description':5}", "invalid_grant",
         REFUSED "invalid_grant");
    /* whatever else it brings */
    says(400, "{'error':'x','access_token':'abc','token_type':'Bearer'}", "x",
         REFUSED "x");
}

/* Some endpoints know no other number. */
static void
an_error_may_come_as_a_success(void **state)
{
    (void)state;
    says(200, "{'error':'bad_verification_code','error_description':'Too late.'}",
         "bad_verification_code", REFUSED "bad_verification_code: Too late.");
}

static void
without_a_name_it_is_a_number(void **state)
{
    (void)state;
    says(500, NULL, "", "the authorization server answered with HTTP 500");
    says(400, "{}", "", "the authorization server answered with HTTP 400");
    says(400, "[]", "", "the authorization server answered with HTTP 400");
    says(400, "{'error':''}", "", "the authorization server answered with HTTP 400");
    says(400, "{'error':{'message':'x'}}", "",
         "the authorization server answered with HTTP 400");
    says(400, "{'error':null,'error_description':'x'}", "",
         "the authorization server answered with HTTP 400");
    says(302, "{'access_token':'abc','token_type':'Bearer'}", "",
         "the authorization server answered with HTTP 302");
    /* what is compared with names of errors is none with a NUL in it */
    says(400, "{'error':'invalid_grant\\u0000'}", "",
         "the authorization server answered with HTTP 400");
}

static void
an_error_is_cleaned_for_people(void **state)
{
    (void)state;
    says(400, "{'error':'a\\u001b[31m\\n','error_description':'b\\r\\nc\\u0085'}",
         "a\x1B[31m\n", REFUSED "a?[31m?: b??c?");
    says(400, "{'error':'a','error_description':'\xC3\xA4'}", "a",
         REFUSED "a: \xC3\xA4");
}

static void
an_error_is_cut(void **state)
{
    char text[1024], why[512];

    (void)state;
    (void)snprintf(text, sizeof(text), "{'error':'x','error_description':'%0300d'}", 0);
    (void)snprintf(why, sizeof(why), REFUSED "x: %0140d", 0);
    says(400, text, "x", why);
    /* not inside of a character */
    (void)snprintf(text, sizeof(text),
                   "{'error':'x','error_description':'%0139d\xC3\xA4'}", 0);
    (void)snprintf(why, sizeof(why), REFUSED "x: %0139d", 0);
    says(400, text, "x", why);
}

static void
a_long_code_is_cut_for_people_only(void **state)
{
    char text[256], code[128], why[256];

    (void)state;
    (void)snprintf(code, sizeof(code), "%059d\xC3\xA4%020d", 0, 0);
    (void)snprintf(text, sizeof(text), "{'error':'%s','error_description':'y'}", code);
    (void)snprintf(why, sizeof(why), REFUSED "%059d: y", 0);
    says(400, text, code, why);
}

static void
room_for_why_may_be_short(void **state)
{
    struct mcpi_grant_answer answer;
    char why[5];

    (void)state;
    assert_int_equal(mcpi_grant_read(400, NULL, NOW, &answer, NULL, why, sizeof(why)),
                     MCP_E_AUTH);
    assert_string_equal(why, "the ");
    assert_int_equal(mcpi_grant_read(200, NULL, NOW, &answer, NULL, why, 1),
                     MCP_E_AUTH);
    assert_string_equal(why, "");
}

/* ---- an exchange ---------------------------------------------------------------------- */

static int
exchange(int http, const char *text, char *why, size_t size)
{
    mcp_doc *doc = text ? json_doc(NULL, text) : NULL;
    const char *assertion = "untouched";
    int r = mcpi_grant_read_exchange(http, mcp_doc_root(doc), &assertion, why, size);

    assert_string_equal(assertion, r == 0 ? "x.y.z" : "untouched");
    mcp_doc_free(doc);
    return r;
}

#define JAG "'issued_token_type':'urn:ietf:params:oauth:token-type:id-jag'"

static void
an_exchange_gives_an_id_jag(void **state)
{
    char why[256] = "";

    (void)state;
    assert_int_equal(exchange(200,
                              "{'access_token':'x.y.z','token_type':'N_A'," JAG "}",
                              why, sizeof(why)),
                     0);
    assert_string_equal(why, "");
}

static void
nothing_else_is_taken_for_one(void **state)
{
    static const char *const rows[] = {
        NULL,
        "{}",
        "{'access_token':'x.y.z'}",
        "{" JAG "}",
        "{'access_token':''," JAG "}",
        "{'access_token':'a b'," JAG "}",
        "{'access_token':'a\\u0000b'," JAG "}",
        "{'access_token':5," JAG "}",
        "{'access_token':'x.y.z','issued_token_type':"
        "'urn:ietf:params:oauth:token-type:access_token'}",
        "{'access_token':'x.y.z','issued_token_type':"
        "'urn:ietf:params:oauth:token-type:id-jag\\u0000'}",
        "{'access_token':'x.y.z','issued_token_type':null}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char why[256] = "";

        assert_int_equal(exchange(200, rows[i], why, sizeof(why)), MCP_E_AUTH);
        assert_string_equal(why, "the identity provider gave no ID-JAG");
    }
}

static void
an_exchange_may_be_refused(void **state)
{
    char why[256];

    (void)state;
    assert_int_equal(exchange(400,
                              "{'error':'invalid_grant','error_description':'Old.',"
                              "'access_token':'x.y.z'," JAG "}",
                              why, sizeof(why)),
                     MCP_E_AUTH);
    assert_string_equal(why, REFUSED "invalid_grant: Old.");
    assert_int_equal(exchange(503, NULL, why, sizeof(why)), MCP_E_AUTH);
    assert_string_equal(why, "the authorization server answered with HTTP 503");
}

TEST_MAIN(TEST(a_verifier_is_one_and_the_challenge_is_its_hash),
          TEST(no_two_are_the_same), TEST(a_public_client_says_its_name),
          TEST(a_secret_may_be_posted), TEST(a_secret_may_stand_in_a_header),
          TEST(the_form_goes_on_where_it_was), TEST(a_key_signs_who_asks_whom_and_when),
          TEST(each_kind_of_key_signs), TEST(no_assertion_is_used_twice),
          TEST(what_cannot_be_signed_is_not_posted), TEST(what_does_not_fit_is_told),
          TEST(memory_may_fail_anywhere), TEST(a_token_is_read),
          TEST(what_is_no_token_is_refused), TEST(a_token_that_is_too_long_is_none),
          TEST(types_are_two_whatever_their_case),
          TEST(expires_in_is_read_in_all_its_shapes),
          TEST(what_else_is_wrong_is_as_if_it_were_not_there), TEST(an_error_is_named),
          TEST(an_error_may_come_as_a_success), TEST(without_a_name_it_is_a_number),
          TEST(an_error_is_cleaned_for_people), TEST(an_error_is_cut),
          TEST(a_long_code_is_cut_for_people_only), TEST(room_for_why_may_be_short),
          TEST(an_exchange_gives_an_id_jag), TEST(nothing_else_is_taken_for_one),
          TEST(an_exchange_may_be_refused))
