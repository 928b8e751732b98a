/* reach.c - how a client reaches a server of its own, and how that ends with it */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mcp/auth.h>

#include "peer.h"

#define FLUSH_MS 10000 /* instead of 500 ms, for a server on a busy machine */

/* A process of ours, over HTTP: the leader of its group. */
static struct server {
    mcp_client *client; /* whose it is; NULL: this place is free */
    pid_t pid;
    int in;  /* nothing is written; its end, also when we die, is that of the server */
    int out; /* what it prints: nobody reads on after the URL */
    bool is_killed; /* so nobody in there could end what it has started */
    char url[MCP_HTTP_URL_MAX];
} servers[8];

static struct server *
server_of(const mcp_client *client)
{
    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++)
        if (servers[i].client == client)
            return &servers[i];
    return NULL;
}

/* ---- processes ------------------------------------------------------------------- */

static int
command_spawn(int in, int out, pid_t *ret_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    int error;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    if (peer.kind->quiet)
        posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
    error = posix_spawnp(ret_pid, peer.command[0], &files, &how,
                         (char *const *)(uintptr_t)peer.command, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return error;
}

/* All that it prints, until there is a line. */
static bool
line_reads(int fd, char *line, size_t size)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    size_t length = 0;

    while (length + 1 < size && poll(&readable, 1, PATIENCE_MS) > 0) {
        ssize_t count = read(fd, line + length, size - 1 - length);

        if (count <= 0)
            break;
        length += (size_t)count;
        line[length] = '\0';
        if (strchr(line, '\n')) {
            *strchr(line, '\n') = '\0';
            return true;
        }
    }
    return because("the server printed no URL");
}

/* Who loses its parent in there becomes a child of ours, and is waited for as one. */
static bool
group_is_gone(pid_t group)
{
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        while (waitpid(-group, NULL, WNOHANG) > 0)
            continue;
        if (kill(-group, 0) < 0 && errno == ESRCH)
            return true;
        nap();
    }
    return false;
}

/* Who has a group of its own, as the keepers of our server have, sees that the server
 * was killed, and ends by itself. No other server runs meanwhile. */
static bool
orphans_are_gone(void)
{
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        pid_t pid;

        do {
            pid = waitpid(-1, NULL, WNOHANG);
        } while (pid > 0);
        if (pid < 0 && errno == ECHILD)
            return true;
        nap();
    }
    return because("what the server has started outlives it");
}

/* The leader passes it on. Told to the group, our server behind a proxy would hear it
 * twice, and the second one kills (M17). */
static bool
server_ends(struct server *server)
{
    pid_t group = server->pid;
    bool ok;

    (void)kill(group, SIGTERM);
    ok = group_is_gone(group);
    if (ok && server->is_killed) {
        ok = orphans_are_gone();
    } else if (!ok) {
        because("group %d had to be killed", (int)group);
        (void)kill(-group, SIGKILL);
        (void)group_is_gone(group);
    }
    close(server->in);
    close(server->out);
    memset(server, 0, sizeof(*server));
    return ok;
}

static bool
server_starts(struct server *server)
{
    int in[2], out[2];
    int error;

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || pipe2(in, O_CLOEXEC) < 0 ||
        pipe2(out, O_CLOEXEC) < 0)
        return because("%s", strerror(errno));
    error = command_spawn(in[0], out[1], &server->pid);
    close(in[0]);
    close(out[1]);
    server->in = in[1];
    server->out = out[0];
    if (error) {
        close(server->in);
        close(server->out);
        return because("%s: %s", peer.command[0], strerror(error));
    }
    if (line_reads(server->out, server->url, sizeof(server->url)))
        return true;
    (void)kill(-server->pid, SIGKILL); /* its leader may not be there to pass it on */
    (void)server_ends(server);
    return false;
}

/* ---- clients --------------------------------------------------------------------- */

static void
print_log(void *user, enum mcp_log_level level, const char *line)
{
    (void)user, (void)level;
    atomic_fetch_add(&peer.warnings, 1);
    fprintf(stderr, "peer-client: %s\n", line);
}

static void
options_fill(mcp_client_options *opt)
{
    opt->name = "peer-client";
    opt->version = "1.0";
    opt->era = peer.era;
    opt->quiet = peer.kind->quiet;
    opt->on_log = print_log;
    opt->flush_ms = FLUSH_MS;
}

/* Each client signs in by itself. */
static int
http_connect(const char *url, const mcp_client_options *opt, mcp_client **ret_client,
             mcp_error *err)
{
    const mcp_auth_options auth = MCP_AUTH_OPTIONS(.headless = true);
    const mcp_http_client_options http = MCP_HTTP_CLIENT_OPTIONS(.auth = peer.is_guarded
                                                                             ? &auth
                                                                             : NULL);

    return mcp_client_connect_http(url, &http, opt, ret_client, err);
}

static bool
http_opens(mcp_client_options *opt, mcp_client **ret_client)
{
    struct server *server = server_of(NULL);
    mcp_error err = {0};
    int r;

    if (!server)
        return because("too many servers");
    if (!server_starts(server))
        return false;
    r = http_connect(server->url, opt, ret_client, &err);
    if (r < 0) {
        (void)server_ends(server);
        return status_is(r, 0, &err);
    }
    server->client = *ret_client;
    return true;
}

bool
client_opens_with(mcp_client_options *opt, mcp_client **ret_client)
{
    mcp_error err = {0};

    options_fill(opt);
    if (peer.is_http)
        return http_opens(opt, ret_client);
    return status_is(mcp_client_spawn(peer.command, opt, ret_client, &err), 0, &err);
}

bool
client_opens(const char *discovery, mcp_client **ret_client)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.discovery = discovery);

    return client_opens_with(&opt, ret_client);
}

bool
client_joins(mcp_client *other, mcp_client **ret_client)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(0);
    mcp_error err = {0};

    options_fill(&opt);
    return status_is(http_connect(server_of(other)->url, &opt, ret_client, &err), 0,
                     &err);
}

int64_t
client_pid(mcp_client *client)
{
    struct server *server = server_of(client);

    return server ? server->pid : mcp_client_pid(client);
}

bool
client_ends(mcp_client *client)
{
    struct server *server = server_of(client);

    mcp_client_free(client);
    return !server || server_ends(server);
}

bool
server_dies(mcp_client *client)
{
    struct server *server = server_of(client);
    pid_t pid = server ? -server->pid : (pid_t)mcp_client_pid(client);

    if (server)
        server->is_killed = true;
    return kill(pid, SIGKILL) == 0 || because("it cannot be killed");
}

bool
is_gone(int64_t pid)
{
    siginfo_t info;

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD)
        return because("there is a child left");
    if (pid > 0 && (kill(-(pid_t)pid, 0) == 0 || errno != ESRCH))
        return because("there is something left of group %lld", (long long)pid);
    return true;
}
