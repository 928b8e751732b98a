/* http_speed.c - echo a second, beside bare epoll and the TypeScript SDK */
#include <stdio.h>

#include "http_tables.h"
#include "sample.h"

/* A just-in-time compiler needs longer. */
enum { ROUNDS = 15, SLICE_US = 60000, WARM_US = 200000, PEER_WARM_US = 1500000 };

#define TS_HTTP BENCH_FOLDER "/ts_http.mjs"

static const struct http_recipe ts_modern = {.argv = {"node", TS_HTTP},
                                             .is_peer = true};
static const struct http_recipe ts_legacy = {
    .argv = {"node", TS_HTTP}, .is_peer = true, .is_legacy = true};

enum { BARE, OURS, OURS_LEGACY, TS, TS_LEGACY, ROWS };

static const struct {
    const char *name;
    const struct http_recipe *recipe;
    int peer; /* the row of the TypeScript SDK to compare with */
} rows[ROWS] = {
    [BARE] = {"bare epoll", &http_bare, TS},
    [OURS] = {"libmcp, modern", &http_ours, TS},
    [OURS_LEGACY] = {"libmcp, legacy", &http_ours_legacy, TS_LEGACY},
    [TS] = {"TypeScript SDK, modern", &ts_modern, TS},
    [TS_LEGACY] = {"TypeScript SDK, legacy", &ts_legacy, TS_LEGACY},
};

struct entry {
    struct http_target target;
    bool is_there;
    double wall[ROUNDS], server[ROUNDS];
    double wall_us, server_us; /* the medians */
};

static void
entries_measure(struct entry *entries, int lanes)
{
    struct http_cost cost;

    for (int i = 0; i < ROWS; i++) {
        if (entries[i].is_there)
            (void)http_target_drive(&entries[i].target, lanes,
                                    rows[i].recipe->is_peer ? PEER_WARM_US : WARM_US);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ROWS; i++) {
            if (!entries[i].is_there)
                continue;
            cost = http_target_drive(&entries[i].target, lanes, SLICE_US);
            entries[i].wall[round] = cost.wall;
            entries[i].server[round] = cost.server;
        }
    }
    for (int i = 0; i < ROWS; i++) {
        entries[i].wall_us = sample_median(entries[i].wall, ROUNDS);
        entries[i].server_us = sample_median(entries[i].server, ROUNDS);
    }
}

static void
entries_print(const struct entry *entries, int lanes)
{
    const struct entry *peer;
    char to_peer[32];

    printf("echo by POST, %d keep-alive connection%s, driver and server on a core each"
           "\n\n  %-24s %10s %8s %14s %10s %8s\n",
           lanes, lanes == 1 ? "" : "s", "", "a second", "to bare", "to TypeScript",
           "server us", "to bare");
    for (int i = 0; i < ROWS; i++) {
        if (!entries[i].is_there) {
            printf("  %-24s %10s\n", rows[i].name, "not available");
            continue;
        }
        peer = &entries[rows[i].peer];
        to_peer[0] = '\0';
        if (peer->is_there)
            (void)snprintf(to_peer, sizeof(to_peer), "%.1fx",
                           peer->wall_us / entries[i].wall_us);
        printf("  %-24s %10.0f %8.2f %14s %10.2f %8.2f\n", rows[i].name,
               1e6 / entries[i].wall_us, entries[BARE].wall_us / entries[i].wall_us,
               to_peer, entries[i].server_us,
               entries[BARE].server_us / entries[i].server_us);
    }
    printf("\n");
}

/* On a busy machine the driver waits for its core as well, and by the clock all servers
 * come closer to each other; processor time does not know of that. */
static void
aims_print(const struct entry *entries)
{
    const struct entry *bare = &entries[BARE], *ours = &entries[OURS];
    const struct entry *legacy = &entries[OURS_LEGACY];

    aim_at_least("modern to bare epoll", bare->wall_us / ours->wall_us, 0.6, "");
    aim_at_least("the same in processor time", bare->server_us / ours->server_us, 0.6,
                 "");
    aim_at_least("legacy to bare epoll", bare->wall_us / legacy->wall_us, 0.6, "");
    aim_at_least("the same in processor time", bare->server_us / legacy->server_us, 0.6,
                 "");
    if (entries[TS].is_there)
        aim_at_least("modern to the TypeScript SDK",
                     entries[TS].wall_us / ours->wall_us, 40, "x");
    printf("\n");
}

void
bench_http_speed(void)
{
    static struct entry entries[ROWS];

    for (int i = 0; i < ROWS; i++) {
        entries[i].is_there = http_target_start(&entries[i].target, rows[i].recipe);
        must(entries[i].is_there || rows[i].recipe->is_peer, "a server does not start");
        if (entries[i].is_there)
            http_target_check(&entries[i].target);
    }
    entries_measure(entries, 1);
    entries_print(entries, 1);
    entries_measure(entries, LANES);
    entries_print(entries, LANES);
    aims_print(entries);
    for (int i = 0; i < ROWS; i++) {
        if (!entries[i].is_there)
            continue;
        http_target_check(&entries[i].target);
        http_target_stop(&entries[i].target);
    }
}
