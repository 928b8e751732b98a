/* world.c - a client, a server and the memory link between them */
#include "support/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/wire.h"

/* Grow an array by one and return the new, zeroed element. Room doubles whenever the
 * count reaches a power of two. The test's own memory, not the one under test. */
static void *
grow(void **array, size_t *count, size_t size)
{
    char *bigger = *array;

    if ((*count & (*count - 1)) == 0)
        bigger = realloc(*array, (*count > 0 ? 2 * *count : 1) * size);
    assert_non_null(bigger);
    *array = bigger;
    memset(bigger + *count * size, 0, size);
    return bigger + (*count)++ * size;
}

static char *
copy(const char *text, size_t len)
{
    char *c = malloc(len + 1);

    assert_non_null(c);
    memcpy(c, text, len);
    c[len] = '\0';
    return c;
}

/* ---- recording ------------------------------------------------------------- */

static int
side_of(const struct world *w, const struct mcpi_engine *e)
{
    return e == w->engine[CLIENT] ? CLIENT : SERVER;
}

void
world_record(struct world *w, int side, const char *text, size_t len)
{
    char **slot = grow((void **)&w->sent[side], &w->sent_count[side], sizeof(*slot));

    *slot = copy(text, len);
}

static void
on_trace(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    struct world *w = user;

    world_record(w, side_of(w, peer->engine), text, len);
    wire_record(w->number, peer, w->peer[CLIENT] ? w->peer[CLIENT]->version : NULL,
                text, len);
}

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    struct world *w = user;
    char **slot = grow((void **)&w->log, &w->log_count, sizeof(*slot));
    size_t len = strlen(line) + 4;

    *slot = malloc(len);
    assert_non_null(*slot);
    snprintf(*slot, len, "%c: %s", " EWID"[level], line);
}

/* ---- routers --------------------------------------------------------------- */

static void
job_begin(struct mcpi_exchange *x)
{
    (void)x;
}

static struct job *
job_of(struct world *w, const struct mcpi_exchange *x)
{
    int side = side_of(w, x->engine);

    for (size_t i = w->job_count[side]; i-- > 0;)
        if (w->jobs[side][i].x == x)
            return &w->jobs[side][i];
    return NULL;
}

static void
job_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct world *w = x->served_user;
    struct job *job = job_of(w, x);

    job->told++;
    job->how = how;
    snprintf(job->reason, sizeof(job->reason), "%s", reason);
    if (job->finish_when_told)
        job_finish(w, job, "{}");
}

static const struct mcpi_served_ops job_ops = {.begin = job_begin, .ended = job_ended};

static int
on_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    struct world *w = user;
    int side = side_of(w, x->engine);
    struct job *job;

    (void)why;
    if (strncmp(x->rpc.method_name, "no/", 3) == 0)
        return MCP_E_INVAL;
    job = grow((void **)&w->jobs[side], &w->job_count[side], sizeof(*job));
    job->x = mcpi_exchange_ref(x);
    mcpi_exchange_serve(x, &job_ops, w);
    return 0;
}

static void
on_notified(void *user, struct mcpi_peer *peer, const struct mcpi_rpc *note,
            struct mcpi_exchange *about)
{
    struct world *w = user;
    struct notice *n = grow((void **)&w->notices, &w->notice_count, sizeof(*n));

    n->side = side_of(w, peer->engine);
    snprintf(n->method, sizeof(n->method), "%.*s", (int)note->method_len,
             note->method_name);
    n->about = about;
}

static void
on_ready(void *user, struct mcpi_peer *peer, int status, const struct mcpi_rpc *reply)
{
    struct world *w = user;

    (void)reply;
    w->modern = peer->dialect && peer->dialect->modern;
    w->ready_status = status;
    w->ready_count++;
}

static void
on_closed(void *user, struct mcpi_peer *peer, int status)
{
    struct world *w = user;
    int side = side_of(w, peer->engine);

    if (peer != w->peer[side])
        return; /* a server may have others */
    w->closed[side]++;
    w->closed_status[side] = status;
}

static const struct mcpi_router router = {
    .route = on_route, .notified = on_notified, .ready = on_ready, .closed = on_closed};

/* ---- making and freeing ---------------------------------------------------- */

