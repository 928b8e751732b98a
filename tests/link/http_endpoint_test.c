/* http_endpoint_test.c - one endpoint: its shared peers, its end, other shards */
#include "link/http_front.h"

static void
make_with(struct test_mem *mem, void *user)
{
    static const char *const origins[] = {"https://a.example", "https://b.example",
                                          NULL};
    struct front f;
    int r;

    (void)user;
    front_init(&f);
    f.mem = mem;
    f.http.stateless = true;
    f.http.origins = origins;
    r = front_try_open(&f);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    front_close(&f);
}

static void
is_made_whole_or_not_at_all(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(make_with, NULL) > 5);
}

static void
may_be_freed_if_nothing_was_served(void **state)
{
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    mcpi_endpoint_free(f.endpoint);
    mcpi_endpoint_free(NULL);
    f.endpoint = NULL;
    front_close(&f);
}

/* ---- the end ------------------------------------------------------------- */

static void
an_idle_one_closes_at_once_and_says_so_once(void **state)
{
    struct front f;

    (void)state;
    for (int stateless = 0; stateless < 2; stateless++) {
        front_init(&f);
        f.http.stateless = stateless;
        front_open(&f);
        mcpi_endpoint_close(f.endpoint);
        mcpi_endpoint_close(f.endpoint);
        assert_int_equal(f.closed, 0); /* from the loop, not from inside */
        front_run(&f);
        assert_int_equal(f.closed, 1);
        front_close(&f);
        assert_int_equal(f.closed, 1);
    }
}

static void
F29_what_runs_at_the_stop_may_finish(void **state)
{
    struct visit held;
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_post(&f, &held, MODERN_HOLD, HOLD("1"));
    mcpi_endpoint_close(f.endpoint);
    front_run(&f);
    assert_int_equal(f.closed, 0);
    assert_int_equal(f.told, 0);
    front_let_go(&f);
    front_run(&f);
    assert_int_equal(held.status, 200);
    assert_int_equal(visit_code(&held), 0);
    assert_int_equal(f.closed, 1);
    visit_done(&held);
    front_close(&f);
}

static void
F29_what_does_not_finish_is_answered(void **state)
{
    struct visit modern, legacy;
    struct front f;

    (void)state;
    front_init(&f);
    f.http.stateless = true;
    front_open(&f);
    front_post(&f, &modern, MODERN_HOLD, HOLD("1"));
    front_post(&f, &legacy, PLAIN, LEGACY_HOLD("1"));
    mcpi_endpoint_close(f.endpoint);
    front_run(&f);
    front_pass(&f, 2 * SECOND);
    assert_int_equal(f.told, 2);
    assert_int_equal(modern.replies, 1);
    assert_int_equal(visit_code(&modern), -32603);
    assert_int_equal(legacy.replies, 1);
    assert_int_equal(visit_code(&legacy), -32000);
    assert_int_equal(f.closed, 1);
    visit_done(&modern);
    visit_done(&legacy);
    front_close(&f);
}

static void
D17_sessions_end_with_their_endpoint(void **state)
{
    char session[128], headers[1024];
    struct visit held, listens;
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_hello(&f, session);
    front_with(headers, sizeof headers, PLAIN, session);
    front_post(&f, &held, headers, LEGACY_HOLD("1"));
    front_ask(&f, &listens, "GET", headers, NULL);
    assert_int_equal(listens.opens, 1);
    mcpi_endpoint_close(f.endpoint);
    front_run(&f);
    for (int i = 0; i < 5 && !f.closed; i++)
        front_pass(&f, SECOND);
    assert_int_equal(f.closed, 1);
    assert_int_equal(f.told, 1);
    assert_int_equal(held.replies + held.ends, 1);
    assert_int_equal(listens.ends + listens.aborts, 1);
    visit_done(&held);
    visit_done(&listens);
    front_close(&f);
}

static void
who_comes_while_it_closes_is_told_to_come_back(void **state)
{
    char session[128], headers[1024];
    struct visit held, v;
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_hello(&f, session);
    front_with(headers, sizeof headers, PLAIN, session);
    front_post(&f, &held, headers, LEGACY_HOLD("1"));
    mcpi_endpoint_close(f.endpoint);
    front_post(&f, &v, MODERN_T, MODERN_CALL("2"));
    assert_int_equal(v.status, 503);
    assert_true(visit_says(&v, "Retry-After"));
    visit_assert_id(&v, "2");
    visit_done(&v);
    front_post(&f, &v, PLAIN, HELLO);
    assert_int_equal(v.status, 503);
    visit_done(&v);
    front_ask(&f, &v, "GET", headers, NULL);
    assert_int_equal(v.status, 503);
    visit_done(&v);
    /* A cancel of what still runs is not new. */
    front_post(&f, &v, headers, CANCEL("1"));
    assert_int_equal(v.status, 202);
    assert_int_equal(f.canceled, 1);
    visit_done(&v);
    visit_done(&held);
    front_close(&f);
}

static void
D22_a_client_that_leaves_at_the_stop_keeps_nobody_waiting(void **state)
{
    struct visit held;
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    front_post(&f, &held, MODERN_HOLD, HOLD("1"));
    mcpi_endpoint_close(f.endpoint);
    front_run(&f);
    assert_int_equal(f.closed, 0);
    mcpi_turn_gone(&held.turn);
    front_run(&f);
    assert_int_equal(f.canceled, 1);
    assert_int_equal(f.closed, 1);
    visit_done(&held);
    front_close(&f);
}

/* ---- shared peers -------------------------------------------------------- */

