/* api/isolated_tools.h - the tools of isolated_test.c, as they run in its helpers */
#ifndef TESTS_API_ISOLATED_TOOLS_H
#define TESTS_API_ISOLATED_TOOLS_H

#include <fcntl.h>
#include <mcp/ask.h>
#include <mcp/isolate.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void
moment(void)
{
    const struct timespec brief = {0, 500000};

    nanosleep(&brief, NULL);
}

static int
echo(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    return mcp_result_textf(
        out, "<%s> as %s",
        mcp_json_string(mcp_json_get(mcp_request_arguments(req), "text"), "nothing"),
        mcp_request_principal(req));
}

/* Says that it runs, and goes on when the file is there; a cancel is not its thing. */
static int
wait_for_file(mcp_request *req, mcp_result *out, void *user)
{
    const char *path = mcp_json_string(mcp_json_get(mcp_request_arguments(req), "path"),
                                       "");

    (void)user;
    (void)mcp_request_progress(req, 1, 0, "waiting");
    while (access(path, F_OK) < 0)
        moment();
    return mcp_result_text(out, "seen");
}

static void
unlink_late(void *user)
{
    moment(); /* the longer it takes the more it proves */
    unlink(user);
    free(user);
}

/* Its clean-up comes after its return, and belongs to it. */
static int
tidy_up(mcp_request *req, mcp_result *out, void *user)
{
    const char *path = mcp_json_string(mcp_json_get(mcp_request_arguments(req), "path"),
                                       "");

    (void)user;
    (void)mcp_request_defer(req, unlink_late, strdup(path));
    return mcp_result_text(out, "tidied");
}

static int
ask(mcp_request *req, mcp_result *out, void *user)
{
    int r = mcp_request_elicit(req, "q",
                               &MCP_ELICIT(.message = "who?", .schema = "{}"));

    (void)user;
    return mcp_result_textf(out, "asked: %d, can ask: %d", r,
                            mcp_request_can_ask(req, MCP_ASK_FORM));
}

static int
speak(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    (void)mcp_request_log(req, MCP_SEVERITY_WARNING, "tool", "to %s", "whom");
    (void)mcp_request_progress(req, 1, 2, "half");
    return mcp_result_text(out, "spoke");
}

/* Prints where a careless tool would. */
static int
print(mcp_request *req, mcp_result *out, void *user)
{
    ssize_t n;

    (void)req, (void)user;
    n = write(STDOUT_FILENO, "{\"one\":1}\n", 10);
    n += write(STDIN_FILENO, "{\"null\":0}\n", 11);
    printf("and so on\n");
    fflush(stdout);
    return mcp_result_textf(out, "printed %d", (int)n);
}

/* A daemon, as daemons are made, that sleeps. */
static int
leave(mcp_request *req, mcp_result *out, void *user)
{
    int ends[2] = {-1, -1};
    pid_t pid, daemon = 0;

    (void)req, (void)user;
    if (pipe(ends) < 0)
        return MCP_E_LIMIT;
    pid = fork();
    if (pid == 0) {
        setsid();
        daemon = fork();
        if (daemon == 0)
            for (;;)
                pause();
        _exit(write(ends[1], &daemon, sizeof(daemon)) < 0);
    }
    (void)waitpid(pid, NULL, 0);
    (void)!read(ends[0], &daemon, sizeof(daemon));
    close(ends[0]);
    close(ends[1]);
    if (mcp_json_get(mcp_request_arguments(req), "fail"))
        return mcp_request_fail(req, -32000, NULL, "%d", (int)daemon);
    return mcp_result_textf(out, "%d", (int)daemon);
}

/* A child that is dead and that nobody has waited for. */
static int
forget(mcp_request *req, mcp_result *out, void *user)
{
    siginfo_t seen = {0};
    pid_t pid = fork();

    (void)req, (void)user;
    if (pid == 0)
        _exit(0);
    (void)waitid(P_PID, (id_t)pid, &seen, WEXITED | WNOWAIT);
    return mcp_result_textf(out, "%d", (int)pid);
}

