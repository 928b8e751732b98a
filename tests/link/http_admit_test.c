/* http_admit_test.c - which heads are worth a body, and what others are told */
#include "link/http_front.h"

struct row {
    const char *method, *target, *headers;
    int status; /* 0: it may go on */
};

static int
check(struct front *f, const struct row *row, uint64_t body_len, struct visit *v)
{
    struct mcpi_http_out out;

    visit_init(v, row->method, row->target, row->headers, NULL);
    if (mcpi_endpoint_check_head(f->endpoint, &v->in, body_len, &out))
        return 0;
    visit_head(v, &out);
    if (out.status != 204) {
        assert_string_equal(v->type, "application/json");
        assert_true(visit_code(v) < 0);
        assert_null(strstr(v->text, "\"id\""));
    }
    return out.status;
}

static void
check_all(struct front *f, const struct row *rows, size_t count)
{
    struct visit v;
    int status;

    for (size_t i = 0; i < count; i++) {
        status = check(f, &rows[i], 2, &v);
        if (status != rows[i].status)
            fail_msg("%s %s\n%sgives %d", rows[i].method, rows[i].target,
                     rows[i].headers, status);
        visit_done(&v);
    }
}

#define CHECK_ALL(f, rows) check_all(f, rows, sizeof(rows) / sizeof((rows)[0]))

static void
heads_are_admitted_or_refused(void **state)
{
    static const struct row rows[] = {
        {"POST", "/mcp", PLAIN, 0},
        {"POST", "/mcp?x=/other", PLAIN, 0},
        {"POST", "/", PLAIN, 404},
        {"POST", "/mcp/", PLAIN, 404},
        {"POST", "/mcpx", PLAIN, 404},
        {"POST", "/mc", PLAIN, 404},
        {"GET", "/mcp", HOST BOTH, 0},
        {"GET", "/mcp", HOST, 0},
        {"GET", "/mcp", HOST "Accept: application/json\n", 406},
        {"DELETE", "/mcp", HOST, 0},
        {"HEAD", "/mcp", HOST, 405},
        {"PUT", "/mcp", PLAIN, 405},
        {"OPTIONS", "/mcp", HOST, 405},
        {"PATCH", "/mcp", PLAIN, 405},
        {"TRACE", "/mcp", HOST, 405},
        {"CONNECT", "/mcp", HOST, 405},
        {"PROPFIND", "/mcp", PLAIN, 501},
        {"post", "/mcp", PLAIN, 501},
        {"FROB", "/mcp", PLAIN, 501},
        {"FROB", "/other", PLAIN, 404},
        {"POST", "/mcp", HOST BOTH, 415},
        {"POST", "/mcp", HOST BOTH "Content-Type: text/plain\n", 415},
        {"POST", "/mcp", HOST BOTH "Content-Type: application/jsonp\n", 415},
        {"POST", "/mcp", HOST BOTH "Content-Type: application/jso\n", 415},
        {"POST", "/mcp", HOST BOTH JSON JSON, 415},
        {"POST", "/mcp", HOST BOTH "Content-Type: Application/JSON; charset=utf-8\n",
         0},
        {"POST", "/mcp", HOST BOTH "Content-Type: application/json ;x=y\n", 0},
        {"POST", "/mcp", HOST BOTH "Content-Type: application/json;charset=utf-16\n",
         415},
        {"POST", "/mcp", PLAIN "Content-Encoding: gzip\n", 415},
        {"POST", "/mcp", PLAIN "Content-Encoding: identity, gzip\n", 415},
        {"POST", "/mcp", PLAIN "Content-Encoding: identity\nContent-Encoding: br\n",
         415},
        {"POST", "/mcp", PLAIN "Content-Encoding: Identity\n", 0},
        {"POST", "/mcp", PLAIN "Content-Encoding: \n", 0},
        {"GET", "/mcp", HOST BOTH "Content-Encoding: gzip\n", 0},
        {"POST", "/mcp", PLAIN "Expect: 100-Continue\n", 0},
        {"POST", "/mcp", PLAIN "Expect: \n", 0},
        {"POST", "/mcp", PLAIN "Expect: 200-ok\n", 417},
        {"POST", "/mcp", PLAIN "Expect: 100-continue, x=y\n", 417},
        {"POST", "/mcp", PLAIN "Expect: 100-continue\nExpect: x\n", 417},
        {"GET", "/mcp", HOST BOTH "Expect: x\n", 417},
        {"POST", "/mcp", HOST JSON, 0},
        {"POST", "/mcp", HOST JSON "Accept: */*\n", 0},
        {"POST", "/mcp", HOST JSON "Accept: application/json\n", 0},
        {"POST", "/mcp", HOST JSON "Accept: text/event-stream\n", 0},
        {"POST", "/mcp", HOST JSON "Accept: text/html\n", 406},
        {"POST", "/mcp", HOST JSON "Accept: text/html\nAccept: application/json\n", 0},
        {"POST", "/mcp", HOST JSON "Accept: */*;q=0\n", 406},
    };
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    CHECK_ALL(&f, rows);
    front_close(&f);
}

