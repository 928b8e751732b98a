/* http_entries.c - all the messages that a client has on their way */
#include "link/http_entries.h"

#include <string.h>

#include "base/mem.h"
#include "run/random.h"
#include "wire/id.h"
#include "wire/method.h"

/* ---- ids ------------------------------------------------------------------- */

/* Good as long as the leg is, or the out of a frame. */
static const struct mcpi_id *
entry_id(const struct mcpi_http_entry *e)
{
    return mcpi_leg_id(e->leg ? e->leg : mcpi_out_canceled_leg(e->out));
}

struct wanted {
    const struct mcpi_id *id;
    bool frame;
};

static bool
entry_matches(const struct mcpi_map_node *node, const void *key)
{
    const struct mcpi_http_entry *e;
    const struct wanted *wanted = key;

    e = MCPI_CONTAINER(node, struct mcpi_http_entry, by_id);
    return e->frame == wanted->frame && mcpi_id_same(entry_id(e), wanted->id);
}

static struct mcpi_http_entry *
entries_find(const struct mcpi_http_entries *entries, const struct mcpi_id *id,
             bool frame)
{
    struct wanted wanted = {id, frame};
    struct mcpi_map_node *node;

    node = mcpi_map_find(&entries->by_id, mcpi_id_hash(&entries->by_id, id),
                         entry_matches, &wanted);
    return node ? MCPI_CONTAINER(node, struct mcpi_http_entry, by_id) : NULL;
}

static void
entry_enter_map(struct mcpi_http_entry *e)
{
    struct mcpi_map *map = &e->entries->by_id;

    e->in_map = true;
    mcpi_map_add(map, &e->by_id, mcpi_id_hash(map, entry_id(e)));
}

/* ---- opening --------------------------------------------------------------- */

/* The method of a message of ours: the first member of that name is the envelope's,
 * because quotes in an id are escaped. */
static bool
text_has_method(const struct mcpi_buf *text, enum mcpi_method method)
{
    static const char member[] = "\"method\":\"";
    const size_t before = sizeof(member) - 1;
    const char *name = mcpi_method_name(method);
    size_t need = before + strlen(name) + 1;
    const char *at = text->data;
    const char *end = text->data + text->len;

    while (at && (size_t)(end - at) >= need && memcmp(at, member, before) != 0)
        at = memchr(at + 1, '"', (size_t)(end - at) - 1);
    return at && (size_t)(end - at) >= need &&
           memcmp(at + before, name, need - before - 1) == 0 && at[need - 1] == '"';
}

static void
entry_await(struct mcpi_http_entry *e, struct mcpi_http_entry *other)
{
    e->awaits = other;
    other->waiter = e;
}

/* What is left of an earlier request with this id is of no use, and a frame for it
 * would cancel this one. One that still waits is not needed: a request that is cut off
 * before its last byte never was one. */
static void
entry_supersede(struct mcpi_http_entry *e)
{
    struct mcpi_http_entry *old = entries_find(e->entries, mcpi_leg_id(e->leg), false);
    struct mcpi_http_entry *frame = old ? old->waiter : NULL;

    if (frame) {
        mcpi_http_entry_settle(frame, 0);
        mcpi_http_entry_finish(frame);
    }
    if (old && old->state == MCPI_ENTRY_ORPHAN && mcpi_leg_resume_token(e->leg)) {
        /* it is the same request, which leaving the stream would cancel */
        (void)mcpi_map_remove(&e->entries->by_id, &old->by_id);
        old->in_map = false;
    } else if (old) {
        mcpi_http_entry_finish(old);
    }
    frame = entries_find(e->entries, mcpi_leg_id(e->leg), true);
    if (frame && !frame->waiter)
        entry_await(e, frame);
}

static void
entry_open_request(struct mcpi_http_entry *e, struct mcpi_leg *leg,
                   const struct mcpi_buf *text)
{
    e->leg = mcpi_leg_ref(leg);
    e->modern = mcpi_leg_is_modern(leg);
    e->initialize = !e->modern && text_has_method(text, MCPI_METHOD_INITIALIZE);
    e->greets = e->initialize || text_has_method(text, MCPI_METHOD_DISCOVER);
    if (!e->modern && !e->initialize)
        e->session = mcpi_http_target_session(e->entries->target);
    entry_supersede(e);
    mcpi_leg_set_link(leg, e);
    entry_enter_map(e);
}

static void
entry_open_note(struct mcpi_http_entry *e, const struct mcpi_buf *text)
{
    e->session = mcpi_http_target_session(e->entries->target);
    e->frame = mcpi_out_canceled_leg(e->out) != NULL;
    if (e->frame)
        entry_enter_map(e);
    else if (mcpi_out_get_kind(e->out) == MCPI_OUT_NOTE &&
             text_has_method(text, MCPI_METHOD_NOTE_INITIALIZED))
        e->entries->greeting = e;
}

