/* rig.c - a client and a server on one thread, over the memory link */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char params[] =
    "{\"name\":\"search_files\",\"arguments\":{\"path\":\"documents/reports\","
    "\"pattern\":\"budget|forecast\",\"recursive\":true,\"maxResults\":50}}";

static const char result[] =
    "{\"content\":[{\"type\":\"text\",\"text\":\"2025/q3.md:120: the budget was met\\n"
    "2025/q4.md:48: a forecast for spring\\n2 matches in 37 files\"}],"
    "\"isError\":false}";

static void
must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

/* ---- counting memory ------------------------------------------------------- */

static void *
tally_alloc(void *user, size_t size)
{
    struct tally *tally = user;

    tally->allocations++;
    tally->blocks++;
    return malloc(size);
}

static void *
tally_realloc(void *user, void *ptr, size_t size)
{
    struct tally *tally = user;

    tally->allocations++;
    return realloc(ptr, size);
}

static void
tally_free(void *user, void *ptr)
{
    struct tally *tally = user;

    tally->blocks--;
    free(ptr);
}

/* ---- the server: requests wait until the rig answers them ------------------ */

static void
tool_begin(struct mcpi_exchange *x)
{
    struct rig *rig = x->served_user;

    must(rig->count < rig->room, "more requests than calls");
    rig->waiting[(rig->first + rig->count++) % rig->room] = x;
}

static void
tool_answer(struct rig *rig, struct mcpi_exchange *x)
{
    struct mcpi_result answer;

    mcpi_result_init(&answer, x->engine);
    MCPI_BUF_LITERAL(&answer.body, result);
    mcpi_exchange_finish(x, &answer, rig->now);
}

/* Told to stop: it was the last to arrive. */
static void
tool_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct rig *rig = x->served_user;

    (void)how;
    (void)reason;
    rig->count--;
    rig->stopped++;
    tool_answer(rig, x); /* dropped: it has ended */
}

static const struct mcpi_served_ops tool = {.begin = tool_begin, .ended = tool_ended};

static int
rig_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    (void)why;
    mcpi_exchange_serve(x, &tool, user);
    return 0;
}

static const struct mcpi_router router = {.route = rig_route};

/* ---- the client ------------------------------------------------------------ */

static void
call_done(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *answer)
{
    struct rig *rig = user;
    const mcp_json *first;

    (void)call;
    if (status != 0)
        return;
    first = mcp_json_at(mcp_json_get(answer->result, "content"), 0);
    if (mcp_json_string(mcp_json_get(first, "text"), NULL))
        rig->done++;
}

static const struct mcpi_call_ops call_ops = {.done = call_done};

static struct mcpi_call *
rig_start(struct rig *rig)
{
    struct mcpi_call_options opt = {.method = "tools/call",
                                    .params = params,
                                    .params_len = sizeof(params) - 1,
                                    .ops = &call_ops,
                                    .user = rig};
    struct mcpi_call *call;

    must(mcpi_call_start(mcpi_pair_peer(rig->end[CLIENT]), &opt, rig->now, &call) == 0,
         "a call does not start");
    return call;
}

/* ---- both ------------------------------------------------------------------ */

static void
rig_run(struct rig *rig)
{
    while (rig->due[CLIENT] || rig->due[SERVER]) {
        for (int side = CLIENT; side <= SERVER; side++) {
            if (rig->due[side])
                rig->due[side] = mcpi_pair_step(rig->end[side], rig->now) > 0;
        }
    }
}

static void
rig_wake(void *user)
{
    bool *due = user;

    *due = true;
}

static struct mcpi_exchange *
rig_pick(struct rig *rig, enum rig_order order)
{
    struct mcpi_exchange **oldest = &rig->waiting[rig->first];
    struct mcpi_exchange **pick = oldest;
    struct mcpi_exchange *x;

    if (order == RIG_RANDOM) {
        rig->random = rig->random * UINT64_C(6364136223846793005) + 1442695040888963407;
        pick =
            &rig->waiting[(rig->first + (rig->random >> 33) % rig->count) % rig->room];
    }
    x = *pick;
    *pick = *oldest;
    rig->first = (rig->first + 1) % rig->room;
    rig->count--;
    return x;
}

