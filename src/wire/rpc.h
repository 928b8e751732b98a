/*
 * rpc.h - the JSON-RPC envelope: what kind of message is this, and is it one at all
 *
 * Reading never fails: what is no message comes back as MCPI_RPC_INVALID with the code
 * to answer, if an answer is due. Batches are refused, at 2025-03-26 too: a documented
 * deviation. Keys named twice in the envelope are refused.
 */
#ifndef MCPI_WIRE_RPC_H
#define MCPI_WIRE_RPC_H

#include "base/text.h"
#include "wire/id.h"
#include "wire/method.h"

enum mcpi_rpc_code {
    MCPI_RPC_PARSE_ERROR = -32700,
    MCPI_RPC_INVALID_REQUEST = -32600,
    MCPI_RPC_METHOD_NOT_FOUND = -32601,
    MCPI_RPC_INVALID_PARAMS = -32602,
    MCPI_RPC_INTERNAL_ERROR = -32603,
    MCPI_RPC_CONNECTION_CLOSED = -32000,  /* legacy era only, SDK custom */
    MCPI_RPC_RESOURCE_NOT_FOUND = -32002, /* legacy era only */
    MCPI_RPC_HEADER_MISMATCH = -32020,
    MCPI_RPC_MISSING_CAPABILITY = -32021,
    MCPI_RPC_UNSUPPORTED_VERSION = -32022,
    MCPI_RPC_REQUEST_CANCELED = -32800
};

enum mcpi_rpc_kind {
    MCPI_RPC_INVALID = 0,
    MCPI_RPC_REQUEST,
    MCPI_RPC_NOTIFICATION,
    MCPI_RPC_RESULT,
    MCPI_RPC_ERROR
};

/* A view of a message; everything is borrowed from its document. */
struct mcpi_rpc {
    enum mcpi_rpc_kind kind;
    enum mcpi_method method; /* REQUEST, NOTIFICATION; INVALID if it names one */
    const char *method_name; /* likewise; else NULL */
    size_t method_len;
    mcp_doc *doc;           /* that document, for who wants to keep it; may be NULL */
    struct mcpi_id id;      /* verbatim; NONE for notifications and null-id errors */
    const mcp_json *params; /* an object, or NULL if absent */
    const mcp_json *result; /* RESULT: always an object */
    const mcp_json *error_data; /* ERROR */
    union {
        const char *error_message; /* ERROR */
        const char *fault_text;    /* INVALID: a sentence, constant */
    };
    union {
        int error_code; /* ERROR */
        int fault;      /* INVALID: the JSON-RPC code that describes it */
    };
    bool fault_answerable; /* INVALID: an error is due, with the id if there is one: it
                              was neither a notification nor a response */
    bool fault_unparsed;   /* INVALID: the text is not JSON, or is beyond a limit; id is
                              what could still be told of it (wire/broken.h) */
};

struct mcpi_json_limits;

/* What a peer sent, from its text. 0; or INVALID with MCP_E_SYNTAX or MCP_E_LIMIT, and
 * ret->doc then only keeps the id, or is NULL; or MCP_E_NOMEM, and nothing is set. Free
 * ret->doc. Lenient: see mcpi_doc_parse_lenient. */
int mcpi_rpc_parse(const mcp_allocator *mem, const char *text, size_t len,
                   const struct mcpi_json_limits *limits, struct mcpi_rpc *ret);

void mcpi_rpc_read(const mcp_json *root, struct mcpi_rpc *ret);

/* Writing: the envelope's beginning, up to where params, result or error begin. The
 * caller appends the value and closes the brace.
 *   request:      {"jsonrpc":"2.0","id":ID,"method":"M"
 *   notification: {"jsonrpc":"2.0","method":"M"
 *   answer:       {"jsonrpc":"2.0","id":ID         (id NONE: the member is left out)
 */
void mcpi_rpc_write_request(struct mcpi_buf *buf, const struct mcpi_id *id,
                            const char *method, size_t method_len);
void mcpi_rpc_write_note(struct mcpi_buf *buf, const char *method, size_t method_len);
void mcpi_rpc_write_answer(struct mcpi_buf *buf, const struct mcpi_id *id);

/* A whole error answer. data: JSON text; none if data_len is 0. message must be UTF-8. */
void mcpi_rpc_write_error(struct mcpi_buf *buf, const struct mcpi_id *id, int code,
                          const char *message, const char *data, size_t data_len);

/* Longest cancel frame: six bytes for each escaped byte of id and reason, and the
 * rest. */
#define MCPI_FRAME_MAX 4096

/* A whole cancel frame, params.requestId and params.reason. The reason is left out if
 * it is "" or not UTF-8, and cut above MCPI_REASON_MAX. With an id of at most
 * MCPI_ID_MAX bytes it never exceeds MCPI_FRAME_MAX (C3). */
void mcpi_rpc_write_cancel(struct mcpi_buf *buf, const struct mcpi_id *id,
                           const char *reason);

#endif
