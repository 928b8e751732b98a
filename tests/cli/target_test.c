/* cli/target_test.c - proves cli/target.c: what a word on the command line means */
#include <stdlib.h>
#include <string.h>

#include "cli/target.h"
#include "home.h"

#define MCP "home/project/.mcp.json"

static struct cli_target
target_of(const char *word)
{
    struct cli_target target = {0};
    mcp_error err = {0};

    if (cli_target_read(word, &target, &err) < 0)
        fail_msg("%s: %s", word, err.message);
    return target;
}

/* Why the word means nothing. */
static const char *
refusal(const char *word)
{
    static mcp_error err;
    struct cli_target target;

    assert_int_equal(cli_target_read(word, &target, &err), MCP_E_INVAL);
    assert_int_equal(err.status, MCP_E_INVAL);
    return err.message;
}

static void
assert_described(const char *word, const char *expected)
{
    struct cli_target target = target_of(word);
    char *text = cli_target_describe(&target);

    assert_string_equal(text, expected);
    free(text);
    cli_target_done(&target);
}

static void
urls_are_urls(void **state)
{
    struct cli_target target = target_of("https://host/mcp?x=1");

    (void)state;
    assert_int_equal(target.kind, CLI_TARGET_URL);
    assert_string_equal(target.url, "https://host/mcp?x=1");
    assert_null(target.name);
    cli_target_done(&target);
    target = target_of("HTTP://127.0.0.1:1/");
    assert_int_equal(target.kind, CLI_TARGET_URL);
    cli_target_done(&target);
    assert_non_null(strstr(refusal("http://"), "no host"));
    assert_non_null(strstr(refusal("ws://host/"), "speaks http:"));
}

static void
sockets_are_paths(void **state)
{
    struct cli_target target = target_of("unix:/run/my server.sock");

    (void)state;
    assert_int_equal(target.kind, CLI_TARGET_UNIX);
    assert_string_equal(target.path, "/run/my server.sock");
    cli_target_done(&target);
    target = target_of("unix:@name");
    assert_string_equal(target.path, "@name");
    cli_target_done(&target);
    assert_non_null(strstr(refusal("unix:"), "no path"));
    assert_non_null(strstr(refusal("unix:@"), "no path"));
}

static void
what_has_a_blank_or_a_slash_is_a_command_line(void **state)
{
    struct cli_target target = target_of("./srv --x 'a b'");

    (void)state;
    assert_int_equal(target.kind, CLI_TARGET_COMMAND);
    assert_string_equal(target.argv[0], "./srv");
    assert_string_equal(target.argv[2], "a b");
    assert_null(target.argv[3]);
    assert_null(target.env);
    cli_target_done(&target);
    target = target_of("nothing-like-this --x");
    assert_string_equal(target.argv[0], "nothing-like-this");
    cli_target_done(&target);
}

static void
a_command_line_that_needs_a_shell_is_refused(void **state)
{
    (void)state;
    assert_non_null(strstr(refusal("./srv | tee log"), "without a shell"));
    assert_non_null(strstr(refusal("./srv;x"), "without a shell"));
    assert_non_null(strstr(refusal("a;b"), "without a shell"));
    assert_non_null(strstr(refusal("KEY=1 ./srv"), "--env"));
    assert_non_null(strstr(refusal("'' ./srv"), "empty word"));
    assert_non_null(strstr(refusal(" "), "empty"));
    assert_non_null(strstr(refusal(""), "empty"));
}

static void
a_configured_name_is_that_server(void **state)
{
    struct cli_target target;

    (void)state;
    home_write(MCP, "{\"mcpServers\":{\"sh\":{\"command\":\"mine\",\"args\":[\"-x\"],"
                    "\"env\":{\"A\":\"1\"}},\"web\":{\"url\":\"http://h/\","
                    "\"headers\":{\"X\":\"y\"}}}}");
    target = target_of("sh");
    assert_string_equal(target.name, "sh");
    assert_string_equal(target.argv[0], "mine");
    assert_string_equal(target.argv[1], "-x");
    assert_string_equal(target.env[0], "A=1");
    assert_string_equal(target.cwd, home_path("home/project"));
    cli_target_done(&target);
    target = target_of("web");
    assert_int_equal(target.kind, CLI_TARGET_URL);
    assert_string_equal(target.headers[0], "X: y");
    cli_target_done(&target);
    home_unlink(MCP);
}

