/*
 * curl_watch.h - the sockets of libcurl, on the loop
 *
 * A socket stays watched between two requests on the same connection: nothing needs to
 * be told to the kernel then. That is why they are opened and closed here, and not by
 * libcurl: a number must not be watched when it is closed, or libuv ends the process.
 * Sockets that libcurl opens itself (its resolver does) are watched only as long as it
 * says, and so are those that are not connected: libcurl 7.88 closes these itself, just
 * before it says so, or without a word if it never waited for them. A connection on
 * which something comes while it is idle cannot be written to any more. [loop]
 */
#ifndef MCPI_RUN_CURL_WATCH_H
#define MCPI_RUN_CURL_WATCH_H

#include <curl/curl.h>

#include "run/address.h"
#include "run/loop.h"

struct mcpi_curl_watch;

struct mcpi_curl_watches {
    struct mcpi_loop *loop;
    /* events: CURL_CSELECT_*. Anything may be done in it but done. */
    void (*ready)(void *user, int fd, int events);
    /* A connection was spoiled: something came on it while it was idle. NULL ok. */
    void (*on_spoiled)(void *user);
    void *user;
    struct mcpi_curl_watch **table; /* by descriptor; NULL: not watched */
    size_t room;
    size_t spoiled; /* those that are not closed yet */
};

void mcpi_curl_watches_init(struct mcpi_curl_watches *watches, struct mcpi_loop *loop,
                            void (*ready)(void *user, int fd, int events), void *user);

/* All sockets are closed. Memory of the last ones is the loop's for one more turn. */
void mcpi_curl_watches_done(struct mcpi_curl_watches *watches);

/* A socket as libcurl wants it, above 2; or -1 and errno says why: ENOMEM, EMFILE. */
int mcpi_curl_watches_open(struct mcpi_curl_watches *watches,
                           const struct curl_sockaddr *address);
void mcpi_curl_watches_close(struct mcpi_curl_watches *watches, int fd);

/* For tests that connect elsewhere: where a socket is meant to be, and the same of the
 * connection that has this port on our side; SPECIAL: no socket of ours. */
void mcpi_curl_watches_mark(struct mcpi_curl_watches *watches, int fd,
                            enum mcpi_address_kind kind);
enum mcpi_address_kind mcpi_curl_watches_kind(const struct mcpi_curl_watches *watches,
                                              int local_port);

/* What libcurl waits for on it: CURL_POLL_*; stays: it is connected, so that it is open
 * until it is closed here. MCP_E_NOMEM; MCP_E_STATE: the system does not watch it. */
int mcpi_curl_watches_set(struct mcpi_curl_watches *watches, int fd, int what,
                          bool stays);

#endif
