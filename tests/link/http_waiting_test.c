/* http_waiting_test.c - those who come, are asked who they are, and wait for the answer */
#include <pthread.h>

#include "link/http_door.h"

/* ---- who leaves -------------------------------------------------------------- */

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

static void
on_identify_later(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    (void)request;
    *(mcp_http_ticket **)user = ticket;
}

/* A request without a body that waits, and whose client leaves. */
static mcp_http_ticket *
door_ask_and_leave(struct door *d, const char *verb, const char *headers)
{
    mcp_http_ticket *ticket = NULL;
    struct visit v;

    d->f.http.identify = on_identify_later;
    d->f.http.identify_user = &ticket;
    visit_init(&v, verb, "/mcp", headers, NULL);
    visit_begin(&d->f, &v);
    assert_non_null(ticket);
    mcpi_turn_gone(&v.turn);
    assert_int_equal(v.replies, 0);
    visit_done(&v);
    return ticket;
}

static void
D17_a_DELETE_counts_though_its_client_leaves_while_it_is_asked(void **state)
{
    char headers[1024];
    struct visit held;
    struct door d;

    (void)state;
    door_hold(&d, &held, headers);
    mcp_http_allow(door_ask_and_leave(&d, "DELETE", headers), "alice");
    front_run(&d.f);
    assert_int_equal(d.f.canceled, 1);
    assert_int_equal(d.f.sessions, 0);
    visit_done(&held);
    front_close(&d.f);
}

