/* custom_test.c - a method of the program's own: who serves it, and with what */
#include "api/custom.h"

#include <mcp/ask.h>

#include "api/raw_client.h"

struct order {
    const char *what;
    int64_t count;
};

static const mcp_field order_fields[] = {
    MCP_FIELD(struct order, what, MCP_STRING, MCP_REQUIRED, NULL),
    MCP_FIELD_WITH(struct order, count, MCP_INT, 0, NULL, MCP_MINIMUM(1),
                   MCP_DEFAULT_INT(1)),
    {0},
};

#define CLOSED                                                            \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}," \
    "\"required\":[\"n\"],\"additionalProperties\":false}"

static int
nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)out, (void)user;
    return 0;
}

/* What was told, and how often; on the loop. */
struct heard {
    atomic_int count, others;
    char text[128];
};

static void
hear(const char *method, const mcp_json *params, void *user)
{
    struct heard *heard = user;
    int64_t n = mcp_json_int(mcp_json_get(params, "n"), -1);

    snprintf(heard->text, sizeof(heard->text), "%s %d", method, (int)n);
    atomic_fetch_add(&heard->count, 1);
}

static void
add(struct raw *raw, mcp_method method)
{
    mcp_error err = {0};

    if (mcp_server_add_method(raw->server, &method, &err) < 0)
        fail_msg("%s", err.message);
}

/* ---- what is no method ---------------------------------------------------- */

static void
refuse(mcp_method definition, const char *why)
{
    struct mcpi_custom *custom = NULL;
    struct test_mem mem;
    mcp_error err = {0};

    test_mem_init(&mem);
    assert_int_equal(mcpi_custom_new(&mem.allocator, &definition, &custom, &err),
                     MCP_E_INVAL);
    if (!strstr(err.message, why))
        fail_msg("no %s in %s", why, err.message);
    assert_null(custom);
    test_mem_done(&mem);
}

static void
a_method_of_the_protocol_cannot_be_taken_over(void **state)
{
    static const char *const theirs[] = {"initialize",
                                         "server/discover",
                                         "ping",
                                         "tools/list",
                                         "tools/call",
                                         "completion/complete",
                                         "resources/read",
                                         "subscriptions/listen",
                                         "logging/setLevel",
                                         "elicitation/create",
                                         "notifications/cancelled",
                                         "notifications/progress",
                                         "notifications/roots/list_changed"};
    struct raw raw;

    (void)state;
    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
        refuse(MCP_METHOD(.name = theirs[i], .reply = nothing), "of the protocol");
        refuse(MCP_METHOD(.name = theirs[i], .told = hear), "of the protocol");
    }
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(
        mcp_server_add_method(
            raw.server, &MCP_METHOD(.name = "tools/call", .reply = nothing), NULL),
        MCP_E_INVAL);
    assert_int_equal(mcp_server_notify(raw.server, "notifications/message", NULL),
                     MCP_E_INVAL);
    raw_done(&raw);
}

static void
mistakes_are_told_with_the_method(void **state)
{
    static const mcp_field bad[] = {{.name = "x"}, {0}};
    char name[130];

    (void)state;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    refuse(MCP_METHOD(.reply = nothing), "1 to 128");
    refuse(MCP_METHOD(.name = "", .reply = nothing), "1 to 128");
    refuse(MCP_METHOD(.name = name, .reply = nothing), "1 to 128");
    refuse(MCP_METHOD(.name = "a b", .reply = nothing), "visible");
    refuse(MCP_METHOD(.name = "a\xc3\xa4", .reply = nothing), "visible");
    refuse(MCP_METHOD(.name = "rpc.x", .reply = nothing), "JSON-RPC");
    refuse(MCP_METHOD(.name = "a/b"), "a/b: it needs one handler");
    refuse(MCP_METHOD(.name = "a/b", .run = nothing, .reply = nothing), "one handler");
    refuse(MCP_METHOD(.name = "a/b", .told = hear, .run = nothing, .reply = nothing),
           "one handler");
    refuse(MCP_METHOD(.name = "a/b", .reply = nothing, .flags = 8), "unknown flag");
    refuse(MCP_METHOD(.name = "a/b", .reply = nothing, .fields = order_fields,
                      .schema = "{}"),
           "fields and a schema");
    refuse(MCP_METHOD(.name = "a/b", .reply = nothing, .fields = bad), "its fields");
    refuse(MCP_METHOD(.name = "a/b", .reply = nothing, .result_fields = bad),
           "its result fields");
    refuse(MCP_METHOD(.name = "a/b", .reply = nothing, .schema = "{"), "its schema");
    refuse(MCP_METHOD(.name = "a/b", .reply = nothing, .schema = "{\"type\":1}"),
           "its schema");
}