struct mcpi_http_entry *
mcpi_http_entries_open(struct mcpi_http_entries *entries, struct mcpi_out *out,
                       const struct mcpi_buf *text)
{
    struct mcpi_http_entry *e = entries->spare;
    struct mcpi_leg *leg = mcpi_out_leg(out);

    entries->spare = NULL;
    mcpi_http_entry_init(e, entries, out);
    if (leg)
        entry_open_request(e, leg, text);
    else
        entry_open_note(e, text);
    return e;
}

/* ---- sending --------------------------------------------------------------- */

static void
entry_hold(struct mcpi_http_entry *e, struct mcpi_buf *text, int64_t most_us)
{
    mcpi_http_entry_keep(e, text, NULL);
    if (!mcpi_timer_is_armed(&e->timer))
        mcpi_http_entry_arm(e, most_us);
}

static void
entry_could_not_start(struct mcpi_http_entry *e, int status, struct mcpi_buf *text)
{
    const struct mcpi_fault fault = {.status = status,
                                     .unsent = true,
                                     .why = status == MCP_E_STATE
                                                ? "2024-11-05 takes nothing up again"
                                                : "the request could not be made"};

    if (!e->leg && status == MCP_E_NOMEM) {
        e->entries->starved = true;
        entry_hold(e, text, MCPI_HTTP_STARVED_MAX);
        return;
    }
    if (e->leg) /* the fault says it better */
        mcpi_http_entry_settle(e, 0);
    mcpi_http_entry_fail(e, &fault);
}

/* True: it is done with, or waits. */
static bool
frame_waits(struct mcpi_http_entry *e, struct mcpi_buf *text)
{
    struct mcpi_http_entry *about = mcpi_leg_link(mcpi_out_canceled_leg(e->out));

    if (!about || mcpi_http_entry_has_arrived(about))
        return false;
    if (mcpi_http_entry_phase(about) == MCPI_FETCH_UNSENT) {
        mcpi_http_entry_finish(about);
        mcpi_http_entry_settle(e, 0);
        mcpi_http_entry_finish(e);
        return true;
    }
    entry_await(e, about);
    if (about->sent)
        entry_hold(e, text,
                   about->sent_at + MCPI_HTTP_OVERTAKEN_MAX -
                       mcpi_http_target_now(e->entries->target));
    else
        entry_hold(e, text, MCPI_NEVER); /* its request is gone after the grace */
    return true;
}

bool
mcpi_http_entries_are_closed(const struct mcpi_http_entries *entries)
{
    const struct mcpi_http_entry *e;
    const struct mcpi_list *node;

    if (entries->greeting)
        return true;
    for (node = entries->held.next; node != &entries->held; node = node->next) {
        e = MCPI_CONTAINER(node, struct mcpi_http_entry, node);
        if (e->frame && e->awaits && e->awaits->sent)
            return true;
    }
    return false;
}

/* True: too many others are on their way. */
static bool
answer_waits(struct mcpi_http_entry *e, struct mcpi_buf *text)
{
    struct mcpi_http_entries *entries = e->entries;

    if (e->leg || e->answers || mcpi_out_get_kind(e->out) != MCPI_OUT_ANSWER ||
        entries->answering < MCPI_HTTP_ANSWERS_MAX)
        return false;
    e->crowded = true;
    entries->crowding++;
    mcpi_list_remove(&e->node);
    mcpi_list_append(&entries->crowd, &e->node);
    entry_hold(e, text, MCPI_HTTP_NOTE_MAX);
    if (entries->crowding > MCPI_HTTP_CROWD_MAX)
        mcpi_peer_fail(entries->peer, MCP_E_LIMIT,
                       "the server does not take its answers");
    return true;
}

void
mcpi_http_entries_send(struct mcpi_http_entry *e, struct mcpi_buf *text,
                       struct mcpi_buf *more)
{
    int r;

    if ((e->frame && frame_waits(e, text)) || answer_waits(e, text))
        return;
    if (e->awaits) {
        mcpi_http_entry_keep(e, text, more);
        entry_hold(e, &e->body, MCPI_HTTP_LINGER);
        return;
    }
    r = mcpi_http_entry_start(e, text, more);
    if (r < 0 && r != MCP_E_AGAIN) {
        entry_could_not_start(e, r, text);
        return;
    }
    if (e->initialize || e->entries->target->auth)
        mcpi_http_entry_keep(e, text,
                             more); /* it may have to be said elsewhere, or again */
    if (r == MCP_E_AGAIN)
        mcpi_http_entry_wait(e);
}

/* Once more, as it was kept. */
static void
entry_send_kept(struct mcpi_http_entry *e)
{
    bool has_more = e->more.len > 0 || e->more.status < 0;

    mcpi_http_entries_send(e, &e->body, has_more ? &e->more : NULL);
}

