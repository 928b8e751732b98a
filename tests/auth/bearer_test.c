/* bearer_test.c - credentials in a request, and what is said of them */
#include "auth/bearer.h"

#include <string.h>

#include "support/test.h"
#include "json/value.h"

/* ---- reading ------------------------------------------------------------- */

struct row {
    const char *value; /* of Authorization */
    enum mcpi_bearer_scheme scheme;
    const char *token; /* NULL: malformed */
};

static const char *
read_one(const char *name, const char *value, struct mcpi_bearer *ret)
{
    const mcp_http_field field = {name, value};

    return mcpi_bearer_read(&MCP_HTTP_REQUEST(.target = "/mcp?access_token=query",
                                              .fields = &field, .field_count = 1),
                            ret);
}

static void
the_header_brings_a_scheme_and_a_token(void **state)
{
    static const struct row rows[] = {
        {"Bearer abc", MCPI_BEARER_PLAIN, "abc"},
        {"bearer abc", MCPI_BEARER_PLAIN, "abc"},
        {"BEARER   abc", MCPI_BEARER_PLAIN, "abc"},
        {"Bearer a-b._~+/9==", MCPI_BEARER_PLAIN, "a-b._~+/9=="},
        {"DPoP abc", MCPI_BEARER_DPOP, "abc"},
        {"dpop abc", MCPI_BEARER_DPOP, "abc"},
        {"Basic YTpi", MCPI_BEARER_NONE, ""},
        {"Bearerx abc", MCPI_BEARER_NONE, ""},
        {"", MCPI_BEARER_NONE, ""},
        {"Bearer", MCPI_BEARER_PLAIN, NULL},
        {"Bearer ", MCPI_BEARER_PLAIN, NULL},
        {"Bearer a b", MCPI_BEARER_PLAIN, NULL},
        {"Bearer a,b", MCPI_BEARER_PLAIN, NULL},
        {"Bearer \"a\"", MCPI_BEARER_PLAIN, NULL},
        {"Bearer a=b", MCPI_BEARER_PLAIN, NULL},
        {"Bearer ==", MCPI_BEARER_PLAIN, NULL},
        {"Bearer\tabc", MCPI_BEARER_NONE, ""},
        {"Bearer a\xc3\xa4", MCPI_BEARER_PLAIN, NULL},
    };
    struct mcpi_bearer bearer;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *fault = read_one("authorization", rows[i].value, &bearer);

        if (!fault != (rows[i].token != NULL))
            fail_msg("%s: %s", rows[i].value, fault);
        if (fault)
            continue;
        assert_int_equal(bearer.scheme, rows[i].scheme);
        assert_string_equal(bearer.token, rows[i].token);
        assert_string_equal(bearer.proof, "");
    }
}

static void
a_token_comes_in_the_header_and_nowhere_else(void **state)
{
    struct mcpi_bearer bearer;

    (void)state;
    assert_null(read_one("X-Authorization", "Bearer abc", &bearer));
    assert_int_equal(bearer.scheme, MCPI_BEARER_NONE);
    assert_null(read_one("access_token", "abc", &bearer));
    assert_int_equal(bearer.scheme, MCPI_BEARER_NONE);
}

static void
two_credentials_are_none(void **state)
{
    static const mcp_http_field fields[] = {{"Authorization", "Bearer a"},
                                            {"authorization", "Bearer a"}};
    struct mcpi_bearer bearer;

    (void)state;
    assert_string_equal(
        mcpi_bearer_read(&MCP_HTTP_REQUEST(.fields = fields, .field_count = 2),
                         &bearer),
        "Authorization stands twice");
}

static void
a_token_that_is_too_long_is_not_looked_at(void **state)
{
    static char value[7 + MCPI_BEARER_TOKEN_MAX + 2] = "Bearer ";
    struct mcpi_bearer bearer;

    (void)state;
    memset(value + 7, 'a', MCPI_BEARER_TOKEN_MAX);
    assert_null(read_one("Authorization", value, &bearer));
    value[7 + MCPI_BEARER_TOKEN_MAX] = 'a';
    assert_non_null(read_one("Authorization", value, &bearer));
}

static void
proofs_are_counted(void **state)
{
    static const mcp_http_field fields[] = {
        {"DPoP", "one"}, {"Authorization", "DPoP a"}, {"dpop", "two"}};
    struct mcpi_bearer bearer;

    (void)state;
    assert_null(mcpi_bearer_read(&MCP_HTTP_REQUEST(.fields = fields, .field_count = 3),
                                 &bearer));
    assert_string_equal(bearer.proof, "one");
    assert_int_equal(bearer.proofs, 2);
}

/* ---- challenges ---------------------------------------------------------- */

#define DOCUMENT "https://mcp.example/.well-known/oauth-protected-resource/mcp"

