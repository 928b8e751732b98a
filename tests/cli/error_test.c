/* cli/error_test.c - proves cli/error.c: errors of our own, in words */
#include "cli/error.h"

#include <string.h>

#include "support/test.h"

static void
an_error_has_a_status_and_words(void **state)
{
    mcp_error err;

    (void)state;
    memset(&err, 0xA5, sizeof(err));
    assert_int_equal(cli_error(&err, MCP_E_INVAL, "%s: %d", "x", 7), MCP_E_INVAL);
    assert_int_equal(err.status, MCP_E_INVAL);
    assert_string_equal(err.message, "x: 7");
    assert_int_equal(err.rpc_code, 0);
    assert_int_equal(err.http_status, 0);
}

static void
who_does_not_want_it_gets_the_status(void **state)
{
    (void)state;
    assert_int_equal(cli_error(NULL, MCP_E_CLOSED, "%s", "x"), MCP_E_CLOSED);
    assert_int_equal(cli_error_of(NULL, MCP_E_NOMEM), MCP_E_NOMEM);
}

static void
a_status_has_words_of_its_own(void **state)
{
    mcp_error err;

    (void)state;
    assert_int_equal(cli_error_of(&err, MCP_E_NOMEM), MCP_E_NOMEM);
    assert_string_equal(err.message, mcp_status_text(MCP_E_NOMEM));
}

static void
what_is_too_long_is_cut(void **state)
{
    mcp_error err;

    (void)state;
    (void)cli_error(&err, MCP_E_INVAL, "%2000d", 1);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

TEST_MAIN(TEST(an_error_has_a_status_and_words),
          TEST(who_does_not_want_it_gets_the_status),
          TEST(a_status_has_words_of_its_own), TEST(what_is_too_long_is_cut))