static void
make_in(struct test_mem *mem, void *user)
{
    const mcp_method *definition = user;
    struct mcpi_custom *custom = NULL;
    mcp_doc *doc = NULL;
    int r = mcpi_custom_new(&mem->allocator, definition, &custom, NULL);

    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    if (!custom)
        return;
    assert_int_equal(mcp_doc_parse("{\"_meta\":{},\"n\":1}", 18, NULL, &doc, NULL), 0);
    r = mcpi_custom_check(custom, mcp_doc_root(doc), NULL);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    mcp_doc_free(doc);
    mcpi_offer_unref(&custom->offer);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_method definition = MCP_METHOD(.name = "a/b", .told = hear, .schema = CLOSED,
                                       .result_fields = order_fields);

    (void)state;
    assert_true(test_each_allocation_fails(make_in, &definition) > 6);
}

/* ---- requests ------------------------------------------------------------- */

static int
order(mcp_request *req, mcp_result *out, void *user)
{
    struct order got;
    int r = mcp_request_bind(req, &got);

    atomic_fetch_add((atomic_int *)user, 1);
    assert_string_equal(mcp_request_method(req), "shop/order");
    assert_string_equal(mcp_request_name(req), "");
    if (r < 0)
        return r;
    got.count *= 2;
    mcp_result_meta(out, "shop/paid", "true");
    return mcp_result_struct(out, &got);
}

static void
a_request_of_ones_own_is_answered(void **state)
{
    atomic_int calls = 0;
    struct raw raw;
    const char *line;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_METHOD(.name = "shop/order", .fields = order_fields,
                         .result_fields = order_fields, .run = order, .user = &calls));
    add(&raw, MCP_METHOD(.name = "shop/nothing", .reply = nothing));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "shop/order", ",\"what\":\"tea\",\"count\":3");
    line = raw_expect(&raw, "\"result\":{\"what\":\"tea\",\"count\":6");
    assert_non_null(strstr(line, "\"shop/paid\":true"));
    assert_int_equal(strstr(line, "\"resultType\":\"complete\"") != NULL, RAW_MODERN);
    raw_ask(&raw, "2", "shop/nothing", ",\"any\":[1]");
    line = raw_expect(&raw, "\"id\":2,\"result\":{");
    assert_int_equal(strstr(line, "\"resultType\":\"complete\"") != NULL, RAW_MODERN);
    raw_send(&raw, raw.modern ? "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":"
                                "\"shop/nothing\",\"params\":{\"_meta\":{" RAW_STAMP
                                "}}}"
                              : "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":"
                                "\"shop/nothing\"}");
    raw_expect(&raw, "\"id\":3,\"result\":{");
    assert_int_equal(raw_counts(&raw).answered, RAW_MODERN ? 3 : 4);
    assert_int_equal(atomic_load(&calls), 1);
    raw_done(&raw);
}

static int
count_up(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)out;
    atomic_fetch_add((atomic_int *)user, 1);
    return 0;
}

