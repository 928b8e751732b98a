/*
 * mcp/http.h - MCP over HTTP, in the library libmcp-http
 *
 *     char url[MCP_HTTP_URL_MAX];
 *
 *     r = mcp_server_listen_http(server, &MCP_HTTP_OPTIONS(.port = 8080), url, &err);
 *     r = mcp_server_run(server, &MCP_RUN_OPTIONS(.signals = true), &err);
 *
 * One URL serves clients of both eras at once; which one a request is of is decided for
 * each request. In 2026-07-28 a client cancels by closing its request's own response,
 * in whatever phase that is. In 2025-11-25 and before it posts a cancel into its
 * session, and a lost connection cancels nothing, unless there is no session.
 *
 * A program that only speaks over pipes neither includes this nor links TLS or an HTTP
 * client.
 */
#ifndef MCP_HTTP_H
#define MCP_HTTP_H

#include <mcp/client.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of libmcp-http at run time, "0.1.0", never NULL. [any] */
MCP_API const char *mcp_http_version(void);

/* ---- a request, as the hooks below see it ------------------------------- */

typedef struct mcp_http_field {
    const char *name; /* as it came; names are compared without case */
    const char *value;
} mcp_http_field;

/* Everything is borrowed for the call. */
typedef struct mcp_http_request {
    size_t size;
    const char *method;           /* "POST" */
    const char *target;           /* path and query, as it came */
    const mcp_http_field *fields; /* headers, in order */
    size_t field_count;
    const char *body;
    size_t body_length;
    const char *address; /* of the client, for logs; NULL: not known */
    bool secure;         /* it came over TLS */
} mcp_http_request;

#define MCP_HTTP_REQUEST(...) \
    ((mcp_http_request){.size = sizeof(mcp_http_request), __VA_ARGS__})

/* The value of a header, or NULL; the first one if there are several. [any] */
MCP_API const char *mcp_http_header(const mcp_http_request *request, const char *name);

/* ---- who asks ----------------------------------------------------------- */

/*
 * Asked for each request before anything of it is served. Answer the ticket once, with
 * allow or deny, from inside or later, from any thread. A client that leaves meanwhile
 * is not served: the answer then goes nowhere, but must still be given. But what it has
 * said to its session counts: a cancel, an answer, a DELETE.
 *
 * The principal names the credential: a session belongs to the one that opened it, and
 * nobody else finds it (D20); what a client brings back sealed is good for the same one
 * only. Handlers see it: mcp_request_principal.
 */
typedef struct mcp_http_ticket mcp_http_ticket;
typedef void mcp_http_identify_fn(void *user, const mcp_http_request *request,
                                  mcp_http_ticket *ticket);

/* principal is copied, at most 1024 bytes; "" or NULL: nobody in particular. [any] */
MCP_API void mcp_http_allow(mcp_http_ticket *ticket, const char *principal);

/* status is 401 or 403, or another error; challenge is the value of WWW-Authenticate, or
 * NULL; message is for people, or NULL. Copied. [any] */
MCP_API void mcp_http_deny(mcp_http_ticket *ticket, int status, const char *challenge,
                           const char *message);

/* ---- what clients can come back for (2025-11-25) ------------------------- */

/*
 * Where events of a session's streams are kept, so that a client that lost its
 * connection gets what it missed. Events of a stream are numbered from 1 without a gap,
 * and appended in order. Functions are called on loop threads, of one session always on
 * the same, and must not block. session and stream name a stream together.
 */
typedef struct mcp_event_store {
    size_t size;
    /* Keep an event: data is a JSON-RPC message, or "" for one that only has an id.
     * Negative: it is not kept; the stream goes on and can then not be resumed past it. */
    int (*append)(void *self, const char *session, uint64_t stream, uint64_t number,
                  const char *data, size_t length);
    /* Call each(user, ...) for every event of that stream after that number, in order.
     * MCP_E_INVAL: the stream or the number is not known, or not any more, and the
     * client is told so; another status: that cannot be told now, and it may come back.
     * each calls no function of the store. */
    int (*replay)(void *self, const char *session, uint64_t stream, uint64_t after,
                  void (*each)(void *user, uint64_t number, const char *data,
                               size_t length),
                  void *user);
    /* The stream is over and was delivered, or its session is: stream 0. */
    void (*forget)(void *self, const char *session, uint64_t stream);
    void *self;
} mcp_event_store;

