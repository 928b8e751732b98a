/*
 * fetch.h - HTTP requests of ours, each of which can be aborted at any moment
 *
 *   fetcher   who makes them on one loop; run/curl.h has the one there is
 *   fetch     one request and its answer
 *
 * A fetch ends once: `ended` is called, or it was aborted and nothing is. Nothing is
 * called from inside start or abort; in what is called anything may be done, also abort
 * this fetch, or any other. Loop thread only.
 */
#ifndef MCPI_RUN_FETCH_H
#define MCPI_RUN_FETCH_H

#include <mcp/base.h>

#include "base/buf.h"
#include "run/address.h"

struct mcpi_fetch;
struct mcpi_fetch_head;

/* Why a fetch ended without a whole answer. */
struct mcpi_fetch_fault {
    /* MCP_E_SEND_FAILED: it could not be sent, or not all of it; MCP_E_CLOSED: the
     * connection was lost, or silent for too long; MCP_E_PROTO: what came is not HTTP,
     * or a redirect that is not followed; MCP_E_LIMIT: a head that is too long;
     * MCP_E_NOMEM; or what head or body returned. */
    int status;
    bool unsent;     /* no byte of the request has left (B5) */
    const char *why; /* one sentence, without a newline; borrowed */
};

/* How much of the request has left, to the system. */
enum mcpi_fetch_phase { MCPI_FETCH_UNSENT, MCPI_FETCH_SENDING, MCPI_FETCH_SENT };

struct mcpi_fetch_ops {
    /* The last byte of the request has left. Before head; and again after each redirect
     * that is followed, for then it is SENDING once more. May be NULL. */
    void (*sent)(void *user);
    /* It is redirected, with that status, and will be followed there. Nothing may be done
     * with the fetch from inside. May be NULL. */
    void (*redirected)(void *user, int status, const char *url);
    /* The head of the answer, the last one if there are several (1xx, redirects that
     * are followed). Negative: stop here, as fault.status. */
    int (*head)(void *user, const struct mcpi_fetch_head *head);
    /* A piece of the body, as it comes. Negative: stop here. */
    int (*body)(void *user, const char *data, size_t len);
    /* It is over, and freed when this returns. fault NULL: the answer was whole. */
    void (*ended)(void *user, const struct mcpi_fetch_fault *fault);
};

/* The head of an answer; borrowed for the call. */
struct mcpi_fetch_head {
    int status; /* 200 */
    /* The value of the header of that name (case is not looked at), or NULL; the first
     * one if there are several. Borrowed for the call. */
    const char *(*find)(const struct mcpi_fetch_head *head, const char *name);
    /* The same, of several that of that number, from 0. */
    const char *(*find_nth)(const struct mcpi_fetch_head *head, const char *name,
                            unsigned number);
    /* Where the answer came from; ANY: over a proxy. */
    enum mcpi_address_kind from;
};

struct mcpi_fetch_options {
    const char *method; /* "POST", "GET", "DELETE"; a constant */
    const char *url;
    /* Lines "Name: value", each with a terminator, one behind the other; copied. No
     * line breaks in them: who writes them sees to that. */
    const char *fields;
    size_t fields_len;
    const char *body; /* copied; NULL: none, and then no Content-Type either */
    size_t body_len;
    /* Silence before it is given up, MCP_E_CLOSED, from when there is a connection: no
     * byte has left and none has come for so long. MCPI_NEVER: no limit. */
    int64_t idle_us;
    /* No connection is made to an address nearer than that: MCP_E_SEND_FAILED, unsent. A
     * proxy is where it is, and goes where it likes. */
    enum mcpi_address_kind nearest;
    bool stays;     /* a redirect is an answer like any other: not followed */
    bool within;    /* followed within the origin only, wherever the fetcher would go */
    bool anonymous; /* without our certificate, and on no connection that was made with
                         it: for those that others name */
    const struct mcpi_fetch_ops *ops;
    void *user;
};

/* What a fetcher can do; embedded first in its own struct. */
struct mcpi_fetcher {
    int (*start)(struct mcpi_fetcher *self, const struct mcpi_fetch_options *opt,
                 struct mcpi_fetch **ret_fetch);
    void (*abort)(struct mcpi_fetch *fetch);
    enum mcpi_fetch_phase (*phase)(const struct mcpi_fetch *fetch);
};

struct mcpi_fetch {
    struct mcpi_fetcher *fetcher;
};

/* Begin; the first byte leaves in this turn or the next. *ret_fetch is good until
 * `ended` or abort. MCP_E_INVAL: a URL that is none; MCP_E_NOMEM. */
static inline int
mcpi_fetch_start(struct mcpi_fetcher *fetcher, const struct mcpi_fetch_options *opt,
                 struct mcpi_fetch **ret_fetch)
{
    return fetcher->start(fetcher, opt, ret_fetch);
}

/* End it in whatever phase: resolving, connecting, sending, waiting, reading. Its
 * connection is closed at once if anything was sent on it, and is not used again (E17).
 * Never blocks; nothing is called any more (E12). */
static inline void
mcpi_fetch_abort(struct mcpi_fetch *fetch)
{
    fetch->fetcher->abort(fetch);
}

static inline enum mcpi_fetch_phase
mcpi_fetch_get_phase(const struct mcpi_fetch *fetch)
{
    return fetch->fetcher->phase(fetch);
}

#endif
