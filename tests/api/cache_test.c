/* cache_test.c - what a server said may be kept: for how long, for whom, until when */
#include "api/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client_fixture.h"
#include "json/value.h"

#define MS INT64_C(1000)

static const unsigned char seed[MCPI_SEED_SIZE] = "sixteen bytes...";

static mcp_doc *
parse(const mcp_allocator *mem, const char *text)
{
    mcp_doc *doc = NULL;

    (void)mcp_doc_parse(text, strlen(text), &MCP_JSON_OPTIONS(.allocator = mem), &doc,
                        NULL);
    return doc;
}

static struct mcpi_cache_key
key(enum mcpi_method method, const char *text)
{
    return (struct mcpi_cache_key){method, text, text ? strlen(text) : 0};
}

/* ---- keys ---------------------------------------------------------------- */

static struct mcpi_cache_key
key_of(const char *method, const char *params)
{
    mcp_doc *doc = params ? parse(NULL, params) : NULL;
    struct mcpi_cache_key found = mcpi_cache_key_read(method, mcp_doc_root(doc));

    if (found.text)
        found.text = found.len == 1 ? "?" : NULL; /* it was borrowed */
    mcp_doc_free(doc);
    return found;
}

static void
a_key_is_the_method_and_its_one_parameter(void **state)
{
    (void)state;
    assert_int_equal(key_of("tools/list", NULL).method, MCPI_METHOD_TOOLS_LIST);
    assert_null(key_of("tools/list", "{}").text);
    assert_int_equal(key_of("prompts/list", "{ \"cursor\" : \"c\" }").len, 1);
    assert_int_equal(key_of("resources/read", "{\"uri\":\"u\"}").method,
                     MCPI_METHOD_RESOURCES_READ);
}

