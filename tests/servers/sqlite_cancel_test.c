/*
 * sqlite_cancel_test.c - sqlite-server: a cancel, a timeout, a client that leaves
 *
 * Proved from outside: the next query is answered, the process comes to rest, others get
 * the lock of the database, and nothing in it was changed.
 */
#include "servers/sqlite_fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 16, WAVE = 20, WAVES = 3 };

/* Writes without end, and so has the lock of the database. */
#define ENDLESS_INSERT "INSERT INTO many(text) " ENDLESS "SELECT 'x' FROM n"

/* ---- calls that run --------------------------------------------------------------- */

struct runner {
    mcp_call *call;
    double last; /* progress so far; in its callbacks only */
    atomic_bool has_begun, is_wrong;
};

struct wave {
    struct runner runners[WAVE];
    size_t count;
    size_t awaited;
};

static void
on_progress(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    struct runner *runner = user;

    (void)call, (void)total;
    if (progress <= runner->last || !message ||
        !(strstr(message, "million steps") || strstr(message, "waiting for the lock")))
        atomic_store(&runner->is_wrong, true);
    runner->last = progress;
    atomic_store(&runner->has_begun, true);
}

static void
wave_start(struct wave *wave, mcp_client *client, size_t count, const char *tool,
           const char *args, int64_t timeout_ms)
{
    *wave = (struct wave){.count = count};
    for (size_t i = 0; i < count; i++) {
        struct runner *runner = &wave->runners[i];
        const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = timeout_ms,
                                                      .on_progress = on_progress,
                                                      .user = runner);

        assert_int_equal(
            mcp_client_start_tool(client, tool, args, &opt, NULL, NULL, &runner->call),
            0);
    }
}

static bool
has_begun(void *user)
{
    const struct wave *wave = user;
    size_t begun = 0;

    for (size_t i = 0; i < wave->count; i++)
        begun += atomic_load(&wave->runners[i].has_begun);
    return begun >= wave->awaited;
}

/* Wait until so many of them have told of progress. */
static void
wave_await(struct wave *wave, size_t count)
{
    wave->awaited = count;
    wait_until(has_begun, wave);
}

/* All have ended so, or end now; the server has been told. */
static void
wave_end(struct wave *wave, int status)
{
    for (size_t i = 0; i < wave->count; i++)
        if (status == MCP_E_CANCELED)
            assert_int_equal(mcp_call_cancel(wave->runners[i].call, "not wanted"), 0);
    for (size_t i = 0; i < wave->count; i++) {
        mcp_call *call = wave->runners[i].call;

        assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), status);
        if (status == MCP_E_CANCELED)
            assert_int_equal(mcp_call_flush(call, AWAIT_MS), 0);
        assert_false(atomic_load(&wave->runners[i].is_wrong));
        mcp_call_free(call);
    }
}

/* ---- what is left ----------------------------------------------------------------- */

/* Descriptors of the database that the server has. */
static size_t
count_open(const struct place *p)
{
    char folder[64], path[400], target[256];
    struct dirent *entry;
    size_t count = 0;
    ssize_t n;
    DIR *dir;

    (void)snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)p->pid);
    dir = opendir(folder);
    assert_non_null(dir);
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        n = readlink(path, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        count += strcmp(target, p->file) == 0;
    }
    closedir(dir);
    return count;
}

static bool
has_few_open(void *user)
{
    return count_open(user) <= WORKERS;
}

/* Nothing runs in the server any more, and nobody reads or writes the database. */
static void
expect_nothing_runs(struct place *p)
{
    place_sql(p, "BEGIN EXCLUSIVE; ROLLBACK"); /* neither readers nor writers */
    expect_rest(p);
    wait_until(has_few_open, p);
}

/* The server is as if nothing had been, and so is the database. */
static void
expect_nothing_left(struct place *p)
{
    expect_single(p, arguments("SELECT count(*) FROM many", NULL), "2500");
    expect_nothing_runs(p);
}

/* ---- queries ---------------------------------------------------------------------- */

