/* dialect_legacy_test.c - 2025-11-25 and before: one handshake, then both sides ask */
#include "core/dialect.h"

#include <string.h>

#include "support/messages.h"
#include "support/world.h"

static void
request_carries_no_stamp(void **state)
{
    struct world w;
    struct outcome plain, watched;
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_plain_call(&w, &plain);
    world_call(&w, CLIENT, &opt, &watched);
    world_run(&w);
    assert_null(strstr(world_sent(&w, CLIENT, 0), "_meta"));
    assert_null(strstr(world_sent(&w, CLIENT, 1), "io.modelcontextprotocol"));
    assert_non_null(
        strstr(world_sent(&w, CLIENT, 1), "\"_meta\":{\"progressToken\":2}"));
    outcome_done(&plain);
    outcome_done(&watched);
    world_close(&w);
}

static void
result_is_what_the_handler_said(void **state)
{
    struct world w;
    struct mcpi_result r;
    struct job *job;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_inject(&w, CLIENT, LEGACY_CALL("5"));
    world_inject(&w, CLIENT, LEGACY_CALL("6"));
    world_run(&w);
    job_finish(&w, &w.jobs[SERVER][0], "{\"content\":[]}");
    job = world_job(&w, SERVER);
    mcpi_result_init(&r, w.engine[SERVER]);
    mcpi_buf_text(&r.body, "{\"content\":[]}");
    mcpi_buf_text(&r.meta, "{\"mine\":1}");
    job->finished = true;
    mcpi_exchange_finish(job->x, &r, w.now);
    world_run(&w);
    assert_string_equal(world_sent(&w, SERVER, 0),
                        "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[]}}");
    assert_string_equal(world_sent(&w, SERVER, 1),
                        "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{\"content\":[],"
                        "\"_meta\":{\"mine\":1}}}");
    world_close(&w);
}

static void
caller_is_who_said_initialize(void **state)
{
    struct world w;
    struct world_options opt = {.client_era = MCPI_ERA_LEGACY,
                                .client_capabilities = "{\"roots\":{}}"};
    const struct mcpi_caller *caller;

    (void)state;
    world_start_with(&w, &opt);
    world_inject(&w, CLIENT, LEGACY_CALL("5"));
    world_run(&w);
    caller = &world_job(&w, SERVER)->x->caller;
    assert_ptr_equal(caller->dialect, &mcpi_dialect_legacy);
    assert_string_equal(caller->version, "2025-11-25");
    assert_true(mcp_json_is_string(mcp_json_get(caller->info, "name"), "test-client"));
    assert_non_null(mcp_json_get(caller->capabilities, "roots"));
    world_close(&w);
}

static void
request_before_initialize_is_refused(void **state)
{
    struct world w;
    struct world_options opt = {.client_era = MCPI_ERA_MANUAL};

    (void)state;
    for (int i = 0; i < 2; i++) {
        opt.server_era = i == 0 ? MCPI_ERA_BOTH : MCPI_ERA_LEGACY;
        world_start_with(&w, &opt);
        world_inject(&w, CLIENT, LEGACY_CALL("5"));
        world_run(&w);
        assert_int_equal(w.job_count[SERVER], 0);
        assert_non_null(strstr(world_sent(&w, SERVER, 0), "\"id\":5,\"error\""));
        assert_non_null(strstr(world_sent(&w, SERVER, 0), "\"code\":-32602"));
        world_close(&w);
    }
}

static void
modern_server_tells_a_legacy_client_what_it_speaks(void **state)
{
    struct world w;
    struct world_options opt = {.client_era = MCPI_ERA_MANUAL,
                                .server_era = MCPI_ERA_MODERN};

    (void)state;
    world_start_with(&w, &opt);
    world_inject(&w, CLIENT, INITIALIZE("1", "2025-11-25"));
    world_inject(&w, CLIENT, LEGACY_CALL("2"));
    world_inject(&w, CLIENT, REQUEST("3", "ping", "{}"));
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 3);
    assert_non_null(strstr(world_sent(&w, SERVER, 0), "\"code\":-32022"));
    assert_non_null(
        strstr(world_sent(&w, SERVER, 0),
               "{\"supported\":[\"2026-07-28\"],\"requested\":\"2025-11-25\"}"));
    assert_non_null(strstr(world_sent(&w, SERVER, 1), "\"code\":-32602"));
    assert_non_null(strstr(world_sent(&w, SERVER, 2), "\"code\":-32602"));
    world_close(&w);
}

static void
legacy_server_does_not_see_the_stamp(void **state)
{
    struct world w;
    struct world_options opt = {.client_era = MCPI_ERA_LEGACY,
                                .server_era = MCPI_ERA_LEGACY};

    (void)state;
    world_start_with(&w, &opt);
    world_inject(&w, CLIENT, MODERN_CALL("5"));
    world_run(&w);
    assert_ptr_equal(world_job(&w, SERVER)->x->caller.dialect, &mcpi_dialect_legacy);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    assert_string_equal(world_sent(&w, SERVER, 0),
                        "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}");
    world_close(&w);
}

static void
requests_of_a_server_reach_the_client_unstamped(void **state)
{
    struct world w;
    struct outcome out;
    struct mcpi_call_options opt = {.method = "roots/list"};

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_call(&w, SERVER, &opt, &out);
    world_run(&w);
    assert_null(strstr(world_sent(&w, SERVER, 0), "_meta"));
    assert_ptr_equal(world_job(&w, CLIENT)->x->caller.dialect, &mcpi_dialect_legacy);
    assert_string_equal(world_job(&w, CLIENT)->x->caller.version, "2025-11-25");
    outcome_done(&out);
    world_close(&w);
}

TEST_MAIN(TEST(request_carries_no_stamp), TEST(result_is_what_the_handler_said),
          TEST(caller_is_who_said_initialize),
          TEST(request_before_initialize_is_refused),
          TEST(modern_server_tells_a_legacy_client_what_it_speaks),
          TEST(legacy_server_does_not_see_the_stamp),
          TEST(requests_of_a_server_reach_the_client_unstamped))
