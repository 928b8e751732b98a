/* shell.c - the shell: lines in, commands on one open session */
#include "cli/shell.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/do.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/near.h"
#include "cli/shell_lookup.h"
#include "cli/shell_settings.h"

#define PROMPT_COLUMNS 24 /* for the server's name */
#define HELP_COLUMNS 28   /* for a command and its words */

/* ---- commands of the table, on the open session ---------------------------------- */

static const struct remote {
    const char *name;
    int (*fn)(struct cli_session *session, int argc, char **argv);
} remotes[] = {
    {"info", cli_do_info},         {"tools", cli_do_tools},
    {"call", cli_do_call},         {"resources", cli_do_resources},
    {"read", cli_do_read},         {"templates", cli_do_templates},
    {"prompts", cli_do_prompts},   {"get", cli_do_get},
    {"complete", cli_do_complete}, {"ping", cli_do_ping},
    {"raw", cli_do_raw},
};

#define REMOTES (sizeof(remotes) / sizeof(remotes[0]))

/* "call hang seconds=5": how a job is shown. */
static void
add_title(int argc, char **argv, struct cli_text *into)
{
    cli_text_puts(into, "call");
    for (int i = 0; i < argc; i++)
        cli_text_printf(into, " %s", argv[i]);
}

/* `call TOOL ... &` */
static int
start_job(struct cli_shell *shell, int argc, char **argv)
{
    struct cli_session *session = shell->session;
    struct cli_text title = {0};
    mcp_reply *list = NULL;
    const mcp_json *tool = NULL;
    char *arguments = NULL;
    int code;

    add_title(argc, argv, &title);
    code = cli_find_tool(session, argv[0], &list, &tool);
    if (code == CLI_OK)
        code = cli_args_read(session->cli, mcp_json_get(tool, "inputSchema"), argc - 1,
                             argv + 1, &arguments);
    if (code == CLI_OK)
        code = cli_jobs_start(&shell->jobs, argv[0], arguments,
                              cli_text_string(&title));
    free(arguments);
    mcp_reply_free(list);
    cli_text_done(&title);
    return code;
}

static int
check_words(struct cli *cli, const struct cli_command *command, int count)
{
    /* the table counts the target, which is open here */
    int most = command->most == CLI_ANY_NUMBER ? CLI_ANY_NUMBER : command->most - 1;
    const char *arguments = command->arguments;

    if (count >= command->least - 1 && (most == CLI_ANY_NUMBER || count <= most))
        return CLI_OK;
    if (strncmp(arguments, "TARGET", 6) == 0)
        arguments += strspn(arguments + 6, " ") + 6;
    return cli_fail_with(cli, CLI_OTHER, "too %s words: %s %s",
                         count < command->least - 1 ? "few" : "many", command->name,
                         arguments);
}

/* Options of the line are for the line: they are as before afterwards. */
static int
do_remote(struct cli_shell *shell, const struct remote *remote,
          const struct cli_line *line)
{
    struct cli *cli = shell->session->cli;
    const struct cli_command *command = cli_command_find(remote->name);
    const struct cli_command *outer = cli->command;
    const struct cli_options before = cli->options;
    mcp_error err = {0};
    char **argv = line->words + 1;
    int argc, code;

    if (line->is_background && remote->fn != cli_do_call)
        return cli_fail_with(cli, CLI_OTHER, "only call can run in the background");
    if (!cli_options_read(cli_common_options, command->options, line->count - 1, argv,
                          &cli->options, &argc, &err)) {
        cli->options = before;
        return cli_fail_with(cli, CLI_OTHER, "%s", err.message);
    }
    cli->command = command;
    cli_settings_apply_json(cli);
    if (cli->options.help)
        code = cli_help_command(cli, command);
    else
        code = check_words(cli, command, argc);
    if (code == CLI_OK && !cli->options.help)
        code = line->is_background ? start_job(shell, argc, argv)
                                   : remote->fn(shell->session, argc, argv);
    cli->command = outer;
    cli->options = before;
    cli_settings_apply_json(cli);
    return code;
}

/* ---- commands of the shell's own ------------------------------------------------ */

static int do_help(struct cli_shell *shell, int argc, char **argv);

static int
do_jobs(struct cli_shell *shell, int argc, char **argv)
{
    (void)argc, (void)argv;
    return cli_jobs_list(&shell->jobs);
}

static int
do_fg(struct cli_shell *shell, int argc, char **argv)
{
    return cli_jobs_foreground(&shell->jobs, argc > 0 ? argv[0] : NULL);
}

static int
do_kill(struct cli_shell *shell, int argc, char **argv)
{
    int code = CLI_OK;

    if (argc == 0)
        return cli_fail_with(shell->session->cli, CLI_OTHER,
                             "kill which job? jobs lists them");
    for (int i = 0; i < argc; i++) {
        int killed = cli_jobs_kill(&shell->jobs, argv[i]);

        /* canceled is what was wanted */
        code = killed == CLI_CANCELED ? code : killed;
    }
    return code;
}

