/* loop_test.c - a turn of the event loop: deadlines, posts and flushes */
#include "run/loop.h"

#include <pthread.h>

#include "run/loop_fixture.h"

/* ---- deadlines -------------------------------------------------------------- */

static void
a_deadline_wakes_the_loop_and_is_not_early(void **state)
{
    struct fixture f;
    struct item a;
    int64_t at;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a');
    a.then = then_stop;
    at = mcpi_loop_clock() + 5500;
    item_arm(&a, at);
    run(&f);
    assert_string_equal(f.seen, "a");
    assert_true(a.value >= at);
    assert_true(mcpi_loop_clock() >= at);
    fixture_close(&f);
}

static void
deadlines_may_come_and_go_in_any_order(void **state)
{
    struct item early, a, b, c;
    struct fixture f;
    int64_t now;

    (void)state;
    fixture_open(&f);
    item_init(&early, &f, 'e'), item_init(&a, &f, 'a');
    item_init(&b, &f, 'b'), item_init(&c, &f, 'c');
    now = mcpi_loop_clock();
    item_arm(&early, now + 2000);
    item_arm(&c, now + 9000);
    step(&f);
    mcpi_timer_disarm(mcpi_loop_timers(f.loop), &early.timer); /* fires for nothing */
    item_arm(&a, now + 4000);
    item_arm(&b, now + 6000);
    c.then = then_stop;
    run(&f);
    assert_string_equal(f.seen, "abc");
    assert_true(a.value >= now + 4000 && b.value >= now + 6000 &&
                c.value >= now + 9000);
    fixture_close(&f);
}

static void
I16_what_can_be_read_wins_over_a_deadline_of_the_same_turn(void **state)
{
    struct reader reader;
    struct fixture f;
    struct item a, b;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'd'), item_init(&b, &f, 'p');
    reader_open(&reader, &f);
    assert_int_equal(write(reader.fds[1], "x", 1), 1);
    item_arm(&a, 1); /* long ago */
    item_arm(&a, mcpi_loop_clock());
    step(&f);
    assert_string_equal(f.seen, "rd");
    item_arm(&a, 1); /* and so does what came home before it expired */
    item_post(&b);
    step(&f);
    assert_string_equal(f.seen, "rdpd");
    reader_close(&reader);
    fixture_close(&f);
}

static void
then_arm_again(struct item *item)
{
    item_arm(item, 1);
    if (item->f->seen_len == 3)
        mcpi_loop_stop(item->f->loop);
}

static void
a_deadline_that_is_always_due_does_not_keep_the_loop_from_reading(void **state)
{
    struct reader reader;
    struct fixture f;
    struct item a;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a');
    a.then = then_arm_again;
    item_arm(&a, 1);
    reader_open(&reader, &f);
    assert_int_equal(write(reader.fds[1], "x", 1), 1);
    run(&f);
    assert_string_equal(f.seen, "raa");
    mcpi_timer_disarm(mcpi_loop_timers(f.loop), &a.timer);
    reader_close(&reader);
    fixture_close(&f);
}

static void
then_pass_time(struct item *item)
{
    int64_t from = mcpi_loop_now(item->f->loop);

    while (mcpi_loop_clock() <= from + 1)
        continue;
    item->value = mcpi_loop_now(item->f->loop) - from;
    if (item->other)
        item->other->value = mcpi_loop_now(item->f->loop);
}

static void
now_is_the_time_of_the_turn(void **state)
{
    struct fixture f;
    struct item a, b;
    int64_t first;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a'), item_init(&b, &f, 'b');
    first = mcpi_loop_now(f.loop);
    a.other = &b;
    a.then = then_pass_time;
    item_post(&a);
    step(&f);
    assert_int_equal(a.value, 0);
    assert_true(b.value >= first);
    first = b.value;
    item_post(&a);
    step(&f);
    assert_true(b.value > first);
    assert_true(mcpi_loop_now(f.loop) > b.value); /* outside of a turn: this moment */
    fixture_close(&f);
}

static int64_t
hand(void *user)
{
    return *(int64_t *)user;
}

