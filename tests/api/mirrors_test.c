/* mirrors_test.c - arguments in headers: learned from pages, forgotten, kept in bounds */
#include "api/mirrors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "json/value.h"

#define SCHEMA(header)                      \
    "{\"type\":\"object\",\"properties\":{" \
    "\"a\":{\"type\":\"string\",\"x-mcp-header\":\"" header "\"}}}"
#define TOOL(name, header) "{\"name\":\"" name "\",\"inputSchema\":" SCHEMA(header) "}"
#define PLAIN(name) "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}}"
#define PAGE(tools) "{\"tools\":[" tools "]}"
#define PAGE_TO(tools, cursor) "{\"tools\":[" tools "],\"nextCursor\":\"" cursor "\"}"

#define NO_TOKEN "x-mcp-header is no HTTP token"

static const unsigned char seed[MCPI_SEED_SIZE] = "sixteen bytes...";

struct fixture {
    struct test_mem mem;
    struct mcpi_mirrors mirrors;
    struct mcpi_log log;
    int lines;
    char first[512], last[512];
};

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    struct fixture *f = user;

    assert_int_equal(level, MCP_LOG_WARNING);
    if (f->lines++ == 0)
        snprintf(f->first, sizeof f->first, "%s", line);
    snprintf(f->last, sizeof f->last, "%s", line);
}

static void
fixture_open(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    test_mem_init(&f->mem);
    f->log = (struct mcpi_log){on_log, f, MCP_LOG_WARNING};
    mcpi_mirrors_init(&f->mirrors, &f->mem.allocator, seed);
}

static void
fixture_close(struct fixture *f)
{
    mcpi_mirrors_done(&f->mirrors);
    test_mem_done(&f->mem);
}

static mcp_doc *
parse(const char *text)
{
    mcp_doc *doc = NULL;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    return doc;
}

static size_t
learn_at(struct fixture *f, const char *result, uint64_t page)
{
    mcp_doc *doc = parse(result);
    size_t unfit = 99;

    assert_int_equal(
        mcpi_mirrors_learn(&f->mirrors, mcp_doc_root(doc), page, &f->log, &unfit), 0);
    mcp_doc_free(doc);
    return unfit;
}

static void
learn(struct fixture *f, const char *result)
{
    assert_int_equal(learn_at(f, result, MCPI_MIRRORS_FIRST), 0);
}

static void
learn_by(struct fixture *f, const char *result, const char *cursor)
{
    learn_at(f, result, mcpi_mirrors_page(&f->mirrors, cursor, strlen(cursor)));
}

/* The header of a tool's only argument; NULL: nothing is known. */
static const char *
header(struct fixture *f, const char *tool)
{
    const struct mcpi_mirror *mirror = mcpi_mirrors_find(&f->mirrors, tool);

    if (!mirror)
        return NULL;
    assert_int_equal(mcpi_mirror_count(mirror), 1);
    return mcpi_mirror_name(mirror, 0);
}

/* name: JSON text. */
static uint64_t
version(struct fixture *f, const char *name)
{
    mcp_doc *doc = parse(name);
    uint64_t number = mcpi_mirrors_version(&f->mirrors, mcp_doc_root(doc));

    mcp_doc_free(doc);
    return number;
}

static bool
changed(struct fixture *f, const char *name, uint64_t since)
{
    mcp_doc *doc = parse(name);
    bool is = mcpi_mirrors_changed(&f->mirrors, mcp_doc_root(doc), since);

    mcp_doc_free(doc);
    return is;
}

/* ---- learning ------------------------------------------------------------ */

static void
a_page_says_what_stands_in_headers(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f,
          PAGE(TOOL("t", "Region") "," PLAIN("p") ",{\"name\":\"q\"},7,"
                                                  "{\"inputSchema\":" SCHEMA("N") "}"));
    assert_string_equal(header(&f, "t"), "Region");
    assert_null(header(&f, "p"));
    assert_null(header(&f, "q"));
    assert_null(header(&f, ""));
    assert_int_equal(f.mirrors.tools.count, 1);
    assert_int_equal(f.lines, 0);
    fixture_close(&f);
}

static void
a_later_page_says_it_anew(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f, PAGE(TOOL("t", "A") "," TOOL("u", "B")));
    learn(&f, PAGE(TOOL("t", "C") "," PLAIN("u")));
    assert_string_equal(header(&f, "t"), "C");
    assert_null(header(&f, "u"));
    assert_int_equal(f.mirrors.tools.count, 1);
    fixture_close(&f);
}

