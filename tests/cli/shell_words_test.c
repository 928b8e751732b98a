/* cli/shell_words_test.c - proves cli/shell_words.c: lines, whole and while typed */
#include "cli/shell_words.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

/* The words of a line, each in brackets, and an & if it was there. */
static const char *
line(const char *text)
{
    static char shown[256];
    struct cli_line read;
    mcp_error err = {0};
    size_t length = 0;

    if (cli_line_read(text, &read, &err) < 0) {
        assert_int_equal(err.status, MCP_E_INVAL);
        return "refused";
    }
    shown[0] = '\0';
    for (int i = 0; i < read.count; i++)
        length += (size_t)snprintf(shown + length, sizeof shown - length, "[%s]",
                                   read.words[i]);
    snprintf(shown + length, sizeof shown - length, "%s",
             read.is_background ? "&" : "");
    cli_line_done(&read);
    return shown;
}

/* The same for a line that is typed: whole words, the open quote, the word. */
static const char *
typed(const char *text)
{
    static char shown[256];
    struct cli_typed read;
    size_t length = 0;

    assert_int_equal(cli_typed_read(text, strlen(text), &read), 0);
    for (int i = 0; i < read.count; i++)
        length += (size_t)snprintf(shown + length, sizeof shown - length, "[%s]",
                                   read.words[i]);
    snprintf(shown + length, sizeof shown - length, "%c%s",
             read.quote ? read.quote : '.', read.word);
    cli_typed_done(&read);
    return shown;
}

static const char *
quoted(const char *text, char quote)
{
    static char shown[256];
    struct cli_text into = {0};

    cli_words_add_quoted(&into, text, strlen(text), quote);
    snprintf(shown, sizeof shown, "%s", cli_text_string(&into));
    cli_text_done(&into);
    return shown;
}

static void
an_and_at_the_end_means_background(void **state)
{
    (void)state;
    assert_string_equal(line("call hang seconds=5 &"), "[call][hang][seconds=5]&");
    assert_string_equal(line("call hang seconds=5&  "), "[call][hang][seconds=5]&");
    assert_string_equal(line("call hang"), "[call][hang]");
}

static void
an_and_elsewhere_is_none(void **state)
{
    (void)state;
    assert_string_equal(line("call echo 'text=a &'"), "[call][echo][text=a &]");
    assert_string_equal(line("call echo text=a\\&"), "[call][echo][text=a&]");
    assert_string_equal(line("call a & call b"), "refused");
    assert_string_equal(line("call a &&"), "refused");
}

static void
blanks_and_comments_have_no_words(void **state)
{
    (void)state;
    assert_string_equal(line(""), "");
    assert_string_equal(line("  \t"), "");
    assert_string_equal(line("  # call a &"), "");
}

static void
what_a_shell_would_obey_is_refused(void **state)
{
    (void)state;
    assert_string_equal(line("call a; call b"), "refused");
    assert_string_equal(line("call 'a"), "refused");
}

static void
the_word_at_the_cursor_is_found(void **state)
{
    (void)state;
    assert_string_equal(typed(""), ".");
    assert_string_equal(typed("ca"), ".ca");
    assert_string_equal(typed("call "), "[call].");
    assert_string_equal(typed("call echo te"), "[call][echo].te");
    assert_string_equal(typed("call '' x"), "[call][].x");
}

static void
an_open_quote_is_no_fault_while_typing(void **state)
{
    (void)state;
    assert_string_equal(typed("call 'two wo"), "[call]'two wo");
    assert_string_equal(typed("call \"a \\\" b"), "[call]\"a \" b");
    assert_string_equal(typed("call 'a b'\\ c"), "[call].a b c");
    assert_string_equal(typed("a; b | c"), "[a;][b][|].c");
}

static void
what_is_added_is_quoted_as_it_must_be(void **state)
{
    (void)state;
    assert_string_equal(quoted("plain/x=1", 0), "plain/x=1");
    assert_string_equal(quoted("a b&c'd", 0), "a\\ b\\&c\\'d");
    assert_string_equal(quoted("a b$c\"d", '"'), "a b\\$c\\\"d");
    assert_string_equal(quoted("a b'c$d", '\''), "a b'\\''c$d");
}

/* Each of the bytes there are, behind each of the quotes, comes back as it was. */
static void
quoting_is_undone_by_reading(void **state)
{
    static const char quotes[] = {0, '\'', '"'};
    char all[96], text[512];
    size_t count = 0;

    (void)state;
    for (char c = ' '; c < 127; c++)
        all[count++] = c;
    all[count] = '\0';
    for (size_t i = 0; i < sizeof quotes; i++) {
        struct cli_typed read;

        snprintf(text, sizeof text, "x %.*s%s", quotes[i] ? 1 : 0, &quotes[i],
                 quoted(all, quotes[i]));
        assert_int_equal(cli_typed_read(text, strlen(text), &read), 0);
        assert_string_equal(read.word, all);
        assert_int_equal(read.quote, quotes[i]);
        cli_typed_done(&read);
    }
}

TEST_MAIN(TEST(an_and_at_the_end_means_background), TEST(an_and_elsewhere_is_none),
          TEST(blanks_and_comments_have_no_words),
          TEST(what_a_shell_would_obey_is_refused),
          TEST(the_word_at_the_cursor_is_found),
          TEST(an_open_quote_is_no_fault_while_typing),
          TEST(what_is_added_is_quoted_as_it_must_be),
          TEST(quoting_is_undone_by_reading))
