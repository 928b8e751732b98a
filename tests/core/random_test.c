/*
 * random_test.c - two engines, thousands of events in random order, one invariant
 *
 * A request is in its table exactly while it is open, leaves it once, and nothing is
 * sent for it afterwards but what is allowed: the last word of an exchange, the one
 * frame of a leg. The model below knows only what the test did and what was issued;
 * after every event it is held against the tables of both engines.
 *
 * The seed is printed. MCP_TEST_SEED=n runs that one alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/versions.h"
#include "support/world.h"

#define CANCELLED "notifications/cancelled"
#define LIVES 4    /* connections of one run */
#define EVENTS 700 /* in each */
#define TEXT 32
#define SLOTS 8192 /* ids of a life: numbers, and then those of odd strings */
#define HANDLER_FAILED (-32050)

struct model;

/* A request that was started, whatever became of it. */
struct sent {
    struct model *m;
    struct mcpi_call *call; /* NULL: freed */
    int side, life;
    struct mcpi_id id;
    char text[TEXT]; /* of a string id */
    size_t parent;   /* nested: the server's job; else SIZE_MAX */
    int64_t idle_us, idle_at, total_at;
    bool resets, detached;
    bool issued;
    bool ended;
    bool freed; /* before it had ended: nobody is told */
    int done;
    int status;
    long started, ended_at; /* in events */
    bool owes_frame;
    int frames;
};

/* What the model adds to a job of the world. */
struct received {
    int life;
    int answers;
};

enum way { ANSWERED, FAILED, CANCELED, TIMED_OUT, TOTAL, CLOSED, FREED, WAYS };

/* What a run was made of; it proves little if something never happened. */
struct tally {
    long ended[WAYS];
    long issued, frames, refused;
    long succeeded; /* late clean-ups with a successor in the table */
};

enum doing { STARTING, STEPPING, EXPIRING, CANCELING, OTHER };

struct model {
    struct world w;
    uint64_t random;
    int life;
    long event;
    enum doing doing;
    int stepping; /* side */
    struct sent *target;
    struct sent **sent;
    size_t sent_count;
    struct received *received[2];
    size_t received_count[2];
    mcpi_trace_fn *record; /* the world's */
    int balance[2][SLOTS]; /* requests to a side less its answers, by id; this life */
    bool torn[2];          /* a line to a side is not what was written; this life */
    struct tally tally;
};

/* ---- chance ---------------------------------------------------------------- */

static uint64_t
chance_next(struct model *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random;
}

static int
below(struct model *m, int limit)
{
    return (int)((chance_next(m) >> 11) % (uint64_t)limit);
}

static bool
one_in(struct model *m, int n)
{
    return below(m, n) == 0;
}

/* ---- ids: the model's own idea of them ------------------------------------- */

/* The key as text: 7 and "7" are the same. Ids of this test are canonical or odd. */
static const char *
key_of(const struct mcpi_id *id, char into[TEXT])
{
    if (id->kind == MCPI_ID_INT)
        snprintf(into, TEXT, "%lld", (long long)id->number);
    else
        snprintf(into, TEXT, "%.*s", (int)id->len, id->text);
    return into;
}

static bool
same_key(const struct mcpi_id *a, const struct mcpi_id *b)
{
    char x[TEXT], y[TEXT];

    return strcmp(key_of(a, x), key_of(b, y)) == 0;
}

static bool
same_spelling(const struct mcpi_id *a, const struct mcpi_id *b)
{
    return a->kind == b->kind && same_key(a, b);
}

static size_t
slot_of(const struct mcpi_id *id)
{
    char key[TEXT];
    bool odd = key_of(id, key)[0] == 'k';
    unsigned long number = strtoul(key + odd, NULL, 10);

    assert_true(number < SLOTS / 2);
    return number + (odd ? SLOTS / 2 : 0);
}

/* ---- what a call hears ----------------------------------------------------- */

static void
sent_end(struct sent *s, int status, int way)
{
    s->ended = true;
    s->status = status;
    s->ended_at = s->m->event;
    s->m->tally.ended[way]++;
    s->owes_frame = s->issued && !s->detached &&
                    (way == CANCELED || way == TIMED_OUT || way == TOTAL ||
                     way == FREED);
}

