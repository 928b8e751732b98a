/* json/value_test.c - proves json/value.c: reading values, and equality */
#include "json/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static mcp_doc *
parse(const char *text)
{
    mcp_doc *doc = NULL;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    return doc;
}

static void
every_reader_accepts_null(void **state)
{
    mcp_json_iterator it = mcp_json_each(NULL);
    int64_t number = 7;
    uint64_t positive = 7;

    (void)state;
    assert_int_equal(mcp_json_get_type(NULL), MCP_JSON_ABSENT);
    assert_null(mcp_json_get(NULL, "a"));
    assert_null(mcp_json_get_n(NULL, "a", 1));
    assert_null(mcp_json_at(NULL, 0));
    assert_null(mcp_json_find(NULL, "a", "b"));
    assert_int_equal(mcp_json_count(NULL), 0);
    assert_true(mcp_json_bool(NULL, true));
    assert_true(mcp_json_number(NULL, 1.5) == 1.5);
    assert_int_equal(mcp_json_int(NULL, 5), 5);
    assert_string_equal(mcp_json_string(NULL, "f"), "f");
    assert_int_equal(mcp_json_string_length(NULL), 0);
    assert_false(mcp_json_is_string(NULL, ""));
    assert_int_equal(mcp_json_to_int64(NULL, &number), MCP_E_INVAL);
    assert_int_equal(mcp_json_to_uint64(NULL, &positive), MCP_E_INVAL);
    assert_int_equal(number + (int64_t)positive, 14);
    assert_true(mcp_json_equal(NULL, NULL));
    assert_false(mcp_json_next(&it));
    assert_false(mcp_json_next(NULL));
}

static void
readers_of_another_type_give_the_fallback(void **state)
{
    mcp_doc *doc = parse("[\"text\",1]");
    const mcp_json *string = mcp_json_at(mcp_doc_root(doc), 0);
    const mcp_json *number = mcp_json_at(mcp_doc_root(doc), 1);

    (void)state;
    assert_false(mcp_json_bool(string, false));
    assert_true(mcp_json_number(string, 2.5) == 2.5);
    assert_int_equal(mcp_json_int(string, 5), 5);
    assert_null(mcp_json_string(number, NULL));
    assert_int_equal(mcp_json_string_length(number), 0);
    assert_false(mcp_json_is_string(number, "1"));
    assert_null(mcp_json_get(string, "a"));
    assert_null(mcp_json_get(mcp_doc_root(doc), "a"));
    assert_null(mcp_json_at(string, 0));
    assert_int_equal(mcp_json_count(string), 0);
    assert_int_equal(mcp_json_to_int64(string, &(int64_t){0}), MCP_E_INVAL);
    mcp_doc_free(doc);
}

static void
members_are_found_by_key(void **state)
{
    mcp_doc *doc = parse(
        "{\"a\":{\"x\":[1,[2]]},\"b\":2,\"\":3,\"a\":4,\"n\\u0000\":5}");
    const mcp_json *root = mcp_doc_root(doc);

    (void)state;
    assert_int_equal(mcp_json_get_type(mcp_json_get(root, "a")), MCP_JSON_OBJECT);
    assert_int_equal(mcp_json_int(mcp_json_get(root, "b"), 0), 2);
    assert_int_equal(mcp_json_int(mcp_json_get(root, ""), 0), 3);
    assert_int_equal(mcp_json_int(mcp_json_get_n(root, NULL, 0), 0), 3);
    assert_int_equal(mcp_json_int(mcp_json_get_n(root, "n\0", 2), 0), 5);
    assert_int_equal(mcp_json_int(mcp_json_get_n(root, "bc", 1), 0), 2);
    assert_null(mcp_json_get(root, "n"));
    assert_null(mcp_json_get(root, "x"));
    assert_null(mcp_json_get(root, NULL));
    assert_null(mcp_json_get_n(root, NULL, 1));
    assert_int_equal(mcp_json_count(root), 5);
    mcp_doc_free(doc);
}

static void
elements_are_found_by_index(void **state)
{
    mcp_doc *doc = parse("[[1,2,[3]],{\"a\":[4]},5]");
    const mcp_json *root = mcp_doc_root(doc);

    (void)state;
    assert_int_equal(mcp_json_count(mcp_json_at(root, 0)), 3);
    assert_int_equal(mcp_json_get_type(mcp_json_at(root, 1)), MCP_JSON_OBJECT);
    assert_int_equal(mcp_json_int(mcp_json_at(root, 2), 0), 5);
    assert_null(mcp_json_at(root, 3));
    assert_null(mcp_json_at(root, SIZE_MAX));
    assert_null(mcp_json_at(mcp_json_at(root, 1), 0));
    mcp_doc_free(doc);
}

