/*
 * visitor.h - one sign-in of the user: a page is shown, and somebody is sent back from it
 *
 *   IDLE -> BEGUN (where to be sent back to is known) -> OPEN -> IDLE, told once
 *
 * By an agent of the program's, or by ourselves, if the page needs nobody (headless). Ended
 * at any moment; nothing is told then. [loop]
 */
#ifndef MCPI_AUTH_VISITOR_H
#define MCPI_AUTH_VISITOR_H

#include <mcp/auth.h>

#include "auth/lookup.h"

/* Redirects that are followed without anybody seeing them. */
#define MCPI_VISITOR_REDIRECTS_MAX 5

struct mcpi_visitor {
    /* Set before the first one. */
    const mcp_allocator *mem;
    struct mcpi_loop *loop;
    struct mcpi_fetcher *fetcher;
    const mcp_auth_agent *agent; /* NULL: nobody */
    bool headless;
    const char *headless_uri;
    int64_t login_us, fetch_us;
    /* 0: text is the URI that somebody was sent back to; else MCP_E_AUTH, MCP_E_NOMEM, and
     * text says why. It is IDLE again. Not from inside a function below. */
    void (*done)(void *user, int status, const char *text);
    void *user;

    enum mcpi_address_kind nearest;
    struct mcpi_visit *visit; /* with the agent; or NULL */
    struct mcpi_timer timer;
    struct mcpi_lookup lookup;
    unsigned redirects;
    char redirect_uri[MCP_AUTH_URI_MAX];
};

void mcpi_visitor_init(struct mcpi_visitor *visitor);

/* Afterwards redirect_uri is known. earlier: "" none. MCP_E_AUTH: nobody can sign in, or
 * the agent has no usable place; or what the agent returned. */
int mcpi_visitor_begin(struct mcpi_visitor *visitor, const char *earlier);
int mcpi_visitor_open(struct mcpi_visitor *visitor, const char *url);
void mcpi_visitor_end(struct mcpi_visitor *visitor); /* in any state */

#endif
