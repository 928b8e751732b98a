/* config_entry.h - one server's entry in a configuration file, as a target */
#ifndef CLI_CONFIG_ENTRY_H
#define CLI_CONFIG_ENTRY_H

#include <mcp/json.h>

#include "cli/config_value.h"
#include "cli/target.h"

/* Fills in the target, without its name. If it cannot be used, fault says why, a part
 * of a sentence about it ("has neither ..."), and the target is of zeros. shown: what it
 * runs or where it is, as it is written there; nothing if that is missing. MCP_E_NOMEM:
 * also what fails in shown and fault; the target is of zeros. */
int cli_config_entry_read(const mcp_json *value, const struct cli_config_place *place,
                          struct cli_target *ret_target, struct cli_text *shown,
                          struct cli_text *fault);

/* The entry says that it is not to be used. */
bool cli_config_entry_is_disabled(const mcp_json *value);

#endif
