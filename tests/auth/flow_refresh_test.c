/* auth/flow_refresh_test.c - a new token for an old one, one user of it at a time */
#include "auth/dpop.h"
#include "auth/flow_fixture.h"
#include "auth/flow_steps.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FORM                                                 \
    "grant_type=refresh_token&refresh_token=geheim-refresh&" \
    "resource=https%3A%2F%2Fmcp.test%2Fv1%2Fmcp&client_id=c1"
#define STORED(access, refresh, more)                                               \
    "{'issuer':'" ISSUER "','resource':'" SERVER "','client_id':'c1',"              \
    "'access_token':'" access "','refresh_token':'" refresh "','scope':'read'" more \
    "}"

/* Agreed on as c1; nothing is registered. */
static void
refresh_open(struct scene *s)
{
    scene_set(s);
    s->auth.client_id = "c1";
    scene_init(s);
}

static void
begin(struct scene *s, enum mcpi_flow_kind kind, const struct mcpi_credential *old)
{
    if (kind == MCPI_FLOW_RENEW)
        renewed(s, old);
    else
        refused(s, old, "");
    if (kind != MCPI_FLOW_RENEW)
        resource_says(s, RESOURCE_JSON(ISSUER, ""));
    issuer_says(s, ISSUER_JSON(ISSUER, ""));
}

/* ---- what is posted ---------------------------------------------------------------- */

static void
a_token_is_renewed_under_the_lock(void **state)
{
    const struct mcpi_credential old = old_token();
    struct fake_fetch *post;
    struct scene s;

    (void)state;
    refresh_open(&s);
    renewed(&s, &old);
    issuer_says(&s, ISSUER_JSON(ISSUER, ""));
    post = token_asked(&s);
    assert_string_equal(post->body, FORM);
    assert_string_equal(fake_field(post, "Content-Type"),
                        "application/x-www-form-urlencoded");
    assert_null(fake_field(post, "Authorization"));
    assert_null(fake_field(post, "DPoP"));
    assert_true(post->stays);
    assert_int_equal(post->nearest, MCPI_ADDRESS_PUBLIC);
    assert_string_equal(s.store.log, "lock load ");
    assert_int_equal(s.store.locked, 1);
    token_says(&s, 200, TOKEN_JSON(",'refresh_token':'geheim-second'"));
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(s.token->refresh, "geheim-second");
    assert_string_equal(s.token->scope, "read");
    assert_string_equal(s.token->issuer, ISSUER);
    assert_string_equal(s.token->resource, SERVER);
    assert_string_equal(s.token->client_id, "c1");
    assert_int_equal(s.token->expires_at, wall_now + 3600);
    assert_string_equal(s.store.log, "lock load save unlock ");
    assert_string_equal(store_get(&s.store, "the token", "refresh_token"),
                        "geheim-second");
    asked_no_more(&s.st, 2);
    scene_close(&s);
}

static void
a_refresh_token_that_is_not_replaced_stays(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    s.auth.scope = "more"; /* is for the next sign-in */
    begin(&s, MCPI_FLOW_RENEW, &old);
    assert_value(token_asked(&s)->body, "scope", NULL);
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(s.token->scope, "read");
    assert_string_equal(s.token->refresh, "geheim-refresh");
    assert_string_equal(store_get(&s.store, "the token", "refresh_token"),
                        "geheim-refresh");
    scene_close(&s);
}

static void
a_refused_token_is_renewed_before_anybody_is_bothered(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    begin(&s, MCPI_FLOW_REFUSED, &old);
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    assert_int_equal(s.agent.begins, 0);
    scene_close(&s);
}

/* ---- what cannot be renewed --------------------------------------------------------- */

static void
only_a_token_of_this_issuer_and_client_is_renewed(void **state)
{
    struct mcpi_credential olds[] = {old_token(), old_token(), old_token()};

    (void)state;
    olds[0].refresh = "";
    olds[1].client_id = "c2";
    olds[2].client_id = "";
    for (size_t i = 0; i < COUNT(olds); i++) {
        struct scene s;

        refresh_open(&s);
        begin(&s, MCPI_FLOW_RENEW, &olds[i]);
        expect_failure(&s, 1, "the token cannot be renewed", false);
        begin(&s, MCPI_FLOW_REFUSED, &olds[i]);
        assert_int_equal(s.agent.opens, 1); /* somebody signs in */
        assert_string_equal(s.store.log, "");
        assert_true(mcpi_flow_stop(&s.flow));
        scene_close(&s);
    }
}

