/* client_fixture.h - a client of a scripted server, on memory that is counted */
#ifndef TESTS_API_CLIENT_FIXTURE_H
#define TESTS_API_CLIENT_FIXTURE_H

#include <mcp/client.h>
#include <string.h>

#include "api/client.h"
#include "support/script.h"
#include "support/test.h"
#include "support/virtual_clock.h"

struct fixture {
    struct test_mem mem;
    struct script s;
    struct told told;
    mcp_client *client;
    struct virtual_clock clock; /* after fixture_hold_time */
};

/* Everything but the client. */
static inline void
fixture_prepare(struct fixture *f, enum mcp_era era)
{
    memset(f, 0, sizeof *f);
    test_mem_init(&f->mem);
    told_init(&f->told);
    script_open(&f->s, era);
}

/* And the client, in the era that the case is run for; modern without one. */
static inline void
fixture_open(struct fixture *f, void **state)
{
    enum mcp_era *era = *state;

    fixture_prepare(f, era ? *era : MCP_ERA_MODERN);
    f->client = script_client(&f->s, &SCRIPT_OPTIONS(.allocator = &f->mem.allocator));
}

/* From now on the client's time stands still, but for what passes on f->clock. */
static inline void
fixture_hold_time(struct fixture *f)
{
    virtual_clock_init(&f->clock);
    virtual_clock_hold(&f->clock, f->client->host.inside);
}

static inline void
fixture_close(struct fixture *f)
{
    mcp_client_free(f->client);
    script_close(&f->s);
    told_clear(&f->told);
    test_mem_done(&f->mem);
}

#endif
