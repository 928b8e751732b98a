/*
 * mcp/server.h - a server: its tools, how it is reached, what it counts
 *
 *     r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "clock", .version = "1.0"),
 *                        &server, &err);
 *     r = mcp_server_add_tool(server, &MCP_TOOL(.name = "now", .reply = now), &err);
 *     r = mcp_server_run_stdio(server, &err);
 *     mcp_server_free(server);
 *
 * One server serves clients of both protocol eras at once, over any number of links. A
 * canceled call is never answered, its handler is told at once, and one that does not
 * listen holds only its own worker.
 */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include <mcp/field.h>
#include <mcp/loop.h>
#include <mcp/method.h>
#include <mcp/prompt.h>
#include <mcp/request.h>
#include <mcp/resource.h>
#include <mcp/schema.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tools ----------------------------------------------------------------- */

/* What a tool does to the world; hints for a host, not promises. */
enum mcp_tool_hints {
    MCP_READ_ONLY = 1,       /* changes nothing */
    MCP_NOT_DESTRUCTIVE = 2, /* only adds */
    MCP_IDEMPOTENT = 4,      /* twice is as once */
    MCP_CLOSED_WORLD = 8     /* reaches nothing outside */
};

typedef struct mcp_tool {
    size_t size;
    const char *name;        /* letters, digits, _ - and ., at most 128 */
    const char *title;       /* for people; NULL: the name */
    const char *description; /* for the model */

    const mcp_field *fields;  /* arguments, as a table; or: */
    const char *input_schema; /* as the text of a JSON Schema; neither: any object */
    const mcp_field *output_fields; /* structured output, as a table; or: */
    const char *output_schema;      /* as the text of a JSON Schema; neither: any */
    /* An input is an object. Output of another type is not promised to the legacy era,
     * which gets it as text. */

    unsigned hints;        /* mcp_tool_hints */
    unsigned flags;        /* mcp_handler_flags */
    const mcp_icon *icons; /* ends with {0}; NULL: none */
    const char *meta;      /* _meta in lists, text of a JSON object; NULL: none */

    /* One of them; see request.h. */
    mcp_handler_fn *run;
    mcp_handler_fn *start;
    mcp_handler_fn *reply;
    void *user;

    int64_t limit_ms; /* longest time from its arrival, waiting for a worker included;
                         then the call is answered with an error and the handler is
                         told to stop (F34). A handler that asks has it anew for
                         each of its runs, in either era. 0: the server's; -1: none */
    /* Its handler, which must be a `run`, runs in a process of its own: mcp/isolate.h.
     * Copied; NULL: it does not. */
    const struct mcp_isolate *isolate;
} mcp_tool;

#define MCP_TOOL(...) ((mcp_tool){.size = sizeof(mcp_tool), __VA_ARGS__})

/* Offer a tool. The struct is copied, the field tables are borrowed until the server is
 * freed. Clients that can be told of a changed list are told, once for many changes.
 * MCP_E_INVAL: not a tool (err says why), or its name is taken; MCP_E_STATE: it is
 * isolated, and mcp_isolated_enter was not given it; MCP_E_NOMEM, MCP_E_LIMIT. [any] */
MCP_API int mcp_server_add_tool(mcp_server *server, const mcp_tool *tool,
                                mcp_error *err);

/* Withdraw it; calls that run go on. MCP_E_INVAL: there is none of that name. [any] */
MCP_API int mcp_server_remove_tool(mcp_server *server, const char *name);

/* ---- telling of changes ---------------------------------------------------- */

/* A change, as it goes over the bus. */
typedef struct mcp_event {
    enum mcp_change change;
    const char *uri; /* MCP_RESOURCE_UPDATED: of which resource; else NULL */
} mcp_event;

/* The resource has changed: who has subscribed to it, or to one that it lies below, is
 * told; once for all changes that were not told yet. It need not be one that the server
 * lists. If so many have changed at once that they cannot be kept apart (4096),
 * everybody is told that all that it watches has changed. MCP_E_INVAL: not a URI;
 * MCP_E_CLOSED: the server has stopped; what the bus says. [any] */
MCP_API int mcp_server_resource_updated(mcp_server *server, const char *uri);

