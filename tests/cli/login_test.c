/* login_test.c - who we are over HTTP: what is used when */
#include "cli/login.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "cli/program.h"

struct rig {
    struct cli cli;
    mcp_http_client_options http;
    struct cli_auth *auth;
};

static void
rig_init(struct rig *rig)
{
    *rig = (struct rig){.http = MCP_HTTP_CLIENT_OPTIONS()};
    cli_options_begin(&rig->cli.options);
    cli_say_init(&rig->cli.say, false, false, false);
    assert_int_equal(setenv("XDG_STATE_HOME", scratch(), 1), 0);
}

static int
rig_make(struct rig *rig, bool sign_in)
{
    return cli_auth_new(&rig->cli, "http://127.0.0.1:1/mcp", sign_in, &rig->http,
                        &rig->auth);
}

static void
rig_done(struct rig *rig)
{
    cli_auth_free(rig->auth);
    cli_say_done(&rig->cli.say);
}

static void
where_nobody_ever_signed_in_there_is_nothing_to_use(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(rig_make(&rig, false), CLI_OK);
    assert_null(rig.http.auth);
    rig_done(&rig);
}

static void
a_header_of_the_user_wins(void **state)
{
    static const char *const headers[] = {"X: y", "authorization: Bearer x", NULL};
    struct rig rig;

    (void)state;
    rig_init(&rig);
    rig.http.headers = headers;
    assert_int_equal(rig_make(&rig, true), CLI_OK);
    assert_null(rig.http.auth);
    assert_null(rig.auth);
    rig_done(&rig);
}

static void
only_a_sign_in_has_somebody_to_ask_and_may_register(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    rig.cli.options.no_browser = true;
    assert_int_equal(rig_make(&rig, true), CLI_OK);
    assert_non_null(rig.http.auth->agent);
    assert_non_null(rig.http.auth->store);
    assert_false(rig.http.auth->no_registration);
    cli_auth_remember(rig.auth, "http://127.0.0.1:1/mcp");
    rig_done(&rig);
    assert_int_equal(chmod(scratch_file("mcpctl/tokens.json", "{}"), 0600), 0);
    rig_init(&rig);
    assert_int_equal(rig_make(&rig, false), CLI_OK);
    assert_null(rig.http.auth->agent);
    assert_true(rig.http.auth->no_registration);
    rig_done(&rig);
}

static void
a_program_has_nobody_to_ask(void **state)
{
    char id[] = "robot";
    struct rig rig;

    (void)state;
    rig_init(&rig);
    rig.cli.options.client_credentials = true;
    rig.cli.options.client_id = id;
    rig.cli.options.client_secret_file = scratch_file("secret", "s3cret\nmore");
    assert_int_equal(rig_make(&rig, true), CLI_OK);
    assert_int_equal(rig.http.auth->grant, MCP_GRANT_CLIENT);
    assert_string_equal(rig.http.auth->client_secret, "s3cret");
    assert_null(rig.http.auth->agent);
    rig_done(&rig);
}

TEST_MAIN(TEST(where_nobody_ever_signed_in_there_is_nothing_to_use),
          TEST(a_header_of_the_user_wins),
          TEST(only_a_sign_in_has_somebody_to_ask_and_may_register),
          TEST(a_program_has_nobody_to_ask))
