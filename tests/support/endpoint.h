/*
 * support/endpoint.h - a server whose link has a stream for each request, without HTTP
 *
 * Two peers of one engine: two sessions, or the anonymous peer and a spare. A message
 * is posted; if it is a request, its answer goes to a stream of its own. What is taken
 * from a stream is recorded. Nothing is taken but in endpoint_run and endpoint_pass.
 *
 * Methods that begin with no/ are not found; those with last/ last, as a listen does: our
 * own stop ends them with a result, and whatever ends them, their run is over.
 */
#ifndef TESTS_SUPPORT_ENDPOINT_H
#define TESTS_SUPPORT_ENDPOINT_H

#include "support/messages.h"
#include "support/world.h"

enum { ENDPOINT_SENT_MAX = 64 };

struct endpoint_stream {
    struct mcpi_outlet *outlet; /* NULL: what the peer itself says, its GET */
    struct mcpi_peer *peer;
    char *sent[ENDPOINT_SENT_MAX];
    int codes[ENDPOINT_SENT_MAX]; /* of those that are errors */
    size_t count;
    int settled; /* times the link was told that nothing more comes */
    int failed;  /* times it was asked to give it up */
    int fail_status;
    int detached; /* times it was asked to let its client go */
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
    struct mcpi_peer *peer[2];     /* NULL: the test has freed it */
    struct endpoint_stream own[2]; /* of the peers themselves */
    struct endpoint_stream **streams;
    size_t stream_count;
    struct endpoint_job **jobs; /* in order of arrival */
    size_t job_count;
    long fail_next; /* from which allocation on a message has no memory; 0: none */
    int closes;     /* times core asked the link to close */
    enum mcpi_closing how; /* at last */
    char log[4096];        /* "W: text\n" */
};

struct endpoint_options {
    unsigned traits; /* of both peers */
    enum mcpi_era era;
    bool bare; /* the link can neither fail nor detach a stream */
    struct mcpi_times times;
    struct mcpi_limits limits;
};

/* Traits of both peers; times NULL: defaults. */
void endpoint_open(struct endpoint *ep, unsigned traits,
                   const struct mcpi_times *times);
void endpoint_open_with(struct endpoint *ep, const struct endpoint_options *wanted);

/* Frees all; finishes jobs that still run; asserts that nothing is left. */
void endpoint_close(struct endpoint *ep);

/* Deliver a message to peer 0, or to another one, on a stream of its own. Valid until
 * endpoint_close. */
struct endpoint_stream *endpoint_post(struct endpoint *ep, const char *text);
struct endpoint_stream *endpoint_post_to(struct endpoint *ep, int peer,
                                         const char *text);

/* The same, with what the link knows of who posts it: a version (a constant of ours),
 * and a principal, or NULL. */
struct endpoint_stream *endpoint_post_as(struct endpoint *ep, int peer,
                                         const char *text, const char *version,
                                         const char *principal);

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
/* With a result of that many bytes. */
void endpoint_finish_long(struct endpoint *ep, struct endpoint_job *job, size_t bytes);

/* Ask the client from inside a job. */
int endpoint_ask(struct endpoint *ep, struct endpoint_job *job, struct outcome *out);

#endif
