/* end/http_auth_hostile_test.c - authorization servers, servers and browsers that lie */
#include "end/http_auth_rig.h"
#include "support/client_clock.h"

#define ERA (*(enum mcp_era *)*state)
#define WELL_KNOWN "/.well-known/oauth-authorization-server"

/* With this issuer nobody comes in, and that is why; with a good one they do. */
static void
refused_by(enum mcp_era era, struct issuer_options issuer, const char *why)
{
    struct auth_rig rig;

    rig_open(&rig, era, &issuer);
    rig_is_refused(&rig, HEADLESS(.scope = "read"), why);
    issuer_change(rig.issuer, &ISSUER_OPTIONS(.lifetime = 60));
    rig_connect(&rig, HEADLESS(.scope = "read"));
    rig_says(&rig);
    rig_close(&rig);
}

/* ---- what comes back from the page ------------------------------------------------------ */

static void
an_answer_of_another_issuer_is_refused(void **state)
{
    refused_by(ERA, ISSUER_OPTIONS(.iss = ISSUER_WRONG), "issuer");
    refused_by(ERA, ISSUER_OPTIONS(.iss = ISSUER_SLASH), "issuer");
    refused_by(ERA, ISSUER_OPTIONS(.iss = ISSUER_MISSING), "(iss)");
    refused_by(ERA, ISSUER_OPTIONS(.iss = ISSUER_WRONG, .hides_iss = true), "issuer");
}

/* One that neither sends it nor says so. */
static void
an_issuer_that_knows_no_iss_is_fine(void **state)
{
    struct auth_rig rig;

    rig_open(&rig, ERA, &ISSUER_OPTIONS(.iss = ISSUER_MISSING, .hides_iss = true));
    rig_connect(&rig, HEADLESS(.scope = "read"));
    rig_close(&rig);
}

static void
an_answer_to_another_question_is_refused(void **state)
{
    refused_by(ERA, ISSUER_OPTIONS(.state = ISSUER_WRONG), "");
    refused_by(ERA, ISSUER_OPTIONS(.state = ISSUER_MISSING), "");
}

static void
an_error_of_the_page_is_told(void **state)
{
    refused_by(ERA, ISSUER_OPTIONS(.error = "access_denied"), "access_denied");
}

/* No code of a refused answer is spent. */
static void
nothing_is_asked_with_a_code_that_is_not_ours(void **state)
{
    struct auth_rig rig;

    rig_open(&rig, ERA, &ISSUER_OPTIONS(.state = ISSUER_WRONG));
    rig_is_refused(&rig, HEADLESS(.scope = "read"), "");
    assert_int_equal(issuer_counts(rig.issuer).codes, 1);
    assert_int_equal(issuer_count(rig.issuer, "/token"), 0);
    rig_close(&rig);
}

/* The code of somebody else's sign-in is put into the answer to ours. */
static void
a_code_of_anothers_sign_in_is_of_no_use(void **state)
{
    struct user user = {0};
    mcp_auth_agent agent = user_agent(&user);
    char page[4096], back[4096], code[256];
    struct auth_rig rig;
    struct user other = {.idle = true};

    rig_open(&rig, ERA, NULL);
    rig_connect(&rig, MCP_AUTH_OPTIONS(.agent = &agent));
    /* the attacker begins a sign-in of their own, as the same client */
    (void)snprintf(page, sizeof(page), "%s", user.url);
    memset(strstr(page, "code_challenge=") + 15, 'A', 43);
    browse(page, back, sizeof(back));
    (void)snprintf(code, sizeof(code), "%.*s", (int)strcspn(strstr(back, "code="), "&"),
                   strstr(back, "code="));
    rig_disconnect(&rig);
    other = (struct user){.brings = code};
    agent = user_agent(&other);
    rig_is_refused(&rig, MCP_AUTH_OPTIONS(.agent = &agent), "invalid_grant");
    assert_int_equal(other.ended, 1);
    rig_close(&rig);
}

