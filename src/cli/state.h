/* state.h - where mcpctl keeps what lasts: $XDG_STATE_HOME/mcpctl, or ~/.local/state/mcpctl */
#ifndef CLI_STATE_H
#define CLI_STATE_H

/* The path of a file there, freed with free(). The folder is made, for the user alone.
 * NULL: there is no home, or no memory. */
char *cli_state_path(const char *name);

#endif
