/* endpoint_random_test.c - requests with streams of their own, in any order of events:
 * each is answered once at the most, none is forgotten, nothing is left */
#include <stdio.h>
#include <string.h>

#include "support/endpoint.h"

#define LOG "{\"level\":\"info\",\"data\":1}"

enum {
    STEPS = 150,
    SEEDS = 150,
    ASKED = 24,
    SESSION = MCPI_LAST_WORD,
    SESSION_JSON = MCPI_LAST_WORD | MCPI_NO_REQUESTS,
    SHARED = MCPI_PRIVATE_IDS | MCPI_GONE_CANCELS | MCPI_NO_REQUESTS,
    STATELESS = SHARED | MCPI_STATELESS | MCPI_LAST_WORD
};

struct random {
    struct endpoint ep;
    uint64_t seed;
    unsigned traits;
    bool gone[1 << 12];  /* streams: its client has left, or it was given up */
    bool asked[1 << 12]; /* streams: it brought a request */
    struct outcome outcomes[ASKED];
    size_t asked_count;
};

static unsigned
draw(struct random *r, unsigned below)
{
    r->seed ^= r->seed << 13;
    r->seed ^= r->seed >> 7;
    r->seed ^= r->seed << 17;
    return (unsigned)((r->seed >> 11) % below);
}

/* ---- what may happen ----------------------------------------------------- */

static void
post(struct random *r, const char *text, bool request)
{
    assert_true(r->ep.stream_count < sizeof(r->gone));
    r->asked[r->ep.stream_count] = request;
    r->ep.fail_next = draw(r, 5) ? 0 : 1 + (long)draw(r, 6);
    endpoint_post_as(&r->ep, (int)draw(r, 2), text, NULL, draw(r, 2) ? "who" : NULL);
    r->ep.fail_next = 0;
}

static void
post_some(struct random *r)
{
    char text[512];
    unsigned id = draw(r, 6);

    switch (draw(r, 6)) {
    case 0:
        snprintf(text, sizeof(text), MODERN_CALL("%u"), id);
        break;
    case 1:
        snprintf(text, sizeof(text), REQUEST("%u", "last/listen", "{" STAMP "}"), id);
        break;
    case 2:
        snprintf(text, sizeof(text), REQUEST("%u", "no/such", "{}"), id);
        break;
    case 3:
        snprintf(text, sizeof(text), INITIALIZE("%u", "2025-06-18"), id);
        break;
    default:
        snprintf(text, sizeof(text), LEGACY_CALL("%u"), id);
        break;
    }
    post(r, text, true);
}

static void
post_other(struct random *r)
{
    char text[512];
    unsigned id = draw(r, 6);

    switch (draw(r, 4)) {
    case 0:
        snprintf(text, sizeof(text), RESULT("%u", "{}"), id);
        break;
    case 1:
        snprintf(text, sizeof(text), ERROR("%u", "-1"), id);
        break;
    default:
        snprintf(text, sizeof(text), CANCEL("%u"), id);
        break;
    }
    post(r, text, false);
}

static void
leave(struct random *r, size_t i)
{
    if (!r->gone[i])
        endpoint_leave(&r->ep, r->ep.streams[i]);
    r->gone[i] = true;
}

/* As a link does with those that it was told to give up. */
static void
give_up(struct random *r)
{
    for (size_t i = 0; i < r->ep.stream_count; i++)
        if (r->ep.streams[i]->failed)
            leave(r, i);
}

/* A message that does not fit anywhere. */
static void
squeeze(struct random *r, struct endpoint_stream *stream)
{
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, &r->ep.mem.allocator, 8);
    while (mcpi_outlet_take(stream->outlet, &buf, r->ep.now))
        fail();
    mcpi_buf_done(&buf);
}

static void
work(struct random *r, struct endpoint_job *job)
{
    struct endpoint *ep = &r->ep;

    if (job->finished)
        return;
    switch (draw(r, 6)) {
    case 0:
        (void)mcpi_exchange_notify(job->x, "notifications/message", LOG, strlen(LOG),
                                   ep->now);
        break;
    case 1:
        (void)mcpi_exchange_detach(job->x, ep->now);
        break;
    case 2:
        if (r->asked_count < ASKED && job->x->peer &&
            endpoint_ask(ep, job, &r->outcomes[r->asked_count]) == 0)
            r->asked_count++;
        break;
    default:
        ep->mem.fail_at = draw(r, 5) ? 0 : ep->mem.total + 1;
        endpoint_finish_long(ep, job, draw(r, 8) ? 0 : 900);
        ep->mem.fail_at = 0;
        break;
    }
}

static void
end_peer(struct random *r, struct mcpi_peer *peer)
{
    switch (draw(r, 5)) {
    case 0:
        mcpi_peer_drain(peer, r->ep.now);
        break;
    case 1:
        mcpi_peer_end(peer, "enough", r->ep.now);
        break;
    case 2:
        mcpi_peer_close(peer, r->ep.now);
        break;
    case 3:
        mcpi_peer_input_ended(peer, r->ep.now);
        break;
    default:
        mcpi_peer_lost(peer, MCP_E_CLOSED, r->ep.now);
        break;
    }
}

