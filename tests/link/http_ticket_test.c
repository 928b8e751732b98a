/* http_ticket_test.c - who asks: told at once, later, by another thread, or never */
#include <pthread.h>

#include "link/http_door.h"

static void
an_answer_at_once_costs_no_copy(void **state)
{
    struct door d;
    struct visit v;

    (void)state;
    door_open(&d);
    d.now = true;
    d.principal = "alice";
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    assert_int_equal(d.asked, 1);
    assert_int_equal(v.status, 200);
    assert_string_equal(d.f.principal, "alice");
    visit_done(&v);
    d.principal = NULL;
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    assert_int_equal(v.status, 200);
    assert_string_equal(d.f.principal, "");
    visit_done(&v);
    front_close(&d.f);
}

static void
a_later_answer_serves_what_was_copied(void **state)
{
    struct door d;
    struct visit v;

    (void)state;
    door_open(&d);
    d.principal = "bob";
    visit_init(&v, "POST", "/mcp", MODERN_T, MODERN_CALL("1"));
    visit_begin(&d.f, &v);
    /* What the carrier lent is no longer there. */
    memset(v.headers, 'x', sizeof v.headers);
    memset(v.fields, 0, sizeof v.fields);
    memset(v.target, 'x', sizeof v.target);
    v.in.body = NULL;
    front_run(&d.f);
    assert_int_equal(d.f.served, 0);
    door_answer(&d);
    assert_int_equal(d.f.served, 0); /* by a post, not from inside */
    front_run(&d.f);
    assert_int_equal(v.status, 200);
    assert_string_equal(d.f.principal, "bob");
    visit_done(&v);
    front_close(&d.f);
}

static void *
answer_on_a_thread(void *user)
{
    door_answer(user);
    return NULL;
}

static void
an_answer_may_come_from_any_thread(void **state)
{
    pthread_t thread;
    struct door d;
    struct visit v;

    (void)state;
    door_open(&d);
    d.principal = "carol";
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    assert_int_equal(pthread_create(&thread, NULL, answer_on_a_thread, &d), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    front_run(&d.f);
    assert_int_equal(v.status, 200);
    assert_string_equal(d.f.principal, "carol");
    visit_done(&v);
    front_close(&d.f);
}

static void
deny_says_status_challenge_and_why(void **state)
{
    struct door d;
    struct visit v;

    (void)state;
    for (int now = 0; now < 2; now++) {
        door_open(&d);
        d.now = now;
        d.deny = 401;
        d.challenge = "Bearer realm=\"mcp\"";
        d.message = "Who are you?";
        front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
        if (!now)
            door_answer(&d);
        front_run(&d.f);
        assert_int_equal(v.status, 401);
        assert_true(visit_says(&v, "WWW-Authenticate: Bearer realm=\"mcp\"\n"));
        assert_non_null(strstr(v.text, "Who are you?"));
        assert_int_equal(visit_code(&v), -32600);
        visit_assert_id(&v, NULL);
        assert_int_equal(d.f.served, 0);
        visit_done(&v);
        front_close(&d.f);
    }
}

static void
what_no_header_can_say_is_left_out(void **state)
{
    struct door d;
    struct visit v;

    (void)state;
    door_open(&d);
    d.now = true;
    d.deny = 503;
    d.challenge = "Bearer\r\nSet-Cookie: a=b";
    d.message = "not \xff UTF-8\n";
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    assert_int_equal(v.status, 503);
    assert_false(visit_says(&v, "WWW-Authenticate"));
    assert_true(visit_says(&v, "Retry-After"));
    assert_non_null(strstr(v.text, "not ? UTF-8?"));
    visit_done(&v);
    d.challenge = "Basic";
    d.message = NULL;
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    assert_true(visit_says(&v, "WWW-Authenticate: Basic\n"));
    assert_true(visit_says(&v, "Retry-After"));
    visit_done(&v);
    d.deny = 200; /* nobody is let in by that */
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    assert_int_equal(v.status, 403);
    visit_done(&v);
    front_close(&d.f);
}

static void
a_name_that_is_too_long_is_not_cut(void **state)
{
    char longest[1100];
    struct door d;
    struct visit v;

    (void)state;
    door_open(&d);
    memset(longest, 'a', sizeof longest);
    longest[1025] = '\0';
    d.now = true;
    d.principal = longest;
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    assert_int_equal(v.status, 500);
    visit_done(&v);
    longest[1024] = '\0';
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    assert_int_equal(v.status, 200);
    visit_done(&v);
    front_close(&d.f);
}

static void
an_identity_goes_along_with_its_request(void **state)
{
    const mcp_identity ann = MCP_IDENTITY(.principal = "ann", .scope = "read write",
                                          .claims = "{\"who\":\"Ann\"}");
    struct door d;
    struct visit v;

    (void)state;
    for (int now = 0; now < 2; now++) {
        door_open(&d);
        d.now = now;
        d.identity = &ann;
        front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
        if (!now)
            door_answer(&d);
        front_run(&d.f);
        assert_int_equal(v.status, 200);
        assert_string_equal(d.f.principal, "ann");
        assert_string_equal(d.f.scope, "read write");
        assert_string_equal(d.f.claim, "Ann");
        visit_done(&v);
        front_close(&d.f);
    }
}

static void
an_identity_of_nobody_lets_nobody_in(void **state)
{
    static const mcp_identity rows[] = {
        {.size = 1, .principal = "ann"},
        {.size = sizeof(mcp_identity)},
        {.size = sizeof(mcp_identity), .principal = ""},
        {.size = sizeof(mcp_identity), .principal = "ann", .key = "thumb"},
        {.size = sizeof(mcp_identity), .principal = "ann", .claims = "[]"},
        {.size = sizeof(mcp_identity), .principal = "ann", .claims = "{"},
    };
    struct door d;
    struct visit v;

    (void)state;
    door_open(&d);
    d.now = true;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        d.identity = &rows[i];
        front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
        assert_int_equal(v.status, 500);
        assert_int_equal(d.f.served, 0);
        visit_done(&v);
    }
    mcp_http_allow_identity(NULL, &rows[0]);
    front_close(&d.f);
}

