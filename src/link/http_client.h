/*
 * http_client.h - Streamable HTTP, the client's side, as a link
 *
 * One POST for each message. In the modern era a cancel closes the request's own POST
 * and nothing is sent (E1, E2); in the legacy one core has a frame posted, and the
 * request's stream stays open for the grace (D1, D2, D6), or is closed too if there is no
 * session (D16). Which it is was fixed when
 * the request was taken (E4). A legacy session has an id, a GET stream for what belongs
 * to no request, and a DELETE at the end. If the server has forgotten it (404), the
 * request that found out is sent again in a new one; that is core's doing.
 *
 * A server of 2024-11-05 is found as the specification says: if initialize is refused
 * with 400, 404 or 405, and the answer is neither for it nor an error of a modern
 * server, a GET of the same URL may bring an `endpoint` event; from then on everything
 * is posted there, and comes back on that one stream. If it does not, initialize fails
 * as it did at first.
 *
 * Each request is signed, and what is refused may be sent again, signed anew
 * (http_auth.h): only what the server has not begun with, so nothing is done twice.
 */
#ifndef MCPI_LINK_HTTP_CLIENT_H
#define MCPI_LINK_HTTP_CLIENT_H

#include "core/port.h"
#include "run/fetch.h"
#include "run/loop.h"
#include "wire/mirror.h"

struct mcpi_http_auth;
struct mcpi_http_client;

struct mcpi_http_client_options {
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    struct mcpi_fetcher *fetcher; /* outlives the link */
    struct mcpi_http_auth *auth;  /* likewise; NULL: nothing is signed */
    const char *url;              /* copied */
    const char *fields;           /* more header lines, as in run/fetch.h; copied */
    size_t fields_len;
    int64_t idle_us; /* silence on a response before it is given up; MCPI_NEVER */
    bool no_stream;  /* legacy: no GET */
    bool no_2024;    /* do not look for a server of 2024-11-05 */
    /* From mcpi_http_fields_names; outlives the link. NULL: none. */
    const struct mcpi_buf *names;
    /* Which arguments of a tool stand in headers; NULL: none are known. Borrowed until
     * the loop's next turn. Member NULL: none ever. */
    const struct mcpi_mirror *(*mirror)(void *user, const char *tool);
    /* The link is closed and core knows. Once, on the loop, not from inside a function
     * of this header nor of core; free it in there or later. May be NULL. */
    void (*closed)(void *user, struct mcpi_http_client *client);
    void *user;
};

/* Nothing is sent before the peer is connected. MCP_E_INVAL: no URL of HTTP;
 * MCP_E_NOMEM. [loop] */
int mcpi_http_client_new(const struct mcpi_http_client_options *opt,
                         struct mcpi_http_client **ret_client);

/* Frees it and its peer; aborts what is under way. Not from inside core's callbacks.
 * `closed` is not called any more. [loop] NULL ok */
void mcpi_http_client_free(struct mcpi_http_client *client);

struct mcpi_peer *mcpi_http_client_peer(const struct mcpi_http_client *client);

#endif
