/* oauth_test.c - our client signs in to our server, whatever happens to its tokens */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "end/oauth_rig.h"
#include "support/client_clock.h"
#include "support/curl_warm.h"
#include "support/issuer_warm.h"

#define HEADLESS MCP_AUTH_OPTIONS(.headless = true)

static char metadata_path[] = "/.well-known/oauth-authorization-server";
static char register_path[] = "/register";
static char authorize_path[] = "/authorize";
static char token_path[] = "/token";

/* ---- tokens, from the first to the last ------------------------------------------- */

static void
a_client_signs_in_and_calls(void **state)
{
    struct oauth o;
    mcp_client *client;

    (void)state;
    oauth_open(&o, NULL, NULL);
    oauth_connect(&o, &HEADLESS, &client);
    oauth_expect(client, "whoami", issuer_param(o.issuer, "/token", 0, "client_id"));
    assert_string_equal(issuer_param(o.issuer, "/authorize", 0, "resource"), o.url);
    assert_string_equal(issuer_param(o.issuer, "/token", 0, "resource"), o.url);
    assert_string_equal(issuer_member(o.issuer, "/register", 0, "application_type"),
                        "native");
    assert_int_equal(issuer_counts(o.issuer).tokens, 1);
    assert_int_equal(issuer_counts(o.issuer).refused, 0);
    mcp_client_free(client);
    oauth_close(&o);
}

/* The first of them signs in anew, and asks for what it had besides. */
static void
many_calls_that_need_more_cause_one_sign_in(void **state)
{
    enum { COUNT = 20 };
    struct oauth o;
    mcp_call *calls[COUNT];
    mcp_client *client;

    (void)state;
    oauth_open(&o, NULL, &MCP_GUARD_OPTIONS(.scope = "use"));
    oauth_connect(&o, &HEADLESS, &client);
    assert_string_equal(issuer_param(o.issuer, "/authorize", 0, "scope"), "use");
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(
            mcp_client_start_tool(client, "admin", NULL, NULL, NULL, NULL, &calls[i]),
            0);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, NULL, NULL), 0);
        mcp_call_free(calls[i]);
    }
    assert_int_equal(issuer_counts(o.issuer).codes, 2);
    assert_non_null(strstr(issuer_param(o.issuer, "/authorize", 1, "scope"), "use"));
    assert_non_null(strstr(issuer_param(o.issuer, "/authorize", 1, "scope"), "admin"));
    assert_int_equal(issuer_counts(o.issuer).registered, 1);
    mcp_client_free(client);
    oauth_close(&o);
}

static void
a_token_is_refreshed_before_it_expires(void **state)
{
    struct oauth o;
    mcp_client *client;

    (void)state;
    oauth_open(&o, &ISSUER_OPTIONS(.told = 1), NULL);
    oauth_connect(&o, &HEADLESS, &client);
    /* one that just came is not renewed: by the clock on the wall, a second */
    for (int i = 0; i < AWAIT_MS && issuer_counts(o.issuer).refreshed == 0; i++)
        oauth_expect(client, "whoami", issuer_url(o.issuer));
    assert_int_equal(issuer_counts(o.issuer).codes, 1);
    assert_int_equal(issuer_counts(o.issuer).refreshed, 1);
    assert_int_equal(issuer_counts(o.issuer).refused, 0);
    mcp_client_free(client);
    oauth_close(&o);
}

static void
a_token_that_is_refused_is_refreshed(void **state)
{
    struct oauth o;
    mcp_client *client;

    (void)state;
    oauth_open_gullible(&o, NULL);
    oauth_connect(&o, &HEADLESS, &client);
    oauth_ban(&o);
    oauth_expect(client, "whoami", "somebody");
    assert_int_equal(issuer_counts(o.issuer).codes, 1);
    assert_int_equal(issuer_counts(o.issuer).refreshed, 1);
    mcp_client_free(client);
    oauth_close(&o);
}

