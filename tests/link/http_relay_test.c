/* http_relay_test.c - a turn of one loop, served by the endpoint of another */
#include "link/http_mount.h"

#include "base/budget.h"
#include "link/http_site.h"
#include "run/accounts.h"

/* Two loops: here are the carriers, there is the endpoint. */
struct pair {
    struct test_mem mem; /* here's */
    struct mcpi_loop *here;
    struct site there;
    struct mcpi_account *account; /* of all clients, or NULL */
};

static void
pair_open(struct pair *p, bool threaded)
{
    p->account = NULL;
    test_mem_init(&p->mem);
    assert_int_equal(mcpi_loop_new(&p->mem.allocator, NULL, &p->here), 0);
    site_init(&p->there);
    site_open(&p->there, threaded);
}

static struct pair *
pair_new(void)
{
    struct pair *p = malloc(sizeof(*p));

    assert_non_null(p);
    pair_open(p, false);
    return p;
}

static void
pair_free(struct pair *p)
{
    site_close(&p->there);
    mcpi_loop_free(p->here);
    test_mem_done(&p->mem);
    free(p);
}

static void
here_run(struct pair *p)
{
    do
        assert_int_equal(mcpi_loop_step(p->here), 0);
    while (site_is_busy(p->here));
}

/* Until both have nothing to do. */
static void
pair_run(struct pair *p)
{
    do {
        here_run(p);
        site_run(&p->there);
    } while (site_is_busy(p->here) || site_is_busy(p->there.loop));
}

static void
pair_call(struct pair *p, struct carrier *c, const char *tool)
{
    char body[512];
    struct mcpi_http_in in;

    carrier_init(c);
    (void)snprintf(body, sizeof(body), MODERN_TOOL("7", "%s"), tool);
    in = modern_call(tool, body);
    in.account = p->account;
    mcpi_relay_serve(p->here, p->there.mount, &c->turn, &in);
    memset(body, 'x', sizeof(body));
}

/* ---- answers ------------------------------------------------------------- */

static void
an_answer_passes_as_it_is(void **state)
{
    struct pair *p = pair_new();
    struct carrier c;

    (void)state;
    pair_call(p, &c, "echo");
    assert_non_null(c.turn.served);
    pair_run(p);
    assert_int_equal(c.replies, 1);
    assert_int_equal(c.status, 200);
    assert_string_equal(c.type, "application/json");
    assert_int_equal(carrier_heard(&c, "\"id\":7"), 1);
    assert_int_equal(c.opens + c.ends + c.aborts, 0);
    carrier_done(&c);
    pair_free(p);
}

static void
assert_flood(const struct carrier *c, int count)
{
    const char *at = c->text;
    char mark[16];

    for (int i = 0; i < count; i++) {
        (void)snprintf(mark, sizeof(mark), "<%d>", i);
        at = strstr(at, mark);
        assert_non_null(at);
    }
    assert_non_null(strstr(at, "\"id\":7"));
}

static void
a_stream_passes_in_order(void **state)
{
    struct pair *p = pair_new();
    struct carrier c;

    (void)state;
    p->there.flood = 50;
    p->there.flood_bytes = 100;
    pair_call(p, &c, "flood");
    pair_run(p);
    assert_int_equal(c.opens, 1);
    assert_int_equal(c.ends, 1);
    assert_int_equal(c.replies + c.aborts, 0);
    assert_string_equal(c.type, "text/event-stream");
    assert_flood(&c, 50);
    carrier_done(&c);
    pair_free(p);
}

static void
what_is_refused_there_is_refused_here(void **state)
{
    struct pair *p = pair_new();
    struct mcpi_http_in in = modern_call("echo", "no JSON");
    struct carrier c;

    (void)state;
    carrier_init(&c);
    mcpi_relay_serve(p->here, p->there.mount, &c.turn, &in);
    pair_run(p);
    assert_int_equal(c.replies, 1);
    assert_int_equal(c.status, 400);
    carrier_done(&c);
    pair_free(p);
}

/* ---- a client that does not read ----------------------------------------- */

