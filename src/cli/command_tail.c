/*
 * command_tail.c - mcpctl tail: what a server tells, as it happens, one JSON line each
 *
 * Events come on threads of the library; one lock keeps lines whole and counts them. The
 * main thread waits for the end: the count or the time is reached, the subscription is
 * over, a signal came, or nobody reads any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mcp/subscription.h>

#include "cli/clock.h"
#include "cli/interrupt.h"
#include "cli/session.h"

struct cli_tail {
    struct cli *cli;
    pthread_mutex_t lock;
    int64_t seen;    /* under lock */
    bool ended;      /* under lock: no more lines */
    bool has_stream; /* the subscription lives */
    int status;      /* why it does not */
    int wake[2];
};

static void
wake(struct cli_tail *tail)
{
    ssize_t n = write(tail->wake[1], "", 1);

    (void)n; /* a full pipe is readable, too */
}

/* "2026-07-28T12:00:00.123Z". */
static void
time_write(char into[32])
{
    struct timespec now;
    struct tm tm;
    size_t n;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    n = strftime(into, 32, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(into + n, 32 - n, ".%03ldZ", now.tv_nsec / 1000000);
}

/* One line: {"at":...,"method":...,"params":...}. */
static void
event_print(struct cli_tail *tail, const char *method, const mcp_json *params)
{
    struct cli *cli = tail->cli;
    mcp_builder *b = mcp_builder_new(NULL);
    const char *text;
    char at[32];
    size_t length;

    time_write(at);
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "at", at);
    mcp_builder_string(b, "method", method);
    if (params)
        mcp_builder_value(b, "params", params);
    mcp_builder_end(b);
    text = mcp_builder_text(b, &length);
    pthread_mutex_lock(&tail->lock);
    if (text && !tail->ended && cli_interrupt_signal() == 0) {
        tail->ended = !cli_write(cli, text, length) || !cli_write(cli, "\n", 1) ||
                      !cli_flush(cli);
        tail->seen++;
        tail->ended = tail->ended ||
                      (cli->options.count > 0 && tail->seen >= cli->options.count);
        if (tail->ended)
            wake(tail);
    }
    pthread_mutex_unlock(&tail->lock);
    mcp_builder_free(b);
}

static void
on_end(mcp_subscription *s, enum mcp_subscription_end how, int status, void *user)
{
    struct cli_tail *tail = user;

    (void)s;
    pthread_mutex_lock(&tail->lock);
    tail->has_stream = false;
    tail->status = how == MCP_SUBSCRIPTION_GRACEFUL ? 0 : status;
    wake(tail);
    pthread_mutex_unlock(&tail->lock);
}

/* The options of the client have one `user`, which is the cli; its tail is there. */
static struct cli_tail *
tail_of(void *user)
{
    return ((struct cli *)user)->watching;
}

/* What has changed comes here once, in both eras; to a subscription it is told as well,
 * and what a legacy server says beyond that is not. */
static void
on_change(mcp_client *client, enum mcp_change change, const char *uri, void *user)
{
    const char *method = change == MCP_TOOLS_CHANGED
                             ? "notifications/tools/list_changed"
                         : change == MCP_PROMPTS_CHANGED
                             ? "notifications/prompts/list_changed"
                         : change == MCP_RESOURCES_CHANGED
                             ? "notifications/resources/list_changed"
                             : "notifications/resources/updated";
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc = NULL;

    (void)client;
    if (change == MCP_RESOURCE_UPDATED) {
        mcp_builder_begin_object(b, NULL);
        mcp_builder_string(b, "uri", uri);
        mcp_builder_end(b);
        (void)mcp_builder_parse(b, &doc);
    }
    event_print(tail_of(user), method, mcp_doc_root(doc));
    mcp_doc_free(doc);
    mcp_builder_free(b);
}

static void
on_event(mcp_subscription *s, const mcp_notice *event, void *user)
{
    (void)s;
    (void)event; /* see on_change */
    (void)user;
}

static void
on_message(mcp_client *client, enum mcp_severity severity, const char *logger,
           const mcp_json *data, void *user)
{
    static const char *const levels[] = {"none",     "debug",   "info",
                                         "notice",   "warning", "error",
                                         "critical", "alert",   "emergency"};
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc = NULL;

    (void)client;
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "level", levels[severity]);
    if (logger)
        mcp_builder_string(b, "logger", logger);
    mcp_builder_value(b, "data", data);
    mcp_builder_end(b);
    if (mcp_builder_parse(b, &doc) == 0)
        event_print(tail_of(user), "notifications/message", mcp_doc_root(doc));
    mcp_doc_free(doc);
    mcp_builder_free(b);
}

static void
on_notification(mcp_client *client, const char *method, const mcp_json *params,
                void *user)
{
    (void)client;
    event_print(tail_of(user), method, params);
}

static void
adjust(mcp_client_options *opt, void *user)
{
    (void)user;
    opt->on_change = on_change;
    opt->on_message = on_message;
    opt->on_notification = on_notification;
}