static void
an_answer_at_another_place_is_refused(void **state)
{
    static const char *const places[] = {"http://127.0.0.1:9/other",
                                         "http://127.0.0.1:8/back",
                                         "https://127.0.0.1:9/back", "nowhere"};
    struct auth_rig rig;

    rig_open(&rig, ERA, NULL);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct user user = {.brings = places[i]};
        mcp_auth_agent agent = user_agent(&user);

        rig_is_refused(&rig, MCP_AUTH_OPTIONS(.agent = &agent), "");
        assert_int_equal(user.ended, 1);
    }
    assert_int_equal(issuer_count(rig.issuer, "/token"), 0);
    rig_close(&rig);
}

static void
a_page_that_wants_somebody_is_not_for_machines(void **state)
{
    struct auth_rig rig;

    rig_open(&rig, ERA, NULL);
    issuer_say(rig.issuer, ISSUER_ANSWER(.path = "/authorize", .body = "<html>"));
    rig_is_refused(&rig, HEADLESS(.scope = "read"), "nobody is here");
    issuer_say(rig.issuer,
               ISSUER_ANSWER(.path = "/authorize", .status = "302 Found",
                             .fields = "Location: http://192.0.2.1/page\r\n"));
    rig_is_refused(&rig, HEADLESS(.scope = "read"), "nobody is here");
    rig_close(&rig);
}

/* ---- metadata --------------------------------------------------------------------------- */

static void
a_downgrade_of_PKCE_is_refused(void **state)
{
    struct auth_rig rig;

    refused_by(ERA, ISSUER_OPTIONS(.no_s256 = true), "S256");
    rig_open(&rig, ERA, &ISSUER_OPTIONS(.plain_only = true));
    rig_is_refused(&rig, HEADLESS(.scope = "read"), "S256");
    assert_int_equal(issuer_count(rig.issuer, "/authorize"), 0);
    rig_close(&rig);
}

static void
metadata_of_another_issuer_is_refused(void **state)
{
    refused_by(ERA, ISSUER_OPTIONS(.claimed = "https://as.test"), "another issuer");
}

static void
metadata_without_an_end_is_not_read_to_its_end(void **state)
{
    struct auth_rig rig;

    rig_open(&rig, ERA, NULL);
    issuer_say(rig.issuer, ISSUER_ANSWER(.path = WELL_KNOWN, .body = "{\"issuer\":\"",
                                         .endless = true));
    rig_is_refused(&rig, HEADLESS(.scope = "read"), "too long");
    assert_true(issuer_await_left(rig.issuer, 1));
    rig_close(&rig);
}

/* It asks there, and gives up when it has waited for as long as it may. */
static void
rig_waits_in_vain(struct auth_rig *rig, const char *path)
{
    const mcp_client_options opt = MCP_CLIENT_OPTIONS(.no_wait = true);
    struct virtual_clock clock;
    mcp_error err = {0};

    issuer_hold(rig->issuer, path);
    assert_int_equal(
        rig_try(rig, HEADLESS(.fetch_ms = HOUR_MS), opt, &rig->f.client, &err), 0);
    client_clock_hold(&clock, rig->f.client);
    assert_true(issuer_await(rig->issuer, path, 1));
    assert_int_equal(mcp_client_opening(rig->f.client, &err), MCP_E_AGAIN);
    virtual_clock_pass(&clock, HOUR_MS);
    RAW_UNTIL(mcp_client_opening(rig->f.client, &err) != MCP_E_AGAIN);
    rig_check_refusal(rig, &err, "");
    assert_true(issuer_await_left(rig->issuer, 1));
    rig_disconnect(rig);
    issuer_release(rig->issuer);
}

static void
whoever_does_not_answer_is_not_waited_for(void **state)
{
    static const char *const paths[] = {WELL_KNOWN, "/register", "/authorize",
                                        "/token"};
    struct auth_rig rig;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        rig_open(&rig, ERA, NULL);
        rig_waits_in_vain(&rig, paths[i]);
        rig_connect(&rig, HEADLESS(.scope = "read"));
        rig_close(&rig);
    }
}

