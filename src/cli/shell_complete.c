/* shell_complete.c - completion in the shell: what is being typed, what it could be */
#include "cli/shell_complete.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

#define SHOWN_MAX 200 /* more nobody reads; who wants them all lists them */

/* What the words of each command are; those of other commands are not completed. */
static const struct shape {
    const char *command;
    enum cli_want_kind first, more;
} shapes[] = {
    {"call", CLI_WANT_TOOL, CLI_WANT_TOOL_ARGUMENT},
    {"tools", CLI_WANT_TOOL, CLI_WANT_NOTHING},
    {"get", CLI_WANT_PROMPT, CLI_WANT_PROMPT_ARGUMENT},
    {"complete", CLI_WANT_PROMPT, CLI_WANT_NOTHING},
    {"read", CLI_WANT_RESOURCE, CLI_WANT_RESOURCE},
    {"fg", CLI_WANT_JOB, CLI_WANT_NOTHING},
    {"kill", CLI_WANT_JOB, CLI_WANT_JOB},
    {"help", CLI_WANT_COMMAND, CLI_WANT_NOTHING},
    {"set", CLI_WANT_SETTING, CLI_WANT_SETTING_VALUE},
};

/* Is this an option, and does its value stand in the next word? */
static bool
is_option(const char *word, const struct cli_option *own, bool *ret_takes_next)
{
    const struct cli_option *option;

    *ret_takes_next = false;
    if (strncmp(word, "--", 2) != 0)
        return false;
    option = cli_option_find(cli_common_options, own, word + 2);
    *ret_takes_next = option && option->value;
    return true;
}

/* The word that is typed is one of the arguments: its name still, or its value? */
static void
want_argument(struct cli_want *want)
{
    const char *equals = strchr(want->prefix, '=');

    if (!equals)
        return;
    want->kind = want->kind == CLI_WANT_TOOL_ARGUMENT ? CLI_WANT_TOOL_VALUE
                                                      : CLI_WANT_PROMPT_VALUE;
    want->name = want->prefix;
    want->name_length = (size_t)(equals - want->prefix);
    if (want->name_length > 0 && want->name[want->name_length - 1] == ':')
        want->name_length--;
    want->prefix = equals + 1;
}

void
cli_want_read(const struct cli_typed *typed, struct cli_want *ret_want)
{
    struct cli_want want = {.kind = CLI_WANT_COMMAND, .prefix = typed->word};
    const struct cli_command *command;
    bool takes_next = false;

    *ret_want = want;
    if (typed->count == 0)
        return;
    want.kind = CLI_WANT_NOTHING;
    want.command = typed->words[0];
    command = cli_command_find(want.command);
    for (int i = 1; i < typed->count; i++) {
        bool is_value = takes_next;

        takes_next = false;
        if (is_value ||
            is_option(typed->words[i], command ? command->options : NULL, &takes_next))
            continue;
        if (!want.subject) {
            want.subject = typed->words[i];
            want.given = typed->words + i + 1;
            want.given_count = typed->count - i - 1;
        }
    }
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        if (strcmp(shapes[i].command, want.command) == 0)
            want.kind = want.subject ? shapes[i].more : shapes[i].first;
    if (takes_next)
        want.kind = CLI_WANT_NOTHING;
    else if (strncmp(typed->word, "--", 2) == 0)
        want.kind = CLI_WANT_OPTION;
    else if (want.kind == CLI_WANT_TOOL_ARGUMENT ||
             want.kind == CLI_WANT_PROMPT_ARGUMENT)
        want_argument(&want);
    *ret_want = want;
}

void
cli_candidates_init(struct cli_candidates *list, const struct cli_want *want)
{
    *list = (struct cli_candidates){.prefix = want->prefix, .tail = " "};
}

void
cli_candidates_done(struct cli_candidates *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->item[i]);
    free(list->item);
    *list = (struct cli_candidates){.prefix = "", .tail = ""};
}

static bool
is_harmless(const char *text)
{
    struct cli_text clean = {0};
    bool same;

    cli_text_add_harmless(&clean, text, strlen(text), true);
    same = !clean.failed && strcmp(cli_text_string(&clean), text) == 0;
    cli_text_done(&clean);
    return same;
}

void
cli_candidates_add(struct cli_candidates *list, const char *text)
{
    if (!text || !*text || strncmp(text, list->prefix, strlen(list->prefix)) != 0 ||
        !is_harmless(text))
        return;
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 16;
        char **item = realloc(list->item, room * sizeof(*item));

        list->failed = list->failed || !item;
        if (!item)
            return;
        list->item = item;
        list->room = room;
    }
    list->item[list->count] = strdup(text);
    if (list->item[list->count])
        list->count++;
    else
        list->failed = true;
}

void
cli_candidates_add_names(struct cli_candidates *list, const char *const *names)
{
    for (; *names; names++)
        cli_candidates_add(list, *names);
}

