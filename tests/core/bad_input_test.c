/* bad_input_test.c - what is no message, or no good one: the right error, or silence,
 * and nothing else lost */
#include <stdio.h>
#include <string.h>

#include "support/messages.h"
#include "support/world.h"

static enum mcpi_era modern = MCPI_ERA_MODERN, legacy = MCPI_ERA_LEGACY;

struct bad {
    const char *name;
    const char *line;
    int code;       /* that a server answers; 0: silence */
    const char *id; /* JSON text of the id in that answer; NULL: none */
};

#define MESSAGE(members) "{\"jsonrpc\":\"2.0\"," members "}"
#define METHOD "\"method\":\"tools/call\""
#define NESTED_16 "[[[[[[[[[[[[[[[["
#define NESTED_144                                                                  \
    NESTED_16 NESTED_16 NESTED_16 NESTED_16 NESTED_16 NESTED_16 NESTED_16 NESTED_16 \
        NESTED_16
#define CLOSED_16 "]]]]]]]]]]]]]]]]"
#define CLOSED_144                                                                  \
    CLOSED_16 CLOSED_16 CLOSED_16 CLOSED_16 CLOSED_16 CLOSED_16 CLOSED_16 CLOSED_16 \
        CLOSED_16

/* Wrong in either era and to either side. */
static const struct bad envelopes[] = {
    {"an open brace", "{", -32700, NULL},
    {"no JSON", "Listening on port 8080", -32700, NULL},
    {"two values", "{} {}", -32700, NULL},
    {"a single quote", "{'jsonrpc':'2.0'}", -32700, NULL},
    {"a trailing comma", "{\"jsonrpc\":\"2.0\",}", -32700, NULL},
    {"not UTF-8", MESSAGE("\"id\":5000,\"method\":\"\xff\xfe\""), -32700, "5000"},
    {"overlong UTF-8", MESSAGE("\"id\":5000,\"method\":\"\xc0\xaf\""), -32700, "5000"},
    {"an id with half a surrogate pair", MESSAGE("\"id\":\"\\ud800\"," METHOD), -32600,
     NULL},
    {"too deep", REQUEST("5000", "tools/call", "{\"x\":" NESTED_144 CLOSED_144 "}"),
     -32600, "5000"},
    {"NaN among params", REQUEST("5000", "tools/call", "{\"x\":NaN}"), -32700, "5000"},
    {"NaN before the id", "{" METHOD ",\"params\":{\"x\":NaN},\"id\":5000}", -32700,
     "5000"},
    {"NaN and no id", NOTE("notifications/x", "{\"x\":NaN}"), -32700, NULL},
    {"NaN and two ids", MESSAGE("\"id\":5000," METHOD ",\"x\":NaN,\"id\":6"), -32700,
     NULL},
    {"cut behind the id", "{\"jsonrpc\":\"2.0\",\"id\":5000," METHOD ",\"par", -32700,
     "5000"},
    {"NaN in an answer for nobody", RESULT("4711", "{\"x\":NaN}"), 0, NULL},
    {"an empty batch", "[]", -32600, NULL},
    {"a batch", "[" LEGACY_CALL("5000") "," LEGACY_CALL("6") "]", -32600, NULL},
    {"a number", "42", -32600, NULL},
    {"a string", "\"hello\"", -32600, NULL},
    {"null", "null", -32600, NULL},
    {"an empty object", "{}", -32600, NULL},
    {"an id alone", MESSAGE("\"id\":5000"), -32600, "5000"},
    {"no jsonrpc", "{\"id\":5000," METHOD "}", -32600, "5000"},
    {"jsonrpc 1.0", "{\"jsonrpc\":\"1.0\",\"id\":5000," METHOD "}", -32600, "5000"},
    {"jsonrpc a number", "{\"jsonrpc\":2.0,\"id\":5000," METHOD "}", -32600, "5000"},
    {"method a number", MESSAGE("\"id\":5000,\"method\":7"), -32600, "5000"},
    {"method null", MESSAGE("\"id\":\"five\",\"method\":null"), -32600, "\"five\""},
    {"method and result", MESSAGE("\"id\":5000," METHOD ",\"result\":{}"), -32600,
     "5000"},
    {"method and error", MESSAGE("\"id\":5000," METHOD ",\"error\":{}"), -32600,
     "5000"},
    {"id null", MESSAGE("\"id\":null," METHOD), -32600, NULL},
    {"id true", MESSAGE("\"id\":true," METHOD), -32600, NULL},
    {"id a fraction", MESSAGE("\"id\":1.5," METHOD), -32600, NULL},
    {"id 1.0", MESSAGE("\"id\":1.0," METHOD), -32600, "1.0"},
    {"id an exponent", MESSAGE("\"id\":1e3," METHOD), -32600, "1000.0"},
    {"id beyond 64 bits", MESSAGE("\"id\":18446744073709551616," METHOD), -32600, NULL},
    {"id an array", MESSAGE("\"id\":[5000]," METHOD), -32600, NULL},
    {"id an object", MESSAGE("\"id\":{}," METHOD), -32600, NULL},
    {"params an array", REQUEST("5000", "tools/call", "[]"), -32602, "5000"},
    {"params a string", REQUEST("5000", "tools/call", "\"x\""), -32602, "5000"},
    {"params null", REQUEST("5000", "tools/call", "null"), -32602, "5000"},
    {"id twice", MESSAGE("\"id\":5000,\"id\":6," METHOD), -32600, NULL},
    {"method twice", MESSAGE("\"id\":5000," METHOD "," METHOD), -32600, "5000"},
    {"params twice", MESSAGE("\"id\":5000," METHOD ",\"params\":{},\"params\":{}"),
     -32600, "5000"},
    {"an unknown member twice", MESSAGE("\"id\":5000," METHOD ",\"x\":1,\"x\":2"),
     -32600, "5000"},
    {"a key of params twice", REQUEST("5000", "tools/call", "{\"name\":1,\"name\":2}"),
     -32602, "5000"},
    {"_meta twice", REQUEST("5000", "tools/call", "{\"_meta\":{},\"_meta\":{}}"),
     -32602, "5000"},
    {"_meta an array", REQUEST("5000", "tools/call", "{\"_meta\":[]}"), -32602, "5000"},
    {"_meta null", REQUEST("5000", "tools/call", "{\"_meta\":null}"), -32602, "5000"},
    {"a key of _meta twice",
     REQUEST("5000", "tools/call", "{\"_meta\":{\"a\":1,\"a\":2}}"), -32602, "5000"},
    {"log level a number",
     REQUEST("5000", "tools/call", "{\"_meta\":{" META_KEY("logLevel") ":3}}"), -32602,
     "5000"},
    {"version a number",
     REQUEST("5000", "tools/call",
             "{\"_meta\":{" META_KEY("protocolVersion") ":2026}}"),
     -32602, "5000"},
    {"notification with params an array", NOTE("notifications/progress", "[]"), 0,
     NULL},
    {"notification without jsonrpc", "{" METHOD "}", 0, NULL},
    {"notification nobody knows", NOTE("notifications/nonsense", "{}"), 0, NULL},
    {"notification with a key twice", MESSAGE(METHOD "," METHOD), 0, NULL},
    {"progress for nobody",
     NOTE("notifications/progress", "{\"progressToken\":true,\"progress\":\"x\"}"), 0,
     NULL},
    {"result without an id", MESSAGE("\"result\":{}"), 0, NULL},
    {"result with id null", MESSAGE("\"id\":null,\"result\":{}"), 0, NULL},
    {"result no object", RESULT("1", "17"), 0, NULL},
    {"result and error", MESSAGE("\"id\":1,\"result\":{},\"error\":{}"), 0, NULL},
    {"result twice", MESSAGE("\"id\":1,\"result\":{},\"result\":{}"), 0, NULL},
    {"result for nobody", RESULT("4711", "{}"), 0, NULL},
    {"error for nobody", ERROR("4711", "-32603"), 0, NULL},
    {"error no object", MESSAGE("\"id\":1,\"error\":\"failed\""), 0, NULL},
    {"error without a code", MESSAGE("\"id\":1,\"error\":{\"message\":\"m\"}"), 0,
     NULL},
    {"error code no integer", MESSAGE("\"id\":1,\"error\":{\"code\":\"1\"}"), 0, NULL},
    {"error code too large", ERROR("1", "99999999999"), 0, NULL},
};
enum { ENVELOPES = sizeof(envelopes) / sizeof(envelopes[0]) };