static void
a_refresh_token_that_is_revoked_leads_to_a_sign_in(void **state)
{
    struct oauth o;
    mcp_client *client;

    (void)state;
    oauth_open_gullible(&o, NULL);
    oauth_connect(&o, &HEADLESS, &client);
    issuer_revoke(o.issuer);
    oauth_ban(&o);
    oauth_expect(client, "whoami", "somebody");
    assert_int_equal(issuer_counts(o.issuer).codes, 2);
    assert_int_equal(issuer_counts(o.issuer).registered, 1);
    mcp_client_free(client);
    oauth_close(&o);
}

/* It is told so at the token endpoint, and registers once more. */
static void
a_client_that_was_forgotten_registers_again(void **state)
{
    struct oauth o;
    mcp_client *client;

    (void)state;
    oauth_open_gullible(&o, NULL);
    oauth_connect(&o, &HEADLESS, &client);
    issuer_forget_clients(o.issuer);
    oauth_ban(&o);
    oauth_expect(client, "whoami", "somebody");
    assert_int_equal(issuer_counts(o.issuer).registered, 2);
    mcp_client_free(client);
    oauth_close(&o);
}

/* Each has the file open for itself, as processes would. */
static void
clients_that_share_a_file_lose_no_refresh_token(void **state)
{
    enum { CLIENTS = 4, ROUNDS = 5 };
    char folder[] = "/tmp/libmcp-oauth-XXXXXX", path[64], lock[80];
    mcp_token_keep *keeps[CLIENTS];
    mcp_client *clients[CLIENTS];
    mcp_call *calls[CLIENTS];
    struct oauth o;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/tokens", folder);
    (void)snprintf(lock, sizeof(lock), "%s.lock", path);
    oauth_open(&o, &ISSUER_OPTIONS(.told = 1), NULL);
    for (int i = 0; i < CLIENTS; i++) {
        mcp_auth_options auth = HEADLESS;

        assert_int_equal(mcp_token_keep_file(&o.mem.allocator, path, &keeps[i], NULL),
                         0);
        auth.store = mcp_token_keep_interface(keeps[i]);
        oauth_connect(&o, &auth, &clients[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CLIENTS; i++)
            assert_int_equal(mcp_client_start_tool(clients[i], "whoami", NULL, NULL,
                                                   NULL, NULL, &calls[i]),
                             0);
        for (int i = 0; i < CLIENTS; i++) {
            assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, NULL, NULL), 0);
            mcp_call_free(calls[i]);
        }
    }
    assert_int_equal(issuer_counts(o.issuer).codes, 1);
    assert_int_equal(issuer_counts(o.issuer).registered, 1);
    assert_int_equal(issuer_counts(o.issuer).reused, 0);
    for (int i = 0; i < CLIENTS; i++) {
        mcp_client_free(clients[i]);
        mcp_token_keep_free(keeps[i]);
    }
    oauth_close(&o);
    (void)unlink(path);
    (void)unlink(lock);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- who we are ------------------------------------------------------------------- */

static void
tokens_are_bound_to_a_key(void **state)
{
    struct oauth o;
    mcp_client *client;

    (void)state;
    oauth_open(&o, &ISSUER_OPTIONS(.dpop_only = true, .dpop_nonce = true),
               &MCP_GUARD_OPTIONS(.dpop_only = true, .dpop_nonce = true));
    oauth_connect(&o, &HEADLESS, &client);
    for (int i = 0; i < 3; i++)
        oauth_expect(client, "whoami", issuer_url(o.issuer));
    issuer_turn_nonce(o.issuer);
    oauth_expect(client, "admin", issuer_url(o.issuer));
    assert_int_equal(issuer_counts(o.issuer).codes, 2);
    mcp_client_free(client);
    oauth_close(&o);
}

