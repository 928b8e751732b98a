/* scope_test.c - one flag over many calls: raised from anywhere, told on each loop */
#include "run/scope.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/text.h"
#include "support/test.h"

#define NOW 1000 /* the time in tests that hold the clock */

struct fixture {
    struct test_mem mem;
    struct mcpi_loop *loop;
    struct mcpi_scope *scope;
    int64_t now;
    char seen[64]; /* the names of hooks that were told */
    size_t seen_len;
};

static int64_t
hand(void *user)
{
    return *(int64_t *)user;
}

static struct mcpi_scope *
make_scope(struct fixture *f, struct mcpi_scope *parent, int64_t deadline)
{
    struct mcpi_scope *scope = NULL;

    assert_int_equal(mcpi_scope_new(&f->mem.allocator, parent, deadline, &scope), 0);
    return scope;
}

/* A loop whose clock stands at NOW, and a scope. */
static void
fixture_open(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    test_mem_init(&f->mem);
    f->now = NOW;
    assert_int_equal(mcpi_loop_new(&f->mem.allocator, NULL, &f->loop), 0);
    mcpi_loop_set_clock(f->loop, hand, &f->now);
    f->scope = make_scope(f, NULL, MCPI_NEVER);
}

static void
fixture_close(struct fixture *f)
{
    mcpi_scope_unref(f->scope);
    mcpi_loop_free(f->loop);
    test_mem_done(&f->mem);
}

static void
step(struct fixture *f)
{
    assert_int_equal(mcpi_loop_step(f->loop), 0);
}

/* A hook that writes down its name and what it was told, then does one more thing. */
struct note {
    struct mcpi_scope_hook hook;
    struct fixture *f;
    char name;
    int status;
    char reason[MCPI_REASON_MAX + 1];
    void (*then)(struct note *note);
    struct note *other;
};

static void
on_over(struct mcpi_scope_hook *hook, int status, const char *reason)
{
    struct note *note = MCPI_CONTAINER(hook, struct note, hook);

    note->f->seen[note->f->seen_len++] = note->name;
    note->status = status;
    strcpy(note->reason, reason);
    if (note->then)
        note->then(note);
}

static void
note_init(struct note *note, struct fixture *f, char name)
{
    memset(note, 0, sizeof *note);
    note->hook.fn = on_over;
    note->f = f;
    note->name = name;
}

static void
note_hook(struct note *note, struct mcpi_scope *scope)
{
    assert_int_equal(mcpi_scope_hook(scope, note->f->loop, &note->hook), 0);
}

/* ---- the flag --------------------------------------------------------------- */

static void
the_first_cancel_wins_and_its_reason_stays(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(mcpi_scope_status(f.scope, NOW), 0);
    assert_string_equal(mcpi_scope_reason(f.scope), "");
    assert_true(mcpi_scope_cancel(f.scope, "user left"));
    assert_false(mcpi_scope_cancel(f.scope, "too late"));
    assert_int_equal(mcpi_scope_status(f.scope, NOW), MCP_E_CANCELED);
    assert_string_equal(mcpi_scope_reason(f.scope), "user left");
    fixture_close(&f);
}

static void
B15_a_reason_is_clean_and_short(void **state)
{
    char reason[2 * MCPI_REASON_MAX];
    struct mcpi_scope *scope;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    memset(reason, 'x', sizeof reason);
    reason[3] = '\xff';
    memcpy(reason + MCPI_REASON_MAX - 1, "\xe2\x82\xac", 4);
    assert_true(mcpi_scope_cancel(f.scope, reason));
    assert_memory_equal(mcpi_scope_reason(f.scope), "xxx?xx", 6);
    assert_int_equal(strlen(mcpi_scope_reason(f.scope)), MCPI_REASON_MAX - 1);
    scope = make_scope(&f, NULL, MCPI_NEVER);
    assert_true(mcpi_scope_cancel(scope, NULL));
    assert_int_equal(mcpi_scope_status(scope, NOW), MCP_E_CANCELED);
    assert_string_equal(mcpi_scope_reason(scope), "");
    mcpi_scope_unref(scope);
    fixture_close(&f);
}

