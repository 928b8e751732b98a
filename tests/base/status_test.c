/* base/status_test.c - proves base/status.c */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "support/test.h"

static void
every_status_has_its_name_and_a_sentence(void **state)
{
    (void)state;
#define CHECK_STATUS(name, value, text)                 \
    assert_int_equal(name, value);                      \
    assert_string_equal(mcp_status_name(value), #name); \
    assert_string_equal(mcp_status_text(value), text);
    MCP_STATUS_MAP(CHECK_STATUS)
#undef CHECK_STATUS
    assert_string_equal(mcp_status_name(0), "MCP_OK");
    assert_string_equal(mcp_status_text(0), "success");
}

static void
unknown_status_still_has_a_text(void **state)
{
    const int unknown[] = {1, -1000, INT_MIN, INT_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        assert_string_equal(mcp_status_name(unknown[i]), "unknown");
        assert_string_equal(mcp_status_text(unknown[i]), "unknown status");
    }
}

static void
version_is_three_numbers(void **state)
{
    unsigned major, minor, patch;
    char text[64];

    (void)state;
    assert_int_equal(sscanf(mcp_version(), "%u.%u.%u", &major, &minor, &patch), 3);
    snprintf(text, sizeof(text), "%u.%u.%u", major, minor, patch);
    assert_string_equal(mcp_version(), text);
}

TEST_MAIN(TEST(every_status_has_its_name_and_a_sentence),
          TEST(unknown_status_still_has_a_text), TEST(version_is_three_numbers))