static int
make_engine(struct world *w, int side, const struct world_options *opt)
{
    struct mcpi_engine_options eo = {
        .mem = &w->mem->allocator,
        .role = side == CLIENT ? MCPI_CLIENT : MCPI_SERVER,
        .era = side == CLIENT ? opt->client_era : opt->server_era,
        .identity = {.info = side == CLIENT
                                 ? "{\"name\":\"test-client\",\"version\":\"1\"}"
                                 : "{\"name\":\"test-server\",\"version\":\"1\"}"},
        .timers = &w->timers,
        .router = &router,
        .router_user = w,
        .log = {on_log, w, MCP_LOG_DEBUG},
        .trace = on_trace,
        .trace_user = w,
        .limits = opt->limits,
        .times = opt->times,
        .seed = {1, 2, 3, 4},
    };

    if (side == CLIENT)
        eo.identity.capabilities = opt->client_capabilities;
    else
        eo.identity.instructions = opt->instructions;
    return mcpi_engine_new(&eo, &w->engine[side]);
}

/* ---- the memory link ------------------------------------------------------- */

static int
pair_open(struct world *w, const struct world_options *opt)
{
    struct mcpi_pair_options po = {0};
    int r;

    po.side[CLIENT].engine = w->engine[CLIENT];
    po.side[SERVER].engine = w->engine[SERVER];
    po.ring_bytes = opt->ring_bytes;
    r = mcpi_pair_new(&po, w->end);
    if (r < 0)
        return r;
    w->peer[CLIENT] = mcpi_pair_peer(w->end[CLIENT]);
    w->peer[SERVER] = mcpi_pair_peer(w->end[SERVER]);
    return 0;
}

static int
pair_step(struct world *w, int side)
{
    return w->end[side] ? mcpi_pair_step(w->end[side], w->now) : 0;
}

static size_t
pair_inject(struct world *w, int side, const char *bytes, size_t len)
{
    return mcpi_pair_inject(w->end[side], bytes, len);
}

static void
pair_shutdown(struct world *w, int side)
{
    mcpi_pair_shutdown(w->end[side], w->now);
}

static void
pair_free(struct world *w, int side)
{
    mcpi_pair_free(w->end[side], w->now);
    w->end[side] = NULL;
}

const struct world_link world_pair = {.name = "pair",
                                      .open = pair_open,
                                      .step = pair_step,
                                      .inject = pair_inject,
                                      .shutdown = pair_shutdown,
                                      .free = pair_free};

/* ---- the world ------------------------------------------------------------- */

int
world_open(struct world *w, const struct world_options *opt)
{
    static const struct world_options none;
    static unsigned worlds;
    int r;

    opt = opt ? opt : &none;
    memset(w, 0, sizeof(*w));
    w->number = ++worlds;
    w->now = 1000 * SECOND;
    w->ready_status = 1;
    test_mem_init(&w->own_mem);
    w->mem = opt->mem ? opt->mem : &w->own_mem;
    w->link = opt->link ? opt->link : &world_pair;
    mcpi_timers_init(&w->timers);
    r = make_engine(w, CLIENT, opt);
    if (r == 0)
        r = make_engine(w, SERVER, opt);
    if (r < 0)
        return r;
    r = w->link->open(w, opt);
    if (r < 0)
        return r;
    mcpi_engine_at(w->engine[CLIENT], w->now);
    mcpi_engine_at(w->engine[SERVER], w->now);
    return 0;
}

static void
free_texts(char ***texts, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        free((*texts)[i]);
    free(*texts);
    *texts = NULL;
    *count = 0;
}

static void
free_jobs(struct world *w, int side)
{
    for (size_t i = 0; i < w->job_count[side]; i++) {
        struct job *job = &w->jobs[side][i];

        if (!job->finished)
            job_finish(w, job, "{}");
        mcpi_exchange_unref(job->x);
    }
    free(w->jobs[side]);
}

void
world_cut(struct world *w, int side)
{
    if (w->peer[side])
        w->link->free(w, side);
    w->peer[side] = NULL;
}

void
world_close(struct world *w)
{
    for (int side = 0; side < 2; side++)
        world_cut(w, side);
    for (int side = 0; side < 2; side++) {
        free_jobs(w, side);
        if (w->engine[side])
            assert_int_equal(w->engine[side]->counts.calls, 0);
        assert_int_equal(mcpi_engine_free(w->engine[side]), 0);
        free_texts(&w->sent[side], &w->sent_count[side]);
    }
    free_texts(&w->log, &w->log_count);
    free(w->notices);
    assert_int_equal(mcpi_timers_next(&w->timers), MCPI_NEVER);
    test_mem_done(&w->own_mem);
}

