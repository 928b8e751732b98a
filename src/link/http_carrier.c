/* http_carrier.c - what a connection owes its client: the answers, in time */
#include "link/http_carrier.h"

#include "base/mem.h"
#include "link/http_answer.h"
#include "link/http_listener.h"

#define COPIED 4096 /* a body up to this is cheaper to copy than to send as a part */
#define LINGER_MS 2000

/* ---- time ---------------------------------------------------------------------- */

static struct mcpi_timers *
carrier_timers(const struct mcpi_http_carrier *c)
{
    return mcpi_loop_timers(c->listener->opt.loop);
}

static void
carrier_due(struct mcpi_http_carrier *c, int64_t at)
{
    c->deadline = at;
    if (at < mcpi_timer_at(&c->timer))
        mcpi_timer_arm(carrier_timers(c), &c->timer, at);
}

void
mcpi_http_carrier_due_in(struct mcpi_http_carrier *c, int64_t ms)
{
    carrier_due(c, mcpi_time_add(mcpi_loop_now(c->listener->opt.loop), ms * 1000));
}

bool
mcpi_http_carrier_is_due(struct mcpi_http_carrier *c, int64_t now)
{
    if (now >= c->deadline)
        return true;
    if (c->deadline != MCPI_NEVER)
        mcpi_timer_arm(carrier_timers(c), &c->timer, c->deadline);
    return false;
}

/* ---- the end ------------------------------------------------------------------- */

void
mcpi_http_carrier_close(struct mcpi_http_carrier *c, bool reset)
{
    if (c->phase == MCPI_PHASE_CLOSED)
        return;
    c->phase = MCPI_PHASE_CLOSED;
    mcpi_timer_disarm(carrier_timers(c), &c->timer);
    mcpi_flush_cancel(&c->flush);
    mcpi_http_wire_close(&c->wire, reset);
    mcpi_http_listener_lost(c->listener, &c->node);
}

void
mcpi_http_carrier_gone(struct mcpi_http_carrier *c)
{
    if (c->phase == MCPI_PHASE_CLOSED)
        return;
    mcpi_http_carrier_close(c, false);
    mcpi_turn_gone(&c->turn);
}

/* ---- writing ------------------------------------------------------------------- */

void
mcpi_http_carrier_flush(struct mcpi_http_carrier *c)
{
    mcpi_loop_flush(c->listener->opt.loop, &c->flush);
}

static bool
carrier_send(struct mcpi_http_carrier *c, const uv_buf_t *parts, unsigned count)
{
    if (mcpi_http_wire_send(&c->wire, parts, count))
        return true;
    if (c->wire.failed) {
        mcpi_http_carrier_flush(c);
        return false;
    }
    c->count = mcpi_http_wire_waiting(&c->wire);
    mcpi_http_carrier_due_in(c, c->listener->opt.http->write_ms);
    return false;
}

static void
carrier_linger(struct mcpi_http_carrier *c)
{
    c->phase = MCPI_PHASE_LINGERING;
    c->count = 0;
    mcpi_http_carrier_due_in(c, LINGER_MS);
    mcpi_http_wire_shut(&c->wire);
}

/* The last byte of an answer has left. */
static void
carrier_after(struct mcpi_http_carrier *c)
{
    if (c->closes || c->retiring) {
        carrier_linger(c);
        return;
    }
    c->phase = MCPI_PHASE_IDLE;
    mcpi_http_carrier_due_in(c, c->listener->opt.http->idle_ms);
    if (c->awaited)
        mcpi_http_carrier_flush(c);
}

static bool
carrier_answered(struct mcpi_http_carrier *c, bool left)
{
    c->answered = true;
    if (left)
        carrier_after(c);
    return left;
}

static struct mcpi_buf *
carrier_head(struct mcpi_http_carrier *c, const struct mcpi_http_out *out,
             enum mcpi_http_framing framing)
{
    enum mcpi_http_after after = MCPI_HTTP_KEEPS;
    struct mcpi_buf *head = &c->listener->head;

    c->closes = c->closes || c->retiring || out->close;
    if (c->closes)
        after = MCPI_HTTP_CLOSES;
    else if (c->is_old)
        after = MCPI_HTTP_SAYS_KEEPS;
    mcpi_buf_clear(head);
    mcpi_http_answer_head(head, out, framing, after,
                          mcpi_http_listener_date(c->listener));
    return head;
}

static uv_buf_t
part_of(const char *data, size_t len)
{
    return uv_buf_init((char *)(uintptr_t)data, (unsigned)len);
}

/* The first part. An answer without it cannot be sent, nor can it be left out. */
static uv_buf_t
carrier_first(struct mcpi_http_carrier *c, const struct mcpi_buf *head)
{
    if (head->status < 0)
        c->wire.failed = true;
    return part_of(head->data, head->len);
}

bool
mcpi_http_carrier_reply(struct mcpi_http_carrier *c, const struct mcpi_http_out *out)
{
    size_t body_len = c->is_head ? 0 : out->body_len;
    struct mcpi_buf *head = carrier_head(c, out, MCPI_HTTP_BY_LENGTH);
    unsigned count = 1;
    uv_buf_t parts[2];

    if (body_len <= COPIED)
        mcpi_buf_append(head, out->body, body_len);
    else
        parts[count++] = part_of(out->body, body_len);
    parts[0] = carrier_first(c, head);
    return carrier_answered(c, carrier_send(c, parts, count));
}

