/* child_test.c - a child on a loop, and the ladder that brings it to its end */
#include "run/child.h"

#include <sys/ioctl.h>
#include <sys/resource.h>

#include "run/process_fixture.h"

#define SHORT 1000 /* of a step that shall end without success */
#define DEFAULT 2000000
#define LONG INT64_C(3600000000) /* of a step that shall not end by its time */

/* How far up the ladder has to go. */
static const struct mcpi_child_times to_exit = {LONG, LONG, LONG};
static const struct mcpi_child_times to_term = {SHORT, LONG, LONG};
static const struct mcpi_child_times to_kill = {SHORT, SHORT, LONG};
static const struct mcpi_child_times to_nothing = {2000, 2000, 2000};

struct world {
    struct test_mem mem;
    struct mcpi_loop *loop;
    struct mcpi_child *child;
    struct report report;
    int in, out;
    int exits; /* calls of exited */
    int status;
    int dones;
    int last_status; /* what the last one said */
    int warnings;
    char warning[200];
    int descriptors;                      /* before anything was made */
    int64_t now;                          /* if the test holds the clock */
    void (*on_exit)(struct world *world); /* more to do then */
};

static void
world_log(void *user, enum mcp_log_level level, const char *line)
{
    struct world *world = user;

    if (level == MCP_LOG_WARNING)
        world->warnings++;
    snprintf(world->warning, sizeof world->warning, "%s", line);
}

static void
world_exited(void *user, int wait_status)
{
    struct world *world = user;

    world->exits++;
    world->status = wait_status;
    if (world->on_exit)
        world->on_exit(world);
}

static void
world_done(void *user, int wait_status)
{
    struct world *world = user;

    world->last_status = wait_status;
    world->dones++;
}

static void
world_make(struct world *world)
{
    struct mcpi_log log = {.fn = world_log, .user = world, .level = MCP_LOG_WARNING};

    memset(world, 0, sizeof *world);
    kill_reset();
    world->descriptors = count_descriptors();
    test_mem_init(&world->mem);
    assert_int_equal(mcpi_loop_new(&world->mem.allocator, &log, &world->loop), 0);
}

static int64_t
world_now(void *user)
{
    return ((const struct world *)user)->now;
}

/* Its time goes on when the test says so. */
static void
world_hold_clock(struct world *world)
{
    world->now = mcpi_loop_clock();
    mcpi_loop_set_clock(world->loop, world_now, world);
}

static struct mcpi_child_options
world_options(struct world *world, const char *const *argv,
              const struct mcpi_child_times *times)
{
    return (struct mcpi_child_options){
        .loop = world->loop,
        .process = {.argv = argv, .err = world->report.end, .own_err = true},
        .times = *times,
        .exited = world_exited,
        .user = world};
}

static void
world_start(struct world *world, const char *const *argv,
            const struct mcpi_child_times *times)
{
    struct mcpi_child_options opt;
    mcp_error err;

    world_make(world);
    world->report = report_open();
    opt = world_options(world, argv, times);
    if (mcpi_child_new(&opt, &world->child, &world->in, &world->out, &err) < 0)
        fail_msg("%s", err.message);
    report_given(&world->report);
    assert_int_equal(world->exits, 0);
}

/* Turns of the loop until it is so. */
static void
world_run_until(struct world *world, const int *flag)
{
    struct pollfd watched = {.fd = mcpi_loop_fd(world->loop), .events = POLLIN};
    int64_t until = mcpi_loop_clock() + AWAIT_US;
    int wait;

    while (*flag == 0) {
        assert_int_equal(mcpi_loop_step(world->loop), 0);
        if (*flag != 0)
            return;
        assert_true(mcpi_loop_clock() < until);
        wait = mcpi_loop_timeout_ms(world->loop);
        poll(&watched, 1, wait < 0 || wait > 1000 ? 1000 : wait);
    }
}

/* stdin is closed and the ladder begun, with the reading end handed over. */
static void
world_close(struct world *world)
{
    close(world->in);
    mcpi_child_close(world->child, world->out, world_done, world);
    assert_int_equal(world->dones, 0);
}

