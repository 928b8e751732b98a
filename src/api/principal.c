/* principal.c - who asks, as handlers see it */
#include "api/request.h"

const char *
mcp_request_principal(const mcp_request *req)
{
    return req ? req->x->caller.principal : "";
}
