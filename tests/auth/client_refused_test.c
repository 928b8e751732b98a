/* auth/client_refused_test.c - what a refusal leads to */
#include "auth/client_fixture.h"
#include "auth/key_fixture.h"

/* ---- 401 ------------------------------------------------------------------------- */

static void
refused_under_an_older_token_is_sent_again_at_once(void **state)
{
    struct asker a, b;
    struct desk d;
    size_t count;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    desk_signs_in(&d, &a, "one", NULL, 3600);
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    asker_init(&a, &d);
    asker_has(&a, "one");
    asker_has(&b, "one");
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_gives(&d, "two", NULL, 3600);
    count = d.fetcher.count;
    assert_int_equal(asker_hears(&b, 401, UNAUTHORIZED), MCP_E_AGAIN);
    assert_int_equal(b.told, 0); /* not from inside */
    desk_run(&d);
    assert_int_equal(b.told, 1);
    assert_int_equal(b.status, 0);
    asker_has(&b, "two");
    assert_int_equal(d.fetcher.count, count);
    desk_close(&d);
}

static void
who_leaves_before_it_is_sent_again_is_not_told(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    (void)asker_signs(&a);
    desk_run(&d);
    asker_has(&b, NULL);
    desk_signs_in(&d, &a, "one", NULL, 3600);
    assert_int_equal(asker_hears(&b, 401, UNAUTHORIZED), MCP_E_AGAIN);
    asker_leaves(&b);
    desk_run(&d);
    assert_int_equal(b.told, 0);
    desk_close(&d);
}

static void
a_token_fresh_of_a_sign_in_that_is_refused_is_refused_for_good(void **state)
{
    struct asker a;
    struct desk d;
    size_t count;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", NULL, 3600);
    count = d.fetcher.count;
    asker_is_refused(&a, 401, UNAUTHORIZED, "refuses the token");
    desk_run(&d);
    assert_int_equal(d.fetcher.count, count);
    assert_int_equal(a.told, 2);
    /* nobody signs in again for a while, whichever message it is */
    asker_init(&a, &d);
    asker_has(&a, NULL);
    asker_is_refused(&a, 401, UNAUTHORIZED, "refuses the token");
    wall_now += MCPI_AUTH_SPURNED_S;
    asker_init(&a, &d);
    asker_has(&a, NULL);
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_gives(&d, "two", NULL, 3600);
    asker_has(&a, "two");
    asker_is_refused(&a, 401, UNAUTHORIZED, "refuses the token");
    desk_close(&d);
}

/* A run is about the token that there is: who refuses that meanwhile must not take it away
 * from under it. Nor does the next call open a page: that the token is refused is known. */
