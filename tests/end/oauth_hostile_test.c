/* oauth_hostile_test.c - our client and an issuer that lies, or does not end */
#include <stdio.h>
#include <string.h>

#include "end/oauth_rig.h"
#include "support/curl_warm.h"
#include "support/issuer_warm.h"

#define EVIL "https://evil.example.com"
#define METADATA "/.well-known/oauth-authorization-server"
#define HEADLESS MCP_AUTH_OPTIONS(.headless = true)

/* It is not let in, and this path was not asked for more often than that. */
static void
expect_refusal(struct oauth *o, const char *path, size_t most)
{
    mcp_client *client = NULL;
    mcp_error err = {0};

    assert_int_equal(oauth_try(o, &HEADLESS, &client, &err), MCP_E_AUTH);
    assert_true(err.message[0] != '\0');
    assert_true(issuer_count(o->issuer, path) <= most);
}

/* ---- lies ------------------------------------------------------------------------- */

struct lie {
    struct issuer_options issuer;
    const char *never; /* the path that a client that sees it does not get to */
};

static struct lie lies[] = {
    {{.claimed = EVIL}, "/authorize"},
    {{.no_s256 = true}, "/authorize"},
    {{.plain_only = true}, "/authorize"},
    {{.elsewhere = "http://evil.example.com"}, "/authorize"},
    {{.no_registration = true}, "/authorize"},
    {{.iss = ISSUER_WRONG}, "/token"},
    {{.iss = ISSUER_SLASH}, "/token"},
    {{.iss = ISSUER_MISSING}, "/token"},
    {{.iss = ISSUER_WRONG, .hides_iss = true}, "/token"},
    {{.state = ISSUER_WRONG}, "/token"},
    {{.state = ISSUER_MISSING}, "/token"},
    {{.error = "access_denied"}, "/token"},
};

static void
a_lie_is_not_believed(void **state)
{
    const struct lie *lie = *state;
    struct oauth o;

    oauth_open(&o, &lie->issuer, NULL);
    expect_refusal(&o, lie->never, 0);
    oauth_close(&o);
}

static void
an_issuer_need_not_say_that_it_sends_no_iss(void **state)
{
    struct oauth o;
    mcp_client *client;

    (void)state;
    oauth_open(&o, &ISSUER_OPTIONS(.iss = ISSUER_MISSING, .hides_iss = true), NULL);
    oauth_connect(&o, &HEADLESS, &client);
    mcp_client_free(client);
    oauth_close(&o);
}

/* ---- tokens that do not help ------------------------------------------------------ */

static struct issuer_options useless[] = {
    {.audience = "https://other.example.com/mcp"},
    {.lifetime = -3600, .told = 3600},
    {.lifetime = -3600, .told = 3600, .no_refresh = true},
    {.token_type = "mac"},
};

static void
a_token_that_does_not_help_ends_in_a_refusal(void **state)
{
    const struct issuer_options *issuer = *state;
    struct oauth o;

    oauth_open(&o, issuer, NULL);
    expect_refusal(&o, "/authorize", 3);
    assert_true(issuer_count(o.issuer, "/token") <= 6);
    oauth_close(&o);
}

static void
less_scope_than_needed_ends_in_a_refusal(void **state)
{
    struct oauth o;
    mcp_client *client;

    (void)state;
    oauth_open(&o, &ISSUER_OPTIONS(.granted = "use"), NULL);
    oauth_connect(&o, &HEADLESS, &client);
    assert_int_equal(mcp_client_call_tool(client, "admin", NULL, NULL, NULL, NULL),
                     MCP_E_AUTH);
    assert_true(issuer_count(o.issuer, "/authorize") <= 4);
    oauth_expect(client, "whoami", issuer_url(o.issuer));
    mcp_client_free(client);
    oauth_close(&o);
}

/* ---- answers ---------------------------------------------------------------------- */

struct bad {
    struct issuer_answer answer;
    const char *never;
};

static struct bad bads[] = {
    {{.path = METADATA, .body = "{\"issuer\":\"", .endless = true}, "/authorize"},
    {{.path = METADATA, .body = "[]"}, "/authorize"},
    {{.path = METADATA, .body = "{\"issuer\":1}"}, "/authorize"},
    {{.path = METADATA, .status = "500 Oh"}, "/authorize"},
    {{.path = "/register", .status = "500 Oh"}, "/authorize"},
    {{.path = "/register", .status = "201 Created", .body = "{}"}, "/authorize"},
    {{.path = "/register", .endless = true}, "/authorize"},
    {{.path = "/authorize", .status = "200 OK", .body = "a page"}, "/token"},
    {{.path = "/authorize", .status = "302 Found"}, "/token"},
    {{.path = "/authorize",
      .status = "302 Found",
      .fields = "Location: http://127.0.0.1/callback?code=stolen\r\n"},
     "/token"},
    {{.path = "/token",
      .body = "{\"access_token\":\"a\\r\\nb\",\"token_type\":"
              "\"Bearer\"}"},
     "/none"},
    {{.path = "/token", .body = "{\"token_type\":\"Bearer\"}"}, "/none"},
    {{.path = "/token", .status = "500 Oh"}, "/none"},
    {{.path = "/token", .endless = true}, "/none"},
    {{.path = "/token",
      .status = "307 Temporary Redirect",
      .fields = "Location: http://127.0.0.1:1/token\r\n"},
     "/none"},
};

