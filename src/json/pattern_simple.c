/* pattern_simple.c - patterns that need no backtracking, matched without PCRE2 */
#include "json/pattern_simple.h"

#include <string.h>

#define REPEAT_MAX 65535 /* what PCRE2 allows: beyond, it shall say so */

struct reader {
    const char *at, *end;
};

static char
peek(const struct reader *r)
{
    return r->at < r->end ? *r->at : '\0';
}

static bool
take(struct reader *r, char c)
{
    if (c == '\0' || peek(r) != c)
        return false;
    r->at++;
    return true;
}

static bool
is_ascii_text(char c)
{
    return c >= ' ' && c <= '~';
}

static void
set_range(uint64_t set[2], char first, char last)
{
    for (unsigned c = (unsigned char)first; c <= (unsigned char)last; c++)
        set[c / 64] |= (uint64_t)1 << (c % 64);
}

/* What follows a backslash: \d, \w, or a punctuation mark for itself, in *ret_char. */
static bool
escape_read(struct reader *r, uint64_t set[2], char *ret_char)
{
    char c = peek(r);

    *ret_char = '\0';
    if (c != 'd' && c != 'w') {
        if (!is_ascii_text(c) || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
            (c >= 'a' && c <= 'z'))
            return false;
        *ret_char = c;
        set_range(set, c, c);
        r->at++;
        return true;
    }
    set_range(set, '0', '9');
    if (c == 'w') {
        set_range(set, 'a', 'z');
        set_range(set, 'A', 'Z');
        set_range(set, '_', '_');
    }
    r->at++;
    return true;
}

/* One character of a class, or \d, \w, which begin no range. */
static bool
class_char_read(struct reader *r, uint64_t set[2], char *ret_char)
{
    char c = peek(r);

    if (!is_ascii_text(c) || c == '[')
        return false;
    r->at++;
    if (c == '\\')
        return escape_read(r, set, ret_char);
    *ret_char = c;
    set_range(set, c, c);
    return true;
}

/* [...] after its bracket. A '^' in front and what is not ASCII is left to PCRE2. */
static bool
class_read(struct reader *r, uint64_t set[2])
{
    char first, last;

    if (peek(r) == '^' || peek(r) == ']')
        return false;
    while (peek(r) != ']') {
        if (!class_char_read(r, set, &first))
            return false;
        if (peek(r) != '-' || r->end - r->at < 2 || r->at[1] == ']')
            continue;
        r->at++;
        if (!class_char_read(r, set, &last) || !first || !last || first > last)
            return false;
        set_range(set, first, last);
    }
    r->at++;
    return true;
}

static bool
number_read(struct reader *r, uint64_t *ret)
{
    const char *start = r->at;

    for (*ret = 0; peek(r) >= '0' && peek(r) <= '9' && *ret <= REPEAT_MAX; r->at++)
        *ret = *ret * 10 + (uint64_t)(peek(r) - '0');
    return r->at > start && *ret <= REPEAT_MAX;
}

/* {m}, {m,} or {m,n} after its brace */
static bool
braces_read(struct reader *r, uint64_t *min, uint64_t *max)
{
    if (!number_read(r, min))
        return false;
    *max = *min;
    if (take(r, ',')) {
        *max = UINT64_MAX;
        if (peek(r) != '}' && !number_read(r, max))
            return false;
    }
    return take(r, '}') && *min <= *max;
}

static bool
repeat_read(struct reader *r, uint64_t *min, uint64_t *max)
{
    *min = *max = 1;
    if (take(r, '*') || take(r, '+')) {
        *min = r->at[-1] == '+';
        *max = UINT64_MAX;
    } else if (take(r, '?')) {
        *min = 0;
    } else if (take(r, '{') && !braces_read(r, min, max)) {
        return false;
    }
    return peek(r) == '\0' || !strchr("*+?{", peek(r));
}

static bool
item_read(struct reader *r, uint64_t set[2])
{
    char c = peek(r);

    if (!is_ascii_text(c) || strchr(".()|^$*+?{}]", c))
        return false;
    r->at++;
    if (c == '[')
        return class_read(r, set);
    if (c == '\\')
        return escape_read(r, set, &c);
    set_range(set, c, c);
    return true;
}

bool
mcpi_pattern_simple_read(struct mcpi_pattern_simple *simple, const char *text,
                         size_t len)
{
    struct reader r = {text, text + len};
    bool varies = false;

    memset(simple, 0, sizeof(*simple));
    if (!take(&r, '^'))
        return false;
    for (unsigned i = 0; i < MCPI_SIMPLE_ITEMS && !varies; i++) {
        if (!item_read(&r, simple->items[i].set) ||
            !repeat_read(&r, &simple->items[i].min, &simple->items[i].max))
            return false;
        varies = simple->items[i].min != simple->items[i].max;
        if (take(&r, '$')) {
            simple->count = r.at == r.end ? i + 1 : 0;
            return simple->count > 0;
        }
    }
    return false;
}

static bool
set_has(const uint64_t set[2], unsigned char c)
{
    return c < 128 && set[c / 64] >> (c % 64) & 1;
}

bool
mcpi_pattern_simple_match(const struct mcpi_pattern_simple *simple, const char *text,
                          size_t len)
{
    size_t at = 0;

    for (unsigned i = 0; i < simple->count; i++) {
        uint64_t taken = 0;

        for (; at < len && taken < simple->items[i].max; taken++, at++) {
            if (!set_has(simple->items[i].set, (unsigned char)text[at]))
                break;
        }
        if (taken < simple->items[i].min)
            return false;
    }
    return at == len;
}
