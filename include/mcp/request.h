/*
 * mcp/request.h - what a handler sees: its request, and the result it gives
 *
 * A handler gets a request and an empty result, and returns a status:
 *
 *     0               the result is the answer
 *     MCP_E_PEER      the error that mcp_request_fail described is the answer
 *     MCP_E_CANCELED  nothing, if the request was canceled; that is what all functions
 *                     here return then, so passing on what they return is enough
 *     MCP_E_INPUT     the client is asked something first: see mcp/ask.h
 *     any other       an internal error, -32603, with the status in words
 *
 * A request is over at one moment, whoever ends it. After a cancel nothing is ever
 * written for it, whatever its handler still does; the handler is told and should stop:
 * by a flag, by a descriptor, by a hook, or by any wait of ours that returns
 * MCP_E_CANCELED.
 *
 * Three kinds of handlers, one signature:
 *
 *     run     on a worker thread, may block; its return ends the request
 *     start   on the loop, must not block; 0 means "begun": mcp_request_finish ends the
 *             request later, from any thread. A negative status ends it at once
 *     reply   on the loop, must not block; its return ends the request. For what takes
 *             microseconds
 *
 * The request and its result are the handler's until it has ended the request; then
 * both are gone.
 */
#ifndef MCP_REQUEST_H
#define MCP_REQUEST_H

#include <mcp/json.h>
#include <mcp/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pollfd;

typedef struct mcp_server mcp_server; /* see mcp/server.h */
typedef struct mcp_request mcp_request;
typedef struct mcp_result mcp_result;

typedef int mcp_handler_fn(mcp_request *req, mcp_result *out, void *user);

/* A handler where there is room for one; one of the three. */
typedef struct mcp_handler {
    mcp_handler_fn *run;
    mcp_handler_fn *start;
    mcp_handler_fn *reply;
    void *user;
} mcp_handler;

enum mcp_handler_flags {
    /* A cancel only sets the flag: no hooks run, waits of ours are not ended. The
     * request is not answered all the same (F4). */
    MCP_SIGNAL_ONLY = 1
};

/* ---- what was asked; [any], borrowed until the request has ended ------------- */

/* Its arguments: an object, NULL if there are none. They conform to the tool's
 * schema. */
MCP_API const mcp_json *mcp_request_arguments(const mcp_request *req);

/* Decode the arguments into a struct by the tool's field table; of a method of your own
 * the params. What the struct points to is good until the request has ended.
 * MCP_E_STATE: the tool has no table; MCP_E_NOMEM. One thread at a time. */
MCP_API int mcp_request_bind(mcp_request *req, void *into);

MCP_API const char *mcp_request_method(const mcp_request *req); /* "tools/call" */
/* Of the tool or the prompt; the URI of the resource; of a completion, the name of the
 * prompt or the text of the template; else "". */
MCP_API const char *mcp_request_name(const mcp_request *req);

/* A text among the arguments of a prompt, or a variable of the template that the URI of
 * a resource has matched; NULL: it is not there. A variable that is a list gives its
 * first text; mcp_request_variables has them all. A text that a stranger has put U+0000
 * into ends there: mcp_request_params and mcp_request_variables have it whole. */
MCP_API const char *mcp_request_argument(const mcp_request *req, const char *name);

/* The variables of that template, as mcp_uri_template_match has them; NULL: none. */
MCP_API const mcp_json *mcp_request_variables(const mcp_request *req);

/* Of a completion: the name of the argument or variable, what was typed of it so far,
 * and the others that are known already (NULL: not known). */
MCP_API const char *mcp_request_complete_name(const mcp_request *req);
MCP_API const char *mcp_request_complete_value(const mcp_request *req);
MCP_API const char *mcp_request_complete_known(const mcp_request *req,
                                               const char *name);

MCP_API const mcp_json *mcp_request_params(const mcp_request *req); /* all, or NULL */
MCP_API const mcp_json *mcp_request_meta(const mcp_request *req);   /* _meta, or NULL */
MCP_API const mcp_json *mcp_request_client_info(const mcp_request *req); /* or NULL */
MCP_API const mcp_json *mcp_request_client_capabilities(const mcp_request *req);
MCP_API const char *mcp_request_version(const mcp_request *req); /* "2026-07-28" */

/* Who asks, as the hook of the HTTP options names the credential (mcp/http.h); "" on
 * other links, and for nobody in particular. Never NULL. */
MCP_API const char *mcp_request_principal(const mcp_request *req);

/* What the token of who asks says, if a guard has checked one, or what a hook has said
 * (mcp/auth.h): its claims, an object, or NULL; its scopes, blanks between, never NULL. */
MCP_API const mcp_json *mcp_request_claims(const mcp_request *req);
MCP_API const char *mcp_request_scope(const mcp_request *req);

