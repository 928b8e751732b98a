/*
 * rpc.c - the JSON-RPC envelope, read and written
 *
 * Reading is one walk over the members, then the rules in their order. Whether an error
 * is due to what is no message follows from what it tried to be: nobody answers what
 * names a method and has no id (a notification, F16) or carries a result or an error (a
 * response); whoever sent anything else may be waiting. An id is given back only if it
 * is the one id of the message: from an envelope that names it twice none is taken.
 */
#include "wire/rpc.h"

#include <assert.h>
#include <string.h>

#include "wire/broken.h"
#include "json/value.h"

struct envelope {
    const mcp_json *jsonrpc, *id, *method, *params, *result, *error;
    bool duplicates; /* it names a key twice */
    bool has_id;     /* and this one once */
};

/* The slot of a member, or NULL for one that is not ours. */
static const mcp_json **
envelope_slot(struct envelope *e, const char *key, size_t len)
{
    switch (len) {
    case 2:
        return memcmp(key, "id", 2) == 0 ? &e->id : NULL;
    case 5:
        return memcmp(key, "error", 5) == 0 ? &e->error : NULL;
    case 6:
        if (memcmp(key, "method", 6) == 0)
            return &e->method;
        if (memcmp(key, "params", 6) == 0)
            return &e->params;
        return memcmp(key, "result", 6) == 0 ? &e->result : NULL;
    case 7:
        return memcmp(key, "jsonrpc", 7) == 0 ? &e->jsonrpc : NULL;
    default:
        return NULL;
    }
}

static void
envelope_read(struct envelope *e, const mcp_json *root)
{
    const mcp_json **slot;
    mcp_json_iterator it;
    unsigned others = 0;
    size_t ids = 0;

    *e = (struct envelope){.jsonrpc = NULL};
    for (it = mcp_json_each(root); mcp_json_next(&it);) {
        slot = envelope_slot(e, mcp_json_string(it.key, ""),
                             mcp_json_string_length(it.key));
        if (!slot)
            others++;
        else if (!*slot)
            *slot = it.value;
        else
            e->duplicates = true;
        ids += slot == &e->id;
    }
    e->has_id = ids == 1;
    if (others > 1 && !e->duplicates)
        e->duplicates = mcpi_json_has_duplicates(root);
}

/* Is somebody waiting for an answer to this, whatever it is? */
static bool
envelope_expects_answer(const struct envelope *e)
{
    if (mcp_json_get_type(e->method) == MCP_JSON_STRING)
        return e->id;
    return e->method || (!e->result && !e->error);
}

static bool
is_object(const mcp_json *value)
{
    return mcp_json_get_type(value) == MCP_JSON_OBJECT;
}

static void
rpc_fault(struct mcpi_rpc *rpc, int code, const char *text)
{
    rpc->kind = MCPI_RPC_INVALID;
    rpc->fault = code;
    rpc->fault_text = text;
}

static void
rpc_read_call(struct mcpi_rpc *rpc, const struct envelope *e)
{
    if (!rpc->method_name) {
        rpc_fault(rpc, MCPI_RPC_INVALID_REQUEST, "method must be a string");
        return;
    }
    if (e->id && rpc->id.kind == MCPI_ID_NONE) {
        rpc_fault(rpc, MCPI_RPC_INVALID_REQUEST, "id must be a string or an integer");
        return;
    }
    if (e->params && !is_object(e->params)) {
        rpc_fault(rpc, MCPI_RPC_INVALID_PARAMS, "params must be an object");
        return;
    }
    rpc->params = e->params;
    rpc->kind = e->id ? MCPI_RPC_REQUEST : MCPI_RPC_NOTIFICATION;
}

static void
rpc_read_result(struct mcpi_rpc *rpc, const struct envelope *e)
{
    if (rpc->id.kind == MCPI_ID_NONE) {
        rpc_fault(rpc, MCPI_RPC_INVALID_REQUEST,
                  "a result must have the id of a request");
        return;
    }
    if (!is_object(e->result)) {
        rpc_fault(rpc, MCPI_RPC_INVALID_REQUEST, "result must be an object");
        return;
    }
    rpc->result = e->result;
    rpc->kind = MCPI_RPC_RESULT;
}

static void
rpc_read_error(struct mcpi_rpc *rpc, const struct envelope *e)
{
    int64_t code;

    if (e->id && rpc->id.kind == MCPI_ID_NONE &&
        mcp_json_get_type(e->id) != MCP_JSON_NULL) {
        rpc_fault(rpc, MCPI_RPC_INVALID_REQUEST, "id must be a string or an integer");
        return;
    }
    if (!is_object(e->error) || mcpi_json_has_duplicates(e->error)) {
        rpc_fault(rpc, MCPI_RPC_INVALID_REQUEST,
                  "error must be an object that names each key once");
        return;
    }
    if (mcp_json_to_int64(mcp_json_get(e->error, "code"), &code) != 0 ||
        code < INT32_MIN || code > INT32_MAX) {
        rpc_fault(rpc, MCPI_RPC_INVALID_REQUEST, "error.code must be a 32-bit integer");
        return;
    }
    rpc->error_code = (int)code;
    rpc->error_message = mcp_json_string(mcp_json_get(e->error, "message"), "");
    rpc->error_data = mcp_json_get(e->error, "data");
    rpc->kind = MCPI_RPC_ERROR;
}