/* ---- what an endpoint asks ----------------------------------------------------- */

static struct mcpi_http_carrier *
carrier_of(struct mcpi_turn *turn)
{
    return MCPI_CONTAINER(turn, struct mcpi_http_carrier, turn);
}

static bool
op_reply(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    return mcpi_http_carrier_reply(carrier_of(turn), out);
}

#define LAST_CHUNK "0\r\n\r\n"

/* Three parts, or one for a client that knows no chunks; the last chunk too, if it
 * follows. Returns how many. */
static unsigned
parts_of_chunk(struct mcpi_http_carrier *c, uv_buf_t *parts,
               char line[MCPI_HTTP_CHUNK_LINE], const char *data, size_t len)
{
    static const char tail[] = "\r\n" LAST_CHUNK;
    size_t last_len = 0;

    if (c->is_old) {
        parts[0] = part_of(data, len);
        return len > 0;
    }
    if (c->turn.ends && !c->said_last) {
        c->said_last = true;
        last_len = sizeof(LAST_CHUNK) - 1;
    }
    if (len == 0) {
        parts[0] = part_of(tail + 2, last_len);
        return last_len > 0;
    }
    parts[0] = part_of(line, mcpi_http_chunk_line(line, len));
    parts[1] = part_of(data, len);
    parts[2] = part_of(tail, 2 + last_len);
    return 3;
}

static bool
op_open(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    struct mcpi_http_carrier *c = carrier_of(turn);
    enum mcpi_http_framing framing = MCPI_HTTP_BY_CHUNKS;
    char line[MCPI_HTTP_CHUNK_LINE];
    struct mcpi_buf *head;
    uv_buf_t parts[4];
    unsigned count;

    if (c->is_old) {
        framing = MCPI_HTTP_BY_CLOSE;
        c->closes = true;
    }
    head = carrier_head(c, out, framing);
    parts[0] = carrier_first(c, head);
    count = 1 + parts_of_chunk(c, parts + 1, line, out->body, out->body_len);
    c->owes = !carrier_send(c, parts, count);
    return !c->owes;
}

static bool
op_write(struct mcpi_turn *turn, const char *data, size_t len)
{
    struct mcpi_http_carrier *c = carrier_of(turn);
    char line[MCPI_HTTP_CHUNK_LINE];
    uv_buf_t parts[3];
    unsigned count = parts_of_chunk(c, parts, line, data, len);

    if (count == 0)
        return true;
    c->owes = !carrier_send(c, parts, count);
    return !c->owes;
}

static void
op_end(struct mcpi_turn *turn)
{
    struct mcpi_http_carrier *c = carrier_of(turn);
    uv_buf_t last = part_of(LAST_CHUNK, sizeof(LAST_CHUNK) - 1);
    bool left;

    if (c->is_old || c->said_last)
        left = mcpi_http_wire_waiting(&c->wire) == 0 && !c->wire.failed;
    else
        left = carrier_send(c, &last, 1);
    (void)carrier_answered(c, left);
}

/* A chunked answer is seen to lack its end, and one with a length; one that ends where
 * the connection does is not, unless it is broken. */
static void
op_abort(struct mcpi_turn *turn)
{
    struct mcpi_http_carrier *c = carrier_of(turn);

    mcpi_http_carrier_close(c, c->is_old);
}

static const struct mcpi_turn_ops turn_ops = {.reply = op_reply,
                                              .open = op_open,
                                              .write = op_write,
                                              .end = op_end,
                                              .abort = op_abort};

/* ---- for the connection -------------------------------------------------------- */

void
mcpi_http_carrier_init(struct mcpi_http_carrier *c, struct mcpi_http_listener *listener,
                       void (*on_timer)(struct mcpi_timer *timer, int64_t now),
                       void (*on_flush)(struct mcpi_flush *flush))
{
    c->listener = listener;
    c->turn.ops = &turn_ops;
    c->deadline = MCPI_NEVER;
    mcpi_list_init(&c->node);
    mcpi_timer_init(&c->timer, on_timer);
    mcpi_flush_init(&c->flush, on_flush);
}

void
mcpi_http_carrier_begin(struct mcpi_http_carrier *c, bool is_old, bool closes)
{
    c->phase = MCPI_PHASE_SERVING;
    c->deadline = MCPI_NEVER;
    c->answered = false;
    c->said_last = false;
    c->owes = false;
    c->is_old = is_old;
    c->closes = closes;
    c->is_head = false;
}

void
mcpi_http_carrier_go_on(struct mcpi_http_carrier *c)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    uv_buf_t part = part_of(go_on, sizeof(go_on) - 1);

    (void)carrier_send(c, &part, 1); /* what is kept, or has failed, is seen to */
}

void
mcpi_http_carrier_left(struct mcpi_http_carrier *c)
{
    if (c->phase == MCPI_PHASE_SERVING && c->answered) {
        carrier_after(c);
    } else if (c->phase == MCPI_PHASE_SERVING) {
        c->deadline = MCPI_NEVER;
        if (c->owes) {
            c->owes = false;
            mcpi_turn_written(&c->turn);
        }
    } else if (c->phase == MCPI_PHASE_BODY) {
        mcpi_http_carrier_due_in(c, c->listener->opt.http->body_ms);
    }
}