/*
 * What carries changes from where they happen to the servers that tell of them. By
 * default a server has one of its own, inside the process. Several servers, or several
 * processes, that show the same things share one: give each the same bus by its
 * options. Functions are called on any thread and must not block. The struct is copied.
 */
typedef struct mcp_bus {
    size_t size;
    /* Something has changed. 0, or a negative status, which whoever said it gets. */
    int (*publish)(void *self, const mcp_event *event);
    /* Call on_event(user, event), on any thread, for each event published by anybody,
     * from now on. *ret_ticket names it. */
    int (*subscribe)(void *self, void (*on_event)(void *user, const mcp_event *event),
                     void *user, void **ret_ticket);
    /* Afterwards, whatever this returns, on_event is not running and will not run;
     * unless it is called from inside it: then it runs to its end. A failure is logged,
     * and the server's clean-up goes on (H21). */
    int (*unsubscribe)(void *self, void *ticket);
    void *self;
} mcp_bus;

#define MCP_BUS(...) ((mcp_bus){.size = sizeof(mcp_bus), __VA_ARGS__})

/* A bus inside this process, for several servers. Outlives them. Whoever publishes
 * calls all that are subscribed, on its own thread. All of it is [any]. */
typedef struct mcp_local_bus mcp_local_bus;
MCP_API int mcp_local_bus_new(const mcp_allocator *allocator, mcp_local_bus **ret_bus);
MCP_API void mcp_local_bus_free(mcp_local_bus *bus); /* NULL ok */
MCP_API const mcp_bus *mcp_local_bus_interface(const mcp_local_bus *bus);

/* ---- log messages for clients ---------------------------------------------- */

/* Tell every legacy session whose level is low enough; data is a JSON text, of any
 * type. In 2026-07-28 messages belong to requests: see mcp_request_log. logger may be
 * NULL. MCP_E_INVAL, MCP_E_NOMEM. [any] */
MCP_API int mcp_server_log(mcp_server *server, enum mcp_severity severity,
                           const char *logger, const char *data, size_t length);

/* ---- elicitation by URL, done ---------------------------------------------- */

/* What was asked for by that elicitation id has been done, somewhere else: the client
 * that was asked is told (2025-11-25; later versions have nothing of the kind).
 * MCP_E_INVAL: nobody was asked, or that client is gone. [any] */
MCP_API int mcp_server_elicitation_complete(mcp_server *server,
                                            const char *elicitation_id);

/* ---- middleware ------------------------------------------------------------ */

/* Around every request of every method, on the loop: must not block, and must not
 * finish a request, which is for its handler. */
typedef struct mcp_middleware {
    size_t size;
    /* Before anything else: 0 goes on; anything else ends the request like a handler's
     * return, MCP_E_PEER after mcp_request_fail. May be NULL. */
    int (*before)(mcp_request *req, void *user);
    /* The request is answered: with a result (rpc_code 0) or an error. If it is told to
     * stop before that, on_cancel is called instead. One of the two is called for each
     * one whose turn it was before, the innermost first. Both may be NULL. */
    void (*after)(mcp_request *req, int rpc_code, void *user);
    void (*on_cancel)(mcp_request *req, const char *reason, void *user);
    void *user;
} mcp_middleware;

#define MCP_MIDDLEWARE(...) \
    ((mcp_middleware){.size = sizeof(mcp_middleware), __VA_ARGS__})

/* The first one added is the outermost. Before the server is reachable
 * (MCP_E_STATE). */
MCP_API int mcp_server_use(mcp_server *server, const mcp_middleware *middleware);

/* ---- the server ------------------------------------------------------------ */

