/* welcome_test.c - how a server receives a client: initialize, server/discover, ping */
#include "core/welcome.h"

#include <stdio.h>
#include <string.h>

#include "support/messages.h"
#include "support/world.h"

/* A server of that era and a client that sends nothing by itself. */
static void
start_raw(struct world *w, enum mcpi_era server)
{
    struct world_options opt = {.client_era = MCPI_ERA_MANUAL,
                                .server_era = server,
                                .instructions = "Say \"please\".\n\xc3\xa4"};

    world_start_with(w, &opt);
}

/* The one answer of the server to a line. */
static const char *
answer(struct world *w, const char *line)
{
    world_forget(w);
    world_inject(w, CLIENT, line);
    world_run(w);
    assert_int_equal(w->sent_count[SERVER], 1);
    return world_sent(w, SERVER, 0);
}

static void
initialize_is_answered_with_the_version_that_was_asked_for(void **state)
{
    static const char *const hellos[][2] = {
        {INITIALIZE("1", "2025-11-25"), "\"protocolVersion\":\"2025-11-25\""},
        {INITIALIZE("1", "2025-06-18"), "\"protocolVersion\":\"2025-06-18\""},
        {INITIALIZE("1", "2025-03-26"), "\"protocolVersion\":\"2025-03-26\""},
        {INITIALIZE("1", "2024-11-05"), "\"protocolVersion\":\"2024-11-05\""},
        {INITIALIZE("1", "1999-01-01"), "\"protocolVersion\":\"2025-11-25\""},
        {INITIALIZE("1", "2026-07-28"), "\"protocolVersion\":\"2025-11-25\""},
        {INITIALIZE("1", ""), "\"protocolVersion\":\"2025-11-25\""},
    };
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(hellos) / sizeof(hellos[0]); i++) {
        start_raw(&w, i % 2 ? MCPI_ERA_BOTH : MCPI_ERA_LEGACY);
        assert_non_null(strstr(answer(&w, hellos[i][0]), hellos[i][1]));
        assert_non_null(
            strstr(answer(&w, REQUEST("2", "ping", "{}")), "\"result\":{}"));
        world_close(&w);
    }
}

static void
initialize_is_answered_with_who_we_are(void **state)
{
    struct world w;

    (void)state;
    start_raw(&w, MCPI_ERA_BOTH);
    assert_string_equal(answer(&w, INITIALIZE("\"i\"", "2025-11-25")),
                        "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"result\":{"
                        "\"protocolVersion\":\"2025-11-25\","
                        "\"capabilities\":{},\"serverInfo\":{\"name\":\"test-server\","
                        "\"version\":\"1\"},"
                        "\"instructions\":\"Say \\\"please\\\".\\n\xc3\xa4\"}}");
    world_close(&w);
}

static void
discover_is_answered_with_what_we_speak(void **state)
{
    struct world w;
    const char *said;

    (void)state;
    start_raw(&w, MCPI_ERA_BOTH);
    said = answer(&w, MODERN_DISCOVER("\"d\""));
    assert_non_null(strstr(said, "\"supportedVersions\":[\"2026-07-28\","));
    assert_non_null(strstr(said, "\"capabilities\":{}"));
    assert_non_null(
        strstr(said, "\"instructions\":\"Say \\\"please\\\".\\n\xc3\xa4\""));
    assert_non_null(strstr(said, "\"ttlMs\":0"));
    assert_non_null(strstr(said, "\"cacheScope\":\"private\""));
    assert_non_null(strstr(said, "\"resultType\":\"complete\""));
    assert_non_null(strstr(said, "serverInfo\":{\"name\":\"test-server\""));
    assert_null(strstr(said, "\"protocolVersion\""));
    world_close(&w);
}

/* The list behind a member, up to its bracket. */
static void
copy_list(char *into, size_t size, const char *text, const char *member)
{
    const char *begin = strstr(text, member);
    const char *end = begin ? strchr(begin, ']') : NULL;

    assert_non_null(end);
    snprintf(into, size, "%.*s", (int)(end - begin - (ptrdiff_t)strlen(member)),
             begin + strlen(member));
}

