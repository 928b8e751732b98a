/*
 * http_connection.c - a client's connection: its bytes become requests, one after the other
 *
 * Its phases stand in http_carrier.h, which has the answers. Bytes that come while one is
 * open wait behind it, and are seen to in a flush once it has left. A connection has one
 * request served at a time, also where it is answered at once: what was sent behind that
 * waits for the next flush, or a few connections that send thousands of short requests
 * would keep all others waiting. While bytes wait for that no more are read.
 */
#include "link/http_connection.h"

#include <string.h>

#include "base/mem.h"
#include "link/http_carrier.h"
#include "link/http_listener.h"
#include "link/http_parser.h"
#include "wire/rpc.h"

#define LINGER_BYTES ((size_t)1024 * 1024) /* who sends more will not read the answer */

struct mcpi_http_connection {
    struct mcpi_http_carrier carrier;
    struct mcpi_http_parser *parser; /* while a request arrives; else NULL */
    char *behind;                    /* bytes that wait for their turn; or NULL */
    uint32_t behind_at;              /* the first of them */
    uint32_t behind_len;             /* and their end */
    size_t behind_charged;
    bool feeding;   /* somebody above on the stack goes on with what is there */
    bool secured;   /* something came through the handshake, or there is none */
    char address[]; /* of the client; "": not known */
};

/* Thousands of clients wait at the same time. */
_Static_assert(sizeof(struct mcpi_http_connection) <= 640, "an idle client is small");

/* ---- one request ------------------------------------------------------------------ */

/* The request was served or refused: many connections only wait, for an answer or for
 * what is asked next. */
static void
connection_drop_parser(struct mcpi_http_connection *c)
{
    mcpi_http_parser_free(c->parser);
    c->parser = NULL;
    mcpi_http_listener_freed(c->carrier.listener);
}

static void
connection_begin(struct mcpi_http_connection *c)
{
    mcpi_http_carrier_begin(&c->carrier, mcpi_http_parser_is_old(c->parser),
                            !mcpi_http_parser_keeps_alive(c->parser));
}

static struct mcpi_http_in *
connection_in(struct mcpi_http_connection *c)
{
    struct mcpi_http_in *in = mcpi_http_parser_in(c->parser);

    in->address = c->address[0] != '\0' ? c->address : NULL;
    in->secure = c->carrier.wire.tls != NULL;
    in->account = c->carrier.wire.account;
    return in;
}

/* A page may read why it is refused if its Origin was read before that. */
static void
connection_greet_origin(struct mcpi_http_connection *c)
{
    const struct mcpi_http_listener *l = c->carrier.listener;
    struct mcpi_http_known known;

    mcpi_http_parser_known(c->parser, &known);
    l->opt.greet_origin(l->opt.endpoint, &c->carrier.turn, &known);
}

/* Something is wrong with the bytes, or they come too slowly: this answer is the last. */
static void
connection_refuse(struct mcpi_http_connection *c, int status, const char *why)
{
    struct mcpi_http_out out;

    MCPI_LOG(mcpi_loop_log(c->carrier.listener->opt.loop), MCP_LOG_DEBUG,
             "http: %d to %s: %s", status, c->address, why);
    connection_begin(c);
    c->carrier.closes = true;
    connection_greet_origin(c);
    connection_drop_parser(c);
    mcpi_http_refusal(
        &out, &c->carrier.listener->refusal, status, NULL,
        status == 503 ? MCPI_RPC_INTERNAL_ERROR : MCPI_RPC_INVALID_REQUEST, why);
    (void)mcpi_turn_reply(&c->carrier.turn, &out);
}

/* A refused head is answered before its body has come: the connection can be used again
 * only if there is none. */
static bool
connection_got_head(struct mcpi_http_connection *c)
{
    struct mcpi_http_listener *l = c->carrier.listener;
    struct mcpi_http_in *in = connection_in(c);
    struct mcpi_http_out out = {0};
    size_t used;

    if (l->opt.check_head(l->opt.endpoint, in, mcpi_http_parser_length(c->parser),
                          &out))
        return true;
    connection_begin(c);
    c->carrier.is_head = in->method == MCPI_HTTP_HEAD;
    if (mcpi_http_parser_has_body(c->parser) ||
        mcpi_http_parser_feed(c->parser, "", 0, &used) != MCPI_HTTP_DONE)
        c->carrier.closes = true;
    (void)mcpi_http_carrier_reply(&c->carrier, &out);
    connection_drop_parser(c);
    return false;
}

