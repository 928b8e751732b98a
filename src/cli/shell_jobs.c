/* shell_jobs.c - calls that run in the background of the shell */
#include "cli/shell_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/do.h"
#include "cli/interrupt.h"
#include "cli/text.h"

struct cli_job {
    struct cli_jobs *jobs;
    struct cli_job *next;
    int number;
    char *title; /* harmless */
    mcp_scope *scope;
    mcp_call *call;
    int64_t began_ms;
    double progress, total; /* under lock */
    bool is_over;           /* under lock; its result can be had at once */
    bool is_watched;        /* under lock; it is in the foreground: its bar shows */
};

/* ---- on the threads of callbacks ------------------------------------------------ */

static void
on_progress(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    struct cli_job *job = user;
    bool is_watched;

    (void)call;
    pthread_mutex_lock(&job->jobs->lock);
    job->progress = progress;
    job->total = total;
    is_watched = job->is_watched;
    pthread_mutex_unlock(&job->jobs->lock);
    if (is_watched)
        cli_say_progress(&job->jobs->session->cli->say, progress, total, message);
}

static void
on_done(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct cli_job *job = user;
    ssize_t n;

    (void)call, (void)status, (void)reply;
    pthread_mutex_lock(&job->jobs->lock);
    job->is_over = true;
    n = write(job->jobs->wake[1], "", 1);
    (void)n; /* a full pipe is readable, too */
    pthread_mutex_unlock(&job->jobs->lock);
}

/* ---- one job --------------------------------------------------------------------- */

static void
job_free(struct cli_job *job)
{
    if (!job)
        return;
    mcp_call_free(job->call);
    mcp_scope_free(job->scope);
    free(job->title);
    free(job);
}

static bool
job_is_over(struct cli_job *job)
{
    bool is_over;

    pthread_mutex_lock(&job->jobs->lock);
    is_over = job->is_over;
    pthread_mutex_unlock(&job->jobs->lock);
    return is_over;
}

/* "[1] done: call add", among our own lines. */
static void
job_say(struct cli_job *job, const char *state)
{
    struct cli *cli = job->jobs->session->cli;
    struct cli_text line = {0};

    cli_text_printf(&line, "[%d] %s%s%s", job->number, state, *state ? ": " : "",
                    job->title);
    if (cli->say.is_json)
        cli_note(&cli->say, "%s", cli_text_string(&line));
    else
        cli_say_line(&cli->say, cli_text_string(&line), line.length);
    cli_text_done(&line);
}

static void
jobs_remove(struct cli_jobs *jobs, struct cli_job *job)
{
    struct cli_job **at = &jobs->first;

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    job_free(job);
}

/* Waits for its end, says how it was, shows the result, and forgets the job. was_asked:
 * somebody wants it canceled, or waits for it with the power to. */
static int
job_finish(struct cli_job *job, bool was_asked)
{
    struct cli_session *session = job->jobs->session;
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    int code, r;

    r = mcp_call_wait(job->call, MCP_TIMEOUT_NONE, &reply, &err);
    if (r == 0) {
        bool failed = mcp_reply_is_error(reply);

        job_say(job, failed ? "failed" : "done");
        code = cli_show_result(session->cli, reply);
        (void)cli_flush(session->cli);
    } else if (r == MCP_E_CANCELED && was_asked) {
        code = cli_session_confirm(session, job->call, job->title, NULL);
        job_say(job, "canceled");
    } else {
        job_say(job, r == MCP_E_CANCELED ? "canceled" : "failed");
        code = cli_fail_data(session->cli, &err, mcp_call_error_data(job->call),
                             cli_exit_of(&err));
    }
    mcp_reply_free(reply);
    jobs_remove(job->jobs, job);
    return code;
}

static struct cli_job *
jobs_find(struct cli_jobs *jobs, const char *word)
{
    struct cli_job *job = jobs->first;
    char *end;
    long number;

    if (!word) {
        while (job && job->next)
            job = job->next;
        return job;
    }
    word += *word == '%';
    number = strtol(word, &end, 10);
    while (job && (end == word || *end != '\0' || job->number != number))
        job = job->next;
    return job;
}

static int
fail_none(struct cli_jobs *jobs, const char *word)
{
    if (word)
        return cli_fail_with(jobs->session->cli, CLI_OTHER,
                             "there is no job %s; jobs lists them", word);
    return cli_fail_with(jobs->session->cli, CLI_OTHER, "there are no jobs");
}

/* ---- all of them ----------------------------------------------------------------- */

