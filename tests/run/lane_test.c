/* lane_test.c - deliveries: in order, one at a time; the last one may drop the owner */
#include "run/lane.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define TOO_MUCH (SIZE_MAX / 4) /* no thread has a stack of that size */

struct fixture {
    struct test_mem mem;
    struct mcpi_loop *loop;
    struct mcpi_pool *pool;
    struct mcpi_lane lane;
    atomic_int busy, idle; /* calls of on_busy and on_idle, of any lane */
    pthread_mutex_t lock;
    char seen[256]; /* the names of what ran; under lock */
    size_t seen_len;
};

static struct fixture *fixture; /* for hooks that get a lane and nothing else */

static void
count_busy(struct mcpi_lane *lane)
{
    (void)lane;
    atomic_fetch_add(&fixture->busy, 1);
}

static void
count_idle(struct mcpi_lane *lane)
{
    (void)lane;
    atomic_fetch_add(&fixture->idle, 1);
}

/* A pool of so many workers, 0: none; and a loop on a thread of its own. */
static void
fixture_open(struct fixture *f, size_t workers, size_t stack)
{
    struct mcpi_pool_options opt = {.workers = workers, .stack = stack};

    memset(f, 0, sizeof *f);
    fixture = f;
    test_mem_init(&f->mem);
    pthread_mutex_init(&f->lock, NULL);
    opt.mem = &f->mem.allocator;
    assert_int_equal(mcpi_loop_new(&f->mem.allocator, NULL, &f->loop), 0);
    assert_int_equal(mcpi_loop_start(f->loop), 0);
    if (workers > 0)
        assert_int_equal(mcpi_pool_new(&opt, &f->pool), 0);
    assert_int_equal(mcpi_lane_init(&f->lane, f->pool, f->loop, count_busy, count_idle),
                     0);
}

static void
await_idle(struct fixture *f)
{
    while (atomic_load(&f->idle) < atomic_load(&f->busy))
        sched_yield();
}

static void
fixture_close(struct fixture *f)
{
    await_idle(f);
    mcpi_lane_done(&f->lane);
    assert_int_equal(mcpi_pool_free(f->pool, AWAIT_US), 0);
    mcpi_loop_free(f->loop);
    pthread_mutex_destroy(&f->lock);
    test_mem_done(&f->mem);
    fixture = NULL;
}

static void
see(struct fixture *f, char name)
{
    pthread_mutex_lock(&f->lock);
    f->seen[f->seen_len++] = name;
    pthread_mutex_unlock(&f->lock);
}

/* A delivery that writes its name down, does something, and ends when it may. */
struct item {
    struct mcpi_post post;
    struct fixture *f;
    struct mcpi_lane *lane;
    char name;
    bool holds;
    void (*then)(struct item *item);
    struct item *other;
    sem_t begun, go, over;
    bool on_loop, on_pool, here;
};

static void
await(sem_t *sem)
{
    while (sem_wait(sem) < 0)
        assert_int_equal(errno, EINTR);
}

static void
item_run(struct mcpi_post *post)
{
    struct item *item = MCPI_CONTAINER(post, struct item, post);

    item->on_loop = mcpi_loop_is_here(item->f->loop);
    item->on_pool = item->f->pool && mcpi_pool_is_here(item->f->pool);
    item->here = mcpi_lane_is_here(item->lane);
    see(item->f, item->name);
    sem_post(&item->begun);
    if (item->holds)
        await(&item->go);
    if (item->then)
        item->then(item);
    sem_post(&item->over);
}

static void
item_init(struct item *item, struct fixture *f, char name)
{
    memset(item, 0, sizeof *item);
    item->post.fn = item_run;
    item->f = f;
    item->lane = &f->lane;
    item->name = name;
    assert_int_equal(sem_init(&item->begun, 0, 0), 0);
    assert_int_equal(sem_init(&item->go, 0, 0), 0);
    assert_int_equal(sem_init(&item->over, 0, 0), 0);
}

static void
item_add(struct item *item)
{
    mcpi_lane_add(item->lane, &item->post);
}

