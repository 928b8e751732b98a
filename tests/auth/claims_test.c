/* claims_test.c - what the claims of an access token say of who brings it */
#include "auth/claims.h"

#include <string.h>

#include "auth/key_fixture.h"

/* "": good; else what is wrong. claims is done with if there is a fault. */
static const char *
read_claims(const char *text, struct mcpi_claims *ret)
{
    mcp_doc *doc = json_doc(NULL, text);
    const char *fault;
    int status;

    fault = mcpi_claims_read(NULL, mcp_doc_root(doc), ret, &status);
    assert_int_equal(status, 0);
    if (!fault && ret->key)
        assert_string_equal(ret->key, "thumb");
    mcp_doc_free(doc);
    return fault ? fault : "";
}

static void
claims_are(const char *text, const char *principal, const char *scope)
{
    struct mcpi_claims claims;

    assert_string_equal(read_claims(text, &claims), "");
    assert_string_equal(claims.principal, principal);
    mcpi_buf_char(&claims.scope, '\0');
    assert_string_equal(claims.scope.data, scope);
    mcpi_claims_done(&claims);
}

static void
a_credential_is_issuer_client_and_subject(void **state)
{
    (void)state;
    claims_are("{'iss':'https://a','client_id':'c','sub':'s'}", "https://a|c|s", "");
    claims_are("{'iss':'https://a','azp':'c','sub':'s'}", "https://a|c|s", "");
    claims_are("{'iss':'https://a','client_id':'c','azp':'d','sub':'s'}",
               "https://a|c|s", "");
    claims_are("{'iss':'https://a','sub':'s'}", "https://a||s", "");
    claims_are("{'iss':'https://a','client_id':'c'}", "https://a|c|", "");
}

static void
no_two_credentials_have_one_name(void **state)
{
    (void)state;
    claims_are("{'iss':'i','client_id':'a|b','sub':'c'}", "i|a%7Cb|c", "");
    claims_are("{'iss':'i','client_id':'a','sub':'b|c'}", "i|a|b%7Cc", "");
    claims_are("{'iss':'i','client_id':'a%7Cb','sub':'c'}", "i|a%257Cb|c", "");
    claims_are("{'iss':'i','client_id':'a b','sub':'c\\u007f\\n'}", "i|a%20b|c%7F%0A",
               "");
}

static void
who_is_nobody_is_not_taken(void **state)
{
    static const char *const rows[] = {
        "{'iss':'i'}",
        "{'iss':'i','sub':''}",
        "{'iss':'i','sub':7}",
        "{'iss':'i','sub':'a\\u0000b'}",
        "{'iss':'i','sub':'a','client_id':['c']}",
        "{'iss':'i','client_id':'a\\u0000b','sub':'s'}",
    };
    struct mcpi_claims claims;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(read_claims(rows[i], &claims), "the token names nobody");
}

static void
a_long_name_is_told_by_its_hash(void **state)
{
    char subject[2000], one[MCPI_CLAIMS_PRINCIPAL_MAX + 1],
        other[MCPI_CLAIMS_PRINCIPAL_MAX + 1];

    (void)state;
    memset(subject, 's', sizeof(subject));
    subject[MCPI_CLAIMS_PRINCIPAL_MAX - 4] = '\0';
    assert_int_equal(mcpi_claims_principal(NULL, "i", "c", subject, one), 0);
    assert_int_equal(strlen(one), MCPI_CLAIMS_PRINCIPAL_MAX);
    assert_memory_equal(one, "i|c|sss", 7);
    subject[MCPI_CLAIMS_PRINCIPAL_MAX - 4] = 's';
    subject[sizeof(subject) - 1] = '\0';
    assert_int_equal(mcpi_claims_principal(NULL, "i", "c", subject, one), 0);
    assert_int_equal(strlen(one), strlen("sha256:") + 43);
    assert_memory_equal(one, "sha256:", 7);
    subject[1500] = 't';
    assert_int_equal(mcpi_claims_principal(NULL, "i", "c", subject, other), 0);
    assert_string_not_equal(one, other);
}

static void
scopes_are_read_as_issuers_write_them(void **state)
{
    (void)state;
    claims_are("{'iss':'i','sub':'s','scope':'read write read'}", "i||s", "read write");
    claims_are("{'iss':'i','sub':'s','scope':['read','write']}", "i||s", "read write");
    claims_are("{'iss':'i','sub':'s','scp':['read']}", "i||s", "read");
    claims_are("{'iss':'i','sub':'s','scp':'read write'}", "i||s", "read write");
    claims_are("{'iss':'i','sub':'s','scope':7}", "i||s", "");
}

static void
a_token_may_be_bound_to_a_key_and_nothing_else(void **state)
{
    static const char *const rows[] = {
        "{'iss':'i','sub':'s','cnf':{}}",
        "{'iss':'i','sub':'s','cnf':'thumb'}",
        "{'iss':'i','sub':'s','cnf':{'jkt':''}}",
        "{'iss':'i','sub':'s','cnf':{'jkt':7}}",
        "{'iss':'i','sub':'s','cnf':{'x5t#S256':'thumb'}}",
        "{'iss':'i','sub':'s','cnf':{'jkt':'thumb','x5t#S256':'x'}}",
        "{'iss':'i','sub':'s','cnf':null}",
    };
    struct mcpi_claims claims;

    (void)state;
    assert_string_equal(read_claims("{'iss':'i','sub':'s'}", &claims), "");
    assert_null(claims.key);
    mcpi_claims_done(&claims);
    assert_string_equal(
        read_claims("{'iss':'i','sub':'s','cnf':{'jkt':'thumb'}}", &claims), "");
    assert_non_null(claims.key);
    mcpi_claims_done(&claims);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(read_claims(rows[i], &claims),
                            "the token is bound to what cannot be checked here");
}

static void
read_once(struct test_mem *mem, void *user)
{
    struct mcpi_claims claims;
    int status;

    if (!mcpi_claims_read(&mem->allocator, user, &claims, &status))
        mcpi_claims_done(&claims);
    else
        assert_int_equal(status, MCP_E_NOMEM);
}

static void
want_of_memory_is_told(void **state)
{
    mcp_doc *doc = json_doc(NULL, "{'iss':'i','sub':'s','scope':'read'}");

    (void)state;
    assert_true(test_each_allocation_fails(read_once,
                                           (void *)(uintptr_t)mcp_doc_root(doc)) > 0);
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(a_credential_is_issuer_client_and_subject),
          TEST(no_two_credentials_have_one_name), TEST(who_is_nobody_is_not_taken),
          TEST(a_long_name_is_told_by_its_hash),
          TEST(scopes_are_read_as_issuers_write_them),
          TEST(a_token_may_be_bound_to_a_key_and_nothing_else),
          TEST(want_of_memory_is_told))