int
cli_jobs_init(struct cli_jobs *jobs, struct cli_session *session)
{
    *jobs = (struct cli_jobs){.session = session, .wake = {-1, -1}};
    if (pipe2(jobs->wake, O_CLOEXEC | O_NONBLOCK) != 0)
        return MCP_E_LIMIT;
    (void)pthread_mutex_init(&jobs->lock, NULL);
    return 0;
}

void
cli_jobs_done(struct cli_jobs *jobs)
{
    if (jobs->wake[0] < 0)
        return;
    while (jobs->first)
        jobs_remove(jobs, jobs->first);
    close(jobs->wake[0]);
    close(jobs->wake[1]);
    pthread_mutex_destroy(&jobs->lock);
}

/* A new one with the lowest number that is free, at its place in the list. */
static struct cli_job *
jobs_add(struct cli_jobs *jobs, const char *title)
{
    struct cli_job *job = calloc(1, sizeof(*job));
    struct cli_job **at = &jobs->first;
    struct cli_text text = {0};
    int number = 1;

    if (!job)
        return NULL;
    cli_text_add_harmless(&text, title, strlen(title), true);
    job->title = strdup(cli_text_string(&text));
    cli_text_done(&text);
    if (!job->title || mcp_scope_new(NULL, &job->scope) < 0) {
        job_free(job);
        return NULL;
    }
    while (*at && (*at)->number == number) {
        at = &(*at)->next;
        number++;
    }
    job->jobs = jobs;
    job->number = number;
    job->began_ms = cli_now_ms();
    job->next = *at;
    *at = job;
    return job;
}

int
cli_jobs_start(struct cli_jobs *jobs, const char *tool, const char *arguments,
               const char *title)
{
    struct cli_session *session = jobs->session;
    mcp_call_options opt = cli_session_call_options(session);
    struct cli_job *job = jobs_add(jobs, title);
    mcp_error err = {0};

    if (!job)
        return cli_fail_with(session->cli, CLI_OTHER, "out of memory or descriptors");
    opt.scope = job->scope;
    opt.on_progress = on_progress;
    opt.user = job;
    err.status = mcp_client_start_tool(session->client, tool, arguments, &opt, on_done,
                                       job, &job->call);
    if (err.status < 0) {
        (void)snprintf(err.message, sizeof(err.message), "%s",
                       mcp_status_text(err.status));
        jobs_remove(jobs, job);
        return cli_fail(session->cli, &err);
    }
    job_say(job, "");
    return CLI_OK;
}

size_t
cli_jobs_running(struct cli_jobs *jobs)
{
    size_t count = 0;

    for (struct cli_job *job = jobs->first; job; job = job->next)
        count += !job_is_over(job);
    return count;
}

size_t
cli_jobs_count(const struct cli_jobs *jobs)
{
    size_t count = 0;

    for (const struct cli_job *job = jobs->first; job; job = job->next)
        count++;
    return count;
}

int
cli_jobs_number(const struct cli_jobs *jobs, size_t index)
{
    const struct cli_job *job = jobs->first;

    while (job && index > 0) {
        job = job->next;
        index--;
    }
    return job ? job->number : 0;
}

int
cli_jobs_fd(const struct cli_jobs *jobs)
{
    return jobs->wake[0];
}

/* The first that is over, or NULL. The pipe is emptied first: whoever ends afterwards
 * writes to it anew. */
static struct cli_job *
jobs_next_over(struct cli_jobs *jobs)
{
    struct cli_job *job;
    char bytes[64];

    while (read(jobs->wake[0], bytes, sizeof(bytes)) > 0)
        continue;
    job = jobs->first;
    while (job && !job_is_over(job))
        job = job->next;
    return job;
}

bool
cli_jobs_report(struct cli_jobs *jobs)
{
    struct cli_job *job = jobs_next_over(jobs);
    bool any = job != NULL;

    while (job) {
        (void)job_finish(job, false);
        job = jobs_next_over(jobs);
    }
    return any;
}

/* ---- the list -------------------------------------------------------------------- */

/* What is known of it at one moment. */
struct look {
    bool is_over;
    double seconds, progress, total;
};

static struct look
job_look(struct cli_job *job)
{
    struct look look = {.seconds = (double)(cli_now_ms() - job->began_ms) / 1000};

    pthread_mutex_lock(&job->jobs->lock);
    look.is_over = job->is_over;
    look.progress = job->progress;
    look.total = job->total;
    pthread_mutex_unlock(&job->jobs->lock);
    return look;
}