/* What waits here is bounded; the rest waits there, where it can still be taken back. */
static void
a_client_that_does_not_read_makes_the_endpoint_wait(void **state)
{
    struct pair *p = pair_new();
    long before = atomic_load(&p->mem.live);
    struct carrier c;
    long pieces;

    (void)state;
    p->there.flood = 400;
    p->there.flood_bytes = 1000;
    pair_call(p, &c, "flood");
    c.full = true;
    pair_run(p);
    assert_true(c.keeps);
    assert_int_equal(c.ends, 0);
    pieces = atomic_load(&p->mem.live) - before;
    assert_true(pieces * 1000 < 3 * MCPI_RELAY_BYTES);
    for (int i = 0; i < 1000 && c.ends == 0; i++) {
        carrier_drain(&c);
        pair_run(p);
    }
    assert_int_equal(c.ends, 1);
    assert_flood(&c, 400);
    assert_true(c.len > 400000);
    carrier_done(&c);
    pair_free(p);
}

static void
the_end_does_not_wait_for_what_is_kept(void **state)
{
    struct pair *p = pair_new();
    struct carrier c;

    (void)state;
    pair_call(p, &c, "flood");
    c.full = true;
    pair_run(p);
    carrier_drain(&c);
    pair_run(p);
    while (c.ends == 0) {
        carrier_drain(&c);
        pair_run(p);
    }
    assert_flood(&c, 3);
    carrier_done(&c);
    pair_free(p);
}

/* An event of that many bytes, of the request that is held. */
static void
say(struct site *s, int bytes)
{
    char *params = malloc((size_t)bytes + 128);
    int len;

    assert_non_null(params);
    len = snprintf(params, (size_t)bytes + 128,
                   "{\"level\":\"error\",\"data\":\"%0*d\"}", bytes, 0);
    assert_int_equal(mcpi_exchange_notify(s->held[0], "notifications/message", params,
                                          (size_t)len, site_now(s)),
                     0);
    free(params);
    site_run(s);
}

/* A client that may have so many bytes of answers. */
static struct mcpi_accounts *
counting(struct pair *p, size_t bytes)
{
    struct mcpi_accounts *accounts;
    struct mcpi_budget *budget;

    assert_int_equal(mcpi_accounts_new(&p->mem.allocator, &accounts), 0);
    budget = mcpi_accounts_budget(accounts);
    mcpi_budget_raise(budget, MCPI_HELD_ARRIVING, 100000);
    mcpi_budget_raise(budget, MCPI_HELD_REQUESTS, 2);
    mcpi_budget_raise(budget, MCPI_HELD_BYTES, 2 * bytes);
    mcpi_budget_raise(budget, MCPI_HELD_NOTES, 2 * bytes);
    p->account = mcpi_accounts_get(accounts, "ann", 3);
    assert_non_null(p->account);
    return accounts;
}

static void
counted(struct pair *p, struct mcpi_accounts *accounts)
{
    assert_int_equal(mcpi_budget_bytes(mcpi_accounts_budget(accounts)), 0);
    mcpi_account_unref(p->account);
    assert_int_equal(mcpi_accounts_count(accounts), 0);
    mcpi_accounts_unref(accounts);
}

/* Issue 20: nobody else is charged for what is between two loops. */
static void
what_waits_here_is_charged_to_its_client(void **state)
{
    struct pair *p = pair_new();
    struct mcpi_accounts *accounts = counting(p, 100000);
    struct mcpi_budget *budget = mcpi_accounts_budget(accounts);
    struct carrier c;
    size_t request;

    (void)state;
    pair_call(p, &c, "hold");
    site_run(&p->there);
    request = mcpi_budget_bytes(budget);
    say(&p->there, 100);
    assert_int_equal(mcpi_budget_bytes(budget), request); /* it is alone */
    say(&p->there, 100);
    assert_true(mcpi_budget_bytes(budget) > request + 100);
    for (int i = 0; i < 5; i++)
        say(&p->there, 5000);
    assert_true(mcpi_budget_bytes(budget) > request + 25000);
    here_run(p);
    assert_int_equal(mcpi_budget_bytes(budget), request);
    site_let_go(&p->there);
    pair_run(p);
    assert_int_equal(c.ends, 1);
    carrier_done(&c);
    counted(p, accounts);
    pair_free(p);
}

