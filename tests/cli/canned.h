/*
 * canned.h - a server of HTTP that has its answers ready, one for each connection
 *
 * What each request was is kept. On loopback, on a thread of its own, which ends after
 * the last answer.
 */
#ifndef TESTS_CLI_CANNED_H
#define TESTS_CLI_CANNED_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/test.h"

#define CANNED_MAX 8

struct canned {
    const char *answers[CANNED_MAX]; /* NULL at the end; set before canned_open */
    char requests[CANNED_MAX][4096];
    char url[64];
    int listener;
    pthread_t thread;
};

/* The head, and as much body as its length says. */
static inline void
canned_read(int fd, char *into, size_t room)
{
    size_t used = 0, wanted = 0;
    const char *head, *length;
    ssize_t n;

    do {
        n = recv(fd, into + used, room - 1 - used, 0);
        used += n > 0 ? (size_t)n : 0;
        into[used] = '\0';
        head = strstr(into, "\r\n\r\n");
        length = strstr(into, "Content-Length: ");
        if (head)
            wanted = (size_t)(head + 4 - into) +
                     (length ? strtoul(length + 16, NULL, 10) : 0);
    } while (n > 0 && (!head || used < wanted) && used < room - 1);
}

static inline void *
canned_serve(void *user)
{
    struct canned *canned = user;

    for (size_t i = 0; i < CANNED_MAX && canned->answers[i]; i++) {
        int fd = accept(canned->listener, NULL, NULL);

        if (fd < 0)
            break;
        canned_read(fd, canned->requests[i], sizeof(canned->requests[i]));
        (void)!write(fd, canned->answers[i], strlen(canned->answers[i]));
        close(fd);
    }
    return NULL;
}

static inline void
canned_open(struct canned *canned)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    canned->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(canned->listener >= 0);
    assert_int_equal(bind(canned->listener, (const void *)&address, sizeof(address)),
                     0);
    assert_int_equal(listen(canned->listener, CANNED_MAX), 0);
    assert_int_equal(getsockname(canned->listener, (void *)&address, &length), 0);
    (void)snprintf(canned->url, sizeof(canned->url), "http://127.0.0.1:%d/mcp",
                   ntohs(address.sin_port));
    assert_int_equal(pthread_create(&canned->thread, NULL, canned_serve, canned), 0);
}

/* Also if not all of its answers were asked for. */
static inline void
canned_close(struct canned *canned)
{
    (void)shutdown(canned->listener, SHUT_RDWR);
    assert_int_equal(pthread_join(canned->thread, NULL), 0);
    close(canned->listener);
}

#endif
