/*
 * mcp/client.h - a client: one server reached, calls to it, and how they end
 *
 *     r = mcp_client_spawn(argv, &MCP_CLIENT_OPTIONS(.name = "me", .version = "1.0"),
 *                          &client, &err);
 *     r = mcp_client_call_tool(client, "add", "{\"a\":1,\"b\":2}", NULL, &reply, &err);
 *     puts(mcp_reply_text(reply));
 *     mcp_reply_free(reply);
 *     mcp_client_free(client);
 *
 * A call ends once: with an answer, by mcp_call_cancel, by its timeout, with its scope,
 * by the end of the request it was made for, or because the connection is gone. Unless
 * it was answered, or never sent, the server is told, once, in the way that transport
 * and protocol era prescribe, and the session goes on.
 *
 * All functions are [any]. Those that block return MCP_E_STATE on the thread of a loop,
 * and in a process that was forked off without exec every function fails so. A loop
 * that is given in the options must be run by somebody: what blocks waits for it.
 */
#ifndef MCP_CLIENT_H
#define MCP_CLIENT_H

#include <mcp/json.h>
#include <mcp/loop.h>
#include <mcp/method.h>
#include <mcp/request.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mcp_request;
struct mcp_server;

typedef struct mcp_client mcp_client;
typedef struct mcp_call mcp_call;   /* one call, from its start to its free */
typedef struct mcp_reply mcp_reply; /* an answer; counted, immutable */
typedef struct mcp_scope mcp_scope; /* many calls, one cancel */

/* ---- scopes -------------------------------------------------------------- */

typedef struct mcp_scope_options {
    size_t size;
    mcp_scope *parent;  /* its end is this one's end too; NULL: none */
    int64_t timeout_ms; /* from now; 0: none. Calls then end MCP_E_TOTAL_TIMEOUT */
    const mcp_allocator *allocator; /* NULL: malloc */
} mcp_scope_options;

#define MCP_SCOPE_OPTIONS(...) \
    ((mcp_scope_options){.size = sizeof(mcp_scope_options), __VA_ARGS__})

/* A scope; opt may be NULL. MCP_E_NOMEM, MCP_E_LIMIT: it holds one descriptor. */
MCP_API int mcp_scope_new(const mcp_scope_options *opt, mcp_scope **ret_scope);

/* Let go of it; calls under it live on, and end with it only if it was canceled. NULL
 * ok. */
MCP_API void mcp_scope_free(mcp_scope *scope);

/* Cancel all calls under it, of any client on any thread, and all to come: those are
 * never sent. reason is cut to 120 bytes; NULL: a fixed text. May be called from a
 * signal handler. 0; MCP_E_STATE: it was canceled before. */
MCP_API int mcp_scope_cancel(mcp_scope *scope, const char *reason);

/* Is it, or a parent, canceled or out of time? */
MCP_API bool mcp_scope_is_over(const mcp_scope *scope);

/* ---- opening and closing ------------------------------------------------- */

/* What a client's handlers know besides the least. */
enum mcp_able {
    MCP_ABLE_URL = 1,           /* elicit: by URL */
    MCP_ABLE_NO_FORM = 2,       /* elicit: not by a form */
    MCP_ABLE_SAMPLE_TOOLS = 4,  /* sample: with tools */
    MCP_ABLE_SAMPLE_CONTEXT = 8 /* sample: includeContext */
};

/* What on_wire shows. */
enum mcp_wire {
    MCP_WIRE_SENT = 1, /* a message of ours, as it was handed to the link */
    MCP_WIRE_CAME,     /* one of the server's, or other JSON in the place of one */
    MCP_WIRE_EVENT     /* what is no message: a line of text about the connection */
};

