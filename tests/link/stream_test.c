/* stream_test.c - streams over pipes: both suites, group C, their own mechanics */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/halves.h"
#include "support/session_suite.h"
#include "support/streams.h"

#define CANCELLED "notifications/cancelled"

static const enum mcpi_era eras[] = {MCPI_ERA_MODERN, MCPI_ERA_LEGACY};

#define EACH_ERA(i) for (size_t i = 0; i < 2; i++)

static void
start_on_stream(struct world *w, enum mcpi_era era)
{
    struct world_options opt = {.client_era = era, .link = &world_stream};

    world_start_with(w, &opt);
}

static void
call_and_run(struct world *w, const struct mcpi_call_options *opt, struct outcome *out)
{
    world_call(w, CLIENT, opt, out);
    world_run(w);
}

static void
expect(const struct outcome *out, int status)
{
    assert_int_equal(out->done, 1);
    assert_int_equal(out->status, status);
}

/* What a side has put on the wire and nobody has read: the bytes themselves. Taken off
 * the wire; the caller frees. */
static char *
wire_read(struct world *w, int side)
{
    const struct streams *s = w->link_state;
    char *text = calloc(1, 65537);
    char path[32];
    int fd;

    assert_non_null(text);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", s->wire[side]);
    fd = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(read(fd, text, 65536) > 0);
    close(fd);
    return text;
}

static void
step_only(struct world *w, int side)
{
    while (w->link->step(w, side) > 0)
        continue;
}

static size_t
count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        n++;
    return n;
}

/* ---- group C: what a cancel is on the wire --------------------------------- */

/* Abandon the last call, in one of several ways, and look at the bytes. */
static void
expect_one_frame(enum mcpi_era era, const char *method, const struct mcpi_id *id,
                 const char *spelled)
{
    struct mcpi_call_options opt = {
        .method = method, .id = id, .timeout_us = 10 * SECOND};
    struct outcome out;
    struct world w;
    char *text;

    for (int way = 0; way < 3; way++) {
        start_on_stream(&w, era);
        call_and_run(&w, &opt, &out);
        if (way == 0)
            assert_int_equal(mcpi_call_cancel(out.call, "enough", w.now), 0);
        if (way == 1)
            outcome_done(&out);
        if (way == 2) {
            w.now += 10 * SECOND;
            mcpi_timers_expire(&w.timers, w.now);
        }
        step_only(&w, CLIENT);
        text = wire_read(&w, CLIENT);
        assert_int_equal(count(text, CANCELLED), 1);
        assert_int_equal(count(text, spelled), 1);
        assert_int_equal(count(text, "\"id\":"), 0);
        assert_int_equal(count(text, "\"reason\":\""), 1);
        assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
        free(text);
        outcome_done(&out);
        world_close(&w);
    }
}

static void
C1_C3_a_legacy_abandon_is_one_line_with_the_id_verbatim(void **state)
{
    struct mcpi_id text7 = mcpi_id_string("7", 1);
    struct mcpi_id number = mcpi_id_int(7);

    (void)state;
    expect_one_frame(MCPI_ERA_LEGACY, "tools/call", &text7, "\"requestId\":\"7\"");
    expect_one_frame(MCPI_ERA_LEGACY, "tools/call", &number, "\"requestId\":7");
}

static void
C2_C3_so_is_a_modern_one_and_that_of_a_listen(void **state)
{
    struct mcpi_id odd = mcpi_id_string("k\"1", 3);

    (void)state;
    expect_one_frame(MCPI_ERA_MODERN, "tools/call", &odd, "\"requestId\":\"k\\\"1\"");
    expect_one_frame(MCPI_ERA_MODERN, "subscriptions/listen", &odd,
                     "\"requestId\":\"k\\\"1\"");
}

static void
C4_a_modern_client_writes_no_answer_whatever_arrives(void **state)
{
    static const char *const lines[] = {
        REQUEST("1", "roots/list", "{}"),   REQUEST("2", "ping", "{}"), "nonsense",
        "[" REQUEST("3", "ping", "{}") "]", ERROR("null", "-32700"),    CANCEL("1"),
        NOTE("notifications/x", "{}")};
    struct world w;

    (void)state;
    start_on_stream(&w, MCPI_ERA_MODERN);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        world_inject(&w, SERVER, lines[i]);
    world_run(&w);
    assert_int_equal(w.sent_count[CLIENT], 0);
    world_close(&w);
}

static void
C5_nothing_more_is_said_about_what_was_canceled(void **state)
{
    static const char log[] = "{\"level\":\"info\",\"data\":1}";
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct outcome out;
    struct job *job;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        start_on_stream(&w, eras[i]);
        call_and_run(&w, &opt, &out);
        mcpi_call_cancel(out.call, NULL, w.now);
        world_run(&w);
        job = world_job(&w, SERVER);
        assert_int_equal(mcpi_exchange_progress(job->x, 1, 2, NULL, w.now),
                         MCP_E_CANCELED);
        assert_int_equal(mcpi_exchange_notify(job->x, "notifications/message", log,
                                              sizeof(log) - 1, w.now),
                         MCP_E_CANCELED);
        job_finish(&w, job, "{}");
        world_run(&w);
        assert_int_equal(w.sent_count[SERVER], 0);
        outcome_done(&out);
        world_close(&w);
    }
}

