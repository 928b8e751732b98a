/*
 * http_carrier.h - what a connection owes its client: the answers, and how long they take
 *
 * A part of http_connection.c: its turn, which an endpoint answers. What an endpoint asks
 * (the ops) calls nothing of the endpoint's; what must be said to it is seen to in the
 * flush.
 */
#ifndef MCPI_LINK_HTTP_CARRIER_H
#define MCPI_LINK_HTTP_CARRIER_H

#include "link/http.h"
#include "link/http_wire.h"

struct mcpi_http_listener;

enum mcpi_http_phase {
    MCPI_PHASE_IDLE,      /* nothing of a request is there; idle_ms */
    MCPI_PHASE_HEAD,      /* some of its head is: head_ms from its first byte */
    MCPI_PHASE_BODY,      /* some of its body is missing: body_ms */
    MCPI_PHASE_SERVING,   /* it is whole, or refused; its answer has not all left. While
                             something is kept: write_ms without a byte taken */
    MCPI_PHASE_LINGERING, /* answered for the last time; a moment for the client to read
                             that, because a socket closed with unread bytes takes back
                             what was sent */
    MCPI_PHASE_CLOSED     /* libuv has to give the handle back */
};

struct mcpi_http_carrier {
    struct mcpi_http_wire wire;
    struct mcpi_list node; /* in the listener */
    struct mcpi_turn turn;
    struct mcpi_timer timer; /* for the deadline, or for an earlier one */
    struct mcpi_flush flush; /* queued if the wire has failed, if bytes wait behind an
                                answer that has left, or for their turn */
    int64_t deadline;
    struct mcpi_http_listener *listener;
    size_t count;   /* SERVING: was kept at the last look; LINGERING: was read */
    uint8_t phase;  /* enum mcpi_http_phase */
    bool answered;  /* SERVING: the last byte was handed to the wire */
    bool said_last; /* SERVING: so was the last chunk, before the end was asked for */
    bool is_old;    /* the client is of HTTP/1.0 */
    bool is_head;   /* it has asked for a head only */
    bool owes;      /* the endpoint waits to hear that something has left */
    bool closes;    /* after this answer */
    bool retiring;  /* after any answer */
    bool awaited;   /* bytes of a next request wait for this answer to end */
};

/* Zeroed before. Who has it gets its timer and its flush. */
void mcpi_http_carrier_init(struct mcpi_http_carrier *carrier,
                            struct mcpi_http_listener *listener,
                            void (*on_timer)(struct mcpi_timer *timer, int64_t now),
                            void (*on_flush)(struct mcpi_flush *flush));

/* A request is whole, or refused. */
void mcpi_http_carrier_begin(struct mcpi_http_carrier *carrier, bool is_old,
                             bool closes);

/* Answer it. True: that has left, and the next request may come. */
bool mcpi_http_carrier_reply(struct mcpi_http_carrier *carrier,
                             const struct mcpi_http_out *out);

/* Say that the body of a request may come. */
void mcpi_http_carrier_go_on(struct mcpi_http_carrier *carrier);

/* The wire has: what was kept has left. */
void mcpi_http_carrier_left(struct mcpi_http_carrier *carrier);

/* The deadline. It moves with every request, the timer does not: that stays in the heap
 * for the earlier moment, and when it runs it asks whether the deadline has come; if not,
 * it is set anew. */
void mcpi_http_carrier_due_in(struct mcpi_http_carrier *carrier, int64_t ms);
bool mcpi_http_carrier_is_due(struct mcpi_http_carrier *carrier, int64_t now);

/* Have the flush run in this turn of the loop. */
void mcpi_http_carrier_flush(struct mcpi_http_carrier *carrier);

/* Close it, if it is not; who serves it is not told. */
void mcpi_http_carrier_close(struct mcpi_http_carrier *carrier, bool reset);

/* The client has left, or is made to: who serves it is told. */
void mcpi_http_carrier_gone(struct mcpi_http_carrier *carrier);

#endif
