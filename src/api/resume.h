/*
 * resume.h - tokens that a call is taken up again with: which request, after which event
 *
 * An id as JSON, a blank, and the id of the event as it came: `7 event-9`. To the user a
 * token is opaque. It names the request because a cancel must: the server knows the
 * work by no other name.
 */
#ifndef MCPI_API_RESUME_H
#define MCPI_API_RESUME_H

#include "wire/id.h"
#include "wire/sse.h"

/* Longest token; each byte of an id may be six of JSON. */
#define MCPI_RESUME_MAX (6 * MCPI_ID_MAX + 3 + MCPI_SSE_NAME_MAX)

struct mcpi_resume {
    struct mcpi_id id;
    const char *event; /* terminated; in the token */
    mcp_doc *doc;      /* where the text of the id is */
};

/* Append a token; a failure is the buffer's. */
void mcpi_resume_write(struct mcpi_buf *into, const struct mcpi_id *id,
                       const char *event);

/* Read one, which must outlive *ret. MCP_E_INVAL: it is none, or names what may be no id
 * of ours or no header; MCP_E_NOMEM. */
int mcpi_resume_read(const mcp_allocator *mem, const char *token,
                     struct mcpi_resume *ret);
void mcpi_resume_done(struct mcpi_resume *resume); /* a zeroed one ok */

#endif
