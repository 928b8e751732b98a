/* schema_dialect.c - what $schema says: which keywords have a meaning, and which one */
#include <string.h>

#include "json/schema_compile.h"
#include "json/schema_set.h"

#define DIALECT "https://json-schema.org/draft/2020-12/"

static const struct {
    const char *uri;
    unsigned vocabulary;
} vocabularies[] = {
    {DIALECT "vocab/core", 0},
    {DIALECT "vocab/applicator", MCPI_VOCABULARY_APPLICATOR},
    {DIALECT "vocab/unevaluated", MCPI_VOCABULARY_UNEVALUATED},
    {DIALECT "vocab/validation", MCPI_VOCABULARY_VALIDATION},
    {DIALECT "vocab/meta-data", 0},
    {DIALECT "vocab/format-annotation", 0},
    {DIALECT "vocab/format-assertion", MCPI_VOCABULARY_FORMAT},
    {DIALECT "vocab/content", 0},
};

/* The bits of a vocabulary; false: we do not know it. */
static bool
vocabulary_find(const char *uri, unsigned *ret_bits)
{
    for (size_t i = 0; i < sizeof(vocabularies) / sizeof(vocabularies[0]); i++) {
        if (strcmp(vocabularies[i].uri, uri) == 0) {
            *ret_bits = vocabularies[i].vocabulary;
            return true;
        }
    }
    return false;
}

static int
vocabularies_read(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
                  const mcp_json *object, unsigned *ret_bits)
{
    mcp_json_iterator it;
    unsigned bits;

    *ret_bits = 0;
    for (it = mcp_json_each(object); mcp_json_next(&it);) {
        const char *uri = mcp_json_string(it.key, "");

        if (vocabulary_find(uri, &bits))
            *ret_bits |= bits;
        else if (mcp_json_bool(it.value, true))
            return mcpi_schema_refuse(c, MCP_E_INVAL, node, "$schema",
                                      "requires the unknown vocabulary %s", uri);
    }
    return 0;
}

/* One of the two we know by name. */
static bool
dialect_find(struct mcpi_schema_resource *resource, const char *uri, size_t len)
{
    const char *const draft7 = "http://json-schema.org/draft-07/schema";
    const char *const modern = DIALECT "schema";

    resource->vocabularies = MCPI_VOCABULARY_ALL;
    resource->draft7 = len == strlen(draft7) && memcmp(uri, draft7, len) == 0;
    return resource->draft7 || (len == strlen(modern) && memcmp(uri, modern, len) == 0);
}

int
mcpi_schema_dialect(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
                    const yyjson_val *uri)
{
    size_t len = mcpi_yy_len(uri);
    const mcp_json *root, *vocabulary;
    const yyjson_val *declared = uri;

    if (mcpi_yy_type(uri) != YYJSON_TYPE_STR)
        return mcpi_schema_refuse(c, MCP_E_INVAL, node, "$schema", "must be a string");
    if (len > 0 && uri->uni.str[len - 1] == '#')
        len--;
    if (dialect_find(node->resource, uri->uni.str, len))
        return 0;
    root = mcp_doc_root(mcpi_schema_set_find(c->set, uri->uni.str, len));
    vocabulary = mcp_json_get(root, "$vocabulary");
    if (vocabulary)
        return vocabularies_read(c, node, vocabulary, &node->resource->vocabularies);
    /* a metaschema that names no vocabulary adds to the one it is written in */
    uri = mcpi_yy(mcp_json_get(root, "$schema"));
    if (uri && mcpi_yy_type(uri) == YYJSON_TYPE_STR) {
        len = mcpi_yy_len(uri);
        len -= len > 0 && uri->uni.str[len - 1] == '#';
        if (dialect_find(node->resource, uri->uni.str, len))
            return 0;
    }
    return mcpi_schema_refuse(c, MCP_E_INVAL, node, "$schema",
                              "is a dialect that is not supported: %s",
                              declared->uni.str);
}
