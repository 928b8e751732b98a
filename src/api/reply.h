/*
 * reply.h - replies, as the rest of the api sees them
 *
 * A reply is the document of the message that brought it, so that the end of a call
 * makes nothing and cannot fail for want of memory.
 */
#ifndef MCPI_API_REPLY_H
#define MCPI_API_REPLY_H

#include <mcp/client.h>

/* The same reference, by another name. NULL for NULL. */
static inline mcp_reply *
mcpi_reply_of(mcp_doc *doc)
{
    return (mcp_reply *)doc;
}

/* And back; borrowed. */
static inline mcp_doc *
mcpi_reply_doc(const mcp_reply *reply)
{
    return (mcp_doc *)(uintptr_t)reply;
}

#endif
