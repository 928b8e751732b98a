/* scopes_test.c - sets of scopes, as OAuth writes them: words with blanks between */
#include "auth/scopes.h"

#include <string.h>

#include "support/test.h"

static void
is_set(const struct mcpi_buf *set, const char *text)
{
    assert_int_equal(set->status, 0);
    assert_int_equal(set->len, strlen(text));
    if (set->len > 0)
        assert_memory_equal(set->data, text, set->len);
}

static void
add_json(struct mcpi_buf *set, const char *text)
{
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    mcpi_scopes_add_json(set, mcp_doc_root(doc));
    mcp_doc_free(doc);
}

static void
each_word_is_added_once(void **state)
{
    struct mcpi_buf set;

    (void)state;
    mcpi_buf_init(&set, NULL, MCPI_SCOPES_MAX);
    mcpi_scopes_add(&set, NULL);
    mcpi_scopes_add(&set, "");
    mcpi_scopes_add(&set, "   ");
    is_set(&set, "");
    mcpi_scopes_add(&set, "  mcp:read  files.write mcp:read ");
    is_set(&set, "mcp:read files.write");
    mcpi_scopes_add(&set, "mcp:rea mcp:read2 files.write MCP:READ");
    is_set(&set, "mcp:read files.write mcp:rea mcp:read2 MCP:READ");
    mcpi_buf_done(&set);
}

static void
words_that_are_no_scopes_are_left_out(void **state)
{
    struct mcpi_buf set;

    (void)state;
    mcpi_buf_init(&set, NULL, MCPI_SCOPES_MAX);
    mcpi_scopes_add(&set, "a\tb a\"b a\\b a\nb caf\xC3\xA9 \x7f \x01 !#[]~'");
    is_set(&set, "!#[]~'");
    mcpi_buf_done(&set);
}

static void
words_may_stand_in_an_array(void **state)
{
    struct mcpi_buf set;

    (void)state;
    mcpi_buf_init(&set, NULL, MCPI_SCOPES_MAX);
    add_json(&set, "[\"a\", 1, null, {\"b\": \"b\"}, [\"c\"], \"\", \"d e\", \"a\"]");
    is_set(&set, "a d e");
    add_json(&set, "[\"f\\u0000g\", \"h\\n\", \"i\"]");
    is_set(&set, "a d e i");
    add_json(&set, "\"x\"");
    add_json(&set, "{\"x\": \"x\"}");
    add_json(&set, "[]");
    mcpi_scopes_add_json(&set, NULL);
    is_set(&set, "a d e i");
    mcpi_buf_done(&set);
}

static void
a_set_has_words(void **state)
{
    (void)state;
    assert_true(mcpi_scopes_have("a b c", "c a"));
    assert_true(mcpi_scopes_have("a b c", "  b  b "));
    assert_true(mcpi_scopes_have("a", ""));
    assert_true(mcpi_scopes_have("a", NULL));
    assert_true(mcpi_scopes_have(NULL, NULL));
    assert_true(mcpi_scopes_have(NULL, " "));
    assert_true(mcpi_scopes_have_n("a bc", 3, "a b"));
    assert_true(mcpi_scopes_have_n(NULL, 0, ""));
}

static void
a_set_has_no_other_words(void **state)
{
    (void)state;
    assert_false(mcpi_scopes_have("a b c", "a d"));
    assert_false(mcpi_scopes_have("admin:read", "admin"));
    assert_false(mcpi_scopes_have("admin", "admin:read"));
    assert_false(mcpi_scopes_have("a", "A"));
    assert_false(mcpi_scopes_have("", "a"));
    assert_false(mcpi_scopes_have(NULL, "a"));
    assert_false(mcpi_scopes_have("a\tb", "a"));
    assert_false(mcpi_scopes_have_n("a bc", 3, "bc"));
    assert_false(mcpi_scopes_have_n("abc", 0, "abc"));
    assert_false(mcpi_scopes_have_n(NULL, 5, "a"));
}

static void
a_set_that_is_full_has_whole_words(void **state)
{
    struct mcpi_buf set;

    (void)state;
    mcpi_buf_init(&set, NULL, 7);
    mcpi_scopes_add(&set, "abc def ghi");
    assert_int_equal(set.status, MCP_E_LIMIT);
    assert_int_equal(set.len, 7);
    assert_memory_equal(set.data, "abc def", 7);
    mcpi_buf_clear(&set);
    mcpi_scopes_add(&set, "abc defg");
    assert_int_equal(set.len, 3);
    mcpi_buf_done(&set);
}

/* Who sends more words than a set can have wants to keep us busy comparing them. */
static void
words_beyond_what_a_set_can_have_are_not_looked_at(void **state)
{
    char text[MCPI_SCOPES_MAX + 3];
    struct mcpi_buf set;

    (void)state;
    for (size_t i = 0; i < MCPI_SCOPES_MAX; i += 2)
        memcpy(text + i, "a ", 2);
    memcpy(text + MCPI_SCOPES_MAX, "b", 2);
    mcpi_buf_init(&set, NULL, MCPI_SCOPES_MAX);
    mcpi_scopes_add(&set, text);
    is_set(&set, "a");
    mcpi_scopes_add(&set, text + 2);
    is_set(&set, "a b");
    mcpi_buf_done(&set);
}

static void
whether_words_are_scopes_can_be_asked(void **state)
{
    char text[MCPI_SCOPES_MAX + 3];

    (void)state;
    assert_true(mcpi_scopes_are(NULL));
    assert_true(mcpi_scopes_are(" "));
    assert_true(mcpi_scopes_are(" a  b:c "));
    assert_false(mcpi_scopes_are("a \""));
    assert_false(mcpi_scopes_are("a\\ b"));
    assert_false(mcpi_scopes_are("a\tb"));
    assert_false(mcpi_scopes_are("\xc3\xa9"));
    for (size_t i = 0; i < MCPI_SCOPES_MAX; i += 2)
        memcpy(text + i, "a ", 2);
    text[MCPI_SCOPES_MAX] = '\0';
    assert_true(mcpi_scopes_are(text));
    memcpy(text + MCPI_SCOPES_MAX, "b", 2);
    assert_false(mcpi_scopes_are(text));
}

static void
flow(struct test_mem *mem, void *user)
{
    struct mcpi_buf set;

    (void)user;
    mcpi_buf_init(&set, &mem->allocator, MCPI_SCOPES_MAX);
    mcpi_scopes_add(&set, "a b c");
    mcpi_scopes_add(&set, "a-scope-that-is-so-long-that-the-set-has-to-grow-once-more");
    assert_int_equal(set.status, mem->failed ? MCP_E_NOMEM : 0);
    mcpi_buf_done(&set);
}

static void
any_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 0);
}

TEST_MAIN(TEST(each_word_is_added_once), TEST(words_that_are_no_scopes_are_left_out),
          TEST(words_may_stand_in_an_array), TEST(a_set_has_words),
          TEST(a_set_has_no_other_words), TEST(a_set_that_is_full_has_whole_words),
          TEST(words_beyond_what_a_set_can_have_are_not_looked_at),
          TEST(whether_words_are_scopes_can_be_asked), TEST(any_allocation_may_fail))
