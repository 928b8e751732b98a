/* loop_test.c - the public loop: run, stopped, or stepped inside another one */
#include <mcp/client.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/client.h"
#include "api/loop.h"
#include "support/script.h"
#include "support/test.h"

static mcp_loop *
make_loop(struct test_mem *mem)
{
    mcp_loop *loop;

    test_mem_init(mem);
    assert_int_equal(
        mcp_loop_new(&MCP_LOOP_OPTIONS(.allocator = &mem->allocator), &loop, NULL), 0);
    return loop;
}

/* What the header prescribes for a loop inside another one. */
static void
turn(mcp_loop *loop)
{
    struct pollfd fd = {.fd = mcp_loop_fd(loop), .events = POLLIN};
    int ms = mcp_loop_timeout_ms(loop);

    if (ms < 0 || ms > 20000)
        ms = 20000;
    (void)poll(&fd, 1, ms);
    assert_int_equal(mcp_loop_step(loop), 0);
}

static void *
run_it(void *user)
{
    return (void *)(intptr_t)mcp_loop_run(user);
}

static void
a_stepped_loop_carries_a_client(void **state)
{
    struct test_mem mem;
    struct told told;
    struct script s;
    mcp_client *client;
    mcp_loop *loop = make_loop(&mem);

    (void)state;
    told_init(&told);
    script_open(&s, MCP_ERA_LEGACY);
    client = script_client(&s,
                           &SCRIPT_OPTIONS(.allocator = &mem.allocator, .loop = loop,
                                           .callbacks_on_loop = true, .no_wait = true,
                                           .on_state = told_state, .user = &told));
    assert_int_equal(mcp_loop_step(loop), 0);
    assert_int_equal(
        mcp_client_start_tool(client, "echo", NULL, NULL, told_done, &told, NULL),
        0); /* waits in line */
    while (told_count(&told, done) == 0)
        turn(loop);
    assert_int_equal(told_count(&told, states), 1);
    assert_int_equal(told_status(&told), 0);
    mcp_client_free(client); /* only begins: this is the loop's thread */
    mcp_loop_free(loop);     /* ends it */
    script_await_end(&s);
    script_close(&s);
    told_clear(&told);
    test_mem_done(&mem);
}

static void
a_timeout_fires_in_a_stepped_loop(void **state)
{
    struct test_mem mem;
    struct told told;
    struct script s;
    mcp_client *client;
    mcp_loop *loop = make_loop(&mem);

    (void)state;
    told_init(&told);
    script_open(&s, MCP_ERA_MODERN);
    client = script_client(&s,
                           &SCRIPT_OPTIONS(.allocator = &mem.allocator, .loop = loop,
                                           .callbacks_on_loop = true, .no_wait = true));
    assert_int_equal(mcp_loop_step(loop), 0);
    assert_int_equal(mcp_client_start_tool(client, "hang", NULL,
                                           &MCP_CALL_OPTIONS(.timeout_ms = 30),
                                           told_done, &told, NULL),
                     0);
    assert_int_equal(mcp_client_ping(client, NULL, NULL), MCP_E_STATE); /* not ready */
    while (told_count(&told, done) == 0)
        turn(loop);
    assert_int_equal(told_status(&told), MCP_E_TIMEOUT);
    assert_int_equal(mcp_client_ping(client, NULL, NULL), MCP_E_STATE); /* its thread */
    mcp_client_free(client);
    mcp_loop_free(loop);
    script_close(&s);
    told_clear(&told);
    test_mem_done(&mem);
}

static void
two_clients_share_a_loop_that_runs(void **state)
{
    mcp_client *client[2];
    struct script s[2];
    struct test_mem mem;
    pthread_t thread;
    mcp_loop *loop = make_loop(&mem);
    int i;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, run_it, loop), 0);
    for (i = 0; i < 2; i++) {
        script_open(&s[i], i ? MCP_ERA_LEGACY : MCP_ERA_MODERN);
        client[i] = script_client(
            &s[i], &SCRIPT_OPTIONS(.allocator = &mem.allocator, .loop = loop));
    }
    for (i = 0; i < 2; i++)
        assert_int_equal(
            mcp_client_call_tool(client[i], "echo", NULL, NULL, NULL, NULL), 0);
    mcp_client_free(client[0]);
    assert_int_equal(mcp_client_call_tool(client[1], "echo", NULL, NULL, NULL, NULL),
                     0);
    mcp_client_free(client[1]);
    mcp_loop_stop(loop);
    pthread_join(thread, NULL);
    mcp_loop_free(loop);
    for (i = 0; i < 2; i++)
        script_close(&s[i]);
    test_mem_done(&mem);
}

