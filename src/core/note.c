/* note.c - messages on the heap: notifications and refusals */
#include "core/note.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "core/peer.h"

struct note {
    struct mcpi_out out;
    struct mcpi_list in_exchange; /* unlinked if it belongs to none */
    struct mcpi_outlet *outlet;   /* where it is read; outlives it */
    struct mcpi_peer *charged;    /* a refusal: who must read it; outlives it */
    bool frame;
    size_t held; /* of its reader's account */
    size_t len;
    char text[]; /* the whole message */
};

static struct note *
note_of(struct mcpi_out *out)
{
    return MCPI_CONTAINER(out, struct note, out);
}

/* A cancel frame written by hand that names nothing of ours: at modern, on a link where
 * closing is the signal, it must not be posted (E8, E11). */
static bool
note_is_moot(const struct note *note)
{
    const struct mcpi_peer *peer = note->out.outlet->peer;

    return note->frame && peer->ops->hangup && peer->dialect && peer->dialect->modern;
}

static int
note_take(struct mcpi_out *out, struct mcpi_buf *into)
{
    struct note *note = note_of(out);

    if (note_is_moot(note))
        return 1;
    mcpi_buf_append(into, note->text, note->len);
    return into->status;
}

/* What may be dropped waits as long as its reader is silent, so it has a bound of its own:
 * it must keep no request out. */
static bool
note_hold(struct note *note, size_t bytes)
{
    struct mcpi_account *account = note->outlet->account;

    if (!mcpi_account_take(account, MCPI_HELD_BYTES, bytes))
        return false;
    if (note->out.ops->droppable &&
        !mcpi_account_take(account, MCPI_HELD_NOTES, bytes)) {
        mcpi_account_give(account, MCPI_HELD_BYTES, bytes);
        return false;
    }
    note->held = bytes;
    return true;
}

static void
note_let_go(struct note *note)
{
    struct mcpi_account *account = note->outlet->account;

    mcpi_account_give(account, MCPI_HELD_BYTES, note->held);
    if (note->out.ops->droppable)
        mcpi_account_give(account, MCPI_HELD_NOTES, note->held);
}

static void
note_done(struct mcpi_out *out, int status)
{
    struct note *note = note_of(out);

    (void)status; /* nobody waits for a notification */
    mcpi_list_remove(&note->in_exchange);
    note_let_go(note);
    mcpi_free(note->outlet->engine->mem, note);
}

/* Somebody waits for it. */
static void
refusal_done(struct mcpi_out *out, int status)
{
    struct note *note = note_of(out);
    struct mcpi_peer *peer = note->charged;

    if (peer && (status == MCP_E_NOMEM || status == MCP_E_LIMIT))
        mcpi_outlet_fail(note->outlet, status, "no room to refuse a request");
    if (peer)
        peer->answer_bytes -= note->len;
    if (peer && note->held == 0)
        peer->refusal_bytes -= note->len;
    note_done(out, status);
}

static const struct mcpi_out_ops note_ops = {
    .kind = MCPI_OUT_NOTE, .droppable = true, .take = note_take, .done = note_done};
static const struct mcpi_out_ops exchange_note_ops = {.kind = MCPI_OUT_NOTE,
                                                      .answers = true,
                                                      .droppable = true,
                                                      .take = note_take,
                                                      .done = note_done};
static const struct mcpi_out_ops progress_ops = {.kind = MCPI_OUT_NOTE,
                                                 .answers = true,
                                                 .droppable = true,
                                                 .take = note_take,
                                                 .done = note_done};
static const struct mcpi_out_ops frame_ops = {
    .kind = MCPI_OUT_NOTE, .takes_back = true, .take = note_take, .done = note_done};
static const struct mcpi_out_ops greeting_ops = {
    .kind = MCPI_OUT_NOTE, .first = true, .take = note_take, .done = note_done};
static const struct mcpi_out_ops refusal_ops = {
    .kind = MCPI_OUT_ANSWER, .answers = true, .take = note_take, .done = refusal_done};

