/*
 * support/http_matrix.h - what must hold over HTTP, in each way to speak it
 *
 * A case runs in each cell that it is meant for, plain and with TLS, against a server
 * of the public API on a thread of its own:
 *
 *     static void
 *     a_cancel_reaches_the_handler(struct matrix *m)
 *     {
 *         struct http_raw h;
 *         struct matrix_job *job;
 *
 *         matrix_call(m, &h, "7", "hold", NULL);
 *         job = matrix_job(m, 0);
 *         matrix_cancel(m, &h, "7");
 *         MATRIX_UNTIL(atomic_load(&job->told) == 1);
 *         matrix_end_job(job);
 *     }
 *
 * Handlers hold still until the case says otherwise, from its own thread. When a case
 * has ended nothing may be left: no handler, request, stream, session or connection,
 * and no block of memory.
 */
#ifndef TESTS_SUPPORT_HTTP_MATRIX_H
#define TESTS_SUPPORT_HTTP_MATRIX_H

#include <mcp/ask.h>
#include <mcp/http.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/http_raw.h"
#include "support/messages.h"
#include "support/tls_pair.h"
#include "support/virtual_clock.h"

#define MATRIX_BOUND_MS 60000 /* for what comes at once, on a machine that is busy */
#define MATRIX_JOBS 128

/* ---- cells ----------------------------------------------------------------- */

enum {
    MODERN_SSE = 1,
    MODERN_JSON = 2,
    LEGACY_SSE = 4,
    LEGACY_JSON = 8,
    STATELESS = 16, /* legacy, and may stream */

    MODERN = MODERN_SSE | MODERN_JSON,
    SESSIONS = LEGACY_SSE | LEGACY_JSON,
    LEGACY = SESSIONS | STATELESS,
    STREAMS = MODERN_SSE | LEGACY_SSE | STATELESS, /* something may precede an answer */
    BODIES = MODERN_JSON | LEGACY_JSON,            /* and here not */
    SHARED = MODERN | STATELESS,                   /* who leaves cancels */
    ALL = MODERN | LEGACY
};

struct matrix;

struct matrix_case {
    const char *name;
    void (*run)(struct matrix *m);
    unsigned cells;
    mcp_server_options server;
    mcp_http_options http; /* identify gets the matrix as its user */
    bool store;            /* legacy streams can be resumed */
};

/* Runs all cases of these tables. Returns what main should. */
struct matrix_table {
    const struct matrix_case *cases;
    size_t count;
};
int matrix_main(const char *file, const struct matrix_table *tables, size_t count);

/* ---- the server and its handlers ------------------------------------------- */

/* One run of a handler. */
struct matrix_job {
    struct matrix *m;
    mcp_request *req; /* NULL: it was ended, or ends by itself */
    char id[64];      /* JSON text */
    atomic_bool begun;
    atomic_int told;    /* times its hook was called */
    atomic_int cleaned; /* times what it deferred was */
    atomic_bool ended;
    int status; /* what it waited for has returned; once it has ended */
};

struct matrix {
    const struct matrix_case *what;
    unsigned cell;
    bool tls;
    struct test_mem mem;
    mcp_memory_store *store;
    mcp_server *server;
    bool stopped; /* by the case */
    int port;
    SSL_CTX *context; /* NULL: plain */
    char *session;    /* of a legacy client; NULL: none, or not any more */
    unsigned conversation;
    struct virtual_clock clock; /* after matrix_hold_time */

    struct matrix_job jobs[MATRIX_JOBS];
    atomic_int slots;
    atomic_bool open; /* deaf handlers go on */
    atomic_int seen;  /* by the middleware: canceled requests, */
    char reason[64];  /* and why; written before seen is */

    /* Of the hook that says who asks. */
    atomic_int asked;
    mcp_http_ticket *ticket; /* written before asked is */

    pthread_mutex_t lock;
    char log[16384]; /* lines, under the lock */
};

