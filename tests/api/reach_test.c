/* reach_test.c - how a server is reached: what the caller gave is copied, and used */
#include "api/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/script.h"
#include "support/shell.h"
#include "support/test.h"

static void
a_command_is_copied_whole(void **state)
{
    char program[] = "program", argument[] = "-x", variable[] = "A=b",
         folder[] = "/tmp";
    const char *argv[] = {program, argument, NULL};
    const char *env[] = {variable, NULL};
    struct mcpi_reach reach;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    mcpi_reach_init(&reach);
    assert_int_equal(
        mcpi_reach_command(&reach, argv,
                           &MCP_CLIENT_OPTIONS(.env = env, .cwd = folder, .exit_ms = 3,
                                               .term_ms = 4, .kill_ms = 5),
                           &mem.allocator, NULL),
        0);
    program[0] = argument[0] = variable[0] = folder[0] = '!';
    assert_string_equal(reach.command[0], "program");
    assert_string_equal(reach.command[1], "-x");
    assert_null(reach.command[2]);
    assert_string_equal(reach.env[0], "A=b");
    assert_null(reach.env[1]);
    assert_string_equal(reach.cwd, "/tmp");
    assert_int_equal(reach.times.exit, 3000);
    assert_int_equal(reach.times.term, 4000);
    assert_int_equal(reach.times.reap, 5000);
    assert_false(reach.own_err);
    mcpi_reach_done(&reach, &mem.allocator);
    test_mem_done(&mem);
}

static void
descriptors_are_copied(void **state)
{
    struct mcpi_reach reach;
    mcp_error err;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    mcpi_reach_init(&reach);
    assert_int_equal(mcpi_reach_descriptors(&reach, ends[0], ends[1], &err), 0);
    assert_true(reach.in != ends[0] && reach.out != ends[1]);
    assert_int_equal(fcntl(reach.in, F_GETFD), FD_CLOEXEC);
    mcpi_reach_done(&reach, NULL);
    assert_int_equal(mcpi_reach_descriptors(&reach, ends[0], ends[0], &err), 0);
    assert_int_equal(reach.in, reach.out);
    mcpi_reach_done(&reach, NULL);
    assert_true(fcntl(ends[0], F_GETFD) >= 0 && fcntl(ends[1], F_GETFD) >= 0);
    assert_int_equal(mcpi_reach_check(ends[0], ends[1], &err), 0);
    close(ends[0]);
    assert_int_equal(mcpi_reach_check(ends[1], ends[0], &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, "is not open"));
    assert_int_equal(mcpi_reach_check(ends[0], ends[1], &err), MCP_E_INVAL);
    close(ends[1]);
}

static void
a_stderr_that_is_not_open_is_refused(void **state)
{
    static const char *const argv[] = {"true", NULL};
    mcp_client *client;
    mcp_error err;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(mcp_client_spawn(argv,
                                      &MCP_CLIENT_OPTIONS(.name = "t", .version = "1",
                                                          .stderr_fd = ends[1]),
                                      &client, &err),
                     MCP_E_INVAL);
    assert_non_null(strstr(err.message, "is not open"));
}

/* What a spawned server wrote to its stderr, at most 64 bytes. */
static void
spawn_and_read(const char *line, mcp_client_options opt, char into[65])
{
    mcp_client *client;
    mcp_error err;
    ssize_t n;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    opt.stderr_fd = ends[1];
    if (mcp_client_spawn(SHELL(line), &opt, &client, &err) < 0)
        fail_msg("not spawned: %s", err.message);
    mcp_client_free(client);
    close(ends[1]);
    n = read(ends[0], into, 64);
    into[n > 0 ? n : 0] = '\0';
    close(ends[0]);
}

static void
a_server_gets_its_environment_and_its_folder(void **state)
{
    static const char *const env[] = {"LIBMCP_TEST=yes", NULL};
    char text[65];

    (void)state;
    spawn_and_read("echo $LIBMCP_TEST $PWD >&2; " SHELL_LISTENS,
                   SCRIPT_OPTIONS(.env = env, .cwd = "/"), text);
    assert_string_equal(text, "yes /\n");
}

static void
a_server_need_not_get_our_environment(void **state)
{
    static const char *const env[] = {"LIBMCP_TEST=yes", NULL};
    char text[65];

    (void)state;
    setenv("LIBMCP_SECRET", "secret", 1);
    setenv("LOGNAME", "me", 1);
    spawn_and_read("echo $LIBMCP_TEST $LOGNAME $LIBMCP_SECRET >&2; " SHELL_LISTENS,
                   SCRIPT_OPTIONS(.env = env, .clean_env = true), text);
    assert_string_equal(text, "yes me\n");
    spawn_and_read("echo $LIBMCP_TEST $LOGNAME $LIBMCP_SECRET >&2; " SHELL_LISTENS,
                   SCRIPT_OPTIONS(.env = env), text);
    assert_string_equal(text, "yes me secret\n");
    unsetenv("LIBMCP_SECRET");
    unsetenv("LOGNAME");
}

static void
a_quiet_server_writes_to_nobody(void **state)
{
    char text[65];

    (void)state;
    spawn_and_read("echo noise >&2; " SHELL_LISTENS, SCRIPT_OPTIONS(.quiet = true),
                   text);
    assert_string_equal(text, "");
}

static void
M13_a_server_gets_its_three_descriptors_only(void **state)
{
    int open_one = open("/dev/null", O_RDONLY); /* not close-on-exec */
    char text[65];

    (void)state;
    spawn_and_read("echo /proc/self/fd/* >&2; " SHELL_LISTENS, SCRIPT_OPTIONS(), text);
    close(open_one);
    /* the last one is the shell's own, for the folder it lists */
    text[strlen("/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2")] = '\0';
    assert_string_equal(text, "/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2");
    assert_null(strstr(text, "/proc/self/fd/4"));
}

struct counted_way {
    struct mcpi_way way;
    int frees;
};

static void
count_free(struct mcpi_way *way)
{
    MCPI_CONTAINER(way, struct counted_way, way)->frees++;
}

static void
a_way_that_was_never_opened_is_freed_once(void **state)
{
    struct counted_way counted = {.way.free = count_free};
    struct mcpi_reach reach;

    (void)state;
    mcpi_reach_init(&reach);
    reach.way = &counted.way;
    mcpi_reach_done(&reach, NULL);
    mcpi_reach_done(&reach, NULL);
    assert_int_equal(counted.frees, 1);
}

TEST_MAIN(TEST(a_command_is_copied_whole), TEST(descriptors_are_copied),
          TEST(a_way_that_was_never_opened_is_freed_once),
          TEST(a_stderr_that_is_not_open_is_refused),
          TEST(a_server_gets_its_environment_and_its_folder),
          TEST(a_server_need_not_get_our_environment),
          TEST(a_quiet_server_writes_to_nobody),
          TEST(M13_a_server_gets_its_three_descriptors_only))
