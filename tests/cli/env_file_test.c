/* cli/env_file_test.c - proves cli/env_file.c: lines of a file of variables */
#include "cli/env_file.h"

#include <string.h>

#include "support/test.h"

/* All of a text, with | behind each; "!" where a line is none. */
static void
assert_read(const char *text, const char *expected)
{
    struct cli_text all = {0};
    int r;

    do {
        struct cli_text one = {0};

        r = cli_env_next(&text, &one);
        if (r > 0)
            cli_text_printf(&all, "%s|", cli_text_string(&one));
        cli_text_done(&one);
    } while (r > 0);
    if (r < 0)
        cli_text_puts(&all, "!");
    assert_string_equal(cli_text_string(&all), expected);
    cli_text_done(&all);
}

static void
a_line_is_a_name_and_a_value(void **state)
{
    (void)state;
    assert_read("A=1\nB=two words \nC=\n  D = x=y\t\r\n\r\nE=${A}\\n", "A=1|B=two "
                                                                       "words|C=|D=x=y|"
                                                                       "E=${A}\\n|");
    assert_read("export A=1\nexport\tB=2\nexport=3", "A=1|B=2|export=3|");
    assert_read("", "");
}

static void
comments_are_passed_over(void **state)
{
    (void)state;
    assert_read("# A=1\n\n  #\nB=2 # two\nC='#3'#x\n#", "B=2|C=#3|");
}

static void
quotes_keep_what_is_between_them(void **state)
{
    (void)state;
    assert_read("A=' 1 '\nB=\" \\n\\t\"  \nC=`it's`\nD='\\n'",
                "A= 1 |B= \n\\t|C=it's|D=\\n|");
}

static void
what_is_no_such_line_is_told(void **state)
{
    const char *const wrong[] = {"A",       "=1",        "1A=2", "A B=1",
                                 "A='1\n'", "A=\"1\" x", "A=`",  "export A"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_read(wrong[i], "!");
    assert_read("A=1\nB\nC=3", "A=1|!");
}

TEST_MAIN(TEST(a_line_is_a_name_and_a_value), TEST(comments_are_passed_over),
          TEST(quotes_keep_what_is_between_them), TEST(what_is_no_such_line_is_told))
