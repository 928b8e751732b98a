/*
 * wipe.h - memory for secrets: wiped before it is freed
 *
 * An allocator in front of another one. What is made from it (a document, a builder, a
 * buffer) leaves nothing behind, also where it grows and moves. Each block is a little
 * larger.
 */
#ifndef MCPI_AUTH_WIPE_H
#define MCPI_AUTH_WIPE_H

#include <mcp/base.h>

struct mcpi_wipe {
    mcp_allocator allocator; /* to be handed out; lives as long as this, in its place */
    const mcp_allocator *mem;
};

/* mem NULL: malloc. There is no done: it holds nothing. */
void mcpi_wipe_init(struct mcpi_wipe *wipe, const mcp_allocator *mem);

#endif
