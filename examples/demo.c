/*
 * demo.c - fifty abandoned calls, and nothing left behind
 *
 *     demo [PROBE-SERVER]
 *
 * Starts probe-server and speaks to it, over stdio and over HTTP, in each era of the
 * protocol: a call, a call with progress, and then fifty calls of a tool that takes one of
 * ten resources, abandoned by cancel, by timeout and by scope; fifty of one that ignores
 * its cancel; and over HTTP fifty whose client goes. After each scene the server itself
 * says what is still alive in it. What crosses the wire is different in each of the four
 * (a message, a POST, a closed response); the calls are the same.
 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <mcp/http.h>

enum { FIFTY = 50, PATIENCE_MS = 10000, COLUMNS = 6 };

static const char *const columns[COLUMNS] = {"live_handlers", "pool_free", "workers",
                                             "open_fds",      "started",   "cancelled"};
enum { BAR = 40 };

static mcp_client *client;
static mcp_error err;

/* Ends the demo with what went wrong, unless status is 0. */
static void
must(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "demo: %s: %s %s\n", what, mcp_status_name(status), err.message);
    exit(1);
}

static void
nap(long ms)
{
    struct timespec left = {ms / 1000, (ms % 1000) * 1000000};

    nanosleep(&left, NULL);
}

/* ---- what is alive in the server -------------------------------------------------- */

static void
ask_stats(int64_t into[COLUMNS])
{
    mcp_reply *reply = NULL;

    must(mcp_client_call_tool(client, "stats", NULL, NULL, &reply, &err), "stats");
    for (int i = 0; i < COLUMNS; i++)
        into[i] = mcp_json_int(mcp_json_get(mcp_reply_structured(reply), columns[i]),
                               -1);
    mcp_reply_free(reply);
}

static void
show(const char *scene, const int64_t stats[COLUMNS])
{
    printf("  %-30s", scene);
    for (int i = 0; i < COLUMNS; i++)
        printf(" %13lld", (long long)stats[i]);
    printf("\n");
}

static void
print_head(void)
{
    printf("  %-30s", "");
    for (int i = 0; i < COLUMNS; i++)
        printf(" %13s", columns[i]);
    printf("\n");
}

static void
print_row(const char *scene)
{
    int64_t stats[COLUMNS];

    ask_stats(stats);
    show(scene, stats);
}

/* A handler that was told needs a moment to return. */
static void
print_when_calm(const char *scene)
{
    int64_t stats[COLUMNS];

    ask_stats(stats);
    for (int waited = 0; stats[0] != 0 && waited < PATIENCE_MS; waited += 10) {
        nap(10);
        ask_stats(stats);
    }
    show(scene, stats);
    must(stats[0] == 0 ? 0 : MCP_E_STATE, "handlers are left behind");
}

/* ---- scenes ------------------------------------------------------------------- */

static void
show_bar(mcp_call *call, double progress, double total, const char *message, void *user)
{
    int full = (int)(progress / total * BAR);

    (void)call, (void)message, (void)user;
    printf("\r  count  [");
    for (int i = 0; i < BAR; i++)
        putchar(i < full ? '#' : '.');
    printf("] %g of %g", progress, total);
    fflush(stdout);
}

static void
greet(void)
{
    const mcp_call_options options = MCP_CALL_OPTIONS(.on_progress = show_bar);
    mcp_reply *reply = NULL;

    must(mcp_client_call_tool(client, "add", "{\"a\":19,\"b\":23}", NULL, &reply, &err),
         "add");
    printf("  add    19 + 23 = %g\n",
           mcp_json_number(mcp_json_get(mcp_reply_structured(reply), "sum"), 0));
    mcp_reply_free(reply);
    must(mcp_client_call_tool(client, "count", "{\"to\":40,\"delay_ms\":20}", &options,
                              &reply, &err),
         "count");
    printf("\n\n");
    mcp_reply_free(reply);
}

enum way { BY_CANCEL, BY_TIMEOUT, BY_SCOPE };

/* Start fifty calls, abandon them after 100 ms, and see each of them end as it should. */
static void
abandon_fifty(const char *tool, const char *arguments, enum way way, int expected)
{
    mcp_call_options options = MCP_CALL_OPTIONS(.total_ms = 0);
    mcp_call *calls[FIFTY];
    int r;

    if (way == BY_TIMEOUT)
        options.timeout_ms = 100;
    if (way == BY_SCOPE)
        must(mcp_scope_new(NULL, &options.scope), "scope");
    for (int i = 0; i < FIFTY; i++)
        must(mcp_client_start_tool(client, tool, arguments, &options, NULL, NULL,
                                   &calls[i]),
             tool);
    nap(100);
    if (way == BY_SCOPE)
        must(mcp_scope_cancel(options.scope, "enough"), "scope");
    for (int i = 0; i < FIFTY; i++) {
        if (way == BY_CANCEL)
            (void)mcp_call_cancel(calls[i],
                                  "enough"); /* those over the pool are over */
        r = mcp_call_wait(calls[i], PATIENCE_MS, NULL, &err);
        must(r == 0 || r == expected ? 0 : r, tool);
        mcp_call_free(calls[i]);
    }
    mcp_scope_free(options.scope);
}