static void
what_is_no_metadata_is_said_so(void **state)
{
    static const char *const bodies[] = {"", "[]", "{", "\"text\"", "{\"issuer\":7}"};
    struct auth_rig rig;

    rig_open(&rig, ERA, NULL);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        issuer_say(rig.issuer, ISSUER_ANSWER(.path = WELL_KNOWN, .body = bodies[i]));
        rig_is_refused(&rig, HEADLESS(.scope = "read"), "authorization server");
    }
    issuer_say(rig.issuer, ISSUER_ANSWER(.path = WELL_KNOWN,
                                         .status = "500 Internal Server Error"));
    rig_is_refused(&rig, HEADLESS(.scope = "read"), "HTTP 500");
    rig_close(&rig);
}

/* Whatever sends us elsewhere, with whatever status. */
static void
nobody_is_asked_at_another_origin(void **state)
{
    static const char *const paths[] = {WELL_KNOWN, "/register", "/token"};
    static const char *const codes[] = {"302 Found", "307 Temporary Redirect",
                                        "308 Permanent Redirect"};
    struct issuer *evil = issuer_open(NULL);
    char fields[512];
    struct auth_rig rig;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        rig_open(&rig, ERA, NULL);
        (void)snprintf(fields, sizeof(fields), "Location: %s%s\r\n",
                       issuer_origin(evil), paths[i]);
        issuer_say(rig.issuer, ISSUER_ANSWER(.path = paths[i], .status = codes[i],
                                             .fields = fields));
        rig_is_refused(&rig, HEADLESS(.scope = "read"), "");
        rig_close(&rig);
    }
    assert_int_equal(issuer_count(evil, "/*"), 0);
    issuer_close(evil);
}

/* ---- a server that lies -------------------------------------------------------------------- */

/* It is played by an authorization server, at /mcp. at: where its document is said to be;
 * NULL: where it is. */
static void
server_lies(const char *at, const char *document, const char *why)
{
    struct issuer *liar = issuer_open(NULL);
    mcp_auth_options auth = HEADLESS(.scope = "read");
    char url[256], fields[1024];
    mcp_client *client = NULL;
    mcp_error err = {0};

    (void)snprintf(url, sizeof(url), "%s/mcp", issuer_origin(liar));
    (void)snprintf(fields, sizeof(fields),
                   "WWW-Authenticate: Bearer resource_metadata=\"%s%s\"\r\n",
                   at ? "" : issuer_origin(liar), at ? at : "/document");
    issuer_say(liar, ISSUER_ANSWER(.path = "/mcp", .status = "401 Unauthorized",
                                   .fields = fields));
    issuer_say(liar, ISSUER_ANSWER(.path = "/document", .body = document));
    assert_int_equal(mcp_client_connect_http(url,
                                             &MCP_HTTP_CLIENT_OPTIONS(.auth = &auth),
                                             &REACHED_OPTIONS(), &client, &err),
                     MCP_E_AUTH);
    assert_int_equal(err.http_status, 401);
    if (!strstr(err.message, why))
        fail_msg("%s", err.message);
    assert_int_equal(issuer_count(liar, "/register"), 0);
    assert_int_equal(issuer_count(liar, "/authorize"), 0);
    issuer_close(liar);
}