/* After done nothing of it is left: no descriptor, no zombie, no timer. */
static void
world_end(struct world *world)
{
    close(world->report.fd);
    assert_true(mcpi_timers_next(mcpi_loop_timers(world->loop)) == MCPI_NEVER);
    mcpi_loop_free(world->loop);
    assert_int_equal(count_descriptors(), world->descriptors);
    assert_false(has_children());
    test_mem_done(&world->mem);
}

/* Closes, and expects the end and these words before it. */
static void
world_close_and_end(struct world *world, const char *words)
{
    world_close(world);
    world_run_until(world, &world->dones);
    assert_string_equal(report_rest(&world->report), words);
    world->report = report_open(); /* for world_end */
    report_given(&world->report);
    assert_int_equal(world->dones, 1);
    world_end(world);
}

/* ---- the ladder ---------------------------------------------------------------- */

static void
M7_one_that_exits_at_the_end_of_input_is_never_signaled(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("catch:15", "eof", "say:bye", "exit:0"), &to_exit);
    world_close_and_end(&world, "bye\n");
    assert_int_equal(kill_count, 0);
    assert_int_equal(world.warnings, 0);
    assert_int_equal(world.exits, 0);
    assert_true(WIFEXITED(world.last_status));
    assert_int_equal(WEXITSTATUS(world.last_status), 0);
}

static void
M1_then_comes_SIGTERM(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("catch:15", "say:up", "eof", "hang"), &to_term);
    assert_string_equal(report_line(&world.report), "up");
    world_close_and_end(&world, "term\n");
    assert_int_equal(kill_count, 1);
    assert_int_equal(world.warnings, 0);
}

static void
M1_then_comes_SIGKILL(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("ignore:15", "say:up", "hang"), &to_kill);
    assert_string_equal(report_line(&world.report), "up");
    world_close_and_end(&world, "");
    assert_true(WIFSIGNALED(world.last_status));
    assert_int_equal(WTERMSIG(world.last_status), SIGKILL);
    assert_int_equal(kill_count, 2);
    assert_int_equal(world.warnings, 0);
}

static void
M1_then_it_is_given_up_with_a_warning(void **state)
{
    struct world world;
    pid_t pid;

    (void)state;
    world_start(&world, HELPER("say:up", "hang"), &to_nothing);
    assert_string_equal(report_line(&world.report), "up");
    pid = mcpi_child_pid(world.child);
    kill_mode = KILL_SWALLOW;
    world_close(&world);
    world_run_until(&world, &world.dones);
    assert_int_equal(world.warnings, 1);
    assert_int_equal(world.last_status, MCPI_WAIT_UNKNOWN);
    assert_non_null(strstr(world.warning, "given up"));
    assert_true(kill_count >= 2);
    assert_true(report_is_held(&world.report));
    kill_reset();
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    world_end(&world);
}

static void
M1_the_default_of_a_step_is_two_seconds(void **state)
{
    static const struct mcpi_child_times defaults = {0, 0, LONG};
    struct world world;

    (void)state;
    world_start(&world, HELPER("ignore:15", "say:up", "hang"), &defaults);
    world_hold_clock(&world);
    assert_string_equal(report_line(&world.report), "up");
    world_close(&world);
    for (int signals = 0; signals < 2; signals++) {
        assert_int_equal(mcpi_loop_step(world.loop), 0);
        world.now += DEFAULT - 1;
        assert_int_equal(mcpi_loop_step(world.loop), 0);
        assert_int_equal(kill_count, signals);
        world.now += 1;
        assert_int_equal(mcpi_loop_step(world.loop), 0);
        assert_int_equal(kill_count, signals + 1);
    }
    world_run_until(&world, &world.dones);
    assert_string_equal(report_rest(&world.report), "");
    world.report = report_open(); /* for world_end */
    report_given(&world.report);
    world_end(&world);
}

