/* config_entry.c - one server's entry in a configuration file, as a target */
#include "cli/config_entry.h"

#include <stdlib.h>
#include <string.h>

#include "cli/config_file.h"
#include "cli/env_file.h"
#include "cli/input.h"

/* An entry under way. After a fault nothing more is read. */
struct reader {
    const mcp_json *value;
    const struct cli_config_place *place;
    struct cli_target *target;
    struct cli_text *fault;
    bool no_memory;
};

/* Texts that grow, NULL at the end. */
struct list {
    char **items;
    size_t count, room;
};

static bool
fault(struct reader *reader, const char *text, const char *key)
{
    cli_text_puts(reader->fault, text);
    if (key)
        cli_text_add_harmless(reader->fault, key, strnlen(key, 64), true);
    return false;
}

static bool
lack_memory(struct reader *reader)
{
    reader->no_memory = true;
    return false;
}

/* Takes the text; NULL is one that there was no memory for. */
static bool
push(struct reader *reader, struct list *list, char *take_text)
{
    if (!take_text)
        return lack_memory(reader);
    if (list->count + 1 >= list->room) {
        size_t room = list->room ? list->room * 2 : 8;
        char **items = realloc(list->items, room * sizeof *items);

        if (!items) {
            free(take_text);
            return lack_memory(reader);
        }
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = take_text;
    list->items[list->count] = NULL;
    return true;
}

static bool
has_nul(const mcp_json *string)
{
    return strlen(mcp_json_string(string, "")) != mcp_json_string_length(string);
}

/* Appends a string with its variables, or a number or truth value as it is written:
 * many write ports so. */
static bool
add_scalar(struct reader *reader, const char *key, const mcp_json *value,
           struct cli_text *into)
{
    enum mcp_json_type type = mcp_json_get_type(value);
    char *text;

    if (type == MCP_JSON_STRING && !has_nul(value)) {
        return cli_config_value(mcp_json_string(value, ""), reader->place, into,
                                reader->fault);
    }
    if (type != MCP_JSON_INTEGER && type != MCP_JSON_REAL && type != MCP_JSON_BOOL)
        return fault(reader, "has something that is no text in ", key);
    if (mcp_json_print(value, false, NULL, &text, NULL) < 0)
        return lack_memory(reader);
    cli_text_puts(into, text);
    mcp_text_free(text, NULL);
    return true;
}

/* What was gathered, as a text of its own; NULL: no memory. */
static char *
text_take(struct cli_text *text)
{
    char *copy = text->failed ? NULL : strdup(cli_text_string(text));

    cli_text_done(text);
    return copy;
}

/* A member that is a text; not there, or null: *ret_text is NULL. */
static bool
read_text(struct reader *reader, const char *key, char **ret_text)
{
    const mcp_json *value = mcp_json_get(reader->value, key);
    struct cli_text text = {0};

    *ret_text = NULL;
    if (!value || mcp_json_get_type(value) == MCP_JSON_NULL)
        return true;
    if (mcp_json_get_type(value) != MCP_JSON_STRING)
        return fault(reader, "has something that is no text in ", key);
    if (!add_scalar(reader, key, value, &text)) {
        cli_text_done(&text);
        return false;
    }
    *ret_text = text_take(&text);
    return *ret_text ? true : lack_memory(reader);
}

/* Does it begin with what its user has yet to say? */
static bool
is_asked_for(const struct reader *reader, const char *text)
{
    return reader->place->inputs && cli_input_begins(text);
}

static bool
read_args(struct reader *reader, struct list *argv)
{
    const mcp_json *args = mcp_json_get(reader->value, "args");
    enum mcp_json_type type = mcp_json_get_type(args);
    mcp_json_iterator it;

    if (type != MCP_JSON_ABSENT && type != MCP_JSON_NULL && type != MCP_JSON_ARRAY)
        return fault(reader, "has no list in ", "args");
    for (it = mcp_json_each(args); mcp_json_next(&it);) {
        struct cli_text text = {0};

        if (!add_scalar(reader, "args", it.value, &text)) {
            cli_text_done(&text);
            return false;
        }
        if (!push(reader, argv, text_take(&text)))
            return false;
    }
    return true;
}

static bool
is_env_name(const mcp_json *key)
{
    const char *name = mcp_json_string(key, "");

    return *name && !strchr(name, '=') && !has_nul(key);
}

/* A token of HTTP (RFC 9110, 5.6.2). */
static bool
is_header_name(const mcp_json *key)
{
    static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789!#$%&'*+-.^_`|~";
    const char *name = mcp_json_string(key, "");

    return *name && !name[strspn(name, token)] && !has_nul(key);
}

static bool
has_control(const char *text)
{
    for (; *text; text++) {
        if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7F)
            return true;
    }
    return false;
}

