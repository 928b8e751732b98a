/*
 * support/memory_fetch.h - a fetcher whose server is an endpoint in the same process
 *
 * Two halves, and nothing between them but queues: what is fetched arrives when the
 * server's half runs, what is answered when the client's half does. So each can be run
 * alone, nothing is called from inside start or abort, and time is the test's. A
 * request leaves in pieces, an answer is not written past a window that the client has
 * not read: as if there were sockets. idle_us is not looked at.
 */
#ifndef TESTS_SUPPORT_MEMORY_FETCH_H
#define TESTS_SUPPORT_MEMORY_FETCH_H

#include "link/http_endpoint.h"
#include "run/fetch.h"

#define MEMORY_PIECE 65536  /* bytes of a body that leave at once */
#define MEMORY_WINDOW 65536 /* bytes of an answer on their way that are not read */

struct memory_http {
    struct mcpi_fetcher fetcher;    /* first */
    struct mcpi_endpoint *endpoint; /* NULL: nobody listens, nothing can be sent */
    bool every_byte;                /* an answer comes byte by byte */
    bool as_events;                 /* one in JSON comes as a stream of one event */
    bool held;                      /* what is started does not leave: it connects */
    bool reversed;                  /* what arrives together arrives in reverse */
    bool clogged;      /* nothing of an answer leaves the server; until it is read */
    size_t frames;     /* cancel frames that were posted and have arrived */
    size_t hangups;    /* answers to a POST that the server saw closed, not by itself */
    size_t arrived[3]; /* POST, GET, DELETE */
    char session[64], version[32]; /* of the last frame: its headers */
    struct mcpi_list all;          /* fetches, in the order of their start */
    struct mcpi_list to_server;    /* those the server has not heard of, or not all */
    /* An answer with a body that is no stream. NULL ok. */
    void (*replied)(void *user, int status, const char *body, size_t len);
    void *user;
};

void memory_http_init(struct memory_http *http);
/* Frees all; no fetch of a client's may be left. */
void memory_http_done(struct memory_http *http);

/* The client's half: tell what came. Then, after its loop: a piece of what is being
 * sent leaves. Both: was there anything? */
bool memory_http_hear(struct memory_http *http);
bool memory_http_send(struct memory_http *http);
bool memory_http_has_news(const struct memory_http *http); /* to hear, or to send */

/* The server's half: what has arrived is served. */
bool memory_http_serve(struct memory_http *http);
bool memory_http_has_work(const struct memory_http *http);

/* The server dies: whoever waits for an answer of it loses the connection. */
void memory_http_cut(struct memory_http *http);

/* One connection is lost, on both sides: that of the newest open request with this
 * method whose body has that part. Asserts that there is one. */
void memory_http_break(struct memory_http *http, const char *method, const char *part);
/* Of the nth that is open, whatever it is; false: there are fewer. */
bool memory_http_break_any(struct memory_http *http, size_t n);

/* A client that is not ours posts this, with these fields ("Name: value", each with a
 * terminator); it has arrived when the server's half runs. Nobody reads the answer. */
void memory_http_post(struct memory_http *http, const char *fields, size_t fields_len,
                      const char *body);

/* The server says this, whatever its engine thinks of it: on the stream of the request
 * that it names, else on the newest that is open, else on a GET. False: none is. */
bool memory_http_say(struct memory_http *http, const char *text);

/* These bytes are in the answer to the newest open POST whose body has that part; type,
 * if it has not begun. Asserts that there is one. */
void memory_http_write(struct memory_http *http, const char *part, const char *type,
                       const char *bytes);
#define MEMORY_EVENTS "text/event-stream"

/* Fetches of the client's that are open, with this method. */
size_t memory_http_count(const struct memory_http *http, const char *method);

/* How often that was said so far in answer to the newest open request with this method
 * whose body has that part. Asserts that there is one. */
size_t memory_http_heard(const struct memory_http *http, const char *method,
                         const char *part, const char *said);

#endif
