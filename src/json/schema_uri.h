/* schema_uri.h - references resolved against a base (RFC 3986, section 5) */
#ifndef MCPI_JSON_SCHEMA_URI_H
#define MCPI_JSON_SCHEMA_URI_H

#include "base/buf.h"

/* Append what the reference means to a document of URI base, without a fragment. A base
 * that is empty leaves a relative reference as it is. */
void mcpi_uri_resolve(struct mcpi_buf *buf, const char *base, size_t base_len,
                      const char *ref, size_t ref_len);

/* Where the fragment begins, after its '#'; NULL: there is none. */
const char *mcpi_uri_fragment(const char *ref, size_t len, size_t *ret_len);

/* Append with each %XX as the byte it means. MCP_E_INVAL: a '%' without two digits. */
int mcpi_uri_decode(struct mcpi_buf *buf, const char *text, size_t len);

/* Length of the scheme it begins with, without its colon; 0: it is relative. */
size_t mcpi_uri_scheme(const char *text, size_t len);

#endif