#define FROM(host) BOTH JSON "Host: " host "\n"

static void
hosts_of_loopback_are_ours_and_no_others(void **state)
{
    static const struct row rows[] = {
        {"POST", "/mcp", FROM("localhost"), 0},
        {"POST", "/mcp", FROM("LocalHost:1"), 0},
        {"POST", "/mcp", FROM("127.0.0.1:65535"), 0},
        {"POST", "/mcp", FROM("127.255.0.3"), 0},
        {"POST", "/mcp", FROM("[::1]"), 0},
        {"POST", "/mcp", FROM("[::1]:8080"), 0},
        {"POST", "/mcp", FROM("evil.example.com"), 403},
        {"POST", "/mcp", FROM("localhost.evil.example"), 403},
        {"POST", "/mcp", FROM("127.0.0.1.evil.example"), 403},
        {"POST", "/mcp", FROM("127.0.0.256"), 403},
        {"POST", "/mcp", FROM("127.0.0"), 403},
        {"POST", "/mcp", FROM("127.0.0.1.1"), 403},
        {"POST", "/mcp", FROM("127.0.0.0001"), 403},
        {"POST", "/mcp", FROM("127.0..1.1"), 403},
        {"POST", "/mcp", FROM("128.0.0.1"), 403},
        {"POST", "/mcp", FROM("[::2]"), 403},
        {"POST", "/mcp", FROM("[::1"), 403},
        {"POST", "/mcp", FROM("[::1]x"), 403},
        {"POST", "/mcp", FROM("localhost:"), 403},
        {"POST", "/mcp", FROM("localhost:port"), 403},
        {"POST", "/mcp", FROM("localhost:65536"), 403},
        {"POST", "/mcp", FROM("localhost:99999999999999999999"), 403},
        {"POST", "/mcp", FROM(""), 403},
        {"POST", "/mcp", BOTH JSON, 403},
        {"POST", "/mcp", HOST PLAIN, 400},
    };
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    CHECK_ALL(&f, rows);
    front_close(&f);
}

static void
hosts_elsewhere_are_those_listed(void **state)
{
    static const char *const hosts[] = {"mcp.example", "10.0.0.1", NULL};
    static const struct row listed[] = {
        {"POST", "/mcp", FROM("mcp.example"), 0},
        {"POST", "/mcp", FROM("MCP.example:443"), 0},
        {"POST", "/mcp", FROM("10.0.0.1:1"), 0},
        {"POST", "/mcp", FROM("localhost"), 403},
        {"POST", "/mcp", FROM("mcp.example.org"), 403},
        {"POST", "/mcp", FROM("mcp"), 403},
        {"POST", "/mcp", BOTH JSON, 403},
    };
    static const struct row any[] = {
        {"POST", "/mcp", FROM("whatever"), 0},
        {"POST", "/mcp", BOTH JSON, 0},
    };
    struct front f;

    (void)state;
    front_init(&f);
    f.opt.loopback = false;
    f.http.hosts = hosts;
    front_open(&f);
    CHECK_ALL(&f, listed);
    f.http.hosts = NULL;
    CHECK_ALL(&f, any);
    front_close(&f);
}

#define PAGE(origin) PLAIN "Origin: " origin "\n"

