/*
 * handlers.c - what a blocking handler costs more than an inline one
 *
 * Both are the same echo in the same program. An inline one is answered on the loop; a
 * blocking one goes to a worker thread and back. What is counted is the processor time
 * of the server, all its threads together.
 */
#include <stdio.h>

#include "sample.h"
#include "tables.h"

enum { ROUNDS = 15, SLICE_US = 40000, WARM_US = 200000 };

enum { INLINE, BLOCKING, KINDS };

static const struct recipe recipes[KINDS] = {
    [INLINE] = {.argv = {"bench-server"},
                .tool = "echo_inline",
                .arguments = ECHO_ARGUMENTS,
                .expected = ECHO_TEXT},
    [BLOCKING] = {.argv = {"bench-server"},
                  .tool = "echo_blocking",
                  .arguments = ECHO_ARGUMENTS,
                  .expected = ECHO_TEXT},
};

static void
kinds_measure(struct target *targets, int depth, double *ret_us)
{
    double us[KINDS][ROUNDS];

    for (int kind = 0; kind < KINDS; kind++)
        (void)cost_measure(&targets[kind], depth, WARM_US);
    for (int round = 0; round < ROUNDS; round++) {
        for (int kind = 0; kind < KINDS; kind++)
            us[kind][round] = cost_measure(&targets[kind], depth, SLICE_US).server;
    }
    for (int kind = 0; kind < KINDS; kind++)
        ret_us[kind] = sample_median(us[kind], ROUNDS);
}

/* Returns how much more the blocking one costs with 1 in flight. */
static double
place_measure(const char *place, enum spot spot)
{
    static const int depths[] = {1, IN_FLIGHT};
    struct target targets[KINDS];
    double us[KINDS], more[2];

    for (int kind = 0; kind < KINDS; kind++) {
        must(target_start(&targets[kind], &recipes[kind], spot), "no bench-server");
        target_check(&targets[kind], &recipes[kind]);
    }
    for (int i = 0; i < 2; i++) {
        kinds_measure(targets, depths[i], us);
        more[i] = us[BLOCKING] - us[INLINE];
        printf("  %-24s %10d %10.2f %10.2f %10.2f\n", place, depths[i], us[INLINE],
               us[BLOCKING], more[i]);
    }
    for (int kind = 0; kind < KINDS; kind++)
        target_stop(&targets[kind]);
    return more[0] > more[1] ? more[0] : more[1];
}

void
bench_handlers(void)
{
    double one, any;

    printf("Processor time of the server for one call, in microseconds\n\n"
           "  %-24s %10s %10s %10s %10s\n",
           "", "in flight", "inline", "blocking", "more");
    one = place_measure("on one core", SAME_CORE);
    any = place_measure("on any core", ANY_CORE);
    printf("\n");
    aim_at_most("a blocking handler costs more, on one core", one, 20, " us");
    aim_at_most("the same on any core", any, 20, " us");
    printf("\n");
}
