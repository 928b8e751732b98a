/* descriptor_test.c - what a descriptor is, alone and under a stream */
#include "link/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "run/fd.h"
#include "support/streams.h"

static bool
blocks(int fd)
{
    return (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
}

/* ---- alone ----------------------------------------------------------------- */

/* As a stream does it: the loop makes it nonblocking, if it can be polled. */
static void
use(struct mcpi_descriptor *d, int fd, bool can_be_polled)
{
    assert_int_equal(mcpi_descriptor_open(d, fd), 0);
    if (can_be_polled)
        assert_int_equal(fcntl(d->fd, F_SETFL, fcntl(d->fd, F_GETFL) | O_NONBLOCK), 0);
    mcpi_descriptor_polled(d, can_be_polled);
    mcpi_descriptor_keep(d);
}

static void
a_pipe_is_opened_once_more_and_the_old_one_closed(void **state)
{
    struct mcpi_descriptor d;
    int ends[2];

    (void)state;
    pipe_open(ends);
    assert_int_equal(mcpi_descriptor_open(&d, ends[0]), 0);
    assert_int_equal(d.kind, MCPI_DESCRIPTOR_PIPE);
    assert_int_not_equal(d.fd, ends[0]);
    assert_true(blocks(ends[0]) && !blocks(d.fd));
    assert_int_equal(fcntl(d.fd, F_GETFD), FD_CLOEXEC);
    mcpi_descriptor_keep(&d);
    assert_int_equal(fcntl(ends[0], F_GETFD), -1);
    mcpi_descriptor_close(&d);
    mcpi_descriptor_close(&d);
    close(ends[1]);
}

static void
dropping_one_leaves_what_was_given(void **state)
{
    struct mcpi_descriptor d;
    int ends[2];

    (void)state;
    pipe_open(ends);
    assert_int_equal(mcpi_descriptor_open(&d, ends[1]), 0);
    mcpi_descriptor_drop(&d);
    mcpi_descriptor_drop(&d);
    assert_int_equal(write(ends[1], "x", 1), 1);
    close(ends[0]);
    close(ends[1]);
}

/* The writing end of a named pipe that nobody reads: it cannot be opened again. */
static int
lonely_fifo(void)
{
    char path[] = "/tmp/fifo-XXXXXX";
    int reader, writer;

    close(mkstemp(path)); /* a name that is free */
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    writer = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(reader >= 0 && writer >= 0);
    close(reader);
    unlink(path);
    return writer;
}

static void
flags_that_had_to_be_changed_are_put_back(void **state)
{
    int fd = lonely_fifo();
    int watch = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    struct mcpi_descriptor d;

    (void)state;
    use(&d, fd, true);
    assert_int_equal(d.fd, fd);
    assert_false(blocks(watch));
    mcpi_descriptor_close(&d);
    assert_true(blocks(watch));
    close(watch);
}

static void
flags_of_one_that_did_not_block_stay(void **state)
{
    struct mcpi_descriptor d;
    int ends[2], watch;

    (void)state;
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    watch = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
    use(&d, ends[0], true);
    mcpi_descriptor_close(&d);
    assert_false(blocks(watch));
    close(watch);
    close(ends[1]);
}

/* In a process without a stderr the next number is 2, and a stray message would be on
 * the wire. */
static void
M19_none_of_ours_is_stderr_though_that_is_free(void **state)
{
    int saved = fcntl(2, F_DUPFD_CLOEXEC, 3);
    struct mcpi_descriptor d;
    int ends[2], plain;

    (void)state;
    pipe_open(ends);
    close(2);
    assert_int_equal(mcpi_descriptor_open(&d, ends[0]), 0);
    plain = mcpi_fd_above_stdio(dup(ends[0]));
    dup2(saved, 2);
    close(saved);
    assert_true(d.given >= 0 && d.fd > 2);
    assert_true(plain > 2);
    assert_int_equal(fcntl(plain, F_GETFD), FD_CLOEXEC);
    assert_int_equal(mcpi_fd_above_stdio(plain), plain);
    assert_int_equal(mcpi_fd_above_stdio(-1), -1);
    mcpi_descriptor_drop(&d);
    close(plain);
    close(ends[0]);
    close(ends[1]);
}

static void
what_is_not_open_is_refused(void **state)
{
    struct mcpi_descriptor d;

    (void)state;
    assert_int_equal(mcpi_descriptor_open(&d, -1), MCP_E_INVAL);
    assert_int_equal(mcpi_descriptor_open(&d, 1 << 20), MCP_E_INVAL);
}

static void
reading_says_what_there_is(void **state)
{
    struct mcpi_descriptor d;
    char bytes[8];
    int ends[2];

    (void)state;
    for (int socket = 0; socket < 2; socket++) {
        if (socket)
            socket_pair(ends);
        else
            pipe_open(ends);
        use(&d, ends[0], true);
        assert_int_equal(mcpi_descriptor_read(&d, bytes, 8), MCP_E_AGAIN);
        assert_int_equal(write(ends[1], "abc", 3), 3);
        assert_int_equal(mcpi_descriptor_read(&d, bytes, 8), 3);
        close(ends[1]);
        assert_int_equal(mcpi_descriptor_read(&d, bytes, 8), 0);
        mcpi_descriptor_close(&d);
    }
}

static void
a_socket_whose_peer_left_unread_bytes_behind_is_broken(void **state)
{
    struct mcpi_descriptor d;
    char bytes[8];
    int ends[2];

    (void)state;
    socket_pair(ends);
    use(&d, ends[0], true);
    assert_int_equal(mcpi_descriptor_write(&d, "abc", 3), 3);
    close(ends[1]);
    assert_int_equal(mcpi_descriptor_read(&d, bytes, 8), MCP_E_CLOSED);
    mcpi_descriptor_close(&d);
}

/* Writes whatever room there is said to be until there is none. Each must be taken
 * whole, or messages would count as sent that have not begun to leave. */
static void
fill(struct mcpi_descriptor *d)
{
    static const char bytes[1 << 20];
    size_t room;
    long total = 0;

    for (room = mcpi_descriptor_room(d); room > 0; room = mcpi_descriptor_room(d)) {
        room = room < sizeof(bytes) ? room : sizeof(bytes);
        assert_int_equal(mcpi_descriptor_write(d, bytes, room), room);
        total += (long)room;
    }
    assert_true(total >= 4096);
}

static void
B7_a_write_takes_all_that_there_is_room_for(void **state)
{
    struct mcpi_descriptor d;
    char bytes[9000];
    int ends[2];

    (void)state;
    for (int socket = 0; socket < 2; socket++) {
        if (socket)
            socket_pair(ends);
        else
            pipe_open(ends);
        use(&d, ends[socket ? 0 : 1], true);
        fill(&d);
        assert_int_equal(mcpi_descriptor_room(&d), 0);
        for (int i = 0; i < 20; i++) { /* the reader is slow, and reads odd amounts */
            assert_true(read(ends[socket ? 1 : 0], bytes, sizeof(bytes)) > 0);
            while (mcpi_descriptor_room(&d) > 0)
                fill(&d);
        }
        mcpi_descriptor_close(&d);
        close(ends[socket ? 1 : 0]);
    }
}

static void
B25_what_would_fail_has_room_so_that_it_is_tried(void **state)
{
    struct mcpi_descriptor d;
    int ends[2];

    (void)state;
    pipe_open(ends);
    use(&d, ends[1], true);
    fill(&d);
    close(ends[0]);
    assert_true(mcpi_descriptor_room(&d) > 0);
    mcpi_descriptor_close(&d);
    socket_pair(ends);
    use(&d, ends[1], true);
    fill(&d);
    close(ends[0]);
    assert_true(mcpi_descriptor_room(&d) > 0);
    assert_int_equal(mcpi_descriptor_write(&d, "x", 1), MCP_E_CLOSED);
    mcpi_descriptor_close(&d);
}

static void
a_write_that_cannot_be_is_told_from_a_reader_that_is_gone(void **state)
{
    struct mcpi_descriptor d;

    (void)state;
    use(&d, open("/dev/full", O_WRONLY | O_CLOEXEC), false);
    assert_int_equal(d.kind, MCPI_DESCRIPTOR_FILE);
    assert_true(mcpi_descriptor_room(&d) > 0);
    assert_int_equal(mcpi_descriptor_write(&d, "x", 1), MCP_E_SEND_FAILED);
    assert_int_equal(errno, ENOSPC);
    mcpi_descriptor_close(&d);
}

static void
one_that_is_given_away_is_not_closed(void **state)
{
    struct mcpi_descriptor d;
    int ends[2], fd;

    (void)state;
    pipe_open(ends);
    use(&d, ends[0], true);
    fd = mcpi_descriptor_take(&d);
    mcpi_descriptor_close(&d);
    assert_true(fcntl(fd, F_GETFD) >= 0);
    assert_int_equal(mcpi_descriptor_take(&d), -1);
    close(fd);
    close(ends[1]);
}

/* ---- under a stream -------------------------------------------------------- */

/* A file with so many requests in it. */
static int
file_of_calls(int calls, const char *tool)
{
    int fd = memfd_create("calls", MFD_CLOEXEC);
    char line[256];
    int len;

    assert_true(fd >= 0);
    for (int i = 1; i <= calls; i++) {
        len = snprintf(line, sizeof(line),
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\","
                       "\"params\":{\"name\":\"%s\"," STAMP "}}\n",
                       i, tool);
        assert_int_equal(write(fd, line, (size_t)len), len);
    }
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* A server that reads a file, and writes one that the test can read from its start. */
static void
rig_open_files(struct rig *r, int calls, const char *tool)
{
    struct rig_options opt = {.test = {-1, -1}};
    int out = memfd_create("answers", MFD_CLOEXEC);
    char path[32];

    opt.server = (struct stream_ends){file_of_calls(calls, tool), out};
    snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
    opt.test.in = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(opt.test.in >= 0);
    rig_open(r, &opt);
}

static void
a_file_is_served_to_its_end_and_the_answers_are_in_another(void **state)
{
    struct rig r;

    (void)state;
    rig_open_files(&r, 1000, "x");
    rig_run_deaf(&r);
    assert_int_equal(r.closed, 1);
    assert_int_equal(r.served, 1000);
    rig_listen(&r);
    assert_int_equal(rig_heard(&r, "\n"), 1000);
    rig_close(&r);
}

/* Notifications, and one request at the end. */
static int
file_of_notes(void)
{
    static const char note[] = NOTE("notifications/x", "{}") "\n";
    static const char call[] = RIG_TOOL("1", "x") "\n";
    int fd = memfd_create("notes", MFD_CLOEXEC);

    for (int i = 0; i < 5000; i++)
        assert_int_equal(write(fd, note, sizeof(note) - 1), sizeof(note) - 1);
    assert_int_equal(write(fd, call, sizeof(call) - 1), sizeof(call) - 1);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void
a_file_is_read_on_though_nothing_is_written_meanwhile(void **state)
{
    struct rig_options opt = {.test = {-1, -1}};
    struct rig r;

    (void)state;
    for (int shut = 0; shut < 2; shut++) {
        opt.server.in = file_of_notes();
        opt.server.out = open("/dev/null", O_WRONLY | O_CLOEXEC);
        rig_open(&r, &opt);
        if (shut)
            mcpi_stream_shutdown(r.stream);
        rig_run_deaf(&r);
        assert_int_equal(r.served, 1);
        assert_int_equal(r.closed, 1);
        rig_close(&r);
    }
}

static void
a_file_is_read_a_bounded_amount_a_turn(void **state)
{
    struct rig r;

    (void)state;
    rig_open_files(&r, 10000, "x");
    assert_int_equal(mcpi_loop_step(r.loop), 0);
    assert_in_range(r.served, 1, 5000);
    rig_run_deaf(&r);
    assert_int_equal(r.served, 10000);
    rig_close(&r);
}

static void
after_the_end_of_a_file_nothing_spins(void **state)
{
    struct rig r;

    (void)state;
    rig_open_files(&r, 1, "hold");
    rig_run_deaf(&r);
    assert_int_equal(r.held_count, 1);
    assert_int_equal(r.closed, 0);
    assert_false(loop_is_busy(r.loop));
    rig_finish(&r, 0);
    rig_run_deaf(&r);
    assert_int_equal(r.closed, 1);
    rig_close(&r);
}

static void
M5_what_is_read_of_one_who_is_gone_has_a_bound(void **state)
{
    struct rig r;

    (void)state;
    rig_open_files(&r, 20000, "x"); /* some 3 MiB */
    mcpi_stream_finish(r.stream);
    assert_int_equal(mcpi_loop_step(r.loop), 0);
    assert_in_range(r.served, 1000, 15000);
    rig_run_deaf(&r);
    assert_int_equal(r.closed, 1);
    assert_in_range(r.served, 1000, 15000);
    rig_close(&r);
}

struct home {
    struct mcpi_post post;
    struct rig *rig;
};

static void
home_free(struct mcpi_post *post)
{
    struct home *h = (struct home *)(void *)post;

    mcpi_stream_free(h->rig->stream);
    h->rig->stream = NULL;
}

/* A flush of somebody else's, which posts; the stream's own runs after it. */
static struct home *coming;

static void
come_home(struct mcpi_flush *flush)
{
    (void)flush;
    mcpi_loop_post(coming->rig->loop, &coming->post);
}

static void
what_came_home_may_free_the_stream_that_reads_a_file(void **state)
{
    struct home h = {.post = {.fn = home_free}};
    struct mcpi_flush flush;
    struct rig other, r;
    struct rig_options opt = {.test = {-1, -1}, .on_loop_of = &other};

    (void)state;
    rig_open_socket(&other);
    coming = &h;
    h.rig = &r;
    mcpi_flush_init(&flush, come_home);
    mcpi_loop_flush(other.loop, &flush);
    opt.server = (struct stream_ends){file_of_calls(3, "x"),
                                      open("/dev/null", O_WRONLY | O_CLOEXEC)};
    rig_open(&r, &opt);
    assert_int_equal(mcpi_loop_step(other.loop), 0);
    assert_null(r.stream);
    assert_int_equal(r.served, 0);
    rig_close(&r);
    rig_close(&other);
    test_mem_done(&r.mem);
}

static void
dev_null_is_an_input_that_ends_at_once_and_an_output_that_takes_all(void **state)
{
    struct rig_options opt = {.test = {-1, -1}};
    int ends[2];
    struct rig r;

    (void)state;
    opt.server.in = open("/dev/null", O_RDWR | O_CLOEXEC);
    opt.server.out = opt.server.in;
    rig_open(&r, &opt);
    rig_run_deaf(&r);
    assert_int_equal(r.closed, 1);
    rig_close(&r);

    pipe_open(ends);
    opt.server = (struct stream_ends){ends[0], open("/dev/null", O_WRONLY | O_CLOEXEC)};
    opt.test.out = ends[1];
    rig_open(&r, &opt);
    rig_say(&r, RIG_TOOL("1", "x"));
    rig_run_deaf(&r);
    assert_int_equal(r.served, 1);
    assert_int_equal(r.closed, 0);
    rig_close(&r);
}

/* [0] is the master. No echo, no translation. */
static void
terminal_open(int ends[2])
{
    struct termios mode;

    ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(ends[0] >= 0);
    assert_int_equal(grantpt(ends[0]), 0);
    assert_int_equal(unlockpt(ends[0]), 0);
    ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(ends[1] >= 0);
    assert_int_equal(tcgetattr(ends[1], &mode), 0);
    cfmakeraw(&mode);
    assert_int_equal(tcsetattr(ends[1], TCSANOW, &mode), 0);
}

/* The stream at that end of a terminal, with one descriptor or two. */
static void
serve_on_terminal(int end, bool two)
{
    struct rig_options opt = {0};
    int ends[2], watch;
    struct rig r;

    terminal_open(ends);
    watch = fcntl(ends[end], F_DUPFD_CLOEXEC, 0);
    opt.server = (struct stream_ends){ends[end], ends[end]};
    if (two)
        opt.server.out = fcntl(ends[end], F_DUPFD_CLOEXEC, 0);
    opt.test = (struct stream_ends){ends[1 - end], ends[1 - end]};
    rig_open(&r, &opt);
    assert_int_equal(blocks(watch), end == 1); /* a master cannot be opened again */
    rig_say(&r, RIG_TOOL("1", "x"));
    rig_run(&r);
    assert_int_equal(rig_heard(&r, "\"id\":1,"), 1);
    if (end == 1) { /* hang up */
        close(r.say_fd);
        r.say_fd = r.listen_fd = -1;
        rig_run(&r);
        assert_int_equal(r.closed, 1);
    }
    rig_close(&r);
    assert_true(blocks(watch));
    close(watch);
}

static void
a_terminal_is_served_at_either_end_and_keeps_its_flags(void **state)
{
    (void)state;
    serve_on_terminal(1, false);
    serve_on_terminal(1, true);
    serve_on_terminal(0, false);
    serve_on_terminal(0, true);
}

static void
those_who_share_a_pipe_or_a_socket_keep_their_flags(void **state)
{
    struct rig_options opt = {0};
    int up[2], down[2], watch[2];
    struct rig r;

    (void)state;
    for (int socket = 0; socket < 2; socket++) {
        if (socket) {
            socket_pair(up);
            opt.server = (struct stream_ends){up[0], up[0]};
            opt.test = (struct stream_ends){up[1], up[1]};
        } else {
            pipe_open(up);
            pipe_open(down);
            opt.server = (struct stream_ends){up[0], down[1]};
            opt.test = (struct stream_ends){down[0], up[1]};
        }
        watch[0] = fcntl(opt.server.in, F_DUPFD_CLOEXEC, 0);
        watch[1] = fcntl(opt.server.out, F_DUPFD_CLOEXEC, 0);
        rig_open(&r, &opt);
        rig_say(&r, RIG_TOOL("1", "x"));
        rig_run(&r);
        assert_int_equal(r.served, 1);
        assert_true(blocks(watch[0]) && blocks(watch[1]));
        rig_close(&r);
        assert_true(blocks(watch[0]) && blocks(watch[1]));
        close(watch[0]);
        close(watch[1]);
    }
}

/* clang-format off */
#define ON_STREAM(function) { "stream." #function, function, NULL }
/* clang-format on */

TEST_MAIN(
    TEST(a_pipe_is_opened_once_more_and_the_old_one_closed),
    TEST(dropping_one_leaves_what_was_given),
    TEST(flags_that_had_to_be_changed_are_put_back),
    TEST(flags_of_one_that_did_not_block_stay), TEST(what_is_not_open_is_refused),
    TEST(reading_says_what_there_is),
    TEST(a_socket_whose_peer_left_unread_bytes_behind_is_broken),
    TEST(B7_a_write_takes_all_that_there_is_room_for),
    TEST(B25_what_would_fail_has_room_so_that_it_is_tried),
    TEST(a_write_that_cannot_be_is_told_from_a_reader_that_is_gone),
    TEST(one_that_is_given_away_is_not_closed),
    ON_STREAM(M19_none_of_ours_is_stderr_though_that_is_free),
    ON_STREAM(M5_what_is_read_of_one_who_is_gone_has_a_bound),
    ON_STREAM(a_file_is_served_to_its_end_and_the_answers_are_in_another),
    ON_STREAM(a_file_is_read_on_though_nothing_is_written_meanwhile),
    ON_STREAM(a_file_is_read_a_bounded_amount_a_turn),
    ON_STREAM(after_the_end_of_a_file_nothing_spins),
    ON_STREAM(what_came_home_may_free_the_stream_that_reads_a_file),
    ON_STREAM(dev_null_is_an_input_that_ends_at_once_and_an_output_that_takes_all),
    ON_STREAM(a_terminal_is_served_at_either_end_and_keeps_its_flags),
    ON_STREAM(those_who_share_a_pipe_or_a_socket_keep_their_flags))
