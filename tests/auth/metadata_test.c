/* metadata_test.c - what a resource and an issuer publish of themselves */
#include "auth/metadata.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SERVER "https://mcp.example/v1/mcp"
#define ISSUER "https://auth.example/t"

/* A document, and what was read of it; done with it when the next is read. */
struct read {
    mcp_doc *doc;
    const char *fault;
    struct mcpi_resource_metadata resource;
    struct mcpi_issuer_metadata issuer;
};

static const mcp_json *
parse(struct read *read, const char *text)
{
    mcp_doc_free(read->doc);
    memset(read, 0, sizeof(*read));
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &read->doc, NULL), 0);
    return mcp_doc_root(read->doc);
}

static bool
read_resource(struct read *read, const char *text)
{
    const mcp_json *json = parse(read, text);

    read->fault = mcpi_resource_metadata_read(json, SERVER, &read->resource);
    return !read->fault;
}

static bool
read_issuer_as(struct read *read, const char *text, const char *issuer)
{
    const mcp_json *json = parse(read, text);

    read->fault = mcpi_issuer_metadata_read(json, issuer, &read->issuer);
    return !read->fault;
}

static bool
read_issuer(struct read *read, const char *text)
{
    return read_issuer_as(read, text, ISSUER);
}

/* ---- a resource ---------------------------------------------------------- */

static void
a_resource_names_its_issuers(void **state)
{
    struct read read = {0};

    (void)state;
    assert_true(read_resource(
        &read, "{\"resource\": \"" SERVER "\", \"authorization_servers\":"
               " [\"" ISSUER "\", \"https://b.example\"],"
               " \"scopes_supported\": [\"a\", \"b\"],"
               " \"dpop_bound_access_tokens_required\": true, \"other\": {}}"));
    assert_string_equal(read.resource.resource, SERVER);
    assert_string_equal(read.resource.issuer, ISSUER);
    assert_int_equal(mcp_json_count(read.resource.issuers), 2);
    assert_int_equal(mcp_json_count(read.resource.scopes), 2);
    assert_true(read.resource.dpop_required);
    mcp_doc_free(read.doc);
}

static void
a_resource_need_not_say_more(void **state)
{
    static const char *const rows[] = {
        "",
        ", \"scopes_supported\": null, \"dpop_bound_access_tokens_required\": null",
        ", \"scopes_supported\": \"a\", \"dpop_bound_access_tokens_required\": \"b\"",
        ", \"scopes_supported\": {}, \"dpop_bound_access_tokens_required\": 1",
    };
    struct read read = {0};
    char text[400];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(text, sizeof(text),
                 "{\"resource\": \"https://mcp.example\","
                 " \"authorization_servers\": [\"https://a.example/\"]%s}",
                 rows[i]);
        assert_true(read_resource(&read, text));
        assert_string_equal(read.resource.resource, "https://mcp.example");
        assert_string_equal(read.resource.issuer, "https://a.example/");
        assert_null(read.resource.scopes);
        assert_false(read.resource.dpop_required);
    }
    mcp_doc_free(read.doc);
}

static void
a_document_about_another_resource_is_refused(void **state)
{
    static const char *const rows[] = {
        "\"https://evil.example/mcp\"",
        "\"https://evil.example/v1/mcp\"",
        "\"http://mcp.example/v1/mcp\"",
        "\"https://mcp.example:8443/v1/mcp\"",
        "\"https://mcp.example/v1/mc\"",
        "\"https://mcp.example/v1/mcp2\"",
        "\"https://mcp.example/v1/mcp/more\"",
        "\"https://mcp.example/v1/other\"",
        "\"https://mcp.example/v1/../v1/mcp\"",
        "\"https://mcp.example/v1/mcp?x\"",
        "\"https://mcp.example/v1/mcp#x\"",
        "\"https://mcp.example@evil.example/v1/mcp\"",
        "\"/v1/mcp\"",
        "\"mcp.example\"",
        "\"https://mcp.example/v1/mcp\\u0000\"",
        "\"https://mcp.example\\u0000.evil.example/\"",
        "\"\"",
        "null",
        "1",
        "[\"https://mcp.example/v1/mcp\"]",
        "{}",
    };
    struct read read = {0};
    char text[400];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(text, sizeof(text),
                 "{\"resource\": %s, \"authorization_servers\": [\"" ISSUER "\"]}",
                 rows[i]);
        if (read_resource(&read, text))
            fail_msg("%s", text);
        assert_null(read.resource.issuer);
    }
    assert_false(read_resource(&read, "{\"authorization_servers\": [\"" ISSUER "\"]}"));
    mcp_doc_free(read.doc);
}

