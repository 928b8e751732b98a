/* table.c - a table for people: columns as wide as what is in them, the last wrapped */
#include "cli/table.h"

#include <stdlib.h>
#include <string.h>

#define GAP 2 /* blanks between columns */
#define LAST_LEAST \
    24              /* columns that are kept for the last one if others are too wide */
#define CUT_LEAST 8 /* a cell that is cut further says nothing */

struct row {
    struct cli_text cells[CLI_COLUMNS_MAX];
};

struct cli_table {
    size_t columns;
    struct row *rows; /* the first are the headings */
    size_t count, room;
    bool failed; /* a row is missing, for want of memory */
};

static void
row_done(struct row *row)
{
    for (size_t i = 0; i < CLI_COLUMNS_MAX; i++)
        cli_text_done(&row->cells[i]);
}

/* Newlines and blanks at the end would be lines of nothing. */
static void
cell_trim(struct cli_text *cell)
{
    while (cell->length > 0 && (cell->data[cell->length - 1] == '\n' ||
                                cell->data[cell->length - 1] == ' '))
        cell->data[--cell->length] = '\0';
}

struct cli_table *
cli_table_new(const char *const *headings)
{
    struct cli_table *table = calloc(1, sizeof *table);

    if (!table)
        return NULL;
    while (table->columns < CLI_COLUMNS_MAX && headings[table->columns])
        table->columns++;
    cli_table_row(table, headings);
    return table;
}

void
cli_table_free(struct cli_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->count; i++)
        row_done(&table->rows[i]);
    free(table->rows);
    free(table);
}

void
cli_table_row(struct cli_table *table, const char *const *cells)
{
    struct row *row;

    if (!table)
        return;
    if (table->count == table->room) {
        size_t room = table->room ? table->room * 2 : 16;
        struct row *rows = reallocarray(table->rows, room, sizeof *rows);

        if (!rows) {
            table->failed = true;
            return;
        }
        table->rows = rows;
        table->room = room;
    }
    row = &table->rows[table->count++];
    memset(row, 0, sizeof *row);
    for (size_t i = 0; i < table->columns; i++) {
        if (cells[i])
            cli_text_add_harmless(&row->cells[i], cells[i], strlen(cells[i]),
                                  i + 1 < table->columns);
        cell_trim(&row->cells[i]);
        table->failed = table->failed || row->cells[i].failed;
    }
}

/* Takes columns from the widest ones until they fit beside the last one. */
static void
widths_shrink(size_t *widths, size_t count, size_t width)
{
    size_t sum = 0, widest;

    for (size_t i = 0; i < count; i++)
        sum += widths[i] + GAP;
    while (sum + LAST_LEAST > width) {
        widest = 0;
        for (size_t i = 1; i < count; i++)
            widest = widths[i] > widths[widest] ? i : widest;
        if (count == 0 || widths[widest] <= CUT_LEAST)
            return;
        widths[widest]--;
        sum--;
    }
}

/* Of all columns but the last. */
static void
widths_find(const struct cli_table *table, size_t width, size_t *widths)
{
    size_t count = table->columns - 1;

    for (size_t i = 0; i < count; i++) {
        widths[i] = 0;
        for (size_t r = 0; r < table->count; r++) {
            const struct cli_text *cell = &table->rows[r].cells[i];
            size_t wide = cli_text_width(cli_text_string(cell), cell->length);

            widths[i] = wide > widths[i] ? wide : widths[i];
        }
        /* one cell may be very long: shrinking goes step by step */
        widths[i] = widths[i] < width ? widths[i] : width;
    }
    widths_shrink(widths, count, width);
}

static void
row_print(const struct cli_table *table, const struct row *row, const size_t *widths,
          size_t width, struct cli_text *into)
{
    size_t last = table->columns - 1, column = 0, owed = 0;
    const struct cli_text *cell;

    for (size_t i = 0; i < last; i++) {
        size_t from = into->length;

        cell = &row->cells[i];
        if (cell->length > 0) {
            cli_text_pad(into, owed);
            from = into->length;
            owed = 0;
            cli_text_add_cut(into, cell->data, cell->length, widths[i]);
        }
        if (into->failed)
            return;
        /* blanks are owed, not written, so that no line ends with them */
        owed += widths[i] + GAP -
                cli_text_width(cli_text_string(into) + from, into->length - from);
        column += widths[i] + GAP;
    }
    cell = &row->cells[last];
    if (cell->length > 0) {
        cli_text_pad(into, owed);
        cli_text_add_wrapped(into, cell->data, cell->length, width, column);
    }
}

void
cli_table_print(const struct cli_table *table, size_t width, bool color,
                struct cli_text *into)
{
    size_t widths[CLI_COLUMNS_MAX] = {0};

    if (!table || table->columns == 0) {
        into->failed = true;
        return;
    }
    widths_find(table, width, widths);
    for (size_t r = 0; r < table->count; r++) {
        bool is_bold = color && r == 0;

        cli_text_puts(into, is_bold ? "\033[1m" : "");
        row_print(table, &table->rows[r], widths, width, into);
        cli_text_puts(into, is_bold ? "\033[m\n" : "\n");
    }
    into->failed = into->failed || table->failed;
}