static void
a_shared_peer_that_is_given_up_is_replaced(void **state)
{
    struct visit modern, legacy, v;
    struct front f;

    (void)state;
    front_init(&f);
    f.http.stateless = true;
    front_open(&f);
    front_post(&f, &modern, MODERN_HOLD, HOLD("1"));
    front_post(&f, &legacy, PLAIN, LEGACY_HOLD("1"));
    mcpi_peer_fail(f.endpoint->anonymous, MCP_E_NOMEM, "test");
    front_pass(&f, 0);
    assert_int_equal(f.told, 1); /* and nobody of the other peer's */
    assert_int_equal(modern.ends + modern.aborts, 1);
    assert_int_equal(legacy.ends + legacy.aborts + legacy.replies, 0);
    front_post(&f, &v, MODERN_T, MODERN_CALL("1"));
    assert_int_equal(v.status, 200);
    visit_done(&v);
    front_let_go(&f);
    front_run(&f);
    assert_int_equal(legacy.status, 200);
    visit_done(&modern);
    visit_done(&legacy);
    front_close(&f);
}

static void
a_shared_peer_that_cannot_be_replaced_is_missed_with_503(void **state)
{
    struct front f;
    struct visit v;

    (void)state;
    front_init(&f);
    front_open(&f);
    mcpi_peer_fail(f.endpoint->anonymous, MCP_E_NOMEM, "test");
    front_pass(&f, 0);
    assert_null(f.endpoint->anonymous);
    f.mem->fail_at = f.mem->total + 2; /* the document is read */
    f.mem->fail_after = true;
    front_post(&f, &v, MODERN_T, MODERN_CALL("1"));
    assert_int_equal(v.status, 503);
    visit_done(&v);
    f.mem->fail_at = 0;
    f.mem->fail_after = false;
    front_post(&f, &v, MODERN_T, MODERN_CALL("1"));
    assert_int_equal(v.status, 200);
    visit_done(&v);
    front_close(&f);
}

static void
what_a_shared_peer_says_itself_is_dropped(void **state)
{
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    assert_int_equal(
        mcpi_peer_notify(f.endpoint->anonymous, "notifications/x", NULL, 0, f.now), 0);
    assert_false(mcpi_outlet_is_empty(mcpi_peer_outlet(f.endpoint->anonymous)));
    front_run(&f);
    assert_true(mcpi_outlet_is_empty(mcpi_peer_outlet(f.endpoint->anonymous)));
    front_close(&f);
}

/* ---- other shards -------------------------------------------------------- */

static void
on_elsewhere(void *user, unsigned shard, struct mcpi_turn *turn,
             const struct mcpi_http_in *in)
{
    struct front *f = user;

    assert_int_equal(shard, 1);
    assert_int_equal(in->fields == NULL, 0);
    f->elsewhere++;
    mcpi_endpoint_refuse(f->endpoint, turn, 418, NULL, -1, "elsewhere");
}

static void
a_session_of_another_shard_is_served_there(void **state)
{
    char session[128], headers[1024];
    struct front there, here;
    struct visit v;

    (void)state;
    front_init(&there);
    there.opt.shards = 2;
    there.opt.shard = 1;
    there.opt.elsewhere = on_elsewhere;
    front_open(&there);
    front_hello(&there, session);
    front_init(&here);
    here.opt.shards = 2;
    here.opt.elsewhere = on_elsewhere;
    front_open(&here);
    front_with(headers, sizeof headers, PLAIN, session);
    front_post(&here, &v, headers, LEGACY_CALL("1"));
    assert_int_equal(v.status, 418);
    visit_done(&v);
    front_ask(&here, &v, "DELETE", headers, NULL);
    assert_int_equal(v.status, 418);
    visit_done(&v);
    assert_int_equal(here.elsewhere, 2);
    front_post(&there, &v, headers, LEGACY_CALL("1"));
    assert_int_equal(v.status, 200);
    visit_done(&v);
    /* What is modern has no session, whatever it names. */
    front_with(headers, sizeof headers, MODERN_T, session);
    front_post(&here, &v, headers, MODERN_CALL("1"));
    assert_int_equal(v.status, 200);
    visit_done(&v);
    assert_int_equal(here.elsewhere, 2);
    front_close(&here);
    front_close(&there);
}

static void
counts_what_is_there(void **state)
{
    char session[128], headers[1024];
    struct visit v;
    struct front f;

    (void)state;
    front_init(&f);
    front_open(&f);
    assert_int_equal(f.sessions, 0);
    front_hello(&f, session);
    assert_int_equal(f.sessions, 1);
    assert_int_equal(f.endpoint->session_count, 1);
    front_with(headers, sizeof headers, PLAIN, session);
    front_ask(&f, &v, "GET", headers, NULL);
    assert_int_equal(f.streams, 1);
    mcpi_turn_gone(&v.turn);
    front_run(&f);
    assert_int_equal(f.streams, 0);
    visit_done(&v);
    front_close(&f);
}

TEST_MAIN(TEST(is_made_whole_or_not_at_all), TEST(may_be_freed_if_nothing_was_served),
          TEST(an_idle_one_closes_at_once_and_says_so_once),
          TEST(F29_what_runs_at_the_stop_may_finish),
          TEST(F29_what_does_not_finish_is_answered),
          TEST(D17_sessions_end_with_their_endpoint),
          TEST(who_comes_while_it_closes_is_told_to_come_back),
          TEST(D22_a_client_that_leaves_at_the_stop_keeps_nobody_waiting),
          TEST(a_shared_peer_that_is_given_up_is_replaced),
          TEST(a_shared_peer_that_cannot_be_replaced_is_missed_with_503),
          TEST(what_a_shared_peer_says_itself_is_dropped),
          TEST(a_session_of_another_shard_is_served_there), TEST(counts_what_is_there))
