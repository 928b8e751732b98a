/* http_way_test.c - the way of a client over HTTP */
#include "api/http_way.h"

#include <mcp/auth.h>

#include "support/test.h"

static char ca[] = "/ca", url[] = "http://127.0.0.1/mcp";

static void
way_once(struct test_mem *mem, void *user)
{
    const mcp_http_client_options opt = MCP_HTTP_CLIENT_OPTIONS(.tls_ca_file = ca,
                                                                .proxy = "",
                                                                .auth = user);
    struct mcpi_way *way;
    struct mcpi_buf fields, names;

    mem->secret = "hush";
    mcpi_buf_init(&fields, &mem->allocator, 100);
    mcpi_buf_append(&fields, "X-A: b", 7);
    mcpi_buf_init(&names, &mem->allocator, 100);
    mcpi_buf_append(&names, "x/y z", 6);
    if (fields.status == 0 && names.status == 0 &&
        mcpi_http_way_new(&mem->allocator, url, &opt, &fields, &names, &way) == 0) {
        assert_int_equal(fields.len, 0);
        assert_int_equal(names.len, 0);
        assert_true(way->resumes);
        way->free(way);
    }
    mcpi_buf_done(&fields);
    mcpi_buf_done(&names);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(way_once, NULL), 3);
}

/* One more block, which is wiped at its end. */
static void
each_allocation_may_fail_with_secrets(void **state)
{
    mcp_auth_options auth = MCP_AUTH_OPTIONS(.client_id = "we", .client_secret = "hush",
                                             .private_key = "hush",
                                             .idp_client_secret = "hush");

    (void)state;
    assert_int_equal(test_each_allocation_fails(way_once, &auth), 4);
}

TEST_MAIN(TEST(each_allocation_may_fail), TEST(each_allocation_may_fail_with_secrets))