static void
rpc_read_object(struct mcpi_rpc *rpc, const struct envelope *e)
{
    rpc->method_name = mcp_json_string(e->method, NULL);
    rpc->method_len = mcp_json_string_length(e->method);
    if (rpc->method_name)
        rpc->method = mcpi_method_find(rpc->method_name, rpc->method_len);
    if (e->has_id)
        rpc->id = mcpi_id_read(e->id);
    if (e->duplicates)
        rpc_fault(rpc, MCPI_RPC_INVALID_REQUEST, "the message names a key twice");
    else if (!mcp_json_is_string(e->jsonrpc, "2.0"))
        rpc_fault(rpc, MCPI_RPC_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
    else if (!!e->method + !!e->result + !!e->error != 1)
        rpc_fault(rpc, MCPI_RPC_INVALID_REQUEST,
                  "a message has one of method, result and error");
    else if (e->method)
        rpc_read_call(rpc, e);
    else if (e->result)
        rpc_read_result(rpc, e);
    else
        rpc_read_error(rpc, e);
}

void
mcpi_rpc_read(const mcp_json *root, struct mcpi_rpc *ret)
{
    struct envelope e;

    *ret = (struct mcpi_rpc){.kind = MCPI_RPC_INVALID};
    if (is_object(root)) {
        envelope_read(&e, root);
        rpc_read_object(ret, &e);
        ret->fault_answerable = ret->kind == MCPI_RPC_INVALID &&
                                envelope_expects_answer(&e);
        if (ret->fault_answerable && e.has_id && ret->id.kind == MCPI_ID_NONE)
            ret->id = mcpi_id_read_refused(e.id);
        return;
    }
    if (mcp_json_get_type(root) == MCP_JSON_ARRAY)
        rpc_fault(ret, MCPI_RPC_INVALID_REQUEST, "batches are not supported");
    else
        rpc_fault(ret, MCPI_RPC_INVALID_REQUEST, "a message must be an object");
    ret->fault_answerable = true;
}

int
mcpi_rpc_parse(const mcp_allocator *mem, const char *text, size_t len,
               const struct mcpi_json_limits *limits, struct mcpi_rpc *ret)
{
    mcp_doc *doc;
    int r;

    r = mcpi_doc_parse_lenient(mem, text, len, limits, &doc);
    if (r == 0) {
        mcpi_rpc_read(mcp_doc_root(doc), ret);
        ret->doc = doc;
    } else if (r == MCP_E_SYNTAX) {
        mcpi_broken_read(mem, text, len, MCPI_RPC_PARSE_ERROR, "Parse error", ret);
    } else if (r == MCP_E_LIMIT) {
        mcpi_broken_read(mem, text, len, MCPI_RPC_INVALID_REQUEST,
                         len > limits->max_bytes ? "Invalid request: message too long"
                                                 : "Invalid request: nested too deep",
                         ret);
    }
    return r;
}

static void
string_write(struct mcpi_buf *buf, const char *text, size_t len)
{
    int r = mcpi_json_write_string(buf, text, len);

    assert(r != MCP_E_INVAL);
    (void)r; /* what else can fail is the buffer's, and stays there */
}

void
mcpi_rpc_write_request(struct mcpi_buf *buf, const struct mcpi_id *id,
                       const char *method, size_t method_len)
{
    MCPI_BUF_LITERAL(buf, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcpi_id_write(buf, id);
    MCPI_BUF_LITERAL(buf, ",\"method\":");
    string_write(buf, method, method_len);
}

void
mcpi_rpc_write_note(struct mcpi_buf *buf, const char *method, size_t method_len)
{
    MCPI_BUF_LITERAL(buf, "{\"jsonrpc\":\"2.0\",\"method\":");
    string_write(buf, method, method_len);
}

void
mcpi_rpc_write_answer(struct mcpi_buf *buf, const struct mcpi_id *id)
{
    MCPI_BUF_LITERAL(buf, "{\"jsonrpc\":\"2.0\"");
    if (id->kind == MCPI_ID_NONE)
        return;
    MCPI_BUF_LITERAL(buf, ",\"id\":");
    mcpi_id_write(buf, id);
}

void
mcpi_rpc_write_error(struct mcpi_buf *buf, const struct mcpi_id *id, int code,
                     const char *message, const char *data, size_t data_len)
{
    mcpi_rpc_write_answer(buf, id);
    MCPI_BUF_LITERAL(buf, ",\"error\":{\"code\":");
    mcpi_buf_int(buf, code);
    MCPI_BUF_LITERAL(buf, ",\"message\":");
    string_write(buf, message, strlen(message));
    if (data_len > 0) {
        MCPI_BUF_LITERAL(buf, ",\"data\":");
        mcpi_buf_append(buf, data, data_len);
    }
    MCPI_BUF_LITERAL(buf, "}}");
}

void
mcpi_rpc_write_cancel(struct mcpi_buf *buf, const struct mcpi_id *id,
                      const char *reason)
{
    const char *method = mcpi_method_name(MCPI_METHOD_NOTE_CANCELED);
    size_t len = mcpi_utf8_cut(reason, strlen(reason), MCPI_REASON_MAX);

    mcpi_rpc_write_note(buf, method, strlen(method));
    MCPI_BUF_LITERAL(buf, ",\"params\":{\"requestId\":");
    mcpi_id_write(buf, id);
    /* A reason that is not UTF-8 is left out: the cancel matters, its wording does
     * not. */
    if (len > 0 && mcpi_utf8_valid(reason, len)) {
        MCPI_BUF_LITERAL(buf, ",\"reason\":");
        string_write(buf, reason, len);
    }
    MCPI_BUF_LITERAL(buf, "}}");
}
