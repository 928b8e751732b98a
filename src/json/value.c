/* value.c - reading values, and whether two are the same */
#include "json/value.h"

#include <string.h>

#include "base/mem.h"
#include "json/yy.h"

#define TWO_TO_63 9223372036854775808.0
#define TWO_TO_64 18446744073709551616.0

enum mcp_json_type
mcp_json_get_type(const mcp_json *value)
{
    if (!value)
        return MCP_JSON_ABSENT;
    switch (mcpi_yy_type(mcpi_yy(value))) {
    case YYJSON_TYPE_NULL:
        return MCP_JSON_NULL;
    case YYJSON_TYPE_BOOL:
        return MCP_JSON_BOOL;
    case YYJSON_TYPE_NUM:
        return mcpi_yy_kind(mcpi_yy(value)) == MCPI_YY_REAL ? MCP_JSON_REAL
                                                            : MCP_JSON_INTEGER;
    case YYJSON_TYPE_STR:
        return MCP_JSON_STRING;
    case YYJSON_TYPE_ARR:
        return MCP_JSON_ARRAY;
    case YYJSON_TYPE_OBJ:
        return MCP_JSON_OBJECT;
    default:
        return MCP_JSON_ABSENT;
    }
}

static bool
is_type(const mcp_json *value, unsigned type)
{
    return value && mcpi_yy_type(mcpi_yy(value)) == type;
}

static bool
is_kind(const mcp_json *value, unsigned kind)
{
    return value && mcpi_yy_kind(mcpi_yy(value)) == kind;
}

static bool
string_is(const yyjson_val *string, const char *text, size_t len)
{
    return mcpi_yy_len(string) == len && memcmp(string->uni.str, text, len) == 0;
}

const mcp_json *
mcp_json_get(const mcp_json *object, const char *key)
{
    return key ? mcp_json_get_n(object, key, strlen(key)) : NULL;
}

const mcp_json *
mcp_json_get_n(const mcp_json *object, const char *key, size_t length)
{
    const yyjson_val *at;

    if (!is_type(object, YYJSON_TYPE_OBJ) || (!key && length > 0))
        return NULL;
    at = mcpi_yy(object) + 1;
    for (size_t i = mcp_json_count(object); i > 0; i--) {
        if (string_is(at, key ? key : "", length))
            return mcpi_yy_json(at + 1);
        at = mcpi_yy_next(at + 1);
    }
    return NULL;
}

const mcp_json *
mcp_json_at(const mcp_json *array, size_t index)
{
    const yyjson_val *at;

    if (!is_type(array, YYJSON_TYPE_ARR) || index >= mcp_json_count(array))
        return NULL;
    at = mcpi_yy(array) + 1;
    for (; index > 0; index--)
        at = mcpi_yy_next(at);
    return mcpi_yy_json(at);
}

const mcp_json *
mcp_json_find(const mcp_json *array, const char *key, const char *text)
{
    mcp_json_iterator it;

    if (!is_type(array, YYJSON_TYPE_ARR))
        return NULL;
    for (it = mcp_json_each(array); mcp_json_next(&it);)
        if (mcp_json_is_string(mcp_json_get(it.value, key), text))
            return it.value;
    return NULL;
}

size_t
mcp_json_count(const mcp_json *value)
{
    if (!value || !mcpi_yy_is_container(mcpi_yy(value)))
        return 0;
    return mcpi_yy_len(mcpi_yy(value));
}

bool
mcp_json_bool(const mcp_json *value, bool fallback)
{
    if (!is_type(value, YYJSON_TYPE_BOOL))
        return fallback;
    return is_kind(value, MCPI_YY_TRUE);
}

double
mcp_json_number(const mcp_json *value, double fallback)
{
    if (is_kind(value, MCPI_YY_REAL))
        return mcpi_yy(value)->uni.f64;
    if (is_kind(value, MCPI_YY_UINT))
        return (double)mcpi_yy(value)->uni.u64;
    if (is_kind(value, MCPI_YY_SINT))
        return (double)mcpi_yy(value)->uni.i64;
    return fallback;
}

int64_t
mcp_json_int(const mcp_json *value, int64_t fallback)
{
    int64_t number;

    return mcp_json_to_int64(value, &number) == 0 ? number : fallback;
}

const char *
mcp_json_string(const mcp_json *value, const char *fallback)
{
    return is_type(value, YYJSON_TYPE_STR) ? mcpi_yy(value)->uni.str : fallback;
}

size_t
mcp_json_string_length(const mcp_json *value)
{
    return is_type(value, YYJSON_TYPE_STR) ? mcpi_yy_len(mcpi_yy(value)) : 0;
}

bool
mcp_json_is_string(const mcp_json *value, const char *text)
{
    if (!is_type(value, YYJSON_TYPE_STR) || !text)
        return false;
    return string_is(mcpi_yy(value), text, strlen(text));
}