/* The server has moved: what the old issuer gave is shown to nobody. */
static void
a_refresh_token_is_not_shown_to_another_issuer(void **state)
{
    struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    old.issuer = "https://old.test";
    refresh_open(&s);
    begin(&s, MCPI_FLOW_REFUSED, &old);
    assert_int_equal(s.agent.opens, 1);
    signed_in(&s, "&code=geheim-code");
    assert_null(strstr(token_asked(&s)->body, "refresh"));
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(s.token->refresh, "");
    scene_close(&s);
}

static void
an_issuer_without_a_token_endpoint_renews_nothing(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    renewed(&s, &old);
    issuer_says(&s, "{'issuer':'" ISSUER "'}");
    expect_failure(&s, 1, "the authorization server gives out no tokens", false);
    scene_close(&s);
}

/* ---- other processes ------------------------------------------------------------------ */

static void
who_comes_second_takes_what_the_first_one_got(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    for (int kind = MCPI_FLOW_RENEW; kind <= MCPI_FLOW_REFUSED; kind++) {
        refresh_open(&s);
        store_put(&s.store, "the token",
                  STORED("geheim-theirs", "geheim-r2", ",'expires_at':1800000001"));
        begin(&s, (enum mcpi_flow_kind)kind, &old);
        expect_token(&s, 1, "geheim-theirs");
        assert_string_equal(s.token->refresh, "geheim-r2");
        assert_string_equal(s.store.log, "lock load unlock ");
        asked_no_more(&s.st, kind == MCPI_FLOW_RENEW ? 1 : 2);
        scene_close(&s);
    }
}

/* It has ended as well, but its refresh token is the one that is still good. */
static void
the_latest_refresh_token_is_used(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    store_put(&s.store, "the token",
              STORED("geheim-theirs", "geheim-r2", ",'expires_at':1800000000"));
    begin(&s, MCPI_FLOW_RENEW, &old);
    assert_value(token_asked(&s)->body, "refresh_token", "geheim-r2");
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(s.token->refresh, "geheim-r2");
    scene_close(&s);
}

static void
what_the_store_has_is_not_used_if_it_is_something_else(void **state)
{
    static const char *const texts[] = {
        NULL,
        "",
        "nonsense",
        "{}",
        STORED("geheim-old", "", ""),
        "{'issuer':'https://old.test','client_id':'c1','access_token':'geheim-x',"
        "'refresh_token':'geheim-y'}",
        "{'issuer':'" ISSUER "','client_id':'c2','access_token':'geheim-x',"
        "'refresh_token':'geheim-y'}",
    };
    const struct mcpi_credential old = old_token();

    (void)state;
    for (size_t i = 0; i < COUNT(texts) + 1; i++) {
        struct scene s;

        refresh_open(&s);
        if (i < COUNT(texts))
            store_put(&s.store, "the token", texts[i]);
        else
            s.store.load_status = MCP_E_SYNTAX;
        begin(&s, MCPI_FLOW_RENEW, &old);
        assert_string_equal(token_asked(&s)->body, FORM);
        token_says(&s, 200, TOKEN_JSON(""));
        expect_token(&s, 1, "geheim-new");
        scene_close(&s);
    }
}

/* What it has may be newer than ours: to use ours then would cost the user both. */
static void
a_store_without_memory_is_not_guessed_about(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    s.store.load_status = MCP_E_NOMEM;
    begin(&s, MCPI_FLOW_RENEW, &old);
    assert_int_equal(s.done, 1);
    assert_int_equal(s.status, MCP_E_NOMEM);
    assert_false(s.lost);
    asked_no_more(&s.st, 1);
    scene_close(&s);
}

/* The same: it cannot be read now, and another process may have been faster. What is damaged
 * is nobody's token, and what nobody shares has none that is newer. */
