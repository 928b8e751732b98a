/* flow_test.c - what takes more than one call: a client and a server of ours */
#include <inttypes.h>
#include <mcp/ask.h>
#include <mcp/subscription.h>
#include <stdio.h>

#include "api/client_fixture.h"
#include "api/raw_client.h"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

struct story {
    struct test_mem mem;
    mcp_server *server;
    mcp_client *client;
};

static void
story_begin(struct story *s, mcp_server_options opt)
{
    mcp_error err;

    memset(s, 0, sizeof *s);
    test_mem_init(&s->mem);
    opt.name = "story";
    opt.version = "1";
    opt.stop_ms = 20000; /* handlers end before it is gone */
    if (mcp_server_new(&opt, &s->server, &err) < 0)
        fail_msg("%s", err.message);
}

static void
story_tool(struct story *s, mcp_tool tool)
{
    mcp_error err;

    if (mcp_server_add_tool(s->server, &tool, &err) < 0)
        fail_msg("%s", err.message);
}

/* The server runs, and a client of the case's era is there. */
static void
story_open(struct story *s, void **state, mcp_client_options opt)
{
    mcp_error err;

    opt.era = *(enum mcp_era *)*state;
    opt.allocator = &s->mem.allocator;
    assert_int_equal(mcp_server_start(s->server, NULL), 0);
    if (mcp_client_attach_server(s->server, &opt, &s->client, &err) < 0)
        fail_msg("%s", err.message);
}

static void
story_end(struct story *s)
{
    mcp_client_free(s->client);
    mcp_server_free(s->server);
    test_mem_done(&s->mem);
}

static mcp_reply *
story_call(struct story *s, const char *tool, const char *arguments)
{
    mcp_reply *reply = NULL;
    mcp_error err;

    if (mcp_client_call_tool(s->client, tool, arguments, NULL, &reply, &err) < 0)
        fail_msg("%s", err.message);
    return reply;
}

static uint64_t
story_requests(struct story *s)
{
    mcp_server_counts counts = {.size = sizeof counts};

    assert_int_equal(mcp_server_count(s->server, &counts), 0);
    return counts.requests;
}

/* ---- questions one after the other ----------------------------------------- */

#define TEXT_FORM                                                           \
    "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}," \
    "\"required\":[\"text\"]}"

static int
ask_step(mcp_request *req, const char *key, const char *message)
{
    return mcp_request_elicit(req, key,
                              &MCP_ELICIT(.message = message, .schema = TEXT_FORM));
}

static const char *
answered_text(mcp_request *req, const char *key)
{
    const mcp_json *content = mcp_json_get(mcp_request_answer(req, key), "content");

    return mcp_json_string(mcp_json_get(content, "text"), "?");
}

/* Where, then when there; a no to either ends it. */
static int
tool_book(mcp_request *req, mcp_result *out, void *user)
{
    static const char *const keys[] = {"where", "when"};
    char message[64] = "Where to?";

    (void)user;
    for (int i = 0; i < 2; i++) {
        enum mcp_action action = mcp_request_action(req, keys[i]);

        if (action == MCP_UNANSWERED)
            return ask_step(req, keys[i], message);
        if (action != MCP_ACCEPTED)
            return mcp_result_textf(out, "%s to %s",
                                    action == MCP_DECLINED ? "no" : "nothing", keys[i]);
        snprintf(message, sizeof message, "When in %s?", answered_text(req, keys[i]));
    }
    return mcp_result_textf(out, "%s, %s", answered_text(req, "where"),
                            answered_text(req, "when"));
}

/* A user who says these, one after the other: a text, or "-" for no, "" for neither. */
struct user {
    const char *says[2];
    char asked[2][64];
    int count;
};

static int
user_answer(mcp_request *req, mcp_result *out, void *data)
{
    struct user *user = data;
    const char *message = mcp_json_string(
        mcp_json_get(mcp_request_params(req), "message"), "");
    const char *says = user->says[user->count];
    char content[64];

    snprintf(user->asked[user->count++], sizeof user->asked[0], "%s", message);
    if (!*says)
        return mcp_result_dismiss(out);
    if (strcmp(says, "-") == 0)
        return mcp_result_decline(out);
    snprintf(content, sizeof content, "{\"text\":\"%s\"}", says);
    return mcp_result_json(out, content, strlen(content));
}