typedef struct mcp_client_options {
    size_t size;
    const char *name;    /* of the program; required */
    const char *version; /* required */
    const char *title;
    const char *description;
    const char *website;
    const mcp_icon *icons; /* ends with {0} */
    /* Members of its capabilities, texts of JSON objects; or NULL. */
    const char *extensions;
    const char *experimental;
    enum mcp_era era; /* BOTH: ask the server (server/discover, then initialize) */
    /* What mcp_client_discovery gave earlier, for the same server: nothing is asked,
     * the first call goes out at once. NULL: ask. */
    const char *discovery;

    const mcp_allocator *allocator; /* NULL: malloc. Outlives the client, and the calls
                                       and replies that are kept longer */
    mcp_loop *loop; /* NULL: one of its own, on a thread of its own. Outlives it */
    bool callbacks_on_loop; /* callbacks run on the loop's thread and must not block;
                               otherwise on workers, in order for each call */
    mcp_log_fn *on_log;     /* NULL: silent */
    void *log_user;
    enum mcp_log_level log_level; /* 0: warnings */

    /* Do not wait until the server is ready: return at once; calls wait in line, and
     * on_state tells. Needed on the thread of your own loop (else MCP_E_STATE), and
     * before anybody runs that loop, which is what the waiting would wait for. */
    bool no_wait;
    mcp_scope *scope; /* ends the opening, not the client (M27); NULL: none */

    /* Milliseconds; 0 is the default, MCP_TIMEOUT_NONE none. */
    int64_t timeout_ms; /* of a call that names none: 60000 */
    int64_t probe_ms;   /* wait for server/discover: 10000 */
    int64_t hello_ms;   /* wait for initialize: 60000 */
    int64_t flush_ms;   /* at the end, for what waits to be written: 500 */

    /* A spawned server. */
    const char *const *env; /* "NAME=value", added to ours; ends with NULL */
    /* Of ours it gets only HOME, LOGNAME, PATH, SHELL, TERM and USER: what else stands
     * there, such as secrets, may be none of its business. */
    bool clean_env;
    const char *cwd;
    int stderr_fd;    /* its stderr; 0: ours. Borrowed during the call */
    bool quiet;       /* its stderr is /dev/null */
    bool die_with_us; /* kill it if our process dies, however (M22); on a loop of yours
                         also when the thread ends that ran it at the opening */
    int64_t exit_ms;  /* time to go after its stdin is closed: 2000 */
    int64_t term_ms;  /* after SIGTERM: 2000 */
    int64_t kill_ms;  /* after SIGKILL: 2000 */

    size_t message_bytes; /* longest message: 64 MiB */

    /* What the server may ask, if there is a handler for it (see mcp/request.h). A
     * cancel of the server's reaches it, and in 2026-07-28 that of the call for which
     * it is asked (older questions name no call: their server takes them back). What is
     * not a question, or was not declared, is refused and reaches nobody.
     *   elicit   params: message, requestedSchema or url. The answer to a form gets the
     *            schema's defaults for what is missing and is checked before it is sent
     *   sample   params: messages, maxTokens, ...; includeContext, which is a wish, also
     *            if it was not declared
     *   roots    writes them; or `root_list` has them, until mcp_client_set_roots. Of
     *            new ones a handler's program tells with mcp_client_notify */
    mcp_handler elicit;
    mcp_handler sample;
    mcp_handler roots;
    const struct mcp_root *root_list; /* ends with {0}; copied */
    unsigned able;                    /* mcp_able: what those handlers know besides */
    int rounds; /* a server may ask that often in one call: 10; -1: see there */
    /* Methods of the program's own: a server of 2025-11-25 or before may ask them, one
     * of any version tell them. Ends with NULL; copied. */
    const mcp_method *const *methods;

    /* Log messages of the server's from that severity on; NONE: none are asked for (a
     * legacy server may send some all the same). on_message gets them. */
    enum mcp_severity messages;

    bool no_cache;        /* ask the server each time, whatever it says of its lists */
    bool no_output_check; /* do not check structured output against the tool's schema */
    /* Ask nothing that the server has not declared: such a call ends at once with
     * MCP_E_NO_CHANNEL, and with MCP_E_STATE before the connection is ready; nothing is
     * sent. Otherwise the server is asked, and says itself what it does not know. */
    bool strict;

    /* The connection is ready (0), or could not be made (only with no_wait: else the
     * function that opens says so); then, if it was ready, that it is gone. May be
     * NULL. Not called any more once the client is freed. */
    void (*on_state)(mcp_client *client, int status, void *user);
    /* A log message of the server's; data is any JSON, logger may be NULL. A level that
     * is none counts as NOTICE. May be NULL. */
    void (*on_message)(mcp_client *client, enum mcp_severity severity,
                       const char *logger, const mcp_json *data, void *user);
    /* A list or a resource has changed: said by a legacy server, or by a subscription
     * of this client's. Cached lists are forgotten by then. Of a server that has lost our
     * session, all that it tells of may have changed, and counts so. May be NULL. */
    void (*on_change)(mcp_client *client, enum mcp_change change, const char *uri,
                      void *user);
    /* An elicitation by URL is done, says a server of 2025-11-25. May be NULL. */
    void (*on_elicited)(mcp_client *client, const char *elicitation_id, void *user);
    /* A notification came that is neither the library's own nor that of one of
     * `methods`, or is for one of the three above that is NULL. May be NULL. */
    void (*on_notification)(mcp_client *client, const char *method,
                            const mcp_json *params, void *user);
    void *user;

    /* The wire, both ways: each message as it stands there, in the order in which it
     * was handed to the link or read, and what else happens there ("closed the response
     * to request 7"). On the thread of the loop, whatever callbacks_on_loop says: must
     * not block, nor call back into the client. text has `length` bytes of UTF-8, is
     * not terminated, and is borrowed for the call. Headers that carry secrets are
     * never in it; the messages are as they are. Not called any more once a
     * mcp_client_free that waits has returned. May be NULL, and costs nothing then. */
    void (*on_wire)(mcp_client *client, enum mcp_wire what, const char *text,
                    size_t length, void *user);
} mcp_client_options;

