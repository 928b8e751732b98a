/* child.c - a program that a test starts, reads from and waits for */
#include "servers/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/test.h"

void
wait_until(bool (*is_true)(void *user), void *user)
{
    const struct timespec moment = {0, 5000000};

    for (int waited = 0; waited < AWAIT_MS; waited += 5) {
        if (is_true(user))
            return;
        nanosleep(&moment, NULL);
    }
    fail_msg("it did not become true");
}

static _Noreturn void
in_child(const char *const *argv, unsigned output, int in, int out)
{
    if (in < 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    if (dup2(in, STDIN_FILENO) >= 0 &&
        (!(output & CHILD_STDOUT) || dup2(out, STDOUT_FILENO) >= 0) &&
        (!(output & CHILD_STDERR) || dup2(out, STDERR_FILENO) >= 0))
        execv(argv[0], (char *const *)(uintptr_t)argv); /* it writes to neither */
    _exit(127);
}

pid_t
child_start(const char *const *argv, unsigned output, int *ret_in, int *ret_out)
{
    int in[2] = {-1, -1}, out[2];
    pid_t pid;

    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    if (ret_in)
        assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        in_child(argv, output, in[0], out[1]);
    close(out[1]);
    *ret_out = out[0];
    if (ret_in) {
        close(in[0]);
        *ret_in = in[1];
    }
    return pid;
}

void
child_read(int fd, char *into, size_t room, const char *text)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    size_t length = 0;
    ssize_t n = 1;

    into[0] = '\0';
    while (n > 0 && length < room - 1 && !(text && strstr(into, text))) {
        assert_int_equal(poll(&ready, 1, AWAIT_MS), 1);
        n = read(fd, into + length, room - 1 - length);
        length += n > 0 ? (size_t)n : 0;
        into[length] = '\0';
    }
}

struct child {
    pid_t pid;
    int status;
};

static bool
has_ended(void *user)
{
    struct child *child = user;

    return waitpid(child->pid, &child->status, WNOHANG) == child->pid;
}

int
child_wait(pid_t pid)
{
    struct child child = {.pid = pid};

    wait_until(has_ended, &child);
    return child.status;
}

int
child_exit(pid_t pid)
{
    int status = child_wait(pid);

    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}
