/* promise_test.c - what tools have promised: learned, forgotten, checked */
#include "api/promise.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define MS INT64_C(1000)

static const unsigned char seed[MCPI_SEED_SIZE] = "sixteen bytes...";

struct fixture {
    struct test_mem mem;
    struct mcpi_promises promises;
    struct mcpi_log log;
    atomic_int lines;
    char line[512];
};

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    struct fixture *f = user;

    (void)level;
    if (atomic_fetch_add(&f->lines, 1) == 0)
        snprintf(f->line, sizeof f->line, "%s", line);
}

static void
fixture_open(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    test_mem_init(&f->mem);
    f->log = (struct mcpi_log){on_log, f, MCP_LOG_WARNING};
    mcpi_promises_init(&f->promises, &f->mem.allocator, seed);
}

static void
fixture_close(struct fixture *f)
{
    mcpi_promises_done(&f->promises);
    test_mem_done(&f->mem);
}

static mcp_doc *
parse(const char *text)
{
    mcp_doc *doc = NULL;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    return doc;
}

static void
learn(struct fixture *f, const char *result, bool is_first, uint64_t version,
      int64_t now)
{
    mcp_doc *doc = parse(result);

    mcpi_promises_learn(&f->promises, mcp_doc_root(doc), is_first, version, now);
    mcp_doc_free(doc);
}

static struct mcpi_promise *
find(struct fixture *f, const char *name, uint64_t version, int64_t now, bool all)
{
    struct mcpi_promise *promise;
    bool found_all;

    promise = mcpi_promises_find(&f->promises, name, version, now, &found_all);
    assert_int_equal(found_all, all);
    return promise;
}

/* The verdict on the result of tool "t", which has promised this. */
static int
check(struct fixture *f, const char *schema, const char *result, mcp_error *err)
{
    mcp_doc *doc = parse(result);
    char page[512];
    int r;

    snprintf(page, sizeof page, "{\"tools\":[{\"name\":\"t\",\"outputSchema\":%s}]}",
             schema);
    learn(f, page, true, 0, 0);
    r = mcpi_promise_check(find(f, "t", 0, 0, true), mcp_doc_root(doc), &f->log, err);
    mcp_doc_free(doc);
    return r;
}

/* ---- learning ------------------------------------------------------------ */

static void
a_whole_list_leaves_nothing_to_ask(void **state)
{
    struct mcpi_promise *promise;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_null(find(&f, "a", 0, 0, false));
    learn(&f,
          "{\"tools\":[{\"name\":\"a\",\"outputSchema\":{\"type\":\"object\"}},"
          "{\"name\":\"b\"},{\"name\":7},8]}",
          true, 0, 0);
    promise = find(&f, "a", 0, 0, true);
    assert_string_equal(promise->text, "{\"type\":\"object\"}");
    assert_null(find(&f, "b", 0, 0, true)->text);
    assert_null(find(&f, "c", 0, 0, true));
    fixture_close(&f);
}

static void
pages_make_a_whole_when_all_were_seen(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f, "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"2\"}", true, 0, 0);
    assert_non_null(find(&f, "a", 0, 0, false));
    assert_null(find(&f, "b", 0, 0, false));
    learn(&f, "{\"tools\":[{\"name\":\"b\"}]}", false, 0, 0);
    assert_non_null(find(&f, "b", 0, 0, false));
    mcpi_promises_close(&f.promises, 1); /* not the one that was read */
    assert_null(find(&f, "c", 0, 0, false));
    mcpi_promises_close(&f.promises, 0);
    assert_null(find(&f, "c", 0, 0, true));
    fixture_close(&f);
}

static void
another_version_makes_it_forget(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f, "{\"tools\":[{\"name\":\"a\"}]}", true, 0, 0);
    assert_null(find(&f, "a", 1, 0, false));
    learn(&f, "{\"tools\":[{\"name\":\"a\"}]}", true, 1, 0);
    learn(&f, "{\"tools\":[{\"name\":\"b\"}],\"nextCursor\":\"x\"}", true, 2, 0);
    assert_null(find(&f, "a", 2, 0, false));
    assert_non_null(find(&f, "b", 2, 0, false));
    fixture_close(&f);
}

