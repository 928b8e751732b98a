/* http_mount_turn_test.c - one turn of a mount: paused, freed, at any moment */
#include "link/http_mount_turn.h"

#include "link/http_user.h"
#include "run/accounts.h"

/* ---- a client that does not read ----------------------------------------- */

static void
what_comes_to_a_paused_turn_is_kept_and_comes_in_order(void **state)
{
    struct site *s = site_start(false);
    const char *at;
    char mark[16];
    struct user u;

    (void)state;
    s->flood = 20;
    s->flood_bytes = 8000; /* more than one write carries */
    user_call(&u, s, "flood");
    mcpi_mount_turn_pause(u.turn, true);
    site_run(s);
    assert_int_equal(u.begins, 0);
    for (int i = 0; !u.last && i < 1000; i++) {
        mcpi_mount_turn_pause(u.turn, false);
        mcpi_mount_turn_pause(u.turn, i % 2 == 0);
        site_run(s);
    }
    assert_true(u.last);
    at = u.text;
    for (int i = 0; i < 20; i++) {
        (void)snprintf(mark, sizeof(mark), "<%d>", i);
        at = strstr(at, mark);
        assert_non_null(at);
    }
    assert_non_null(strstr(at, "\"id\":7"));
    user_done(&u);
    site_finish(s);
}

static void
pause_inside(struct user *u)
{
    mcpi_mount_turn_pause(u->turn, true);
}

static void
a_turn_can_be_paused_from_inside_its_own_answer(void **state)
{
    struct site *s = site_start(false);
    struct user u;

    (void)state;
    s->flood = 20;
    s->flood_bytes = 8000;
    user_call(&u, s, "flood");
    u.inside = pause_inside;
    site_run(s);
    assert_int_equal(u.begins, 1);
    assert_int_equal(u.mores, 0);
    u.inside = NULL;
    mcpi_mount_turn_pause(u.turn, false);
    site_run(s);
    assert_true(u.last);
    user_done(&u);
    site_finish(s);
}

static void
a_whole_answer_waits_for_a_paused_turn(void **state)
{
    struct site *s = site_start(false);
    struct user u;

    (void)state;
    user_call(&u, s, "echo");
    mcpi_mount_turn_pause(u.turn, true);
    site_run(s);
    assert_int_equal(atomic_load(&s->served), 1);
    assert_int_equal(u.begins, 0);
    mcpi_mount_turn_pause(u.turn, false);
    site_run(s);
    assert_int_equal(u.begins, 1);
    assert_true(u.last);
    user_done(&u);
    site_finish(s);
}

static void
a_turn_that_is_paused_for_too_long_is_aborted(void **state)
{
    struct site *s = site_start(false);
    struct user u;

    (void)state;
    user_call(&u, s, "flood");
    mcpi_mount_turn_pause(u.turn, true);
    site_run(s);
    site_pass(s, 29 * SITE_SECOND);
    assert_int_equal(u.aborts, 0);
    site_pass(s, 2 * SITE_SECOND);
    assert_int_equal(u.aborts, 1);
    assert_int_equal(u.begins, 0);
    mcpi_mount_turn_pause(u.turn, false);
    site_run(s);
    assert_int_equal(u.begins, 0);
    user_done(&u);
    site_finish(s);
}

static void
what_cannot_be_kept_for_a_paused_turn_aborts_it(void **state)
{
    struct site *s = site_start(false);
    struct user u;

    (void)state;
    user_call(&u, s, "hold");
    site_run(s);
    mcpi_mount_turn_pause(u.turn, true);
    site_let_go(s);
    s->mem.fail_after = true;
    atomic_store(&s->mem.fail_at, atomic_load(&s->mem.total) + 1);
    site_run(s);
    atomic_store(&s->mem.fail_at, 0);
    assert_true(atomic_load(&s->mem.failed) > 0);
    assert_int_equal(u.aborts, 1);
    assert_int_equal(u.begins, 0);
    user_done(&u);
    site_finish(s);
}

/* A call of a client that may have so many bytes of answers. */
static int
call_for(struct user *u, struct site *s, size_t arriving, size_t bytes)
{
    struct mcpi_http_in in = modern_call("flood", MODERN_TOOL("7", "flood"));
    struct mcpi_budget *budget;
    int r;

    assert_int_equal(mcpi_accounts_new(&s->mem.allocator, &s->accounts), 0);
    budget = mcpi_accounts_budget(s->accounts);
    mcpi_budget_raise(budget, MCPI_HELD_ARRIVING, 2 * arriving);
    mcpi_budget_raise(budget, MCPI_HELD_REQUESTS, 2);
    mcpi_budget_raise(budget, MCPI_HELD_BYTES, 2 * bytes);
    mcpi_budget_raise(budget, MCPI_HELD_NOTES, 2 * bytes);
    in.account = mcpi_accounts_get(s->accounts, "ann", 3);
    assert_non_null(in.account);
    r = user_serve(u, s, &in);
    mcpi_account_unref(in.account);
    return r;
}

static void
done_for(struct user *u, struct site *s)
{
    user_done(u);
    site_run(s);
    assert_int_equal(mcpi_accounts_count(s->accounts), 0);
    mcpi_accounts_unref(s->accounts);
    site_finish(s);
}

/* Issue 20: nobody else is charged for it by then. */
static void
what_is_kept_for_a_paused_turn_is_charged_to_its_client(void **state)
{
    struct site *s = site_start(false);
    struct user u;

    (void)state;
    s->flood = 1;
    s->flood_bytes = 8000;
    assert_int_equal(call_for(&u, s, 50000, 50000), 0);
    mcpi_mount_turn_pause(u.turn, true);
    site_run(s);
    assert_true(mcpi_budget_bytes(mcpi_accounts_budget(s->accounts)) > 8000);
    mcpi_mount_turn_pause(u.turn, false);
    site_run(s);
    assert_true(u.last);
    assert_int_equal(mcpi_budget_bytes(mcpi_accounts_budget(s->accounts)), 0);
    done_for(&u, s);
}

