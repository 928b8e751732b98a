/* mirrors_http_test.c - arguments of tools in headers, on real sockets */
#include "api/http_reached.h"

#include "api/client.h"
#include "support/http_script.h"

/* ---- our own server ------------------------------------------------------ */

#define SCHEMA(header)                                                \
    "{\"type\":\"object\",\"properties\":{"                           \
    "\"region\":{\"type\":[\"string\",\"null\"]},"                    \
    "\"city\":{\"type\":\"string\",\"x-mcp-header\":\"" header "\"}," \
    "\"where\":{\"type\":\"object\",\"properties\":{"                 \
    "\"floor\":{\"type\":\"integer\",\"x-mcp-header\":\"Floor\"},"    \
    "\"open\":{\"type\":\"boolean\",\"x-mcp-header\":\"Is-Open\"}}}}}"

struct served {
    struct reached f;
    atomic_int lists, runs;
};

static int
before(mcp_request *req, void *user)
{
    struct served *s = user;

    if (strcmp(mcp_request_method(req), "tools/list") == 0)
        atomic_fetch_add(&s->lists, 1);
    return 0;
}

static int
find(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *city = mcp_json_get(mcp_request_arguments(req), "city");
    struct served *s = user;

    atomic_fetch_add(&s->runs, 1);
    return mcp_result_text(out, mcp_json_string(city, "nowhere"));
}

static void
served_open(struct served *s, mcp_server_options opt)
{
    struct reached *f = &s->f;

    memset(s, 0, sizeof(*s));
    test_mem_init(&f->mem);
    told_init(&f->told);
    opt.era = MCP_ERA_MODERN;
    raw_make(&f->raw, opt);
    assert_int_equal(
        mcp_server_use(f->raw.server, &MCP_MIDDLEWARE(.before = before, .user = s)), 0);
    raw_tool(&f->raw, MCP_TOOL(.name = "say", .reply = served_say));
    raw_tool(&f->raw, MCP_TOOL(.name = "find", .reply = find, .user = s,
                               .input_schema = SCHEMA("City")));
    assert_int_equal(mcp_server_listen_http(f->raw.server, &MCP_HTTP_OPTIONS(.port = 0),
                                            f->url, NULL),
                     0);
    assert_int_equal(mcp_server_start(f->raw.server, NULL), 0);
    f->client = reached_client(f, REACHED_OPTIONS());
}

static void
finds(struct served *s, const char *arguments, const char *text)
{
    mcp_reply *reply = NULL;
    mcp_error err = {0};

    if (mcp_client_call_tool(s->f.client, "find", arguments, NULL, &reply, &err) < 0)
        fail_msg("%s: %s: %s", arguments, mcp_status_name(err.status), err.message);
    assert_string_equal(mcp_reply_text(reply), text);
    mcp_reply_free(reply);
}

static void
what_was_listed_is_called_at_the_first_try(void **state)
{
    struct served s;

    (void)state;
    served_open(&s, MCP_SERVER_OPTIONS(.page = 1)); /* two pages */
    assert_int_equal(mcp_client_list_all(s.f.client, MCP_LIST_TOOLS, NULL, NULL, NULL),
                     0);
    assert_int_equal(atomic_load(&s.lists), 2);
    finds(&s, NULL, "nowhere");
    finds(&s, "{\"city\":\"Ulm\"}", "Ulm");
    finds(&s, "{\"city\":\"\"}", "");
    finds(&s, "{\"city\":\" Bad \\t Ems \"}", " Bad \t Ems ");
    finds(&s, "{\"city\":\"M\xC3\xBCnchen\\r\\nX-Y: z\"}", "M\xC3\xBCnchen\r\nX-Y: z");
    finds(&s, "{\"city\":\"=?base64?VWxt?=\"}", "=?base64?VWxt?=");
    finds(&s, "{\"city\":\"Ulm\",\"where\":{\"floor\":-7,\"open\":false}}", "Ulm");
    finds(&s, "{\"where\":{\"floor\":9007199254740991,\"open\":true},\"region\":null}",
          "nowhere");
    assert_int_equal(atomic_load(&s.lists), 2); /* nothing was refused */
    assert_int_equal(atomic_load(&s.runs), 8);
    reached_close(&s.f);
}

