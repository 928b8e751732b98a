/* content_test.c - what a handler writes for the model: blocks of content */
#include <math.h>

#include "api/resource.h"
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

/* ---- other kinds -------------------------------------------------------- */

static void
blocks_of_a_prompt_are_messages(void **state)
{
    static const char json[] = "{\"type\":\"text\",\"text\":\"j\"}";
    struct written w;
    mcp_result *out = written_as(&w, MCPI_RESULT_PROMPT);

    (void)state;
    assert_int_equal(mcp_result_text(out, "a"), 0);
    assert_int_equal(mcp_result_annotate(out, MCP_FOR_USER, -1, NULL), 0);
    assert_int_equal(mcp_result_role(out, MCP_ROLE_ASSISTANT), 0);
    assert_int_equal(mcp_result_content(out, json, strlen(json)), 0);
    assert_int_equal(mcp_result_resource_text(out, "u:b", NULL, "b"), 0);
    assert_int_equal(mcp_result_role(out, MCP_ROLE_USER), 0);
    assert_int_equal(mcp_result_image(out, "f", 1, "image/png"), 0);
    written_is(&w, "{'messages':[{'role':'user','content':{'type':'text','text':'a',"
                   "'annotations':{'audience':['user']}}},"
                   "{'role':'assistant','content':{'type':'text','text':'j'}},"
                   "{'role':'assistant','content':{'type':'resource',"
                   "'resource':{'uri':'u:b','text':'b'}}},"
                   "{'role':'user','content':{'type':'image','data':'Zg==',"
                   "'mimeType':'image/png'}}]}");
}

static void
what_is_written_for_a_resource_is_what_it_contains(void **state)
{
    struct mcpi_resource resource = {
        .mime_type = (char[]){"text/css"}, .ttl_ms = 5, .scope = MCP_CACHE_PUBLIC};
    struct written w;
    mcp_result *out = written_as(&w, MCPI_RESULT_RESOURCE);

    (void)state;
    out->resource = &resource;
    out->uri = "a:own";
    assert_int_equal(mcp_result_text(out, "t"), 0);
    assert_int_equal(mcp_result_bytes(out, "\xff", 1), 0);
    assert_int_equal(mcp_result_resource_text(out, "a:b", NULL, "b"), 0);
    assert_int_equal(mcp_result_resource_bytes(out, "a:c", "x/y", NULL, 0), 0);
    written_is(&w, "{'contents':[{'uri':'a:own','mimeType':'text/css','text':'t'},"
                   "{'uri':'a:own','mimeType':'text/css','blob':'/w=='},"
                   "{'uri':'a:b','text':'b'},"
                   "{'uri':'a:c','mimeType':'x/y','blob':''}],"
                   "'ttlMs':5,'cacheScope':'public'}");
}

static int
write_text(mcp_result *out)
{
    return mcp_result_text(out, "x");
}

static int
write_formatted(mcp_result *out)
{
    return mcp_result_textf(out, "%d", 1);
}

static int
write_image(mcp_result *out)
{
    return mcp_result_image(out, "", 0, "image/png");
}

static int
write_audio(mcp_result *out)
{
    return mcp_result_audio(out, "", 0, "audio/wav");
}

static int
write_bytes(mcp_result *out)
{
    return mcp_result_bytes(out, "", 0);
}

static int
write_resource(mcp_result *out)
{
    return mcp_result_resource_text(out, "u:", NULL, "");
}

static int
write_link(mcp_result *out)
{
    return mcp_result_resource_link(out, "u:", "n", NULL, NULL, NULL);
}

static int
write_json(mcp_result *out)
{
    return mcp_result_content(out, "{\"type\":\"text\",\"text\":\"\"}", 25);
}

static int
write_failure(mcp_result *out)
{
    return mcp_result_fail(out, "no");
}

/* Which kinds each may be written into: the table in request.h. */
static const struct {
    int (*write)(mcp_result *out);
    const char *name;
    unsigned kinds;
} writers[] = {
    {write_text, "text",
     MCPI_KIND(TOOL) | MCPI_KIND(PROMPT) | MCPI_KIND(RESOURCE) | MCPI_KIND(SAMPLE)},
    {write_formatted, "textf",
     MCPI_KIND(TOOL) | MCPI_KIND(PROMPT) | MCPI_KIND(RESOURCE) | MCPI_KIND(SAMPLE)},
    {write_image, "image", MCPI_KIND(TOOL) | MCPI_KIND(PROMPT) | MCPI_KIND(SAMPLE)},
    {write_audio, "audio", MCPI_KIND(TOOL) | MCPI_KIND(PROMPT) | MCPI_KIND(SAMPLE)},
    {write_bytes, "bytes", MCPI_KIND(RESOURCE)},
    {write_resource, "resource",
     MCPI_KIND(TOOL) | MCPI_KIND(PROMPT) | MCPI_KIND(RESOURCE)},
    {write_link, "link", MCPI_KIND(TOOL) | MCPI_KIND(PROMPT)},
    {write_json, "content", MCPI_KIND(TOOL) | MCPI_KIND(PROMPT) | MCPI_KIND(SAMPLE)},
    {write_failure, "fail", MCPI_KIND(TOOL)},
};

