/* cli/text_harmless_test.c - proves cli/text_harmless.c: what is left does no harm */
#include <stdlib.h>
#include <string.h>

#include <mcp/json.h>

#include "cli/text.h"
#include "support/test.h"

/* The text, length bytes, becomes `expected`. */
static void
check(const char *text, size_t length, bool one_line, const char *expected)
{
    struct cli_text clean = {0};

    cli_text_add_harmless(&clean, text, length, one_line);
    assert_string_equal(cli_text_string(&clean), expected);
    assert_int_equal(clean.length, strlen(expected));
    cli_text_done(&clean);
}

#define BECOMES(text, expected) check(text, sizeof(text) - 1, false, expected)

static void
plain_text_stays_as_it_is(void **state)
{
    (void)state;
    BECOMES("", "");
    BECOMES("plain, with\ttab and\nnewline\n", "plain, with\ttab and\nnewline\n");
    BECOMES("gr\xC3\xBC\xC3\x9F \xE4\xB8\xAD \xF0\x9F\x98\x80",
            "gr\xC3\xBC\xC3\x9F \xE4\xB8\xAD \xF0\x9F\x98\x80");
}

static void
control_sequences_go_as_a_whole(void **state)
{
    (void)state;
    BECOMES("a\033[31mred\033[0m", "ared");
    BECOMES("a\033[2J\033[1;1Hb", "ab");
    BECOMES("a\033[?1049h\033[>4;2m\033[!p\033[0 qb", "ab");
    BECOMES("a\033[38:2::1:2:3mb", "ab");
    BECOMES("a\033[@b\033[~c", "abc");
}

static void
strings_go_to_their_end(void **state)
{
    (void)state;
    BECOMES("a\033]0;title\007b", "ab");
    BECOMES("a\033]52;c;ZXZpbA==\033\\b", "ab");
    BECOMES("\033]8;;http://evil/\033\\link\033]8;;\033\\", "link");
    BECOMES("a\033P$q\"p\033\\b", "ab");
    BECOMES("a\033Xsos\033\\b\033^pm\033\\c\033_Gapc\033\\d", "abcd");
    BECOMES("a\033]0;t\xC3\xBCr\xC2\x9C"
            "b",
            "ab");
}

static void
one_character_controls_begin_sequences_too(void **state)
{
    (void)state;
    BECOMES("a\xC2\x9B"
            "31mred",
            "ared");
    BECOMES("a\xC2\x9D"
            "0;title\007b",
            "ab");
    BECOMES("a\xC2\x90q#0\xC2\x9C"
            "b",
            "ab");
    BECOMES("a\xC2\x98"
            "x\033\\b\xC2\x9Ex\033\\c\xC2\x9Fx\033\\d",
            "abcd");
    BECOMES("a\xC2\x84\xC2\x85\xC2\x8D\xC2\x9C"
            "b",
            "ab");
}

static void
short_sequences_take_what_is_theirs_only(void **state)
{
    (void)state;
    BECOMES("a\033cb", "ab");
    BECOMES("a\0337\0338\033=\033>b", "ab");
    BECOMES("a\033(Bb\033#8c\033%Gd", "abcd");
    BECOMES("a\033 !\"Fb", "ab");
    BECOMES("a\033\xC3\xBC", "a\xC3\xBC");
    BECOMES("a\033\033[1mb", "ab");
}

static void
a_sequence_that_breaks_off_hides_nothing_behind_it(void **state)
{
    (void)state;
    BECOMES("a\033[3\nb", "a\nb");
    BECOMES("a\033[3\xC3\xBC", "a\xC3\xBC");
    BECOMES("a\033[3\033[1mb", "ab");
    BECOMES("a\033]0;x\030b", "ab");
    BECOMES("a\033Px\032b", "ab");
    BECOMES("a\033]0;x\033[1mb", "ab");
    BECOMES("a\033(\nb", "a\nb");
}

static void
a_string_without_end_ends_with_its_line(void **state)
{
    (void)state;
    BECOMES("a\033]0;title\nall the rest\n", "a\nall the rest\n");
    BECOMES("a\033Ptitle\r\nall the rest", "a\nall the rest");
    BECOMES("a\xC2\x9Dtitle\rall the rest", "a\nall the rest");
}

static void
a_sequence_at_the_end_of_the_text_goes(void **state)
{
    (void)state;
    BECOMES("a\033", "a");
    BECOMES("a\033[", "a");
    BECOMES("a\033[1;2", "a");
    BECOMES("a\033]0;x", "a");
    BECOMES("a\033]0;x\033", "a");
    BECOMES("a\033(", "a");
    BECOMES("a\xC2\x9B", "a");
}

static void
controls_go_and_carriage_returns_are_newlines(void **state)
{
    (void)state;
    BECOMES("a\0b\007\b\013\f\016\017\177c", "abc");
    BECOMES("a\r\nb\rc\r", "a\nb\nc\n");
    BECOMES("good\rEVIL", "good\nEVIL");
}

static void
marks_of_direction_go(void **state)
{
    (void)state;
    BECOMES("a\xE2\x80\xAA\xE2\x80\xAB\xE2\x80\xAC\xE2\x80\xAD\xE2\x80\xAE"
            "b",
            "ab");
    BECOMES("a\xE2\x81\xA6\xE2\x81\xA7\xE2\x81\xA8\xE2\x81\xA9"
            "b",
            "ab");
    BECOMES("a\xE2\x80\x8E\xE2\x80\x8F\xD8\x9C"
            "b",
            "ab");
}

