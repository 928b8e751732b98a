/* speed.c - echo a second, beside the raw pipe and the TypeScript SDK */
#include <stdio.h>

#include "sample.h"
#include "tables.h"

enum { ROUNDS = 21, SLICE_US = 40000, WARM_US = 400000 };

#define ECHO .tool = "echo", .arguments = ECHO_ARGUMENTS, .expected = ECHO_TEXT
#define TS_SERVER BENCH_FOLDER "/ts_server.mjs"

enum { RAW, RAW_LINES, BARE, OURS, OURS_MODERN, TS, TS_MODERN, ROWS };

static const struct {
    const char *name;
    struct recipe recipe;
} rows[ROWS] = {
    [RAW] = {"raw pipe", {.argv = {"bench-echo"}, .greeting = ONE_LINE, ECHO}},
    [RAW_LINES] = {"raw pipe, line by line",
                   {.argv = {"bench-echo", "--lines"}, .greeting = ONE_LINE, ECHO}},
    [BARE] = {"libuv and yyjson alone", {.argv = {"bench-bare"}, ECHO}},
    [OURS] = {"libmcp", {.argv = {"probe-server"}, ECHO}},
    [OURS_MODERN] = {"libmcp, modern",
                     {.argv = {"probe-server"}, .greeting = NO_WORDS, ECHO}},
    [TS] = {"TypeScript SDK", {.argv = {"node", TS_SERVER}, .is_peer = true, ECHO}},
    [TS_MODERN] =
        {"TypeScript SDK, modern",
         {.argv = {"node", TS_SERVER}, .is_peer = true, .greeting = NO_WORDS, ECHO}},
};

/* One server in one place. */
struct entry {
    struct target target;
    bool is_there;
    double total[ROUNDS], server[ROUNDS], wall[ROUNDS];
    double total_us, server_us, wall_us; /* the medians */
};

static void
entries_start(struct entry *entries, enum spot spot)
{
    for (int i = 0; i < ROWS; i++) {
        entries[i].is_there = target_start(&entries[i].target, &rows[i].recipe, spot);
        must(entries[i].is_there || rows[i].recipe.is_peer, "a server does not start");
        if (entries[i].is_there)
            target_check(&entries[i].target, &rows[i].recipe);
    }
}

static void
entries_stop(struct entry *entries)
{
    for (int i = 0; i < ROWS; i++) {
        if (!entries[i].is_there)
            continue;
        target_check(&entries[i].target, &rows[i].recipe);
        target_stop(&entries[i].target);
    }
}

static void
round_measure(struct entry *entries, int depth, int round)
{
    struct cost cost;

    for (int i = 0; i < ROWS; i++) {
        if (!entries[i].is_there)
            continue;
        cost = cost_measure(&entries[i].target, depth, SLICE_US);
        entries[i].server[round] = cost.server;
        entries[i].total[round] = cost.server + cost.driver;
        entries[i].wall[round] = cost.wall;
    }
}

static void
entries_measure(struct entry *entries, int depth)
{
    for (int i = 0; i < ROWS; i++) {
        if (entries[i].is_there)
            (void)cost_measure(&entries[i].target, depth, WARM_US);
    }
    for (int round = 0; round < ROUNDS; round++)
        round_measure(entries, depth, round);
    for (int i = 0; i < ROWS; i++) {
        entries[i].total_us = sample_median(entries[i].total, ROUNDS);
        entries[i].server_us = sample_median(entries[i].server, ROUNDS);
        entries[i].wall_us = sample_median(entries[i].wall, ROUNDS);
    }
}

/* On two cores driver and server overlap: only the clock on the wall knows. */
static void
entries_print(const struct entry *entries, const char *title, bool is_one_core)
{
    const struct entry *raw = &entries[RAW];
    double us, least = is_one_core ? raw->total_us : raw->wall_us;

    printf("%s\n\n  %-24s %10s %8s %10s %12s\n", title, "", "a second", "to raw",
           "server us", "by the clock");
    for (int i = 0; i < ROWS; i++) {
        if (!entries[i].is_there) {
            printf("  %-24s %10s\n", rows[i].name, "not available");
            continue;
        }
        us = is_one_core ? entries[i].total_us : entries[i].wall_us;
        printf("  %-24s %10.0f %8.2f %10.2f %12.0f\n", rows[i].name, 1e6 / us,
               least / us, entries[i].server_us, 1e6 / entries[i].wall_us);
    }
    printf("\n");
}

/* The aims. What is one core's is counted in processor time, what is two cores' by the
 * clock. */
static void
aims_print(double ours_us, double raw_us, double aim, double ts_us)
{
    aim_at_least("libmcp to the raw pipe", raw_us / ours_us, aim, "");
    if (ts_us > 0)
        aim_at_least("libmcp to the TypeScript SDK", ts_us / ours_us, 20, "x");
    printf("\n");
}

static void
bench_one_core(struct entry *entries)
{
    const struct entry *ours = &entries[OURS], *raw = &entries[RAW];

    entries_start(entries, SAME_CORE);
    entries_measure(entries, 1);
    entries_print(entries, "echo, 1 in flight, driver and server on one core", true);
    aims_print(ours->total_us, raw->total_us, 0.55, 0);
    entries_measure(entries, IN_FLIGHT);
    entries_print(entries, "echo, 64 in flight, driver and server on one core", true);
    entries_stop(entries);
}

static void
bench_two_cores(struct entry *entries)
{
    const struct entry *ours = &entries[OURS], *raw = &entries[RAW];
    const struct entry *ts = &entries[TS];

    entries_start(entries, OTHER_CORE);
    entries_measure(entries, IN_FLIGHT);
    entries_print(entries, "echo, 64 in flight, each on a core of its own", false);
    aims_print(ours->wall_us, raw->wall_us, 0.4, ts->is_there ? ts->wall_us : 0);
    entries_stop(entries);
}

void
bench_speed(bool has_two_cores)
{
    static struct entry entries[ROWS];

    bench_one_core(entries);
    if (has_two_cores)
        bench_two_cores(entries);
    else
        printf("There is one core here: nothing is measured on two.\n\n");
}