static void
params_that_do_not_fit_reach_no_handler(void **state)
{
    atomic_int calls = 0;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_METHOD(.name = "shop/order", .fields = order_fields, .run = count_up,
                         .user = &calls));
    add(&raw, MCP_METHOD(.name = "shop/late", .schema = CLOSED, .run = count_up,
                         .user = &calls));
    add(&raw, MCP_METHOD(.name = "shop/now", .schema = CLOSED, .reply = count_up,
                         .user = &calls));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "shop/order", ",\"what\":5");
    raw_expect(&raw, "\"error\":{\"code\":-32602,\"message\":\"Invalid params: /what");
    raw_ask(&raw, "2", "shop/late", ",\"n\":1,\"m\":2");
    raw_expect(&raw, "\"error\":{\"code\":-32602,\"message\":\"Invalid params: ");
    raw_ask(&raw, "3", "shop/now", ",\"n\\u0000\":1");
    raw_expect(&raw, "\"error\":{\"code\":-32602,\"message\":\"Invalid params: ");
    assert_int_equal(atomic_load(&calls), 0);
    raw_ask(&raw, "4", "shop/late", ",\"n\":1"); /* _meta is not the method's */
    raw_expect(&raw, "\"id\":4,\"result\"");
    raw_ask(&raw, "5", "shop/now", ",\"n\":1");
    raw_expect(&raw, "\"id\":5,\"result\"");
    assert_int_equal(atomic_load(&calls), 2);
    if (!RAW_MODERN) { /* where a request may have no params at all */
        raw_send(&raw, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"shop/order\"}");
        raw_expect(&raw, "\"id\":6,\"error\":{\"code\":-32602");
        raw_send(&raw, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"shop/late\"}");
        raw_expect(&raw, "\"id\":7,\"error\":{\"code\":-32602");
        assert_int_equal(atomic_load(&calls), 2);
    }
    raw_done(&raw);
}

static int
write_text(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_text(out, "no block of content here");
}

static int
write_json(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    return mcp_result_json(out, user, strlen(user));
}

static int
write_struct(mcp_request *req, mcp_result *out, void *user)
{
    struct order got = {"x", 1};

    (void)user;
    if (mcp_request_bind(req, &got) != MCP_E_STATE)
        return MCP_E_PROTO;
    return mcp_result_struct(out, &got); /* without a table */
}

static void
a_result_that_is_none_is_an_internal_error(void **state)
{
    static char array[] = "[1]", meta[] = "{\"_meta\":{}}";
    static char type[] = "{\"resultType\":\"complete\"}";
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_METHOD(.name = "t/text", .reply = write_text));
    add(&raw, MCP_METHOD(.name = "t/struct", .reply = write_struct));
    add(&raw, MCP_METHOD(.name = "t/array", .reply = write_json, .user = array));
    add(&raw, MCP_METHOD(.name = "t/meta", .reply = write_json, .user = meta));
    add(&raw, MCP_METHOD(.name = "t/type", .reply = write_json, .user = type));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "t/text", "");
    raw_expect(&raw, "\"error\":{\"code\":-32603");
    raw_ask(&raw, "2", "t/struct", "");
    raw_expect(&raw, "\"error\":{\"code\":-32603");
    raw_ask(&raw, "3", "t/array", "");
    raw_expect(&raw, "\"error\":{\"code\":-32603");
    raw_ask(&raw, "4", "t/meta", "");
    raw_expect(&raw, "\"error\":{\"code\":-32603");
    raw_ask(&raw, "5", "t/type", "");
    raw_expect(&raw, "\"error\":{\"code\":-32603");
    assert_true(raw_logged(&raw, "the answer to a method of your own has no"));
    assert_true(raw_logged(&raw, "must be an object, without _meta and resultType"));
    raw_done(&raw);
}

