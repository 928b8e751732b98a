/*
 * shell_template.c - texts with arguments in them, and the words they become
 *
 * A text is cut into parts: plain ones, and names in braces. It is cut anew each time
 * it is used, since that costs less than keeping the parts would. No value is ever
 * looked at for spaces, quotes or braces: one value is one word, or a part of one.
 */
#include "shell_tools.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 4096      /* of one command; the kernel has limits of its own */
#define COMMAND_MAX 2097152 /* bytes of all of them, as the kernel has it */

int
shell_fault(mcp_error *err, const char *format, ...)
{
    va_list list;

    *err = (mcp_error){.status = MCP_E_INVAL};
    va_start(list, format);
    (void)vsnprintf(err->message, sizeof(err->message), format, list);
    va_end(list);
    return MCP_E_INVAL;
}

const mcp_json *
shell_argument(const struct shell_tool *tool, const char *name, size_t length)
{
    const mcp_json *all = tool->arguments;

    if (!all)
        all = mcp_json_get(tool->schema, "properties");
    return mcp_json_get_n(all, name, length);
}

/* ---- parts ---------------------------------------------------------------------- */

struct part {
    const char *text;
    size_t length;
    bool is_name;
};

/* The part that *text begins with, and behind it. Nothing follows: its text is NULL. */
static int
part_next(const char **text, struct part *ret_part)
{
    const char *at = *text, *end;
    size_t plain = strcspn(at, "{}");

    *ret_part = (struct part){.text = *at ? at : NULL, .length = plain};
    if (plain > 0 || !*at) {
        *text = at + plain;
        return 0;
    }
    if (at[0] == at[1]) { /* a brace that means itself is written twice */
        ret_part->length = 1;
        *text = at + 2;
        return 0;
    }
    end = *at == '{' ? strchr(at, '}') : NULL;
    if (!end)
        return MCP_E_INVAL;
    *ret_part = (struct part){at + 1, (size_t)(end - at - 1), true};
    *text = end + 1;
    return 0;
}

bool
shell_has_argument(const char *text)
{
    struct part part = {.text = text};

    while (!part.is_name && part.text)
        if (part_next(&text, &part) < 0)
            return false;
    return part.is_name;
}

/* All of it is one argument. */
static bool
is_whole(const char *text)
{
    return text[0] == '{' && strcspn(text, "}") + 1 == strlen(text);
}

/* ---- a command is made of groups: a word, or an array of some ------------------- */

static size_t
group_count(const mcp_json *group)
{
    return mcp_json_get_type(group) == MCP_JSON_ARRAY ? mcp_json_count(group) : 1;
}

/* "" also for what is no word, which shell_words_check finds. */
static const char *
group_word(const mcp_json *group, size_t index)
{
    if (mcp_json_get_type(group) == MCP_JSON_ARRAY)
        group = mcp_json_at(group, index);
    return mcp_json_string(group, "");
}

static bool
group_is_word(const mcp_json *group, size_t index)
{
    if (mcp_json_get_type(group) == MCP_JSON_ARRAY)
        group = mcp_json_at(group, index);
    return mcp_json_get_type(group) == MCP_JSON_STRING &&
           strlen(mcp_json_string(group, "")) == mcp_json_string_length(group);
}

/* ---- checking, at the start ----------------------------------------------------- */

static bool
is_array(const mcp_json *argument)
{
    return mcp_json_is_string(mcp_json_get(argument, "type"), "array");
}

int
shell_template_check(const struct shell_tool *tool, const char *text,
                     const mcp_json **array, mcp_error *err)
{
    const mcp_json *argument;
    struct part part;

    for (;;) {
        if (part_next(&text, &part) < 0)
            return shell_fault(err, "a brace that means itself is written twice");
        if (!part.text)
            return 0;
        if (!part.is_name)
            continue;
        argument = shell_argument(tool, part.text, part.length);
        if (!argument)
            return shell_fault(err, "{%.*s} is not among the arguments",
                               (int)part.length, part.text);
        if (!is_array(argument))
            continue;
        if (!array || (*array && *array != argument))
            return shell_fault(err, "{%.*s} is an array, and there is no room for one",
                               (int)part.length, part.text);
        *array = argument;
    }
}

/* Also of one that another program starts: env, timeout, sudo. */
static bool
is_shell(const char *word)
{
    static const char *const shells[] = {"sh",   "ash", "bash", "dash",
                                         "fish", "ksh", "zsh",  NULL};
    const char *slash = strrchr(word, '/');

    for (size_t i = 0; shells[i]; i++)
        if (strcmp(slash ? slash + 1 : word, shells[i]) == 0)
            return true;
    return false;
}