static void
origins_may_call_if_own_or_listed(void **state)
{
    static const char *const origins[] = {"https://App.example", "http://b.example:81",
                                          NULL};
    static const struct row rows[] = {
        {"POST", "/mcp", PAGE("http://localhost:8080"), 0},
        {"POST", "/mcp", PAGE("http://127.0.0.1:8080"), 0},
        {"POST", "/mcp", PAGE("https://[::1]:8080"), 0},
        {"POST", "/mcp", PAGE("http://localhost:8081"), 403},
        {"POST", "/mcp", PAGE("http://localhost"), 403},
        {"POST", "/mcp", PAGE("ftp://localhost:8080"), 403},
        {"POST", "/mcp", PAGE("http://evil.example.com"), 403},
        {"POST", "/mcp", PAGE("null"), 403},
        {"POST", "/mcp", PAGE(""), 403},
        {"POST", "/mcp", PAGE("https://app.example"), 0},
        {"POST", "/mcp", PAGE("HTTPS://APP.EXAMPLE:443"), 0},
        {"POST", "/mcp", PAGE("http://app.example"), 403},
        {"POST", "/mcp", PAGE("https://app.example:8443"), 403},
        {"POST", "/mcp", PAGE("https://app.example.evil"), 403},
        {"POST", "/mcp", PAGE("https://xapp.example"), 403},
        {"POST", "/mcp", PAGE("http://b.example:81"), 0},
        {"POST", "/mcp", PAGE("http://b.example"), 403},
        {"POST", "/mcp", PAGE("https://app.example") "Origin: https://app.example\n",
         403},
        {"GET", "/mcp", PAGE("http://evil.example.com"), 403},
        {"DELETE", "/mcp", PAGE("http://evil.example.com"), 403},
        {"OPTIONS", "/mcp",
         PAGE("http://evil.example.com") "Access-Control-Request-Method: POST\n", 403},
    };
    struct front f;

    (void)state;
    front_init(&f);
    f.http.origins = origins;
    front_open(&f);
    CHECK_ALL(&f, rows);
    front_close(&f);
}

static void
an_origin_of_nobody_may_call_if_listed(void **state)
{
    static const char *const origins[] = {"null", NULL};
    static const struct row rows[] = {
        {"POST", "/mcp", PAGE("null"), 0},
        {"POST", "/mcp", PAGE("http://evil.example.com"), 403},
    };
    struct front f;

    (void)state;
    front_init(&f);
    f.http.origins = origins;
    front_open(&f);
    CHECK_ALL(&f, rows);
    front_close(&f);
}

/* ---- CORS ---------------------------------------------------------------- */

#define ALLOWED "Access-Control-Allow-Origin: https://app.example\n"

static void
preflight_says_what_a_listed_page_may_do(void **state)
{
    static const char *const origins[] = {"https://App.example:443", NULL};
    static const struct row row = {
        "OPTIONS", "/mcp",
        HOST "Origin: https://app.example\nAccess-Control-Request-Method: POST\n", 204};
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    f.http.origins = origins;
    front_open(&f);
    assert_int_equal(check(&f, &row, 0, &v), 204);
    assert_int_equal(v.len, 0);
    assert_string_equal(v.type, "");
    assert_true(visit_says(&v, ALLOWED));
    assert_true(visit_says(&v, "Access-Control-Allow-Methods: GET, POST, DELETE\n"));
    assert_true(visit_says(&v, "mcp-protocol-version, mcp-session-id"));
    assert_true(visit_says(&v, "last-event-id"));
    assert_true(visit_says(&v, "Access-Control-Max-Age: "));
    assert_true(visit_says(&v, "Vary: Origin\n"));
    visit_done(&v);
    front_close(&f);
}

/* A page of the public network asks for a server of a private one. */
#define PRIVATE "Access-Control-Request-Private-Network: true\n"
#define PREFLIGHT HOST "Access-Control-Request-Method: POST\n"
#define PRIVATE_ALLOWED "Access-Control-Allow-Private-Network: true\n"

static void
preflight_lets_a_listed_page_into_a_private_network(void **state)
{
    static const char *const origins[] = {"https://app.example", NULL};
    static const char listed[] = "Origin: https://app.example\n";
    static const struct {
        const char *headers;
        bool allowed;
    } rows[] = {
        {PREFLIGHT PRIVATE, true},
        {PREFLIGHT "access-control-request-private-network: true\n", true},
        {PREFLIGHT "Access-Control-Request-Private-Network: false\n", false},
        {PREFLIGHT, false},
    };
    char headers[512];
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    f.http.origins = origins;
    front_open(&f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        front_ask(&f, &v, "OPTIONS",
                  front_with(headers, sizeof headers, rows[i].headers, listed), "");
        assert_int_equal(v.status, 204);
        assert_true(visit_says(&v, ALLOWED));
        assert_int_equal(visit_says(&v, PRIVATE_ALLOWED), rows[i].allowed);
        visit_done(&v);
    }
    front_ask(&f, &v, "OPTIONS", PREFLIGHT PRIVATE "Origin: http://localhost:8080\n",
              "");
    assert_int_equal(v.status, 204);
    assert_false(visit_says(&v, "Access-Control"));
    visit_done(&v);
    front_ask(&f, &v, "OPTIONS", PREFLIGHT PRIVATE "Origin: https://evil.example\n",
              "");
    assert_int_equal(v.status, 403);
    assert_false(visit_says(&v, "Access-Control"));
    visit_done(&v);
    front_close(&f);
}

