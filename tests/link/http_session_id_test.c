/* http_session_id_test.c - ids that clients bring back */
#include "link/http_session_id.h"

#include <string.h>

#include "link/http_session.h"
#include "support/test.h"

static void
an_id_names_its_shard_and_nobody_guesses_it(void **state)
{
    char a[MCPI_SESSION_ID], b[MCPI_SESSION_ID];
    unsigned shard;

    (void)state;
    assert_int_equal(mcpi_session_id_make(a, 0), 0);
    assert_int_equal(mcpi_session_id_make(b, 17), 0);
    assert_int_equal(strlen(a), 34);
    assert_memory_equal(b, "17-", 3);
    assert_string_not_equal(a + 2, b + 3);
    assert_int_equal(strspn(a, "0123456789abcdef-"), 34);
    assert_int_equal(mcpi_session_shard(a, &shard), 0);
    assert_int_equal(shard, 0);
    assert_int_equal(mcpi_session_shard(b, &shard), 0);
    assert_int_equal(shard, 17);
    assert_int_equal(mcpi_session_id_make(a, UINT32_MAX), 0);
    assert_true(strlen(a) < MCPI_SESSION_ID);
}

static void
what_is_no_id_of_ours_names_no_shard(void **state)
{
#define HEX "0123456789abcdef0123456789abcdef"
    static const char *const bad[] = {
        "",
        "-",
        "x",
        HEX,
        "-" HEX,
        "1" HEX,
        "1-" HEX "0",
        "1-",
        "1--" HEX,
        "1-" HEX " ",
        "a-" HEX,
        "+1-" HEX,
        " 1-" HEX,
        "4294967296-" HEX,
        "1-0123456789ABCDEF0123456789abcdef",
        "1-0123456789abcdef0123456789abcde",
    };
    unsigned shard = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(mcpi_session_shard(bad[i], &shard), MCP_E_INVAL);
    assert_int_equal(shard, 7);
    assert_int_equal(mcpi_session_shard("3-" HEX, &shard), 0);
    assert_int_equal(shard, 3);
}

static void
equal_means_all_of_it(void **state)
{
    (void)state;
    assert_true(mcpi_session_id_is("", ""));
    assert_true(mcpi_session_id_is("abc", "abc"));
    assert_false(mcpi_session_id_is("abc", "abd"));
    assert_false(mcpi_session_id_is("abc", "xbc"));
    assert_false(mcpi_session_id_is("abc", "ab"));
    assert_false(mcpi_session_id_is("", "a"));
}

static void
an_event_is_two_numbers(void **state)
{
    static const char *const bad[] = {
        "",
        "-",
        "1",
        "1-",
        "-1",
        "1-2-3",
        "1-2 ",
        " 1-2",
        "a-1",
        "1-a",
        "1_2",
        "1-+2",
        "99999999999999999999-1",
        "1-99999999999999999999",
    };
    uint64_t stream = 0, number = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(mcpi_event_id_read(bad[i], &stream, &number));
    assert_true(mcpi_event_id_read("12-345", &stream, &number));
    assert_int_equal(stream, 12);
    assert_int_equal(number, 345);
    assert_true(mcpi_event_id_read("1-0", &stream, &number));
    assert_int_equal(number, 0);
}

TEST_MAIN(TEST(an_id_names_its_shard_and_nobody_guesses_it),
          TEST(what_is_no_id_of_ours_names_no_shard), TEST(equal_means_all_of_it),
          TEST(an_event_is_two_numbers))