static struct note *
note_new(struct mcpi_outlet *outlet, const struct mcpi_out_ops *ops)
{
    const struct mcpi_engine *e = outlet->engine;
    const struct mcpi_buf *text = &e->scratch;
    struct note *note;

    if (text->status < 0)
        return NULL;
    note = mcpi_alloc(e->mem, sizeof(*note) + text->len);
    if (!note)
        return NULL;
    mcpi_out_init(&note->out, ops);
    mcpi_list_init(&note->in_exchange);
    note->outlet = outlet;
    note->charged = NULL;
    note->frame = ops == &frame_ops;
    note->held = 0;
    note->len = text->len;
    if (ops->droppable)
        note->out.weight = mcpi_buf_most(sizeof(*note) + text->len);
    memcpy(note->text, text->data, text->len);
    return note;
}

/* What may be dropped is, if its reader leaves no room for it. */
static bool
note_charge(struct note *note)
{
    if (!note->out.ops->droppable || note_hold(note, note->out.weight))
        return true;
    note->outlet->engine->counts.dropped++;
    return false;
}

/* Refusals happen at the limit, so they may use held_bytes once more, and a little where
 * the client's share is used up. */
static bool
refusals_are_too_many(const struct mcpi_outlet *outlet)
{
    const struct mcpi_peer *peer = outlet->peer;

    return !peer->is_charged &&
           (peer->answer_bytes / 2 > outlet->engine->limits.held_bytes ||
            peer->refusal_bytes > MCPI_REFUSALS_FREE_MAX);
}

static void
refusal_charge(struct note *note, int code)
{
    struct mcpi_outlet *outlet = note->outlet;
    struct mcpi_peer *peer = outlet->peer;

    if (!peer)
        return;
    note->charged = peer;
    note->out.code = code;
    peer->answer_bytes += note->len;
    if (refusals_are_too_many(outlet))
        mcpi_outlet_fail(outlet, MCP_E_LIMIT, "the peer does not read its answers");
    if (!note_hold(note, sizeof(*note) + note->len))
        peer->refusal_bytes += note->len;
}

/* Queue what stands in the scratch buffer. Of an exchange's notes, progress is kept in
 * front, so that the newest report is found at once. */
static int
push_scratch(struct mcpi_outlet *outlet, struct mcpi_exchange *about,
             const struct mcpi_out_ops *ops, int code)
{
    struct note *note = note_new(outlet, ops);

    if (!note)
        return outlet->engine->scratch.status < 0 ? outlet->engine->scratch.status
                                                  : MCP_E_NOMEM;
    if (about && ops == &progress_ops)
        mcpi_list_prepend(&about->notes, &note->in_exchange);
    else if (about)
        mcpi_list_append(&about->notes, &note->in_exchange);
    if (ops == &refusal_ops)
        refusal_charge(note, code);
    if (!note_charge(note) || !mcpi_outlet_push(outlet, &note->out))
        ops->done(&note->out, MCP_E_CLOSED);
    return 0;
}

static void
write_note(struct mcpi_engine *e, const char *method, const char *params, size_t len)
{
    mcpi_buf_clear(&e->scratch);
    mcpi_rpc_write_note(&e->scratch, method, strlen(method));
    if (params) {
        MCPI_BUF_LITERAL(&e->scratch, ",\"params\":");
        mcpi_buf_append(&e->scratch, params, len);
    }
    mcpi_buf_char(&e->scratch, '}');
}

int
mcpi_note_push(struct mcpi_outlet *outlet, struct mcpi_exchange *about,
               const char *method, const char *params, size_t params_len)
{
    write_note(outlet->engine, method, params, params_len);
    return push_scratch(outlet, about, about ? &exchange_note_ops : &note_ops, 0);
}

int
mcpi_note_push_greeting(struct mcpi_outlet *outlet, const char *method)
{
    write_note(outlet->engine, method, NULL, 0);
    return push_scratch(outlet, NULL, &greeting_ops, 0);
}

int
mcpi_note_push_frame(struct mcpi_outlet *outlet, const char *params, size_t params_len)
{
    write_note(outlet->engine, mcpi_method_name(MCPI_METHOD_NOTE_CANCELED), params,
               params_len);
    return push_scratch(outlet, NULL, &frame_ops, 0);
}

/* Progress stands in front of the exchange's notes, the newest first; all else is behind
 * it. NULL: there is none. */
static struct note *
note_newest_progress(const struct mcpi_exchange *x)
{
    struct mcpi_list *node = mcpi_list_first(&x->notes);
    struct note *note = node ? MCPI_CONTAINER(node, struct note, in_exchange) : NULL;

    return note && note->out.ops == &progress_ops ? note : NULL;
}

