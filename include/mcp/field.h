/*
 * mcp/field.h - one table for a struct: its JSON Schema, the check, and both ways
 *
 * A struct is described once, by a constant table of its members:
 *
 *     struct search_args { const char *query; int64_t limit; bool has_limit; };
 *
 *     static const mcp_field search_fields[] = {
 *         MCP_FIELD(struct search_args, query, MCP_STRING, MCP_REQUIRED,
 *                   "words to look for"),
 *         MCP_FIELD_WITH(struct search_args, limit, MCP_INT, 0, "most results",
 *                        MCP_MINIMUM(1), MCP_MAXIMUM(100), MCP_DEFAULT_INT(10),
 *                        MCP_PRESENT(struct search_args, has_limit)),
 *         {0},
 *     };
 *
 * and made ready once, which finds every mistake in the table:
 *
 *     r = mcp_fields_new(search_fields, NULL, &fields, &err);
 *
 * From then on it writes the struct's schema, checks what strangers send with an error
 * like "/limit: expected an integer from 1 to 100, found 250", decodes it into the
 * struct, and writes the struct as JSON. Made ready, it is constant: any number of
 * threads may use it at the same time.
 *
 * What members are in C (a table that says otherwise is refused where that shows):
 *
 *     MCP_STRING   const char *      terminated. A string with U+0000 in it is refused,
 *                                    unless MCP_LENGTH names a size_t for its bytes
 *     MCP_INT      int8_t .. int64_t,    1.0 is an integer, as JSON Schema has it; what
 *     MCP_UINT     uint8_t .. uint64_t   does not fit the member is refused
 *     MCP_NUMBER   double
 *     MCP_BOOL     bool
 *     MCP_ENUM     int or enum       one of .names
 *     MCP_STRUCT   struct            described by .fields
 *     MCP_ARRAY    pointer to items, and a size_t with their number; see below
 *     MCP_JSON     const mcp_json *  any value, as it came
 */
#ifndef MCP_FIELD_H
#define MCP_FIELD_H

#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mcp_field_type {
    MCP_NO_TYPE = 0,
    MCP_STRING,
    MCP_INT,
    MCP_UINT,
    MCP_NUMBER,
    MCP_BOOL,
    MCP_ENUM,
    MCP_STRUCT,
    MCP_ARRAY,
    MCP_JSON
};

enum mcp_field_flags {
    MCP_REQUIRED = 1 /* the member must be there */
};

/* A name in JSON and its number in C. A table of them ends with {0}. */
typedef struct mcp_enum_name {
    const char *name;
    int value;
} mcp_enum_name;

/* A bound or a default; written with the macros below. */
typedef struct mcp_constant {
    enum mcp_field_type type; /* MCP_NO_TYPE: none */
    int64_t integer;
    double number;
    const char *string;
} mcp_constant;

/*
 * One member of a struct. Written with the macros below; members not named are zero,
 * and zero means "none". A table ends with {0}.
 */
typedef struct mcp_field {
    const char *name; /* of the member, in C and in JSON ... */
    const char *as;   /* ... unless this is its name in JSON */
    enum mcp_field_type type;
    unsigned flags; /* mcp_field_flags */
    size_t offset;
    size_t size;
    const char *title;
    const char *description;

    size_t present; /* MCP_PRESENT: a bool, true if the member was there */
    size_t length;  /* MCP_LENGTH: a size_t, the bytes of a string */
    size_t count;   /* a size_t, the items of an array */

    enum mcp_field_type items; /* of an array; any type but MCP_ARRAY */
    size_t item_size;
    const struct mcp_field *fields; /* of a struct */
    const mcp_enum_name *names;     /* of an enum */

    mcp_constant minimum; /* of a number or integer, inclusive */
    mcp_constant maximum;
    size_t min_length;      /* of a string, in characters (code points) */
    size_t max_length;      /* 0: any */
    size_t min_items;       /* of an array */
    size_t max_items;       /* 0: any */
    const char *pattern;    /* found in a string; write ^ and $ to mean all of it */
    mcp_constant otherwise; /* MCP_DEFAULT_*: what an absent member is taken for */

    /* `x-mcp-header`: the member's value is also sent as HTTP header Mcp-Param-<this>.
     * Letters, digits and !#$%&'*+-.^_`|~ only; no two in one schema that differ in
     * case alone; on strings, enums, integers and booleans that are no item of an
     * array, nor in one. Integers then stay within plus or minus 2^53 - 1. */
    const char *header;
} mcp_field;

