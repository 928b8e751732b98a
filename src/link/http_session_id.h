/* http_session_id.h - ids that clients bring back: of sessions, and of their events */
#ifndef MCPI_LINK_HTTP_SESSION_ID_H
#define MCPI_LINK_HTTP_SESSION_ID_H

#include <mcp/base.h>

/* Make a new id of a session of that shard; into has room for MCPI_SESSION_ID bytes.
 * MCP_E_LIMIT: there are no random bytes. mcpi_session_shard reads it. */
int mcpi_session_id_make(char *into, unsigned shard);

/* Are the two the same? Takes as long, whatever they are. Also for principals. */
bool mcpi_session_id_is(const char *a, const char *b);

/* Read the id of an event, "<stream>-<number>". */
bool mcpi_event_id_read(const char *text, uint64_t *ret_stream, uint64_t *ret_number);

#endif
