/*
 * config.h - servers that people have configured for other programs
 *
 * Read, never written. From the nearest to the widest: in this folder, then in each one
 * above it, what Claude Code keeps for that folder in ~/.claude.json and the project's
 * files (.mcp.json, .cursor/mcp.json, .vscode/mcp.json, .gemini/settings.json, ...);
 * then the user's (Claude Code, Claude Desktop, Cursor, VS Code, Gemini, ...). The first
 * one that has a name wins; one that is disabled only if there is no other. Comments and
 * trailing commas are accepted.
 *
 * A server of a project runs in the project's folder if its entry says nothing else.
 *
 * A project's file says what is run. It is used only if the file, the project's folder and
 * the folders between them belong to the user or to root, and no other user can write to
 * them.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <mcp/json.h>

#include "cli/target.h"

struct cli_config_entry {
    const char *name;
    const char *source; /* which program's: "Claude Code (project)" */
    const char *file;
    const char
        *shown;      /* what it runs or where it is, variables as they are written: they
                          may be secrets */
    bool is_project; /* the file is a project's, and not the user's own */
    bool is_shadowed;         /* the name means another one: nearer, or not disabled */
    bool is_disabled;         /* the file says so */
    const char *fault;        /* why it cannot be used, or NULL */
    struct cli_target target; /* of zeros if there is a fault */
};

struct cli_config; /* all that was found */

/* Looks through all files. One that cannot be read or is no JSON is a warning for
 * on_warning (may be NULL), and is passed over. It begins in the folder we are in; HOME and
 * XDG_CONFIG_HOME: as the environment has them. MCP_E_NOMEM. */
int cli_config_read(void (*on_warning)(void *user, const char *line), void *user,
                    struct cli_config **ret_config);
void cli_config_free(struct cli_config *config);
size_t cli_config_count(const struct cli_config *config);
const struct cli_config_entry *cli_config_at(const struct cli_config *config,
                                             size_t index);
/* The entry that a name means, or NULL. */
const struct cli_config_entry *cli_config_find(const struct cli_config *config,
                                               const char *name);

/* The user's own entry of the same name, if the entry is a project's; else NULL. */
const struct cli_config_entry *cli_config_hidden(const struct cli_config *config,
                                                 const struct cli_config_entry *entry);

/* JSON with comments and trailing commas to JSON proper, in place: comments become
 * blanks, and so does the mark of UTF-8 at the beginning, so that places in error
 * messages stay right. */
void cli_json_plain(char *text, size_t length);

#endif