static void
a_coding_that_is_refused_is_answered_with_those_that_are_not(void **state)
{
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_post(&f, &v, PLAIN "Content-Encoding: gzip\n", "{}");
    assert_int_equal(v.status, 415);
    assert_true(visit_says(&v, "Accept-Encoding: identity\n"));
    assert_non_null(strstr(v.text, "Content-Encoding"));
    visit_done(&v);
    front_post(&f, &v, HOST BOTH "Content-Type: application/json; charset=latin1\n",
               "{}");
    assert_int_equal(v.status, 415);
    assert_false(visit_says(&v, "Accept-Encoding"));
    assert_non_null(strstr(v.text, "utf-8"));
    visit_done(&v);
    front_close(&f);
}

static void
every_answer_to_a_listed_page_says_that_it_may_be_read(void **state)
{
    static const char *const origins[] = {"https://app.example", NULL};
    static const char page[] = "Origin: https://app.example\n";
    char headers[512];
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    f.http.origins = origins;
    front_open(&f);
    front_post(&f, &v, front_with(headers, sizeof headers, MODERN_T, page),
               MODERN_CALL("1"));
    assert_int_equal(v.status, 200);
    assert_true(visit_says(&v, ALLOWED));
    assert_true(visit_says(&v, "Access-Control-Expose-Headers: Mcp-Session-Id"));
    assert_true(visit_says(&v, "Vary: Origin\n"));
    visit_done(&v);
    front_post(&f, &v, front_with(headers, sizeof headers, PLAIN, page), "{");
    assert_int_equal(v.status, 400);
    assert_true(visit_says(&v, ALLOWED));
    visit_done(&v);
    front_ask(&f, &v, "PUT", front_with(headers, sizeof headers, PLAIN, page), "{}");
    assert_int_equal(v.status, 405);
    assert_true(visit_says(&v, ALLOWED));
    assert_true(visit_says(&v, "Allow: GET, POST, DELETE\n"));
    visit_done(&v);
    front_close(&f);
}

static void
nobody_else_is_told_that_they_may_read(void **state)
{
    static const char *const origins[] = {"https://app.example", NULL};
    char headers[512];
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    f.http.origins = origins;
    front_open(&f);
    front_post(&f, &v,
               front_with(headers, sizeof headers, MODERN_T,
                          "Origin: http://localhost:8080\n"),
               MODERN_CALL("1"));
    assert_int_equal(v.status, 200);
    assert_false(visit_says(&v, "Access-Control"));
    visit_done(&v);
    front_post(&f, &v,
               front_with(headers, sizeof headers, MODERN_T, "Origin: http://evil\n"),
               MODERN_CALL("1"));
    assert_int_equal(v.status, 403);
    assert_false(visit_says(&v, "Access-Control"));
    visit_done(&v);
    front_close(&f);
}

static void
a_star_lets_every_page_in(void **state)
{
    static const char *const origins[] = {"*", NULL};
    char headers[512];
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    f.http.origins = origins;
    front_open(&f);
    front_post(&f, &v,
               front_with(headers, sizeof headers, MODERN_T, "Origin: http://any\n"),
               MODERN_CALL("1"));
    assert_int_equal(v.status, 200);
    assert_true(visit_says(&v, "Access-Control-Allow-Origin: *\n"));
    visit_done(&v);
    front_close(&f);
}

/* ---- what else a server offers ------------------------------------------- */

