/* json/pattern_ecma_test.c - proves json/pattern_ecma.c: the words of ECMA-262 */
#include "json/pattern_ecma.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"
#include "json/pattern.h"

static int
find(const char *pattern, const char *text)
{
    struct mcpi_pattern *p = NULL;
    mcp_error err;
    int r;

    if (mcpi_pattern_new(NULL, pattern, strlen(pattern), &p, &err) < 0)
        fail_msg("%s: %s", pattern, err.message);
    r = mcpi_pattern_find(p, text, strlen(text));
    mcpi_pattern_free(p);
    return r;
}

static bool
linear(const char *pattern)
{
    struct mcpi_buf buf;
    bool is = false;

    mcpi_buf_init(&buf, NULL, 10000);
    assert_int_equal(mcpi_pattern_translate(&buf, pattern, strlen(pattern), &is, NULL),
                     0);
    mcpi_buf_done(&buf);
    return is;
}

static void
dot_is_all_but_line_ends(void **state)
{
    (void)state;
    assert_int_equal(find("^.$", "a"), 1);
    assert_int_equal(find("^.$", "\n"), 0);
    assert_int_equal(find("^.$", "\r"), 0);
    assert_int_equal(find("^.$", "\xE2\x80\xA8"), 0);
    assert_int_equal(find("^.$", "\x0B"), 1);
    assert_int_equal(find("^[.]$", "a"), 0);
    assert_int_equal(find("^\\.$", "a"), 0);
}

static void
space_is_that_of_unicode(void **state)
{
    static const char *const spaces[] = {
        " ",        "\t",           "\n",           "\x0B",
        "\xC2\xA0", "\xEF\xBB\xBF", "\xE2\x80\xA9", "\xE2\x80\x83"};

    (void)state;
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        assert_int_equal(find("^\\s$", spaces[i]), 1);
        assert_int_equal(find("^[\\s]$", spaces[i]), 1);
        assert_int_equal(find("^\\S$", spaces[i]), 0);
        assert_int_equal(find("^[\\S]$", spaces[i]), 0);
        assert_int_equal(find("^[^\\S]$", spaces[i]), 1);
    }
    assert_int_equal(find("^\\s$", "\xE2\x80\x8B"), 0);
    assert_int_equal(find("^\\S$", "a"), 1);
    assert_int_equal(find("^\\v$", "\x0B"), 1);
    assert_int_equal(find("^\\v$", "\n"), 0);
}

/* ---- classes of several items ------------------------------------------------ */

static bool
is_digit(unsigned c)
{
    return c >= '0' && c <= '9';
}

static bool
is_word(unsigned c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* WhiteSpace and LineTerminator of ECMA-262 */
static bool
is_space(unsigned c)
{
    return (c >= 0x9 && c <= 0xD) || c == ' ' || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000 || c == 0xFEFF;
}

/* Of the points below, the capital letters. */
static bool
is_capital(unsigned c)
{
    return (c >= 'A' && c <= 'Z') || c == 0xC9 || c == 0x100 || c == 0x391 ||
           c == 0x1D400;
}

static const struct {
    const char *text;
    bool (*fn)(unsigned c);
    bool is_not; /* what the function says is to be turned */
} items[] = {
    {"\\d", is_digit, false},       {"\\D", is_digit, true},
    {"\\w", is_word, false},        {"\\W", is_word, true},
    {"\\s", is_space, false},       {"\\S", is_space, true},
    {"\\p{Lu}", is_capital, false}, {"\\P{Lu}", is_capital, true},
};

#define ITEMS (sizeof(items) / sizeof(items[0]))

/* Both sides of where an item begins or ends, and some letters and digits. */
static const unsigned points[] = {
    0x0,    0x8,    0x9,    0xA,    0xD,    0xE,     0x1F,    0x20,    0x21,     0x2F,
    '0',    '9',    0x3A,   0x40,   'A',    'Z',     0x5B,    0x5E,    '_',      0x60,
    'a',    'z',    0x7B,   0x7F,   0x80,   0x9F,    0xA0,    0xA1,    0xC9,     0xE9,
    0xFF,   0x100,  0x101,  0x391,  0x3B1,  0x663,   0x7FF,   0x800,   0x167F,   0x1680,
    0x1681, 0x180E, 0x1FFF, 0x2000, 0x200A, 0x200B,  0x2027,  0x2028,  0x2029,   0x202A,
    0x202E, 0x202F, 0x2030, 0x205E, 0x205F, 0x2060,  0x2FFF,  0x3000,  0x3001,   0xD7FF,
    0xE000, 0xFEFE, 0xFEFF, 0xFF00, 0xFFFF, 0x10000, 0x1D400, 0x1D7CE, 0x10FFFF,
};

static bool
item_holds(size_t item, unsigned c)
{
    return items[item].fn(c) != items[item].is_not;
}

static size_t
utf8_write(char *text, unsigned c)
{
    static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    for (size_t i = len - 1; i > 0; i--, c >>= 6)
        text[i] = (char)(0x80 | (c & 0x3F));
    text[0] = (char)(first[len] | c);
    return len;
}

/* A class of three items, some of which may be the same, and its negation. */
static void
check_class(size_t a, size_t b, size_t c)
{
    struct mcpi_pattern *in = NULL, *out = NULL;
    char pattern[80], text[4];

    snprintf(pattern, sizeof pattern, "^[^%s%s%s]$", items[a].text, items[b].text,
             items[c].text);
    assert_int_equal(mcpi_pattern_new(NULL, pattern, strlen(pattern), &out, NULL), 0);
    snprintf(pattern, sizeof pattern, "^[%s%s%s]$", items[a].text, items[b].text,
             items[c].text);
    assert_int_equal(mcpi_pattern_new(NULL, pattern, strlen(pattern), &in, NULL), 0);
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        size_t len = utf8_write(text, points[i]);
        bool held = item_holds(a, points[i]) || item_holds(b, points[i]) ||
                    item_holds(c, points[i]);

        if (mcpi_pattern_find(in, text, len) != held)
            fail_msg("%s and U+%04X", pattern, points[i]);
        if (mcpi_pattern_find(out, text, len) != !held)
            fail_msg("%s negated and U+%04X", pattern, points[i]);
    }
    mcpi_pattern_free(in);
    mcpi_pattern_free(out);
}

