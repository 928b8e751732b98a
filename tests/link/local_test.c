/* local_test.c - the memory link on loops: both suites, and two threads */
#include "link/local.h"

#include <stdlib.h>
#include <string.h>

#include "support/halves.h"
#include "support/messages.h"
#include "support/session_suite.h"
#include "support/streams.h"

/* ---- a world over two loops ------------------------------------------------ */

struct locals {
    struct mcpi_loop *loop[2];
    struct mcpi_local *local[2]; /* NULL: freed */
    int told[2];
};

static struct locals *
locals_of(struct world *w)
{
    return w->link_state;
}

static int64_t
world_clock(void *user)
{
    const struct world *w = user;

    return w->now;
}

static void
locals_closed(void *user, struct mcpi_local *local)
{
    struct locals *s = user;

    s->told[local == s->local[CLIENT] ? CLIENT : SERVER]++;
}

static int
locals_open_side(struct world *w, int side, struct mcpi_pair *pair)
{
    struct locals *s = locals_of(w);
    struct mcpi_local_options lo = {.engine = w->engine[side],
                                    .pair = pair,
                                    .index = (unsigned)side,
                                    .closed = locals_closed,
                                    .user = s};
    int r;

    r = mcpi_loop_new(&w->mem->allocator, NULL, &s->loop[side]);
    if (r < 0)
        return r;
    mcpi_loop_set_clock(s->loop[side], world_clock, w);
    lo.loop = s->loop[side];
    r = mcpi_local_new(&lo, &s->local[side]);
    if (r == 0)
        w->peer[side] = mcpi_local_peer(s->local[side]);
    return r;
}

static void
locals_undo(struct world *w, struct mcpi_pair *pair)
{
    struct locals *s = locals_of(w);

    for (int side = 0; side < 2; side++) {
        if (!s->local[side])
            mcpi_pair_unmake(pair, (unsigned)side);
        mcpi_local_free(s->local[side]);
        mcpi_loop_free(s->loop[side]);
        w->peer[side] = NULL;
    }
    free(s);
}

static int
locals_open(struct world *w, const struct world_options *opt)
{
    struct mcpi_pair *pair = NULL;
    int r;

    r = mcpi_pair_make(&w->mem->allocator, opt->ring_bytes, &pair);
    if (r < 0)
        return r;
    w->link_state = calloc(1, sizeof(struct locals));
    assert_non_null(w->link_state);
    r = locals_open_side(w, CLIENT, pair);
    if (r == 0)
        r = locals_open_side(w, SERVER, pair);
    if (r < 0)
        locals_undo(w, pair);
    return r;
}

static int
locals_step(struct world *w, int side)
{
    struct locals *s = locals_of(w);
    bool busy;

    if (!s->local[side])
        return 0;
    busy = loop_is_busy(s->loop[side]);
    assert_int_equal(mcpi_loop_step(s->loop[side]), 0);
    return busy || loop_is_busy(s->loop[side]);
}

static size_t
locals_inject(struct world *w, int side, const char *bytes, size_t len)
{
    return mcpi_pair_inject(mcpi_local_end(locals_of(w)->local[side]), bytes, len);
}

static void
locals_shutdown(struct world *w, int side)
{
    mcpi_pair_shutdown(mcpi_local_end(locals_of(w)->local[side]), w->now);
}

static void
locals_free(struct world *w, int side)
{
    struct locals *s = locals_of(w);

    mcpi_local_free(s->local[side]);
    mcpi_loop_free(s->loop[side]);
    s->local[side] = NULL;
    s->loop[side] = NULL;
    if (!s->local[1 - side])
        free(s);
}

static const struct world_link local_link = {.name = "local",
                                             .open = locals_open,
                                             .step = locals_step,
                                             .inject = locals_inject,
                                             .shutdown = locals_shutdown,
                                             .free = locals_free};

/* ---- its own mechanics ----------------------------------------------------- */

static void
start_on_local(struct world *w, size_t ring)
{
    struct world_options opt = {
        .client_era = MCPI_ERA_MODERN, .link = &local_link, .ring_bytes = ring};

    world_start_with(w, &opt);
}