static void
B1_a_query_that_is_canceled_stops(void **state)
{
    struct wave wave;
    struct place p;

    place_make(&p);
    place_open(&p, *state, NULL, NULL);
    wave_start(&wave, p.client, 1, "query", arguments(ENDLESS_QUERY, NULL),
               MCP_TIMEOUT_NONE);
    wave_await(&wave, 1);
    wave_end(&wave, MCP_E_CANCELED);
    expect_nothing_left(&p);
    place_close(&p);
}

/* Each would run for minutes inside of one step, where SQLite looks for nothing. */
static void
a_query_that_is_canceled_inside_a_function_stops(void **state)
{
    static const char *const queries[] = {
        "SELECT trim(printf('%.2000000c', 'A'), printf('%.2000000c', 'B') || 'A')",
        "SELECT rtrim(printf('%.2000000c', 'A'), printf('%.2000000c', 'B') || 'A')",
    };
    struct wave wave;
    struct place p;

    test_limit(200);
    place_make(&p);
    place_open(&p, *state, NULL, NULL);
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        wave_start(&wave, p.client, 1, "query", arguments(queries[i], NULL),
                   MCP_TIMEOUT_NONE);
        expect_work(&p); /* it tells nothing while it is in there */
        wave_end(&wave, MCP_E_CANCELED);
        expect_nothing_left(&p);
    }
    place_close(&p);
}

/* SQLite's own functions would need an hour, and hear of no cancel. */
static void
a_search_in_long_values_is_short(void **state)
{
    static const char *const queries[][2] = {
        {"SELECT instr(hex(zeroblob(2000000)), hex(zeroblob(1000000)) || '1')", "0"},
        {"SELECT length(replace(hex(zeroblob(2000000)), "
         "hex(zeroblob(1000000)) || '1', ''))",
         "4000000"},
    };
    struct place p;

    place_make(&p);
    place_open(&p, *state, NULL, NULL);
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
        expect_single(&p, arguments(queries[i][0], NULL), queries[i][1]);
    expect_nothing_left(&p);
    place_close(&p);
}

static void
many_canceled_queries_leave_nothing(void **state)
{
    struct wave wave;
    struct place p;

    test_limit(200);
    place_make(&p);
    place_open(&p, *state, NULL, NULL);
    for (int i = 0; i < WAVES; i++) {
        wave_start(&wave, p.client, WAVE, "query", arguments(ENDLESS_QUERY, NULL),
                   MCP_TIMEOUT_NONE);
        if (i % 2 == 0) /* the others are canceled while they begin */
            wave_await(&wave, WORKERS);
        wave_end(&wave, MCP_E_CANCELED);
        expect_single(&p, arguments("SELECT 7", NULL), "7");
    }
    expect_nothing_left(&p);
    place_close(&p);
}

static void
queries_that_time_out_leave_nothing(void **state)
{
    struct wave wave;
    struct place p;

    test_limit(200);
    place_make(&p);
    place_open(&p, *state, NULL, NULL);
    for (int64_t ms = 1; ms <= 1000; ms *= 10) {
        wave_start(&wave, p.client, WAVE, "query", arguments(ENDLESS_QUERY, NULL), ms);
        wave_end(&wave, MCP_E_TIMEOUT);
        expect_single(&p, arguments("SELECT 7", NULL), "7");
    }
    expect_nothing_left(&p);
    place_close(&p);
}

/* An interrupt that comes when its statement is over must not strike the next one on
 * that connection. */
static void
no_cancel_strikes_another_query(void **state)
{
    static const char sql[] = ENDLESS
        "SELECT count(*) FROM (SELECT i FROM n LIMIT 2000)";
    struct wave wave;
    struct place p;

    place_make(&p);
    place_open(&p, *state, NULL, NULL);
    for (int i = 0; i < 200; i++) {
        const struct timespec moment = {0, i % 20 * 100000};

        wave_start(&wave, p.client, 3, "query", arguments(sql, NULL), MCP_TIMEOUT_NONE);
        nanosleep(&moment, NULL); /* they are in all phases of their life */
        for (size_t k = 0; k < wave.count; k++)
            mcp_call_free(wave.runners[k].call); /* a cancel, unless it has ended */
        expect_single(&p, arguments(sql, NULL), "2000");
    }
    expect_nothing_left(&p);
    place_close(&p);
}

