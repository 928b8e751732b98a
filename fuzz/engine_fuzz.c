/*
 * engine_fuzz.c - two engines and the memory link, driven by a script
 *
 * The first byte chooses the eras, the second the size of the rings; what follows is
 * read as commands, a letter and mostly one byte of argument:
 *
 *   >...\n  raw bytes to the server      <...\n  raw bytes to the client
 *   c a     the client calls             n a     the handler of job a asks the client
 *   x a     cancel call a                f a     free call a
 *   h a     a cancel frame by hand       m a     any notification
 *   d a     job a is done                e a     job a fails
 *   p a     job a reports progress       t a     time passes
 *   s S     one step of client, server   r       steps until nothing moves
 *   C V     client, server closes        E F     client, server says EOF
 *
 * Digits are their value, other arguments the byte's. Everything else is skipped.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/exchange.h"
#include "core/negotiate.h"
#include "core/peer.h"
#include "link/pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

enum { CLIENT, SERVER };
enum { CALLS = 48, JOBS = 64, ENOUGH_STEPS = 200000 };

struct call {
    struct mcpi_call *handle;
    int done;
    bool freed;
};

struct job {
    struct mcpi_exchange *x;
    int told;
    bool finished;
};

struct fuzz {
    mcp_allocator mem;
    long blocks;
    struct mcpi_timers timers;
    int64_t now;
    struct mcpi_engine *engine[2];
    struct mcpi_pair_end *end[2];
    struct call calls[CALLS];
    size_t call_count;
    struct job jobs[JOBS];
    size_t job_count;
    int closed[2];
    const uint8_t *at, *stop;
};

/* ---- memory that is counted ------------------------------------------------ */

static void *
count_alloc(void *user, size_t size)
{
    struct fuzz *f = user;

    f->blocks++;
    return malloc(size);
}

static void *
count_realloc(void *user, void *ptr, size_t size)
{
    (void)user;
    return realloc(ptr, size);
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

/* A refusal gives back an id such as 2.0, which nothing else may have. */
static bool
is_message(const mcp_json *root)
{
    struct mcpi_id id = mcpi_id_read_refused(mcp_json_get(root, "id"));
    struct mcpi_rpc rpc;

    mcpi_rpc_read(root, &rpc);
    return rpc.kind != MCPI_RPC_INVALID ||
           (id.kind == MCPI_ID_REAL && mcp_json_get(root, "error"));
}

/* Every message is one line and a message of the protocol. */
static void
on_trace(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    mcp_doc *doc;

    (void)user;
    (void)peer;
    CHECK(memchr(text, '\n', len) == NULL);
    CHECK(mcp_doc_parse(text, len, NULL, &doc, NULL) == 0);
    CHECK(is_message(mcp_doc_root(doc)));
    mcp_doc_free(doc);
}

static void
job_finish(struct fuzz *f, struct job *job, int code)
{
    struct mcpi_result result;

    mcpi_result_init(&result, job->x->engine);
    if (code)
        mcpi_result_error(&result, code, "failed");
    else
        mcpi_buf_text(&result.body, "{\"content\":[]}");
    job->finished = true;
    mcpi_exchange_finish(job->x, &result, f->now);
}

static void
on_begin(struct mcpi_exchange *x)
{
    (void)x;
}

static void
on_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct fuzz *f = x->served_user;

    CHECK(how != MCPI_OPEN && how != MCPI_ANSWERED && reason);
    for (size_t i = 0; i < f->job_count; i++)
        if (f->jobs[i].x == x) {
            CHECK(++f->jobs[i].told == 1 && !f->jobs[i].finished);
            if (i % 3 == 0)
                job_finish(f, &f->jobs[i], 0);
            return;
        }
    abort();
}

static const struct mcpi_served_ops served = {.begin = on_begin, .ended = on_ended};

static int
on_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    struct fuzz *f = user;

    (void)why;
    if (f->job_count == JOBS)
        return MCP_E_LIMIT;
    f->jobs[f->job_count++].x = mcpi_exchange_ref(x);
    mcpi_exchange_serve(x, &served, f);
    return 0;
}

static void
on_closed(void *user, struct mcpi_peer *peer, int status)
{
    struct fuzz *f = user;

    (void)status;
    CHECK(++f->closed[peer->engine == f->engine[SERVER]] == 1);
}

static const struct mcpi_router router = {.route = on_route, .closed = on_closed};

static void
on_done(void *user, struct mcpi_call *handle, int status, const struct mcpi_rpc *answer)
{
    struct call *call = user;

    (void)handle;
    CHECK(++call->done == 1 && !call->freed);
    CHECK((answer != NULL) ==
          (status == 0 || status == MCP_E_PEER || status == MCP_E_PROTO));
}

static void
on_progress(void *user, struct mcpi_call *handle, const struct mcpi_progress *p)
{
    struct call *call = user;

    (void)handle;
    (void)p;
    CHECK(call->done == 0 && !call->freed);
}

