/* options_test.c - what a program says of its authorization: checked, complete, copied */
#include <mcp/auth.h>

#include "auth/client.h"
#include "auth/key_fixture.h"
#include "auth/safe.h"

/* RFC 8410, 10.3. */
#define PEM                                                              \
    "-----BEGIN PRIVATE KEY-----\n"                                      \
    "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n" \
    "-----END PRIVATE KEY-----\n"

static int
begin(void *self, mcp_auth_visit *visit, const char *earlier, char *ret_uri)
{
    (void)self, (void)visit, (void)earlier, (void)ret_uri;
    return 0;
}

static int
show(void *self, mcp_auth_visit *visit, const char *url)
{
    (void)self, (void)visit, (void)url;
    return 0;
}

static void
end(void *self, mcp_auth_visit *visit)
{
    (void)self, (void)visit;
}

static int
load(void *self, const char *key, char **ret_text)
{
    (void)self, (void)key;
    *ret_text = NULL;
    return 0;
}

static int
save(void *self, const char *key, const char *text)
{
    (void)self, (void)key, (void)text;
    return 0;
}

static int
lock(void *self, const char *key)
{
    (void)self, (void)key;
    return 0;
}

static void
unlock(void *self, const char *key)
{
    (void)self, (void)key;
}

static int
assertion(void *user, const char *audience, char **ret_assertion, mcp_error *err)
{
    (void)user, (void)audience, (void)ret_assertion, (void)err;
    return MCP_E_AUTH;
}

#define AGENT(...) (&MCP_AUTH_AGENT(__VA_ARGS__))
#define STORE(...) (&MCP_TOKEN_STORE(__VA_ARGS__))

/* ---- what is wrong ------------------------------------------------------------- */

static void
wrong_is(mcp_auth_options opt, const char *wanted)
{
    mcp_error err = {0};
    char message[sizeof(err.message)];

    (void)snprintf(message, sizeof(message), "authorization option %s", wanted);
    assert_int_equal(mcpi_auth_options_take(&opt, &err), MCP_E_INVAL);
    assert_string_equal(err.message, message);
    assert_int_equal(err.status, MCP_E_INVAL);
    assert_int_equal(mcpi_auth_options_take(&opt, NULL), MCP_E_INVAL);
}

static void
good_is(mcp_auth_options opt)
{
    mcp_error err = {0};

    if (mcpi_auth_options_take(&opt, &err) < 0)
        fail_msg("%s", err.message);
}

#define O(...) MCP_AUTH_OPTIONS(__VA_ARGS__)

static void
who_we_are_is_said_whole(void **state)
{
#define NO_CLIENT "client_id: there is a secret or an issuer, and no client"
    (void)state;
    wrong_is(O(.client_secret = SECRET), NO_CLIENT);
    wrong_is(O(.issuer = "https://as.test"), NO_CLIENT);
    wrong_is(O(.client_id = ""), "client_id: must not be empty");
    wrong_is(O(.client_id = "app", .client_secret = SECRET, .private_key = PEM),
             "private_key: there is a client_secret too: which is it?");
    wrong_is(O(.private_key = PEM), "private_key: there is no client that it is of");
    good_is(O(.client_id = "app"));
    good_is(O(.client_id = "app", .client_secret = SECRET));
    good_is(O(.client_id = "app", .client_secret = ""));
    good_is(O(.client_id = "app", .private_key = PEM, .key_id = "one"));
    good_is(O(.metadata_url = "https://app.test/me", .private_key = PEM));
}

static void
an_issuer_is_safe(void **state)
{
#define NOT_SAFE(member) member ": must be https, or http on loopback"
    (void)state;
    wrong_is(O(.client_id = "app", .issuer = ""), NOT_SAFE("issuer"));
    wrong_is(O(.client_id = "app", .issuer = "as.test"), NOT_SAFE("issuer"));
    wrong_is(O(.client_id = "app", .issuer = "http://as.test"), NOT_SAFE("issuer"));
    wrong_is(O(.client_id = "app", .issuer = "ftp://as.test"), NOT_SAFE("issuer"));
    good_is(O(.client_id = "app", .issuer = "https://as.test/t"));
    good_is(O(.client_id = "app", .issuer = "http://127.0.0.1:1"));
}