static void
what_has_other_parameters_has_no_key(void **state)
{
    static const char *const cases[][2] = {
        {"tools/call", "{\"name\":\"x\"}"},
        {"tools/list", "{\"cursor\":1}"},
        {"tools/list", "{\"cursor\":\"c\",\"filter\":1}"},
        {"tools/list", "{\"filter\":1}"},
        {"resources/read", NULL},
        {"resources/read", "{}"},
        {"resources/read", "{\"cursor\":\"c\"}"},
        {"resources/read", "{\"uri\":\"u\",\"requestState\":\"s\"}"},
        {"resources/list", "{\"uri\":\"u\"}"}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(key_of(cases[i][0], cases[i][1]).method, MCPI_METHOD_OTHER);
}

/* ---- the pure part ------------------------------------------------------- */

struct kept {
    struct test_mem mem;
    struct mcpi_cache cache;
};

static void
kept_open(struct kept *k)
{
    test_mem_init(&k->mem);
    mcpi_cache_init(&k->cache, &k->mem.allocator, seed);
}

static void
kept_close(struct kept *k)
{
    mcpi_cache_done(&k->cache);
    test_mem_done(&k->mem);
}

static void
keep_result(struct kept *k, struct mcpi_cache_key what, const char *members,
            int64_t now)
{
    char text[256];
    mcp_doc *doc;

    snprintf(text, sizeof text, "{\"id\":1,\"result\":{%s}}", members);
    doc = parse(&k->mem.allocator, text);
    mcpi_cache_keep(&k->cache, &what, mcpi_cache_changes(&k->cache, what.method), doc,
                    now);
    mcp_doc_free(doc);
}

#define LASTS(ms) "\"resultType\":\"complete\",\"ttlMs\":" #ms

static bool
is_there(struct kept *k, struct mcpi_cache_key what, int64_t now)
{
    mcp_doc *doc = mcpi_cache_find(&k->cache, &what, now);

    mcp_doc_free(doc);
    return doc != NULL;
}

static const struct mcpi_cache_key tools = {MCPI_METHOD_TOOLS_LIST, NULL, 0};

static void
it_is_fresh_for_as_long_as_the_server_said(void **state)
{
    struct kept k;

    (void)state;
    kept_open(&k);
    keep_result(&k, tools, LASTS(10), 5 * MS);
    assert_true(is_there(&k, tools, 5 * MS));
    assert_true(is_there(&k, tools, 15 * MS - 1));
    assert_false(is_there(&k, tools, 15 * MS));
    assert_int_equal(k.cache.bytes, 0);
    assert_false(is_there(&k, tools, 5 * MS)); /* gone is gone */
    kept_close(&k);
}

static void
a_time_without_end_does_not_overflow(void **state)
{
    struct kept k;

    (void)state;
    kept_open(&k);
    keep_result(&k, tools, LASTS(9223372036854775807), 5 * MS);
    assert_true(is_there(&k, tools, INT64_MAX - 1));
    kept_close(&k);
}

static void
what_says_nothing_of_that_kind_is_not_kept(void **state)
{
    static const char *const members[] = {
        "\"resultType\":\"complete\"",
        LASTS(0),
        LASTS(-5),
        LASTS("100"),
        LASTS(null),
        "\"ttlMs\":100",
        "\"resultType\":\"input_required\",\"ttlMs\":100"};
    struct kept k;
    size_t i;

    (void)state;
    kept_open(&k);
    for (i = 0; i < sizeof members / sizeof members[0]; i++) {
        keep_result(&k, tools, members[i], 0);
        assert_false(is_there(&k, tools, 0));
    }
    kept_close(&k);
}

static void
a_newer_answer_takes_the_place_of_the_older(void **state)
{
    struct kept k;

    (void)state;
    kept_open(&k);
    keep_result(&k, tools, LASTS(10), 0);
    keep_result(&k, tools, LASTS(100), 0);
    assert_int_equal(k.cache.entries.count, 1);
    assert_true(is_there(&k, tools, 50 * MS));
    keep_result(&k, tools, LASTS(0), 0);
    assert_false(is_there(&k, tools, 0));
    kept_close(&k);
}

static void
other_questions_have_other_answers(void **state)
{
    struct mcpi_cache_key read = key(MCPI_METHOD_RESOURCES_READ, "c");
    struct mcpi_cache_key page = key(MCPI_METHOD_TOOLS_LIST, "c");
    struct mcpi_cache_key empty = key(MCPI_METHOD_TOOLS_LIST, "");
    struct kept k;

    (void)state;
    kept_open(&k);
    keep_result(&k, page, LASTS(10), 0);
    assert_false(is_there(&k, tools, 0));
    assert_false(is_there(&k, read, 0));
    assert_false(is_there(&k, empty, 0));
    keep_result(&k, empty, LASTS(10), 0);
    assert_false(is_there(&k, tools, 0)); /* "" is a cursor */
    assert_true(is_there(&k, empty, 0));
    kept_close(&k);
}

static void
a_change_forgets_what_it_is_about(void **state)
{
    const struct mcpi_cache_key all[] = {
        tools,
        key(MCPI_METHOD_TOOLS_LIST, "2"),
        key(MCPI_METHOD_PROMPTS_LIST, NULL),
        key(MCPI_METHOD_RESOURCES_LIST, NULL),
        key(MCPI_METHOD_RESOURCES_TEMPLATES_LIST, NULL),
        key(MCPI_METHOD_RESOURCES_READ, "a"),
        key(MCPI_METHOD_RESOURCES_READ, "b"),
    };
    static const struct {
        int change;
        const char *uri;
        const char *left; /* of the seven above */
    } cases[] = {{MCP_TOOLS_CHANGED, NULL, "0011111"},
                 {MCP_PROMPTS_CHANGED, NULL, "1101111"},
                 {MCP_RESOURCES_CHANGED, NULL, "1110011"},
                 {MCP_RESOURCE_UPDATED, "b", "1111110"},
                 {MCP_RESOURCE_UPDATED, "c", "1111111"},
                 {MCP_RESOURCE_UPDATED, NULL, "1111100"},
                 {MCP_TOOLS_CHANGED | MCP_PROMPTS_CHANGED, NULL, "0001111"}};
    struct kept k;
    size_t i, j;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kept_open(&k);
        for (j = 0; j < 7; j++)
            keep_result(&k, all[j], LASTS(10), 0);
        mcpi_cache_forget(&k.cache, (enum mcp_change)cases[i].change, cases[i].uri);
        for (j = 0; j < 7; j++)
            assert_int_equal(is_there(&k, all[j], 0), cases[i].left[j] == '1');
        kept_close(&k);
    }
}

