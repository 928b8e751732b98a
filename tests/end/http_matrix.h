/* http_matrix.h - the cases of http_matrix_test.c, by what they are about */
#ifndef TESTS_END_HTTP_MATRIX_H
#define TESTS_END_HTTP_MATRIX_H

#include "support/http_matrix.h"

extern const struct matrix_table matrix_calls;    /* ids, answers, progress, logs */
extern const struct matrix_table matrix_cancels;  /* a cancel, in whatever spelling */
extern const struct matrix_table matrix_leaving;  /* clients that leave, or are quiet */
extern const struct matrix_table matrix_sessions; /* legacy: frames, ends, resuming */
extern const struct matrix_table matrix_asking;   /* questions, and rounds */
extern const struct matrix_table matrix_listens;  /* changes */
extern const struct matrix_table matrix_stops;    /* our own end */
extern const struct matrix_table matrix_guards;   /* who may come, and how much */

/* A case named as its function, behind its items; with options of its own. */
#define CASE(items, function, where)                                 \
    {                                                                \
        .name = items #function, .run = (function), .cells = (where) \
    }
#define CASE_WITH(items, function, where, ...)                                    \
    {                                                                             \
        .name = items #function, .run = (function), .cells = (where), __VA_ARGS__ \
    }

#define MATRIX_COUNT(cases) (sizeof(cases) / sizeof((cases)[0]))

#endif
