/*
 * rough_server.c - isolated tools that do what tools must not, for rough_test.c
 *
 *     rough-server          on stdin and stdout
 *     rough-server --http   on a port; its URL is the first line on stdout
 *
 * `rough` does the one thing that its argument `how` names; `bounded` is the same under
 * limits; `echo` is a plain tool of the server itself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <mcp/http.h>
#include <mcp/isolate.h>

#define MEMORY_BYTES (UINT64_C(128) << 20)
#define FILE_BYTES (1 << 20)

static void
sleep_for_ever(void)
{
    for (;;)
        pause();
}

/* ---- ends ----------------------------------------------------------------------- */

/* A sanitizer's handler would make an exit of it. */
static int
do_segv(mcp_request *req, mcp_result *out)
{
    volatile int *volatile nowhere = (volatile int *)(uintptr_t)16; /* not known */

    (void)req, (void)out;
    (void)signal(SIGSEGV, SIG_DFL);
    *nowhere = 1;
    return 0;
}

static int
do_abort(mcp_request *req, mcp_result *out)
{
    (void)req, (void)out;
    abort();
}

static int
do_exit(mcp_request *req, mcp_result *out)
{
    (void)req, (void)out;
    exit(3);
}

/* As a terminal would do it; nobody ever continues it. */
static int
do_stop(mcp_request *req, mcp_result *out)
{
    (void)req;
    raise(SIGSTOP);
    return mcp_result_text(out, "was continued");
}

/* ---- processes ------------------------------------------------------------------ */

/* A daemon, as daemons are made; its pid. */
static pid_t
daemon_start(void)
{
    int ends[2] = {-1, -1};
    pid_t first, daemon = 0;

    if (pipe(ends) < 0)
        return 0;
    first = fork();
    if (first == 0) {
        setsid();
        daemon = fork();
        if (daemon == 0)
            sleep_for_ever();
        _exit(write(ends[1], &daemon, sizeof(daemon)) < 0);
    }
    (void)waitpid(first, NULL, 0);
    if (read(ends[0], &daemon, sizeof(daemon)) < 0)
        daemon = 0;
    close(ends[0]);
    close(ends[1]);
    return daemon;
}

static int
do_daemon(mcp_request *req, mcp_result *out)
{
    (void)req;
    return mcp_result_textf(out, "%d", (int)daemon_start());
}

static int
do_daemon_and_fail(mcp_request *req, mcp_result *out)
{
    (void)out;
    return mcp_request_fail(req, -32000, NULL, "%d", (int)daemon_start());
}

static int
do_daemon_and_stay(mcp_request *req, mcp_result *out)
{
    char pid[16];

    (void)snprintf(pid, sizeof(pid), "%d", (int)daemon_start());
    (void)mcp_request_progress(req, 1, 0, pid);
    sleep_for_ever();
    return mcp_result_text(out, "is never said");
}

/* A command that it has waited for is not left behind, kept or not. */
static int
command_run(mcp_request *req, mcp_result *out, bool contained)
{
    static const char *const argv[] = {"/bin/sh", "-c", "echo from a command", NULL};
    mcp_command_result ran;
    int r;

    r = mcp_request_command(req, &MCP_COMMAND(.argv = argv, .contained = contained),
                            &ran, NULL);
    if (r == 0)
        r = mcp_result_text(out, ran.output);
    mcp_command_result_done(&ran);
    return r;
}

static int
do_command(mcp_request *req, mcp_result *out)
{
    return command_run(req, out, false);
}

static int
do_contained(mcp_request *req, mcp_result *out)
{
    return command_run(req, out, true);
}

/* ---- limits --------------------------------------------------------------------- */

/* MiB until there are no more. */
static int
take_memory(void)
{
    const size_t step = 1 << 20;
    int got = 0;
    char *more;

    for (more = malloc(step); more; more = malloc(step)) {
        memset(more, 1, step);
        got++;
    }
    return got;
}

static int
do_fill(mcp_request *req, mcp_result *out)
{
    (void)req, (void)out;
    (void)take_memory();
    abort();
}

