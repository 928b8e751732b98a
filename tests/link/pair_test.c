/* pair_test.c - the memory link: both suites, group G, and two threads */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "run/post.h"
#include "support/link_suite.h"
#include "support/messages.h"
#include "support/session_suite.h"

#define CANCELLED "notifications/cancelled"

static const enum mcpi_era eras[] = {MCPI_ERA_MODERN, MCPI_ERA_LEGACY};

#define EACH_ERA(i) for (size_t i = 0; i < 2; i++)

static const struct mcpi_id id3 = {.kind = MCPI_ID_STRING, .text = "3", .len = 1};
static const struct mcpi_id id7 = {.kind = MCPI_ID_INT, .number = 7};
static const struct mcpi_id text7 = {.kind = MCPI_ID_STRING, .text = "7", .len = 1};

static void
start(struct world *w, const struct mcpi_call_options *opt, struct outcome *out)
{
    world_call(w, CLIENT, opt, out);
    world_run(w);
}

static void
expect(const struct outcome *out, int status)
{
    assert_int_equal(out->done, 1);
    assert_int_equal(out->status, status);
}

/* ---- group G --------------------------------------------------------------- */

static void
G1_a_cancel_sets_the_token_with_its_reason(void **state)
{
    struct outcome out;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        start(&w, NULL, &out);
        assert_int_equal(mcpi_call_cancel(out.call, "changed my mind", w.now), 0);
        world_run(&w);
        expect(&out, MCP_E_CANCELED);
        assert_int_equal(world_job(&w, SERVER)->told, 1);
        assert_string_equal(world_job(&w, SERVER)->reason, "changed my mind");
        outcome_done(&out);
        world_close(&w);
    }
}

static void
G2_a_timeout_tells_the_handler(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND};
    struct outcome out;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        start(&w, &opt, &out);
        world_pass(&w, SECOND);
        expect(&out, MCP_E_TIMEOUT);
        assert_int_equal(world_job(&w, SERVER)->told, 1);
        outcome_done(&out);
        world_close(&w);
    }
}

static void
G2_a_timeout_needs_no_peer_that_runs(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND};
    struct outcome out;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        world_call(&w, CLIENT, &opt, &out);
        while (w.link->step(&w, CLIENT) > 0) /* issued; the server does not move */
            continue;
        w.now += SECOND;
        mcpi_timers_expire(&w.timers, w.now);
        expect(&out, MCP_E_TIMEOUT);
        world_run(&w); /* now it does, and is told */
        assert_int_equal(world_job(&w, SERVER)->told, 1);
        outcome_done(&out);
        world_close(&w);
    }
}

static void
G3_a_frame_by_hand_acts_as_on_the_wire(void **state)
{
    static const char params[] = "{\"requestId\":\"7\",\"reason\":\"by hand\"}";
    struct mcpi_call_options opt = {.id = &id7};
    struct outcome out;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        start(&w, &opt, &out);
        assert_int_equal(mcpi_peer_notify(w.peer[CLIENT], CANCELLED, params,
                                          sizeof(params) - 1, w.now),
                         0);
        expect(&out, MCP_E_CANCELED);
        world_run(&w);
        assert_string_equal(world_job(&w, SERVER)->reason, "by hand");
        assert_non_null(strstr(world_sent(&w, CLIENT, 1), "\"requestId\":7,"));
        outcome_done(&out);
        world_close(&w);
    }
}

static void
G4_ids_are_verbatim_and_twins_collide(void **state)
{
    struct mcpi_call_options first = {.id = &text7}, twin = {.id = &id7};
    struct outcome a, b;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        start(&w, &first, &a);
        assert_int_equal(world_job(&w, SERVER)->x->rpc.id.kind, MCPI_ID_STRING);
        assert_int_equal(world_try_call(&w, CLIENT, &twin, &b), MCP_E_ID_IN_USE);
        mcpi_call_cancel(a.call, NULL, w.now);
        start(&w, &twin, &b); /* the same key is free again, behind the frame */
        assert_int_equal(world_job(&w, SERVER)->x->rpc.id.kind, MCPI_ID_INT);
        assert_int_equal(world_job(&w, SERVER)->told, 0);
        outcome_done(&a);
        outcome_done(&b);
        world_close(&w);
    }
}

