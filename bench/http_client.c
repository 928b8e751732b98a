/*
 * http_client.c - clients over HTTP: what a call costs, a stream that is open, an abort
 *
 * All clients drive the same server of ours, which has a core of its own; they have the
 * other one, and take turns in short slices. The raw client is this program itself: it
 * writes prebuilt requests and only looks at how long an answer is. A number is the
 * median of its slices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aim.h"
#include "http_target.h"
#include "sample.h"

enum { LONGEST_S = 300, ROUNDS = 15, SLICE_US = 100000, PEER_WARM_US = 2000000 };
enum { CLOSES = 201, WARM = 100, IDLE = 1000 };

#define TS_CLIENT BENCH_FOLDER "/ts_http_client.mjs"

static const struct http_recipe server = {.argv = {"bench-http-server"}};
static const struct http_recipe legacy_server = {.argv = {"bench-http-server"},
                                                 .is_legacy = true};

/* ---- a client that is a process ------------------------------------------------- */

struct caller {
    struct process process;
    bool is_there;
};

/* False: it has ended. */
static bool
caller_answer(const struct caller *caller, char *line, size_t room)
{
    size_t length = 0;

    do {
        if (length == room - 1 || read(caller->process.from, line + length, 1) != 1)
            return false;
    } while (line[length++] != '\n');
    line[length - 1] = '\0';
    return true;
}

static double
caller_ask(const struct caller *caller, const char *command)
{
    char line[64];
    size_t length = strlen(command);

    must(write(caller->process.to, command, length) == (ssize_t)length,
         "a client does not read");
    must(caller_answer(caller, line, sizeof(line)), "a client has ended");
    return strtod(line, NULL);
}

static void
caller_start(struct caller *caller, const char *const *argv, bool is_peer)
{
    char line[64];

    process_open(&caller->process);
    process_run(&caller->process, argv, is_peer, SAME_CORE);
    caller->is_there = caller_answer(caller, line, sizeof(line)) &&
                       strcmp(line, "ready") == 0;
    must(caller->is_there || is_peer, "bench-http-caller does not start");
    if (!caller->is_there)
        process_kill(&caller->process);
}

/* What one call costs this client, in microseconds of the clock, and of processor. */
static struct http_cost
caller_drive(const struct caller *caller, int lanes, int us)
{
    double cpu = process_cpu(&caller->process), wall = clock_now(), calls;
    char command[64];

    (void)snprintf(command, sizeof(command), "calls %d %d\n", lanes, us);
    calls = caller_ask(caller, command);
    return (struct http_cost){
        .wall = (clock_now() - wall) / calls,
        .server = (process_cpu(&caller->process) - cpu) / calls,
    };
}

/* ---- what a call costs ---------------------------------------------------------- */

enum { RAW, OURS, OURS_LEGACY, TS, TS_LEGACY, ROWS };

static const struct {
    const char *name;
    const char *program;
    const char *script;
    const char *era;
} rows[ROWS] = {
    [RAW] = {"raw socket", NULL, NULL, NULL},
    [OURS] = {"libmcp, modern", "bench-http-caller", NULL, "modern"},
    [OURS_LEGACY] = {"libmcp, legacy", "bench-http-caller", NULL, "legacy"},
    [TS] = {"TypeScript SDK, modern", "node", TS_CLIENT, "modern"},
    [TS_LEGACY] = {"TypeScript SDK, legacy", "node", TS_CLIENT, "legacy"},
};

struct entry {
    struct caller caller;
    double wall[ROUNDS], cpu[ROUNDS];
    double wall_us, cpu_us; /* the medians */
};

static void
entry_start(struct entry *entry, int row, const char *url)
{
    const char *script[] = {rows[row].program, rows[row].script, url, rows[row].era,
                            NULL};
    const char *program[] = {rows[row].program, url, rows[row].era, NULL};

    caller_start(&entry->caller, rows[row].script ? script : program,
                 rows[row].script != NULL);
}

static struct http_cost
entry_drive(const struct entry *entry, struct http_target *target, int lanes, int us)
{
    struct http_cost cost;
    double cpu, wall;

    if (entry->caller.is_there)
        return caller_drive(&entry->caller, lanes, us);
    cpu = driver_cpu();
    wall = clock_now();
    cost = http_target_drive(target, lanes, us);
    /* calls = all of the time by what one took */
    cost.server = (driver_cpu() - cpu) * cost.wall / (clock_now() - wall);
    return cost;
}

static void
entries_measure(struct entry *entries, struct http_target *target, int lanes)
{
    struct http_cost cost;

    for (int round = -1; round < ROUNDS; round++) {
        for (int i = 0; i < ROWS; i++) {
            if (i != RAW && !entries[i].caller.is_there)
                continue;
            cost = entry_drive(&entries[i], target, lanes,
                               round < 0 && rows[i].script ? PEER_WARM_US : SLICE_US);
            if (round < 0)
                continue;
            entries[i].wall[round] = cost.wall;
            entries[i].cpu[round] = cost.server;
        }
    }
    for (int i = 0; i < ROWS; i++) {
        entries[i].wall_us = sample_median(entries[i].wall, ROUNDS);
        entries[i].cpu_us = sample_median(entries[i].cpu, ROUNDS);
    }
}

