/*
 * mcp/ask.h - a handler asks the client: its user, its model, its roots
 *
 * A handler of a tool, a resource or a prompt that needs something of the client asks
 * for it, and returns if that is negative. It is called again, from its top, when the
 * answer is there, and goes on:
 *
 *     r = mcp_request_elicit(req, "who", &MCP_ELICIT(.message = "Who are you?",
 *                                                    .fields = who_fields));
 *     if (r < 0)
 *         return r;
 *     r = mcp_request_bind_answer(req, "who", who_fields, &who);
 *
 * The same handler serves both eras. Until 2025-11-25 the question is a request to the
 * client, and the handler goes on when it is answered. From 2026-07-28 on it is the
 * result, sealed together with all that was answered before, and the client calls again
 * with its answer; nothing is kept here meanwhile. Whatever a handler does before it
 * asks it does again, so it asks first. Several questions may be asked at once: ask
 * them all, and look at what the last one returned.
 *
 * A client that cannot be asked is never asked: the request ends with error -32021,
 * which says what is missing. mcp_request_can_ask tells before.
 */
#ifndef MCP_ASK_H
#define MCP_ASK_H

#include <mcp/field.h>
#include <mcp/request.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_reply mcp_reply;

enum mcp_ask {
    MCP_ASK_FORM = 1,         /* elicitation by a form */
    MCP_ASK_URL = 2,          /* elicitation by a URL */
    MCP_ASK_SAMPLE = 4,       /* sampling */
    MCP_ASK_SAMPLE_TOOLS = 8, /* sampling with tools */
    MCP_ASK_ROOTS = 16,
    MCP_ASK_SAMPLE_CONTEXT = 32 /* sampling with context of this server, or of all */
};

/* Can all of these be asked, by this request, of this client? [any] */
MCP_API bool mcp_request_can_ask(const mcp_request *req, unsigned what);

/* ---- answers; borrowed until the request has ended; [any] -------------------- */

/* What was answered to the question of that name, the whole result (ElicitResult,
 * CreateMessageResult, ListRootsResult); NULL: it was not asked yet. */
MCP_API const mcp_json *mcp_request_answer(const mcp_request *req, const char *key);

/* Of an elicitation: what the user did. A form's content then fits its schema. */
enum mcp_action { MCP_UNANSWERED = 0, MCP_ACCEPTED, MCP_DECLINED, MCP_DISMISSED };
MCP_API enum mcp_action mcp_request_action(const mcp_request *req, const char *key);

/* Decode the content of an accepted form into a struct, by its field table.
 * MCP_E_STATE: it was not accepted; MCP_E_INVAL: it does not fit that table;
 * MCP_E_NOMEM. */
MCP_API int mcp_request_bind_answer(mcp_request *req, const char *key,
                                    const mcp_field *fields, void *into);

/* ---- questions; [any] --------------------------------------------------------- */

/* Each names its answer by a key, at most 64 bytes. 0: it is answered, and so is all
 * that was asked before it in this run. MCP_E_INPUT: something of that is not; return
 * that. Failures are sticky in the same way, until the handler is called again.
 * MCP_E_PEER: the client cannot be asked that; return that too. MCP_E_INVAL: not a
 * question, or its key was asked already in this run, and the log says more;
 * MCP_E_LIMIT: a handler has asked ten times; MCP_E_STATE: this request may not ask (a
 * completion, a list, a client's own handler), or it is not its handler that asks (a
 * middleware); MCP_E_NO_CHANNEL: there is no way to this client (2025-11-25 over HTTP,
 * with JSON answers only or without sessions); MCP_E_CANCELED: it is not wanted any
 * more; MCP_E_NOMEM. */

typedef struct mcp_elicit {
    size_t size;
    const char *message; /* for the user; required */
    const mcp_field
        *fields;        /* a form, as a table: texts, numbers, booleans, choices; or */
    const char *schema; /* as the text of a JSON Schema; or neither and: */
    const char *url;    /* where the user is sent */
    const char *id;     /* of a URL: for mcp_server_elicitation_complete; NULL: the
                                library makes one. Not known to 2026-07-28 */
} mcp_elicit;