void
cli_candidates_add_items(struct cli_candidates *list, const mcp_json *items,
                         const char *key)
{
    mcp_json_iterator it = mcp_json_each(items);

    while (mcp_json_next(&it))
        cli_candidates_add(
            list, mcp_json_string(key ? mcp_json_get(it.value, key) : it.value, NULL));
}

/* Stands name=... or name:=... among the words already? name.part= and name[]= may come
 * several times, and do not count. */
static bool
is_given(const struct cli_want *want, const char *name)
{
    size_t length = strlen(name);

    for (int i = 0; i < want->given_count; i++) {
        const char *word = want->given[i];

        if (strncmp(word, name, length) == 0 &&
            (word[length] == '=' || (word[length] == ':' && word[length + 1] == '=')))
            return true;
    }
    return false;
}

static void
add_field(struct cli_candidates *list, const struct cli_want *want, const char *name)
{
    struct cli_text text = {0};

    list->tail = "";
    if (!name || is_given(want, name))
        return;
    cli_text_printf(&text, "%s=", name);
    if (!text.failed)
        cli_candidates_add(list, cli_text_string(&text));
    cli_text_done(&text);
}

void
cli_candidates_add_fields(struct cli_candidates *list, const struct cli_want *want,
                          const mcp_json *schema)
{
    mcp_json_iterator it = mcp_json_each(mcp_json_get(schema, "properties"));

    while (mcp_json_next(&it))
        add_field(list, want, mcp_json_string(it.key, NULL));
}

void
cli_candidates_add_arguments(struct cli_candidates *list, const struct cli_want *want,
                             const mcp_json *arguments)
{
    mcp_json_iterator it = mcp_json_each(arguments);

    while (mcp_json_next(&it))
        add_field(list, want, mcp_json_string(mcp_json_get(it.value, "name"), NULL));
}

/* A string as it is, anything else as JSON writes it. */
static void
add_value(struct cli_candidates *list, const mcp_json *value)
{
    const char *text = mcp_json_string(value, NULL);
    char *printed;

    if (text) {
        cli_candidates_add(list, text);
    } else if (value && mcp_json_print(value, false, NULL, &printed, NULL) == 0) {
        cli_candidates_add(list, printed);
        mcp_text_free(printed, NULL);
    }
}

static bool
has_type(const mcp_json *field, const char *type)
{
    const mcp_json *said = mcp_json_get(field, "type");
    mcp_json_iterator it = mcp_json_each(said);
    bool found = mcp_json_is_string(said, type);

    while (!found && mcp_json_next(&it))
        found = mcp_json_is_string(it.value, type);
    return found;
}

void
cli_candidates_add_values(struct cli_candidates *list, const mcp_json *field)
{
    static const char *const choices[] = {"oneOf", "anyOf"};
    mcp_json_iterator it = mcp_json_each(mcp_json_get(field, "enum"));

    while (mcp_json_next(&it))
        add_value(list, it.value);
    add_value(list, mcp_json_get(field, "const"));
    for (size_t i = 0; i < 2; i++) {
        it = mcp_json_each(mcp_json_get(field, choices[i]));
        while (mcp_json_next(&it))
            add_value(list, mcp_json_get(it.value, "const"));
    }
    if (has_type(field, "boolean")) {
        cli_candidates_add(list, "true");
        cli_candidates_add(list, "false");
    }
}

static int
compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void
cli_candidates_sort(struct cli_candidates *list)
{
    size_t kept = 0;

    if (list->count == 0)
        return;
    qsort(list->item, list->count, sizeof(*list->item), compare);
    for (size_t i = 1; i < list->count; i++) {
        if (strcmp(list->item[kept], list->item[i]) == 0)
            free(list->item[i]);
        else
            list->item[++kept] = list->item[i];
    }
    list->count = kept + 1;
}

size_t
cli_candidates_common(const struct cli_candidates *list)
{
    size_t common = list->count > 0 ? strlen(list->item[0]) : 0;

    for (size_t i = 1; i < list->count; i++) {
        size_t same = 0;

        while (same < common && list->item[i][same] == list->item[0][same])
            same++;
        common = same;
    }
    while (common > 0 && ((unsigned char)list->item[0][common] & 0xC0) == 0x80)
        common--;
    return common;
}

void
cli_candidates_show(const struct cli_candidates *list, size_t width,
                    struct cli_text *into)
{
    size_t shown = list->count < SHOWN_MAX ? list->count : SHOWN_MAX;
    size_t column = 1, columns, rows;

    for (size_t i = 0; i < shown; i++) {
        size_t wide = cli_text_width(list->item[i], strlen(list->item[i])) + 2;

        column = wide > column ? wide : column;
    }
    columns = width / column > 0 ? width / column : 1;
    rows = (shown + columns - 1) / columns;
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = row; i < shown; i += rows) {
            const char *text = list->item[i];

            cli_text_puts(into, text);
            if (i + rows < shown)
                cli_text_pad(into, column - cli_text_width(text, strlen(text)));
        }
        cli_text_puts(into, "\n");
    }
    if (shown < list->count)
        cli_text_printf(into, "... and %zu more\n", list->count - shown);
}
