/* content_test.c - what a handler writes for the model: blocks of content */
#include <math.h>

#include "api/result_fixture.h"

static void
texts_are_blocks_in_order(void **state)
{
    struct written w;
    mcp_result *out = written_plain(&w);

    (void)state;
    assert_int_equal(mcp_result_text(out, "a \"b\"\n"), 0);
    assert_int_equal(mcp_result_text_n(out, "xyz", 2), 0);
    assert_int_equal(mcp_result_text_n(out, NULL, 0), 0);
    assert_int_equal(mcp_result_textf(out, "%d%%", 50), 0);
    written_is(&w, "{'content':[{'type':'text','text':'a \\'b\\'\\n'},"
                   "{'type':'text','text':'xy'},{'type':'text','text':''},"
                   "{'type':'text','text':'50%'}]}");
}

static void
a_long_formatted_text_is_whole(void **state)
{
    struct written w;
    mcp_result *out = written_plain(&w);
    char *text = malloc(3001);

    (void)state;
    memset(text, 'x', 3000);
    text[3000] = '\0';
    assert_int_equal(mcp_result_textf(out, "%s!", text), 0);
    assert_int_equal(mcpi_tool_result_close(out, NULL), 0);
    assert_int_equal(out->answer.body.len,
                     strlen("{'content':[{'type':'text','text':''}]}") + 3001);
    free(text);
    written_close(&w);
}

/* RFC 4648, section 10. */
static void
bytes_are_base64(void **state)
{
    static const char *const vectors[][2] = {{"", ""},
                                             {"f", "Zg=="},
                                             {"fo", "Zm8="},
                                             {"foo", "Zm9v"},
                                             {"foob", "Zm9vYg=="},
                                             {"fooba", "Zm9vYmE="},
                                             {"foobar", "Zm9vYmFy"}};
    char text[200];
    struct written w;

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        written_plain(&w);
        assert_int_equal(
            mcp_result_image(&w.out, vectors[i][0], strlen(vectors[i][0]), "image/png"),
            0);
        snprintf(text, sizeof(text),
                 "{'content':[{'type':'image','data':'%s','mimeType':'image/png'}]}",
                 vectors[i][1]);
        written_is(&w, text);
    }
    written_plain(&w);
    assert_int_equal(mcp_result_audio(&w.out, "\xff\xfe\x00\x01", 4, "audio/wav"), 0);
    written_is(
        &w, "{'content':[{'type':'audio','data':'//4AAQ==','mimeType':'audio/wav'}]}");
}

static void
resources_are_embedded_or_linked(void **state)
{
    struct written w;
    mcp_result *out = written_plain(&w);

    (void)state;
    assert_int_equal(mcp_result_resource_text(out, "file:///a", "text/plain", "A"), 0);
    assert_int_equal(mcp_result_resource_bytes(out, "file:///b", NULL, "\0", 1), 0);
    assert_int_equal(
        mcp_result_resource_link(out, "file:///c", "c", "C", "third", "text/html"), 0);
    assert_int_equal(mcp_result_resource_link(out, "file:///d", "d", NULL, NULL, NULL),
                     0);
    written_is(&w, "{'content':[{'type':'resource','resource':{'uri':'file:///a',"
                   "'mimeType':'text/plain','text':'A'}},"
                   "{'type':'resource','resource':{'uri':'file:///b','blob':'AA=='}},"
                   "{'type':'resource_link','uri':'file:///c','name':'c','title':'C',"
                   "'description':'third','mimeType':'text/html'},"
                   "{'type':'resource_link','uri':'file:///d','name':'d'}]}");
}

static void
a_block_of_json_is_one_line(void **state)
{
    static const char json[] = "{ \"type\" : \"text\",\n\"text\":\"x\" }";
    struct written w;
    mcp_result *out = written_plain(&w);

    (void)state;
    assert_int_equal(mcp_result_text(out, "first"), 0);
    assert_int_equal(mcp_result_content(out, json, strlen(json)), 0);
    written_is(
        &w, "{'content':[{'type':'text','text':'first'},{'type':'text','text':'x'}]}");
}

