/* http_fault_test.c - what HTTP does wrong is said in the error: opening, calls, streams */
#include <mcp/subscription.h>

#include "api/http_reached.h"
#include "support/http_script.h"

#define DISCOVERY                                                          \
    "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"]," \
    "\"capabilities\":{\"tools\":{\"listChanged\":true}},"                 \
    "\"ttlMs\":0,\"cacheScope\":\"private\"}"

/* ---- an opening ------------------------------------------------------------- */

/* It waits, on a thread of its own: the test plays the server. */
struct dialing {
    struct http_script s;
    struct test_mem mem;
    enum mcp_era era;
    mcp_client *client;
    mcp_error err;
    pthread_t thread;
    int r;
};

static void *
dialing_main(void *user)
{
    struct dialing *d = user;

    d->r = mcp_client_connect_http(
        d->s.url, NULL, &REACHED_OPTIONS(.allocator = &d->mem.allocator, .era = d->era),
        &d->client, &d->err);
    return NULL;
}

static void
dialing_begin(struct dialing *d, enum mcp_era era)
{
    memset(d, 0, sizeof(*d));
    d->era = era;
    test_mem_init(&d->mem);
    http_script_open(&d->s, NULL, NULL);
    assert_int_equal(pthread_create(&d->thread, NULL, dialing_main, d), 0);
}

/* How it went: with that status, and these words. */
static void
dialing_fails(struct dialing *d, int status, int http, const char *why)
{
    assert_int_equal(pthread_join(d->thread, NULL), 0);
    assert_int_equal(d->r, status);
    assert_int_equal(d->err.status, status);
    assert_int_equal(d->err.http_status, http);
    if (!strstr(d->err.message, why))
        fail_msg("%s", d->err.message);
    assert_null(strstr(d->err.message, "exited"));
    assert_null(d->client);
    http_script_close(&d->s);
    test_mem_done(&d->mem);
}

/* It says so that it is the last: a client that used the connection again would meet its
 * end. */
static void
answer_and_leave(struct visit *v, const char *status, const char *type,
                 const char *body)
{
    char head[512];

    (void)snprintf(
        head, sizeof(head),
        "HTTP/1.1 %s\r\nConnection: close\r\n%s%s%sContent-Length: %zu\r\n\r\n", status,
        type ? "Content-Type: " : "", type ? type : "", type ? "\r\n" : "",
        strlen(body));
    visit_say(v, head);
    visit_say(v, body);
    visit_close(v);
}

/* The next request, whoever brings it, is of this method, and is answered so. */
static void
serve_once(struct http_script *s, const char *part, const char *status,
           const char *type, const char *body)
{
    struct visit v;

    visit_accept(&v, s);
    visit_read(&v);
    if (!strstr(v.body ? v.body : "", part) && !strstr(v.head, part))
        fail_msg("no %s in %s", part, v.head);
    answer_and_leave(&v, status, type, body);
}

static void
X12_a_status_that_says_nothing_of_the_era_ends_the_opening(void **state)
{
    static const struct {
        const char *line;
        int status;
    } neutral[] = {{"401 Unauthorized", 401},
                   {"403 Forbidden", 403},
                   {"429 Too Many Requests", 429},
                   {"503 Service Unavailable", 503}};
    struct dialing d;
    char why[80];

    (void)state;
    for (size_t i = 0; i < sizeof(neutral) / sizeof(neutral[0]); i++) {
        dialing_begin(&d, MCP_ERA_BOTH);
        serve_once(&d.s, "server/discover", neutral[i].line, "text/html", "<p>No</p>");
        snprintf(why, sizeof(why), "the server answered HTTP %s", neutral[i].line);
        dialing_fails(&d, MCP_E_HTTP, neutral[i].status, why);
    }
}

/* Who may not open the stream of 2024-11-05 hears that, and not of the POST. */
static void
D23_a_stream_that_is_not_for_us_is_said_so(void **state)
{
    static const struct {
        const char *line;
        int status;
    } rows[] = {{"401 Unauthorized", 401}, {"403 Forbidden", 403}};
    struct dialing d;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        dialing_begin(&d, MCP_ERA_LEGACY);
        serve_once(&d.s, "initialize", "405 Method Not Allowed", "text/plain", "no");
        serve_once(&d.s, "GET /mcp", rows[i].line, "text/plain", "no");
        dialing_fails(&d, MCP_E_HTTP, rows[i].status, rows[i].line);
    }
}

static void
X12_pages_for_people_are_no_answer(void **state)
{
    struct dialing d;

    (void)state;
    dialing_begin(&d, MCP_ERA_BOTH);
    serve_once(&d.s, "server/discover", "200 OK", "text/html", "<p>Hello</p>");
    serve_once(&d.s, "initialize", "200 OK", "text/html", "<p>Hello</p>");
    dialing_fails(&d, MCP_E_PROTO, 0, "text/html");
}

