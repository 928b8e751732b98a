/* redirect_test.c - the answer of an authorization server, as the browser brings it */
#include "auth/redirect.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HERE "http://127.0.0.1:8000/callback"
#define ISS "https%3A%2F%2Fauth.example"

static const struct mcpi_redirect_rules plain = {HERE, "s3cret", "https://auth.example",
                                                 false};
static const struct mcpi_redirect_rules strict = {HERE, "s3cret",
                                                  "https://auth.example", true};

/* The code, or NULL and why there is none; until the next. */
static char code[64], why[200];

static const char *
answer_to(const struct mcpi_redirect_rules *rules, const char *uri)
{
    struct mcpi_buf buf;
    int r;

    mcpi_buf_init(&buf, NULL, sizeof(code));
    memset(why, 0, sizeof(why));
    r = mcpi_redirect_read(uri, rules, &buf, why, sizeof(why));
    if (r == 0) {
        assert_int_equal(buf.data[buf.len - 1], '\0');
        assert_string_equal(why, "");
        memcpy(code, buf.data, buf.len);
    } else {
        assert_int_equal(r, MCP_E_AUTH);
        assert_int_equal(buf.len, 0);
        assert_true(strlen(why) > 10);
    }
    mcpi_buf_done(&buf);
    return r == 0 ? code : NULL;
}

static void
gives(const struct mcpi_redirect_rules *rules, const char *uri, const char *expected)
{
    const char *found = answer_to(rules, uri);

    if (!found)
        fail_msg("%s: %s", uri, why);
    else
        assert_string_equal(found, expected);
}

/* Says so, and nothing of what came along. */
static void
refuses(const struct mcpi_redirect_rules *rules, const char *uri, const char *words)
{
    if (answer_to(rules, uri))
        fail_msg("%s", uri);
    if (!strstr(why, words))
        fail_msg("%s: %s", uri, why);
    assert_null(strstr(why, "s3cret"));
    assert_null(strstr(why, "evil"));
}

static void
a_good_answer_has_a_code(void **state)
{
    char uri[3000];

    (void)state;
    gives(&plain, HERE "?code=abc&state=s3cret", "abc");
    gives(&plain, HERE "?state=s3cret&code=a%2Bb+c%3D&x=y", "a+b c=");
    gives(&plain, HERE "?&&st%61te=s3cret&c%6Fde=abc&", "abc");
    gives(&plain, HERE "?code=abc&state=s3cret&session_state=x&Code=y&error_uri=z",
          "abc");
    gives(&strict, HERE "?code=abc&state=s3cret&iss=" ISS, "abc");
    gives(&plain, "HTTP://127.0.0.1:8000/callback?code=abc&state=s3cret", "abc");
    /* longer than a URL of a document may be */
    snprintf(uri, sizeof(uri), HERE "?code=abc&state=s3cret&x=%02500d", 1);
    gives(&plain, uri, "abc");
}

static void
it_is_sent_to_us(void **state)
{
    static const char *const others[] = {
        "",
        "?code=abc&state=s3cret",
        "/callback?code=abc&state=s3cret",
        "http://127.0.0.1:8000?code=abc&state=s3cret",
        "http://127.0.0.1:8000/callback/?code=abc&state=s3cret",
        "http://127.0.0.1:8000/Callback?code=abc&state=s3cret",
        "http://127.0.0.1:8000/other?code=abc&state=s3cret",
        "http://127.0.0.1:8000/callback%3Fcode=abc&state=s3cret",
        "http://127.0.0.1:8001/callback?code=abc&state=s3cret",
        "http://127.0.0.1/callback?code=abc&state=s3cret",
        "http://localhost:8000/callback?code=abc&state=s3cret",
        "https://127.0.0.1:8000/callback?code=abc&state=s3cret",
        "http://127.0.0.1:8000@evil.example/callback?code=abc&state=s3cret",
        "javascript:code=abc&state=s3cret",
        HERE "?code=abc&state=s3cret#",
        HERE "?code=abc&state=s3cret#_=_",
        HERE "#code=abc&state=s3cret",
        HERE "?code=a bc&state=s3cret",
        HERE "?code=abc\n&state=s3cret",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(others); i++)
        refuses(&plain, others[i], "another place");
    refuses(&plain, NULL, "another place");
}

