/*
 * schema_number.h - numbers by their mathematical value
 *
 * Integers are exact. A real counts as the decimal that its text most likely was: the
 * shortest one that reads as the same double. So 19.99 is a multiple of 0.01.
 */
#ifndef MCPI_JSON_SCHEMA_NUMBER_H
#define MCPI_JSON_SCHEMA_NUMBER_H

#include "json/yy.h"

/* digits * 10^exponent, without a sign: divisibility does not ask for it. */
struct mcpi_decimal {
    uint64_t digits;
    int exponent;
};

/* All take numbers only. */
bool mcpi_number_is_integer(const yyjson_val *number);           /* 1.0 and 1e300 are */
int mcpi_number_order(const yyjson_val *a, const yyjson_val *b); /* <0, 0, >0 */
struct mcpi_decimal mcpi_number_decimal(const yyjson_val *number);

/* divisor.digits is not 0. */
bool mcpi_decimal_divides(struct mcpi_decimal divisor, struct mcpi_decimal number);

/* As a count, which is an integer from 0 on: MCP_E_INVAL if it is none. Larger than
 * uint64 counts as UINT64_MAX. */
int mcpi_number_count(const yyjson_val *number, uint64_t *ret_count);

#endif