/* A header of the HTTP request that brought it, if the HTTP options keep those of that
 * name; case does not count. The first one, if there are several. NULL: it was not
 * there, or is not kept, or this came over another link. */
MCP_API const char *mcp_request_header(const mcp_request *req, const char *name);

/* Its id as JSON text, `7` or `"7"`; for logs. */
MCP_API const char *mcp_request_id(const mcp_request *req);

/* Trace context of the caller (W3C), as its _meta has it, or NULL. Calls whose parent
 * is this request hand it on by themselves. */
MCP_API const char *mcp_request_traceparent(const mcp_request *req);
MCP_API const char *mcp_request_tracestate(const mcp_request *req);
MCP_API const char *mcp_request_baggage(const mcp_request *req);

/* The server whose handler this is, to tell it of changes, say; NULL in a client's. */
MCP_API mcp_server *mcp_request_server(const mcp_request *req);

/* What the options of the server, or of the client that is asked, gave as user. */
MCP_API void *mcp_request_server_user(const mcp_request *req);

/* The loop of its server on which it is served, for the events of a `start` handler:
 * one of several if the server listens with several threads. In a client's handler the
 * loop that the client was given; NULL: it has one of its own. */
MCP_API mcp_loop *mcp_request_loop(const mcp_request *req);

/* ---- being canceled; [any] ------------------------------------------------- */

/* Has it been told to stop? Cheap: ask often. */
MCP_API bool mcp_request_is_canceled(const mcp_request *req);

/* Why: the peer's text, or ours ("connection lost", "run limit reached"); "" while it
 * is not canceled, and if no reason was given. */
MCP_API const char *mcp_request_cancel_reason(const mcp_request *req);

/* A descriptor that polls readable once the request is canceled: for your own poll
 * loop. It is the request's: do not read or close it. MCP_E_LIMIT, MCP_E_NOMEM. */
MCP_API int mcp_request_cancel_fd(mcp_request *req, int *ret_fd);

/* Call fn(user) once when the request is canceled, on the loop's thread; at once, on
 * this one, if it is canceled already. fn must not block: interrupt a query, close a
 * socket, set a flag. *ret_hook names it for mcp_request_off_cancel and may be NULL.
 * Hooks left at the end of the request are removed. MCP_E_NOMEM; MCP_E_STATE: it is
 * over. */
typedef struct mcp_cancel_hook mcp_cancel_hook;
MCP_API int mcp_request_on_cancel(mcp_request *req, void (*fn)(void *user), void *user,
                                  mcp_cancel_hook **ret_hook);

/* Afterwards fn is not running and will not run; waits for it, except from inside it.
 * Frees the hook. NULL ok. */
MCP_API void mcp_request_off_cancel(mcp_request *req, mcp_cancel_hook *hook);

/* Run fn(user) when the request is over and its handler has returned or finished,
 * whatever happened; the last one first; on the thread that ended it. Also if the
 * request was canceled before its handler could run, for what a middleware deferred. Of
 * a handler that is called again (mcp/ask.h) what it has deferred itself runs each
 * time. MCP_E_NOMEM, MCP_E_STATE (it is over): fn will not run. */
MCP_API int mcp_request_defer(mcp_request *req, void (*fn)(void *user), void *user);

/* ---- blocking, and woken by a cancel; not on a loop thread (MCP_E_STATE) ------ */

/* 0 after that time; MCP_E_CANCELED at once when the request is canceled. */
MCP_API int mcp_request_sleep(mcp_request *req, int64_t ms);

/* poll(2) that a cancel ends. timeout_ms -1: none. 0 with *ret_ready as poll returns it
 * (0: timeout); MCP_E_CANCELED; MCP_E_INVAL as poll's errno has it. Up to 64 fds. */
MCP_API int mcp_request_poll(mcp_request *req, struct pollfd *fds, size_t count,
                             int timeout_ms, int *ret_ready);

/* Run a command and wait for it. A cancel, its own time limit, or on_output's wish ends
 * it and all of its process group: SIGTERM, a grace, SIGKILL. */
typedef struct mcp_command {
    size_t size;
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
    const char *const *env;  /* "NAME=value", added to ours; NULL: none */
    const char *cwd;         /* NULL: ours */
    const char *input;       /* its stdin; NULL: /dev/null */
    size_t input_length;
    size_t max_output;  /* bytes kept of stdout and of stderr, each; 0: 1 MiB */
    int64_t timeout_ms; /* 0: none */
    int64_t grace_ms;   /* between SIGTERM and SIGKILL; 0: 2000 */
    /* Output as it comes, on this thread; a negative status ends the command and is
     * returned. May be NULL. */
    int (*on_output)(void *user, bool is_stderr, const char *bytes, size_t length);
    void *user;
    /* What leaves the group ends with it too, daemons and all: a process of ours stands
     * above it, which also ends it if we die. What becomes another user's cannot be
     * ended. MCP_E_STATE: the program did not call mcp_isolated_enter (mcp/isolate.h). */
    bool contained;
} mcp_command;

