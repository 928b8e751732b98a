/* shell_words.c - a line of the shell as words, whole or while it is typed */
#include "cli/shell_words.h"

#include <stdlib.h>
#include <string.h>

#include "cli/target.h"

/* What has a meaning for a shell, and so is written behind a backslash. */
static const char special[] = " \t'\"\\;|&<>()$`#*?[]{}~!";

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* One step through a text with quotes: where we are in it. */
struct scan {
    const char *at, *end;
    char quote;      /* the open one, or 0 */
    bool is_literal; /* the character of this step has no meaning of its own */
};

/* The next character that counts; false at the end. A quote, and a backslash that takes
 * the meaning from the next one, are passed over, and *ret_mark says so. */
static bool
scan_next(struct scan *scan, char *ret_char, bool *ret_mark)
{
    char c;

    if (scan->at == scan->end)
        return false;
    c = *scan->at++;
    *ret_mark = false;
    scan->is_literal = scan->quote != 0;
    if (c == '\\' && scan->quote != '\'' && scan->at < scan->end) {
        if (scan->quote == 0 || strchr("\"\\$`", *scan->at)) {
            c = *scan->at++;
            scan->is_literal = true;
        }
    } else if (c == scan->quote) {
        scan->quote = 0;
        *ret_mark = true;
    } else if (scan->quote == 0 && (c == '\'' || c == '"')) {
        scan->quote = c;
        *ret_mark = true;
    }
    *ret_char = c;
    return true;
}

/* Where the & is that ends it, or its length. */
static size_t
find_background(const char *text, size_t length)
{
    struct scan scan = {.at = text, .end = text + length};
    size_t last = length;
    bool mark;
    char c;

    while (scan_next(&scan, &c, &mark)) {
        if (!mark && !scan.is_literal && c == '&')
            last = (size_t)(scan.at - text) - 1;
        else if (mark || scan.is_literal || !is_blank(c))
            last = length;
    }
    return last;
}

int
cli_line_read(const char *text, struct cli_line *ret_line, mcp_error *err)
{
    struct cli_line line = {0};
    size_t length;
    char *copy;
    int r = 0;

    while (is_blank(*text))
        text++;
    length = *text == '#' ? 0 : strlen(text);
    copy = strndup(text, length);
    if (!copy) {
        *err = (mcp_error){.status = MCP_E_NOMEM, .message = "out of memory"};
        return MCP_E_NOMEM;
    }
    length = find_background(copy, length);
    line.is_background = copy[length] != '\0';
    copy[length] = '\0';
    if (length > 0)
        r = cli_words_split(copy, &line.words, err);
    free(copy);
    if (r < 0)
        return r;
    while (line.words && line.words[line.count])
        line.count++;
    *ret_line = line;
    return 0;
}

void
cli_line_done(struct cli_line *line)
{
    if (line->words)
        cli_words_free(line->words);
    *line = (struct cli_line){0};
}

/* The word that was gathered becomes a whole one. */
static int
typed_add(struct cli_typed *typed, const char *word)
{
    char **words = realloc(typed->words,
                           ((size_t)typed->count + 2) * sizeof(*typed->words));

    if (!words)
        return MCP_E_NOMEM;
    typed->words = words;
    words[typed->count] = strdup(word);
    if (!words[typed->count])
        return MCP_E_NOMEM;
    words[++typed->count] = NULL;
    return 0;
}

int
cli_typed_read(const char *text, size_t length, struct cli_typed *ret_typed)
{
    struct scan scan = {.at = text, .end = text + length};
    struct cli_typed typed = {0};
    struct cli_text word = {0};
    bool is_word = false, mark;
    int r = 0;
    char c;

    while (r == 0 && scan_next(&scan, &c, &mark)) {
        if (mark || scan.is_literal || !is_blank(c)) {
            is_word = true;
            if (!mark)
                cli_text_add(&word, &c, 1);
            continue;
        }
        if (is_word) {
            r = typed_add(&typed, cli_text_string(&word));
            cli_text_done(&word);
            word = (struct cli_text){0};
        }
        is_word = false;
    }
    typed.quote = scan.quote;
    typed.word = strdup(cli_text_string(&word));
    if (!typed.word || word.failed)
        r = MCP_E_NOMEM;
    cli_text_done(&word);
    if (r < 0)
        cli_typed_done(&typed);
    else
        *ret_typed = typed;
    return r;
}

void
cli_typed_done(struct cli_typed *typed)
{
    for (int i = 0; i < typed->count; i++)
        free(typed->words[i]);
    free(typed->words);
    free(typed->word);
    *typed = (struct cli_typed){0};
}

void
cli_words_add_quoted(struct cli_text *into, const char *data, size_t length, char quote)
{
    for (size_t i = 0; i < length; i++) {
        char c = data[i];

        if (quote == '\'' && c == '\'')
            cli_text_puts(into, "'\\'");
        else if (c != '\0' && ((quote == '"' && strchr("\"\\$`", c)) ||
                               (quote == 0 && strchr(special, c))))
            cli_text_puts(into, "\\");
        cli_text_add(into, &c, 1);
    }
}
