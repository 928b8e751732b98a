/*
 * http_client.c - Streamable HTTP, the client's side, as a link
 *
 *   OPEN -> closing -> ended -> told -> freed
 *
 * closing: core wants it closed; nothing that comes is handed up any more. What waits
 * is posted; when all of that is accepted, or has had its time, the session is deleted,
 * if there is one, and then everything is aborted (B23, D19). Core has a bound on it.
 * ended: core knows (client_end, the one ending). told: the owner knows.
 *
 * Core's own wishes (wake, ready, close) are only noted down, and done in on_flush,
 * where nothing of core is on the stack; hangup alone acts at once, because aborting a
 * request asks nobody.
 *
 * Messages are taken at the end of a turn, so that a cancel in the same turn finds its
 * request still queued, and nothing is sent (B7). Each takes an entry with it (E5):
 * nothing is taken for which there is no entry, so a cancel waits for memory instead of
 * being lost.
 *
 * Nothing follows notifications/initialized until that was answered, for a while: on
 * another connection it might overtake it, and there are servers that serve nobody
 * before. Then comes the GET of the session, and for the same reason nothing follows
 * that until something is known of it: what a server asks there before is lost.
 */
#include "link/http_client.h"

#include <string.h>

#include "base/mem.h"
#include "link/http_client_2024.h"
#include "link/http_entries.h"
#include "link/http_fields.h"
#include "link/http_inlet.h"
#include "wire/rpc.h"
#include "json/value.h"

/* Without memory, when to try again. */
#define STARVED_PAUSE 10000 /* us */
/* When we close: what waits may take that long to be accepted, before the session is
 * deleted; half of the bound that public clients have (.flush_ms), so that the latter
 * still happens. */
#define CLOSING_PAUSE 250000
/* A buffer above this is given back. */
#define KEEP ((size_t)256 * 1024)

/* The GET of a session, on its way to be open. */
enum inlet_stage {
    INLET_NONE,   /* it was tried, or is not wanted */
    INLET_WANTED, /* behind notifications/initialized, which was not sent yet */
    INLET_NEXT,   /* that was: nothing else is, before it was tried */
    INLET_LATER,  /* there was no memory for it; nobody waits */
};

struct mcpi_http_client {
    const mcp_allocator *mem;
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    struct mcpi_peer *peer;
    struct mcpi_http_target target;
    struct mcpi_http_entries entries;
    struct mcpi_http_inlet inlet;
    struct mcpi_http_old old;
    struct mcpi_http_flow farewell; /* DELETE */
    struct mcpi_flush flush;
    struct mcpi_timer starved; /* try again */
    struct mcpi_timer hurry;   /* closing: do not wait any more */
    struct mcpi_buf text;      /* the message that is being sent */
    struct mcpi_buf more;      /* its own header lines */
    struct mcpi_http_entry
        *parked; /* initialize, while a server of 2024 is looked for */
    bool no_stream, no_2024;
    const struct mcpi_buf *names;
    const struct mcpi_mirror *(*mirror)(void *user, const char *tool);
    void (*closed)(void *user, struct mcpi_http_client *client);
    void *user;
    enum inlet_stage inlet_stage;
    bool closing; /* end when all is said */
    bool cut;     /* end at once */
    bool hurried; /* what was not accepted so far is not waited for */
    bool leaving; /* DELETE is on its way, or was */
    bool left;    /* it is over */
    bool ended;
    bool told;
};

static int64_t
client_now(const struct mcpi_http_client *c)
{
    return mcpi_loop_now(c->loop);
}

static void
client_wake(struct mcpi_http_client *c)
{
    mcpi_loop_flush(c->loop, &c->flush);
}

static void
client_arm(struct mcpi_http_client *c, struct mcpi_timer *timer, int64_t after_us)
{
    mcpi_timer_arm(mcpi_loop_timers(c->loop), timer,
                   mcpi_time_add(client_now(c), after_us));
}

/* ---- the end --------------------------------------------------------------- */

