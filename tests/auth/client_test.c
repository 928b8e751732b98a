/* auth/client_test.c - the authorization of one client: its token, and who waits for it */
#include "auth/client_fixture.h"

/* What a store has of such a token, its end so many seconds away. */
static void
shelf_put_for(struct desk *d, const char *token, const char *refresh, int lives,
              const char *scope)
{
    char text[1024];

    (void)snprintf(
        text, sizeof(text),
        "{\"issuer\":\"" ISSUER "\",\"resource\":\"" SERVER
        "\",\"client_id\":\"we\",\"access_token\":\"" SECRET
        "-%s\",\"refresh_token\":\"%s%s\",\"scope\":\"%s\",\"expires_at\":%lld}",
        token, refresh ? SECRET "-" : "", refresh ? refresh : "", scope,
        (long long)DAY_ONE + lives);
    d->shelf.text = strdup(text);
}

static void
shelf_put(struct desk *d, const char *token, const char *refresh, int lives)
{
    shelf_put_for(d, token, refresh, lives, "");
}

/* ---- the store ------------------------------------------------------------------ */

static void
a_message_waits_until_the_store_was_looked_into(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    assert_int_equal(asker_signs(&b), MCP_E_AGAIN);
    assert_int_equal(a.told, 0); /* not from inside */
    desk_run(&d);
    assert_int_equal(d.shelf.loads, 1);
    assert_int_equal(a.told, 1);
    assert_int_equal(a.status, 0);
    assert_int_equal(b.told, 1);
    asker_has(&a, NULL); /* there is none, and nobody has asked for one */
    asker_has(&b, NULL);
    assert_int_equal(d.shelf.loads, 1);
    assert_int_equal(d.fetcher.count, 0);
    desk_close(&d);
}

static void
what_the_store_has_is_used(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    shelf_put(&d, "kept", NULL, 1000);
    asker_init(&a, &d);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    asker_has(&a, "kept");
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    assert_int_equal(d.fetcher.count, 0);
    desk_close(&d);
}

static void
what_the_store_has_of_another_issuer_is_not_used(void **state)
{
    mcp_auth_options opt = MCP_AUTH_OPTIONS(.grant = MCP_GRANT_CLIENT,
                                            .client_id = "we", .client_secret = SECRET,
                                            .issuer = "https://other.test");
    struct asker a;
    struct desk d;

    (void)state;
    for (int dpop = 0; dpop < 2; dpop++) {
        opt.issuer = dpop ? ISSUER : "https://other.test";
        opt.dpop = dpop; /* it is not bound, either */
        desk_open_with(&d, opt);
        shelf_put(&d, "kept", "more", 1000);
        asker_init(&a, &d);
        assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
        desk_run(&d);
        asker_has(&a, NULL);
        assert_int_equal(d.fetcher.count, 0);
        desk_close(&d);
    }
}

/* What is always asked for was not yet, when that token was given: another one is got, for
 * that and for all that the old one was for. A refresh would bring no more. */
static void
what_the_store_has_for_less_is_replaced(void **state)
{
    mcp_auth_options opt = MCP_AUTH_OPTIONS(.grant = MCP_GRANT_CLIENT,
                                            .client_id = "we", .client_secret = SECRET,
                                            .scope = "read write");
    struct asker a;
    struct desk d;

    (void)state;
    desk_open_with(&d, opt);
    shelf_put_for(&d, "kept", "more", 1000, "list read");
    asker_init(&a, &d);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    asker_has(&a, NULL);
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_posts(&d, "grant_type=client_credentials");
    desk_posts(&d, "scope=list%20read%20write");
    desk_gives(&d, "new", NULL, 3600);
    asker_has(&a, "new");
    desk_close(&d);
    desk_open_with(&d, opt);
    shelf_put_for(&d, "kept", "more", 1000, "write list read");
    asker_init(&a, &d);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    asker_has(&a, "kept");
    desk_close(&d);
}