/* D23: the last thing that is tried is a stream of 2024. The first refusal counts. */
static void
X12_a_server_that_knows_no_such_path_is_said_so(void **state)
{
    struct dialing d;

    (void)state;
    dialing_begin(&d, MCP_ERA_BOTH);
    serve_once(&d.s, "server/discover", "404 Not Found", "text/plain", "no");
    serve_once(&d.s, "initialize", "404 Not Found", "text/plain", "no");
    serve_once(&d.s, "GET /mcp", "404 Not Found", "text/plain", "no");
    dialing_fails(&d, MCP_E_HTTP, 404, "the server answered HTTP 404 Not Found");
}

static void
a_connection_that_is_lost_is_not_taken_for_a_process(void **state)
{
    struct dialing d;
    struct visit v;

    (void)state;
    dialing_begin(&d, MCP_ERA_MODERN);
    visit_accept(&v, &d.s);
    visit_read(&v);
    visit_reset(&v);
    dialing_fails(&d, MCP_E_CLOSED, 0, "");
}

static void
what_is_no_HTTP_is_said_so(void **state)
{
    struct dialing d;
    struct visit v;

    (void)state;
    dialing_begin(&d, MCP_ERA_MODERN);
    visit_accept(&v, &d.s);
    visit_read(&v);
    visit_say(&v, "220 mail.example ESMTP ready\r\n");
    visit_close(&v);
    dialing_fails(&d, MCP_E_PROTO, 0, "");
}

/* ---- calls ------------------------------------------------------------------ */

struct scripted {
    struct http_script s;
    struct test_mem mem;
    struct told told;
    mcp_client *client;
};

/* It knows the server from an earlier time: nothing is asked before the test does. */
static void
scripted_open(struct scripted *f)
{
    mcp_client_options opt = REACHED_OPTIONS(.discovery = DISCOVERY);
    mcp_error err = {0};

    memset(f, 0, sizeof(*f));
    test_mem_init(&f->mem);
    told_init(&f->told);
    http_script_open(&f->s, NULL, NULL);
    opt.allocator = &f->mem.allocator;
    if (mcp_client_connect_http(f->s.url, NULL, &opt, &f->client, &err) < 0)
        fail_msg("%s", err.message);
}

static void
scripted_close(struct scripted *f)
{
    mcp_client_free(f->client);
    http_script_close(&f->s);
    told_clear(&f->told);
    test_mem_done(&f->mem);
}

static mcp_call *
scripted_call(struct scripted *f)
{
    mcp_call *call;

    assert_int_equal(
        mcp_client_start(f->client, "x/any", NULL, NULL, told_done, &f->told, &call),
        0);
    return call;
}

/* It ends so; what mcp_call_wait says is what mcp_call_error says, if that says it. */
static void
call_fails(mcp_call *call, int status, int http, const char *why)
{
    const mcp_error *error;
    mcp_error err = {0};

    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, &err), status);
    assert_int_equal(err.status, status);
    assert_int_equal(err.http_status, http);
    assert_int_equal(err.rpc_code, 0);
    assert_int_equal(strncmp(err.message, "x/any: ", 7), 0);
    if (!strstr(err.message, why))
        fail_msg("%s", err.message);
    error = mcp_call_error(call);
    assert_int_equal(error != NULL, status == MCP_E_HTTP);
    if (error)
        assert_string_equal(error->message, err.message);
    assert_null(mcp_call_error_data(call));
    mcp_call_free(call);
}

static void
a_call_says_what_HTTP_answered(void **state)
{
    struct scripted f;
    mcp_call *call;

    (void)state;
    scripted_open(&f);
    call = scripted_call(&f);
    serve_once(&f.s, "x/any", "503 Service Unavailable", "text/html", "<p>Later</p>");
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), MCP_E_HTTP);
    call_fails(call, MCP_E_HTTP, 503,
               "the server answered HTTP 503 Service Unavailable");
    call = scripted_call(&f);
    serve_once(&f.s, "x/any", "418 I'm a teapot", NULL, "");
    call_fails(call, MCP_E_HTTP, 418, "the server answered HTTP 418");
    call = scripted_call(&f);
    serve_once(&f.s, "x/any", "200 OK", "text/html", "<p>Hello</p>");
    call_fails(call, MCP_E_PROTO, 0, "text/html");
    call = scripted_call(&f);
    serve_once(&f.s, "x/any", "202 Accepted", NULL, "");
    call_fails(call, MCP_E_PROTO, 0, "");
    call = scripted_call(&f); /* the client is none the worse for it */
    serve_once(
        &f.s, "x/any", "200 OK", "application/json",
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"resultType\":\"complete\"}}");
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), 0);
    mcp_call_free(call);
    scripted_close(&f);
}