typedef struct mcp_server_options {
    size_t size;
    const char *name;    /* of the program; required */
    const char *version; /* required */
    const char *title;
    const char *description;
    const char *website;
    const mcp_icon *icons;    /* ends with {0} */
    const char *instructions; /* for the model: how to use this server */
    /* Members of its capabilities, texts of JSON objects; or NULL. */
    const char *extensions;
    const char *experimental;
    /* Say that there are tools, prompts or resources, though none has been added yet:
     * a set of mcp_change. What is added is said by itself; but a session of 2025-11-25
     * or before hears only of changes of what was said when it began. */
    unsigned offers;
    bool no_logging; /* do not say that log messages may come */
    enum mcp_era era;
    void *user; /* for handlers: mcp_request_server_user */
    /* A client has sent a notification that is not the library's own business: those of
     * methods that nobody has added (mcp/method.h), and
     * notifications/roots/list_changed. On the loop: must not block. params is borrowed
     * until this returns, and NULL if there are none. May be NULL. */
    void (*on_notification)(mcp_server *server, const char *method,
                            const mcp_json *params, void *user);

    const mcp_allocator *allocator; /* NULL: malloc. Outlives the server */
    mcp_loop *loop;                 /* NULL: one of its own. Outlives the server */
    mcp_log_fn *on_log;             /* NULL: silent */
    void *log_user;
    enum mcp_log_level log_level; /* 0: warnings */

    /* Limits; 0 is the default. docs/limits.md has the reasons. */
    size_t workers;       /* threads for `run` handlers: 16 */
    size_t overdue;       /* handlers that do not stop and are let be: 64 */
    size_t in_flight;     /* requests of one client, queued ones included: 16384 */
    size_t message_bytes; /* longest message: 64 MiB */
    size_t held_bytes;    /* of one client's requests and answers: 256 MiB */
    size_t clients;       /* on listening sockets, at once: 1024 */
    size_t page;          /* entries on one page of a list: 250 */
    size_t listeners;     /* subscriptions/listen streams at once: 1024; of each loop
                             thread, where HTTP has several */
    size_t subscribed;    /* resources that one client may watch: 1024 */
    int64_t limit_ms;     /* longest time of a request: none */
    int64_t drain_ms;     /* for running requests, after EOF, and over HTTP after a
                             stop: 1000; -1: none */
    int64_t stop_ms;      /* our own stop, flush included: 1000 */
    int64_t overdue_ms;   /* a canceled handler is overdue after that: 5000 */
    int64_t changes_ms;   /* changes of a list within that time are told once: 50;
                             -1: once for each turn of the loop */
    int64_t ask_ms;       /* a client's user has that long to answer (legacy): 600000 */

    /* How long lists may be kept (2026-07-28): 0 ms and private by default. */
    int64_t list_ttl_ms;
    enum mcp_cache_scope list_scope;

    /* Changes come and go over this; NULL: a bus of its own. What is behind it outlives
     * the server. */
    const mcp_bus *bus;

    /* What a handler has asked so far travels with the client between two rounds,
     * sealed with this key: 32 secret bytes, the same for all replicas of a server.
     * NULL: made at the start, so that nobody but this server can go on. Copied. */
    const unsigned char *state_key;
    int64_t state_ms; /* a client may take that long between two rounds: 600000 */

    /* What all clients over HTTP together can make the server hold: requests, also those
     * that have not arrived completely, answers that wait, what is due to listeners. No
     * client ever has more than is left for all others; what does not fit is refused with
     * 503. 0: a quarter of the memory that this process may use, 64 MiB at least. */
    size_t memory_bytes;
} mcp_server_options;

#define MCP_SERVER_OPTIONS(...) \
    ((mcp_server_options){.size = sizeof(mcp_server_options), __VA_ARGS__})

/* Make a server. MCP_E_INVAL: err says what is wrong with the options; MCP_E_NOMEM,
 * MCP_E_LIMIT (descriptors). */
MCP_API int mcp_server_new(const mcp_server_options *opt, mcp_server **ret_server,
                           mcp_error *err);

/* Stops it (see mcp_server_stop), waits for that and frees it. A handler that does not
 * end holds what it needs (allocator, log and field tables too) and frees it at its
 * end: this does not wait for it longer than half of stop_ms. On the server's own loop
 * thread or inside its handlers: the same, without the waiting; so too on a loop of the
 * program's that no other thread runs, which does the rest when it runs. NULL ok. [any]
 * */
MCP_API void mcp_server_free(mcp_server *server);

/* ---- being reached: any number of these, before and while it runs; [any] -------- */

/* MCP_E_CLOSED: the server has stopped; MCP_E_INVAL: err says why; MCP_E_NOMEM. What
 * goes wrong later, when the loop opens it, is logged. */

/* Serve one client on two descriptors, which may be one: pipes, sockets, a terminal, a
 * file. Takes them. */
MCP_API int mcp_server_attach(mcp_server *server, int take_in, int take_out,
                              mcp_error *err);