static void
look(void *user, const mcp_http_request *request, const char *scope,
     mcp_http_ticket *ticket)
{
    struct door *d = user;

    d->looked++;
    assert_string_equal(request->method, "POST");
    assert_int_equal(request->body_length, strlen(MODERN_CALL("1")));
    assert_memory_equal(request->body, MODERN_CALL("1"), request->body_length);
    if (strcmp(scope, "read") != 0)
        mcpi_http_ticket_veto(ticket, 403, "Bearer x=\"y\"", "Forbidden: read");
}

static void
what_is_allowed_may_have_a_last_look(void **state)
{
    mcp_identity who = MCP_IDENTITY(.principal = "ann", .scope = "read");
    struct door d;
    struct visit v;

    (void)state;
    door_open(&d);
    d.identity = &who;
    d.last = look;
    for (int i = 0; i < 6; i++) {
        d.now = i % 2 == 0; /* else with what was copied */
        who.scope = i < 2 ? "read" : NULL;
        who.principal = i < 4 ? "ann" : NULL; /* what is denied is not looked at */
        front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
        if (!d.now)
            door_answer(&d);
        front_run(&d.f);
        assert_int_equal(v.status, i < 2 ? 200 : i < 4 ? 403 : 500);
        assert_int_equal(visit_says(&v, "WWW-Authenticate: Bearer x=\"y\"\n"),
                         i >= 2 && i < 4);
        visit_done(&v);
    }
    assert_int_equal(d.looked, 4);
    assert_int_equal(d.f.served, 2);
    front_close(&d.f);
}

static void
a_nonce_is_said_whatever_the_answer_is(void **state)
{
    struct door d;
    struct visit v;

    (void)state;
    door_open(&d);
    d.now = true;
    d.nonce = "n1";
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    assert_int_equal(v.status, 200);
    assert_true(visit_says(&v, "DPoP-Nonce: n1\n"));
    visit_done(&v);
    d.deny = 401;
    d.nonce = "n2";
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    assert_int_equal(v.status, 401);
    assert_true(visit_says(&v, "DPoP-Nonce: n2\n"));
    visit_done(&v);
    d.nonce = "a-nonce-that-is-longer-than-any-of-ours-can-be";
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    assert_false(visit_says(&v, "DPoP-Nonce"));
    visit_done(&v);
    front_close(&d.f);
}

/* ---- sessions belong to somebody ----------------------------------------- */

static void
door_post_as(struct door *d, struct visit *v, const char *who, const char *headers,
             const char *body)
{
    d->now = true;
    d->principal = who;
    front_post(&d->f, v, headers, body);
}

static void
D20_a_session_is_found_by_its_own_principal_only(void **state)
{
    char session[128], headers[1024];
    struct visit v, held;
    struct door d;

    (void)state;
    door_open(&d);
    d.now = true;
    d.principal = "alice";
    front_hello(&d.f, session);
    front_with(headers, sizeof headers, PLAIN, session);
    door_post_as(&d, &held, "alice", headers, LEGACY_HOLD("1"));
    assert_int_equal(d.f.job_count, 1);
    assert_string_equal(d.f.principal, "alice");
    door_post_as(&d, &v, "bob", headers, CANCEL("1"));
    assert_int_equal(v.status, 404);
    visit_done(&v);
    door_post_as(&d, &v, "", headers, CANCEL("1"));
    assert_int_equal(v.status, 404);
    visit_done(&v);
    assert_int_equal(d.f.told, 0);
    door_post_as(&d, &v, "alice", headers, CANCEL("1"));
    assert_int_equal(v.status, 202);
    assert_int_equal(d.f.canceled, 1);
    visit_done(&v);
    visit_done(&held);
    front_close(&d.f);
}

/* ---- memory ----------------------------------------------------- */

static void
ask_with(struct test_mem *mem, void *user)
{
    struct door d;
    struct visit v;

    door_init(&d);
    d.f.mem = mem;
    d.now = *(bool *)user;
    if (front_try_open(&d.f) == 0) {
        front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
        if (d.ticket)
            door_answer(&d);
        front_run(&d.f);
        assert_int_equal(v.replies + v.ends + v.aborts, 1);
        visit_done(&v);
    }
    front_close(&d.f);
}

static void
want_of_memory_costs_one_request(void **state)
{
    bool now = true;

    (void)state;
    test_each_allocation_fails(ask_with, &now);
    now = false;
    test_each_allocation_fails(ask_with, &now);
}

TEST_MAIN(TEST(an_answer_at_once_costs_no_copy),
          TEST(a_later_answer_serves_what_was_copied),
          TEST(an_answer_may_come_from_any_thread),
          TEST(deny_says_status_challenge_and_why),
          TEST(what_no_header_can_say_is_left_out),
          TEST(a_name_that_is_too_long_is_not_cut),
          TEST(an_identity_goes_along_with_its_request),
          TEST(an_identity_of_nobody_lets_nobody_in),
          TEST(what_is_allowed_may_have_a_last_look),
          TEST(a_nonce_is_said_whatever_the_answer_is),
          TEST(D20_a_session_is_found_by_its_own_principal_only),
          TEST(want_of_memory_costs_one_request))
