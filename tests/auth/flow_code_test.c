/* auth/flow_code_test.c - a token for a user who signs in, and those who come between */
#include "auth/flow_fixture.h"
#include "auth/flow_steps.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Agreed on as c1; the page is shown. */
static void
code_open(struct scene *s, const char *resource, const char *issuer)
{
    scene_set(s);
    s->auth.client_id = "c1";
    scene_init(s);
    refused(s, NULL, "read write");
    resource_says(s, resource);
    issuer_says(s, issuer);
}

static void
code_open_usual(struct scene *s)
{
    code_open(s, RESOURCE_JSON(ISSUER, ""), ISSUER_JSON(ISSUER, ""));
    assert_int_equal(s->agent.opens, 1);
}

/* ---- the page --------------------------------------------------------------------- */

static void
a_page_says_what_is_asked_for(void **state)
{
    struct scene s;

    (void)state;
    code_open_usual(&s);
    assert_memory_equal(s.agent.page, "https://as.test/authorize?response_type=", 40);
    assert_value(s.agent.page, "response_type", "code");
    assert_value(s.agent.page, "client_id", "c1");
    assert_value(s.agent.page, "redirect_uri", HOME);
    assert_value(s.agent.page, "scope", "read write");
    assert_value(s.agent.page, "code_challenge_method", "S256");
    assert_value(s.agent.page, "resource", SERVER);
    assert_value(s.agent.page, "prompt", NULL);
    assert_int_equal(strlen(value_of(s.agent.page, "state")), 43);
    assert_int_equal(strlen(value_of(s.agent.page, "code_challenge")), 43);
    assert_null(value_of(s.agent.page, "code_verifier"));
    scene_close(&s);
}

static void
a_code_is_exchanged_by_who_asked_for_it(void **state)
{
    char challenge[MCPI_KEY_THUMBPRINT_SIZE];
    struct fake_fetch *post;
    const char *verifier;
    struct scene s;

    (void)state;
    code_open_usual(&s);
    signed_in(&s, "&code=geheim%2Bcode%26x");
    assert_int_equal(s.agent.ends, 1);
    post = token_asked(&s);
    assert_true(post->stays);
    assert_int_equal(post->nearest, MCPI_ADDRESS_PUBLIC);
    assert_value(post->body, "grant_type", "authorization_code");
    assert_value(post->body, "code", "geheim+code&x");
    assert_value(post->body, "redirect_uri", HOME);
    assert_value(post->body, "client_id", "c1");
    assert_value(post->body, "resource", SERVER);
    assert_value(post->body, "scope", NULL);
    verifier = value_of(post->body, "code_verifier");
    assert_int_equal(mcpi_sha256_text(verifier, strlen(verifier), challenge), 0);
    assert_value(s.agent.page, "code_challenge", challenge);
    token_says(&s, 200, TOKEN_JSON(",'refresh_token':'geheim-second'"));
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(s.token->refresh, "geheim-second");
    assert_string_equal(s.token->scope, "read write");
    assert_string_equal(s.store.log, "save ");
    assert_string_equal(s.flow.state, ""); /* nothing is left of it */
    assert_string_equal(s.flow.verifier, "");
    scene_close(&s);
}

/* As it is published, whatever else would be the same. */
static void
the_resource_is_named_as_it_names_itself(void **state)
{
    static const char *const names[] = {"https://mcp.test", "https://MCP.test/v1/",
                                        "https://mcp.test:443/v1/mcp"};
    char json[256];

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        struct scene s;

        (void)snprintf(json, sizeof(json),
                       "{'resource':'%s','authorization_servers':['" ISSUER "']}",
                       names[i]);
        code_open(&s, json, ISSUER_JSON(ISSUER, ""));
        assert_value(s.agent.page, "resource", names[i]);
        signed_in(&s, "&code=geheim-code");
        assert_value(token_asked(&s)->body, "resource", names[i]);
        token_says(&s, 200, TOKEN_JSON(""));
        assert_string_equal(s.token->resource, names[i]);
        scene_close(&s);
    }
}

