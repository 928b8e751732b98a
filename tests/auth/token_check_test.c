/* token_check_test.c - one request at the guard: what it brings, whether that will do */
#include <pthread.h>

#include "auth/watch.h"

/* ---- credentials ---------------------------------------------------------- */

static void
who_brings_nothing_is_told_where_to_get_it(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.scope = "mcp"));
    watch_begin(&w, NULL, NULL, NULL, MODERN_T, MODERN_CALL("1"));
    assert_non_null(strstr(w.v.text, "Unauthorized: a token is needed"));
    watch_refused(&w, 401, "Bearer scope=\"mcp\", " SAYS_DOCUMENT);
    watch_begin(&w, "Basic", "YTpi", NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(&w, 401, "Bearer scope=\"mcp\", " SAYS_DOCUMENT);
    assert_int_equal(w.f.served, 0);
    watch_close(&w);
}

static void
what_is_malformed_is_no_credential(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    watch_begin(&w, "Bearer", "a b", NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(&w, 400,
                  "Bearer error=\"invalid_request\", error_description=\"this is no "
                  "token\", " SAYS_DOCUMENT);
    watch_begin(&w, "Bearer", "a", NULL, MODERN_T "Authorization: Bearer a\n",
                MODERN_CALL("1"));
    watch_refused(&w, 400,
                  "Bearer error=\"invalid_request\", error_description=\"Authorization "
                  "stands twice\", " SAYS_DOCUMENT);
    watch_close(&w);
}

static void
a_token_in_the_url_is_none(void **state)
{
    struct token token;
    struct watch w;
    char target[256];

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    token_make(&token, HEAD_EC, "{'iss':'" ISSUER "'}", EC_PRIVATE);
    (void)snprintf(target, sizeof(target), "/mcp?access_token=%s", token.text.data);
    visit_init(&w.v, "POST", target, MODERN_T, MODERN_CALL("1"));
    visit_begin(&w.f, &w.v);
    watch_refused(&w, 401, "Bearer " SAYS_DOCUMENT);
    token_done(&token);
    watch_close(&w);
}

/* ---- enough ---------------------------------------------------------------- */

static void
a_good_token_lets_in_and_says_who(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    watch_lets_in(&w, ANN(",'scope':'read write'"));
    assert_string_equal(w.f.principal, ISSUER "|app|ann");
    assert_string_equal(w.f.scope, "read write");
    assert_string_equal(w.f.claim, "ann");
    watch_lets_in(&w, ANN(""));
    assert_string_equal(w.f.scope, "");
    watch_close(&w);
}

static void
a_broad_scope_has_the_narrow_ones(void **state)
{
    static const char *const implies[] = {"admin mcp tools:t", NULL};
    char seen[64] = "";
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.scope = "mcp", .needs = watch_needs, .user = seen,
                                 .implies = implies));
    watch_lets_in(&w, ANN(",'scope':'admin'"));
    assert_string_equal(w.f.scope, "admin mcp tools:t");
    watch_call(&w, HEAD_EC, ANN(",'scope':'mcp'"), EC_PRIVATE);
    watch_gives(&w, 403);
    watch_close(&w);
}

static void
a_long_body_is_read_once_the_token_is_good(void **state)
{
    char seen[64] = "-";
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.scope = "mcp", .needs = watch_needs, .user = seen));
    watch_call_long(&w, WITH("https://evil.test", "'x'", ""));
    watch_gives(&w, 401);
    assert_string_equal(seen, "-");
    watch_call_long(&w, ANN(",'scope':'mcp'"));
    assert_string_equal(seen, "tools/call t");
    watch_refused(&w, 403, SAYS_MISSING);
    watch_call_long(&w, ANN(",'scope':'tools:t'"));
    watch_refused(&w, 403, SAYS_MISSING);
    assert_int_equal(w.f.served, 0);
    watch_call_long(&w, ANN(",'scope':'mcp tools:t'"));
    watch_gives(&w, 200);
    assert_int_equal(w.f.served, 1);
    watch_close(&w);
}

/* ---- waiting for keys -------------------------------------------------------- */

