/* field.c - what a JSON schema says of one value: types, choices, members */
#include "cli/field.h"

#include <stdlib.h>
#include <string.h>

/* Schemas looked at for one question. Those of real tools have less than ten for a
 * field; one that branches out without end must not keep us. */
#define STEPS_MAX 2000
#define DEPTH_MAX 32

struct walk {
    const mcp_json *root;
    bool maybe; /* into alternatives too */
    unsigned steps;
    cli_field_visit *visit;
    void *user;
};

/* ---- references ----------------------------------------------------------------- */

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* One step of a JSON pointer in a URI, decoded: "%24defs" and "~1" are "$defs" and "/".
 * Returns its length; SIZE_MAX: it is too long to be a name. */
static size_t
token_decode(const char *token, size_t length, char *into, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        char c = token[i];

        if (n + 1 >= room)
            return SIZE_MAX;
        if (c == '%' && i + 2 < length && hex_digit(token[i + 1]) >= 0 &&
            hex_digit(token[i + 2]) >= 0) {
            c = (char)(hex_digit(token[i + 1]) * 16 + hex_digit(token[i + 2]));
            i += 2;
        } else if (c == '~' && i + 1 < length) {
            c = token[++i] == '1' ? '/' : '~';
        }
        into[n++] = c;
    }
    into[n] = '\0';
    return n;
}

static const mcp_json *
pointer_follow(const mcp_json *value, const char *pointer)
{
    char token[256];

    while (*pointer == '/' && value) {
        size_t length = strcspn(++pointer, "/"), n;

        n = token_decode(pointer, length, token, sizeof(token));
        if (n == SIZE_MAX)
            return NULL;
        if (mcp_json_get_type(value) == MCP_JSON_ARRAY)
            value = mcp_json_at(value, strtoul(token, NULL, 10));
        else
            value = mcp_json_get_n(value, token, n);
        pointer += length;
    }
    return *pointer == '\0' ? value : NULL;
}

/* What a schema refers to; NULL: nothing, or nothing of this document's. */
static const mcp_json *
schema_target(const mcp_json *root, const mcp_json *schema)
{
    const char *ref = mcp_json_string(mcp_json_get(schema, "$ref"), NULL);

    return ref && ref[0] == '#' ? pointer_follow(root, ref + 1) : NULL;
}

/* ---- walking -------------------------------------------------------------------- */

static bool
walk_visit(struct walk *walk, const mcp_json *schema, unsigned depth)
{
    static const char *const lists[] = {"allOf", "anyOf", "oneOf"};
    mcp_json_iterator it;
    const mcp_json *target;

    if (mcp_json_get_type(schema) != MCP_JSON_OBJECT || depth > DEPTH_MAX ||
        walk->steps >= STEPS_MAX)
        return false;
    walk->steps++;
    if (walk->visit(schema, walk->user))
        return true;
    target = schema_target(walk->root, schema);
    if (target && walk_visit(walk, target, depth + 1))
        return true;
    for (size_t i = 0; i < (walk->maybe ? 3 : 1); i++)
        for (it = mcp_json_each(mcp_json_get(schema, lists[i])); mcp_json_next(&it);)
            if (walk_visit(walk, it.value, depth + 1))
                return true;
    return false;
}

bool
cli_field_walk(const mcp_json *root, const mcp_json *schema, bool maybe,
               cli_field_visit *visit, void *user)
{
    struct walk walk = {.root = root, .maybe = maybe, .visit = visit, .user = user};

    return walk_visit(&walk, schema, 0);
}

/* ---- types ---------------------------------------------------------------------- */

static unsigned
type_of_name(const mcp_json *name)
{
    static const struct {
        const char *name;
        unsigned type;
    } types[] = {
        {"null", CLI_TYPE_NULL},       {"boolean", CLI_TYPE_BOOL},
        {"integer", CLI_TYPE_INTEGER}, {"number", CLI_TYPE_INTEGER | CLI_TYPE_NUMBER},
        {"string", CLI_TYPE_STRING},   {"array", CLI_TYPE_ARRAY},
        {"object", CLI_TYPE_OBJECT}};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (mcp_json_is_string(name, types[i].name))
            return types[i].type;
    return 0;
}

static unsigned
type_of_value(const mcp_json *value)
{
    switch (mcp_json_get_type(value)) {
    case MCP_JSON_NULL:
        return CLI_TYPE_NULL;
    case MCP_JSON_BOOL:
        return CLI_TYPE_BOOL;
    case MCP_JSON_INTEGER:
        return CLI_TYPE_INTEGER;
    case MCP_JSON_REAL:
        return CLI_TYPE_INTEGER | CLI_TYPE_NUMBER;
    case MCP_JSON_STRING:
        return CLI_TYPE_STRING;
    case MCP_JSON_ARRAY:
        return CLI_TYPE_ARRAY;
    case MCP_JSON_OBJECT:
        return CLI_TYPE_OBJECT;
    case MCP_JSON_ABSENT:
        break;
    }
    return 0;
}

