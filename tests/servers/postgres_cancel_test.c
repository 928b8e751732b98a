/*
 * postgres_cancel_test.c - postgres-server: calls that are canceled
 *
 * The judge is PostgreSQL: its pg_stat_activity, asked by a session of the test's own.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "servers/postgres_fixture.h"
#include "support/client_clock.h"

#define SLEEP "SELECT pg_sleep(300)"

/* ---- the pool survives ---------------------------------------------------------- */

enum { WAVES = 10, CALLS = 100 }; /* for each cell */

static unsigned seed;

static int
dice(int sides)
{
    return (int)(((unsigned)rand_r(&seed) >> 4) % (unsigned)sides);
}

static void
shuffle(mcp_call **calls, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int j = dice(i + 1);
        mcp_call *one = calls[i];

        calls[i] = calls[j];
        calls[j] = one;
    }
}

static void
cancel_all(mcp_call **calls, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(mcp_call_cancel(calls[i], NULL), 0);
    for (int i = 0; i < count; i++)
        rig_end(calls[i], MCP_E_CANCELED);
}

/* Ten run and ninety wait; they are canceled in any order, at once or by and by. */
static void
wave_of_many(struct rig *rig, bool is_slow)
{
    mcp_call *calls[CALLS];

    for (int i = 0; i < CALLS; i++)
        calls[i] = rig_start(rig, "query", SLEEP);
    if (is_slow)
        postgres_await(busy_of(rig->application), "10");
    shuffle(calls, CALLS);
    for (int i = 0; is_slow && i < CALLS / 2; i++) {
        assert_int_equal(mcp_call_cancel(calls[i], NULL), 0);
        rig_end(calls[i], MCP_E_CANCELED);
        nap_us(dice(2000));
    }
    cancel_all(calls + (is_slow ? CALLS / 2 : 0), is_slow ? CALLS / 2 : CALLS);
}

/* Each is canceled soon after its start, or even before it has reached PostgreSQL. */
static void
wave_of_short_ones(struct rig *rig)
{
    mcp_call *call;

    for (int i = 0; i < CALLS; i++) {
        call = rig_start(rig, "query", SLEEP);
        nap_us(dice(4) ? dice(3000) : 0);
        assert_int_equal(mcp_call_cancel(call, NULL), 0);
        rig_end(call, MCP_E_CANCELED);
    }
}

/* Ten run at once, on ten connections and no more; and the next one answers. */
static void
expect_full_pool(struct rig *rig)
{
    mcp_call *calls[10];

    postgres_await(busy_of(rig->application), "0");
    for (int i = 0; i < 10; i++)
        calls[i] = rig_start(rig, "query", SLEEP);
    postgres_await(busy_of(rig->application), "10");
    postgres_await(all_of(rig->application), "10");
    cancel_all(calls, 10);
    rig_expect(rig, "SELECT 42", "42");
    postgres_await(busy_of(rig->application), "0");
}

static void
a_thousand_canceled_calls_leave_a_full_pool(void **state)
{
    struct rig rig;

    seed = 20261116;
    rig_open(&rig, *state, "10", false);
    for (int i = 0; i < WAVES; i++)
        if (i % 3 == 1)
            wave_of_short_ones(&rig);
        else
            wave_of_many(&rig, i % 3 == 0);
    expect_full_pool(&rig);
    rig_close(&rig);
    postgres_await(all_of(rig.application), "0");
}

/* ---- the next query is not struck ----------------------------------------------- */

/* In each cell; but where each cancel waits for 250 ms, so as not to overtake its
 * request. */
enum { STRIKES = 120, SLOW_STRIKES = 24 };

/* The next query, which has its time behind one that was canceled. */
static void
expect_next(struct rig *rig, int i)
{
    mcp_call *call = rig_start(
        rig, "query", formatted("SELECT %d + 0 * length(pg_sleep(0.001)::text)", i));
    mcp_reply *reply = NULL;
    const mcp_json *rows;

    assert_int_equal(mcp_call_wait(call, AWAIT_MS, &reply, NULL), 0);
    mcp_call_free(call);
    if (mcp_reply_is_error(reply))
        fail_msg("%d: %s", i, mcp_reply_text(reply));
    rows = mcp_json_get(mcp_reply_structured(reply), "rows");
    assert_int_equal(mcp_json_int(mcp_json_at(mcp_json_at(rows, 0), 0), -1), i);
    mcp_reply_free(reply);
}

static void
a_cancel_never_strikes_the_next_query(void **state)
{
    mcp_call *call;
    struct rig rig;
    int r, strikes;

    seed = 7;
    rig_open(&rig, *state, "1", false);
    strikes = rig.cell == &cells[3] ? SLOW_STRIKES : STRIKES;
    for (int i = 0; i < strikes; i++) {
        bool is_short = i % 2 == 1; /* it may end by itself, just then */

        call = rig_start(&rig, "query", is_short ? "SELECT pg_sleep(0.001)" : SLEEP);
        nap_us(dice(4000));
        (void)mcp_call_cancel(call, NULL);
        r = mcp_call_wait(call, AWAIT_MS, NULL, NULL);
        assert_true(r == MCP_E_CANCELED || (is_short && r == 0));
        mcp_call_free(call);
        expect_next(&rig, i);
    }
    postgres_await(all_of(rig.application), "1"); /* none was closed */
    rig_close(&rig);
}

