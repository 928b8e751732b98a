/* bench_report.c - the verdict on a run, and the run as a table or as JSON */
#include <stdio.h>
#include <string.h>

#include "cli/bench.h"

#define SLOPE_CANCELS 100 /* fewer say nothing of what one costs */

/* ---- the verdict ---------------------------------------------------------------- */

static void
add_left(struct cli_text *into, int64_t count, const char *one, const char *many)
{
    if (count <= 0)
        return;
    cli_text_printf(into, "%s%lld %s", into->length ? ", " : "", (long long)count,
                    count == 1 ? one : many);
}

static int64_t
more(int64_t before, int64_t after)
{
    return before >= 0 && after > before ? after - before : 0;
}

enum cli_bench_verdict
cli_bench_judge(const struct cli_bench *bench, struct cli_text *into)
{
    const struct cli_bench_server *server = &bench->server;
    struct cli_text left = {0};
    enum cli_bench_verdict verdict = CLI_BENCH_CLEAN;

    if (cli_bench_server_has_grown(server)) {
        add_left(&left, more(server->before.descriptors, server->after.descriptors),
                 "descriptor", "descriptors");
        add_left(&left, more(server->before.processes, server->after.processes),
                 "process", "processes");
    }
    add_left(&left, more(server->handlers_before, server->handlers_after), "handler",
             "handlers");
    add_left(&left, (int64_t)bench->load.lost, "call that never ended",
             "calls that never ended");
    if (!bench->still_answers)
        cli_text_printf(&left, "%sa session that does not answer",
                        left.length ? ", " : "");
    if (left.length > 0)
        verdict = CLI_BENCH_LEFT;
    else if (server->after.descriptors < 0 && server->handlers_after < 0)
        verdict = CLI_BENCH_UNSEEN;
    if (verdict == CLI_BENCH_LEFT)
        cli_text_printf(into, "left behind: %s", cli_text_string(&left));
    else if (verdict == CLI_BENCH_UNSEEN)
        cli_text_puts(into, "cannot be seen from here");
    else
        cli_text_puts(into,
                      server->handlers_after < 0
                          ? "nothing left behind that can be seen; handlers cannot "
                            "be counted"
                          : "nothing left behind");
    cli_text_done(&left);
    return verdict;
}

/* How many bytes a cancel costs; false: that cannot be said. */
static bool
cancel_cost(const struct cli_bench *bench, double *ret_bytes)
{
    return bench->load.canceled >= SLOPE_CANCELS &&
           cli_trend_slope(&bench->server.memory, ret_bytes);
}

/* ---- for people ----------------------------------------------------------------- */

static const double shares[] = {0, 0.5, 0.9, 0.99, 0.999, 1};
static const char *const share_names[] = {"min", "p50", "p90", "p99", "p99.9", "max"};
#define SHARES (sizeof(shares) / sizeof(shares[0]))

/* A time of ns, with as many digits as mean something. */
static void
time_write(char *into, size_t room, uint64_t ns)
{
    if (ns < 1000000)
        (void)snprintf(into, room, "%.1f us", (double)ns / 1e3);
    else if (ns < 1000000000)
        (void)snprintf(into, room, "%.2f ms", (double)ns / 1e6);
    else
        (void)snprintf(into, room, "%.3f s", (double)ns / 1e9);
}

static void
size_write(char *into, size_t room, int64_t bytes)
{
    if (bytes < 0)
        (void)snprintf(into, room, "?");
    else
        (void)snprintf(into, room, "%.1f MiB", (double)bytes / 1048576);
}

static void
table_latency(const struct cli_bench *bench, struct cli_text *into)
{
    char cell[32];

    if (bench->load.times.count == 0)
        return;
    cli_text_puts(into, "latency      ");
    for (size_t i = 0; i < SHARES; i++)
        cli_text_printf(into, "%-*s", i + 1 < SHARES ? 11 : 0, share_names[i]);
    cli_text_puts(into, "\n             ");
    for (size_t i = 0; i < SHARES; i++) {
        time_write(cell, sizeof(cell), cli_times_at(&bench->load.times, shares[i]));
        cli_text_printf(into, "%-*s", i + 1 < SHARES ? 11 : 0, cell);
    }
    cli_text_puts(into, "\n");
}