static void
a_document_about_us_has_an_address(void **state)
{
#define NO_PATH "metadata_url: must be https, with a path"
    (void)state;
    wrong_is(O(.metadata_url = ""), NO_PATH);
    wrong_is(O(.metadata_url = "https://app.test"), NO_PATH);
    wrong_is(O(.metadata_url = "https://app.test/"), NO_PATH);
    wrong_is(O(.metadata_url = "https://app.test?a"), NO_PATH);
    wrong_is(O(.metadata_url = "https://app.test/me#x"), NO_PATH);
    wrong_is(O(.metadata_url = "http://app.test/me"), NO_PATH);
    wrong_is(O(.metadata_url = "http://127.0.0.1/me"), NO_PATH);
    good_is(O(.metadata_url = "https://app.test/me"));
}

static void
a_key_is_one_of_ours(void **state)
{
#define NO_KEY "private_key: is no private key of RSA, P-256 or Ed25519"
    (void)state;
    wrong_is(O(.client_id = "app", .private_key = ""), NO_KEY);
    wrong_is(O(.client_id = "app", .private_key = SECRET), NO_KEY);
    wrong_is(O(.client_id = "app", .private_key = "-----BEGIN PRIVATE KEY-----\nMA==\n"
                                                  "-----END PRIVATE KEY-----\n"),
             NO_KEY);
    /* of X25519: it signs nothing */
    wrong_is(O(.client_id = "app",
               .private_key = "-----BEGIN PRIVATE KEY-----\n"
                              "MC4CAQAwBQYDK2VuBCIEIAABAgMEBQYHCAkKCwwNDg8QERIT"
                              "FBUWFxgZGhscHR4f\n-----END PRIVATE KEY-----\n"),
             NO_KEY);
}

static void
a_program_that_asks_for_itself_can_show_who_it_is(void **state)
{
#define NEEDS "client_id: this grant needs it, and a secret or a key"
    (void)state;
    wrong_is(O(.grant = MCP_GRANT_CLIENT), NEEDS);
    wrong_is(O(.grant = MCP_GRANT_CLIENT, .client_id = "app"), NEEDS);
    good_is(O(.grant = MCP_GRANT_CLIENT, .client_id = "app", .client_secret = "s"));
    good_is(O(.grant = MCP_GRANT_CLIENT, .client_id = "app", .private_key = PEM));
}

#define ENTERPRISE(...)                                                          \
    O(.grant = MCP_GRANT_ENTERPRISE, .client_id = "app", .assertion = assertion, \
      .idp_token_endpoint = "https://idp.test/token", .idp_client_id = "us",     \
      __VA_ARGS__)

static void
an_enterprise_names_its_provider(void **state)
{
#define NEEDS_ALL \
    "idp_token_endpoint: this grant needs it, with idp_client_id and client_id"
    mcp_auth_options opt = ENTERPRISE(.idp_client_secret = SECRET), other;

    (void)state;
    good_is(opt);
    good_is(ENTERPRISE(.dpop = true));
    other = opt, other.client_id = NULL;
    wrong_is(other, NEEDS_ALL);
    other = opt, other.idp_token_endpoint = NULL;
    wrong_is(other, NEEDS_ALL);
    other = opt, other.idp_client_id = NULL;
    wrong_is(other, NEEDS_ALL);
    other = opt, other.idp_client_id = "";
    wrong_is(other, "idp_client_id: must not be empty");
    other = opt, other.idp_token_endpoint = "http://idp.test/token";
    wrong_is(other, NOT_SAFE("idp_token_endpoint"));
    other = opt, other.assertion = NULL;
    wrong_is(other, "assertion: this grant needs it");
}

static void
an_assertion_comes_from_somebody(void **state)
{
    (void)state;
    wrong_is(O(.grant = MCP_GRANT_ASSERTION), "assertion: this grant needs it");
    good_is(O(.grant = MCP_GRANT_ASSERTION, .assertion = assertion));
    good_is(O(.grant = MCP_GRANT_ASSERTION, .assertion = assertion,
              .issuer = "https://as.test")); /* whom it is for */
    wrong_is(O(.grant = (enum mcp_grant)4), "grant: there is no such grant");
    wrong_is(O(.grant = (enum mcp_grant) - 1), "grant: there is no such grant");
}