/* Wait until a condition holds; the test fails if it does not in time. */
#define MATRIX_UNTIL(condition)                                  \
    do {                                                         \
        int64_t matrix_end_ = matrix_now_ms() + MATRIX_BOUND_MS; \
                                                                 \
        while (!(condition)) {                                   \
            if (matrix_now_ms() > matrix_end_)                   \
                fail_msg("not in time: %s", #condition);         \
            matrix_pause();                                      \
        }                                                        \
    } while (0)

int64_t matrix_now_ms(void);
void matrix_pause(void);

/* From now on the time of the server stands still, but for what passes on m->clock. */
void matrix_hold_time(struct matrix *m);

/*
 * Its tools:
 *
 *   echo    says its argument "text", at once
 *   hold    waits for matrix_finish and matrix_end_job, and hears of a cancel
 *   quiet   the same, with MCP_SIGNAL_ONLY
 *   brief   the same, with a run limit of 20 ms
 *   sleep   on a worker, waits for a cancel
 *   deaf    on a worker, waits for matrix.open and hears of nothing
 *   roots   on a worker, asks the client for its roots; argument "ms": for how long;
 *           "gate": waits for matrix.open before
 *   form    asks the user who it is, by mcp_request_elicit
 */

/* The nth handler, counted from 0 in the order they began; waits for it. */
struct matrix_job *matrix_job(struct matrix *m, int n);
/* Nobody has begun after these. */
void matrix_expect_jobs(struct matrix *m, int count);

/* End a job that holds: with this text as its answer, or as canceled ones should. */
void matrix_finish(struct matrix_job *job, const char *text);
void matrix_end_job(struct matrix_job *job);

/* It was told, by its hook once, by its flag and by its descriptor. */
void matrix_expect_told(struct matrix_job *job);

mcp_server_counts matrix_counts(struct matrix *m);
bool matrix_logged(struct matrix *m, const char *part);

/* All is at rest but what is named here. Waits for it. */
void matrix_rest(struct matrix *m, uint64_t connections, uint64_t streams);

/* Stop the server, which says nothing before it has ended what runs. */
void matrix_stop(struct matrix *m);

/* ---- its clients ----------------------------------------------------------- */

bool matrix_is_modern(const struct matrix *m);
bool matrix_has_sessions(const struct matrix *m);

void matrix_open(struct matrix *m, struct http_raw *h);

/* A request on this connection, as the cell has it. Texts are JSON; more: members of
 * params, with a comma behind each; meta: members of _meta, likewise. Both may be
 * NULL. */
struct matrix_ask {
    const char *id;
    const char *method; /* NULL: tools/call */
    const char *name;   /* of a tool, a prompt; or a URI */
    const char *more;
    const char *meta;
    const char *capabilities; /* of a modern client; NULL: {} */
    const char *fields;       /* header lines, each with its CRLF */
    const char *session;      /* NULL: the matrix' own; "": none */
};
#define MATRIX_ASK(...) (&(struct matrix_ask){__VA_ARGS__})
void matrix_ask(struct matrix *m, struct http_raw *h, const struct matrix_ask *ask);
char *matrix_ask_text(struct matrix *m, const struct matrix_ask *ask);

/* Open a connection and call a tool on it. arguments NULL: none. */
void matrix_call(struct matrix *m, struct http_raw *h, const char *id, const char *tool,
                 const char *arguments);
/* With a progress token, "p". */
void matrix_call_streamed(struct matrix *m, struct http_raw *h, const char *id,
                          const char *tool, const char *arguments);

/* Cancel that request as a client of this cell does: it leaves, or posts a frame. */
void matrix_cancel(struct matrix *m, struct http_raw *h, const char *id);

/* POST any message on a connection of its own; returns the status. body, if not NULL,
 * gets the answer, freed by the caller. */
int matrix_post(struct matrix *m, const char *message, char **body);
/* A frame of a session; 202 is asserted. */
void matrix_frame(struct matrix *m, const char *id);

/* A session of a client that can be asked everything. Freed by the caller. fields as
 * above. NULL: there are none here. */
char *matrix_hello(struct matrix *m, const char *fields);
/* GET, DELETE, on a connection that is open. */
void matrix_get(struct matrix *m, struct http_raw *h, const char *last_event);
int matrix_delete(struct matrix *m);
/* The matrix has no session any more; it was ended by somebody. */
void matrix_forget(struct matrix *m);

/* The next message of the answer, whose head is read if it was not yet; NULL: it has
 * ended, in order. Borrowed until the next. */
const char *matrix_next(struct matrix *m, struct http_raw *h);
/* It has this part. */
const char *matrix_expect(struct matrix *m, struct http_raw *h, const char *part);
/* The last message has this part, and the answer ends with it, in order; the connection
 * can be used on. */
void matrix_expect_last(struct matrix *m, struct http_raw *h, const char *part);
/* A cancel was applied: what its client still hears, after which it closes. */
void matrix_expect_canceled(struct matrix *m, struct http_raw *h);

void matrix_has(const char *text, const char *part);

/* echo is served, on a connection of its own or on this one. */
void matrix_alive(struct matrix *m);
void matrix_alive_on(struct matrix *m, struct http_raw *h);

#endif
