/* unix_test.c - Unix sockets: both suites, paths, the listener and its clients */
#include "link/unix.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/session_suite.h"
#include "support/streams.h"

/* A folder of our own, and a path in it. */
struct place {
    char folder[32];
    char path[64];
};

static void
place_open(struct place *p)
{
    strcpy(p->folder, "/tmp/unix-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->path, sizeof(p->path), "%s/socket", p->folder);
}

static void
place_close(struct place *p)
{
    unlink(p->path);
    assert_int_equal(rmdir(p->folder), 0);
}

static int
listen_at(const char *path)
{
    int fd = -1;

    assert_int_equal(mcpi_unix_listen(path, &fd, NULL), 0);
    return fd;
}

static int
connect_to(const char *path)
{
    int fd = -1;

    assert_int_equal(mcpi_unix_connect(path, 10 * SECOND, &fd, NULL), 0);
    return fd;
}

/* ---- a listener on a loop of its own --------------------------------------- */

enum { HOST_MAX = 128 };

struct host {
    struct place place;
    int64_t now;
    struct mcpi_loop *loop;
    struct mcpi_unix_listener *listener;
    int fds[HOST_MAX]; /* accepted */
    size_t count;
    bool free_when_accepted;
    int warnings;
};

static int64_t
host_clock(void *user)
{
    const struct host *h = user;

    return h->now;
}

static void
host_accepted(void *user, int take_fd)
{
    struct host *h = user;

    assert_true(h->count < HOST_MAX);
    h->fds[h->count++] = take_fd;
    if (h->free_when_accepted) {
        mcpi_unix_listener_free(h->listener, h->place.path);
        h->listener = NULL;
    }
}

static void
host_log(void *user, enum mcp_log_level level, const char *line)
{
    struct host *h = user;

    (void)line;
    h->warnings += level == MCP_LOG_WARNING;
}

static void
host_open(struct host *h)
{
    struct mcpi_unix_listener_options lo = {
        .log = {host_log, h, MCP_LOG_DEBUG}, .accepted = host_accepted, .user = h};

    memset(h, 0, sizeof(*h));
    h->now = 1000 * SECOND;
    place_open(&h->place);
    assert_int_equal(mcpi_loop_new(NULL, NULL, &h->loop), 0);
    mcpi_loop_set_clock(h->loop, host_clock, h);
    lo.loop = h->loop;
    assert_int_equal(
        mcpi_unix_listener_new(&lo, listen_at(h->place.path), &h->listener, NULL), 0);
}

static void
host_step(struct host *h)
{
    assert_int_equal(mcpi_loop_step(h->loop), 0);
}

static void
host_close(struct host *h)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->fds[i] >= 0)
            close(h->fds[i]);
    mcpi_unix_listener_free(h->listener, h->place.path);
    mcpi_loop_free(h->loop);
    place_close(&h->place);
}

/* ---- the suite ------------------------------------------------------------- */

/* The whole way: a path, a listener, a client that connects and one that is let in. */
static int
unix_open(struct world *w, const struct world_options *opt)
{
    struct stream_ends ends[2];
    struct host h;
    int client;

    (void)opt;
    host_open(&h);
    client = connect_to(h.place.path);
    host_step(&h);
    assert_int_equal(h.count, 1);
    ends[CLIENT] = (struct stream_ends){client, client};
    ends[SERVER] = (struct stream_ends){h.fds[0], h.fds[0]};
    h.fds[0] = -1;
    host_close(&h);
    return streams_join(w, ends);
}

static const struct world_link unix_link = {.name = "unix",
                                            .open = unix_open,
                                            .step = streams_step,
                                            .inject = streams_inject,
                                            .shutdown = streams_shutdown,
                                            .free = streams_free};

/* ---- listening ------------------------------------------------------------- */