static void
a_scope_is_over_when_its_time_or_a_parents_has_run_out(void **state)
{
    struct mcpi_scope *early, *late;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    early = make_scope(&f, f.scope, 50);
    late = make_scope(&f, early, 80);
    assert_int_equal(mcpi_scope_status(late, 49), 0);
    assert_int_equal(mcpi_scope_status(late, 50), MCP_E_TOTAL_TIMEOUT);
    assert_int_equal(mcpi_scope_status(f.scope, MCPI_NEVER - 1), 0);
    mcpi_scope_unref(late);
    late = make_scope(&f, f.scope, 80);
    assert_int_equal(mcpi_scope_status(late, 79), 0);
    assert_int_equal(mcpi_scope_status(late, 80), MCP_E_TOTAL_TIMEOUT);
    assert_true(mcpi_scope_cancel(f.scope, "both")); /* a cancel counts for more */
    assert_int_equal(mcpi_scope_status(late, 80), MCP_E_CANCELED);
    mcpi_scope_unref(late);
    mcpi_scope_unref(early);
    fixture_close(&f);
}

static void
the_reason_is_that_of_the_nearest_that_was_canceled(void **state)
{
    struct mcpi_scope *middle, *leaf;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    middle = make_scope(&f, f.scope, MCPI_NEVER);
    leaf = make_scope(&f, middle, MCPI_NEVER);
    assert_true(mcpi_scope_cancel(f.scope, "all"));
    assert_int_equal(mcpi_scope_status(leaf, NOW), MCP_E_CANCELED);
    assert_string_equal(mcpi_scope_reason(leaf), "all");
    assert_true(mcpi_scope_cancel(middle, "some"));
    assert_string_equal(mcpi_scope_reason(leaf), "some");
    assert_string_equal(mcpi_scope_reason(f.scope), "all");
    mcpi_scope_unref(middle);
    mcpi_scope_unref(leaf);
    fixture_close(&f);
}

static void
a_child_keeps_its_parents(void **state)
{
    struct mcpi_scope *scope;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    scope = mcpi_scope_ref(f.scope);
    for (int i = 0; i < 100; i++) {
        struct mcpi_scope *child = make_scope(&f, scope, MCPI_NEVER);

        mcpi_scope_unref(scope);
        scope = child;
    }
    assert_true(mcpi_scope_cancel(f.scope, "root"));
    assert_int_equal(mcpi_scope_status(scope, NOW), MCP_E_CANCELED);
    mcpi_scope_unref(scope); /* and with it a hundred */
    mcpi_scope_unref(NULL);
    fixture_close(&f);
}

/* ---- hooks ------------------------------------------------------------------ */

static void
hooks_are_told_once_in_order_on_the_loop(void **state)
{
    struct fixture f;
    struct note a, b;

    (void)state;
    fixture_open(&f);
    note_init(&a, &f, 'a'), note_init(&b, &f, 'b');
    note_hook(&a, f.scope);
    note_hook(&b, f.scope);
    step(&f);
    assert_true(mcpi_scope_cancel(f.scope, "why"));
    assert_string_equal(f.seen, "");
    step(&f);
    assert_string_equal(f.seen, "ab");
    assert_int_equal(a.status, MCP_E_CANCELED);
    assert_string_equal(a.reason, "why");
    assert_null(a.hook.watch);
    step(&f);
    mcpi_scope_unhook(&a.hook);
    assert_string_equal(f.seen, "ab");
    fixture_close(&f);
}