static void
an_answer_that_was_asked_for_before_a_change_is_not_kept(void **state)
{
    uint64_t asked;
    struct kept k;
    mcp_doc *doc;

    (void)state;
    kept_open(&k);
    doc = parse(&k.mem.allocator, "{\"result\":{" LASTS(100) "}}");
    asked = mcpi_cache_changes(&k.cache, MCPI_METHOD_TOOLS_LIST);
    mcpi_cache_forget(&k.cache, MCP_TOOLS_CHANGED, NULL);
    mcpi_cache_keep(&k.cache, &tools, asked, doc, 0);
    assert_false(is_there(&k, tools, 0));
    asked = mcpi_cache_changes(&k.cache, MCPI_METHOD_TOOLS_LIST);
    mcpi_cache_forget(&k.cache, MCP_PROMPTS_CHANGED, NULL); /* of others */
    mcpi_cache_keep(&k.cache, &tools, asked, doc, 0);
    assert_true(is_there(&k, tools, 0));
    mcp_doc_free(doc);
    kept_close(&k);
}

static void
a_dropped_list_takes_all_its_pages_with_it(void **state)
{
    struct mcpi_cache_key prompts = key(MCPI_METHOD_PROMPTS_LIST, NULL);
    struct mcpi_cache_key second = key(MCPI_METHOD_TOOLS_LIST, "2");
    struct kept k;

    (void)state;
    kept_open(&k);
    keep_result(&k, tools, LASTS(10), 0);
    keep_result(&k, second, LASTS(10), 0);
    keep_result(&k, prompts, LASTS(10), 0);
    mcpi_cache_drop(&k.cache, MCPI_METHOD_TOOLS_LIST);
    assert_false(is_there(&k, tools, 0));
    assert_false(is_there(&k, second, 0));
    assert_true(is_there(&k, prompts, 0));
    kept_close(&k);
}

static void
the_oldest_go_when_there_are_too_many(void **state)
{
    char name[16];
    struct kept k;
    int i;

    (void)state;
    kept_open(&k);
    for (i = 0; i < MCPI_CACHE_ENTRIES_MAX + 3; i++) {
        snprintf(name, sizeof name, "%d", i);
        keep_result(&k, key(MCPI_METHOD_RESOURCES_READ, name), LASTS(10), 0);
    }
    assert_int_equal(k.cache.entries.count, MCPI_CACHE_ENTRIES_MAX);
    assert_false(is_there(&k, key(MCPI_METHOD_RESOURCES_READ, "2"), 0));
    assert_true(is_there(&k, key(MCPI_METHOD_RESOURCES_READ, "3"), 0));
    kept_close(&k);
}

static mcp_doc *
large_doc(struct kept *k, size_t size)
{
    char *text = malloc(size + 128);
    mcp_doc *doc;
    int at;

    at = sprintf(text, "{\"result\":{" LASTS(10) ",\"x\":\"");
    memset(text + at, 'x', size);
    strcpy(text + at + size, "\"}}");
    doc = parse(&k->mem.allocator, text);
    assert_non_null(doc);
    free(text);
    return doc;
}

static void
the_oldest_go_when_they_are_too_large(void **state)
{
    size_t fit, i;
    struct kept k;
    mcp_doc *doc;
    char name[16];

    (void)state;
    kept_open(&k);
    doc = large_doc(&k, (size_t)1 << 20);
    fit = MCPI_CACHE_BYTES_MAX / mcpi_doc_bytes(doc);
    for (i = 0; i <= fit; i++) {
        struct mcpi_cache_key read;

        snprintf(name, sizeof name, "%zu", i);
        read = key(MCPI_METHOD_RESOURCES_READ, name);
        mcpi_cache_keep(&k.cache, &read, 0, doc, 0);
    }
    mcp_doc_free(doc);
    assert_in_range(fit, 1, 16);
    assert_int_equal(k.cache.entries.count, fit);
    assert_true(k.cache.bytes <= MCPI_CACHE_BYTES_MAX);
    assert_false(is_there(&k, key(MCPI_METHOD_RESOURCES_READ, "0"), 0));
    doc = large_doc(&k, MCPI_CACHE_BYTES_MAX);
    mcpi_cache_keep(&k.cache, &tools, 0, doc, 0);
    mcp_doc_free(doc);
    assert_false(is_there(&k, tools, 0)); /* and nothing went for its sake */
    assert_int_equal(k.cache.entries.count, fit);
    kept_close(&k);
}

