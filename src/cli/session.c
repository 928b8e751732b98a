/* session.c - a session with the target, and calls in it that Ctrl-C really cancels */
#include "cli/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mcp/http.h>

#include "cli/ask.h"
#include "cli/clock.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/login.h"
#include "cli/relay.h"
#include "cli/text.h"
#include "cli/times.h"
#include "cli/trace.h"

#define OPENING_TICK_MS 20 /* between looks at the process that is being opened */
#define LIBRARY_MS 10000   /* for a first answer, and for a connection, unless said */
#define END_MS 10000    /* longer than it takes to end a server that does not want to */
#define CONFIRM_MS 5000 /* for the server to hear of a cancel, and to answer again */

/* ---- what a server tells ------------------------------------------------------- */

static void
on_message(mcp_client *client, enum mcp_severity severity, const char *logger,
           const mcp_json *data, void *user)
{
    struct cli *cli = user;
    char *text = NULL;

    (void)client;
    if (mcp_json_get_type(data) == MCP_JSON_STRING)
        cli_say_log(&cli->say, severity, logger, mcp_json_string(data, ""));
    else if (mcp_json_print(data, false, NULL, &text, NULL) == 0)
        cli_say_log(&cli->say, severity, logger, text);
    mcp_text_free(text, NULL);
}

/* What the library warns of, and goes on: lines that are no messages, tools left out. */
static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    struct cli *cli = user;

    (void)level;
    cli_note(&cli->say, "%s%s", line,
             cli->trace_began > 0 ? "" : " (--trace shows the wire)");
}

static void
on_progress(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    struct cli *cli = user;

    (void)call;
    cli_say_progress(&cli->say, progress, total, message);
}

static void
on_state(mcp_client *client, int status, void *user)
{
    struct cli *cli = user;

    (void)client;
    if (status == MCP_E_CLOSED && atomic_load(&cli->says_loss))
        cli_note(&cli->say, "the connection to the server is lost");
    if (status == MCP_E_CLOSED)
        cli_flag_raise(&cli->ended);
    cli_flag_raise(&cli->opened);
}

/* ---- opening ------------------------------------------------------------------- */

/* Commands that run something show what it logs, unless they are told not to. */
static enum mcp_severity
severity_wanted(const struct cli *cli)
{
    if (cli->options.severity >= 0)
        return (enum mcp_severity)cli->options.severity;
    return cli->command->shows_log ? MCP_SEVERITY_INFO : MCP_SEVERITY_NONE;
}

static int64_t
time_or_none(int64_t ms)
{
    return ms > 0 ? ms : MCP_TIMEOUT_NONE;
}

/* Who waits for less than the library would does not wait longer; 0: its own default. */
static int64_t
time_at_most(int64_t ms)
{
    return ms > 0 && ms < LIBRARY_MS ? ms : cli_times_get("opening", 0);
}

static mcp_client_options
client_options(struct cli *cli)
{
    const struct cli_options *said = &cli->options;
    mcp_client_options opt = MCP_CLIENT_OPTIONS(
            .name = "mcpctl", .version = mcp_version(), .title = "mcpctl",
            .era = (enum mcp_era)said->era, .scope = cli->scope,
            .timeout_ms = time_or_none(said->timeout_ms),
            .hello_ms = cli_times_get("hello", time_or_none(said->timeout_ms)),
            .probe_ms = cli_times_get("hello", time_at_most(said->timeout_ms)),
            .cwd = said->cwd, .messages = severity_wanted(cli),
            .on_message = on_message, .on_state = on_state, .user = cli,
            .on_log = on_log, .log_user = cli);

    cli_ask_offer(cli, &opt);
    cli_trace_offer(cli, &opt);
    return opt;
}

static int
fail_memory(mcp_error *err)
{
    *err = (mcp_error){.status = MCP_E_NOMEM, .message = "out of memory"};
    return MCP_E_NOMEM;
}

/* The library does not wait for the opening, we do: who presses Ctrl-C twice meanwhile
 * kills the server and all that it has started, so its group has to be known by then. It
 * may change: a server that ends at the first question is started once more. */
