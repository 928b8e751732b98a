/*
 * http_malformed_test.c - probe-server, and a hundred thousand requests that are not
 *
 * Each is a good request with some bytes changed, from a generator with a seed. Many
 * connections at once: what is answered is followed by the next request on the same,
 * what is not (it is incomplete) ends its connection when that is certain.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "end/http_probe.h"
#include "support/messages.h"

#define REQUESTS 100000
#define CONNECTIONS 64
#define PER_CONNECTION 200
#define ROOM 4096

/* ---- the generator ------------------------------------------------------- */

static uint64_t seed;

static size_t
random_below(size_t bound)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed >> 11) % bound;
}

static const char *const words[] = {
    "\r\n",
    "\r",
    "\n",
    "\n\n",
    "\r\n\r\n",
    "Content-Length: 0\r\n",
    "Content-Length: 99999999999999999999\r\n",
    "Content-Length: -1\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Host: evil.example\r\n",
    "Origin: http://evil.example\r\n",
    "Expect: 100-continue\r\n",
    "Upgrade: h2c\r\n",
    "Connection: close\r\n",
    "Mcp-Name: =?base64?AAAA?=\r\n",
    "Mcp-Session-Id: x\r\n",
    "MCP-Protocol-Version: 1999-01-01\r\n",
    "Last-Event-ID: 1-1\r\n",
    " HTTP/9.9\r\n",
    "ffffffffffffffff\r\n",
    "0\r\n\r\n",
    "{\"a\":[[[[",
    "\"id\":null,",
    "\xff\xfe",
    "\\ud800",
};

static char *goods[12];
static size_t good_count;

static void
good_add(char *text)
{
    assert_true(strlen(text) < ROOM / 2);
    goods[good_count++] = text;
}

static void
goods_make(const char *session)
{
    static const char get[] = "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                              "Accept: text/event-stream\r\n\r\n";
    static const char options[] = "OPTIONS /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                  "Origin: http://127.0.0.1\r\n"
                                  "Access-Control-Request-Method: POST\r\n\r\n";
    static const char chunked[] =
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
        "5\r\n{\"jso\r\n19\r\nnrpc\":\"2.0\",\"method\":\"x\"}\r\n0\r\n\r\n";

    good_count = 0;
    good_add(http_call_text(
        &HTTP_CALL(.tool = "echo", .arguments = "{\"text\":\"hello\"}")));
    good_add(http_call_text(
        &HTTP_CALL(.tool = "add", .arguments = "{\"a\":1e2,\"b\":-0.5}")));
    good_add(http_call_text(
        &HTTP_CALL(.tool = "count", .progress = true, .arguments = "{\"to\":3}")));
    good_add(http_call_text(&HTTP_CALL(.era = MCP_ERA_LEGACY, .session = session,
                                       .tool = "echo",
                                       .arguments = "{\"text\":\"hello\"}")));
    good_add(http_post_text(
        &HTTP_POST(.era = MCP_ERA_LEGACY, .body = INITIALIZE("1", "2025-11-25"))));
    good_add(http_post_text(
        &HTTP_POST(.era = MCP_ERA_LEGACY, .session = session, .body = CANCEL("1"))));
    good_add(
        http_post_text(&HTTP_POST(.era = MCP_ERA_MODERN, .method = "tools/list",
                                  .body = REQUEST("1", "tools/list", "{" STAMP "}"))));
    good_add(
        http_post_text(&HTTP_POST(.era = MCP_ERA_MODERN, .method = "server/discover",
                                  .body = MODERN_DISCOVER("1"))));
    good_add(strdup(get));
    good_add(strdup(options));
    good_add(strdup(chunked));
}

static void
goods_free(void)
{
    for (size_t i = 0; i < good_count; i++)
        free(goods[i]);
}

/* Put len bytes in place of others. */
static size_t
text_replace(char *text, size_t len, size_t at, size_t gone, const char *put,
             size_t put_len)
{
    if (gone > len - at)
        gone = len - at;
    if (len - gone + put_len > ROOM)
        return len;
    memmove(text + at + put_len, text + at + gone, len - at - gone);
    memmove(text + at, put, put_len);
    return len - gone + put_len;
}

static size_t
text_change(char *text, size_t len)
{
    size_t at = random_below(len), some = 1 + random_below(8);
    const char *word = words[random_below(sizeof(words) / sizeof(words[0]))];
    char copy[64];
    size_t from;

    switch (random_below(7)) {
    case 0:
        text[at] = (char)random_below(256);
        return len;
    case 1:
        text[at] ^= (char)(1 << random_below(8));
        return len;
    case 2:
        return text_replace(text, len, at, some, "", 0);
    case 3:
        return text_replace(text, len, at, 0, word, strlen(word));
    case 4:
        return text_replace(text, len, at, some, word, strlen(word));
    case 5: /* another piece of itself */
        from = random_below(len);
        some = some * 8 < len - from ? some * 8 : len - from;
        some = some < sizeof(copy) ? some : sizeof(copy);
        memcpy(copy, text + from, some);
        return text_replace(text, len, at, 0, copy, some);
    default: /* its rest never comes */
        return random_below(4) == 0 ? at + 1 : len;
    }
}

