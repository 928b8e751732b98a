/* logging_test.c - log messages for clients: who wants which, and sending them */
#include "api/raw_client.h"
#include "api/visit.h"

#define LEVEL(name) "\"io.modelcontextprotocol/logLevel\":\"" name "\""

static void
expect_exact(struct raw *raw, const char *line)
{
    assert_string_equal(raw_line(raw), line);
}

/* Call a tool; level and token NULL: not in _meta. A legacy client has set its level. */
static void
call_at(struct raw *raw, const char *id, const char *name, const char *level,
        const char *token)
{
    char line[1024];

    snprintf(line, sizeof(line),
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":"
             "{\"name\":\"%s\",\"_meta\":{\"x\":1%s%s%s%s%s%s%s}}}",
             id, name, raw->modern ? "," RAW_STAMP : "",
             raw->modern && level ? ",\"io.modelcontextprotocol/logLevel\":\"" : "",
             raw->modern && level ? level : "", raw->modern && level ? "\"" : "",
             token ? ",\"progressToken\":" : "", token ? token : "", "");
    raw_send(raw, line);
}

static void
set_level(struct raw *raw, const char *level)
{
    char more[64];

    snprintf(more, sizeof(more), ",\"level\":\"%s\"", level);
    raw_ask(raw, "\"level\"", "logging/setLevel", more);
}

/* In the way of its era: the calls of id 1 want messages from that level on. */
static void
call_wanting(struct raw *raw, const char *name, const char *level, const char *token)
{
    if (!raw->modern) {
        set_level(raw, level);
        expect_exact(raw, RESULT("\"level\"", "{}"));
    }
    call_at(raw, "1", name, level, token);
}

#define MESSAGE(params) NOTE("notifications/message", params)

/* ---- a handler that says something --------------------------------------- */

struct talker {
    int statuses[16];
    bool wants_debug, wants_error;
    struct gate gate;
    atomic_int said;
};

static int
talk(mcp_request *req, mcp_result *out, void *user)
{
    struct talker *t = user;
    int *at = t->statuses;

    t->wants_debug = mcp_request_logs(req, MCP_SEVERITY_DEBUG);
    t->wants_error = mcp_request_logs(req, MCP_SEVERITY_ERROR);
    *at++ = mcp_request_log(req, MCP_SEVERITY_DEBUG, NULL, "detail %d", 1);
    *at++ = mcp_request_progress(req, 1, 0, NULL);
    *at++ = mcp_request_log(req, MCP_SEVERITY_WARNING, "disk", "%s \"full\"",
                            "h\xc3\xa4");
    *at++ = mcp_request_progress(req, 2, 0, NULL);
    *at++ = mcp_request_log_json(req, MCP_SEVERITY_EMERGENCY, NULL,
                                 "{ \"a\": [1,\n2] }", strlen("{ \"a\": [1,\n2] }"));
    return mcp_result_text(out, "talked");
}

static void
assert_all_went(const struct talker *t)
{
    for (int i = 0; i < 5; i++)
        assert_int_equal(t->statuses[i], 0);
}

static void
expect_talk(struct raw *raw, bool debug, bool progress)
{
    if (debug)
        expect_exact(raw, MESSAGE("{\"level\":\"debug\",\"data\":\"detail 1\"}"));
    if (progress)
        raw_expect(raw, "\"progress\":1.0");
    expect_exact(raw, MESSAGE("{\"level\":\"warning\",\"logger\":\"disk\",\"data\":"
                              "\"h\xc3\xa4 \\\"full\\\"\"}"));
    if (progress)
        raw_expect(raw, "\"progress\":2.0");
    expect_exact(raw, MESSAGE("{\"level\":\"emergency\",\"data\":{\"a\":[1,2]}}"));
    raw_expect(raw, "talked");
}

