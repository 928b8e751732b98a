/*
 * bench.c - how fast a request goes through both ends, and what that costs
 *
 * One exchange: a call is started, sent, received, answered, received and done, by
 * client and server on one thread. It is compared with yyjson alone, parsing and
 * serialising the same two messages once each, which is the least that any
 * implementation must do.
 *
 * Machines are shared and noisy: the variants take turns in short slices, the clock
 * counts this thread's processor time, and a number is the median of its slices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "rig.h"
#include "sample.h"
#include "schema.h"

enum { ROUNDS = 21, SLICE_US = 10000, BURST = 64 };

/* Something to be measured: step does one of it. */
struct variant {
    void (*step)(struct rig *rig);
    struct rig *rig;
    double ns[ROUNDS]; /* for one step, by slice */
    double median;
};

static double
cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double
slice(const struct variant *v)
{
    double start = cpu_ns();
    double now = start;
    long steps = 0;

    while (now - start < SLICE_US * 1e3) {
        for (int i = 0; i < BURST; i++)
            v->step(v->rig);
        steps += BURST;
        now = cpu_ns();
    }
    return (now - start) / (double)steps;
}

static void
measure(struct variant *variants, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)slice(&variants[i]); /* warms up */
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < count; i++)
            variants[i].ns[round] = slice(&variants[i]);
    for (size_t i = 0; i < count; i++)
        variants[i].median = sample_median(variants[i].ns, ROUNDS);
}

/* ---- what is done ---------------------------------------------------------- */

static void
step_fifo(struct rig *rig)
{
    rig_exchange(rig, RIG_FIFO);
}

static void
step_random(struct rig *rig)
{
    rig_exchange(rig, RIG_RANDOM);
}

static void
bare_message(const char *text)
{
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    char *copy = yyjson_write(doc, 0, NULL);

    if (!copy)
        abort();
    free(copy);
    yyjson_doc_free(doc);
}

/* yyjson and nothing else, on the messages that this rig has seen. */
static void
step_bare(struct rig *rig)
{
    bare_message(rig->request);
    bare_message(rig->response);
}

static double
count_allocations(struct rig *rig, void (*step)(struct rig *rig))
{
    size_t before;

    for (int i = 0; i < 1000; i++) /* tables and buffers reach their size */
        step(rig);
    before = rig->tally.allocations;
    for (int i = 0; i < 1000; i++)
        step(rig);
    return (double)(rig->tally.allocations - before) / 1000;
}

/* ---- tables ---------------------------------------------------------------- */

static const char *
verdict(double ratio, double aim)
{
    return ratio <= aim ? "met" : "MISSED";
}

/* One era: yyjson alone, a call that is answered, a call that is canceled. */
struct trip {
    const char *name;
    enum mcpi_era era;
    struct rig *counted, *timed;
    size_t request, response; /* bytes */
};

static void
trip_begin(struct trip *trip, struct variant v[3])
{
    trip->counted = rig_new(trip->era, 1, true);
    trip->timed = rig_new(trip->era, 1, false);
    rig_exchange(trip->counted, RIG_FIFO);
    trip->request = strlen(trip->counted->request);
    trip->response = strlen(trip->counted->response);
    v[0] = (struct variant){.step = step_bare, .rig = trip->counted};
    v[1] = (struct variant){.step = step_fifo, .rig = trip->timed};
    v[2] = (struct variant){.step = rig_cancel, .rig = trip->timed};
}

static void
trip_end(struct trip *trip, const struct variant v[3])
{
    double bare = v[0].median, call = v[1].median, cancel = v[2].median;

    printf("  %s, %zu bytes asked, %zu answered\n", trip->name, trip->request,
           trip->response);
    printf("    %-20s %12.0f %8.0f %12s %9.2fx\n", "yyjson alone", 1e9 / bare, bare, "",
           1.0);
    printf("    %-20s %12.0f %8.0f %12.2f %9.2fx %6s %s\n", "call and answer",
           1e9 / call, call, count_allocations(trip->counted, step_fifo), call / bare,
           "3x", verdict(call / bare, 3));
    printf("    %-20s %12.0f %8.0f %12.2f\n", "call and cancel", 1e9 / cancel, cancel,
           count_allocations(trip->counted, rig_cancel));
    rig_free(trip->counted);
    rig_free(trip->timed);
}

static void
bench_round_trip(void)
{
    struct trip trips[2] = {{.name = "modern", .era = MCPI_ERA_MODERN},
                            {.name = "legacy", .era = MCPI_ERA_LEGACY}};
    struct variant v[6] = {{0}};

    trip_begin(&trips[0], &v[0]);
    trip_begin(&trips[1], &v[3]);
    measure(v, 6);
    printf("One round trip, both ends on one thread\n\n"
           "  %-22s %12s %8s %12s %10s %6s\n",
           "", "a second", "ns", "allocations", "to yyjson", "aim");
    trip_end(&trips[0], &v[0]);
    trip_end(&trips[1], &v[3]);
}

static void
print_order(const char *name, const struct variant *v, size_t count,
            const size_t *depths)
{
    double smallest = v[0].median;
    double largest = v[count - 1].median;

    for (size_t i = 0; i < count; i++)
        printf("  %-16s %10zu %12.0f %8.0f %9.2fx\n", i ? "" : name, depths[i],
               1e9 / v[i].median, v[i].median, v[i].median / smallest);
    printf("  %-16s %10s %12s %8s %9.2fx %6s %s\n", "", "apart", "", "",
           largest / smallest, "2x", verdict(largest / smallest, 2));
}

static void
bench_in_flight(void)
{
    static const size_t depths[] = {10, 100, 1000, 10000, 100000};
    enum { COUNT = sizeof(depths) / sizeof(depths[0]) };
    struct variant v[2 * COUNT] = {{0}};
    struct rig *rigs[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        rigs[i] = rig_new(MCPI_ERA_MODERN, depths[i], false);
        v[i] = (struct variant){.step = step_fifo, .rig = rigs[i]};
        v[COUNT + i] = (struct variant){.step = step_random, .rig = rigs[i]};
    }
    measure(v, sizeof(v) / sizeof(v[0]));
    printf("\nThe same with requests in flight: each one answered is replaced\n\n"
           "  %-16s %10s %12s %8s %10s %6s\n",
           "answered", "in flight", "a second", "ns", "to first", "aim");
    print_order("in order", v, COUNT, depths);
    print_order("in random order", v + COUNT, COUNT, depths);
    for (size_t i = 0; i < COUNT; i++)
        rig_free(rigs[i]);
}

int
main(void)
{
    bench_round_trip();
    bench_in_flight();
    bench_schema();
    return 0;
}
