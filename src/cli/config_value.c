/* config_value.c - variables in the values of configuration files */
#include "cli/config_value.h"

#include <stdlib.h>
#include <string.h>

#include "cli/input.h"

#define NAME_MAX_BYTES 256 /* of a variable: longer ones nobody sets */

/* What is between ${ and }. */
struct reference {
    const char *text;
    size_t length;
    size_t name; /* so much of it is a name: letters, digits and _ */
};

static size_t
name_length(const char *text, size_t length)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz_0123456789";
    size_t n = 0;

    if (length == 0 || (*text >= '0' && *text <= '9'))
        return 0;
    while (n < length && text[n] && strchr(letters, text[n]))
        n++;
    return n;
}

static bool
is(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

/* A variable of ours; NULL: it is not set. */
static const char *
look_up(const char *name, size_t length)
{
    char copy[NAME_MAX_BYTES + 1];

    if (length == 0 || length > NAME_MAX_BYTES)
        return NULL;
    memcpy(copy, name, length);
    copy[length] = '\0';
    return getenv(copy);
}

static bool
add_variable(const char *name, size_t length, struct cli_text *into,
             struct cli_text *fault)
{
    const char *value = look_up(name, length);

    if (value) {
        cli_text_puts(into, value);
        return true;
    }
    cli_text_puts(fault, "needs the variable ");
    cli_text_add_harmless(fault, name, length < 64 ? length : 64, true);
    cli_text_puts(fault, ", which is not set");
    return false;
}

/* Those that editors know by themselves; false: it is none of them. */
static bool
add_predefined(const struct reference *ref, const char *folder, struct cli_text *into)
{
    const char *slash = strrchr(folder, '/');

    if (is(ref->text, ref->length, "workspaceFolder"))
        cli_text_puts(into, folder);
    else if (is(ref->text, ref->length, "workspaceFolderBasename"))
        cli_text_puts(into, slash ? slash + 1 : folder);
    else if (is(ref->text, ref->length, "pathSeparator") ||
             is(ref->text, ref->length, "/"))
        cli_text_puts(into, "/");
    else
        return false;
    return true;
}

static bool
refuse(const struct reference *ref, struct cli_text *fault)
{
    bool is_input = is(ref->text, ref->name, "input");

    cli_text_puts(fault, is_input ? "asks for the input " : "uses ${");
    if (is_input)
        cli_text_add_harmless(fault, ref->text + 6,
                              ref->length - 6 < 64 ? ref->length - 6 : 64, true);
    else
        cli_text_add_harmless(fault, ref->text, ref->length < 64 ? ref->length : 64,
                              true);
    cli_text_puts(fault, is_input ? ", which only its own program can answer"
                                  : "}, which only its own program knows");
    return false;
}

static bool
add_default(const struct reference *ref, struct cli_text *into)
{
    const char *value = look_up(ref->text, ref->name);

    if (value && *value)
        cli_text_puts(into, value);
    else
        cli_text_add(into, ref->text + ref->name + 2, ref->length - ref->name - 2);
    return true;
}

/* ${input:ID} that can be asked for? */
static bool
is_declared(const struct reference *ref, const mcp_json *inputs)
{
    size_t opening = ref->name + 1;

    return is(ref->text, ref->name, "input") && ref->length > opening &&
           ref->text[ref->name] == ':' &&
           cli_input_find(inputs, ref->text + opening, ref->length - opening);
}

/* A reference in braces. */
static bool
add_reference(const struct reference *ref, const struct cli_config_place *place,
              struct cli_text *into, struct cli_text *fault)
{
    const char *rest = ref->text + ref->name;
    size_t left = ref->length - ref->name;

    if (add_predefined(ref, place->folder, into))
        return true;
    if (is(ref->text, ref->length, "userHome"))
        return add_variable("HOME", 4, into, fault);
    if (ref->name > 0 && left == 0)
        return add_variable(ref->text, ref->length, into, fault);
    if (ref->name > 0 && left >= 2 && memcmp(rest, ":-", 2) == 0)
        return add_default(ref, into);
    if (is(ref->text, ref->name, "env") && *rest == ':')
        return add_variable(rest + 1, left - 1, into, fault);
    if (ref->name > 0 && *rest == ':' && !is_declared(ref, place->inputs))
        return refuse(ref, fault);
    /* ${1} and the like are for somebody else, a shell perhaps */
    cli_text_add(into, ref->text - 2, ref->length + 3);
    return true;
}

/* A value under way. */
struct expansion {
    const struct cli_config_place *place;
    const char *last_brace; /* the last } in it: looked for once, not for each ${ */
    struct cli_text *into, *fault;
};

/* What begins with the dollar at text; *ret_used: how much of it that was. */
static bool
add_dollar(const struct expansion *x, const char *text, size_t *ret_used)
{
    struct reference ref = {.text = text + 2};

    if (text[1] == '{' && x->last_brace && text < x->last_brace) {
        ref.length = strcspn(ref.text, "}");
        ref.name = name_length(ref.text, ref.length);
        *ret_used = ref.length + 3;
        return add_reference(&ref, x->place, x->into, x->fault);
    }
    ref.name = name_length(text + 1, strcspn(text + 1, "${}"));
    if (x->place->variables == CLI_VARIABLES_ALL && ref.name > 0) {
        *ret_used = ref.name + 1;
        return add_variable(text + 1, ref.name, x->into, x->fault);
    }
    cli_text_puts(x->into, "$");
    *ret_used = 1;
    return true;
}

bool
cli_config_value(const char *text, const struct cli_config_place *place,
                 struct cli_text *into, struct cli_text *fault)
{
    struct expansion x = {place, strrchr(text, '}'), into, fault};
    size_t began = into->length;

    while (*text) {
        size_t used = place->variables == CLI_VARIABLES_NONE ? strlen(text)
                                                             : strcspn(text, "$");

        if (used > 0)
            cli_text_add(into, text, used);
        else if (!add_dollar(&x, text, &used))
            return false;
        text += used;
        /* looked at as it grows: a short text may name a long variable very often */
        if (into->length - began > CLI_CONFIG_VALUE_MAX) {
            cli_text_puts(fault, "has a value that is too long");
            return false;
        }
    }
    return true;
}
