/* text.c - UTF-8 and small copies of text */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HIGH_BITS UINT64_C(0x8080808080808080)

/* The second byte has narrower bounds after four of the first bytes. */
static bool
second_byte_fits(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xE0: /* below 0xA0 it would fit in two bytes */
        return second >= 0xA0 && second <= 0xBF;
    case 0xED: /* above 0x9F are surrogates */
        return second >= 0x80 && second <= 0x9F;
    case 0xF0: /* below 0x90 it would fit in three bytes */
        return second >= 0x90 && second <= 0xBF;
    case 0xF4: /* above 0x8F is no Unicode */
        return second >= 0x80 && second <= 0x8F;
    default:
        return second >= 0x80 && second <= 0xBF;
    }
}

/* Bytes of the character that starts here; 0 if none does. As Unicode's table of
 * well-formed sequences has it: no overlong form, no surrogate, none over U+10FFFF. */
static size_t
utf8_char(const unsigned char *at, size_t len)
{
    size_t need;

    if (at[0] < 0x80)
        return 1;
    if (at[0] < 0xC2 || at[0] > 0xF4)
        return 0;
    need = 2 + (at[0] >= 0xE0) + (at[0] >= 0xF0);
    if (len < need || !second_byte_fits(at[0], at[1]))
        return 0;
    for (size_t i = 2; i < need; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    }
    return need;
}

/* Nearly all text is ASCII: eight bytes a step while it is. */
static size_t
ascii_prefix(const char *text, size_t len)
{
    size_t at = 0;
    uint64_t word;

    while (len - at >= sizeof(word)) {
        memcpy(&word, text + at, sizeof(word));
        if (word & HIGH_BITS)
            break;
        at += sizeof(word);
    }
    return at;
}

bool
mcpi_utf8_valid(const char *text, size_t len)
{
    size_t at = 0;

    while (at < len) {
        size_t step = ascii_prefix(text + at, len - at);

        if (step == 0)
            step = utf8_char((const unsigned char *)text + at, len - at);
        if (step == 0)
            return false;
        at += step;
    }
    return true;
}

size_t
mcpi_utf8_count(const char *text, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

size_t
mcpi_utf8_cut(const char *text, size_t len, size_t max)
{
    size_t at = max;

    if (len <= max)
        return len;
    /* a character has three further bytes at most: more are not UTF-8, cut anywhere */
    while (at > 0 && max - at < 3 && ((unsigned char)text[at] & 0xC0) == 0x80)
        at--;
    return ((unsigned char)text[at] & 0xC0) == 0x80 ? max : at;
}

static bool
is_control(const unsigned char *at, size_t len)
{
    if (len == 1)
        return at[0] < 0x20 || at[0] == 0x7F;
    return len == 2 && at[0] == 0xC2 && at[1] < 0xA0;
}

size_t
mcpi_text_clean(char *into, size_t size, const char *text, size_t len)
{
    size_t used = 0;
    size_t at = 0;

    if (size == 0)
        return 0;
    while (text && at < len) {
        const unsigned char *here = (const unsigned char *)text + at;
        size_t step = utf8_char(here, len - at);
        bool replace = step == 0 || is_control(here, step);
        size_t bytes = replace ? 1 : step;

        if (bytes > size - 1 - used)
            break;
        memmove(into + used, replace ? "?" : text + at, bytes);
        used += bytes;
        at += step ? step : 1;
    }
    into[used] = '\0';
    return used;
}

const char *
mcpi_text_stow(char **at, const char *text, size_t len)
{
    char *copy = *at;

    if (!text)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    *at += len + 1;
    return copy;
}

bool
mcpi_text_is_token(const char *text, size_t len)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < len; i++) {
        bool is_alnum = (text[i] >= '0' && text[i] <= '9') ||
                        (text[i] >= 'A' && text[i] <= 'Z') ||
                        (text[i] >= 'a' && text[i] <= 'z');

        if (!is_alnum && !memchr(marks, text[i], sizeof(marks) - 1))
            return false;
    }
    return len > 0;
}

bool
mcpi_text_same_letters(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char lower_a = (char)(*a >= 'A' && *a <= 'Z' ? *a + 32 : *a);
        char lower_b = (char)(*b >= 'A' && *b <= 'Z' ? *b + 32 : *b);

        if (lower_a != lower_b)
            return false;
    }
    return *a == *b;
}

int
mcpi_error_set(mcp_error *err, int status, const char *format, ...)
{
    /* longer by one character: a cut of vsnprintf's falls outside of what is kept */
    char raw[sizeof(err->message) + 4];
    va_list args;
    int n;

    if (!err)
        return status;
    va_start(args, format);
    n = vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    if (n < 0)
        raw[0] = '\0';
    err->status = status;
    err->rpc_code = 0;
    err->http_status = 0;
    (void)mcpi_text_clean(err->message, sizeof(err->message), raw, strlen(raw));
    return status;
}
