/* raw.c - a peer without the library */
#include "end/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/messages.h"

enum mcp_era both_eras[2] = {MCP_ERA_MODERN, MCP_ERA_LEGACY};

enum mcp_era
era_of(void **state)
{
    return *(enum mcp_era *)*state;
}

int64_t
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- opening ------------------------------------------------------------- */

static void
in_child(const char *const *argv, int in, int out, int err)
{
    (void)signal(SIGPIPE, SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing is left when a test fails */
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        (err < 0 || dup2(err, STDERR_FILENO) >= 0))
        execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

void
raw_spawn(struct raw *raw, const char *const *argv, int err)
{
    int in[2], out[2];

    *raw = (struct raw){.in = -1, .out = -1};
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    raw->pid = fork();
    assert_true(raw->pid >= 0);
    if (raw->pid == 0)
        in_child(argv, in[0], out[1], err);
    close(in[0]);
    close(out[1]);
    raw->in = in[1];
    raw->out = out[0];
    assert_int_equal(fcntl(raw->in, F_SETFL, O_NONBLOCK), 0);
}

void
raw_hello(struct raw *raw, enum mcp_era era)
{
    const mcp_json *answer;

    raw->era = era;
    if (era != MCP_ERA_LEGACY)
        return;
    raw_say(raw, INITIALIZE("\"hello\"", "2025-11-25"));
    answer = raw_read(raw);
    assert_true(mcp_json_is_string(mcp_json_get(answer, "id"), "hello"));
    assert_non_null(mcp_json_get(answer, "result"));
    raw_say(raw, NOTE("notifications/initialized", "{}"));
}

void
raw_open(struct raw *raw, enum mcp_era era)
{
    const char *const command[] = {PROBE_SERVER, NULL};

    raw_spawn(raw, command, -1);
    raw_hello(raw, era);
}

void
raw_connect(struct raw *raw, const char *path, enum mcp_era era)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    *raw = (struct raw){0};
    assert_true(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    raw->in = raw->out = fd;
    raw_hello(raw, era);
}

/* ---- reading ------------------------------------------------------------- */

/* What can be read now. False: the server has closed. */
static bool
raw_fill(struct raw *raw)
{
    size_t left = raw->len - raw->start;
    ssize_t n;

    if (raw->start > left) { /* so that a byte is moved once, not with each line */
        memmove(raw->data, raw->data + raw->start, left);
        raw->start = 0;
        raw->len = left;
    }
    if (raw->room - raw->len < 65536) {
        raw->room = 2 * raw->room + 65536;
        raw->data = realloc(raw->data, raw->room);
        assert_non_null(raw->data);
    }
    n = read(raw->out, raw->data + raw->len, raw->room - raw->len);
    if (n > 0)
        raw->len += (size_t)n;
    return n > 0 || (n < 0 && errno == EAGAIN);
}

static void
raw_wait(int fd, short events)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};

    if (poll(&poll_fd, 1, AWAIT_MS) != 1)
        fail_msg("the server is silent");
}

/* The next line, without its newline; NULL: the server has closed. */
static char *
raw_line(struct raw *raw, size_t *ret_len)
{
    char *line, *end = NULL;
    size_t seen = 0;

    for (;;) {
        line = raw->data ? raw->data + raw->start : NULL;
        if (line)
            end = memchr(line + seen, '\n', raw->len - raw->start - seen);
        if (end)
            break;
        seen = raw->len - raw->start;
        raw_wait(raw->out, POLLIN);
        if (!raw_fill(raw)) {
            assert_int_equal(raw->len, raw->start); /* it does not end in mid-line */
            return NULL;
        }
    }
    *ret_len = (size_t)(end - line);
    raw->start += *ret_len + 1;
    return line;
}

const mcp_json *
raw_read(struct raw *raw)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.max_bytes = (size_t)1 << 28);
    mcp_error err = {0};
    size_t len;
    char *line;

    mcp_doc_free(raw->doc);
    raw->doc = NULL;
    line = raw_line(raw, &len);
    if (!line)
        return NULL;
    if (mcp_doc_parse(line, len, &opt, &raw->doc, &err) < 0)
        fail_msg("not a message: %.*s", (int)(len < 200 ? len : 200), line);
    return mcp_doc_root(raw->doc);
}