static void
a_store_that_cannot_be_read_is_not_guessed_about(void **state)
{
    static const int statuses[] = {MCP_E_INVAL, MCP_E_LIMIT, MCP_E_TIMEOUT};
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    for (size_t i = 0; i < COUNT(statuses); i++) {
        refresh_open(&s);
        s.store.load_status = statuses[i];
        begin(&s, MCPI_FLOW_RENEW, &old);
        expect_failure(&s, 1, "the token store cannot be read", false);
        assert_string_equal(s.store.log, "lock load unlock ");
        asked_no_more(&s.st, 1);
        scene_close(&s);
        refresh_open(&s);
        s.store.load_status = statuses[i];
        begin(&s, MCPI_FLOW_REFUSED, &old);
        assert_int_equal(s.agent.begins, 1);
        assert_string_equal(s.store.log, "lock load unlock ");
        (void)mcpi_flow_stop(&s.flow);
        scene_close(&s);
    }
    refresh_open(&s);
    s.store.store.lock = NULL;
    s.store.store.unlock = NULL;
    s.store.load_status = MCP_E_LIMIT;
    begin(&s, MCPI_FLOW_RENEW, &old);
    assert_string_equal(token_asked(&s)->body, FORM);
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    scene_close(&s);
}

static void
the_lock_is_asked_for_until_it_is_free(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    s.store.lock_status = MCP_E_AGAIN;
    begin(&s, MCPI_FLOW_RENEW, &old);
    assert_string_equal(s.store.log, "lock ");
    stage_pass(&s.st, MCPI_FLOW_LOCK_PAUSE - 1);
    assert_string_equal(s.store.log, "lock ");
    stage_pass(&s.st, 1);
    assert_string_equal(s.store.log, "lock lock ");
    asked_no_more(&s.st, 1);
    s.store.lock_status = 0;
    stage_pass(&s.st, MCPI_FLOW_LOCK_PAUSE);
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(s.store.log, "lock lock lock load save unlock ");
    scene_close(&s);
}

static void
who_keeps_the_lock_is_not_waited_for_for_ever(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    for (int kind = MCPI_FLOW_RENEW; kind <= MCPI_FLOW_REFUSED; kind++) {
        refresh_open(&s);
        s.auth.fetch_ms = 1000;
        s.store.lock_status = MCP_E_AGAIN;
        begin(&s, (enum mcpi_flow_kind)kind, &old);
        for (int i = 0; i < 9; i++)
            stage_pass(&s.st, MCPI_FLOW_LOCK_PAUSE);
        expect_nothing(&s);
        stage_pass(&s.st, MCPI_FLOW_LOCK_PAUSE);
        expect_failure(&s, 1, "another process holds the tokens, and keeps them",
                       false);
        assert_int_equal(s.agent.begins, 0);
        scene_close(&s);
    }
}

/* Others may be using the token. The user can sign in again, if the server refuses it. */
static void
without_a_lock_that_works_nothing_is_refreshed(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    s.store.lock_status = MCP_E_LIMIT;
    begin(&s, MCPI_FLOW_RENEW, &old);
    expect_failure(&s, 1, "the token store cannot be locked", false);
    scene_close(&s);
    refresh_open(&s);
    s.store.lock_status = MCP_E_LIMIT;
    begin(&s, MCPI_FLOW_REFUSED, &old);
    assert_int_equal(s.agent.begins, 1);
    assert_string_equal(s.store.log, "lock ");
    (void)mcpi_flow_stop(&s.flow);
    scene_close(&s);
}

static void
a_store_without_a_lock_needs_none(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    s.store.store.lock = NULL;
    s.store.store.unlock = NULL;
    begin(&s, MCPI_FLOW_RENEW, &old);
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(s.store.log, "load save ");
    scene_close(&s);
}

static void
a_token_that_cannot_be_kept_is_good_all_the_same(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    s.store.save_status = MCP_E_LIMIT;
    begin(&s, MCPI_FLOW_RENEW, &old);
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(s.store.log, "lock load save unlock ");
    scene_close(&s);
}

