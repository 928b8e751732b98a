/*
 * envelope_test.c - what goes along with requests and answers: who speaks, _meta,
 * progress, the data of an error
 */
#include <mcp/server.h>
#include <stdio.h>

#include "api/client_fixture.h"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

#define KEY(name) "\"io.modelcontextprotocol/" name "\""

static void
assert_has(const char *line, const char *part)
{
    if (!strstr(line, part))
        fail_msg("no %s in %s", part, line);
}

/* ---- the first words of a client ------------------------------------------ */

static void
a_legacy_client_begins_with_initialize_and_never_probes(void **state)
{
    struct fixture f;

    (void)state;
    fixture_prepare(&f, MCP_ERA_BOTH); /* who would know the other question too */
    f.client = script_client(
        &f.s, &SCRIPT_OPTIONS(.allocator = &f.mem.allocator, .era = MCP_ERA_LEGACY));
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL, NULL, NULL, NULL), 0);
    assert_int_equal(script_place(&f.s, "\"method\":\"initialize\""), 0);
    assert_int_equal(script_place(&f.s, "notifications/initialized"), 1);
    assert_int_equal(script_place(&f.s, "tools/call"), 2);
    assert_int_equal(script_count(&f.s, ""), 3);
    assert_int_equal(script_count(&f.s, "io.modelcontextprotocol"), 0);
    fixture_close(&f);
}

static void
a_client_of_both_eras_asks_once_and_speaks_as_it_is_answered(void **state)
{
    struct fixture f;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    f.client = script_client(&f.s, &SCRIPT_OPTIONS(.allocator = &f.mem.allocator));
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL, NULL, NULL, NULL), 0);
    assert_int_equal(mcp_client_list_tools(f.client, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(mcp_client_notify(f.client, "x/note", NULL), 0);
    (void)script_line(&f.s, "x/note", 1);
    assert_int_equal(script_place(&f.s, "server/discover"), 0);
    assert_int_equal(script_place(&f.s, "\"method\":\"initialize\""), 1);
    assert_int_equal(script_count(&f.s, ""), 6);
    assert_int_equal(script_count(&f.s, "server/discover"), 1);
    assert_int_equal(script_count(&f.s, "io.modelcontextprotocol"), 1);
    assert_int_equal(script_count(&f.s, "2026-07-28"), 1);
    fixture_close(&f);
}

/* Who knows the version beforehand asks for nothing else. */
static void
a_client_that_knows_the_version_begins_with_its_call(void **state)
{
    static const char known[] = "{\"supportedVersions\":[\"2026-07-28\"]}";
    struct fixture f;
    const char *line;

    (void)state;
    fixture_prepare(&f, MCP_ERA_MODERN);
    f.client = script_client(&f.s, &SCRIPT_OPTIONS(.allocator = &f.mem.allocator,
                                                   .era = MCP_ERA_MODERN,
                                                   .discovery = known));
    assert_int_equal(script_count(&f.s, ""), 0);
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL, NULL, NULL, NULL), 0);
    assert_int_equal(script_count(&f.s, ""), 1);
    line = script_line(&f.s, "tools/call", 1);
    assert_has(line, KEY("protocolVersion") ":\"2026-07-28\"");
    assert_has(line, KEY("clientInfo") ":{\"name\":\"test\"");
    assert_has(line, KEY("clientCapabilities"));
    fixture_close(&f);
}

static void
every_request_has_a_stamp_and_no_notification(void **state)
{
    static const char *const methods[] = {"tools/list", "prompts/get", "x/own", "ping"};
    bool is_modern = *(enum mcp_era *)*state == MCP_ERA_MODERN;
    struct fixture f;

    fixture_open(&f, state);
    for (int i = 0; i < 4; i++) {
        char part[64];
        const char *line;

        (void)mcp_client_call(f.client, methods[i], NULL, NULL, NULL, NULL);
        snprintf(part, sizeof part, "\"method\":\"%s\"", methods[i]);
        line = script_line(&f.s, part, 1);
        assert_int_equal(strstr(line, KEY("protocolVersion")) != NULL, is_modern);
        assert_int_equal(strstr(line, KEY("clientInfo")) != NULL, is_modern);
        assert_int_equal(strstr(line, KEY("clientCapabilities")) != NULL, is_modern);
    }
    assert_int_equal(mcp_client_notify(f.client, "x/note", NULL), 0);
    assert_null(strstr(script_line(&f.s, "x/note", 1), "_meta"));
    fixture_close(&f);
}

