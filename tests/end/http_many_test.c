/* http_many_test.c - probe-server over HTTP, and more clients than anybody has */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "end/http_probe.h"
#include "support/messages.h"

/* Clients at once; fewer where they are costly. */
#define AT_ONCE 50
#define DISCONNECTS 10000
#define STREAMS 10000
#define STREAMS_OF_SESSION 50

/* More than libc keeps of what was freed. */
#define GROWTH_KB 4096

/* Descriptors of server and test beside streams. */
#define SPARE 256

#define LISTEN_ALL                       \
    REQUEST("1", "subscriptions/listen", \
            "{\"notifications\":{\"resourcesListChanged\":true}," STAMP "}")

/* ---- one after the other ------------------------------------------------- */

static void
batch_leave(struct http_probe *p, int batch)
{
    static struct http_raw clients[AT_ONCE];

    for (int i = 0; i < AT_ONCE; i++)
        http_probe_call(p, &clients[i], NULL, "hang_async", "{\"seconds\":600}");
    if (batch % 4 != 0) /* else: before the server has looked */
        (void)http_probe_calm(p, AT_ONCE);
    for (int i = 0; i < AT_ONCE; i++) {
        if (i % 2)
            http_reset(&clients[i]);
        else
            http_close(&clients[i]);
    }
    (void)http_probe_calm(p, 0);
}

static void
F33_ten_thousand_disconnects_leave_nothing(void **state)
{
    struct http_probe p;
    struct probe_stats first, warm, s;

    http_probe_start(&p, *state);
    first = http_probe_stats(&p);
    for (int i = 0; i < 20; i++)
        batch_leave(&p, i);
    warm = http_probe_rest(&p, first.open_fds);
    for (int i = 20; i < DISCONNECTS / AT_ONCE; i++)
        batch_leave(&p, i);
    s = http_probe_rest(&p, first.open_fds);
    assert_int_equal(s.pool_free, 10);
    assert_int_equal(s.completed, 0);
    assert_int_equal(s.started, s.canceled);
    if (MEMORY_IS_REAL)
        assert_true(s.rss_kb < warm.rss_kb + GROWTH_KB);
    http_probe_alive(&p);
    http_probe_stop(&p);
}

/* ---- all at once --------------------------------------------------------- */

/* How many streams there may be: the limit of descriptors is raised as far as it goes,
 * for us and those we start. */
static int
streams_allowed(void)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur >= STREAMS + SPARE)
        return STREAMS;
    printf("only %ld descriptors are allowed here\n", (long)limit.rlim_cur);
    assert_true(limit.rlim_cur > 2 * SPARE);
    return (int)limit.rlim_cur - SPARE;
}

static void
listen_say(struct http_probe *p, struct http_raw *h)
{
    (void)p;
    http_post(h, &HTTP_POST(.era = MCP_ERA_MODERN, .method = "subscriptions/listen",
                            .body = LISTEN_ALL));
}

static void
hang_say(struct http_probe *p, struct http_raw *h)
{
    http_call(h,
              &HTTP_CALL(.era = p->way.era, .session = p->session, .tool = "hang_async",
                         .progress = true, .arguments = "{\"seconds\":600}"));
}

/* A session is good for some streams. */
static void
get_say(struct http_probe *p, struct http_raw *h)
{
    static int said;

    if (said++ % STREAMS_OF_SESSION == 0) {
        free(p->session);
        p->session = http_hello(h);
    }
    http_ask(h, "GET", p->session);
}

typedef void say_fn(struct http_probe *p, struct http_raw *h);

/* One client could not have as many. */
#define ADDRESSES 8

static void
holder_fail(int stream, int status)
{
    fprintf(stderr, "stream %d cannot be opened: %d\n", stream, status);
    _exit(1);
}

/* Streams of another process, which says when they are open, and then waits to be
 * killed. Assertions leave it: whoever waits for its word reads the end instead. */
