/* http_post_test.c - what a request is: its era, its peer, its status and code */
#include "core/leg.h"
#include "link/http_front.h"

#define NOW "2026-07-28"
#define OLD "2025-11-25"
#define STAMPED(v)                                                    \
    "\"_meta\":{" META_KEY("protocolVersion") ":\"" v "\"," META_KEY( \
        "clientCapabilities") ":{}}"
#define CALL(id, meta) REQUEST(id, "tools/call", "{\"name\":\"t\"," meta "}")
#define T METHOD("tools/call") NAME("t")

struct row {
    const char *headers, *body;
    int status, code; /* code 0: a result, or nothing */
    const char *id;
};

static void
check_all(struct front *f, const struct row *rows, size_t count)
{
    struct visit v;

    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        int before = f->served;

        front_post(f, &v, row->headers, row->body);
        if (v.status != row->status || visit_code(&v) != row->code)
            fail_msg("%s%s\ngives %d %s", row->headers, row->body, v.status, v.text);
        assert_int_equal(v.replies + v.ends, 1);
        visit_assert_id(&v, row->id);
        if (row->status == 202)
            assert_int_equal(v.len, 0);
        if (row->status == 400)
            assert_int_equal(f->served, before); /* no handler has seen it */
        visit_done(&v);
    }
}

#define CHECK_ALL(f, rows) check_all(f, rows, sizeof(rows) / sizeof((rows)[0]))

/* ---- what is no message -------------------------------------------------- */

static void
what_is_no_message_is_refused_with_its_code(void **state)
{
    static const struct row rows[] = {
        {PLAIN, "", 400, -32700, NULL},
        {PLAIN, "{", 400, -32700, NULL},
        {PLAIN, "{\"jsonrpc\":\"2.0\"}x", 400, -32700, NULL},
        {PLAIN, "\xff", 400, -32700, NULL},
        {PLAIN, REQUEST("3", "x", "{\"a\":NaN}"), 400, -32700, "3"},
        {PLAIN, "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"x\",\"par", 400, -32700,
         "\"c\""},
        {PLAIN, "{\"jsonrpc\":\"2.0\",\"id\":3,\"id\":4,\"method\":\"x\",\"a\":NaN}",
         400, -32700, NULL},
        {PLAIN, RESULT("3", "{\"a\":NaN}"), 400, -32700, NULL},
        {PLAIN, NOTE("x", "{\"a\":NaN}"), 400, -32700, NULL},
        {PLAIN, "[]", 400, -32600, NULL},
        {PLAIN, "[" MODERN_CALL("1") "]", 400, -32600, NULL},
        {PLAIN VERSION("2025-03-26"), "[" LEGACY_CALL("1") "]", 400, -32600, NULL},
        {PLAIN, "1", 400, -32600, NULL},
        {PLAIN, "{}", 400, -32600, NULL},
        {PLAIN, "{\"jsonrpc\":\"1.0\",\"id\":3,\"method\":\"x\"}", 400, -32600, "3"},
        {PLAIN, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":7}", 400, -32600, "3"},
        {PLAIN, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}", 400, -32600, NULL},
        {PLAIN, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"x\",\"params\":[]}", 400,
         -32602, "3"},
        {PLAIN, "{\"jsonrpc\":\"2.0\",\"id\":3,\"id\":4,\"method\":\"x\"}", 400, -32600,
         NULL},
        {PLAIN, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":1}", 400, -32600, NULL},
    };
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    CHECK_ALL(&f, rows);
    assert_int_equal(f.served, 0);
    front_close(&f);
}

static void
half_of_a_surrogate_pair_or_a_byte_order_mark_is_no_reason_to_refuse(void **state)
{
    static const struct row rows[] = {
        {MODERN T, "\xef\xbb\xbf" MODERN_CALL("1"), 200, 0, "1"},
        {MODERN T,
         REQUEST("2", "tools/call",
                 "{\"name\":\"t\",\"arguments\":{\"a\":\"\\ud83d\"}," STAMP "}"),
         200, 0, "2"},
    };
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    CHECK_ALL(&f, rows);
    assert_int_equal(f.served, 2);
    front_close(&f);
}

static void
what_is_too_deep_or_too_long_is_refused(void **state)
{
    char deep[600];
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    f.limits.message_bytes = 500;
    front_open(&f);
    memset(deep, '[', 200);
    memset(deep + 200, ']', 200);
    deep[400] = '\0';
    front_post(&f, &v, PLAIN, deep);
    assert_int_equal(v.status, 400);
    assert_int_equal(visit_code(&v), -32600);
    visit_done(&v);
    memset(deep, ' ', sizeof deep);
    deep[599] = '\0';
    front_post(&f, &v, PLAIN, deep);
    assert_int_equal(v.status, 413);
    visit_done(&v);
    front_close(&f);
}

