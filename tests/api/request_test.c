/* request_test.c - what a handler is told, and what becomes of what it returns */
#include "api/request.h"

#include "api/raw_client.h"

/* ---- what was asked ----------------------------------------------------- */

struct seen {
    char id[4096];
    char text[1024];
    void *user;
    mcp_server *server;
};

static void
print(char *into, size_t size, const mcp_json *value)
{
    char *text;
    size_t len = strlen(into);

    assert_int_equal(mcp_json_print(value, false, NULL, &text, NULL), 0);
    snprintf(into + len, size - len, "%s|", value ? text : "-");
    mcp_text_free(text, NULL);
}

static int
look(mcp_request *req, mcp_result *out, void *user)
{
    struct seen *seen = user;

    seen->text[0] = '\0';
    snprintf(seen->text, sizeof(seen->text), "%s|%s|%s|", mcp_request_method(req),
             mcp_request_name(req), mcp_request_version(req));
    print(seen->text, sizeof(seen->text), mcp_request_arguments(req));
    print(seen->text, sizeof(seen->text), mcp_request_client_info(req));
    print(seen->text, sizeof(seen->text), mcp_request_client_capabilities(req));
    snprintf(seen->id, sizeof(seen->id), "%s", mcp_request_id(req));
    assert_ptr_equal(mcp_request_id(req), mcp_request_id(req));
    seen->user = mcp_request_server_user(req);
    seen->server = mcp_request_server(req);
    assert_ptr_equal(mcp_request_result(req), out);
    assert_false(mcp_request_is_canceled(req));
    assert_string_equal(mcp_request_cancel_reason(req), "");
    return 0;
}

static void
it_tells_what_was_asked(void **state)
{
    struct seen seen = {.text = ""};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.user = &seen));
    raw_tool(&raw, MCP_TOOL(.name = "look", .reply = look, .user = &seen));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "7", "look", "{\"a\":[1]}");
    raw_expect(&raw, "\"id\":7");
    if (RAW_MODERN)
        assert_string_equal(seen.text, "tools/call|look|2026-07-28|{\"a\":[1]}|-|{}|");
    else
        assert_string_equal(seen.text, "tools/call|look|2025-11-25|{\"a\":[1]}|"
                                       "{\"name\":\"raw\",\"version\":\"1\"}|"
                                       "{\"roots\":{}}|");
    assert_string_equal(seen.id, "7");
    assert_ptr_equal(seen.user, &seen);
    assert_ptr_equal(seen.server, raw.server);
    raw_done(&raw);
}

static int
say_version(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    return mcp_result_textf(out, "in %s", mcp_request_version(req));
}

static void
the_version_is_that_which_was_agreed_on(void **state)
{
    static const struct {
        const char *hello, *answer, *said;
    } rows[] = {
        {INITIALIZE("0", "2025-03-26"), "\"protocolVersion\":\"2025-03-26\"",
         "in 2025-03-26"},
        {INITIALIZE("0", "2025-06-18"), "\"protocolVersion\":\"2025-06-18\"",
         "in 2025-06-18"},
        {INITIALIZE("0", "1999-01-01"), "\"protocolVersion\":\"2025-11-25\"",
         "in 2025-11-25"},
    };
    struct raw raw;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
        raw_tool(&raw, MCP_TOOL(.name = "say", .reply = say_version));
        raw_connect(&raw, false);
        assert_int_equal(mcp_server_start(raw.server, NULL), 0);
        raw_send(&raw, rows[i].hello);
        raw_expect(&raw, rows[i].answer);
        raw_call(&raw, "1", "say", NULL);
        raw_expect(&raw, rows[i].said);
        raw_done(&raw);
    }
}

static void
a_modern_request_brings_its_client_along(void **state)
{
    static const char introduced[] =
        "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":"
        "{\"name\":\"look\",\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{\"a\":{}},"
        "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"n\",\"version\":\"v\"}"
        "}}}";
    struct seen seen = {.text = ""};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "look", .run = look, .user = &seen));
    raw_start(&raw, true);
    raw_send(&raw, introduced);
    raw_expect(&raw, "\"id\":\"x\"");
    assert_string_equal(seen.text, "tools/call|look|2026-07-28|-|"
                                   "{\"name\":\"n\",\"version\":\"v\"}|{\"a\":{}}|");
    assert_string_equal(seen.id, "\"x\"");
    raw_done(&raw);
}

struct reader {
    struct gate gate;
    atomic_int reads;
};

/* Reads on its worker, without a pause, who the client is. */
static int
read_client(mcp_request *req, mcp_result *out, void *user)
{
    struct reader *reader = user;
    int64_t end = raw_now_ms() + AWAIT_MS;
    const char *name = "";

    atomic_fetch_add(&reader->gate.entered, 1);
    while (!atomic_load(&reader->gate.open) && raw_now_ms() < end) {
        name = mcp_json_string(mcp_json_get(mcp_request_client_info(req), "name"), "");
        atomic_fetch_add(&reader->reads, 1);
    }
    return mcp_result_text(out, name);
}

