/* field_value.c - what was typed, as a JSON value of a type that the schema allows */
#include "cli/field.h"

#include <string.h>

struct reading {
    const mcp_json *root, *field;
    const char *text;
    size_t length;
    struct cli_text *into, *why;
};

static bool
text_is(const struct reading *r, const char *word)
{
    return r->length == strlen(word) && memcmp(r->text, word, r->length) == 0;
}

/* As it stands there, so that the digits of a number stay what they are. */
static bool
add_as_it_is(const struct reading *r)
{
    cli_text_add(r->into, r->text, r->length);
    return true;
}

bool
cli_field_quote(const char *text, size_t length, struct cli_text *into)
{
    mcp_builder *b = mcp_builder_new(NULL);
    const char *quoted;
    size_t n;

    mcp_builder_string_n(b, NULL, text, length);
    quoted = mcp_builder_text(b, &n);
    if (quoted)
        cli_text_add(into, quoted, n);
    mcp_builder_free(b);
    return quoted != NULL;
}

/* ---- choices -------------------------------------------------------------------- */

static bool
value_is_typed(const mcp_json *value, const struct reading *r, bool as_string)
{
    mcp_doc *doc = NULL;
    bool is_equal;

    if (mcp_json_get_type(value) == MCP_JSON_STRING)
        return as_string && mcp_json_string_length(value) == r->length &&
               memcmp(mcp_json_string(value, ""), r->text, r->length) == 0;
    if (as_string || mcp_doc_parse(r->text, r->length, NULL, &doc, NULL) < 0)
        return false;
    is_equal = mcp_json_equal(value, mcp_doc_root(doc));
    mcp_doc_free(doc);
    return is_equal;
}

/* One of those the schema lists; a string first, since that is what was typed. */
static bool
add_choice(const struct reading *r, unsigned types)
{
    struct cli_choice choices[CLI_CHOICES_MAX];
    size_t count = cli_field_choices(r->root, r->field, choices), length;
    char *text;

    if (types & CLI_TYPE_ARRAY)
        return false; /* these are choices for its elements */
    for (int as_string = 1; as_string >= 0; as_string--) {
        for (size_t i = 0; i < count; i++) {
            if (!value_is_typed(choices[i].value, r, as_string))
                continue;
            if (mcp_json_print(choices[i].value, false, NULL, &text, &length) < 0)
                return false;
            cli_text_add(r->into, text, length);
            mcp_text_free(text, NULL);
            return true;
        }
    }
    return false;
}

/* ---- types ---------------------------------------------------------------------- */

static bool
real_is_whole(double value)
{
    /* beyond 2^53 there are no fractions; a cast is safe below it */
    return value >= 9007199254740992.0 || value <= -9007199254740992.0 ||
           (double)(int64_t)value == value;
}

static bool
is_number(const struct reading *r, unsigned types)
{
    char first = r->length ? r->text[0] : '\0';
    char last = r->length ? r->text[r->length - 1] : '\0';
    mcp_doc *doc = NULL;
    bool fits;

    if (!(first == '-' || (first >= '0' && first <= '9')) || last < '0' || last > '9' ||
        mcp_doc_parse(r->text, r->length, NULL, &doc, NULL) < 0)
        return false;
    fits = (types & CLI_TYPE_NUMBER) ||
           mcp_json_get_type(mcp_doc_root(doc)) == MCP_JSON_INTEGER ||
           real_is_whole(mcp_json_number(mcp_doc_root(doc), 0.5));
    mcp_doc_free(doc);
    return fits;
}

/* Does the text begin as an object or array that is allowed? Those are JSON. */
static bool
is_container(const struct reading *r, unsigned types)
{
    char first = r->length ? r->text[0] : '\0';

    return (first == '{' && (types & CLI_TYPE_OBJECT)) ||
           (first == '[' && (types & CLI_TYPE_ARRAY));
}

