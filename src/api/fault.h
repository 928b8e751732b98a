/* fault.h - what a link says went wrong, in words for the program */
#ifndef MCPI_API_FAULT_H
#define MCPI_API_FAULT_H

#include "core/port.h"

/* Fill *err with status, status of HTTP, and a sentence; what: of which it is said, such
 * as a method, or NULL. False: the link did not end it with that status, or has nothing to
 * say, and *err is as it was. fault may be NULL. */
bool mcpi_fault_describe(const struct mcpi_fault *fault, int status, const char *what,
                         mcp_error *err);

#endif
