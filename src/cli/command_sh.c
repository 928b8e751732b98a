/*
 * command_sh.c - mcpctl sh: a shell on one session, with line editing
 *
 * libedit runs on the main thread. It reads keys through get_key, which waits for more
 * than keys: for Ctrl-C, for lines of other threads, for jobs that end, and for a
 * server that wants to ask something. What ends a line before its time makes get_key
 * fail, and `why` says what it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <mcp/subscription.h>

#include "cli/content.h"
#include "cli/interrupt.h"
#include "cli/shell.h"
#include "cli/shell_history.h"
#include "cli/shell_screen.h"
#include "cli/shell_script.h"
#include "cli/state.h"

enum why { WHY_NONE, WHY_INTERRUPT, WHY_QUESTION, WHY_END };

struct editor {
    struct cli *cli;
    struct cli_shell *shell;
    struct cli_screen *screen;
    EditLine *el;
    History *history;
    FILE *terminal;      /* where the prompt is */
    int keys;            /* the same for reading */
    mbstate_t half;      /* of a character that was read in part */
    struct winsize size; /* as libedit knows it */
    char *path;          /* of the history; NULL: it is not kept */
    char *prompt;
    char *unfinished; /* what was typed before a question came; NULL: nothing */
    enum why why;
};

/* ---- keys ----------------------------------------------------------------------- */

/* From the cursor on, all that is below it too. A terminal that knows no such thing gets
 * nothing. */
static void
erase_rest(struct editor *editor)
{
    fputs(editor->cli->say.is_terminal ? "\033[J" : "", editor->terminal);
    fflush(editor->terminal);
}

static void
look_at_size(struct editor *editor)
{
    (void)ioctl(editor->keys, TIOCGWINSZ, &editor->size);
}

/* Lines of others, and of jobs that have ended, above the line that is typed. */
static void
show_lines(struct editor *editor)
{
    fputs("\r", editor->terminal);
    erase_rest(editor);
    cli_screen_lift(editor->screen);
    (void)cli_jobs_report(&editor->shell->jobs);
    (void)cli_flush(editor->cli);
    cli_screen_lower(editor->screen);
    el_set(editor->el, EL_REFRESH);
}

/* The terminal has another size than when the line was begun, or last time. libedit would
 * learn of it by a signal, but only if it handles all of them. What the terminal has made
 * of the line so far is not known: it is drawn anew, below. */
static void
follow_size(struct editor *editor)
{
    struct winsize before = editor->size;

    look_at_size(editor);
    if (before.ws_col == editor->size.ws_col && before.ws_row == editor->size.ws_row)
        return;
    fputs("\r\n", editor->terminal);
    erase_rest(editor);
    el_resize(editor->el);
    el_set(editor->el, EL_REFRESH);
}

#define NO_KEY 2

/* The next byte, which makes a character with those before it: 1; NO_KEY:
 * not yet; 0 or -1: the terminal is gone. Never waits: Ctrl-C takes back what was typed
 * before, also what poll has seen already. */
static int
read_key(struct editor *editor, wchar_t *ret_key)
{
    size_t length;
    ssize_t n;
    char byte;

    n = read(editor->keys, &byte, 1);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return NO_KEY;
    if (n <= 0)
        return (int)n;
    length = mbrtowc(ret_key, &byte, 1, &editor->half);
    if (length == (size_t)-2)
        return NO_KEY;
    if (length == (size_t)-1) { /* it is no text */
        memset(&editor->half, 0, sizeof(editor->half));
        *ret_key = L'?';
    }
    return 1;
}

static int
get_key(EditLine *el, wchar_t *ret_key)
{
    struct editor *editor;
    int r = NO_KEY;

    el_get(el, EL_CLIENTDATA, &editor);
    while (r == NO_KEY) {
        switch (cli_screen_wait(editor->screen, editor->keys, cli_interrupt_fd(),
                                cli_jobs_fd(&editor->shell->jobs))) {
        case CLI_SCREEN_KEY:
            follow_size(editor);
            r = read_key(editor, ret_key);
            break;
        case CLI_SCREEN_LINES:
            show_lines(editor);
            break;
        case CLI_SCREEN_QUESTION:
            editor->why = WHY_QUESTION;
            return -1;
        case CLI_SCREEN_INTERRUPT:
            editor->why = cli_interrupt_signal() == SIGINT ? WHY_INTERRUPT : WHY_END;
            return -1;
        }
    }
    return r;
}

/* The terminal once more, for reading that never waits: to make stdin itself so would
 * reach all who share it with us, such as the shell we were started from. */
