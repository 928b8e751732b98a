/*
 * stream.h - messages over descriptors: pipes, sockets, terminals, files, /dev/null
 *
 * Reading and writing do not know of each other, and neither waits for a handler (C6,
 * C7). Messages are taken when they can leave: all that waits in one write call, a
 * bounded amount a turn. At most MCPI_STREAM_TURN bytes are read a turn, so one peer
 * that floods does not keep the others waiting. Never blocks: the flags of an open file
 * that others may share are left as they are where that is possible. No SIGPIPE (M21).
 */
#ifndef MCPI_LINK_STREAM_H
#define MCPI_LINK_STREAM_H

#include "core/port.h"
#include "run/loop.h"

#define MCPI_STREAM_TURN 65536

struct mcpi_stream;

struct mcpi_stream_options {
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    int take_in;  /* read from */
    int take_out; /* written to; may be the same */
    /* The stream is closed and core knows: the output is closed, the input is not read
     * any more but still open (see mcpi_stream_take_input). Once, on the loop, not from
     * inside a function of this header nor of core; free it in there or later. May be
     * NULL. */
    void (*closed)(void *user, struct mcpi_stream *stream);
    void *user;
};

/* Takes the descriptors on success. Reading begins with the next turn. MCP_E_INVAL: one
 * is not open, or is watched on this loop already; MCP_E_NOMEM, MCP_E_LIMIT. [loop] */
int mcpi_stream_new(const struct mcpi_stream_options *opt,
                    struct mcpi_stream **ret_stream);

/* Frees it and its peer; closes what was not closed. Not from inside core's callbacks.
 * `closed` is not called any more. The loop keeps a little memory for one more turn, or
 * until it is freed. [loop] NULL ok */
void mcpi_stream_free(struct mcpi_stream *stream);

struct mcpi_peer *mcpi_stream_peer(const struct mcpi_stream *stream);

/* The other side is known to be gone, though its descriptors may be held open by
 * others (M5): read what is there, at most 1 MiB, then close. Begins with the next
 * turn. [loop] */
void mcpi_stream_finish(struct mcpi_stream *stream);

/* Say EOF: it writes no more, but still reads. What was not yet written is dropped.
 * [loop] */
void mcpi_stream_shutdown(struct mcpi_stream *stream);

/* Take the input over, for whoever wants to read on after the close (M8); the stream
 * reads no more. A pipe does not block. -1: closed or taken before. [loop] */
int mcpi_stream_take_input(struct mcpi_stream *stream);

#endif