static void
a_request_waits_for_keys(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_FETCHING);
    watch_call(&w, HEAD_EC, ANN(",'scope':'read'"), EC_PRIVATE);
    assert_int_equal(w.v.replies + w.v.opens, 0);
    assert_int_equal(w.fetcher.count, 1);
    watch_keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    assert_string_equal(w.f.principal, ISSUER "|app|ann");
    assert_string_equal(w.f.scope, "read");
    assert_string_equal(w.f.claim, "ann");
    watch_lets_in(&w, ANN("")); /* at once */
    assert_int_equal(w.fetcher.count, 1);
    watch_close(&w);
}

static void
a_long_body_that_waited_for_keys_is_read_too(void **state)
{
    char seen[64] = "-";
    struct watch w;

    (void)state;
    watch_open(&w, MCP_GUARD_OPTIONS(.jwks_uri = KEYS_URL, .scope = "mcp",
                                     .needs = watch_needs, .user = seen));
    watch_call_long(&w, ANN(",'scope':'mcp'"));
    assert_string_equal(seen, "-");
    assert_int_equal(atomic_load(&w.guard->waiting_bytes), 69999);
    watch_keys_come(&w, 200, SET_EC);
    watch_refused(&w, 403, SAYS_MISSING);
    assert_string_equal(seen, "tools/call t");
    assert_int_equal(atomic_load(&w.guard->waiting_bytes), 0);
    assert_int_equal(w.f.served, 0);
    watch_close(&w);
}

static void
many_wait_for_one_flight_and_some_leave(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    mcpi_turn_gone(&w.v.turn); /* the first one leaves */
    visit_done(&w.v);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    assert_int_equal(w.fetcher.count, 1);
    watch_keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    assert_int_equal(w.f.served, 1);
    assert_int_equal(atomic_load(&w.guard->waiting), 0);
    watch_close(&w);
}

static void
who_waits_when_the_guard_goes_is_told_so(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    w.f.http.identify = NULL;
    mcp_guard_free(w.guard);
    w.guard = NULL;
    front_run(&w.f);
    watch_gives(&w, 503);
    watch_close(&w);
}

static void
no_more_wait_than_there_is_room_for(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_FETCHING);
    atomic_store(&w.guard->waiting, MCPI_GUARD_WAITING_MAX);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_gives(&w, 503);
    assert_int_equal(atomic_load(&w.guard->waiting), MCPI_GUARD_WAITING_MAX);
    atomic_store(&w.guard->waiting, 0);
    atomic_store(&w.guard->waiting_bytes, MCPI_GUARD_WAITING_BYTES_MAX + 1);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_gives(&w, 503);
    assert_int_equal(atomic_load(&w.guard->waiting), 0);
    assert_int_equal(atomic_load(&w.guard->waiting_bytes),
                     MCPI_GUARD_WAITING_BYTES_MAX + 1);
    assert_int_equal(w.fetcher.count, 0);
    atomic_store(&w.guard->waiting_bytes, MCPI_GUARD_WAITING_BYTES_MAX);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200); /* one may be longer than all are meant to be */
    atomic_store(&w.guard->waiting_bytes, 0);
    watch_close(&w);
}

static void
a_token_that_waited_leaves_no_copy(void **state)
{
    struct token token;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_FETCHING);
    token_make(&token, HEAD_EC, ANN(""), EC_PRIVATE);
    w.mem->secret = w.f.mem->secret = token.text.data;
    watch_begin(&w, "Bearer", token.text.data, NULL, MODERN_T, MODERN_CALL("1"));
    watch_keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    watch_close(&w);
    token_done(&token);
}

/* ---- a verifier of the program's ---------------------------------------------- */

struct verifier {
    mcp_token_check *check; /* that was asked for last */
    char token[64];
    bool now;
    mcp_identity identity;
};

static void
verify(void *user, const char *token, mcp_token_check *check)
{
    struct verifier *v = user;

    (void)snprintf(v->token, sizeof(v->token), "%s", token);
    v->check = check;
    if (v->now)
        mcp_token_accept(check, &v->identity);
}

