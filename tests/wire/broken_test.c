/* broken_test.c - whose message is it, if its text cannot be parsed? */
#include "wire/broken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "json/value.h"

#define V "\"jsonrpc\":\"2.0\","

/* Each text in a block of its own length: a sanitizer sees a byte too many. */
static void
reads_n(const char *text, size_t len, const char *id, bool is_answer)
{
    char *own = malloc(len ? len : 1), *shown = NULL;
    struct test_mem mem;
    struct mcpi_rpc rpc;

    assert_non_null(own);
    memcpy(own, text, len);
    test_mem_init(&mem);
    mcpi_broken_read(&mem.allocator, own, len, -32700, "why", &rpc);
    free(own);
    assert_int_equal(rpc.kind, MCPI_RPC_INVALID);
    assert_int_equal(rpc.fault, -32700);
    assert_string_equal(rpc.fault_text, "why");
    assert_true(rpc.fault_unparsed);
    if ((rpc.id.kind != MCPI_ID_NONE) != (id != NULL))
        fail_msg("%s an id: %.*s", id ? "not" : "there is", (int)len, text);
    assert_int_equal(rpc.doc != NULL, id != NULL);
    assert_int_equal(rpc.fault_answerable, !is_answer);
    if (id) {
        assert_int_equal(
            mcp_json_print(mcp_doc_root(rpc.doc), false, NULL, &shown, NULL), 0);
        assert_string_equal(shown, id);
    }
    mcp_text_free(shown, NULL);
    mcp_doc_free(rpc.doc);
    test_mem_done(&mem);
}

static void
request(const char *text, const char *id)
{
    reads_n(text, strlen(text), id, false);
}

static void
answer(const char *text, const char *id)
{
    reads_n(text, strlen(text), id, true);
}

static void
nobody(const char *text)
{
    reads_n(text, strlen(text), NULL, false);
}

/* What stands in strings, and how numbers are spelled, is not looked at. */
static void
of_a_whole_text_the_id_is_told_wherever_it_stands(void **state)
{
    (void)state;
    answer("{" V "\"id\":7,\"result\":{\"x\":NaN}}", "7");
    answer("{\"result\":{\"x\":-Infinity},\"jsonrpc\":\"2.0\",\"id\":7}", "7");
    answer("{\"result\":{\"a\":[{},[],[1,\"\\x\"]]} , \"id\" : 7 }\r", "7");
    answer("{\"error\":{\"message\":\"\xff\xfe\",\"code\":1},\"id\":\"a\\n\"}",
           "\"a\\n\"");
    answer("{\"result\":{\"t\":\"a\tb\"},\"id\":\"\"}", "\"\"");
    request("{\"method\":\"m\",\"params\":{\"x\":01},\"id\":0}", "0");
    request("{" V "\"id\":18446744073709551615,\"method\":\"\xc0\xaf\"}",
            "18446744073709551615");
    request("\xef\xbb\xbf{" V "\"id\":7,\"method\":\"m\",\"params\":{\"x\":.5}}", "7");
    request("{\"id\":7,\"params\":{\"x\":NaN}}", "7");
}

static void
A12_what_is_not_an_id_is_not_told(void **state)
{
    static const char *const values[] = {
        "null",        "true", "1.5", "[7]",      "{\"a\":7}", "NaN",
        "\"\\ud83d\"", "07",   "+7",  "\"\xff\"", "7 7",       "18446744073709551616"};
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        (void)snprintf(text, sizeof(text),
                       "{" V "\"id\":%s,\"method\":\"m\",\"x\":NaN}", values[i]);
        nobody(text);
        (void)snprintf(text, sizeof(text), "{" V "\"id\":%s,\"result\":{\"x\":NaN}}",
                       values[i]);
        nobody(text);
    }
    request("{" V "\"id\":1.0,\"method\":\"m\",\"x\":NaN}", "1.0"); /* given back */
    nobody("{" V "\"id\":1.0,\"result\":{\"x\":NaN}}");
}

static void
an_id_that_is_not_the_only_one_is_not_told(void **state)
{
    (void)state;
    nobody("{" V "\"id\":7,\"id\":8,\"result\":{\"x\":NaN}}");
    nobody("{" V "\"id\":7,\"result\":{\"x\":NaN},\"id\":7}");
    nobody("{" V "\"id\":7,\"result\":{\"x\":NaN},\"id\":{}}");
    nobody("{" V "\"id\":7,\"result\":{\"x\":NaN},\"\\u0069d\":8}");
    nobody("{" V "\"id\":7,\"result\":{},\"id\":8");
    answer("{\"result\":{\"id\":8,\"x\":NaN},\"id\":7}", "7"); /* that is another's */
    answer("{" V "\"id\":7,\"result\":[{\"id\":8},NaN]}", "7");
}

static void
what_is_neither_a_request_nor_an_answer_has_none(void **state)
{
    (void)state;
    nobody("{" V "\"id\":7,\"x\":NaN}");
    nobody("{" V "\"id\":7,");
    nobody("{" V "\"id\":7,\"method\":\"m\",\"result\":NaN}");
    nobody("{" V "\"method\":\"notifications/x\",\"params\":{\"x\":NaN}}");
    nobody("[{" V "\"id\":7,\"method\":\"m\"},NaN]");
    nobody("\"id\":7,\"method\":\"m\"");
    nobody("{'id':7,'method':'m'}");
    nobody("DEBUG {" V "\"id\":7,\"method\":\"m\"}");
    nobody("{}");
    nobody("{");
    nobody(" ");
    nobody("");
    nobody("\xef\xbb\xbf");
    reads_n("{\0\"id\":7,\"method\":\"m\"}", 21, NULL, false);
}

