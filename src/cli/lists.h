/* lists.h - a list of the server's: as JSON, or as a table */
#ifndef CLI_LISTS_H
#define CLI_LISTS_H

#include "cli/session.h"
#include "cli/table.h"

/* Asks for it and shows it: row adds one row for each item. Returns how to exit. */
int cli_show_list(struct cli_session *session, enum mcp_list list,
                  const char *const *headings,
                  void (*row)(struct cli_table *table, const mcp_json *item));

/* Text that may hold a server's, made harmless, on stdout, flushed. False: stdout is gone. */
bool cli_write_harmless(struct cli *cli, const char *text, size_t length);

#endif
