/* http_target.c - an HTTP server that is measured, and the cheapest client for it */
#include "http_target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define META "io.modelcontextprotocol/"
#define NO_ID "100000000"
#define TEXT "the quick brown fox jumps over the lazy dog"

/* Connections that are made before anybody looks at them: below any backlog. */
enum { AT_ONCE = 64 };

static const char modern_meta[] =
    "\"" META "protocolVersion\":\"2026-07-28\",\"" META
    "clientInfo\":{\"name\":\"bench\",\"version\":\"1.0\"},\"" META
    "clientCapabilities\":{}";

static const char initialize[] =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
    "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1.0\"}}}";

static const char initialized[] =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

/* ---- requests -------------------------------------------------------------- */

struct post {
    const char *path, *method, *name, *body;
};

static size_t
post_write(char *into, const struct http_target *target, const struct post *post)
{
    bool is_legacy = target->recipe->is_legacy;
    char own[512] = "";
    int n;

    if (!is_legacy)
        (void)snprintf(own, sizeof(own), "Mcp-Method: %s\r\nMcp-Name: %s\r\n",
                       post->method, post->name ? post->name : "none");
    if (!is_legacy && !post->name)
        *strstr(own, "Mcp-Name") = '\0';
    n = snprintf(into, REQUEST_ROOM,
                 "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                 "Content-Type: application/json\r\n"
                 "Accept: application/json, text/event-stream\r\n"
                 "MCP-Protocol-Version: %s\r\n%s%sContent-Length: %zu\r\n\r\n%s",
                 post->path, target->port, is_legacy ? "2025-11-25" : "2026-07-28", own,
                 target->session, strlen(post->body), post->body);
    must(n > 0 && n < REQUEST_ROOM, "a request is longer than expected");
    return (size_t)n;
}

static size_t
call_write(char *into, const struct http_target *target, const struct post *post,
           const char *arguments, const char *token)
{
    char body[1024];
    int n;

    n = snprintf(body, sizeof(body),
                 "{\"jsonrpc\":\"2.0\",\"id\":" NO_ID ",\"method\":\"tools/call\","
                 "\"params\":{\"name\":\"%s\",\"arguments\":%s,\"_meta\":{%s%s}}}",
                 post->name, arguments, token,
                 target->recipe->is_legacy ? "" : modern_meta);
    must(n > 0 && (size_t)n < sizeof(body), "a call is longer than expected");
    return post_write(into, target,
                      &(struct post){post->path, "tools/call", post->name, body});
}

static void
echo_build(struct http_target *target)
{
    const struct post post = {.path = "/mcp", .name = "echo"};

    target->length = call_write(target->request, target, &post,
                                "{\"text\":\"" TEXT "\"}", "");
    target->id_at = (size_t)(strstr(target->request, NO_ID) - target->request);
    memcpy(target->id, NO_ID, sizeof(NO_ID));
}

static size_t
get_write(char *into, const struct http_target *target)
{
    int n = snprintf(into, REQUEST_ROOM,
                     "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                     "Accept: text/event-stream\r\n"
                     "MCP-Protocol-Version: 2025-11-25\r\n%s\r\n",
                     target->port, target->session);

    must(n > 0 && n < REQUEST_ROOM, "a request is longer than expected");
    return (size_t)n;
}

static size_t
hang_build(const struct http_target *target, enum hanging kind, bool report, char *into)
{
    const char *path = target->recipe->is_bare ? "/hang" : "/mcp";
    const struct post post = {.path = path, .name = "hang"};
    char body[1024];

    if (kind == HANG_GET)
        return get_write(into, target);
    if (kind != HANG_LISTEN)
        return call_write(into, target, &post,
                          report ? "{\"report\":true}" : "{\"report\":false}",
                          kind == HANG_STREAM ? "\"progressToken\":\"p\"," : "");
    (void)snprintf(body, sizeof(body),
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\","
                   "\"params\":{\"notifications\":{\"toolsListChanged\":true},"
                   "\"_meta\":{%s}}}",
                   modern_meta);
    return post_write(into, target,
                      &(struct post){path, "subscriptions/listen", NULL, body});
}

/* ---- connections ----------------------------------------------------------- */

static int
socket_connect(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    must(fd >= 0, "no more sockets");
    must(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0,
         "a server cannot be reached");
    must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0, "no nodelay");
    return fd;
}

static void
bytes_send(int fd, const char *bytes, size_t length)
{
    must(send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length,
         "a server does not read");
}

