/*
 * mirror.c - what of a message also stands in HTTP headers
 *
 * The rules are those of 2026-07-28, basic/transports/streamable-http, "Value Encoding"
 * and "Server Validation".
 */
#include "wire/mirror.h"

#include <string.h>

#include "base/base64.h"
#include "base/text.h"
#include "json/field.h"

#define OPENING "=?base64?"
#define CLOSING "?="

/* ---- values of headers -------------------------------------------------- */

struct text {
    const char *at;
    size_t len;
};

static bool
begins_with(struct text text, const char *with, size_t len)
{
    return text.len >= len && memcmp(text.at, with, len) == 0;
}

static bool
ends_with(struct text text, const char *with, size_t len)
{
    return text.len >= len && memcmp(text.at + text.len - len, with, len) == 0;
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* RFC 9110, 5.5, without what is no ASCII. */
static bool
is_header_text(struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];

        if ((c < 0x20 && c != '\t') || c > 0x7E)
            return false;
    }
    return true;
}

/* A tab may stand in a header, but a control character is to be encoded. The two
 * markers may share their middle here: who reads them so must not be misled. */
static bool
needs_marker(struct text text)
{
    if (text.len == 0)
        return false;
    if (!is_header_text(text) || memchr(text.at, '\t', text.len))
        return true;
    if (is_blank(text.at[0]) || is_blank(text.at[text.len - 1]))
        return true;
    return begins_with(text, OPENING, sizeof(OPENING) - 1) &&
           ends_with(text, CLOSING, sizeof(CLOSING) - 1);
}

static struct text
text_trim(const char *at, size_t len)
{
    while (len > 0 && is_blank(at[len - 1]))
        len--;
    for (; len > 0 && is_blank(*at); len--)
        at++;
    return (struct text){at, len};
}

/* Is it encoded? Then *text becomes what stands between the markers. */
static bool
text_unwrap(struct text *text)
{
    const size_t opening = sizeof(OPENING) - 1, closing = sizeof(CLOSING) - 1;

    if (text->len < opening + closing || !begins_with(*text, OPENING, opening) ||
        !ends_with(*text, CLOSING, closing))
        return false;
    text->at += opening;
    text->len -= opening + closing;
    return true;
}

static int
base64_decode(struct mcpi_buf *into, struct text text)
{
    size_t before = into->len;
    int r;

    r = mcpi_base64_read(into, text.at, text.len);
    if (r == 0 && into->len > before &&
        !mcpi_utf8_valid(into->data + before, into->len - before)) {
        mcpi_buf_truncate(into, before);
        r = MCP_E_INVAL;
    }
    return r == MCP_E_INVAL ? MCP_E_PROTO : r;
}

void
mcpi_mirror_encode(struct mcpi_buf *into, const char *text, size_t len)
{
    size_t before = into->len;

    if (!needs_marker((struct text){text, len})) {
        mcpi_buf_append(into, text, len);
        return;
    }
    MCPI_BUF_LITERAL(into, OPENING);
    mcpi_base64_write(into, text, len);
    MCPI_BUF_LITERAL(into, CLOSING);
    if (into->status < 0)
        mcpi_buf_truncate(into, before);
}

int
mcpi_mirror_decode(struct mcpi_buf *into, const char *value, size_t len)
{
    struct text text = text_trim(value, len);

    if (!is_header_text(text))
        return MCP_E_PROTO;
    if (text_unwrap(&text))
        return base64_decode(into, text);
    mcpi_buf_append(into, text.at, text.len);
    return into->status;
}

/* ---- integers, exactly -------------------------------------------------- */

/* Digits of a number: bits * 10^scale is what they say so far. Zeros at the end are
 * only counted, so that those of a fraction cost nothing. */
struct decimal {
    uint64_t bits;
    int64_t scale;
};

/* Times 10 so often, plus a digit; false: no 64 bits. */
static bool
bits_shift(uint64_t *bits, int64_t times, unsigned digit)
{
    if (*bits > 0 && times > 20)
        return false;
    for (; *bits > 0 && times > 0; times--) {
        if (*bits > UINT64_MAX / 10)
            return false;
        *bits *= 10;
    }
    if (*bits > UINT64_MAX - digit)
        return false;
    *bits += digit;
    return true;
}

static bool
is_digit(const struct text *text)
{
    return text->len > 0 && *text->at >= '0' && *text->at <= '9';
}

static bool
text_skip(struct text *text, char c)
{
    if (text->len == 0 || *text->at != c)
        return false;
    text->at++;
    text->len--;
    return true;
}

