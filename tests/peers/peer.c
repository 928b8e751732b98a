/* peer.c - the frame of the cases */
#include "peer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
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

static int slow_count; /* begun and not ended */

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
    bool is_long = arguments == peer.kind->long_arguments && peer.kind->long_tool;
    const char *tool = is_long ? peer.kind->long_tool : peer.kind->slow_tool;
    int r;

    memset(slow, 0, sizeof(*slow));
    slow->client = client;
    opt.on_progress = slow_reports;
    opt.user = slow;
    r = mcp_client_start_tool(client, tool, arguments, &opt, NULL, NULL, &slow->call);
    slow_count++;
    return status_is(r, 0, NULL);
}

/* Where an answer is no stream, only the server can tell. */
static bool
slow_is_counted(struct slow *slow)
{
    struct stats now = {0};

    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        if (!stats_read(&now, slow->client))
            return false;
        if (now.running >= slow_count)
            return true;
        nap();
    }
    return because("%lld running instead of %d", (long long)now.running, slow_count);
}

bool
slow_runs(struct slow *slow)
{
    return peer.is_json ? slow_is_counted(slow) : slow_reported(slow, 1);
}

bool
slow_reported(struct slow *slow, int count)
{
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        if (atomic_load(&slow->count) >= count)
            return true;
        nap();
    }
    return because("%d reports instead of %d", atomic_load(&slow->count), count);
}

bool
slow_ends(struct slow *slow, int wanted)
{
    mcp_error err = {0};
    int64_t within_ms = PATIENCE_MS;
    bool ok;
    int r;

    /* a stream that could be resumed is not given up soon */
    if (wanted == MCP_E_CLOSED)
        within_ms *= 3;
    ok = status_is(mcp_call_wait(slow->call, within_ms, NULL, &err), wanted, &err);
    r = mcp_call_flush(slow->call, PATIENCE_MS);
    /* over HTTP there is a frame for who is gone, but it cannot be told */
    if (r != MCP_E_CLOSED || wanted != MCP_E_CLOSED || !peer.is_http)
        ok = ok && status_is(r, 0, NULL);
    slow_is_dropped(slow);
    return ok;
}

void
slow_is_dropped(struct slow *slow)
{
    mcp_call_free(slow->call);
    slow_count--;
}

/* ---- what handlers heard --------------------------------------------------------- */

/* Our own server has other names for the same. */
static int64_t
stat_read(const mcp_json *said, const char *name, const char *ours)
{
    const mcp_json *value = mcp_json_get(said, name);

    return mcp_json_int(value || !ours ? value : mcp_json_get(said, ours), -1);
}

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
    stats->running = stat_read(said, "running", "live_handlers");
    stats->finished = stat_read(said, "finished", "completed");
    stats->aborted = stat_read(said, "aborted", "cancelled");
    stats->lists = stat_read(said, "lists", NULL);
    stats->roots = stat_read(said, "roots", NULL);
    stats->sessions = stat_read(said, "sessions", NULL);
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
    slow_count = 0; /* what a failed case has left behind does not count */
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
        if (!is_left_out(cases->name))
            prove_one(cases, client);
}
