/* support/halves.c - two engines on two threads */
#include "support/halves.h"

#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

/* ---- errands --------------------------------------------------------------- */

struct errand {
    struct mcpi_post post;
    struct half *half;
    void (*fn)(struct half *h);
    sem_t done;
};

static void
errand_run(struct mcpi_post *post)
{
    struct errand *e = (struct errand *)(void *)post;

    e->fn(e->half);
    sem_post(&e->done);
}

void
half_do(struct half *h, void (*fn)(struct half *h))
{
    struct errand e = {.post = {.fn = errand_run}, .half = h, .fn = fn};

    sem_init(&e.done, 0, 0);
    mcpi_loop_post(h->loop, &e.post);
    while (sem_wait(&e.done) < 0)
        continue;
    sem_destroy(&e.done);
}

/* ---- the server's handlers ------------------------------------------------- */

static void
served_finish(struct mcpi_exchange *x)
{
    struct half *h = x->served_user;
    struct mcpi_result result;

    mcpi_result_init(&result, x->engine);
    mcpi_buf_text(&result.body, "{\"tools\":[]}");
    mcpi_exchange_finish(x, &result, mcpi_loop_now(h->loop));
}

static void
served_begin(struct mcpi_exchange *x)
{
    struct half *h = x->served_user;

    if (++h->turn % 3 != 0)
        served_finish(x);
}

static void
served_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    (void)how;
    (void)reason;
    served_finish(x);
}

static int
half_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    static const struct mcpi_served_ops ops = {.begin = served_begin,
                                               .ended = served_ended};

    (void)why;
    mcpi_exchange_serve(x, &ops, user);
    return 0;
}

/* ---- halves ---------------------------------------------------------------- */

void
half_begin(struct half *h)
{
    static const struct mcpi_router router = {.route = half_route};
    struct mcpi_engine_options eo = {
        .mem = &h->mem.allocator,
        .role = h->side == CLIENT ? MCPI_CLIENT : MCPI_SERVER,
        .era = h->era,
        .identity = {.info = "{\"name\":\"half\",\"version\":\"1\"}"},
        .timers = mcpi_loop_timers(h->loop),
        .router = &router,
        .router_user = h};

    assert_int_equal(mcpi_engine_new(&eo, &h->engine), 0);
    h->peer = h->link->open(h);
    if (h->side == CLIENT)
        assert_int_equal(mcpi_peer_connect(h->peer, mcpi_loop_now(h->loop)), 0);
}

void
half_leave(struct half *h)
{
    if (h->peer)
        h->link->free(h);
    h->peer = NULL;
}

static void
half_end(struct half *h)
{
    half_leave(h);
    if (!h->engine)
        return;
    assert_int_equal(h->engine->counts.calls, 0);
    assert_int_equal(h->engine->counts.exchanges, 0);
    assert_int_equal(mcpi_engine_free(h->engine), 0);
}

void
halves_open(struct half halves[2], enum mcpi_era era, const struct half_link *link)
{
    memset(halves, 0, 2 * sizeof(halves[0]));
    for (int side = 0; side < 2; side++) {
        struct half *h = &halves[side];

        test_mem_init(&h->mem);
        h->side = side;
        h->era = side == CLIENT ? era : MCPI_ERA_BOTH;
        h->link = link;
        assert_int_equal(mcpi_loop_new(&h->mem.allocator, NULL, &h->loop), 0);
        assert_int_equal(mcpi_loop_start(h->loop), 0);
    }
}

/* What they share may be freed on either thread: memory is looked at last. */
void
halves_close(struct half halves[2])
{
    for (int side = 0; side < 2; side++)
        half_do(&halves[side], half_end);
    for (int side = 0; side < 2; side++)
        mcpi_loop_free(halves[side].loop);
    for (int side = 0; side < 2; side++)
        test_mem_done(&halves[side].mem);
}

/* ---- calls from afar ------------------------------------------------------- */

static void
remote_done(void *user, struct mcpi_call *call, int status,
            const struct mcpi_rpc *answer)
{
    struct remote *r = user;

    (void)call;
    (void)answer;
    r->done++;
    r->status = status;
    atomic_fetch_sub(r->left, 1);
}

static void
remote_start(struct mcpi_post *post)
{
    static const struct mcpi_call_ops ops = {.done = remote_done};
    struct remote *r = (struct remote *)(void *)post;
    struct half *h = r->half;
    struct mcpi_call_options opt = {.method = r->params ? "tools/call" : "tools/list",
                                    .params = r->params,
                                    .params_len = r->params ? strlen(r->params) : 0,
                                    .timeout_us = MCPI_NEVER,
                                    .ops = &ops,
                                    .user = r};

    if (!h->peer ||
        mcpi_call_start(h->peer, &opt, mcpi_loop_now(h->loop), &r->call) < 0)
        remote_done(r, NULL, MCP_E_CLOSED, NULL);
}

static void
remote_cancel(struct mcpi_post *post)
{
    struct remote *r = MCPI_CONTAINER(post, struct remote, cancel);

    if (r->call) /* it may have been answered */
        (void)mcpi_call_cancel(r->call, "from afar", mcpi_loop_now(r->half->loop));
}

struct remote *
remotes_new(struct half *half, atomic_int *left)
{
    struct remote *remotes = calloc(REMOTES, sizeof(*remotes));

    assert_non_null(remotes);
    atomic_init(left, REMOTES);
    for (size_t i = 0; i < REMOTES; i++) {
        remotes[i].start.fn = remote_start;
        remotes[i].cancel.fn = remote_cancel;
        remotes[i].half = half;
        remotes[i].left = left;
    }
    return remotes;
}

void
remotes_post(struct remote *remotes)
{
    struct mcpi_loop *loop = remotes[0].half->loop;

    for (size_t i = 0; i < REMOTES; i++) {
        mcpi_loop_post(loop, &remotes[i].start);
        if (i >= 50)
            mcpi_loop_post(loop, &remotes[i - 50].cancel);
        if (i % 7 == 0)
            mcpi_loop_post(loop, &remotes[i].cancel);
    }
    for (size_t i = REMOTES - 50; i < REMOTES; i++)
        mcpi_loop_post(loop, &remotes[i].cancel);
}

static struct remote *to_free;

static void
remotes_free(struct half *h)
{
    for (size_t i = 0; i < REMOTES; i++)
        mcpi_call_free(to_free[i].call, mcpi_loop_now(h->loop));
}

long
remotes_check(struct remote *remotes, atomic_int *left)
{
    long canceled = 0;

    while (atomic_load(left) > 0)
        sched_yield();
    to_free = remotes;
    half_do(remotes[0].half, remotes_free);
    for (size_t i = 0; i < REMOTES; i++) {
        assert_int_equal(remotes[i].done, 1);
        canceled += remotes[i].status == MCP_E_CANCELED;
    }
    free(remotes);
    return canceled;
}