static void
entries_print(const struct entry *entries, int lanes)
{
    printf("echo by POST, %d at once, client and server on a core each\n\n"
           "  %-24s %10s %10s %8s\n",
           lanes, "", "a second", "client us", "to raw");
    for (int i = 0; i < ROWS; i++) {
        if (i != RAW && !entries[i].caller.is_there)
            printf("  %-24s %10s\n", rows[i].name, "not available");
        else
            printf("  %-24s %10.0f %10.2f %8.1f\n", rows[i].name,
                   1e6 / entries[i].wall_us, entries[i].cpu_us,
                   entries[i].cpu_us / entries[RAW].cpu_us);
    }
    printf("\n");
}

static void
bench_speed(void)
{
    static struct entry entries[ROWS];
    static struct http_target target;
    char url[64];

    must(http_target_start(&target, &server), "bench-http-server does not start");
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/mcp", target.port);
    for (int i = RAW + 1; i < ROWS; i++)
        entry_start(&entries[i], i, url);
    entries_measure(entries, &target, 1);
    entries_print(entries, 1);
    entries_measure(entries, &target, LANES);
    entries_print(entries, LANES);
    aim_at_most("modern, processor time to raw",
                entries[OURS].cpu_us / entries[RAW].cpu_us, 6, "x");
    aim_at_most("legacy, processor time to raw",
                entries[OURS_LEGACY].cpu_us / entries[RAW].cpu_us, 6, "x");
    if (entries[TS].caller.is_there)
        aim_at_least("modern, ahead of the TypeScript SDK",
                     entries[TS].cpu_us / entries[OURS].cpu_us, 10, "x");
    if (entries[TS_LEGACY].caller.is_there)
        aim_at_least("legacy, ahead of the TypeScript SDK",
                     entries[TS_LEGACY].cpu_us / entries[OURS_LEGACY].cpu_us, 10, "x");
    printf("\n");
    for (int i = RAW + 1; i < ROWS; i++) {
        if (entries[i].caller.is_there)
            process_kill(&entries[i].caller.process);
    }
    http_target_stop(&target);
}

/* ---- streams, and their end ------------------------------------------------------ */

static void
hanging_start(struct http_target *target, struct caller *caller, bool is_legacy)
{
    const char *argv[] = {"bench-http-caller", NULL, is_legacy ? "legacy" : "modern",
                          NULL};
    char url[64];

    must(http_target_start(target, is_legacy ? &legacy_server : &server),
         "bench-http-server does not start");
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/mcp", target->port);
    argv[1] = url;
    caller_start(caller, argv, false);
}

static double
abort_measure(const struct http_target *target, const struct caller *caller)
{
    double asked;
    int64_t ns;

    (void)caller_ask(caller, "hang\n");
    must(read(target->process.from, &ns, sizeof(ns)) == sizeof(ns) && ns == 0,
         "a server reports nothing");
    asked = caller_ask(caller, "cancel\n");
    must(read(target->process.from, &ns, sizeof(ns)) == sizeof(ns),
         "a server reports nothing");
    return ((double)ns - asked) / 1e3;
}

struct hanging_cost {
    double bytes, abort_us, notice_us;
};

static struct hanging_cost
hanging_measure(bool is_legacy)
{
    static struct http_target target;
    static double notices[CLOSES];
    struct caller caller;
    struct hanging_cost cost;
    char command[32];
    long before;

    hanging_start(&target, &caller, is_legacy);
    for (int i = 0; i < CLOSES; i++)
        notices[i] = abort_measure(&target, &caller);
    cost.notice_us = sample_median(notices, CLOSES);
    (void)snprintf(command, sizeof(command), "open %d\n", WARM);
    (void)caller_ask(&caller, command);
    before = process_memory(&caller.process, "VmRSS:");
    (void)snprintf(command, sizeof(command), "open %d\n", IDLE);
    (void)caller_ask(&caller, command);
    cost.bytes = (double)(process_memory(&caller.process, "VmRSS:") - before) * 1024 /
                 IDLE;
    cost.abort_us = caller_ask(&caller, "drop\n");
    process_kill(&caller.process);
    http_target_stop(&target);
    return cost;
}

static void
bench_hanging(void)
{
    static struct http_target target;
    static double closes[CLOSES];
    struct hanging_cost modern = hanging_measure(false), legacy = hanging_measure(true);
    double raw;

    must(http_target_start(&target, &server), "bench-http-server does not start");
    for (int i = 0; i < CLOSES; i++)
        closes[i] = http_close_measure(&target, HANG_STREAM);
    raw = sample_median(closes, CLOSES);
    http_target_stop(&target);
    printf("Calls that wait, with %d streams open\n\n"
           "  %-24s %12s %12s %18s\n",
           IDLE, "", "bytes each", "us an abort", "us to the handler");
    printf("  %-24s %12s %12s %18.1f\n", "raw socket, closed", "", "", raw);
    printf("  %-24s %12.0f %12.2f %18.1f\n", "libmcp, modern", modern.bytes,
           modern.abort_us, modern.notice_us);
    printf("  %-24s %12.0f %12.2f %18.1f\n\n", "libmcp, legacy", legacy.bytes,
           legacy.abort_us, legacy.notice_us);
    aim_at_most("modern, memory of a stream", modern.bytes / 1000, 20, " kB");
    aim_at_most("modern, cancel to handler, to a raw close", modern.notice_us / raw, 3,
                "x");
    printf("\n");
}

int
main(void)
{
    alarm(LONGEST_S); /* whoever does not answer is not waited for without end */
    descriptors_raise();
    if (!driver_settle())
        printf("There is one core here: clients and server share it.\n\n");
    bench_speed();
    bench_hanging();
    return 0;
}