static void
a_name_never_changes_what_a_path_means(void **state)
{
    struct cli_target target;

    (void)state;
    home_write(MCP, "{\"mcpServers\":{\"./srv\":{\"command\":\"theirs\"},"
                    "\"a b\":{\"command\":\"theirs\"}}}");
    target = target_of("./srv");
    assert_string_equal(target.argv[0], "./srv");
    assert_null(target.name);
    cli_target_done(&target);
    target = target_of("a b");
    assert_string_equal(target.argv[0], "a");
    cli_target_done(&target);
    target = target_of("name:a b");
    assert_string_equal(target.argv[0], "theirs");
    cli_target_done(&target);
    home_unlink(MCP);
}

static void
a_program_in_the_path_is_a_command(void **state)
{
    struct cli_target target = target_of("sh");

    (void)state;
    assert_int_equal(target.kind, CLI_TARGET_COMMAND);
    assert_string_equal(target.argv[0], "sh");
    assert_null(target.argv[1]);
    assert_null(target.name);
    cli_target_done(&target);
    assert_non_null(strstr(refusal("name:sh"), "no server \"sh\""));
}

static void
an_unknown_name_is_refused_with_a_near_one(void **state)
{
    (void)state;
    assert_non_null(strstr(refusal("githup-server"), "\"mcpctl servers\""));
    home_write(MCP, "{\"mcpServers\":{\"github-server\":{\"command\":\"x\"}}}");
    assert_non_null(
        strstr(refusal("githup-server"), "did you mean \"github-server\"?"));
    home_write(MCP, "{\"mcpServers\":{\"github-server\":");
    assert_non_null(strstr(refusal("github-server"), ".mcp.json is passed over"));
    home_unlink(MCP);
}

static void
a_server_that_cannot_be_used_says_why_when_it_is_named(void **state)
{
    (void)state;
    home_write(MCP, "{\"mcpServers\":{\"s\":{\"command\":\"${MCPCTL_UNSET}\"}}}");
    assert_non_null(
        strstr(refusal("s"), "needs the variable MCPCTL_UNSET, which is not set"));
    home_unlink(MCP);
}

static void
a_disabled_server_may_be_named(void **state)
{
    struct cli_target target;

    (void)state;
    home_write(MCP, "{\"mcpServers\":{\"s\":{\"command\":\"x\",\"disabled\":true}}}");
    target = target_of("s");
    assert_string_equal(target.argv[0], "x");
    cli_target_done(&target);
    home_unlink(MCP);
}

static void
targets_are_described_without_secrets(void **state)
{
    (void)state;
    assert_described("./srv --x 'a b'", "./srv --x 'a b'");
    assert_described("https://me:pw@host:1/p?key=1#f", "https://host:1/p");
    assert_described("https://host/a@b", "https://host/a@b");
    assert_described("http://host?key=a@b", "http://host");
    assert_described("unix:@x", "unix:@x");
}

static void
done_twice_is_done(void **state)
{
    struct cli_target target = target_of("./srv");

    (void)state;
    cli_target_done(&target);
    cli_target_done(&target);
    assert_null(target.argv);
}

TEST_MAIN_AFTER(home_enter, TEST(urls_are_urls), TEST(sockets_are_paths),
                TEST(what_has_a_blank_or_a_slash_is_a_command_line),
                TEST(a_command_line_that_needs_a_shell_is_refused),
                TEST(a_configured_name_is_that_server),
                TEST(a_name_never_changes_what_a_path_means),
                TEST(a_program_in_the_path_is_a_command),
                TEST(an_unknown_name_is_refused_with_a_near_one),
                TEST(a_server_that_cannot_be_used_says_why_when_it_is_named),
                TEST(a_disabled_server_may_be_named),
                TEST(targets_are_described_without_secrets), TEST(done_twice_is_done))