/* ---- the era ------------------------------------------------------------- */

static void
the_era_is_what_header_and_stamp_say(void **state)
{
    static const struct row rows[] = {
        /* modern */
        {MODERN_T, MODERN_CALL("1"), 200, 0, "1"},
        {MODERN_T, MODERN_CALL("\"one\""), 200, 0, "\"one\""},
        {MODERN METHOD("server/discover"), MODERN_DISCOVER("2"), 200, 0, "2"},
        {MODERN METHOD("no/such"), REQUEST("3", "no/such", "{" STAMP "}"), 404, -32601,
         "3"},
        {MODERN METHOD("initialize"), REQUEST("4", "initialize", "{" STAMP "}"), 404,
         -32601, "4"},
        /* not what the stamp says; decided before what is served */
        {MODERN T, CALL("5", STAMPED("v999.0.0")), 400, -32020, "5"},
        {PLAIN T VERSION("v999.0.0"), MODERN_CALL("5"), 400, -32020, "5"},
        {PLAIN T VERSION(OLD), MODERN_CALL("5"), 400, -32020, "5"},
        {PLAIN T, MODERN_CALL("5"), 400, -32020, "5"},
        {MODERN_T VERSION(NOW), MODERN_CALL("5"), 400, -32020, "5"},
        /* not served */
        {PLAIN VERSION("v999.0.0"), CALL("6", STAMPED("v999.0.0")), 400, -32022, "6"},
        {PLAIN VERSION("v999.0.0"), LEGACY_CALL("6"), 400, -32022, "6"},
        {PLAIN VERSION("v999.0.0"), NOTE("notifications/x", "{}"), 400, -32022, NULL},
        {PLAIN VERSION("v999.0.0"), RESULT("1", "{}"), 400, -32022, NULL},
        /* not introduced */
        {MODERN METHOD("server/discover"), REQUEST("7", "server/discover", "{}"), 400,
         -32602, "7"},
        {MODERN_T, LEGACY_CALL("7"), 400, -32602, "7"},
        {MODERN_T, CALL("7", "\"_meta\":{" META_KEY("protocolVersion") ":1}"), 400,
         -32602, "7"},
        {MODERN_T, CALL("7", "\"_meta\":{" META_KEY("protocolVersion") ":\"" NOW "\"}"),
         400, -32602, "7"},
        /* legacy, without a session */
        {PLAIN, LEGACY_CALL("8"), 400, -32600, "8"},
        {PLAIN VERSION(OLD), LEGACY_CALL("8"), 400, -32600, "8"},
        {PLAIN T VERSION(OLD), LEGACY_CALL("8"), 400, -32600, "8"},
        {PLAIN, NOTE("notifications/initialized", "{}"), 400, -32600, NULL},
        {PLAIN "Mcp-Session-Id: 0-0123\n", LEGACY_CALL("9"), 404, -32600, "9"},
        {PLAIN "Mcp-Session-Id: nonsense\n", LEGACY_CALL("9"), 404, -32600, "9"},
        {PLAIN "Mcp-Session-Id: a\nMcp-Session-Id: a\n", LEGACY_CALL("9"), 400, -32600,
         "9"},
        {PLAIN "Mcp-Session-Id: nonsense\n", HELLO, 404, -32600, "0"},
        /* a session that is named by what has none is not looked at */
        {MODERN_T "Mcp-Session-Id: nonsense\n", MODERN_CALL("10"), 200, 0, "10"},
    };
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    CHECK_ALL(&f, rows);
    front_close(&f);
}

static void
a_version_that_is_not_served_is_answered_with_those_that_are(void **state)
{
    static const char *const bodies[] = {LEGACY_CALL("1"),
                                         CALL("1", STAMPED("v999.0.0"))};
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    front_open(&f);
    for (size_t i = 0; i < 2; i++) {
        front_post(&f, &v, PLAIN VERSION("v999.0.0"), bodies[i]);
        assert_int_equal(v.status, 400);
        /* clients of others look for these very words */
        assert_non_null(strstr(v.text, "Unsupported protocol version"));
        assert_non_null(strstr(v.text, "\"requested\":\"v999.0.0\""));
        assert_non_null(strstr(v.text, "\"supported\":[\"2026-07-28\",\"2025-11-25\""));
        visit_done(&v);
    }
    front_close(&f);
}