static void
C6_a_frame_is_applied_though_every_handler_is_busy(void **state)
{
    struct rig r;

    (void)state;
    rig_open_pipes(&r);
    rig_say(&r, RIG_TOOL("1", "hold"));
    rig_say(&r, RIG_TOOL("2", "hold"));
    rig_say(&r, RIG_TOOL("3", "hold"));
    rig_say(&r, CANCEL("2"));
    rig_run(&r);
    assert_int_equal(r.held_count, 3);
    assert_int_equal(r.told, 1);
    assert_null(r.held[1]);
    assert_int_equal(r.heard_len, 0);
    rig_close(&r);
}

/* The output is full, and more waits. */
static void
back_up(struct rig *r)
{
    r->big = 200000;
    rig_say(r, RIG_TOOL("1", "big"));
    rig_run_deaf(r);
    assert_int_equal(r->served, 1);
}

static void
C7_input_is_read_though_the_output_is_backed_up(void **state)
{
    struct rig r;

    (void)state;
    rig_open_pipes(&r);
    back_up(&r);
    rig_say(&r, RIG_TOOL("2", "hold"));
    rig_say(&r, CANCEL("2"));
    rig_run_deaf(&r);
    assert_int_equal(r.told, 1);
    assert_false(loop_is_busy(r.loop)); /* it waits for room, it does not spin */
    rig_run(&r);
    assert_int_equal(rig_heard(&r, "\"id\":1"), 1);
    assert_true(r.heard_len > 200000);
    rig_close(&r);
}

static void
C7_who_does_not_read_is_given_up_and_its_memory_with_it(void **state)
{
    struct rig_options opt = {.limits = {.queued_answers = 8}};
    int up[2], down[2];
    struct rig r;

    (void)state;
    pipe_open(up);
    pipe_open(down);
    opt.server = (struct stream_ends){up[0], down[1]};
    opt.test = (struct stream_ends){down[0], up[1]};
    rig_open(&r, &opt);
    r.free_when_closed = true;
    back_up(&r);
    for (int i = 0; i < 40; i++)
        rig_say(&r, RIG_TOOL("2", "x"));
    rig_run_deaf(&r);
    assert_int_equal(r.closed, 1);
    assert_int_equal(r.engine->counts.peers, 0);
    assert_int_equal(r.engine->counts.exchanges, 0);
    rig_close(&r);
}

static void
C8_F17_frames_before_the_first_request_decide_nothing(void **state)
{
    struct rig r;

    (void)state;
    for (int legacy = 0; legacy < 2; legacy++) {
        rig_open_pipes(&r);
        for (int i = 0; i < 20; i++) {
            rig_say(&r, CANCEL("1"));
            rig_say(&r, NOTE("notifications/x", "{}"));
        }
        rig_run(&r);
        assert_int_equal(r.heard_len, 0);
        rig_say(&r, legacy ? INITIALIZE("1", "2025-11-25") : RIG_TOOL("1", "x"));
        rig_run(&r);
        assert_int_equal(rig_heard(&r, "\"id\":1,"), 1);
        assert_int_equal(rig_heard(&r, "\"result\":"), 1);
        assert_int_equal(rig_heard(&r, "\"2025-11-25\""), legacy);
        rig_close(&r);
    }
}

static void
C9_a_modern_first_request_that_is_canceled_leaves_no_trace(void **state)
{
    static const char *const next[] = {RIG_TOOL("2", "x"),
                                       INITIALIZE("2", "2025-11-25")};
    struct rig r;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rig_open_pipes(&r);
        rig_say(&r, RIG_TOOL("1", "hold"));
        rig_say(&r, CANCEL("1"));
        rig_say(&r, next[i]);
        rig_run(&r);
        assert_int_equal(r.told, 1);
        assert_int_equal(rig_heard(&r, "\n"), 1);
        assert_int_equal(rig_heard(&r, "\"id\":2,"), 1);
        assert_int_equal(rig_heard(&r, "\"result\":"), 1);
        rig_close(&r);
    }
}

static void
C10_initialize_may_follow_a_probe_at_once_canceled_or_not(void **state)
{
    struct rig r;

    (void)state;
    for (int canceled = 0; canceled < 2; canceled++) {
        rig_open_pipes(&r);
        rig_say(&r, MODERN_DISCOVER("\"probe\""));
        if (canceled)
            rig_say(&r, CANCEL("\"probe\""));
        rig_say(&r, INITIALIZE("1", "2025-11-25"));
        rig_say(&r, NOTE("notifications/initialized", "{}"));
        rig_say(&r, LEGACY_CALL("2"));
        rig_run(&r);
        assert_int_equal(rig_heard(&r, "\n"), 3); /* each is answered, once */
        assert_true(strstr(r.heard, "\"probe\"") < strstr(r.heard, "\"id\":1,"));
        assert_int_equal(rig_heard(&r, "\"id\":2,"), 1);
        assert_int_equal(rig_heard(&r, "\"error\""), 0);
        rig_close(&r);
    }
}

