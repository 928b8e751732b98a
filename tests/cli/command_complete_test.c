/* command_complete_test.c - mcpctl complete: what could an argument be? */
#include "cli/do.h"
#include "cli/program.h"
#include "cli/shell_room.h"

static void
of_a_prompt(void **state)
{
    (void)state;
    CHECK_RAN(0, "\"values\":[\"python\"]", NULL, "complete",
              CLI_BIN "/example-prompts", "review", "language", "py");
}

static void
of_a_template(void **state)
{
    (void)state;
    CHECK_RAN(0, "[\"ada\",\"alan\"]", NULL, "complete", CLI_BIN "/example-resources",
              "users://{name}/card", "name", "a");
}

static void
what_is_known_already_is_name_and_value(void **state)
{
    (void)state;
    CHECK_RAN(0, "python", NULL, "complete", CLI_BIN "/example-prompts", "review",
              "language", "p", "--argument", "code=x");
    CHECK_RAN(1, "", "not NAME=VALUE", "complete", CLI_BIN "/example-prompts", "review",
              "language", "p", "--argument", "code");
}

/* Else it would look like two. */
static void
a_value_is_one_line_for_a_person(void **state)
{
    static const char *const values[] = {"one\n\x1b[2Jtwo", NULL};
    static const mcp_prompt_argument arguments[] = {{.name = "line", .values = values},
                                                    {0}};
    char prompt[] = "poem", argument[] = "line";
    struct room room;

    (void)state;
    room_open(&room);
    assert_int_equal(
        mcp_server_add_prompt(
            room.server,
            &MCP_PROMPT(.name = prompt, .arguments = arguments, .reply = room_echo),
            NULL),
        0);
    room_hear(&room);
    (void)cli_do_complete(&room.session, 2, (char *[]){prompt, argument});
    assert_string_equal(room_heard(&room), "one two\n");
    room_close(&room);
}

TEST_MAIN(TEST(of_a_prompt), TEST(of_a_template),
          TEST(what_is_known_already_is_name_and_value),
          TEST(a_value_is_one_line_for_a_person))
