/* http_era_test.c - one port, two eras: what answers of each say, and what they do not */
#include <strings.h>

#include "api/http_served.h"

/* ---- the server ---------------------------------------------------------- */

struct place {
    struct raw raw;
    struct gate gate; /* of `hang` */
    int port;
    struct http_raw h; /* a connection */
};

static int
work(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    (void)mcp_request_progress(req, 1, 2, "on the way");
    (void)mcp_request_log(req, MCP_SEVERITY_DEBUG, "work", "a detail");
    (void)mcp_request_log(req, MCP_SEVERITY_ERROR, "work", "bad news");
    return mcp_result_text(out, "done");
}

static int
want(mcp_request *req, mcp_result *out, void *user)
{
    (void)out, (void)user;
    return mcp_request_fail(req, -32021, "{\"requiredCapabilities\":{\"sampling\":{}}}",
                            "sampling is needed");
}

static int
fall_over(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    (void)mcp_result_text(out, "the password is swordfish");
    return MCP_E_NOMEM;
}

static int
why(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_text(out, "why?");
}

static void
place_open(struct place *p)
{
    const mcp_resource note = MCP_RESOURCE(.uri = "test://note", .name = "note",
                                           .text = "a note", .ttl_ms = 60000);
    struct raw *raw = &p->raw;

    p->gate = (struct gate){0};
    raw_make(raw, MCP_SERVER_OPTIONS(.list_ttl_ms = 60000, .changes_ms = -1));
    raw_tool(raw, MCP_TOOL(.name = "say", .reply = served_say));
    raw_tool(raw, MCP_TOOL(.name = "work", .run = work));
    raw_tool(raw, MCP_TOOL(.name = "want", .reply = want));
    raw_tool(raw, MCP_TOOL(.name = "fall", .reply = fall_over));
    raw_tool(raw, MCP_TOOL(.name = "hang", .run = served_sleep, .user = &p->gate));
    assert_int_equal(mcp_server_add_resource(raw->server, &note, NULL), 0);
    assert_int_equal(mcp_server_add_prompt(
                         raw->server, &MCP_PROMPT(.name = "ask", .reply = why), NULL),
                     0);
    p->port = served_listen(raw, MCP_HTTP_OPTIONS(.port = 0));
    assert_int_equal(mcp_server_start(raw->server, NULL), 0);
    http_open(&p->h, p->port, NULL);
}

static void
place_close(struct place *p)
{
    http_close(&p->h);
    raw_done(&p->raw);
}

static int
ask_legacy(struct place *p, const char *session, const char *body)
{
    http_post(&p->h,
              &HTTP_POST(.era = MCP_ERA_LEGACY, .session = session, .body = body));
    return http_answer(&p->h);
}

/* name: what Mcp-Name has, or NULL. */
static int
ask_modern(struct place *p, const char *method, const char *name, const char *body)
{
    http_post(&p->h, &HTTP_POST(.method = method, .name = name, .body = body));
    return http_answer(&p->h);
}

static void
expect(const struct place *p, const char *part)
{
    if (!strstr(p->h.body, part))
        fail_msg("no %s in %s", part, p->h.body);
}

/* ---- legacy -------------------------------------------------------------- */

/* Nothing of 2026-07-28 stands in what has come of the answer. */
static void
expect_legacy(const struct place *p)
{
    static const char *const words[] = {"resultType", "ttlMs", "cacheScope",
                                        "io.modelcontextprotocol/", "2026-07-28"};
    const char *line;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(p->h.body, words[i]))
            fail_msg("%s in %s", words[i], p->h.body);
    for (line = p->h.head; *line; line += strlen(line) + 1)
        if (strncasecmp(line, "Mcp-", 4) == 0)
            assert_int_equal(strncasecmp(line, "Mcp-Session-Id:", 15), 0);
}

