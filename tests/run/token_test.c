/* token_test.c - the cancel token: polled, waited on, watched, hooked; set once */
#include "run/token.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/text.h"
#include "support/test.h"

#define FOREVER INT64_MAX

/* A hook that writes its name down, then does one more thing if told to. */
struct note {
    struct mcpi_hook hook;
    struct mcpi_token *token;
    char *log;
    char name;
    void (*then)(struct note *note);
    struct note *other;
    pthread_t thread; /* the one it ran on */
    int runs;
};

static void
note_run(void *user)
{
    struct note *note = user;
    size_t len = strlen(note->log);

    note->log[len] = note->name;
    note->log[len + 1] = '\0';
    note->thread = pthread_self();
    note->runs++;
    if (note->then)
        note->then(note);
}

static struct note
make_note(struct mcpi_token *token, char *log, char name)
{
    return (struct note){.hook.fn = note_run, .token = token, .log = log, .name = name};
}

/* user is what the hook gets, so it can be set only where the note will stay. */
static void
note_add(struct note *note)
{
    note->hook.user = note;
    mcpi_token_hook(note->token, &note->hook);
}

static void
note_remove(struct note *note)
{
    mcpi_token_unhook(note->token, &note->hook);
}

static struct mcpi_token *
make_token(struct test_mem *mem)
{
    struct mcpi_token *token;

    test_mem_init(mem);
    token = mcpi_token_new(&mem->allocator);
    assert_non_null(token);
    return token;
}

static void
drop_token(struct mcpi_token *token, struct test_mem *mem)
{
    mcpi_token_unref(token);
    test_mem_done(mem);
}

static bool
is_readable(int fd)
{
    struct pollfd watched = {.fd = fd, .events = POLLIN};

    return poll(&watched, 1, 0) == 1 && (watched.revents & POLLIN);
}

static void
F2_the_first_set_wins_and_its_reason_stays(void **state)
{
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);

    (void)state;
    assert_false(mcpi_token_is_set(token));
    assert_string_equal(mcpi_token_reason(token), "");
    assert_true(mcpi_token_set(token, "user left", true));
    assert_true(mcpi_token_is_set(token));
    assert_false(mcpi_token_set(token, "too late", true));
    assert_string_equal(mcpi_token_reason(token), "user left");
    drop_token(token, &mem);
}

static void
F2_a_reason_is_clean_and_short(void **state)
{
    char reason[2 * MCPI_REASON_MAX];
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);

    (void)state;
    memset(reason, 'x', sizeof reason);
    reason[1] = '\n';
    reason[3] = '\xff';
    memcpy(reason + MCPI_REASON_MAX - 1, "\xe2\x82\xac", 4);
    mcpi_token_set(token, reason, true);
    assert_memory_equal(mcpi_token_reason(token), "x?x?xx", 6);
    assert_int_equal(strlen(mcpi_token_reason(token)), MCPI_REASON_MAX - 1);
    mcpi_token_unref(token);
    token = mcpi_token_new(&mem.allocator);
    assert_non_null(token);
    mcpi_token_set(token, NULL, true);
    assert_string_equal(mcpi_token_reason(token), "");
    drop_token(token, &mem);
}

static void
F2_a_long_reason_is_cut_for_want_of_memory(void **state)
{
    char reason[MCPI_REASON_MAX + 1];
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    size_t len;

    (void)state;
    memset(reason, 'x', MCPI_REASON_MAX);
    reason[MCPI_REASON_MAX] = '\0';
    atomic_store(&mem.fail_at, atomic_load(&mem.total) + 1);
    assert_true(mcpi_token_set(token, reason, true));
    len = strlen(mcpi_token_reason(token));
    assert_true(len > 16 && len < MCPI_REASON_MAX);
    assert_memory_equal(mcpi_token_reason(token), reason, len);
    drop_token(token, &mem);
}

static void
the_last_reference_frees_it(void **state)
{
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);

    (void)state;
    assert_ptr_equal(mcpi_token_ref(token), token);
    mcpi_token_unref(token);
    assert_int_equal(atomic_load(&mem.live), 1);
    mcpi_token_unref(token);
    assert_int_equal(atomic_load(&mem.live), 0);
    mcpi_token_unref(NULL);
    test_mem_done(&mem);
}

static void
make_and_set(struct test_mem *mem, void *user)
{
    struct mcpi_token *token = mcpi_token_new(&mem->allocator);

    (void)user;
    assert_int_equal(!token, atomic_load(&mem->failed) > 0);
    if (token)
        mcpi_token_set(token, "why", true);
    mcpi_token_unref(token);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(make_and_set, NULL), 1);
}

/* ---- waiting
 * ---------------------------------------------------------------------- */