static void
a_place_may_have_no_path_or_a_query(void **state)
{
    struct mcpi_redirect_rules rules = plain;
    char uri[5000];

    (void)state;
    rules.redirect_uri = "http://127.0.0.1:8000";
    gives(&rules, "http://127.0.0.1:8000/?code=abc&state=s3cret", "abc");
    gives(&rules, "http://127.0.0.1:8000?code=abc&state=s3cret", "abc");
    rules.redirect_uri = "https://App.example/cb?app=1";
    gives(&rules, "https://app.example:443/cb?app=1&code=abc&state=s3cret", "abc");
    snprintf(uri, sizeof(uri), "https://app.example/%04000d?code=abc&state=s3cret", 1);
    refuses(&rules, uri, "another place");
    rules.redirect_uri = "no URL";
    refuses(&rules, "no URL?code=abc&state=s3cret", "another place");
}

static void
its_state_is_ours(void **state)
{
    struct mcpi_redirect_rules none = plain;

    (void)state;
    refuses(&plain, HERE, "no state");
    refuses(&plain, HERE "?", "no state");
    refuses(&plain, HERE "?code=abc", "no state");
    refuses(&plain, HERE "?code=abc&State=s3cret", "no state");
    refuses(&plain, HERE "?code=abc&state=", "wrong state");
    refuses(&plain, HERE "?code=abc&state", "wrong state");
    refuses(&plain, HERE "?code=abc&state=S3cret", "wrong state");
    refuses(&plain, HERE "?code=abc&state=s3cre", "wrong state");
    refuses(&plain, HERE "?code=abc&state=s3cret2", "wrong state");
    refuses(&plain, HERE "?code=abc&state=s3cret&state=s3cret", "cannot be read");
    refuses(&plain, HERE "?code=abc&state=s3cret&st%61te=evil", "cannot be read");
    refuses(&plain, HERE "?code=abc&state=s3cret%00", "cannot be read");
    refuses(&plain, HERE "?code=abc&state=s3cret%", "cannot be read");
    /* who has none of its own accepts none */
    none.state = "";
    refuses(&none, HERE "?code=abc&state=", "wrong state");
    none.state = NULL;
    refuses(&none, HERE "?code=abc&state=x", "wrong state");
}

static void
its_issuer_is_who_was_asked(void **state)
{
    static const char *const others[] = {
        "https%3A%2F%2Fevil.example",        ISS "%2F",
        "https%3A%2F%2FAUTH.example",        "HTTPS%3A%2F%2Fauth.example",
        "https%3A%2F%2Fauth.example%3A443",  "https%3A%2F%2Fauth%252Eexample",
        "https%3A%2F%2Fauth.example%2F%2E",  "http%3A%2F%2Fauth.example",
        "https%3A%2F%2Fauth.example%20",     "+https%3A%2F%2Fauth.example",
        "https%3A%2F%2Fauth.example%3Fevil", "",
    };
    const struct mcpi_redirect_rules *rules[] = {&plain, &strict};
    char uri[300];

    (void)state;
    for (int i = 0; i < 2; i++) {
        gives(rules[i], HERE "?code=abc&state=s3cret&iss=" ISS, "abc");
        gives(rules[i], HERE "?code=abc&state=s3cret&iss=https://auth.example", "abc");
        for (size_t j = 0; j < COUNT(others); j++) {
            snprintf(uri, sizeof(uri), HERE "?code=abc&state=s3cret&iss=%s", others[j]);
            refuses(rules[i], uri, "another issuer");
        }
        refuses(rules[i], HERE "?code=abc&state=s3cret&iss=" ISS "&iss=" ISS,
                "cannot be read");
        refuses(rules[i], HERE "?code=abc&state=s3cret&iss=" ISS "%00",
                "cannot be read");
    }
    gives(&plain, HERE "?code=abc&state=s3cret", "abc");
    refuses(&strict, HERE "?code=abc&state=s3cret", "does not say who");
    refuses(&strict, HERE "?code=abc&state=s3cret&Iss=" ISS, "does not say who");
}