static void
M9_not_being_allowed_is_no_reason_to_stop(void **state)
{
    struct world world;
    pid_t pid;

    (void)state;
    world_start(&world, HELPER("say:up", "hang"), &to_nothing);
    assert_string_equal(report_line(&world.report), "up");
    pid = mcpi_child_pid(world.child);
    kill_mode = KILL_REFUSE;
    world_close(&world);
    world_run_until(&world, &world.dones);
    assert_true(kill_count >= 2); /* it was tried with both */
    assert_int_equal(world.warnings, 1);
    kill_reset();
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    world_end(&world);
}

/* Runs in the same turn as the end of the grace, and before it: lets the child exit. */
struct nick_of_time {
    struct mcpi_timer timer;
    struct world *world;
};

static void
nick_fire(struct mcpi_timer *timer, int64_t now)
{
    struct nick_of_time *nick = MCPI_CONTAINER(timer, struct nick_of_time, timer);

    (void)now;
    close(nick->world->in);
    await_exit(mcpi_child_pid(nick->world->child));
}

static void
M6_one_that_exits_as_the_grace_ends_is_not_signaled(void **state)
{
    static const struct mcpi_child_times times = {SHORT, LONG, LONG};
    struct nick_of_time nick;
    struct world world;

    (void)state;
    world_start(&world, HELPER("catch:15", "eof", "say:bye", "exit:0"), &times);
    world_hold_clock(&world);
    nick.world = &world;
    mcpi_timer_init(&nick.timer, nick_fire);
    mcpi_child_close(world.child, world.out, world_done, &world);
    assert_int_equal(mcpi_loop_step(world.loop), 0); /* the first look */
    mcpi_timer_arm(mcpi_loop_timers(world.loop), &nick.timer, world.now + 1);
    world.now += times.exit;
    world_run_until(&world, &world.dones);
    assert_string_equal(report_rest(&world.report), "bye\n");
    assert_int_equal(kill_count, 0);
    world.report = report_open();
    report_given(&world.report);
    world_end(&world);
}

static void
M4_grandchildren_go_too_when_the_leader_is_dead(void **state)
{
    struct world world;

    (void)state;
    world_start(
        &world,
        HELPER("{", "catch:15", "say:in", "hang", "}", "eof", "say:bye", "exit:0"),
        &to_term);
    assert_string_equal(report_line(&world.report), "in");
    close(world.in);
    assert_string_equal(report_line(&world.report), "bye");
    await_exit(mcpi_child_pid(world.child));
    world.in = open("/dev/null", O_RDONLY | O_CLOEXEC); /* to be closed once more */
    world_close_and_end(&world, "term\n");
    assert_int_equal(kill_count, 1);
}

static void
M4_grandchildren_that_ignore_SIGTERM_are_killed(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("{", "ignore:15", "say:in", "hang", "}", "exit:0"),
                &to_kill);
    assert_string_equal(report_line(&world.report), "in");
    world_close_and_end(&world, "");
    assert_int_equal(kill_count, 2);
    assert_int_equal(world.warnings, 0);
}

static void
M4_grandchildren_that_go_in_time_are_left_alone(void **state)
{
    struct world world;

    (void)state;
    world_start(&world,
                HELPER("{", "say:in", "eof", "say:last", "}", "say:first", "exit:0"),
                &to_exit);
    (void)report_line(&world.report);
    (void)report_line(&world.report);
    world_close_and_end(&world, "last\n");
    assert_int_equal(kill_count, 0);
}

static void
M8_its_output_is_drained_so_that_it_can_exit(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("write:3000000", "say:bye", "exit:0"), &to_exit);
    world_close_and_end(&world, "bye\n");
    assert_int_equal(kill_count, 0);
}

static void
M8_one_that_never_stops_writing_does_not_hold_the_loop(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("say:up", "write:2000000000", "hang"), &to_term);
    assert_string_equal(report_line(&world.report), "up");
    world_close_and_end(&world, "");
    assert_int_equal(kill_count, 1);
}