/* Who does not read gets the newest report, in the place of those before it. One that
 * is half written stays, and so does all that is no report: nothing replaces it. */
static void
note_make_room(const struct mcpi_exchange *x, size_t len)
{
    const struct mcpi_outlet *outlet = x->outlet;
    size_t room = outlet->engine->limits.queued_bytes;
    size_t need = sizeof(struct note) + len;
    struct note *note = note_newest_progress(x);

    while (outlet->weight + need > room && note && mcpi_out_withdraw(&note->out)) {
        outlet->engine->counts.dropped++;
        note = note_newest_progress(x);
    }
}

int
mcpi_note_push_progress(struct mcpi_exchange *x, const struct mcpi_progress *p)
{
    struct mcpi_buf *buf = &x->engine->scratch;
    const char *method = mcpi_method_name(MCPI_METHOD_NOTE_PROGRESS);
    int r = 0;

    mcpi_buf_clear(buf);
    mcpi_rpc_write_note(buf, method, strlen(method));
    MCPI_BUF_LITERAL(buf, ",\"params\":{\"progressToken\":");
    mcpi_id_write(buf, &x->caller.progress_token);
    MCPI_BUF_LITERAL(buf, ",\"progress\":");
    r = mcpi_json_write_real(buf, p->progress);
    if (r == 0 && p->total == p->total) {
        MCPI_BUF_LITERAL(buf, ",\"total\":");
        r = mcpi_json_write_real(buf, p->total);
    }
    if (r == 0 && p->message) {
        MCPI_BUF_LITERAL(buf, ",\"message\":");
        r = mcpi_json_write_string(buf, p->message, strlen(p->message));
    }
    MCPI_BUF_LITERAL(buf, "}}");
    if (r < 0)
        return r;
    note_make_room(x, buf->len);
    return push_scratch(x->outlet, x, &progress_ops, 0);
}

void
mcpi_note_withdraw_all(struct mcpi_exchange *x)
{
    struct mcpi_list *node, *next;
    struct note *note;

    for (node = x->notes.next; node != &x->notes; node = next) {
        next = node->next;
        note = MCPI_CONTAINER(node, struct note, in_exchange);
        mcpi_out_withdraw(&note->out);
    }
}

int
mcpi_exchange_progress(struct mcpi_exchange *x, double progress, double total,
                       const char *message, int64_t now)
{
    struct mcpi_progress p = {.progress = progress, .total = total, .message = message};
    int r;

    mcpi_engine_at(x->engine, now);
    r = mcpi_exchange_may_speak(x);
    if (r < 0)
        return r;
    if (!isfinite(progress) || progress <= x->progress)
        return MCP_E_INVAL;
    if (x->caller.progress_token.kind != MCPI_ID_NONE)
        r = mcpi_note_push_progress(x, &p);
    if (r == 0)
        x->progress = progress; /* what was refused may be said again, better */
    return r;
}

int
mcpi_exchange_notify(struct mcpi_exchange *x, const char *method, const char *params,
                     size_t params_len, int64_t now)
{
    int r;

    mcpi_engine_at(x->engine, now);
    r = mcpi_exchange_may_speak(x);
    if (r < 0 || x->on_local_end) /* no wire: it goes nowhere */
        return r;
    return mcpi_note_push(x->outlet, x, method, params, params_len);
}

/* Where every exchange has an outlet of its own, that of the peer is nobody's: the peer
 * is many clients, and what waits there would wait for ever. */
static bool
outlet_is_unread(const struct mcpi_outlet *outlet)
{
    const struct mcpi_peer *peer = outlet->peer;

    return peer && (peer->traits & MCPI_PRIVATE_IDS) && outlet == peer->outlet;
}

void
mcpi_refusal_push(struct mcpi_outlet *outlet, const struct mcpi_id *id,
                  const struct mcpi_refusal *why)
{
    struct mcpi_engine *e = outlet->engine;

    if (outlet_is_unread(outlet))
        return;
    mcpi_buf_clear(&e->scratch);
    mcpi_rpc_write_error(&e->scratch, id, why->code, why->message,
                         why->data[0] ? why->data : NULL, strlen(why->data));
    if (push_scratch(outlet, NULL, &refusal_ops, why->code) < 0)
        mcpi_outlet_fail(outlet, MCP_E_NOMEM, "no memory to refuse a request");
}
