/* bench_server.c - the server under load: what it uses, and whether it comes to rest */
#include <poll.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/clock.h"
#include "cli/times.h"

#define STATS_MS 5000 /* for an answer of `stats` */
#define POLL_MS 20

bool
cli_bench_has_stats(const mcp_json *tools)
{
    const mcp_json *output = mcp_json_get(mcp_json_find(tools, "name", "stats"),
                                          "outputSchema");

    /* a tool of that name that promises no such thing is better left alone */
    return mcp_json_get(mcp_json_get(output, "properties"), "live_handlers") != NULL;
}

int64_t
cli_bench_live_handlers(mcp_client *client)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = cli_times_get(
                                                      "stats", STATS_MS));
    mcp_reply *reply;
    int64_t live;

    if (mcp_client_call_tool(client, "stats", NULL, &opt, &reply, NULL) < 0)
        return -1;
    live = mcp_json_int(mcp_json_get(mcp_reply_structured(reply), "live_handlers"), -1);
    mcp_reply_free(reply);
    return live;
}

static void
raise_to(int64_t *peak, int64_t value)
{
    if (value > *peak)
        *peak = value;
}

static void
look(struct cli_bench_server *server, struct cli_usage *ret_usage)
{
    cli_proc_usage(server->pid, ret_usage);
    raise_to(&server->peak.memory_bytes, ret_usage->memory_bytes);
    raise_to(&server->peak.descriptors, ret_usage->descriptors);
    raise_to(&server->peak.processes, ret_usage->processes);
    raise_to(&server->peak.cpu_ms, ret_usage->cpu_ms);
}

void
cli_bench_server_begin(struct cli_bench_server *server, mcp_client *client,
                       const mcp_json *tools)
{
    const struct cli_usage unknown = {-1, -1, -1, -1};

    memset(server, 0, sizeof(*server));
    server->client = client;
    server->pid = mcp_client_pid(client);
    server->has_stats = cli_bench_has_stats(tools);
    server->before = server->after = server->peak = unknown;
    server->allowed = server->now = unknown;
    server->handlers_before = server->handlers_after = -1;
    if (server->has_stats)
        server->handlers_before = cli_bench_live_handlers(client);
}

/* Servers go on starting things after they have answered, such as processes that they
 * keep ready: what counts is what stays. */
void
cli_bench_server_calm(struct cli_bench_server *server, int64_t calm_ms)
{
    int64_t began = cli_now_ms(), changed = began, now = began;
    struct cli_usage usage;

    if (server->pid <= 0)
        return;
    look(server, &server->before);
    while (now - changed < calm_ms && now - began < 5 * calm_ms) {
        (void)poll(NULL, 0, POLL_MS);
        now = cli_now_ms();
        look(server, &usage);
        if (usage.descriptors != server->before.descriptors ||
            usage.processes != server->before.processes)
            changed = now;
        server->before = usage;
    }
    server->peak = server->allowed = server->before;
}

void
cli_bench_server_look(void *user, uint64_t canceled)
{
    struct cli_bench_server *server = user;
    struct cli_usage usage;

    if (server->pid <= 0)
        return;
    look(server, &usage);
    if (usage.memory_bytes > 0)
        cli_trend_add(&server->memory, (double)canceled, (double)usage.memory_bytes);
}

bool
cli_bench_server_has_grown(const struct cli_bench_server *server)
{
    return server->now.descriptors > server->allowed.descriptors ||
           server->now.processes > server->allowed.processes;
}

static bool
is_at_rest(const struct cli_bench_server *server)
{
    return !cli_bench_server_has_grown(server) &&
           server->handlers_after <= server->handlers_before;
}

void
cli_bench_server_settle(struct cli_bench_server *server, int64_t patience_ms)
{
    int64_t until = cli_now_ms() + patience_ms;

    for (;;) {
        if (server->has_stats)
            server->handlers_after = cli_bench_live_handlers(server->client);
        if (server->pid > 0)
            look(server, &server->now);
        server->after = server->now;
        if (is_at_rest(server) || cli_now_ms() >= until)
            return;
        (void)poll(NULL, 0, POLL_MS);
    }
}

/* What leaks does so each time; a pool is full at some point. */
void
cli_bench_server_settle_again(struct cli_bench_server *server, int64_t patience_ms)
{
    struct cli_usage after = server->after, peak = server->peak;

    server->allowed = server->now;
    cli_bench_server_settle(server, patience_ms);
    server->after = after;
    server->peak = peak;
    server->keeps = !cli_bench_server_has_grown(server);
}