static void
an_issuer_that_is_not_safe_is_passed_over(void **state)
{
    struct read read = {0};

    (void)state;
    assert_true(read_resource(
        &read,
        "{\"resource\": \"" SERVER "\", \"authorization_servers\":"
        " [\"http://a.example\", \"javascript:x\", \"\", \"https://a.example?q\","
        " \"https://a.example#f\", \"http://localhost:1\", \"" ISSUER "\"]}"));
    assert_string_equal(read.resource.issuer, "http://localhost:1");
    assert_int_equal(mcp_json_count(read.resource.issuers), 7);
    mcp_doc_free(read.doc);
}

static void
a_resource_without_an_issuer_is_refused(void **state)
{
    static const char *const rows[] = {
        "null",
        "[]",
        "{}",
        "\"" ISSUER "\"",
        "{\"a\": \"" ISSUER "\"}",
        "[\"http://a.example\"]",
        "[\"\"]",
        "[\"" ISSUER "\", 1]",
        "[null, \"" ISSUER "\"]",
        "[[\"" ISSUER "\"]]",
        "[\"" ISSUER "\\u0000\"]",
        "[\"" ISSUER "\", \"a\\u0000\"]",
    };
    struct read read = {0};
    char text[400];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(text, sizeof(text),
                 "{\"resource\": \"" SERVER "\", \"authorization_servers\": %s}",
                 rows[i]);
        if (read_resource(&read, text))
            fail_msg("%s", text);
    }
    assert_false(read_resource(&read, "{\"resource\": \"" SERVER "\"}"));
    mcp_doc_free(read.doc);
}

/* ---- an issuer ----------------------------------------------------------- */

static void
an_issuer_says_what_it_can(void **state)
{
    struct read read = {0};
    const struct mcpi_issuer_metadata *of = &read.issuer;

    (void)state;
    assert_true(read_issuer(
        &read,
        "{\"issuer\": \"" ISSUER "\","
        "\"authorization_endpoint\": \"https://auth.example/authorize?x=1\","
        "\"token_endpoint\": \"https://elsewhere.example/token\","
        "\"registration_endpoint\": \"http://127.0.0.1:1/register\","
        "\"jwks_uri\": \"https://auth.example/keys\","
        "\"scopes_supported\": [\"a\"],"
        "\"code_challenge_methods_supported\": [\"plain\", \"S256\"],"
        "\"authorization_response_iss_parameter_supported\": true,"
        "\"client_id_metadata_document_supported\": true,"
        "\"dpop_signing_alg_values_supported\": [\"RS256\", \"ES256\"],"
        "\"token_endpoint_auth_methods_supported\": [\"none\", \"client_secret_basic\","
        " \"client_secret_post\", \"private_key_jwt\"],"
        "\"token_endpoint_auth_signing_alg_values_supported\": [\"ES256\"]}"));
    assert_string_equal(of->issuer, ISSUER);
    assert_string_equal(of->authorization_endpoint,
                        "https://auth.example/authorize?x=1");
    assert_string_equal(of->token_endpoint, "https://elsewhere.example/token");
    assert_string_equal(of->registration_endpoint, "http://127.0.0.1:1/register");
    assert_string_equal(of->jwks_uri, "https://auth.example/keys");
    assert_int_equal(mcp_json_count(of->scopes), 1);
    assert_int_equal(mcp_json_count(of->auth_algs), 1);
    assert_true(of->has_s256 && of->sends_iss && of->takes_documents && of->knows_dpop);
    assert_true(of->auth_none && of->auth_basic && of->auth_post && of->auth_jwt);
    mcp_doc_free(read.doc);
}

