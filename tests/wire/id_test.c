/* id_test.c - ids as they are on the wire, and the keys they are found by */
#include "wire/id.h"

#include <string.h>

#include "support/test.h"

struct fixture {
    struct test_mem mem;
    struct mcpi_buf buf;
    struct mcpi_map map;
    mcp_doc *doc;
};

static void
open_fixture(struct fixture *f)
{
    static const unsigned char seed[MCPI_SEED_SIZE] = {1, 2, 3};

    test_mem_init(&f->mem);
    mcpi_buf_init(&f->buf, &f->mem.allocator, 4096);
    mcpi_map_init(&f->map, &f->mem.allocator, seed);
    f->doc = NULL;
}

static void
close_fixture(struct fixture *f)
{
    mcp_doc_free(f->doc);
    mcpi_map_done(&f->map);
    mcpi_buf_done(&f->buf);
    test_mem_done(&f->mem);
}

/* The id that a JSON text spells; valid until the next call. */
static struct mcpi_id
parse(struct fixture *f, const char *text)
{
    mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = &f->mem.allocator);

    mcp_doc_free(f->doc);
    f->doc = NULL;
    assert_int_equal(mcp_doc_parse(text, strlen(text), &opt, &f->doc, NULL), 0);
    return mcpi_id_read(mcp_doc_root(f->doc));
}

static struct mcpi_id
string_id(const char *text)
{
    return mcpi_id_string(text, strlen(text));
}

static void
assert_folds_to(const char *text, int64_t number)
{
    struct mcpi_id id = mcpi_id_fold(string_id(text));

    if (id.kind != MCPI_ID_INT || id.number != number)
        fail_msg("\"%s\" does not fold to %lld", text, (long long)number);
}

static const char *const id_texts[] = {
    "7",
    "\"7\"",
    "0",
    "-1",
    "\"\"",
    "\"\xc3\xa9\xe2\x82\xac\"",
    "\"a\\\"b\\\\c\"",
    "\"a\\u0000b\"",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
};

static void
A2_an_id_is_written_as_it_was_read(void **state)
{
    struct fixture f;
    struct mcpi_id id;

    (void)state;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof id_texts / sizeof id_texts[0]; i++) {
        id = parse(&f, id_texts[i]);
        mcpi_buf_clear(&f.buf);
        mcpi_id_write(&f.buf, &id);
        assert_int_equal(f.buf.status, 0);
        assert_int_equal(f.buf.len, strlen(id_texts[i]));
        assert_memory_equal(f.buf.data, id_texts[i], f.buf.len);
    }
    close_fixture(&f);
}

static void
A5_the_shortest_spelling_of_an_int64_folds(void **state)
{
    (void)state;
    assert_folds_to("0", 0);
    assert_folds_to("7", 7);
    assert_folds_to("-7", -7);
    assert_folds_to("10", 10);
    assert_folds_to("1000000000000000000", INT64_C(1000000000000000000));
    assert_folds_to("9223372036854775807", INT64_MAX);
    assert_folds_to("-9223372036854775807", -INT64_MAX);
    assert_folds_to("-9223372036854775808", INT64_MIN);
}

static const char *const no_numbers[] = {
    "",
    "-",
    "-0",
    "07",
    "-07",
    "00",
    "+7",
    " 7",
    "7 ",
    "7\n",
    "1_0",
    "1e3",
    "1.0",
    "0x7",
    "--7",
    "7-",
    "a",
    "\xd9\xa7",
    "\xef\xbc\x97",
    "9223372036854775808",
    "-9223372036854775809",
    "10000000000000000000",
    "18446744073709551616",
    "99999999999999999999999999",
    "/",
    ":",
};

static void
A5_every_other_string_stays_a_string(void **state)
{
    struct mcpi_id id;

    (void)state;
    for (size_t i = 0; i < sizeof no_numbers / sizeof no_numbers[0]; i++) {
        id = mcpi_id_fold(string_id(no_numbers[i]));
        if (id.kind != MCPI_ID_STRING || id.text != no_numbers[i])
            fail_msg("\"%s\" folds", no_numbers[i]);
    }
    id = mcpi_id_fold(mcpi_id_string("7\0", 2));
    assert_int_equal(id.kind, MCPI_ID_STRING);
}