static int
opening_wait(struct cli_session *session, mcp_error *err)
{
    int r;

    for (;;) {
        cli_flag_lower(&session->cli->opened);
        r = mcp_client_opening(session->client, err);
        cli_interrupt_group(mcp_client_pid(session->client));
        if (r != MCP_E_AGAIN)
            return r;
        (void)cli_flag_wait(&session->cli->opened, OPENING_TICK_MS);
    }
}

static int
open_command(struct cli_session *session, mcp_client_options *opt, mcp_error *err)
{
    struct cli *cli = session->cli;
    const char **env = cli_list_join(session->target.env, &cli->options.env);
    int fd = -1, r;

    if (!env)
        return fail_memory(err);
    opt->env = env;
    if (!opt->cwd)
        opt->cwd = session->target.cwd;
    opt->die_with_us = true;
    opt->no_wait = true;
    session->relay = cli_relay_new(&cli->say, &fd);
    if (session->relay)
        opt->stderr_fd = fd;
    r = mcp_client_spawn((const char *const *)session->target.argv, opt,
                         &session->client, err);
    if (fd >= 0)
        close(fd);
    free(env);
    if (r == 0)
        r = opening_wait(session, err);
    /* its last words come before it is said why; but who cancels hears of that at once,
     * and need not wait until a server that does not want to has ended */
    if (r < 0 && r != MCP_E_CANCELED) {
        mcp_client_free(session->client);
        session->client = NULL;
    }
    return r;
}

static int
open_url(struct cli_session *session, const struct cli_session_wish *wish,
         const mcp_client_options *opt, int *ret_code, mcp_error *err)
{
    struct cli *cli = session->cli;
    const char **headers = cli_list_join(session->target.headers,
                                         &cli->options.headers);
    mcp_http_client_options http = MCP_HTTP_CLIENT_OPTIONS(
            .headers = headers, .tls_ca_file = cli->options.ca,
            .tls_no_verify = cli->options.insecure,
            .connect_ms = time_at_most(cli->options.timeout_ms));
    int r = 0;

    if (!headers)
        return fail_memory(err);
    *ret_code = cli_auth_new(cli, session->target.url, wish && wish->sign_in, &http,
                             &session->auth);
    if (*ret_code == CLI_OK)
        r = mcp_client_connect_http(session->target.url, &http, opt, &session->client,
                                    err);
    free(headers);
    if (*ret_code == CLI_OK && r == 0 && wish && wish->sign_in)
        cli_auth_remember(session->auth, session->target.url);
    return r;
}

/* Why there is no session: whatever the reason, but for what only the user can mend. */
static int
opening_failed(struct cli_session *session, const char *word, const mcp_error *err)
{
    struct cli *cli = session->cli;
    int code = cli_exit_of(err);

    if (code == CLI_CANCELED)
        return cli_interrupt_output_gone()
                   ? code
                   : cli_fail_with(cli, code, "canceled before there was a session");
    if (code == CLI_OTHER && err->status != MCP_E_NOMEM &&
        (err->status != MCP_E_INVAL || session->target.kind == CLI_TARGET_COMMAND))
        code = CLI_UNREACHABLE;
    (void)cli_fail_as(cli, err, code);
    if (err->status == MCP_E_TIMEOUT && !cli->options.trace)
        cli_note(&cli->say, "--trace shows what comes; mcpctl doctor looks it over");
    if (code == CLI_AUTH && strcmp(cli->command->name, "login") != 0)
        cli_note(&cli->say, "to sign in: mcpctl login %s", word);
    return code;
}