static void
a_cancel_of_a_parent_reaches_all_below(void **state)
{
    struct mcpi_scope *child, *leaf, *other;
    struct note a, b, c, d;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    child = make_scope(&f, f.scope, MCPI_NEVER);
    leaf = make_scope(&f, child, MCPI_NEVER);
    other = make_scope(&f, f.scope, MCPI_NEVER);
    note_init(&a, &f, 'a'), note_init(&b, &f, 'b');
    note_init(&c, &f, 'c'), note_init(&d, &f, 'd');
    note_hook(&a, child);
    note_hook(&b, leaf);
    note_hook(&c, other);
    note_hook(&d, f.scope);
    step(&f);
    assert_true(mcpi_scope_cancel(child, "branch"));
    step(&f);
    assert_int_equal(f.seen_len, 2);
    assert_int_equal(a.status, MCP_E_CANCELED);
    assert_int_equal(b.status, MCP_E_CANCELED);
    assert_string_equal(b.reason, "branch");
    assert_true(mcpi_scope_cancel(f.scope, "root"));
    step(&f);
    assert_int_equal(f.seen_len, 4);
    assert_string_equal(c.reason, "root");
    assert_string_equal(d.reason, "root");
    mcpi_scope_unref(child), mcpi_scope_unref(leaf), mcpi_scope_unref(other);
    fixture_close(&f);
}

static void
deadlines_are_told_as_such(void **state)
{
    struct mcpi_scope *early, *below, *late;
    struct fixture f;
    struct note a, b, c;

    (void)state;
    fixture_open(&f);
    early = make_scope(&f, f.scope, NOW + 10);
    below = make_scope(&f, early, NOW + 20);
    late = make_scope(&f, f.scope, NOW + 30);
    note_init(&a, &f, 'a'), note_init(&b, &f, 'b'), note_init(&c, &f, 'c');
    note_hook(&a, early);
    note_hook(&b, below);
    note_hook(&c, late);
    f.now = NOW + 9;
    step(&f);
    assert_string_equal(f.seen, "");
    f.now = NOW + 10;
    step(&f);
    assert_int_equal(f.seen_len, 2);
    assert_int_equal(a.status, MCP_E_TOTAL_TIMEOUT);
    assert_int_equal(b.status, MCP_E_TOTAL_TIMEOUT);
    assert_string_equal(b.reason, "");
    f.now = NOW + 30;
    step(&f);
    assert_int_equal(f.seen_len, 3);
    assert_int_equal(c.status, MCP_E_TOTAL_TIMEOUT);
    mcpi_scope_unref(early), mcpi_scope_unref(below), mcpi_scope_unref(late);
    fixture_close(&f);
}

static void
a_real_deadline_wakes_the_loop(void **state)
{
    struct fixture f;
    struct note a;
    int64_t at;

    (void)state;
    fixture_open(&f);
    mcpi_loop_set_clock(f.loop, NULL, NULL);
    mcpi_scope_unref(f.scope);
    at = mcpi_loop_clock() + 3000;
    f.scope = make_scope(&f, NULL, at);
    note_init(&a, &f, 'a');
    note_hook(&a, f.scope);
    while (f.seen_len == 0)
        step(&f);
    assert_true(mcpi_loop_clock() >= at);
    assert_int_equal(a.status, MCP_E_TOTAL_TIMEOUT);
    fixture_close(&f);
}

static void
B5_a_scope_that_is_over_tells_in_the_next_turn(void **state)
{
    struct mcpi_scope *child, *timed;
    struct note a, b, c;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    child = make_scope(&f, f.scope, MCPI_NEVER);
    timed = make_scope(&f, NULL, NOW - 1);
    assert_true(mcpi_scope_cancel(f.scope, "before"));
    note_init(&a, &f, 'a'), note_init(&b, &f, 'b'), note_init(&c, &f, 'c');
    note_hook(&a, f.scope);
    note_hook(&b, child);
    note_hook(&c, timed);
    assert_string_equal(f.seen, "");
    step(&f);
    assert_int_equal(f.seen_len, 3);
    assert_int_equal(a.status, MCP_E_CANCELED);
    assert_int_equal(b.status, MCP_E_CANCELED);
    assert_string_equal(b.reason, "before");
    assert_int_equal(c.status, MCP_E_TOTAL_TIMEOUT);
    mcpi_scope_unref(child), mcpi_scope_unref(timed);
    fixture_close(&f);
}

