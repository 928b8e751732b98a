/*
 * logging.c - log messages for clients: who wants which, and sending them
 *
 * 2026-07-28: a request says which messages about it are wanted; none if it does not.
 * Before that: a session does, for all that happens in it; until it has said so, from
 * "info" on (2025-11-25, server/utilities/logging, leaves that to the server).
 *
 * What a request's client wants is noted in the request, so that its handler can ask on
 * any thread; a session that changes its mind changes it in those that run.
 */
#include "api/logging.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/methods.h"
#include "api/server.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/peer.h"
#include "wire/severity.h"

static const char levels[] = "level must be debug, info, notice, warning, error, "
                             "critical, alert or emergency";

static enum mcp_severity
severity_of(const char *level, enum mcp_severity otherwise)
{
    return level ? mcpi_severity_find(level, strlen(level)) : otherwise;
}

enum mcp_severity
mcpi_peer_log_from(const struct mcpi_peer *peer)
{
    return severity_of(peer->log_level, MCP_SEVERITY_INFO);
}

enum mcp_severity
mcpi_log_from(const mcp_server *server, const struct mcpi_exchange *x)
{
    if (server->no_logging)
        return MCP_SEVERITY_NONE;
    return severity_of(x->caller.log_level, x->caller.dialect->modern
                                                ? MCP_SEVERITY_NONE
                                                : MCP_SEVERITY_INFO);
}

/* ---- the text of a message ---------------------------------------------- */

static bool
logger_is_sane(const char *logger)
{
    return !logger || mcpi_utf8_valid(logger, strlen(logger));
}

/* All but data and the last brace. */
static void
message_begin(struct mcpi_buf *buf, enum mcp_severity severity, const char *logger)
{
    MCPI_BUF_LITERAL(buf, "{\"level\":\"");
    mcpi_buf_text(buf, mcpi_severity_name(severity));
    if (logger) {
        MCPI_BUF_LITERAL(buf, "\",\"logger\":");
        (void)mcpi_json_write_string(buf, logger, strlen(logger)); /* it is UTF-8 */
        MCPI_BUF_LITERAL(buf, ",\"data\":");
    } else {
        MCPI_BUF_LITERAL(buf, "\",\"data\":");
    }
}

static int
message_end(struct mcpi_buf *buf)
{
    mcpi_buf_char(buf, '}');
    return buf->status;
}

/* Printed again: a message is one line. */
static int
message_of_json(struct mcpi_buf *buf, enum mcp_severity severity, const char *logger,
                const char *data, size_t length)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = buf->mem);
    mcp_doc *doc;
    int r;

    r = mcp_doc_parse(data, length, &opt, &doc, NULL);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : MCP_E_INVAL;
    message_begin(buf, severity, logger);
    mcpi_json_write(buf, mcp_doc_root(doc));
    mcp_doc_free(doc);
    return message_end(buf);
}

MCP_PRINTF(4, 0)
static int
message_of_text(struct mcpi_buf *buf, enum mcp_severity severity, const char *logger,
                const char *format, va_list args)
{
    va_list again;
    char *text;
    int len, r;

    va_copy(again, args);
    len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (len < 0)
        return MCP_E_INVAL;
    text = mcpi_alloc(buf->mem, (size_t)len + 1);
    if (!text)
        return MCP_E_NOMEM;
    (void)vsnprintf(text, (size_t)len + 1, format, args);
    message_begin(buf, severity, logger);
    r = mcpi_json_write_string(buf, text, strlen(text));
    mcpi_free(buf->mem, text);
    return r < 0 ? r : message_end(buf);
}

/* ---- about a request ---------------------------------------------------- */

bool
mcp_request_logs(const mcp_request *req, enum mcp_severity severity)
{
    enum mcp_severity from;

    if (!req || !mcpi_severity_is_one(severity) || mcp_request_is_canceled(req) ||
        atomic_load(&req->over))
        return false;
    from = atomic_load_explicit(&req->log_from, memory_order_relaxed);
    return from != MCP_SEVERITY_NONE && severity >= from;
}