static void
table_row(struct cli_text *into, const char *name, int64_t before, int64_t after,
          int64_t peak)
{
    cli_text_printf(into, "%-13s%-11lld%-11lld%lld\n", name, (long long)before,
                    (long long)after, (long long)peak);
}

static void
table_server(const struct cli_bench *bench, struct cli_text *into)
{
    const struct cli_bench_server *server = &bench->server;
    char before[32], after[32], peak[32];
    double cost;

    if (server->pid > 0 || server->has_stats)
        cli_text_printf(into, "server       before     after%s\n",
                        server->pid > 0 ? "      peak" : "");
    if (server->pid > 0) {
        size_write(before, sizeof(before), server->before.memory_bytes);
        size_write(after, sizeof(after), server->after.memory_bytes);
        size_write(peak, sizeof(peak), server->peak.memory_bytes);
        cli_text_printf(into, "  memory     %-11s%-11s%s\n", before, after, peak);
        table_row(into, "  open files", server->before.descriptors,
                  server->after.descriptors, server->peak.descriptors);
        table_row(into, "  processes", server->before.processes,
                  server->after.processes, server->peak.processes);
        cli_text_printf(into, "  CPU time   %.2f s\n",
                        (double)(server->peak.cpu_ms - server->before.cpu_ms) / 1e3);
    }
    if (server->has_stats)
        cli_text_printf(into, "  handlers   %-11lld%lld\n",
                        (long long)server->handlers_before,
                        (long long)server->handlers_after);
    if (server->keeps)
        cli_text_puts(into, "  it keeps what it has more, and grew no further\n");
    if (cancel_cost(bench, &cost))
        cli_text_printf(into, "  memory grows by %.0f bytes with each cancel\n", cost);
}

static void
table_calls(const struct cli_bench *bench, struct cli_text *into)
{
    const struct cli_bench_load *load = &bench->load;
    uint64_t ended = load->times.count;

    cli_text_printf(into, "calls        %llu in %.2f s, %llu at once%s\n",
                    (unsigned long long)load->started, load->seconds,
                    (unsigned long long)bench->plan.at_once,
                    load->interrupted ? ", interrupted" : "");
    cli_text_printf(into, "  answered   %llu", (unsigned long long)load->answered);
    if (load->seconds > 0)
        cli_text_printf(into, ", %.0f a second", (double)ended / load->seconds);
    cli_text_puts(into, "\n");
    if (load->failed > 0)
        cli_text_printf(into, "  failed     %llu\n", (unsigned long long)load->failed);
    for (size_t i = 0; i < load->kind_count; i++) {
        cli_text_printf(into, "    %-8llu ", (unsigned long long)load->kinds[i].count);
        cli_text_add_harmless(into, load->kinds[i].text, strlen(load->kinds[i].text),
                              true);
        cli_text_puts(into, "\n");
    }
    if (load->canceled > 0)
        cli_text_printf(into, "  canceled   %llu\n",
                        (unsigned long long)load->canceled);
    if (load->missed > 0)
        cli_text_printf(into, "  %llu ended before they were canceled\n",
                        (unsigned long long)load->missed);
    if (bench->late > 0)
        cli_text_printf(into, "  %llu answers came after their cancel, or crossed it\n",
                        (unsigned long long)bench->late);
}

void
cli_bench_table(const struct cli_bench *bench, struct cli_text *into)
{
    cli_text_printf(into, "ready after  %.1f ms\n", bench->ready_ms);
    table_calls(bench, into);
    table_latency(bench, into);
    table_server(bench, into);
    cli_text_puts(into, "verdict      ");
    (void)cli_bench_judge(bench, into);
    cli_text_puts(into, "\n");
}

/* ---- for programs --------------------------------------------------------------- */

