/*
 * isolated.c - inside a helper process: one tool, served to the program that started it
 *
 * A call is noted down on the loop, when it arrives, and struck out when its request
 * is over, on whatever thread that is: the clean-up of its handler has run by then too,
 * and a call whose handler never began is over as well. So who asks for our rest after
 * a cancel cannot overtake the handler.
 *
 * We are the subreaper of what the handler starts, so a daemon becomes our child and
 * one wait tells whether anything is left (tree.h has one thread in mind; here no
 * handler is running when we look, and nobody else waits for every child).
 *
 * The limits are set by the worker that is about to make the first call: all that a
 * helper needs for itself is mapped and open then, its own stack included.
 */
#include "api/isolated.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "api/request.h"
#include "base/mem.h"
#include "run/keeper.h"
#include "run/tree.h"

#define WIRE 3 /* as keeper.h has it */

/* What has passed the limits of the server is not refused here, whatever those are. */
#define MESSAGE_BYTES (SIZE_MAX / 4)

enum { WORD_NAME, WORD_MEMORY, WORD_CPU, WORD_FILES, WORD_FILE_BYTES, WORDS };

struct isolated {
    mcp_tool tool; /* as the program has it */
    rlim_t memory, cpu, files, file_bytes;
    rlim_t mapped, opened; /* when they were set; handler only, of which there is one */
    bool has_limits;       /* set already; likewise */
    pthread_mutex_t lock;
    mcp_request *call;    /* that is not over; under lock */
    mcp_request *resting; /* asks for our rest, and waits; under lock */
    bool left;            /* something outlived the last call, or there is not enough
                             for the next one; under lock */
};

/* ---- the tools of this program ------------------------------------------ */

/* Written before there are threads. */
static const mcp_tool *known;
static size_t known_count;

/* A program that was compiled with an earlier header has smaller ones. */
static const mcp_tool *
tool_at(const mcp_tool *tools, size_t index)
{
    return (const mcp_tool *)(const void *)((const char *)tools + index * tools->size);
}

/* One that is isolated. */
static bool
tool_find(const mcp_tool *tools, size_t count, const char *name, mcp_tool *ret_tool)
{
    for (size_t i = 0; tools && i < count; i++) {
        if (mcpi_options_read(ret_tool, sizeof(*ret_tool), tool_at(tools, i)) < 0)
            return false;
        if (ret_tool->isolate && ret_tool->name && strcmp(ret_tool->name, name) == 0)
            return true;
    }
    return false;
}

/* ---- limits ------------------------------------------------------------- */

/* At most what we may have anyway. */
static int
limit_set(int resource, rlim_t most, bool for_good)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        return MCP_E_STATE;
    if (limit.rlim_max != RLIM_INFINITY && most > limit.rlim_max)
        most = limit.rlim_max;
    limit.rlim_cur = most;
    if (for_good)
        limit.rlim_max = most;
    return setrlimit(resource, &limit) < 0 ? MCP_E_STATE : 0;
}

static rlim_t
limit_sum(rlim_t a, rlim_t b)
{
    return a > RLIM_INFINITY - b ? RLIM_INFINITY : a + b;
}

/* What this process has mapped; 0: the system does not say. */
static rlim_t
mapped_bytes(void)
{
    char line[64] = "";
    ssize_t n = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        n = read(fd, line, sizeof(line) - 1);
        (void)close(fd);
    }
    return n > 0 ? strtoull(line, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) : 0;
}

/* All below the first that is free. What leaks is in one row with them. */
static rlim_t
descriptors_used(void)
{
    int first = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (first < 0)
        return errno == EMFILE ? RLIM_INFINITY : 0;
    (void)close(first);
    return (rlim_t)first;
}

/* For good: nobody shall raise them again. */
static int
limits_set(struct isolated *self)
{
    int r = 0;

    self->mapped = mapped_bytes();
    self->opened = descriptors_used();
    if (self->memory > 0)
        r = self->mapped == 0
                ? MCP_E_STATE
                : limit_set(RLIMIT_AS, limit_sum(self->mapped, self->memory), true);
    if (r == 0 && self->files > 0)
        r = limit_set(RLIMIT_NOFILE, self->files, true);
    if (r == 0 && self->file_bytes > 0)
        r = limit_set(RLIMIT_FSIZE, self->file_bytes, true);
    return r;
}