static void
connection_serve(struct mcpi_http_connection *c)
{
    struct mcpi_http_listener *l = c->carrier.listener;
    struct mcpi_http_in *in = connection_in(c);

    connection_begin(c);
    c->carrier.is_head = in->method == MCPI_HTTP_HEAD;
    l->opt.serve(l->opt.endpoint, &c->carrier.turn, in);
    connection_drop_parser(c);
}

/* ---- bytes -------------------------------------------------------------------------- */

/* Few bytes are free, as those of a request are. */
static bool
connection_charge_behind(struct mcpi_http_connection *c, size_t len)
{
    return mcpi_account_change(c->carrier.wire.account, MCPI_HELD_ARRIVING,
                               &c->behind_charged, len > MCPI_HTTP_FREE_MAX ? len : 0);
}

static void
connection_drop_behind(struct mcpi_http_connection *c)
{
    mcpi_free(c->carrier.listener->mem, c->behind);
    c->behind = NULL;
    c->behind_at = c->behind_len = 0;
    c->carrier.awaited = false;
    (void)connection_charge_behind(c, 0);
}

/* So that all of it waits. */
static void
connection_pack_behind(struct mcpi_http_connection *c)
{
    if (!c->behind || c->behind_at == 0)
        return;
    memmove(c->behind, c->behind + c->behind_at, c->behind_len - c->behind_at);
    c->behind_len -= c->behind_at;
    c->behind_at = 0;
}

/* The rest of what was read at once is always kept. */
static void
connection_keep_behind(struct mcpi_http_connection *c, const char *data, size_t len)
{
    const mcp_allocator *mem = c->carrier.listener->mem;
    char *behind = NULL;

    if (len == 0)
        return;
    connection_pack_behind(c);
    len += c->behind_len;
    if ((!c->behind || len <= MCPI_HTTP_BEHIND) && connection_charge_behind(c, len))
        behind = mcpi_realloc(mem, c->behind, len);
    if (!behind) {
        mcpi_http_carrier_gone(&c->carrier);
        return;
    }
    memcpy(behind + c->behind_len, data, len - c->behind_len);
    c->behind = behind;
    c->behind_len = (uint32_t)len;
    c->carrier.awaited = true;
}

/* Nothing more is there, and the request is not whole: its time runs from when it first
 * was so. */
static void
connection_wait(struct mcpi_http_connection *c)
{
    const mcp_http_options *http = c->carrier.listener->opt.http;
    enum mcpi_http_phase phase = MCPI_PHASE_IDLE;

    if (mcpi_http_parser_is_within(c->parser))
        phase = mcpi_http_parser_has_head(c->parser) ? MCPI_PHASE_BODY
                                                     : MCPI_PHASE_HEAD;
    if (phase == c->carrier.phase)
        return;
    c->carrier.phase = (uint8_t)phase;
    mcpi_http_carrier_due_in(&c->carrier,
                             phase == MCPI_PHASE_BODY ? http->body_ms : http->head_ms);
    if (phase == MCPI_PHASE_BODY && mcpi_http_parser_expects(c->parser))
        mcpi_http_carrier_go_on(&c->carrier);
}

static bool
connection_has_parser(struct mcpi_http_connection *c)
{
    if (c->parser)
        return true;
    if (mcpi_http_parser_new(&c->carrier.listener->parsers, &c->parser) < 0)
        return false;
    mcpi_http_parser_charge(c->parser, c->carrier.wire.account);
    return true;
}

/* One step; true: there may be another before a request is served. */
static bool
connection_step(struct mcpi_http_connection *c, const char **data, size_t *len)
{
    const char *why;
    size_t used;
    int status;

    if (!connection_has_parser(c)) {
        *len = 0;
        mcpi_http_carrier_gone(&c->carrier);
        return false;
    }
    switch (mcpi_http_parser_feed(c->parser, *data, *len, &used)) {
    case MCPI_HTTP_HEAD_DONE:
        *data += used;
        *len -= used;
        return connection_got_head(c); /* its end may need no byte */
    case MCPI_HTTP_DONE:
        *data += used;
        *len -= used;
        connection_serve(c);
        return false;
    case MCPI_HTTP_FAULT:
        *len = 0;
        status = mcpi_http_parser_status(c->parser, &why);
        connection_refuse(c, status, why);
        return false;
    default:
        *len = 0;
        connection_wait(c);
        return false;
    }
}

