/*
 * schema.h - a compiled schema, as the schema_*.c files see it
 *
 * Each subschema becomes a node: which types it allows, and rules by the type they are
 * about, so that a check looks only at what can matter. All of it lives in one arena
 * and never changes after compiling, so checks share it without locks.
 *
 * Nodes and faults carry no paths. A value of a document lies inside its parent's range
 * of the array (see yy.h), so the path to it is found from the root when it is needed.
 */
#ifndef MCPI_JSON_SCHEMA_H
#define MCPI_JSON_SCHEMA_H

#include <mcp/schema.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "json/pattern.h"
#include "json/schema_arena.h"
#include "json/schema_format.h"
#include "json/schema_names.h"
#include "json/schema_number.h"
#include "json/yy.h"

/* ---- limits, each with its reason ------------------------------------------ */

/* Subschemas of all documents: the largest published schemas have some thousand. */
#define MCPI_SCHEMA_NODES_MAX 16384
/* Bytes of the schema's text: ten times the largest that tools are known to send. */
#define MCPI_SCHEMA_BYTES_MAX ((size_t)16 << 20)
/* Documents of one schema: a metaschema with its vocabularies is eight. */
#define MCPI_SCHEMA_DOCS_MAX 64
/* $id, $anchor and $dynamicAnchor: their map's seed is no secret, so a chain may be as
 * long as there are names. */
#define MCPI_SCHEMA_NAMES_MAX 4096
/* Bytes of a resolved URI: longer ones are nobody's name. */
#define MCPI_SCHEMA_URI_MAX 2048
/* Patterns of one schema, each of up to 64 KiB compiled. */
#define MCPI_SCHEMA_PATTERNS_MAX 1024
/* Subschemas inside one another while checking: bounds the stack, some 600 bytes
 * each. A document is at most 256 deep, so two for each of its levels. */
#define MCPI_SCHEMA_DEPTH_MAX 512
/* Steps of a check: some milliseconds for the smallest value, and a linear allowance:
 * what looks at each value a few dozen times is a large schema, not an attack. */
#define MCPI_SCHEMA_STEPS 1000000
#define MCPI_SCHEMA_STEPS_PER_VALUE 64
/* Bytes of a text that one step looks at: they take about as long as another step. */
#define MCPI_SCHEMA_STEP_BYTES 64
/* Values that references pass on their way to what they name, all together: those of a
 * chain through all of MCPI_SCHEMA_NODES_MAX definitions; a second or so. */
#define MCPI_SCHEMA_WALK_MAX ((uint64_t)1 << 27)
/* Bytes of a path in an error, which is 239 at most: the rest is for what is wrong. */
#define MCPI_SCHEMA_PATH_SHOWN 120

/* ---- types ----------------------------------------------------------------- */

enum {
    MCPI_TYPE_NULL = 1,
    MCPI_TYPE_BOOL = 2,
    MCPI_TYPE_INTEGER = 4, /* by its value: 1.0 too */
    MCPI_TYPE_REAL = 8,
    MCPI_TYPE_STRING = 16,
    MCPI_TYPE_ARRAY = 32,
    MCPI_TYPE_OBJECT = 64,
    MCPI_TYPE_NUMBER = MCPI_TYPE_INTEGER | MCPI_TYPE_REAL,
    MCPI_TYPE_ANY = 127
};

/* The one bit of a value. */
static inline unsigned
mcpi_schema_type(const yyjson_val *v)
{
    static const uint8_t bits[] = {
        [YYJSON_TYPE_NULL] = MCPI_TYPE_NULL,   [YYJSON_TYPE_BOOL] = MCPI_TYPE_BOOL,
        [YYJSON_TYPE_NUM] = MCPI_TYPE_INTEGER, [YYJSON_TYPE_STR] = MCPI_TYPE_STRING,
        [YYJSON_TYPE_ARR] = MCPI_TYPE_ARRAY,   [YYJSON_TYPE_OBJ] = MCPI_TYPE_OBJECT,
    };

    if (mcpi_yy_kind(v) == MCPI_YY_REAL && !mcpi_number_is_integer(v))
        return MCPI_TYPE_REAL;
    return bits[mcpi_yy_type(v)];
}

/* ---- nodes ----------------------------------------------------------------- */

struct mcpi_schema_node;

/* What a keyword with a list of subschemas holds. */
struct mcpi_schema_list {
    const struct mcpi_schema_node **nodes;
    size_t count;
};

#define MCPI_SCHEMA_NO_MAX UINT64_MAX

struct mcpi_schema_range {
    uint64_t min, max; /* MCPI_SCHEMA_NO_MAX: no maximum */
};

struct mcpi_schema_numbers {
    const yyjson_val *minimum, *maximum, *above, *below; /* NULL: not given */
    struct mcpi_decimal multiple;                        /* of 0 digits: not given */
};

struct mcpi_schema_strings {
    struct mcpi_schema_range length;
    const struct mcpi_pattern *pattern;
    mcpi_schema_format_fn *format;
    bool is_regex; /* the format that no function decides, because it takes memory */
    const char *format_name;
};

