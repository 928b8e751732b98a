/* http_server_test.c - a server listens on a port: where, and for whom */
#include "api/http_served.h"
#include "support/tls_pair.h"

/* ---- where -------------------------------------------------------------- */

static void
the_url_says_where(void **state)
{
    char url[MCP_HTTP_URL_MAX], expected[MCP_HTTP_URL_MAX];
    struct raw raw;
    int port;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_server_listen_http(raw.server, NULL, url, NULL), 0);
    port = (int)strtol(strrchr(url, ':') + 1, NULL, 10);
    assert_true(port > 0);
    snprintf(expected, sizeof(expected), "http://127.0.0.1:%d/mcp", port);
    assert_string_equal(url, expected);
    assert_int_equal(
        mcp_server_listen_http(raw.server,
                               &MCP_HTTP_OPTIONS(.host = "localhost", .path = "/a/b"),
                               url, NULL),
        0);
    assert_int_equal(strncmp(url, "http://localhost:", 17), 0);
    assert_string_equal(strchr(url + 17, '/'), "/a/b");
    assert_int_equal(mcp_server_listen_http(raw.server, NULL, NULL, NULL), 0);
    raw_done(&raw);
}

static void
an_address_of_IPv6_has_brackets(void **state)
{
    static const char *const hosts[] = {"::1", "[::1]"};
    char url[MCP_HTTP_URL_MAX];
    mcp_error err;
    struct raw raw;
    int r;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    for (int i = 0; i < 2; i++) {
        r = mcp_server_listen_http(raw.server, &MCP_HTTP_OPTIONS(.host = hosts[i]), url,
                                   &err);
        if (r < 0 && i == 0) {
            raw_done(&raw);
            test_skip("no IPv6 here");
            return;
        }
        assert_int_equal(r, 0);
        assert_int_equal(strncmp(url, "http://[::1]:", 13), 0);
    }
    raw_done(&raw);
}

static void
what_is_wrong_is_said_at_once(void **state)
{
    mcp_error err = {0};
    struct raw raw;
    int port;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_server_listen_http(NULL, NULL, NULL, &err), MCP_E_INVAL);
    assert_int_equal(
        mcp_server_listen_http(raw.server, &MCP_HTTP_OPTIONS(.port = -3), NULL, &err),
        MCP_E_INVAL);
    assert_non_null(strstr(err.message, "port"));
    port = served_listen(&raw, MCP_HTTP_OPTIONS(.port = 0));
    assert_int_equal(
        mcp_server_listen_http(raw.server, &MCP_HTTP_OPTIONS(.port = port), NULL, &err),
        MCP_E_INVAL);
    assert_true(err.message[0] != '\0');
    assert_int_equal(mcp_server_listen_http(raw.server,
                                            &MCP_HTTP_OPTIONS(.host = "192.0.2.1"),
                                            NULL, &err),
                     MCP_E_INVAL);
    assert_int_equal(
        mcp_server_listen_http(
            raw.server,
            &MCP_HTTP_OPTIONS(.tls_certificate = "/no/such", .tls_key = "/no/such"),
            NULL, &err),
        MCP_E_INVAL);
    assert_non_null(strstr(err.message, "/no/such"));
    port = served_listen(&raw, MCP_HTTP_OPTIONS(.threads = 2));
    assert_int_equal(
        mcp_server_listen_http(
            raw.server, &MCP_HTTP_OPTIONS(.port = port, .threads = 2), NULL, &err),
        MCP_E_INVAL); /* nobody joins who shares it with itself */
    mcp_server_stop(raw.server);
    assert_int_equal(mcp_server_listen_http(raw.server, NULL, NULL, &err),
                     MCP_E_CLOSED);
    raw_done(&raw);
}

/* ---- serving ------------------------------------------------------------ */

static void
both_eras_are_served_on_one_port(void **state)
{
    struct http_raw h;
    struct raw raw;
    char *session;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                        MCP_HTTP_OPTIONS(.port = 0));
    http_open(&h, port, NULL);
    served_says(&h, MCP_ERA_MODERN, NULL);
    session = http_hello(&h);
    assert_non_null(session);
    served_says(&h, MCP_ERA_LEGACY, session);
    served_says(&h, MCP_ERA_MODERN, NULL);
    assert_int_equal(raw_counts(&raw).connections, 1);
    assert_int_equal(raw_counts(&raw).sessions, 1);
    http_ask(&h, "DELETE", session);
    assert_int_equal(http_answer(&h), 200);
    RAW_UNTIL(raw_counts(&raw).sessions == 0);
    http_close(&h);
    RAW_UNTIL(raw_counts(&raw).connections == 0);
    free(session);
    raw_done(&raw);
}

