/* http_settings_test.c - the options of HTTP: read, checked, complete, and kept */
#include "api/http_settings.h"

#include <string.h>

#include "base/mem.h"
#include "support/test.h"

static struct mcpi_http_settings *
settings_of(const mcp_http_options *opt)
{
    struct mcpi_http_settings *settings;
    mcp_error err = {0};

    if (mcpi_http_settings_new(mcpi_mem_or_malloc(NULL), opt, &settings, &err) < 0)
        fail_msg("%s", err.message);
    return settings;
}

static void
defaults_are_complete(void **state)
{
    struct mcpi_http_settings *settings = settings_of(NULL);
    const mcp_http_options *http = &settings->http;

    (void)state;
    assert_int_equal(http->size, sizeof(*http));
    assert_string_equal(http->host, "127.0.0.1");
    assert_string_equal(http->path, "/mcp");
    assert_string_equal(http->message_path, "/message");
    assert_null(http->sse_path);
    assert_null(http->store);
    assert_null(http->hosts);
    assert_null(http->origins);
    assert_null(http->headers);
    assert_int_equal(http->threads, 1);
    assert_int_equal(http->ping_ms, 15000);
    assert_int_equal(http->head_ms, 10000);
    assert_int_equal(http->body_ms, 60000);
    assert_int_equal(http->idle_ms, 75000);
    assert_int_equal(http->write_ms, 30000);
    assert_int_equal(http->session_idle_ms, 1800000);
    assert_int_equal(http->retry_ms, 1000);
    assert_int_equal(http->connections, 16384);
    assert_int_equal(http->sessions, 10000);
    assert_int_equal(http->session_streams, 64);
    assert_int_equal(http->body_bytes, 16 * 1024 * 1024);
    assert_int_equal(http->head_bytes, 32 * 1024);
    mcpi_http_settings_unref(settings);
}

static void
what_is_given_stays(void **state)
{
    struct mcpi_http_settings *settings = settings_of(
        &MCP_HTTP_OPTIONS(.port = 8080, .threads = 4, .ping_ms = -1,
                          .session_idle_ms = -1, .write_ms = 7, .body_bytes = 1));

    (void)state;
    assert_int_equal(settings->http.port, 8080);
    assert_int_equal(settings->http.threads, 4);
    assert_int_equal(settings->http.ping_ms, -1);
    assert_int_equal(settings->http.session_idle_ms, -1);
    assert_int_equal(settings->http.write_ms, 7);
    assert_int_equal(settings->http.body_bytes, 1);
    mcpi_http_settings_unref(settings);
}

static int
no_append(void *self, const char *session, uint64_t stream, uint64_t number,
          const char *data, size_t length)
{
    (void)self, (void)session, (void)stream, (void)number, (void)data, (void)length;
    return 0;
}

static int
no_replay(void *self, const char *session, uint64_t stream, uint64_t after,
          void (*each)(void *user, uint64_t number, const char *data, size_t length),
          void *user)
{
    (void)self, (void)session, (void)stream, (void)after, (void)each, (void)user;
    return 0;
}

static void
no_forget(void *self, const char *session, uint64_t stream)
{
    (void)self, (void)session, (void)stream;
}

/* Nobody computes with what is longer than a life. */
static void
no_time_is_too_long(void **state)
{
    struct mcpi_http_settings *settings = settings_of(
        &MCP_HTTP_OPTIONS(.ping_ms = INT64_MAX, .head_ms = INT64_MAX,
                          .body_ms = INT64_MAX, .idle_ms = INT64_MAX,
                          .write_ms = INT64_MAX, .retry_ms = INT64_MAX,
                          .session_idle_ms = INT64_MAX));
    const mcp_http_options *http = &settings->http;
    const int64_t times[] = {http->ping_ms,        http->head_ms,  http->body_ms,
                             http->idle_ms,        http->write_ms, http->retry_ms,
                             http->session_idle_ms};

    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        assert_true(times[i] > INT64_C(50) * 365 * 24 * 3600 * 1000);
        assert_true(times[i] < INT64_MAX / 2000);
    }
    mcpi_http_settings_unref(settings);
}

