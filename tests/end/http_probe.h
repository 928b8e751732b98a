/*
 * http_probe.h - probe-server on a port of its own, and clients that speak raw HTTP
 *
 * Everything asserts, and nothing waits longer than AWAIT_MS.
 */
#ifndef TESTS_END_HTTP_PROBE_H
#define TESTS_END_HTTP_PROBE_H

#include "end/raw.h"
#include "support/http_raw.h"
#include "support/tls_pair.h"

/* How a server is started, and spoken to. */
struct http_way {
    enum mcp_era era;
    bool json, stateless, tls;
    const char *more;     /* one more option, or NULL */
    const char *value;    /* of that option, or NULL */
    const char *again;    /* another value, of the same option once more; or NULL */
    bool silent;          /* nobody says hello */
    unsigned threads;     /* 0: one */
    unsigned descriptors; /* that it may have; 0: as many as we */
};

extern struct http_way http_ways[10];

enum {
    WAY_MODERN,
    WAY_MODERN_JSON,
    WAY_LEGACY,
    WAY_LEGACY_JSON,
    WAY_STATELESS,
    WAY_TLS /* the same five again */
};

#define ON(way, name, fn) TEST_AS(name "." #fn, fn, &http_ways[way])
#define ON_MODERN(fn) ON(WAY_MODERN, "modern", fn)
#define ON_MODERN_JSON(fn) ON(WAY_MODERN_JSON, "modern_json", fn)
#define ON_LEGACY(fn) ON(WAY_LEGACY, "legacy", fn)
#define ON_LEGACY_JSON(fn) ON(WAY_LEGACY_JSON, "legacy_json", fn)
#define ON_STATELESS(fn) ON(WAY_STATELESS, "stateless", fn)
#define ON_MODERN_TLS(fn) ON(WAY_TLS + WAY_MODERN, "modern_tls", fn)
#define ON_MODERN_JSON_TLS(fn) ON(WAY_TLS + WAY_MODERN_JSON, "modern_json_tls", fn)
#define ON_LEGACY_TLS(fn) ON(WAY_TLS + WAY_LEGACY, "legacy_tls", fn)
#define ON_LEGACY_JSON_TLS(fn) ON(WAY_TLS + WAY_LEGACY_JSON, "legacy_json_tls", fn)
#define ON_STATELESS_TLS(fn) ON(WAY_TLS + WAY_STATELESS, "stateless_tls", fn)

/* Where a disconnect cancels, with sessions, and all of them. */
#define ON_ALL_MODERN(fn) \
    ON_MODERN(fn), ON_MODERN_JSON(fn), ON_MODERN_TLS(fn), ON_MODERN_JSON_TLS(fn)
#define ON_ALL_STATELESS(fn) ON_STATELESS(fn), ON_STATELESS_TLS(fn)
#define ON_ALL_SESSIONS(fn) \
    ON_LEGACY(fn), ON_LEGACY_JSON(fn), ON_LEGACY_TLS(fn), ON_LEGACY_JSON_TLS(fn)
#define ON_ALL(fn) ON_ALL_MODERN(fn), ON_ALL_SESSIONS(fn), ON_ALL_STATELESS(fn)

struct http_probe {
    struct http_way way;
    struct raw server; /* only its process, and its stdout */
    int port;
    struct tls_pair pair;
    SSL_CTX *tls;  /* NULL: plain */
    char *session; /* of a legacy client; NULL: none */
};

/* Start it; a legacy client has said hello then. */
void http_probe_start(struct http_probe *p, const struct http_way *way);
void http_probe_stop(struct http_probe *p); /* by SIGTERM; asserts a good end */
/* The same, of a server that was told to stop before. */
void http_probe_done(struct http_probe *p);

/* A connection; one with a call on it, as the way has it. id: JSON text, or NULL. */
void http_probe_open(struct http_probe *p, struct http_raw *h);
void http_probe_say(struct http_probe *p, struct http_raw *h, const char *id,
                    const char *tool, const char *arguments);
void http_probe_call(struct http_probe *p, struct http_raw *h, const char *id,
                     const char *tool, const char *arguments);

/* A call that reports progress, whose first report has come. Not in JSON mode. */
void http_probe_stream(struct http_probe *p, struct http_raw *h, const char *id);

/* POST a message of a legacy client; returns the status. */
int http_probe_post(struct http_probe *p, const char *body);

/* The answer on this connection is a JSON-RPC message, in a body or as the last event:
 * borrowed until the connection is used again. */
const char *http_probe_message(struct http_raw *h);

/* echo is answered, on a connection of its own, or on this one. */
void http_probe_alive(struct http_probe *p);
void http_probe_alive_on(struct http_probe *p, struct http_raw *h);

/* What the server says of itself, by modern calls, one connection each. */
struct probe_stats http_probe_stats(struct http_probe *p);

/* Ask until so many handlers are alive. */
struct probe_stats http_probe_calm(struct http_probe *p, int64_t live);

/* Ask until so many handlers have begun, since the server has. */
void http_probe_begun(struct http_probe *p, int64_t count);

/* Ask until it has no more descriptors than that either. */
struct probe_stats http_probe_rest(struct http_probe *p, int64_t open_fds);

/* The server and its client are built alike: memory can be looked at. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_IS_REAL false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MEMORY_IS_REAL false
#endif
#endif
#ifndef MEMORY_IS_REAL
#define MEMORY_IS_REAL true
#endif

#endif
