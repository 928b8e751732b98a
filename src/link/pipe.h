/*
 * pipe.h - messages over one ordered byte stream, whoever moves the bytes
 *
 * The part that every stream link shares: bytes that came are cut into lines, parsed
 * and handed up; messages are taken, one line each, when somebody is about to write. A
 * pipe does no I/O. Reading and writing do not know of each other (C7).
 */
#ifndef MCPI_LINK_PIPE_H
#define MCPI_LINK_PIPE_H

#include "core/port.h"
#include "wire/line.h"

/* What one write call carries at most: messages are taken only when they leave, so what
 * waits behind a slow reader can still be withdrawn (B7). */
#define MCPI_PIPE_BATCH 64
#define MCPI_PIPE_BATCH_BYTES 65536

struct mcpi_pipe_sent {
    struct mcpi_out *out;
    size_t end; /* where its last byte stands in the batch */
};

struct mcpi_pipe {
    struct mcpi_peer *peer;
    const struct mcpi_engine *engine;
    const mcp_allocator *mem;
    size_t max_bytes, max_depth;
    struct mcpi_line in;
    struct mcpi_buf out; /* the batch being written */
    size_t written;      /* of it */
    struct mcpi_pipe_sent sent[MCPI_PIPE_BATCH];
    size_t first, count; /* of sent: not yet reported as written */
};

/* A pipe of that peer. Keeps enough memory from the start for every cancel frame. */
int mcpi_pipe_init(struct mcpi_pipe *pipe, const struct mcpi_engine *engine,
                   struct mcpi_peer *peer);

/* The stream is gone: what was taken and not wholly written has failed. */
void mcpi_pipe_abort(struct mcpi_pipe *pipe, int64_t now);

/* Aborts, and frees the buffers. */
void mcpi_pipe_done(struct mcpi_pipe *pipe, int64_t now);

/* Where the next bytes go, and that they are there: they are dispatched at once. */
char *mcpi_pipe_space(struct mcpi_pipe *pipe, size_t *ret_room);
void mcpi_pipe_filled(struct mcpi_pipe *pipe, size_t len, int64_t now);

/* No more will come. Half a line that waits is reported as no message. */
void mcpi_pipe_ended(struct mcpi_pipe *pipe, int64_t now);

/* The bytes to write now: the rest of the batch, or a new one, of no more messages than
 * `room` bytes take: what would have to wait stays where it can be withdrawn (B7).
 * *ret_len 0: nothing; it may be more than room. */
const char *mcpi_pipe_output(struct mcpi_pipe *pipe, size_t room, size_t *ret_len,
                             int64_t now);
void mcpi_pipe_written(struct mcpi_pipe *pipe, size_t len, int64_t now);

/* Nothing waits and nothing is half written. */
bool mcpi_pipe_is_idle(const struct mcpi_pipe *pipe);

#endif