static void
who_has_no_share_left_hears_a_short_answer(void **state)
{
    struct site *s = site_start(false);
    struct user u;

    (void)state;
    assert_int_equal(call_for(&u, s, 50000, 0), 0);
    mcpi_mount_turn_pause(u.turn, true);
    site_run(s);
    assert_int_equal(u.begins + u.aborts, 0);
    mcpi_mount_turn_pause(u.turn, false);
    site_run(s);
    assert_true(u.last);
    assert_non_null(strstr(u.text, "-32603"));
    done_for(&u, s);
}

static void
who_has_no_share_left_hands_in_nothing(void **state)
{
    struct site *s = site_start(false);
    struct user u;

    (void)state;
    assert_int_equal(call_for(&u, s, 0, 50000), MCP_E_NOMEM);
    done_for(&u, s);
}

/* ---- freeing it ---------------------------------------------------------- */

static void
E18_a_turn_can_be_freed_from_inside_its_own_answer(void **state)
{
    struct site *s = site_start(false);
    struct user u;

    (void)state;
    user_call(&u, s, "flood");
    u.inside = user_free;
    site_run(s);
    assert_int_equal(u.begins, 1);
    assert_int_equal(u.mores + u.aborts, 0);
    user_done(&u);
    user_call(&u, s, "echo"); /* and from inside the whole of it */
    u.inside = user_free;
    site_run(s);
    assert_true(u.last);
    user_done(&u);
    site_finish(s);
}

struct meeting {
    struct user u;
    atomic_bool inside, freeing, left;
};

static void
stay_inside(struct user *u)
{
    struct meeting *m = MCPI_CONTAINER(u, struct meeting, u);

    atomic_store(&m->inside, true);
    SITE_WAIT(atomic_load(&m->freeing));
    for (int i = 0; i < 5; i++)
        site_nap(); /* time in which a free that does not wait would return */
    atomic_store(&m->left, true);
}

static void
freeing_a_turn_waits_for_an_op_on_another_thread(void **state)
{
    struct site *s = site_start(true);
    struct mcpi_http_in in = modern_call("echo", MODERN_TOOL("7", "echo"));
    struct meeting m = {0};

    (void)state;
    user_init(&m.u);
    m.u.inside = stay_inside;
    assert_int_equal(mcpi_mount_serve(s->mount, &in, &user_ops, &m.u, &m.u.turn), 0);
    SITE_WAIT(atomic_load(&m.inside));
    atomic_store(&m.freeing, true);
    user_free(&m.u);
    assert_true(atomic_load(&m.left));
    user_done(&m.u);
    site_finish(s);
}

/* Each op touches memory that is freed right behind mcpi_mount_turn_free: an op that ran
 * later would be found by a sanitizer. */
static void *
serve_and_leave(void *of)
{
    static const char *const tools[] = {"echo", "hold", "flood"};
    struct site *s = of;
    unsigned seed = (unsigned)(uintptr_t)&seed;

    for (int i = 0; i < 300; i++) {
        struct user *u = malloc(sizeof(*u));
        unsigned turns = (unsigned)rand_r(&seed) % 20;

        assert_non_null(u);
        user_call(u, s, tools[(unsigned)rand_r(&seed) % 3]);
        while (turns-- > 0) {
            mcpi_mount_turn_pause(u->turn, turns % 3 == 2);
            sched_yield();
        }
        user_done(u);
        free(u);
    }
    return NULL;
}

static void
E18_threads_may_hand_in_pause_and_leave_at_any_moment(void **state)
{
    struct site *s = site_start(true);
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, serve_and_leave, s), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    site_finish(s);
}

/* ---- what is copied --------------------------------------------------------- */

/* Served, or left before that. */
static void
a_credential_is_not_left_behind(void **state)
{
    struct site *s = site_start(false);
    mcp_http_field fields[16];
    struct mcpi_http_in in;
    struct user u;

    (void)state;
    s->mem.secret = "geheim";
    for (int i = 0; i < 2; i++) {
        in = modern_call("echo", MODERN_TOOL("7", "echo"));
        assert_true(in.field_count < 16);
        memcpy(fields, in.fields, in.field_count * sizeof(fields[0]));
        fields[in.field_count++] = (mcp_http_field){"Authorization", "Bearer geheim"};
        in.fields = fields;
        assert_int_equal(user_serve(&u, s, &in), 0);
        if (i == 1)
            user_free(&u);
        site_run(s);
        assert_int_equal(u.begins, 1 - i);
        user_done(&u);
    }
    site_finish(s);
}

TEST_MAIN(TEST(E18_a_turn_can_be_freed_from_inside_its_own_answer),
          TEST(what_comes_to_a_paused_turn_is_kept_and_comes_in_order),
          TEST(a_turn_can_be_paused_from_inside_its_own_answer),
          TEST(a_whole_answer_waits_for_a_paused_turn),
          TEST(a_turn_that_is_paused_for_too_long_is_aborted),
          TEST(what_cannot_be_kept_for_a_paused_turn_aborts_it),
          TEST(what_is_kept_for_a_paused_turn_is_charged_to_its_client),
          TEST(who_has_no_share_left_hears_a_short_answer),
          TEST(who_has_no_share_left_hands_in_nothing),
          TEST(freeing_a_turn_waits_for_an_op_on_another_thread),
          TEST(E18_threads_may_hand_in_pause_and_leave_at_any_moment),
          TEST(a_credential_is_not_left_behind))
