/* curl_lines.h - the header lines of a request, as libcurl wants them */
#ifndef MCPI_RUN_CURL_LINES_H
#define MCPI_RUN_CURL_LINES_H

#include <curl/curl.h>
#include <mcp/base.h>

/* Fields are lines "Name: value", each with a terminator. libcurl takes a list; its
 * nodes and texts go into one piece of memory of the caller's, of this many bytes,
 * aligned for pointers. */
size_t mcpi_curl_lines_room(const char *fields, size_t len);

/* Write the list there: the fields, with lines by which libcurl leaves out what it
 * would add by itself. Never empty; not to be freed but with that memory. */
struct curl_slist *mcpi_curl_lines_make(void *room, const char *fields, size_t len);

/* The list without what another origin is not to see: Authorization, Cookie, DPoP and
 * Mcp-Session-Id. */
struct curl_slist *mcpi_curl_lines_drop_secrets(struct curl_slist *first);

#endif