/* What a server of the modern era makes of a request's _meta. */
#define WITH_META(members) REQUEST("5000", "tools/call", "{\"_meta\":{" members "}}")
static const struct bad stamps[] = {
    {"no capabilities", WITH_META(META_KEY("protocolVersion") ":\"2026-07-28\""),
     -32602, "5000"},
    {"capabilities an array",
     WITH_META(META_KEY("protocolVersion") ":\"2026-07-28\"," META_KEY(
         "clientCapabilities") ":[]"),
     -32602, "5000"},
    {"capabilities null",
     WITH_META(META_KEY("protocolVersion") ":\"2026-07-28\"," META_KEY(
         "clientCapabilities") ":null"),
     -32602, "5000"},
    {"client info a string",
     WITH_META(META_KEY("protocolVersion") ":\"2026-07-28\"," META_KEY(
         "clientInfo") ":\"me\"," META_KEY("clientCapabilities") ":{}"),
     -32602, "5000"},
    {"version with a NUL inside",
     WITH_META(META_KEY("protocolVersion") ":\"2026-07-28\\u0000\"," META_KEY(
         "clientCapabilities") ":{}"),
     -32602, "5000"},
    {"version unknown",
     WITH_META(META_KEY("protocolVersion") ":\"1900-01-01\"," META_KEY(
         "clientCapabilities") ":{}"),
     -32022, "5000"},
    {"version empty",
     WITH_META(
         META_KEY("protocolVersion") ":\"\"," META_KEY("clientCapabilities") ":{}"),
     -32022, "5000"},
    {"version of the other era",
     WITH_META(META_KEY("protocolVersion") ":\"2025-11-25\"," META_KEY(
         "clientCapabilities") ":{}"),
     -32022, "5000"},
    {"method unknown", REQUEST("5000", "no/such", "{" STAMP "}"), -32601, "5000"},
    {"method empty", REQUEST("5000", "", "{}"), -32602, "5000"},
};
enum { STAMPS = sizeof(stamps) / sizeof(stamps[0]) };

