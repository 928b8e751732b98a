/* cli.c - one run of mcpctl: what was said, failures, results on stdout */
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/help.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/secret.h"
#include "cli/text.h"

/* Less than the buffer of stdout has, so that a piece leads to one write at most, of no
 * more than a pipe that can be written to takes at once. */
#define PIECE_BYTES 2048
#define DATA_COLUMNS 1000 /* of what a server adds to its error */

/* ---- what was said ------------------------------------------------------------- */

/* The table that has an option of this word ("name" or "name=value"); NULL: none has. */
static const struct cli_option *
option_of_any(const char *word)
{
    char name[64];
    size_t length = strcspn(word, "=");
    const struct cli_option *found;

    if (length >= sizeof(name))
        return NULL;
    memcpy(name, word, length);
    name[length] = '\0';
    found = cli_option_find(cli_common_options, NULL, name);
    for (const struct cli_command *const *c = cli_commands; *c && !found; c++)
        found = cli_option_find((*c)->options, NULL, name);
    return found;
}

/* Options may stand before the command, and some of them have a value behind them: the
 * first word that is neither is the command. argc: there is none. */
static int
command_place(int argc, char **argv)
{
    const struct cli_option *option;

    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0)
            return i;
        if (argv[i][2] == '\0')
            return i + 1 < argc ? i + 1 : argc;
        option = option_of_any(argv[i] + 2);
        if (option && option->kind != CLI_FLAG && !strchr(argv[i], '='))
            i++;
    }
    return argc;
}

static void
remove_word(int *argc, char **argv, int at)
{
    memmove(argv + at, argv + at + 1, (size_t)(*argc - at - 1) * sizeof(*argv));
    --*argc;
}

static int
fail_command(struct cli *cli, const char *name)
{
    const struct cli_command *near = cli_command_guess(name);

    if (near)
        return cli_fail_with(cli, CLI_OTHER,
                             "there is no command \"%s\"; did you mean %s?", name,
                             near->name);
    return cli_fail_with(cli, CLI_OTHER,
                         "there is no command \"%s\"; mcpctl help lists them", name);
}

static int
check_words(struct cli *cli, int count)
{
    const struct cli_command *command = cli->command;

    if (count >= command->least &&
        (command->most == CLI_ANY_NUMBER || count <= command->most))
        return -1;
    return cli_fail_with(cli, CLI_OTHER, "too %s words: mcpctl %s %s",
                         count < command->least ? "few" : "many", command->name,
                         command->arguments);
}

static void
cli_look_around(struct cli *cli)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    bool dull = (no_color && *no_color) || !term || strcmp(term, "dumb") == 0;

    cli->in_is_terminal = isatty(STDIN_FILENO);
    cli->out_is_terminal = isatty(STDOUT_FILENO);
    cli->err_is_terminal = isatty(STDERR_FILENO);
    cli->json = cli->options.json || !cli->out_is_terminal;
    cli->color = cli->out_is_terminal && !dull;
    /* who is asked reads on stderr and types on the terminal; stdin may be data */
    cli->may_ask = cli->err_is_terminal && !cli->options.no_input &&
                   (cli->in_is_terminal || access("/dev/tty", R_OK | W_OK) == 0);
    cli->say.is_terminal = cli->err_is_terminal && !(term && strcmp(term, "dumb") == 0);
    cli->say.color = cli->err_is_terminal && !dull;
    cli->say.is_json = cli->options.json;
}

/* What everybody tries first, as the first word or behind the command. */
static void
help_find(int argc, char **argv)
{
    static char help[] = "--help";

    for (int i = 0; i < argc && i < 2; i++) {
        if (strcmp(argv[i], "-h") == 0)
            argv[i] = help;
    }
}

