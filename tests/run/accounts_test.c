/* accounts_test.c - one account for each name, as long as somebody has it */
#include "run/accounts.h"

#include <pthread.h>

#include "base/mem.h"
#include "support/test.h"

struct fixture {
    struct test_mem mem;
    struct mcpi_accounts *accounts;
};

static void
open_accounts(struct fixture *f)
{
    test_mem_init(&f->mem);
    assert_int_equal(mcpi_accounts_new(&f->mem.allocator, &f->accounts), 0);
}

static void
close_accounts(struct fixture *f)
{
    assert_int_equal(mcpi_accounts_count(f->accounts), 0);
    mcpi_accounts_unref(f->accounts);
    test_mem_done(&f->mem);
}

static void
a_name_has_one_account(void **state)
{
    struct mcpi_account *a, *b, *other, *longer;
    struct fixture f;

    (void)state;
    open_accounts(&f);
    a = mcpi_accounts_get(f.accounts, "ann", 3);
    b = mcpi_accounts_get(f.accounts, "ann", 3);
    other = mcpi_accounts_get(f.accounts, "bob", 3);
    longer = mcpi_accounts_get(f.accounts, "anna", 4);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, other);
    assert_ptr_not_equal(a, longer);
    assert_int_equal(mcpi_accounts_count(f.accounts), 3);
    mcpi_account_unref(a);
    mcpi_account_unref(other);
    mcpi_account_unref(longer);
    assert_int_equal(mcpi_accounts_count(f.accounts), 1);
    assert_ptr_equal(mcpi_accounts_get(f.accounts, "ann", 3), b);
    mcpi_account_unref(b);
    mcpi_account_unref(b);
    close_accounts(&f);
}

static void
without_a_name_each_has_its_own(void **state)
{
    struct mcpi_account *a, *b;
    struct fixture f;

    (void)state;
    open_accounts(&f);
    a = mcpi_accounts_get(f.accounts, NULL, 0);
    b = mcpi_accounts_get(f.accounts, NULL, 0);
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(a->budget, mcpi_accounts_budget(f.accounts));
    assert_ptr_equal(b->budget, a->budget);
    mcpi_account_unref(a);
    mcpi_account_unref(b);
    close_accounts(&f);
}

static void
an_account_outlives_who_made_it(void **state)
{
    struct mcpi_account *a;
    struct fixture f;

    (void)state;
    open_accounts(&f);
    a = mcpi_accounts_get(f.accounts, "ann", 3);
    mcpi_accounts_unref(f.accounts);
    mcpi_budget_raise(a->budget, MCPI_HELD_BYTES, 10);
    assert_true(mcpi_account_take(a, MCPI_HELD_BYTES, 5));
    mcpi_account_give(a, MCPI_HELD_BYTES, 5);
    mcpi_account_unref(a);
    test_mem_done(&f.mem);
}

static void
a_place_that_is_not_used_is_given_back_at_last(void **state)
{
    struct mcpi_account *ann, *bob;
    struct fixture f;

    (void)state;
    open_accounts(&f);
    mcpi_budget_raise(mcpi_accounts_budget(f.accounts), MCPI_HELD_SESSIONS, 1);
    ann = mcpi_accounts_get(f.accounts, "ann", 3);
    bob = mcpi_accounts_get(f.accounts, "bob", 3);
    assert_true(mcpi_account_take(ann, MCPI_HELD_SESSIONS, 1));
    assert_true(mcpi_account_seek_place(ann));
    assert_true(mcpi_account_keep_place(ann));
    assert_false(mcpi_account_take(bob, MCPI_HELD_SESSIONS, 1));
    mcpi_account_unref(ann);
    assert_true(mcpi_account_take(bob, MCPI_HELD_SESSIONS, 1));
    mcpi_account_give(bob, MCPI_HELD_SESSIONS, 1);
    mcpi_account_unref(bob);
    close_accounts(&f);
}

static void
nobody_who_counts_is_no_account(void **state)
{
    (void)state;
    assert_null(mcpi_accounts_get(NULL, "ann", 3));
    assert_null(mcpi_accounts_ref(NULL));
    mcpi_accounts_unref(NULL);
}

/* ---- threads --------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 5000 };

static void *
come_and_go(void *user)
{
    struct fixture *f = user;
    struct mcpi_account *account;

    for (int i = 0; i < ROUNDS; i++) {
        account = mcpi_accounts_get(f->accounts, i % 3 == 0 ? "bob" : "ann", 3);
        if (account && mcpi_account_take(account, MCPI_HELD_BYTES, 1))
            mcpi_account_give(account, MCPI_HELD_BYTES, 1);
        mcpi_account_unref(account);
    }
    return NULL;
}

static void
threads_share_accounts_that_come_and_go(void **state)
{
    pthread_t threads[THREADS];
    struct fixture f;

    (void)state;
    assert_int_equal(mcpi_accounts_new(mcpi_mem_or_malloc(NULL), &f.accounts), 0);
    mcpi_budget_raise(mcpi_accounts_budget(f.accounts), MCPI_HELD_BYTES, 1000);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &f), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(mcpi_budget_bytes(mcpi_accounts_budget(f.accounts)), 0);
    assert_int_equal(mcpi_accounts_count(f.accounts), 0);
    mcpi_accounts_unref(f.accounts);
}

/* ---- memory ---------------------------------------------------------------- */

static void
make_and_get(struct test_mem *mem, void *user)
{
    struct mcpi_accounts *accounts;

    (void)user;
    if (mcpi_accounts_new(&mem->allocator, &accounts) < 0)
        return;
    mcpi_account_unref(mcpi_accounts_get(accounts, "ann", 3));
    mcpi_account_unref(mcpi_accounts_get(accounts, NULL, 0));
    mcpi_accounts_unref(accounts);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(make_and_get, NULL) > 0);
}

TEST_MAIN(TEST(a_name_has_one_account), TEST(without_a_name_each_has_its_own),
          TEST(an_account_outlives_who_made_it),
          TEST(a_place_that_is_not_used_is_given_back_at_last),
          TEST(nobody_who_counts_is_no_account),
          TEST(threads_share_accounts_that_come_and_go), TEST(each_allocation_may_fail))