static void
a_modern_server_refuses_who_is_not(void **state)
{
    static const struct row rows[] = {
        {MODERN_T, MODERN_CALL("1"), 200, 0, "1"},
        {PLAIN, HELLO, 400, -32022, "0"},
        {PLAIN VERSION(OLD), HELLO, 400, -32022, "0"},
        {PLAIN VERSION(OLD), LEGACY_CALL("1"), 400, -32022, "1"},
        {PLAIN, LEGACY_CALL("1"), 400, -32020, "1"},
        {PLAIN, CANCEL("1"), 202, 0, NULL},
        {PLAIN, RESULT("1", "{}"), 400, -32600, NULL},
        {PLAIN, "{", 400, -32700, NULL},
        {MODERN_T, "{", 400, -32700, NULL},
    };
    struct front f;

    (void)state;
    front_init(&f);
    f.era = MCPI_ERA_MODERN;
    front_open(&f);
    CHECK_ALL(&f, rows);
    assert_int_equal(f.sessions, 0);
    front_close(&f);
}

static void
a_legacy_server_refuses_who_is_not(void **state)
{
    static const struct row rows[] = {
        {MODERN_T, MODERN_CALL("1"), 400, -32022, "1"},
        {MODERN METHOD("server/discover"), MODERN_DISCOVER("1"), 400, -32022, "1"},
        {PLAIN, HELLO, 200, 0, "0"},
        {MODERN, HELLO, 200, 0, "0"},
    };
    struct front f;

    (void)state;
    front_init(&f);
    f.era = MCPI_ERA_LEGACY;
    front_open(&f);
    CHECK_ALL(&f, rows);
    front_close(&f);
}

/* ---- mirrored headers ---------------------------------------------------- */

#define READ(id, uri) REQUEST(id, "resources/read", "{\"uri\":\"" uri "\"," STAMP "}")
#define GET_PROMPT(id, name) \
    REQUEST(id, "prompts/get", "{\"name\":\"" name "\"," STAMP "}")
#define LIST(id) REQUEST(id, "tools/list", "{" STAMP "}")

static void
headers_must_say_what_the_message_says(void **state)
{
    static const struct row rows[] = {
        {MODERN NAME("t"), MODERN_CALL("1"), 400, -32020, "1"},
        {MODERN NAME("t") METHOD("tools/list"), MODERN_CALL("1"), 400, -32020, "1"},
        {MODERN NAME("t") METHOD("Tools/Call"), MODERN_CALL("1"), 400, -32020, "1"},
        {MODERN NAME("t") METHOD("tools/cal"), MODERN_CALL("1"), 400, -32020, "1"},
        {MODERN_T METHOD("tools/call"), MODERN_CALL("1"), 400, -32020, "1"},
        {MODERN METHOD("tools/call"), MODERN_CALL("2"), 400, -32020, "2"},
        {MODERN METHOD("tools/call") NAME("u"), MODERN_CALL("2"), 400, -32020, "2"},
        {MODERN METHOD("tools/call") NAME("T"), MODERN_CALL("2"), 400, -32020, "2"},
        {MODERN METHOD("tools/call") NAME(""), MODERN_CALL("2"), 400, -32020, "2"},
        {MODERN_T NAME("t"), MODERN_CALL("2"), 400, -32020, "2"},
        {MODERN METHOD("tools/call") NAME("=?base64?dA==?="), MODERN_CALL("3"), 200, 0,
         "3"},
        {MODERN METHOD("tools/call") NAME("=?base64?dA?="), MODERN_CALL("3"), 400,
         -32020, "3"},
        {MODERN METHOD("tools/call") NAME("=?base64?dQ==?="), MODERN_CALL("3"), 400,
         -32020, "3"},
        {MODERN METHOD("tools/call") NAME("x"),
         REQUEST("4", "tools/call", "{\"name\":1," STAMP "}"), 400, -32020, "4"},
        {MODERN METHOD("tools/call") NAME("x"),
         REQUEST("4", "tools/call", "{" STAMP "}"), 400, -32020, "4"},
        {MODERN METHOD("resources/read") NAME("file:///a%20b"),
         READ("5", "file:///a%20b"), 200, 0, "5"},
        {MODERN METHOD("resources/read") NAME("file:///a b"),
         READ("5", "file:///a%20b"), 400, -32020, "5"},
        {MODERN METHOD("resources/read"), READ("5", "x"), 400, -32020, "5"},
        {MODERN METHOD("prompts/get") NAME("p"), GET_PROMPT("6", "p"), 200, 0, "6"},
        {MODERN METHOD("prompts/get") NAME("q"), GET_PROMPT("6", "p"), 400, -32020,
         "6"},
        {MODERN METHOD("tools/list"), LIST("7"), 200, 0, "7"},
        {MODERN METHOD("tools/list") NAME("whatever"), LIST("7"), 200, 0, "7"},
    };
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    CHECK_ALL(&f, rows);
    assert_int_equal(f.served, 5);
    front_close(&f);
}

