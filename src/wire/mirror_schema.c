/*
 * mirror_schema.c - the arguments of a tool that its schema has mirrored in headers
 *
 * The rules are those of 2026-07-28, basic/transports/streamable-http, "Schema
 * Extension": an annotation that properties alone lead to is read, one anywhere else
 * makes the schema a wrong one.
 */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/mirror.h"

#define KEYWORD "x-mcp-header"
#define PREFIX "mcp-param-"

#define DEPTH_MAX 128 /* of properties in properties; a document is no deeper */

/* ---- reading a schema --------------------------------------------------- */

/* One argument; all are places in texts. Name and header are terminated, a path is its
 * keys, each as its length and its bytes. */
struct mirrored {
    size_t name, header, path, steps;
};

struct mcpi_mirror {
    const mcp_allocator *mem;
    struct mcpi_buf texts;
    size_t count;
    struct mirrored items[MCPI_MIRROR_MAX];
};

struct walk {
    const mcp_allocator *mem;
    struct mcpi_mirror *mirror;      /* NULL until there is something */
    const mcp_json *keys[DEPTH_MAX]; /* of properties, down to where we are */
    size_t depth;
    const char *fault;
};

static int
walk_fault(struct walk *walk, const char *fault)
{
    walk->fault = fault;
    return MCP_E_INVAL;
}

static int
mirror_prepare(struct walk *walk)
{
    struct mcpi_mirror *mirror = walk->mirror;

    if (mirror)
        return 0;
    mirror = mcpi_alloc_zero(walk->mem, sizeof(*mirror));
    if (!mirror)
        return MCP_E_NOMEM;
    mirror->mem = walk->mem;
    mcpi_buf_init(&mirror->texts, walk->mem, MCPI_MIRROR_BYTES_MAX);
    walk->mirror = mirror;
    return 0;
}

static bool
mirror_has(const struct mcpi_mirror *mirror, const char *name)
{
    for (size_t i = 0; i < mirror->count; i++)
        if (mcpi_text_same_letters(mcpi_mirror_name(mirror, i), name))
            return true;
    return false;
}

static void
header_append(struct mcpi_buf *texts, const char *name)
{
    MCPI_BUF_LITERAL(texts, PREFIX);
    for (; *name; name++)
        mcpi_buf_char(texts, (char)(*name >= 'A' && *name <= 'Z' ? *name + 32 : *name));
    mcpi_buf_char(texts, '\0');
}

static int
mirror_add(struct walk *walk, const char *name)
{
    struct mcpi_mirror *mirror = walk->mirror;
    struct mcpi_buf *texts = &mirror->texts;
    struct mirrored *item = &mirror->items[mirror->count];
    size_t len;

    *item = (struct mirrored){.name = texts->len, .steps = walk->depth};
    mcpi_buf_append(texts, name, strlen(name) + 1);
    item->header = texts->len;
    header_append(texts, name);
    item->path = texts->len;
    for (size_t i = 0; i < walk->depth; i++) {
        len = mcp_json_string_length(walk->keys[i]);
        mcpi_buf_append(texts, &len, sizeof(len));
        mcpi_buf_append(texts, mcp_json_string(walk->keys[i], ""), len);
    }
    mirror->count++;
    if (texts->status == MCP_E_LIMIT)
        return walk_fault(walk, KEYWORD ": its names and paths are too long");
    return texts->status;
}

/* A property that says x-mcp-header: `said`. */
static int
property_take(struct walk *walk, const mcp_json *schema, const mcp_json *said)
{
    const mcp_json *type = mcp_json_get(schema, "type");
    const char *name = mcp_json_string(said, "");
    int r;

    if (!mcpi_text_is_token(name, mcp_json_string_length(said)))
        return walk_fault(walk, KEYWORD " is no HTTP token");
    if (!mcp_json_is_string(type, "string") && !mcp_json_is_string(type, "integer") &&
        !mcp_json_is_string(type, "boolean"))
        return walk_fault(walk, KEYWORD " stands at what is not of type string, "
                                        "integer or boolean");
    r = mirror_prepare(walk);
    if (r < 0)
        return r;
    if (mirror_has(walk->mirror, name))
        return walk_fault(walk, KEYWORD " names the same header twice");
    if (walk->mirror->count == MCPI_MIRROR_MAX)
        return walk_fault(walk, KEYWORD " stands there more than 64 times");
    return mirror_add(walk, name);
}

/* What stands behind a keyword of JSON Schema. Whatever we do not know may be a schema,
 * because a $ref may lead there. */
enum behind { A_SCHEMA, PROPERTIES, NAMED_SCHEMAS, DATA };

