/* negotiate_test.c - which era is agreed on, and what waits meanwhile */
#include "core/negotiate.h"

#include <stdio.h>
#include <string.h>

#include "core/versions.h"
#include "support/messages.h"
#include "support/world.h"

/* ---- the compatibility matrix (2026-07-28 basic/versioning) -------------- */

struct pairing {
    const char *name;
    enum mcpi_era client, server;
    int status;          /* that ready() hears */
    const char *version; /* agreed; NULL: none */
    int answered;        /* status of a plain call then; 0: it works */
};

static struct pairing matrix[] = {
    {"modern_client_modern_server_works", MCPI_ERA_MODERN, MCPI_ERA_MODERN, 0,
     "2026-07-28", 0},
    {"modern_client_dual_era_server_works", MCPI_ERA_MODERN, MCPI_ERA_BOTH, 0,
     "2026-07-28", 0},
    {"modern_client_legacy_server_fails", MCPI_ERA_MODERN, MCPI_ERA_LEGACY, MCP_E_PEER,
     NULL, 0},
    {"dual_era_client_modern_server_works", MCPI_ERA_BOTH, MCPI_ERA_MODERN, 0,
     "2026-07-28", 0},
    {"dual_era_client_dual_era_server_is_modern", MCPI_ERA_BOTH, MCPI_ERA_BOTH, 0,
     "2026-07-28", 0},
    {"dual_era_client_legacy_server_falls_back", MCPI_ERA_BOTH, MCPI_ERA_LEGACY, 0,
     "2025-11-25", 0},
    {"legacy_client_modern_server_fails", MCPI_ERA_LEGACY, MCPI_ERA_MODERN, MCP_E_PEER,
     NULL, 0},
    {"legacy_client_dual_era_server_works", MCPI_ERA_LEGACY, MCPI_ERA_BOTH, 0,
     "2025-11-25", 0},
    {"legacy_client_legacy_server_works", MCPI_ERA_LEGACY, MCPI_ERA_LEGACY, 0,
     "2025-11-25", 0},
    {"manual_client_modern_server_is_refused", MCPI_ERA_MANUAL, MCPI_ERA_MODERN, 0,
     "2025-11-25", MCP_E_PEER},
    {"manual_client_dual_era_server_is_refused", MCPI_ERA_MANUAL, MCPI_ERA_BOTH, 0,
     "2025-11-25", MCP_E_PEER},
    {"manual_client_legacy_server_is_refused", MCPI_ERA_MANUAL, MCPI_ERA_LEGACY, 0,
     "2025-11-25", MCP_E_PEER},
};

static void
check_agreed(struct world *w, const struct pairing *p)
{
    struct outcome out;

    assert_string_equal(w->peer[CLIENT]->version, p->version);
    world_plain_call(w, &out);
    world_run(w);
    if (p->answered == 0) {
        assert_string_equal(world_job(w, SERVER)->x->caller.version, p->version);
        job_finish(w, world_job(w, SERVER), "{}");
        world_run(w);
    }
    assert_int_equal(out.status, p->answered);
    assert_int_equal(out.code, p->answered == 0 ? 0 : -32602);
    outcome_done(&out);
}

static void
compatibility_matrix_row(void **state)
{
    const struct pairing *p = *state;
    struct world_options opt = {.client_era = p->client, .server_era = p->server};
    struct world w;

    assert_int_equal(world_open(&w, &opt), 0);
    assert_int_equal(mcpi_peer_connect(w.peer[CLIENT], w.now), 0);
    world_run(&w);
    assert_int_equal(w.ready_count, 1);
    assert_int_equal(w.ready_status, p->status);
    assert_int_equal(w.closed[CLIENT], p->status != 0);
    if (p->status == 0)
        check_agreed(&w, p);
    assert_int_equal(world_count_sent(&w, CLIENT, "notifications/cancelled"), 0);
    world_close(&w);
}

