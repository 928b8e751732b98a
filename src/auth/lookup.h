/*
 * lookup.h - one document over HTTP: asked for, bounded in size and time, read
 *
 * What authorization fetches and posts: metadata, keys, registrations, tokens. Where it
 * goes others have said: a certificate of ours is not shown there. It ends once: `done` is
 * called, or it was aborted and nothing is. [loop]
 */
#ifndef MCPI_AUTH_LOOKUP_H
#define MCPI_AUTH_LOOKUP_H

#include <mcp/json.h>

#include "base/buf.h"
#include "base/timers.h"
#include "run/fetch.h"
#include "run/loop.h"

/* Longest document: metadata and key sets are a few KiB. */
#define MCPI_LOOKUP_BYTES_MAX ((size_t)256 * 1024)
#define MCPI_LOOKUP_DEPTH_MAX 32
/* Longest value of a header that is kept. */
#define MCPI_LOOKUP_VALUE_MAX 4096

struct mcpi_lookup;

/* Borrowed for the call. */
struct mcpi_lookup_answer {
    int status; /* 0: HTTP answered, whatever it said; MCP_E_TIMEOUT, MCP_E_LIMIT: too
                        long; MCP_E_SEND_FAILED, MCP_E_CLOSED, MCP_E_NOMEM, MCP_E_PROTO */
    const char *why;      /* status: one sentence, without secrets; else "" */
    int http;             /* 200 */
    const mcp_json *json; /* the body, if it is an object; else NULL */
    mcp_doc *doc;         /* that json is in: ref it to keep it; or NULL */
    const char *location; /* header; "" none */
    const char *nonce;    /* header DPoP-Nonce; "" none */
};

struct mcpi_lookup_options {
    struct mcpi_loop *loop;
    struct mcpi_fetcher *fetcher;
    const char *method; /* a constant */
    const char *url;
    const char
        *fields; /* as in run/fetch.h; Accept is added, and for a body Content-Type
                           as type says */
    size_t fields_len;
    const char *body; /* NULL: none; copied, and wiped afterwards */
    size_t body_len;
    const char *type; /* "application/x-www-form-urlencoded" */
    enum mcpi_address_kind nearest;
    bool stays; /* redirects are answers; else they are followed within the origin, also
                   by a fetcher that would go elsewhere */
    int64_t limit_us; /* for all of it */
    void (*done)(void *user, const struct mcpi_lookup_answer *answer);
    void *user;
};

/* Embedded by who asks; zeroed at first. */
struct mcpi_lookup {
    struct mcpi_loop *loop;
    struct mcpi_fetch *fetch; /* or NULL: none under way */
    struct mcpi_timer timer;
    struct mcpi_buf body;
    int http;
    char location[MCPI_LOOKUP_VALUE_MAX];
    char nonce[MCPI_LOOKUP_VALUE_MAX];
    void (*done)(void *user, const struct mcpi_lookup_answer *answer);
    void *user;
};

/* MCP_E_INVAL: a URL that is none; MCP_E_NOMEM: nothing was begun. `done` is not called
 * from inside; it may start the same lookup again. */
int mcpi_lookup_start(struct mcpi_lookup *lookup,
                      const struct mcpi_lookup_options *opt);
bool mcpi_lookup_is_open(const struct mcpi_lookup *lookup);
/* Did it say no, and would say so again: 4xx, but not "not now" (408, 425, 429)? */
bool mcpi_lookup_is_refused(const struct mcpi_lookup_answer *answer);
/* Silent, in any state, also of a zeroed one. */
void mcpi_lookup_abort(struct mcpi_lookup *lookup);

#endif