static void
G4_minted_ids_pass_over_an_occupied_key(void **state)
{
    struct mcpi_call_options chosen = {.id = &id3};
    struct outcome first, minted[3];
    int64_t numbers[3];
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    start(&w, &chosen, &first);
    for (int i = 0; i < 3; i++) {
        start(&w, NULL, &minted[i]);
        numbers[i] = mcpi_call_id(minted[i].call)->number;
    }
    assert_int_equal(numbers[0], 1);
    assert_int_equal(numbers[1], 2);
    assert_int_equal(numbers[2], 4);
    for (int i = 0; i < 3; i++)
        outcome_done(&minted[i]);
    outcome_done(&first);
    world_close(&w);
}

/* One call runs, one is parked in the queue, one comes after the close. */
static void
close_with_calls(enum mcpi_era era, int closer, bool politely)
{
    struct outcome running, parked, late;
    struct world w;

    world_start(&w, era);
    start(&w, NULL, &running);
    world_plain_call(&w, &parked);
    if (politely)
        mcpi_peer_close(w.peer[closer], w.now);
    else
        world_cut(&w, closer);
    world_run(&w);
    world_pass(&w, 2 * SECOND);
    assert_int_equal(running.done, 1);
    assert_true(running.status == MCP_E_CLOSED ||
                (running.status == MCP_E_PEER && closer == SERVER && politely));
    expect(&parked, MCP_E_CLOSED);
    if (w.peer[CLIENT]) {
        assert_int_equal(world_try_call(&w, CLIENT, NULL, &late), MCP_E_CLOSED);
        assert_int_equal(
            mcpi_peer_notify(w.peer[CLIENT], "notifications/x", NULL, 0, w.now), 0);
    }
    outcome_done(&running);
    outcome_done(&parked);
    world_close(&w);
}

static void
G5_either_side_closes_and_callers_wake(void **state)
{
    (void)state;
    EACH_ERA(i)
    {
        for (int closer = 0; closer < 2; closer++) {
            close_with_calls(eras[i], closer, true);
            close_with_calls(eras[i], closer, false);
        }
    }
}

static void
G6_a_failure_has_the_code_and_message_of_the_handler(void **state)
{
    struct mcpi_call_options unknown = {.method = "no/such"};
    struct outcome out;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        start(&w, NULL, &out);
        job_fail(&w, world_job(&w, SERVER), -32055, "the disk is full");
        world_run(&w);
        expect(&out, MCP_E_PEER);
        assert_int_equal(out.code, -32055);
        assert_string_equal(out.message, "the disk is full");
        outcome_done(&out);
        start(&w, &unknown, &out);
        expect(&out, MCP_E_PEER);
        assert_int_equal(out.code, MCPI_RPC_METHOD_NOT_FOUND);
        outcome_done(&out);
        world_close(&w);
    }
}

/* A call whose end starts the next one, on the stack of whatever ended it. */
struct again {
    struct world *w;
    int left;
    int done;
};

static void again_done(void *user, struct mcpi_call *call, int status,
                       const struct mcpi_rpc *answer);

static const struct mcpi_call_ops again_ops = {.done = again_done};

static int
again_start(struct again *again)
{
    struct mcpi_call_options opt = {
        .method = "tools/list", .ops = &again_ops, .user = again, .timeout_us = SECOND};

    return mcpi_call_start(again->w->peer[CLIENT], &opt, again->w->now, NULL);
}

static void
again_done(void *user, struct mcpi_call *call, int status,
           const struct mcpi_rpc *answer)
{
    struct again *again = user;

    (void)call;
    (void)status;
    (void)answer;
    again->done++;
    if (again->left-- > 0)
        assert_int_equal(again_start(again), 0);
}

static void
G7_a_callback_that_calls_back_does_not_block(void **state)
{
    struct again again = {.left = 3};
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        again.left = 3;
        again.done = 0;
        world_start(&w, eras[i]);
        again.w = &w;
        assert_int_equal(again_start(&again), 0);
        world_run(&w);
        world_pass(&w, 10 * SECOND); /* each timeout starts the next */
        assert_int_equal(again.done, 4);
        assert_int_equal(w.job_count[SERVER], 4);
        world_close(&w);
    }
}

