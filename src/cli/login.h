/*
 * login.h - who we are over HTTP: kept tokens, and signing in
 *
 * Tokens are kept in $XDG_STATE_HOME/mcpctl/tokens.json (else ~/.local/state/mcpctl), mode
 * 0600. Every command uses what is there; only `login` lets a user sign in. Others exit 3
 * with the command to run.
 */
#ifndef CLI_LOGIN_H
#define CLI_LOGIN_H

#include <mcp/auth.h>

#include "cli/cli.h"

struct cli_auth;

/* Fills http->auth as the options say (sign_in: a user may be asked to), or as somebody has
 * signed in to this URL before; or leaves it NULL: an Authorization header was given,
 * nobody ever has, --no-store. CLI_OK, or how to exit; said why. */
int cli_auth_new(struct cli *cli, const char *url, bool sign_in,
                 mcp_http_client_options *http, struct cli_auth **ret_auth);

/* It went well: other commands are to do as this one did. */
void cli_auth_remember(struct cli_auth *auth, const char *url);
void cli_auth_free(struct cli_auth *auth); /* after the client is freed */

/* Forgets what is kept for this target. Returns how to exit. */
int cli_logout(struct cli *cli, const char *word);

#endif