/* ---- a server by hand ---------------------------------------------------- */

/* A client that has sent its first message to a server that only we answer for. */
static void
start_alone(struct world *w, enum mcpi_era era)
{
    struct world_options opt = {.client_era = era};

    assert_int_equal(world_open(w, &opt), 0);
    assert_int_equal(mcpi_peer_connect(w->peer[CLIENT], w->now), 0);
    while (mcpi_pair_step(w->end[CLIENT], w->now) > 0)
        continue;
    assert_int_equal(w->sent_count[CLIENT], 1);
}

static void
client_runs(struct world *w)
{
    while (mcpi_pair_step(w->end[CLIENT], w->now) > 0)
        continue;
}

static void
client_hears(struct world *w, const char *line)
{
    world_inject(w, SERVER, line);
    client_runs(w);
}

static void
client_waits(struct world *w, int64_t us)
{
    w->now += us;
    mcpi_timers_expire(&w->timers, w->now);
    client_runs(w);
}

#define PROBE_ID "\"libmcp:discover\""
#define HELLO(version)              \
    "{\"protocolVersion\":" version \
    ",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\"}}"

static void
A9_probe_is_stamped_and_has_an_id_of_our_own(void **state)
{
    struct world w;

    (void)state;
    start_alone(&w, MCPI_ERA_BOTH);
    assert_non_null(strstr(world_sent(&w, CLIENT, 0), "\"id\":" PROBE_ID));
    assert_non_null(strstr(world_sent(&w, CLIENT, 0),
                           "\"method\":\"server/discover\",\"params\":{\"_meta\":{"));
    assert_non_null(
        strstr(world_sent(&w, CLIENT, 0), "protocolVersion\":\"2026-07-28\""));
    assert_non_null(
        strstr(world_sent(&w, CLIENT, 0), "clientCapabilities\":{}}}}")); /* no more */
    world_close(&w);
}

/* What a dual-era client does with an answer to its probe. */
struct reply {
    const char *name;
    const char *line;
    const char *next; /* what it sends then; NULL: nothing */
    int status;       /* that ready() hears; 1: nothing yet */
};

#define UNSUPPORTED(data)                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":" PROBE_ID ",\"error\":{\"code\":-32022,\"message\":" \
    "\"Unsupported protocol version\"" data "}}"

static const struct reply probe_replies[] = {
    {"method not found", ERROR(PROBE_ID, "-32601"), "\"initialize\"", 1},
    {"invalid params", ERROR(PROBE_ID, "-32602"), "\"initialize\"", 1},
    {"invalid request", ERROR(PROBE_ID, "-32600"), "\"initialize\"", 1},
    {"code 0", ERROR(PROBE_ID, "0"), "\"initialize\"", 1},
    {"-32000", ERROR(PROBE_ID, "-32000"), "\"initialize\"", 1},
    {"header mismatch", ERROR(PROBE_ID, "-32020"), NULL, 0},
    {"missing capability", ERROR(PROBE_ID, "-32021"), NULL, 0},
    {"unsupported, and we share a modern one",
     UNSUPPORTED(",\"data\":{\"supported\":[\"2099-01-01\",\"2026-07-28\"]}"), NULL, 0},
    {"unsupported, and we share a legacy one",
     UNSUPPORTED(",\"data\":{\"supported\":[\"2025-06-18\"]}"), "\"initialize\"", 1},
    {"unsupported, and we share none",
     UNSUPPORTED(",\"data\":{\"supported\":[\"2099-01-01\"]}"), NULL, MCP_E_PROTO},
    {"unsupported, without a list", UNSUPPORTED(""), NULL, MCP_E_PROTO},
    {"unsupported, the list is no list",
     UNSUPPORTED(",\"data\":{\"supported\":\"2026-07-28\"}"), NULL, MCP_E_PROTO},
    {"result, and we share a modern one",
     RESULT(PROBE_ID, "{\"supportedVersions\":[1,null,\"2026-07-28\"]}"), NULL, 0},
    {"result, and we share a legacy one",
     RESULT(PROBE_ID, "{\"supportedVersions\":[\"2024-11-05\"]}"), "\"initialize\"", 1},
    {"result, and we share none", RESULT(PROBE_ID, "{\"supportedVersions\":[\"x\"]}"),
     NULL, MCP_E_PROTO},
    {"result, the list is empty", RESULT(PROBE_ID, "{\"supportedVersions\":[]}"), NULL,
     MCP_E_PROTO},
    {"result that is no discover result", RESULT(PROBE_ID, "{}"), "\"initialize\"", 1},
    {"result whose list is no list", RESULT(PROBE_ID, "{\"supportedVersions\":17}"),
     "\"initialize\"", 1},
    {"result that is no object", RESULT(PROBE_ID, "true"), "\"initialize\"", 1},
    {"answer to something else", RESULT("\"other\"", "{}"), NULL, 1},
    {"no JSON", "Usage: server [options]", NULL, 1},
    {"a request", REQUEST("1", "ping", "{}"), NULL, 1},
};

