/* severity_test.c - how urgent a log message of the protocol is: the wire's names */
#include "wire/severity.h"

#include <string.h>

#include "support/test.h"

static void
every_name_is_found_again(void **state)
{
    const char *name;

    (void)state;
    for (int i = MCP_SEVERITY_DEBUG; i <= MCP_SEVERITY_EMERGENCY; i++) {
        name = mcpi_severity_name((enum mcp_severity)i);
        assert_true(strlen(name) > 0);
        assert_int_equal(mcpi_severity_find(name, strlen(name)), i);
    }
    assert_string_equal(mcpi_severity_name(MCP_SEVERITY_WARNING), "warning");
}

static void
what_is_no_severity_is_none(void **state)
{
    (void)state;
    assert_int_equal(mcpi_severity_find("", 0), MCP_SEVERITY_NONE);
    assert_int_equal(mcpi_severity_find("Info", 4), MCP_SEVERITY_NONE);
    assert_int_equal(mcpi_severity_find("inf", 3), MCP_SEVERITY_NONE);
    assert_int_equal(mcpi_severity_find("info\0", 5), MCP_SEVERITY_NONE);
    assert_string_equal(mcpi_severity_name(MCP_SEVERITY_NONE), "");
    assert_string_equal(mcpi_severity_name((enum mcp_severity)9), "");
    assert_false(mcpi_severity_is_one(MCP_SEVERITY_NONE));
    assert_false(mcpi_severity_is_one((enum mcp_severity)9));
}

TEST_MAIN(TEST(every_name_is_found_again), TEST(what_is_no_severity_is_none))