#define MCP_EVENT_STORE(...) \
    ((mcp_event_store){.size = sizeof(mcp_event_store), __VA_ARGS__})

/* One in memory. At most that many bytes of events for each session, the oldest leave
 * first; 0: 1 MiB. All sessions together have a sixteenth of the memory that this process
 * may use; then the session that holds the most loses its oldest events. For any number of
 * servers, which it outlives. */
typedef struct mcp_memory_store mcp_memory_store;
MCP_API int mcp_memory_store_new(const mcp_allocator *allocator, size_t session_bytes,
                                 mcp_memory_store **ret_store);
MCP_API void mcp_memory_store_free(mcp_memory_store *store); /* NULL ok */
MCP_API const mcp_event_store *mcp_memory_store_interface(
    const mcp_memory_store *store);

/* ---- listening ---------------------------------------------------------- */

/* Zero means the default, here as everywhere; what is named -1 turns something off. */
typedef struct mcp_http_options {
    size_t size;

    /* Where. */
    const char *host; /* a name or address of this machine; NULL: "127.0.0.1" */
    int port;         /* 0: any that is free; the URL says which */
    const char *path; /* NULL: "/mcp" */
    unsigned threads; /* loop threads on this port, this server's own among them; 0: 1.
                         Handlers of kind start and reply then run on several threads at
                         once, though never twice for one request */
    const char *tls_certificate; /* PEM files; NULL: plain HTTP */
    const char *tls_key;

    /* How answers look. */
    bool json;      /* no streams, so no progress, logs or questions on the way; but for
                       subscriptions/listen, which is nothing else (H22) */
    bool stateless; /* legacy clients get no session: nothing is kept between requests,
                       no questions; a client that leaves cancels (D16) */
    bool stateless_runs_on; /* except that it does not */
    bool silent_end;        /* a canceled legacy request ends without -32800 (X1) */
    const mcp_event_store *store; /* makes legacy streams resumable; outlives the
                                     server. NULL: they are not */
    int64_t retry_ms;             /* what resuming clients are told to wait: 1 s */

    /* Who may come. */
    mcp_http_identify_fn *identify; /* NULL: everybody, as nobody in particular */
    void *identify_user;
    struct mcp_guard *guard; /* OAuth: who has a token for us (mcp/auth.h); outlives the
                                server. Not with identify. NULL: none */
    /* Values of Host that are ours, without a port, NULL at the end: with a loopback
     * address the names of loopback always are. NULL on another address: any (put a
     * list here then, against DNS rebinding). */
    const char *const *hosts;
    /* Values of Origin that may call, "https://app.example", NULL at the end; "*": any.
     * Pages of this server's own origin on loopback always may. Those listed are also
     * told so by CORS headers, also for private networks; nobody else is. */
    const char *const *origins;
    /* Names of headers that handlers may read, NULL at the end: mcp_request_header. They
     * are kept with each request. NULL: none. */
    const char *const *headers;
    /* A session of 2025-11-25 or before has begun, or has ended, for whatever reason; its
     * handlers were told to stop before. It is named as in Mcp-Session-Id, which handlers
     * may read too if headers has it. Those of sse_path have no such name, and are not
     * told of. On loop threads, of one session always on the same: must not block. May be
     * NULL. */
    void (*on_session)(void *user, const char *session, bool begun);
    void *session_user;

    /* Times. */
    int64_t ping_ms;  /* a stream is never quiet for longer: 15 s; -1: it may be */
    int64_t head_ms;  /* for a request's head to arrive: 10 s */
    int64_t body_ms;  /* for its body: 60 s */
    int64_t idle_ms;  /* of a connection without a request: 75 s */
    int64_t write_ms; /* for a client to take what waits for it: 30 s */
    int64_t session_idle_ms; /* of a session without request or stream: 30 min; -1 */

    /* Limits, each for one loop thread. They are shared: no client ever has more than is
     * left for all others. A client is its principal or, without one, its address, and of
     * IPv6 the network of 64 bits; connections are those of an address. */
    size_t connections;     /* 16384; more are turned away with 503 */
    size_t sessions;        /* 10000, and on all threads together no more than an eighth
                              of memory_bytes has room for, at 4 KiB each; before one is
                              refused with 503, that ends which is idle for the longest
                              time, without request or stream */
    size_t session_streams; /* GET streams, and streams somebody may come back for, of
                              one session: 64; 429 */
    size_t body_bytes; /* 16 MiB, or an eighth of memory_bytes if that is less; 413 */
    size_t head_bytes; /* 32 KiB; 431 */

    /* The transport of 2024-11-05, where a client keeps one stream for all answers. NULL:
     * not served. */
    const char *sse_path;     /* such as "/sse": GET opens the stream */
    const char *message_path; /* NULL: "/message"; where messages are posted */

    /* Behind a proxy all clients come from its address, which says nothing then: a client
     * without a principal is its connection. */
    bool proxied;
} mcp_http_options;