static void
probe_is_understood_as_the_stdio_page_says(void **state)
{
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(probe_replies) / sizeof(probe_replies[0]); i++) {
        const struct reply *r = &probe_replies[i];

        start_alone(&w, MCPI_ERA_BOTH);
        client_hears(&w, r->line);
        if (w.ready_status != r->status || w.ready_count != (r->status != 1))
            fail_msg("%s: ready %d", r->name, w.ready_status);
        if (w.sent_count[CLIENT] != (r->next ? 2u : 1u))
            fail_msg("%s: %zu sent", r->name, w.sent_count[CLIENT]);
        if (r->next && !strstr(world_sent(&w, CLIENT, 1), r->next))
            fail_msg("%s: sent %s", r->name, world_sent(&w, CLIENT, 1));
        world_close(&w);
    }
}

/* Whichever way the server lists what it speaks. */
static const char *const old_lists[] = {
    UNSUPPORTED(",\"data\":{\"supported\":[\"2024-11-05\",\"2025-06-18\"]}"),
    RESULT(PROBE_ID, "{\"supportedVersions\":[\"2024-11-05\",\"2025-06-18\"]}"),
};

static void
downgrade_asks_for_the_newest_version_in_the_list(void **state)
{
    struct world w;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start_alone(&w, MCPI_ERA_BOTH);
        client_hears(&w, old_lists[i]);
        assert_non_null(strstr(world_sent(&w, CLIENT, 1), "\"initialize\""));
        assert_non_null(
            strstr(world_sent(&w, CLIENT, 1), "\"protocolVersion\":\"2025-06-18\""));
        client_hears(&w,
                     RESULT("0", HELLO("\"2024-11-05\""))); /* another one of ours */
        assert_int_equal(w.ready_status, 0);
        assert_string_equal(w.peer[CLIENT]->version, "2024-11-05");
        assert_false(w.peer[CLIENT]->dialect->modern);
        world_close(&w);
    }
}

static void
downgrade_to_a_version_that_we_do_not_speak_fails(void **state)
{
    struct world w;

    (void)state;
    start_alone(&w, MCPI_ERA_BOTH);
    client_hears(&w, old_lists[0]);
    client_hears(&w, RESULT("0", HELLO("\"2023-01-01\"")));
    assert_int_equal(w.ready_status, MCP_E_PROTO);
    assert_int_equal(w.closed[CLIENT], 1);
    world_close(&w);
}