static void
questions_follow_each_other_until_one_is_not_accepted(void **state)
{
    static const struct {
        const char *says[2], *end;
        int asked;
    } rows[] = {
        {{"Ulm", "May"}, "Ulm, May", 2},     {{"Ulm", "-"}, "no to when", 2},
        {{"Ulm", ""}, "nothing to when", 2}, {{"-", NULL}, "no to where", 1},
        {{"", NULL}, "nothing to where", 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct user user = {.says = {rows[i].says[0], rows[i].says[1]}};
        mcp_reply *reply;
        struct story s;

        story_begin(&s, MCP_SERVER_OPTIONS(.page = 0));
        story_tool(&s, MCP_TOOL(.name = "book", .run = tool_book));
        story_open(&s, state,
                   SCRIPT_OPTIONS(.elicit = {.run = user_answer, .user = &user}));
        reply = story_call(&s, "book", NULL);
        assert_string_equal(mcp_reply_text(reply), rows[i].end);
        assert_int_equal(user.count, rows[i].asked);
        assert_string_equal(user.asked[0], "Where to?");
        if (user.count == 2)
            assert_string_equal(user.asked[1], "When in Ulm?");
        mcp_reply_free(reply);
        story_end(&s);
    }
}

/* ---- a page first ---------------------------------------------------------- */

struct shop {
    atomic_bool paid;
    atomic_int elicited;
    char id[32]; /* written before elicited is */
};

static int
tool_buy(mcp_request *req, mcp_result *out, void *user)
{
    struct shop *shop = user;

    if (atomic_load(&shop->paid))
        return mcp_result_text(out, "bought");
    return mcp_request_elicit_first(req, "pay",
                                    &MCP_ELICIT(.message = "Pay first", .id = "e-1",
                                                .url = "https://pay.example/1"));
}

static int
user_never(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    (void)out;
    return mcp_request_fail(req, -32603, NULL, "nobody should ask");
}

static void
on_elicited(mcp_client *client, const char *id, void *user)
{
    struct shop *shop = user;

    (void)client;
    snprintf(shop->id, sizeof shop->id, "%s", id);
    atomic_fetch_add(&shop->elicited, 1);
}

static void
what_needs_a_page_first_can_be_called_again_after_it(void **state)
{
    struct shop shop = {0};
    const mcp_json *first;
    mcp_reply *reply;
    struct story s;
    mcp_error err;
    mcp_call *call;

    story_begin(&s, MCP_SERVER_OPTIONS(.page = 0));
    story_tool(&s, MCP_TOOL(.name = "buy", .run = tool_buy, .user = &shop));
    story_open(&s, state,
               SCRIPT_OPTIONS(.elicit = {.run = user_never}, .able = MCP_ABLE_URL,
                              .on_elicited = on_elicited, .user = &shop));
    assert_int_equal(
        mcp_client_start_tool(s.client, "buy", NULL, NULL, NULL, NULL, &call), 0);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, &err), MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32042);
    first = mcp_json_at(mcp_json_get(mcp_call_error_data(call), "elicitations"), 0);
    assert_string_equal(mcp_json_string(mcp_json_get(first, "url"), ""),
                        "https://pay.example/1");
    atomic_store(&shop.paid, true); /* the user has been there */
    assert_int_equal(mcp_server_elicitation_complete(s.server, "e-1"), 0);
    RAW_UNTIL(atomic_load(&shop.elicited) == 1);
    assert_string_equal(shop.id,
                        mcp_json_string(mcp_json_get(first, "elicitationId"), "none"));
    mcp_call_free(call);
    reply = story_call(&s, "buy", NULL);
    assert_string_equal(mcp_reply_text(reply), "bought");
    mcp_reply_free(reply);
    story_end(&s);
}

/* ---- a link ---------------------------------------------------------------- */

static int
tool_find(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_resource_link(out, "note:///1", "one", NULL, NULL, "text/plain");
}

