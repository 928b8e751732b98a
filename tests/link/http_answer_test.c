/* http_answer_test.c - the head of an answer, byte by byte */
#include "link/http_answer.h"

#include <string.h>

#include "support/test.h"

static void
dates_are_those_of_http(void **state)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {
        {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {951827696, "Tue, 29 Feb 2000 12:34:56 GMT"},
        {4102444799, "Thu, 31 Dec 2099 23:59:59 GMT"},
    };
    char date[MCPI_HTTP_DATE];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mcpi_http_date(date, rows[i].seconds);
        assert_string_equal(date, rows[i].text);
    }
}

static void
expect_head(const struct mcpi_http_out *out, enum mcpi_http_framing framing,
            enum mcpi_http_after after, const char *expected)
{
    struct test_mem mem;
    struct mcpi_buf buf;

    test_mem_init(&mem);
    mcpi_buf_init(&buf, &mem.allocator, 65536);
    mcpi_http_answer_head(&buf, out, framing, after, "now");
    mcpi_buf_char(&buf, '\0');
    assert_int_equal(buf.status, 0);
    assert_string_equal(buf.data, expected);
    mcpi_buf_done(&buf);
    test_mem_done(&mem);
}

static void
a_head_says_how_the_body_ends_and_what_follows(void **state)
{
    static const mcp_http_field fields[] = {{"Retry-After", "1"}, {"X", ""}};
    struct mcpi_http_out out = {.status = 200, .type = "text/plain", .body_len = 12};

    (void)state;
    expect_head(&out, MCPI_HTTP_BY_LENGTH, MCPI_HTTP_KEEPS,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                "Content-Length: 12\r\nDate: now\r\n\r\n");
    expect_head(&out, MCPI_HTTP_BY_CHUNKS, MCPI_HTTP_KEEPS,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                "Transfer-Encoding: chunked\r\nDate: now\r\n\r\n");
    expect_head(&out, MCPI_HTTP_BY_CLOSE, MCPI_HTTP_CLOSES,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                "Date: now\r\nConnection: close\r\n\r\n");
    out = (struct mcpi_http_out){.status = 503, .fields = fields, .field_count = 2};
    expect_head(&out, MCPI_HTTP_BY_LENGTH, MCPI_HTTP_SAYS_KEEPS,
                "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nDate: now\r\n"
                "Connection: keep-alive\r\nRetry-After: 1\r\nX: \r\n\r\n");
}

static void
an_answer_that_cannot_have_a_body_has_no_length(void **state)
{
    struct mcpi_http_out out = {.status = 204};

    (void)state;
    expect_head(&out, MCPI_HTTP_BY_LENGTH, MCPI_HTTP_KEEPS,
                "HTTP/1.1 204 No Content\r\nDate: now\r\n\r\n");
    out.status = 202;
    expect_head(&out, MCPI_HTTP_BY_LENGTH, MCPI_HTTP_KEEPS,
                "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nDate: now\r\n\r\n");
}

static void
a_value_cannot_end_its_line(void **state)
{
    static const mcp_http_field field = {"X", "a\r\nSet-Cookie: b\x7f\tc\xc3\xa4"};
    struct mcpi_http_out out = {.status = 200, .fields = &field, .field_count = 1};

    (void)state;
    expect_head(&out, MCPI_HTTP_BY_CLOSE, MCPI_HTTP_KEEPS,
                "HTTP/1.1 200 OK\r\nDate: now\r\nX: a  Set-Cookie: b \tc\xc3\xa4"
                "\r\n\r\n");
}

static void
a_chunk_line_is_its_length_in_hex(void **state)
{
    char line[MCPI_HTTP_CHUNK_LINE];

    (void)state;
    assert_int_equal(mcpi_http_chunk_line(line, 1), 3);
    assert_memory_equal(line, "1\r\n", 3);
    assert_int_equal(mcpi_http_chunk_line(line, 0xab0), 5);
    assert_memory_equal(line, "ab0\r\n", 5);
    assert_int_equal(mcpi_http_chunk_line(line, SIZE_MAX), 18);
    assert_memory_equal(line, "ffffffffffffffff\r\n", 18);
}

static void
without_room_the_buffer_says_so(void **state)
{
    struct mcpi_http_out out = {.status = 200};
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 20);
    mcpi_http_answer_head(&buf, &out, MCPI_HTTP_BY_LENGTH, MCPI_HTTP_KEEPS, "now");
    assert_int_equal(buf.status, MCP_E_LIMIT);
    mcpi_buf_done(&buf);
}

TEST_MAIN(TEST(dates_are_those_of_http),
          TEST(a_head_says_how_the_body_ends_and_what_follows),
          TEST(an_answer_that_cannot_have_a_body_has_no_length),
          TEST(a_value_cannot_end_its_line), TEST(a_chunk_line_is_its_length_in_hex),
          TEST(without_room_the_buffer_says_so))