/* Three hooks, removed in every order, with a cancel after none, one, two or three. */
static void
hooks_may_be_removed_in_any_order(void **state)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct note notes[3];
    struct fixture f;

    (void)state;
    for (int i = 0; i < 6 * 4; i++) {
        const int *order = orders[i / 4];
        struct mcpi_scope *child;

        fixture_open(&f);
        child = make_scope(&f, f.scope, MCPI_NEVER);
        for (int k = 0; k < 3; k++) {
            note_init(&notes[k], &f, (char)('a' + k));
            note_hook(&notes[k], k == 1 ? child : f.scope);
        }
        step(&f);
        for (int k = 0; k < i % 4; k++)
            mcpi_scope_unhook(&notes[order[k]].hook);
        assert_true(mcpi_scope_cancel(f.scope, ""));
        step(&f);
        assert_int_equal(f.seen_len, 3 - i % 4);
        for (int k = 0; k < 3; k++) {
            bool removed = strchr(f.seen, notes[k].name) == NULL;

            assert_int_equal(notes[k].status, removed ? 0 : MCP_E_CANCELED);
            mcpi_scope_unhook(&notes[k].hook);
        }
        mcpi_scope_unref(child);
        fixture_close(&f);
    }
}

static void
a_removed_hook_leaves_no_handle_behind(void **state)
{
    struct fixture f;
    struct note a;

    (void)state;
    fixture_open(&f);
    note_init(&a, &f, 'a');
    note_hook(&a, f.scope); /* and without a turn between */
    mcpi_scope_unhook(&a.hook);
    mcpi_scope_unhook(&a.hook);
    note_hook(&a, f.scope);
    step(&f);
    mcpi_scope_unhook(&a.hook);
    note_hook(&a, f.scope); /* while the old watch closes */
    mcpi_scope_cancel(f.scope, "");
    step(&f);
    assert_string_equal(f.seen, "a");
    note_hook(&a, f.scope);
    mcpi_scope_unhook(&a.hook);
    fixture_close(&f);
}

static void
then_remove_other(struct note *note)
{
    mcpi_scope_unhook(&note->hook); /* no-op: it is off already */
    mcpi_scope_unhook(&note->other->hook);
}

static void
a_hook_may_remove_others(void **state)
{
    struct note a, b, c;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    note_init(&a, &f, 'a'), note_init(&b, &f, 'b'), note_init(&c, &f, 'c');
    a.then = then_remove_other;
    a.other = &b;
    c.then = then_remove_other;
    c.other = &a;
    note_hook(&a, f.scope);
    note_hook(&b, f.scope);
    note_hook(&c, f.scope);
    mcpi_scope_cancel(f.scope, "");
    step(&f);
    assert_string_equal(f.seen, "ac");
    fixture_close(&f);
}

static void
then_hook_other(struct note *note)
{
    note_hook(note->other, note->f->scope);
}

static void
a_hook_that_is_added_from_inside_one_is_told_later(void **state)
{
    struct note a, b, c;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    note_init(&a, &f, 'a'), note_init(&b, &f, 'b'), note_init(&c, &f, 'c');
    a.then = then_hook_other;
    a.other = &b;
    b.then = then_hook_other;
    b.other = &c;
    note_hook(&a, f.scope);
    mcpi_scope_cancel(f.scope, "");
    for (int i = 0; i < 3; i++)
        step(&f);
    assert_string_equal(f.seen, "abc");
    assert_int_equal(c.status, MCP_E_CANCELED);
    c.then = then_hook_other; /* one that never gives up does not hold the loop */
    c.other = &c;
    note_hook(&c, f.scope);
    for (int i = 0; i < 3; i++)
        step(&f);
    assert_in_range(f.seen_len, 5, 10);
    mcpi_scope_unhook(&c.hook);
    fixture_close(&f);
}

struct owned {
    struct mcpi_scope_hook hook;
    struct mcpi_scope *scope;
    int *told;
};

