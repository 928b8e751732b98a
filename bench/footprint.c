/*
 * footprint.c - the smallest example server: its start, its memory, and what is left
 * of a million calls
 */
#include <stdio.h>

#include "sample.h"
#include "tables.h"

enum { STARTS = 101, FEW = 10000, HALF = 500000, ALL = 1000000 };

static const struct recipe smallest = {.argv = {"readme-server"},
                                       .tool = "add",
                                       .arguments = "{\"a\":12,\"b\":30}",
                                       .expected = "42"};
static const struct recipe inline_echo = {.argv = {"probe-server"},
                                          .tool = "echo",
                                          .arguments = ECHO_ARGUMENTS,
                                          .expected = ECHO_TEXT};

static double
start_measure(const struct recipe *recipe)
{
    struct target target;
    double start = clock_now(), us;

    must(target_start(&target, recipe, SAME_CORE), "a server does not start");
    us = clock_now() - start;
    target_stop(&target);
    return us;
}

static void
bench_start(void)
{
    double raw[STARTS], ours[STARTS], raw_us, ours_us;

    (void)start_measure(&raw_pipe); /* reads them from the disk */
    (void)start_measure(&smallest);
    for (int i = 0; i < STARTS; i++) {
        raw[i] = start_measure(&raw_pipe);
        ours[i] = start_measure(&smallest);
    }
    raw_us = sample_median(raw, STARTS);
    ours_us = sample_median(ours, STARTS);
    printf("From fork to the answer to initialize, in milliseconds\n\n"
           "  %-24s %10.2f\n  %-24s %10.2f\n\n",
           "raw pipe", raw_us / 1e3, "readme-server", ours_us / 1e3);
    aim_at_most("readme-server starts later", (ours_us - raw_us) / 1e3, 3, " ms");
}

/* Resident, in KB. */
struct memory {
    long first, few, half, all; /* after 1, FEW, HALF and ALL calls */
};

static struct memory
memory_measure(const char *name, const struct recipe *recipe)
{
    struct target target;
    struct memory kb;
    long own;

    must(target_start(&target, recipe, ANY_CORE), "a server does not start");
    target_check(&target, recipe);
    kb.first = target_memory(&target, "VmRSS:");
    own = target_memory(&target, "RssAnon:");
    target_flood(&target, FEW);
    kb.few = target_memory(&target, "VmRSS:");
    target_flood(&target, HALF - FEW);
    kb.half = target_memory(&target, "VmRSS:");
    target_flood(&target, ALL - HALF);
    kb.all = target_memory(&target, "VmRSS:");
    target_check(&target, recipe);
    target_stop(&target);
    printf("  %-16s %10ld %10ld %12ld %12ld %12ld\n", name, kb.first, own, kb.few,
           kb.half, kb.all);
    return kb;
}

static void
bench_memory(void)
{
    struct memory small, echo;

    printf("\nResident memory in KB, files that are mapped included; 64 in flight\n\n"
           "  %-16s %10s %10s %12s %12s %12s\n",
           "", "first call", "of its own", "10,000", "500,000", "1,000,000");
    small = memory_measure("readme-server", &smallest);
    echo = memory_measure("probe-server", &inline_echo);
    printf("\n");
    aim_at_most("readme-server after its first call", (double)small.first / 1024, 3,
                " MB");
    aim_at_most("readme-server after a million calls", (double)small.all / 1024, 3,
                " MB");
    /* until then the heaps of 16 workers fill up; a byte lost a call would be 488 KB */
    aim_at_most("readme-server in the last half million",
                (double)(small.all - small.half), 64, " KB");
    aim_at_most("probe-server in the last half million", (double)(echo.all - echo.half),
                64, " KB");
}

void
bench_footprint(void)
{
    bench_start();
    bench_memory();
}
