/* bar.c - what a bar of progress looks like, and when it is due */
#include "cli/bar.h"

#include <math.h>
#include <string.h>

#define BODY_LEAST 10
#define BODY_MOST 30

static bool
total_is_known(double total)
{
    return isfinite(total) && total > 0;
}

/* How much is done, 0 to 1. A server may count backwards or beyond its total. */
static double
share(double progress, double total)
{
    if (!(progress > 0))
        return 0;
    return progress < total ? progress / total : 1;
}

static void
body_add(struct cli_text *into, double done, size_t columns)
{
    size_t body = (columns + 1) / 4, full;

    if (body < BODY_LEAST)
        body = BODY_LEAST;
    if (body > BODY_MOST)
        body = BODY_MOST;
    full = (size_t)(done * (double)body);
    cli_text_add(into, "[", 1);
    for (size_t i = 0; i < full; i++)
        cli_text_add(into, i + 1 == full && full < body ? ">" : "=", 1);
    cli_text_pad(into, body - full);
    cli_text_printf(into, "] %3d%% ", (int)(done * 100));
}

void
cli_bar_add(struct cli_text *into, const struct cli_bar *bar, size_t columns)
{
    static const char wheel[] = "|/-\\";
    struct cli_text line = {0};

    if (total_is_known(bar->total))
        body_add(&line, share(bar->progress, bar->total), columns);
    else
        cli_text_printf(&line, "%c ", wheel[bar->turn % (sizeof wheel - 1)]);
    cli_bar_add_count(&line, bar->progress, bar->total);
    if (bar->text && bar->text[0] != '\0')
        cli_text_printf(&line, "  %s", bar->text);
    cli_text_add_cut(into, cli_text_string(&line), line.length, columns);
    cli_text_done(&line);
}

void
cli_bar_add_count(struct cli_text *into, double progress, double total)
{
    /* 12 digits: whole bytes of a big file, and no noise behind 0.1 + 0.2 */
    cli_text_printf(into, "%.12g", isfinite(progress) ? progress : 0);
    if (total_is_known(total))
        cli_text_printf(into, "/%.12g", total);
}

bool
cli_bar_is_due(int64_t told_ms, int64_t now_ms, int64_t every_ms)
{
    return now_ms - told_ms >= every_ms;
}
