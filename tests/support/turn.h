/*
 * support/turn.h - turns that only record, and a desk that serves them
 *
 * The desk is an endpoint without HTTP: a real engine on a real loop, whose time stands
 * still, and the two kinds of peers that requests can have. The test plays the carrier:
 * it says when a client has room, has read, or has left.
 */
#ifndef TESTS_SUPPORT_TURN_H
#define TESTS_SUPPORT_TURN_H

#include "core/engine.h"
#include "core/exchange.h"
#include "core/leg.h"
#include "link/http_session.h"
#include "support/messages.h"
#include "support/sender.h"
#include "support/test.h"

#define SECOND ((int64_t)1000000)

struct turn {
    struct mcpi_turn turn;
    char said[512];   /* "reply", "open", "write", "end", "abort", one blank between */
    int status;       /* of the head; 0: none yet */
    char type[64];    /* Content-Type */
    char fields[512]; /* "Name: value\n" */
    char *text;       /* the body so far; never NULL */
    size_t len;
    size_t longest; /* bytes of one write */
    bool full;      /* keeps what it gets from now on */
    bool kept;      /* has something that has not left */
};

struct job {
    struct mcpi_exchange *x; /* counted */
    int told;                /* times it was told to stop */
};

struct desk {
    struct test_mem own_mem, *mem;
    int64_t now;
    struct mcpi_log log;
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    mcp_http_options http; /* may be changed before something is served */
    struct mcpi_endpoint endpoint;
    bool may_json, may_sse; /* what clients accept */
    bool prompt;            /* handlers stop when they are told to */
    int counted[2];         /* sessions, streams: by the gauge */
    struct job *jobs;       /* requests, in the order they came */
    size_t job_count;
    struct mcpi_http_stream *last; /* opened by the last post */
};

/* A turn that nobody serves yet. */
void turn_init(struct turn *t);
void turn_done(struct turn *t);
void turn_read(struct turn *t); /* what it kept has left; there is room again */
void turn_go(struct turn *t);   /* the client leaves */
bool turn_is_over(const struct turn *t); /* nobody serves it */
bool turn_says(const struct turn *t, const char *part);
size_t turn_count(const struct turn *t, const char *part); /* how often it says so */
#define turn_assert_said(t, expected) assert_string_equal((t)->said, expected)

/* mem NULL: its own. desk_open returns a status; desk_close is allowed after all. */
int desk_open(struct desk *d, struct test_mem *mem);
void desk_start(struct desk *d);
void desk_end_sessions(struct desk *d); /* all of them, now */
void desk_close(struct desk *d);        /* all must be freed then */

void desk_step(struct desk *d); /* some turns of the loop */
void desk_pass(struct desk *d, int64_t us);

/* Post a message: modern, or in a session. Nothing is written before the next step. */
int desk_try_post(struct desk *d, struct mcpi_session *session, struct turn *t,
                  const char *text);
void desk_post(struct desk *d, struct mcpi_session *session, struct turn *t,
               const char *text);
/* One that gets no answer: a notification, a response. */
void desk_note(struct desk *d, struct mcpi_session *session, const char *text);

/* A session that has introduced itself with that version, as nobody in particular. */
struct mcpi_session *desk_session(struct desk *d, const char *version);
/* A GET; last_event_id NULL: none. The head leaves at once, the rest with a step. */
void desk_open_get(struct desk *d, struct mcpi_session *session, struct turn *t,
                   const char *last_event_id);
void desk_get(struct desk *d, struct mcpi_session *session, struct turn *t,
              const char *last_event_id); /* with that step */

/* Handlers: they do nothing unless told. */
struct mcpi_exchange *desk_job(struct desk *d, size_t index);
void desk_finish(struct desk *d, size_t index, const char *result);
void desk_fail(struct desk *d, size_t index, int code);
void desk_notify(struct desk *d, size_t index, const char *text); /* a string */
/* The server says something that belongs to no request. */
void desk_tell(struct desk *d, struct mcpi_session *session, const char *text);

size_t desk_streams(const struct desk *d); /* that there are */

#endif
