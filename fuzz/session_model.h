/*
 * session_model.h - the two sides of a session, and what their engines must not do
 *
 * For session_fuzz.c alone, which says what happens; this is who hears of it.
 */
#ifndef FUZZ_SESSION_MODEL_H
#define FUZZ_SESSION_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/negotiate.h"
#include "core/peer.h"
#include "core/subscribe.h"
#include "core/subscription.h"
#include "link/pair.h"

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define FAILED "failed" /* what a handler says */

enum { CLIENT, SERVER };
enum { CALLS = 64, JOBS = 96, SUBSCRIPTIONS = 24, REACTIONS = 16 };
enum { ENOUGH_STEPS = 200000, ID_SHOWN = 64 };

struct fuzz;

struct call {
    struct fuzz *f;
    struct mcpi_call *handle;
    struct mcpi_exchange *parent; /* counted; or NULL */
    bool started, freed;
    int done, flushing, more;
    unsigned options;
};

/* A request that one side received, on the wire or inside of an answer. */
struct job {
    struct fuzz *f;
    struct mcpi_exchange *x; /* counted */
    struct mcpi_listener *listener;
    bool begun, running, finished, listens;
    bool acknowledged, answered; /* on the wire */
    int told;
};

struct subscription {
    struct fuzz *f;
    struct mcpi_subscription *handle;
    int life;
    bool started, closed;
    int opened, ended, frames;
};

struct reaction {
    int letter;
    unsigned a, b;
};

struct fuzz {
    mcp_allocator mem;
    long blocks, failing; /* failing: so many allocations succeed; negative: all */
    struct mcpi_timers timers;
    int64_t now;
    struct mcpi_engine *engine[2];
    struct mcpi_pair_end *end[2]; /* NULL: dead */
    size_t ring;
    unsigned offered; /* topics */
    int life, closed[2];
    struct call calls[CALLS];
    struct job jobs[JOBS];
    struct subscription subscriptions[SUBSCRIPTIONS];
    size_t call_count, job_count, subscription_count;
    struct reaction reactions[REACTIONS];
    size_t reaction_count;
    int depth; /* of callbacks that do something */
    const uint8_t *at, *stop;
};

/* A callback: do what was planned for one. */
static void react(struct fuzz *f);

/* ---- memory that is counted, and may run out ------------------------------- */

static bool
memory_fails(struct fuzz *f)
{
    return f->failing >= 0 && f->failing-- == 0;
}

static void *
count_alloc(void *user, size_t size)
{
    struct fuzz *f = user;

    if (memory_fails(f))
        return NULL;
    f->blocks++;
    return malloc(size);
}

static void *
count_realloc(void *user, void *ptr, size_t size)
{
    struct fuzz *f = user;

    return memory_fails(f) ? NULL : realloc(ptr, size);
}

static void
count_free(void *user, void *ptr)
{
    struct fuzz *f = user;

    if (ptr)
        f->blocks--;
    free(ptr);
}

/* ---- what the engines say -------------------------------------------------- */

static bool
same_id(const struct mcpi_id *a, const struct mcpi_id *b)
{
    struct mcpi_id x = mcpi_id_fold(*a), y = mcpi_id_fold(*b);

    return mcpi_id_same(&x, &y);
}

/* The request of the client's which a message of the server's is about. */
static struct job *
find_listening(struct fuzz *f, const struct mcpi_id *id)
{
    for (size_t i = 0; i < f->job_count; i++) {
        struct job *job = &f->jobs[i];

        if (job->listens && !job->answered && job->x->peer &&
            job->x->ending != MCPI_CANCELED && job->x->ending != MCPI_DROPPED &&
            same_id(&job->x->rpc.id, id))
            return job;
    }
    return NULL;
}

/* Which subscription it says it is of; NULL: none. in: params, or a result. */
static const mcp_json *
subscription_tag(const mcp_json *in)
{
    return mcp_json_get(mcp_json_get(in, "_meta"),
                        "io.modelcontextprotocol/subscriptionId");
}

/* Acknowledged first, events then, nothing after its end (H15, H16). */
static void
saw_event(struct fuzz *f, const struct mcpi_rpc *rpc)
{
    const mcp_json *tag = subscription_tag(rpc->params);
    struct mcpi_id id = mcpi_id_read(tag);
    struct job *job;

    if (!tag)
        return;
    job = find_listening(f, &id);
    CHECK(job);
    CHECK(job->acknowledged == (rpc->method != MCPI_METHOD_NOTE_ACKNOWLEDGED));
    job->acknowledged = true;
}

