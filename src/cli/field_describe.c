/* field_describe.c - how a schema describes a field, for a person */
#include "cli/field.h"

#include <string.h>

#define CHOICES_SHOWN 12
#define COLUMNS_SHOWN 60 /* of a value, a pattern and the like */

struct describe {
    const mcp_json *root, *field;
    struct cli_text *into;
    size_t begin; /* of into, to know whether something stands there */
};

static void
add_comma(struct describe *d)
{
    if (d->into->length > d->begin)
        cli_text_puts(d->into, ", ");
}

/* Harmless, on one line, and not too long. */
static void
add_short(struct cli_text *into, const char *data, size_t length)
{
    struct cli_text harmless = {0};

    cli_text_add_harmless(&harmless, data, length, true);
    cli_text_add_cut(into, cli_text_string(&harmless), harmless.length, COLUMNS_SHOWN);
    cli_text_done(&harmless);
}

static void
add_json(struct cli_text *into, const mcp_json *value)
{
    char *text;
    size_t length;

    if (mcp_json_print(value, false, NULL, &text, &length) < 0) {
        into->failed = true;
        return;
    }
    add_short(into, text, length);
    mcp_text_free(text, NULL);
}

void
cli_field_show(const mcp_json *value, struct cli_text *into)
{
    if (mcp_json_get_type(value) == MCP_JSON_STRING)
        add_short(into, mcp_json_string(value, ""), mcp_json_string_length(value));
    else if (value)
        add_json(into, value);
}

/* ---- parts ---------------------------------------------------------------------- */

static void
add_choices(struct describe *d, const struct cli_choice *choices, size_t count)
{
    add_comma(d);
    cli_text_puts(d->into, count == 1 ? "always " : "one of ");
    for (size_t i = 0; i < count && i < CHOICES_SHOWN; i++) {
        if (i > 0)
            cli_text_puts(d->into, ", ");
        add_json(d->into, choices[i].value);
    }
    if (count > CHOICES_SHOWN)
        cli_text_puts(d->into, ", ...");
}

static void
add_types(struct describe *d, unsigned types)
{
    static const struct {
        unsigned type;
        const char *name;
    } names[] = {{CLI_TYPE_STRING, "string"}, {CLI_TYPE_INTEGER, "integer"},
                 {CLI_TYPE_NUMBER, "number"}, {CLI_TYPE_BOOL, "boolean"},
                 {CLI_TYPE_ARRAY, "array"},   {CLI_TYPE_OBJECT, "object"},
                 {CLI_TYPE_NULL, "null"}};
    bool is_first = true;

    if (types == CLI_TYPE_ANY)
        return;
    if (types & CLI_TYPE_NUMBER)
        types &= ~(unsigned)CLI_TYPE_INTEGER; /* which is a number */
    add_comma(d);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!(types & names[i].type))
            continue;
        if (!is_first)
            cli_text_puts(d->into, " or ");
        cli_text_puts(d->into, names[i].name);
        is_first = false;
    }
}

/* Of an array what its elements are: "array of integer". */
static void
add_elements(struct describe *d, unsigned types)
{
    const mcp_json *items = cli_field_keyword(d->root, d->field, "items");
    unsigned of = cli_field_types(d->root, items);
    struct describe element = {d->root, items, d->into, 0};

    if (types != CLI_TYPE_ARRAY || of == CLI_TYPE_ANY)
        return;
    cli_text_puts(d->into, " of ");
    element.begin = d->into->length;
    add_types(&element, of);
}

/* "1 to 10 characters", from two keywords of which one may be missing. */
static void
add_range(struct describe *d, const char *least, const char *most, const char *unit)
{
    const mcp_json *from = cli_field_keyword(d->root, d->field, least);
    const mcp_json *to = cli_field_keyword(d->root, d->field, most);

    if (!from && !to)
        return;
    add_comma(d);
    if (from && !to)
        cli_text_puts(d->into, "at least ");
    if (from)
        add_json(d->into, from);
    if (to)
        cli_text_puts(d->into, from ? " to " : "at most ");
    if (to)
        add_json(d->into, to);
    cli_text_puts(d->into, unit);
}

static void
add_keyword(struct describe *d, const char *keyword, const char *before)
{
    const mcp_json *value = cli_field_keyword(d->root, d->field, keyword);

    /* draft 4 had booleans there, which add nothing to the limits */
    if (!value || mcp_json_get_type(value) == MCP_JSON_BOOL)
        return;
    add_comma(d);
    cli_text_puts(d->into, before);
    cli_field_show(value, d->into);
}

/* A reference that leads nowhere we know still says something by its name. */
static void
add_reference(struct describe *d)
{
    const char *ref = mcp_json_string(mcp_json_get(d->field, "$ref"), NULL);
    const char *slash = ref ? strrchr(ref, '/') : NULL;

    if (!ref || d->into->length > d->begin)
        return;
    add_short(d->into, slash ? slash + 1 : ref, strlen(slash ? slash + 1 : ref));
}

void
cli_field_describe(const mcp_json *root, const mcp_json *field, struct cli_text *into)
{
    struct describe d = {root, field, into, into->length};
    struct cli_choice choices[CLI_CHOICES_MAX];
    unsigned types = cli_field_types(root, field);
    size_t count = cli_field_choices(root, field, choices);
    const mcp_json *fallback = mcp_json_get(field, "default");

    if (count == 0 || types == CLI_TYPE_ARRAY)
        add_types(&d, types);
    if (count == 0)
        add_elements(&d, types);
    else if (types == CLI_TYPE_ARRAY)
        cli_text_puts(into, " of elements");
    if (count > 0)
        add_choices(&d, choices, count);
    add_range(&d, "minimum", "maximum", "");
    add_keyword(&d, "exclusiveMinimum", "more than ");
    add_keyword(&d, "exclusiveMaximum", "less than ");
    add_keyword(&d, "multipleOf", "a multiple of ");
    add_range(&d, "minLength", "maxLength", " characters");
    add_range(&d, "minItems", "maxItems", " elements");
    add_keyword(&d, "format", "format ");
    add_keyword(&d, "pattern", "pattern ");
    add_reference(&d);
    if (!fallback)
        return;
    add_comma(&d);
    cli_text_puts(into, "default ");
    add_json(into, fallback);
}