static void
messages_come_in_order_with_progress_before_the_answer(void **state)
{
    struct talker on_loop = {.said = 0}, on_worker = {.said = 0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "reply", .reply = talk, .user = &on_loop));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = talk, .user = &on_worker));
    raw_start(&raw, RAW_MODERN);
    call_wanting(&raw, "reply", "debug", "7");
    expect_talk(&raw, true, true);
    call_wanting(&raw, "run", "debug", "7");
    expect_talk(&raw, true, true);
    assert_all_went(&on_loop);
    assert_all_went(&on_worker);
    assert_true(on_loop.wants_debug && on_worker.wants_debug);
    raw_done(&raw);
}

static void
what_is_less_severe_is_not_sent(void **state)
{
    struct talker t = {.said = 0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = talk, .user = &t));
    raw_start(&raw, RAW_MODERN);
    call_wanting(&raw, "run", "warning", NULL);
    expect_talk(&raw, false, false);
    assert_all_went(&t); /* the same, whoever listens */
    assert_false(t.wants_debug);
    assert_true(t.wants_error);
    raw_done(&raw);
}

/* ---- 2026-07-28 ---------------------------------------------------------- */

static void
a_request_that_names_no_level_gets_no_messages(void **state)
{
    struct talker t = {.said = 0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = talk, .user = &t));
    raw_start(&raw, true);
    call_at(&raw, "1", "run", "emergency", NULL);
    raw_expect(&raw, "\"level\":\"emergency\"");
    raw_expect(&raw, "talked");
    call_at(&raw, "2", "run", NULL, NULL); /* another request, another wish */
    raw_expect(&raw, "talked");
    assert_all_went(&t);
    assert_false(t.wants_error);
    raw_done(&raw);
}

static void
a_level_that_is_none_refuses_its_request(void **state)
{
    struct talker t = {.said = 0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = talk, .user = &t));
    raw_start(&raw, true);
    call_at(&raw, "1", "run", "loud", NULL);
    raw_expect(&raw, "\"id\":1,\"error\":{\"code\":-32602");
    call_at(&raw, "2", "run", "", NULL);
    raw_expect(&raw, "\"id\":2,\"error\":{\"code\":-32602");
    set_level(&raw, "info"); /* of the other era */
    raw_expect(&raw, "\"error\":{\"code\":-32601");
    raw_done(&raw);
}

/* ---- 2025-11-25 ---------------------------------------------------------- */

static void
a_session_hears_of_info_until_it_says_otherwise(void **state)
{
    struct talker t = {.said = 0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = talk, .user = &t));
    raw_start(&raw, false);
    call_at(&raw, "1", "run", NULL, NULL);
    expect_talk(&raw, false, false);
    set_level(&raw, "loud");
    raw_expect(&raw, "\"error\":{\"code\":-32602");
    raw_ask(&raw, "1", "logging/setLevel", "");
    raw_expect(&raw, "\"error\":{\"code\":-32602");
    raw_ask(&raw, "1", "logging/setLevel", ",\"level\":7");
    raw_expect(&raw, "\"error\":{\"code\":-32602");
    call_at(&raw, "1", "run", NULL, NULL); /* all as it was */
    expect_talk(&raw, false, false);
    raw_done(&raw);
}

static int
talk_late(mcp_request *req, mcp_result *out, void *user)
{
    struct talker *t = user;

    t->wants_debug = mcp_request_logs(req, MCP_SEVERITY_DEBUG);
    gate_pass(&t->gate);
    return talk(req, out, user);
}

static void
a_new_level_holds_for_requests_that_run(void **state)
{
    struct talker t = {.said = 0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "late", .run = talk_late, .user = &t));
    raw_start(&raw, false);
    call_at(&raw, "1", "late", NULL, NULL);
    RAW_UNTIL(atomic_load(&t.gate.entered) == 1);
    assert_false(t.wants_debug);
    set_level(&raw, "debug");
    expect_exact(&raw, RESULT("\"level\"", "{}"));
    atomic_store(&t.gate.open, true);
    expect_talk(&raw, true, false);
    assert_true(t.wants_debug);
    raw_done(&raw);
}

/* ---- off ----------------------------------------------------------------- */