static void
G7_a_handler_may_finish_while_it_is_told(void **state)
{
    struct outcome out;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        start(&w, NULL, &out);
        world_job(&w, SERVER)->finish_when_told = true;
        mcpi_call_cancel(out.call, NULL, w.now);
        world_run(&w);
        assert_int_equal(world_job(&w, SERVER)->told, 1);
        assert_int_equal(w.sent_count[SERVER], 0);
        world_assert_quiet(&w);
        outcome_done(&out);
        world_close(&w);
    }
}

static void
G8_a_modern_handler_cannot_ask_the_client(void **state)
{
    struct mcpi_call_options opt = {.method = "roots/list"};
    struct outcome parent, nested;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    start(&w, NULL, &parent);
    opt.parent = world_job(&w, SERVER)->x;
    assert_int_equal(world_try_call(&w, SERVER, &opt, &nested), MCP_E_NO_CHANNEL);
    opt.parent = NULL;
    assert_int_equal(world_try_call(&w, SERVER, &opt, &nested), MCP_E_NO_CHANNEL);
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    outcome_done(&parent);
    world_close(&w);
}

static void
G9_progress_after_the_end_is_not_delivered(void **state)
{
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct outcome out;
    struct job *job;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        start(&w, &opt, &out);
        job = world_job(&w, SERVER);
        job_finish(&w, job, "{}");
        assert_int_equal(mcpi_exchange_progress(job->x, 1, (double)NAN, NULL, w.now),
                         MCP_E_STATE);
        world_run(&w);
        expect(&out, 0);
        assert_int_equal(out.progressed, 0);
        outcome_done(&out);
        world_close(&w);
    }
}

static void
G10_the_suite_holds_whatever_the_eras_of_both_sides(void **state)
{
    size_t modern, legacy;

    (void)state;
    modern = link_suite_run_all(&world_pair, MCPI_ERA_MODERN, MCPI_ERA_MODERN);
    legacy = link_suite_run_all(&world_pair, MCPI_ERA_LEGACY, MCPI_ERA_LEGACY);
    assert_true(modern > 30 && legacy > 30);
    assert_int_equal(link_suite_run_all(&world_pair, MCPI_ERA_BOTH, MCPI_ERA_BOTH),
                     modern);
    assert_int_equal(link_suite_run_all(&world_pair, MCPI_ERA_BOTH, MCPI_ERA_MODERN),
                     modern);
    assert_int_equal(link_suite_run_all(&world_pair, MCPI_ERA_BOTH, MCPI_ERA_LEGACY),
                     legacy);
    assert_int_equal(link_suite_run_all(&world_pair, MCPI_ERA_LEGACY, MCPI_ERA_BOTH),
                     legacy);
}

/* ---- its own mechanics ----------------------------------------------------- */

static void
one_byte_rings_carry_everything(void **state)
{
    struct world_options opt = {.ring_bytes = 1};
    struct outcome out;
    struct world w;

    (void)state;
    world_start_with(&w, &opt);
    start(&w, NULL, &out);
    job_finish(&w, world_job(&w, SERVER), "{\"content\":[]}");
    world_run(&w);
    expect(&out, 0);
    outcome_done(&out);
    world_close(&w);
}

static void
inject_says_how_much_found_room(void **state)
{
    struct world_options opt = {.ring_bytes = 4};
    struct world w;

    (void)state;
    world_start_with(&w, &opt);
    assert_int_equal(mcpi_pair_inject(w.end[CLIENT], "abcdef", 6), 4);
    assert_int_equal(mcpi_pair_inject(w.end[CLIENT], "ef", 2), 0);
    world_run(&w);
    assert_int_equal(mcpi_pair_inject(w.end[CLIENT], "\n", 1), 1);
    world_run(&w);
    assert_int_equal(world_count_sent(&w, SERVER, "-32700"), 1);
    world_close(&w);
}

static void
a_closed_end_does_not_move(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    mcpi_peer_close(w.peer[CLIENT], w.now);
    world_run(&w);
    assert_int_equal(mcpi_pair_step(w.end[CLIENT], w.now), MCP_E_CLOSED);
    assert_int_equal(mcpi_pair_step(w.end[SERVER], w.now), MCP_E_CLOSED);
    world_close(&w);
}

