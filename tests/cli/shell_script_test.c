/* cli/shell_script_test.c - proves cli/shell_script.c: lines from a file or a pipe */
#include "cli/shell_script.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/test.h"

static int ends[2], stop[2];

static void
begin(struct cli_script *script)
{
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(stop), 0);
    cli_script_init(script, ends[0], stop[0]);
}

static void
end(struct cli_script *script)
{
    cli_script_done(script);
    close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
    close(stop[0]);
    close(stop[1]);
}

static void
put(const char *text)
{
    assert_int_equal(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
}

static void
close_input(void)
{
    close(ends[1]);
    ends[1] = -1;
}

static void
lines_come_one_by_one(void **state)
{
    struct cli_script script;

    (void)state;
    begin(&script);
    put("one\n\ntw");
    assert_string_equal(cli_script_next(&script), "one");
    assert_string_equal(cli_script_next(&script), "");
    put("o\nthree");
    assert_string_equal(cli_script_next(&script), "two");
    close_input();
    assert_string_equal(cli_script_next(&script), "three");
    assert_null(cli_script_next(&script));
    assert_null(cli_script_next(&script));
    end(&script);
}

static void
a_carriage_return_belongs_to_the_end_of_a_line(void **state)
{
    struct cli_script script;

    (void)state;
    begin(&script);
    put("one\r\n\r\ntw\ro\n");
    assert_string_equal(cli_script_next(&script), "one");
    assert_string_equal(cli_script_next(&script), "");
    assert_string_equal(cli_script_next(&script), "tw\ro");
    end(&script);
}

static void
nothing_is_no_line(void **state)
{
    struct cli_script script;

    (void)state;
    begin(&script);
    close_input();
    assert_null(cli_script_next(&script));
    end(&script);
}

static void
long_lines_come_whole(void **state)
{
    static char text[20002];
    struct cli_script script;

    (void)state;
    memset(text, 'x', 20000);
    text[20000] = '\n';
    begin(&script);
    put(text);
    assert_int_equal(strlen(cli_script_next(&script)), 20000);
    end(&script);
}

static void
a_signal_stops_the_waiting(void **state)
{
    struct cli_script script;

    (void)state;
    begin(&script);
    put("one\n");
    assert_string_equal(cli_script_next(&script), "one");
    assert_int_equal(write(stop[1], "", 1), 1);
    assert_null(cli_script_next(&script));
    end(&script);
}

TEST_MAIN(TEST(lines_come_one_by_one),
          TEST(a_carriage_return_belongs_to_the_end_of_a_line),
          TEST(nothing_is_no_line), TEST(long_lines_come_whole),
          TEST(a_signal_stops_the_waiting))
