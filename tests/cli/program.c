/* program.c - mcpctl itself, run as a user would run it */
#include "cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 32

/* Before main: what a test calls itself has these times, and what it starts inherits
 * them. */
static void __attribute__((constructor)) times_set(void)
{
    (void)setenv("MCPCTL_TIMES", PATIENT_TIMES, 1);
}

/* ---- the scratch folder --------------------------------------------------------- */

static char folder[64];

static int
remove_one(const char *path, const struct stat *stat, int type, struct FTW *at)
{
    (void)stat, (void)type, (void)at;
    return remove(path);
}

static void
scratch_remove(void)
{
    if (folder[0])
        (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *
scratch(void)
{
    if (!folder[0]) {
        (void)snprintf(folder, sizeof(folder), "/tmp/mcpctl-test.XXXXXX");
        assert_non_null(mkdtemp(folder));
        assert_int_equal(atexit(scratch_remove), 0);
    }
    return folder;
}

const char *
scratch_file(const char *name, const char *text)
{
    static char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", scratch(), name);
    for (char *at = strchr(path + strlen(folder) + 1, '/'); at;
         at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* ---- processes ------------------------------------------------------------------ */

/* In the child: the environment of ours, without what would let mcpctl find anything of
 * the user's, and with what the test adds. */
static void
set_environment(const char *const *more)
{
    (void)setenv("HOME", scratch(), 1);
    (void)setenv("NO_PROXY", "*", 1);
    (void)unsetenv("XDG_STATE_HOME");
    (void)unsetenv("XDG_CONFIG_HOME");
    (void)unsetenv("BROWSER");
    (void)unsetenv("NO_COLOR");
    for (; more && *more; more++) {
        const char *value = strchr(*more, '=');
        char name[64];

        (void)snprintf(name, sizeof(name), "%.*s", (int)(value - *more), *more);
        (void)setenv(name, value + 1, 1);
    }
}

const char *const *
to_be_killed(void)
{
    static char tsan[1024];
    static const char *const list[] = {tsan, NULL};
    const char *options = getenv("TSAN_OPTIONS");
    int n = snprintf(tsan, sizeof(tsan), "TSAN_OPTIONS=%s:report_thread_leaks=0",
                     options ? options : "");

    assert_true(n > 0 && (size_t)n < sizeof(tsan));
    return list;
}

static pid_t
spawn(const char *const *argv, const int fds[3], const char *const *env)
{
    const union { /* execv writes to neither */
        const char *const *given;
        char *const *taken;
    } words = {argv};
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if a case fails */
    for (int i = 0; i < 3; i++) /* who runs the tests in the background ignores them */
        (void)signal(((const int[]){SIGINT, SIGTERM, SIGHUP})[i], SIG_DFL);
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) != i)
            _exit(127);
    set_environment(env);
    if (chdir(scratch()) == 0)
        execv(argv[0], words.taken);
    _exit(127);
}

static void
pipe_make(int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

static struct running
start_argv(const char *const *argv, const char *const *env, bool has_input)
{
    int in[2] = {-1, -1}, out[2], err[2];
    struct running running;

    (void)scratch();
    if (has_input)
        pipe_make(in);
    else
        in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pipe_make(out);
    pipe_make(err);
    running.pid = spawn(argv, (const int[]){in[0], out[1], err[1]}, env);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    running.in = in[1];
    running.out = out[0];
    running.err = err[0];
    return running;
}

static struct running
start(const char *const *words, const char *const *env, bool has_input)
{
    const char *argv[WORDS_MAX] = {MCPCTL};
    size_t n = 1;

    for (; *words && n < WORDS_MAX - 1; words++)
        argv[n++] = *words;
    return start_argv(argv, env, has_input);
}

struct running
start_program(const char *const *argv)
{
    return start_argv(argv, NULL, false);
}

struct running
start_mcpctl(const char *const *words, const char *const *env)
{
    return start(words, env, false);
}

struct running
start_mcpctl_with_input(const char *const *words)
{
    return start(words, NULL, true);
}

const char *
running_until(int fd, const char *text)
{
    static char data[65536];
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    size_t length = 0;
    ssize_t n;

    data[0] = '\0';
    while (!strstr(data, text)) {
        assert_true(length < sizeof(data) - 1);
        assert_int_equal(poll(&ready, 1, AWAIT_MS), 1);
        n = read(fd, data + length, 1); /* no more than is asked for */
        if (n <= 0)
            fail_msg("it ended without \"%s\": %s", text, data);
        data[++length] = '\0';
    }
    return data;
}

/* Both at once, or one of them would fill up while we read the other. */
static void
gather(const int fds[2], char *texts[2])
{
    struct pollfd ready[2] = {{.fd = fds[0], .events = POLLIN},
                              {.fd = fds[1], .events = POLLIN}};
    size_t lengths[2] = {0, 0};

    while (ready[0].fd >= 0 || ready[1].fd >= 0) {
        assert_true(poll(ready, 2, AWAIT_MS) > 0);
        for (int i = 0; i < 2; i++) {
            ssize_t n;

            if (ready[i].fd < 0 || !ready[i].revents)
                continue;
            texts[i] = realloc(texts[i], lengths[i] + 65537);
            assert_non_null(texts[i]);
            n = read(fds[i], texts[i] + lengths[i], 65536);
            lengths[i] += n > 0 ? (size_t)n : 0;
            texts[i][lengths[i]] = '\0';
            if (n <= 0)
                ready[i].fd = -1;
        }
    }
}

struct ran
running_end(struct running *running)
{
    char *texts[2] = {NULL, NULL};
    struct ran ran;
    int status = 0;

    if (running->in >= 0)
        close(running->in);
    gather((const int[]){running->out, running->err}, texts);
    close(running->out);
    close(running->err);
    assert_int_equal(waitpid(running->pid, &status, 0), running->pid);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ran.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ran.out = texts[0];
    ran.err = texts[1];
    return ran;
}

struct ran
run_mcpctl_with(const char *const *words, const char *input, const char *const *env)
{
    struct running running = start(words, env, input != NULL);

    if (input) {
        (void)signal(SIGPIPE, SIG_IGN);
        (void)!write(running.in, input, strlen(input)); /* it may not want it */
        close(running.in);
        running.in = -1;
    }
    return running_end(&running);
}

struct ran
run_mcpctl(const char *const *words)
{
    return run_mcpctl_with(words, NULL, NULL);
}

void
ran_done(struct ran *ran)
{
    free(ran->out);
    free(ran->err);
    ran->out = ran->err = NULL;
}

static bool
says(const char *text, const char *wanted)
{
    if (!wanted)
        return true;
    return *wanted ? strstr(text, wanted) != NULL : *text == '\0';
}

void
check_ran(struct ran *ran, int code, const char *in_out, const char *in_err)
{
    if (ran->code != code)
        fail_msg("exit %d instead of %d: %s%s", ran->code, code, ran->out, ran->err);
    if (!says(ran->out, in_out))
        fail_msg("stdout is \"%s\", not \"%s\"", ran->out, in_out);
    if (!says(ran->err, in_err))
        fail_msg("stderr is \"%s\", not \"%s\"", ran->err, in_err);
    ran_done(ran);
}

/* ---- probe-server on a port ------------------------------------------------------ */

static pid_t probe;
static int probe_out;

static void
probe_start(const char *const *argv)
{
    int out[2], nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    assert_int_equal(probe, 0);
    (void)scratch();
    pipe_make(out);
    probe = spawn(argv, (const int[]){nothing, out[1], STDERR_FILENO}, NULL);
    close(nothing);
    close(out[1]);
    probe_out = out[0];
}

static const char *
probe_url(void)
{
    static char url[256];

    (void)snprintf(url, sizeof(url), "%s", running_until(probe_out, "\n"));
    url[strcspn(url, "\n")] = '\0';
    return url;
}

const char *
probe_http(void)
{
    probe_start((const char *const[]){PROBE, "--http", "127.0.0.1:0", NULL});
    return probe_url();
}

const char *
probe_https(const char *certificate, const char *key)
{
    probe_start((const char *const[]){PROBE, "--http", "127.0.0.1:0", "--tls",
                                      certificate, key, NULL});
    return probe_url();
}

/* It says nothing; but a socket that is there is one that listens, or will soon. */
void
probe_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    probe_start((const char *const[]){PROBE, "--unix", path, NULL});
    assert_true(strlen(path) < sizeof(address.sun_path));
    (void)memcpy(address.sun_path, path, strlen(path) + 1);
    for (int waited = 0; waited < AWAIT_MS; waited += 5) {
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
            close(fd);
            return;
        }
        close(fd);
        (void)poll(NULL, 0, 5);
    }
    fail_msg("nobody listens at %s", path);
}

void
probe_kill(void)
{
    assert_int_equal(kill(probe, SIGKILL), 0);
    assert_int_equal(waitpid(probe, NULL, 0), probe);
    close(probe_out);
    probe = 0;
}

void
probe_stop(void)
{
    int status;

    assert_int_equal(kill(probe, SIGTERM), 0);
    assert_int_equal(waitpid(probe, &status, 0), probe);
    close(probe_out);
    probe = 0;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bool
has_all(const char *text, const char *const *texts)
{
    while (*texts && strstr(text, *texts))
        texts++;
    return *texts == NULL;
}

void
await_stats(const char *target, const char *const *texts)
{
    for (int waited = 0; waited < AWAIT_MS; waited += 20) {
        struct ran ran = RUN("call", target, "stats");
        bool found = ran.code == 0 && has_all(ran.out, texts);

        ran_done(&ran);
        if (found)
            return;
        (void)poll(NULL, 0, 20);
    }
    fail_msg("stats never says %s", texts[0]);
}