static void
it_lasts_as_long_as_the_server_said(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f, "{\"tools\":[{\"name\":\"a\"}],\"ttlMs\":10}", true, 0, 0);
    assert_non_null(find(&f, "a", 0, 10 * MS - 1, true));
    learn(&f, "{\"tools\":[{\"name\":\"a\"}],\"ttlMs\":10}", true, 0, 5 * MS);
    assert_non_null(find(&f, "a", 0, 15 * MS - 1, true));
    assert_null(find(&f, "a", 0, 15 * MS, false));
    learn(&f, "{\"tools\":[{\"name\":\"a\"}],\"ttlMs\":0}", true, 0, 0);
    assert_non_null(find(&f, "a", 0, INT64_MAX - 1, true)); /* until it changes */
    fixture_close(&f);
}

static void
a_promise_that_stays_the_same_stays(void **state)
{
    const char *page = "{\"tools\":[{\"name\":\"t\",\"outputSchema\":{}}]}";
    struct mcpi_promise *promise;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    learn(&f, page, true, 0, 0);
    promise = find(&f, "t", 0, 0, true);
    learn(&f, page, true, 0, 0);
    assert_ptr_equal(find(&f, "t", 0, 0, true), promise);
    mcpi_promise_ref(promise);
    learn(&f, "{\"tools\":[{\"name\":\"t\",\"outputSchema\":true}]}", true, 0, 0);
    assert_string_equal(find(&f, "t", 0, 0, true)->text, "true");
    assert_string_equal(promise->text, "{}"); /* who uses it has it */
    mcpi_promise_unref(promise);
    fixture_close(&f);
}

static void
what_has_no_room_is_not_asked_for_again(void **state)
{
    char page[64];
    struct fixture f;
    int i;

    (void)state;
    fixture_open(&f);
    for (i = 0; i <= MCPI_PROMISES_MAX; i++) {
        snprintf(page, sizeof page, "{\"tools\":[{\"name\":\"%d\"}]}", i);
        learn(&f, page, false, 0, 0);
    }
    assert_int_equal(f.promises.tools.count, MCPI_PROMISES_MAX);
    assert_null(find(&f, "4096", 0, 0, true));
    fixture_close(&f);
}

static void
promises_of_too_many_bytes_are_not_kept(void **state)
{
    size_t size = (size_t)9 << 20;
    char *page = malloc(size + 128);
    struct fixture f;
    int name, at;

    (void)state;
    fixture_open(&f);
    for (name = 'a'; name <= 'b'; name++) {
        at = sprintf(page, "{\"tools\":[{\"name\":\"%c\",\"outputSchema\":\"", name);
        memset(page + at, 'x', size);
        strcpy(page + at + size, "\"}]}");
        learn(&f, page, false, 0, 0);
    }
    assert_non_null(find(&f, "a", 0, 0, true));
    assert_null(find(&f, "b", 0, 0, true));
    assert_true(f.promises.bytes <= MCPI_PROMISES_BYTES_MAX);
    free(page);
    fixture_close(&f);
}

/* ---- checking ------------------------------------------------------------ */

#define NUMBER                                                            \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}," \
    "\"required\":[\"n\"]}"

static void
what_fits_passes(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(check(&f, NUMBER, "{\"structuredContent\":{\"n\":1}}", NULL), 0);
    assert_int_equal(atomic_load(&f.lines), 0);
    fixture_close(&f);
}

static void
what_does_not_fit_is_told(void **state)
{
    struct fixture f;
    mcp_error err;

    (void)state;
    fixture_open(&f);
    assert_int_equal(check(&f, NUMBER, "{\"structuredContent\":{\"n\":\"1\"}}", &err),
                     MCP_E_PROTO);
    assert_int_equal(err.status, MCP_E_PROTO);
    assert_string_equal(err.message, "the output of tool t is not what it promised: /n "
                                     "must be an integer, not a string");
    assert_int_equal(check(&f, NUMBER, "{\"content\":[]}", &err), MCP_E_PROTO);
    assert_string_equal(err.message, "tool t promised structured output and gave none");
    fixture_close(&f);
}

#define ODD "{\"$schema\":\"https://odd.example/dialect\"}"

static void
what_has_no_schema_to_be_checked_by_is_no_answer(void **state)
{
    static const struct {
        const char *schema, *why;
    } rows[] = {
        {ODD, "the output of tool t cannot be checked by its schema: #/$schema is "
              "not a supported dialect (2020-12, 2019-09, draft-07, draft-06): "
              "https://odd.example/dialect"},
        {"{\"$ref\":\"https://elsewhere.example/s\"}", "elsewhere.example"},
        {"{\"type\":7}", "#/type"},
        {"7", "the output of tool t cannot be checked by its schema: "},
    };
    struct fixture f;
    mcp_error err;
    size_t i, n;

    (void)state;
    fixture_open(&f);
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (n = 0; n < 2; n++) { /* whether or not it was found out before */
            assert_int_equal(
                check(&f, rows[i].schema, "{\"structuredContent\":{}}", &err),
                MCP_E_PROTO);
            if (!strstr(err.message, rows[i].why))
                fail_msg("%s", err.message);
        }
    }
    assert_int_equal(atomic_load(&f.lines), 0);
    fixture_close(&f);
}