static void
M8_a_turn_of_the_loop_reads_only_so_much(void **state)
{
    struct world world;
    int left = 0;

    (void)state;
    world_start(&world, HELPER("byte", "write:1000000", "say:full", "eof"), &to_exit);
    if (fcntl(world.out, F_SETPIPE_SZ, 1 << 20) < 0)
        test_skip("no large pipes");
    assert_int_equal(write(world.in, "x", 1), 1);
    assert_string_equal(report_line(&world.report), "full");
    mcpi_child_close(world.child, world.out, world_done, &world);
    assert_int_equal(mcpi_loop_step(world.loop), 0);
    assert_int_equal(ioctl(world.out, FIONREAD, &left), 0);
    assert_in_range(left, 1, 999999);
    close(world.in);
    world_run_until(&world, &world.dones);
    world_end(&world);
}

/* What has ended stays readable: the loop must not turn for it. */
static void
assert_sleeps(struct world *world)
{
    struct pollfd watched = {.fd = mcpi_loop_fd(world->loop), .events = POLLIN};

    for (int i = 0; i < 3; i++)
        assert_int_equal(mcpi_loop_step(world->loop), 0);
    assert_int_equal(poll(&watched, 1, 0), 0);
}

static void
M8_the_end_of_its_output_does_not_keep_the_loop_awake(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("close:1", "say:closed", "eof"), &to_exit);
    assert_string_equal(report_line(&world.report), "closed");
    mcpi_child_close(world.child, world.out, world_done, &world);
    assert_sleeps(&world);
    close(world.in);
    world_run_until(&world, &world.dones);
    world_end(&world);
}

static void
M8_output_that_cannot_be_watched_is_closed(void **state)
{
    struct world world;
    uv_poll_t other;

    (void)state;
    world_start(&world, HELPER("ignore:13", "eof", "write:3000000", "exit:0"),
                &to_exit);
    assert_int_equal(uv_poll_init(mcpi_loop_uv(world.loop), &other, world.out), 0);
    /* still watched by another, which is against the rules */
    assert_int_equal(uv_poll_start(&other, UV_DISCONNECT, (uv_poll_cb)abort), 0);
    close(world.in);
    mcpi_child_close(world.child, world.out, world_done, &world);
    assert_int_equal(fcntl(world.out, F_GETFD), -1);
    uv_close((uv_handle_t *)&other, NULL);
    world_run_until(&world, &world.dones);
    assert_int_equal(kill_count, 0);
    world_end(&world);
}

static void
M5_it_has_exited_though_a_grandchild_holds_its_pipes(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("{", "say:in", "hang", "}", "exit:6"), &to_term);
    world_run_until(&world, &world.exits);
    assert_int_equal(WEXITSTATUS(world.status), 6);
    assert_sleeps(&world);
    assert_string_equal(report_line(&world.report), "in");
    assert_true(report_is_held(&world.report));
    world_close_and_end(&world, "");
    assert_int_equal(world.exits, 1);
}

static void
M5_a_ladder_does_not_wait_for_the_end_of_its_output(void **state)
{
    struct world world;
    long stranger;

    (void)state;
    world_start(&world, HELPER("{", "session", "ids", "hang", "}", "exit:0"), &to_exit);
    stranger = strtol(report_line(&world.report), NULL, 10);
    world_close(&world);
    world_run_until(&world, &world.dones);
    assert_true(report_is_held(&world.report)); /* who has left the group has left us */
    assert_int_equal(kill_count, 0);
    assert_true(stranger > 1);
    syscall(SYS_kill, stranger, SIGKILL);
    world_end(&world);
}

/* ---- at any moment ------------------------------------------------------------- */

static void
it_can_be_closed_right_after_it_was_made(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("eof", "exit:0"), &to_exit);
    world_close_and_end(&world, "");
    assert_int_equal(kill_count, 0);
}

static void
it_can_be_closed_when_it_is_dead(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("exit:0"), &to_exit);
    world_run_until(&world, &world.exits);
    world_close_and_end(&world, "");
    assert_int_equal(kill_count, 0);

    world_start(&world, HELPER("exit:0"), &to_exit); /* dead, and nobody knows yet */
    await_exit(mcpi_child_pid(world.child));
    world_close_and_end(&world, "");
    assert_int_equal(kill_count, 0);
    assert_int_equal(world.exits, 0);
}

static void
close_at_once(struct world *world)
{
    world_close(world);
}