/* The answer of that side to one of these. */
static void
check_answer(struct world *w, int side, const struct bad *bad, int code)
{
    char code_text[32], id_text[64];
    const char *sent;

    if (w->sent_count[side] != (code != 0))
        fail_msg("%s: %zu answers", bad->name, w->sent_count[side]);
    if (code == 0)
        return;
    sent = world_sent(w, side, 0);
    snprintf(code_text, sizeof(code_text), "\"error\":{\"code\":%d,", code);
    snprintf(id_text, sizeof(id_text), "\"id\":%s,", bad->id ? bad->id : "");
    if (!strstr(sent, code_text))
        fail_msg("%s: answered %s", bad->name, sent);
    if (bad->id ? !strstr(sent, id_text) : strstr(sent, "\"id\"") != NULL)
        fail_msg("%s: answered %s", bad->name, sent);
}

/* Each line to a server that works on a request, which is answered afterwards. */
static void
feed_server(const struct world_options *opt, const struct bad *table, size_t count)
{
    struct world w;
    struct outcome out;

    world_start_with(&w, opt);
    for (size_t i = 0; i < count; i++) {
        world_plain_call(&w, &out);
        world_run(&w);
        world_forget(&w);
        world_inject(&w, CLIENT, table[i].line);
        world_run(&w);
        check_answer(&w, SERVER, &table[i], table[i].code);
        if (world_job(&w, SERVER)->told || out.done)
            fail_msg("%s: harmed another request", table[i].name);
        job_finish(&w, world_job(&w, SERVER), "{}");
        world_run(&w);
        if (out.status != 0 || out.done != 1)
            fail_msg("%s: lost another request", table[i].name);
        outcome_done(&out);
    }
    assert_int_equal(w.closed[SERVER], 0);
    world_assert_quiet(&w);
    world_close(&w);
}