static void
a_client_is_freed_after_its_loop_was_stopped(void **state)
{
    struct test_mem mem;
    struct script s;
    mcp_client *client;
    pthread_t thread;
    mcp_loop *loop = make_loop(&mem);

    (void)state;
    script_open(&s, MCP_ERA_MODERN);
    assert_int_equal(pthread_create(&thread, NULL, run_it, loop), 0);
    client = script_client(&s,
                           &SCRIPT_OPTIONS(.allocator = &mem.allocator, .loop = loop));
    mcp_loop_stop(loop);
    pthread_join(thread, NULL);
    mcp_client_free(client); /* nobody would end its waiting */
    mcp_loop_free(loop);
    script_await_end(&s);
    script_close(&s);
    test_mem_done(&mem);
}

struct stepping {
    mcp_loop *loop;
    atomic_bool over;
};

static void *
step_it(void *user)
{
    struct stepping *stepping = user;
    struct pollfd fd = {.fd = mcp_loop_fd(stepping->loop), .events = POLLIN};
    int r = 0;

    while (r == 0 && !atomic_load(&stepping->over)) {
        r = mcp_loop_step(stepping->loop);
        (void)poll(&fd, 1, 5);
    }
    return (void *)(intptr_t)r;
}

static void
M26_a_client_is_freed_after_the_thread_that_stepped_its_loop(void **state)
{
    struct stepping stepping;
    struct test_mem mem;
    struct script s;
    mcp_client *client;
    pthread_t thread;

    (void)state;
    stepping.loop = make_loop(&mem);
    atomic_init(&stepping.over, false);
    script_open(&s, MCP_ERA_MODERN);
    assert_int_equal(pthread_create(&thread, NULL, step_it, &stepping), 0);
    while (!mcpi_loop_is_run_elsewhere(stepping.loop))
        sched_yield();
    client = script_client(
        &s, &SCRIPT_OPTIONS(.allocator = &mem.allocator, .loop = stepping.loop));
    atomic_store(&stepping.over, true);
    pthread_join(thread, NULL);
    mcp_client_free(client);      /* finds out that nobody steps it any more */
    mcp_loop_free(stepping.loop); /* ends it */
    script_await_end(&s);
    script_close(&s);
    test_mem_done(&mem);
}

struct stopping {
    mcp_loop *loop;
    mcp_client *client;
    atomic_bool held;
};

/* It has looked at the loop, and decided to wait for it. */
static bool
is_being_freed(mcp_client *client)
{
    bool freed;

    pthread_mutex_lock(&client->lock);
    freed = client->is_freed;
    pthread_mutex_unlock(&client->lock);
    return freed;
}

/* The loop goes no further than this turn, and is in it when the freeing begins. */
static void
stop_and_hold(void *user)
{
    struct stopping *stopping = user;

    mcp_loop_stop(stopping->loop);
    atomic_store(&stopping->held, true);
    while (!is_being_freed(stopping->client))
        sched_yield();
}

static void
M26_a_client_is_freed_while_its_loop_stops(void **state)
{
    struct stopping stopping;
    struct test_mem mem;
    struct script s;
    mcp_client *client;
    pthread_t thread;

    (void)state;
    stopping.loop = make_loop(&mem);
    atomic_init(&stopping.held, false);
    script_open(&s, MCP_ERA_MODERN);
    assert_int_equal(pthread_create(&thread, NULL, run_it, stopping.loop), 0);
    client = script_client(
        &s, &SCRIPT_OPTIONS(.allocator = &mem.allocator, .loop = stopping.loop));
    stopping.client = client;
    assert_int_equal(mcp_loop_post(stopping.loop, stop_and_hold, &stopping), 0);
    while (!atomic_load(&stopping.held))
        sched_yield();
    mcp_client_free(client);
    pthread_join(thread, NULL);
    mcp_loop_free(stopping.loop);
    script_await_end(&s);
    script_close(&s);
    test_mem_done(&mem);
}

struct inside {
    struct told told;
    mcp_loop *loop;
    int run, step;
    bool is_its_thread;
};

static void
try_inside(mcp_client *client, int status, void *user)
{
    struct inside *inside = user;

    inside->run = mcp_loop_run(inside->loop);
    inside->step = mcp_loop_step(inside->loop);
    inside->is_its_thread = mcpi_loop_is_its_thread(inside->loop);
    told_state(client, status, &inside->told);
}