static unsigned
types_said(const mcp_json *schema)
{
    const mcp_json *type = mcp_json_get(schema, "type");
    const mcp_json *list = mcp_json_get(schema, "enum");
    const mcp_json *only = mcp_json_get(schema, "const");
    unsigned set = CLI_TYPE_ANY, some = 0;
    mcp_json_iterator it;

    if (mcp_json_get_type(type) == MCP_JSON_ARRAY) {
        for (it = mcp_json_each(type); mcp_json_next(&it);)
            some |= type_of_name(it.value);
        set &= some;
    } else if (type) {
        set &= type_of_name(type);
    }
    if (only)
        set &= type_of_value(only);
    if (mcp_json_count(list) > 0) {
        some = 0;
        for (it = mcp_json_each(list); mcp_json_next(&it);)
            some |= type_of_value(it.value);
        set &= some;
    }
    return set;
}

static unsigned
types_of(struct walk *walk, const mcp_json *schema, unsigned depth)
{
    mcp_json_iterator it;
    const mcp_json *target, *list;
    unsigned set, some;

    if (mcp_json_get_type(schema) != MCP_JSON_OBJECT || depth > DEPTH_MAX ||
        walk->steps >= STEPS_MAX)
        return CLI_TYPE_ANY;
    walk->steps++;
    set = types_said(schema);
    target = schema_target(walk->root, schema);
    if (target)
        set &= types_of(walk, target, depth + 1);
    for (it = mcp_json_each(mcp_json_get(schema, "allOf")); mcp_json_next(&it);)
        set &= types_of(walk, it.value, depth + 1);
    for (size_t i = 0; i < 2; i++) {
        list = mcp_json_get(schema, i == 0 ? "anyOf" : "oneOf");
        some = 0;
        for (it = mcp_json_each(list); mcp_json_next(&it);)
            some |= types_of(walk, it.value, depth + 1);
        if (mcp_json_count(list) > 0)
            set &= some;
    }
    return set;
}

unsigned
cli_field_types(const mcp_json *root, const mcp_json *field)
{
    struct walk walk = {.root = root};
    unsigned set = types_of(&walk, field, 0);

    return set ? set : CLI_TYPE_ANY; /* it contradicts itself: the check will say so */
}

/* ---- keywords and members ------------------------------------------------------- */

struct search {
    const char *name;
    size_t length;
    const mcp_json *found;
};

static bool
visit_keyword(const mcp_json *schema, void *user)
{
    struct search *search = user;

    search->found = mcp_json_get(schema, search->name);
    return search->found != NULL;
}

const mcp_json *
cli_field_keyword(const mcp_json *root, const mcp_json *field, const char *keyword)
{
    struct search search = {.name = keyword};

    (void)cli_field_walk(root, field, true, visit_keyword, &search);
    return search.found;
}

static bool
visit_member(const mcp_json *schema, void *user)
{
    struct search *search = user;

    search->found = mcp_json_get_n(mcp_json_get(schema, "properties"), search->name,
                                   search->length);
    return search->found != NULL;
}

const mcp_json *
cli_field_member(const mcp_json *root, const mcp_json *schema, const char *name,
                 size_t length)
{
    struct search search = {.name = name, .length = length};

    (void)cli_field_walk(root, schema, true, visit_member, &search);
    return search.found;
}

static bool
visit_required(const mcp_json *schema, void *user)
{
    struct search *search = user;
    mcp_json_iterator it;

    for (it = mcp_json_each(mcp_json_get(schema, "required")); mcp_json_next(&it);)
        if (mcp_json_is_string(it.value, search->name))
            return true;
    return false;
}

bool
cli_field_is_required(const mcp_json *root, const mcp_json *schema, const char *name)
{
    struct search search = {.name = name};

    return cli_field_walk(root, schema, false, visit_required, &search);
}

/* ---- choices -------------------------------------------------------------------- */

struct choices {
    struct cli_choice *items;
    size_t count;
};

static bool
choices_add(struct choices *choices, const mcp_json *value, const mcp_json *title)
{
    if (choices->count == CLI_CHOICES_MAX)
        return true;
    choices->items[choices->count++] = (struct cli_choice){
        .value = value, .title = mcp_json_string(title, NULL)};
    return false;
}

static bool
visit_choices(const mcp_json *schema, void *user)
{
    const mcp_json *names = mcp_json_get(schema, "enumNames");
    const mcp_json *only = mcp_json_get(schema, "const");
    struct choices *choices = user;
    mcp_json_iterator it;
    size_t i = 0;

    for (it = mcp_json_each(mcp_json_get(schema, "enum")); mcp_json_next(&it);)
        if (choices_add(choices, it.value, mcp_json_at(names, i++)))
            return true;
    return only && choices_add(choices, only, mcp_json_get(schema, "title"));
}

size_t
cli_field_choices(const mcp_json *root, const mcp_json *field,
                  struct cli_choice *choices)
{
    struct choices found = {.items = choices};

    (void)cli_field_walk(root, field, true, visit_choices, &found);
    if (found.count == 0 && (cli_field_types(root, field) & CLI_TYPE_ARRAY))
        (void)cli_field_walk(root, cli_field_keyword(root, field, "items"), true,
                             visit_choices, &found);
    return found.count;
}

bool
cli_field_is_secret(const mcp_json *root, const mcp_json *field)
{
    return mcp_json_is_string(cli_field_keyword(root, field, "format"), "password") ||
           mcp_json_bool(cli_field_keyword(root, field, "writeOnly"), false);
}