static void
a_test_may_hold_the_clock(void **state)
{
    struct fixture f;
    struct item a;
    int64_t now = 1000;

    (void)state;
    fixture_open(&f);
    mcpi_loop_set_clock(f.loop, hand, &now);
    item_init(&a, &f, 'a');
    item_arm(&a, 5000);
    assert_int_equal(mcpi_loop_now(f.loop), 1000);
    assert_int_equal(mcpi_loop_moment(f.loop), 1000);
    step(&f);
    assert_in_range(mcpi_loop_timeout_ms(f.loop), 0, 4);
    assert_string_equal(f.seen, "");
    now = 5000;
    step(&f);
    assert_string_equal(f.seen, "a");
    assert_int_equal(a.value, 5000);
    fixture_close(&f);
}

/* ---- posts ------------------------------------------------------------------ */

static void
what_the_loop_posts_itself_runs_before_it_sleeps(void **state)
{
    struct item a, b, c, d;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a'), item_init(&b, &f, 'b');
    item_init(&c, &f, 'c'), item_init(&d, &f, 'd');
    a.then = b.then = c.then = then_post_other;
    a.other = &b, b.other = &c, c.other = &d;
    d.then = then_stop;
    item_post(&a);
    run(&f);
    assert_string_equal(f.seen, "abcd");
    item_init(&a, &f, '1'), item_init(&b, &f, '2'), item_init(&c, &f, '3');
    a.then = then_post_other; /* from a deadline, and from a flush */
    a.other = &b;
    b.then = then_flush_other;
    b.other = &c;
    c.then = then_post_other;
    c.other = &d;
    item_arm(&a, 1);
    run(&f);
    assert_string_equal(f.seen, "abcd123d");
    fixture_close(&f);
}

static void
I16_what_the_loop_posts_itself_runs_before_deadlines_and_reading(void **state)
{
    struct item a, b, deadline;
    struct reader reader;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a'), item_init(&b, &f, 'b'), item_init(&deadline, &f, 'd');
    reader_open(&reader, &f);
    a.then = deadline.then = then_post_other;
    a.other = deadline.other = &b;
    step(&f);
    item_post(&a);
    item_arm(&deadline, 1);
    step(&f);
    assert_string_equal(f.seen, "abd"); /* and b again, after the poll */
    assert_int_equal(write(reader.fds[1], "x", 1), 1);
    step(&f);
    assert_string_equal(f.seen, "abdbr");
    reader_close(&reader);
    fixture_close(&f);
}

static void
then_run_posts(struct item *item)
{
    item_post(item->other);
    mcpi_loop_run_posts(item->f->loop); /* from inside one: nothing */
    see(item->f, '.');
}

static void
a_post_that_asks_for_posts_loses_none(void **state)
{
    struct fixture f;
    struct item a, b;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a'), item_init(&b, &f, 'b');
    a.then = then_run_posts;
    a.other = &b;
    b.then = then_stop;
    item_post(&a);
    run(&f);
    assert_string_equal(f.seen, "a.b");
    fixture_close(&f);
}

static void
F10_a_link_runs_what_was_posted_before_it_dispatches(void **state)
{
    struct fixture f;
    struct item a, b;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a'), item_init(&b, &f, 'b');
    item_post(&a);
    item_post(&b);
    mcpi_loop_run_posts(f.loop);
    assert_string_equal(f.seen, "ab");
    step(&f); /* the wake that was sent finds nothing */
    assert_string_equal(f.seen, "ab");
    fixture_close(&f);
}

#define POSTERS 4
#define POSTS 500

struct poster {
    struct mcpi_post posts[POSTS];
    struct mcpi_loop *loop;
    int ran; /* loop thread only */
    bool disorder;
};

/* The posts of one thread are an array, so a post's place says whose turn it is. */
static struct poster posters[POSTERS];

static void
count_post(struct mcpi_post *post)
{
    for (int i = 0; i < POSTERS; i++) {
        struct poster *p = &posters[i];

        if (post < p->posts || post >= p->posts + POSTS)
            continue;
        p->disorder |= post != &p->posts[p->ran];
        p->ran++;
    }
}

static void *
post_many(void *user)
{
    struct poster *poster = user;

    for (int i = 0; i < POSTS; i++) {
        poster->posts[i].fn = count_post;
        mcpi_loop_post(poster->loop, &poster->posts[i]);
    }
    return NULL;
}

