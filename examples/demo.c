/*
 * demo.c - a client and a server in one process, and nothing left behind
 *
 * Four scenes in each era of the protocol: a call, a call with progress, a call that
 * times out, fifty calls that are canceled. What crosses the wire is shown on the way,
 * and at the end what is still alive. The library does no I/O here and asks nobody for
 * the time: client and server are joined by two byte rings, and the clock is a number
 * we add to. There is no public client or server yet, so this drives the engine inside.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/exchange.h"
#include "core/negotiate.h"
#include "core/versions.h"
#include "link/pair.h"

enum { CLIENT, SERVER };
enum { FIFTY = 50, TIMEOUT_US = 2000000, WORDS = 8 };
enum moment { BEFORE, BUSY, AFTER, CLOSED, MOMENTS };
enum { HANDLERS, CALLS, TIMERS, BYTES, BLOCKS, KINDS }; /* what may be alive then */

struct word {
    char text[40]; /* "-> tools/call" */
    int times;
};

struct demo {
    mcp_allocator allocator;
    int64_t now; /* microseconds */
    struct mcpi_timers timers;
    struct mcpi_engine *engine[2];
    struct mcpi_pair_end *end[2];
    struct mcpi_peer *client;
    long bytes, blocks; /* of the heap, in use */
    int handlers, told; /* running now; told to stop, ever */
    int answered, timed_out, canceled, reports;
    struct word wire[WORDS]; /* what was said in this scene */
    size_t words;
    long alive[MOMENTS][KINDS];
};

static void
must(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "demo: %s: %s\n", what, mcp_status_text(status));
    exit(1);
}

/* ---- memory that is counted: each block has its size in front -------------- */

static void *
counted_realloc(void *user, void *ptr, size_t size)
{
    struct demo *d = user;
    max_align_t *block = ptr;
    size_t before = 0;

    if (block)
        memcpy(&before, --block, sizeof(before));
    block = realloc(block, sizeof(*block) + size);
    if (!block)
        return NULL;
    memcpy(block, &size, sizeof(size));
    d->bytes += (long)size - (long)before;
    d->blocks += !ptr;
    return block + 1;
}

static void *
counted_alloc(void *user, size_t size)
{
    return counted_realloc(user, NULL, size);
}

static void
counted_free(void *user, void *ptr)
{
    struct demo *d = user;
    max_align_t *block = ptr;
    size_t size;

    memcpy(&size, --block, sizeof(size));
    d->bytes -= (long)size;
    d->blocks--;
    free(block);
}

static void
look(struct demo *d, enum moment when)
{
    d->alive[when][HANDLERS] = d->handlers;
    d->alive[when][CALLS] = d->engine[CLIENT] ? (long)d->engine[CLIENT]->counts.calls
                                              : 0;
    d->alive[when][TIMERS] = (long)d->timers.heap.count;
    d->alive[when][BYTES] = d->bytes;
    d->alive[when][BLOCKS] = d->blocks;
}

/* ---- the server: tools "quick", "steps", and "slow", which stops only when told  */

static void
tool_finish(struct mcpi_exchange *x)
{
    struct demo *d = x->served_user;
    struct mcpi_result result;

    mcpi_result_init(&result, x->engine);
    mcpi_buf_text(&result.body,
                  "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}");
    d->handlers--;
    mcpi_exchange_finish(x, &result, d->now);
}

static void
tool_begin(struct mcpi_exchange *x)
{
    struct demo *d = x->served_user;
    const mcp_json *name = mcp_json_get(x->rpc.params, "name");
    int steps = mcp_json_is_string(name, "steps") ? 3 : 0;

    d->handlers++;
    for (int i = 1; i <= steps; i++)
        must(mcpi_exchange_progress(x, i, steps, "on its way", d->now), "progress");
    if (!mcp_json_is_string(name, "slow"))
        tool_finish(x);
}

/* Nobody waits any more, whatever the cause: the handler hears of it and stops. */
static void
tool_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct demo *d = x->served_user;

    (void)how;
    (void)reason;
    d->told++;
    tool_finish(x); /* what it says now is not sent */
}

static const struct mcpi_served_ops tool = {.begin = tool_begin, .ended = tool_ended};

