/*
 * http_flow.h - one HTTP request of ours and what comes back, resumed if it may be
 *
 *   IDLE -> OPENING -> BODY | STREAM -> OVER
 *   STREAM -> BROKEN -> OPENING (a GET with Last-Event-ID) -> STREAM ...
 *
 * OPENING: the request is on its way, no head has come. BROKEN: the stream was lost, or
 * ended by the server, and is taken up again when the timer says so (D8); or it rests,
 * because it may not be sent yet, and its owner says when. A flow ends once: `ended` is
 * called, or it was closed and nothing is. Embedded in its owner; loop thread only.
 */
#ifndef MCPI_LINK_HTTP_FLOW_H
#define MCPI_LINK_HTTP_FLOW_H

#include "base/timers.h"
#include "core/port.h"
#include "link/http_reply.h"

/* Failures in a row after which nobody tries any more. A head that is a stream ends the
 * row. */
#define MCPI_HTTP_RESUMES_MAX 5
/* Between two attempts, if the server does not say: twice as long each time. */
#define MCPI_HTTP_RETRY_FIRST 1000000 /* us */
#define MCPI_HTTP_RETRY_MOST 30000000
/* At the least, if a stream that was taken up again brought no message, be it with an
 * id: a server that asks for no delay must not make us spin. */
#define MCPI_HTTP_RETRY_LEAST 100000

enum mcpi_http_flow_state {
    MCPI_FLOW_IDLE = 0,
    MCPI_FLOW_OPENING,
    MCPI_FLOW_BODY,
    MCPI_FLOW_STREAM,
    MCPI_FLOW_BROKEN,
    MCPI_FLOW_OVER
};

struct mcpi_http_flow;

/* All but `fields` may close the flow from inside, and free it or begin it anew. */
struct mcpi_http_flow_ops {
    /* Append the header lines of a GET that takes it up again, but for Accept and
     * Last-Event-ID; each with its terminator. Negative: they cannot be written, besides
     * the buffer's own failure; MCP_E_AGAIN: not yet, and it rests; MCP_E_AUTH: that is its
     * end. NULL: it never is taken up again. */
    int (*fields)(void *user, struct mcpi_buf *into);
    /* The last byte of the first request has left. NULL ok. */
    void (*sent)(void *user);
    /* A head came: of the first request, or of one that resumes; flow->reply knows its
     * status and type. Negative: that is its end; MCP_E_HTTP: with http and a sentence
     * from the head. NULL ok. */
    int (*head)(void *user, const struct mcpi_fetch_head *head);
    /* A message came; take it. */
    void (*message)(void *user, const struct mcpi_rpc *rpc);
    /* An event came that has an id: the stream can be taken up again after it. Before
     * the message of that event. NULL ok. */
    void (*marked)(void *user, const char *event_id);
    /* An event of another type came (2024-11-05). NULL ok. */
    void (*event)(void *user, const struct mcpi_sse_event *event);
    /* It is over. fault NULL: the answer was whole: a message in JSON, an empty one, or
     * a stream that the server ended and that cannot be taken up again; whether that is
     * enough is its owner's to say (reply.messages). Else MCP_E_CLOSED: it was lost, or
     * could not be resumed (D9); MCP_E_HTTP with http: an error without a message, or
     * any error of a GET; MCP_E_PROTO; MCP_E_LIMIT; MCP_E_NOMEM; MCP_E_SEND_FAILED;
     * MCP_E_AUTH. */
    void (*ended)(void *user, const struct mcpi_fault *fault);
};

struct mcpi_http_flow {
    struct mcpi_fetcher *fetcher;
    struct mcpi_timers *timers;
    const struct mcpi_log *log;
    const struct mcpi_engine *engine; /* whose wire this is; NULL: nobody watches */
    const char *url;                  /* borrowed; for the GETs */
    int64_t idle_us;
    bool resumes; /* a stream with ids that is lost is taken up again: the owner's to
                     set and clear */
    bool reopens; /* also one without any, from its beginning (the GET of a session) */
    enum mcpi_http_flow_state state;
    struct mcpi_fetch *fetch; /* or NULL */
    const char *method;       /* of this request; a constant */
    struct mcpi_http_reply reply;
    struct mcpi_timer retry;
    unsigned failures; /* in a row */
    bool is_get;       /* this request: its answer is a stream, or an error */
    bool is_resuming;  /* this request takes up an earlier stream */
    bool was_broken;   /* a stream was lost: it is not the first one any more */
    bool brought;      /* a message came since it was last taken up again */
    bool is_timed; /* retry is armed for when it is due; else only to learn the time */
    int stopped;   /* what we told the fetch to stop with; 0: nothing */
    bool *gone;    /* of the call under way: it was closed from inside */
    const struct mcpi_http_flow_ops *ops;
    void *user;
};

/* Set fetcher, timers, log, engine, url, idle_us, resumes, reopens, ops and user first; the
 * rest is made. Also to begin anew one that is over or closed. */
void mcpi_http_flow_init(struct mcpi_http_flow *flow, const mcp_allocator *mem,
                         size_t max_bytes, size_t max_depth);

/* Send the first request: fields and body are copied; method is a constant. A GET must
 * be answered by a stream. MCP_E_INVAL, MCP_E_NOMEM: nothing was begun. */
int mcpi_http_flow_start(struct mcpi_http_flow *flow, const char *method,
                         const char *fields, size_t fields_len, const char *body,
                         size_t body_len);

/* Begin with a GET after that event: of an earlier stream (B27). "" is from now on. It
 * is tried as often as any that resumes. MCP_E_AGAIN: it rests. MCP_E_INVAL: no id;
 * MCP_E_NOMEM, or what `fields` returned: nothing was begun. */
int mcpi_http_flow_resume(struct mcpi_http_flow *flow, const char *event_id);

/* Its GET was refused, and may be sent again later: abort it, and rest; also from inside
 * head. Or it may be now: in the next turn, after the last event, as any other. Nothing
 * for one that does not rest. */
void mcpi_http_flow_rest(struct mcpi_http_flow *flow);
void mcpi_http_flow_wake(struct mcpi_http_flow *flow);

/* Wait no longer for the rest of a body that is no stream: what has come is the answer, and
 * the flow ends. Nothing in any other state. */
void mcpi_http_flow_curtail(struct mcpi_http_flow *flow);

/* Nobody wants it to be taken up again: one that is BROKEN, or was taken up again, is over
 * at once, silently; true then (D7, D11). One that streams for the first time goes on to
 * its end. */
bool mcpi_http_flow_forgo(struct mcpi_http_flow *flow);

/* Abort what is under way and free what it holds; silent, in any state, also twice. */
void mcpi_http_flow_close(struct mcpi_http_flow *flow);

#endif