static void
E18_queries_of_a_client_that_leaves_stop(void **state)
{
    struct wave wave;
    struct place p;
    mcp_client *other;

    place_make(&p);
    place_open(&p, *state, NULL, NULL);
    other = place_connect(&p);
    wave_start(&wave, other, WAVE, "query", arguments(ENDLESS_QUERY, NULL),
               MCP_TIMEOUT_NONE);
    wave_await(&wave, WORKERS);
    mcp_client_free(other);
    wave_end(&wave, MCP_E_CLOSED);
    expect_nothing_left(&p);
    place_close(&p);
}

static void
the_server_ends_while_queries_run(void **state)
{
    struct wave wave;
    struct place p;

    place_make(&p);
    place_open(&p, *state, "--write", NULL);
    wave_start(&wave, p.client, 4, "query", arguments(ENDLESS_QUERY, NULL),
               MCP_TIMEOUT_NONE);
    wave_await(&wave, 4);
    for (size_t i = 0; i < wave.count; i++)
        mcp_call_release(wave.runners[i].call);
    place_close(&p); /* sees that it ends in order */
}

/* The limit would be that of the next query too: the server shows by a ping that it works,
 * which has none. */
static void
F34_a_query_beyond_the_limit_is_answered_and_stops(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = AWAIT_MS);
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    struct place p;

    place_make(&p);
    place_open(&p, *state, "--limit", "0.5");
    assert_int_equal(mcp_client_call_tool(p.client, "query",
                                          arguments(ENDLESS_QUERY, NULL), &opt, &reply,
                                          &err),
                     MCP_E_PEER);
    expect_nothing_runs(&p);
    assert_int_equal(mcp_client_ping(p.client, NULL, NULL), 0);
    place_close(&p);
}

/* ---- changes ---------------------------------------------------------------------- */

static void
a_change_that_is_canceled_is_rolled_back(void **state)
{
    struct wave wave;
    struct place p;

    place_make(&p);
    place_open(&p, *state, "--write", NULL);
    sqlite3_busy_timeout(p.db, 0);
    for (int i = 0; i < 3; i++) {
        wave_start(&wave, p.client, 1, "execute", arguments(ENDLESS_INSERT, NULL),
                   MCP_TIMEOUT_NONE);
        wave_await(&wave, 1);
        assert_int_equal(sqlite3_exec(p.db, "BEGIN IMMEDIATE", NULL, NULL, NULL),
                         SQLITE_BUSY); /* it has the lock */
        wave_end(&wave, MCP_E_CANCELED);
        sqlite3_busy_timeout(p.db, AWAIT_MS);
        place_sql(&p, "BEGIN IMMEDIATE; COMMIT");
        sqlite3_busy_timeout(p.db, 0);
    }
    sqlite3_busy_timeout(p.db, AWAIT_MS);
    expect_nothing_left(&p);
    assert_int_equal(place_number(&p, "SELECT count(*) FROM many"), 2500);
    place_close(&p);
}

/* One has the lock, others wait for it, and all are canceled. */
static void
many_changes_that_are_canceled_leave_nothing(void **state)
{
    struct wave wave;
    struct place p;

    test_limit(200);
    place_make(&p);
    place_open(&p, *state, "--write", NULL);
    for (int i = 0; i < WAVES; i++) {
        wave_start(&wave, p.client, WAVE, "execute", arguments(ENDLESS_INSERT, NULL),
                   i % 3 == 2 ? 300 : MCP_TIMEOUT_NONE);
        if (i % 3 == 0)
            wave_await(&wave, WORKERS);
        wave_end(&wave, i % 3 == 2 ? MCP_E_TIMEOUT : MCP_E_CANCELED);
    }
    expect_nothing_left(&p);
    place_close(&p);
}

/* Were they not woken they would wait for minutes, half of the limit, each on a connection,
 * and those that come after them would need others. They must have heard of it before we let go of the
 * lock: who has not been canceled yet rightly gets it. An answer to what was asked later
 * shows that. */
