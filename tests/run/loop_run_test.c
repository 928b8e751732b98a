/* loop_run_test.c - who runs the event loop, where, and how it ends */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "run/loop_fixture.h"

/* ---- who runs it ------------------------------------------------------------ */

static void
then_try_to_run(struct item *item)
{
    struct mcpi_loop *loop = item->f->loop;

    item->value = mcpi_loop_run(loop) == MCP_E_STATE &&
                  mcpi_loop_step(loop) == MCP_E_STATE &&
                  mcpi_loop_start(loop) == MCP_E_STATE;
    mcpi_loop_stop(loop);
}

static void
a_loop_is_run_by_one_at_a_time(void **state)
{
    struct fixture f;
    struct item a;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a');
    a.then = then_try_to_run;
    item_post(&a);
    run(&f);
    assert_int_equal(a.value, 1);
    assert_int_equal(mcpi_loop_start(f.loop), 0);
    assert_int_equal(mcpi_loop_start(f.loop), MCP_E_STATE);
    assert_int_equal(mcpi_loop_run(f.loop), MCP_E_STATE);
    assert_int_equal(mcpi_loop_step(f.loop), MCP_E_STATE);
    fixture_close(&f);
}

static void
a_stop_before_the_run_ends_it_after_one_turn(void **state)
{
    struct fixture f;
    struct item a, b;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a'), item_init(&b, &f, 'b');
    item_post(&a);
    mcpi_loop_stop(f.loop);
    run(&f);
    assert_string_equal(f.seen, "a");
    b.then = then_stop; /* and only that run */
    item_arm(&b, mcpi_loop_clock() + 3000);
    run(&f);
    assert_string_equal(f.seen, "ab");
    fixture_close(&f);
}

static struct mcpi_loop *signaled;

static void
on_signal(int number)
{
    (void)number;
    mcpi_loop_stop(signaled);
}

static void
a_signal_handler_may_stop_it(void **state)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    struct fixture f;
    pthread_t self = pthread_self();

    (void)state;
    fixture_open(&f);
    signaled = f.loop;
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    raise(SIGUSR1);
    run(&f);
    assert_int_equal(pthread_kill(self, SIGUSR1), 0);
    run(&f);
    sigaction(SIGUSR1, &before, NULL);
    fixture_close(&f);
}

struct visit {
    struct mcpi_post post;
    struct mcpi_loop *loop;
    sem_t done;
    bool here, any_here;
    sigset_t mask;
};

static void
on_visit(struct mcpi_post *post)
{
    struct visit *visit = MCPI_CONTAINER(post, struct visit, post);

    visit->here = mcpi_loop_is_here(visit->loop);
    visit->any_here = mcpi_loop_any_here();
    pthread_sigmask(SIG_SETMASK, NULL, &visit->mask);
    sem_post(&visit->done);
}

static void
sem_wait_all(sem_t *sem)
{
    while (sem_wait(sem) < 0)
        assert_int_equal(errno, EINTR);
}

/* Post it to a loop on another thread, and wait until it has run. */
static void
visit_run(struct visit *visit, struct mcpi_loop *loop)
{
    memset(visit, 0, sizeof *visit);
    visit->post.fn = on_visit;
    visit->loop = loop;
    assert_int_equal(sem_init(&visit->done, 0, 0), 0);
    mcpi_loop_post(loop, &visit->post);
    sem_wait_all(&visit->done);
    sem_destroy(&visit->done);
}

static void
it_is_here_only_on_the_thread_that_runs_it(void **state)
{
    struct visit visit;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_false(mcpi_loop_is_here(f.loop));
    assert_int_equal(mcpi_loop_start(f.loop), 0);
    visit_run(&visit, f.loop);
    assert_true(visit.here && visit.any_here);
    assert_false(mcpi_loop_is_here(f.loop));
    assert_false(mcpi_loop_any_here());
    fixture_close(&f);
    assert_false(mcpi_loop_any_here());
}

/* A step of one loop from inside another. */
static void
then_step_inner(struct item *item)
{
    struct fixture inner;

    fixture_open(&inner);
    step(&inner);
    item->value = mcpi_loop_any_here() && mcpi_loop_is_here(item->f->loop) &&
                  !mcpi_loop_is_here(inner.loop);
    fixture_close(&inner);
}

static void
a_thread_may_be_inside_of_two_loops(void **state)
{
    struct fixture f;
    struct item a;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a');
    a.then = then_step_inner;
    item_post(&a);
    step(&f);
    assert_int_equal(a.value, 1);
    assert_false(mcpi_loop_any_here());
    fixture_close(&f);
}

