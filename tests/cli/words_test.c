/* cli/words_test.c - proves cli/words.c: words as a shell splits them, and back */
#include <stdlib.h>
#include <string.h>

#include "cli/target.h"
#include "home.h"

/* The words of a text, each in brackets; or why there are none. */
static const char *
split(const char *text)
{
    static char shown[512];
    mcp_error err = {0};
    char **words = NULL;
    size_t length = 0, i;
    int r;

    r = cli_words_split(text, &words, &err);
    if (r < 0) {
        assert_int_equal(r, MCP_E_INVAL);
        assert_int_equal(err.status, MCP_E_INVAL);
        assert_null(words);
        snprintf(shown, sizeof shown, "%s", err.message);
        return shown;
    }
    shown[0] = '\0';
    for (i = 0; words[i]; i++)
        length += (size_t)snprintf(shown + length, sizeof shown - length, "[%s]",
                                   words[i]);
    cli_words_free(words);
    return shown;
}

static void
blanks_separate_words(void **state)
{
    (void)state;
    assert_string_equal(split("./srv"), "[./srv]");
    assert_string_equal(split("  ./srv \t --x  1 "), "[./srv][--x][1]");
    assert_string_equal(split("\n./srv --x\n"), "[./srv][--x]");
}

static void
quotes_keep_a_word_together(void **state)
{
    (void)state;
    assert_string_equal(split("a 'b  c'd \"e f\"g"), "[a][b  cd][e fg]");
    assert_string_equal(split("a '' \"\""), "[a][][]");
    assert_string_equal(split("a '\"$x`\\;' \"';|&<>()#~\""),
                        "[a][\"$x`\\;][';|&<>()#~]");
    assert_string_equal(split("a 'x\ny'"), "[a][x\ny]");
}

static void
backslashes_take_the_meaning_away(void **state)
{
    (void)state;
    assert_string_equal(split("a\\ b \\$x \\' \\\\"), "[a b][$x]['][\\]");
    assert_string_equal(split("\"\\$ \\` \\\" \\\\ \\n\""), "[$ ` \" \\ \\n]");
    assert_string_equal(split("a\\\nb \"c\\\nd\""), "[ab][cd]");
}

static void
what_a_shell_would_obey_is_refused(void **state)
{
    static const char *const lines[] = {
        "a; b",  "a | b", "a & b", "a < b",    "a > b",     "(a)",    "a $X",
        "a `b`", "a\nb",  "# a",   "a \"$X\"", "a \"`b`\"", "~bob/a", "a)",
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_not_equal(split(lines[i])[0], '[');
    assert_non_null(strstr(split("a; b"), "without a shell, so ; does not work"));
    assert_non_null(strstr(split("a $X"), "so $ means nothing"));
    assert_string_equal(split("a#b c~d"), "[a#b][c~d]");
}

static void
what_is_not_closed_is_refused(void **state)
{
    (void)state;
    assert_non_null(strstr(split("a 'b"), "single quote"));
    assert_non_null(strstr(split("a \"b"), "double quote"));
    assert_non_null(strstr(split("a \"b\\"), "double quote"));
    assert_non_null(strstr(split("a \\"), "backslash"));
}

static void
no_word_at_all_is_refused(void **state)
{
    (void)state;
    assert_non_null(strstr(split(""), "empty"));
    assert_non_null(strstr(split(" \t\n "), "empty"));
}

static void
a_tilde_before_a_slash_is_the_home(void **state)
{
    char expected[600];

    (void)state;
    snprintf(expected, sizeof expected, "[%s/srv][%s][~/x][a~/x]", home_path("home"),
             home_path("home"));
    assert_string_equal(split("~/srv ~ '~/x' a~/x"), expected);
}

static void
many_words_are_kept_in_order(void **state)
{
    char text[4001], **words;
    size_t i;

    (void)state;
    for (i = 0; i < 4000; i += 2) {
        text[i] = (char)('a' + i / 2 % 26);
        text[i + 1] = ' ';
    }
    text[4000] = '\0';
    assert_int_equal(cli_words_split(text, &words, NULL), 0);
    for (i = 0; words[i]; i++)
        assert_int_equal(words[i][0], 'a' + (int)(i % 26));
    assert_int_equal(i, 2000);
    cli_words_free(words);
}

static void
an_error_may_be_left_out(void **state)
{
    char **words;

    (void)state;
    assert_int_equal(cli_words_split("a |", &words, NULL), MCP_E_INVAL);
}

static void
joined_words_are_split_into_the_same(void **state)
{
    const char *const words[] = {"a", "", "b c", "it's", "$x;`", "~/y", "\n#", NULL};
    char *joined, **again;
    size_t i;

    (void)state;
    joined = cli_words_join(words);
    assert_int_equal(cli_words_split(joined, &again, NULL), 0);
    for (i = 0; words[i]; i++)
        assert_string_equal(again[i], words[i]);
    assert_null(again[i]);
    cli_words_free(again);
    free(joined);
}

static void
plain_words_are_joined_without_quotes(void **state)
{
    const char *const words[] = {"./srv", "--x=1", "http://a:1/b", NULL};
    char *joined;

    (void)state;
    joined = cli_words_join(words);
    assert_string_equal(joined, "./srv --x=1 http://a:1/b");
    free(joined);
    joined = cli_words_join(NULL);
    assert_string_equal(joined, "");
    free(joined);
}

TEST_MAIN_AFTER(home_enter, TEST(blanks_separate_words),
                TEST(quotes_keep_a_word_together),
                TEST(backslashes_take_the_meaning_away),
                TEST(what_a_shell_would_obey_is_refused),
                TEST(what_is_not_closed_is_refused), TEST(no_word_at_all_is_refused),
                TEST(a_tilde_before_a_slash_is_the_home),
                TEST(many_words_are_kept_in_order), TEST(an_error_may_be_left_out),
                TEST(joined_words_are_split_into_the_same),
                TEST(plain_words_are_joined_without_quotes))
