/* flag_test.c - something that other threads tell of once, and one thread waits for */
#include "cli/flag.h"

#include "support/test.h"

static void *
raise_it(void *user)
{
    cli_flag_raise(user);
    return NULL;
}

static void
who_waits_is_woken_by_another_thread(void **state)
{
    struct cli_flag flag;
    pthread_t thread;

    (void)state;
    cli_flag_init(&flag);
    assert_int_equal(pthread_create(&thread, NULL, raise_it, &flag), 0);
    assert_true(cli_flag_wait(&flag, 60000));
    pthread_join(thread, NULL);
    cli_flag_done(&flag);
}

static void
one_that_is_up_is_not_waited_for(void **state)
{
    struct cli_flag flag;

    (void)state;
    cli_flag_init(&flag);
    cli_flag_raise(&flag);
    cli_flag_raise(&flag);
    assert_true(cli_flag_wait(&flag, 0));
    cli_flag_done(&flag);
}

static void
one_that_is_down_is_given_up(void **state)
{
    struct cli_flag flag;

    (void)state;
    cli_flag_init(&flag);
    assert_false(cli_flag_wait(&flag, 1));
    cli_flag_raise(&flag);
    cli_flag_lower(&flag);
    assert_false(cli_flag_wait(&flag, 0));
    cli_flag_done(&flag);
}

TEST_MAIN(TEST(who_waits_is_woken_by_another_thread),
          TEST(one_that_is_up_is_not_waited_for), TEST(one_that_is_down_is_given_up))