/* So many that the kernel gives some to each loop. */
static void
check_nobody_is_served_before_it_runs(unsigned threads)
{
    const struct timespec little = {.tv_nsec = 50000000}; /* time to do it wrong */
    struct http_raw h[16];
    struct raw raw;
    int port;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "say", .reply = served_say));
    port = served_listen(&raw, MCP_HTTP_OPTIONS(.threads = threads));
    for (int i = 0; i < 16; i++) {
        http_open(&h[i], port, NULL);
        http_call(&h[i], &HTTP_CALL(.tool = "say"));
    }
    (void)nanosleep(&little, NULL);
    assert_int_equal(raw_counts(&raw).requests, 0);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(http_answer(&h[i]), 200);
        http_close(&h[i]);
    }
    raw_done(&raw);
}

static void
who_comes_before_it_runs_is_answered_then(void **state)
{
    (void)state;
    check_nobody_is_served_before_it_runs(1);
    check_nobody_is_served_before_it_runs(4);
}

static void
several_ports_lead_to_one_server(void **state)
{
    struct http_raw h;
    struct raw raw;
    int ports[2];

    (void)state;
    ports[0] = served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                            MCP_HTTP_OPTIONS(.port = 0));
    ports[1] = served_listen(&raw, MCP_HTTP_OPTIONS(.threads = 2));
    for (int i = 0; i < 2; i++) {
        http_open(&h, ports[i], NULL);
        served_says(&h, MCP_ERA_MODERN, NULL);
        http_close(&h);
    }
    assert_int_equal(raw_counts(&raw).answered, 2);
    raw_done(&raw);
    assert_true(served_is_refused(ports[0]));
    assert_true(served_is_refused(ports[1]));
}

static void
a_certificate_makes_it_https(void **state)
{
    char url[MCP_HTTP_URL_MAX];
    struct tls_pair pair;
    SSL_CTX *context;
    struct http_raw h;
    struct raw raw;

    (void)state;
    tls_pair_make(&pair);
    context = tls_pair_client(&pair);
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "say", .reply = served_say));
    assert_int_equal(
        mcp_server_listen_http(
            raw.server,
            &MCP_HTTP_OPTIONS(.tls_certificate = pair.certificate, .tls_key = pair.key),
            url, NULL),
        0);
    assert_int_equal(strncmp(url, "https://127.0.0.1:", 18), 0);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    http_open(&h, (int)strtol(url + 18, NULL, 10), context);
    served_says(&h, MCP_ERA_MODERN, NULL);
    http_close(&h);
    raw_done(&raw);
    SSL_CTX_free(context);
    tls_pair_remove(&pair);
}

static void
allow_as_header(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    const char *who = mcp_http_header(request, "X-Who");

    (void)user;
    if (who)
        mcp_http_allow(ticket, who);
    else
        mcp_http_deny(ticket, 401, "Bearer", NULL);
}

static void
handlers_see_who_asks(void **state)
{
    struct http_raw h;
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                        MCP_HTTP_OPTIONS(.identify = allow_as_header));
    http_open(&h, port, NULL);
    http_post(
        &h,
        &HTTP_POST(.method = "tools/call", .name = "say", .fields = "X-Who: alice\r\n",
                   .body = REQUEST("1", "tools/call", "{\"name\":\"say\"," STAMP "}")));
    assert_int_equal(http_answer(&h), 200);
    assert_non_null(strstr(h.body, "said to <alice>"));
    http_call(&h, &HTTP_CALL(.tool = "say"));
    assert_int_equal(http_answer(&h), 401);
    http_close(&h);
    raw_done(&raw);
}

static int
say_headers(mcp_request *req, mcp_result *out, void *user)
{
    const char *tenant = mcp_request_header(req, "x-tenant");

    (void)user;
    return mcp_result_textf(out, "<%s> <%s>", tenant ? tenant : "none",
                            mcp_request_header(req, "X-Secret") ? "too much" : "kept");
}

