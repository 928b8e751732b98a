/*
 * shell_cancel_test.c - nothing that a command has started outlives its call
 *
 * All of it has a mark in its environment, which is looked for in all processes of this
 * machine: who leaves the group, the session and the parent still has it.
 */
#include "servers/shell_fixture.h"

#include <signal.h>

/* What is hard to end. Each says something when all of it runs. */
static const struct {
    const char *tool, *text;
    size_t processes; /* that have the mark by then, at least */
} commands[] = {
    {"sh", "echo ready; exec sleep 300", 1},
    {"sh", "sleep 300 & sleep 300 & echo ready; wait", 3},
    {"sh", "setsid sh -c 'echo ready; sleep 300 & sleep 300' & wait", 3},
    {"sh", "setsid sh -c 'sleep 300 & echo ready' ; sleep 300", 2},
    {"sh", "(setsid setsid sleep 300 &) ; echo ready; exec sleep 300 >/dev/null", 2},
    {"stubborn", "trap '' TERM HUP INT; echo ready; while :; do sleep 1; done", 1},
    {"stubborn",
     "setsid sh -c 'trap \\\"\\\" TERM; echo ready; while :; do sleep 1; done'"
     " & wait",
     2},
    {"stubborn",
     "trap 'setsid sleep 300 & setsid sleep 300 & wait' TERM; echo ready;"
     " sleep 300 & wait",
     2},
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

struct marked {
    const char *mark;
    size_t least;
};

static bool
are_marked(void *user)
{
    struct marked *marked = user;

    return count_marked(marked->mark) >= marked->least;
}

static void
begin(struct shell *s, enum ending how, int which)
{
    struct marked marked = {s->mark, commands[which].processes};

    program_begin(&s->program, how, commands[which].tool,
                  script(s, commands[which].text));
    wait_until(are_marked, &marked);
}

static void
M4_a_cancel_ends_all_that_it_has_started(void **state)
{
    struct shell s;

    shell_open(&s, state);
    for (int i = 0; i < COMMANDS; i++) {
        begin(&s, BY_CANCEL, i);
        program_end(&s.program, BY_CANCEL);
        expect_none_marked(s.mark);
    }
    program_expect(&s.program, "sh", "{\"script\":\"echo alive\"}", false, "alive");
    shell_close(&s);
}

static void
M4_so_does_a_timeout(void **state)
{
    struct shell s;

    shell_open(&s, state);
    begin(&s, BY_TIMEOUT, 3);
    program_end(&s.program, BY_TIMEOUT);
    expect_none_marked(s.mark);
    program_expect(&s.program, "sh", "{\"script\":\"echo alive\"}", false, "alive");
    shell_close(&s);
}

static void
M4_F27_so_does_the_end_of_the_client(void **state)
{
    struct shell s;

    for (int i = 3; i < 6; i++) {
        shell_open(&s, state);
        begin(&s, BY_LEAVING, i);
        program_end(&s.program, BY_LEAVING);
        expect_none_marked(s.mark);
        shell_close(&s);
    }
}

/* The server is killed, and cannot tell anybody. */
static void
M22_so_does_the_death_of_the_server(void **state)
{
    struct shell s;

    for (int i = 0; i < COMMANDS; i++) {
        shell_open(&s, state);
        begin(&s, BY_CANCEL, i);
        program_kill(&s.program);
        expect_none_marked(s.mark);
    }
}

static void
M17_so_does_a_server_that_is_told_to_stop(void **state)
{
    struct shell s;

    shell_open(&s, state);
    begin(&s, BY_CANCEL, 3);
    assert_int_equal(kill(s.program.pid, SIGTERM), 0);
    expect_none_marked(s.mark);
    shell_close(&s);
}

/* A command that is told to end may use its grace to clean up. All of it is there when it
 * is told: what came later would be let be for the whole grace. */
static void
it_is_given_its_grace(void **state)
{
    char file[96];
    struct shell s;

    shell_open(&s, state);
    (void)snprintf(file, sizeof(file), "/tmp/%sclean", s.mark);
    program_begin(&s.program, BY_CANCEL, "sh",
                  script(&s, text_of("trap 'sleep 0.3; touch %s; exit' TERM;"
                                     " sleep 300 & echo ready; wait",
                                     file)));
    program_end(&s.program, BY_CANCEL);
    expect_none_marked(s.mark);
    assert_int_equal(unlink(file), 0);
    shell_close(&s);
}

enum { MANY = 50 };

static void
B1_fifty_cancels_at_once_leave_nothing(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    struct marked marked;
    mcp_call *calls[MANY];
    struct shell s;

    shell_open(&s, state);
    marked = (struct marked){s.mark, 2 * (size_t)MANY};
    for (int i = 0; i < MANY; i++)
        assert_int_equal(
            mcp_client_start_tool(s.program.client, "sh",
                                  script(&s, "setsid sleep 300 & exec sleep 300"), &opt,
                                  NULL, NULL, &calls[i]),
            0);
    wait_until(are_marked, &marked);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(mcp_call_cancel(calls[i], NULL), 0);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
        mcp_call_free(calls[i]);
    }
    program_expect(&s.program, "sh", "{\"script\":\"echo alive\"}", false, "alive");
    expect_none_marked(s.mark);
    shell_close(&s);
}

int
main(void)
{
    static const struct test_case cases[] = {
        IN_EACH_CELL(M4_a_cancel_ends_all_that_it_has_started),
        IN_EACH_CELL(M4_so_does_a_timeout),
        IN_EACH_CELL(M4_F27_so_does_the_end_of_the_client),
        IN_BOTH_ERAS(M22_so_does_the_death_of_the_server),
        IN_BOTH_ERAS(M17_so_does_a_server_that_is_told_to_stop),
        IN_BOTH_ERAS(it_is_given_its_grace),
        IN_EACH_CELL(B1_fifty_cancels_at_once_leave_nothing),
    };

    test_limit(240); /* hundreds of processes, on a machine that has other work */
    return test_main(__FILE__, cases, sizeof(cases) / sizeof(cases[0]));
}