static void
methods_are_allowed_where_they_mean_something(void **state)
{
    static const struct {
        bool stateless, json;
        enum mcpi_era era;
        int get, del;
        const char *allow;
    } rows[] = {
        {false, false, MCPI_ERA_BOTH, 0, 0, "Allow: GET, POST, DELETE\n"},
        {false, false, MCPI_ERA_LEGACY, 0, 0, "Allow: GET, POST, DELETE\n"},
        {false, true, MCPI_ERA_BOTH, 405, 0, "Allow: POST, DELETE\n"},
        {true, false, MCPI_ERA_BOTH, 405, 405, "Allow: POST\n"},
        {false, false, MCPI_ERA_MODERN, 405, 405, "Allow: POST\n"},
    };
    static const struct row get = {"GET", "/mcp", HOST BOTH, 0};
    static const struct row del = {"DELETE", "/mcp", HOST, 0};
    static const struct row put = {"PUT", "/mcp", HOST, 405};
    struct front f;
    struct visit v;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        front_init(&f);
        f.era = rows[i].era;
        f.http.stateless = rows[i].stateless;
        f.http.json = rows[i].json;
        front_open(&f);
        assert_int_equal(check(&f, &get, 0, &v), rows[i].get);
        visit_done(&v);
        assert_int_equal(check(&f, &del, 0, &v), rows[i].del);
        visit_done(&v);
        assert_int_equal(check(&f, &put, 0, &v), 405);
        assert_true(visit_says(&v, rows[i].allow));
        visit_done(&v);
        front_close(&f);
    }
}

static void
a_body_that_is_announced_too_long_is_refused(void **state)
{
    static const struct row row = {"POST", "/mcp", PLAIN, 0};
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    f.http.body_bytes = 100;
    front_open(&f);
    assert_int_equal(check(&f, &row, 100, &v), 0);
    visit_done(&v);
    assert_int_equal(check(&f, &row, 101, &v), 413);
    visit_done(&v);
    assert_int_equal(check(&f, &row, UINT64_MAX, &v), 413);
    visit_done(&v);
    front_close(&f);
}

/* ---- refusals ------------------------------------------------------------ */

static bool
begins(const struct mcpi_http_out *out, const char *with)
{
    return out->body_len >= strlen(with) && memcmp(out->body, with, strlen(with)) == 0;
}

static void
a_refusal_is_an_error_with_its_id_and_when_to_come_back(void **state)
{
    const struct mcpi_id id = mcpi_id_string("x", 1);
    struct mcpi_http_out out;
    struct test_mem mem;
    struct mcpi_buf buf;

    (void)state;
    test_mem_init(&mem);
    mcpi_buf_init(&buf, &mem.allocator, 1 << 20);
    mcpi_http_refusal(&out, &buf, 503, &id, -32603, "busy");
    assert_int_equal(out.status, 503);
    assert_string_equal(out.type, "application/json");
    assert_int_equal(out.field_count, 1);
    assert_string_equal(out.fields[0].name, "Retry-After");
    mcpi_buf_char(&buf, '\0');
    assert_string_equal(buf.data, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":"
                                  "{\"code\":-32603,\"message\":\"busy\"}}");
    mcpi_http_refusal(&out, &buf, 404, NULL, -32600, "no");
    assert_int_equal(out.field_count, 0);
    assert_true(begins(&out, "{\"jsonrpc\":\"2.0\",\"error\""));
    mcpi_http_refusal(&out, &buf, 429, NULL, -32603, "no");
    assert_int_equal(out.field_count, 1);
    mcpi_buf_done(&buf);
    test_mem_done(&mem);
}

