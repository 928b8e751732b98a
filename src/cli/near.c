/* near.c - "did you mean": the nearest of several names */
#include "cli/near.h"

#include <string.h>

#define LONGEST 128 /* for longer ones nobody makes slips that are worth the time */

struct cli_near
cli_near_begin(const char *text, size_t length)
{
    return (struct cli_near){.text = text, .length = length};
}

static size_t
least(size_t a, size_t b, size_t c)
{
    a = a < b ? a : b;
    return a < c ? a : c;
}

/* Characters to insert, remove or replace (Levenshtein), row by row. */
static size_t
distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[LONGEST + 1];

    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t above = row[j];

            row[j] = least(above + 1, row[j - 1] + 1,
                           diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_length];
}

/* A third of it may be wrong, and the beginning of a name is always near. */
void
cli_near_offer(struct cli_near *near, const char *name)
{
    size_t length = strlen(name), d;

    if (length > LONGEST || near->length > LONGEST || near->length == 0)
        return;
    d = distance(near->text, near->length, name, length);
    if (near->length >= 2 && length > near->length &&
        strncmp(name, near->text, near->length) == 0)
        d = 1;
    if (d > 1 + near->length / 4 || d >= length)
        return;
    if (!near->best || d < near->distance) {
        near->best = name;
        near->distance = d;
    }
}
