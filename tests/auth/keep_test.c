/* keep_test.c - what all token stores refuse, and what they accept */
#include "auth/keep.h"

#include "auth/keep_fixture.h"

static void
a_key_has_a_length(void **state)
{
    char *longest = malloc(MCPI_KEEP_KEY_MAX + 2);

    (void)state;
    assert_non_null(longest);
    memset(longest, 'k', MCPI_KEEP_KEY_MAX + 1);
    longest[MCPI_KEEP_KEY_MAX + 1] = '\0';
    assert_int_equal(mcpi_keep_check(longest, NULL), MCP_E_LIMIT);
    longest[MCPI_KEEP_KEY_MAX] = '\0';
    assert_int_equal(mcpi_keep_check(longest, NULL), 0);
    assert_int_equal(mcpi_keep_check("", "x"), MCP_E_INVAL);
    assert_int_equal(mcpi_keep_check(NULL, "x"), MCP_E_INVAL);
    free(longest);
}

static void
a_text_has_a_longest_length(void **state)
{
    char *longest = malloc(MCPI_KEEP_TEXT_MAX + 2);

    (void)state;
    assert_non_null(longest);
    memset(longest, 't', MCPI_KEEP_TEXT_MAX + 1);
    longest[MCPI_KEEP_TEXT_MAX + 1] = '\0';
    assert_int_equal(mcpi_keep_check("k", longest), MCP_E_LIMIT);
    longest[MCPI_KEEP_TEXT_MAX] = '\0';
    assert_int_equal(mcpi_keep_check("k", longest), 0);
    assert_int_equal(mcpi_keep_check("k", ""), 0);
    free(longest);
}

static void
what_is_given_is_a_copy(void **state)
{
    const char *text = "text";
    char *copy;

    (void)state;
    assert_int_equal(mcpi_keep_give(text, &copy), 0);
    assert_string_equal(copy, text);
    assert_ptr_not_equal(copy, text);
    mcp_text_free(copy, NULL);
}

static void
no_store_is_nothing_to_free(void **state)
{
    (void)state;
    mcp_token_keep_free(NULL);
    assert_null(mcp_token_keep_interface(NULL));
}

TEST_MAIN(TEST(a_key_has_a_length), TEST(a_text_has_a_longest_length),
          TEST(what_is_given_is_a_copy), TEST(no_store_is_nothing_to_free))
