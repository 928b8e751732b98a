/*
 * api/raw_client.h - a server of the public API, and a client of it that is nothing but
 * a socket: tests write lines and read lines
 */
#ifndef TESTS_API_RAW_CLIENT_H
#define TESTS_API_RAW_CLIENT_H

#include <mcp/server.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "api/server.h"
#include "core/peer.h"
#include "support/messages.h"
#include "support/test.h"
#include "support/virtual_clock.h"
#include "support/wire.h"

/* What a modern request has in its _meta. */
#define RAW_STAMP                                                 \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}"

static pthread_mutex_t raw_log_lock = PTHREAD_MUTEX_INITIALIZER;

struct raw {
    struct test_mem own_mem, *mem;
    mcp_server *server;
    int fd;
    bool modern;
    bool lenient; /* the server may close at any time */
    unsigned conversation;
    char *in; /* what was read; the line that was given out ends at line */
    size_t len, cap, line;
    char log[16384];            /* lines, "2: text\n"; under raw_log_lock */
    struct virtual_clock clock; /* after raw_hold_time */
};

/* ---- waiting, with a bound ---------------------------------------------- */

static inline int64_t
raw_now_ms(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

static inline void
raw_pause(void)
{
    const struct timespec brief = {0, 500000};

    nanosleep(&brief, NULL);
}

/* Wait until a condition holds; the test fails if it does not in time. */
#define RAW_UNTIL(condition)                             \
    do {                                                 \
        int64_t raw_end_ = raw_now_ms() + AWAIT_MS;      \
                                                         \
        while (!(condition)) {                           \
            if (raw_now_ms() > raw_end_)                 \
                fail_msg("not in time: %s", #condition); \
            raw_pause();                                 \
        }                                                \
    } while (0)

/* ---- a gate that handlers wait at --------------------------------------- */

struct gate {
    atomic_int entered; /* handlers that came, ever */
    atomic_int left;    /* and went on */
    atomic_bool open;
};

/* A handler that waits until it is told to stop; only then it has left. */
static inline int
gate_hang(mcp_request *req, mcp_result *out, void *user)
{
    struct gate *gate = user;
    int r;

    (void)out;
    atomic_fetch_add(&gate->entered, 1);
    r = mcp_request_sleep(req, 60000);
    if (r == MCP_E_CANCELED)
        atomic_fetch_add(&gate->left, 1);
    return r;
}

/* Deaf: hears of nothing but the gate. */
static inline void
gate_pass(struct gate *gate)
{
    int64_t end = raw_now_ms() + AWAIT_MS;

    atomic_fetch_add(&gate->entered, 1);
    while (!atomic_load(&gate->open) && raw_now_ms() < end)
        raw_pause();
    atomic_fetch_add(&gate->left, 1);
}

static inline int
gate_run(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    gate_pass(user);
    return mcp_result_text(out, "passed");
}

/* ---- the server --------------------------------------------------------- */

static inline void
raw_log(void *user, enum mcp_log_level level, const char *line)
{
    struct raw *raw = user;
    size_t len;

    pthread_mutex_lock(&raw_log_lock);
    len = strlen(raw->log);
    snprintf(raw->log + len, sizeof(raw->log) - len, "%d: %s\n", (int)level, line);
    pthread_mutex_unlock(&raw_log_lock);
}

static inline bool
raw_logged(struct raw *raw, const char *part)
{
    bool found;

    pthread_mutex_lock(&raw_log_lock);
    found = strstr(raw->log, part) != NULL;
    pthread_mutex_unlock(&raw_log_lock);
    return found;
}

/* Make the server; opt says what is not the default. mem NULL: memory of its own. */
static inline int
raw_make_in(struct raw *raw, struct test_mem *mem, mcp_server_options opt)
{
    static unsigned conversation;

    memset(raw, 0, sizeof(*raw));
    raw->fd = -1;
    raw->conversation = ++conversation;
    test_mem_init(&raw->own_mem);
    raw->mem = mem ? mem : &raw->own_mem;
    opt.name = opt.name ? opt.name : "raw";
    opt.version = opt.version ? opt.version : "1.0";
    opt.allocator = &raw->mem->allocator;
    opt.on_log = raw_log;
    opt.log_user = raw;
    opt.log_level = opt.log_level ? opt.log_level : MCP_LOG_INFO;
    return mcp_server_new(&opt, &raw->server, NULL);
}

static inline void
raw_make(struct raw *raw, mcp_server_options opt)
{
    assert_int_equal(raw_make_in(raw, NULL, opt), 0);
}

static inline void
raw_tool(struct raw *raw, mcp_tool tool)
{
    mcp_error err = {0};

    if (mcp_server_add_tool(raw->server, &tool, &err) < 0)
        fail_msg("%s", err.message);
}

static inline mcp_server_counts
raw_counts(struct raw *raw)
{
    mcp_server_counts counts = {.size = sizeof(counts)};

    assert_int_equal(mcp_server_count(raw->server, &counts), 0);
    return counts;
}

/* ---- lines -------------------------------------------------------------- */

static inline void
raw_bytes(struct raw *raw, const char *bytes, size_t len)
{
    ssize_t n;

    while (len > 0) {
        n = send(raw->fd, bytes, len, MSG_NOSIGNAL);
        if (n <= 0 && raw->lenient)
            return;
        if (n <= 0)
            fail_msg("cannot write");
        bytes += n;
        len -= (size_t)n;
    }
}

static inline void
raw_send(struct raw *raw, const char *line)
{
    wire_record_injected(raw->conversation, MCPI_CLIENT, line);
    raw_bytes(raw, line, strlen(line));
    raw_bytes(raw, "\n", 1);
}

/* More bytes, or false at EOF. */
static inline bool
raw_fill(struct raw *raw)
{
    struct pollfd fd = {.fd = raw->fd, .events = POLLIN};
    ssize_t n;

    if (raw->cap - raw->len < 65536) {
        raw->cap = raw->cap * 2 + 65536;
        raw->in = realloc(raw->in, raw->cap + 1);
        assert_non_null(raw->in);
    }
    if (poll(&fd, 1, AWAIT_MS) != 1)
        fail_msg("nothing to read in time; the log says:\n%s", raw->log);
    n = recv(raw->fd, raw->in + raw->len, raw->cap - raw->len, 0);
    if (n <= 0)
        return false;
    raw->len += (size_t)n;
    return true;
}

static inline void
raw_record(struct raw *raw, const char *line)
{
    struct mcpi_engine engine = {.role = MCPI_SERVER};
    struct mcpi_peer peer = {.engine = &engine};

    wire_record(raw->conversation, &peer, raw->modern ? "2026-07-28" : "2025-11-25",
                line, strlen(line));
}

/* The next line, valid until the next call; NULL at EOF. */
static inline const char *
raw_next(struct raw *raw)
{
    char *end = NULL;

    if (raw->line > 0)
        memmove(raw->in, raw->in + raw->line, raw->len - raw->line);
    raw->len -= raw->line;
    raw->line = 0;
    while (!end) {
        if (raw->len > 0)
            end = memchr(raw->in, '\n', raw->len);
        if (!end && !raw_fill(raw))
            return NULL;
    }
    *end = '\0';
    raw->line = (size_t)(end - raw->in) + 1;
    raw_record(raw, raw->in);
    return raw->in;
}

static inline const char *
raw_line(struct raw *raw)
{
    const char *line = raw_next(raw);

    if (!line)
        fail_msg("EOF instead of a line; the log says:\n%s", raw->log);
    return line;
}

static inline bool
raw_at_eof(struct raw *raw)
{
    return raw_next(raw) == NULL;
}

/* The next line has this in it. */
static inline const char *
raw_expect(struct raw *raw, const char *part)
{
    const char *line = raw_line(raw);

    if (!strstr(line, part))
        fail_msg("no %s in %s", part, line);
    return line;
}

/* ---- requests, in the era of the client --------------------------------- */

/* id and arguments are JSON texts; arguments NULL: none; token NULL: no progress. */
static inline void
raw_call_with(struct raw *raw, const char *id, const char *name, const char *arguments,
              const char *token)
{
    char line[8192];

    snprintf(line, sizeof(line),
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":"
             "{\"name\":\"%s\"%s%s,\"_meta\":{%s%s%s%s}}}",
             id, name, arguments ? ",\"arguments\":" : "", arguments ? arguments : "",
             raw->modern ? RAW_STAMP : "", raw->modern && token ? "," : "",
             token ? "\"progressToken\":" : "", token ? token : "");
    raw_send(raw, line);
}

static inline void
raw_call(struct raw *raw, const char *id, const char *name, const char *arguments)
{
    raw_call_with(raw, id, name, arguments, NULL);
}

/* Any other method; more: members for params, with a comma in front, or "". */
static inline void
raw_ask(struct raw *raw, const char *id, const char *method, const char *more)
{
    size_t room = strlen(more) + 1024;
    char *line = malloc(room);

    assert_non_null(line);
    snprintf(line, room,
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":"
             "{\"_meta\":{%s}%s}}",
             id, method, raw->modern ? RAW_STAMP : "", more);
    raw_send(raw, line);
    free(line);
}

static inline void
raw_cancel(struct raw *raw, const char *id, const char *reason)
{
    char line[1024];

    snprintf(line, sizeof(line),
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
             "{\"requestId\":%s,\"reason\":\"%s\"}}",
             id, reason);
    raw_send(raw, line);
}

/* Whatever was written before is the next line: nothing was, for nobody waits here. */
static inline void
raw_expect_silence(struct raw *raw)
{
    raw_ask(raw, "\"silence\"", "no/such", "");
    raw_expect(raw, "\"id\":\"silence\"");
}

/* ---- its life ----------------------------------------------------------- */

static inline void
raw_greet(struct raw *raw)
{
    if (raw->modern)
        return;
    raw_send(raw, INITIALIZE("0", "2025-11-25"));
    raw_expect(raw, "\"protocolVersion\":\"2025-11-25\"");
    raw_send(raw, NOTE("notifications/initialized", "{}"));
}

static inline int
raw_try_connect(struct raw *raw, bool modern)
{
    int pair[2];
    int r;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    raw->fd = pair[0];
    raw->modern = modern;
    r = mcp_server_attach(raw->server, pair[1], pair[1], NULL);
    if (r < 0)
        close(pair[1]);
    return r;
}

static inline void
raw_connect(struct raw *raw, bool modern)
{
    assert_int_equal(raw_try_connect(raw, modern), 0);
}

/* All memory is free again, also that of handlers that need a moment to end. */
static inline void
raw_close(struct raw *raw)
{
    mcp_server_free(raw->server);
    if (raw->fd >= 0)
        close(raw->fd);
    free(raw->in);
    test_mem_await(raw->mem);
}

/* One call from beginning to end, whatever fails for want of memory: it is answered, or
 * the link is closed. */
static inline void
raw_flow(struct test_mem *mem, const mcp_tool *tool, const char *token)
{
    struct raw raw;
    const char *line;

    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    raw.lenient = true;
    if (mcp_server_add_tool(raw.server, tool, NULL) == 0 &&
        raw_try_connect(&raw, true) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        raw_call_with(&raw, "1", tool->name, NULL, token);
        for (line = raw_next(&raw); line; line = raw_next(&raw)) {
            if (strstr(line, "\"id\":1"))
                break;
        }
    }
    raw_close(&raw);
}

/* Run it on a thread of its own, with one client of that era. */
static inline void
raw_start(struct raw *raw, bool modern)
{
    raw_connect(raw, modern);
    assert_int_equal(mcp_server_start(raw->server, NULL), 0);
    raw_greet(raw);
}

/* From now on the time of the running server stands still, but for what passes on
 * raw->clock. */
static inline void
raw_hold_time(struct raw *raw)
{
    virtual_clock_init(&raw->clock);
    virtual_clock_hold(&raw->clock, raw->server->trunk.host.inside);
}

static inline void
raw_done(struct raw *raw)
{
    raw_close(raw);
    test_mem_done(raw->mem);
}

/* ---- both eras: TEST_ERAS(fn) runs fn with *state a bool, modern -------- */

static const bool raw_eras[2] __attribute__((unused)) = {false, true};

#define RAW_ERA(modern) ((void *)(uintptr_t)&raw_eras[modern])
#define TEST_ERAS(function)                             \
    TEST_AS("modern." #function, function, RAW_ERA(1)), \
        TEST_AS("legacy." #function, function, RAW_ERA(0))
#define RAW_MODERN (*(const bool *)*state)

#endif