static bool
parent_ended(const struct sent *s)
{
    return s->parent != SIZE_MAX &&
           s->m->w.jobs[SERVER][s->parent].x->ending != MCPI_OPEN;
}

/* Is this the outcome that what happens right now can have? */
static int
judge(const struct sent *s, int status)
{
    const struct model *m = s->m;

    switch (status) {
    case 0:
    case MCP_E_PEER:
        assert_true(m->doing == STEPPING && m->stepping == s->side && s->issued);
        return status == 0 ? ANSWERED : FAILED;
    case MCP_E_PROTO: /* something was written into the middle of its answer */
        assert_true(m->doing == STEPPING && m->stepping == s->side && s->issued);
        assert_true(m->torn[s->side]);
        return FAILED;
    case MCP_E_CANCELED:
        assert_true((m->doing == CANCELING && m->target == s) || parent_ended(s));
        return CANCELED;
    case MCP_E_TIMEOUT:
        assert_true(m->doing == EXPIRING && m->w.now >= s->idle_at);
        return TIMED_OUT;
    case MCP_E_TOTAL_TIMEOUT:
        assert_true(m->doing == EXPIRING && m->w.now >= s->total_at);
        return TOTAL;
    case MCP_E_CLOSED:
        assert_true(m->w.peer[s->side]->state >= MCPI_PEER_DRAINING);
        return CLOSED;
    default:
        fail_msg("a call ended with %s", mcp_status_name(status));
        return CLOSED;
    }
}

static void
on_done(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *answer)
{
    struct sent *s = user;

    assert_int_equal(++s->done, 1);
    assert_false(s->ended);
    assert_ptr_equal(call, s->call);
    assert_int_equal(answer != NULL,
                     status == 0 || status == MCP_E_PEER || status == MCP_E_PROTO);
    if (answer)
        assert_true(same_key(&answer->id, &s->id));
    sent_end(s, status, judge(s, status));
}

static void
on_progress(void *user, struct mcpi_call *call, const struct mcpi_progress *p)
{
    struct sent *s = user;

    (void)call;
    (void)p;
    assert_true(s->issued && !s->ended);
    if (s->resets)
        s->idle_at = mcpi_time_add(s->m->w.now, s->idle_us);
}

static const struct mcpi_call_ops call_ops = {.done = on_done, .progress = on_progress};

/* ---- what was issued ------------------------------------------------------- */

static struct sent *
find_sent(const struct model *m, int side, const struct mcpi_id *id,
          bool (*fits)(const struct sent *))
{
    for (size_t i = 0; i < m->sent_count; i++) {
        struct sent *s = m->sent[i];

        if (s->life == m->life && s->side == side && same_spelling(&s->id, id) &&
            fits(s))
            return s;
    }
    return NULL;
}

static bool
waits_to_be_issued(const struct sent *s)
{
    return !s->issued && !s->ended;
}

static bool
waits_for_its_frame(const struct sent *s)
{
    return s->owes_frame && s->frames == 0;
}

/* A cancel that came before this request was started stands before it on the wire. */
static void
check_order(const struct model *m, const struct sent *request)
{
    for (size_t i = 0; i < m->sent_count; i++) {
        const struct sent *s = m->sent[i];

        if (s->life == m->life && s->side == request->side && waits_for_its_frame(s))
            assert_false(s->ended_at < request->started);
    }
}

static void
saw_request(struct model *m, int side, const struct mcpi_rpc *rpc)
{
    struct sent *s;

    m->balance[1 - side][slot_of(&rpc->id)]++;
    if (rpc->method == MCPI_METHOD_INITIALIZE || rpc->method == MCPI_METHOD_DISCOVER)
        return;
    s = find_sent(m, side, &rpc->id, waits_to_be_issued);
    assert_non_null(s);
    check_order(m, s);
    s->issued = true;
    m->tally.issued++;
}

static void
saw_frame(struct model *m, int side, const struct mcpi_rpc *rpc)
{
    struct mcpi_id id = mcpi_id_read(mcp_json_get(rpc->params, "requestId"));
    const char *reason = mcp_json_string(mcp_json_get(rpc->params, "reason"), "");
    struct sent *s;

    if (strcmp(reason, "stray") == 0)
        return;
    s = find_sent(m, side, &id, waits_for_its_frame);
    assert_non_null(s); /* else: before its request, a second one, or for no reason */
    s->frames++;
    m->tally.frames++;
}

