/* json/hash_test.c - proves json/hash.c */
#include "json/hash.h"

#include "json/schema_fixture.h"

static const uint64_t key[2] = {1, 2}, other_key[2] = {1, 3};

static uint64_t
hash_of(const char *text)
{
    mcp_doc *doc = doc_of(text);
    uint64_t hash = mcpi_json_hash(key, mcp_doc_root(doc));

    mcp_doc_free(doc);
    return hash;
}

static void
equal_values_share_a_hash(void **state)
{
    static const char *const equal[][2] = {
        {"1", "1.0"},
        {"-1", "-1.0"},
        {"0", "-0.0"},
        {"1e3", "1000"},
        {"'\\u0061'", "'a'"},
        {"{'a':1,'b':2}", "{'b':2,'a':1}"},
        {"[{'a':{'x':[],'y':{}}}]", "[{'a':{'y':{},'x':[]}}]"},
        {"{'a':1,'a':2}", "{'a':1,'a':2}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(equal) / sizeof(equal[0]); i++)
        assert_int_equal(hash_of(equal[i][0]), hash_of(equal[i][1]));
}

static void
other_values_do_not(void **state)
{
    static const char *const values[] = {
        "null",
        "true",
        "false",
        "0",
        "1",
        "-1",
        "1.5",
        "18446744073709551615",
        "1e300",
        "''",
        "'0'",
        "'1'",
        "'null'",
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        "[null]",
        "[1,2]",
        "[2,1]",
        "[[1,2]]",
        "[[1],2]",
        "[1,[2]]",
        "{'a':1}",
        "{'a':2}",
        "{'b':1}",
        "{'a':'1'}",
        "{'a':1,'b':2}",
        "{'a':2,'b':1}",
        "{'a':1,'a':2}",
        "{'a':2,'a':1}",
        "{'a':1,'a':1}",
        "['a',1]",
        "{'':0}",
        "{'a':{'b':1}}",
        "{'a':{},'b':1}",
    };
    size_t count = sizeof(values) / sizeof(values[0]);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(hash_of(values[i]), hash_of(values[j]));
    }
}

static void
another_key_is_another_hash(void **state)
{
    mcp_doc *doc = doc_of("{'a':[1,2]}");

    (void)state;
    assert_int_not_equal(mcpi_json_hash(key, mcp_doc_root(doc)),
                         mcpi_json_hash(other_key, mcp_doc_root(doc)));
    assert_int_not_equal(mcpi_json_hash_pair(key, 1, 2),
                         mcpi_json_hash_pair(key, 2, 1));
    mcp_doc_free(doc);
}

static void
values_are_counted_with_their_keys(void **state)
{
    mcp_doc *doc = doc_of("{'a':[1,2],'b':{'c':null}}");

    (void)state;
    assert_int_equal(mcpi_json_values(mcp_doc_root(doc)), 9);
    assert_int_equal(mcpi_json_values(mcp_json_get(mcp_doc_root(doc), "a")), 3);
    assert_int_equal(mcpi_json_values(NULL), 0);
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(equal_values_share_a_hash), TEST(other_values_do_not),
          TEST(another_key_is_another_hash), TEST(values_are_counted_with_their_keys))
