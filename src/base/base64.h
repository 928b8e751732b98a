/* base64.h - bytes as text (RFC 4648): for content, and for what goes round trips */
#ifndef MCPI_BASE_BASE64_H
#define MCPI_BASE_BASE64_H

#include "base/buf.h"

/* Append bytes as Base64 with padding (section 4). A failure is the buffer's. */
void mcpi_base64_write(struct mcpi_buf *buf, const void *bytes, size_t len);

/* The same as base64url without padding (section 5): needs no escape in JSON, in a URI
 * or in a header. */
void mcpi_base64url_write(struct mcpi_buf *buf, const void *bytes, size_t len);

/* Append the bytes of a Base64 text with padding. MCP_E_INVAL: it is none, or not the
 * one spelling of its bytes; nothing is appended. A failure of the buffer is the
 * buffer's, and returned. */
int mcpi_base64_read(struct mcpi_buf *buf, const char *text, size_t len);

/* Append the bytes of a base64url text without padding; fails likewise. */
int mcpi_base64url_read(struct mcpi_buf *buf, const char *text, size_t len);

#endif
