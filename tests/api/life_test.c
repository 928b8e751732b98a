/* life_test.c - how a server runs, stops and ends, whoever asks for it and where */
#include <signal.h>

#include "api/raw_client.h"
#include "api/request.h"

static int
say(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_text(out, "said");
}

/* Everything is freed by somebody, soon; the memory is the last of it. */
static void
assert_all_is_freed(struct raw *raw)
{
    RAW_UNTIL(atomic_load(&raw->mem->live) == 0);
}

static void
drop_client(struct raw *raw)
{
    if (raw->fd >= 0)
        close(raw->fd);
    free(raw->in);
}

/* ---- running ------------------------------------------------------------ */

struct runner {
    struct raw *raw;
    pthread_t thread;
    int result;
};

static void *
runner_main(void *user)
{
    struct runner *runner = user;

    runner->result = mcp_server_run(runner->raw->server, NULL, NULL);
    return NULL;
}

static void
runner_start(struct runner *runner, struct raw *raw)
{
    runner->raw = raw;
    runner->result = 1;
    assert_int_equal(pthread_create(&runner->thread, NULL, runner_main, runner), 0);
}

static int
runner_join(struct runner *runner)
{
    pthread_join(runner->thread, NULL);
    return runner->result;
}

static void
a_stop_ends_the_run(void **state)
{
    struct runner runner;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_connect(&raw, RAW_MODERN);
    runner_start(&runner, &raw);
    raw_greet(&raw);
    raw_expect_silence(&raw);
    assert_int_equal(mcp_server_run(raw.server, NULL, NULL), MCP_E_STATE);
    assert_int_equal(mcp_server_start(raw.server, NULL), MCP_E_STATE);
    mcp_server_stop(raw.server);
    assert_true(raw_at_eof(&raw));
    assert_int_equal(runner_join(&runner), 0);
    assert_int_equal(mcp_server_run(raw.server, NULL, NULL), MCP_E_STATE);
    assert_int_equal(raw_counts(&raw).clients, 0);
    raw_done(&raw);
}

static void
a_stop_that_came_first_is_not_lost(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_connect(&raw, true);
    mcp_server_stop(raw.server);
    mcp_server_stop(raw.server);
    assert_int_equal(mcp_server_run(raw.server, NULL, NULL), 0);
    assert_true(raw_at_eof(&raw));
    raw_done(&raw);
}

static void
a_server_without_clients_runs_on(void **state)
{
    struct runner runner;
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_connect(&raw, true);
    runner_start(&runner, &raw);
    raw_expect_silence(&raw);
    close(raw.fd);
    RAW_UNTIL(raw_counts(&raw).clients == 0);
    raw_connect(&raw, true); /* somebody else comes while it runs */
    raw_expect_silence(&raw);
    mcp_server_stop(raw.server);
    assert_int_equal(runner_join(&runner), 0);
    raw_done(&raw);
}

static void
bad_arguments_are_refused(void **state)
{
    mcp_run_options odd = {.size = 1};
    struct raw raw;

    (void)state;
    assert_int_equal(mcp_server_run(NULL, NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_start(NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_run_stdio(NULL, NULL), MCP_E_INVAL);
    mcp_server_stop(NULL);
    mcp_server_free(NULL);
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_server_run(raw.server, &odd, NULL), MCP_E_INVAL);
    raw_done(&raw);
}

/* ---- stopping ----------------------------------------------------------- */

static int
stop_server(mcp_request *req, mcp_result *out, void *user)
{
    struct raw *raw = user;

    (void)req;
    mcp_server_stop(raw->server);
    return mcp_result_text(out, "stopping");
}

static void
a_handler_may_stop_its_server(void **state)
{
    struct runner runner;
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "reply", .reply = stop_server, .user = &raw));
    raw_connect(&raw, true);
    runner_start(&runner, &raw);
    raw_call(&raw, "1", "reply", NULL);
    raw_expect(&raw, "stopping"); /* what waits is written */
    assert_true(raw_at_eof(&raw));
    assert_int_equal(runner_join(&runner), 0);
    raw_done(&raw);
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = stop_server, .user = &raw));
    raw_start(&raw, true);
    raw_call(&raw, "1", "run", NULL);
    while (raw_next(&raw)) /* its answer, or the one of the stop */
        continue;
    raw_done(&raw);
}

static mcp_server *signaled;

static void
on_user_signal(int signal)
{
    (void)signal;
    mcp_server_stop(signaled);
}

