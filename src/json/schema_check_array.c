/* schema_check_array.c - the rules about arrays */
#include <inttypes.h>

#include "json/schema_check.h"

static bool
count_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
            const yyjson_val *value)
{
    struct mcpi_schema_range count = node->arrays->count;
    size_t len = mcpi_yy_len(value);

    if (len < count.min)
        return mcpi_check_fault(c, node, "minItems", value,
                                "must have at least %" PRIu64 " %s", count.min,
                                mcpi_check_plural(count.min, "item", "items"));
    if (len > count.max)
        return mcpi_check_fault(c, node, "maxItems", value,
                                "must have at most %" PRIu64 " %s", count.max,
                                mcpi_check_plural(count.max, "item", "items"));
    return true;
}

/* Each element against its place in the prefix, or against what is for the rest. */
static bool
items_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
            const yyjson_val *value, struct mcpi_seen *seen)
{
    const struct mcpi_schema_arrays *rules = node->arrays;
    size_t len = mcpi_yy_len(value);
    size_t count = rules->rest || rules->prefix.count > len ? len : rules->prefix.count;
    const yyjson_val *at = value + 1;
    bool ok = true;

    for (size_t i = 0; i < count; i++) {
        const struct mcpi_schema_node *item = rules->rest;

        if (i < rules->prefix.count)
            item = rules->prefix.nodes[i];
        if (!mcpi_check_value(c, item, at)) {
            ok = false;
            if (!mcpi_check_goes_on(c))
                return false;
        }
        if (seen)
            mcpi_seen_mark(seen, i);
        at = mcpi_yy_next(at);
    }
    return ok;
}

/* How many conform; stops when more cannot change the verdict, unless each counts as
 * looked at. */
static uint64_t
contained_count(struct mcpi_check *c, const struct mcpi_schema_arrays *rules,
                const yyjson_val *value, struct mcpi_seen *seen)
{
    const yyjson_val *at = value + 1;
    uint64_t count = 0;

    for (size_t i = 0; i < mcpi_yy_len(value); i++) {
        if (mcpi_check_branch(c, rules->contains, at, NULL)) {
            count++;
            if (seen)
                mcpi_seen_mark(seen, i);
        }
        if (!seen && rules->contained.max == MCPI_SCHEMA_NO_MAX &&
            count >= rules->contained.min)
            break;
        if (c->status < 0 || count > rules->contained.max)
            break;
        at = mcpi_yy_next(at);
    }
    return count;
}

static bool
contains_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
               const yyjson_val *value, struct mcpi_seen *seen)
{
    struct mcpi_schema_range contained = node->arrays->contained;
    uint64_t count;

    if (node->resource->draft < MCPI_DRAFT_2020_12)
        seen = NULL; /* what is contained counts as looked at since then */
    count = contained_count(c, node->arrays, value, seen);

    if (count < contained.min && contained.min == 1)
        return mcpi_check_fault(c, node, "contains", value,
                                "must have an item as the schema describes");
    if (count < contained.min)
        return mcpi_check_fault(
            c, node, "minContains", value,
            "must have at least %" PRIu64 " %s as the schema describes", contained.min,
            mcpi_check_plural(contained.min, "item", "items"));
    if (count > contained.max)
        return mcpi_check_fault(
            c, node, "maxContains", value,
            "must have at most %" PRIu64 " %s as the schema describes", contained.max,
            mcpi_check_plural(contained.max, "item", "items"));
    return true;
}

bool
mcpi_check_arrays(struct mcpi_check *c, const struct mcpi_schema_node *node,
                  const yyjson_val *value, struct mcpi_seen *seen)
{
    const struct mcpi_schema_arrays *rules = node->arrays;
    bool ok = count_check(c, node, value);

    if ((ok || mcpi_check_goes_on(c)) && (rules->rest || rules->prefix.count > 0))
        ok = items_check(c, node, value, seen) && ok;
    if ((ok || mcpi_check_goes_on(c)) && rules->contains)
        ok = contains_check(c, node, value, seen) && ok;
    if ((ok || mcpi_check_goes_on(c)) && rules->unique && !mcpi_check_unique(c, value))
        ok = mcpi_check_fault(c, node, "uniqueItems", value,
                              "must not have the same item twice");
    return ok;
}

bool
mcpi_check_rest_of_array(struct mcpi_check *c, const struct mcpi_schema_node *node,
                         const yyjson_val *value, struct mcpi_seen *seen)
{
    const struct mcpi_schema_node *rest = node->arrays->unevaluated;
    const yyjson_val *at = value + 1;
    bool ok = true;

    for (size_t i = 0; i < mcpi_yy_len(value); i++) {
        if (mcpi_seen_has(seen, i)) {
            at = mcpi_yy_next(at);
            continue;
        }
        if (rest->never)
            ok = mcpi_check_fault(c, node, "unevaluatedItems", at, "must not be there");
        else
            ok = mcpi_check_node(c, rest, at, NULL) && ok;
        if (!ok && !mcpi_check_goes_on(c))
            return false;
        at = mcpi_yy_next(at);
    }
    mcpi_seen_mark_all(seen);
    return ok;
}
