/* command_doctor_test.c - mcpctl doctor: its report, and how it exits */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/program.h"

static void
a_good_server_has_no_fault(void **state)
{
    (void)state;
    CHECK_RAN(0, "\"failed\":0,", NULL, "doctor", PROBE);
    CHECK_RAN(0, " 0 failed, ", NULL, "doctor", probe_http(), "--report", "text");
    probe_stop();
}

static void
a_report_is_for_test_runners_too(void **state)
{
    (void)state;
    CHECK_RAN(4, "<testcase classname=\"stdio.answers\"", NULL, "doctor",
              "/nonexistent/server", "--report", "junit");
}

static void
a_fault_is_exit_1_and_nobody_is_exit_4(void **state)
{
    const char *path = scratch_file("bad.sh",
                                    "echo hello; exec " CLI_BIN "/probe-server\n");
    char target[512];

    (void)state;
    (void)snprintf(target, sizeof(target), "/bin/sh %s", path);
    CHECK_RAN(1, "the first: hello", NULL, "doctor", target);
    CHECK_RAN(4, "\"checks\":[", NULL, "doctor", "http://127.0.0.1:1/mcp");
    CHECK_RAN(1, NULL, "--tool", "doctor", PROBE, "x=y");
}

static int
lines_of(const char *path)
{
    FILE *file = fopen(path, "r");
    int count = 0, c;

    assert_non_null(file);
    while ((c = fgetc(file)) != EOF)
        count += c == '\n';
    (void)fclose(file);
    return count;
}

/* Each era has been asked once: a session would only ask them again. It ends when its
 * input does, and so not before it has written that it was started. */
static void
who_is_silent_is_waited_for_once(void **state)
{
    const char *path = scratch_file("silent.sh",
                                    "echo >> $0.starts; cat >/dev/null; exit\n");
    char target[512], starts[512];

    (void)state;
    (void)snprintf(target, sizeof(target), "/bin/sh %s", path);
    (void)snprintf(starts, sizeof(starts), "%s.starts", path);
    CHECK_RAN(4, "\"Opens a session\",\"verdict\":\"skip\"", NULL, "doctor", target,
              "--timeout", "0.05");
    assert_int_equal(lines_of(starts), 2);
}

/* What is under way has not been seen to its end. */
static void
who_interrupts_it_gets_no_verdict_on_that(void **state)
{
    const char *path = scratch_file("hangs.sh", "echo > $0.up; exec sleep 3600\n");
    char target[512], up[512], byte;
    const char *const words[] = {"doctor", target, NULL};
    struct running running;
    struct ran ran;
    int fd;

    (void)state;
    (void)snprintf(target, sizeof(target), "/bin/sh %s", path);
    (void)snprintf(up, sizeof(up), "%s.up", path);
    assert_int_equal(mkfifo(up, 0600), 0);
    running = start_mcpctl(words, NULL);
    fd = open(up, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, &byte, 1), 1);
    close(fd);
    assert_int_equal(kill(running.pid, SIGINT), 0);
    ran = running_end(&running);
    check_ran(&ran, 130, "\"verdict\":\"skip\",\"seen\":\"You have interrupted it.\"",
              NULL);
}

/* It gets away from the group of its server, in each of the times that one is started. */
static void
nobody_outlives_the_doctor(void **state)
{
    const char *path = scratch_file(
        "leaves.sh", "setsid sleep 3600 >/dev/null 2>&1 </dev/null &\n"
                     "until read -r n </proc/$!/comm && [ $n = sleep ]; do :; done\n"
                     "echo $! >> $0.pids; exec " CLI_BIN "/probe-server\n");
    char target[512], pids[512];
    int pid, count = 0;
    FILE *file;

    (void)state;
    (void)snprintf(target, sizeof(target), "/bin/sh %s", path);
    (void)snprintf(pids, sizeof(pids), "%s.pids", path);
    CHECK_RAN_IN("orphan=20", 1, "outlived it: sleep", NULL, "doctor", target);
    file = fopen(pids, "r");
    assert_non_null(file);
    for (; fscanf(file, "%d", &pid) == 1; count++)
        assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(count, 4);
    (void)fclose(file);
}

TEST_MAIN(TEST(who_interrupts_it_gets_no_verdict_on_that),
          TEST(who_is_silent_is_waited_for_once), TEST(nobody_outlives_the_doctor),
          TEST(a_good_server_has_no_fault), TEST(a_report_is_for_test_runners_too),
          TEST(a_fault_is_exit_1_and_nobody_is_exit_4))
