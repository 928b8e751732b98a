/* pool_test.c - workers: started by need, bounded twice, never starved, all joined */
#include "run/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define HOUR INT64_C(3600000000)

struct fixture {
    struct test_mem mem;
    struct mcpi_pool *pool;
    pthread_mutex_t lock;
    char seen[64]; /* the names of what ran; under lock */
    atomic_int warnings;
};

/* A job that says when it has begun, writes its name down, and ends when it may. */
struct task {
    struct mcpi_job job;
    struct fixture *f;
    char name;
    bool holds; /* until task_let_go */
    void (*then)(struct task *task);
    sem_t begun, go, over;
    int result;
    pthread_t thread;
    sigset_t mask;
};

static void
await(sem_t *sem)
{
    while (sem_wait(sem) < 0)
        assert_int_equal(errno, EINTR);
}

static void
task_work(struct mcpi_job *job)
{
    struct task *task = MCPI_CONTAINER(job, struct task, job);
    size_t len;

    pthread_mutex_lock(&task->f->lock);
    len = strlen(task->f->seen);
    task->f->seen[len] = task->name;
    pthread_mutex_unlock(&task->f->lock);
    task->thread = pthread_self();
    pthread_sigmask(SIG_SETMASK, NULL, &task->mask);
    sem_post(&task->begun);
    if (task->holds)
        await(&task->go);
    if (task->then)
        task->then(task);
    sem_post(&task->over);
}

static void
task_init(struct task *task, struct fixture *f, char name, bool holds)
{
    memset(task, 0, sizeof *task);
    task->job.work = task_work;
    task->f = f;
    task->name = name;
    task->holds = holds;
    assert_int_equal(sem_init(&task->begun, 0, 0), 0);
    assert_int_equal(sem_init(&task->go, 0, 0), 0);
    assert_int_equal(sem_init(&task->over, 0, 0), 0);
}

static void
task_submit(struct task *task)
{
    assert_int_equal(mcpi_pool_submit(task->f->pool, &task->job), 0);
}

/* Submitted, running, and held there. */
static void
task_hold(struct task *task, struct fixture *f, char name)
{
    task_init(task, f, name, true);
    task_submit(task);
    await(&task->begun);
}

static void
task_let_go(struct task *task)
{
    sem_post(&task->go);
}

static void
task_end(struct task *task)
{
    task_let_go(task);
    await(&task->over);
}

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    struct fixture *f = user;

    (void)line;
    if (level == MCP_LOG_WARNING)
        atomic_fetch_add(&f->warnings, 1);
}

static void
fixture_open(struct fixture *f, size_t workers, size_t surplus)
{
    struct mcpi_pool_options opt = {.workers = workers, .surplus = surplus};

    memset(f, 0, sizeof *f);
    test_mem_init(&f->mem);
    pthread_mutex_init(&f->lock, NULL);
    opt.mem = &f->mem.allocator;
    opt.log = (struct mcpi_log){on_log, f, MCP_LOG_WARNING};
    opt.idle_us = HOUR;
    assert_int_equal(mcpi_pool_new(&opt, &f->pool), 0);
}

static void
fixture_close(struct fixture *f)
{
    assert_int_equal(mcpi_pool_free(f->pool, AWAIT_US), 0);
    pthread_mutex_destroy(&f->lock);
    test_mem_done(&f->mem);
}

static struct mcpi_pool_counts
counts(struct fixture *f)
{
    struct mcpi_pool_counts counts;

    mcpi_pool_count(f->pool, &counts);
    return counts;
}

/* ---- workers ---------------------------------------------------------------- */

static void
workers_start_with_the_first_job_and_stay_for_the_next(void **state)
{
    struct fixture f;
    struct task a, b;

    (void)state;
    fixture_open(&f, 4, 0);
    assert_int_equal(counts(&f).threads, 0);
    task_hold(&a, &f, 'a');
    assert_int_equal(counts(&f).threads, 1);
    assert_int_equal(counts(&f).busy, 1);
    task_end(&a);
    while (counts(&f).busy > 0)
        sched_yield();
    assert_int_equal(counts(&f).threads, 1);
    task_hold(&b, &f, 'b');
    assert_int_equal(counts(&f).threads, 1);
    assert_true(pthread_equal(a.thread, b.thread));
    task_end(&b);
    fixture_close(&f);
}