static void
expect_id(const mcp_json *message, const char *id)
{
    const mcp_json *got = mcp_json_get(message, "id");
    char *text;

    if (!id) {
        assert_null(got);
        return;
    }
    assert_int_equal(mcp_json_print(got, false, NULL, &text, NULL), 0);
    assert_string_equal(text, id);
    mcp_text_free(text, NULL);
}

void
raw_expect(struct raw *raw, const char *id, const char *text)
{
    const mcp_json *answer = raw_read(raw);
    const mcp_json *content = mcp_json_get(mcp_json_get(answer, "result"), "content");

    assert_non_null(answer);
    expect_id(answer, id);
    assert_string_equal(
        mcp_json_string(mcp_json_get(mcp_json_at(content, 0), "text"), ""), text);
}

void
raw_expect_error(struct raw *raw, const char *id, int64_t code)
{
    const mcp_json *answer = raw_read(raw);

    assert_non_null(answer);
    expect_id(answer, id);
    assert_int_equal(
        mcp_json_int(mcp_json_get(mcp_json_get(answer, "error"), "code"), 0), code);
}

void
raw_expect_alive(struct raw *raw)
{
    raw_call(raw, "\"alive\"", "echo", "{\"text\":\"yes\"}");
    raw_expect(raw, "\"alive\"", "yes");
}

struct handlers {
    struct raw *raw;
    int64_t live;
};

static bool
has_handlers(void *user)
{
    const struct handlers *h = user;
    const mcp_json *stats;

    raw_call(h->raw, "\"stats\"", "stats", "{}");
    stats = mcp_json_get(mcp_json_get(raw_read(h->raw), "result"), "structuredContent");
    assert_non_null(stats);
    return mcp_json_int(mcp_json_get(stats, "live_handlers"), -1) == h->live;
}

void
raw_expect_handlers(struct raw *raw, int64_t live)
{
    struct handlers h = {raw, live};

    wait_until(has_handlers, &h);
}

/* ---- writing ------------------------------------------------------------- */

/* One write call; 0: there is no room now, -1: the server has closed. */
static ssize_t
raw_write_some(struct raw *raw, const char *bytes, size_t len)
{
    ssize_t n;

    if (raw->in == raw->out)
        n = send(raw->in, bytes, len, MSG_NOSIGNAL);
    else
        n = write(raw->in, bytes, len);
    if (n < 0 && errno == EAGAIN)
        return 0;
    assert_true(n > 0 || errno == EPIPE || errno == ECONNRESET);
    return n;
}

void
raw_write(struct raw *raw, const void *bytes, size_t len)
{
    const char *at = bytes;
    size_t left = len;

    while (left > 0) {
        struct pollfd both[] = {{.fd = raw->in, .events = POLLOUT},
                                {.fd = raw->out, .events = POLLIN}};
        ssize_t n;

        if (poll(both, 2, AWAIT_MS) < 1)
            fail_msg("the server does not read");
        if (both[1].revents != 0)
            assert_true(raw_fill(raw));
        if (both[0].revents == 0)
            continue;
        n = raw_write_some(raw, at, left);
        assert_true(n >= 0);
        at += n;
        left -= (size_t)n;
    }
}

void
raw_say(struct raw *raw, const char *line)
{
    raw_write(raw, line, strlen(line));
    raw_write(raw, "\n", 1);
}

bool
raw_push(struct raw *raw, const void *bytes, size_t len)
{
    const char *at = bytes;
    size_t left = len;

    while (left > 0) {
        ssize_t n;

        raw_wait(raw->in, POLLOUT);
        n = raw_write_some(raw, at, left);
        if (n < 0)
            return false;
        at += n;
        left -= (size_t)n;
    }
    return true;
}