static void
a_server_without_logging_sends_nothing(void **state)
{
    struct talker t = {.said = 0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.no_logging = true));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = talk, .user = &t));
    raw_start(&raw, RAW_MODERN);
    set_level(&raw, "debug");
    raw_expect(&raw, "\"error\":{\"code\":-32601,\"message\":\"Method not found: "
                     "logging/setLevel\"");
    call_at(&raw, "1", "run", "debug", NULL);
    raw_expect(&raw, "talked");
    assert_all_went(&t);
    assert_false(t.wants_error);
    assert_int_equal(mcp_server_log(raw.server, MCP_SEVERITY_ERROR, NULL, "1", 1), 0);
    raw_expect_silence(&raw);
    raw_done(&raw);
}

/* ---- mistakes ------------------------------------------------------------ */

static int
talk_nonsense(mcp_request *req, mcp_result *out, void *user)
{
    enum mcp_severity none = MCP_SEVERITY_NONE, error = MCP_SEVERITY_ERROR;
    struct talker *t = user;
    int *at = t->statuses;

    *at++ = mcp_request_log(NULL, error, NULL, "x");
    *at++ = mcp_request_log(req, none, NULL, "x");
    *at++ = mcp_request_log(req, (enum mcp_severity)9, NULL, "x");
    *at++ = mcp_request_log(req, error, "\xff", "x");
    *at++ = mcp_request_log(req, error, NULL, "%s", "\xff");
    *at++ = mcp_request_log(req, error, NULL, NULL);
    *at++ = mcp_request_log_json(req, error, NULL, NULL, 0);
    *at++ = mcp_request_log_json(req, error, NULL, "{", 1);
    *at++ = mcp_request_log_json(req, error, NULL, "", 0);
    *at++ = mcp_request_log_json(req, error, NULL, "\"\xff\"", 3);
    assert_false(mcp_request_logs(NULL, error));
    assert_false(mcp_request_logs(req, none));
    assert_false(mcp_request_logs(req, (enum mcp_severity)9));
    return mcp_result_text(out, "talked");
}

static void
what_cannot_be_said_is_refused(void **state)
{
    struct talker t = {.said = 0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = talk_nonsense, .user = &t));
    raw_start(&raw, RAW_MODERN);
    call_wanting(&raw, "run", "debug", NULL);
    raw_expect(&raw, "talked");
    for (int i = 0; i < 10; i++)
        assert_int_equal(t.statuses[i], MCP_E_INVAL);
    assert_int_equal(mcp_server_log(NULL, MCP_SEVERITY_INFO, NULL, "1", 1),
                     MCP_E_INVAL);
    assert_int_equal(mcp_server_log(raw.server, MCP_SEVERITY_NONE, NULL, "1", 1),
                     MCP_E_INVAL);
    assert_int_equal(mcp_server_log(raw.server, MCP_SEVERITY_INFO, "\xff", "1", 1),
                     MCP_E_INVAL);
    assert_int_equal(mcp_server_log(raw.server, MCP_SEVERITY_INFO, NULL, "}", 1),
                     MCP_E_INVAL);
    assert_int_equal(mcp_server_log(raw.server, MCP_SEVERITY_INFO, NULL, NULL, 1),
                     MCP_E_INVAL);
    raw_done(&raw);
}

static int
talk_on(mcp_request *req, mcp_result *out, void *user)
{
    struct talker *t = user;
    int r = 0;

    (void)out;
    while (r == 0) {
        r = mcp_request_log(req, MCP_SEVERITY_INFO, NULL, "still here");
        raw_pause();
    }
    t->statuses[0] = r;
    t->statuses[1] = mcp_request_log_json(req, MCP_SEVERITY_INFO, NULL, "1", 1);
    t->wants_error = mcp_request_logs(req, MCP_SEVERITY_ERROR);
    return r;
}