static void
a_bound_of_one_runs_jobs_in_order(void **state)
{
    struct task first, tasks[5];
    struct fixture f;

    (void)state;
    fixture_open(&f, 1, 0);
    task_hold(&first, &f, '-');
    for (int i = 0; i < 5; i++) {
        task_init(&tasks[i], &f, (char)('a' + i), false);
        task_submit(&tasks[i]);
    }
    assert_int_equal(counts(&f).queued, 5);
    task_let_go(&first);
    await(&tasks[4].over);
    assert_string_equal(f.seen, "-abcde");
    assert_int_equal(counts(&f).threads, 1);
    fixture_close(&f);
}

static void
no_more_workers_count_than_the_bound(void **state)
{
    struct task held[3], waits;
    struct fixture f;

    (void)state;
    fixture_open(&f, 3, 0);
    for (int i = 0; i < 3; i++)
        task_hold(&held[i], &f, 'h');
    task_init(&waits, &f, 'w', false);
    task_submit(&waits);
    assert_int_equal(counts(&f).threads, 3);
    assert_int_equal(counts(&f).queued, 1);
    assert_int_equal(sem_trywait(&waits.begun), -1);
    task_let_go(&held[1]);
    await(&waits.over);
    task_end(&held[0]);
    task_end(&held[2]);
    fixture_close(&f);
}

/* Two at once, though the first worker of two has not taken its job yet. */
static void
jobs_that_come_together_get_workers_of_their_own(void **state)
{
    struct task tasks[8];
    struct fixture f;

    (void)state;
    fixture_open(&f, 8, 0);
    for (int i = 0; i < 8; i++) {
        task_init(&tasks[i], &f, 't', true);
        task_submit(&tasks[i]);
    }
    for (int i = 0; i < 8; i++)
        await(&tasks[i].begun); /* all at the same time */
    for (int i = 0; i < 8; i++)
        task_end(&tasks[i]);
    fixture_close(&f);
}

static void
an_idle_worker_goes_after_a_while_and_the_next_job_starts_one(void **state)
{
    struct mcpi_pool_options opt = {.workers = 2, .idle_us = 1000};
    struct fixture f;
    struct task a;

    (void)state;
    fixture_open(&f, 1, 0);
    assert_int_equal(mcpi_pool_free(f.pool, 0), 0);
    opt.mem = &f.mem.allocator;
    assert_int_equal(mcpi_pool_new(&opt, &f.pool), 0);
    for (int i = 0; i < 5; i++) {
        task_hold(&a, &f, 'a');
        task_end(&a);
        while (counts(&f).threads > 0)
            sched_yield();
    }
    fixture_close(&f);
}

static void
a_worker_takes_no_signals(void **state)
{
    struct fixture f;
    struct task a;

    (void)state;
    fixture_open(&f, 1, 0);
    task_hold(&a, &f, 'a');
    task_end(&a);
    assert_int_equal(sigismember(&a.mask, SIGINT), 1);
    assert_int_equal(sigismember(&a.mask, SIGCHLD), 1);
    assert_int_equal(sigismember(&a.mask, SIGSEGV), 0);
    fixture_close(&f);
}

static void
then_look_where_we_are(struct task *task)
{
    task->result = mcpi_pool_is_here(task->f->pool);
}

static void
it_is_here_on_its_own_workers_only(void **state)
{
    struct fixture f, other;
    struct task a, b;

    (void)state;
    fixture_open(&f, 1, 0);
    fixture_open(&other, 1, 0);
    task_init(&a, &f, 'a', false);
    task_init(&b, &f, 'b', false);
    a.then = b.then = then_look_where_we_are;
    task_submit(&a);
    await(&a.over);
    b.f = &other;
    assert_int_equal(mcpi_pool_submit(f.pool, &b.job), 0);
    await(&b.over);
    assert_true(a.result);
    assert_false(b.result); /* of f, asked about other */
    assert_false(mcpi_pool_is_here(f.pool));
    fixture_close(&f);
    fixture_close(&other);
}