/* Jobs of the world that came since the last look. */
static void
adopt_jobs(struct model *m)
{
    for (int side = 0; side < 2; side++) {
        size_t count = m->w.job_count[side];

        if (count == m->received_count[side])
            continue;
        m->received[side] = realloc(m->received[side], count * sizeof(struct received));
        assert_non_null(m->received[side]);
        for (size_t i = m->received_count[side]; i < count; i++)
            m->received[side][i] = (struct received){m->life, 0};
        m->received_count[side] = count;
    }
}

static bool
has_a_last_word(enum mcpi_ending how)
{
    return how == MCPI_ANSWERED || how == MCPI_LIMITED || how == MCPI_CLOSED;
}

/* Of no job: handlers here fail with a code of their own, and closing has its text. */
static bool
is_refusal(const struct mcpi_rpc *rpc)
{
    return rpc->kind == MCPI_RPC_ERROR && rpc->error_code != HANDLER_FAILED &&
           strcmp(rpc->error_message, "Connection closed") != 0;
}

/* The oldest job of this id that ended with a last word which was not issued yet. */
static void
saw_answer(struct model *m, int side, const struct mcpi_rpc *rpc)
{
    if (rpc->id.kind == MCPI_ID_NONE)
        return;
    assert_true(--m->balance[side][slot_of(&rpc->id)] >= 0);
    if (mcp_json_get(rpc->result, "supportedVersions") ||
        mcp_json_get(rpc->result, "serverInfo"))
        return;
    for (size_t i = 0; i < m->received_count[side] && !is_refusal(rpc); i++) {
        const struct mcpi_exchange *x = m->w.jobs[side][i].x;
        struct received *r = &m->received[side][i];

        if (r->life == m->life && r->answers == 0 && has_a_last_word(x->ending) &&
            same_spelling(&x->rpc.id, &rpc->id)) {
            r->answers++;
            return;
        }
    }
    m->tally.refused++; /* by the library: a duplicate, or not introduced */
}

static void
saw_progress(struct model *m, int side, const struct mcpi_rpc *rpc)
{
    struct mcpi_id id = mcpi_id_read(mcp_json_get(rpc->params, "progressToken"));

    for (size_t i = 0; i < m->received_count[side]; i++) {
        const struct mcpi_exchange *x = m->w.jobs[side][i].x;
        const struct received *r = &m->received[side][i];

        if (r->life == m->life && r->answers == 0 &&
            (x->ending == MCPI_OPEN || has_a_last_word(x->ending)) &&
            same_spelling(&x->rpc.id, &id))
            return;
    }
    fail_msg("progress for what is no longer open");
}

static void
look_at_message(struct model *m, int side, const char *text)
{
    struct mcpi_rpc rpc;
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    mcpi_rpc_read(mcp_doc_root(doc), &rpc);
    assert_int_not_equal(rpc.kind, MCPI_RPC_INVALID);
    if (rpc.kind == MCPI_RPC_REQUEST)
        saw_request(m, side, &rpc);
    else if (rpc.kind != MCPI_RPC_NOTIFICATION)
        saw_answer(m, side, &rpc);
    else if (rpc.method == MCPI_METHOD_NOTE_CANCELED)
        saw_frame(m, side, &rpc);
    else if (rpc.method == MCPI_METHOD_NOTE_PROGRESS)
        saw_progress(m, side, &rpc);
    mcp_doc_free(doc);
}

/* At the very moment: what ends a moment later was still open. */
static void
on_trace(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    struct model *m = user;
    int side = peer->engine == m->w.engine[CLIENT] ? CLIENT : SERVER;

    m->record(&m->w, peer, text, len);
    adopt_jobs(m);
    look_at_message(m, side, m->w.sent[side][m->w.sent_count[side] - 1]);
}

/* ---- the invariant --------------------------------------------------------- */