static void
a_signal_handler_may_stop_it(void **state)
{
    struct sigaction action = {.sa_handler = on_user_signal}, before;
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_start(&raw, true);
    raw_expect_silence(&raw);
    signaled = raw.server;
    sigaction(SIGUSR1, &action, &before);
    raise(SIGUSR1);
    assert_true(raw_at_eof(&raw));
    sigaction(SIGUSR1, &before, NULL);
    raw_done(&raw);
}

static int
say_much(mcp_request *req, mcp_result *out, void *user)
{
    char *text = malloc(1 << 20);
    int r;

    (void)req;
    (void)user;
    memset(text, 'x', 1 << 20);
    r = mcp_result_text_n(out, text, 1 << 20);
    free(text);
    return r;
}

static void
F31_a_client_that_does_not_read_cannot_hold_it(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.stop_ms = 20));
    raw_tool(&raw, MCP_TOOL(.name = "much", .reply = say_much));
    raw_start(&raw, true);
    for (int i = 0; i < 4; i++)
        raw_call(&raw, "1", "much", NULL);
    RAW_UNTIL(raw_counts(&raw).answered >= 1);
    raw_done(&raw); /* returns: that is the test */
}

/* ---- freeing ------------------------------------------------------------ */

static void
one_that_never_ran_is_freed(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_done(&raw);
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "say", .reply = say));
    raw_connect(&raw, true);
    mcp_server_free(raw.server);
    assert_true(raw_at_eof(&raw)); /* its descriptor was closed */
    drop_client(&raw);
    test_mem_done(raw.mem);
}

static void
one_that_somebody_runs_is_freed(void **state)
{
    struct runner runner;
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_connect(&raw, true);
    runner_start(&runner, &raw);
    raw_expect_silence(&raw);
    mcp_server_free(raw.server);
    assert_int_equal(runner_join(&runner), 0);
    drop_client(&raw);
    test_mem_done(raw.mem);
}

static int
free_server(mcp_request *req, mcp_result *out, void *user)
{
    struct raw *raw = user;

    (void)req;
    mcp_server_free(raw->server);
    return mcp_result_text(out, "farewell");
}

static void
a_handler_on_the_loop_may_free_it(void **state)
{
    struct runner runner;
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "free", .reply = free_server, .user = &raw));
    raw_start(&raw, true);
    raw_call(&raw, "1", "free", NULL);
    raw_expect(&raw, "farewell");
    assert_true(raw_at_eof(&raw));
    assert_all_is_freed(&raw);
    drop_client(&raw);
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "free", .reply = free_server, .user = &raw));
    raw_connect(&raw, true);
    runner_start(&runner, &raw);
    raw_call(&raw, "1", "free", NULL);
    raw_expect(&raw, "farewell");
    assert_int_equal(runner_join(&runner), 0);
    drop_client(&raw);
    test_mem_done(raw.mem); /* by the thread that ran it, before it returned */
}

static void
a_handler_on_a_worker_may_free_it(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "free", .run = free_server, .user = &raw));
    raw_start(&raw, true);
    raw_call(&raw, "1", "free", NULL);
    while (raw_next(&raw))
        continue;
    assert_all_is_freed(&raw);
    drop_client(&raw);
}

/* ---- handlers that do not end ------------------------------------------- */

static void
open_deaf(struct raw *raw, struct gate *gate)
{
    raw_make(raw, MCP_SERVER_OPTIONS(.stop_ms = 10));
    raw_tool(raw, MCP_TOOL(.name = "deaf", .run = gate_run, .user = gate));
    raw_start(raw, true);
    raw_call(raw, "1", "deaf", NULL);
    RAW_UNTIL(atomic_load(&gate->entered) == 1);
}

static void
F5_a_deaf_handler_does_not_hold_who_frees(void **state)
{
    struct gate gate = {0};
    struct raw raw;

    (void)state;
    open_deaf(&raw, &gate);
    mcp_server_free(raw.server); /* returns though the handler does not */
    assert_int_equal(atomic_load(&gate.left), 0);
    assert_true(atomic_load(&raw.mem->live) > 0);
    assert_true(raw_logged(&raw, "1 handlers do not end"));
    atomic_store(&gate.open, true);
    assert_all_is_freed(&raw);
    drop_client(&raw);
}

static void
F5_nor_who_has_stopped_it_before(void **state)
{
    struct gate gate = {0};
    struct raw raw;

    (void)state;
    open_deaf(&raw, &gate);
    mcp_server_stop(raw.server);
    while (raw_next(&raw))
        continue;
    RAW_UNTIL(atomic_load(&raw.server->stopped));
    atomic_store(&gate.open, true);
    RAW_UNTIL(atomic_load(&gate.left) ==
              1); /* it goes home when nobody runs the loop */
    mcp_server_free(raw.server);
    drop_client(&raw);
    test_mem_await(raw.mem);
}

