/*
 * text.h - texts of a server for a terminal: harmless, as wide as they are, wrapped
 *
 * A server's text may hold control sequences that move the cursor, change the title, or
 * type for the user. Before it is shown to a person each of them is taken out.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing text; zero is an empty one. A failure (no memory) is sticky; then text is
 * what was there. */
struct cli_text {
    char *data; /* terminated if length > 0 */
    size_t length, room;
    bool failed;
};

void cli_text_add(struct cli_text *text, const char *data, size_t length);
void cli_text_puts(struct cli_text *text, const char *data);
void cli_text_printf(struct cli_text *text, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));
void cli_text_pad(struct cli_text *text, size_t columns); /* that many blanks */
/* Never NULL; borrowed until the next change. */
const char *cli_text_string(const struct cli_text *text);
void cli_text_done(struct cli_text *text);

/* The next character of a text in UTF-8; length is at least 1. Returns how many bytes
 * it takes. What is no UTF-8 is U+FFFD, as many bytes of it as could have been one. */
size_t cli_text_decode(const char *data, size_t length, uint32_t *ret_point);

/* The same text without what a terminal would obey: escape sequences as a whole (CSI,
 * OSC, DCS and the rest, also those with C1 controls), C0 and C1 controls but newline
 * and tab, DEL, and characters that nobody sees: marks that turn the direction of
 * writing, blanks without width, tags. A sequence that has no end goes as far as its
 * line. A carriage return before a newline goes, another one becomes a newline. What is
 * no UTF-8 becomes U+FFFD. one_line: newlines and tabs become a blank. Appended to
 * into. */
void cli_text_add_harmless(struct cli_text *into, const char *data, size_t length,
                           bool one_line);

/* A JSON text as harmless as that, and still the same value: what a terminal would obey
 * or not show stands there as \uXXXX. json must be JSON. Appended to into. */
void cli_text_add_json(struct cli_text *into, const char *json, size_t length);

/* Columns that this takes on a terminal: wide East Asian ones are 2, combining ones and
 * controls 0. Tabs go to the next multiple of 8. */
size_t cli_text_point_width(uint32_t point);
size_t cli_text_width(const char *data, size_t length);

/* At most `columns` of it, "..." at the end if it was cut (one character, U+2026). */
void cli_text_add_cut(struct cli_text *into, const char *data, size_t length,
                      size_t columns);

/* Wrapped at blanks to `columns`, each line but the first behind `indent` blanks; the
 * first begins where the caller is, at column `indent` as well. Newlines of its own and
 * blanks inside of a line stay; tabs become blanks. Words that are longer than a line
 * are left whole. No newline at the end. data must be harmless. */
void cli_text_add_wrapped(struct cli_text *into, const char *data, size_t length,
                          size_t columns, size_t indent);

#endif