/* Added, running, and held there. */
static void
item_hold(struct item *item, struct fixture *f, char name)
{
    item_init(item, f, name);
    item->holds = true;
    item_add(item);
    await(&item->begun);
}

static void
item_end(struct item *item)
{
    sem_post(&item->go);
    await(&item->over);
}

/* ---- order and place -------------------------------------------------------- */

static void
deliver_five(struct fixture *f, bool on_pool)
{
    struct item first, items[4];

    item_hold(&first, f, 'a');
    for (int i = 0; i < 4; i++) {
        item_init(&items[i], f, (char)('b' + i));
        item_add(&items[i]);
    }
    assert_int_equal(atomic_load(&f->busy), 1); /* it was busy all the time */
    item_end(&first);
    await(&items[3].over);
    assert_string_equal(f->seen, "abcde");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(items[i].on_pool, on_pool);
        assert_int_equal(items[i].on_loop, !on_pool);
        assert_true(items[i].here);
    }
    assert_false(mcpi_lane_is_here(&f->lane));
    await_idle(f);
    assert_int_equal(atomic_load(&f->idle), 1);
}

static void
I12_deliveries_run_in_order_on_a_worker(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, 4, 0);
    deliver_five(&f, true);
    fixture_close(&f);
}

static void
I12_without_a_pool_they_run_on_the_loop(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, 0, 0);
    deliver_five(&f, false);
    fixture_close(&f);
}

static void
I12_without_a_worker_they_run_on_the_loop(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, 4, TOO_MUCH);
    deliver_five(&f, false);
    fixture_close(&f);
}

static void
I13_a_slow_delivery_delays_only_its_own_lane(void **state)
{
    struct item slow, behind, other;
    struct mcpi_lane lane;
    struct fixture f;

    (void)state;
    fixture_open(&f, 2, 0);
    assert_int_equal(mcpi_lane_init(&lane, f.pool, f.loop, count_busy, count_idle), 0);
    item_hold(&slow, &f, 's');
    item_init(&behind, &f, 'b');
    item_add(&behind);
    item_init(&other, &f, 'o');
    other.lane = &lane;
    item_add(&other);
    await(&other.over);
    assert_int_equal(sem_trywait(&behind.begun), -1);
    item_end(&slow);
    await(&behind.over);
    assert_string_equal(f.seen, "sob");
    await_idle(&f);
    mcpi_lane_done(&lane);
    fixture_close(&f);
}

/* More than a lane may do in one turn; another lane has one delivery. */
static void
deliver_many(struct fixture *f)
{
    struct item first, many[100], other;
    struct mcpi_lane lane;

    assert_int_equal(mcpi_lane_init(&lane, f->pool, f->loop, count_busy, count_idle),
                     0);
    item_hold(&first, f, '-');
    for (int i = 0; i < 100; i++) {
        item_init(&many[i], f, 'm');
        item_add(&many[i]);
    }
    item_init(&other, f, 'o');
    other.lane = &lane;
    item_add(&other);
    item_end(&first);
    await(&many[99].over);
    await(&other.over);
    assert_in_range(strchr(f->seen, 'o') - f->seen, 1, 50);
    assert_int_equal(strlen(f->seen), 102);
    await_idle(f);
    mcpi_lane_done(&lane);
}

static void
I13_a_lane_with_much_to_tell_lets_others_in(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, 1, 0);
    deliver_many(&f);
    fixture_close(&f);
    fixture_open(&f, 0, 0);
    deliver_many(&f);
    fixture_close(&f);
}

static void
then_add_other(struct item *item)
{
    item_add(item->other);
    item_add(item->other); /* it waits already */
}

static void
then_add_self_twice(struct item *item)
{
    if (item->f->seen_len < 4)
        item_add(item);
}

static void
a_delivery_may_add_deliveries(void **state)
{
    struct fixture f;
    struct item a, b;

    (void)state;
    fixture_open(&f, 2, 0);
    item_init(&a, &f, 'a');
    item_init(&b, &f, 'b');
    a.then = then_add_other;
    a.other = &b;
    b.then = then_add_self_twice;
    item_add(&a);
    for (int i = 0; i < 3; i++)
        await(&b.over);
    fixture_close(&f);
    assert_string_equal(f.seen, "abbb");
}

