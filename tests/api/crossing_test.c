/*
 * crossing_test.c - what crosses between a request of an isolated tool and its helper
 *
 * That it arrives is helper_test.c's; here is how an end is told.
 */
#include "api/crossing.h"

#include <signal.h>
#include <string.h>

#include "run/process.h"
#include "support/test.h"

#define EXITED(status) ((status) << 8)

static void
expect(int wait_status, uint64_t memory_bytes, int64_t cpu_seconds, const char *text)
{
    char told[160];

    mcpi_crossing_describe(told, sizeof(told), wait_status, memory_bytes, cpu_seconds);
    assert_string_equal(told, text);
}

static void
an_end_is_told_in_a_sentence(void **state)
{
    (void)state;
    expect(SIGSEGV, 0, 0, "the tool was ended by signal 11 (SIGSEGV)");
    expect(SIGSEGV | 0x80, 0, 0,
           "the tool was ended by signal 11 (SIGSEGV)"); /* core */
    expect(SIGKILL, 0, 0, "the tool was ended by signal 9 (SIGKILL)");
    expect(63, 0, 0, "the tool was ended by signal 63");
    expect(EXITED(0), 0, 0, "the tool ended its process with status 0");
    expect(EXITED(3), 0, 0, "the tool ended its process with status 3");
    expect(MCPI_WAIT_UNKNOWN, 0, 0, "the process of the tool is gone");
}

static void
a_limit_is_named_if_it_may_be_the_reason(void **state)
{
    (void)state;
    expect(SIGABRT, 4096, 0,
           "the tool was ended by signal 6 (SIGABRT); its memory limit is 4096 bytes");
    expect(SIGXCPU, 4096, 2,
           "the tool was ended by signal 24 (SIGXCPU); its limit is 2 s of processor "
           "time");
    expect(SIGTERM, 4096, 2, "the tool was ended by signal 15 (SIGTERM)");
    expect(SIGXCPU, 0, 0, "the tool was ended by signal 24 (SIGXCPU)");
    expect(SIGSEGV, UINT64_MAX, 0,
           "the tool was ended by signal 11 (SIGSEGV); its memory limit is "
           "18446744073709551615 bytes");
}

static mcp_doc *
parse(const char *text)
{
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    return doc;
}

static void
what_is_left_behind_is_read_from_either_answer(void **state)
{
    mcp_doc *left = parse("{\"_meta\":{\"libmcp/left\":true}}");
    mcp_doc *rest = parse("{\"left\":true}");
    mcp_doc *none = parse("{\"left\":false,\"_meta\":{\"left\":true}}");

    (void)state;
    assert_true(mcpi_crossing_left(mcp_doc_root(left)));
    assert_false(mcpi_crossing_left(mcp_doc_root(rest)));
    assert_false(mcpi_crossing_left(mcp_doc_root(none)));
    assert_true(mcpi_crossing_rest_left(mcp_doc_root(rest)));
    assert_false(mcpi_crossing_rest_left(mcp_doc_root(left)));
    assert_false(mcpi_crossing_rest_left(mcp_doc_root(none)));
    mcp_doc_free(left);
    mcp_doc_free(rest);
    mcp_doc_free(none);
}

static void
expect_asked(const char *params, const char *principal, const char *asked,
             const char *with)
{
    struct mcpi_exchange x = {.caller.principal = principal};
    struct mcpi_offer offer = {.key = "job"};
    mcp_request req = {.x = &x, .offer = &offer};
    mcp_doc *doc = parse(params);
    struct mcpi_buf into, meta;
    struct test_mem mem;

    test_mem_init(&mem);
    mcpi_buf_init(&into, &mem.allocator, SIZE_MAX);
    mcpi_buf_init(&meta, &mem.allocator, SIZE_MAX);
    x.rpc.params = mcp_doc_root(doc);
    mcpi_crossing_ask(&req, &into, &meta);
    mcpi_buf_char(&into, '\0');
    mcpi_buf_char(&meta, '\0');
    assert_string_equal(into.data, asked);
    assert_string_equal(meta.data, with);
    mcpi_buf_done(&into);
    mcpi_buf_done(&meta);
    mcp_doc_free(doc);
    test_mem_done(&mem);
}

static void
what_is_asked_names_who_asks(void **state)
{
    (void)state;
    expect_asked("{\"name\":\"job\",\"arguments\":{\"a\":1}}", "ann \"x\"",
                 "{\"name\":\"job\",\"arguments\":{\"a\":1}}",
                 "{\"libmcp/principal\":\"ann \\\"x\\\"\"}");
    expect_asked("{\"name\":\"job\"}", "", "{\"name\":\"job\"}", "{}");
    expect_asked("{}", "\xff", "{\"name\":\"job\"}", "{\"libmcp/principal\":\"\"}");
}

static void
members_of_meta_cross_unless_they_are_somebodys_own(void **state)
{
    (void)state;
    expect_asked("{\"_meta\":{\"traceparent\":\"t\",\"progressToken\":5,"
                 "\"libmcp/principal\":\"root\",\"libmcp/left\":true,\"a/b\":[1],"
                 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}",
                 "ann", "{\"name\":\"job\"}",
                 "{\"traceparent\":\"t\",\"a/b\":[1],\"libmcp/principal\":\"ann\"}");
}

TEST_MAIN(TEST(what_is_asked_names_who_asks),
          TEST(members_of_meta_cross_unless_they_are_somebodys_own),
          TEST(an_end_is_told_in_a_sentence),
          TEST(a_limit_is_named_if_it_may_be_the_reason),
          TEST(what_is_left_behind_is_read_from_either_answer))