static int
word_check(const struct shell_tool *tool, const char *word, bool for_shell,
           const mcp_json **array, mcp_error *err)
{
    if (for_shell && shell_has_argument(word) && !is_whole(word))
        return shell_fault(err, "a shell would read an argument inside its script as "
                                "script: write \"$1\" there, and the argument as a "
                                "word of its own behind \"--\"");
    return shell_template_check(tool, word, array, err);
}

static int
group_check(const struct shell_tool *tool, const mcp_json *group, bool *for_shell,
            mcp_error *err)
{
    const mcp_json *array = NULL;
    int r = 0;

    if (group_count(group) == 0)
        return shell_fault(err, "there are no words in it");
    for (size_t i = 0; r == 0 && i < group_count(group); i++) {
        if (!group_is_word(group, i))
            return shell_fault(err, "a word is a string without U+0000");
        r = word_check(tool, group_word(group, i), *for_shell, &array, err);
        *for_shell = *for_shell || is_shell(group_word(group, i));
    }
    return r;
}

int
shell_words_check(const struct shell_tool *tool, mcp_error *err)
{
    const char *program = mcp_json_string(mcp_json_at(tool->command, 0), "");
    bool for_shell = false;
    mcp_json_iterator it;
    mcp_error why;

    if (!*program || shell_has_argument(program))
        return shell_fault(err, "/command/0: must be the name of a program");
    for (it = mcp_json_each(tool->command); mcp_json_next(&it);)
        if (group_check(tool, it.value, &for_shell, &why) < 0)
            return shell_fault(err, "/command/%zu: %s", it.index, why.message);
    return 0;
}

/* Would a shell read the input as its script? With -c it has another. */
static bool
input_is_script(const struct shell_tool *tool)
{
    bool is_script = false;
    mcp_json_iterator it;

    for (it = mcp_json_each(tool->command); mcp_json_next(&it);) {
        const char *plain = mcp_json_string(it.value, "");

        if (is_script && plain[0] == '-' && plain[1] != '-' && strchr(plain, 'c') &&
            !shell_has_argument(plain))
            return false;
        for (size_t i = 0; i < group_count(it.value); i++)
            is_script = is_script || is_shell(group_word(it.value, i));
    }
    return is_script;
}

int
shell_input_check(const struct shell_tool *tool, mcp_error *err)
{
    const char *input = tool->input;

    if (!input)
        return 0;
    if (shell_has_argument(input) && !is_whole(input) && input_is_script(tool))
        return shell_fault(err, "a shell would read an argument inside its input as "
                                "script: give it its script behind \"-c\"");
    return shell_template_check(tool, input, NULL, err);
}

/* ---- filling in, for a call ----------------------------------------------------- */

struct filling {
    const struct shell_tool *tool;
    const mcp_json *arguments;
    size_t turn;       /* which item of an array */
    const char *what;  /* is made; for people */
    size_t most, used; /* bytes of it */
    mcp_error *err;
};

/* What a name stands for now; NULL: for nothing. */
static const mcp_json *
filling_value(const struct filling *f, const struct part *part)
{
    const mcp_json *argument = shell_argument(f->tool, part->text, part->length);
    const mcp_json *value = mcp_json_get_n(f->arguments, part->text, part->length);

    if (!value)
        value = mcp_json_get(argument, "default");
    if (mcp_json_get(argument, "when_true"))
        return mcp_json_bool(value, false) ? mcp_json_get(argument, "when_true") : NULL;
    return value;
}

/* How often a text is there: once, or for each item of its array, or not at all, if
 * something is missing. */
static size_t
filling_turns(const struct filling *f, const char *text)
{
    const mcp_json *value;
    struct part part;
    size_t turns = 1;

    while (part_next(&text, &part) == 0 && part.text) {
        value = part.is_name ? filling_value(f, &part) : NULL;
        if (part.is_name && !value)
            return 0;
        if (mcp_json_get_type(value) == MCP_JSON_ARRAY)
            turns = mcp_json_count(value);
    }
    return turns;
}

static int
filling_put(struct filling *f, const char *bytes, size_t length, FILE *to)
{
    if (memchr(bytes, '\0', length))
        return shell_fault(f->err, "U+0000 cannot stand in %s", f->what);
    if (length > f->most - f->used)
        return shell_fault(f->err, "%s is longer than %zu bytes", f->what, f->most);
    f->used += length;
    fwrite(bytes, 1, length, to);
    return 0;
}

