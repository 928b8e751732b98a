/*
 * browser_desk.h - where the browser of one visit comes back to: a port of this machine
 *
 * It listens on loopback only, with a thread of its own, and tells the visit of the first
 * request that is an answer (browser_page.h) to the page that was opened. All others get
 * their page, and the waiting goes on: who does not know the state can spoil nothing. Who
 * connects and says nothing is in nobody's way: there is a limit to how many there are at
 * once, and the oldest goes for the newest.
 */
#ifndef MCPI_AUTH_BROWSER_DESK_H
#define MCPI_AUTH_BROWSER_DESK_H

#include <mcp/auth.h>

/* A connection that is not finished by then is closed: ten times what a browser on this
 * machine needs on a bad day. */
#define MCPI_DESK_CLIENT_MS 10000

struct mcpi_desk;

struct mcpi_desk_options {
    const mcp_allocator *mem;
    const char *host;  /* in the URI: "127.0.0.1"; or "localhost", which is [::1] too */
    const char *path;  /* likewise; begins with '/' */
    int port;          /* 0: any */
    int earlier;       /* any, but this one if it is free; 0: none */
    int64_t client_ms; /* 0: MCPI_DESK_CLIENT_MS */
    mcp_auth_visit *visit;
};

/* Listens from now on. MCP_E_STATE: the port is in use; MCP_E_INVAL: it is not ours to
 * use; MCP_E_LIMIT: no descriptor, or no thread; MCP_E_NOMEM. [any] */
int mcpi_desk_new(const struct mcpi_desk_options *opt, struct mcpi_desk **ret_desk);

/* The page at that URL is about to be opened: an answer is what brings its state, and there
 * is none before. Once, on the thread that made it. MCP_E_INVAL: a URL without a state, or
 * with two; MCP_E_STATE: another was before; MCP_E_NOMEM. */
int mcpi_desk_expect(struct mcpi_desk *desk, const char *url);

/* Stops, and waits for the thread, which waits for nobody: the visit is told nothing from
 * now on. NULL ok. */
void mcpi_desk_free(struct mcpi_desk *desk);

/* "http://127.0.0.1:4321/callback"; shorter than MCP_AUTH_URI_MAX. */
const char *mcpi_desk_uri(const struct mcpi_desk *desk);

#endif