/* Members of an object as "NAME=value" or "Name: value". */
static bool
read_pairs(struct reader *reader, const char *key, bool is_header, struct list *list)
{
    const mcp_json *object = mcp_json_get(reader->value, key);
    enum mcp_json_type type = mcp_json_get_type(object);
    mcp_json_iterator it;

    if (type != MCP_JSON_ABSENT && type != MCP_JSON_NULL && type != MCP_JSON_OBJECT)
        return fault(reader, "has no object in ", key);
    for (it = mcp_json_each(object); mcp_json_next(&it);) {
        struct cli_text text = {0};

        /* VS Code: as if it were not there */
        if (mcp_json_get_type(it.value) == MCP_JSON_NULL)
            continue;
        if (!(is_header ? is_header_name(it.key) : is_env_name(it.key)))
            return fault(reader, "has a name that cannot be one in ", key);
        cli_text_puts(&text, mcp_json_string(it.key, ""));
        cli_text_puts(&text, is_header ? ": " : "=");
        if (!add_scalar(reader, key, it.value, &text)) {
            cli_text_done(&text);
            return false;
        }
        if (!push(reader, list, text_take(&text)))
            return false;
        if (is_header && has_control(list->items[list->count - 1]))
            return fault(reader, "has control characters in ", key);
    }
    return true;
}

/* Each variable of a text into the list. */
static bool
push_variables(struct reader *reader, const char *text, struct list *list)
{
    int r;

    do {
        struct cli_text one = {0};

        r = cli_env_next(&text, &one);
        if (r < 0)
            fault(reader, "has an envFile with a line that sets no variable", NULL);
        if (r <= 0)
            cli_text_done(&one);
        else if (!push(reader, list, text_take(&one)))
            r = -1;
    } while (r > 0);
    return r == 0;
}

/* What stands in a file of its own; env is added behind it, and wins. */
static bool
read_env_file(struct reader *reader, struct list *list)
{
    mcp_error err = {0};
    char *path, *folder = NULL, *text = NULL;
    size_t length = 0;
    bool ok;
    int r = 0;

    if (!read_text(reader, "envFile", &path))
        return false;
    if (!path || !*path) {
        free(path);
        return true;
    }
    path = cli_path_resolve(path, reader->place->folder);
    if (!path)
        return lack_memory(reader);
    if (reader->place->is_project && strrchr(path, '/')) {
        folder = strndup(path, (size_t)(strrchr(path, '/') - path));
        r = folder ? 0 : MCP_E_NOMEM;
    }
    if (r == 0)
        r = cli_config_file_text(path, folder, CLI_ENV_FILE_MAX, &text, &length, &err);
    if (r == MCP_E_NOMEM)
        ok = lack_memory(reader);
    else if (r < 0)
        ok = fault(reader, "has an envFile that cannot be used: ", err.message);
    else if (!text || strlen(text) != length)
        ok = fault(reader, "has an envFile that cannot be read: ",
                   mcp_json_string(mcp_json_get(reader->value, "envFile"), ""));
    else
        ok = push_variables(reader, text, list);
    free(path);
    free(folder);
    free(text);
    return ok;
}

/* Takes the text; NULL: it says none. What is still to be typed may be a whole path. */
static bool
read_cwd(struct reader *reader, char *take_cwd)
{
    struct cli_target *target = reader->target;

    if (!take_cwd && !reader->place->is_project)
        return true;
    if (take_cwd && is_asked_for(reader, take_cwd)) {
        target->cwd = take_cwd;
        target->folder = strdup(reader->place->folder);
        return target->folder ? true : lack_memory(reader);
    }
    target->cwd = take_cwd ? cli_path_resolve(take_cwd, reader->place->folder)
                           : strdup(reader->place->folder);
    return target->cwd ? true : lack_memory(reader);
}

static bool
read_command(struct reader *reader)
{
    struct cli_target *target = reader->target;
    struct list argv = {0}, env = {0};
    char *command = NULL, *cwd = NULL;
    bool ok;

    target->kind = CLI_TARGET_COMMAND;
    ok = read_text(reader, "command", &command);
    if (ok && (!command || !*command))
        ok = fault(reader, "has nothing in ", "command");
    if (!ok) {
        free(command);
        return false;
    }
    ok = push(reader, &argv, cli_path_resolve(command, NULL)) &&
         read_args(reader, &argv) && read_env_file(reader, &env) &&
         read_pairs(reader, "env", false, &env) && read_text(reader, "cwd", &cwd);
    target->argv = argv.items;
    target->env = env.items;
    if (!ok)
        return false;
    return read_cwd(reader, cwd);
}

static bool
read_url(struct reader *reader, const char *key)
{
    struct list headers = {0};
    bool ok;

    reader->target->kind = CLI_TARGET_URL;
    if (!read_text(reader, key, &reader->target->url))
        return false;
    if (!reader->target->url || (!is_asked_for(reader, reader->target->url) &&
                                 !cli_url_is_good(reader->target->url)))
        return fault(reader, "has no http:// or https:// address in ", key);
    ok = read_pairs(reader, "headers", true, &headers);
    reader->target->headers = headers.items;
    return ok;
}

