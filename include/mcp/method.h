/*
 * mcp/method.h - methods of the program's own, beside those of the protocol
 *
 *     static int
 *     stock(mcp_request *req, mcp_result *out, void *user)
 *     {
 *         return mcp_result_json(out, "{\"left\":3}", 10);
 *     }
 *
 *     r = mcp_server_add_method(
 *         server, &MCP_METHOD(.name = "shop/stock", .reply = stock), &err);
 *
 * A client asks with mcp_client_call (mcp/client.h) and tells with mcp_client_notify.
 * The other way round a server tells with mcp_request_notify and mcp_server_notify, and
 * asks a client of 2025-11-25 or before with mcp_request_call (mcp/ask.h); what a
 * client knows stands in its options, as `methods`.
 *
 * Requests of such a method pass the middleware, are run, canceled, limited and
 * counted, and may report progress and log, like those of a tool. They do not ask the
 * client as mcp/ask.h has it (MCP_E_STATE): the protocol knows that of three methods
 * only. Who has methods that others should know of says so in its capabilities:
 * `extensions` of the options.
 */
#ifndef MCP_METHOD_H
#define MCP_METHOD_H

#include <mcp/field.h>
#include <mcp/request.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A notification has come; params is borrowed until this returns, and NULL if there are
 * none. */
typedef void mcp_told_fn(const char *method, const mcp_json *params, void *user);

typedef struct mcp_method {
    size_t size;
    /* "vendor/thing": 1 to 128 visible characters of ASCII. Not one of the protocol's
     * own, of whatever version (but for tasks, of which the library knows nothing), and
     * not "rpc." and more, which is JSON-RPC's. */
    const char *name;

    /* Its params, without _meta. A request whose params do not fit ends with -32602, a
     * notification with a word in the log; neither reaches anybody. */
    const mcp_field *fields; /* as a table, for mcp_request_bind; or: */
    const char *schema;      /* as the text of a JSON Schema; neither: any */

    const mcp_field *result_fields; /* for mcp_result_struct; NULL: none */

    /* Requests: one of them; see request.h. The result is an object, written as
     * structured output; {} if nothing is written. _meta and resultType are no members
     * of it: for the first there is mcp_result_meta, the second is the library's. */
    mcp_handler_fn *run;
    mcp_handler_fn *start;
    mcp_handler_fn *reply;

    /* Notifications, instead of requests or beside them: those go here, and not to
     * on_notification. In a server on the loop, where it must not block; in a client
     * where its callbacks run, in order with them. */
    mcp_told_fn *told;

    void *user;       /* for all of them */
    unsigned flags;   /* mcp_handler_flags */
    int64_t limit_ms; /* as a tool's */
} mcp_method;

#define MCP_METHOD(...) ((mcp_method){.size = sizeof(mcp_method), __VA_ARGS__})

/* Serve a method. The struct is copied, the field tables are borrowed until the server
 * is freed. MCP_E_INVAL: not a method (err says why), or its name is taken, by the
 * protocol or by another; MCP_E_NOMEM. [any] */
MCP_API int mcp_server_add_method(mcp_server *server, const mcp_method *method,
                                  mcp_error *err);

/* Do not any more; requests that run go on. MCP_E_INVAL: there is none of that name.
 * [any] */
MCP_API int mcp_server_remove_method(mcp_server *server, const char *name);

/* Tell every session of 2025-11-25 or before; in 2026-07-28 what a server says belongs
 * to a request: see mcp_request_notify. Dropped if too many wait already, for the loop
 * or for a session that does not read. method as above; params: the text of a JSON
 * object, or NULL. MCP_E_INVAL; MCP_E_LIMIT: longer than a message may be; MCP_E_NOMEM.
 * [any] */
MCP_API int mcp_server_notify(mcp_server *server, const char *method,
                              const char *params);

/* Tell the client about this request, ahead of its answer, in every version. Off the
 * loop it waits in one line with log messages, and is dropped if there are too many.
 * method and params as above. MCP_E_CANCELED once the request is canceled, MCP_E_STATE
 * once it is over; MCP_E_INVAL, MCP_E_LIMIT, MCP_E_NOMEM. [any] */
MCP_API int mcp_request_notify(mcp_request *req, const char *method,
                               const char *params);

#ifdef __cplusplus
}
#endif
#endif