static void
what_is_the_librarys_own_in_meta_cannot_be_given(void **state)
{
    static const char *const own[] = {"{" KEY("protocolVersion") ":\"1\"}",
                                      "{" KEY("clientInfo") ":{}}",
                                      "{" KEY("clientCapabilities") ":{}}"};
    struct fixture f;

    fixture_open(&f, state);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mcp_client_call(f.client, "x/own", NULL,
                                         &MCP_CALL_OPTIONS(.meta = own[i]), NULL, NULL),
                         MCP_E_INVAL);
    assert_int_equal(script_count(&f.s, "x/own"), 0);
    fixture_close(&f);
}

/* ---- a server of ours, in memory ------------------------------------------ */

struct pairing {
    mcp_server *server;
    mcp_client *client;
};

static int
say_meta(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *meta = mcp_request_meta(req);
    const mcp_json *who = mcp_request_client_info(req);

    (void)user;
    mcp_result_meta(out, "org.example/seen", "{\"deep\":[true]}");
    return mcp_result_textf(
        out, "%s %s %s %s",
        mcp_json_string(mcp_json_get(mcp_json_get(meta, "org.example/a"), "b"), "-"),
        mcp_json_string(mcp_json_get(who, "name"), "-"),
        mcp_json_string(mcp_json_get(who, "version"), "-"),
        mcp_json_string(mcp_json_get(who, "title"), "-"));
}

/* The token as JSON, "-" if there is none. */
static int
say_token(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *token = mcp_json_get(mcp_request_meta(req), "progressToken");
    char *text = NULL;
    int r;

    (void)user;
    if (!token)
        return mcp_result_text(out, "-");
    r = mcp_json_print(token, false, NULL, &text, NULL);
    if (r == 0)
        r = mcp_result_text(out, text);
    mcp_text_free(text, NULL);
    return r;
}

static int
fail_with_data(mcp_request *req, mcp_result *out, void *user)
{
    (void)out;
    (void)user;
    return mcp_request_fail(req, -32077, "{\"list\":[1,{\"a\":null}]}", "not so");
}

/* Three reports above `from`. */
static int
report(mcp_request *req, mcp_result *out, void *user)
{
    int64_t from = mcp_json_int(mcp_json_get(mcp_request_arguments(req), "from"), 0);
    char message[32];
    int r = 0;

    (void)user;
    for (int i = 1; r == 0 && i <= 3; i++) {
        snprintf(message, sizeof message, "step %d", i);
        r = mcp_request_progress(req, (double)(from + i), (double)(from + 3), message);
        if (r == 0)
            r = mcp_request_sleep(req, 5); /* so that the other one is between */
    }
    return r < 0 ? r : mcp_result_text(out, "done");
}

static void
pairing_open(struct pairing *p, void **state)
{
    assert_int_equal(
        mcp_server_new(&MCP_SERVER_OPTIONS(.name = "s", .version = "2", .title = "S"),
                       &p->server, NULL),
        0);
    assert_int_equal(mcp_server_add_tool(
                         p->server, &MCP_TOOL(.name = "meta", .reply = say_meta), NULL),
                     0);
    assert_int_equal(mcp_server_add_tool(p->server,
                                         &MCP_TOOL(.name = "token", .reply = say_token),
                                         NULL),
                     0);
    assert_int_equal(
        mcp_server_add_tool(p->server,
                            &MCP_TOOL(.name = "fail", .reply = fail_with_data), NULL),
        0);
    assert_int_equal(mcp_server_add_tool(
                         p->server, &MCP_TOOL(.name = "report", .run = report), NULL),
                     0);
    assert_int_equal(mcp_server_start(p->server, NULL), 0);
    assert_int_equal(
        mcp_client_attach_server(
            p->server,
            &SCRIPT_OPTIONS(.era = *(enum mcp_era *)*state, .title = "The test"),
            &p->client, NULL),
        0);
}

static void
pairing_close(struct pairing *p)
{
    mcp_client_free(p->client);
    mcp_server_free(p->server);
}

static void
meta_passes_both_ways(void **state)
{
    bool is_modern = *(enum mcp_era *)*state == MCP_ERA_MODERN;
    const mcp_json *meta, *who;
    struct pairing p;
    mcp_reply *reply;

    pairing_open(&p, state);
    assert_int_equal(mcp_client_call_tool(
                         p.client, "meta", NULL,
                         &MCP_CALL_OPTIONS(.meta = "{\"org.example/a\":{\"b\":\"c\"}}"),
                         &reply, NULL),
                     0);
    assert_string_equal(mcp_reply_text(reply), "c test 1 The test");
    meta = mcp_json_get(mcp_reply_result(reply), "_meta");
    assert_true(mcp_json_bool(
        mcp_json_at(mcp_json_get(mcp_json_get(meta, "org.example/seen"), "deep"), 0),
        false));
    assert_int_equal(mcp_json_count(meta), is_modern ? 2 : 1);
    who = is_modern ? mcp_json_get(meta, "io.modelcontextprotocol/serverInfo")
                    : mcp_client_server_info(p.client);
    assert_true(mcp_json_is_string(mcp_json_get(who, "name"), "s"));
    assert_true(mcp_json_is_string(mcp_json_get(who, "version"), "2"));
    assert_true(mcp_json_is_string(mcp_json_get(who, "title"), "S"));
    mcp_reply_free(reply);
    pairing_close(&p);
}

