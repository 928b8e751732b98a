/*
 * schema_compile.h - what the files that compile share
 *
 *   schema_compile.c   the entry, references, circles
 *   schema_load.c      documents, $id and anchors, a node for each subschema
 *   schema_dialect.c   $schema and vocabularies
 *   schema_keyword.c   a node's rules from its keywords
 *   schema_object.c    of these, the ones about objects
 *   schema_read.c      what single keywords hold
 */
#ifndef MCPI_JSON_SCHEMA_COMPILE_H
#define MCPI_JSON_SCHEMA_COMPILE_H

#include "base/map.h"
#include "json/schema.h"

enum {
    MCPI_VOCABULARY_APPLICATOR = 1,
    MCPI_VOCABULARY_UNEVALUATED = 2,
    MCPI_VOCABULARY_VALIDATION = 4,
    MCPI_VOCABULARY_FORMAT = 8,   /* as assertion */
    MCPI_VOCABULARY_DRAFT_07 = 5, /* which has none by name */
    MCPI_VOCABULARY_ALL = 7       /* of the later standard dialects */
};

/* A reference to resolve when all of its document is known. */
struct mcpi_schema_pending {
    struct mcpi_schema_pending *next;
    struct mcpi_schema_node *node;
    const char *keyword; /* $ref, $dynamicRef, $recursiveRef */
    const yyjson_val *ref;
};

/* The name of a $recursiveAnchor among dynamic anchors; no $dynamicAnchor may begin so. */
#define MCPI_RECURSIVE_ANCHOR "$recursiveAnchor"

struct mcpi_schema_compiler {
    mcp_schema *schema;
    const mcp_schema_set *set;
    bool assert_formats;
    size_t max_nodes;
    size_t node_count;
    size_t node_room;
    struct mcpi_schema_node **nodes; /* by index; freed when compiled */
    size_t doc_count;
    size_t pattern_count;
    struct mcpi_map names; /* URI or URI#anchor to node */
    size_t name_count;
    struct mcpi_schema_pending *pending;
    uint64_t walked; /* values passed to find what references name */
    mcp_error *err;
};

/* Each returns 0 or a status, with the compiler's err set. */

/* What is wrong with a keyword of a node, or with the node if keyword is NULL: a
 * sentence that goes on from its path. Returns status. */
int mcpi_schema_refuse(struct mcpi_schema_compiler *c, int status,
                       const struct mcpi_schema_node *node, const char *keyword,
                       const char *format, ...) MCP_PRINTF(5, 6);
int mcpi_schema_no_memory(struct mcpi_schema_compiler *c);

/* Add a document and compile all of it. `like` is whose dialect it has unless it says
 * otherwise, or NULL. The document gets one more owner. */
int mcpi_schema_load(struct mcpi_schema_compiler *c, const char *uri, size_t uri_len,
                     mcp_doc *doc, const struct mcpi_schema_resource *like,
                     const struct mcpi_schema_node **ret_root);

/* The node of a subschema, compiled with all below it; made if there was none. */
int mcpi_schema_node(struct mcpi_schema_compiler *c, const struct mcpi_schema_node *in,
                     const yyjson_val *value, const struct mcpi_schema_node **ret_node);

/* Give the node's resource the dialect that its $schema says: one we know, or one whose
 * metaschema is registered. */
int mcpi_schema_dialect(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
                        const yyjson_val *uri);

/* A node by the name it has: its URI, or URI#anchor. NULL: none. */
struct mcpi_schema_node *mcpi_schema_named(const struct mcpi_schema_compiler *c,
                                           const char *name, size_t len);

/* The document a value is in, and the innermost node around it. */
struct mcpi_schema_node *mcpi_schema_around(struct mcpi_schema_compiler *c,
                                            const struct mcpi_schema_doc *doc,
                                            const yyjson_val *value);

/* Read the keywords of an object into a node's rules, and compile what they hold. */
int mcpi_schema_keywords(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node);

/* The part of it that is about objects. */
int mcpi_schema_objects(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node);

/* Compile a pattern, owned by the schema. */
int mcpi_schema_pattern(struct mcpi_schema_compiler *c,
                        const struct mcpi_schema_node *node, const char *keyword,
                        const yyjson_val *text, const struct mcpi_pattern **ret);

#endif