static void
it_can_be_closed_when_its_exit_is_told(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("exit:3"), &to_exit);
    world.on_exit = close_at_once;
    world_run_until(&world, &world.dones);
    assert_int_equal(world.exits, 1);
    assert_int_equal(WEXITSTATUS(world.status), 3);
    world_end(&world);
}

static void
kill_at_once(struct world *world)
{
    mcpi_child_kill(world->child);
    close(world->in);
    close(world->out);
}

static void
it_can_be_killed_when_its_exit_is_told(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("raise:9"), &to_exit);
    world.on_exit = kill_at_once;
    world_run_until(&world, &world.exits);
    assert_int_equal(WTERMSIG(world.status), SIGKILL);
    assert_int_equal(mcpi_loop_step(world.loop), 0);
    assert_int_equal(world.exits, 1);
    assert_int_equal(kill_count, 0);
    world_end(&world);
}

static void
it_can_be_closed_without_output(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("eof", "exit:0"), &to_exit);
    close(world.in);
    close(world.out);
    mcpi_child_close(world.child, -1, world_done, &world);
    world_run_until(&world, &world.dones);
    world_end(&world);
}

static void
M4_killing_needs_no_ladder(void **state)
{
    struct world world;

    (void)state;
    world_start(&world, HELPER("ignore:15", "{", "say:in", "hang", "}", "hang"),
                &to_exit);
    assert_string_equal(report_line(&world.report), "in");
    mcpi_child_kill(world.child);
    assert_false(has_children()); /* at once */
    close(world.in);
    close(world.out);
    assert_string_equal(report_rest(&world.report), "");
    world.report = report_open();
    report_given(&world.report);
    world_end(&world); /* the loop's last turn takes its memory */
    assert_int_equal(world.exits, 0);
    mcpi_child_kill(NULL);
}

static void
M1_killing_is_given_up_with_a_warning_too(void **state)
{
    struct world world;
    pid_t pid;

    (void)state;
    world_start(&world, HELPER("hang"), &to_nothing);
    pid = mcpi_child_pid(world.child);
    kill_mode = KILL_SWALLOW;
    mcpi_child_kill(world.child);
    assert_int_equal(world.warnings, 1);
    kill_reset();
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(world.in);
    close(world.out);
    world_end(&world);
}

/* ---- making it ----------------------------------------------------------------- */