static int
route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    (void)why;
    mcpi_exchange_serve(x, &tool, user);
    return 0;
}

static const struct mcpi_router router = {.route = route};

/* ---- the client ------------------------------------------------------------ */

static void
on_done(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *answer)
{
    struct demo *d = user;

    (void)call;
    (void)answer;
    d->answered += status == 0;
    d->timed_out += status == MCP_E_TIMEOUT;
    d->canceled += status == MCP_E_CANCELED;
}

static void
on_progress(void *user, struct mcpi_call *call, const struct mcpi_progress *p)
{
    struct demo *d = user;

    (void)call;
    (void)p;
    d->reports++;
}

static const struct mcpi_call_ops call_ops = {on_done, on_progress};

static struct mcpi_call *
start(struct demo *d, const char *params)
{
    struct mcpi_call_options opt = {.method = "tools/call",
                                    .params = params,
                                    .params_len = strlen(params),
                                    .timeout_us = TIMEOUT_US,
                                    .ops = &call_ops,
                                    .user = d};
    struct mcpi_call *call;

    must(mcpi_call_start(d->client, &opt, d->now, &call), "starting a call");
    return call;
}

/* ---- the wire -------------------------------------------------------------- */

/* Every message as it leaves. We keep who spoke and what it is. */
static void
on_message(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    struct demo *d = user;
    struct word *last = d->words > 0 ? &d->wire[d->words - 1] : NULL;
    struct word word = {.times = 1};
    const char *what;
    mcp_doc *doc;

    must(mcp_doc_parse(text, len, NULL, &doc, NULL), "reading a message");
    what = mcp_json_string(mcp_json_get(mcp_doc_root(doc), "method"), "answer");
    if (strncmp(what, "notifications/", 14) == 0)
        what += 14;
    snprintf(word.text, sizeof(word.text), "%s %s",
             peer->engine == d->engine[CLIENT] ? "->" : "<-", what);
    mcp_doc_free(doc);
    if (last && strcmp(last->text, word.text) == 0)
        last->times++;
    else if (d->words < WORDS)
        d->wire[d->words++] = word;
}

/* Let both ends read and write until neither has anything to do. */
static void
run(struct demo *d)
{
    bool moved;

    do {
        moved = mcpi_pair_step(d->end[CLIENT], d->now) > 0;
        moved |= mcpi_pair_step(d->end[SERVER], d->now) > 0;
    } while (moved);
}

static void
tell(const struct demo *d, const char *name, const char *outcome)
{
    int width = printf("  %-9s", name);

    for (size_t i = 0; i < d->words; i++) {
        width += printf(" %s", d->wire[i].text);
        if (d->wire[i].times > 1)
            width += printf(" x%d", d->wire[i].times);
    }
    printf("%*s\n", outcome[0] ? 55 - width + (int)strlen(outcome) : 0, outcome);
}

/* ---- the scenes ------------------------------------------------------------ */

static void
play_call(struct demo *d)
{
    mcpi_call_release(start(d, "{\"name\":\"quick\"}"));
    run(d);
}

static void
play_progress(struct demo *d)
{
    mcpi_call_release(start(d, "{\"name\":\"steps\"}"));
    run(d);
}

static void
play_timeout(struct demo *d)
{
    mcpi_call_release(start(d, "{\"name\":\"slow\"}"));
    run(d);
    d->now += TIMEOUT_US; /* two seconds in no time */
    mcpi_timers_expire(&d->timers, d->now);
    run(d);
}

static void
play_cancels(struct demo *d)
{
    struct mcpi_call *calls[FIFTY];

    for (int i = 0; i < FIFTY; i++)
        calls[i] = start(d, "{\"name\":\"slow\"}");
    run(d);
    look(d, BUSY);
    for (int i = 0; i < FIFTY; i++) {
        must(mcpi_call_cancel(calls[i], "no longer needed", d->now), "canceling");
        mcpi_call_release(calls[i]);
    }
    run(d);
}

static const struct scene {
    const char *name;
    void (*play)(struct demo *d);
    const char *outcome;
} scenes[] = {
    {"call", play_call, "answered"},
    {"progress", play_progress, "three reports, then answered"},
    {"timeout", play_timeout, "after two seconds; the handler is told"},
    {"50 calls", play_cancels, "all canceled; every handler is told"},
};