static void
a_handler_may_read_its_client_while_another_one_is_introduced(void **state)
{
    static const char second[] = REQUEST(
        "2", "initialize",
        "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
        "\"clientInfo\":{\"name\":\"second\",\"version\":\"2\"}}");
    struct reader reader = {.reads = 0};
    struct raw raw;
    int before;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "read", .run = read_client, .user = &reader));
    raw_start(&raw, false);
    raw_call(&raw, "1", "read", NULL);
    RAW_UNTIL(atomic_load(&reader.gate.entered) == 1);
    raw_send(&raw, second);
    raw_expect(&raw, "\"id\":2,\"result\"");
    before = atomic_load(&reader.reads);
    RAW_UNTIL(atomic_load(&reader.reads) > before + 1);
    atomic_store(&reader.gate.open, true);
    raw_expect(&raw, "\"text\":\"raw\"");
    raw_done(&raw);
}

static void
A10_ids_of_all_kinds_are_shown_as_they_came(void **state)
{
    static const char *const ids[] = {"0",
                                      "-5",
                                      "\"7\"",
                                      "\"\"",
                                      "18446744073709551615",
                                      "\"a long id \\u00e9 of more than 24 bytes\""};
    char longest[3000] = "\"";
    struct seen seen = {.text = ""};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "look", .reply = look, .user = &seen));
    raw_start(&raw, true);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        raw_call(&raw, ids[i], "look", NULL);
        raw_line(&raw);
        if (!strstr(ids[i], "\\u"))
            assert_string_equal(seen.id, ids[i]);
    }
    assert_string_equal(seen.id, "\"a long id \xc3\xa9 of more than 24 bytes\"");
    memset(longest + 1, 'x', 2000);
    longest[2001] = '"';
    raw_call(&raw, longest, "look", NULL);
    raw_line(&raw);
    assert_string_equal(seen.id, longest);
    raw_done(&raw);
}

/* ---- arguments ---------------------------------------------------------- */

struct place {
    const char *name;
    const char **tags;
    size_t tag_count;
};

static const mcp_field place_fields[] = {
    MCP_FIELD(struct place, name, MCP_STRING, MCP_REQUIRED, NULL),
    MCP_FIELD_ARRAY(struct place, tags, tag_count, MCP_STRING, 0, NULL),
    {0},
};

static int
bind_place(mcp_request *req, mcp_result *out, void *user)
{
    struct place place, again;
    int r;

    (void)user;
    r = mcp_request_bind(req, &place);
    if (r == 0)
        r = mcp_request_bind(req, &again);
    if (r < 0)
        return r;
    return mcp_result_textf(out, "%s %zu %s %s", place.name, place.tag_count,
                            place.tags[1], again.tags[0]);
}

static void
arguments_are_bound_to_a_struct(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "bind", .run = bind_place, .fields = place_fields));
    raw_tool(&raw, MCP_TOOL(.name = "none", .run = bind_place));
    raw_start(&raw, true);
    raw_call(&raw, "1", "bind", "{\"name\":\"Rome\",\"tags\":[\"a\",\"b\"]}");
    raw_expect(&raw, "Rome 2 b a");
    raw_call(&raw, "1", "bind", "{\"name\":5,\"tags\":[\"a\",\"b\"]}");
    raw_expect(&raw, "Invalid arguments: /name");
    raw_ask(&raw, "1", "tools/list", "");
    raw_expect(&raw, "\"name\":\"bind\",\"inputSchema\":{\"type\":\"object\","
                     "\"properties\":{\"name\"");
    raw_call(&raw, "2", "none", NULL);
    raw_expect(&raw, "-32603");
    assert_true(raw_logged(&raw, mcp_status_text(MCP_E_STATE)));
    raw_done(&raw);
}

/* ---- clean-up ----------------------------------------------------------- */

struct trail {
    char steps[64];
    mcp_request *req;
    int progress; /* what it was answered in clean-up */
};

static void
step(struct trail *trail, char c)
{
    size_t len = strlen(trail->steps);

    trail->steps[len] = c;
    trail->steps[len + 1] = '\0';
}

static void
step_a(void *user)
{
    step(user, 'a');
}

static void
step_b(void *user)
{
    struct trail *trail = user;

    trail->progress = mcp_request_progress(trail->req, 1, 0, NULL);
    step(trail, 'b');
}

