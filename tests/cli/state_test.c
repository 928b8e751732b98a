/* state_test.c - where mcpctl keeps what lasts */
#include "cli/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/program.h"

static void
it_is_below_XDG_STATE_HOME(void **state)
{
    char expected[256], where[128];
    struct stat stat;
    char *path;

    (void)state;
    (void)snprintf(where, sizeof(where), "%s/state", scratch());
    (void)snprintf(expected, sizeof(expected), "%s/mcpctl/tokens.json", where);
    assert_int_equal(setenv("XDG_STATE_HOME", where, 1), 0);
    path = cli_state_path("tokens.json");
    assert_string_equal(path, expected);
    *strrchr(path, '/') = '\0';
    assert_int_equal(lstat(path, &stat), 0);
    assert_true(S_ISDIR(stat.st_mode) && (stat.st_mode & 0777) == 0700);
    free(path);
}

static void
else_it_is_in_the_home(void **state)
{
    char expected[256];
    char *path;

    (void)state;
    (void)snprintf(expected, sizeof(expected), "%s/.local/state/mcpctl/x", scratch());
    assert_int_equal(setenv("XDG_STATE_HOME", "relative", 1), 0); /* does not count */
    assert_int_equal(setenv("HOME", scratch(), 1), 0);
    path = cli_state_path("x");
    assert_string_equal(path, expected);
    free(path);
}

static void
without_a_home_there_is_none(void **state)
{
    (void)state;
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_null(cli_state_path("x"));
}

TEST_MAIN(TEST(it_is_below_XDG_STATE_HOME), TEST(else_it_is_in_the_home),
          TEST(without_a_home_there_is_none))