static void
discover_names_the_versions_that_a_refusal_names(void **state)
{
    static const struct {
        enum mcpi_era era;
        const char *versions;
    } cases[] = {
        {MCPI_ERA_BOTH, "[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\","
                        "\"2025-03-26\",\"2024-11-05\""},
        {MCPI_ERA_MODERN, "[\"2026-07-28\""},
    };
    static const char later[] = REQUEST(
        "2", "server/discover",
        "{\"_meta\":{" META_KEY("protocolVersion") ":\"2099-01-01\"," META_KEY(
            "clientCapabilities") ":{}}}");
    char list[200];
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        start_raw(&w, cases[i].era);
        copy_list(list, sizeof(list), answer(&w, MODERN_DISCOVER("1")),
                  "\"supportedVersions\":");
        assert_string_equal(list, cases[i].versions);
        copy_list(list, sizeof(list), answer(&w, later), "\"supported\":");
        assert_string_equal(list, cases[i].versions);
        world_close(&w);
    }
}

#define SECOND_CLIENT(id, version)                                                     \
    REQUEST(id, "initialize",                                                          \
            "{\"protocolVersion\":\"" version "\",\"capabilities\":{\"sampling\":{}}," \
            "\"clientInfo\":{\"name\":\"second\",\"version\":\"2\"}}")

static const char *
client_name(const struct mcpi_exchange *x)
{
    return mcp_json_string(mcp_json_get(x->caller.info, "name"), "");
}

/* A bridge puts all its clients on one pipe, and each begins with initialize. */
static void
a_second_initialize_is_answered_and_counts_from_then_on(void **state)
{
    const struct mcpi_exchange *x;
    struct world w;

    (void)state;
    start_raw(&w, MCPI_ERA_LEGACY);
    answer(&w, INITIALIZE("1", "2025-03-26"));
    assert_non_null(strstr(answer(&w, SECOND_CLIENT("2", "2025-11-25")),
                           "\"id\":2,\"result\":{\"protocolVersion\":\"2025-11-25\""));
    world_inject(&w, CLIENT, NOTE("notifications/initialized", "{}"));
    world_inject(&w, CLIENT, LEGACY_CALL("3"));
    world_run(&w);
    x = world_job(&w, SERVER)->x;
    assert_string_equal(x->caller.version, "2025-11-25");
    assert_string_equal(client_name(x), "second");
    assert_null(mcp_json_get(x->caller.capabilities, "roots"));
    assert_non_null(mcp_json_get(x->caller.capabilities, "sampling"));
    world_close(&w);
}

static void
a_second_initialize_leaves_what_runs_as_it_is(void **state)
{
    struct world w;
    struct job *job;

    (void)state;
    start_raw(&w, MCPI_ERA_LEGACY);
    answer(&w, INITIALIZE("1", "2025-03-26"));
    world_inject(&w, CLIENT, LEGACY_CALL("2"));
    world_run(&w);
    job = world_job(&w, SERVER);
    answer(&w, SECOND_CLIENT("3", "2025-11-25"));
    assert_int_equal(job->told, 0);
    assert_string_equal(job->x->caller.version, "2025-03-26");
    assert_string_equal(client_name(job->x), "raw");
    assert_non_null(mcp_json_get(job->x->caller.capabilities, "roots"));
    world_forget(&w);
    job_finish(&w, job, "{}");
    world_run(&w);
    assert_non_null(strstr(world_sent(&w, SERVER, 0), "\"id\":2,\"result\""));
    world_close(&w);
}

static void
a_bad_second_initialize_is_refused_and_changes_nothing(void **state)
{
    struct world w;

    (void)state;
    start_raw(&w, MCPI_ERA_LEGACY);
    answer(&w, INITIALIZE("1", "2025-03-26"));
    assert_non_null(strstr(answer(&w, REQUEST("2", "initialize", "{}")),
                           "\"id\":2,\"error\":{\"code\":-32602"));
    world_inject(&w, CLIENT, LEGACY_CALL("3"));
    world_run(&w);
    assert_string_equal(world_job(&w, SERVER)->x->caller.version, "2025-03-26");
    assert_string_equal(client_name(world_job(&w, SERVER)->x), "raw");
    world_close(&w);
}

