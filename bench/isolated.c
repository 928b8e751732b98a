/*
 * isolated.c - what a process of its own costs a call, and how soon it is gone
 *
 * The same echo inline, on a worker and in a helper process, of one server. Time on the
 * wall, for an isolated call is paid in two processes, and on any core. Then a tool that
 * hears nothing is canceled: from the cancel's last byte until the kernel says that its
 * process has exited. Its grace is none, so that this is what the killing takes.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sample.h"
#include "tables.h"

enum { ROUNDS = 9, CALLS = 200, ENDS = 41, DEAD_MS = 10000 };
enum { INLINE, WORKER, ISOLATED, KINDS };

static const struct recipe recipes[KINDS] = {
    [INLINE] = {.argv = {"bench-server", "--isolated"},
                .tool = "echo_inline",
                .arguments = ECHO_ARGUMENTS,
                .expected = ECHO_TEXT},
    [WORKER] = {.argv = {"bench-server", "--isolated"},
                .tool = "echo_blocking",
                .arguments = ECHO_ARGUMENTS,
                .expected = ECHO_TEXT},
    [ISOLATED] = {.argv = {"bench-server", "--isolated"},
                  .tool = "echo_isolated",
                  .arguments = ECHO_ARGUMENTS,
                  .expected = ECHO_TEXT},
};

/* ---- calls ----------------------------------------------------------------- */

static double
wall_measure(struct target *target, int depth)
{
    double start = clock_now();

    if (depth == 1)
        target_call(target, CALLS);
    else
        target_flood(target, CALLS);
    return (clock_now() - start) / CALLS;
}

static void
kinds_measure(struct target *targets, int depth, double *ret_us)
{
    double us[KINDS][ROUNDS];

    for (int round = -1; round < ROUNDS; round++) { /* the first is to warm up */
        for (int kind = 0; kind < KINDS; kind++)
            us[kind][round < 0 ? 0 : round] = wall_measure(&targets[kind], depth);
    }
    for (int kind = 0; kind < KINDS; kind++)
        ret_us[kind] = sample_median(us[kind], ROUNDS);
}

static void
calls_measure(void)
{
    static const int depths[] = {1, IN_FLIGHT};
    struct target targets[KINDS];
    double us[KINDS];

    for (int kind = 0; kind < KINDS; kind++) {
        must(target_start(&targets[kind], &recipes[kind], ANY_CORE), "no bench-server");
        target_check(&targets[kind], &recipes[kind]);
    }
    for (int i = 0; i < 2; i++) {
        kinds_measure(targets, depths[i], us);
        printf("  %10d %10.1f %10.1f %10.1f %9.1fx %9.1fx\n", depths[i], us[INLINE],
               us[WORKER], us[ISOLATED], us[ISOLATED] / us[INLINE],
               us[ISOLATED] / us[WORKER]);
    }
    for (int kind = 0; kind < KINDS; kind++)
        target_stop(&targets[kind]);
}

/* ---- the end of one that does not listen ------------------------------------- */

/* The process id is the message of its progress. */
static long
pid_read(struct target *target)
{
    static const char before[] = "\"message\":\"";
    char line[LINE_ROOM * 4];
    const char *at;

    target_read(target, line, sizeof(line));
    at = strstr(line, before);
    must(at != NULL, "no progress of a tool");
    return at ? strtol(at + sizeof(before) - 1, NULL, 10) : 0;
}

static double
end_measure(struct target *target, int id)
{
    struct pollfd watched = {.events = POLLIN};
    char text[256];
    double start;

    (void)snprintf(
        text, sizeof(text),
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":"
        "{\"name\":\"deaf_isolated\",\"_meta\":{\"progressToken\":%d}}}\n",
        id, id);
    target_write(target, text);
    watched.fd = (int)syscall(SYS_pidfd_open, pid_read(target), 0);
    must(watched.fd >= 0, "no helper process");
    (void)snprintf(text, sizeof(text),
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                   "\"params\":{\"requestId\":%d}}\n",
                   id);
    target_write(target, text);
    start = clock_now();
    must(poll(&watched, 1, DEAD_MS) == 1, "a helper outlives its call");
    start = clock_now() - start;
    close(watched.fd);
    return start;
}

static double
ends_measure(void)
{
    struct target target;
    double us[ENDS];

    must(target_start(&target, &recipes[INLINE], ANY_CORE), "no bench-server");
    for (int i = 0; i < ENDS; i++)
        us[i] = end_measure(&target, i + 1);
    target_stop(&target);
    return sample_median(us, ENDS);
}

void
bench_isolated(void)
{
    double us;

    printf("A call in a process of its own, in microseconds on the wall\n\n"
           "  %10s %10s %10s %10s %10s %10s\n",
           "in flight", "inline", "worker", "isolated", "of inline", "of worker");
    calls_measure();
    us = ends_measure();
    printf(
        "\n  from a cancel to the end of a process that ignores it, without a grace: "
        "%.2f ms\n\n",
        us / 1000);
    aim_at_most("a process that ignores its cancel is gone after its grace", us / 1000,
                50, " ms");
    printf("\n");
}