static int
leave_trail(mcp_request *req, mcp_result *out, void *user)
{
    struct trail *trail = user;

    trail->req = req;
    assert_int_equal(mcp_request_defer(req, step_a, trail), 0);
    assert_int_equal(mcp_request_defer(req, step_b, trail), 0);
    step(trail, 'h');
    return mcp_result_text(out, "done");
}

static void
F23_clean_up_comes_last_first_and_when_it_is_over(void **state)
{
    struct trail trail = {.steps = ""}, other = {.steps = ""};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "reply", .reply = leave_trail, .user = &trail));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = leave_trail, .user = &other));
    raw_start(&raw, true);
    raw_call(&raw, "1", "reply", NULL);
    raw_expect(&raw, "done");
    raw_call(&raw, "2", "run", NULL);
    raw_expect(&raw, "done");
    assert_string_equal(trail.steps, "hba");
    assert_string_equal(other.steps, "hba");
    assert_int_equal(trail.progress, MCP_E_STATE);
    assert_int_equal(other.progress, MCP_E_STATE);
    raw_done(&raw);
}

/* ---- how it ends -------------------------------------------------------- */

struct outcome {
    int status;
    bool fail, with_data, bad_text, bad_data, reset;
};

static int
come_out(mcp_request *req, mcp_result *out, void *user)
{
    struct outcome *outcome = user;
    int r;

    mcp_result_text(out, outcome->bad_text ? "\xff" : "text");
    if (outcome->bad_data)
        return mcp_request_fail(req, -5, "{", "bad data");
    if (!outcome->fail)
        return outcome->status;
    r = mcp_request_fail(req, -32042, outcome->with_data ? "{ \"a\":\n1 }" : NULL,
                         "wrong: %d\n", 5);
    if (outcome->reset)
        mcp_result_reset(out); /* the result is not the error */
    return r;
}

static void
comes_out(struct raw *raw, struct outcome *shared, struct outcome outcome,
          const char *answer)
{
    *shared = outcome;
    raw_call(raw, "1", "out", NULL);
    raw_expect(raw, answer);
}

static void
what_a_handler_returns_becomes_the_answer(void **state)
{
    struct outcome shared;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "out", .run = come_out, .user = &shared));
    raw_start(&raw, RAW_MODERN);
    comes_out(&raw, &shared, (struct outcome){.status = 0},
              "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"text\"}]");
    comes_out(&raw, &shared, (struct outcome){.fail = true},
              "\"error\":{\"code\":-32042,\"message\":\"wrong: 5?\"}}");
    comes_out(&raw, &shared, (struct outcome){.fail = true, .with_data = true},
              "\"message\":\"wrong: 5?\",\"data\":{\"a\":1}}}");
    comes_out(&raw, &shared, (struct outcome){.fail = true, .reset = true},
              "\"error\":{\"code\":-32042,\"message\":\"wrong: 5?\"}}");
    comes_out(&raw, &shared, (struct outcome){.bad_data = true},
              "\"error\":{\"code\":-5,\"message\":\"bad data\"}}");
    comes_out(&raw, &shared, (struct outcome){.status = MCP_E_PEER}, "\"code\":-32603");
    comes_out(&raw, &shared, (struct outcome){.status = MCP_E_NOMEM},
              "\"error\":{\"code\":-32603,\"message\":\"out of memory\"}}");
    comes_out(&raw, &shared, (struct outcome){.status = MCP_E_CANCELED},
              "\"error\":{\"code\":-32603,\"message\":\"canceled\"}}");
    comes_out(&raw, &shared, (struct outcome){.status = 5}, "\"code\":-32603");
    comes_out(&raw, &shared, (struct outcome){.bad_text = true},
              "\"error\":{\"code\":-32603,\"message\":\"invalid argument\"}}");
    assert_true(raw_logged(&raw, "not UTF-8"));
    raw_done(&raw);
}

static int
lie(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_json(out, "{\"name\":5}", 10);
}

static int
say_without_structure(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_text(out, "only text");
}

static void
output_that_breaks_its_promise_is_an_error(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.log_level = MCP_LOG_WARNING));
    raw_tool(&raw, MCP_TOOL(.name = "lie", .run = lie, .output_fields = place_fields));
    raw_tool(&raw, MCP_TOOL(.name = "text", .run = say_without_structure,
                            .output_fields = place_fields));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "lie", NULL);
    raw_expect(&raw,
               "\"code\":-32603,\"message\":\"output does not match its schema\"");
    assert_true(raw_logged(&raw, "(lie) failed: structured output: /name"));
    raw_call(&raw, "2", "text", NULL);
    raw_expect(&raw,
               "\"code\":-32603,\"message\":\"output does not match its schema\"");
    assert_true(raw_logged(&raw, "no structured output"));
    raw_done(&raw);
}

static int
say_meta(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_meta(out, "own", "1");
}

