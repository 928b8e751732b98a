/* fault_test.c - what a link says went wrong, in words for the program */
#include "api/fault.h"

#include <string.h>

#include "support/test.h"

static void
a_status_of_http_is_what_the_server_answered(void **state)
{
    const struct mcpi_fault fault = {
        .status = MCP_E_HTTP, .http = 503, .why = "HTTP 503 Service Unavailable"};
    const struct mcpi_fault bare = {.status = MCP_E_HTTP, .http = 418, .why = ""};
    mcp_error err = {0};

    (void)state;
    assert_true(mcpi_fault_describe(&fault, MCP_E_HTTP, NULL, &err));
    assert_string_equal(err.message,
                        "the server answered HTTP 503 Service Unavailable");
    assert_int_equal(err.status, MCP_E_HTTP);
    assert_int_equal(err.http_status, 503);
    assert_true(mcpi_fault_describe(&fault, MCP_E_HTTP, "tools/call", &err));
    assert_string_equal(err.message,
                        "tools/call: the server answered HTTP 503 Service Unavailable");
    assert_true(mcpi_fault_describe(&bare, MCP_E_HTTP, NULL, &err));
    assert_string_equal(err.message, "the server answered HTTP 418");
}

static void
another_sentence_stands_as_it_is(void **state)
{
    const struct mcpi_fault fault = {.status = MCP_E_SEND_FAILED,
                                     .why = "could not connect to example.org"};
    mcp_error err = {.http_status = 7, .rpc_code = 7};

    (void)state;
    assert_true(mcpi_fault_describe(&fault, MCP_E_SEND_FAILED, NULL, &err));
    assert_string_equal(err.message, "could not connect to example.org");
    assert_int_equal(err.http_status, 0);
    assert_int_equal(err.rpc_code, 0);
}

/* A sentence of its own, also if it begins with that word. */
static void
an_answer_that_is_none_is_no_status_of_http(void **state)
{
    const struct mcpi_fault fault = {.status = MCP_E_PROTO,
                                     .why = "HTTP 202 is no answer"};
    mcp_error err = {0};

    (void)state;
    assert_true(mcpi_fault_describe(&fault, MCP_E_PROTO, "tools/call", &err));
    assert_string_equal(err.message, "tools/call: HTTP 202 is no answer");
}

static void
what_ended_it_otherwise_is_not_the_fault(void **state)
{
    const struct mcpi_fault fault = {.status = MCP_E_CLOSED, .why = "it is gone"};
    const struct mcpi_fault mute = {.status = MCP_E_CLOSED};
    mcp_error err = {.message = "as it was"};

    (void)state;
    assert_false(mcpi_fault_describe(NULL, MCP_E_CLOSED, NULL, &err));
    assert_false(mcpi_fault_describe(&fault, MCP_E_TIMEOUT, NULL, &err));
    assert_false(mcpi_fault_describe(&mute, MCP_E_CLOSED, NULL, &err));
    assert_string_equal(err.message, "as it was");
}

TEST_MAIN(TEST(a_status_of_http_is_what_the_server_answered),
          TEST(another_sentence_stands_as_it_is),
          TEST(an_answer_that_is_none_is_no_status_of_http),
          TEST(what_ended_it_otherwise_is_not_the_fault))
