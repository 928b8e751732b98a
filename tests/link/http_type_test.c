/* link/http_type_test.c - which Content-Types are JSON in UTF-8 */
#include "link/http_type.h"

#include "support/test.h"

struct row {
    const char *type;
    enum mcpi_http_type is;
};

static void
expect(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mcpi_http_type_of(rows[i].type) != rows[i].is)
            fail_msg("%s is %d", rows[i].type, (int)mcpi_http_type_of(rows[i].type));
}

#define EXPECT(rows) expect(rows, sizeof(rows) / sizeof((rows)[0]))

static void
json_is_one_type_in_any_case(void **state)
{
    static const struct row rows[] = {
        {"application/json", MCPI_TYPE_JSON},
        {"Application/JSON", MCPI_TYPE_JSON},
        {"application/json;", MCPI_TYPE_JSON},
        {"application/json \t;", MCPI_TYPE_JSON},
        {"application/json ;x=y", MCPI_TYPE_JSON},
        {"application/jso", MCPI_TYPE_OTHER},
        {"application/jsonp", MCPI_TYPE_OTHER},
        {"application/json-seq", MCPI_TYPE_OTHER},
        {"application/json x", MCPI_TYPE_OTHER},
        {"application/json, text/html", MCPI_TYPE_OTHER},
        {" application/json", MCPI_TYPE_OTHER},
        {"text/plain;charset=utf-8", MCPI_TYPE_OTHER},
        {"", MCPI_TYPE_OTHER},
    };

    (void)state;
    EXPECT(rows);
    assert_int_equal(mcpi_http_type_of(NULL), MCPI_TYPE_OTHER);
}

#define WITH(params) "application/json" params

static void
a_charset_is_that_of_JSON_or_another(void **state)
{
    static const struct row rows[] = {
        {WITH(";charset=utf-8"), MCPI_TYPE_JSON},
        {WITH("; charset=UTF-8"), MCPI_TYPE_JSON},
        {WITH("; Charset=\"Utf-8\""), MCPI_TYPE_JSON},
        {WITH("; charset=\"u\\tf-8\""), MCPI_TYPE_JSON},
        {WITH("; charset = utf-8 "), MCPI_TYPE_JSON},
        {WITH("; charset=utf8"), MCPI_TYPE_JSON},
        {WITH("; x=y; charset=utf-8; z"), MCPI_TYPE_JSON},
        {WITH("; charset=utf-16"), MCPI_TYPE_CHARSET},
        {WITH("; charset=utf-80"), MCPI_TYPE_CHARSET},
        {WITH("; charset=utf-"), MCPI_TYPE_CHARSET},
        {WITH("; charset=\"iso-8859-1\""), MCPI_TYPE_CHARSET},
        {WITH("; charset=latin1;x=y"), MCPI_TYPE_CHARSET},
        {WITH("; charset="), MCPI_TYPE_CHARSET},
        {WITH("; charset=\"\""), MCPI_TYPE_CHARSET},
        {WITH("; charset=\""), MCPI_TYPE_CHARSET},
        {WITH("; charset=\"utf-8"), MCPI_TYPE_CHARSET},
        {WITH("; charset=\"utf-8\\\""), MCPI_TYPE_CHARSET},
        {WITH("; charset=utf-8\""), MCPI_TYPE_CHARSET},
        {WITH("; charset=utf\\-8"), MCPI_TYPE_CHARSET},
        {WITH("; charset=ut\"f-8\""), MCPI_TYPE_CHARSET},
        {WITH("; charset=utf-8; charset=utf-16"), MCPI_TYPE_CHARSET},
    };

    (void)state;
    EXPECT(rows);
}

static void
other_parameters_say_nothing(void **state)
{
    static const struct row rows[] = {
        {WITH("; charsets=utf-16"), MCPI_TYPE_JSON},
        {WITH("; xcharset=utf-16"), MCPI_TYPE_JSON},
        {WITH("; charset"), MCPI_TYPE_JSON},
        {WITH("; x=\"; charset=utf-16\""), MCPI_TYPE_JSON},
        {WITH("; x=\"\\\"; charset=utf-16\""), MCPI_TYPE_JSON},
        {WITH("; x=\"y\"; charset=utf-16"), MCPI_TYPE_CHARSET},
        {WITH("; x=\"never closed; charset=utf-16"), MCPI_TYPE_JSON},
        {WITH("; x=\"\\"), MCPI_TYPE_JSON},
        {WITH(";;;"), MCPI_TYPE_JSON},
    };

    (void)state;
    EXPECT(rows);
}

TEST_MAIN(TEST(json_is_one_type_in_any_case),
          TEST(a_charset_is_that_of_JSON_or_another),
          TEST(other_parameters_say_nothing))