static int
do_wait(struct cli_shell *shell, int argc, char **argv)
{
    (void)argc, (void)argv;
    return cli_jobs_wait(&shell->jobs);
}

static int
do_set(struct cli_shell *shell, int argc, char **argv)
{
    return cli_settings_do(shell->session, argc, argv);
}

static int
do_quit(struct cli_shell *shell, int argc, char **argv)
{
    (void)argc, (void)argv;
    cli_shell_quit(shell);
    return shell->code;
}

static const struct builtin {
    const char *name, *arguments, *text;
    int most; /* how many words */
    int (*run)(struct cli_shell *shell, int argc, char **argv);
} builtins[] = {
    {"jobs", "", "List what runs in the background (call TOOL ... &)", 0, do_jobs},
    {"fg", "[%N]", "Wait for a job and show its result; Ctrl-C cancels it", 1, do_fg},
    {"kill", "%N...", "Cancel a job, and say what the server was told", 64, do_kill},
    {"wait", "", "Wait for all jobs", 0, do_wait},
    {"set", "[NAME [VALUE]]", "Show or change timeout, max-total, log, json", 2,
     do_set},
    {"help", "[COMMAND]", "Show this, or how to use a command", 1, do_help},
    {"quit", "", "Leave the shell; Ctrl-D does the same", 0, do_quit},
    {"exit", "", "The same as quit", 0, do_quit},
};

#define BUILTINS (sizeof(builtins) / sizeof(builtins[0]))

static bool
help_line(struct cli *cli, const char *name, const char *arguments, const char *text)
{
    struct cli_text left = {0};
    bool ok;

    if (strncmp(arguments, "TARGET", 6) == 0)
        arguments += strspn(arguments + 6, " ") + 6;
    cli_text_printf(&left, "  %s %s", name, arguments);
    if (left.length > HELP_COLUMNS)
        cli_text_printf(&left, "\n%*s", HELP_COLUMNS, "");
    ok = cli_printf(cli, "%-*s  %s\n", HELP_COLUMNS, cli_text_string(&left), text);
    cli_text_done(&left);
    return ok;
}

static int
do_help(struct cli_shell *shell, int argc, char **argv)
{
    struct cli *cli = shell->session->cli;
    bool ok = true, found = false;

    for (size_t i = 0; i < REMOTES; i++) {
        const struct cli_command *command = cli_command_find(remotes[i].name);

        if (argc > 0 && strcmp(argv[0], command->name) == 0)
            return cli_help_command(cli, command);
        if (argc == 0)
            ok = help_line(cli, command->name, command->arguments, command->summary) &&
                 ok;
    }
    for (size_t i = 0; i < BUILTINS; i++) {
        if (argc > 0 && strcmp(argv[0], builtins[i].name) != 0)
            continue;
        found = true;
        ok = help_line(cli, builtins[i].name, builtins[i].arguments,
                       builtins[i].text) &&
             ok;
    }
    if (!found)
        return cli_fail_with(cli, CLI_OTHER, "there is no command \"%s\"", argv[0]);
    return ok && cli_flush(cli) ? CLI_OK : CLI_OTHER;
}

static int
do_builtin(struct cli_shell *shell, const struct builtin *builtin,
           const struct cli_line *line)
{
    struct cli *cli = shell->session->cli;

    if (line->is_background)
        return cli_fail_with(cli, CLI_OTHER, "only call can run in the background");
    if (line->count - 1 > builtin->most)
        return cli_fail_with(cli, CLI_OTHER, "too many words: %s %s", builtin->name,
                             builtin->arguments);
    return builtin->run(shell, line->count - 1, line->words + 1);
}

static int
fail_unknown(struct cli *cli, const char *name)
{
    struct cli_near near = cli_near_begin(name, strlen(name));

    for (size_t i = 0; i < REMOTES; i++)
        cli_near_offer(&near, remotes[i].name);
    for (size_t i = 0; i < BUILTINS; i++)
        cli_near_offer(&near, builtins[i].name);
    if (near.best)
        return cli_fail_with(cli, CLI_OTHER,
                             "there is no command \"%s\"; did you mean %s?", name,
                             near.best);
    return cli_fail_with(cli, CLI_OTHER, "there is no command \"%s\"; help lists them",
                         name);
}

/* ---- lines ---------------------------------------------------------------------- */

int
cli_shell_init(struct cli_shell *shell, struct cli_session *session)
{
    *shell = (struct cli_shell){.session = session};
    return cli_jobs_init(&shell->jobs, session);
}

void
cli_shell_done(struct cli_shell *shell)
{
    cli_jobs_done(&shell->jobs);
}

/* A signal that asks us to end, not only to stop what we do. */
static bool
must_end(void)
{
    int number = cli_interrupt_signal();

    return (number != 0 && number != SIGINT) || cli_interrupt_output_gone();
}

/* From here on Ctrl-C cancels what is done; a scope that was canceled is used up. */
bool
cli_shell_begin(struct cli_shell *shell)
{
    struct cli *cli = shell->session->cli;

    if (must_end())
        return false;
    cli->output_stopped = false;
    cli_interrupt_scope(NULL);
    if (!cli_renew(cli))
        return false;
    cli_interrupt_scope(cli->scope);
    return true;
}

