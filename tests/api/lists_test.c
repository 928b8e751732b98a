/* lists_test.c - the lists of what a server offers, page by page */
#include "api/raw_client.h"

static int
nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

/* The four lists, by their method and their member. */
static const struct {
    const char *method, *member, *shown; /* of "b" */
} lists[] = {
    {"tools/list", "tools", "{\"name\":\"b\",\"inputSchema\":{\"type\":\"object\"}}"},
    {"resources/list", "resources", "{\"uri\":\"b:\",\"name\":\"b\"}"},
    {"resources/templates/list", "resourceTemplates",
     "{\"uriTemplate\":\"b:{x}\",\"name\":\"b\"}"},
    {"prompts/list", "prompts", "{\"name\":\"b\"}"},
};

#define LISTS (sizeof(lists) / sizeof(lists[0]))

/* One of each kind, of that name. */
static void
offer_one(struct raw *raw, const char *name)
{
    char uri[32], pattern[32];

    snprintf(uri, sizeof(uri), "%s:", name);
    snprintf(pattern, sizeof(pattern), "%s:{x}", name);
    raw_tool(raw, MCP_TOOL(.name = name, .reply = nothing));
    assert_int_equal(mcp_server_add_resource(
                         raw->server,
                         &MCP_RESOURCE(.uri = uri, .name = name, .reply = nothing),
                         NULL),
                     0);
    assert_int_equal(
        mcp_server_add_template(
            raw->server,
            &MCP_TEMPLATE(.uri_template = pattern, .name = name, .reply = nothing),
            NULL),
        0);
    assert_int_equal(mcp_server_add_prompt(raw->server,
                                           &MCP_PROMPT(.name = name, .reply = nothing),
                                           NULL),
                     0);
}

static void
next_cursor(const char *line, char cursor[256])
{
    const char *at = strstr(line, "\"nextCursor\":\"");

    assert_non_null(at);
    at += strlen("\"nextCursor\":\"");
    snprintf(cursor, 256, "%.*s", (int)strcspn(at, "\""), at);
}

static void
each_list_is_in_order_and_as_its_era_wants_it(void **state)
{
    char part[300];
    const char *line;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    offer_one(&raw, "c");
    offer_one(&raw, "b");
    raw_start(&raw, RAW_MODERN);
    for (size_t i = 0; i < LISTS; i++) {
        raw_ask(&raw, "1", lists[i].method, "");
        snprintf(part, sizeof(part), "\"result\":{\"%s\":[%s,{", lists[i].member,
                 lists[i].shown);
        line = raw_expect(&raw, part);
        if (RAW_MODERN)
            assert_non_null(strstr(line, "],\"ttlMs\":0,\"cacheScope\":\"private\","
                                         "\"resultType\":\"complete\""));
        else
            assert_null(strstr(line, "ttlMs"));
    }
    raw_done(&raw);
}

static void
lists_may_be_kept_as_the_options_say(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 1, .list_ttl_ms = 60000,
                                      .list_scope = MCP_CACHE_PUBLIC));
    offer_one(&raw, "a");
    offer_one(&raw, "b");
    raw_start(&raw, true);
    for (size_t i = 0; i < LISTS; i++) {
        raw_ask(&raw, "1", lists[i].method, "");
        raw_expect(&raw, "\",\"ttlMs\":60000,\"cacheScope\":\"public\",");
    }
    raw_done(&raw);
}

static void
each_list_comes_in_pages(void **state)
{
    char cursor[256], more[300], part[300];
    const char *line;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 1));
    offer_one(&raw, "a");
    offer_one(&raw, "b");
    raw_start(&raw, RAW_MODERN);
    for (size_t i = 0; i < LISTS; i++) {
        raw_ask(&raw, "1", lists[i].method, "");
        next_cursor(raw_line(&raw), cursor);
        snprintf(more, sizeof(more), ",\"cursor\":\"%s\"", cursor);
        raw_ask(&raw, "2", lists[i].method, more);
        snprintf(part, sizeof(part), "\"result\":{\"%s\":[%s]", lists[i].member,
                 lists[i].shown);
        line = raw_expect(&raw, part);
        assert_null(strstr(line, "nextCursor"));
    }
    raw_done(&raw);
}

static void
a_cursor_is_good_for_its_own_list_only(void **state)
{
    char cursor[256], more[300];
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 1));
    offer_one(&raw, "a");
    offer_one(&raw, "b");
    raw_start(&raw, RAW_MODERN);
    for (size_t i = 0; i < LISTS; i++) {
        raw_ask(&raw, "1", lists[i].method, "");
        next_cursor(raw_line(&raw), cursor);
        snprintf(more, sizeof(more), ",\"cursor\":\"%s\"", cursor);
        for (size_t j = 0; j < LISTS; j++) {
            raw_ask(&raw, "2", lists[j].method, more);
            raw_expect(&raw, i == j ? "\"result\"" : "\"code\":-32602");
        }
    }
    raw_done(&raw);
}

static void
what_is_no_cursor_is_refused(void **state)
{
    static const char *const bad[] = {"5",    "null",     "[]",
                                      "\"\"", "\"mine\"", "\"AAAAAAAAAAAAAAAA\""};
    char cursor[256], more[300];
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 1));
    offer_one(&raw, "a");
    offer_one(&raw, "b");
    raw_start(&raw, RAW_MODERN);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(more, sizeof(more), ",\"cursor\":%s", bad[i]);
        raw_ask(&raw, "1", "prompts/list", more);
        raw_expect(&raw, "\"code\":-32602,\"message\":\"Invalid params: cursor ");
    }
    raw_ask(&raw, "2", "prompts/list", "");
    next_cursor(raw_line(&raw), cursor);
    snprintf(more, sizeof(more), ",\"cursor\":\"%s\\u0000x\"", cursor);
    raw_ask(&raw, "3", "prompts/list", more);
    raw_expect(&raw, "\"code\":-32602");
    raw_done(&raw);
}

static void
list_in(struct test_mem *mem, void *user)
{
    const char *line;
    struct raw raw;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 1)) < 0)
        return;
    raw.lenient = true;
    if (mcp_server_add_prompt(raw.server, &MCP_PROMPT(.name = "a", .reply = nothing),
                              NULL) == 0 &&
        mcp_server_add_prompt(raw.server, &MCP_PROMPT(.name = "b", .reply = nothing),
                              NULL) == 0 &&
        raw_try_connect(&raw, true) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        raw_ask(&raw, "1", "prompts/list", "");
        line = raw_next(&raw);
        if (line && !strstr(line, "\"id\":1"))
            fail_msg("%s", line);
    }
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(list_in, NULL) > 20);
}

TEST_MAIN(TEST_ERAS(each_list_is_in_order_and_as_its_era_wants_it),
          TEST(lists_may_be_kept_as_the_options_say),
          TEST_ERAS(each_list_comes_in_pages),
          TEST_ERAS(a_cursor_is_good_for_its_own_list_only),
          TEST_ERAS(what_is_no_cursor_is_refused), TEST(each_allocation_may_fail))