/* Up to the end of one request. What is left is not looked at yet; it is nothing once the
 * connection takes no more. */
static void
connection_feed(struct mcpi_http_connection *c, const char **data, size_t *len)
{
    bool more = true;

    c->feeding = true;
    while (more && !c->carrier.wire.failed)
        more = connection_step(c, data, len);
    c->feeding = false;
    if (c->carrier.phase >= MCPI_PHASE_LINGERING)
        *len = 0;
}

/* What waits for an answer is fed when that has left; all else in the next flush. */
static void
connection_wait_turn(struct mcpi_http_connection *c)
{
    bool waits = c->behind && c->carrier.phase < MCPI_PHASE_SERVING;

    if (waits)
        mcpi_http_carrier_flush(&c->carrier);
    mcpi_http_wire_hold(&c->carrier.wire, waits);
}

static void
connection_feed_behind(struct mcpi_http_connection *c)
{
    const char *data = c->behind + c->behind_at;
    size_t len = c->behind_len - c->behind_at;

    connection_feed(c, &data, &len);
    c->behind_at = c->behind_len - (uint32_t)len;
    if (len == 0)
        connection_drop_behind(c);
    connection_wait_turn(c);
}

static void
on_flush(struct mcpi_flush *flush)
{
    struct mcpi_http_connection *c = MCPI_CONTAINER(flush, struct mcpi_http_connection,
                                                    carrier.flush);

    if (c->carrier.wire.failed)
        mcpi_http_carrier_gone(&c->carrier);
    else if (c->behind && c->carrier.phase < MCPI_PHASE_SERVING)
        connection_feed_behind(c);
}

/* ---- the wire ------------------------------------------------------------------------ */

static struct mcpi_http_connection *
connection_on(struct mcpi_http_wire *wire)
{
    return MCPI_CONTAINER(wire, struct mcpi_http_connection, carrier.wire);
}

static void
on_got(struct mcpi_http_wire *wire, const char *data, size_t len)
{
    struct mcpi_http_connection *c = connection_on(wire);

    if (c->carrier.phase == MCPI_PHASE_LINGERING) {
        c->carrier.count += len;
        if (c->carrier.count > LINGER_BYTES)
            mcpi_http_carrier_close(&c->carrier, false);
        return;
    }
    if (!c->secured) {
        c->secured = true;
        mcpi_http_carrier_due_in(&c->carrier, c->carrier.listener->opt.http->idle_ms);
    }
    if (c->carrier.phase != MCPI_PHASE_SERVING && !c->behind)
        connection_feed(c, &data, &len);
    connection_keep_behind(c, data, len);
    connection_wait_turn(c);
}

static void
on_lost(struct mcpi_http_wire *wire)
{
    mcpi_http_carrier_gone(&connection_on(wire)->carrier);
}

static void
on_left(struct mcpi_http_wire *wire)
{
    mcpi_http_carrier_left(&connection_on(wire)->carrier);
}

static void
connection_leave_account(struct mcpi_http_connection *c)
{
    struct mcpi_account *account = c->carrier.wire.account;

    mcpi_account_give(account, MCPI_HELD_ARRIVING, c->behind_charged);
    mcpi_account_give(account, MCPI_HELD_CONNECTIONS, 1);
    mcpi_account_unref(account);
}

/* Libuv has given the handle back, and calls nothing of ours any more. */
static void
on_closed(struct mcpi_http_wire *wire)
{
    struct mcpi_http_connection *c = connection_on(wire);
    struct mcpi_http_listener *listener = c->carrier.listener;

    mcpi_http_parser_free(c->parser);
    mcpi_free(listener->mem, c->behind);
    connection_leave_account(c);
    mcpi_free(listener->mem, c);
    mcpi_http_listener_buried(listener);
}

static const struct mcpi_http_wire_ops wire_ops = {
    .got = on_got, .lost = on_lost, .left = on_left, .closed = on_closed};

