/* guard_test.c - who stands in front of a server and asks for tokens: made and freed */
#include "auth/guard.h"

#include "auth/watch.h"
#include "support/curl_warm.h"

static mcp_guard *
guard_of(mcp_guard_options opt, struct test_mem *mem)
{
    mcp_guard *guard = NULL;
    mcp_error err = {0};

    opt.resource = RESOURCE;
    opt.issuers = watch_issuers;
    opt.allocator = &mem->allocator;
    if (mcp_guard_new(&opt, &guard, &err) < 0)
        assert_true(err.message[0] != '\0');
    return guard;
}

static void
a_guard_with_keys_has_no_thread(void **state)
{
    struct test_mem mem;
    mcp_guard *guard;

    (void)state;
    test_mem_init(&mem);
    guard = guard_of(MCP_GUARD_OPTIONS(.jwks = SET_EC), &mem);
    assert_non_null(guard);
    assert_null(guard->loop);
    assert_int_equal(mcpi_keys_count(guard->fixed), 1);
    assert_true(mcpi_guard_now(guard) > 1700000000);
    assert_true(mcpi_guard_ticks(guard) > 0);
    assert_string_equal(mcpi_guard_notice(guard)->path,
                        "/.well-known/oauth-protected-resource/mcp");
    mcp_guard_free(guard);
    mcp_guard_free(NULL);
    test_mem_done(&mem);
}

static void
verify_nothing(void *user, const char *token, mcp_token_check *check)
{
    (void)user;
    (void)token;
    mcp_token_fail(check);
}

static void
neither_has_one_that_asks_the_program(void **state)
{
    struct test_mem mem;
    mcp_guard *guard;

    (void)state;
    test_mem_init(&mem);
    guard = guard_of(MCP_GUARD_OPTIONS(.verify = verify_nothing), &mem);
    assert_null(guard->loop);
    assert_null(guard->fixed);
    mcp_guard_free(guard);
    test_mem_done(&mem);
}

static void
a_guard_that_fetches_has_one(void **state)
{
    struct test_mem mem;
    mcp_guard *guard;

    (void)state;
    test_mem_init(&mem);
    for (int i = 0; i < 20; i++) {
        guard = guard_of(MCP_GUARD_OPTIONS(.keys_ms = 1000), &mem);
        assert_non_null(guard);
        assert_non_null(guard->loop);
        assert_non_null(guard->rings[0]);
        mcp_guard_free(guard);
    }
    test_mem_done(&mem);
}

static void
wrong_is(mcp_guard_options opt, const char *why)
{
    mcp_guard *guard = NULL;
    mcp_error err = {0};

    opt.issuers = watch_issuers;
    assert_int_equal(mcp_guard_new(&opt, &guard, &err), MCP_E_INVAL);
    assert_null(guard);
    assert_int_equal(err.status, MCP_E_INVAL);
    if (!strstr(err.message, why))
        fail_msg("%s", err.message);
}

static void
what_is_wrong_is_said(void **state)
{
    mcp_guard_options good = MCP_GUARD_OPTIONS(.resource = RESOURCE);
    mcp_error err = {0};

    (void)state;
    wrong_is(MCP_GUARD_OPTIONS(.jwks = "{}"), "guard option resource: is missing");
    good.jwks = "{";
    wrong_is(good, "guard option jwks: is no JSON");
    good.jwks = "{\"keys\":[]}";
    wrong_is(good, "guard option jwks: has no key of a kind that is taken");
    good.jwks = NULL;
    good.tls_ca_file = "/nowhere/ca.pem";
    wrong_is(good, "/nowhere/ca.pem");
    assert_int_equal(mcp_guard_new(&good, NULL, &err), MCP_E_INVAL);
    assert_int_equal(mcp_guard_new(NULL, NULL, NULL), MCP_E_INVAL);
}

static void
make_once(struct test_mem *mem, void *user)
{
    mcp_guard_free(guard_of(*(mcp_guard_options *)user, mem));
}

static void
want_of_memory_is_told(void **state)
{
    mcp_guard_options fixed = MCP_GUARD_OPTIONS(.jwks = SET_EC);
    mcp_guard_options fetching = MCP_GUARD_OPTIONS(.scope = "mcp");

    (void)state;
    assert_true(test_each_allocation_fails(make_once, &fixed) > 5);
    assert_true(test_each_allocation_fails(make_once, &fetching) > 5);
}

TEST_MAIN(TEST(a_guard_with_keys_has_no_thread),
          TEST(neither_has_one_that_asks_the_program),
          TEST(a_guard_that_fetches_has_one), TEST(what_is_wrong_is_said),
          TEST(want_of_memory_is_told))
