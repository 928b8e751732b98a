/*
 * shell_settings.h - what can be set: as options, but for all lines to come
 */
#ifndef CLI_SHELL_SETTINGS_H
#define CLI_SHELL_SETTINGS_H

#include "cli/session.h"
#include "cli/shell_complete.h"

/* `set`: shows all; `set NAME`: one; `set NAME VALUE`. Returns how to exit. */
int cli_settings_do(struct cli_session *session, int argc, char **argv);

/* Their names, or the values of one, for completion. */
void cli_settings_complete(const struct cli_want *want, struct cli_candidates *list);

/* Results and notes as JSON, or not: what follows from options.json. */
void cli_settings_apply_json(struct cli *cli);

#endif
