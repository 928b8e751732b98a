/*
 * mcp/http.h - MCP over HTTP, in the library libmcp-http
 *
 * A program that only speaks over pipes neither includes this nor links TLS or an HTTP
 * client. The transport itself is still to come; so far the library tells its version.
 */
#ifndef MCP_HTTP_H
#define MCP_HTTP_H

#include <mcp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of libmcp-http at run time, "0.1.0", never NULL. [any] */
MCP_API const char *mcp_http_version(void);

#ifdef __cplusplus
}
#endif

#endif
