/* htu.h - the URL that a proof of DPoP is for (RFC 9449, 4.3): compared. Pure. */
#ifndef MCPI_AUTH_HTU_H
#define MCPI_AUTH_HTU_H

#include <mcp/base.h>

/* How much of a URL is before its query and fragment. */
size_t mcpi_htu_length(const char *url, size_t len);

/* Are they the same but for query and fragment? Scheme and host without case, a port that
 * is the scheme's is none, no path is "/". False also if one is no URL of http or https, or
 * has a user in it. */
bool mcpi_htu_same(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