static int
check_params(void *user, const char *tool, const mcp_json *arguments,
             const struct mcpi_http_in *in, char *why, size_t size)
{
    (void)user;
    assert_string_equal(tool, "t");
    if (mcpi_http_get(in, "mcp-param-a", NULL))
        return 0;
    if (!arguments)
        return MCP_E_NOMEM;
    (void)snprintf(why, size, "Header mismatch: a \xff is missing");
    return MCP_E_PROTO;
}

static void
mirrored_parameters_are_somebody_elses_to_check(void **state)
{
    static const char with[] = REQUEST("1", "tools/call",
                                       "{\"name\":\"t\",\"arguments\":{}," STAMP "}");
    static const struct row rows[] = {
        {MODERN_T "Mcp-Param-A: 1\n", with, 200, 0, "1"},
        {MODERN_T, with, 400, -32020, "1"},
        {MODERN_T, MODERN_CALL("2"), 503, -32603, "2"},
        {MODERN METHOD("tools/list"), LIST("3"), 200, 0, "3"},
    };
    struct front f;

    (void)state;
    front_init(&f);
    f.opt.check_params = check_params;
    front_open(&f);
    CHECK_ALL(&f, rows);
    front_close(&f);
}

/* ---- the modern era ------------------------------------------------------ */

static void
E24_a_posted_cancel_is_accepted_and_dropped(void **state)
{
    struct front f;
    struct visit held, v;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_post(&f, &held, MODERN_HOLD, HOLD("1"));
    front_post(&f, &v, MODERN, CANCEL("1"));
    assert_int_equal(v.status, 202);
    assert_int_equal(v.len, 0);
    assert_string_equal(v.type, "");
    assert_int_equal(f.told, 0);
    assert_int_equal(f.noted, 0);
    visit_done(&v);
    front_post(&f, &v, MODERN, NOTE("notifications/x", "{}"));
    assert_int_equal(v.status, 202);
    assert_int_equal(f.noted, 1);
    visit_done(&v);
    front_let_go(&f);
    front_run(&f);
    assert_int_equal(held.status, 200);
    visit_done(&held);
    front_close(&f);
}

static void
E28_equal_ids_of_two_callers_never_meet(void **state)
{
    struct visit first, second;
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_post(&f, &first, MODERN_HOLD, HOLD("1"));
    front_post(&f, &second, MODERN_HOLD, HOLD("1"));
    assert_int_equal(f.job_count, 2);
    front_let_go(&f);
    front_run(&f);
    assert_int_equal(first.replies, 1);
    assert_int_equal(second.replies, 0);
    mcpi_turn_gone(&second.turn);
    front_run(&f);
    assert_int_equal(f.canceled, 1);
    assert_int_equal(second.replies + second.opens, 0);
    visit_done(&first);
    visit_done(&second);
    front_close(&f);
}

static void
E19_a_client_that_leaves_cancels_its_request_alone_in_json_mode_too(void **state)
{
    struct visit first, second;
    struct front f;

    (void)state;
    front_init(&f);
    f.http.json = true;
    front_open(&f);
    front_post(&f, &first, MODERN_HOLD, HOLD("1"));
    front_post(&f, &second, MODERN_HOLD, HOLD("2"));
    mcpi_turn_gone(&first.turn);
    front_run(&f);
    assert_int_equal(f.canceled, 1);
    assert_int_equal(f.job_count, 1);
    front_let_go(&f);
    front_run(&f);
    assert_int_equal(second.status, 200);
    visit_done(&first);
    visit_done(&second);
    front_close(&f);
}

#define LISTEN(id)                      \
    REQUEST(id, "subscriptions/listen", \
            "{\"notifications\":{\"toolsListChanged\":true}," STAMP "}")

static void
H22_a_listen_needs_a_client_that_takes_a_stream(void **state)
{
    static const struct row rows[] = {
        {HOST JSON "Accept: application/json\n" VERSION(NOW)
             METHOD("subscriptions/listen"),
         LISTEN("1"), 406, -32600, "1"},
    };
    struct front f;
    struct visit v;

    (void)state;
    for (int json = 0; json < 2; json++) {
        front_init(&f);
        f.http.json = json;
        front_open(&f);
        CHECK_ALL(&f, rows);
        assert_int_equal(f.served, 0);
        front_post(&f, &v, MODERN METHOD("subscriptions/listen"), LISTEN("2"));
        assert_int_equal(v.status, 200);
        assert_int_equal(f.served, 1);
        visit_done(&v);
        front_close(&f);
    }
}

