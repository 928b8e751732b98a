/* auth/flow_test.c - one run for a token: what it is for, how it ends, and where it stops */
#include "auth/flow.h"

#include "auth/flow_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SCOPES(list) ",'scopes_supported':[" list "]"
#define NEW_ISSUER "https://new.test"
#define NEW_PLACE "https://new.test/.well-known/oauth-authorization-server"

/* The program itself asks: three requests, and a token. */
static void
client_set(struct scene *s)
{
    scene_set(s);
    s->auth.grant = MCP_GRANT_CLIENT;
    s->auth.client_id = "c1";
    s->auth.client_secret = "geheim-secret";
}

static void
client_open(struct scene *s)
{
    client_set(s);
    scene_init(s);
}

/* ---- ends ---------------------------------------------------------------------------- */

static void
a_run_begins_and_ends_once(void **state)
{
    struct scene s;

    (void)state;
    client_open(&s);
    assert_false(mcpi_flow_is_running(&s.flow));
    for (int i = 1; i <= 2; i++) {
        refused(&s, NULL, "");
        assert_int_equal(s.st.fetcher.count, (i - 1) * 3); /* not from inside */
        assert_int_equal(play(&s), 3);
        expect_token(&s, i, "geheim-new");
        stage_pass(&s.st, s.auth.fetch_ms * 1000);
        assert_int_equal(s.done, i);
    }
    scene_close(&s);
}

/* Nothing was asked for yet. */
static void
what_cannot_even_begin_is_told_later(void **state)
{
    struct mcpi_challenge challenge = {.bearer = true};
    struct scene s;

    (void)state;
    client_open(&s);
    (void)snprintf(challenge.resource_metadata, sizeof(challenge.resource_metadata),
                   "http://mcp.test/prm");
    mcpi_flow_start(&s.flow, MCPI_FLOW_REFUSED, NULL, &challenge, MCPI_ADDRESS_PUBLIC);
    expect_nothing(&s);
    scene_settle(&s);
    expect_failure(&s, 1, "its metadata cannot be looked for", false);
    asked_no_more(&s.st, 0);
    scene_close(&s);
}

static void
where_the_metadata_is_a_challenge_may_say(void **state)
{
    struct mcpi_challenge challenge = {.bearer = true};
    struct scene s;

    (void)state;
    client_open(&s);
    (void)snprintf(challenge.resource_metadata, sizeof(challenge.resource_metadata),
                   "https://mcp.test/prm");
    mcpi_flow_start(&s.flow, MCPI_FLOW_REFUSED, NULL, &challenge, MCPI_ADDRESS_PUBLIC);
    memset(&challenge, 'x', sizeof(challenge)); /* it has a copy */
    answer(asked(&s.st, "GET", "https://mcp.test/prm"), 200, RESOURCE_JSON(ISSUER, ""));
    (void)play(&s);
    expect_token(&s, 1, "geheim-new");
    scene_close(&s);
}

static void
what_was_not_found_is_told(void **state)
{
    struct scene s;

    (void)state;
    client_open(&s);
    refused(&s, NULL, "");
    answer(asked(&s.st, "GET", RESOURCE_PLACE), 500, "");
    expect_failure(&s, 1, "no metadata of the server: HTTP 500", false);
    scene_close(&s);
}

static void
an_issuer_without_a_token_endpoint_gives_none(void **state)
{
    struct scene s;

    (void)state;
    client_open(&s);
    refused(&s, NULL, "");
    resource_says(&s, RESOURCE_JSON(ISSUER, ""));
    issuer_says(&s, "{'issuer':'" ISSUER "'}");
    expect_failure(&s, 1, "the authorization server gives out no tokens", false);
    scene_close(&s);
}

/* ---- how near ------------------------------------------------------------------------ */

static void
nobody_is_nearer_than_the_server_in_any_request(void **state)
{
    static const enum mcpi_address_kind kinds[] = {
        MCPI_ADDRESS_PUBLIC, MCPI_ADDRESS_PRIVATE, MCPI_ADDRESS_LOOPBACK};
    struct mcpi_challenge challenge = {.bearer = true};

    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct scene s;

        scene_open(&s);
        mcpi_flow_start(&s.flow, MCPI_FLOW_REFUSED, NULL, &challenge, kinds[i]);
        (void)play(&s);
        expect_token(&s, 1, "geheim-new");
        assert_int_equal(s.st.fetcher.count, 4);
        for (size_t at = 0; at < s.st.fetcher.count; at++)
            assert_int_equal(fake_at(&s.st.fetcher, at)->nearest, kinds[i]);
        scene_close(&s);
    }
}

/* ---- scopes -------------------------------------------------------------------------- */