static void
what_is_no_block_is_refused(void **state)
{
    struct written w;

    (void)state;
    written_plain(&w);
    assert_int_equal(mcp_result_content(&w.out, "{}", 2), MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "type");
    written_plain(&w);
    assert_int_equal(mcp_result_content(&w.out, "{", 1), MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "content block");
}

static void
the_last_block_is_annotated(void **state)
{
    struct written w;
    mcp_result *out = written_plain(&w);

    (void)state;
    mcp_result_text(out, "a");
    assert_int_equal(mcp_result_annotate(out, MCP_FOR_USER, 0.5, NULL), 0);
    mcp_result_resource_text(out, "u:b", NULL, "b");
    assert_int_equal(mcp_result_annotate(out, MCP_FOR_USER | MCP_FOR_ASSISTANT, -1,
                                         "2025-01-12T15:00:58Z"),
                     0);
    mcp_result_text(out, "c");
    assert_int_equal(mcp_result_annotate(out, 0, 1, NULL), 0);
    mcp_result_text(out, "d");
    assert_int_equal(mcp_result_annotate(out, MCP_FOR_ASSISTANT, -1, NULL), 0);
    written_is(&w,
               "{'content':[{'type':'text','text':'a',"
               "'annotations':{'audience':['user'],'priority':0.5}},"
               "{'type':'resource','resource':{'uri':'u:b','text':'b'},"
               "'annotations':{'audience':['user','assistant'],"
               "'lastModified':'2025-01-12T15:00:58Z'}},"
               "{'type':'text','text':'c','annotations':{'priority':1.0}},"
               "{'type':'text','text':'d','annotations':{'audience':['assistant']}}]}");
}

static void
annotations_have_their_ranges_and_their_place(void **state)
{
    static const char own[] = "{\"type\":\"text\",\"text\":\"x\",\"annotations\":{}}";
    struct written w;

    (void)state;
    written_plain(&w);
    assert_int_equal(mcp_result_annotate(&w.out, 0, 1, NULL), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "no content block");
    written_plain(&w);
    mcp_result_text(&w.out, "x");
    assert_int_equal(mcp_result_annotate(&w.out, 4, 1, NULL), MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "range");
    written_plain(&w);
    mcp_result_text(&w.out, "x");
    assert_int_equal(mcp_result_annotate(&w.out, 0, (double)NAN, NULL), MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "range");
    written_plain(&w);
    mcp_result_text(&w.out, "x");
    assert_int_equal(mcp_result_annotate(&w.out, 1, 1, NULL), 0);
    assert_int_equal(mcp_result_annotate(&w.out, 1, 1, NULL), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "annotate");
    written_plain(&w);
    mcp_result_content(&w.out, own, strlen(own));
    assert_int_equal(mcp_result_annotate(&w.out, 1, 1, NULL), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "annotate");
}

static void
text_that_is_not_utf8_fails_the_result(void **state)
{
    struct written w;
    mcp_result *out = written_plain(&w);

    (void)state;
    assert_int_equal(mcp_result_text(out, "good"), 0);
    assert_int_equal(mcp_result_text(out, "bad \xff"), MCP_E_INVAL);
    assert_int_equal(mcp_result_text(out, "good again"), MCP_E_INVAL); /* sticky */
    written_fails(&w, MCP_E_INVAL, "the text of a content block is not UTF-8");
    written_plain(&w);
    assert_int_equal(mcp_result_resource_link(&w.out, "u:", "n", "\xff", NULL, NULL),
                     MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "title");
}

static void
what_is_too_long_fails(void **state)
{
    struct written w;

    (void)state;
    written_open(&w, NULL, 256);
    assert_int_equal(mcp_result_text_n(&w.out, "", 0), 0);
    for (int i = 0; i < 20; i++)
        (void)mcp_result_text(&w.out, "0123456789");
    written_fails(&w, MCP_E_LIMIT, "limit");
}

TEST_MAIN(TEST(texts_are_blocks_in_order), TEST(a_long_formatted_text_is_whole),
          TEST(bytes_are_base64), TEST(resources_are_embedded_or_linked),
          TEST(a_block_of_json_is_one_line), TEST(what_is_no_block_is_refused),
          TEST(the_last_block_is_annotated),
          TEST(annotations_have_their_ranges_and_their_place),
          TEST(text_that_is_not_utf8_fails_the_result), TEST(what_is_too_long_fails))
