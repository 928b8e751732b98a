/* doctor_message_test.c - proves cli/doctor_message.c: written and recognized */
#include <string.h>

#include "cli/doctor.h"
#include "support/test.h"

static mcp_doc *
parse(const char *text)
{
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    return doc;
}

static void
a_modern_request_carries_its_version(void **state)
{
    struct cli_text text = {0};
    const mcp_json *params;
    mcp_doc *doc;

    (void)state;
    cli_message_request(&text, 7, "tools/call", CLI_MODERN, "\"name\":\"x\"");
    doc = parse(cli_text_string(&text));
    params = mcp_json_get(mcp_doc_root(doc), "params");
    assert_true(mcp_json_is_string(mcp_json_get(params, "name"), "x"));
    assert_true(
        mcp_json_is_string(mcp_json_get(mcp_json_get(params, "_meta"),
                                        "io.modelcontextprotocol/protocolVersion"),
                           "2026-07-28"));
    mcp_doc_free(doc);
    cli_text_done(&text);
}

static void
a_legacy_request_is_bare(void **state)
{
    struct cli_text text = {0};

    (void)state;
    cli_message_request(&text, 7, "ping", NULL, NULL);
    assert_string_equal(cli_text_string(&text),
                        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}");
    cli_text_done(&text);
}

static void
initialize_has_all_that_it_must(void **state)
{
    struct cli_text text = {0};
    const mcp_json *params;
    mcp_doc *doc;

    (void)state;
    cli_message_initialize(&text, 1);
    doc = parse(cli_text_string(&text));
    params = mcp_json_get(mcp_doc_root(doc), "params");
    assert_true(
        mcp_json_is_string(mcp_json_get(params, "protocolVersion"), CLI_LEGACY));
    assert_non_null(mcp_json_get(params, "capabilities"));
    assert_non_null(mcp_json_get(mcp_json_get(params, "clientInfo"), "version"));
    mcp_doc_free(doc);
    cli_text_done(&text);
}

static bool
is_message(const char *text)
{
    mcp_doc *doc = parse(text);
    bool is = cli_message_is(mcp_doc_root(doc));

    mcp_doc_free(doc);
    return is;
}

static void
messages_are_told_from_other_json(void **state)
{
    (void)state;
    assert_true(is_message("{\"jsonrpc\":\"2.0\",\"method\":\"a\"}"));
    assert_true(is_message("[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]"));
    assert_false(is_message("[]"));
    assert_false(is_message("{\"jsonrpc\":\"2.0\"}"));
    assert_false(is_message("{\"level\":\"info\",\"method\":\"a\"}"));
    assert_false(is_message("\"hello\""));
}

static void
an_answer_has_the_id_and_no_method(void **state)
{
    mcp_doc *answer = parse(
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32601}}");
    mcp_doc *request = parse("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}");

    (void)state;
    assert_true(cli_message_answers(mcp_doc_root(answer), 3));
    assert_false(cli_message_answers(mcp_doc_root(answer), 4));
    assert_false(cli_message_answers(mcp_doc_root(request), 3));
    assert_int_equal(cli_message_error(mcp_doc_root(answer)), -32601);
    assert_int_equal(cli_message_error(mcp_doc_root(request)), 0);
    mcp_doc_free(answer);
    mcp_doc_free(request);
}

TEST_MAIN(TEST(a_modern_request_carries_its_version), TEST(a_legacy_request_is_bare),
          TEST(initialize_has_all_that_it_must),
          TEST(messages_are_told_from_other_json),
          TEST(an_answer_has_the_id_and_no_method))