static void
handlers_read_the_headers_that_are_kept(void **state)
{
    static const char *const kept[] = {"X-Other", "X-Tenant", NULL};
    static const char fields[] = "x-secret: s\r\nX-TENANT: blue\r\nX-Tenant: red\r\n";
    struct http_raw h;
    struct raw raw;
    char *session;

    (void)state;
    http_open(&h,
              served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                           MCP_HTTP_OPTIONS(.headers = kept, .threads = 2)),
              NULL);
    raw_tool(&raw, MCP_TOOL(.name = "read", .run = say_headers));
    session = http_hello(&h);
    for (int i = 0; i < 2; i++) {
        http_post(&h, &HTTP_POST(.method = "tools/call", .name = "read",
                                 .fields = i == 0 ? fields : NULL,
                                 .body = REQUEST("1", "tools/call",
                                                 "{\"name\":\"read\"," STAMP "}")));
        assert_int_equal(http_answer(&h), 200);
        assert_non_null(strstr(h.body, i == 0 ? "<blue> <kept>" : "<none> <kept>"));
        http_post(
            &h, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = session,
                           .fields = i == 0 ? fields : NULL,
                           .body = REQUEST("1", "tools/call", "{\"name\":\"read\"}")));
        assert_int_equal(http_answer(&h), 200);
        assert_non_null(strstr(h.body, i == 0 ? "<blue> <kept>" : "<none> <kept>"));
    }
    http_close(&h);
    free(session);
    raw_done(&raw);
}

static void
handlers_read_the_headers_of_who_has_no_session(void **state)
{
    static const char *const kept[] = {"X-Tenant", NULL};
    struct http_raw h;
    struct raw raw;

    (void)state;
    http_open(&h,
              served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                           MCP_HTTP_OPTIONS(.headers = kept, .stateless = true)),
              NULL);
    raw_tool(&raw, MCP_TOOL(.name = "read", .run = say_headers));
    http_post(&h,
              &HTTP_POST(.era = MCP_ERA_LEGACY, .fields = "X-Tenant: blue\r\n",
                         .body = REQUEST("1", "tools/call", "{\"name\":\"read\"}")));
    assert_int_equal(http_answer(&h), 200);
    assert_non_null(strstr(h.body, "<blue> <kept>"));
    http_close(&h);
    raw_done(&raw);
}

/* Sessions as the program hears of them, on the loop. */
struct heard {
    atomic_int begun, ended;
    char begin[64], end[64];
};

static void
on_session(void *user, const char *session, bool begun)
{
    struct heard *heard = user;

    (void)snprintf(begun ? heard->begin : heard->end, 64, "%s", session);
    atomic_fetch_add(begun ? &heard->begun : &heard->ended, 1);
}

static int
say_session(mcp_request *req, mcp_result *out, void *user)
{
    const char *session = mcp_request_header(req, "Mcp-Session-Id");

    (void)user;
    return mcp_result_text(out, session ? session : "none");
}

/* Another limit than that of messages: what the head may hold may be kept. */
static void
a_header_that_is_kept_may_be_longer_than_a_message(void **state)
{
    static const char *const kept[] = {"X-Tenant", NULL};
    char fields[20000];
    struct http_raw h;
    struct raw raw;

    (void)state;
    memset(fields, 'x', sizeof(fields));
    memcpy(fields, "X-Tenant: ", 10);
    memcpy(fields + sizeof(fields) - 3, "\r\n", 3);
    http_open(&h,
              served_start(&raw, MCP_SERVER_OPTIONS(.message_bytes = 1024),
                           MCP_HTTP_OPTIONS(.headers = kept)),
              NULL);
    raw_tool(&raw, MCP_TOOL(.name = "session", .reply = say_session));
    http_post(&h,
              &HTTP_POST(.method = "tools/call", .name = "session", .fields = fields,
                         .body = REQUEST("1", "tools/call",
                                         "{\"name\":\"session\"," STAMP "}")));
    assert_int_equal(http_answer(&h), 200);
    http_close(&h);
    raw_done(&raw);
}