static void
posts_of_many_threads_run_once_and_each_threads_in_order(void **state)
{
    pthread_t threads[POSTERS];
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(mcpi_loop_start(f.loop), 0);
    memset(posters, 0, sizeof posters);
    for (int i = 0; i < POSTERS; i++) {
        posters[i].loop = f.loop;
        assert_int_equal(pthread_create(&threads[i], NULL, post_many, &posters[i]), 0);
    }
    for (int i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    fixture_close(&f); /* runs what is left */
    for (int i = 0; i < POSTERS; i++) {
        assert_int_equal(posters[i].ran, POSTS);
        assert_false(posters[i].disorder);
    }
}

/* ---- flushes ---------------------------------------------------------------- */

static void
a_flush_runs_once_a_turn_however_often_it_is_asked_for(void **state)
{
    struct item a, b, flush;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a'), item_init(&b, &f, 'b'), item_init(&flush, &f, 'f');
    a.then = b.then = then_flush_other;
    a.other = b.other = &flush;
    item_post(&a);
    item_post(&b);
    step(&f);
    assert_string_equal(f.seen, "abf");
    step(&f);
    assert_string_equal(f.seen, "abf");
    fixture_close(&f);
}

static void
a_flush_asked_for_before_the_loop_runs_is_not_forgotten(void **state)
{
    struct fixture f;
    struct item a;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'f');
    a.then = then_stop;
    mcpi_loop_flush(f.loop, &a.flush);
    assert_int_equal(mcpi_loop_timeout_ms(f.loop), 0);
    run(&f);
    assert_string_equal(f.seen, "f");
    fixture_close(&f);
}

static void
then_flush_self(struct item *item)
{
    mcpi_loop_flush(item->f->loop, &item->flush);
    if (item->f->seen_len >= 10)
        mcpi_loop_stop(item->f->loop);
}

static void
a_flush_that_asks_again_runs_again_and_reading_goes_on(void **state)
{
    struct reader reader;
    struct fixture f;
    struct item a;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'f');
    a.then = then_flush_self;
    reader_open(&reader, &f);
    assert_int_equal(write(reader.fds[1], "x", 1), 1);
    mcpi_loop_flush(f.loop, &a.flush);
    run(&f);
    assert_memory_equal(f.seen, "frffffffff", 10);
    mcpi_flush_cancel(&a.flush);
    f.seen_len = 0;
    reader_close(&reader);
    assert_int_equal(f.seen_len, 0);
    fixture_close(&f);
}

static void
then_cancel_other(struct item *item)
{
    mcpi_flush_cancel(&item->other->flush);
}

static void
a_canceled_flush_does_not_run(void **state)
{
    struct item a, b, c;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    item_init(&a, &f, 'a'), item_init(&b, &f, 'b'), item_init(&c, &f, 'c');
    mcpi_loop_flush(f.loop, &a.flush);
    mcpi_loop_flush(f.loop, &b.flush);
    mcpi_loop_flush(f.loop, &c.flush);
    a.then = then_cancel_other; /* of the same round */
    a.other = &b;
    mcpi_flush_cancel(&c.flush);
    mcpi_flush_cancel(&c.flush);
    step(&f);
    assert_string_equal(f.seen, "a");
    fixture_close(&f);
}

TEST_MAIN(TEST(a_deadline_wakes_the_loop_and_is_not_early),
          TEST(deadlines_may_come_and_go_in_any_order),
          TEST(I16_what_can_be_read_wins_over_a_deadline_of_the_same_turn),
          TEST(a_deadline_that_is_always_due_does_not_keep_the_loop_from_reading),
          TEST(now_is_the_time_of_the_turn), TEST(a_test_may_hold_the_clock),
          TEST(what_the_loop_posts_itself_runs_before_it_sleeps),
          TEST(I16_what_the_loop_posts_itself_runs_before_deadlines_and_reading),
          TEST(a_post_that_asks_for_posts_loses_none),
          TEST(F10_a_link_runs_what_was_posted_before_it_dispatches),
          TEST(posts_of_many_threads_run_once_and_each_threads_in_order),
          TEST(a_flush_runs_once_a_turn_however_often_it_is_asked_for),
          TEST(a_flush_asked_for_before_the_loop_runs_is_not_forgotten),
          TEST(a_flush_that_asks_again_runs_again_and_reading_goes_on),
          TEST(a_canceled_flush_does_not_run))
