/* visit.h - one sign-in, as the agent that shows it to the user sees it */
#ifndef MCPI_AUTH_VISIT_H
#define MCPI_AUTH_VISIT_H

#include <mcp/auth.h>
#include <stdatomic.h>

/* Embedded in what waits for it; zeroed at first, but for `answered`. */
struct mcp_auth_visit {
    /* Called once at the most, on any thread, from inside of mcp_auth_answer (uri is where
     * the browser was sent back to) or mcp_auth_refuse (uri NULL; why, or NULL). Texts are
     * borrowed for the call. */
    void (*answered)(struct mcp_auth_visit *visit, const char *uri, const char *why);
    atomic_bool answered_once;
};

#endif
