/* browser_fixture.h - for tests of the browser agent: a visit, and a browser of raw bytes */
#ifndef TESTS_AUTH_BROWSER_FIXTURE_H
#define TESTS_AUTH_BROWSER_FIXTURE_H

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auth/visit.h"
#include "support/test.h"

/* ---- a visit ------------------------------------------------------------------ */

struct fake_visit {
    struct mcp_auth_visit visit; /* first */
    int in, out;                 /* a pipe: what was answered */
};

static inline void
fake_answered(struct mcp_auth_visit *visit, const char *uri, const char *why)
{
    const struct fake_visit *fake = (struct fake_visit *)visit;
    char line[20480];
    int len = snprintf(line, sizeof line, "%s\n", uri ? uri : why);

    (void)!write(fake->in, line, (size_t)len);
}

static inline void
fake_visit_make(struct fake_visit *fake)
{
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    *fake = (struct fake_visit){
        .visit = {.answered = fake_answered}, .in = fds[1], .out = fds[0]};
}

static inline void
fake_visit_done(struct fake_visit *fake)
{
    close(fake->in);
    close(fake->out);
}

/* Something to read there, in time. */
static inline void
await_input(int fd)
{
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    int r;

    do {
        r = poll(&watched, 1, AWAIT_MS);
    } while (r < 0 && errno == EINTR);
    assert_int_equal(r, 1);
}

/* A line from a pipe, without its end, in a buffer that the next call reuses. */
static inline const char *
read_line(int fd)
{
    static char line[20480];
    size_t len = 0;

    for (;;) {
        await_input(fd);
        assert_int_equal(read(fd, line + len, 1), 1);
        if (line[len] == '\n')
            break;
        assert_true(++len < sizeof line);
    }
    line[len] = '\0';
    return line;
}

static inline bool
fake_visit_waits(const struct fake_visit *fake)
{
    struct pollfd watched = {.fd = fake->out, .events = POLLIN};

    return poll(&watched, 1, 0) == 0;
}

/* ---- a browser ------------------------------------------------------------------ */

static inline int
port_of_uri(const char *uri)
{
    const char *colon = strchr(uri + strlen("http://"), ':');

    assert_non_null(colon);
    return (int)strtol(colon + 1, NULL, 10);
}

/* -1 and errno: it is refused. */
static inline int
try_connect(int family, int port)
{
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port),
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6,
                               .sin6_port = htons((uint16_t)port),
                               .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), number;

    if (fd < 0)
        return -1;
    if (connect(fd,
                family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six,
                family == AF_INET ? sizeof four : sizeof six) == 0)
        return fd;
    number = errno;
    close(fd);
    errno = number;
    return -1;
}

static inline int
browse_open(const char *uri)
{
    int fd = try_connect(AF_INET, port_of_uri(uri));

    assert_true(fd >= 0);
    return fd;
}

static inline void
browse_say(int fd, const char *text)
{
    size_t len = strlen(text);

    assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

/* All that comes until the end, in a buffer that the next call reuses; closes it. */
static inline const char *
browse_rest(int fd)
{
    static char text[8192];
    size_t len = 0;
    ssize_t n = 1;

    while (n > 0) {
        await_input(fd);
        n = recv(fd, text + len, sizeof text - 1 - len, 0);
        len += n > 0 ? (size_t)n : 0;
    }
    text[len] = '\0';
    close(fd);
    return text;
}

/* The status of the answer to that request; 0: none came. */
static inline int
browse_raw(const char *uri, const char *request)
{
    const char *answer;
    int fd = browse_open(uri);

    browse_say(fd, request);
    answer = browse_rest(fd);
    if (!*answer)
        return 0;
    assert_memory_equal(answer, "HTTP/1.1 ", 9);
    return (int)strtol(answer + 9, NULL, 10);
}

/* The status of a GET, as a browser writes it; target begins with '/'. */
static inline int
browse_get(const char *uri, const char *target)
{
    const char *host = uri + strlen("http://");
    char request[20480];

    snprintf(request, sizeof request,
             "GET %s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: Test/1.0 (raw)\r\n"
             "Accept: text/html\r\nConnection: keep-alive\r\n\r\n",
             target, (int)strcspn(host, "/"), host);
    return browse_raw(uri, request);
}

/* ---- what is left ---------------------------------------------------------------- */

static inline int
count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;

    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static inline int
count_threads(void)
{
    return count_entries("/proc/self/task");
}

static inline int
count_descriptors(void)
{
    return count_entries("/proc/self/fd");
}

/* Until there are no children any more, dead or alive, and so many threads. */
static inline void
await_quiet(int threads)
{
    siginfo_t info;
    int i = 0;

    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ||
           count_threads() > threads) {
        assert_true(i++ < AWAIT_MS);
        (void)poll(NULL, 0, 1);
    }
}

#endif
