/* link/http_version_test.c - proves src/link/http_version.c */
#include "support/test.h"

#include <mcp/http.h>

static void
both_libraries_have_one_version(void **state)
{
    (void)state;
    assert_string_equal(mcp_http_version(), mcp_version());
}

TEST_MAIN(TEST(both_libraries_have_one_version))