static void
an_issuer_that_says_nothing_can_basic_only(void **state)
{
    static const char *const rows[] = {
        "{\"issuer\": \"" ISSUER "\"}",
        "{\"issuer\": \"" ISSUER "\", \"token_endpoint\": null,"
        " \"scopes_supported\": null, \"registration_endpoint\": null,"
        " \"token_endpoint_auth_methods_supported\": null,"
        " \"code_challenge_methods_supported\": null}",
        "{\"issuer\": \"" ISSUER "\", \"scopes_supported\": \"a\","
        " \"code_challenge_methods_supported\": \"S256\","
        " \"dpop_signing_alg_values_supported\": {\"ES256\": \"ES256\"},"
        " \"authorization_response_iss_parameter_supported\": \"true\","
        " \"client_id_metadata_document_supported\": 1,"
        " \"token_endpoint_auth_methods_supported\": \"none\","
        " \"token_endpoint_auth_signing_alg_values_supported\": \"ES256\"}",
    };
    struct read read = {0};
    const struct mcpi_issuer_metadata *of = &read.issuer;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_true(read_issuer(&read, rows[i]));
        assert_true(!of->authorization_endpoint && !of->token_endpoint);
        assert_true(!of->registration_endpoint && !of->jwks_uri);
        assert_true(!of->scopes && !of->auth_algs);
        assert_false(of->has_s256 || of->sends_iss);
        assert_false(of->takes_documents || of->knows_dpop);
        assert_true(of->auth_basic);
        assert_false(of->auth_none || of->auth_post || of->auth_jwt);
    }
    mcp_doc_free(read.doc);
}

static void
a_list_has_exactly_what_it_names(void **state)
{
    static const char *const without_s256[] = {"[]",
                                               "[\"plain\"]",
                                               "[\"s256\"]",
                                               "[\"S256 \"]",
                                               "[\"S256\\u0000\"]",
                                               "[[\"S256\"]]",
                                               "[256, null, true]",
                                               "[\"S2567\"]"};
    struct read read = {0};
    char text[200];

    (void)state;
    for (size_t i = 0; i < COUNT(without_s256); i++) {
        snprintf(text, sizeof(text),
                 "{\"issuer\": \"" ISSUER
                 "\", \"code_challenge_methods_supported\": %s}",
                 without_s256[i]);
        assert_true(read_issuer(&read, text));
        assert_false(read.issuer.has_s256);
    }
    assert_true(read_issuer(&read, "{\"issuer\": \"" ISSUER "\","
                                   " \"token_endpoint_auth_methods_supported\": []}"));
    assert_false(read.issuer.auth_basic);
    assert_true(read_issuer(&read,
                            "{\"issuer\": \"" ISSUER "\","
                            " \"token_endpoint_auth_methods_supported\": [\"none\"]}"));
    assert_true(read.issuer.auth_none);
    assert_false(read.issuer.auth_basic);
    mcp_doc_free(read.doc);
}

static void
metadata_of_another_issuer_is_refused(void **state)
{
    static const char *const rows[] = {
        "\"https://attacker.example\"",
        "\"https://auth.example/t/\"",
        "\"https://auth.example\"",
        "\"https://auth.example/T\"",
        "\"https://AUTH.example/t\"",
        "\"HTTPS://auth.example/t\"",
        "\"https://auth.example:443/t\"",
        "\"https://auth.example/%74\"",
        "\"https://auth.example/t?\"",
        "\"https://auth.example/t \"",
        "\"https://auth.example/t\\u0000\"",
        "\"http://auth.example/t\"",
        "\"\"",
        "null",
        "[\"" ISSUER "\"]",
    };
    struct read read = {0};
    char text[200];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(text, sizeof(text), "{\"issuer\": %s}", rows[i]);
        if (read_issuer(&read, text))
            fail_msg("%s", text);
        assert_null(read.issuer.issuer);
    }
    assert_false(read_issuer(&read, "{}"));
    /* a slash at the end is part of a name, and then must be there */
    assert_true(read_issuer_as(&read, "{\"issuer\": \"https://a.example/\"}",
                               "https://a.example/"));
    assert_false(read_issuer_as(&read, "{\"issuer\": \"https://a.example\"}",
                                "https://a.example/"));
    mcp_doc_free(read.doc);
}