#define MCP_CLIENT_OPTIONS(...) \
    ((mcp_client_options){.size = sizeof(mcp_client_options), __VA_ARGS__})

/* Start a program and speak to it over its stdin and stdout; argv ends with NULL,
 * argv[0] is looked up in PATH. It leads a process group of its own and gets no
 * descriptors but its three. Returns when the server is ready. MCP_E_INVAL: it cannot
 * be executed; MCP_E_CLOSED: it went away; MCP_E_TIMEOUT; MCP_E_CANCELED (scope); err
 * says more, and nothing is left behind. */
MCP_API int mcp_client_spawn(const char *const *argv, const mcp_client_options *opt,
                             mcp_client **ret_client, mcp_error *err);

/* The same over a Unix socket; "@name" is an abstract one. */
MCP_API int mcp_client_connect_unix(const char *path, const mcp_client_options *opt,
                                    mcp_client **ret_client, mcp_error *err);

/* The same over two descriptors, which may be one. Takes them on success; after a
 * failure they are open and the caller's, but what was written to them is, and a socket
 * may have been shut down. */
MCP_API int mcp_client_attach(int take_in, int take_out, const mcp_client_options *opt,
                              mcp_client **ret_client, mcp_error *err);

/* The same in memory, to a server of this process, which must outlive it. */
MCP_API int mcp_client_attach_server(struct mcp_server *server,
                                     const mcp_client_options *opt,
                                     mcp_client **ret_client, mcp_error *err);

/* Close: calls end MCP_E_CLOSED; a spawned server gets its stdin closed, then SIGTERM,
 * then SIGKILL, each after its time, to the whole group. Waits until that is done and
 * all callbacks and handlers have returned, and frees the client. On the thread of a
 * loop, inside its callbacks and handlers, and if nobody runs the loop that it was
 * given, it only begins, and the loop frees it. Calls whose handles are kept stay
 * valid. NULL ok. */
MCP_API void mcp_client_free(mcp_client *client);

/* Begin to close and return; what is started now ends MCP_E_CLOSED. */
MCP_API void mcp_client_close(mcp_client *client);

/* How its opening went: 0 ready, now or once; MCP_E_AGAIN: under way (no_wait); else why
 * there never was a connection, with all that is known of it in err: MCP_E_AUTH and
 * http_status 401, say. [any] */