static void
play_scenes(void)
{
    mcp_reply *reply = NULL;

    greet();
    print_head();
    print_when_calm("after one call");
    abandon_fifty("hang", "{\"seconds\":60}", BY_CANCEL, MCP_E_CANCELED);
    print_when_calm("50 hang, canceled");
    abandon_fifty("hang", "{\"seconds\":60}", BY_TIMEOUT, MCP_E_TIMEOUT);
    print_when_calm("50 hang, timed out");
    abandon_fifty("hang", "{\"seconds\":60}", BY_SCOPE, MCP_E_CANCELED);
    print_when_calm("50 hang, one scope canceled");
    abandon_fifty("hang_async", "{\"seconds\":60}", BY_SCOPE, MCP_E_CANCELED);
    print_when_calm("50 hang_async, scope canceled");
    abandon_fifty("deaf", "{\"seconds\":1.5}", BY_CANCEL, MCP_E_CANCELED);
    print_row("50 deaf, canceled: still there");
    must(mcp_client_call_tool(client, "hang", "{\"seconds\":0}", NULL, &reply, &err),
         "hang");
    printf("  and meanwhile another hang:    %s\n", mcp_reply_text(reply));
    mcp_reply_free(reply);
    print_when_calm("50 deaf, a moment later");
}

static void
play_stdio(const char *server, enum mcp_era era)
{
    const char *const command[] = {server, NULL};
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "demo", .version = "1.0",
                                                     .era = era);

    must(mcp_client_spawn(command, &me, &client, &err), server);
    printf("protocol %s, over stdio\n\n", mcp_client_version(client));
    play_scenes();
    mcp_client_free(client);
    printf("\n");
}

/* A client that goes while its calls run tells the server so, in each era. */
static void
leave_fifty(const char *url, const mcp_client_options *me)
{
    for (int i = 0; i < FIFTY; i++)
        must(mcp_client_start_tool(client, "hang_async", "{\"seconds\":60}", NULL, NULL,
                                   NULL, NULL),
             "hang_async");
    nap(100);
    mcp_client_free(client);
    must(mcp_client_connect_http(url, NULL, me, &client, &err), url);
}

static void
play_http(const char *url, enum mcp_era era)
{
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "demo", .version = "1.0",
                                                     .era = era);

    must(mcp_client_connect_http(url, NULL, &me, &client, &err), url);
    printf("protocol %s, over HTTP\n\n", mcp_client_version(client));
    play_scenes();
    leave_fifty(url, &me);
    print_when_calm("50 hang_async, client gone");
    mcp_client_free(client);
    printf("\n");
}

/* ---- the server ------------------------------------------------------------------ */

/* probe-server stands beside this program. */
static const char *
find_server(void)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
    char *slash;

    path[n < 0 ? 0 : n] = '\0';
    slash = strrchr(path, '/');
    if (!slash)
        return "probe-server";
    memcpy(slash + 1, "probe-server", sizeof("probe-server"));
    return path;
}

/* Start it on a port; the first line it prints is its URL. */
static pid_t
start_server(const char *server, char *url, int room)
{
    char path[4096], option[] = "--http", where[] = "127.0.0.1:0";
    char *const command[] = {path, option, where, NULL};
    posix_spawn_file_actions_t actions;
    int wires[2];
    pid_t pid;
    FILE *out;

    (void)snprintf(path, sizeof(path), "%s", server);
    must(pipe(wires) < 0 ? MCP_E_LIMIT : 0, "pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, wires[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, wires[0]);
    must(posix_spawn(&pid, path, &actions, NULL, command, environ) == 0 ? 0
                                                                        : MCP_E_INVAL,
         server);
    posix_spawn_file_actions_destroy(&actions);
    close(wires[1]);
    out = fdopen(wires[0], "r");
    must(out && fgets(url, room, out) ? 0 : MCP_E_PROTO, "the server's URL");
    url[strcspn(url, "\n")] = '\0';
    fclose(out);
    return pid;
}

int
main(int argc, char **argv)
{
    const char *server = argc > 1 ? argv[1] : find_server();
    char url[MCP_HTTP_URL_MAX];
    pid_t pid;

    setvbuf(stdout, NULL, _IOLBF, 0);
    play_stdio(server, MCP_ERA_MODERN);
    play_stdio(server, MCP_ERA_LEGACY);
    pid = start_server(server, url, sizeof(url));
    play_http(url, MCP_ERA_MODERN);
    play_http(url, MCP_ERA_LEGACY);
    kill(pid, SIGTERM);
    (void)waitpid(pid, NULL, 0);
    printf("Every abandoned call ended once, the server heard of each, nothing is "
           "left.\n");
    return 0;
}
