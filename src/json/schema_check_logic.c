/* schema_check_logic.c - rules that apply other schemas to the same value */
#include <string.h>

#include "json/schema_check.h"

/* ---- references ------------------------------------------------------------ */

/* A resource may have as many anchors as a schema may have names: they are paid for. */
static const struct mcpi_schema_node *
dynamic_find(struct mcpi_check *c, const struct mcpi_schema_resource *resource,
             const struct mcpi_schema_logic *logic)
{
    const struct mcpi_schema_dynamic *dynamic = resource->dynamics;
    uint64_t cost = 16;

    for (; dynamic; dynamic = dynamic->next, cost++) {
        if (dynamic->len != logic->dynamic_len)
            continue;
        cost += dynamic->len / MCPI_SCHEMA_STEP_BYTES;
        if (memcmp(dynamic->name, logic->dynamic_name, dynamic->len) == 0)
            break;
    }
    if (!mcpi_check_spend(c, cost / 16))
        return NULL;
    return dynamic ? dynamic->node : NULL;
}

/* The outermost resource on the way here that has the anchor. */
static const struct mcpi_schema_node *
dynamic_target(struct mcpi_check *c, const struct mcpi_schema_logic *logic)
{
    const struct mcpi_schema_node *target = logic->dynamic_ref;
    const struct mcpi_check_scope *scope = c->scope;

    for (; logic->dynamic_name && scope && c->status == 0; scope = scope->outer) {
        const struct mcpi_schema_node *found = dynamic_find(c, scope->resource, logic);

        if (found)
            target = found;
    }
    return target;
}

/* ---- alternatives ---------------------------------------------------------- */

/* If only one alternative is for values of this type, its faults are what helps. */
static void
likely_faults(struct mcpi_check *c, const struct mcpi_schema_list *list,
              const yyjson_val *value, struct mcpi_seen *seen)
{
    const struct mcpi_schema_node *likely = NULL;
    unsigned type = mcpi_schema_type(value);

    for (size_t i = 0; i < list->count; i++) {
        const struct mcpi_schema_node *node = list->nodes[i];

        if (node->alias)
            node = node->alias;
        if (!(node->types & type))
            continue;
        if (likely)
            return;
        likely = node;
    }
    if (likely && mcpi_check_goes_on(c))
        (void)mcpi_check_node(c, likely, value, seen);
}

static bool
any_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
          const yyjson_val *value, struct mcpi_seen *seen)
{
    const struct mcpi_schema_list *list = &node->logic->any;
    bool ok = false;

    for (size_t i = 0; i < list->count && (!ok || seen) && c->status == 0; i++)
        ok = mcpi_check_branch(c, list->nodes[i], value, seen) || ok;
    if (ok || !mcpi_check_goes_on(c))
        return ok;
    (void)mcpi_check_fault(c, node, "anyOf", value,
                           "must match at least one of %zu alternatives", list->count);
    likely_faults(c, list, value, seen);
    return false;
}

static bool
one_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
          const yyjson_val *value, struct mcpi_seen *seen)
{
    const struct mcpi_schema_list *list = &node->logic->one;
    size_t count = 0;

    for (size_t i = 0; i < list->count && count < 2 && c->status == 0; i++)
        count += mcpi_check_branch(c, list->nodes[i], value, seen);
    if (count == 1 || !mcpi_check_goes_on(c))
        return count == 1;
    (void)mcpi_check_fault(c, node, "oneOf", value,
                           "must match exactly one of %zu alternatives, not %s",
                           list->count, count == 0 ? "none" : "several");
    if (count == 0)
        likely_faults(c, list, value, seen);
    return false;
}

static bool
all_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
          const yyjson_val *value, struct mcpi_seen *seen)
{
    const struct mcpi_schema_list *list = &node->logic->all;
    bool ok = true;

    for (size_t i = 0; i < list->count; i++) {
        ok = mcpi_check_node(c, list->nodes[i], value, seen) && ok;
        if (!ok && !mcpi_check_goes_on(c))
            return false;
    }
    return ok;
}

static bool
condition_check(struct mcpi_check *c, const struct mcpi_schema_logic *logic,
                const yyjson_val *value, struct mcpi_seen *seen)
{
    const struct mcpi_schema_node *next = logic->otherwise;

    if (!logic->then && !logic->otherwise && !seen)
        return true;
    if (mcpi_check_branch(c, logic->condition, value, seen))
        next = logic->then;
    return !next || mcpi_check_node(c, next, value, seen);
}

/* ---- all of it ------------------------------------------------------------- */

static bool
references_check(struct mcpi_check *c, const struct mcpi_schema_logic *logic,
                 const yyjson_val *value, struct mcpi_seen *seen)
{
    bool ok = true;

    if (logic->ref)
        ok = mcpi_check_node(c, logic->ref, value, seen);
    if (logic->dynamic_ref && (ok || mcpi_check_goes_on(c)))
        ok = mcpi_check_node(c, dynamic_target(c, logic), value, seen) && ok;
    return ok;
}

bool
mcpi_check_logic(struct mcpi_check *c, const struct mcpi_schema_node *node,
                 const yyjson_val *value, struct mcpi_seen *seen)
{
    const struct mcpi_schema_logic *logic = node->logic;
    bool ok = references_check(c, logic, value, seen);

    if (logic->all.count > 0 && (ok || mcpi_check_goes_on(c)))
        ok = all_check(c, node, value, seen) && ok;
    if (logic->any.count > 0 && (ok || mcpi_check_goes_on(c)))
        ok = any_check(c, node, value, seen) && ok;
    if (logic->one.count > 0 && (ok || mcpi_check_goes_on(c)))
        ok = one_check(c, node, value, seen) && ok;
    if (logic->negated && (ok || mcpi_check_goes_on(c)) &&
        mcpi_check_branch(c, logic->negated, value, NULL))
        ok = mcpi_check_fault(c, node, "not", value,
                              "must not be as the schema forbids");
    if (logic->condition && (ok || mcpi_check_goes_on(c)))
        ok = condition_check(c, logic, value, seen) && ok;
    return ok;
}
