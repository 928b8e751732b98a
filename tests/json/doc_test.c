/* json/doc_test.c - proves json/doc.c: what is JSON, the limits, keys named twice */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "json/value.h"

static const struct mcpi_json_limits limits = {.max_bytes = 1 << 20, .max_depth = 128};

static int
parse_status(const char *text, size_t len, const mcp_json_options *opt)
{
    mcp_doc *doc = NULL;
    int r = mcp_doc_parse(text, len, opt, &doc, NULL);

    assert_int_equal(r == 0, doc != NULL);
    mcp_doc_free(doc);
    return r;
}

#define STATUS(literal) parse_status(literal, sizeof(literal) - 1, NULL)

static void
every_kind_of_value_is_read(void **state)
{
    static const char *const texts[] = {"null",  "true", "-1", "1.5",
                                        "\"s\"", "[]",   "{}"};
    static const enum mcp_json_type types[] = {
        MCP_JSON_NULL,   MCP_JSON_BOOL,  MCP_JSON_INTEGER, MCP_JSON_REAL,
        MCP_JSON_STRING, MCP_JSON_ARRAY, MCP_JSON_OBJECT,
    };
    mcp_doc *doc;

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        assert_int_equal(mcp_doc_parse(texts[i], strlen(texts[i]), NULL, &doc, NULL),
                         0);
        assert_int_equal(mcp_json_get_type(mcp_doc_root(doc)), types[i]);
        mcp_doc_free(doc);
    }
}

static void
text_is_copied(void **state)
{
    char text[] = "{\"k\":\"v\"}";
    mcp_doc *doc;

    (void)state;
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    memset(text, 'x', sizeof(text));
    assert_true(mcp_json_is_string(mcp_json_get(mcp_doc_root(doc), "k"), "v"));
    mcp_doc_free(doc);
}

/* Values are counted by what stands before them, also by what only stands in a text; a
 * few too many are better than one too few. Indented ones are read in another way. */
static void
values_have_as_much_room_as_they_need(void **state)
{
    static const char *const items[] = {
        "{}",       "[]",    "1",        "{\"a\":1}", "[[],{}]",      "\"\"",
        "\"[{:,\"", " null", "\n [ 1 ]", "[\n1,\n2]", "{\n\"a\": {}}"};
    enum { ITEMS = sizeof(items) / sizeof(items[0]), MOST = 400 };
    char text[MOST * 16];
    size_t len;
    mcp_doc *doc;

    (void)state;
    for (size_t count = 0; count < MOST; count += 1 + count / 8) {
        for (size_t i = 0; i < 2 * ITEMS; i++) {
            len = (size_t)snprintf(text, sizeof(text), i < ITEMS ? "[" : "[\n ");
            for (size_t n = 0; n < count; n++)
                len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
                                        n > 0 ? "," : "", items[(n * 7 + i) % ITEMS]);
            len += (size_t)snprintf(text + len, sizeof(text) - len, "]");
            assert_int_equal(mcp_doc_parse(text, len, NULL, &doc, NULL), 0);
            assert_int_equal(mcp_json_count(mcp_doc_root(doc)), count);
            for (size_t n = 0; n < count; n++)
                assert_true(mcp_json_get_type(mcp_json_at(mcp_doc_root(doc), n)) !=
                            MCP_JSON_ABSENT);
            mcp_doc_free(doc);
        }
    }
}

static void
text_that_breaks_off_has_room_too(void **state)
{
    static const char *const starts[] = {"[", "[\n ", "{\"\":", "{\n \"\":"};
    static const char *const middles[] = {"[", "[ ", "{\"\":"};
    char text[256];
    size_t len;

    (void)state;
    for (size_t i = 0; i < 4 * 3; i++) {
        len = (size_t)snprintf(text, sizeof(text), "%s", starts[i % 4]);
        for (size_t depth = 0; depth < 40; depth++) {
            text[len] = '1';
            assert_int_equal(parse_status(text, len + 1, NULL), MCP_E_SYNTAX);
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
                                    middles[i / 4]);
        }
    }
}

static void
document_of_a_short_text_is_short(void **state)
{
    static const char text[] =
        "{\"one long key and its value\":\"and one long value\"}";
    mcp_doc *doc;

    (void)state;
    assert_int_equal(mcpi_doc_parse(NULL, text, sizeof(text) - 1, &limits, &doc), 0);
    assert_true(mcpi_doc_bytes(doc) <= 80 + 3 * 16 + sizeof(text) + 8);
    mcp_doc_free(doc);
}

