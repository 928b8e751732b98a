/* target.c - a server process that is measured, and the cheapest client to drive it */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define META "io.modelcontextprotocol/"
#define NO_ID "100000000"

static const char modern_meta[] =
    ",\"_meta\":{\"" META "protocolVersion\":\"2026-07-28\",\"" META
    "clientInfo\":{\"name\":\"bench\",\"version\":\"1.0\"},\"" META
    "clientCapabilities\":{}}";

static const char initialize[] =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
    "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1.0\"}}}\n";

static const char initialized[] =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/* Cores: [0] is the driver's. */
static cpu_set_t cores[2], all_cores;

void
must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench-stdio: %s\n", what);
    exit(1);
}

/* ---- time and cores -------------------------------------------------------- */

static double
clock_us(clockid_t clock)
{
    struct timespec t;

    must(clock_gettime(clock, &t) == 0, "a clock cannot be read");
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

double
driver_cpu(void)
{
    return clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

double
clock_now(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

bool
driver_settle(void)
{
    int found = 0;

    must(sched_getaffinity(0, sizeof(all_cores), &all_cores) == 0, "no cores");
    /* from the last: the first ones serve the machine's interrupts */
    for (int i = CPU_SETSIZE - 1; i >= 0 && found < 2; i--) {
        if (CPU_ISSET(i, &all_cores))
            CPU_SET(i, &cores[found++]);
    }
    if (found == 1)
        cores[1] = cores[0];
    must(sched_setaffinity(0, sizeof(cores[0]), &cores[0]) == 0,
         "cannot stay on a core");
    (void)signal(SIGPIPE, SIG_IGN); /* a write says it */
    return found == 2;
}

double
target_cpu(const struct target *target)
{
    return clock_us(target->clock);
}

/* ---- starting -------------------------------------------------------------- */

/* A program of ours stands beside this one. */
static void
program_exec(const struct recipe *recipe)
{
    const char *name = recipe->argv[0];
    char path[4096] = "";
    char *slash;
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    slash = n > 0 ? strrchr(path, '/') : NULL;
    if (!slash || recipe->is_peer)
        (void)snprintf(path, sizeof(path), "%s", name);
    else
        (void)snprintf(slash + 1, sizeof(path) - (size_t)(slash + 1 - path), "%s",
                       name);
    execvp(path, (char *const *)(const void *)recipe->argv);
}

static void
child_become(const struct recipe *recipe, enum spot spot, int in, int out)
{
    const cpu_set_t *set = spot == ANY_CORE ? &all_cores : &cores[spot == OTHER_CORE];
    int null;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_DFL);
    if (sched_setaffinity(0, sizeof(*set), set) < 0 || dup2(in, 0) < 0 ||
        dup2(out, 1) < 0)
        _exit(127);
    if (recipe->is_peer) {
        null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null < 0 || dup2(null, 2) < 0)
            _exit(127);
    }
    program_exec(recipe);
    _exit(127);
}

static void
line_build(struct target *target, const struct recipe *recipe)
{
    int n = snprintf(target->line, sizeof(target->line),
                     "{\"jsonrpc\":\"2.0\",\"id\":" NO_ID ",\"method\":\"tools/call\","
                     "\"params\":{\"name\":\"%s\",\"arguments\":%s%s}}\n",
                     recipe->tool, recipe->arguments,
                     recipe->greeting == NO_WORDS ? modern_meta : "");

    must(n > 0 && (size_t)n < sizeof(target->line), "a call is longer than expected");
    target->length = (size_t)n;
    target->id_at = (size_t)(strstr(target->line, NO_ID) - target->line);
    memcpy(target->id, NO_ID, sizeof(NO_ID));
}

/* ---- lines ----------------------------------------------------------------- */

/* Write, and say if that was possible: a peer may be gone. */
static bool
lines_try_write(const struct target *target, const char *bytes, size_t left)
{
    ssize_t n;

    while (left > 0) {
        n = write(target->to, bytes, left);
        if (n < 0)
            return false;
        bytes += n;
        left -= (size_t)n;
    }
    return true;
}

static void
lines_write(const struct target *target, const char *bytes, size_t length)
{
    must(lines_try_write(target, bytes, length), "a server does not read");
}

/* One line and no more than that: nothing else is in flight. False: it ended. */
static bool
line_read(const struct target *target, char *line, size_t room)
{
    size_t length = 0;
    ssize_t n;

    do {
        must(length < room - 1, "an answer is longer than expected");
        n = read(target->from, line + length, room - 1 - length);
        if (n <= 0)
            return false;
        length += (size_t)n;
    } while (line[length - 1] != '\n');
    line[length] = '\0';
    return true;
}

static void
id_next(struct target *target)
{
    size_t i = sizeof(NO_ID) - 2;

    while (target->id[i] == '9')
        target->id[i--] = '0';
    target->id[i]++;
}

/* Lines for the next calls, side by side. */
static size_t
lines_fill(struct target *target, char *into, int calls)
{
    for (int i = 0; i < calls; i++) {
        id_next(target);
        memcpy(into, target->line, target->length);
        memcpy(into + target->id_at, target->id, sizeof(NO_ID) - 1);
        into += target->length;
    }
    return target->length * (size_t)calls;
}

static int
newlines_count(const char *bytes, size_t length)
{
    const char *end = bytes + length;
    int count = 0;

    while (bytes < end) {
        bytes = memchr(bytes, '\n', (size_t)(end - bytes));
        if (!bytes)
            break;
        bytes++;
        count++;
    }
    return count;
}

/* ---- calls ----------------------------------------------------------------- */

static bool
check(struct target *target, const struct recipe *recipe)
{
    char line[LINE_ROOM * 4], id[32];
    size_t length = lines_fill(target, line, 1);

    if (!lines_try_write(target, line, length) ||
        !line_read(target, line, sizeof(line)))
        return false;
    (void)snprintf(id, sizeof(id), "\"id\":%s", target->id);
    if (strstr(line, id) && strstr(line, recipe->expected))
        return true;
    fprintf(stderr, "bench-stdio: unexpected from %s: %s", recipe->argv[0], line);
    return false;
}

void
target_check(struct target *target, const struct recipe *recipe)
{
    must(check(target, recipe), "a call was not answered well");
}

void
target_call(struct target *target, long calls)
{
    char line[LINE_ROOM], answer[LINE_ROOM * 4];

    for (long i = 0; i < calls; i++) {
        lines_write(target, line, lines_fill(target, line, 1));
        must(line_read(target, answer, sizeof(answer)), "a server has ended");
    }
}

void
target_flood(struct target *target, long calls)
{
    static char lines[IN_FLIGHT * LINE_ROOM], answers[1 << 18];
    long unsent = calls;
    long unanswered = calls;
    long room = IN_FLIGHT;
    ssize_t n;

    while (unanswered > 0) {
        if (room > unsent)
            room = unsent;
        lines_write(target, lines, lines_fill(target, lines, (int)room));
        unsent -= room;
        n = read(target->from, answers, sizeof(answers));
        must(n > 0, "a server has ended");
        room = newlines_count(answers, (size_t)n);
        unanswered -= room;
    }
}

/* ---- beginning and end ----------------------------------------------------- */

static bool
target_greet(struct target *target, const struct recipe *recipe)
{
    char line[LINE_ROOM * 4];

    if (recipe->greeting == NO_WORDS)
        return check(target, recipe);
    if (!line_read(target, line, sizeof(line)))
        return false;
    return recipe->greeting == ONE_LINE ||
           lines_try_write(target, initialized, sizeof(initialized) - 1);
}

bool
target_start(struct target *target, const struct recipe *recipe, enum spot spot)
{
    int to[2], from[2];

    line_build(target, recipe);
    must(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0, "no pipes");
    target->to = to[1];
    target->from = from[0];
    if (recipe->greeting !=
        NO_WORDS) /* waits in the pipe: the server is not waited for twice */
        lines_write(target, initialize, sizeof(initialize) - 1);
    target->pid = fork();
    must(target->pid >= 0, "no process");
    if (target->pid == 0)
        child_become(recipe, spot, to[0], from[1]);
    close(to[0]);
    close(from[1]);
    must(clock_getcpuclockid(target->pid, &target->clock) == 0, "no clock of a server");
    if (target_greet(target, recipe))
        return true;
    close(target->to);
    close(target->from);
    (void)kill(target->pid, SIGKILL);
    waitpid(target->pid, NULL, 0);
    return false;
}

void
target_stop(struct target *target)
{
    char rest[LINE_ROOM];
    int status = 0;

    close(target->to);
    must(read(target->from, rest, sizeof(rest)) == 0, "a server said too much");
    close(target->from);
    must(waitpid(target->pid, &status, 0) == target->pid, "a server is gone");
    must(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a server failed at its end");
}

long
target_memory(const struct target *target, const char *key)
{
    char path[64], line[256];
    long kb = -1;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%ld/status", (long)target->pid);
    file = fopen(path, "re");
    must(file != NULL, "no status of a server");
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, key, strlen(key)) == 0)
            kb = strtol(line + strlen(key), NULL, 10);
    }
    fclose(file);
    must(kb >= 0, "no memory in the status of a server");
    return kb;
}
