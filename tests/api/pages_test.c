/* pages_test.c - all pages of a list, as one reply */
#include <mcp/server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client_fixture.h"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

#define PAGE(key, items, more) \
    "\"result\":{\"resultType\":\"complete\",\"" key "\":[" items "]" more "}"
#define KEPT(items, more) PAGE("tools", items, more ",\"ttlMs\":3600000")
#define BAD_CURSOR "\"error\":{\"code\":-32602,\"message\":\"no such page\"}"

static void
assert_items(mcp_reply *reply, const char *text)
{
    char *printed;

    assert_int_equal(
        mcp_json_print(mcp_reply_items(reply), false, NULL, &printed, NULL), 0);
    assert_string_equal(printed, text);
    mcp_text_free(printed, NULL);
    assert_null(mcp_reply_cursor(reply));
    mcp_reply_free(reply);
}

static int
list_all(struct fixture *f, const mcp_call_options *opt, mcp_reply **ret_reply,
         mcp_error *err)
{
    return mcp_client_list_all(f->client, MCP_LIST_TOOLS, opt, ret_reply, err);
}

/* Means nothing to us, and goes back as it came. */
#define CURSOR "\"{\\\"p\\\": 2}&%2F\\\\ =\""
#define MORE ",\"nextCursor\":" CURSOR

static void
all_pages_are_one_reply(void **state)
{
    static const struct {
        enum mcp_list list;
        const char *method, *first, *last;
    } cases[] = {
        {MCP_LIST_TOOLS, "tools/list", PAGE("tools", "1,2", MORE),
         PAGE("tools", "3", "")},
        {MCP_LIST_RESOURCES, "resources/list", PAGE("resources", "1,2", MORE),
         PAGE("resources", "3", "")},
        {MCP_LIST_TEMPLATES, "resources/templates/list",
         PAGE("resourceTemplates", "1,2", MORE), PAGE("resourceTemplates", "3", "")},
        {MCP_LIST_PROMPTS, "prompts/list", PAGE("prompts", "1,2", MORE),
         PAGE("prompts", "3", "")},
    };
    struct fixture f;
    mcp_reply *reply;
    size_t i;

    fixture_open(&f, state);
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        script_plan(&f.s, cases[i].method, cases[i].first);
        script_plan(&f.s, cases[i].method, cases[i].last);
        assert_int_equal(
            mcp_client_list_all(f.client, cases[i].list, NULL, &reply, NULL), 0);
        assert_items(reply, "[1,2,3]");
        if (!strstr(script_line(&f.s, cases[i].method, 2), "\"cursor\":" CURSOR))
            fail_msg("%s", script_line(&f.s, cases[i].method, 2));
    }
    assert_int_equal(
        mcp_client_list_all(f.client, (enum mcp_list)4, NULL, &reply, NULL),
        MCP_E_INVAL);
    assert_int_equal(mcp_client_list_all(NULL, MCP_LIST_TOOLS, NULL, &reply, NULL),
                     MCP_E_INVAL);
    fixture_close(&f);
}

static void
an_empty_list_is_one_too(void **state)
{
    struct fixture f;
    mcp_reply *reply;

    fixture_open(&f, state);
    script_plan(&f.s, "tools/list", PAGE("tools", "", ""));
    script_plan(&f.s, "tools/list", PAGE("tools", "", ""));
    assert_int_equal(list_all(&f, NULL, &reply, NULL), 0);
    assert_items(reply, "[]");
    assert_int_equal(list_all(&f, NULL, NULL, NULL), 0);
    fixture_close(&f);
}

static void
a_page_that_leads_back_is_noticed(void **state)
{
    static const char *const cursors[] = {"a", "b", "a"};
    char page[128];
    struct fixture f;
    mcp_error err;
    size_t i;

    fixture_open(&f, state);
    for (i = 0; i < 3; i++) {
        snprintf(page, sizeof page,
                 "\"result\":{\"resultType\":\"complete\",\"tools\":[],\"nextCursor\":"
                 "\"%s\"}",
                 cursors[i]);
        script_plan(&f.s, "tools/list", page);
    }
    assert_int_equal(list_all(&f, NULL, NULL, &err), MCP_E_PROTO);
    assert_string_equal(err.message,
                        "a page of the list of tools leads back to another");
    assert_int_equal(script_count(&f.s, "tools/list"), 3);
    fixture_close(&f);
}