/* ---- withdrawing ------------------------------------------------------------ */

static void
F37_a_job_that_was_withdrawn_never_runs(void **state)
{
    struct task held, a, b, c;
    struct fixture f;

    (void)state;
    fixture_open(&f, 1, 0);
    task_hold(&held, &f, '-');
    task_init(&a, &f, 'a', false);
    task_init(&b, &f, 'b', false);
    task_init(&c, &f, 'c', false);
    task_submit(&a);
    task_submit(&b);
    task_submit(&c);
    assert_true(mcpi_pool_withdraw(f.pool, &b.job));
    assert_false(mcpi_pool_withdraw(f.pool, &b.job));
    assert_false(mcpi_pool_withdraw(f.pool, &held.job)); /* it runs */
    assert_int_equal(counts(&f).queued, 2);
    task_end(&held);
    await(&c.over);
    assert_string_equal(f.seen, "-ac");
    assert_false(mcpi_pool_withdraw(f.pool, &a.job)); /* it is over */
    task_submit(&b);                                  /* and may come again */
    await(&b.over);
    fixture_close(&f);
    assert_string_equal(f.seen, "-acb");
}

/* ---- those that do not count ------------------------------------------------ */

static void
F5_a_job_that_does_not_stop_holds_only_its_own_worker(void **state)
{
    struct task deaf, a;
    struct fixture f;

    (void)state;
    fixture_open(&f, 1, 2);
    task_hold(&deaf, &f, 'd');
    task_init(&a, &f, 'a', false);
    task_submit(&a);
    assert_int_equal(counts(&f).queued, 1);
    mcpi_pool_lose(f.pool, &deaf.job); /* makes room for the one that waits */
    mcpi_pool_lose(f.pool, &deaf.job);
    await(&a.over);
    assert_int_equal(counts(&f).lost, 1);
    assert_int_equal(counts(&f).threads, 2);
    task_end(&deaf);
    while (counts(&f).threads > 1) /* the one too many goes */
        sched_yield();
    assert_int_equal(counts(&f).lost, 0);
    fixture_close(&f);
    assert_int_equal(atomic_load(&f.warnings), 0);
}

static void
losing_a_job_that_does_not_run_changes_nothing(void **state)
{
    struct task held, queued, over, fresh;
    struct fixture f;

    (void)state;
    fixture_open(&f, 1, 1);
    task_hold(&over, &f, 'o');
    task_end(&over);
    while (counts(&f).busy > 0)
        sched_yield();
    task_init(&fresh, &f, 'f', false);
    mcpi_pool_lose(f.pool, &fresh.job); /* while there is an idle worker */
    assert_int_equal(counts(&f).lost, 0);
    task_hold(&held, &f, 'h');
    task_init(&queued, &f, 'q', false);
    task_submit(&queued);
    mcpi_pool_lose(f.pool, &queued.job);
    mcpi_pool_lose(f.pool, &over.job);
    assert_int_equal(counts(&f).lost, 0);
    assert_int_equal(counts(&f).threads, 1);
    task_end(&held);
    await(&queued.over);
    fixture_close(&f);
}

static void
F5_above_the_surplus_lost_jobs_hold_workers_and_it_is_said_once(void **state)
{
    struct task deaf[4], a;
    struct fixture f;

    (void)state;
    fixture_open(&f, 2, 2);
    for (int i = 0; i < 4; i++) {
        task_hold(&deaf[i], &f, 'd');
        mcpi_pool_lose(f.pool, &deaf[i].job);
    }
    assert_int_equal(counts(&f).lost, 4);
    assert_int_equal(counts(&f).threads, 4);
    assert_int_equal(atomic_load(&f.warnings), 1);
    task_init(&a, &f, 'a', false);
    task_submit(&a);
    assert_int_equal(counts(&f).queued, 1); /* both that count are deaf */
    task_end(&deaf[0]);                     /* its place goes to another deaf one */
    await(&a.over);
    assert_int_equal(counts(&f).lost, 3);
    for (int i = 1; i < 4; i++)
        task_end(&deaf[i]);
    fixture_close(&f);
    assert_int_equal(atomic_load(&f.warnings), 1);
}

