/* lists_test.c - a list of the server's: as JSON, or as a table */
#include "cli/lists.h"

#include <signal.h>
#include <string.h>

#include "cli/program.h"

static void
a_list_is_the_whole_result(void **state)
{
    (void)state;
    CHECK_RAN(0, "{\"resources\":[{", "", "resources", PROBE);
}

static void
one_that_the_server_does_not_have_is_an_error_of_its_own(void **state)
{
    (void)state;
    CHECK_RAN(1, "", "the server says -32601", "prompts", PROBE);
}

static void
Ctrl_C_ends_the_wait_for_one(void **state)
{
    static const char script[] =
        "sh -c 'read a; echo "
        "\"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":0,\\\"result\\\":"
        "{\\\"protocolVersion\\\":\\\"2025-11-25\\\",\\\"capabilities\\\":{"
        "\\\"tools\\\":{}},"
        "\\\"serverInfo\\\":{\\\"name\\\":\\\"x\\\",\\\"version\\\":\\\"1\\\"}}}\"; "
        "while read a; do case \"$a\" in *ping*) echo \"{\\\"jsonrpc\\\":\\\"2.0\\\","
        "\\\"id\\\":2,\\\"result\\\":{}}\";; esac; done'";
    const char *const words[] = {"--trace", "--era", "legacy", "tools", script, NULL};
    struct running running = start_mcpctl(words, NULL);
    struct ran ran;

    (void)state;
    (void)running_until(running.err, "\"method\":\"tools/list\"");
    assert_int_equal(kill(running.pid, SIGINT), 0);
    ran = running_end(&running);
    assert_non_null(strstr(ran.err, "\"method\":\"notifications/cancelled\""));
    check_ran(&ran, CLI_CANCELED, "", "canceled tools/list");
}

TEST_MAIN(TEST(a_list_is_the_whole_result),
          TEST(one_that_the_server_does_not_have_is_an_error_of_its_own),
          TEST(Ctrl_C_ends_the_wait_for_one))
