/* text_wrap.c - breaks a text into lines that fit the terminal */
#include <string.h>

#include "cli/text.h"

#define TAB_STOP 8

struct wrapping {
    struct cli_text *into;
    size_t columns, indent;
    size_t column;  /* where the next character goes */
    size_t gap;     /* blanks before the next word, not written yet */
    bool is_begun;  /* the line has a word */
    bool is_behind; /* the line's indent is not written yet */
};

static void
line_end(struct wrapping *wrapping)
{
    cli_text_add(wrapping->into, "\n", 1);
    wrapping->column = wrapping->indent;
    wrapping->gap = 0;
    wrapping->is_begun = false;
    wrapping->is_behind = true;
}

static void
word_add(struct wrapping *wrapping, const char *word, size_t length)
{
    size_t width = cli_text_width(word, length);

    if (wrapping->is_begun &&
        wrapping->column + wrapping->gap + width > wrapping->columns)
        line_end(wrapping);
    if (wrapping->is_behind)
        cli_text_pad(wrapping->into, wrapping->indent);
    cli_text_pad(wrapping->into, wrapping->gap);
    cli_text_add(wrapping->into, word, length);
    wrapping->column += wrapping->gap + width;
    wrapping->gap = 0;
    wrapping->is_begun = true;
    wrapping->is_behind = false;
}

/* Stops are counted from the indent, so that what stood in one column stays in one. */
static size_t
blank_width(const struct wrapping *wrapping, char blank)
{
    size_t column = wrapping->column + wrapping->gap - wrapping->indent;

    return blank == '\t' ? TAB_STOP - column % TAB_STOP : 1;
}

void
cli_text_add_wrapped(struct cli_text *into, const char *data, size_t length,
                     size_t columns, size_t indent)
{
    struct wrapping wrapping = {
        .into = into, .columns = columns, .indent = indent, .column = indent};
    size_t at = 0;

    while (at < length) {
        size_t from = at;

        while (at < length && data[at] != '\n' && data[at] != ' ' && data[at] != '\t')
            at++;
        if (at > from)
            word_add(&wrapping, data + from, at - from);
        if (at >= length)
            break;
        if (data[at] == '\n')
            line_end(&wrapping);
        else
            wrapping.gap += blank_width(&wrapping, data[at]);
        at++;
    }
}