static void
C11_a_bad_line_and_one_too_long_lose_nothing_else(void **state)
{
    struct rig_options opt = {.limits = {.message_bytes = 4096}};
    char line[20001];
    int ends[2];
    struct rig r;

    (void)state;
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    socket_pair(ends);
    opt.server = (struct stream_ends){ends[0], ends[0]};
    opt.test = (struct stream_ends){ends[1], ends[1]};
    rig_open(&r, &opt);
    rig_say(&r, RIG_TOOL("1", "hold"));
    rig_say(&r, "this is no message");
    rig_say(&r, line);
    rig_say(&r, RIG_TOOL("2", "x"));
    rig_run(&r);
    assert_int_equal(rig_heard(&r, "-32700"), 1);
    assert_int_equal(rig_heard(&r, "message too long"), 1);
    assert_int_equal(rig_heard(&r, "\"id\":2,"), 1);
    rig_finish(&r, 0);
    rig_run(&r);
    assert_int_equal(rig_heard(&r, "\"id\":1,"), 1);
    assert_int_equal(r.closed, 0);
    rig_close(&r);
}

/* ---- a client whose output is broken --------------------------------------- */

static int broken_out, held_open;

/* The server is alive: its output, which is the client's input, stays open. */
static int
open_broken(struct world *w, const struct world_options *opt)
{
    struct stream_ends ends[2];
    int up[2], down[2];

    (void)opt;
    pipe_open(up);
    pipe_open(down);
    held_open = up[1];
    ends[CLIENT] = (struct stream_ends){down[0], broken_out};
    ends[SERVER] = (struct stream_ends){up[0], down[1]};
    return streams_join(w, ends);
}

static const struct world_link broken_link = {.name = "broken",
                                              .open = open_broken,
                                              .step = streams_step,
                                              .inject = streams_inject,
                                              .shutdown = streams_shutdown,
                                              .free = streams_free};

static void
expect_broken(int out_fd, int status)
{
    struct world_options opt = {.client_era = MCPI_ERA_MANUAL, .link = &broken_link};
    struct outcome out[2], late;
    struct world w;

    broken_out = out_fd;
    assert_int_equal(world_open(&w, &opt), 0);
    assert_int_equal(mcpi_peer_connect(w.peer[CLIENT], w.now), 0);
    world_plain_call(&w, &out[0]);
    world_plain_call(&w, &out[1]);
    world_run(&w);
    for (int i = 0; i < 2; i++) {
        expect(&out[i], MCP_E_CLOSED);
        assert_int_equal(mcpi_call_cancel(out[i].call, NULL, w.now), MCP_E_STATE);
        outcome_done(&out[i]);
    }
    assert_int_equal(w.closed[CLIENT], 1);
    assert_int_equal(w.closed_status[CLIENT], status);
    assert_int_equal(((struct streams *)w.link_state)->told[CLIENT], 1);
    assert_int_equal(world_try_call(&w, CLIENT, NULL, &late), MCP_E_CLOSED);
    assert_int_equal(
        mcpi_peer_notify(w.peer[CLIENT], "notifications/x", NULL, 0, w.now), 0);
    world_run(&w);
    world_close(&w);
    close(held_open);
}

static void
C12_a_write_that_fails_though_the_peer_lives_wakes_all(void **state)
{
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    expect_broken(fd, MCP_E_SEND_FAILED);
}

static void
B25_M21_a_dead_pipe_is_a_closed_call_and_no_signal(void **state)
{
    int ends[2];

    (void)state;
    pipe_open(ends);
    close(ends[0]);
    expect_broken(ends[1], MCP_E_CLOSED);
    socket_pair(ends);
    close(ends[0]);
    expect_broken(ends[1], MCP_E_CLOSED);
}

static void
what_was_said_before_the_end_is_read_though_nothing_can_be_written(void **state)
{
    enum { CALLS = 4 };
    struct outcome out[CALLS + 1];
    char result[12000];
    struct world w;

    (void)state;
    start_on_stream(&w, MCPI_ERA_MODERN);
    memset(result, 'x', sizeof(result));
    memcpy(result, "{\"a\":\"", 6);
    memcpy(result + sizeof(result) - 3, "\"}", 3);
    for (int i = 0; i < CALLS; i++)
        call_and_run(&w, NULL, &out[i]);
    for (int i = 0; i < CALLS; i++)
        job_finish(&w, &w.jobs[SERVER][i], result);
    step_only(&w, SERVER);
    world_plain_call(&w, &out[CALLS]);
    world_cut(&w, SERVER);
    world_run(&w);
    for (int i = 0; i < CALLS; i++)
        expect(&out[i], 0);
    expect(&out[CALLS], MCP_E_CLOSED);
    for (int i = 0; i <= CALLS; i++)
        outcome_done(&out[i]);
    world_close(&w);
}

