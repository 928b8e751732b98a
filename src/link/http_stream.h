/*
 * http_stream.h - the answer to one POST, or what a GET listens to
 *
 *   UNDECIDED -> JSON   the first message is the answer
 *             -> SSE    anything else comes first, or nothing for the ping interval
 *   SSE <-> DETACHED    resumable: the client is gone, the stream is not (D12)
 *   -> ENDED            answered, settled, or the client left and that ends it
 *
 * It takes messages when the client has room; a detached one at once, into the event
 * store. Head and first event leave in one write: open() gets them as its body. Events
 * of a resumable stream have ids, "<stream>-<number>"; the first one of a POST is empty
 * and primes the client, if that is of 2025-11-25 or newer: older ones choke on it.
 *
 * A stream that nobody can come back for is gone with its client: its outlet is told
 * and killed, and core drops what is said later (D12, E21).
 */
#ifndef MCPI_LINK_HTTP_STREAM_H
#define MCPI_LINK_HTTP_STREAM_H

#include "link/http_endpoint.h"

/* Bytes of events in one write, and in one turn of the loop, unless one event alone is
 * longer: a client that is told much does not keep the others waiting. */
#define MCPI_HTTP_BATCH 65536

struct mcpi_http_stream {
    struct mcpi_list in_endpoint;
    struct mcpi_list in_session; /* or alone */
    struct mcpi_endpoint *endpoint;
    struct mcpi_session *session; /* NULL: none */
    struct mcpi_turn *turn;       /* NULL: detached */
    struct mcpi_outlet *outlet;   /* its own, or the session's for a GET; counted. NULL:
                                     only what the store has is said once more */
    struct mcpi_out *out;         /* taken; its last byte has not left */
    struct mcpi_flush flush;
    struct mcpi_timer beat; /* the next ping */
    int64_t spoken;         /* when the last byte was written */
    uint64_t number;        /* of the stream, for ids of events; 0: it has none */
    uint64_t events;        /* that have an id, so far */
    uint64_t sent;          /* of them, at the end of what the turn has */
    bool modern, is_get, is_sse, may_json, may_sse, resumable;
    bool primes;       /* the client understands an event that only has an id */
    bool says_session; /* the head names the session */
    bool busy;         /* the carrier has something that has not left */
    bool settled;      /* nothing more will be pushed */
    bool detaching;    /* let the client go when all is said that waits */
    bool failed;       /* something could not be said */
    bool kept;         /* counted by its session */
};

struct mcpi_http_stream_options {
    struct mcpi_endpoint *endpoint;
    struct mcpi_session *session; /* or NULL */
    struct mcpi_peer *peer;       /* the endpoint's anonymous one: modern */
    struct mcpi_turn *turn;
    /* What the client accepts and the options allow; one of them at least. Without
     * may_sse notes on the way are dropped and questions fail, so a listen request is
     * better refused before it gets here. */
    bool may_json, may_sse;
    bool resumable;          /* events get ids and are stored: needs a session */
    bool is_get;             /* takes from the peer's own outlet */
    const char *say_session; /* not NULL: the head says Mcp-Session-Id, the session's */
};

/* Open it; the turn is its from now on. A GET's head leaves at once. MCP_E_NOMEM. Then
 * mcpi_http_stream.outlet is where the answer goes. */
int mcpi_http_stream_new(const struct mcpi_http_stream_options *opt,
                         struct mcpi_http_stream **ret_stream);

/* End it in order: what a client has not got is dropped. The turn is ended or, if
 * nothing was said, aborted. It is freed. */
void mcpi_http_stream_end(struct mcpi_http_stream *stream);

/* Give a stream this turn: the head, what the store has after that event, then what
 * follows. A turn it still has is aborted: the client knows better than we do that it
 * is dead. MCP_E_INVAL: not known, or not any more; MCP_E_CLOSED: the store cannot tell;
 * the turn is untouched. */
int mcpi_http_stream_resume(struct mcpi_http_stream *stream, uint64_t after,
                            struct mcpi_turn *turn);

/* A stream that has ended meanwhile: say what the store has of it after that event, and
 * end. opt->peer is not looked at. 1: there is nothing; MCP_E_INVAL: not known, or not any
 * more; MCP_E_CLOSED, MCP_E_NOMEM; the turn is untouched but after 0. */
int mcpi_http_stream_replay(const struct mcpi_http_stream_options *opt, uint64_t number,
                            uint64_t after);

/* Parts of mcpi_link_ops that all peers of an endpoint share: what is pushed into an
 * outlet whose link_user is a stream. */
void mcpi_http_stream_wake(struct mcpi_http_stream *stream);
void mcpi_http_stream_settle(struct mcpi_http_stream *stream);
void mcpi_http_stream_fail(struct mcpi_http_stream *stream, int status);
/* The handler lets its client go and come back (2025-11-25): retry is said, the turn is
 * ended, the stream goes on. Only if resumable. */
void mcpi_http_stream_detach(struct mcpi_http_stream *stream);

/* ---- for the files of this stream ------------------------------------------ */

/* Its turn, which is the carrier's alone again. */
struct mcpi_turn *mcpi_http_stream_release(struct mcpi_http_stream *stream);

/* Its turn was released. What is said from now on is dropped by core. */
void mcpi_http_stream_free(struct mcpi_http_stream *stream);

/* All was said that there is to say, and the carrier has it: end the turn, free it. */
void mcpi_http_stream_finish(struct mcpi_http_stream *stream);

/* Give the carrier what stands in the buffer, and the head if it has none yet. */
void mcpi_http_stream_send(struct mcpi_http_stream *stream,
                           const struct mcpi_buf *bytes);

/* There may be more to do than somebody will ask for. */
void mcpi_http_stream_go_on(struct mcpi_http_stream *stream);

#endif