static void
refusal_with_a_modern_version_of_ours_is_agreed_on_without_another_question(
    void **state)
{
    struct outcome out;
    struct world w;

    (void)state;
    start_alone(&w, MCPI_ERA_BOTH);
    client_hears(&w, UNSUPPORTED(",\"data\":{\"supported\":[\"2025-11-25\","
                                 "\"2026-07-28\"]}"));
    assert_int_equal(w.ready_status, 0);
    assert_string_equal(w.peer[CLIENT]->version, "2026-07-28");
    world_plain_call(&w, &out);
    client_runs(&w);
    assert_non_null(
        strstr(world_sent(&w, CLIENT, 1), "protocolVersion\":\"2026-07-28\""));
    outcome_done(&out);
    world_close(&w);
}

static void
modern_client_is_not_downgraded(void **state)
{
    struct world w;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start_alone(&w, MCPI_ERA_MODERN);
        client_hears(&w, old_lists[i]);
        assert_int_equal(w.ready_status, MCP_E_PROTO);
        assert_int_equal(w.sent_count[CLIENT], 1);
        world_close(&w);
    }
}

static void
modern_client_never_falls_back(void **state)
{
    struct world w;

    (void)state;
    start_alone(&w, MCPI_ERA_MODERN);
    client_hears(&w, ERROR(PROBE_ID, "-32601"));
    assert_int_equal(w.ready_status, MCP_E_PEER);
    assert_int_equal(w.sent_count[CLIENT], 1);
    world_close(&w);
    start_alone(&w, MCPI_ERA_MODERN);
    client_waits(&w, 10 * SECOND);
    assert_int_equal(w.ready_status, MCP_E_TIMEOUT);
    assert_int_equal(w.sent_count[CLIENT], 1);
    world_close(&w);
}

static void
B17_silent_probe_leads_to_initialize_after_ten_seconds_and_no_frame(void **state)
{
    struct world w;

    (void)state;
    start_alone(&w, MCPI_ERA_BOTH);
    client_waits(&w, 10 * SECOND - 1);
    assert_int_equal(w.sent_count[CLIENT], 1);
    client_waits(&w, 1);
    assert_int_equal(w.sent_count[CLIENT], 2);
    assert_non_null(strstr(world_sent(&w, CLIENT, 1), "\"method\":\"initialize\""));
    client_hears(&w, RESULT(PROBE_ID, "{\"supportedVersions\":[\"2026-07-28\"]}"));
    assert_int_equal(w.ready_count, 0); /* too late: legacy is under way */
    client_hears(&w, RESULT("0", HELLO("\"2025-11-25\"")));
    assert_int_equal(w.ready_status, 0);
    assert_string_equal(w.peer[CLIENT]->version, "2025-11-25");
    world_close(&w);
}

/* ---- initialize ---------------------------------------------------------- */

static void
initialized_follows_the_answer_and_precedes_what_waited(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    start_alone(&w, MCPI_ERA_LEGACY);
    world_plain_call(&w, &out);
    client_hears(&w, RESULT("0", HELLO("\"2025-11-25\"")));
    assert_int_equal(w.sent_count[CLIENT], 3);
    assert_non_null(strstr(world_sent(&w, CLIENT, 1), "notifications/initialized"));
    assert_non_null(strstr(world_sent(&w, CLIENT, 2), "tools/call"));
    outcome_done(&out);
    world_close(&w);
}

static void
older_legacy_versions_are_agreed_on(void **state)
{
    static const char *const answers[][2] = {
        {"2025-06-18", RESULT("0", HELLO("\"2025-06-18\""))},
        {"2025-03-26", RESULT("0", HELLO("\"2025-03-26\""))},
        {"2024-11-05", RESULT("0", HELLO("\"2024-11-05\""))},
    };
    struct world w;

    (void)state;
    for (int i = 0; i < 3; i++) {
        start_alone(&w, MCPI_ERA_LEGACY);
        assert_non_null(strstr(world_sent(&w, CLIENT, 0), "2025-11-25"));
        client_hears(&w, answers[i][1]);
        assert_int_equal(w.ready_status, 0);
        assert_string_equal(w.peer[CLIENT]->version, answers[i][0]);
        world_close(&w);
    }
}

