/* http_ticket_test.c - who asks: told at once, later, by another thread, or never */
#include <mcp/auth.h>
#include <pthread.h>

#include "link/http_front.h"

struct door {
    struct front f;
    mcp_http_ticket *ticket; /* that was asked last and is not answered */
    int asked;
    bool now; /* answer from inside the hook */
    const char *principal;
    const mcp_identity *identity; /* instead; NULL: none */
    const char *nonce;            /* NULL: none */
    int deny;                     /* 0: allow */
    const char *challenge, *message;
    mcpi_http_last_fn *last; /* NULL: none */
    int looked;              /* last, so often */
};

static void
door_answer(struct door *d)
{
    mcp_http_ticket *ticket = d->ticket;

    d->ticket = NULL;
    if (d->nonce)
        mcpi_http_ticket_set_nonce(ticket, d->nonce);
    if (d->last)
        mcpi_http_ticket_set_last(ticket, d->last, d);
    if (d->identity)
        mcp_http_allow_identity(ticket, d->identity);
    else if (d->deny == 0)
        mcp_http_allow(ticket, d->principal);
    else
        mcp_http_deny(ticket, d->deny, d->challenge, d->message);
}

static void
on_identify(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    struct door *d = user;

    d->asked++;
    d->ticket = ticket;
    assert_string_equal(request->method, "POST");
    assert_string_equal(request->target, "/mcp");
    assert_non_null(mcp_http_header(request, "host"));
    assert_true(request->body_length > 0);
    if (d->now)
        door_answer(d);
}

static void
door_init(struct door *d)
{
    memset(d, 0, sizeof *d);
    front_init(&d->f);
    d->f.http.identify = on_identify;
    d->f.http.identify_user = d;
}

static void
door_open(struct door *d)
{
    door_init(d);
    front_open(&d->f);
}

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

static void
E20_a_client_that_leaves_while_it_is_asked_is_not_served(void **state)
{
    struct door d;
    struct visit v;

    (void)state;
    door_open(&d);
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    mcpi_turn_gone(&v.turn);
    assert_true(mcpi_list_empty(&d.f.endpoint->tickets));
    front_run(&d.f);
    door_answer(&d);
    front_run(&d.f);
    assert_int_equal(v.replies, 0);
    assert_int_equal(d.f.served, 0);
    visit_done(&v);
    front_close(&d.f);
}

static void
E20_a_client_may_leave_while_the_answer_comes_home(void **state)
{
    struct door d;
    struct visit v;

    (void)state;
    door_open(&d);
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    door_answer(&d);
    mcpi_turn_gone(&v.turn);
    front_run(&d.f);
    assert_int_equal(v.replies, 0);
    assert_int_equal(d.f.served, 0);
    assert_true(mcpi_list_empty(&d.f.endpoint->tickets));
    visit_done(&v);
    front_close(&d.f);
}

/* ---- who leaves, and has said something to a session ----------------------- */

/* alice has a session, and a request held in it: the headers of her next one. */
static void
door_hold(struct door *d, struct visit *held, char headers[1024])
{
    char session[128];

    door_open(d);
    d->now = true;
    d->principal = "alice";
    front_hello(&d->f, session);
    front_with(headers, 1024, PLAIN, session);
    front_post(&d->f, held, headers, LEGACY_HOLD("1"));
    assert_int_equal(d->f.job_count, 1);
    d->now = false;
}

/* It comes, its client leaves, and then it is known that it was who. */
static void
door_post_and_leave(struct door *d, const char *who, const char *headers,
                    const char *body)
{
    struct visit v;

    d->principal = who;
    front_post(&d->f, &v, headers, body);
    mcpi_turn_gone(&v.turn);
    front_run(&d->f);
    door_answer(d);
    front_run(&d->f);
    assert_int_equal(v.replies + v.opens + v.ends + v.aborts, 0);
    assert_true(mcpi_list_empty(&d->f.endpoint->tickets));
    visit_done(&v);
}

static void
D13_a_cancel_counts_though_its_client_leaves_while_it_is_asked(void **state)
{
    char headers[1024];
    struct visit held;
    struct door d;

    (void)state;
    door_hold(&d, &held, headers);
    door_post_and_leave(&d, "bob", headers, CANCEL("1")); /* D20 */
    d.deny = 401;
    door_post_and_leave(&d, "alice", headers, CANCEL("1"));
    d.deny = 0;
    assert_int_equal(d.f.told, 0);
    door_post_and_leave(&d, "alice", headers, CANCEL("1"));
    assert_int_equal(d.f.canceled, 1);
    visit_done(&held);
    front_close(&d.f);
}

