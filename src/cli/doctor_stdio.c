/*
 * doctor_stdio.c - checks of a program that speaks over its stdin and stdout
 *
 * The first check finds out the eras and leaves a server running, `life`, which the
 * next ones speak to until one of them ends it.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/doctor.h"
#include "cli/error.h"
#include "cli/times.h"

#define DISCOVER_MS \
    3000 /* a server of before 2026 may say nothing to what it is asked */
#define STDERR_BYTES (64u << 10)

enum { ID_HELLO = 1, ID_PING, ID_UNKNOWN, ID_AFTER_GARBAGE };

static bool
is_command(const struct cli_doctor *doctor)
{
    return doctor->target.kind == CLI_TARGET_COMMAND;
}

static bool
was_started(const struct cli_doctor *doctor)
{
    return doctor->was_started;
}

/* ---- a server, from its start to what is left of it ----------------------------- */

static int
start(struct cli_doctor *doctor, struct cli_pipe *pipe, mcp_error *err)
{
    const struct cli_options *options = &doctor->cli->options;
    const char *cwd = options->cwd ? options->cwd : doctor->target.cwd;
    const char **env = cli_list_join(doctor->target.env, &options->env);
    int r;

    if (!env)
        return cli_error_of(err, MCP_E_NOMEM);
    cli_orphans_begin(doctor);
    r = cli_pipe_open(pipe, doctor->target.argv, env, cwd, doctor->cli->scope, err);
    free(env);
    return r;
}

/* The server has ended, or is killed now. Looks at what it wrote and left. */
static void
finish(struct cli_doctor *doctor, struct cli_pipe *pipe)
{
    pid_t session = pipe->pid;

    if (session <= 0)
        return;
    cli_pipe_close(pipe);
    if (doctor->foreign == 0)
        memcpy(doctor->first_foreign, pipe->first_foreign, CLI_PIPE_SHOWN);
    doctor->foreign += pipe->foreign;
    doctor->error_bytes += pipe->error_bytes;
    cli_orphans_end(doctor, session);
}

/* ---- the handshake -------------------------------------------------------------- */

/* Asks what server/discover says; into versions. False: it is no modern server. */
static bool
greet_modern(struct cli_doctor *doctor, struct cli_pipe *pipe,
             struct cli_text *versions)
{
    int64_t most = cli_times_get("discover", DISCOVER_MS);
    int64_t ms = doctor->timeout_ms < most ? doctor->timeout_ms : most;
    struct cli_text line = {0};
    const mcp_json *list;
    mcp_json_iterator it;
    mcp_doc *answer = NULL;
    bool is_modern = false;

    cli_message_request(&line, ID_HELLO, "server/discover", CLI_MODERN, NULL);
    if (cli_pipe_ask(pipe, cli_text_string(&line), ID_HELLO, ms, &answer) == 0) {
        list = mcp_json_get(mcp_json_get(mcp_doc_root(answer), "result"),
                            "supportedVersions");
        for (it = mcp_json_each(list); mcp_json_next(&it);) {
            cli_text_printf(versions, "%s%s", versions->length ? ", " : "",
                            mcp_json_string(it.value, "?"));
            is_modern |= mcp_json_is_string(it.value, CLI_MODERN);
        }
    }
    mcp_doc_free(answer);
    cli_text_done(&line);
    return is_modern;
}

/* What it answers to initialize instead of a version. */
static void
note_refusal(struct cli_doctor *doctor, const mcp_json *answer)
{
    const mcp_json *error = mcp_json_get(answer, "error");
    const char *message = mcp_json_string(mcp_json_get(error, "message"), "no message");

    cli_text_done(&doctor->refusal);
    if (!error) {
        cli_text_puts(&doctor->refusal, "Its answer to initialize names no version.");
        return;
    }
    cli_text_printf(&doctor->refusal, "It refuses initialize: %lld, ",
                    (long long)mcp_json_int(mcp_json_get(error, "code"), 0));
    cli_text_add_harmless(&doctor->refusal, message, strnlen(message, 200), true);
}

static bool
greet_legacy(struct cli_doctor *doctor, struct cli_pipe *pipe,
             struct cli_text *versions)
{
    struct cli_text line = {0};
    mcp_doc *answer = NULL;
    const char *version = NULL;