static void
B16_bad_answer_to_initialize_fails_and_says_nothing_more(void **state)
{
    static const struct reply replies[] = {
        {"unknown version", RESULT("0", HELLO("\"1999-01-01\"")), NULL, MCP_E_PROTO},
        {"modern version", RESULT("0", HELLO("\"2026-07-28\"")), NULL, MCP_E_PROTO},
        {"version a number", RESULT("0", HELLO("20251125")), NULL, MCP_E_PROTO},
        {"no version", RESULT("0", "{}"), NULL, MCP_E_PROTO},
        {"error", ERROR("0", "-32602"), NULL, MCP_E_PEER},
        {"modern error", ERROR("0", "-32022"), NULL, MCP_E_PEER},
    };
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        start_alone(&w, MCPI_ERA_LEGACY);
        client_hears(&w, replies[i].line);
        if (w.ready_status != replies[i].status || w.ready_count != 1)
            fail_msg("%s: ready %d", replies[i].name, w.ready_status);
        assert_int_equal(w.sent_count[CLIENT], 1);
        assert_int_equal(w.closed[CLIENT], 1);
        world_close(&w);
    }
}

static void
ping_of_a_server_that_has_not_answered_initialize_is_answered(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    start_alone(&w, MCPI_ERA_LEGACY);
    world_plain_call(&w, &out);
    client_hears(&w, REQUEST("\"p\"", "ping", "{}"));
    assert_int_equal(w.sent_count[CLIENT], 2); /* and the call still waits */
    assert_non_null(strstr(world_sent(&w, CLIENT, 1), "\"id\":\"p\",\"result\""));
    client_hears(&w, RESULT("0", HELLO("\"2025-11-25\"")));
    assert_int_equal(w.ready_status, 0);
    assert_int_equal(world_count_sent(&w, CLIENT, "tools/call"), 1);
    outcome_done(&out);
    world_close(&w);
}

static void
B16_silent_initialize_times_out_without_a_frame(void **state)
{
    struct world w;

    (void)state;
    start_alone(&w, MCPI_ERA_LEGACY);
    client_waits(&w, 60 * SECOND - 1);
    assert_int_equal(w.ready_count, 0);
    client_waits(&w, 1);
    assert_int_equal(w.ready_status, MCP_E_TIMEOUT);
    assert_int_equal(w.closed[CLIENT], 1);
    assert_int_equal(w.sent_count[CLIENT], 1);
    world_close(&w);
}

/* ---- what waits meanwhile ------------------------------------------------ */

static void
calls_wait_for_the_negotiation_and_go_out_in_order(void **state)
{
    struct world w;
    struct outcome a, b;
    struct mcpi_call_options first = {.method = "tools/list"},
                             second = {.method = "x/y"};

    (void)state;
    start_alone(&w, MCPI_ERA_BOTH);
    world_call(&w, CLIENT, &first, &a);
    world_call(&w, CLIENT, &second, &b);
    client_runs(&w);
    assert_int_equal(w.sent_count[CLIENT], 1);
    world_run(&w);
    assert_int_equal(w.sent_count[CLIENT], 3);
    assert_non_null(strstr(world_sent(&w, CLIENT, 1), "tools/list"));
    assert_non_null(strstr(world_sent(&w, CLIENT, 2), "x/y"));
    outcome_done(&a);
    outcome_done(&b);
    world_close(&w);
}

static void
calls_started_before_connect_go_out_after_it(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    assert_int_equal(world_open(&w, NULL), 0);
    world_plain_call(&w, &out);
    world_run(&w);
    assert_int_equal(w.sent_count[CLIENT], 0);
    assert_int_equal(mcpi_peer_connect(w.peer[CLIENT], w.now), 0);
    world_run(&w);
    assert_int_equal(w.sent_count[CLIENT], 2);
    assert_non_null(strstr(world_sent(&w, CLIENT, 0), "server/discover"));
    assert_non_null(strstr(world_sent(&w, CLIENT, 1), "tools/call"));
    outcome_done(&out);
    world_close(&w);
}