static void
its_own_thread_takes_no_signals(void **state)
{
    struct visit visit;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(mcpi_loop_start(f.loop), 0);
    visit_run(&visit, f.loop);
    assert_int_equal(sigismember(&visit.mask, SIGINT), 1);
    assert_int_equal(sigismember(&visit.mask, SIGCHLD), 1);
    assert_int_equal(sigismember(&visit.mask, SIGPIPE), 1);
    fixture_close(&f);
}

static void
a_loop_that_was_stopped_can_be_started_again(void **state)
{
    struct visit visit;
    struct fixture f;
    int r;

    (void)state;
    fixture_open(&f);
    assert_int_equal(mcpi_loop_start(f.loop), 0);
    visit_run(&visit, f.loop);
    mcpi_loop_stop(f.loop);
    do
        r = mcpi_loop_start(f.loop); /* MCP_E_STATE until it has stopped */
    while (r == MCP_E_STATE);
    assert_int_equal(r, 0);
    visit_run(&visit, f.loop);
    assert_true(visit.here);
    fixture_close(&f);
}

static void
a_forked_child_does_not_own_it(void **state)
{
    struct fixture f;
    int status = -1;
    pid_t pid;

    (void)state;
    fixture_open(&f);
    assert_true(mcpi_loop_is_ours(f.loop));
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(mcpi_loop_is_ours(f.loop) ? 1 : 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(mcpi_loop_is_ours(f.loop));
    fixture_close(&f);
}

/* ---- SIGPIPE ---------------------------------------------------------------- */

static void
then_write(struct item *item)
{
    item->value = write(item->fd, "x", 1) < 0 ? errno : 0;
}

static bool
sigpipe_pending(void)
{
    sigset_t pending;

    sigpending(&pending);
    return sigismember(&pending, SIGPIPE) == 1;
}

static bool
sigpipe_blocked(void)
{
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    return sigismember(&mask, SIGPIPE) == 1;
}

/* A step in which somebody writes to a pipe that nobody reads. */
static void
step_and_break_a_pipe(void)
{
    struct sigaction action;
    struct fixture f;
    struct item a;
    int fds[2];

    fixture_open(&f);
    assert_int_equal(pipe(fds), 0);
    close(fds[0]);
    item_init(&a, &f, 'a');
    a.then = then_write;
    a.fd = fds[1];
    item_post(&a);
    step(&f);
    assert_int_equal(a.value, EPIPE);
    a.then = then_stop;
    item_post(&a);
    run(&f);
    assert_int_equal(sigaction(SIGPIPE, NULL, &action), 0);
    assert_true(action.sa_handler == SIG_DFL);
    close(fds[1]);
    fixture_close(&f);
}

static void
M21_a_broken_pipe_is_an_error_and_no_signal(void **state)
{
    (void)state;
    step_and_break_a_pipe();
    assert_false(sigpipe_blocked());
    assert_false(sigpipe_pending());
}

static void
M21_the_callers_own_block_stays_and_gets_no_signal(void **state)
{
    sigset_t pipe_only;

    (void)state;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
    step_and_break_a_pipe();
    assert_true(sigpipe_blocked());
    assert_false(sigpipe_pending());
    pthread_sigmask(SIG_UNBLOCK, &pipe_only, NULL);
}

static void
M21_a_signal_that_was_pending_before_stays(void **state)
{
    struct timespec none = {0, 0};
    sigset_t pipe_only;

    (void)state;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
    assert_int_equal(raise(SIGPIPE), 0);
    step_and_break_a_pipe();
    assert_true(sigpipe_pending());
    assert_int_equal(sigtimedwait(&pipe_only, NULL, &none), SIGPIPE);
    pthread_sigmask(SIG_UNBLOCK, &pipe_only, NULL);
}

/* ---- inside another loop ---------------------------------------------------- */

static void *
post_from_thread(void *user)
{
    item_post(user);
    return NULL;
}

static void
a_post_from_another_thread_makes_the_descriptor_readable(void **state)
{
    pthread_t thread;
    struct fixture f;
    struct item a;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a');
    step(&f);
    assert_false(is_readable(mcpi_loop_fd(f.loop), 0));
    assert_int_equal(pthread_create(&thread, NULL, post_from_thread, &a), 0);
    assert_true(is_readable(mcpi_loop_fd(f.loop), AWAIT_MS));
    pthread_join(thread, NULL);
    step(&f);
    assert_string_equal(f.seen, "a");
    assert_false(is_readable(mcpi_loop_fd(f.loop), 0));
    fixture_close(&f);
}

static void
the_timeout_says_how_long_another_loop_may_sleep(void **state)
{
    struct item a, b;
    struct fixture f;
    int timeout;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a'), item_init(&b, &f, 'b');
    step(&f);
    assert_int_equal(mcpi_loop_timeout_ms(f.loop), -1);
    item_arm(&a, mcpi_loop_clock() + INT64_C(3600000000));
    timeout = mcpi_loop_timeout_ms(f.loop);
    assert_true(timeout > 3000000 && timeout <= 3600000);
    step(&f);
    timeout = mcpi_loop_timeout_ms(f.loop);
    assert_true(timeout > 3000000 && timeout <= 3600000);
    item_arm(&a, mcpi_loop_clock() + INT64_C(3600000000) * 24 * 365);
    timeout = mcpi_loop_timeout_ms(f.loop); /* the old alarm */
    assert_true(timeout > 3000000 && timeout <= 3600000);
    item_arm(&a, 1);
    assert_int_equal(mcpi_loop_timeout_ms(f.loop), 0);
    a.then = then_post_other; /* after the poll: only the timeout can tell */
    a.other = &b;
    step(&f);
    assert_string_equal(f.seen, "a");
    assert_int_equal(mcpi_loop_timeout_ms(f.loop), 0);
    step(&f);
    assert_string_equal(f.seen, "ab");
    fixture_close(&f);
}

static void
the_timeout_is_none_while_something_waits_for_the_next_step(void **state)
{
    struct fixture f;
    struct item a, b;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a'), item_init(&b, &f, 'b');
    step(&f);
    assert_int_equal(mcpi_loop_timeout_ms(f.loop), -1);
    mcpi_loop_flush(f.loop, &a.flush);
    assert_int_equal(mcpi_loop_timeout_ms(f.loop), 0);
    a.then = then_flush_other; /* in the last part of a step */
    a.other = &b;
    b.then = then_post_other;
    b.other = &a;
    step(&f);
    assert_string_equal(f.seen, "ab");
    assert_int_equal(mcpi_loop_timeout_ms(f.loop), 0);
    a.then = NULL;
    step(&f);
    assert_string_equal(f.seen, "aba");
    fixture_close(&f);
}

static void
on_uv_timer(uv_timer_t *timer)
{
    (void)timer;
}

static void
the_timeout_knows_of_timers_that_are_libuvs_own(void **state)
{
    uv_timer_t timer;
    struct fixture f;
    int64_t from;

    (void)state;
    fixture_open(&f);
    uv_timer_init(mcpi_loop_uv(f.loop), &timer);
    step(&f);
    uv_timer_start(&timer, on_uv_timer, 30, 0);
    from = mcpi_loop_clock();
    while (mcpi_loop_clock() < from + 10000)
        continue;
    assert_in_range(mcpi_loop_timeout_ms(f.loop), 0, 25); /* ten of thirty are gone */
    uv_close((uv_handle_t *)&timer, NULL);
    fixture_close(&f);
}

static void
a_descriptor_watched_between_two_steps_is_not_slept_over(void **state)
{
    struct reader reader;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    step(&f);
    reader_open(&reader, &f);
    assert_int_equal(mcpi_loop_timeout_ms(f.loop), 0);
    step(&f);
    assert_int_equal(mcpi_loop_timeout_ms(f.loop), -1);
    assert_int_equal(write(reader.fds[1], "x", 1), 1);
    assert_true(is_readable(mcpi_loop_fd(f.loop), AWAIT_MS));
    step(&f);
    assert_string_equal(f.seen, "r");
    reader_close(&reader);
    fixture_close(&f);
}

/* ---- making and freeing ----------------------------------------------------- */

static void
free_runs_what_still_waits(void **state)
{
    struct item items[10];
    struct fixture f;

    (void)state;
    fixture_open(&f);
    for (int i = 0; i < 10; i++) {
        item_init(&items[i], &f, (char)('a' + i));
        items[i].then = i < 9 ? then_post_other : NULL;
        items[i].other = i < 9 ? &items[i + 1] : NULL;
    }
    item_post(&items[0]);
    fixture_close(&f);
    assert_string_equal(f.seen, "abcdefghij");
    mcpi_loop_free(NULL);
}

struct closer {
    struct mcpi_post post;
    uv_timer_t timer;
    bool closed;
};

static void
on_closed(uv_handle_t *handle)
{
    struct closer *closer = handle->data;

    closer->closed = true;
}

static void
close_timer(struct mcpi_post *post)
{
    struct closer *closer = MCPI_CONTAINER(post, struct closer, post);

    uv_close((uv_handle_t *)&closer->timer, on_closed);
}

static void
free_lets_handles_that_a_post_closes_finish(void **state)
{
    struct closer closer = {.post.fn = close_timer};
    struct fixture f;

    (void)state;
    fixture_open(&f);
    uv_timer_init(mcpi_loop_uv(f.loop), &closer.timer);
    closer.timer.data = &closer;
    mcpi_loop_post(f.loop, &closer.post);
    fixture_close(&f);
    assert_true(closer.closed);
}

struct racer {
    struct mcpi_post post;
    struct mcpi_loop *loop;
    atomic_bool ran;
};

static void
racer_ran(struct mcpi_post *post)
{
    struct racer *racer = MCPI_CONTAINER(post, struct racer, post);

    atomic_store(&racer->ran, true);
}

static void *
racer_main(void *user)
{
    struct racer *racer = user;

    mcpi_loop_post(racer->loop, &racer->post);
    return NULL;
}

static void
it_may_be_freed_as_soon_as_the_last_post_has_run(void **state)
{
    struct racer racer;
    pthread_t thread;
    struct fixture f;

    (void)state;
    for (int round = 0; round < 200; round++) {
        fixture_open(&f);
        racer = (struct racer){.post.fn = racer_ran, .loop = f.loop};
        assert_int_equal(mcpi_loop_start(f.loop), 0);
        assert_int_equal(pthread_create(&thread, NULL, racer_main, &racer), 0);
        while (!atomic_load(&racer.ran))
            sched_yield();
        fixture_close(&f); /* its thread may still be inside the post */
        pthread_join(thread, NULL);
    }
}

static void
make_and_step(struct test_mem *mem, void *user)
{
    struct mcpi_loop *loop = NULL;
    int r = mcpi_loop_new(&mem->allocator, NULL, &loop);

    (void)user;
    assert_int_equal(r, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    if (r == 0)
        assert_int_equal(mcpi_loop_step(loop), 0);
    mcpi_loop_free(loop);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(make_and_step, NULL), 1);
}

/* libuv keeps what it opened first for the whole process, so one loop comes before. */
static void
without_descriptors_there_is_no_loop(void **state)
{
    struct mcpi_loop *loop = NULL;
    struct rlimit before, few;
    struct fixture f;
    int first, r;

    (void)state;
    fixture_open(&f);
    first = dup(0);
    assert_true(first >= 0);
    close(first);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    for (few.rlim_cur = (rlim_t)first;; few.rlim_cur++) {
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        r = mcpi_loop_new(&f.mem.allocator, NULL, &loop);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (r == 0)
            break;
        assert_int_equal(r, MCP_E_LIMIT);
    }
    assert_true(few.rlim_cur > (rlim_t)first);
    mcpi_loop_free(loop);
    fixture_close(&f);
}

static void
it_keeps_its_allocator_and_its_log(void **state)
{
    struct mcpi_log log = {.user = state, .level = MCP_LOG_INFO};
    struct mcpi_loop *loop;
    struct test_mem mem;

    test_mem_init(&mem);
    assert_int_equal(mcpi_loop_new(&mem.allocator, &log, &loop), 0);
    assert_ptr_equal(mcpi_loop_mem(loop), &mem.allocator);
    assert_ptr_equal(mcpi_loop_log(loop)->user, state);
    assert_int_equal(mcpi_loop_log(loop)->level, MCP_LOG_INFO);
    mcpi_loop_free(loop);
    test_mem_done(&mem);
}

TEST_MAIN(TEST(a_loop_is_run_by_one_at_a_time),
          TEST(a_stop_before_the_run_ends_it_after_one_turn),
          TEST(a_signal_handler_may_stop_it),
          TEST(it_is_here_only_on_the_thread_that_runs_it),
          TEST(a_thread_may_be_inside_of_two_loops),
          TEST(its_own_thread_takes_no_signals),
          TEST(a_loop_that_was_stopped_can_be_started_again),
          TEST(a_forked_child_does_not_own_it),
          TEST(M21_a_broken_pipe_is_an_error_and_no_signal),
          TEST(M21_the_callers_own_block_stays_and_gets_no_signal),
          TEST(M21_a_signal_that_was_pending_before_stays),
          TEST(a_post_from_another_thread_makes_the_descriptor_readable),
          TEST(the_timeout_says_how_long_another_loop_may_sleep),
          TEST(the_timeout_is_none_while_something_waits_for_the_next_step),
          TEST(the_timeout_knows_of_timers_that_are_libuvs_own),
          TEST(a_descriptor_watched_between_two_steps_is_not_slept_over),
          TEST(free_runs_what_still_waits),
          TEST(free_lets_handles_that_a_post_closes_finish),
          TEST(it_may_be_freed_as_soon_as_the_last_post_has_run),
          TEST(each_allocation_may_fail), TEST(without_descriptors_there_is_no_loop),
          TEST(it_keeps_its_allocator_and_its_log))
