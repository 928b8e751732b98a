/* guard_settings_test.c - the options of a guard: read, checked, complete, and kept */
#include "auth/guard_settings.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

#define RESOURCE "https://mcp.example/a/mcp"
#define WELL_KNOWN "/.well-known/oauth-protected-resource"

static const char *const issuers[] = {"https://issuer.example", NULL};
static const char *const two_issuers[] = {"https://issuer.example", "https://b.example",
                                          NULL};

/* Good ones, but for what is said. */
static mcp_guard_options
options(void)
{
    return MCP_GUARD_OPTIONS(.resource = RESOURCE, .issuers = issuers);
}

static mcp_guard_options o;
#define OPTIONS(...) (o = options(), __VA_ARGS__, o)

static void
wrong_is(mcp_guard_options opt, const char *member)
{
    struct mcpi_guard_settings *settings = NULL;
    mcp_error err = {0};
    char expected[64];

    (void)snprintf(expected, sizeof(expected), "guard option %s: ", member);
    assert_int_equal(mcpi_guard_settings_new(&opt, &settings, &err), MCP_E_INVAL);
    assert_null(settings);
    if (strncmp(err.message, expected, strlen(expected)) != 0)
        fail_msg("%s", err.message);
}

static void
what_is_wrong_is_named(void **state)
{
    static const char *const nobody[] = {NULL};
    static const char *const insecure[] = {"http://issuer.example", NULL};
    static const char *const words[] = {"a b", NULL};
    static const char *const quoted[] = {"admin re\"ad", NULL};

    (void)state;
    wrong_is(OPTIONS(o.resource = NULL), "resource");
    wrong_is(OPTIONS(o.resource = "mcp.example"), "resource");
    wrong_is(OPTIONS(o.resource = "http://mcp.example/mcp"), "resource");
    wrong_is(OPTIONS(o.resource = "https://mcp.example/mcp?x"), "resource");
    wrong_is(OPTIONS(o.resource = "https://mcp.example/mcp#x"), "resource");
    wrong_is(OPTIONS(o.resource = "https://mcp.example/\"mcp"), "resource");
    wrong_is(OPTIONS(o.issuers = NULL), "issuers");
    wrong_is(OPTIONS(o.issuers = nobody), "issuers");
    wrong_is(OPTIONS(o.issuers = insecure), "issuers");
    wrong_is(OPTIONS(o.scope = "a \"b"), "scope");
    wrong_is(OPTIONS(o.scopes = words), "scopes");
    wrong_is(OPTIONS(o.implies = quoted), "implies");
    wrong_is(OPTIONS(o.jwks = "{}", o.jwks_uri = "https://a.example"), "jwks_uri");
    wrong_is(OPTIONS(o.jwks_uri = "http://a.example"), "jwks_uri");
    wrong_is(OPTIONS(o.jwks_uri = "https://a.example", o.issuers = two_issuers),
             "jwks_uri");
    wrong_is(OPTIONS(o.jwks = "{}", o.issuers = two_issuers), "jwks");
    wrong_is(OPTIONS(o.jwks = "{}", o.verify = (mcp_verify_fn *)(uintptr_t)1),
             "verify");
    wrong_is(OPTIONS(o.leeway_ms = -1), "leeway_ms");
    wrong_is(OPTIONS(o.keys_ms = 999), "keys_ms");
}

static void
options_of_nobody_are_none(void **state)
{
    struct mcpi_guard_settings *settings = NULL;
    mcp_error err = {0};

    (void)state;
    assert_int_equal(mcpi_guard_settings_new(NULL, &settings, &err), MCP_E_INVAL);
    assert_int_equal(
        mcpi_guard_settings_new(&(mcp_guard_options){.size = 1}, &settings, &err),
        MCP_E_INVAL);
    mcpi_guard_settings_free(NULL);
}

static struct mcpi_guard_settings *
settings_of(mcp_guard_options opt)
{
    struct mcpi_guard_settings *settings = NULL;
    mcp_error err = {0};

    if (mcpi_guard_settings_new(&opt, &settings, &err) < 0)
        fail_msg("%s", err.message);
    return settings;
}

