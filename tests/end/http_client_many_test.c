/* http_client_many_test.c - a client with a thousand calls open, aborted one by one */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "end/http_probe.h"

#include <mcp/http.h>

#define OPEN 1000
#define ANSWERED 1000
#define AT_ONCE 100

/* Clients that shake hands at once: a server gives each 10 s, and a machine may be slow. */
#define TLS_AT_ONCE 10

/* More than libcurl and libc keep of a thousand calls for the next ones. */
#define GROWTH_BYTES (4 << 20)

/* Blocks of the connections that are kept, 64 at the most and now fewer, now more: far
 * below one for each of a thousand calls. */
#define KEPT 300

/* Descriptors beside those of the calls. */
#define SPARE 600

struct many {
    struct http_probe probe;
    struct test_mem mem;
    mcp_client *client;
    mcp_call *calls[OPEN];
    int order[OPEN];
    int opened;   /* calls that are open at once */
    int at_once;  /* calls that are started at once */
    int answered; /* by thread answers_come */
};

/* Where descriptors are few, so are calls. */
static int
calls_allowed(void)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur >= OPEN + SPARE)
        return OPEN;
    printf("only %ld descriptors are allowed here\n", (long)limit.rlim_cur);
    assert_true(limit.rlim_cur > 2 * SPARE);
    return (int)limit.rlim_cur - SPARE;
}

static void
many_open(struct many *m, const struct http_way *way)
{
    mcp_error err = {0};
    char url[128];
    mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "many", .version = "1.0",
                                               .era = way->era);
    mcp_http_client_options http = MCP_HTTP_CLIENT_OPTIONS(.grace_ms = 200,
                                                           .connect_ms = AWAIT_MS);

    memset(m, 0, sizeof(*m));
    m->opened = way->tls ? calls_allowed() / 5 : calls_allowed(); /* it is slow */
    m->at_once = way->tls ? TLS_AT_ONCE : AT_ONCE;
    http_probe_start(&m->probe, way);
    test_mem_init(&m->mem);
    me.allocator = &m->mem.allocator;
    http.tls_ca_file = way->tls ? m->probe.pair.certificate : NULL;
    (void)snprintf(url, sizeof(url), "%s://127.0.0.1:%d/mcp",
                   way->tls ? "https" : "http", m->probe.port);
    assert_int_equal(mcp_client_connect_http(url, &http, &me, &m->client, &err), 0);
}

static void
many_close(struct many *m)
{
    mcp_client_free(m->client);
    assert_int_equal(atomic_load(&m->mem.live), 0);
    http_probe_stop(&m->probe);
}

/* Each has its own answer. */
static void *
answers_come(void *user)
{
    struct many *m = user;
    mcp_call *calls[AT_ONCE];
    char arguments[64], expected[32];
    mcp_reply *reply;
    mcp_error err;

    for (int from = 0; from < ANSWERED; from += m->at_once) {
        for (int i = 0; i < m->at_once; i++) {
            (void)snprintf(arguments, sizeof(arguments), "{\"text\":\"no. %d\"}",
                           from + i);
            if (mcp_client_start_tool(m->client, "echo", arguments, NULL, NULL, NULL,
                                      &calls[i]) < 0)
                return NULL;
        }
        for (int i = 0; i < m->at_once; i++) {
            (void)snprintf(expected, sizeof(expected), "no. %d", from + i);
            reply = NULL;
            if (mcp_call_wait(calls[i], AWAIT_MS, &reply, &err) == 0 &&
                strcmp(mcp_reply_text(reply), expected) == 0)
                m->answered++;
            mcp_reply_free(reply);
            mcp_call_free(calls[i]);
        }
    }
    return NULL;
}

/* The same order each time. */
static void
order_shuffle(struct many *m)
{
    unsigned random = 12345;

    for (int i = 0; i < m->opened; i++)
        m->order[i] = i;
    for (int i = m->opened - 1; i > 0; i--) {
        int with, kept = m->order[i];

        random = random * 1103515245u + 12345u;
        with = (int)((random >> 8) % (unsigned)(i + 1));
        m->order[i] = m->order[with];
        m->order[with] = kept;
    }
}

static void
calls_open(struct many *m)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);

    for (int i = 0; i < m->opened; i++) {
        assert_int_equal(mcp_client_start_tool(m->client, "hang_async",
                                               "{\"seconds\":600}", &opt, NULL, NULL,
                                               &m->calls[i]),
                         0);
        if ((i + 1) % m->at_once == 0)
            (void)http_probe_calm(&m->probe, i + 1);
    }
    (void)http_probe_calm(&m->probe, m->opened);
}

static void
calls_abort(struct many *m)
{
    for (int i = 0; i < m->opened; i++) {
        mcp_call *call = m->calls[m->order[i]];

        if (i % 3 == 0) { /* freeing it is an abort too */
            mcp_call_free(call);
            continue;
        }
        assert_int_equal(mcp_call_cancel(call, NULL), 0);
        assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
        mcp_call_free(call);
    }
}

/* What a round may leave: connections that are kept. Cancels that are posted, connections
 * that close, and calls that were freed may still be ending in the client when the server is
 * calm already: it has seen the hang-up before the client's loop goes on. */
struct kept {
    mcp_client *client;
    struct test_mem *mem;
    size_t fds, blocks;
};

static uint64_t
calls_open_now(mcp_client *client)
{
    mcp_client_counts counts = {.size = sizeof(counts)};

    assert_int_equal(mcp_client_count(client, &counts), 0);
    return counts.calls;
}

static bool
is_back(void *user)
{
    const struct kept *most = user;

    return calls_open_now(most->client) == 0 && count_descriptors() <= most->fds &&
           (size_t)atomic_load(&most->mem->live) < most->blocks;
}

static void
round_play(struct many *m)
{
    struct probe_stats before = http_probe_stats(&m->probe), after;
    pthread_t thread;

    calls_open(m);
    m->answered = 0;
    assert_int_equal(pthread_create(&thread, NULL, answers_come, m), 0);
    calls_abort(m);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(m->answered, ANSWERED);
    after = http_probe_calm(&m->probe, 0);
    assert_int_equal(after.canceled - before.canceled, m->opened);
}

static size_t
heap_used(void)
{
    return mallinfo2().uordblks;
}

/* Idle connections are kept for the next calls: as many in each round. */
static void
E2_E17_a_thousand_are_aborted_while_a_thousand_are_answered(void **state)
{
    struct many m;
    struct kept most = {.mem = &m.mem};
    size_t heap;

    many_open(&m, *state);
    most.client = m.client;
    order_shuffle(&m);
    round_play(&m);
    most.fds = count_descriptors() + SPARE / 4;
    round_play(&m);
    heap = heap_used();
    most.blocks = (size_t)atomic_load(&m.mem.live) + KEPT;
    round_play(&m);
    wait_until(is_back, &most);
    if (MEMORY_IS_REAL)
        assert_true(heap_used() < heap + GROWTH_BYTES);
    many_close(&m);
}

/* A handshake for each takes its time. */
#define SLOWER "modern_tls.E2_E17_hundreds_are_aborted_while_a_thousand_are_answered"

TEST_MAIN(ON_MODERN(E2_E17_a_thousand_are_aborted_while_a_thousand_are_answered),
          ON_LEGACY(E2_E17_a_thousand_are_aborted_while_a_thousand_are_answered),
          TEST_AS(SLOWER, E2_E17_a_thousand_are_aborted_while_a_thousand_are_answered,
                  &http_ways[WAY_TLS + WAY_MODERN]))