static int
hang(mcp_request *req, mcp_result *out, void *user)
{
    struct gate *gate = user;
    int r;

    (void)out;
    atomic_fetch_add(&gate->entered, 1);
    r = mcp_request_sleep(req, 60000);
    if (r == MCP_E_CANCELED && mcp_request_notify(req, "t/late", NULL) == r)
        atomic_fetch_add(&gate->left, 1);
    return r;
}

static void
F2_F6_F7_a_canceled_request_is_told_and_never_answered(void **state)
{
    struct gate gate = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_METHOD(.name = "t/hang", .run = hang, .user = &gate));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "t/hang", "");
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    raw_cancel(&raw, "1", "enough");
    RAW_UNTIL(atomic_load(&gate.left) == 1);
    RAW_UNTIL(raw_counts(&raw).stopped == 1);
    raw_expect_silence(&raw);
    assert_int_equal(raw_counts(&raw).canceled_by_peer, 1);
    raw_done(&raw);
}

static void
F34_a_limit_ends_it_with_an_error(void **state)
{
    struct gate gate = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_METHOD(.name = "t/hang", .run = hang, .user = &gate, .limit_ms = 20));
    raw_start(&raw, RAW_MODERN);
    raw_hold_time(&raw);
    raw_ask(&raw, "1", "t/hang", "");
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    virtual_clock_pass(&raw.clock, 20);
    raw_expect(&raw, "\"id\":1,\"error\":{\"code\":");
    RAW_UNTIL(raw_counts(&raw).stopped == 1);
    assert_int_equal(raw_counts(&raw).canceled_by_limit, 1);
    raw_done(&raw);
}

static int
speak(mcp_request *req, mcp_result *out, void *user)
{
    (void)out, (void)user;
    if (mcp_request_progress(req, 1, 2, NULL) < 0 ||
        mcp_request_notify(req, "t/half", "{\n\"n\": 1}") < 0 ||
        mcp_request_notify(req, "t/bare", NULL) < 0 ||
        mcp_request_progress(req, 2, 2, NULL) < 0)
        return MCP_E_PROTO;
    if (mcp_request_notify(req, "notifications/message", NULL) != MCP_E_INVAL ||
        mcp_request_notify(req, NULL, NULL) != MCP_E_INVAL ||
        mcp_request_notify(NULL, "t/x", NULL) != MCP_E_INVAL ||
        mcp_request_notify(req, "t/x", "[]") != MCP_E_INVAL)
        return MCP_E_PROTO;
    return 0;
}

static void
expect_speech(struct raw *raw, const char *id)
{
    char part[64];

    raw_expect(raw, "\"progress\":1");
    raw_expect(raw, "{\"jsonrpc\":\"2.0\",\"method\":\"t/half\",\"params\":{\"n\":1}}");
    raw_expect(raw, "{\"jsonrpc\":\"2.0\",\"method\":\"t/bare\"}");
    raw_expect(raw, "\"progress\":2");
    snprintf(part, sizeof(part), "\"id\":%s,\"result\":{", id);
    raw_expect(raw, part);
}

static void
what_it_says_on_the_way_comes_in_order_before_its_answer(void **state)
{
    const char *token = "\"progressToken\":\"p\"";
    char line[512];
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_METHOD(.name = "t/run", .run = speak));
    add(&raw, MCP_METHOD(.name = "t/reply", .reply = speak));
    raw_start(&raw, RAW_MODERN);
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof(line),
                 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":"
                 "{\"_meta\":{%s%s}}}",
                 i + 1, i ? "t/reply" : "t/run", RAW_MODERN ? RAW_STAMP "," : "",
                 token);
        raw_send(&raw, line);
        expect_speech(&raw, i ? "2" : "1");
    }
    raw_done(&raw);
}

static int
ask(mcp_request *req, mcp_result *out, void *user)
{
    (void)out, (void)user;
    if (mcp_request_roots(req, "roots") != MCP_E_STATE)
        return MCP_E_PROTO;
    return 0;
}

