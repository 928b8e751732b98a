/* uri_expand.c - a URI made of a template and variables, RFC 6570 section 3 */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/uri_template.h"
#include "json/value.h"

/* Where values come from: an object, or pairs. */
struct source {
    const mcp_json *object;
    const mcp_uri_pair *pairs;
};

struct value {
    const char *text; /* NULL: a list or map */
    size_t len;
    const mcp_json *items;
};

struct expansion {
    struct mcpi_buf out;
    struct mcpi_buf scratch; /* text of a number */
    const struct source *source;
    mcp_error *err;
};

static int
expansion_refuse(const struct expansion *x, const char *name, const char *why)
{
    return mcpi_error_set(x->err, MCP_E_INVAL, "variable '%s': %s", name, why);
}

/* ---- values ---------------------------------------------------------------- */

/* The text of a string, number or boolean; false: it is something else. Numbers are
 * written to the scratch, where the next one replaces them. */
static bool
scalar_read(struct expansion *x, const mcp_json *json, struct value *ret)
{
    enum mcp_json_type type = mcp_json_get_type(json);

    ret->items = NULL;
    if (type == MCP_JSON_STRING) {
        ret->text = mcp_json_string(json, "");
        ret->len = mcp_json_string_length(json);
        return true;
    }
    if (type != MCP_JSON_INTEGER && type != MCP_JSON_REAL && type != MCP_JSON_BOOL)
        return false;
    mcpi_buf_clear(&x->scratch);
    mcpi_json_write(&x->scratch, json);
    ret->text = x->scratch.data ? x->scratch.data : "";
    ret->len = x->scratch.len;
    if (x->scratch.status < 0)
        x->out.status = x->scratch.status;
    return true;
}

static bool
has_items(const mcp_json *json)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(json); mcp_json_next(&it);) {
        if (mcp_json_get_type(it.value) != MCP_JSON_NULL)
            return true;
    }
    return false;
}

static const char *
pair_find(const mcp_uri_pair *pairs, const char *name)
{
    for (; pairs && pairs->name; pairs++) {
        if (strcmp(pairs->name, name) == 0)
            return pairs->value;
    }
    return NULL;
}

/* 1: defined, 0: undefined. */
static int
value_find(struct expansion *x, const struct mcpi_uri_variable *variable,
           struct value *ret)
{
    const mcp_json *json = mcp_json_get(x->source->object, variable->name);

    ret->text = pair_find(x->source->pairs, variable->name);
    ret->items = NULL;
    if (ret->text) {
        ret->len = strlen(ret->text);
        return mcpi_utf8_valid(ret->text, ret->len)
                   ? 1
                   : expansion_refuse(x, variable->name, "a value that is not UTF-8");
    }
    if (!json || mcp_json_get_type(json) == MCP_JSON_NULL)
        return 0;
    if (scalar_read(x, json, ret))
        return 1;
    if (variable->prefix)
        return expansion_refuse(x, variable->name, "a prefix of a list or map");
    ret->items = json;
    return has_items(json) ? 1 : 0;
}

/* ---- text ------------------------------------------------------------------ */

static void
append_triplet(struct mcpi_buf *out, unsigned char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char triplet[3] = {'%', digits[c >> 4], digits[c & 15]};

    mcpi_buf_append(out, triplet, sizeof(triplet));
}

static void
append_encoded(struct mcpi_buf *out, const char *text, size_t len, bool is_reserved)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (mcpi_uri_is_unreserved(c) ||
            (is_reserved &&
             (mcpi_uri_is_reserved(c) || mcpi_uri_triplet(text + i, len - i) >= 0)))
            mcpi_buf_char(out, text[i]);
        else
            append_triplet(out, c);
    }
}

/* Bytes of the first characters; a triplet that is not encoded again counts as one. */
static size_t
prefix_length(const char *text, size_t len, unsigned characters, bool is_reserved)
{
    size_t at = 0;

    for (; characters > 0 && at < len; characters--) {
        if (is_reserved && mcpi_uri_triplet(text + at, len - at) >= 0)
            at += 2;
        at++;
        while (at < len && ((unsigned char)text[at] & 0xC0) == 0x80)
            at++;
    }
    return at;
}

static void
append_literal(struct mcpi_buf *out, const char *text, size_t len)
{
    append_encoded(out, text, len, true); /* what may stand in a URI, stands */
}

static void
append_equals(struct mcpi_buf *out, const struct mcpi_uri_operator *form, bool is_empty)
{
    if (!is_empty || form->equals_if_empty)
        mcpi_buf_char(out, '=');
}

/* ---- lists and maps -------------------------------------------------------- */

/* The next item that is there: 1, with its text; 0: no more. */
static int
item_next(struct expansion *x, const struct mcpi_uri_variable *variable,
          mcp_json_iterator *it, struct value *ret_item)
{
    while (mcp_json_next(it)) {
        if (mcp_json_get_type(it->value) == MCP_JSON_NULL)
            continue;
        if (!scalar_read(x, it->value, ret_item))
            return expansion_refuse(x, variable->name, "a list in a list or map");
        return 1;
    }
    return 0;
}

static void
append_key(struct mcpi_buf *out, const struct mcpi_uri_operator *form,
           const mcp_json *key)
{
    append_encoded(out, mcp_json_string(key, ""), mcp_json_string_length(key),
                   form->is_reserved);
}