static void
I2_clock_of_a_waiting_call_runs(void **state)
{
    struct world w;
    struct outcome out;
    struct mcpi_call_options opt = {.timeout_us = 2 * SECOND};

    (void)state;
    start_alone(&w, MCPI_ERA_BOTH);
    world_call(&w, CLIENT, &opt, &out);
    client_waits(&w, 2 * SECOND);
    assert_int_equal(out.status, MCP_E_TIMEOUT);
    assert_int_equal(w.ready_count, 0);
    world_run(&w);
    assert_int_equal(w.ready_status, 0);
    assert_int_equal(w.sent_count[CLIENT], 1); /* the probe, nothing else */
    outcome_done(&out);
    world_close(&w);
}

static void
B5_B7_canceled_call_that_waited_leaves_no_trace(void **state)
{
    struct world w;
    struct outcome out, kept;

    (void)state;
    start_alone(&w, MCPI_ERA_BOTH);
    world_plain_call(&w, &out);
    world_plain_call(&w, &kept);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, w.now), 0);
    assert_int_equal(out.status, MCP_E_CANCELED);
    world_run(&w);
    assert_int_equal(w.sent_count[CLIENT], 2);
    assert_int_equal(world_count_sent(&w, CLIENT, "tools/call"), 1);
    assert_int_equal(w.job_count[SERVER], 1);
    outcome_done(&out);
    outcome_done(&kept);
    world_close(&w);
}

static void
failed_negotiation_ends_the_calls_that_wait(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    start_alone(&w, MCPI_ERA_MODERN);
    world_plain_call(&w, &out);
    client_hears(&w, ERROR(PROBE_ID, "-32601"));
    assert_int_equal(w.ready_status, MCP_E_PEER);
    assert_int_equal(out.status, MCP_E_CLOSED);
    assert_int_equal(out.done, 1);
    assert_int_equal(w.sent_count[CLIENT], 1);
    outcome_done(&out);
    world_close(&w);
}

static void
B16_B17_closing_while_negotiating_is_told_and_sends_nothing(void **state)
{
    struct world w;
    struct outcome out;

    start_alone(&w, *(enum mcpi_era *)*state);
    world_plain_call(&w, &out);
    assert_int_equal(mcpi_peer_notify(w.peer[CLIENT],
                                      "notifications/roots/list_changed", NULL, 0,
                                      w.now),
                     0);
    mcpi_peer_close(w.peer[CLIENT], w.now);
    client_runs(&w);
    assert_int_equal(w.ready_count, 1);
    assert_int_equal(w.ready_status, MCP_E_CLOSED);
    assert_int_equal(out.status, MCP_E_CLOSED);
    assert_int_equal(w.closed[CLIENT], 1);
    assert_int_equal(w.sent_count[CLIENT], 1);
    outcome_done(&out);
    world_close(&w);
}

static void
losing_the_server_while_negotiating_is_told_once(void **state)
{
    struct world w;
    struct outcome out;

    start_alone(&w, *(enum mcpi_era *)*state);
    world_plain_call(&w, &out);
    world_cut(&w, SERVER);
    world_run(&w);
    assert_int_equal(w.ready_count, 1);
    assert_int_equal(w.ready_status, MCP_E_CLOSED);
    assert_int_equal(out.status, MCP_E_CLOSED);
    assert_int_equal(w.closed[CLIENT], 1);
    outcome_done(&out);
    world_close(&w);
}

/* Adopt what a server said earlier, and return the status. */
static int
adopt(struct world *w, enum mcpi_era era, const char *text)
{
    struct world_options opt = {.client_era = era};
    mcp_doc *doc;
    int r;

    assert_int_equal(world_open(w, &opt), 0);
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    r = mcpi_peer_adopt(w->peer[CLIENT], mcp_doc_root(doc), w->now);
    mcp_doc_free(doc);
    return r;
}