static void
a_refusal_needs_no_memory(void **state)
{
    static char longest[200000];
    const struct mcpi_id id = mcpi_id_string(longest, sizeof longest);
    struct mcpi_http_out out;
    struct test_mem mem;
    struct mcpi_buf buf;

    (void)state;
    memset(longest, 'a', sizeof longest);
    test_mem_init(&mem);
    mcpi_buf_init(&buf, &mem.allocator, 1 << 20);
    mcpi_http_refusal(&out, &buf, 400, &id, -32600, "no");
    assert_true(out.body_len > sizeof longest);
    mcpi_http_refusal(&out, &buf, 400, NULL, -32600, "no");
    assert_true(buf.cap < 65536); /* it is not kept for ever */
    mem.fail_at = mem.total + 1;
    mem.fail_after = true;
    mcpi_http_refusal(&out, &buf, 400, &id, -32600, "no");
    assert_true(begins(&out, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600"));
    mcpi_buf_done(&buf);
    mcpi_buf_init(&buf, &mem.allocator, 1 << 20);
    mcpi_http_refusal(&out, &buf, 400, NULL, -32600, "no");
    assert_true(begins(&out, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603"));
    mcpi_buf_done(&buf);
    test_mem_done(&mem);
}

/* ---- what everybody may read --------------------------------------------- */

#define NOTICE "/.well-known/some"

static const struct mcpi_http_notice notice = {NOTICE "/mcp", NOTICE, "{\"a\":1}", 7};

static int
notice_ask(struct front *f, const char *method, const char *target, const char *headers,
           struct visit *v)
{
    struct mcpi_http_out out;

    visit_init(v, method, target, headers, NULL);
    if (mcpi_endpoint_check_head(f->endpoint, &v->in, 0, &out))
        return 0;
    visit_head(v, &out);
    return out.status;
}

static void
everybody_may_read_a_notice(void **state)
{
    static const char *const targets[] = {NOTICE "/mcp", NOTICE, NOTICE "?x=1"};
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    f.opt.notice = &notice;
    front_open(&f);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(notice_ask(&f, "GET", targets[i],
                                    HOST "Origin: https://anywhere.example\n", &v),
                         200);
        assert_string_equal(v.text, "{\"a\":1}");
        assert_string_equal(v.type, "application/json");
        assert_true(visit_says(&v, "Access-Control-Allow-Origin: *\n"));
        assert_true(visit_says(&v, "Cache-Control: public, max-age=300\n"));
        visit_done(&v);
    }
    assert_int_equal(notice_ask(&f, "OPTIONS", NOTICE, HOST, &v), 204);
    assert_true(visit_says(&v, "Access-Control-Allow-Origin: *\n"));
    assert_true(visit_says(&v, "Access-Control-Allow-Methods: GET, HEAD, OPTIONS\n"));
    assert_true(
        visit_says(&v, "Access-Control-Allow-Headers: mcp-protocol-version, *\n"));
    assert_false(visit_says(&v, PRIVATE_ALLOWED));
    visit_done(&v);
    assert_int_equal(notice_ask(&f, "OPTIONS", NOTICE, HOST PRIVATE, &v), 204);
    assert_true(visit_says(&v, PRIVATE_ALLOWED));
    visit_done(&v);
    front_close(&f);
}

/* Or a page would take a refusal for a server that is not there. */
static void
everybody_may_read_why_a_notice_is_refused(void **state)
{
    static const struct row rows[] = {
        {"PUT", NOTICE, HOST, 405},
        {"FROB", NOTICE, HOST, 501},
        {"GET", NOTICE, "Host: evil.example\n", 403},
    };
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    f.opt.notice = &notice;
    front_open(&f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(
            notice_ask(&f, rows[i].method, rows[i].target, rows[i].headers, &v),
            rows[i].status);
        assert_true(visit_says(&v, "Access-Control-Allow-Origin: *\n"));
        visit_done(&v);
    }
    front_close(&f);
}

static void
a_notice_is_read_and_nothing_else(void **state)
{
    static const struct row rows[] = {
        {"POST", NOTICE, PLAIN, 405},
        {"GET", NOTICE "/", HOST, 404},
        {"GET", NOTICE "/mcpx", HOST, 404},
        {"GET", NOTICE, "Host: evil.example\n", 403},
        {"GET", NOTICE, HOST HOST, 400},
        {"POST", "/mcp", PLAIN, 0},
    };
    struct front f;

    (void)state;
    front_init(&f);
    f.opt.notice = &notice;
    front_open(&f);
    CHECK_ALL(&f, rows);
    front_close(&f);
}

TEST_MAIN(TEST(heads_are_admitted_or_refused),
          TEST(hosts_of_loopback_are_ours_and_no_others),
          TEST(hosts_elsewhere_are_those_listed),
          TEST(origins_may_call_if_own_or_listed),
          TEST(an_origin_of_nobody_may_call_if_listed),
          TEST(preflight_says_what_a_listed_page_may_do),
          TEST(preflight_lets_a_listed_page_into_a_private_network),
          TEST(a_coding_that_is_refused_is_answered_with_those_that_are_not),
          TEST(every_answer_to_a_listed_page_says_that_it_may_be_read),
          TEST(nobody_else_is_told_that_they_may_read), TEST(a_star_lets_every_page_in),
          TEST(methods_are_allowed_where_they_mean_something),
          TEST(a_body_that_is_announced_too_long_is_refused),
          TEST(a_refusal_is_an_error_with_its_id_and_when_to_come_back),
          TEST(a_refusal_needs_no_memory), TEST(everybody_may_read_a_notice),
          TEST(everybody_may_read_why_a_notice_is_refused),
          TEST(a_notice_is_read_and_nothing_else))