static void
an_error_is_told(void **state)
{
    (void)state;
    refuses(&plain, HERE "?error=access_denied&state=s3cret", "refused: access_denied");
    refuses(&strict,
            HERE
            "?error=access_denied&error_description=Not+today%21&state=s3cret&iss=" ISS,
            "refused: access_denied (Not today!)");
    refuses(&plain, HERE "?error=x&error_description=&state=s3cret", "refused: x");
    refuses(&plain, HERE "?error=a%0Ab%1B&error_description=%FF&state=s3cret",
            "refused: a?b? (?)");
    refuses(&plain, HERE "?error=x&error_description=%&state=s3cret", "refused: x");
    refuses(&plain, HERE "?error=x&error=y&state=s3cret", "cannot be read why");
    refuses(&plain, HERE "?error=&state=s3cret", "refused: ");
    /* whatever else there is */
    refuses(&plain, HERE "?code=abc&error=x&state=s3cret", "refused: x");
}

static void
an_error_of_somebody_else_is_not(void **state)
{
    (void)state;
    refuses(&plain, HERE "?error=evil&error_description=evil", "no state");
    refuses(&plain, HERE "?error=evil&error_description=evil&state=x", "wrong state");
    refuses(&strict, HERE "?error=evil&state=s3cret", "does not say who");
    refuses(&plain, HERE "?error=evil&state=s3cret&iss=https://evil.example",
            "another issuer");
}

static void
it_has_one_code(void **state)
{
    char uri[300];

    (void)state;
    refuses(&plain, HERE "?state=s3cret", "no code");
    refuses(&plain, HERE "?state=s3cret&code=", "no code");
    refuses(&plain, HERE "?state=s3cret&code", "no code");
    refuses(&plain, HERE "?state=s3cret&Code=abc", "no code");
    refuses(&plain, HERE "?state=s3cret&code=evil&code=evil", "cannot be read");
    refuses(&plain, HERE "?state=s3cret&code=evil&code=", "cannot be read");
    refuses(&plain, HERE "?state=s3cret&code=evil%00", "cannot be read");
    refuses(&plain, HERE "?state=s3cret&code=evil%zz", "cannot be read");
    snprintf(uri, sizeof(uri), HERE "?state=s3cret&code=%0100d", 1);
    refuses(&plain, uri, "too long");
}

static void
why_is_cut_to_size(void **state)
{
    struct mcpi_buf buf;
    char small[8];

    (void)state;
    mcpi_buf_init(&buf, NULL, 100);
    assert_int_equal(mcpi_redirect_read(HERE, &plain, &buf, small, sizeof(small)),
                     MCP_E_AUTH);
    assert_string_equal(small, "the ans");
    assert_int_equal(mcpi_redirect_read(HERE, &plain, &buf, NULL, 0), MCP_E_AUTH);
    mcpi_buf_done(&buf);
}

static void
flow(struct test_mem *mem, void *user)
{
    struct mcpi_buf buf;
    int r;

    mcpi_buf_init(&buf, &mem->allocator, 100);
    r = mcpi_redirect_read(user, &strict, &buf, why, sizeof(why));
    if (r == MCP_E_NOMEM)
        assert_string_equal(why, "out of memory");
    assert_true(mem->failed ? r == MCP_E_NOMEM : r == 0 || r == MCP_E_AUTH);
    assert_true(r == 0 || buf.len == 0);
    mcpi_buf_done(&buf);
}

static void
any_allocation_may_fail(void **state)
{
    char good[] = HERE "?code=abc&state=s3cret&iss=" ISS;
    char error[] = HERE "?error=x&error_description=y&state=s3cret&iss=" ISS;

    (void)state;
    assert_int_equal(test_each_allocation_fails(flow, good), 3);
    assert_int_equal(test_each_allocation_fails(flow, error), 4);
}

TEST_MAIN(TEST(a_good_answer_has_a_code), TEST(it_is_sent_to_us),
          TEST(a_place_may_have_no_path_or_a_query), TEST(its_state_is_ours),
          TEST(its_issuer_is_who_was_asked), TEST(an_error_is_told),
          TEST(an_error_of_somebody_else_is_not), TEST(it_has_one_code),
          TEST(why_is_cut_to_size), TEST(any_allocation_may_fail))