/* All that was given may go. */
static void
texts_and_lists_are_copied(void **state)
{
    char texts[9][32] = {"localhost", "/a",      "/b",          "/c",
                         "cert.pem",  "key.pem", "api.example", "https://app.example",
                         "X-Tenant"};
    const char *hosts[] = {texts[6], "other.example", NULL};
    const char *origins[] = {texts[7], NULL};
    const char *headers[] = {texts[8], NULL};
    mcp_event_store store = MCP_EVENT_STORE(.append = no_append, .replay = no_replay,
                                            .forget = no_forget);
    struct mcpi_http_settings *settings = settings_of(
        &MCP_HTTP_OPTIONS(.host = texts[0], .path = texts[1], .sse_path = texts[2],
                          .message_path = texts[3], .tls_certificate = texts[4],
                          .tls_key = texts[5], .hosts = hosts, .origins = origins,
                          .headers = headers, .store = &store));
    const mcp_http_options *http = &settings->http;

    (void)state;
    memset(texts, 'x', sizeof(texts));
    memset(&store, 0, sizeof(store));
    hosts[0] = hosts[1] = origins[0] = headers[0] = NULL;
    assert_string_equal(http->host, "localhost");
    assert_string_equal(http->path, "/a");
    assert_string_equal(http->sse_path, "/b");
    assert_string_equal(http->message_path, "/c");
    assert_string_equal(http->tls_certificate, "cert.pem");
    assert_string_equal(http->tls_key, "key.pem");
    assert_string_equal(http->hosts[0], "api.example");
    assert_string_equal(http->hosts[1], "other.example");
    assert_null(http->hosts[2]);
    assert_string_equal(http->origins[0], "https://app.example");
    assert_null(http->origins[1]);
    assert_string_equal(http->headers[0], "X-Tenant");
    assert_null(http->headers[1]);
    assert_ptr_equal(http->store->append, no_append);
    mcpi_http_settings_unref(settings);
}

/* An empty list is not the same as none. */
static void
an_empty_list_stays_one(void **state)
{
    static const char *const none[] = {NULL};
    struct mcpi_http_settings *settings = settings_of(
        &MCP_HTTP_OPTIONS(.hosts = none, .origins = none));

    (void)state;
    assert_non_null(settings->http.hosts);
    assert_null(settings->http.hosts[0]);
    assert_non_null(settings->http.origins);
    assert_null(settings->http.origins[0]);
    mcpi_http_settings_unref(settings);
}

static void
assert_refused(mcp_http_options opt, const char *member)
{
    struct mcpi_http_settings *settings = NULL;
    mcp_error err = {0};

    assert_int_equal(
        mcpi_http_settings_new(mcpi_mem_or_malloc(NULL), &opt, &settings, &err),
        MCP_E_INVAL);
    assert_null(settings);
    if (!strstr(err.message, member))
        fail_msg("no %s in: %s", member, err.message);
}