static bool
is_half(rlim_t at_first, rlim_t now, rlim_t most)
{
    return now > at_first && most > at_first && now - at_first > (most - at_first) / 2;
}

/* Half of what it may have is kept by the calls so far: what they leak would be missing
 * in the next one, and in all that follow. */
static bool
limits_are_near(const struct isolated *self)
{
    struct rlimit files;

    if (!self->has_limits || getrlimit(RLIMIT_NOFILE, &files) < 0)
        return false;
    return is_half(self->opened, descriptors_used(), files.rlim_cur) ||
           (self->memory > 0 && is_half(self->mapped, mapped_bytes(),
                                        limit_sum(self->mapped, self->memory)));
}

/* Counted from now on, in whole seconds; the hard limit stays, so that there can be
 * another call. */
static int
cpu_limit(const struct isolated *self)
{
    struct timespec used;

    if (self->cpu == 0)
        return 0;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) < 0)
        return MCP_E_STATE;
    return limit_set(RLIMIT_CPU, limit_sum((rlim_t)used.tv_sec + 1, self->cpu), false);
}

/* What we do between two calls is on nobody's account. */
static void
cpu_unlimit(const struct isolated *self)
{
    if (self->cpu > 0)
        (void)limit_set(RLIMIT_CPU, RLIM_INFINITY, false);
}

/* ---- a call ------------------------------------------------------------- */

static int
rest_write(mcp_result *out, bool left)
{
    const char *text = left ? "{\"left\":true}" : "{\"left\":false}";

    return mcp_result_json(out, text, strlen(text));
}

/* Its request is over. */
static void
call_over(void *user)
{
    struct isolated *self = user;
    mcp_request *resting;
    int status;
    bool left;

    cpu_unlimit(self);
    left = mcpi_tree_reap(0, &status) || limits_are_near(self);
    if (left)
        (void)mcp_result_meta(mcp_request_result(self->call), MCPI_ISOLATED_LEFT,
                              "true");
    pthread_mutex_lock(&self->lock);
    self->call = NULL;
    self->left = left;
    resting = self->resting;
    self->resting = NULL;
    pthread_mutex_unlock(&self->lock);
    if (resting)
        mcp_request_finish(resting, rest_write(mcp_request_result(resting), left));
}

/* On the loop, before anything else of the request. */
static int
call_arrive(mcp_request *req, void *user)
{
    struct isolated *self = user;
    const mcp_json *who = mcp_json_get(mcp_request_meta(req), MCPI_ISOLATED_PRINCIPAL);
    bool busy;

    if (strcmp(mcp_request_method(req), "tools/call") != 0)
        return 0;
    req->x->caller.principal = mcp_json_string(who, ""); /* lives as long as x */
    req->x->caller.askable = false;
    pthread_mutex_lock(&self->lock);
    busy = self->call != NULL;
    if (!busy)
        self->call = req;
    pthread_mutex_unlock(&self->lock);
    if (busy)
        return mcp_request_fail(req, 0, NULL, "Internal error: the helper is busy");
    if (mcp_request_defer(req, call_over, self) == 0)
        return 0;
    call_over(self);
    return MCP_E_NOMEM;
}

static int
call_run(mcp_request *req, mcp_result *out, void *user)
{
    struct isolated *self = user;
    int r = self->has_limits ? 0 : limits_set(self);

    self->has_limits = r == 0;
    if (r == 0)
        r = cpu_limit(self);
    if (r < 0)
        return mcp_request_fail(req, 0, NULL, "Internal error: limits cannot be set");
    return self->tool.run(req, out, self->tool.user);
}

/* ---- our rest ----------------------------------------------------------- */

static int
rest_start(mcp_request *req, mcp_result *out, void *user)
{
    struct isolated *self = user;
    bool busy, taken, left;

    pthread_mutex_lock(&self->lock);
    busy = self->call != NULL;
    taken = self->resting != NULL;
    left = self->left;
    if (busy && !taken)
        self->resting = req;
    pthread_mutex_unlock(&self->lock);
    if (busy)
        return taken ? MCP_E_LIMIT : 0;
    mcp_request_finish(req, rest_write(out, left));
    return 0;
}

/* ---- serving ------------------------------------------------------------ */

