/*
 * demo_http.c - the same over HTTP: how a client of each era abandons a call
 *
 * A client of 2026-07-28 closes the response of the call. One of 2025-11-25 posts a cancel
 * into its session; if its connection is lost the call goes on, until the session ends.
 * All of that is done here with plain sockets, so that one sees what crosses the wire.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo.h"

#define MODERN "2026-07-28"
#define LEGACY "2025-11-25"

enum { MESSAGE = 4096, REPLY = 65536 };

static int port;
static bool modern;
static char session[128]; /* legacy: what the server called it */

/* ---- HTTP, as little of it as will do --------------------------------------------- */

static int
dial(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    must(fd < 0 ? MCP_E_LIMIT : 0, "socket");
    must(connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? MCP_E_CLOSED
                                                                       : 0,
         "connect");
    return fd;
}

static void
send_request(int fd, const char *method, const char *mirrored, const char *body)
{
    char text[2 * MESSAGE];
    int length;

    length = snprintf(text, sizeof(text),
                      "%s /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                      "Accept: application/json, text/event-stream\r\n"
                      "Content-Type: application/json\r\n"
                      "MCP-Protocol-Version: %s\r\n%s%s%s%s"
                      "Content-Length: %zu\r\n\r\n%s",
                      method, modern ? MODERN : LEGACY, mirrored,
                      *session ? "Mcp-Session-Id: " : "", session,
                      *session ? "\r\n" : "", strlen(body), body);
    must(send(fd, text, (size_t)length, MSG_NOSIGNAL) == length ? 0 : MCP_E_CLOSED,
         "send");
}

/* The whole reply, head and body; to the end of the connection if it does not say how long
 * it is. */
static const char *
read_reply(int fd)
{
    static char reply[REPLY];
    size_t have = 0, want = sizeof(reply) - 1;
    ssize_t n = 1;
    char *body, *length;

    while (have < want && n > 0) {
        n = recv(fd, reply + have, want - have, 0);
        have += n > 0 ? (size_t)n : 0;
        reply[have] = '\0';
        body = strstr(reply, "\r\n\r\n");
        length = body ? strcasestr(reply, "\r\ncontent-length:") : NULL;
        if (length && length < body)
            want = (size_t)(body + 4 - reply) + strtoul(length + 17, NULL, 10);
        if (strstr(reply, "\r\n0\r\n\r\n")) /* the last chunk of a stream */
            break;
    }
    return reply;
}

/* ---- MCP -------------------------------------------------------------------------- */

static void
call_tool(int fd, int id, const char *tool, const char *arguments)
{
    char body[MESSAGE], mirrored[256] = "";

    if (modern)
        (void)snprintf(mirrored, sizeof(mirrored),
                       "Mcp-Method: tools/call\r\nMcp-Name: %s\r\n", tool);
    (void)snprintf(
        body, sizeof(body),
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
        "\"name\":\"%s\",\"arguments\":%s%s}}",
        id, tool, arguments,
        modern ? ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
                 "\"" MODERN "\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}}"
               : "");
    send_request(fd, "POST", mirrored, body);
}

static void
say(const char *method, const char *message)
{
    int fd = dial();
    const char *reply, *id;

    send_request(fd, method, "", message);
    reply = read_reply(fd);
    must(strncmp(reply, "HTTP/1.1 20", 11) == 0 ? 0 : MCP_E_PROTO, message);
    id = strcasestr(reply, "\r\nmcp-session-id:");
    if (id)
        (void)sscanf(id + 17, " %127[^\r]", session);
    close(fd);
}

static void
begin_session(void)
{
    say("POST", "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                "\"protocolVersion\":\"" LEGACY "\",\"capabilities\":{},"
                "\"clientInfo\":{\"name\":\"demo\",\"version\":\"1.0\"}}}");
    must(*session ? 0 : MCP_E_PROTO, "a session id");
    say("POST", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static void
ask_stats(int64_t into[COLUMNS])
{
    int fd = dial();
    const char *reply, *body;
    mcp_doc *doc = NULL;

    call_tool(fd, 1, "stats", "{}");
    reply = read_reply(fd);
    body = strstr(reply, "\r\n\r\n");
    must(body ? mcp_doc_parse(body + 4, strlen(body + 4), NULL, &doc, NULL)
              : MCP_E_PROTO,
         "stats");
    read_stats(
        mcp_json_get(mcp_json_get(mcp_doc_root(doc), "result"), "structuredContent"),
        into);
    mcp_doc_free(doc);
    close(fd);
}

/* ---- scenes ------------------------------------------------------------------- */

static void
start_fifty(const char *tool, int fds[FIFTY])
{
    for (int i = 0; i < FIFTY; i++) {
        fds[i] = dial();
        call_tool(fds[i], 100 + i, tool, "{\"seconds\":60}");
    }
    nap(100);
}

static void
close_fifty(const int fds[FIFTY])
{
    for (int i = 0; i < FIFTY; i++)
        close(fds[i]);
}

static void
play_modern(void)
{
    int fds[FIFTY];

    modern = true;
    *session = '\0';
    printf("protocol %s, over HTTP\n\n", MODERN);
    print_head();
    print_when_calm("after one call", ask_stats);
    start_fifty("hang", fds);
    close_fifty(fds);
    print_when_calm("50 hang, response closed", ask_stats);
    start_fifty("hang_async", fds);
    close_fifty(fds);
    print_when_calm("50 hang_async, closed", ask_stats);
    printf("\n");
}

static void
cancel_fifty(int fds[FIFTY])
{
    char cancel[MESSAGE];

    for (int i = 0; i < FIFTY; i++) {
        (void)snprintf(cancel, sizeof(cancel),
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                       "\"params\":{\"requestId\":%d,\"reason\":\"enough\"}}",
                       100 + i);
        say("POST", cancel);
    }
    for (int i = 0; i < FIFTY; i++) /* each has an end, in order */
        (void)read_reply(fds[i]);
    close_fifty(fds);
}

static void
play_legacy(void)
{
    int fds[FIFTY];

    modern = false;
    printf("protocol %s, over HTTP\n\n", LEGACY);
    begin_session();
    print_head();
    print_when_calm("after one call", ask_stats);
    start_fifty("hang", fds);
    cancel_fifty(fds);
    print_when_calm("50 hang, cancel posted", ask_stats);
    start_fifty("hang_async", fds);
    close_fifty(fds);
    nap(100);
    print_row("50 hang_async, connection lost", ask_stats);
    say("DELETE", "");
    *session = '\0';
    begin_session();
    print_when_calm("and their session deleted", ask_stats);
    printf("\n");
}

/* Start the server; the first line it prints is its URL. */
static pid_t
start_server(const char *server)
{
    char path[4096], option[] = "--http", where[] = "127.0.0.1:0";
    char *const command[] = {path, option, where, NULL};
    posix_spawn_file_actions_t actions;
    char url[256] = "", *colon;
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
    must(out && fgets(url, sizeof(url), out) ? 0 : MCP_E_PROTO, "the server's URL");
    colon = strrchr(url, ':'); /* http://127.0.0.1:PORT/mcp */
    port = colon ? (int)strtol(colon + 1, NULL, 10) : 0;
    fclose(out);
    return pid;
}

void
play_http(const char *server)
{
    pid_t pid = start_server(server);

    play_modern();
    play_legacy();
    kill(pid, SIGTERM);
    (void)waitpid(pid, NULL, 0);
}
