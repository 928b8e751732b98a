/* wire/uri_rows.h - a table of templates, URIs and the variables they should give */
#ifndef TESTS_WIRE_URI_ROWS_H
#define TESTS_WIRE_URI_ROWS_H

#include <string.h>

#include "support/test.h"
#include "wire/uri_template.h"

static inline mcp_uri_template *
make(const char *text)
{
    mcp_uri_template *t = NULL;
    mcp_error err = {0};

    if (mcp_uri_template_new(text, NULL, &t, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return t;
}

/* The variables as text; NULL: no match. Freed with mcp_text_free. */
static inline char *
match(const char *text, const char *uri)
{
    mcp_uri_template *t = make(text);
    mcp_doc *doc = NULL;
    char *found = NULL;
    mcp_error err;

    if (mcp_uri_template_match(t, uri, strlen(uri), &doc, NULL, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    if (doc)
        assert_int_equal(mcp_json_print(mcp_doc_root(doc), false, NULL, &found, NULL),
                         0);
    mcp_doc_free(doc);
    mcp_uri_template_free(t);
    return found;
}

struct row {
    const char *text;
    const char *uri;
    const char *variables; /* with ' for "; NULL: no match */
};

static inline void
assert_row(const struct row *row)
{
    char *found = match(row->text, row->uri);

    for (char *c = found; c && *c; c++)
        *c = *c == '"' ? '\'' : *c;
    if (!found != !row->variables || (found && strcmp(found, row->variables) != 0))
        fail_msg("%s <- %s: %s", row->text, row->uri, found ? found : "no match");
    mcp_text_free(found, NULL);
}

#define ASSERT_ROWS(...)                                               \
    do {                                                               \
        static const struct row rows_[] = {__VA_ARGS__};               \
                                                                       \
        for (size_t i_ = 0; i_ < sizeof rows_ / sizeof rows_[0]; i_++) \
            assert_row(&rows_[i_]);                                    \
    } while (0)

#endif
