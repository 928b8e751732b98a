/*
 * renew_random_test.c - a client whose server loses the session again and again, in
 * random order with everything else
 *
 * The model knows what the test did and what the link took. A request is out once in a
 * session and twice at most; it is sent again only if it met the loss; nothing of one
 * session is said in the next; every call ends once, and for a reason that is known.
 *
 * The seed is printed. MCP_TEST_SEED=n runs that one alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/fake.h"

enum { CALLS = 400, EVENTS = 4000 };

enum where { WAITS, OUT, OVER };

struct model;

struct sent {
    struct model *m;
    struct mcpi_call *call; /* NULL: freed */
    enum where where;
    int session; /* in which it is out, or was */
    int issued;  /* times */
    bool again;  /* waits for the second time */
    bool owed;   /* a frame */
    int done, status;
    int64_t idle_at;
};

struct model {
    struct fake f;
    uint64_t random;
    int session;
    bool greeting; /* initialize is out */
    int expected;  /* status that what happens now may have; 1: any */
    struct sent *target;
    struct sent sent[CALLS];
    int count;
    long lost, again, refused, frames, answered, failed;
};

/* ---- chance ---------------------------------------------------------------- */

static int
below(struct model *m, int limit)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return (int)((m->random >> 11) % (uint64_t)limit);
}

static struct sent *
some(struct model *m, enum where where)
{
    for (int tries = 0; tries < 40 && m->count > 0; tries++) {
        struct sent *s = &m->sent[below(m, m->count)];

        if (s->where == where && s->call)
            return s;
    }
    return NULL;
}

static struct mcpi_leg *
leg_of(struct model *m, const struct sent *s)
{
    return mcpi_leg_find_any(m->f.peer, mcpi_call_id(s->call));
}

/* ---- what is heard --------------------------------------------------------- */

/* Two things may happen at a loss: the one that met it fails, the others are closed. */
static void
check_status(const struct sent *s, int status)
{
    const struct model *m = s->m;

    if (status == MCP_E_TIMEOUT)
        assert_true(m->f.w.now >= s->idle_at);
    else if (m->target == s)
        assert_int_equal(status, m->expected);
    else
        assert_int_equal(status, MCP_E_CLOSED);
    if (status == MCP_E_CLOSED && !m->target)
        assert_true(s->where == OUT || m->f.peer->state >= MCPI_PEER_CLOSING);
}

static void
on_done(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *answer)
{
    struct sent *s = user;

    (void)answer;
    assert_ptr_equal(call, s->call);
    assert_int_equal(++s->done, 1);
    assert_int_not_equal(s->where, OVER);
    check_status(s, status);
    s->owed = s->where == OUT && (status == MCP_E_CANCELED || status == MCP_E_TIMEOUT);
    s->where = OVER;
    s->status = status;
}

static const struct mcpi_call_ops ops = {.done = on_done};

/* ---- what is taken --------------------------------------------------------- */

static struct sent *
find(struct model *m, const mcp_json *id)
{
    int64_t number = mcpi_id_read(id).number;

    for (int i = 0; i < m->count; i++)
        if (m->sent[i].call && mcpi_call_id(m->sent[i].call)->number == number)
            return &m->sent[i];
    return NULL;
}

static void
saw_request(struct model *m, const struct mcpi_rpc *rpc)
{
    struct sent *s;

    if (rpc->method == MCPI_METHOD_INITIALIZE) {
        assert_int_equal(m->f.peer->state, MCPI_PEER_NEGOTIATING);
        assert_false(m->greeting);
        m->greeting = true;
        return;
    }
    assert_true(m->f.peer->state == MCPI_PEER_READY);
    s = find(m, mcp_json_get(mcp_doc_root(rpc->doc), "id"));
    assert_non_null(s);
    assert_int_equal(s->where, WAITS);
    assert_true(s->issued == 0 || (s->again && s->issued == 1));
    for (int i = 0; i < m->count && !s->again; i++) /* those go first */
        assert_false(m->sent[i].where == WAITS && m->sent[i].again);
    s->where = OUT;
    s->again = false;
    s->issued++;
    s->session = m->session;
}