/* Serve one client on stdin and stdout. From then on descriptors 0 and 1 are others:
 * what handlers and their children print goes to stderr. When that client goes, the
 * server stops. MCP_E_STATE: it has them already. */
MCP_API int mcp_server_attach_stdio(mcp_server *server, mcp_error *err);

/* Listen on a Unix socket, mode 0600; "@name" is an abstract one. Many clients. The
 * socket file is removed at the end. */
MCP_API int mcp_server_listen_unix(mcp_server *server, const char *path,
                                   mcp_error *err);

/* Listen on a stream socket that listens already, handed in by socket activation. */
MCP_API int mcp_server_listen_fd(mcp_server *server, int take_fd, mcp_error *err);

/* ---- running --------------------------------------------------------------- */

typedef struct mcp_run_options {
    size_t size;
    /* SIGTERM, SIGINT and SIGHUP stop the server; a second one kills the process, as it
     * would without us. They are blocked in this thread meanwhile and read from a
     * descriptor; dispositions stay as they are. Call it before starting threads. */
    bool signals;
    /* Stop when the process that started ours is gone, even if the pipe is held open by
     * somebody else (M18). */
    bool watch_parent;
} mcp_run_options;

#define MCP_RUN_OPTIONS(...) \
    ((mcp_run_options){.size = sizeof(mcp_run_options), __VA_ARGS__})

/* Run it on this thread until it has stopped. opt may be NULL. MCP_E_STATE: it runs
 * already, has stopped before, or is on a loop of the program's, which runs it;
 * MCP_E_LIMIT: no descriptor for the signals. */
MCP_API int mcp_server_run(mcp_server *server, const mcp_run_options *opt,
                           mcp_error *err);

/* Run it on a thread of its own, and return. */
MCP_API int mcp_server_start(mcp_server *server, mcp_error *err);

/* All that a program which is just a stdio server needs: attach stdio, run with signals
 * on and the parent watched, until the client goes. */
MCP_API int mcp_server_run_stdio(mcp_server *server, mcp_error *err);

/* Stop: no more clients and requests; running requests are answered with an error and
 * their handlers told; what waits is written; all within stop_ms. Over HTTP requests may
 * finish before that, within drain_ms. Returns at once. [any, and signal handlers] */
MCP_API void mcp_server_stop(mcp_server *server);

/* ---- counters; [any] ------------------------------------------------------- */

typedef struct mcp_server_counts {
    size_t size; /* set by the caller: sizeof(mcp_server_counts) */
    /* now */
    uint64_t clients;          /* on pipes and sockets, and in memory */
    uint64_t in_flight;        /* requests not yet answered, canceled or dropped */
    uint64_t live_handlers;    /* entered and not yet returned or finished */
    uint64_t overdue_handlers; /* of these: told to stop longer than overdue_ms ago */
    uint64_t queued;           /* waiting for a worker */
    uint64_t workers;          /* threads, idle ones included */
    uint64_t busy_workers;
    /* ever */
    uint64_t requests;
    uint64_t answered; /* with a result */
    uint64_t failed;   /* with an error */
    /* requests that ended without their handler's answer, by cause */
    uint64_t canceled_by_peer;
    uint64_t canceled_by_limit; /* the time limit of a tool */
    uint64_t canceled_by_stop;  /* our own */
    uint64_t canceled_by_loss;  /* the client is gone */
    /* and what became of their handlers */
    uint64_t never_started; /* still queued; also those that had asked, and whose next
                               run never began */
    uint64_t stopped;       /* returned MCP_E_CANCELED */
    uint64_t ran_to_end;    /* returned something else, which was dropped */
    /* now, over HTTP */
    uint64_t connections;
    uint64_t sessions; /* of 2025-11-25 and before */
    uint64_t streams;  /* SSE that clients read: answers, and what GET listens to */
    /* now: helper processes of isolated tools, and those of them that have a call, one
     * that was told to stop included; ever: those that had to be killed */
    uint64_t helpers;
    uint64_t busy_helpers;
    uint64_t killed_helpers;
    uint64_t held_bytes; /* now: what memory_bytes bounds */
} mcp_server_counts;

MCP_API int mcp_server_count(mcp_server *server, mcp_server_counts *ret_counts);

#ifdef __cplusplus
}
#endif
#endif