static void
A6_both_spellings_have_one_key_and_one_hash(void **state)
{
    struct mcpi_id number = mcpi_id_fold(mcpi_id_int(-41));
    struct mcpi_id text = mcpi_id_fold(string_id("-41"));
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_true(mcpi_id_same(&number, &text));
    assert_true(mcpi_id_hash(&f.map, &number) == mcpi_id_hash(&f.map, &text));
    close_fixture(&f);
}

static void
different_keys_are_not_the_same(void **state)
{
    struct mcpi_id ids[] = {mcpi_id_int(7),
                            mcpi_id_int(8),
                            string_id("07"),
                            string_id("x"),
                            string_id(""),
                            mcpi_id_string("x\0y", 3),
                            {.kind = MCPI_ID_UINT, .unsign = UINT64_MAX},
                            {.kind = MCPI_ID_UINT, .unsign = UINT64_MAX - 1}};
    size_t count = sizeof ids / sizeof ids[0];
    struct fixture f;

    (void)state;
    open_fixture(&f);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            assert_int_equal(mcpi_id_same(&ids[i], &ids[k]), i == k);
            assert_int_equal(
                mcpi_id_hash(&f.map, &ids[i]) == mcpi_id_hash(&f.map, &ids[k]), i == k);
        }
    }
    close_fixture(&f);
}

static void
a_number_and_the_string_of_its_bytes_hash_apart(void **state)
{
    int64_t number = 0x4142434445464748;
    struct mcpi_id as_int = mcpi_id_int(number);
    struct mcpi_id as_text = mcpi_id_string((const char *)&number, sizeof number);
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_true(mcpi_id_hash(&f.map, &as_int) != mcpi_id_hash(&f.map, &as_text));
    close_fixture(&f);
}

static void
A10_large_ids_stay_apart(void **state)
{
    struct mcpi_id a, b;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    a = mcpi_id_fold(parse(&f, "9007199254740993"));
    b = mcpi_id_fold(parse(&f, "9007199254740994"));
    assert_true(a.number == INT64_C(9007199254740993));
    assert_false(mcpi_id_same(&a, &b));
    a = mcpi_id_fold(parse(&f, "18446744073709551615"));
    b = mcpi_id_fold(parse(&f, "18446744073709551614"));
    assert_int_equal(a.kind, MCPI_ID_UINT);
    assert_false(mcpi_id_same(&a, &b));
    close_fixture(&f);
}

static void
A11_zero_and_empty_are_ids(void **state)
{
    struct mcpi_id zero, empty, other;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    zero = mcpi_id_fold(parse(&f, "0"));
    other = mcpi_id_fold(string_id("0"));
    assert_int_equal(zero.kind, MCPI_ID_INT);
    assert_true(mcpi_id_same(&zero, &other));
    empty = mcpi_id_fold(parse(&f, "\"\""));
    other = mcpi_id_string(NULL, 0);
    assert_int_equal(empty.kind, MCPI_ID_STRING);
    assert_true(mcpi_id_same(&empty, &other));
    assert_false(mcpi_id_same(&empty, &zero));
    close_fixture(&f);
}

static const char *const no_ids[] = {
    "null", "true", "false", "1.5",        "1.0", "1e3", "-0.0", "18446744073709551616",
    "[]",   "[1]",  "{}",    "{\"id\":1}",
};

static void
A12_what_is_no_id_matches_nothing(void **state)
{
    struct mcpi_id id, one = mcpi_id_int(1);
    struct fixture f;

    (void)state;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof no_ids / sizeof no_ids[0]; i++) {
        id = mcpi_id_fold(parse(&f, no_ids[i]));
        assert_int_equal(id.kind, MCPI_ID_NONE);
        assert_false(mcpi_id_same(&id, &one));
        assert_false(mcpi_id_same(&id, &id));
    }
    assert_int_equal(mcpi_id_read(NULL).kind, MCPI_ID_NONE);
    close_fixture(&f);
}