static void
a_call_says_how_its_connection_was_lost(void **state)
{
    struct scripted f;
    mcp_call *call;
    struct visit v;

    (void)state;
    scripted_open(&f);
    call = scripted_call(&f);
    visit_accept(&v, &f.s);
    visit_read(&v);
    visit_reset(&v);
    call_fails(call, MCP_E_CLOSED, 0, "");
    call = scripted_call(&f);
    visit_accept(&v, &f.s);
    visit_read(&v);
    visit_begin_chunks(&v, "200 OK", "text/event-stream");
    visit_chunk(&v, ": on the way\n\n");
    visit_chunk(&v, "");
    visit_close(&v);
    call_fails(call, MCP_E_CLOSED, 0, "the stream ended without an answer");
    http_script_close(&f.s);
    f.s.fd = -1;
    call = scripted_call(&f);
    call_fails(call, MCP_E_SEND_FAILED, 0, "127.0.0.1");
    scripted_close(&f);
}

static void
a_call_says_how_its_stream_was_broken(void **state)
{
    struct scripted f;
    mcp_call *call;
    struct visit v;

    (void)state;
    scripted_open(&f);
    assert_int_equal(mcp_client_start(f.client, "x/any", NULL,
                                      &MCP_CALL_OPTIONS(.on_progress = told_progress,
                                                        .user = &f.told),
                                      told_done, &f.told, &call),
                     0);
    visit_accept(&v, &f.s);
    visit_read(&v);
    visit_begin_chunks(&v, "200 OK", "text/event-stream");
    visit_chunk(&v, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                    "\"params\":{\"progressToken\":1,\"progress\":1}}\n\n");
    told_await(&f.told, steps, 1); /* so much was read of it */
    visit_reset(&v);
    call_fails(call, MCP_E_CLOSED, 0, "Connection reset by peer");
    scripted_close(&f);
}

static void
a_subscription_says_what_HTTP_answered(void **state)
{
    mcp_subscription *s = NULL;
    struct scripted f;
    mcp_notice event;
    mcp_error err = {0};

    (void)state;
    scripted_open(&f);
    assert_int_equal(mcp_client_subscribe(
                         f.client,
                         &MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED, .no_wait = true),
                         &s, NULL),
                     0);
    serve_once(&f.s, "subscriptions/listen", "503 Service Unavailable", "text/plain",
               "");
    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &event), MCP_E_CLOSED);
    assert_int_equal(mcp_subscription_how(s), MCP_SUBSCRIPTION_LOST);
    assert_int_equal(mcp_subscription_status(s, &err), MCP_E_HTTP);
    assert_int_equal(err.http_status, 503);
    assert_string_equal(err.message,
                        "the subscription is lost: the server answered HTTP 503 "
                        "Service Unavailable");
    mcp_subscription_free(s);
    scripted_close(&f);
}

/* A discovery from an earlier time may be wrong by now. */
static void
a_server_that_has_become_legacy_is_spoken_to_as_one(void **state)
{
    const mcp_json *former;
    struct scripted f;
    mcp_call *call;

    (void)state;
    scripted_open(&f);
    former = mcp_client_server_capabilities(f.client);
    assert_string_equal(mcp_client_version(f.client), "2026-07-28");
    assert_non_null(mcp_client_discovery(f.client));
    call = scripted_call(&f);
    serve_once(&f.s, "x/any", "400 Bad Request", "application/json",
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":"
               "\"no\",\"data\":{\"supported\":[\"2025-11-25\"],"
               "\"requested\":\"2026-07-28\"}}}");
    serve_once(&f.s, "initialize", "200 OK", "application/json",
               "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":"
               "\"2025-11-25\",\"capabilities\":{\"prompts\":{}},\"serverInfo\":{"
               "\"name\":\"old\",\"version\":\"1\"}}}");
    for (int i = 0; i < 3; i++) { /* initialized, the stream, the call: in any order */
        struct visit v;

        visit_accept(&v, &f.s);
        visit_read(&v);
        if (visit_asks(&v, "GET /mcp"))
            answer_and_leave(&v, "405 Method Not Allowed", NULL, "");
        else if (strstr(v.body, "initialized"))
            answer_and_leave(&v, "202 Accepted", NULL, "");
        else
            answer_and_leave(&v, "200 OK", "application/json",
                             "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    }
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), 0);
    assert_string_equal(mcp_client_version(f.client), "2025-11-25");
    assert_null(mcp_client_discovery(f.client));
    assert_non_null(mcp_json_get(mcp_client_server_capabilities(f.client), "prompts"));
    assert_non_null(mcp_json_get(former, "tools")); /* borrowed until the end */
    mcp_call_free(call);
    scripted_close(&f);
}

TEST_MAIN(TEST(X12_a_status_that_says_nothing_of_the_era_ends_the_opening),
          TEST(D23_a_stream_that_is_not_for_us_is_said_so),
          TEST(X12_pages_for_people_are_no_answer),
          TEST(X12_a_server_that_knows_no_such_path_is_said_so),
          TEST(a_connection_that_is_lost_is_not_taken_for_a_process),
          TEST(what_is_no_HTTP_is_said_so), TEST(a_call_says_what_HTTP_answered),
          TEST(a_call_says_how_its_connection_was_lost),
          TEST(a_call_says_how_its_stream_was_broken),
          TEST(a_subscription_says_what_HTTP_answered),
          TEST(a_server_that_has_become_legacy_is_spoken_to_as_one))
