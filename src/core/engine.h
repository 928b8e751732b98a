/*
 * engine.h - one side of the protocol: its role, its router, its limits, its peers
 *
 * Client and server are the same engine with another router: both send legs, both serve
 * exchanges. An engine belongs to one loop thread, does no I/O, and asks nobody what
 * time it is: every door from outside (mcpi_peer_receive, mcpi_outlet_take, the timers)
 * brings the time along, and what happens inside happens at that time.
 */
#ifndef MCPI_CORE_ENGINE_H
#define MCPI_CORE_ENGINE_H

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/timers.h"
#include "core/port.h"
#include "wire/rpc.h"
#include "json/value.h"

enum mcpi_role { MCPI_CLIENT, MCPI_SERVER };

/* Which eras. A server serves those; a client looks for one of them. */
enum mcpi_era {
    MCPI_ERA_BOTH = 0, /* client: modern if the server is, else legacy */
    MCPI_ERA_MODERN,
    MCPI_ERA_LEGACY,
    MCPI_ERA_MANUAL /* client: no negotiation of ours, legacy spelling (B19) */
};

/* Why a request is not served. */
struct mcpi_refusal {
    int code;
    char message[200];
    char data[512]; /* JSON text, or "" */
};

/* A JSON-RPC answer under construction; all of it is the exchange's after the end. */
struct mcpi_result {
    int code;         /* 0: a result; else an error of that code */
    const char *type; /* modern resultType, constant; NULL: "complete" */
    struct mcpi_buf
        body; /* result: text of a JSON object; error: text of data, or empty */
    struct mcpi_buf meta; /* text of a JSON object for _meta, or empty */
    const char *message;  /* error; never NULL: a constant, or own */
    char *own;            /* what was written for it, or NULL */
};

struct mcpi_router {
    /* An admitted request. Say who serves it (mcpi_exchange_serve) and return 0, or
     * fill why and return negative; why untouched: the method is not found. */
    int (*route)(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why);
    /* A notification, after the library's own bookkeeping for it: cancel frames with
     * the exchange they ended, or NULL (F25), and all others. May be NULL. */
    void (*notified)(void *user, struct mcpi_peer *peer, const struct mcpi_rpc *note,
                     struct mcpi_exchange *about);
    /* Something came that is no message, is too long, or nested too deep: it may have been
     * an answer that somebody waits for. May be NULL. */
    void (*garbled)(void *user, struct mcpi_peer *peer);
    /* Client: negotiation ended, with 0 or the reason; reply is what the peer said, or
     * NULL. Told once. What the link knows of the reason is in peer->fault. May be
     * NULL. */
    void (*ready)(void *user, struct mcpi_peer *peer, int status,
                  const struct mcpi_rpc *reply);
    /* Client: it was READY, had to negotiate again, and is READY again (core/renew.h),
     * in the legacy era, whatever it was before. reply is the result of initialize. All
     * that the server was told before is forgotten there: its log level, what was
     * subscribed to. Not told if it failed: then the peer is closed. May be NULL. */
    void (*renewed)(void *user, struct mcpi_peer *peer, const struct mcpi_rpc *reply);
    /* The peer is lost; nothing more will be heard of it. May be NULL. */
    void (*closed)(void *user, struct mcpi_peer *peer, int status);
    /* A request of the library's own (initialize, server/discover, ping), which x->served
     * is about to serve: may be wrapped. May be NULL. */
    void (*observe)(void *user, struct mcpi_exchange *x);
};

/* Zero means the default. */
struct mcpi_limits {
    /* Requests of one peer that are open, or canceled but still running: a peer that
     * sends and cancels without end would fill memory with handlers on their way
     * out. 16384 is far above what any known host keeps in flight. */
    size_t in_flight;
    /* Answers that wait for a peer that does not read; past it the link closes (C7).
     * Here and below: only the response, where that is a stream of its own. */
    size_t queued_answers;
    /* Bytes of progress and log messages that wait; past it they are dropped. */
    size_t queued_bytes;
    /* Bytes of one peer's requests that are open or held, and of answers that wait:
     * past it requests are refused. Past it by answers alone, the link closes (C7). */
    size_t held_bytes;
    size_t message_bytes; /* longest message we send or read: 64 MiB */
    /* Open subscriptions/listen streams of the whole engine (H20): 1024. */
    size_t listeners;
    /* Resources that one listen stream or one legacy session may name: 1024. Also the
     * bound of what may be due to a slow reader (H19). */
    size_t subscribed;
    size_t depth; /* deepest message we read: 128 */
};

