/* trace_test.c - the wire on stderr (--trace), with secrets hidden */
#include "cli/trace.h"

#include <string.h>

#include "cli/program.h"

static void
check_line(const char *text, const char *expected)
{
    struct cli_text line = {0};

    cli_trace_message(text, strlen(text), &line);
    assert_string_equal(cli_text_string(&line), expected);
    cli_text_done(&line);
}

static void
a_message_is_one_harmless_line(void **state)
{
    (void)state;
    check_line("{\"a\": 1,\n \"token\": \"x\"}", "{\"a\":1,\"token\":\"[hidden]\"}");
    check_line("no \x1b[31mJSON\x1b[0m\nat all", "no JSON at all");
}

static void
both_ways_are_shown(void **state)
{
    struct ran ran = RUN("--trace", "--era", "modern", "call", PROBE, "echo",
                         "text=hi");

    (void)state;
    assert_int_equal(ran.code, 0);
    assert_non_null(strstr(ran.err, " --> {\"jsonrpc\":\"2.0\""));
    assert_non_null(strstr(ran.err, "\"method\":\"tools/call\""));
    assert_non_null(strstr(ran.err, " <-- {\"jsonrpc\":\"2.0\""));
    assert_null(strstr(ran.out, "-->"));
    ran_done(&ran);
}

static void
what_is_secret_is_not(void **state)
{
    struct ran ran = RUN(
        "--trace", "raw", PROBE, "tools/call",
        "{\"name\":\"echo\",\"arguments\":{\"text\":\"Bearer 0123456789\","
        "\"password\":\"pass-word\"}}");

    (void)state;
    assert_null(strstr(ran.err, "0123456789"));
    assert_null(strstr(ran.err, "pass-word"));
    assert_non_null(strstr(ran.err, "\"password\":\"[hidden]\""));
    ran_done(&ran);
}

static void
with_json_each_is_a_line_of_JSON(void **state)
{
    struct ran ran = RUN("--trace", "--json", "ping", PROBE);
    char *line, *rest = ran.err;
    int count = 0;

    (void)state;
    assert_int_equal(ran.code, 0);
    for (line = strtok_r(rest, "\n", &rest); line; line = strtok_r(rest, "\n", &rest)) {
        mcp_doc *doc = NULL;

        assert_int_equal(mcp_doc_parse(line, strlen(line), NULL, &doc, NULL), 0);
        assert_non_null(mcp_json_get(mcp_doc_root(doc), "trace"));
        mcp_doc_free(doc);
        count++;
    }
    assert_true(count >= 4);
    ran_done(&ran);
}

static void
with_json_what_a_terminal_obeys_is_escaped(void **state)
{
    struct ran ran = RUN("--trace", "--json", "call", PROBE, "echo",
                         "text=\xc2\x9b"
                         "31m\xe2\x80\xae");

    (void)state;
    assert_int_equal(ran.code, 0);
    assert_null(strstr(ran.err, "\xc2\x9b"));
    assert_null(strstr(ran.err, "\xe2\x80\xae"));
    assert_non_null(strstr(ran.err, "\\u009b31m\\u202e"));
    ran_done(&ran);
}

TEST_MAIN(TEST(a_message_is_one_harmless_line), TEST(both_ways_are_shown),
          TEST(what_is_secret_is_not), TEST(with_json_each_is_a_line_of_JSON),
          TEST(with_json_what_a_terminal_obeys_is_escaped))