static void *
wait_forever(void *user)
{
    struct mcpi_token *token = user;

    return mcpi_token_wait(token, FOREVER) ? token : NULL;
}

static void *
wait_an_hour(void *user)
{
    struct mcpi_token *token = user;

    return mcpi_token_wait(token, INT64_C(3600000000)) ? token : NULL;
}

static void
F3_waits_wake_when_the_token_is_set(void **state)
{
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    pthread_t threads[2];
    void *result;

    (void)state;
    assert_int_equal(pthread_create(&threads[0], NULL, wait_forever, token), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, wait_an_hour, token), 0);
    mcpi_token_set(token, "", true);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, token);
    }
    drop_token(token, &mem);
}

static void
F3_a_wait_has_a_limit(void **state)
{
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    struct timespec from, to;
    int64_t took_us;

    (void)state;
    assert_false(mcpi_token_wait(token, 0));
    assert_false(mcpi_token_wait(token, -1));
    clock_gettime(CLOCK_MONOTONIC, &from);
    assert_false(mcpi_token_wait(token, 20000));
    clock_gettime(CLOCK_MONOTONIC, &to);
    took_us = (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000;
    assert_true(took_us >= 20000);
    mcpi_token_set(token, "", true);
    assert_true(mcpi_token_wait(token, 0));
    assert_true(mcpi_token_wait(token, FOREVER));
    drop_token(token, &mem);
}

/* ---- the descriptor
 * --------------------------------------------------------------- */

static void
F3_the_descriptor_is_readable_once_set(void **state)
{
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    int fd = mcpi_token_fd(token);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(mcpi_token_fd(token), fd);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_false(is_readable(fd));
    mcpi_token_set(token, "", true);
    assert_true(is_readable(fd));
    assert_int_equal(mcpi_token_fd(token), fd);
    drop_token(token, &mem);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void
F3_a_descriptor_asked_for_late_is_readable_at_once(void **state)
{
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);

    (void)state;
    mcpi_token_set(token, "", true);
    assert_true(is_readable(mcpi_token_fd(token)));
    drop_token(token, &mem);
}

static void
without_descriptors_only_the_descriptor_fails(void **state)
{
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    struct rlimit before, none;
    int fd;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    fd = mcpi_token_fd(token);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(fd, MCP_E_LIMIT);
    assert_true(mcpi_token_set(token, "", true));
    assert_true(is_readable(mcpi_token_fd(token))); /* asked again, it works */
    drop_token(token, &mem);
}

/* ---- hooks
 * ------------------------------------------------------------------------ */

static void
F3_hooks_run_once_in_order_on_the_setting_thread(void **state)
{
    char log[8] = "";
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    struct note a = make_note(token, log, 'a'), b = make_note(token, log, 'b');

    (void)state;
    note_add(&a);
    note_add(&b);
    assert_string_equal(log, "");
    mcpi_token_set(token, "", true);
    mcpi_token_set(token, "", true);
    mcpi_token_run_hooks(token);
    assert_string_equal(log, "ab");
    assert_true(pthread_equal(a.thread, pthread_self()));
    note_remove(&a);
    note_remove(&b);
    drop_token(token, &mem);
}

static void
a_hook_that_was_removed_does_not_run(void **state)
{
    char log[8] = "";
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    struct note a = make_note(token, log, 'a'), b = make_note(token, log, 'b');

    (void)state;
    note_add(&a);
    note_add(&b);
    note_remove(&a);
    note_remove(&a);
    mcpi_token_set(token, "", true);
    assert_string_equal(log, "b");
    note_remove(&b);
    drop_token(token, &mem);
}

static void
F26_a_late_hook_runs_at_once_and_once(void **state)
{
    char log[8] = "";
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    struct note a = make_note(token, log, 'a');

    (void)state;
    mcpi_token_set(token, "", true);
    note_add(&a);
    assert_string_equal(log, "a");
    assert_true(pthread_equal(a.thread, pthread_self()));
    mcpi_token_run_hooks(token);
    note_remove(&a);
    assert_string_equal(log, "a");
    drop_token(token, &mem);
}

static void
F4_signal_only_wakes_and_runs_no_hook(void **state)
{
    char log[8] = "";
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    struct note early = make_note(token, log, 'e'), late = make_note(token, log, 'l');
    int fd = mcpi_token_fd(token);

    (void)state;
    note_add(&early);
    assert_true(mcpi_token_set(token, "why", false));
    note_add(&late);
    assert_false(mcpi_token_set(token, "again", true));
    assert_string_equal(log, "");
    assert_true(mcpi_token_is_set(token));
    assert_string_equal(mcpi_token_reason(token), "why");
    assert_true(mcpi_token_wait(token, FOREVER));
    assert_true(is_readable(fd));
    note_remove(&early);
    note_remove(&late);
    drop_token(token, &mem);
}

static void
hooks_can_be_run_later_than_the_flag_is_set(void **state)
{
    char log[8] = "";
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    struct note a = make_note(token, log, 'a'), b = make_note(token, log, 'b');

    (void)state;
    note_add(&a);
    mcpi_token_run_hooks(token);
    assert_string_equal(log, ""); /* not set: nothing to run for */
    mcpi_token_set(token, "", false);
    note_add(&b);
    mcpi_token_run_hooks(token);
    mcpi_token_run_hooks(token);
    assert_string_equal(log, "ab");
    drop_token(token, &mem);
}

static void
then_add(struct note *note)
{
    note_add(note->other);
}

static void
then_remove(struct note *note)
{
    note_remove(note);
    note_remove(note->other);
}

static void
a_hook_may_add_and_remove_hooks(void **state)
{
    char log[8] = "";
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    struct note a = make_note(token, log, 'a'), b = make_note(token, log, 'b');
    struct note c = make_note(token, log, 'c'), d = make_note(token, log, 'd');

    (void)state;
    a.then = then_add;
    a.other = &d; /* a runs, then d at once; b removes itself and c */
    b.then = then_remove;
    b.other = &c;
    note_add(&a);
    note_add(&b);
    note_add(&c);
    mcpi_token_set(token, "", true);
    assert_string_equal(log, "adb");
    drop_token(token, &mem);
}

static void
then_use_everything(struct note *note)
{
    if (!mcpi_token_wait(note->token, FOREVER) || mcpi_token_fd(note->token) < 0 ||
        mcpi_token_set(note->token, "", true))
        note->name = '?';
}

static void
no_lock_is_held_while_a_hook_runs(void **state)
{
    char log[8] = "";
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    struct note a = make_note(token, log, 'a');

    (void)state;
    a.then = then_use_everything;
    note_add(&a);
    mcpi_token_set(token, "", true);
    assert_int_equal(a.runs, 1);
    assert_int_equal(a.name, 'a');
    drop_token(token, &mem);
}

static void
then_free(struct note *note)
{
    mcpi_token_unhook(note->token, &note->hook);
    mcpi_token_unref(note->token);
    free(note);
}

static void
F26_a_hook_may_remove_and_free_itself_and_the_token(void **state)
{
    char log[8] = "";
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    struct note *a = malloc(sizeof *a), *b = malloc(sizeof *b);

    (void)state;
    assert_true(a && b);
    *a = make_note(mcpi_token_ref(token), log, 'a');
    *b = make_note(token, log, 'b'); /* drops the caller's own reference */
    a->then = b->then = then_free;
    note_add(a);
    note_add(b);
    mcpi_token_set(token, "", true);
    assert_string_equal(log, "ab");
    test_mem_done(&mem);
}

static void
a_late_hook_may_drop_the_last_reference(void **state)
{
    char log[8] = "";
    struct test_mem mem;
    struct mcpi_token *token = make_token(&mem);
    struct note *a = malloc(sizeof *a);

    (void)state;
    assert_non_null(a);
    *a = make_note(token, log, 'a');
    a->then = then_free;
    mcpi_token_set(token, "", true);
    note_add(a);
    assert_string_equal(log, "a");
    test_mem_done(&mem);
}

/* ---- several threads
 * -------------------------------------------------------------- */

struct slow {
    struct mcpi_token *token;
    pthread_barrier_t entered;
    atomic_bool left;
};

static void
slow_hook(void *user)
{
    struct slow *slow = user;

    pthread_barrier_wait(&slow->entered);
    for (int i = 0; i < 20; i++) /* so that an unhook that does not wait is seen */
        sched_yield();
    atomic_store_explicit(&slow->left, true, memory_order_relaxed);
}

static void *
set_token(void *user)
{
    mcpi_token_set(user, "", true);
    return NULL;
}

static void
F26_unhook_waits_for_a_hook_that_runs_elsewhere(void **state)
{
    struct test_mem mem;
    struct mcpi_hook hook;
    struct slow slow;
    pthread_t thread;

    (void)state;
    for (int round = 0; round < 20; round++) {
        slow.token = make_token(&mem);
        atomic_init(&slow.left, false);
        pthread_barrier_init(&slow.entered, NULL, 2);
        hook = (struct mcpi_hook){.fn = slow_hook, .user = &slow};
        mcpi_token_hook(slow.token, &hook);
        assert_int_equal(pthread_create(&thread, NULL, set_token, slow.token), 0);
        pthread_barrier_wait(&slow.entered);
        mcpi_token_unhook(slow.token, &hook);
        assert_true(atomic_load_explicit(&slow.left, memory_order_relaxed));
        memset(&hook, 0xff, sizeof hook); /* ours again */
        pthread_join(thread, NULL);
        pthread_barrier_destroy(&slow.entered);
        drop_token(slow.token, &mem);
    }
}

#define THREADS 4
#define ROUNDS 300

struct race {
    struct mcpi_token *token;
    pthread_barrier_t start;
    atomic_int winners;
    atomic_int runs;
};

static void
count_run(void *user)
{
    struct race *race = user;

    atomic_fetch_add(&race->runs, 1);
}

static void *
race_to_set(void *user)
{
    struct race *race = user;
    struct mcpi_hook hook = {.fn = count_run, .user = race};

    mcpi_token_hook(race->token, &hook);
    pthread_barrier_wait(&race->start);
    if (mcpi_token_set(race->token, "mine", true))
        atomic_fetch_add(&race->winners, 1);
    mcpi_token_unhook(race->token, &hook);
    return NULL;
}

static void
F2_of_many_that_set_it_one_wins(void **state)
{
    pthread_t threads[THREADS];
    struct test_mem mem;
    struct race race;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        race.token = make_token(&mem);
        atomic_init(&race.winners, 0);
        atomic_init(&race.runs, 0);
        pthread_barrier_init(&race.start, NULL, THREADS);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, race_to_set, &race), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(atomic_load(&race.winners), 1);
        assert_in_range(atomic_load(&race.runs), 0, THREADS);
        pthread_barrier_destroy(&race.start);
        drop_token(race.token, &mem);
    }
}

