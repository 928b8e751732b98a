/* doctor_http_test.c - proves cli/doctor_http.c: URLs, requests as written, answers */
#include "cli/doctor_http.h"

#include <string.h>

#include "cli/canned.h"
#include "support/curl_warm.h"

#define LONG_MS 60000
#define ANSWER "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"

static void
urls_are_taken_apart(void **state)
{
    struct cli_url url;

    (void)state;
    assert_true(cli_url_read("http://Host.example/mcp?x=1#y", &url));
    assert_string_equal(url.host, "Host.example");
    assert_string_equal(url.port, "80");
    assert_string_equal(url.path, "/mcp?x=1");
    assert_true(cli_url_read("https://[::1]:8443?q", &url));
    assert_true(url.is_tls);
    assert_string_equal(url.host, "::1");
    assert_string_equal(url.port, "8443");
    assert_string_equal(url.authority, "[::1]:8443");
    assert_string_equal(url.path, "/?q");
}

static void
what_is_no_url_is_refused(void **state)
{
    const char *const wrong[] = {"ftp://host/",     "http:///x",        "http://a:b/",
                                 "http://a:/",      "http://u:p@host/", "http://a b/",
                                 "http://a/\r\nX:", "http://[::1/",     "a"};
    struct cli_url url;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(cli_url_read(wrong[i], &url));
}

static int
ask(struct canned *canned, struct cli_http_answer *answer)
{
    struct cli_url url;
    mcp_error err = {0};

    assert_true(cli_url_read(canned->url, &url));
    return cli_http_ask(&url,
                        &(struct cli_http_question){.method = "POST",
                                                    .host = "other.example",
                                                    .headers = "X-A: b\r\n",
                                                    .body = "{}"},
                        &(struct cli_way){.timeout_ms = LONG_MS}, answer, &err);
}

static void
a_request_goes_out_as_it_is_written(void **state)
{
    struct canned canned = {
        .answers = {"HTTP/1.1 404 No\r\nContent-Length: 3\r\nx-b:  c \r\n\r\nabc"}};
    struct cli_http_answer answer;
    char value[16];

    (void)state;
    canned_open(&canned);
    assert_int_equal(ask(&canned, &answer), 0);
    canned_close(&canned);
    assert_int_equal(answer.status, 404);
    assert_string_equal(cli_text_string(&answer.body), "abc");
    assert_true(cli_http_header(&answer, "X-B", value, sizeof(value)));
    assert_string_equal(value, "c ");
    assert_false(cli_http_header(&answer, "X-C", value, sizeof(value)));
    assert_null(cli_http_message(&answer));
    assert_string_equal(canned.requests[0],
                        "POST /mcp HTTP/1.1\r\nHost: other.example\r\n"
                        "Connection: close\r\nX-A: b\r\nContent-Length: 2\r\n\r\n{}");
    cli_http_answer_done(&answer);
}

static void
a_message_is_found_in_each_kind_of_body(void **state)
{
    struct canned canned = {
        .answers = {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" ANSWER,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n"
                    "1d\r\n: ping\n\nevent: message\ndata: \r\n"
                    "26\r\n" ANSWER "\n\n\r\n"}};
    struct cli_http_answer answer;
    mcp_doc *doc;

    (void)state;
    canned_open(&canned);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask(&canned, &answer), 0);
        doc = cli_http_message(&answer);
        assert_non_null(doc);
        mcp_doc_free(doc);
        cli_http_answer_done(&answer);
    }
    canned_close(&canned);
}

static void
what_is_no_http_is_said(void **state)
{
    struct canned canned = {.answers = {"SSH-2.0\r\n\r\n", ""}};
    struct cli_http_answer answer;

    (void)state;
    canned_open(&canned);
    assert_int_equal(ask(&canned, &answer), MCP_E_PROTO);
    cli_http_answer_done(&answer);
    assert_int_equal(ask(&canned, &answer), MCP_E_CLOSED);
    cli_http_answer_done(&answer);
    canned_close(&canned);
    assert_int_equal(ask(&canned, &answer), MCP_E_SEND_FAILED);
}

static void
chunks_are_put_together(void **state)
{
    const char text[] = "3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n";
    struct cli_text whole = {0}, part = {0};

    (void)state;
    assert_true(cli_http_unchunk(text, strlen(text), &whole));
    assert_string_equal(cli_text_string(&whole), "abc0123456789");
    assert_false(cli_http_unchunk(text, 18, &part));
    assert_string_equal(cli_text_string(&part), "abc012");
    assert_false(cli_http_unchunk("fffffffffffffffff", 17, &part));
    cli_text_done(&whole);
    cli_text_done(&part);
}

TEST_MAIN(TEST(urls_are_taken_apart), TEST(what_is_no_url_is_refused),
          TEST(a_request_goes_out_as_it_is_written),
          TEST(a_message_is_found_in_each_kind_of_body), TEST(what_is_no_http_is_said),
          TEST(chunks_are_put_together))