static void
meta_of_a_result_stands_beside_the_library_s(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "meta", .reply = say_meta));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "meta", NULL);
    raw_expect(&raw, RAW_MODERN ? "\"_meta\":{\"own\":1," META_KEY("serverInfo")
                                : "\"_meta\":{\"own\":1}");
    raw_done(&raw);
}

static void
bad_arguments_are_refused(void **state)
{
    (void)state;
    assert_null(mcp_request_arguments(NULL));
    assert_null(mcp_request_params(NULL));
    assert_null(mcp_request_meta(NULL));
    assert_null(mcp_request_client_info(NULL));
    assert_null(mcp_request_client_capabilities(NULL));
    assert_null(mcp_request_server_user(NULL));
    assert_null(mcp_request_server(NULL));
    assert_null(mcp_request_result(NULL));
    assert_null(mcp_request_loop(NULL));
    assert_string_equal(mcp_request_method(NULL), "");
    assert_string_equal(mcp_request_name(NULL), "");
    assert_null(mcp_request_argument(NULL, "a"));
    assert_null(mcp_request_variables(NULL));
    assert_string_equal(mcp_request_complete_name(NULL), "");
    assert_string_equal(mcp_request_complete_value(NULL), "");
    assert_null(mcp_request_complete_known(NULL, "a"));
    assert_string_equal(mcp_request_version(NULL), "");
    assert_string_equal(mcp_request_id(NULL), "");
    assert_int_equal(mcp_request_bind(NULL, state), MCP_E_INVAL);
    assert_int_equal(mcp_request_defer(NULL, step_a, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_request_fail(NULL, 1, NULL, "x"), MCP_E_INVAL);
}

/* ---- trace context ------------------------------------------------------- */

static int
look_for_trace(mcp_request *req, mcp_result *out, void *user)
{
    struct seen *seen = user;
    const char *parent = mcp_request_traceparent(req);
    const char *trace = mcp_request_tracestate(req);
    const char *baggage = mcp_request_baggage(req);

    snprintf(seen->text, sizeof(seen->text), "%s|%s|%s", parent ? parent : "-",
             trace ? trace : "-", baggage ? baggage : "-");
    return mcp_result_text(out, "looked");
}

static void
call_with_meta(struct raw *raw, const char *meta)
{
    char line[1024];

    snprintf(line, sizeof(line),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
             "{\"name\":\"look\",\"_meta\":{\"x\":1%s%s}}}",
             raw->modern ? "," RAW_STAMP : "", meta);
    raw_send(raw, line);
    raw_expect(raw, "looked");
}

static void
trace_context_is_what_meta_has(void **state)
{
    struct seen seen = {.text = ""};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "look", .reply = look_for_trace, .user = &seen));
    raw_start(&raw, RAW_MODERN);
    call_with_meta(&raw, "");
    assert_string_equal(seen.text, "-|-|-");
    call_with_meta(&raw, ",\"traceparent\":\"00-a-b-01\",\"tracestate\":\"v=1\","
                         "\"baggage\":\"k=v\"");
    assert_string_equal(seen.text, "00-a-b-01|v=1|k=v");
    call_with_meta(&raw, ",\"traceparent\":7,\"tracestate\":null,"
                         "\"baggage\":\"a\\u0000b\"");
    assert_string_equal(seen.text, "-|-|-");
    assert_null(mcp_request_traceparent(NULL));
    raw_done(&raw);
}

static int
say(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_text(out, "said");
}

/* No tasks are declared: who wants one gets the answer itself. */
static void
a_task_that_was_not_offered_is_a_call_like_any(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "say", .reply = say));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "tools/call", ",\"name\":\"say\",\"task\":{\"ttl\":60000}");
    raw_expect(&raw, "\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
                     "\"said\"}]");
    raw_ask(&raw, "2", "tasks/list", "");
    raw_expect(&raw, "\"id\":2,\"error\":{\"code\":-32601");
    raw_done(&raw);
}

TEST_MAIN(TEST_ERAS(it_tells_what_was_asked), TEST_ERAS(trace_context_is_what_meta_has),
          TEST_ERAS(a_task_that_was_not_offered_is_a_call_like_any),
          TEST(the_version_is_that_which_was_agreed_on),
          TEST(a_modern_request_brings_its_client_along),
          TEST(a_handler_may_read_its_client_while_another_one_is_introduced),
          TEST(A10_ids_of_all_kinds_are_shown_as_they_came),
          TEST(arguments_are_bound_to_a_struct),
          TEST(F23_clean_up_comes_last_first_and_when_it_is_over),
          TEST_ERAS(what_a_handler_returns_becomes_the_answer),
          TEST_ERAS(output_that_breaks_its_promise_is_an_error),
          TEST_ERAS(meta_of_a_result_stands_beside_the_library_s),
          TEST(bad_arguments_are_refused))