static void
C11_server_gives_bad_messages_the_right_error_or_none(void **state)
{
    struct world_options opt = {.client_era = *(enum mcpi_era *)*state};

    feed_server(&opt, envelopes, ENVELOPES);
}

static void
modern_server_answers_bad_stamps_with_the_right_error(void **state)
{
    struct world_options opt = {.client_era = MCPI_ERA_MODERN,
                                .server_era = MCPI_ERA_MODERN};

    (void)state;
    feed_server(&opt, stamps, STAMPS);
    opt.server_era = MCPI_ERA_BOTH;
    feed_server(&opt, stamps, STAMPS);
}

static void
legacy_server_does_not_know_unknown_methods(void **state)
{
    static const struct bad table[] = {
        {"unknown", REQUEST("5000", "no/such", "{}"), -32601, "5000"},
        {"unknown and stamped", REQUEST("6", "no/such", "{" STAMP "}"), -32601, "6"},
    };
    struct world_options opt = {.client_era = MCPI_ERA_LEGACY,
                                .server_era = MCPI_ERA_LEGACY};

    (void)state;
    feed_server(&opt, table, 2);
}

/* Each line to a client that waits for an answer, which comes afterwards. A modern
 * client writes nothing; a legacy one answers only what has an id. */
static void
C4_C11_client_is_not_drawn_into_conversation_by_nonsense(void **state)
{
    bool answers = *(enum mcpi_era *)*state == MCPI_ERA_LEGACY;
    struct world w;
    struct outcome out;

    world_start(&w, *(enum mcpi_era *)*state);
    for (size_t i = 0; i < ENVELOPES; i++) {
        const struct bad *bad = &envelopes[i];

        world_plain_call(&w, &out);
        world_run(&w);
        world_forget(&w);
        world_inject(&w, SERVER, bad->line);
        world_run(&w);
        check_answer(&w, CLIENT, bad, answers && bad->id ? bad->code : 0);
        if (out.done)
            fail_msg("%s: harmed a call", bad->name);
        job_finish(&w, world_job(&w, SERVER), "{}");
        world_run(&w);
        if (out.status != 0 || out.done != 1)
            fail_msg("%s: lost a call", bad->name);
        outcome_done(&out);
    }
    assert_int_equal(w.closed[CLIENT], 0);
    assert_int_equal(w.job_count[CLIENT], 0);
    world_close(&w);
}

/* ---- what is good enough --------------------------------------------------- */

#define HALF "\\ud83d"
#define U_FFFD "\xef\xbf\xbd"

static void
half_of_a_surrogate_pair_costs_a_server_one_warning(void **state)
{
    static const char line[] = REQUEST("5000", "tools/call",
                                       "{\"name\":\"cut " HALF "\"}");
    const mcp_json *params;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_run(&w);
    world_forget(&w);
    world_inject(&w, CLIENT, line);
    world_run(&w);
    params = world_job(&w, SERVER)->x->rpc.params;
    assert_true(mcp_json_is_string(mcp_json_get(params, "name"), "cut " U_FFFD));
    assert_true(world_logged(&w, 'W', "surrogate"));
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_forget(&w);
    world_inject(&w, CLIENT, line);
    world_run(&w);
    assert_false(world_logged(&w, 'W', "surrogate"));
    assert_int_equal(w.closed[SERVER], 0);
    world_close(&w);
}

