/*
 * http_endpoint.h - one MCP endpoint on one loop: what a request is, and who serves it
 *
 *   head      method, path, Host, Origin, types, lengths: before the body is read
 *   identify  who asks; may take its time (E20)
 *   body      JSON-RPC; era by version header and _meta; mirrored headers (modern)
 *   peer      modern: the anonymous one; legacy: its session's, or the stateless one
 *
 * Modern and stateless requests share peers without an id table, so equal ids of two
 * callers never meet (E28) and a posted cancel finds nothing (E24).
 */
#ifndef MCPI_LINK_HTTP_ENDPOINT_H
#define MCPI_LINK_HTTP_ENDPOINT_H

#include "base/list.h"
#include "base/map.h"
#include "core/port.h"
#include "link/http.h"
#include "link/http_account.h"
#include "run/loop.h"

struct mcpi_endpoint;
struct mcpi_session;

/* Who asks, as far as anybody has said; borrowed. */
struct mcpi_http_who {
    const char *principal;        /* "" for nobody in particular */
    const char *scope;            /* or NULL */
    mcp_doc *claims;              /* an object; or NULL */
    struct mcpi_account *account; /* what is held for them is charged to; or NULL */
};

/* How many there are, for whoever counts; written by the loop only. May be NULL. */
struct mcpi_http_gauges {
    void (*changed)(void *user, int connections, int sessions, int streams); /* by */
    void *user;
};

struct mcpi_endpoint_options {
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    bool modern, legacy;          /* which eras the engine serves */
    const mcp_http_options *http; /* read, checked and complete: no zero is left where
                                        zero means a default; outlives the endpoint */
    bool loopback;                /* names of loopback are ours, as Host and Origin */
    int port;                     /* that we listen on; 0: not known */
    unsigned shard, shards;       /* this loop's number, and how many there are */
    struct mcpi_http_gauges gauges;
    struct mcpi_http_clients clients;
    const struct mcpi_http_notice *notice; /* besides; NULL: none */
    /* Do the mirrored parameters of this tool call stand in its headers? 0, or
     * MCP_E_PROTO with a sentence in why: -32020; MCP_E_NOMEM. NULL: nobody knows. */
    int (*check_params)(void *user, const char *tool, const mcp_json *arguments,
                        const struct mcpi_http_in *in, char *why, size_t size);
    /* A request for a session of that other shard. The turn is its to serve. */
    void (*elsewhere)(void *user, unsigned shard, struct mcpi_turn *turn,
                      const struct mcpi_http_in *in);
    /* This client is refused a session, and no idle one ends for it here. The owner asks
     * the other shards (mcpi_endpoint_make_room), and tells if none of them has room
     * (mcpi_endpoint_found_no_room). NULL if there are no other shards. */
    void (*wants_room)(void *user, struct mcpi_account *account);
    /* It has closed: no peer is left and no turn is open. Not from inside a function of
     * this header; free it in there or later. */
    void (*closed)(void *user, struct mcpi_endpoint *endpoint);
    void *user;
};

int mcpi_endpoint_new(const struct mcpi_endpoint_options *opt,
                      struct mcpi_endpoint **ret_endpoint);

/* It has closed, or nothing was ever served. [loop] NULL ok */
void mcpi_endpoint_free(struct mcpi_endpoint *endpoint);

/* Our own stop: listen streams end with their result, running requests may finish for
 * the engine's drain time, then are answered with an error, sessions end; bounded by
 * the engine. New requests are answered with 503; cancels, answers and DELETE of a
 * session still reach it. Idempotent. [loop] */
void mcpi_endpoint_close(struct mcpi_endpoint *endpoint);

/* Is this head worth a body? True. False: *ret_out is the answer, good until the next
 * call, and the connection must be closed unless the body is read to its end. body_len:
 * as announced, or 0 if not (chunked). */
bool mcpi_endpoint_check_head(struct mcpi_endpoint *endpoint,
                              const struct mcpi_http_in *in, uint64_t body_len,
                              struct mcpi_http_out *ret_out);

/* Serve a request whose head was checked. in is borrowed for the call. The turn is
 * answered now or later. */
void mcpi_endpoint_serve(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                         const struct mcpi_http_in *in);

/* Must it be served though its client has left before? What is said to a session counts,
 * a cancel, an answer, its end; a request too, because a lost connection cancels nothing
 * there (D12). Of all else who has left wants nothing (E20). endpoint NULL: no. */
bool mcpi_endpoint_must_serve(const struct mcpi_endpoint *endpoint,
                              const struct mcpi_http_in *in);