/* As JSON, or NULL: it is not given back. */
static void
given_back(struct fixture *f, const char *text, const char *expected)
{
    struct mcpi_id id, one = mcpi_id_int(1);

    mcp_doc_free(f->doc);
    f->doc = NULL;
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &f->doc, NULL), 0);
    id = mcpi_id_read_refused(mcp_doc_root(f->doc));
    assert_int_equal(id.kind, expected ? MCPI_ID_REAL : MCPI_ID_NONE);
    assert_false(mcpi_id_same(&id, &one));
    assert_false(mcpi_id_same(&id, &id));
    if (!expected)
        return;
    mcpi_buf_clear(&f->buf);
    mcpi_id_write(&f->buf, &id);
    assert_int_equal(f->buf.len, strlen(expected));
    assert_memory_equal(f->buf.data, expected, f->buf.len);
}

/* The schemas allow integers, and JSON Schema calls 1.0 one. */
static void
A12_an_integer_spelled_as_a_fraction_is_only_given_back(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    given_back(&f, "1.0", "1.0");
    given_back(&f, "-2.0", "-2.0");
    given_back(&f, "1e3", "1000.0");
    given_back(&f, "9007199254740991.0", "9007199254740991.0");
    given_back(&f, "9007199254740992.0", NULL); /* it may have been another */
    given_back(&f, "18446744073709551616", NULL);
    given_back(&f, "1.5", NULL);
    given_back(&f, "1e300", NULL);
    given_back(&f, "null", NULL);
    given_back(&f, "[1.0]", NULL);
    assert_int_equal(mcpi_id_read_refused(NULL).kind, MCPI_ID_NONE);
    close_fixture(&f);
}

static void
an_id_is_shown_short_and_printable(void **state)
{
    static const char
        *const long_text = "0123456789012345678901234567890123456789abcdef";
    struct mcpi_id none = {.kind = MCPI_ID_NONE};
    struct mcpi_id most = {.kind = MCPI_ID_UINT, .unsign = UINT64_MAX};
    struct mcpi_id least = mcpi_id_int(INT64_MIN);
    struct mcpi_id text = mcpi_id_string("a\nb\0c", 5), longer = string_id(long_text);
    char into[MCPI_ID_SHOWN];

    (void)state;
    assert_string_equal(mcpi_id_show(&none, into), "none");
    assert_string_equal(mcpi_id_show(&most, into), "18446744073709551615");
    assert_string_equal(mcpi_id_show(&least, into), "-9223372036854775808");
    assert_string_equal(mcpi_id_show(&text, into), "\"a?b?c\"");
    assert_string_equal(mcpi_id_show(&longer, into),
                        "\"0123456789012345678901234567890123456789ab\"...");
    assert_int_equal(strlen(into), MCPI_ID_SHOWN - 1);
}

static void
a_failed_buffer_takes_no_id(void **state)
{
    struct mcpi_id id = string_id("a long id that does not fit");
    struct test_mem mem;
    struct mcpi_buf buf;

    (void)state;
    test_mem_init(&mem);
    mcpi_buf_init(&buf, &mem.allocator, 8);
    mcpi_id_write(&buf, &id);
    assert_int_equal(buf.status, MCP_E_LIMIT);
    mcpi_buf_done(&buf);
    test_mem_done(&mem);
}

TEST_MAIN(TEST(A2_an_id_is_written_as_it_was_read),
          TEST(A5_the_shortest_spelling_of_an_int64_folds),
          TEST(A5_every_other_string_stays_a_string),
          TEST(A6_both_spellings_have_one_key_and_one_hash),
          TEST(different_keys_are_not_the_same),
          TEST(a_number_and_the_string_of_its_bytes_hash_apart),
          TEST(A10_large_ids_stay_apart), TEST(A11_zero_and_empty_are_ids),
          TEST(A12_what_is_no_id_matches_nothing),
          TEST(A12_an_integer_spelled_as_a_fraction_is_only_given_back),
          TEST(an_id_is_shown_short_and_printable), TEST(a_failed_buffer_takes_no_id))
