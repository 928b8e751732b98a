/*
 * api/helper_fixture.h - a server with isolated tools, which are those of the test
 * program
 *
 * All of them have the same handler, which does what its argument `do` says (job_run),
 * and differ in how they are isolated. A job that takes its time says so first, as
 * progress, with its pid as the message.
 */
#ifndef TESTS_API_HELPER_FIXTURE_H
#define TESTS_API_HELPER_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <mcp/isolate.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "api/raw_client.h"
#include "support/gone.h"

/* ---- in a helper -------------------------------------------------------- */

static void
job_announce(mcp_request *req)
{
    char text[24];

    snprintf(text, sizeof(text), "pid %d", (int)getpid());
    (void)mcp_request_progress(req, 1, 0, text);
}

/* Hears of nothing; the test that failed to end it is over long before it ends. */
static void
job_be_deaf(void)
{
    for (int i = 0; i < 120; i++)
        sleep(1);
}

/* A sanitizer would make an exit of it. */
static void
job_die(int number)
{
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* A daemon, which is not of our session, and hears of nothing either. */
static int
job_leave(void)
{
    int ends[2];
    pid_t pid, daemon = 0;

    if (pipe(ends) < 0)
        return 0;
    pid = fork();
    if (pid == 0) {
        (void)setsid();
        daemon = fork();
        if (daemon == 0)
            job_be_deaf();
        _exit(write(ends[1], &daemon, sizeof(daemon)) < 0);
    }
    (void)waitpid(pid, NULL, 0);
    if (read(ends[0], &daemon, sizeof(daemon)) < 0)
        daemon = 0;
    close(ends[0]);
    close(ends[1]);
    return (int)daemon;
}

static int
job_tell(mcp_request *req, mcp_result *out)
{
    (void)mcp_request_log(req, MCP_SEVERITY_WARNING, "job", "log %d", 1);
    (void)mcp_request_log(req, MCP_SEVERITY_DEBUG, NULL, "unheard");
    (void)mcp_request_progress(req, 1.5, 20, "some");
    (void)mcp_request_log_json(req, MCP_SEVERITY_INFO, NULL, "{\"n\": 2}", 8);
    return mcp_result_text(out, "told");
}

/* Faster than anybody can hear it. */
static int
job_tell_much(mcp_request *req, mcp_result *out)
{
    for (int i = 1; i <= 100; i++) {
        (void)mcp_request_progress(req, i, 0, NULL);
        (void)mcp_request_log(req, MCP_SEVERITY_WARNING, NULL, "log %d", i);
    }
    return mcp_result_text(out, "told");
}

/* One of each kind. */
static int
job_give_all(mcp_result *out)
{
    mcp_result_text(out, "a text");
    mcp_result_annotate(out, MCP_FOR_USER, 0.5, NULL);
    mcp_result_image(out, "png", 3, "image/png");
    mcp_result_audio(out, "wav", 3, "audio/wav");
    mcp_result_resource_text(out, "file:///a", "text/plain", "inside");
    mcp_result_resource_link(out, "file:///b", "b", NULL, NULL, NULL);
    mcp_result_meta(out, "own/key", "{\"a\":[1,2]}");
    return mcp_result_json(out, "{\"n\":1}", 7);
}

/* What the handler can see of who asks. */
static int
job_look(mcp_request *req, mcp_result *out)
{
    const mcp_json *meta = mcp_request_meta(req);

    return mcp_result_textf(
        out, "trace %s own %lld forged %d principal \"%s\" env %s %s %s",
        mcp_request_traceparent(req) ? mcp_request_traceparent(req) : "none",
        (long long)mcp_json_int(mcp_json_get(meta, "own/number"), 0),
        mcp_json_get(meta, "libmcp/left") != NULL, mcp_request_principal(req),
        getenv("HELPER_OWN") ? getenv("HELPER_OWN") : "none",
        getenv("HELPER_SECRET") ? "secret" : "no secret",
        getenv("TZ") ? getenv("TZ") : "none");
}

/* Its socket, wherever that is. */
static void
job_hang_up(void)
{
    struct stat st;

    for (int fd = 0; fd < 256; fd++) {
        if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
            close(fd);
    }
}

/* Those that do not return, or not at once. */
static int
job_take_time(mcp_request *req, mcp_result *out, const char *what)
{
    int r = 0;

    job_announce(req);
    if (strcmp(what, "deaf") == 0) {
        job_be_deaf();
    } else if (strcmp(what, "wait") == 0) {
        r = mcp_request_sleep(req, 120000);
    } else if (strcmp(what, "tidy") == 0) {
        r = mcp_request_sleep(req, 120000);
        (void)unlink(
            mcp_json_string(mcp_json_get(mcp_request_arguments(req), "path"), ""));
    } else if (strcmp(what, "segv") == 0) {
        job_die(SIGSEGV);
    } else if (strcmp(what, "abort") == 0) {
        job_die(SIGABRT);
    } else if (strcmp(what, "xcpu") == 0) {
        (void)kill(getpid(), SIGXCPU); /* as the system does */
        job_be_deaf();
    } else if (strcmp(what, "exit") == 0) {
        _exit(3);
    } else if (strcmp(what, "hang up") == 0) {
        job_hang_up();
        job_be_deaf();
    }
    (void)out;
    return r;
}

static int
job_run(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *arguments = mcp_request_arguments(req);
    const char *what = mcp_json_string(mcp_json_get(arguments, "do"), "pid");
    char *text = NULL;
    int r;

    (void)user;
    if (strcmp(what, "pid") == 0)
        return mcp_result_textf(out, "pid %d", (int)getpid());
    if (strcmp(what, "echo") == 0) {
        r = mcp_json_print(arguments, false, NULL, &text, NULL);
        r = r < 0 ? r : mcp_result_json(out, text, strlen(text));
        mcp_text_free(text, NULL);
        return r;
    }
    if (strcmp(what, "all") == 0)
        return job_give_all(out);
    if (strcmp(what, "look") == 0)
        return job_look(req, out);
    if (strcmp(what, "big") == 0)
        return mcp_result_textf(out, "%0200000d", 0);
    if (strcmp(what, "tell") == 0)
        return job_tell(req, out);
    if (strcmp(what, "tell much") == 0)
        return job_tell_much(req, out);
    if (strcmp(what, "leave") == 0)
        return mcp_result_textf(out, "left %d", job_leave());
    if (strcmp(what, "leave and fail") == 0)
        return mcp_request_fail(req, -32050, NULL, "left %d", job_leave());
    if (strcmp(what, "fail") == 0)
        return mcp_result_fail(out, "the job failed");
    if (strcmp(what, "refuse") == 0)
        return mcp_request_fail(req, -32050, "{\"why\":[1]}", "not today");
    if (strcmp(what, "nomem") == 0)
        return MCP_E_NOMEM;
    return job_take_time(req, out, what);
}

/* ---- the tools ---------------------------------------------------------- */

static const char *const job_env[] = {"HELPER_OWN=yes", "TZ=Europe/Nowhere", NULL};
static const char *const broken_env[] = {"HELPER_BREAK=exit", NULL};
static const char *const late_env[] = {"HELPER_BREAK=late", NULL};
static const char *const stuck_env[] = {"HELPER_BREAK=stuck", NULL};

static const mcp_isolate job_isolate = {.size = sizeof(mcp_isolate), .env = job_env};
static const mcp_isolate one_isolate = {
    .size = sizeof(mcp_isolate), .most = 1, .grace_ms = 60000};
static const mcp_isolate quick_isolate = {
    .size = sizeof(mcp_isolate), .grace_ms = 20, .most = 2};
static const mcp_isolate slow_isolate = {
    .size = sizeof(mcp_isolate), .grace_ms = 600000, .most = 2};
static const mcp_isolate now_isolate = {.size = sizeof(mcp_isolate), .grace_ms = -1};
static const mcp_isolate bound_isolate = {
    .size = sizeof(mcp_isolate), .memory_bytes = UINT64_C(1) << 50, .cpu_seconds = 70};
static const mcp_isolate broken_isolate = {.size = sizeof(mcp_isolate),
                                           .env = broken_env};
static const mcp_isolate late_isolate = {.size = sizeof(mcp_isolate), .env = late_env};
static const mcp_isolate stuck_isolate = {.size = sizeof(mcp_isolate),
                                          .env = stuck_env};

#define JOB_SCHEMA                                           \
    "{\"type\":\"object\",\"properties\":{\"do\":{\"type\":" \
    "\"string\"}}}"

/* Isolated in one way or another. Those without a bound on memory but for one: a
 * sanitizer has more addresses than any. */
enum { JOB, ONE, QUICK, SLOW, NOW, BOUND, BROKEN, LATE, STUCK, PROMISING, JOBS };
static const mcp_tool jobs[JOBS] = {
    [JOB] = {.size = sizeof(mcp_tool),
             .name = "job",
             .run = job_run,
             .input_schema = JOB_SCHEMA,
             .isolate = &job_isolate},
    [ONE] = {.size = sizeof(mcp_tool),
             .name = "one",
             .run = job_run,
             .isolate = &one_isolate},
    [QUICK] = {.size = sizeof(mcp_tool),
               .name = "quick",
               .run = job_run,
               .isolate = &quick_isolate},
    [SLOW] = {.size = sizeof(mcp_tool),
              .name = "slow",
              .run = job_run,
              .isolate = &slow_isolate},
    [NOW] = {.size = sizeof(mcp_tool),
             .name = "now",
             .run = job_run,
             .isolate = &now_isolate},
    [BOUND] = {.size = sizeof(mcp_tool),
               .name = "bound",
               .run = job_run,
               .isolate = &bound_isolate},
    [BROKEN] = {.size = sizeof(mcp_tool),
                .name = "broken",
                .run = job_run,
                .isolate = &broken_isolate},
    [LATE] = {.size = sizeof(mcp_tool),
              .name = "late",
              .run = job_run,
              .isolate = &late_isolate},
    [STUCK] = {.size = sizeof(mcp_tool),
               .name = "stuck",
               .run = job_run,
               .isolate = &stuck_isolate},
    [PROMISING] = {.size = sizeof(mcp_tool),
                   .name = "promising",
                   .run = job_run,
                   .output_schema = "{\"type\":\"object\",\"required\":[\"n\"]}",
                   .isolate = &job_isolate},
};

/* First in main. */
static void
jobs_enter(int argc, char **argv)
{
    const char *broken = getenv("HELPER_BREAK");

    if (broken && strcmp(broken, "exit") == 0)
        _exit(7); /* before anybody can hear of it */
    if (broken && strcmp(broken, "stuck") == 0)
        job_be_deaf();
    if (broken && argc > 0)
        (void)atexit(job_be_deaf);
    mcp_isolated_enter(argc, argv, jobs, JOBS);
}

/* ---- the server --------------------------------------------------------- */

/* With that tool, started, and a client of that era. */
static inline void
jobs_start(struct raw *raw, int tool, bool modern)
{
    raw_make(raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(raw, jobs[tool]);
    raw_start(raw, modern);
}

/* Call it; what is the text of `do`. With a token, so that it can announce itself. */
static inline void
jobs_call(struct raw *raw, const char *id, int tool, const char *what)
{
    char arguments[256];

    snprintf(arguments, sizeof(arguments), "{\"do\":\"%s\"}", what);
    raw_call_with(raw, id, jobs[tool].name, arguments, id);
}

/* One that is told of what happens; a modern client says so with each call. */
static inline void
jobs_call_logged(struct raw *raw, const char *id, int tool, const char *what)
{
    char line[1024];

    snprintf(line, sizeof(line),
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":"
             "{\"name\":\"%s\",\"arguments\":{\"do\":\"%s\"},\"_meta\":{"
             "\"progressToken\":%s%s}}}",
             id, jobs[tool].name, what, id,
             raw->modern ? "," RAW_STAMP
                           ",\"io.modelcontextprotocol/logLevel\":\"info\""
                         : "");
    raw_send(raw, line);
}

static inline pid_t
jobs_read_pid(const char *line, const char *before)
{
    const char *at = strstr(line, before);

    if (!at)
        fail_msg("no %s in %s", before, line);
    return (pid_t)strtol(at + strlen(before), NULL, 10);
}

/* It runs: its pid. */
static inline pid_t
jobs_await_running(struct raw *raw)
{
    return jobs_read_pid(raw_expect(raw, "notifications/progress"), "pid ");
}

/* One that says its pid and is over. */
static inline pid_t
jobs_call_pid(struct raw *raw, const char *id, int tool)
{
    jobs_call(raw, id, tool, "pid");
    return jobs_read_pid(raw_line(raw), "\"text\":\"pid ");
}

/* Children of a process, at most that many; how many there are. */
static inline int
jobs_children_of(pid_t pid, pid_t *into, int most)
{
    char path[64], list[4096];
    struct dirent *task;
    int count = 0;
    DIR *tasks;
    FILE *file;
    char *at;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    for (task = tasks ? readdir(tasks) : NULL; task; task = readdir(tasks)) {
        snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid,
                 task->d_name);
        file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!file)
            continue;
        list[fread(list, 1, sizeof(list) - 1, file)] = '\0';
        fclose(file);
        for (at = strtok(list, " "); at; at = strtok(NULL, " ")) {
            if (count < most)
                into[count] = (pid_t)strtol(at, NULL, 10);
            count++;
        }
    }
    if (tasks)
        closedir(tasks);
    return count;
}

static inline int
jobs_children(void)
{
    return jobs_children_of(getpid(), NULL, 0);
}

/* Kill the helpers, each below its keeper; how many there were. */
static inline int
jobs_kill_helpers(void)
{
    pid_t keepers[8], helper;
    int count = jobs_children_of(getpid(), keepers, 8);
    int killed = 0;

    for (int i = 0; i < count && i < 8; i++) {
        if (jobs_children_of(keepers[i], &helper, 1) >= 1 && helper > 1)
            killed += kill(helper, SIGKILL) == 0;
    }
    return killed;
}

/* Free the server: no process is left. */
static inline void
jobs_done(struct raw *raw)
{
    raw_close(raw);
    assert_int_equal(jobs_children(), 0);
    test_mem_done(raw->mem);
}

#endif