/* End an idle session for a client that has sought a place, as if it opened one here. The
 * place of its own session is kept for it (base/budget.h). False: no session may end for
 * it. [loop] */
bool mcpi_endpoint_make_room(struct mcpi_endpoint *endpoint,
                             struct mcpi_account *account);

/* No shard has: none is searched again for a while (MCPI_SESSION_SEARCH_US). [loop] */
void mcpi_endpoint_found_no_room(const struct mcpi_endpoint *endpoint,
                                 struct mcpi_account *account);

/* A JSON-RPC error as an answer: the body is built in into, which is cleared. id NULL:
 * none. */
struct mcpi_id;
void mcpi_http_refusal(struct mcpi_http_out *ret_out, struct mcpi_buf *into, int status,
                       const struct mcpi_id *id, int rpc_code, const char *message);

/* ---- for the files of this endpoint: streams and sessions ---------------- */

/* What core wants of a shared peer: no end, one when all is written, one at once. */
enum mcpi_shared_end { MCPI_SHARED_OPEN = 0, MCPI_SHARED_DRAINED, MCPI_SHARED_CUT };

struct mcpi_endpoint {
    const mcp_allocator *mem;
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    const mcp_http_options *http;
    struct mcpi_endpoint_options opt;
    const struct mcpi_log *log;
    struct mcpi_peer *anonymous;   /* modern */
    struct mcpi_peer *stateless;   /* legacy without sessions; or NULL */
    struct mcpi_map sessions;      /* by id */
    struct mcpi_list all_sessions; /* also those that are not found any more */
    size_t session_count;
    struct mcpi_list streams; /* all, with a turn or without */
    struct mcpi_list tickets; /* requests that are being authenticated, as they came */
    struct mcpi_buf scratch;  /* one message on its way out; has room for a frame */
    struct mcpi_buf refusal;  /* one refusal, likewise */
    struct mcpi_buf kept;     /* headers of one request, for its handler */
    struct mcpi_list old_sessions;    /* of the transport of 2024; http_2024.c */
    struct mcpi_old_table *old_table; /* likewise, while there are any; else NULL */
    uint64_t next_stream;
    bool closing;
    bool told;                                         /* that it has closed */
    enum mcpi_shared_end anonymous_end, stateless_end; /* noted down for the flush */
    struct mcpi_flush flush;
    struct mcpi_cors *cors; /* for each listed origin; http_admit.c */
    size_t cors_count;
    mcp_http_field said[MCPI_HTTP_FIELDS]; /* of the last refused head */
};

/* Something that keeps it open has gone. Nothing happens from inside. */
void mcpi_endpoint_check(struct mcpi_endpoint *endpoint);

/* So many more, or less: session_count and the gauges are kept here, nowhere else. */
void mcpi_endpoint_count(struct mcpi_endpoint *endpoint, int sessions, int streams);

/* A refusal, for the log; address: of the client, NULL: not known. At debug level, or
 * strangers could fill it. */
void mcpi_endpoint_log_refusal(const struct mcpi_endpoint *endpoint,
                               const char *address, int status, const char *why);

/* Refuse a request, with a JSON-RPC error; id NULL: none. The turn is the carrier's
 * again. */
void mcpi_endpoint_refuse(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                          int status, const struct mcpi_id *id, int rpc_code,
                          const char *message);

/* Headers that handlers may read: into->said, good until the next call. MCP_E_NOMEM. */
int mcpi_endpoint_keep_headers(struct mcpi_endpoint *endpoint,
                               const struct mcpi_http_in *in,
                               struct mcpi_arrival *into);

/* The shared peers, made anew if they were given up; NULL: there is none. */
struct mcpi_peer *mcpi_endpoint_anonymous(struct mcpi_endpoint *endpoint);
struct mcpi_peer *mcpi_endpoint_stateless(struct mcpi_endpoint *endpoint);

/* http_admit.c: whose answers are told by CORS that they may be read. */
int mcpi_endpoint_learn_origins(struct mcpi_endpoint *endpoint);
void mcpi_endpoint_forget_origins(struct mcpi_endpoint *endpoint);
void mcpi_endpoint_greet_origin(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                                const struct mcpi_http_known *known);

/* http_waiting.c: ask who this is, then dispatch. At the close, and once
 * all else has closed, whoever is still asked gets 503. */
void mcpi_endpoint_identify(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                            const struct mcpi_http_in *in);
void mcpi_endpoint_drop_tickets(struct mcpi_endpoint *endpoint);

/* http_post.c: it is theirs. */
void mcpi_endpoint_dispatch(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                            const struct mcpi_http_in *in,
                            const struct mcpi_http_known *known,
                            const struct mcpi_http_who *who);

#endif