static void
the_data_of_an_error_arrives_as_it_was_given(void **state)
{
    struct pairing p;
    mcp_call *call;
    char *data;

    pairing_open(&p, state);
    assert_int_equal(
        mcp_client_start_tool(p.client, "fail", NULL, NULL, NULL, NULL, &call), 0);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL), MCP_E_PEER);
    assert_int_equal(mcp_call_error(call)->rpc_code, -32077);
    assert_string_equal(mcp_call_error(call)->message, "not so");
    assert_int_equal(
        mcp_json_print(mcp_call_error_data(call), false, NULL, &data, NULL), 0);
    assert_string_equal(data, "{\"list\":[1,{\"a\":null}]}");
    mcp_text_free(data, NULL);
    mcp_call_free(call);
    pairing_close(&p);
}

/* ---- progress -------------------------------------------------------------- */

struct reports { /* written by the callbacks of one call, in order */
    double from;
    int count;
    bool is_wrong;
};

static void
on_report(mcp_call *call, double progress, double total, const char *message,
          void *user)
{
    struct reports *r = user;
    char expected[32];

    (void)call;
    snprintf(expected, sizeof expected, "step %d", ++r->count);
    r->is_wrong |= progress != r->from + r->count || total != r->from + 3 || !message ||
                   strcmp(message, expected) != 0;
}

static void
A18_a_handler_sees_the_token_of_who_listens(void **state)
{
    struct reports none = {0};
    mcp_call_options opt = MCP_CALL_OPTIONS(.on_progress = on_report, .user = &none);
    mcp_reply *reply;
    struct pairing p;
    mcp_call *call;

    pairing_open(&p, state);
    assert_int_equal(mcp_client_call_tool(p.client, "token", NULL, NULL, &reply, NULL),
                     0);
    assert_string_equal(mcp_reply_text(reply), "-");
    mcp_reply_free(reply);
    assert_int_equal(
        mcp_client_start_tool(p.client, "token", NULL, &opt, NULL, NULL, &call), 0);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, &reply, NULL), 0);
    assert_string_equal(mcp_reply_text(reply), mcp_call_id(call));
    mcp_reply_free(reply);
    mcp_call_free(call);
    pairing_close(&p);
}

static mcp_call *
start_report(struct pairing *p, struct reports *r)
{
    char arguments[32];
    mcp_call *call;

    snprintf(arguments, sizeof arguments, "{\"from\":%d}", (int)r->from);
    assert_int_equal(
        mcp_client_start_tool(p->client, "report", arguments,
                              &MCP_CALL_OPTIONS(.on_progress = on_report, .user = r),
                              NULL, NULL, &call),
        0);
    return call;
}

static void
each_call_hears_of_its_own_progress(void **state)
{
    struct reports first = {.from = 0}, second = {.from = 100};
    mcp_call *one, *other;
    struct pairing p;

    pairing_open(&p, state);
    one = start_report(&p, &first);
    other = start_report(&p, &second);
    assert_string_not_equal(mcp_call_id(one), mcp_call_id(other));
    assert_int_equal(mcp_call_wait(one, MCP_TIMEOUT_NONE, NULL, NULL), 0);
    assert_int_equal(mcp_call_wait(other, MCP_TIMEOUT_NONE, NULL, NULL), 0);
    assert_int_equal(first.count, 3);
    assert_int_equal(second.count, 3);
    assert_false(first.is_wrong || second.is_wrong);
    mcp_call_free(one);
    mcp_call_free(other);
    pairing_close(&p);
}

/* clang-format off */
#define IN_BOTH_ERAS(function) \
    TEST_AS("modern." #function, function, &modern), \
    TEST_AS("legacy." #function, function, &legacy)

TEST_MAIN(TEST(a_legacy_client_begins_with_initialize_and_never_probes),
          TEST(a_client_of_both_eras_asks_once_and_speaks_as_it_is_answered),
          TEST(a_client_that_knows_the_version_begins_with_its_call),
          IN_BOTH_ERAS(every_request_has_a_stamp_and_no_notification),
          IN_BOTH_ERAS(what_is_the_librarys_own_in_meta_cannot_be_given),
          IN_BOTH_ERAS(meta_passes_both_ways),
          IN_BOTH_ERAS(the_data_of_an_error_arrives_as_it_was_given),
          IN_BOTH_ERAS(A18_a_handler_sees_the_token_of_who_listens),
          IN_BOTH_ERAS(each_call_hears_of_its_own_progress))
/* clang-format on */
