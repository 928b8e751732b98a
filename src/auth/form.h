/*
 * form.h - application/x-www-form-urlencoded: written and read. Pure.
 */
#ifndef MCPI_AUTH_FORM_H
#define MCPI_AUTH_FORM_H

#include "base/buf.h"

/* Append name=value, with & before it unless the buffer is empty or ends with '?'. What
 * is not unreserved (RFC 3986, 2.3) is written as %XX, a blank too. Value NULL: nothing.
 * All of it, or the buffer has failed. */
void mcpi_form_add(struct mcpi_buf *into, const char *name, const char *value);
/* Append text as a value alone: for the user and password of Basic (RFC 6749, 2.3.1). */
void mcpi_form_escape(struct mcpi_buf *into, const char *text);

/* The value of that name in a query or form, decoded, appended and terminated. 1: it is
 * there; 0: it is not; MCP_E_INVAL: twice, or not decodable, or with a NUL in it; or the
 * buffer's status. Unless it is 1 nothing is appended, and no part of a value is left
 * behind in the buffer. */
int mcpi_form_find(struct mcpi_buf *into, const char *form, size_t len,
                   const char *name);

#endif
