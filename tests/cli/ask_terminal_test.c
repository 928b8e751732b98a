/* cli/ask_terminal_test.c - proves cli/ask_terminal.c: one turn at a real terminal */
#include "cli/ask_terminal.h"

#include <pthread.h>

#include "cli/desk.h"

/* Somebody who asks on another thread. */
struct asker {
    struct desk *desk;
    const char *prompt;
    bool secret;
    int stop_fd;
    char *line;
    pthread_t thread;
};

static void *
asker_run(void *user)
{
    struct asker *asker = user;
    struct cli_turn turn;

    if (cli_turn_begin(&turn, &asker->desk->cli, asker->stop_fd)) {
        asker->line = cli_turn_line(&turn, asker->prompt, asker->secret);
        cli_turn_end(&turn);
    }
    return NULL;
}

static void
asker_start(struct asker *asker)
{
    assert_int_equal(pthread_create(&asker->thread, NULL, asker_run, asker), 0);
}

static void
a_line_is_read_without_its_newline(void **state)
{
    struct asker asker = {.prompt = "name> ", .stop_fd = -1};
    struct desk desk;

    (void)state;
    desk_open(&desk);
    asker.desk = &desk;
    desk_type(&desk, "Ada L\303\266v\nnext\n");
    asker_run(&asker);
    assert_string_equal(asker.line, "Ada L\303\266v");
    assert_has(desk_shown(&desk), "name> ");
    free(asker.line);
    asker.line = NULL;
    asker_run(&asker);
    assert_string_equal(asker.line, "next");
    free(asker.line);
    desk_close(&desk);
}

static void
the_end_of_the_input_is_no_line(void **state)
{
    struct asker asker = {.prompt = "> ", .stop_fd = -1};
    struct desk desk;

    (void)state;
    desk_open(&desk);
    asker.desk = &desk;
    desk_type(&desk, "\004");
    asker_run(&asker);
    assert_null(asker.line);
    desk_close(&desk);
}

static void
a_secret_is_not_shown_and_the_echo_comes_back(void **state)
{
    struct asker asker = {.prompt = "secret> ", .secret = true, .stop_fd = -1};
    struct termios mode;
    struct desk desk;

    (void)state;
    desk_open(&desk);
    asker.desk = &desk;
    asker_start(&asker);
    desk_until(&desk, "secret> ");
    desk_type(&desk, "hunter2\n");
    pthread_join(asker.thread, NULL);
    assert_string_equal(asker.line, "hunter2");
    assert_null(strstr(desk_shown(&desk), "hunter2"));
    assert_int_equal(tcgetattr(desk.slave, &mode), 0);
    assert_true(mode.c_lflag & ECHO);
    free(asker.line);
    desk_close(&desk);
}

/* As a shell does that has stopped us, before it lets us go on. */
static void
a_secret_is_not_shown_when_somebody_has_turned_the_echo_on(void **state)
{
    struct asker asker = {.prompt = "secret> ", .secret = true, .stop_fd = -1};
    struct termios mode;
    struct desk desk;

    (void)state;
    desk_open(&desk);
    asker.desk = &desk;
    assert_int_equal(tcgetattr(desk.slave, &mode), 0);
    asker_start(&asker);
    desk_until(&desk, "secret> ");
    assert_int_equal(tcsetattr(desk.slave, TCSANOW, &mode), 0);
    desk_until(&desk, "secret> secret> "); /* it is asked for again, unseen */
    desk_type(&desk, "hunter2\n");
    pthread_join(asker.thread, NULL);
    assert_string_equal(asker.line, "hunter2");
    assert_null(strstr(desk_shown(&desk), "hunter2"));
    assert_int_equal(tcgetattr(desk.slave, &mode), 0);
    assert_true(mode.c_lflag & ECHO);
    free(asker.line);
    desk_close(&desk);
}

/* Asks, types this and sees it echoed (if it is), and stops. */
static void
asker_stop_at(struct asker *asker, const char *typed)
{
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    asker->stop_fd = fds[0];
    asker_start(asker);
    desk_until(asker->desk, asker->prompt);
    desk_type(asker->desk, typed);
    if (!asker->secret)
        desk_until(asker->desk, typed);
    assert_int_equal(write(fds[1], "", 1), 1);
    pthread_join(asker->thread, NULL);
    close(fds[0]);
    close(fds[1]);
}

static void
a_stop_ends_it_and_what_was_typed_is_gone(void **state)
{
    struct asker asker = {.prompt = "> "}, next = {.prompt = "> ", .stop_fd = -1};
    struct desk desk;

    (void)state;
    desk_open(&desk);
    asker.desk = next.desk = &desk;
    asker_stop_at(&asker, "half");
    assert_null(asker.line);
    desk_type(&desk, "whole\n");
    asker_run(&next);
    assert_string_equal(next.line, "whole");
    free(next.line);
    desk_close(&desk);
}