/* A result for the one request that the server works on, with something in front. */
static void
inject_result(struct world *w, const char *before, const char *result)
{
    const struct mcpi_id *id = &world_job(w, SERVER)->x->rpc.id;
    char line[4000];

    assert_int_equal(id->kind, MCPI_ID_INT);
    (void)snprintf(line, sizeof(line),
                   "%s{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}", before,
                   (int)id->number, result);
    world_inject(w, SERVER, line);
    world_run(w);
}

static void
half_of_a_surrogate_pair_costs_a_client_one_warning(void **state)
{
    struct outcome out;
    struct world w;

    world_start(&w, *(enum mcpi_era *)*state);
    world_plain_call(&w, &out);
    world_run(&w);
    inject_result(&w, "", "{\"x\":\"" HALF "\"}");
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, 0);
    assert_string_equal(out.result, "{\"x\":\"" U_FFFD "\"}");
    assert_true(world_logged(&w, 'W', "surrogate"));
    outcome_done(&out);
    world_close(&w);
}

static void
an_answer_that_names_a_key_twice_ends_its_call(void **state)
{
    struct outcome out;
    struct world w;

    world_start(&w, *(enum mcpi_era *)*state);
    world_plain_call(&w, &out);
    world_run(&w);
    inject_result(&w, "", "{},\"result\":{}");
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_PROTO);
    outcome_done(&out);
    world_close(&w);
}

/* Whoever waits for it must not wait for ever; and nobody else ends with it. */
static void
an_answer_that_cannot_be_parsed_ends_its_call_and_no_other(void **state)
{
    static const char *const results[] = {
        "{\"x\":NaN}",
        "{\"x\":\"\xff\"}",
        "{\"x\":" NESTED_144 CLOSED_144 "}",
        "{\"x\":\"say \"hi\"\"}",
        "{}}",
    };
    struct outcome out, other;
    struct world w;

    world_start(&w, *(enum mcpi_era *)*state);
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        world_plain_call(&w, &other);
        world_run(&w);
        world_plain_call(&w, &out);
        world_run(&w);
        inject_result(&w, "", results[i]);
        if (out.done != 1 || out.status != MCP_E_PROTO)
            fail_msg("%s: the call goes on", results[i]);
        assert_int_equal(other.done, 0);
        job_finish(&w, &w.jobs[SERVER][2 * i], "{}");
        job_finish(&w, &w.jobs[SERVER][2 * i + 1], "{}"); /* late */
        world_run(&w);
        assert_int_equal(other.status, 0);
        assert_int_equal(other.done, 1);
        outcome_done(&out);
        outcome_done(&other);
    }
    assert_int_equal(w.closed[CLIENT], 0);
    world_close(&w);
}

/* No more of it is kept than its beginning. */
static void
C11_an_oversized_answer_ends_its_call(void **state)
{
    struct world_options opt = {.client_era = MCPI_ERA_LEGACY,
                                .limits = {.message_bytes = 2000}};
    struct outcome out;
    char result[3000];
    struct world w;

    (void)state;
    world_start_with(&w, &opt);
    world_plain_call(&w, &out);
    world_run(&w);
    memset(result, 'x', sizeof(result));
    memcpy(result, "{\"x\":\"", 6);
    memcpy(result + sizeof(result) - 3, "\"}", 3);
    inject_result(&w, "", result);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_PROTO);
    assert_int_equal(w.closed[CLIENT], 0);
    outcome_done(&out);
    world_close(&w);
}

static void
C11_an_oversized_request_is_refused_under_its_id(void **state)
{
    struct world_options opt = {.client_era = MCPI_ERA_LEGACY,
                                .limits = {.message_bytes = 2000}};
    char line[3000];
    struct world w;

    (void)state;
    world_start_with(&w, &opt);
    world_run(&w);
    world_forget(&w);
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    memcpy(line, LEGACY_CALL("5000"), strlen(LEGACY_CALL("5000")) - 3);
    world_inject(&w, CLIENT, line);
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 1);
    assert_non_null(
        strstr(world_sent(&w, SERVER, 0), "\"id\":5000,\"error\":{\"code\":-32600"));
    world_close(&w);
}