    cli_message_initialize(&line, ID_HELLO);
    if (cli_pipe_ask(pipe, cli_text_string(&line), ID_HELLO, doctor->timeout_ms,
                     &answer) == 0) {
        version = mcp_json_string(
            mcp_json_get(mcp_json_get(mcp_doc_root(answer), "result"),
                         "protocolVersion"),
            NULL);
        if (version)
            cli_text_printf(versions, "%s%s by initialize",
                            versions->length ? "; " : "", version);
        else
            note_refusal(doctor, mcp_doc_root(answer));
    }
    cli_text_done(&line);
    mcp_doc_free(answer);
    if (!version)
        return false;
    return cli_pipe_say(
        pipe, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
        doctor->timeout_ms);
}

static bool
greet(struct cli_doctor *doctor, struct cli_pipe *pipe)
{
    struct cli_text unused = {0};
    bool is_fine = doctor->is_legacy ? greet_legacy(doctor, pipe, &unused)
                                     : greet_modern(doctor, pipe, &unused);

    cli_text_done(&unused);
    return is_fine;
}

/* Has it ended by itself? Who has closed its stdout is about to. */
static bool
has_ended(struct cli_doctor *doctor)
{
    return doctor->life.pid > 0 &&
           cli_pipe_wait(&doctor->life, doctor->life.out < 0 ? doctor->exit_ms : 0);
}

/* It speaks neither era: why? */
static void
tell_no_answer(struct cli_doctor *doctor, struct cli_finding *finding)
{
    if (doctor->refusal.length > 0) {
        cli_found(finding, CLI_FAIL, "%s", cli_text_string(&doctor->refusal));
        cli_mend(finding, "It may lack an argument or a variable: --env, or \"env\" in "
                          "its configuration, says one.");
        return;
    }
    if (has_ended(doctor)) {
        bool is_signal = WIFSIGNALED(doctor->life.status);

        cli_found(finding, CLI_FAIL, "It ended before it answered, %s %d.",
                  is_signal ? "by signal" : "with status",
                  is_signal ? WTERMSIG(doctor->life.status)
                            : WEXITSTATUS(doctor->life.status));
        cli_mend(finding, "Check its arguments; run it by hand to see what it says.");
        return;
    }
    doctor->is_silent = true;
    if (doctor->life.out < 0)
        cli_found(finding, CLI_FAIL,
                  "It has closed its stdout without an answer, and still runs.");
    else
        cli_found(finding, CLI_FAIL,
                  "It answers neither server/discover nor initialize within %lld ms.",
                  (long long)doctor->timeout_ms);
    cli_mend(finding, "A server answers each request with one line on stdout; look "
                      "whether it flushes what it writes.");
}

/* Each era has a server of its own: one that does not know the first question may be
 * confused by it. The last one stays. */
static void
check_answers(struct cli_doctor *doctor, struct cli_finding *finding)
{
    struct cli_pipe first;
    struct cli_text versions = {0};
    mcp_error err = {0};

    if (start(doctor, &first, &err) < 0) {
        cli_found(finding, CLI_FAIL, "It cannot be started: %s.", err.message);
        cli_mend(finding, "Check the path and the permissions of the program.");
        return;
    }
    doctor->was_started = true;
    doctor->is_modern = greet_modern(doctor, &first, &versions);
    cli_pipe_end_input(&first);
    (void)cli_pipe_wait(&first, doctor->exit_ms);
    finish(doctor, &first);
    if (start(doctor, &doctor->life, &err) == 0)
        doctor->is_legacy = greet_legacy(doctor, &doctor->life, &versions);
    if (doctor->is_modern && !doctor->is_legacy) {
        cli_pipe_end_input(&doctor->life);
        (void)cli_pipe_wait(&doctor->life, doctor->exit_ms);
        finish(doctor, &doctor->life);
        if (start(doctor, &doctor->life, &err) == 0)
            (void)greet(doctor, &doctor->life);
    }
    if (doctor->is_modern || doctor->is_legacy)
        cli_found(finding, CLI_PASS, "It speaks %s (%s).", cli_text_string(&versions),
                  !doctor->is_legacy  ? "modern era only"
                  : doctor->is_modern ? "both eras"
                                      : "legacy era only");
    else
        tell_no_answer(doctor, finding);
    cli_text_done(&versions);
}

