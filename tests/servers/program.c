/* program.c - a program of the examples, spawned, and a client of ours */
#include "servers/program.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mcp/http.h>

#include "support/curl_warm.h"

struct cell program_cells[4] = {
    {MCP_ERA_MODERN, false},
    {MCP_ERA_LEGACY, false},
    {MCP_ERA_MODERN, true},
    {MCP_ERA_LEGACY, true},
};

const char *
text_of(const char *format, ...)
{
    static char texts[4][4096];
    static unsigned next;
    char *text = texts[next++ % 4];
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(text, sizeof(texts[0]), format, list);
    va_end(list);
    assert_true(n >= 0 && (size_t)n < sizeof(texts[0]));
    return text;
}

/* ---- processes ------------------------------------------------------------------ */

int
program_run(const char *const *arguments, char *said, size_t room)
{
    const char *argv[8] = {PROGRAM};
    size_t n = 1;
    pid_t pid;
    int out;

    for (; *arguments && n < 7; arguments++)
        argv[n++] = *arguments;
    pid = child_start(argv, CHILD_STDERR, NULL, &out);
    child_read(out, said, room, NULL);
    close(out);
    return child_exit(pid);
}

static bool
is_marked(const char *pid, const char *text)
{
    static char environment[1 << 18];
    char path[64];
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false; /* gone, or not ours */
    n = read(fd, environment, sizeof(environment));
    close(fd);
    return n > 0 && memmem(environment, (size_t)n, text, strlen(text));
}

size_t
count_marked(const char *text)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    size_t count = 0;

    assert_non_null(folder);
    for (entry = readdir(folder); entry; entry = readdir(folder))
        if (isdigit((unsigned char)entry->d_name[0]))
            count += is_marked(entry->d_name, text);
    closedir(folder);
    return count;
}

static bool
is_none_marked(void *user)
{
    return count_marked(user) == 0;
}

void
expect_none_marked(const char *text)
{
    char copy[256];

    (void)snprintf(copy, sizeof(copy), "%s", text);
    wait_until(is_none_marked, copy);
}

/* ---- log messages --------------------------------------------------------------- */

static void
on_message(mcp_client *client, enum mcp_severity severity, const char *logger,
           const mcp_json *data, void *user)
{
    struct program *p = user;
    size_t length;

    (void)client, (void)severity, (void)logger;
    pthread_mutex_lock(&p->lock);
    length = strlen(p->messages);
    (void)snprintf(p->messages + length, sizeof(p->messages) - length, "%s\n",
                   mcp_json_string(data, ""));
    pthread_mutex_unlock(&p->lock);
}

bool
program_has_said(struct program *p, const char *text)
{
    bool found;

    pthread_mutex_lock(&p->lock);
    found = strstr(p->messages, text) != NULL;
    pthread_mutex_unlock(&p->lock);
    return found;
}

/* ---- opening and closing -------------------------------------------------------- */

void
program_start(struct program *p, const char *argument)
{
    const char *const argv[] = {PROGRAM, "--http", "127.0.0.1:0", argument, NULL};
    char line[300];

    *p = (struct program){.lock = PTHREAD_MUTEX_INITIALIZER};
    p->pid = child_start(argv, CHILD_STDOUT, NULL, &p->out);
    child_read(p->out, line, sizeof(line), "\n");
    assert_int_equal(sscanf(line, "listening on %255s", p->url), 1);
}

int
program_connect(const struct program *p, const char *const *headers,
                const mcp_client_options *me, mcp_client **ret_client, mcp_error *err)
{
    return mcp_client_connect_http(p->url, &MCP_HTTP_CLIENT_OPTIONS(.headers = headers),
                                   me, ret_client, err);
}