static void
a_result_without_tools_says_nothing(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f, PAGE(TOOL("t", "A")));
    learn(&f, "{}");
    learn(&f, "{\"tools\":7}");
    learn(&f, "{\"resultType\":\"input_required\"}");
    assert_string_equal(header(&f, "t"), "A");
    fixture_close(&f);
}

static void
names_are_compared_as_a_whole(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f, PAGE(TOOL("t\\u0000x", "A") "," TOOL("", "B")));
    assert_null(header(&f, "t"));
    assert_string_equal(header(&f, ""), "B");
    assert_int_equal(f.mirrors.tools.count, 2);
    fixture_close(&f);
}

/* ---- forgetting ---------------------------------------------------------- */

static void
what_a_whole_list_has_not_is_forgotten(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f, PAGE(TOOL("a", "A") "," TOOL("b", "B")));
    learn(&f, PAGE(TOOL("b", "B") "," TOOL("c", "C")));
    assert_null(header(&f, "a"));
    assert_string_equal(header(&f, "b"), "B");
    assert_string_equal(header(&f, "c"), "C");
    fixture_close(&f);
}

static void
pages_make_a_whole_list_in_their_order(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f, PAGE(TOOL("old", "O")));
    learn(&f, PAGE_TO(TOOL("a", "A"), "2"));
    learn_by(&f, PAGE_TO(TOOL("b", "B"), "3"), "2");
    assert_string_equal(header(&f, "old"), "O"); /* it may still come */
    learn_by(&f, PAGE(TOOL("c", "C")), "3");
    assert_null(header(&f, "old"));
    assert_string_equal(header(&f, "a"), "A");
    assert_string_equal(header(&f, "b"), "B");
    assert_string_equal(header(&f, "c"), "C");
    fixture_close(&f);
}

static void
a_page_out_of_order_forgets_nothing(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f, PAGE(TOOL("old", "O")));
    learn_by(&f, PAGE(TOOL("c", "C")), "3"); /* of no list that was begun */
    learn(&f, PAGE_TO(TOOL("a", "A"), "2"));
    learn_by(&f, PAGE(TOOL("c", "C")), "3"); /* one is missing */
    learn_at(&f, PAGE(TOOL("d", "D")), MCPI_MIRRORS_ELSEWHERE);
    assert_string_equal(header(&f, "old"), "O");
    learn_by(&f, PAGE(TOOL("b", "B")), "2");
    assert_null(header(&f, "old"));
    assert_string_equal(header(&f, "c"), "C"); /* seen since the first page */
    assert_string_equal(header(&f, "d"), "D");
    fixture_close(&f);
}

static void
a_list_that_begins_again_ends_again(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f, PAGE(TOOL("old", "O")));
    learn(&f, PAGE_TO(TOOL("a", "A"), "2"));
    learn(&f, PAGE_TO(TOOL("a", "A"), "2"));
    learn_by(&f, PAGE(TOOL("b", "B")), "2");
    assert_null(header(&f, "old"));
    learn_by(&f, PAGE(TOOL("b", "B")), "2"); /* of the first one: it is read already */
    assert_string_equal(header(&f, "a"), "A");
    fixture_close(&f);
}

static void
all_can_be_forgotten(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f, PAGE_TO(TOOL("a", "A") "," TOOL("b", "B"), "2"));
    mcpi_mirrors_forget(&f.mirrors);
    assert_null(header(&f, "a"));
    assert_int_equal(f.mirrors.bytes, 0);
    learn_by(&f, PAGE(TOOL("c", "C")), "2");
    learn(&f, PAGE(TOOL("a", "A")));
    assert_string_equal(header(&f, "a"), "A");
    fixture_close(&f);
}

/* ---- has it changed? ----------------------------------------------------- */

static void
what_is_known_has_a_number(void **state)
{
    struct fixture f;
    uint64_t first, other;

    (void)state;
    fixture_open(&f);
    assert_int_equal(version(&f, "\"t\""), 0);
    learn(&f, PAGE(TOOL("t", "A")));
    first = version(&f, "\"t\"");
    assert_int_not_equal(first, 0);
    learn(&f, PAGE(TOOL("t", "A") "," TOOL("u", "U")));
    assert_int_equal(version(&f, "\"t\""), first); /* it says the same */
    other = version(&f, "\"u\"");
    assert_int_not_equal(other, first);
    learn(&f, PAGE(TOOL("t", "B") "," TOOL("u", "U")));
    assert_int_not_equal(version(&f, "\"t\""), first);
    assert_int_equal(version(&f, "\"u\""), other);
    learn(&f, PAGE(PLAIN("t") "," TOOL("u", "U")));
    assert_int_equal(version(&f, "\"t\""), 0);
    fixture_close(&f);
}