static void
check_calls(const struct model *m, int side)
{
    const struct mcpi_peer *peer = m->w.peer[side];
    size_t live = 0;

    for (size_t i = 0; i < m->sent_count; i++) {
        const struct sent *s = m->sent[i];

        assert_int_equal(s->done, s->ended && !s->freed);
        if (s->ended || s->side != side)
            continue;
        live++;
        assert_int_equal(s->life, m->life);
        assert_non_null(mcpi_leg_find_any(peer, &s->id));
        assert_true(same_spelling(&mcpi_leg_find_any(peer, &s->id)->id, &s->id));
    }
    assert_int_equal(m->w.engine[side]->counts.calls, live);
    if (peer) {
        live += side == CLIENT && peer->state == MCPI_PEER_NEGOTIATING;
        assert_int_equal(peer->pending.count, live);
    }
    assert_int_equal(m->w.engine[side]->counts.legs, live);
}

/* Open means findable and found alone; ended means gone; told means ended by others. */
static void
check_job(const struct model *m, int side, size_t i)
{
    const struct job *job = &m->w.jobs[side][i];
    const struct mcpi_exchange *x = job->x;
    bool current = m->received[side][i].life == m->life && m->w.peer[side];
    bool open = x->ending == MCPI_OPEN;
    bool by_others = !open && x->ending != MCPI_ANSWERED;

    if (current)
        assert_int_equal(mcpi_exchange_find(m->w.peer[side], &x->rpc.id) == x, open);
    assert_true(current || !open);
    assert_int_equal(job->told, by_others);
    assert_true(m->received[side][i].answers <= has_a_last_word(x->ending));
}

static void
check_jobs(const struct model *m, int side)
{
    size_t open = 0, held = 0;

    for (size_t i = 0; i < m->received_count[side]; i++) {
        const struct job *job = &m->w.jobs[side][i];

        check_job(m, side, i);
        open += job->x->ending == MCPI_OPEN;
        held += job->x->ending != MCPI_OPEN && !job->finished;
    }
    assert_int_equal(m->w.engine[side]->counts.exchanges, open);
    assert_int_equal(m->w.engine[side]->counts.held, held);
    if (m->w.peer[side])
        assert_int_equal(m->w.peer[side]->in_flight.count, open);
}

static void
check(struct model *m)
{
    adopt_jobs(m);
    for (int side = 0; side < 2; side++) {
        check_calls(m, side);
        check_jobs(m, side);
    }
    m->event++;
    m->doing = OTHER;
}

/* ---- events: calls --------------------------------------------------------- */

/* Small numbers, so that they meet each other, their twins, and minted ones. */
static const struct mcpi_id *
choose_id(struct model *m, struct sent *s)
{
    int kind = below(m, 10);
    int number = below(m, 60);

    if (kind < 5)
        return NULL;
    if (number == 0 && m->w.peer[s->side]->state == MCPI_PEER_NEGOTIATING)
        number = 60; /* initialize has 0 */
    if (kind < 7) {
        s->id = mcpi_id_int(number);
        return &s->id;
    }
    snprintf(s->text, sizeof(s->text), kind < 9 ? "%d" : "k%d\"\xc3\xa9", number);
    s->id = mcpi_id_string(s->text, strlen(s->text));
    return &s->id;
}

static bool
key_is_live(const struct model *m, int side, const struct mcpi_id *id)
{
    for (size_t i = 0; i < m->sent_count; i++)
        if (!m->sent[i]->ended && m->sent[i]->side == side &&
            same_key(&m->sent[i]->id, id))
            return true;
    return false;
}

static void
choose_limits(struct model *m, struct sent *s, struct mcpi_call_options *opt)
{
    static const int64_t idle[] = {MCPI_TIMEOUT_NOW, 50 * MS,     400 * MS,
                                   2 * SECOND,       20 * SECOND, MCPI_NEVER,
                                   MCPI_NEVER,       MCPI_NEVER};
    static const int64_t total[] = {0, 0, 0, 300 * MS, 3 * SECOND};

    opt->timeout_us = idle[below(m, 8)];
    opt->total_us = total[below(m, 5)];
    opt->reset_on_progress = s->resets = one_in(m, 4);
    opt->on_abandon = one_in(m, 12) ? MCPI_ABANDON_DETACHES : MCPI_ABANDON_CANCELS;
    s->detached = opt->on_abandon == MCPI_ABANDON_DETACHES;
    s->idle_us = opt->timeout_us < 0 ? 0 : opt->timeout_us;
    s->idle_at = mcpi_time_add(m->w.now, s->idle_us);
    s->total_at = opt->total_us > 0 ? m->w.now + opt->total_us : MCPI_NEVER;
    if (s->resets && opt->total_us == 0)
        s->total_at = m->w.now + 3600 * SECOND;
}

