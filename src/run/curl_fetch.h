/*
 * curl_fetch.h - one request of a fetcher over libcurl, and what is told of it
 *
 * It knows its handle of libcurl, but not whether libcurl is at work on it: that is its
 * fetcher's. libcurl calls it back (on_begin, on_header, on_body in the .c) while the
 * fetcher is inside of libcurl.
 *
 * How much has left: nothing before on_begin, which libcurl calls when a connection is
 * there and before it writes to it; after that its counters say. Requests that have
 * begun and have not all left are in the scene's list.
 *
 * libcurl sends a request again, on a new connection, if one that was used before dies
 * without an answer. A POST may have been carried out all the same: when on_begin is
 * called once more, it lets that pass only if nothing has left, or the method is one
 * that may be repeated (B29). [loop]
 */
#ifndef MCPI_RUN_CURL_FETCH_H
#define MCPI_RUN_CURL_FETCH_H

#include "run/curl_url.h"
#include "run/curl_watch.h"
#include "run/fetch.h"

struct mcpi_curl_fetch;

/* What the requests of a fetcher have in common. */
struct mcpi_curl_scene {
    const mcp_allocator *mem;
    struct mcpi_loop *loop;
    struct mcpi_curl_watches watches; /* where their sockets come from */
    struct mcpi_list sending;         /* those that have begun, and not all has left */
    struct mcpi_curl_url *url;        /* of the last one, likely the next one's too */
    size_t head_bytes;
    bool follow_any;
    bool proxies;         /* a proxy may be used, */
    const char *no_proxy; /* but for these hosts; NULL: as the environment says */
    /* As in run/curl.h. */
    void (*connecting)(void *user, struct sockaddr *address);
    void *connecting_user;
    /* Nothing was heard of it for its idle_us: end it with its fault, CURLE_OK. */
    void (*silent)(struct mcpi_curl_fetch *fetch);
};

struct mcpi_curl_fetch {
    struct mcpi_fetch base;
    struct mcpi_list node;    /* the fetcher's */
    bool added;               /* likewise: libcurl has the handle, */
    bool anonymous;           /* which is one without a certificate */
    struct mcpi_list sending; /* the scene's */
    struct mcpi_curl_scene *scene;
    CURL *easy;
    const struct mcpi_fetch_ops *ops;
    void *user;
    struct mcpi_timer idle;
    int64_t idle_us, active_at;

    const char *method;         /* a constant */
    struct mcpi_curl_url *url;  /* counted */
    struct mcpi_curl_url *next; /* where it was redirected to, and goes as soon as
                                   libcurl is done with this answer; or NULL */
    const char *body;
    size_t body_len;
    struct curl_slist *lines;
    size_t size; /* of all that is to be wiped: this, the lines and the body */
    unsigned redirects;
    enum mcpi_address_kind nearest, from;
    bool stays, within;

    bool over;       /* nothing is told any more */
    bool left;       /* some byte has, now or before a redirect */
    bool begun;      /* there was a connection */
    bool connecting; /* it has opened a socket, and none is connected yet */
    bool sent;       /* all has left, and that was told */
    bool headed;     /* the head has come */
    bool too_near;   /* some address was, and no socket was opened for it */
    long mark;       /* what libcurl had sent before that, to a proxy */
    curl_off_t uploaded;
    size_t head_len, skipped; /* bytes so far: of the head; of a redirect's body */
    int stop;                 /* negative: why we end it; `why` may say more */
    int open_errno;
    char text[CURL_ERROR_SIZE]; /* libcurl's */
    char why[CURL_ERROR_SIZE];
};

/* Point a handle at these callbacks: for the one that the others are copies of. */
CURLcode mcpi_curl_fetch_prepare(CURL *easy);

/* Make a request; copies what opt says. MCP_E_INVAL: no URL; MCP_E_NOMEM. It uses easy,
 * which stays the fetcher's, until it is freed. */
int mcpi_curl_fetch_new(struct mcpi_curl_scene *scene,
                        const struct mcpi_fetch_options *opt, CURL *easy,
                        struct mcpi_curl_fetch **ret_fetch);

/* libcurl has let go of it, and the handle may be used for another one. */
void mcpi_curl_fetch_free(struct mcpi_curl_fetch *fetch);

enum mcpi_fetch_phase mcpi_curl_fetch_look(struct mcpi_curl_fetch *fetch);

/* It is all sent: tell. Whoever is told may do anything. */
void mcpi_curl_fetch_tell_sent(struct mcpi_curl_fetch *fetch);

/* Nothing is told from now on; it is in no list any more. */
void mcpi_curl_fetch_hush(struct mcpi_curl_fetch *fetch);

/* It was sent elsewhere: set it up for that, while libcurl does not have it. */
CURLcode mcpi_curl_fetch_redirect(struct mcpi_curl_fetch *fetch);

/* libcurl has ended it with this code, or `silent` was called. False: the answer is
 * whole. Else the fault, with texts of the fetch. */
bool mcpi_curl_fetch_fault(struct mcpi_curl_fetch *fetch, CURLcode code,
                           struct mcpi_fetch_fault *ret_fault);

#endif