/* Plain on purpose: TSan or ASan objects if a hook runs after its unhook returned. */
struct owned {
    struct mcpi_hook hook;
    int runs;
};

static void
owned_run(void *user)
{
    struct owned *owned = user;

    owned->runs++;
}

static void *
hook_and_unhook(void *user)
{
    struct race *race = user;
    struct owned *owned;

    pthread_barrier_wait(&race->start);
    for (int i = 0; i < 100; i++) {
        owned = calloc(1, sizeof *owned);
        if (!owned)
            return NULL;
        owned->hook.fn = owned_run;
        owned->hook.user = owned;
        mcpi_token_hook(race->token, &owned->hook);
        mcpi_token_unhook(race->token, &owned->hook);
        if (owned->runs > 1)
            atomic_fetch_add(&race->winners, 1); /* counts what ran twice */
        free(owned);
    }
    return NULL;
}

static void
F26_hooks_come_and_go_while_the_token_is_set(void **state)
{
    pthread_t threads[THREADS];
    struct test_mem mem;
    struct race race;

    (void)state;
    for (int round = 0; round < 50; round++) {
        race.token = make_token(&mem);
        atomic_init(&race.winners, 0);
        pthread_barrier_init(&race.start, NULL, THREADS + 1);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, hook_and_unhook, &race),
                             0);
        pthread_barrier_wait(&race.start);
        mcpi_token_set(race.token, "", true);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(atomic_load(&race.winners), 0);
        pthread_barrier_destroy(&race.start);
        drop_token(race.token, &mem);
    }
}

