/* errand_test.c - what may block: done elsewhere, in order; all of it comes home */
#include "auth/errand.h"

#include <errno.h>
#include <semaphore.h>
#include <string.h>

#include "support/test.h"

#define TOO_MUCH (SIZE_MAX / 4) /* no thread has a stack of that size */
#define MANY 100                /* more than a lane runs in one turn */

struct field {
    struct test_mem mem;
    struct mcpi_loop *loop;
    struct mcpi_pool *pool;
    struct mcpi_errands *errands;
    atomic_int running; /* errands that are being done */
    atomic_int most;    /* at the same time */
    char done[MANY + 1], home[MANY + 1];
    atomic_size_t done_len;
    size_t home_len, home_wanted; /* the loop ends with the last of them */
    int closed;
};

/* workers 0: no pool. */
static void
field_open(struct field *f, size_t workers, size_t stack)
{
    struct mcpi_pool_options opt = {.workers = workers, .stack = stack};

    memset(f, 0, sizeof(*f));
    test_mem_init(&f->mem);
    opt.mem = &f->mem.allocator;
    assert_int_equal(mcpi_loop_new(&f->mem.allocator, NULL, &f->loop), 0);
    if (workers > 0)
        assert_int_equal(mcpi_pool_new(&opt, &f->pool), 0);
    assert_int_equal(mcpi_errands_new(f->loop, f->pool, &f->errands), 0);
}

static void
on_closed(void *user)
{
    struct field *f = user;

    assert_true(mcpi_loop_is_here(f->loop));
    f->closed++;
    mcpi_loop_stop(f->loop);
}

static void
field_run(struct field *f)
{
    assert_int_equal(mcpi_loop_run(f->loop), 0);
}

/* Runs until it is closed, if it is not yet. */
static void
field_close(struct field *f)
{
    if (f->errands)
        mcpi_errands_close(f->errands, on_closed, f);
    f->errands = NULL;
    while (!f->closed)
        field_run(f);
    assert_int_equal(f->closed, 1);
    assert_int_equal(mcpi_pool_free(f->pool, AWAIT_US), 0);
    mcpi_loop_free(f->loop);
    test_mem_done(&f->mem);
}

/* One with a name; it waits for the gate, if there is one. */
struct item {
    struct mcpi_errand errand;
    struct field *f;
    char name;
    bool on_loop, on_pool; /* where it was done */
    sem_t *gate;
    void (*then)(struct item *item); /* at home */
    struct item *other;
};

static void
await(sem_t *sem)
{
    while (sem_wait(sem) < 0)
        assert_int_equal(errno, EINTR);
}

static void
item_work(struct mcpi_errand *errand)
{
    struct item *item = MCPI_CONTAINER(errand, struct item, errand);
    struct field *f = item->f;
    int now = atomic_fetch_add(&f->running, 1) + 1;

    if (now > atomic_load(&f->most))
        atomic_store(&f->most, now);
    item->on_loop = mcpi_loop_is_here(f->loop);
    item->on_pool = f->pool && mcpi_pool_is_here(f->pool);
    if (item->gate)
        await(item->gate);
    f->done[atomic_fetch_add(&f->done_len, 1)] = item->name;
    atomic_fetch_sub(&f->running, 1);
}

static void
item_home(struct mcpi_errand *errand)
{
    struct item *item = MCPI_CONTAINER(errand, struct item, errand);
    struct field *f = item->f;

    assert_true(mcpi_loop_is_here(f->loop));
    f->home[f->home_len++] = item->name;
    if (f->home_len == f->home_wanted)
        mcpi_loop_stop(f->loop);
    if (item->then)
        item->then(item);
}

static void
item_init(struct item *item, struct field *f, char name)
{
    memset(item, 0, sizeof(*item));
    item->errand.work = item_work;
    item->errand.home = item_home;
    item->f = f;
    item->name = name;
}

static void
item_send(struct item *item, struct field *f, char name)
{
    item_init(item, f, name);
    mcpi_errands_send(f->errands, &item->errand);
}

static void
field_await(struct field *f, size_t count)
{
    f->home_wanted = count;
    if (f->home_len < count)
        field_run(f);
    assert_int_equal(f->home_len, count);
}

/* ---- where ------------------------------------------------------------------- */

