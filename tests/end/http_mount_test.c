/* http_mount_test.c - the example that has an HTTP server of its own, spawned */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/messages.h"
#include "support/test.h"

struct example {
    pid_t pid;
    int says, logs; /* its stdout and stderr */
    int port;
};

/* Read until the text has come; all that came is in `into`. */
static void
read_until(int fd, const char *text, char *into, size_t size)
{
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    size_t len = 0;
    ssize_t n;

    into[0] = '\0';
    while (!strstr(into, text)) {
        assert_int_equal(poll(&watched, 1, AWAIT_MS), 1);
        n = read(fd, into + len, size - len - 1);
        if (n <= 0)
            fail_msg("it ended without %s: %s", text, into);
        len += (size_t)n;
        into[len] = '\0';
    }
}

static void
example_start(struct example *e)
{
    int says[2], logs[2];
    char line[256];

    assert_int_equal(pipe2(says, O_CLOEXEC), 0);
    assert_int_equal(pipe2(logs, O_CLOEXEC), 0);
    e->pid = fork();
    assert_true(e->pid >= 0);
    if (e->pid == 0) {
        dup2(says[1], STDOUT_FILENO);
        dup2(logs[1], STDERR_FILENO);
        execl(EXAMPLE, EXAMPLE, (char *)NULL);
        _exit(127);
    }
    close(says[1]);
    close(logs[1]);
    e->says = says[0];
    e->logs = logs[0];
    read_until(e->says, "\n", line, sizeof(line));
    assert_int_equal(sscanf(line, "http://127.0.0.1:%d/mcp\n", &e->port), 1);
}

static void
example_stop(struct example *e)
{
    int status;

    assert_int_equal(kill(e->pid, SIGTERM), 0);
    assert_int_equal(waitpid(e->pid, &status, 0), e->pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    close(e->says);
    close(e->logs);
}

static int
example_connect(const struct example *e)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)e->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

static void
say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void
say_post(int fd, const char *method, const char *more, const char *body)
{
    char head[1024];

    (void)snprintf(head, sizeof(head),
                   "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                   "Content-Type: application/json\r\n"
                   "Accept: application/json, text/event-stream\r\n"
                   "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: %s\r\n%s"
                   "Content-Length: %zu\r\n\r\n",
                   method, more, strlen(body));
    say(fd, head);
    say(fd, body);
}

static void
the_program_serves_its_page_and_the_library_its_path(void **state)
{
    struct example e;
    char text[8192];
    int fd;

    (void)state;
    example_start(&e);
    fd = example_connect(&e);
    say(fd, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    read_until(fd, "the program's own", text, sizeof(text));
    close(fd);
    fd = example_connect(&e);
    say_post(fd, "tools/list", "", REQUEST("1", "tools/list", "{" STAMP "}"));
    read_until(fd, "\"name\":\"nap\"", text, sizeof(text));
    assert_int_equal(strncmp(text, "HTTP/1.1 200 ", 13), 0);
    close(fd);
    example_stop(&e);
}

static int
example_nap(const struct example *e)
{
    char text[256];
    int fd = example_connect(e);

    say_post(fd, "tools/call", "Mcp-Name: nap\r\n",
             REQUEST("7", "tools/call", "{\"name\":\"nap\"," STAMP "}"));
    read_until(e->logs, "a nap begins\n", text, sizeof(text));
    return fd;
}

static void
E18_a_client_that_hangs_up_cancels_its_call_and_no_other(void **state)
{
    struct pollfd quiet;
    struct example e;
    char text[256];
    int a, b;

    (void)state;
    example_start(&e);
    a = example_nap(&e);
    b = example_nap(&e);
    close(a);
    read_until(e.logs, "a nap was canceled\n", text, sizeof(text));
    quiet = (struct pollfd){.fd = b, .events = POLLIN};
    assert_int_equal(poll(&quiet, 1, 0), 0);
    shutdown(b, SHUT_WR); /* half a goodbye is one (E25) */
    read_until(e.logs, "a nap was canceled\n", text, sizeof(text));
    close(b);
    example_stop(&e);
}

static void
a_request_may_come_byte_by_byte(void **state)
{
    static const char text[] = "GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    struct example e;
    char answer[1024], byte[2] = "";
    int fd;

    (void)state;
    example_start(&e);
    fd = example_connect(&e);
    for (size_t i = 0; text[i]; i++) {
        byte[0] = text[i];
        say(fd, byte);
    }
    read_until(fd, "\r\n\r\n", answer, sizeof(answer));
    assert_int_equal(strncmp(answer, "HTTP/1.1 404 ", 13), 0);
    close(fd);
    example_stop(&e);
}

TEST_MAIN(TEST(the_program_serves_its_page_and_the_library_its_path),
          TEST(E18_a_client_that_hangs_up_cancels_its_call_and_no_other),
          TEST(a_request_may_come_byte_by_byte))
