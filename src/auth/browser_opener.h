/*
 * browser_opener.h - which program shows a page to the user, and starting it
 *
 * No shell is asked. The program has no descriptors of ours, and /dev/null for its own
 * three: what it prints is nobody's business, least of all that of who reads our stdout.
 * It may run for long (a browser that was not open yet); when it ends, a thread that does
 * nothing else has waited for it.
 */
#ifndef MCPI_AUTH_BROWSER_OPENER_H
#define MCPI_AUTH_BROWSER_OPENER_H

#include <mcp/base.h>

/* Longest page, with its query. Browsers and servers have less. */
#define MCPI_OPENER_URL_MAX ((size_t)32 * 1024)

struct mcpi_opener {
    const mcp_allocator *mem;
    const char **command; /* NULL: look for one */
    char *list;           /* NULL: none */
};

/* command: a program and its arguments, the page is one more; no words at all: nothing is
 * started. NULL: what `list` names, as $BROWSER does, or NULL; then xdg-open, then open.
 * Copied. MCP_E_NOMEM. */
int mcpi_opener_init(struct mcpi_opener *opener, const mcp_allocator *mem,
                     const char *const *command, const char *list);
void mcpi_opener_done(struct mcpi_opener *opener);

/* May a program be told to show this? https, or http on loopback, in the characters of a
 * URI (RFC 3986): so it is neither an option, nor a file, nor a script, nor for a shell
 * that some program on the way may be. Longer than what a document may name: scopes and
 * more stand in its query. */
bool mcpi_opener_may(const char *url);

/* Start the first one that can be. MCP_E_INVAL: none can, or this may not be shown.
 * MCP_E_LIMIT, MCP_E_NOMEM. [any] */
int mcpi_opener_open(const struct mcpi_opener *opener, const char *url);

#endif