/* ---- the wait ------------------------------------------------------------------ */

static void
await_end(struct cli_tail *tail)
{
    struct pollfd fds[2] = {{.fd = tail->wake[0], .events = POLLIN},
                            {.fd = cli_interrupt_fd(), .events = POLLIN}};
    int64_t until = cli_now_ms() + tail->cli->options.duration_ms, left = -1;
    int r;

    do {
        if (tail->cli->options.duration_ms > 0)
            left = until > cli_now_ms() ? until - cli_now_ms() : 0;
        r = poll(fds, 2, left > 1000000 ? 1000000 : (int)left);
    } while ((r < 0 && errno == EINTR) || (r == 0 && left > 0));
}

/* The legacy era has no request that could be canceled. */
static const char *
how_it_ended(const struct cli_session *session)
{
    if (cli_session_is_modern(session))
        return NULL;
    return session->cli->options.resources.count > 0 ? "resources/unsubscribe sent"
                                                     : "nothing to take back";
}

static int
verdict(struct cli_tail *tail, struct cli_session *session)
{
    mcp_error err = {0};
    bool lost;

    if (cli_interrupt_signal() || cli_interrupt_output_gone())
        return cli_session_confirm(session, NULL, "the subscription",
                                   how_it_ended(session));
    pthread_mutex_lock(&tail->lock);
    lost = !tail->has_stream && !tail->ended && tail->status < 0;
    err.status = tail->status;
    pthread_mutex_unlock(&tail->lock);
    if (!lost)
        return CLI_OK;
    (void)snprintf(err.message, sizeof(err.message), "the subscription was lost: %s",
                   mcp_status_text(err.status));
    return cli_fail(tail->cli, &err);
}

static int
follow(struct cli_tail *tail, struct cli_session *session)
{
    const struct cli_options *said = &tail->cli->options;
    const mcp_subscribe wish = MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED |
                                                      MCP_PROMPTS_CHANGED |
                                                      MCP_RESOURCES_CHANGED,
                                             .uris = said->resources.item,
                                             .scope = tail->cli->scope,
                                             .on_event = on_event, .on_end = on_end,
                                             .user = tail);
    mcp_subscription *s = NULL;
    mcp_error err = {0};

    tail->has_stream = true;
    if (mcp_client_subscribe(session->client, &wish, &s, &err) < 0) {
        if (err.status == MCP_E_CANCELED)
            return cli_session_confirm(session, NULL, "the subscription", NULL);
        return cli_fail(tail->cli, &err);
    }
    for (size_t i = 0; i < said->resources.count; i++) {
        if (!mcp_subscription_watches(s, said->resources.item[i]))
            cli_note(&tail->cli->say, "the server does not watch %s",
                     said->resources.item[i]);
    }
    await_end(tail);
    mcp_subscription_free(s);
    return verdict(tail, session);
}

static int
run(struct cli *cli, int argc, char **argv)
{
    struct cli_tail tail = {.cli = cli, .lock = PTHREAD_MUTEX_INITIALIZER};
    const struct cli_session_wish wish = {.adjust = adjust};
    struct cli_session session;
    int code;

    (void)argc;
    if (pipe2(tail.wake, O_CLOEXEC | O_NONBLOCK) != 0)
        return cli_fail_with(cli, CLI_OTHER, "no descriptors: %s", strerror(errno));
    cli->watching = &tail;
    code = cli_session_open(cli, argv[0], &wish, &session);
    if (code == CLI_OK) {
        code = follow(&tail, &session);
        cli_session_close(&session);
    }
    close(tail.wake[0]);
    close(tail.wake[1]);
    pthread_mutex_destroy(&tail.lock);
    return code;
}

#define AT(member) offsetof(struct cli_options, member)

static const struct cli_option options[] = {
    {"resource", "URI", NULL, CLI_LIST, AT(resources),
     "Also watch what this resource contains; may be said again"},
    {"count", "N", NULL, CLI_COUNT, AT(count), "End after that many events"},
    {"duration", "TIME", NULL, CLI_TIME, AT(duration_ms), "End after that time"},
    {0},
};

const struct cli_command cli_command_tail = {
    .name = "tail",
    .arguments = "TARGET",
    .summary = "Show what a server tells, as it happens",
    .text =
        "Holds a subscription open (subscriptions/listen; or the stream of a server of "
        "2025-11-25 and before) and writes one line of JSON for each event: lists that "
        "have changed, resources that were updated, log messages, and all other "
        "notifications. Until Ctrl-C, or as --count and --duration say.",
    .examples = "mcpctl tail ./my-server --resource file:///notes/today.md\n"
                "mcpctl tail https://example.com/mcp --count 1\n",
    .options = options,
    .least = 1,
    .most = 1,
    .words = {CLI_WORD_TARGET},
    .shows_log = true,
    .run = run,
};