static void
bad_initialize_is_refused_and_a_good_one_still_works(void **state)
{
    static const char *const bad[] = {
        REQUEST("1", "initialize", "{}"),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}",
        REQUEST("1", "initialize", "{\"protocolVersion\":20251125}"),
        REQUEST("1", "initialize", "{\"protocolVersion\":null}"),
    };
    struct world w;

    (void)state;
    start_raw(&w, MCPI_ERA_BOTH);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_non_null(strstr(answer(&w, bad[i]), "\"error\":{\"code\":-32602"));
    assert_non_null(strstr(answer(&w, LEGACY_CALL("2")), "\"code\":-32602"));
    assert_non_null(strstr(answer(&w, INITIALIZE("3", "2025-11-25")), "\"result\""));
    world_inject(&w, CLIENT, LEGACY_CALL("4"));
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 1);
    world_close(&w);
}

static void
initialize_that_carries_a_stamp_is_still_a_handshake(void **state)
{
    struct world w;

    (void)state;
    start_raw(&w, MCPI_ERA_BOTH);
    assert_non_null(strstr(
        answer(&w,
               REQUEST("1", "initialize",
                       "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                       "\"clientInfo\":{\"name\":\"x\",\"version\":\"1\"}," STAMP "}")),
        "\"protocolVersion\":\"2025-11-25\""));
    assert_true(w.peer[SERVER]->initialized);
    world_close(&w);
}

static void
ping_is_answered_before_the_handshake_and_in_both_directions(void **state)
{
    struct world w;
    struct outcome out;
    struct mcpi_call_options opt = {.method = "ping"};

    (void)state;
    start_raw(&w, MCPI_ERA_LEGACY);
    assert_string_equal(answer(&w, REQUEST("1", "ping", "{}")),
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    answer(&w, INITIALIZE("2", "2025-11-25"));
    world_call(&w, SERVER, &opt, &out);
    world_run(&w);
    assert_int_equal(out.status, 0);
    assert_string_equal(out.result, "{}");
    outcome_done(&out);
    world_close(&w);
}

/* They are methods of one era: in the other they are left to the router. */
static void
each_greeting_belongs_to_its_era(void **state)
{
    struct world w;

    (void)state;
    start_raw(&w, MCPI_ERA_BOTH);
    answer(&w, INITIALIZE("1", "2025-11-25"));
    world_forget(&w);
    world_inject(&w, CLIENT, REQUEST("2", "server/discover", "{}"));
    world_inject(&w, CLIENT, REQUEST("3", "ping", "{" STAMP "}"));
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    assert_int_equal(w.job_count[SERVER], 2);
    world_close(&w);
}

static void
C9_discover_then_initialize_on_one_pipe_are_both_answered(void **state)
{
    struct world w;

    (void)state;
    start_raw(&w, MCPI_ERA_BOTH);
    world_inject(&w, CLIENT, MODERN_DISCOVER("\"d\""));
    world_inject(&w, CLIENT, INITIALIZE("1", "2025-11-25"));
    world_inject(&w, CLIENT, NOTE("notifications/initialized", "{}"));
    world_inject(&w, CLIENT, LEGACY_CALL("2"));
    world_inject(&w, CLIENT, MODERN_CALL("3"));
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 2);
    assert_int_equal(w.job_count[SERVER], 2);
    assert_false(w.jobs[SERVER][0].x->caller.dialect->modern);
    assert_true(w.jobs[SERVER][1].x->caller.dialect->modern);
    world_close(&w);
}

TEST_MAIN(TEST(initialize_is_answered_with_the_version_that_was_asked_for),
          TEST(initialize_is_answered_with_who_we_are),
          TEST(discover_is_answered_with_what_we_speak),
          TEST(discover_names_the_versions_that_a_refusal_names),
          TEST(a_second_initialize_is_answered_and_counts_from_then_on),
          TEST(a_second_initialize_leaves_what_runs_as_it_is),
          TEST(a_bad_second_initialize_is_refused_and_changes_nothing),
          TEST(bad_initialize_is_refused_and_a_good_one_still_works),
          TEST(initialize_that_carries_a_stamp_is_still_a_handshake),
          TEST(ping_is_answered_before_the_handshake_and_in_both_directions),
          TEST(each_greeting_belongs_to_its_era),
          TEST(C9_discover_then_initialize_on_one_pipe_are_both_answered))
