/* principal.c - who asks, as handlers see it */
#include <string.h>
#include <strings.h>

#include "api/request.h"

const char *
mcp_request_principal(const mcp_request *req)
{
    return req ? req->x->caller.principal : "";
}

const mcp_json *
mcp_request_claims(const mcp_request *req)
{
    return req ? mcp_doc_root(req->x->caller.claims) : NULL;
}

const char *
mcp_request_scope(const mcp_request *req)
{
    return req && req->x->caller.scope ? req->x->caller.scope : "";
}

const char *
mcp_request_header(const mcp_request *req, const char *name)
{
    const char *at = req && name ? req->x->caller.said : NULL;
    const char *end = at ? at + req->x->caller.said_len : NULL;

    while (at < end) {
        const char *value = at + strlen(at) + 1;

        if (strcasecmp(at, name) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}