/* The client has room for its answer once, and it waits in two places, one after the
 * other. */
static void
what_goes_on_to_the_next_is_not_charged_twice(void **state)
{
    struct pair *p = pair_new();
    struct mcpi_accounts *accounts = counting(p, 1500000);
    struct carrier c;

    (void)state;
    pair_call(p, &c, "hold");
    site_run(&p->there);
    say(&p->there, 100000); /* and here is full */
    p->there.answer_bytes = 1000000;
    site_let_go(&p->there);
    site_run(&p->there);
    assert_true(mcpi_budget_bytes(mcpi_accounts_budget(accounts)) > 1100000);
    pair_run(p);
    assert_int_equal(c.ends, 1);
    assert_true(c.len > 1100000);
    carrier_done(&c);
    counted(p, accounts);
    pair_free(p);
}

/* ---- leaving ------------------------------------------------------------- */

static void
E18_a_client_that_leaves_here_cancels_there(void **state)
{
    struct pair *p = pair_new();
    struct carrier c, other;

    (void)state;
    pair_call(p, &c, "hold");
    pair_call(p, &other, "hold");
    pair_run(p);
    assert_int_equal(p->there.held_count, 2);
    mcpi_turn_gone(&c.turn);
    pair_run(p);
    assert_int_equal(atomic_load(&p->there.canceled), 1);
    site_let_go(&p->there);
    pair_run(p);
    assert_int_equal(other.replies, 1);
    assert_false(carrier_is_done(&c));
    carrier_done(&c);
    carrier_done(&other);
    pair_free(p);
}

/* At each moment between the two loops. */
static void
a_client_may_leave_while_an_answer_is_under_way(void **state)
{
    (void)state;
    for (int steps = 0; steps < 6; steps++) {
        struct pair *p = pair_new();
        struct carrier c;

        pair_call(p, &c, "flood");
        for (int i = 0; i < steps; i++) {
            if (i % 2 == 0)
                site_run(&p->there);
            else
                here_run(p);
        }
        mcpi_turn_gone(&c.turn);
        pair_run(p);
        carrier_done(&c);
        pair_free(p);
    }
}

static void
the_endpoint_may_close_first(void **state)
{
    struct pair *p = pair_new();
    struct carrier c, late;

    (void)state;
    pair_call(p, &c, "hold");
    pair_run(p);
    mcpi_mount_close(p->there.mount);
    here_run(p);
    assert_int_equal(c.aborts, 1);
    site_stop(&p->there);
    pair_call(p, &late, "echo");
    assert_int_equal(late.status, 503);
    assert_int_equal(late.replies, 1);
    carrier_done(&c);
    carrier_done(&late);
    pair_free(p);
}

static void
an_abort_does_not_wait_for_what_is_kept(void **state)
{
    struct pair *p = pair_new();
    struct carrier c;

    (void)state;
    p->there.flood = 400;
    p->there.flood_bytes = 1000;
    pair_call(p, &c, "flood");
    c.full = true;
    pair_run(p);
    mcpi_mount_close(p->there.mount);
    here_run(p);
    assert_true(c.keeps);
    assert_int_equal(c.aborts, 1);
    carrier_done(&c);
    pair_free(p);
}

static void
the_carriers_loop_may_close_first(void **state)
{
    struct pair *p = pair_new();
    struct carrier c;

    (void)state;
    pair_call(p, &c, "flood");
    site_run(&p->there); /* a post is on its way */
    mcpi_turn_gone(&c.turn);
    mcpi_loop_free(p->here);
    test_mem_done(&p->mem);
    carrier_done(&c);
    site_close(&p->there);
    free(p);
}

/* ---- no memory ----------------------------------------------------------- */