static void
challenge_is(struct mcpi_bearer_challenge what, const char *expected)
{
    char text[MCPI_BEARER_CHALLENGE_MAX];

    what.metadata = DOCUMENT;
    mcpi_bearer_challenge(&what, text);
    assert_string_equal(text, expected);
}

static void
a_challenge_says_what_is_known(void **state)
{
    (void)state;
    challenge_is((struct mcpi_bearer_challenge){0},
                 "Bearer resource_metadata=\"" DOCUMENT "\"");
    challenge_is((struct mcpi_bearer_challenge){.scope = "read write"},
                 "Bearer scope=\"read write\", resource_metadata=\"" DOCUMENT "\"");
    challenge_is(
        (struct mcpi_bearer_challenge){
            .error = "invalid_token", .description = "it has expired", .scope = ""},
        "Bearer error=\"invalid_token\", error_description=\"it has expired\", "
        "resource_metadata=\"" DOCUMENT "\"");
    challenge_is(
        (struct mcpi_bearer_challenge){.dpop = true, .error = "use_dpop_nonce"},
        "DPoP algs=\"ES256 EdDSA RS256\", error=\"use_dpop_nonce\", "
        "resource_metadata=\"" DOCUMENT "\"");
}

static void
nobodys_words_end_a_quote_or_a_line(void **state)
{
    (void)state;
    challenge_is(
        (struct mcpi_bearer_challenge){.description = "a\", x=\"b\\\r\nc\xff"},
        "Bearer error_description=\"a', x='b???c?\", resource_metadata=\"" DOCUMENT
        "\"");
}

static void
what_does_not_fit_is_left_out(void **state)
{
    char scope[MCPI_BEARER_CHALLENGE_MAX + 1];

    (void)state;
    memset(scope, 's', sizeof(scope) - 1);
    scope[sizeof(scope) - 1] = '\0';
    challenge_is(
        (struct mcpi_bearer_challenge){.error = "insufficient_scope", .scope = scope},
        "Bearer error=\"insufficient_scope\", resource_metadata=\"" DOCUMENT "\"");
    for (size_t len = 1800; len < sizeof(scope); len++) {
        char text[MCPI_BEARER_CHALLENGE_MAX];

        scope[len - 1] = 's';
        scope[len] = '\0';
        mcpi_bearer_challenge(
            &(struct mcpi_bearer_challenge){.scope = scope, .metadata = DOCUMENT},
            text);
        assert_non_null(strstr(text, "resource_metadata=\"" DOCUMENT "\""));
    }
}

/* ---- the document --------------------------------------------------------- */

static void
the_document_says_who_gives_tokens_out(void **state)
{
    static const char *const issuers[] = {"https://a.example", "https://b.example/x",
                                          NULL};
    static const char *const scopes[] = {"read", "write", NULL};
    struct mcpi_bearer_resource what = {.resource = "https://mcp.example/mcp",
                                        .issuers = issuers};
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 4096);
    assert_int_equal(mcpi_bearer_document(&what, &buf), 0);
    mcpi_buf_char(&buf, '\0');
    assert_string_equal(
        buf.data,
        "{\"resource\":\"https://mcp.example/mcp\",\"authorization_servers\":["
        "\"https://a.example\",\"https://b.example/x\"],"
        "\"bearer_methods_supported\":[\"header\"],"
        "\"dpop_signing_alg_values_supported\":[\"ES256\",\"EdDSA\","
        "\"RS256\"]}");
    mcpi_buf_clear(&buf);
    what.scopes = scopes;
    what.name = "A \"name\"";
    what.documentation = "https://mcp.example/help";
    what.dpop_only = true;
    assert_int_equal(mcpi_bearer_document(&what, &buf), 0);
    mcpi_buf_char(&buf, '\0');
    assert_non_null(strstr(buf.data, ",\"scopes_supported\":[\"read\",\"write\"],"));
    assert_non_null(strstr(buf.data, ",\"resource_name\":\"A \\\"name\\\"\","));
    assert_non_null(
        strstr(buf.data, ",\"resource_documentation\":\"https://mcp.example/help\","));
    assert_non_null(strstr(buf.data, ",\"dpop_bound_access_tokens_required\":true}"));
    mcpi_buf_clear(&buf);
    what.name = "\xff";
    assert_int_equal(mcpi_bearer_document(&what, &buf), MCP_E_INVAL);
    mcpi_buf_done(&buf);
}

TEST_MAIN(TEST(the_header_brings_a_scheme_and_a_token),
          TEST(a_token_comes_in_the_header_and_nowhere_else),
          TEST(two_credentials_are_none),
          TEST(a_token_that_is_too_long_is_not_looked_at), TEST(proofs_are_counted),
          TEST(a_challenge_says_what_is_known),
          TEST(nobodys_words_end_a_quote_or_a_line),
          TEST(what_does_not_fit_is_left_out),
          TEST(the_document_says_who_gives_tokens_out))