void
world_start_with(struct world *w, const struct world_options *opt)
{
    assert_int_equal(world_open(w, opt), 0);
    assert_int_equal(mcpi_peer_connect(w->peer[CLIENT], w->now), 0);
    world_run(w);
    assert_int_equal(w->ready_status, 0);
    world_forget(w);
}

void
world_start(struct world *w, enum mcpi_era era)
{
    struct world_options opt = {.client_era = era};

    world_start_with(w, &opt);
}

/* ---- time and motion ------------------------------------------------------- */

void
world_run(struct world *w)
{
    int moved;

    mcpi_engine_at(w->engine[CLIENT], w->now);
    mcpi_engine_at(w->engine[SERVER], w->now);
    do {
        moved = 0;
        for (int side = 0; side < 2; side++)
            while (w->link->step(w, side) > 0)
                moved = 1;
    } while (moved);
}

/* When the next thing happens by itself. */
static int64_t
world_next(struct world *w)
{
    int64_t next = mcpi_timers_next(&w->timers);
    int64_t of_link = w->link->next ? w->link->next(w) : MCPI_NEVER;

    return next < of_link ? next : of_link;
}

void
world_pass(struct world *w, int64_t us)
{
    int64_t until = w->now + us;
    int64_t next;

    for (next = world_next(w); next <= until; next = world_next(w)) {
        w->now = next > w->now ? next : w->now;
        mcpi_timers_expire(&w->timers, w->now);
        world_run(w);
    }
    w->now = until;
    mcpi_timers_expire(&w->timers, w->now);
    world_run(w);
}

void
world_deliver(struct world *w)
{
    world_run(w);
    if (!world_hangs_up(w) && w->link->frame_us > 0)
        world_pass(w, w->link->frame_us);
}

/* ---- calls ----------------------------------------------------------------- */

static void
outcome_on_done(void *user, struct mcpi_call *call, int status,
                const struct mcpi_rpc *answer)
{
    struct outcome *out = user;

    (void)call;
    out->done++;
    out->order = ++out->world->done_count;
    out->status = status;
    if (status == MCP_E_PEER) {
        out->code = answer->error_code;
        snprintf(out->message, sizeof(out->message), "%s", answer->error_message);
    } else if (status == 0) {
        char *text = NULL;

        assert_int_equal(mcp_json_print(answer->result, false, NULL, &text, NULL), 0);
        out->result = copy(text, strlen(text));
        mcp_text_free(text, NULL);
    }
}

static void
outcome_on_progress(void *user, struct mcpi_call *call, const struct mcpi_progress *p)
{
    struct outcome *out = user;

    (void)call;
    out->progressed++;
    out->last = *p;
    out->last.message = NULL;
}

const struct mcpi_call_ops outcome_ops = {.done = outcome_on_done};
const struct mcpi_call_ops outcome_progress_ops = {.done = outcome_on_done,
                                                   .progress = outcome_on_progress};

/* Params with which a request of that method is valid in every revision that has it. */
static const char *
params_of(const char *method)
{
    static const struct {
        const char *method, *params;
    } known[] = {
        {"initialize", "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                       "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}"},
        {"resources/read", "{\"uri\":\"file:///t\"}"},
        {"resources/subscribe", "{\"uri\":\"file:///t\"}"},
        {"resources/unsubscribe", "{\"uri\":\"file:///t\"}"},
        {"completion/complete", "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"t\"},"
                                "\"argument\":{\"name\":\"a\",\"value\":\"b\"}}"},
        {"logging/setLevel", "{\"level\":\"info\"}"},
        {"subscriptions/listen", "{\"notifications\":{}}"},
        {"sampling/createMessage", "{\"messages\":[],\"maxTokens\":1}"},
        {"elicitation/create",
         "{\"mode\":\"form\",\"message\":\"t\",\"requestedSchema\":{"
         "\"type\":\"object\",\"properties\":{}}}"},
        {"roots/list", "{}"},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(method, known[i].method) == 0)
            return known[i].params;
    return "{\"name\":\"t\"}";
}

int
world_try_call(struct world *w, int side, const struct mcpi_call_options *opt,
               struct outcome *out)
{
    struct mcpi_call_options co = {0};

    if (opt)
        co = *opt;
    memset(out, 0, sizeof(*out));
    out->world = w;
    co.method = co.method ? co.method : "tools/call";
    co.params = co.params ? co.params : params_of(co.method);
    co.params_len = strlen(co.params);
    co.meta_len = co.meta ? strlen(co.meta) : 0;
    co.ops = co.ops ? co.ops : &outcome_ops;
    co.user = out;
    return mcpi_call_start(w->peer[side], &co, w->now, &out->call);
}

