/* base/text_test.c - proves base/text.c: what is UTF-8, and where it may be cut */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

#define VALID(literal) mcpi_utf8_valid(literal, sizeof(literal) - 1)

static void
edges_of_utf8_are_valid(void **state)
{
    (void)state;
    assert_true(VALID(""));
    assert_true(VALID("plain ASCII, longer than one word"));
    assert_true(VALID("\x00\x7F"));
    assert_true(VALID("\xC2\x80\xDF\xBF"));
    assert_true(VALID("\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"));
    assert_true(VALID("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"));
    assert_true(VALID("12345678\xC3\xA4"
                      "12345678"));
}

static void
overlong_forms_are_invalid(void **state)
{
    (void)state;
    assert_false(VALID("\xC0\x80"));
    assert_false(VALID("\xC1\xBF"));
    assert_false(VALID("\xE0\x9F\xBF"));
    assert_false(VALID("\xF0\x8F\xBF\xBF"));
}

static void
surrogates_and_beyond_unicode_are_invalid(void **state)
{
    (void)state;
    assert_false(VALID("\xED\xA0\x80"));
    assert_false(VALID("\xED\xBF\xBF"));
    assert_false(VALID("\xF4\x90\x80\x80"));
    assert_false(VALID("\xF5\x80\x80\x80"));
    assert_false(VALID("\xFF"));
}

static void
truncated_and_stray_bytes_are_invalid(void **state)
{
    (void)state;
    assert_false(VALID("\x80"));
    assert_false(VALID("\xC3"));
    assert_false(VALID("\xE2\x82"));
    assert_false(VALID("\xF0\x9F\x98"));
    assert_false(VALID("\xE2\x82"
                       "a"));
    assert_false(VALID("12345678\xC3"
                       "2345678"));
    assert_false(VALID("1234567\xBF"));
}

/* The slow way: decode by arithmetic, then ask whether that was the shortest form. */
static bool
slow_valid(const unsigned char *at, size_t len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t need;
    uint32_t point;

    for (; len > 0; at += need, len -= need) {
        need = 1 + (at[0] >= 0x80) + (at[0] >= 0xE0) + (at[0] >= 0xF0);
        if (need > len || at[0] >> 3 == 31 || at[0] >> 6 == 2)
            return false;
        point = need == 1 ? at[0] : at[0] & (0x7Fu >> need);
        for (size_t i = 1; i < need; i++) {
            if (at[i] >> 6 != 2)
                return false;
            point = point << 6 | (at[i] & 0x3Fu);
        }
        if (point < least[need] || point > 0x10FFFF ||
            (point >= 0xD800 && point < 0xE000))
            return false;
    }
    return true;
}

static void
all_short_texts_agree_with_the_slow_way(void **state)
{
    static const unsigned char thirds[] = {0x00, 0x41, 0x80, 0xBF, 0xC2};

    (void)state;
    for (unsigned i = 0; i < 0x10000 * sizeof(thirds); i++) {
        unsigned char text[4] = {(unsigned char)(i >> 8), (unsigned char)i,
                                 thirds[i >> 16], 0x80};

        for (size_t len = 1; len <= 4; len++)
            assert_int_equal(mcpi_utf8_valid((const char *)text, len),
                             slow_valid(text, len));
    }
}

static void
cut_falls_between_characters(void **state)
{
    const char *text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";
    const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};

    (void)state;
    for (size_t max = 0; max < sizeof(expected) / sizeof(expected[0]); max++)
        assert_int_equal(mcpi_utf8_cut(text, strlen(text), max), expected[max]);
    assert_int_equal(mcpi_utf8_cut("\x80\x80\x80\x80\x80\x80", 6, 5), 5);
    assert_int_equal(mcpi_utf8_cut("", 0, 0), 0);
}

static void
clean_text_is_printable_utf8(void **state)
{
    char into[64];
    size_t len;

    (void)state;
    len = mcpi_text_clean(into, sizeof(into), "a\n\xC3\xA4\x7F\xC2\x85\xFFz\x00y", 11);
    assert_string_equal(into, "a?\xC3\xA4???z?y");
    assert_int_equal(len, strlen(into));
    assert_int_equal(mcpi_text_clean(into, sizeof(into), NULL, 0), 0);
    assert_string_equal(into, "");
}

