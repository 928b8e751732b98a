/* visit.c - one sign-in, as the agent that shows it to the user sees it */
#include "auth/visit.h"

static void
visit_end(mcp_auth_visit *visit, const char *uri, const char *why)
{
    if (visit && !atomic_exchange(&visit->answered_once, true))
        visit->answered(visit, uri, why);
}

void
mcp_auth_answer(mcp_auth_visit *visit, const char *uri)
{
    visit_end(visit, uri, NULL);
}

void
mcp_auth_refuse(mcp_auth_visit *visit, const char *why)
{
    visit_end(visit, NULL, why);
}