#define MCP_HTTP_OPTIONS(...) \
    ((mcp_http_options){.size = sizeof(mcp_http_options), __VA_ARGS__})

#define MCP_HTTP_URL_MAX 512

/*
 * Serve on a port of this machine; opt may be NULL. Returns when clients can connect;
 * they are answered when the server runs. ret_url, which has room for MCP_HTTP_URL_MAX
 * bytes or is NULL, says where. Several can listen, on several ports.
 * MCP_E_INVAL: options, address, certificate (err says which), or the port is taken;
 * MCP_E_LIMIT: descriptors, threads; MCP_E_CLOSED: the server has stopped. [any]
 */
MCP_API int mcp_server_listen_http(mcp_server *server, const mcp_http_options *opt,
                                   char *ret_url, mcp_error *err);

/* ---- a client ------------------------------------------------------------ */

/* Zero or NULL means the default; a time must not be negative. Texts are copied. */
typedef struct mcp_http_client_options {
    size_t size;
    /* Header lines for every request, "Name: value", NULL at the end; not those that MCP
     * or HTTP write themselves, such as Accept, Host and Mcp-*. */
    const char *const *headers;
    /* Methods of an extension that name something, and the member of params that does,
     * "tasks/get taskId", NULL at the end: it stands in the header Mcp-Name too
     * (2026-07-28). */
    const char *const *names;

    /* What to do when the server asks who we are (mcp/auth.h). NULL: nothing, its refusal
     * is the answer: MCP_E_HTTP. Copied. */
    const struct mcp_auth_options *auth;

    /* The way there. */
    const char *proxy;    /* a URL; NULL: as the environment says; "": none. For http to
                             loopback none is used, whoever names one: it would read all */
    const char *no_proxy; /* hosts to be reached without, commas between */
    const char
        *tls_ca_file; /* PEM; who may vouch for the server. NULL: as the system */
    const char *tls_ca_path;     /* a directory of such */
    const char *tls_certificate; /* PEM; of ours. Shown to the server, but nowhere that
                                    authorization leads, not even for its documents */
    const char *tls_key;
    const char *tls_key_password;
    bool tls_no_verify; /* whoever it is: for tests only */
    /* Follow redirects to other origins. Without, only to other paths of the same scheme,
     * host and port: a server that sends its clients elsewhere sends their calls there.
     * Authorization, Cookie, DPoP and the session stay behind; other headers of yours go
     * along, and so does the certificate. Not for what authorization looks up. */
    bool follow_any;

    /* Legacy servers. */
    bool no_stream; /* do not open a stream for what belongs to no request; else calls
                       wait until it is open or refused, at most 1 s */
    bool no_2024;   /* do not look for the transport of 2024-11-05 */

    /* Times, apart from those of calls. */
    int64_t connect_ms; /* to find, reach and greet the host: 10000 */
    int64_t idle_ms;    /* silence on an open response before it counts as lost: none.
                           Servers that send pings are never silent for long; ours sends
                           one every 15 s */
    int64_t grace_ms; /* the stream of a canceled request of a legacy session stays open
                           for what belongs to it: 5000. Without a session it is closed at
                           once */

    /* Limits. A message, and an event: mcp_client_options.message_bytes. */
    size_t head_bytes; /* longest head of an answer: 64 KiB */
} mcp_http_client_options;

#define MCP_HTTP_CLIENT_OPTIONS(...) \
    ((mcp_http_client_options){.size = sizeof(mcp_http_client_options), __VA_ARGS__})