static void
a_client_that_is_known_need_not_register(void **state)
{
    const struct issuer_options known = {.client_id = "me", .client_secret = "s:%"};
    mcp_auth_options auth = MCP_AUTH_OPTIONS(.headless = true, .client_id = "me",
                                             .client_secret = "s:%");
    struct oauth o;
    mcp_client *client;

    (void)state;
    oauth_open(&o, &known, NULL);
    auth.issuer = issuer_url(o.issuer);
    oauth_connect(&o, &auth, &client);
    oauth_expect(client, "whoami", "me");
    assert_int_equal(issuer_count(o.issuer, "/register"), 0);
    mcp_client_free(client);
    auth.issuer = "http://127.0.0.1:1";
    assert_int_equal(oauth_try(&o, &auth, &client, NULL), MCP_E_AUTH);
    assert_int_equal(issuer_count(o.issuer, "/authorize"), 1);
    oauth_close(&o);
}

static void
a_program_signs_in_as_itself(void **state)
{
    const struct issuer_options known = {.client_id = "me", .client_secret = "s"};
    mcp_auth_options auth = MCP_AUTH_OPTIONS(.grant = MCP_GRANT_CLIENT,
                                             .client_id = "me", .client_secret = "s");
    struct oauth o;
    mcp_client *client;

    (void)state;
    oauth_open(&o, &known, NULL);
    oauth_connect(&o, &auth, &client);
    oauth_expect(client, "whoami", "me");
    assert_string_equal(issuer_param(o.issuer, "/token", 0, "grant_type"),
                        "client_credentials");
    assert_string_equal(issuer_param(o.issuer, "/token", 0, "resource"), o.url);
    mcp_client_free(client);
    auth.issuer = "http://127.0.0.1:1"; /* its secret is for somebody else */
    assert_int_equal(oauth_try(&o, &auth, &client, NULL), MCP_E_AUTH);
    assert_int_equal(issuer_count(o.issuer, "/token"), 1);
    oauth_close(&o);
}

/* user: the issuer that vouches. */
static int
vouch(void *user, const char *audience, char **ret_assertion, mcp_error *err)
{
    char claims[512];

    (void)err;
    (void)snprintf(
        claims, sizeof(claims),
        "{\"iss\":\"%s\",\"sub\":\"ann\",\"aud\":\"%s\",\"exp\":99999999999}",
        issuer_url(user), audience);
    *ret_assertion = issuer_sign(user, NULL, claims);
    return 0;
}

static void
a_platform_vouches_for_its_program(void **state)
{
    struct issuer *platform = issuer_open(NULL);
    const struct issuer_options trusting = {.client_id = "me", .trusts = platform};
    const mcp_auth_options auth = MCP_AUTH_OPTIONS(.grant = MCP_GRANT_ASSERTION,
                                                   .client_id = "me",
                                                   .assertion = vouch,
                                                   .assertion_user = platform);
    struct oauth o;
    mcp_client *client;

    (void)state;
    oauth_open(&o, &trusting, NULL);
    oauth_connect(&o, &auth, &client);
    oauth_expect(client, "whoami", "me");
    assert_int_equal(issuer_count(o.issuer, "/token"), 1);
    mcp_client_free(client);
    oauth_close(&o);
    issuer_close(platform);
}

static void
a_company_vouches_for_its_people(void **state)
{
    const struct issuer_options known = {.client_id = "us", .client_secret = "t"};
    struct issuer *company = issuer_open(&known);
    const struct issuer_options trusting = {
        .client_id = "me", .client_secret = "s", .trusts = company};
    mcp_auth_options auth = MCP_AUTH_OPTIONS(.grant = MCP_GRANT_ENTERPRISE,
                                             .client_id = "me", .client_secret = "s",
                                             .assertion = vouch,
                                             .assertion_user = company,
                                             .idp_client_id = "us",
                                             .idp_client_secret = "t");
    char endpoint[256];
    struct oauth o;
    mcp_client *client;

    (void)state;
    (void)snprintf(endpoint, sizeof(endpoint), "%s/token", issuer_url(company));
    auth.idp_token_endpoint = endpoint;
    oauth_open(&o, &trusting, NULL);
    oauth_connect(&o, &auth, &client);
    oauth_expect(client, "whoami", "me");
    assert_string_equal(issuer_param(company, "/token", 0, "audience"),
                        issuer_url(o.issuer));
    assert_string_equal(issuer_param(company, "/token", 0, "resource"), o.url);
    mcp_client_free(client);
    oauth_close(&o);
    issuer_close(company);
}

