/*
 * yy.h - a value as yyjson lays it out; for the files of this folder only
 *
 * The values of a document stand in one array, in the order of the text. A container is
 * followed by what is in it, a key by its value; a container's payload is the way, in
 * bytes, to what follows it. yyjson's own readers take pointers to non-const.
 */
#ifndef MCPI_JSON_YY_H
#define MCPI_JSON_YY_H

#include <mcp/json.h>
#include <yyjson.h>

/* Equality and depth checks keep a place for each open container on the stack. */
#define MCPI_JSON_DEPTH_MAX 256

/* Set in the tag of an object with more members than are compared pair by pair, if it
 * names a key twice. yyjson has no use for an object's subtype. */
#define MCPI_YY_DUPLICATES ((uint64_t)1 << YYJSON_TYPE_BIT)

/* Set in the tag of a string that holds U+FFFD, if its document had half of a surrogate
 * pair somewhere. yyjson knows one subtype of a string, which is the other bit. */
#define MCPI_YY_REPAIRED ((uint64_t)2 << YYJSON_TYPE_BIT)

/* Pairs are compared up to here: 2016 at most. */
#define MCPI_YY_PAIRWISE 64

static inline const yyjson_val *
mcpi_yy(const mcp_json *value)
{
    return (const yyjson_val *)(const void *)value;
}

static inline const mcp_json *
mcpi_yy_json(const yyjson_val *v)
{
    return (const mcp_json *)(const void *)v;
}

static inline unsigned
mcpi_yy_type(const yyjson_val *v)
{
    return (unsigned)(v->tag & YYJSON_TYPE_MASK);
}

/* Type and subtype: what number, which bool. */
static inline unsigned
mcpi_yy_kind(const yyjson_val *v)
{
    return (unsigned)(v->tag & YYJSON_TAG_MASK);
}

#define MCPI_YY_UINT (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT)
#define MCPI_YY_SINT (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT)
#define MCPI_YY_REAL (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL)
#define MCPI_YY_TRUE (YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_TRUE)
#define MCPI_YY_FALSE (YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_FALSE)
#define MCPI_YY_PLAIN (YYJSON_TYPE_STR | YYJSON_SUBTYPE_NOESC) /* needs no escapes */

/* Bytes of a string, elements of an array, members of an object. */
static inline size_t
mcpi_yy_len(const yyjson_val *v)
{
    return (size_t)(v->tag >> YYJSON_TAG_BIT);
}

static inline bool
mcpi_yy_is_container(const yyjson_val *v)
{
    return mcpi_yy_type(v) >= YYJSON_TYPE_ARR;
}

static inline const yyjson_val *
mcpi_yy_next(const yyjson_val *v)
{
    if (!mcpi_yy_is_container(v))
        return v + 1;
    return (const yyjson_val *)(const void *)((const char *)v + v->uni.ofs);
}

#endif
