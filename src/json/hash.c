/* hash.c - a hash that equal values share */
#include "json/hash.h"

#include "base/map.h"
#include "json/schema_number.h"
#include "json/value.h"
#include "json/yy.h"

/* What a hash begins with, so that values of two types share none. */
enum kind { REAL = 16, NEGATIVE, ORDERED };

uint64_t
mcpi_json_hash_pair(const uint64_t key[2], uint64_t a, uint64_t b)
{
    unsigned char both[16]; /* the same on every machine: hashes may travel */

    for (int i = 0; i < 8; i++) {
        both[i] = (unsigned char)(a >> (8 * i));
        both[8 + i] = (unsigned char)(b >> (8 * i));
    }
    return mcpi_siphash(key, both, sizeof(both));
}

static uint64_t
string_hash(const uint64_t key[2], const yyjson_val *string)
{
    return mcpi_siphash(key, string->uni.str, mcpi_yy_len(string));
}

static uint64_t
integer_hash(const uint64_t key[2], uint64_t bits, bool negative)
{
    return mcpi_json_hash_pair(key, negative ? (uint64_t)NEGATIVE : YYJSON_TYPE_NUM,
                               bits);
}

/* An integer, and a real that is one, the same. */
static uint64_t
number_hash(const uint64_t key[2], const yyjson_val *number)
{
    double real;

    if (mcpi_yy_kind(number) != MCPI_YY_REAL)
        return integer_hash(key, number->uni.u64,
                            mcpi_yy_kind(number) == MCPI_YY_SINT &&
                                number->uni.i64 < 0);
    real = number->uni.f64;
    if (mcpi_number_is_integer(number) && real >= -9223372036854775808.0 && real < 0)
        return integer_hash(key, (uint64_t)(int64_t)real, true);
    if (mcpi_number_is_integer(number) && real >= 0 && real < 18446744073709551616.0)
        return integer_hash(key, (uint64_t)real, false);
    return mcpi_json_hash_pair(key, REAL, number->uni.u64);
}

static uint64_t value_hash(const uint64_t key[2], const yyjson_val *value);

static uint64_t
array_hash(const uint64_t key[2], const yyjson_val *array)
{
    const yyjson_val *at = array + 1;
    uint64_t hash = YYJSON_TYPE_ARR;

    for (size_t i = mcpi_yy_len(array); i > 0; i--) {
        hash = mcpi_json_hash_pair(key, hash, value_hash(key, at));
        at = mcpi_yy_next(at);
    }
    return hash;
}

/* Members are added up, so that their order does not count, unless it has to. */
static uint64_t
object_hash(const uint64_t key[2], const yyjson_val *object)
{
    bool ordered = mcpi_json_has_duplicates(mcpi_yy_json(object));
    const yyjson_val *name = object + 1;
    uint64_t hash = 0, member;

    for (size_t i = mcpi_yy_len(object); i > 0; i--) {
        member = mcpi_json_hash_pair(key, string_hash(key, name),
                                     value_hash(key, name + 1));
        hash = ordered ? mcpi_json_hash_pair(key, hash, member) : hash + member;
        name = mcpi_yy_next(name + 1);
    }
    return mcpi_json_hash_pair(key, ordered ? (uint64_t)ORDERED : YYJSON_TYPE_OBJ,
                               hash);
}

/* Recursion as deep as the document, which is 256 at most. */
static uint64_t
value_hash(const uint64_t key[2], const yyjson_val *value)
{
    switch (mcpi_yy_type(value)) {
    case YYJSON_TYPE_NUM:
        return number_hash(key, value);
    case YYJSON_TYPE_STR:
        return mcpi_json_hash_pair(key, YYJSON_TYPE_STR, string_hash(key, value));
    case YYJSON_TYPE_ARR:
        return array_hash(key, value);
    case YYJSON_TYPE_OBJ:
        return object_hash(key, value);
    default:
        return mcpi_json_hash_pair(key, mcpi_yy_kind(value), 0);
    }
}

uint64_t
mcpi_json_hash(const uint64_t key[2], const mcp_json *value)
{
    return value ? value_hash(key, mcpi_yy(value)) : 0;
}

size_t
mcpi_json_values(const mcp_json *value)
{
    const yyjson_val *v = mcpi_yy(value);

    return v ? (size_t)(mcpi_yy_next(v) - v) : 0;
}