static void
a_fresh_token_that_is_refused_while_a_run_uses_it_waits_for_that(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open_with(&d, PROGRAM(.scope = "always"));
    asker_init(&a, &d);
    asker_init(&b, &d);
    desk_signs_in(&d, &a, "one", NULL, 3600);
    asker_has(&b, "one");
    assert_int_equal(asker_hears(&a, 403, TOO_LITTLE("admin")), MCP_E_AGAIN);
    assert_int_equal(asker_hears(&b, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_run(&d);
    desk_posts(&d, "scope=always%20admin");
    desk_answer(&d, TOKENS, 400, "{\"error\":\"invalid_scope\"}");
    assert_int_equal(a.status, MCP_E_AUTH);
    assert_int_equal(b.status, MCP_E_AUTH);
    asker_init(&b, &d);
    asker_has(&b, NULL);
    asker_is_refused(&b, 401, UNAUTHORIZED, "refuses the token");
    desk_close(&d);
}

/* What is for everybody proves no token. */
static void
a_token_that_was_not_shown_was_not_accepted(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    desk_signs_in(&d, &a, "one", NULL, 100);
    desk_pass(&d, 101);
    asker_has(&b, NULL);
    assert_int_equal(asker_hears(&b, 200, NULL), 0);
    asker_is_refused(&a, 401, UNAUTHORIZED, "refuses the token");
    desk_close(&d);
}

static void
a_fresh_token_that_is_refused_while_it_is_renewed_waits_for_that(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    desk_signs_in(&d, &a, "one", "more", 40);
    asker_has(&b, "one");
    desk_pass(&d, 30);
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    assert_int_equal(asker_hears(&b, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_run(&d);
    desk_posts(&d, "refresh_token=" SECRET "-more");
    desk_gives(&d, "two", "more", 3600);
    asker_has(&a, "two");
    asker_has(&b, "two");
    assert_int_equal(asker_hears(&b, 200, NULL),
                     0); /* so it was not the server's will */
    asker_init(&b, &d);
    asker_has(&b, "two");
    assert_int_equal(asker_hears(&b, 401, UNAUTHORIZED), MCP_E_AGAIN);
    asker_leaves(&b);
    desk_close(&d);
}

/* It has ended before anybody used it: that is no word of the server's against it. */
static void
a_token_that_was_not_shown_was_not_refused(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", NULL, 100);
    desk_pass(&d, 101); /* nothing was heard of who had it */
    asker_init(&a, &d);
    asker_has(&a, NULL);
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_gives(&d, "two", NULL, 3600);
    asker_has(&a, "two");
    asker_is_refused(&a, 401, UNAUTHORIZED, "refuses the token");
    desk_close(&d);
}

/* The user is asked, and not the issuer again and again for tokens that nobody takes. */
static void
a_refreshed_token_that_is_refused_is_not_refreshed_again(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", "more", 3600);
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    asker_has(&a, "one");
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_posts(&d, "grant_type=refresh_token");
    desk_gives(&d, "two", "more", 3600);
    asker_has(&a, "two");
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_posts(&d, "grant_type=client_credentials");
    desk_gives(&d, "three", NULL, 3600);
    asker_has(&a, "three");
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    desk_close(&d);
}

/* A stream is taken up again for hours, and its refusals in between are not one row. */
static void
what_was_accepted_begins_anew(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", NULL, 3600);
    for (int i = 0; i < 3 * MCPI_AUTH_REFUSALS_MAX; i++) {
        assert_int_equal(asker_hears(&a, 200, NULL), 0);
        asker_has(&a, "one");
        assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
        desk_discovers(&d);
        desk_gives(&d, "one", NULL, 3600);
        asker_has(&a, "one");
    }
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    desk_close(&d);
}

static void
a_token_that_was_good_and_is_not_any_more_leads_to_another(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    desk_signs_in(&d, &a, "one", "more", 3600);
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    asker_init(&a, &d);
    asker_has(&a, "one");
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    assert_int_equal(asker_signs_for(&b, "DELETE", SERVER, false), 0);
    assert_string_equal(b.authorization, ""); /* it is shown no more */
    asker_leaves(&a);
    asker_has(&a, NULL);
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_posts(&d, "refresh_token=" SECRET "-more");
    desk_answer(&d, TOKENS, 400, "{\"error\":\"invalid_grant\"}");
    desk_posts(&d, "grant_type=client_credentials");
    desk_gives(&d, "two", NULL, 3600);
    asker_has(&a, "two");
    desk_close(&d);
}

static void
refusals_have_an_end(void **state)
{
    struct asker a, b;
    char name[8] = "0";
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    asker_init(&b, &d);
    (void)asker_signs(&a);
    desk_run(&d);
    asker_has(&a, NULL);
    for (int i = 0; i < MCPI_AUTH_REFUSALS_MAX; i++) {
        assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
        desk_discovers(&d);
        name[0]++;
        desk_gives(&d, name, NULL, 3600);
        asker_has(&a, name);
        asker_has(&b, name);
        assert_int_equal(asker_hears(&b, 200, NULL), 0); /* others may come in */
    }
    asker_is_refused(&a, 401, UNAUTHORIZED, "again and again");
    desk_close(&d);
}

/* ---- 403 ------------------------------------------------------------------------- */

static void
more_is_asked_for_when_more_is_wanted(void **state)
{
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open_with(&d, PROGRAM(.scope = "always"));
    asker_init(&a, &d);
    asker_init(&b, &d);
    desk_signs_in(&d, &a, "one", "more", 3600);
    assert_int_equal(asker_hears(&a, 403, TOO_LITTLE("files:write")), MCP_E_AGAIN);
    desk_run(&d);
    desk_posts(&d, "scope=always%20files%3Awrite"); /* and no refresh */
    asker_has(&b, "one");                           /* others go on meanwhile */
    desk_gives(&d, "two", NULL, 3600);
    asker_has(&a, "two");
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    /* what was asked for already is not asked for again */
    asker_has(&b, "two");
    asker_is_refused(&b, 403, TOO_LITTLE("files:write"), "wants more than");
    desk_close(&d);
}

/* Also for a stream that is opened by GET. */
static void
more_is_asked_for_whatever_was_refused(void **state)
{
    static const char *const methods[] = {"GET", "POST", "DELETE"};
    struct asker a;
    struct desk d;

    (void)state;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        desk_open(&d);
        asker_init(&a, &d);
        desk_signs_in(&d, &a, "one", NULL, 3600);
        assert_int_equal(asker_signs_for(&a, methods[i], SERVER, true), 0);
        assert_int_equal(asker_hears(&a, 403, TOO_LITTLE("admin")), MCP_E_AGAIN);
        desk_run(&d);
        desk_posts(&d, "scope=admin");
        desk_gives(&d, "two", NULL, 3600);
        assert_int_equal(asker_signs_for(&a, methods[i], SERVER, true), 0);
        assert_string_equal(a.authorization, "Bearer " SECRET "-two");
        asker_is_refused(&a, 403, TOO_LITTLE("admin"), "wants more than");
        desk_close(&d);
    }
}

static void
more_that_is_not_given_leaves_the_token_that_there_is(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", NULL, 3600);
    assert_int_equal(asker_hears(&a, 403, TOO_LITTLE("admin")), MCP_E_AGAIN);
    desk_run(&d);
    desk_answer(&d, TOKENS, 400, "{\"error\":\"invalid_scope\"}");
    assert_int_equal(a.status, MCP_E_AUTH);
    assert_int_equal(a.http, 403);
    assert_non_null(strstr(a.why, "invalid_scope"));
    asker_init(&a, &d);
    asker_has(&a, "one");
    desk_close(&d);
}

/* Or nobody could sign in any more: an issuer that does not know a scope gives nothing. */
static void
more_that_is_not_given_is_not_asked_for_again(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open_with(&d, PROGRAM(.scope = "always"));
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", NULL, 3600);
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    asker_has(&a, "one");
    assert_int_equal(asker_hears(&a, 403, TOO_LITTLE("invented")), MCP_E_AGAIN);
    desk_run(&d);
    desk_posts(&d, "scope=always%20invented");
    desk_answer(&d, TOKENS, 400, "{\"error\":\"invalid_scope\"}");
    asker_init(&a, &d);
    asker_has(&a, "one");
    assert_int_equal(asker_hears(&a, 403, TOO_LITTLE("fancied")), MCP_E_AGAIN);
    desk_run(&d);
    desk_posts(&d, "scope=always%20fancied");
    asker_leaves(&a); /* nor what was given up */
    asker_has(&a, "one");
    assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_posts(&d, "scope=always&");
    desk_gives(&d, "two", NULL, 3600);
    asker_has(&a, "two");
    desk_close(&d);
}

/* What another process was given for more than we had asked for is not lost. */
static void
more_is_asked_for_besides_what_another_was_given(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", "more", 60);
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    desk_pass(&d, 40);
    free(d.shelf.text);
    d.shelf.text = strdup("{\"issuer\":\"" ISSUER "\",\"resource\":\"" SERVER
                          "\",\"client_id\":\"we\",\"access_token\":\"" SECRET
                          "-theirs\",\"refresh_token\":\"" SECRET
                          "-x\",\"scope\":\"read write\"}");
    assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
    desk_run(&d);
    asker_has(&a, "theirs");
    assert_int_equal(asker_hears(&a, 403, TOO_LITTLE("admin")), MCP_E_AGAIN);
    desk_run(&d);
    desk_posts(&d, "scope=read%20write%20admin");
    desk_gives(&d, "two", NULL, 3600);
    asker_has(&a, "two");
    desk_close(&d);
}

static void
a_403_that_names_nothing_new_is_refused_for_good(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open_with(&d, PROGRAM(.scope = "read write"));
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", NULL, 3600);
    asker_is_refused(&a, 403, TOO_LITTLE("write"), "wants more than");
    asker_is_refused(&a, 403, "WWW-Authenticate: Bearer error=\"insufficient_scope\"",
                     "wants more than");
    assert_int_equal(asker_hears(&a, 403, NULL), 0); /* the link's */
    assert_int_equal(asker_hears(&a, 403, UNAUTHORIZED), 0);
    assert_int_equal(asker_hears(&a, 500, UNAUTHORIZED), 0);
    assert_int_equal(d.fetcher.count, 3);
    desk_close(&d);
}

/* The server may say it in one header of several. */
static void
every_challenge_is_read(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", NULL, 3600);
    assert_int_equal(
        asker_hears(&a, 403,
                    "WWW-Authenticate: Basic realm=\"x\"\n" TOO_LITTLE("admin")),
        MCP_E_AGAIN);
    desk_run(&d);
    desk_posts(&d, "scope=admin");
    asker_leaves(&a);
    desk_close(&d);
}

/* ---- where it goes ---------------------------------------------------------------- */

static void
a_token_goes_to_its_own_server_only(void **state)
{
    static const char *const others[] = {
        "https://evil.test/mcp", "https://mcp.test:444/mcp", "http://mcp.test/mcp",
        "https://mcp.test.evil.test/mcp"};
    struct asker a;
    struct desk d;

    (void)state;
    desk_open(&d);
    asker_init(&a, &d);
    desk_signs_in(&d, &a, "one", NULL, 3600);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_int_equal(asker_signs_for(&a, "POST", others[i], true), 0);
        assert_string_equal(a.authorization, "");
        assert_int_equal(asker_signs_for(&a, "DELETE", others[i], false), 0);
        assert_string_equal(a.authorization, "");
    }
    assert_int_equal(asker_signs_for(&a, "GET", "https://mcp.test/other?x", true), 0);
    assert_string_equal(a.authorization, "Bearer " SECRET "-one");
    desk_close(&d);
}

static void
a_far_server_without_TLS_gets_no_token(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    assert_int_equal(desk_try(&d, NULL, "http://mcp.test/mcp", PROGRAM(.scope = NULL)),
                     0);
    d.shelf.text = strdup("{\"access_token\":\"x\"}");
    asker_init(&a, &d);
    assert_int_equal(asker_signs_for(&a, "POST", "http://mcp.test/mcp", true), 0);
    assert_string_equal(a.authorization, "");
    assert_int_equal(d.shelf.loads, 0); /* nobody even looks for one */
    asker_is_refused(&a, 401, UNAUTHORIZED, "https only");
    asker_is_refused(&a, 403, TOO_LITTLE("x"), "https only");
    desk_run(&d);
    assert_int_equal(d.fetcher.count, 0);
    desk_close(&d);
}

/* Metadata is not looked for in places nearer than the server is. */
static void
who_is_asked_may_be_as_near_as_the_server_and_no_nearer(void **state)
{
    static const enum mcpi_address_kind kinds[] = {
        MCPI_ADDRESS_PUBLIC, MCPI_ADDRESS_PRIVATE, MCPI_ADDRESS_LOOPBACK};
    struct asker a;
    struct desk d;

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        desk_open(&d);
        asker_init(&a, &d);
        (void)asker_signs(&a);
        desk_run(&d);
        asker_has(&a, NULL);
        assert_int_equal(asker_hears_from(&a, 401, UNAUTHORIZED, kinds[i]),
                         MCP_E_AGAIN);
        desk_discovers(&d);
        for (size_t n = 0; n < d.fetcher.count; n++)
            assert_int_equal(fake_at(&d.fetcher, n)->nearest, kinds[i]);
        asker_leaves(&a);
        desk_close(&d);
    }
}

/* ---- DPoP ------------------------------------------------------------------------- */

#define BOUND(token)                                                      \
    "{\"access_token\":\"" SECRET "-" token "\",\"token_type\":\"DPoP\"," \
    "\"expires_in\":3600}"
#define NONCE(nonce) "DPoP-Nonce: " nonce
#define WANTS_NONCE(nonce) \
    "WWW-Authenticate: DPoP error=\"use_dpop_nonce\"\n" NONCE(nonce)

static void
desk_signs_in_bound(struct desk *d, struct asker *a)
{
    if (asker_signs(a) == MCP_E_AGAIN)
        desk_run(d);
    asker_has(a, NULL);
    assert_int_equal(asker_hears(a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(d);
    assert_non_null(fake_field(fake_last(&d->fetcher), "DPoP"));
    desk_answer(d, TOKENS, 200, BOUND("one"));
}

/* It is signed, with a proof of this request and this nonce. */
static void
asker_proves(struct asker *a, const char *method, const char *nonce)
{
    char thumbprint[MCPI_KEY_THUMBPRINT_SIZE], jti[MCPI_KEY_THUMBPRINT_SIZE];
    const struct mcpi_dpop what = {.method = method,
                                   .url = SERVER,
                                   .token = SECRET "-one",
                                   .nonce = *nonce ? nonce : NULL,
                                   .now = wall_now};
    bool wants_nonce;
    const char *fault;

    assert_int_equal(asker_signs_for(a, method, SERVER, true), 0);
    assert_string_equal(a->authorization, "DPoP " SECRET "-one");
    fault = mcpi_dpop_fault(&a->desk->mem->allocator, a->proof, &what, thumbprint, jti,
                            &wants_nonce);
    if (fault)
        fail_msg("%s: %s", nonce, fault);
}

static void
a_bound_token_goes_with_a_proof(void **state)
{
    char before[2048];
    struct asker a;
    struct desk d;

    (void)state;
    desk_open_with(&d, PROGRAM(.dpop = true));
    asker_init(&a, &d);
    desk_signs_in_bound(&d, &a);
    asker_proves(&a, "POST", "");
    memcpy(before, a.proof, sizeof(before));
    asker_proves(&a, "GET", "");
    assert_string_not_equal(a.proof, before);
    desk_close(&d);
}

static void
a_nonce_of_the_server_is_used_from_then_on(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open_with(&d, PROGRAM(.dpop = true));
    asker_init(&a, &d);
    desk_signs_in_bound(&d, &a);
    asker_proves(&a, "POST", "");
    assert_int_equal(asker_hears(&a, 401, WANTS_NONCE("n1")), MCP_E_AGAIN);
    desk_run(&d);
    assert_int_equal(a.told, 3);
    assert_int_equal(a.status, 0);
    asker_proves(&a, "POST", "n1");
    assert_int_equal(asker_hears(&a, 200, NONCE("n2")), 0); /* of any answer */
    asker_proves(&a, "POST", "n2");
    assert_int_equal(asker_hears(&a, 500, NONCE("n3")), 0);
    asker_proves(&a, "POST", "n3");
    assert_int_equal(d.fetcher.count, 3);
    desk_close(&d);
}

static void
a_nonce_that_is_too_long_or_no_text_is_none(void **state)
{
    char lines[2000] = "DPoP-Nonce: ";
    struct asker a;
    struct desk d;

    (void)state;
    memset(lines + 12, 'n', 1000);
    desk_open_with(&d, PROGRAM(.dpop = true));
    asker_init(&a, &d);
    desk_signs_in_bound(&d, &a);
    asker_proves(&a, "POST", "");
    assert_int_equal(asker_hears(&a, 200, lines), 0);
    asker_proves(&a, "POST", "");
    assert_int_equal(asker_hears(&a, 200, "DPoP-Nonce: "), 0);
    asker_proves(&a, "POST", "");
    assert_int_equal(asker_hears(&a, 200, "DPoP-Nonce: caf\xe9"), 0);
    asker_proves(&a, "POST", ""); /* what is no text could not be said in a proof */
    desk_close(&d);
}

/* All were under way when the server began to ask for one: nothing is wrong with the token
 * of the second one either. */
static void
many_that_lack_the_same_nonce_are_all_sent_again(void **state)
{
    struct asker a, b, c;
    struct desk d;

    (void)state;
    desk_open_with(&d, PROGRAM(.dpop = true));
    asker_init(&a, &d);
    asker_init(&b, &d);
    asker_init(&c, &d);
    desk_signs_in_bound(&d, &a);
    asker_proves(&a, "POST", "");
    asker_proves(&b, "POST", "");
    asker_proves(&c, "POST", "");
    assert_int_equal(asker_hears(&a, 401, WANTS_NONCE("n1")), MCP_E_AGAIN);
    assert_int_equal(asker_hears(&b, 401, WANTS_NONCE("n1")), MCP_E_AGAIN);
    desk_run(&d);
    asker_proves(&a, "POST", "n1");
    asker_proves(&b, "POST", "n1");
    assert_int_equal(asker_hears(&c, 401, WANTS_NONCE("n1")), MCP_E_AGAIN);
    desk_run(&d);
    asker_proves(&c, "POST", "n1");
    assert_int_equal(d.fetcher.count, 3);
    desk_close(&d);
}

static void
a_server_that_wants_ever_new_nonces_has_an_end(void **state)
{
    static const char *const lines[] = {WANTS_NONCE("n1"), WANTS_NONCE("n2"),
                                        WANTS_NONCE("n3")};
    struct asker a, b;
    struct desk d;

    (void)state;
    desk_open_with(&d, PROGRAM(.dpop = true));
    asker_init(&a, &d);
    asker_init(&b, &d);
    desk_signs_in_bound(&d, &a);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(asker_signs(&b), 0);
        assert_int_equal(asker_hears(&b, 401, lines[i]), MCP_E_AGAIN);
        desk_run(&d);
        assert_int_equal(b.told, i + 1);
    }
    assert_int_equal(asker_signs(&b), 0);
    asker_is_refused(&b, 401, WANTS_NONCE("n4"), "again and again");
    desk_close(&d);
}

/* The same nonce once more: it was not that. */
static void
a_nonce_that_was_there_and_is_refused_is_a_refusal(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    desk_open_with(&d, PROGRAM(.dpop = true));
    asker_init(&a, &d);
    desk_signs_in_bound(&d, &a);
    asker_proves(&a, "POST", "");
    assert_int_equal(asker_hears(&a, 200, NONCE("n1")), 0);
    asker_init(&a, &d);
    asker_proves(&a, "POST", "n1");
    assert_int_equal(asker_hears(&a, 401, WANTS_NONCE("n1")), MCP_E_AGAIN);
    desk_discovers(&d);
    desk_answer(&d, TOKENS, 200, BOUND("one"));
    asker_proves(&a, "POST", "n1");
    asker_is_refused(&a, 401, WANTS_NONCE("n1"), "refuses the token");
    desk_close(&d);
}

/* It may be the clock. It is not the token: nobody signs in for that. */
static void
a_proof_that_is_refused_is_made_once_more(void **state)
{
    static const char refusal[] = "WWW-Authenticate: DPoP error=\"invalid_dpop_proof\"";
    struct asker a;
    struct desk d;
    size_t count;

    (void)state;
    desk_open_with(&d, PROGRAM(.dpop = true));
    asker_init(&a, &d);
    desk_signs_in_bound(&d, &a);
    assert_int_equal(asker_hears(&a, 200, NULL), 0);
    asker_init(&a, &d);
    asker_proves(&a, "POST", "");
    count = d.fetcher.count;
    assert_int_equal(asker_hears(&a, 401, refusal), MCP_E_AGAIN);
    desk_run(&d);
    asker_proves(&a, "POST", "");
    asker_is_refused(&a, 401, refusal, "does not take our proofs");
    assert_int_equal(d.fetcher.count, count);
    desk_close(&d);
}

/* ---- its end ----------------------------------------------------------------------- */

static void
it_is_closed_in_every_state(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    for (int step = 0; step < 9; step++) {
        desk_open(&d);
        asker_init(&a, &d);
        if (step >= 1)
            (void)asker_signs(&a); /* 1: the store is asked */
        if (step >= 2)
            desk_run(&d);
        if (step >= 3) { /* 3: it begins */
            asker_has(&a, NULL);
            assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
        }
        if (step >= 4)
            desk_run(&d); /* 4: metadata */
        if (step >= 5)
            desk_discovers(&d); /* 5: a token is asked for */
        if (step >= 6)
            desk_gives(&d, "one", "more", 60); /* 6: there is one */
        if (step >= 7) {                       /* 7: the lock is asked for */
            desk_pass(&d, 50);
            assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
        }
        if (step >= 8)
            desk_run(&d); /* 8: it is renewed, under the lock */
        if (a.permit.waits)
            asker_leaves(&a);
        desk_close(&d);
        assert_int_equal(d.closed, 1);
    }
}

/* What a request brings that spends a refresh token is kept, though nobody waits. */
static void
it_is_closed_when_what_it_spends_is_spent(void **state)
{
    struct asker a;
    struct desk d;

    (void)state;
    for (int i = 0; i < 3; i++) {
        desk_open(&d);
        asker_init(&a, &d);
        desk_signs_in(&d, &a, "one", "more", 60);
        desk_pass(&d, 50);
        assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
        desk_run(&d);
        desk_posts(&d, "refresh_token=" SECRET "-more");
        asker_leaves(&a);
        mcpi_auth_client_close(d.client, desk_closed, &d);
        d.client = NULL;
        desk_run(&d);
        assert_int_equal(d.closed, 0);
        if (i == 0)
            desk_gives(&d, "two", "again", 60);
        else if (i == 1)
            desk_answer(&d, TOKENS, 400, "{\"error\":\"invalid_grant\"}");
        else
            desk_pass(&d, 2); /* not for ever */
        assert_int_equal(d.closed, 1);
        assert_int_equal(strstr(d.shelf.text, SECRET "-again") != NULL, i == 0);
        desk_close(&d);
    }
}

/* It was refused, and what would follow is a sign-in: for whom? */
static void
nobody_is_asked_to_sign_in_for_nobody(void **state)
{
    struct asker a;
    struct desk d;
    size_t count;

    (void)state;
    for (int i = 0; i < 2; i++) {
        desk_open(&d);
        asker_init(&a, &d);
        desk_signs_in(&d, &a, "one", "more", 3600);
        assert_int_equal(asker_hears(&a, 200, NULL), 0);
        asker_init(&a, &d);
        asker_has(&a, "one");
        assert_int_equal(asker_hears(&a, 401, UNAUTHORIZED), MCP_E_AGAIN);
        desk_discovers(&d);
        desk_posts(&d, "refresh_token=" SECRET "-more");
        asker_leaves(&a);
        if (i == 1) /* somebody else comes */
            assert_int_equal(asker_signs(&a), MCP_E_AGAIN);
        count = d.fetcher.count;
        desk_answer(&d, TOKENS, 400, "{\"error\":\"invalid_grant\"}");
        assert_int_equal(d.fetcher.count, count + (size_t)i);
        if (i == 0)
            desk_signs_in(&d, &a, "two", NULL, 3600);
        else
            asker_leaves(&a);
        desk_close(&d);
    }
}

static void
one_that_was_never_used_is_discarded(void **state)
{
    struct desk d;

    (void)state;
    desk_open(&d);
    mcpi_auth_client_discard(d.client);
    d.client = NULL;
    d.discarded = true;
    desk_close(&d);
}

/* ---- without memory ----------------------------------------------------------------- */

/* The issuer answers, as long as it is asked. */
static void
answer_all(struct desk *d)
{
    struct fake_fetch *fetch;

    desk_run(d);
    while (fake_open_count(&d->fetcher) > 0) {
        fetch = fake_last(&d->fetcher);
        if (strcmp(fetch->url, WELL_KNOWN) == 0)
            fake_answer(fetch, 200, "application/json", RESOURCE_DOCUMENT);
        else if (strcmp(fetch->url, ISSUER_WELL_KNOWN) == 0)
            fake_answer(fetch, 200, "application/json", ISSUER_DOCUMENT);
        else
            fake_answer(fetch, 200, "application/json",
                        strstr(fetch->body, "refresh_token") ? BOUND("two")
                                                             : BOUND("one"));
        desk_run(d);
    }
}

static void
flow_once(struct test_mem *mem, void *user)
{
    struct asker a;
    struct desk d;
    int r;

    (void)user;
    mem->secret = SECRET;
    if (desk_try(&d, mem, SERVER, PROGRAM(.dpop = true)) == 0) {
        asker_init(&a, &d);
        for (int i = 0; i < 2; i++) {
            r = asker_signs(&a);
            if (r == MCP_E_AGAIN)
                desk_run(&d);
            assert_true(r == 0 || r == MCP_E_AGAIN || r == MCP_E_NOMEM);
        }
        r = asker_hears(&a, 401, UNAUTHORIZED);
        if (r == MCP_E_AGAIN) {
            answer_all(&d);
            assert_false(a.permit.waits);
            assert_true(a.status == 0 || a.status == MCP_E_NOMEM ||
                        a.status == MCP_E_AUTH);
        }
        if (a.permit.waits)
            asker_leaves(&a);
        r = asker_signs(&a);
        assert_true(r == 0 || r == MCP_E_NOMEM || r == MCP_E_AGAIN);
        if (r == MCP_E_AGAIN) {
            desk_run(&d);
            assert_false(a.permit.waits);
        }
    }
    desk_close(&d);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow_once, NULL) > 20);
}

