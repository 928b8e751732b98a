/*
 * http_reply.c - the messages in one HTTP answer, JSON or a stream of events
 *
 * Whoever gets a message may free the reply while it is being read. So the reader of
 * events is lent to the call that reads: it stands on the stack there, and is put back
 * if there is still somebody to put it back to.
 */
#include "link/http_reply.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "link/http.h"
#include "wire/rpc.h"
#include "json/value.h"

#define BOM "\xEF\xBB\xBF"
#define NO_JSON "what came is no JSON"

/* Longest time that a server can ask for: a timer must fire. */
#define RETRY_MOST_MS ((int64_t)24 * 3600 * 1000)

/* ---- its parts ------------------------------------------------------------- */

static void
parts_init(struct mcpi_http_reply *reply)
{
    mcpi_buf_init(&reply->body, reply->mem, reply->max_bytes);
    mcpi_buf_init(&reply->last_id, reply->mem, MCPI_SSE_NAME_MAX + 1);
}

void
mcpi_http_reply_init(struct mcpi_http_reply *reply, const mcp_allocator *mem,
                     size_t max_bytes, size_t max_depth)
{
    *reply = (struct mcpi_http_reply){
        .mem = mcpi_mem_or_malloc(mem),
        .max_bytes = max_bytes,
        .max_depth = max_depth,
        .retry_us = -1,
    };
    parts_init(reply);
}

static void
reader_done(struct mcpi_http_reply *reply)
{
    if (reply->has_reader)
        mcpi_sse_reader_done(&reply->events);
    reply->has_reader = false;
}

void
mcpi_http_reply_done(struct mcpi_http_reply *reply)
{
    if (reply->gone)
        *reply->gone = true;
    reply->gone = NULL;
    reader_done(reply);
    mcpi_buf_done(&reply->body);
    mcpi_buf_done(&reply->last_id);
    parts_init(reply);
}

void
mcpi_http_reply_again(struct mcpi_http_reply *reply)
{
    reader_done(reply);
    mcpi_buf_clear(&reply->body);
    reply->body_len = 0;
    reply->kind = MCPI_REPLY_NONE;
    reply->status = 0;
    reply->type[0] = '\0';
    reply->fault = NULL;
}

/* A reader has seen to it that there are no line breaks, but an id may also come from a
 * user. */
static bool
id_is_sayable(const char *id)
{
    for (; *id != '\0'; id++)
        if ((unsigned char)*id < ' ' || *id == 0x7f)
            return false;
    return true;
}

int
mcpi_http_reply_set_id(struct mcpi_http_reply *reply, const char *event_id)
{
    struct mcpi_buf *into = &reply->last_id;

    mcpi_buf_clear(into);
    if (!id_is_sayable(event_id))
        return MCP_E_INVAL;
    if (*event_id == '\0')
        return 0;
    mcpi_buf_append(into, event_id, strlen(event_id) + 1);
    return into->status;
}

const char *
mcpi_http_reply_id(const struct mcpi_http_reply *reply)
{
    return reply->last_id.len > 0 ? reply->last_id.data : "";
}

/* ---- the head -------------------------------------------------------------- */