void
cli_shell_pause(struct cli_shell *shell)
{
    (void)shell;
    cli_interrupt_scope(NULL);
}

static int
do_line(struct cli_shell *shell, const struct cli_line *line)
{
    struct cli *cli = shell->session->cli;

    for (size_t i = 0; i < BUILTINS; i++)
        if (strcmp(builtins[i].name, line->words[0]) == 0)
            return do_builtin(shell, &builtins[i], line);
    shell->was_warned = false;
    for (size_t i = 0; i < REMOTES; i++)
        if (strcmp(remotes[i].name, line->words[0]) == 0)
            return do_remote(shell, &remotes[i], line);
    return fail_unknown(cli, line->words[0]);
}

void
cli_shell_do(struct cli_shell *shell, const char *text)
{
    struct cli *cli = shell->session->cli;
    struct cli_line line = {0};
    mcp_error err = {0};

    if (cli_line_read(text, &line, &err) < 0) {
        shell->code = cli_fail_with(cli, CLI_OTHER, "%s", err.message);
        return;
    }
    if (line.count > 0 && cli_shell_begin(shell)) {
        shell->code = do_line(shell, &line);
        (void)cli_flush(cli);
        shell->code = cli->output_stopped ? CLI_CANCELED : shell->code;
        cli_shell_pause(shell);
    }
    cli_line_done(&line);
    shell->is_over = shell->is_over || must_end();
}

void
cli_shell_quit(struct cli_shell *shell)
{
    struct cli *cli = shell->session->cli;
    size_t running = cli_jobs_running(&shell->jobs);

    if (running == 0 || shell->was_warned) {
        shell->is_over = true;
        return;
    }
    shell->was_warned = true;
    cli_note(&cli->say, "%zu %s; quit again to cancel %s", running,
             running == 1 ? "job is running" : "jobs are running",
             running == 1 ? "it" : "them");
}

int
cli_shell_end(struct cli_shell *shell, bool may_wait)
{
    int code;

    if (may_wait && !shell->was_warned && cli_shell_begin(shell)) {
        code = cli_jobs_wait(&shell->jobs);
        shell->code = code == CLI_OK ? shell->code : code;
        cli_shell_pause(shell);
    }
    (void)cli_jobs_report(&shell->jobs);
    code = cli_jobs_kill_all(&shell->jobs);
    return code == CLI_OK ? shell->code : code;
}

/* ---- completion ----------------------------------------------------------------- */

static void
complete_option(const struct cli_want *want, struct cli_candidates *list)
{
    static const char *const common[] = {"--json", "--max-total", "--reset-on-progress",
                                         "--timeout", NULL};
    const struct cli_command *command = cli_command_find(want->command);
    const struct cli_option *option = command ? command->options : NULL;

    if (!command)
        return;
    cli_candidates_add_names(list, common);
    for (; option && option->name; option++) {
        struct cli_text text = {0};

        cli_text_printf(&text, "--%s", option->name);
        cli_candidates_add(list, cli_text_string(&text));
        cli_text_done(&text);
    }
}

static void
complete_job(struct cli_shell *shell, struct cli_candidates *list)
{
    for (size_t i = 0; i < cli_jobs_count(&shell->jobs); i++) {
        struct cli_text text = {0};

        cli_text_printf(&text, "%%%d", cli_jobs_number(&shell->jobs, i));
        cli_candidates_add(list, cli_text_string(&text));
        cli_text_done(&text);
    }
}

void
cli_shell_complete(struct cli_shell *shell, const struct cli_want *want,
                   struct cli_candidates *list)
{
    switch (want->kind) {
    case CLI_WANT_COMMAND:
        for (size_t i = 0; i < REMOTES; i++)
            cli_candidates_add(list, remotes[i].name);
        for (size_t i = 0; i < BUILTINS; i++)
            cli_candidates_add(list, builtins[i].name);
        break;
    case CLI_WANT_OPTION:
        complete_option(want, list);
        break;
    case CLI_WANT_JOB:
        complete_job(shell, list);
        break;
    case CLI_WANT_SETTING:
    case CLI_WANT_SETTING_VALUE:
        cli_settings_complete(want, list);
        break;
    default:
        cli_lookup(shell->session, want, list);
        break;
    }
    cli_candidates_sort(list);
}

void
cli_shell_prompt(struct cli_shell *shell, struct cli_text *into)
{
    const mcp_json *info = mcp_client_server_info(shell->session->client);
    const char *name = mcp_json_string(mcp_json_get(info, "name"), "");
    struct cli_text clean = {0};

    cli_text_add_harmless(&clean, name, strlen(name), true);
    cli_text_add_cut(into, cli_text_string(&clean), clean.length, PROMPT_COLUMNS);
    cli_text_puts(into, clean.length > 0 ? "> " : "mcp> ");
    cli_text_done(&clean);
}