static void
without_a_pool_they_are_done_on_the_loop(void **state)
{
    struct item item;
    struct field f;

    (void)state;
    field_open(&f, 0, 0);
    item_send(&item, &f, 'a');
    assert_int_equal(atomic_load(&f.done_len), 0); /* not from inside send */
    field_await(&f, 1);
    assert_true(item.on_loop);
    assert_string_equal(f.done, "a");
    field_close(&f);
}

static void
with_a_pool_they_are_done_on_a_worker(void **state)
{
    struct item item;
    struct field f;

    (void)state;
    field_open(&f, 2, 0);
    item_send(&item, &f, 'a');
    field_await(&f, 1);
    assert_true(item.on_pool);
    assert_false(item.on_loop);
    field_close(&f);
}

static void
without_a_worker_they_are_done_on_the_loop(void **state)
{
    struct item item;
    struct field f;

    (void)state;
    field_open(&f, 1, TOO_MUCH);
    item_send(&item, &f, 'a');
    field_await(&f, 1);
    assert_true(item.on_loop);
    field_close(&f);
}

/* ---- in order ------------------------------------------------------------------ */

static void
order_is_kept(size_t workers)
{
    static struct item items[MANY];
    struct field f;

    field_open(&f, workers, 0);
    for (int i = 0; i < MANY; i++)
        item_send(&items[i], &f, (char)(1 + i));
    field_await(&f, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(f.done[i], 1 + i);
        assert_int_equal(f.home[i], 1 + i);
    }
    assert_int_equal(atomic_load(&f.most), 1);
    field_close(&f);
}

static void
one_is_done_after_the_other(void **state)
{
    (void)state;
    order_is_kept(0);
    order_is_kept(4);
}

/* A post that opens a gate. */
struct opener {
    struct mcpi_post post;
    sem_t *gate;
    size_t *home_len;
    size_t then; /* what was home then */
};

static void
open_gate(struct mcpi_post *post)
{
    struct opener *opener = MCPI_CONTAINER(post, struct opener, post);

    opener->then = *opener->home_len;
    sem_post(opener->gate);
}

static void
the_loop_does_not_wait_for_them(void **state)
{
    struct opener opener = {.post.fn = open_gate};
    struct item item;
    struct field f;
    sem_t gate;

    (void)state;
    field_open(&f, 1, 0);
    assert_int_equal(sem_init(&gate, 0, 0), 0);
    opener.gate = &gate;
    opener.home_len = &f.home_len;
    item_init(&item, &f, 'a');
    item.gate = &gate;
    mcpi_errands_send(f.errands, &item.errand);
    mcpi_loop_post(f.loop, &opener.post);
    field_await(&f, 1);
    assert_int_equal(opener.then, 0);
    field_close(&f);
    sem_destroy(&gate);
}

/* ---- at home --------------------------------------------------------------------- */

static void
send_other(struct item *item)
{
    mcpi_errands_send(item->f->errands, &item->other->errand);
}

static void
send_again(struct item *item)
{
    item->name++;
    item->then = NULL;
    mcpi_errands_send(item->f->errands, &item->errand);
}

static void
who_comes_home_may_be_sent_again(void **state)
{
    struct item item, other;
    struct field f;

    (void)state;
    field_open(&f, 1, 0);
    item_init(&item, &f, 'a');
    item_init(&other, &f, 'x');
    item.then = send_other;
    item.other = &other;
    mcpi_errands_send(f.errands, &item.errand);
    field_await(&f, 2);
    item.then = send_again;
    mcpi_errands_send(f.errands, &item.errand);
    field_await(&f, 4);
    assert_string_equal(f.home, "axab");
    field_close(&f);
}

static void
free_item(struct item *item)
{
    item->f->mem.allocator.free(item->f->mem.allocator.user, item);
}

static void
who_comes_home_may_be_freed(void **state)
{
    struct item *item;
    struct field f;

    (void)state;
    field_open(&f, 1, 0);
    for (int i = 0; i < 3; i++) {
        item = f.mem.allocator.alloc(f.mem.allocator.user, sizeof(*item));
        item_init(item, &f, (char)('a' + i));
        item->then = free_item;
        mcpi_errands_send(f.errands, &item->errand);
    }
    field_await(&f, 3);
    assert_string_equal(f.home, "abc");
    field_close(&f);
}

/* ---- closing ----------------------------------------------------------------------- */

static void
closing_is_told_later(void **state)
{
    struct field f;

    (void)state;
    field_open(&f, 1, 0);
    mcpi_errands_close(f.errands, on_closed, &f);
    f.errands = NULL;
    assert_int_equal(f.closed, 0);
    field_run(&f);
    assert_int_equal(f.closed, 1);
    field_close(&f);
}