/* 0: go on, if it is wanted. */
static int
log_check(const mcp_request *req, enum mcp_severity severity, const char *logger)
{
    if (!req || !mcpi_severity_is_one(severity) || !logger_is_sane(logger))
        return MCP_E_INVAL;
    if (mcp_request_is_canceled(req))
        return MCP_E_CANCELED;
    if (atomic_load(&req->over) || mcpi_host_guard(req->host) < 0)
        return MCP_E_STATE;
    return 0;
}

/* The longest message is a constant of the engine. */
static void
log_buf_init(struct mcpi_buf *buf, const struct mcpi_host *host)
{
    mcpi_buf_init(buf, host->mem, host->engine->limits.message_bytes);
}

int
mcp_request_log(mcp_request *req, enum mcp_severity severity, const char *logger,
                const char *format, ...)
{
    struct mcpi_buf buf;
    va_list args;
    int r;

    r = format ? log_check(req, severity, logger) : MCP_E_INVAL;
    if (r < 0 || !mcp_request_logs(req, severity))
        return r;
    log_buf_init(&buf, req->host);
    va_start(args, format);
    r = message_of_text(&buf, severity, logger, format, args);
    va_end(args);
    if (r == 0)
        r = mcpi_request_send_note(req, mcpi_method_name(MCPI_METHOD_NOTE_MESSAGE),
                                   buf.data, buf.len);
    mcpi_buf_done(&buf);
    return r;
}

int
mcp_request_log_json(mcp_request *req, enum mcp_severity severity, const char *logger,
                     const char *data, size_t length)
{
    struct mcpi_buf buf;
    int r;

    r = data ? log_check(req, severity, logger) : MCP_E_INVAL;
    if (r < 0 || !mcp_request_logs(req, severity))
        return r;
    log_buf_init(&buf, req->host);
    r = message_of_json(&buf, severity, logger, data, length);
    if (r == 0)
        r = mcpi_request_send_note(req, mcpi_method_name(MCPI_METHOD_NOTE_MESSAGE),
                                   buf.data, buf.len);
    mcpi_buf_done(&buf);
    return r;
}

/* ---- the level of a session --------------------------------------------- */

static void
peer_set_level(struct mcpi_peer *peer, enum mcp_severity severity)
{
    struct mcpi_exchange *x;
    struct mcpi_list *node;
    mcp_request *req;

    peer->log_level = mcpi_severity_name(severity);
    for (node = peer->open.next; node != &peer->open; node = node->next) {
        x = MCPI_CONTAINER(node, struct mcpi_exchange, in_peer);
        req = mcpi_request_of(x);
        if (req && !x->caller.dialect->modern)
            atomic_store_explicit(&req->log_from, severity, memory_order_relaxed);
    }
}

void
mcpi_set_level(mcp_request *req)
{
    const mcp_json *level = mcp_json_get(req->x->rpc.params, "level");
    enum mcp_severity severity;

    severity = mcpi_severity_find(mcp_json_string(level, ""),
                                  mcp_json_string_length(level));
    if (req->server->no_logging) {
        mcpi_request_unknown(req);
    } else if (severity == MCP_SEVERITY_NONE) {
        mcpi_request_reject(req, levels);
    } else {
        /* where there is no session there is nothing to set it for */
        if (!(req->x->peer->traits & MCPI_STATELESS))
            peer_set_level(req->x->peer, severity);
        mcpi_request_agree(req);
    }
}

/* ---- about nothing in particular ---------------------------------------- */

int
mcp_server_log(mcp_server *server, enum mcp_severity severity, const char *logger,
               const char *data, size_t length)
{
    struct mcpi_buf buf;
    int r;

    if (!server || !data || !mcpi_severity_is_one(severity) || !logger_is_sane(logger))
        return MCP_E_INVAL;
    if (mcpi_server_guard(server) < 0)
        return MCP_E_STATE;
    log_buf_init(&buf, &server->trunk.host);
    r = message_of_json(&buf, severity, logger, data, length);
    if (r == 0 && !server->no_logging)
        r = mcpi_sayings_add(server, severity,
                             mcpi_method_name(MCPI_METHOD_NOTE_MESSAGE), &buf);
    mcpi_buf_done(&buf);
    return r;
}