/* ---- in line -------------------------------------------------------------------- */

static void
calls_wait_in_order_and_one_that_is_canceled_never_runs(void **state)
{
    mcp_call *first, *calls[5], *never;
    struct rig rig;

    rig_open(&rig, *state, "1", true);
    postgres_ask("CREATE TABLE line (id serial, n int)");
    first = rig_start(&rig, "execute", SLEEP);
    postgres_await(busy_of(rig.application), "1");
    never = rig_start(&rig, "execute", "INSERT INTO line (n) VALUES (99)");
    for (int i = 0; i < 5; i++)
        calls[i] = rig_start(&rig, "execute",
                             formatted("INSERT INTO line (n) VALUES (%d)", i));
    assert_int_equal(mcp_call_cancel(never, NULL), 0);
    assert_int_equal(mcp_call_wait(never, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    assert_int_equal(mcp_call_flush(never, AWAIT_MS), 0); /* before its turn comes */
    mcp_call_free(never);
    assert_int_equal(mcp_call_flush(first, 0), MCP_E_STATE); /* it still runs */
    assert_int_equal(mcp_call_cancel(first, NULL), 0);
    rig_end(first, MCP_E_CANCELED);
    for (int i = 0; i < 5; i++)
        rig_end(calls[i], 0);
    assert_string_equal(postgres_ask("SELECT string_agg(n::text, ',' ORDER BY id) "
                                     "FROM line"),
                        "0,1,2,3,4");
    postgres_ask("DROP TABLE line");
    rig_close(&rig);
}

/* ---- other ways to end ---------------------------------------------------------- */

static void
a_timeout_ends_the_query_in_PostgreSQL(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = HOUR_MS);
    struct virtual_clock clock;
    mcp_call *call = NULL;
    struct rig rig;

    rig_open(&rig, *state, "2", false);
    client_clock_hold(&clock, rig.client);
    assert_int_equal(mcp_client_start_tool(rig.client, "query",
                                           "{\"sql\":\"" SLEEP "\"}", &opt, NULL, NULL,
                                           &call),
                     0);
    postgres_await(busy_of(rig.application), "1");
    virtual_clock_pass(&clock, HOUR_MS);
    rig_end(call, MCP_E_TIMEOUT);
    postgres_await(busy_of(rig.application), "0");
    rig_expect(&rig, "SELECT 1", "1");
    rig_close(&rig);
}

/* Nobody cancels it: the server's own limit does. The limit would be that of the next query
 * too: the server shows by a ping that it works, which has none. */
static void
a_query_beyond_the_limit_is_answered_and_stops(void **state)
{
    mcp_error err = {0};
    mcp_call *call;
    struct rig rig;

    rig_open_limited(&rig, *state, "3");
    call = rig_start(&rig, "query", SLEEP);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, &err), MCP_E_PEER);
    mcp_call_free(call);
    postgres_await(busy_of(rig.application), "0");
    assert_int_equal(mcp_client_ping(rig.client, NULL, NULL), 0);
    postgres_await(all_of(rig.application), "1");
    rig_close(&rig);
}

static void
a_client_that_leaves_ends_its_queries(void **state)
{
    mcp_call *calls[4];
    struct rig rig;

    rig_open(&rig, *state, "3", false);
    for (int i = 0; i < 4; i++)
        calls[i] = rig_start(&rig, "query", SLEEP);
    postgres_await(busy_of(rig.application), "3");
    mcp_client_free(rig.client);
    for (int i = 0; i < 4; i++)
        rig_end(calls[i], MCP_E_CLOSED);
    postgres_await(busy_of(rig.application), "0");
    if (rig.cell->is_http) {
        rig_connect(&rig);
        rig_expect(&rig, "SELECT 1", "1");
        rig_close(&rig);
    }
}

static void
a_server_that_stops_ends_its_queries(void **state)
{
    mcp_call *calls[3];
    struct rig rig;
    pid_t pid;

    rig_open(&rig, *state, "3", false);
    pid = rig.cell->is_http ? rig.server : (pid_t)mcp_client_pid(rig.client);
    for (int i = 0; i < 3; i++)
        calls[i] = rig_start(&rig, "query", SLEEP);
    postgres_await(busy_of(rig.application), "3");
    assert_int_equal(kill(pid, SIGTERM), 0);
    for (int i = 0; i < 3; i++) {
        assert_true(mcp_call_wait(calls[i], AWAIT_MS, NULL, NULL) < 0);
        mcp_call_free(calls[i]);
    }
    postgres_await(all_of(rig.application), "0");
    rig_gone(&rig);
}

