/* probe.c - a client of the library's own and probe-server */
#include "end/probe.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <time.h>

void
probe_open(struct probe *p, enum mcp_era era)
{
    const char *const command[] = {PROBE_SERVER, NULL};
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0",
                                                     .era = era);
    mcp_error err = {0};
    int r;

    r = mcp_client_spawn(command, &me, &p->client, &err);
    if (r < 0)
        fail_msg("%s: %s", PROBE_SERVER, err.message);
}

void
probe_close(struct probe *p)
{
    pid_t pid = (pid_t)mcp_client_pid(p->client);

    mcp_client_free(p->client);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

static int64_t
stat_of(const mcp_reply *reply, const char *name)
{
    const mcp_json *value = mcp_json_get(mcp_reply_structured(reply), name);

    assert_int_equal(mcp_json_get_type(value), MCP_JSON_INTEGER);
    return mcp_json_int(value, -1);
}

struct probe_stats
probe_stats(struct probe *p)
{
    struct probe_stats s;
    mcp_reply *reply = NULL;

    assert_int_equal(mcp_client_call_tool(p->client, "stats", NULL, NULL, &reply, NULL),
                     0);
    s.live_handlers = stat_of(reply, "live_handlers");
    s.started = stat_of(reply, "started");
    s.completed = stat_of(reply, "completed");
    s.canceled = stat_of(reply, "cancelled");
    s.pool_free = stat_of(reply, "pool_free");
    s.workers = stat_of(reply, "workers");
    s.open_fds = stat_of(reply, "open_fds");
    s.rss_kb = stat_of(reply, "rss_kb");
    s.connections = stat_of(reply, "connections");
    s.sessions = stat_of(reply, "sessions");
    s.streams = stat_of(reply, "streams");
    s.helpers = stat_of(reply, "helpers");
    s.busy_helpers = stat_of(reply, "busy_helpers");
    s.killed_helpers = stat_of(reply, "killed_helpers");
    mcp_reply_free(reply);
    return s;
}

struct calm {
    struct probe *probe;
    struct probe_stats stats;
    int64_t live;
};

static bool
is_calm(void *user)
{
    struct calm *calm = user;

    calm->stats = probe_stats(calm->probe);
    return calm->stats.live_handlers == calm->live && calm->stats.workers <= calm->live;
}

struct probe_stats
probe_calm(struct probe *p, int64_t live)
{
    struct calm calm = {.probe = p, .live = live};

    wait_until(is_calm, &calm);
    return calm.stats;
}

void
probe_expect(struct probe *p, const char *tool, const char *arguments, const char *text)
{
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    int r;

    r = mcp_client_call_tool(p->client, tool, arguments, NULL, &reply, &err);
    if (r < 0)
        fail_msg("%s: %s", tool, err.message);
    assert_false(mcp_reply_is_error(reply));
    assert_string_equal(mcp_reply_text(reply), text);
    mcp_reply_free(reply);
}

void
wait_until(bool (*is_true)(void *user), void *user)
{
    const struct timespec moment = {0, 2000000};

    for (int waited = 0; waited < AWAIT_MS; waited += 2) {
        if (is_true(user))
            return;
        nanosleep(&moment, NULL);
    }
    fail_msg("it did not become true");
}

size_t
count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}