/* How long the answer is that begins here; 0: it is not all there. */
static size_t
answer_length(const char *answer, size_t got)
{
    const char *end = memmem(answer, got, "\r\n\r\n", 4);
    const char *length;
    size_t head, all;

    if (!end)
        return 0;
    head = (size_t)(end - answer) + 4;
    length = memmem(answer, head, "ontent-", 7);
    while (length && strncasecmp(length, "ontent-length: ", 15) != 0)
        length = memmem(length + 7, head - (size_t)(length + 7 - answer), "ontent-", 7);
    if (length) {
        all = head + strtoul(length + 15, NULL, 10);
        return all <= got ? all : 0;
    }
    return got >= head + 5 && memcmp(answer + got - 5, "0\r\n\r\n", 5) == 0 ? got : 0;
}

/* Read until an answer is there; returns its length, 0: the server has closed. */
static size_t
answer_read(int fd, char *answer, size_t room)
{
    size_t got = 0, length = 0;
    ssize_t n;

    while (length == 0) {
        must(got < room - 1, "an answer is longer than expected");
        n = recv(fd, answer + got, room - 1 - got, 0);
        if (n <= 0)
            return 0;
        got += (size_t)n;
        length = answer_length(answer, got);
    }
    answer[length] = '\0';
    return length;
}

/* ---- driving --------------------------------------------------------------- */

static void
lane_ask(struct http_target *target, struct lane *lane)
{
    size_t i = sizeof(NO_ID) - 2;

    while (target->id[i] == '9')
        target->id[i--] = '0';
    target->id[i]++;
    memcpy(target->request + target->id_at, target->id, sizeof(NO_ID) - 1);
    bytes_send(lane->fd, target->request, target->length);
}

/* Is its answer all there? Nearly always it comes at once, as long as the others;
 * then nothing is copied or looked for. */
static bool
lane_receive(const struct http_target *target, struct lane *lane, int flags)
{
    static char shared[ANSWER_ROOM];
    char *into = lane->got == 0 ? shared : lane->answer;
    ssize_t n = recv(lane->fd, into + lane->got, ANSWER_ROOM - lane->got, flags);
    size_t all;

    if (n < 0 && errno == EAGAIN)
        return false;
    must(n > 0, "a server has ended");
    all = lane->got + (size_t)n;
    if (all != target->answer && answer_length(into, all) != all) {
        must(all < ANSWER_ROOM, "an answer is longer than expected");
        if (lane->got == 0)
            memcpy(lane->answer, shared, all);
        lane->got = all;
        return false;
    }
    must(memcmp(into, "HTTP/1.1 200", 12) == 0, "a call was refused");
    lane->got = 0;
    return true;
}

static long
drive_one(struct http_target *target, double until)
{
    struct lane *lane = &target->lanes[0];
    long calls = 0;

    while (clock_now() < until) {
        lane_ask(target, lane);
        while (!lane_receive(target, lane, 0))
            continue;
        calls++;
    }
    return calls;
}

static long
drive_all(struct http_target *target, double until)
{
    struct epoll_event events[LANES];
    int count, in_flight = LANES;
    long calls = 0;
    bool more = true;

    for (int i = 0; i < LANES; i++)
        lane_ask(target, &target->lanes[i]);
    while (in_flight > 0) {
        count = epoll_wait(target->epoll, events, LANES, -1);
        more = more && clock_now() < until;
        for (int i = 0; i < count; i++) {
            if (!lane_receive(target, events[i].data.ptr, MSG_DONTWAIT))
                continue;
            calls++;
            if (more)
                lane_ask(target, events[i].data.ptr);
            else
                in_flight--;
        }
    }
    return calls;
}

struct http_cost
http_target_drive(struct http_target *target, int lanes, double slice_us)
{
    double server = process_cpu(&target->process), wall = clock_now();
    long calls;

    if (lanes == 1)
        calls = drive_one(target, wall + slice_us);
    else
        calls = drive_all(target, wall + slice_us);
    wall = clock_now() - wall;
    return (struct http_cost){.wall = wall / (double)calls,
                              .server = (process_cpu(&target->process) - server) /
                                        (double)calls};
}

/* ---- beginning and end ----------------------------------------------------- */

/* Its first line says where it is. */
static bool
port_read(struct http_target *target)
{
    static const char start[] = "http://127.0.0.1:";
    char line[512];
    size_t length = 0;

    do { /* byte by byte: what follows is not ours to read yet */
        if (length == sizeof(line) - 1 ||
            read(target->process.from, line + length, 1) != 1)
            return false;
    } while (line[length++] != '\n');
    line[length] = '\0';
    if (strncmp(line, start, sizeof(start) - 1) != 0)
        return false;
    target->port = (int)strtol(line + sizeof(start) - 1, NULL, 10);
    return true;
}