/* ---- while it lives ------------------------------------------------------------- */

/* Without a handshake there is nothing to ask. */
static bool
skip_silent(const struct cli_doctor *doctor, struct cli_finding *finding)
{
    if ((doctor->is_modern || doctor->is_legacy) && doctor->life.pid > 0)
        return false;
    cli_found(finding, CLI_SKIP, "There was no handshake.");
    return true;
}

/* Asks a question without params in the era that it speaks. */
static int
ask(struct cli_doctor *doctor, int id, const char *method, mcp_doc **ret_answer)
{
    struct cli_text line = {0};
    int r;

    cli_message_request(&line, id, method, doctor->is_legacy ? NULL : CLI_MODERN, NULL);
    r = cli_pipe_ask(&doctor->life, cli_text_string(&line), id, doctor->timeout_ms,
                     ret_answer);
    cli_text_done(&line);
    return r;
}

static const char *
ping_method(const struct cli_doctor *doctor)
{
    return doctor->is_legacy ? "ping" : "server/discover";
}

static void
check_ping(struct cli_doctor *doctor, struct cli_finding *finding)
{
    mcp_doc *answer = NULL;
    int r;

    if (skip_silent(doctor, finding))
        return;
    r = ask(doctor, ID_PING, ping_method(doctor), &answer);
    if (r == 0 && mcp_json_get(mcp_doc_root(answer), "result")) {
        cli_found(finding, CLI_PASS, "%s is answered.", ping_method(doctor));
    } else {
        cli_found(finding, CLI_FAIL, "%s is not answered with a result: %s.",
                  ping_method(doctor), r < 0 ? mcp_status_text(r) : "an error");
        cli_mend(finding, "Hosts ping to see whether a server lives: answer with {}.");
    }
    mcp_doc_free(answer);
}

static void
check_unknown(struct cli_doctor *doctor, struct cli_finding *finding)
{
    mcp_doc *answer = NULL;
    int64_t code;
    int r;

    if (skip_silent(doctor, finding))
        return;
    r = ask(doctor, ID_UNKNOWN, "mcpctl/no-such-method", &answer);
    code = cli_message_error(mcp_doc_root(answer));
    if (r < 0)
        cli_found(finding, CLI_FAIL, "It gives no answer: %s.", mcp_status_text(r));
    else if (code == -32601)
        cli_found(finding, CLI_PASS, "The answer is error -32601.");
    else if (code != 0)
        cli_found(finding, CLI_WARN, "The answer is error %lld, not -32601.",
                  (long long)code);
    else
        cli_found(finding, CLI_FAIL, "A method that does not exist has a result.");
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "Answer methods that you do not know with error -32601.");
    mcp_doc_free(answer);
}

static void
check_malformed(struct cli_doctor *doctor, struct cli_finding *finding)
{
    mcp_doc *answer = NULL;
    int r = MCP_E_CLOSED;

    if (skip_silent(doctor, finding))
        return;
    if (cli_pipe_say(&doctor->life, "{\"jsonrpc\":\"2.0\",", doctor->timeout_ms))
        r = ask(doctor, ID_AFTER_GARBAGE, ping_method(doctor), &answer);
    mcp_doc_free(answer);
    if (r == 0) {
        cli_found(finding, CLI_PASS, "A line that is no JSON does it no harm.");
        return;
    }
    cli_found(finding, CLI_FAIL, "After a line that is no JSON it is silent: %s.",
              mcp_status_text(r));
    cli_mend(finding, "Answer such a line with error -32700 and go on.");
}

/* ---- its end -------------------------------------------------------------------- */

