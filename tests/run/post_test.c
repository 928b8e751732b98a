/* post_test.c - the door to an owner thread: in order, once, never lost */
#include "run/post.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "support/test.h"

struct fixture {
    struct mcpi_posts posts;
    struct item *from_wake; /* posted by the wake function itself */
    int wakes;
    char seen[64]; /* the names of what ran */
    size_t seen_len;
};

struct item {
    struct mcpi_post post;
    struct fixture *f;
    struct item *then; /* posted when this runs */
    size_t nested;     /* what a nested run returned */
    char name;
};

static void
on_wake(void *user)
{
    struct fixture *f = user;

    f->wakes++;
    if (f->from_wake)
        mcpi_posts_add(&f->posts, &f->from_wake->post);
}

static void
item_run(struct mcpi_post *post)
{
    struct item *item = MCPI_CONTAINER(post, struct item, post);

    item->f->seen[item->f->seen_len++] = item->name;
    item->nested = mcpi_posts_run(&item->f->posts);
    if (item->then)
        mcpi_posts_add(&item->f->posts, &item->then->post);
}

static struct item
make_item(struct fixture *f, char name)
{
    return (struct item){.post.fn = item_run, .f = f, .name = name, .nested = 99};
}

static void
open_fixture(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    assert_int_equal(mcpi_posts_init(&f->posts, on_wake, f), 0);
}

static void
posts_run_in_the_order_they_came(void **state)
{
    struct item a, b, c;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    a = make_item(&f, 'a'), b = make_item(&f, 'b'), c = make_item(&f, 'c');
    assert_int_equal(mcpi_posts_run(&f.posts), 0);
    mcpi_posts_add(&f.posts, &b.post);
    mcpi_posts_add(&f.posts, &a.post);
    mcpi_posts_add(&f.posts, &c.post);
    assert_int_equal(mcpi_posts_run(&f.posts), 3);
    assert_string_equal(f.seen, "bac");
    assert_int_equal(mcpi_posts_run(&f.posts), 0);
    mcpi_posts_done(&f.posts);
}

static void
what_a_post_posts_waits_for_the_next_run(void **state)
{
    struct item a, b;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    a = make_item(&f, 'a'), b = make_item(&f, 'b');
    a.then = &b;
    b.then = &b; /* posts itself, again and again */
    mcpi_posts_add(&f.posts, &a.post);
    assert_int_equal(mcpi_posts_run(&f.posts), 1);
    assert_string_equal(f.seen, "a");
    assert_int_equal(mcpi_posts_run(&f.posts), 1);
    b.then = NULL;
    assert_int_equal(mcpi_posts_run(&f.posts), 1);
    assert_string_equal(f.seen, "abb");
    mcpi_posts_done(&f.posts);
}

static void
the_owner_is_woken_when_the_queue_was_empty(void **state)
{
    struct item a, b, c;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    a = make_item(&f, 'a'), b = make_item(&f, 'b'), c = make_item(&f, 'c');
    a.then = &c;
    mcpi_posts_add(&f.posts, &a.post);
    mcpi_posts_add(&f.posts, &b.post);
    assert_int_equal(f.wakes, 1);
    mcpi_posts_run(&f.posts);
    assert_int_equal(f.wakes, 2); /* c came while a ran, though b still waited */
    mcpi_posts_run(&f.posts);
    assert_string_equal(f.seen, "abc");
    mcpi_posts_done(&f.posts);
}

static void
the_wake_function_may_post(void **state)
{
    struct item a, b;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    a = make_item(&f, 'a'), b = make_item(&f, 'b');
    f.from_wake = &b;
    mcpi_posts_add(&f.posts, &a.post);
    assert_int_equal(mcpi_posts_run(&f.posts), 2);
    assert_string_equal(f.seen, "ab");
    mcpi_posts_done(&f.posts);
}

static void
a_post_that_waits_is_not_queued_twice(void **state)
{
    struct item a, b;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    a = make_item(&f, 'a'), b = make_item(&f, 'b');
    a.then = &b; /* b still waits in the batch being run */
    assert_true(mcpi_posts_add(&f.posts, &a.post));
    assert_true(mcpi_posts_add(&f.posts, &b.post));
    assert_false(mcpi_posts_add(&f.posts, &a.post));
    assert_int_equal(mcpi_posts_run(&f.posts), 2);
    assert_int_equal(mcpi_posts_run(&f.posts), 0);
    assert_string_equal(f.seen, "ab");
    assert_true(mcpi_posts_add(&f.posts, &b.post));
    assert_int_equal(mcpi_posts_run(&f.posts), 1);
    mcpi_posts_done(&f.posts);
}

