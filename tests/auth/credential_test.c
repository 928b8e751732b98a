/* credential_test.c - what an authorization server gave us: kept, written, read again */
#include "auth/credential.h"

#include "auth/key_fixture.h"
#include "auth/safe.h"

#define ACCESS SECRET "-access"
#define REFRESH SECRET "-refresh"
#define TEXT_MAX (4 * MCPI_CREDENTIAL_MAX)

static const struct mcpi_credential parts = {
    .expires_at = 1800000000,
    .issuer = "https://as.test",
    .resource = "https://mcp.test/mcp",
    .client_id = "app",
    .access = ACCESS,
    .refresh = REFRESH,
    .scope = "a b",
    .who = SECRET "-who",
};

#define PARTS_TEXT                                                                    \
    "{'issuer':'https://as.test','resource':'https://mcp.test/mcp','client_id':'app'" \
    ",'access_token':'" ACCESS "','refresh_token':'" REFRESH "','scope':'a b'"        \
    ",'registration':'" SECRET "-who','expires_at':1800000000}"

/* ---- made ------------------------------------------------------------------ */

static void
it_is_a_copy_of_its_own(void **state)
{
    struct mcpi_credential *token = NULL;
    char access[] = ACCESS;
    struct mcpi_credential given = parts;
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    given.access = access;
    given.refresh = NULL;
    assert_int_equal(mcpi_credential_new(safe.allocator, &given, &token), 0);
    memset(access, 'x', sizeof(access) - 1);
    assert_string_equal(token->access, ACCESS);
    assert_string_equal(token->refresh, "");
    assert_string_equal(token->issuer, "https://as.test");
    assert_string_equal(token->scope, "a b");
    assert_int_equal(token->expires_at, 1800000000);
    assert_null(token->key);
    mcpi_credential_free(token);
    mcpi_credential_free(NULL);
    safe_done(&safe);
}

/* Its key is counted: it is good after everybody else has let it go. */
static void
it_keeps_its_key(void **state)
{
    struct mcpi_credential *token = NULL;
    struct mcpi_credential given = parts;
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    assert_int_equal(mcpi_key_generate(safe.allocator, &given.key), 0);
    assert_int_equal(mcpi_credential_new(safe.allocator, &given, &token), 0);
    mcpi_key_unref(given.key);
    assert_true(mcpi_key_is_private(token->key));
    mcpi_credential_free(token);
    safe_done(&safe);
}

/* ---- what a header can carry ----------------------------------------------- */

static void
visible_ascii_is_text(void **state)
{
    char all['~' - '!' + 2] = {0};

    (void)state;
    for (int c = '!'; c <= '~'; c++)
        all[c - '!'] = (char)c;
    assert_true(mcpi_credential_is_text(all));
    assert_true(mcpi_credential_is_text("x"));
    assert_false(mcpi_credential_is_text(""));
    assert_false(mcpi_credential_is_text("a b"));
    assert_false(mcpi_credential_is_text(" a"));
    assert_false(mcpi_credential_is_text("a\tb"));
    assert_false(mcpi_credential_is_text("a\r\nX-Evil: b"));
    assert_false(mcpi_credential_is_text("a\x7F"));
    assert_false(mcpi_credential_is_text("\xC3\xA4"));
    assert_false(mcpi_credential_is_text("\xFF"));
}

static void
text_has_a_longest(void **state)
{
    static char text[MCPI_CREDENTIAL_MAX + 2];

    (void)state;
    memset(text, 'a', MCPI_CREDENTIAL_MAX);
    assert_true(mcpi_credential_is_text(text));
    text[MCPI_CREDENTIAL_MAX] = 'a';
    assert_false(mcpi_credential_is_text(text));
}

/* ---- as text --------------------------------------------------------------- */

static void
it_is_written_as_json(void **state)
{
    struct mcpi_credential given = parts;
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, TEXT_MAX);
    mcpi_credential_write(&given, &buf);
    assert_text(&buf, PARTS_TEXT);
    mcpi_buf_clear(&buf);
    given.expires_at = MCPI_NEVER;
    given.refresh = given.scope = given.who = "";
    mcpi_credential_write(&given, &buf);
    assert_text(&buf, "{'issuer':'https://as.test','resource':'https://mcp.test/mcp'"
                      ",'client_id':'app','access_token':'" ACCESS "'}");
    mcpi_buf_done(&buf);
}