static void
class_holds_what_one_of_its_items_holds(void **state)
{
    (void)state;
    for (size_t a = 0; a < ITEMS; a++)
        for (size_t b = 0; b < ITEMS; b++)
            for (size_t c = 0; c < ITEMS; c++)
                check_class(a, b, c);
    assert_int_equal(find("^[^\\W\\s]+$", "word_1"), 1);
    assert_int_equal(find("^[^\\W\\s]+$", "w\xC3\xB6rd"), 0);
    assert_int_equal(find("^[^\\W\\s]+$", "w\xCE\xBFrd"), 0);
}

/* A range has characters at both ends; a hyphen beside \\d and the like is one itself
 * (Annex B.1.4), and what follows it begins no range. */
static void
hyphen_beside_a_class_escape_is_plain(void **state)
{
    static const struct {
        const char *pattern, *in, *out;
    } cases[] = {
        {"^[\\w-.]$", "a-.", "+/"},
        {"^[\\w-\\.]$", "a-.", "\\+"},
        {"^[+-\\d]$", "+-5", ",."},
        {"^[\\s-a]$", " -a", "b_\x7F"},
        {"^[\\x01-\\s]$", "\x01-\t", "\x02x"},
        {"^[^\\s-z]$", "ay", " -z"},
        {"^[\\p{Lu}-z]$", "A-z", "ay"},
        {"^[!-\\P{Lu}]$", "!-a", "A"},
        {"^[\\d-a-c]$", "1-ac", "b"},
        {"^[a-c-\\D]$", "abc-x", "5"},
        {"^[a-c-e]$", "abc-e", "d"},
        {"^[\\d-]$", "1-", "a"},
        {"^[-\\d]$", "1-", "a"},
        {"^[+--]$", "+,-", "."},
    };
    char text[2] = "";

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (const char *c = cases[i].in; (text[0] = *c); c++)
            if (find(cases[i].pattern, text) != 1)
                fail_msg("%s and %s", cases[i].pattern, text);
        for (const char *c = cases[i].out; (text[0] = *c); c++)
            if (find(cases[i].pattern, text) != 0)
                fail_msg("%s and not %s", cases[i].pattern, text);
    }
}

static void
properties_have_long_names(void **state)
{
    (void)state;
    assert_int_equal(find("^\\p{Letter}$", "\xC3\xA4"), 1);
    assert_int_equal(find("^\\P{Letter}$", "\xC3\xA4"), 0);
    assert_int_equal(find("^[\\p{Lowercase_Letter}0]+$", "\xC3\xA4"), 1);
    assert_int_equal(find("^\\p{General_Category=Decimal_Number}$", "\xE0\xA7\xAA"), 1);
    assert_int_equal(find("^\\p{gc=Nd}$", "7"), 1);
    assert_int_equal(find("^\\p{digit}+$", "42"), 1);
    assert_int_equal(find("^\\p{Script=Greek}$", "\xCE\xB1"), 1);
    assert_int_equal(find("^\\p{L}$", "1"), 0);
}

