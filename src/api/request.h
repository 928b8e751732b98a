/*
 * request.h - one run of a handler, as the rest of the api sees it
 *
 *   begun   on the loop, when it has arrived: middleware, then the handler or the pool
 *   over    once, on the thread that ends it: hooks off, clean-up run, answer made
 *   home    on the loop: the exchange is finished, and the request is gone
 *
 * A request is the handler's until it is over, and nobody frees it before it is home.
 * The exchange belongs to the loop, but what it was made of (rpc, caller, doc) never
 * changes and may be read by the handler on its thread.
 */
#ifndef MCPI_API_REQUEST_H
#define MCPI_API_REQUEST_H

#include <mcp/request.h>
#include <pthread.h>

#include "api/host.h"
#include "api/result.h"
#include "core/exchange.h"
#include "run/pool.h"
#include "run/post.h"
#include "run/token.h"

struct mcpi_defer;
struct mcpi_decoded_node;
struct mcpi_reports;

struct mcp_request {
    struct mcpi_exchange *x;
    struct mcpi_host *host;
    struct mcp_server *server;           /* the host, if it is one; else NULL */
    struct mcpi_offer *offer;            /* counted; NULL: none */
    const struct mcpi_handler *handler;  /* who serves it; NULL: the library itself */
    void (*serve)(mcp_request *req);     /* [loop] what its method does */
    const struct mcpi_served_ops *inner; /* a method of the library's own: who does */
    struct mcpi_asking *asking;          /* what was asked and answered; or NULL */
    int ask_fault;                       /* of a question of this run; under lock */
    struct mcpi_listener *listener;      /* of subscriptions/listen; loop only */
    mcp_doc *variables;                  /* of the template that was matched; or NULL */
    size_t passed;                       /* middlewares that were asked; loop only */
    bool starting;                       /* inside its start handler; loop only */
    bool home_due;                       /* over meanwhile; loop only */
    bool entered;                        /* its handler was called */
    bool again;                          /* not the first run: its answers are there */
    bool rests;                          /* over, and the client is to be asked */
    int sought;                          /* negative: who serves it is not known */
    int status;                          /* how it ended */
    atomic_uint log_from; /* mcp_severity: the least that is wanted; 0: nothing */
    atomic_bool canceled; /* told to stop; x->reason is readable, and stays as it is */
    atomic_bool over;     /* somebody ends it */
    _Atomic(struct mcpi_token *) token; /* NULL until needed */
    _Atomic(const char *) id_text;      /* likewise */
    struct mcpi_list told;              /* in host->told; under its lock */
    int64_t told_at;                    /* likewise */
    struct mcpi_post home;
    struct mcpi_job job;
    struct mcpi_list hooks;            /* under mcpi_request_lock */
    struct mcpi_defer *defers;         /* the last one first; under lock */
    struct mcpi_decoded_node *decoded; /* one thread at a time */
    double progress;                   /* last reported; under lock */
    double reported;                   /* by the runs before this one; constant */
    struct mcpi_reports *reports;      /* that wait, or have; NULL: none so far */
    atomic_bool report_posted;         /* set under lock */
    int fail_code;                     /* mcp_request_fail; 0: not called */
    char *fail_data;                   /* JSON text, or NULL */
    size_t fail_length;
    struct mcp_result out; /* from its answer on nothing is cleared */
};

/* Its lock: a leaf, and shared with other requests of the host. */
static inline pthread_mutex_t *
mcpi_request_lock(const mcp_request *req)
{
    return &req->host
                ->request_locks[(uintptr_t)req / sizeof(*req) % MCPI_REQUEST_LOCKS];
}

/* ---- its life; see above ------------------------------------------------ */

/* A request for an exchange that was just routed; NULL for want of memory. Counted as
 * live in its host. [loop] */
mcp_request *mcpi_request_new(struct mcpi_host *host, struct mcpi_exchange *x);

/* Free one that is home, or that was never begun. [loop] */
void mcpi_request_free(mcp_request *req);

/* It is over with this status, as a handler returns one: false if it was over already.
 * True: it is home, or on its way; do not touch it. [any] */
bool mcpi_request_end(mcp_request *req, int status);

/* The last step: its exchange is finished, and it is freed. [loop] */
void mcpi_request_go_home(mcp_request *req);

/* Its exchange is finished by somebody else, now or later: it is over, and freed.
 * [loop] */
void mcpi_request_part(mcp_request *req);

/* Tell it to stop: the two steps of a cancel. [loop] */
void mcpi_request_flag(mcp_request *req);
void mcpi_request_stop(mcp_request *req);

/* Decode a value of doc into a struct that is good until the request is freed. One
 * thread at a time. */
int mcpi_request_decode(mcp_request *req, const mcp_fields *fields, mcp_doc *doc,
                        const mcp_json *value, void *into);

/* Note an error to answer with; end it with MCP_E_PEER then. */
void mcpi_request_refuse(mcp_request *req, int code, const char *format, ...)
    MCP_PRINTF(3, 4);

/* A variable of the template that was matched: its text, or the first one of a list; NULL:
 * there is none. */
const char *mcpi_variable_text(const mcp_request *req, const char *name);

/* ---- its cancel token --------------------------------------------------- */

/* The request's cancel token, with a reference for the caller; NULL for want of memory.
 * It is set when the request is canceled, and at the latest when it is over, so that
 * what was bound to it ends with it. [any, while the request is the handler's] */
struct mcpi_token *mcpi_request_token(mcp_request *req);

/* The same without a reference; made if need be. */
struct mcpi_token *mcpi_request_get_token(mcp_request *req);

/* Remove the handler's hooks; afterwards none runs. [any] */
void mcpi_request_unhook_all(mcp_request *req);

/* ---- progress and log messages ------------------------------------------ */

/* Send a notification about it, or let it wait for the loop, behind what was said
 * before; params is the text of a JSON object, of length 0 if there are none. Statuses
 * as mcp_request_progress. [any] */
int mcpi_request_send_note(mcp_request *req, const char *method, const char *params,
                           size_t len);

/* Hand what waits to the exchange, or drop it if that has ended. [loop] */
void mcpi_request_send_reports(mcp_request *req);
void mcpi_request_free_reports(mcp_request *req); /* nothing waits any more */

/* ---- running its handler ------------------------------------------------ */

/* How core begins and ends it, for both hosts; req is served_user: serve.c. */
extern const struct mcpi_served_ops mcpi_request_ops;

/* Call its handler, on the loop or on a worker. Arguments of a tool are checked
 * first. [loop] */
void mcpi_request_handle(mcp_request *req);

#endif