#define VERIFYING(v, ...) \
    MCP_GUARD_OPTIONS(.verify = verify, .verify_user = (v), __VA_ARGS__)

static void
opaque(struct watch *w, const char *scheme)
{
    watch_begin(w, scheme, "opaque", NULL, MODERN_T, MODERN_CALL("1"));
}

static void
a_verifier_accepts_at_once_or_later(void **state)
{
    struct verifier v = {.now = true};
    struct watch w;

    (void)state;
    v.identity = MCP_IDENTITY(.principal = "ann", .scope = "read",
                              .claims = "{\"who\":\"Ann\"}");
    watch_open(&w, VERIFYING(&v, .scope = "read"));
    opaque(&w, "Bearer");
    watch_gives(&w, 200);
    assert_string_equal(v.token, "opaque");
    assert_string_equal(w.f.principal, "ann");
    assert_string_equal(w.f.scope, "read");
    assert_string_equal(w.f.claim, "Ann");
    v.now = false;
    opaque(&w, "Bearer");
    assert_int_equal(w.v.replies, 0);
    mcp_token_accept(v.check, &v.identity);
    front_run(&w.f);
    watch_gives(&w, 200);
    v.identity.scope = "write";
    opaque(&w, "Bearer");
    mcp_token_accept(v.check, &v.identity);
    front_run(&w.f);
    watch_gives(&w, 403);
    watch_close(&w);
}

static void
a_verifier_is_asked_before_a_long_body_is_read(void **state)
{
    struct verifier v = {0};
    char seen[64] = "-";
    struct watch w;

    (void)state;
    watch_open(&w, VERIFYING(&v, .scope = "mcp", .needs = watch_needs, .user = seen));
    for (int i = 0; i < 4; i++) {
        v.now = i % 2 == 0;
        v.identity = MCP_IDENTITY(.principal = "ann",
                                  .scope = i < 2 ? "mcp" : "mcp tools:t");
        watch_call_long(&w, ANN(""));
        if (!v.now) {
            assert_string_equal(seen, "-");
            mcp_token_accept(v.check, &v.identity);
        }
        front_run(&w.f);
        assert_string_equal(seen, "tools/call t");
        watch_gives(&w, i < 2 ? 403 : 200);
        strcpy(seen, "-");
    }
    watch_call_long(&w, ANN(""));
    mcp_token_reject(v.check, NULL);
    front_run(&w.f);
    watch_gives(&w, 401);
    assert_string_equal(seen, "-");
    watch_close(&w);
}

static void
a_verifier_rejects_or_cannot_tell(void **state)
{
    struct verifier v = {0};
    struct watch w;

    (void)state;
    watch_open(&w, VERIFYING(&v, .name = "x"));
    opaque(&w, "Bearer");
    mcp_token_reject(v.check, "it was \"revoked\"");
    front_run(&w.f);
    watch_refused(&w, 401,
                  "Bearer error=\"invalid_token\", error_description=\"it was "
                  "'revoked'\", " SAYS_DOCUMENT);
    opaque(&w, "Bearer");
    mcp_token_reject(v.check, NULL);
    front_run(&w.f);
    watch_refused(
        &w, 401,
        "Bearer error=\"invalid_token\", error_description=\"the token is not "
        "good\", " SAYS_DOCUMENT);
    opaque(&w, "Bearer");
    mcp_token_fail(v.check);
    front_run(&w.f);
    watch_gives(&w, 503);
    mcp_token_accept(NULL, NULL);
    mcp_token_reject(NULL, NULL);
    mcp_token_fail(NULL);
    watch_close(&w);
}

static void
an_identity_of_nobody_lets_nobody_in(void **state)
{
    static const mcp_identity rows[] = {
        {.size = 1, .principal = "ann"},
        {.size = sizeof(mcp_identity)},
        {.size = sizeof(mcp_identity), .principal = ""},
        {.size = sizeof(mcp_identity), .principal = "ann", .key = ""},
        {.size = sizeof(mcp_identity), .principal = "ann", .claims = "7"},
        {.size = sizeof(mcp_identity), .principal = "ann", .claims = "{"},
    };
    struct verifier v = {0};
    struct watch w;

    (void)state;
    watch_open(&w, VERIFYING(&v, .name = "x"));
    for (size_t i = 0; i <= sizeof(rows) / sizeof(rows[0]); i++) {
        opaque(&w, "Bearer");
        mcp_token_accept(v.check, i == 0 ? NULL : &rows[i - 1]);
        front_run(&w.f);
        watch_gives(&w, 500);
    }
    watch_close(&w);
}

