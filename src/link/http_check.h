/*
 * http_check.h - may the head of a request be served: its Host, its coding, its target
 *
 * Pure. llhttp has found the parts; this is what it leaves to others.
 */
#ifndef MCPI_LINK_HTTP_CHECK_H
#define MCPI_LINK_HTTP_CHECK_H

#include "link/http_head.h"

struct mcpi_http_fault {
    int status;
    const char *why; /* a sentence; constant */
};

/* The head has ended: its text begins with the target, its fields and in.method are set.
 * Fills in the rest of head->in but for a body, and head->known. NULL: it is good; else
 * what is wrong with it. is_old: HTTP/1.0. */
const struct mcpi_http_fault *mcpi_http_check(struct mcpi_http_head *head, bool is_old);

#endif