static void
a_GET_is_forgotten_with_its_client(void **state)
{
    mcp_http_ticket *ticket;
    char headers[1024];
    struct visit held;
    struct door d;

    (void)state;
    door_hold(&d, &held, headers);
    ticket = door_ask_and_leave(&d, "GET", headers);
    assert_true(mcpi_list_empty(&d.f.endpoint->tickets));
    mcp_http_allow(ticket, "alice");
    front_run(&d.f);
    assert_int_equal(d.f.streams, 0);
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

/* ---- order ------------------------------------------------------------------ */

/* alice has a session; her next one is asked who it is. */
static void
door_greet(struct door *d, char headers[1024])
{
    char session[128];

    door_open(d);
    d->now = true;
    d->principal = "alice";
    front_hello(&d->f, session);
    front_with(headers, 1024, PLAIN, session);
    d->now = false;
}

static void
answer(struct door *d, mcp_http_ticket *ticket)
{
    mcp_http_allow(ticket, "alice");
    front_run(&d->f);
}

/* alice's request waits, and her cancel of it does not, or not as long. */
static void
D25_a_cancel_that_is_authenticated_first_ends_its_request(void **state)
{
    mcp_http_ticket *first;
    struct visit call, v;
    char headers[1024];
    struct door d;

    (void)state;
    for (int at_once = 0; at_once < 2; at_once++) {
        door_greet(&d, headers);
        front_post(&d.f, &call, headers, LEGACY_HOLD("1"));
        first = d.ticket;
        d.now = at_once;
        front_post(&d.f, &v, headers, CANCEL("1"));
        if (!at_once)
            answer(&d, d.ticket);
        assert_int_equal(v.status, 202);
        front_pass(&d.f, 50 * SECOND); /* as long as the hook takes */
        answer(&d, first);
        assert_int_equal(d.f.served, 0);
        assert_non_null(strstr(call.text, "-32800"));
        assert_true(mcpi_list_empty(&d.f.endpoint->tickets));
        visit_done(&v);
        visit_done(&call);
        front_close(&d.f);
    }
}

/* The cancel comes first, then its request, which waits for longer than a cancel is held
 * otherwise. */
static void
D25_a_cancel_is_held_for_a_request_that_waits(void **state)
{
    struct visit call, v;
    char headers[1024];
    struct door d;

    (void)state;
    door_greet(&d, headers);
    d.now = true;
    front_post(&d.f, &v, headers, CANCEL("1"));
    d.now = false;
    front_pass(&d.f, SECOND);
    front_post(&d.f, &call, headers, LEGACY_HOLD("1"));
    front_pass(&d.f, 50 * SECOND);
    answer(&d, d.ticket);
    assert_int_equal(d.f.served, 0);
    visit_done(&v);
    visit_done(&call);
    front_close(&d.f);
}

/* Once nothing waits, the time of a cancel is over again. */
static void
D25_F17_a_cancel_is_not_held_for_ever(void **state)
{
    struct visit call, v, other;
    mcp_http_ticket *first;
    char headers[1024];
    struct door d;

    (void)state;
    door_greet(&d, headers);
    front_post(&d.f, &other, headers, LEGACY_HOLD("2"));
    first = d.ticket;
    d.now = true;
    front_post(&d.f, &v, headers, CANCEL("1"));
    front_pass(&d.f, 3 * SECOND);
    mcp_http_deny(first, 401, NULL, NULL);
    front_run(&d.f);
    front_post(&d.f, &call, headers, LEGACY_HOLD("1"));
    assert_int_equal(d.f.job_count, 1);
    front_let_go(&d.f);
    front_run(&d.f);
    visit_done(&v);
    visit_done(&other);
    visit_done(&call);
    front_close(&d.f);
}

/* Its session has ended when it is known who sent it. */
static void
D25_a_session_may_end_while_its_requests_wait(void **state)
{
    struct visit call;
    char headers[1024];
    struct door d;

    (void)state;
    door_greet(&d, headers);
    front_post(&d.f, &call, headers, LEGACY_HOLD("1"));
    front_pass(&d.f, 3601 * SECOND); /* it was idle for too long */
    assert_int_equal(d.f.sessions, 0);
    answer(&d, d.ticket);
    assert_int_equal(call.status, 404);
    visit_done(&call);
    front_close(&d.f);
}

/* Whatever else is said to the session waits for nobody. */
static void
D13_a_cancel_waits_for_no_other_request(void **state)
{
    mcp_http_ticket *second, *others;
    struct visit held, call, other, v;
    char headers[1024], session[128], hers[1024];
    struct door d;

    (void)state;
    door_greet(&d, headers);
    d.now = true;
    front_post(&d.f, &held, headers, LEGACY_HOLD("1"));
    d.principal = "bob";
    front_hello(&d.f, session);
    front_with(hers, sizeof(hers), PLAIN, session);
    d.now = false;
    front_post(&d.f, &call, headers, LEGACY_HOLD("2"));
    second = d.ticket;
    front_post(&d.f, &other, hers, LEGACY_HOLD("1"));
    others = d.ticket;
    d.now = true;
    d.principal = "alice";
    front_post(&d.f, &v, headers, CANCEL("1"));
    assert_int_equal(v.status, 202);
    assert_int_equal(d.f.canceled, 1);
    visit_done(&v);
    mcp_http_deny(second, 401, NULL, NULL);
    mcp_http_deny(others, 401, NULL, NULL);
    front_run(&d.f);
    visit_done(&call);
    visit_done(&other);
    visit_done(&held);
    front_close(&d.f);
}

/* Whatever becomes of the request. */
static void
D13_a_cancel_is_answered_at_once(void **state)
{
    mcp_http_ticket *first;
    struct visit call, v;
    char headers[1024];
    struct door d;

    (void)state;
    for (int leaves = 0; leaves < 2; leaves++) {
        door_greet(&d, headers);
        front_post(&d.f, &call, headers, LEGACY_HOLD("1"));
        first = d.ticket;
        d.now = true;
        front_post(&d.f, &v, headers, CANCEL("1"));
        assert_int_equal(v.status, 202);
        if (leaves)
            mcpi_turn_gone(&call.turn);
        if (leaves)
            mcp_http_allow(first, "alice");
        else
            mcp_http_deny(first, 401, NULL, NULL);
        front_run(&d.f);
        assert_int_equal(d.f.served, 0);
        assert_int_equal(call.status, leaves ? 0 : 401);
        visit_done(&v);
        visit_done(&call);
        front_close(&d.f);
    }
}

static void
D20_only_cancels_of_its_own_credential_end_a_request_that_waits(void **state)
{
    mcp_http_ticket *first;
    char headers[1024];
    struct visit call, v;
    struct door d;

    (void)state;
    for (int i = 0; i < 2; i++) {
        door_greet(&d, headers);
        front_post(&d.f, &call, headers, LEGACY_HOLD("1"));
        first = d.ticket;
        d.now = true;
        d.principal = i == 0 ? "bob" : "alice";
        front_post(&d.f, &v, headers, CANCEL("1"));
        assert_int_equal(v.status, i == 0 ? 404 : 202);
        answer(&d, first);
        assert_int_equal(d.f.served, i == 0);
        if (i == 0)
            front_let_go(&d.f);
        front_run(&d.f);
        visit_done(&v);
        visit_done(&call);
        front_close(&d.f);
    }
}

static void
a_server_that_stops_turns_away_a_request_whose_cancel_is_held(void **state)
{
    mcp_http_ticket *first;
    struct visit call, v;
    char headers[1024];
    struct door d;

    (void)state;
    door_greet(&d, headers);
    front_post(&d.f, &call, headers, LEGACY_HOLD("1"));
    first = d.ticket;
    d.now = true;
    front_post(&d.f, &v, headers, CANCEL("1"));
    assert_int_equal(v.status, 202);
    mcpi_endpoint_close(d.f.endpoint);
    assert_int_equal(call.status, 503);
    answer(&d, first);
    visit_done(&v);
    visit_done(&call);
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

/* ---- memory, threads ----------------------------------------------------- */

/* A request and its cancel, which is known sooner. */
static void
cancel_early_in(struct door *d, const char *headers)
{
    mcp_http_ticket *first;
    struct visit call, v;

    d->now = false;
    d->ticket = NULL;
    front_post(&d->f, &call, headers, LEGACY_HOLD("1"));
    first = d->ticket;
    d->now = true;
    front_post(&d->f, &v, headers, CANCEL("1"));
    if (first)
        answer(d, first);
    assert_int_equal(v.replies, 1);
    if (v.status == 202) /* whoever is told so may rely on it */
        assert_int_equal(d->f.served, 0);
    while (d->f.job_count > 0)
        front_let_go(&d->f);
    mcpi_turn_gone(&call.turn);
    visit_done(&v);
    visit_done(&call);
}

static void
cancel_early(struct test_mem *mem, void *user)
{
    struct visit hello;
    char headers[1024];
    const char *session;
    struct door d;

    (void)user;
    door_init(&d);
    d.f.mem = mem;
    if (front_try_open(&d.f) == 0) {
        d.now = true;
        d.principal = "alice";
        front_post(&d.f, &hello, PLAIN, HELLO);
        session = strstr(hello.said, "Mcp-Session-Id: ");
        if (session) {
            (void)snprintf(headers, sizeof(headers), PLAIN "%.*s\n",
                           (int)strcspn(session, "\n"), session);
            cancel_early_in(&d, headers);
        }
        visit_done(&hello);
    }
    front_close(&d.f);
}

static void
want_of_memory_holds_nobody(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(cancel_early, NULL) > 10);
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
        until = mcpi_loop_clock() + AWAIT_US;
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

TEST_MAIN(TEST(E20_a_client_that_leaves_while_it_is_asked_is_not_served),
          TEST(E20_a_client_may_leave_while_the_answer_comes_home),
          TEST(D13_a_cancel_counts_though_its_client_leaves_while_it_is_asked),
          TEST(D13_a_cancel_counts_though_its_client_leaves_while_the_answer_comes),
          TEST(D22_a_request_is_not_served_though_it_names_a_session),
          TEST(D17_a_DELETE_counts_though_its_client_leaves_while_it_is_asked),
          TEST(a_GET_is_forgotten_with_its_client),
          TEST(what_is_said_to_no_session_is_forgotten_with_its_client),
          TEST(a_server_that_stops_waits_for_no_cancel_whose_client_has_left),
          TEST(D25_a_cancel_that_is_authenticated_first_ends_its_request),
          TEST(D25_a_cancel_is_held_for_a_request_that_waits),
          TEST(D25_F17_a_cancel_is_not_held_for_ever),
          TEST(D25_a_session_may_end_while_its_requests_wait),
          TEST(D13_a_cancel_waits_for_no_other_request),
          TEST(D13_a_cancel_is_answered_at_once),
          TEST(D20_only_cancels_of_its_own_credential_end_a_request_that_waits),
          TEST(a_server_that_stops_turns_away_a_request_whose_cancel_is_held),
          TEST(a_server_that_stops_does_not_wait_for_a_name),
          TEST(a_server_that_stops_does_not_wait_for_the_name_of_who_comes_later),
          TEST(a_server_that_stops_waits_for_an_answer_on_its_way),
          TEST(a_hook_may_stop_the_server), TEST(want_of_memory_holds_nobody),
          TEST(E20_leaving_and_answering_may_meet_anywhere))