static bool
container_is_json(const struct reading *r, mcp_error *err)
{
    mcp_doc *doc = NULL;
    bool is_json = mcp_doc_parse(r->text, r->length, NULL, &doc, err) == 0;

    mcp_doc_free(doc);
    return is_json;
}

/* As one of these types, none of which is a string. */
static bool
add_plain(const struct reading *r, unsigned types)
{
    if ((types & CLI_TYPE_NULL) && text_is(r, "null"))
        return add_as_it_is(r);
    if ((types & CLI_TYPE_BOOL) && (text_is(r, "true") || text_is(r, "false")))
        return add_as_it_is(r);
    if ((types & (CLI_TYPE_INTEGER | CLI_TYPE_NUMBER)) && is_number(r, types))
        return add_as_it_is(r);
    if (is_container(r, types) && container_is_json(r, NULL))
        return add_as_it_is(r);
    return false;
}

/* Values with commas between. */
static bool
add_elements(const struct reading *r)
{
    const mcp_json *items = cli_field_keyword(r->root, r->field, "items");
    const char *at = r->text, *end = r->text + r->length, *comma;
    size_t index = 0;

    cli_text_puts(r->into, "[");
    while (r->length > 0 && at <= end) {
        struct cli_text why = {0};
        bool ok;

        comma = memchr(at, ',', (size_t)(end - at));
        if (!comma)
            comma = end;
        if (index > 0)
            cli_text_puts(r->into, ",");
        ok = cli_field_read(r->root, items, at, (size_t)(comma - at), r->into, &why);
        if (!ok)
            cli_text_printf(r->why, "its element %zu %s", index + 1,
                            cli_text_string(&why));
        cli_text_done(&why);
        if (!ok)
            return false;
        at = comma + 1;
        index++;
    }
    cli_text_puts(r->into, "]");
    return true;
}

/* ---- what is wrong -------------------------------------------------------------- */

static void
explain(const struct reading *r, unsigned types)
{
    struct cli_text harmless = {0};
    mcp_error err;

    if (is_container(r, types) && !container_is_json(r, &err)) {
        cli_text_printf(r->why, "begins with %c but is not JSON: ", r->text[0]);
        cli_text_add_harmless(r->why, err.message, strlen(err.message), true);
        return;
    }
    if (types & CLI_TYPE_BOOL && !(types & ~(unsigned)(CLI_TYPE_BOOL | CLI_TYPE_NULL)))
        cli_text_puts(r->why, "must be true or false");
    else if (types & CLI_TYPE_NUMBER)
        cli_text_puts(r->why, "must be a number");
    else if (types & CLI_TYPE_INTEGER)
        cli_text_puts(r->why, "must be an integer");
    else if (types & CLI_TYPE_OBJECT)
        cli_text_puts(r->why, "must be an object in JSON, such as {\"name\":1}");
    else
        cli_text_puts(r->why,
                      types & CLI_TYPE_BOOL ? "must be true or false" : "must be null");
    if (types != CLI_TYPE_NULL && (types & CLI_TYPE_NULL))
        cli_text_puts(r->why, " or null");
    cli_text_add_harmless(&harmless, r->text, r->length, true);
    cli_text_puts(r->why, ", not \"");
    cli_text_add_cut(r->why, cli_text_string(&harmless), harmless.length, 40);
    cli_text_puts(r->why, "\"");
    cli_text_done(&harmless);
}

bool
cli_field_read(const mcp_json *root, const mcp_json *field, const char *text,
               size_t length, struct cli_text *into, struct cli_text *why)
{
    const struct reading r = {root, field, text, length, into, why};
    unsigned types = cli_field_types(root, field);

    if (add_choice(&r, types))
        return true;
    if (types != CLI_TYPE_ANY && add_plain(&r, types))
        return true;
    if (types & CLI_TYPE_STRING) {
        if (cli_field_quote(text, length, into))
            return true;
        cli_text_puts(why, "is not a text in UTF-8");
        return false;
    }
    if ((types & CLI_TYPE_ARRAY) && !is_container(&r, types))
        return add_elements(&r);
    explain(&r, types);
    return false;
}