static void
objects_are_found_by_what_they_are_called(void **state)
{
    mcp_doc *doc = parse("[7,[\"name\",\"a\"],{\"name\":1},{\"other\":\"a\"},"
                         "{\"name\":\"ab\",\"n\":1},{\"name\":\"a\",\"n\":2},"
                         "{\"name\":\"a\",\"n\":3},{\"name\":\"\",\"n\":4}]");
    mcp_doc *object = parse("{\"x\":{\"name\":\"a\"}}");
    const mcp_json *root = mcp_doc_root(doc);

    (void)state;
    assert_int_equal(
        mcp_json_int(mcp_json_get(mcp_json_find(root, "name", "a"), "n"), 0), 2);
    assert_int_equal(
        mcp_json_int(mcp_json_get(mcp_json_find(root, "name", ""), "n"), 0), 4);
    assert_null(mcp_json_find(root, "name", "b"));
    assert_null(mcp_json_find(root, "name", NULL));
    assert_null(mcp_json_find(root, NULL, "a"));
    assert_null(mcp_json_find(mcp_json_at(root, 4), "name", "ab"));
    assert_null(mcp_json_find(mcp_doc_root(object), "name", "a"));
    mcp_doc_free(object);
    mcp_doc_free(doc);
}

static void
integers_are_exact_to_their_edges(void **state)
{
    mcp_doc *doc = parse("[9223372036854775807,-9223372036854775808,"
                         "18446744073709551615,9007199254740993,9223372036854775808]");
    const mcp_json *root = mcp_doc_root(doc);
    int64_t i = 7;
    uint64_t u = 7;

    (void)state;
    assert_int_equal(mcp_json_to_int64(mcp_json_at(root, 0), &i), 0);
    assert_true(i == INT64_MAX);
    assert_int_equal(mcp_json_to_int64(mcp_json_at(root, 1), &i), 0);
    assert_true(i == INT64_MIN);
    assert_int_equal(mcp_json_to_uint64(mcp_json_at(root, 2), &u), 0);
    assert_true(u == UINT64_MAX);
    assert_int_equal(mcp_json_to_int64(mcp_json_at(root, 3), &i), 0);
    assert_true(i == 9007199254740993);
    assert_int_equal(mcp_json_to_int64(mcp_json_at(root, 4), &i), MCP_E_INVAL);
    assert_int_equal(mcp_json_to_uint64(mcp_json_at(root, 1), &u), MCP_E_INVAL);
    assert_true(i == 9007199254740993 && u == UINT64_MAX);
    assert_int_equal(mcp_json_int(mcp_json_at(root, 2), -5), -5);
    assert_int_equal(mcp_json_to_int64(mcp_json_at(root, 0), NULL), MCP_E_INVAL);
    assert_int_equal(mcp_json_to_uint64(mcp_json_at(root, 0), NULL), MCP_E_INVAL);
    mcp_doc_free(doc);
}

static void
numbers_that_are_no_integers_are_real(void **state)
{
    mcp_doc *doc = parse("[18446744073709551616,-9223372036854775809,1.0,1e3,-0.5]");
    const mcp_json *root = mcp_doc_root(doc);
    int64_t i;

    (void)state;
    for (size_t k = 0; k < 5; k++) {
        assert_int_equal(mcp_json_get_type(mcp_json_at(root, k)), MCP_JSON_REAL);
        assert_int_equal(mcp_json_to_int64(mcp_json_at(root, k), &i), MCP_E_INVAL);
    }
    assert_true(mcp_json_number(mcp_json_at(root, 0), 0) == 18446744073709551616.0);
    assert_true(mcp_json_number(mcp_json_at(root, 3), 0) == 1000);
    mcp_doc_free(doc);
}

static void
number_takes_integers_too(void **state)
{
    mcp_doc *doc = parse("[3,-3,18446744073709551615]");
    const mcp_json *root = mcp_doc_root(doc);

    (void)state;
    assert_true(mcp_json_number(mcp_json_at(root, 0), 0) == 3);
    assert_true(mcp_json_number(mcp_json_at(root, 1), 0) == -3);
    assert_true(mcp_json_number(mcp_json_at(root, 2), 0) == 18446744073709551616.0);
    mcp_doc_free(doc);
}

