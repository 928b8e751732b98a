/* event_test.c - timers, watches and posts on a public loop */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

#include <mcp/loop.h>

struct story {
    mcp_loop *loop;
    mcp_timer *timer;
    mcp_watch *watch;
    int fds[2];
    char said[64];
    size_t count;
};

static void
open_story(struct story *s)
{
    *s = (struct story){.fds = {-1, -1}};
    assert_int_equal(mcp_loop_new(NULL, &s->loop, NULL), 0);
    assert_int_equal(pipe(s->fds), 0);
}

static void
close_story(struct story *s)
{
    mcp_timer_free(s->timer);
    mcp_watch_free(s->watch);
    mcp_loop_free(s->loop);
    close(s->fds[0]);
    close(s->fds[1]);
}

static void
say(struct story *s, char what)
{
    s->said[s->count++] = what;
}

static void
say_a(void *user)
{
    say(user, 'a');
}

static void
say_b_and_stop(void *user)
{
    struct story *s = user;

    say(s, 'b');
    mcp_loop_stop(s->loop);
}

static void
posts_run_in_order_on_the_loop(void **state)
{
    struct story s;

    (void)state;
    open_story(&s);
    assert_int_equal(mcp_loop_post(s.loop, say_a, &s), 0);
    assert_int_equal(mcp_loop_post(s.loop, say_b_and_stop, &s), 0);
    assert_int_equal(s.count, 0);
    assert_int_equal(mcp_loop_run(s.loop), 0);
    assert_string_equal(s.said, "ab");
    close_story(&s);
}

static void
a_timer_runs_once(void **state)
{
    mcp_timer *stop;
    struct story s;

    (void)state;
    open_story(&s);
    assert_int_equal(mcp_timer_new(s.loop, 0, say_a, &s, &s.timer), 0);
    assert_int_equal(mcp_timer_new(s.loop, 20, say_b_and_stop, &s, &stop), 0);
    assert_int_equal(mcp_loop_run(s.loop), 0);
    assert_string_equal(s.said, "ab");
    mcp_timer_free(stop);
    close_story(&s);
}

static void
free_timer(void *user)
{
    struct story *s = user;

    say(s, 'f');
    mcp_timer_free(s->timer);
    s->timer = NULL;
}

static void
a_freed_timer_does_not_run_and_may_free_itself(void **state)
{
    mcp_timer *never, *stop;
    struct story s;

    (void)state;
    open_story(&s);
    assert_int_equal(mcp_timer_new(s.loop, 1, say_a, &s, &never), 0);
    assert_int_equal(mcp_timer_new(s.loop, 1, free_timer, &s, &s.timer), 0);
    assert_int_equal(mcp_timer_new(s.loop, 20, say_b_and_stop, &s, &stop), 0);
    mcp_timer_free(never);
    assert_int_equal(mcp_loop_run(s.loop), 0);
    assert_string_equal(s.said, "fb");
    mcp_timer_free(stop);
    close_story(&s);
}

static void
on_readable(void *user, unsigned events)
{
    struct story *s = user;
    char c;

    assert_int_equal(events, MCP_READABLE);
    assert_int_equal(read(s->fds[0], &c, 1), 1);
    say(s, c);
    if (c == 'z')
        mcp_loop_stop(s->loop);
}

static void
a_watch_tells_as_long_as_there_is_something(void **state)
{
    struct story s;

    (void)state;
    open_story(&s);
    assert_int_equal(
        mcp_watch_new(s.loop, s.fds[0], MCP_READABLE, on_readable, &s, &s.watch), 0);
    assert_int_equal(write(s.fds[1], "xyz", 3), 3);
    assert_int_equal(mcp_loop_run(s.loop), 0);
    assert_string_equal(s.said, "xyz");
    close_story(&s);
}