#define MCP_COMMAND(...) ((mcp_command){.size = sizeof(mcp_command), __VA_ARGS__})

typedef struct mcp_command_result {
    int exit_code; /* -1 if a signal ended it */
    int signal;    /* that signal, or 0 */
    char *output;  /* terminated; what was beyond max_output is lost */
    size_t output_length;
    char *errors; /* of stderr */
    size_t errors_length;
    bool is_cut; /* some output was lost */
} mcp_command_result;

/* 0: it ran and ended by itself; look at exit_code. MCP_E_CANCELED, MCP_E_TIMEOUT: it
 * was ended, nothing of its group is left. MCP_E_INVAL: it cannot be run, err says why.
 * The result is freed with mcp_command_result_done; it is empty after a failure. */
MCP_API int mcp_request_command(mcp_request *req, const mcp_command *command,
                                mcp_command_result *ret_result, mcp_error *err);
MCP_API void mcp_command_result_done(mcp_command_result *result);

/* ---- saying something; [any] ----------------------------------------------- */

/* Report progress, if the client asked for it. progress must rise with each call
 * (MCP_E_INVAL); total 0: unknown; message NULL: none. MCP_E_CANCELED once the request
 * is canceled, so a loop that reports progress can be canceled for free; MCP_E_STATE
 * once it has been answered. If you report faster than it can be sent, only the newest
 * is. A handler that is called again (mcp/ask.h) begins anew, and what it has reported
 * before is not sent again. */
MCP_API int mcp_request_progress(mcp_request *req, double progress, double total,
                                 const char *message);

/* Send a log message about this request, if the client wants messages of that severity:
 * it says so with the request (2026-07-28) or for the session (logging/setLevel; until
 * then from MCP_SEVERITY_INFO on). logger: who speaks, or NULL. Statuses as above; 0
 * also if it is not wanted. data: a JSON text of any type. */
MCP_API int mcp_request_log(mcp_request *req, enum mcp_severity severity,
                            const char *logger, const char *format, ...)
    MCP_PRINTF(4, 5);
MCP_API int mcp_request_log_json(mcp_request *req, enum mcp_severity severity,
                                 const char *logger, const char *data, size_t length);

/* Would it be sent? For messages that are dear to make. */
MCP_API bool mcp_request_logs(const mcp_request *req, enum mcp_severity severity);

/* Let the client's connection go while this takes its time: it is told when to come back,
 * and gets what it missed then. For clients of 2025-11-25 over HTTP, if the server has an
 * event store; MCP_E_NO_CHANNEL for all others, where nothing happens. Off the loop that
 * is not known yet: 0 then. It is no cancel, and the request goes on; what it asks its
 * client waits until the client has come back. Other statuses as mcp_request_progress. */
MCP_API int mcp_request_detach(mcp_request *req);

/* Answer with a JSON-RPC error instead of a result: return what this returns, which is
 * MCP_E_PEER. For a tool that failed at its job use mcp_result_fail: models can read
 * that. data: a JSON text, or NULL. */
MCP_API int mcp_request_fail(mcp_request *req, int code, const char *data,
                             const char *format, ...) MCP_PRINTF(4, 5);

/* End a request that a `start` handler began. status as a handler's return. Once; the
 * request and its result are gone when this returns. Also from inside that handler,
 * which then returns 0, and from inside a cancel hook of the request. */
MCP_API void mcp_request_finish(mcp_request *req, int status);

/* The result that goes with it: the same that the handler was given. */
MCP_API mcp_result *mcp_request_result(mcp_request *req);

/* ---- results: content ---------------------------------------------------------- */

/*
 * What may be written depends on what was asked; anything else is MCP_E_STATE.
 *
 *   tools/call           blocks of content; structured output; mcp_result_fail
 *   prompts/get          blocks of content, each a message; role, description
 *   resources/read       mcp_result_text and _bytes (of the resource asked for),
 *                        _resource_text and _resource_bytes (of others); cache
 *   completion/complete  values
 *   elicitation/create   structured output, which means accepted; accept, decline,
 *                        dismiss                                        (clients)
 *   sampling/createMessage  blocks of content; tool use, model, stop reason (clients)
 *   roots/list           roots                                          (clients)
 *   a method of your own structured output, which is the result
 */

/* All return 0 or a negative status, which is sticky: write everything, and return what
 * the last one returned. One thread at a time. MCP_E_INVAL: text that is not UTF-8. */