static void
a_change_is_told_to_who_was_there_before(void **state)
{
    struct fixture f;
    uint64_t known;

    (void)state;
    fixture_open(&f);
    known = f.mirrors.changes;
    assert_false(changed(&f, "\"t\"", known));
    learn(&f, PAGE(TOOL("t", "A") "," TOOL("u", "U")));
    assert_true(changed(&f, "\"t\"", known));
    assert_false(changed(&f, "\"plain\"", known));
    known = f.mirrors.changes;
    learn(&f, PAGE(TOOL("t", "B") "," TOOL("u", "U")));
    assert_true(changed(&f, "\"t\"", known));
    assert_false(changed(&f, "\"u\"", known));
    known = f.mirrors.changes;
    learn(&f, PAGE(PLAIN("t") "," TOOL("u", "U")));
    assert_true(changed(&f, "\"t\"", known));
    assert_false(changed(&f, "\"u\"", known));
    known = f.mirrors.changes;
    assert_false(changed(&f, "\"t\"", known));
    mcpi_mirrors_forget(&f.mirrors);
    assert_true(changed(&f, "\"u\"", known));
    fixture_close(&f);
}

/* ---- bounds -------------------------------------------------------------- */

static void
there_are_not_too_many_and_the_oldest_go(void **state)
{
    char page[256];
    struct fixture f;
    int i;

    (void)state;
    fixture_open(&f);
    for (i = 0; i <= MCPI_MIRRORS_MAX; i++) {
        snprintf(page, sizeof page, PAGE(TOOL("%d", "H")), i);
        learn_at(&f, page, MCPI_MIRRORS_ELSEWHERE);
        if (i == MCPI_MIRRORS_MAX / 2) /* it is young again */
            learn_at(&f, PAGE(TOOL("0", "H")), MCPI_MIRRORS_ELSEWHERE);
    }
    assert_int_equal(f.mirrors.tools.count, MCPI_MIRRORS_MAX);
    assert_non_null(header(&f, "0"));
    assert_null(header(&f, "1"));
    assert_non_null(header(&f, "2"));
    assert_non_null(header(&f, "4096"));
    fixture_close(&f);
}

static void
they_are_not_too_large(void **state)
{
    enum { LONG = 30000 };
    char *page = malloc(2 * LONG);
    struct fixture f;
    int i, at;

    (void)state;
    assert_non_null(page);
    fixture_open(&f);
    for (i = 0; i < 1000; i++) {
        at = sprintf(page,
                     "{\"tools\":[{\"name\":\"%d\",\"inputSchema\":{"
                     "\"properties\":{\"",
                     i);
        memset(page + at, 'p', LONG);
        strcpy(page + at + LONG,
               "\":{\"type\":\"string\",\"x-mcp-header\":\"H\"}}}}]}");
        learn_at(&f, page, MCPI_MIRRORS_ELSEWHERE);
        assert_true(f.mirrors.bytes <= MCPI_MIRRORS_BYTES_MAX);
    }
    assert_in_range(f.mirrors.tools.count, 100, 999);
    assert_null(header(&f, "0"));
    assert_non_null(header(&f, "999"));
    free(page);
    fixture_close(&f);
}

/* A name alone may be larger than all that is kept. */
static void
what_is_too_large_alone_is_not_kept(void **state)
{
    char *page = malloc(MCPI_MIRRORS_BYTES_MAX + 512);
    struct fixture f;
    int at;

    (void)state;
    assert_non_null(page);
    fixture_open(&f);
    at = sprintf(page, "{\"tools\":[{\"name\":\"");
    memset(page + at, 'n', MCPI_MIRRORS_BYTES_MAX);
    strcpy(page + at + MCPI_MIRRORS_BYTES_MAX, "\",\"inputSchema\":" SCHEMA("H") "}]}");
    learn_at(&f, page, MCPI_MIRRORS_FIRST);
    assert_int_equal(f.mirrors.tools.count, 0);
    assert_int_equal(f.mirrors.bytes, 0);
    free(page);
    fixture_close(&f);
}

/* ---- tools that break a rule --------------------------------------------- */

static void
a_tool_that_breaks_a_rule_is_told_by_name(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(
        learn_at(&f, PAGE(TOOL("good", "G") "," TOOL("bad\\nname", "no token")), 0), 1);
    assert_int_equal(f.lines, 1);
    assert_string_equal(f.last, "tool bad name is left out: " NO_TOKEN);
    assert_null(header(&f, "bad\nname"));
    assert_string_equal(header(&f, "good"), "G");
    assert_int_equal(learn_at(&f, "{\"tools\":[{\"inputSchema\":" SCHEMA("") "}]}", 0),
                     1);
    assert_string_equal(f.last, "tool without a name is left out: " NO_TOKEN);
    fixture_close(&f);
}

