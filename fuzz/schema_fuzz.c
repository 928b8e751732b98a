/*
 * schema_fuzz.c - [schema, value, ...]: whatever they are, compiling and checking end,
 * and say the same with a report as without
 */
#include <mcp/schema.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
expect(bool holds)
{
    if (!holds)
        abort();
}

static void
check_report(const mcp_schema_report *report)
{
    mcp_schema_fault fault;
    mcp_doc *doc = NULL;
    mcp_builder *b = mcp_builder_new(NULL);
    size_t len = 0;
    char *text;

    for (size_t i = 0; mcp_schema_report_get(report, i, &fault); i++)
        expect(mcpi_utf8_valid(fault.message, strlen(fault.message)));
    expect(mcp_schema_report_print(report, NULL, &text, &len) == 0);
    expect(mcpi_utf8_valid(text, len));
    mcp_text_free(text, NULL);
    mcp_schema_report_build(report, b, NULL);
    expect(mcp_builder_parse(b, &doc) == 0);
    expect(mcp_json_count(mcp_doc_root(doc)) == mcp_schema_report_count(report));
    mcp_doc_free(doc);
    mcp_builder_free(b);
}

static void
check_value(const mcp_schema *schema, const mcp_json *value)
{
    mcp_schema_report *report = mcp_schema_report_new(NULL, 4);
    int r = mcp_schema_check(schema, value, NULL, NULL);
    mcp_error err;

    expect(r == 0 || r == MCP_E_INVAL || r == MCP_E_LIMIT);
    expect(mcp_schema_check(schema, value, report, &err) == r);
    expect(mcp_schema_report_count(report) == 0 || r == MCP_E_INVAL);
    check_report(report);
    mcp_schema_report_free(report);
}

/* What has all its defaults gets no more of them. */
static void
check_defaults(const mcp_schema *schema, const mcp_json *value)
{
    mcp_doc *once = NULL, *twice = NULL;

    if (mcp_schema_apply_defaults(schema, value, &once, NULL) == 0 &&
        mcp_schema_apply_defaults(schema, mcp_doc_root(once), &twice, NULL) == 0)
        expect(mcp_json_equal(mcp_doc_root(once), mcp_doc_root(twice)));
    mcp_doc_free(once);
    mcp_doc_free(twice);
}

/* The second element may be referred to as urn:b, so that there are two documents. */
static mcp_schema_set *
set_of(const mcp_json *array)
{
    mcp_schema_set *set = mcp_schema_set_new(NULL);
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc = NULL;

    mcp_builder_value(b, NULL, mcp_json_at(array, 1));
    if (mcp_builder_parse(b, &doc) == 0)
        (void)mcp_schema_set_add(set, "urn:b", doc, NULL);
    mcp_doc_free(doc);
    mcp_builder_free(b);
    return set;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.assert_formats = true,
                                                .max_steps = 50000);
    mcp_schema *schema = NULL;
    mcp_schema_set *set;
    mcp_json_iterator it;
    const mcp_json *root;
    mcp_error err;
    mcp_doc *doc;

    if (mcp_doc_parse((const char *)data, size, NULL, &doc, NULL) < 0)
        return 0;
    root = mcp_doc_root(doc);
    set = set_of(root);
    opt.set = set;
    (void)mcp_schema_check_form(mcp_json_at(root, 0), &err);
    if (mcp_schema_compile(mcp_json_at(root, 0), &opt, &schema, &err) == 0) {
        for (it = mcp_json_each(root); mcp_json_next(&it);) {
            check_value(schema, it.value);
            check_defaults(schema, it.value);
        }
        mcp_schema_free(schema);
    } else {
        expect(mcpi_utf8_valid(err.message, strlen(err.message)) && err.message[0]);
    }
    mcp_schema_set_free(set);
    mcp_doc_free(doc);
    return 0;
}
