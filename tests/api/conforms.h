/* api/conforms.h - what is answered is what the schemas of the protocol say */
#ifndef TESTS_API_CONFORMS_H
#define TESTS_API_CONFORMS_H

#include <mcp/schema.h>
#include <stdio.h>
#include <string.h>

#include "support/data.h"
#include "support/test.h"

/* The schema of a type, out of the schemas of a revision in that file. */
static inline mcp_schema *
conforms_schema(const char *path, const char *type)
{
    mcp_schema_set *set = mcp_schema_set_new(NULL);
    mcp_doc *doc = data_read(path), *ref;
    mcp_schema *schema = NULL;
    char text[128];

    assert_non_null(doc);
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

static inline void
conforms_to(const char *path, const char *line, const char *type)
{
    mcp_schema *schema = conforms_schema(path, type);
    mcp_error err = {0};
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(line, strlen(line), NULL, &doc, NULL), 0);
    if (mcp_schema_check(schema, mcp_json_get(mcp_doc_root(doc), "result"), NULL,
                         &err) < 0)
        fail_msg("%s: %s: %s", type, err.message, line);
    mcp_doc_free(doc);
    mcp_schema_free(schema);
}

/* The result in this line is of that type, in the newest revision of an era: by our
 * schemas, and by the published ones where they are at hand. */
static inline void
conforms(const char *line, bool modern, const char *type)
{
    const char *revision = modern ? DATA_MODERN : DATA_LEGACY;
    char name[64];

    snprintf(name, sizeof(name), "schema/%s.json", revision);
    conforms_to(data_own(name), line, type);
    snprintf(name, sizeof(name), "mcp-schema/%s.json", revision);
    if (data_published(name))
        conforms_to(data_published(name), line, type);
}

#endif