static struct sent *
sent_new(struct model *m, int side)
{
    struct sent *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->m = m;
    s->side = side;
    s->life = m->life;
    s->parent = SIZE_MAX;
    s->started = m->event;
    return s;
}

static void
sent_keep(struct model *m, struct sent *s)
{
    m->sent = realloc(m->sent, (m->sent_count + 1) * sizeof(struct sent *));
    assert_non_null(m->sent);
    m->sent[m->sent_count++] = s;
}

/* Start it, and hold the verdict against the model's. */
static void
start(struct model *m, struct sent *s, struct mcpi_call_options *opt, int refusal)
{
    bool in_use;
    int r;

    m->doing = STARTING;
    opt->id = choose_id(m, s);
    in_use = opt->id && key_is_live(m, s->side, opt->id);
    choose_limits(m, s, opt);
    opt->ops = &call_ops;
    opt->user = s;
    if (m->w.peer[s->side]->state >= MCPI_PEER_DRAINING)
        refusal = MCP_E_CLOSED;
    else if (refusal == 0 && in_use)
        refusal = MCP_E_ID_IN_USE;
    r = mcpi_call_start(m->w.peer[s->side], opt, m->w.now, &s->call);
    assert_int_equal(r, refusal);
    if (r < 0) {
        free(s);
        return;
    }
    if (!opt->id)
        assert_false(key_is_live(m, s->side, mcpi_call_id(s->call)));
    s->id = *mcpi_call_id(s->call);
    if (s->id.kind == MCPI_ID_STRING)
        s->id.text = s->text;
    sent_keep(m, s);
}

static void
event_call(struct model *m)
{
    static const char params[] = "{\"name\":\"t\"}";
    struct mcpi_call_options opt = {
        .method = "tools/call", .params = params, .params_len = sizeof(params) - 1};

    if (m->w.peer[CLIENT])
        start(m, sent_new(m, CLIENT), &opt, 0);
}

/* A handler asks the client: an open one of the legacy era may, one that was told to
 * stop hears that again, and one that has finished has no context any more. */
static int
nested_verdict(const struct job *job)
{
    if (job->told && !job->finished)
        return MCP_E_CANCELED;
    if (job->x->ending != MCPI_OPEN || !job->x->caller.dialect->asks_back)
        return MCP_E_NO_CHANNEL;
    return 0;
}

static void
event_nested(struct model *m)
{
    struct mcpi_call_options opt = {.method = "roots/list"};
    struct sent *s;
    size_t parent;

    if (m->w.job_count[SERVER] == 0 || !m->w.peer[SERVER])
        return;
    parent = (size_t)below(m, (int)m->w.job_count[SERVER]);
    if (m->received[SERVER][parent].life != m->life)
        return;
    opt.parent = m->w.jobs[SERVER][parent].x;
    s = sent_new(m, SERVER);
    s->parent = parent;
    start(m, s, &opt, nested_verdict(&m->w.jobs[SERVER][parent]));
}

/* Any request of this life, mostly one that is alive. */
static struct sent *
some_sent(struct model *m)
{
    struct sent *s = NULL;

    for (int tries = 0; tries < 8 && m->sent_count > 0; tries++) {
        s = m->sent[below(m, (int)m->sent_count)];
        if (!s->ended && s->call)
            return s;
    }
    return s && s->call && s->life == m->life ? s : NULL;
}

static void
event_cancel(struct model *m)
{
    struct sent *s = some_sent(m);
    bool settled;

    if (!s)
        return;
    settled = s->ended;
    m->doing = CANCELING;
    m->target = s;
    assert_int_equal(mcpi_call_cancel(s->call, "no longer wanted", m->w.now),
                     settled ? MCP_E_STATE : 0);
    assert_true(s->ended);
}

static void
event_free(struct model *m)
{
    struct sent *s = some_sent(m);

    if (!s)
        return;
    if (!s->ended) {
        s->freed = true;
        sent_end(s, MCP_E_CANCELED, FREED);
    }
    mcpi_call_free(s->call, m->w.now);
    s->call = NULL;
}