/* ---- clearing and waiting --------------------------------------------------- */

static void
cleared(struct mcpi_post *post)
{
    struct item *item = MCPI_CONTAINER(post, struct item, post);

    see(item->f, (char)(item->name - 'a' + 'A'));
    if (item->then)
        item->then(item);
}

static void
clear_takes_off_what_has_not_begun(void **state)
{
    struct item a, b, c, d;
    struct fixture f;

    (void)state;
    fixture_open(&f, 2, 0);
    mcpi_lane_clear(&f.lane, cleared);
    item_hold(&a, &f, 'a');
    item_init(&b, &f, 'b'), item_init(&c, &f, 'c'), item_init(&d, &f, 'd');
    item_add(&b);
    item_add(&c);
    mcpi_lane_clear(&f.lane, cleared);
    assert_string_equal(f.seen, "aBC");
    item_add(&d);
    item_end(&a);
    await(&d.over);
    assert_string_equal(f.seen, "aBCd");
    item_add(&b); /* what was taken off may come again */
    await(&b.over);
    fixture_close(&f);
}

static void
a_lane_that_was_cleared_becomes_idle(void **state)
{
    struct item a, b;
    struct fixture f;

    (void)state;
    fixture_open(&f, 1, 0);
    item_hold(&a, &f, 'a');
    item_init(&b, &f, 'b');
    item_add(&b);
    mcpi_lane_clear(&f.lane, cleared);
    item_end(&a);
    await_idle(&f);
    assert_int_equal(atomic_load(&f.idle), 1);
    fixture_close(&f);
    assert_string_equal(f.seen, "aB");
}

static void
what_is_taken_off_may_be_added_by_what_was_taken_off_before(void **state)
{
    struct item a, b, c;
    struct fixture f;

    (void)state;
    fixture_open(&f, 1, 0);
    item_hold(&a, &f, 'a');
    item_init(&b, &f, 'b'), item_init(&c, &f, 'c');
    b.then = then_add_other; /* c is still to be told, so this changes nothing */
    b.other = &c;
    item_add(&b);
    item_add(&c);
    mcpi_lane_clear(&f.lane, cleared);
    item_end(&a);
    fixture_close(&f);
    assert_string_equal(f.seen, "aBC");
}

struct waiter {
    struct mcpi_lane *lane;
    struct item *item;
    sem_t about_to;
    bool was_over;
};

static void
then_yield(struct item *item)
{
    for (int i = 0; i < 50; i++) /* so that a wait that does not wait is seen */
        sched_yield();
    see(item->f, '.');
}

static void *
wait_for_lane(void *user)
{
    struct waiter *waiter = user;

    sem_post(&waiter->about_to);
    mcpi_lane_wait(waiter->lane);
    pthread_mutex_lock(&waiter->item->f->lock);
    waiter->was_over = strchr(waiter->item->f->seen, '.') != NULL;
    pthread_mutex_unlock(&waiter->item->f->lock);
    return NULL;
}

static void
wait_waits_for_the_delivery_that_runs(void **state)
{
    struct waiter waiter;
    pthread_t thread;
    struct fixture f;
    struct item a;

    (void)state;
    for (int round = 0; round < 50; round++) {
        fixture_open(&f, 2, 0);
        mcpi_lane_wait(&f.lane); /* nothing runs */
        item_hold(&a, &f, 'a');
        a.then = then_yield;
        waiter = (struct waiter){.lane = &f.lane, .item = &a};
        sem_init(&waiter.about_to, 0, 0);
        assert_int_equal(pthread_create(&thread, NULL, wait_for_lane, &waiter), 0);
        await(&waiter.about_to);
        sem_post(&a.go);
        pthread_join(thread, NULL);
        assert_true(waiter.was_over);
        await(&a.over);
        fixture_close(&f);
    }
}

static void
then_wait(struct item *item)
{
    mcpi_lane_wait(item->lane);
}

static void
a_delivery_may_wait_for_itself(void **state)
{
    struct fixture f;
    struct item a;

    (void)state;
    fixture_open(&f, 1, 0);
    item_init(&a, &f, 'a');
    a.then = then_wait;
    item_add(&a);
    await(&a.over);
    fixture_close(&f);
}