static void
client_abort_all(struct mcpi_http_client *c)
{
    mcpi_http_entries_finish(&c->entries);
    mcpi_http_inlet_close(&c->inlet);
    mcpi_http_old_close(&c->old);
    mcpi_http_flow_close(&c->farewell);
    mcpi_timer_disarm(mcpi_loop_timers(c->loop), &c->starved);
    mcpi_timer_disarm(mcpi_loop_timers(c->loop), &c->hurry);
    c->parked = NULL;
}

static void
client_end(struct mcpi_http_client *c, int status)
{
    if (c->ended)
        return;
    c->ended = true;
    c->target.deaf = true;
    client_abort_all(c);
    mcpi_peer_lost(c->peer, status, client_now(c));
    mcpi_http_entries_reap(&c->entries);
    client_wake(c);
}

static void
client_tell(struct mcpi_http_client *c)
{
    if (c->told)
        return;
    c->told = true;
    if (c->closed)
        c->closed(c->user, c); /* it may be freed now */
}

/* ---- leaving --------------------------------------------------------------- */

static void
farewell_message(void *user, const struct mcpi_rpc *rpc)
{
    (void)user;
    mcp_doc_free(rpc->doc);
}

/* Whatever it said: 405 is fine (D19). */
static void
farewell_ended(void *user, const struct mcpi_fault *fault)
{
    struct mcpi_http_client *c = user;

    (void)fault;
    c->left = true;
    client_wake(c);
}

static const struct mcpi_http_flow_ops farewell_ops = {.message = farewell_message,
                                                       .ended = farewell_ended};

static void
client_leave(struct mcpi_http_client *c)
{
    unsigned session = mcpi_http_target_session(&c->target);

    c->leaving = true;
    c->left = true;
    if (session == 0)
        return;
    mcpi_buf_clear(&c->more);
    mcpi_http_target_fields(&c->target, &c->more, mcpi_peer_spoken(c->peer), session);
    if (mcpi_http_permit_sign(&c->target, NULL, "DELETE", c->target.url, &c->more) ==
            0 &&
        mcpi_http_flow_start(&c->farewell, "DELETE", c->more.data, c->more.len, NULL,
                             0) == 0)
        c->left = false;
    if (!c->left)
        MCPI_TELL(c->engine, "DELETE: the session ends");
    mcpi_http_permit_wipe(&c->more);
}

static bool
client_has_said_all(const struct mcpi_http_client *c)
{
    if (c->hurried)
        return true;
    return c->entries.unaccepted == 0 &&
           mcpi_outlet_is_empty(mcpi_peer_outlet(c->peer));
}

static void
client_step_closing(struct mcpi_http_client *c)
{
    if (!c->leaving && client_has_said_all(c))
        client_leave(c);
    if (c->leaving && c->left)
        client_end(c, MCP_E_CLOSED);
}

static void
on_hurry(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_http_client *c = MCPI_CONTAINER(timer, struct mcpi_http_client, hurry);

    (void)now;
    c->hurried = true;
    client_wake(c);
}

/* ---- what entries tell ----------------------------------------------------- */

/* Core says whether that can be: one who forgets every session would be greeted for
 * ever. */
static void
client_lose_session(struct mcpi_http_client *c, struct mcpi_leg *met)
{
    unsigned session = mcpi_http_target_session(&c->target);

    if (!mcpi_peer_session_lost(c->peer, met, client_now(c)))
        return;
    MCPI_TELL(c->engine, "the server does not know the session: another one begins");
    mcpi_http_target_leave(&c->target);
    mcpi_http_inlet_close(&c->inlet);
    c->inlet_stage = INLET_NONE;
    mcpi_http_entries_drop(&c->entries, session);
}

static void
entries_lost(void *user, struct mcpi_leg *met)
{
    client_lose_session(user, met);
}

