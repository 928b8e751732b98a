/* cli/ask_test.c - proves cli/ask.c: who answers a server, or that nobody does */
#include "cli/ask.h"

#include "cli/asking.h"

static void
a_line_is_asked_for(void **state)
{
    struct desk desk;
    char *line;

    (void)state;
    desk_open(&desk);
    desk_type(&desk, "Oslo\n");
    line = cli_ask_line(&desk.cli, "city> ", false, -1);
    assert_string_equal(line, "Oslo");
    assert_has(desk_shown(&desk), "city> ");
    free(line);
    desk_close(&desk);
}

static void
no_line_comes_of_a_stop(void **state)
{
    struct desk desk;
    int fds[2];

    (void)state;
    desk_open(&desk);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], "", 1), 1);
    desk_type(&desk, "Oslo\n");
    assert_null(cli_ask_line(&desk.cli, "city> ", false, fds[0]));
    close(fds[0]);
    close(fds[1]);
    desk_close(&desk);
}

static void
at_a_terminal_all_is_offered(void **state)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.name = "c", .version = "1");
    struct cli cli = {.may_ask = true};

    (void)state;
    cli_ask_offer(&cli, &opt);
    assert_non_null(opt.elicit.run);
    assert_non_null(opt.sample.run);
    assert_true(opt.able & MCP_ABLE_URL);
}

static void
without_a_terminal_a_form_is_declined_and_noted(void **state)
{
    struct asking asking = {.elicit = MCP_ELICIT(.message = "Who\033[2J are you?",
                                                 .schema = "{\"type\":\"object\","
                                                           "\"properties\":{}}")};
    const enum mcp_era *era = *state;

    asking_open(&asking, *era, false);
    desk_hear(&asking.desk);
    asking_gives(&asking, "", "{'action':'decline'}");
    assert_has(desk_heard(&asking.desk), "the server asks: \"Who are you?\"; declined");
    asking_close(&asking);
}

static void
without_a_terminal_no_sampling_is_offered(void **state)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.name = "c", .version = "1");
    struct cli cli = {0};

    (void)state;
    cli_ask_offer(&cli, &opt);
    assert_non_null(opt.elicit.run);
    assert_null(opt.sample.run);
    assert_int_equal(opt.able, 0);
}

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

TEST_MAIN(TEST(a_line_is_asked_for), TEST(no_line_comes_of_a_stop),
          TEST(at_a_terminal_all_is_offered),
          TEST_AS("modern.without_a_terminal_a_form_is_declined_and_noted",
                  without_a_terminal_a_form_is_declined_and_noted, &modern),
          TEST_AS("legacy.without_a_terminal_a_form_is_declined_and_noted",
                  without_a_terminal_a_form_is_declined_and_noted, &legacy),
          TEST(without_a_terminal_no_sampling_is_offered))
