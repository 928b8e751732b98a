/* config_file.h - one file of JSON that people edit, comments and all */
#ifndef CLI_CONFIG_FILE_H
#define CLI_CONFIG_FILE_H

#include <mcp/json.h>

/* Claude Code keeps more than servers in ~/.claude.json, and that grows; above this it
 * is no configuration any more. */
#define CLI_CONFIG_FILE_MAX ((size_t)16 << 20)

/* All bytes of a file, with a NUL behind them, for free(); NULL in *ret_text if there is
 * none. Only what is a file and no larger than max. folder: the path begins with it, and
 * it and everything below it on the path, links and the file included, must belong to us
 * or to root and be writable by nobody else; NULL: whatever. MCP_E_INVAL: err says why it
 * cannot be used, with the path; MCP_E_NOMEM. */
int cli_config_file_text(const char *path, const char *folder, size_t max,
                         char **ret_text, size_t *ret_length, mcp_error *err);

/* The file parsed, or NULL in *ret_doc if there is none or nothing in it. folder and errors
 * as above. */
int cli_config_file_read(const char *path, const char *folder, mcp_doc **ret_doc,
                         mcp_error *err);

#endif
