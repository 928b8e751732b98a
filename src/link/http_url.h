/*
 * http_url.h - URLs of HTTP, as far as a client must look into one
 *
 * Whether a URL is sound in all its parts is for the fetcher to say; here it is only
 * known which server it names, and what a reference in an answer means beside it.
 */
#ifndef MCPI_LINK_HTTP_URL_H
#define MCPI_LINK_HTTP_URL_H

#include "base/buf.h"

/* Longest URL that we are told or tell. */
#define MCPI_HTTP_URL_LIMIT 8192

/* Is it http: or https:, with a host, and without blanks or control characters? */
bool mcpi_http_url_valid(const char *url, size_t len);

/* Append what a reference means beside a valid base, terminated: it may be a whole URL,
 * a path, or a part of one; a fragment is cut off. Dots in paths stay as they are.
 * MCP_E_PROTO: no such reference, or one to another origin (scheme, host or port); a
 * failure of the buffer is returned too. */
int mcpi_http_url_resolve(struct mcpi_buf *into, const char *base,
                          const char *reference, size_t len);

/* What may be told of a valid URL, terminated and cut to size: its path, with scheme,
 * host and port if `whole`. Not who we are, and not what is asked for: secrets. Returns
 * into. */
const char *mcpi_http_url_show(const char *url, bool whole, char *into, size_t size);

#endif
