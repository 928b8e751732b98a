/*
 * browser_page.h - what a browser asks of us when it comes back, and the page it gets
 *
 * Pure. Just as much of HTTP as one GET needs. Pages are constant: nothing of what was
 * asked is in them, and no script, style or frame would work.
 */
#ifndef MCPI_AUTH_BROWSER_PAGE_H
#define MCPI_AUTH_BROWSER_PAGE_H

#include <mcp/base.h>

/* Longest head of a request. A code and a state have some hundred bytes, some servers
 * put a whole token there; cookies of everybody on this host come along. */
#define MCPI_PAGE_HEAD_MAX ((size_t)16 * 1024)

enum mcpi_page {
    MCPI_PAGE_NONE = 0,  /* the head is not whole yet */
    MCPI_PAGE_DONE,      /* it is the answer */
    MCPI_PAGE_OVER,      /* there was one before; never judged, only written */
    MCPI_PAGE_BAD,       /* not HTTP; or the path without an answer to our page */
    MCPI_PAGE_ABSENT,    /* another path */
    MCPI_PAGE_METHOD,    /* not GET */
    MCPI_PAGE_ELSEWHERE, /* it means another host: somebody's name that leads to us */
    MCPI_PAGE_LONG
};

struct mcpi_page_rules {
    const char *host; /* as it must stand in Host: "127.0.0.1:4321" */
    const char *path; /* "/callback" */
    /* What the page was opened with, which only its answer knows: any other site, and
     * anybody on this machine, can ask here too. NULL: no page was, nothing is an answer. */
    const char *state;
    const mcp_allocator *mem;
};

/* Judge what was read so far. DONE: *ret_query is what begins with '?', in the head, not
 * terminated. It has that state, once, and a code or an error. Without memory to see that
 * it is BAD. */
enum mcpi_page mcpi_page_judge(const struct mcpi_page_rules *rules, const char *head,
                               size_t len, const char **ret_query, size_t *ret_len);

/* The whole response; the connection is closed behind it. Not for NONE. */
const char *mcpi_page_text(enum mcpi_page page);

#endif
