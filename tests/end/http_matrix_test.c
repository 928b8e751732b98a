/*
 * http_matrix_test.c - what must hold over HTTP, in each way to speak it
 *
 * Five cells, each plain and with TLS: modern and legacy, with streams or only JSON
 * bodies, and legacy without sessions. What holds on one link must hold on all (G10).
 */
#include "end/http_matrix.h"

int
main(void)
{
    const struct matrix_table tables[] = {
        matrix_calls,  matrix_cancels, matrix_leaving, matrix_sessions,
        matrix_asking, matrix_listens, matrix_stops,   matrix_guards};

    return matrix_main(__FILE__, tables, MATRIX_COUNT(tables));
}
