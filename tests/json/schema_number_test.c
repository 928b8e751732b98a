/* json/schema_number_test.c - proves json/schema_number.c: exact order and divisibility */
#include "json/schema_number.h"

#include "json/schema_fixture.h"

static int
order(const char *a, const char *b)
{
    mcp_doc *x = doc_of(a), *y = doc_of(b);
    int forward = mcpi_number_order(mcpi_yy(mcp_doc_root(x)), mcpi_yy(mcp_doc_root(y)));
    int back = mcpi_number_order(mcpi_yy(mcp_doc_root(y)), mcpi_yy(mcp_doc_root(x)));

    assert_int_equal(forward > 0, back < 0);
    assert_int_equal(forward == 0, back == 0);
    mcp_doc_free(x);
    mcp_doc_free(y);
    return forward;
}

static bool
divides(const char *divisor, const char *number)
{
    mcp_doc *x = doc_of(divisor), *y = doc_of(number);
    bool is = mcpi_decimal_divides(mcpi_number_decimal(mcpi_yy(mcp_doc_root(x))),
                                   mcpi_number_decimal(mcpi_yy(mcp_doc_root(y))));

    mcp_doc_free(x);
    mcp_doc_free(y);
    return is;
}

static int
count(const char *text, uint64_t *ret)
{
    mcp_doc *doc = doc_of(text);
    int r = mcpi_number_count(mcpi_yy(mcp_doc_root(doc)), ret);

    mcp_doc_free(doc);
    return r;
}

static void
order_is_exact_between_integers_and_reals(void **state)
{
    (void)state;
    assert_true(order("1", "2") < 0);
    assert_true(order("-1", "1") < 0);
    assert_true(order("-2", "-1") < 0);
    assert_int_equal(order("1", "1.0"), 0);
    assert_true(order("1", "1.5") < 0);
    assert_true(order("-1", "-1.5") > 0);
    assert_true(order("9007199254740993", "9007199254740992.0") > 0);
    assert_true(order("18446744073709551615", "18446744073709551616.0") < 0);
    assert_true(order("-9223372036854775808", "-9223372036854775809.0e1") > 0);
    assert_int_equal(order("-9223372036854775808", "-9223372036854775808.0"), 0);
    assert_true(order("9223372036854775807", "18446744073709551615") < 0);
    assert_true(order("1e300", "18446744073709551615") > 0);
    assert_true(order("-1e300", "-9223372036854775808") < 0);
    assert_true(order("1.5", "2.5") < 0);
    assert_int_equal(order("0", "-0.0"), 0);
    assert_true(order("0", "-0.5") > 0);
}

static void
divisibility_is_that_of_decimals(void **state)
{
    (void)state;
    assert_true(divides("0.01", "19.99"));
    assert_true(divides("0.0001", "0.0075"));
    assert_false(divides("0.0001", "0.00751"));
    assert_true(divides("1e-8", "12391239123"));
    assert_false(divides("0.123456789", "1e308"));
    assert_true(divides("2", "1e308"));
    assert_false(divides("3", "1e308"));
    assert_true(divides("1.5", "4.5"));
    assert_true(divides("2", "-4"));
    assert_false(divides("2", "-3.0"));
    assert_true(divides("9223372036854775807", "18446744073709551614"));
    assert_false(divides("9223372036854775807", "18446744073709551615"));
    assert_true(divides("18446744073709551615", "18446744073709551615"));
    assert_true(divides("-9223372036854775808", "-9223372036854775808"));
    assert_true(divides("7", "0"));
    assert_true(divides("0.3", "0.0"));
    assert_false(divides("1e300", "1e-300"));
    assert_true(divides("1e-300", "1e300"));
}

static void
integers_are_known_by_their_value(void **state)
{
    mcp_doc *doc = doc_of("[1, 1.0, 1e300, -0.0, 1.5, 1e-300]");
    const char *expected = "YYYYNN";
    mcp_json_iterator it;

    (void)state;
    for (it = mcp_json_each(mcp_doc_root(doc)); mcp_json_next(&it); expected++)
        assert_int_equal(mcpi_number_is_integer(mcpi_yy(it.value)), *expected == 'Y');
    mcp_doc_free(doc);
}

static void
counts_are_integers_from_zero(void **state)
{
    uint64_t n = 77;

    (void)state;
    assert_int_equal(count("-1", &n), MCP_E_INVAL);
    assert_int_equal(count("-1.0", &n), MCP_E_INVAL);
    assert_int_equal(count("1.5", &n), MCP_E_INVAL);
    assert_int_equal(count("'1'", &n), MCP_E_INVAL);
    assert_int_equal(n, 77);
    assert_int_equal(count("2.0", &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(count("18446744073709551615", &n), 0);
    assert_true(n == UINT64_MAX);
    assert_int_equal(count("1e30", &n), 0);
    assert_true(n == UINT64_MAX);
}

TEST_MAIN(TEST(order_is_exact_between_integers_and_reals),
          TEST(divisibility_is_that_of_decimals),
          TEST(integers_are_known_by_their_value), TEST(counts_are_integers_from_zero))