static void
each_sign_in_has_its_own_secrets(void **state)
{
    char first[64], challenge[64];
    struct scene s;

    (void)state;
    code_open_usual(&s);
    (void)snprintf(first, sizeof(first), "%s", value_of(s.agent.page, "state"));
    (void)snprintf(challenge, sizeof(challenge), "%s",
                   value_of(s.agent.page, "code_challenge"));
    assert_true(mcpi_flow_stop(&s.flow));
    refused(&s, NULL, "");
    discovered(&s);
    assert_int_equal(s.agent.opens, 2);
    assert_string_not_equal(value_of(s.agent.page, "state"), first);
    assert_string_not_equal(value_of(s.agent.page, "code_challenge"), challenge);
    scene_close(&s);
}

static void
a_page_with_a_query_keeps_it(void **state)
{
    struct scene s;

    (void)state;
    code_open(&s, RESOURCE_JSON(ISSUER, ""),
              "{'issuer':'" ISSUER "','token_endpoint':'" TOKEN_PLACE
              "','authorization_endpoint':'https://as.test/a?tenant=1',"
              "'code_challenge_methods_supported':['S256']}");
    assert_memory_equal(s.agent.page, "https://as.test/a?tenant=1&response_type=", 41);
    scene_close(&s);
}

static void
who_may_come_back_without_the_user_is_asked_for_with_consent(void **state)
{
    static const char issuer[] = ISSUER_JSON(
        ISSUER, ",'scopes_supported':['read','offline_access']");
    struct scene s;

    (void)state;
    code_open(&s, RESOURCE_JSON(ISSUER, ""), issuer);
    assert_value(s.agent.page, "scope", "read write offline_access");
    assert_value(s.agent.page, "prompt", "consent");
    scene_close(&s);
    scene_set(&s);
    s.auth.client_id = "c1";
    s.auth.no_offline = true;
    scene_init(&s);
    refused(&s, NULL, "read");
    resource_says(&s, RESOURCE_JSON(ISSUER, ""));
    issuer_says(&s, issuer);
    assert_value(s.agent.page, "scope", "read");
    assert_value(s.agent.page, "prompt", NULL);
    scene_close(&s);
}

/* ---- no page at all ---------------------------------------------------------------- */

static void
codes_that_are_not_protected_are_not_asked_for(void **state)
{
    static const char *const methods[] = {
        "", ",'code_challenge_methods_supported':[]",
        ",'code_challenge_methods_supported':['plain']",
        ",'code_challenge_methods_supported':'S256'",
        ",'code_challenge_methods_supported':['s256']"};
    char json[512];

    (void)state;
    for (size_t i = 0; i < COUNT(methods); i++) {
        struct scene s;

        (void)snprintf(json, sizeof(json),
                       "{'issuer':'" ISSUER "','token_endpoint':'" TOKEN_PLACE
                       "','authorization_endpoint':'https://as.test/authorize',"
                       "'registration_endpoint':'" REGISTER_PLACE "'%s}",
                       methods[i]);
        code_open(&s, RESOURCE_JSON(ISSUER, ""), json);
        expect_failure(&s, 1,
                       "the authorization server does not protect codes (PKCE with "
                       "S256)",
                       false);
        assert_int_equal(s.agent.begins, 0);
        asked_no_more(&s.st, 2);
        scene_close(&s);
    }
}

static void
an_issuer_without_a_page_shows_none(void **state)
{
    struct scene s;

    (void)state;
    code_open(&s, RESOURCE_JSON(ISSUER, ""),
              "{'issuer':'" ISSUER "','token_endpoint':'" TOKEN_PLACE
              "','code_challenge_methods_supported':['S256']}");
    expect_failure(&s, 1, "the authorization server has no page to sign in", false);
    scene_close(&s);
    code_open(&s, RESOURCE_JSON(ISSUER, ""),
              "{'issuer':'" ISSUER
              "','authorization_endpoint':'https://as.test/authorize',"
              "'code_challenge_methods_supported':['S256']}");
    expect_failure(&s, 1, "the authorization server gives out no tokens", false);
    assert_int_equal(s.agent.begins, 0); /* nobody signs in for nothing */
    scene_close(&s);
}

/* ---- those who come between --------------------------------------------------------- */