/* A job that waits, inside the library, for another one. */
static void
then_wait_for_child(struct task *task)
{
    struct task child;

    task->result = mcpi_pool_wait_begin();
    if (task->result < 0)
        return;
    (void)mcpi_pool_wait_begin();
    task_init(&child, task->f, 'c', false);
    task_submit(&child);
    await(&child.over);
    mcpi_pool_wait_end();
    task->result = (int)counts(task->f).waiting; /* still: they nest */
    mcpi_pool_wait_end();
}

static void
jobs_that_wait_for_jobs_do_not_starve_the_pool(void **state)
{
    struct task tasks[3];
    struct fixture f;

    (void)state;
    fixture_open(&f, 1, 8);
    for (int i = 0; i < 3; i++) {
        task_init(&tasks[i], &f, 'p', false);
        tasks[i].then = then_wait_for_child;
        task_submit(&tasks[i]);
    }
    for (int i = 0; i < 3; i++) {
        await(&tasks[i].over);
        assert_true(tasks[i].result >= 1);
    }
    while (counts(&f).busy > 0)
        sched_yield();
    assert_int_equal(counts(&f).waiting, 0);
    fixture_close(&f);
}

static void
then_try_to_wait(struct task *task)
{
    task->result = mcpi_pool_wait_begin();
    if (task->result == 0)
        mcpi_pool_wait_end();
}

static void
a_wait_that_finds_no_room_is_refused(void **state)
{
    struct task deaf, a;
    struct fixture f;

    (void)state;
    fixture_open(&f, 1, 1);
    task_hold(&deaf, &f, 'd');
    mcpi_pool_lose(f.pool, &deaf.job);
    task_init(&a, &f, 'a', false);
    a.then = then_try_to_wait;
    task_submit(&a);
    await(&a.over);
    assert_int_equal(a.result, MCP_E_LIMIT);
    task_end(&deaf);
    while (counts(&f).lost > 0)
        sched_yield();
    task_submit(&a);
    await(&a.over);
    assert_int_equal(a.result, 0);
    fixture_close(&f);
}

static void
then_wait_while_held(struct task *task)
{
    task->result = mcpi_pool_wait_begin();
    sem_post(&task->begun);
    await(&task->go);
    mcpi_pool_wait_end();
    sem_post(&task->begun);
    await(&task->go);
}

static void
a_job_may_be_lost_while_it_waits_and_counts_once(void **state)
{
    struct task both, a, b;
    struct fixture f;

    (void)state;
    fixture_open(&f, 1, 1);
    task_init(&both, &f, 'x', false);
    both.then = then_wait_while_held;
    task_submit(&both);
    await(&both.begun), await(&both.begun);
    mcpi_pool_lose(f.pool, &both.job); /* the surplus is one, and it has it */
    assert_int_equal(counts(&f).lost, 1);
    assert_int_equal(counts(&f).waiting, 1);
    assert_int_equal(atomic_load(&f.warnings), 0);
    task_let_go(&both);
    await(&both.begun);
    assert_int_equal(counts(&f).waiting, 0);
    task_hold(&a, &f, 'a'); /* still away, as it is lost */
    task_end(&a);
    task_end(&both);
    task_hold(&b, &f, 'b');
    task_end(&b);
    fixture_close(&f);
}

static void
other_threads_may_wait_as_they_like(void **state)
{
    (void)state;
    assert_int_equal(mcpi_pool_wait_begin(), 0);
    mcpi_pool_wait_end();
    mcpi_pool_wait_end();
}

