/*
 * mcp/json.h - JSON values: reading what came, building what goes
 *
 * Two nouns. A value that is read (`const mcp_json *`) is immutable and borrowed from
 * the document it was parsed into; the document is counted, and any thread may read it.
 * Every reader accepts NULL and answers "not there", so a chain needs one check at its
 * end:
 *
 *     city = mcp_json_string(mcp_json_get(mcp_json_get(args, "where"), "city"), NULL);
 *
 * A value that is built is written front to back with an mcp_builder. Its failure is
 * sticky: write everything, look once.
 *
 *     mcp_builder_begin_object(b, NULL);
 *     mcp_builder_string(b, "name", name);
 *     mcp_builder_int(b, "limit", 10);
 *     mcp_builder_end(b);
 *     r = mcp_builder_status(b);
 *
 * Integers are exact over int64 and uint64 and never pass through a double. Text is
 * strict UTF-8; a string may contain U+0000, so strings have a length.
 */
#ifndef MCP_JSON_H
#define MCP_JSON_H

#include <mcp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_json mcp_json;       /* a value, borrowed from its document */
typedef struct mcp_doc mcp_doc;         /* a parsed text; counted, immutable */
typedef struct mcp_builder mcp_builder; /* a text under construction; one thread */

enum mcp_json_type {
    MCP_JSON_ABSENT = 0, /* NULL was asked */
    MCP_JSON_NULL,
    MCP_JSON_BOOL,
    MCP_JSON_INTEGER, /* written without fraction or exponent, in int64 or uint64 */
    MCP_JSON_REAL,    /* any other number */
    MCP_JSON_STRING,
    MCP_JSON_ARRAY,
    MCP_JSON_OBJECT
};

/* ---- documents ------------------------------------------------------------- */

typedef struct mcp_json_options {
    size_t size;
    const mcp_allocator *allocator; /* NULL: malloc. Borrowed for the document's life */
    size_t max_bytes;               /* longest text; 0: 64 MiB */
    size_t max_depth;               /* deepest nesting; 0: 128, at most 256 */
    bool unique_keys;               /* refuse any object that names a key twice */
} mcp_json_options;

#define MCP_JSON_OPTIONS(...) \
    ((mcp_json_options){.size = sizeof(mcp_json_options), __VA_ARGS__})

/* Parse one JSON text. The text is copied; opt may be NULL.
 * MCP_E_SYNTAX: not JSON, not UTF-8, or a key named twice; MCP_E_LIMIT: too long or too
 * deep; MCP_E_NOMEM; MCP_E_INVAL. err says where. [any] */
MCP_API int mcp_doc_parse(const char *text, size_t length, const mcp_json_options *opt,
                          mcp_doc **ret_doc, mcp_error *err);

/* One more owner; returns doc. [any] */
MCP_API mcp_doc *mcp_doc_ref(mcp_doc *doc);

/* One owner less; the last one frees it and all values in it. [any] */
MCP_API void mcp_doc_free(mcp_doc *doc);

/* The outermost value; borrowed until the document is freed. NULL for NULL. [any] */
MCP_API const mcp_json *mcp_doc_root(const mcp_doc *doc);

/* ---- reading; all [any], all accept NULL ----------------------------------- */

MCP_API enum mcp_json_type mcp_json_get_type(const mcp_json *value);

/* A member of an object by key, or NULL. If a key stands there twice: the first. */
MCP_API const mcp_json *mcp_json_get(const mcp_json *object, const char *key);
MCP_API const mcp_json *mcp_json_get_n(const mcp_json *object, const char *key,
                                       size_t length);

/* An element of an array, or NULL. Walking with an iterator is faster. */
MCP_API const mcp_json *mcp_json_at(const mcp_json *array, size_t index);

/* The first object in an array whose member `key` is exactly this string, or NULL: a tool
 * of a list by its "name", a resource by its "uri". */
MCP_API const mcp_json *mcp_json_find(const mcp_json *array, const char *key,
                                      const char *text);

/* Elements of an array or members of an object; 0 for all else. */
MCP_API size_t mcp_json_count(const mcp_json *value);

/* The value in C, or the fallback if it is something else. mcp_json_number takes
 * integers too, rounded where a double cannot hold them. */
MCP_API bool mcp_json_bool(const mcp_json *value, bool fallback);
MCP_API double mcp_json_number(const mcp_json *value, double fallback);
MCP_API int64_t mcp_json_int(const mcp_json *value, int64_t fallback);

