/*
 * http_session.h - legacy sessions: an unguessable id, a credential, a peer, streams
 *
 * Its id is "<shard>-<32 hex digits>": a connection on another loop knows where it
 * lives. It ends by DELETE, by being idle (no request open or running, no stream with a
 * client: D18), or with the endpoint; then all it asked is canceled and every POST ends
 * (D17).
 *
 * What belongs to no request goes to the newest GET that has a client, and waits as
 * long as there is none.
 */
#ifndef MCPI_LINK_HTTP_SESSION_H
#define MCPI_LINK_HTTP_SESSION_H

#include "link/http_stream.h"

#define MCPI_SESSION_ID 48 /* bytes of an id at the most, its terminator included */

/* A session of which nothing was asked since its initialize ends after that time: clients
 * go on at once. */
#define MCPI_SESSION_FRESH_MS 60000

/* Streams that are over and whose events stay in the store for a while: what has left us
 * may not have arrived. */
#define MCPI_SESSION_DELIVERED 8

struct mcpi_session {
    struct mcpi_map_node by_id;   /* while it is found */
    struct mcpi_list in_endpoint; /* until it is freed; who was last busy is last */
    struct mcpi_endpoint *endpoint;
    struct mcpi_peer *peer;
    struct mcpi_list streams; /* of its requests, with a client */
    struct mcpi_list kept;    /* GETs, the newest last, and all that are detached */
    size_t kept_count;
    struct mcpi_timer idle;
    bool is_used; /* something was asked of it since its initialize */
    bool begun;   /* the program was told so */
    struct mcpi_flush flush;
    int64_t touched;  /* when somebody last asked something */
    bool ending;      /* not found any more, and nothing is stored */
    bool closing;     /* core wants it closed, when all is written */
    bool cut;         /* at once */
    unsigned history; /* how many of the next there were */
    uint64_t delivered[MCPI_SESSION_DELIVERED];
    struct mcpi_account *account; /* of who opened it; counted, or NULL */
    char *principal;              /* "" for nobody in particular */
    char id[MCPI_SESSION_ID];
};

/* What one costs that nobody is charged for: itself, its peer, its place in tables. */
#define MCPI_SESSION_WEIGHT 4096

/* A client that has no room for a session, and no idle one on any loop, is told to come
 * back after a second: until then its sessions are not looked at again, of which there
 * may be thousands. */
#define MCPI_SESSION_SEARCH_US 1000000

/* A new one, with its peer; not yet initialized. If there are too many, of all or of
 * this client, the one of them goes that is idle for the longest time, without a request
 * or a stream. MCP_E_LIMIT: there is none, or no random bytes; MCP_E_NOMEM. */
int mcpi_session_new(struct mcpi_endpoint *endpoint, const struct mcpi_http_who *who,
                     struct mcpi_session **ret_session);

/* One more session of this client, whose owner gives that back. MCP_E_LIMIT. */
int mcpi_endpoint_enter_session(struct mcpi_endpoint *endpoint,
                                struct mcpi_account *account);

/* Of that id, if it is this principal's (D20); or NULL. Compared in constant time. */
struct mcpi_session *mcpi_session_find(struct mcpi_endpoint *endpoint, const char *id,
                                       const char *principal);

/* The peer of the session that this request names, of any principal; NULL: there is no
 * such session. */
struct mcpi_peer *mcpi_session_named(const struct mcpi_endpoint *endpoint,
                                     const struct mcpi_http_in *in);

/* Which shard an id names; MCP_E_INVAL: it is no id of ours. */
int mcpi_session_shard(const char *id, unsigned *ret_shard);

/* It is initialized: the program is told, and later of its end. */
void mcpi_session_begun(struct mcpi_session *session);

/* Something was asked of it: it is not idle. */
void mcpi_session_touch(struct mcpi_session *session);

/* GET: listen, or come back for a stream (Last-Event-ID). The turn is answered: 204 if
 * that is over and all of it was said, 405 if there are only JSON answers, 400 for an
 * event that is not known, 429 if too many listen, 503 if the store has failed.
 */
void mcpi_session_get(struct mcpi_session *session, struct mcpi_turn *turn,
                      const struct mcpi_http_in *in);

/* End it: DELETE, idle, an initialize that failed. It is not found any more, and gone
 * when its last word was written. */
void mcpi_session_end(struct mcpi_session *session, const char *reason);

/* Our own stop: it drains, and can still be found until that is over. */
void mcpi_session_close(struct mcpi_session *session);
/* Likewise all of an endpoint's, which the map has no other way to walk through. */
void mcpi_session_close_all(struct mcpi_endpoint *endpoint);

/* ---- for http_stream.c ---------------------------------------------------- */

/* A stream of this session has got a client, lost it, or is about to be freed. */
void mcpi_session_attached(struct mcpi_session *session,
                           struct mcpi_http_stream *stream);
void mcpi_session_detached(struct mcpi_session *session,
                           struct mcpi_http_stream *stream);
void mcpi_session_left(struct mcpi_session *session, struct mcpi_http_stream *stream);

/* Is this the GET that gets what belongs to no request? */
bool mcpi_session_is_taker(const struct mcpi_session *session,
                           const struct mcpi_http_stream *stream);

/* This stream is over, its answer has left or there is none: its events are forgotten
 * some streams later. */
void mcpi_session_delivered(struct mcpi_session *session, uint64_t number);
/* They are forgotten now. */
void mcpi_session_forget(struct mcpi_session *session, uint64_t number);

#endif
