/*
 * http_client_matrix.h - how calls over HTTP end: each cause, each phase, each cell
 *
 * A phase says how far the server has come with a call. A cause ends the call there.
 * What the server then sees follows from the era, and from how much of the request has
 * left. Beside the call there is another one, which must not be disturbed, unless the
 * client is closed.
 */
#ifndef TESTS_END_HTTP_CLIENT_MATRIX_H
#define TESTS_END_HTTP_CLIENT_MATRIX_H

#include "end/http_client_rig.h"

/* How much of the request has left when the cause comes. */
enum run_left {
    LEFT_NOTHING,
    LEFT_PART,
    LEFT_ALL,
    LEFT_ANSWERED, /* and its answer is on its way */
    LEFT_BROKEN    /* its stream is lost, and will be, or is being, resumed */
};

struct run {
    struct rig *r;
    const struct phase *phase;
    const struct cause *cause;
    mcp_call_options opt; /* of the call */
    struct rig_call c;
    struct visit v;       /* its connection; fd -1: none */
    struct visit *stream; /* what its answer comes on: v, or the one of 2024-11-05 */
    struct rig_call other;
    struct visit other_v;
    mcp_scope *scope;
    int block; /* from rig_block; -1: none */
};

struct phase {
    const char *name;
    unsigned cells;
    enum run_left left;
    void (*drive)(struct run *u);
};

struct cause {
    const char *name;
    const char *modern, *legacy, *stateless; /* what it proves where */
    int status;                              /* 0: nobody to tell */
    bool closes;                             /* the client */
    bool plain_only;                         /* TLS can make no difference */
    bool (*fits)(const struct rig *r, const struct phase *phase); /* NULL: all */
    void (*strike)(struct run *u);
    void (*expect)(struct run *u);
};

extern const struct phase run_phases[];
extern const size_t run_phase_count;
extern const struct cause run_causes[];
extern const size_t run_cause_count;

/* Begin: a call on this rig, to be driven into that phase. */
void run_begin(struct run *u, struct rig *r, const struct phase *phase);

/* More cases of a cell, each for plain and TLS. */
struct cell_case {
    const char *name;
    unsigned cells;
    bool plain_only;
    void (*run)(struct rig *r); /* which it opens and closes */
};
extern const struct cell_case run_more[];
extern const size_t run_more_count;

/* All that there is for these cells. Returns what main should. A case that fails leaves
 * its rig behind, for threads may still use it. */
int run_main(const char *file, unsigned which);

#endif
