/* reply_test.c - looking into an answer */
#include "api/reply.h"

#include <string.h>

#include "support/test.h"

static mcp_reply *
make_reply(const char *text)
{
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    return mcpi_reply_of(doc);
}

#define RESULT(members) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{" members "}}"

static void
its_first_text_is_found(void **state)
{
    mcp_reply *reply = make_reply(RESULT(
        "\"content\":[{\"type\":\"image\",\"text\":\"no\"},{\"type\":\"text\"},"
        "{\"type\":\"text\",\"text\":\"yes\"},{\"type\":\"text\",\"text\":\"b\"}]"));

    (void)state;
    assert_string_equal(mcp_reply_text(reply), "yes");
    assert_int_equal(mcp_json_count(mcp_reply_content(reply)), 4);
    assert_false(mcp_reply_is_error(reply));
    mcp_reply_free(reply);
}

static void
a_tool_that_failed_says_so(void **state)
{
    mcp_reply *reply = make_reply(RESULT("\"isError\":true,\"content\":[]"));

    (void)state;
    assert_true(mcp_reply_is_error(reply));
    assert_string_equal(mcp_reply_text(reply), "");
    mcp_reply_free(reply);
}

static void
structured_output_and_cursor_are_found(void **state)
{
    mcp_reply *reply = make_reply(
        RESULT("\"structuredContent\":{\"n\":5},\"nextCursor\":\"on\""));

    (void)state;
    assert_int_equal(mcp_json_int(mcp_json_get(mcp_reply_structured(reply), "n"), 0),
                     5);
    assert_string_equal(mcp_reply_cursor(reply), "on");
    assert_int_equal(mcp_json_count(mcp_reply_result(reply)), 2);
    mcp_reply_free(reply);
}

static void
what_has_another_type_is_not_there(void **state)
{
    mcp_reply *reply = make_reply(
        RESULT("\"content\":\"text\",\"isError\":1,\"nextCursor\":null"));

    (void)state;
    assert_null(mcp_reply_content(reply));
    assert_string_equal(mcp_reply_text(reply), "");
    assert_false(mcp_reply_is_error(reply));
    assert_null(mcp_reply_cursor(reply));
    mcp_reply_free(reply);
}

static void
what_there_are_many_of_is_found(void **state)
{
    static const char *const texts[] = {
        RESULT("\"tools\":[1,2,3]"),
        RESULT("\"resources\":[1,2,3]"),
        RESULT("\"prompts\":[1,2,3]"),
        RESULT("\"resourceTemplates\":[1,2,3]"),
        RESULT("\"contents\":[1,2,3]"),
        RESULT("\"messages\":[1,2,3]"),
        RESULT("\"tools\":7,\"completion\":{\"values\":[1,2,3]}"),
    };
    mcp_reply *reply;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        reply = make_reply(texts[i]);
        assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 3);
        mcp_reply_free(reply);
    }
    reply = make_reply(RESULT("\"tools\":{},\"content\":[1]"));
    assert_null(mcp_reply_items(reply));
    assert_null(mcp_reply_items(NULL));
    mcp_reply_free(reply);
}

static void
no_reply_has_nothing(void **state)
{
    (void)state;
    assert_null(mcp_reply_ref(NULL));
    assert_null(mcp_reply_result(NULL));
    assert_null(mcp_reply_content(NULL));
    assert_null(mcp_reply_structured(NULL));
    assert_null(mcp_reply_cursor(NULL));
    assert_string_equal(mcp_reply_text(NULL), "");
    assert_false(mcp_reply_is_error(NULL));
    mcp_reply_free(NULL);
}

static void
a_reference_keeps_it(void **state)
{
    mcp_reply *reply = make_reply(RESULT("\"nextCursor\":\"kept\""));
    mcp_reply *mine = mcp_reply_ref(reply);

    (void)state;
    mcp_reply_free(reply);
    assert_string_equal(mcp_reply_cursor(mine), "kept");
    mcp_reply_free(mine);
}

TEST_MAIN(TEST(its_first_text_is_found), TEST(a_tool_that_failed_says_so),
          TEST(structured_output_and_cursor_are_found),
          TEST(what_has_another_type_is_not_there),
          TEST(what_there_are_many_of_is_found), TEST(no_reply_has_nothing),
          TEST(a_reference_keeps_it))