static void
a_flood_of_input_does_not_keep_a_cancel_from_leaving(void **state)
{
    struct outcome out;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    start(&w, NULL, &out);
    world_forget(&w);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, w.now), 0);
    world_inject(&w, SERVER, NOTE("notifications/x", "{}"));
    assert_int_equal(mcpi_pair_step(w.end[CLIENT], w.now), 1);
    assert_int_equal(w.notice_count, 1); /* it has read, and written */
    assert_int_equal(world_count_sent(&w, CLIENT, CANCELLED), 1);
    outcome_done(&out);
    world_close(&w);
}

static void
B7_what_has_not_begun_to_leave_is_withdrawn_though_more_room_was_wanted(void **state)
{
    struct world_options opt = {.client_era = MCPI_ERA_MODERN, .ring_bytes = 64};
    struct outcome a, b;
    struct world w;

    (void)state;
    world_start_with(&w, &opt);
    world_plain_call(&w, &a);
    world_plain_call(&w, &b);
    assert_int_equal(mcpi_pair_step(w.end[CLIENT], w.now), 1); /* half of the first */
    assert_int_equal(mcpi_call_cancel(b.call, NULL, w.now), 0);
    world_run(&w);
    assert_int_equal(w.sent_count[CLIENT], 1); /* no trace of the second */
    assert_int_equal(w.job_count[SERVER], 1);
    outcome_done(&a);
    outcome_done(&b);
    world_close(&w);
}

struct flush {
    int told;
    int status;
};

static void
on_flushed(void *user, int status)
{
    struct flush *f = user;

    f->told++;
    f->status = status;
}

/* A call whose cancel has left by half, and somebody who waits for the rest. */
static void
flush_half(struct world *w, struct outcome *out, struct flush *f)
{
    struct world_options opt = {.client_era = MCPI_ERA_MODERN, .ring_bytes = 64};

    memset(f, 0, sizeof(*f));
    world_start_with(w, &opt);
    start(w, NULL, out);
    world_forget(w);
    assert_int_equal(mcpi_call_cancel(out->call, NULL, w->now), 0);
    assert_int_equal(mcpi_pair_step(w->end[CLIENT], w->now), 1);
    assert_int_equal(world_count_sent(w, CLIENT, CANCELLED), 1);
    assert_int_equal(
        mcpi_call_flush(out->call, MCPI_FLUSH_DEFAULT, on_flushed, f, w->now), 0);
    assert_int_equal(f->told, 0);
}

static void
B10_B24_who_waits_for_a_half_written_cancel_hears_that_the_link_is_lost(void **state)
{
    struct outcome out;
    struct flush f;
    struct world w;

    (void)state;
    flush_half(&w, &out, &f);
    world_cut(&w, SERVER);
    while (mcpi_pair_step(w.end[CLIENT], w.now) > 0)
        continue;
    assert_int_equal(w.closed[CLIENT], 1); /* and is not stepped again */
    assert_int_equal(f.told, 1);
    assert_int_equal(f.status, MCP_E_CLOSED);
    assert_false(world_logged(&w, 'W', "could not be written in time"));
    outcome_done(&out);
    world_close(&w);
}

static void
B10_B24_or_that_it_was_given_up(void **state)
{
    struct outcome out;
    struct flush f;
    struct world w;

    (void)state;
    flush_half(&w, &out, &f);
    mcpi_peer_fail(w.peer[CLIENT], MCP_E_LIMIT, "test");
    w.now += SECOND;
    mcpi_timers_expire(&w.timers, w.now); /* the peer is lost, the pipe wakes up */
    assert_int_equal(w.closed[CLIENT], 1);
    assert_int_equal(mcpi_pair_step(w.end[CLIENT], w.now), MCP_E_CLOSED);
    assert_int_equal(f.told, 1);
    assert_int_equal(f.status, MCP_E_CLOSED);
    outcome_done(&out);
    world_close(&w);
}

