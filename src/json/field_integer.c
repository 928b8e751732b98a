/* field_integer.c - integers of every C type, exact from -2^63 to 2^64 - 1 */
#include <assert.h>
#include <string.h>

#include "json/field.h"

#define TWO_TO_63 9223372036854775808.0
#define TWO_TO_64 18446744073709551616.0

struct mcpi_integer
mcpi_integer_of(int64_t number)
{
    return (struct mcpi_integer){.negative = number < 0, .bits = (uint64_t)number};
}

bool
mcpi_integer_less(struct mcpi_integer a, struct mcpi_integer b)
{
    if (a.negative != b.negative)
        return a.negative;
    return a.bits < b.bits;
}

static int
integer_from_real(double number, struct mcpi_integer *ret)
{
    if (number >= 0 && number < TWO_TO_64 && (double)(uint64_t)number == number) {
        *ret = (struct mcpi_integer){.bits = (uint64_t)number};
        return 0;
    }
    if (number < 0 && number >= -TWO_TO_63 && (double)(int64_t)number == number) {
        *ret = mcpi_integer_of((int64_t)number);
        return 0;
    }
    return MCP_E_INVAL;
}

int
mcpi_integer_read(const mcp_json *value, struct mcpi_integer *ret)
{
    uint64_t big;
    int64_t number;

    if (mcp_json_get_type(value) == MCP_JSON_REAL)
        return integer_from_real(mcp_json_number(value, 0.5), ret);
    if (mcp_json_to_int64(value, &number) == 0) {
        *ret = mcpi_integer_of(number);
        return 0;
    }
    if (mcp_json_to_uint64(value, &big) < 0)
        return MCP_E_INVAL;
    *ret = (struct mcpi_integer){.bits = big};
    return 0;
}

void
mcpi_integer_write(struct mcpi_integer number, mcp_builder *b, const char *key)
{
    if (number.negative)
        mcp_builder_int(b, key, (int64_t)number.bits);
    else
        mcp_builder_uint(b, key, number.bits);
}

void
mcpi_integer_store(struct mcpi_integer number, void *into, size_t size)
{
    const uint8_t bits8 = (uint8_t)number.bits;
    const uint16_t bits16 = (uint16_t)number.bits;
    const uint32_t bits32 = (uint32_t)number.bits;

    switch (size) {
    case 1:
        memcpy(into, &bits8, 1);
        break;
    case 2:
        memcpy(into, &bits16, 2);
        break;
    case 4:
        memcpy(into, &bits32, 4);
        break;
    default:
        assert(size == 8);
        memcpy(into, &number.bits, 8);
    }
}

struct mcpi_integer
mcpi_integer_load(const void *from, size_t size, bool is_signed)
{
    uint64_t bits = 0;
    uint32_t bits32;
    uint16_t bits16;
    uint8_t bits8;

    switch (size) {
    case 1:
        memcpy(&bits8, from, 1);
        bits = is_signed ? (uint64_t)(int8_t)bits8 : bits8;
        break;
    case 2:
        memcpy(&bits16, from, 2);
        bits = is_signed ? (uint64_t)(int16_t)bits16 : bits16;
        break;
    case 4:
        memcpy(&bits32, from, 4);
        bits = is_signed ? (uint64_t)(int32_t)bits32 : bits32;
        break;
    default:
        assert(size == 8);
        memcpy(&bits, from, 8);
    }
    return (struct mcpi_integer){.negative = is_signed && bits >> 63, .bits = bits};
}

static void
range_of_type(const mcp_field *field, struct mcpi_integer *low,
              struct mcpi_integer *high)
{
    unsigned width = 8 * (unsigned)mcpi_field_item_size(field);
    uint64_t all = UINT64_MAX >> (64 - width);

    if (mcpi_field_item(field) == MCP_UINT) {
        *low = mcpi_integer_of(0);
        *high = (struct mcpi_integer){.bits = all};
    } else {
        *low = (struct mcpi_integer){.negative = true, .bits = ~(all >> 1)};
        *high = (struct mcpi_integer){.bits = all >> 1};
    }
}

static bool
raise_low(struct mcpi_integer *low, int64_t bound)
{
    if (mcpi_integer_less(mcpi_integer_of(bound), *low))
        return false;
    *low = mcpi_integer_of(bound);
    return true;
}

static bool
lower_high(struct mcpi_integer *high, int64_t bound)
{
    if (mcpi_integer_less(*high, mcpi_integer_of(bound)))
        return false;
    *high = mcpi_integer_of(bound);
    return true;
}

unsigned
mcpi_integer_range(const mcp_field *field, struct mcpi_integer *ret_low,
                   struct mcpi_integer *ret_high)
{
    bool is_narrow = mcpi_field_item_size(field) < 8;
    bool says_low = is_narrow || mcpi_field_item(field) == MCP_UINT;
    bool says_high = is_narrow;

    range_of_type(field, ret_low, ret_high);
    if (field->header) {
        says_low |= raise_low(ret_low, -MCPI_SAFE_INTEGER);
        says_high |= lower_high(ret_high, MCPI_SAFE_INTEGER);
    }
    if (field->minimum.type)
        says_low |= raise_low(ret_low, field->minimum.integer);
    if (field->maximum.type)
        says_high |= lower_high(ret_high, field->maximum.integer);
    return (says_low ? 1u : 0u) | (says_high ? 2u : 0u);
}