/* ---- failure ---------------------------------------------------------------- */

/* No thread has a stack of that size. */
#define TOO_MUCH (SIZE_MAX / 4)

static void
without_threads_a_job_is_refused(void **state)
{
    struct mcpi_pool_options opt = {.stack = TOO_MUCH};
    struct test_mem mem;
    struct fixture f;
    struct task a;

    (void)state;
    test_mem_init(&mem);
    opt.mem = &mem.allocator;
    assert_int_equal(mcpi_pool_new(&opt, &f.pool), 0);
    task_init(&a, &f, 'a', false);
    assert_int_equal(mcpi_pool_submit(f.pool, &a.job), MCP_E_LIMIT);
    assert_false(mcpi_pool_withdraw(f.pool, &a.job));
    assert_int_equal(counts(&f).queued, 0);
    assert_int_equal(counts(&f).threads, 0);
    assert_int_equal(mcpi_pool_free(f.pool, AWAIT_US), 0);
    test_mem_done(&mem);
}

static void
a_small_stack_is_made_big_enough(void **state)
{
    struct mcpi_pool_options opt = {.stack = 1};
    struct fixture f;
    struct task a;

    (void)state;
    fixture_open(&f, 1, 0);
    assert_int_equal(mcpi_pool_free(f.pool, 0), 0);
    opt.mem = &f.mem.allocator;
    assert_int_equal(mcpi_pool_new(&opt, &f.pool), 0);
    task_hold(&a, &f, 'a');
    task_end(&a);
    fixture_close(&f);
}

static void
make_and_free(struct test_mem *mem, void *user)
{
    struct mcpi_pool_options opt = {.mem = &mem->allocator};
    struct mcpi_pool *pool = NULL;
    int r = mcpi_pool_new(&opt, &pool);

    (void)user;
    assert_int_equal(r, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    assert_int_equal(mcpi_pool_free(pool, AWAIT_US), 0);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(make_and_free, NULL), 1);
}

/* ---- freeing ---------------------------------------------------------------- */

static void *
let_go_later(void *user)
{
    task_let_go(user);
    return NULL;
}

static void
free_runs_what_is_queued(void **state)
{
    struct task held, a, b;
    pthread_t thread;
    struct fixture f;

    (void)state;
    fixture_open(&f, 1, 0);
    task_hold(&held, &f, '-');
    task_init(&a, &f, 'a', false);
    task_init(&b, &f, 'b', false);
    task_submit(&a);
    task_submit(&b);
    assert_int_equal(pthread_create(&thread, NULL, let_go_later, &held), 0);
    fixture_close(&f);
    pthread_join(thread, NULL);
    assert_string_equal(f.seen, "-ab");
}

static void
F5_free_gives_up_on_a_job_that_does_not_end_and_its_worker_cleans_up(void **state)
{
    struct task deaf, other, queued;
    struct fixture f;

    (void)state;
    fixture_open(&f, 2, 0);
    task_hold(&deaf, &f, 'd');
    task_hold(&other, &f, 'o');
    task_init(&queued, &f, 'q', false);
    task_submit(&queued);
    assert_int_equal(mcpi_pool_free(f.pool, 1000), MCP_E_TIMEOUT);
    assert_int_equal(atomic_load(&f.mem.live), 1);
    task_end(&other);
    await(&queued.over);
    task_end(&deaf);
    while (atomic_load(&f.mem.live) > 0) /* the last of them */
        sched_yield();
    assert_string_equal(f.seen, "doq");
    pthread_mutex_destroy(&f.lock);
    test_mem_done(&f.mem);
}

/* ---- many ------------------------------------------------------------------- */

#define CROWD 2000

struct one {
    struct mcpi_job job;
    struct crowd *crowd;
};

struct crowd {
    struct mcpi_pool *pool;
    struct one ones[CROWD];
    atomic_int runs, withdrawn, inside, most;
};