static void
a_legacy_client_meets_nothing_of_the_modern_era(void **state)
{
    static const struct {
        const char *body, *answer;
    } asked[] = {
        {REQUEST("2", "tools/list", "{}"), "\"name\":\"work\""},
        {REQUEST("3", "tools/call",
                 "{\"name\":\"work\",\"_meta\":{\"progressToken\":\"p\"}}"),
         "\"progress\":1"},
        {REQUEST("4", "tools/call", "{\"name\":\"want\"}"), "-32021"},
        {REQUEST("5", "tools/call", "{\"name\":\"none\"}"), "-32602"},
        {REQUEST("6", "resources/list", "{}"), "test://note"},
        {REQUEST("7", "resources/read", "{\"uri\":\"test://note\"}"), "a note"},
        {REQUEST("8", "prompts/list", "{}"), "\"name\":\"ask\""},
        {REQUEST("9", "prompts/get", "{\"name\":\"ask\"}"), "why?"},
        {REQUEST("10", "ping", "{}"), "\"result\":{}"},
        {REQUEST("11", "server/discover", "{}"), "-32601"},
        {"{", "-32700"},
    };
    struct place p;
    char *session;

    (void)state;
    place_open(&p);
    assert_int_equal(ask_legacy(&p, NULL, INITIALIZE("1", "2025-11-25")), 200);
    expect(&p, "\"serverInfo\"");
    expect_legacy(&p);
    session = http_hello(&p.h);
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        (void)ask_legacy(&p, session, asked[i].body);
        expect(&p, asked[i].answer);
        expect_legacy(&p);
    }
    http_ask(&p.h, "GET", session);
    assert_int_equal(http_head(&p.h), 200);
    assert_int_equal(mcp_server_remove_tool(p.raw.server, "fall"), 0);
    assert_non_null(strstr(http_event(&p.h, NULL), "list_changed"));
    expect_legacy(&p);
    free(session);
    place_close(&p);
}

#define LEVEL(name) REQUEST("1", "logging/setLevel", "{\"level\":\"" name "\"}")

/* And on whichever connection. */
static void
a_session_keeps_what_was_said_in_it_to_itself(void **state)
{
    char *talkative, *quiet;
    struct place p;

    (void)state;
    place_open(&p);
    talkative = http_hello(&p.h);
    quiet = http_hello(&p.h);
    assert_int_equal(ask_legacy(&p, talkative, LEVEL("debug")), 200);
    assert_int_equal(ask_legacy(&p, quiet, LEVEL("critical")), 200);
    http_close(&p.h);
    http_open(&p.h, p.port, NULL);
    http_call(&p.h,
              &HTTP_CALL(.era = MCP_ERA_LEGACY, .session = talkative, .tool = "work"));
    assert_int_equal(http_answer(&p.h), 200);
    expect(&p, "a detail");
    expect(&p, "bad news");
    http_call(&p.h,
              &HTTP_CALL(.era = MCP_ERA_LEGACY, .session = quiet, .tool = "work"));
    assert_int_equal(http_answer(&p.h), 200);
    expect(&p, "done");
    assert_null(strstr(p.h.body, "bad news"));
    free(talkative);
    free(quiet);
    place_close(&p);
}

static void
D17_the_end_of_a_session_is_nobody_elses(void **state)
{
    struct http_raw hangs;
    char *ends, *stays;
    struct place p;

    (void)state;
    place_open(&p);
    ends = http_hello(&p.h);
    stays = http_hello(&p.h);
    http_open(&hangs, p.port, NULL);
    http_call(&hangs,
              &HTTP_CALL(.era = MCP_ERA_LEGACY, .session = stays, .tool = "hang"));
    RAW_UNTIL(atomic_load(&p.gate.entered) == 1);
    http_ask(&p.h, "DELETE", ends);
    assert_int_equal(http_answer(&p.h), 200);
    RAW_UNTIL(raw_counts(&p.raw).sessions == 1);
    assert_int_equal(atomic_load(&p.gate.left), 0);
    assert_int_equal(ask_legacy(&p, ends, REQUEST("2", "ping", "{}")), 404);
    assert_int_equal(ask_legacy(&p, stays, REQUEST("2", "ping", "{}")), 200);
    assert_int_equal(ask_legacy(&p, stays, CANCEL("1")), 202); /* it is still found */
    RAW_UNTIL(atomic_load(&p.gate.left) == 1);
    http_close(&hangs);
    free(ends);
    free(stays);
    place_close(&p);
}

/* ---- modern -------------------------------------------------------------- */

#define CALL(name) REQUEST("1", "tools/call", "{\"name\":\"" name "\"," STAMP "}")
#define LISTEN                           \
    REQUEST("1", "subscriptions/listen", \
            "{\"notifications\":{\"toolsListChanged\":true}," STAMP "}")

static void
a_modern_call_is_the_first_word_and_complete(void **state)
{
    struct place p;

    (void)state;
    place_open(&p);
    assert_int_equal(ask_modern(&p, "tools/call", "say", CALL("say")), 200);
    expect(&p, "said to");
    expect(&p, "\"resultType\":\"complete\"");
    place_close(&p);
}