static void
on_over_free(struct mcpi_scope_hook *hook, int status, const char *reason)
{
    struct owned *owned = MCPI_CONTAINER(hook, struct owned, hook);

    assert_int_equal(status, MCP_E_CANCELED);
    mcpi_scope_unref(owned->scope);
    assert_string_equal(reason, "why"); /* also after the last reference went */
    (*owned->told)++;
    free(owned);
}

static void
a_hook_may_free_itself_and_drop_the_scope(void **state)
{
    struct fixture f;
    int told = 0;

    (void)state;
    fixture_open(&f);
    for (int i = 0; i < 3; i++) {
        struct owned *owned = calloc(1, sizeof *owned);

        assert_non_null(owned);
        owned->hook.fn = on_over_free;
        owned->scope = mcpi_scope_ref(f.scope);
        owned->told = &told;
        assert_int_equal(mcpi_scope_hook(f.scope, f.loop, &owned->hook), 0);
    }
    mcpi_scope_cancel(f.scope, "why");
    mcpi_scope_unref(f.scope);
    f.scope = NULL;
    step(&f);
    assert_int_equal(told, 3);
    fixture_close(&f);
}

#define MANY 1000

static struct note many[MANY];

static void
count_note(struct mcpi_scope_hook *hook, int status, const char *reason)
{
    struct note *note = MCPI_CONTAINER(hook, struct note, hook);

    (void)reason;
    note->status = status;
    note->f->seen_len++;
}

static void
many_hooks_share_one_watcher(void **state)
{
    struct fixture f;
    long before;

    (void)state;
    fixture_open(&f);
    before = atomic_load(&f.mem.live);
    for (int i = 0; i < MANY; i++) {
        note_init(&many[i], &f, 'm');
        many[i].hook.fn = count_note;
        note_hook(&many[i], f.scope);
    }
    assert_int_equal(atomic_load(&f.mem.live), before + 1);
    for (int i = 0; i < MANY; i += 2)
        mcpi_scope_unhook(&many[i].hook);
    mcpi_scope_cancel(f.scope, "");
    step(&f);
    assert_int_equal(f.seen_len, MANY / 2);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(many[i].status, i % 2 ? MCP_E_CANCELED : 0);
    step(&f);
    assert_int_equal(atomic_load(&f.mem.live), before);
    fixture_close(&f);
}

/* ---- from anywhere ---------------------------------------------------------- */

static struct mcpi_scope *signaled;

static void
on_signal(int number)
{
    (void)number;
    mcpi_scope_cancel(signaled, "interrupted");
}

static void
then_stop(struct note *note)
{
    mcpi_loop_stop(note->f->loop);
}

static void *
raise_for(void *user)
{
    pthread_kill(*(pthread_t *)user, SIGUSR1);
    return NULL;
}

static void
a_signal_handler_may_cancel(void **state)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    pthread_t self = pthread_self(), thread;
    struct fixture f;
    struct note a;

    (void)state;
    fixture_open(&f);
    signaled = f.scope;
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    errno = EXDEV;
    raise(SIGUSR1);
    assert_int_equal(errno, EXDEV); /* as every handler must leave it */
    assert_int_equal(mcpi_scope_status(f.scope, NOW), MCP_E_CANCELED);
    raise(SIGUSR1); /* again: nothing */
    mcpi_scope_unref(f.scope);
    signaled = f.scope = make_scope(&f, NULL, MCPI_NEVER);
    note_init(&a, &f, 'a');
    a.then = then_stop;
    note_hook(&a, f.scope);
    assert_int_equal(pthread_create(&thread, NULL, raise_for, &self), 0);
    assert_int_equal(mcpi_loop_run(f.loop), 0); /* interrupts its sleep, perhaps */
    pthread_join(thread, NULL);
    assert_string_equal(a.reason, "interrupted");
    sigaction(SIGUSR1, &before, NULL);
    fixture_close(&f);
}

/* A loop on a thread of its own with a hook. */
struct place {
    struct mcpi_post add;
    struct mcpi_loop *loop;
    struct mcpi_scope *scope;
    struct mcpi_scope_hook hook;
    sem_t hooked, told;
    int r, status;
    bool here;
};

