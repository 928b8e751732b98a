/* run/curl_watch_test.c - sockets of libcurl on the loop */
#include "run/curl_watch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/test.h"

struct world {
    struct test_mem mem;
    struct mcpi_loop *loop;
    struct mcpi_curl_watches watches;
    int fd, events, times; /* what was told last, and how often */
    int spoiled;
    void (*then)(struct world *w);
};

static void
on_ready(void *user, int fd, int events)
{
    struct world *w = user;

    w->fd = fd;
    w->events = events;
    w->times++;
    if (w->then)
        w->then(w);
}

static void
on_spoiled(void *user)
{
    struct world *w = user;

    w->spoiled++;
}

static void
world_open(struct world *w)
{
    memset(w, 0, sizeof(*w));
    test_mem_init(&w->mem);
    assert_int_equal(mcpi_loop_new(&w->mem.allocator, NULL, &w->loop), 0);
    mcpi_curl_watches_init(&w->watches, w->loop, on_ready, w);
    w->watches.on_spoiled = on_spoiled;
}

static void
world_close(struct world *w)
{
    mcpi_curl_watches_done(&w->watches);
    mcpi_loop_free(w->loop);
    test_mem_done(&w->mem);
}

/* How often something was told in a few turns. */
static int
told(struct world *w)
{
    int before = w->times;

    for (int i = 0; i < 3; i++)
        assert_int_equal(mcpi_loop_step(w->loop), 0);
    return w->times - before;
}

static void
set(struct world *w, int fd, int what)
{
    assert_int_equal(mcpi_curl_watches_set(&w->watches, fd, what, true), 0);
}

static const struct curl_sockaddr tcp = {
    .family = AF_INET, .socktype = SOCK_STREAM, .protocol = IPPROTO_TCP};

/* ---- sockets of libcurl's own ----------------------------------------------- */

static void
only_what_is_waited_for_is_told(void **state)
{
    struct world w;
    int pair[2];

    (void)state;
    world_open(&w);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    set(&w, pair[0], CURL_POLL_IN);
    assert_int_equal(told(&w), 0);
    assert_int_equal(write(pair[1], "x", 1), 1);
    assert_true(told(&w) > 0);
    assert_int_equal(w.fd, pair[0]);
    assert_int_equal(w.events, CURL_CSELECT_IN);
    set(&w, pair[0], CURL_POLL_OUT);
    assert_true(told(&w) > 0);
    assert_int_equal(w.events, CURL_CSELECT_OUT);
    set(&w, pair[0], CURL_POLL_INOUT);
    assert_true(told(&w) > 0);
    assert_int_equal(w.events, CURL_CSELECT_IN | CURL_CSELECT_OUT);
    set(&w, pair[0], CURL_POLL_REMOVE);
    close(pair[0]); /* at once, as libcurl does */
    close(pair[1]);
    assert_int_equal(told(&w), 0);
    set(&w, pair[0], CURL_POLL_REMOVE); /* of one that is not watched */
    world_close(&w);
}

static void
a_number_can_come_again(void **state)
{
    struct world w;
    int pair[2];

    (void)state;
    world_open(&w);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        set(&w, pair[0], CURL_POLL_IN);
        assert_int_equal(write(pair[1], "x", 1), 1);
        assert_true(told(&w) > 0);
        set(&w, pair[0], CURL_POLL_REMOVE);
        close(pair[0]);
        close(pair[1]);
    }
    world_close(&w);
}

/* ---- ours ------------------------------------------------------------------- */

/* One that was opened here, and replaced by one end of a pair, which can be read. */
static int
open_paired(struct world *w, int *other)
{
    int fd = mcpi_curl_watches_open(&w->watches, &tcp);
    int pair[2];

    assert_true(fd > STDERR_FILENO);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(dup2(pair[0], fd), fd);
    close(pair[0]);
    *other = pair[1];
    return fd;
}

static void
an_idle_socket_on_which_something_comes_is_spoiled(void **state)
{
    int fd, other;
    struct world w;
    char byte;

    (void)state;
    world_open(&w);
    fd = open_paired(&w, &other);
    set(&w, fd, CURL_POLL_IN);
    assert_int_equal(told(&w), 0);
    set(&w, fd, CURL_POLL_REMOVE); /* the request is over, the connection stays */
    assert_int_equal(told(&w), 0);
    assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), 1); /* it can be used again */
    assert_int_equal(write(other, "x", 1), 1);
    assert_int_equal(w.spoiled, 0);
    assert_int_equal(told(&w), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mcpi_loop_step(w.loop), 0);
    assert_int_equal(w.spoiled, 1);
    assert_int_equal(w.watches.spoiled, 1);
    assert_int_equal(mcpi_loop_timeout_ms(w.loop), -1); /* it can sleep */
    assert_int_equal(recv(fd, &byte, 1, MSG_PEEK), 0);  /* nothing looks alive */
    assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), -1);
    assert_int_equal(errno, EPIPE);
    set(&w, fd, CURL_POLL_IN); /* and who uses it again finds out */
    assert_true(told(&w) > 0);
    mcpi_curl_watches_close(&w.watches, fd);
    close(other);
    assert_int_equal(told(&w), 0);
    assert_int_equal(w.spoiled, 1); /* once, and it is closed */
    assert_int_equal(w.watches.spoiled, 0);
    world_close(&w);
}

