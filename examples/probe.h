/* probe.h - what the parts of probe-server share: serving HTTP, looking at itself */
#ifndef PROBE_H
#define PROBE_H

#include <mcp/auth.h>

/* ---- probe_http.c ---------------------------------------------------------------- */

#define PROBE_ORIGINS 8

struct probe_http {
    mcp_http_options options;
    bool is_wanted; /* --http was said */
    bool resumes;
    int64_t drain_ms, stop_ms; /* of a stop; 0: as the library has it */
    const char *origins[PROBE_ORIGINS + 1];
    size_t origin_count;
    const char *issuers[2];     /* --guard was said, if there is one */
    mcp_guard_options guarding; /* what else was */
    mcp_memory_store *store;
    mcp_guard *guard;
};

/* The words of a command line, in any order; false: that is not understood. */
bool probe_read_http(int count, char **words, struct probe_http *choice);

/* Listen, say where, and run until it is stopped. */
int probe_serve_http(mcp_server *server, struct probe_http *choice, mcp_error *err);

/* After the server is freed. */
void probe_http_done(struct probe_http *choice);

/* ---- probe_stats.c --------------------------------------------------------------- */

struct probe_stats {
    int64_t live_handlers, started, completed, cancelled, pool_free; /* counted there */
    int64_t workers, open_fds, rss_kb;
    int64_t connections, sessions, streams;
    int64_t helpers, busy_helpers, killed_helpers;
};

extern const mcp_field probe_stats_fields[];

/* All but those of the first line; any thread. */
void probe_look(mcp_server *server, struct probe_stats *into);
void probe_look_done(void);

#endif