#define MCP_ELICIT(...) ((mcp_elicit){.size = sizeof(mcp_elicit), __VA_ARGS__})

MCP_API int mcp_request_elicit(mcp_request *req, const char *key,
                               const mcp_elicit *question);

/* Nothing can be done before the user has been there: in 2025-11-25 the request ends
 * with error -32042, which names the URL, and the client calls again by itself; later
 * versions are asked as above. Returns MCP_E_PEER, or as above. */
MCP_API int mcp_request_elicit_first(mcp_request *req, const char *key,
                                     const mcp_elicit *question);

typedef struct mcp_sample {
    size_t size;
    const char *text;     /* what the user says; or */
    const char *messages; /* the text of a JSON array of messages */
    const char *system_prompt;
    int64_t max_tokens; /* required */
    const char *tools;  /* the text of a JSON array of tools; NULL: none */
    const char *more;   /* other members: temperature, modelPreferences, toolChoice...;
                           the text of a JSON object. includeContext needs
                           MCP_ASK_SAMPLE_CONTEXT, unless it is "none" */
} mcp_sample;

#define MCP_SAMPLE(...) ((mcp_sample){.size = sizeof(mcp_sample), __VA_ARGS__})

MCP_API int mcp_request_sample(mcp_request *req, const char *key,
                               const mcp_sample *question);

MCP_API int mcp_request_roots(mcp_request *req, const char *key);

/* ---- between the rounds -------------------------------------------------------- */

/* A text of the handler's own that comes back with the answers, sealed; what it has set
 * last, borrowed until the request has ended. "": none. It makes its way through the
 * client and back, so keep it short. MCP_E_INPUT with a state and without a question
 * asks to be called again. MCP_E_INVAL: not UTF-8; MCP_E_LIMIT: longer than 64 KiB;
 * MCP_E_STATE, MCP_E_CANCELED, MCP_E_NOMEM. */
MCP_API const char *mcp_request_state(const mcp_request *req);
MCP_API int mcp_request_set_state(mcp_request *req, const char *text);

/* ---- asking and waiting, legacy era only ---------------------------------------- */

typedef struct mcp_request_call_options {
    size_t size;
    int64_t timeout_ms; /* 0: ask_ms of the server */
    /* What the client reports of it; total 0: unknown, message may be NULL. Called by the
     * thread that waits, in order, and before mcp_request_call returns; it delays only
     * that, and may report to this request's own client. NULL: none is asked for. */
    void (*on_progress)(mcp_request *req, double progress, double total,
                        const char *message, void *user);
    void *user; /* for on_progress */
} mcp_request_call_options;

#define MCP_REQUEST_CALL_OPTIONS(...) \
    ((mcp_request_call_options){.size = sizeof(mcp_request_call_options), __VA_ARGS__})

/* Ask the client anything, and wait: in a `run` handler, of a client that speaks
 * 2025-11-25 or before (else MCP_E_NO_CHANNEL). params: the text of a JSON object, or
 * NULL; opt may be NULL. A cancel of the request ends the wait and takes the question
 * back (F22): MCP_E_CANCELED. MCP_E_PEER: err has the client's error, or -32021 if it
 * was not asked because it has not said that it can be; MCP_E_TIMEOUT, MCP_E_CLOSED,
 * MCP_E_LIMIT, MCP_E_NOMEM, MCP_E_STATE (on a loop). *ret_reply is freed with
 * mcp_reply_free of mcp/client.h. */
MCP_API int mcp_request_call(mcp_request *req, const char *method, const char *params,
                             const mcp_request_call_options *opt, mcp_reply **ret_reply,
                             mcp_error *err);

#ifdef __cplusplus
}
#endif
#endif
