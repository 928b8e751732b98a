/* surrogate.c - halves of surrogate pairs among the escapes of a JSON text */
#include "json/surrogate.h"

#include <stdbool.h>
#include <string.h>

#define ESCAPE 6 /* bytes of \uXXXX */

enum half { NEITHER, HIGH, LOW };

static bool
is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* D800 to DBFF are HIGH, DC00 to DFFF are LOW. */
static enum half
escape_half(const char *at, size_t len)
{
    char third;

    if (len < ESCAPE || at[0] != '\\' || at[1] != 'u' || (at[2] | 0x20) != 'd' ||
        !is_hex(at[3]) || !is_hex(at[4]) || !is_hex(at[5]))
        return NEITHER;
    third = (char)(at[3] | 0x20); /* a digit has that bit */
    if (third < '8')
        return NEITHER;
    return third <= 'b' ? HIGH : LOW;
}

/* How many bytes to pass over at a backslash, which may make one escape U+FFFD's. */
static size_t
escape_repair(char *at, size_t len, size_t *repaired)
{
    static const char replacement[ESCAPE] = {'\\', 'u', 'f', 'f', 'f', 'd'};
    enum half half = escape_half(at, len);

    if (half == NEITHER)
        return len > 1 ? 2 : 1; /* also past a second backslash */
    if (half == HIGH && escape_half(at + ESCAPE, len - ESCAPE) == LOW)
        return 2 * (size_t)ESCAPE;
    memcpy(at, replacement, ESCAPE);
    ++*repaired;
    return ESCAPE;
}

size_t
mcpi_surrogates_repair(char *text, size_t len)
{
    char *end = text + len, *at = text;
    size_t repaired = 0;

    for (at = memchr(at, '\\', len); at; at = memchr(at, '\\', (size_t)(end - at)))
        at += escape_repair(at, (size_t)(end - at), &repaired);
    return repaired;
}
