/*
 * secret.h - what must not be shown: found by its name, by its shape, or since it is known
 *
 * By name: members such as "password", "api_key", "access_token", whatever their case and
 * whether with _ or -. By shape, in any text: "Bearer ...", JWTs, private keys, passwords in
 * URLs, keys of well-known services. Known is what was given for a field that its schema
 * calls a secret. It is a help, not a promise: a secret that looks like nothing and is
 * called nothing is shown.
 */
#ifndef CLI_SECRET_H
#define CLI_SECRET_H

#include <mcp/json.h>

#include "cli/text.h"

#define CLI_HIDDEN "[hidden]"

/* Does a member of this name hold one? */
bool cli_secret_is_name(const char *name);

/* From now on this text is one, wherever it stands; if it is short, only where it stands
 * alone. A few are kept, of some length. [any] */
void cli_secret_keep(const char *text, size_t length);
/* All that were kept are forgotten. [any] */
void cli_secret_forget(void);

/* The text, with what has the shape of one, or is known, replaced. Appended. */
void cli_secret_add(struct cli_text *into, const char *text, size_t length);

/* The value as one line of JSON, with those found by name and by shape replaced. Appended.
 * An object under such a name is looked into: a schema may describe a password. */
void cli_secret_add_json(struct cli_text *into, const mcp_json *value);

#endif