/* Which member says where it is; NULL: a fault. Each program has a name of its own for
 * the address; that of a streaming one, in Gemini's, comes first there too. */
static const char *
find_key(struct reader *reader)
{
    static const char *const keys[] = {"httpUrl", "command", "url", "serverUrl"};
    static const char *const remote[] = {"http", "sse", "streamable-http",
                                         "streamableHttp"};
    const mcp_json *type = mcp_json_get(reader->value, "type");
    bool is_local = mcp_json_is_string(type, "stdio");
    bool is_remote = false;
    size_t i;

    for (i = 0; i < sizeof remote / sizeof *remote; i++)
        is_remote = is_remote || mcp_json_is_string(type, remote[i]);
    /* "local" is Copilot's word */
    is_local = is_local || mcp_json_is_string(type, "local");
    if (type && !is_local && !is_remote && mcp_json_get_type(type) != MCP_JSON_NULL) {
        fault(reader, "has a type that mcpctl does not know: ",
              mcp_json_string(type, "it is no text"));
        return NULL;
    }
    for (i = 0; i < sizeof keys / sizeof *keys; i++) {
        bool is_command = strcmp(keys[i], "command") == 0;

        if ((is_command && is_remote) || (!is_command && is_local))
            continue;
        if (mcp_json_get_type(mcp_json_get(reader->value, keys[i])) > MCP_JSON_NULL)
            return keys[i];
    }
    fault(reader, "has neither a command nor an address", NULL);
    return NULL;
}

/* As it is written, but without quotes; for free(). NULL: no memory. */
static char *
show_word(const mcp_json *value)
{
    const char *string = mcp_json_string(value, NULL);
    char *text, *word;

    if (string)
        return strdup(string);
    if (mcp_json_print(value, false, NULL, &text, NULL) < 0)
        return NULL;
    word = strdup(text);
    mcp_text_free(text, NULL);
    return word;
}

static bool
show_command(const mcp_json *value, struct cli_text *shown)
{
    const mcp_json *args = mcp_json_get(value, "args");
    char **words = calloc(mcp_json_count(args) + 2, sizeof *words);
    char *joined = NULL;
    mcp_json_iterator it;
    size_t n = 0;
    bool ok;

    if (!words)
        return false;
    ok = (words[n++] = show_word(mcp_json_get(value, "command"))) != NULL;
    for (it = mcp_json_each(args); ok && mcp_json_next(&it);)
        ok = (words[n++] = show_word(it.value)) != NULL;
    if (ok)
        joined = cli_words_join((const char *const *)words);
    cli_words_free(words);
    if (joined)
        cli_text_add_harmless(shown, joined, strlen(joined), true);
    free(joined);
    return joined != NULL;
}

static bool
show_url(const mcp_json *url, struct cli_text *shown)
{
    struct cli_target target = {.kind = CLI_TARGET_URL};
    char *described = NULL;

    target.url = strdup(mcp_json_string(url, ""));
    if (target.url)
        described = cli_target_describe(&target);
    if (described)
        cli_text_add_harmless(shown, described, strlen(described), true);
    free(target.url);
    free(described);
    return described != NULL;
}

static bool
show(const mcp_json *value, const char *key, struct cli_text *shown)
{
    if (strcmp(key, "command") == 0)
        return show_command(value, shown);
    return show_url(mcp_json_get(value, key), shown);
}

/* What may have to be asked for goes with it. */
static bool
keep_inputs(struct reader *reader)
{
    char *text;

    if (!reader->place->inputs)
        return true;
    if (mcp_json_print(reader->place->inputs, false, NULL, &text, NULL) < 0)
        return lack_memory(reader);
    reader->target->inputs = strdup(text);
    mcp_text_free(text, NULL);
    return reader->target->inputs ? true : lack_memory(reader);
}

int
cli_config_entry_read(const mcp_json *value, const struct cli_config_place *place,
                      struct cli_target *ret_target, struct cli_text *shown,
                      struct cli_text *fault_text)
{
    struct reader reader = {value, place, ret_target, fault_text, false};
    const char *key = NULL;
    bool ok;

    *ret_target = (struct cli_target){0};
    ok = mcp_json_get_type(value) == MCP_JSON_OBJECT;
    if (!ok)
        fault(&reader, "is no object", NULL);
    else
        key = find_key(&reader);
    ok = key &&
         (strcmp(key, "command") == 0 ? read_command(&reader)
                                      : read_url(&reader, key)) &&
         keep_inputs(&reader);
    if (key && !show(value, key, shown))
        reader.no_memory = true;
    if (shown->failed || fault_text->failed)
        reader.no_memory = true;
    if (!ok || reader.no_memory)
        cli_target_done(ret_target);
    return reader.no_memory ? MCP_E_NOMEM : 0;
}

bool
cli_config_entry_is_disabled(const mcp_json *value)
{
    return mcp_json_bool(mcp_json_get(value, "disabled"), false) ||
           !mcp_json_bool(mcp_json_get(value, "enabled"), true);
}