static void
saw_frame(struct model *m, const struct mcpi_rpc *rpc)
{
    struct sent *s = find(m, mcp_json_get(rpc->params, "requestId"));

    if (!s)
        return; /* freed: nobody keeps its id */
    assert_true(s->owed);
    assert_int_equal(s->session, m->session);
    s->owed = false;
    m->frames++;
}

static void
look(struct model *m, const struct fake_event *event)
{
    struct mcpi_rpc rpc;
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(event->text, strlen(event->text), NULL, &doc, NULL),
                     0);
    mcpi_rpc_read(mcp_doc_root(doc), &rpc);
    rpc.doc = doc;
    if (rpc.kind == MCPI_RPC_REQUEST)
        saw_request(m, &rpc);
    else if (rpc.method == MCPI_METHOD_NOTE_CANCELED)
        saw_frame(m, &rpc);
    mcp_doc_free(doc);
}

static void
event_take(struct model *m)
{
    size_t from = m->f.event_count;

    fake_take(&m->f);
    for (size_t i = from; i < m->f.event_count; i++)
        if (m->f.events[i].kind == FAKE_TAKE)
            look(m, &m->f.events[i]);
    fake_written(&m->f, 0);
    fake_forget(&m->f);
}

/* ---- events ---------------------------------------------------------------- */

static void
event_call(struct model *m)
{
    int64_t timeout = below(m, 3) == 0 ? (1 + below(m, 300)) * MS : MCPI_NEVER;
    struct mcpi_call_options opt = {
        .method = "ping", .timeout_us = timeout, .total_us = MCPI_NEVER, .ops = &ops};
    struct sent *s = &m->sent[m->count];

    if (m->count == CALLS)
        return;
    *s = (struct sent){.m = m, .idle_at = mcpi_time_add(m->f.w.now, timeout)};
    opt.user = s;
    if (mcpi_call_start(m->f.peer, &opt, m->f.w.now, &s->call) == 0)
        m->count++;
}

static void
event_answer(struct model *m)
{
    struct sent *s = some(m, OUT);
    char text[96];

    if (!s)
        return;
    m->target = s;
    m->expected = 0;
    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{}}",
             (long long)mcpi_call_id(s->call)->number);
    fake_receive_on(&m->f, below(m, 2) ? leg_of(m, s) : NULL, text);
    assert_int_equal(s->where, OVER);
    m->answered++;
}

static void
event_fail(struct model *m)
{
    struct mcpi_fault fault = {.status = MCP_E_PROTO, .unsent = below(m, 2)};
    struct sent *s = some(m, OUT);

    if (!s)
        return;
    m->target = s;
    m->expected = MCP_E_PROTO;
    mcpi_leg_fail(leg_of(m, s), &fault, m->f.w.now);
    assert_int_equal(s->where, OVER);
    s->owed = !fault.unsent;
    m->failed++;
}

static void
event_cancel(struct model *m)
{
    struct sent *s = some(m, below(m, 2) ? OUT : WAITS);

    if (!s)
        return;
    m->target = s;
    m->expected = MCP_E_CANCELED;
    assert_int_equal(mcpi_call_cancel(s->call, NULL, m->f.w.now), 0);
}

static void
event_free(struct model *m)
{
    struct sent *s = some(m, below(m, 3));

    if (!s)
        return;
    mcpi_call_free(s->call, m->f.w.now);
    s->call = NULL;
    s->where = OVER;
}

static void
event_lose(struct model *m)
{
    struct sent *met = below(m, 4) ? some(m, OUT) : NULL;
    bool may = m->f.peer->state == MCPI_PEER_READY && (met || m->f.peer->answered);
    bool second = met && met->issued == 2;

    if (m->f.peer->barren >= 3 && !m->f.peer->answered)
        return; /* such a server is not believed for a while: renew_test.c */
    m->target = met;
    m->expected = MCP_E_HTTP;
    if (met && !second && may) { /* as long as it is told of the others' ends */
        met->where = WAITS;
        met->again = true;
    }
    assert_int_equal(
        mcpi_peer_session_lost(m->f.peer, met ? leg_of(m, met) : NULL, m->f.w.now),
        may);
    if (!may)
        return;
    m->session++;
    m->lost++;
    m->again += met && !second;
    m->refused += second;
    for (int i = 0; i < m->count; i++) {
        assert_int_not_equal(m->sent[i].where, OUT);
        m->sent[i].owed = false;
    }
}