/* It notices, and says so. */
static int
do_fill_and_say(mcp_request *req, mcp_result *out)
{
    void *more = mmap(NULL, MEMORY_BYTES + MEMORY_BYTES / 4, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *half = mmap(NULL, MEMORY_BYTES / 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);

    (void)req;
    return mcp_result_textf(out, "more: %s, half: %s",
                            more == MAP_FAILED ? "no" : "yes",
                            half == MAP_FAILED ? "no" : "yes");
}

/* Most of what it may have, and never given back. */
static int
do_keep(mcp_request *req, mcp_result *out)
{
    void *most = mmap(NULL, MEMORY_BYTES / 4 * 3, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)req;
    return mcp_result_text(out, most == MAP_FAILED ? "no room" : "kept");
}

static int
do_burn(mcp_request *req, mcp_result *out)
{
    volatile unsigned turns = 0;

    (void)req, (void)out;
    for (;;)
        turns++;
    return 0;
}

static int
do_open(mcp_request *req, mcp_result *out)
{
    int fd, count = 0;

    (void)req;
    for (fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY))
        count++;
    return mcp_result_textf(out, "%s after %s", errno == EMFILE ? "EMFILE" : "?",
                            count < 64 ? "a few" : "many");
}

/* ---- files ---------------------------------------------------------------------- */

static int
do_write(mcp_request *req, mcp_result *out)
{
    static const char zeros[FILE_BYTES];
    char name[] = "/tmp/rough-XXXXXX";
    int fd = mkstemp(name), error;
    ssize_t first, second;

    (void)req;
    unlink(name);
    first = write(fd, zeros, FILE_BYTES - 1);
    second = write(fd, zeros, 2);
    second += write(fd, zeros, 1);
    error = errno;
    close(fd);
    return mcp_result_textf(out, "%zd bytes and %zd: %s", first, second,
                            strerror(error));
}

/* The same in a process that it starts. */
static int
do_write_below(mcp_request *req, mcp_result *out)
{
    static const char script[] = "file=$(mktemp); head -c 10000000 /dev/zero >$file;"
                                 "status=$?; wc -c <$file; rm $file; exit $status";
    const char *const argv[] = {"sh", "-c", script, NULL};
    mcp_command_result result;
    mcp_error err;
    int r = mcp_request_command(req, &MCP_COMMAND(.argv = argv), &result, &err);

    if (r < 0)
        return mcp_result_fail(out, "%s", err.message);
    r = mcp_result_textf(out, "signal %d after %s", result.exit_code - 128,
                         result.output);
    mcp_command_result_done(&result);
    return r;
}

/* ---- descriptors and the environment -------------------------------------------- */

static int
do_print(mcp_request *req, mcp_result *out)
{
    static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    bool written = write(STDIN_FILENO, line, sizeof(line) - 1) > 0;

    (void)req;
    written = write(STDOUT_FILENO, line, sizeof(line) - 1) > 0 && written;
    printf("%s", line);
    fflush(stdout);
    return mcp_result_text(out, written ? "printed" : "could not print");
}

static int
do_close_all(mcp_request *req, mcp_result *out)
{
    (void)req;
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
    return mcp_result_text(out, "closed");
}

/* What each descriptor is, as the system names it; a line for each but stderr and its
 * copy. */
static int
do_descriptors(mcp_request *req, mcp_result *out)
{
    DIR *folder = opendir("/proc/self/fd");
    char text[8192] = "";
    char name[288], target[256];
    struct dirent *entry;
    size_t len = 0;
    ssize_t n;

    (void)req;
    while (folder && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "1") == 0 ||
            strcmp(entry->d_name, "2") == 0)
            continue;
        (void)snprintf(name, sizeof(name), "/proc/self/fd/%s", entry->d_name);
        n = readlink(name, target, sizeof(target) - 1);
        if (n < 0 || len + (size_t)n + 2 > sizeof(text))
            continue;
        memcpy(text + len, target, (size_t)n);
        len += (size_t)n;
        text[len++] = '\n';
    }
    if (folder)
        closedir(folder);
    return mcp_result_text_n(out, text, len);
}

