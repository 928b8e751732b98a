/* cli/shell_test.c - proves cli/shell.c: lines in, commands on one session */
#include "cli/shell.h"

#include "cli/shell_room.h"

static struct room room;
static struct cli_shell shell;

static void
begin(void)
{
    room_open(&room);
    assert_int_equal(cli_shell_init(&shell, &room.session), 0);
}

static void
end(void)
{
    cli_shell_done(&shell);
    room_close(&room);
}

/* Runs a line; what it said. */
static const char *
run_line(const char *line)
{
    room_hear(&room);
    cli_shell_do(&shell, line);
    return room_heard(&room);
}

static void
commands_run_on_the_open_session(void **state)
{
    (void)state;
    begin();
    room.cli.out_is_terminal = true; /* readable */
    assert_has(run_line("call echo text='a b'"), "a b\n");
    assert_int_equal(shell.code, CLI_OK);
    assert_has(run_line("read note:index"), "all");
    assert_int_equal(shell.code, CLI_OK);
    (void)run_line("call fail");
    assert_int_equal(shell.code, CLI_TOOL_ERROR);
    assert_false(shell.is_over);
    end();
}

static void
lines_that_are_no_command_are_explained(void **state)
{
    (void)state;
    begin();
    assert_has(run_line("cal echo"), "did you mean call?");
    assert_has(run_line("frobnicate"), "help lists them");
    assert_has(run_line("call"), "too few words: call TOOL");
    assert_has(run_line("quit now"), "too many words: quit");
    assert_has(run_line("call 'echo"), "mcpctl: ");
    assert_has(run_line("ping --nonsense"), "mcpctl: ");
    assert_has(run_line("ping &"), "only call can run in the background");
    assert_has(run_line("jobs &"), "only call can run in the background");
    assert_int_equal(shell.code, CLI_OTHER);
    assert_string_equal(run_line("  # nothing"), "");
    assert_int_equal(shell.code, CLI_OTHER);
    end();
}

static void
options_of_a_line_are_for_that_line(void **state)
{
    (void)state;
    begin();
    room.cli.out_is_terminal = true;
    assert_has(run_line("call echo text=hi --json --timeout 5s"), "\"content\"");
    assert_int_equal(room.cli.options.timeout_ms, 60000);
    assert_false(room.cli.json);
    assert_has(run_line("call --help"), "mcpctl call");
    assert_false(room.cli.options.help);
    end();
}

static void
a_canceled_line_leaves_the_shell_usable(void **state)
{
    (void)state;
    begin();
    assert_int_equal(mcp_scope_cancel(room.cli.scope, "Ctrl-C"), 0);
    (void)run_line("call echo text=again");
    assert_int_equal(shell.code, CLI_OK);
    assert_false(mcp_scope_is_over(room.cli.scope));
    end();
}

static void
jobs_are_started_listed_and_killed(void **state)
{
    (void)state;
    begin();
    room.cli.out_is_terminal = true;
    assert_has(run_line("call hang &"), "[1] call hang\n");
    assert_int_equal(shell.code, CLI_OK);
    assert_has(run_line("jobs"), "[1] running");
    assert_has(run_line("kill %1"), "[1] canceled: call hang");
    assert_int_equal(shell.code, CLI_OK);
    assert_string_equal(run_line("jobs"), "");
    assert_has(run_line("kill"), "kill which job?");
    (void)run_line("call echo text=later &");
    assert_has(run_line("wait"), "later\n");
    (void)run_line("call nosuch &");
    assert_int_equal(shell.code, CLI_OTHER);
    end();
}

static void
quit_warns_once_of_jobs_that_run(void **state)
{
    const char *heard;
    int code;

    (void)state;
    begin();
    (void)run_line("call hang &");
    assert_has(run_line("quit"), "1 job is running; quit again to cancel it");
    assert_false(shell.is_over);
    (void)run_line("ping");
    assert_has(run_line("exit"), "quit again");
    assert_false(shell.is_over);
    assert_string_equal(run_line("quit"), "");
    assert_true(shell.is_over);
    room_hear(&room);
    code = cli_shell_end(&shell, false);
    heard = room_heard(&room);
    assert_has(heard, "[1] canceled: call hang");
    assert_int_equal(code, CLI_OK);
    end();
}

static void
a_script_waits_for_its_jobs_at_the_end(void **state)
{
    const char *heard;
    int code;

    (void)state;
    begin();
    (void)run_line("call fail &");
    room_hear(&room);
    code = cli_shell_end(&shell, true);
    heard = room_heard(&room);
    assert_has(heard, "[1] failed: call fail");
    assert_int_equal(code, CLI_TOOL_ERROR);
    end();
}

static void
help_lists_all_commands(void **state)
{
    const char *heard;

    (void)state;
    begin();
    heard = run_line("help");
    assert_has(heard, "  call TOOL [NAME=VALUE...]");
    assert_has(heard, "  kill %N...");
    assert_has(run_line("help call"), "mcpctl call");
    assert_has(run_line("help jobs"), "  jobs");
    assert_has(run_line("help nosuch"), "there is no command");
    end();
}

/* The candidates for a line, with blanks between. */
static const char *
complete(const char *line)
{
    static char shown[512];
    struct cli_candidates list;
    struct cli_typed typed;
    struct cli_want want;
    size_t length = 0;

    assert_int_equal(cli_typed_read(line, strlen(line), &typed), 0);
    cli_want_read(&typed, &want);
    cli_candidates_init(&list, &want);
    cli_shell_complete(&shell, &want, &list);
    shown[0] = '\0';
    for (size_t i = 0; i < list.count; i++)
        length += (size_t)snprintf(shown + length, sizeof shown - length, "%s ",
                                   list.item[i]);
    cli_candidates_done(&list);
    cli_typed_done(&typed);
    return shown;
}

static void
words_are_completed_by_who_knows_them(void **state)
{
    (void)state;
    begin();
    assert_string_equal(complete("c"), "call complete ");
    assert_string_equal(complete("q"), "quit ");
    assert_string_equal(complete("call h"), "hang ");
    assert_string_equal(complete("set js"), "json ");
    assert_string_equal(complete("ping --ti"), "--timeout ");
    assert_has(complete("call --"), "--args ");
    assert_string_equal(complete("kill "), "");
    (void)run_line("call hang &");
    assert_string_equal(complete("kill "), "%1 ");
    end();
}

static void
the_prompt_is_the_servers_name(void **state)
{
    struct cli_text prompt = {0};

    (void)state;
    begin();
    cli_shell_prompt(&shell, &prompt);
    assert_string_equal(cli_text_string(&prompt), "room> ");
    cli_text_done(&prompt);
    end();
}

TEST_MAIN(TEST(commands_run_on_the_open_session),
          TEST(lines_that_are_no_command_are_explained),
          TEST(options_of_a_line_are_for_that_line),
          TEST(a_canceled_line_leaves_the_shell_usable),
          TEST(jobs_are_started_listed_and_killed),
          TEST(quit_warns_once_of_jobs_that_run),
          TEST(a_script_waits_for_its_jobs_at_the_end), TEST(help_lists_all_commands),
          TEST(words_are_completed_by_who_knows_them),
          TEST(the_prompt_is_the_servers_name))