/* ---- somebody waits for it -------------------------------------------------------- */

/* The server wants more for it; answers of the issuer to this path wait. */
static void
admin_begin(struct oauth *o, mcp_client *client, const char *path, int64_t timeout_ms,
            mcp_call **ret_call)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = timeout_ms);

    issuer_hold(o->issuer, path);
    assert_int_equal(
        mcp_client_start_tool(client, "admin", NULL, &opt, NULL, NULL, ret_call), 0);
}

static void
admin_cancel(struct oauth *o, mcp_client *client, const char *path)
{
    size_t before = issuer_count(o->issuer, path);
    mcp_call *call;

    admin_begin(o, client, path, 0, &call);
    assert_true(issuer_await(o->issuer, path, before + 1));
    assert_int_equal(mcp_call_cancel(call, "enough"), 0);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    mcp_call_free(call);
}

/* Nobody waits for the page any more. */
static void
a_call_is_canceled_while_somebody_signs_in(void **state)
{
    struct oauth o;
    mcp_client *client;

    (void)state;
    oauth_open(&o, NULL, NULL);
    oauth_connect(&o, &HEADLESS, &client);
    admin_cancel(&o, client, "/authorize");
    assert_true(issuer_await_left(o.issuer, 1));
    issuer_release(o.issuer);
    oauth_expect(client, "whoami", issuer_url(o.issuer));
    oauth_expect(client, "admin", issuer_url(o.issuer));
    mcp_client_free(client);
    oauth_close(&o);
}

static void
oauth_await_opening(mcp_client *client, int status)
{
    mcp_error err = {0};

    for (int i = 0; i < AWAIT_MS && mcp_client_opening(client, &err) == MCP_E_AGAIN;
         i++)
        (void)poll(NULL, 0, 1);
    assert_int_equal(mcp_client_opening(client, &err), status);
}

/* state: the path that hangs. The greeting has all the time that a user needs, and no step
 * more than it may have. */
static void
a_client_does_not_connect_for_ever(void **state)
{
    const char *path = *state;
    const mcp_auth_options auth = MCP_AUTH_OPTIONS(.headless = true,
                                                   .fetch_ms = HOUR_MS);
    const mcp_http_client_options http = MCP_HTTP_CLIENT_OPTIONS(.auth = &auth);
    struct oauth o;
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "client", .version = "1.0",
                                                     .allocator = &o.mem.allocator,
                                                     .no_wait = true);
    mcp_client *client = NULL;
    struct virtual_clock clock;
    mcp_error err = {0};

    oauth_open(&o, NULL, NULL);
    issuer_hold(o.issuer, path);
    assert_int_equal(mcp_client_connect_http(o.url, &http, &me, &client, &err), 0);
    client_clock_hold(&clock, client);
    assert_true(issuer_await(o.issuer, path, 1));
    assert_int_equal(mcp_client_opening(client, &err), MCP_E_AGAIN);
    virtual_clock_pass(&clock, HOUR_MS);
    oauth_await_opening(client, MCP_E_AUTH);
    assert_int_equal(issuer_count(o.issuer, path), 1);
    assert_true(issuer_await_left(o.issuer, 1));
    mcp_client_free(client);
    oauth_close(&o);
}