static int
open_keys(void)
{
    char path[64];

    if (ttyname_r(STDIN_FILENO, path, sizeof(path)) != 0)
        return -1;
    return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static char *
get_prompt(EditLine *el)
{
    struct editor *editor;

    el_get(el, EL_CLIENTDATA, &editor);
    return editor->prompt;
}

/* ---- TAB ------------------------------------------------------------------------ */

/* Shows all that fits, above the line. */
static void
show_candidates(struct editor *editor, const struct cli_candidates *list)
{
    struct cli_text text = {0};

    cli_candidates_show(list, cli_terminal_width(), &text);
    fputs("\n", editor->terminal);
    fputs(cli_text_string(&text), editor->terminal);
    fflush(editor->terminal);
    cli_text_done(&text);
}

/* Types what all candidates have in common beyond what is there; false: nothing. */
static bool
type_common(struct editor *editor, const struct cli_typed *typed,
            const struct cli_candidates *list)
{
    size_t there = strlen(list->prefix), common = cli_candidates_common(list);
    struct cli_text text = {0};
    bool any;

    if (common > there)
        cli_words_add_quoted(&text, list->item[0] + there, common - there,
                             typed->quote);
    if (list->count == 1 && *list->tail) {
        if (typed->quote)
            cli_text_add(&text, &typed->quote, 1);
        cli_text_puts(&text, list->tail);
    }
    any = !text.failed && text.length > 0 &&
          el_insertstr(editor->el, cli_text_string(&text)) == 0;
    cli_text_done(&text);
    return any;
}

static unsigned char
complete(EditLine *el, int key)
{
    struct cli_candidates list;
    struct cli_typed typed;
    struct cli_want want;
    struct editor *editor;
    const LineInfo *line = el_line(el);
    unsigned char what = CC_REDISPLAY;

    (void)key;
    el_get(el, EL_CLIENTDATA, &editor);
    if (cli_typed_read(line->buffer, (size_t)(line->cursor - line->buffer), &typed) < 0)
        return CC_ERROR;
    cli_want_read(&typed, &want);
    cli_candidates_init(&list, &want);
    if (cli_shell_begin(editor->shell)) /* Ctrl-C ends the asking, get_key the line */
        cli_shell_complete(editor->shell, &want, &list);
    cli_shell_pause(editor->shell);
    if (list.count == 0)
        what = CC_REFRESH_BEEP;
    else if (!type_common(editor, &typed, &list))
        show_candidates(editor, &list);
    cli_candidates_done(&list);
    cli_typed_done(&typed);
    return what;
}

/* ---- Ctrl-Z --------------------------------------------------------------------- */

/* Keys come to us one by one, Ctrl-Z too: libedit takes that back each time. */
static void
terminal_take(EditLine *el)
{
    el_set(el, EL_PREP_TERM, 1);
    el_set(el, EL_SETTY, "-d", "susp=", NULL);
}

/* Whoever we were started from gets the terminal as it was, and the line is drawn again
 * when we are back. */
static unsigned char
suspend(EditLine *el, int key)
{
    (void)key;
    el_set(el, EL_PREP_TERM, 0);
    (void)kill(0, SIGTSTP); /* all that the terminal would have stopped with us */
    terminal_take(el);
    el_set(el, EL_REFRESH);
    return CC_NORM;
}

/* ---- one editor ----------------------------------------------------------------- */

static void
remember(void *user, const char *line)
{
    struct editor *editor = user;
    HistEvent event;

    history(editor->history, &event, H_ENTER, line);
}

static bool
editor_open(struct editor *editor)
{
    struct cli_text prompt = {0};
    HistEvent event;
    int fd;

    (void)setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1) /* what a server names may be in any script */
        (void)setlocale(LC_CTYPE, "C.UTF-8");
    cli_shell_prompt(editor->shell, &prompt);
    editor->prompt = strdup(cli_text_string(&prompt));
    cli_text_done(&prompt);
    fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    editor->terminal = fd >= 0 ? fdopen(fd, "w") : NULL;
    editor->keys = open_keys();
    editor->history = history_init();
    if (!editor->prompt || !editor->terminal || editor->keys < 0 || !editor->history)
        return false;
    editor->el = el_init("mcpctl", stdin, editor->terminal, editor->terminal);
    if (!editor->el)
        return false;
    history(editor->history, &event, H_SETSIZE, CLI_HISTORY_LINES);
    history(editor->history, &event, H_SETUNIQUE, 1);
    editor->path = cli_state_path("history");
    if (editor->path)
        cli_history_read(editor->path, remember, editor);
    el_set(editor->el, EL_CLIENTDATA, editor);
    el_set(editor->el, EL_EDITOR, "emacs");
    el_set(editor->el, EL_PROMPT, get_prompt);
    el_set(editor->el, EL_HIST, history, editor->history);
    /* the wide one borrows these texts, the other one would leak copies */
    el_wset(editor->el, EL_ADDFN, L"mcp-complete", L"Complete a word", complete);
    el_set(editor->el, EL_BIND, "^I", "mcp-complete", NULL);
    el_wset(editor->el, EL_ADDFN, L"mcp-suspend", L"Stop until fg", suspend);
    el_set(editor->el, EL_BIND, "^Z", "mcp-suspend", NULL);
    el_set(editor->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(editor->el, EL_GETCFN, get_key);
    return true;
}

static void
editor_close(struct editor *editor)
{
    if (editor->el)
        el_end(editor->el);
    if (editor->history)
        history_end(editor->history);
    if (editor->terminal)
        (void)fclose(editor->terminal);
    if (editor->keys >= 0)
        close(editor->keys);
    free(editor->path);
    free(editor->prompt);
    free(editor->unfinished);
}

/* The line as far as it was typed, to go on with after a question. */
static void
keep_unfinished(struct editor *editor)
{
    const LineInfo *line = el_line(editor->el);

    free(editor->unfinished);
    editor->unfinished = strndup(line->buffer, (size_t)(line->lastchar - line->buffer));
}

/* Behind the prompt there was no newline, for whichever reason: the line is left. */
static void
give_up_line(struct editor *editor)
{
    if (editor->why == WHY_INTERRUPT)
        fputs("^C", editor->terminal);
    if (editor->why == WHY_QUESTION)
        keep_unfinished(editor);
    erase_rest(editor); /* the cursor may be anywhere in the line */
    fputs("\n", editor->terminal);
    fflush(editor->terminal);
    if (editor->why == WHY_INTERRUPT)
        cli_interrupt_forget();
}

/* Ctrl-C has done what it was for. */
static void
forget_interrupt(void)
{
    if (cli_interrupt_signal() == SIGINT)
        cli_interrupt_forget();
}

/* The next line, without its newline; freed by the caller. NULL: see `why`; WHY_NONE:
 * Ctrl-D. */
static char *
editor_read(struct editor *editor)
{
    const char *got;
    char *line = NULL;
    int count = 0;

    editor->why = WHY_NONE;
    if (!cli_shell_begin(editor->shell)) { /* a question may be on the screen still */
        editor->why = WHY_END;
        return NULL;
    }
    cli_screen_enter(editor->screen);
    cli_shell_pause(editor->shell);
    forget_interrupt();
    if (editor->unfinished)
        el_push(editor->el, editor->unfinished);
    free(editor->unfinished);
    editor->unfinished = NULL;
    /* before the prompt is there, since who sees it may type Ctrl-D at once */
    terminal_take(editor->el);
    look_at_size(editor);
    got = el_gets(editor->el, &count);
    if (got && count > 0)
        line = strndup(got, strcspn(got, "\n"));
    else
        give_up_line(editor);
    cli_screen_leave(editor->screen);
    return line;
}

/* ---- the command ---------------------------------------------------------------- */

static int
run_terminal(struct cli *cli, struct cli_shell *shell, struct cli_screen *screen)
{
    struct editor editor = {.cli = cli, .shell = shell, .screen = screen, .keys = -1};

    if (!editor_open(&editor)) {
        editor_close(&editor);
        return cli_fail_with(cli, CLI_OTHER, "out of memory or descriptors");
    }
    while (!shell->is_over) {
        char *line;

        (void)cli_jobs_report(&shell->jobs);
        (void)cli_flush(cli);
        line = editor_read(&editor);
        if (line) {
            if (cli_history_wants(line))
                remember(&editor, line);
            if (editor.path)
                (void)cli_history_add(editor.path, line);
            cli_shell_do(shell, line);
            forget_interrupt();
        } else if (editor.why == WHY_END) {
            shell->is_over = true;
        } else if (editor.why == WHY_NONE) {
            cli_shell_quit(shell);
        }
        free(line);
    }
    editor_close(&editor);
    return cli_shell_end(shell, false);
}

static int
run_script(struct cli_shell *shell)
{
    struct cli_script script;
    const char *line;
    bool was_stopped;
    int code;

    cli_interrupt_scope(NULL);
    cli_script_init(&script, STDIN_FILENO, cli_interrupt_fd());
    while (!shell->is_over) {
        (void)cli_jobs_report(&shell->jobs);
        line = cli_script_next(&script);
        if (!line)
            break;
        cli_shell_do(shell, line);
        /* who stops a script stops all of it */
        shell->is_over = shell->is_over || cli_interrupt_signal() != 0;
    }
    cli_script_done(&script);
    was_stopped = cli_interrupt_signal() != 0;
    code = cli_shell_end(shell, !shell->is_over && !was_stopped);
    return was_stopped && code == CLI_OK ? CLI_CANCELED : code;
}

static void
on_change(mcp_client *client, enum mcp_change change, const char *uri, void *user)
{
    struct cli *cli = user;
    struct cli_text clean = {0};

    (void)client;
    switch (change) {
    case MCP_TOOLS_CHANGED:
        cli_text_puts(&clean, "the list of tools");
        break;
    case MCP_PROMPTS_CHANGED:
        cli_text_puts(&clean, "the list of prompts");
        break;
    case MCP_RESOURCES_CHANGED:
        cli_text_puts(&clean, "the list of resources");
        break;
    case MCP_RESOURCE_UPDATED:
        cli_text_add_harmless(&clean, uri ? uri : "", uri ? strlen(uri) : 0, true);
        break;
    }
    cli_note(&cli->say, "%s has changed", cli_text_string(&clean));
    cli_text_done(&clean);
}

/* on_change is told too, and says it. */
static void
ignore_event(mcp_subscription *s, const mcp_notice *event, void *user)
{
    (void)s, (void)event, (void)user;
}

/* A server of 2026-07-28 tells of changes only who asks for it. NULL: it does not tell,
 * or will not; older ones do unasked. */
static mcp_subscription *
watch_lists(mcp_client *client)
{
    static const struct {
        const char *name;
        unsigned change;
    } lists[] = {{"tools", MCP_TOOLS_CHANGED},
                 {"prompts", MCP_PROMPTS_CHANGED},
                 {"resources", MCP_RESOURCES_CHANGED}};
    const mcp_json *can = mcp_client_server_capabilities(client);
    mcp_subscribe opt = MCP_SUBSCRIBE(.on_event = ignore_event, .no_wait = true);
    mcp_subscription *watch = NULL;

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (mcp_json_bool(mcp_json_get(mcp_json_get(can, lists[i].name), "listChanged"),
                          false))
            opt.lists |= lists[i].change;
    if (opt.lists && mcp_client_discovery(client))
        (void)mcp_client_subscribe(client, &opt, &watch, NULL);
    return watch;
}

static void
adjust(mcp_client_options *opt, void *user)
{
    cli_screen_offer(user, opt);
    opt->on_change = on_change; /* whose user is cli, as session.c has it */
}

static int
run(struct cli *cli, int argc, char **argv)
{
    struct cli_screen screen;
    struct cli_session session;
    struct cli_shell shell;
    mcp_subscription *watch;
    int code;

    (void)argc;
    if (cli_screen_init(&screen) < 0)
        return cli_fail_with(cli, CLI_OTHER, "out of descriptors");
    code = cli_session_open(
        cli, argv[0], &(struct cli_session_wish){.adjust = adjust, .user = &screen},
        &session);
    if (code == CLI_OK) {
        watch = watch_lists(session.client);
        atomic_store(&cli->says_loss, true);
        if (cli_shell_init(&shell, &session) < 0)
            code = cli_fail_with(cli, CLI_OTHER, "out of descriptors");
        else if (cli->in_is_terminal && cli->err_is_terminal)
            code = run_terminal(cli, &shell, &screen);
        else
            code = run_script(&shell);
        cli_shell_done(&shell);
        mcp_subscription_free(watch);
        atomic_store(&cli->says_loss, false);
        cli_session_close(&session);
    }
    cli_screen_done(&screen);
    return code;
}

const struct cli_command cli_command_sh = {
    .name = "sh",
    .arguments = "TARGET",
    .summary = "Work with a server in a shell",
    .text =
        "Opens one session and reads commands for it: info, tools, call, resources,\n"
        "read, templates, prompts, get, complete, ping and raw, as mcpctl has them,\n"
        "without the target. help lists them all.\n"
        "\n"
        "TAB completes commands, tools, prompts, resources, the names of arguments\n"
        "and their values, from the schemas of the server and with its completion\n"
        "method. Lines are kept for the next time, but none that begins with a blank\n"
        "or seems to hold a secret.\n"
        "\n"
        "A call with & at its end runs in the background:\n"
        "\n"
        "    call hang seconds=60 &   starts it, as job 1\n"
        "    jobs                     lists those that run, with their progress\n"
        "    fg %1                    waits for it, and shows its result\n"
        "    kill %1                  cancels it, and says what the server was told\n"
        "    wait                     waits for all\n"
        "\n"
        "set shows what can be changed for the lines to come, such as the timeout:\n"
        "set timeout 5s. Options in a line are for that line.\n"
        "\n"
        "Ctrl-C clears the line, or cancels the call that is waited for, and the\n"
        "shell goes on. Ctrl-D or quit leaves it.\n"
        "\n"
        "If stdin is no terminal, its lines are run one after the other, without\n"
        "prompt and history; # begins a comment. At the end the jobs are waited\n"
        "for. The exit code is that of the last command.",
    .examples = "mcpctl sh './server --verbose'\n"
                "mcpctl sh https://example.com/mcp",
    .least = 1,
    .most = 1,
    .words = {CLI_WORD_TARGET},
    .shows_log = true,
    .run = run,
};