static void
json_mode_needs_a_client_that_takes_json(void **state)
{
    static const struct row rows[] = {
        {HOST JSON "Accept: text/event-stream\n" VERSION(NOW) T, MODERN_CALL("1"), 406,
         -32600, "1"},
        {HOST JSON "Accept: application/json\n" VERSION(NOW) T, MODERN_CALL("1"), 200,
         0, "1"},
        {HOST JSON "Accept: text/event-stream\n" VERSION(NOW), CANCEL("1"), 202, 0,
         NULL},
    };
    struct front f;

    (void)state;
    front_init(&f);
    f.http.json = true;
    front_open(&f);
    CHECK_ALL(&f, rows);
    front_close(&f);
}

static void
a_full_server_says_when_to_come_back(void **state)
{
    struct visit held, v;
    struct front f;

    (void)state;
    front_init(&f);
    f.limits.in_flight = 1;
    front_open(&f);
    front_post(&f, &held, MODERN_HOLD, HOLD("1"));
    front_post(&f, &v, MODERN_T, MODERN_CALL("2"));
    assert_int_equal(v.status, 503);
    assert_int_equal(visit_code(&v), -32603);
    assert_true(visit_says(&v, "Retry-After: 1\n"));
    visit_assert_id(&v, "2");
    visit_done(&v);
    front_let_go(&f);
    front_run(&f);
    visit_done(&held);
    front_close(&f);
}

/* ---- sessions ------------------------------------------------------------ */

struct guest {
    char session[128];
    char headers[1024];
};

static const char *
as(struct guest *guest, const char *headers)
{
    return front_with(guest->headers, sizeof guest->headers, headers, guest->session);
}

static void
D13_notes_and_answers_of_a_session_are_accepted_at_once(void **state)
{
    struct visit held, v;
    struct guest g;
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_hello(&f, g.session);
    assert_int_equal(f.sessions, 1);
    front_post(&f, &v, as(&g, PLAIN), NOTE("notifications/initialized", "{}"));
    assert_int_equal(v.status, 202);
    assert_int_equal(v.len, 0);
    visit_done(&v);
    front_post(&f, &v, as(&g, PLAIN), RESULT("77", "{}"));
    assert_int_equal(v.status, 202);
    assert_int_equal(v.len, 0);
    visit_done(&v);
    front_post(&f, &held, as(&g, PLAIN), LEGACY_HOLD("1"));
    assert_int_equal(f.job_count, 1);
    visit_init(&v, "POST", "/mcp", as(&g, PLAIN), CANCEL("1"));
    visit_begin(&f, &v);
    assert_int_equal(v.status, 202); /* at once */
    assert_int_equal(f.canceled, 1);
    front_run(&f);
    assert_int_equal(visit_code(&held), -32800);
    visit_done(&v);
    visit_done(&held);
    front_close(&f);
}

static void
D13_a_cancel_stays_in_its_session(void **state)
{
    struct visit held, v;
    struct guest a, b;
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_hello(&f, a.session);
    front_hello(&f, b.session);
    assert_string_not_equal(a.session, b.session);
    front_post(&f, &held, as(&a, PLAIN), LEGACY_HOLD("1"));
    front_post(&f, &v, as(&b, PLAIN), CANCEL("1"));
    assert_int_equal(v.status, 202);
    assert_int_equal(f.told, 0);
    visit_done(&v);
    front_let_go(&f);
    front_run(&f);
    assert_int_equal(held.status, 200);
    visit_done(&held);
    front_close(&f);
}

static void
on_asked(void *user, struct mcpi_leg *leg, int status, const struct mcpi_rpc *answer)
{
    (void)leg;
    (void)answer;
    *(int *)user = status;
}

/* Whether it is JSON or not. */
static void
an_answer_that_is_no_message_ends_what_a_session_asked(void **state)
{
    static const struct mcpi_leg_owner owner = {.ended = on_asked};
    static const char *const results[] = {"7", "NaN"};
    struct mcpi_leg_options opt = {
        .method = "roots/list", .timeout_us = MCPI_NEVER, .owner = &owner};
    struct visit held, v;
    struct mcpi_leg *leg;
    struct guest g;
    struct front f;
    char line[100];
    int status;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_hello(&f, g.session);
    front_post(&f, &held, as(&g, PLAIN), LEGACY_HOLD("1"));
    opt.parent = f.jobs[0];
    opt.dialect = f.jobs[0]->caller.dialect;
    opt.owner_user = &status;
    for (int i = 0; i < 2; i++) {
        status = 1;
        assert_int_equal(mcpi_leg_open(f.jobs[0]->peer, &opt, &leg), 0);
        front_run(&f);
        (void)snprintf(line, sizeof(line),
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}",
                       (int)mcpi_leg_id(leg)->number, results[i]);
        front_post(&f, &v, as(&g, PLAIN), line);
        assert_int_equal(v.status, 400);
        assert_int_equal(status, MCP_E_PROTO);
        visit_done(&v);
    }
    front_let_go(&f);
    front_run(&f);
    visit_done(&held);
    front_close(&f);
}

