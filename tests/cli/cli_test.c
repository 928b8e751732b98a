/* cli_test.c - one run of mcpctl: what was said, failures, results on stdout */
#include "cli/cli.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mcp/json.h>

#include "support/test.h"

/* What is written to one of our descriptors between begin and end. */
struct caught {
    int fd, saved, in;
};

static struct caught
catch_begin(int fd)
{
    struct caught caught = {.fd = fd, .saved = dup(fd)};
    int ends[2];

    fflush(NULL);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(dup2(ends[1], fd), fd);
    close(ends[1]);
    caught.in = ends[0];
    return caught;
}

static const char *
catch_end(struct caught *caught)
{
    static char text[8192];
    ssize_t n;

    fflush(NULL);
    assert_int_equal(dup2(caught->saved, caught->fd), caught->fd);
    close(caught->saved);
    n = read(caught->in, text, sizeof(text) - 1);
    close(caught->in);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static struct cli
plain(bool is_json)
{
    struct cli cli = {.json = true};

    cli_say_init(&cli.say, false, false, is_json);
    return cli;
}

static void
a_status_has_its_exit_code(void **state)
{
    (void)state;
    assert_int_equal(cli_exit_of(&(mcp_error){.status = MCP_E_AUTH}), 3);
    assert_int_equal(
        cli_exit_of(&(mcp_error){.status = MCP_E_HTTP, .http_status = 401}), 3);
    assert_int_equal(
        cli_exit_of(&(mcp_error){.status = MCP_E_HTTP, .http_status = 500}), 1);
    assert_int_equal(cli_exit_of(&(mcp_error){.status = MCP_E_CLOSED}), 4);
    assert_int_equal(cli_exit_of(&(mcp_error){.status = MCP_E_SEND_FAILED}), 4);
    assert_int_equal(cli_exit_of(&(mcp_error){.status = MCP_E_CANCELED}), 130);
    assert_int_equal(cli_exit_of(&(mcp_error){.status = MCP_E_PEER}), 1);
    assert_int_equal(cli_exit_of(&(mcp_error){.status = MCP_E_TIMEOUT}), 1);
}

static void
a_failure_is_said_harmlessly(void **state)
{
    struct cli cli = plain(false);
    struct caught caught = catch_begin(STDERR_FILENO);
    int code = cli_fail(&cli, &(mcp_error){.status = MCP_E_PEER,
                                           .rpc_code = -32602,
                                           .message = "no \x1b[31mtool\nhere"});

    (void)state;
    assert_string_equal(catch_end(&caught),
                        "mcpctl: the server says -32602: no tool here\n");
    assert_int_equal(code, CLI_OTHER);
    cli_say_done(&cli.say);
}

/* A message is cut to fit, wherever that is. */
static void
one_that_is_cut_in_a_character_is_still_JSON(void **state)
{
    struct cli cli = plain(true);
    struct caught caught = catch_begin(STDERR_FILENO);
    mcp_doc *doc = NULL;
    const char *line;

    (void)state;
    (void)cli_fail_as(&cli, &(mcp_error){.message = "caf\xC3"}, CLI_UNREACHABLE);
    line = catch_end(&caught);
    assert_int_equal(mcp_doc_parse(line, strlen(line), NULL, &doc, NULL), 0);
    assert_int_equal(mcp_json_int(mcp_json_get(mcp_doc_root(doc), "exit"), 0), 4);
    mcp_doc_free(doc);
    cli_say_done(&cli.say);
}

static void
JSON_is_one_line_where_no_terminal_is(void **state)
{
    struct cli cli = plain(false);
    struct caught caught;
    mcp_doc *doc;

    (void)state;
    assert_int_equal(mcp_doc_parse("{\"a\": [1,\n2]}", 13, NULL, &doc, NULL), 0);
    caught = catch_begin(STDOUT_FILENO);
    (void)cli_print_json(&cli, mcp_doc_root(doc));
    assert_string_equal(catch_end(&caught), "{\"a\":[1,2]}\n");
    cli.out_is_terminal = true;
    caught = catch_begin(STDOUT_FILENO);
    (void)cli_print_json(&cli, mcp_doc_root(doc));
    assert_non_null(strstr(catch_end(&caught), "{\n  \"a\": [\n"));
    mcp_doc_free(doc);
    cli_say_done(&cli.say);
}

static int
init(struct cli *cli, int argc, const char *const *words, int *ret_count)
{
    static char texts[8][64];
    char *argv[8];

    for (int i = 0; i < argc; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "%s", words[i]);
        argv[i] = texts[i];
    }
    return cli_init(cli, argc, argv, ret_count);
}

static void
the_command_is_the_first_word_that_is_no_value_of_an_option(void **state)
{
    struct cli cli;
    int count = 0, code;

    (void)state;
    code = init(&cli, 5,
                (const char *const[]){"--era", "legacy", "--json", "ping", "x"},
                &count);
    assert_int_equal(code, -1);
    assert_string_equal(cli.command->name, "ping");
    assert_int_equal(cli.options.era, MCP_ERA_LEGACY);
    assert_int_equal(count, 1);
    assert_true(cli.json && cli.say.is_json);
    cli_done(&cli);
}

static void
an_option_of_the_command_may_stand_before_it(void **state)
{
    struct cli cli;
    int count = 0, code;

    (void)state;
    code = init(&cli, 4, (const char *const[]){"--count", "3", "ping", "x"}, &count);
    assert_int_equal(code, -1);
    assert_int_equal(cli.options.count, 3);
    cli_done(&cli);
}

TEST_MAIN(TEST(a_status_has_its_exit_code), TEST(a_failure_is_said_harmlessly),
          TEST(one_that_is_cut_in_a_character_is_still_JSON),
          TEST(JSON_is_one_line_where_no_terminal_is),
          TEST(the_command_is_the_first_word_that_is_no_value_of_an_option),
          TEST(an_option_of_the_command_may_stand_before_it))