static void *
accept_on_a_thread(void *user)
{
    struct verifier *v = user;

    mcp_token_accept(v->check, &v->identity);
    return NULL;
}

static void
a_verdict_may_come_late_from_anywhere(void **state)
{
    struct verifier v = {0};
    pthread_t thread;
    struct watch w;

    (void)state;
    v.identity = MCP_IDENTITY(.principal = "ann");
    watch_open(&w, VERIFYING(&v, .name = "x"));
    opaque(&w, "Bearer");
    assert_int_equal(pthread_create(&thread, NULL, accept_on_a_thread, &v), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    front_run(&w.f);
    watch_gives(&w, 200);
    opaque(&w, "Bearer");
    mcpi_turn_gone(&w.v.turn);
    mcp_token_accept(v.check, &v.identity); /* the client has left */
    visit_done(&w.v);
    opaque(&w, "Bearer");
    mcpi_turn_gone(&w.v.turn);
    visit_done(&w.v);
    w.f.http.identify = NULL;
    mcp_guard_free(w.guard);
    w.guard = NULL;
    mcp_token_accept(v.check, &v.identity); /* and so has the guard */
    watch_close(&w);
}

static void
a_verifier_says_which_key_a_token_is_bound_to(void **state)
{
    struct verifier v = {.now = true};
    struct proof p;
    struct watch w;

    (void)state;
    v.identity = MCP_IDENTITY(.principal = "ann", .key = THUMB);
    watch_open(&w, VERIFYING(&v, .name = "x"));
    proof_init(&p, &w, "opaque");
    watch_begin(&w, "DPoP", "opaque", proof_write(&p, EC_PRIVATE), MODERN_T,
                MODERN_CALL("1"));
    watch_gives(&w, 200);
    opaque(&w, "Bearer");
    watch_gives(&w, 401);
    opaque(&w, "DPoP");
    watch_gives(&w, 401);
    mcpi_buf_done(&p.text);
    watch_close(&w);
}

/* ---- sessions ----------------------------------------------------------------- */

static void
post_as(struct watch *w, struct visit *v, const char *claims, const char *headers,
        const char *body)
{
    struct token token;

    token_make(&token, HEAD_EC, claims, EC_PRIVATE);
    (void)snprintf(w->headers, sizeof(w->headers), "%sAuthorization: Bearer %s\n",
                   headers, token.text.data);
    front_post(&w->f, v, w->headers, body);
    token_done(&token);
}

#define BOB CLAIMS_OF("bob", "")
#define ANN_REFRESHED CLAIMS_OF("ann", ",'jti':'refreshed','scope':'more'")

static void
D20_a_cancel_by_another_credential_cancels_nothing(void **state)
{
    char session[128], headers[512];
    struct visit held, v;
    const char *at;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    post_as(&w, &v, ANN(""), PLAIN, HELLO);
    at = strstr(v.said, "Mcp-Session-Id: ");
    assert_non_null(at);
    (void)snprintf(session, sizeof(session), "%.*s\n", (int)strcspn(at, "\n"), at);
    visit_done(&v);
    front_with(headers, sizeof(headers), PLAIN, session);
    post_as(&w, &held, ANN(""), headers, LEGACY_HOLD("1"));
    assert_int_equal(w.f.job_count, 1);
    post_as(&w, &v, BOB, headers, CANCEL("1")); /* who is as welcome as ann */
    assert_int_equal(v.status, 404);
    visit_done(&v);
    assert_int_equal(w.f.told, 0);
    post_as(&w, &v, BOB, PLAIN, HELLO);
    assert_int_equal(v.status, 200);
    visit_done(&v);
    post_as(&w, &v, ANN_REFRESHED, headers, CANCEL("1")); /* ann, with a new token */
    assert_int_equal(v.status, 202);
    visit_done(&v);
    assert_int_equal(w.f.canceled, 1);
    visit_done(&held);
    watch_close(&w);
}

/* A session of who is let in by that verifier: its header. */
static void
watch_greet(struct watch *w, char session[128])
{
    const char *at;

    watch_begin(w, "Bearer", "opaque", NULL, PLAIN, HELLO);
    at = strstr(w->v.said, "Mcp-Session-Id: ");
    assert_non_null(at);
    (void)snprintf(session, 128, "%.*s\n", (int)strcspn(at, "\n"), at);
    watch_gives(w, 200);
}

static void
D17_a_session_ends_though_its_client_leaves_while_the_token_is_checked(void **state)
{
    struct verifier v = {.now = true, .identity = MCP_IDENTITY(.principal = "ann")};
    char session[128], headers[512];
    struct visit held;
    struct watch w;

    (void)state;
    watch_open(&w, VERIFYING(&v, .name = "x"));
    watch_greet(&w, session);
    (void)snprintf(headers, sizeof(headers), PLAIN "%sAuthorization: Bearer opaque\n",
                   session);
    front_post(&w.f, &held, headers, LEGACY_HOLD("1"));
    assert_int_equal(w.f.job_count, 1);
    v.now = false;
    front_ask(&w.f, &w.v, "DELETE", headers, NULL);
    mcpi_turn_gone(&w.v.turn);
    mcp_token_accept(v.check, &v.identity);
    front_run(&w.f);
    assert_int_equal(w.f.canceled, 1);
    assert_int_equal(w.v.replies, 0);
    visit_done(&w.v);
    visit_done(&held);
    watch_close(&w);
}

/* ---- memory ------------------------------------------------------------------- */

static void
ask_once(struct test_mem *mem, void *user)
{
    struct watch w;

    if (watch_try(&w, mem, *(mcp_guard_options *)user) == 0) {
        watch_call(&w, HEAD_EC, ANN(",'scope':'mcp tools:t'"), EC_PRIVATE);
        if (fake_open_count(&w.fetcher) > 0)
            watch_keys_come(&w, 200, SET_EC);
        assert_int_equal(w.v.replies + w.v.ends, 1);
        visit_done(&w.v);
    }
    watch_close(&w);
}

static void
want_of_memory_costs_one_request(void **state)
{
    char seen[64];
    mcp_guard_options fixed = WATCH_OPTIONS(.needs = watch_needs, .user = seen);
    mcp_guard_options fetching = WATCH_FETCHING;

    (void)state;
    assert_true(test_each_allocation_fails(ask_once, &fixed) > 10);
    assert_true(test_each_allocation_fails(ask_once, &fetching) > 10);
}

TEST_MAIN(
    TEST(who_brings_nothing_is_told_where_to_get_it),
    TEST(what_is_malformed_is_no_credential), TEST(a_token_in_the_url_is_none),
    TEST(a_good_token_lets_in_and_says_who), TEST(a_broad_scope_has_the_narrow_ones),
    TEST(a_long_body_is_read_once_the_token_is_good), TEST(a_request_waits_for_keys),
    TEST(a_long_body_that_waited_for_keys_is_read_too),
    TEST(many_wait_for_one_flight_and_some_leave),
    TEST(who_waits_when_the_guard_goes_is_told_so),
    TEST(no_more_wait_than_there_is_room_for), TEST(a_token_that_waited_leaves_no_copy),
    TEST(a_verifier_accepts_at_once_or_later),
    TEST(a_verifier_is_asked_before_a_long_body_is_read),
    TEST(a_verifier_rejects_or_cannot_tell), TEST(an_identity_of_nobody_lets_nobody_in),
    TEST(a_verdict_may_come_late_from_anywhere),
    TEST(a_verifier_says_which_key_a_token_is_bound_to),
    TEST(D20_a_cancel_by_another_credential_cancels_nothing),
    TEST(D17_a_session_ends_though_its_client_leaves_while_the_token_is_checked),
    TEST(want_of_memory_costs_one_request))