static const struct mcpi_call_ops call_ops = {.done = on_done, .progress = on_progress};

/* ---- the invariant --------------------------------------------------------- */

static void
check_side(const struct fuzz *f, int side)
{
    const struct mcpi_engine *e = f->engine[side];
    const struct mcpi_peer *peer = mcpi_pair_peer(f->end[side]);
    size_t open = 0;

    CHECK(peer->pending.count == e->counts.legs);
    CHECK(e->counts.calls <= e->counts.legs);
    for (size_t i = 0; i < f->job_count; i++) {
        const struct mcpi_exchange *x = f->jobs[i].x;

        if (x->engine != e)
            continue;
        open += x->ending == MCPI_OPEN;
        CHECK((mcpi_exchange_find(peer, &x->rpc.id) == x) == (x->ending == MCPI_OPEN));
    }
    CHECK(peer->in_flight.count == open && e->counts.exchanges == open);
}

static void
check(const struct fuzz *f)
{
    size_t live = 0;

    for (size_t i = 0; i < f->call_count; i++)
        live += !f->calls[i].done && !f->calls[i].freed;
    CHECK(f->engine[CLIENT]->counts.calls + f->engine[SERVER]->counts.calls == live);
    check_side(f, CLIENT);
    check_side(f, SERVER);
}

/* ---- commands -------------------------------------------------------------- */

static unsigned
argument(struct fuzz *f)
{
    unsigned byte = f->at < f->stop ? *f->at++ : 0;

    return byte >= '0' && byte <= '9' ? byte - '0' : byte;
}

static int
step(struct fuzz *f, int side)
{
    int r = mcpi_pair_step(f->end[side], f->now);

    check(f);
    return r;
}

/* Until nothing moves; two engines that answer each other for ever are a fault. */
static void
run(struct fuzz *f)
{
    long steps = 0;
    bool moved = true;

    while (moved) {
        moved = step(f, CLIENT) > 0;
        moved = step(f, SERVER) > 0 || moved;
        CHECK(++steps < ENOUGH_STEPS);
    }
}

static void
inject(struct fuzz *f, int side)
{
    const uint8_t *newline = memchr(f->at, '\n', (size_t)(f->stop - f->at));
    const char *bytes = (const char *)f->at;
    size_t len = (size_t)((newline ? newline + 1 : f->stop) - f->at);
    size_t put;

    f->at += len;
    while (len > 0) {
        put = mcpi_pair_inject(f->end[side], bytes, len);
        bytes += put;
        len -= put;
        if (len > 0 && step(f, 1 - side) <= 0 && put == 0)
            return; /* nobody reads any more */
    }
}

static void
call_start(struct fuzz *f, int side, struct mcpi_exchange *parent, unsigned arg)
{
    static const char *const texts[] = {"7", "k", "", "-1"};
    struct mcpi_id number = mcpi_id_int(arg % 16);
    struct mcpi_id text = mcpi_id_string(texts[arg % 4], strlen(texts[arg % 4]));
    struct mcpi_call_options opt = {.method = arg % 5 ? "tools/call" : "ping",
                                    .params = "{\"a\":1}",
                                    .params_len = 7,
                                    .reset_on_progress = arg % 3 == 1,
                                    .parent = parent,
                                    .ops = &call_ops};
    struct call *call = &f->calls[f->call_count];

    if (f->call_count == CALLS)
        return;
    if (arg / 16 % 3 != 0)
        opt.id = arg / 16 % 3 == 1 ? &number : &text;
    opt.timeout_us = arg % 2 ? 1000000 : MCPI_NEVER;
    opt.total_us = arg % 7 == 1 ? 1500000 : 0;
    opt.on_abandon = arg % 11 == 1 ? MCPI_ABANDON_DETACHES : MCPI_ABANDON_CANCELS;
    opt.user = call;
    *call = (struct call){0};
    if (mcpi_call_start(mcpi_pair_peer(f->end[side]), &opt, f->now, &call->handle) == 0)
        f->call_count++;
}

static void
call_command(struct fuzz *f, int command, unsigned arg)
{
    struct call *call;
    bool settled;
    int r;

    if (f->call_count == 0)
        return;
    call = &f->calls[arg % f->call_count];
    if (!call->handle)
        return;
    settled = call->done > 0;
    if (command == 'x') {
        r = mcpi_call_cancel(call->handle, "not wanted", f->now);
        CHECK(r == (settled ? MCP_E_STATE : 0) && call->done == 1);
        return;
    }
    call->freed = !settled;
    mcpi_call_free(call->handle, f->now);
    call->handle = NULL;
}

static void
job_command(struct fuzz *f, int command, unsigned arg)
{
    struct job *job;

    if (f->job_count == 0)
        return;
    job = &f->jobs[arg % f->job_count];
    if (command == 'n' && job->x->engine == f->engine[SERVER])
        call_start(f, SERVER, job->x, arg);
    if (command == 'p')
        (void)mcpi_exchange_progress(job->x, arg, (double)NAN, "on", f->now);
    if ((command == 'd' || command == 'e') && !job->finished)
        job_finish(f, job, command == 'e' ? -32000 - (int)arg : 0);
}