static void
then_wait_for_other(struct item *item)
{
    mcpi_lane_wait(item->other->lane);
}

static void
await_waiting(struct fixture *f, size_t count)
{
    struct mcpi_pool_counts counts;

    do {
        sched_yield();
        mcpi_pool_count(f->pool, &counts);
    } while (counts.waiting != count);
}

static void
wait_does_not_wait_for_the_next_one(void **state)
{
    struct item runs, next, waits;
    struct mcpi_lane lane;
    struct fixture f;

    (void)state;
    fixture_open(&f, 2, 0);
    mcpi_lane_init(&lane, f.pool, f.loop, count_busy, count_idle);
    item_hold(&runs, &f, 'r');
    item_init(&next, &f, 'n'), item_init(&waits, &f, 'w');
    next.holds = true;
    item_add(&next);
    waits.lane = &lane;
    waits.then = then_wait_for_other;
    waits.other = &runs;
    item_add(&waits);
    await_waiting(&f, 1);
    item_end(&runs);
    await(&waits.over);
    item_end(&next);
    await_idle(&f);
    mcpi_lane_done(&lane);
    fixture_close(&f);
}

/* A worker that waits for another lane leaves its place to a third. */
static void
F5_a_worker_that_waits_for_a_lane_does_not_count(void **state)
{
    struct item runs, waits, third;
    struct mcpi_lane lanes[2];
    struct fixture f;

    (void)state;
    fixture_open(&f, 2, 0);
    for (int i = 0; i < 2; i++)
        mcpi_lane_init(&lanes[i], f.pool, f.loop, count_busy, count_idle);
    item_hold(&runs, &f, 'r');
    item_init(&waits, &f, 'w'), item_init(&third, &f, 't');
    waits.lane = &lanes[0];
    third.lane = &lanes[1];
    waits.then = then_wait_for_other;
    waits.other = &runs;
    item_add(&waits);
    item_add(&third);
    await(&third.over);
    await_waiting(&f, 1);
    item_end(&runs);
    await(&waits.over);
    await_idle(&f);
    for (int i = 0; i < 2; i++)
        mcpi_lane_done(&lanes[i]);
    fixture_close(&f);
}

/* ---- an owner that is counted ----------------------------------------------- */

#define DELIVERIES 40

struct owner {
    atomic_uint refs;
    struct mcpi_lane lane;
    struct fixture *f;
    atomic_int *freed;
};

struct letter {
    struct mcpi_post post;
    struct owner *owner; /* a reference; NULL: none */
    atomic_int *opened;
};

static void
owner_unref(struct owner *owner)
{
    atomic_int *freed = owner->freed;

    if (atomic_fetch_sub(&owner->refs, 1) != 1)
        return;
    mcpi_lane_done(&owner->lane);
    free(owner);
    atomic_fetch_add(freed, 1);
}

static void
owner_busy(struct mcpi_lane *lane)
{
    struct owner *owner = MCPI_CONTAINER(lane, struct owner, lane);

    atomic_fetch_add(&owner->refs, 1);
}

static void
owner_idle(struct mcpi_lane *lane)
{
    owner_unref(MCPI_CONTAINER(lane, struct owner, lane));
}

static struct owner *
owner_new(struct fixture *f, atomic_int *freed)
{
    struct owner *owner = calloc(1, sizeof *owner);

    assert_non_null(owner);
    atomic_init(&owner->refs, 1);
    owner->f = f;
    owner->freed = freed;
    assert_int_equal(
        mcpi_lane_init(&owner->lane, f->pool, f->loop, owner_busy, owner_idle), 0);
    return owner;
}

static void
letter_open(struct mcpi_post *post)
{
    struct letter *letter = MCPI_CONTAINER(post, struct letter, post);

    if (letter->owner)
        owner_unref(letter->owner);
    atomic_fetch_add(letter->opened, 1);
    free(letter);
}

