/* cli/args_file_test.c - proves cli/args_file.c: texts from files */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/args_parts.h"
#include "cli/desk.h"

/* A file without a name, of that many bytes; its path goes into path. */
static int
file_make(size_t length, char path[64])
{
    int fd = memfd_create("file", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)length), 0);
    assert_true(snprintf(path, 64, "/proc/self/fd/%d", fd) > 0);
    return fd;
}

static void
a_file_is_read_whole(void **state)
{
    struct cli_text into = {0}, why = {0};
    struct cli cli = {0};
    char path[64];
    int fd = file_make(100000, path);

    (void)state;
    assert_true(cli_args_load(&cli, path, &into, &why));
    assert_int_equal(into.length, 100000);
    cli_text_done(&into);
    cli_text_done(&why);
    close(fd);
}

static void
a_file_that_is_too_long_is_refused(void **state)
{
    struct cli_text into = {0}, why = {0};
    struct cli cli = {0};
    char path[64];
    int fd = file_make(CLI_FILE_MAX + 1, path);

    (void)state;
    assert_false(cli_args_load(&cli, path, &into, &why));
    assert_has(cli_text_string(&why), "it is longer than 16 MiB");
    cli_text_done(&into);
    cli_text_done(&why);
    close(fd);
}

static void
a_file_that_is_not_there_is_named(void **state)
{
    struct cli_text into = {0}, why = {0};
    struct cli cli = {0};

    (void)state;
    assert_false(cli_args_load(&cli, "/nowhere/x", &into, &why));
    assert_string_equal(cli_text_string(&why),
                        "cannot read \"/nowhere/x\": No such file or directory");
    cli_text_done(&why);
    assert_false(cli_args_load(&cli, "/", &into, &why));
    assert_string_equal(cli_text_string(&why), "cannot read \"/\": Is a directory");
    cli_text_done(&into);
    cli_text_done(&why);
}

static void
a_pipe_that_says_nothing_ends_with_the_scope(void **state)
{
    struct cli_text into = {0}, why = {0};
    struct cli cli = {0};
    char path[64];
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(mcp_scope_new(NULL, &cli.scope), 0);
    assert_int_equal(mcp_scope_cancel(cli.scope, NULL), 0);
    assert_true(snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]) > 0);
    assert_false(cli_args_load(&cli, path, &into, &why));
    assert_has(cli_text_string(&why), ": canceled");
    mcp_scope_free(cli.scope);
    cli_text_done(&why);
    close(fds[0]);
    close(fds[1]);
}

/* To open it must not wait either. */
static void
a_fifo_that_nobody_writes_to_ends_with_the_scope(void **state)
{
    char folder[] = "/tmp/mcpctl-fifo-XXXXXX", path[64];
    struct cli_text into = {0}, why = {0};
    struct cli cli = {0};

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_true(snprintf(path, sizeof(path), "%s/fifo", folder) > 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(mcp_scope_new(NULL, &cli.scope), 0);
    assert_int_equal(mcp_scope_cancel(cli.scope, NULL), 0);
    assert_false(cli_args_load(&cli, path, &into, &why));
    assert_has(cli_text_string(&why), ": canceled");
    mcp_scope_free(cli.scope);
    cli_text_done(&why);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

TEST_MAIN(TEST(a_file_is_read_whole), TEST(a_file_that_is_too_long_is_refused),
          TEST(a_file_that_is_not_there_is_named),
          TEST(a_pipe_that_says_nothing_ends_with_the_scope),
          TEST(a_fifo_that_nobody_writes_to_ends_with_the_scope))