/* Renewed with that refresh token, and given another one. */
static void
goes_on(struct scene *s, struct mcpi_credential *token, const char *with,
        const char *then)
{
    char json[256];
    int done = s->done;

    renewed(s, token);
    scene_settle(s);
    assert_value(token_asked(s)->body, "refresh_token", with);
    (void)snprintf(json, sizeof(json), TOKEN_JSON(",'refresh_token':'%s'"), then);
    token_says(s, 200, json);
    expect_token(s, done + 1, "geheim-new");
    token->access = "geheim-new";
    token->refresh = then;
}

/* The store still has the refresh token that was used up: to send it once more may end the
 * whole sign-in. What others have put there since then is newer again. */
static void
what_could_not_be_kept_is_newer_than_what_is(void **state)
{
    struct mcpi_credential token = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    store_put(&s.store, "the token", STORED("geheim-old", "geheim-refresh", ""));
    s.store.save_status = MCP_E_LIMIT;
    begin(&s, MCPI_FLOW_RENEW, &token);
    token_says(&s, 200, TOKEN_JSON(",'refresh_token':'geheim-r2'"));
    expect_token(&s, 1, "geheim-new");
    token.access = "geheim-new";
    token.refresh = "geheim-r2";
    goes_on(&s, &token, "geheim-r2", "geheim-r3");
    goes_on(&s, &token, "geheim-r3", "geheim-r4");
    store_put(&s.store, "the token", STORED("geheim-theirs", "geheim-t1", ""));
    renewed(&s, &token);
    scene_settle(&s);
    expect_token(&s, 4, "geheim-theirs");
    token.access = "geheim-theirs";
    token.refresh = "geheim-t1";
    goes_on(&s, &token, "geheim-t1", "geheim-r5");
    s.store.save_status = 0;
    goes_on(&s, &token, "geheim-r5", "geheim-r6");
    s.store.save_status = MCP_E_LIMIT;
    stepped_up(&s, &token, "more"); /* a sign-in brings something newer as well */
    discovered(&s);
    signed_in(&s, "&code=geheim-code");
    token_says(&s, 200, TOKEN_JSON(",'refresh_token':'geheim-r7'"));
    expect_token(&s, 7, "geheim-new");
    token.refresh = "geheim-r7";
    goes_on(&s, &token, "geheim-r7", "geheim-r8");
    scene_close(&s);
}

/* Nor is there memory to try it. */
static void
what_nobody_tried_to_keep_is_newer_too(void **state)
{
    int untried = 0;

    (void)state;
    for (long i = 1; i <= 40; i++) {
        struct mcpi_credential token = old_token();
        struct scene s;

        refresh_open(&s);
        store_put(&s.store, "the token", STORED("geheim-old", "geheim-refresh", ""));
        begin(&s, MCPI_FLOW_RENEW, &token);
        s.st.mem->fail_at = s.st.mem->total + i;
        token_says(&s, 200, TOKEN_JSON(",'refresh_token':'geheim-r2'"));
        s.st.mem->fail_at = 0;
        if (s.done && s.status == 0 && !strstr(s.store.log, "save")) {
            untried++;
            token.access = "geheim-new";
            token.refresh = "geheim-r2";
            renewed(&s, &token);
            scene_settle(&s);
            assert_value(token_asked(&s)->body, "refresh_token", "geheim-r2");
        }
        scene_close(&s);
    }
    assert_true(untried > 0);
}

/* ---- refused --------------------------------------------------------------------------- */

#define INVALID_GRANT "{'error':'invalid_grant','error_description':'it was used'}"
#define NOT_NOW "the authorization server answered with HTTP 429"

static void
a_token_that_is_lost_is_said_to_be_lost(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    begin(&s, MCPI_FLOW_RENEW, &old);
    token_says(&s, 400, INVALID_GRANT);
    expect_failure(
        &s, 1, "the authorization server refused: invalid_grant: it was used", true);
    assert_int_equal(s.agent.begins, 0);
    assert_string_equal(s.store.log, "lock load unlock ");
    scene_close(&s);
}

static void
who_cannot_refresh_signs_in_again(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    begin(&s, MCPI_FLOW_REFUSED, &old);
    token_says(&s, 400, INVALID_GRANT);
    expect_nothing(&s);
    assert_int_equal(s.agent.opens, 1);
    assert_string_equal(s.store.log, "lock load unlock "); /* while the user thinks */
    signed_in(&s, "&code=geheim-code");
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(s.token->refresh, ""); /* not the lost one */
    scene_close(&s);
}