static void
a_cancel_wakes_who_waits_for_the_lock(void **state)
{
    struct wave wave;
    struct place p;

    place_make(&p);
    place_open(&p, *state, "--write", "--lock=3600");
    place_sql(&p, "BEGIN IMMEDIATE"); /* we have it */
    for (int i = 0; i < 2; i++) {
        wave_start(&wave, p.client, WORKERS, "execute",
                   arguments("DELETE FROM many", NULL), MCP_TIMEOUT_NONE);
        wave_await(&wave, WORKERS);
        wave_end(&wave, MCP_E_CANCELED);
    }
    expect_single(&p, arguments("SELECT 7", NULL), "7");
    wait_until(has_few_open, &p);
    place_sql(&p, "ROLLBACK");
    expect_nothing_left(&p);
    place_close(&p);
}

static void
who_waits_for_the_lock_gets_it(void **state)
{
    struct wave wave;
    struct place p;
    mcp_reply *reply = NULL;

    place_make(&p);
    place_open(&p, *state, "--write", NULL);
    place_sql(&p, "BEGIN IMMEDIATE");
    wave_start(&wave, p.client, 1, "execute",
               arguments("UPDATE many SET text = 'new' WHERE n = 1", NULL), AWAIT_MS);
    wave_await(&wave, 1);
    place_sql(&p, "COMMIT");
    assert_int_equal(mcp_call_wait(wave.runners[0].call, AWAIT_MS, &reply, NULL), 0);
    assert_false(mcp_reply_is_error(reply));
    mcp_reply_free(reply);
    mcp_call_free(wave.runners[0].call);
    expect_nothing_left(&p);
    place_close(&p);
}

/* After half of the limit: there is time to say so. */
static void
who_waits_for_the_lock_too_long_is_told(void **state)
{
    struct place p;

    place_make(&p);
    place_open(&p, *state, "--write", "--limit=8");
    place_sql(&p, "BEGIN IMMEDIATE");
    expect_failure(&p, "execute", arguments("DELETE FROM many", NULL),
                   "database is locked");
    place_sql(&p, "ROLLBACK");
    expect_nothing_left(&p);
    place_close(&p);
}

/* What follows an answer must not keep it back. */
static void
an_answer_does_not_wait_for_the_lock_of_others(void **state)
{
    struct place p;

    place_make(&p);
    place_open(&p, *state, "--lock=3600", NULL);
    place_sql(&p, "BEGIN EXCLUSIVE");
    expect_single(&p, arguments("SELECT 7", NULL), "7"); /* needs no lock */
    place_sql(&p, "ROLLBACK");
    expect_nothing_left(&p);
    place_close(&p);
}

/* clang-format off */
TEST_MAIN(IN_EACH_WAY(B1_a_query_that_is_canceled_stops),
          IN_EACH_WAY(many_canceled_queries_leave_nothing),
          IN_TWO_WAYS(a_query_that_is_canceled_inside_a_function_stops),
          IN_TWO_WAYS(a_search_in_long_values_is_short),
          IN_TWO_WAYS(queries_that_time_out_leave_nothing),
          IN_TWO_WAYS(no_cancel_strikes_another_query),
          TEST_AS("http.modern.E18_queries_of_a_client_that_leaves_stop",
                  E18_queries_of_a_client_that_leaves_stop, &ways[2]),
          TEST_AS("http.legacy.queries_of_a_session_that_ends_stop",
                  E18_queries_of_a_client_that_leaves_stop, &ways[3]),
          IN_TWO_WAYS(the_server_ends_while_queries_run),
          IN_TWO_WAYS(F34_a_query_beyond_the_limit_is_answered_and_stops),
          IN_EACH_WAY(a_change_that_is_canceled_is_rolled_back),
          IN_TWO_WAYS(many_changes_that_are_canceled_leave_nothing),
          IN_TWO_WAYS(a_cancel_wakes_who_waits_for_the_lock),
          IN_TWO_WAYS(who_waits_for_the_lock_gets_it),
          IN_TWO_WAYS(who_waits_for_the_lock_too_long_is_told),
          IN_TWO_WAYS(an_answer_does_not_wait_for_the_lock_of_others))
/* clang-format on */