static void
a_run_inside_a_run_does_nothing(void **state)
{
    struct item a, b;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    a = make_item(&f, 'a'), b = make_item(&f, 'b');
    mcpi_posts_add(&f.posts, &a.post);
    mcpi_posts_add(&f.posts, &b.post);
    assert_int_equal(mcpi_posts_run(&f.posts), 2);
    assert_int_equal(a.nested, 0);
    assert_string_equal(f.seen, "ab");
    mcpi_posts_done(&f.posts);
}

static void
free_self(struct mcpi_post *post)
{
    free(post);
}

static void
a_post_may_free_itself(void **state)
{
    struct mcpi_post *post;
    struct fixture f;

    (void)state;
    open_fixture(&f);
    for (int i = 0; i < 3; i++) {
        post = calloc(1, sizeof *post);
        assert_non_null(post);
        post->fn = free_self;
        mcpi_posts_add(&f.posts, post);
    }
    assert_int_equal(mcpi_posts_run(&f.posts), 3);
    mcpi_posts_done(&f.posts);
}

static void
an_owner_that_needs_no_waking_gives_no_function(void **state)
{
    struct mcpi_posts posts;
    struct fixture f;
    struct item a;

    (void)state;
    memset(&f, 0, sizeof f);
    a = make_item(&f, 'a');
    assert_int_equal(mcpi_posts_init(&f.posts, NULL, NULL), 0);
    assert_int_equal(mcpi_posts_init(&posts, NULL, NULL), 0);
    mcpi_posts_add(&f.posts, &a.post);
    assert_int_equal(mcpi_posts_run(&f.posts), 1);
    mcpi_posts_done(&f.posts);
    mcpi_posts_done(&posts);
}

/* ---- several threads
 * -------------------------------------------------------------- */

#define PRODUCERS 4
#define EACH 2000

struct crowd {
    struct mcpi_posts posts;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool pending;        /* under lock */
    int next[PRODUCERS]; /* owner thread: what is expected of each */
    int out_of_order;    /* owner thread */
};

struct work {
    struct mcpi_post post;
    struct crowd *crowd;
    int producer, number;
};

static struct work works[PRODUCERS][EACH];

static void
crowd_wake(void *user)
{
    struct crowd *crowd = user;

    pthread_mutex_lock(&crowd->lock);
    crowd->pending = true;
    pthread_cond_signal(&crowd->woken);
    pthread_mutex_unlock(&crowd->lock);
}

static void
crowd_sleep(struct crowd *crowd)
{
    pthread_mutex_lock(&crowd->lock);
    while (!crowd->pending)
        pthread_cond_wait(&crowd->woken, &crowd->lock);
    crowd->pending = false;
    pthread_mutex_unlock(&crowd->lock);
}

static void
work_run(struct mcpi_post *post)
{
    struct work *work = MCPI_CONTAINER(post, struct work, post);
    int *next = &work->crowd->next[work->producer];

    if (*next != work->number)
        work->crowd->out_of_order++;
    *next = work->number + 1;
}

static void *
produce(void *user)
{
    struct work *row = user;

    for (int i = 0; i < EACH; i++)
        mcpi_posts_add(&row->crowd->posts, &row[i].post);
    return NULL;
}

static void
posts_of_many_threads_all_arrive_each_in_order(void **state)
{
    struct crowd crowd = {.lock = PTHREAD_MUTEX_INITIALIZER,
                          .woken = PTHREAD_COND_INITIALIZER};
    pthread_t threads[PRODUCERS];
    size_t ran = 0;

    (void)state;
    assert_int_equal(mcpi_posts_init(&crowd.posts, crowd_wake, &crowd), 0);
    for (int p = 0; p < PRODUCERS; p++) {
        for (int i = 0; i < EACH; i++)
            works[p][i] = (struct work){{.fn = work_run}, &crowd, p, i};
        assert_int_equal(pthread_create(&threads[p], NULL, produce, works[p]), 0);
    }
    while (ran < (size_t)PRODUCERS * EACH) { /* a lost wake-up hangs here */
        crowd_sleep(&crowd);
        ran += mcpi_posts_run(&crowd.posts);
    }
    for (int p = 0; p < PRODUCERS; p++)
        pthread_join(threads[p], NULL);
    assert_int_equal(crowd.out_of_order, 0);
    assert_int_equal(mcpi_posts_run(&crowd.posts), 0);
    mcpi_posts_done(&crowd.posts);
}

TEST_MAIN(TEST(posts_run_in_the_order_they_came),
          TEST(what_a_post_posts_waits_for_the_next_run),
          TEST(the_owner_is_woken_when_the_queue_was_empty),
          TEST(the_wake_function_may_post), TEST(a_post_that_waits_is_not_queued_twice),
          TEST(a_run_inside_a_run_does_nothing), TEST(a_post_may_free_itself),
          TEST(an_owner_that_needs_no_waking_gives_no_function),
          TEST(posts_of_many_threads_all_arrive_each_in_order))
