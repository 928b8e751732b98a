/*
 * http_reply.h - the messages in one HTTP answer, JSON or a stream of events
 *
 * Knows no socket and no peer: told the head, fed the body, it calls `message` for each
 * document, and says at the end how it ended. A status that is no success may still
 * bring a JSON-RPC message in its body; if it does not, the answer is an error of HTTP.
 */
#ifndef MCPI_LINK_HTTP_REPLY_H
#define MCPI_LINK_HTTP_REPLY_H

#include <mcp/json.h>

#include "run/fetch.h"
#include "wire/rpc.h"
#include "wire/sse.h"

/* Longest text of an error that is told on, for a log line. */
#define MCPI_HTTP_EXCERPT_MAX 120
/* So much is read of a body that nobody wants, so that its connection can be used
 * again. */
#define MCPI_HTTP_SKIP_MAX 65536
/* Room for a sentence on what went wrong: an excerpt, a type, and words around. */
#define MCPI_HTTP_WHY 256

enum mcpi_http_reply_kind {
    MCPI_REPLY_NONE = 0, /* no head yet */
    MCPI_REPLY_EMPTY,    /* 202, 204: nothing is to come, and what comes is passed over;
                            or a success that has ended, was no stream, and empty */
    MCPI_REPLY_JSON,     /* or an error whose text may be JSON */
    MCPI_REPLY_EVENTS,
    MCPI_REPLY_OTHER /* a type that is none of ours */
};

struct mcpi_http_reply {
    const mcp_allocator *mem;
    size_t max_bytes, max_depth; /* of a message */
    enum mcpi_http_reply_kind kind;
    int status;    /* HTTP; 0: no head yet */
    char type[64]; /* Content-Type without parameters, in lower case, cut; or "" */
    struct mcpi_buf body; /* JSON, or the beginning of an error */
    size_t body_len;      /* how long it is in truth */
    const char *fault;    /* why it is no message; constant, or NULL */
    struct mcpi_sse_reader events;
    bool has_reader;
    struct mcpi_buf last_id; /* of the last event that had one; terminated, or empty */
    int64_t retry_us;        /* what the server asked for; < 0: nothing */
    size_t messages;         /* so far */
    size_t garbled;          /* events with data that is no JSON-RPC */
    bool *gone;              /* of the call under way: it was done from inside */
    bool has_remark;         /* body is what a refusal said, for people */

    /* Its owner's, to be set behind init. From inside, it may be done with and freed: a
     * body under way then returns MCP_E_CLOSED, and nothing more is called. */
    /* What is asked for. An error of HTTP that brings an error without this id is about
     * HTTP, not an answer: unless only a modern server gives its code. NULL: all that
     * comes is handed up. */
    const struct mcpi_id *asked;
    /* What stands where a message should, before anything is done with it. fault: why it
     * cannot be read, or NULL; then it is JSON. It may not be done with from inside. NULL
     * ok. */
    void (*came)(void *user, const char *text, size_t len, const char *fault);
    /* A message came, or in a stream of events what is none but has the id of one
     * (MCPI_RPC_INVALID); take rpc->doc. Negative: stop, body and end return it. */
    int (*message)(void *user, const struct mcpi_rpc *rpc);
    /* An event came that has an id, last_id now; before its message. NULL ok. */
    void (*marked)(void *user, const char *event_id);
    /* An event of a type that is not "message" came (2024-11-05: "endpoint"). NULL:
     * they are passed over. */
    int (*event)(void *user, const struct mcpi_sse_event *event);
    void *user;
};

void mcpi_http_reply_init(struct mcpi_http_reply *reply, const mcp_allocator *mem,
                          size_t max_bytes, size_t max_depth);
/* Also twice. status, type and the counts can still be read. */
void mcpi_http_reply_done(struct mcpi_http_reply *reply);

/* Begin anew, for the answer that resumes this one: last_id, retry and counts stay. */
void mcpi_http_reply_again(struct mcpi_http_reply *reply);

/* Set last_id. MCP_E_INVAL: it cannot stand in a header, MCP_E_LIMIT: it is too long;
 * MCP_E_NOMEM. There is none then. */
int mcpi_http_reply_set_id(struct mcpi_http_reply *reply, const char *event_id);
/* last_id, or "". */
const char *mcpi_http_reply_id(const struct mcpi_http_reply *reply);

static inline bool
mcpi_http_reply_is_error(const struct mcpi_http_reply *reply)
{
    return reply->status < 200 || reply->status > 299;
}

/* 0, or MCP_E_HTTP: an error that is a stream of events: nobody waits for its end. */
int mcpi_http_reply_head(struct mcpi_http_reply *reply,
                         const struct mcpi_fetch_head *head);

/* MCP_E_LIMIT: longer, or deeper, than a message may be; MCP_E_NOMEM; MCP_E_PROTO: a
 * success with a body that is none of ours; MCP_E_HTTP: an error that is too long to be
 * a message; or what `message` returned. An event whose data is no message is counted,
 * and passed over unless its id can be told. After a failure only explain and done. */
int mcpi_http_reply_body(struct mcpi_http_reply *reply, const char *data, size_t len);

/* The answer was whole: a JSON body is read now. 0: its messages were handed up, or a
 * success had no body at all: messages says so. MCP_E_PROTO: no message; MCP_E_HTTP: an
 * error of HTTP that brought none; MCP_E_LIMIT, MCP_E_NOMEM; or what `message`
 * returned. why, with room for size bytes, gets a sentence then: "HTTP 503 Service
 * Unavailable", "text/html is no answer". */
int mcpi_http_reply_end(struct mcpi_http_reply *reply, char *why, size_t size);

/* That sentence, for what head or body returned. */
void mcpi_http_reply_explain(const struct mcpi_http_reply *reply, int status, char *why,
                             size_t size);

#endif
