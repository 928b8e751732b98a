/* support/ids.h - calls with ids of the test's choice */
#ifndef TESTS_SUPPORT_IDS_H
#define TESTS_SUPPORT_IDS_H

#include <string.h>

#include "support/fake.h"

static inline struct mcpi_id
text_id(const char *text)
{
    return mcpi_id_string(text, strlen(text));
}

static inline int
try_id(struct fake *f, struct mcpi_id id, struct outcome *out)
{
    struct mcpi_call_options opt = {.id = &id};

    return world_try_call(&f->w, CLIENT, &opt, out);
}

static inline void
start_id(struct fake *f, struct mcpi_id id, struct outcome *out)
{
    assert_int_equal(try_id(f, id, out), 0);
}

#endif
