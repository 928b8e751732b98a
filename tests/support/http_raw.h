/*
 * support/http_raw.h - an HTTP client that sends the bytes it is told to
 *
 *     http_open(&h, port, NULL);
 *     http_post(&h, &HTTP_POST(.method = "tools/call", .name = "echo", .body = text));
 *     assert_int_equal(http_answer(&h), 200);
 *     http_close(&h);
 *
 * It knows no more of HTTP than it takes to read an answer. Everything asserts, and
 * nothing waits longer than AWAIT_MS.
 */
#ifndef TESTS_SUPPORT_HTTP_RAW_H
#define TESTS_SUPPORT_HTTP_RAW_H

#include <openssl/ssl.h>

#include <mcp/client.h>

#include "support/test.h"

struct http_raw {
    int fd;     /* -1: closed */
    SSL *tls;   /* NULL: plain */
    bool ended; /* the server has closed, */
    bool reset; /* and not in order */

    char *data; /* what came and was not yet looked at */
    size_t start, len, room;

    /* The answer that is being read. */
    int status;
    char *head; /* lines, each with a terminator; the last one is empty */
    bool is_chunked;
    int64_t left; /* of the body, or of its chunk; -1: up to the end of all */
    bool is_over; /* the body is complete */
    char *body;   /* without its chunks, with a terminator */
    size_t body_len, body_room;
    size_t event_at; /* behind the event that was read last */
    char *event;     /* its data */
    size_t comments; /* of this stream, so far */
};

/* ---- the connection ------------------------------------------------------ */

/* To 127.0.0.1. context: what tls_pair_client gave, or NULL: plain. */
void http_open(struct http_raw *h, int port, SSL_CTX *context);

/* From 127.0.0.N: another client than from 127.0.0.1. Plain. */
void http_open_from(struct http_raw *h, int port, int n);

/* The same, but the connection may be refused or broken off: false. */
bool http_try_open(struct http_raw *h, int port, SSL_CTX *context);

void http_write(struct http_raw *h, const void *bytes, size_t len);
void http_say(struct http_raw *h, const char *text);
/* False: the server has closed. Reads nothing. */
bool http_push(struct http_raw *h, const void *bytes, size_t len);

/* No more will be sent: by TCP, under TLS without a word of TLS; by close_notify. */
void http_shut(struct http_raw *h);
void http_notify(struct http_raw *h);

/* Close; a reset instead of an end. Both once only, and free all. */
void http_close(struct http_raw *h);
void http_reset(struct http_raw *h);

/* ---- an answer ----------------------------------------------------------- */

/* Its head. Returns the status; 0: the server has closed before the first byte. */
int http_head(struct http_raw *h);

/* A header of it, or NULL. */
const char *http_field(const struct http_raw *h, const char *name);

/* Its body, to the end, which must come. Borrowed until the next head. */
const char *http_body(struct http_raw *h);

/* Both. */
int http_answer(struct http_raw *h);

/* The next event of a body that is a stream: its data, borrowed until the next. NULL:
 * the stream has ended, if is_over in order, else without an end. id, if not NULL, has
 * room for HTTP_ID_ROOM bytes and gets its id, or "". */
#define HTTP_ID_ROOM 256
const char *http_event(struct http_raw *h, char *id);

/* Read as much as comes within that time. False: the server has closed. */
bool http_wait(struct http_raw *h, int ms);

/* The server closes, after whatever it says; or it has closed already. */
void http_expect_end(struct http_raw *h);

/* ---- a request ----------------------------------------------------------- */

struct http_post {
    enum mcp_era era;    /* MCP_ERA_LEGACY, or modern */
    const char *session; /* legacy; NULL: none */
    const char *method;  /* modern: Mcp-Method; NULL: none */
    const char *name;    /* modern: Mcp-Name; NULL: none */
    const char *fields;  /* more header lines, each with its CRLF */
    const char *body;
};
#define HTTP_POST(...) ((struct http_post){__VA_ARGS__})

/* The text of a POST to /mcp. Freed by the caller. */
char *http_post_text(const struct http_post *post);
void http_post(struct http_raw *h, const struct http_post *post);

struct http_call {
    enum mcp_era era;
    const char *session;
    const char *id; /* JSON text; NULL: 1 */
    const char *tool;
    const char *arguments; /* JSON text; NULL: {} */
    bool progress;         /* with a token, which is "p" */
};
#define HTTP_CALL(...) ((struct http_call){__VA_ARGS__})

/* The same for tools/call. */
char *http_call_text(const struct http_call *call);
void http_call(struct http_raw *h, const struct http_call *call);

/* DELETE or GET of a legacy session. */
void http_ask(struct http_raw *h, const char *verb, const char *session);

/* initialize and initialized on this connection. Returns the id of the session, which
 * the caller frees; NULL: it has none. The other one has this initialize, these
 * headers. */
char *http_hello(struct http_raw *h);
char *http_hello_as(struct http_raw *h, const char *initialize, const char *fields);

#endif
