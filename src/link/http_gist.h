/*
 * http_gist.h - what a request says to a session, told before it is served
 *
 * For who has to keep one for a while: what asks nothing counts without its client, and a
 * cancel must not be served before its request.
 */
#ifndef MCPI_LINK_HTTP_GIST_H
#define MCPI_LINK_HTTP_GIST_H

#include "link/http.h"
#include "wire/id.h"
#include "json/value.h"

enum mcpi_http_gist_kind {
    MCPI_GIST_OTHER = 0, /* an answer, an end, or what is no message */
    MCPI_GIST_ASKS,      /* a request, or a GET */
    MCPI_GIST_CANCELS
};

struct mcpi_http_gist {
    enum mcpi_http_gist_kind kind;
    struct mcpi_id
        id;     /* folded: of the request, or of that which is canceled; or NONE */
    char *text; /* where that stands, if it is a text; or NULL */
};

/* MCP_E_NOMEM. */
int mcpi_http_gist_read(const mcp_allocator *mem, const struct mcpi_json_limits *limits,
                        const struct mcpi_http_in *in, struct mcpi_http_gist *ret);
/* It says nothing any more; one of zeros, and done twice, is fine. */
void mcpi_http_gist_done(const mcp_allocator *mem, struct mcpi_http_gist *gist);

/* Is the second one the request that the first one cancels? */
bool mcpi_http_gist_is_for(const struct mcpi_http_gist *cancel,
                           const struct mcpi_http_gist *request);

#endif
