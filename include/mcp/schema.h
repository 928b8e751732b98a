/*
 * mcp/schema.h - JSON Schema: compile once, check many
 *
 * A schema from a stranger is compiled into an mcp_schema; any number of threads may
 * then check values with it. Schemas are of dialect 2020-12, or of 2019-09, draft-07 or
 * draft-06 if their $schema says so. Nothing is ever fetched: other documents,
 * metaschemas among them, are those in the caller's mcp_schema_set, and a reference to
 * anything else is an error when the schema is compiled.
 *
 *     r = mcp_schema_compile(schema_value, NULL, &schema, &err);
 *     ...
 *     r = mcp_schema_check(schema, value, NULL, &err);
 *     if (r == MCP_E_INVAL)
 *         answer(err.message);     "/city must be a string, not an integer"
 *
 * Compiling and checking end within limits whatever the schema and the value are; see
 * mcp_schema_options for those that can be set.
 */
#ifndef MCP_SCHEMA_H
#define MCP_SCHEMA_H

#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_schema mcp_schema;               /* compiled; counted, immutable */
typedef struct mcp_schema_set mcp_schema_set;       /* documents by URI */
typedef struct mcp_schema_report mcp_schema_report; /* what is wrong with a value */

/* ---- other documents ------------------------------------------------------- */

/* A new, empty set, or NULL for want of memory. allocator NULL: malloc. It may be
 * read by any number of threads that compile while nobody adds to it. */
MCP_API mcp_schema_set *mcp_schema_set_new(const mcp_allocator *allocator);
MCP_API void mcp_schema_set_free(mcp_schema_set *set);

/* Let schemas refer to this document by this URI, an absolute one without fragment, and
 * by its own $id. uri NULL: by its own $id only. The set is one more owner of the
 * document. It is not looked into before a schema refers to it.
 * MCP_E_INVAL: no URI at all, or another document has it; MCP_E_NOMEM. */
MCP_API int mcp_schema_set_add(mcp_schema_set *set, const char *uri, mcp_doc *doc,
                               mcp_error *err);

/* ---- compiling ------------------------------------------------------------- */

typedef struct mcp_schema_options {
    size_t size;
    const mcp_allocator *allocator; /* NULL: malloc. Borrowed for the schema's life */
    const mcp_schema_set *set; /* other documents, or NULL. Borrowed for the call */
    const char *base_uri;      /* what relative references are relative to, unless
                                       there is an $id; NULL: nothing */
    bool assert_formats;       /* `format` is a rule, and not only a remark */
    size_t max_subschemas;     /* in all documents together; 0: 16384 */
    uint64_t max_steps;        /* of one check: a value met by a subschema is one, and
                                       64 bytes of a text that is looked through;
                                       0: a million, and 64 for each value in the value */
} mcp_schema_options;

#define MCP_SCHEMA_OPTIONS(...) \
    ((mcp_schema_options){.size = sizeof(mcp_schema_options), __VA_ARGS__})

/* Compile a schema, an object or a boolean. It is copied; opt may be NULL. Documents
 * of the set that it refers to are compiled with it and kept. MCP_E_INVAL: not a
 * schema (a keyword of a wrong type, a bad pattern), an unknown dialect, an
 * unresolved reference, references that lead back to themselves; MCP_E_SYNTAX: a key
 * named twice; MCP_E_LIMIT: too large, or a pattern that is not supported; MCP_E_NOMEM.
 * err says what and where, "#/properties/city/type must be ...". [any]
 *
 * Patterns are those of ECMA-262, on Unicode, of up to 4096 bytes. Not supported: a
 * lookbehind of variable length, a repetition of more than 65535 times, half of a
 * surrogate pair, groups more than 250 deep, names of groups beyond 32 characters, and
 * what becomes larger than 64 KiB when compiled.
 *
 * Asserted formats: date-time date time duration email idn-email hostname ipv4 ipv6 uri
 * uri-reference iri iri-reference uuid uri-template json-pointer relative-json-pointer
 * regex. idn-email, iri and iri-reference may have any character beyond ASCII; what an
 * A-label of a hostname ("xn--...") stands for is not examined; a regex that is not
 * supported as a pattern conforms. All other formats are remarks, idn-hostname among
 * them, which would need the tables of IDNA 2008; so are contentEncoding,
 * contentMediaType, contentSchema. */