static bool
entries_refused(void *user, struct mcpi_http_entry *entry,
                const struct mcpi_fault *fault)
{
    struct mcpi_http_client *c = user;

    if (c->no_2024 || mcpi_http_old_is_open(&c->old) || c->closing)
        return false;
    c->parked = entry;
    if (mcpi_http_old_open(&c->old, fault) < 0)
        c->parked = NULL;
    return c->parked != NULL;
}

static void
entries_changed(void *user)
{
    client_wake(user);
}

static const struct mcpi_http_entries_ops entries_ops = {
    .lost = entries_lost, .refused = entries_refused, .changed = entries_changed};

static void
inlet_lost(void *user)
{
    client_lose_session(user, NULL);
}

static void
inlet_settled(void *user)
{
    client_wake(user);
}

/* ---- 2024-11-05 ------------------------------------------------------------ */

/* initialize fails as it did at first, or because it cannot be sent elsewhere. */
static void
client_unpark(struct mcpi_http_client *c, const struct mcpi_fault *fault)
{
    struct mcpi_http_entry *entry = c->parked;

    c->parked = NULL;
    mcpi_http_entry_fail(entry, fault);
}

static void
old_found(void *user)
{
    struct mcpi_http_client *c = user;
    struct mcpi_http_entry *entry = c->parked;

    c->parked = NULL;
    mcpi_http_entries_send(entry, &entry->body, NULL);
}

static void
old_ended(void *user, const struct mcpi_fault *refusal)
{
    struct mcpi_http_client *c = user;

    if (!refusal)
        client_end(c, MCP_E_CLOSED);
    else if (c->parked)
        client_unpark(c, refusal);
}

static void
old_rests(void *user, bool rest)
{
    const struct mcpi_http_client *c = user;

    mcpi_leg_rest(c->parked->leg, rest, client_now(c));
}

static const struct mcpi_http_old_ops old_ops = {
    .found = old_found, .ended = old_ended, .rests = old_rests};

/* ---- taking ---------------------------------------------------------------- */

static bool
client_has_room(struct mcpi_http_client *c)
{
    if (c->text.cap > KEEP)
        mcpi_buf_done(&c->text);
    mcpi_buf_clear(&c->text);
    return mcpi_http_entries_prepare(&c->entries) == 0 &&
           mcpi_buf_reserve(&c->text, MCPI_FRAME_MAX) != NULL;
}

static int
client_write_mirror(struct mcpi_http_client *c, const mcp_doc *doc)
{
    const struct mcpi_mirror *mirror = NULL;
    struct mcpi_rpc rpc;
    const char *tool;

    mcpi_rpc_read(mcp_doc_root(doc), &rpc);
    tool = mcp_json_string(mcp_json_get(rpc.params, "name"), NULL);
    if (c->mirror && rpc.method == MCPI_METHOD_TOOLS_CALL && tool)
        mirror = c->mirror(c->user, tool);
    return mcpi_http_fields_mirror(&c->more, &rpc, c->names, mirror);
}

/* The header lines that repeat what the message says; NULL: none do. A failure is the
 * buffer's. */
static struct mcpi_buf *
client_mirror(struct mcpi_http_client *c, const struct mcpi_http_entry *entry)
{
    const struct mcpi_json_limits limits = {c->text.len, SIZE_MAX};
    mcp_doc *doc;
    int r;

    if (!entry->modern)
        return NULL;
    mcpi_buf_clear(&c->more);
    r = mcpi_doc_parse(c->mem, c->text.data, c->text.len, &limits, &doc);
    if (r == 0) {
        r = client_write_mirror(c, doc);
        mcp_doc_free(doc);
    }
    if (r < 0 && c->more.status == 0)
        c->more.status = r;
    return &c->more;
}

/* Must what follows wait in the outlet? Not for long. */
static bool
client_is_closed(const struct mcpi_http_client *c)
{
    return mcpi_http_entries_are_closed(&c->entries) || c->inlet_stage == INLET_NEXT ||
           c->inlet.is_awaited;
}