/* Also those that have not begun. */
static void
all_come_home_before_it_is_closed(size_t workers)
{
    struct opener opener = {.post.fn = open_gate};
    struct item items[3];
    struct field f;
    sem_t gate;

    field_open(&f, workers, 0);
    assert_int_equal(sem_init(&gate, 0, workers > 0 ? 0 : 1), 0);
    opener.gate = &gate;
    opener.home_len = &f.home_len;
    item_init(&items[0], &f, 'a');
    items[0].gate = &gate;
    mcpi_errands_send(f.errands, &items[0].errand);
    item_send(&items[1], &f, 'b');
    item_send(&items[2], &f, 'c');
    mcpi_errands_close(f.errands, on_closed, &f);
    f.errands = NULL;
    mcpi_loop_post(f.loop, &opener.post);
    field_run(&f);
    assert_int_equal(f.closed, 1);
    assert_string_equal(f.home, "abc");
    field_close(&f);
    sem_destroy(&gate);
}

static void
closing_waits_for_who_is_under_way(void **state)
{
    (void)state;
    all_come_home_before_it_is_closed(0);
    all_come_home_before_it_is_closed(1);
}

static void
close_here(struct item *item)
{
    mcpi_errands_close(item->f->errands, on_closed, item->f);
    assert_int_equal(item->f->closed, 0);
    if (item->other)
        mcpi_errands_send(item->f->errands, &item->other->errand);
    item->f->errands = NULL;
}

/* Somebody has to give back what he was given: it is waited for, too. */
static void
who_comes_home_may_close_and_send_one_more(void **state)
{
    struct item item, other;
    struct field f;

    (void)state;
    for (size_t workers = 0; workers < 2; workers++) {
        field_open(&f, workers, 0);
        item_init(&item, &f, 'a');
        item_init(&other, &f, 'b');
        item.then = close_here;
        item.other = &other;
        mcpi_errands_send(f.errands, &item.errand);
        field_run(&f);
        assert_int_equal(f.closed, 1);
        assert_string_equal(f.home, "ab");
        field_close(&f);
    }
}

/* The worker may still be on its way out when the last one is home. */
static void
closing_and_a_worker_that_leaves_do_not_meet(void **state)
{
    struct item item;
    struct field f;

    (void)state;
    field_open(&f, 2, 0);
    for (int i = 0; i < 300; i++) {
        f.home_len = 0;
        atomic_store(&f.done_len, 0);
        item_init(&item, &f, 'a');
        item.then = close_here;
        mcpi_errands_send(f.errands, &item.errand);
        field_run(&f);
        assert_int_equal(f.closed, 1);
        f.closed = 0;
        assert_int_equal(mcpi_errands_new(f.loop, f.pool, &f.errands), 0);
    }
    field_close(&f);
}

static void
one_that_was_never_used_is_discarded(void **state)
{
    struct field f;

    (void)state;
    field_open(&f, 1, 0);
    mcpi_errands_discard(f.errands);
    assert_int_equal(mcpi_errands_new(f.loop, f.pool, &f.errands), 0);
    field_close(&f);
}

static void
there_may_be_no_memory_for_it(void **state)
{
    struct mcpi_errands *none = NULL;
    struct field f;

    (void)state;
    field_open(&f, 0, 0);
    atomic_store(&f.mem.fail_at, atomic_load(&f.mem.total) + 1);
    assert_int_equal(mcpi_errands_new(f.loop, NULL, &none), MCP_E_NOMEM);
    assert_null(none);
    field_close(&f);
}

TEST_MAIN(TEST(without_a_pool_they_are_done_on_the_loop),
          TEST(with_a_pool_they_are_done_on_a_worker),
          TEST(without_a_worker_they_are_done_on_the_loop),
          TEST(one_is_done_after_the_other), TEST(the_loop_does_not_wait_for_them),
          TEST(who_comes_home_may_be_sent_again), TEST(who_comes_home_may_be_freed),
          TEST(closing_is_told_later), TEST(closing_waits_for_who_is_under_way),
          TEST(who_comes_home_may_close_and_send_one_more),
          TEST(closing_and_a_worker_that_leaves_do_not_meet),
          TEST(one_that_was_never_used_is_discarded),
          TEST(there_may_be_no_memory_for_it))