/* ---- issued, and not ------------------------------------------------------- */

/* Nobody reads what the client writes, until there is no room for another byte. */
static void
fill_wire(struct world *w, int side)
{
    while (w->link->inject(w, side, "\n", 1) > 0)
        continue;
}

static void
B7_what_finds_no_room_is_withdrawn_without_a_trace(void **state)
{
    struct outcome out;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        start_on_stream(&w, eras[i]);
        fill_wire(&w, CLIENT);
        world_plain_call(&w, &out);
        step_only(&w, CLIENT);
        assert_int_equal(w.sent_count[CLIENT], 0);
        assert_int_equal(mcpi_call_cancel(out.call, NULL, w.now), 0);
        world_run(&w);
        assert_int_equal(w.sent_count[CLIENT], 0);
        assert_int_equal(w.job_count[SERVER], 0);
        outcome_done(&out);
        world_close(&w);
    }
}

static void
B7_B8_what_waits_behind_a_half_written_message_is_too(void **state)
{
    static char params[100032];
    struct mcpi_call_options big = {.params = params};
    struct outcome a, b, c;
    struct world w;

    (void)state;
    snprintf(params, sizeof(params), "{\"name\":\"%0*d\"}", 100000, 0);
    start_on_stream(&w, MCPI_ERA_MODERN);
    world_call(&w, CLIENT, &big, &a);
    world_plain_call(&w, &b);
    world_plain_call(&w, &c);
    step_only(&w, CLIENT);
    assert_int_equal(w.sent_count[CLIENT], 1);
    assert_int_equal(mcpi_call_cancel(b.call, NULL, w.now), 0);
    assert_int_equal(mcpi_call_cancel(a.call, NULL, w.now), 0);
    world_run(&w);
    assert_int_equal(w.sent_count[CLIENT], 3); /* a, then c and the frame for a */
    assert_int_equal(w.job_count[SERVER], 2);
    assert_int_equal(w.jobs[SERVER][0].told, 1);
    assert_int_equal(w.jobs[SERVER][1].told, 0);
    outcome_done(&a);
    outcome_done(&b);
    outcome_done(&c);
    world_close(&w);
}

struct flush {
    int told, status;
};

static void
on_flushed(void *user, int status)
{
    struct flush *f = user;

    f->told++;
    f->status = status;
}

/* The params of a call whose line is that long. */
static void
params_for_line(struct world *w, char *params, int line)
{
    struct mcpi_call_options opt = {.params = params};
    struct outcome out;
    int more;

    strcpy(params, "{\"name\":\"\"}");
    call_and_run(w, &opt, &out);
    more = line - (int)strlen(world_sent(w, CLIENT, w->sent_count[CLIENT] - 1)) - 1;
    sprintf(params, "{\"name\":\"%0*d\"}", more, 0);
    outcome_done(&out);
    world_run(w);
}

/* A pipe of 64 KiB, a request that leaves 36 bytes of it, and the frame behind it. */
static void
B10_B24_who_waits_for_a_half_written_cancel_hears_that_the_link_is_lost(void **state)
{
    static char params[66000];
    struct mcpi_call_options big = {.params = params};
    struct flush f = {0, 0};
    struct outcome a, b;
    struct world w;

    (void)state;
    start_on_stream(&w, MCPI_ERA_MODERN);
    params_for_line(&w, params, 65500);
    call_and_run(&w, NULL, &a);
    world_forget(&w);
    world_call(&w, CLIENT, &big, &b);
    assert_int_equal(mcpi_call_cancel(a.call, NULL, w.now), 0);
    step_only(&w, CLIENT);
    assert_int_equal(w.sent_count[CLIENT], 2);
    assert_int_equal(mcpi_call_flush(a.call, MCPI_FLUSH_DEFAULT, on_flushed, &f, w.now),
                     0);
    assert_int_equal(f.told, 0);
    world_cut(&w, SERVER);
    step_only(&w, CLIENT);
    assert_int_equal(f.told, 1);
    assert_int_equal(f.status, MCP_E_CLOSED);
    outcome_done(&a);
    outcome_done(&b);
    world_close(&w);
}

/* A socket that keeps writes apart counts them. */
static void
all_that_waits_leaves_in_one_write(void **state)
{
    struct rig_options opt = {0};
    char bytes[65536];
    int ends[2];
    ssize_t n;
    struct rig r;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    opt.server = (struct stream_ends){ends[0], ends[0]};
    opt.test = (struct stream_ends){ends[1], ends[1]};
    rig_open(&r, &opt);
    n = snprintf(bytes, sizeof(bytes), "%s\n%s\n%s\n", RIG_TOOL("1", "x"),
                 RIG_TOOL("2", "x"), RIG_TOOL("3", "x"));
    assert_int_equal(write(ends[1], bytes, (size_t)n), n);
    rig_run_deaf(&r);
    n = recv(ends[1], bytes, sizeof(bytes) - 1, MSG_DONTWAIT);
    assert_true(n > 0);
    bytes[n] = '\0';
    assert_int_equal(count(bytes, "\n"), 3);
    assert_true(recv(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT) < 0);
    rig_close(&r);
}