static void
a_stored_discovery_is_ready_at_once(void **state)
{
    struct outcome out;
    struct world w;

    (void)state;
    assert_int_equal(
        adopt(&w, MCPI_ERA_BOTH, "{\"supportedVersions\":[\"2026-07-28\"]}"), 0);
    assert_int_equal(w.ready_status, 0);
    assert_int_equal(w.sent_count[CLIENT], 0);
    world_plain_call(&w, &out);
    world_run(&w);
    assert_string_equal(world_job(&w, SERVER)->x->caller.version, "2026-07-28");
    assert_int_equal(w.sent_count[CLIENT], 1);
    assert_int_equal(mcpi_peer_adopt(w.peer[CLIENT], NULL, w.now), MCP_E_STATE);
    outcome_done(&out);
    world_close(&w);
}

static void
a_discovery_without_a_common_version_is_refused(void **state)
{
    struct world w;

    (void)state;
    assert_int_equal(
        adopt(&w, MCPI_ERA_BOTH, "{\"supportedVersions\":[\"2099-01-01\"]}"),
        MCP_E_PROTO);
    world_close(&w);
    assert_int_equal(adopt(&w, MCPI_ERA_BOTH, "[]"), MCP_E_PROTO);
    world_close(&w);
    assert_int_equal(
        adopt(&w, MCPI_ERA_LEGACY, "{\"supportedVersions\":[\"2026-07-28\"]}"),
        MCP_E_PROTO);
    world_close(&w);
}

static void
only_a_fresh_client_connects(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_BOTH);
    assert_int_equal(mcpi_peer_connect(w.peer[CLIENT], w.now), MCP_E_STATE);
    assert_int_equal(mcpi_peer_connect(w.peer[SERVER], w.now), MCP_E_STATE);
    assert_int_equal(w.ready_count, 1);
    world_close(&w);
}

/* ---- a link where requests have streams of their own --------------------- */

struct apart { /* a client alone, on such a link */
    struct test_mem mem;
    struct mcpi_timers timers;
    struct mcpi_engine *engine;
    struct mcpi_peer *peer;
    int hangups;
    int64_t hangup_after;
    int ready_count, ready_status;
};

static void
apart_wake(struct mcpi_outlet *outlet)
{
    (void)outlet;
}

static void
apart_hangup(struct mcpi_peer *peer, struct mcpi_leg *leg, int64_t after)
{
    struct apart *a = mcpi_peer_link(peer);

    (void)leg;
    a->hangups++;
    a->hangup_after = after;
}

static void
apart_close(struct mcpi_peer *peer, enum mcpi_closing how)
{
    (void)peer;
    (void)how;
}

static void
apart_ready(void *user, struct mcpi_peer *peer, int status,
            const struct mcpi_rpc *reply)
{
    struct apart *a = user;

    (void)peer;
    (void)reply;
    a->ready_count++;
    a->ready_status = status;
}

static void
apart_open(struct apart *a)
{
    static const struct mcpi_link_ops ops = {
        .wake = apart_wake, .hangup = apart_hangup, .close = apart_close};
    static const struct mcpi_router router = {.ready = apart_ready};
    struct mcpi_engine_options opt = {.identity = {.info = "{\"name\":\"c\"}"},
                                      .router = &router};

    memset(a, 0, sizeof(*a));
    test_mem_init(&a->mem);
    mcpi_timers_init(&a->timers);
    opt.mem = &a->mem.allocator;
    opt.timers = &a->timers;
    opt.router_user = a;
    assert_int_equal(mcpi_engine_new(&opt, &a->engine), 0);
    assert_int_equal(mcpi_peer_new(a->engine, &ops, 0, a, &a->peer), 0);
}