int
cli_init(struct cli *cli, int argc, char **argv, int *ret_argc)
{
    mcp_error err;
    bool wants_json = false;
    int place;

    memset(cli, 0, sizeof(*cli));
    cli_options_begin(&cli->options);
    help_find(argc, argv);
    place = command_place(argc, argv);
    for (int i = 0; i < argc; i++)
        wants_json = wants_json || strcmp(argv[i], "--json") == 0;
    cli_say_init(&cli->say, false, false, wants_json);
    cli_flag_init(&cli->opened);
    cli_flag_init(&cli->ended);
    if (place < argc) {
        cli->command = cli_command_find(argv[place]);
        if (!cli->command)
            return fail_command(cli, argv[place]);
        remove_word(&argc, argv, place);
    }
    if (!cli_options_read(cli_common_options,
                          cli->command ? cli->command->options : NULL, argc, argv,
                          &cli->options, ret_argc, &err))
        return cli_fail_with(cli, CLI_OTHER, "%s", err.message);
    cli_look_around(cli);
    if (cli->options.version)
        return cli_printf(cli, "mcpctl %s\n", mcp_version()) && cli_flush(cli)
                   ? CLI_OK
                   : CLI_OTHER;
    if (cli->options.help)
        return cli->command ? cli_help_command(cli, cli->command) : cli_help_all(cli);
    if (!cli->command) {
        (void)cli_fail_with(cli, CLI_OTHER, "which command? mcpctl help lists them");
        return CLI_OTHER;
    }
    if (check_words(cli, *ret_argc) >= 0)
        return CLI_OTHER;
    if (mcp_scope_new(NULL, &cli->scope) < 0)
        return cli_fail_with(cli, CLI_OTHER, "out of memory or descriptors");
    return -1;
}

void
cli_done(struct cli *cli)
{
    mcp_scope_free(cli->scope);
    cli->scope = NULL;
    cli_say_done(&cli->say);
    cli_flag_done(&cli->opened);
    cli_flag_done(&cli->ended);
    cli_answers_free(cli->answers);
    cli->answers = NULL;
    cli_secret_forget();
}

/* ---- its scope ----------------------------------------------------------------- */

/* Who asks the user something on another thread looks at the scope, too. */
static pthread_mutex_t scope_lock = PTHREAD_MUTEX_INITIALIZER;

bool
cli_is_over(const struct cli *cli)
{
    bool is_over;

    pthread_mutex_lock(&scope_lock);
    is_over = cli->scope && mcp_scope_is_over(cli->scope);
    pthread_mutex_unlock(&scope_lock);
    return is_over;
}

bool
cli_renew(struct cli *cli)
{
    mcp_scope *fresh = NULL, *before;

    if (!cli_is_over(cli))
        return true;
    if (mcp_scope_new(NULL, &fresh) < 0)
        return false;
    pthread_mutex_lock(&scope_lock);
    before = cli->scope;
    cli->scope = fresh;
    pthread_mutex_unlock(&scope_lock);
    mcp_scope_free(before);
    return true;
}

/* ---- failures ------------------------------------------------------------------ */

int
cli_exit_of(const mcp_error *err)
{
    switch (err->status) {
    case MCP_E_AUTH:
        return CLI_AUTH;
    case MCP_E_HTTP:
        return err->http_status == 401 || err->http_status == 403 ? CLI_AUTH
                                                                  : CLI_OTHER;
    case MCP_E_CLOSED:
    case MCP_E_SEND_FAILED:
        return CLI_UNREACHABLE;
    case MCP_E_CANCELED:
        return CLI_CANCELED;
    default:
        return CLI_OTHER;
    }
}

/* The text may be cut in the middle of a character, or hold what a terminal obeys. */
static void
say_json_failure(struct cli *cli, const mcp_error *err, const mcp_json *data, int code)
{
    mcp_builder *b = mcp_builder_new(NULL);
    struct cli_text message = {0}, line = {0};
    const char *text;
    size_t length;

    cli_text_add_harmless(&message, err->message, strlen(err->message), false);
    mcp_builder_begin_object(b, NULL);
    mcp_builder_begin_object(b, "error");
    if (err->status != 0)
        mcp_builder_string(b, "status", mcp_status_name(err->status));
    if (err->rpc_code != 0)
        mcp_builder_int(b, "code", err->rpc_code);
    if (err->http_status != 0)
        mcp_builder_int(b, "httpStatus", err->http_status);
    mcp_builder_string(b, "message", cli_text_string(&message));
    if (data)
        mcp_builder_value(b, "data", data);
    mcp_builder_end(b);
    mcp_builder_int(b, "exit", code);
    mcp_builder_end(b);
    text = mcp_builder_text(b, &length);
    if (text)
        cli_text_add_json(&line, text, length);
    cli_say_line(&cli->say, cli_text_string(&line), line.length);
    cli_text_done(&line);
    cli_text_done(&message);
    mcp_builder_free(b);
}

static void
say_data(struct cli *cli, const mcp_json *data)
{
    struct cli_text shown = {0}, cut = {0};
    char *text;
    size_t length;

    if (!data || mcp_json_print(data, false, NULL, &text, &length) < 0)
        return;
    cli_text_add_json(&shown, text, length);
    cli_text_add_cut(&cut, cli_text_string(&shown), shown.length, DATA_COLUMNS);
    cli_note(&cli->say, "it adds: %s", cli_text_string(&cut));
    cli_text_done(&cut);
    cli_text_done(&shown);
    mcp_text_free(text, NULL);
}