/* Two ids that were different may read the same now. */
static void
A12_an_id_with_half_of_a_surrogate_pair_matches_nothing(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_run(&w);
    world_inject(&w, CLIENT, LEGACY_CALL("\"" U_FFFD "\""));
    world_inject(&w, CLIENT, CANCEL("\"" HALF "\""));
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 0);
    world_inject(&w, CLIENT, CANCEL("\"" U_FFFD "\""));
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    world_close(&w);
}

static void
a_byte_order_mark_in_front_is_passed_over(void **state)
{
    struct outcome out;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_inject(&w, CLIENT, "\xef\xbb\xbf" MODERN_CALL("5000"));
    world_run(&w);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_plain_call(&w, &out);
    world_run(&w);
    inject_result(&w, "\xef\xbb\xbf", "{}");
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, 0);
    outcome_done(&out);
    world_close(&w);
}

/* ---------------------------------------------------------------------------- */

static void
C11_bad_message_is_reported(void **state)
{
    struct world w;

    world_start(&w, *(enum mcpi_era *)*state);
    world_inject(&w, SERVER, "Listening on port 8080");
    world_run(&w);
    assert_true(world_logged(&w, 'W', "not a message"));
    world_forget(&w);
    world_inject(&w, SERVER, "[]");
    world_run(&w);
    assert_true(world_logged(&w, 'W', "batches are not supported"));
    world_close(&w);
}

static void
C11_oversized_line_is_refused_and_the_next_one_served(void **state)
{
    struct world w;
    struct world_options opt = {.client_era = MCPI_ERA_MODERN,
                                .limits = {.message_bytes = 2000}};
    char line[3000];

    (void)state;
    world_start_with(&w, &opt);
    world_inject(&w, CLIENT, MODERN_CALL("1"));
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    memcpy(line, MODERN_CALL("2"), 20);
    world_inject(&w, CLIENT, line);
    world_inject(&w, CLIENT, MODERN_CALL("3"));
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 2);
    assert_int_equal(w.sent_count[SERVER], 1);
    assert_non_null(strstr(world_sent(&w, SERVER, 0), "\"code\":-32600"));
    assert_null(strstr(world_sent(&w, SERVER, 0), "\"id\""));
    job_finish(&w, &w.jobs[SERVER][0], "{}");
    job_finish(&w, &w.jobs[SERVER][1], "{}");
    world_run(&w);
    assert_int_equal(world_count_sent(&w, SERVER, "\"id\":1,\"result\""), 1);
    assert_int_equal(world_count_sent(&w, SERVER, "\"id\":3,\"result\""), 1);
    world_close(&w);
}

static void
line_with_a_NUL_byte_is_a_parse_error(void **state)
{
    static const char line[] = MODERN_CALL("5000");
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    /* Its last byte is the terminator. */
    assert_int_equal(mcpi_pair_inject(w.end[CLIENT], line, sizeof(line)), sizeof(line));
    assert_int_equal(mcpi_pair_inject(w.end[CLIENT], "\n", 1), 1);
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 0);
    assert_int_equal(world_count_sent(&w, SERVER, "\"code\":-32700"), 1);
    world_close(&w);
}

static void
empty_lines_and_carriage_returns_are_no_messages(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_inject(&w, CLIENT, "");
    world_inject(&w, CLIENT, "\r");
    world_inject(&w, CLIENT, MODERN_CALL("5000") "\r");
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 1);
    assert_int_equal(w.sent_count[SERVER], 0);
    world_close(&w);
}

