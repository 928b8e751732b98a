/*
 * field.h - a field table made ready, as the field_*.c files share it
 *
 * The tree of tables is laid out in one array of nodes, level by level: the members of
 * a table stand together, and a node of a nested struct knows where its own members
 * are.
 */
#ifndef MCPI_JSON_FIELD_H
#define MCPI_JSON_FIELD_H

#include <mcp/field.h>

#include "json/pattern.h"

/* What one struct may bring along, if the program does not say: as much as a text. */
#define MCPI_FIELDS_BYTES_MAX ((size_t)64 << 20)

/* What all patterns together may cost in one check, as mcpi_pattern_find_within counts:
 * some seconds at worst, however many strings there are; ten thousand plain ones need a
 * tenth of it. */
#define MCPI_FIELDS_EFFORT_MAX UINT64_C(4000000)

/* Integers that a double holds exactly end here: 2^53 - 1. */
#define MCPI_SAFE_INTEGER INT64_C(9007199254740991)

/* Members that stand together in the array of nodes. */
struct mcpi_field_range {
    size_t first;
    size_t count;
};

struct mcpi_field_node {
    const mcp_field *field;
    const char *name; /* in JSON */
    struct mcpi_pattern *pattern;
    struct mcpi_field_range inner; /* of a struct, or of the structs in an array */
    size_t parent;                 /* SIZE_MAX: a member of the outermost struct */
    unsigned depth;
    bool in_array;
};

struct mcp_fields {
    const mcp_allocator *mem;
    bool closed;
    size_t max_bytes;
    struct mcpi_field_node *nodes;
    size_t used;
    size_t room;
    struct mcpi_field_range top;
};

/* ---- integers over int64 and uint64: field_integer.c ----------------------- */

/* Two's complement and the sign: integers of equal sign compare as their bits do. */
struct mcpi_integer {
    bool negative;
    uint64_t bits;
};

struct mcpi_integer mcpi_integer_of(int64_t number);
bool mcpi_integer_less(struct mcpi_integer a, struct mcpi_integer b);

/* MCP_E_INVAL: no integer, or none of 64 bits. 1.0 is one. */
int mcpi_integer_read(const mcp_json *value, struct mcpi_integer *ret);
void mcpi_integer_write(struct mcpi_integer number, mcp_builder *b, const char *key);

/* A C integer of 1, 2, 4 or 8 bytes. What is stored must fit. */
void mcpi_integer_store(struct mcpi_integer number, void *into, size_t size);
struct mcpi_integer mcpi_integer_load(const void *from, size_t size, bool is_signed);

/* The range of an integer field: that of its C type, of its bounds and of its header.
 * Returns what is not obvious from the type and so belongs into the schema: bits 1
 * (low), 2 (high). */
unsigned mcpi_integer_range(const mcp_field *field, struct mcpi_integer *ret_low,
                            struct mcpi_integer *ret_high);

/* ---- shared ---------------------------------------------------------------- */

/* What a value of the field is, or what an item is if it is an array. */
static inline enum mcp_field_type
mcpi_field_item(const mcp_field *field)
{
    return field->type == MCP_ARRAY ? field->items : field->type;
}

static inline size_t
mcpi_field_item_size(const mcp_field *field)
{
    return field->type == MCP_ARRAY ? field->item_size : field->size;
}

/* A bound as double, whichever way it was written. */
static inline double
mcpi_constant_number(const mcp_constant *constant)
{
    return constant->type == MCP_INT ? (double)constant->integer : constant->number;
}

/* The entry of an enum by name or by value, or NULL. */
const mcp_enum_name *mcpi_enum_find(const mcp_enum_name *names, const char *name);
const mcp_enum_name *mcpi_enum_find_value(const mcp_enum_name *names, int value);

/* Does a string fit lengths and pattern of its field? 1: yes, 0: no, negative: the
 * pattern could not tell. The search is paid for from *effort. */
int mcpi_field_string_fits(const struct mcpi_field_node *node, const char *text,
                           size_t len, uint64_t *effort);

/* Check, and tell what the arrays need when decoded, each at a multiple of
 * MCPI_FIELD_ALIGN. */
#define MCPI_FIELD_ALIGN 16
int mcpi_fields_measure(const mcp_fields *fields, const mcp_json *value,
                        size_t *ret_bytes, mcp_error *err);

#endif