static void
what_was_not_listed_is_called_at_the_second(void **state)
{
    struct served s;

    (void)state;
    served_open(&s, MCP_SERVER_OPTIONS(.page = 0));
    finds(&s, "{\"city\":\"Ulm\"}", "Ulm");
    assert_int_equal(atomic_load(&s.lists), 1);
    assert_int_equal(atomic_load(&s.runs), 1);
    finds(&s, "{\"city\":\"Ulm\"}", "Ulm");
    assert_int_equal(atomic_load(&s.lists), 1);
    reached_close(&s.f);
}

static void
a_tool_that_has_changed_is_learned_anew(void **state)
{
    struct served s;

    (void)state;
    served_open(&s, MCP_SERVER_OPTIONS(.list_ttl_ms = 3600000));
    assert_int_equal(mcp_client_list_tools(s.f.client, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(mcp_server_remove_tool(s.f.raw.server, "find"), 0);
    raw_tool(&s.f.raw, MCP_TOOL(.name = "find", .reply = find, .user = &s,
                                .input_schema = SCHEMA("Town")));
    finds(&s, "{\"city\":\"Ulm\"}", "Ulm");
    finds(&s, "{\"city\":\"Ems\"}", "Ems");
    assert_int_equal(atomic_load(&s.lists), 2);
    reached_close(&s.f);
}

#define MANY 40

static void
many_at_once_are_all_made_again(void **state)
{
    mcp_call *calls[MANY];
    struct served s;

    (void)state;
    served_open(&s, MCP_SERVER_OPTIONS(.page = 0));
    for (int i = 0; i < MANY; i++)
        assert_int_equal(mcp_client_start_tool(s.f.client, "find", "{\"city\":\"Ulm\"}",
                                               NULL, NULL, NULL, &calls[i]),
                         0);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, NULL, NULL), 0);
        mcp_call_free(calls[i]);
    }
    assert_int_equal(atomic_load(&s.runs), MANY);
    reached_close(&s.f);
}

/* ---- a server that follows a script -------------------------------------- */

#define DISCOVERY                                                          \
    "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"]," \
    "\"capabilities\":{\"tools\":{}},\"ttlMs\":0,\"cacheScope\":\"private\"}"
#define TOOL(name, header)                                                         \
    "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\",\"properties\":{" \
    "\"a\":{\"type\":\"string\",\"x-mcp-header\":\"" header "\"}}}}"
#define ANSWER(id, members) "{\"jsonrpc\":\"2.0\",\"id\":" id "," members "}"
#define REFUSAL(id) ANSWER(id, "\"error\":{\"code\":-32020,\"message\":\"no\"}")
#define LIST(id, tools) \
    ANSWER(id, "\"result\":{\"resultType\":\"complete\",\"tools\":[" tools "]}")
#define DONE(id) ANSWER(id, "\"result\":{\"resultType\":\"complete\",\"content\":[]}")

struct scripted {
    struct http_script s;
    struct test_mem mem;
    mcp_client *client;
    char line[512]; /* of the log */
};

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    struct scripted *f = user;

    (void)level;
    snprintf(f->line, sizeof(f->line), "%s", line);
}

/* It knows the server from an earlier time: nothing is asked before the test does. */
static void
scripted_open(struct scripted *f)
{
    mcp_client_options opt = REACHED_OPTIONS(.discovery = DISCOVERY, .on_log = on_log,
                                             .log_user = f);
    mcp_error err = {0};

    memset(f, 0, sizeof(*f));
    test_mem_init(&f->mem);
    http_script_open(&f->s, NULL, NULL);
    opt.allocator = &f->mem.allocator;
    if (mcp_client_connect_http(f->s.url, NULL, &opt, &f->client, &err) < 0)
        fail_msg("%s", err.message);
}