static enum behind
keyword_behind(const mcp_json *key)
{
    static const struct {
        const char *keyword;
        enum behind behind;
    } keywords[] = {
        {"properties", PROPERTIES},
        {"patternProperties", NAMED_SCHEMAS},
        {"$defs", NAMED_SCHEMAS},
        {"definitions", NAMED_SCHEMAS},
        {"dependentSchemas", NAMED_SCHEMAS},
        {"dependencies", NAMED_SCHEMAS},
        {"const", DATA},
        {"default", DATA},
        {"enum", DATA},
        {"examples", DATA},
    };

    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
        if (mcp_json_is_string(key, keywords[i].keyword))
            return keywords[i].behind;
    return A_SCHEMA;
}

static int schema_walk(struct walk *walk, const mcp_json *schema, bool reached);

/* The members are schemas: their keys say nothing here. */
static int
members_walk(struct walk *walk, const mcp_json *members, bool reached)
{
    size_t depth = walk->depth;
    mcp_json_iterator it;
    int r = 0;

    if (mcp_json_get_type(members) != MCP_JSON_OBJECT)
        return schema_walk(walk, members, false);
    if (reached && depth == DEPTH_MAX)
        return walk_fault(walk, "properties are nested too deep");
    for (it = mcp_json_each(members); r == 0 && mcp_json_next(&it);) {
        if (reached) {
            walk->keys[depth] = it.key;
            walk->depth = depth + 1;
        }
        r = schema_walk(walk, it.value, reached);
    }
    walk->depth = depth;
    return r;
}

static int
keyword_walk(struct walk *walk, const mcp_json *key, const mcp_json *value,
             bool reached)
{
    switch (keyword_behind(key)) {
    case PROPERTIES:
        return members_walk(walk, value, reached);
    case NAMED_SCHEMAS:
        return members_walk(walk, value, false);
    case DATA:
        return 0;
    default:
        return schema_walk(walk, value, false);
    }
}

/* Recurses, no deeper than a document is. */
static int
schema_walk(struct walk *walk, const mcp_json *schema, bool reached)
{
    const mcp_json *said = mcp_json_get(schema, KEYWORD);
    mcp_json_iterator it;
    int r = 0;

    if (said && (!reached || walk->depth == 0))
        return walk_fault(walk, KEYWORD " stands where properties alone do not lead");
    if (said)
        r = property_take(walk, schema, said);
    for (it = mcp_json_each(schema); r == 0 && mcp_json_next(&it);)
        r = it.key ? keyword_walk(walk, it.key, it.value, reached)
                   : schema_walk(walk, it.value, false); /* of an array */
    return r;
}

int
mcpi_mirror_new(const mcp_allocator *mem, const mcp_json *schema,
                struct mcpi_mirror **ret, const char **ret_fault)
{
    struct walk walk = {.mem = mcpi_mem_or_malloc(mem)};
    int r;

    r = schema_walk(&walk, schema, true);
    if (r < 0) {
        mcpi_mirror_free(walk.mirror);
        if (r == MCP_E_INVAL)
            *ret_fault = walk.fault;
        return r;
    }
    *ret = walk.mirror;
    return 0;
}

void
mcpi_mirror_free(struct mcpi_mirror *mirror)
{
    if (!mirror)
        return;
    mcpi_buf_done(&mirror->texts);
    mcpi_free(mirror->mem, mirror);
}

bool
mcpi_mirror_same(const struct mcpi_mirror *a, const struct mcpi_mirror *b)
{
    return a->count == b->count && a->texts.len == b->texts.len &&
           memcmp(a->items, b->items, a->count * sizeof(a->items[0])) == 0 &&
           memcmp(a->texts.data, b->texts.data, a->texts.len) == 0;
}

size_t
mcpi_mirror_bytes(const struct mcpi_mirror *mirror)
{
    return sizeof(*mirror) + mirror->texts.cap;
}

/* ---- using it ----------------------------------------------------------- */

size_t
mcpi_mirror_count(const struct mcpi_mirror *mirror)
{
    return mirror ? mirror->count : 0;
}

const char *
mcpi_mirror_name(const struct mcpi_mirror *mirror, size_t index)
{
    return mirror->texts.data + mirror->items[index].name;
}

const char *
mcpi_mirror_header(const struct mcpi_mirror *mirror, size_t index)
{
    return mirror->texts.data + mirror->items[index].header;
}

const mcp_json *
mcpi_mirror_value(const struct mcpi_mirror *mirror, size_t index,
                  const mcp_json *arguments)
{
    const struct mirrored *item = &mirror->items[index];
    const char *at = mirror->texts.data + item->path;
    const mcp_json *value = arguments;
    size_t len;

    for (size_t i = 0; i < item->steps; i++) {
        memcpy(&len, at, sizeof(len));
        at += sizeof(len);
        value = mcp_json_get_n(value, at, len);
        at += len;
    }
    return value;
}
