/* schema_dialect.c - what $schema says: which keywords have a meaning, and which one */
#include <string.h>

#include "json/schema_compile.h"
#include "json/schema_set.h"

#define MODERN "https://json-schema.org/draft/2020-12/"
#define OLDER "https://json-schema.org/draft/2019-09/"

/* Named in an error. */
#define SUPPORTED "2020-12, 2019-09, draft-07, draft-06"

static const struct {
    const char *uri;
    enum mcpi_draft draft;
    unsigned vocabularies;
} dialects[] = {
    {MODERN "schema", MCPI_DRAFT_2020_12, MCPI_VOCABULARY_ALL},
    {OLDER "schema", MCPI_DRAFT_2019_09, MCPI_VOCABULARY_ALL},
    {"http://json-schema.org/draft-07/schema", MCPI_DRAFT_07, MCPI_VOCABULARY_DRAFT_07},
    {"http://json-schema.org/draft-06/schema", MCPI_DRAFT_06, MCPI_VOCABULARY_DRAFT_07},
};

static const struct vocabulary {
    const char *uri;
    enum mcpi_draft draft;
    unsigned bits;
    bool if_required; /* it counts only where a metaschema requires it */
} vocabularies[] = {
    {MODERN "vocab/core", MCPI_DRAFT_2020_12, 0, false},
    {MODERN "vocab/applicator", MCPI_DRAFT_2020_12, MCPI_VOCABULARY_APPLICATOR, false},
    {MODERN "vocab/unevaluated", MCPI_DRAFT_2020_12, MCPI_VOCABULARY_UNEVALUATED,
     false},
    {MODERN "vocab/validation", MCPI_DRAFT_2020_12, MCPI_VOCABULARY_VALIDATION, false},
    {MODERN "vocab/meta-data", MCPI_DRAFT_2020_12, 0, false},
    {MODERN "vocab/format-annotation", MCPI_DRAFT_2020_12, 0, false},
    {MODERN "vocab/format-assertion", MCPI_DRAFT_2020_12, MCPI_VOCABULARY_FORMAT,
     false},
    {MODERN "vocab/content", MCPI_DRAFT_2020_12, 0, false},
    {OLDER "vocab/core", MCPI_DRAFT_2019_09, 0, false},
    {OLDER "vocab/applicator", MCPI_DRAFT_2019_09,
     MCPI_VOCABULARY_APPLICATOR | MCPI_VOCABULARY_UNEVALUATED, false},
    {OLDER "vocab/validation", MCPI_DRAFT_2019_09, MCPI_VOCABULARY_VALIDATION, false},
    {OLDER "vocab/meta-data", MCPI_DRAFT_2019_09, 0, false},
    {OLDER "vocab/format", MCPI_DRAFT_2019_09, MCPI_VOCABULARY_FORMAT, true},
    {OLDER "vocab/content", MCPI_DRAFT_2019_09, 0, false},
};

/* NULL: we do not know it. */
static const struct vocabulary *
vocabulary_find(const char *uri)
{
    for (size_t i = 0; i < sizeof(vocabularies) / sizeof(vocabularies[0]); i++) {
        if (strcmp(vocabularies[i].uri, uri) == 0)
            return &vocabularies[i];
    }
    return NULL;
}

static int
vocabularies_read(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
                  const mcp_json *object)
{
    mcp_json_iterator it;

    node->resource->vocabularies = 0;
    for (it = mcp_json_each(object); mcp_json_next(&it);) {
        const char *uri = mcp_json_string(it.key, "");
        const struct vocabulary *known = vocabulary_find(uri);
        bool is_required = mcp_json_bool(it.value, true);

        if (!known && is_required)
            return mcpi_schema_refuse(c, MCP_E_INVAL, node, "$schema",
                                      "requires the unknown vocabulary %s", uri);
        if (!known)
            continue;
        node->resource->draft = known->draft;
        if (is_required || !known->if_required)
            node->resource->vocabularies |= known->bits;
    }
    return 0;
}

/* One that we know by name, with an empty fragment or without; *uri may be NULL. */
static bool
dialect_find(struct mcpi_schema_resource *resource, const yyjson_val *uri)
{
    size_t len = uri && mcpi_yy_type(uri) == YYJSON_TYPE_STR ? mcpi_yy_len(uri) : 0;

    if (len > 0 && uri->uni.str[len - 1] == '#')
        len--;
    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
        if (strlen(dialects[i].uri) != len ||
            memcmp(dialects[i].uri, uri->uni.str, len) != 0)
            continue;
        resource->draft = dialects[i].draft;
        resource->vocabularies = dialects[i].vocabularies;
        return true;
    }
    return false;
}

int
mcpi_schema_dialect(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
                    const yyjson_val *uri)
{
    const mcp_json *metaschema, *vocabulary;
    size_t len = mcpi_yy_len(uri);
    bool is_known;

    if (mcpi_yy_type(uri) != YYJSON_TYPE_STR)
        return mcpi_schema_refuse(c, MCP_E_INVAL, node, "$schema", "must be a string");
    if (dialect_find(node->resource, uri))
        return 0;
    node->resource->draft = MCPI_DRAFT_2020_12; /* unless it says something else */
    if (len > 0 && uri->uni.str[len - 1] == '#')
        len--;
    metaschema = mcp_doc_root(mcpi_schema_set_find(c->set, uri->uni.str, len));
    /* one that names no vocabulary adds to the dialect it is written in */
    is_known = dialect_find(node->resource,
                            mcpi_yy(mcp_json_get(metaschema, "$schema")));
    vocabulary = mcp_json_get(metaschema, "$vocabulary");
    if (vocabulary)
        return vocabularies_read(c, node, vocabulary);
    if (is_known)
        return 0;
    return mcpi_schema_refuse(c, MCP_E_INVAL, node, "$schema",
                              "is not a supported dialect (" SUPPORTED "): %s",
                              uri->uni.str);
}
