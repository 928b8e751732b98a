/*
 * session_fuzz.c - whole sessions between two engines, driven by a script
 *
 * The first byte chooses the eras, the second the size of the rings, the third the
 * limits; what follows is read as commands, a letter and mostly one byte of argument:
 *
 *   c a b   the client calls a, options b    n a b   job a asks the client
 *   x a     cancel call a                    f a     free call a
 *   g a     let go of call a                 w a     wait for the signal of call a
 *   p a     job a reports progress           y a     job a says something
 *   d a     job a is done                    e a     job a fails
 *   i a b   job a asks by its result         z a     job a rests; or is resumed
 *   l a     the client listens               u a     subscription a is closed
 *   P a     something has changed            h m a   a cancel frame, a notification
 *   j a b   message a of the server's, about request or subscription b
 *   J a b   message a of the client's, with id b
 *   t a     time passes
 *   > < ..\n  raw bytes to the server, to the client
 *   s S     one step of client, server       r       steps until nothing moves
 *   C V     client, server closes            E F     client, server says EOF
 *   K L     client, server dies              R       they meet again
 *   o a     the allocation after the next a fails
 *   @       the command behind it is done inside of the next callback
 *
 * Digits are their value, other arguments the byte's. Everything else is skipped. At
 * the end all is closed, and nothing may be left: every call has ended once, every
 * handler and every subscription likewise.
 */
#include <math.h>

#include "session_messages.h"
#include "session_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- calls ----------------------------------------------------------------- */

static void
call_start(struct fuzz *f, int side, struct mcpi_exchange *parent, unsigned a,
           unsigned b)
{
    const struct mcpi_next_leg *turn = &turns[a % COUNT(turns)];
    struct mcpi_id number = mcpi_id_int(a % 16);
    struct mcpi_call_options opt = {.method = turn->method,
                                    .params = turn->params,
                                    .params_len = turn->params_len,
                                    .reset_on_progress = b % 3 == 1,
                                    .rounds = b / 16 % 4 == 3 ? MCPI_ROUNDS_NONE
                                                              : (int)(b / 16 % 4),
                                    .parent = parent,
                                    .ops = &call_ops[b % COUNT(call_ops)]};
    struct call *call = &f->calls[f->call_count];

    if (f->call_count == CALLS || !f->end[side])
        return;
    if (side == SERVER) {
        opt.method = asks[a % COUNT(asks)];
        opt.params = "{}";
        opt.params_len = 2;
    }
    if (a >= 128)
        opt.id = &number;
    opt.timeout_us = b % 5 ? 1000000 : MCPI_NEVER;
    opt.total_us = b % 7 == 1 ? 1500000 : 0;
    opt.on_abandon = b % 11 == 1 ? MCPI_ABANDON_DETACHES : MCPI_ABANDON_CANCELS;
    opt.user = call;
    f->call_count++;
    *call = (struct call){.f = f, .options = b};
    if (parent)
        call->parent = mcpi_exchange_ref(parent);
    if (mcpi_call_start(mcpi_pair_peer(f->end[side]), &opt, f->now, &call->handle) == 0)
        call->started = true;
    else
        CHECK(call->done == 0 && !call->handle);
}

/* A call that ends takes the questions asked for it along first and tells its own user
 * last: whoever is told of those and looks at the call finds it settled before its done. */
static bool
is_midway(const struct fuzz *f, const struct call *call, bool settled)
{
    return settled && f->depth > 0 && call_is_live(call);
}

static void
call_command(struct fuzz *f, int letter, unsigned a)
{
    struct call *call = f->call_count > 0 ? &f->calls[a % f->call_count] : NULL;
    struct mcpi_call *handle = call ? call->handle : NULL;
    bool live;
    int r;

    if (!handle)
        return;
    live = call_is_live(call);
    if (letter == 'x') {
        r = mcpi_call_cancel(handle, a % 2 ? "not wanted" : NULL, f->now);
        CHECK(is_midway(f, call, r == MCP_E_STATE) ||
              (r == (live ? 0 : MCP_E_STATE) &&
               call->done == !call->freed)); /* freed by who heard of its questions */
    } else if (letter == 'w') {
        live = live || call->flushing > 0;
        call->flushing++;
        r = mcpi_call_flush(handle, a * INT64_C(10000), on_flushed, call, f->now);
        CHECK(is_midway(f, call, r == 0) || r == (live ? MCP_E_STATE : 0));
        call->flushing -= r < 0;
    } else if (letter == 'g') {
        mcpi_call_release(handle);
        call->handle = NULL;
    } else {
        call->handle = NULL;
        call->freed = live;
        call->flushing = 0; /* nobody is told any more */
        mcpi_call_free(handle, f->now);
    }
}

/* ---- jobs ------------------------------------------------------------------ */