static void
who_does_not_sign_in_then_has_lost_it(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    begin(&s, MCPI_FLOW_REFUSED, &old);
    token_says(&s, 400, INVALID_GRANT);
    mcp_auth_refuse(s.agent.visit, "not today");
    scene_settle(&s);
    expect_failure(&s, 1, "not today", true);
    scene_close(&s);
}

static void
fail_for_now(struct scene *s, int how)
{
    static const int statuses[] = {429, 408, 425, 500, 502, 503, 302, 200};

    if (how < (int)COUNT(statuses))
        token_says(s, statuses[how], "{}");
    else if (how == COUNT(statuses))
        stage_pass(&s->st, s->auth.fetch_ms * 1000);
    else if (how == COUNT(statuses) + 1)
        fake_fail(token_asked(s), MCP_E_CLOSED, "the connection was lost");
    else
        answer_too_long(token_asked(s));
    scene_settle(s);
}

static void
what_fails_for_now_is_not_lost_and_bothers_nobody(void **state)
{
    const struct mcpi_credential old = old_token();

    (void)state;
    for (int i = 0; i < 22; i++) {
        bool renew = i % 2;
        struct scene s;

        refresh_open(&s);
        begin(&s, renew ? MCPI_FLOW_RENEW : MCPI_FLOW_REFUSED, &old);
        (void)token_asked(&s);
        fail_for_now(&s, i / 2);
        assert_int_equal(s.done, 1);
        assert_int_equal(s.status, MCP_E_AUTH);
        assert_false(s.lost);
        assert_int_equal(s.agent.begins, 0);
        assert_string_equal(s.store.log, "lock load unlock ");
        if (i == 0)
            assert_string_equal(s.why, NOT_NOW);
        scene_close(&s);
    }
}

/* Whoever registered us does not know us any more: then nobody does, and the next step
 * is to register, not to sign in as nobody. */
static void
a_client_that_is_forgotten_registers_anew(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    scene_open(&s);
    store_put(&s.store, "client " ISSUER,
              "{'issuer':'" ISSUER "','client_id':'c1','redirect_uri':'" HOME
              "','auth':'none'}");
    begin(&s, MCPI_FLOW_REFUSED, &old);
    token_says(&s, 401, "{'error':'invalid_client'}");
    answer(asked(&s.st, "POST", REGISTER_PLACE), 201, "{'client_id':'c2'}");
    scene_settle(&s);
    assert_value(s.agent.page, "client_id", "c2");
    assert_string_equal(store_get(&s.store, "client " ISSUER, "client_id"), "c2");
    assert_true(mcpi_flow_stop(&s.flow));
    scene_close(&s);
}

/* ---- stopping ---------------------------------------------------------------------------- */

struct stop_at {
    struct scene *s;
    const char *what;
    bool could;
};

static void
stop_there(void *user, const char *what)
{
    struct stop_at *at = user;

    if (strcmp(what, at->what) == 0)
        at->could = mcpi_flow_stop(&at->s->flow);
}

static void
a_refresh_that_was_sent_is_not_stopped(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;
    struct stop_at at = {.s = &s, .what = "save"};

    (void)state;
    refresh_open(&s);
    begin(&s, MCPI_FLOW_RENEW, &old);
    (void)token_asked(&s);
    assert_false(mcpi_flow_stop(&s.flow));
    s.store.then = stop_there; /* nor while it is being saved */
    s.store.user = &at;
    at.could = true;
    token_says(&s, 200, TOKEN_JSON(",'refresh_token':'geheim-second'"));
    assert_false(at.could);
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(store_get(&s.store, "the token", "refresh_token"),
                        "geheim-second");
    assert_true(mcpi_flow_stop(&s.flow)); /* over */
    scene_close(&s);
}

static void
nobody_signs_in_for_those_who_have_left(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    for (int back = 0; back < 2; back++) {
        refresh_open(&s);
        begin(&s, MCPI_FLOW_REFUSED, &old);
        (void)token_asked(&s);
        assert_false(mcpi_flow_stop(&s.flow));
        if (back)
            mcpi_flow_want(&s.flow);
        token_says(&s, 400, INVALID_GRANT);
        assert_int_equal(s.agent.begins, back);
        if (back)
            assert_true(mcpi_flow_stop(&s.flow));
        else
            expect_failure(
                &s, 1, "the authorization server refused: invalid_grant: it was used",
                true);
        scene_close(&s);
    }
}