/* 0 and 1 of the handler are others then, and the server ends with its client. */
static int
wire_take(mcp_server *server)
{
    if (dup2(WIRE, STDIN_FILENO) < 0 || dup2(WIRE, STDOUT_FILENO) < 0)
        return MCP_E_LIMIT;
    (void)close(WIRE);
    return mcp_server_attach_stdio(server, NULL);
}

static int
server_make(struct isolated *self, mcp_server **ret_server)
{
    const mcp_server_options opt = MCP_SERVER_OPTIONS(.name = "libmcp-helper",
                                                      .version = mcp_version(),
                                                      .era = MCP_ERA_MODERN,
                                                      .workers = 1, .drain_ms = -1,
                                                      .message_bytes = MESSAGE_BYTES,
                                                      .held_bytes = MESSAGE_BYTES);
    const mcp_middleware arrival = MCP_MIDDLEWARE(.before = call_arrive, .user = self);
    const mcp_method rest = MCP_METHOD(.name = MCPI_ISOLATED_REST, .start = rest_start,
                                       .user = self);
    mcp_tool tool = self->tool;
    int r;

    tool.isolate = NULL;
    tool.run = call_run;
    tool.user = self;
    tool.limit_ms = -1; /* the server has it */
    r = mcp_server_new(&opt, ret_server, NULL);
    if (r < 0)
        return r;
    r = mcp_server_use(*ret_server, &arrival);
    if (r == 0)
        r = mcp_server_add_tool(*ret_server, &tool, NULL);
    if (r == 0)
        r = mcp_server_add_method(*ret_server, &rest, NULL);
    if (r == 0)
        r = wire_take(*ret_server);
    return r;
}

/* A tool whose memory is counted is not charged for the arenas that glibc keeps for
 * each thread: 64 MiB of addresses each. */
static void
arenas_limit(const struct isolated *self)
{
#ifdef M_ARENA_MAX
    if (self->memory > 0)
        (void)mallopt(M_ARENA_MAX, 1);
#else
    (void)self;
#endif
}

static rlim_t
word_number(const char *word)
{
    return (rlim_t)strtoull(word, NULL, 10);
}

static bool
words_take(struct isolated *self, char *const *words, const mcp_tool *tools,
           size_t count)
{
    for (int i = 0; i < WORDS; i++)
        if (!words || !words[i])
            return false;
    self->memory = word_number(words[WORD_MEMORY]);
    self->cpu = word_number(words[WORD_CPU]);
    self->files = word_number(words[WORD_FILES]);
    self->file_bytes = word_number(words[WORD_FILE_BYTES]);
    return tool_find(tools, count, words[WORD_NAME], &self->tool) && self->tool.run;
}

/* A handler that is left must not be surprised by what goes at an exit. */
static _Noreturn void
isolated_leave(struct isolated *self, mcp_server *server)
{
    bool busy;

    pthread_mutex_lock(&self->lock);
    busy = self->call != NULL;
    pthread_mutex_unlock(&self->lock);
    if (busy)
        _exit(EXIT_SUCCESS);
    mcp_server_free(server);
    exit(EXIT_SUCCESS);
}

void
mcpi_isolated_serve(char *const *words, const mcp_tool *tools, size_t count)
{
    static struct isolated self = {.lock = PTHREAD_MUTEX_INITIALIZER};
    mcp_server *server = NULL;

    if (!words_take(&self, words, tools, count) || mcpi_tree_root() < 0)
        exit(EXIT_FAILURE);
    arenas_limit(&self);
    if (server_make(&self, &server) < 0 || mcp_server_run(server, NULL, NULL) < 0) {
        mcp_server_free(server);
        exit(EXIT_FAILURE);
    }
    isolated_leave(&self, server);
}

/* ---- entering ----------------------------------------------------------- */

/* Helpers are started on a thread of ours, whose descriptors must not be taken for a
 * stdin or stdout that the program has not got. So those are taken first, by what can
 * be used no more than a closed one: who needs it is told so all the same. */
static void
holes_fill(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
}

void
mcp_isolated_enter(int argc, char **argv, const mcp_tool *tools, size_t count)
{
    char **words = NULL;

    if (mcpi_keeper_enter(argc, argv, &words) > 0)
        mcpi_isolated_serve(words, tools, count);
    holes_fill();
    known = tools;
    known_count = count;
}

bool
mcpi_isolated_knows(const char *name)
{
    mcp_tool tool;

    return name && tool_find(known, known_count, name, &tool);
}
