/* secret_test.c - what must not be shown: found by its name, or by its shape */
#include "cli/secret.h"

#include <string.h>

#include "support/test.h"

static void
names_say_what_is_secret(void **state)
{
    (void)state;
    assert_true(cli_secret_is_name("password"));
    assert_true(cli_secret_is_name("api_key"));
    assert_true(cli_secret_is_name("X-API-Key"));
    assert_true(cli_secret_is_name("accessToken"));
    assert_true(cli_secret_is_name("client_secret"));
    assert_true(cli_secret_is_name("Authorization"));
    assert_false(cli_secret_is_name("progressToken"));
    assert_false(cli_secret_is_name("maxTokens"));
    assert_false(cli_secret_is_name("name"));
    assert_false(cli_secret_is_name(""));
}

static void
check_text(const char *text, const char *expected)
{
    struct cli_text shown = {0};

    cli_secret_add(&shown, text, strlen(text));
    assert_string_equal(cli_text_string(&shown), expected);
    cli_text_done(&shown);
}

static void
shapes_say_what_is_secret(void **state)
{
    (void)state;
    check_text("Authorization: Bearer abcdef123456.x",
               "Authorization: Bearer [hidden]");
    check_text("x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig y", "x [hidden] y");
    check_text("postgres://me:pw@host/db", "postgres://me:[hidden]@host/db");
    check_text("https://host/?access_token=0123456789&x=1",
               "https://host/?access_token=[hidden]&x=1");
    check_text("key sk-0123456789abcdefghij, ghp_0123456789abcdefghij",
               "key [hidden], [hidden]");
    check_text("-----BEGIN RSA PRIVATE KEY-----\nabc\n", "[hidden]");
}

static void
what_is_known_is_hidden_wherever_it_stands(void **state)
{
    (void)state;
    cli_secret_keep("correct horse", 13);
    cli_secret_keep("1234", 4);
    check_text("it is correct horse.", "it is [hidden].");
    check_text("1234", "[hidden]");
    check_text("12345, 1234", "12345, 1234"); /* too short to be found in a text */
    cli_secret_forget();
    check_text("correct horse", "correct horse");
}

static void
what_only_looks_similar_is_shown(void **state)
{
    static const char *const texts[] = {
        "", "a bearer of news", "task-12345678901234567890", "http://host:8080/path@x",
        "-----BEGIN CERTIFICATE-----\nabc"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_text(texts[i], texts[i]);
}

static void
check_json(const char *json, const char *expected)
{
    struct cli_text shown = {0};
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(json, strlen(json), NULL, &doc, NULL), 0);
    cli_secret_add_json(&shown, mcp_doc_root(doc));
    assert_string_equal(cli_text_string(&shown), expected);
    cli_text_done(&shown);
    mcp_doc_free(doc);
}

static void
members_are_hidden_at_any_depth(void **state)
{
    (void)state;
    check_json("{\"a\":[{\"token\":\"x\",\"n\":1}],\"password\":42}",
               "{\"a\":[{\"token\":\"[hidden]\",\"n\":1}],\"password\":\"[hidden]\"}");
    check_json("{\"tokens\":1,\"secret\":[\"a\",\"b\"],\"cookie\":null}",
               "{\"tokens\":1,\"secret\":[\"[hidden]\",\"[hidden]\"],\"cookie\":null}");
    check_json("[\"Bearer abcdefgh\"]", "[\"Bearer [hidden]\"]");
}

static void
a_schema_that_describes_one_is_shown(void **state)
{
    static const char schema[] =
        "{\"properties\":{\"password\":{\"type\":\"string\",\"title\":\"Password\"}}}";

    (void)state;
    check_json(schema, schema);
}

TEST_MAIN(TEST(names_say_what_is_secret), TEST(shapes_say_what_is_secret),
          TEST(what_is_known_is_hidden_wherever_it_stands),
          TEST(what_only_looks_similar_is_shown), TEST(members_are_hidden_at_any_depth),
          TEST(a_schema_that_describes_one_is_shown))
