/*
 * schema_default.c - a value with what its schema says by default
 *
 * The copy is written as text, front to back. At each place, the schemas that hold
 * there whatever the value is are gathered first: the node, what it refers to, its
 * allOf.
 */
#include "base/mem.h"
#include "base/text.h"
#include "json/schema.h"
#include "json/schema_check.h"
#include "json/value.h"

/* Schemas for one place: a chain of references with a few allOf is a dozen. */
#define PLACE_MAX 32

/* Levels of the copy. A default may be inside a default without end, by a reference. */
#define DEPTH_MAX 128

struct place {
    const struct mcpi_schema_node *nodes[PLACE_MAX];
    size_t count;
};

struct filler {
    struct mcpi_buf *buf;
    struct mcpi_check check; /* for its budget, and for patterns */
    size_t depth;
};

static void value_write(struct filler *f, const struct place *place,
                        const yyjson_val *value);

static bool
filler_failed(const struct filler *f)
{
    return f->check.status < 0 || f->buf->status < 0;
}

/* ---- places ---------------------------------------------------------------- */

/* The node and all that hold with it. Circles of these were refused; the list that is
 * full ends it otherwise. */
static void
place_add(struct filler *f, struct place *place, const struct mcpi_schema_node *node)
{
    size_t next = place->count;

    if (!node)
        return;
    if (place->count == PLACE_MAX) {
        (void)mcpi_check_stop(&f->check, MCP_E_LIMIT, "too many schemas for one place");
        return;
    }
    place->nodes[place->count++] = node;
    for (; next < place->count; next++) {
        const struct mcpi_schema_logic *logic = place->nodes[next]->logic;
        size_t more = logic ? logic->all.count + (logic->ref != NULL) : 0;

        if (!mcpi_check_spend(&f->check, 1 + more))
            return;
        if (more > PLACE_MAX - place->count) {
            (void)mcpi_check_stop(&f->check, MCP_E_LIMIT,
                                  "too many schemas for one place");
            return;
        }
        if (more > 0 && logic->ref)
            place->nodes[place->count++] = logic->ref;
        for (size_t i = 0; more > 0 && i < logic->all.count; i++)
            place->nodes[place->count++] = logic->all.nodes[i];
    }
}

static const yyjson_val *
place_default(struct filler *f, const struct place *place)
{
    for (size_t i = 0; i < place->count; i++) {
        const mcp_json *value = mcpi_yy_json(place->nodes[i]->value);
        const mcp_json *found = mcp_json_get(value, "default");

        if (!mcpi_check_spend(&f->check, mcp_json_count(value) / 16))
            return NULL;
        if (found)
            return mcpi_yy(found);
    }
    return NULL;
}

/* What one node has to say about a member. */
static void
member_add(struct filler *f, struct place *member,
           const struct mcpi_schema_objects *rules, const yyjson_val *key)
{
    uint32_t name = mcpi_names_search(&rules->names, key);
    bool matched = false;

    if (name != MCPI_NAME_NONE && rules->nodes[name]) {
        matched = true;
        place_add(f, member, rules->nodes[name]);
    }
    for (size_t i = 0; i < rules->pattern_count; i++) {
        if (!mcpi_check_pattern(&f->check, rules->patterns[i].pattern, key))
            continue;
        matched = true;
        place_add(f, member, rules->patterns[i].node);
    }
    if (!matched)
        place_add(f, member, rules->additional);
}

static void
member_place(struct filler *f, struct place *member, const struct place *place,
             const yyjson_val *key)
{
    member->count = 0;
    for (size_t i = 0; i < place->count; i++) {
        if (place->nodes[i]->objects)
            member_add(f, member, place->nodes[i]->objects, key);
    }
}

/* ---- writing --------------------------------------------------------------- */

static void
key_write(struct filler *f, const char *text, size_t len, bool first)
{
    if (!first)
        mcpi_buf_char(f->buf, ',');
    (void)mcpi_json_write_string(f->buf, text, len); /* a failure is the buffer's */
    mcpi_buf_char(f->buf, ':');
}

static void
members_write(struct filler *f, const struct place *place, const yyjson_val *object)
{
    const yyjson_val *key = object + 1;
    struct place member;

    for (size_t i = 0; i < mcpi_yy_len(object) && !filler_failed(f); i++) {
        member_place(f, &member, place, key);
        key_write(f, key->uni.str, mcpi_yy_len(key), i == 0);
        value_write(f, &member, key + 1);
        key = mcpi_yy_next(key + 1);
    }
}

static yyjson_val
name_string(const struct mcpi_name *name)
{
    return (yyjson_val){
        .tag = (uint64_t)name->len << YYJSON_TAG_BIT | YYJSON_TYPE_STR,
        .uni = {.str = name->text},
    };
}

/* What a node's `properties` say the member is by default, or NULL. */
static const yyjson_val *
member_default(struct filler *f, const struct mcpi_schema_objects *rules, uint32_t name)
{
    struct place own = {.count = 0};

    if (name == MCPI_NAME_NONE)
        return NULL;
    place_add(f, &own, rules->nodes[name]);
    return place_default(f, &own);
}