/* One message; false: none can be taken now. */
static bool
client_take(struct mcpi_http_client *c)
{
    struct mcpi_outlet *outlet = mcpi_peer_outlet(c->peer);
    struct mcpi_http_entry *entry;
    struct mcpi_out *out;

    if (c->ended || mcpi_outlet_is_empty(outlet) ||
        (!c->closing && client_is_closed(c)))
        return false;
    if (!client_has_room(c)) {
        client_arm(c, &c->starved, STARVED_PAUSE);
        return false;
    }
    out = mcpi_outlet_take(outlet, &c->text, client_now(c));
    if (!out)
        return false;
    entry = mcpi_http_entries_open(&c->entries, out, &c->text);
    if (c->entries.greeting == entry && c->inlet_stage == INLET_WANTED)
        c->inlet_stage = INLET_NEXT;
    mcpi_http_entries_send(entry, &c->text, client_mirror(c, entry));
    return true;
}

static void
client_open_inlet(struct mcpi_http_client *c)
{
    int r;

    if (c->inlet_stage < INLET_NEXT || c->closing || c->entries.greeting)
        return;
    r = mcpi_http_inlet_open(&c->inlet, mcpi_peer_spoken(c->peer));
    c->inlet_stage = r == MCP_E_NOMEM ? INLET_LATER : INLET_NONE;
    if (r == MCP_E_NOMEM)
        client_arm(c, &c->starved, STARVED_PAUSE);
    else if (r < 0)
        client_wake(c); /* nobody waits for it */
}

static void
on_starved(struct mcpi_timer *timer, int64_t now)
{
    (void)now;
    client_wake(MCPI_CONTAINER(timer, struct mcpi_http_client, starved));
}

static void
on_flush(struct mcpi_flush *flush)
{
    struct mcpi_http_client *c = MCPI_CONTAINER(flush, struct mcpi_http_client, flush);

    if (c->ended) {
        client_tell(c);
        return;
    }
    if (c->cut) {
        client_end(c, MCP_E_CLOSED);
        return;
    }
    mcpi_http_entries_reap(&c->entries);
    mcpi_http_entries_resume(&c->entries);
    while (client_take(c))
        continue;
    client_open_inlet(c);
    if (c->entries.starved)
        client_arm(c, &c->starved, STARVED_PAUSE);
    if (c->closing && !c->ended)
        client_step_closing(c);
}

/* ---- what core asks -------------------------------------------------------- */

static void
op_wake(struct mcpi_outlet *outlet)
{
    client_wake(mcpi_outlet_link(outlet));
}

/* A server that has agreed to a version of the legacy era may have a stream for us. One
 * of 2024-11-05 has one already. */
static void
op_ready(struct mcpi_peer *peer)
{
    struct mcpi_http_client *c = mcpi_peer_link(peer);
    bool modern;

    if (c->no_stream || mcpi_http_old_is_open(&c->old) ||
        !mcpi_engine_version(c->engine, mcpi_peer_spoken(peer), &modern) || modern)
        return;
    c->inlet_stage = INLET_WANTED;
    client_wake(c);
}

static void
op_hangup(struct mcpi_peer *peer, struct mcpi_leg *leg, int64_t after_us)
{
    struct mcpi_http_client *c = mcpi_peer_link(peer);
    struct mcpi_http_entry *entry = mcpi_leg_link(leg);

    if (!entry)
        return;
    if (entry == c->parked) {
        c->parked = NULL;
        mcpi_http_old_close(&c->old);
    }
    mcpi_http_entry_hangup(entry, after_us);
}

static void
op_close(struct mcpi_peer *peer, enum mcpi_closing how)
{
    struct mcpi_http_client *c = mcpi_peer_link(peer);

    c->target.deaf = true;
    c->cut = c->cut || how == MCPI_CLOSE_NOW;
    if (!c->closing) {
        c->closing = true;
        client_arm(c, &c->hurry, CLOSING_PAUSE);
    }
    mcpi_http_inlet_close(&c->inlet);
    client_wake(c);
}