/* What is asked for, and why. */
static const struct {
    const char *challenge, *resource, *issuer, *ours, *old, *asked;
} scopes[] = {
    {"", "", "", NULL, NULL, NULL},
    {"a b", SCOPES("'x','y'"), "", NULL, NULL, "a b"},
    {"", SCOPES("'x','y'"), "", NULL, NULL, "x y"},
    {"a", SCOPES("'x'"), "", "m a", NULL, "a m"},
    {"", SCOPES("'x'"), "", "m", NULL, "x m"},
    {"", "", "", "m", NULL, "m"},
    {"b", SCOPES("'x'"), "", NULL, "a", "a b"},
    {"", SCOPES("'x'"), "", NULL, "a", "a"},
    {"a", "", SCOPES("'offline_access'"), NULL, NULL, "a"}, /* no user, no offline */
    {"a \"q\" b", "", "", NULL, NULL, "a b"},
};

static void
what_is_asked_for_is_what_is_wanted(void **state)
{
    char resource[512], issuer[512];

    (void)state;
    for (size_t i = 0; i < COUNT(scopes); i++) {
        struct mcpi_credential old = old_token();
        struct scene s;

        client_set(&s);
        s.auth.scope = scopes[i].ours;
        old.scope = scopes[i].old;
        old.refresh = "";
        scene_init(&s);
        refused(&s, scopes[i].old ? &old : NULL, scopes[i].challenge);
        (void)snprintf(resource, sizeof(resource),
                       "{'resource':'" SERVER "','authorization_servers':['" ISSUER
                       "']%s}",
                       scopes[i].resource);
        (void)snprintf(issuer, sizeof(issuer),
                       "{'issuer':'" ISSUER "','token_endpoint':'" TOKEN_PLACE "'%s}",
                       scopes[i].issuer);
        resource_says(&s, resource);
        issuer_says(&s, issuer);
        assert_value(token_asked(&s)->body, "scope", scopes[i].asked);
        token_says(&s, 200, TOKEN_JSON(",'scope':'whatever'"));
        assert_string_equal(s.token->scope, scopes[i].asked ? scopes[i].asked : "");
        scene_close(&s);
    }
}

static void
who_wants_more_loses_nothing(void **state)
{
    struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    client_open(&s);
    old.scope = "read files";
    stepped_up(&s, &old, "write read");
    discovered(&s);
    assert_value(token_asked(&s)->body, "grant_type", "client_credentials");
    assert_value(token_asked(&s)->body, "scope", "read files write");
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    old.scope = s.token->scope;
    stepped_up(&s, &old, "admin");
    assert_value(token_asked(&s)->body, "scope", "read files write admin");
    scene_close(&s);
}

/* A refresh gives no more than there was. */
static void
who_wants_more_does_not_refresh(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    scene_set(&s);
    s.auth.client_id = "c1";
    scene_init(&s);
    stepped_up(&s, &old, "write");
    discovered(&s);
    assert_int_equal(s.agent.opens, 1);
    assert_value(s.agent.page, "scope", "read write");
    assert_string_equal(s.store.log, "");
    scene_close(&s);
}

/* ... and who asked for that is not there for ever. */
static void
too_many_scopes_are_no_end(void **state)
{
    struct mcpi_credential old = old_token();
    char many[MCPI_CHALLENGE_TEXT_MAX];
    struct scene s;

    (void)state;
    client_open(&s);
    memset(many, 'x', sizeof(many));
    many[sizeof(many) - 1] = '\0';
    for (int i = 1; i <= 2; i++) {
        many[0] = (char)('0' + i);
        refused(&s, NULL, many);
        (void)play(&s);
        assert_int_equal(s.done, i);
    }
    many[0] = '3';
    refused(&s, NULL, many);
    (void)play(&s);
    expect_failure(&s, 3, "too many scopes", false);
    old.refresh = "";
    refused(&s, &old, "write");
    discovered(&s);
    assert_value(token_asked(&s)->body, "scope", "read write");
    scene_close(&s);
}

/* ---- what was found before -------------------------------------------------------------- */

static void
who_is_refused_asks_anew_whom_to_ask(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s);
    refused(&s, NULL, "");
    (void)play(&s);
    expect_token(&s, 1, "geheim-new");
    refused(&s, NULL, ""); /* it has moved meanwhile */
    resource_says(&s, RESOURCE_JSON(NEW_ISSUER, ""));
    answer(asked(&s.st, "GET", NEW_PLACE), 200,
           "{'issuer':'" NEW_ISSUER "','token_endpoint':'https://new.test/token',"
           "'authorization_endpoint':'https://new.test/authorize',"
           "'registration_endpoint':'https://new.test/register',"
           "'code_challenge_methods_supported':['S256']}");
    answer(asked(&s.st, "POST", "https://new.test/register"), 201, "{'client_id':'n'}");
    scene_settle(&s);
    signed_in(&s, "&code=geheim-code");
    answer(asked(&s.st, "POST", "https://new.test/token"), 200, TOKEN_JSON(""));
    scene_settle(&s);
    expect_token(&s, 2, "geheim-new");
    assert_string_equal(s.token->issuer, NEW_ISSUER);
    assert_string_equal(s.token->client_id, "n");
    scene_close(&s);
}