/* The media type alone: parameters such as charset say nothing that we want to know. */
static void
type_take(struct mcpi_http_reply *reply, const char *type)
{
    size_t len = type ? strcspn(type, "; \t") : 0;

    mcpi_text_clean(reply->type, sizeof(reply->type), type, len);
    for (char *at = reply->type; *at != '\0'; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
}

static bool
type_is(const struct mcpi_http_reply *reply, const char *type)
{
    return strcmp(reply->type, type) == 0;
}

/* Servers are careless about the type of an error. */
static bool
error_may_be_json(const struct mcpi_http_reply *reply)
{
    const char *plus = strrchr(reply->type, '+');

    return type_is(reply, "application/json") || type_is(reply, "text/plain") ||
           type_is(reply, "") || (plus && strcmp(plus, "+json") == 0);
}

static enum mcpi_http_reply_kind
kind_find(const struct mcpi_http_reply *reply)
{
    if (mcpi_http_reply_is_error(reply))
        return error_may_be_json(reply) ? MCPI_REPLY_JSON : MCPI_REPLY_OTHER;
    if (reply->status == 202 || reply->status == 204)
        return MCPI_REPLY_EMPTY;
    if (type_is(reply, "application/json"))
        return MCPI_REPLY_JSON;
    return type_is(reply, "text/event-stream") ? MCPI_REPLY_EVENTS : MCPI_REPLY_OTHER;
}

int
mcpi_http_reply_head(struct mcpi_http_reply *reply, const struct mcpi_fetch_head *head)
{
    reply->status = head->status;
    type_take(reply, head->find(head, "content-type"));
    reply->kind = kind_find(reply);
    if (reply->kind == MCPI_REPLY_EVENTS) {
        mcpi_sse_reader_init(&reply->events, reply->mem, reply->max_bytes);
        reply->has_reader = true;
    }
    if (mcpi_http_reply_is_error(reply) && type_is(reply, "text/event-stream"))
        return MCP_E_HTTP;
    return 0;
}

/* ---- messages -------------------------------------------------------------- */

static void
message_show(const struct mcpi_http_reply *reply, const char *text, size_t len, int r)
{
    const char *fault = NULL;

    if (r == MCP_E_SYNTAX)
        fault = NO_JSON;
    else if (r < 0)
        fault = mcp_status_text(r);
    reply->came(reply->user, text, len, fault);
}

/* MCP_E_PROTO: it is none, and reply->fault says why; ret->doc is then kept by what can be
 * told of it. */
static int
message_read(struct mcpi_http_reply *reply, const char *text, size_t len,
             struct mcpi_rpc *ret)
{
    const struct mcpi_json_limits limits = {reply->max_bytes, reply->max_depth};
    int r;

    r = mcpi_rpc_parse(reply->mem, text, len, &limits, ret);
    if (reply->came)
        message_show(reply, text, len, r);
    if (r == MCP_E_LIMIT)
        mcp_doc_free(ret->doc);
    if (r < 0 && r != MCP_E_SYNTAX)
        return r;
    if (ret->kind != MCPI_RPC_INVALID)
        return 0;
    reply->fault = r == MCP_E_SYNTAX ? NO_JSON : ret->fault_text;
    return MCP_E_PROTO;
}

/* ---- a stream of events ---------------------------------------------------- */

/* One call that reads: what it needs to know after each callback. */
struct reading {
    struct mcpi_http_reply *reply;
    bool gone;
};

/* An id that cannot be said back is as good as none: what came before it would be
 * resumed from too early, and heard twice. */
static int
event_mark(struct reading *reading, const struct mcpi_sse_event *event)
{
    struct mcpi_http_reply *reply = reading->reply;
    int r;

    if (event->retry_ms >= 0)
        reply->retry_us = 1000 * (event->retry_ms < RETRY_MOST_MS ? event->retry_ms
                                                                  : RETRY_MOST_MS);
    if (!event->has_id)
        return 0;
    r = mcpi_http_reply_set_id(reply, event->id);
    if (r == MCP_E_INVAL)
        return 0;
    if (r == 0 && reply->marked && reply->last_id.len > 0)
        reply->marked(reply->user, event->id);
    return reading->gone ? MCP_E_CLOSED : r;
}

/* What is no message is passed over, unless it names a request: that one is told of it. */
static int
event_read(struct mcpi_http_reply *reply, const struct mcpi_sse_event *event)
{
    struct mcpi_rpc rpc;
    int r;

    r = message_read(reply, event->data, event->data_len, &rpc);
    if (r < 0 && r != MCP_E_PROTO)
        return r;
    if (r == 0)
        reply->messages++;
    else
        reply->garbled++;
    if (r == 0 || rpc.id.kind != MCPI_ID_NONE)
        return reply->message(reply->user, &rpc);
    mcp_doc_free(rpc.doc);
    return 0;
}

static int
event_tell(struct mcpi_http_reply *reply, const struct mcpi_sse_event *event)
{
    if (event->type && *event->type && strcmp(event->type, "message") != 0)
        return reply->event ? reply->event(reply->user, event) : 0;
    if (event->data_len == 0)
        return 0; /* only for who resumes */
    return event_read(reply, event);
}

static int
event_take(void *user, const struct mcpi_sse_event *event)
{
    struct reading *reading = user;
    int r;

    r = event_mark(reading, event);
    if (r < 0)
        return r;
    r = event_tell(reading->reply, event);
    if (r < 0)
        return r;
    return reading->gone ? MCP_E_CLOSED : 0;
}

static int
events_feed(struct mcpi_http_reply *reply, const char *data, size_t len)
{
    struct mcpi_sse_reader reader = reply->events;
    struct reading reading = {.reply = reply};
    int r;

    reply->has_reader = false;
    reply->gone = &reading.gone;
    r = mcpi_sse_reader_feed(&reader, data, len, event_take, &reading);
    if (reading.gone) {
        mcpi_sse_reader_done(&reader);
        return r;
    }
    reply->gone = NULL;
    reply->events = reader;
    reply->has_reader = true;
    return r;
}

/* ---- a body of one piece --------------------------------------------------- */

static int
body_pass_over(const struct mcpi_http_reply *reply)
{
    if (reply->body_len <= MCPI_HTTP_SKIP_MAX)
        return 0;
    return mcpi_http_reply_is_error(reply) ? MCP_E_HTTP : MCP_E_LIMIT;
}

/* The body without what may stand before its text; NULL: there is no text. A parser wants
 * the byte order mark: it passes over one, and not over two. */
static const char *
body_text(const struct mcpi_buf *body, bool keep_bom, size_t *ret_len)
{
    size_t bom = sizeof(BOM) - 1, at;

    if (body->len < bom || memcmp(body->data, BOM, bom) != 0)
        bom = 0;
    for (at = bom; at < body->len; at++) {
        if (!body->data[at] || !strchr(" \t\r\n", body->data[at]))
            break;
    }
    *ret_len = 0;
    if (at == body->len)
        return NULL;
    if (bom > 0 && keep_bom)
        at = 0;
    *ret_len = body->len - at;
    return body->data + at;
}

/* An error whose text is no object is no message: only its beginning is of interest. */
static int
error_keep(struct mcpi_http_reply *reply, const char *data, size_t len)
{
    struct mcpi_buf *body = &reply->body;
    size_t first = 0, text_len;
    const char *text;

    if (body->len < MCPI_HTTP_EXCERPT_MAX)
        first = MCPI_HTTP_EXCERPT_MAX - body->len;
    if (first > len)
        first = len;
    mcpi_buf_append(body, data, first);
    text = body_text(body, false, &text_len);
    if (len > first && (!text || *text != '{'))
        return body_pass_over(reply);
    mcpi_buf_append(body, data + first, len - first);
    return body->status == MCP_E_LIMIT ? MCP_E_HTTP : body->status;
}

int
mcpi_http_reply_body(struct mcpi_http_reply *reply, const char *data, size_t len)
{
    if (len == 0)
        return 0;
    if (reply->kind == MCPI_REPLY_EVENTS)
        return events_feed(reply, data, len);
    reply->body_len += len;
    if (reply->kind != MCPI_REPLY_JSON)
        return reply->kind == MCPI_REPLY_OTHER && !mcpi_http_reply_is_error(reply)
                   ? MCP_E_PROTO
                   : body_pass_over(reply);
    if (mcpi_http_reply_is_error(reply))
        return error_keep(reply, data, len);
    mcpi_buf_append(&reply->body, data, len);
    return reply->body.status;
}

/* ---- the end --------------------------------------------------------------- */

/* Text that a person wrote for a person: short, and neither JSON nor a page. */
static const char *
body_remark(const struct mcpi_http_reply *reply, size_t *ret_len)
{
    const char *text = body_text(&reply->body, false, ret_len);

    if (reply->has_remark)
        return text;
    if (reply->body_len > MCPI_HTTP_EXCERPT_MAX || reply->body.status < 0)
        return NULL;
    if (!type_is(reply, "text/plain") && !type_is(reply, ""))
        return NULL;
    return text && !strchr("<{[", *text) ? text : NULL;
}

static void
error_say(const struct mcpi_http_reply *reply, char *why, size_t size)
{
    char remark[MCPI_HTTP_EXCERPT_MAX + 1] = "";
    const char *reason = "", *text;
    size_t len;

    if (reply->status >= 400)
        reason = mcpi_http_reason(reply->status);
    text = body_remark(reply, &len);
    while (text && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    mcpi_text_clean(remark, sizeof(remark), text, len);
    if (strcasecmp(remark, reason) == 0) /* many say it twice */
        remark[0] = '\0';
    (void)snprintf(why, size, "HTTP %d%s%s%s%s", reply->status, *reason ? " " : "",
                   reason, *remark ? ": " : "", remark);
}

static void
proto_say(const struct mcpi_http_reply *reply, char *why, size_t size)
{
    if (reply->fault)
        (void)snprintf(why, size, "%s", reply->fault);
    else if (reply->kind == MCPI_REPLY_EMPTY)
        (void)snprintf(why, size, "HTTP %d is no answer", reply->status);
    else if (reply->type[0] != '\0')
        (void)snprintf(why, size, "%s is no answer", reply->type);
    else
        (void)snprintf(why, size, "an answer without a type");
}

void
mcpi_http_reply_explain(const struct mcpi_http_reply *reply, int status, char *why,
                        size_t size)
{
    if (status == MCP_E_HTTP)
        error_say(reply, why, size);
    else if (status == MCP_E_PROTO)
        proto_say(reply, why, size);
    else if (status == MCP_E_LIMIT)
        (void)snprintf(why, size, "a message is longer than %zu bytes, or too deep",
                       reply->max_bytes);
    else
        (void)snprintf(why, size, "%s", mcp_status_text(status));
}

/* Is this about HTTP, and not what was asked for? Servers that refuse before they have read
 * a message know no id. */
static bool
is_refusal(const struct mcpi_http_reply *reply, const struct mcpi_rpc *rpc)
{
    struct mcpi_id said, asked;

    if (!reply->asked || rpc->kind != MCPI_RPC_ERROR ||
        rpc->error_code == MCPI_RPC_HEADER_MISMATCH ||
        rpc->error_code == MCPI_RPC_MISSING_CAPABILITY ||
        rpc->error_code == MCPI_RPC_UNSUPPORTED_VERSION)
        return false;
    said = mcpi_id_fold(rpc->id);
    asked = mcpi_id_fold(*reply->asked);
    return !mcpi_id_same(&said, &asked);
}

/* Keep what it said, in place of its body. */
static int
refusal_read(struct mcpi_http_reply *reply, const struct mcpi_rpc *rpc)
{
    if (!is_refusal(reply, rpc))
        return 0;
    mcpi_buf_clear(&reply->body);
    mcpi_buf_text(&reply->body, rpc->error_message);
    reply->has_remark = true;
    mcp_doc_free(rpc->doc);
    return MCP_E_HTTP;
}

static int
body_message(struct mcpi_http_reply *reply, const char *text, size_t len,
             struct mcpi_rpc *ret)
{
    int r = message_read(reply, text, len, ret);

    if (r == MCP_E_PROTO)
        mcp_doc_free(ret->doc);
    if (!mcpi_http_reply_is_error(reply))
        return r;
    if (r == 0)
        return refusal_read(reply, ret);
    return r == MCP_E_NOMEM ? r : MCP_E_HTTP;
}

/* What a whole body was. 1: a message; 0: nothing, and nothing had to be. */
static int
body_read(struct mcpi_http_reply *reply, struct mcpi_rpc *ret)
{
    bool is_error = mcpi_http_reply_is_error(reply);
    const char *text;
    size_t len;
    int r;

    text = body_text(&reply->body, true, &len);
    if (text) {
        r = body_message(reply, text, len, ret);
        return r < 0 ? r : 1;
    }
    if (!is_error && reply->kind != MCPI_REPLY_EVENTS)
        reply->kind = MCPI_REPLY_EMPTY;
    return is_error ? MCP_E_HTTP : 0;
}

int
mcpi_http_reply_end(struct mcpi_http_reply *reply, char *why, size_t size)
{
    struct mcpi_rpc rpc;
    int r;

    if (reply->kind == MCPI_REPLY_NONE) {
        reply->fault = "an answer without a head";
        r = MCP_E_PROTO;
    } else {
        r = body_read(reply, &rpc);
    }
    if (r < 0) {
        mcpi_http_reply_explain(reply, r, why, size);
        return r;
    }
    if (r == 0)
        return 0;
    reply->messages++;
    return reply->message(reply->user, &rpc);
}