static int
list_json(struct cli_jobs *jobs)
{
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc = NULL;
    int code = CLI_OTHER;

    mcp_builder_begin_array(b, NULL);
    for (struct cli_job *job = jobs->first; job; job = job->next) {
        struct look look = job_look(job);

        mcp_builder_begin_object(b, NULL);
        mcp_builder_int(b, "job", job->number);
        mcp_builder_string(b, "state", look.is_over ? "ended" : "running");
        mcp_builder_real(b, "seconds", look.seconds);
        mcp_builder_real(b, "progress", look.progress);
        if (look.total > 0)
            mcp_builder_real(b, "total", look.total);
        mcp_builder_string(b, "call", job->title);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
    if (mcp_builder_parse(b, &doc) == 0)
        code = cli_print_json(jobs->session->cli, mcp_doc_root(doc));
    mcp_doc_free(doc);
    mcp_builder_free(b);
    return code;
}

int
cli_jobs_list(struct cli_jobs *jobs)
{
    struct cli *cli = jobs->session->cli;
    bool ok = true;

    if (cli->json)
        return list_json(jobs);
    for (struct cli_job *job = jobs->first; job; job = job->next) {
        struct look look = job_look(job);

        ok = cli_printf(cli, "[%d] %-7s %6.1f s", job->number,
                        look.is_over ? "ended" : "running", look.seconds);
        if (look.total > 0)
            ok = cli_printf(cli, " %3.0f%%", 100 * look.progress / look.total) && ok;
        else if (look.progress > 0)
            ok = cli_printf(cli, " %g", look.progress) && ok;
        ok = cli_printf(cli, "  %s\n", job->title) && ok;
    }
    return ok && cli_flush(cli) ? CLI_OK : CLI_OTHER;
}

/* ---- waiting and canceling ------------------------------------------------------- */

/* Waits for its end, with its progress shown: what is known of it, and what comes. */
static void
job_watch(struct cli_job *job)
{
    struct cli_say *say = &job->jobs->session->cli->say;
    struct look look = job_look(job);

    if (look.progress > 0)
        cli_say_progress(say, look.progress, look.total, NULL);
    pthread_mutex_lock(&job->jobs->lock);
    job->is_watched = true;
    pthread_mutex_unlock(&job->jobs->lock);
    (void)mcp_call_wait(job->call, MCP_TIMEOUT_NONE, NULL, NULL);
    cli_say_progress_end(say);
}

int
cli_jobs_foreground(struct cli_jobs *jobs, const char *word)
{
    struct cli_job *job = jobs_find(jobs, word);
    int code;

    if (!job)
        return fail_none(jobs, word);
    job_say(job, "");
    cli_interrupt_scope(job->scope);
    job_watch(job);
    cli_interrupt_scope(NULL); /* the scope goes with the job */
    code = job_finish(job, true);
    cli_interrupt_scope(jobs->session->cli->scope);
    return code;
}

int
cli_jobs_kill(struct cli_jobs *jobs, const char *word)
{
    struct cli_job *job = jobs_find(jobs, word);

    if (!job)
        return fail_none(jobs, word);
    (void)mcp_call_cancel(job->call, "killed in the shell");
    return job_finish(job, true);
}

/* Until one has ended; false: a signal came first. */
static bool
jobs_await(struct cli_jobs *jobs)
{
    struct pollfd fds[2] = {{.fd = jobs->wake[0], .events = POLLIN},
                            {.fd = cli_interrupt_fd(), .events = POLLIN}};
    int n;

    do
        n = poll(fds, 2, -1);
    while (n < 0 && errno == EINTR);
    return n > 0 && !fds[1].revents;
}

int
cli_jobs_wait(struct cli_jobs *jobs)
{
    struct cli *cli = jobs->session->cli;
    int code = CLI_OK;

    while (jobs->first) {
        struct cli_job *job = jobs_next_over(jobs);

        if (job) {
            int ended = job_finish(job, false);

            code = ended == CLI_OK ? code : ended;
        } else if (!jobs_await(jobs)) {
            return cli_fail_with(
                cli, CLI_CANCELED,
                "not waited for; the jobs go on (kill %%N cancels one)");
        }
    }
    return code;
}

int
cli_jobs_kill_all(struct cli_jobs *jobs)
{
    int code = CLI_OK;

    for (struct cli_job *job = jobs->first; job; job = job->next)
        (void)mcp_call_cancel(job->call, "the shell ends");
    while (jobs->first) {
        /* it takes that out of the list, NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        int ended = job_finish(jobs->first, true);

        code = ended == CLI_UNCONFIRMED ? ended : code;
    }
    return code;
}