MCP_API int mcp_client_opening(mcp_client *client, mcp_error *err);

/* ---- about the server; borrowed until the client is freed; NULL until ready ---- */

MCP_API const char *mcp_client_version(mcp_client *client); /* protocol, "2026-07-28" */
MCP_API const mcp_json *mcp_client_server_info(mcp_client *client);
MCP_API const mcp_json *mcp_client_server_capabilities(mcp_client *client);
MCP_API const char *mcp_client_instructions(mcp_client *client);

/* What a modern server said of itself, as JSON text to be stored and given to a later
 * client as .discovery; NULL if it is not modern. */
MCP_API const char *mcp_client_discovery(mcp_client *client);

/* Process id of a spawned server; 0: none. */
MCP_API int64_t mcp_client_pid(mcp_client *client);

/* ---- calls --------------------------------------------------------------- */

#define MCP_TIMEOUT_NONE INT64_MIN
#define MCP_TIMEOUT_NOW \
    INT64_C(-1) /* at once: fails unless the answer is there already */

/* A request id of the caller's choice, which goes out as it is; {0}: the library
 * counts. "7" and 7 are the same id when an answer is looked for, and cannot be in
 * flight at the same time. At most 512 bytes. */
enum mcp_id_type { MCP_ID_NONE = 0, MCP_ID_NUMBER, MCP_ID_TEXT };
typedef struct mcp_id {
    enum mcp_id_type type;
    int64_t number;
    const char *text; /* terminated, UTF-8 */
} mcp_id;

/* clang-format off */
#define MCP_NUMBER_ID(number_) {MCP_ID_NUMBER, (number_), NULL}
#define MCP_TEXT_ID(text_) {MCP_ID_TEXT, 0, (text_)}
/* clang-format on */

/* What an abandoned call does. */
enum mcp_on_abandon {
    MCP_ABANDON_CANCELS = 0, /* tells the server */
    MCP_ABANDON_DETACHES     /* lets the server go on; its answer is dropped (B26) */
};

typedef struct mcp_call_options {
    size_t size;
    mcp_id id;
    int64_t timeout_ms;     /* without an answer, from the start; 0: the client's;
                           MCP_TIMEOUT_NONE, MCP_TIMEOUT_NOW */
    int64_t total_ms;       /* in all, whatever progress says; 0: none, or one hour if
                           progress may prolong it */
    bool reset_on_progress; /* progress starts the timeout anew */
    enum mcp_on_abandon on_abandon;
    mcp_scope *scope;           /* ends the call with it; NULL: none */
    struct mcp_request *parent; /* the request this is done for: if that is canceled or
                                   over, so is the call. NULL: none */
    const char *meta; /* members for _meta, text of a JSON object; NULL: none. Trace
                         context of the parent is handed on unless it is in there */
    enum mcp_severity messages; /* log messages of it; NONE: as the client says */
    /* How often the server may ask. 0: the client's; -1: it is not answered, and the
     * reply is what it asks (input_required). */
    int rounds;
    bool fresh; /* a list or a resource: ask the server, whatever is kept */
    /* HTTP of 2025-11-25 and before, with a server that keeps events: on_resume is told
     * from where the call can be taken up again, each time that changes, in order with
     * progress; token is opaque, and borrowed. Such a call is not canceled by a timeout, or
     * when it is freed, so that a later one of the same client, with that token as `resume`
     * and the same method, can have its answer; an explicit cancel, a scope or a parent
     * still cancels it (B27).
     *
     * The later one has the id of the first, which must be free (MCP_E_ID_IN_USE): so its
     * cancel reaches what the server is at. With another `id` it has its answer, but a
     * cancel would name what the server does not know. MCP_E_INVAL: this is no token.
     *
     * Elsewhere on_resume is never called, and `resume` is refused with MCP_E_STATE, also
     * before the connection is ready: what cannot be taken up again must not be done
     * twice. Not for mcp_client_list_all. */
    const char *resume; /* a token; NULL: it is a new call */
    void (*on_resume)(mcp_call *call, const char *token, void *user);
    void (*on_progress)(mcp_call *call, double progress, double total,
                        const char *message, void *user); /* total 0: unknown */
    void *user; /* for on_progress and on_resume */
} mcp_call_options;

