/* schema_number.c - numbers by their mathematical value: order, divisibility */
#include "json/schema_number.h"

#include <math.h>

#include "json/value.h"

#define TWO_TO_63 9223372036854775808.0
#define TWO_TO_64 18446744073709551616.0

/* A real is written into a buffer on the stack; the shortest form has some 25 bytes. */
#define TEXT_MAX 512

bool
mcpi_number_is_integer(const yyjson_val *number)
{
    if (mcpi_yy_kind(number) != MCPI_YY_REAL)
        return true;
    return floor(number->uni.f64) == number->uni.f64;
}

/* ---- order ----------------------------------------------------------------- */

static bool
is_negative(const yyjson_val *integer)
{
    return mcpi_yy_kind(integer) == MCPI_YY_SINT && integer->uni.i64 < 0;
}

static int
integers_order(const yyjson_val *a, const yyjson_val *b)
{
    if (is_negative(a) != is_negative(b))
        return is_negative(a) ? -1 : 1;
    /* of two of one sign, the bits of int64 and uint64 have the same order */
    if (a->uni.u64 == b->uni.u64)
        return 0;
    return a->uni.u64 < b->uni.u64 ? -1 : 1;
}

static int
reals_order(double a, double b)
{
    return a < b ? -1 : a > b;
}

/* The integer part decides, and if it is equal, what stands after the point. */
static int
negative_order(int64_t integer, double real)
{
    int64_t whole;

    if (real < -TWO_TO_63)
        return 1;
    if (real >= 0)
        return -1;
    whole = (int64_t)real; /* towards 0 */
    if (integer != whole)
        return integer < whole ? -1 : 1;
    return reals_order((double)whole, real);
}

static int
positive_order(uint64_t integer, double real)
{
    uint64_t whole;

    if (real >= TWO_TO_64)
        return -1;
    if (real < 0)
        return 1;
    whole = (uint64_t)real;
    if (integer != whole)
        return integer < whole ? -1 : 1;
    return reals_order((double)whole, real);
}

static int
mixed_order(const yyjson_val *integer, double real)
{
    if (is_negative(integer))
        return negative_order(integer->uni.i64, real);
    return positive_order(integer->uni.u64, real);
}

int
mcpi_number_order(const yyjson_val *a, const yyjson_val *b)
{
    bool a_real = mcpi_yy_kind(a) == MCPI_YY_REAL;
    bool b_real = mcpi_yy_kind(b) == MCPI_YY_REAL;

    if (a_real && b_real)
        return reals_order(a->uni.f64, b->uni.f64);
    if (a_real)
        return -mixed_order(b, a->uni.f64);
    if (b_real)
        return mixed_order(a, b->uni.f64);
    return integers_order(a, b);
}

/* ---- divisibility ---------------------------------------------------------- */

/* "-1.25e-7": at most 17 digits, so they fit; but for the zeros at the end of 1e20,
 * which is written out. They go into the exponent. */
static struct mcpi_decimal
text_decimal(const char *text)
{
    struct mcpi_decimal decimal = {0, 0};
    bool after_point = false;
    int exponent = 0, sign = 1, zeros = 0;

    for (; *text && *text != 'e' && *text != 'E'; text++) {
        if (*text == '.')
            after_point = true;
        if (*text < '0' || *text > '9')
            continue;
        decimal.exponent -= after_point;
        zeros++;
        if (*text == '0')
            continue;
        for (; zeros > 0; zeros--)
            decimal.digits *= 10;
        decimal.digits += (uint64_t)(*text - '0');
    }
    decimal.exponent += zeros;
    if (*text)
        text++;
    if (*text == '-')
        sign = -1;
    for (; *text; text++) {
        if (*text >= '0' && *text <= '9')
            exponent = exponent * 10 + (*text - '0');
    }
    decimal.exponent += sign * exponent;
    return decimal;
}

static void *
stack_alloc(void *user, size_t size)
{
    return size <= TEXT_MAX ? user : NULL;
}

static void *
stack_realloc(void *user, void *ptr, size_t size)
{
    (void)ptr;
    return stack_alloc(user, size);
}

static void
stack_free(void *user, void *ptr)
{
    (void)user;
    (void)ptr;
}

static struct mcpi_decimal
real_decimal(double real)
{
    char text[TEXT_MAX];
    const mcp_allocator stack = {stack_alloc, stack_realloc, stack_free, text};
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, &stack, TEXT_MAX);
    (void)mcpi_json_write_real(&buf, real); /* parsed, so it is finite; and it fits */
    mcpi_buf_char(&buf, '\0');
    return buf.status < 0 ? (struct mcpi_decimal){0, 0} : text_decimal(text);
}

struct mcpi_decimal
mcpi_number_decimal(const yyjson_val *number)
{
    if (mcpi_yy_kind(number) == MCPI_YY_REAL)
        return real_decimal(number->uni.f64);
    if (is_negative(number))
        return (struct mcpi_decimal){0 - number->uni.u64, 0};
    return (struct mcpi_decimal){number->uni.u64, 0};
}

/* a * b mod m, without a wider type. */
static uint64_t
multiply_mod(uint64_t a, uint64_t b, uint64_t m)
{
    uint64_t sum = 0;

    a %= m;
    for (; b > 0; b >>= 1) {
        if (b & 1)
            sum = sum >= m - a ? sum - (m - a) : sum + a;
        a = a >= m - a ? a - (m - a) : a + a;
    }
    return sum;
}

static uint64_t
power_of_ten_mod(int exponent, uint64_t m)
{
    uint64_t power = 1 % m, base = 10 % m;

    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            power = multiply_mod(power, base, m);
        base = multiply_mod(base, base, m);
    }
    return power;
}

bool
mcpi_decimal_divides(struct mcpi_decimal divisor, struct mcpi_decimal number)
{
    int shift = number.exponent - divisor.exponent;

    if (number.digits == 0)
        return true;
    if (shift >= 0)
        return multiply_mod(power_of_ten_mod(shift, divisor.digits), number.digits,
                            divisor.digits) == 0;
    for (; shift < 0; shift++) {
        if (number.digits % 10 != 0)
            return false;
        number.digits /= 10;
    }
    return number.digits % divisor.digits == 0;
}

/* ---- counts ---------------------------------------------------------------- */

int
mcpi_number_count(const yyjson_val *number, uint64_t *ret_count)
{
    double real;

    if (mcpi_yy_type(number) != YYJSON_TYPE_NUM || !mcpi_number_is_integer(number))
        return MCP_E_INVAL;
    if (mcpi_yy_kind(number) != MCPI_YY_REAL) {
        if (is_negative(number))
            return MCP_E_INVAL;
        *ret_count = number->uni.u64;
        return 0;
    }
    real = number->uni.f64;
    if (real < 0)
        return MCP_E_INVAL;
    *ret_count = real >= TWO_TO_64 ? UINT64_MAX : (uint64_t)real;
    return 0;
}
