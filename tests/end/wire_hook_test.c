/*
 * wire_hook_test.c - what a program sees of its client's wire when it cancels a call
 *
 * On a pipe, and over HTTP before 2026-07-28, a cancel is a message. Over HTTP of
 * 2026-07-28 there is none: the response is closed, and that is what is shown.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end/http_probe.h"

#include <mcp/http.h>

#define FRAME \
    "> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
#define FRAME_OF_77 FRAME "\"requestId\":77,\"reason\":\"enough\"}}\n"
#define CLOSED_77 "= closed the response to request 77\n"

struct watched {
    struct http_probe server; /* over HTTP */
    mcp_client *client;
    pthread_mutex_t lock; /* guards the text */
    char *text;           /* lines: a mark, what was shown; as long as it gets */
    size_t length;
};

static void
on_wire(mcp_client *client, enum mcp_wire what, const char *text, size_t length,
        void *user)
{
    struct watched *w = user;
    size_t more = length + sizeof("> \n");

    (void)client;
    pthread_mutex_lock(&w->lock);
    w->text = realloc(w->text, w->length + more);
    assert_non_null(w->text);
    w->length += (size_t)snprintf(w->text + w->length, more, "%c %.*s\n", " ><="[what],
                                  (int)length, text);
    pthread_mutex_unlock(&w->lock);
}

/* How many lines begin so; of what is whole. */
static size_t
seen(struct watched *w, const char *line)
{
    const char *at;
    size_t n = 0;

    pthread_mutex_lock(&w->lock);
    for (at = w->text; *at; at = strchr(at, '\n') + 1)
        n += strncmp(at, line, strlen(line)) == 0;
    pthread_mutex_unlock(&w->lock);
    return n;
}

static void
expect_seen(struct watched *w, const char *line, size_t times)
{
    size_t n = seen(w, line);

    if (n != times)
        fail_msg("%zu times, not %zu: %s", n, times, line);
}

/* Where the first one stands, for what must be in order. */
static size_t
place(struct watched *w, const char *line)
{
    const char *found;
    size_t at = 0;

    pthread_mutex_lock(&w->lock);
    found = strstr(w->text, line);
    if (found)
        at = (size_t)(found - w->text);
    pthread_mutex_unlock(&w->lock);
    if (!found)
        fail_msg("not there: %s", line);
    return at;
}

struct awaited {
    struct watched *w;
    const char *line;
};

static bool
is_seen(void *user)
{
    const struct awaited *awaited = user;

    return seen(awaited->w, awaited->line) > 0;
}

static void
await_seen(struct watched *w, const char *line)
{
    struct awaited awaited = {w, line};

    wait_until(is_seen, &awaited);
}

/* ---- opening ------------------------------------------------------------- */

static struct watched *
watched_new(void)
{
    struct watched *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    w->text = calloc(1, 1);
    assert_non_null(w->text);
    assert_int_equal(pthread_mutex_init(&w->lock, NULL), 0);
    return w;
}

static mcp_client_options
options(struct watched *w, enum mcp_era era)
{
    return MCP_CLIENT_OPTIONS(.name = "watcher", .version = "1", .era = era,
                              .on_wire = on_wire, .user = w);
}

static struct watched *
watch_stdio(enum mcp_era era)
{
    static const char *const command[] = {PROBE_SERVER, NULL};
    struct watched *w = watched_new();
    mcp_client_options opt = options(w, era);
    mcp_error err = {0};

    if (mcp_client_spawn(command, &opt, &w->client, &err) < 0)
        fail_msg("%s", err.message);
    return w;
}

static struct watched *
watch_http(const struct http_way *way, const char *path)
{
    struct watched *w = watched_new();
    mcp_client_options opt = options(w, way->era);
    struct http_way quiet = *way;
    mcp_error err = {0};
    char url[128];

    quiet.silent = true;
    http_probe_start(&w->server, &quiet);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/%s?key=secret",
                   w->server.port, path);
    if (mcp_client_connect_http(
            url,
            &MCP_HTTP_CLIENT_OPTIONS(
                    .grace_ms = 20000,
                    .headers = (const char *const[]){"Authorization: Bearer secret",
                                                     NULL}),
            &opt, &w->client, &err) < 0)
        fail_msg("%s", err.message);
    return w;
}

static void
watched_free(struct watched *w)
{
    mcp_client_free(w->client);
    expect_seen(w, "= the connection is closed\n", 1); /* before it has returned */
    assert_null(strstr(w->text, "secret"));
    pthread_mutex_destroy(&w->lock);
    if (w->server.port)
        http_probe_stop(&w->server);
    free(w->text);
    free(w);
}

