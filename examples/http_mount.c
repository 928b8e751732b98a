/*
 * http_mount.c - MCP inside a program that has its own HTTP server
 *
 *     build/bin/example-http-mount [PORT]
 *
 * The program's server is one page and a poll(2) loop here: / is its own, /mcp is the
 * library's. Each request for that is handed in whole; the answer comes by three
 * functions; and when a client hangs up, freeing its turn tells the library, which
 * cancels what the client had asked for. The library's loop is one more descriptor of
 * the program's, so all of this is one thread; only tools that block have their own.
 * To stay small, a connection is for one request and ends with its answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mcp/http.h>

enum { CLIENTS = 64, FIELDS = 64, REQUEST_MAX = 65536, ENOUGH = 65536 };

struct client {
    int fd;
    char in[REQUEST_MAX + 1]; /* a request */
    size_t in_len;
    char *out; /* what has yet to be written */
    size_t out_len;
    mcp_http_turn *turn; /* being answered */
    bool served, over;   /* begun; all that there is to write is in out */
    bool broken;         /* close it now */
};

static struct client *clients[CLIENTS];
static mcp_http_mount *mount;

/* ---- answers ------------------------------------------------------------ */

static void
put(struct client *c, const char *data, size_t length)
{
    char *out = realloc(c->out, c->out_len + length + 1);

    c->broken = c->broken || !out;
    if (!out)
        return;
    memcpy(out + c->out_len, data, length);
    c->out = out;
    c->out_len += length;
    if (c->turn && c->out_len > ENOUGH) /* it does not read */
        mcp_http_turn_pause(c->turn, true);
}

static void
put_field(struct client *c, const char *name, const char *value)
{
    put(c, name, strlen(name));
    put(c, ": ", 2);
    put(c, value, strlen(value));
    put(c, "\r\n", 2);
}

static void
on_more(void *user, const char *body, size_t length, bool last)
{
    struct client *c = user;

    put(c, body, length);
    c->over = last;
}

static void
on_begin(void *user, int status, const mcp_http_field *fields, size_t field_count,
         const char *body, size_t length, bool last)
{
    struct client *c = user;
    char line[32];

    put(c, line, (size_t)snprintf(line, sizeof(line), "HTTP/1.1 %d -\r\n", status));
    for (size_t i = 0; i < field_count; i++)
        put_field(c, fields[i].name, fields[i].value);
    put(c, "Connection: close\r\n\r\n", 21);
    on_more(c, body, length, last);
}

static void
on_abort(void *user)
{
    struct client *c = user;

    c->broken = true;
}

static const mcp_http_turn_ops ops = {.size = sizeof(mcp_http_turn_ops),
                                      .begin = on_begin,
                                      .more = on_more,
                                      .abort = on_abort};

/* ---- requests ----------------------------------------------------------- */

/* Cut the head into its parts, in place. False: it is none. */
static bool
read_head(char *head, mcp_http_request *request, mcp_http_field *fields)
{
    char *line = strstr(head, "\r\n"), *end, *colon;

    *line = '\0';
    request->method = strtok(head, " ");
    request->target = strtok(NULL, " ");
    for (line += 2; *line; line = end + 2) {
        end = strstr(line, "\r\n");
        *end = '\0';
        colon = strchr(line, ':');
        if (!colon || request->field_count == FIELDS)
            return false;
        *colon = '\0';
        fields[request->field_count++] = (mcp_http_field){line, colon + 1};
    }
    request->fields = fields;
    return request->method && request->target &&
           !mcp_http_header(request, "transfer-encoding");
}

static void
serve(struct client *c, const mcp_http_request *request)
{
    static const char page[] = "This page is the program's own. Try /mcp.\n";
    static const mcp_http_field type = {"Content-Type", "text/plain"};

    if (strcmp(request->target, "/") == 0)
        on_begin(c, 200, &type, 1, page, sizeof(page) - 1, true);
    else if (strcmp(request->target, "/mcp") != 0)
        on_begin(c, 404, NULL, 0, "", 0, true);
    else if (mcp_http_serve(mount, request, &ops, c, &c->turn) < 0)
        on_begin(c, 503, NULL, 0, "", 0, true);
}

/* Serve the request if all of it is there. */
static void
client_take(struct client *c)
{
    mcp_http_request request = MCP_HTTP_REQUEST(.address = "127.0.0.1");
    mcp_http_field fields[FIELDS];
    const char *length;
    char *end;

    c->in[c->in_len] = '\0';
    end = strstr(c->in, "\r\n\r\n");
    c->broken = c->broken || (!end && c->in_len == REQUEST_MAX);
    if (!end)
        return;
    request.body = end + 4;
    length = strcasestr(c->in, "\r\ncontent-length:");
    if (length && length < end)
        request.body_length = strtoul(length + 17, NULL, 10);
    if (request.body_length > REQUEST_MAX - (size_t)(end + 4 - c->in))
        on_begin(c, 413, NULL, 0, "", 0, true);
    else if (c->in_len < (size_t)(end + 4 - c->in) + request.body_length)
        return;
    c->served = true;
    end[2] = '\0';
    if (!c->over && read_head(c->in, &request, fields))
        serve(c, &request);
    else if (!c->over)
        on_begin(c, 400, NULL, 0, "", 0, true);
}

