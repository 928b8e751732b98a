/*
 * support/endpoint.h - a server whose link has a stream for each request, without HTTP
 *
 * Two peers of one engine: two sessions, or the anonymous peer and a spare. A message
 * is posted; if it is a request, its answer goes to a stream of its own. What is taken
 * from a stream is recorded. Nothing is taken but in endpoint_run and endpoint_pass.
 */
#ifndef TESTS_SUPPORT_ENDPOINT_H
#define TESTS_SUPPORT_ENDPOINT_H

#include "support/messages.h"
#include "support/world.h"

enum { ENDPOINT_SENT_MAX = 8 };

struct endpoint_stream {
    struct mcpi_outlet *outlet; /* NULL: what the peer itself says, its GET */
    struct mcpi_peer *peer;
    char *sent[ENDPOINT_SENT_MAX];
    size_t count;
    int settled; /* times the link was told that nothing more comes */
};

struct endpoint_job {
    struct mcpi_exchange *x; /* counted */
    bool entered;            /* it was in its peer's table when it began */
    int told;
    enum mcpi_ending how;
    bool finished;
};

struct endpoint {
    struct test_mem mem;
    struct mcpi_timers timers;
    int64_t now;
    struct mcpi_engine *engine;
    struct mcpi_peer *peer[2];
    struct endpoint_stream own[2]; /* of the peers themselves */
    struct endpoint_stream **streams;
    size_t stream_count;
    struct endpoint_job **jobs; /* in order of arrival */
    size_t job_count;
    int closes; /* times core asked the link to close */
};

/* Traits of both peers; times NULL: defaults. */
void endpoint_open(struct endpoint *ep, unsigned traits,
                   const struct mcpi_times *times);

/* Frees all; finishes jobs that still run; asserts that nothing is left. */
void endpoint_close(struct endpoint *ep);

/* Deliver a message to peer 0, or to another one, on a stream of its own. Valid until
 * endpoint_close. */
struct endpoint_stream *endpoint_post(struct endpoint *ep, const char *text);
struct endpoint_stream *endpoint_post_to(struct endpoint *ep, int peer,
                                         const char *text);

/* A legacy handshake on a peer. */
void endpoint_greet(struct endpoint *ep, int peer);

/* Take all there is to take. */
void endpoint_run(struct endpoint *ep);
void endpoint_pass(struct endpoint *ep, int64_t us);

/* The client of this stream disconnects: core is told, the outlet is killed. */
void endpoint_leave(struct endpoint *ep, struct endpoint_stream *stream);

/* Free all streams and jobs; the jobs must be finished. */
void endpoint_forget(struct endpoint *ep);

/* The newest job; finishing one, with a result {}. */
struct endpoint_job *endpoint_job(struct endpoint *ep);
void endpoint_finish(struct endpoint *ep, struct endpoint_job *job);

/* Ask the client from inside a job. */
int endpoint_ask(struct endpoint *ep, struct endpoint_job *job, struct outcome *out);

#endif