/* ---- what it does -------------------------------------------------------- */

static bool
has_begun(void *user)
{
    struct probe p = {.client = user};

    return probe_stats(&p).live_handlers == 1;
}

static bool
is_calm(void *user)
{
    struct probe p = {.client = user};

    return probe_stats(&p).live_handlers == 0;
}

/* A call that hangs at the server is canceled, and the server has heard of it. */
static void
cancel_one(struct watched *w)
{
    mcp_call *call;

    assert_int_equal(mcp_client_start_tool(w->client, "hang", "{\"seconds\":600}",
                                           &MCP_CALL_OPTIONS(.id = MCP_NUMBER_ID(77)),
                                           NULL, NULL, &call),
                     0);
    wait_until(has_begun, w->client);
    assert_int_equal(mcp_call_cancel(call, "enough"), 0);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    assert_int_equal(mcp_call_flush(call, AWAIT_MS), 0);
    wait_until(is_calm, w->client);
    mcp_call_free(call);
    expect_seen(w, "> {\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"tools/call\"", 1);
}

static enum mcp_era eras[] = {MCP_ERA_MODERN, MCP_ERA_LEGACY};

static void
on_a_pipe_a_cancel_is_a_message(void **state)
{
    struct watched *w = watch_stdio(*(enum mcp_era *)*state);
    char started[64], ended[64];
    long pid = (long)mcp_client_pid(w->client);

    (void)snprintf(started, sizeof(started), "= process %ld was started\n", pid);
    (void)snprintf(ended, sizeof(ended), "= process %ld exited with status 0\n", pid);
    assert_int_equal(place(w, started), 0);
    cancel_one(w);
    expect_seen(w, FRAME, 1);
    expect_seen(w, FRAME_OF_77, 1);
    expect_seen(w, "< {\"jsonrpc\":\"2.0\",\"id\":77,", 0);
    expect_seen(w, "= ", 1);
    mcp_client_close(w->client);
    await_seen(w, ended);
    watched_free(w);
}

static void
over_modern_HTTP_a_cancel_is_a_response_that_is_closed(void **state)
{
    struct watched *w = watch_http(*state, "mcp");

    cancel_one(w);
    expect_seen(w, FRAME, 0);
    expect_seen(w, "= closed the response to request ", 1);
    expect_seen(w, CLOSED_77, 1);
    assert_true(place(w, "\"id\":77,\"method\"") < place(w, CLOSED_77));
    expect_seen(w, "< {\"jsonrpc\":\"2.0\",\"id\":77,", 0);
    assert_true(seen(w, "= POST /mcp (request ") >= 2);
    watched_free(w);
}

static void
in_a_session_a_cancel_is_a_message(void **state)
{
    struct watched *w = watch_http(*state, "mcp");

    cancel_one(w);
    expect_seen(w, FRAME, 1);
    expect_seen(w, FRAME_OF_77, 1);
    expect_seen(w, "= a session has begun\n", 1);
    expect_seen(w, "= the stream of the session is open\n", 1);
    assert_true(place(w, "= the stream of the session is open") <
                place(w, FRAME_OF_77));
    mcp_client_close(w->client);
    await_seen(w, "= the connection is closed\n");
    assert_true(place(w, FRAME_OF_77) < place(w, "= DELETE: the session ends\n"));
    expect_seen(w, "= DELETE /mcp -> 2", 1);
    watched_free(w);
}

static void
of_2024_a_cancel_is_a_message_too(void **state)
{
    const struct http_way way = {.era = MCP_ERA_LEGACY, .more = "--sse"};
    struct watched *w = watch_http(&way, "sse");

    (void)state;
    expect_seen(w, "= 2024-11-05: messages go to /message\n", 1);
    cancel_one(w);
    expect_seen(w, FRAME, 1);
    expect_seen(w, FRAME_OF_77, 1);
    expect_seen(w, "= closed the response to request 77", 0); /* which was a 202 */
    watched_free(w);
}

TEST_MAIN(TEST_AS("modern.on_a_pipe_a_cancel_is_a_message",
                  on_a_pipe_a_cancel_is_a_message, &eras[0]),
          TEST_AS("legacy.on_a_pipe_a_cancel_is_a_message",
                  on_a_pipe_a_cancel_is_a_message, &eras[1]),
          ON_MODERN(over_modern_HTTP_a_cancel_is_a_response_that_is_closed),
          ON_MODERN_JSON(over_modern_HTTP_a_cancel_is_a_response_that_is_closed),
          ON_LEGACY(in_a_session_a_cancel_is_a_message),
          TEST(of_2024_a_cancel_is_a_message_too))
