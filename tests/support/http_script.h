/*
 * support/http_script.h - an HTTP server that does what the test tells it, byte by byte
 *
 *     http_script_open(&s, NULL, NULL);            a client is told s.url
 *     visit_accept(&v, &s);
 *     visit_read(&v);                              v.head, v.body, visit_field(&v, ...)
 *     visit_say(&v, "HTTP/1.1 200 OK\r\nConte");
 *     visit_reset(&v);
 *     http_script_close(&s);
 *
 * The script is the test's own: nothing is accepted, read or sent but by its call. It
 * knows no more of HTTP than it takes to find the end of a request. Everything asserts,
 * and nothing waits longer than SCRIPT_PATIENCE_MS.
 *
 * The client runs on a thread of its own, or on a loop of the test's thread: then the
 * script is given that loop, and steps it while it waits.
 */
#ifndef TESTS_SUPPORT_HTTP_SCRIPT_H
#define TESTS_SUPPORT_HTTP_SCRIPT_H

#include <openssl/ssl.h>

#include "run/loop.h"
#include "support/test.h"
#include "support/tls_pair.h"

#define SCRIPT_PATIENCE_MS 60000

struct http_script {
    int fd; /* listens on 127.0.0.1 */
    int port;
    char url[64];           /* "http://127.0.0.1:8080/mcp", with https if it has TLS */
    SSL_CTX *tls;           /* NULL: plain */
    struct mcpi_loop *loop; /* to be stepped while it waits; NULL: none */
};

/* pair: TLS with this certificate; NULL: plain. */
void http_script_open(struct http_script *s, const struct tls_pair *pair,
                      struct mcpi_loop *loop);
void http_script_close(struct http_script *s); /* connections stay */

/* Clients must have a certificate that this one vouches for. */
void http_script_ask(struct http_script *s, const struct tls_pair *client);

/* How many connections wait to be accepted: exactly what a test of the backlog
 * needs. */
void http_script_listen(struct http_script *s, int backlog);

/* Wait until something can be done with the descriptor, and step the loop meanwhile.
 * False: not in that time. */
bool http_script_wait(struct http_script *s, int fd, short events, int ms);

/* Is somebody there to be accepted, within that time? */
bool http_script_is_visited(struct http_script *s, int ms);

/* One connection. */
struct visit {
    struct http_script *script;
    int fd;     /* -1: closed */
    SSL *tls;   /* NULL: plain */
    bool ended; /* the client has closed, */
    bool reset; /* and not in order */
    char *data; /* what came and was not yet looked at */
    size_t len, room;
    char *head; /* of the last request, up to the empty line, with a terminator */
    char *body; /* of the same; with a terminator */
    size_t body_len;
};

/* With the greeting of TLS, if there is TLS; and without: then visit_greet can follow
 * later, as behind a CONNECT. False: the client broke it off. */
void visit_accept(struct visit *v, struct http_script *s);
void visit_accept_plain(struct visit *v, struct http_script *s);
bool visit_greet(struct visit *v);

/* The next request, all of it; only its head; so many bytes of whatever comes, which
 * stay in data. visit_try_read: false: the client has closed before the first byte. */
void visit_read(struct visit *v);
bool visit_try_read(struct visit *v);
void visit_read_head(struct visit *v);
void visit_read_bytes(struct visit *v, size_t len);

/* A header of the request that was read last, or NULL; borrowed until the next call. */
const char *visit_field(struct visit *v, const char *name);

/* Is it this method and target? */
bool visit_asks(const struct visit *v, const char *method_and_target);

void visit_send(struct visit *v, const void *bytes, size_t len);
void visit_say(struct visit *v, const char *text);
/* False: the client has closed. */
bool visit_push(struct visit *v, const void *bytes, size_t len);
/* A whole answer: "200 OK", its Content-Type or NULL, its body or "". */
void visit_answer(struct visit *v, const char *status, const char *type,
                  const char *body);

/* The beginning of an answer in chunks; one of them, "" is the last. */
void visit_begin_chunks(struct visit *v, const char *status, const char *type);
void visit_chunk(struct visit *v, const char *text);

/* The client closes, by an end or a reset; what it still sends is dropped. */
void visit_await_gone(struct visit *v);
/* It has not, and what it sends stays in data. */
bool visit_is_there(struct visit *v);

/* No more will be sent; close; a reset instead. Close and reset free all. */
void visit_shut(struct visit *v);
void visit_close(struct visit *v);
void visit_reset(struct visit *v);

#endif
