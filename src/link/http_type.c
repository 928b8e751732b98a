/* http_type.c - is a body JSON in UTF-8, by its Content-Type */
#include "link/http_type.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define JSON_TYPE "application/json"
#define BLANKS " \t"

/* Where a parameter ends; quotes hide semicolons. */
static const char *
param_end(const char *at)
{
    bool quoted = false;

    for (; *at && (quoted || *at != ';'); at++) {
        if (quoted && *at == '\\' && at[1])
            at++;
        else if (*at == '"')
            quoted = !quoted;
    }
    return at;
}

/* A token, or a quoted string: its quotes and backslashes are not part of the value. */
static bool
value_is(const char *at, const char *end, const char *in_lower_case)
{
    bool quoted = at < end && *at == '"';

    if (quoted && (end - at < 2 || end[-1] != '"'))
        return false;
    for (at += quoted, end -= quoted; at < end; at++) {
        if (quoted && *at == '\\')
            at++;
        if ((*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at) != *in_lower_case)
            return false;
        in_lower_case++;
    }
    return *in_lower_case == '\0';
}

/* "utf8" is no name of it, but clients write that, and mean it. */
static bool
param_allows_utf8(const char *at, const char *end)
{
    static const char name[] = "charset";

    at += strspn(at, BLANKS);
    if (strncasecmp(at, name, sizeof(name) - 1) != 0)
        return true;
    at += sizeof(name) - 1;
    at += strspn(at, BLANKS);
    if (*at != '=')
        return true;
    at++;
    at += strspn(at, BLANKS);
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return value_is(at, end, "utf-8") || value_is(at, end, "utf8");
}

enum mcpi_http_type
mcpi_http_type_of(const char *content_type)
{
    const char *at = content_type, *end;

    if (!at || strncasecmp(at, JSON_TYPE, sizeof(JSON_TYPE) - 1) != 0)
        return MCPI_TYPE_OTHER;
    at += sizeof(JSON_TYPE) - 1;
    at += strspn(at, BLANKS);
    if (*at && *at != ';')
        return MCPI_TYPE_OTHER;
    for (; *at; at = end) {
        end = param_end(++at);
        if (!param_allows_utf8(at, end))
            return MCPI_TYPE_CHARSET;
    }
    return MCPI_TYPE_JSON;
}