/* UDP sockets on loopback: fds[0] is connected to fds[1], which is to itself. */
static void
open_datagrams(struct story *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int i;

    *s = (struct story){0};
    assert_int_equal(mcp_loop_new(NULL, &s->loop, NULL), 0);
    for (i = 0; i < 2; i++) {
        s->fds[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(s->fds[i] >= 0);
    }
    assert_int_equal(bind(s->fds[1], (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(s->fds[1], (struct sockaddr *)&address, &size), 0);
    for (i = 0; i < 2; i++)
        assert_int_equal(connect(s->fds[i], (struct sockaddr *)&address, size), 0);
}

static void
on_datagram(void *user, unsigned events)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    struct story *s = user;
    char c;

    assert_int_equal(events, MCP_READABLE);
    if (recv(s->fds[0], &c, 1, 0) == 1) {
        say(s, c);
        mcp_loop_stop(s->loop);
        return;
    }
    assert_int_equal(errno, ECONNREFUSED);
    say(s, 'e');
    assert_int_equal(getsockname(s->fds[0], (struct sockaddr *)&address, &size), 0);
    assert_int_equal(connect(s->fds[1], (struct sockaddr *)&address, size), 0);
    assert_int_equal(send(s->fds[1], "z", 1, 0), 1);
}

static void
a_watch_goes_on_after_an_error_that_passed(void **state)
{
    mcp_timer *stop;
    struct story s;

    (void)state;
    open_datagrams(&s);
    assert_int_equal(
        mcp_watch_new(s.loop, s.fds[0], MCP_READABLE, on_datagram, &s, &s.watch), 0);
    assert_int_equal(mcp_timer_new(s.loop, 10000, say_b_and_stop, &s, &stop), 0);
    assert_int_equal(send(s.fds[0], "x", 1, 0), 1); /* nobody takes it */
    assert_int_equal(mcp_loop_run(s.loop), 0);
    assert_string_equal(s.said, "ez");
    mcp_timer_free(stop);
    close_story(&s);
}

static void
a_paused_watch_is_silent(void **state)
{
    mcp_timer *stop;
    struct story s;

    (void)state;
    open_story(&s);
    assert_int_equal(mcp_watch_new(s.loop, s.fds[0], 0, on_readable, &s, &s.watch), 0);
    assert_int_equal(write(s.fds[1], "z", 1), 1);
    assert_int_equal(mcp_timer_new(s.loop, 10, say_b_and_stop, &s, &stop), 0);
    assert_int_equal(mcp_loop_run(s.loop), 0);
    assert_string_equal(s.said, "b");
    assert_int_equal(mcp_watch_set(s.watch, MCP_READABLE), 0);
    assert_int_equal(mcp_loop_run(s.loop), 0);
    assert_string_equal(s.said, "bz");
    mcp_timer_free(stop);
    close_story(&s);
}

static void
what_cannot_be_watched_is_refused(void **state)
{
    struct story s;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    (void)state;
    open_story(&s);
    assert_int_equal(mcp_watch_new(s.loop, fd, MCP_READABLE, on_readable, &s, &s.watch),
                     MCP_E_INVAL);
    assert_int_equal(mcp_watch_new(s.loop, -1, MCP_READABLE, on_readable, &s, &s.watch),
                     MCP_E_INVAL);
    assert_int_equal(mcp_watch_new(s.loop, s.fds[0], 4, on_readable, &s, &s.watch),
                     MCP_E_INVAL);
    assert_int_equal(mcp_timer_new(s.loop, 1, NULL, &s, &s.timer), MCP_E_INVAL);
    assert_int_equal(mcp_loop_post(NULL, say_a, &s), MCP_E_INVAL);
    close(fd);
    close_story(&s);
}

static void
a_forked_child_may_not_use_them(void **state)
{
    struct story s;
    int status;
    pid_t pid;

    (void)state;
    open_story(&s);
    pid = fork();
    if (pid == 0)
        _exit(mcp_loop_post(s.loop, say_a, &s) == MCP_E_STATE &&
                      mcp_timer_new(s.loop, 1, say_a, &s, &s.timer) == MCP_E_STATE &&
                      mcp_watch_new(s.loop, s.fds[0], MCP_READABLE, on_readable, &s,
                                    &s.watch) == MCP_E_STATE
                  ? 0
                  : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close_story(&s);
}

TEST_MAIN(TEST(posts_run_in_order_on_the_loop), TEST(a_timer_runs_once),
          TEST(a_freed_timer_does_not_run_and_may_free_itself),
          TEST(a_watch_tells_as_long_as_there_is_something),
          TEST(a_watch_goes_on_after_an_error_that_passed),
          TEST(a_paused_watch_is_silent), TEST(what_cannot_be_watched_is_refused),
          TEST(a_forked_child_may_not_use_them))
