/* identity.h - who a client or a server says it is: an Implementation object */
#ifndef MCPI_API_IDENTITY_H
#define MCPI_API_IDENTITY_H

#include <mcp/server.h>

struct mcpi_implementation {
    const char *name, *version; /* required */
    const char *title, *description, *website;
    const mcp_icon *icons;
};

/* Write it as the outermost value of an empty builder. MCP_E_INVAL: a name is missing
 * or a text is not UTF-8; err says which. */
int mcpi_identity_build(mcp_builder *b, const struct mcpi_implementation *who,
                        mcp_error *err);

/* A text of the program's that may be missing: NULL, or UTF-8. `what` names it in
 * err. */
int mcpi_text_check(const char *text, const char *what, mcp_error *err);

/* Are these icons that may be sent? NULL: there are none, and they are. */
int mcpi_icons_check(const mcp_icon *icons, mcp_error *err);

/* Write `icons` as member `key` of what is open; nothing if there are none. */
void mcpi_icons_build(mcp_builder *b, const char *key, const mcp_icon *icons);

#endif
