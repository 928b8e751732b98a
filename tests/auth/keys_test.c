/* keys_test.c - the keys that an issuer signs with */
#include "auth/keys.h"

#include <stdio.h>

#include "auth/jwt_fixture.h"

#define CLAIMS "{'sub':'s'}"
#define NAMED(kid, members) "{'kid':'" kid "'," members "}"
#define EC EC_MEMBERS
#define RSA "'e':'AQAB','kty':'RSA','n':'" RSA_N "'"
#define ED "'crv':'Ed25519','kty':'OKP','x':'" ED_X "'"
#define OTHER_EC /* P-256 of RFC 7517, A.1 */                                        \
    "'crv':'P-256','kty':'EC','x':'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4','y'" \
    ":'4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM'"

static struct mcpi_keys *
keys_of(const mcp_allocator *mem, const char *text)
{
    mcp_doc *doc = json_doc(NULL, text);
    struct mcpi_keys *keys = NULL;
    int r = mcpi_keys_read(mem, mcp_doc_root(doc), &keys);

    mcp_doc_free(doc);
    assert_true(r == 0 || !keys);
    assert_true(r == 0 || r == MCP_E_INVAL || r == MCP_E_NOMEM);
    return keys;
}

static enum mcpi_keys_verdict
verdict_of(const char *set, const char *head, const char *key)
{
    struct mcpi_keys *keys = keys_of(NULL, set);
    enum mcpi_keys_verdict verdict;
    struct token token;
    struct mcpi_jwt jwt;

    assert_non_null(keys);
    token_make(&token, head, CLAIMS, key);
    assert_int_equal(mcpi_jwt_read(NULL, token.text.data, token.text.len, &jwt), 0);
    verdict = mcpi_keys_check(keys, &jwt);
    mcpi_jwt_done(&jwt);
    token_done(&token);
    mcpi_keys_unref(keys);
    return verdict;
}

static void
a_set_has_the_keys_that_are_ours(void **state)
{
    struct mcpi_keys *keys;

    (void)state;
    keys = keys_of(
        NULL, "{'keys':[" NAMED("a", EC) "," NAMED(
                  "b", RSA) ",{'kty':'oct','k':'AAAA'}"
                            ",{'kty':'EC','crv':'P-384','x':'x','y':'y'},7,null," NAMED(
                                "c", ED) "]}");
    assert_int_equal(mcpi_keys_count(keys), 3);
    assert_ptr_equal(mcpi_keys_ref(keys), keys);
    mcpi_keys_unref(keys);
    mcpi_keys_unref(keys);
    mcpi_keys_unref(NULL);
}

static void
what_is_no_set_is_none(void **state)
{
    (void)state;
    assert_null(keys_of(NULL, "{}"));
    assert_null(keys_of(NULL, "[]"));
    assert_null(keys_of(NULL, "{'keys':{}}"));
    assert_null(keys_of(NULL, "{'keys':[]}"));
    assert_null(keys_of(NULL, "{'keys':[{'kty':'oct','k':'AAAA'}]}"));
    assert_null(keys_of(NULL, "{'keys':[{'use':'enc'," EC "}]}"));
}

static void
a_key_whose_secret_is_published_is_none(void **state)
{
    (void)state;
    assert_null(keys_of(NULL, "{'keys':[" EC_PRIVATE "]}"));
}

static void
a_set_is_bounded(void **state)
{
    struct mcpi_keys *keys;
    struct mcpi_buf text;

    (void)state;
    mcpi_buf_init(&text, NULL, 1 << 20);
    mcpi_buf_text(&text, "{'keys':[" EC_PUBLIC);
    for (int i = 0; i < 2 * MCPI_KEYS_MAX; i++)
        mcpi_buf_text(&text, "," EC_PUBLIC);
    mcpi_buf_text(&text, "]}");
    mcpi_buf_char(&text, '\0');
    keys = keys_of(NULL, text.data);
    assert_int_equal(mcpi_keys_count(keys), MCPI_KEYS_MAX);
    mcpi_keys_unref(keys);
    mcpi_buf_done(&text);
}

static void
a_token_is_checked_with_the_key_that_it_names(void **state)
{
    static const char set[] = "{'keys':[" NAMED("a", OTHER_EC) "," NAMED(
        "b", EC) "," NAMED("r", RSA) "," NAMED("e", ED) "]}";

    (void)state;
    assert_int_equal(verdict_of(set, "{'alg':'ES256','kid':'b'}", EC_PRIVATE),
                     MCPI_KEYS_SIGNED);
    assert_int_equal(verdict_of(set, "{'alg':'RS256','kid':'r'}", RSA_PRIVATE),
                     MCPI_KEYS_SIGNED);
    assert_int_equal(verdict_of(set, "{'alg':'EdDSA','kid':'e'}", ED_PRIVATE),
                     MCPI_KEYS_SIGNED);
    assert_int_equal(verdict_of(set, "{'alg':'ES256','kid':'a'}", EC_PRIVATE),
                     MCPI_KEYS_FORGED);
    assert_int_equal(verdict_of(set, "{'alg':'ES256','kid':'x'}", EC_PRIVATE),
                     MCPI_KEYS_UNKNOWN);
}

static void
a_token_that_names_none_may_be_of_any(void **state)
{
    static const char set[] = "{'keys':[" NAMED("a", OTHER_EC) "," NAMED("b", EC) "]}";

    (void)state;
    assert_int_equal(verdict_of(set, "{'alg':'ES256'}", EC_PRIVATE), MCPI_KEYS_SIGNED);
    assert_int_equal(
        verdict_of("{'keys':[{" OTHER_EC "}]}", "{'alg':'ES256'}", EC_PRIVATE),
        MCPI_KEYS_UNKNOWN);
    assert_int_equal(
        verdict_of("{'keys':[" EC_PUBLIC "]}", "{'alg':'ES256','kid':'x'}", EC_PRIVATE),
        MCPI_KEYS_SIGNED);
}

/* The key says what the algorithm is, not the token. */
static void
a_key_is_not_used_for_another_algorithm(void **state)
{
    static const char set[] = "{'keys':[" NAMED("b", EC) "]}";

    (void)state;
    assert_int_equal(verdict_of(set, "{'alg':'HS256','kid':'b'}", EC_PRIVATE),
                     MCPI_KEYS_UNKNOWN);
    assert_int_equal(verdict_of(set, "{'alg':'none','kid':'b'}", EC_PRIVATE),
                     MCPI_KEYS_UNKNOWN);
    assert_int_equal(verdict_of(set, "{'alg':'RS256','kid':'b'}", EC_PRIVATE),
                     MCPI_KEYS_UNKNOWN);
}

static void
read_once(struct test_mem *mem, void *user)
{
    (void)user;
    mcpi_keys_unref(
        keys_of(&mem->allocator, "{'keys':[" EC_PUBLIC "," RSA_PUBLIC "]}"));
}

static void
want_of_memory_leaves_nothing(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(read_once, NULL) > 2);
}

TEST_MAIN(TEST(a_set_has_the_keys_that_are_ours), TEST(what_is_no_set_is_none),
          TEST(a_key_whose_secret_is_published_is_none), TEST(a_set_is_bounded),
          TEST(a_token_is_checked_with_the_key_that_it_names),
          TEST(a_token_that_names_none_may_be_of_any),
          TEST(a_key_is_not_used_for_another_algorithm),
          TEST(want_of_memory_leaves_nothing))