static void
what_came_before_the_other_end_went_is_read_though_nothing_can_be_written(void **state)
{
    enum { CALLS = 4 };
    struct outcome out[CALLS + 1];
    char result[12000];
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    memset(result, 'x', sizeof(result));
    memcpy(result, "{\"a\":\"", 6);
    memcpy(result + sizeof(result) - 3, "\"}", 3);
    for (int i = 0; i < CALLS; i++)
        start(&w, NULL, &out[i]);
    for (int i = 0; i < CALLS; i++)
        job_finish(&w, &w.jobs[SERVER][i], result);
    while (mcpi_pair_step(w.end[SERVER], w.now) > 0)
        continue;
    world_plain_call(&w, &out[CALLS]);
    world_cut(&w, SERVER);
    world_run(&w);
    for (int i = 0; i < CALLS; i++)
        expect(&out[i], 0);
    expect(&out[CALLS], MCP_E_CLOSED);
    for (int i = 0; i <= CALLS; i++)
        outcome_done(&out[i]);
    world_close(&w);
}

/* ---- ends that are opened one by one --------------------------------------- */

/* The engines of a world, and a pair of which only the client's end is open. */
static struct mcpi_pair *
open_one_end(struct world *w)
{
    struct mcpi_pair_side side = {0};
    struct mcpi_pair *pair;

    assert_int_equal(world_open(w, NULL), 0);
    for (int i = 0; i < 2; i++) {
        mcpi_pair_free(w->end[i], w->now);
        w->end[i] = NULL;
        w->peer[i] = NULL;
        w->closed[i] = 0;
    }
    w->ready_count = 0;
    assert_int_equal(mcpi_pair_make(&w->mem->allocator, 0, &pair), 0);
    side.engine = w->engine[CLIENT];
    assert_int_equal(mcpi_pair_open(pair, CLIENT, &side, &w->end[CLIENT]), 0);
    w->peer[CLIENT] = mcpi_pair_peer(w->end[CLIENT]);
    assert_int_equal(mcpi_peer_connect(w->peer[CLIENT], w->now), 0);
    world_run(w);
    assert_int_equal(w->ready_count, 0);
    return pair;
}

static void
an_end_that_is_opened_later_finds_what_was_written(void **state)
{
    struct mcpi_pair_side side = {0};
    struct mcpi_pair *pair;
    struct world w;

    (void)state;
    pair = open_one_end(&w);
    side.engine = w.engine[SERVER];
    assert_int_equal(mcpi_pair_open(pair, SERVER, &side, &w.end[SERVER]), 0);
    w.peer[SERVER] = mcpi_pair_peer(w.end[SERVER]);
    world_run(&w);
    assert_int_equal(w.ready_status, 0);
    world_close(&w);
}

static void
B22_an_end_that_is_given_up_unopened_looks_closed(void **state)
{
    struct mcpi_pair *pair;
    struct outcome out;
    struct world w;

    (void)state;
    pair = open_one_end(&w);
    world_plain_call(&w, &out);
    mcpi_pair_unmake(pair, SERVER);
    world_run(&w);
    expect(&out, MCP_E_CLOSED);
    assert_int_equal(w.closed[CLIENT], 1);
    outcome_done(&out);
    world_close(&w);
}

/* An end whose user frees it, or closes it, when something arrives. */
struct arriving {
    struct world w;
    int times;
    bool frees;
};

static void
on_arriving(void *user)
{
    struct arriving *a = user;

    a->times++;
    if (!a->frees) {
        mcpi_peer_close(a->w.peer[SERVER], a->w.now);
        return;
    }
    mcpi_pair_free(a->w.end[SERVER], a->w.now);
    a->w.end[SERVER] = NULL;
    a->w.peer[SERVER] = NULL;
}

static void
arrive(struct arriving *a, bool frees)
{
    struct mcpi_pair_side side = {.arriving = on_arriving, .wake_user = a};
    struct mcpi_pair *pair;
    int r;

    a->times = 0;
    a->frees = frees;
    pair = open_one_end(&a->w);
    side.engine = a->w.engine[SERVER];
    assert_int_equal(mcpi_pair_open(pair, SERVER, &side, &a->w.end[SERVER]), 0);
    a->w.peer[SERVER] = mcpi_pair_peer(a->w.end[SERVER]);
    r = mcpi_pair_step(a->w.end[SERVER], a->w.now);
    assert_int_equal(r, frees ? MCP_E_CLOSED : 1);
    assert_int_equal(a->times, 1);
    world_run(&a->w);
    world_run(&a->w); /* a step that closes does not count as one */
    assert_int_equal(a->w.ready_status, MCP_E_CLOSED); /* nothing was dispatched */
    assert_int_equal(a->w.closed[CLIENT], 1);
    world_close(&a->w);
}

