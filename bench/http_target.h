/*
 * http_target.h - an HTTP server that is measured, and the cheapest client to drive it
 *
 * The client writes prebuilt requests, whose ids count up, and knows after its first
 * answer how long one is. All functions end the program if something goes wrong, except
 * http_target_start.
 */
#ifndef BENCH_HTTP_TARGET_H
#define BENCH_HTTP_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "process.h"

enum { LANES = 64, REQUEST_ROOM = 2048, ANSWER_ROOM = 4096 };

/* What to run: filled in by its user. */
struct http_recipe {
    const char *argv[4]; /* a program beside this one, or one from PATH; arguments */
    bool is_peer;        /* not of ours, may be missing */
    bool is_legacy;      /* in a session; else modern */
    bool is_bare;        /* whatever it is asked, it says the same */
};

/* A keep-alive connection. */
struct lane {
    int fd;
    size_t got; /* of an answer that came in pieces */
    char answer[ANSWER_ROOM];
};

struct http_target {
    struct process process;
    const struct http_recipe *recipe;
    int port;
    char session[256];          /* a header line, or "" */
    char request[REQUEST_ROOM]; /* of echo, if its id is put in */
    size_t length, id_at;
    char id[16];   /* the last one used, as digits */
    size_t answer; /* bytes of one */
    int epoll;
    struct lane lanes[LANES];
};

/* It has answered. False: it did not; then nothing of it is left. */
bool http_target_start(struct http_target *target, const struct http_recipe *recipe);
void http_target_stop(struct http_target *target);

/* One call, whose answer is looked at. */
void http_target_check(struct http_target *target);

/* What one call costs, in microseconds. */
struct http_cost {
    double wall;
    double server; /* its processor time */
};

/* Calls for that long by the clock, on so many connections at once. */
struct http_cost http_target_drive(struct http_target *target, int lanes,
                                   double slice_us);

/* ---- requests that are not answered ---------------------------------------- */

enum hanging {
    HANG_SILENT, /* nothing is said */
    HANG_STREAM, /* a stream is open */
    HANG_LISTEN, /* subscriptions/listen */
    HANG_GET,    /* what a session listens to; of a legacy target only */
};

/* Start so many, each on a connection of its own, and wait for what they say. */
void http_streams_open(const struct http_target *target, enum hanging kind, int count,
                       int *ret_fds);
void http_streams_close(const int *fds, int count);

/* From the close of the connection of a hanging request to the moment the server
 * noticed, in microseconds. */
double http_close_measure(const struct http_target *target, enum hanging kind);

#endif