/* Its own last word, or what stands for it when there is no memory; a refusal of another
 * request with its id is none. Of two requests with one id the first is answered first: the
 * second was only taken once it was over. */
static bool
is_answer_to(const struct mcpi_rpc *rpc, const struct job *job)
{
    enum mcpi_ending ending = job->x->ending;

    if (job->answered || !job->x->peer || ending == MCPI_OPEN ||
        ending == MCPI_CANCELED || ending == MCPI_DROPPED ||
        !same_id(&job->x->rpc.id, &rpc->id))
        return false;
    if (rpc->kind == MCPI_RPC_RESULT)
        return job->listens == (subscription_tag(rpc->result) != NULL);
    return strcmp(rpc->error_message, FAILED) == 0 ||
           strcmp(rpc->error_message, "Internal error") == 0;
}

static void
saw_answer(struct fuzz *f, const struct mcpi_rpc *rpc)
{
    for (size_t i = 0; i < f->job_count; i++)
        if (is_answer_to(rpc, &f->jobs[i])) {
            f->jobs[i].answered = true;
            return;
        }
}

/* One frame at most takes a subscription back (H3). Those by hand have no reason, and
 * numbers may name another request too. */
static void
saw_cancel(struct fuzz *f, const struct mcpi_rpc *rpc)
{
    struct mcpi_id id = mcpi_id_read(mcp_json_get(rpc->params, "requestId"));

    if (!mcp_json_get(rpc->params, "reason") || id.kind != MCPI_ID_STRING)
        return;
    for (size_t i = 0; i < f->subscription_count; i++) {
        struct subscription *s = &f->subscriptions[i];

        if (s->handle && s->life == f->life &&
            same_id(mcpi_subscription_id(s->handle), &id))
            CHECK(++s->frames == 1);
    }
}

/* Every message is one line and a message of the protocol. */
static void
on_trace(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    struct fuzz *f = user;
    bool server = peer->engine == f->engine[SERVER];
    struct mcpi_rpc rpc;
    mcp_doc *doc;

    CHECK(memchr(text, '\n', len) == NULL);
    CHECK(mcp_doc_parse(text, len, NULL, &doc, NULL) == 0);
    mcpi_rpc_read(mcp_doc_root(doc), &rpc);
    CHECK(rpc.kind != MCPI_RPC_INVALID);
    if (server && rpc.kind == MCPI_RPC_NOTIFICATION)
        saw_event(f, &rpc);
    else if (server && rpc.kind != MCPI_RPC_REQUEST)
        saw_answer(f, &rpc);
    else if (!server && rpc.method == MCPI_METHOD_NOTE_CANCELED)
        saw_cancel(f, &rpc);
    mcp_doc_free(doc);
}

/* ---- jobs ------------------------------------------------------------------ */

static void
job_end(struct job *job, struct mcpi_result *result)
{
    CHECK(!job->listener && !job->finished);
    job->running = false;
    job->finished = true;
    mcpi_exchange_finish(job->x, result, job->f->now);
}

static void
job_finish(struct job *job, int code, const char *type, const char *body)
{
    struct mcpi_listener *listener = job->listener;
    struct mcpi_result result;

    job->listener = NULL;
    mcpi_result_init(&result, job->x->engine);
    if (code != 0)
        mcpi_result_error(&result, code, FAILED);
    else
        mcpi_buf_text(&result.body, body);
    result.type = type;
    mcpi_listener_close(listener, code == 0 ? &result : NULL);
    job_end(job, &result);
}

static void
job_slow(void *user)
{
    struct job *job = user;

    CHECK(job->listener);
    job_finish(job, MCPI_RPC_INTERNAL_ERROR, NULL, NULL);
}

static void
job_listen(struct job *job)
{
    struct mcpi_listener_options opt = {job->f->offered, job_slow, job};
    struct mcpi_refusal why = {.code = 0};
    int r;

    job->listens = true;
    r = mcpi_listener_open(job->x, &opt, &job->listener, &why);
    if (r < 0)
        job_finish(job, why.code ? why.code : MCPI_RPC_INTERNAL_ERROR, NULL, NULL);
}

static void
job_subscribe(struct job *job, bool on)
{
    const char *uri = mcp_json_string(mcp_json_get(job->x->rpc.params, "uri"), "a:");
    struct mcpi_refusal why;
    int r = 0;

    if (on)
        r = mcpi_peer_subscribe(job->x->peer, uri, &why);
    else
        (void)mcpi_peer_unsubscribe(job->x->peer, uri);
    job_finish(job, r < 0 ? MCPI_RPC_INTERNAL_ERROR : 0, NULL, "{}");
}