static void
a_modern_answer_names_no_session(void **state)
{
    static const struct {
        const char *method, *name, *body;
        int status;
    } asked[] = {
        {"server/discover", NULL, MODERN_DISCOVER("1"), 200},
        {"tools/call", "say", CALL("say"), 200},
        {"tools/call", "none", CALL("none"), 400},
        {"no/such", NULL, REQUEST("1", "no/such", "{" STAMP "}"), 404},
        {NULL, NULL, NOTE("notifications/x", "{}"), 202},
        {"subscriptions/listen", NULL, LISTEN, 200},
    };
    struct place p;

    (void)state;
    place_open(&p);
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        http_post(&p.h, &HTTP_POST(.method = asked[i].method, .name = asked[i].name,
                                   .fields = "Mcp-Session-Id: of-old\r\n",
                                   .body = asked[i].body));
        assert_int_equal(http_head(&p.h), asked[i].status);
        assert_null(http_field(&p.h, "Mcp-Session-Id"));
        if (asked[i].method && strcmp(asked[i].method, "subscriptions/listen") != 0)
            (void)http_body(&p.h);
    }
    assert_int_equal(raw_counts(&p.raw).sessions, 0);
    place_close(&p);
}

static void
discover_says_versions_and_what_it_can_do(void **state)
{
    const mcp_json *result, *versions, *info;
    struct place p;
    mcp_doc *doc;

    (void)state;
    place_open(&p);
    assert_int_equal(ask_modern(&p, "server/discover", NULL, MODERN_DISCOVER("1")),
                     200);
    assert_int_equal(mcp_doc_parse(p.h.body, p.h.body_len, NULL, &doc, NULL), 0);
    result = mcp_json_get(mcp_doc_root(doc), "result");
    versions = mcp_json_get(result, "supportedVersions");
    assert_int_equal(mcp_json_count(versions), 5);
    assert_true(mcp_json_is_string(mcp_json_at(versions, 0), "2026-07-28"));
    assert_non_null(mcp_json_get(mcp_json_get(result, "capabilities"), "tools"));
    assert_null(mcp_json_get(result, "serverInfo"));
    info = mcp_json_get(mcp_json_get(result, "_meta"),
                        "io.modelcontextprotocol/serverInfo");
    assert_true(mcp_json_is_string(mcp_json_get(info, "name"), "raw"));
    assert_true(mcp_json_is_string(mcp_json_get(info, "version"), "1.0"));
    mcp_doc_free(doc);
    place_close(&p);
}

static void
what_the_modern_era_has_dropped_is_not_found(void **state)
{
    static const struct {
        const char *method, *body;
    } asked[] = {
        {"ping", REQUEST("1", "ping", "{" STAMP "}")},
        {"initialize", REQUEST("1", "initialize", "{" STAMP "}")},
        {"logging/setLevel",
         REQUEST("1", "logging/setLevel", "{\"level\":\"info\"," STAMP "}")},
        {"resources/subscribe",
         REQUEST("1", "resources/subscribe", "{\"uri\":\"test://note\"," STAMP "}")},
        {"resources/unsubscribe",
         REQUEST("1", "resources/unsubscribe", "{\"uri\":\"test://note\"," STAMP "}")},
    };
    struct place p;

    (void)state;
    place_open(&p);
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        assert_int_equal(ask_modern(&p, asked[i].method, NULL, asked[i].body), 404);
        expect(&p, "-32601");
    }
    place_close(&p);
}

static void
the_error_of_a_handler_has_the_status_of_its_code(void **state)
{
    struct place p;

    (void)state;
    place_open(&p);
    assert_int_equal(ask_modern(&p, "tools/call", "want", CALL("want")), 400);
    expect(&p, "\"code\":-32021");
    expect(&p, "\"data\":{\"requiredCapabilities\":{\"sampling\":{}}}");
    place_close(&p);
}

static void
a_handler_that_falls_over_tells_nothing_of_itself(void **state)
{
    struct place p;

    (void)state;
    place_open(&p);
    assert_int_equal(ask_modern(&p, "tools/call", "fall", CALL("fall")), 200);
    expect(&p, "\"error\"");
    expect(&p, "-32603");
    assert_null(strstr(p.h.body, "swordfish"));
    place_close(&p);
}

TEST_MAIN(TEST(a_legacy_client_meets_nothing_of_the_modern_era),
          TEST(a_session_keeps_what_was_said_in_it_to_itself),
          TEST(D17_the_end_of_a_session_is_nobody_elses),
          TEST(a_modern_call_is_the_first_word_and_complete),
          TEST(a_modern_answer_names_no_session),
          TEST(discover_says_versions_and_what_it_can_do),
          TEST(what_the_modern_era_has_dropped_is_not_found),
          TEST(the_error_of_a_handler_has_the_status_of_its_code),
          TEST(a_handler_that_falls_over_tells_nothing_of_itself))