#define WRONG_STATE "the answer to the sign-in is not for this one: wrong state"
#define NO_ISS "the answer to the sign-in does not say who it is from (iss)"
#define OTHER_ISS "the answer to the sign-in is from another issuer (iss)"
#define ELSEWHERE "the answer to the sign-in was sent to another place"

/* What an attacker brings, @ for the state; and what is told of it. */
static const struct {
    bool sends_iss;
    const char *uri, *why;
} attacks[] = {
    {false, HOME "?code=geheim-evil&state=wrong", WRONG_STATE},
    {false, HOME "?code=geheim-evil&state=", WRONG_STATE},
    {false, HOME "?code=geheim-evil&state=@x", WRONG_STATE},
    {false, HOME "?code=geheim-evil", "the answer to the sign-in has no state"},
    {false, HOME "?code=geheim-evil&state=wrong&state=@",
     "the answer to the sign-in has a state that cannot be read"},
    {false, HOME "?code=geheim-evil&state=@&iss=https%3A%2F%2Fevil.test", OTHER_ISS},
    {false, HOME "?code=geheim-evil&state=@&iss=https%3A%2F%2Fas.test%2Ftenant%2F",
     OTHER_ISS},
    {true, HOME "?code=geheim-evil&state=@", NO_ISS},
    {true, HOME "?code=geheim-evil&state=@&iss=https%3A%2F%2Fas.test", OTHER_ISS},
    {false, "https://evil.test/callback?code=geheim-evil&state=@", ELSEWHERE},
    {false, "http://127.0.0.1:4712/callback?code=geheim-evil&state=@", ELSEWHERE},
    {false, HOME "/x?code=geheim-evil&state=@", ELSEWHERE},
    {false, HOME "#code=geheim-evil&state=@", ELSEWHERE},
    {false, HOME "?state=@", "the answer to the sign-in has no code"},
    {false, HOME "?state=@&code=", "the answer to the sign-in has no code"},
    {false, HOME "?state=@&code=a&code=b",
     "the answer to the sign-in has a code that cannot be read"},
    /* What somebody else says is not shown. */
    {false, HOME "?error=BUY_THIS&error_description=NOW&state=wrong", WRONG_STATE},
    {true, HOME "?error=BUY_THIS&error_description=NOW&state=@", NO_ISS},
    {false, HOME "?error=BUY_THIS&state=@&iss=https%3A%2F%2Fevil.test", OTHER_ISS},
    /* What the right one says is, and then a code counts for nothing. */
    {false, HOME "?error=access_denied&error_description=no%0Away&code=geheim&state=@",
     "the authorization server refused: access_denied (no?way)"},
};

static void
bring(struct scene *s, const char *uri)
{
    const char *at = strchr(uri, '@');
    char text[512];

    (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at ? at - uri : 0), uri,
                   at ? value_of(s->agent.page, "state") : "", at ? at + 1 : uri);
    mcp_auth_answer(s->agent.visit, text);
    scene_settle(s);
}

static void
a_code_of_somebody_else_is_never_posted(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(attacks); i++) {
        struct scene s;

        code_open(
            &s, RESOURCE_JSON(ISSUER, ""),
            attacks[i].sends_iss
                ? ISSUER_JSON(ISSUER,
                              ",'authorization_response_iss_parameter_supported':true")
                : ISSUER_JSON(ISSUER, ""));
        bring(&s, attacks[i].uri);
        expect_failure(&s, 1, attacks[i].why, false);
        asked_no_more(&s.st, 2);
        scene_close(&s);
    }
}

static void
an_issuer_that_says_who_it_is_is_believed(void **state)
{
    struct scene s;

    (void)state;
    code_open(
        &s, RESOURCE_JSON(ISSUER, ""),
        ISSUER_JSON(ISSUER, ",'authorization_response_iss_parameter_supported':true"));
    signed_in(&s, "&code=geheim-code&iss=https%3A%2F%2Fas.test%2Ftenant");
    assert_value(token_asked(&s)->body, "code", "geheim-code");
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    scene_close(&s);
}

