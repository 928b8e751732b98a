/*
 * http_client_rig.h - a client of the public API, and an HTTP server the test plays
 *
 *     rig_open(&r, CELL_SESSION, false, NULL);        the greeting is done
 *     rig_call(&r, &c, NULL);                         a call, on its way
 *     rig_take(&r, &v, "tools/call");                 the server has read it
 *     ... the server says what it likes ...
 *     rig_close(&r);                                  and nothing may be left
 *
 * The client has a loop thread of its own; nothing is accepted, read or said but by
 * the test. Every answer closes its connection, so each request comes on a new one, and
 * they are taken in the order in which they were made.
 *
 * The client's clock stands still, unless the test lets time pass: so nothing times out
 * because the machine is busy, and no test waits for a timeout.
 */
#ifndef TESTS_END_HTTP_CLIENT_RIG_H
#define TESTS_END_HTTP_CLIENT_RIG_H

#include <mcp/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/http_script.h"
#include "support/virtual_clock.h"

/* ---- ways to speak ------------------------------------------------------- */

enum {
    CELL_MODERN = 1,
    CELL_SESSION = 2,   /* legacy, streams, a session with a GET stream */
    CELL_BODIES = 4,    /* legacy, JSON bodies, a session without one */
    CELL_STATELESS = 8, /* legacy, streams, no session */
    CELL_OLD = 16,      /* 2024-11-05 */

    CELLS_LEGACY = CELL_SESSION | CELL_BODIES | CELL_STATELESS | CELL_OLD,
    CELLS_SESSIONS = CELL_SESSION | CELL_BODIES,
    CELLS_STREAMS = CELL_MODERN | CELL_SESSION | CELL_STATELESS,
    CELLS_ALL = CELL_MODERN | CELLS_LEGACY
};

#define RIG_LONG_MS 86400000 /* of the client's clock: no test lets so much pass */
#define RIG_SESSION "session-1"

/* How a call ended. */
struct rig_end {
    atomic_int times;
    int status; /* once times is 1 */
    char text[64];
};

struct rig_call {
    mcp_call *call;
    struct rig_end end;
    char id[64]; /* JSON */
};

struct rig {
    unsigned cell;
    bool tls;
    struct http_script s;
    struct test_mem mem;
    mcp_client *client;
    struct virtual_clock clock; /* of the client */
    struct visit inlet;  /* the stream of a session, or of 2024-11-05; fd -1: none */
    char session[64];    /* "": none */
    atomic_int states;   /* of the connection that were told */
    int state;           /* the last one */
    atomic_int warnings; /* in the log */
    char log[256];       /* the last of them; read when nothing is under way */
};

/* Wait until a condition holds; the test fails if it does not in time. */
#define RIG_UNTIL(condition)                             \
    do {                                                 \
        int64_t rig_end_ = rig_now_ms() + AWAIT_MS;      \
                                                         \
        while (!(condition)) {                           \
            if (rig_now_ms() > rig_end_)                 \
                fail_msg("not in time: %s", #condition); \
            rig_pause();                                 \
        }                                                \
    } while (0)

int64_t rig_now_ms(void);
void rig_pause(void);

/* ---- opening and closing ------------------------------------------------- */

/* What is not the default: NULL ok. */
struct rig_options {
    mcp_http_client_options http;
    mcp_client_options client;
    bool ungreeted; /* the test answers the first request, and all after it */
    bool unread; /* what the server does not read stays on the client's side, mostly */
};

/* One certificate for the whole program; made with the first rig that has TLS. */
void rig_open(struct rig *r, unsigned cell, bool tls, const struct rig_options *given);
void rig_await_ready(struct rig *r);
/* The clock of this client stands still from now on. */
void rig_clock_hold(struct virtual_clock *clock, mcp_client *client);

/* Close the client as the cell has it: a session is deleted. Nothing must be pending,
 * and nothing else may have come. */
void rig_close(struct rig *r);
/* The same for a client that closes already, or is dead: there is no DELETE. */
void rig_done(struct rig *r);

/* ---- calls --------------------------------------------------------------- */

/* tools/call of `t`; opt and arguments may be NULL. */
void rig_call(struct rig *r, struct rig_call *c, const mcp_call_options *opt);
void rig_call_with(struct rig *r, struct rig_call *c, const mcp_call_options *opt,
                   const char *params);

/* It ended so, once; and is freed. text NULL: not looked at. */
void rig_ends(struct rig_call *c, int status, const char *text);
/* The same, with a sentence of which this is a part. */
void rig_fails(struct rig_call *c, int status, int http, const char *why);

/* A call is answered: the client works. It is the very next thing that comes. */
void rig_works(struct rig *r);

/* Nothing waits to be accepted. */
void rig_quiet(struct rig *r);

/* ---- the server's side --------------------------------------------------- */

/* The next request: of this method of MCP, with the headers that it must have. */
void rig_take(struct rig *r, struct visit *v, const char *method);
/* It is this one already. */
void rig_check(struct rig *r, struct visit *v, const char *method);

/* A client may wait before it makes its next request: a cancel for the head of its
 * request, a stream for its retry. Time passes until it does, by a few such steps. */
#define RIG_STEP_MS 250
#define RIG_STEPS 8
void rig_await_visit(struct rig *r);

/* A cancel of that id comes next, and is accepted with 202, or stays unanswered. */
void rig_take_cancel(struct rig *r, const char *id);
void rig_check_cancel(struct rig *r, struct visit *v, const char *id); /* it has come */
void rig_take_cancel_as(struct rig *r, struct visit *v, const char *id);
/* DELETE comes next, and is answered with that status. */
void rig_take_delete(struct rig *r, const char *status);

/* A head; `more`: further lines, each with its CRLF, or "". */
void rig_head(struct visit *v, const char *status, const char *type, const char *more);
/* A whole answer, and the connection is closed; type NULL: none. */
void rig_say(struct visit *v, const char *status, const char *type, const char *body);
/* An event with this message. */
void rig_event(struct visit *v, const char *message);

/* The answer to a call, as the cell has it; then its connection is closed. */
void rig_answer(struct rig *r, struct visit *v, const char *id, const char *text);
/* Its text; in a buffer that the next call uses again. */
const char *rig_result(const char *id, const char *text);

/* The client has read all that was said. */
void rig_await_read(struct visit *v);

/* ---- what the system keeps ----------------------------------------------- */

/* Small ones, or as the system has them: on both sides, from the next socket on. */
void rig_buffers(struct rig *r, bool small);

/* ---- a server that does not accept --------------------------------------- */

/* Whoever connects now has to wait, until rig_unblock. Returns a descriptor for it. */
int rig_block(struct rig *r);
void rig_unblock(struct rig *r, int fd);
/* How many connect, and wait. */
int rig_connecting(struct rig *r);

#endif