static void
one_work(struct mcpi_job *job)
{
    struct crowd *crowd = MCPI_CONTAINER(job, struct one, job)->crowd;
    int inside = atomic_fetch_add(&crowd->inside, 1) + 1;
    int most = atomic_load(&crowd->most);

    while (inside > most && !atomic_compare_exchange_weak(&crowd->most, &most, inside))
        continue;
    if (mcpi_pool_wait_begin() == 0)
        mcpi_pool_wait_end();
    atomic_fetch_sub(&crowd->inside, 1);
    atomic_fetch_add(&crowd->runs, 1);
}

static void *
submit_half(void *user)
{
    struct crowd *crowd = user;

    for (int i = 0; i < CROWD; i += 2) {
        if (mcpi_pool_submit(crowd->pool, &crowd->ones[i].job) < 0)
            return NULL;
        if (i % 6 == 0 && mcpi_pool_withdraw(crowd->pool, &crowd->ones[i].job))
            atomic_fetch_add(&crowd->withdrawn, 1);
        if (i % 10 == 0)
            mcpi_pool_lose(crowd->pool, &crowd->ones[i].job);
    }
    return crowd;
}

static void
jobs_from_many_threads_run_once_each(void **state)
{
    struct crowd *crowd = calloc(1, sizeof *crowd);
    pthread_t thread;
    struct fixture f;
    void *other;

    (void)state;
    assert_non_null(crowd);
    fixture_open(&f, 3, 4);
    crowd->pool = f.pool;
    for (int i = 0; i < CROWD; i++)
        crowd->ones[i] = (struct one){.job.work = one_work, .crowd = crowd};
    assert_int_equal(pthread_create(&thread, NULL, submit_half, crowd), 0);
    for (int i = 1; i < CROWD; i += 2)
        assert_int_equal(mcpi_pool_submit(f.pool, &crowd->ones[i].job), 0);
    pthread_join(thread, &other);
    assert_ptr_equal(other, crowd);
    fixture_close(&f);
    assert_int_equal(atomic_load(&crowd->runs) + atomic_load(&crowd->withdrawn), CROWD);
    assert_in_range(atomic_load(&crowd->most), 1, 3 + 4);
    free(crowd);
}

static void
pools_come_and_go(void **state)
{
    struct fixture f;
    struct task a[3];

    (void)state;
    for (int round = 0; round < 100; round++) {
        fixture_open(&f, 2, 0);
        for (int i = 0; i < 3; i++) {
            task_init(&a[i], &f, 'a', false);
            task_submit(&a[i]);
        }
        fixture_close(&f);
        assert_string_equal(f.seen, "aaa");
    }
}

TEST_MAIN(TEST(workers_start_with_the_first_job_and_stay_for_the_next),
          TEST(a_bound_of_one_runs_jobs_in_order),
          TEST(no_more_workers_count_than_the_bound),
          TEST(jobs_that_come_together_get_workers_of_their_own),
          TEST(an_idle_worker_goes_after_a_while_and_the_next_job_starts_one),
          TEST(a_worker_takes_no_signals), TEST(it_is_here_on_its_own_workers_only),
          TEST(F37_a_job_that_was_withdrawn_never_runs),
          TEST(F5_a_job_that_does_not_stop_holds_only_its_own_worker),
          TEST(losing_a_job_that_does_not_run_changes_nothing),
          TEST(F5_above_the_surplus_lost_jobs_hold_workers_and_it_is_said_once),
          TEST(jobs_that_wait_for_jobs_do_not_starve_the_pool),
          TEST(a_wait_that_finds_no_room_is_refused),
          TEST(a_job_may_be_lost_while_it_waits_and_counts_once),
          TEST(other_threads_may_wait_as_they_like),
          TEST(without_threads_a_job_is_refused),
          TEST(a_small_stack_is_made_big_enough), TEST(each_allocation_may_fail),
          TEST(free_runs_what_is_queued),
          TEST(F5_free_gives_up_on_a_job_that_does_not_end_and_its_worker_cleans_up),
          TEST(jobs_from_many_threads_run_once_each), TEST(pools_come_and_go))
