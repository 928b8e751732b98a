/* in_session_test.c - what the commands that open a session share */
#include "cli/do.h"

#include <string.h>

#include "cli/program.h"

static void
a_result_is_JSON_where_no_terminal_is(void **state)
{
    (void)state;
    CHECK_RAN(0, "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]", "", "call", PROBE,
              "echo", "text=x");
}

static void
a_tool_that_failed_is_5_and_with_json_a_line_says_so(void **state)
{
    (void)state;
    CHECK_RAN(CLI_TOOL_ERROR, "\"isError\":true",
              "\n{\"error\":{\"message\":\"the tool failed\"},\"exit\":5}\n", "--json",
              "call", CLI_BIN "/example-asking", "book", "--no-input");
}

static void
a_tool_that_is_not_there_is_not_called(void **state)
{
    struct ran ran = RUN("--trace", "call", PROBE, "ecko", "text=x");

    (void)state;
    assert_null(strstr(ran.err, "tools/call"));
    check_ran(&ran, CLI_OTHER, "", "did you mean echo?");
}

TEST_MAIN(TEST(a_result_is_JSON_where_no_terminal_is),
          TEST(a_tool_that_failed_is_5_and_with_json_a_line_says_so),
          TEST(a_tool_that_is_not_there_is_not_called))