/* Does the object have it, or did an earlier node of the place add it? */
static bool
member_is_there(struct filler *f, const struct place *place, size_t before,
                const yyjson_val *object, const yyjson_val *key)
{
    if (!mcpi_check_spend(&f->check, 1 + mcpi_yy_len(object) / 8))
        return true;
    if (mcp_json_get_n(mcpi_yy_json(object), key->uni.str, mcpi_yy_len(key)))
        return true;
    for (size_t i = 0; i < before; i++) {
        const struct mcpi_schema_objects *rules = place->nodes[i]->objects;

        if (rules && member_default(f, rules, mcpi_names_search(&rules->names, key)))
            return true;
    }
    return false;
}

/* The members that the nth node of the place adds; *first tells if a comma is due. */
static void
missing_write(struct filler *f, const struct place *place, size_t nth,
              const yyjson_val *object, bool *first)
{
    const struct mcpi_schema_objects *rules = place->nodes[nth]->objects;
    const struct mcpi_names *names = &rules->names;
    uint32_t i = names->count > 0 ? names->first : MCPI_NAME_NONE;

    for (; i != MCPI_NAME_NONE && !filler_failed(f); i = names->names[i].next) {
        const yyjson_val key = name_string(&names->names[i]);
        const yyjson_val *value = member_default(f, rules, i);
        struct place member;

        if (!value || member_is_there(f, place, nth, object, &key))
            continue;
        member_place(f, &member, place, &key);
        key_write(f, key.uni.str, mcpi_yy_len(&key), *first);
        value_write(f, &member, value);
        *first = false;
    }
}

static void
object_write(struct filler *f, const struct place *place, const yyjson_val *object)
{
    bool first = mcpi_yy_len(object) == 0;

    mcpi_buf_char(f->buf, '{');
    members_write(f, place, object);
    for (size_t i = 0; i < place->count && !filler_failed(f); i++) {
        if (place->nodes[i]->objects)
            missing_write(f, place, i, object, &first);
    }
    mcpi_buf_char(f->buf, '}');
}

static void
array_write(struct filler *f, const struct place *place, const yyjson_val *array)
{
    const yyjson_val *at = array + 1;
    struct place item;

    mcpi_buf_char(f->buf, '[');
    for (size_t i = 0; i < mcpi_yy_len(array) && !filler_failed(f); i++) {
        item.count = 0;
        for (size_t j = 0; j < place->count; j++) {
            const struct mcpi_schema_arrays *rules = place->nodes[j]->arrays;

            if (rules)
                place_add(f, &item,
                          i < rules->prefix.count ? rules->prefix.nodes[i]
                                                  : rules->rest);
        }
        if (i > 0)
            mcpi_buf_char(f->buf, ',');
        value_write(f, &item, at);
        at = mcpi_yy_next(at);
    }
    mcpi_buf_char(f->buf, ']');
}

static void
value_write(struct filler *f, const struct place *place, const yyjson_val *value)
{
    if (filler_failed(f))
        return;
    if (place->count == 0 || !mcpi_yy_is_container(value)) {
        mcpi_json_write(f->buf, mcpi_yy_json(value));
        return;
    }
    if (f->depth == DEPTH_MAX) {
        (void)mcpi_check_stop(&f->check, MCP_E_LIMIT, "the value becomes too deep");
        return;
    }
    if (!mcpi_check_spend(&f->check, 1))
        return;
    f->depth++;
    if (mcpi_yy_type(value) == YYJSON_TYPE_OBJ)
        object_write(f, place, value);
    else
        array_write(f, place, value);
    f->depth--;
}

/* ---- the entry ------------------------------------------------------------- */

static int
filler_run(struct filler *f, const yyjson_val *value, mcp_error *err)
{
    struct place root = {.count = 0};

    place_add(f, &root, f->check.schema->root);
    if (!value)
        value = place_default(f, &root);
    if (!value && !filler_failed(f))
        return mcpi_error_set(err, MCP_E_INVAL, "no value, and the schema has none");
    if (value)
        value_write(f, &root, value);
    if (f->check.status < 0)
        return mcpi_error_set(err, f->check.status, "%s",
                              f->check.why ? f->check.why
                                           : mcp_status_text(f->check.status));
    if (f->buf->status < 0)
        return mcpi_error_set(err, f->buf->status, "%s",
                              mcp_status_text(f->buf->status));
    return 0;
}

int
mcp_schema_apply_defaults(const mcp_schema *schema, const mcp_json *value,
                          mcp_doc **ret_doc, mcp_error *err)
{
    const struct mcpi_json_limits limits = {MCPI_JSON_TEXT_MAX, MCPI_JSON_DEPTH_MAX};
    struct mcpi_buf text;
    struct filler f = {.buf = &text};
    int r;

    if (!schema || !ret_doc)
        return mcpi_error_set(err, MCP_E_INVAL, "no schema, or nowhere to put it");
    mcpi_buf_init(&text, schema->mem, MCPI_JSON_TEXT_MAX);
    f.check.schema = schema;
    f.check.steps = mcpi_check_budget(schema, mcpi_yy(value));
    r = filler_run(&f, mcpi_yy(value), err);
    if (r == 0) {
        r = mcpi_doc_parse(schema->mem, text.data, text.len, &limits, ret_doc);
        if (r < 0)
            (void)mcpi_error_set(err, r, "%s", mcp_status_text(r));
    }
    mcpi_buf_done(&text);
    return r;
}