static int
credential_of(const mcp_allocator *mem, const char *text, struct mcpi_credential **ret)
{
    struct mcpi_buf json;
    int r;

    mcpi_buf_init(&json, NULL, 1 << 20);
    json_append(&json, text);
    mcpi_buf_char(&json, '\0');
    r = mcpi_credential_read(mem, json.data, ret);
    mcpi_buf_done(&json);
    return r;
}

/* Written, read, and equal. */
static void
survives(const mcp_allocator *mem, const struct mcpi_credential *given)
{
    struct mcpi_credential *token = NULL;
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, mem, TEXT_MAX);
    mcpi_credential_write(given, &buf);
    mcpi_buf_char(&buf, '\0');
    assert_int_equal(buf.status, 0);
    assert_int_equal(mcpi_credential_read(mem, buf.data, &token), 0);
    assert_string_equal(token->access, given->access);
    assert_string_equal(token->refresh, given->refresh);
    assert_string_equal(token->scope, given->scope);
    assert_string_equal(token->who, given->who);
    assert_string_equal(token->issuer, given->issuer);
    assert_string_equal(token->resource, given->resource);
    assert_string_equal(token->client_id, given->client_id);
    assert_int_equal(token->expires_at, given->expires_at);
    assert_int_equal(!token->key, !given->key);
    mcpi_credential_free(token);
    mcpi_buf_done(&buf);
}

static void
what_is_written_is_read(void **state)
{
    struct mcpi_credential given = parts;
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    survives(safe.allocator, &given);
    given.expires_at = MCPI_NEVER;
    given.client_id = "\"\\\xC3\xA4\x01";
    survives(safe.allocator, &given);
    given.expires_at = -5;
    given.client_id = given.refresh = given.scope = "";
    survives(safe.allocator, &given);
    safe_done(&safe);
}

static void
the_longest_tokens_are_read_again(void **state)
{
    static char longest[MCPI_CREDENTIAL_MAX + 1];
    struct mcpi_credential given = parts;
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    memset(longest, 'a', MCPI_CREDENTIAL_MAX);
    given.access = given.refresh = longest;
    assert_int_equal(mcpi_key_generate(safe.allocator, &given.key), 0);
    survives(safe.allocator, &given);
    mcpi_key_unref(given.key);
    safe_done(&safe);
}

static void
its_key_is_the_same_key_afterwards(void **state)
{
    char before[MCPI_KEY_THUMBPRINT_SIZE], after[MCPI_KEY_THUMBPRINT_SIZE];
    struct mcpi_credential given = parts, *token = NULL;
    struct mcpi_buf buf;
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    given.key = key_of(EC_PRIVATE);
    mcpi_buf_init(&buf, safe.allocator, TEXT_MAX);
    mcpi_credential_write(&given, &buf);
    mcpi_buf_char(&buf, '\0');
    assert_int_equal(mcpi_credential_read(safe.allocator, buf.data, &token), 0);
    assert_int_equal(mcpi_key_thumbprint(given.key, before), 0);
    assert_int_equal(mcpi_key_thumbprint(token->key, after), 0);
    assert_string_equal(before, after);
    assert_true(mcpi_key_is_private(token->key));
    mcpi_credential_free(token);
    mcpi_buf_done(&buf);
    mcpi_key_unref(given.key);
    safe_done(&safe);
}

#define TOKEN(more) "{'access_token':'" ACCESS "'" more "}"

