/* curl_easy.h - handles of libcurl, set up as a fetcher wants them */
#ifndef MCPI_RUN_CURL_EASY_H
#define MCPI_RUN_CURL_EASY_H

#include <curl/curl.h>

#include "run/curl.h"

/* One with all that is the same for every request: curl_easy_duphandle makes more of
 * them. For curl_easy_cleanup. Initializes libcurl, if nobody has. MCP_E_INVAL: a file
 * that cannot be read, or what libcurl cannot do; MCP_E_NOMEM. err may be NULL. */
int mcpi_curl_easy_new(const struct mcpi_curl_options *opt, CURL **ret_easy,
                       mcp_error *err);

/* One more, without a certificate of ours: libcurl keeps connections and sessions of TLS
 * that were made with one apart from its own. NULL: no memory. */
CURL *mcpi_curl_easy_new_anonymous(CURL *easy);

/* One more, whose request fails because it opens no socket, after libcurl has looked
 * through the connections that it keeps. NULL: no memory. */
CURL *mcpi_curl_easy_new_sweeper(CURL *easy);

/* The status and the sentence for how a transfer ended, if nothing of ours ended it.
 * text: libcurl's own, may be ""; open_errno: why there was no socket, or 0. The
 * sentence goes to why, cut to size. */
struct mcpi_curl_end {
    CURL *easy;
    CURLcode code;
    const char *text;
    int open_errno;
    bool begun;  /* there was a connection, and the request could begin */
    bool sent;   /* all of it has left */
    bool headed; /* a whole head has come */
};
int mcpi_curl_easy_fault(const struct mcpi_curl_end *end, char *why, size_t size);

#endif