static void
a_log_is_not_filled(void **state)
{
    char page[8192] = "{\"tools\":[";
    struct fixture f;
    size_t at;
    int i;

    (void)state;
    fixture_open(&f);
    for (i = 0; i < 20; i++) {
        at = strlen(page);
        snprintf(page + at, sizeof page - at, "%s" TOOL("t%d", ""), i ? "," : "", i);
    }
    strcat(page, "]}");
    assert_int_equal(learn_at(&f, page, 0), 20);
    assert_int_equal(f.lines, MCPI_MIRRORS_WARNED_MAX + 1);
    assert_string_equal(f.first, "tool t0 is left out: " NO_TOKEN);
    assert_string_equal(f.last, "12 more tools are left out");
    fixture_close(&f);
}

static void
a_tool_that_comes_to_break_a_rule_is_forgotten(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f, PAGE(TOOL("t", "A")));
    assert_int_equal(learn_at(&f, PAGE(TOOL("t", "")), 0), 1);
    assert_null(header(&f, "t"));
    /* of two by the same name the one that may be used counts */
    assert_int_equal(learn_at(&f, PAGE(TOOL("t", "A") "," TOOL("t", "")), 0), 1);
    assert_string_equal(header(&f, "t"), "A");
    fixture_close(&f);
}

static int
read_answer(struct fixture *f, mcp_doc *doc, struct mcpi_rpc *ret)
{
    struct mcpi_rpc answer;

    mcpi_rpc_read(mcp_doc_root(doc), &answer);
    assert_int_equal(answer.kind, MCPI_RPC_RESULT);
    answer.doc = doc;
    return mcpi_mirrors_read(&f->mirrors, &answer, MCPI_MIRRORS_FIRST, &f->log, ret);
}

/* The answer as it is shown, as text. */
static void
shows(const char *answer, const char *shown)
{
    mcp_doc *doc = parse(answer);
    struct mcpi_rpc ret;
    struct fixture f;
    char *text;

    fixture_open(&f);
    assert_int_equal(read_answer(&f, doc, &ret), 0);
    assert_int_equal(mcp_json_print(mcp_doc_root(ret.doc), false, NULL, &text, NULL),
                     0);
    assert_string_equal(text, shown);
    assert_int_equal(ret.kind, MCPI_RPC_RESULT);
    assert_ptr_equal(ret.result, mcp_json_get(mcp_doc_root(ret.doc), "result"));
    mcp_text_free(text, NULL);
    mcp_doc_free(ret.doc);
    mcp_doc_free(doc);
    fixture_close(&f);
}

static void
tools_that_break_a_rule_are_left_out(void **state)
{
    (void)state;
    shows(
        "{\"jsonrpc\":\"2.0\",\"id\":\"x\\u0000y\",\"result\":{\"a\":[1,2.5,true,null],"
        "\"tools\":[" TOOL("bad", "") "," TOOL("good", "G") "," TOOL(
            "worse", "") ","
                         "{\"name\":\"plain\",\"n\":18446744073709551615}],"
                         "\"k\\u0000\":{\"\":\"\xC3"
                         "\xA4\"},\"nextCursor\":\"c\",\"ttlMs\":5},\"more\":-0.5}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"x\\u0000y\",\"result\":{\"a\":[1,2.5,true,null],"
        "\"tools\":[" TOOL(
            "good", "G") ","
                         "{\"name\":\"plain\",\"n\":18446744073709551615}],"
                         "\"k\\u0000\":{\"\":\"\xC3"
                         "\xA4\"},\"nextCursor\":\"c\",\"ttlMs\":5},\"more\":-0.5}");
    shows("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[" TOOL("bad", "") "]}}",
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}");
    shows("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[" TOOL(
              "bad", "") "],\"tools\":[" TOOL("bad", "") "," PLAIN("p") "]}}",
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[],\"tools\":[" PLAIN(
              "p") "]}}");
}

static void
an_answer_of_which_all_can_be_used_is_the_same(void **state)
{
    mcp_doc *doc = parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" PAGE(
        TOOL("t", "A") "," PLAIN("p")) "}");
    struct mcpi_rpc ret;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(read_answer(&f, doc, &ret), 0);
    assert_ptr_equal(ret.doc, doc);
    assert_string_equal(header(&f, "t"), "A");
    mcp_doc_free(ret.doc);
    mcp_doc_free(doc);
    fixture_close(&f);
}