static void
a_link_in_a_result_can_be_followed(void **state)
{
    mcp_reply *found, *read = NULL;
    const mcp_json *link;
    struct story s;

    story_begin(&s, MCP_SERVER_OPTIONS(.page = 0));
    story_tool(&s, MCP_TOOL(.name = "find", .run = tool_find));
    assert_int_equal(
        mcp_server_add_resource(s.server,
                                &MCP_RESOURCE(.uri = "note:///1", .name = "one",
                                              .mime_type = "text/plain",
                                              .text = "what it links to"),
                                NULL),
        0);
    story_open(&s, state, SCRIPT_OPTIONS());
    found = story_call(&s, "find", NULL);
    link = mcp_json_at(mcp_reply_content(found), 0);
    assert_string_equal(mcp_json_string(mcp_json_get(link, "type"), ""),
                        "resource_link");
    assert_int_equal(mcp_client_read(s.client,
                                     mcp_json_string(mcp_json_get(link, "uri"), ""),
                                     NULL, &read, NULL),
                     0);
    assert_string_equal(
        mcp_json_string(mcp_json_get(mcp_json_at(mcp_reply_items(read), 0), "text"),
                        ""),
        "what it links to");
    mcp_reply_free(found);
    mcp_reply_free(read);
    story_end(&s);
}

/* ---- changes --------------------------------------------------------------- */

/* Who hears of a change reads the list, inside the callback; or does not. */
struct reader {
    bool reads;
    atomic_int heard;
    atomic_int tools; /* in the list that was read last */
};

static void
on_change(mcp_client *client, enum mcp_change change, const char *uri, void *user)
{
    struct reader *reader = user;
    mcp_reply *reply = NULL;

    (void)uri;
    assert_int_equal(change, MCP_TOOLS_CHANGED);
    if (reader->reads &&
        mcp_client_list_all(client, MCP_LIST_TOOLS, NULL, &reply, NULL) == 0)
        atomic_store(&reader->tools, (int)mcp_json_count(mcp_reply_items(reply)));
    mcp_reply_free(reply);
    atomic_fetch_add(&reader->heard, 1);
}