static void
F7_after_a_cancel_nothing_is_said(void **state)
{
    struct talker t = {.said = 0};
    const char *line;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "on", .run = talk_on, .user = &t));
    raw_start(&raw, RAW_MODERN);
    call_wanting(&raw, "on", "info", NULL);
    raw_expect(&raw, "still here");
    raw_cancel(&raw, "1", "enough");
    RAW_UNTIL(raw_counts(&raw).stopped == 1);
    assert_int_equal(t.statuses[0], MCP_E_CANCELED);
    assert_int_equal(t.statuses[1], MCP_E_CANCELED);
    assert_false(t.wants_error);
    raw_ask(&raw, "\"end\"", "no/such", "");
    for (line = raw_line(&raw); strstr(line, "still here"); line = raw_line(&raw))
        continue; /* what was on its way when the cancel came */
    assert_non_null(strstr(line, "\"id\":\"end\""));
    raw_expect_silence(&raw);
    raw_done(&raw);
}

/* ---- faster than the loop ------------------------------------------------- */

static int
hold_loop(mcp_request *req, mcp_result *out, void *user)
{
    struct talker *t = user;

    (void)req;
    gate_pass(&t->gate);
    return mcp_result_text(out, "held");
}

static int
flood(mcp_request *req, mcp_result *out, void *user)
{
    struct talker *t = user;

    RAW_UNTIL(atomic_load(&t->gate.entered) == 1); /* the loop is busy from now on */
    for (int i = 1; i <= 1000; i++) {
        assert_int_equal(mcp_request_log(req, MCP_SEVERITY_INFO, NULL, "%d", i), 0);
        assert_int_equal(mcp_request_progress(req, i, 0, NULL), 0);
    }
    atomic_store(&t->gate.open, true);
    return mcp_result_text(out, "flooded");
}

static void
of_too_many_at_once_the_first_are_kept_and_the_rest_is_counted(void **state)
{
    struct talker t = {.said = 0};
    int messages = 0, reports = 0;
    char wanted[32] = "";
    const char *line;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "hold", .reply = hold_loop, .user = &t));
    raw_tool(&raw, MCP_TOOL(.name = "flood", .run = flood, .user = &t));
    raw_start(&raw, RAW_MODERN);
    call_wanting(&raw, "flood", "info", "1");
    raw_call(&raw, "2", "hold", NULL);
    raw_expect(&raw, "held");
    for (line = raw_line(&raw); !strstr(line, "flooded"); line = raw_line(&raw)) {
        reports += strstr(line, "\"progress\"") != NULL;
        if (strstr(line, "\"data\"")) {
            snprintf(wanted, sizeof(wanted), "\"data\":\"%d\"", ++messages);
            assert_non_null(strstr(line, wanted));
        }
        assert_true(reports <= messages); /* each behind what was said before it */
    }
    assert_int_equal(messages, 256);
    assert_int_equal(reports, 64);
    assert_true(raw_logged(&raw, "744 messages of request 1 were dropped"));
    raw_done(&raw);
}

/* ---- of the server -------------------------------------------------------- */

static int
server_says(struct raw *raw, enum mcp_severity severity, const char *logger,
            const char *data)
{
    return mcp_server_log(raw->server, severity, logger, data, strlen(data));
}