/* While the store is being asked. */
static void
before_that_it_is_stopped_and_the_lock_given_back(void **state)
{
    static const char *const steps[] = {"lock", "load"};
    const struct mcpi_credential old = old_token();

    (void)state;
    for (size_t i = 0; i < COUNT(steps); i++) {
        struct scene s;
        struct stop_at at = {.s = &s, .what = steps[i]};

        refresh_open(&s);
        s.store.then = stop_there;
        s.store.user = &at;
        begin(&s, MCPI_FLOW_RENEW, &old);
        assert_true(at.could);
        asked_no_more(&s.st, 1);
        expect_nothing(&s);
        assert_false(mcpi_flow_is_running(&s.flow));
        assert_string_equal(s.store.log, i ? "lock load unlock " : "lock unlock ");
        scene_close(&s);
    }
}

static void
who_waits_for_the_lock_is_stopped(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    s.store.lock_status = MCP_E_AGAIN;
    begin(&s, MCPI_FLOW_RENEW, &old);
    assert_true(mcpi_flow_stop(&s.flow));
    s.store.lock_status = 0;
    stage_pass(&s.st, 10 * MCPI_FLOW_LOCK_PAUSE);
    assert_string_equal(s.store.log, "lock ");
    expect_nothing(&s);
    scene_close(&s);
}

/* The program ends: then there is nobody to tell. */
static void
the_end_of_all_stops_what_is_sent_too(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    refresh_open(&s);
    begin(&s, MCPI_FLOW_RENEW, &old);
    (void)token_asked(&s);
    scene_close(&s); /* checks the lock */
    assert_int_equal(s.done, 0);
}

/* ---- proofs ------------------------------------------------------------------------------- */

/* Is it proven with that key? */
static void
expect_proof(const struct fake_fetch *post, const struct mcpi_key *key)
{
    const struct mcpi_dpop what = {
        .method = "POST", .url = TOKEN_PLACE, .now = wall_now};
    char thumb[MCPI_KEY_THUMBPRINT_SIZE], jti[MCPI_KEY_THUMBPRINT_SIZE];
    char wanted[MCPI_KEY_THUMBPRINT_SIZE];
    const char *proof = fake_field(post, "DPoP");
    bool wants_nonce;

    assert_non_null(proof);
    assert_null(mcpi_dpop_fault(NULL, proof, &what, thumb, jti, &wants_nonce));
    if (!key)
        return;
    assert_int_equal(mcpi_key_thumbprint(key, wanted), 0);
    assert_string_equal(thumb, wanted);
}

static void
a_refresh_is_proven_with_the_key_of_the_old_token(void **state)
{
    struct mcpi_key *key = key_of(EC_PRIVATE);
    struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    old.key = key;
    refresh_open(&s);
    begin(&s, MCPI_FLOW_RENEW, &old);
    expect_proof(token_asked(&s), key);
    token_says(&s, 200, "{'access_token':'geheim-new','token_type':'DPoP'}");
    expect_token(&s, 1, "geheim-new");
    assert_ptr_equal(s.token->key, key);
    scene_close(&s);
    mcpi_key_unref(key);
}

static void
or_with_that_of_the_one_in_the_store(void **state)
{
    struct mcpi_key *mine = NULL, *theirs = key_of(EC_PRIVATE);
    struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    assert_int_equal(mcpi_key_generate(NULL, &mine), 0);
    old.key = mine;
    refresh_open(&s);
    store_put(
        &s.store, "the token",
        STORED("geheim-theirs", "geheim-r2", ",'expires_at':1,'key':" EC_PRIVATE));
    begin(&s, MCPI_FLOW_RENEW, &old);
    expect_proof(token_asked(&s), theirs);
    token_says(&s, 200, "{'access_token':'geheim-new','token_type':'dpop'}");
    expect_token(&s, 1, "geheim-new");
    scene_close(&s);
    mcpi_key_unref(mine);
    mcpi_key_unref(theirs);
}

