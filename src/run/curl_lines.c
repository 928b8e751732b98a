/*
 * curl_lines.c - the header lines of a request, as libcurl wants them
 *
 * To libcurl a line without a value, "Name:", means that it is not to write that
 * header; a header that is to be sent without a value is spelled "Name;".
 */
#include "run/curl_lines.h"

#include <string.h>

#include "base/text.h"

#define NO_EXPECT "Expect:" /* else a long body waits for a 100 */
#define NO_TYPE "Content-Type:"
#define ADDED 2

static size_t
lines_count(const char *fields, size_t len)
{
    size_t count = 0;

    for (size_t at = 0; at < len; at += strlen(fields + at) + 1)
        count++;
    return count;
}

size_t
mcpi_curl_lines_room(const char *fields, size_t len)
{
    return (lines_count(fields, len) + ADDED) * sizeof(struct curl_slist) + len +
           sizeof(NO_EXPECT) + sizeof(NO_TYPE);
}

static bool
line_is_named(const char *line, const char *name)
{
    size_t len = strcspn(line, ":;");
    char own[16];

    if (len >= sizeof(own))
        return false;
    memcpy(own, line, len);
    own[len] = '\0';
    return mcpi_text_same_letters(own, name);
}

static void
line_spell(char *line)
{
    char *colon = strchr(line, ':');

    if (!colon || colon[1 + strspn(colon + 1, " \t")] != '\0')
        return;
    colon[0] = ';';
    colon[1] = '\0';
}

/* Copies the text to *at, and moves that behind it; a node at *node likewise. */
static char *
lines_add(struct curl_slist **node, char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *line = memcpy(*at, text, size);

    **node = (struct curl_slist){.data = line, .next = *node + 1};
    *node += 1;
    *at += size;
    return line;
}

struct curl_slist *
mcpi_curl_lines_make(void *room, const char *fields, size_t len)
{
    struct curl_slist *first = room;
    struct curl_slist *node = first;
    char *at = (char *)(first + lines_count(fields, len) + ADDED);
    bool typed = false;

    for (size_t i = 0; i < len; i += strlen(fields + i) + 1) {
        typed = typed || line_is_named(fields + i, "content-type");
        line_spell(lines_add(&node, &at, fields + i));
    }
    (void)lines_add(&node, &at, NO_EXPECT);
    if (!typed)
        (void)lines_add(&node, &at, NO_TYPE);
    node[-1].next = NULL;
    return first;
}

static bool
line_is_secret(const char *line)
{
    return line_is_named(line, "authorization") || line_is_named(line, "cookie") ||
           line_is_named(line, "mcp-session-id") || line_is_named(line, "dpop");
}

struct curl_slist *
mcpi_curl_lines_drop_secrets(struct curl_slist *first)
{
    struct curl_slist **at = &first;

    while (*at)
        if (line_is_secret((*at)->data))
            *at = (*at)->next;
        else
            at = &(*at)->next;
    return first;
}