static int
free_late(mcp_request *req, mcp_result *out, void *user)
{
    struct raw *raw = user;
    bool running = true;

    atomic_fetch_add(&raw->server->trunk.host.tally.clients,
                     100); /* seen by the test */
    while (running) {
        pthread_mutex_lock(&raw->server->lock);
        running = raw->server->running;
        pthread_mutex_unlock(&raw->server->lock);
        raw_pause();
    }
    return free_server(req, out, raw);
}

static void
a_handler_may_free_a_server_that_nobody_runs(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.stop_ms = 10));
    raw_tool(&raw, MCP_TOOL(.name = "free", .run = free_late, .user = &raw));
    raw_connect(&raw, true);
    raw_call(&raw, "1", "free", NULL);
    {
        struct runner runner;

        runner_start(&runner, &raw);
        RAW_UNTIL(raw_counts(&raw).clients > 100);
        mcp_server_stop(raw.server);
        assert_int_equal(runner_join(&runner), 0);
    }
    while (raw_next(&raw))
        continue;
    assert_all_is_freed(&raw);
    drop_client(&raw);
}

struct later {
    mcp_request *req;
    atomic_int begun;
};

static int
begin_only(mcp_request *req, mcp_result *out, void *user)
{
    struct later *later = user;

    (void)out;
    later->req = req;
    atomic_fetch_add(&later->begun, 1);
    return 0;
}

static void
what_was_begun_may_be_finished_after_the_server_was_freed(void **state)
{
    struct later later = {0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.stop_ms = 10));
    raw_tool(&raw, MCP_TOOL(.name = "begin", .start = begin_only, .user = &later));
    raw_start(&raw, true);
    raw_call(&raw, "1", "begin", NULL);
    RAW_UNTIL(atomic_load(&later.begun) == 1);
    mcp_server_free(raw.server);
    assert_true(mcp_request_is_canceled(later.req));
    assert_string_equal(mcp_request_name(later.req), "begin");
    mcp_request_finish(later.req, MCP_E_CANCELED);
    assert_all_is_freed(&raw);
    drop_client(&raw);
}

/* ---- on a loop of the program's ----------------------------------------- */

/* So much longer than two stops may its freeing wait: drain_ms is not used otherwise. */
static mcp_loop *
open_borrowed(struct raw *raw, struct gate *gate, int64_t drain_ms)
{
    mcp_loop *loop;

    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), 0);
    raw_make(raw,
             MCP_SERVER_OPTIONS(.loop = loop, .stop_ms = 10, .drain_ms = drain_ms));
    raw_tool(raw, MCP_TOOL(.name = "say", .reply = say));
    raw_tool(raw, MCP_TOOL(.name = "deaf", .run = gate_run, .user = gate));
    raw_tool(raw, MCP_TOOL(.name = "free", .reply = free_server, .user = raw));
    raw_connect(raw, true);
    return loop;
}

static void *
loop_main(void *user)
{
    assert_int_equal(mcp_loop_run(user), 0);
    return NULL;
}

static void
loop_join(mcp_loop *loop, pthread_t thread)
{
    mcp_loop_stop(loop);
    pthread_join(thread, NULL);
    mcp_loop_free(loop);
}

static void
a_borrowed_loop_serves_it(void **state)
{
    struct gate gate = {0};
    struct raw raw;
    pthread_t thread;
    mcp_loop *loop = open_borrowed(&raw, &gate, AWAIT_MS);

    (void)state;
    assert_int_equal(mcp_server_run(raw.server, NULL, NULL), MCP_E_STATE);
    assert_int_equal(mcp_server_start(raw.server, NULL), MCP_E_STATE);
    assert_int_equal(mcp_server_run_stdio(raw.server, NULL), MCP_E_STATE);
    assert_int_equal(pthread_create(&thread, NULL, loop_main, loop), 0);
    raw_call(&raw, "1", "say", NULL);
    raw_expect(&raw, "said");
    mcp_server_free(raw.server); /* waits: another thread runs the loop */
    test_mem_done(raw.mem);
    assert_true(raw_at_eof(&raw));
    drop_client(&raw);
    loop_join(loop, thread);
}