/*
 * Open a client over HTTP; url is that of the MCP endpoint, http: or https:, without a
 * fragment, and without a name and a password, which belong into a header. Both options
 * are as elsewhere; http may be NULL. The era is found out as on other links, and a
 * server of 2024-11-05 is found behind the same URL.
 *
 * A call that is abandoned ends its own request and no other: in 2026-07-28 its response
 * is closed, before that a cancel is posted; to a server without sessions both, because
 * such a server may notice only the closing. A posted cancel leaves when its request was
 * answered with a head, or 250 ms after it was sent: the two travel on connections of
 * their own, and a server that reads the cancel first may drop it. A lost connection ends the calls that were
 * on it, MCP_E_CLOSED, and not the client; what could not be sent at all is
 * MCP_E_SEND_FAILED, and an answer of HTTP that is an error and no message is MCP_E_HTTP
 * with http_status. Legacy streams that can be resumed are. A legacy session that the
 * server has lost is made anew: the call that met it is sent once more, others that were
 * under way end MCP_E_CLOSED, and subscriptions go on or are lost, and say so.
 *
 * Arguments that a tool of a modern server wants in headers too (x-mcp-header) stand
 * there, as the last list of tools said. A call that is refused for want of them, or for
 * others, is made once more, within its times, after the list was asked for. Tools whose
 * headers break a rule are left out of lists, with a warning in the log.
 *
 * Returns when the server is ready. MCP_E_INVAL: url, options, a file; MCP_E_SEND_FAILED:
 * nobody there; MCP_E_HTTP: it answered with an error, such as 401, and no message; and as
 * mcp_client_spawn. [any]
 */
MCP_API int mcp_client_connect_http(const char *url,
                                    const mcp_http_client_options *http,
                                    const mcp_client_options *opt,
                                    mcp_client **ret_client, mcp_error *err);

/* ---- inside another HTTP server ------------------------------------------ */

/*
 * A program that has an HTTP server hands us the requests of one path, and gets answers:
 *
 *     mcp_http_mount_new(server, &MCP_HTTP_OPTIONS(...), &mount, &err);
 *     mcp_http_serve(mount, &request, &ops, user, &turn);     for each request
 *     mcp_http_turn_free(turn);                               when it is answered, or the
 *                                                             client is gone
 *
 * Freeing a turn that is not answered is the cancel, where a disconnect is one. Of the
 * options, those for sockets mean nothing here; threads is one.
 */
typedef struct mcp_http_mount mcp_http_mount;
typedef struct mcp_http_turn mcp_http_turn;

/* How an answer comes, on the server's own loop thread, in order: do not block there.
 * What is borrowed is good for the call. Not called any more once mcp_http_turn_free has
 * returned. */
typedef struct mcp_http_turn_ops {
    size_t size;
    /* The head, and what there is of the body: all of it if last. */
    void (*begin)(void *user, int status, const mcp_http_field *fields,
                  size_t field_count, const char *body, size_t length, bool last);
    /* More of the body, to be sent at once. */
    void (*more)(void *user, const char *body, size_t length, bool last);
    /* It ends here without an end: break the connection. */
    void (*abort)(void *user);
} mcp_http_turn_ops;

/* On the server's own loop; requests are answered when that runs. Host is only checked
 * against options.hosts, since the address is not ours. opt may be NULL. [any] */
MCP_API int mcp_http_mount_new(mcp_server *server, const mcp_http_options *opt,
                               mcp_http_mount **ret_mount, mcp_error *err);

/* All turns must be freed. The server may be gone before. NULL ok [any] */
MCP_API void mcp_http_mount_free(mcp_http_mount *mount);

/* Hand in a request, whole; it is copied. ops is borrowed until the turn is freed. The
 * first of them may run before this returns; *ret_turn is written before. At most as many
 * turns as options.connections.
 * MCP_E_CLOSED: the server has stopped; MCP_E_LIMIT, MCP_E_NOMEM: answer 503;
 * MCP_E_INVAL: no request, or ops lacks a function. [any] */
MCP_API int mcp_http_serve(mcp_http_mount *mount, const mcp_http_request *request,
                           const mcp_http_turn_ops *ops, void *user,
                           mcp_http_turn **ret_turn);

/* The client does not read: hold what comes (true), or go on. What waits is bounded as
 * on a connection of our own; if it waits for longer than options.write_ms the turn is
 * aborted. [any] */
MCP_API void mcp_http_turn_pause(mcp_http_turn *turn, bool pause);

/* Done with it. If it was not answered the client has left. Waits for one of its ops that
 * runs on another thread, so hold no lock that these take. [any, also from inside ops]
 * NULL ok */
MCP_API void mcp_http_turn_free(mcp_http_turn *turn);

#ifdef __cplusplus
}
#endif

#endif