static void
expect(const struct outcome *out, int status)
{
    assert_int_equal(out->done, 1);
    assert_int_equal(out->status, status);
}

static void
one_byte_rings_carry_everything(void **state)
{
    struct outcome out;
    struct world w;

    (void)state;
    start_on_local(&w, 1);
    world_plain_call(&w, &out);
    world_run(&w);
    job_finish(&w, world_job(&w, SERVER), "{\"content\":[]}");
    world_run(&w);
    expect(&out, 0);
    outcome_done(&out);
    world_close(&w);
}

static void
its_owner_is_told_once_that_it_closed(void **state)
{
    struct world w;

    (void)state;
    start_on_local(&w, 0);
    mcpi_peer_close(w.peer[SERVER], w.now);
    assert_int_equal(locals_of(&w)->told[SERVER], 0); /* not from inside core */
    world_run(&w);
    world_run(&w);
    assert_int_equal(locals_of(&w)->told[SERVER], 1);
    assert_int_equal(locals_of(&w)->told[CLIENT], 1);
    world_close(&w);
}

static void
one_that_is_given_up_at_once_is_told_too(void **state)
{
    struct world w;

    (void)state;
    start_on_local(&w, 0);
    mcpi_peer_fail(w.peer[CLIENT], MCP_E_LIMIT, "test");
    world_pass(&w, 0);
    assert_int_equal(w.closed_status[CLIENT], MCP_E_LIMIT);
    assert_int_equal(locals_of(&w)->told[CLIENT], 1);
    world_close(&w);
}

/* A turn of a flooded end ends, and what else is on its loop has its turn. */
struct bystander {
    struct mcpi_post post;
    int ran;
};

static void
bystander_runs(struct mcpi_post *post)
{
    struct bystander *b = (struct bystander *)(void *)post;

    b->ran++;
}

static void
a_flood_is_read_a_bounded_amount_a_turn(void **state)
{
    static const char note[] = NOTE("notifications/x", "{}") "\n";
    struct bystander b = {.post = {.fn = bystander_runs}};
    struct world w;

    (void)state;
    start_on_local(&w, (size_t)1 << 20);
    while (locals_inject(&w, CLIENT, note, sizeof(note) - 1) == sizeof(note) - 1)
        continue;
    mcpi_loop_post(locals_of(&w)->loop[SERVER], &b.post);
    assert_int_equal(mcpi_loop_step(locals_of(&w)->loop[SERVER]), 0);
    assert_int_equal(b.ran, 1);
    assert_in_range(w.notice_count, 1, (1 << 20) / sizeof(note) - 1000);
    world_run(&w);
    assert_in_range(w.notice_count, (1 << 20) / sizeof(note) - 1, 1 << 20);
    world_close(&w);
}

/* A flush that runs right before the end's own, and brings a result home. */
struct homecoming {
    struct mcpi_flush flush;
    struct mcpi_post post;
    struct world *w;
    int rounds;
};

static void
homecoming_finish(struct mcpi_post *post)
{
    struct homecoming *h = MCPI_CONTAINER(post, struct homecoming, post);

    job_finish(h->w, world_job(h->w, SERVER), "{}");
}

static void
homecoming_post(struct mcpi_flush *flush)
{
    struct homecoming *h = MCPI_CONTAINER(flush, struct homecoming, flush);
    struct mcpi_loop *loop = locals_of(h->w)->loop[SERVER];

    if (h->rounds++ == 0)
        mcpi_loop_flush(loop, &h->flush); /* once more, after the poll */
    else
        mcpi_loop_post(loop, &h->post);
}

static void
F10_a_result_that_came_home_before_the_frame_was_read_wins(void **state)
{
    struct homecoming h = {.post = {.fn = homecoming_finish}};
    struct outcome out;
    struct world w;

    (void)state;
    start_on_local(&w, 0);
    world_plain_call(&w, &out);
    world_run(&w);
    h.w = &w;
    mcpi_flush_init(&h.flush, homecoming_post);
    mcpi_loop_flush(locals_of(&w)->loop[SERVER], &h.flush);
    world_inject(&w, CLIENT, CANCEL("1"));
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 0);
    expect(&out, 0);
    outcome_done(&out);
    world_close(&w);
}

