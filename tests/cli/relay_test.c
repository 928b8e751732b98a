/* relay_test.c - a spawned server's stderr, line by line among our own */
#include "cli/relay.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/program.h"

/* What reaches our stderr when the server writes this to its own. */
static char *
relayed(const char *text, size_t length, bool is_json)
{
    static char shown[65536];
    struct cli_say say;
    struct cli_relay *relay;
    int ends[2], saved = dup(STDERR_FILENO), fd = -1;
    ssize_t n;

    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    fflush(stderr);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    cli_say_init(&say, false, false, is_json);
    relay = cli_relay_new(&say, &fd);
    if (relay) {
        (void)!write(fd, text, length);
        close(fd);
    }
    cli_relay_free(relay);
    cli_say_done(&say);
    fflush(stderr);
    (void)dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    n = read(ends[0], shown, sizeof(shown) - 1);
    close(ends[0]);
    shown[n > 0 ? n : 0] = '\0';
    return shown;
}

#define RELAYED(text, is_json) relayed(text, sizeof(text) - 1, is_json)

static void
lines_come_through(void **state)
{
    (void)state;
    assert_string_equal(RELAYED("one\ntwo\n", false), "one\ntwo\n");
    assert_string_equal(RELAYED("the last has no end", false), "the last has no end\n");
}

static void
what_a_terminal_obeys_does_not(void **state)
{
    (void)state;
    assert_string_equal(RELAYED("a\x1b[2Jb\x1b]0;title\x07"
                                "c\n",
                                false),
                        "abc\n");
}

static void
with_json_a_line_is_an_object(void **state)
{
    (void)state;
    assert_string_equal(RELAYED("say \"hi\"\n", true),
                        "{\"server\":\"say \\\"hi\\\"\"}\n");
}

static void
a_very_long_line_is_shown_in_parts(void **state)
{
    size_t length = 10000;
    char *text = malloc(length);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', length);
    assert_true(strlen(relayed(text, length, false)) > length);
    free(text);
}

/* Somebody else has the server's stderr and lives on: we do not wait for that. */
static void
it_can_be_ended_while_somebody_holds_the_other_end(void **state)
{
    struct cli_say say;
    struct cli_relay *relay;
    int fd = -1;

    (void)state;
    cli_say_init(&say, false, false, false);
    relay = cli_relay_new(&say, &fd);
    assert_non_null(relay);
    cli_relay_free(relay);
    close(fd);
    cli_say_done(&say);
}

/* It writes as fast as it can until it is killed; returns when the pipe is full. */
static pid_t
start_flood(int fd)
{
    int ready[2] = {-1, -1};
    pid_t pid = pipe2(ready, O_CLOEXEC) == 0 ? fork() : -1;
    char lines[4096];

    memset(lines, '\n', sizeof(lines));
    for (int i = 0; pid == 0 && write(fd, lines, sizeof(lines)) > 0; i++) {
        if (i == 64)
            (void)!write(ready[1], "", 1);
    }
    if (pid == 0)
        _exit(0);
    (void)!read(ready[0], lines, 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void
it_can_be_ended_while_somebody_writes_without_an_end(void **state)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC), fd = -1;
    int saved = dup(STDERR_FILENO);
    struct cli_relay *relay;
    struct cli_say say;
    pid_t pid = -1;

    (void)state;
    (void)dup2(null, STDERR_FILENO);
    cli_say_init(&say, false, false, false);
    relay = cli_relay_new(&say, &fd);
    if (relay)
        pid = start_flood(fd);
    cli_relay_free(relay);
    (void)dup2(saved, STDERR_FILENO);
    close(saved);
    close(null);
    close(fd);
    cli_say_done(&say);
    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST_MAIN(TEST(lines_come_through), TEST(what_a_terminal_obeys_does_not),
          TEST(with_json_a_line_is_an_object), TEST(a_very_long_line_is_shown_in_parts),
          TEST(it_can_be_ended_while_somebody_holds_the_other_end),
          TEST(it_can_be_ended_while_somebody_writes_without_an_end))
