/* rpc_test.c - the JSON-RPC envelope: what is a message, and what to answer if not */
#include "wire/rpc.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

#define V "\"jsonrpc\":\"2.0\","

struct fixture {
    struct test_mem mem;
    struct mcpi_buf buf;
    struct mcpi_rpc rpc;
    mcp_doc *doc;
};

static void
open_fixture(struct fixture *f)
{
    test_mem_init(&f->mem);
    mcpi_buf_init(&f->buf, &f->mem.allocator, MCPI_FRAME_MAX);
    f->doc = NULL;
}

static void
close_fixture(struct fixture *f)
{
    mcp_doc_free(f->doc);
    mcpi_buf_done(&f->buf);
    test_mem_done(&f->mem);
}

static const struct mcpi_rpc *
read_n(struct fixture *f, const char *text, size_t len)
{
    mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = &f->mem.allocator);

    mcp_doc_free(f->doc);
    f->doc = NULL;
    if (mcp_doc_parse(text, len, &opt, &f->doc, NULL) != 0)
        fail_msg("not JSON: %.*s", (int)len, text);
    mcpi_rpc_read(mcp_doc_root(f->doc), &f->rpc);
    return &f->rpc;
}

static const struct mcpi_rpc *
read_text(struct fixture *f, const char *text)
{
    return read_n(f, text, strlen(text));
}

/* A row: a text that is no message, the code that describes it, whether an error is
 * due, and the kind of id it is answered with. */
struct bad {
    const char *text;
    int code;
    bool answer;
    enum mcpi_id_kind id;
};

static void
assert_refused(const struct bad *rows, size_t count)
{
    const struct mcpi_rpc *rpc;
    struct fixture f;

    open_fixture(&f);
    for (size_t i = 0; i < count; i++) {
        rpc = read_text(&f, rows[i].text);
        if (rpc->kind != MCPI_RPC_INVALID || rpc->fault != rows[i].code ||
            rpc->fault_answerable != rows[i].answer || rpc->id.kind != rows[i].id)
            fail_msg("%s: kind %d, %d, answer %d, id %d", rows[i].text, (int)rpc->kind,
                     rpc->fault, rpc->fault_answerable, (int)rpc->id.kind);
        assert_true(rpc->fault_text && strlen(rpc->fault_text) > 0);
    }
    close_fixture(&f);
}

#define ASSERT_REFUSED(rows) assert_refused(rows, sizeof(rows) / sizeof(rows)[0])

static void
a_request_is_read(void **state)
{
    const struct mcpi_rpc *rpc;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    rpc = read_text(&f, "{" V
                        "\"id\":\"7\",\"method\":\"tools/call\",\"params\":{\"a\":1}}");
    assert_int_equal(rpc->kind, MCPI_RPC_REQUEST);
    assert_int_equal(rpc->id.kind, MCPI_ID_STRING);
    assert_int_equal(rpc->method, MCPI_METHOD_TOOLS_CALL);
    assert_int_equal(rpc->method_len, 10);
    assert_memory_equal(rpc->method_name, "tools/call", 10);
    assert_int_equal(mcp_json_int(mcp_json_get(rpc->params, "a"), 0), 1);
    rpc = read_text(&f,
                    "{\"method\":\"x/y\",\"id\":0," V "\"extra\":[],\"more\":null}");
    assert_int_equal(rpc->kind, MCPI_RPC_REQUEST);
    assert_int_equal(rpc->id.kind, MCPI_ID_INT);
    assert_int_equal(rpc->method, MCPI_METHOD_OTHER);
    assert_null(rpc->params);
    close_fixture(&f);
}