static void
it_asks_nobody(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_METHOD(.name = "t/ask", .run = ask));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "t/ask", "");
    raw_expect(&raw, "\"id\":1,\"result\":{");
    raw_done(&raw);
}

static int
guard(mcp_request *req, void *user)
{
    atomic_fetch_add((atomic_int *)user,
                     strcmp(mcp_request_method(req), "t/x") == 0 ? 1 : 0);
    return 0;
}

static void
methods_come_and_go(void **state)
{
    static char anew[] = "{\"by\":\"another\"}";
    atomic_int seen = 0;
    struct raw raw;
    mcp_error err = {0};

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(
        mcp_server_use(raw.server, &MCP_MIDDLEWARE(.before = guard, .user = &seen)), 0);
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "t/x", "");
    raw_expect(&raw,
               "\"error\":{\"code\":-32601,\"message\":\"Method not found: t/x\"");
    add(&raw, MCP_METHOD(.name = "t/x", .reply = nothing));
    assert_int_equal(mcp_server_add_method(
                         raw.server, &MCP_METHOD(.name = "t/x", .told = hear), &err),
                     MCP_E_INVAL);
    assert_non_null(strstr(err.message, "there is a method t/x already"));
    raw_ask(&raw, "2", "t/x", "");
    raw_expect(&raw, "\"id\":2,\"result\":{");
    assert_int_equal(mcp_server_remove_method(raw.server, "t/x"), 0);
    assert_int_equal(mcp_server_remove_method(raw.server, "t/x"), MCP_E_INVAL);
    raw_ask(&raw, "3", "t/x", "");
    raw_expect(&raw, "\"error\":{\"code\":-32601");
    assert_int_equal(atomic_load(&seen), 3); /* of what is not there, too */
    add(&raw, MCP_METHOD(.name = "t/x", .reply = write_json, .user = anew));
    raw_ask(&raw, "4", "t/x", "");
    raw_expect(&raw, "\"id\":4,\"result\":{\"by\":\"another\"");
    raw_expect_silence(&raw); /* and the first one did not run */
    raw_done(&raw);
}

static int
wait_and_bind(mcp_request *req, mcp_result *out, void *user)
{
    struct gate *gate = user;
    struct order got = {0};
    int r;

    atomic_fetch_add(&gate->entered, 1);
    while (!atomic_load(&gate->left))
        if (mcp_request_sleep(req, 1) < 0)
            return MCP_E_CANCELED;
    r = mcp_request_bind(req, &got);
    return r < 0 ? r : mcp_result_struct(out, &got);
}

static void
a_request_that_runs_outlives_its_method(void **state)
{
    struct gate gate = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_METHOD(.name = "t/x", .run = wait_and_bind, .user = &gate,
                         .fields = order_fields, .result_fields = order_fields));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "t/x", ",\"what\":\"tea\"");
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    assert_int_equal(mcp_server_remove_method(raw.server, "t/x"), 0);
    atomic_store(&gate.left, 1);
    raw_expect(&raw, "\"id\":1,\"result\":{\"what\":\"tea\",\"count\":1");
    raw_done(&raw);
}

static int
speak_and_write(mcp_request *req, mcp_result *out, void *user)
{
    int r = mcp_request_notify(req, "t/half", "{\"n\":1}");

    return r < 0 ? r : write_json(req, out, user);
}

/* The line that has the part; NULL: the link is closed before. */
static const char *
next_with(struct raw *raw, const char *part)
{
    const char *line = raw_next(raw);

    while (line && !strstr(line, part))
        line = raw_next(raw);
    return line;
}

static void
talk(struct raw *raw)
{
    if (!raw->modern) {
        raw_send(raw, INITIALIZE("0", "2025-11-25"));
        if (!next_with(raw, "\"id\":0,"))
            return;
        raw_send(raw, NOTE("notifications/initialized", "{}"));
    }
    (void)mcp_server_notify(raw->server, "t/news", "{}");
    raw_ask(raw, "1", "t/run", ",\"n\":1");
    if (!next_with(raw, "\"id\":1,"))
        return;
    raw_ask(raw, "2", "t/reply", ",\"n\":1");
    (void)next_with(raw, "\"id\":2,");
}

