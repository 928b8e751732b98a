/*
 * args_word.c - one word of the command line, name=value, into the arguments
 *
 * A name that the schema has, dots and all, is that name; else each dot leads into an
 * object, and [] at the end adds an element. What a file (--args) said may be said anew
 * by a word, what a word said may not: that would be a slip.
 */
#include <string.h>

#include "cli/args_parts.h"
#include "cli/field.h"
#include "cli/near.h"

#define DEPTH_MAX 64 /* of names with dots */

/* A word while it is read. */
struct word {
    struct cli_args *args;
    const char *name; /* as it was written */
    size_t length;
    const mcp_json *schema; /* of the object that we are in; NULL: not known */
    const mcp_json *field;  /* of the value; NULL: not known */
    struct cli_node *node;  /* the object that we are in, then the value's place */
};

static void
fault(struct word *word, const char *message)
{
    cli_args_fault(word->args, word->name, word->length, NULL, message);
}

/* ---- names that the schema does not have ---------------------------------------- */

static bool
visit_names(const mcp_json *schema, void *user)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(mcp_json_get(schema, "properties")); mcp_json_next(&it);)
        cli_near_offer(user, mcp_json_string(it.key, ""));
    return false;
}

static bool
visit_list(const mcp_json *schema, void *user)
{
    struct cli_text *list = user;
    mcp_json_iterator it;

    for (it = mcp_json_each(mcp_json_get(schema, "properties")); mcp_json_next(&it);)
        cli_text_printf(list, "%s%s", list->length > 0 ? ", " : "",
                        mcp_json_string(it.key, ""));
    return false;
}

/* False: it may not be there at all, and that was kept as a fault. */
static bool
name_is_allowed(struct word *word, const char *name, size_t length)
{
    const mcp_json *root = word->args->schema;
    const mcp_json *more = cli_field_keyword(root, word->schema,
                                             "additionalProperties");
    struct cli_near near = cli_near_begin(name, length);
    struct cli_text text = {0}, list = {0};
    bool is_closed = more && mcp_json_get_type(more) == MCP_JSON_BOOL &&
                     !mcp_json_bool(more, true) &&
                     !cli_field_keyword(root, word->schema, "patternProperties");

    (void)cli_field_walk(root, word->schema, true, visit_names, &near);
    (void)cli_field_walk(root, word->schema, true, visit_list, &list);
    if (is_closed) {
        cli_text_puts(&text, "there is no such argument");
        if (near.best)
            cli_text_printf(&text, "; did you mean %s?", near.best);
        else if (list.length > 0)
            cli_text_printf(&text, "; there are %s", cli_text_string(&list));
        fault(word, cli_text_string(&text));
    } else if (near.best) {
        cli_text_puts(&text, "the schema does not name ");
        cli_text_add_harmless(&text, name, length, true);
        cli_text_puts(&text, "; did you mean ");
        cli_text_add_harmless(&text, near.best, strlen(near.best), true);
        cli_note(&word->args->cli->say, "%s?", cli_text_string(&text));
    }
    cli_text_done(&text);
    cli_text_done(&list);
    return !is_closed;
}

/* What the schema says of a member of the object that we are in, into word->field. */
static bool
member_look_up(struct word *word, const char *name, size_t length)
{
    const mcp_json *root = word->args->schema;

    word->field = cli_field_member(root, word->schema, name, length);
    if (word->field || !word->schema)
        return true;
    if (!name_is_allowed(word, name, length))
        return false;
    word->field = cli_field_keyword(root, word->schema, "additionalProperties");
    return true;
}

/* ---- the place ------------------------------------------------------------------ */

static struct cli_node *
member_get(struct word *word, const char *name, size_t length)
{
    struct cli_node *node = cli_node_find(word->node, name, length);

    if (!node)
        node = cli_node_add(word->node, name, length);
    if (!node)
        word->args->failed = true;
    return node;
}

/* Into a member that must be an open object, or array; what a file said there, and is
 * something else, goes. */
static bool
place_enter(struct word *word, const char *name, size_t length, bool is_array)
{
    struct cli_node *node = member_get(word, name, length);

    if (!node)
        return false;
    if (node->json || node->is_array != is_array) {
        if (node->is_said) {
            fault(word, "is given twice");
            return false;
        }
        cli_node_clear(node, is_array);
    }
    node->is_said = true;
    word->node = node;
    word->schema = word->field;
    return true;
}

static bool
place_member(struct word *word, const char *name, size_t length)
{
    struct cli_node *node;

    if (!member_look_up(word, name, length))
        return false;
    node = member_get(word, name, length);
    if (!node)
        return false;
    if (node->is_said) {
        fault(word, "is given twice");
        return false;
    }
    word->node = node;
    return true;
}