static void
a_notification_is_read(void **state)
{
    const struct mcpi_rpc *rpc;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    rpc = read_text(&f, "{" V "\"method\":\"notifications/cancelled\",\"params\":{}}");
    assert_int_equal(rpc->kind, MCPI_RPC_NOTIFICATION);
    assert_int_equal(rpc->id.kind, MCPI_ID_NONE);
    assert_int_equal(rpc->method, MCPI_METHOD_NOTE_CANCELED);
    assert_non_null(rpc->params);
    rpc = read_text(&f, "{" V "\"method\":\"\"}");
    assert_int_equal(rpc->kind, MCPI_RPC_NOTIFICATION);
    assert_int_equal(rpc->method, MCPI_METHOD_OTHER);
    close_fixture(&f);
}

static void
a_result_is_read(void **state)
{
    const struct mcpi_rpc *rpc;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    rpc = read_text(&f, "{" V "\"id\":9007199254740993,\"result\":{\"x\":[]}}");
    assert_int_equal(rpc->kind, MCPI_RPC_RESULT);
    assert_true(rpc->id.number == INT64_C(9007199254740993));
    assert_int_equal(mcp_json_count(rpc->result), 1);
    assert_null(rpc->method_name);
    close_fixture(&f);
}

static void
an_error_is_read(void **state)
{
    const struct mcpi_rpc *rpc;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    rpc = read_text(&f, "{" V "\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\","
                        "\"data\":[1]}}");
    assert_int_equal(rpc->kind, MCPI_RPC_ERROR);
    assert_int_equal(rpc->error_code, MCPI_RPC_METHOD_NOT_FOUND);
    assert_string_equal(rpc->error_message, "no");
    assert_int_equal(mcp_json_count(rpc->error_data), 1);
    rpc = read_text(&f,
                    "{" V "\"id\":1,\"error\":{\"code\":2147483647,\"message\":5}}");
    assert_int_equal(rpc->kind, MCPI_RPC_ERROR);
    assert_int_equal(rpc->error_code, INT32_MAX);
    assert_string_equal(rpc->error_message, "");
    assert_null(rpc->error_data);
    rpc = read_text(&f, "{" V "\"id\":1,\"error\":{\"code\":-2147483648}}");
    assert_int_equal(rpc->error_code, INT32_MIN);
    assert_string_equal(rpc->error_message, "");
    close_fixture(&f);
}

static void
A13_an_error_without_an_id_is_a_message(void **state)
{
    const struct mcpi_rpc *rpc;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    rpc = read_text(&f,
                    "{" V "\"id\":null,\"error\":{\"code\":-32700,\"message\":\"\"}}");
    assert_int_equal(rpc->kind, MCPI_RPC_ERROR);
    assert_int_equal(rpc->id.kind, MCPI_ID_NONE);
    rpc = read_text(&f, "{" V "\"error\":{\"code\":-32700,\"message\":\"\"}}");
    assert_int_equal(rpc->kind, MCPI_RPC_ERROR);
    assert_int_equal(rpc->id.kind, MCPI_ID_NONE);
    close_fixture(&f);
}