static void
an_agent_is_whole_and_alone(void **state)
{
    const mcp_auth_agent sizeless = {.begin = begin, .open = show, .end = end};

    (void)state;
    good_is(O(.agent = AGENT(.begin = begin, .open = show, .end = end)));
    wrong_is(O(.agent = AGENT(.open = show, .end = end)), "agent: lacks a function");
    wrong_is(O(.agent = AGENT(.begin = begin, .end = end)), "agent: lacks a function");
    wrong_is(O(.agent = AGENT(.begin = begin, .open = show)),
             "agent: lacks a function");
    wrong_is(O(.agent = &sizeless), "agent: lacks its size: MCP_AUTH_AGENT sets it");
    wrong_is(
        O(.agent = AGENT(.begin = begin, .open = show, .end = end), .headless = true),
        "headless: there is an agent too: which is it?");
}

static void
where_to_come_back_to_is_said_by_the_headless(void **state)
{
#define OF_HEADLESS "redirect_uri: goes with headless: an agent has its own"
    mcp_auth_options opt = O(.headless = true);

    (void)state;
    wrong_is(O(.redirect_uri = "https://app.test/cb"), OF_HEADLESS);
    wrong_is(O(.headless = true, .redirect_uri = ""), NOT_SAFE("redirect_uri"));
    wrong_is(O(.headless = true, .redirect_uri = "http://app.test/cb"),
             NOT_SAFE("redirect_uri"));
    wrong_is(O(.headless = true, .redirect_uri = "com.example:/cb"),
             NOT_SAFE("redirect_uri"));
    good_is(O(.headless = true, .redirect_uri = "https://app.test/cb"));
    assert_int_equal(mcpi_auth_options_take(&opt, NULL), 0);
    assert_string_equal(opt.redirect_uri, "http://127.0.0.1/callback");
}

/* The same, of so many bytes. */
static void
a_redirect_uri_has_a_longest(void **state)
{
    char uri[MCP_AUTH_URI_MAX + 1];

    (void)state;
    memset(uri, 'a', sizeof(uri));
    memcpy(uri, "https://app.test/", 17);
    uri[MCP_AUTH_URI_MAX] = '\0';
    wrong_is(O(.headless = true, .redirect_uri = uri), "redirect_uri: is too long");
    uri[MCP_AUTH_URI_MAX - 1] = '\0';
    good_is(O(.headless = true, .redirect_uri = uri));
}

static void
a_store_is_whole(void **state)
{
    const mcp_token_store sizeless = {.load = load, .save = save};

    (void)state;
    good_is(O(.store = STORE(.load = load, .save = save)));
    good_is(
        O(.store = STORE(.load = load, .save = save, .lock = lock, .unlock = unlock)));
    wrong_is(O(.store = STORE(.save = save)), "store: lacks a function");
    wrong_is(O(.store = STORE(.load = load)), "store: lacks a function");
    wrong_is(O(.store = STORE(.load = load, .save = save, .lock = lock)),
             "store: lacks a function");
    wrong_is(O(.store = STORE(.load = load, .save = save, .unlock = unlock)),
             "store: lacks a function");
    wrong_is(O(.store = &sizeless), "store: lacks its size: MCP_TOKEN_STORE sets it");
}

static void
times_have_defaults_and_bounds(void **state)
{
    mcp_auth_options opt = O(.client_id = "app");

    (void)state;
    wrong_is(O(.login_ms = -1), "login_ms: a time must not be negative");
    wrong_is(O(.fetch_ms = INT64_MIN), "fetch_ms: a time must not be negative");
    assert_int_equal(mcpi_auth_options_take(&opt, NULL), 0);
    assert_int_equal(opt.login_ms, 300000);
    assert_int_equal(opt.fetch_ms, 30000);
    assert_null(opt.redirect_uri);
    opt.login_ms = 1;
    opt.fetch_ms = INT64_MAX;
    assert_int_equal(mcpi_auth_options_take(&opt, NULL), 0);
    assert_int_equal(opt.login_ms, 1);
    assert_int_equal(opt.fetch_ms, 86400000);
}