static void
the_server_tells_each_session_what_it_wants(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_start(&raw, false);
    assert_int_equal(server_says(&raw, MCP_SEVERITY_DEBUG, NULL, "0"), 0);
    assert_int_equal(server_says(&raw, MCP_SEVERITY_INFO, NULL, "[ 1 ]"), 0);
    expect_exact(&raw, MESSAGE("{\"level\":\"info\",\"data\":[1]}"));
    set_level(&raw, "alert");
    expect_exact(&raw, RESULT("\"level\"", "{}"));
    assert_int_equal(server_says(&raw, MCP_SEVERITY_CRITICAL, NULL, "2"), 0);
    assert_int_equal(server_says(&raw, MCP_SEVERITY_ALERT, "core", "null"), 0);
    expect_exact(&raw,
                 MESSAGE("{\"level\":\"alert\",\"logger\":\"core\",\"data\":null}"));
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static void
in_2026_messages_belong_to_requests(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_start(&raw, true);
    raw_expect_silence(&raw); /* it is there */
    assert_int_equal(server_says(&raw, MCP_SEVERITY_EMERGENCY, NULL, "1"), 0);
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static void
a_flood_of_the_server_is_cut_and_counted(void **state)
{
    struct talker t = {.said = 0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "hold", .reply = hold_loop, .user = &t));
    raw_start(&raw, false);
    raw_call(&raw, "1", "hold", NULL);
    RAW_UNTIL(atomic_load(&t.gate.entered) == 1);
    for (int i = 0; i < 1030; i++)
        assert_int_equal(server_says(&raw, MCP_SEVERITY_ERROR, NULL, "1"), 0);
    atomic_store(&t.gate.open, true);
    raw_expect(&raw, "held");
    for (int i = 0; i < 1024; i++)
        expect_exact(&raw, MESSAGE("{\"level\":\"error\",\"data\":1}"));
    raw_expect_silence(&raw);
    assert_true(raw_logged(&raw, "6 messages for clients were dropped"));
    raw_done(&raw);
    assert_int_equal(t.said, 0);
}

/* ---- memory --------------------------------------------------------------- */

static void
flow_in(struct test_mem *mem, void *user)
{
    struct talker t = {.said = 0};
    bool modern = *(const bool *)user;
    const char *line;
    struct raw raw;

    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    raw.lenient = true;
    if (mcp_server_add_tool(
            raw.server, &MCP_TOOL(.name = "run", .run = talk, .user = &t), NULL) == 0 &&
        raw_try_connect(&raw, modern) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        if (!modern)
            raw_send(&raw, INITIALIZE("0", "2025-11-25"));
        if (!modern)
            set_level(&raw, "debug");
        call_at(&raw, "1", "run", "debug", "1");
        (void)server_says(&raw, MCP_SEVERITY_ERROR, NULL, "1");
        for (line = raw_next(&raw); line; line = raw_next(&raw)) {
            if (strstr(line, "\"id\":1"))
                break;
        }
    }
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    test_limit(240);
    assert_true(test_each_allocation_fails(flow_in, *state) > 10);
}

static int
nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_text(out, "");
}

/* All who have no session share a peer: what one sets is nobody's. */
static void
D16_without_a_session_nothing_is_set_and_nothing_subscribed(void **state)
{
    struct visit v;
    struct raw raw;
    char *answer;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_server_add_resource(
                         raw.server,
                         &MCP_RESOURCE(.uri = "x://y", .name = "y", .reply = nothing),
                         NULL),
                     0);
    raw_start(&raw, true);
    visit_open(&v, &raw.server->trunk.host,
               MCPI_PRIVATE_IDS | MCPI_GONE_CANCELS | MCPI_STATELESS);
    answer = visit_ask(&v, NULL,
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\","
                       "\"params\":{\"level\":\"debug\"}}");
    assert_non_null(strstr(answer, "\"result\":{}"));
    assert_null(v.peer->log_level);
    free(answer);
    answer = visit_ask(
        &v, NULL,
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\","
        "\"params\":{\"uri\":\"x://y\"}}");
    assert_non_null(strstr(answer, "-32600"));
    free(answer);
    visit_close(&v);
    raw_done(&raw);
}

TEST_MAIN(TEST(D16_without_a_session_nothing_is_set_and_nothing_subscribed),
          TEST_ERAS(messages_come_in_order_with_progress_before_the_answer),
          TEST_ERAS(what_is_less_severe_is_not_sent),
          TEST(a_request_that_names_no_level_gets_no_messages),
          TEST(a_level_that_is_none_refuses_its_request),
          TEST(a_session_hears_of_info_until_it_says_otherwise),
          TEST(a_new_level_holds_for_requests_that_run),
          TEST_ERAS(a_server_without_logging_sends_nothing),
          TEST_ERAS(what_cannot_be_said_is_refused),
          TEST_ERAS(F7_after_a_cancel_nothing_is_said),
          TEST_ERAS(of_too_many_at_once_the_first_are_kept_and_the_rest_is_counted),
          TEST(the_server_tells_each_session_what_it_wants),
          TEST(in_2026_messages_belong_to_requests),
          TEST(a_flood_of_the_server_is_cut_and_counted),
          TEST_ERAS(each_allocation_may_fail))
