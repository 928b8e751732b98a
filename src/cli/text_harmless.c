/* text_harmless.c - takes out of a text what a terminal obeys, or nobody sees */
#include <string.h>

#include "cli/text.h"

/*
 * Design note. One pass over the characters with a state, as a terminal reads them
 * (ECMA-48, 5.3 to 5.6, and what terminals make of it). Escape sequences exist in two
 * forms, ESC and a letter or one C1 control, which UTF-8 writes as U+0080 to U+009F:
 *
 *     ESC [   U+009B            CSI   parameters 0x20 to 0x3F, one final 0x40 to 0x7E
 *     ESC ]   U+009D            OSC   any text, ended by ST or BEL
 *     ESC P X ^ _  U+0090 ...   DCS, SOS, PM, APC: any text, ended by ST
 *     ESC 0x20 to 0x2F ...      any more of these, one final 0x30 to 0x7E
 *     ESC anything else         that one character
 *     ST is ESC \ or U+009C
 *
 * CAN and SUB break off whatever there is, ESC begins anew, and a character that cannot
 * belong to the sequence ends it and counts for itself. Two rules are ours. A newline
 * ends everything, and BEL every string: else a server could hide all the rest of its
 * text by a string without end. Nothing is lost by that, because the beginning is gone
 * already, and what follows is only text.
 *
 * Of the characters that are not seen, U+200C and U+200D stay (Persian, the scripts of
 * India, emoji), and so do variation selectors. U+200E, U+200F and U+061C go with the
 * other marks of direction: letters have their own direction, and a text without marks
 * can at worst be read in a clumsy order, with them it can be another text than the
 * bytes say.
 */

enum state {
    PLAIN,
    ESCAPED, /* behind ESC */
    BETWEEN, /* behind ESC and 0x20 to 0x2F */
    CONTROL, /* in CSI */
    STRING,  /* in OSC, DCS, SOS, PM, APC */
};

enum { BEL = 0x07, CAN = 0x18, SUB = 0x1A, ESC = 0x1B, DEL = 0x7F, ST = 0x9C };

static bool
is_between(uint32_t point, uint32_t first, uint32_t last)
{
    return point >= first && point <= last;
}

/* Format characters and others that have no shape, in the order of Unicode. */
static bool
is_unseen(uint32_t point)
{
    if (point < 0xAD)
        return false;
    return point == 0xAD || point == 0x061C || point == 0x180E || point == 0x200B ||
           is_between(point, 0x200E, 0x200F) || is_between(point, 0x202A, 0x202E) ||
           is_between(point, 0x2060, 0x206F) || point == 0xFEFF ||
           is_between(point, 0xFFF9, 0xFFFB) || is_between(point, 0x1BCA0, 0x1BCA3) ||
           is_between(point, 0x1D173, 0x1D17A) || is_between(point, 0xE0000, 0xE007F);
}

static bool
is_control(uint32_t point)
{
    return point < 0x20 || is_between(point, DEL, 0x9F);
}

/* What a C1 control begins, given as the letter behind ESC that means the same. */
static enum state
begin(uint32_t letter)
{
    switch (letter) {
    case '[':
        return CONTROL;
    case ']':
    case 'P':
    case 'X':
    case '^':
    case '_':
        return STRING;
    default:
        return PLAIN;
    }
}

/* One character inside of a sequence. True: it is part of it. False: the sequence is
 * over, and the character counts for itself. */
static bool
sequence_takes(enum state *state, uint32_t point)
{
    enum state was = *state;

    *state = PLAIN;
    switch (was) {
    case ESCAPED:
        if (is_between(point, 0x20, 0x2F))
            *state = BETWEEN;
        else if (is_between(point, 0x30, 0x7E))
            *state = begin(point);
        else
            return false;
        return true;
    case BETWEEN:
        if (is_between(point, 0x20, 0x2F))
            *state = BETWEEN;
        return is_between(point, 0x20, 0x7E);
    case CONTROL:
        if (is_between(point, 0x20, 0x3F))
            *state = CONTROL;
        return is_between(point, 0x20, 0x7E);
    case STRING:
        if (point == '\n' || point == '\r' || point == ESC)
            return false;
        if (point != BEL && point != CAN && point != SUB && point != ST)
            *state = STRING;
        return true;
    default:
        return false;
    }
}

/* A character outside of any sequence; bytes: how it stood in the text. */
static void
add_plain(struct cli_text *into, uint32_t point, const char *bytes, size_t length,
          bool one_line)
{
    if (point == '\n' || point == 0x2028 || point == 0x2029)
        cli_text_add(into, one_line ? " " : "\n", 1);
    else if (point == '\t')
        cli_text_add(into, one_line ? " " : "\t", 1);
    else if (point == 0xFFFD)
        cli_text_puts(into, "\xEF\xBF\xBD");
    else if (!is_control(point) && !is_unseen(point))
        cli_text_add(into, bytes, length);
}

void
cli_text_add_harmless(struct cli_text *into, const char *data, size_t length,
                      bool one_line)
{
    enum state state = PLAIN;
    size_t bytes;

    for (size_t at = 0; at < length; at += bytes) {
        uint32_t point;

        bytes = cli_text_decode(data + at, length - at, &point);
        if (state != PLAIN && sequence_takes(&state, point))
            continue;
        if (point == '\r') {
            if (at + 1 < length && data[at + 1] == '\n')
                continue;
            point = '\n';
        }
        if (point == ESC)
            state = ESCAPED;
        else if (is_between(point, 0x80, 0x9F))
            state = begin(point - 0x40);
        else
            add_plain(into, point, data + at, bytes, one_line);
    }
}

void
cli_text_add_json(struct cli_text *into, const char *json, size_t length)
{
    size_t bytes, from = 0;

    for (size_t at = 0; at < length; at += bytes) {
        uint32_t point;

        bytes = cli_text_decode(json + at, length - at, &point);
        /* controls below DEL stand between values only, as blanks */
        if (point < DEL || (!is_control(point) && !is_unseen(point)))
            continue;
        cli_text_add(into, json + from, at - from);
        from = at + bytes;
        if (point < 0x10000)
            cli_text_printf(into, "\\u%04x", (unsigned)point);
        else
            cli_text_printf(into, "\\u%04x\\u%04x",
                            (unsigned)(0xD800 + ((point - 0x10000) >> 10)),
                            (unsigned)(0xDC00 + (point & 0x3FF)));
    }
    cli_text_add(into, json + from, length - from);
}
