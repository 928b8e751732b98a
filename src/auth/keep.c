/* keep.c - what the token stores of mcp/auth.h have in common */
#include "auth/keep.h"

#include <string.h>

#include "base/mem.h"

int
mcpi_keep_check(const char *key, const char *text)
{
    if (!key || !*key)
        return MCP_E_INVAL;
    if (strnlen(key, MCPI_KEEP_KEY_MAX + 1) > MCPI_KEEP_KEY_MAX)
        return MCP_E_LIMIT;
    if (text && strnlen(text, MCPI_KEEP_TEXT_MAX + 1) > MCPI_KEEP_TEXT_MAX)
        return MCP_E_LIMIT;
    return 0;
}

int
mcpi_keep_give(const char *text, char **ret_text)
{
    size_t size = strlen(text) + 1;
    char *copy = mcpi_alloc(mcpi_mem_or_malloc(NULL), size);

    if (!copy)
        return MCP_E_NOMEM;
    memcpy(copy, text, size);
    *ret_text = copy;
    return 0;
}

void
mcp_token_keep_free(mcp_token_keep *keep)
{
    if (keep)
        keep->free(keep);
}

const mcp_token_store *
mcp_token_keep_interface(const mcp_token_keep *keep)
{
    return keep ? &keep->interface : NULL;
}