static void
who_wants_more_or_the_same_again_knows_whom_to_ask(void **state)
{
    struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    client_open(&s);
    refused(&s, NULL, "");
    assert_int_equal(play(&s), 3);
    stepped_up(&s, s.token, "write");
    assert_int_equal(play(&s), 1); /* the token alone */
    expect_token(&s, 2, "geheim-new");
    store_put(&s.store, "the token", NULL);
    renewed(&s, &old);
    assert_int_equal(play(&s), 1);
    expect_token(&s, 3, "geheim-new");
    old.issuer = NEW_ISSUER; /* but not of another */
    renewed(&s, &old);
    answer(asked(&s.st, "GET", NEW_PLACE), 404, "");
    scene_close(&s);
}

/* What was half found is not found. */
static void
a_search_that_was_stopped_is_made_again(void **state)
{
    struct scene s;

    (void)state;
    client_open(&s);
    refused(&s, NULL, "");
    resource_says(&s, RESOURCE_JSON(ISSUER, ""));
    (void)asked(&s.st, "GET", ISSUER_PLACE);
    assert_true(mcpi_flow_stop(&s.flow));
    stepped_up(&s, NULL, "write");
    discovered(&s);
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    scene_close(&s);
}

/* ---- stopping ------------------------------------------------------------------------------ */

/* After so many steps; then another run, to its end. True: it could be stopped. */
static bool
stop_after(struct scene *s, int steps)
{
    bool could;

    refused(s, NULL, "");
    if (steps >= 0)
        scene_settle(s);
    for (int i = 0; i < steps; i++)
        assert_true(play_one(s));
    assert_true(mcpi_flow_is_running(&s->flow));
    could = mcpi_flow_stop(&s->flow);
    if (!could)
        return false;
    assert_false(mcpi_flow_is_running(&s->flow));
    assert_int_equal(fake_open_count(&s->st.fetcher), 0);
    assert_null(s->agent.visit);
    stage_pass(&s->st, s->auth.login_ms * 1000);
    expect_nothing(s);
    refused(s, NULL, "");
    (void)play(s);
    expect_token(s, 1, "geheim-new");
    return true;
}

/* resource, issuer, registration, sign-in, token: all but the last, which spends a code. */
static void
a_run_is_stopped_silently_at_each_step(void **state)
{
    struct scene s;

    (void)state;
    for (int steps = -1; steps < 5; steps++) {
        scene_open(&s);
        assert_int_equal(stop_after(&s, steps), steps < 4);
        scene_close(&s);
    }
}

static void
what_can_be_asked_for_again_is_stopped_to_the_end(void **state)
{
    struct scene s;

    (void)state;
    for (int steps = -1; steps < 3; steps++) {
        client_open(&s);
        assert_true(stop_after(&s, steps));
        scene_close(&s);
    }
}

static void
it_may_be_freed_at_each_step(void **state)
{
    struct scene s;

    (void)state;
    for (int steps = -1; steps < 5; steps++) {
        scene_open(&s);
        refused(&s, NULL, "");
        if (steps >= 0)
            scene_settle(&s);
        for (int i = 0; i < steps; i++)
            (void)play_one(&s);
        scene_close(&s);
        assert_int_equal(s.done, 0);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void
flow(struct test_mem *mem, void *user)
{
    struct scene s;

    (void)user;
    client_set(&s);
    if (scene_init_with(&s, mem) == 0) {
        for (int i = 1; i <= 2; i++) { /* the second one has memory again */
            refused(&s, NULL, "a");
            (void)play(&s);
            assert_int_equal(s.done, i);
            assert_true(s.status == 0 || s.status == MCP_E_NOMEM);
            assert_true(s.status == 0 || atomic_load(&mem->failed) > 0);
            if (s.status == 0)
                assert_string_equal(s.token->scope, "a");
            if (i == 1 && s.status < 0)
                mem->fail_at = 0;
        }
    }
    scene_close(&s);
}

static void
each_allocation_may_fail_and_the_next_run_succeeds(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 40);
}

TEST_MAIN(TEST(a_run_begins_and_ends_once), TEST(what_cannot_even_begin_is_told_later),
          TEST(where_the_metadata_is_a_challenge_may_say),
          TEST(what_was_not_found_is_told),
          TEST(an_issuer_without_a_token_endpoint_gives_none),
          TEST(nobody_is_nearer_than_the_server_in_any_request),
          TEST(what_is_asked_for_is_what_is_wanted), TEST(who_wants_more_loses_nothing),
          TEST(who_wants_more_does_not_refresh), TEST(too_many_scopes_are_no_end),
          TEST(who_is_refused_asks_anew_whom_to_ask),
          TEST(who_wants_more_or_the_same_again_knows_whom_to_ask),
          TEST(a_search_that_was_stopped_is_made_again),
          TEST(a_run_is_stopped_silently_at_each_step),
          TEST(what_can_be_asked_for_again_is_stopped_to_the_end),
          TEST(it_may_be_freed_at_each_step),
          TEST(each_allocation_may_fail_and_the_next_run_succeeds))
