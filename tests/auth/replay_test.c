/* replay_test.c - names that were seen lately */
#include "auth/replay.h"

#include <pthread.h>
#include <stdio.h>

#include "support/test.h"

struct rig {
    struct test_mem mem;
    struct mcpi_replay *replay;
};

static void
rig_open(struct rig *rig, size_t most)
{
    test_mem_init(&rig->mem);
    assert_int_equal(mcpi_replay_new(&rig->mem.allocator, most, &rig->replay), 0);
}

static void
rig_close(struct rig *rig)
{
    mcpi_replay_free(rig->replay);
    test_mem_done(&rig->mem);
}

/* Of somebody who is nobody else. */
static int
add(struct rig *rig, const char *name, int64_t now, int64_t until)
{
    return mcpi_replay_add(rig->replay, name, name, now, until);
}

static void
a_name_is_new_once(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig, 10);
    assert_int_equal(add(&rig, "a", 0, 100), 0);
    assert_int_equal(add(&rig, "a", 0, 100), MCP_E_STATE);
    assert_int_equal(add(&rig, "A", 0, 100), 0);
    assert_int_equal(add(&rig, "", 0, 100), 0);
    assert_int_equal(add(&rig, "", 50, 100), MCP_E_STATE);
    assert_int_equal(add(&rig, "a", 50, 100), MCP_E_STATE);
    rig_close(&rig);
}

static void
a_name_is_forgotten_after_its_time(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig, 10);
    assert_int_equal(add(&rig, "a", 0, 100), 0);
    assert_int_equal(add(&rig, "a", 100, 200), MCP_E_STATE);
    assert_int_equal(add(&rig, "a", 101, 200), 0);
    assert_int_equal(add(&rig, "a", 200, 300), MCP_E_STATE);
    rig_close(&rig);
}

/* Who is seen again does not stay for longer: that would be a way to fill it. */
static void
a_second_sight_does_not_prolong_it(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig, 10);
    assert_int_equal(add(&rig, "a", 0, 100), 0);
    assert_int_equal(add(&rig, "a", 50, 1000), MCP_E_STATE);
    assert_int_equal(add(&rig, "a", 101, 200), 0);
    rig_close(&rig);
}

static void
those_that_end_first_leave_first(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig, 3);
    assert_int_equal(add(&rig, "late", 0, 300), 0);
    assert_int_equal(add(&rig, "soon", 0, 100), 0);
    assert_int_equal(add(&rig, "then", 0, 200), 0);
    assert_int_equal(add(&rig, "more", 101, 400), 0);
    assert_int_equal(add(&rig, "late", 101, 400), MCP_E_STATE);
    assert_int_equal(add(&rig, "then", 101, 400), MCP_E_STATE);
    assert_int_equal(add(&rig, "soon", 101, 400), MCP_E_LIMIT);
    rig_close(&rig);
}

static void
at_its_limit_it_refuses_and_forgets_nothing(void **state)
{
    struct rig rig;
    char name[16];

    (void)state;
    rig_open(&rig, 100);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof(name), "%d", i);
        assert_int_equal(add(&rig, name, 0, 100), 0);
    }
    assert_int_equal(add(&rig, "new", 0, 100), MCP_E_LIMIT);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof(name), "%d", i);
        assert_int_equal(add(&rig, name, 100, 100), MCP_E_STATE);
    }
    assert_int_equal(add(&rig, "new", 101, 200), 0);
    assert_int_equal(atomic_load(&rig.mem.live) < 10, true);
    rig_close(&rig);
}

static int
add_many(struct rig *rig, const char *owner, int count)
{
    char name[32];
    int i, r = 0;

    for (i = 0; r == 0 && i < count; i++) {
        (void)snprintf(name, sizeof(name), "%s %d", owner, i);
        r = mcpi_replay_add(rig->replay, owner, name, 0, 100);
    }
    return r < 0 ? i - 1 : i;
}

/* Half for one who is alone, a third each for two: there is always some left for who
 * comes next. */
static void
nobody_has_more_than_is_left_for_others(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig, 120);
    assert_int_equal(add_many(&rig, "greedy", 1000), 60);
    assert_int_equal(mcpi_replay_add(rig.replay, "greedy", "x", 0, 100), MCP_E_LIMIT);
    assert_int_equal(mcpi_replay_add(rig.replay, "greedy", "greedy 0", 0, 100),
                     MCP_E_STATE);
    assert_int_equal(add_many(&rig, "second", 1000), 30);
    assert_int_equal(add_many(&rig, "third", 1000), 15);
    assert_int_equal(mcpi_replay_add(rig.replay, "fourth", "x", 0, 100), 0);
    assert_int_equal(mcpi_replay_add(rig.replay, "greedy", "y", 100, 100), MCP_E_LIMIT);
    assert_int_equal(mcpi_replay_add(rig.replay, "greedy", "y", 101, 200), 0);
    assert_true(atomic_load(&rig.mem.live) < 10); /* nobody is remembered for longer */
    rig_close(&rig);
}

static void
any_clock_will_do(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig, 10);
    assert_int_equal(add(&rig, "a", INT64_MIN, INT64_MAX), 0);
    assert_int_equal(add(&rig, "b", 0, INT64_MIN), 0);
    assert_int_equal(add(&rig, "a", INT64_MAX, 0), MCP_E_STATE);
    assert_int_equal(add(&rig, "b", INT64_MAX, 0), 0);
    rig_close(&rig);
    mcpi_replay_free(NULL);
}

/* ---- two threads, the same names ----------------------------------------------- */

#define NAMES 2000

struct racer {
    struct mcpi_replay *replay;
    pthread_t thread;
    int won;
};

static void *
race(void *user)
{
    struct racer *racer = user;
    char name[16];

    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof(name), "%d", i);
        racer->won += mcpi_replay_add(racer->replay, name, name, 0, 100) == 0;
    }
    return NULL;
}

static void
of_two_threads_one_is_first(void **state)
{
    struct racer racers[2];
    struct rig rig;

    (void)state;
    rig_open(&rig, NAMES);
    for (int i = 0; i < 2; i++) {
        racers[i] = (struct racer){.replay = rig.replay};
        assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(racers[i].thread, NULL), 0);
    assert_int_equal(racers[0].won + racers[1].won, NAMES);
    rig_close(&rig);
}

static void
flow(struct test_mem *mem, void *user)
{
    struct mcpi_replay *replay = NULL;
    int r = mcpi_replay_new(&mem->allocator, 10, &replay);

    (void)user;
    if (r == 0)
        r = mcpi_replay_add(replay, "x", "a", 0, 100);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    if (r == 0)
        assert_int_equal(mcpi_replay_add(replay, "x", "a", 0, 100), MCP_E_STATE);
    mcpi_replay_free(replay);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(flow, NULL), 3);
}

TEST_MAIN(TEST(a_name_is_new_once), TEST(a_name_is_forgotten_after_its_time),
          TEST(a_second_sight_does_not_prolong_it),
          TEST(those_that_end_first_leave_first),
          TEST(at_its_limit_it_refuses_and_forgets_nothing),
          TEST(nobody_has_more_than_is_left_for_others), TEST(any_clock_will_do),
          TEST(of_two_threads_one_is_first), TEST(each_allocation_may_fail))
