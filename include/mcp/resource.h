/*
 * mcp/resource.h - what a server has to be read: resources, and templates of them
 *
 *     mcp_resource motd = MCP_RESOURCE(.uri = "file:///motd", .name = "motd",
 *                                      .text = "Hello");
 *     mcp_template cards = MCP_TEMPLATE(.uri_template = "users://{id}/card",
 *                                       .name = "card", .run = card);
 *     r = mcp_server_add_resource(server, &motd, &err);
 *     r = mcp_server_add_template(server, &cards, &err);
 */
#ifndef MCP_RESOURCE_H
#define MCP_RESOURCE_H

#include <mcp/request.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_resource {
    size_t size;
    const char *uri;         /* absolute; by which it is read and removed */
    const char *name;        /* required */
    const char *title;       /* for people; NULL: the name */
    const char *description; /* for the model */
    const char *mime_type;
    int64_t bytes; /* its size, for people; 0: not said (that of text and data is) */
    unsigned audience;         /* as in mcp_result_annotate; 0: not said */
    double priority;           /* from 0 to 1; 0: not said */
    const char *last_modified; /* ISO 8601; NULL: not said */
    const mcp_icon *icons;     /* ends with {0}; NULL: none */
    const char *meta;          /* _meta in lists, text of a JSON object; NULL: none */

    /* What it contains: a text, or bytes, copied; or a handler that writes it. */
    const char *text;
    const void *data;
    size_t data_length;
    mcp_handler_fn *run;
    mcp_handler_fn *start;
    mcp_handler_fn *reply;
    void *user;

    unsigned flags;   /* mcp_handler_flags */
    int64_t limit_ms; /* as a tool's: anew for each run of a handler that asks */
    int64_t ttl_ms;   /* how long a reading may be kept */
    enum mcp_cache_scope scope;
} mcp_resource;

#define MCP_RESOURCE(...) ((mcp_resource){.size = sizeof(mcp_resource), __VA_ARGS__})

/* Offer a resource. The struct is copied. Clients are told that the list has changed.
 * MCP_E_INVAL: not a resource (err says why), or its URI is taken; MCP_E_NOMEM. [any]
 * */
MCP_API int mcp_server_add_resource(mcp_server *server, const mcp_resource *resource,
                                    mcp_error *err);

/* Withdraw it. MCP_E_INVAL: there is none of that URI. [any] */
MCP_API int mcp_server_remove_resource(mcp_server *server, const char *uri);

/* Resources without end: what a URI template describes. */
typedef struct mcp_template {
    size_t size;
    const char *uri_template; /* RFC 6570; by which it is removed */
    const char *name;         /* required */
    const char *title;
    const char *description;
    const char *mime_type; /* if all have the same */
    unsigned audience;
    double priority;
    const char *last_modified;
    const mcp_icon *icons;
    const char *meta;

    /* Reads one: mcp_request_name has its URI, mcp_request_argument the variables. It
     * may find that there is none: mcp_request_not_found. */
    mcp_handler_fn *run;
    mcp_handler_fn *start;
    mcp_handler_fn *reply;
    void *user;

    /* Completes a variable: mcp_request_complete_name says which. None: nothing is
     * proposed. */
    mcp_handler complete;

    unsigned flags;
    int64_t limit_ms;
    int64_t ttl_ms;
    enum mcp_cache_scope scope;
} mcp_template;

#define MCP_TEMPLATE(...) ((mcp_template){.size = sizeof(mcp_template), __VA_ARGS__})

/* A URI that is no resource's own is read by the first template that it matches, in the
 * order of the templates' texts. Statuses as above. */
MCP_API int mcp_server_add_template(mcp_server *server, const mcp_template *given,
                                    mcp_error *err);
MCP_API int mcp_server_remove_template(mcp_server *server, const char *uri_template);

/* The resource that was asked for does not exist: return what this returns. The client
 * gets -32602, or -32002 if it speaks 2025-11-25 or before, with the URI. */
MCP_API int mcp_request_not_found(mcp_request *req);

#ifdef __cplusplus
}
#endif
#endif