/* If nobody can sign in, it is still better than nothing, and renewed. */
static void
what_the_store_has_for_less_is_used_if_nobody_can_sign_in(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open_with(&d, MCP_AUTH_OPTIONS(.client_id = "we", .client_secret = SECRET,
                                        .scope = "read write"));
    shelf_put_for(&d, "kept", "more", 1000, "read");
    asker_init(&a, &d);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    asker_has(&a, "kept");
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_posts(&d, "refresh_token=" SECRET "-more");
    desk_gives(&d, "new", NULL, 3600);
    asker_has(&a, "new");
    desk_close(&d);
}

/* Who has not said which issuer knows it was told so by the first one, in another life. */
static void
the_issuer_that_the_store_knows_is_the_one(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    shelf_put(&d, "kept", NULL, 1000);
    asker_init(&a, &d);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    asker_has(&a, "kept");
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_run(&d);
    desk_answer(&d, WELL_KNOWN, 200,
                "{\"resource\":\"" SERVER
                "\",\"authorization_servers\":[\"https://evil.test\"]}");
    desk_answer(&d, "https://evil.test/.well-known/oauth-authorization-server", 200,
                "{\"issuer\":\"https://evil.test\",\"token_endpoint\":"
                "\"https://evil.test/token\",\"token_endpoint_auth_methods_supported\":"
                "[\"client_secret_post\"]}");
    assert_int_equal(a.status, MCP_E_AUTH);
    assert_int_equal(d.fetcher.count, 2); /* it was told nothing */
    desk_close(&d);
}

static void
a_store_that_fails_is_as_an_empty_one(void **state)
{
    static const char *const texts[] = {NULL,
                                        "",
                                        "{}",
                                        "[]",
                                        "{\"access_token\":1}",
                                        "{\"access_token\":\"with blank\"}",
                                        "{\"iss"};
    struct asker a;
    struct desk d;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        desk_open(&d);
        d.shelf.text = texts[i] ? strdup(texts[i]) : NULL;
        d.shelf.refuses = texts[i] ? 0 : MCP_E_SYNTAX;
        asker_init(&a, &d);
        assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
        desk_run(&d);
        asker_has(&a, NULL);
        assert_non_null(strstr(d.log, "token store"));
        desk_close(&d);
    }
}

static void
who_leaves_while_the_store_is_asked_is_not_told(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    asker_leaves(&a);
    asker_leaves(&a); /* once more does no harm */
    assert_int_equal(asker_signs(&b), MCP_E_AGAIN);
    desk_run(&d);
    assert_int_equal(a.told, 0);
    assert_int_equal(b.told, 1);
    assert_int_equal(d.shelf.loads, 1);
    desk_close(&d);
}

static void
what_cannot_wait_gets_what_there_is(void **state)
{
    struct asker a, now;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&now, &d);
    assert_int_equal(asker_signs_for(&now, "DELETE", SERVER, false), 0);
    assert_string_equal(now.authorization, "");
    desk_signs_in(&d, &a, "one", "more", 3600);
    assert_int_equal(asker_signs_for(&now, "DELETE", SERVER, false), 0);
    assert_string_equal(now.authorization, "Bearer " SECRET "-one");
    desk_pass(&d, 3590); /* it would be renewed for others */
    assert_int_equal(asker_signs_for(&now, "DELETE", SERVER, false), 0);
    assert_string_equal(now.authorization, "Bearer " SECRET "-one");
    desk_pass(&d, 10);
    assert_int_equal(asker_signs_for(&now, "DELETE", SERVER, false), 0);
    assert_string_equal(now.authorization, "");
    desk_close(&d);
}

/* ---- one run for all -------------------------------------------------------------- */