static void
half_a_line_at_EOF_is_no_message(void **state)
{
    static const char half[] = "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools";
    struct world w;

    world_start(&w, *(enum mcpi_era *)*state);
    world_inject(&w, CLIENT,
                 *(enum mcpi_era *)*state == MCPI_ERA_MODERN ? MODERN_CALL("5000")
                                                             : LEGACY_CALL("5000"));
    assert_int_equal(mcpi_pair_inject(w.end[CLIENT], half, sizeof(half) - 1),
                     sizeof(half) - 1);
    mcpi_pair_shutdown(w.end[CLIENT], w.now);
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 1);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    assert_int_equal(world_count_sent(&w, SERVER, "\"id\":5000,\"result\""), 1);
    assert_int_equal(world_count_sent(&w, SERVER, "\"id\":6"), 0);
    assert_int_equal(w.closed[SERVER], 1);
    world_close(&w);
}

static void
unknown_version_is_refused_with_what_we_speak(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_inject(&w, CLIENT,
                 WITH_META(META_KEY("protocolVersion") ":\"1900-01-01\"," META_KEY(
                     "clientCapabilities") ":{}"));
    world_run(&w);
    assert_non_null(
        strstr(world_sent(&w, SERVER, 0),
               "\"message\":\"Unsupported protocol version\",\"data\":"
               "{\"supported\":[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\","
               "\"2025-03-26\",\"2024-11-05\"],\"requested\":\"1900-01-01\"}"));
    world_close(&w);
}

static void
hostile_method_names_are_refused_and_cut(void **state)
{
    struct world w;
    char line[2000] = "{\"jsonrpc\":\"2.0\",\"id\":5000,\"method\":\"no/";

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    for (int i = 0; i < 300; i++)
        strcat(line, "\xc3\xa4");
    strcat(line, "\"}");
    world_inject(&w, CLIENT, line);
    world_inject(&w, CLIENT, REQUEST("6", "no/\\n\\\"\\u0000x", "{}"));
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 2);
    assert_non_null(strstr(world_sent(&w, SERVER, 0), "\"code\":-32601"));
    assert_true(strlen(world_sent(&w, SERVER, 0)) < 400);
    assert_non_null(strstr(world_sent(&w, SERVER, 1), "\"code\":-32601"));
    world_close(&w);
}

/* clang-format off */
#define IN_BOTH_ERAS(function) \
    TEST_AS("modern." #function, function, &modern), \
    TEST_AS("legacy." #function, function, &legacy)

TEST_MAIN(IN_BOTH_ERAS(C11_server_gives_bad_messages_the_right_error_or_none),
          TEST(modern_server_answers_bad_stamps_with_the_right_error),
          TEST(legacy_server_does_not_know_unknown_methods),
          IN_BOTH_ERAS(C4_C11_client_is_not_drawn_into_conversation_by_nonsense),
          TEST(half_of_a_surrogate_pair_costs_a_server_one_warning),
          IN_BOTH_ERAS(half_of_a_surrogate_pair_costs_a_client_one_warning),
          IN_BOTH_ERAS(an_answer_that_cannot_be_parsed_ends_its_call_and_no_other),
          TEST(C11_an_oversized_answer_ends_its_call),
          TEST(C11_an_oversized_request_is_refused_under_its_id),
          IN_BOTH_ERAS(an_answer_that_names_a_key_twice_ends_its_call),
          TEST(A12_an_id_with_half_of_a_surrogate_pair_matches_nothing),
          TEST(a_byte_order_mark_in_front_is_passed_over),
          IN_BOTH_ERAS(C11_bad_message_is_reported),
          TEST(C11_oversized_line_is_refused_and_the_next_one_served),
          TEST(line_with_a_NUL_byte_is_a_parse_error),
          TEST(empty_lines_and_carriage_returns_are_no_messages),
          IN_BOTH_ERAS(half_a_line_at_EOF_is_no_message),
          TEST(unknown_version_is_refused_with_what_we_speak),
          TEST(hostile_method_names_are_refused_and_cut))
/* clang-format on */
