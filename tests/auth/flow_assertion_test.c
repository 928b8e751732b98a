/* auth/flow_assertion_test.c - a token for somebody whom another vouches for */
#include "auth/flow_fixture.h"
#include "auth/flow_steps.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define IDP "https://idp.test/token"
#define ID_JAG "'issued_token_type':'urn:ietf:params:oauth:token-type:id-jag'"

/* Who vouches, and for whom he was asked. */
struct platform {
    int asked, status;
    const char *says; /* NULL: nothing */
    const char *why;
    char audience[256];
    struct mcpi_flow *stop; /* from inside; or NULL */
};

static int
vouch(void *user, const char *audience, char **ret_assertion, mcp_error *err)
{
    struct platform *p = user;

    p->asked++;
    (void)snprintf(p->audience, sizeof(p->audience), "%s", audience);
    if (p->why)
        (void)snprintf(err->message, sizeof(err->message), "%s", p->why);
    if (p->stop)
        assert_true(mcpi_flow_stop(p->stop));
    if (p->says)
        *ret_assertion = strdup(p->says);
    return p->status;
}

static void
vouched_set(struct scene *s, struct platform *p, enum mcp_grant grant)
{
    *p = (struct platform){.says = "geheim.id.token"};
    scene_set(s);
    s->auth.grant = grant;
    s->auth.agent = NULL;
    s->auth.assertion = vouch;
    s->auth.assertion_user = p;
    if (grant != MCP_GRANT_ENTERPRISE)
        return;
    s->auth.client_id = "c1";
    s->auth.idp_token_endpoint = IDP;
    s->auth.idp_client_id = "idp client";
    s->auth.idp_client_secret = "geheim-idp";
}

static void
vouched_open(struct scene *s, struct platform *p, enum mcp_grant grant)
{
    vouched_set(s, p, grant);
    scene_init(s);
    refused(s, NULL, "read");
    discovered(s);
}

/* ---- the platform's ----------------------------------------------------------------- */

#define JWT_BEARER "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
#define RESOURCE "resource=https%3A%2F%2Fmcp.test%2Fv1%2Fmcp"

static void
an_assertion_goes_to_its_audience_as_it_is(void **state)
{
    struct fake_fetch *post;
    struct platform p;
    struct scene s;

    (void)state;
    vouched_open(&s, &p, MCP_GRANT_ASSERTION);
    assert_int_equal(p.asked, 1);
    assert_string_equal(p.audience, ISSUER);
    post = token_asked(&s);
    assert_string_equal(post->body, JWT_BEARER "&assertion=geheim.id.token&" RESOURCE
                                               "&scope=read");
    assert_null(fake_field(post, "Authorization"));
    assert_true(post->stays);
    assert_int_equal(post->nearest, MCPI_ADDRESS_PUBLIC);
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(s.token->client_id, "");
    assert_string_equal(s.token->scope, "read");
    assert_string_equal(s.store.log, "save "); /* and nobody registers */
    scene_close(&s);
}

static void
who_has_a_name_says_it(void **state)
{
    struct platform p;
    struct scene s;

    (void)state;
    vouched_set(&s, &p, MCP_GRANT_ASSERTION);
    s.auth.client_id = "c1";
    s.auth.client_secret = "geheim-secret";
    scene_init(&s);
    refused(&s, NULL, "");
    discovered(&s);
    assert_string_equal(fake_field(token_asked(&s), "Authorization"),
                        "Basic YzE6Z2VoZWltLXNlY3JldA==");
    scene_close(&s);
}

/* It is asked for anew each time: the last one may have ended. */
static void
each_time_one_is_asked_for(void **state)
{
    struct platform p;
    struct scene s;

    (void)state;
    vouched_open(&s, &p, MCP_GRANT_ASSERTION);
    token_says(&s, 200, TOKEN_JSON(""));
    p.says = "geheim.second";
    refused(&s, NULL, "");
    discovered(&s);
    assert_value(token_asked(&s)->body, "assertion", "geheim.second");
    assert_int_equal(p.asked, 2);
    scene_close(&s);
}

static void
an_assertion_that_is_refused_is_not_tried_again(void **state)
{
    static const int statuses[] = {400, 401, 429, 500};
    static const char *const errors[] = {"invalid_grant", "unsupported_grant_type"};
    char json[64], why[100];

    (void)state;
    for (size_t i = 0; i < 2 * COUNT(statuses); i++) {
        struct platform p;
        struct scene s;

        vouched_open(&s, &p, MCP_GRANT_ASSERTION);
        (void)snprintf(json, sizeof(json), "{'error':'%s'}", errors[i % 2]);
        (void)snprintf(why, sizeof(why), "the authorization server refused: %s",
                       errors[i % 2]);
        token_says(&s, statuses[i / 2], json);
        expect_failure(&s, 1, why, false);
        assert_int_equal(p.asked, 1);
        asked_no_more(&s.st, 3); /* nor another grant */
        assert_int_equal(s.agent.begins, 0);
        scene_close(&s);
    }
}

