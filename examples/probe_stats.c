/* probe_stats.c - probe-server looks at itself: what its `stats` says */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

#define STAT(member_, text_) \
    MCP_FIELD(struct probe_stats, member_, MCP_INT, MCP_REQUIRED, text_)

const mcp_field probe_stats_fields[] = {
    STAT(live_handlers, "handlers entered and not yet returned or finished"),
    STAT(started, "handlers entered, ever"),
    STAT(completed, "of these: ended without a cancel"),
    STAT(cancelled, "of these: ended after a cancel"),
    STAT(pool_free, "resources that nobody holds, of ten"),
    STAT(workers, "worker threads with something to do"),
    STAT(open_fds, "open descriptors"),
    STAT(rss_kb, "resident memory"),
    STAT(connections, "over HTTP"),
    STAT(sessions, "over HTTP, of 2025 and before"),
    STAT(streams, "over HTTP: answers that are open, and what GET listens to"),
    STAT(helpers, "processes of deaf_isolated"),
    STAT(busy_helpers, "of these: with a call, also one that was told to stop"),
    STAT(killed_helpers, "ever: those that had to be killed"),
    {0},
};

/* Where the system says what we have: opened when first asked, on whichever loop thread
 * that is, and then kept. Under the lock. */
static DIR *descriptors;
static int memory_fd = -1;
static pthread_mutex_t look_lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t
count_descriptors(void)
{
    int64_t entries = 0;

    if (!descriptors)
        descriptors = opendir("/proc/self/fd");
    if (!descriptors)
        return -1;
    rewinddir(descriptors);
    while (readdir(descriptors))
        entries++;
    return entries - 3; /* . and .. and the folder itself */
}

static int64_t
resident_kb(void)
{
    char line[128] = "";
    char *resident;

    if (memory_fd < 0)
        memory_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (pread(memory_fd, line, sizeof(line) - 1, 0) <= 0)
        return -1;
    resident = strchr(line, ' '); /* the second number */
    return resident ? strtol(resident, NULL, 10) * sysconf(_SC_PAGESIZE) / 1024 : -1;
}

void
probe_look(mcp_server *server, struct probe_stats *into)
{
    mcp_server_counts counts = {.size = sizeof(counts)};

    (void)mcp_server_count(server, &counts);
    into->workers = (int64_t)counts.busy_workers;
    into->connections = (int64_t)counts.connections;
    into->sessions = (int64_t)counts.sessions;
    into->streams = (int64_t)counts.streams;
    into->helpers = (int64_t)counts.helpers;
    into->busy_helpers = (int64_t)counts.busy_helpers;
    into->killed_helpers = (int64_t)counts.killed_helpers;
    pthread_mutex_lock(&look_lock);
    into->rss_kb = resident_kb();
    into->open_fds = count_descriptors();
    pthread_mutex_unlock(&look_lock);
}

void
probe_look_done(void)
{
    if (descriptors)
        closedir(descriptors);
    if (memory_fd >= 0)
        close(memory_fd);
}
