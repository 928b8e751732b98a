/* base64.c - bytes as text (RFC 4648) */
#include "base/base64.h"

#include <string.h>

static const char plain_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* ---- writing ------------------------------------------------------------ */

static void
write_three(const char *digits, const unsigned char *in, char *out)
{
    out[0] = digits[in[0] >> 2];
    out[1] = digits[(in[0] & 3) << 4 | in[1] >> 4];
    out[2] = digits[(in[1] & 15) << 2 | in[2] >> 6];
    out[3] = digits[in[2] & 63];
}

/* Returns how many digits the rest has: 0, 2 or 3 of the four that were written. */
static size_t
write_all(struct mcpi_buf *buf, const char *digits, const unsigned char *bytes,
          size_t len, char **ret_rest)
{
    size_t whole = len / 3, rest = len % 3;
    unsigned char last[3] = {0};
    char *at;

    *ret_rest = NULL;
    if (len > SIZE_MAX / 2) {
        buf->status = MCP_E_LIMIT;
        return 0;
    }
    at = mcpi_buf_reserve(buf, (whole + 1) * 4);
    if (!at)
        return 0;
    for (size_t i = 0; i < whole; i++)
        write_three(digits, bytes + 3 * i, at + 4 * i);
    mcpi_buf_commit(buf, whole * 4);
    if (rest == 0)
        return 0;
    memcpy(last, bytes + 3 * whole, rest);
    *ret_rest = at + 4 * whole;
    write_three(digits, last, *ret_rest);
    return rest + 1;
}

void
mcpi_base64_write(struct mcpi_buf *buf, const void *bytes, size_t len)
{
    char *rest;
    size_t count = write_all(buf, plain_digits, bytes, len, &rest);

    if (!rest)
        return;
    memcpy(rest + count, "==", 4 - count);
    mcpi_buf_commit(buf, 4);
}

void
mcpi_base64url_write(struct mcpi_buf *buf, const void *bytes, size_t len)
{
    char *rest;
    size_t count = write_all(buf, url_digits, bytes, len, &rest);

    if (rest)
        mcpi_buf_commit(buf, count);
}

/* ---- reading ------------------------------------------------------------ */

/* What a digit is worth in the alphabet with these two at its end; -1: it is none. */
static int
digit_value(char c, const char *last)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == last[0])
        return 62;
    return c == last[1] ? 63 : -1;
}

/* Up to four digits to the bytes they stand for; false: they stand for none. */
static bool
read_group(const char *text, size_t len, const char *last, unsigned char out[3])
{
    unsigned bits = 0;
    int value;

    for (size_t i = 0; i < 4; i++) {
        value = i < len ? digit_value(text[i], last) : 0;
        if (value < 0)
            return false;
        bits = bits << 6 | (unsigned)value;
    }
    out[0] = (unsigned char)(bits >> 16);
    out[1] = (unsigned char)(bits >> 8);
    out[2] = (unsigned char)bits;
    return len == 4 || (bits & (len == 3 ? 0xffU : 0xffffU)) == 0;
}

/* Digits alone, without padding. */
static int
read_all(struct mcpi_buf *buf, const char *text, size_t len, const char *last)
{
    size_t before = buf->len, bytes = 0, group;
    unsigned char three[3];
    char *at;

    if (len % 4 == 1)
        return MCP_E_INVAL;
    at = mcpi_buf_reserve(buf, (len / 4 + 1) * 3);
    if (!at)
        return buf->status;
    for (size_t i = 0; i < len; i += 4) {
        group = len - i < 4 ? len - i : 4;
        if (!read_group(text + i, group, last, three)) {
            mcpi_buf_rewind(buf, before);
            return MCP_E_INVAL;
        }
        memcpy(at + bytes, three, group - 1);
        bytes += group - 1;
    }
    mcpi_buf_commit(buf, bytes);
    return 0;
}

int
mcpi_base64_read(struct mcpi_buf *buf, const char *text, size_t len)
{
    if (len % 4 != 0)
        return MCP_E_INVAL;
    if (len > 0 && text[len - 1] == '=')
        len -= text[len - 2] == '=' ? 2 : 1;
    return read_all(buf, text, len, plain_digits + 62);
}

int
mcpi_base64url_read(struct mcpi_buf *buf, const char *text, size_t len)
{
    return read_all(buf, text, len, url_digits + 62);
}