static void
json_usage(mcp_builder *b, const char *key, const struct cli_usage *usage)
{
    mcp_builder_begin_object(b, key);
    mcp_builder_int(b, "memory_bytes", usage->memory_bytes);
    mcp_builder_int(b, "descriptors", usage->descriptors);
    mcp_builder_int(b, "processes", usage->processes);
    mcp_builder_int(b, "cpu_ms", usage->cpu_ms);
    mcp_builder_end(b);
}

static void
json_server(const struct cli_bench *bench, mcp_builder *b)
{
    const struct cli_bench_server *server = &bench->server;
    double cost;

    mcp_builder_begin_object(b, "server");
    if (server->pid > 0) {
        mcp_builder_int(b, "pid", server->pid);
        json_usage(b, "before", &server->before);
        json_usage(b, "after", &server->after);
        json_usage(b, "peak", &server->peak);
        mcp_builder_bool(b, "keeps", server->keeps);
    }
    if (server->has_stats) {
        mcp_builder_int(b, "handlers_before", server->handlers_before);
        mcp_builder_int(b, "handlers_after", server->handlers_after);
    }
    if (cancel_cost(bench, &cost))
        mcp_builder_real(b, "bytes_per_cancel", cost);
    mcp_builder_bool(b, "still_answers", bench->still_answers);
    mcp_builder_end(b);
}

static void
json_errors(const struct cli_bench *bench, mcp_builder *b)
{
    const struct cli_bench_load *load = &bench->load;

    mcp_builder_begin_array(b, "errors");
    for (size_t i = 0; i < load->kind_count; i++) {
        struct cli_text text = {0};

        cli_text_add_harmless(&text, load->kinds[i].text, strlen(load->kinds[i].text),
                              true);
        mcp_builder_begin_object(b, NULL);
        mcp_builder_string(b, "error", cli_text_string(&text));
        mcp_builder_uint(b, "count", load->kinds[i].count);
        mcp_builder_end(b);
        cli_text_done(&text);
    }
    mcp_builder_end(b);
}

static void
json_calls(const struct cli_bench *bench, mcp_builder *b)
{
    const struct cli_bench_load *load = &bench->load;

    mcp_builder_uint(b, "calls", load->started);
    mcp_builder_uint(b, "at_once", bench->plan.at_once);
    mcp_builder_real(b, "seconds", load->seconds);
    mcp_builder_real(b, "calls_per_second",
                     load->seconds > 0 ? (double)load->times.count / load->seconds : 0);
    mcp_builder_uint(b, "answered", load->answered);
    mcp_builder_uint(b, "failed", load->failed);
    mcp_builder_uint(b, "canceled", load->canceled);
    mcp_builder_uint(b, "ended_before_cancel", load->missed);
    mcp_builder_uint(b, "answered_after_cancel", bench->late);
    mcp_builder_uint(b, "never_ended", load->lost);
    mcp_builder_bool(b, "interrupted", load->interrupted);
    mcp_builder_begin_object(b, "latency_ms");
    /* of no answers there are no times, and 0 would be one */
    for (size_t i = 0; i < SHARES && load->times.count > 0; i++)
        mcp_builder_real(b, share_names[i],
                         (double)cli_times_at(&load->times, shares[i]) / 1e6);
    mcp_builder_end(b);
}

void
cli_bench_json(const struct cli_bench *bench, mcp_builder *b)
{
    static const char *const names[] = {"clean", "left", "unseen"};
    struct cli_text sentence = {0};
    enum cli_bench_verdict verdict = cli_bench_judge(bench, &sentence);

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "target", bench->target ? bench->target : "");
    mcp_builder_string(b, "protocol", bench->version ? bench->version : "");
    mcp_builder_string(b, "tool", bench->plan.tool ? bench->plan.tool : "ping");
    mcp_builder_real(b, "ready_ms", bench->ready_ms);
    json_calls(bench, b);
    json_errors(bench, b);
    json_server(bench, b);
    mcp_builder_string(b, "verdict", names[verdict]);
    mcp_builder_string(b, "verdict_text", cli_text_string(&sentence));
    mcp_builder_end(b);
    cli_text_done(&sentence);
}