void
world_call(struct world *w, int side, const struct mcpi_call_options *opt,
           struct outcome *out)
{
    assert_int_equal(world_try_call(w, side, opt, out), 0);
}

void
world_plain_call(struct world *w, struct outcome *out)
{
    world_call(w, CLIENT, NULL, out);
}

void
outcome_done(struct outcome *out)
{
    mcpi_call_free(out->call, out->world->now);
    out->call = NULL;
    free(out->result);
    out->result = NULL;
}

/* ---- jobs ------------------------------------------------------------------ */

struct job *
world_job(struct world *w, int side)
{
    assert_true(w->job_count[side] > 0);
    return &w->jobs[side][w->job_count[side] - 1];
}

void
job_finish(struct world *w, struct job *job, const char *result)
{
    struct mcpi_result r;

    mcpi_result_init(&r, job->x->engine);
    mcpi_buf_text(&r.body, result);
    job->finished = true;
    mcpi_exchange_finish(job->x, &r, w->now);
}

void
job_fail(struct world *w, struct job *job, int code, const char *message)
{
    struct mcpi_result r;

    mcpi_result_init(&r, job->x->engine);
    mcpi_result_error(&r, code, "%s", message);
    job->finished = true;
    mcpi_exchange_finish(job->x, &r, w->now);
}

/* ---- what was said --------------------------------------------------------- */

const char *
world_sent(struct world *w, int side, size_t index)
{
    assert_true(index < w->sent_count[side]);
    return w->sent[side][index];
}

size_t
world_count_sent(struct world *w, int side, const char *part)
{
    size_t n = 0;

    for (size_t i = 0; i < w->sent_count[side]; i++)
        n += strstr(w->sent[side][i], part) != NULL;
    return n;
}

bool
world_hangs_up(const struct world *w)
{
    return (w->link->traits & WORLD_RESPONSES) && w->modern;
}

bool
world_has_session(const struct world *w)
{
    if (!(w->link->traits & WORLD_RESPONSES))
        return true;
    return !w->modern && !(w->link->traits & WORLD_STATELESS);
}

bool
world_has_last_words(const struct world *w)
{
    return (w->link->traits & WORLD_RESPONSES) && world_has_session(w);
}

static size_t
signals_ever(struct world *w)
{
    return w->link->signals && w->link_state ? w->link->signals(w) : 0;
}

size_t
world_count_signals(struct world *w, int side)
{
    size_t frames = world_count_sent(w, side, "\"notifications/cancelled\"");

    if (world_hangs_up(w))
        assert_int_equal(frames, 0);
    if (!w->link->signals || side == SERVER)
        return frames;
    return signals_ever(w) - w->signals_before;
}

void
world_expect_named(struct world *w, const char *id)
{
    char named[64];

    snprintf(named, sizeof(named), "\"requestId\":%s", id);
    assert_int_equal(world_count_sent(w, CLIENT, named), !world_hangs_up(w));
}

void
world_forget(struct world *w)
{
    w->signals_before = signals_ever(w);
    free_texts(&w->sent[CLIENT], &w->sent_count[CLIENT]);
    free_texts(&w->sent[SERVER], &w->sent_count[SERVER]);
    free_texts(&w->log, &w->log_count);
    w->notice_count = 0;
}

void
world_inject(struct world *w, int side, const char *line)
{
    size_t len = strlen(line);

    wire_record_injected(w->number, side == CLIENT ? MCPI_CLIENT : MCPI_SERVER, line);
    assert_int_equal(w->link->inject(w, side, line, len), len);
    assert_int_equal(w->link->inject(w, side, "\n", 1), 1);
}

bool
world_logged(struct world *w, char level, const char *part)
{
    for (size_t i = 0; i < w->log_count; i++)
        if (w->log[i][0] == level && strstr(w->log[i], part))
            return true;
    return false;
}

void
world_assert_quiet(struct world *w)
{
    for (int side = 0; side < 2; side++) {
        assert_int_equal(w->engine[side]->counts.calls, 0);
        assert_int_equal(w->engine[side]->counts.legs, 0);
        assert_int_equal(w->engine[side]->counts.exchanges, 0);
        assert_int_equal(w->engine[side]->counts.held, 0);
        assert_int_equal(w->engine[side]->counts.deaf, 0);
    }
    assert_int_equal(mcpi_timers_next(&w->timers), MCPI_NEVER);
    if (w->link->assert_quiet)
        w->link->assert_quiet(w);
}