/* The answer to the page of before is no answer to this one. */
static void
an_answer_to_an_earlier_page_is_none(void **state)
{
    char earlier[256];
    struct scene s;

    (void)state;
    code_open_usual(&s);
    (void)snprintf(earlier, sizeof(earlier), HOME "?code=geheim-code&state=%s",
                   value_of(s.agent.page, "state"));
    assert_true(mcpi_flow_stop(&s.flow));
    refused(&s, NULL, "");
    discovered(&s);
    mcp_auth_answer(s.agent.visit, earlier);
    scene_settle(&s);
    expect_failure(&s, 1, WRONG_STATE, false);
    scene_close(&s);
}

static void
a_code_that_is_refused_is_not_tried_again(void **state)
{
    struct scene s;

    (void)state;
    code_open_usual(&s);
    signed_in(&s, "&code=geheim-code");
    token_says(&s, 400, "{'error':'invalid_grant'}");
    expect_failure(&s, 1, "the authorization server refused: invalid_grant", false);
    asked_no_more(&s.st, 3);
    assert_int_equal(s.agent.begins, 1);
    scene_close(&s);
}

/* ---- the agent ---------------------------------------------------------------------- */

static void
without_anybody_nobody_signs_in(void **state)
{
    static const int begins[] = {0, MCP_E_LIMIT, MCP_E_STATE, 0, 0};
    static const char *const why[] = {
        "somebody has to sign in, and nobody can",
        "somebody has to sign in, and that cannot begin: limit reached",
        "somebody has to sign in, and the place to come back to is taken",
        "somebody has to sign in, and nobody can",
        "the page to sign in cannot be shown",
    };
    struct scene s;

    (void)state;
    for (size_t i = 0; i < COUNT(why); i++) {
        scene_set(&s);
        s.auth.client_id = "c1";
        if (i == 0)
            s.auth.agent = NULL;
        s.agent.begin_status = begins[i];
        s.agent.uri = i == 3 ? "http://elsewhere.test/" : HOME;
        s.agent.open_status = i == 4 ? MCP_E_STATE : 0;
        scene_init(&s);
        refused(&s, NULL, "");
        discovered(&s);
        expect_failure(&s, 1, why[i], false);
        asked_no_more(&s.st, 2);
        scene_close(&s);
    }
}

/* Nor can anybody tell what for, if that is not said. */
static void
without_anybody_it_is_said_for_what(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    scene_set(&s);
    s.auth.client_id = "c1";
    s.auth.agent = NULL;
    scene_init(&s);
    stepped_up(&s, &old, "notes:write admin");
    discovered(&s);
    expect_failure(
        &s, 1,
        "the server wants a token for \"notes:write admin\", somebody has to "
        "sign in, and nobody can",
        false);
    scene_close(&s);
}

static void
the_user_has_so_much_time_and_may_say_no(void **state)
{
    struct scene s;

    (void)state;
    code_open_usual(&s);
    stage_pass(&s.st, s.auth.login_ms * 1000 - 1);
    expect_nothing(&s);
    stage_pass(&s.st, 1);
    expect_failure(&s, 1, "nobody signed in in time", false);
    refused(&s, NULL, "");
    discovered(&s);
    mcp_auth_refuse(s.agent.visit, "no\nbrowser");
    scene_settle(&s);
    expect_failure(&s, 2, "no?browser", false);
    scene_close(&s);
}

/* While we register, say: what it brings cannot be ours. */
static void
an_answer_before_the_page_ends_it(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s);
    refused(&s, NULL, "");
    discovered(&s);
    (void)asked(&s.st, "POST", REGISTER_PLACE);
    mcp_auth_answer(s.agent.visit, HOME "?code=geheim-evil&state=");
    scene_settle(&s);
    expect_failure(&s, 1, "the sign-in was answered before its page was shown", false);
    asked_no_more(&s.st, 3);
    assert_int_equal(s.agent.opens, 0);
    scene_close(&s);
}