#define MCP_CALL_OPTIONS(...) \
    ((mcp_call_options){.size = sizeof(mcp_call_options), __VA_ARGS__})

/*
 * How a call ended: 0 with a reply; MCP_E_PEER: the server answered with an error
 * (mcp_call_error has its code and text), or a handler of ours that it asked did;
 * MCP_E_PROTO: with something that is no answer, or is not what a tool has promised, or
 * lacks the list that a typed call below is about (not what a tool gives);
 * MCP_E_LIMIT: it asked too often; MCP_E_HTTP: it answered with an error of HTTP, and no
 * message; MCP_E_CANCELED, MCP_E_TIMEOUT, MCP_E_TOTAL_TIMEOUT, MCP_E_CLOSED,
 * MCP_E_SEND_FAILED, of which mcp_call_wait says more. reply is borrowed for the call:
 * mcp_reply_ref keeps it. Runs exactly once after a start that succeeded, unless the
 * call is freed first; after all its progress.
 */
typedef void mcp_done_fn(mcp_call *call, int status, mcp_reply *reply, void *user);

/* Call any method and wait for the end. params: the text of a JSON object without
 * _meta, which the options give, or NULL; opt may be NULL. Statuses as above, and those
 * of mcp_client_start; err is filled for each. MCP_E_LIMIT: too many workers wait
 * already. */
MCP_API int mcp_client_call(mcp_client *client, const char *method, const char *params,
                            const mcp_call_options *opt, mcp_reply **ret_reply,
                            mcp_error *err);

/* Start it and return; done tells, or mcp_call_wait. *ret_call is freed with
 * mcp_call_free; with ret_call NULL the call frees itself. done may be NULL. After a
 * failure nothing is left, and done never runs: MCP_E_ID_IN_USE; MCP_E_CANCELED or
 * MCP_E_TOTAL_TIMEOUT: the scope or the parent is over, nothing is sent; MCP_E_CLOSED;
 * MCP_E_INVAL: not a JSON object, a bad id; MCP_E_LIMIT: longer than a message may be;
 * MCP_E_NO_CHANNEL: see strict; MCP_E_NOMEM. */
MCP_API int mcp_client_start(mcp_client *client, const char *method, const char *params,
                             const mcp_call_options *opt, mcp_done_fn *done, void *user,
                             mcp_call **ret_call);

/* tools/call. arguments: the text of a JSON object, or NULL. A tool that failed at its
 * job is an answer: see mcp_reply_is_error.
 *
 * Structured output is checked against the outputSchema that tools/list has for the
 * tool, and what does not fit, or is missing, is MCP_E_PROTO; off with no_output_check.
 * The check runs where callbacks do, within the times of the call. If the tool is not
 * known yet, its list is asked for within the call, but only if there is structured
 * output: servers that have none are spared. Output for which there is a schema that
 * cannot be used (it is none, or its dialect is not supported) is MCP_E_PROTO too, and
 * err says why. What cannot be checked otherwise (no list, a limit of ours) is given as
 * it is, with a line in the log. */
MCP_API int mcp_client_call_tool(mcp_client *client, const char *name,
                                 const char *arguments, const mcp_call_options *opt,
                                 mcp_reply **ret_reply, mcp_error *err);
MCP_API int mcp_client_start_tool(mcp_client *client, const char *name,
                                  const char *arguments, const mcp_call_options *opt,
                                  mcp_done_fn *done, void *user, mcp_call **ret_call);

/* One page of a list. cursor NULL: the first; mcp_reply_cursor has the next. What a
 * server of 2026-07-28 said may be kept is kept for as long as it said, or until it
 * says that the list has changed, and is the answer to the same question without
 * asking; so are resources that are read. A call with meta of its own is another
 * question. */
MCP_API int mcp_client_list_tools(mcp_client *client, const char *cursor,
                                  const mcp_call_options *opt, mcp_reply **ret_reply,
                                  mcp_error *err);
