/*
 * bare_http.c - HTTP with nothing around it: epoll, and the same answer to everything
 *
 *     bench-bare-http BYTES       so many in each answer, its head included
 *
 * It reads a head, takes Content-Length from it, waits for the body and answers. What
 * is posted to /hang is not answered: when its client leaves, the time of that goes to
 * stdout, as 8 bytes, and before that 8 bytes of zero when the request has come.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 32768, ROOM = 4096, EVENTS = 64, HEAD_ROOM = 256 };

struct client {
    size_t filled;
    bool hangs;
    char input[ROOM];
};

static struct client *clients[CLIENTS]; /* by descriptor */
static char answer[1 << 16];
static size_t answer_length;

/* BYTES in all: the head says how long the rest is. */
static void
answer_make(size_t bytes)
{
    char head[HEAD_ROOM];
    size_t body = bytes > HEAD_ROOM ? bytes - HEAD_ROOM / 2 : HEAD_ROOM / 2;
    int n = 0;

    for (int i = 0; i < 2; i++) { /* the second time it is known how long the head is */
        n = snprintf(head, sizeof(head),
                     "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n",
                     body);
        if (bytes > (size_t)n + 2)
            body = bytes - (size_t)n;
    }
    answer_length = (size_t)n + body;
    if (answer_length > sizeof(answer))
        abort();
    memcpy(answer, head, (size_t)n);
    memset(answer + n, ' ', body);
    answer[n] = '{';
    answer[answer_length - 1] = '}';
}

static void
time_report(bool is_real)
{
    struct timespec t = {0};
    int64_t ns;

    if (is_real && clock_gettime(CLOCK_MONOTONIC, &t) < 0)
        abort();
    ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    if (write(STDOUT_FILENO, &ns, sizeof(ns)) != sizeof(ns))
        abort();
}

static void
client_close(int fd)
{
    if (clients[fd]->hangs)
        time_report(true);
    free(clients[fd]);
    clients[fd] = NULL;
    close(fd);
}

/* How long the request is that stands first; 0: it is not all there. */
static size_t
request_length(const struct client *client)
{
    static const char key[] = "Content-Length: ";
    const char *end = memmem(client->input, client->filled, "\r\n\r\n", 4);
    const char *length;
    size_t all;

    if (!end)
        return 0;
    length = memmem(client->input, (size_t)(end - client->input), key, sizeof(key) - 1);
    all = (size_t)(end - client->input) + 4;
    if (length)
        all += strtoul(length + sizeof(key) - 1, NULL, 10);
    return all <= client->filled ? all : 0;
}

/* False: it is gone. */
static bool
client_answer(int fd, struct client *client)
{
    size_t length = request_length(client);

    while (length > 0 && !client->hangs) {
        client->hangs = memcmp(client->input, "POST /hang ", 11) == 0;
        if (client->hangs)
            time_report(false);
        else if (send(fd, answer, answer_length, MSG_NOSIGNAL) !=
                 (ssize_t)answer_length)
            return false;
        client->filled -= length;
        if (client->filled == 0)
            return true;
        memmove(client->input, client->input + length, client->filled);
        length = request_length(client);
    }
    return client->filled < ROOM;
}

static void
client_read(int fd)
{
    struct client *client = clients[fd];
    ssize_t n = read(fd, client->input + client->filled, ROOM - client->filled);

    if (n < 0 && errno == EAGAIN)
        return;
    if (n > 0)
        client->filled += (size_t)n;
    if (n <= 0 || !client_answer(fd, client))
        client_close(fd);
}

static void
client_accept(int listener, int epoll)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    int on = 1;

    if (fd < 0)
        return;
    if (fd >= CLIENTS)
        abort();
    clients[fd] = calloc(1, sizeof(*clients[fd]));
    event.data.fd = fd;
    if (!clients[fd] || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
        abort();
}

static int
listener_make(int epoll)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    struct epoll_event event = {.events = EPOLLIN};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    event.data.fd = fd;
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0 ||
        listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        abort();
    printf("http://127.0.0.1:%d/mcp\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

int
main(int argc, char **argv)
{
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int listener, count;

    if (argc != 2 || epoll < 0) {
        fprintf(stderr, "usage: bench-bare-http BYTES\n");
        return 2;
    }
    answer_make(strtoul(argv[1], NULL, 10));
    listener = listener_make(epoll);
    for (;;) {
        count = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == listener)
                client_accept(listener, epoll);
            else
                client_read(events[i].data.fd);
        }
    }
}
