/*
 * uri_template_fuzz.c - what a template expands to it reads back, and expands again
 *
 * Input: a template, a URI and an object of variables, a line each.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/uri_template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
expect(bool holds)
{
    if (!holds)
        abort();
}

/* The next line, terminated; *text is what follows it. */
static char *
next_line(char **text)
{
    char *line = *text;
    char *end = strchr(line, '\n');

    if (end) {
        *end = '\0';
        *text = end + 1;
    } else {
        *text = line + strlen(line);
    }
    return line;
}

static bool
has_prefix(const mcp_uri_template *t)
{
    for (size_t i = 0; i < t->variable_count; i++) {
        if (t->variables[i].prefix)
            return true;
    }
    return false;
}

/* An empty {;a} is read with "=" as well as without, but written without: what follows
 * it must not be able to take the value instead. */
static bool
may_lose_value(const mcp_uri_template *t, size_t part)
{
    const struct mcpi_uri_part *next = &t->parts[part + 1];

    if (t->parts[part].form->mark != ';' || part + 1 == t->part_count)
        return false;
    if (next->form)
        return !next->form->first;
    return !mcpi_uri_is_reserved((unsigned char)next->text[0]) || next->text[0] == ',';
}

/* Whether every expansion has one reading, up to what writes the same URI: each name
 * once and whole, no reserved values, no separator that may stand in a value, and no
 * pairs beside those of any name. Literals do not cut characters. */
static bool
is_plain(const mcp_uri_template *t)
{
    bool has_pairs = false;

    if (has_prefix(t) || t->name_count < t->variable_count || strchr(t->text, '%'))
        return false;
    for (size_t i = 0; i < t->part_count; i++) {
        const struct mcpi_uri_part *part = &t->parts[i];

        if (!part->form)
            continue;
        if (part->form->is_reserved || part->form->mark == '.' ||
            (part->form->is_named && has_pairs) || may_lose_value(t, i))
            return false;
        has_pairs |= part->form->is_named;
        for (size_t j = part->first; j < part->first + part->count; j++) {
            if (t->variables[j].explode && part->form->is_named && part->count > 1)
                return false;
        }
    }
    for (const char *c = t->text; *c; c++) {
        if ((unsigned char)*c >= 0x80)
            return false;
    }
    return true;
}

/* Whether texts that are not empty can be read in one way only: what stands between two
 * expressions begins with what no value has. */
static bool
is_exact(const mcp_uri_template *t)
{
    for (size_t i = 0; i < t->part_count; i++) {
        const struct mcpi_uri_part *part = &t->parts[i];

        for (size_t j = part->first; j < part->first + part->count; j++) {
            if (t->variables[j].explode)
                return false;
        }
        if (i == 0 || (part->form && (part->form->first || !t->parts[i - 1].form)))
            continue;
        if (part->form || !mcpi_uri_is_reserved((unsigned char)part->text[0]) ||
            part->text[0] == ',')
            return false;
    }
    return is_plain(t);
}

static bool
are_texts(const mcp_uri_template *t, const mcp_json *variables)
{
    for (size_t i = 0; i < t->name_count; i++) {
        if (mcp_json_string_length(mcp_json_get(variables, t->names[i])) == 0)
            return false;
    }
    return true;
}

static void
expect_same(const mcp_uri_template *t, const mcp_json *found, const mcp_json *variables)
{
    for (size_t i = 0; i < t->name_count; i++)
        expect(mcp_json_equal(mcp_json_get(found, t->names[i]),
                              mcp_json_get(variables, t->names[i])));
}

static mcp_doc *
match(const mcp_uri_template *t, const char *uri, size_t len)
{
    size_t bound = (len + 1) * (2 * t->program.step_count + t->program.unit_count + 9);
    size_t missing = 0, steps = 0;
    mcp_doc *doc = NULL;

    expect(mcpi_uri_match(t, uri, len, &doc, &missing, &steps) == 0);
    expect(steps <= bound);
    expect(!doc || mcp_json_count(mcp_doc_root(doc)) + missing == t->name_count);
    return doc;
}

/* A URI that came from outside: its variables expand, and if the template is plain they
 * are read back as they were. */
static void
check_uri(const mcp_uri_template *t, const char *uri)
{
    mcp_doc *doc, *again;
    char *made = NULL;
    size_t len;

    if (strlen(uri) > MCP_URI_MATCH_LENGTH_MAX)
        return;
    doc = match(t, uri, strlen(uri));
    if (doc && !has_prefix(t)) {
        expect(mcp_uri_template_expand(t, mcp_doc_root(doc), NULL, &made, &len, NULL) ==
               0);
        again = len <= MCP_URI_MATCH_LENGTH_MAX ? match(t, made, len) : NULL;
        if (is_plain(t) && len <= MCP_URI_MATCH_LENGTH_MAX)
            expect(again && mcp_json_equal(mcp_doc_root(doc), mcp_doc_root(again)));
        mcp_doc_free(again);
        mcp_text_free(made, NULL);
    }
    mcp_doc_free(doc);
}

/* A key that is empty or has U+0000 in it is not read back. */
static bool
has_odd_key(const mcp_json *variables)
{
    mcp_json_iterator it, inner;

    for (it = mcp_json_each(variables); mcp_json_next(&it);) {
        for (inner = mcp_json_each(it.value); mcp_json_next(&inner);) {
            const char *key = mcp_json_string(inner.key, "x");

            if (!*key ||
                strlen(key) != (inner.key ? mcp_json_string_length(inner.key) : 1))
                return true;
        }
    }
    return false;
}

/* A URI that we made: a plain template reads variables that make it again. */
static void
check_variables(const mcp_uri_template *t, const mcp_json *variables)
{
    char *uri = NULL, *again = NULL;
    mcp_doc *doc;
    size_t len;

    if (mcp_uri_template_expand(t, variables, NULL, &uri, &len, NULL) < 0)
        return;
    if (len <= MCP_URI_MATCH_LENGTH_MAX && is_plain(t) && !has_odd_key(variables)) {
        doc = match(t, uri, len);
        expect(doc != NULL);
        expect(mcp_uri_template_expand(t, mcp_doc_root(doc), NULL, &again, NULL,
                                       NULL) == 0);
        expect(strcmp(uri, again) == 0);
        if (is_exact(t) && are_texts(t, variables))
            expect_same(t, mcp_doc_root(doc), variables);
        mcp_text_free(again, NULL);
        mcp_doc_free(doc);
    }
    mcp_text_free(uri, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_json_options unique = MCP_JSON_OPTIONS(.unique_keys = true);
    mcp_uri_template *t = NULL;
    mcp_doc *doc = NULL;
    char *copy = malloc(size + 1), *rest = copy, *line;
    mcp_error err = {0};

    expect(copy != NULL);
    memcpy(copy, data, size);
    copy[size] = '\0';
    line = next_line(&rest);
    if (mcp_uri_template_new(line, NULL, &t, &err) == 0) {
        check_uri(t, next_line(&rest));
        if (mcp_doc_parse(rest, strlen(rest), &unique, &doc, NULL) == 0)
            check_variables(t, mcp_doc_root(doc));
    } else {
        expect(err.status < 0 && err.message[0]);
    }
    mcp_doc_free(doc);
    mcp_uri_template_free(t);
    free(copy);
    return 0;
}
