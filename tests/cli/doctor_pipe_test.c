/* doctor_pipe_test.c - proves cli/doctor_pipe.c: a program, its lines and its end */
#include "cli/doctor_pipe.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/program.h"

#define ANSWER "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"

static void
sh(struct cli_pipe *pipe, const char *script)
{
    char words[][8] = {"/bin/sh", "-c"};
    char text[1024];
    char *argv[] = {words[0], words[1], text, NULL};
    mcp_error err = {0};

    (void)signal(SIGPIPE, SIG_IGN);
    (void)strncpy(text, script, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(cli_pipe_open(pipe, argv, NULL, NULL, NULL, &err), 0);
}

static void
an_answer_is_found_between_other_lines(void **state)
{
    struct cli_pipe pipe;
    mcp_doc *answer;

    (void)state;
    sh(&pipe,
       "read x; echo; printf 'hel\\033[31mlo\\n'; echo '{}';"
       "echo '{\"jsonrpc\":\"2.0\",\"method\":\"note\"}'; echo '" ANSWER "'; cat");
    assert_int_equal(cli_pipe_ask(&pipe, "{}", 1, AWAIT_MS, &answer), 0);
    mcp_doc_free(answer);
    assert_int_equal(pipe.lines, 2);
    assert_int_equal(pipe.foreign, 2);
    assert_string_equal(pipe.first_foreign, "hello");
    cli_pipe_close(&pipe);
}

static void
silence_and_an_end_are_told_apart(void **state)
{
    struct cli_pipe pipe;
    mcp_doc *answer;

    (void)state;
    sh(&pipe, "cat");
    assert_int_equal(cli_pipe_answer(&pipe, 1, 1, &answer), MCP_E_TIMEOUT);
    cli_pipe_close(&pipe);
    sh(&pipe, "exit 0");
    assert_int_equal(cli_pipe_answer(&pipe, 1, AWAIT_MS, &answer), MCP_E_CLOSED);
    cli_pipe_close(&pipe);
}

/* However late somebody looks. */
static void
what_came_in_time_is_no_silence(void **state)
{
    struct cli_pipe pipe;
    struct pollfd ready;
    mcp_doc *answer;

    (void)state;
    sh(&pipe, "echo '" ANSWER "'; cat");
    ready = (struct pollfd){.fd = pipe.out, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, AWAIT_MS), 1);
    assert_int_equal(cli_pipe_answer(&pipe, 1, 0, &answer), 0);
    mcp_doc_free(answer);
    cli_pipe_close(&pipe);
}

static void
the_end_of_its_input_ends_it(void **state)
{
    struct cli_pipe pipe;

    (void)state;
    sh(&pipe, "cat; printf 'no newline'; echo oops >&2; exit 3");
    assert_true(cli_pipe_say(&pipe, "{}", AWAIT_MS));
    cli_pipe_end_input(&pipe);
    assert_true(cli_pipe_wait(&pipe, AWAIT_MS));
    assert_int_equal(WEXITSTATUS(pipe.status), 3);
    assert_int_equal(pipe.foreign, 2);
    assert_int_equal(pipe.error_bytes, 5);
    cli_pipe_close(&pipe);
}

static void
what_does_not_end_is_killed(void **state)
{
    struct cli_pipe pipe;

    (void)state;
    sh(&pipe, "trap '' TERM; while :; do read x || exec sleep 3600; done");
    cli_pipe_end_input(&pipe);
    assert_false(cli_pipe_wait(&pipe, 1));
    cli_pipe_close(&pipe);
    assert_true(WIFSIGNALED(pipe.status));
}

/* Half a message may be one that was cut by the kill. */
static void
a_line_without_end_is_no_message_either(void **state)
{
    const char *const scripts[] = {"printf 00000 && exec cat",
                                   "printf '{\"a' && exec cat"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct cli_pipe pipe;

        sh(&pipe, scripts[i]);
        while (pipe.text.length < 2)
            assert_false(cli_pipe_wait(&pipe, 20));
        cli_pipe_close(&pipe);
        assert_int_equal(pipe.foreign, i == 0 ? 1 : 0);
    }
}

static void
a_program_that_is_not_there_is_said(void **state)
{
    char path[] = "/nonexistent/program";
    char *argv[] = {path, NULL};
    struct cli_pipe pipe;
    mcp_error err = {0};

    (void)state;
    assert_int_equal(cli_pipe_open(&pipe, argv, NULL, NULL, NULL, &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, "No such file"));
}

static void
its_environment_and_folder_are_as_told(void **state)
{
    const char *const env[] = {"DOCTOR_TEST=1", "HOME=/x", NULL};
    char words[][160] = {"/bin/sh", "-c",
                         "read x; [ \"$DOCTOR_TEST$HOME$PWD\" = 1/x/ ] && "
                         "echo '" ANSWER "'"};
    char *argv[] = {words[0], words[1], words[2], NULL};
    struct cli_pipe pipe;
    mcp_doc *answer;
    mcp_error err = {0};

    (void)state;
    assert_int_equal(cli_pipe_open(&pipe, argv, env, "/", NULL, &err), 0);
    assert_int_equal(cli_pipe_ask(&pipe, "{}", 1, AWAIT_MS, &answer), 0);
    mcp_doc_free(answer);
    cli_pipe_close(&pipe);
}

static void
of_two_with_one_name_the_last_counts(void **state)
{
    const char *const env[] = {"DOCTOR_TEST=1", "DOCTOR_TEST=2", NULL};
    char words[][32] = {"printenv", "DOCTOR_TEST"};
    char *argv[] = {words[0], words[1], NULL};
    struct cli_pipe pipe;
    mcp_error err = {0};

    (void)state;
    assert_int_equal(cli_pipe_open(&pipe, argv, env, NULL, NULL, &err), 0);
    assert_true(cli_pipe_wait(&pipe, AWAIT_MS));
    assert_string_equal(pipe.first_foreign, "2");
    cli_pipe_close(&pipe);
}

TEST_MAIN(TEST(an_answer_is_found_between_other_lines),
          TEST(silence_and_an_end_are_told_apart),
          TEST(what_came_in_time_is_no_silence), TEST(the_end_of_its_input_ends_it),
          TEST(what_does_not_end_is_killed),
          TEST(a_line_without_end_is_no_message_either),
          TEST(a_program_that_is_not_there_is_said),
          TEST(its_environment_and_folder_are_as_told),
          TEST(of_two_with_one_name_the_last_counts))