static void
what_a_kind_does_not_have_is_refused(void **state)
{
    struct written w;
    int r;

    (void)state;
    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
        for (unsigned kind = 0; kind <= MCPI_RESULT_CUSTOM; kind++) {
            written_as(&w, (enum mcpi_result_kind)kind);
            r = writers[i].write(&w.out);
            if (r != (writers[i].kinds & 1U << kind ? 0 : MCP_E_STATE))
                fail_msg("%s into %u gives %d", writers[i].name, kind, r);
            if (r < 0 && !strstr(w.out.answer.message, "the answer to "))
                fail_msg("%s", w.out.answer.message);
            written_close(&w);
        }
    }
}

static void
a_refusal_is_sticky_and_says_what_is_wrong(void **state)
{
    struct written w;

    (void)state;
    written_as(&w, MCPI_RESULT_PROMPT);
    assert_int_equal(mcp_result_bytes(&w.out, "x", 1), MCP_E_STATE);
    assert_int_equal(mcp_result_text(&w.out, "x"), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "the answer to prompts/get has no bytes of its own");
    written_as(&w, MCPI_RESULT_RESOURCE);
    mcp_result_text(&w.out, "x");
    assert_int_equal(mcp_result_annotate(&w.out, 1, 1, NULL), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "the answer to resources/read has no annotations");
}

/* ---- callers that know less --------------------------------------------- */

static void
old_callers_get_words_for_what_they_do_not_know(void **state)
{
    static const char link[] = "{\"type\":\"resource_link\",\"uri\":\"u:m\","
                               "\"name\":\"m\"}";
    static const char audio[] = "{\"type\":\"audio\",\"data\":\"\","
                                "\"mimeType\":\"audio/mp3\"}";
    struct written w;
    mcp_result *out = written_plain(&w);

    (void)state;
    out->version = "2024-11-05";
    assert_int_equal(mcp_result_audio(out, "f", 1, "audio/wav"), 0);
    assert_int_equal(mcp_result_annotate(out, MCP_FOR_USER, -1, NULL), 0);
    assert_int_equal(mcp_result_resource_link(out, "u:n", "n", "N", NULL, NULL), 0);
    assert_int_equal(mcp_result_content(out, link, strlen(link)), 0);
    assert_int_equal(mcp_result_content(out, audio, strlen(audio)), 0);
    written_is(&w,
               "{'content':[{'type':'text','text':'(audio/wav audio, which protocol "
               "version 2024-11-05 has no room for)',"
               "'annotations':{'audience':['user']}},"
               "{'type':'text','text':'(link to the resource n: u:n)'},"
               "{'type':'text','text':'(link to the resource m: u:m)'},"
               "{'type':'text','text':'(audio/mp3 audio, which protocol version "
               "2024-11-05 has no room for)'}]}");
}

static void
newer_callers_get_what_was_written(void **state)
{
    struct written w;

    (void)state;
    written_plain(&w);
    w.out.version = "2025-03-26"; /* audio, but no links */
    mcp_result_audio(&w.out, "f", 1, "audio/wav");
    mcp_result_resource_link(&w.out, "u:n", "n", NULL, NULL, NULL);
    written_is(&w, "{'content':[{'type':'audio','data':'Zg==','mimeType':'audio/wav'},"
                   "{'type':'text','text':'(link to the resource n: u:n)'}]}");
    written_plain(&w);
    w.out.version = "2025-06-18";
    mcp_result_resource_link(&w.out, "u:n", "n", NULL, NULL, NULL);
    written_is(&w, "{'content':[{'type':'resource_link','uri':'u:n','name':'n'}]}");
}

TEST_MAIN(TEST(texts_are_blocks_in_order), TEST(a_long_formatted_text_is_whole),
          TEST(bytes_are_base64), TEST(resources_are_embedded_or_linked),
          TEST(a_block_of_json_is_one_line), TEST(what_is_no_block_is_refused),
          TEST(the_last_block_is_annotated),
          TEST(annotations_have_their_ranges_and_their_place),
          TEST(text_that_is_not_utf8_fails_the_result), TEST(what_is_too_long_fails),
          TEST(blocks_of_a_prompt_are_messages),
          TEST(what_is_written_for_a_resource_is_what_it_contains),
          TEST(what_a_kind_does_not_have_is_refused),
          TEST(a_refusal_is_sticky_and_says_what_is_wrong),
          TEST(old_callers_get_words_for_what_they_do_not_know),
          TEST(newer_callers_get_what_was_written))
