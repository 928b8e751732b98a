/* schema_check_object.c - the rules about objects */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "json/schema_check.h"

/* Names that fit in bits on the stack; those of larger tables are allocated. */
#define PRESENT_WORDS 2

struct members {
    struct mcpi_check *c;
    const struct mcpi_schema_node *node;
    const struct mcpi_schema_objects *rules;
    const yyjson_val *object;
    struct mcpi_seen *seen;
    uint64_t *present; /* a bit for each of the names */
};

static bool
is_present(const struct members *m, uint32_t name)
{
    return m->present[name / 64] >> (name % 64) & 1;
}

/* ---- each member ----------------------------------------------------------- */

/* By each pattern that its name matches. */
static bool
member_by_patterns(const struct members *m, const yyjson_val *key, bool *matched)
{
    bool ok = true;

    for (size_t i = 0; i < m->rules->pattern_count; i++) {
        const struct mcpi_schema_pattern_rule *rule = &m->rules->patterns[i];

        if (!mcpi_check_pattern(m->c, rule->pattern, key))
            continue;
        *matched = true;
        ok = mcpi_check_node(m->c, rule->node, key + 1, NULL) && ok;
        if (!ok && !mcpi_check_goes_on(m->c))
            return false;
    }
    return ok;
}

static bool
member_by_additional(const struct members *m, const yyjson_val *key)
{
    if (m->rules->additional->never)
        return mcpi_check_fault(m->c, m->node, "additionalProperties", key + 1,
                                "is not a property the schema allows");
    return mcpi_check_value(m->c, m->rules->additional, key + 1);
}

static bool
member_check(const struct members *m, const yyjson_val *key, size_t place,
             uint32_t name)
{
    const struct mcpi_schema_objects *rules = m->rules;
    const struct mcpi_schema_node *node = NULL;
    bool matched = false;
    bool ok = true;

    if (name != MCPI_NAME_NONE) {
        m->present[name / 64] |= (uint64_t)1 << (name % 64);
        node = rules->nodes[name];
    }
    if (node) {
        matched = true;
        ok = mcpi_check_value(m->c, node, key + 1);
    }
    if (rules->pattern_count > 0 && (ok || mcpi_check_goes_on(m->c)))
        ok = member_by_patterns(m, key, &matched) && ok;
    if (!matched && rules->additional && (ok || mcpi_check_goes_on(m->c))) {
        matched = true;
        ok = member_by_additional(m, key) && ok;
    }
    if (matched && m->seen)
        mcpi_seen_mark(m->seen, place);
    if (rules->property_names && (ok || mcpi_check_goes_on(m->c)))
        ok = mcpi_check_node(m->c, rules->property_names, key, NULL) && ok;
    return ok;
}

/* Is it one whose type is all that counts? Then it is done. */
static inline bool
member_is_plain(const struct members *m, const yyjson_val *key, uint32_t name)
{
    const struct mcpi_schema_node *node;

    if (name == MCPI_NAME_NONE)
        return false;
    node = m->rules->nodes[name];
    if (!node || !(node->plain & mcpi_schema_type(key + 1)))
        return false;
    m->present[name / 64] |= (uint64_t)1 << (name % 64);
    return true;
}

/* Nothing more to say about a member that its own schema accepts? */
static bool
is_by_name_only(const struct members *m)
{
    return m->rules->pattern_count == 0 && !m->rules->property_names && !m->seen;
}

static bool
members_check(const struct members *m)
{
    const struct mcpi_names *names = &m->rules->names;
    const yyjson_val *key = m->object + 1;
    uint32_t guess = names->first;
    bool by_name_only = is_by_name_only(m);
    bool ok = true;

    if (!mcpi_check_spend(m->c, mcpi_yy_len(m->object)))
        return false;
    for (size_t i = 0; i < mcpi_yy_len(m->object); i++) {
        uint32_t name;

        if (!mcpi_check_spend_text(m->c, key))
            return false;
        name = mcpi_names_find(names, key, guess);
        if (name != MCPI_NAME_NONE)
            guess = names->names[name].next;
        if (by_name_only && member_is_plain(m, key, name)) {
            key = mcpi_yy_next(key + 1);
            continue;
        }
        if (!member_check(m, key, i, name)) {
            ok = false;
            if (!mcpi_check_goes_on(m->c))
                return false;
        }
        key = mcpi_yy_next(key + 1);
    }
    return ok;
}

/* ---- all members ----------------------------------------------------------- */