static bool
letter_send(struct owner *owner, struct owner *own, atomic_int *opened)
{
    struct letter *letter = calloc(1, sizeof *letter);

    if (!letter)
        return false;
    letter->post.fn = letter_open;
    letter->owner = own;
    letter->opened = opened;
    mcpi_lane_add(&owner->lane, &letter->post);
    return true;
}

static void
the_last_delivery_may_drop_the_owner_of_the_lane(void **state)
{
    atomic_int freed = 0, opened = 0;
    struct owner *owner;
    struct fixture f;

    (void)state;
    for (size_t workers = 0; workers < 3; workers++) {
        fixture_open(&f, workers, 0);
        for (int round = 1; round <= 200; round++) {
            owner = owner_new(&f, &freed);
            assert_true(letter_send(owner, owner, &opened)); /* the only reference */
            if (round % 50 == 0) {
                while (atomic_load(&freed) < round)
                    sched_yield();
            }
        }
        while (atomic_load(&freed) < 200)
            sched_yield();
        assert_int_equal(atomic_load(&opened), 200);
        atomic_store(&freed, 0);
        atomic_store(&opened, 0);
        fixture_close(&f);
    }
}

static void
an_owner_dropped_early_lives_until_all_is_delivered(void **state)
{
    atomic_int freed = 0, opened = 0;
    struct owner *owner;
    struct fixture f;

    (void)state;
    fixture_open(&f, 1, 0);
    owner = owner_new(&f, &freed);
    for (int i = 0; i < DELIVERIES; i++)
        assert_true(letter_send(owner, NULL, &opened));
    owner_unref(owner);
    while (atomic_load(&freed) == 0)
        sched_yield();
    assert_int_equal(atomic_load(&opened), DELIVERIES);
    fixture_close(&f);
}

struct sender {
    struct owner *owner;
    atomic_int *opened;
};

static void *
send_letters(void *user)
{
    struct sender *sender = user;
    bool sent = true;

    for (int i = 0; i < DELIVERIES; i++) {
        sent = letter_send(sender->owner, NULL, sender->opened) && sent;
        if (i % 8 == 0)
            sched_yield(); /* it becomes idle, and busy again */
    }
    owner_unref(sender->owner);
    return sent ? user : NULL;
}

static void
many_threads_may_add_while_the_lane_comes_and_goes(void **state)
{
    atomic_int freed = 0, opened = 0;
    pthread_t threads[3];
    struct sender sender;
    struct fixture f;
    void *sent;

    (void)state;
    fixture_open(&f, 2, 0);
    for (int round = 1; round <= 50; round++) {
        sender = (struct sender){owner_new(&f, &freed), &opened};
        atomic_store(&sender.owner->refs, 3); /* one a sender */
        for (int i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, send_letters, &sender),
                             0);
        for (int i = 0; i < 3; i++) {
            pthread_join(threads[i], &sent);
            assert_non_null(sent);
        }
        while (atomic_load(&freed) < round)
            sched_yield();
        assert_int_equal(atomic_load(&opened), round * 3 * DELIVERIES);
    }
    fixture_close(&f);
}

TEST_MAIN(TEST(I12_deliveries_run_in_order_on_a_worker),
          TEST(I12_without_a_pool_they_run_on_the_loop),
          TEST(I12_without_a_worker_they_run_on_the_loop),
          TEST(I13_a_slow_delivery_delays_only_its_own_lane),
          TEST(I13_a_lane_with_much_to_tell_lets_others_in),
          TEST(a_delivery_may_add_deliveries), TEST(clear_takes_off_what_has_not_begun),
          TEST(a_lane_that_was_cleared_becomes_idle),
          TEST(what_is_taken_off_may_be_added_by_what_was_taken_off_before),
          TEST(wait_waits_for_the_delivery_that_runs),
          TEST(a_delivery_may_wait_for_itself),
          TEST(wait_does_not_wait_for_the_next_one),
          TEST(F5_a_worker_that_waits_for_a_lane_does_not_count),
          TEST(the_last_delivery_may_drop_the_owner_of_the_lane),
          TEST(an_owner_dropped_early_lives_until_all_is_delivered),
          TEST(many_threads_may_add_while_the_lane_comes_and_goes))