static void
on_begin(struct mcpi_exchange *x)
{
    struct job *job = x->served_user;

    CHECK(!job->running && !job->finished && x->ending == MCPI_OPEN);
    job->running = true;
    if (!job->begun && x->rpc.method == MCPI_METHOD_LISTEN && x->caller.dialect->modern)
        job_listen(job);
    else if (!job->begun && (x->rpc.method == MCPI_METHOD_RESOURCES_SUBSCRIBE ||
                             x->rpc.method == MCPI_METHOD_RESOURCES_UNSUBSCRIBE))
        job_subscribe(job, x->rpc.method == MCPI_METHOD_RESOURCES_SUBSCRIBE);
    job->begun = true;
    react(job->f);
}

static void
on_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct job *job = x->served_user;

    CHECK(how != MCPI_OPEN && how != MCPI_ANSWERED && reason);
    CHECK(++job->told == 1 && job->running);
    react(job->f);
    if (job->running && (job->listens || (job - job->f->jobs) % 3 == 0))
        job_finish(job, MCPI_RPC_INTERNAL_ERROR, NULL, NULL);
}

/* Our own stop: it is answered with a result (H17). */
static void
on_closing(struct mcpi_exchange *x, struct mcpi_result *last)
{
    struct job *job = x->served_user;
    struct mcpi_listener *listener = job->listener;

    CHECK(listener);
    job->listener = NULL;
    mcpi_listener_close(listener, last);
}

static const struct mcpi_served_ops plain = {.begin = on_begin, .ended = on_ended};
static const struct mcpi_served_ops lasting = {
    .begin = on_begin, .ended = on_ended, .closing = on_closing};

static int
on_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    struct fuzz *f = user;
    bool lasts = x->rpc.method == MCPI_METHOD_LISTEN && x->caller.dialect->modern;
    struct job *job = &f->jobs[f->job_count];

    if (f->job_count == JOBS)
        return MCP_E_LIMIT;
    if (x->rpc.method == MCPI_METHOD_OTHER) {
        mcpi_refuse(why, -32000, "not that");
        return MCP_E_INVAL;
    }
    f->job_count++;
    *job = (struct job){.f = f, .x = mcpi_exchange_ref(x)};
    mcpi_exchange_serve(x, lasts ? &lasting : &plain, job);
    return 0;
}

static void
on_notified(void *user, struct mcpi_peer *peer, const struct mcpi_rpc *note,
            struct mcpi_exchange *about)
{
    (void)peer;
    CHECK(note->method_name && (!about || about->ending != MCPI_OPEN));
    react(user);
}

static void
on_ready(void *user, struct mcpi_peer *peer, int status, const struct mcpi_rpc *reply)
{
    (void)reply;
    CHECK(status < 0 || peer->agreed);
    react(user);
}

static void
on_closed(void *user, struct mcpi_peer *peer, int status)
{
    struct fuzz *f = user;

    (void)status;
    CHECK(++f->closed[peer->engine == f->engine[SERVER]] == 1);
    react(f);
}

static const struct mcpi_router router = {
    .route = on_route, .notified = on_notified, .ready = on_ready, .closed = on_closed};

/* ---- calls ----------------------------------------------------------------- */

static bool
call_is_live(const struct call *call)
{
    return call->done == 0 && !call->freed;
}

static void
on_done(void *user, struct mcpi_call *handle, int status, const struct mcpi_rpc *answer)
{
    struct call *call = user;

    (void)handle;
    CHECK(call_is_live(call) && status <= 0);
    call->done++;
    CHECK((answer != NULL) ==
          (status == 0 || status == MCP_E_PEER || status == MCP_E_PROTO));
    react(call->f);
}

static void
on_progress(void *user, struct mcpi_call *handle, const struct mcpi_progress *p)
{
    struct call *call = user;

    (void)handle;
    (void)p;
    CHECK(call_is_live(call));
    react(call->f);
}

static int
on_claim(void *user, struct mcpi_call *handle, struct mcpi_id *ret_id)
{
    struct call *call = user;

    (void)handle;
    CHECK(call_is_live(call));
    react(call->f);
    *ret_id = mcpi_id_int(1000 + (call->options / 16) * 100 + ++call->more);
    return call->options % 16 == 15 ? MCP_E_NOMEM : 0;
}

static bool
on_more(void *user, struct mcpi_call *handle, int status, const struct mcpi_rpc *answer,
        struct mcpi_next_leg *next)
{
    struct call *call = user;