/* user: is it of the modern era? */
static void
flow(struct test_mem *mem, void *user)
{
    static char result[] = "{\"done\":true}";
    const mcp_method run = MCP_METHOD(.name = "t/run", .schema = CLOSED,
                                      .run = speak_and_write, .user = result);
    const mcp_method reply = MCP_METHOD(.name = "t/reply", .schema = CLOSED,
                                        .reply = speak_and_write, .user = result);
    struct raw raw;

    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    raw.lenient = true;
    if (mcp_server_add_method(raw.server, &run, NULL) == 0 &&
        mcp_server_add_method(raw.server, &reply, NULL) == 0 &&
        raw_try_connect(&raw, *(bool *)user) == 0 &&
        mcp_server_start(raw.server, NULL) == 0)
        talk(&raw);
    raw_close(&raw);
}

static void
each_allocation_of_a_request_may_fail(void **state)
{
    bool modern = RAW_MODERN;

    assert_true(test_each_allocation_fails(flow, &modern) > 60);
}

/* ---- notifications -------------------------------------------------------- */

static void
hear_other(mcp_server *server, const char *method, const mcp_json *params, void *user)
{
    struct heard *heard = user;

    (void)server, (void)method, (void)params;
    atomic_fetch_add(&heard->others, 1);
}

static void
a_notification_of_ones_own_is_told(void **state)
{
    struct heard heard = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.on_notification = hear_other, .user = &heard,
                                      .log_level = MCP_LOG_DEBUG));
    add(&raw,
        MCP_METHOD(.name = "t/note", .told = hear, .user = &heard, .schema = CLOSED));
    add(&raw, MCP_METHOD(.name = "t/asked", .reply = nothing));
    raw_start(&raw, RAW_MODERN);
    raw_send(&raw, NOTE("t/note", "{\"n\":7,\"_meta\":{}}"));
    raw_send(&raw, NOTE("t/note", "{\"n\":\"x\"}")); /* fits nobody */
    raw_ask(&raw, "1", "t/note", ",\"n\":1");        /* which it is told only */
    raw_expect(&raw, "\"error\":{\"code\":-32601");
    assert_int_equal(atomic_load(&heard.count), 1);
    assert_string_equal(heard.text, "t/note 7");
    assert_int_equal(atomic_load(&heard.others), 0);
    assert_true(raw_logged(&raw, "notification t/note dropped"));
    raw_send(&raw, NOTE("t/asked", "{}"));
    raw_send(&raw, NOTE("t/else", "{}"));
    raw_expect_silence(&raw);
    assert_int_equal(atomic_load(&heard.others), 2);
    raw_done(&raw);
}

TEST_MAIN(TEST(a_method_of_the_protocol_cannot_be_taken_over),
          TEST(mistakes_are_told_with_the_method), TEST(each_allocation_may_fail),
          TEST_ERAS(a_request_of_ones_own_is_answered),
          TEST_ERAS(params_that_do_not_fit_reach_no_handler),
          TEST_ERAS(a_result_that_is_none_is_an_internal_error),
          TEST_ERAS(F2_F6_F7_a_canceled_request_is_told_and_never_answered),
          TEST_ERAS(F34_a_limit_ends_it_with_an_error),
          TEST_ERAS(what_it_says_on_the_way_comes_in_order_before_its_answer),
          TEST_ERAS(it_asks_nobody), TEST_ERAS(methods_come_and_go),
          TEST_ERAS(a_request_that_runs_outlives_its_method),
          TEST_ERAS(each_allocation_of_a_request_may_fail),
          TEST_ERAS(a_notification_of_ones_own_is_told))