static void
of_a_text_that_breaks_off_the_id_is_told_if_it_stands_in_front(void **state)
{
    (void)state;
    answer("{" V "\"id\":7,\"result\":{\"content\":[{\"text\":\"abc", "7");
    answer("{\"id\":7," V "\"error\":{", "7");
    request("{" V "\"method\":\"tools/call\",\"id\":\"x\",\"params\":{\"a\"", "\"x\"");
    request("{" V "\"id\":7,\"method\":\"tools", "7");
    nobody("{" V "\"id\":7");   /* it may go on: 71 */
    nobody("{" V "\"id\":\"7"); /* likewise */
    nobody("{" V "\"id\":7,\"res");
    nobody("{\"result\":{\"text\":\"abc\"}," V "\"id\":7,");
    nobody("{\"params\":{\"text\":\"abc\"},\"method\":\"m\",\"id\":7,");
    nobody("{\"x\":\"abc\",\"id\":7,\"result\":{");
}

/* Whoever's text stands in an answer, and was not escaped, could write such a thing. */
static void
of_a_damaged_text_no_id_is_told_that_a_longer_text_may_have_brought(void **state)
{
#define SAYS(text) "{\"result\":{\"text\":\"" text "\"}," V "\"id\":7}"
    (void)state;
    nobody(SAYS("say \"hi\""));
    nobody(SAYS("x\"},\"id\":5,\"y\":\""));
    nobody(SAYS("x\"},\"id\":5,\"y\":\"\\"));
    nobody(SAYS("x\"},\"id\":5,\"y\":{\"z\":\""));
    nobody(SAYS("x\"},\"id\":5,\"y\":[{\"z\":\""));
    nobody(SAYS("x\"},\"id\":5,@"));
    nobody(SAYS("x\"},\"id\":5}\n{\"a\":{\"b\":\""));
    nobody("{" V "\"method\":{\"a\":\"x\"},\"id\":5,@");
#undef SAYS
    answer("{" V "\"id\":7,\"result\":{\"text\":\"say \"hi\"\"}}", "7");
    answer("{" V "\"id\":7,\"result\":{}} DEBUG: sent", "7");
    answer("{" V "\"id\":7,\"result\":{}}{" V "\"id\":8,\"result\":{}}", "7");
    answer("{" V "\"id\":7,\"result\":{},}", "7");
    answer("{" V "\"id\":7,\"result\":[}", "7");
    answer("{" V "\"id\":7,\"result\":{]", "7");
    answer("{" V "\"id\":7,\"result\" {}", "7");
    answer("{" V "\"id\":7,\"result\":{\"a\" \"b\"}}", "7");
    answer("{" V "\"id\":7,\"result\":{},,", "7");
    answer("{" V "\"id\":7,\"result\"::", "7");
    nobody("{" V "\"id\" 7,\"result\":{}}");
    nobody("{" V "\"id\":7 \"result\":{}}");
}

static char *
nested(const char *before, size_t depth, const char *after)
{
    char *text = malloc(strlen(before) + 2 * depth + strlen(after) + 1);

    assert_non_null(text);
    strcpy(text, before);
    memset(text + strlen(before), '[', depth);
    memset(text + strlen(before) + depth, ']', depth);
    strcpy(text + strlen(before) + 2 * depth, after);
    return text;
}

static void
a_text_may_be_deep_but_not_without_end(void **state)
{
    char *text;

    (void)state;
    text = nested("{\"result\":", MCPI_BROKEN_DEPTH_MAX - 1, ",\"id\":7}");
    answer(text, "7");
    free(text);
    text = nested("{\"result\":", MCPI_BROKEN_DEPTH_MAX, ",\"id\":7}");
    nobody(text);
    free(text);
    text = nested("{" V "\"id\":7,\"result\":", 1000000, "}");
    answer(text, "7");
    free(text);
}

static void
without_memory_there_is_no_id(void **state)
{
    static const char text[] = "{" V "\"id\":7,\"result\":{";
    struct test_mem mem;
    struct mcpi_rpc rpc;

    (void)state;
    test_mem_init(&mem);
    atomic_store(&mem.fail_at, 1);
    mcpi_broken_read(&mem.allocator, text, strlen(text), -32700, "why", &rpc);
    assert_int_equal(rpc.id.kind, MCPI_ID_NONE);
    assert_null(rpc.doc);
    assert_true(rpc.fault_answerable);
    test_mem_done(&mem);
}

TEST_MAIN(TEST(of_a_whole_text_the_id_is_told_wherever_it_stands),
          TEST(A12_what_is_not_an_id_is_not_told),
          TEST(an_id_that_is_not_the_only_one_is_not_told),
          TEST(what_is_neither_a_request_nor_an_answer_has_none),
          TEST(of_a_text_that_breaks_off_the_id_is_told_if_it_stands_in_front),
          TEST(of_a_damaged_text_no_id_is_told_that_a_longer_text_may_have_brought),
          TEST(a_text_may_be_deep_but_not_without_end),
          TEST(without_memory_there_is_no_id))
