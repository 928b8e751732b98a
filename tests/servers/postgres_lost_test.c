/* postgres_lost_test.c - postgres-server: connections that are lost, and come back */
#include <signal.h>
#include <string.h>

#include "servers/postgres_fixture.h"
#include "support/client_clock.h"

#define SLEEPING "wait_event = 'PgSleep'"

static void
terminate(const struct rig *rig, const char *which)
{
    postgres_ask(
        formatted("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                  "application_name = '%s' AND %s",
                  rig->application, which));
}

/* The call gets its rows. */
static void
expect_answer(mcp_call *call)
{
    mcp_reply *reply = NULL;

    assert_int_equal(mcp_call_wait(call, AWAIT_MS, &reply, NULL), 0);
    if (mcp_reply_is_error(reply))
        fail_msg("%s", mcp_reply_text(reply));
    mcp_reply_free(reply);
    mcp_call_free(call);
}

static void
a_connection_that_is_terminated_costs_its_own_call(void **state)
{
    mcp_reply *reply = NULL;
    struct rig rig;
    mcp_call *call;

    rig_open(&rig, *state, "2", false);
    for (int i = 0; i < 5; i++) {
        call = rig_start(&rig, "query", "SELECT pg_sleep(300)");
        rig_expect(&rig, "SELECT 1", "1");
        postgres_await(formatted("%s AND " SLEEPING, all_of(rig.application)), "1");
        terminate(&rig, SLEEPING);
        assert_int_equal(mcp_call_wait(call, AWAIT_MS, &reply, NULL), 0);
        assert_true(mcp_reply_is_error(reply));
        assert_non_null(strstr(mcp_reply_text(reply), "57P01"));
        mcp_reply_free(reply);
        mcp_call_free(call);
        terminate(&rig, "state = 'idle'");
        rig_expect(&rig, "SELECT 2", "2");
    }
    rig_close(&rig);
}

/* The server stands still meanwhile, so that it learns of the call first. */
static void
any_number_of_dead_connections_costs_no_call(void **state)
{
    struct virtual_clock clock;
    mcp_call *calls[3];
    struct rig rig;
    pid_t pid;

    rig_open(&rig, *state, "3", false);
    client_clock_hold(&clock, rig.client);
    pid = (pid_t)mcp_client_pid(rig.client);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            calls[j] = rig_start(&rig, "query", "SELECT pg_sleep(300)");
        postgres_await(busy_of(rig.application), "3");
        for (int j = 0; j < 3; j++) {
            assert_int_equal(mcp_call_cancel(calls[j], NULL), 0);
            rig_end(calls[j], MCP_E_CANCELED);
        }
        postgres_await(busy_of(rig.application), "0");
        assert_int_equal(kill(pid, SIGSTOP), 0);
        calls[0] = rig_start(&rig, "query", "SELECT 1");
        virtual_clock_pass(&clock, 0); /* its loop has turned: the call has left */
        terminate(&rig, "state = 'idle'");
        postgres_await(all_of(rig.application), "0");
        assert_int_equal(kill(pid, SIGCONT), 0);
        expect_answer(calls[0]);
    }
    rig_close(&rig);
}

static void
who_waits_is_served_when_connecting_works_again(void **state)
{
    mcp_call *first, *second;
    struct rig rig;

    rig_open(&rig, *state, "2", false);
    first = rig_start(&rig, "query", "SELECT pg_sleep(300)");
    postgres_await(busy_of(rig.application), "1");
    postgres_hide(true);
    second = rig_start(&rig, "query", "SELECT 1");
    nap_us(300000); /* for it to fail; if it does not, this proves less */
    postgres_hide(false);
    expect_answer(second);
    assert_int_equal(mcp_call_cancel(first, NULL), 0);
    rig_end(first, MCP_E_CANCELED);
    rig_close(&rig);
}

static void
a_restart_of_PostgreSQL_costs_the_calls_that_ran(void **state)
{
    mcp_reply *reply = NULL;
    mcp_call *calls[4];
    struct rig rig;

    rig_open(&rig, *state, "3", false);
    for (int i = 0; i < 4; i++)
        calls[i] = rig_start(&rig, "query", "SELECT pg_sleep(300)");
    postgres_await(busy_of(rig.application), "3");
    postgres_tell("stop");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, &reply, NULL), 0);
        assert_true(mcp_reply_is_error(reply));
        mcp_reply_free(reply);
        mcp_call_free(calls[i]);
    }
    rig_expect_error(&rig, "query", "SELECT 1", "cannot be reached");
    postgres_tell("start");
    rig_expect(&rig, "SELECT 2", "2");
    rig_close(&rig);
}

static void
PostgreSQL_is_stopped_and_its_folder_removed(void **state)
{
    (void)state;
    postgres_down();
}

TEST_MAIN(ON_EACH(a_connection_that_is_terminated_costs_its_own_call),
          ON_ONE(any_number_of_dead_connections_costs_no_call),
          ON_ONE(who_waits_is_served_when_connecting_works_again),
          ON_EACH(a_restart_of_PostgreSQL_costs_the_calls_that_ran),
          TEST(PostgreSQL_is_stopped_and_its_folder_removed))