struct home {
    struct mcpi_post post;
    struct rig *rig;
};

static void
home_finish(struct mcpi_post *post)
{
    struct home *h = (struct home *)(void *)post;

    rig_finish(h->rig, 0);
}

static void
F10_a_result_that_came_home_before_the_frame_was_read_wins(void **state)
{
    struct home h = {.post = {.fn = home_finish}};
    struct rig r;

    (void)state;
    rig_open_pipes(&r);
    rig_say(&r, RIG_TOOL("1", "hold"));
    rig_run(&r);
    rig_say(&r, CANCEL("1"));
    h.rig = &r;
    mcpi_loop_post(r.loop, &h.post);
    rig_run(&r);
    assert_int_equal(r.told, 0);
    assert_int_equal(rig_heard(&r, "\"id\":1,"), 1);
    rig_close(&r);
}

static void
home_free(struct mcpi_post *post)
{
    struct home *h = (struct home *)(void *)post;

    mcpi_stream_free(h->rig->stream);
    h->rig->stream = NULL;
}

static void
what_came_home_may_free_the_stream_that_is_reading(void **state)
{
    struct home h = {.post = {.fn = home_free}};
    struct rig r;

    (void)state;
    rig_open_pipes(&r);
    rig_run(&r);
    rig_say(&r, RIG_TOOL("1", "x"));
    h.rig = &r;
    mcpi_loop_post(r.loop, &h.post);
    rig_run(&r);
    assert_int_equal(r.served, 0);
    assert_int_equal(r.closed, 0);
    rig_close(&r);
}

static void
without_memory_to_read_with_it_closes(void **state)
{
    struct rig r;

    (void)state;
    rig_open_pipes(&r);
    rig_run(&r);
    r.mem.fail_after = true;
    atomic_store(&r.mem.fail_at, atomic_load(&r.mem.total) + 1);
    rig_say(&r, RIG_TOOL("1", "x"));
    rig_run(&r);
    assert_int_equal(r.closed, 1);
    assert_int_equal(r.served, 0);
    atomic_store(&r.mem.fail_at, 0);
    rig_close(&r);
}

static void
home_close(struct mcpi_post *post)
{
    struct home *h = (struct home *)(void *)post;

    mcpi_peer_close(mcpi_stream_peer(h->rig->stream), h->rig->now);
}

static void
F30_what_is_read_as_it_is_closed_is_not_dispatched(void **state)
{
    struct home h = {.post = {.fn = home_close}};
    struct rig r;

    (void)state;
    rig_open_pipes(&r);
    rig_run(&r);
    rig_say(&r, RIG_TOOL("1", "x"));
    h.rig = &r;
    mcpi_loop_post(r.loop, &h.post);
    rig_run(&r);
    assert_int_equal(r.closed, 1);
    assert_int_equal(r.heard_len, 0);
    rig_close(&r);
}

/* ---- ends ------------------------------------------------------------------ */

/* The client has heard the end of what the server says. */
static bool
sees_eof(const struct rig *r)
{
    char byte;

    return recv(r->listen_fd, &byte, 1, MSG_DONTWAIT) == 0 ||
           read(r->listen_fd, &byte, 1) == 0;
}

static void
M16_F28_after_eof_what_runs_is_finished_written_and_the_stream_closed(void **state)
{
    struct rig r;

    (void)state;
    for (int socket = 0; socket < 2; socket++) {
        if (socket)
            rig_open_socket(&r);
        else
            rig_open_pipes(&r);
        r.big = 300000; /* more than fits */
        rig_say(&r, RIG_TOOL("1", "hold"));
        rig_say(&r, RIG_TOOL("2", "big"));
        rig_hush(&r);
        rig_run(&r);
        assert_int_equal(r.closed, 0);
        assert_false(loop_is_busy(r.loop));
        rig_finish(&r, 0);
        rig_run(&r);
        assert_int_equal(rig_heard(&r, "\n"), 2);
        assert_int_equal(r.closed, 1);
        assert_true(sees_eof(&r));
        rig_close(&r);
    }
}

static void
C11_half_a_line_at_the_end_is_reported(void **state)
{
    struct rig r;

    (void)state;
    rig_open_pipes(&r);
    assert_int_equal(write(r.say_fd, "{\"jsonrpc\":", 11), 11);
    rig_hush(&r);
    rig_run(&r);
    assert_int_equal(rig_heard(&r, "-32700"), 1);
    assert_int_equal(r.closed, 1);
    rig_close(&r);
}