static void
what_cannot_be_an_issuer_is_refused(void **state)
{
    static const char *const rows[] = {
        "http://auth.example",    "https://auth.example?a", "https://auth.example#",
        "https://u@auth.example", "auth.example",           ""};
    struct read read = {0};
    char text[200];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(text, sizeof(text), "{\"issuer\": \"%s\"}", rows[i]);
        if (read_issuer_as(&read, text, rows[i]))
            fail_msg("%s", text);
    }
    mcp_doc_free(read.doc);
}

static void
an_endpoint_that_is_not_safe_spoils_all(void **state)
{
    static const char *const keys[] = {"authorization_endpoint", "token_endpoint",
                                       "registration_endpoint", "jwks_uri"};
    static const char *const values[] = {
        "\"http://auth.example/x\"",
        "\"http://10.0.0.1/x\"",
        "\"http://127.1/x\"",
        "\"javascript:alert(1)\"",
        "\"javascript://auth.example/%0aalert(1)\"",
        "\"data:text/html,x\"",
        "\"file:///etc/passwd\"",
        "\"https://user:pass@auth.example/x\"",
        "\"https://auth.example/x#y\"",
        "\"https://auth.example/x y\"",
        "\"https://auth.example/\\n\"",
        "\"https://auth.example/\\u0000\"",
        "\"/x\"",
        "\"\"",
        "1",
        "true",
        "[]",
        "[\"https://auth.example/x\"]",
        "{}",
    };
    struct read read = {0};
    char text[300];

    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++)
        for (size_t j = 0; j < COUNT(values); j++) {
            snprintf(text, sizeof(text), "{\"issuer\": \"" ISSUER "\", \"%s\": %s}",
                     keys[i], values[j]);
            if (read_issuer(&read, text))
                fail_msg("%s", text);
            assert_null(read.issuer.issuer);
        }
    mcp_doc_free(read.doc);
}

/* ---- both ---------------------------------------------------------------- */

static void
a_key_twice_is_refused(void **state)
{
    struct read read = {0};

    (void)state;
    assert_false(read_issuer(&read, "{\"issuer\": \"" ISSUER "\","
                                    " \"issuer\": \"" ISSUER "\"}"));
    assert_false(
        read_issuer(&read, "{\"issuer\": \"" ISSUER "\", \"a\": 1, \"a\": 2}"));
    assert_false(read_resource(
        &read, "{\"resource\": \"" SERVER "\","
               " \"authorization_servers\": [\"" ISSUER "\"],"
               " \"authorization_servers\": [\"https://evil.example\"]}"));
    mcp_doc_free(read.doc);
}

static void
what_is_no_object_is_refused(void **state)
{
    static const char *const rows[] = {"null", "[]",   "\"" ISSUER "\"",
                                       "1",    "true", "{}"};
    struct read read = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_false(read_issuer(&read, rows[i]));
        assert_false(read_resource(&read, rows[i]));
    }
    assert_non_null(mcpi_issuer_metadata_read(NULL, ISSUER, &read.issuer));
    assert_non_null(mcpi_resource_metadata_read(NULL, SERVER, &read.resource));
    mcp_doc_free(read.doc);
}

TEST_MAIN(TEST(a_resource_names_its_issuers), TEST(a_resource_need_not_say_more),
          TEST(a_document_about_another_resource_is_refused),
          TEST(an_issuer_that_is_not_safe_is_passed_over),
          TEST(a_resource_without_an_issuer_is_refused),
          TEST(an_issuer_says_what_it_can),
          TEST(an_issuer_that_says_nothing_can_basic_only),
          TEST(a_list_has_exactly_what_it_names),
          TEST(metadata_of_another_issuer_is_refused),
          TEST(what_cannot_be_an_issuer_is_refused),
          TEST(an_endpoint_that_is_not_safe_spoils_all), TEST(a_key_twice_is_refused),
          TEST(what_is_no_object_is_refused))
