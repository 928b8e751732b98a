/*
 * mcp/base.h - statuses, errors, memory and logging: what every other header uses
 *
 * How to read these headers
 *
 *   Return   0 is success, a negative MCP_E_* is failure. Nothing else.
 *   *ret_x   written on success only. Never touched on failure.
 *   *err     written on failure only. Last parameter, may be NULL.
 *   take     the callee owns it after success; after failure you still do.
 *   borrow   valid until the event the comment names. Copy it to keep it.
 *   free     every mcp_x_free(NULL) is a no-op.
 *   [loop]   on that object's loop thread, or before the loop runs.   [any] any thread.
 *
 * Option structs begin with their own size and are filled by a macro of the same name
 * in capitals: members not named are zero, and zero means "the default". A program
 * built against an older or a newer header than the library it meets keeps working:
 * members one side does not know count as zero, and a member the library does not know
 * but the program set is refused with MCP_E_INVAL rather than ignored.
 */
#ifndef MCP_BASE_H
#define MCP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MCP_API __attribute__((visibility("default")))
#define MCP_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define MCP_API
#define MCP_PRINTF(text, first)
#endif

/* One list makes the enum, the names and the sentences. Values never change. */
#define MCP_STATUS_MAP(X)                                          \
    X(MCP_E_NOMEM, -1, "out of memory")                            \
    X(MCP_E_INVAL, -2, "invalid argument")                         \
    X(MCP_E_STATE, -3, "not possible in this state")               \
    X(MCP_E_CANCELED, -4, "canceled")                              \
    X(MCP_E_TIMEOUT, -5, "timed out")                              \
    X(MCP_E_TOTAL_TIMEOUT, -6, "total time used up")               \
    X(MCP_E_CLOSED, -7, "connection closed")                       \
    X(MCP_E_ID_IN_USE, -8, "request id is in flight")              \
    X(MCP_E_PEER, -9, "peer answered with an error")               \
    X(MCP_E_SEND_FAILED, -10, "message could not be sent")         \
    X(MCP_E_NO_CHANNEL, -11, "the peer cannot be asked from here") \
    X(MCP_E_LIMIT, -12, "limit reached")                           \
    X(MCP_E_INPUT, -13, "input required")                          \
    X(MCP_E_AGAIN, -14, "try again")                               \
    X(MCP_E_PROTO, -15, "peer broke the protocol")                 \
    X(MCP_E_SYNTAX, -16, "not valid JSON")                         \
    X(MCP_E_HTTP, -17, "refused by HTTP, without a message")       \
    X(MCP_E_AUTH, -18, "not authorized")

enum mcp_status {
    MCP_OK = 0,
#define MCP_STATUS_ENUM(name, value, text) name = (value),
    MCP_STATUS_MAP(MCP_STATUS_ENUM)
#undef MCP_STATUS_ENUM
};

/* A sentence for a status, never NULL. [any] */
MCP_API const char *mcp_status_text(int status);

/* The name of a status, "MCP_E_TIMEOUT", never NULL. [any] */
MCP_API const char *mcp_status_name(int status);

/* What went wrong, in full. Lives on the caller's stack; never needs freeing. */
typedef struct mcp_error {
    int status;        /* MCP_E_* */
    int rpc_code;      /* JSON-RPC code if status is MCP_E_PEER, else 0 */
    int http_status;   /* 503, say, if status is MCP_E_HTTP; 401 or 403 if MCP_E_AUTH
                          came of one; else 0 */
    char message[240]; /* one sentence, no newline, always terminated */
} mcp_error;

/*
 * Where memory comes from. An object takes its allocator when it is made and hands it
 * to everything it makes. NULL means malloc. The functions may be called from any
 * thread that uses the object; realloc(NULL) is never called, nor alloc or realloc with
 * size 0.
 */
typedef struct mcp_allocator {
    void *(*alloc)(void *user, size_t size);
    void *(*realloc)(void *user, void *ptr, size_t size);
    void (*free)(void *user, void *ptr);
    void *user;
} mcp_allocator;

enum mcp_log_level {
    MCP_LOG_SILENT = 0,
    MCP_LOG_ERROR = 1,
    MCP_LOG_WARNING = 2,
    MCP_LOG_INFO = 3,
    MCP_LOG_DEBUG = 4
};

/* One line, no newline; borrowed for the call. Called on any thread of the object that
 * logs; must not call back into it. */
typedef void mcp_log_fn(void *user, enum mcp_log_level level, const char *line);

/* Which protocol eras to speak. A server serves those; a client looks for one of them,
 * the modern one first. */
enum mcp_era {
    MCP_ERA_BOTH = 0,
    MCP_ERA_MODERN, /* 2026-07-28 only */
    MCP_ERA_LEGACY  /* 2025-11-25 and before only */
};

/* How urgent a log message of the protocol is (RFC 5424). Our own log, above, is
 * another thing: it is for who runs the program, and never sent. */
enum mcp_severity {
    MCP_SEVERITY_NONE = 0,
    MCP_SEVERITY_DEBUG,
    MCP_SEVERITY_INFO,
    MCP_SEVERITY_NOTICE,
    MCP_SEVERITY_WARNING,
    MCP_SEVERITY_ERROR,
    MCP_SEVERITY_CRITICAL,
    MCP_SEVERITY_ALERT,
    MCP_SEVERITY_EMERGENCY
};

/* What may change while a client looks; also as a set. */
enum mcp_change {
    MCP_TOOLS_CHANGED = 1,     /* the list */
    MCP_PROMPTS_CHANGED = 2,   /* the list */
    MCP_RESOURCES_CHANGED = 4, /* the list, or that of templates */
    MCP_RESOURCE_UPDATED = 8   /* what one resource contains */
};

/* For whom a result may be kept (2026-07-28). */
enum mcp_cache_scope {
    MCP_CACHE_PRIVATE = 0, /* for who asked */
    MCP_CACHE_PUBLIC       /* for everybody */
};

typedef struct mcp_icon {
    const char *src;       /* https: or data: URI */
    const char *mime_type; /* NULL: not said */
    const char *sizes;     /* "48x48", "any", several with spaces; NULL: not said */
    const char *theme;     /* "light" or "dark"; NULL: any */
} mcp_icon;

/* The version of the library in use, "0.1.0". [any] */
MCP_API const char *mcp_version(void);

#ifdef __cplusplus
}
#endif
#endif
