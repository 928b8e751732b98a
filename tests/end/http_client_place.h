/* http_client_place.h - a rig of a case's own, with two calls */
#ifndef TESTS_END_HTTP_CLIENT_PLACE_H
#define TESTS_END_HTTP_CLIENT_PLACE_H

#include "end/http_client_rig.h"

/* A case that fails leaves its rig behind, for threads may still use it. */
struct place {
    struct rig r;
    struct rig_call c, d;
};

static inline struct place *
place_open(unsigned cell, const struct rig_options *opt)
{
    struct place *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    rig_open(&p->r, cell, false, opt);
    return p;
}

static inline void
place_close(struct place *p)
{
    rig_close(&p->r);
    free(p);
}

#endif