static void
strings_have_a_length_and_a_terminator(void **state)
{
    mcp_doc *doc = parse("[\"a\\u0000b\",\"\",\"\\ud83d\\ude00\\\"\\/\"]");
    const mcp_json *root = mcp_doc_root(doc);

    (void)state;
    assert_int_equal(mcp_json_string_length(mcp_json_at(root, 0)), 3);
    assert_memory_equal(mcp_json_string(mcp_json_at(root, 0), NULL), "a\0b", 4);
    assert_false(mcp_json_is_string(mcp_json_at(root, 0), "a"));
    assert_true(mcp_json_is_string(mcp_json_at(root, 1), ""));
    assert_true(mcp_json_is_string(mcp_json_at(root, 2), "\xF0\x9F\x98\x80\"/"));
    assert_false(mcp_json_is_string(mcp_json_at(root, 1), NULL));
    mcp_doc_free(doc);
}

static void
booleans_are_read(void **state)
{
    mcp_doc *doc = parse("[true,false]");

    (void)state;
    assert_true(mcp_json_bool(mcp_json_at(mcp_doc_root(doc), 0), false));
    assert_false(mcp_json_bool(mcp_json_at(mcp_doc_root(doc), 1), true));
    mcp_doc_free(doc);
}

static void
iterator_walks_objects_and_arrays(void **state)
{
    mcp_doc *doc = parse("{\"k0\":[0,[9]],\"k1\":{\"x\":1},\"k2\":2}");
    mcp_json_iterator it;
    size_t seen = 0;
    char key[8];

    (void)state;
    for (it = mcp_json_each(mcp_doc_root(doc)); mcp_json_next(&it); seen++) {
        snprintf(key, sizeof(key), "k%zu", seen);
        assert_true(mcp_json_is_string(it.key, key));
        assert_int_equal(it.index, seen);
        assert_ptr_equal(it.value, mcp_json_get(mcp_doc_root(doc), key));
    }
    assert_int_equal(seen, 3);
    assert_false(mcp_json_next(&it));
    assert_null(it.value);
    seen = 0;
    for (it = mcp_json_each(mcp_json_get(mcp_doc_root(doc), "k0")); mcp_json_next(&it);)
        seen += it.key == NULL && it.index == seen && it.count == 2;
    assert_int_equal(seen, 2);
    mcp_doc_free(doc);
}

static void
nothing_is_walked_in_empty_or_plain_values(void **state)
{
    mcp_doc *doc = parse("[[],{},1,\"s\"]");
    mcp_json_iterator it;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        it = mcp_json_each(mcp_json_at(mcp_doc_root(doc), i));
        assert_false(mcp_json_next(&it));
        assert_false(mcp_json_next(&it));
    }
    mcp_doc_free(doc);
}

static bool
equal(const char *a, const char *b)
{
    mcp_doc *first = parse(a);
    mcp_doc *second = parse(b);
    bool is_equal = mcp_json_equal(mcp_doc_root(first), mcp_doc_root(second));

    assert_int_equal(mcp_json_equal(mcp_doc_root(second), mcp_doc_root(first)),
                     is_equal);
    assert_false(mcp_json_equal(mcp_doc_root(first), NULL));
    mcp_doc_free(first);
    mcp_doc_free(second);
    return is_equal;
}

static void
numbers_are_equal_by_their_mathematical_value(void **state)
{
    (void)state;
    assert_true(equal("1", "1.0"));
    assert_true(equal("-1", "-1e0"));
    assert_true(equal("0", "-0.0"));
    assert_true(equal("1e2", "100"));
    assert_true(equal("9223372036854775808", "9223372036854775808.0"));
    assert_false(equal("9007199254740993", "9007199254740992.0"));
    assert_false(equal("18446744073709551615", "18446744073709551616"));
    assert_false(equal("9223372036854775807", "9223372036854775808.0"));
    assert_false(equal("-9223372036854775808", "9223372036854775808"));
    assert_false(equal("-1", "18446744073709551615"));
    assert_false(equal("-1", "-1.5"));
    assert_false(equal("1", "1.5"));
    assert_false(equal("1", "1e300"));
    assert_false(equal("-5", "-1e300"));
    assert_false(equal("3", "-3.0"));
}

static void
values_of_different_types_differ(void **state)
{
    static const char *const texts[] = {"null", "true", "false", "0",
                                        "\"\"", "[]",   "{}"};
    size_t count = sizeof(texts) / sizeof(texts[0]);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++)
            assert_int_equal(equal(texts[i], texts[j]), i == j);
    }
    assert_false(equal("\"a\\u0000b\"", "\"a\\u0000c\""));
    assert_true(equal("\"\\u00e4\"", "\"\xC3\xA4\""));
}

