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
a_tool_that_failed_is_5_and_with_json_nothing_more_is_said(void **state)
{
    struct ran ran = RUN("--json", "call", CLI_BIN "/example-asking", "book",
                         "--no-input");

    (void)state;
    assert_int_equal(ran.code, CLI_TOOL_ERROR);
    assert_null(strstr(ran.err, "the tool failed"));
    ran_done(&ran);
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
          TEST(a_tool_that_failed_is_5_and_with_json_nothing_more_is_said),
          TEST(a_tool_that_is_not_there_is_not_called))