static void
place_told(struct mcpi_scope_hook *hook, int status, const char *reason)
{
    struct place *place = MCPI_CONTAINER(hook, struct place, hook);

    (void)reason;
    place->status = status;
    place->here = mcpi_loop_is_here(place->loop);
    sem_post(&place->told);
}

static void
place_add(struct mcpi_post *post)
{
    struct place *place = MCPI_CONTAINER(post, struct place, add);

    place->r = mcpi_scope_hook(place->scope, place->loop, &place->hook);
    sem_post(&place->hooked);
}

static void
await(sem_t *sem)
{
    while (sem_wait(sem) < 0)
        assert_int_equal(errno, EINTR);
}

static void
place_open(struct place *place, struct fixture *f, struct mcpi_scope *scope)
{
    memset(place, 0, sizeof *place);
    place->add.fn = place_add;
    place->hook.fn = place_told;
    place->scope = scope;
    sem_init(&place->hooked, 0, 0);
    sem_init(&place->told, 0, 0);
    assert_int_equal(mcpi_loop_new(&f->mem.allocator, NULL, &place->loop), 0);
    assert_int_equal(mcpi_loop_start(place->loop), 0);
    mcpi_loop_post(place->loop, &place->add);
    await(&place->hooked);
    assert_int_equal(place->r, 0);
}

static void *
cancel_scope(void *user)
{
    mcpi_scope_cancel(user, "elsewhere");
    return NULL;
}

static void
each_loop_is_told_on_its_own_thread(void **state)
{
    struct mcpi_scope *child;
    struct place places[3];
    pthread_t thread;
    struct fixture f;

    (void)state;
    for (int round = 0; round < 30; round++) {
        fixture_open(&f);
        child = make_scope(&f, f.scope, MCPI_NEVER);
        for (int i = 0; i < 3; i++)
            place_open(&places[i], &f, i == 0 ? f.scope : child);
        assert_int_equal(pthread_create(&thread, NULL, cancel_scope, f.scope), 0);
        for (int i = 0; i < 3; i++) {
            await(&places[i].told);
            assert_int_equal(places[i].status, MCP_E_CANCELED);
            assert_true(places[i].here);
            mcpi_loop_free(places[i].loop);
        }
        pthread_join(thread, NULL);
        mcpi_scope_unref(child);
        fixture_close(&f);
    }
}

#define THREADS 4

struct race {
    struct mcpi_scope *scope;
    pthread_barrier_t start;
    atomic_int winners;
};

static void *
race_to_cancel(void *user)
{
    struct race *race = user;
    const char *reason;

    pthread_barrier_wait(&race->start);
    if (mcpi_scope_cancel(race->scope, "mine"))
        atomic_fetch_add(&race->winners, 1);
    while (mcpi_scope_status(race->scope, NOW) == 0)
        sched_yield();
    reason = mcpi_scope_reason(race->scope);
    return strcmp(reason, "mine") == 0 ? user : NULL;
}

static void
of_many_that_cancel_one_wins_while_hooks_come_and_go(void **state)
{
    pthread_t threads[THREADS];
    struct race race;
    struct fixture f;
    struct note a;
    void *seen;

    (void)state;
    for (int round = 0; round < 50; round++) {
        fixture_open(&f);
        race.scope = f.scope;
        atomic_init(&race.winners, 0);
        pthread_barrier_init(&race.start, NULL, THREADS + 1);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, race_to_cancel, &race),
                             0);
        pthread_barrier_wait(&race.start);
        note_init(&a, &f, 'a');
        for (int i = 0; i < 20; i++) {
            note_hook(&a, f.scope);
            if (i % 3 == 0)
                step(&f);
            mcpi_scope_unhook(&a.hook);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], &seen);
            assert_non_null(seen);
        }
        assert_int_equal(atomic_load(&race.winners), 1);
        pthread_barrier_destroy(&race.start);
        fixture_close(&f);
    }
}

/* ---- failure ---------------------------------------------------------------- */