static void
M25_F30_it_closes_though_nothing_comes_and_reads_no_more(void **state)
{
    struct rig r;

    (void)state;
    rig_open_pipes(&r);
    rig_say(&r, RIG_TOOL("1", "hold"));
    rig_run(&r);
    mcpi_peer_close(mcpi_stream_peer(r.stream), r.now);
    assert_int_equal(r.closed, 0); /* not from inside core */
    rig_say(&r, RIG_TOOL("2", "x"));
    rig_run(&r);
    assert_int_equal(r.closed, 1);
    assert_int_equal(r.told, 1);
    assert_int_equal(r.served, 1);
    assert_int_equal(rig_heard(&r, "\"id\":1,"), 1); /* F29 */
    assert_int_equal(rig_heard(&r, "\"id\":2,"), 0);
    rig_close(&r);
}

static void
F30_F31_it_closes_within_the_bound_though_nobody_reads(void **state)
{
    int unread = 0;
    struct rig r;

    (void)state;
    for (int socket = 0; socket < 2; socket++) {
        if (socket)
            rig_open_socket(&r);
        else
            rig_open_pipes(&r);
        r.big = 400000;
        rig_say(&r, RIG_TOOL("1", "big"));
        rig_run_deaf(&r);
        mcpi_peer_close(mcpi_stream_peer(r.stream), r.now);
        rig_say(&r, "too late");
        rig_run_deaf(&r);
        assert_int_equal(r.closed, 0);
        assert_int_equal(ioctl(r.say_fd, FIONREAD, &unread), 0);
        assert_true(socket || unread == 9);
        r.now += SECOND;
        rig_run_deaf(&r);
        assert_int_equal(r.closed, 1);
        rig_close(&r);
    }
}

static void
its_owner_may_free_it_when_it_is_told(void **state)
{
    struct rig r;

    (void)state;
    rig_open_pipes(&r);
    r.free_when_closed = true;
    rig_hush(&r);
    rig_run(&r);
    assert_int_equal(r.closed, 1);
    assert_null(r.stream);
    rig_close(&r);
}

static void
it_may_be_freed_with_half_a_message_written(void **state)
{
    static char params[300032];
    struct mcpi_call_options opt = {.params = params};
    struct outcome out;
    struct world w;

    (void)state;
    snprintf(params, sizeof(params), "{\"name\":\"%0*d\"}", 300000, 0);
    start_on_stream(&w, MCPI_ERA_MODERN);
    world_call(&w, CLIENT, &opt, &out);
    w.link->step(&w, CLIENT);
    assert_int_equal(w.sent_count[CLIENT], 1);
    world_cut(&w, CLIENT);
    expect(&out, MCP_E_CLOSED);
    world_run(&w);
    assert_int_equal(w.closed[SERVER], 1);
    outcome_done(&out);
    world_close(&w);
}

static void
M5_one_who_is_gone_is_read_to_the_end_though_others_hold_the_pipe(void **state)
{
    const struct streams *s;
    struct outcome a, b;
    char path[32];
    struct world w;
    int other;

    (void)state;
    start_on_stream(&w, MCPI_ERA_MODERN);
    s = w.link_state;
    call_and_run(&w, NULL, &a);
    call_and_run(&w, NULL, &b);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", s->wire[SERVER]);
    other = open(path, O_WRONLY | O_CLOEXEC); /* a child of the server's */
    job_finish(&w, &w.jobs[SERVER][0], "{}");
    step_only(&w, SERVER);
    assert_int_equal(w.link->inject(&w, SERVER, "{\"jsonrpc\"", 10), 10);
    world_cut(&w, SERVER);
    mcpi_stream_finish(s->stream[CLIENT]);
    assert_int_equal(a.done, 0);
    world_run(&w);
    expect(&a, 0);
    expect(&b, MCP_E_CLOSED);
    assert_true(world_logged(&w, 'W', "in the middle of a message"));
    assert_int_equal(s->told[CLIENT], 1);
    mcpi_stream_finish(s->stream[CLIENT]);
    world_run(&w);
    assert_int_equal(s->told[CLIENT], 1);
    outcome_done(&a);
    outcome_done(&b);
    world_close(&w);
    close(other);
}

static void
M8_the_input_can_be_taken_over_after_the_close(void **state)
{
    char bytes[64] = "";
    struct rig r;
    int fd;

    (void)state;
    for (int socket = 0; socket < 2; socket++) {
        if (socket)
            rig_open_socket(&r);
        else
            rig_open_pipes(&r);
        mcpi_peer_close(mcpi_stream_peer(r.stream), r.now);
        rig_run(&r);
        assert_int_equal(r.closed, 1);
        assert_true(sees_eof(&r)); /* the output is closed, the input is not */
        rig_say(&r, "more");
        fd = mcpi_stream_take_input(r.stream);
        assert_true(fd >= 0);
        assert_int_equal(mcpi_stream_take_input(r.stream), -1);
        mcpi_stream_free(r.stream);
        r.stream = NULL;
        assert_int_equal(read(fd, bytes, sizeof(bytes)), 5);
        close(fd);
        rig_close(&r);
    }
}

