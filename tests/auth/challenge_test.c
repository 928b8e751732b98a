/* challenge_test.c - what a server says of who may come in (WWW-Authenticate) */
#include "auth/challenge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What is expected of a header; texts that are not named are "". */
struct row {
    const char *header;
    bool bearer, dpop;
    const char *metadata, *scope, *error, *description;
};

static void
is_text(const struct row *row, const char *text, const char *expected)
{
    if (strcmp(text, expected ? expected : "") != 0)
        fail_msg("%s: '%s', not '%s'", row->header, text, expected ? expected : "");
}

static void
check(const struct row *row)
{
    struct mcpi_challenge challenge = {0};

    mcpi_challenge_read(&challenge, row->header);
    if (challenge.bearer != row->bearer || challenge.dpop != row->dpop)
        fail_msg("%s: %d %d", row->header, challenge.bearer, challenge.dpop);
    is_text(row, challenge.resource_metadata, row->metadata);
    is_text(row, challenge.scope, row->scope);
    is_text(row, challenge.error, row->error);
    is_text(row, challenge.description, row->description);
}

static void
check_all(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&rows[i]);
}

static void
parameters_are_read(void **state)
{
    static const struct row rows[] = {
        {.header = "Bearer", .bearer = true},
        {.header = "DPoP", .dpop = true},
        {.header = "bEARER", .bearer = true},
        {.header = "Bearer ", .bearer = true},
        {.header = "Bearer error=\"invalid_token\", error_description=\"No token\", "
                   "scope=\"mcp:basic files\", "
                   "resource_metadata=\"https://a.example/.well-known/x\"",
         .bearer = true,
         .metadata = "https://a.example/.well-known/x",
         .scope = "mcp:basic files",
         .error = "invalid_token",
         .description = "No token"},
        {.header = "DPoP algs=\"ES256\", error=\"use_dpop_nonce\"",
         .dpop = true,
         .error = "use_dpop_nonce"},
        /* names in any case, blanks around '=', tokens without quotes, tabs */
        {.header = "Bearer SCOPE=one", .bearer = true, .scope = "one"},
        {.header = "Bearer \t Scope \t= \t\"a\" \t,\t\terror\t=\tb\t",
         .bearer = true,
         .scope = "a",
         .error = "b"},
        {.header = "Bearer   resource_metadata=https://a.example/b?c=d,scope=e",
         .bearer = true,
         .metadata = "https://a.example/b?c=d",
         .scope = "e"},
        /* elements of a list that are empty */
        {.header = ", ,Bearer ,, scope=\"a\",,,error=b,",
         .bearer = true,
         .scope = "a",
         .error = "b"},
        {.header = "Bearer realm=\"r\", scope=\"\"", .bearer = true},
        {.header = "Bearer scope=\"a, Basic b=c\"",
         .bearer = true,
         .scope = "a, Basic b=c"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
escapes_are_undone(void **state)
{
    static const struct row rows[] = {
        {.header = "Bearer scope=\"a\\\"b\\\\c\\d\"",
         .bearer = true,
         .scope = "a\"b\\cd"},
        {.header = "Bearer realm=\"\\\", scope=\\\"x\", scope=\"y\"",
         .bearer = true,
         .scope = "y"},
        {.header = "Bearer scope=\"\\\\\", error=e",
         .bearer = true,
         .scope = "\\",
         .error = "e"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
challenges_may_stand_in_one_header(void **state)
{
    static const struct row rows[] = {
        {.header = "Basic realm=\"x\", Bearer scope=\"a\"",
         .bearer = true,
         .scope = "a"},
        {.header = "Bearer scope=\"a\", Basic realm=\"x\", charset=\"UTF-8\"",
         .bearer = true,
         .scope = "a"},
        {.header = "Negotiate YII+/~._-Q==, Bearer scope=\"a\"",
         .bearer = true,
         .scope = "a"},
        {.header = "Negotiate, Bearer scope=\"a\"", .bearer = true, .scope = "a"},
        {.header = "Bearer scope=\"a\", DPoP scope=\"b\", error=\"e\", algs=\"ES256\"",
         .bearer = true,
         .dpop = true,
         .scope = "a",
         .error = "e"},
        {.header = "Bearer, DPoP", .bearer = true, .dpop = true},
        {.header = "Bearer abc=, scope=\"a\"", .bearer = true, .scope = "a"},
        {.header = "Bearer scope=, error=\"e\"", .bearer = true, .error = "e"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
the_first_value_wins(void **state)
{
    static const struct row rows[] = {
        {.header = "Bearer scope=a, scope=b, SCOPE=\"c\"",
         .bearer = true,
         .scope = "a"},
        {.header = "Bearer resource_metadata=\"https://a.example\", "
                   "resource_metadata=\"https://evil.example\"",
         .bearer = true,
         .metadata = "https://a.example"},
        {.header = "Bearer error_description=a, error_description=b",
         .bearer = true,
         .description = "a"},
        {.header = "Bearer scope=a, Bearer scope=b, error=e",
         .bearer = true,
         .scope = "a",
         .error = "e"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
headers_add_up(void **state)
{
    struct mcpi_challenge challenge = {0};

    (void)state;
    mcpi_challenge_read(&challenge, NULL);
    mcpi_challenge_read(&challenge, "");
    mcpi_challenge_read(&challenge, "Basic realm=\"a\"");
    assert_false(challenge.bearer || challenge.dpop);
    mcpi_challenge_read(&challenge, "Bearer scope=\"a\"");
    /* what one header leaves open is none of the next one's */
    mcpi_challenge_read(&challenge, "error=\"e\"");
    mcpi_challenge_read(&challenge, "DPoP scope=\"b\", resource_metadata=\"u\"");
    assert_true(challenge.bearer && challenge.dpop);
    assert_string_equal(challenge.scope, "a");
    assert_string_equal(challenge.resource_metadata, "u");
    assert_string_equal(challenge.error, "");
}

static void
parameters_of_others_are_not_ours(void **state)
{
    static const struct row rows[] = {
        {.header = "Basic scope=\"a\", resource_metadata=\"https://evil.example\""},
        {.header = "scope=\"a\", error=b"},
        {.header = "Basic realm=\"a, Bearer b\""},
        {.header = "Basic realm=\"a, Bearer scope=\\\"b\\\"\", error=c"},
        {.header = "Basic Bearer=\"x\", scope=\"a\""},
        {.header = "Basic realm=\"x\", Bearer = \"x\", scope=\"a\""},
        {.header = "Bearer error=e, Basic scope=\"a\"", .bearer = true, .error = "e"},
        {.header = "Bearer, Negotiate abc==, scope=\"a\"", .bearer = true},
        {.header = "Bearers scope=a"},
        {.header = "XBearer scope=a"},
        {.header = "Bearer/1 scope=a"},
        {.header = "Bearer xscope=a, scopes=b, sco=c, error_uri=d", .bearer = true},
        {.header = "Basic a-name-that-is-longer-than-any-name-of-ours-is=b"},
        {.header = "a-scheme-that-is-longer-than-any-scheme-of-ours-is scope=b"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
what_is_malformed_is_passed_over(void **state)
{
    static const struct row rows[] = {
        /* up to the next challenge */
        {.header = "Bearer scope=a b, error=e", .bearer = true},
        {.header = "Bearer scope=a b, error=e, DPoP error=f",
         .bearer = true,
         .dpop = true,
         .error = "f"},
        {.header = "@, Bearer scope=a", .bearer = true, .scope = "a"},
        {.header = "\"Bearer scope=a\", Bearer scope=b", .bearer = true, .scope = "b"},
        {.header = "@\"x, Bearer scope=a\", Bearer scope=b",
         .bearer = true,
         .scope = "b"},
        {.header = "@\"x\\\", Bearer scope=a\", Bearer scope=b",
         .bearer = true,
         .scope = "b"},
        {.header = "=, =x, Bearer scope=a", .bearer = true, .scope = "a"},
        {.header = "Bearer Basic realm=\"x\", scope=\"a\"", .bearer = true},
        {.header = "Bearer @, scope=a", .bearer = true},
        {.header = "Bearer =a, scope=a"}, /* a parameter of nobody */
        {.header = "Bearer\"a\", scope=a"},
        {.header = "Basic x y, Bearer scope=a", .bearer = true, .scope = "a"},
        /* a parameter with something behind it is none */
        {.header = "Bearer scope=\"a\"b", .bearer = true},
        {.header = "Bearer scope=\"a\" b", .bearer = true},
        {.header = "Bearer scope=a\"b\"", .bearer = true},
        {.header = "Bearer scope=\"a\" error=\"e\"", .bearer = true},
        {.header = "Bearer scope==a", .bearer = true, .scope = "=a"},
        /* cut off */
        {.header = "Bearer scope", .bearer = true},
        {.header = "Bearer scope=", .bearer = true},
        {.header = "Bearer error=e, scope", .bearer = true, .error = "e"},
        {.header = "Bearer error=e, scope=", .bearer = true, .error = "e"},
        {.header = "Bearer scope=\"", .bearer = true},
        {.header = "Bearer scope=\"a", .bearer = true},
        {.header = "Bearer scope=\"a\\", .bearer = true},
        {.header = "Bearer scope=\"a\\\"", .bearer = true},
        {.header = "Bearer error=e, scope=\"a, Bearer error=f",
         .bearer = true,
         .error = "e"},
        {.header = "@\"\\"},
        {.header = "\""},
        {.header = ","},
        {.header = "="},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

static void
control_characters_make_a_value_not_there(void **state)
{
    static const struct row rows[] = {
        {.header = "Bearer scope=\"a\nb\", error=e", .bearer = true, .error = "e"},
        {.header = "Bearer scope=\"a\tb\", error=e", .bearer = true, .error = "e"},
        {.header = "Bearer scope=\"a\\\rb\", error=e", .bearer = true, .error = "e"},
        {.header = "Bearer scope=a\x01, error=e", .bearer = true, .error = "e"},
        {.header = "Bearer resource_metadata=\"https://a.example/\x7f\"",
         .bearer = true},
        {.header = "Bearer error_description=\"\x1b[31m\"", .bearer = true},
        {.header = "Bearer scope=\"\x01\", scope=b", .bearer = true, .scope = "b"},
        /* what is no UTF-8 is cleaned for people */
        {.header = "Bearer error_description=\"caf\xC3\xA9 \xFF\"",
         .bearer = true,
         .description = "caf\xC3\xA9 ?"},
    };

    (void)state;
    check_all(rows, COUNT(rows));
}

/* `len` letters as the value of a parameter, read. */
static void
read_long(struct mcpi_challenge *ret, const char *name, size_t len)
{
    char *header = malloc(len + 100);
    size_t at;

    assert_non_null(header);
    at = (size_t)sprintf(header, "Bearer %s=\"", name);
    memset(header + at, 'x', len);
    (void)sprintf(header + at + len, "\", realm=r");
    memset(ret, 0, sizeof(*ret));
    mcpi_challenge_read(ret, header);
    assert_true(ret->bearer);
    free(header);
}

static void
a_value_that_is_too_long_is_not_there(void **state)
{
    struct mcpi_challenge challenge;

    (void)state;
    read_long(&challenge, "scope", MCPI_CHALLENGE_TEXT_MAX - 1);
    assert_int_equal(strlen(challenge.scope), MCPI_CHALLENGE_TEXT_MAX - 1);
    read_long(&challenge, "scope", MCPI_CHALLENGE_TEXT_MAX);
    assert_string_equal(challenge.scope, "");
    read_long(&challenge, "resource_metadata", 1000000);
    assert_string_equal(challenge.resource_metadata, "");
    read_long(&challenge, "error", sizeof(challenge.error) - 1);
    assert_int_equal(strlen(challenge.error), sizeof(challenge.error) - 1);
    read_long(&challenge, "error", sizeof(challenge.error));
    assert_string_equal(challenge.error, "");
    /* that is for people, and cut */
    read_long(&challenge, "error_description", 1000);
    assert_int_equal(strlen(challenge.description), sizeof(challenge.description) - 1);
}

/* A pattern, over and over, and a challenge at its end that can be made out or not. With
 * a time that is not linear this would not end. */
static void
long_headers_take_linear_time(void **state)
{
    static const char *const patterns[] = {",",        " ",
                                           "a",        "=",
                                           "\"",       "\\",
                                           "a,",       "a=",
                                           "a=b,",     "Bearer ",
                                           "Bearer,",  "a \"",
                                           "@",        "a=\"\\\"",
                                           "a=\"b\",", "Bearer a= ",
                                           "\"\"",     "Bearer a a=\"",
                                           "a = b ,",  "=,=",
                                           "\t",       "Bearer a=\"b\" c,"};
    const size_t size = 4000000;
    struct mcpi_challenge challenge;
    char *header = malloc(size + 1);

    (void)state;
    assert_non_null(header);
    for (size_t i = 0; i < COUNT(patterns); i++) {
        size_t len = strlen(patterns[i]);

        for (size_t at = 0; at < size; at++)
            header[at] = patterns[i][at % len];
        header[size] = '\0';
        memset(&challenge, 0, sizeof(challenge));
        mcpi_challenge_read(&challenge, header);
        assert_string_equal(challenge.scope, "");
    }
    free(header);
}

/* Wherever a header is cut, nothing is made up. */
static void
any_prefix_says_no_more_than_the_whole(void **state)
{
    static const char whole[] =
        "Basic realm=\"a, Bearer b\", Bearer error=\"e\\\"x\", scope=\"s t\", "
        "resource_metadata=\"https://a.example/x\", Negotiate YQ==, DPoP "
        "algs=\"ES256\"";
    struct mcpi_challenge challenge;
    char text[sizeof(whole)];

    (void)state;
    for (size_t len = 0; len < sizeof(whole); len++) {
        memcpy(text, whole, len);
        text[len] = '\0';
        memset(&challenge, 0, sizeof(challenge));
        mcpi_challenge_read(&challenge, text);
        assert_true(!challenge.scope[0] || strcmp(challenge.scope, "s t") == 0);
        assert_true(!challenge.error[0] || strcmp(challenge.error, "e\"x") == 0);
        assert_true(!challenge.resource_metadata[0] ||
                    strcmp(challenge.resource_metadata, "https://a.example/x") == 0);
        assert_int_equal(challenge.bearer, len >= strlen("Basic realm=\"a, Bearer b\", "
                                                         "Bearer"));
    }
    assert_true(challenge.dpop);
}

TEST_MAIN(TEST(parameters_are_read), TEST(escapes_are_undone),
          TEST(challenges_may_stand_in_one_header), TEST(the_first_value_wins),
          TEST(headers_add_up), TEST(parameters_of_others_are_not_ours),
          TEST(what_is_malformed_is_passed_over),
          TEST(control_characters_make_a_value_not_there),
          TEST(a_value_that_is_too_long_is_not_there),
          TEST(long_headers_take_linear_time),
          TEST(any_prefix_says_no_more_than_the_whole))