static void
without_memory_it_is_refused_or_aborted(void **state)
{
    struct pair *p = pair_new();
    long first;

    (void)state;
    for (first = 1; first < 100; first++) {
        long failed = atomic_load(&p->mem.failed);
        struct carrier c;

        atomic_store(&p->mem.fail_at, atomic_load(&p->mem.total) + first);
        pair_call(p, &c, "flood");
        pair_run(p);
        assert_true(carrier_is_done(&c));
        if (c.replies == 1)
            assert_int_equal(c.status, 503);
        carrier_done(&c);
        atomic_store(&p->mem.fail_at, 0);
        if (atomic_load(&p->mem.failed) == failed)
            break;
    }
    assert_true(first > 3);
    pair_free(p);
}

/* ---- threads ------------------------------------------------------------- */

enum { CARRIERS = 16, ROUNDS = 1500 };

/* Here: a loop on the test's own thread, stepped while the other one runs. */
static void
carriers_step(struct pair *p, struct carrier *c, unsigned *seed)
{
    static const char *const tools[] = {"echo", "hold", "flood"};
    unsigned dice = (unsigned)rand_r(seed) % 16;

    if (!c->turn.ops) {
        pair_call(p, c, tools[dice % 3]);
        c->full = (unsigned)rand_r(seed) % 2;
    } else if (carrier_is_done(c) || dice == 0) {
        mcpi_turn_gone(&c->turn);
        carrier_done(c);
        c->turn.ops = NULL;
    } else if (dice < 6) {
        carrier_drain(c);
    }
}

static void
E18_clients_may_leave_at_any_moment_on_two_threads(void **state)
{
    struct pair *p = malloc(sizeof(*p));
    struct carrier carriers[CARRIERS] = {0};
    unsigned seed = 6;

    (void)state;
    assert_non_null(p);
    pair_open(p, true);
    p->there.flood = 30;
    p->there.flood_bytes = 5000;
    /* and until the other thread has had its turn, on a busy machine */
    for (int i = 0; i < ROUNDS || atomic_load(&p->there.served) <= CARRIERS; i++) {
        for (int k = 0; k < CARRIERS; k++)
            carriers_step(p, &carriers[k], &seed);
        assert_int_equal(mcpi_loop_step(p->here), 0);
    }
    for (int k = 0; k < CARRIERS; k++) {
        if (!carriers[k].turn.ops)
            continue;
        mcpi_turn_gone(&carriers[k].turn);
        carrier_done(&carriers[k]);
    }
    pair_free(p);
}

static void
both_ends_may_vanish_at_once(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct pair *p = malloc(sizeof(*p));
        struct carrier carriers[CARRIERS] = {0};

        assert_non_null(p);
        pair_open(p, true);
        for (int k = 0; k < CARRIERS; k++)
            pair_call(p, &carriers[k], k % 2 ? "hold" : "flood");
        if (round % 2) /* the endpoint's stop is under way meanwhile */
            mcpi_loop_post(p->there.loop, &p->there.post);
        for (int k = 0; k < CARRIERS; k++) {
            if (k % 4 == 0)
                assert_int_equal(mcpi_loop_step(p->here), 0);
            mcpi_turn_gone(&carriers[k].turn);
            carrier_done(&carriers[k]);
        }
        if (round % 2)
            SITE_WAIT(atomic_load(&p->there.closed));
        pair_free(p);
    }
}

TEST_MAIN(TEST(an_answer_passes_as_it_is), TEST(a_stream_passes_in_order),
          TEST(what_is_refused_there_is_refused_here),
          TEST(a_client_that_does_not_read_makes_the_endpoint_wait),
          TEST(the_end_does_not_wait_for_what_is_kept),
          TEST(what_waits_here_is_charged_to_its_client),
          TEST(what_goes_on_to_the_next_is_not_charged_twice),
          TEST(E18_a_client_that_leaves_here_cancels_there),
          TEST(a_client_may_leave_while_an_answer_is_under_way),
          TEST(the_endpoint_may_close_first),
          TEST(an_abort_does_not_wait_for_what_is_kept),
          TEST(the_carriers_loop_may_close_first),
          TEST(without_memory_it_is_refused_or_aborted),
          TEST(E18_clients_may_leave_at_any_moment_on_two_threads),
          TEST(both_ends_may_vanish_at_once))
