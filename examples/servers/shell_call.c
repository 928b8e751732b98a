/*
 * shell_call.c - one call: the command runs, what it writes is shown, the result
 *
 * The library does the hard part (mcp_request_command): when the call is canceled, its
 * time is up or its client is gone, all that the command has started gets SIGTERM, and
 * after a grace SIGKILL; and if this server itself is killed, the process that stands
 * above the command ends it.
 */
#include "shell_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shell_text.h"

/* Of each of the two streams that many lines are shown as they come, and then one in a
 * second: enough to follow it by, and to see that it lives. The result has them all, up
 * to its own limit. */
#define LINES_SHOWN 1000

#define VALUE_MAX 65536 /* bytes of a variable; the kernel takes twice as much */
#define FOLDER_MAX 4095 /* bytes of a path, as the kernel has it */

enum { OUT, ERR, STREAMS };

struct stream {
    struct call *call;
    struct shell_text text;
    uint64_t lines, shown;
    time_t second; /* of the line that was shown last */
};

struct call {
    mcp_request *req;
    const struct shell_tool *tool;
    char **words, **env;
    char *cwd, *input;
    struct stream streams[STREAMS];
};

/* ---- what it writes, while it runs ---------------------------------------------- */

static bool
stream_shows(struct stream *stream)
{
    struct timespec now;

    stream->lines++;
    if (stream->lines > LINES_SHOWN) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec == stream->second)
            return false;
        stream->second = now.tv_sec;
    }
    stream->shown++;
    return true;
}

/* What these return is MCP_E_CANCELED after a cancel, and goes up from here through
 * mcp_request_command, which would have noticed by itself. */
static int
show_output(void *user, const char *line)
{
    struct stream *stream = user;

    if (!stream_shows(stream))
        return 0;
    return mcp_request_progress(stream->call->req, (double)stream->shown, 0, line);
}

static int
show_errors(void *user, const char *line)
{
    struct stream *stream = user;

    if (!stream_shows(stream))
        return 0;
    return mcp_request_log(stream->call->req, MCP_SEVERITY_INFO,
                           stream->call->tool->name, "%s", line);
}

static int
on_output(void *user, bool is_stderr, const char *bytes, size_t length)
{
    struct call *call = user;

    return shell_text_add(&call->streams[is_stderr ? ERR : OUT].text, bytes, length);
}

/* ---- the result ----------------------------------------------------------------- */

struct outcome {
    int64_t exit_code, signal;
    bool has_exited, was_signaled, timed_out, is_cut;
    const char *output, *errors;
};

const mcp_field shell_outcome_fields[] = {
    MCP_FIELD_WITH(struct outcome, exit_code, MCP_INT, 0, "if it has exited",
                   MCP_PRESENT(struct outcome, has_exited)),
    MCP_FIELD_WITH(struct outcome, signal, MCP_INT, 0, "if a signal has ended it",
                   MCP_PRESENT(struct outcome, was_signaled)),
    MCP_FIELD(struct outcome, timed_out, MCP_BOOL, MCP_REQUIRED,
              "its time was up, and it was ended"),
    MCP_FIELD(struct outcome, output, MCP_STRING, MCP_REQUIRED, "what it wrote"),
    MCP_FIELD(struct outcome, errors, MCP_STRING, MCP_REQUIRED,
              "what it wrote to stderr"),
    MCP_FIELD(struct outcome, is_cut, MCP_BOOL, MCP_REQUIRED,
              "it wrote more than what is here"),
    {0},
};

static bool
is_success(const struct shell_tool *tool, int64_t exit_code)
{
    for (size_t i = 0; i < tool->success_count; i++)
        if (tool->success[i] == exit_code)
            return true;
    return tool->success_count == 0 && exit_code == 0;
}

/* For the model in words, for programs as a struct. */
static int
outcome_write(const struct outcome *outcome, const struct shell_tool *tool,
              mcp_result *out)
{
    if (*outcome->output)
        mcp_result_text(out, outcome->output);
    if (*outcome->errors)
        mcp_result_textf(out, "stderr:\n%s", outcome->errors);
    if (outcome->is_cut)
        mcp_result_textf(out, "[cut: only the first %lld bytes are here]",
                         (long long)tool->max_output);
    if (outcome->timed_out)
        mcp_result_fail(out, "[ended: it was not done after %lld ms]",
                        (long long)tool->timeout_ms);
    else if (outcome->was_signaled)
        mcp_result_fail(out, "[ended by signal %d: %s]", (int)outcome->signal,
                        strsignal((int)outcome->signal));
    else if (!is_success(tool, outcome->exit_code))
        mcp_result_fail(out, "[exit status %d]", (int)outcome->exit_code);
    return mcp_result_struct(out, outcome);
}

