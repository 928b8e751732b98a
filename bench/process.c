/* process.c - server processes that are measured, and the core each runs on */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Cores: [0] is the driver's. */
static cpu_set_t cores[2], all_cores;

void
must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
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

void
descriptors_raise(void)
{
    struct rlimit limit;

    must(getrlimit(RLIMIT_NOFILE, &limit) == 0, "no limit of descriptors");
    limit.rlim_cur = limit.rlim_max;
    must(setrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit cannot be raised");
}

/* ---- beginning ------------------------------------------------------------- */

/* A program of ours stands beside this one. */
static void
program_exec(const char *const *argv, bool is_peer)
{
    const char *name = argv[0];
    char path[4096] = "";
    char *slash;
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    slash = n > 0 ? strrchr(path, '/') : NULL;
    if (!slash || is_peer)
        (void)snprintf(path, sizeof(path), "%s", name);
    else
        (void)snprintf(slash + 1, sizeof(path) - (size_t)(slash + 1 - path), "%s",
                       name);
    execvp(path, (char *const *)(const void *)argv);
}

static void
child_become(const struct process *process, const char *const *argv, bool is_peer,
             enum spot spot)
{
    const cpu_set_t *set = spot == ANY_CORE ? &all_cores : &cores[spot == OTHER_CORE];
    int null;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_DFL);
    if (sched_setaffinity(0, sizeof(*set), set) < 0 || dup2(process->its[0], 0) < 0 ||
        dup2(process->its[1], 1) < 0)
        _exit(127);
    if (is_peer) {
        null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null < 0 || dup2(null, 2) < 0)
            _exit(127);
    }
    program_exec(argv, is_peer);
    _exit(127);
}

void
process_open(struct process *process)
{
    int to[2], from[2];

    must(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0, "no pipes");
    *process = (struct process){.to = to[1], .from = from[0], .its = {to[0], from[1]}};
}

void
process_run(struct process *process, const char *const *argv, bool is_peer,
            enum spot spot)
{
    process->pid = fork();
    must(process->pid >= 0, "no process");
    if (process->pid == 0)
        child_become(process, argv, is_peer, spot);
    close(process->its[0]);
    close(process->its[1]);
    must(clock_getcpuclockid(process->pid, &process->clock) == 0,
         "no clock of a server");
}

/* ---- measuring ------------------------------------------------------------- */

double
process_cpu(const struct process *process)
{
    return clock_us(process->clock);
}

long
process_memory(const struct process *process, const char *key)
{
    char path[64], line[256];
    long kb = -1;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%ld/status", (long)process->pid);
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

/* ---- end ------------------------------------------------------------------- */

void
process_wait(struct process *process)
{
    int status = 0;

    must(waitpid(process->pid, &status, 0) == process->pid, "a server is gone");
    must(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a server failed at its end");
}

void
process_kill(struct process *process)
{
    close(process->to);
    close(process->from);
    (void)kill(process->pid, SIGKILL);
    waitpid(process->pid, NULL, 0);
}
