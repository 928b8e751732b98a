/*
 * support/client_clock.h - a client of the public API whose time can be made to pass
 *
 * Its clock runs as the real one does, and an hour passes when the test says so: what has
 * a timeout of an hour times out then, and not before.
 */
#ifndef TESTS_SUPPORT_CLIENT_CLOCK_H
#define TESTS_SUPPORT_CLIENT_CLOCK_H

#include "api/client.h"
#include "support/virtual_clock.h"

#define HOUR_MS 3600000

/* From now on; the clock must outlive the client. */
static inline void
client_clock_hold(struct virtual_clock *clock, mcp_client *client)
{
    virtual_clock_init_running(clock);
    virtual_clock_hold(clock, client->host.inside);
}

#endif