static void
without_an_assertion_there_is_no_token(void **state)
{
    static const struct {
        int status;
        const char *says, *why, *told;
    } cases[] = {
        {MCP_E_CLOSED, NULL, "no platform\there", "no platform?here"},
        {MCP_E_CLOSED, NULL, NULL, "there is no assertion for us"},
        {MCP_E_CLOSED, "geheim.unused", NULL, "there is no assertion for us"},
        {0, NULL, NULL, "there is no assertion for us"},
        {1, NULL, NULL, "there is no assertion for us"},
        {0, "", NULL, "there is no assertion for us"},
    };

    (void)state;
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        struct platform p;
        struct scene s;

        vouched_set(&s, &p, i % 2 ? MCP_GRANT_ASSERTION : MCP_GRANT_ENTERPRISE);
        p.status = cases[i / 2].status;
        p.says = cases[i / 2].says;
        p.why = cases[i / 2].why;
        scene_init(&s);
        refused(&s, NULL, "");
        discovered(&s);
        expect_failure(&s, 1, cases[i / 2].told, false);
        asked_no_more(&s.st, 2);
        scene_close(&s);
    }
}

static void
want_of_memory_is_said_to_be_that(void **state)
{
    struct platform p;
    struct scene s;

    (void)state;
    vouched_set(&s, &p, MCP_GRANT_ASSERTION);
    p.status = MCP_E_NOMEM;
    scene_init(&s);
    refused(&s, NULL, "");
    discovered(&s);
    assert_int_equal(s.done, 1);
    assert_int_equal(s.status, MCP_E_NOMEM);
    scene_close(&s);
}

/* ---- the company's ------------------------------------------------------------------------ */

static void
an_id_token_is_exchanged_and_then_shown(void **state)
{
    struct fake_fetch *post;
    struct platform p;
    struct scene s;

    (void)state;
    vouched_open(&s, &p, MCP_GRANT_ENTERPRISE);
    assert_string_equal(p.audience, ISSUER);
    post = asked(&s.st, "POST", IDP);
    assert_string_equal(
        post->body,
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&"
        "requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aid-jag&"
        "audience=https%3A%2F%2Fas.test%2Ftenant&" RESOURCE "&scope=read&"
        "subject_token=geheim.id.token&"
        "subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aid_token&"
        "client_id=idp%20client&client_secret=geheim-idp");
    assert_true(post->stays);
    assert_int_equal(post->nearest, MCPI_ADDRESS_ANY); /* the program has named it */
    answer(post, 200, "{'access_token':'geheim.jag','token_type':'N_A'," ID_JAG "}");
    post = token_asked(&s);
    assert_string_equal(post->body, JWT_BEARER "&assertion=geheim.jag&" RESOURCE
                                               "&scope=read&client_id=c1");
    assert_null(strstr(post->body, "geheim-idp"));
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    assert_int_equal(p.asked, 1);
    scene_close(&s);
}

/* Two who know us by two names: neither hears the other's. */
static void
what_the_provider_knows_us_by_is_not_for_the_issuer(void **state)
{
    struct fake_fetch *post;
    struct platform p;
    struct scene s;

    (void)state;
    vouched_set(&s, &p, MCP_GRANT_ENTERPRISE);
    s.auth.client_secret = "geheim-secret";
    s.auth.dpop = true;
    scene_init(&s);
    refused(&s, NULL, "");
    discovered(&s);
    post = asked(&s.st, "POST", IDP);
    assert_null(fake_field(post, "Authorization"));
    assert_null(fake_field(post, "DPoP")); /* the token is, not the ID-JAG */
    assert_null(strstr(post->body, "geheim-secret"));
    answer_headed(post, 200, "DPoP-Nonce: n",
                  "{'access_token':'geheim.jag'," ID_JAG "}");
    post = token_asked(&s);
    assert_non_null(fake_field(post, "Authorization"));
    assert_non_null(fake_field(post, "DPoP"));
    assert_string_equal(s.flow.nonce, ""); /* what the provider says is not passed on */
    scene_close(&s);
}