static void
a_loop_runs_once_at_a_time(void **state)
{
    struct inside inside = {.run = 1};
    struct test_mem mem;
    struct script s;
    mcp_client *client;
    pthread_t thread;

    (void)state;
    told_init(&inside.told);
    inside.loop = make_loop(&mem);
    assert_false(mcpi_loop_is_run_elsewhere(inside.loop));
    script_open(&s, MCP_ERA_MODERN);
    assert_int_equal(pthread_create(&thread, NULL, run_it, inside.loop), 0);
    client = script_client(
        &s, &SCRIPT_OPTIONS(.allocator = &mem.allocator, .loop = inside.loop,
                            .callbacks_on_loop = true, .on_state = try_inside,
                            .user = &inside));
    told_await(&inside.told, states, 1);
    assert_int_equal(inside.run, MCP_E_STATE);
    assert_int_equal(inside.step, MCP_E_STATE);
    assert_true(inside.is_its_thread);
    assert_false(mcpi_loop_is_its_thread(inside.loop));
    assert_true(mcpi_loop_is_run_elsewhere(inside.loop));
    assert_int_equal(mcp_loop_run(inside.loop), MCP_E_STATE);
    mcp_client_free(client);
    mcp_loop_stop(inside.loop);
    pthread_join(thread, NULL);
    mcp_loop_free(inside.loop);
    script_close(&s);
    told_clear(&inside.told);
    test_mem_done(&mem);
}

static void
a_stop_before_the_run_ends_it(void **state)
{
    struct test_mem mem;
    mcp_loop *loop = make_loop(&mem);

    (void)state;
    mcp_loop_stop(loop);
    assert_int_equal(mcp_loop_run(loop), 0);
    mcp_loop_free(loop);
    test_mem_done(&mem);
}

static void
what_is_kept_answers_after_the_free(void **state)
{
    struct test_mem mem;
    mcp_loop *loop = make_loop(&mem);

    (void)state;
    assert_int_equal(mcp_loop_step(loop), 0);
    assert_true(mcpi_loop_is_its_thread(loop));
    assert_ptr_equal(mcpi_loop_keep(loop), loop);
    mcp_loop_free(loop);
    assert_false(mcpi_loop_is_its_thread(loop));
    assert_false(mcpi_loop_is_run_elsewhere(loop));
    mcpi_loop_drop(loop);
    test_mem_done(&mem);
}

static void
in_a_forked_process_it_cannot_be_used(void **state)
{
    struct test_mem mem;
    mcp_loop *loop = make_loop(&mem);
    int status;
    pid_t pid;

    (void)state;
    pid = fork();
    if (pid == 0) {
        bool ok = mcp_loop_run(loop) == MCP_E_STATE &&
                  mcp_loop_step(loop) == MCP_E_STATE && mcp_loop_timeout_ms(loop) == -1;

        mcp_loop_stop(loop);
        mcp_loop_free(loop);
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(mcp_loop_step(loop), 0);
    mcp_loop_free(loop);
    test_mem_done(&mem);
}

static void
no_loop_is_refused(void **state)
{
    mcp_loop_options opt = MCP_LOOP_OPTIONS();
    mcp_loop *loop;
    mcp_error err;

    (void)state;
    opt.size = 1;
    assert_int_equal(mcp_loop_new(&opt, &loop, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "these are no options of a loop");
    assert_int_equal(mcp_loop_new(NULL, NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_loop_run(NULL), MCP_E_INVAL);
    assert_int_equal(mcp_loop_step(NULL), MCP_E_INVAL);
    assert_int_equal(mcp_loop_fd(NULL), MCP_E_INVAL);
    assert_int_equal(mcp_loop_timeout_ms(NULL), MCP_E_INVAL);
    mcp_loop_stop(NULL);
    mcp_loop_free(NULL);
}

static void
loop_once(struct test_mem *mem, void *user)
{
    mcp_loop *loop = NULL;
    int r;

    (void)user;
    r = mcp_loop_new(&MCP_LOOP_OPTIONS(.allocator = &mem->allocator), &loop, NULL);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    mcp_loop_free(loop);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_in_range(test_each_allocation_fails(loop_once, NULL), 2, 10);
}

TEST_MAIN(TEST(a_stepped_loop_carries_a_client),
          TEST(a_timeout_fires_in_a_stepped_loop),
          TEST(two_clients_share_a_loop_that_runs),
          TEST(a_client_is_freed_after_its_loop_was_stopped),
          TEST(M26_a_client_is_freed_after_the_thread_that_stepped_its_loop),
          TEST(M26_a_client_is_freed_while_its_loop_stops),
          TEST(a_loop_runs_once_at_a_time), TEST(a_stop_before_the_run_ends_it),
          TEST(what_is_kept_answers_after_the_free),
          TEST(in_a_forked_process_it_cannot_be_used), TEST(no_loop_is_refused),
          TEST(each_allocation_may_fail))