static void
an_input_that_is_taken_while_the_output_is_open_is_shared(void **state)
{
    struct rig r;
    int fd;

    (void)state;
    rig_open_socket(&r);
    rig_say(&r, RIG_TOOL("1", "hold"));
    rig_run(&r);
    fd = mcpi_stream_take_input(r.stream);
    assert_true(fd >= 0);
    rig_say(&r, RIG_TOOL("2", "x"));
    rig_finish(&r, 0);
    rig_run(&r);
    assert_int_equal(rig_heard(&r, "\"id\":1,"), 1);
    assert_int_equal(r.served, 1); /* the second is not ours */
    close(fd);
    rig_close(&r);
}

/* ---- floods ---------------------------------------------------------------- */

static void
one_that_floods_does_not_keep_the_others_waiting(void **state)
{
    static const char note[] = NOTE("notifications/x", "{}") "\n";
    struct rig_options opt = {0};
    struct rig loud, calm;
    int ends[2], turns;

    (void)state;
    rig_open_socket(&loud);
    socket_pair(ends);
    opt.server = (struct stream_ends){ends[0], ends[0]};
    opt.test = (struct stream_ends){ends[1], ends[1]};
    opt.on_loop_of = &loud;
    rig_open(&calm, &opt);
    for (turns = 0; calm.heard_len == 0 && turns < 20; turns++) {
        while (send(loud.say_fd, note, sizeof(note) - 1, MSG_DONTWAIT) > 0)
            continue;
        if (turns == 2)
            rig_say(&calm, RIG_TOOL("1", "x"));
        assert_int_equal(mcpi_loop_step(loud.loop), 0);
        rig_listen(&calm);
    }
    assert_int_equal(rig_heard(&calm, "\"id\":1,"), 1);
    assert_true(turns <= 5);
    rig_close(&calm);
    rig_close(&loud);
    test_mem_done(&calm.mem);
}

/* ---- two threads that sleep and wake --------------------------------------- */

static struct mcpi_peer *
half_open_stream(struct half *h)
{
    const struct stream_ends *ends = h->link_user;
    struct mcpi_stream_options so = {.loop = h->loop,
                                     .engine = h->engine,
                                     .take_in = ends->in,
                                     .take_out = ends->out};
    struct mcpi_stream *stream = NULL;

    assert_int_equal(mcpi_stream_new(&so, &stream), 0);
    h->end = stream;
    return mcpi_stream_peer(stream);
}

static void
half_free_stream(struct half *h)
{
    mcpi_stream_free(h->end);
}

static const struct half_link stream_halves = {half_open_stream, half_free_stream};

static void
ends_open(struct stream_ends ends[2], bool sockets)
{
    int up[2], down[2];

    if (sockets) {
        socket_pair(up);
        ends[CLIENT] = (struct stream_ends){up[0], up[0]};
        ends[SERVER] = (struct stream_ends){up[1], up[1]};
        return;
    }
    pipe_open(up);
    pipe_open(down);
    ends[CLIENT] = (struct stream_ends){down[0], up[1]};
    ends[SERVER] = (struct stream_ends){up[0], down[1]};
}

/* Some of the calls do not fit into the wire, so that writing waits for reading. */
static void
on_threads(enum mcpi_era era, bool sockets, int leaver)
{
    static char params[100032];
    struct stream_ends ends[2];
    struct half halves[2];
    struct remote *remotes;
    atomic_int left;
    long canceled;

    snprintf(params, sizeof(params), "{\"name\":\"%0*d\"}", 100000, 0);
    ends_open(ends, sockets);
    halves_open(halves, era, &stream_halves);
    for (int side = 0; side < 2; side++) {
        halves[side].link_user = &ends[side];
        half_do(&halves[side], half_begin);
    }
    remotes = remotes_new(&halves[CLIENT], &left);
    for (size_t i = 0; i < REMOTES; i += 40)
        remotes[i].params = params;
    remotes_post(remotes);
    if (leaver >= 0)
        half_do(&halves[leaver], half_leave);
    canceled = remotes_check(remotes, &left);
    assert_true(leaver >= 0 || canceled > 0);
    halves_close(halves);
}

static void
B33_thousands_of_calls_and_cancels_between_two_loops(void **state)
{
    (void)state;
    for (int sockets = 0; sockets < 2; sockets++)
        EACH_ERA(i)
    on_threads(eras[i], sockets, -1);
}

static void
B22_M26_either_end_goes_in_the_middle_of_it(void **state)
{
    (void)state;
    for (int sockets = 0; sockets < 2; sockets++)
        for (int leaver = 0; leaver < 2; leaver++)
            on_threads(MCPI_ERA_MODERN, sockets, leaver);
}

/* ---- making ---------------------------------------------------------------- */

