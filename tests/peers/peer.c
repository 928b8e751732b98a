/* peer.c - the frame of the cases */
#include "peer.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

struct peer peer;

static char reason[512];

bool
because(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (!reason[0])
        vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    return false;
}

const char *
because_nothing(void)
{
    static char said[sizeof(reason)];

    memcpy(said, reason, sizeof(said));
    reason[0] = '\0';
    return said;
}

bool
status_is(int status, int wanted, const mcp_error *err)
{
    if (status == wanted)
        return true;
    return because("%s instead of %s: %s", mcp_status_name(status),
                   mcp_status_name(wanted), err ? err->message : "");
}

void
nap(void)
{
    const struct timespec ten_ms = {0, 10000000};

    nanosleep(&ten_ms, NULL);
}

static void
print_log(void *user, enum mcp_log_level level, const char *line)
{
    (void)user, (void)level;
    atomic_fetch_add(&peer.warnings, 1);
    fprintf(stderr, "peer-client: %s\n", line);
}

bool
client_opens_with(mcp_client_options *opt, mcp_client **ret_client)
{
    mcp_error err = {0};

    opt->name = "peer-client";
    opt->version = "1.0";
    opt->era = peer.era;
    opt->quiet = peer.kind->quiet;
    opt->on_log = print_log;
    return status_is(mcp_client_spawn(peer.command, opt, ret_client, &err), 0, &err);
}

bool
client_opens(const char *discovery, mcp_client **ret_client)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.discovery = discovery);

    return client_opens_with(&opt, ret_client);
}

bool
is_gone(int64_t pid)
{
    siginfo_t info;

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD)
        return because("there is a child left");
    if (pid > 0 && (kill(-(pid_t)pid, 0) == 0 || errno != ESRCH))
        return because("there is something left of group %lld", (long long)pid);
    return true;
}

/* ---- calls ----------------------------------------------------------------------- */

bool
says(mcp_client *client, const char *tool, const char *arguments, const char *text)
{
    mcp_error err = {0};
    mcp_reply *reply;
    bool ok;
    int r;

    r = mcp_client_call_tool(client, tool, arguments, NULL, &reply, &err);
    if (r < 0)
        return status_is(r, 0, &err);
    ok = !mcp_reply_is_error(reply) && strstr(mcp_reply_text(reply), text);
    if (!ok)
        because("%s said \"%s\"", tool, mcp_reply_text(reply));
    mcp_reply_free(reply);
    return ok;
}

bool
has(mcp_client *client, const char *method, const char *params, const char *member)
{
    mcp_error err = {0};
    mcp_reply *reply;
    bool ok;
    int r;

    r = mcp_client_call(client, method, params, NULL, &reply, &err);
    if (r < 0)
        return status_is(r, 0, &err);
    ok = mcp_json_get(mcp_reply_result(reply), member) != NULL;
    mcp_reply_free(reply);
    return ok || because("%s has no %s", method, member);
}

bool
still_answers(mcp_client *client)
{
    return says(client, "echo", peer.kind->echo_arguments, "still there");
}

/* ---- slow calls ------------------------------------------------------------------ */

const mcp_call_options plain = {.size = sizeof(plain)};

static void
slow_reports(mcp_call *call, double value, double total, const char *message,
             void *user)
{
    struct slow *slow = user;

    (void)call, (void)message;
    if ((int)value <= atomic_load(&slow->last))
        atomic_store(&slow->fell, true);
    atomic_store(&slow->last, (int)value);
    atomic_store(&slow->total, (int)total);
    atomic_fetch_add(&slow->count, 1);
}

bool
slow_begins(struct slow *slow, mcp_client *client, mcp_call_options opt,
            const char *arguments)
{
    int r;

    memset(slow, 0, sizeof(*slow));
    opt.on_progress = slow_reports;
    opt.user = slow;
    r = mcp_client_start_tool(client, peer.kind->slow_tool, arguments, &opt, NULL, NULL,
                              &slow->call);
    return status_is(r, 0, NULL);
}

bool
slow_runs(struct slow *slow)
{
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        if (atomic_load(&slow->count) > 0)
            return true;
        nap();
    }
    return because("no progress in %d s", PATIENCE_MS / 1000);
}

bool
slow_ends(struct slow *slow, int wanted)
{
    mcp_error err = {0};
    bool ok;

    ok = status_is(mcp_call_wait(slow->call, PATIENCE_MS, NULL, &err), wanted, &err) &&
         status_is(mcp_call_flush(slow->call, PATIENCE_MS), 0, NULL);
    mcp_call_free(slow->call);
    return ok;
}

/* ---- what handlers heard --------------------------------------------------------- */

bool
stats_read(struct stats *stats, mcp_client *client)
{
    mcp_error err = {0};
    const mcp_json *said;
    mcp_reply *reply;
    int r;

    r = mcp_client_call_tool(client, "stats", NULL, NULL, &reply, &err);
    if (r < 0)
        return status_is(r, 0, &err);
    said = mcp_reply_structured(reply);
    stats->running = mcp_json_int(mcp_json_get(said, "running"), -1);
    stats->finished = mcp_json_int(mcp_json_get(said, "finished"), -1);
    stats->aborted = mcp_json_int(mcp_json_get(said, "aborted"), -1);
    stats->lists = mcp_json_int(mcp_json_get(said, "lists"), -1);
    stats->roots = mcp_json_int(mcp_json_get(said, "roots"), -1);
    snprintf(stats->reason, sizeof(stats->reason), "%s",
             mcp_json_string(mcp_json_get(said, "reason"), ""));
    mcp_reply_free(reply);
    return true;
}

/* So many more were told to stop, and none is running. */
static bool
stats_add_up(const struct stats *before, mcp_client *client, int calls)
{
    struct stats now = {0};

    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        if (!stats_read(&now, client))
            return false;
        if (now.running == 0 && now.aborted == before->aborted + calls)
            return true;
        nap();
    }
    return because("%lld running, %lld aborted instead of %lld", (long long)now.running,
                   (long long)now.aborted, (long long)before->aborted + calls);
}

static void
prove_one(const struct peer_case *the_case, mcp_client *client)
{
    struct stats before = {0};
    bool counts = peer.kind->tells && the_case->calls > 0;

    reason[0] = '\0';
    if ((!counts || stats_read(&before, client)) && the_case->run(client) &&
        (!counts || stats_add_up(&before, client, the_case->calls))) {
        printf("PASS %s\n", the_case->name);
    } else {
        peer.failures++;
        printf("FAIL %s %s\n", the_case->name, reason);
    }
    fflush(stdout);
}

void
prove(const struct peer_case *cases, mcp_client *client)
{
    for (; cases->name; cases++)
        prove_one(cases, client);
}