static int
limits(mcp_request *req, mcp_result *out, void *user)
{
    struct rlimit cpu, files, bytes, memory;

    (void)req, (void)user;
    getrlimit(RLIMIT_CPU, &cpu);
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_FSIZE, &bytes);
    getrlimit(RLIMIT_AS, &memory);
    return mcp_result_textf(
        out, "cpu %s files %d %d of %d %d memory %s %s",
        cpu.rlim_cur < cpu.rlim_max && cpu.rlim_cur <= 17 ? "set" : "none",
        (int)files.rlim_cur, (int)files.rlim_max, (int)bytes.rlim_cur,
        (int)bytes.rlim_max, memory.rlim_cur == RLIM_INFINITY ? "none" : "set",
        memory.rlim_max == memory.rlim_cur ? "for good" : "soft");
}

static double
seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* Says what it may spend, and spends more than half a second of its own and of the
 * system's each: more than a second, though neither is one. */
static int
spend(mcp_request *req, mcp_result *out, void *user)
{
    static char zeros[1 << 20];
    volatile unsigned turns = 0;
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    struct rlimit cpu;
    struct rusage used;
    double left;

    (void)req, (void)user;
    getrlimit(RLIMIT_CPU, &cpu);
    getrusage(RUSAGE_SELF, &used);
    left = (double)cpu.rlim_cur - seconds_of(&used.ru_utime) -
           seconds_of(&used.ru_stime);
    while (seconds_of(&used.ru_utime) < 0.55 || seconds_of(&used.ru_stime) < 0.55) {
        if (seconds_of(&used.ru_stime) < 0.55)
            (void)!read(zero, zeros, sizeof(zeros));
        for (int i = 0; i < 10000 && seconds_of(&used.ru_utime) < 0.55; i++)
            turns++;
        getrusage(RUSAGE_SELF, &used);
    }
    close(zero);
    return mcp_result_textf(out, "may spend %s", left >= 7 ? "7 s" : "less than 7 s");
}

static int
burn(mcp_request *req, mcp_result *out, void *user)
{
    volatile unsigned turns = 0;

    (void)req, (void)out, (void)user;
    for (;;)
        turns++;
    return 0;
}

static int
square(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_json(out, "{\"side\":\"four\"}", 15);
}

static mcp_tool tools[16];
static size_t tool_count;

static void
tools_fill(void)
{
    static const mcp_isolate how = {.size = sizeof(how)};
    const mcp_tool all[] = {
        MCP_TOOL(.name = "plain", .run = echo),
        MCP_TOOL(.name = "echo", .run = echo, .isolate = &how),
        MCP_TOOL(.name = "wait", .run = wait_for_file, .isolate = &how),
        MCP_TOOL(.name = "tidy", .run = tidy_up, .isolate = &how),
        MCP_TOOL(.name = "ask", .run = ask, .isolate = &how),
        MCP_TOOL(.name = "speak", .run = speak, .isolate = &how),
        MCP_TOOL(.name = "print", .run = print, .isolate = &how),
        MCP_TOOL(.name = "leave", .run = leave, .isolate = &how),
        MCP_TOOL(.name = "forget", .run = forget, .isolate = &how),
        MCP_TOOL(.name = "limits", .run = limits, .isolate = &how),
        MCP_TOOL(.name = "spend", .run = spend, .isolate = &how),
        MCP_TOOL(.name = "burn", .run = burn, .isolate = &how),
        MCP_TOOL(.name = "square", .run = square, .isolate = &how,
                 .output_schema = "{\"type\":\"object\",\"properties\":"
                                  "{\"side\":{\"type\":\"integer\"}}}"),
    };

    tool_count = sizeof(all) / sizeof(all[0]);
    memcpy(tools, all, sizeof(all));
}

#endif