/* The legacy handshake, on the first connection. */
static bool
session_open(struct http_target *target, char *answer, size_t room)
{
    char request[REQUEST_ROOM];
    char *line;
    size_t n;

    n = post_write(request, target, &(struct post){.path = "/mcp", .body = initialize});
    bytes_send(target->lanes[0].fd, request, n);
    if (answer_read(target->lanes[0].fd, answer, room) == 0)
        return false;
    line = strcasestr(answer, "\r\nmcp-session-id:");
    if (!line)
        return false;
    (void)snprintf(target->session, sizeof(target->session), "%.*s\r\n",
                   (int)strcspn(line + 2, "\r"), line + 2);
    n = post_write(request, target,
                   &(struct post){.path = "/mcp", .body = initialized});
    bytes_send(target->lanes[0].fd, request, n);
    return answer_read(target->lanes[0].fd, answer, room) > 0;
}

static bool
target_greet(struct http_target *target)
{
    char answer[ANSWER_ROOM];

    if (target->recipe->is_legacy && !session_open(target, answer, sizeof(answer)))
        return false;
    echo_build(target);
    lane_ask(target, &target->lanes[0]);
    target->answer = answer_read(target->lanes[0].fd, answer, sizeof(answer));
    return target->answer > 0;
}

void
http_target_check(struct http_target *target)
{
    char answer[ANSWER_ROOM];
    char id[32];

    lane_ask(target, &target->lanes[0]);
    must(answer_read(target->lanes[0].fd, answer, sizeof(answer)) > 0,
         "a server has ended");
    (void)snprintf(id, sizeof(id), "\"id\":%s", target->id);
    if (target->recipe->is_bare || (strstr(answer, id) && strstr(answer, TEXT)))
        return;
    fprintf(stderr, "bench-http: unexpected from %s: %s\n", target->recipe->argv[0],
            answer);
    must(false, "a call was not answered well");
}

bool
http_target_start(struct http_target *target, const struct http_recipe *recipe)
{
    memset(target, 0, sizeof(*target));
    target->recipe = recipe;
    process_open(&target->process);
    process_run(&target->process, recipe->argv, recipe->is_peer, OTHER_CORE);
    if (!port_read(target)) {
        process_kill(&target->process);
        return false;
    }
    target->epoll = epoll_create1(EPOLL_CLOEXEC);
    must(target->epoll >= 0, "no epoll");
    for (int i = 0; i < LANES; i++) {
        struct lane *lane = &target->lanes[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = lane};

        lane->fd = socket_connect(target->port);
        must(epoll_ctl(target->epoll, EPOLL_CTL_ADD, lane->fd, &event) == 0,
             "no epoll");
    }
    if (target_greet(target))
        return true;
    http_target_stop(target);
    return false;
}

void
http_target_stop(struct http_target *target)
{
    for (int i = 0; i < LANES; i++)
        close(target->lanes[i].fd);
    close(target->epoll);
    process_kill(&target->process);
}

/* ---- requests that are not answered ---------------------------------------- */

/* Its stream is open. */
static void
stream_expect(int fd)
{
    char head[ANSWER_ROOM];
    size_t got = 0;
    ssize_t n;

    do {
        n = recv(fd, head + got, sizeof(head) - got, 0);
        must(n > 0, "a stream was not opened");
        got += (size_t)n;
    } while (got < 12);
    must(memcmp(head, "HTTP/1.1 200", 12) == 0, "a stream was refused");
}

void
http_streams_open(const struct http_target *target, enum hanging kind, int count,
                  int *ret_fds)
{
    char request[REQUEST_ROOM];
    size_t length = hang_build(target, kind, false, request);

    for (int from = 0; from < count; from += AT_ONCE) {
        int to = from + AT_ONCE < count ? from + AT_ONCE : count;

        for (int i = from; i < to; i++) {
            ret_fds[i] = socket_connect(target->port);
            bytes_send(ret_fds[i], request, length);
        }
        for (int i = from; kind != HANG_SILENT && i < to; i++)
            stream_expect(ret_fds[i]);
    }
}

void
http_streams_close(const int *fds, int count)
{
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

static double
time_read(const struct http_target *target)
{
    int64_t ns;

    must(read(target->process.from, &ns, sizeof(ns)) == sizeof(ns),
         "a server reports nothing");
    return (double)ns / 1e3;
}

double
http_close_measure(const struct http_target *target, enum hanging kind)
{
    char request[REQUEST_ROOM];
    size_t length = hang_build(target, kind, true, request);
    int fd = socket_connect(target->port);
    double start;

    bytes_send(fd, request, length);
    must(time_read(target) == 0, "a server reports too early");
    if (kind == HANG_STREAM && !target->recipe->is_bare)
        stream_expect(fd);
    start = clock_now();
    close(fd);
    return time_read(target) - start;
}