static void
many_that_wait_cause_one_run(void **state)
{
    struct asker a[5];
    struct desk d;

    (void)state;
    desk_open(&d);
    for (int i = 0; i < 5; i++) {
        asker_init(&a[i], &d);
        assert_int_equal(asker_signs(&a[i]), MCP_E_AGAIN);
    }
    desk_run(&d);
    for (int i = 0; i < 4; i++)
        asker_has(&a[i], NULL);
    for (int i = 0; i < 4; i++)
        assert_int_equal(asker_hears(&a[i], 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_run(&d);
    assert_int_equal(asker_signs(&a[4]), MCP_E_AGAIN); /* there is no use in asking */
    desk_discovers(&d);
    desk_posts(&d, "grant_type=client_credentials");
    desk_gives(&d, "one", NULL, 3600);
    assert_int_equal(d.fetcher.count, 3);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(a[i].told, 2);
        assert_int_equal(a[i].status, 0);
        asker_has(&a[i], "one");
    }
    assert_int_equal(d.shelf.saves, 1);
    desk_close(&d);
}

static void
a_run_that_fails_is_told_to_all_with_its_reason(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    (void)asker_signs(&a);
    desk_run(&d);
    asker_has(&a, NULL);
    asker_has(&b, NULL);
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    assert_int_equal(asker_hears(&b, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_answer(&d, TOKENS, 401, "{\"error\":\"invalid_client\"}");
    assert_int_equal(b.told, 1);
    assert_int_equal(b.status, MCP_E_AUTH);
    assert_int_equal(b.http, 401);
    assert_non_null(strstr(b.why, "invalid_client"));
    assert_int_equal(a.status, MCP_E_AUTH);
    /* the next one tries anew */
    asker_init(&a, &d);
    asker_has(&a, NULL);
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_gives(&d, "one", NULL, 3600);
    asker_has(&a, "one");
    desk_close(&d);
}

static void
when_the_last_one_leaves_the_run_is_given_up(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    (void)asker_signs(&a);
    desk_run(&d);
    asker_has(&a, NULL);
    asker_has(&b, NULL);
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    assert_int_equal(asker_hears(&b, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_run(&d);
    asker_leaves(&a);
    assert_int_equal(d.fetcher.aborts, 0);
    asker_leaves(&b);
    assert_int_equal(d.fetcher.aborts, 1);
    desk_run(&d);
    assert_int_equal(a.told + b.told, 1); /* of the store */
    /* and is begun again by the next one */
    asker_has(&b, NULL);
    assert_int_equal(asker_hears(&b, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_gives(&d, "one", NULL, 3600);
    asker_has(&b, "one");
    desk_close(&d);
}

/* It has not even begun. */
static void
who_leaves_at_once_causes_nothing(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    (void)asker_signs(&a);
    desk_run(&d);
    asker_has(&a, NULL);
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    asker_leaves(&a);
    desk_run(&d);
    assert_int_equal(d.fetcher.count, 0);
    desk_close(&d);
}

static void
what_spends_a_refresh_token_goes_on_without_anybody(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", "more", 100);
    desk_pass(&d, 80);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    desk_posts(&d, "refresh_token=" SECRET "-more");
    asker_leaves(&a);
    assert_int_equal(d.fetcher.aborts, 0);
    desk_gives(&d, "two", "again", 100);
    assert_int_equal(a.told, 2);
    assert_non_null(strstr(d.shelf.text, SECRET "-again"));
    asker_has(&a, "two");
    desk_close(&d);
}

/* ---- who is told may do anything ---------------------------------------------------- */

static void
then_the_other_leaves(struct asker *a)
{
    asker_leaves(a->other);
}

static void
who_is_told_may_have_others_leave(void **state)
{
    struct asker a, b, c;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    asker_init(&c, &d);
    a.then = then_the_other_leaves;
    a.other = &b;
    (void)asker_signs(&a);
    (void)asker_signs(&b);
    (void)asker_signs(&c);
    desk_run(&d);
    assert_int_equal(a.told, 1);
    assert_int_equal(b.told, 0);
    assert_int_equal(c.told, 1);
    desk_close(&d);
}

static void
then_it_is_refused_again(struct asker *a)
{
    a->then = NULL;
    asker_has(a, NULL);
    assert_int_equal(asker_hears(a, 401, UNAUTHORIZED), MCP_E_AGAIN);
}

static void
who_is_told_may_wait_again(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    a.then = then_it_is_refused_again;
    (void)asker_signs(&a);
    (void)asker_signs(&b);
    desk_run(&d);
    assert_int_equal(a.told, 1);
    assert_int_equal(b.told, 1);
    assert_int_equal(asker_signs(&b), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_gives(&d, "one", NULL, 3600);
    assert_int_equal(a.told, 2);
    assert_int_equal(b.told, 2);
    desk_close(&d);
}

static void
then_all_leave_and_it_is_closed(struct asker *a)
{
    asker_leaves(a->other);
    mcpi_auth_client_close(a->desk->client, desk_closed, a->desk);
    a->desk->client = NULL;
}

static void
who_is_told_may_close_it(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    a.then = then_all_leave_and_it_is_closed;
    a.other = &b;
    (void)asker_signs(&a);
    (void)asker_signs(&b);
    desk_run(&d);
    assert_int_equal(a.told, 1);
    assert_int_equal(b.told, 0);
    assert_int_equal(d.closed, 1);
    desk_close(&d);
}

/* ---- renewal ----------------------------------------------------------------------- */

static void
a_token_is_renewed_before_its_end(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    desk_signs_in(&d, &a, "one", "more", 3600);
    desk_pass(&d, 3600 - MCPI_AUTH_MARGIN_S - 1);
    asker_has(&a, "one");
    desk_pass(&d, 1);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    desk_posts(&d, "grant_type=refresh_token&refresh_token=" SECRET "-more");
    asker_has(&b, "one"); /* it is still good: only one waits */
    desk_gives(&d, "two", NULL, 3600);
    assert_int_equal(a.told, 3);
    assert_int_equal(a.status, 0);
    asker_has(&a, "two");
    asker_has(&b, "two");
    assert_int_equal(d.shelf.locks, 1);
    assert_int_equal(d.shelf.saves, 2);
    /* its refresh token stays, for there was no other */
    desk_pass(&d, 3590);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    desk_posts(&d, "refresh_token=" SECRET "-more");
    desk_gives(&d, "three", "other", 3600);
    asker_has(&a, "three");
    desk_close(&d);
}

/* One that lives shorter than the margins, at half of its life. */
static void
a_short_token_is_renewed_at_half_of_its_life(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", "more", 10);
    desk_pass(&d, 4);
    asker_has(&a, "one");
    desk_pass(&d, 1);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    desk_gives(&d, "two", NULL, 10);
    asker_has(&a, "two");
    desk_close(&d);
}

/* Dead on arrival: it is shown once, and renewed no more than once in a second. */
static void
a_token_without_a_life_causes_no_loop(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    desk_signs_in(&d, &a, "one", "more", 0);
    asker_has(&b, "one");
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    asker_has(&a, "one");
    desk_pass(&d, 1);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    desk_gives(&d, "two", NULL, 0);
    asker_has(&a, "two");
    asker_has(&b, "two");
    desk_close(&d);
}

static void
a_renewal_that_fails_leaves_the_token_while_it_lives(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", "more", 3600);
    desk_pass(&d, 3575);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    desk_answer(&d, TOKENS, 503, NULL);
    assert_int_equal(a.status, 0);
    asker_has(&a, "one");
    desk_pass(&d, MCPI_AUTH_RENEW_PAUSE_S - 1);
    asker_has(&a, "one"); /* not at once again */
    desk_pass(&d, 1);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    fake_fail(fake_last(&d.fetcher), MCP_E_CLOSED, "it went away");
    desk_run(&d);
    asker_has(&a, "one");
    desk_pass(&d, MCPI_AUTH_RENEW_PAUSE_S);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    desk_gives(&d, "two", NULL, 3600);
    asker_has(&a, "two");
    desk_close(&d);
}

/* The present token is still good: an issuer that does not answer holds nobody for long. */
static void
a_renewal_that_takes_long_is_not_waited_for(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    desk_signs_in(&d, &a, "one", "more", 3600);
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    desk_pass(&d, 3575);
    a.told = 0;
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    d.now += MCPI_AUTH_RENEW_WAIT_US - 1;
    desk_run(&d);
    assert_int_equal(a.told, 0);
    d.now++;
    desk_run(&d);
    assert_int_equal(a.told, 1);
    assert_int_equal(a.status, 0);
    asker_has(&a, "one");
    asker_has(&b, "one");
    desk_gives(&d, "two", NULL, 3600); /* it went on meanwhile */
    asker_has(&b, "two");
    desk_close(&d);
}

/* Whose token was refused has nothing else to wait for. */
static void
who_was_refused_waits_for_a_renewal_that_takes_long(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    desk_signs_in(&d, &a, "one", "more", 3600);
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    asker_has(&b, "one");
    desk_pass(&d, 3575);
    a.told = 0;
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    assert_int_equal(asker_hears(&b, 403, TOO_LITTLE("admin")), MCP_E_AGAIN);
    d.now += MCPI_AUTH_RENEW_WAIT_US;
    desk_run(&d);
    assert_int_equal(a.told, 1);
    assert_int_equal(b.told, 0);
    desk_gives(&d, "two", NULL, 3600);
    assert_int_equal(b.told, 1);
    asker_has(&b, "two");
    desk_close(&d);
}

static void
a_refresh_token_that_is_refused_is_not_sent_again(void **state)
{
    struct asker a;
    struct desk d;
    size_t count;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", "more", 3600);
    desk_pass(&d, 3575);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    desk_answer(&d, TOKENS, 400, "{\"error\":\"invalid_grant\"}");
    count = d.fetcher.count;
    asker_has(&a, "one");
    desk_pass(&d, 20);
    asker_has(&a, "one");
    assert_int_equal(d.fetcher.count, count);
    desk_pass(&d, 5);
    asker_has(&a, NULL); /* it has ended, and the server may say what it wants */
    assert_int_equal(d.fetcher.count, count);
    desk_close(&d);
}

static void
a_token_that_ended_and_cannot_be_renewed_is_not_sent(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", NULL, 60);
    desk_pass(&d, 59);
    asker_has(&a, "one");
    desk_pass(&d, 1);
    asker_has(&a, NULL);
    assert_int_equal(d.fetcher.count, 3);
    desk_close(&d);
}

static void
a_token_whose_end_is_not_said_is_used_on_and_on(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", "more", -1);
    desk_pass(&d, 1000000);
    asker_has(&a, "one");
    assert_int_equal(d.fetcher.count, 3);
    desk_close(&d);
}

/* The issuer was away for a moment: who signed in stays signed in. */
static void
a_renewal_that_fails_too_late_does_not_cost_the_refresh_token(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", "more", 60);
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    desk_pass(&d, 100);
    asker_init(&a, &d);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    desk_posts(&d, "refresh_token=" SECRET "-more");
    desk_answer(&d, TOKENS, 503, NULL);
    assert_int_equal(a.status, 0);
    asker_has(&a, NULL);
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_posts(&d, "refresh_token=" SECRET "-more");
    desk_answer(&d, TOKENS, 503, NULL);
    assert_int_equal(a.status, MCP_E_AUTH);
    asker_init(&a, &d);
    asker_has(&a, NULL); /* the pause */
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_posts(&d, "refresh_token=" SECRET "-more");
    desk_gives(&d, "two", NULL, 60);
    asker_has(&a, "two");
    desk_close(&d);
}

/* A server that cannot even say no. */
static void
a_refresh_token_that_only_fails_is_given_up_at_last(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    shelf_put(&d, "kept", "more", -100);
    asker_init(&a, &d);
    (void)asker_signs(&a);
    desk_run(&d);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    desk_answer(&d, ISSUER_WELL_KNOWN, 200, ISSUER_DOCUMENT);
    desk_answer(&d, TOKENS, 500, NULL);
    for (int i = 0; i < MCPI_AUTH_FAILURES_MAX; i++) {
        asker_init(&a, &d);
        asker_has(&a, NULL);
        assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
        desk_discovers(&d);
        desk_posts(&d, "refresh_token=" SECRET "-more");
        desk_answer(&d, TOKENS, 500, NULL);
        assert_int_equal(a.status, MCP_E_AUTH);
    }
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "new", NULL, 3600);
    desk_close(&d);
}

static void
a_token_of_the_store_is_renewed_when_it_is_due(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    shelf_put(&d, "kept", "more", 20);
    asker_init(&a, &d);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    assert_int_equal(a.told, 1);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    desk_answer(&d, ISSUER_WELL_KNOWN, 200, ISSUER_DOCUMENT);
    desk_posts(&d, "refresh_token=" SECRET "-more");
    desk_gives(&d, "new", NULL, 3600);
    asker_has(&a, "new");
    desk_close(&d);
}

/* A renewal asks the issuer alone: what the server has to say of itself, and of who its
 * issuer is now, is not known by that. */
static void
who_was_only_renewed_looks_at_the_server_before_he_asks_for_more(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    shelf_put(&d, "kept", "more", 20);
    asker_init(&a, &d);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    desk_answer(&d, ISSUER_WELL_KNOWN, 200, ISSUER_DOCUMENT);
    desk_gives(&d, "new", NULL, 3600);
    asker_has(&a, "new");
    assert_int_equal(asker_hears(&a, 403, TOO_LITTLE("admin")), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_posts(&d, "scope=admin");
    desk_gives(&d, "two", NULL, 3600);
    asker_has(&a, "two");
    desk_close(&d);
}

/* Another process had the same idea, and was first. */
static void
a_token_that_another_renewed_is_taken_from_the_store(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", "more", 60);
    desk_pass(&d, 40);
    free(d.shelf.text);
    shelf_put(&d, "theirs", "their-more", 3600);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    assert_int_equal(d.fetcher.count, 3);
    assert_int_equal(d.shelf.locks, 1);
    asker_has(&a, "theirs");
    desk_close(&d);
}

TEST_MAIN(TEST(a_message_waits_until_the_store_was_looked_into),
          TEST(what_the_store_has_is_used),
          TEST(what_the_store_has_of_another_issuer_is_not_used),
          TEST(what_the_store_has_for_less_is_replaced),
          TEST(what_the_store_has_for_less_is_used_if_nobody_can_sign_in),
          TEST(the_issuer_that_the_store_knows_is_the_one),
          TEST(a_store_that_fails_is_as_an_empty_one),
          TEST(who_leaves_while_the_store_is_asked_is_not_told),
          TEST(what_cannot_wait_gets_what_there_is), TEST(many_that_wait_cause_one_run),
          TEST(a_run_that_fails_is_told_to_all_with_its_reason),
          TEST(when_the_last_one_leaves_the_run_is_given_up),
          TEST(who_leaves_at_once_causes_nothing),
          TEST(what_spends_a_refresh_token_goes_on_without_anybody),
          TEST(who_is_told_may_have_others_leave), TEST(who_is_told_may_wait_again),
          TEST(who_is_told_may_close_it), TEST(a_token_is_renewed_before_its_end),
          TEST(a_short_token_is_renewed_at_half_of_its_life),
          TEST(a_token_without_a_life_causes_no_loop),
          TEST(a_renewal_that_fails_leaves_the_token_while_it_lives),
          TEST(a_renewal_that_takes_long_is_not_waited_for),
          TEST(who_was_refused_waits_for_a_renewal_that_takes_long),
          TEST(a_refresh_token_that_is_refused_is_not_sent_again),
          TEST(a_token_that_ended_and_cannot_be_renewed_is_not_sent),
          TEST(a_token_whose_end_is_not_said_is_used_on_and_on),
          TEST(a_renewal_that_fails_too_late_does_not_cost_the_refresh_token),
          TEST(a_refresh_token_that_only_fails_is_given_up_at_last),
          TEST(a_token_of_the_store_is_renewed_when_it_is_due),
          TEST(who_was_only_renewed_looks_at_the_server_before_he_asks_for_more),
          TEST(a_token_that_another_renewed_is_taken_from_the_store))
