/*
 * shell_text.c - what a command writes, made fit to be read by a model
 *
 * Three steps, each for one piece at a time: bytes become characters, characters lose
 * what only a terminal understands, and what is left is kept and cut into lines.
 */
#include "shell_text.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 4096
#define REPLACEMENT 0xfffd

/* ---- keeping it, in whole characters -------------------------------------------- */

static bool
text_grow(struct shell_text *text, size_t size)
{
    size_t room = text->room ? text->room : FIRST_ROOM;
    char *kept;

    while (room < size)
        room *= 2;
    kept = room == text->room ? text->kept : realloc(text->kept, room);
    if (!kept)
        return false;
    text->kept = kept;
    text->room = room;
    return true;
}

static void
text_keep(struct shell_text *text, const char *bytes, size_t length)
{
    if (text->is_cut || length > text->most - text->length ||
        !text_grow(text, text->length + length + 1)) {
        text->is_cut = true; /* once, and for good: nothing is left out in between */
        return;
    }
    memcpy(text->kept + text->length, bytes, length);
    text->length += length;
    text->kept[text->length] = '\0';
}

static void
line_end(struct shell_text *text)
{
    if (text->line_length > 0 && text->status == 0) {
        memcpy(text->line + text->line_length, "...", sizeof("..."));
        if (!text->line_is_cut)
            text->line[text->line_length] = '\0';
        text->status = text->on_line(text->user, text->line);
    }
    text->line_length = 0;
    text->line_is_cut = false;
}

static void
line_add(struct shell_text *text, const char *bytes, size_t length)
{
    if (length > LINE_BYTES - text->line_length)
        text->line_is_cut = true;
    if (text->line_is_cut)
        return;
    memcpy(text->line + text->line_length, bytes, length);
    text->line_length += length;
}

/* ---- what only a terminal understands ------------------------------------------- */

/* Is it part of an escape sequence? A control character ends any, so that one that is
 * broken hides no more than its line. */
static bool
escape_takes(struct shell_text *text, uint32_t point)
{
    bool is_control = point < 0x20;

    if (text->escape == PLAIN || is_control) {
        text->escape = point == 0x1b ? ESCAPE : PLAIN;
        return point == 0x1b;
    }
    switch (text->escape) {
    case ESCAPE: /* ESC ( B: what stands between is from space to slash */
        if (point == '[')
            text->escape = SEQUENCE;
        else if (point < 0x7f && strchr("]PX^_", (int)point))
            text->escape = STRING;
        else if (point > '/')
            text->escape = PLAIN;
        break;
    case SEQUENCE:
        if (point >= '@' && point <= '~')
            text->escape = PLAIN;
        break;
    default: /* a string lasts until a control character: BEL, or ESC and a backslash */
        break;
    }
    return true;
}

static size_t
character_write(uint32_t point, char *into)
{
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t length = 1;

    if (point < 0x80) {
        into[0] = (char)point;
        return 1;
    }
    length = point < 0x800 ? 2 : 3;
    if (point > 0xffff)
        length = 4;
    for (size_t i = length; i-- > 1; point >>= 6)
        into[i] = (char)(0x80 | (point & 0x3f));
    into[0] = (char)(first[length] | point);
    return length;
}

static void
character_add(struct shell_text *text, uint32_t point)
{
    bool after_return = text->after_return;
    char bytes[4];
    size_t length;

    text->after_return = point == '\r';
    if (escape_takes(text, point) || (point == '\n' && after_return))
        return;
    if (point == '\r')
        point = '\n'; /* of a line that is painted over, each state is a line */
    if ((point < 0x20 && point != '\n' && point != '\t') ||
        (point >= 0x7f && point < 0xa0))
        return;
    length = character_write(point, bytes);
    text_keep(text, bytes, length);
    if (point == '\n')
        line_end(text);
    else
        line_add(text, bytes, length);
}

/* ---- bytes ---------------------------------------------------------------------- */

/* Is it written as short as can be, and a character at all? */
static bool
is_character(uint32_t point, int bytes)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

    return point >= least[bytes] && point <= 0x10ffff &&
           (point < 0xd800 || point > 0xdfff);
}

static void
byte_add(struct shell_text *text, unsigned char byte)
{
    if (text->missing > 0 && (byte & 0xc0) == 0x80) {
        text->point = text->point << 6 | (byte & 0x3f);
        if (--text->missing == 0)
            character_add(text, is_character(text->point, text->bytes) ? text->point
                                                                       : REPLACEMENT);
        return;
    }
    if (text->missing > 0)
        character_add(text, REPLACEMENT);
    text->missing = 0;
    if (byte < 0x80) {
        character_add(text, byte);
    } else if (byte >= 0xc0 && byte < 0xf8) {
        text->bytes = byte < 0xe0 ? 2 : 3;
        if (byte >= 0xf0)
            text->bytes = 4;
        text->missing = text->bytes - 1;
        text->point = byte & (0x7f >> text->bytes);
    } else {
        character_add(text, REPLACEMENT);
    }
}

/* Letters, most of the time: as many as there are at once. */
static size_t
letters_add(struct shell_text *text, const char *bytes, size_t most)
{
    size_t room = text->most - text->length, line = LINE_BYTES - text->line_length;
    size_t length = 0;

    if (text->missing > 0 || text->escape != PLAIN)
        return 0;
    while (length < most && bytes[length] >= ' ' && bytes[length] <= '~')
        length++;
    if (length == 0)
        return 0;
    text_keep(text, bytes, length < room ? length : room);
    text->is_cut = text->is_cut || length > room;
    line_add(text, bytes, length < line ? length : line);
    text->line_is_cut = text->line_is_cut || length > line;
    text->after_return = false;
    return length;
}

void
shell_text_init(struct shell_text *text, size_t most,
                int (*on_line)(void *user, const char *line), void *user)
{
    *text = (struct shell_text){.most = most, .on_line = on_line, .user = user};
}

void
shell_text_done(struct shell_text *text)
{
    free(text->kept);
    text->kept = NULL;
}

int
shell_text_add(struct shell_text *text, const char *bytes, size_t length)
{
    size_t taken;

    for (size_t i = 0; i < length && text->status == 0; i += taken) {
        taken = letters_add(text, bytes + i, length - i);
        if (taken == 0) {
            byte_add(text, (unsigned char)bytes[i]);
            taken = 1;
        }
    }
    return text->status;
}

int
shell_text_end(struct shell_text *text)
{
    if (text->missing > 0)
        character_add(text, REPLACEMENT);
    text->missing = 0;
    line_end(text);
    return text->status;
}