struct mcpi_schema_arrays {
    struct mcpi_schema_list prefix;
    const struct mcpi_schema_node *rest; /* for what the prefix leaves */
    const struct mcpi_schema_node *contains;
    const struct mcpi_schema_node *unevaluated;
    struct mcpi_schema_range count, contained;
    bool unique;
};

struct mcpi_schema_pattern_rule {
    const struct mcpi_pattern *pattern;
    const struct mcpi_schema_node *node;
};

/* If the object has the member `name`, it must have those and satisfy that. */
struct mcpi_schema_dependency {
    uint32_t name;
    const uint32_t *required; /* names */
    size_t required_count;
    const struct mcpi_schema_node *node; /* or NULL */
    const char *keyword;
};

/* All names that the keywords mention are in one table; what a check has seen is a bit
 * for each. */
struct mcpi_schema_objects {
    struct mcpi_names names;
    const struct mcpi_schema_node **nodes; /* of `properties`, by name; may be NULL */
    const uint64_t *required;              /* a bit for each name; NULL: none */
    struct mcpi_schema_pattern_rule *patterns;
    size_t pattern_count;
    struct mcpi_schema_dependency *dependencies;
    size_t dependency_count;
    const struct mcpi_schema_node *additional;
    const struct mcpi_schema_node *property_names;
    const struct mcpi_schema_node *unevaluated;
    struct mcpi_schema_range count;
};

struct mcpi_schema_choice {
    const yyjson_val *constant; /* NULL: no `const` */
    const yyjson_val *options;  /* the array of `enum`, or NULL */
    struct mcpi_names strings;  /* the options, if there are many and all are strings */
};

struct mcpi_schema_logic {
    const struct mcpi_schema_node *ref;
    const struct mcpi_schema_node *dynamic_ref; /* what it is in no other scope */
    const char *dynamic_name;                   /* NULL: like a plain reference */
    size_t dynamic_len;
    struct mcpi_schema_list all, any, one;
    const struct mcpi_schema_node *negated, *condition, *then, *otherwise;
};

struct mcpi_schema_dynamic {
    struct mcpi_schema_dynamic *next;
    const char *name;
    size_t len;
    const struct mcpi_schema_node *node;
};

/* The dialects, in the order of their age. */
enum mcpi_draft {
    MCPI_DRAFT_06,
    MCPI_DRAFT_07,
    MCPI_DRAFT_2019_09,
    MCPI_DRAFT_2020_12,
};

/* A schema with a URI of its own: a document's root or a subschema with $id. */
struct mcpi_schema_resource {
    const char *uri;
    size_t uri_len;
    const yyjson_val *root;
    unsigned vocabularies;
    enum mcpi_draft draft;
    struct mcpi_schema_dynamic *dynamics;
};

struct mcpi_schema_doc {
    struct mcpi_schema_doc *next;
    mcp_doc *doc;
    const char *uri; /* by which it was found; "" for a schema without any */
    const yyjson_val *root;
    uint32_t *nodes; /* 1 + index of the node at each value of the document, or 0 */
};

struct mcpi_schema_node {
    const yyjson_val *value;
    const struct mcpi_schema_doc *doc;
    struct mcpi_schema_resource *resource;
    const struct mcpi_schema_node *alias; /* it only refers to that, which is none */
    uint8_t types;                        /* allowed ones */
    uint8_t relevant; /* types that have more rules than being one */
    uint8_t plain;    /* types that are allowed and have no more */
    bool never;       /* the schema `false` */
    uint8_t visit;    /* while compiling: see circles */
    const struct mcpi_schema_numbers *numbers;
    const struct mcpi_schema_strings *strings;
    const struct mcpi_schema_arrays *arrays;
    const struct mcpi_schema_objects *objects;
    const struct mcpi_schema_choice *choice;
    struct mcpi_schema_logic *logic;
};

struct mcpi_schema_held_pattern {
    struct mcpi_schema_held_pattern *next;
    struct mcpi_pattern *pattern;
};

struct mcp_schema {
    atomic_uint refs;
    const mcp_allocator *mem;
    struct mcpi_arena arena;
    const struct mcpi_schema_node *root;
    struct mcpi_schema_doc *docs;
    struct mcpi_schema_held_pattern *patterns;
    uint64_t max_steps; /* 0: by the size of the value */
};

/* ---- paths ----------------------------------------------------------------- */

/* Append the JSON pointer from a document's root to a value in it; a key counts as its
 * object. */
void mcpi_schema_path(struct mcpi_buf *buf, const yyjson_val *root,
                      const yyjson_val *value);

/* Append one token of a JSON pointer, with its '/'. */
void mcpi_schema_path_token(struct mcpi_buf *buf, const char *text, size_t len);

/* The value a JSON pointer leads to, or NULL. The pointer is not percent-encoded.
 * *walked grows by the values passed on the way. */
const yyjson_val *mcpi_schema_path_find(const yyjson_val *root, const char *pointer,
                                        size_t len, uint64_t *walked);

#endif
