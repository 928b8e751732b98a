/* cli/command_sh_test.c - proves cli/command_sh.c: a shell, and a script */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/program.h"

/* ---- mcpctl on a pseudo terminal ------------------------------------------------ */

struct terminal {
    pid_t pid;
    int fd;
};

static struct terminal
open_shell(const char *target)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    const char *home = scratch();
    struct terminal terminal;

    terminal.pid = forkpty(&terminal.fd, NULL, NULL, &size);
    assert_true(terminal.pid >= 0);
    if (terminal.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if a case fails */
        (void)signal(SIGINT, SIG_DFL); /* ignored in the background of a script */
        (void)setenv("HOME", home, 1);
        (void)setenv("TERM", "xterm", 1);
        (void)unsetenv("XDG_STATE_HOME");
        (void)unsetenv("XDG_CONFIG_HOME");
        (void)execl(MCPCTL, MCPCTL, "sh", target, (char *)NULL);
        _exit(127);
    }
    assert_true(fcntl(terminal.fd, F_SETFD, FD_CLOEXEC) >= 0);
    return terminal;
}

static void
type(struct terminal *terminal, const char *keys)
{
    assert_int_equal(write(terminal->fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

/* Waits until this stands there; what is read goes. */
static void
until(struct terminal *terminal, const char *text)
{
    (void)running_until(terminal->fd, text);
}

/* Reads the rest, waits for the end; how it exited. */
static int
close_shell(struct terminal *terminal)
{
    struct pollfd ready = {.fd = terminal->fd, .events = POLLIN};
    char rest[4096];
    int status = 0;
    ssize_t n;

    do {
        assert_int_equal(poll(&ready, 1, AWAIT_MS), 1);
        n = read(terminal->fd, rest, sizeof rest);
    } while (n > 0);
    close(terminal->fd);
    assert_int_equal(waitpid(terminal->pid, &status, 0), terminal->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
tab_completes_commands_tools_and_arguments(void **state)
{
    struct terminal terminal = open_shell(PROBE);

    (void)state;
    until(&terminal, "probe-server> ");
    type(&terminal, "ca\t");
    until(&terminal, "call ");
    type(&terminal, "ec\t");
    until(&terminal, "echo ");
    type(&terminal, "te\t");
    until(&terminal, "text=");
    type(&terminal, "hello\n");
    until(&terminal, "\nhello\r\n");
    until(&terminal, "probe-server> ");
    type(&terminal, "call hang\t\t");
    until(&terminal, "hang        hang_async\r\n");
    until(&terminal, "call hang");
    type(&terminal, "\x03");
    until(&terminal, "^C");
    until(&terminal, "probe-server> ");
    type(&terminal, "quit\n");
    assert_int_equal(close_shell(&terminal), 0);
}

static void
a_line_is_drawn_anew_when_the_terminal_has_another_size(void **state)
{
    struct winsize size = {.ws_row = 24, .ws_col = 30};
    struct terminal terminal = open_shell(PROBE);

    (void)state;
    until(&terminal, "probe-server> ");
    type(&terminal, "call echo te");
    until(&terminal, "call echo te");
    assert_int_equal(ioctl(terminal.fd, TIOCSWINSZ, &size), 0);
    type(&terminal, "x");
    until(&terminal, "probe-server> ");
    until(&terminal, "call echo te");
    type(&terminal, "t=hello\n");
    until(&terminal, "\nhello\r\n");
    type(&terminal, "quit\n");
    assert_int_equal(close_shell(&terminal), 0);
}

static void
a_job_is_started_listed_and_killed(void **state)
{
    struct terminal terminal = open_shell(PROBE);

    (void)state;
    until(&terminal, "probe-server> ");
    type(&terminal, "call hang seconds=1000 &\n");
    until(&terminal, "[1] call hang seconds=1000\r\n");
    until(&terminal, "probe-server> ");
    type(&terminal, "jobs\n");
    until(&terminal, "[1] running");
    until(&terminal, "probe-server> ");
    type(&terminal, "kill %1\n");
    until(&terminal, "canceled call hang seconds=1000: notifications/cancelled sent");
    until(&terminal, "[1] canceled: call hang");
    until(&terminal, "probe-server> ");
    type(&terminal, "call stats\n");
    until(&terminal, "live_handlers");
    until(&terminal, "probe-server> ");
    type(&terminal, "quit\n");
    assert_int_equal(close_shell(&terminal), 0);
}

/* The answer is held back until the test opens a fifo: what is typed stands there. */
static void
a_job_that_ends_is_told_above_what_is_typed(void **state)
{
    const char *path = scratch_file("held.sh", PROBE
                                    " | while IFS= read -r line; do case $line in\n"
                                    "*'counted to 2'*) read -r go <$0.go;; esac\n"
                                    "printf '%s\\n' \"$line\"; done\n");
    char target[512], go[512];
    struct terminal terminal;
    int fd;

    (void)state;
    (void)snprintf(target, sizeof(target), "/bin/sh %s", path);
    (void)snprintf(go, sizeof(go), "%s.go", path);
    assert_int_equal(mkfifo(go, 0600), 0);
    terminal = open_shell(target);
    until(&terminal, "probe-server> ");
    type(&terminal, "call count to=2 &\n");
    until(&terminal, "probe-server> ");
    type(&terminal, "pi");
    until(&terminal, "pi");
    fd = open(go, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "\n", 1), 1);
    close(fd);
    until(&terminal, "[1] done: call count to=2\r\n");
    until(&terminal, "counted to 2\r\n");
    until(&terminal, "probe-server> pi");
    type(&terminal, "\x15quit\n");
    assert_int_equal(close_shell(&terminal), 0);
}

static void
ctrl_c_clears_the_line_or_cancels_the_call(void **state)
{
    struct terminal terminal = open_shell(PROBE);

    (void)state;
    until(&terminal, "probe-server> ");
    type(&terminal, "nonsense");
    until(&terminal, "nonsense");
    type(&terminal, "\x03");
    until(&terminal, "^C");
    until(&terminal, "probe-server> ");
    type(&terminal, "call hang_async seconds=1000 --timeout 0 --json\n");
    until(&terminal, "\"progress\""); /* it runs */
    type(&terminal, "\x03");
    until(&terminal, "canceled tools/call hang_async");
    until(&terminal, "probe-server> ");
    type(&terminal, "call hang seconds=1000 &\n");
    until(&terminal, "probe-server> ");
    type(&terminal, "fg\n");
    until(&terminal, "[1] call hang seconds=1000\r\n");
    type(&terminal, "\x03");
    until(&terminal, "[1] canceled: call hang");
    until(&terminal, "probe-server> ");
    type(&terminal, "call echo text=well\n");
    until(&terminal, "\nwell\r\n");
    until(&terminal, "probe-server> ");
    type(&terminal, "\x04");
    assert_int_equal(close_shell(&terminal), 0);
}

static void
leaving_with_jobs_takes_two_tries(void **state)
{
    struct terminal terminal = open_shell(PROBE);

    (void)state;
    until(&terminal, "probe-server> ");
    type(&terminal, "call hang seconds=1000 &\n");
    until(&terminal, "probe-server> ");
    type(&terminal, "\x04");
    until(&terminal, "1 job is running; quit again to cancel it");
    until(&terminal, "probe-server> ");
    type(&terminal, "\x04");
    until(&terminal, "and the server answers");
    until(&terminal, "[1] canceled: call hang");
    assert_int_equal(close_shell(&terminal), 0);
}

static void
a_question_of_a_job_takes_the_terminal(void **state)
{
    struct terminal terminal = open_shell(PROBE);

    (void)state;
    until(&terminal, "probe-server> ");
    type(&terminal, "call ask question=why &\n");
    until(&terminal, "answer> ");
    type(&terminal, "because\n");
    until(&terminal, "Send it?");
    type(&terminal, "y\n");
    until(&terminal, "answer: because\r\n");
    until(&terminal, "probe-server> ");
    type(&terminal, "quit\n");
    assert_int_equal(close_shell(&terminal), 0);
}

/* Who asks looks at the scope of the run, which the next line has anew. */
static void
ctrl_c_ends_a_question_and_the_next_call_may_ask(void **state)
{
    struct terminal terminal = open_shell(PROBE);

    (void)state;
    until(&terminal, "probe-server> ");
    for (int i = 0; i < 3; i++) {
        type(&terminal, "call ask question=why\n");
        until(&terminal, "answer> ");
        type(&terminal, "\x03");
        until(&terminal, "and the server answers");
        until(&terminal, "probe-server> ");
    }
    type(&terminal, "quit\n");
    assert_int_equal(close_shell(&terminal), CLI_CANCELED);
}

static void
lines_are_kept_for_the_next_time(void **state)
{
    struct terminal terminal;
    char path[128], text[4096];
    struct stat stat_of;
    size_t length;
    FILE *file;

    (void)state;
    terminal = open_shell(PROBE);
    until(&terminal, "probe-server> ");
    type(&terminal, "call echo text=kept\n call echo text=blank\n"
                    "call echo text=x token=abc\nquit\n");
    assert_int_equal(close_shell(&terminal), 0);
    snprintf(path, sizeof path, "%s/.local/state/mcpctl/history", scratch());
    assert_int_equal(stat(path, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0600);
    file = fopen(path, "r");
    assert_non_null(file);
    length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    fclose(file);
    assert_non_null(strstr(text, "call echo text=kept\n"));
    assert_null(strstr(text, "blank"));
    assert_null(strstr(text, "token"));
}

/* ---- scripts -------------------------------------------------------------------- */

static void
a_script_runs_to_its_end(void **state)
{
    static const char *const words[] = {"sh", PROBE, NULL};
    struct ran ran = run_mcpctl_with(words,
                                     "# what a script looks like\n"
                                     "call echo text=one\n"
                                     "call nosuch\n"
                                     "call count to=2 &\n"
                                     "wait\n"
                                     "call echo text=two",
                                     NULL);

    (void)state;
    assert_int_equal(ran.code, 0);
    assert_non_null(strstr(ran.out, "\"text\":\"one\""));
    assert_non_null(strstr(ran.out, "counted to 2"));
    assert_non_null(strstr(ran.out, "\"text\":\"two\""));
    assert_null(strstr(ran.out, "probe-server> "));
    assert_non_null(strstr(ran.err, "there is no tool \"nosuch\""));
    assert_non_null(strstr(ran.err, "[1] done: call count to=2"));
    ran_done(&ran);
}

/* Nobody need type a command to learn of it. */
static void
a_server_that_goes_is_told_of_at_once(void **state)
{
    static const char *const words[] = {"sh", "sh mortal.sh", NULL};
    struct running running;
    struct ran ran;
    int pid = 0;

    (void)state;
    (void)scratch_file("mortal.sh",
                       "echo \"pid $$ is mine\" >&2\nexec \"" PROBE "\"\n");
    running = start_mcpctl_with_input(words);
    assert_int_equal(
        sscanf(strstr(running_until(running.err, " is mine"), "pid "), "pid %d", &pid),
        1);
    assert_int_equal(write(running.in, "ping\n", 5), 5);
    (void)running_until(running.out, "\"ping\":1");
    assert_int_equal(kill(pid, SIGKILL), 0);
    (void)running_until(running.err, "mcpctl: the connection to the server is lost");
    ran = running_end(&running);
    assert_int_equal(ran.code, 0); /* of the last command, which was answered */
    ran_done(&ran);
}

static void
a_script_exits_as_its_last_command(void **state)
{
    static const char *const words[] = {"sh", PROBE, NULL};
    struct ran ran = run_mcpctl_with(words, "ping\nnonsense\n", NULL);

    (void)state;
    assert_int_equal(ran.code, 1);
    ran_done(&ran);
    ran = run_mcpctl_with(words, "call hang seconds=1000 &\nquit\n", NULL);
    assert_int_equal(ran.code, 0);
    assert_non_null(strstr(ran.err, "[1] canceled: call hang"));
    ran_done(&ran);
}

static void
a_server_that_is_not_there_is_no_shell(void **state)
{
    struct ran ran = RUN("sh", "/no/such/server");

    (void)state;
    assert_int_equal(ran.code, 4);
    ran_done(&ran);
}

TEST_MAIN(TEST(tab_completes_commands_tools_and_arguments),
          TEST(a_line_is_drawn_anew_when_the_terminal_has_another_size),
          TEST(a_job_is_started_listed_and_killed),
          TEST(a_job_that_ends_is_told_above_what_is_typed),
          TEST(ctrl_c_clears_the_line_or_cancels_the_call),
          TEST(leaving_with_jobs_takes_two_tries),
          TEST(a_question_of_a_job_takes_the_terminal),
          TEST(ctrl_c_ends_a_question_and_the_next_call_may_ask),
          TEST(lines_are_kept_for_the_next_time), TEST(a_script_runs_to_its_end),
          TEST(a_script_exits_as_its_last_command),
          TEST(a_server_that_goes_is_told_of_at_once),
          TEST(a_server_that_is_not_there_is_no_shell))