int
mcp_json_to_int64(const mcp_json *value, int64_t *ret_number)
{
    if (!ret_number)
        return MCP_E_INVAL;
    if (is_kind(value, MCPI_YY_SINT)) {
        *ret_number = mcpi_yy(value)->uni.i64;
        return 0;
    }
    if (!is_kind(value, MCPI_YY_UINT) || mcpi_yy(value)->uni.u64 > INT64_MAX)
        return MCP_E_INVAL;
    *ret_number = (int64_t)mcpi_yy(value)->uni.u64;
    return 0;
}

int
mcp_json_to_uint64(const mcp_json *value, uint64_t *ret_number)
{
    if (!ret_number)
        return MCP_E_INVAL;
    if (is_kind(value, MCPI_YY_UINT)) {
        *ret_number = mcpi_yy(value)->uni.u64;
        return 0;
    }
    if (!is_kind(value, MCPI_YY_SINT) || mcpi_yy(value)->uni.i64 < 0)
        return MCP_E_INVAL;
    *ret_number = (uint64_t)mcpi_yy(value)->uni.i64;
    return 0;
}

/* ---- equality -------------------------------------------------------------- */

/* Exactly: a double is an integer's equal only if it is that integer. */
static bool
real_is_int(double real, int64_t number)
{
    return real >= -TWO_TO_63 && real < TWO_TO_63 && (int64_t)real == number &&
           (double)(int64_t)real == real;
}

static bool
real_is_uint(double real, uint64_t number)
{
    return real >= 0 && real < TWO_TO_64 && (uint64_t)real == number &&
           (double)(uint64_t)real == real;
}

static bool
real_is_number(double real, const yyjson_val *number)
{
    switch (mcpi_yy_kind(number)) {
    case MCPI_YY_REAL:
        return real == number->uni.f64;
    case MCPI_YY_SINT:
        return real_is_int(real, number->uni.i64);
    default:
        return real_is_uint(real, number->uni.u64);
    }
}

static bool
numbers_equal(const yyjson_val *a, const yyjson_val *b)
{
    if (mcpi_yy_kind(a) == MCPI_YY_REAL)
        return real_is_number(a->uni.f64, b);
    if (mcpi_yy_kind(b) == MCPI_YY_REAL)
        return real_is_number(b->uni.f64, a);
    /* signed is negative, or equal as bits: one payload means one integer then */
    if (mcpi_yy_kind(a) != mcpi_yy_kind(b) && (a->uni.i64 < 0 || b->uni.i64 < 0))
        return false;
    return a->uni.u64 == b->uni.u64;
}

static bool
strings_equal(const yyjson_val *a, const yyjson_val *b)
{
    return string_is(a, b->uni.str, mcpi_yy_len(b));
}

static bool values_equal(const yyjson_val *a, const yyjson_val *b);

static bool
arrays_equal(const yyjson_val *a, const yyjson_val *b)
{
    size_t count = mcpi_yy_len(a);

    a++;
    b++;
    for (; count > 0; count--) {
        if (!values_equal(a, b))
            return false;
        a = mcpi_yy_next(a);
        b = mcpi_yy_next(b);
    }
    return true;
}

/* Order of keys; equal ones by their place, so that the nth of one object meets the nth
 * of the other. */
static bool
key_is_before(const yyjson_val *a, const yyjson_val *b)
{
    size_t a_len = mcpi_yy_len(a), b_len = mcpi_yy_len(b);
    int order;

    if (a_len != b_len)
        return a_len < b_len;
    order = memcmp(a->uni.str, b->uni.str, a_len);
    return order ? order < 0 : a < b;
}

static void
keys_sift(const yyjson_val **keys, size_t at, size_t count)
{
    const yyjson_val *moved = keys[at];
    size_t child = 2 * at + 1;

    while (child < count) {
        if (child + 1 < count && key_is_before(keys[child], keys[child + 1]))
            child++;
        if (!key_is_before(moved, keys[child]))
            break;
        keys[at] = keys[child];
        at = child;
        child = 2 * at + 1;
    }
    keys[at] = moved;
}

static void
keys_sort(const yyjson_val **keys, const yyjson_val *object)
{
    size_t count = mcpi_yy_len(object);
    const yyjson_val *key = object + 1;

    for (size_t i = 0; i < count; i++) {
        keys[i] = key;
        key = mcpi_yy_next(key + 1);
    }
    for (size_t i = count / 2; i > 0; i--)
        keys_sift(keys, i - 1, count);
    for (size_t i = count - 1; i > 0; i--) {
        key = keys[i];
        keys[i] = keys[0];
        keys[0] = key;
        keys_sift(keys, 0, i);
    }
}

