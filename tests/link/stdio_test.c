/* stdio_test.c - stdin and stdout, made private */
#include "link/stdio.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/streams.h"

/*
 * What each case does happens in a process of its own, whose stdin and stdout are pipes
 * of ours and whose stderr is one more. It says how many of its steps came true.
 */
struct stage {
    int in;  /* written to by the test */
    int out; /* read from */
    int err; /* read from */
    pid_t pid;
};

static void
stage_open(struct stage *s, int (*play)(void), bool with_stderr)
{
    int in[2], out[2], err[2];

    pipe_open(in);
    pipe_open(out);
    pipe_open(err);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        close(in[1]); /* or its input would not end */
        dup2(in[0], 0);
        dup2(out[1], 1);
        if (with_stderr)
            dup2(err[1], 2);
        else
            close(2);
        _exit(play());
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    *s = (struct stage){in[1], out[0], err[0], s->pid};
}

/* Its exit status; what it wrote to stdout and to stderr. */
static int
stage_close(struct stage *s, char out[256], char err[256])
{
    int status = -1;
    ssize_t n;

    close(s->in);
    n = read(s->out, out, 255); /* short enough to come in one piece */
    out[n > 0 ? n : 0] = '\0';
    n = read(s->err, err, 255);
    err[n > 0 ? n : 0] = '\0';
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    close(s->out);
    close(s->err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool
is_null(int fd)
{
    struct stat st, null;

    return fstat(fd, &st) == 0 && stat("/dev/null", &null) == 0 &&
           st.st_rdev == null.st_rdev && S_ISCHR(st.st_mode);
}

static bool
is_same(int a, int b)
{
    struct stat x, y;

    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino &&
           x.st_dev == y.st_dev;
}

/* The step that fails is the exit status. */
#define STEP(number, condition) \
    do {                        \
        if (!(condition))       \
            return number;      \
    } while (0)

/* ---- M19 ------------------------------------------------------------------- */

static int
play_private(void)
{
    int in, out;
    char bytes[16] = "";

    STEP(1, mcpi_stdio_take(&in, &out, NULL) == 0);
    STEP(2, in > 2 && out > 2 && in != out);
    STEP(3, fcntl(in, F_GETFD) == FD_CLOEXEC && fcntl(out, F_GETFD) == FD_CLOEXEC);
    STEP(4, is_null(0) && is_same(1, 2));
    STEP(5, fcntl(0, F_GETFD) == 0 && fcntl(1, F_GETFD) == 0);
    printf("printed\n"); /* by a handler, and by a child of its */
    fflush(stdout);
    STEP(6, system("echo child; cat") == 0);
    STEP(7, read(in, bytes, sizeof(bytes)) == 5 && memcmp(bytes, "wire\n", 5) == 0);
    STEP(8, write(out, "answer\n", 7) == 7);
    return 0;
}

static void
M19_what_handlers_and_their_children_see_is_not_the_wire(void **state)
{
    char out[256], err[256];
    struct stage s;

    (void)state;
    stage_open(&s, play_private, true);
    assert_int_equal(write(s.in, "wire\n", 5), 5);
    assert_int_equal(stage_close(&s, out, err), 0);
    assert_string_equal(out, "answer\n");
    assert_non_null(strstr(err, "printed\n"));
}

static int
play_without_stderr(void)
{
    int in, out;

    STEP(1, mcpi_stdio_take(&in, &out, NULL) == 0);
    STEP(2, in > 2 && out > 2);
    STEP(3, is_null(0) && is_null(1));
    STEP(4, fcntl(2, F_GETFD) == -1); /* it stays as it was */
    STEP(5, write(out, "x", 1) == 1);
    return 0;
}

static void
M19_without_a_stderr_stdout_goes_nowhere(void **state)
{
    char out[256], err[256];
    struct stage s;

    (void)state;
    stage_open(&s, play_without_stderr, false);
    assert_int_equal(stage_close(&s, out, err), 0);
    assert_string_equal(out, "x");
}

static int
play_give_back(void)
{
    char bytes[16] = "";
    int in, out;

    STEP(1, mcpi_stdio_take(&in, &out, NULL) == 0);
    mcpi_stdio_give_back(in, out);
    STEP(2, fcntl(in, F_GETFD) == -1 && fcntl(out, F_GETFD) == -1);
    STEP(3, fcntl(0, F_GETFD) == 0 && fcntl(1, F_GETFD) == 0);
    STEP(4, read(0, bytes, sizeof(bytes)) == 5);
    STEP(5, write(1, "back", 4) == 4);
    return 0;
}

static void
they_can_be_given_back(void **state)
{
    char out[256], err[256];
    struct stage s;

    (void)state;
    stage_open(&s, play_give_back, true);
    assert_int_equal(write(s.in, "wire\n", 5), 5);
    assert_int_equal(stage_close(&s, out, err), 0);
    assert_string_equal(out, "back");
}

/* ---- failures -------------------------------------------------------------- */

static int
play_closed(void)
{
    mcp_error err = {0};
    int in = -1, out = -1;

    close(1);
    STEP(1, mcpi_stdio_take(&in, &out, &err) == MCP_E_INVAL);
    STEP(2, err.status == MCP_E_INVAL && strstr(err.message, "stdout"));
    STEP(3, in == -1 && out == -1 && !is_null(0));
    close(0);
    STEP(4, mcpi_stdio_take(&in, &out, &err) == MCP_E_INVAL);
    STEP(5, strstr(err.message, "stdin"));
    STEP(6, mcpi_stdio_take(&in, &out, NULL) == MCP_E_INVAL);
    return 0;
}

static int
play_wrong_way_round(void)
{
    mcp_error err = {0};
    int in = -1, out = -1, kept = dup(0);

    STEP(1, dup2(open("/dev/null", O_WRONLY), 0) == 0);
    STEP(2, mcpi_stdio_take(&in, &out, &err) == MCP_E_INVAL);
    STEP(3, strstr(err.message, "stdin") && in == -1 && out == -1);
    STEP(4, dup2(kept, 0) == 0 && dup2(open("/dev/null", O_RDONLY), 1) == 1);
    STEP(5, mcpi_stdio_take(&in, &out, &err) == MCP_E_INVAL);
    STEP(6, strstr(err.message, "stdout") && in == -1 && out == -1);
    return 0;
}

static void
one_that_is_open_the_other_way_round_is_refused(void **state)
{
    char out[256], err[256];
    struct stage s;

    (void)state;
    stage_open(&s, play_wrong_way_round, true);
    assert_int_equal(stage_close(&s, out, err), 0);
}

static void
one_that_is_not_open_is_refused(void **state)
{
    char out[256], err[256];
    struct stage s;

    (void)state;
    stage_open(&s, play_closed, true);
    assert_int_equal(stage_close(&s, out, err), 0);
}

/* Nothing has changed, however many descriptors are left. */
static int
play_crowded(void)
{
    struct rlimit limit;
    int in = -1, out = -1;

    STEP(1, close_range(3, ~0U, 0) == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (rlim_t left = 0; left < 3; left++) {
        limit.rlim_cur = 3 + left;
        STEP(2, setrlimit(RLIMIT_NOFILE, &limit) == 0);
        STEP(3, mcpi_stdio_take(&in, &out, NULL) == MCP_E_LIMIT);
        STEP(4, fcntl(3, F_GETFD) == -1 && !is_null(0) && !is_same(1, 2));
    }
    limit.rlim_cur = 6;
    STEP(5, setrlimit(RLIMIT_NOFILE, &limit) == 0);
    STEP(6, mcpi_stdio_take(&in, &out, NULL) == 0);
    return 0;
}

static void
without_descriptors_nothing_is_changed(void **state)
{
    char out[256], err[256];
    struct stage s;

    (void)state;
    stage_open(&s, play_crowded, true);
    assert_int_equal(stage_close(&s, out, err), 0);
}

/* ---- a server on them ------------------------------------------------------ */

static int
play_server(void)
{
    struct rig_options opt = {.test = {-1, -1}};
    struct pollfd fd = {.events = POLLIN};
    struct rig r;

    STEP(1, mcpi_stdio_take(&opt.server.in, &opt.server.out, NULL) == 0);
    rig_open(&r, &opt);
    fd.fd = mcpi_loop_fd(r.loop);
    do
        rig_run_deaf(&r);
    while (r.closed == 0 && poll(&fd, 1, AWAIT_MS) > 0);
    STEP(2, r.closed == 1 && r.served == 1);
    rig_close(&r);
    return 0;
}

static void
M16_M19_a_server_on_stdio_answers_and_ends_with_its_input(void **state)
{
    static const char call[] = RIG_TOOL("1", "x") "\n";
    char out[256], err[256];
    struct stage s;

    (void)state;
    stage_open(&s, play_server, true);
    assert_int_equal(write(s.in, call, sizeof(call) - 1), sizeof(call) - 1);
    assert_int_equal(stage_close(&s, out, err), 0);
    assert_non_null(strstr(out, "\"id\":1,"));
}

/* clang-format off */
#define ON_STREAM(function) { "stream." #function, function, NULL }
/* clang-format on */

TEST_MAIN(ON_STREAM(M19_what_handlers_and_their_children_see_is_not_the_wire),
          ON_STREAM(M19_without_a_stderr_stdout_goes_nowhere),
          ON_STREAM(M16_M19_a_server_on_stdio_answers_and_ends_with_its_input),
          TEST(they_can_be_given_back), TEST(one_that_is_not_open_is_refused),
          TEST(one_that_is_open_the_other_way_round_is_refused),
          TEST(without_descriptors_nothing_is_changed))