static void
characters_that_hide_go_and_those_of_scripts_stay(void **state)
{
    (void)state;
    BECOMES("a\xE2\x80\x8B\xE2\x81\xA0\xEF\xBB\xBF\xC2\xAD"
            "b",
            "ab");
    BECOMES("a\xF3\xA0\x81\x81\xF3\xA0\x80\x81\xF3\xA0\x81\xBF"
            "b",
            "ab");
    BECOMES("\xD9\x85\xE2\x80\x8C\xDB\x8C", "\xD9\x85\xE2\x80\x8C\xDB\x8C");
    BECOMES("\xE2\x9D\xA4\xEF\xB8\x8F\xE2\x80\x8D\xF0\x9F\x94\xA5",
            "\xE2\x9D\xA4\xEF\xB8\x8F\xE2\x80\x8D\xF0\x9F\x94\xA5");
    BECOMES("e\xCC\x81", "e\xCC\x81");
}

static void
what_is_no_utf8_is_replaced(void **state)
{
    (void)state;
    BECOMES("a\x9B"
            "31m",
            "a\xEF\xBF\xBD"
            "31m");
    BECOMES("a\xE2\x80", "a\xEF\xBF\xBD");
    BECOMES("\xC0\x9B", "\xEF\xBF\xBD\xEF\xBF\xBD");
}

static void
one_line_has_blanks_for_newlines_and_tabs(void **state)
{
    static const char text[] = "a\nb\tc\r\nd\re\xE2\x80\xA8"
                               "f\033]0;x\ng";

    (void)state;
    check(text, sizeof text - 1, true, "a b c d e f g");
    BECOMES("a\xE2\x80\xA9"
            "b",
            "a\nb");
}

/* Any bytes: what comes out holds no control but newline and tab, is UTF-8, and does
 * not change when it is made harmless once more. */
static void
no_random_text_gets_through(void **state)
{
    static const char parts[] =
        "\033\033\033[]P_(\\;07m\n\r\007\xC2\x9B\x9D\x9C\xE2\x80"
        "\xAE\x7F\x18 a\xF0\x9F\x98\x80";
    struct cli_text once = {0}, twice = {0};
    unsigned seed = (unsigned)test_seed(1);
    char text[64];
    uint32_t point;

    (void)state;
    print_message("seed %u\n", seed);
    for (int round = 0; round < 20000; round++) {
        for (size_t i = 0; i < sizeof text; i++) {
            seed = seed * 1103515245u + 12345u;
            text[i] = parts[(seed >> 16) % (sizeof parts - 1)];
        }
        cli_text_add_harmless(&once, text, sizeof text, false);
        for (size_t at = 0; at < once.length;) {
            at += cli_text_decode(once.data + at, once.length - at, &point);
            assert_true(point == '\n' || point == '\t' || point >= ' ');
            assert_true(point < 0x7F || point > 0x9F);
            assert_true(point != 0x202E);
        }
        cli_text_add_harmless(&twice, cli_text_string(&once), once.length, false);
        assert_string_equal(cli_text_string(&once), cli_text_string(&twice));
        cli_text_done(&once);
        cli_text_done(&twice);
    }
}

static void
json_says_the_same_with_escapes(void **state)
{
    static const char json[] = "{\n \"\xE2\x80\xAEk\": \"\xC2\x9Bm\x7F\xC3\xBC"
                               "\xF3\xA0\x81\x81\\n\" }";
    struct cli_text shown = {0};
    mcp_doc *before, *after;

    (void)state;
    cli_text_add_json(&shown, json, sizeof json - 1);
    assert_string_equal(cli_text_string(&shown),
                        "{\n \"\\u202ek\": \"\\u009bm\\u007f\xC3\xBC"
                        "\\udb40\\udc41\\n\" }");
    assert_int_equal(mcp_doc_parse(json, sizeof json - 1, NULL, &before, NULL), 0);
    assert_int_equal(mcp_doc_parse(shown.data, shown.length, NULL, &after, NULL), 0);
    assert_true(mcp_json_equal(mcp_doc_root(before), mcp_doc_root(after)));
    mcp_doc_free(before);
    mcp_doc_free(after);
    cli_text_done(&shown);
}

TEST_MAIN(TEST(plain_text_stays_as_it_is), TEST(control_sequences_go_as_a_whole),
          TEST(strings_go_to_their_end),
          TEST(one_character_controls_begin_sequences_too),
          TEST(short_sequences_take_what_is_theirs_only),
          TEST(a_sequence_that_breaks_off_hides_nothing_behind_it),
          TEST(a_string_without_end_ends_with_its_line),
          TEST(a_sequence_at_the_end_of_the_text_goes),
          TEST(controls_go_and_carriage_returns_are_newlines),
          TEST(marks_of_direction_go),
          TEST(characters_that_hide_go_and_those_of_scripts_stay),
          TEST(what_is_no_utf8_is_replaced),
          TEST(one_line_has_blanks_for_newlines_and_tabs),
          TEST(no_random_text_gets_through), TEST(json_says_the_same_with_escapes))