static void
a_bad_request_is_answered_with_its_id(void **state)
{
    static const struct bad rows[] = {
        {"{\"id\":1,\"method\":\"ping\"}", -32600, true, MCPI_ID_INT},
        {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600, true,
         MCPI_ID_INT},
        {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", -32600, true, MCPI_ID_INT},
        {"{\"jsonrpc\":\"2.0\\u0000\",\"id\":1,\"method\":\"ping\"}", -32600, true,
         MCPI_ID_INT},
        {"{" V "\"id\":\"a\",\"method\":7}", -32600, true, MCPI_ID_STRING},
        {"{" V "\"id\":\"a\",\"method\":null}", -32600, true, MCPI_ID_STRING},
        {"{" V "\"id\":1,\"method\":\"ping\",\"result\":{}}", -32600, true,
         MCPI_ID_INT},
        {"{" V "\"id\":1,\"method\":\"ping\",\"error\":{}}", -32600, true, MCPI_ID_INT},
        {"{" V "\"id\":1,\"method\":\"ping\",\"params\":[]}", -32602, true,
         MCPI_ID_INT},
        {"{" V "\"id\":1,\"method\":\"ping\",\"params\":null}", -32602, true,
         MCPI_ID_INT},
        {"{" V "\"id\":1,\"method\":\"ping\",\"params\":\"x\"}", -32602, true,
         MCPI_ID_INT},
        {"{" V "\"id\":5}", -32600, true, MCPI_ID_INT},
    };

    (void)state;
    ASSERT_REFUSED(rows);
}

static void
A12_a_request_whose_id_is_none_is_answered_without(void **state)
{
    static const struct bad rows[] = {
        {"{" V "\"id\":null,\"method\":\"ping\"}", -32600, true, MCPI_ID_NONE},
        {"{" V "\"id\":true,\"method\":\"ping\"}", -32600, true, MCPI_ID_NONE},
        {"{" V "\"id\":1.5,\"method\":\"ping\"}", -32600, true, MCPI_ID_NONE},
        {"{" V "\"id\":1e300,\"method\":\"ping\"}", -32600, true, MCPI_ID_NONE},
        {"{" V "\"id\":9007199254740992.0,\"method\":\"ping\"}", -32600, true,
         MCPI_ID_NONE},
        {"{" V "\"id\":[1],\"method\":\"ping\"}", -32600, true, MCPI_ID_NONE},
        {"{" V "\"id\":{},\"method\":\"ping\"}", -32600, true, MCPI_ID_NONE},
    };

    (void)state;
    ASSERT_REFUSED(rows);
}

static void
A12_an_integer_spelled_as_a_fraction_is_given_back_with_the_refusal(void **state)
{
    static const struct bad rows[] = {
        {"{" V "\"id\":1.0,\"method\":\"ping\"}", -32600, true, MCPI_ID_REAL},
        {"{" V "\"id\":-1e3,\"method\":\"ping\"}", -32600, true, MCPI_ID_REAL},
        {"{" V "\"id\":9007199254740991.0,\"method\":\"ping\"}", -32600, true,
         MCPI_ID_REAL},
        {"{" V "\"id\":1.0,\"result\":{}}", -32600, false, MCPI_ID_NONE},
        {"{" V "\"id\":1.0,\"id\":1.0,\"method\":\"ping\"}", -32600, true,
         MCPI_ID_NONE},
    };

    (void)state;
    ASSERT_REFUSED(rows);
}

static void
what_is_no_message_at_all_is_answered_without_an_id(void **state)
{
    static const struct bad rows[] = {
        {"[]", -32600, true, MCPI_ID_NONE},
        {"[{" V "\"id\":1,\"method\":\"ping\"}]", -32600, true, MCPI_ID_NONE},
        {"1", -32600, true, MCPI_ID_NONE},
        {"null", -32600, true, MCPI_ID_NONE},
        {"\"ping\"", -32600, true, MCPI_ID_NONE},
        {"{}", -32600, true, MCPI_ID_NONE},
        {"{\"foo\":\"boo\"}", -32600, true, MCPI_ID_NONE},
        {"{" V "\"method\":1,\"params\":\"bar\"}", -32600, true, MCPI_ID_NONE},
    };

    (void)state;
    ASSERT_REFUSED(rows);
}

static void
F15_a_bad_notification_is_not_answered(void **state)
{
    static const struct bad rows[] = {
        {"{" V "\"method\":\"notifications/cancelled\",\"params\":[1]}", -32602, false,
         MCPI_ID_NONE},
        {"{" V "\"method\":\"notifications/cancelled\",\"params\":null}", -32602, false,
         MCPI_ID_NONE},
        {"{\"method\":\"notifications/cancelled\"}", -32600, false, MCPI_ID_NONE},
        {"{" V "\"method\":\"x\",\"method\":\"x\"}", -32600, false, MCPI_ID_NONE},
        {"{" V "\"method\":\"x\",\"result\":{}}", -32600, false, MCPI_ID_NONE},
    };

    (void)state;
    ASSERT_REFUSED(rows);
}

static void
what_is_invalid_still_tells_the_method_it_names(void **state)
{
    const struct mcpi_rpc *rpc;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    rpc = read_text(&f, "{\"method\":\"notifications/cancelled\"}");
    assert_int_equal(rpc->kind, MCPI_RPC_INVALID);
    assert_int_equal(rpc->method, MCPI_METHOD_NOTE_CANCELED);
    assert_string_equal(rpc->method_name, "notifications/cancelled");
    rpc = read_text(&f, "{" V "\"method\":\"x\",\"a\":1,\"b\":2,\"a\":1}");
    assert_int_equal(rpc->kind, MCPI_RPC_INVALID);
    assert_string_equal(rpc->method_name, "x");
    rpc = read_text(&f, "{" V "\"id\":1,\"method\":2}");
    assert_null(rpc->method_name);
    close_fixture(&f);
}

static void
a_bad_response_is_not_answered(void **state)
{
    static const struct bad rows[] = {
        {"{" V "\"result\":{}}", -32600, false, MCPI_ID_NONE},
        {"{" V "\"id\":null,\"result\":{}}", -32600, false, MCPI_ID_NONE},
        {"{" V "\"id\":true,\"result\":{}}", -32600, false, MCPI_ID_NONE},
        {"{" V "\"id\":1,\"result\":[]}", -32600, false, MCPI_ID_INT},
        {"{" V "\"id\":1,\"result\":null}", -32600, false, MCPI_ID_INT},
        {"{\"id\":1,\"result\":{}}", -32600, false, MCPI_ID_INT},
        {"{" V "\"id\":1,\"result\":{},\"error\":{\"code\":1}}", -32600, false,
         MCPI_ID_INT},
        {"{" V "\"id\":1,\"result\":{},\"error\":null}", -32600, false, MCPI_ID_INT},
        {"{" V "\"id\":1.5,\"error\":{\"code\":1}}", -32600, false, MCPI_ID_NONE},
        {"{" V "\"id\":1,\"error\":\"no\"}", -32600, false, MCPI_ID_INT},
        {"{" V "\"id\":1,\"error\":{}}", -32600, false, MCPI_ID_INT},
        {"{" V "\"id\":1,\"error\":{\"code\":\"1\"}}", -32600, false, MCPI_ID_INT},
        {"{" V "\"id\":1,\"error\":{\"code\":1.0}}", -32600, false, MCPI_ID_INT},
        {"{" V "\"id\":1,\"error\":{\"code\":2147483648}}", -32600, false, MCPI_ID_INT},
        {"{" V "\"id\":1,\"error\":{\"code\":-2147483649}}", -32600, false,
         MCPI_ID_INT},
        {"{" V "\"id\":1,\"error\":{\"code\":1,\"code\":2}}", -32600, false,
         MCPI_ID_INT},
    };

    (void)state;
    ASSERT_REFUSED(rows);
}

static void
a_message_that_names_its_id_twice_has_none(void **state)
{
    static const struct bad rows[] = {
        {"{" V "\"id\":1,\"id\":2,\"method\":\"x\"}", -32600, true, MCPI_ID_NONE},
        {"{" V "\"id\":1,\"id\":1,\"result\":{}}", -32600, false, MCPI_ID_NONE},
        {"{" V "\"id\":1,\"i\\u0064\":2,\"method\":\"x\"}", -32600, true, MCPI_ID_NONE},
    };

    (void)state;
    ASSERT_REFUSED(rows);
}

static void
another_key_named_twice_is_refused_with_the_id(void **state)
{
    static const struct bad rows[] = {
        {"{" V V "\"id\":1,\"method\":\"x\"}", -32600, true, MCPI_ID_INT},
        {"{" V "\"id\":1,\"method\":\"x\",\"method\":\"y\"}", -32600, true,
         MCPI_ID_INT},
        {"{" V "\"id\":1,\"method\":\"x\",\"a\":1,\"b\":1,\"a\":1}", -32600, true,
         MCPI_ID_INT},
        {"{" V "\"id\":1,\"result\":{},\"result\":{}}", -32600, false, MCPI_ID_INT},
    };

    (void)state;
    ASSERT_REFUSED(rows);
}

static void
a_missing_document_is_no_message(void **state)
{
    struct mcpi_rpc rpc;

    (void)state;
    mcpi_rpc_read(NULL, &rpc);
    assert_int_equal(rpc.kind, MCPI_RPC_INVALID);
}

static void
assert_text(const struct fixture *f, const char *expected)
{
    assert_int_equal(f->buf.status, 0);
    if (f->buf.len != strlen(expected) ||
        memcmp(f->buf.data, expected, f->buf.len) != 0)
        fail_msg("%.*s", (int)f->buf.len, f->buf.data);
}

static void
A2_envelopes_begin_with_the_id_verbatim(void **state)
{
    struct mcpi_id seven = mcpi_id_string("7", 1), none = {.kind = MCPI_ID_NONE};
    struct fixture f;

    (void)state;
    open_fixture(&f);
    mcpi_rpc_write_request(&f.buf, &seven, "ping", 4);
    assert_text(&f, "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"method\":\"ping\"");
    mcpi_buf_clear(&f.buf);
    mcpi_rpc_write_note(&f.buf, "a\"b", 3);
    assert_text(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"a\\\"b\"");
    mcpi_buf_clear(&f.buf);
    mcpi_rpc_write_answer(&f.buf, &seven);
    assert_text(&f, "{\"jsonrpc\":\"2.0\",\"id\":\"7\"");
    mcpi_buf_clear(&f.buf);
    mcpi_rpc_write_answer(&f.buf, &none);
    assert_text(&f, "{\"jsonrpc\":\"2.0\"");
    close_fixture(&f);
}

static void
an_error_is_written_whole(void **state)
{
    struct mcpi_id one = mcpi_id_int(1), none = {.kind = MCPI_ID_NONE};
    struct fixture f;

    (void)state;
    open_fixture(&f);
    mcpi_rpc_write_error(&f.buf, &none, MCPI_RPC_PARSE_ERROR, "line\n", NULL, 0);
    assert_text(&f, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,"
                    "\"message\":\"line\\n\"}}");
    mcpi_buf_clear(&f.buf);
    mcpi_rpc_write_error(&f.buf, &one, -1, "", "", 0); /* none, wherever it points */
    assert_null(memmem(f.buf.data, f.buf.len, "data", 4));
    mcpi_buf_clear(&f.buf);
    mcpi_rpc_write_error(&f.buf, &one, -1, "", "{\"a\":1}", 7);
    assert_text(&f,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"\","
                "\"data\":{\"a\":1}}}");
    close_fixture(&f);
}

static void
C3_a_cancel_has_request_id_and_reason_on_one_line(void **state)
{
    struct mcpi_id id = mcpi_id_string("7", 1), zero = mcpi_id_int(0);
    struct fixture f;

    (void)state;
    open_fixture(&f);
    mcpi_rpc_write_cancel(&f.buf, &id, "user\nleft");
    assert_text(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                    "\"params\":{\"requestId\":\"7\",\"reason\":\"user\\nleft\"}}");
    mcpi_buf_clear(&f.buf);
    mcpi_rpc_write_cancel(&f.buf, &zero, "");
    assert_text(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                    "\"params\":{\"requestId\":0}}");
    mcpi_buf_clear(&f.buf);
    mcpi_rpc_write_cancel(&f.buf, &zero, "not \xff text");
    assert_text(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                    "\"params\":{\"requestId\":0}}");
    close_fixture(&f);
}

static void
C3_the_longest_cancel_fits_a_frame(void **state)
{
    char id[MCPI_ID_MAX], reason[MCPI_REASON_MAX + 50];
    const struct mcpi_rpc *rpc;
    const mcp_json *value;
    struct mcpi_id longest;
    struct fixture f;

    (void)state;
    memset(id, 1, sizeof id);
    memset(reason, 1, sizeof reason);
    reason[sizeof reason - 1] = '\0';
    longest = mcpi_id_string(id, sizeof id);
    open_fixture(&f);
    mcpi_rpc_write_cancel(&f.buf, &longest, reason);
    assert_int_equal(f.buf.status, 0);
    assert_in_range(f.buf.len, 6 * (MCPI_ID_MAX + MCPI_REASON_MAX), MCPI_FRAME_MAX);
    assert_null(memchr(f.buf.data, '\n', f.buf.len));
    rpc = read_n(&f, f.buf.data, f.buf.len);
    assert_int_equal(rpc->kind, MCPI_RPC_NOTIFICATION);
    value = mcp_json_get(rpc->params, "requestId");
    assert_int_equal(mcp_json_string_length(value), MCPI_ID_MAX);
    value = mcp_json_get(rpc->params, "reason");
    assert_int_equal(mcp_json_string_length(value), MCPI_REASON_MAX);
    close_fixture(&f);
}

static void
C3_a_long_reason_is_cut_between_characters(void **state)
{
    struct mcpi_id id = mcpi_id_int(1);
    char reason[2 * MCPI_REASON_MAX];
    const struct mcpi_rpc *rpc;
    struct fixture f;

    (void)state;
    memset(reason, 'x', sizeof reason);
    memcpy(reason + MCPI_REASON_MAX - 1, "\xe2\x82\xac", 4);
    open_fixture(&f);
    mcpi_rpc_write_cancel(&f.buf, &id, reason);
    rpc = read_n(&f, f.buf.data, f.buf.len);
    assert_int_equal(mcp_json_string_length(mcp_json_get(rpc->params, "reason")),
                     MCPI_REASON_MAX - 1);
    close_fixture(&f);
}

static void
write_all(struct test_mem *mem, void *user)
{
    struct mcpi_id id = mcpi_id_string("some id", 7);
    struct mcpi_buf buf;

    (void)user;
    mcpi_buf_init(&buf, &mem->allocator, MCPI_FRAME_MAX);
    mcpi_rpc_write_request(&buf, &id, "tools/call", 10);
    mcpi_rpc_write_error(&buf, &id, -1, "a sentence that says why", "[1,2,3]", 7);
    mcpi_rpc_write_cancel(&buf, &id, "because");
    assert_int_equal(buf.status, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    mcpi_buf_done(&buf);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(write_all, NULL) >= 1);
}

TEST_MAIN(TEST(a_request_is_read), TEST(a_notification_is_read), TEST(a_result_is_read),
          TEST(an_error_is_read), TEST(A13_an_error_without_an_id_is_a_message),
          TEST(a_bad_request_is_answered_with_its_id),
          TEST(A12_a_request_whose_id_is_none_is_answered_without),
          TEST(A12_an_integer_spelled_as_a_fraction_is_given_back_with_the_refusal),
          TEST(what_is_no_message_at_all_is_answered_without_an_id),
          TEST(F15_a_bad_notification_is_not_answered),
          TEST(what_is_invalid_still_tells_the_method_it_names),
          TEST(a_bad_response_is_not_answered),
          TEST(a_message_that_names_its_id_twice_has_none),
          TEST(another_key_named_twice_is_refused_with_the_id),
          TEST(a_missing_document_is_no_message),
          TEST(A2_envelopes_begin_with_the_id_verbatim),
          TEST(an_error_is_written_whole),
          TEST(C3_a_cancel_has_request_id_and_reason_on_one_line),
          TEST(C3_the_longest_cancel_fits_a_frame),
          TEST(C3_a_long_reason_is_cut_between_characters),
          TEST(each_allocation_may_fail))
