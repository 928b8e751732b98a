/*
 * http.h - requests and answers of HTTP, apart from where they come from
 *
 *   carrier    who has the client: a connection, another loop, another HTTP server
 *   turn       one request and its answer, embedded in its carrier
 *   endpoint   who answers (http_endpoint.h); knows no socket
 *
 * All of one turn happens on the endpoint's loop.
 */
#ifndef MCPI_LINK_HTTP_H
#define MCPI_LINK_HTTP_H

#include <mcp/http.h>

#include "base/buf.h"
#include "link/http_guard.h"

struct mcpi_account;

enum mcpi_http_method {
    MCPI_HTTP_OTHER = 0,
    MCPI_HTTP_GET,
    MCPI_HTTP_POST,
    MCPI_HTTP_DELETE,
    MCPI_HTTP_OPTIONS,
    MCPI_HTTP_HEAD
};

struct mcpi_http_known;

/* A request; all of it borrowed. Header names and values have terminators, values no
 * white space around them. */
struct mcpi_http_in {
    enum mcpi_http_method method;
    const char *method_name;
    const char *target; /* as it came */
    size_t path_len;    /* of target, without the query */
    const mcp_http_field *fields;
    size_t field_count;
    const struct mcpi_http_known *known; /* of the fields; NULL: nobody has looked */
    const char *body;
    size_t body_len;
    const char *address; /* or NULL */
    bool secure;
    struct mcpi_account *account; /* of its client; NULL: nobody counts */
};

/* The header of that name in lower case: its value, or NULL. *ret_count, unless NULL:
 * how many there are. */
const char *mcpi_http_get(const struct mcpi_http_in *in, const char *name,
                          size_t *ret_count);

/* Does a list such as Accept or Connection have this item? Case is not looked at. Of
 * media types, "type" and "*" ranges count too and the narrowest one decides; what has
 * q=0 does not count. Other parameters are passed over. */
bool mcpi_http_list_has(const char *list, const char *item);

/* The headers that we look at, found in one pass. */
enum mcpi_http_name {
    MCPI_HTTP_ACCEPT = 0,
    MCPI_HTTP_CODING, /* transfer-encoding */
    MCPI_HTTP_CONTENT_CODING,
    MCPI_HTTP_CONTENT_TYPE,
    MCPI_HTTP_EXPECT,
    MCPI_HTTP_HOST,
    MCPI_HTTP_ORIGIN,
    MCPI_HTTP_SESSION, /* mcp-session-id */
    MCPI_HTTP_VERSION, /* mcp-protocol-version */
    MCPI_HTTP_MCP_METHOD,
    MCPI_HTTP_MCP_NAME,
    MCPI_HTTP_PREFLIGHT, /* access-control-request-method */
    MCPI_HTTP_NAMES
};

struct mcpi_http_known {
    const char *value[MCPI_HTTP_NAMES]; /* of the first, or NULL */
    unsigned count[MCPI_HTTP_NAMES];
};

void mcpi_http_know(const struct mcpi_http_in *in, struct mcpi_http_known *ret);
/* One field more; name_len without the terminator. */
void mcpi_http_know_field(struct mcpi_http_known *known, const mcp_http_field *field,
                          size_t name_len);
/* What was found by whoever looked before, or else now, into room. */
const struct mcpi_http_known *mcpi_http_known_of(const struct mcpi_http_in *in,
                                                 struct mcpi_http_known *room);

/* What the Accept headers allow of the two types that we answer with. None at all allow
 * both. */
enum { MCPI_HTTP_JSON = 1, MCPI_HTTP_SSE = 2 };
unsigned mcpi_http_accepts(const struct mcpi_http_in *in,
                           const struct mcpi_http_known *known);

/* An answer. Content-Length, Connection, Date and Transfer-Encoding are the carrier's.
 */
struct mcpi_http_out {
    int status;
    const char *type;             /* Content-Type, or NULL: no body */
    const mcp_http_field *fields; /* others */
    size_t field_count;
    const char *body;
    size_t body_len;
    bool close; /* the connection is not to be used again */
};

const char *mcpi_http_reason(int status); /* "Not Found" */

struct mcpi_turn;

/* What an endpoint asks of a carrier. From inside, a carrier calls nothing of the
 * endpoint's. Those that are bool: true if all of it has left, to the system; false:
 * the carrier keeps the rest and says mcpi_turn_written when it has left. Until then
 * nothing more is written but an end. */
struct mcpi_turn_ops {
    bool (*reply)(struct mcpi_turn *turn, const struct mcpi_http_out *out); /* whole */
    bool (*open)(struct mcpi_turn *turn,
                 const struct mcpi_http_out *out); /* a stream */
    bool (*write)(struct mcpi_turn *turn, const char *data, size_t len);
    void (*end)(struct mcpi_turn *turn);   /* of a stream, behind what waits */
    void (*abort)(struct mcpi_turn *turn); /* without an end: the client must notice */
};

/* What whoever serves a turn wants to know of its carrier. From inside, anything. */
struct mcpi_turn_served {
    /* The client has left. The turn is the carrier's alone again. */
    void (*gone)(struct mcpi_turn *turn);
    /* What was kept has left. May be NULL. */
    void (*written)(struct mcpi_turn *turn);
};

/* Zero it and set ops. Who serves it sets served and by, and clears both before its
 * reply, end or abort; from then on it is the carrier's alone again, and may serve the
 * next request once what was kept has left. */
struct mcpi_turn {
    const struct mcpi_turn_ops *ops;
    const struct mcpi_turn_served *served; /* NULL: nobody serves it */
    void *by;
    /* What every answer says besides (CORS); the endpoint's, which sets them anew for
     * each request. */
    const mcp_http_field *fields;
    size_t field_count;
    char nonce[MCPI_HTTP_NONCE]; /* likewise: DPoP-Nonce; "": none */
    /* Set by who serves it, cleared with served: its end follows what is opened or
     * written now, so a carrier may send both at once. */
    bool ends;
    bool gone; /* its client had left before it was served: no request is */
};

/* Answer it; as in its ops, with the fields of the turn. This is how an endpoint, its
 * streams and its sessions do so. */
bool mcpi_turn_reply(struct mcpi_turn *turn, const struct mcpi_http_out *out);
bool mcpi_turn_open(struct mcpi_turn *turn, const struct mcpi_http_out *out);

/* Fields of an answer at the most: its own, and the turn's. */
#define MCPI_HTTP_FIELDS 12
#define MCPI_HTTP_TURN_FIELDS 4

/* The client of this turn has left, in whatever phase; nothing if nobody serves it. */
void mcpi_turn_gone(struct mcpi_turn *turn);

/* What was kept has left; nothing if nobody serves it any more. */
void mcpi_turn_written(struct mcpi_turn *turn);

#endif
