/*
 * http_event.h - messages as server-sent events: taken, kept, said once more
 *
 * Parts of http_stream.c. Of several events in one write only the last one's out is
 * held until the bytes have left (stream->out): they leave in order.
 */
#ifndef MCPI_LINK_HTTP_EVENT_H
#define MCPI_LINK_HTTP_EVENT_H

#include "link/http_stream.h"

/* Of a buffer: a message without what makes it an event. */
struct mcpi_http_span {
    size_t at, len;
};

/* Where one write is put together, the endpoint's; empty. */
struct mcpi_buf *mcpi_http_event_scratch(struct mcpi_http_stream *stream);

/* Append how long to wait, without the blank line that ends an event. */
void mcpi_http_event_write_retry(const struct mcpi_http_stream *stream,
                                 struct mcpi_buf *into);
/* Append the event that only has an id: the next one. */
void mcpi_http_event_write_priming(const struct mcpi_http_stream *stream,
                                   struct mcpi_buf *into);

/* An event stream begins: with that event, if it has one, which was written. */
void mcpi_http_event_prime(struct mcpi_http_stream *stream);

/* Take the next message as event `number`; NULL: there is none, or no memory even to
 * ask (failed). One that does not fit in memory is lost, and the next one tried: core
 * fails the stream if it was the answer. */
struct mcpi_out *mcpi_http_event_take(struct mcpi_http_stream *stream,
                                      struct mcpi_buf *into, uint64_t number,
                                      struct mcpi_http_span *ret);

/* An event of a resumable stream gets the next number, and is kept. */
void mcpi_http_event_keep(struct mcpi_http_stream *stream, const char *data,
                          size_t len);

/* The out that is held, if any: as mcpi_out_done. */
void mcpi_http_event_done(struct mcpi_http_stream *stream, int status);

/* Take and keep what waits, up to MCPI_HTTP_BATCH. True: the answer is the last. */
bool mcpi_http_event_fill(struct mcpi_http_stream *stream, struct mcpi_buf *batch);

/* Has the store all that the turn has not got (stream->sent)? 0: yes; 1: that is nothing;
 * MCP_E_INVAL: no; MCP_E_CLOSED: it cannot tell. */
int mcpi_http_event_find_rest(struct mcpi_http_stream *stream);

/* Append that, up to MCPI_HTTP_BATCH. What the store has lost meanwhile stays lost.
 * MCP_E_CLOSED: it cannot tell now, and nothing was appended. */
int mcpi_http_event_replay(struct mcpi_http_stream *stream, struct mcpi_buf *batch);

#endif
