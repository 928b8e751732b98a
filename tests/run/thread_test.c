/* thread_test.c - threads and their signals, and waits that end in time */
#include "run/thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/timers.h"
#include "run/loop.h"
#include "support/test.h"

static void *
look_at_mask(void *user)
{
    pthread_sigmask(SIG_SETMASK, NULL, user);
    return user;
}

static void
a_thread_leaves_signals_to_others_but_not_its_own_faults(void **state)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL,
                                 SIGTRAP, SIGSYS, SIGABRT};
    sigset_t mask, before, after;
    pthread_t thread;

    (void)state;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(mcpi_thread_start(&thread, 0, look_at_mask, &mask), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int number = 1; number < 32; number++) { /* those with names */
        bool blocked = number != SIGKILL && number != SIGSTOP;

        for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
            blocked = blocked && number != faults[i];
        assert_int_equal(sigismember(&mask, number), blocked);
        assert_int_equal(sigismember(&after, number), sigismember(&before, number));
    }
}

static bool
sigpipe_is(int (*get)(sigset_t *set))
{
    sigset_t set;

    assert_int_equal(get(&set), 0);
    return sigismember(&set, SIGPIPE) == 1;
}

static int
get_mask(sigset_t *mask)
{
    return pthread_sigmask(SIG_SETMASK, NULL, mask);
}

static void
M21_a_held_sigpipe_is_gone_when_it_is_released(void **state)
{
    struct mcpi_sigpipe outer, inner;
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0);
    close(fds[0]);
    mcpi_sigpipe_hold(&outer);
    assert_int_equal(write(fds[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    assert_true(sigpipe_is(sigpending));
    mcpi_sigpipe_hold(&inner); /* leaves what is not its own */
    mcpi_sigpipe_release(&inner);
    assert_true(sigpipe_is(get_mask) && sigpipe_is(sigpending));
    mcpi_sigpipe_release(&outer);
    assert_false(sigpipe_is(get_mask) || sigpipe_is(sigpending));
    close(fds[1]);
}

static size_t
stack_of(pthread_t thread)
{
    pthread_attr_t attributes;
    size_t size = 0;

    assert_int_equal(pthread_getattr_np(thread, &attributes), 0);
    pthread_attr_getstacksize(&attributes, &size);
    pthread_attr_destroy(&attributes);
    return size;
}

static void *
wait_for_barrier(void *user)
{
    pthread_barrier_wait(user);
    return NULL;
}

static void
a_stack_is_as_large_as_asked_for_and_large_enough(void **state)
{
    static const size_t asked[] = {1, 100001, 1 << 20};
    pthread_barrier_t barrier;
    pthread_t thread;

    (void)state;
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            mcpi_thread_start(&thread, asked[i], wait_for_barrier, &barrier), 0);
        assert_true(stack_of(thread) >= asked[i]);
        pthread_barrier_wait(&barrier);
        pthread_join(thread, NULL);
    }
    pthread_barrier_destroy(&barrier);
}

static void
a_stack_that_cannot_be_is_refused(void **state)
{
    pthread_t thread, untouched;

    (void)state;
    memset(&thread, 0x5a, sizeof thread);
    untouched = thread;
    assert_int_equal(mcpi_thread_start(&thread, SIZE_MAX / 4, look_at_mask, NULL),
                     MCP_E_LIMIT);
    assert_int_equal(mcpi_thread_start(&thread, SIZE_MAX, look_at_mask, NULL),
                     MCP_E_LIMIT);
    assert_memory_equal(&thread, &untouched, sizeof thread);
}

struct wait {
    pthread_mutex_t lock;
    pthread_cond_t condition;
    bool set;
};

static void
wait_open(struct wait *wait)
{
    memset(wait, 0, sizeof *wait);
    pthread_mutex_init(&wait->lock, NULL);
    assert_int_equal(mcpi_cond_init(&wait->condition), 0);
}

static void
wait_close(struct wait *wait)
{
    pthread_cond_destroy(&wait->condition);
    pthread_mutex_destroy(&wait->lock);
}

static void
a_wait_ends_at_its_moment(void **state)
{
    int64_t at = mcpi_loop_clock() + 3000;
    struct wait wait;
    bool in_time = true;

    (void)state;
    wait_open(&wait);
    pthread_mutex_lock(&wait.lock);
    while (in_time)
        in_time = mcpi_cond_wait(&wait.condition, &wait.lock, at);
    assert_true(mcpi_loop_clock() >= at);
    assert_false(mcpi_cond_wait(&wait.condition, &wait.lock, 0)); /* long ago */
    pthread_mutex_unlock(&wait.lock);
    wait_close(&wait);
}

static void *
set_it(void *user)
{
    struct wait *wait = user;

    pthread_mutex_lock(&wait->lock);
    wait->set = true;
    pthread_cond_signal(&wait->condition);
    pthread_mutex_unlock(&wait->lock);
    return NULL;
}

static void
a_wait_ends_when_it_is_signaled(void **state)
{
    const int64_t limits[] = {MCPI_NEVER, MCPI_NEVER - 1,
                              mcpi_loop_clock() + INT64_C(3600000000)};
    struct wait wait;
    pthread_t thread;

    (void)state;
    for (int i = 0; i < 3; i++) {
        wait_open(&wait);
        assert_int_equal(mcpi_thread_start(&thread, 0, set_it, &wait), 0);
        pthread_mutex_lock(&wait.lock);
        while (!wait.set)
            assert_true(mcpi_cond_wait(&wait.condition, &wait.lock, limits[i]));
        pthread_mutex_unlock(&wait.lock);
        pthread_join(thread, NULL);
        wait_close(&wait);
    }
}

TEST_MAIN(TEST(a_thread_leaves_signals_to_others_but_not_its_own_faults),
          TEST(M21_a_held_sigpipe_is_gone_when_it_is_released),
          TEST(a_stack_is_as_large_as_asked_for_and_large_enough),
          TEST(a_stack_that_cannot_be_is_refused), TEST(a_wait_ends_at_its_moment),
          TEST(a_wait_ends_when_it_is_signaled))
