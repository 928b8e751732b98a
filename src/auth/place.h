/*
 * place.h - URLs of authorization: which may be used, and which are the same
 *
 * Pure. Whether a URL is sound in all its parts is for who fetches it to say.
 */
#ifndef MCPI_AUTH_PLACE_H
#define MCPI_AUTH_PLACE_H

#include "base/buf.h"

/* Longest URL that is taken from a document. */
#define MCPI_PLACE_MAX 2048

/* The parts of http: or https:; borrowed from the text. */
struct mcpi_place {
    bool tls;
    const char *host; /* with brackets, as it stands there */
    size_t host_len;
    int port;         /* that of the scheme, if none is named */
    const char *path; /* "" or begins with '/'; without query */
    size_t path_len;
    const char *query; /* begins with '?'; "" none */
    size_t query_len;
};

/* False: no absolute URL of http or https, or with user, password or fragment, blanks,
 * control characters, backslashes, '%' in the host, a port that is none, or too long. */
bool mcpi_place_read(const char *url, struct mcpi_place *ret_place);

/* https, or http on loopback: 127.0.0.0/8, [::1], localhost and names below it; judged by
 * the text, other spellings of these are none. All that tokens, codes and secrets are
 * sent to must be. */
bool mcpi_place_is_safe(const char *url);

bool mcpi_place_same_origin(const char *a, const char *b); /* scheme, host, port */

/* Is this resource one that stands for the server at that URL: same origin, and its path
 * the server's or above it, whole segments ("/a" is above "/a/b", not above "/ab")?
 * A query, if the resource has one, is the same. Paths with "." or ".." in them cover
 * nothing and are covered by nothing. */
bool mcpi_place_covers(const char *resource, const char *server_url);

/* Where documents about a URL may be, in the order to try; appended, each terminated.
 * Metadata of a protected resource: path inserted, root; if the URL has no path, or "/",
 * the root only. Metadata of an issuer: as 2026-07-28 has it, two or three. Returns how
 * many, or a negative status: MCP_E_INVAL no URL, or an issuer with a query; or the
 * buffer's, and nothing is appended then. */
int mcpi_place_resource_metadata(struct mcpi_buf *into, const char *server_url);
int mcpi_place_issuer_metadata(struct mcpi_buf *into, const char *issuer);

#endif