TEST_MAIN(TEST(F2_the_first_set_wins_and_its_reason_stays),
          TEST(F2_a_reason_is_clean_and_short),
          TEST(F2_a_long_reason_is_cut_for_want_of_memory),
          TEST(the_last_reference_frees_it), TEST(each_allocation_may_fail),
          TEST(F3_waits_wake_when_the_token_is_set), TEST(F3_a_wait_has_a_limit),
          TEST(F3_the_descriptor_is_readable_once_set),
          TEST(F3_a_descriptor_asked_for_late_is_readable_at_once),
          TEST(without_descriptors_only_the_descriptor_fails),
          TEST(F3_hooks_run_once_in_order_on_the_setting_thread),
          TEST(a_hook_that_was_removed_does_not_run),
          TEST(F26_a_late_hook_runs_at_once_and_once),
          TEST(F4_signal_only_wakes_and_runs_no_hook),
          TEST(hooks_can_be_run_later_than_the_flag_is_set),
          TEST(a_hook_may_add_and_remove_hooks),
          TEST(no_lock_is_held_while_a_hook_runs),
          TEST(F26_a_hook_may_remove_and_free_itself_and_the_token),
          TEST(a_late_hook_may_drop_the_last_reference),
          TEST(F26_unhook_waits_for_a_hook_that_runs_elsewhere),
          TEST(F2_of_many_that_set_it_one_wins),
          TEST(F26_hooks_come_and_go_while_the_token_is_set))
