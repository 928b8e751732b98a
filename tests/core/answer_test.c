/* answer_test.c - answers that are none settle their call all the same */
#include <string.h>

#include "support/world.h"

static void
expect_status(const char *answer, int status)
{
    struct world w;
    struct outcome out;

    world_start(&w, MCPI_ERA_MODERN);
    world_plain_call(&w, &out);
    world_run(&w);
    world_inject(&w, SERVER, answer);
    world_run(&w);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, status);
    assert_int_equal(world_count_sent(&w, CLIENT, "cancelled"), 0);
    outcome_done(&out);
    world_close(&w);
}

static void
a_result_that_is_no_object_ends_its_call(void **state)
{
    (void)state;
    expect_status("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":5}", MCP_E_PROTO);
}

static void
an_error_without_a_code_ends_its_call(void **state)
{
    (void)state;
    expect_status("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", MCP_E_PROTO);
}

static void
result_and_error_together_end_their_call(void **state)
{
    (void)state;
    expect_status("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{\"code\":1}}",
                  MCP_E_PROTO);
}

static void
a_result_type_nobody_knows_is_invalid(void **state)
{
    (void)state;
    expect_status("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"x\"}}",
                  MCP_E_PROTO);
}

static void
a_result_without_a_type_is_complete(void **state)
{
    (void)state;
    expect_status("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 0);
}

TEST_MAIN(TEST(a_result_that_is_no_object_ends_its_call),
          TEST(an_error_without_a_code_ends_its_call),
          TEST(result_and_error_together_end_their_call),
          TEST(a_result_type_nobody_knows_is_invalid),
          TEST(a_result_without_a_type_is_complete))