#define MCP_FIELD_HEAD(struct_, member_, type_, flags_, description_)              \
    .name = #member_, .type = (type_), .flags = (flags_),                          \
    .offset = offsetof(struct_, member_), .size = sizeof(((struct_ *)0)->member_), \
    .description = (description_)

/* A member, the plain form: MCP_FIELD(struct, member, type, flags, description). */
#define MCP_FIELD(struct_, member_, type_, flags_, description_)      \
    {                                                                 \
        MCP_FIELD_HEAD(struct_, member_, type_, flags_, description_) \
    }

/* The same with attributes: `.title = "Limit"`, `.as = "most"`, MCP_MINIMUM(1). */
#define MCP_FIELD_WITH(struct_, member_, type_, flags_, description_, ...)         \
    {                                                                              \
        MCP_FIELD_HEAD(struct_, member_, type_, flags_, description_), __VA_ARGS__ \
    }

/* An array: `member` points to the items, `count` is a size_t. Of the attributes,
 * min_items and max_items are about the array; names, fields, bounds, lengths and the
 * pattern are about each item. An absent array has no items. */
#define MCP_FIELD_ARRAY_HEAD(struct_, member_, count_, items_, flags_, description_) \
    MCP_FIELD_HEAD(struct_, member_, MCP_ARRAY, flags_, description_),               \
        .items = (items_), .item_size = sizeof(*((struct_ *)0)->member_),            \
        .count = MCP_FIELD_AT(struct_, count_, size_t)

#define MCP_FIELD_ARRAY(struct_, member_, count_, items_, flags_, description_)      \
    {                                                                                \
        MCP_FIELD_ARRAY_HEAD(struct_, member_, count_, items_, flags_, description_) \
    }

#define MCP_FIELD_ARRAY_WITH(struct_, member_, count_, items_, flags_, description_,  \
                             ...)                                                     \
    {                                                                                 \
        MCP_FIELD_ARRAY_HEAD(struct_, member_, count_, items_, flags_, description_), \
            __VA_ARGS__                                                               \
    }

/* Where a companion member is, plus one; a member of another size does not compile. */
#define MCP_FIELD_AT(struct_, member_, type_) \
    (offsetof(struct_, member_) +             \
     sizeof(char[sizeof(((struct_ *)0)->member_) == sizeof(type_) ? 1 : -1]))

/* clang-format off */
#define MCP_PRESENT(struct_, member_) .present = MCP_FIELD_AT(struct_, member_, bool)
#define MCP_LENGTH(struct_, member_) .length = MCP_FIELD_AT(struct_, member_, size_t)

#define MCP_MINIMUM(integer_) .minimum = {MCP_INT, (integer_), 0, NULL}
#define MCP_MAXIMUM(integer_) .maximum = {MCP_INT, (integer_), 0, NULL}
#define MCP_MINIMUM_REAL(number_) .minimum = {MCP_NUMBER, 0, (number_), NULL}
#define MCP_MAXIMUM_REAL(number_) .maximum = {MCP_NUMBER, 0, (number_), NULL}

/* Defaults; that of an enum is a string, one of its names. Not for required members,
 * arrays, structs or raw JSON. */
#define MCP_DEFAULT_INT(integer_) .otherwise = {MCP_INT, (integer_), 0, NULL}
#define MCP_DEFAULT_NUMBER(number_) .otherwise = {MCP_NUMBER, 0, (number_), NULL}
#define MCP_DEFAULT_BOOL(bool_) .otherwise = {MCP_BOOL, (bool_), 0, NULL}
#define MCP_DEFAULT_STRING(string_) .otherwise = {MCP_STRING, 0, 0, (string_)}
/* clang-format on */

/* ---- making a table ready -------------------------------------------------- */

typedef struct mcp_fields mcp_fields;

/* Members of one table, those of nested structs included each time they are nested:
 * what a person writes is far below, and a table that leads back to itself is found. */
#define MCP_FIELDS_MAX 1024
#define MCP_FIELDS_DEPTH_MAX 16

typedef struct mcp_fields_options {
    size_t size;
    const mcp_allocator *allocator; /* NULL: malloc. Also for what is decoded */
    bool closed;      /* refuse members the table does not name; see below */
    size_t max_bytes; /* most memory for the arrays of one decoded struct; 0: 64 MiB */
} mcp_fields_options;

