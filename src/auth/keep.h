/* keep.h - what the token stores of mcp/auth.h have in common */
#ifndef MCPI_AUTH_KEEP_H
#define MCPI_AUTH_KEEP_H

#include <mcp/auth.h>

/* A key names a server and who signs in there: some URLs. */
#define MCPI_KEEP_KEY_MAX 8192

/* A text has some tokens, of a few KiB each, or a registration. */
#define MCPI_KEEP_TEXT_MAX ((size_t)1024 * 1024)

/* First in each kind of store. */
struct mcp_token_keep {
    mcp_token_store interface;
    void (*free)(struct mcp_token_keep *keep);
};

/* May it be kept? text NULL: only the key is looked at. MCP_E_INVAL: no key;
 * MCP_E_LIMIT. */
int mcpi_keep_check(const char *key, const char *text);

/* A copy for who asked, as load gives it. MCP_E_NOMEM. */
int mcpi_keep_give(const char *text, char **ret_text);

#endif