static void
make_and_hook(struct test_mem *mem, void *user)
{
    struct mcpi_scope *parent = NULL, *child = NULL;
    struct mcpi_scope_hook hook = {.fn = on_over};
    struct mcpi_loop *loop = user;
    int r;

    r = mcpi_scope_new(&mem->allocator, NULL, MCPI_NEVER, &parent);
    if (r == 0)
        r = mcpi_scope_new(&mem->allocator, parent, MCPI_NEVER, &child);
    if (r == 0)
        r = mcpi_scope_hook(child, loop, &hook);
    assert_int_equal(r, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    mcpi_scope_unhook(&hook);
    assert_int_equal(mcpi_loop_step(loop), 0); /* closes */
    mcpi_scope_unref(child);
    mcpi_scope_unref(parent);
}

static void
each_allocation_may_fail(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(test_each_allocation_fails(make_and_hook, f.loop), 4);
    fixture_close(&f);
}

/* libuv refuses a second watcher of a descriptor: so that is how to make it refuse. */
static void
a_watcher_that_cannot_be_made_leaves_nothing_behind(void **state)
{
    struct mcpi_scope *child;
    struct fixture f;
    struct note a;
    uv_poll_t poll;
    int fd;

    (void)state;
    fixture_open(&f);
    fd = dup(0); /* the number that comes next */
    assert_true(fd >= 0);
    close(fd);
    child = make_scope(&f, f.scope, MCPI_NEVER);
    assert_int_equal(uv_poll_init(mcpi_loop_uv(f.loop), &poll, fd), 0);
    assert_int_equal(uv_poll_start(&poll, UV_READABLE, NULL), 0);
    note_init(&a, &f, 'a');
    assert_int_equal(mcpi_scope_hook(child, f.loop, &a.hook), MCP_E_LIMIT);
    assert_null(a.hook.watch);
    uv_close((uv_handle_t *)&poll, NULL);
    step(&f);
    mcpi_scope_cancel(f.scope, "");
    step(&f);
    assert_string_equal(f.seen, "");
    note_hook(&a, child); /* asked again, it works */
    step(&f);
    assert_string_equal(f.seen, "a");
    mcpi_scope_unref(child);
    fixture_close(&f);
}

static void
without_descriptors_there_is_no_scope(void **state)
{
    struct mcpi_scope *scope = NULL;
    struct rlimit before, none;
    struct fixture f;
    int r;

    (void)state;
    fixture_open(&f);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    r = mcpi_scope_new(&f.mem.allocator, f.scope, MCPI_NEVER, &scope);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r, MCP_E_LIMIT);
    assert_null(scope);
    fixture_close(&f);
}

TEST_MAIN(TEST(the_first_cancel_wins_and_its_reason_stays),
          TEST(B15_a_reason_is_clean_and_short),
          TEST(a_scope_is_over_when_its_time_or_a_parents_has_run_out),
          TEST(the_reason_is_that_of_the_nearest_that_was_canceled),
          TEST(a_child_keeps_its_parents),
          TEST(hooks_are_told_once_in_order_on_the_loop),
          TEST(a_cancel_of_a_parent_reaches_all_below),
          TEST(deadlines_are_told_as_such), TEST(a_real_deadline_wakes_the_loop),
          TEST(B5_a_scope_that_is_over_tells_in_the_next_turn),
          TEST(hooks_may_be_removed_in_any_order),
          TEST(a_removed_hook_leaves_no_handle_behind), TEST(a_hook_may_remove_others),
          TEST(a_hook_that_is_added_from_inside_one_is_told_later),
          TEST(a_hook_may_free_itself_and_drop_the_scope),
          TEST(many_hooks_share_one_watcher), TEST(a_signal_handler_may_cancel),
          TEST(each_loop_is_told_on_its_own_thread),
          TEST(of_many_that_cancel_one_wins_while_hooks_come_and_go),
          TEST(each_allocation_may_fail),
          TEST(a_watcher_that_cannot_be_made_leaves_nothing_behind),
          TEST(without_descriptors_there_is_no_scope))