static void
note_command(struct fuzz *f, int command, unsigned arg)
{
    struct mcpi_peer *peer = mcpi_pair_peer(f->end[arg % 5 == 4 ? SERVER : CLIENT]);
    char params[64];

    snprintf(params, sizeof(params),
             arg % 2 ? "{\"requestId\":%u}" : "{\"requestId\":\"%u\"}", arg % 16);
    (void)mcpi_peer_notify(peer, command == 'h' ? "notifications/cancelled" : "x/y",
                           params, strlen(params), f->now);
}

static void
link_command(struct fuzz *f, int command)
{
    switch (command) {
    case 's':
        step(f, CLIENT);
        break;
    case 'S':
        step(f, SERVER);
        break;
    case 'r':
        run(f);
        break;
    case 'C':
        mcpi_peer_close(mcpi_pair_peer(f->end[CLIENT]), f->now);
        break;
    case 'V':
        mcpi_peer_close(mcpi_pair_peer(f->end[SERVER]), f->now);
        break;
    case 'E':
        mcpi_pair_shutdown(f->end[CLIENT], f->now);
        break;
    case 'F':
        mcpi_pair_shutdown(f->end[SERVER], f->now);
        break;
    default:
        break;
    }
}

static void
command(struct fuzz *f)
{
    int letter = *f->at++;

    switch (letter) {
    case '>':
        inject(f, CLIENT);
        break;
    case '<':
        inject(f, SERVER);
        break;
    case 'c':
        call_start(f, CLIENT, NULL, argument(f));
        break;
    case 'x':
    case 'f':
        call_command(f, letter, argument(f));
        break;
    case 'n':
    case 'd':
    case 'e':
    case 'p':
        job_command(f, letter, argument(f));
        break;
    case 'h':
    case 'm':
        note_command(f, letter, argument(f));
        break;
    case 't':
        f->now += argument(f) * INT64_C(100000);
        mcpi_timers_expire(&f->timers, f->now);
        break;
    default:
        link_command(f, letter);
        break;
    }
    check(f);
}

/* ---- a world --------------------------------------------------------------- */

static void
engine_open(struct fuzz *f, int side, enum mcpi_era era)
{
    struct mcpi_engine_options opt = {
        .mem = &f->mem,
        .role = side == CLIENT ? MCPI_CLIENT : MCPI_SERVER,
        .era = era,
        .identity = {.info = "{\"name\":\"fuzz\",\"version\":\"1\"}"},
        .timers = &f->timers,
        .router = &router,
        .router_user = f,
        .trace = on_trace,
        .limits = {.in_flight = 24, .message_bytes = 8192, .queued_bytes = 4096},
    };

    CHECK(mcpi_engine_new(&opt, &f->engine[side]) == 0);
}

static void
world_open(struct fuzz *f, unsigned eras, unsigned ring)
{
    struct mcpi_pair_options opt = {.ring_bytes = ring % 2 ? 1 + ring : 0};

    f->mem = (mcp_allocator){count_alloc, count_realloc, count_free, f};
    f->now = 1000000;
    mcpi_timers_init(&f->timers);
    engine_open(f, CLIENT, eras % 4);
    engine_open(f, SERVER, eras / 4 % 3);
    opt.side[CLIENT].engine = f->engine[CLIENT];
    opt.side[SERVER].engine = f->engine[SERVER];
    CHECK(mcpi_pair_new(&opt, f->end) == 0);
    CHECK(mcpi_peer_connect(mcpi_pair_peer(f->end[CLIENT]), f->now) == 0);
}

static void
world_close(struct fuzz *f)
{
    mcpi_pair_free(f->end[CLIENT], f->now);
    mcpi_pair_free(f->end[SERVER], f->now);
    for (size_t i = 0; i < f->call_count; i++) {
        CHECK(f->calls[i].done == !f->calls[i].freed);
        mcpi_call_free(f->calls[i].handle, f->now);
    }
    for (size_t i = 0; i < f->job_count; i++) {
        if (!f->jobs[i].finished)
            job_finish(f, &f->jobs[i], 0);
        mcpi_exchange_unref(f->jobs[i].x);
    }
    CHECK(f->closed[CLIENT] == 1 && f->closed[SERVER] == 1);
    CHECK(mcpi_engine_free(f->engine[CLIENT]) == 0);
    CHECK(mcpi_engine_free(f->engine[SERVER]) == 0);
    CHECK(mcpi_timers_next(&f->timers) == MCPI_NEVER);
    CHECK(f->blocks == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz f;

    if (size < 2)
        return 0;
    memset(&f, 0, sizeof(f));
    f.at = data;
    f.stop = data + size;
    world_open(&f, argument(&f), data[1]);
    f.at++;
    while (f.at < f.stop)
        command(&f);
    world_close(&f);
    return 0;
}
