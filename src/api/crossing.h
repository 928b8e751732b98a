/*
 * crossing.h - what crosses between a request of an isolated tool and its helper
 *
 * To it: the name and the arguments, the caller's own members of _meta with its trace
 * context, the principal. Back: log messages, the result or error, or how it ended
 * without one. Our own members of _meta are taken out on either way, so that a caller
 * cannot say who it is.
 */
#ifndef MCPI_API_CROSSING_H
#define MCPI_API_CROSSING_H

#include "api/request.h"

/* Append what the helper is asked: the params of its tools/call, and members for _meta,
 * each the text of an object. A failure is the buffer's. */
void mcpi_crossing_ask(const mcp_request *req, struct mcpi_buf *params,
                       struct mcpi_buf *meta);

/* From which severity on the caller wants to hear of it, as the wire has it; NULL: of
 * nothing. */
const char *mcpi_crossing_log_level(const mcp_request *req);

/* The params of a log message. */
void mcpi_crossing_message(mcp_request *req, const mcp_json *params);

/* The helper's result, or its error, becomes the request's. Returns the status to
 * finish it with. */
int mcpi_crossing_result(mcp_request *req, const mcp_json *result);
int mcpi_crossing_error(mcp_request *req, const struct mcpi_rpc *error);

/* Has something that the handler started outlived it? Of a result of the tool, and
 * of one of MCPI_ISOLATED_REST. */
bool mcpi_crossing_left(const mcp_json *result);
bool mcpi_crossing_rest_left(const mcp_json *result);

/* How a helper ended, for who reads the answer of its call: a sentence. memory_bytes
 * and cpu_seconds: its limits, 0: none. */
void mcpi_crossing_describe(char *into, size_t size, int wait_status,
                            uint64_t memory_bytes, int64_t cpu_seconds);

#endif