/* libcurl 7.88 closes a socket that is not connected without asking us to. */
static void
one_that_is_not_connected_may_be_closed_elsewhere(void **state)
{
    struct world w;
    int fd;

    (void)state;
    world_open(&w);
    for (int steps = 0; steps < 2; steps++) {
        fd = mcpi_curl_watches_open(&w.watches, &tcp);
        set(&w, fd, CURL_POLL_OUT);
        for (int i = 0; i < steps; i++) /* the kernel knows of it, or not yet */
            assert_int_equal(mcpi_loop_step(w.loop), 0);
        close(fd);
        assert_int_equal(mcpi_curl_watches_set(&w.watches, fd, CURL_POLL_REMOVE, false),
                         0);
        w.times = 0;
        assert_int_equal(told(&w), 0);
    }
    world_close(&w);
}

/* And if it was never waited for, it does not even say so. */
static void
a_number_that_is_another_s_by_now_is_left_alone(void **state)
{
    struct mcpi_curl_watches others;
    int pair[2], fd;
    struct world w;

    (void)state;
    world_open(&w);
    fd = mcpi_curl_watches_open(&w.watches, &tcp);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(dup2(pair[0], fd), fd);
    mcpi_curl_watches_init(&others, w.loop, on_ready, &w);
    assert_int_equal(mcpi_curl_watches_set(&others, fd, CURL_POLL_IN, true), 0);
    assert_int_equal(told(&w), 0);
    mcpi_curl_watches_done(&w.watches);
    assert_int_equal(write(pair[1], "x", 1), 1);
    assert_true(told(&w) > 0);
    mcpi_curl_watches_done(&others);
    close(pair[0]);
    close(pair[1]);
    close(fd);
    world_close(&w);
}

static void
then_close(struct world *w)
{
    mcpi_curl_watches_close(&w->watches, w->fd);
}

static void
it_can_be_closed_from_inside(void **state)
{
    int fd, other;
    struct world w;

    (void)state;
    world_open(&w);
    w.then = then_close;
    fd = open_paired(&w, &other);
    set(&w, fd, CURL_POLL_IN);
    assert_int_equal(write(other, "x", 1), 1);
    assert_int_equal(told(&w), 1);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    close(other);
    world_close(&w);
}

/* libuv stops to look at a socket with an error, and whoever waits for it is told. */
static void
an_error_is_told_as_something_to_read_and_write(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int deaf = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t len = sizeof(address);
    struct world w;
    int fd;

    (void)state;
    world_open(&w);
    assert_int_equal(bind(deaf, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(deaf, (struct sockaddr *)&address, &len), 0);
    fd = mcpi_curl_watches_open(&w.watches, &tcp);
    (void)connect(fd, (struct sockaddr *)&address, sizeof(address)); /* is refused */
    set(&w, fd, CURL_POLL_OUT);
    assert_true(told(&w) > 0);
    assert_int_equal(w.events, CURL_CSELECT_IN | CURL_CSELECT_OUT);
    assert_true(told(&w) > 0); /* as long as somebody waits */
    set(&w, fd, CURL_POLL_REMOVE);
    assert_int_equal(told(&w), 0);
    mcpi_curl_watches_close(&w.watches, fd);
    close(deaf);
    world_close(&w);
}

static void
descriptors_and_memory_may_be_short(void **state)
{
    struct rlimit before, few;
    struct world w;
    int fd;

    (void)state;
    world_open(&w);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(mcpi_curl_watches_open(&w.watches, &tcp), -1);
    assert_int_equal(errno, EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (int i = 1; i <= 2; i++) { /* the table, the watch */
        atomic_store(&w.mem.fail_at, atomic_load(&w.mem.total) + i);
        assert_int_equal(mcpi_curl_watches_open(&w.watches, &tcp), -1);
        assert_int_equal(errno, ENOMEM);
    }
    fd = mcpi_curl_watches_open(&w.watches, &tcp);
    assert_true(fd >= 0);
    mcpi_curl_watches_close(&w.watches, fd);
    world_close(&w);
}

static void
many_sockets_fit(void **state)
{
    int fds[200];
    struct world w;

    (void)state;
    world_open(&w);
    for (int i = 0; i < 200; i++)
        fds[i] = mcpi_curl_watches_open(&w.watches, &tcp);
    for (int i = 0; i < 200; i++)
        mcpi_curl_watches_close(&w.watches, fds[i]);
    world_close(&w);
}

TEST_MAIN(TEST(only_what_is_waited_for_is_told), TEST(a_number_can_come_again),
          TEST(an_idle_socket_on_which_something_comes_is_spoiled),
          TEST(one_that_is_not_connected_may_be_closed_elsewhere),
          TEST(a_number_that_is_another_s_by_now_is_left_alone),
          TEST(it_can_be_closed_from_inside),
          TEST(an_error_is_told_as_something_to_read_and_write),
          TEST(descriptors_and_memory_may_be_short), TEST(many_sockets_fit))