/* A string as it is, anything else as JSON writes it. */
static int
filling_put_value(struct filling *f, const mcp_json *value, FILE *to)
{
    size_t length;
    char *text;
    int r;

    if (mcp_json_get_type(value) == MCP_JSON_STRING)
        return filling_put(f, mcp_json_string(value, ""), mcp_json_string_length(value),
                           to);
    r = mcp_json_print(value, false, NULL, &text, &length);
    if (r < 0)
        return r;
    r = filling_put(f, text, length, to);
    mcp_text_free(text, NULL);
    return r;
}

static int
filling_write(struct filling *f, const char *text, FILE *to)
{
    const mcp_json *value;
    struct part part;
    int r = 0;

    while (r == 0 && part_next(&text, &part) == 0 && part.text) {
        value = part.is_name ? filling_value(f, &part) : NULL;
        if (mcp_json_get_type(value) == MCP_JSON_ARRAY)
            value = mcp_json_at(value, f->turn);
        if (part.is_name)
            r = filling_put_value(f, value, to);
        else
            r = filling_put(f, part.text, part.length, to);
    }
    return r;
}

static int
filling_text(struct filling *f, const char *text, char **ret_text)
{
    char *filled = NULL;
    size_t length;
    FILE *to = open_memstream(&filled, &length);
    int r;

    if (!to)
        return MCP_E_NOMEM;
    r = filling_write(f, text, to);
    if (ferror(to) && r == 0)
        r = MCP_E_NOMEM;
    if (fclose(to) != 0 && r == 0)
        r = MCP_E_NOMEM;
    if (r < 0)
        free(filled);
    else
        *ret_text = filled;
    return r;
}

int
shell_template_fill(const struct shell_tool *tool, const mcp_json *arguments,
                    const struct shell_text_bound *bound, const char *text,
                    char **ret_text, mcp_error *err)
{
    struct filling f = {.tool = tool,
                        .arguments = arguments,
                        .what = bound->what,
                        .most = bound->most,
                        .err = err};

    *ret_text = NULL;
    if (!text || filling_turns(&f, text) == 0)
        return 0;
    return filling_text(&f, text, ret_text);
}

/* ---- words ---------------------------------------------------------------------- */

/* May a word be what the arguments have made of it? It must not be taken for an option
 * that the template does not have. */
static int
word_admit(const struct filling *f, const char *template, const char *word,
           bool is_guarded)
{
    struct part part;

    if (word[0] != '-' || is_guarded || template[0] != '{' || template[1] == '{')
        return 0;
    while (part_next(&template, &part) == 0 && part.text) {
        const mcp_json *argument = shell_argument(f->tool, part.text, part.length);

        if (part.is_name && !mcp_json_bool(mcp_json_get(argument, "dash"), false) &&
            !mcp_json_get(argument, "when_true"))
            return shell_fault(f->err, "%.*s must not begin with a dash",
                               (int)part.length, part.text);
    }
    return 0;
}

static int
words_add(struct filling *f, const char *template, bool is_guarded, char **words,
          size_t *count)
{
    char *word;
    int r;

    if (*count == WORDS_MAX)
        return shell_fault(f->err, "more than %d words", WORDS_MAX);
    r = filling_text(f, template, &word);
    if (r < 0)
        return r;
    words[(*count)++] = word;
    return word_admit(f, template, word, is_guarded);
}

static int
words_add_group(struct filling *f, const mcp_json *group, bool is_guarded, char **words,
                size_t *count)
{
    size_t turns = 1, own;
    int r = 0;

    for (size_t i = 0; i < group_count(group) && turns > 0; i++) {
        own = filling_turns(f, group_word(group, i));
        if (own != 1)
            turns = own;
    }
    for (f->turn = 0; f->turn < turns; f->turn++)
        for (size_t i = 0; r == 0 && i < group_count(group); i++)
            r = words_add(f, group_word(group, i), is_guarded, words, count);
    return r;
}

int
shell_words_fill(const struct shell_tool *tool, const mcp_json *arguments,
                 char ***ret_words, mcp_error *err)
{
    struct filling f = {.tool = tool,
                        .arguments = arguments,
                        .what = "the command",
                        .most = COMMAND_MAX,
                        .err = err};
    char **words = calloc(WORDS_MAX + 1, sizeof(*words));
    bool is_guarded = false;
    mcp_json_iterator it;
    size_t count = 0;
    int r = words ? 0 : MCP_E_NOMEM;

    for (it = mcp_json_each(tool->command); r == 0 && mcp_json_next(&it);) {
        r = words_add_group(&f, it.value, is_guarded, words, &count);
        is_guarded = is_guarded || mcp_json_is_string(it.value, "--");
    }
    if (r < 0)
        shell_words_free(words);
    else
        *ret_words = words;
    return r;
}

void
shell_words_free(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}