/* It was not bound; from now on it is, or it is refused. */
static void
a_bound_token_is_demanded_of_a_refresh_too(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    for (int bound = 0; bound < 2; bound++) {
        scene_set(&s);
        s.auth.client_id = "c1";
        s.auth.dpop = true;
        scene_init(&s);
        store_put(&s.store, "the token", /* of another who does not demand it */
                  STORED("geheim-theirs", "geheim-r2", ",'expires_at':1900000000"));
        begin(&s, MCPI_FLOW_RENEW, &old);
        expect_proof(token_asked(&s), NULL);
        if (bound) {
            token_says(&s, 200, "{'access_token':'geheim-new','token_type':'DPoP'}");
            expect_token(&s, 1, "geheim-new");
            assert_non_null(s.token->key);
        } else {
            token_says(&s, 200, TOKEN_JSON(""));
            expect_failure(&s, 1, "the token is not bound to our key", false);
        }
        scene_close(&s);
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

static void
flow(struct test_mem *mem, void *user)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)user;
    scene_set(&s);
    s.auth.client_id = "c1";
    store_put(&s.store, "the token",
              STORED("geheim-theirs", "geheim-r2", ",'expires_at':1"));
    if (scene_init_with(&s, mem) == 0) {
        renewed(&s, &old);
        scene_settle(&s);
        if (fake_open_count(&s.st.fetcher) > 0)
            answer(fake_last(&s.st.fetcher), 200, ISSUER_JSON(ISSUER, ""));
        scene_settle(&s);
        if (fake_open_count(&s.st.fetcher) > 0) {
            assert_value(token_asked(&s)->body, "refresh_token", "geheim-r2");
            token_says(&s, 200, TOKEN_JSON(",'refresh_token':'geheim-r3'"));
        }
        assert_int_equal(s.done, 1);
        assert_false(s.lost);
        assert_true(s.status == 0 ||
                    (s.status == MCP_E_NOMEM && atomic_load(&mem->failed) > 0));
    }
    scene_close(&s);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 20);
}

TEST_MAIN(TEST(a_token_is_renewed_under_the_lock),
          TEST(a_refresh_token_that_is_not_replaced_stays),
          TEST(a_refused_token_is_renewed_before_anybody_is_bothered),
          TEST(only_a_token_of_this_issuer_and_client_is_renewed),
          TEST(a_refresh_token_is_not_shown_to_another_issuer),
          TEST(an_issuer_without_a_token_endpoint_renews_nothing),
          TEST(who_comes_second_takes_what_the_first_one_got),
          TEST(the_latest_refresh_token_is_used),
          TEST(what_the_store_has_is_not_used_if_it_is_something_else),
          TEST(a_store_without_memory_is_not_guessed_about),
          TEST(a_store_that_cannot_be_read_is_not_guessed_about),
          TEST(the_lock_is_asked_for_until_it_is_free),
          TEST(who_keeps_the_lock_is_not_waited_for_for_ever),
          TEST(without_a_lock_that_works_nothing_is_refreshed),
          TEST(a_store_without_a_lock_needs_none),
          TEST(a_token_that_cannot_be_kept_is_good_all_the_same),
          TEST(what_could_not_be_kept_is_newer_than_what_is),
          TEST(what_nobody_tried_to_keep_is_newer_too),
          TEST(a_token_that_is_lost_is_said_to_be_lost),
          TEST(who_cannot_refresh_signs_in_again),
          TEST(who_does_not_sign_in_then_has_lost_it),
          TEST(what_fails_for_now_is_not_lost_and_bothers_nobody),
          TEST(a_client_that_is_forgotten_registers_anew),
          TEST(a_refresh_that_was_sent_is_not_stopped),
          TEST(nobody_signs_in_for_those_who_have_left),
          TEST(before_that_it_is_stopped_and_the_lock_given_back),
          TEST(who_waits_for_the_lock_is_stopped),
          TEST(the_end_of_all_stops_what_is_sent_too),
          TEST(a_refresh_is_proven_with_the_key_of_the_old_token),
          TEST(or_with_that_of_the_one_in_the_store),
          TEST(a_bound_token_is_demanded_of_a_refresh_too),
          TEST(each_allocation_may_fail))