static void
a_stop_while_a_secret_is_typed_brings_the_echo_back(void **state)
{
    struct asker asker = {.prompt = "> ", .secret = true};
    struct termios mode;
    struct desk desk;

    (void)state;
    desk_open(&desk);
    asker.desk = &desk;
    asker_stop_at(&asker, "half");
    assert_null(asker.line);
    assert_int_equal(tcgetattr(desk.slave, &mode), 0);
    assert_true(mode.c_lflag & ECHO);
    desk_close(&desk);
}

static void
the_end_of_the_scope_ends_it(void **state)
{
    struct asker asker = {.prompt = "> ", .stop_fd = -1};
    struct desk desk;

    (void)state;
    desk_open(&desk);
    asker.desk = &desk;
    asker_start(&asker);
    desk_until(&desk, "> ");
    assert_int_equal(mcp_scope_cancel(desk.cli.scope, NULL), 0);
    pthread_join(asker.thread, NULL);
    assert_null(asker.line);
    desk_close(&desk);
}

static void
one_is_asked_at_a_time(void **state)
{
    struct asker first = {.prompt = "first> ", .stop_fd = -1};
    struct asker second = {.prompt = "second> ", .stop_fd = -1};
    struct desk desk;

    (void)state;
    desk_open(&desk);
    first.desk = second.desk = &desk;
    asker_start(&first);
    desk_until(&desk, "first> ");
    asker_start(&second);
    assert_null(strstr(desk_shown(&desk), "second> "));
    desk_type(&desk, "1\n");
    desk_until(&desk, "second> ");
    desk_type(&desk, "2\n");
    pthread_join(first.thread, NULL);
    pthread_join(second.thread, NULL);
    assert_string_equal(first.line, "1");
    assert_string_equal(second.line, "2");
    free(first.line);
    free(second.line);
    desk_close(&desk);
}

static void
who_waits_for_the_turn_can_be_stopped(void **state)
{
    struct asker first = {.prompt = "first> ", .stop_fd = -1},
                 second = {.prompt = "2> "};
    struct desk desk;
    int fds[2];

    (void)state;
    desk_open(&desk);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    first.desk = second.desk = &desk;
    second.stop_fd = fds[0];
    asker_start(&first);
    desk_until(&desk, "first> ");
    asker_start(&second);
    assert_int_equal(write(fds[1], "", 1), 1);
    pthread_join(second.thread, NULL);
    assert_null(second.line);
    desk_type(&desk, "1\n");
    pthread_join(first.thread, NULL);
    assert_string_equal(first.line, "1");
    free(first.line);
    close(fds[0]);
    close(fds[1]);
    desk_close(&desk);
}

static void
without_a_terminal_there_is_no_turn(void **state)
{
    struct cli_turn turn;
    struct desk desk;

    (void)state;
    desk_open(&desk);
    cli_turn_use("/nowhere");
    assert_false(cli_turn_begin(&turn, &desk.cli, -1));
    cli_turn_use(desk.path);
    assert_true(cli_turn_begin(&turn, &desk.cli, -1)); /* it was given back */
    cli_turn_end(&turn);
    desk_close(&desk);
}

static void
what_a_server_says_is_shown_harmless(void **state)
{
    struct cli_turn turn;
    struct desk desk;

    (void)state;
    desk_open(&desk);
    assert_true(cli_turn_begin(&turn, &desk.cli, -1));
    cli_turn_say(&turn, "It says: ", "hi\033]0;title\007 there");
    cli_turn_end(&turn);
    assert_string_equal(desk_shown(&desk), "It says: hi there\r\n");
    desk_close(&desk);
}

static void
a_choice_is_asked_for_until_it_is_one(void **state)
{
    struct cli_turn turn;
    struct desk desk;

    (void)state;
    desk_open(&desk);
    desk_type(&desk, "\nwhat\nYes\n\004");
    assert_true(cli_turn_begin(&turn, &desk.cli, -1));
    assert_int_equal(cli_turn_choose(&turn, "? ", "yn"), 'y');
    assert_int_equal(cli_turn_choose(&turn, "? ", "yn"), 0);
    cli_turn_end(&turn);
    desk_close(&desk);
}

TEST_MAIN(TEST(a_line_is_read_without_its_newline),
          TEST(the_end_of_the_input_is_no_line),
          TEST(a_secret_is_not_shown_and_the_echo_comes_back),
          TEST(a_secret_is_not_shown_when_somebody_has_turned_the_echo_on),
          TEST(a_stop_ends_it_and_what_was_typed_is_gone),
          TEST(a_stop_while_a_secret_is_typed_brings_the_echo_back),
          TEST(the_end_of_the_scope_ends_it), TEST(one_is_asked_at_a_time),
          TEST(who_waits_for_the_turn_can_be_stopped),
          TEST(without_a_terminal_there_is_no_turn),
          TEST(what_a_server_says_is_shown_harmless),
          TEST(a_choice_is_asked_for_until_it_is_one))