static size_t
request_make(char *into)
{
    const char *good = goods[random_below(good_count)];
    size_t len = strlen(good), changes = 1 + random_below(4);

    memcpy(into, good, len);
    while (changes-- > 0 && len > 1)
        len = text_change(into, len);
    return len;
}

/* ---- the connections ----------------------------------------------------- */

struct sender {
    int sent; /* on this connection */
};

struct crowd {
    struct pollfd fds[CONNECTIONS];
    struct sender senders[CONNECTIONS];
    struct http_probe *probe;
    bool is_silent; /* who has not been answered now will not be */
    long made, answered, closed;
};

static void
sender_open(struct crowd *crowd, int i)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)crowd->probe->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct linger reset = {.l_onoff = 1,
                                 .l_linger = 0}; /* leaves no port behind */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    crowd->fds[i] = (struct pollfd){.fd = fd, .events = POLLIN};
    crowd->senders[i] = (struct sender){0};
}

static void
sender_renew(struct crowd *crowd, int i)
{
    close(crowd->fds[i].fd);
    crowd->closed++;
    sender_open(crowd, i);
}

static void
sender_say(struct crowd *crowd, int i)
{
    char text[ROOM];
    size_t len = request_make(text);

    if (crowd->senders[i].sent == PER_CONNECTION)
        sender_renew(crowd, i);
    crowd->senders[i].sent++;
    crowd->made++;
    /* a server that has closed is noticed when it is read from */
    (void)send(crowd->fds[i].fd, text, len, MSG_NOSIGNAL);
}

/* Something came, or nothing will: what comes next? */
static void
sender_step(struct crowd *crowd, int i)
{
    char answer[65536];
    ssize_t n;

    if (crowd->fds[i].revents == 0) {
        if (!crowd->is_silent)
            return;
        sender_renew(crowd, i);
        sender_say(crowd, i);
        return;
    }
    n = recv(crowd->fds[i].fd, answer, sizeof(answer), 0);
    if (n > 0 && crowd->senders[i].sent == 1)
        assert_memory_equal(answer, "HTTP/1.1 ", 9);
    crowd->answered += n > 0;
    if (n <= 0 || memmem(answer, (size_t)n, "\r\nConnection: close\r\n", 21))
        sender_renew(crowd, i);
    sender_say(crowd, i);
}

/* Nobody is answered. Somebody else is, who asks after them: so all of them were read. */
static bool
crowd_is_silent(struct crowd *crowd)
{
    int ready = poll(crowd->fds, CONNECTIONS, 10);

    assert_true(ready >= 0);
    if (ready > 0)
        return false;
    http_probe_alive(crowd->probe);
    assert_true(poll(crowd->fds, CONNECTIONS, 0) >= 0);
    return true;
}

static void
crowd_run(struct crowd *crowd, long requests)
{
    for (int i = 0; i < CONNECTIONS; i++) {
        sender_open(crowd, i);
        sender_say(crowd, i);
    }
    while (crowd->made < requests) {
        crowd->is_silent = crowd_is_silent(crowd);
        for (int i = 0; i < CONNECTIONS; i++)
            sender_step(crowd, i);
    }
    for (int i = 0; i < CONNECTIONS; i++)
        close(crowd->fds[i].fd);
}

static void
C11_malformed_requests_hurt_nobody_else(void **state)
{
    static struct crowd crowd;
    struct probe_stats first;
    struct http_probe p;
    struct http_raw good;

    seed = 0x6d63702d68747470;
    http_probe_start(&p, *state);
    goods_make(p.session);
    first = http_probe_stats(&p);
    http_probe_call(&p, &good, "\"good\"", "hang_async", "{\"seconds\":600}");
    (void)http_probe_calm(&p, 1);
    crowd = (struct crowd){.probe = &p};
    crowd_run(&crowd, REQUESTS);
    printf("%ld requests, %ld answers, %ld connections\n", crowd.made, crowd.answered,
           crowd.closed);
    assert_true(crowd.answered > REQUESTS / 4);
    assert_int_equal(http_probe_calm(&p, 1).pool_free, 10); /* the good one waits on */
    http_probe_alive(&p);
    http_close(&good);
    if (p.session)
        assert_int_equal(http_probe_post(&p, CANCEL("\"good\"")), 202);
    (void)http_probe_rest(&p, first.open_fds);
    goods_free();
    http_probe_stop(&p);
}

TEST_MAIN(ON_LEGACY(C11_malformed_requests_hurt_nobody_else))