static void
without_output_there_is_nothing_to_check(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(check(&f, ODD, "{\"content\":[]}", NULL), 0);
    assert_int_equal(atomic_load(&f.lines), 0);
    fixture_close(&f);
}

/* Each array is looked at twice as often as the one around it. */
static void
what_would_take_too_long_passes(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(
        check(&f,
              "{\"$defs\":{\"a\":{\"allOf\":[{\"items\":{\"$ref\":\"#/$defs/a\"}},"
              "{\"items\":{\"$ref\":\"#/$defs/a\"}}]}},\"$ref\":\"#/$defs/a\"}",
              "{\"structuredContent\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]"
              "]]]]]]]]]]]]]]]]}",
              NULL),
        0);
    assert_int_equal(atomic_load(&f.lines), 1);
    assert_non_null(strstr(f.line, "the output of tool t is not checked: "));
    fixture_close(&f);
}

static void *
check_often(void *user)
{
    mcp_doc *doc = parse("{\"structuredContent\":{\"n\":1}}");
    struct mcpi_log silent = {NULL, NULL, MCP_LOG_WARNING};
    int i;

    for (i = 0; i < 50; i++)
        assert_int_equal(mcpi_promise_check(user, mcp_doc_root(doc), &silent, NULL), 0);
    mcp_doc_free(doc);
    mcpi_promise_unref(user);
    return NULL;
}

static void
many_threads_may_check_at_once(void **state)
{
    struct mcpi_promise *promise;
    pthread_t threads[4];
    struct fixture f;
    int i;

    (void)state;
    fixture_open(&f);
    learn(&f, "{\"tools\":[{\"name\":\"t\",\"outputSchema\":" NUMBER "}]}", true, 0, 0);
    promise = find(&f, "t", 0, 0, true);
    for (i = 0; i < 4; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, check_often, mcpi_promise_ref(promise)),
            0);
    mcpi_promises_forget(&f.promises);
    for (i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    fixture_close(&f);
}

static void
check_flow(struct test_mem *mem, void *user)
{
    mcp_doc *page = parse("{\"tools\":[{\"name\":\"t\",\"outputSchema\":" NUMBER "}]}");
    mcp_doc *result = parse("{\"structuredContent\":{\"n\":\"1\"}}");
    struct mcpi_log silent = {NULL, NULL, MCP_LOG_WARNING};
    struct mcpi_promise *promise;
    struct mcpi_promises promises;
    bool all;
    int r = 0;

    (void)user;
    mcpi_promises_init(&promises, &mem->allocator, seed);
    mcpi_promises_learn(&promises, mcp_doc_root(page), true, 0, 0);
    promise = mcpi_promises_find(&promises, "t", 0, 0, &all);
    assert_true(all);
    if (promise)
        r = mcpi_promise_check(promise, mcp_doc_root(result), &silent, NULL);
    assert_true(r == MCP_E_PROTO || atomic_load(&mem->failed) > 0);
    mcpi_promises_done(&promises);
    mcp_doc_free(page);
    mcp_doc_free(result);
}

static void
what_there_is_no_memory_for_is_not_checked(void **state)
{
    (void)state;
    assert_in_range(test_each_allocation_fails(check_flow, NULL), 4, 60);
}

TEST_MAIN(TEST(a_whole_list_leaves_nothing_to_ask),
          TEST(pages_make_a_whole_when_all_were_seen),
          TEST(another_version_makes_it_forget),
          TEST(it_lasts_as_long_as_the_server_said),
          TEST(a_promise_that_stays_the_same_stays),
          TEST(what_has_no_room_is_not_asked_for_again),
          TEST(promises_of_too_many_bytes_are_not_kept), TEST(what_fits_passes),
          TEST(what_does_not_fit_is_told),
          TEST(what_has_no_schema_to_be_checked_by_is_no_answer),
          TEST(without_output_there_is_nothing_to_check),
          TEST(what_would_take_too_long_passes), TEST(many_threads_may_check_at_once),
          TEST(what_there_is_no_memory_for_is_not_checked))
