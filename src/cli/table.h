/*
 * table.h - a table for people: columns as wide as what is in them, the last wrapped
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli/text.h"

#define CLI_COLUMNS_MAX 6

struct cli_table;

/* columns: their headings, NULL at the end, at most CLI_COLUMNS_MAX. NULL: no memory,
 * which all functions accept. */
struct cli_table *cli_table_new(const char *const *headings);
void cli_table_free(struct cli_table *table);

/* One row: a server's texts as they came (NULL: nothing), one for each column; copied
 * and made harmless, one line each but the last column, which may have several. */
void cli_table_row(struct cli_table *table, const char *const *cells);

/* The whole of it, `width` columns wide if it can be; color: headings are bold. Columns
 * but the last are cut if there is no other way. */
void cli_table_print(const struct cli_table *table, size_t width, bool color,
                     struct cli_text *into);

#endif