static void
what_is_wrong_is_named(void **state)
{
    static const mcp_event_store empty = {.size = sizeof(empty)};
    static const mcp_event_store odd = {.size = 1};
    static const char *const ports[] = {"good.example:80", NULL};
    static const char *const nothing[] = {"good.example", "", NULL};
    static const char *const slashes[] = {"https://app.example/", NULL};
    static const char *const nulls[] = {"null", NULL};
    static const char *const lines[] = {"X-Good", "X-Bad: 1", NULL};
    char long_path[300];

    (void)state;
    memset(long_path, 'a', sizeof(long_path));
    long_path[0] = '/';
    long_path[sizeof(long_path) - 1] = '\0';
    assert_refused((mcp_http_options){.size = 3}, "no options");
    assert_refused(MCP_HTTP_OPTIONS(.host = ""), "host");
    assert_refused(MCP_HTTP_OPTIONS(.host = "a b"), "host");
    assert_refused(MCP_HTTP_OPTIONS(.host = "[::1"), "host");
    assert_refused(MCP_HTTP_OPTIONS(.port = -1), "port");
    assert_refused(MCP_HTTP_OPTIONS(.port = 65536), "port");
    assert_refused(MCP_HTTP_OPTIONS(.path = "mcp"), "path");
    assert_refused(MCP_HTTP_OPTIONS(.path = ""), "path");
    assert_refused(MCP_HTTP_OPTIONS(.path = "/a?b"), "path");
    assert_refused(MCP_HTTP_OPTIONS(.path = "/a b"), "path");
    assert_refused(MCP_HTTP_OPTIONS(.path = long_path), "path");
    assert_refused(MCP_HTTP_OPTIONS(.sse_path = "sse"), "sse_path");
    assert_refused(MCP_HTTP_OPTIONS(.sse_path = "/mcp"), "sse_path");
    assert_refused(MCP_HTTP_OPTIONS(.sse_path = "/message"), "sse_path");
    assert_refused(MCP_HTTP_OPTIONS(.message_path = "x"), "message_path");
    assert_refused(MCP_HTTP_OPTIONS(.threads = 1025), "threads");
    assert_refused(MCP_HTTP_OPTIONS(.tls_certificate = "a"), "tls_key");
    assert_refused(MCP_HTTP_OPTIONS(.tls_key = "a"), "tls_certificate");
    assert_refused(MCP_HTTP_OPTIONS(.ping_ms = -2), "ping_ms");
    assert_refused(MCP_HTTP_OPTIONS(.head_ms = -1), "head_ms");
    assert_refused(MCP_HTTP_OPTIONS(.body_ms = -1), "body_ms");
    assert_refused(MCP_HTTP_OPTIONS(.idle_ms = -1), "idle_ms");
    assert_refused(MCP_HTTP_OPTIONS(.write_ms = -1), "write_ms");
    assert_refused(MCP_HTTP_OPTIONS(.session_idle_ms = -2), "session_idle_ms");
    assert_refused(MCP_HTTP_OPTIONS(.retry_ms = -1), "retry_ms");
    assert_refused(MCP_HTTP_OPTIONS(.store = &empty), "store");
    assert_refused(MCP_HTTP_OPTIONS(.store = &odd), "store");
    assert_refused(MCP_HTTP_OPTIONS(.hosts = ports), "hosts");
    assert_refused(MCP_HTTP_OPTIONS(.hosts = nothing), "hosts");
    assert_refused(MCP_HTTP_OPTIONS(.origins = slashes), "origins");
    assert_refused(MCP_HTTP_OPTIONS(.origins = nulls), "origins");
    assert_refused(MCP_HTTP_OPTIONS(.headers = lines), "headers");
    assert_refused(MCP_HTTP_OPTIONS(.headers = nothing + 1), "headers");
}

static void
settings_flow(struct test_mem *mem, void *user)
{
    static const char *const hosts[] = {"a", "b", NULL};
    struct mcpi_http_settings *settings;

    (void)user;
    if (mcpi_http_settings_new(&mem->allocator, &MCP_HTTP_OPTIONS(.hosts = hosts),
                               &settings, NULL) < 0)
        return;
    mcpi_http_settings_unref(mcpi_http_settings_ref(settings));
    mcpi_http_settings_unref(settings);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    test_each_allocation_fails(settings_flow, NULL);
    mcpi_http_settings_unref(NULL);
}

TEST_MAIN(TEST(defaults_are_complete), TEST(what_is_given_stays),
          TEST(no_time_is_too_long), TEST(texts_and_lists_are_copied),
          TEST(an_empty_list_stays_one), TEST(what_is_wrong_is_named),
          TEST(each_allocation_may_fail))
