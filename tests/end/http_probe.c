/* http_probe.c - probe-server on a port of its own, and clients that speak raw HTTP */
#include "end/http_probe.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_S = 900 }; /* from the start of a server to the next one's */

struct http_way http_ways[10] = {
    [WAY_MODERN] = {.era = MCP_ERA_MODERN},
    [WAY_MODERN_JSON] = {.era = MCP_ERA_MODERN, .json = true},
    [WAY_LEGACY] = {.era = MCP_ERA_LEGACY},
    [WAY_LEGACY_JSON] = {.era = MCP_ERA_LEGACY, .json = true},
    [WAY_STATELESS] = {.era = MCP_ERA_LEGACY, .stateless = true},
    [WAY_TLS + WAY_MODERN] = {.era = MCP_ERA_MODERN, .tls = true},
    [WAY_TLS + WAY_MODERN_JSON] = {.era = MCP_ERA_MODERN, .json = true, .tls = true},
    [WAY_TLS + WAY_LEGACY] = {.era = MCP_ERA_LEGACY, .tls = true},
    [WAY_TLS + WAY_LEGACY_JSON] = {.era = MCP_ERA_LEGACY, .json = true, .tls = true},
    [WAY_TLS + WAY_STATELESS] = {.era = MCP_ERA_LEGACY, .stateless = true, .tls = true},
};

/* ---- the server ---------------------------------------------------------- */

static void
server_spawn(struct http_probe *p)
{
    const struct http_way *way = &p->way;
    char limit[128], threads[16];
    const char *argv[16];
    size_t n = 0;

    if (way->descriptors) {
        (void)snprintf(limit, sizeof(limit), "ulimit -n %u && exec \"$0\" \"$@\"",
                       way->descriptors);
        argv[n++] = "/bin/sh";
        argv[n++] = "-c";
        argv[n++] = limit;
    }
    argv[n++] = PROBE_SERVER;
    argv[n++] = "--http";
    argv[n++] = "127.0.0.1:0";
    if (way->json)
        argv[n++] = "--json";
    if (way->stateless)
        argv[n++] = "--stateless";
    if (way->threads) {
        (void)snprintf(threads, sizeof(threads), "%u", way->threads);
        argv[n++] = "--threads";
        argv[n++] = threads;
    }
    if (way->tls) {
        argv[n++] = "--tls";
        argv[n++] = p->pair.certificate;
        argv[n++] = p->pair.key;
    }
    if (way->more)
        argv[n++] = way->more;
    if (way->value)
        argv[n++] = way->value;
    if (way->again) {
        argv[n++] = way->more;
        argv[n++] = way->again;
    }
    argv[n] = NULL;
    raw_spawn(&p->server, argv, -1);
}

void
http_probe_start(struct http_probe *p, const struct http_way *way)
{
    struct http_raw h;
    char said[256], expected[64];

    test_limit(LONGEST_S);
    *p = (struct http_probe){.way = *way};
    if (way->tls) {
        tls_pair_make(&p->pair);
        p->tls = tls_pair_client(&p->pair);
    }
    server_spawn(p);
    expect_readable(p->server.out, said, sizeof(said), "\n");
    (void)snprintf(expected, sizeof(expected),
                   "http%s://127.0.0.1:", way->tls ? "s" : "");
    assert_memory_equal(said, expected, strlen(expected));
    p->port = (int)strtol(said + strlen(expected), NULL, 10);
    assert_non_null(strstr(said, "/mcp\n"));
    if (way->era != MCP_ERA_LEGACY || way->silent)
        return;
    http_probe_open(p, &h);
    p->session = http_hello(&h);
    assert_int_equal(p->session == NULL, way->stateless);
    http_close(&h);
}

void
http_probe_done(struct http_probe *p)
{
    expect_exit(raw_close(&p->server), 0);
    free(p->session);
    if (!p->tls)
        return;
    SSL_CTX_free(p->tls);
    tls_pair_remove(&p->pair);
}

void
http_probe_stop(struct http_probe *p)
{
    assert_int_equal(kill(p->server.pid, SIGTERM), 0);
    http_probe_done(p);
}

/* ---- calls --------------------------------------------------------------- */

void
http_probe_open(struct http_probe *p, struct http_raw *h)
{
    http_open(h, p->port, p->tls);
}

void
http_probe_say(struct http_probe *p, struct http_raw *h, const char *id,
               const char *tool, const char *arguments)
{
    http_call(h, &HTTP_CALL(.era = p->way.era, .session = p->session, .id = id,
                            .tool = tool, .arguments = arguments));
}

void
http_probe_call(struct http_probe *p, struct http_raw *h, const char *id,
                const char *tool, const char *arguments)
{
    http_probe_open(p, h);
    http_probe_say(p, h, id, tool, arguments);
}