static void
the_program_hears_of_sessions(void **state)
{
    static const char *const kept[] = {"Mcp-Session-Id", NULL};
    struct heard heard = {0};
    char *session, *second;
    struct http_raw h;
    struct raw raw;

    (void)state;
    http_open(&h,
              served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                           MCP_HTTP_OPTIONS(.on_session = on_session, .headers = kept,
                                            .session_user = &heard)),
              NULL);
    raw_tool(&raw, MCP_TOOL(.name = "session", .reply = say_session));
    http_post(&h, &HTTP_POST(.era = MCP_ERA_LEGACY,
                             .body = REQUEST("1", "initialize", "{}"))); /* refused */
    (void)http_answer(&h);
    served_says(&h, MCP_ERA_MODERN, NULL);
    assert_int_equal(atomic_load(&heard.begun), 0);
    session = http_hello(&h);
    assert_int_equal(atomic_load(&heard.begun), 1);
    assert_string_equal(heard.begin, session);
    http_call(&h,
              &HTTP_CALL(.era = MCP_ERA_LEGACY, .session = session, .tool = "session"));
    assert_int_equal(http_answer(&h), 200);
    assert_non_null(strstr(h.body, session));
    assert_int_equal(atomic_load(&heard.ended), 0);
    http_ask(&h, "DELETE", session);
    assert_int_equal(http_answer(&h), 200);
    RAW_UNTIL(atomic_load(&heard.ended) == 1);
    assert_string_equal(heard.end, session);
    second = http_hello(&h);
    http_close(&h);
    raw_done(&raw); /* a stop ends it too */
    assert_int_equal(atomic_load(&heard.begun), 2);
    assert_int_equal(atomic_load(&heard.ended), 2);
    assert_string_equal(heard.end, second);
    free(session);
    free(second);
}

#define HEAD(more)                                   \
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n" more \
    "Accept: application/json, text/event-stream\r\n"

/* Somebody who wonders why a client is turned away can look there. */
static void
what_is_refused_is_said_in_the_log(void **state)
{
    static const struct {
        const char *text, *line;
    } rows[] = {
        {"PUT /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "http: 405 to 127.0.0.1"},
        {"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "http: 404 to 127.0.0.1"},
        {"GET /mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n", "http: 403 to 127.0.0.1"},
        {"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/html\r\n\r\n",
         "http: 406 to 127.0.0.1"},
        {HEAD("Content-Type: text/plain\r\n") "Content-Length: 0\r\n\r\n",
         "http: 415 to 127.0.0.1"},
        {HEAD("Content-Type: application/json\r\n") "Content-Length: 1\r\n\r\n{",
         "http: 400 to a client: Parse error"},
        {"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nMCP-Protocol-Version: 1\r\n\r\n",
         "http: 400 to 127.0.0.1: Unsupported"},
        {"DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "Mcp-Session-Id"},
        {"nonsense\r\n\r\n", "http: 400 to 127.0.0.1"},
    };
    struct http_raw h;
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.log_level = MCP_LOG_DEBUG),
                        MCP_HTTP_OPTIONS(.port = 0));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pthread_mutex_lock(&raw_log_lock);
        raw.log[0] = '\0';
        pthread_mutex_unlock(&raw_log_lock);
        http_open(&h, port, NULL);
        http_say(&h, rows[i].text);
        assert_in_range(http_answer(&h), 400, 499);
        if (!raw_logged(&raw, rows[i].line))
            fail_msg("%s is not in %s", rows[i].line, raw.log);
        http_close(&h);
    }
    raw_done(&raw);
}

static void
E18_a_client_that_leaves_cancels_its_request_and_no_other(void **state)
{
    struct gate gate = {0};
    struct http_raw h[2];
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                        MCP_HTTP_OPTIONS(.threads = 2));
    raw_tool(&raw, MCP_TOOL(.name = "hang", .run = served_sleep, .user = &gate));
    for (int i = 0; i < 2; i++) {
        http_open(&h[i], port, NULL);
        http_call(&h[i], &HTTP_CALL(.tool = "hang"));
    }
    RAW_UNTIL(atomic_load(&gate.entered) == 2);
    http_close(&h[0]);
    RAW_UNTIL(atomic_load(&gate.left) == 1);
    RAW_UNTIL(raw_counts(&raw).canceled_by_peer == 1);
    assert_int_equal(raw_counts(&raw).live_handlers, 1);
    http_close(&h[1]);
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    raw_done(&raw);
}