static void
apart_take(struct apart *a)
{
    struct mcpi_buf buf;
    struct mcpi_out *out;

    mcpi_buf_init(&buf, &a->mem.allocator, 1 << 16);
    assert_non_null(mcpi_buf_reserve(&buf, MCPI_FRAME_MAX));
    out = mcpi_outlet_take(mcpi_peer_outlet(a->peer), &buf, 0);
    assert_non_null(out);
    mcpi_out_done(out, 0, 0);
    mcpi_buf_done(&buf);
}

static void
B17_B18_silent_probe_fails_and_is_hung_up_where_requests_have_streams(void **state)
{
    struct apart a;

    (void)state;
    apart_open(&a);
    assert_int_equal(mcpi_peer_connect(a.peer, 0), 0);
    apart_take(&a);
    mcpi_timers_expire(&a.timers, 10 * SECOND);
    assert_int_equal(a.ready_count, 1);
    assert_int_equal(a.ready_status, MCP_E_TIMEOUT);
    assert_int_equal(a.hangups, 1);
    assert_int_equal(a.hangup_after, 0);
    assert_true(mcpi_outlet_is_empty(mcpi_peer_outlet(a.peer))); /* no initialize */
    mcpi_peer_free(a.peer);
    assert_int_equal(mcpi_engine_free(a.engine), 0);
    test_mem_done(&a.mem);
}

static enum mcpi_era both = MCPI_ERA_BOTH, legacy = MCPI_ERA_LEGACY;

/* clang-format off */
#define WITH_EITHER_REQUEST(function) \
    TEST_AS("discover." #function, function, &both), \
    TEST_AS("initialize." #function, function, &legacy)

static const struct test_case cases[] = {
    TEST(A9_probe_is_stamped_and_has_an_id_of_our_own),
    TEST(probe_is_understood_as_the_stdio_page_says),
    TEST(downgrade_asks_for_the_newest_version_in_the_list),
    TEST(downgrade_to_a_version_that_we_do_not_speak_fails),
    TEST(refusal_with_a_modern_version_of_ours_is_agreed_on_without_another_question),
    TEST(modern_client_is_not_downgraded),
    TEST(modern_client_never_falls_back),
    TEST(B17_silent_probe_leads_to_initialize_after_ten_seconds_and_no_frame),
    TEST(initialized_follows_the_answer_and_precedes_what_waited),
    TEST(older_legacy_versions_are_agreed_on),
    TEST(B16_bad_answer_to_initialize_fails_and_says_nothing_more),
    TEST(ping_of_a_server_that_has_not_answered_initialize_is_answered),
    TEST(B16_silent_initialize_times_out_without_a_frame),
    TEST(calls_wait_for_the_negotiation_and_go_out_in_order),
    TEST(calls_started_before_connect_go_out_after_it),
    TEST(I2_clock_of_a_waiting_call_runs),
    TEST(B5_B7_canceled_call_that_waited_leaves_no_trace),
    TEST(failed_negotiation_ends_the_calls_that_wait),
    WITH_EITHER_REQUEST(B16_B17_closing_while_negotiating_is_told_and_sends_nothing),
    WITH_EITHER_REQUEST(losing_the_server_while_negotiating_is_told_once),
    TEST(a_stored_discovery_is_ready_at_once),
    TEST(a_discovery_without_a_common_version_is_refused),
    TEST(only_a_fresh_client_connects),
    TEST(B17_B18_silent_probe_fails_and_is_hung_up_where_requests_have_streams),
};
/* clang-format on */

int
main(void)
{
    enum {
        ROWS = sizeof(matrix) / sizeof(matrix[0]),
        CASES = sizeof(cases) / sizeof(*cases)
    };
    struct test_case all[ROWS + CASES];

    for (size_t i = 0; i < ROWS; i++)
        all[i] = (struct test_case){matrix[i].name, compatibility_matrix_row,
                                    &matrix[i]};
    memcpy(all + ROWS, cases, sizeof(cases));
    return test_main(__FILE__, all, ROWS + CASES);
}