static bool
place_element(struct word *word, const char *name, size_t length)
{
    if (!member_look_up(word, name, length) || !place_enter(word, name, length, true))
        return false;
    word->field = cli_field_keyword(word->args->schema, word->schema, "items");
    word->node = cli_node_add(word->node, NULL, 0);
    word->args->failed = word->args->failed || !word->node;
    return word->node != NULL;
}

static bool
name_is_text(struct word *word)
{
    struct cli_text quoted = {0};
    bool ok = cli_field_quote(word->name, word->length, &quoted);

    if (!ok)
        fault(word, "this name is not a text in UTF-8");
    cli_text_done(&quoted);
    return ok;
}

/* Is the rest of a name one that the schema has? */
static bool
is_known(const struct word *word, const char *name, size_t length)
{
    return cli_field_member(word->args->schema, word->schema, name, length) != NULL;
}

static bool
place_find(struct word *word)
{
    const char *at = word->name, *end = word->name + word->length, *dot;

    for (unsigned depth = 0; !is_known(word, at, (size_t)(end - at)); depth++) {
        dot = memchr(at, '.', (size_t)(end - at));
        if (!dot)
            break;
        if (dot == at || dot + 1 == end || depth >= DEPTH_MAX) {
            fault(word, "this is no name: write a.b=VALUE for a member of an object");
            return false;
        }
        if (!member_look_up(word, at, (size_t)(dot - at)) ||
            !place_enter(word, at, (size_t)(dot - at), false))
            return false;
        at = dot + 1;
    }
    if (end - at > 2 && memcmp(end - 2, "[]", 2) == 0 &&
        !is_known(word, at, (size_t)(end - at)))
        return place_element(word, at, (size_t)(end - 2 - at));
    return place_member(word, at, (size_t)(end - at));
}

/* ---- the value ------------------------------------------------------------------ */

static void
value_set(struct word *word, const char *json, size_t length)
{
    if (!cli_node_set(word->node, json, length))
        word->args->failed = true;
    word->node->is_said = true;
}

static void
value_typed(struct word *word, const char *text, size_t length, bool is_file)
{
    const mcp_json *root = word->args->schema;
    struct cli_text json = {0}, why = {0};

    /* the newline at the end of a file belongs to a text, not to a number */
    if (is_file && !(cli_field_types(root, word->field) & CLI_TYPE_STRING))
        while (length > 0 && strchr(" \t\r\n", text[length - 1]))
            length--;
    if (cli_field_read(root, word->field, text, length, &json, &why))
        value_set(word, cli_text_string(&json), json.length);
    else
        cli_args_fault(word->args, word->name, word->length, word->field,
                       cli_text_string(&why));
    word->args->failed = word->args->failed || json.failed;
    cli_text_done(&json);
    cli_text_done(&why);
}

static void
value_json(struct word *word, const char *text, size_t length)
{
    struct cli_text why = {0};
    mcp_doc *doc = NULL;
    mcp_error err;

    if (mcp_doc_parse(text, length, NULL, &doc, &err) == 0) {
        value_set(word, text, length);
    } else {
        cli_text_printf(&why, "is not JSON: %s; for a text write NAME=VALUE",
                        err.message);
        cli_args_fault(word->args, word->name, word->length, word->field,
                       cli_text_string(&why));
    }
    mcp_doc_free(doc);
    cli_text_done(&why);
}

static void
value_file(struct word *word, const char *path, bool is_json)
{
    struct cli_text text = {0}, why = {0};

    if (!cli_args_load(word->args->cli, path, &text, &why)) {
        if (!is_json)
            cli_text_puts(&why, "; for a text that begins with @ write NAME=@@TEXT");
        fault(word, cli_text_string(&why));
    } else if (is_json) {
        value_json(word, cli_text_string(&text), text.length);
    } else {
        value_typed(word, cli_text_string(&text), text.length, true);
    }
    cli_text_done(&text);
    cli_text_done(&why);
}

void
cli_args_word(struct cli_args *args, const char *text)
{
    const char *equals = strchr(text, '='), *value = equals ? equals + 1 : NULL;
    struct word word = {
        .args = args, .name = text, .schema = args->schema, .node = &args->root};
    bool is_json = equals && equals > text && equals[-1] == ':';

    word.length = equals ? (size_t)(equals - text) - is_json : 0;
    if (word.length == 0) {
        cli_args_fault(args, text, strlen(text), NULL,
                       "this is no argument: write NAME=VALUE, NAME:=JSON, NAME=@FILE, "
                       "A.B=VALUE or NAME[]=VALUE");
        return;
    }
    if (!name_is_text(&word) || !place_find(&word))
        return;
    if (value[0] == '@' && (is_json || value[1] != '@'))
        value_file(&word, value + 1, is_json);
    else if (is_json)
        value_json(&word, value, strlen(value));
    else
        value_typed(&word, value + (value[0] == '@'), strlen(value + (value[0] == '@')),
                    false);
}