static void
a_session_is_negotiated_once(void **state)
{
    struct guest g;
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_hello(&f, g.session);
    front_post(&f, &v, as(&g, PLAIN), HELLO);
    assert_int_equal(v.status, 400);
    assert_int_equal(visit_code(&v), -32600);
    assert_non_null(strstr(v.text, "Already initialized"));
    visit_done(&v);
    front_post(&f, &v, as(&g, PLAIN VERSION(OLD)), LEGACY_CALL("1"));
    assert_int_equal(v.status, 200);
    assert_string_equal(f.version, OLD);
    visit_done(&v);
    front_post(&f, &v, as(&g, PLAIN VERSION("2025-06-18")), LEGACY_CALL("2"));
    assert_int_equal(v.status, 200);
    visit_done(&v);
    front_post(&f, &v, as(&g, PLAIN VERSION("1999-01-01")), LEGACY_CALL("3"));
    assert_int_equal(v.status, 400);
    assert_int_equal(visit_code(&v), -32022);
    visit_done(&v);
    front_close(&f);
}

static void
a_refused_handshake_leaves_no_session(void **state)
{
    static const char bad[] = REQUEST("0", "initialize", "{\"protocolVersion\":1}");
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_post(&f, &v, PLAIN, bad);
    assert_int_equal(visit_code(&v), -32602);
    visit_assert_id(&v, "0");
    assert_false(visit_says(&v, "Mcp-Session-Id"));
    assert_int_equal(f.sessions, 0);
    assert_int_equal(f.endpoint->sessions.count, 0);
    visit_done(&v);
    front_close(&f);
}

static void
D17_a_deleted_session_is_not_found_and_its_requests_end(void **state)
{
    struct visit held, v;
    struct guest g;
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_hello(&f, g.session);
    front_post(&f, &held, as(&g, PLAIN), LEGACY_HOLD("1"));
    front_ask(&f, &v, "DELETE", as(&g, HOST), NULL);
    assert_int_equal(v.status, 200);
    assert_int_equal(v.len, 0);
    assert_int_equal(f.canceled, 1);
    assert_int_equal(held.replies + held.ends, 1);
    visit_done(&held);
    visit_done(&v);
    front_post(&f, &v, as(&g, PLAIN), LEGACY_CALL("2"));
    assert_int_equal(v.status, 404);
    visit_assert_id(&v, "2");
    visit_done(&v);
    front_ask(&f, &v, "DELETE", as(&g, HOST), NULL);
    assert_int_equal(v.status, 404);
    visit_done(&v);
    front_ask(&f, &v, "DELETE", HOST, NULL);
    assert_int_equal(v.status, 400);
    visit_done(&v);
    front_ask(&f, &v, "GET", as(&g, HOST), NULL);
    assert_int_equal(v.status, 404);
    visit_done(&v);
    front_close(&f);
}

static void
a_get_listens_to_its_session(void **state)
{
    struct guest g;
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_hello(&f, g.session);
    front_ask(&f, &v, "GET", as(&g, HOST BOTH VERSION("v9")), NULL);
    assert_int_equal(v.status, 400);
    assert_int_equal(visit_code(&v), -32022);
    visit_done(&v);
    front_ask(&f, &v, "GET", as(&g, HOST BOTH VERSION(OLD)), NULL);
    assert_int_equal(v.opens, 1);
    assert_int_equal(v.status, 200);
    assert_string_equal(v.type, "text/event-stream");
    mcpi_turn_gone(&v.turn);
    front_run(&f);
    visit_done(&v);
    front_close(&f);
}

static void
D12_a_lost_connection_cancels_nothing_in_a_session(void **state)
{
    struct visit held;
    struct guest g;
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_hello(&f, g.session);
    front_post(&f, &held, as(&g, PLAIN), LEGACY_HOLD("1"));
    mcpi_turn_gone(&held.turn);
    front_run(&f);
    assert_int_equal(f.told, 0);
    front_let_go(&f);
    front_run(&f);
    visit_done(&held);
    front_close(&f);
}

static void
a_full_session_says_429_and_too_many_sessions_503(void **state)
{
    struct visit held, v;
    struct guest g;
    struct front f;

    (void)state;
    front_init(&f);
    f.limits.in_flight = 1;
    f.http.sessions = 1;
    front_open(&f);
    front_hello(&f, g.session);
    front_post(&f, &held, as(&g, PLAIN), LEGACY_HOLD("1"));
    front_post(&f, &v, as(&g, PLAIN), LEGACY_CALL("2"));
    assert_int_equal(v.status, 429);
    assert_true(visit_says(&v, "Retry-After"));
    visit_assert_id(&v, "2");
    visit_done(&v);
    front_post(&f, &v, PLAIN, HELLO);
    assert_int_equal(v.status, 503);
    assert_true(visit_says(&v, "Retry-After"));
    visit_done(&v);
    front_let_go(&f);
    front_run(&f);
    visit_done(&held);
    front_close(&f);
}