struct freer {
    struct mcpi_post post;
    struct world *w;
};

static void
freer_frees(struct mcpi_post *post)
{
    struct freer *f = (struct freer *)(void *)post;
    struct locals *s = locals_of(f->w);

    mcpi_local_free(s->local[SERVER]);
    s->local[SERVER] = NULL;
    f->w->peer[SERVER] = NULL;
}

static void
what_came_home_may_free_the_end_that_is_stepping(void **state)
{
    struct freer f = {.post = {.fn = freer_frees}};
    struct mcpi_loop *loop;
    struct outcome out;
    struct world w;

    (void)state;
    start_on_local(&w, 0);
    world_plain_call(&w, &out);
    while (w.link->step(&w, CLIENT) > 0)
        continue;
    f.w = &w;
    loop = locals_of(&w)->loop[SERVER];
    mcpi_loop_post(loop, &f.post);
    assert_int_equal(mcpi_loop_step(loop), 0);
    world_run(&w);
    expect(&out, MCP_E_CLOSED);
    assert_int_equal(w.job_count[SERVER], 0);
    mcpi_loop_free(loop);
    outcome_done(&out);
    world_close(&w);
}

/* ---- ends that are not opened ---------------------------------------------- */

/* Only the client has opened its end. */
struct lonely {
    struct world w;
    struct mcpi_pair *pair;
    struct outcome out;
};

static void
lonely_open(struct lonely *l)
{
    struct world_options opt = {.client_era = MCPI_ERA_MANUAL};
    struct mcpi_pair_end *ends[2];

    assert_int_equal(world_open(&l->w, &opt), 0); /* for its engines */
    memcpy(ends, l->w.end, sizeof(ends));
    for (int side = 0; side < 2; side++) {
        mcpi_pair_free(ends[side], l->w.now);
        l->w.end[side] = NULL;
        l->w.peer[side] = NULL;
        l->w.closed[side] = 0;
    }
    l->w.link = &local_link;
    l->w.link_state = calloc(1, sizeof(struct locals));
    assert_int_equal(mcpi_pair_make(&l->w.mem->allocator, 0, &l->pair), 0);
    assert_int_equal(locals_open_side(&l->w, CLIENT, l->pair), 0);
    assert_int_equal(mcpi_peer_connect(l->w.peer[CLIENT], l->w.now), 0);
    world_plain_call(&l->w, &l->out);
    world_run(&l->w);
    assert_int_equal(l->out.done, 0);
}

static void
what_was_written_before_an_end_is_opened_is_there(void **state)
{
    struct lonely l;

    (void)state;
    lonely_open(&l);
    assert_int_equal(l.w.sent_count[CLIENT], 1);
    assert_int_equal(locals_open_side(&l.w, SERVER, l.pair), 0);
    world_run(&l.w);
    assert_int_equal(world_count_sent(&l.w, SERVER, "\"id\":1"),
                     1); /* not initialized */
    expect(&l.out, MCP_E_PEER);
    outcome_done(&l.out);
    world_close(&l.w);
}

static void
B22_an_end_that_is_never_opened_can_be_given_up(void **state)
{
    struct lonely l;

    (void)state;
    lonely_open(&l);
    mcpi_pair_unmake(l.pair, SERVER);
    world_run(&l.w);
    expect(&l.out, MCP_E_CLOSED);
    assert_int_equal(locals_of(&l.w)->told[CLIENT], 1);
    outcome_done(&l.out);
    world_close(&l.w);
}

static void
both_ends_can_be_given_up(void **state)
{
    struct mcpi_pair *pair;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    assert_int_equal(mcpi_pair_make(&mem.allocator, 64, &pair), 0);
    mcpi_pair_unmake(pair, 1);
    mcpi_pair_unmake(pair, 0);
    mcpi_pair_unmake(NULL, 0);
    test_mem_done(&mem);
}