static void
D13_a_cancel_counts_though_its_client_leaves_while_the_answer_comes(void **state)
{
    struct visit held, v;
    char headers[1024];
    struct door d;

    (void)state;
    door_hold(&d, &held, headers);
    front_post(&d.f, &v, headers, CANCEL("1"));
    door_answer(&d);
    mcpi_turn_gone(&v.turn);
    front_run(&d.f);
    assert_int_equal(d.f.canceled, 1);
    visit_done(&v);
    visit_done(&held);
    front_close(&d.f);
}

/* Nobody is left who would want it, and nobody could cancel what did not begin. */
static void
D22_a_request_is_not_served_though_it_names_a_session(void **state)
{
    char headers[1024];
    struct visit held;
    struct door d;

    (void)state;
    door_hold(&d, &held, headers);
    door_post_and_leave(&d, "alice", headers, LEGACY_HOLD("2"));
    assert_int_equal(d.f.job_count, 1);
    mcpi_turn_gone(&held.turn);
    visit_done(&held);
    front_close(&d.f);
}

/* Nobody keeps what a stranger has sent by naming a session that is none. */
static void
what_is_said_to_no_session_is_forgotten_with_its_client(void **state)
{
    struct door d;
    struct visit v;

    (void)state;
    door_open(&d);
    d.principal = "alice";
    front_post(&d.f, &v, PLAIN "Mcp-Session-Id: 0-00000000000000000000000000000000\n",
               CANCEL("1"));
    mcpi_turn_gone(&v.turn);
    assert_true(mcpi_list_empty(&d.f.endpoint->tickets));
    door_answer(&d);
    front_run(&d.f);
    assert_int_equal(v.replies, 0);
    visit_done(&v);
    front_close(&d.f);
}

static void
a_server_that_stops_waits_for_no_cancel_whose_client_has_left(void **state)
{
    struct visit held, v;
    char headers[1024];
    struct door d;

    (void)state;
    door_hold(&d, &held, headers);
    front_post(&d.f, &v, headers, CANCEL("1"));
    mcpi_turn_gone(&v.turn);
    assert_false(mcpi_list_empty(&d.f.endpoint->tickets));
    mcpi_endpoint_close(d.f.endpoint);
    assert_true(mcpi_list_empty(&d.f.endpoint->tickets));
    door_answer(&d);
    front_run(&d.f);
    visit_done(&v);
    mcpi_turn_gone(&held.turn);
    visit_done(&held);
    front_close(&d.f);
}

/* ---- its end --------------------------------------------------------------- */

static void
a_server_that_stops_does_not_wait_for_a_name(void **state)
{
    struct test_mem mem;
    struct door d;
    struct visit v;

    (void)state;
    test_mem_init(&mem);
    door_init(&d);
    d.f.mem = &mem;
    front_open(&d.f);
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    mcpi_endpoint_close(d.f.endpoint);
    assert_int_equal(v.status, 503);
    assert_true(visit_says(&v, "Retry-After"));
    front_run(&d.f);
    assert_int_equal(d.f.closed, 1);
    front_close(&d.f);
    assert_int_equal(mem.live, 1);
    door_answer(&d); /* nothing else is left that it could touch */
    test_mem_done(&mem);
    visit_done(&v);
}

/* A cancel still reaches its session then, so its client is asked too. */
static void
a_server_that_stops_does_not_wait_for_the_name_of_who_comes_later(void **state)
{
    struct test_mem mem;
    struct door d;
    struct visit v;

    (void)state;
    test_mem_init(&mem);
    door_init(&d);
    d.f.mem = &mem;
    front_open(&d.f);
    mcpi_endpoint_close(d.f.endpoint);
    visit_init(&v, "POST", "/mcp", MODERN_T, MODERN_CALL("1"));
    visit_begin(&d.f, &v);
    assert_int_equal(d.asked, 1);
    assert_int_equal(v.replies, 0);
    front_run(&d.f);
    assert_int_equal(v.status, 503);
    assert_int_equal(d.f.closed, 1);
    visit_done(&v);
    front_close(&d.f);
    door_answer(&d);
    test_mem_done(&mem);
}