static void
its_pipes_carry_bytes_and_only_our_ends_do_not_block(void **state)
{
    struct pollfd watched = {.events = POLLIN};
    struct world world;
    char bytes[4];

    (void)state;
    world_start(&world, HELPER("blocking", "byte", "write:2", "eof"), &to_exit);
    assert_string_equal(report_line(&world.report), "11");
    assert_true(fcntl(world.in, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(world.out, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(world.in, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(world.out, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(world.in, "x", 1), 1);
    watched.fd = world.out;
    assert_int_equal(poll(&watched, 1, AWAIT_MS), 1);
    assert_int_equal(read(world.out, bytes, sizeof bytes), 2);
    world_close_and_end(&world, "");
}

#define CROWD 5

/* M13: the second does not hold the pipes of the first, so that closing them is
 * seen. */
static void
M13_M11_children_are_strangers_to_each_other(void **state)
{
    struct mcpi_child *children[CROWD];
    struct mcpi_child_options opt;
    int in[CROWD], out[CROWD];
    struct world world;

    (void)state;
    world_make(&world);
    world.report = report_open();
    opt = world_options(&world, HELPER("descriptors", "eof"), &to_exit);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(mcpi_child_new(&opt, &children[i], &in[i], &out[i], NULL), 0);
    report_given(&world.report);
    for (int i = 0; i < CROWD; i++)
        assert_string_equal(report_line(&world.report), "0 1 2");
    for (int i = 0; i < CROWD; i++) { /* one after the other, from the first */
        world.dones = 0;
        close(in[i]);
        mcpi_child_close(children[i], out[i], world_done, &world);
        world_run_until(&world, &world.dones);
    }
    assert_int_equal(kill_count, 0);
    world_end(&world);
}

static void
M11_all_may_be_closed_at_once(void **state)
{
    struct mcpi_child *children[CROWD];
    struct mcpi_child_options opt;
    int in[CROWD], out[CROWD];
    struct world world;
    int all = 0;

    (void)state;
    world_make(&world);
    world.report = report_open();
    opt = world_options(&world, HELPER("{", "eof", "}", "eof"), &to_exit);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(mcpi_child_new(&opt, &children[i], &in[i], &out[i], NULL), 0);
    report_given(&world.report);
    for (int i = CROWD - 1; i >= 0; i--) {
        close(in[i]);
        mcpi_child_close(children[i], out[i], world_done, &world);
    }
    while (world.dones < CROWD) {
        all = world.dones;
        world.dones = 0;
        world_run_until(&world, &world.dones);
        world.dones += all;
    }
    assert_int_equal(kill_count, 0);
    world_end(&world);
}

static void
M11_one_that_cannot_be_started_leaves_nothing(void **state)
{
    static const char *const argv[] = {"/proc/none", NULL};
    struct mcpi_child_options opt;
    struct mcpi_child *child = NULL;
    struct world world;
    int in = -5, out = -5;
    mcp_error err;

    (void)state;
    world_make(&world);
    world.report = report_open();
    opt = world_options(&world, argv, &to_exit);
    assert_int_equal(mcpi_child_new(&opt, &child, &in, &out, &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, "/proc/none"));
    assert_true(!child && in == -5 && out == -5);
    report_given(&world.report);
    assert_int_equal(mcpi_loop_step(world.loop), 0);
    assert_int_equal(world.exits, 0);
    world_end(&world);
}

/* True if it could be started; all of it is gone afterwards. */
static bool
start_with_limit(struct world *world, const struct mcpi_child_options *opt,
                 rlim_t limit)
{
    struct rlimit before, low;
    struct mcpi_child *child;
    int in, out, r;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    r = mcpi_child_new(opt, &child, &in, &out, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (r < 0) {
        assert_int_equal(r, MCP_E_LIMIT);
        return false;
    }
    mcpi_child_kill(child);
    close(in);
    close(out);
    assert_int_equal(mcpi_loop_step(world->loop), 0);
    return true;
}

static void
M11_without_descriptors_nothing_is_left(void **state)
{
    static const char *const argv[] = {"/bin/cat", NULL};
    struct mcpi_child_options opt;
    struct world world;
    int before, failures = 0;
    rlim_t limit = 0;

    (void)state;
    world_make(&world);
    world.report = report_open();
    opt = world_options(&world, argv, &to_exit);
    before = count_descriptors();
    for (; limit < 1000 && !start_with_limit(&world, &opt, limit); limit++) {
        assert_int_equal(count_descriptors(), before);
        assert_false(has_children());
        failures++;
    }
    assert_true(limit < 1000 && failures >= 6);
    report_given(&world.report);
    world_end(&world);
}

static void
make_and_kill(struct test_mem *mem, void *user)
{
    static const char *const argv[] = {"cat", NULL};
    struct mcpi_child_options opt = {.process = {.argv = argv}};
    struct mcpi_child *child;
    mcp_error err;
    int in, out, r;

    (void)user;
    r = mcpi_loop_new(&mem->allocator, NULL, &opt.loop);
    if (r == 0) {
        r = mcpi_child_new(&opt, &child, &in, &out, &err);
        if (r == 0) {
            mcpi_child_kill(child);
            close(in);
            close(out);
        }
        mcpi_loop_free(opt.loop);
    }
    assert_int_equal(r, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    assert_false(has_children());
}

static void
M11_each_allocation_may_fail(void **state)
{
    int before = count_descriptors();

    (void)state;
    assert_in_range(test_each_allocation_fails(make_and_kill, NULL), 4, 20);
    assert_int_equal(count_descriptors(), before);
}

/* ---- the program around us ----------------------------------------------------- */

static void
host_wait_for_all(int signal)
{
    int error = errno;

    (void)signal;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    errno = error;
}

static void
run_with_host(void)
{
    struct world world;

    world_start(&world, HELPER("exit:0"), &to_exit);
    await_no_children();                   /* the host was faster */
    world_run_until(&world, &world.exits); /* also if it was over at once */
    assert_int_equal(world.status, MCPI_WAIT_UNKNOWN);
    world_close_and_end(&world, "");
    assert_int_equal(kill_count, 0);

    world_start(&world, HELPER("eof", "say:bye"), &to_exit);
    world_close_and_end(&world, "bye\n");
    assert_int_equal(kill_count, 0);

    world_start(&world, HELPER("{", "ignore:15", "say:in", "hang", "}", "eof"),
                &to_kill);
    assert_string_equal(report_line(&world.report), "in");
    world_close_and_end(&world, "");
    assert_int_equal(world.warnings, 0);

    world_start(&world, HELPER("ignore:15", "say:up", "hang"), &to_kill);
    assert_string_equal(report_line(&world.report), "up");
    world_close_and_end(&world, "");
    assert_int_equal(world.warnings, 0);
}

static void
M11_a_host_that_ignores_SIGCHLD(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    run_with_host();
    signal(SIGCHLD, SIG_DFL);
}

static void
M11_a_host_that_waits_for_every_child(void **state)
{
    struct sigaction all = {.sa_handler = host_wait_for_all, .sa_flags = SA_RESTART};

    (void)state;
    assert_int_equal(sigaction(SIGCHLD, &all, NULL), 0);
    run_with_host();
    signal(SIGCHLD, SIG_DFL);
}

static void
M11_a_host_keeps_its_own_children(void **state)
{
    struct world world;
    pid_t other = fork();
    int status;

    (void)state;
    assert_true(other >= 0);
    if (other == 0)
        _exit(9);
    world_start(&world, HELPER("eof", "exit:0"), &to_exit);
    await_exit(other);
    world_close(&world);
    world_run_until(&world, &world.dones);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(WEXITSTATUS(status), 9);
    world_end(&world);
}

PROCESS_TEST_MAIN(
    TEST(M7_one_that_exits_at_the_end_of_input_is_never_signaled),
    TEST(M1_then_comes_SIGTERM), TEST(M1_then_comes_SIGKILL),
    TEST(M1_then_it_is_given_up_with_a_warning),
    TEST(M1_the_default_of_a_step_is_two_seconds),
    TEST(M9_not_being_allowed_is_no_reason_to_stop),
    TEST(M6_one_that_exits_as_the_grace_ends_is_not_signaled),
    TEST(M4_grandchildren_go_too_when_the_leader_is_dead),
    TEST(M4_grandchildren_that_ignore_SIGTERM_are_killed),
    TEST(M4_grandchildren_that_go_in_time_are_left_alone),
    TEST(M8_its_output_is_drained_so_that_it_can_exit),
    TEST(M8_one_that_never_stops_writing_does_not_hold_the_loop),
    TEST(M8_a_turn_of_the_loop_reads_only_so_much),
    TEST(M8_the_end_of_its_output_does_not_keep_the_loop_awake),
    TEST(M8_output_that_cannot_be_watched_is_closed),
    TEST(M5_it_has_exited_though_a_grandchild_holds_its_pipes),
    TEST(M5_a_ladder_does_not_wait_for_the_end_of_its_output),
    TEST(it_can_be_closed_right_after_it_was_made),
    TEST(it_can_be_closed_when_it_is_dead),
    TEST(it_can_be_closed_when_its_exit_is_told),
    TEST(it_can_be_killed_when_its_exit_is_told), TEST(it_can_be_closed_without_output),
    TEST(M4_killing_needs_no_ladder), TEST(M1_killing_is_given_up_with_a_warning_too),
    TEST(its_pipes_carry_bytes_and_only_our_ends_do_not_block),
    TEST(M13_M11_children_are_strangers_to_each_other),
    TEST(M11_all_may_be_closed_at_once),
    TEST(M11_one_that_cannot_be_started_leaves_nothing),
    TEST(M11_without_descriptors_nothing_is_left), TEST(M11_each_allocation_may_fail),
    TEST(M11_a_host_that_ignores_SIGCHLD), TEST(M11_a_host_that_waits_for_every_child),
    TEST(M11_a_host_keeps_its_own_children))