/* A cancel frame by hand, in the other spelling, for a request of ours; or for none. */
static void
event_frame(struct model *m)
{
    struct sent *s = some_sent(m);
    char params[128];

    if (!s || s->ended || s->id.kind == MCPI_ID_STRING) {
        snprintf(params, sizeof(params), "{\"requestId\":%d,\"reason\":\"stray\"}",
                 1000000 + below(m, 9));
        if (m->w.peer[CLIENT])
            assert_int_equal(mcpi_peer_notify(m->w.peer[CLIENT], CANCELLED, params,
                                              strlen(params), m->w.now),
                             0);
        return;
    }
    m->doing = CANCELING;
    m->target = s;
    snprintf(params, sizeof(params), "{\"requestId\":\"%lld\",\"reason\":\"by hand\"}",
             (long long)s->id.number);
    assert_int_equal(mcpi_peer_notify(m->w.peer[s->side], CANCELLED, params,
                                      strlen(params), m->w.now),
                     0);
    assert_true(s->ended);
}

/* ---- events: handlers ------------------------------------------------------ */

static struct job *
some_job(struct model *m, int *ret_side)
{
    int side = one_in(m, 4) ? CLIENT : SERVER;

    *ret_side = side;
    for (int tries = 0; tries < 8 && m->w.job_count[side] > 0; tries++) {
        struct job *job = &m->w.jobs[side][below(m, (int)m->w.job_count[side])];

        if (!job->finished)
            return job;
    }
    return NULL;
}

static void
event_finish(struct model *m)
{
    int side;
    struct job *job = some_job(m, &side);

    if (!job)
        return;
    if (one_in(m, 4))
        job_fail(&m->w, job, HANDLER_FAILED, "it did not work");
    else
        job_finish(&m->w, job, side == SERVER ? "{\"content\":[]}" : "{\"roots\":[]}");
}

static void
event_report(struct model *m)
{
    int side, r;
    struct job *job = some_job(m, &side);

    if (!job)
        return;
    if (one_in(m, 8))
        job->finish_when_told = true;
    r = mcpi_exchange_progress(job->x, (double)m->event, (double)NAN, NULL, m->w.now);
    assert_int_equal(r, job->x->ending == MCPI_OPEN ? 0 : MCP_E_CANCELED);
}

/* An exchange that has ended cleans up once more, late: whoever has its id by now stays
 * (A15). Looks for one with a successor. */
static void
event_late_clean_up(struct model *m)
{
    struct mcpi_peer *peer = m->w.peer[SERVER];

    for (size_t i = 0; peer && i < m->received_count[SERVER]; i++) {
        struct mcpi_exchange *x = m->w.jobs[SERVER][i].x;

        if (m->received[SERVER][i].life == m->life && x->ending != MCPI_OPEN &&
            mcpi_exchange_find(peer, &x->rpc.id)) {
            assert_false(mcpi_map_remove(&peer->in_flight, &x->by_id));
            m->tally.succeeded++;
        }
    }
}

/* ---- events: the link ------------------------------------------------------ */

static int
step(struct model *m, int side)
{
    int r = 0;

    m->doing = STEPPING;
    m->stepping = side;
    if (m->w.peer[side])
        r = m->w.link->step(&m->w, side);
    check(m);
    return r;
}

static void
event_step(struct model *m)
{
    int side = below(m, 2);
    int count = 1 + below(m, 12);

    while (count-- > 0 && step(m, side) > 0)
        continue;
}

static void
run(struct model *m)
{
    int moved;

    do {
        moved = 0;
        for (int side = 0; side < 2; side++)
            while (step(m, side) > 0)
                moved = 1;
    } while (moved);
}

static void
pass(struct model *m, int64_t us)
{
    m->w.now += us;
    m->doing = EXPIRING;
    mcpi_timers_expire(&m->w.timers, m->w.now);
    for (size_t i = 0; i < m->sent_count; i++)
        if (!m->sent[i]->ended)
            assert_true(m->sent[i]->idle_at > m->w.now &&
                        m->sent[i]->total_at > m->w.now);
    check(m);
}

