/*
 * auth/safe.h - memory as authorization has it: one that wipes, in front of one that
 * counts, fails, and looks for a secret in what is freed
 */
#ifndef TESTS_AUTH_SAFE_H
#define TESTS_AUTH_SAFE_H

#include "auth/wipe.h"
#include "support/test.h"

/* Every secret of these tests has it in it. */
#define SECRET "S3CR3T-of-all"

struct safe {
    struct test_mem own, *mem;
    struct mcpi_wipe wipe;
    const mcp_allocator *allocator; /* to be used */
};

/* mem NULL: its own. */
static inline void
safe_init(struct safe *safe, struct test_mem *mem)
{
    test_mem_init(&safe->own);
    safe->mem = mem ? mem : &safe->own;
    safe->mem->secret = SECRET;
    mcpi_wipe_init(&safe->wipe, &safe->mem->allocator);
    safe->allocator = &safe->wipe.allocator;
}

static inline void
safe_done(struct safe *safe)
{
    test_mem_done(safe->mem);
}

#endif
