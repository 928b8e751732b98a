/* cli/command_servers_test.c - proves mcpctl servers, and that a name is a target */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/json.h>

#include "cli/cli.h"
#include "home.h"
#include "program.h"

/* ---- for people: the command itself, with stdout and stderr in files ------------ */

#define MCP "home/project/.mcp.json"

static char shown[8192];

static int
redirect(int fd, const char *name)
{
    int kept = dup(fd);
    int file = open(home_path(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(kept >= 0 && file >= 0);
    assert_true(dup2(file, fd) == fd);
    close(file);
    return kept;
}

static void
restore(int fd, int kept)
{
    assert_true(dup2(kept, fd) == fd);
    close(kept);
}

static size_t
append(const char *name, size_t length)
{
    FILE *file = fopen(home_path(name), "r");

    assert_non_null(file);
    length += fread(shown + length, 1, sizeof shown - 1 - length, file);
    shown[length] = '\0';
    fclose(file);
    home_unlink(name);
    return length;
}

/* What a terminal would show: stdout, then stderr. */
static const char *
show_servers(bool all)
{
    extern const struct cli_command cli_command_servers;
    struct cli cli = {.command = &cli_command_servers, .options = {.all = all}};
    int out, err, code;

    cli_say_init(&cli.say, false, false, false);
    fflush(stdout);
    out = redirect(STDOUT_FILENO, "out");
    err = redirect(STDERR_FILENO, "err");
    code = cli_command_servers.run(&cli, 0, NULL);
    fflush(stdout);
    restore(STDOUT_FILENO, out);
    restore(STDERR_FILENO, err);
    cli_say_done(&cli.say);
    assert_int_equal(code, CLI_OK);
    append("err", append("out", 0));
    return shown;
}

static void
people_get_a_table(void **state)
{
    const char *text;

    (void)state;
    home_write(MCP, "{\"mcpServers\":{\"one\":{\"command\":\"srv\",\"args\":[\"-x\"]},"
                    "\"two\":{\"command\":\"off\",\"disabled\":true},"
                    "\"three\":{\"command\":\"${MCPCTL_UNSET}\"}}}");
    text = show_servers(false);
    assert_non_null(strstr(text, "NAME"));
    assert_non_null(strstr(text, "one"));
    assert_non_null(strstr(text, "Claude Code (project)"));
    assert_non_null(strstr(text, "srv -x"));
    assert_null(strstr(text, "two"));
    assert_non_null(strstr(text, "cannot be used"));
    assert_null(strstr(text, "FILE"));
    home_unlink(MCP);
}

static void
people_get_all_of_them_with_their_files(void **state)
{
    const char *text;

    (void)state;
    home_write(MCP, "{\"mcpServers\":{\"one\":{\"command\":\"near\"},"
                    "\"two\":{\"command\":\"off\",\"disabled\":true}}}");
    home_write("home/.claude.json",
               "{\"mcpServers\":{\"one\":{\"command\":\"wide\"}}}");
    text = show_servers(true);
    assert_non_null(strstr(text, "FILE"));
    assert_non_null(strstr(text, "(disabled)"));
    assert_non_null(strstr(text, "wide"));
    assert_non_null(strstr(text, "another one has"));
    home_unlink(MCP);
    home_unlink("home/.claude.json");
}

static void
people_are_told_that_there_is_nothing(void **state)
{
    (void)state;
    assert_non_null(strstr(show_servers(false), "no server is configured here"));
    home_write(MCP, "{\"mcpServers\":{\"s\":{\"command\":\"x\",\"disabled\":true}}}");
    assert_non_null(strstr(show_servers(false), "--all lists the others"));
    home_unlink(MCP);
}

static void
what_is_wrong_with_a_file_is_said(void **state)
{
    (void)state;
    home_write(MCP, "{");
    assert_non_null(strstr(show_servers(false), ".mcp.json is passed over"));
    home_unlink(MCP);
}

/* ---- for programs: mcpctl itself ----------------------------------------------- */

/* The servers of what it printed; *ret_doc is the caller's. */
static const mcp_json *
servers_in(const struct ran *ran, mcp_doc **ret_doc)
{
    assert_int_equal(ran->code, 0);
    assert_int_equal(mcp_doc_parse(ran->out, strlen(ran->out), NULL, ret_doc, NULL), 0);
    return mcp_json_get(mcp_doc_root(*ret_doc), "servers");
}

static void
programs_get_json_without_secrets(void **state)
{
    const mcp_json *servers, *one;
    struct ran ran;
    mcp_doc *doc;

    (void)state;
    scratch_file(".mcp.json",
                 "{// mine\n\"mcpServers\":{\"one\":{\"url\":"
                 "\"http://h/?key=hush\",\"headers\":{\"X-Key\":\"hush\"}},"
                 "\"two\":{\"command\":\"srv\",\"env\":{\"KEY\":\"hush\"},"
                 "\"disabled\":true,},},}");
    ran = RUN("servers");
    assert_null(strstr(ran.out, "hush"));
    servers = servers_in(&ran, &doc);
    assert_int_equal(mcp_json_count(servers), 1);
    one = mcp_json_find(servers, "name", "one");
    assert_true(mcp_json_is_string(mcp_json_get(one, "target"), "http://h/"));
    assert_true(mcp_json_is_string(mcp_json_get(one, "transport"), "http"));
    assert_true(
        mcp_json_is_string(mcp_json_at(mcp_json_get(one, "headers"), 0), "X-Key"));
    assert_true(
        mcp_json_is_string(mcp_json_get(one, "source"), "Claude Code (project)"));
    mcp_doc_free(doc);
    ran_done(&ran);
}

static void
programs_get_all_of_them(void **state)
{
    const mcp_json *servers, *two;
    struct ran ran;
    mcp_doc *doc;

    (void)state;
    scratch_file(".mcp.json", "{\"mcpServers\":{\"two\":{\"command\":\"srv\",\"env\":"
                              "{\"KEY\":\"hush\"},\"disabled\":true},\"three\":{}}}");
    ran = RUN("servers", "--all", "--json");
    assert_null(strstr(ran.out, "hush"));
    servers = servers_in(&ran, &doc);
    two = mcp_json_find(servers, "name", "two");
    assert_true(mcp_json_bool(mcp_json_get(two, "disabled"), false));
    assert_true(mcp_json_is_string(mcp_json_at(mcp_json_get(two, "env"), 0), "KEY"));
    assert_true(mcp_json_is_string(mcp_json_get(two, "transport"), "stdio"));
    assert_true(mcp_json_is_string(
        mcp_json_get(mcp_json_find(servers, "name", "three"), "fault"),
        "has neither a command nor an address"));
    mcp_doc_free(doc);
    ran_done(&ran);
}

static void
a_name_is_a_target(void **state)
{
    struct ran ran;

    (void)state;
    scratch_file(".mcp.json",
                 "{\"mcpServers\":{\"probe\":{\"command\":\"" PROBE "\"}}}");
    ran = RUN("tools", "probe");
    assert_int_equal(ran.code, 0);
    assert_non_null(strstr(ran.out, "\"echo\""));
    ran_done(&ran);
    ran = RUN("tools", "prob");
    assert_int_equal(ran.code, CLI_OTHER);
    assert_non_null(strstr(ran.err, "did you mean \"probe\"?"));
    ran_done(&ran);
}

TEST_MAIN_AFTER(home_enter, TEST(people_get_a_table),
                TEST(people_get_all_of_them_with_their_files),
                TEST(people_are_told_that_there_is_nothing),
                TEST(what_is_wrong_with_a_file_is_said),
                TEST(programs_get_json_without_secrets), TEST(programs_get_all_of_them),
                TEST(a_name_is_a_target))
