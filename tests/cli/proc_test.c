/* proc_test.c - proves cli/proc.c: lines of /proc, ourselves, and who is below whom */
#include "cli/proc.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

static void
a_line_is_read_whatever_the_name_is(void **state)
{
    struct cli_proc proc;

    (void)state;
    assert_true(
        cli_proc_parse("42 (a) b (c) S 7 42 40 0 -1 4194560 1 2 3 4 100 50 0 0 20 "
                       "0 1 0 99 1000 25 18446744073709551615 0 0",
                       &proc));
    assert_int_equal(proc.pid, 42);
    assert_string_equal(proc.name, "a) b (c");
    assert_int_equal(proc.state, 'S');
    assert_int_equal(proc.parent, 7);
    assert_int_equal(proc.group, 42);
    assert_int_equal(proc.session, 40);
    assert_int_equal(proc.cpu_ticks, 150);
    assert_int_equal(proc.pages, 25);
}

static void
what_is_no_such_line_is_refused(void **state)
{
    struct cli_proc proc;

    (void)state;
    assert_false(cli_proc_parse("", &proc));
    assert_false(cli_proc_parse("42 a S 7", &proc));
    assert_false(cli_proc_parse("42 (a) S 7 42", &proc));
    assert_false(cli_proc_parse(")42 (", &proc));
}

static void
we_are_a_process_with_memory_and_descriptors(void **state)
{
    struct cli_usage before, after;
    int fd;

    (void)state;
    cli_proc_usage(getpid(), &before);
    fd = dup(0);
    assert_true(fd >= 0);
    cli_proc_usage(getpid(), &after);
    close(fd);
    assert_true(before.memory_bytes > 0);
    assert_int_equal(before.processes, 1);
    assert_int_equal(after.descriptors, before.descriptors + 1);
}

static void
nobody_uses_nothing(void **state)
{
    struct cli_usage usage;

    (void)state;
    cli_proc_usage(0, &usage);
    assert_int_equal(usage.memory_bytes, -1);
    assert_int_equal(usage.descriptors, -1);
    assert_int_equal(usage.processes, -1);
}

static void
a_child_is_below_us(void **state)
{
    struct cli_usage usage;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0)
        for (;;)
            pause();
    cli_proc_usage(getpid(), &usage);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(usage.processes, 2);
}

static void
grandchildren_are_found_in_any_order(void **state)
{
    struct cli_proc list[] = {{.pid = 4, .parent = 3}, {.pid = 9, .parent = 1},
                              {.pid = 3, .parent = 2}, {.pid = 2, .parent = 1},
                              {.pid = 5, .parent = 2}, {.pid = 1, .parent = 0}};

    (void)state;
    assert_int_equal(cli_proc_below(2, list, 6), 3);
    for (int i = 0; i < 3; i++)
        assert_true(list[i].pid >= 3 && list[i].pid <= 5);
    assert_int_equal(cli_proc_below(4, list, 6), 0);
}

TEST_MAIN(TEST(a_line_is_read_whatever_the_name_is),
          TEST(what_is_no_such_line_is_refused),
          TEST(we_are_a_process_with_memory_and_descriptors), TEST(nobody_uses_nothing),
          TEST(a_child_is_below_us), TEST(grandchildren_are_found_in_any_order))