TEST_MAIN(TEST(refused_under_an_older_token_is_sent_again_at_once),
          TEST(who_leaves_before_it_is_sent_again_is_not_told),
          TEST(a_token_fresh_of_a_sign_in_that_is_refused_is_refused_for_good),
          TEST(a_fresh_token_that_is_refused_while_a_run_uses_it_waits_for_that),
          TEST(a_fresh_token_that_is_refused_while_it_is_renewed_waits_for_that),
          TEST(a_token_that_was_not_shown_was_not_refused),
          TEST(a_token_that_was_not_shown_was_not_accepted),
          TEST(a_refreshed_token_that_is_refused_is_not_refreshed_again),
          TEST(what_was_accepted_begins_anew),
          TEST(a_token_that_was_good_and_is_not_any_more_leads_to_another),
          TEST(refusals_have_an_end), TEST(more_is_asked_for_when_more_is_wanted),
          TEST(more_is_asked_for_whatever_was_refused),
          TEST(more_that_is_not_given_leaves_the_token_that_there_is),
          TEST(more_that_is_not_given_is_not_asked_for_again),
          TEST(more_is_asked_for_besides_what_another_was_given),
          TEST(a_403_that_names_nothing_new_is_refused_for_good),
          TEST(every_challenge_is_read), TEST(a_token_goes_to_its_own_server_only),
          TEST(a_far_server_without_TLS_gets_no_token),
          TEST(who_is_asked_may_be_as_near_as_the_server_and_no_nearer),
          TEST(a_bound_token_goes_with_a_proof),
          TEST(a_nonce_of_the_server_is_used_from_then_on),
          TEST(a_nonce_that_is_too_long_or_no_text_is_none),
          TEST(many_that_lack_the_same_nonce_are_all_sent_again),
          TEST(a_server_that_wants_ever_new_nonces_has_an_end),
          TEST(a_nonce_that_was_there_and_is_refused_is_a_refusal),
          TEST(a_proof_that_is_refused_is_made_once_more),
          TEST(it_is_closed_in_every_state),
          TEST(it_is_closed_when_what_it_spends_is_spent),
          TEST(nobody_is_asked_to_sign_in_for_nobody),
          TEST(one_that_was_never_used_is_discarded), TEST(each_allocation_may_fail))