static void
nobody_else_may_connect_from_the_first_moment(void **state)
{
    mode_t before = umask(0);
    struct place p;
    struct stat st;
    int fd;

    (void)state;
    place_open(&p);
    fd = listen_at(p.path);
    umask(before);
    assert_int_equal(stat(p.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
    place_close(&p);
}

static void
refuse(const char *path, const char *why)
{
    mcp_error err = {0};
    int fd = -1;

    assert_int_equal(mcpi_unix_listen(path, &fd, &err), MCP_E_INVAL);
    assert_int_equal(err.status, MCP_E_INVAL);
    assert_non_null(strstr(err.message, why));
    assert_int_equal(mcpi_unix_listen(path, &fd, NULL), MCP_E_INVAL);
    assert_int_equal(fd, -1);
}

static void
paths_that_cannot_be_used_are_refused_with_the_reason(void **state)
{
    char path[200];

    (void)state;
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    path[0] = '/';
    refuse(path, "too long");
    refuse("", "empty");
    refuse("/no-such-folder-here/socket", strerror(ENOENT));
    refuse("/dev/null/socket", strerror(ENOTDIR));
}

/* 107 bytes are the most that fit with their zero. */
static void
the_longest_path_works(void **state)
{
    char path[128];
    int fd, client;

    (void)state;
    snprintf(path, sizeof(path), "/tmp/%0102d", (int)getpid());
    assert_int_equal(strlen(path), 107);
    fd = listen_at(path);
    client = connect_to(path);
    close(client);
    close(fd);
    unlink(path);
}

static void
a_socket_that_nobody_listens_on_is_replaced(void **state)
{
    struct place p;
    int fd;

    (void)state;
    place_open(&p);
    close(listen_at(p.path)); /* as one who crashed leaves it */
    fd = listen_at(p.path);
    close(connect_to(p.path));
    close(fd);
    place_close(&p);
}

static void
a_socket_that_is_alive_and_what_is_no_socket_are_left_alone(void **state)
{
    struct place p;
    struct stat st;
    int fd;

    (void)state;
    place_open(&p);
    fd = listen_at(p.path);
    refuse(p.path, strerror(EADDRINUSE));
    close(connect_to(p.path));
    close(fd);
    unlink(p.path);
    close(open(p.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    refuse(p.path, strerror(EADDRINUSE));
    assert_int_equal(stat(p.path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    place_close(&p);
}

/* Two that start at once: one has the path, the other hears so. */
struct starter {
    const char *path;
    int fd, status;
};

static void *
starter_main(void *user)
{
    struct starter *s = user;

    s->status = mcpi_unix_listen(s->path, &s->fd, NULL);
    return NULL;
}

static void
of_many_that_start_at_once_one_has_the_path(void **state)
{
    enum { MANY = 8, ROUNDS = 20 };
    struct starter starters[MANY];
    pthread_t threads[MANY];
    struct place p;
    int won;

    (void)state;
    place_open(&p);
    for (int round = 0; round < ROUNDS; round++) {
        close(listen_at(p.path)); /* stale */
        won = 0;
        for (int i = 0; i < MANY; i++) {
            starters[i] = (struct starter){p.path, -1, 0};
            assert_int_equal(
                pthread_create(&threads[i], NULL, starter_main, &starters[i]), 0);
        }
        for (int i = 0; i < MANY; i++) {
            pthread_join(threads[i], NULL);
            won += starters[i].status == 0;
        }
        assert_int_equal(won, 1);
        close(connect_to(p.path)); /* and can be reached */
        for (int i = 0; i < MANY; i++)
            if (starters[i].status == 0)
                close(starters[i].fd);
    }
    place_close(&p);
}

static void
who_starts_waits_for_another_that_starts_but_not_for_ever(void **state)
{
    struct place p;
    int64_t began;
    int lock, fd;

    (void)state;
    place_open(&p);
    lock = open(p.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    began = mcpi_loop_clock();
    fd = listen_at(p.path);
    assert_true(mcpi_loop_clock() - began > 200 * MS);
    close(fd);
    close(lock);
    place_close(&p);
}

static void
an_abstract_address_has_no_file(void **state)
{
    char path[64];
    int fd, client;

    (void)state;
    snprintf(path, sizeof(path), "@libmcp-test-%d", (int)getpid());
    fd = listen_at(path);
    refuse(path, strerror(EADDRINUSE));
    client = connect_to(path);
    assert_int_equal(access(path, F_OK), -1);
    close(client);
    close(fd);
    fd = listen_at(path); /* free again at once */
    close(fd);
}

/* ---- connecting ------------------------------------------------------------ */

static int
try_connect(const char *path, int64_t within_us)
{
    mcp_error err = {0};
    int fd = -1;
    int r;

    r = mcpi_unix_connect(path, within_us, &fd, &err);
    assert_true(r < 0);
    assert_int_equal(err.status, r);
    assert_int_not_equal(err.message[0], '\0');
    assert_int_equal(mcpi_unix_connect(path, within_us, &fd, NULL), r);
    assert_int_equal(fd, -1);
    return r;
}

static void
connecting_says_why_it_cannot(void **state)
{
    char path[200];
    struct place p;

    (void)state;
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(try_connect(path, SECOND), MCP_E_INVAL);
    place_open(&p);
    assert_int_equal(try_connect(p.path, SECOND), MCP_E_CLOSED); /* not there */
    close(listen_at(p.path));
    assert_int_equal(try_connect(p.path, SECOND), MCP_E_CLOSED); /* stale */
    assert_int_equal(try_connect("@libmcp-nobody", SECOND), MCP_E_CLOSED);
    assert_int_equal(try_connect("/dev/null/socket", SECOND), MCP_E_INVAL);
    place_close(&p);
}

static void
a_connected_socket_does_not_block_and_is_not_inherited(void **state)
{
    struct place p;
    int fd, client;

    (void)state;
    place_open(&p);
    fd = listen_at(p.path);
    client = connect_to(p.path);
    assert_true(fcntl(client, F_GETFL) & O_NONBLOCK);
    assert_int_equal(fcntl(client, F_GETFD), FD_CLOEXEC);
    close(client);
    close(fd);
    place_close(&p);
}

/* A listener with a queue of one, which is full. */
static int
crowded_listener(const struct place *p, int *ret_waiting)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    strcpy(un.sun_path, p->path);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    assert_int_equal(listen(fd, 0), 0);
    *ret_waiting = connect_to(p->path);
    return fd;
}

static void *
accept_two(void *user)
{
    const int *fd = user;

    for (int i = 0; i < 2; i++)
        close(accept4(*fd, NULL, NULL, SOCK_CLOEXEC));
    return NULL;
}

static void
connecting_waits_for_room_and_not_for_ever(void **state)
{
    int fd, waiting, client = -1;
    pthread_t thread;
    struct place p;

    (void)state;
    place_open(&p);
    fd = crowded_listener(&p, &waiting);
    assert_int_equal(try_connect(p.path, 0), MCP_E_TIMEOUT);
    assert_int_equal(try_connect(p.path, 5 * MS), MCP_E_TIMEOUT);
    assert_int_equal(pthread_create(&thread, NULL, accept_two, &fd), 0);
    assert_int_equal(mcpi_unix_connect(p.path, MCPI_NEVER, &client, NULL), 0);
    pthread_join(thread, NULL);
    assert_true(fcntl(client, F_GETFL) & O_NONBLOCK);
    close(client);
    close(waiting);
    close(fd);
    place_close(&p);
}

/* ---- the listener ---------------------------------------------------------- */

static void
each_client_is_let_in_nonblocking_and_not_inherited(void **state)
{
    int client[2];
    struct host h;

    (void)state;
    host_open(&h);
    client[0] = connect_to(h.place.path);
    host_step(&h);
    client[1] = connect_to(h.place.path);
    host_step(&h);
    assert_int_equal(h.count, 2);
    for (int i = 0; i < 2; i++) {
        assert_true(fcntl(h.fds[i], F_GETFL) & O_NONBLOCK);
        assert_int_equal(fcntl(h.fds[i], F_GETFD), FD_CLOEXEC);
        close(client[i]);
    }
    host_close(&h);
}

static void
a_crowd_is_let_in_a_bounded_number_a_turn(void **state)
{
    enum { CROWD = 100 };
    int clients[CROWD];
    struct host h;

    (void)state;
    host_open(&h);
    for (int i = 0; i < CROWD; i++)
        clients[i] = connect_to(h.place.path);
    host_step(&h);
    assert_int_equal(h.count, 64);
    host_step(&h);
    assert_int_equal(h.count, CROWD);
    for (int i = 0; i < CROWD; i++)
        close(clients[i]);
    host_close(&h);
}

/* From now on there is no descriptor left. */
static void
use_up_descriptors(struct rlimit *before)
{
    int lowest = fcntl(0, F_DUPFD_CLOEXEC, 0);
    struct rlimit none;

    assert_true(lowest >= 0);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, before), 0);
    none = *before;
    none.rlim_cur = (rlim_t)lowest;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void
without_descriptors_nobody_listens_or_connects(void **state)
{
    mcp_error err = {0};
    struct rlimit before;
    int fd = -1, listening, connected;

    (void)state;
    use_up_descriptors(&before);
    listening = mcpi_unix_listen("@libmcp-limit", &fd, &err);
    connected = mcpi_unix_connect("@libmcp-limit", 0, &fd, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(listening, MCP_E_LIMIT);
    assert_int_equal(err.status, MCP_E_LIMIT);
    assert_int_equal(connected, MCP_E_LIMIT);
}

static void
without_descriptors_it_neither_spins_nor_stops(void **state)
{
    struct rlimit before;
    struct host h;
    bool busy;
    int client;

    (void)state;
    host_open(&h);
    client = connect_to(h.place.path);
    use_up_descriptors(&before);
    for (int i = 0; i < 5; i++) {
        host_step(&h);
        h.now += 100 * MS; /* each time it tries again */
    }
    host_step(&h);
    host_step(&h);
    busy = loop_is_busy(h.loop);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_false(busy);
    assert_int_equal(h.count, 0);
    assert_int_equal(h.warnings, 1);
    h.now += 100 * MS;
    host_step(&h);
    host_step(&h);
    assert_int_equal(h.count, 1); /* it was not turned away */
    close(client);
    host_close(&h);
}

static void
it_may_be_freed_while_it_waits_for_descriptors(void **state)
{
    struct rlimit before;
    struct host h;
    int client;

    (void)state;
    host_open(&h);
    client = connect_to(h.place.path);
    use_up_descriptors(&before);
    host_step(&h);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    close(client);
    host_close(&h); /* nothing is left armed */
}

static void
it_may_be_freed_by_the_one_who_is_told(void **state)
{
    int client[2];
    struct host h;

    (void)state;
    host_open(&h);
    h.free_when_accepted = true;
    client[0] = connect_to(h.place.path);
    client[1] = connect_to(h.place.path);
    host_step(&h);
    assert_int_equal(h.count, 1);
    assert_int_equal(access(h.place.path, F_OK), -1);
    close(client[0]);
    close(client[1]);
    host_close(&h);
}

static void
its_file_is_removed_only_if_it_is_its_own(void **state)
{
    struct host h;
    struct stat st;

    (void)state;
    host_open(&h);
    mcpi_unix_listener_free(h.listener, NULL);
    h.listener = NULL;
    assert_int_equal(lstat(h.place.path, &st), 0);
    host_close(&h);

    host_open(&h);
    unlink(h.place.path); /* somebody has put another one there */
    close(listen_at(h.place.path));
    mcpi_unix_listener_free(h.listener, h.place.path);
    h.listener = NULL;
    assert_int_equal(lstat(h.place.path, &st), 0);
    host_close(&h);

    host_open(&h);
    mcpi_unix_listener_free(h.listener, h.place.path);
    h.listener = NULL;
    assert_int_equal(lstat(h.place.path, &st), -1);
    host_close(&h);
}

static void
what_does_not_listen_is_refused_and_still_the_callers(void **state)
{
    struct mcpi_unix_listener_options lo = {.accepted = host_accepted};
    struct mcpi_unix_listener *l;
    mcp_error err = {0};
    struct host h;
    int ends[2];

    (void)state;
    host_open(&h);
    lo.loop = h.loop;
    socket_pair(ends);
    assert_int_equal(mcpi_unix_listener_new(&lo, ends[0], &l, &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, "no listening stream socket"));
    close(ends[0]);
    close(ends[1]);
    pipe_open(ends);
    assert_int_equal(mcpi_unix_listener_new(&lo, ends[0], &l, NULL), MCP_E_INVAL);
    assert_int_equal(mcpi_unix_listener_new(&lo, -1, &l, NULL), MCP_E_INVAL);
    close(ends[0]);
    close(ends[1]);
    mcpi_unix_listener_free(NULL, NULL);
    host_close(&h);
}

static void
one_that_is_handed_in_is_not_inherited_and_does_not_block(void **state)
{
    struct mcpi_unix_listener_options lo = {.accepted = host_accepted};
    struct mcpi_unix_listener *l, *twin;
    struct host h;
    char path[64];
    int fd;

    (void)state;
    host_open(&h);
    lo.loop = h.loop;
    snprintf(path, sizeof(path), "@libmcp-handed-%d", (int)getpid());
    fd = listen_at(path);
    assert_int_equal(fcntl(fd, F_SETFD, 0), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_RDWR), 0);
    assert_int_equal(mcpi_unix_listener_new(&lo, fd, &l, NULL), 0);
    assert_int_equal(mcpi_unix_listener_new(&lo, fd, &twin, NULL), MCP_E_INVAL);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    mcpi_unix_listener_free(l, path);
    host_close(&h);
}

/* ---- clients --------------------------------------------------------------- */

/* A second client of the same engine, on the same loop. */
static struct mcpi_stream *
second_client(struct rig *r, int *ret_fd)
{
    struct mcpi_stream_options so = {.loop = r->loop, .engine = r->engine};
    struct mcpi_stream *stream;
    int ends[2];

    socket_pair(ends);
    so.take_in = so.take_out = ends[0];
    assert_int_equal(mcpi_stream_new(&so, &stream), 0);
    *ret_fd = ends[1];
    return stream;
}

static void
F21_equal_ids_of_two_clients_never_meet(void **state)
{
    static const char call[] = RIG_TOOL("1", "hold") "\n";
    struct mcpi_stream *stream;
    char bytes[4096] = "";
    struct rig r;
    int fd;

    (void)state;
    rig_open_socket(&r);
    stream = second_client(&r, &fd);
    rig_say(&r, RIG_TOOL("1", "hold"));
    rig_run(&r);
    assert_int_equal(write(fd, call, sizeof(call) - 1), sizeof(call) - 1);
    rig_run(&r);
    assert_int_equal(r.held_count, 2);
    rig_say(&r, CANCEL("1")); /* the first cancels its own */
    rig_run(&r);
    assert_int_equal(r.told, 1);
    assert_null(r.held[0]);
    rig_finish(&r, 1);
    rig_run(&r);
    assert_int_equal(r.heard_len, 0);
    assert_true(recv(fd, bytes, sizeof(bytes) - 1, MSG_DONTWAIT) > 0);
    assert_non_null(strstr(bytes, "\"id\":1,"));
    mcpi_stream_free(stream);
    close(fd);
    rig_close(&r);
}

static void
M20_one_client_that_goes_takes_no_other_along(void **state)
{
    struct mcpi_stream *stream;
    struct rig r;
    int fd;

    (void)state;
    rig_open_socket(&r);
    stream = second_client(&r, &fd);
    rig_say(&r, RIG_TOOL("1", "hold"));
    rig_run(&r);
    close(fd);
    rig_run(&r);
    assert_int_equal(r.told, 0);
    rig_finish(&r, 0);
    rig_run(&r);
    assert_int_equal(rig_heard(&r, "\"id\":1,"), 1);
    mcpi_stream_free(stream);
    rig_close(&r);
}

/* The server goes with something unread, which resets the connection; what it had
 * said before is read all the same. With a call that waits, writing finds out; else
 * reading. */
static void
reset_after_answer(bool with_call)
{
    struct world_options opt = {.client_era = MCPI_ERA_MODERN, .link = &unix_link};
    struct outcome a, b;
    struct world w;

    world_start_with(&w, &opt);
    world_plain_call(&w, &a);
    world_run(&w);
    job_finish(&w, world_job(&w, SERVER), "{}");
    while (w.link->step(&w, SERVER) > 0)
        continue;
    assert_int_equal(w.link->inject(&w, CLIENT, "unread\n", 7), 7);
    if (with_call)
        world_plain_call(&w, &b);
    world_cut(&w, SERVER);
    world_run(&w);
    assert_int_equal(a.done, 1);
    assert_int_equal(a.status, 0);
    outcome_done(&a);
    if (with_call) {
        assert_int_equal(b.done, 1);
        assert_int_equal(b.status, MCP_E_CLOSED);
        outcome_done(&b);
    }
    assert_int_equal(w.closed[CLIENT], 1);
    world_close(&w);
}

static void
B22_B25_answers_that_came_before_a_reset_are_read(void **state)
{
    (void)state;
    reset_after_answer(true);
    reset_after_answer(false);
}

static void
a_reset_that_comes_while_it_waits_for_room_ends_it(void **state)
{
    static char params[600032];
    struct world_options opt = {.client_era = MCPI_ERA_MODERN, .link = &unix_link};
    struct mcpi_call_options big = {.params = params};
    struct outcome out;
    struct world w;

    (void)state;
    snprintf(params, sizeof(params), "{\"name\":\"%0*d\"}", 600000, 0);
    world_start_with(&w, &opt);
    world_call(&w, CLIENT, &big, &out);
    while (w.link->step(&w, CLIENT) > 0)
        continue;
    world_cut(&w, SERVER); /* most of it is unread */
    world_run(&w);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_CLOSED);
    outcome_done(&out);
    world_close(&w);
}

static void
F33_clients_that_come_and_go_leave_nothing(void **state)
{
    struct mcpi_stream *stream;
    struct rig r;
    long live = 0;
    int fd;

    (void)state;
    rig_open_socket(&r);
    for (int i = 0; i < 500; i++) {
        stream = second_client(&r, &fd);
        assert_true(write(fd, "x", 1) == 1); /* half a message */
        rig_run_deaf(&r);
        close(fd);
        rig_run_deaf(&r);
        mcpi_stream_free(stream);
        rig_run_deaf(&r);
        if (i == 0) /* what an engine keeps once it has spoken */
            live = atomic_load(&r.mem.live);
    }
    assert_int_equal(atomic_load(&r.mem.live), live);
    assert_int_equal(r.engine->counts.peers, 1);
    rig_close(&r);
}

/* ---- making ---------------------------------------------------------------- */

static void
listener_flow(struct test_mem *mem, void *user)
{
    struct mcpi_unix_listener_options lo = {.accepted = host_accepted};
    struct mcpi_unix_listener *l = NULL;
    struct mcpi_loop *loop;
    mcp_error err = {0};
    const char *path = user;
    int fd;

    if (mcpi_loop_new(&mem->allocator, NULL, &loop) < 0)
        return;
    fd = listen_at(path);
    lo.loop = loop;
    if (mcpi_unix_listener_new(&lo, fd, &l, &err) < 0) {
        assert_int_equal(err.status, MCP_E_NOMEM);
        close(fd);
    }
    mcpi_unix_listener_free(l, NULL);
    mcpi_loop_free(loop);
}

static void
open_flow(struct test_mem *mem, void *user)
{
    struct world_options opt = {.link = &unix_link, .mem = mem};
    struct world w;
    int r;

    (void)user;
    r = world_open(&w, &opt);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    world_close(&w);
}

static void
each_allocation_may_fail(void **state)
{
    char path[64];

    (void)state;
    snprintf(path, sizeof(path), "@libmcp-flow-%d", (int)getpid());
    assert_true(test_each_allocation_fails(listener_flow, path) >= 2);
    assert_true(test_each_allocation_fails(open_flow, NULL) > 8);
}

int
main(void)
{
    static const struct test_case own[] = {
#define OWN(function) {"unix." #function, function, NULL}
        OWN(nobody_else_may_connect_from_the_first_moment),
        OWN(paths_that_cannot_be_used_are_refused_with_the_reason),
        OWN(the_longest_path_works),
        OWN(a_socket_that_nobody_listens_on_is_replaced),
        OWN(a_socket_that_is_alive_and_what_is_no_socket_are_left_alone),
        OWN(of_many_that_start_at_once_one_has_the_path),
        OWN(who_starts_waits_for_another_that_starts_but_not_for_ever),
        OWN(an_abstract_address_has_no_file),
        OWN(connecting_says_why_it_cannot),
        OWN(a_connected_socket_does_not_block_and_is_not_inherited),
        OWN(connecting_waits_for_room_and_not_for_ever),
        OWN(each_client_is_let_in_nonblocking_and_not_inherited),
        OWN(a_crowd_is_let_in_a_bounded_number_a_turn),
        OWN(without_descriptors_nobody_listens_or_connects),
        OWN(without_descriptors_it_neither_spins_nor_stops),
        OWN(it_may_be_freed_while_it_waits_for_descriptors),
        OWN(it_may_be_freed_by_the_one_who_is_told),
        OWN(its_file_is_removed_only_if_it_is_its_own),
        OWN(what_does_not_listen_is_refused_and_still_the_callers),
        OWN(one_that_is_handed_in_is_not_inherited_and_does_not_block),
        OWN(F21_equal_ids_of_two_clients_never_meet),
        OWN(M20_one_client_that_goes_takes_no_other_along),
        OWN(B22_B25_answers_that_came_before_a_reset_are_read),
        OWN(a_reset_that_comes_while_it_waits_for_room_ends_it),
        OWN(F33_clients_that_come_and_go_leave_nothing),
        OWN(each_allocation_may_fail),
    };

    return session_suite_main(__FILE__, &unix_link, own, sizeof(own) / sizeof(own[0]));
}
