/* cli/shell_history_test.c - proves cli/shell_history.c: lines that are kept */
#include "cli/shell_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/program.h"

struct told {
    size_t count;
    char first[64], last[64];
};

static void
tell(void *user, const char *line)
{
    struct told *told = user;

    if (told->count++ == 0)
        snprintf(told->first, sizeof told->first, "%s", line);
    snprintf(told->last, sizeof told->last, "%s", line);
}

static const char *
path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", scratch(), name);
    return path;
}

static void
lines_come_back_in_order(void **state)
{
    const char *path = path_of("order");
    struct told told = {0};

    (void)state;
    assert_true(cli_history_add(path, "ping"));
    assert_true(cli_history_add(path, "call echo text='a b'"));
    cli_history_read(path, tell, &told);
    assert_int_equal(told.count, 2);
    assert_string_equal(told.first, "ping");
    assert_string_equal(told.last, "call echo text='a b'");
}

static void
the_file_is_for_nobody_else(void **state)
{
    const char *path = scratch_file("open", "ping\n");
    struct stat stat_of;

    (void)state;
    assert_int_equal(chmod(path, 0644), 0);
    assert_true(cli_history_add(path, "info"));
    assert_int_equal(stat(path, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0600);
}

static void
lines_behind_a_blank_are_not_kept(void **state)
{
    const char *path = path_of("blank");

    (void)state;
    assert_false(cli_history_wants(" ping"));
    assert_false(cli_history_wants(""));
    assert_false(cli_history_add(path, " ping"));
    assert_false(cli_history_add(path, ""));
    assert_int_equal(access(path, F_OK), -1);
}

static void
what_looks_secret_is_not_written(void **state)
{
    static const char *const secret[] = {"call login password=x",
                                         "call a api_key:=\"x\"",
                                         "call a Access-Token=x",
                                         "raw tools/call '{\"secret\": \"x\"}'",
                                         "raw x {\\\"apiKey\\\":1}",
                                         "call a h='Authorization: x'",
                                         "call a x='Bearer abcdefghijklmnop'"};
    static const char *const plain[] = {"call echo text=monk", "tools", "read key/1",
                                        "call tokenize text=a"};

    (void)state;
    for (size_t i = 0; i < sizeof secret / sizeof secret[0]; i++)
        if (!cli_history_is_secret(secret[i]))
            fail_msg("%s", secret[i]);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        assert_false(cli_history_is_secret(plain[i]));
    assert_false(cli_history_add(path_of("secret"), secret[0]));
}

static void
only_the_last_lines_stay(void **state)
{
    static char text[32 * (CLI_HISTORY_LINES + 5)];
    struct told told = {0}, again = {0};
    struct stat before, after;
    const char *path;
    size_t length = 0;

    (void)state;
    for (int i = 0; i < CLI_HISTORY_LINES + 5; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "line %d\n", i);
    path = scratch_file("long", text);
    assert_int_equal(stat(path, &before), 0);
    cli_history_read(path, tell, &told);
    assert_int_equal(told.count, CLI_HISTORY_LINES);
    assert_string_equal(told.first, "line 5");
    assert_int_equal(stat(path, &after), 0);
    assert_true(after.st_size < before.st_size);
    assert_int_equal(after.st_mode & 0777, 0600);
    cli_history_read(path, tell, &again);
    assert_int_equal(again.count, CLI_HISTORY_LINES);
    assert_string_equal(again.last, "line 1004");
}

static void
a_file_that_is_not_there_is_empty(void **state)
{
    struct told told = {0};

    (void)state;
    cli_history_read(path_of("no/such"), tell, &told);
    assert_int_equal(told.count, 0);
    assert_false(cli_history_add(path_of("no/such"), "ping"));
    cli_history_read(scratch_file("half", "one\ntwo"), tell, &told);
    assert_int_equal(told.count, 1); /* the other was not written to its end */
}

TEST_MAIN(TEST(lines_come_back_in_order), TEST(the_file_is_for_nobody_else),
          TEST(lines_behind_a_blank_are_not_kept),
          TEST(what_looks_secret_is_not_written), TEST(only_the_last_lines_stay),
          TEST(a_file_that_is_not_there_is_empty))