static void
F10_who_is_told_that_something_arrives_may_close_or_free_the_end(void **state)
{
    struct arriving a;

    (void)state;
    arrive(&a, false);
    arrive(&a, true);
}

static void
open_flow(struct test_mem *mem, void *user)
{
    struct world_options opt = {.mem = mem};
    struct world w;
    int r;

    (void)user;
    r = world_open(&w, &opt);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    world_close(&w);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(open_flow, NULL) > 8);
}

/* ---- two threads ----------------------------------------------------------- */

/* One side: an engine on a thread of its own, woken through a condition variable. */
struct half {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool awake; /* under lock */
    bool stop;  /* under lock */
    struct test_mem mem;
    struct mcpi_timers timers;
    struct mcpi_engine *engine;
    struct mcpi_pair_end *end;
    struct mcpi_posts posts;
    long served, told; /* its thread only */
    unsigned turn;
};

static void
half_wake(void *user)
{
    struct half *h = user;

    pthread_mutex_lock(&h->lock);
    h->awake = true;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

static void
half_stop(struct half *h)
{
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
}

/* True: go on; false: asked to stop. */
static bool
half_wait(struct half *h)
{
    bool go_on;

    pthread_mutex_lock(&h->lock);
    while (!h->awake && !h->stop)
        pthread_cond_wait(&h->changed, &h->lock);
    h->awake = false;
    go_on = !h->stop;
    pthread_mutex_unlock(&h->lock);
    return go_on;
}

static void *
half_main(void *user)
{
    struct half *h = user;

    do {
        mcpi_posts_run(&h->posts);
        while (mcpi_pair_step(h->end, 0) > 0)
            mcpi_posts_run(&h->posts);
        mcpi_timers_expire(&h->timers, 0);
    } while (half_wait(h));
    mcpi_posts_run(&h->posts); /* what was posted before it was told to stop */
    return NULL;
}

/* The server's handlers: every third one waits to be told, the others answer at once. */
static void
served_finish(struct mcpi_exchange *x)
{
    struct mcpi_result result;

    mcpi_result_init(&result, x->engine);
    mcpi_buf_text(&result.body, "{\"content\":[]}");
    mcpi_exchange_finish(x, &result, 0);
}

static void
served_begin(struct mcpi_exchange *x)
{
    struct half *h = x->served_user;

    h->served++;
    if (++h->turn % 3 != 0)
        served_finish(x);
}

static void
served_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct half *h = x->served_user;

    (void)how;
    (void)reason;
    h->told++;
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

static void
half_open(struct half *h, enum mcpi_role role, enum mcpi_era era)
{
    static const struct mcpi_router router = {.route = half_route};
    struct mcpi_engine_options eo = {.role = role,
                                     .era = era,
                                     .identity = {.info = "{\"name\":\"half\"}"},
                                     .router = &router,
                                     .router_user = h};

    memset(h, 0, sizeof(*h));
    test_mem_init(&h->mem);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    mcpi_timers_init(&h->timers);
    assert_int_equal(mcpi_posts_init(&h->posts, half_wake, h), 0);
    eo.mem = &h->mem.allocator;
    eo.timers = &h->timers;
    assert_int_equal(mcpi_engine_new(&eo, &h->engine), 0);
}

static void
half_close(struct half *h)
{
    assert_int_equal(h->engine->counts.calls, 0);
    assert_int_equal(mcpi_engine_free(h->engine), 0);
    assert_int_equal(mcpi_timers_next(&h->timers), MCPI_NEVER);
    mcpi_posts_done(&h->posts);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
}

/* A shared ring is allocated from the first side and may be freed on the other's
 * thread; so memory is looked at when both are gone. */
static void
halves_open(struct half halves[2], enum mcpi_era era, size_t ring)
{
    struct mcpi_pair_options po = {.ring_bytes = ring};
    struct mcpi_pair_end *ends[2];

    half_open(&halves[CLIENT], MCPI_CLIENT, era);
    half_open(&halves[SERVER], MCPI_SERVER, MCPI_ERA_BOTH);
    for (int side = 0; side < 2; side++) {
        po.side[side].engine = halves[side].engine;
        po.side[side].wake = half_wake;
        po.side[side].wake_user = &halves[side];
    }
    assert_int_equal(mcpi_pair_new(&po, ends), 0);
    halves[CLIENT].end = ends[CLIENT];
    halves[SERVER].end = ends[SERVER];
    assert_int_equal(mcpi_peer_connect(mcpi_pair_peer(ends[CLIENT]), 0), 0);
}

static void
halves_go(struct half halves[2])
{
    for (int side = 0; side < 2; side++)
        assert_int_equal(
            pthread_create(&halves[side].thread, NULL, half_main, &halves[side]), 0);
}

static void
halves_close(struct half halves[2])
{
    half_close(&halves[CLIENT]);
    half_close(&halves[SERVER]);
    test_mem_done(&halves[CLIENT].mem);
    test_mem_done(&halves[SERVER].mem);
}

/* A call that other threads start and cancel by posting. */
struct remote {
    struct mcpi_post start, cancel;
    struct half *half;
    struct mcpi_call *call; /* the client's thread only, as all below */
    int done, status;
    atomic_int *left;
};

#define REMOTES 4000

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
    struct mcpi_call_options opt = {
        .method = "tools/list", .timeout_us = MCPI_NEVER, .ops = &ops, .user = r};
    struct mcpi_peer *peer = mcpi_pair_peer(r->half->end);

    if (mcpi_call_start(peer, &opt, 0, &r->call) < 0)
        remote_done(r, NULL, MCP_E_CLOSED, NULL);
}