static void
arrays_have_an_order_and_objects_none(void **state)
{
    (void)state;
    assert_true(equal("[1,[2,{}]]", "[1,[2,{}]]"));
    assert_false(equal("[1,2]", "[2,1]"));
    assert_false(equal("[1,2]", "[1,2,3]"));
    assert_true(equal("{\"a\":1,\"b\":[2],\"c\":{}}", "{\"c\":{},\"b\":[2],\"a\":1}"));
    assert_false(equal("{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}"));
    assert_false(equal("{\"a\":1}", "{\"b\":1}"));
    assert_false(equal("{\"a\":1,\"b\":[2]}", "{\"a\":1,\"b\":[3]}"));
    assert_false(equal("{\"a\":1}", "{\"a\":1,\"b\":1}"));
}

static void
repeated_keys_are_compared_one_by_one(void **state)
{
    (void)state;
    assert_true(equal("{\"a\":1,\"a\":2,\"b\":3}", "{\"b\":3,\"a\":1,\"a\":2}"));
    assert_false(equal("{\"a\":1,\"a\":2,\"b\":3}", "{\"b\":3,\"a\":2,\"a\":1}"));
    assert_false(equal("{\"a\":1,\"a\":1}", "{\"b\":1,\"a\":1}"));
    assert_false(equal("{\"a\":1,\"a\":1,\"b\":1}", "{\"b\":1,\"a\":1,\"b\":1}"));
}

static void
repeated_keys_of_large_objects_are_compared_one_by_one(void **state)
{
    char members[1000] = "";
    char a[1100], b[1100], c[1100];

    (void)state;
    for (int i = 0; i < 100; i++)
        sprintf(members + strlen(members), "%s\"%d\":0", i ? "," : "", i);
    sprintf(a, "{\"a\":1,\"a\":2,\"a\":3,%s}", members);
    sprintf(b, "{%s,\"a\":1,\"a\":2,\"a\":3}", members);
    sprintf(c, "{%s,\"a\":1,\"a\":3,\"a\":2}", members);
    assert_true(equal(a, b));
    assert_false(equal(a, c));
}

/* An object of count members, forwards or backwards; value `changed` is another one. */
static char *
object_text(int count, bool forwards, int changed)
{
    char *text = malloc((size_t)count * 24 + 3);
    char *at = text;

    assert_non_null(text);
    *at++ = '{';
    for (int i = 0; i < count; i++) {
        int k = forwards ? i : count - 1 - i;

        at += sprintf(at, "%s\"k%d\":[%d]", i ? "," : "", k, k == changed ? -1 : k);
    }
    strcpy(at, "}");
    return text;
}

static void
large_objects_are_equal_whatever_their_order(void **state)
{
    static const int counts[] = {2, 63, 64, 65, 100, 100000};

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        char *a = object_text(counts[i], true, -1);
        char *b = object_text(counts[i], false, -1);
        char *c = object_text(counts[i], false, counts[i] / 2);

        assert_true(equal(a, a));
        assert_true(equal(a, b));
        assert_false(equal(a, c));
        free(a);
        free(b);
        free(c);
    }
}

static void
deepest_values_are_compared(void **state)
{
    mcp_json_options opt = MCP_JSON_OPTIONS(.max_depth = 256);
    char text[2 * 256 * 8 + 1] = "";
    mcp_doc *a, *b;

    (void)state;
    for (int i = 0; i < 128; i++)
        strcat(text, "[{\"a\":");
    strcat(text, "1");
    for (int i = 0; i < 128; i++)
        strcat(text, "}]");
    assert_int_equal(mcp_doc_parse(text, strlen(text), &opt, &a, NULL), 0);
    *strchr(text, '1') = '2';
    assert_int_equal(mcp_doc_parse(text, strlen(text), &opt, &b, NULL), 0);
    assert_true(mcp_json_equal(mcp_doc_root(a), mcp_doc_root(a)));
    assert_false(mcp_json_equal(mcp_doc_root(a), mcp_doc_root(b)));
    mcp_doc_free(a);
    mcp_doc_free(b);
}

TEST_MAIN(TEST(every_reader_accepts_null),
          TEST(readers_of_another_type_give_the_fallback),
          TEST(members_are_found_by_key), TEST(elements_are_found_by_index),
          TEST(objects_are_found_by_what_they_are_called),
          TEST(integers_are_exact_to_their_edges),
          TEST(numbers_that_are_no_integers_are_real), TEST(number_takes_integers_too),
          TEST(strings_have_a_length_and_a_terminator), TEST(booleans_are_read),
          TEST(iterator_walks_objects_and_arrays),
          TEST(nothing_is_walked_in_empty_or_plain_values),
          TEST(numbers_are_equal_by_their_mathematical_value),
          TEST(values_of_different_types_differ),
          TEST(arrays_have_an_order_and_objects_none),
          TEST(repeated_keys_are_compared_one_by_one),
          TEST(repeated_keys_of_large_objects_are_compared_one_by_one),
          TEST(large_objects_are_equal_whatever_their_order),
          TEST(deepest_values_are_compared))
