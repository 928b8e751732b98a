/* login_record_test.c - how somebody has signed in to a server, kept for other commands */
#include "cli/login_record.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "cli/program.h"

static void
set_home(void)
{
    assert_int_equal(setenv("XDG_STATE_HOME", scratch(), 1), 0);
}

static void
what_was_said_is_known_again(void **state)
{
    char id[] = "me", file[] = "/secret", scope[] = "a b";
    struct cli_login_record said = {id, file, scope, true, true}, known;

    (void)state;
    set_home();
    assert_true(cli_login_record_save("http://a/", &said));
    cli_login_record_load("http://a/", &known);
    assert_string_equal(known.client_id, "me");
    assert_string_equal(known.secret_file, "/secret");
    assert_string_equal(known.scope, "a b");
    assert_true(known.client_credentials && known.dpop);
    cli_login_record_done(&known);
}

static void
of_another_server_nothing_is(void **state)
{
    struct cli_login_record known;

    (void)state;
    set_home();
    cli_login_record_load("http://other/", &known);
    assert_null(known.client_id);
    assert_false(known.client_credentials || known.dpop);
    cli_login_record_done(&known);
}

static void
one_is_forgotten_and_others_stay(void **state)
{
    char id[] = "x";
    struct cli_login_record said = {.client_id = id}, known;

    (void)state;
    set_home();
    assert_true(cli_login_record_save("http://b/", &said));
    assert_true(cli_login_record_save("http://a/", NULL));
    cli_login_record_load("http://a/", &known);
    assert_null(known.client_id);
    cli_login_record_load("http://b/", &known);
    assert_string_equal(known.client_id, "x");
    cli_login_record_done(&known);
}

static void
a_damaged_file_is_nothing_and_is_replaced(void **state)
{
    char id[] = "y";
    struct cli_login_record said = {.client_id = id}, known;
    const char *path;
    struct stat stat;

    (void)state;
    set_home();
    path = scratch_file("mcpctl/logins.json", "[no JSON");
    cli_login_record_load("http://b/", &known);
    assert_null(known.client_id);
    assert_true(cli_login_record_save("http://c/", &said));
    assert_int_equal(lstat(path, &stat), 0);
    assert_int_equal(stat.st_mode & 0777, 0600);
    cli_login_record_load("http://c/", &known);
    assert_string_equal(known.client_id, "y");
    cli_login_record_done(&known);
}

TEST_MAIN(TEST(what_was_said_is_known_again), TEST(of_another_server_nothing_is),
          TEST(one_is_forgotten_and_others_stay),
          TEST(a_damaged_file_is_nothing_and_is_replaced))