static void
entries_thin_crowd(struct mcpi_http_entries *entries)
{
    struct mcpi_http_entry *e;
    struct mcpi_list *node;

    while (entries->answering < MCPI_HTTP_ANSWERS_MAX) {
        node = mcpi_list_pop(&entries->crowd);
        if (!node)
            return;
        e = MCPI_CONTAINER(node, struct mcpi_http_entry, node);
        e->crowded = false;
        entries->crowding--;
        mcpi_list_append(&entries->held, node);
        entry_send_kept(e);
    }
}

/* Its request has arrived meanwhile, or counts as if it had, because we close: it waits no
 * longer. */
static bool
frame_is_late(struct mcpi_http_entry *e)
{
    if (!e->frame || !mcpi_http_entry_has_arrived(e->awaits))
        return false;
    e->awaits->waiter = NULL;
    e->awaits = NULL;
    return true;
}

void
mcpi_http_entries_resume(struct mcpi_http_entries *entries)
{
    struct mcpi_http_entry *e;
    struct mcpi_list *node;
    struct mcpi_list held;

    /* Put aside, because whoever hears of an end may finish others. */
    mcpi_list_init(&held);
    while ((node = mcpi_list_pop(&entries->held)) != NULL)
        mcpi_list_append(&held, node);
    entries->starved = false;
    while ((node = mcpi_list_pop(&held)) != NULL) {
        e = MCPI_CONTAINER(node, struct mcpi_http_entry, node);
        mcpi_list_append(&entries->held, node);
        if ((!e->awaits || frame_is_late(e)) && !e->permit.waits)
            entry_send_kept(e);
    }
    entries_thin_crowd(entries);
}

/* ---- all of them ----------------------------------------------------------- */

int
mcpi_http_entries_init(struct mcpi_http_entries *entries,
                       struct mcpi_http_target *target,
                       const struct mcpi_http_entries_ops *ops, void *user)
{
    unsigned char seed[MCPI_SEED_SIZE];
    int r;

    memset(entries, 0, sizeof(*entries));
    r = mcpi_random(seed, sizeof(seed));
    if (r < 0)
        return r;
    entries->target = target;
    entries->ops = ops;
    entries->user = user;
    mcpi_list_init(&entries->held);
    mcpi_list_init(&entries->open);
    mcpi_list_init(&entries->gone);
    mcpi_list_init(&entries->crowd);
    mcpi_map_init(&entries->by_id, target->mem, seed);
    mcpi_buf_init(&entries->lines, target->mem, MCPI_HTTP_LINES_MAX);
    r = mcpi_http_entries_prepare(entries);
    if (r < 0)
        mcpi_http_entries_done(entries);
    return r;
}

void
mcpi_http_entries_done(struct mcpi_http_entries *entries)
{
    if (!entries->target)
        return;
    mcpi_http_entries_reap(entries);
    mcpi_free(entries->target->mem, entries->spare);
    mcpi_map_done(&entries->by_id);
    mcpi_buf_done(&entries->lines);
    memset(entries, 0, sizeof(*entries));
}

int
mcpi_http_entries_prepare(struct mcpi_http_entries *entries)
{
    if (!entries->spare)
        entries->spare = mcpi_alloc(entries->target->mem, sizeof(*entries->spare));
    return entries->spare ? 0 : MCP_E_NOMEM;
}

static void
list_drop(const struct mcpi_list *list, bool all, unsigned session)
{
    struct mcpi_list *node, *next;
    struct mcpi_http_entry *e;

    for (node = list->next; node != list; node = next) {
        next = node->next;
        e = MCPI_CONTAINER(node, struct mcpi_http_entry, node);
        if (all || e->session == session)
            mcpi_http_entry_finish(e);
    }
}

void
mcpi_http_entries_drop(struct mcpi_http_entries *entries, unsigned session)
{
    list_drop(&entries->held, false, session);
    list_drop(&entries->crowd, false, session);
    list_drop(&entries->open, false, session);
}

void
mcpi_http_entries_finish(struct mcpi_http_entries *entries)
{
    list_drop(&entries->held, true, 0);
    list_drop(&entries->crowd, true, 0);
    list_drop(&entries->open, true, 0);
}

void
mcpi_http_entries_reap(struct mcpi_http_entries *entries)
{
    struct mcpi_http_entry *e;
    struct mcpi_list *node;

    while ((node = mcpi_list_pop(&entries->gone)) != NULL) {
        e = MCPI_CONTAINER(node, struct mcpi_http_entry, node);
        mcpi_http_entry_done(e);
        if (entries->spare)
            mcpi_free(entries->target->mem, e);
        else
            entries->spare = e;
    }
}
