/* form.c - application/x-www-form-urlencoded: written and read */
#include "auth/form.h"

#include <string.h>

/* ---- writing ------------------------------------------------------------- */

/* What stands for itself everywhere (RFC 3986, 2.3). A blank does not: '+' is one in
 * forms only, and who reads the user and password of Basic may know but %20. */
static bool
is_unreserved(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           c == '-' || c == '.' || c == '_' || c == '~';
}

static size_t
escaped_length(const char *text)
{
    size_t len = 0;

    for (; *text; text++)
        len += is_unreserved(*text) ? 1 : 3;
    return len;
}

/* Returns where it ends. */
static char *
escape(char *at, const char *text)
{
    static const char hex[] = "0123456789ABCDEF";

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (is_unreserved(*text)) {
            *at++ = *text;
            continue;
        }
        *at++ = '%';
        *at++ = hex[c >> 4];
        *at++ = hex[c & 15];
    }
    return at;
}

/* Room is made once: a buffer that grows by pieces leaves pieces of secrets behind. */
void
mcpi_form_add(struct mcpi_buf *into, const char *name, const char *value)
{
    bool more = into->len > 0 && into->data[into->len - 1] != '?';
    size_t len;
    char *at;

    if (!value)
        return;
    len = (more ? 1 : 0) + escaped_length(name) + 1 + escaped_length(value);
    at = mcpi_buf_reserve(into, len);
    if (!at)
        return;
    if (more)
        *at++ = '&';
    at = escape(at, name);
    *at++ = '=';
    (void)escape(at, value);
    mcpi_buf_commit(into, len);
}

void
mcpi_form_escape(struct mcpi_buf *into, const char *text)
{
    size_t len = escaped_length(text);
    char *at = len > 0 ? mcpi_buf_reserve(into, len) : NULL;

    if (!at)
        return;
    (void)escape(at, text);
    mcpi_buf_commit(into, len);
}

/* ---- reading ------------------------------------------------------------- */

struct text {
    const char *at;
    size_t len;
};

static int
hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next character, taken off the text; -1: none that can be decoded, or a NUL, which
 * would end what follows it. */
static int
decode_next(struct text *text)
{
    int high, low;
    char c = text->at[0];
    size_t step = c == '%' ? 3 : 1;

    if (text->len < step)
        return -1;
    high = c == '%' ? hex_value(text->at[1]) : 0;
    low = c == '%' ? hex_value(text->at[2]) : 0;
    if (high < 0 || low < 0)
        return -1;
    if (c == '%')
        c = (char)(high * 16 + low);
    else if (c == '+')
        c = ' ';
    text->at += step;
    text->len -= step;
    return c == '\0' ? -1 : (unsigned char)c;
}

/* Names are decoded too: "st%61te" is a second "state". */
static bool
name_is(struct text text, const char *name)
{
    for (; text.len > 0; name++)
        if (*name == '\0' || decode_next(&text) != (unsigned char)*name)
            return false;
    return *name == '\0';
}

/* No longer decoded than it was. */
static int
append_decoded(struct mcpi_buf *into, struct text text)
{
    size_t room = text.len + 1, len = 0;
    char *at = mcpi_buf_reserve(into, room);

    if (!at)
        return into->status;
    while (text.len > 0) {
        int c = decode_next(&text);

        if (c < 0) {
            explicit_bzero(at, len);
            return MCP_E_INVAL;
        }
        at[len++] = (char)c;
    }
    at[len++] = '\0';
    mcpi_buf_commit(into, len);
    return 1;
}

/* The pair at the beginning, and the form without it. */
static struct text
pair_next(struct text *form, struct text *ret_value)
{
    const char *end = memchr(form->at, '&', form->len);
    size_t len = end ? (size_t)(end - form->at) : form->len;
    const char *sign = memchr(form->at, '=', len);
    struct text name = {form->at, sign ? (size_t)(sign - form->at) : len};

    *ret_value = (struct text){form->at + len, 0};
    if (sign)
        *ret_value = (struct text){sign + 1, len - name.len - 1};
    form->at += end ? len + 1 : len;
    form->len -= end ? len + 1 : len;
    return name;
}

int
mcpi_form_find(struct mcpi_buf *into, const char *form, size_t len, const char *name)
{
    struct text rest = {form, len}, value;
    size_t before = into->len;
    int r = 0;

    while (rest.len > 0 && r >= 0) {
        if (!name_is(pair_next(&rest, &value), name))
            continue;
        r = r == 1 ? MCP_E_INVAL : append_decoded(into, value);
    }
    if (r < 0 && into->len > before) {
        explicit_bzero(into->data + before, into->len - before);
        mcpi_buf_truncate(into, before);
    }
    return r;
}
