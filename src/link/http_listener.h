/*
 * http_listener.h - a listening socket on one loop, its connections, its endpoint
 *
 * Several loops listen on one port by SO_REUSEPORT, each with a listener of its own.
 */
#ifndef MCPI_LINK_HTTP_LISTENER_H
#define MCPI_LINK_HTTP_LISTENER_H

#include "link/http_account.h"
#include "link/http_answer.h"
#include "link/http_endpoint.h"
#include "link/http_parser.h"
#include "link/http_wire.h"
#include "link/unix.h"

/* Who else has a socket on a port: nobody; others will; others have. Only the last one
 * may find it taken, so nobody gets clients that come for somebody else. */
enum mcpi_http_share { MCPI_HTTP_ALONE, MCPI_HTTP_FIRST, MCPI_HTTP_NEXT };

/* A socket for that address, listening; host NULL: 127.0.0.1; "::" is IPv4 too. *port 0:
 * chosen, and written. *ret_loopback: only this machine reaches it. MCP_E_INVAL with
 * err; MCP_E_LIMIT. [any] */
int mcpi_http_listen(const char *host, int *port, enum mcpi_http_share share,
                     int *ret_fd, bool *ret_loopback, mcp_error *err);

struct mcpi_http_listener;

struct mcpi_http_listener_options {
    struct mcpi_loop *loop;
    const mcp_http_options *http; /* complete; outlives it */
    struct mcpi_endpoint *endpoint;
    struct mcpi_tls_context *tls; /* or NULL; a reference is taken */
    struct mcpi_http_gauges gauges;
    struct mcpi_http_clients clients;
    /* What is asked of the endpoint; NULL: mcpi_endpoint_check_head, _serve and
     * _greet_origin. */
    bool (*check_head)(struct mcpi_endpoint *endpoint, const struct mcpi_http_in *in,
                       uint64_t body_len, struct mcpi_http_out *ret_out);
    void (*serve)(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                  const struct mcpi_http_in *in);
    void (*greet_origin)(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                         const struct mcpi_http_known *known);
    /* Closed, no connection is left. Free it in there or later. Called from the loop, not
     * from inside a function of this header. */
    void (*closed)(void *user, struct mcpi_http_listener *listener);
    void *user;
};

/* Takes the socket on success. MCP_E_NOMEM, MCP_E_LIMIT, MCP_E_INVAL with err. [loop] */
int mcpi_http_listener_new(const struct mcpi_http_listener_options *opt, int take_fd,
                           struct mcpi_http_listener **ret_listener, mcp_error *err);

/* No more connections; those without a request close at once, others after theirs. The
 * endpoint is closed by its owner, which ends what is served. [loop] */
void mcpi_http_listener_close(struct mcpi_http_listener *listener);

/* Cut what is left and free it; `closed` is not called any more. [loop] NULL ok. The loop
 * keeps a little memory for one more turn. */
void mcpi_http_listener_free(struct mcpi_http_listener *listener);

/* ---- for the files of this listener ---------------------------------------- */

struct mcpi_http_listener {
    const mcp_allocator *mem;
    struct mcpi_http_listener_options opt;
    struct mcpi_unix_listener *socket; /* NULL: closed */
    struct mcpi_list connections;
    size_t count;   /* of them */
    size_t handles; /* and of those that libuv has yet to give back */
    size_t most;    /* of them, since memory was last given back to the system */
    struct mcpi_timer calm; /* after much was freed */
    struct mcpi_http_parsers parsers;
    struct mcpi_http_wires wires;
    struct mcpi_buf head;    /* of an answer */
    struct mcpi_buf refusal; /* of ours, its body */
    struct mcpi_flush flush; /* tells that it is closed */
    int64_t date_until;      /* of the loop's time */
    char date[MCPI_HTTP_DATE];
    bool closing, told, freed;
};

/* A connection has come; has gone; and its memory has. */
void mcpi_http_listener_joined(struct mcpi_http_listener *listener,
                               struct mcpi_list *node);
void mcpi_http_listener_lost(struct mcpi_http_listener *listener,
                             struct mcpi_list *node);
void mcpi_http_listener_buried(struct mcpi_http_listener *listener);

/* What a connection had was freed: it may be time to give memory back to the system. */
void mcpi_http_listener_freed(struct mcpi_http_listener *listener);

/* For the Date of an answer. */
const char *mcpi_http_listener_date(struct mcpi_http_listener *listener);

#endif