/* What a peer that breaks rules would write; %d stands for an id. */
static const char *const hostile[] = {
    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"%d\",\"error\":{\"code\":5,\"message\":\"\"}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"" CANCELLED "\",\"params\":{\"requestId\":%d}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"" CANCELLED
    "\",\"params\":{\"requestId\":\"%d\"}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"" CANCELLED
    "\",\"params\":{\"requestId\":[%d]}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
    "\"progressToken\":%d,\"progress\":1}}",
    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"roots/list\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"%d\",\"method\":\"tools/"
    "call\",\"params\":{\"_meta\":{"
    "\"io.modelcontextprotocol/protocolVersion\":\"" MCPI_VERSION_MODERN "\","
    "\"io.modelcontextprotocol/clientCapabilities\":{},"
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"x\",\"version\":\"1\"}}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":%d,\"message\":\"lost\"}}",
    "[%d]",
    "{\"jsonrpc\":\"2.0\",\"id\":%d,",
};

#define HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

static void
event_inject(struct model *m)
{
    int side = below(m, 2);
    int number = below(m, 70);
    const char *text = hostile[below(m, HOSTILE)];
    const char *mark;
    char line[512];

    if (!m->w.peer[side])
        return;
    if (one_in(m, 4)) /* in the middle of whatever is being written */
        m->torn[1 - side] = true;
    else
        run(m);
    if (!m->w.peer[side])
        return;
    mark = strchr(text, '%');
    snprintf(line, sizeof(line), "%.*s%d%s\n", (int)(mark - text), text, number,
             mark + 2);
    m->balance[1 - side][number]++; /* if it is a request, and arrives */
    if (m->w.link->inject(&m->w, side, line, strlen(line)) < strlen(line))
        m->torn[1 - side] = true;
}

/* ---- a life ---------------------------------------------------------------- */

static void
event(struct model *m)
{
    int which = below(m, 100);

    if (which < 25)
        event_call(m);
    else if (which < 31)
        event_nested(m);
    else if (which < 60)
        event_step(m);
    else if (which < 72)
        event_finish(m);
    else if (which < 78)
        event_report(m);
    else if (which < 85)
        event_cancel(m);
    else if (which < 88)
        event_free(m);
    else if (which < 90)
        event_frame(m);
    else if (which < 94)
        event_inject(m);
    else if (which < 96)
        event_late_clean_up(m);
    else
        pass(m, below(m, 200) * MS);
    check(m);
}

/* Everything that lives is canceled and all is written: nothing may be left, and who
 * was owed a frame has had it. */
static void
calm_down(struct model *m)
{
    for (size_t i = 0; i < m->sent_count; i++) {
        m->doing = CANCELING;
        m->target = m->sent[i];
        if (!m->sent[i]->ended)
            mcpi_call_cancel(m->sent[i]->call, NULL, m->w.now);
        check(m);
    }
    run(m);
    for (size_t i = 0; i < m->sent_count; i++)
        assert_true(m->sent[i]->life != m->life || !waits_for_its_frame(m->sent[i]));
    if (m->w.peer[CLIENT]->state != MCPI_PEER_NEGOTIATING) /* its answer was garbled */
        assert_int_equal(m->w.peer[CLIENT]->pending.count, 0);
    assert_int_equal(m->w.peer[SERVER]->pending.count, 0);
}

/* One way to part, in the middle of everything. */
static void
part(struct model *m)
{
    int side = below(m, 2);

    switch (below(m, 4)) {
    case 0:
        mcpi_peer_close(m->w.peer[side], m->w.now);
        break;
    case 1:
        m->w.link->shutdown(&m->w, side);
        break;
    case 2:
        world_cut(&m->w, side);
        break;
    default:
        calm_down(m);
        return;
    }
    check(m);
    for (int i = 0; i < 40; i++)
        event(m);
}

static void
connect_again(struct model *m)
{
    struct world_options opt = {.ring_bytes = (size_t)(20 + below(m, 400))};

    assert_int_equal(m->w.link->open(&m->w, &opt), 0);
    memset(m->balance, 0, sizeof(m->balance));
    memset(m->torn, 0, sizeof(m->torn));
    assert_int_equal(mcpi_peer_connect(m->w.peer[CLIENT], m->w.now), 0);
    check(m);
    if (!one_in(m, 3)) /* else the first calls wait behind the negotiation */
        run(m);
}

