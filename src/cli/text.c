/* text.c - a growing text, and its characters one by one */
#include "cli/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 256
#define NOT_UTF8 0xFFFDu

/* Room for that many bytes more and the terminator. */
static bool
text_reserve(struct cli_text *text, size_t more)
{
    size_t room = text->room ? text->room : ROOM_FIRST;
    char *data;

    if (text->failed)
        return false;
    if (more >= SIZE_MAX / 4 - text->length) {
        text->failed = true;
        return false;
    }
    while (room < text->length + more + 1)
        room *= 2;
    if (room == text->room)
        return true;
    data = realloc(text->data, room);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->room = room;
    return true;
}

void
cli_text_add(struct cli_text *text, const char *data, size_t length)
{
    if (length == 0 || !text_reserve(text, length))
        return;
    memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void
cli_text_puts(struct cli_text *text, const char *data)
{
    cli_text_add(text, data, strlen(data));
}

void
cli_text_printf(struct cli_text *text, const char *format, ...)
{
    va_list args, again;
    int length;

    va_start(args, format);
    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        text->failed = true;
    else if (text_reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void
cli_text_pad(struct cli_text *text, size_t columns)
{
    if (columns == 0 || !text_reserve(text, columns))
        return;
    memset(text->data + text->length, ' ', columns);
    text->length += columns;
    text->data[text->length] = '\0';
}

const char *
cli_text_string(const struct cli_text *text)
{
    return text->length > 0 ? text->data : "";
}

void
cli_text_done(struct cli_text *text)
{
    free(text->data);
    *text = (struct cli_text){0};
}

/* How many bytes a character has by its first one; 0: none begins so. */
static size_t
lead_length(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    if (lead < 0xE0)
        return 2;
    return lead < 0xF0 ? 3 : 4;
}

/* May that be the second byte? Else it would be an overlong form, a surrogate, or
 * beyond what Unicode has. */
static bool
second_fits(unsigned char lead, unsigned char second)
{
    if (second < 0x80 || second > 0xBF)
        return false;
    switch (lead) {
    case 0xE0:
        return second >= 0xA0;
    case 0xED:
        return second <= 0x9F;
    case 0xF0:
        return second >= 0x90;
    case 0xF4:
        return second <= 0x8F;
    default:
        return true;
    }
}

size_t
cli_text_decode(const char *data, size_t length, uint32_t *ret_point)
{
    const unsigned char *byte = (const unsigned char *)data;
    size_t need = lead_length(byte[0]);
    uint32_t point;

    if (need == 1) {
        *ret_point = byte[0];
        return 1;
    }
    *ret_point = NOT_UTF8;
    if (need == 0 || length < 2 || !second_fits(byte[0], byte[1]))
        return 1;
    point = byte[0] & (0x7Fu >> need);
    for (size_t i = 1; i < need; i++) {
        if (i >= length || byte[i] >> 6 != 2)
            return i;
        point = point << 6 | (byte[i] & 0x3Fu);
    }
    *ret_point = point;
    return need;
}