/* ---- connections -------------------------------------------------------- */

/* Reading goes on while an answer is under way: only so a client that leaves is
 * noticed. What it says meanwhile is nothing to us. */
static void
client_read(struct client *c)
{
    char *into = c->served ? c->in : c->in + c->in_len;
    ssize_t n = recv(c->fd, into, (size_t)(c->in + REQUEST_MAX - into), MSG_DONTWAIT);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        c->broken = true;
    else if (n > 0 && !c->served)
        c->in_len += (size_t)n;
}

static void
client_write(struct client *c)
{
    ssize_t n = send(c->fd, c->out, c->out_len, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n > 0) {
        c->out_len -= (size_t)n;
        memmove(c->out, c->out + n, c->out_len);
    } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        c->broken = true;
    }
    if (c->turn && c->out_len < ENOUGH / 2)
        mcp_http_turn_pause(c->turn, false);
}

/* False: it is closed. Freeing a turn that is not answered is the cancel. */
static bool
client_go_on(struct client *c)
{
    if (!c->served && !c->broken)
        client_take(c);
    if (c->out_len > 0)
        client_write(c);
    if (!c->broken && !(c->over && c->out_len == 0))
        return true;
    mcp_http_turn_free(c->turn);
    shutdown(c->fd, SHUT_WR);
    close(c->fd);
    free(c->out);
    free(c);
    return false;
}

static void
client_accept(int listener)
{
    int fd = accept(listener, NULL, NULL), slot = 0;

    while (slot < CLIENTS && clients[slot])
        slot++;
    if (fd >= 0 && slot < CLIENTS)
        clients[slot] = calloc(1, sizeof(struct client));
    if (fd >= 0 && slot < CLIENTS && clients[slot])
        clients[slot]->fd = fd;
    else if (fd >= 0)
        close(fd);
}

static void
run(mcp_loop *loop, int listener)
{
    struct pollfd fds[CLIENTS + 2];

    for (;;) {
        fds[0] = (struct pollfd){.fd = listener, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = mcp_loop_fd(loop), .events = POLLIN};
        for (int i = 0; i < CLIENTS; i++) {
            fds[i + 2] = (struct pollfd){.fd = clients[i] ? clients[i]->fd : -1};
            if (clients[i])
                fds[i + 2].events = POLLIN | (clients[i]->out_len > 0 ? POLLOUT : 0);
        }
        poll(fds, CLIENTS + 2, mcp_loop_timeout_ms(loop));
        for (int i = 0; i < CLIENTS; i++)
            if (fds[i + 2].revents & (POLLIN | POLLERR | POLLHUP))
                client_read(clients[i]);
        if (fds[0].revents & POLLIN)
            client_accept(listener);
        mcp_loop_step(loop); /* answers come from in here */
        for (int i = 0; i < CLIENTS; i++)
            if (clients[i] && !client_go_on(clients[i]))
                clients[i] = NULL;
    }
}

/* ---- what it serves ----------------------------------------------------- */

static int
nap(mcp_request *req, mcp_result *out, void *user)
{
    int r;

    (void)user;
    fprintf(stderr, "a nap begins\n");
    r = mcp_request_sleep(req, 60000);
    if (r == MCP_E_CANCELED)
        fprintf(stderr, "a nap was canceled\n");
    return r < 0 ? r : mcp_result_text(out, "slept");
}

static int
listen_on(const char *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return -1;
    printf("http://127.0.0.1:%d/mcp\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

int
main(int argc, char **argv)
{
    const char *const hosts[] = {"127.0.0.1", "localhost", NULL};
    mcp_server_options me = MCP_SERVER_OPTIONS(.name = "mounted", .version = "1.0");
    mcp_tool tool = MCP_TOOL(.name = "nap", .description = "sleeps for a minute",
                             .run = nap);
    int listener = listen_on(argc > 1 ? argv[1] : "0");
    mcp_error err = {.message = "cannot listen there"};
    mcp_server *server;

    if (listener >= 0 && mcp_loop_new(NULL, &me.loop, &err) == 0 &&
        mcp_server_new(&me, &server, &err) == 0 &&
        mcp_server_add_tool(server, &tool, &err) == 0 &&
        mcp_http_mount_new(server, &MCP_HTTP_OPTIONS(.hosts = hosts), &mount, &err) ==
            0)
        run(me.loop, listener);
    fprintf(stderr, "%s\n", err.message);
    return 1;
}
