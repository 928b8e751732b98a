/* probe.h - a client of the library's own and probe-server, spawned, over stdio */
#ifndef TESTS_END_PROBE_H
#define TESTS_END_PROBE_H

#include "support/test.h"

#include <mcp/client.h>

/* What probe-server's `stats` says. */
struct probe_stats {
    int64_t live_handlers, started, completed, canceled;
    int64_t pool_free, workers, open_fds, rss_kb;
    int64_t connections, sessions, streams; /* over HTTP */
    int64_t helpers, busy_helpers, killed_helpers;
};

struct probe {
    mcp_client *client;
};

/* Spawn it and speak in that era; BOTH finds out. Asserts that it works. */
void probe_open(struct probe *p, enum mcp_era era);
void probe_close(struct probe *p); /* and asserts that its process is gone */

struct probe_stats probe_stats(struct probe *p);

/* Ask until no handler is alive (or that many), and return the stats. */
struct probe_stats probe_calm(struct probe *p, int64_t live);

/* A plain call that must be answered with this text. */
void probe_expect(struct probe *p, const char *tool, const char *arguments,
                  const char *text);

/* Wait until it is true, asking again and again; asserts that it became true. */
void wait_until(bool (*is_true)(void *user), void *user);

/* Descriptors of this process. */
size_t count_descriptors(void);

#endif