static int
do_secret(mcp_request *req, mcp_result *out)
{
    const char *secret = getenv("SECRET");

    (void)req;
    return mcp_result_textf(out, "secret: %s, path: %s", secret ? secret : "none",
                            getenv("PATH") ? "yes" : "none");
}

/* ---- good manners --------------------------------------------------------------- */

static int
do_nothing(mcp_request *req, mcp_result *out)
{
    (void)req;
    return mcp_result_textf(out, "%d", (int)getpid());
}

static int
do_nap(mcp_request *req, mcp_result *out)
{
    int r = mcp_request_sleep(req, 300);

    return r == 0 ? mcp_result_text(out, "rested") : r;
}

static const struct {
    const char *how;
    int (*go)(mcp_request *req, mcp_result *out);
} ways[] = {
    {"segv", do_segv},
    {"abort", do_abort},
    {"exit", do_exit},
    {"stop", do_stop},
    {"daemon", do_daemon},
    {"daemon_and_fail", do_daemon_and_fail},
    {"daemon_and_stay", do_daemon_and_stay},
    {"command", do_command},
    {"contained", do_contained},
    {"fill", do_fill},
    {"fill_and_say", do_fill_and_say},
    {"keep", do_keep},
    {"burn", do_burn},
    {"open", do_open},
    {"write", do_write},
    {"write_below", do_write_below},
    {"print", do_print},
    {"close_all", do_close_all},
    {"descriptors", do_descriptors},
    {"secret", do_secret},
    {"nothing", do_nothing},
    {"nap", do_nap},
};

static int
rough(mcp_request *req, mcp_result *out, void *user)
{
    const char *how = mcp_request_argument(req, "how");

    (void)user;
    for (size_t i = 0; how && i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(ways[i].how, how) == 0)
            return ways[i].go(req, out);
    return mcp_result_fail(out, "how?");
}

static int
echo(mcp_request *req, mcp_result *out, void *user)
{
    const char *text = mcp_request_argument(req, "text");

    (void)user;
    return mcp_result_text(out, text ? text : "");
}

/* ---- the server ----------------------------------------------------------------- */

static int
serve(mcp_server *server, bool is_http, mcp_error *err)
{
    char url[MCP_HTTP_URL_MAX];
    int r;

    if (!is_http)
        return mcp_server_run_stdio(server, err);
    r = mcp_server_listen_http(server, &MCP_HTTP_OPTIONS(.host = "127.0.0.1"), url,
                               err);
    if (r < 0)
        return r;
    printf("%s\n", url);
    fflush(stdout);
    return mcp_server_run(server, &MCP_RUN_OPTIONS(.signals = true), err);
}

int
main(int argc, char **argv)
{
    static const mcp_isolate apart = {.size = sizeof(apart), .grace_ms = 300};
    static const mcp_isolate within = {.size = sizeof(within),
                                       .grace_ms = 300,
                                       .memory_bytes = MEMORY_BYTES,
                                       .cpu_seconds = 1,
                                       .files = 48,
                                       .file_bytes = FILE_BYTES};
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "rough", .run = rough, .isolate = &apart),
        MCP_TOOL(.name = "bounded", .run = rough, .isolate = &within),
        MCP_TOOL(.name = "echo", .reply = echo),
    };
    const size_t count = sizeof(tools) / sizeof(tools[0]);
    mcp_server *server = NULL;
    mcp_error err = {0};
    int r;

    mcp_isolated_enter(argc, argv, tools, count);
    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "rough-server", .version = "1.0"),
                       &server, &err);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = mcp_server_add_tool(server, &tools[i], &err);
    if (r == 0)
        r = serve(server, argc > 1 && strcmp(argv[1], "--http") == 0, &err);
    if (r < 0)
        fprintf(stderr, "rough-server: %s\n", err.message);
    mcp_server_free(server);
    return r < 0;
}
