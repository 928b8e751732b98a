/* dialect_modern_test.c - 2026-07-28: every request introduces itself */
#include "core/dialect.h"

#include <string.h>

#include "support/messages.h"
#include "support/world.h"

#define REFUSED_VERSION(requested)                                                 \
    REQUEST("5", "tools/call",                                                     \
            "{\"_meta\":{" META_KEY("protocolVersion") ":" requested "," META_KEY( \
                "clientCapabilities") ":{}}}")

static void
request_carries_version_identity_and_capabilities(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {.client_era = MCPI_ERA_MODERN,
                                .client_capabilities = "{\"sampling\":{}}"};
    const char *sent;

    (void)state;
    world_start_with(&w, &opt);
    world_plain_call(&w, &out);
    world_run(&w);
    sent = world_sent(&w, CLIENT, 0);
    assert_non_null(strstr(sent, META_KEY("protocolVersion") ":\"2026-07-28\""));
    assert_non_null(strstr(sent, META_KEY("clientInfo") ":{\"name\":\"test-client\""));
    assert_non_null(strstr(sent, META_KEY("clientCapabilities") ":{\"sampling\":{}}"));
    assert_null(strstr(sent, "progressToken"));
    outcome_done(&out);
    world_close(&w);
}

static void
caller_is_who_the_request_says(void **state)
{
    struct world w;
    const struct mcpi_caller *caller;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY); /* which the caller is not */
    world_inject(
        &w, CLIENT,
        REQUEST("5", "tools/call",
                "{\"_meta\":{" META_KEY("protocolVersion") ":\"2026-07-28\"," //
                META_KEY("clientInfo") ":{\"name\":\"other\"},"               //
                META_KEY("clientCapabilities") ":{\"roots\":{}},"             //
                META_KEY("logLevel") ":\"debug\",\"progressToken\":\"p\"}}"));
    world_run(&w);
    caller = &world_job(&w, SERVER)->x->caller;
    assert_ptr_equal(caller->dialect, &mcpi_dialect_modern);
    assert_string_equal(caller->version, "2026-07-28");
    assert_true(mcp_json_is_string(mcp_json_get(caller->info, "name"), "other"));
    assert_non_null(mcp_json_get(caller->capabilities, "roots"));
    assert_string_equal(caller->log_level, "debug");
    assert_int_equal(caller->progress_token.kind, MCPI_ID_STRING);
    world_close(&w);
}

static void
request_without_client_info_is_admitted(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_inject(&w, CLIENT, MODERN_CALL("5"));
    world_run(&w);
    assert_null(world_job(&w, SERVER)->x->caller.info);
    assert_null(world_job(&w, SERVER)->x->caller.log_level);
    world_close(&w);
}

static void
A12_progress_token_that_is_none_means_no_progress(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_inject(
        &w, CLIENT,
        REQUEST("5", "tools/call",
                "{\"_meta\":{" META_KEY("protocolVersion") ":\"2026-07-28\"," //
                META_KEY("clientCapabilities") ":{},\"progressToken\":true}}"));
    world_run(&w);
    assert_int_equal(
        mcpi_exchange_progress(world_job(&w, SERVER)->x, 1, 1, NULL, w.now), 0);
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    world_close(&w);
}

static void
result_says_its_type_and_who_answers(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_inject(&w, CLIENT, MODERN_CALL("5"));
    world_inject(&w, CLIENT, MODERN_CALL("6"));
    world_run(&w);
    job_finish(&w, &w.jobs[SERVER][0], "{\"content\":[]}");
    job_finish(&w, &w.jobs[SERVER][1], "{}");
    world_run(&w);
    assert_string_equal(
        world_sent(&w, SERVER, 0),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[],\"resultType\":"
        "\"complete\",\"_meta\":{" META_KEY(
            "serverInfo") ":{\"name\":\"test-server\",\"version\":\"1\"}}}}");
    assert_non_null(strstr(world_sent(&w, SERVER, 1), "\"result\":{\"resultType\""));
    world_close(&w);
}

static void
result_keeps_its_own_type_and_meta(void **state)
{
    struct world w;
    struct mcpi_result r;
    struct job *job;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_inject(&w, CLIENT, MODERN_CALL("5"));
    world_run(&w);
    job = world_job(&w, SERVER);
    mcpi_result_init(&r, w.engine[SERVER]);
    r.type = "input_required";
    mcpi_buf_text(&r.body, "{\"inputRequests\":{}}");
    mcpi_buf_text(&r.meta, "{\"mine\":1}");
    job->finished = true;
    mcpi_exchange_finish(job->x, &r, w.now);
    world_run(&w);
    assert_non_null(
        strstr(world_sent(&w, SERVER, 0), "\"resultType\":\"input_required\""));
    assert_non_null(strstr(world_sent(&w, SERVER, 0),
                           "\"_meta\":{\"mine\":1," META_KEY("serverInfo")));
    world_close(&w);
}

static void
modern_server_names_only_its_own_era(void **state)
{
    struct world w;
    struct world_options opt = {.client_era = MCPI_ERA_MODERN,
                                .server_era = MCPI_ERA_MODERN};

    (void)state;
    world_start_with(&w, &opt);
    world_inject(&w, CLIENT, REFUSED_VERSION("\"2025-11-25\""));
    world_run(&w);
    assert_non_null(strstr(world_sent(&w, SERVER, 0),
                           "\"data\":{\"supported\":[\"2026-07-28\"],"
                           "\"requested\":\"2025-11-25\"}"));
    world_close(&w);
}

static void
requested_version_is_echoed_clean_and_cut(void **state)
{
    struct world w;
    char line[1000] = "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"x\",\"params\":{\"_"
                      "meta\":{" META_KEY("clientCapabilities") ":{}," META_KEY(
                          "protocolVersion") ":\"";

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    memset(line + strlen(line), 'v', 300);
    strcat(line, "\"}}}");
    world_inject(&w, CLIENT, line);
    world_inject(&w, CLIENT, REFUSED_VERSION("\"\\\"\\n\\u0001\\ud83d\\ude00\""));
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 2);
    assert_non_null(strstr(world_sent(&w, SERVER, 0), "\"requested\":\"vvvvvvvv"));
    assert_true(strlen(world_sent(&w, SERVER, 0)) < 400);
    assert_non_null(strstr(world_sent(&w, SERVER, 1), "\"code\":-32022"));
    assert_non_null(strstr(world_sent(&w, SERVER, 1), "\"requested\":\"\\\""));
    world_close(&w);
}

TEST_MAIN(TEST(request_carries_version_identity_and_capabilities),
          TEST(caller_is_who_the_request_says),
          TEST(request_without_client_info_is_admitted),
          TEST(A12_progress_token_that_is_none_means_no_progress),
          TEST(result_says_its_type_and_who_answers),
          TEST(result_keeps_its_own_type_and_meta),
          TEST(modern_server_names_only_its_own_era),
          TEST(requested_version_is_echoed_clean_and_cut))