void
program_open(struct program *p, const struct cell *cell, const char *argument)
{
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0",
                                                     .era = cell->era,
                                                     .messages = MCP_SEVERITY_DEBUG,
                                                     .on_message = on_message,
                                                     .exit_ms = AWAIT_MS, .user = p);
    const char *const argv[] = {PROGRAM, argument, NULL};
    mcp_error err = {0};
    int r;

    if (cell->on_port) {
        program_start(p, argument);
        r = program_connect(p, NULL, &me, &p->client, &err);
    } else {
        *p = (struct program){.out = -1, .lock = PTHREAD_MUTEX_INITIALIZER};
        r = mcp_client_spawn(argv, &me, &p->client, &err);
    }
    if (r < 0)
        fail_msg("%s: %s", PROGRAM, err.message);
    if (!cell->on_port)
        p->pid = (pid_t)mcp_client_pid(p->client);
}

void
program_close(struct program *p)
{
    mcp_call_free(p->call);
    mcp_client_free(p->client);
    if (p->out < 0) {
        assert_int_equal(kill(p->pid, 0), -1);
        return;
    }
    assert_int_equal(kill(p->pid, SIGTERM), 0);
    assert_int_equal(child_exit(p->pid), 0);
    close(p->out);
}

void
program_kill(struct program *p)
{
    assert_int_equal(kill(p->pid, SIGKILL), 0);
    if (p->out >= 0) {
        (void)child_wait(p->pid);
        close(p->out);
    }
    mcp_call_free(p->call);
    mcp_client_free(p->client);
}

/* ---- calls ---------------------------------------------------------------------- */

mcp_reply *
program_call(struct program *p, const char *tool, const char *arguments)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = AWAIT_MS);
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    int r;

    r = mcp_client_call_tool(p->client, tool, arguments, &opt, &reply, &err);
    if (r < 0)
        fail_msg("%s: %s", tool, err.message);
    return reply;
}

bool
reply_says(const mcp_reply *reply, const char *text)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(mcp_reply_content(reply)); mcp_json_next(&it);)
        if (strstr(mcp_json_string(mcp_json_get(it.value, "text"), ""), text))
            return true;
    return false;
}

void
program_expect(struct program *p, const char *tool, const char *arguments,
               bool is_error, const char *text)
{
    mcp_reply *reply = program_call(p, tool, arguments);
    const char *said = mcp_reply_text(reply);

    if (mcp_reply_is_error(reply) != is_error || !reply_says(reply, text))
        fail_msg("%s %s: %s", tool, arguments, said ? said : "nothing");
    mcp_reply_free(reply);
}

static void
on_progress(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    (void)call, (void)progress, (void)total, (void)message;
    atomic_store((atomic_bool *)user, true);
}

static bool
is_set(void *user)
{
    return atomic_load((atomic_bool *)user);
}

int64_t
program_time(struct program *p, enum ending how)
{
    if (how != BY_TIMEOUT)
        return MCP_TIMEOUT_NONE;
    client_clock_hold(&p->clock, p->client);
    return HOUR_MS;
}

void
program_begin(struct program *p, enum ending how, const char *tool,
              const char *arguments)
{
    static atomic_bool begun;
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = program_time(p, how),
                                                  .on_progress = on_progress,
                                                  .user = &begun);

    atomic_store(&begun, false);
    mcp_call_free(p->call);
    p->call = NULL;
    assert_int_equal(
        mcp_client_start_tool(p->client, tool, arguments, &opt, NULL, NULL, &p->call),
        0);
    wait_until(is_set, &begun);
    assert_int_equal(mcp_call_wait(p->call, 0, NULL, NULL), MCP_E_AGAIN);
}

void
program_end(struct program *p, enum ending how)
{
    static const int statuses[] = {MCP_E_CANCELED, MCP_E_TIMEOUT, MCP_E_CLOSED};

    if (how == BY_CANCEL)
        assert_int_equal(mcp_call_cancel(p->call, "not wanted"), 0);
    if (how == BY_TIMEOUT)
        virtual_clock_pass(&p->clock, HOUR_MS);
    if (how == BY_LEAVING) {
        mcp_client_free(p->client);
        p->client = NULL;
    }
    assert_int_equal(mcp_call_wait(p->call, AWAIT_MS, NULL, NULL), statuses[how]);
    mcp_call_free(p->call);
    p->call = NULL;
}
