/*
 * guarded.h - probe-server behind a guard, who vouches for its clients, and a user who signs
 * in: fetches the page, and goes where that leads
 */
#ifndef TESTS_CLI_GUARDED_H
#define TESTS_CLI_GUARDED_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/program.h"

struct guarded {
    struct running issuer, server; /* as programs with pipes */
    char issuer_url[256], url[256];
};

/* What a token is for is said before the server listens: so its port must be known. */
static inline int
free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static inline void
first_line(const struct running *running, char into[256])
{
    (void)snprintf(into, 256, "%s", running_until(running->out, "\n"));
    into[strcspn(into, "\n")] = '\0';
}

static inline void
guarded_begin(struct guarded *guarded, char address[64])
{
    guarded->issuer = start_program((const char *const[]){
        CLI_BIN "/test-issuer", "--client", "robot", "its-secret", NULL});
    first_line(&guarded->issuer, guarded->issuer_url);
    (void)snprintf(address, 64, "127.0.0.1:%d", free_port());
    (void)snprintf(guarded->url, sizeof(guarded->url), "http://%s/mcp", address);
}

/* Whose tool "write" takes a scope of its own. */
static inline void
guarded_start_notes(struct guarded *guarded)
{
    char address[64];

    guarded_begin(guarded, address);
    guarded->server = start_program(
        (const char *const[]){CLI_BIN "/example-protected-server", guarded->url,
                              guarded->issuer_url, strchr(address, ':') + 1, NULL});
    (void)running_until(guarded->server.out, "\n");
}

static inline void
guarded_start(struct guarded *guarded)
{
    char address[64];

    guarded_begin(guarded, address);
    guarded->server = start_program((const char *const[]){
        PROBE, "--http", address, "--guard", guarded->issuer_url, guarded->url, NULL});
    (void)running_until(guarded->server.out, "\n");
}

static inline void
guarded_stop(struct guarded *guarded)
{
    struct running *const both[] = {&guarded->server, &guarded->issuer};

    for (int i = 0; i < 2; i++) {
        struct ran ran;

        assert_int_equal(kill(both[i]->pid, SIGTERM), 0);
        ran = running_end(both[i]);
        ran_done(&ran);
    }
}

/* GET; returns where that leads to, or "". In a buffer that the next call reuses. */
static inline const char *
fetch_location(const char *url)
{
    static char answer[8192], location[4096];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const char *path = strchr(url + strlen("http://"), '/');
    int port = 0, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t length = 0;
    ssize_t n;
    char *found;

    assert_int_equal(sscanf(url, "http://127.0.0.1:%d/", &port), 1);
    address.sin_port = htons((uint16_t)port);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    dprintf(fd, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n",
            path, port);
    while (length < sizeof(answer) - 1 && !strstr(answer, "\r\n\r\n")) {
        n = read(fd, answer + length, sizeof(answer) - 1 - length);
        if (n <= 0)
            break;
        length += (size_t)n;
        answer[length] = '\0';
    }
    close(fd);
    found = strcasestr(answer, "\r\nLocation: ");
    (void)snprintf(location, sizeof(location), "%s", found ? found + 12 : "");
    location[strcspn(location, "\r\n")] = '\0';
    answer[0] = '\0';
    return location;
}

#endif
