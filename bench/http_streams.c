/* http_streams.c - clients that leave, and streams that are open and quiet */
#include <stdio.h>
#include <sys/resource.h>

#include "http_tables.h"
#include "sample.h"

enum { CLOSES = 401 };

/* Streams of which the first ones fill what is kept anyway, and those that count. */
enum { WARM = 200, IDLE = 2000 };

enum { FEW = 10, MANY = 10000, MOST = MANY, SPARE = 512 };
enum { ROUNDS = 15, SLICE_US = 60000, WARM_US = 300000 };

static int fds[MOST];

/* ---- leaving --------------------------------------------------------------- */

void
bench_http_leaving(void)
{
    static struct http_target bare, ours;
    static double seen[CLOSES], silent[CLOSES], streaming[CLOSES];
    double bare_us, silent_us, streaming_us, worst;

    must(http_target_start(&bare, &http_bare), "bench-bare-http does not start");
    must(http_target_start(&ours, &http_ours), "bench-http-server does not start");
    for (int i = 0; i < CLOSES; i++) {
        seen[i] = http_close_measure(&bare, HANG_SILENT);
        silent[i] = http_close_measure(&ours, HANG_SILENT);
        streaming[i] = http_close_measure(&ours, HANG_STREAM);
    }
    bare_us = sample_median(seen, CLOSES);
    silent_us = sample_median(silent, CLOSES);
    streaming_us = sample_median(streaming, CLOSES);
    printf("From the client's close to the handler's cancel, in microseconds\n\n"
           "  %-24s %10.1f\n  %-24s %10.1f\n  %-24s %10.1f\n\n",
           "bare epoll reads EOF", bare_us, "libmcp, before an answer", silent_us,
           "libmcp, stream open", streaming_us);
    worst = silent_us > streaming_us ? silent_us : streaming_us;
    aim_at_most("libmcp to bare epoll", worst / bare_us, 3, "x");
    printf("\n");
    http_target_stop(&bare);
    http_target_stop(&ours);
}

/* ---- memory ---------------------------------------------------------------- */

static double
idle_measure(enum hanging kind)
{
    static struct http_target target;
    long before, after;

    must(http_target_start(&target, kind == HANG_GET ? &http_ours_legacy : &http_ours),
         "bench-http-server does not start");
    http_streams_open(&target, kind, WARM, fds);
    before = process_memory(&target.process, "VmRSS:");
    http_streams_open(&target, kind, IDLE, fds + WARM);
    after = process_memory(&target.process, "VmRSS:");
    http_target_check(&target);
    http_streams_close(fds, WARM + IDLE);
    http_target_stop(&target);
    return (double)(after - before) * 1024 / IDLE;
}

static void
bench_idle(void)
{
    double call = idle_measure(HANG_STREAM);
    double listen = idle_measure(HANG_LISTEN);
    double get = idle_measure(HANG_GET);

    printf("Resident memory of the server for each open and quiet stream, in bytes\n\n"
           "  %-24s %10.0f\n  %-24s %10.0f\n  %-24s %10.0f\n\n",
           "GET of a session", get, "a call that waits", call, "subscriptions/listen",
           listen);
    aim_at_most("GET of a session", get / 1000, 2, " kB");
    aim_at_most("a call that waits", call / 1000, 2, " kB");
    aim_at_most("subscriptions/listen", listen / 1000, 2, " kB");
    printf("\n");
}

/* ---- cost ------------------------------------------------------------------ */

/* As many as there are descriptors for. */
static int
many_find(void)
{
    struct rlimit limit;

    must(getrlimit(RLIMIT_NOFILE, &limit) == 0, "no limit of descriptors");
    if (limit.rlim_cur >= MANY + SPARE)
        return MANY;
    must(limit.rlim_cur > SPARE + FEW, "there are hardly any descriptors here");
    printf("This machine allows %ld descriptors only.\n\n", (long)limit.rlim_cur);
    return (int)limit.rlim_cur - SPARE;
}

static void
bench_many(void)
{
    static struct http_target few, many;
    static int few_fds[FEW];
    double few_us[ROUNDS], many_us[ROUNDS], less, more;
    int count = many_find();

    must(http_target_start(&few, &http_ours), "bench-http-server does not start");
    must(http_target_start(&many, &http_ours), "bench-http-server does not start");
    http_streams_open(&few, HANG_LISTEN, FEW, few_fds);
    http_streams_open(&many, HANG_LISTEN, count, fds);
    (void)http_target_drive(&few, LANES, WARM_US);
    (void)http_target_drive(&many, LANES, WARM_US);
    for (int i = 0; i < ROUNDS; i++) {
        few_us[i] = http_target_drive(&few, LANES, SLICE_US).server;
        many_us[i] = http_target_drive(&many, LANES, SLICE_US).server;
    }
    less = sample_median(few_us, ROUNDS);
    more = sample_median(many_us, ROUNDS);
    printf("Processor time of the server for one echo, in microseconds\n\n"
           "  %6d open streams %16.2f\n  %6d open streams %16.2f\n\n",
           FEW, less, count, more);
    aim_at_most("with many open streams, to with few", more / less, 1.5, "x");
    printf("\n");
    http_target_check(&many);
    http_streams_close(few_fds, FEW);
    http_streams_close(fds, count);
    http_target_stop(&few);
    http_target_stop(&many);
}

void
bench_http_streams(void)
{
    bench_idle();
    bench_many();
}