static void
a_server_that_stops_waits_for_an_answer_on_its_way(void **state)
{
    struct door d;
    struct visit v;

    (void)state;
    door_open(&d);
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    door_answer(&d);
    mcpi_endpoint_close(d.f.endpoint);
    assert_int_equal(v.status, 503);
    front_run(&d.f);
    assert_int_equal(d.f.closed, 1);
    assert_int_equal(d.f.served, 0);
    visit_done(&v);
    front_close(&d.f);
}

static void
on_identify_and_close(void *user, const mcp_http_request *request,
                      mcp_http_ticket *ticket)
{
    struct door *d = user;

    (void)request;
    mcpi_endpoint_close(d->f.endpoint);
    mcp_http_allow(ticket, "late");
}

static void
a_hook_may_stop_the_server(void **state)
{
    struct door d;
    struct visit v;

    (void)state;
    door_init(&d);
    d.f.http.identify = on_identify_and_close;
    front_open(&d.f);
    front_post(&d.f, &v, MODERN_T, MODERN_CALL("1"));
    assert_int_equal(v.status, 503);
    assert_int_equal(d.f.closed, 1);
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

/* ---- memory, threads ----------------------------------------------------- */

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

/* A thread that answers what it is given, at whatever moment that is. */
struct clerk {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    mcp_http_ticket *ticket; /* under lock */
    bool done;               /* likewise */
};

static void *
clerk_run(void *user)
{
    struct clerk *c = user;
    mcp_http_ticket *ticket;

    pthread_mutex_lock(&c->lock);
    while (!c->done || c->ticket) {
        ticket = c->ticket;
        c->ticket = NULL;
        if (!ticket) {
            pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        pthread_mutex_unlock(&c->lock);
        mcp_http_allow(ticket, "clerk");
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void
on_identify_by_clerk(void *user, const mcp_http_request *request,
                     mcp_http_ticket *ticket)
{
    struct clerk *c = user;

    (void)request;
    pthread_mutex_lock(&c->lock);
    assert_null(c->ticket);
    c->ticket = ticket;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void
clerk_wait(struct clerk *c)
{
    bool taken = false;

    while (!taken) {
        pthread_mutex_lock(&c->lock);
        taken = !c->ticket;
        pthread_mutex_unlock(&c->lock);
    }
}

static void
E20_leaving_and_answering_may_meet_anywhere(void **state)
{
    struct clerk c = {.lock = PTHREAD_MUTEX_INITIALIZER,
                      .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    struct front f;
    struct visit v;
    int64_t until;

    (void)state;
    front_init(&f);
    f.http.identify = on_identify_by_clerk;
    f.http.identify_user = &c;
    front_open(&f);
    assert_int_equal(pthread_create(&thread, NULL, clerk_run, &c), 0);
    for (int i = 0; i < 2000; i++) {
        visit_init(&v, "POST", "/mcp", MODERN_T, MODERN_CALL("1"));
        visit_begin(&f, &v);
        if (i % 2 == 0)
            mcpi_turn_gone(&v.turn);
        clerk_wait(&c);
        until = mcpi_loop_clock() + 20 * SECOND;
        while (!v.replies && v.turn.served && mcpi_loop_clock() < until)
            assert_int_equal(mcpi_loop_step(f.loop), 0);
        front_run(&f);
        visit_done(&v);
    }
    pthread_mutex_lock(&c.lock);
    c.done = true;
    pthread_cond_signal(&c.changed);
    pthread_mutex_unlock(&c.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    front_run(&f);
    assert_true(f.served >= 1000);
    front_close(&f);
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
          TEST(E20_a_client_that_leaves_while_it_is_asked_is_not_served),
          TEST(E20_a_client_may_leave_while_the_answer_comes_home),
          TEST(D13_a_cancel_counts_though_its_client_leaves_while_it_is_asked),
          TEST(D13_a_cancel_counts_though_its_client_leaves_while_the_answer_comes),
          TEST(D22_a_request_is_not_served_though_it_names_a_session),
          TEST(what_is_said_to_no_session_is_forgotten_with_its_client),
          TEST(a_server_that_stops_waits_for_no_cancel_whose_client_has_left),
          TEST(a_server_that_stops_does_not_wait_for_a_name),
          TEST(a_server_that_stops_does_not_wait_for_the_name_of_who_comes_later),
          TEST(a_server_that_stops_waits_for_an_answer_on_its_way),
          TEST(a_hook_may_stop_the_server),
          TEST(D20_a_session_is_found_by_its_own_principal_only),
          TEST(want_of_memory_costs_one_request),
          TEST(E20_leaving_and_answering_may_meet_anywhere))
