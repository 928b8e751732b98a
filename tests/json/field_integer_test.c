/* json/field_integer_test.c - proves json/field_integer.c: exact in every C type */
#include "json/field_fixture.h"

static int
read_text(const char *text, struct mcpi_integer *ret)
{
    mcp_doc *doc = parse(text);
    int r = mcpi_integer_read(mcp_doc_root(doc), ret);

    mcp_doc_free(doc);
    return r;
}

static void
assert_reads(const char *text, bool negative, uint64_t bits)
{
    struct mcpi_integer number = {0};

    assert_int_equal(read_text(text, &number), 0);
    assert_int_equal(number.negative, negative);
    assert_true(number.bits == bits);
}

static void
integers_of_64_bits_are_read_exactly(void **state)
{
    (void)state;
    assert_reads("0", false, 0);
    assert_reads("-1", true, UINT64_MAX);
    assert_reads("-9223372036854775808", true, (uint64_t)INT64_MIN);
    assert_reads("18446744073709551615", false, UINT64_MAX);
    assert_reads("9007199254740993", false, UINT64_C(9007199254740993));
}

static void
reals_without_fraction_are_integers(void **state)
{
    (void)state;
    assert_reads("1.0", false, 1);
    assert_reads("-2e3", true, (uint64_t)-2000);
    assert_reads("-0.0", false, 0);
    assert_reads("-9223372036854775808.0", true, (uint64_t)INT64_MIN);
    assert_reads("1.8446744073709550e19", false, UINT64_C(18446744073709549568));
}

static void
other_values_are_no_integers(void **state)
{
    const char *const texts[] = {"1.5",   "-0.25", "1e300", "18446744073709551616",
                                 "\"1\"", "null",  "true",  "-9223372036854777856.0"};
    struct mcpi_integer number;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (read_text(texts[i], &number) != MCP_E_INVAL)
            fail_msg("%s", texts[i]);
    }
}

static void
order_goes_over_signs(void **state)
{
    const struct mcpi_integer rising[] = {
        mcpi_integer_of(INT64_MIN), mcpi_integer_of(-2), mcpi_integer_of(-1),
        mcpi_integer_of(0),         mcpi_integer_of(1),  {.bits = UINT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        for (size_t j = 0; j < 6; j++)
            assert_int_equal(mcpi_integer_less(rising[i], rising[j]), i < j);
    }
}

static void
what_is_stored_is_loaded_in_each_size(void **state)
{
    const int64_t lowest[] = {INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN};

    (void)state;
    for (int i = 0; i < 4; i++) {
        size_t size = (size_t)1 << i;
        struct mcpi_integer low = mcpi_integer_of(lowest[i]), back;
        unsigned char bytes[8];

        mcpi_integer_store(low, bytes, size);
        back = mcpi_integer_load(bytes, size, true);
        assert_true(back.negative && back.bits == low.bits);
        memset(bytes, 0xFF, sizeof bytes);
        back = mcpi_integer_load(bytes, size, false);
        assert_true(!back.negative && back.bits == UINT64_MAX >> (64 - 8 * size));
    }
}

static void
range_is_the_narrowest_of_type_bounds_and_header(void **state)
{
    mcp_field field = {.type = MCP_INT, .size = 8};
    struct mcpi_integer low, high;

    (void)state;
    assert_int_equal(mcpi_integer_range(&field, &low, &high), 0);
    assert_true(low.bits == (uint64_t)INT64_MIN && high.bits == INT64_MAX);
    field.header = "X";
    assert_int_equal(mcpi_integer_range(&field, &low, &high), 3);
    assert_true((int64_t)low.bits == -MCPI_SAFE_INTEGER);
    assert_true(high.bits == MCPI_SAFE_INTEGER);
    field.maximum = (mcp_constant){.type = MCP_INT, .integer = -5};
    assert_int_equal(mcpi_integer_range(&field, &low, &high), 3);
    assert_true(high.negative && (int64_t)high.bits == -5);
    field = (mcp_field){.type = MCP_UINT, .size = 8};
    assert_int_equal(mcpi_integer_range(&field, &low, &high), 1);
    assert_true(low.bits == 0 && high.bits == UINT64_MAX);
    field.size = 2;
    assert_int_equal(mcpi_integer_range(&field, &low, &high), 3);
    assert_int_equal(high.bits, 65535);
}

TEST_MAIN(TEST(integers_of_64_bits_are_read_exactly),
          TEST(reals_without_fraction_are_integers), TEST(other_values_are_no_integers),
          TEST(order_goes_over_signs), TEST(what_is_stored_is_loaded_in_each_size),
          TEST(range_is_the_narrowest_of_type_bounds_and_header))