static void
brackets_in_classes_are_plain(void **state)
{
    (void)state;
    assert_int_equal(find("^[[:alpha:]]$", "a]"), 1);
    assert_int_equal(find("^[[]$", "["), 1);
    assert_int_equal(find("^[^]$", "x"), 1);
    assert_int_equal(find("^[a-z\\]]+$", "a]"), 1);
}

static void
what_only_pcre_has_is_refused(void **state)
{
    static const char *const bad[] = {
        "(*UTF)a",   "(*LIMIT_MATCH=1)a",
        "a(*SKIP)b", "(?R)",
        "(?1)",      "(?i)a",
        "(?>a)",     "(?#a)",
        "(?P<a>b)",  "(?|a|b)",
        "(?(1)a)",   "\\Ka",
        "\\Aa",      "a\\Z",
        "a\\z",      "\\Q.\\E",
        "\\R",       "\\X",
        "\\h",       "\\N",
        "\\G",       "\\g1",
        "(?C1)a",    "\\",
        "\\o{101}",  "(?",
        "a++",       "a*+",
        "a?+",       "a{2}+",
        "[a]{1,}+",  "(a){1,2}+",
    };
    struct mcpi_pattern *p = NULL;
    mcp_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (mcpi_pattern_new(NULL, bad[i], strlen(bad[i]), &p, &err) != MCP_E_INVAL)
            fail_msg("%s", bad[i]);
        assert_non_null(strstr(err.message, "not a pattern"));
    }
}

static void
what_both_have_is_kept(void **state)
{
    (void)state;
    assert_int_equal(find("^(?<y>a)\\k<y>$", "aa"), 1);
    assert_int_equal(find("^(?=a)(?!b)(?:a)(?<=a)(?<!b)$", "a"), 1);
    assert_int_equal(find("^\\cA\\x41\\/\\-\\t$", "\001A/-\t"), 1);
    assert_int_equal(find("^a{2}b{1,}c{0,2}?d*?$", "aab"), 1);
    assert_int_equal(find("^\\++[+*?]+\\?+a{+x}+$", "++*?a{x}}"), 1);
    assert_int_equal(find("\\bfoo\\B", "a foobar"), 1);
    assert_int_equal(find("^a{,3}$", "a{,3}"), 1);
    assert_int_equal(find("^\\u{65}+[\\u{66}]$", "eef"), 1);
    assert_int_equal(find("", "x"), 1);
}

static void
linear_patterns_are_known(void **state)
{
    (void)state;
    assert_true(linear("^[a-z]+$"));
    assert_true(linear("^[A-Za-z0-9+/]*={0,2}$"));
    assert_true(linear("^\\(a{64}$"));
    assert_true(linear("\\S"));
    assert_true(linear("a{0,9}b"));
    assert_false(linear("a*"));
    assert_false(linear("^a*b*$"));
    assert_false(linear("^(a)$"));
    assert_false(linear("^a|b"));
    assert_false(linear("^a{0,1000}a{0,1000}$"));
    assert_false(linear("^a{2,}b+$"));
}

static void
searches_within_a_budget_pay_for_their_effort(void **state)
{
    const char *hard = "^(a|aa)+$";
    char text[64];
    struct mcpi_pattern *p = NULL;
    uint64_t budget = 1000000;

    (void)state;
    memset(text, 'a', sizeof text);
    assert_int_equal(mcpi_pattern_new(NULL, hard, strlen(hard), &p, NULL), 0);
    assert_int_equal(mcpi_pattern_find_within(p, text, 5, &budget), 1);
    assert_in_range(budget, 1000000 - 20, 1000000 - 1);
    text[40] = 'b';
    assert_int_equal(mcpi_pattern_find_within(p, text, 41, &budget), MCP_E_LIMIT);
    assert_in_range(budget, 1000000 - 11000, 1000000 - 10000);
    budget = 5;
    assert_int_equal(mcpi_pattern_find_within(p, text, 5, &budget), MCP_E_LIMIT);
    mcpi_pattern_free(p);
}

TEST_MAIN(TEST(dot_is_all_but_line_ends), TEST(space_is_that_of_unicode),
          TEST(class_holds_what_one_of_its_items_holds),
          TEST(hyphen_beside_a_class_escape_is_plain), TEST(properties_have_long_names),
          TEST(brackets_in_classes_are_plain), TEST(what_only_pcre_has_is_refused),
          TEST(what_both_have_is_kept), TEST(linear_patterns_are_known),
          TEST(searches_within_a_budget_pay_for_their_effort))