static void
check_eof(struct cli_doctor *doctor, struct cli_finding *finding)
{
    struct cli_pipe *life = &doctor->life;

    if (life->pid <= 0 || has_ended(doctor)) {
        cli_found(finding, CLI_SKIP, "It had ended before.");
        return;
    }
    cli_pipe_end_input(life);
    if (!cli_pipe_wait(life, doctor->exit_ms)) {
        cli_found(finding, CLI_FAIL, "It still runs %lld ms after its stdin has ended.",
                  (long long)doctor->exit_ms);
        cli_mend(finding, "The end of stdin is how a host says goodbye: exit then.");
    } else if (WIFSIGNALED(life->status)) {
        cli_found(finding, CLI_WARN, "It ended by signal %d.", WTERMSIG(life->status));
        cli_mend(finding, "Exit in good order, with status 0.");
    } else if (WEXITSTATUS(life->status) != 0) {
        cli_found(finding, CLI_WARN, "It ended with status %d.",
                  WEXITSTATUS(life->status));
        cli_mend(finding, "The end of stdin is no fault: exit with status 0.");
    } else {
        cli_found(finding, CLI_PASS, "It ended with status 0.");
    }
    finish(doctor, life);
}

static void
check_term(struct cli_doctor *doctor, struct cli_finding *finding)
{
    struct cli_pipe *life = &doctor->life;
    mcp_error err = {0};

    finish(doctor, life);
    if (!doctor->is_legacy && !doctor->is_modern) {
        cli_found(finding, CLI_SKIP, "There was no handshake.");
        return;
    }
    if (start(doctor, life, &err) < 0) {
        cli_found(finding, CLI_SKIP, "It could not be started: %s.", err.message);
        return;
    }
    (void)greet(doctor, life); /* it runs, and not only begins to */
    (void)kill(life->pid, SIGTERM);
    if (cli_pipe_wait(life, doctor->exit_ms)) {
        cli_found(finding, CLI_PASS, "SIGTERM ends it.");
    } else {
        cli_found(finding, CLI_FAIL, "It still runs %lld ms after SIGTERM.",
                  (long long)doctor->exit_ms);
        cli_mend(finding, "Do not block or ignore SIGTERM; hosts would kill it next.");
    }
    finish(doctor, life);
}

static void
check_orphans(struct cli_doctor *doctor, struct cli_finding *finding)
{
    if (doctor->orphan_count == 0) {
        cli_found(finding, CLI_PASS, "No process of it was left after it had ended.");
        return;
    }
    cli_found(finding, CLI_FAIL, "%zu process%s outlived it: %s.", doctor->orphan_count,
              doctor->orphan_count == 1 ? "" : "es", cli_text_string(&doctor->orphans));
    cli_mend(finding, "End child processes when the server ends, and wait for them.");
}

static void
check_stdout(struct cli_doctor *doctor, struct cli_finding *finding)
{
    if (doctor->foreign == 0) {
        cli_found(finding, CLI_PASS, "Only messages stand on its stdout.");
        return;
    }
    cli_found(finding, CLI_FAIL, "%zu line%s on stdout %s no message; the first: %s",
              doctor->foreign, doctor->foreign == 1 ? "" : "s",
              doctor->foreign == 1 ? "is" : "are", doctor->first_foreign);
    cli_mend(finding, "Write logs to stderr: stdout belongs to the protocol.");
}

static void
check_stderr(struct cli_doctor *doctor, struct cli_finding *finding)
{
    if (doctor->error_bytes <= STDERR_BYTES) {
        cli_found(finding, CLI_PASS, "%zu bytes on stderr.", doctor->error_bytes);
        return;
    }
    cli_found(finding, CLI_WARN, "%zu bytes on stderr, for a few requests.",
              doctor->error_bytes);
    cli_mend(finding, "Log less by default: some hosts keep all of it.");
}

const struct cli_check cli_stdio_checks[] = {
    {"stdio.answers", "Answers the handshake", is_command, check_answers},
    {"stdio.ping", "Answers a ping", was_started, check_ping},
    {"stdio.unknown-method", "Refuses an unknown method", was_started, check_unknown},
    {"stdio.malformed", "Survives a malformed line", was_started, check_malformed},
    {"stdio.eof", "Exits when stdin ends", was_started, check_eof},
    {"stdio.term", "Exits on SIGTERM", was_started, check_term},
    {"stdio.orphans", "Leaves no processes behind", was_started, check_orphans},
    {"stdio.stdout", "Keeps stdout clean", was_started, check_stdout},
    {"stdio.stderr", "Keeps stderr short", was_started, check_stderr},
    {0},
};

void
cli_stdio_checks_done(struct cli_doctor *doctor)
{
    finish(doctor, &doctor->life);
    cli_text_done(&doctor->orphans);
    cli_text_done(&doctor->refusal);
}
