/* words.c - a command line as words, as a shell splits it, and the other way */
#include "cli/target.h"

#include <stdlib.h>
#include <string.h>

#include "cli/error.h"
#include "cli/text.h"

/* A command line under way. */
struct splitter {
    const char *at;
    struct cli_text word; /* the one that is being read */
    bool has_word;        /* there is one, if only '' */
    char **words;
    size_t count, room;
    mcp_error *err;
};

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void
add(struct splitter *s, char c)
{
    cli_text_add(&s->word, &c, 1);
    s->has_word = true;
}

/* The word is whole: it goes to the others. There is always room for the NULL. */
static int
end_word(struct splitter *s)
{
    char *copy;

    if (!s->has_word)
        return 0;
    if (s->count + 1 >= s->room) {
        size_t room = s->room ? s->room * 2 : 8;
        char **words = realloc(s->words, room * sizeof *words);

        if (!words)
            return cli_error_of(s->err, MCP_E_NOMEM);
        s->words = words;
        s->room = room;
    }
    copy = s->word.failed ? NULL : strdup(cli_text_string(&s->word));
    if (!copy)
        return cli_error_of(s->err, MCP_E_NOMEM);
    s->words[s->count++] = copy;
    s->words[s->count] = NULL;
    cli_text_done(&s->word);
    s->word = (struct cli_text){0};
    s->has_word = false;
    return 0;
}

static int
read_single(struct splitter *s)
{
    const char *end = strchr(s->at + 1, '\'');

    if (!end)
        return cli_error(s->err, MCP_E_INVAL,
                         "a single quote in the command line is not closed");
    cli_text_add(&s->word, s->at + 1, (size_t)(end - s->at - 1));
    s->has_word = true;
    s->at = end + 1;
    return 0;
}

static int
refuse_variable(struct splitter *s, char c)
{
    return cli_error(
        s->err, MCP_E_INVAL,
        "the command line is run without a shell, so %c means nothing there; "
        "put it in single quotes if it is meant as it stands",
        c);
}

static int
read_double(struct splitter *s)
{
    s->has_word = true;
    for (s->at++; *s->at != '"'; s->at++) {
        if (!*s->at)
            return cli_error(s->err, MCP_E_INVAL,
                             "a double quote in the command line is not closed");
        if (*s->at == '$' || *s->at == '`')
            return refuse_variable(s, *s->at);
        /* before all else a backslash stays one */
        if (*s->at == '\\' && s->at[1] && strchr("$`\"\\\n", s->at[1])) {
            s->at++;
            if (*s->at == '\n')
                continue;
        }
        add(s, *s->at);
    }
    s->at++;
    return 0;
}

static int
read_backslash(struct splitter *s)
{
    if (!s->at[1])
        return cli_error(s->err, MCP_E_INVAL, "the command line ends with a backslash");
    if (s->at[1] != '\n')
        add(s, s->at[1]);
    s->at += 2;
    return 0;
}

/* A ~ where a word begins: our home may be written so; others' we do not look up. */
static int
read_home(struct splitter *s)
{
    const char *home = getenv("HOME");

    if (s->at[1] && s->at[1] != '/' && !is_blank(s->at[1]) && s->at[1] != '\n')
        return cli_error(
            s->err, MCP_E_INVAL,
            "only ~/ is known in a command line; write the home of another "
            "user out, or put the ~ in single quotes");
    if (!home || !*home)
        return cli_error(s->err, MCP_E_INVAL,
                         "~/ stands for your home, but HOME is not set");
    cli_text_puts(&s->word, home);
    s->has_word = true;
    s->at++;
    return 0;
}

/* A newline ends a command; behind the last one it does no harm. */
static int
read_newline(struct splitter *s)
{
    if (s->at[strspn(s->at, " \t\n")] && (s->has_word || s->count > 0))
        return cli_error(s->err, MCP_E_INVAL, "a command line is one line");
    s->at++;
    return end_word(s);
}

static int
read_plain(struct splitter *s)
{
    char c = *s->at;

    if (c == '~' && !s->has_word)
        return read_home(s);
    if (c == '#' && !s->has_word)
        return cli_error(s->err, MCP_E_INVAL,
                         "a shell would read # as a comment; put the word in quotes");
    if (c == '$' || c == '`')
        return refuse_variable(s, c);
    if (strchr(";|&<>()", c))
        return cli_error(s->err, MCP_E_INVAL,
                         "the command line is run without a shell, so %c does not work "
                         "there; put it in quotes, or use sh -c",
                         c);
    add(s, c);
    s->at++;
    return 0;
}

static int
read_one(struct splitter *s)
{
    switch (*s->at) {
    case ' ':
    case '\t':
        s->at++;
        return end_word(s);
    case '\n':
        return read_newline(s);
    case '\'':
        return read_single(s);
    case '"':
        return read_double(s);
    case '\\':
        return read_backslash(s);
    default:
        return read_plain(s);
    }
}

int
cli_words_split(const char *text, char ***ret_words, mcp_error *err)
{
    struct splitter s = {.at = text, .err = err};
    int r = 0;

    while (r == 0 && *s.at)
        r = read_one(&s);
    if (r == 0)
        r = end_word(&s);
    if (r == 0 && s.count == 0)
        r = cli_error(s.err, MCP_E_INVAL, "the command line is empty");
    cli_text_done(&s.word);
    if (r < 0) {
        cli_words_free(s.words);
        return r;
    }
    *ret_words = s.words;
    return 0;
}

/* Characters that mean nothing to a shell wherever they stand in a word. */
static bool
is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+./:=,@%";

    return *word && !word[strspn(word, plain)];
}

char *
cli_words_join(const char *const *words)
{
    struct cli_text text = {0};
    char *joined;
    size_t i;

    for (i = 0; words && words[i]; i++) {
        const char *at = words[i];

        if (i > 0)
            cli_text_puts(&text, " ");
        if (is_plain(at)) {
            cli_text_puts(&text, at);
            continue;
        }
        cli_text_puts(&text, "'");
        for (; *at; at++) {
            if (*at == '\'')
                cli_text_puts(&text, "'\\''");
            else
                cli_text_add(&text, at, 1);
        }
        cli_text_puts(&text, "'");
    }
    joined = text.failed ? NULL : strdup(cli_text_string(&text));
    cli_text_done(&text);
    return joined;
}

void
cli_words_free(char **words)
{
    size_t i;

    for (i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}
