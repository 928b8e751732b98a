/* curl_url.h - URLs as libcurl reads them: is it one, and where does a redirect go */
#ifndef MCPI_RUN_CURL_URL_H
#define MCPI_RUN_CURL_URL_H

#include <curl/curl.h>
#include <mcp/base.h>

#include "run/address.h"

/* An absolute URL of http or https? MCP_E_INVAL; MCP_E_NOMEM. */
int mcpi_curl_url_check(const char *url);

/* A URL, read once for all the requests that go there: libcurl takes a good part of a
 * short request to read one. Counted; not to be changed. */
struct mcpi_curl_url {
    size_t refs;
    const mcp_allocator *mem;
    CURLU *parsed;
    const char *text;            /* in this block */
    enum mcpi_address_kind near; /* of its host, if that is an address; or ANY */
    unsigned port;
    bool direct; /* plain http to loopback: for this machine, and for no proxy to see */
};

/* As check says. */
int mcpi_curl_url_new(const mcp_allocator *mem, const char *text,
                      struct mcpi_curl_url **ret_url);
struct mcpi_curl_url *mcpi_curl_url_ref(struct mcpi_curl_url *url);
void mcpi_curl_url_unref(struct mcpi_curl_url *url); /* NULL ok */

/* Where an answer sends a request on. */
struct mcpi_curl_redirect {
    const char *url;      /* of the request */
    const char *location; /* as the answer has it */
    long status;          /* its status: 301, 302, 303, 307, 308 */
    unsigned count;       /* redirects before this one */
    bool follow_any;      /* to another origin too */
};

/* Is it a status that sends on, if there is a Location? */
bool mcpi_curl_url_is_redirect(long status);

/* The URL to go to: absolute, freed by curl_free; and is it another scheme, host or
 * port? MCP_E_PROTO: it is not to be followed, and why says so, cut to size;
 * MCP_E_NOMEM. */
int mcpi_curl_url_redirect(const struct mcpi_curl_redirect *redirect, char **ret_target,
                           bool *ret_foreign, char *why, size_t size);

#endif
