/* json_plain.c - JSON with comments and trailing commas to JSON proper, in place */
#include "cli/config.h"

#include <string.h>

/* Behind the string that begins at i: its quote, or the end if it is not closed. */
static size_t
skip_string(const char *text, size_t length, size_t i)
{
    for (i++; i < length && text[i] != '"'; i++) {
        if (text[i] == '\\')
            i++;
    }
    return i < length ? i + 1 : length;
}

/* The end of the comment that begins at i, or i if none does. One that is not closed
 * stays: it is a fault that the parser should name. */
static size_t
skip_comment(const char *text, size_t length, size_t i)
{
    size_t end;

    if (length - i < 2 || text[i] != '/')
        return i;
    if (text[i + 1] == '/') {
        for (end = i + 2; end < length && text[end] != '\n'; end++)
            ;
        return end;
    }
    if (text[i + 1] != '*')
        return i;
    for (end = i + 2; end + 1 < length; end++) {
        if (text[end] == '*' && text[end + 1] == '/')
            return end + 2;
    }
    return i;
}

/* Lines stay lines, so that a parser's line numbers are those of the file. */
static void
blank(char *text, size_t from, size_t to)
{
    for (; from < to; from++) {
        if (text[from] != '\n' && text[from] != '\r')
            text[from] = ' ';
    }
}

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

void
cli_json_plain(char *text, size_t length)
{
    bool has_value =
        false; /* a value ends before the comma that may be a trailing one */
    size_t comma = length; /* the last one with nothing behind it yet; length: none */
    size_t i = 0;

    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        blank(text, 0, 3);
    while (i < length) {
        size_t end = skip_comment(text, length, i);

        if (end > i) {
            blank(text, i, end);
            i = end;
            continue;
        }
        /* no JSON, whatever follows; and looking for the end of each would take long */
        if (text[i] == '/')
            return;
        if (is_space(text[i])) {
            i++;
            continue;
        }
        if ((text[i] == ']' || text[i] == '}') && comma < length)
            text[comma] = ' ';
        comma = text[i] == ',' && has_value ? i : length;
        has_value = text[i] != ',' && text[i] != '[' && text[i] != '{';
        i = text[i] == '"' ? skip_string(text, length, i) : i + 1;
    }
}