static mcp_subscription *
reader_open(struct reader *reader, struct story *s, void **state)
{
    mcp_subscription *subscription = NULL;
    mcp_error err;

    story_begin(s, MCP_SERVER_OPTIONS(.list_ttl_ms = 600000, .changes_ms = -1));
    story_tool(s, MCP_TOOL(.name = "first", .run = tool_find));
    story_open(s, state, SCRIPT_OPTIONS(.on_change = on_change, .user = reader));
    if (mcp_client_subscribe(s->client, &MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED),
                             &subscription, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(mcp_client_list_all(s->client, MCP_LIST_TOOLS, NULL, NULL, NULL),
                     0);
    return subscription;
}

static void
who_hears_of_a_change_can_read_the_list_anew(void **state)
{
    struct reader reader = {.reads = true};
    mcp_subscription *subscription;
    struct story s;

    subscription = reader_open(&reader, &s, state);
    story_tool(&s, MCP_TOOL(.name = "second", .run = tool_find));
    RAW_UNTIL(atomic_load(&reader.tools) == 2);
    assert_int_equal(mcp_server_remove_tool(s.server, "first"), 0);
    RAW_UNTIL(atomic_load(&reader.tools) == 1);
    assert_int_equal(atomic_load(&reader.heard), 2);
    mcp_subscription_free(subscription);
    story_end(&s);
}

static void
a_change_alone_asks_the_server_nothing(void **state)
{
    struct reader reader = {.reads = false};
    mcp_subscription *subscription;
    uint64_t requests;
    struct story s;

    subscription = reader_open(&reader, &s, state);
    requests = story_requests(&s);
    story_tool(&s, MCP_TOOL(.name = "second", .run = tool_find));
    RAW_UNTIL(atomic_load(&reader.heard) == 1);
    assert_int_equal(mcp_client_ping(s.client, NULL, NULL), 0);
    assert_int_equal(story_requests(&s), requests + 1); /* the ping */
    mcp_subscription_free(subscription);
    story_end(&s);
}

/* ---- a proxy --------------------------------------------------------------- */

#define ADD_INPUT                                                                     \
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":0}" \
    ",\"b\":{\"type\":\"integer\"}},\"required\":[\"a\",\"b\"]}"
#define ADD_OUTPUT                                                          \
    "{\"type\":\"object\",\"properties\":{\"sum\":{\"type\":\"integer\"}}," \
    "\"required\":[\"sum\"]}"

static int
tool_add(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *arguments = mcp_request_arguments(req);
    int64_t sum = 0;
    char text[64];

    (void)user;
    sum += mcp_json_int(mcp_json_get(arguments, "a"), 0);
    sum += mcp_json_int(mcp_json_get(arguments, "b"), 0);
    snprintf(text, sizeof text, "{\"sum\":%" PRId64 "}", sum);
    return mcp_result_json(out, text, strlen(text));
}

static char *
text_of(const mcp_json *value)
{
    char *text = NULL;

    if (value)
        assert_int_equal(mcp_json_print(value, false, NULL, &text, NULL), 0);
    return text;
}

static const char *
member_text(const mcp_json *object, const char *key)
{
    return mcp_json_string(mcp_json_get(object, key), NULL);
}

/* The same call to the other server; its answer, as it is. user: the other client. */
static int
tool_forward(mcp_request *req, mcp_result *out, void *user)
{
    char *text = text_of(mcp_request_arguments(req));
    mcp_reply *reply = NULL;
    mcp_json_iterator it;
    mcp_error err;
    int r;

    r = mcp_client_call_tool(user, mcp_request_name(req), text,
                             &MCP_CALL_OPTIONS(.parent = req), &reply, &err);
    mcp_text_free(text, NULL);
    if (r < 0)
        return mcp_request_fail(req, -32603, NULL, "%s", err.message);
    for (it = mcp_json_each(mcp_reply_content(reply)); r == 0 && mcp_json_next(&it);) {
        text = text_of(it.value);
        r = mcp_result_content(out, text, strlen(text));
        mcp_text_free(text, NULL);
    }
    text = text_of(mcp_reply_structured(reply));
    if (r == 0 && text)
        r = mcp_result_json(out, text, strlen(text));
    mcp_text_free(text, NULL);
    mcp_reply_free(reply);
    return r;
}

/* Reads the other server's list, and has the same. */
static void
proxy_tools(struct story *s, mcp_client *other)
{
    mcp_json_iterator it;
    mcp_reply *reply;

    assert_int_equal(mcp_client_list_all(other, MCP_LIST_TOOLS, NULL, &reply, NULL), 0);
    for (it = mcp_json_each(mcp_reply_items(reply)); mcp_json_next(&it);) {
        const mcp_json *hints = mcp_json_get(it.value, "annotations");
        char *input = text_of(mcp_json_get(it.value, "inputSchema"));
        char *output = text_of(mcp_json_get(it.value, "outputSchema"));
        char *meta = text_of(mcp_json_get(it.value, "_meta"));
        bool reads = mcp_json_bool(mcp_json_get(hints, "readOnlyHint"), false);

        story_tool(s, MCP_TOOL(.name = member_text(it.value, "name"),
                               .title = member_text(it.value, "title"),
                               .description = member_text(it.value, "description"),
                               .input_schema = input, .output_schema = output,
                               .meta = meta, .hints = reads ? MCP_READ_ONLY : 0,
                               .run = tool_forward, .user = other));
        mcp_text_free(input, NULL);
        mcp_text_free(output, NULL);
        mcp_text_free(meta, NULL);
    }
    mcp_reply_free(reply);
}

static int
resource_forward(mcp_request *req, mcp_result *out, void *user)
{
    mcp_reply *reply = NULL;
    int r;

    r = mcp_client_read(user, mcp_request_name(req), &MCP_CALL_OPTIONS(.parent = req),
                        &reply, NULL);
    if (r == 0)
        r = mcp_result_text(
            out, member_text(mcp_json_at(mcp_reply_items(reply), 0), "text"));
    mcp_reply_free(reply);
    return r;
}

static void
proxy_resources(struct story *s, mcp_client *other)
{
    mcp_json_iterator it;
    mcp_reply *reply;

    assert_int_equal(mcp_client_list_all(other, MCP_LIST_RESOURCES, NULL, &reply, NULL),
                     0);
    for (it = mcp_json_each(mcp_reply_items(reply)); mcp_json_next(&it);) {
        char *meta = text_of(mcp_json_get(it.value, "_meta"));
        mcp_resource resource = MCP_RESOURCE(.uri = member_text(it.value, "uri"),
                                             .name = member_text(it.value, "name"),
                                             .title = member_text(it.value, "title"),
                                             .mime_type = member_text(it.value,
                                                                      "mimeType"),
                                             .meta = meta, .run = resource_forward,
                                             .user = other);

        resource.bytes = mcp_json_int(mcp_json_get(it.value, "size"), 0);
        assert_int_equal(mcp_server_add_resource(s->server, &resource, NULL), 0);
        mcp_text_free(meta, NULL);
    }
    mcp_reply_free(reply);
}

static void
story_has_the_same(struct story *s, struct story *other, enum mcp_list list)
{
    mcp_reply *here = NULL, *there = NULL;
    char *text;

    assert_int_equal(mcp_client_list_all(s->client, list, NULL, &here, NULL), 0);
    assert_int_equal(mcp_client_list_all(other->client, list, NULL, &there, NULL), 0);
    assert_int_equal(mcp_json_count(mcp_reply_items(here)), 1);
    text = text_of(mcp_reply_items(here));
    if (!mcp_json_equal(mcp_reply_items(here), mcp_reply_items(there)))
        fail_msg("not the same: %s", text);
    mcp_text_free(text, NULL);
    mcp_reply_free(here);
    mcp_reply_free(there);
}

static void
a_proxy_shows_what_its_server_has_and_forwards(void **state)
{
    struct story server, proxy;
    mcp_reply *reply;

    story_begin(&server, MCP_SERVER_OPTIONS(.page = 0));
    story_tool(&server, MCP_TOOL(.name = "add", .title = "Adds", .description = "a + b",
                                 .input_schema = ADD_INPUT, .output_schema = ADD_OUTPUT,
                                 .hints = MCP_READ_ONLY, .run = tool_add,
                                 .meta = "{\"example.com/cost\":{\"cents\":7}}"));
    assert_int_equal(
        mcp_server_add_resource(server.server,
                                &MCP_RESOURCE(.uri = "note:///1", .name = "one",
                                              .title = "One", .mime_type = "text/plain",
                                              .text = "read through",
                                              .meta = "{\"example.com/tags\":[\"a\"]}"),
                                NULL),
        0);
    story_open(&server, state, SCRIPT_OPTIONS());
    story_begin(&proxy, MCP_SERVER_OPTIONS(.page = 0));
    proxy_tools(&proxy, server.client);
    proxy_resources(&proxy, server.client);
    story_open(&proxy, state, SCRIPT_OPTIONS());
    story_has_the_same(&proxy, &server, MCP_LIST_TOOLS);
    story_has_the_same(&proxy, &server, MCP_LIST_RESOURCES);
    reply = story_call(&proxy, "add", "{\"a\":2,\"b\":40}");
    assert_int_equal(mcp_json_int(mcp_json_get(mcp_reply_structured(reply), "sum"), 0),
                     42);
    mcp_reply_free(reply);
    assert_int_equal(mcp_client_read(proxy.client, "note:///1", NULL, &reply, NULL), 0);
    assert_string_equal(member_text(mcp_json_at(mcp_reply_items(reply), 0), "text"),
                        "read through");
    mcp_reply_free(reply);
    story_end(&proxy);
    story_end(&server);
}

#define IN_BOTH_ERAS(test) \
    TEST_AS("modern." #test, test, &modern), TEST_AS("legacy." #test, test, &legacy)

TEST_MAIN(IN_BOTH_ERAS(questions_follow_each_other_until_one_is_not_accepted),
          TEST_AS("legacy.what_needs_a_page_first_can_be_called_again_after_it",
                  what_needs_a_page_first_can_be_called_again_after_it, &legacy),
          IN_BOTH_ERAS(a_link_in_a_result_can_be_followed),
          IN_BOTH_ERAS(who_hears_of_a_change_can_read_the_list_anew),
          IN_BOTH_ERAS(a_change_alone_asks_the_server_nothing),
          IN_BOTH_ERAS(a_proxy_shows_what_its_server_has_and_forwards))
