/* base/timers_test.c - proves base/timers.c: order, re-arming, disarming meanwhile */
#include "base/timers.h"

#include "support/test.h"

struct world {
    struct mcpi_timers timers;
    int fired[16];
    int count;
    int64_t now;
};

struct alarm {
    struct mcpi_timer timer;
    struct world *world;
    int number;
    struct mcpi_timer *disarm; /* what its function disarms; NULL: nothing */
    int64_t rearm;             /* what its function arms itself for */
};

static void
alarm_fire(struct mcpi_timer *timer, int64_t now)
{
    struct alarm *alarm = MCPI_CONTAINER(timer, struct alarm, timer);
    struct world *world = alarm->world;

    assert_false(mcpi_timer_is_armed(timer));
    assert_in_range(world->count, 0, 15);
    world->fired[world->count++] = alarm->number;
    world->now = now;
    if (alarm->disarm)
        mcpi_timer_disarm(&world->timers, alarm->disarm);
    mcpi_timer_arm(&world->timers, timer, alarm->rearm);
}

static void
world_init(struct world *world, struct alarm *alarms, int count)
{
    *world = (struct world){.count = 0};
    mcpi_timers_init(&world->timers);
    for (int i = 0; i < count; i++) {
        alarms[i] = (struct alarm){.world = world, .number = i, .rearm = MCPI_NEVER};
        mcpi_timer_init(&alarms[i].timer, alarm_fire);
    }
}

static void
timers_fire_when_due_earliest_first(void **state)
{
    struct world w;
    struct alarm a[4];

    (void)state;
    world_init(&w, a, 4);
    mcpi_timer_arm(&w.timers, &a[0].timer, 30);
    mcpi_timer_arm(&w.timers, &a[1].timer, 10);
    mcpi_timer_arm(&w.timers, &a[2].timer, 10);
    mcpi_timer_arm(&w.timers, &a[3].timer, 31);
    assert_int_equal(mcpi_timers_next(&w.timers), 10);
    assert_int_equal(mcpi_timers_expire(&w.timers, 9), 0);
    assert_int_equal(mcpi_timers_expire(&w.timers, 30), 3);
    assert_int_equal(w.fired[0], 1);
    assert_int_equal(w.fired[1], 2);
    assert_int_equal(w.fired[2], 0);
    assert_int_equal(w.now, 30);
    assert_int_equal(mcpi_timers_next(&w.timers), 31);
}

static void
never_disarms(void **state)
{
    struct world w;
    struct alarm a[1];

    (void)state;
    world_init(&w, a, 1);
    assert_int_equal(mcpi_timers_next(&w.timers), MCPI_NEVER);
    mcpi_timer_arm(&w.timers, &a[0].timer, 5);
    assert_true(mcpi_timer_is_armed(&a[0].timer));
    mcpi_timer_arm(&w.timers, &a[0].timer, MCPI_NEVER);
    assert_false(mcpi_timer_is_armed(&a[0].timer));
    mcpi_timer_disarm(&w.timers, &a[0].timer);
    assert_int_equal(mcpi_timers_expire(&w.timers, MCPI_NEVER), 0);
}

static void
arming_again_moves_the_moment(void **state)
{
    struct world w;
    struct alarm a[1];

    (void)state;
    world_init(&w, a, 1);
    mcpi_timer_arm(&w.timers, &a[0].timer, 5);
    mcpi_timer_arm(&w.timers, &a[0].timer, 50);
    assert_int_equal(mcpi_timers_expire(&w.timers, 49), 0);
    assert_int_equal(mcpi_timers_expire(&w.timers, 50), 1);
    assert_int_equal(mcpi_timers_expire(&w.timers, 50), 0);
}

static void
timer_armed_for_the_past_waits_for_the_next_call(void **state)
{
    struct world w;
    struct alarm a[2];

    (void)state;
    world_init(&w, a, 2);
    a[0].rearm = 1;
    mcpi_timer_arm(&w.timers, &a[0].timer, 10);
    mcpi_timer_arm(&w.timers, &a[1].timer, 20);
    assert_int_equal(mcpi_timers_expire(&w.timers, 20), 2);
    assert_int_equal(w.fired[0], 0);
    assert_int_equal(w.fired[1], 1);
    assert_int_equal(mcpi_timers_next(&w.timers), 1);
    assert_int_equal(mcpi_timers_expire(&w.timers, 20), 1);
    assert_int_equal(w.fired[2], 0);
}

static void
due_timer_disarmed_by_another_does_not_fire(void **state)
{
    struct world w;
    struct alarm a[2];

    (void)state;
    world_init(&w, a, 2);
    a[0].disarm = &a[1].timer;
    mcpi_timer_arm(&w.timers, &a[0].timer, 10);
    mcpi_timer_arm(&w.timers, &a[1].timer, 10);
    assert_int_equal(mcpi_timers_expire(&w.timers, 10), 1);
    assert_int_equal(w.fired[0], 0);
    assert_false(mcpi_timer_is_armed(&a[1].timer));
    assert_int_equal(mcpi_timers_next(&w.timers), MCPI_NEVER);
}

static int64_t next_seen;

static void
look_at_next(struct mcpi_timer *timer, int64_t now)
{
    struct alarm *alarm = MCPI_CONTAINER(timer, struct alarm, timer);

    (void)now;
    next_seen = mcpi_timers_next(&alarm->world->timers);
}

static void
next_counts_those_about_to_fire(void **state)
{
    struct world w;
    struct alarm a[2];

    (void)state;
    world_init(&w, a, 2);
    a[0].timer.fn = look_at_next;
    mcpi_timer_arm(&w.timers, &a[0].timer, 10);
    mcpi_timer_arm(&w.timers, &a[1].timer, 11);
    assert_int_equal(mcpi_timers_expire(&w.timers, 12), 2);
    assert_int_equal(next_seen, 11);
}

static void
time_is_clamped_to_never(void **state)
{
    (void)state;
    assert_int_equal(mcpi_time_add(5, 6), 11);
    assert_int_equal(mcpi_time_add(-5, 6), 1);
    assert_true(mcpi_time_add(1, INT64_MAX) == MCPI_NEVER);
    assert_true(mcpi_time_add(MCPI_NEVER, 0) == MCPI_NEVER);
    assert_true(mcpi_time_add(MCPI_NEVER - 1, 1) == MCPI_NEVER);
    assert_true(mcpi_time_add(INT64_MIN, INT64_MAX) == -1);
}

TEST_MAIN(TEST(timers_fire_when_due_earliest_first), TEST(never_disarms),
          TEST(arming_again_moves_the_moment),
          TEST(timer_armed_for_the_past_waits_for_the_next_call),
          TEST(due_timer_disarmed_by_another_does_not_fire),
          TEST(next_counts_those_about_to_fire), TEST(time_is_clamped_to_never))
