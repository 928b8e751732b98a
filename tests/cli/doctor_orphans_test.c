/* doctor_orphans_test.c - proves cli/doctor_orphans.c: nobody gets away */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/proc.h"
#include "cli/program.h"

/* Until the process that sh(1) has just started is the program of that name, and not a
 * copy of the shell any more. */
#define AWAIT_SLEEP "until read -r n </proc/$!/comm && [ $n = sleep ]; do :; done\n"

static _Noreturn void
run_script(const void *script)
{
    (void)execl("/bin/sh", "sh", "-c", (const char *)script, (char *)NULL);
    _exit(127);
}

/* Runs a server to its end. */
static void
serve_by(struct cli_doctor *doctor, void (*run)(const void *user), const void *user)
{
    pid_t pid;

    cli_orphans_begin(doctor);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setsid();
        run(user);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    cli_orphans_end(doctor, pid);
}

/* The same with a script of sh(1). */
static void
serve(struct cli_doctor *doctor, const char *script)
{
    serve_by(doctor, run_script, script);
}

static size_t
count_children(void)
{
    struct cli_proc *list = calloc(CLI_PROC_MAX, sizeof(*list));
    size_t count = cli_proc_all(list, CLI_PROC_MAX), children = 0;

    for (size_t i = 0; i < count; i++)
        children += list[i].parent == getpid();
    free(list);
    return children;
}

static void
who_leaves_nobody_is_not_accused(void **state)
{
    struct cli_doctor doctor = {.orphan_ms = AWAIT_MS};

    (void)state;
    serve(&doctor, "sleep 0.01 & exit 0");
    assert_int_equal(doctor.orphan_count, 0);
    assert_int_equal(count_children(), 0);
}

static void
a_session_of_its_own_hides_nobody(void **state)
{
    struct cli_doctor doctor = {.orphan_ms = 20};

    (void)state;
    serve(&doctor, "sleep 3600 &\n" AWAIT_SLEEP "setsid sleep 3600 &\n" AWAIT_SLEEP);
    assert_int_equal(doctor.orphan_count, 2);
    assert_non_null(strstr(cli_text_string(&doctor.orphans), "sleep ("));
    assert_int_equal(count_children(), 0);
    cli_text_done(&doctor.orphans);
}

/* Its first thread ends, and the other one says so as soon as that is seen. */
static void *
say_and_stay(void *user)
{
    const int *fd = user;
    struct cli_proc proc;

    while (!cli_proc_look(getpid(), &proc) || proc.state != 'Z')
        (void)sched_yield();
    (void)!write(*fd, "", 1);
    (void)pause();
    return NULL;
}

static _Noreturn void
run_half_dead(const void *user)
{
    static int fds[2]; /* outlives this thread */
    pthread_t thread;
    char byte;

    (void)user;
    if (pipe(fds) == 0 && fork() == 0) {
        (void)alarm(AWAIT_MS / 1000); /* also if a case fails */
        if (pthread_create(&thread, NULL, say_and_stay, &fds[1]) == 0)
            pthread_exit(NULL);
        _exit(127);
    }
    _exit(read(fds[0], &byte, 1) == 1 ? 0 : 127);
}

static void
who_has_lost_its_first_thread_is_no_zombie(void **state)
{
    struct cli_doctor doctor = {.orphan_ms = 20};

    (void)state;
    serve_by(&doctor, run_half_dead, NULL);
    assert_int_equal(doctor.orphan_count, 1);
    assert_int_equal(count_children(), 0);
    cli_text_done(&doctor.orphans);
}

/* Whoever is looked at has started the next one before it is killed. */
static void
who_starts_others_all_the_time_is_ended_with_them(void **state)
{
    struct cli_doctor doctor = {.orphan_ms = 20};

    (void)state;
    serve(&doctor, "setsid sh -c 'for i in 1 2 3 4 5 6 7 8; do "
                   "(while :; do setsid sleep 0.001; done) & done; wait' &");
    assert_true(doctor.orphan_count > 0);
    assert_int_equal(count_children(), 0);
    cli_text_done(&doctor.orphans);
}

static void
children_that_were_there_before_stay(void **state)
{
    struct cli_doctor doctor = {.orphan_ms = 20};
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)execl("/bin/sleep", "sleep", "3600", (char *)NULL);
        _exit(127);
    }
    serve(&doctor, "sleep 3600 &");
    assert_int_equal(doctor.orphan_count, 1);
    assert_int_equal(kill(pid, 0), 0);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    cli_text_done(&doctor.orphans);
}

TEST_MAIN(TEST(who_leaves_nobody_is_not_accused),
          TEST(a_session_of_its_own_hides_nobody),
          TEST(who_has_lost_its_first_thread_is_no_zombie),
          TEST(who_starts_others_all_the_time_is_ended_with_them),
          TEST(children_that_were_there_before_stay))