/* The nth member of that key, counted from 0; NULL if there are fewer. */
static const yyjson_val *
member_find(const yyjson_val *object, const yyjson_val *wanted, size_t nth)
{
    const yyjson_val *key = object + 1;

    for (size_t i = mcpi_yy_len(object); i > 0; i--) {
        if (strings_equal(key, wanted) && nth-- == 0)
            return key;
        key = mcpi_yy_next(key + 1);
    }
    return NULL;
}

/* How many members before this one have its key? */
static size_t
member_rank(const yyjson_val *object, const yyjson_val *member)
{
    size_t rank = 0;

    for (const yyjson_val *key = object + 1; key < member; key = mcpi_yy_next(key + 1))
        rank += strings_equal(key, member);
    return rank;
}

static bool
objects_equal_pairwise(const yyjson_val *a, const yyjson_val *b)
{
    const yyjson_val *key = a + 1;
    const yyjson_val *other;

    for (size_t i = mcpi_yy_len(a); i > 0; i--) {
        other = member_find(b, key, member_rank(a, key));
        if (!other || !values_equal(key + 1, other + 1))
            return false;
        key = mcpi_yy_next(key + 1);
    }
    return true;
}

static bool
objects_equal_sorted(const yyjson_val *a, const yyjson_val *b)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(NULL);
    size_t count = mcpi_yy_len(a);
    const yyjson_val **keys = mcpi_alloc(mem, 2 * count * sizeof(*keys));
    bool equal = true;

    if (!keys)
        return objects_equal_pairwise(a, b); /* slow, and right */
    keys_sort(keys, a);
    keys_sort(keys + count, b);
    for (size_t i = 0; equal && i < count; i++)
        equal = strings_equal(keys[i], keys[count + i]);
    for (size_t i = 0; equal && i < count; i++)
        equal = values_equal(keys[i] + 1, keys[count + i] + 1);
    mcpi_free(mem, keys);
    return equal;
}

static bool
keys_in_same_order(const yyjson_val *a, const yyjson_val *b)
{
    size_t count = mcpi_yy_len(a);

    a++;
    b++;
    for (; count > 0; count--) {
        if (!strings_equal(a, b))
            return false;
        a = mcpi_yy_next(a + 1);
        b = mcpi_yy_next(b + 1);
    }
    return true;
}

static bool
objects_equal(const yyjson_val *a, const yyjson_val *b)
{
    size_t count = mcpi_yy_len(a);

    if (!keys_in_same_order(a, b))
        return count <= MCPI_YY_PAIRWISE ? objects_equal_pairwise(a, b)
                                         : objects_equal_sorted(a, b);
    a++;
    b++;
    for (; count > 0; count--) {
        if (!values_equal(a + 1, b + 1))
            return false;
        a = mcpi_yy_next(a + 1);
        b = mcpi_yy_next(b + 1);
    }
    return true;
}

/* Recurses, but no deeper than MCPI_JSON_DEPTH_MAX: no document is. */
static bool
values_equal(const yyjson_val *a, const yyjson_val *b)
{
    if (mcpi_yy_type(a) != mcpi_yy_type(b))
        return false;
    if (mcpi_yy_type(a) == YYJSON_TYPE_NUM)
        return numbers_equal(a, b);
    if (mcpi_yy_type(a) == YYJSON_TYPE_STR)
        return strings_equal(a, b);
    if (!mcpi_yy_is_container(a))
        return a->tag == b->tag;
    if (mcpi_yy_len(a) != mcpi_yy_len(b))
        return false;
    if (mcpi_yy_type(a) == YYJSON_TYPE_ARR)
        return arrays_equal(a, b);
    return objects_equal(a, b);
}

bool
mcp_json_equal(const mcp_json *a, const mcp_json *b)
{
    if (!a || !b)
        return a == b;
    return values_equal(mcpi_yy(a), mcpi_yy(b));
}

/* ---- walking --------------------------------------------------------------- */

mcp_json_iterator
mcp_json_each(const mcp_json *value)
{
    mcp_json_iterator it = {.index = SIZE_MAX, .count = mcp_json_count(value)};

    if (it.count == 0)
        return it;
    it.cursor = mcpi_yy(value) + 1;
    it.key = is_type(value, YYJSON_TYPE_OBJ) ? value : NULL; /* until the first step */
    return it;
}

bool
mcp_json_next(mcp_json_iterator *it)
{
    const yyjson_val *at;

    if (!it)
        return false;
    if (it->index + 1 >= it->count) {
        it->key = NULL;
        it->value = NULL;
        return false;
    }
    at = it->cursor;
    it->index++; /* from SIZE_MAX to 0 on the first step */
    if (it->key) {
        it->key = mcpi_yy_json(at);
        at++;
    }
    it->value = mcpi_yy_json(at);
    it->cursor = mcpi_yy_next(at);
    return true;
}