MCP_API int mcp_schema_compile(const mcp_json *schema, const mcp_schema_options *opt,
                               mcp_schema **ret_schema, mcp_error *err);

/* One more owner; returns schema. [any] */
MCP_API mcp_schema *mcp_schema_ref(mcp_schema *schema);

/* One owner less; the last one frees it. [any] */
MCP_API void mcp_schema_free(mcp_schema *schema);

/* ---- checking -------------------------------------------------------------- */

/* Does the value conform? 0: yes. MCP_E_INVAL: no (nor does NULL); err is the first
 * fault as a sentence, report has the first ones. MCP_E_LIMIT: not known within the
 * limits (steps, depth of 512 subschemas in each other, effort of patterns: one with
 * groups or several repeats gives up on strings of more than about 60 KB);
 * MCP_E_NOMEM. report and err may be NULL; a report is emptied first. [any] */
MCP_API int mcp_schema_check(const mcp_schema *schema, const mcp_json *value,
                             mcp_schema_report *report, mcp_error *err);

/* One fault. All texts are terminated and borrowed until the report is used again. */
typedef struct mcp_schema_fault {
    const char *instance_path; /* JSON pointer to the value at fault, "/where/0"; "" is
                                  the whole value */
    const char
        *schema_path;    /* where the keyword stands, "#/properties/where/items/type";
                                  its document's URI is before the '#' */
    const char *keyword; /* "type"; "false" where a schema is just false */
    const char *message; /* goes on from the path: "must be a string, not null" */
} mcp_schema_fault;

/* An empty report that keeps up to max_faults; 0: 16. NULL for want of memory.
 * allocator NULL: malloc. One thread at a time; may be used for any number of
 * checks. */
MCP_API mcp_schema_report *mcp_schema_report_new(const mcp_allocator *allocator,
                                                 size_t max_faults);
MCP_API void mcp_schema_report_free(mcp_schema_report *report);

/* How many faults are kept, and whether there may be more. NULL has none. */
MCP_API size_t mcp_schema_report_count(const mcp_schema_report *report);
MCP_API bool mcp_schema_report_is_cut(const mcp_schema_report *report);

/* The fault of that index; false if there is none. */
MCP_API bool mcp_schema_report_get(const mcp_schema_report *report, size_t index,
                                   mcp_schema_fault *ret_fault);

/* As text, a line for each fault, terminated; free with mcp_text_free and the same
 * allocator. */
MCP_API int mcp_schema_report_print(const mcp_schema_report *report,
                                    const mcp_allocator *allocator, char **ret_text,
                                    size_t *ret_length);

/* As JSON: writes an array of objects with instancePath, schemaPath, keyword, message.
 * */
MCP_API void mcp_schema_report_build(const mcp_schema_report *report, mcp_builder *b,
                                     const char *key);

/* ---- defaults and forms ---------------------------------------------------- */

/* A copy of the value with each missing member that has a `default` added, at any
 * depth; what `properties`, `patternProperties`, `additionalProperties`,
 * `prefixItems` and `items` say counts, behind $ref and allOf too, but not what only
 * an alternative (anyOf, oneOf, if) says. A value that is NULL is the schema's own
 * default. The result is not checked. MCP_E_INVAL: no value and no default;
 * MCP_E_LIMIT: too deep, too large, or too many schemas for one place; MCP_E_NOMEM.
 * [any] */
MCP_API int mcp_schema_apply_defaults(const mcp_schema *schema, const mcp_json *value,
                                      mcp_doc **ret_doc, mcp_error *err);

/* Does this schema lie in the subset that a form of elicitation/create may ask for:
 * a flat object of strings, numbers, booleans and enumerations? 0: yes; MCP_E_INVAL:
 * no, err says where and why. Keywords that JSON Schema does not have are let pass;
 * those it has and the subset has not are refused. `pattern`, which the 2025-11-25
 * text shows and its schema omits, is let pass. [any] */
MCP_API int mcp_schema_check_form(const mcp_json *schema, mcp_error *err);

#ifdef __cplusplus
}
#endif
#endif