MCP_API int mcp_client_list_resources(mcp_client *client, const char *cursor,
                                      const mcp_call_options *opt,
                                      mcp_reply **ret_reply, mcp_error *err);
MCP_API int mcp_client_list_templates(mcp_client *client, const char *cursor,
                                      const mcp_call_options *opt,
                                      mcp_reply **ret_reply, mcp_error *err);
MCP_API int mcp_client_list_prompts(mcp_client *client, const char *cursor,
                                    const mcp_call_options *opt, mcp_reply **ret_reply,
                                    mcp_error *err);

/* All pages of a list, as one reply: a call for each, the total time for all, the id
 * for the first. MCP_E_LIMIT: more than 1000 pages, or too large; MCP_E_PROTO: a page
 * leads back to one before. */
enum mcp_list {
    MCP_LIST_TOOLS,
    MCP_LIST_RESOURCES,
    MCP_LIST_TEMPLATES,
    MCP_LIST_PROMPTS
};
MCP_API int mcp_client_list_all(mcp_client *client, enum mcp_list list,
                                const mcp_call_options *opt, mcp_reply **ret_reply,
                                mcp_error *err);

/* resources/read. */
MCP_API int mcp_client_read(mcp_client *client, const char *uri,
                            const mcp_call_options *opt, mcp_reply **ret_reply,
                            mcp_error *err);
MCP_API int mcp_client_start_read(mcp_client *client, const char *uri,
                                  const mcp_call_options *opt, mcp_done_fn *done,
                                  void *user, mcp_call **ret_call);

/* prompts/get. arguments: the text of a JSON object of texts, or NULL. */
MCP_API int mcp_client_get_prompt(mcp_client *client, const char *name,
                                  const char *arguments, const mcp_call_options *opt,
                                  mcp_reply **ret_reply, mcp_error *err);
MCP_API int mcp_client_start_prompt(mcp_client *client, const char *name,
                                    const char *arguments, const mcp_call_options *opt,
                                    mcp_done_fn *done, void *user, mcp_call **ret_call);

/* completion/complete: what could `argument` of a prompt, or of a template, be, of
 * which `value` was typed? context: those known already, the text of a JSON object of
 * texts, or NULL. mcp_reply_items has the values. */
typedef struct mcp_complete {
    size_t size;
    const char *prompt;       /* its name; or */
    const char *uri_template; /* a template, or the URI of a resource */
    const char *argument;
    const char *value;
    const char *context;
} mcp_complete;

#define MCP_COMPLETE(...) ((mcp_complete){.size = sizeof(mcp_complete), __VA_ARGS__})

MCP_API int mcp_client_complete(mcp_client *client, const mcp_complete *what,
                                const mcp_call_options *opt, mcp_reply **ret_reply,
                                mcp_error *err);

/* Log messages from that severity on; NONE: none, which for a legacy server means
 * emergencies. Legacy: logging/setLevel, and its end is waited for; in 2026-07-28 the
 * calls to come say it. MCP_E_STATE: the connection is not ready yet. */
MCP_API int mcp_client_set_messages(mcp_client *client, enum mcp_severity severity,
                                    const mcp_call_options *opt, mcp_error *err);

/* The roots that this client has, from now on: file: URIs; ends with {0}. A legacy
 * server is told that they have changed. MCP_E_STATE: the options gave no root_list, so
 * that the server does not know of any; MCP_E_INVAL, MCP_E_NOMEM. [any] */
typedef struct mcp_root {
    const char *uri;
    const char *name; /* or NULL */
} mcp_root;
MCP_API int mcp_client_set_roots(mcp_client *client, const mcp_root *roots);

/* Is anybody there? `ping` in the legacy era, `server/discover` in the modern one.
 * MCP_E_STATE: the connection is not ready yet. */
MCP_API int mcp_client_ping(mcp_client *client, const mcp_call_options *opt,
                            mcp_error *err);

/* Send a notification; params as above. A cancel written by hand ends the call it
 * names. Dropped quietly if the connection is closed. MCP_E_STATE: it tells of roots,
 * and the options gave none. */