/* Terminated text of a string, or the fallback; the length counts any U+0000 inside. */
MCP_API const char *mcp_json_string(const mcp_json *value, const char *fallback);
MCP_API size_t mcp_json_string_length(const mcp_json *value);

/* True if the value is exactly this string. */
MCP_API bool mcp_json_is_string(const mcp_json *value, const char *text);

/* Exact integers: MCP_E_INVAL if the value is no integer or does not fit. */
MCP_API int mcp_json_to_int64(const mcp_json *value, int64_t *ret_number);
MCP_API int mcp_json_to_uint64(const mcp_json *value, uint64_t *ret_number);

/* Same value: numbers by their mathematical value, objects whatever their order. NULL
 * is equal to NULL only. Large objects in different orders are sorted in memory from
 * malloc; without it the answer is as right, and slower. */
MCP_API bool mcp_json_equal(const mcp_json *a, const mcp_json *b);

/* Walk an array or object:
 *     for (it = mcp_json_each(v); mcp_json_next(&it);) use(it.key, it.value);
 * key is NULL in arrays. Fields are valid between calls of mcp_json_next. */
typedef struct mcp_json_iterator {
    const mcp_json *key;
    const mcp_json *value;
    size_t index;
    size_t count;
    const void *cursor;
} mcp_json_iterator;

MCP_API mcp_json_iterator mcp_json_each(const mcp_json *value);
MCP_API bool mcp_json_next(mcp_json_iterator *it);

/* ---- building; one builder on one thread at a time ------------------------- */

/* A new, empty builder, or NULL for want of memory. NULL may be written to like any
 * builder: its status is MCP_E_NOMEM. allocator NULL: malloc. */
MCP_API mcp_builder *mcp_builder_new(const mcp_allocator *allocator);
MCP_API void mcp_builder_free(mcp_builder *b);

/* Every function below writes one value: as member `key` of the open object, or,
 * with key NULL, as element of the open array or as the outermost value. After the
 * first failure all are no-ops. Misuse (a key in an array, none in an object, a
 * second outermost value, text that is not UTF-8 or is NULL, a number that is not
 * finite) is MCP_E_INVAL; more than 128 open containers or 256 MiB are MCP_E_LIMIT.
 * Keys are not compared with one another. */
MCP_API void mcp_builder_begin_object(mcp_builder *b, const char *key);
MCP_API void mcp_builder_begin_array(mcp_builder *b, const char *key);
MCP_API void mcp_builder_end(mcp_builder *b);
MCP_API void mcp_builder_null(mcp_builder *b, const char *key);
MCP_API void mcp_builder_bool(mcp_builder *b, const char *key, bool value);
MCP_API void mcp_builder_int(mcp_builder *b, const char *key, int64_t value);
MCP_API void mcp_builder_uint(mcp_builder *b, const char *key, uint64_t value);
MCP_API void mcp_builder_real(mcp_builder *b, const char *key, double value);
MCP_API void mcp_builder_string(mcp_builder *b, const char *key, const char *text);
MCP_API void mcp_builder_string_n(mcp_builder *b, const char *key, const char *text,
                                  size_t length);
/* A copy of a value that was read; NULL writes null. */
MCP_API void mcp_builder_value(mcp_builder *b, const char *key, const mcp_json *value);

/* 0 when one whole value stands there; MCP_E_STATE while something is open or
 * nothing was written; else the first failure. */
MCP_API int mcp_builder_status(const mcp_builder *b);

/* The finished text, terminated; borrowed until the builder is next used. NULL unless
 * mcp_builder_status is 0. */
MCP_API const char *mcp_builder_text(const mcp_builder *b, size_t *ret_length);

/* Read back what was built, as a document of its own. */
MCP_API int mcp_builder_parse(const mcp_builder *b, mcp_doc **ret_doc);

/* Empty it and forget its failure, keeping its memory. */
MCP_API void mcp_builder_reset(mcp_builder *b);

/* ---- printing -------------------------------------------------------------- */

/* A value as text, one line, or indented by two spaces if pretty. *ret_text is
 * terminated and freed with mcp_text_free and the same allocator. */
MCP_API int mcp_json_print(const mcp_json *value, bool pretty,
                           const mcp_allocator *allocator, char **ret_text,
                           size_t *ret_length);
MCP_API void mcp_text_free(char *text, const mcp_allocator *allocator);

#ifdef __cplusplus
}
#endif
#endif