/* Microseconds; zero means the default, MCPI_NEVER none. */
struct mcpi_times {
    int64_t request; /* idle timeout of a call: 60 s (X10) */
    int64_t ceiling; /* total of a call that progress may prolong: 1 h (I8) */
    int64_t probe;   /* wait for server/discover: 10 s */
    int64_t hello;   /* wait for initialize: 60 s */
    int64_t drain;   /* after EOF, for running requests: 1 s; < 0: none (F28) */
    int64_t stop;    /* our own stop, flush included: 1 s (F29, F31) */
    int64_t grace;   /* a canceled legacy request's own stream: 5 s (D6) */
    int64_t deaf;    /* a canceled handler may take that long to stop: 5 s (D14, F5) */
    int64_t run;     /* longest run of a handler: none (F34) */
};

/* Who we are. JSON texts, copied. */
struct mcpi_identity {
    const char *info;                /* an Implementation object */
    const char *capabilities;        /* NULL: {} */
    const char *legacy_capabilities; /* client: for initialize; NULL: the same */
    const char *instructions;        /* plain text, or NULL; server only */
};

/* What is on the wire: text of that length, without a newline at its end. Nothing of
 * core may be called from inside. */
typedef void mcpi_trace_fn(void *user, struct mcpi_peer *peer, const char *text,
                           size_t len);

struct mcpi_engine_options {
    const mcp_allocator *mem; /* NULL: malloc; outlives the engine */
    enum mcpi_role role;
    enum mcpi_era era;
    struct mcpi_identity identity;
    struct mcpi_timers *timers; /* the loop's; outlives the engine */
    const struct mcpi_router *router;
    void *router_user;
    struct mcpi_log log;
    /* Who watches the wire; each NULL: nobody. */
    mcpi_trace_fn *trace;       /* every message as it is issued */
    mcpi_trace_fn *trace_came;  /* every one that came; peer is NULL */
    mcpi_trace_fn *trace_event; /* what else happens, a sentence; peer is NULL */
    void *trace_user;
    struct mcpi_limits limits;
    struct mcpi_times times;
    unsigned char seed[MCPI_SEED_SIZE]; /* secret and random: peers choose ids */
};

/* What is alive, for leak gates and for a table people can read. */
struct mcpi_counts {
    size_t peers;
    size_t calls;     /* started, not ended */
    size_t legs;      /* sent or waiting, not ended */
    size_t exchanges; /* open */
    size_t held;      /* ended, handler still running */
    size_t deaf;      /* held for longer than times.deaf (F5) */
    size_t dropped;   /* messages dropped because an outlet was full; ever */
};

struct mcpi_engine {
    const mcp_allocator *mem;
    enum mcpi_role role;
    enum mcpi_era era;
    /* JSON texts; instructions may be NULL */
    char *info, *capabilities, *legacy_capabilities, *instructions;
    size_t capabilities_room; /* for as long as they ever were */
    struct mcpi_timers *timers;
    const struct mcpi_router *router;
    void *router_user;
    struct mcpi_log log;
    mcpi_trace_fn *trace, *trace_came, *trace_event;
    void *trace_user;
    struct mcpi_limits limits;
    struct mcpi_times times;
    unsigned char seed[MCPI_SEED_SIZE];
    struct mcpi_list peers;
    struct mcpi_counts counts;
    struct mcpi_list listeners; /* core/subscribe.c */
    size_t listener_count;
    struct mcpi_buf scratch; /* for text that is copied at once */
    int64_t now;
};

int mcpi_engine_new(const struct mcpi_engine_options *opt, struct mcpi_engine **ret);

/* All its peers must be freed and all its exchanges settled: a handler that still runs
 * holds its engine. MCP_E_STATE if not, and nothing is freed. */
int mcpi_engine_free(struct mcpi_engine *engine);

/* Say other capabilities from now on: text of a JSON object, on one line, copied.
 * MCP_E_NOMEM, and they are as before; not if they were ever as long. */
int mcpi_engine_set_capabilities(struct mcpi_engine *engine, const char *text);

/* The time, from a door: never goes back. */
void mcpi_engine_at(struct mcpi_engine *engine, int64_t now);

void mcpi_refuse(struct mcpi_refusal *why, int code, const char *format, ...)
    MCP_PRINTF(3, 4);

void mcpi_result_init(struct mcpi_result *result, const struct mcpi_engine *engine);
void mcpi_result_done(struct mcpi_result *result);
/* Move the content out: *into is initialised with it, result is empty. */
void mcpi_result_move(struct mcpi_result *into, struct mcpi_result *result);
/* Make it an error; body becomes the data. A format that formats nothing is the message;
 * another one needs memory, and without any the message is "Internal error". */
void mcpi_result_error(struct mcpi_result *result, int code, const char *format, ...)
    MCP_PRINTF(3, 4);
/* An internal error in the words of that status, which need no memory. */
void mcpi_result_fail(struct mcpi_result *result, int status);
/* The message alone: it is copied, clean and of at most MCPI_MESSAGE_MAX bytes. */
#define MCPI_MESSAGE_MAX 199
void mcpi_result_say(struct mcpi_result *result, const char *message);
void mcpi_result_unsay(struct mcpi_result *result);

#endif