void
rig_exchange(struct rig *rig, enum rig_order order)
{
    size_t done = rig->done;

    rig->now += 10;
    tool_answer(rig, rig_pick(rig, order));
    rig_run(rig);
    mcpi_call_release(rig_start(rig));
    rig_run(rig);
    must(rig->done == done + 1, "an exchange did not end");
}

void
rig_cancel(struct rig *rig)
{
    size_t stopped = rig->stopped;
    struct mcpi_call *call;

    rig->now += 10;
    call = rig_start(rig);
    rig_run(rig);
    must(mcpi_call_cancel(call, "no longer wanted", rig->now) == 0, "no cancel");
    mcpi_call_release(call);
    rig_run(rig);
    must(rig->stopped == stopped + 1, "a handler was not told");
}

/* ---- making and freeing ---------------------------------------------------- */

static void
keep(char *into, size_t room, const char *text, size_t len)
{
    must(len < room, "a message is longer than expected");
    memcpy(into, text, len);
    into[len] = '\0';
}

static void
rig_trace(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    struct rig *rig = user;

    if (peer->engine == rig->engine[CLIENT])
        keep(rig->request, sizeof(rig->request), text, len);
    else
        keep(rig->response, sizeof(rig->response), text, len);
}

static void
rig_make_engine(struct rig *rig, int side, enum mcpi_era era, bool counted)
{
    struct mcpi_engine_options opt = {
        .mem = counted ? &rig->tally.allocator : NULL,
        .role = side == CLIENT ? MCPI_CLIENT : MCPI_SERVER,
        .era = era,
        .identity = {.info = side == CLIENT
                                 ? "{\"name\":\"bench-client\",\"version\":\"1.0.0\"}"
                                 : "{\"name\":\"bench-server\",\"version\":\"1.0.0\"}"},
        .timers = &rig->timers,
        .router = &router,
        .router_user = rig,
        .trace = counted ? rig_trace : NULL,
        .trace_user = rig,
        .limits = {.in_flight = rig->room},
        .seed = {3, 1, 4, 1, 5, 9, 2, 6},
    };

    must(mcpi_engine_new(&opt, &rig->engine[side]) == 0, "no engine");
}

struct rig *
rig_new(enum mcpi_era era, size_t depth, bool counted)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    struct mcpi_pair_options link = {0};

    must(rig != NULL, "out of memory");
    rig->tally.allocator = (mcp_allocator){tally_alloc, tally_realloc, tally_free,
                                           &rig->tally};
    rig->room = depth + 1; /* and one that is about to be canceled */
    rig->waiting = calloc(rig->room, sizeof(struct mcpi_exchange *));
    must(rig->waiting != NULL, "out of memory");
    mcpi_timers_init(&rig->timers);
    for (int side = CLIENT; side <= SERVER; side++) {
        rig_make_engine(rig, side, era, counted);
        link.side[side].engine = rig->engine[side];
        link.side[side].wake = rig_wake;
        link.side[side].wake_user = &rig->due[side];
    }
    must(mcpi_pair_new(&link, rig->end) == 0, "no link");
    must(mcpi_peer_connect(mcpi_pair_peer(rig->end[CLIENT]), rig->now) == 0, "no peer");
    rig_run(rig);
    for (size_t i = 0; i < depth; i++) {
        mcpi_call_release(rig_start(rig));
        rig_run(rig);
    }
    must(rig->count == depth, "not all requests arrived");
    return rig;
}

void
rig_free(struct rig *rig)
{
    while (rig->count > 0) {
        tool_answer(rig, rig_pick(rig, RIG_FIFO));
        rig_run(rig);
    }
    mcpi_pair_free(rig->end[CLIENT], rig->now);
    mcpi_pair_free(rig->end[SERVER], rig->now);
    must(mcpi_engine_free(rig->engine[CLIENT]) == 0, "the client is not quiet");
    must(mcpi_engine_free(rig->engine[SERVER]) == 0, "the server is not quiet");
    must(rig->tally.blocks == 0, "memory is left");
    free(rig->waiting);
    free(rig);
}