char *
raw_call_text(enum mcp_era era, const char *id, const char *tool, const char *arguments)
{
    const char *stamp = era == MCP_ERA_LEGACY ? "" : "," STAMP;
    char *text;
    int r;

    r = asprintf(&text,
                 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{"
                 "\"name\":\"%s\",\"arguments\":%s%s}}\n",
                 id, tool, arguments, stamp);
    assert_true(r > 0);
    return text;
}

void
raw_call(struct raw *raw, const char *id, const char *tool, const char *arguments)
{
    char *text = raw_call_text(raw->era, id, tool, arguments);

    raw_write(raw, text, strlen(text));
    free(text);
}

/* ---- closing ------------------------------------------------------------- */

void
raw_shut(struct raw *raw)
{
    if (raw->in == raw->out)
        (void)shutdown(raw->in, SHUT_WR);
    else if (raw->in >= 0)
        close(raw->in);
    if (raw->in != raw->out)
        raw->in = -1;
}

int
raw_close(struct raw *raw)
{
    if (raw->in >= 0)
        close(raw->in);
    if (raw->out >= 0 && raw->out != raw->in)
        close(raw->out);
    mcp_doc_free(raw->doc);
    free(raw->data);
    return raw->pid > 0 ? process_wait(raw->pid) : 0;
}

/* ---- probe-server on a socket -------------------------------------------- */

void
probe_socket_open(struct probe_socket *s)
{
    const char *const command[] = {PROBE_SERVER, "--unix", s->path, NULL};
    char said[160];

    (void)snprintf(s->folder, sizeof(s->folder), "/tmp/mcp-hostile-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    (void)snprintf(s->path, sizeof(s->path), "%s/socket", s->folder);
    raw_spawn(&s->server, command, -1);
    expect_readable(s->server.out, said, sizeof(said), "listening");
}

void
probe_socket_close(struct probe_socket *s)
{
    assert_int_equal(kill(s->server.pid, SIGTERM), 0);
    expect_exit(raw_close(&s->server), 0);
    assert_int_equal(access(s->path, F_OK), -1);
    assert_int_equal(rmdir(s->folder), 0);
}

/* ---- processes ----------------------------------------------------------- */

struct waiting {
    pid_t pid;
    int status;
};

static bool
has_ended(void *user)
{
    struct waiting *w = user;
    pid_t r = waitpid(w->pid, &w->status, WNOHANG);

    assert_true(r >= 0);
    return r == w->pid;
}

int
process_wait(pid_t pid)
{
    struct waiting w = {.pid = pid};

    wait_until(has_ended, &w);
    return w.status;
}

bool
process_is_gone(pid_t pid)
{
    return kill(pid, 0) < 0 && errno == ESRCH;
}

int64_t
process_peak_kb(pid_t pid)
{
    char path[64], line[128];
    long long kb = -1;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "VmHWM: %lld", &kb) == 1)
            break;
    if (file)
        fclose(file);
    return kb;
}

void
expect_exit(int wait_status, int code)
{
    if (WIFSIGNALED(wait_status))
        fail_msg("killed by signal %d", WTERMSIG(wait_status));
    assert_true(WIFEXITED(wait_status));
    assert_int_equal(WEXITSTATUS(wait_status), code);
}

void
expect_signal(int wait_status, int signal)
{
    if (WIFEXITED(wait_status))
        fail_msg("exited with %d", WEXITSTATUS(wait_status));
    assert_true(WIFSIGNALED(wait_status));
    assert_int_equal(WTERMSIG(wait_status), signal);
}

void
expect_no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

void
probe_close_dead(struct probe *p, pid_t pid)
{
    mcp_client_free(p->client);
    assert_true(pid > 1);
    assert_true(process_is_gone(pid));
}

void
expect_readable(int fd, char *into, size_t room, const char *text)
{
    size_t len = 0;

    into[0] = '\0';
    while (!text || !strstr(into, text)) {
        ssize_t n;

        raw_wait(fd, POLLIN);
        n = read(fd, into + len, room - 1 - len);
        if (n <= 0 && !text)
            return;
        assert_true(n > 0);
        len += (size_t)n;
        into[len] = '\0';
    }
}