static void
holder_run(struct http_probe *p, say_fn *say, int count, int ready)
{
    struct http_raw *all = calloc((size_t)count, sizeof(*all));

    if (!all || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        _exit(1);
    for (int from = 0; from < count; from += AT_ONCE) {
        int to = from + AT_ONCE < count ? from + AT_ONCE : count;

        for (int i = from; i < to; i++) {
            http_open_from(&all[i], p->port, 2 + i % ADDRESSES);
            say(p, &all[i]);
        }
        for (int i = from; i < to; i++)
            if (http_head(&all[i]) != 200 || http_field(&all[i], "Content-Length"))
                holder_fail(i, all[i].status);
    }
    if (write(ready, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static pid_t
holder_start(struct http_probe *p, say_fn *say, int count)
{
    char word = 0;
    int ready[2];
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ready[0]);
        holder_run(p, say, count, ready[1]);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &word, 1), 1);
    close(ready[0]);
    return pid;
}

static void
holder_kill(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

struct memory {
    struct http_probe *probe;
    int64_t most_kb;
};

static bool
memory_is_back(void *user)
{
    struct memory *memory = user;

    return http_probe_stats(memory->probe).rss_kb < memory->most_kb;
}

static void
streams_come_and_go(void **state, say_fn *say, bool has_handlers)
{
    struct http_probe p;
    struct probe_stats first, full, s;
    int count = streams_allowed();
    pid_t pid;

    http_probe_start(&p, *state);
    first = http_probe_stats(&p);
    pid = holder_start(&p, say, count);
    full = http_probe_stats(&p);
    assert_true(full.connections > count);
    assert_true(full.streams >= count);
    if (has_handlers)
        assert_int_equal(full.live_handlers, count);
    for (int i = 0; i < 2; i++) {
        holder_kill(pid);
        s = http_probe_rest(&p, first.open_fds);
        assert_int_equal(s.connections, 1);
        assert_int_equal(s.streams, 0);
        if (MEMORY_IS_REAL)
            wait_until(memory_is_back, &(struct memory){&p, first.rss_kb + GROWTH_KB});
        if (i == 0)
            pid = holder_start(&p, say, count);
    }
    http_probe_alive(&p);
    http_probe_stop(&p);
}

static void
H16_ten_thousand_listeners_leave_at_once(void **state)
{
    streams_come_and_go(state, listen_say, false);
}

static void
E18_ten_thousand_streams_leave_at_once(void **state)
{
    streams_come_and_go(state, hang_say, true);
}

static void
D12_ten_thousand_get_streams_leave_at_once(void **state)
{
    streams_come_and_go(state, get_say, false);
}

/* ---- no descriptors ------------------------------------------------------ */

#define DESCRIPTORS 48
#define CROWD 80
#define LOOKS 20

/* Does a thread of the process run, or want to? One that spins does at each look. */
static bool
is_running(pid_t pid)
{
    char path[64], text[512];
    const char *state;
    struct dirent *entry;
    bool is = false;
    FILE *file;
    DIR *dir;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    assert_non_null(dir);
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        (void)snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", (int)pid,
                       entry->d_name);
        file = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (!file)
            continue;
        state = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
        is = is || (state && (state[2] == 'R' || state[2] == 'D'));
        fclose(file);
    }
    closedir(dir);
    return is;
}

struct looks {
    pid_t pid;
    int quiet; /* in a row */
};

static bool
is_quiet(void *user)
{
    struct looks *looks = user;

    looks->quiet = is_running(looks->pid) ? 0 : looks->quiet + 1;
    return looks->quiet == LOOKS;
}

static void
C6_without_descriptors_it_neither_spins_nor_stops(void **state)
{
    struct http_way way = *(struct http_way *)*state;
    static struct http_raw crowd[CROWD];
    struct http_probe p;
    struct http_raw first;

    way.descriptors = DESCRIPTORS;
    http_probe_start(&p, &way);
    http_probe_open(&p, &first);
    http_probe_alive_on(&p, &first);
    for (int i = 0; i < CROWD; i++) /* plain: nobody shakes hands with the last ones */
        http_open_from(&crowd[i], p.port, 2 + i % ADDRESSES);
    http_probe_alive_on(&p, &first);
    wait_until(is_quiet, &(struct looks){.pid = p.server.pid});
    http_probe_alive_on(&p, &first);
    for (int i = 0; i < CROWD; i++)
        http_close(&crowd[i]);
    http_probe_alive(&p);
    http_probe_alive_on(&p, &first);
    http_close(&first);
    http_probe_stop(&p);
}

TEST_MAIN(ON_MODERN(F33_ten_thousand_disconnects_leave_nothing),
          ON_MODERN_JSON(F33_ten_thousand_disconnects_leave_nothing),
          ON_STATELESS(F33_ten_thousand_disconnects_leave_nothing),
          ON_MODERN(H16_ten_thousand_listeners_leave_at_once),
          ON_MODERN(E18_ten_thousand_streams_leave_at_once),
          ON_LEGACY(D12_ten_thousand_get_streams_leave_at_once),
          ON_ALL(C6_without_descriptors_it_neither_spins_nor_stops))