#define MCP_FIELDS_OPTIONS(...) \
    ((mcp_fields_options){.size = sizeof(mcp_fields_options), __VA_ARGS__})

/*
 * Check a table and make it ready: patterns are compiled here, once. The table, and all
 * it points to, is borrowed until mcp_fields_free; opt may be NULL. A table without
 * members is one of an empty object.
 *
 * MCP_E_INVAL: the table is wrong, and err names the member and the mistake: a name
 * twice, a C member of a size that does not fit the type or beyond the end of the
 * nested struct it is in, an attribute on a type it is
 * not for, an unknown flag, bounds that contradict each other, a default of the wrong
 * type or out of its own bounds, a pattern that is none, a header that must not be.
 * MCP_E_LIMIT: too many members, or nested too deep. MCP_E_NOMEM. [any]
 */
MCP_API int mcp_fields_new(const mcp_field *table, const mcp_fields_options *opt,
                           mcp_fields **ret_fields, mcp_error *err);
MCP_API void mcp_fields_free(mcp_fields *fields);

/* ---- using it; all [any] --------------------------------------------------- */

/*
 * Write the struct's JSON Schema (2020-12, without $schema) as the value `key` of what
 * is open in b, or as outermost value with NULL. Failures are the builder's.
 *
 * By default other members are allowed and ignored, as JSON Schema does, and
 * `additionalProperties` is not written. With .closed it is written as false, in nested
 * structs too, and the check refuses what it forbids. Members of fewer than 64 bits
 * carry their range as minimum and maximum, unsigned ones a minimum of 0 at least.
 */
MCP_API void mcp_fields_write_schema(const mcp_fields *fields, mcp_builder *b,
                                     const char *key);

/*
 * Does this value fit the table? NULL counts as an object without members. null is a
 * value like any other: it fits MCP_JSON only. A struct's object that names a key twice
 * is refused.
 *
 * MCP_E_INVAL: it does not, and err says in one sentence where (as JSON Pointer), what
 * was expected and what was found. That is the first fault; for more of them compile
 * the written schema with mcp_schema_compile, and give mcp_schema_check a report. It
 * agrees with the table, but does not refuse U+0000, keys named twice, and integers
 * beyond the 64 bits of their member. MCP_E_LIMIT: too large for max_bytes, or the
 * patterns took too much effort; one that is not as plain as ^[a-z]*$ gives up on
 * strings of more than some 100 KiB. MCP_E_NOMEM.
 */
MCP_API int mcp_fields_check(const mcp_fields *fields, const mcp_json *value,
                             mcp_error *err);

/* What a decoded struct points to. */
typedef struct mcp_decoded mcp_decoded;

/*
 * Check the value and write it into the struct at `into`. Every member that the table
 * names is written: absent ones become their default, or zero; MCP_PRESENT tells them
 * from those that were there. Members that the table does not name are left alone.
 *
 * Strings and raw JSON point into the document of the value, default strings into the
 * table, arrays into memory of their own. The one owner of it is *ret_decoded, which
 * also keeps one reference on `doc`, the document that the value is from: the struct is
 * good until mcp_decoded_free, even if `doc` and `fields` are freed before. doc NULL:
 * you keep the document that long yourself.
 *
 * Fails like mcp_fields_check, and then has not touched the struct.
 */
MCP_API int mcp_fields_decode(const mcp_fields *fields, mcp_doc *doc,
                              const mcp_json *value, void *into,
                              mcp_decoded **ret_decoded, mcp_error *err);
MCP_API void mcp_decoded_free(mcp_decoded *decoded);

/*
 * Write the struct at `from` as the value `key` of what is open in b, or as outermost
 * value with NULL. An optional member is left out if its MCP_PRESENT is false; without
 * one, if it is a NULL string, NULL raw JSON or an array of no items.
 *
 * MCP_E_INVAL: a required string or raw value is NULL, an enum has a value without a
 * name, a number is not finite, a text not UTF-8; err names the member. The builder
 * then holds a part of the value: reset or free it. Failures of the builder itself are
 * returned too. Bounds, lengths and patterns are not looked at.
 */
MCP_API int mcp_fields_encode(const mcp_fields *fields, const void *from,
                              mcp_builder *b, const char *key, mcp_error *err);

#ifdef __cplusplus
}
#endif
#endif