static void
step(struct random *r)
{
    struct endpoint *ep = &r->ep;
    unsigned what = draw(r, 100);

    if (what < 30)
        post_some(r);
    else if (what < 42)
        post_other(r);
    else if (what < 50 && ep->stream_count > 0)
        leave(r, draw(r, (unsigned)ep->stream_count));
    else if (what < 75 && ep->job_count > 0)
        work(r, ep->jobs[draw(r, (unsigned)ep->job_count)]);
    else if (what < 90)
        endpoint_run(ep);
    else if (what < 94 && ep->stream_count > 0)
        squeeze(r, ep->streams[draw(r, (unsigned)ep->stream_count)]);
    else if (what < 99)
        endpoint_pass(ep, (int64_t)draw(r, 4) * SECOND / 2);
    else
        end_peer(r, ep->peer[draw(r, 2)]);
    give_up(r);
}

/* ---- what must hold ------------------------------------------------------ */

static size_t
count_answers(const struct endpoint_stream *stream)
{
    size_t answers = 0;

    for (size_t i = 0; i < stream->count; i++)
        if (!strstr(stream->sent[i], "\"method\""))
            answers++;
    return answers;
}

static void
check_streams(const struct random *r)
{
    const struct endpoint_stream *stream;
    size_t answers;
    bool ended;

    for (size_t i = 0; i < r->ep.stream_count; i++) {
        stream = r->ep.streams[i];
        answers = count_answers(stream);
        assert_true(answers <= 1);
        assert_true(stream->settled <= 1);
        assert_true(stream->failed <= 1);
        if (answers == 1) /* it is the last */
            assert_null(strstr(stream->sent[stream->count - 1], "\"method\""));
        ended = answers == 1 || stream->settled == 1;
        /* Who still listens has heard the end of it, unless all was lost. */
        if (r->asked[i] && !r->gone[i] && mcpi_outlet_peer(stream->outlet))
            assert_true(ended);
        /* And not by silence alone. */
        if (ended && answers == 0 && (r->traits & MCPI_LAST_WORD) && !r->gone[i] &&
            stream->peer->state < MCPI_PEER_CLOSING)
            assert_int_equal(stream->settled, 0);
    }
}

static void
check_peers(const struct random *r)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(r->ep.peer[i]->open_count, 0);
        assert_true(mcpi_peer_is_idle(r->ep.peer[i]));
        assert_int_equal(r->ep.peer[i]->answer_bytes, 0);
        assert_int_equal(r->ep.peer[i]->in_flight.count, 0);
        assert_int_equal(r->ep.peer[i]->failing, 0);
    }
    assert_int_equal(r->ep.engine->counts.exchanges, 0);
    assert_int_equal(r->ep.engine->counts.held, 0);
    assert_int_equal(r->ep.engine->counts.deaf, 0);
}

static void
finish_all(struct random *r)
{
    for (size_t i = 0; i < r->ep.job_count; i++) {
        if (!r->ep.jobs[i]->finished) {
            if (strncmp(r->ep.jobs[i]->x->rpc.method_name, "last/", 5) != 0)
                endpoint_finish(&r->ep, r->ep.jobs[i]);
            else
                mcpi_outlet_gone(r->ep.jobs[i]->x->outlet, r->ep.now);
        }
        if (!r->ep.jobs[i]->finished)
            endpoint_finish(&r->ep, r->ep.jobs[i]);
    }
}

static void
run_one(struct random *r, unsigned traits, unsigned seed)
{
    struct endpoint_options opt = {
        .traits = traits,
        .limits = {.in_flight = 12, .held_bytes = 4096, .queued_bytes = 600}};

    memset(r, 0, sizeof(*r));
    r->seed = 0x9E3779B97F4A7C15U * (seed + 1);
    r->traits = traits;
    endpoint_open_with(&r->ep, &opt);
    if (!(traits & MCPI_PRIVATE_IDS))
        endpoint_greet(&r->ep, 0);
    for (int i = 0; i < STEPS; i++)
        step(r);
    finish_all(r);
    endpoint_pass(&r->ep, 10 * SECOND);
    give_up(r);
    endpoint_pass(&r->ep, 100 * SECOND);
    check_streams(r);
    check_peers(r);
    for (size_t i = 0; i < r->asked_count; i++) {
        assert_int_equal(r->outcomes[i].done, 1);
        mcpi_call_free(r->outcomes[i].call, r->ep.now);
    }
    endpoint_close(&r->ep);
}

static void
nothing_is_forgotten_and_nothing_said_twice(void **state)
{
    static const unsigned traits[] = {SESSION, SESSION_JSON, 0, SHARED, STATELESS};
    static struct random r;

    (void)state;
    for (unsigned seed = 0; seed < SEEDS; seed++)
        for (size_t i = 0; i < sizeof(traits) / sizeof(traits[0]); i++)
            run_one(&r, traits[i], seed);
}

TEST_MAIN(TEST(nothing_is_forgotten_and_nothing_said_twice))