static void
a_borrowed_loop_frees_what_a_handler_frees(void **state)
{
    struct gate gate = {0};
    struct raw raw;
    pthread_t thread;
    mcp_loop *loop = open_borrowed(&raw, &gate, AWAIT_MS);

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, loop_main, loop), 0);
    raw_call(&raw, "1", "free", NULL);
    raw_expect(&raw, "farewell");
    assert_all_is_freed(&raw);
    drop_client(&raw);
    loop_join(loop, thread);
}

static void
a_borrowed_loop_frees_it_when_the_last_handler_is_home(void **state)
{
    struct gate gate = {0};
    struct raw raw;
    pthread_t thread;
    mcp_loop *loop = open_borrowed(&raw, &gate, -1);

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, loop_main, loop), 0);
    raw_call(&raw, "1", "deaf", NULL);
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    mcp_server_free(raw.server);
    assert_int_equal(atomic_load(&gate.left), 0);
    atomic_store(&gate.open, true);
    assert_all_is_freed(&raw);
    drop_client(&raw);
    loop_join(loop, thread);
}

static void
a_loop_that_is_stepped_frees_it_too(void **state)
{
    struct gate gate = {0};
    struct raw raw;
    mcp_loop *loop = open_borrowed(&raw, &gate, AWAIT_MS);

    (void)state;
    raw_call(&raw, "1", "say", NULL);
    while (raw_counts(&raw).answered == 0)
        assert_int_equal(mcp_loop_step(loop), 0);
    mcp_server_free(raw.server); /* here it would wait for itself: it does not */
    mcp_loop_free(loop);
    test_mem_done(raw.mem);
    drop_client(&raw);
}

static void
a_loop_that_never_ran_frees_it_too(void **state)
{
    struct gate gate = {0};
    struct raw raw;
    mcp_loop *loop = open_borrowed(&raw, &gate, AWAIT_MS);

    (void)state;
    mcp_server_free(raw.server);
    mcp_loop_free(loop);
    test_mem_done(raw.mem);
    assert_true(raw_at_eof(&raw));
    drop_client(&raw);
}

static void
M26_several_on_one_loop_go_in_any_order(void **state)
{
    struct gate gate = {0};
    struct raw raws[3];
    pthread_t thread;
    mcp_loop *loop = open_borrowed(&raws[0], &gate, AWAIT_MS);

    (void)state;
    for (int i = 1; i < 3; i++) {
        raw_make(&raws[i], MCP_SERVER_OPTIONS(.loop = loop));
        raw_tool(&raws[i], MCP_TOOL(.name = "say", .reply = say));
        raw_connect(&raws[i], true);
    }
    assert_int_equal(pthread_create(&thread, NULL, loop_main, loop), 0);
    for (int i = 0; i < 3; i++) {
        raw_call(&raws[i], "1", "say", NULL);
        raw_expect(&raws[i], "said");
    }
    raw_done(&raws[1]);
    raw_call(&raws[2], "2", "say", NULL);
    raw_expect(&raws[2], "said");
    mcp_server_stop(raws[0].server);
    assert_true(raw_at_eof(&raws[0]));
    raw_call(&raws[2], "3", "say", NULL);
    raw_expect(&raws[2], "said");
    raw_done(&raws[2]);
    raw_done(&raws[0]);
    loop_join(loop, thread);
}

TEST_MAIN(TEST_ERAS(a_stop_ends_the_run), TEST(a_stop_that_came_first_is_not_lost),
          TEST(a_server_without_clients_runs_on), TEST(bad_arguments_are_refused),
          TEST(a_handler_may_stop_its_server), TEST(a_signal_handler_may_stop_it),
          TEST(F31_a_client_that_does_not_read_cannot_hold_it),
          TEST(one_that_never_ran_is_freed), TEST(one_that_somebody_runs_is_freed),
          TEST(a_handler_on_the_loop_may_free_it),
          TEST(a_handler_on_a_worker_may_free_it),
          TEST(F5_a_deaf_handler_does_not_hold_who_frees),
          TEST(F5_nor_who_has_stopped_it_before),
          TEST(a_handler_may_free_a_server_that_nobody_runs),
          TEST(what_was_begun_may_be_finished_after_the_server_was_freed),
          TEST(a_borrowed_loop_serves_it),
          TEST(a_borrowed_loop_frees_what_a_handler_frees),
          TEST(a_borrowed_loop_frees_it_when_the_last_handler_is_home),
          TEST(a_loop_that_is_stepped_frees_it_too),
          TEST(a_loop_that_never_ran_frees_it_too),
          TEST(M26_several_on_one_loop_go_in_any_order))