MCP_API int mcp_result_text(mcp_result *out, const char *text);
MCP_API int mcp_result_text_n(mcp_result *out, const char *text, size_t length);
MCP_API int mcp_result_textf(mcp_result *out, const char *format, ...) MCP_PRINTF(2, 3);

/* Raw bytes; they are encoded as Base64. */
MCP_API int mcp_result_image(mcp_result *out, const void *bytes, size_t length,
                             const char *mime_type);
MCP_API int mcp_result_audio(mcp_result *out, const void *bytes, size_t length,
                             const char *mime_type);

/* The bytes of the resource that was asked for. */
MCP_API int mcp_result_bytes(mcp_result *out, const void *bytes, size_t length);

/* A resource as part of the answer, with its text or its bytes; mime_type may be
 * NULL. */
MCP_API int mcp_result_resource_text(mcp_result *out, const char *uri,
                                     const char *mime_type, const char *text);
MCP_API int mcp_result_resource_bytes(mcp_result *out, const char *uri,
                                      const char *mime_type, const void *bytes,
                                      size_t length);

/* A link to a resource the client can read. All but uri and name may be NULL. */
MCP_API int mcp_result_resource_link(mcp_result *out, const char *uri, const char *name,
                                     const char *title, const char *description,
                                     const char *mime_type);

/* Any content block, as JSON text. */
MCP_API int mcp_result_content(mcp_result *out, const char *json, size_t length);

/* Annotations of the content block written last; audience is a set of the two below, 0:
 * none; priority from 0 to 1, negative: none; last_modified an ISO 8601 text or
 * NULL. */
enum mcp_audience { MCP_FOR_USER = 1, MCP_FOR_ASSISTANT = 2 };
MCP_API int mcp_result_annotate(mcp_result *out, unsigned audience, double priority,
                                const char *last_modified);

/* Who says the messages that follow, of a prompt or a sample. By default the user in
 * prompts, the assistant in samples. */
enum mcp_role { MCP_ROLE_USER = 0, MCP_ROLE_ASSISTANT };
MCP_API int mcp_result_role(mcp_result *out, enum mcp_role role);

/* What the prompt is for, once; instead of what the prompt says. */
MCP_API int mcp_result_description(mcp_result *out, const char *text);

/* How long and for whom this reading of a resource may be kept; instead of what the
 * resource says. */
MCP_API int mcp_result_cache(mcp_result *out, int64_t ttl_ms,
                             enum mcp_cache_scope scope);

/* One more value that completes what was typed; those beyond 100 are counted, not sent.
 * mcp_result_total: how many there are in all, if that is known and there are more. */
MCP_API int mcp_result_value(mcp_result *out, const char *value);
MCP_API int mcp_result_total(mcp_result *out, int64_t total);

/* The user's answer to an elicitation: yes (with what was asked for, if it was a form),
 * no, or neither. */
MCP_API int mcp_result_accept(mcp_result *out);
MCP_API int mcp_result_decline(mcp_result *out);
MCP_API int mcp_result_dismiss(mcp_result *out);

/* Of a sample: which model spoke (required), why it stopped ("endTurn"), and a tool it
 * wants to use; input is the text of a JSON object. */
MCP_API int mcp_result_model(mcp_result *out, const char *model);
MCP_API int mcp_result_stop_reason(mcp_result *out, const char *reason);
MCP_API int mcp_result_tool_use(mcp_result *out, const char *id, const char *name,
                                const char *input);

/* A root of the client's: a file: URI, and a name or NULL. */
MCP_API int mcp_result_root(mcp_result *out, const char *uri, const char *name);

/* ---- results: structured output, failure, the rest ------------------------------ */

/* The tool failed at its job: isError, with this text for the model to read. Returns 0
 * like any content. */
MCP_API int mcp_result_fail(mcp_result *out, const char *format, ...) MCP_PRINTF(2, 3);

/* Structured output, mostly an object, checked against the tool's outputSchema before
 * it is sent. If no content was written, its text becomes the content too, for clients
 * that know nothing of structured output; if it is no object, unless there is a text.
 * From a struct, by the tool's output table; from a JSON text; or by hand: the builder
 * is the result's, open an object in it and end it. */
MCP_API int mcp_result_struct(mcp_result *out, const void *from);
MCP_API int mcp_result_json(mcp_result *out, const char *json, size_t length);
MCP_API mcp_builder *mcp_result_builder(mcp_result *out);

/* A member of the result's _meta, each key once; value is a JSON text. */
MCP_API int mcp_result_meta(mcp_result *out, const char *key, const char *value);

/* Forget all that was written and every failure. */
MCP_API void mcp_result_reset(mcp_result *out);

#ifdef __cplusplus
}
#endif
#endif