/* ---- a client that goes and comes back ------------------------------------ */

struct pause {
    struct gate gate;
    int status;
};

/* On a worker, so it is the loop that lets the client go. */
static int
detach_and_wait(mcp_request *req, mcp_result *out, void *user)
{
    struct pause *pause = user;

    (void)mcp_request_progress(req, 1, 2, NULL);
    pause->status = mcp_request_detach(req);
    gate_pass(&pause->gate);
    return mcp_result_text(out, "at last");
}

static void
a_handler_lets_its_client_go_and_come_back(void **state)
{
    struct pause pause = {.status = 1};
    char id[HTTP_ID_ROOM], text[512];
    mcp_memory_store *store;
    struct http_raw h;
    struct raw raw;
    char *session;
    int port;

    (void)state;
    assert_int_equal(mcp_memory_store_new(NULL, 0, &store), 0);
    port = served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                        MCP_HTTP_OPTIONS(.store = mcp_memory_store_interface(store)));
    raw_tool(&raw, MCP_TOOL(.name = "wait", .run = detach_and_wait, .user = &pause));
    http_open(&h, port, NULL);
    session = http_hello(&h);
    http_call(&h, &HTTP_CALL(.era = MCP_ERA_LEGACY, .session = session, .tool = "wait",
                             .progress = true));
    assert_int_equal(http_head(&h), 200);
    do
        assert_non_null(http_event(&h, id)); /* what was said before has come */
    while (!strstr(h.event, "progress"));
    while (http_event(&h, NULL))
        continue; /* retry */
    assert_true(h.is_over);
    RAW_UNTIL(atomic_load(&pause.gate.entered) == 1);
    assert_int_equal(pause.status, 0);
    assert_int_equal(raw_counts(&raw).live_handlers, 1); /* it goes on */
    atomic_store(&pause.gate.open, true);
    snprintf(text, sizeof(text),
             "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n"
             "Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-11-25\r\n"
             "Last-Event-ID: %s\r\n\r\n",
             session, id);
    http_say(&h, text);
    assert_int_equal(http_head(&h), 200);
    assert_non_null(strstr(http_event(&h, NULL), "at last"));
    http_close(&h);
    free(session);
    raw_done(&raw);
    mcp_memory_store_free(store);
}

/* ---- what can go wrong -------------------------------------------------- */

static void
listen_flow(struct test_mem *mem, void *user)
{
    struct http_raw h;
    char url[MCP_HTTP_URL_MAX];
    struct raw raw;
    int port;

    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    if (mcp_server_add_tool(raw.server, &MCP_TOOL(.name = "say", .reply = served_say),
                            NULL) == 0 &&
        mcp_server_listen_http(raw.server, user, url, NULL) == 0 &&
        mcp_server_start(raw.server, NULL) == 0) {
        port = (int)strtol(strrchr(url, ':') + 1, NULL, 10);
        if (http_try_open(&h, port, NULL)) {
            char *text = http_call_text(&HTTP_CALL(.tool = "say"));

            if (http_push(&h, text, strlen(text)))
                (void)http_head(&h); /* 200, 500, 503, or the end */
            free(text);
        }
        http_close(&h);
    }
    mcp_server_free(raw.server);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    test_each_allocation_fails(listen_flow, &MCP_HTTP_OPTIONS(.port = 0));
    test_each_allocation_fails(listen_flow, &MCP_HTTP_OPTIONS(.threads = 2));
}

TEST_MAIN(TEST(the_url_says_where), TEST(an_address_of_IPv6_has_brackets),
          TEST(what_is_wrong_is_said_at_once), TEST(both_eras_are_served_on_one_port),
          TEST(who_comes_before_it_runs_is_answered_then),
          TEST(several_ports_lead_to_one_server), TEST(a_certificate_makes_it_https),
          TEST(handlers_see_who_asks), TEST(handlers_read_the_headers_that_are_kept),
          TEST(handlers_read_the_headers_of_who_has_no_session),
          TEST(a_header_that_is_kept_may_be_longer_than_a_message),
          TEST(the_program_hears_of_sessions), TEST(what_is_refused_is_said_in_the_log),
          TEST(E18_a_client_that_leaves_cancels_its_request_and_no_other),
          TEST(a_handler_lets_its_client_go_and_come_back),
          TEST(each_allocation_may_fail))
