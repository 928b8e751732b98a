/*
 * http.c - servers over HTTP: how fast, how big, how soon a cancel is known
 *
 * Driver and server have a core each. All servers of a table run at once and are driven
 * in turns, in short slices; a number is the median of its slices.
 */
#include <stdio.h>
#include <unistd.h>

#include "http_tables.h"

enum { LONGEST_S = 300 };

const struct http_recipe http_ours = {.argv = {"bench-http-server"}};
const struct http_recipe http_ours_legacy = {.argv = {"bench-http-server"},
                                             .is_legacy = true};

static char answer_bytes[16];
struct http_recipe http_bare = {.argv = {"bench-bare-http", answer_bytes},
                                .is_bare = true};

static void
answer_measure(void)
{
    static struct http_target target;

    must(http_target_start(&target, &http_ours), "bench-http-server does not start");
    (void)snprintf(answer_bytes, sizeof(answer_bytes), "%zu", target.answer);
    http_target_stop(&target);
}

int
main(void)
{
    alarm(LONGEST_S); /* whoever does not answer is not waited for without end */
    descriptors_raise();
    if (!driver_settle())
        printf("There is one core here: driver and server share it.\n\n");
    answer_measure();
    bench_http_speed();
    bench_http_leaving();
    bench_http_streams();
    return 0;
}
