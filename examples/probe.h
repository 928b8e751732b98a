/* probe.h - what the two halves of probe-server share: how it is served over HTTP */
#ifndef PROBE_H
#define PROBE_H

#include <mcp/http.h>

struct probe_http {
    mcp_http_options options;
    bool is_wanted; /* --http was said */
    bool resumes;
    const char *origins[2];
    mcp_memory_store *store; /* freed after the server */
};

/* The words of a command line, in any order; false: that is not understood. */
bool probe_read_http(int count, char **words, struct probe_http *choice);

/* Listen, say where, and run until it is stopped. */
int probe_serve_http(mcp_server *server, struct probe_http *choice, mcp_error *err);

#endif