/* The code is spent: its token is taken, whoever waits, and kept for the next one. */
static void
a_call_is_canceled_while_a_token_is_fetched(void **state)
{
    struct oauth o;
    mcp_client *client;

    (void)state;
    oauth_open(&o, NULL, NULL);
    oauth_connect(&o, &HEADLESS, &client);
    admin_cancel(&o, client, "/token");
    issuer_release(o.issuer);
    oauth_expect(client, "admin", issuer_url(o.issuer));
    assert_int_equal(issuer_counts(o.issuer).codes, 2);
    assert_int_equal(issuer_counts(o.issuer).tokens, 2);
    mcp_client_free(client);
    oauth_close(&o);
}

static void
a_call_times_out_while_a_token_is_fetched(void **state)
{
    struct oauth o;
    mcp_client *client;
    mcp_call *call;

    (void)state;
    oauth_open(&o, NULL, NULL);
    oauth_connect(&o, &HEADLESS, &client);
    admin_begin(&o, client, "/token", 300, &call);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_TIMEOUT);
    mcp_call_free(call);
    issuer_release(o.issuer);
    oauth_expect(client, "admin", issuer_url(o.issuer));
    mcp_client_free(client);
    oauth_close(&o);
}

static void
a_client_is_freed_while_a_token_is_fetched(void **state)
{
    struct oauth o;
    mcp_client *client;
    mcp_call *call;

    (void)state;
    oauth_open(&o, NULL, NULL);
    oauth_connect(&o, &HEADLESS, &client);
    admin_begin(&o, client, "/token", 0, &call);
    assert_true(issuer_await(o.issuer, "/token", 2));
    mcp_call_free(call);
    mcp_client_free(client);
    assert_true(issuer_await_left(o.issuer, 1));
    oauth_close(&o);
}

static void
fifty_canceled_calls_leave_nothing(void **state)
{
    enum { COUNT = 50 };
    struct oauth o;
    mcp_call *calls[COUNT];
    mcp_client *client;

    (void)state;
    oauth_open(&o, NULL, NULL);
    oauth_connect(&o, &HEADLESS, &client);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(
            mcp_client_start_tool(client, "hang", NULL, NULL, NULL, NULL, &calls[i]),
            0);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(mcp_call_cancel(calls[i], "enough"), 0);
        assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
        mcp_call_free(calls[i]);
    }
    oauth_rest(&o);
    oauth_expect(client, "whoami", issuer_url(o.issuer));
    mcp_client_free(client);
    oauth_close(&o);
}

TEST_MAIN(TEST(a_client_signs_in_and_calls),
          TEST(many_calls_that_need_more_cause_one_sign_in),
          TEST(a_token_is_refreshed_before_it_expires),
          TEST(a_token_that_is_refused_is_refreshed),
          TEST(a_refresh_token_that_is_revoked_leads_to_a_sign_in),
          TEST(a_client_that_was_forgotten_registers_again),
          TEST(clients_that_share_a_file_lose_no_refresh_token),
          TEST(tokens_are_bound_to_a_key),
          TEST(a_client_that_is_known_need_not_register),
          TEST(a_program_signs_in_as_itself), TEST(a_platform_vouches_for_its_program),
          TEST(a_company_vouches_for_its_people),
          TEST(a_call_is_canceled_while_somebody_signs_in),
          TEST_AS("a_client_does_not_connect_for_ever.discovery",
                  a_client_does_not_connect_for_ever, metadata_path),
          TEST_AS("a_client_does_not_connect_for_ever.registration",
                  a_client_does_not_connect_for_ever, register_path),
          TEST_AS("a_client_does_not_connect_for_ever.sign_in",
                  a_client_does_not_connect_for_ever, authorize_path),
          TEST_AS("a_client_does_not_connect_for_ever.token",
                  a_client_does_not_connect_for_ever, token_path),
          TEST(a_call_is_canceled_while_a_token_is_fetched),
          TEST(a_call_times_out_while_a_token_is_fetched),
          TEST(a_client_is_freed_while_a_token_is_fetched),
          TEST(fifty_canceled_calls_leave_nothing))