static void
remote_cancel(struct mcpi_post *post)
{
    struct remote *r = (struct remote *)(void *)((char *)post -
                                                 offsetof(struct remote, cancel));

    if (r->call)
        (void)mcpi_call_cancel(r->call, "from afar", 0); /* it may have been answered */
}

static struct remote *
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

/* The third thread. Cancels each of its calls, some right behind the start. */
static void *
remotes_post(void *user)
{
    struct remote *remotes = user;
    struct half *half = remotes[0].half;

    for (size_t i = 0; i < REMOTES; i++) {
        mcpi_posts_add(&half->posts, &remotes[i].start);
        if (i >= 50)
            mcpi_posts_add(&half->posts, &remotes[i - 50].cancel);
        if (i % 7 == 0)
            mcpi_posts_add(&half->posts, &remotes[i].cancel);
    }
    for (size_t i = REMOTES - 50; i < REMOTES; i++)
        mcpi_posts_add(&half->posts, &remotes[i].cancel);
    return NULL;
}

static void
remotes_check(struct remote *remotes)
{
    long canceled = 0;

    for (size_t i = 0; i < REMOTES; i++) {
        assert_int_equal(remotes[i].done, 1);
        assert_true(remotes[i].status == 0 || remotes[i].status == MCP_E_CANCELED);
        canceled += remotes[i].status == MCP_E_CANCELED;
        mcpi_call_free(remotes[i].call, 0);
    }
    assert_true(canceled > 0);
    free(remotes);
}

static void
on_threads(enum mcpi_era era, size_t ring)
{
    struct half halves[2];
    struct remote *remotes;
    atomic_int left;
    pthread_t third;

    halves_open(halves, era, ring);
    remotes = remotes_new(&halves[CLIENT], &left);
    halves_go(halves);
    assert_int_equal(pthread_create(&third, NULL, remotes_post, remotes), 0);
    pthread_join(third, NULL);
    while (atomic_load(&left) > 0)
        sched_yield();
    half_stop(&halves[CLIENT]);
    half_stop(&halves[SERVER]);
    remotes_check(remotes);
    mcpi_pair_free(halves[CLIENT].end, 0);
    while (mcpi_pair_step(halves[SERVER].end, 0) > 0) /* what was still under way */
        continue;
    mcpi_pair_free(halves[SERVER].end, 0);
    assert_int_equal(halves[SERVER].engine->counts.exchanges, 0);
    halves_close(halves);
}

