/*
 * schema_unique.c - uniqueItems in n log n
 *
 * Each element gets a hash that equal values share, the hashes are sorted, and only
 * elements of one hash are compared. The seed is no secret: many values of one 64-bit
 * hash are hard to find, and comparing them is paid for in steps.
 */
#include "base/mem.h"
#include "json/hash.h"
#include "json/schema_check.h"

/* Up to so many values in it, an array's elements are compared pair by pair. */
#define PAIRWISE_MAX 16

struct item {
    uint64_t hash;
    const yyjson_val *value;
};

static void
items_sift(struct item *items, size_t at, size_t count)
{
    struct item moved = items[at];
    size_t child = 2 * at + 1;

    while (child < count) {
        if (child + 1 < count && items[child + 1].hash > items[child].hash)
            child++;
        if (items[child].hash <= moved.hash)
            break;
        items[at] = items[child];
        at = child;
        child = 2 * at + 1;
    }
    items[at] = moved;
}

/* A heap sort: strangers choose the order, and this one has no bad one. */
static void
items_sort(struct item *items, size_t count)
{
    struct item last;

    for (size_t i = count / 2; i > 0; i--)
        items_sift(items, i - 1, count);
    for (size_t i = count; i > 1; i--) {
        last = items[i - 1];
        items[i - 1] = items[0];
        items[0] = last;
        items_sift(items, 0, i - 1);
    }
}

static bool
is_same(struct mcpi_check *c, const yyjson_val *a, const yyjson_val *b)
{
    if (mcpi_yy_type(a) != mcpi_yy_type(b) || !mcpi_check_spend_value(c, a))
        return false;
    return mcp_json_equal(mcpi_yy_json(a), mcpi_yy_json(b));
}

static bool
neighbours_differ(struct mcpi_check *c, const struct item *items, size_t count)
{
    for (size_t i = 1; i < count && c->status == 0; i++) {
        for (size_t j = i; j > 0 && items[j - 1].hash == items[i].hash; j--) {
            if (is_same(c, items[j - 1].value, items[i].value))
                return false;
        }
    }
    return true;
}

static bool
pairs_differ(struct mcpi_check *c, const yyjson_val *array)
{
    const yyjson_val *end = mcpi_yy_next(array);

    for (const yyjson_val *a = array + 1; a < end; a = mcpi_yy_next(a)) {
        for (const yyjson_val *b = mcpi_yy_next(a); b < end; b = mcpi_yy_next(b)) {
            if (is_same(c, a, b))
                return false;
        }
    }
    return true;
}

bool
mcpi_check_unique(struct mcpi_check *c, const yyjson_val *array)
{
    size_t count = mcpi_yy_len(array);
    size_t size = mcpi_json_values(mcpi_yy_json(array));
    static const uint64_t no_secret[2] = {0, 0};
    const yyjson_val *at = array + 1;
    struct item *items;
    bool unique;

    if (count < 2)
        return true;
    if (size <= PAIRWISE_MAX)
        return pairs_differ(c, array);
    if (!mcpi_check_spend_value(c, array))
        return false;
    items = mcpi_alloc(c->schema->mem, count * sizeof(*items));
    if (!items)
        return mcpi_check_stop(c, MCP_E_NOMEM, NULL);
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct item){mcpi_json_hash(no_secret, mcpi_yy_json(at)), at};
        at = mcpi_yy_next(at);
    }
    items_sort(items, count);
    unique = neighbours_differ(c, items, count);
    mcpi_free(c->schema->mem, items);
    return unique;
}