static void
open_flow(struct test_mem *mem, void *user)
{
    struct world_options opt = {.link = &local_link, .mem = mem};
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

static struct mcpi_peer *
half_open_local(struct half *h)
{
    struct mcpi_local_options lo = {.loop = h->loop,
                                    .engine = h->engine,
                                    .pair = h->link_user,
                                    .index = (unsigned)h->side};
    struct mcpi_local *local = NULL;

    assert_int_equal(mcpi_local_new(&lo, &local), 0);
    h->end = local;
    return mcpi_local_peer(local);
}

static void
half_free_local(struct half *h)
{
    mcpi_local_free(h->end);
}

static const struct half_link local_halves = {half_open_local, half_free_local};

static void
halves_open_locals(struct half halves[2], enum mcpi_era era, size_t ring)
{
    struct mcpi_pair *pair;

    halves_open(halves, era, &local_halves);
    assert_int_equal(mcpi_pair_make(&halves[CLIENT].mem.allocator, ring, &pair), 0);
    halves[CLIENT].link_user = halves[SERVER].link_user = pair;
}

static void
on_threads(enum mcpi_era era, size_t ring)
{
    struct half halves[2];
    struct remote *remotes;
    atomic_int left;

    halves_open_locals(halves, era, ring);
    half_do(&halves[CLIENT], half_begin); /* it writes before the other is there */
    half_do(&halves[SERVER], half_begin);
    remotes = remotes_new(&halves[CLIENT], &left);
    remotes_post(remotes);
    assert_true(remotes_check(remotes, &left) > 0);
    halves_close(halves);
}

static void
B33_G7_thousands_of_calls_and_cancels_from_a_third_thread(void **state)
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

/* One end goes in the middle of everything: all its callers wake. */
static void
free_one_end(int side)
{
    struct half halves[2];
    struct remote *remotes;
    atomic_int left;

    halves_open_locals(halves, MCPI_ERA_MODERN, 97);
    half_do(&halves[SERVER], half_begin);
    half_do(&halves[CLIENT], half_begin);
    remotes = remotes_new(&halves[CLIENT], &left);
    for (size_t i = 0; i < REMOTES; i++) {
        mcpi_loop_post(halves[CLIENT].loop, &remotes[i].start);
        if (i == REMOTES / 2)
            half_do(&halves[side], half_leave);
    }
    (void)remotes_check(remotes, &left);
    halves_close(halves);
}

static void
G5_M26_one_end_is_freed_while_the_other_works(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        free_one_end(SERVER);
        free_one_end(CLIENT);
    }
}

/* Nobody opens the other end, and somebody else gives it up. */
static void
an_end_is_given_up_from_any_thread(void **state)
{
    struct half halves[2];
    struct remote *remotes;
    atomic_int left;

    (void)state;
    halves_open_locals(halves, MCPI_ERA_MODERN, 0);
    half_do(&halves[CLIENT], half_begin);
    remotes = remotes_new(&halves[CLIENT], &left);
    remotes_post(remotes);
    mcpi_pair_unmake(halves[SERVER].link_user, SERVER);
    (void)remotes_check(remotes, &left);
    halves_close(halves);
}

int
main(void)
{
    static const struct test_case own[] = {
#define OWN(function) {"local." #function, function, NULL}
        OWN(one_byte_rings_carry_everything),
        OWN(its_owner_is_told_once_that_it_closed),
        OWN(one_that_is_given_up_at_once_is_told_too),
        OWN(a_flood_is_read_a_bounded_amount_a_turn),
        OWN(F10_a_result_that_came_home_before_the_frame_was_read_wins),
        OWN(what_came_home_may_free_the_end_that_is_stepping),
        OWN(what_was_written_before_an_end_is_opened_is_there),
        OWN(B22_an_end_that_is_never_opened_can_be_given_up),
        OWN(both_ends_can_be_given_up),
        OWN(each_allocation_may_fail),
        OWN(B33_G7_thousands_of_calls_and_cancels_from_a_third_thread),
        OWN(B33_the_same_through_rings_that_split_every_message),
        OWN(G5_M26_one_end_is_freed_while_the_other_works),
        OWN(an_end_is_given_up_from_any_thread),
    };

    return session_suite_main(__FILE__, &local_link, own, sizeof(own) / sizeof(own[0]));
}