static void
a_page_that_needs_nobody_is_looked_at_here(void **state)
{
    struct fake_fetch *get;
    char line[512];
    struct scene s;

    (void)state;
    scene_set(&s);
    s.auth.client_id = "c1";
    s.auth.agent = NULL;
    s.auth.headless = true;
    s.auth.redirect_uri = HOME;
    scene_init(&s);
    refused(&s, NULL, "");
    discovered(&s);
    get = fake_last(&s.st.fetcher);
    assert_string_equal(get->method, "GET");
    assert_true(get->stays);
    assert_int_equal(get->nearest, MCPI_ADDRESS_PUBLIC);
    assert_value(get->url, "redirect_uri", HOME);
    (void)snprintf(line, sizeof(line), "Location: " HOME "?code=geheim-code&state=%s",
                   value_of(get->url, "state"));
    answer_headed(get, 302, line, "");
    assert_value(token_asked(&s)->body, "code", "geheim-code");
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    refused(&s, NULL, "");
    discovered(&s);
    answer_headed(fake_last(&s.st.fetcher), 200, NULL, "");
    expect_failure(&s, 2,
                   "the page to sign in wants somebody to see it, and nobody is here",
                   false);
    scene_close(&s);
}

/* ---- stopping ------------------------------------------------------------------------- */

static void
a_sign_in_is_stopped_and_its_page_ended(void **state)
{
    struct scene s;

    (void)state;
    for (int answered = 0; answered < 2; answered++) {
        code_open_usual(&s);
        if (answered) /* but not heard yet */
            mcp_auth_answer(s.agent.visit, HOME "?code=geheim-code");
        assert_true(mcpi_flow_stop(&s.flow));
        assert_int_equal(s.agent.ends, 1);
        stage_pass(&s.st, s.auth.login_ms * 1000);
        expect_nothing(&s);
        asked_no_more(&s.st, 2);
        scene_close(&s);
    }
}

static void
a_code_that_was_sent_is_not_stopped(void **state)
{
    struct scene s;

    (void)state;
    code_open_usual(&s);
    signed_in(&s, "&code=geheim-code");
    (void)token_asked(&s);
    assert_false(mcpi_flow_stop(&s.flow));
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(store_get(&s.store, "the token", "access_token"), "geheim-new");
    scene_close(&s);
}

/* ---- memory ------------------------------------------------------------------------------ */

static void
flow(struct test_mem *mem, void *user)
{
    struct scene s;

    scene_set(&s);
    s.auth.dpop = user != NULL;
    if (scene_init_with(&s, mem) == 0) {
        refused(&s, NULL, "");
        (void)play(&s);
        assert_int_equal(s.done, 1);
        if (s.status == MCP_E_AUTH) /* the token is a Bearer's */
            assert_true(s.auth.dpop &&
                        strcmp(s.why, "the token is not bound to our key") == 0);
        else
            assert_true(s.status == 0 || atomic_load(&mem->failed) > 0);
        if (s.status == 0) {
            assert_string_equal(s.token->access, "geheim-new");
            assert_string_equal(s.token->scope, "read offline_access");
        }
    }
    scene_close(&s);
}

static void
each_allocation_may_fail(void **state)
{
    int dpop;

    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 40);
    assert_true(test_each_allocation_fails(flow, &dpop) > 40);
}

TEST_MAIN(TEST(a_page_says_what_is_asked_for),
          TEST(a_code_is_exchanged_by_who_asked_for_it),
          TEST(the_resource_is_named_as_it_names_itself),
          TEST(each_sign_in_has_its_own_secrets), TEST(a_page_with_a_query_keeps_it),
          TEST(who_may_come_back_without_the_user_is_asked_for_with_consent),
          TEST(codes_that_are_not_protected_are_not_asked_for),
          TEST(an_issuer_without_a_page_shows_none),
          TEST(a_code_of_somebody_else_is_never_posted),
          TEST(an_issuer_that_says_who_it_is_is_believed),
          TEST(an_answer_to_an_earlier_page_is_none),
          TEST(a_code_that_is_refused_is_not_tried_again),
          TEST(without_anybody_nobody_signs_in),
          TEST(without_anybody_it_is_said_for_what),
          TEST(the_user_has_so_much_time_and_may_say_no),
          TEST(an_answer_before_the_page_ends_it),
          TEST(a_page_that_needs_nobody_is_looked_at_here),
          TEST(a_sign_in_is_stopped_and_its_page_ended),
          TEST(a_code_that_was_sent_is_not_stopped), TEST(each_allocation_may_fail))