/* red,green or semi,%3B,dot,. */
static int
append_joined(struct expansion *x, const struct mcpi_uri_operator *form,
              const struct mcpi_uri_variable *variable, const mcp_json *items)
{
    mcp_json_iterator it = mcp_json_each(items);
    bool is_first = true;
    struct value item;
    int r;

    for (r = item_next(x, variable, &it, &item); r > 0;
         r = item_next(x, variable, &it, &item)) {
        if (!is_first)
            mcpi_buf_char(&x->out, ',');
        is_first = false;
        if (it.key) {
            append_key(&x->out, form, it.key);
            mcpi_buf_char(&x->out, ',');
        }
        append_encoded(&x->out, item.text, item.len, form->is_reserved);
    }
    return r;
}

/* list=red&list=green, red,green, or semi=%3B&dot=. */
static int
append_exploded(struct expansion *x, const struct mcpi_uri_operator *form,
                const struct mcpi_uri_variable *variable, const mcp_json *items)
{
    mcp_json_iterator it = mcp_json_each(items);
    bool is_first = true;
    struct value item;
    int r;

    for (r = item_next(x, variable, &it, &item); r > 0;
         r = item_next(x, variable, &it, &item)) {
        if (!is_first)
            mcpi_buf_char(&x->out, form->separator);
        is_first = false;
        if (it.key)
            append_key(&x->out, form, it.key);
        else if (form->is_named)
            mcpi_buf_text(&x->out, variable->name);
        if (form->is_named)
            append_equals(&x->out, form, item.len == 0);
        else if (it.key)
            mcpi_buf_char(&x->out, '=');
        append_encoded(&x->out, item.text, item.len, form->is_reserved);
    }
    return r;
}

/* ---- the whole ------------------------------------------------------------- */

static int
append_value(struct expansion *x, const struct mcpi_uri_operator *form,
             const struct mcpi_uri_variable *variable, struct value *value)
{
    if (value->items && variable->explode)
        return append_exploded(x, form, variable, value->items);
    if (form->is_named) {
        mcpi_buf_text(&x->out, variable->name);
        append_equals(&x->out, form, !value->items && value->len == 0);
    }
    if (value->items)
        return append_joined(x, form, variable, value->items);
    if (variable->prefix)
        value->len = prefix_length(value->text, value->len, variable->prefix,
                                   form->is_reserved);
    append_encoded(&x->out, value->text, value->len, form->is_reserved);
    return 0;
}

static int
append_expression(struct expansion *x, const mcp_uri_template *t,
                  const struct mcpi_uri_part *part)
{
    const struct mcpi_uri_operator *form = part->form;
    bool is_first = true;

    for (size_t i = part->first; i < part->first + part->count; i++) {
        struct value value = {0};
        int r = value_find(x, &t->variables[i], &value);

        if (r < 0)
            return r;
        if (r == 0)
            continue;
        if (!is_first)
            mcpi_buf_char(&x->out, form->separator);
        else if (form->first)
            mcpi_buf_char(&x->out, form->first);
        is_first = false;
        r = append_value(x, form, &t->variables[i], &value);
        if (r < 0)
            return r;
    }
    return 0;
}

static int
expansion_run(struct expansion *x, const mcp_uri_template *t)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < t->part_count; i++) {
        if (t->parts[i].form)
            r = append_expression(x, t, &t->parts[i]);
        else
            append_literal(&x->out, t->parts[i].text, t->parts[i].len);
    }
    mcpi_buf_append(&x->out, "", 1);
    if (r == 0 && x->out.status == MCP_E_LIMIT)
        return mcpi_error_set(x->err, MCP_E_LIMIT, "a URI longer than %d bytes",
                              MCP_URI_LENGTH_MAX);
    if (r == 0 && x->out.status < 0)
        r = mcpi_error_set(x->err, x->out.status, "%s", mcp_status_text(x->out.status));
    return r;
}

static int
template_expand(const mcp_uri_template *t, const struct source *source,
                const mcp_allocator *allocator, char **ret_uri, size_t *ret_length,
                mcp_error *err)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(allocator);
    struct expansion x = {.source = source, .err = err};
    int r;

    if (!t || !ret_uri)
        return mcpi_error_set(err, MCP_E_INVAL,
                              "no template, or nowhere to put the URI");
    mcpi_buf_init(&x.out, mem, MCP_URI_LENGTH_MAX + 1);
    mcpi_buf_init(&x.scratch, mem, MCP_URI_LENGTH_MAX);
    r = expansion_run(&x, t);
    if (r == 0) {
        *ret_uri = x.out.data;
        if (ret_length)
            *ret_length = x.out.len - 1;
    } else {
        mcpi_buf_done(&x.out);
    }
    mcpi_buf_done(&x.scratch);
    return r;
}

int
mcp_uri_template_expand(const mcp_uri_template *t, const mcp_json *variables,
                        const mcp_allocator *allocator, char **ret_uri,
                        size_t *ret_length, mcp_error *err)
{
    const struct source source = {.object = variables};

    if (variables && mcp_json_get_type(variables) != MCP_JSON_OBJECT)
        return mcpi_error_set(err, MCP_E_INVAL, "variables that are no object");
    return template_expand(t, &source, allocator, ret_uri, ret_length, err);
}

int
mcp_uri_template_expand_pairs(const mcp_uri_template *t, const mcp_uri_pair *pairs,
                              const mcp_allocator *allocator, char **ret_uri,
                              size_t *ret_length, mcp_error *err)
{
    const struct source source = {.pairs = pairs};

    return template_expand(t, &source, allocator, ret_uri, ret_length, err);
}
