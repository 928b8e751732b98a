/* base64.c - bytes as text and back, as MCP has images, audio and blobs */
#include "cli/base64.h"

#define PIECE 1024 /* bytes that are added at once: adding each alone is slow */

/* What a character stands for, or -1. "-_" are "+/" where a text is part of a URL. */
static int
digit_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

bool
cli_base64_decode(struct cli_text *into, const char *text, size_t length)
{
    char piece[PIECE] = {0};
    size_t filled = 0, digits = 0, pads = 0;
    uint32_t group = 0;

    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        int value;

        if (c == '\n' || c == '\r' || c == ' ' || c == '\t')
            continue;
        if (c == '=' && ++pads <= 2)
            continue;
        value = digit_value(c);
        if (value < 0 || pads > 0)
            return false;
        group = group << 6 | (uint32_t)value;
        /* each digit but the first of four completes a byte */
        if (digits++ % 4 > 0)
            piece[filled++] = (char)(group >> (2 * (3 - (digits - 1) % 4)) & 0xFF);
        if (filled == PIECE) {
            cli_text_add(into, piece, filled);
            filled = 0;
        }
    }
    cli_text_add(into, piece, filled);
    return digits % 4 != 1 && (pads == 0 || (digits + pads) % 4 == 0) && !into->failed;
}

void
cli_base64_encode(struct cli_text *into, const char *bytes, size_t length)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < length; i += 3) {
        size_t have = length - i < 3 ? length - i : 3;
        uint32_t group = (uint32_t)(unsigned char)bytes[i] << 16;
        char digits[4];

        if (have > 1)
            group |= (uint32_t)(unsigned char)bytes[i + 1] << 8;
        if (have > 2)
            group |= (unsigned char)bytes[i + 2];
        for (size_t d = 0; d < 4; d++)
            digits[d] = d <= have ? alphabet[group >> (18 - 6 * d) & 63] : '=';
        cli_text_add(into, digits, sizeof digits);
    }
}