static int
call_answer(struct call *call, const mcp_command_result *result, bool timed_out,
            mcp_result *out)
{
    struct stream *streams = call->streams;
    struct outcome outcome = {
        .timed_out = timed_out,
        .exit_code = result->exit_code,
        .signal = result->signal,
        .was_signaled = result->signal != 0,
        .has_exited = !timed_out && result->signal == 0,
    };
    int r;

    for (int i = OUT; i < STREAMS; i++) {
        r = shell_text_end(&streams[i].text);
        if (r < 0)
            return r;
    }
    outcome.output = streams[OUT].text.kept ? streams[OUT].text.kept : "";
    outcome.errors = streams[ERR].text.kept ? streams[ERR].text.kept : "";
    outcome.is_cut = result->is_cut || streams[OUT].text.is_cut ||
                     streams[ERR].text.is_cut;
    return outcome_write(&outcome, call->tool, out);
}

/* ---- the command ---------------------------------------------------------------- */

/* "NAME=value". A value that begins like a function was one to shells of old. */
static int
call_fill_variable(struct call *call, const char *name, const char *text,
                   char **ret_entry, mcp_error *err)
{
    const struct shell_text_bound bound = {name, VALUE_MAX};
    char *value;
    int r;

    *ret_entry = NULL;
    r = shell_template_fill(call->tool, mcp_request_arguments(call->req), &bound, text,
                            &value, err);
    if (r < 0 || !value)
        return r;
    if (shell_has_argument(text) && strncmp(value, "()", 2) == 0)
        r = shell_fault(err, "%s must not begin with ()", name);
    else if (asprintf(ret_entry, "%s=%s", name, value) < 0)
        r = MCP_E_NOMEM;
    free(value);
    return r;
}

static int
call_fill_env(struct call *call, mcp_error *err)
{
    const mcp_json *env = call->tool->env;
    mcp_json_iterator it;
    size_t count = 0;
    char *entry;
    int r = 0;

    call->env = calloc(mcp_json_count(env) + 1, sizeof(*call->env));
    if (!call->env)
        return MCP_E_NOMEM;
    for (it = mcp_json_each(env); r == 0 && mcp_json_next(&it);) {
        r = call_fill_variable(call, mcp_json_string(it.key, ""),
                               mcp_json_string(it.value, ""), &entry, err);
        if (r == 0 && entry)
            call->env[count++] = entry;
    }
    return r;
}

static int
call_fill(struct call *call, mcp_error *err)
{
    const mcp_json *arguments = mcp_request_arguments(call->req);
    const struct shell_tool *tool = call->tool;
    const struct shell_text_bound folder = {"the folder", FOLDER_MAX};
    const struct shell_text_bound input = {"the input", (size_t)tool->max_input};
    int r;

    r = shell_words_fill(tool, arguments, &call->words, err);
    if (r == 0)
        r = call_fill_env(call, err);
    if (r == 0)
        r = shell_template_fill(tool, arguments, &folder, tool->cwd, &call->cwd, err);
    if (r == 0)
        r = shell_template_fill(tool, arguments, &input, tool->input, &call->input,
                                err);
    return r;
}

static int
call_run(struct call *call, mcp_command_result *ret_result, mcp_error *err)
{
    const struct shell_tool *tool = call->tool;
    size_t input_length = call->input ? strlen(call->input) : 0;
    const mcp_command command = MCP_COMMAND(.argv = (const char *const *)call->words,
                                            .env = (const char *const *)call->env,
                                            .cwd = call->cwd, .input = call->input,
                                            .input_length = input_length,
                                            .max_output = (size_t)tool->max_output,
                                            .timeout_ms = tool->timeout_ms,
                                            .grace_ms = tool->grace_ms,
                                            .on_output = on_output, .user = call,
                                            .contained = true);

    return mcp_request_command(call->req, &command, ret_result, err);
}

static void
call_free(void *user)
{
    struct call *call = user;

    for (int i = OUT; i < STREAMS; i++)
        shell_text_done(&call->streams[i].text);
    shell_words_free(call->words);
    shell_words_free(call->env);
    free(call->cwd);
    free(call->input);
    free(call);
}

int
shell_call_run(mcp_request *req, mcp_result *out, void *user)
{
    const struct shell_tool *tool = user;
    struct call *call = calloc(1, sizeof(*call));
    mcp_command_result result = {0};
    mcp_error err = {0};
    int r = call ? mcp_request_defer(req, call_free, call) : MCP_E_NOMEM;

    if (r < 0) {
        free(call);
        return r;
    }
    call->req = req;
    call->tool = tool;
    for (int i = OUT; i < STREAMS; i++) {
        call->streams[i].call = call;
        shell_text_init(&call->streams[i].text, (size_t)tool->max_output,
                        i == OUT ? show_output : show_errors, &call->streams[i]);
    }
    r = call_fill(call, &err);
    if (r == 0)
        r = call_run(call, &result, &err);
    if (r == 0 || r == MCP_E_TIMEOUT)
        r = call_answer(call, &result, r == MCP_E_TIMEOUT, out);
    else if (r != MCP_E_CANCELED && err.message[0])
        r = mcp_result_fail(out, "%s", err.message);
    mcp_command_result_done(&result);
    return r;
}