static void
keep_flow(struct test_mem *mem, void *user)
{
    struct mcpi_cache cache;
    mcp_doc *doc, *found;

    (void)user;
    mcpi_cache_init(&cache, &mem->allocator, seed);
    doc = parse(&mem->allocator, "{\"result\":{" LASTS(100) "}}");
    if (doc) {
        mcpi_cache_keep(&cache, &tools, 0, doc, 0);
        found = mcpi_cache_find(&cache, &tools, 0);
        assert_true(found == doc || atomic_load(&mem->failed) > 0);
        mcp_doc_free(found);
    }
    mcp_doc_free(doc);
    mcpi_cache_done(&cache);
}

static void
what_there_is_no_memory_for_is_not_kept(void **state)
{
    (void)state;
    assert_in_range(test_each_allocation_fails(keep_flow, NULL), 2, 5);
}

/* ---- a client that keeps ------------------------------------------------- */

#define PAGE(ttl)                                                    \
    "\"result\":{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"n\"," \
    "\"resultType\":\"complete\",\"ttlMs\":" #ttl ",\"cacheScope\":\"private\"}"

static void
list_tools(struct fixture *f, const char *cursor, const mcp_call_options *opt)
{
    mcp_reply *reply = NULL;

    assert_int_equal(mcp_client_list_tools(f->client, cursor, opt, &reply, NULL), 0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 1);
    mcp_reply_free(reply);
}

static void
a_fresh_list_is_not_asked_for_again(void **state)
{
    mcp_client_counts counts = {.size = sizeof counts};
    struct fixture f;

    fixture_open(&f, state);
    script_plan(&f.s, "tools/list", PAGE(3600000));
    script_plan(&f.s, "tools/list", PAGE(0));
    script_plan(&f.s, "tools/list", PAGE(3600000));
    list_tools(&f, NULL, NULL);
    list_tools(&f, NULL, NULL);
    assert_int_equal(script_count(&f.s, "tools/list"), 1);
    list_tools(&f, NULL, &MCP_CALL_OPTIONS(.fresh = true));
    assert_int_equal(script_count(&f.s, "tools/list"), 2);
    list_tools(&f, NULL, NULL); /* the newest one is not to be kept */
    assert_int_equal(script_count(&f.s, "tools/list"), 3);
    mcp_client_count(f.client, &counts);
    assert_int_equal(counts.started, 4);
    assert_int_equal(counts.answered, 4);
    fixture_close(&f);
}

static void
a_kept_answer_takes_the_way_of_any_other(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    script_plan(&f.s, "resources/read",
                "\"result\":{\"contents\":[],\"resultType\":\"complete\",\"ttlMs\":"
                "3600000,\"cacheScope\":\"public\"}");
    assert_int_equal(mcp_client_read(f.client, "x:1", NULL, NULL, NULL), 0);
    assert_int_equal(mcp_client_start_read(f.client, "x:1",
                                           &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("k")),
                                           told_done, &f.told, &call),
                     0);
    assert_string_equal(mcp_call_id(call), "\"k\"");
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), 0);
    assert_int_equal(mcp_call_cancel(call, NULL), MCP_E_STATE);
    assert_int_equal(mcp_call_flush(call, AWAIT_MS), 0);
    mcp_call_free(call);
    assert_int_equal(
        mcp_client_call(f.client, "resources/read", " { \"uri\" : \"x:1\" } ",
                        &MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NOW), NULL, NULL),
        0);
    assert_int_equal(script_count(&f.s, "resources/read"), 1);
    fixture_close(&f);
}

static void
a_client_may_keep_nothing(void **state)
{
    struct fixture f;
    int i;

    (void)state;
    fixture_prepare(&f, MCP_ERA_MODERN);
    f.client = script_client(
        &f.s, &SCRIPT_OPTIONS(.allocator = &f.mem.allocator, .no_cache = true));
    for (i = 1; i <= 2; i++) {
        script_plan(&f.s, "tools/list", PAGE(3600000));
        list_tools(&f, NULL, NULL);
        assert_int_equal(script_count(&f.s, "tools/list"), i);
    }
    fixture_close(&f);
}

static void
a_legacy_server_has_no_say_in_that(void **state)
{
    struct fixture f;
    int i;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    f.client = script_client(&f.s, &SCRIPT_OPTIONS(.allocator = &f.mem.allocator));
    for (i = 1; i <= 2; i++) {
        script_plan(&f.s, "tools/list", PAGE(3600000));
        list_tools(&f, NULL, NULL);
        assert_int_equal(script_count(&f.s, "tools/list"), i);
    }
    fixture_close(&f);
}

