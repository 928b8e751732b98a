/* meta.h - the `_meta` member: the protocol's own keys, read and stamped */
#ifndef MCPI_WIRE_META_H
#define MCPI_WIRE_META_H

#include "wire/id.h"

/* The stamp that makes a request a modern one. */
#define MCPI_META_VERSION "io.modelcontextprotocol/protocolVersion"

/* A view of params._meta; absent members are NULL or NONE. */
struct mcpi_meta {
    const mcp_json *object;              /* the _meta object itself, or NULL */
    const char *version;                 /* io.modelcontextprotocol/protocolVersion */
    const mcp_json *client_info;         /* object */
    const mcp_json *client_capabilities; /* object */
    const char *log_level;
    struct mcpi_id progress_token; /* NONE also for what is no token (A12) */
    struct mcpi_id subscription_id;
};

/* Read it. MCP_E_PROTO if _meta is no object, names a key twice, or gives one of the
 * protocol's keys a value of the wrong type; *ret_fault then is a constant sentence.
 * A progress token or subscription id of the wrong type is no fault: it just is none
 * (A12). params NULL, or without _meta: all members NULL or NONE. */
int mcpi_meta_read(const mcp_json *params, struct mcpi_meta *ret,
                   const char **ret_fault);

/* What a request of ours carries; borrowed. version and log_level are plain UTF-8. */
struct mcpi_stamp {
    const char *version;     /* NULL: legacy, none of the next three is written */
    const char *client_info; /* JSON object text, or NULL */
    const char *client_capabilities;      /* JSON object text; NULL: {} */
    const char *log_level;                /* NULL: none */
    const struct mcpi_id *progress_token; /* NULL: none */
    const char *members; /* the caller's own members: text of a JSON object */
    size_t members_len;  /* 0: none */
};

/* Append `"_meta":{...}` with what the stamp has; appends nothing and returns false
 * if it has nothing. The caller's own members come first; they must not name the
 * protocol's keys: mcpi_meta_reserved tells. */
bool mcpi_meta_write(struct mcpi_buf *buf, const struct mcpi_stamp *stamp);

/* Append `"_meta":{...}` of a result: the handler's own members, text of a JSON
 * object or empty, and who answers, a JSON object text. */
void mcpi_meta_write_result(struct mcpi_buf *buf, const char *members, size_t len,
                            const char *server_info);

/* Append a _meta object that says to which subscription a message belongs. */
void mcpi_meta_write_subscription(struct mcpi_buf *buf, const struct mcpi_id *id);

/* Is this one of the keys that the library stamps itself? */
bool mcpi_meta_reserved(const char *key, size_t len);

/* The text between the braces of a JSON object text: "" for "{}" and for no text.
 * Whitespace around the braces is not expected: our own builder wrote it. */
void mcpi_members(const char *object, size_t len, const char **ret, size_t *ret_len);

#endif