/* ---- without sessions ---------------------------------------------------- */

static void
stateless_clients_need_no_handshake(void **state)
{
    static const struct row rows[] = {
        {PLAIN, HELLO, 200, 0, "0"},
        {PLAIN, HELLO, 200, 0, "0"},
        {PLAIN, NOTE("notifications/initialized", "{}"), 202, 0, NULL},
        {PLAIN, CANCEL("1"), 202, 0, NULL},
        {PLAIN, RESULT("1", "{}"), 400, -32600, NULL},
        {PLAIN, ERROR("1", "-1"), 400, -32600, NULL},
        {PLAIN VERSION(OLD), LEGACY_CALL("1"), 200, 0, "1"},
        {PLAIN "Mcp-Session-Id: old\n", LEGACY_CALL("1"), 200, 0, "1"},
        {PLAIN VERSION("v9"), LEGACY_CALL("1"), 400, -32022, "1"},
        {MODERN_T, MODERN_CALL("1"), 200, 0, "1"},
    };
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    f.http.stateless = true;
    front_open(&f);
    CHECK_ALL(&f, rows);
    assert_int_equal(f.noted, 1); /* and no cancel */
    front_post(&f, &v, PLAIN VERSION(OLD), LEGACY_CALL("1"));
    assert_string_equal(f.version, OLD);
    visit_done(&v);
    front_post(&f, &v, PLAIN, LEGACY_CALL("1"));
    assert_string_equal(f.version, "2025-03-26");
    visit_done(&v);
    front_close(&f);
}

static void
stateless_clients_are_named_no_session(void **state)
{
    static const struct row rows[] = {
        {PLAIN, HELLO, 200, 0, "0"},
        {PLAIN, NOTE("notifications/initialized", "{}"), 202, 0, NULL},
        {PLAIN VERSION(OLD), LEGACY_CALL("1"), 200, 0, "1"},
        {PLAIN "Mcp-Session-Id: old\n", LEGACY_CALL("1"), 200, 0, "1"},
    };
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    f.http.stateless = true;
    front_open(&f);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        front_post(&f, &v, rows[i].headers, rows[i].body);
        assert_int_equal(v.status, rows[i].status);
        assert_false(visit_says(&v, "Mcp-Session-Id"));
        visit_done(&v);
    }
    front_close(&f);
}

static void
D16_a_stateless_client_that_leaves_cancels_unless_told_otherwise(void **state)
{
    struct visit held;
    struct front f;

    (void)state;
    for (int runs_on = 0; runs_on < 2; runs_on++) {
        front_init(&f);
        f.http.stateless = true;
        f.http.stateless_runs_on = runs_on;
        front_open(&f);
        front_post(&f, &held, PLAIN, LEGACY_HOLD("1"));
        mcpi_turn_gone(&held.turn);
        front_run(&f);
        assert_int_equal(f.canceled, !runs_on);
        if (runs_on)
            front_let_go(&f);
        front_run(&f);
        visit_done(&held);
        front_close(&f);
    }
}

/* ---- memory -------------------------------------------------------------- */

struct flow {
    const char *headers, *body;
    bool stateless;
    int status; /* with memory */
};

static void
serve_with(struct test_mem *mem, void *user)
{
    static const char *const kept[] = {"accept", NULL};
    const struct flow *flow = user;
    struct front f;
    struct visit v;
    int r;

    front_init(&f);
    f.mem = mem;
    f.http.stateless = flow->stateless;
    f.http.headers = kept;
    r = front_try_open(&f);
    if (r == 0) {
        front_post(&f, &v, flow->headers, flow->body);
        assert_int_equal(v.replies + v.ends + v.aborts, 1);
        if (v.replies)
            assert_true(v.status == flow->status || v.status == 503 ||
                        visit_code(&v) == -32603);
        visit_done(&v);
    } else {
        assert_int_equal(r, MCP_E_NOMEM);
    }
    front_close(&f);
}

