/* schema_fixture.h - schemas and values from literals, for the tests of schema_*.c */
#ifndef TESTS_JSON_SCHEMA_FIXTURE_H
#define TESTS_JSON_SCHEMA_FIXTURE_H

#include <mcp/schema.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

/* A document of a text; quotes may be written as '. */
static inline mcp_doc *
doc_of(const char *text)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.max_depth = 256);
    char *copy = strdup(text);
    mcp_doc *doc = NULL;
    mcp_error err;

    assert_non_null(copy);
    for (char *at = copy; *at; at++) {
        if (*at == '\'')
            *at = '"';
    }
    if (mcp_doc_parse(copy, strlen(copy), &opt, &doc, &err) < 0)
        fail_msg("%s: %s", copy, err.message);
    free(copy);
    return doc;
}

static inline int
compile_with(const char *text, const mcp_schema_options *opt, mcp_schema **ret,
             mcp_error *err)
{
    mcp_doc *doc = doc_of(text);
    int r = mcp_schema_compile(mcp_doc_root(doc), opt, ret, err);

    mcp_doc_free(doc);
    return r;
}

static inline mcp_schema *
schema_with(const char *text, const mcp_schema_options *opt)
{
    mcp_schema *schema = NULL;
    mcp_error err = {0};

    if (compile_with(text, opt, &schema, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return schema;
}

static inline mcp_schema *
schema_of(const char *text)
{
    return schema_with(text, NULL);
}

/* The status of compiling something that is no schema; the message must contain `says`. */
static inline int
refused(const char *text, const char *says)
{
    mcp_schema *schema = NULL;
    mcp_error err = {0};
    int r = compile_with(text, NULL, &schema, &err);

    assert_null(schema);
    if (r == 0 || !strstr(err.message, says))
        fail_msg("%s: %d %s", text, r, err.message);
    return r;
}

static inline int
check_text(const mcp_schema *schema, const char *value, mcp_schema_report *report,
           mcp_error *err)
{
    mcp_doc *doc = doc_of(value);
    int r = mcp_schema_check(schema, mcp_doc_root(doc), report, err);

    mcp_doc_free(doc);
    return r;
}

/* Compile, check each value of a JSON array, compare with the verdicts: "YNN". The
 * verdict must be the same with a report, which must not be empty after a no. */
static inline void
verdicts_with(const char *schema_text, const mcp_schema_options *opt,
              const char *values, const char *expected)
{
    mcp_schema *schema = schema_with(schema_text, opt);
    mcp_schema_report *report = mcp_schema_report_new(NULL, 0);
    mcp_doc *doc = doc_of(values);
    mcp_json_iterator it;
    size_t i = 0;

    assert_int_equal(mcp_json_count(mcp_doc_root(doc)), strlen(expected));
    for (it = mcp_json_each(mcp_doc_root(doc)); mcp_json_next(&it); i++) {
        int r = mcp_schema_check(schema, it.value, NULL, NULL);
        int again = mcp_schema_check(schema, it.value, report, NULL);

        if (r != (expected[i] == 'Y' ? 0 : MCP_E_INVAL) || r != again)
            fail_msg("%s: value %zu of %s: %d, %d", schema_text, i, values, r, again);
        assert_int_equal(mcp_schema_report_count(report) > 0, r < 0);
    }
    mcp_doc_free(doc);
    mcp_schema_report_free(report);
    mcp_schema_free(schema);
}

static inline void
verdicts(const char *schema, const char *values, const char *expected)
{
    verdicts_with(schema, NULL, values, expected);
}

/* The first fault, as "keyword instance-path schema-path message". */
static inline void
first_fault(const char *schema_text, const char *value, const char *expected)
{
    mcp_schema *schema = schema_of(schema_text);
    mcp_schema_report *report = mcp_schema_report_new(NULL, 0);
    mcp_schema_fault fault = {0};
    char text[1000];

    assert_int_equal(check_text(schema, value, report, NULL), MCP_E_INVAL);
    assert_true(mcp_schema_report_get(report, 0, &fault));
    snprintf(text, sizeof text, "%s %s %s %s", fault.keyword, fault.instance_path,
             fault.schema_path, fault.message);
    assert_string_equal(text, expected);
    mcp_schema_report_free(report);
    mcp_schema_free(schema);
}

#endif
