/* api/conforms.h - what is answered is what the protocol's own schemas say */
#ifndef TESTS_API_CONFORMS_H
#define TESTS_API_CONFORMS_H

#include <mcp/schema.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

/* The schema of a type, in the newest revision of an era. Skips the case if it is not at
 * hand. */
static inline mcp_schema *
conforms_schema(bool modern, const char *type)
{
    char path[64], text[128];
    const char *file_name;
    char *whole;
    mcp_schema_set *set;
    mcp_schema *schema = NULL;
    mcp_doc *doc, *ref;
    size_t len;
    FILE *file;

    snprintf(path, sizeof(path), "mcp-schema/%s.json",
             modern ? "2026-07-28" : "2025-11-25");
    file_name = test_data(path); /* or skips */
    whole = malloc(1 << 20);
    set = mcp_schema_set_new(NULL);
    file = fopen(file_name, "rb");
    assert_non_null(file);
    len = fread(whole, 1, 1 << 20, file);
    fclose(file);
    assert_int_equal(mcp_doc_parse(whole, len, NULL, &doc, NULL), 0);
    free(whole);
    assert_int_equal(mcp_schema_set_add(set, "urn:mcp", doc, NULL), 0);
    snprintf(text, sizeof(text), "{\"$ref\":\"urn:mcp#/$defs/%s\"}", type);
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &ref, NULL), 0);
    assert_int_equal(mcp_schema_compile(mcp_doc_root(ref),
                                        &MCP_SCHEMA_OPTIONS(.set = set), &schema, NULL),
                     0);
    mcp_doc_free(ref);
    mcp_doc_free(doc);
    mcp_schema_set_free(set);
    return schema;
}

/* First of all in a case: what is skipped later would leak. */
static inline void
conforms_or_skip(bool modern)
{
    mcp_schema_free(conforms_schema(modern, "Tool"));
}

/* The result in this line is of that type. */
static inline void
conforms(const char *line, bool modern, const char *type)
{
    mcp_schema *schema = conforms_schema(modern, type);
    mcp_error err = {0};
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(line, strlen(line), NULL, &doc, NULL), 0);
    if (mcp_schema_check(schema, mcp_json_get(mcp_doc_root(doc), "result"), NULL,
                         &err) < 0)
        fail_msg("%s: %s: %s", type, err.message, line);
    mcp_doc_free(doc);
    mcp_schema_free(schema);
}

#endif