int
cli_session_open(struct cli *cli, const char *target,
                 const struct cli_session_wish *wish, struct cli_session *ret_session)
{
    struct cli_session *session = ret_session;
    mcp_client_options opt = client_options(cli);
    mcp_error err = {0};
    int code = CLI_OK, r;

    memset(session, 0, sizeof(*session));
    session->cli = cli;
    cli_flag_lower(&cli->ended);
    if (wish && wish->adjust)
        wish->adjust(&opt, wish->user);
    code = cli_target_get(cli, target, &session->target);
    if (code != CLI_OK)
        return code;
    session->began_ns = cli_now_ns();
    if (session->target.kind == CLI_TARGET_URL)
        r = open_url(session, wish, &opt, &code, &err);
    else if (session->target.kind == CLI_TARGET_UNIX)
        r = mcp_client_connect_unix(session->target.path, &opt, &session->client, &err);
    else
        r = open_command(session, &opt, &err);
    session->tells_end = r == 0 && opt.on_state; /* one that never was has no end */
    if (r < 0)
        code = opening_failed(session, target, &err);
    if (code != CLI_OK)
        cli_session_close(session);
    return code;
}

/* Workers tell what the server has logged, and freeing the client drops what they have not
 * got to: the last words before an answer, often. That it has ended they tell last. */
static void
await_last_words(struct cli_session *session)
{
    if (!session->client || !session->tells_end)
        return;
    mcp_client_close(session->client);
    (void)cli_flag_wait(&session->cli->ended, cli_times_get("end", END_MS));
}

void
cli_session_close(struct cli_session *session)
{
    await_last_words(session);
    mcp_client_free(session->client);
    cli_interrupt_group(0);
    cli_relay_free(session->relay);
    cli_auth_free(session->auth);
    cli_target_done(&session->target);
    session->client = NULL;
    session->relay = NULL;
    session->auth = NULL;
}

/* ---- calls --------------------------------------------------------------------- */

mcp_call_options
cli_session_call_options(struct cli_session *session)
{
    struct cli *cli = session->cli;
    const struct cli_options *said = &cli->options;

    return MCP_CALL_OPTIONS(.timeout_ms = time_or_none(said->timeout_ms),
                            .total_ms = said->total_ms,
                            .reset_on_progress = said->reset_on_progress,
                            .scope = cli->scope, .on_progress = on_progress,
                            .user = cli);
}

static int
call_start(struct cli_session *session, const struct cli_call *call,
           const mcp_call_options *opt, mcp_call **ret_call)
{
    mcp_client *client = session->client;

    if (call->tool)
        return mcp_client_start_tool(client, call->tool, call->arguments, opt, NULL,
                                     NULL, ret_call);
    if (call->uri)
        return mcp_client_start_read(client, call->uri, opt, NULL, NULL, ret_call);
    if (call->prompt)
        return mcp_client_start_prompt(client, call->prompt, call->arguments, opt, NULL,
                                       NULL, ret_call);
    return mcp_client_start(client, call->method, call->params, opt, NULL, NULL,
                            ret_call);
}

/* "tools/call hang", for people. */
static void
call_describe(const struct cli_call *call, struct cli_text *into)
{
    const char *name = call->tool ? call->tool : call->uri ? call->uri : call->prompt;
    const char *method = call->tool     ? "tools/call"
                         : call->uri    ? "resources/read"
                         : call->prompt ? "prompts/get"
                                        : call->method;

    cli_text_add_harmless(into, method, strlen(method), true);
    if (!name)
        return;
    cli_text_puts(into, " ");
    cli_text_add_harmless(into, name, strlen(name), true);
}

bool
cli_session_is_modern(const struct cli_session *session)
{
    const char *version = mcp_client_version(session->client);

    return version && strcmp(version, "2026") > 0;
}

/* How this link and this era spell a cancel. */
static const char *
cancel_spelling(const struct cli_session *session)
{
    if (session->target.kind != CLI_TARGET_URL)
        return "notifications/cancelled sent";
    return cli_session_is_modern(session) ? "its response closed"
                                          : "notifications/cancelled posted";
}

/* A request that is read behind the cancel on the same pipe, or answered after it, shows
 * that the server lives and has read it. */