static void
the_deepest_answer_can_be_cleaned(void **state)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.max_depth = 256);
    struct mcpi_buf text;
    struct mcpi_rpc ret;
    struct fixture f;
    mcp_doc *doc;
    int i;

    (void)state;
    fixture_open(&f);
    mcpi_buf_init(&text, NULL, 65536);
    mcpi_buf_text(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"deep\":");
    for (i = 0; i < 254; i++)
        mcpi_buf_char(&text, '[');
    for (i = 0; i < 254; i++)
        mcpi_buf_char(&text, ']');
    mcpi_buf_text(&text, ",\"tools\":[" TOOL("bad", "") "]}}");
    assert_int_equal(mcp_doc_parse(text.data, text.len, &opt, &doc, NULL), 0);
    assert_int_equal(read_answer(&f, doc, &ret), 0);
    assert_int_equal(mcp_json_count(mcp_json_get(ret.result, "tools")), 0);
    assert_int_equal(mcp_json_count(mcp_json_get(ret.result, "deep")), 1);
    mcp_doc_free(ret.doc);
    mcp_doc_free(doc);
    mcpi_buf_done(&text);
    fixture_close(&f);
}

/* ---- memory -------------------------------------------------------------- */

static void
read_flow(struct test_mem *mem, void *user)
{
    mcp_doc *doc = user;
    struct mcpi_mirrors mirrors;
    struct mcpi_log silent = {NULL, NULL, MCP_LOG_WARNING};
    struct mcpi_rpc answer, ret;
    int r;

    mcpi_mirrors_init(&mirrors, &mem->allocator, seed);
    mcpi_rpc_read(mcp_doc_root(doc), &answer);
    answer.doc = doc;
    r = mcpi_mirrors_read(&mirrors, &answer, MCPI_MIRRORS_FIRST, &silent, &ret);
    if (r == 0) {
        assert_int_equal(mcp_json_count(mcp_json_get(ret.result, "tools")), 2);
        mcp_doc_free(ret.doc);
    } else {
        assert_int_equal(r, MCP_E_NOMEM);
        assert_true(atomic_load(&mem->failed) > 0);
    }
    mcpi_mirrors_done(&mirrors);
}

static void
without_memory_there_is_no_answer(void **state)
{
    mcp_doc *doc = parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" PAGE(
        TOOL("t", "A") "," TOOL("bad", "") "," TOOL("u", "B")) "}");

    (void)state;
    assert_in_range(test_each_allocation_fails(read_flow, doc), 8, 60);
    mcp_doc_free(doc);
}

static void
a_list_that_was_not_read_to_its_end_forgets_nothing(void **state)
{
    mcp_doc *doc = parse(PAGE(TOOL("new", "N")));
    struct fixture f;
    size_t unfit;

    (void)state;
    fixture_open(&f);
    learn(&f, PAGE(TOOL("old", "O")));
    atomic_store(&f.mem.fail_at, atomic_load(&f.mem.total) + 1);
    assert_int_equal(
        mcpi_mirrors_learn(&f.mirrors, mcp_doc_root(doc), 0, &f.log, &unfit),
        MCP_E_NOMEM);
    assert_string_equal(header(&f, "old"), "O");
    mcp_doc_free(doc);
    fixture_close(&f);
}

TEST_MAIN(TEST(a_page_says_what_stands_in_headers), TEST(a_later_page_says_it_anew),
          TEST(a_result_without_tools_says_nothing),
          TEST(names_are_compared_as_a_whole),
          TEST(what_a_whole_list_has_not_is_forgotten),
          TEST(pages_make_a_whole_list_in_their_order),
          TEST(a_page_out_of_order_forgets_nothing),
          TEST(a_list_that_begins_again_ends_again), TEST(all_can_be_forgotten),
          TEST(what_is_known_has_a_number),
          TEST(a_change_is_told_to_who_was_there_before),
          TEST(there_are_not_too_many_and_the_oldest_go), TEST(they_are_not_too_large),
          TEST(what_is_too_large_alone_is_not_kept),
          TEST(a_tool_that_breaks_a_rule_is_told_by_name), TEST(a_log_is_not_filled),
          TEST(a_tool_that_comes_to_break_a_rule_is_forgotten),
          TEST(tools_that_break_a_rule_are_left_out),
          TEST(an_answer_of_which_all_can_be_used_is_the_same),
          TEST(the_deepest_answer_can_be_cleaned),
          TEST(without_memory_there_is_no_answer),
          TEST(a_list_that_was_not_read_to_its_end_forgets_nothing))