static bool
count_check(const struct members *m)
{
    struct mcpi_schema_range count = m->rules->count;
    size_t len = mcpi_yy_len(m->object);

    if (len < count.min)
        return mcpi_check_fault(m->c, m->node, "minProperties", m->object,
                                "must have at least %" PRIu64 " %s", count.min,
                                mcpi_check_plural(count.min, "property", "properties"));
    if (len > count.max)
        return mcpi_check_fault(m->c, m->node, "maxProperties", m->object,
                                "must have at most %" PRIu64 " %s", count.max,
                                mcpi_check_plural(count.max, "property", "properties"));
    return true;
}

/* In the order of the schema, so that the first fault is the first one missing. */
static bool
required_faults(const struct members *m)
{
    const struct mcpi_names *names = &m->rules->names;

    for (uint32_t i = names->first; i != MCPI_NAME_NONE; i = names->names[i].next) {
        if (!mcpi_check_goes_on(m->c))
            break;
        if (m->rules->required[i / 64] >> (i % 64) & 1 && !is_present(m, i))
            (void)mcpi_check_fault(m->c, m->node, "required", m->object,
                                   "must have the property \"%s\"",
                                   names->names[i].text);
    }
    return false;
}

static bool
required_check(const struct members *m)
{
    size_t words = (m->rules->names.count + 63) / 64;

    for (size_t i = 0; i < words; i++) {
        if (m->rules->required[i] & ~m->present[i])
            return required_faults(m);
    }
    return true;
}

static bool
dependency_check(const struct members *m, const struct mcpi_schema_dependency *d)
{
    const struct mcpi_name *names = m->rules->names.names;

    if (d->node)
        return mcpi_check_node(m->c, d->node, m->object, m->seen);
    if (!mcpi_check_spend(m->c, d->required_count / 16))
        return false;
    for (size_t i = 0; i < d->required_count; i++) {
        if (!is_present(m, d->required[i]))
            return mcpi_check_fault(m->c, m->node, d->keyword, m->object,
                                    "must have the property \"%s\" beside \"%s\"",
                                    names[d->required[i]].text, names[d->name].text);
    }
    return true;
}

static bool
dependencies_check(const struct members *m)
{
    bool ok = true;

    for (size_t i = 0; i < m->rules->dependency_count; i++) {
        const struct mcpi_schema_dependency *dependency = &m->rules->dependencies[i];

        if (!is_present(m, dependency->name))
            continue;
        ok = dependency_check(m, dependency) && ok;
        if (!ok && !mcpi_check_goes_on(m->c))
            return false;
    }
    return ok;
}

static bool
object_check(const struct members *m)
{
    bool ok = count_check(m);

    if (ok || mcpi_check_goes_on(m->c))
        ok = members_check(m) && ok;
    if (m->rules->required && (ok || mcpi_check_goes_on(m->c)))
        ok = required_check(m) && ok;
    if (m->rules->dependency_count > 0 && (ok || mcpi_check_goes_on(m->c)))
        ok = dependencies_check(m) && ok;
    return ok;
}

bool
mcpi_check_objects(struct mcpi_check *c, const struct mcpi_schema_node *node,
                   const yyjson_val *value, struct mcpi_seen *seen)
{
    uint64_t small[PRESENT_WORDS] = {0};
    struct members m = {c, node, node->objects, value, seen, small};
    size_t words = (node->objects->names.count + 63) / 64;
    bool ok;

    if (words <= PRESENT_WORDS)
        return object_check(&m);
    if (!mcpi_check_spend(c, words))
        return false;
    m.present = mcpi_alloc_zero(c->schema->mem, words * sizeof(*m.present));
    if (!m.present)
        return mcpi_check_stop(c, MCP_E_NOMEM, NULL);
    ok = object_check(&m);
    mcpi_free(c->schema->mem, m.present);
    return ok;
}

bool
mcpi_check_rest_of_object(struct mcpi_check *c, const struct mcpi_schema_node *node,
                          const yyjson_val *value, struct mcpi_seen *seen)
{
    const struct mcpi_schema_node *rest = node->objects->unevaluated;
    const yyjson_val *key = value + 1;
    bool ok = true;

    for (size_t i = 0; i < mcpi_yy_len(value); i++) {
        if (mcpi_seen_has(seen, i)) {
            key = mcpi_yy_next(key + 1);
            continue;
        }
        if (rest->never)
            ok = mcpi_check_fault(c, node, "unevaluatedProperties", key + 1,
                                  "is not a property the schema allows");
        else
            ok = mcpi_check_node(c, rest, key + 1, NULL) && ok;
        if (!ok && !mcpi_check_goes_on(c))
            return false;
        key = mcpi_yy_next(key + 1);
    }
    mcpi_seen_mark_all(seen);
    return ok;
}