static void
nothing_said_is_good(void **state)
{
    (void)state;
    good_is(O(.scope = NULL));
    good_is((mcp_auth_options){0});
}

/* ---- a copy ------------------------------------------------------------------------ */

/* All texts, each with a secret in it. */
static mcp_auth_options
all_texts(const char *text)
{
    return O(.client_id = text, .client_secret = text, .private_key = text,
             .key_id = text, .issuer = text, .metadata_url = text, .client_name = text,
             .client_uri = text, .redirect_uri = text, .scope = text,
             .idp_token_endpoint = text, .idp_client_id = text,
             .idp_client_secret = text, .login_ms = 7, .assertion = assertion);
}

static void
a_copy_has_all_texts_of_its_own(void **state)
{
    char text[] = SECRET;
    mcp_auth_options opt = all_texts(text), *copy;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    copy = mcpi_auth_options_copy(&mem.allocator, &opt);
    assert_non_null(copy);
    memset(text, 'x', sizeof(text) - 1);
    assert_string_equal(copy->client_id, SECRET);
    assert_string_equal(copy->client_secret, SECRET);
    assert_string_equal(copy->private_key, SECRET);
    assert_string_equal(copy->key_id, SECRET);
    assert_string_equal(copy->issuer, SECRET);
    assert_string_equal(copy->metadata_url, SECRET);
    assert_string_equal(copy->client_name, SECRET);
    assert_string_equal(copy->client_uri, SECRET);
    assert_string_equal(copy->redirect_uri, SECRET);
    assert_string_equal(copy->scope, SECRET);
    assert_string_equal(copy->idp_token_endpoint, SECRET);
    assert_string_equal(copy->idp_client_id, SECRET);
    assert_string_equal(copy->idp_client_secret, SECRET);
    assert_int_equal(copy->login_ms, 7);
    assert_ptr_equal(copy->assertion, assertion);
    assert_int_equal(atomic_load(&mem.live), 1);
    mem.secret = SECRET; /* not one that wipes: the copy sees to it */
    mcpi_auth_options_free(&mem.allocator, copy);
    test_mem_done(&mem);
}

static void
what_is_not_said_stays_so(void **state)
{
    mcp_auth_options opt = O(.client_id = ""), *copy;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    copy = mcpi_auth_options_copy(&mem.allocator, &opt);
    assert_string_equal(copy->client_id, "");
    assert_null(copy->client_secret);
    assert_null(copy->redirect_uri);
    mcpi_auth_options_free(&mem.allocator, copy);
    mcpi_auth_options_free(&mem.allocator, NULL);
    atomic_store(&mem.fail_at, atomic_load(&mem.total) + 1);
    assert_null(mcpi_auth_options_copy(&mem.allocator, &opt));
    test_mem_done(&mem);
}

/* What OpenSSL allocates once for a key in PEM, and keeps. */
static void
warm(int argc, char **argv)
{
    void *state = NULL;

    (void)argc, (void)argv;
    a_key_is_one_of_ours(&state);
    good_is(O(.client_id = "app", .private_key = PEM));
}

TEST_MAIN_AFTER(warm, TEST(who_we_are_is_said_whole), TEST(an_issuer_is_safe),
                TEST(a_document_about_us_has_an_address), TEST(a_key_is_one_of_ours),
                TEST(a_program_that_asks_for_itself_can_show_who_it_is),
                TEST(an_enterprise_names_its_provider),
                TEST(an_assertion_comes_from_somebody),
                TEST(an_agent_is_whole_and_alone),
                TEST(where_to_come_back_to_is_said_by_the_headless),
                TEST(a_redirect_uri_has_a_longest), TEST(a_store_is_whole),
                TEST(times_have_defaults_and_bounds), TEST(nothing_said_is_good),
                TEST(a_copy_has_all_texts_of_its_own), TEST(what_is_not_said_stays_so))
