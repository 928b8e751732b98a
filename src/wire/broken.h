/*
 * broken.h - what can still be told of a text that cannot be parsed: whose message it is
 *
 * Its sender may be waiting for an answer, or one of our calls for what it should have
 * been. The text is scanned once. The structure is read strictly, what stands in strings
 * and the spelling of numbers and words is not looked at.
 *
 * A wrong id would end somebody else's call. So it is given only if there is no doubt:
 *  - it is the only one of the top level, and the message is either a request or an answer
 *    (method or params, result or error);
 *  - the structure is whole up to the end of the text: then the id may stand anywhere;
 *  - or it breaks off or is damaged: then only jsonrpc and method stand before the id. What
 *    comes behind a longer text, such as the result of a tool, may be part of that text.
 */
#ifndef MCPI_WIRE_BROKEN_H
#define MCPI_WIRE_BROKEN_H

#include "wire/rpc.h"

/* Containers in each other that the scan follows; deeper ones are damage. */
#define MCPI_BROKEN_DEPTH_MAX 1024

/* *ret is MCPI_RPC_INVALID and fault_unparsed, with this code and sentence, and its doc
 * keeps the id; both are there only if the id can be told. No memory for it is no id. */
void mcpi_broken_read(const mcp_allocator *mem, const char *text, size_t len, int code,
                      const char *why, struct mcpi_rpc *ret);

#endif
