/*
 * bar.h - what a bar of progress looks like, and when it is due: no screen, no clock
 */
#ifndef CLI_BAR_H
#define CLI_BAR_H

#include "cli/text.h"

#define CLI_BAR_EVERY_MS 100    /* faster than that nobody can read it */
#define CLI_LINES_EVERY_MS 1000 /* lines of progress in a file are many soon */

struct cli_bar {
    double progress, total; /* total 0 or no number: unknown */
    const char *text;       /* behind the bar, harmless; "" or NULL: none */
    unsigned turn; /* of the wheel that stands for a bar if there is no total */
};

/* "[=====>    ]  52% 13/25  text", or "/ 13  text" if there is no total; at most
 * `columns` wide. Appended to into. */
void cli_bar_add(struct cli_text *into, const struct cli_bar *bar, size_t columns);

/* "13/25", or "13" if there is no total. */
void cli_bar_add_count(struct cli_text *into, double progress, double total);

/* May it be shown again at now_ms, if it was at told_ms? */
bool cli_bar_is_due(int64_t told_ms, int64_t now_ms, int64_t every_ms);

#endif