static void
B33_thousands_of_calls_and_cancels_from_a_third_thread(void **state)
{
    (void)state;
    on_threads(MCPI_ERA_MODERN, 0);
    on_threads(MCPI_ERA_LEGACY, 0);
}

static void
B33_the_same_through_rings_that_split_every_message(void **state)
{
    (void)state;
    on_threads(MCPI_ERA_MODERN, 61);
}

/* A thread frees its end when it is told to, in the middle of everything. */
static void *
half_main_then_free(void *user)
{
    struct half *h = user;

    half_main(h);
    mcpi_pair_free(h->end, 0);
    return NULL;
}

static void
free_one_end(int side)
{
    struct half halves[2];
    struct remote *remotes;
    atomic_int left;

    halves_open(halves, MCPI_ERA_MODERN, 97);
    remotes = remotes_new(&halves[CLIENT], &left);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            pthread_create(&halves[i].thread, NULL, half_main_then_free, &halves[i]),
            0);
    for (size_t i = 0; i < REMOTES / 2; i++)
        mcpi_posts_add(&halves[CLIENT].posts, &remotes[i].start);
    while (atomic_load(&left) == REMOTES) /* something is under way */
        sched_yield();
    half_stop(&halves[side]);
    half_stop(&halves[1 - side]);
    for (size_t i = 0; i < REMOTES; i++) {
        assert_true(remotes[i].done <= 1);
        assert_true(remotes[i].done == 1 || !remotes[i].call);
        mcpi_call_free(remotes[i].call, 0);
    }
    free(remotes);
    halves_close(halves);
}

static void
G5_one_end_is_freed_while_the_other_works(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        free_one_end(SERVER);
        free_one_end(CLIENT);
    }
}

int
main(void)
{
    static const struct test_case own[] = {
#define OWN(function) {"pair." #function, function, NULL}
        OWN(G1_a_cancel_sets_the_token_with_its_reason),
        OWN(G2_a_timeout_tells_the_handler),
        OWN(G2_a_timeout_needs_no_peer_that_runs),
        OWN(G3_a_frame_by_hand_acts_as_on_the_wire),
        OWN(G4_ids_are_verbatim_and_twins_collide),
        OWN(G4_minted_ids_pass_over_an_occupied_key),
        OWN(G5_either_side_closes_and_callers_wake),
        OWN(G6_a_failure_has_the_code_and_message_of_the_handler),
        OWN(G7_a_callback_that_calls_back_does_not_block),
        OWN(G7_a_handler_may_finish_while_it_is_told),
        OWN(G8_a_modern_handler_cannot_ask_the_client),
        OWN(G9_progress_after_the_end_is_not_delivered),
        OWN(G10_the_suite_holds_whatever_the_eras_of_both_sides),
        OWN(one_byte_rings_carry_everything),
        OWN(inject_says_how_much_found_room),
        OWN(a_closed_end_does_not_move),
        OWN(a_flood_of_input_does_not_keep_a_cancel_from_leaving),
        OWN(B7_what_has_not_begun_to_leave_is_withdrawn_though_more_room_was_wanted),
        OWN(B10_B24_who_waits_for_a_half_written_cancel_hears_that_the_link_is_lost),
        OWN(B10_B24_or_that_it_was_given_up),
        OWN(what_came_before_the_other_end_went_is_read_though_nothing_can_be_written),
        OWN(an_end_that_is_opened_later_finds_what_was_written),
        OWN(B22_an_end_that_is_given_up_unopened_looks_closed),
        OWN(F10_who_is_told_that_something_arrives_may_close_or_free_the_end),
        OWN(each_allocation_may_fail),
        OWN(B33_thousands_of_calls_and_cancels_from_a_third_thread),
        OWN(B33_the_same_through_rings_that_split_every_message),
        OWN(G5_one_end_is_freed_while_the_other_works),
    };

    return session_suite_main(__FILE__, &world_pair, own, sizeof(own) / sizeof(own[0]));
}