static void
what_is_not_json_is_a_syntax_error(void **state)
{
    (void)state;
    assert_int_equal(STATUS(""), MCP_E_SYNTAX);
    assert_int_equal(parse_status(NULL, 0, NULL), MCP_E_SYNTAX);
    assert_int_equal(STATUS(" "), MCP_E_SYNTAX);
    assert_int_equal(STATUS("{} x"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("1 2"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("[1,]"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("{\"a\":1,}"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("/* c */ 1"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("1 // c"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("\xEF\xBB\xBF{}"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("{} \0"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("['a']"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("{a:1}"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("[[["), MCP_E_SYNTAX);
    assert_int_equal(STATUS("\"a\nb\""), MCP_E_SYNTAX);
    assert_int_equal(STATUS("\"\\x\""), MCP_E_SYNTAX);
    assert_int_equal(STATUS("\"\\ud800\""), MCP_E_SYNTAX);
}

static void
numbers_json_does_not_have_are_syntax_errors(void **state)
{
    (void)state;
    assert_int_equal(STATUS("1e999"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("-1e999"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("NaN"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("Infinity"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("01"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("+1"), MCP_E_SYNTAX);
    assert_int_equal(STATUS(".5"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("1."), MCP_E_SYNTAX);
    assert_int_equal(STATUS("0x10"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("-"), MCP_E_SYNTAX);
}

static void
bad_utf8_is_a_syntax_error(void **state)
{
    (void)state;
    assert_int_equal(STATUS("\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\""), 0);
    assert_int_equal(STATUS("\"\xC0\x80\""), MCP_E_SYNTAX);
    assert_int_equal(STATUS("\"\xE0\x80\x80\""), MCP_E_SYNTAX);
    assert_int_equal(STATUS("\"\xED\xA0\x80\""), MCP_E_SYNTAX);
    assert_int_equal(STATUS("\"\xF4\x90\x80\x80\""), MCP_E_SYNTAX);
    assert_int_equal(STATUS("\"\xE2\x82\""), MCP_E_SYNTAX);
    assert_int_equal(STATUS("\"\x80\""), MCP_E_SYNTAX);
    assert_int_equal(STATUS("\"\xC3"), MCP_E_SYNTAX);
    assert_int_equal(STATUS("{\"\xFF\":1}"), MCP_E_SYNTAX);
}

static void
error_says_where(void **state)
{
    mcp_doc *doc = NULL;
    mcp_error err;

    (void)state;
    assert_int_equal(mcp_doc_parse("[1, x]", 6, NULL, &doc, &err), MCP_E_SYNTAX);
    assert_null(doc);
    assert_int_equal(err.status, MCP_E_SYNTAX);
    assert_non_null(strstr(err.message, "byte 4"));
}

/* "[[[...1...]]]", nested so deep. */
static int
nested_status(size_t depth, size_t max_depth)
{
    mcp_json_options opt = MCP_JSON_OPTIONS(.max_depth = max_depth);
    char *text = malloc(2 * depth + 1);
    int r;

    assert_non_null(text);
    memset(text, '[', depth);
    text[depth] = '1';
    memset(text + depth + 1, ']', depth);
    r = parse_status(text, 2 * depth + 1, &opt);
    free(text);
    return r;
}

static void
depth_is_limited_exactly(void **state)
{
    (void)state;
    assert_int_equal(nested_status(127, 0), 0);
    assert_int_equal(nested_status(128, 0), 0);
    assert_int_equal(nested_status(129, 0), MCP_E_LIMIT);
    assert_int_equal(nested_status(1, 1), 0);
    assert_int_equal(nested_status(2, 1), MCP_E_LIMIT);
    assert_int_equal(nested_status(256, 256), 0);
    assert_int_equal(nested_status(257, 256), MCP_E_LIMIT);
    assert_int_equal(nested_status(1, 257), MCP_E_INVAL);
    assert_int_equal(nested_status(1000000, 0), MCP_E_LIMIT);
}

static void
depth_counts_nesting_and_not_values(void **state)
{
    mcp_json_options two = MCP_JSON_OPTIONS(.max_depth = 2);
    const char *wide = "[[1],[2],{\"a\":3},[],{},[4,5,6]]";
    const char *deep = "[[1],[2],{\"a\":3},[],{},[4,5,[]]]";

    (void)state;
    assert_int_equal(parse_status(wide, strlen(wide), &two), 0);
    assert_int_equal(parse_status(deep, strlen(deep), &two), MCP_E_LIMIT);
}

static void
length_is_limited_exactly(void **state)
{
    mcp_json_options opt = MCP_JSON_OPTIONS(.max_bytes = 5);
    mcp_error err;
    mcp_doc *doc;

    (void)state;
    assert_int_equal(parse_status("\"abc\"", 5, &opt), 0);
    assert_int_equal(parse_status("\"abcd\"", 6, &opt), MCP_E_LIMIT);
    assert_int_equal(mcp_doc_parse("[1,2,3]", 7, &opt, &doc, &err), MCP_E_LIMIT);
    assert_string_equal(err.message, "7 bytes of JSON are more than 5");
}

static void
arguments_are_checked(void **state)
{
    mcp_json_options opt = {.size = 3};
    mcp_doc *doc;

    (void)state;
    assert_int_equal(mcp_doc_parse(NULL, 1, NULL, &doc, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_doc_parse("1", 1, NULL, NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_doc_parse("1", 1, &opt, &doc, NULL), MCP_E_INVAL);
}

static void
options_of_an_older_header_are_read(void **state)
{
    mcp_json_options opt = {.size = offsetof(mcp_json_options, max_depth),
                            .max_bytes = 4,
                            .max_depth = 9999};

    (void)state;
    assert_int_equal(parse_status("[12]", 4, &opt), 0);
    assert_int_equal(parse_status("[123]", 5, &opt), MCP_E_LIMIT);
}

static void
options_of_a_newer_header_are_refused_only_if_set(void **state)
{
    struct {
        mcp_json_options known;
        long unknown;
    } opt = {.known = {.size = sizeof(opt)}};

    (void)state;
    assert_int_equal(parse_status("1", 1, &opt.known), 0);
    opt.unknown = 1;
    assert_int_equal(parse_status("1", 1, &opt.known), MCP_E_INVAL);
}

/* {"k0":0,"k1":0,...}, of so many members, the last one named as member `twin`. */
static char *
object_text(int count, int twin)
{
    char *text = malloc((size_t)count * 16 + 3);
    char *at = text;

    assert_non_null(text);
    *at++ = '{';
    for (int i = 0; i < count; i++)
        at += sprintf(at, "%s\"k%d\":[]", i ? "," : "", i < count - 1 ? i : twin);
    strcpy(at, "}");
    return text;
}

static bool
has_twins(int count, int twin)
{
    mcp_json_options unique = MCP_JSON_OPTIONS(.unique_keys = true);
    char *text = object_text(count, twin);
    bool found;
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    found = mcpi_json_has_duplicates(mcp_doc_root(doc));
    mcp_doc_free(doc);
    assert_int_equal(parse_status(text, strlen(text), &unique),
                     found ? MCP_E_SYNTAX : 0);
    free(text);
    return found;
}

static void
keys_named_twice_are_found_in_objects_of_any_size(void **state)
{
    static const int counts[] = {2, 3, 16, 17, 63, 64, 65, 66, 1000, 50000};

    (void)state;
    assert_false(has_twins(1, 0));
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        assert_false(has_twins(counts[i], counts[i] - 1));
        assert_true(has_twins(counts[i], 0));
        assert_true(has_twins(counts[i], counts[i] / 2 - (counts[i] == 2)));
        assert_true(has_twins(counts[i], counts[i] - 2));
    }
}

static void
keys_of_nested_objects_are_not_this_objects(void **state)
{
    mcp_json_options unique = MCP_JSON_OPTIONS(.unique_keys = true);
    const char *text = "{\"a\":{\"b\":1,\"b\":2},\"b\":[{\"a\":1}]}";
    const char *fine = "{\"a\":{\"b\":1},\"b\":[{\"a\":1},{\"a\":1}]}";
    mcp_error err;
    mcp_doc *doc;

    (void)state;
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    assert_false(mcpi_json_has_duplicates(mcp_doc_root(doc)));
    assert_true(mcpi_json_has_duplicates(mcp_json_get(mcp_doc_root(doc), "a")));
    assert_false(mcpi_json_has_duplicates(mcp_json_get(mcp_doc_root(doc), "b")));
    assert_false(mcpi_json_has_duplicates(NULL));
    mcp_doc_free(doc);
    assert_int_equal(mcp_doc_parse(text, strlen(text), &unique, &doc, &err),
                     MCP_E_SYNTAX);
    assert_string_equal(err.message, "an object names the key \"b\" twice");
    assert_int_equal(parse_status(fine, strlen(fine), &unique), 0);
}

static void
keys_are_compared_after_unescaping(void **state)
{
    mcp_json_options unique = MCP_JSON_OPTIONS(.unique_keys = true);
    const char *same = "{\"a\":1,\"\\u0061\":2}";
    const char *other = "{\"a\":1,\"a\\u0000\":2,\"a\\u0000b\":3}";

    (void)state;
    assert_int_equal(parse_status(same, strlen(same), &unique), MCP_E_SYNTAX);
    assert_int_equal(parse_status(other, strlen(other), &unique), 0);
}

static void
marked_object_reads_like_any_other(void **state)
{
    const struct mcpi_json_limits deep = {.max_bytes = 1 << 20, .max_depth = 256};
    char *text = object_text(100, 0);
    struct mcpi_buf buf;
    mcp_doc *doc;

    (void)state;
    assert_int_equal(mcpi_doc_parse(NULL, text, strlen(text), &deep, &doc), 0);
    assert_true(mcpi_json_has_duplicates(mcp_doc_root(doc)));
    assert_int_equal(mcp_json_get_type(mcp_doc_root(doc)), MCP_JSON_OBJECT);
    assert_int_equal(mcp_json_count(mcp_doc_root(doc)), 100);
    mcpi_buf_init(&buf, NULL, 1 << 20);
    mcpi_json_write(&buf, mcp_doc_root(doc));
    assert_int_equal(buf.len, strlen(text));
    assert_memory_equal(buf.data, text, buf.len);
    mcpi_buf_done(&buf);
    mcp_doc_free(doc);
    free(text);
}

static void
message_is_one_allocation(void **state)
{
    static const char text[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"search\",\"arguments\":{\"query\":\"a\\nb\",\"limit\":10}}}";
    struct test_mem mem;
    mcp_doc *doc;

    (void)state;
    test_mem_init(&mem);
    assert_int_equal(
        mcpi_doc_parse(&mem.allocator, text, sizeof(text) - 1, &limits, &doc), 0);
    assert_int_equal(atomic_load(&mem.total), 1);
    mcp_doc_free(doc);
    test_mem_done(&mem);
}

static void
texts_of_all_lengths_are_read_whole(void **state)
{
    char text[2 * 400 + 2] = "[";
    mcp_doc *doc;

    (void)state;
    for (size_t n = 1; n < 400; n++) {
        strcpy(text + 2 * n - 1, "7]"); /* the densest text: [7,7,...,7] */
        assert_int_equal(mcpi_doc_parse(NULL, text, 2 * n + 1, &limits, &doc), 0);
        assert_int_equal(mcp_json_count(mcp_doc_root(doc)), n);
        assert_int_equal(mcp_json_int(mcp_json_at(mcp_doc_root(doc), n - 1), 0), 7);
        mcp_doc_free(doc);
        text[2 * n] = ',';
    }
}

static void
parse_dense(struct test_mem *mem, void *user)
{
    const char *text = user;
    mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = &mem->allocator);
    mcp_error err = {.status = 0};
    mcp_doc *doc = NULL;
    int r = mcp_doc_parse(text, strlen(text), &opt, &doc, &err);

    assert_int_equal(r, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    assert_int_equal(err.status, r);
    assert_int_equal(doc != NULL, r == 0);
    mcp_doc_free(doc);
}

static void
parsing_survives_any_failed_allocation(void **state)
{
    char dense[4002];
    char *object = object_text(200, 0);

    (void)state;
    for (size_t i = 0; i < 4000; i++)
        dense[i] = i % 2 ? ',' : '1';
    dense[0] = '[';
    dense[1] = dense[3999] = '1';
    strcpy(dense + 4000, "]");
    assert_in_range(test_each_allocation_fails(parse_dense, dense), 2, 10);
    assert_in_range(test_each_allocation_fails(parse_dense, object), 2, 10);
    free(object);
}

static void
failed_parse_leaves_nothing_behind(void **state)
{
    struct test_mem mem;
    char text[4000];
    mcp_doc *doc = NULL;

    (void)state;
    test_mem_init(&mem);
    memset(text, '[', sizeof(text));
    assert_int_equal(mcpi_doc_parse(&mem.allocator, text, sizeof(text), &limits, &doc),
                     MCP_E_SYNTAX);
    assert_int_equal(mcpi_doc_parse(&mem.allocator, "[[1]]", 5,
                                    &(struct mcpi_json_limits){100, 1}, &doc),
                     MCP_E_LIMIT);
    assert_null(doc);
    test_mem_done(&mem);
}

static void *
borrow_often(void *user)
{
    mcp_doc *doc = user;

    for (int i = 0; i < 10000; i++) {
        mcp_doc *mine = mcp_doc_ref(doc);

        if (mcp_json_int(mcp_doc_root(mine), 0) != 5)
            return doc;
        mcp_doc_free(mine);
    }
    mcp_doc_free(doc);
    return NULL;
}

static void
last_owner_frees_on_any_thread(void **state)
{
    struct test_mem mem;
    pthread_t threads[4];
    mcp_doc *doc;
    void *wrong;

    (void)state;
    test_mem_init(&mem);
    assert_int_equal(mcpi_doc_parse(&mem.allocator, "5", 1, &limits, &doc), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, borrow_often, mcp_doc_ref(doc)), 0);
    mcp_doc_free(doc);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    test_mem_done(&mem);
}

static void
no_document_has_no_root(void **state)
{
    (void)state;
    assert_null(mcp_doc_root(NULL));
    assert_null(mcp_doc_ref(NULL));
    mcp_doc_free(NULL);
}

static void
a_secret_is_wiped(void **state)
{
    static const char *const texts[] = {"{\"token\":\"geheim\"}",
                                        "{\"geheim\":1,\"geheim\":[1,1,1,1,1,1,1,1]}",
                                        "[\"geheim\"", "[[[\"geheim\"]]]"};
    const struct mcpi_json_limits shallow = {.max_bytes = 100, .max_depth = 2};
    struct test_mem mem;
    mcp_doc *doc;
    int r;

    (void)state;
    test_mem_init(&mem);
    mem.secret = "geheim";
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        r = mcpi_doc_parse_secret(&mem.allocator, texts[i], strlen(texts[i]), &shallow,
                                  &doc);
        assert_int_equal(r, i < 2 ? 0 : i == 2 ? MCP_E_SYNTAX : MCP_E_LIMIT);
        if (r == 0)
            mcp_doc_free(doc);
    }
    test_mem_done(&mem);
}

/* ---- what a peer sent ------------------------------------------------------ */

/* Parsed leniently and printed again; NULL: it was not JSON. */
static mcp_doc *
lenient(const char *text, size_t len)
{
    mcp_doc *doc = NULL;
    int r = mcpi_doc_parse_lenient(NULL, text, len, &limits, &doc);

    assert_int_equal(r, doc ? 0 : MCP_E_SYNTAX);
    return doc;
}

static void
reads_leniently(const char *text, const char *expected)
{
    mcp_doc *doc = lenient(text, strlen(text));
    char *printed;
    size_t len;

    assert_non_null(doc);
    assert_int_equal(mcp_json_print(mcp_doc_root(doc), false, NULL, &printed, &len), 0);
    assert_string_equal(printed, expected);
    mcp_text_free(printed, NULL);
    mcp_doc_free(doc);
}

static void
half_of_a_surrogate_pair_from_a_peer_reads_as_U_FFFD(void **state)
{
    (void)state;
    reads_leniently("[\"a\\ud83d\",\"\\ude00b\",\"\\ud83d\\ude00\"]",
                    "[\"a\xef\xbf\xbd\",\"\xef\xbf\xbd"
                    "b\",\"\xf0\x9f\x98\x80\"]");
    reads_leniently("{\"k\\udc00\":1}", "{\"k\xef\xbf\xbd\":1}");
    assert_int_equal(STATUS("\"\\ud83d\""), MCP_E_SYNTAX); /* everybody else's */
    assert_null(lenient("[\"\\ud83d\",]", 11));
    assert_null(lenient("\"\\ud83d\xff\"", 9));
    assert_null(lenient("\"\\x\"", 4));
}

static void
a_byte_order_mark_from_a_peer_is_passed_over(void **state)
{
    (void)state;
    reads_leniently("\xef\xbb\xbf{\"a\":1}", "{\"a\":1}");
    assert_int_equal(STATUS("\xef\xbb\xbf{\"a\":1}"), MCP_E_SYNTAX);
    assert_null(lenient("\xef\xbb\xbf", 3));
    assert_null(lenient("\xef\xbb{}", 4));
    assert_null(lenient("\xef\xbb\xbf\xef\xbb\xbf{}", 8));
}

static void
a_string_that_may_have_been_another_is_marked(void **state)
{
    static const char broken[] = "[\"\\ud83d\",\"\xef\xbf\xbd\",\"plain\",1]";
    static const char whole[] = "[\"\xef\xbf\xbd\",\"\\ufffd\"]";
    const mcp_json *root;
    mcp_doc *doc;

    (void)state;
    doc = lenient(broken, sizeof(broken) - 1);
    root = mcp_doc_root(doc);
    assert_true(mcpi_doc_is_repaired(doc));
    assert_true(mcpi_json_is_repaired(mcp_json_at(root, 0)));
    assert_true(mcpi_json_is_repaired(mcp_json_at(root, 1))); /* nobody knows */
    assert_false(mcpi_json_is_repaired(mcp_json_at(root, 2)));
    assert_false(mcpi_json_is_repaired(mcp_json_at(root, 3)));
    assert_true(mcp_json_equal(mcp_json_at(root, 0), mcp_json_at(root, 1)));
    mcp_doc_free(doc);
    doc = lenient(whole, sizeof(whole) - 1);
    root = mcp_doc_root(doc);
    assert_false(mcpi_doc_is_repaired(doc));
    assert_false(mcpi_json_is_repaired(mcp_json_at(root, 0)));
    assert_false(mcpi_json_is_repaired(mcp_json_at(root, 1)));
    mcp_doc_free(doc);
    assert_false(mcpi_doc_is_repaired(NULL));
}

/* The first reading spills over, and the second one does, too. */
static void
a_repaired_text_of_short_values_may_spill(void **state)
{
    enum { COUNT = 5000 };
    char *text = malloc(2 * COUNT + 16);
    struct test_mem mem;
    mcp_doc *doc;
    size_t len = 0;

    (void)state;
    assert_non_null(text);
    test_mem_init(&mem);
    text[len++] = '[';
    for (int i = 0; i < COUNT; i++) {
        text[len++] = '1';
        text[len++] = ',';
    }
    memcpy(text + len, "\"\\ud83d\"]", 9);
    len += 9;
    assert_int_equal(mcpi_doc_parse_lenient(&mem.allocator, text, len, &limits, &doc),
                     0);
    assert_int_equal(mcp_json_count(mcp_doc_root(doc)), COUNT + 1);
    assert_true(mcpi_doc_bytes(doc) < 64 * (size_t)COUNT);
    mcp_doc_free(doc);
    test_mem_done(&mem);
    free(text);
}

TEST_MAIN(TEST(a_secret_is_wiped), TEST(every_kind_of_value_is_read),
          TEST(text_is_copied), TEST(values_have_as_much_room_as_they_need),
          TEST(text_that_breaks_off_has_room_too),
          TEST(document_of_a_short_text_is_short),
          TEST(what_is_not_json_is_a_syntax_error),
          TEST(numbers_json_does_not_have_are_syntax_errors),
          TEST(bad_utf8_is_a_syntax_error), TEST(error_says_where),
          TEST(depth_is_limited_exactly), TEST(depth_counts_nesting_and_not_values),
          TEST(length_is_limited_exactly), TEST(arguments_are_checked),
          TEST(options_of_an_older_header_are_read),
          TEST(options_of_a_newer_header_are_refused_only_if_set),
          TEST(keys_named_twice_are_found_in_objects_of_any_size),
          TEST(keys_of_nested_objects_are_not_this_objects),
          TEST(keys_are_compared_after_unescaping),
          TEST(marked_object_reads_like_any_other), TEST(message_is_one_allocation),
          TEST(texts_of_all_lengths_are_read_whole),
          TEST(parsing_survives_any_failed_allocation),
          TEST(failed_parse_leaves_nothing_behind),
          TEST(last_owner_frees_on_any_thread), TEST(no_document_has_no_root),
          TEST(half_of_a_surrogate_pair_from_a_peer_reads_as_U_FFFD),
          TEST(a_byte_order_mark_from_a_peer_is_passed_over),
          TEST(a_string_that_may_have_been_another_is_marked),
          TEST(a_repaired_text_of_short_values_may_spill))