static void
scripted_close(struct scripted *f)
{
    mcp_client_free(f->client);
    http_script_close(&f->s);
    test_mem_done(&f->mem);
}

/* The next request is of this method, and is answered with that. */
static void
visit_serve(struct visit *v, const char *method, const char *param, const char *status,
            const char *answer)
{
    const char *sent;

    visit_read(v);
    assert_string_equal(visit_field(v, "mcp-method"), method);
    sent = visit_field(v, "mcp-param-a");
    assert_int_equal(sent != NULL, param != NULL);
    if (param)
        assert_string_equal(sent, param);
    visit_answer(v, status, "application/json", answer);
}

static void
a_refusal_with_400_is_followed_by_the_list_and_the_headers(void **state)
{
    struct scripted f;
    struct visit v;
    mcp_call *call;

    (void)state;
    scripted_open(&f);
    assert_int_equal(mcp_client_start_tool(f.client, "t", "{\"a\":\"x y\"}", NULL, NULL,
                                           NULL, &call),
                     0);
    visit_accept(&v, &f.s);
    visit_serve(&v, "tools/call", NULL, "400 Bad Request", REFUSAL("1"));
    visit_serve(&v, "tools/list", NULL, "200 OK", LIST("2", TOOL("t", "A")));
    visit_serve(&v, "tools/call", "x y", "200 OK", DONE("3"));
    assert_string_equal(visit_field(&v, "mcp-name"), "t");
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), 0);
    mcp_call_free(call);
    scripted_close(&f);
    visit_close(&v);
}

static void
a_refusal_of_both_is_the_error_of_the_call(void **state)
{
    struct scripted f;
    struct visit v;
    mcp_call *call;
    mcp_error err = {0};

    (void)state;
    scripted_open(&f);
    assert_int_equal(
        mcp_client_start_tool(f.client, "t", "{\"a\":\"x\"}", NULL, NULL, NULL, &call),
        0);
    visit_accept(&v, &f.s);
    visit_serve(&v, "tools/call", NULL, "400 Bad Request", REFUSAL("1"));
    visit_read(&v);
    visit_answer(&v, "503 Service Unavailable", NULL, ""); /* no list */
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, &err), MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32020);
    assert_int_equal(err.http_status, 0);
    mcp_call_free(call);
    scripted_close(&f);
    visit_close(&v);
}

static void
a_tool_that_breaks_a_rule_is_not_shown(void **state)
{
    mcp_reply *reply = NULL;
    struct scripted f;
    struct visit v;
    mcp_call *call;

    (void)state;
    scripted_open(&f);
    assert_int_equal(
        mcp_client_start(f.client, "tools/list", NULL, NULL, NULL, NULL, &call), 0);
    visit_accept(&v, &f.s);
    visit_serve(&v, "tools/list", NULL, "200 OK",
                LIST("1", TOOL("bad", "no token") "," TOOL("good", "A")));
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, &reply, NULL), 0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 1);
    assert_string_equal(f.line, "tool bad is left out: x-mcp-header is no HTTP token");
    mcp_reply_free(reply);
    mcp_call_free(call);
    assert_int_equal(mcp_client_start_tool(f.client, "good", "{\"a\":\"x\"}", NULL,
                                           NULL, NULL, &call),
                     0);
    visit_serve(&v, "tools/call", "x", "200 OK", DONE("2"));
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), 0);
    mcp_call_free(call);
    scripted_close(&f);
    visit_close(&v);
}

TEST_MAIN(TEST(what_was_listed_is_called_at_the_first_try),
          TEST(what_was_not_listed_is_called_at_the_second),
          TEST(a_tool_that_has_changed_is_learned_anew),
          TEST(many_at_once_are_all_made_again),
          TEST(a_refusal_with_400_is_followed_by_the_list_and_the_headers),
          TEST(a_refusal_of_both_is_the_error_of_the_call),
          TEST(a_tool_that_breaks_a_rule_is_not_shown))
