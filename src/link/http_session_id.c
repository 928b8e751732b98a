/* http_session_id.c - ids that clients bring back: of sessions, and of their events */
#include "link/http_session_id.h"

#include <string.h>

#include "link/http_session.h"
#include "run/random.h"

#define RANDOM_BYTES 16 /* 128 bits: nobody guesses them */
#define RANDOM_DIGITS ((size_t)2 * RANDOM_BYTES)
#define SHARD_DIGITS 10

/* Lengths are no secret. */
bool
mcpi_session_id_is(const char *a, const char *b)
{
    size_t len = strlen(b);
    unsigned char differ = 0;

    if (strlen(a) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        differ |= (unsigned char)(a[i] ^ b[i]);
    return differ == 0;
}

int
mcpi_session_id_make(char *into, unsigned shard)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[RANDOM_BYTES];
    char number[SHARD_DIGITS];
    size_t len = 0;
    int r;

    r = mcpi_random(bytes, sizeof(bytes));
    if (r < 0)
        return r;
    do {
        number[len++] = (char)('0' + shard % 10);
        shard /= 10;
    } while (shard > 0);
    while (len > 0)
        *into++ = number[--len];
    *into++ = '-';
    for (size_t i = 0; i < sizeof(bytes); i++) {
        *into++ = digits[bytes[i] >> 4];
        *into++ = digits[bytes[i] & 15];
    }
    *into = '\0';
    return 0;
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

int
mcpi_session_shard(const char *id, unsigned *ret_shard)
{
    unsigned shard = 0;
    size_t len = 0;

    for (; is_digit(*id) && len < SHARD_DIGITS - 1; id++, len++)
        shard = shard * 10 + (unsigned)(*id - '0');
    if (len == 0 || *id != '-')
        return MCP_E_INVAL;
    id++;
    for (len = 0; len < RANDOM_DIGITS; len++)
        if (!is_hex(id[len]))
            return MCP_E_INVAL;
    if (id[len] != '\0')
        return MCP_E_INVAL;
    *ret_shard = shard;
    return 0;
}

/* Digits at *at, which moves behind them. False: there are none, or too many. */
static bool
number_read(const char **at, uint64_t *ret)
{
    const char *text = *at;
    uint64_t number = 0;

    for (; is_digit(*text); text++) {
        if (number > (UINT64_MAX - 9) / 10)
            return false;
        number = number * 10 + (uint64_t)(*text - '0');
    }
    if (text == *at)
        return false;
    *at = text;
    *ret = number;
    return true;
}

bool
mcpi_event_id_read(const char *text, uint64_t *ret_stream, uint64_t *ret_number)
{
    if (!number_read(&text, ret_stream) || *text++ != '-')
        return false;
    return number_read(&text, ret_number) && *text == '\0';
}