static void
a_canceled_change_is_rolled_back_and_its_lock_released(void **state)
{
    mcp_call *call;
    struct rig rig;

    rig_open(&rig, *state, "2", true);
    postgres_ask("CREATE TABLE account (id int, amount int);"
                 "INSERT INTO account VALUES (1, 100)");
    call = rig_start(
        &rig, "execute",
        "UPDATE account SET amount = 0 WHERE id = 1 RETURNING pg_sleep(300)");
    postgres_await(busy_of(rig.application), "1");
    postgres_await("SELECT count(*) FROM pg_locks WHERE relation = 'account'::regclass "
                   "AND mode = 'RowExclusiveLock'",
                   "1");
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    rig_end(call, MCP_E_CANCELED);
    assert_string_equal(postgres_ask("SET lock_timeout = '10s'; UPDATE account SET "
                                     "amount = amount + 1 RETURNING amount"),
                        "101");
    rig_expect(&rig, "SELECT amount FROM account", "101");
    postgres_ask("DROP TABLE account");
    rig_close(&rig);
}

/* A thousand rows of which each is large: what is not wanted is not read. */
static void
a_full_page_ends_its_query(void **state)
{
    mcp_reply *reply;
    struct rig rig;

    rig_open(&rig, *state, "1", false);
    reply = rig_sql(&rig, "query",
                    "SELECT repeat('x', 100000) FROM generate_series(1, 1000) a, "
                    "generate_series(1, 1000) b");
    assert_false(mcp_reply_is_error(reply));
    assert_int_equal(mcp_json_count(mcp_json_get(mcp_reply_structured(reply), "rows")),
                     10);
    assert_non_null(mcp_json_get(mcp_reply_structured(reply), "cursor"));
    mcp_reply_free(reply);
    rig_expect(&rig, "SELECT 3", "3");
    reply = rig_call(&rig, "query", "{\"sql\":\"SELECT 1\",\"explain\":true}");
    assert_false(mcp_reply_is_error(reply));
    mcp_reply_free(reply);
    postgres_await(all_of(rig.application), "1");
    rig_close(&rig);
}

/* It is known to be a COPY when its first 8 KB have come, and would go on for minutes. */
static void
a_COPY_is_refused_and_ends_in_PostgreSQL(void **state)
{
    struct rig rig;

    rig_open(&rig, *state, "1", true);
    rig_expect_error(&rig, "execute",
                     "COPY (SELECT repeat('x', 8250) UNION ALL SELECT "
                     "pg_sleep(300)::text) TO STDOUT",
                     "COPY");
    postgres_await(busy_of(rig.application), "0");
    rig_expect_error(&rig, "execute", "COPY pg_class FROM STDIN", "COPY");
    rig_expect(&rig, "SELECT 1", "1");
    postgres_await(all_of(rig.application), "1");
    rig_close(&rig);
}

/* ---- when PostgreSQL does not listen -------------------------------------------- */

/* Its first process stands still: nobody can connect, and cancels go unheard. */
static void
a_connection_that_cannot_be_canceled_is_replaced(void **state)
{
    mcp_call *call, *next;
    mcp_reply *reply = NULL;
    struct rig rig;
    pid_t first;

    rig_open_impatient(&rig, *state, 2);
    call = rig_start(&rig, "query", SLEEP);
    postgres_await(busy_of(rig.application), "1");
    first = postgres_pid();
    assert_int_equal(kill(first, SIGSTOP), 0);
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    rig_end(call, MCP_E_CANCELED); /* at once */
    next = rig_start(&rig, "query", "SELECT 1");
    /* 10 s until it is given up, and 2 s for a new one */
    assert_int_equal(mcp_call_wait(next, 2 * AWAIT_MS, &reply, NULL), 0);
    assert_int_equal(kill(first, SIGCONT), 0);
    assert_true(mcp_reply_is_error(reply));
    assert_non_null(strstr(mcp_reply_text(reply), "cannot be reached"));
    mcp_reply_free(reply);
    mcp_call_free(next);
    postgres_await(busy_of(rig.application), "0"); /* the cancel has come after all */
    rig_expect(&rig, "SELECT 2", "2");
    rig_close(&rig);
}

static void
PostgreSQL_is_stopped_and_its_folder_removed(void **state)
{
    (void)state;
    postgres_down();
}

TEST_MAIN(ON_EACH(a_thousand_canceled_calls_leave_a_full_pool),
          ON_EACH(a_cancel_never_strikes_the_next_query),
          ON_EACH(calls_wait_in_order_and_one_that_is_canceled_never_runs),
          ON_EACH(a_timeout_ends_the_query_in_PostgreSQL),
          ON_EACH(a_query_beyond_the_limit_is_answered_and_stops),
          ON_EACH(a_client_that_leaves_ends_its_queries),
          ON_EACH(a_server_that_stops_ends_its_queries),
          ON_EACH(a_canceled_change_is_rolled_back_and_its_lock_released),
          ON_EACH(a_full_page_ends_its_query),
          ON_EACH(a_COPY_is_refused_and_ends_in_PostgreSQL),
          TEST_AS("stdio_modern.a_connection_that_cannot_be_canceled_is_replaced",
                  a_connection_that_cannot_be_canceled_is_replaced, &cells[0]),
          TEST(PostgreSQL_is_stopped_and_its_folder_removed))
