/*
 * http_target.h - where all requests of one HTTP client go, and as whom
 *
 * Also the session, if the server has given one (legacy). Sessions have numbers: what
 * was sent in one is told from what is sent in the next, whatever their ids are.
 */
#ifndef MCPI_LINK_HTTP_TARGET_H
#define MCPI_LINK_HTTP_TARGET_H

#include "link/http_flow.h"
#include "run/loop.h"

/* Longest session id that is kept: it goes along with every request, and 8 KiB are what
 * servers take of all headers. */
#define MCPI_HTTP_SESSION_MAX 4096

/* Longest header lines of one request of ours. Servers take far less; theirs is the
 * limit that counts. */
#define MCPI_HTTP_LINES_MAX ((size_t)1024 * 1024)

struct mcpi_http_auth;

struct mcpi_http_target {
    const mcp_allocator *mem;
    struct mcpi_loop *loop;
    const struct mcpi_engine *engine; /* for who watches its wire */
    struct mcpi_fetcher *fetcher;
    struct mcpi_http_auth *auth; /* or NULL: nothing is signed */
    size_t max_bytes, max_depth; /* of a message */
    int64_t idle_us;
    char *url; /* of the endpoint */
    const char
        *post_url; /* where messages go: url, or what a server of 2024-11-05 says;
                             borrowed */
    struct mcpi_buf fields;  /* lines for every request */
    struct mcpi_buf session; /* its id, terminated; empty: none */
    unsigned sessions;       /* how many there were; the number of the present one */
    bool deaf;               /* we close: what comes is of no interest any more (F30) */
};

struct mcpi_http_target_options {
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    struct mcpi_fetcher *fetcher;
    struct mcpi_http_auth *auth; /* outlives it; NULL: none */
    const char *url;             /* copied */
    const char *fields;          /* as in run/fetch.h; copied */
    size_t fields_len;
    int64_t idle_us;
};

/* MCP_E_INVAL: no URL of HTTP; MCP_E_NOMEM. */
int mcpi_http_target_init(struct mcpi_http_target *target,
                          const struct mcpi_http_target_options *opt);
void mcpi_http_target_done(struct mcpi_http_target *target); /* a zeroed one ok */

int64_t mcpi_http_target_now(const struct mcpi_http_target *target);
struct mcpi_timers *mcpi_http_target_timers(const struct mcpi_http_target *target);
const struct mcpi_log *mcpi_http_target_log(const struct mcpi_http_target *target);

/* A flow to that URL (borrowed), ready to be started. */
void mcpi_http_target_flow(const struct mcpi_http_target *target,
                           struct mcpi_http_flow *flow, const char *url,
                           const struct mcpi_http_flow_ops *ops, void *user);

/* Append the lines that every request has, the version if it is not "", and the session
 * if that number is the present one's. */
void mcpi_http_target_fields(const struct mcpi_http_target *target,
                             struct mcpi_buf *into, const char *version,
                             unsigned session);

/* The number of the session that there is now; 0: none. */
unsigned mcpi_http_target_session(const struct mcpi_http_target *target);

/* The head of the answer to initialize came: a session begins, if it names one; what
 * was before is over. A name that may not be one is ignored, with a warning.
 * MCP_E_NOMEM. */
int mcpi_http_target_enter(struct mcpi_http_target *target,
                           const struct mcpi_fetch_head *head);
void mcpi_http_target_leave(
    struct mcpi_http_target *target); /* it is over, or forgotten */

#endif