static bool
blocks(int fd)
{
    return (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
}

static void
open_flow(struct test_mem *mem, void *user)
{
    struct world_options opt = {.link = &world_stream, .mem = mem};
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
    (void)state;
    assert_true(test_each_allocation_fails(open_flow, NULL) > 8);
}

static void
after_a_failure_the_descriptors_are_still_the_callers(void **state)
{
    struct mcpi_stream_options so = {0};
    struct mcpi_stream *stream;
    int ends[2], other[2];
    struct rig r;

    (void)state;
    rig_open_pipes(&r);
    pipe_open(ends);
    socket_pair(other);
    close(ends[1]);
    so.loop = r.loop;
    so.engine = r.engine;
    so.take_in = ends[0];
    so.take_out = ends[1]; /* not open */
    assert_int_equal(mcpi_stream_new(&so, &stream), MCP_E_INVAL);
    assert_true(fcntl(ends[0], F_GETFD) >= 0 && blocks(ends[0]));
    so.take_in = other[0];
    so.take_out = -1;
    assert_int_equal(mcpi_stream_new(&so, &stream), MCP_E_INVAL);
    assert_true(fcntl(other[0], F_GETFD) >= 0 && blocks(other[0]));
    assert_int_equal(r.engine->counts.peers, 1);
    close(ends[0]);
    close(other[0]);
    close(other[1]);
    rig_close(&r);
}

static void
a_descriptor_is_served_once_on_a_loop(void **state)
{
    struct mcpi_stream_options so = {0};
    struct mcpi_stream *first, *second;
    int ends[2];
    struct rig r;

    (void)state;
    rig_open_pipes(&r);
    socket_pair(ends);
    so.loop = r.loop;
    so.engine = r.engine;
    so.take_in = so.take_out = ends[0];
    assert_int_equal(mcpi_stream_new(&so, &first), 0);
    assert_int_equal(mcpi_stream_new(&so, &second), MCP_E_INVAL);
    mcpi_stream_free(first);
    mcpi_stream_free(NULL);
    close(ends[1]);
    rig_close(&r);
}

int
main(void)
{
    static const struct test_case own[] = {
#define OWN(function) {"stream." #function, function, NULL}
        OWN(C1_C3_a_legacy_abandon_is_one_line_with_the_id_verbatim),
        OWN(C2_C3_so_is_a_modern_one_and_that_of_a_listen),
        OWN(C4_a_modern_client_writes_no_answer_whatever_arrives),
        OWN(C5_nothing_more_is_said_about_what_was_canceled),
        OWN(C6_a_frame_is_applied_though_every_handler_is_busy),
        OWN(C7_input_is_read_though_the_output_is_backed_up),
        OWN(C7_who_does_not_read_is_given_up_and_its_memory_with_it),
        OWN(C8_F17_frames_before_the_first_request_decide_nothing),
        OWN(C9_a_modern_first_request_that_is_canceled_leaves_no_trace),
        OWN(C10_initialize_may_follow_a_probe_at_once_canceled_or_not),
        OWN(C11_a_bad_line_and_one_too_long_lose_nothing_else),
        OWN(C11_half_a_line_at_the_end_is_reported),
        OWN(C12_a_write_that_fails_though_the_peer_lives_wakes_all),
        OWN(B25_M21_a_dead_pipe_is_a_closed_call_and_no_signal),
        OWN(what_was_said_before_the_end_is_read_though_nothing_can_be_written),
        OWN(B7_what_finds_no_room_is_withdrawn_without_a_trace),
        OWN(B7_B8_what_waits_behind_a_half_written_message_is_too),
        OWN(B10_B24_who_waits_for_a_half_written_cancel_hears_that_the_link_is_lost),
        OWN(all_that_waits_leaves_in_one_write),
        OWN(F10_a_result_that_came_home_before_the_frame_was_read_wins),
        OWN(what_came_home_may_free_the_stream_that_is_reading),
        OWN(without_memory_to_read_with_it_closes),
        OWN(F30_what_is_read_as_it_is_closed_is_not_dispatched),
        OWN(M16_F28_after_eof_what_runs_is_finished_written_and_the_stream_closed),
        OWN(M25_F30_it_closes_though_nothing_comes_and_reads_no_more),
        OWN(F30_F31_it_closes_within_the_bound_though_nobody_reads),
        OWN(its_owner_may_free_it_when_it_is_told),
        OWN(it_may_be_freed_with_half_a_message_written),
        OWN(M5_one_who_is_gone_is_read_to_the_end_though_others_hold_the_pipe),
        OWN(M8_the_input_can_be_taken_over_after_the_close),
        OWN(an_input_that_is_taken_while_the_output_is_open_is_shared),
        OWN(one_that_floods_does_not_keep_the_others_waiting),
        OWN(B33_thousands_of_calls_and_cancels_between_two_loops),
        OWN(B22_M26_either_end_goes_in_the_middle_of_it),
        OWN(each_allocation_may_fail),
        OWN(after_a_failure_the_descriptors_are_still_the_callers),
        OWN(a_descriptor_is_served_once_on_a_loop),
    };

    return session_suite_main(__FILE__, &world_stream, own,
                              sizeof(own) / sizeof(own[0]));
}