    (void)handle;
    CHECK(call_is_live(call) && answer && (status == 0 || status == MCP_E_PEER));
    *next = (struct mcpi_next_leg){"tools/list", "{\"cursor\":\"2\"}", 14};
    react(call->f);
    return ++call->more < 3;
}

static const struct mcpi_call_ops call_ops[] = {
    {.done = on_done},
    {.done = on_done, .progress = on_progress},
    {.done = on_done, .progress = on_progress, .claim = on_claim},
    {.done = on_done, .more = on_more},
};

static void
on_flushed(void *user, int status)
{
    struct call *call = user;

    CHECK(status <= 0 && --call->flushing == 0 && !call->freed);
    react(call->f);
}

/* ---- subscriptions --------------------------------------------------------- */

static void
on_opened(void *user, const mcp_json *filter)
{
    struct subscription *s = user;

    CHECK(!s->closed && ++s->opened == 1 && s->ended == 0);
    CHECK(!filter || mcp_json_get_type(filter) == MCP_JSON_OBJECT);
    react(s->f);
}

static void
on_event(void *user, const struct mcpi_rpc *note)
{
    struct subscription *s = user;

    CHECK(!s->closed && s->opened == 1 && s->ended == 0 && note->params);
    react(s->f);
}

static void
on_subscription_ended(void *user, enum mcpi_subscription_end how, int status,
                      const struct mcpi_rpc *answer)
{
    struct subscription *s = user;

    (void)answer;
    CHECK(!s->closed && ++s->ended == 1);
    CHECK(how == MCPI_SUBSCRIPTION_GRACEFUL || how == MCPI_SUBSCRIPTION_LOST);
    CHECK((how == MCPI_SUBSCRIPTION_GRACEFUL) == (status == 0));
    CHECK(status < 0 || s->opened == 1);
    react(s->f);
}

static const struct mcpi_subscription_ops subscription_ops = {on_opened, on_event,
                                                              on_subscription_ended};

/* ---- the invariant --------------------------------------------------------- */

static void
check_side(const struct fuzz *f, int side)
{
    const struct mcpi_engine *e = f->engine[side];
    const struct mcpi_peer *peer = f->end[side] ? mcpi_pair_peer(f->end[side]) : NULL;
    size_t open = 0, on_wire = 0, held = 0, listeners = 0;

    for (size_t i = 0; i < f->job_count; i++) {
        const struct job *job = &f->jobs[i];
        const struct mcpi_exchange *x = job->x;
        bool is_open = x->ending == MCPI_OPEN;

        if (x->engine != e)
            continue;
        CHECK(!job->finished || !is_open);
        CHECK(x->ending != MCPI_LIMITED || job->told == 1); /* who rests has no limit */
        open += is_open;
        on_wire += is_open && !x->on_local_end;
        held += job->running && !is_open;
        listeners += job->listener != NULL;
        CHECK(!is_open || peer);
        if (peer && !x->on_local_end)
            CHECK((mcpi_exchange_find(peer, &x->rpc.id) == x) == is_open);
    }
    CHECK(e->counts.exchanges == open && e->counts.held == held);
    CHECK(e->counts.deaf <= held && e->listener_count == listeners);
    CHECK(e->counts.legs == (peer ? peer->pending.count : 0));
    CHECK(!peer || peer->in_flight.count == on_wire);
}

/* Questions inside of answers are asked as long as a call waits for them (L2). */
static void
check_questions(const struct fuzz *f, size_t live)
{
    for (size_t i = 0; i < f->job_count; i++) {
        const struct mcpi_exchange *x = f->jobs[i].x;

        CHECK(live > 0 || !x->on_local_end || x->ending != MCPI_OPEN);
    }
}

static void
check(const struct fuzz *f)
{
    size_t live = 0;

    for (size_t i = 0; i < f->call_count; i++) {
        const struct call *call = &f->calls[i];
        bool is_live = call->started && call_is_live(call);

        live += is_live;
        CHECK(!is_live || !call->parent || call->parent->ending == MCPI_OPEN);
    }
    check_questions(f, live);
    CHECK(f->engine[CLIENT]->counts.calls + f->engine[SERVER]->counts.calls == live);
    for (size_t i = 0; i < f->subscription_count; i++) {
        const struct subscription *s = &f->subscriptions[i];

        if (s->handle)
            CHECK((mcpi_subscription_how(s->handle) == MCPI_SUBSCRIPTION_OPEN) ==
                  (s->ended == 0));
    }
    check_side(f, CLIENT);
    check_side(f, SERVER);
}

#endif