/* ---- too slow ------------------------------------------------------------------------- */

static void
connection_is_late(struct mcpi_http_connection *c)
{
    size_t waiting = mcpi_http_wire_waiting(&c->carrier.wire);

    if (c->carrier.phase == MCPI_PHASE_IDLE ||
        c->carrier.phase == MCPI_PHASE_LINGERING) {
        mcpi_http_wire_shut(&c->carrier.wire);
        mcpi_http_carrier_close(&c->carrier, false);
    } else if (waiting > 0 && waiting < c->carrier.count) {
        c->carrier.count = waiting;
        mcpi_http_carrier_due_in(&c->carrier, c->carrier.listener->opt.http->write_ms);
    } else if (waiting == 0 && (c->carrier.phase == MCPI_PHASE_HEAD ||
                                c->carrier.phase == MCPI_PHASE_BODY)) {
        connection_refuse(c, 408, "the request took too long to arrive");
    } else {
        mcpi_http_carrier_gone(&c->carrier);
    }
}

static void
on_timer(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_http_connection *c = MCPI_CONTAINER(timer, struct mcpi_http_connection,
                                                    carrier.timer);

    if (mcpi_http_carrier_is_due(&c->carrier, now))
        connection_is_late(c);
}

/* ---- making and ending ----------------------------------------------------------------- */

/* Of the client at that address, which may have one more connection. */
static int
account_enter(const struct mcpi_http_clients *clients, const char *address,
              struct mcpi_account **ret_account)
{
    struct mcpi_account *account = mcpi_http_account_of_address(clients, address);

    if (!account && clients->accounts)
        return MCP_E_NOMEM;
    if (!mcpi_account_take(account, MCPI_HELD_CONNECTIONS, 1)) {
        mcpi_account_unref(account);
        return MCP_E_LIMIT;
    }
    *ret_account = account;
    return 0;
}

static int
connection_open(struct mcpi_http_connection *c, int take_fd)
{
    struct mcpi_http_listener *listener = c->carrier.listener;
    struct mcpi_account *account;
    int r;

    r = account_enter(&listener->opt.clients, c->address, &account);
    if (r < 0)
        return r;
    r = mcpi_http_wire_open(&c->carrier.wire, &listener->wires, &wire_ops, take_fd);
    c->carrier.wire.account = account;
    if (r < 0)
        connection_leave_account(c);
    return r;
}

int
mcpi_http_connection_new(struct mcpi_http_listener *listener, int take_fd,
                         struct mcpi_http_connection **ret_connection)
{
    const mcp_http_options *http = listener->opt.http;
    struct mcpi_http_connection *c;
    char address[MCPI_HTTP_ADDRESS];
    size_t size;
    int r;

    mcpi_http_address(take_fd, address);
    size = strlen(address) + 1;
    c = mcpi_alloc_zero(listener->mem, sizeof(*c) + size);
    if (!c)
        return MCP_E_NOMEM;
    memcpy(c->address, address, size);
    mcpi_http_carrier_init(&c->carrier, listener, on_timer, on_flush);
    r = connection_open(c, take_fd);
    if (r < 0) { /* nothing of it is libuv's yet */
        mcpi_free(listener->mem, c);
        return r;
    }
    c->secured = !c->carrier.wire.tls;
    mcpi_http_carrier_due_in(&c->carrier, c->secured ? http->idle_ms : http->head_ms);
    if (c->carrier.wire.failed)
        mcpi_http_carrier_flush(&c->carrier);
    mcpi_http_listener_joined(listener, &c->carrier.node);
    *ret_connection = c;
    return 0;
}

struct mcpi_http_connection *
mcpi_http_connection_of(struct mcpi_list *node)
{
    return MCPI_CONTAINER(node, struct mcpi_http_connection, carrier.node);
}

void
mcpi_http_connection_retire(struct mcpi_http_connection *connection)
{
    connection->carrier.retiring = true;
    if (connection->carrier.phase != MCPI_PHASE_IDLE || connection->behind ||
        connection->feeding)
        return;
    mcpi_http_wire_shut(&connection->carrier.wire);
    mcpi_http_carrier_close(&connection->carrier, false);
}

void
mcpi_http_connection_cut(struct mcpi_http_connection *connection)
{
    mcpi_http_carrier_gone(&connection->carrier);
}