int
cli_fail_data(struct cli *cli, const mcp_error *err, const mcp_json *data, int code)
{
    struct cli_text text = {0};

    cli_say_progress_end(&cli->say);
    if (cli_interrupt_output_gone())
        return code; /* quietly */
    if (cli->say.is_json) {
        say_json_failure(cli, err, data, code);
        return code;
    }
    cli_text_add_harmless(&text, err->message, strlen(err->message), true);
    if (err->rpc_code != 0)
        cli_note(&cli->say, "the server says %d: %s", err->rpc_code,
                 cli_text_string(&text));
    else
        cli_note(&cli->say, "%s", cli_text_string(&text));
    cli_text_done(&text);
    say_data(cli, data);
    return code;
}

int
cli_fail_as(struct cli *cli, const mcp_error *err, int code)
{
    return cli_fail_data(cli, err, NULL, code);
}

int
cli_fail(struct cli *cli, const mcp_error *err)
{
    return cli_fail_as(cli, err, cli_exit_of(err));
}

int
cli_fail_with(struct cli *cli, int code, const char *format, ...)
{
    mcp_error err = {0};
    va_list list;

    va_start(list, format);
    (void)vsnprintf(err.message, sizeof(err.message), format, list);
    va_end(list);
    return cli_fail_as(cli, &err, code);
}

/* ---- results ------------------------------------------------------------------- */

static bool
output_failed(struct cli *cli)
{
    int error = errno;

    if (error == EPIPE)
        cli_interrupt_set_output_gone();
    else if (!cli->output_failed)
        (void)cli_fail_with(cli, CLI_OTHER, "cannot write to stdout: %s",
                            strerror(error));
    cli->output_failed = true;
    return false;
}

static bool
output_stop(struct cli *cli)
{
    cli->output_stopped = true;
    __fpurge(stdout);
    if (cli->out_is_terminal) /* it may be in the middle of a line */
        (void)!write(STDOUT_FILENO, "\n", 1);
    (void)cli_fail_with(cli, CLI_CANCELED, "canceled; the rest is not shown");
    return false;
}

/* Until there is room for a piece; false: there will be none. */
static bool
output_wait(struct cli *cli)
{
    bool stops = !cli->command || !cli->command->reports;
    struct pollfd fds[2] = {{.fd = STDOUT_FILENO, .events = POLLOUT},
                            {.fd = stops ? cli_interrupt_fd() : -1, .events = POLLIN}};

    if (cli->output_failed || cli->output_stopped || cli_interrupt_output_gone())
        return false;
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        continue;
    return fds[1].revents ? output_stop(cli) : true;
}

bool
cli_write(struct cli *cli, const char *text, size_t length)
{
    size_t piece;

    for (; length > 0; text += piece, length -= piece) {
        piece = length < PIECE_BYTES ? length : PIECE_BYTES;
        if (!output_wait(cli))
            return false;
        if (fwrite(text, 1, piece, stdout) != piece)
            return output_failed(cli);
    }
    return true;
}

bool
cli_printf(struct cli *cli, const char *format, ...)
{
    va_list list;
    int n;

    if (!output_wait(cli))
        return false;
    va_start(list, format);
    n = vprintf(format, list);
    va_end(list);
    return n >= 0 || output_failed(cli);
}

bool
cli_flush(struct cli *cli)
{
    if (cli->output_failed || cli->output_stopped || cli_interrupt_output_gone())
        return false;
    if (__fpending(stdout) == 0)
        return true;
    return output_wait(cli) && (fflush(stdout) == 0 || output_failed(cli));
}

/* JSON escapes the controls of ASCII, but not what else a terminal obeys. */
int
cli_print_json(struct cli *cli, const mcp_json *value)
{
    struct cli_text shown = {0};
    char *text;
    size_t length;
    bool ok;

    if (mcp_json_print(value, cli->out_is_terminal, NULL, &text, &length) < 0)
        return cli_fail_with(cli, CLI_OTHER, "out of memory");
    if (cli->out_is_terminal) {
        cli_text_add_json(&shown, text, length);
        ok = cli_write(cli, cli_text_string(&shown), shown.length);
    } else {
        ok = cli_write(cli, text, length);
    }
    ok = ok && cli_write(cli, "\n", 1) && cli_flush(cli);
    cli_text_done(&shown);
    mcp_text_free(text, NULL);
    return ok ? CLI_OK : CLI_OTHER;
}