static void
job_command(struct fuzz *f, int letter, unsigned a, unsigned b)
{
    struct job *job = f->job_count > 0 ? &f->jobs[a % f->job_count] : NULL;

    if (!job || !job->begun)
        return;
    if (letter == 'n')
        call_start(f, job->x->engine == f->engine[SERVER], job->x, b, b);
    else if (letter == 'p')
        (void)mcpi_exchange_progress(job->x, a, (double)NAN, "on", f->now);
    else if (letter == 'y')
        (void)mcpi_exchange_notify(job->x, "notifications/message", TEXT("{}"), f->now);
    else if (job->finished)
        return;
    else if (letter == 'd')
        job_finish(job, 0, NULL, "{\"action\":\"accept\"}");
    else if (letter == 'e')
        job_finish(job, -32000 - (int)a, NULL, NULL);
    else if (letter == 'i')
        job_finish(job, 0, "input_required", inputs[b % COUNT(inputs)]);
    else if (letter == 'z' && !job->listens && job->running) {
        job->running = false;
        mcpi_exchange_rest(job->x, f->now);
    } else if (letter == 'z' && !job->listens) {
        (void)mcpi_exchange_resume(job->x, f->now);
    }
}

/* ---- subscriptions --------------------------------------------------------- */

static void
subscription_start(struct fuzz *f, unsigned a)
{
    const char *filter = filters[a % COUNT(filters)];
    struct mcpi_id number = mcpi_id_int(a % 16);
    struct mcpi_subscription_options opt = {.id = a >= 128 ? &number : NULL,
                                            .filter = filter,
                                            .filter_len = strlen(filter),
                                            .open_us = a % 3 ? 0 : 500000,
                                            .ops = &subscription_ops};
    struct subscription *s = &f->subscriptions[f->subscription_count];

    if (f->subscription_count == SUBSCRIPTIONS || !f->end[CLIENT])
        return;
    f->subscription_count++;
    *s = (struct subscription){.f = f, .life = f->life};
    opt.user = s;
    s->started = mcpi_subscription_open(mcpi_pair_peer(f->end[CLIENT]), &opt, f->now,
                                        &s->handle) == 0;
    CHECK(s->started || (s->opened == 0 && s->ended == 0));
}

static void
subscription_close(struct fuzz *f, unsigned a)
{
    struct subscription *s;
    struct mcpi_subscription *handle;

    if (f->subscription_count == 0)
        return;
    s = &f->subscriptions[a % f->subscription_count];
    handle = s->handle;
    s->closed = handle != NULL;
    s->handle = NULL;
    mcpi_subscription_close(handle, f->now);
}

static void
publish(struct fuzz *f, unsigned a)
{
    struct mcpi_event event = {.topic = 1U << a % 4};

    if (event.topic == MCPI_TOPIC_UPDATED)
        event.uri = uris[a / 4 % COUNT(uris)];
    mcpi_engine_publish(f->engine[SERVER], &event, f->now);
}

static void
notify(struct fuzz *f, int letter, unsigned a)
{
    struct mcpi_pair_end *end = f->end[a % 5 == 4 ? SERVER : CLIENT];
    const char *method = letter == 'h' ? "notifications/cancelled" : "x/y";
    char params[64];

    if (!end)
        return;
    snprintf(params, sizeof(params),
             a % 2 ? "{\"requestId\":%u}" : "{\"requestId\":\"listen-%u\"}", a % 16);
    (void)mcpi_peer_notify(mcpi_pair_peer(end), method, params, strlen(params), f->now);
}

/* ---- messages of nobody's engine ------------------------------------------- */

static int
step(struct fuzz *f, int side)
{
    int r = f->end[side] ? mcpi_pair_step(f->end[side], f->now) : 0;

    check(f);
    return r;
}

static void
inject(struct fuzz *f, int side, const char *bytes, size_t len)
{
    size_t put;

    while (len > 0 && f->end[side]) {
        put = mcpi_pair_inject(f->end[side], bytes, len);
        bytes += put;
        len -= put;
        if (len > 0 && step(f, 1 - side) <= 0 && put == 0)
            return; /* nobody reads any more */
    }
}

/* The id of what the client has sent: a call or a subscription, or any number. */
static void
show_id(struct fuzz *f, unsigned b, char into[ID_SHOWN])
{
    const struct mcpi_id *id = NULL;
    const struct call *call = f->call_count ? &f->calls[b % f->call_count] : NULL;
    const struct subscription *s = f->subscription_count
                                       ? &f->subscriptions[b % f->subscription_count]
                                       : NULL;

    if (b >= 128 && s && s->handle)
        id = mcpi_subscription_id(s->handle);
    else if (b < 128 && call && call->handle)
        id = mcpi_call_id(call->handle);
    if (id && id->kind == MCPI_ID_STRING)
        snprintf(into, ID_SHOWN, "\"%.*s\"", (int)id->len, id->text);
    else
        snprintf(into, ID_SHOWN, "%lld", id ? (long long)id->number : (long long)b);
}

