/*
 * isolation.h - the isolated tools of a server: a thread with a loop, and their crews
 *
 * Everything about helpers happens on that one thread: starting a process takes
 * milliseconds, which no other loop shall wait for. A request of an isolated tool is
 * handed to it and ended there; only that thread touches it from then on.
 */
#ifndef MCPI_API_ISOLATION_H
#define MCPI_API_ISOLATION_H

#include <mcp/isolate.h>

#include "run/loop.h"

struct mcpi_crew;
struct mcpi_isolation;

/* The crew of an isolated tool of this server: read its options, start the thread if
 * this is the first. The caller's to let go. MCP_E_INVAL, MCP_E_STATE, MCP_E_LIMIT,
 * MCP_E_NOMEM: err says why. [any] */
int mcpi_isolation_add(mcp_server *server, const mcp_tool *definition,
                       struct mcpi_crew **ret_crew, mcp_error *err);

/* Let it go: its tool is gone, and with it all its requests. Its helpers end now, those
 * that were told to stop within their grace. [any] NULL ok */
void mcpi_crew_free(struct mcpi_crew *crew);

/* What is in the tool's place as its handler; user is the crew. */
int mcpi_crew_start(mcp_request *req, mcp_result *out, void *user);

/* The server has stopped: start no helper any more and end all that there are. Those
 * that were told to stop have patience_us for that, then all are killed; one that
 * does not even then is given up, with a line in the log. `gone` is posted to that
 * loop when none is left. Once. [any] */
void mcpi_isolation_end(struct mcpi_isolation *isolation, int64_t patience_us,
                        struct mcpi_loop *loop, struct mcpi_post *gone);

/* The server goes, and all its tools have gone: kill what is left and end the
 * thread; no helper is left when this returns, within two seconds. Not on that
 * thread. NULL ok */
void mcpi_isolation_free(struct mcpi_isolation *isolation);

/* Is this its thread? [any] NULL ok */
bool mcpi_isolation_is_here(const struct mcpi_isolation *isolation);

/* Counters for mcp_server_count. [any] NULL ok */
void mcpi_isolation_count(const struct mcpi_isolation *isolation,
                          mcp_server_counts *into);

#endif