static void
what_is_no_credential_is_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "x",
        "{}",
        "[]",
        "null",
        "'" ACCESS "'",
        "{'access_token':''}",
        "{'access_token':null}",
        "{'access_token':1}",
        "{'access_token':['" ACCESS "']}",
        "{'access_token':'a b'}",
        "{'access_token':'a\\r\\nX-Evil: b'}",
        "{'access_token':'a\\u0000b'}",
        "{'access_token':'\xC3\xA4'}",
        "{'access_token':'\xFF'}",
        TOKEN(",'refresh_token':1"),
        TOKEN(",'refresh_token':'a\\u0000b'"),
        TOKEN(",'issuer':{}"),
        TOKEN(",'expires_at':'soon'"),
        TOKEN(",'expires_at':1.5"),
        TOKEN(",'expires_at':1e300"),
        TOKEN(",'key':'" EC_D "'"),
        TOKEN(",'key':{}"),
        TOKEN(",'key':" EC_PUBLIC),
        TOKEN(",'key':{'kty':'oct','k':'AAAA'}"),
        TOKEN(",'more':[[[[[1]]]]]"),
        TOKEN("") "x",
        TOKEN(","),
    };
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mcpi_credential *token = NULL;

        if (credential_of(safe.allocator, rows[i], &token) != MCP_E_INVAL)
            fail_msg("%s", rows[i]);
        assert_null(token);
    }
    safe_done(&safe);
}

static void
a_text_that_is_too_long_is_refused(void **state)
{
    static char text[TEXT_MAX + 64];
    struct mcpi_credential *token = NULL;
    struct safe safe;
    size_t len;

    (void)state;
    safe_init(&safe, NULL);
    (void)snprintf(text, sizeof(text), "{\"access_token\":\"a\"");
    len = strlen(text);
    memset(text + len, ' ', TEXT_MAX - len - 1);
    text[TEXT_MAX - 1] = '}';
    assert_int_equal(mcpi_credential_read(safe.allocator, text, &token), 0);
    mcpi_credential_free(token);
    text[TEXT_MAX - 1] = ' ';
    text[TEXT_MAX] = '}';
    token = NULL;
    assert_int_equal(mcpi_credential_read(safe.allocator, text, &token), MCP_E_INVAL);
    assert_null(token);
    safe_done(&safe);
}

static void
members_that_we_do_not_know_are_passed_over(void **state)
{
    struct mcpi_credential *token = NULL;
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    assert_int_equal(credential_of(safe.allocator,
                                   TOKEN(",'from':{'a':[1]},'refresh_token':null"),
                                   &token),
                     0);
    assert_string_equal(token->refresh, "");
    assert_int_equal(token->expires_at, MCPI_NEVER);
    mcpi_credential_free(token);
    safe_done(&safe);
}

/* ---- memory ---------------------------------------------------------------- */

static void
round_trip(struct test_mem *mem, void *user)
{
    struct mcpi_credential given = parts, *made = NULL, *read = NULL;
    struct mcpi_buf buf;
    struct safe safe;
    int r;

    safe_init(&safe, mem);
    given.key = user;
    mcpi_buf_init(&buf, safe.allocator, TEXT_MAX);
    r = mcpi_credential_new(safe.allocator, &given, &made);
    if (r == 0) {
        mcpi_credential_write(made, &buf);
        mcpi_buf_char(&buf, '\0');
        r = buf.status;
    }
    if (r == 0)
        r = mcpi_credential_read(safe.allocator, buf.data, &read);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    mcpi_credential_free(made);
    mcpi_credential_free(read);
    mcpi_buf_done(&buf);
}

static void
memory_may_fail_anywhere(void **state)
{
    struct mcpi_key *key = key_of(EC_PRIVATE);

    (void)state;
    assert_true(test_each_allocation_fails(round_trip, key) > 4);
    mcpi_key_unref(key);
}

TEST_MAIN(TEST(it_is_a_copy_of_its_own), TEST(it_keeps_its_key),
          TEST(visible_ascii_is_text), TEST(text_has_a_longest),
          TEST(it_is_written_as_json), TEST(what_is_written_is_read),
          TEST(the_longest_tokens_are_read_again),
          TEST(its_key_is_the_same_key_afterwards),
          TEST(what_is_no_credential_is_refused),
          TEST(a_text_that_is_too_long_is_refused),
          TEST(members_that_we_do_not_know_are_passed_over),
          TEST(memory_may_fail_anywhere))