static void
pages_without_end_have_an_end(void **state)
{
    char page[128];
    struct fixture f;
    mcp_error err;
    int i;

    (void)state;
    fixture_open(&f, state);
    for (i = 0; i < 1001; i++) {
        snprintf(page, sizeof page,
                 "\"result\":{\"resultType\":\"complete\",\"tools\":[],\"nextCursor\":"
                 "\"%d\"}",
                 i);
        script_plan(&f.s, "tools/list", page);
    }
    assert_int_equal(list_all(&f, NULL, NULL, &err), MCP_E_LIMIT);
    assert_string_equal(err.message, "the list of tools has more than 1000 pages");
    assert_int_equal(script_count(&f.s, "tools/list"), 1000);
    fixture_close(&f);
}

static void
a_list_without_measure_has_a_measure(void **state)
{
    char *page = malloc(8000);
    struct fixture f;
    mcp_error err;
    int i;

    (void)state;
    assert_non_null(page);
    fixture_prepare(&f, MCP_ERA_MODERN);
    f.client = script_client(
        &f.s, &SCRIPT_OPTIONS(.allocator = &f.mem.allocator, .message_bytes = 65536));
    for (i = 0; i < 200; i++) {
        snprintf(page, 8000,
                 "\"result\":{\"resultType\":\"complete\",\"tools\":[\"%06000d\"],"
                 "\"nextCursor\":\"%d\"}",
                 0, i);
        script_plan(&f.s, "tools/list", page);
    }
    assert_int_equal(list_all(&f, NULL, NULL, &err), MCP_E_LIMIT);
    assert_in_range(script_count(&f.s, "tools/list"), 2, 60);
    free(page);
    fixture_close(&f);
}

static void
what_is_no_list_is_no_answer(void **state)
{
    static const char *const answers[] = {
        "\"result\":{\"resultType\":\"complete\"}",
        "\"result\":{\"resultType\":\"complete\",\"tools\":{\"a\":{}}}",
        "\"result\":{\"resultType\":\"complete\",\"tools\":null}",
        PAGE("prompts", "1", "")};
    struct fixture f;
    mcp_error err;
    size_t i;

    fixture_open(&f, state);
    for (i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        script_plan(&f.s, "tools/list", answers[i]);
        assert_int_equal(list_all(&f, NULL, NULL, &err), MCP_E_PROTO);
        assert_string_equal(err.message,
                            "the answer to tools/list has no list \"tools\"");
    }
    fixture_close(&f);
}

static void
a_failure_is_that_of_its_page(void **state)
{
    struct fixture f;
    mcp_error err;

    fixture_open(&f, state);
    script_plan(&f.s, "tools/list", PAGE("tools", "1", ",\"nextCursor\":\"x\""));
    script_plan(&f.s, "tools/list", "\"error\":{\"code\":-32603,\"message\":\"oh\"}");
    assert_int_equal(list_all(&f, NULL, NULL, &err), MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32603);
    assert_string_equal(err.message, "oh");
    fixture_close(&f);
}

static void
L5_the_total_spans_all_pages(void **state)
{
    struct fixture f;
    mcp_error err;

    fixture_open(&f, state);
    fixture_hold_time(&f);
    script_plan_late(&f.s, "tools/list", PAGE("tools", "1", ",\"nextCursor\":\"x\""),
                     &f.clock, 1500);
    script_plan_late(&f.s, "tools/list", NULL, &f.clock, 1000);
    assert_int_equal(list_all(&f, &MCP_CALL_OPTIONS(.total_ms = 2500), NULL, &err),
                     MCP_E_TOTAL_TIMEOUT);
    script_line(&f.s, "notifications/cancelled", 1);
    fixture_close(&f);
}

static void
an_id_is_that_of_the_first_page(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("mine"));
    struct fixture f;

    fixture_open(&f, state);
    script_plan(&f.s, "tools/list", PAGE("tools", "1", ",\"nextCursor\":\"x\""));
    script_plan(&f.s, "tools/list", PAGE("tools", "2", ""));
    assert_int_equal(list_all(&f, &opt, NULL, NULL), 0);
    assert_int_equal(script_count(&f.s, "\"id\":\"mine\""), 1);
    fixture_close(&f);
}

static void
kept_pages_are_used(void **state)
{
    struct fixture f;
    mcp_reply *reply;

    (void)state;
    fixture_open(&f, state);
    script_plan(&f.s, "tools/list", KEPT("1", ",\"nextCursor\":\"x\""));
    script_plan(&f.s, "tools/list", KEPT("2", ""));
    assert_int_equal(list_all(&f, NULL, NULL, NULL), 0);
    assert_int_equal(list_all(&f, NULL, &reply, NULL), 0);
    assert_items(reply, "[1,2]");
    assert_int_equal(script_count(&f.s, "tools/list"), 2);
    fixture_close(&f);
}