static void
clean_text_is_cut_to_fit(void **state)
{
    char into[4] = "xyz";

    (void)state;
    assert_int_equal(mcpi_text_clean(into, 0, "abc", 3), 0);
    assert_string_equal(into, "xyz");
    assert_int_equal(mcpi_text_clean(into, 1, "abc", 3), 0);
    assert_string_equal(into, "");
    assert_int_equal(mcpi_text_clean(into, 4, "abcdef", 6), 3);
    assert_string_equal(into, "abc");
    assert_int_equal(mcpi_text_clean(into, 4, "ab\xC3\xA4", 4), 2);
    assert_string_equal(into, "ab");
}

static void
error_carries_status_and_sentence(void **state)
{
    mcp_error err = {.rpc_code = 7, .http_status = 503};

    (void)state;
    assert_int_equal(mcpi_error_set(&err, MCP_E_LIMIT, "%d of %s", 3, "them\n"),
                     MCP_E_LIMIT);
    assert_int_equal(err.status, MCP_E_LIMIT);
    assert_int_equal(err.rpc_code, 0);
    assert_int_equal(err.http_status, 0);
    assert_string_equal(err.message, "3 of them?");
    assert_int_equal(mcpi_error_set(NULL, MCP_E_INVAL, "nobody"), MCP_E_INVAL);
}

static void
long_error_is_cut_between_characters(void **state)
{
    mcp_error err;
    char text[600];

    (void)state;
    for (size_t i = 0; i < 597; i += 3)
        strcpy(text + i, "\xE2\x82\xAC");
    mcpi_error_set(&err, MCP_E_INVAL, "x%s", text);
    assert_int_equal(strlen(err.message), 1 + 79 * 3);
    assert_true(mcpi_utf8_valid(err.message, strlen(err.message)));
}

static void
characters_are_code_points(void **state)
{
    (void)state;
    assert_int_equal(mcpi_utf8_count("", 0), 0);
    assert_int_equal(mcpi_utf8_count("abc", 3), 3);
    assert_int_equal(mcpi_utf8_count("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9), 3);
}

static void
texts_are_stowed_one_behind_the_other(void **state)
{
    char room[16];
    char *at = room;

    (void)state;
    memset(room, 'x', sizeof(room));
    assert_string_equal(mcpi_text_stow(&at, "abcd", 2), "ab");
    assert_null(mcpi_text_stow(&at, NULL, 0));
    assert_string_equal(mcpi_text_stow(&at, "", 0), "");
    assert_string_equal(mcpi_text_stow(&at, "c", 1), "c");
    assert_ptr_equal(at, room + 6);
    assert_memory_equal(room, "ab\0\0c\0x", 7);
}

static void
a_token_is_what_names_a_header(void **state)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";

    (void)state;
    assert_true(mcpi_text_is_token("Mcp-Param-9", 11));
    assert_false(mcpi_text_is_token("", 0));
    for (int c = 0; c < 256; c++) {
        const char one[3] = {'a', (char)c, 'z'};
        bool fits = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                    (c >= 'a' && c <= 'z') || (c != 0 && strchr(marks, c));

        assert_int_equal(mcpi_text_is_token(one, 3), fits);
    }
}

static void
letters_are_the_same_in_either_case(void **state)
{
    (void)state;
    assert_true(mcpi_text_same_letters("", ""));
    assert_true(mcpi_text_same_letters("Trip-ID9", "tRIP-id9"));
    assert_false(mcpi_text_same_letters("trip", "trips"));
    assert_false(mcpi_text_same_letters("trips", "trip"));
    assert_false(mcpi_text_same_letters("a", "b"));
    assert_false(mcpi_text_same_letters("@", "`")); /* 32 apart, and no letters */
    assert_false(mcpi_text_same_letters("[", "{"));
    assert_false(mcpi_text_same_letters("\xc3\x84", "\xc3\xa4"));
}

TEST_MAIN(TEST(a_token_is_what_names_a_header),
          TEST(letters_are_the_same_in_either_case),
          TEST(texts_are_stowed_one_behind_the_other), TEST(characters_are_code_points),
          TEST(edges_of_utf8_are_valid), TEST(overlong_forms_are_invalid),
          TEST(surrogates_and_beyond_unicode_are_invalid),
          TEST(truncated_and_stray_bytes_are_invalid),
          TEST(all_short_texts_agree_with_the_slow_way),
          TEST(cut_falls_between_characters), TEST(clean_text_is_printable_utf8),
          TEST(clean_text_is_cut_to_fit), TEST(error_carries_status_and_sentence),
          TEST(long_error_is_cut_between_characters))
