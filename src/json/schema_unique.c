/*
 * schema_unique.c - uniqueItems in n log n
 *
 * Each element gets a hash that equal values share, the hashes are sorted, and only
 * elements of one hash are compared. The seed is no secret: many values of one 64-bit
 * hash are hard to find, and comparing them is paid for in steps.
 */
#include "base/map.h"
#include "base/mem.h"
#include "json/schema_check.h"

/* Up to so many values in it, an array's elements are compared pair by pair. */
#define PAIRWISE_MAX 16

struct item {
    uint64_t hash;
    const yyjson_val *value;
};

static uint64_t
mix(uint64_t a, uint64_t b)
{
    static const uint64_t seed[2] = {0, 0};
    const uint64_t both[2] = {a, b};

    return mcpi_siphash(seed, both, sizeof(both));
}

static uint64_t
bytes_hash(const yyjson_val *string)
{
    static const uint64_t seed[2] = {0, 0};

    return mcpi_siphash(seed, string->uni.str, mcpi_yy_len(string));
}

/* An integer, and a real that is one, the same. */
static uint64_t
number_hash(const yyjson_val *number)
{
    double real;

    if (mcpi_yy_kind(number) != MCPI_YY_REAL)
        return mix(YYJSON_TYPE_NUM, number->uni.u64);
    real = number->uni.f64;
    if (mcpi_number_is_integer(number) && real >= -9223372036854775808.0 && real < 0)
        return mix(YYJSON_TYPE_NUM, (uint64_t)(int64_t)real);
    if (mcpi_number_is_integer(number) && real >= 0 && real < 18446744073709551616.0)
        return mix(YYJSON_TYPE_NUM, (uint64_t)real);
    return mix(YYJSON_TYPE_NUM + 1, number->uni.u64);
}

static uint64_t value_hash(const yyjson_val *value);

static uint64_t
array_hash(const yyjson_val *array)
{
    const yyjson_val *at = array + 1;
    uint64_t hash = YYJSON_TYPE_ARR;

    for (size_t i = mcpi_yy_len(array); i > 0; i--) {
        hash = mix(hash, value_hash(at));
        at = mcpi_yy_next(at);
    }
    return hash;
}

/* The order of the members does not count, so theirs are added up. */
static uint64_t
object_hash(const yyjson_val *object)
{
    const yyjson_val *key = object + 1;
    uint64_t sum = 0;

    for (size_t i = mcpi_yy_len(object); i > 0; i--) {
        sum += mix(bytes_hash(key), value_hash(key + 1));
        key = mcpi_yy_next(key + 1);
    }
    return mix(YYJSON_TYPE_OBJ, sum);
}

/* Recursion as deep as the document, which is 256 at most. */
static uint64_t
value_hash(const yyjson_val *value)
{
    switch (mcpi_yy_type(value)) {
    case YYJSON_TYPE_NUM:
        return number_hash(value);
    case YYJSON_TYPE_STR:
        return mix(YYJSON_TYPE_STR, bytes_hash(value));
    case YYJSON_TYPE_ARR:
        return array_hash(value);
    case YYJSON_TYPE_OBJ:
        return object_hash(value);
    default:
        return mix(mcpi_yy_kind(value), 0);
    }
}

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
    size_t size = (size_t)(mcpi_yy_next(array) - array);
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
        items[i] = (struct item){value_hash(at), at};
        at = mcpi_yy_next(at);
    }
    items_sort(items, count);
    unique = neighbours_differ(c, items, count);
    mcpi_free(c->schema->mem, items);
    return unique;
}