static void
event_greet(struct model *m)
{
    if (!m->greeting)
        return;
    fake_receive(&m->f, RESULT("0", "{\"protocolVersion\":\"2025-11-25\","
                                    "\"capabilities\":{},\"serverInfo\":{}}"));
    assert_int_equal(m->f.peer->state, MCPI_PEER_READY);
    m->greeting = false;
}

/* The server asks, in whichever session. */
static void
event_ask(struct model *m)
{
    char text[96];

    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"roots/list\"}", below(m, 5));
    fake_receive(&m->f, text);
}

static void
check(struct model *m)
{
    size_t live = 0;

    for (int i = 0; i < m->count; i++) {
        const struct sent *s = &m->sent[i];

        assert_true(s->issued <= 2);
        if (s->where == OVER)
            continue;
        live++;
        assert_int_equal(leg_of(m, s)->state,
                         s->where == OUT ? MCPI_LEG_ISSUED : MCPI_LEG_QUEUED);
    }
    assert_int_equal(m->f.engine->counts.calls, live);
    live += m->f.peer->state == MCPI_PEER_NEGOTIATING;
    assert_int_equal(m->f.engine->counts.legs, live);
    assert_int_equal(m->f.peer->pending.count, live);
    m->target = NULL;
    m->expected = 1;
}

/* Calls that are over make room. */
static void
tidy(struct model *m)
{
    if (m->count < CALLS)
        return;
    for (int i = 0; i < m->count; i++) {
        struct sent *s = &m->sent[i];

        m->target = s;
        m->expected = MCP_E_CANCELED;
        mcpi_call_free(s->call, m->f.w.now);
    }
    m->count = 0;
    event_take(m);
}

static void
event(struct model *m)
{
    int which = below(m, 100);

    if (which < 28)
        event_call(m);
    else if (which < 50)
        event_take(m);
    else if (which < 60)
        event_answer(m);
    else if (which < 64)
        event_fail(m);
    else if (which < 70)
        event_cancel(m);
    else if (which < 73)
        event_free(m);
    else if (which < 79)
        event_lose(m);
    else if (which < 92)
        event_greet(m);
    else if (which < 95)
        event_ask(m);
    else
        fake_pass(&m->f, below(m, 50) * MS);
    check(m);
    tidy(m);
}

static void
run_seed(uint64_t seed)
{
    static const struct fake_options opt = {
        .kind = FAKE_STREAMS, .era = MCPI_ERA_LEGACY, .times = {.hello = MCPI_NEVER}};
    static struct model m;

    memset(&m, 0, sizeof(m));
    m.random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    print_message("seed %llu\n", (unsigned long long)seed);
    fake_start_with(&m.f, &opt);
    for (int i = 0; i < EVENTS; i++)
        event(&m);
    print_message("%ld lost, %ld sent again, %ld refused, %ld frames, %ld answered\n",
                  m.lost, m.again, m.refused, m.frames, m.answered);
    assert_true(m.lost > 50 && m.again > 20 && m.frames > 20 && m.answered > 50);
    assert_int_equal(m.f.ready, 1);
    for (int i = 0; i < m.count; i++)
        mcpi_call_free(m.sent[i].call, m.f.w.now);
    fake_close(&m.f);
}

static void
A16_B29_everything_ends_once_and_nothing_is_sent_for_the_wrong_session(void **state)
{
    const char *given = getenv("MCP_TEST_SEED");

    (void)state;
    if (given) {
        run_seed(strtoull(given, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= 9; seed++) {
        run_seed(seed);
        unsetenv("MCP_TEST_WIRE"); /* the schema check has seen enough */
    }
}

TEST_MAIN(TEST(A16_B29_everything_ends_once_and_nothing_is_sent_for_the_wrong_session))