static void
a_bad_answer_ends_in_a_refusal(void **state)
{
    const struct bad *bad = *state;
    struct oauth o;

    oauth_open(&o, NULL, NULL);
    issuer_say(o.issuer, &bad->answer);
    expect_refusal(&o, bad->never, 0);
    assert_true(issuer_count(o.issuer, bad->answer.path) <= 3);
    oauth_close(&o);
}

/* Nobody there is told anything: not even that somebody asks. */
static void
metadata_is_not_fetched_from_where_it_was_moved_to(void **state)
{
    struct issuer *other = issuer_open(NULL);
    char fields[256];
    struct oauth o;

    (void)state;
    (void)snprintf(fields, sizeof(fields), "Location: %s" METADATA "\r\n",
                   issuer_origin(other));
    oauth_open(&o, NULL, NULL);
    issuer_say(o.issuer, ISSUER_ANSWER(.path = METADATA, .status = "302 Found",
                                       .fields = fields));
    expect_refusal(&o, "/authorize", 0);
    assert_int_equal(issuer_count(other, "*"), 0);
    oauth_close(&o);
    issuer_close(other);
}

/* An issuer whose endpoints are another's: its client's code is not taken there. */
static void
an_issuer_that_points_to_another_gets_no_token(void **state)
{
    struct issuer *honest = issuer_open(NULL);
    struct oauth o;

    (void)state;
    oauth_open(&o, &ISSUER_OPTIONS(.elsewhere = issuer_origin(honest)), NULL);
    expect_refusal(&o, "/token", 0);
    assert_int_equal(issuer_count(honest, "/token"), 0); /* iss gives it away */
    oauth_close(&o);
    issuer_close(honest);
}

static void
a_token_endpoint_that_is_down_for_a_moment_is_no_end(void **state)
{
    struct oauth o;
    mcp_client *client;
    int r;

    (void)state;
    oauth_open_gullible(&o, NULL);
    oauth_connect(&o, &HEADLESS, &client);
    issuer_say(o.issuer, ISSUER_ANSWER(.path = "/token", .times = 1,
                                       .status = "503 Service Unavailable"));
    oauth_ban(&o);
    r = mcp_client_call_tool(client, "whoami", NULL, NULL, NULL, NULL);
    assert_true(r == 0 || r == MCP_E_AUTH);
    oauth_expect(client, "whoami", "somebody");
    assert_int_equal(issuer_counts(o.issuer).reused, 0);
    mcp_client_free(client);
    oauth_close(&o);
}

#define LIE(n, name) \
    TEST_AS("a_lie_is_not_believed." name, a_lie_is_not_believed, &lies[n])
#define USELESS(n, name)                        \
    TEST_AS("a_token_that_does_not_help." name, \
            a_token_that_does_not_help_ends_in_a_refusal, &useless[n])
#define BAD(n, name) \
    TEST_AS("a_bad_answer." name, a_bad_answer_ends_in_a_refusal, &bads[n])

TEST_MAIN(LIE(0, "another_issuer"), LIE(1, "no_pkce"), LIE(2, "plain_pkce"),
          LIE(3, "unsafe_endpoints"), LIE(4, "no_way_to_register"), LIE(5, "wrong_iss"),
          LIE(6, "iss_with_slash"), LIE(7, "no_iss"), LIE(8, "iss_unannounced"),
          LIE(9, "wrong_state"), LIE(10, "no_state"), LIE(11, "denied"),
          TEST(an_issuer_need_not_say_that_it_sends_no_iss),
          USELESS(0, "wrong_audience"), USELESS(1, "dead"),
          USELESS(2, "dead_without_refresh"), USELESS(3, "of_another_type"),
          TEST(less_scope_than_needed_ends_in_a_refusal), BAD(0, "endless_metadata"),
          BAD(1, "metadata_no_object"), BAD(2, "metadata_of_nobody"),
          BAD(3, "no_metadata"), BAD(4, "registration_fails"),
          BAD(5, "registration_without_id"), BAD(6, "endless_registration"),
          BAD(7, "a_page_instead_of_a_redirect"), BAD(8, "a_redirect_to_nowhere"),
          BAD(9, "an_injected_code"), BAD(10, "a_token_with_a_line_break"),
          BAD(11, "no_token"), BAD(12, "token_endpoint_fails"),
          BAD(13, "endless_token"), BAD(14, "token_endpoint_moved"),
          TEST(metadata_is_not_fetched_from_where_it_was_moved_to),
          TEST(an_issuer_that_points_to_another_gets_no_token),
          TEST(a_token_endpoint_that_is_down_for_a_moment_is_no_end))
