/* cli/base64_test.c - proves cli/base64.c: bytes as text and back */
#include "cli/base64.h"

#include <string.h>

#include "support/test.h"

static void
check_decode(const char *text, const char *bytes, size_t length)
{
    struct cli_text found = {0};

    assert_true(cli_base64_decode(&found, text, strlen(text)));
    assert_int_equal(found.length, length);
    assert_memory_equal(cli_text_string(&found), bytes, length);
    cli_text_done(&found);
}

static void
check_refused(const char *text)
{
    struct cli_text found = {0};

    assert_false(cli_base64_decode(&found, text, strlen(text)));
    cli_text_done(&found);
}

static void
groups_of_each_length_are_decoded(void **state)
{
    (void)state;
    check_decode("", "", 0);
    check_decode("Zg==", "f", 1);
    check_decode("Zm8=", "fo", 2);
    check_decode("Zm9v", "foo", 3);
    check_decode("AP/+AQ==", "\0\xFF\xFE\x01", 4);
}

static void
servers_may_leave_out_padding_or_break_lines(void **state)
{
    (void)state;
    check_decode("Zm8", "fo", 2);
    check_decode("Zm9v\r\nZm8=\n", "foofo", 5);
    check_decode("-_8=", "\xFB\xFF", 2);
}

static void
what_is_no_base64_is_refused(void **state)
{
    (void)state;
    check_refused("Zm9v!");
    check_refused("Z");
    check_refused("Zg=");
    check_refused("Zg===");
    check_refused("Zg==Zg==");
    check_refused("Zg==Zm9v");
    check_refused("=");
    check_refused("\033[2J");
}

static void
all_bytes_come_back(void **state)
{
    struct cli_text code = {0}, back = {0};
    char bytes[3000];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + i / 256);
    for (size_t length = sizeof bytes - 3; length <= sizeof bytes; length++) {
        cli_base64_encode(&code, bytes, length);
        assert_int_equal(code.length, (length + 2) / 3 * 4);
        assert_true(cli_base64_decode(&back, code.data, code.length));
        assert_int_equal(back.length, length);
        assert_memory_equal(back.data, bytes, length);
        cli_text_done(&code);
        cli_text_done(&back);
    }
}

TEST_MAIN(TEST(groups_of_each_length_are_decoded),
          TEST(servers_may_leave_out_padding_or_break_lines),
          TEST(what_is_no_base64_is_refused), TEST(all_bytes_come_back))