void
http_probe_stream(struct http_probe *p, struct http_raw *h, const char *id)
{
    const char *event;

    http_probe_open(p, h);
    http_call(h, &HTTP_CALL(.era = p->way.era, .session = p->session, .id = id,
                            .tool = "count", .progress = true,
                            .arguments = "{\"to\":1000000,\"delay_ms\":5}"));
    assert_int_equal(http_head(h), 200);
    assert_string_equal(http_field(h, "Content-Type"), "text/event-stream");
    event = http_event(h, NULL);
    assert_non_null(event);
    assert_non_null(strstr(event, "notifications/progress"));
}

int
http_probe_post(struct http_probe *p, const char *body)
{
    struct http_raw h;
    int status;

    http_probe_open(p, &h);
    http_post(&h,
              &HTTP_POST(.era = MCP_ERA_LEGACY, .session = p->session, .body = body));
    status = http_answer(&h);
    http_close(&h);
    return status;
}

const char *
http_probe_message(struct http_raw *h)
{
    static char last[65536];
    const char *type, *event;

    assert_int_not_equal(http_head(h), 0);
    type = http_field(h, "Content-Type");
    assert_non_null(type);
    if (strcmp(type, "text/event-stream") != 0)
        return http_body(h);
    last[0] = '\0';
    for (event = http_event(h, NULL); event; event = http_event(h, NULL)) {
        assert_true(strlen(event) < sizeof(last));
        memcpy(last, event, strlen(event) + 1);
    }
    assert_true(h->is_over);
    return last;
}

void
http_probe_alive_on(struct http_probe *p, struct http_raw *h)
{
    http_probe_say(p, h, "\"alive\"", "echo", "{\"text\":\"it lives\"}");
    assert_non_null(strstr(http_probe_message(h), "it lives"));
    assert_int_equal(h->status, 200);
}

void
http_probe_alive(struct http_probe *p)
{
    struct http_raw h;

    http_probe_open(p, &h);
    http_probe_alive_on(p, &h);
    http_close(&h);
}

/* ---- stats --------------------------------------------------------------- */

static int64_t
stat_of(const mcp_json *stats, const char *name)
{
    const mcp_json *value = mcp_json_get(stats, name);

    assert_int_equal(mcp_json_get_type(value), MCP_JSON_INTEGER);
    return mcp_json_int(value, -1);
}

struct probe_stats
http_probe_stats(struct http_probe *p)
{
    struct probe_stats s;
    struct http_raw h;
    const mcp_json *stats;
    const char *text;
    mcp_doc *doc;

    http_probe_open(p, &h);
    http_call(&h, &HTTP_CALL(.era = MCP_ERA_MODERN, .tool = "stats"));
    text = http_probe_message(&h);
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    stats = mcp_json_get(mcp_json_get(mcp_doc_root(doc), "result"),
                         "structuredContent");
    s.live_handlers = stat_of(stats, "live_handlers");
    s.started = stat_of(stats, "started");
    s.completed = stat_of(stats, "completed");
    s.canceled = stat_of(stats, "cancelled");
    s.pool_free = stat_of(stats, "pool_free");
    s.workers = stat_of(stats, "workers");
    s.open_fds = stat_of(stats, "open_fds");
    s.rss_kb = stat_of(stats, "rss_kb");
    s.connections = stat_of(stats, "connections");
    s.sessions = stat_of(stats, "sessions");
    s.streams = stat_of(stats, "streams");
    s.helpers = stat_of(stats, "helpers");
    s.busy_helpers = stat_of(stats, "busy_helpers");
    s.killed_helpers = stat_of(stats, "killed_helpers");
    mcp_doc_free(doc);
    http_close(&h);
    return s;
}

struct rest {
    struct http_probe *probe;
    struct probe_stats stats;
    int64_t live, open_fds;
};

static bool
is_at_rest(void *user)
{
    struct rest *rest = user;

    rest->stats = http_probe_stats(rest->probe);
    return rest->stats.live_handlers == rest->live &&
           rest->stats.workers <= rest->live &&
           (rest->open_fds < 0 || rest->stats.open_fds <= rest->open_fds);
}

struct probe_stats
http_probe_calm(struct http_probe *p, int64_t live)
{
    struct rest rest = {.probe = p, .live = live, .open_fds = -1};

    wait_until(is_at_rest, &rest);
    return rest.stats;
}

struct begun {
    struct http_probe *probe;
    int64_t count;
};

static bool
have_begun(void *user)
{
    const struct begun *begun = user;

    return http_probe_stats(begun->probe).started >= begun->count;
}

void
http_probe_begun(struct http_probe *p, int64_t count)
{
    wait_until(have_begun, &(struct begun){p, count});
}

struct probe_stats
http_probe_rest(struct http_probe *p, int64_t open_fds)
{
    struct rest rest = {.probe = p, .open_fds = open_fds};

    wait_until(is_at_rest, &rest);
    return rest.stats;
}