static void
texts_are_kept_and_the_rest_follows(void **state)
{
    char resource[] = RESOURCE, issuer[] = "https://issuer.example";
    const char *list[] = {issuer, NULL};
    struct mcpi_guard_settings *s;

    (void)state;
    s = settings_of(MCP_GUARD_OPTIONS(.resource = resource, .issuers = list));
    memset(resource, 'x', sizeof(resource));
    memset(issuer, 'x', sizeof(issuer));
    list[0] = NULL;
    assert_string_equal(s->opt.resource, RESOURCE);
    assert_string_equal(s->opt.audience, RESOURCE);
    assert_string_equal(s->opt.issuers[0], "https://issuer.example");
    assert_null(s->opt.issuers[1]);
    assert_int_equal(s->issuer_count, 1);
    assert_null(s->opt.scopes);
    assert_int_equal(s->opt.leeway_ms, 30000);
    assert_int_equal(s->opt.keys_ms, 300000);
    assert_string_equal(s->origin, "https://mcp.example");
    assert_string_equal(s->metadata, "https://mcp.example" WELL_KNOWN "/a/mcp");
    assert_string_equal(s->notice.path, WELL_KNOWN "/a/mcp");
    assert_string_equal(s->notice.other_path, WELL_KNOWN);
    assert_memory_equal(s->notice.text, "{\"resource\":\"" RESOURCE "\",", 40);
    assert_int_equal(s->notice.text[s->notice.len - 1], '}');
    mcpi_guard_settings_free(s);
}

static void
a_resource_may_have_no_path(void **state)
{
    struct mcpi_guard_settings *s;

    (void)state;
    s = settings_of(OPTIONS(o.resource = "https://mcp.example:8443"));
    assert_string_equal(s->origin, "https://mcp.example:8443");
    assert_string_equal(s->metadata, "https://mcp.example:8443" WELL_KNOWN);
    assert_string_equal(s->notice.path, WELL_KNOWN);
    assert_null(s->notice.other_path);
    mcpi_guard_settings_free(s);
}

static void
nearest_is(mcp_guard_options opt, enum mcpi_address_kind expected)
{
    struct mcpi_guard_settings *s = settings_of(opt);

    assert_int_equal(mcpi_guard_settings_nearest(s, s->opt.issuers[0]), expected);
    mcpi_guard_settings_free(s);
}

static void
keys_are_fetched_no_nearer_than_the_options_say(void **state)
{
    static const char *const here[] = {"http://127.0.0.1:9000", NULL};
    static const char *const within[] = {"https://10.0.0.1", NULL};
    static const char *const cloud[] = {"https://169.254.169.254", NULL};

    (void)state;
    nearest_is(OPTIONS(o.scope = NULL), MCPI_ADDRESS_PUBLIC);
    nearest_is(OPTIONS(o.private_issuers = true), MCPI_ADDRESS_LOOPBACK);
    nearest_is(OPTIONS(o.issuers = here), MCPI_ADDRESS_LOOPBACK);
    nearest_is(OPTIONS(o.issuers = within), MCPI_ADDRESS_PRIVATE);
    nearest_is(OPTIONS(o.issuers = cloud), MCPI_ADDRESS_PUBLIC);
    nearest_is(OPTIONS(o.jwks_uri = "http://localhost:1/keys"), MCPI_ADDRESS_LOOPBACK);
}

static void
implied_is(const struct mcpi_guard_settings *s, const char *granted,
           const char *expected)
{
    struct mcpi_buf scopes;

    mcpi_buf_init(&scopes, NULL, 256);
    mcpi_buf_text(&scopes, granted);
    mcpi_guard_settings_imply(s, &scopes);
    mcpi_buf_char(&scopes, '\0');
    assert_string_equal(scopes.data, expected);
    mcpi_buf_done(&scopes);
}

static void
a_scope_may_imply_others(void **state)
{
    static const char *const implies[] = {"write read", "admin write delete", "", NULL};
    struct mcpi_guard_settings *s = settings_of(OPTIONS(o.implies = implies));

    (void)state;
    implied_is(s, "", "");
    implied_is(s, "read", "read");
    implied_is(s, "write", "write read");
    implied_is(s, "admin", "admin write delete read");
    implied_is(s, "administer", "administer");
    mcpi_guard_settings_free(s);
    s = settings_of(OPTIONS(o.implies = NULL));
    implied_is(s, "admin", "admin");
    mcpi_guard_settings_free(s);
}

static void
make_once(struct test_mem *mem, void *user)
{
    mcp_guard_options opt = OPTIONS(o.scope = "a", o.allocator = &mem->allocator);
    struct mcpi_guard_settings *settings = NULL;
    mcp_error err = {0};

    (void)user;
    if (mcpi_guard_settings_new(&opt, &settings, &err) < 0)
        assert_int_equal(err.status, MCP_E_NOMEM);
    mcpi_guard_settings_free(settings);
}

static void
want_of_memory_is_told(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(make_once, NULL) > 2);
}

TEST_MAIN(TEST(what_is_wrong_is_named), TEST(options_of_nobody_are_none),
          TEST(texts_are_kept_and_the_rest_follows), TEST(a_resource_may_have_no_path),
          TEST(keys_are_fetched_no_nearer_than_the_options_say),
          TEST(a_scope_may_imply_others), TEST(want_of_memory_is_told))