static const struct mcpi_link_ops client_ops = {
    .wake = op_wake, .ready = op_ready, .hangup = op_hangup, .close = op_close};

/* ---- making and freeing ---------------------------------------------------- */

static int
client_open_target(struct mcpi_http_client *c,
                   const struct mcpi_http_client_options *opt)
{
    struct mcpi_http_target_options to = {.loop = opt->loop,
                                          .engine = opt->engine,
                                          .fetcher = opt->fetcher,
                                          .auth = opt->auth,
                                          .url = opt->url,
                                          .fields = opt->fields,
                                          .fields_len = opt->fields_len,
                                          .idle_us = opt->idle_us};

    return mcpi_http_target_init(&c->target, &to);
}

static void
client_open_streams(struct mcpi_http_client *c)
{
    c->entries.peer = c->peer;
    c->inlet.target = &c->target;
    c->inlet.peer = c->peer;
    c->inlet.lost = inlet_lost;
    c->inlet.settled = inlet_settled;
    c->inlet.user = c;
    mcpi_http_inlet_init(&c->inlet);
    c->old.target = &c->target;
    c->old.peer = c->peer;
    c->old.ops = &old_ops;
    c->old.user = c;
    mcpi_http_old_init(&c->old);
    mcpi_http_target_flow(&c->target, &c->farewell, c->target.url, &farewell_ops, c);
}

static int
client_open(struct mcpi_http_client *c, const struct mcpi_http_client_options *opt)
{
    int r;

    r = client_open_target(c, opt);
    if (r < 0)
        return r;
    mcpi_buf_init(&c->text, c->mem, c->target.max_bytes + MCPI_FRAME_MAX);
    mcpi_buf_init(&c->more, c->mem, MCPI_HTTP_LINES_MAX);
    r = mcpi_http_entries_init(&c->entries, &c->target, &entries_ops, c);
    if (r == 0 && !client_has_room(c))
        r = MCP_E_NOMEM;
    if (r == 0)
        r = mcpi_peer_new(opt->engine, &client_ops, MCPI_UNORDERED, c, &c->peer);
    if (r == 0)
        client_open_streams(c);
    return r;
}

/* Also a half-made one. */
static void
client_done(struct mcpi_http_client *c)
{
    mcpi_http_entries_done(&c->entries);
    mcpi_http_old_done(&c->old);
    mcpi_buf_done(&c->text);
    mcpi_buf_done(&c->more);
    mcpi_http_target_done(&c->target);
    mcpi_free(c->mem, c);
}

int
mcpi_http_client_new(const struct mcpi_http_client_options *opt,
                     struct mcpi_http_client **ret_client)
{
    const mcp_allocator *mem = mcpi_loop_mem(opt->loop);
    struct mcpi_http_client *c;
    int r;

    c = mcpi_alloc_zero(mem, sizeof(*c));
    if (!c)
        return MCP_E_NOMEM;
    c->mem = mem;
    c->loop = opt->loop;
    c->engine = opt->engine;
    c->no_stream = opt->no_stream;
    c->no_2024 = opt->no_2024;
    c->names = opt->names;
    c->mirror = opt->mirror;
    c->closed = opt->closed;
    c->user = opt->user;
    mcpi_flush_init(&c->flush, on_flush);
    mcpi_timer_init(&c->starved, on_starved);
    mcpi_timer_init(&c->hurry, on_hurry);
    r = client_open(c, opt);
    if (r < 0) {
        client_done(c);
        return r;
    }
    *ret_client = c;
    return 0;
}

void
mcpi_http_client_free(struct mcpi_http_client *client)
{
    if (!client)
        return;
    client_end(client, MCP_E_CLOSED);
    mcpi_flush_cancel(&client->flush);
    mcpi_peer_free(client->peer);
    client_done(client);
}

struct mcpi_peer *
mcpi_http_client_peer(const struct mcpi_http_client *client)
{
    return client->peer;
}