/* $ in it is the id. */
static void
say(struct fuzz *f, int side, const char *message, const char *id)
{
    char line[512];
    size_t len = 0;

    for (; *message; message++) {
        if (*message == '$') {
            len += (size_t)snprintf(line + len, sizeof(line) - len, "%s", id);
        } else {
            line[len++] = *message;
        }
    }
    line[len++] = '\n';
    CHECK(len <= sizeof(line));
    inject(f, side, line, len);
}

/* ---- commands -------------------------------------------------------------- */

static unsigned
argument(struct fuzz *f)
{
    unsigned byte = f->at < f->stop ? *f->at++ : 0;

    return byte >= '0' && byte <= '9' ? byte - '0' : byte;
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
pass(struct fuzz *f, int64_t us)
{
    f->now += us;
    mcpi_timers_expire(&f->timers, f->now);
}

static void
die(struct fuzz *f, int side)
{
    struct mcpi_pair_end *end = f->end[side];

    if (!end)
        return;
    mcpi_pair_free(end, f->now);
    f->end[side] = NULL;
    CHECK(f->closed[side] == 1);
}

static void
meet(struct fuzz *f)
{
    struct mcpi_pair_options opt = {.ring_bytes = f->ring};

    if (f->end[CLIENT] || f->end[SERVER])
        return;
    opt.side[CLIENT].engine = f->engine[CLIENT];
    opt.side[SERVER].engine = f->engine[SERVER];
    f->closed[CLIENT] = f->closed[SERVER] = 0;
    if (mcpi_pair_new(&opt, f->end) < 0) {
        f->end[CLIENT] = f->end[SERVER] = NULL;
        return;
    }
    f->life++;
    (void)mcpi_peer_connect(mcpi_pair_peer(f->end[CLIENT]), f->now);
}

/* What may be done anywhere, also inside of a callback. */
static bool
act(struct fuzz *f, const struct reaction *todo)
{
    int side = todo->letter == 'V';

    if (todo->letter == '\0')
        return false;
    if (todo->letter == 'c')
        call_start(f, CLIENT, NULL, todo->a, todo->b);
    else if (strchr("xfgw", todo->letter))
        call_command(f, todo->letter, todo->a);
    else if (strchr("npydeiz", todo->letter))
        job_command(f, todo->letter, todo->a, todo->b);
    else if (todo->letter == 'l')
        subscription_start(f, todo->a);
    else if (todo->letter == 'u')
        subscription_close(f, todo->a);
    else if (todo->letter == 'P')
        publish(f, todo->a);
    else if (strchr("hm", todo->letter))
        notify(f, todo->letter, todo->a);
    else if (strchr("CV", todo->letter) && f->end[side])
        mcpi_peer_close(mcpi_pair_peer(f->end[side]), f->now);
    else
        return false;
    return true;
}

static void
react(struct fuzz *f)
{
    struct reaction todo;

    if (f->reaction_count == 0 || f->depth == 3)
        return;
    todo = f->reactions[--f->reaction_count];
    f->depth++;
    (void)act(f, &todo);
    f->depth--;
}

static struct reaction
read_command(struct fuzz *f)
{
    struct reaction todo = {.letter = *f->at++};

    if (todo.letter != '\0' && strchr("cxfgwnpydeizluPhmjJto", todo.letter))
        todo.a = argument(f);
    if (todo.letter != '\0' && strchr("cnijJ", todo.letter))
        todo.b = argument(f);
    return todo;
}

static void
inject_line(struct fuzz *f, int side)
{
    const uint8_t *newline = memchr(f->at, '\n', (size_t)(f->stop - f->at));
    const uint8_t *line = f->at;

    f->at = newline ? newline + 1 : f->stop;
    inject(f, side, (const char *)line, (size_t)(f->at - line));
}

static void
link_command(struct fuzz *f, int letter)
{
    switch (letter) {
    case '>':
    case '<':
        inject_line(f, letter == '<');
        break;
    case 's':
    case 'S':
        step(f, letter == 'S');
        break;
    case 'r':
        run(f);
        break;
    case 'E':
    case 'F':
        if (f->end[letter == 'F'])
            mcpi_pair_shutdown(f->end[letter == 'F'], f->now);
        break;
    case 'K':
    case 'L':
        die(f, letter == 'L');
        break;
    case 'R':
        meet(f);
        break;
    default:
        break;
    }
}

static void
command(struct fuzz *f)
{
    struct reaction todo = read_command(f);
    char id[ID_SHOWN];

    if (todo.letter == '@' && f->at < f->stop) {
        todo = read_command(f);
        if (f->reaction_count < REACTIONS)
            f->reactions[f->reaction_count++] = todo;
    } else if (todo.letter == 'j') {
        show_id(f, todo.b, id);
        say(f, SERVER, of_server[todo.a % COUNT(of_server)], id);
    } else if (todo.letter == 'J') {
        snprintf(id, sizeof(id), "%u", todo.b);
        say(f, CLIENT, of_client[todo.a % COUNT(of_client)], id);
    } else if (todo.letter == 't') {
        pass(f, todo.a * INT64_C(100000));
    } else if (todo.letter == 'o') {
        f->failing = (long)todo.a;
    } else if (!act(f, &todo)) {
        link_command(f, todo.letter);
    }
    check(f);
}

/* ---- a world --------------------------------------------------------------- */

static void
engine_open(struct fuzz *f, int side, enum mcpi_era era, bool small)
{
    struct mcpi_engine_options opt = {
        .mem = &f->mem,
        .role = side == CLIENT ? MCPI_CLIENT : MCPI_SERVER,
        .era = era,
        .identity = {.info = "{\"name\":\"fuzz\",\"version\":\"1\"}",
                     .capabilities = "{}"},
        .timers = &f->timers,
        .router = &router,
        .router_user = f,
        .trace = on_trace,
        .trace_user = f,
        .limits = {.in_flight = small ? 6 : 24,
                   .message_bytes = small ? 1024 : 8192,
                   .queued_bytes = small ? 256 : 4096,
                   .listeners = small ? 2 : 16,
                   .subscribed = small ? 2 : 16},
        .times = {.run = small ? 3000000 : 0},
    };

    CHECK(mcpi_engine_new(&opt, &f->engine[side]) == 0);
}

static void
world_open(struct fuzz *f, unsigned eras, unsigned ring, unsigned limits)
{
    f->mem = (mcp_allocator){count_alloc, count_realloc, count_free, f};
    f->failing = -1;
    f->now = 1000000;
    f->ring = ring % 2 ? 1 + ring : 4096;
    f->offered = limits & 4 ? MCPI_TOPIC_TOOLS | MCPI_TOPIC_UPDATED : 15;
    mcpi_timers_init(&f->timers);
    engine_open(f, CLIENT, eras % 4, limits & 1);
    engine_open(f, SERVER, eras / 4 % 3, limits & 2);
    meet(f);
    CHECK(f->end[CLIENT]);
}

/* Both say goodbye, and are gone within the bounds, whatever the other does. */
static void
world_part(struct fuzz *f)
{
    for (int side = 0; side < 2; side++)
        if (f->end[side])
            mcpi_peer_close(mcpi_pair_peer(f->end[side]), f->now);
    check(f);
    run(f);
    pass(f, 10000000);
    run(f);
    for (int side = 0; side < 2; side++)
        CHECK(!f->end[side] || f->closed[side] == 1);
}

static void
world_check(struct fuzz *f)
{
    for (size_t i = 0; i < f->call_count; i++) {
        struct call *call = &f->calls[i];

        CHECK(call->done == (call->started && !call->freed));
        mcpi_call_free(call->handle, f->now);
        if (call->parent)
            mcpi_exchange_unref(call->parent);
    }
    for (size_t i = 0; i < f->subscription_count; i++) {
        struct subscription *s = &f->subscriptions[i];

        CHECK(!s->handle || s->ended == 1);
        mcpi_subscription_close(s->handle, f->now);
    }
    for (size_t i = 0; i < f->job_count; i++) {
        CHECK(f->jobs[i].x->ending != MCPI_OPEN);
        if (f->jobs[i].running)
            job_finish(&f->jobs[i], 0, NULL, "{}");
        mcpi_exchange_unref(f->jobs[i].x);
    }
}

static void
world_close(struct fuzz *f)
{
    f->failing = -1;
    f->reaction_count = 0;
    if (f->offered == 15)
        world_part(f);
    die(f, CLIENT);
    die(f, SERVER);
    check(f);
    world_check(f);
    for (int side = 0; side < 2; side++) {
        CHECK(f->engine[side]->counts.held == 0 && f->engine[side]->counts.deaf == 0);
        CHECK(mcpi_engine_free(f->engine[side]) == 0);
    }
    CHECK(mcpi_timers_next(&f->timers) == MCPI_NEVER);
    CHECK(f->blocks == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz f;
    unsigned eras, ring;

    memset(&f, 0, sizeof(f));
    f.at = data;
    f.stop = data + size;
    eras = argument(&f);
    ring = argument(&f);
    world_open(&f, eras, ring, argument(&f));
    while (f.at < f.stop)
        command(&f);
    world_close(&f);
    return 0;
}