MCP_API int mcp_client_notify(mcp_client *client, const char *method,
                              const char *params);

/* ---- a call that was started --------------------------------------------- */

/* Its id as JSON text, `7` or `"7"`, from the start on; valid as long as the call. When
 * the server has asked something, the call goes on under another id: this is the one
 * under way, or the last. */
MCP_API const char *mcp_call_id(const mcp_call *call);

/* Ask for the end; done tells. 0: asked. MCP_E_STATE: it has ended already. reason is
 * what the server hears, cut to 120 bytes; NULL: a fixed text. */
MCP_API int mcp_call_cancel(mcp_call *call, const char *reason);

/* Wait for the end and for progress that came before it to be told, at most timeout_ms
 * (MCP_TIMEOUT_NONE: for ever; 0: just look, on any thread). Returns how it ended, with
 * *ret_reply (freed by the caller; NULL ok) if 0; MCP_E_AGAIN: not yet. */
MCP_API int mcp_call_wait(mcp_call *call, int64_t timeout_ms, mcp_reply **ret_reply,
                          mcp_error *err);

/* Wait until the server has been told of the end of an abandoned call, at most
 * timeout_ms (0: 5000). 0: it was, or there was nothing to tell; MCP_E_TIMEOUT: not
 * within that time; MCP_E_CLOSED: it cannot be told any more; MCP_E_STATE: the call has
 * not ended, or somebody waits for this already. How the call ended stays as it was. */
MCP_API int mcp_call_flush(mcp_call *call, int64_t timeout_ms);

/* What the server said was wrong; borrowed until the call is freed. NULL unless it
 * ended with MCP_E_PEER, MCP_E_HTTP or MCP_E_AUTH. data: the error's data, or NULL. */
MCP_API const mcp_error *mcp_call_error(const mcp_call *call);
MCP_API const mcp_json *mcp_call_error_data(const mcp_call *call);

/* Let go. If it is live it is abandoned, as by cancel; on return no callback of it runs
 * or will run, except from inside one. On the thread of a loop it does not wait for one
 * that runs on a worker. Two callbacks must not free each other's call. NULL ok. */
MCP_API void mcp_call_free(mcp_call *call);

/* Let go and still be told: done runs, then the call frees itself. */
MCP_API void mcp_call_release(mcp_call *call);

/* ---- replies; NULL is a reply without anything --------------------------- */

MCP_API mcp_reply *mcp_reply_ref(mcp_reply *reply);
MCP_API void mcp_reply_free(mcp_reply *reply);

/* The result object, whole. */
MCP_API const mcp_json *mcp_reply_result(const mcp_reply *reply);

/* Of tools/call: did the tool fail at its job, the first text of its content ("" if
 * there is none), its content, its structured output. */
MCP_API bool mcp_reply_is_error(const mcp_reply *reply);
MCP_API const char *mcp_reply_text(const mcp_reply *reply);
MCP_API const mcp_json *mcp_reply_content(const mcp_reply *reply);
MCP_API const mcp_json *mcp_reply_structured(const mcp_reply *reply);

/* What a reply has many of: tools, resources, templates or prompts of a list, contents
 * of a resource, messages of a prompt, values of a completion. NULL: nothing. */
MCP_API const mcp_json *mcp_reply_items(const mcp_reply *reply);

/* Of a list: where the next page begins; NULL: this was the last. */
MCP_API const char *mcp_reply_cursor(const mcp_reply *reply);

/* ---- counters ------------------------------------------------------------ */

typedef struct mcp_client_counts {
    size_t size;       /* set by the caller: sizeof(mcp_client_counts) */
    uint64_t calls;    /* started and not ended, now */
    uint64_t started;  /* ever */
    uint64_t answered; /* with a result */
    uint64_t failed;   /* with an error */
    uint64_t canceled; /* by mcp_call_cancel, a scope, a parent, or free */
    uint64_t timed_out;
    uint64_t closed; /* the connection went */
} mcp_client_counts;

MCP_API int mcp_client_count(mcp_client *client, mcp_client_counts *ret_counts);

#ifdef __cplusplus
}
#endif
#endif
