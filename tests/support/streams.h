/*
 * support/streams.h - worlds whose sides are joined by descriptors, and a rig: one
 * server whose client is the test itself, byte by byte
 *
 * Loops are stepped and never sleep, and their time is the test's.
 */
#ifndef TESTS_SUPPORT_STREAMS_H
#define TESTS_SUPPORT_STREAMS_H

#include "link/stream.h"
#include "support/messages.h"
#include "support/world.h"

/* Has this loop something to do without waiting? */
bool loop_is_busy(struct mcpi_loop *loop);

/* A pipe: [0] is read from. Both are close-on-exec. */
void pipe_open(int ends[2]);

/* Two ends of one socket. */
void socket_pair(int ends[2]);

/* ---- a world over streams -------------------------------------------------- */

struct stream_ends {
    int in, out;
};

struct streams {
    struct mcpi_loop *loop[2];
    struct mcpi_stream *stream[2]; /* NULL: freed */
    int told[2];                   /* times `closed` was called */
    /* A handle on what this side writes to: a pipe's is neither end of it (O_PATH), a
     * socket's is the stream's own descriptor. */
    int wire[2];
    bool sockets;
};

/* Join the engines of a world; the descriptors are taken. For a world_link's open. */
int streams_join(struct world *w, const struct stream_ends ends[2]);

int streams_step(struct world *w, int side);
size_t streams_inject(struct world *w, int side, const char *bytes, size_t len);
void streams_shutdown(struct world *w, int side);
void streams_free(struct world *w, int side);

struct mcpi_stream *world_stream_of(struct world *w, int side);

extern const struct world_link world_stream; /* over two pipes: "stream" */

/* ---- a rig ----------------------------------------------------------------- */

enum { RIG_HELD_MAX = 8 };

/*
 * A server that answers tools/call at once, with {"content":[]}, but for two tools:
 * "hold" waits until it is told or finished, "big" answers with `big` bytes.
 */
struct rig {
    struct test_mem mem;
    int64_t now;
    struct mcpi_loop *loop;
    bool shares_loop;
    struct mcpi_engine *engine;
    struct mcpi_stream *stream;
    int say_fd;    /* what the test writes to; -1: closed */
    int listen_fd; /* what the test reads from; may be the same */
    struct mcpi_exchange *held[RIG_HELD_MAX]; /* NULL: finished */
    size_t held_count;
    int told; /* held ones that were told to stop */
    int served;
    size_t big;
    int closed; /* times the stream said so */
    bool free_when_closed;
    char *heard; /* what the server said so far, a terminated text */
    size_t heard_len;
    int warnings; /* logged */
};

struct rig_options {
    struct stream_ends server; /* taken */
    struct stream_ends test;   /* taken; in is read from */
    struct mcpi_limits limits;
    struct mcpi_times times;
    struct rig *on_loop_of; /* NULL: a loop of its own */
};

void rig_open(struct rig *r, const struct rig_options *opt);
/* Over two pipes, or one socket, with all defaults. */
void rig_open_pipes(struct rig *r);
void rig_open_socket(struct rig *r);

/* Frees all and asserts that nothing is left. A rig that shares a loop goes first. */
void rig_close(struct rig *r);

/* The client says a line; a newline is added. It must fit. */
void rig_say(struct rig *r, const char *line);
/* The client says no more. */
void rig_hush(struct rig *r);
/* The client reads all there is, into `heard`. */
void rig_listen(struct rig *r);
/* How often the server said that. */
size_t rig_heard(const struct rig *r, const char *part);
void rig_forget(struct rig *r); /* what was heard */

/* Step the loop until it has nothing to do; then listen, and again, until all is
 * quiet. */
void rig_run(struct rig *r);
/* Without listening. */
void rig_run_deaf(struct rig *r);
void rig_pass(struct rig *r, int64_t us);

/* Finish one that is held, from the handler's side. */
void rig_finish(struct rig *r, size_t held);

#define RIG_TOOL(id, name) \
    REQUEST(id, "tools/call", "{\"name\":\"" name "\"," STAMP "}")

#endif