static void
what_else_is_said_makes_it_another_question(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.meta = "{\"my/tenant\":1}");
    struct fixture f;

    fixture_open(&f, state);
    script_plan(&f.s, "tools/list", PAGE(3600000));
    script_plan(&f.s, "tools/list", PAGE(3600000));
    script_plan(&f.s, "tools/list", PAGE(3600000));
    list_tools(&f, NULL, NULL);
    list_tools(&f, NULL, &opt);
    list_tools(&f, NULL, &opt);
    assert_int_equal(script_count(&f.s, "tools/list"), 3);
    fixture_close(&f);
}

static void
a_bad_cursor_drops_all_pages(void **state)
{
    struct fixture f;

    fixture_open(&f, state);
    script_plan(&f.s, "tools/list", PAGE(3600000));
    script_plan(&f.s, "\"cursor\":\"n\"",
                "\"error\":{\"code\":-32602,\"message\":\"no such page\"}");
    script_plan(&f.s, "tools/list", PAGE(3600000));
    list_tools(&f, NULL, NULL);
    assert_int_equal(mcp_client_list_tools(f.client, "n", NULL, NULL, NULL),
                     MCP_E_PEER);
    list_tools(&f, NULL, NULL);
    assert_int_equal(script_count(&f.s, "tools/list"), 3);
    fixture_close(&f);
}

static void
a_list_that_has_changed_is_asked_for_again(void **state)
{
    struct fixture f;

    fixture_open(&f, state);
    script_plan(&f.s, "tools/list", PAGE(3600000));
    script_plan(&f.s, "tools/list", PAGE(3600000));
    list_tools(&f, NULL, NULL);
    script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"method\":"
                     "\"notifications/prompts/list_changed\"}");
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    list_tools(&f, NULL, NULL);
    assert_int_equal(script_count(&f.s, "tools/list"), 1);
    script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"method\":"
                     "\"notifications/tools/list_changed\"}");
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    list_tools(&f, NULL, NULL);
    assert_int_equal(script_count(&f.s, "tools/list"), 2);
    fixture_close(&f);
}

static void
B5_what_is_over_gets_no_kept_answer_either(void **state)
{
    struct fixture f;
    mcp_scope *scope;

    fixture_open(&f, state);
    script_plan(&f.s, "tools/list", PAGE(3600000));
    list_tools(&f, NULL, NULL);
    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    mcp_scope_cancel(scope, NULL);
    assert_int_equal(mcp_client_list_tools(
                         f.client, NULL, &MCP_CALL_OPTIONS(.scope = scope), NULL, NULL),
                     MCP_E_CANCELED);
    mcp_scope_free(scope);
    mcp_client_close(f.client);
    assert_int_equal(mcp_client_list_tools(f.client, NULL, NULL, NULL, NULL),
                     MCP_E_CLOSED);
    fixture_close(&f);
}

TEST_MAIN(TEST(a_key_is_the_method_and_its_one_parameter),
          TEST(what_has_other_parameters_has_no_key),
          TEST(it_is_fresh_for_as_long_as_the_server_said),
          TEST(a_time_without_end_does_not_overflow),
          TEST(what_says_nothing_of_that_kind_is_not_kept),
          TEST(a_newer_answer_takes_the_place_of_the_older),
          TEST(other_questions_have_other_answers),
          TEST(a_change_forgets_what_it_is_about),
          TEST(an_answer_that_was_asked_for_before_a_change_is_not_kept),
          TEST(a_dropped_list_takes_all_its_pages_with_it),
          TEST(the_oldest_go_when_there_are_too_many),
          TEST(the_oldest_go_when_they_are_too_large),
          TEST(what_there_is_no_memory_for_is_not_kept),
          TEST(a_fresh_list_is_not_asked_for_again),
          TEST(a_kept_answer_takes_the_way_of_any_other),
          TEST(a_client_may_keep_nothing), TEST(a_legacy_server_has_no_say_in_that),
          TEST(what_else_is_said_makes_it_another_question),
          TEST(a_bad_cursor_drops_all_pages),
          TEST(a_list_that_has_changed_is_asked_for_again),
          TEST(B5_what_is_over_gets_no_kept_answer_either))