static void
live(struct model *m)
{
    for (int i = 0; i < EVENTS; i++)
        event(m);
    part(m);
    for (int side = 0; side < 2; side++) {
        world_cut(&m->w, side);
        check(m);
    }
    for (size_t i = 0; i < m->sent_count; i++)
        assert_true(m->sent[i]->ended && m->sent[i]->frames <= 1);
    m->life++;
}

static void
model_done(struct model *m)
{
    world_close(&m->w);
    for (size_t i = 0; i < m->sent_count; i++)
        free(m->sent[i]);
    free(m->sent);
    free(m->received[CLIENT]);
    free(m->received[SERVER]);
}

static void
finish_all(struct model *m)
{
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < m->w.job_count[side]; i++)
            if (!m->w.jobs[side][i].finished)
                job_finish(&m->w, &m->w.jobs[side][i], "{}");
    for (size_t i = 0; i < m->sent_count; i++)
        mcpi_call_free(m->sent[i]->call, m->w.now);
    check(m);
    world_assert_quiet(&m->w);
}

static void
tally_add(struct tally *sum, const struct tally *part)
{
    for (int way = 0; way < WAYS; way++)
        sum->ended[way] += part->ended[way];
    sum->issued += part->issued;
    sum->frames += part->frames;
    sum->refused += part->refused;
    sum->succeeded += part->succeeded;
}

static void
tally_check(const struct tally *t)
{
    print_message("%ld issued, %ld frames, %ld refused; answered %ld, failed %ld, "
                  "canceled %ld, timed out %ld, total %ld, closed %ld, freed %ld\n",
                  t->issued, t->frames, t->refused, t->ended[ANSWERED],
                  t->ended[FAILED], t->ended[CANCELED], t->ended[TIMED_OUT],
                  t->ended[TOTAL], t->ended[CLOSED], t->ended[FREED]);
    for (int way = 0; way < WAYS; way++)
        assert_true(t->ended[way] > 50);
    assert_true(t->issued > 1000 && t->frames > 500 && t->refused > 50);
    assert_true(t->succeeded > 50);
}

static void
run_seed(uint64_t seed, enum mcpi_era era, struct tally *tally)
{
    struct world_options opt = {.client_era = era,
                                .times = {.request = MCPI_NEVER, .deaf = 2 * SECOND}};
    static struct model m;

    memset(&m, 0, sizeof(m));
    m.random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    print_message("seed %llu, %s\n", (unsigned long long)seed,
                  era == MCPI_ERA_LEGACY ? "legacy" : "modern");
    assert_int_equal(world_open(&m.w, &opt), 0);
    m.record = m.w.engine[CLIENT]->trace;
    for (int side = 0; side < 2; side++) {
        world_cut(&m.w, side);
        m.w.engine[side]->trace = on_trace;
        m.w.engine[side]->trace_user = &m;
    }
    for (int i = 0; i < LIVES; i++) {
        connect_again(&m);
        live(&m);
    }
    finish_all(&m);
    tally_add(tally, &m.tally);
    model_done(&m);
}

static void
run_seeds(enum mcpi_era era)
{
    const char *given = getenv("MCP_TEST_SEED");
    struct tally tally = {{0}, 0, 0, 0, 0};

    if (given) {
        run_seed(strtoull(given, NULL, 10), era, &tally);
        return;
    }
    for (uint64_t seed = 1; seed <= 9; seed++) {
        run_seed(seed, era, &tally);
        /* The schema check has seen enough: these are all alike. */
        unsetenv("MCP_TEST_WIRE");
    }
    tally_check(&tally);
}

static void
A15_A16_a_request_is_in_the_table_exactly_while_it_is_open_modern(void **state)
{
    (void)state;
    run_seeds(MCPI_ERA_MODERN);
}

static void
A15_A16_a_request_is_in_the_table_exactly_while_it_is_open_legacy(void **state)
{
    (void)state;
    run_seeds(MCPI_ERA_LEGACY);
}

TEST_MAIN(TEST(A15_A16_a_request_is_in_the_table_exactly_while_it_is_open_modern),
          TEST(A15_A16_a_request_is_in_the_table_exactly_while_it_is_open_legacy))
