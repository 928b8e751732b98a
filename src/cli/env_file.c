/* env_file.c - a file of variables beside a server's entry (.env), as editors read it */
#include "cli/env_file.h"

#include <string.h>

#define BLANKS " \t"
#define LINE_ENDS "\r\n"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
                              "0123456789.-";

/* Behind lines that are empty, or comments. */
static const char *
skip_empty(const char *text)
{
    for (;;) {
        text += strspn(text, BLANKS LINE_ENDS);
        if (*text != '#')
            return text;
        text += strcspn(text, LINE_ENDS);
    }
}

/* "NAME=" with what may stand before and around it; NULL: it is none. */
static const char *
add_name(const char *text, struct cli_text *into)
{
    size_t length;

    if (strncmp(text, "export", 6) == 0 && strspn(text + 6, BLANKS) > 0)
        text += 6 + strspn(text + 6, BLANKS);
    length = strspn(text, letters);
    if (length == 0 || (*text >= '0' && *text <= '9'))
        return NULL;
    cli_text_add(into, text, length);
    cli_text_puts(into, "=");
    text += length;
    text += strspn(text, BLANKS);
    return *text == '=' ? text + 1 + strspn(text + 1, BLANKS) : NULL;
}

/* What is between quotes; NULL: they are not closed in this line. */
static const char *
add_quoted(const char *text, struct cli_text *into)
{
    const char quote = *text++;

    for (; *text != quote; text++) {
        if (!*text || strchr(LINE_ENDS, *text))
            return NULL;
        if (quote == '"' && *text == '\\' && (text[1] == 'n' || text[1] == 'r'))
            cli_text_puts(into, *++text == 'n' ? "\n" : "\r");
        else
            cli_text_add(into, text, 1);
    }
    return text + 1;
}

static const char *
add_plain(const char *text, struct cli_text *into)
{
    size_t length = strcspn(text, "#" LINE_ENDS), used = length;

    while (used > 0 && strchr(BLANKS, text[used - 1]))
        used--;
    cli_text_add(into, text, used);
    return text + length;
}

int
cli_env_next(const char **at, struct cli_text *into)
{
    const char *text = skip_empty(*at);

    *at = text;
    if (!*text)
        return 0;
    text = add_name(text, into);
    if (text && *text && strchr("'\"`", *text))
        text = add_quoted(text, into);
    else if (text)
        text = add_plain(text, into);
    if (!text)
        return -1;
    text += strspn(text, BLANKS);
    if (*text && !strchr("#" LINE_ENDS, *text))
        return -1; /* something behind a closing quote */
    *at = text + strcspn(text, LINE_ENDS);
    return 1;
}