/* A handshake, a call, a cancel, the end: each is served or refused. */
static void
session_with(struct test_mem *mem, void *user)
{
    struct guest g = {.session = ""};
    struct visit v, held;
    const char *said;
    struct front f;

    (void)user;
    front_init(&f);
    f.mem = mem;
    if (front_try_open(&f) == 0) {
        front_post(&f, &v, PLAIN, HELLO);
        said = strstr(v.said, "Mcp-Session-Id: ");
        if (said)
            (void)snprintf(g.session, sizeof g.session, "%s", said);
        visit_done(&v);
    }
    if (*g.session) {
        front_post(&f, &held, as(&g, PLAIN), LEGACY_HOLD("1"));
        front_post(&f, &v, as(&g, PLAIN), CANCEL("1"));
        assert_true(v.status == 202 || v.status == 503 || v.status == 404);
        visit_done(&v);
        front_ask(&f, &v, "DELETE", as(&g, PLAIN), NULL);
        assert_true(v.status == 200 || v.status == 404);
        assert_int_equal(held.replies + held.ends + held.aborts, 1);
        visit_done(&held);
        visit_done(&v);
    }
    front_close(&f);
}

static void
want_of_memory_costs_one_request(void **state)
{
    static struct flow flows[] = {
        {MODERN_T, MODERN_CALL("1"), false, 200},
        {MODERN METHOD("tools/call") NAME("=?base64?dA==?="), MODERN_CALL("1"), false,
         200},
        {PLAIN, HELLO, false, 200},
        {PLAIN, LEGACY_CALL("1"), true, 200},
        {PLAIN VERSION("v9"), LEGACY_CALL("1"), false, 400},
    };

    (void)state;
    for (size_t i = 0; i < sizeof flows / sizeof flows[0]; i++)
        test_each_allocation_fails(serve_with, &flows[i]);
    test_each_allocation_fails(session_with, NULL);
}

/* A carrier may free its turn as soon as it has its last word: somebody on another loop
 * does. */
static bool
reply_and_vanish(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    assert_true(out->status >= 200);
    free(turn);
    return true;
}

static void
nobody_touches_a_turn_that_was_answered(void **state)
{
    static const struct mcpi_turn_ops ops = {.reply = reply_and_vanish};
    static const struct row rows[] = {
        {MODERN_T, CALL("1", STAMPED(NOW)), 200, 0, NULL},
        {MODERN_T, "{", 400, 0, NULL},
        {MODERN METHOD("tools/list"), CALL("1", STAMPED(NOW)), 400, 0, NULL},
        {PLAIN, HELLO, 200, 0, NULL},
        {PLAIN, REQUEST("1", "tools/list", "{}"), 400, 0, NULL},
    };
    struct mcpi_turn *turn;
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    front_open(&f);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        visit_init(&v, "POST", "/mcp", rows[i].headers, rows[i].body);
        turn = calloc(1, sizeof(*turn));
        assert_non_null(turn);
        turn->ops = &ops;
        mcpi_endpoint_serve(f.endpoint, turn, &v.in); /* a sanitizer looks on */
        front_run(&f);
        visit_done(&v);
    }
    front_close(&f);
}

TEST_MAIN(TEST(what_is_no_message_is_refused_with_its_code),
          TEST(half_of_a_surrogate_pair_or_a_byte_order_mark_is_no_reason_to_refuse),
          TEST(what_is_too_deep_or_too_long_is_refused),
          TEST(the_era_is_what_header_and_stamp_say),
          TEST(a_version_that_is_not_served_is_answered_with_those_that_are),
          TEST(a_modern_server_refuses_who_is_not),
          TEST(a_legacy_server_refuses_who_is_not),
          TEST(headers_must_say_what_the_message_says),
          TEST(mirrored_parameters_are_somebody_elses_to_check),
          TEST(E24_a_posted_cancel_is_accepted_and_dropped),
          TEST(E28_equal_ids_of_two_callers_never_meet),
          TEST(E19_a_client_that_leaves_cancels_its_request_alone_in_json_mode_too),
          TEST(H22_a_listen_needs_a_client_that_takes_a_stream),
          TEST(json_mode_needs_a_client_that_takes_json),
          TEST(a_full_server_says_when_to_come_back),
          TEST(D13_notes_and_answers_of_a_session_are_accepted_at_once),
          TEST(D13_a_cancel_stays_in_its_session),
          TEST(an_answer_that_is_no_message_ends_what_a_session_asked),
          TEST(a_session_is_negotiated_once),
          TEST(a_refused_handshake_leaves_no_session),
          TEST(D17_a_deleted_session_is_not_found_and_its_requests_end),
          TEST(a_get_listens_to_its_session),
          TEST(D12_a_lost_connection_cancels_nothing_in_a_session),
          TEST(a_full_session_says_429_and_too_many_sessions_503),
          TEST(stateless_clients_need_no_handshake),
          TEST(stateless_clients_are_named_no_session),
          TEST(D16_a_stateless_client_that_leaves_cancels_unless_told_otherwise),
          TEST(want_of_memory_costs_one_request),
          TEST(nobody_touches_a_turn_that_was_answered))