int
cli_session_confirm(struct cli_session *session, mcp_call *call, const char *what,
                    const char *how)
{
    struct cli *cli = session->cli;
    int64_t ms = cli_times_get("confirm", CONFIRM_MS);
    const mcp_call_options soon = MCP_CALL_OPTIONS(.timeout_ms = ms);
    mcp_error err = {0};
    int r = 0;

    cli_say_progress_end(&cli->say);
    if (cli_interrupt_output_gone()) {
        if (call)
            (void)mcp_call_flush(call, ms);
        return CLI_CANCELED;
    }
    cli_note(&cli->say, "canceling %s", what);
    if (call)
        r = mcp_call_flush(call, ms);
    if (r == 0)
        r = mcp_client_ping(session->client, &soon, &err);
    if (r == MCP_E_PEER)
        r = 0; /* it does not know the question, and has answered */
    if (r == 0)
        return cli_fail_with(cli, CLI_CANCELED,
                             "canceled %s: %s, and the server answers", what,
                             how ? how : cancel_spelling(session));
    return cli_fail_with(cli, CLI_UNCONFIRMED, "canceled %s, but not confirmed: %s",
                         what, err.status ? err.message : mcp_status_text(r));
}

/* The present token does not do, or there is none. A 403 without a word about scopes has
 * other reasons. */
static void
call_wants_sign_in(struct cli_session *session, const mcp_error *err)
{
    const char *url = session->target.url;

    if (err->status == MCP_E_AUTH && err->http_status == 403)
        cli_note(&session->cli->say,
                 "to sign in for more: mcpctl login %s --scope SCOPES", url);
    else if (err->http_status != 403)
        cli_note(&session->cli->say, "to sign in: mcpctl login %s", url);
}

static int
call_failed(struct cli_session *session, mcp_call *call, const char *what,
            const mcp_error *err)
{
    struct cli *cli = session->cli;
    int code;

    switch (err->status) {
    case MCP_E_CANCELED:
        if (cli_interrupt_signal() || cli_interrupt_output_gone())
            return cli_session_confirm(session, call, what, NULL);
        return cli_fail(cli, err);
    case MCP_E_TIMEOUT:
    case MCP_E_TOTAL_TIMEOUT:
        if (call)
            (void)mcp_call_flush(call, cli_times_get("confirm", CONFIRM_MS));
        return cli_fail_as(
            cli,
            &(mcp_error){.status = err->status,
                         .message = "no answer in time; the server was told to stop"},
            CLI_OTHER);
    default:
        code = cli_fail_data(cli, err, call ? mcp_call_error_data(call) : NULL,
                             cli_exit_of(err));
        if (code == CLI_AUTH && session->target.kind == CLI_TARGET_URL)
            call_wants_sign_in(session, err);
        return code;
    }
}

int
cli_session_call(struct cli_session *session, const struct cli_call *call,
                 mcp_reply **ret_reply)
{
    const mcp_call_options opt = cli_session_call_options(session);
    struct cli_text what = {0};
    mcp_error err = {0};
    mcp_call *handle = NULL;
    int code = CLI_OK, r;

    call_describe(call, &what);
    r = call_start(session, call, &opt, &handle);
    if (r == 0)
        r = mcp_call_wait(handle, MCP_TIMEOUT_NONE, ret_reply, &err);
    cli_say_progress_end(&session->cli->say);
    if (r < 0) {
        if (err.status == 0) {
            err.status = r;
            (void)snprintf(err.message, sizeof(err.message), "%s", mcp_status_text(r));
        }
        code = call_failed(session, handle, cli_text_string(&what), &err);
    }
    mcp_call_free(handle);
    cli_text_done(&what);
    return code;
}

int
cli_session_list(struct cli_session *session, enum mcp_list list, mcp_reply **ret_reply)
{
    static const char *const names[] = {"tools/list", "resources/list",
                                        "resources/templates/list", "prompts/list"};
    const mcp_call_options opt = cli_session_call_options(session);
    mcp_error err = {0};
    int r = mcp_client_list_all(session->client, list, &opt, ret_reply, &err);

    return r == 0 ? CLI_OK : call_failed(session, NULL, names[list], &err);
}