static void
a_cursor_of_a_kept_page_may_be_good_no_more(void **state)
{
    struct fixture f;
    mcp_reply *reply;

    (void)state;
    fixture_open(&f, state);
    script_plan(&f.s, "tools/list", KEPT("1", ",\"nextCursor\":\"old\""));
    assert_int_equal(mcp_client_list_tools(f.client, NULL, NULL, NULL, NULL), 0);
    script_plan(&f.s, "\"old\"", BAD_CURSOR);
    script_plan(&f.s, "tools/list", KEPT("7", ",\"nextCursor\":\"new\""));
    script_plan(&f.s, "tools/list", KEPT("8", ""));
    assert_int_equal(list_all(&f, NULL, &reply, NULL), 0);
    assert_items(reply, "[7,8]");
    script_plan(&f.s, "tools/list", KEPT("1", ",\"nextCursor\":\"x\""));
    script_plan(&f.s, "tools/list", BAD_CURSOR);
    assert_int_equal(list_all(&f, &MCP_CALL_OPTIONS(.fresh = true), NULL, NULL),
                     MCP_E_PEER); /* it was not an old one */
    fixture_close(&f);
}

static int
nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

static void
our_own_server_is_listed_as_a_whole(void **state)
{
    mcp_client *client = NULL;
    mcp_server *server = NULL;
    mcp_reply *reply = NULL;
    char name[16];
    int i;

    assert_int_equal(
        mcp_server_new(&MCP_SERVER_OPTIONS(.name = "s", .version = "1", .page = 3),
                       &server, NULL),
        0);
    for (i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "t%d", i);
        assert_int_equal(
            mcp_server_add_tool(server, &MCP_TOOL(.name = name, .run = nothing), NULL),
            0);
    }
    assert_int_equal(mcp_server_start(server, NULL), 0);
    assert_int_equal(
        mcp_client_attach_server(
            server, &SCRIPT_OPTIONS(.era = *(enum mcp_era *)*state), &client, NULL),
        0);
    assert_int_equal(mcp_client_list_all(client, MCP_LIST_TOOLS, NULL, &reply, NULL),
                     0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 8);
    mcp_reply_free(reply);
    mcp_client_free(client);
    mcp_server_free(server);
}

static void
list_once(struct test_mem *mem)
{
    long fail_at = atomic_load(&mem->fail_at);
    mcp_reply *reply = NULL;
    mcp_client *client;
    struct script s;
    int r;

    script_open(&s, MCP_ERA_MODERN);
    atomic_store(&mem->fail_at, 0);
    client = script_client(&s, &SCRIPT_OPTIONS(.allocator = &mem->allocator));
    atomic_store(&mem->fail_at, atomic_load(&mem->total) + fail_at);
    script_plan(&s, "tools/list", KEPT("1", ",\"nextCursor\":\"x\""));
    script_plan(&s, "tools/list", KEPT("2", ""));
    r = mcp_client_list_all(client, MCP_LIST_TOOLS, NULL, &reply, NULL);
    atomic_store(&mem->fail_at, 0);
    assert_int_equal(r == 0, reply != NULL);
    assert_true(r == 0 || atomic_load(&mem->failed) > 0);
    mcp_reply_free(reply);
    mcp_client_free(client);
    script_close(&s);
}

static void
each_allocation_may_fail(void **state)
{
    struct test_mem mem;
    long n, failed;

    (void)state;
    for (n = 1; n < 200; n++) {
        test_mem_init(&mem);
        atomic_store(&mem.fail_at, n);
        list_once(&mem);
        failed = atomic_load(&mem.failed);
        test_mem_done(&mem);
        if (failed == 0)
            break;
    }
    assert_in_range(n, 10, 100);
}

#define IN_BOTH_ERAS(test) \
    TEST_AS("modern." #test, test, &modern), TEST_AS("legacy." #test, test, &legacy)

TEST_MAIN(IN_BOTH_ERAS(all_pages_are_one_reply), IN_BOTH_ERAS(an_empty_list_is_one_too),
          IN_BOTH_ERAS(a_page_that_leads_back_is_noticed),
          TEST(pages_without_end_have_an_end),
          TEST(a_list_without_measure_has_a_measure),
          IN_BOTH_ERAS(what_is_no_list_is_no_answer),
          IN_BOTH_ERAS(a_failure_is_that_of_its_page),
          IN_BOTH_ERAS(L5_the_total_spans_all_pages),
          IN_BOTH_ERAS(an_id_is_that_of_the_first_page), TEST(kept_pages_are_used),
          TEST(a_cursor_of_a_kept_page_may_be_good_no_more),
          IN_BOTH_ERAS(our_own_server_is_listed_as_a_whole),
          TEST(each_allocation_may_fail))