/* At least one digit. Returns how many, 0: none, or too many to be told. */
static size_t
digits_read(struct text *text, struct decimal *number)
{
    size_t count = 0;
    unsigned digit;

    for (; is_digit(text); count++) {
        digit = (unsigned)(*text->at - '0');
        (void)text_skip(text, *text->at);
        number->scale++;
        if (digit == 0)
            continue;
        if (!bits_shift(&number->bits, number->scale, digit))
            return 0;
        number->scale = 0;
    }
    return count;
}

static bool
exponent_read(struct text *text, int64_t *ret_exponent)
{
    bool is_negative = text_skip(text, '-');
    int64_t exponent = 0;

    if (!is_negative)
        (void)text_skip(text, '+');
    if (!is_digit(text))
        return false;
    while (is_digit(text)) {
        if (exponent < INT32_MAX)
            exponent = exponent * 10 + (*text->at - '0');
        (void)text_skip(text, *text->at);
    }
    *ret_exponent = is_negative ? -exponent : exponent;
    return true;
}

/* The grammar of JSON's numbers; the scale then says how often to multiply by 10. */
static bool
decimal_read(struct text *text, struct decimal *number)
{
    bool is_zero = text->len > 0 && *text->at == '0';
    int64_t exponent = 0;
    size_t whole = digits_read(text, number), behind = 0;

    if (whole == 0 || (is_zero && whole > 1))
        return false;
    if (text_skip(text, '.')) {
        behind = digits_read(text, number);
        if (behind == 0)
            return false;
    }
    if (text_skip(text, 'e') || text_skip(text, 'E')) {
        if (!exponent_read(text, &exponent))
            return false;
    }
    number->scale += exponent - (int64_t)behind;
    return text->len == 0;
}

/* Does this text say that integer? */
static bool
integer_is(struct text text, struct mcpi_integer integer)
{
    bool is_negative = text_skip(&text, '-');
    struct decimal number = {0};

    if (!decimal_read(&text, &number))
        return false;
    if (number.bits == 0)
        return integer.bits == 0;
    if (number.scale < 0 || !bits_shift(&number.bits, number.scale, 0))
        return false;
    if (is_negative != integer.negative)
        return false;
    return number.bits == (is_negative ? 0 - integer.bits : integer.bits);
}

/* ---- values of messages ------------------------------------------------- */

static bool
text_is(struct text text, const char *other, size_t len)
{
    return text.len == len && (len == 0 || memcmp(text.at, other, len) == 0);
}

/* The text is decoded. */
static int
text_compare(struct text text, const mcp_json *said)
{
    struct mcpi_integer integer;
    bool same = false;

    switch (mcp_json_get_type(said)) {
    case MCP_JSON_STRING:
        same = text_is(text, mcp_json_string(said, ""), mcp_json_string_length(said));
        break;
    case MCP_JSON_BOOL:
        same = mcp_json_bool(said, false) ? text_is(text, "true", 4)
                                          : text_is(text, "false", 5);
        break;
    case MCP_JSON_INTEGER:
    case MCP_JSON_REAL:
        same = mcpi_integer_read(said, &integer) == 0 && integer_is(text, integer);
        break;
    default:
        break;
    }
    return same ? 0 : MCP_E_PROTO;
}

int
mcpi_mirror_compare(const mcp_allocator *mem, const char *value, size_t len,
                    const mcp_json *said)
{
    struct text text = text_trim(value, len);
    struct mcpi_buf plain;
    int r;

    if (!is_header_text(text))
        return MCP_E_PROTO;
    if (!text_unwrap(&text))
        return text_compare(text, said);
    mcpi_buf_init(&plain, mem, SIZE_MAX);
    r = base64_decode(&plain, text);
    if (r == 0)
        r = text_compare((struct text){plain.data, plain.len}, said);
    mcpi_buf_done(&plain);
    return r;
}

int
mcpi_mirror_write(struct mcpi_buf *into, const mcp_json *said)
{
    struct mcpi_integer integer;

    switch (mcp_json_get_type(said)) {
    case MCP_JSON_STRING:
        mcpi_mirror_encode(into, mcp_json_string(said, ""),
                           mcp_json_string_length(said));
        return into->status;
    case MCP_JSON_BOOL:
        mcpi_buf_text(into, mcp_json_bool(said, false) ? "true" : "false");
        return into->status;
    default:
        if (mcpi_integer_read(said, &integer) < 0)
            return MCP_E_INVAL;
        if (integer.negative)
            mcpi_buf_int(into, (int64_t)integer.bits);
        else
            mcpi_buf_uint(into, integer.bits);
        return into->status;
    }
}