enum { SCENES = sizeof(scenes) / sizeof(scenes[0]) };

/* Play all, and tell the last few of them. */
static void
play_all(struct demo *d, int aloud)
{
    d->told = d->answered = d->timed_out = d->canceled = d->reports = 0;
    for (int i = 0; i < SCENES; i++) {
        d->words = 0;
        scenes[i].play(d);
        if (i >= SCENES - aloud)
            tell(d, scenes[i].name, scenes[i].outcome);
    }
}

/* ---- the demo -------------------------------------------------------------- */

static void
open_both(struct demo *d, enum mcpi_era era)
{
    struct mcpi_engine_options opt = {.mem = &d->allocator,
                                      .era = era,
                                      .timers = &d->timers,
                                      .router = &router,
                                      .router_user = d,
                                      .trace = on_message,
                                      .trace_user = d};
    struct mcpi_pair_options link = {0};

    *d = (struct demo){{counted_alloc, counted_realloc, counted_free, d}, .now = 0};
    mcpi_timers_init(&d->timers);
    opt.identity.info = "{\"name\":\"demo\",\"version\":\"1\"}";
    for (int side = CLIENT; side <= SERVER; side++) {
        opt.role = side == CLIENT ? MCPI_CLIENT : MCPI_SERVER;
        must(mcpi_engine_new(&opt, &d->engine[side]), "making an engine");
        link.side[side].engine = d->engine[side];
    }
    must(mcpi_pair_new(&link, d->end), "joining the two");
    d->client = mcpi_pair_peer(d->end[CLIENT]);
    must(mcpi_peer_connect(d->client, d->now), "connecting");
    run(d);
}

static void
close_both(struct demo *d)
{
    mcpi_pair_free(d->end[CLIENT], d->now);
    mcpi_pair_free(d->end[SERVER], d->now);
    must(mcpi_engine_free(d->engine[CLIENT]), "freeing the client");
    must(mcpi_engine_free(d->engine[SERVER]), "freeing the server");
    d->engine[CLIENT] = d->engine[SERVER] = NULL;
}

static void
print_table(const struct demo *d)
{
    static const char *const names[] = {"live handlers", "calls", "timers",
                                        "heap, bytes", "heap, blocks"};

    printf("  %-14s %10s %14s %10s %10s\n", "", "before", "50 in flight", "after",
           "closed");
    for (int what = 0; what < KINDS; what++)
        printf("  %-14s %10ld %14ld %10ld %10ld\n", names[what], d->alive[BEFORE][what],
               d->alive[BUSY][what], d->alive[AFTER][what], d->alive[CLOSED][what]);
    printf("\n");
}

/* Everything happened as it should, and nothing is left of it. */
static bool
is_clean(const struct demo *d)
{
    static const long none[KINDS];

    return d->answered == 2 && d->reports == 3 && d->timed_out == 1 &&
           d->canceled == FIFTY && d->told == 1 + FIFTY &&
           memcmp(d->alive[BEFORE], d->alive[AFTER], sizeof(none)) == 0 &&
           memcmp(d->alive[CLOSED], none, sizeof(none)) == 0;
}

static bool
show_era(enum mcpi_era era, const char *title, int aloud)
{
    struct demo d;

    printf("%s\n", title);
    open_both(&d, era);
    tell(&d, "connect", "");
    play_all(&d, 0); /* a rehearsal: buffers and tables reach their size */
    look(&d, BEFORE);
    play_all(&d, aloud);
    look(&d, AFTER);
    close_both(&d);
    look(&d, CLOSED);
    print_table(&d);
    return is_clean(&d);
}

int
main(void)
{
    bool clean;

    printf("libmcp %s: -> is what the client sends, <- what the server does\n\n",
           mcp_version());
    clean = show_era(MCPI_ERA_MODERN, MCPI_VERSION_MODERN ", without a handshake",
                     SCENES);
    clean &= show_era(MCPI_ERA_LEGACY,
                      MCPI_VERSION_LEGACY ", the same after a handshake", 2);
    printf("%s\n", clean ? "Nothing is left behind." : "SOMETHING IS LEFT BEHIND.");
    return clean ? 0 : 1;
}