static void
what_is_no_id_jag_is_not_shown_to_the_issuer(void **state)
{
    static const char none[] = "the identity provider gave no ID-JAG";
    static const struct {
        int http;
        const char *json, *why;
    } answers[] = {
        {200, "{'access_token':'geheim.x'}", none},
        {200,
         "{'access_token':'geheim.x','issued_token_type':"
         "'urn:ietf:params:oauth:token-type:access_token'}",
         none},
        {200, "{" ID_JAG "}", none},
        {200, "{'access_token':''," ID_JAG "}", none},
        {200, "", none},
        {400, "{'error':'access_denied','error_description':'not you'}",
         "the authorization server refused: access_denied: not you"},
        {302, "", "the authorization server answered with HTTP 302"},
        {400, "{'error':'use_dpop_nonce'}",
         "the authorization server refused: use_dpop_nonce"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(answers); i++) {
        struct platform p;
        struct scene s;

        vouched_open(&s, &p, MCP_GRANT_ENTERPRISE);
        answer_headed(asked(&s.st, "POST", IDP), answers[i].http,
                      "DPoP-Nonce: n\nLocation: https://evil.test/", answers[i].json);
        expect_failure(&s, 1, answers[i].why, false);
        asked_no_more(&s.st, 3);
        scene_close(&s);
    }
}

static void
an_id_jag_that_is_refused_is_not_made_again(void **state)
{
    struct platform p;
    struct scene s;

    (void)state;
    vouched_open(&s, &p, MCP_GRANT_ENTERPRISE);
    answer(asked(&s.st, "POST", IDP), 200, "{'access_token':'geheim.jag'," ID_JAG "}");
    token_says(&s, 400, "{'error':'invalid_grant'}");
    expect_failure(&s, 1, "the authorization server refused: invalid_grant", false);
    asked_no_more(&s.st, 4);
    assert_int_equal(p.asked, 1);
    scene_close(&s);
}

/* ---- stopping ------------------------------------------------------------------------------ */

static void
who_leaves_while_the_program_thinks_hears_nothing(void **state)
{
    struct platform p;
    struct scene s;

    (void)state;
    vouched_set(&s, &p, MCP_GRANT_ASSERTION);
    scene_init(&s);
    p.stop = &s.flow;
    refused(&s, NULL, "");
    discovered(&s);
    assert_int_equal(p.asked, 1);
    expect_nothing(&s);
    asked_no_more(&s.st, 2);
    scene_close(&s);
}

/* An assertion can be sent again, so nobody has to wait for what comes of it. */
static void
what_can_be_sent_again_is_stopped(void **state)
{
    struct platform p;
    struct scene s;

    (void)state;
    for (int exchanged = 0; exchanged < 2; exchanged++) {
        vouched_open(&s, &p, MCP_GRANT_ENTERPRISE);
        (void)asked(&s.st, "POST", IDP);
        if (exchanged)
            answer(fake_last(&s.st.fetcher), 200,
                   "{'access_token':'geheim.jag'," ID_JAG "}");
        assert_true(mcpi_flow_stop(&s.flow));
        expect_nothing(&s);
        asked_no_more(&s.st, 3 + (size_t)exchanged);
        scene_close(&s);
    }
}

/* ---- memory -------------------------------------------------------------------------------- */

static void
flow(struct test_mem *mem, void *user)
{
    struct platform p;
    struct scene s;

    (void)user;
    vouched_set(&s, &p, MCP_GRANT_ENTERPRISE);
    if (scene_init_with(&s, mem) == 0) {
        refused(&s, NULL, "");
        (void)play(&s);
        assert_int_equal(s.done, 1);
        assert_true(s.status == 0 ||
                    (s.status == MCP_E_NOMEM && atomic_load(&mem->failed) > 0));
    }
    scene_close(&s);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 30);
}

TEST_MAIN(TEST(an_assertion_goes_to_its_audience_as_it_is),
          TEST(who_has_a_name_says_it), TEST(each_time_one_is_asked_for),
          TEST(an_assertion_that_is_refused_is_not_tried_again),
          TEST(without_an_assertion_there_is_no_token),
          TEST(want_of_memory_is_said_to_be_that),
          TEST(an_id_token_is_exchanged_and_then_shown),
          TEST(what_the_provider_knows_us_by_is_not_for_the_issuer),
          TEST(what_is_no_id_jag_is_not_shown_to_the_issuer),
          TEST(an_id_jag_that_is_refused_is_not_made_again),
          TEST(who_leaves_while_the_program_thinks_hears_nothing),
          TEST(what_can_be_sent_again_is_stopped), TEST(each_allocation_may_fail))