static void
metadata_about_another_resource_is_refused(void **state)
{
    (void)state;
    server_lies(NULL,
                "{\"resource\":\"https://bank.test/mcp\",\"authorization_servers\":"
                "[\"https://as.test\"]}",
                "another resource");
    server_lies(NULL, "{\"resource\":7}", "");
    server_lies(NULL, "[]", "");
    server_lies("http://far.test/document", "{}", "");
    server_lies("file:///etc/passwd", "{}", "");
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void
a_token_for_another_audience_is_refused_by_the_guard(void **state)
{
    struct auth_rig rig;

    rig_open(&rig, ERA, &ISSUER_OPTIONS(.audience = "https://bank.test/"));
    rig_is_refused(&rig, HEADLESS(.scope = "read"), "refuses the token");
    assert_int_equal(issuer_counts(rig.issuer).tokens, 1); /* and not again and again */
    rig_close(&rig);
}

static void
a_token_that_is_dead_from_the_start_is_refused(void **state)
{
    struct auth_rig rig;

    rig_open(&rig, ERA,
             &ISSUER_OPTIONS(.lifetime = -600, .told = 3600, .no_refresh = true));
    rig_is_refused(&rig, HEADLESS(.scope = "read"), "refuses the token");
    assert_int_equal(issuer_counts(rig.issuer).tokens, 1);
    rig_close(&rig);
}

static void
a_token_that_is_not_what_was_asked_for_is_refused(void **state)
{
    struct auth_rig rig;

    rig_open(&rig, ERA, &ISSUER_OPTIONS(.token_type = "mac"));
    rig_is_refused(&rig, HEADLESS(.scope = "read"), "type");
    issuer_change(rig.issuer, &ISSUER_OPTIONS(.token_type = "Bearer"));
    rig_is_refused(&rig, HEADLESS(.dpop = true), "not bound to our key");
    rig_close(&rig);
}

static void
answers_for_tokens_that_are_none_are_refused(void **state)
{
    static const char *const bodies[] = {
        "",
        "[]",
        "{}",
        "{\"access_token\":\"\",\"token_type\":\"Bearer\"}",
        "{\"access_token\":\"a b\",\"token_type\":\"Bearer\"}",
        "{\"access_token\":\"a\\r\\nX: y\",\"token_type\":\"Bearer\"}",
        "{\"access_token\":\"a\\u0000b\",\"token_type\":\"Bearer\"}"};
    struct auth_rig rig;

    rig_open(&rig, ERA, NULL);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        issuer_say(rig.issuer, ISSUER_ANSWER(.path = "/token", .body = bodies[i]));
        rig_is_refused(&rig, HEADLESS(.scope = "read"), "");
    }
    rig_close(&rig);
}

static void
a_registration_that_is_refused_is_said_so(void **state)
{
    struct auth_rig rig;

    rig_open(&rig, ERA, &ISSUER_OPTIONS(.no_registration = true));
    rig_is_refused(&rig, HEADLESS(.scope = "read"), "cannot register");
    issuer_change(rig.issuer, &ISSUER_OPTIONS(.lifetime = 60));
    rig_is_refused(&rig, HEADLESS(.no_registration = true), "cannot register");
    issuer_say(
        rig.issuer,
        ISSUER_ANSWER(.path = "/register", .status = "403 Forbidden",
                      .body = "{\"error\":\"access_denied\",\"error_description\":"
                              "\"by\\npolicy\"}"));
    rig_is_refused(&rig, HEADLESS(.scope = "read"), "access_denied: by");
    rig_close(&rig);
}

TEST_MAIN(IN_BOTH_ERAS(an_answer_of_another_issuer_is_refused),
          IN_BOTH_ERAS(an_issuer_that_knows_no_iss_is_fine),
          IN_BOTH_ERAS(an_answer_to_another_question_is_refused),
          IN_BOTH_ERAS(an_error_of_the_page_is_told),
          IN_BOTH_ERAS(nothing_is_asked_with_a_code_that_is_not_ours),
          IN_BOTH_ERAS(a_code_of_anothers_sign_in_is_of_no_use),
          IN_BOTH_ERAS(an_answer_at_another_place_is_refused),
          IN_BOTH_ERAS(a_page_that_wants_somebody_is_not_for_machines),
          IN_BOTH_ERAS(a_downgrade_of_PKCE_is_refused),
          IN_BOTH_ERAS(metadata_of_another_issuer_is_refused),
          IN_BOTH_ERAS(metadata_without_an_end_is_not_read_to_its_end),
          IN_BOTH_ERAS(whoever_does_not_answer_is_not_waited_for),
          IN_BOTH_ERAS(what_is_no_metadata_is_said_so),
          IN_BOTH_ERAS(nobody_is_asked_at_another_origin),
          TEST(metadata_about_another_resource_is_refused),
          IN_BOTH_ERAS(a_token_for_another_audience_is_refused_by_the_guard),
          IN_BOTH_ERAS(a_token_that_is_dead_from_the_start_is_refused),
          IN_BOTH_ERAS(a_token_that_is_not_what_was_asked_for_is_refused),
          IN_BOTH_ERAS(answers_for_tokens_that_are_none_are_refused),
          IN_BOTH_ERAS(a_registration_that_is_refused_is_said_so))
