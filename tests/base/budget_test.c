/* budget_test.c - no client has more than is left for all others */
#include "base/budget.h"

#include "support/test.h"

#define LIMIT ((size_t)1000)
#define MIB ((size_t)1024 * 1024)

static void
shared(struct mcpi_budget *budget, enum mcpi_holding what, size_t limit,
       struct mcpi_account *accounts, size_t count)
{
    mcpi_budget_init(budget);
    mcpi_budget_raise(budget, what, limit);
    for (size_t i = 0; i < count; i++)
        mcpi_account_init(&accounts[i], budget, NULL);
}

/* As much of it as there is to be had, one at a time. */
static size_t
take_all(struct mcpi_account *account, enum mcpi_holding what)
{
    size_t count = 0;

    while (mcpi_account_take(account, what, 1))
        count++;
    return count;
}

static void
one_client_gets_half(void **state)
{
    struct mcpi_budget budget;
    struct mcpi_account a;

    (void)state;
    shared(&budget, MCPI_HELD_BYTES, LIMIT, &a, 1);
    assert_int_equal(mcpi_budget_share(&budget, MCPI_HELD_BYTES), LIMIT / 2);
    assert_int_equal(take_all(&a, MCPI_HELD_BYTES), LIMIT / 2);
    assert_int_equal(mcpi_account_holds(&a, MCPI_HELD_BYTES), LIMIT / 2);
    assert_false(mcpi_account_has_room(&a, MCPI_HELD_BYTES, 1));
    mcpi_account_give(&a, MCPI_HELD_BYTES, 1);
    assert_true(mcpi_account_has_room(&a, MCPI_HELD_BYTES, 1));
    assert_int_equal(take_all(&a, MCPI_HELD_BYTES), 1);
}

/* However many greedy ones there are, as much as each of them has is left. */
static void
greedy_clients_leave_a_share_for_the_next(void **state)
{
    struct mcpi_account accounts[10];
    struct mcpi_budget budget;
    size_t taken;

    (void)state;
    shared(&budget, MCPI_HELD_BYTES, LIMIT, accounts, 10);
    do {
        taken = 0;
        for (size_t i = 0; i < 9; i++)
            taken += mcpi_account_take(&accounts[i], MCPI_HELD_BYTES, 1);
    } while (taken > 0);
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(atomic_load(&accounts[i].used[MCPI_HELD_BYTES]), LIMIT / 10);
    assert_true(mcpi_account_take(&accounts[9], MCPI_HELD_BYTES, LIMIT / 20));
}

static void
what_is_over_leaves_no_trace(void **state)
{
    struct mcpi_budget budget;
    struct mcpi_account a;
    size_t held = 0;

    (void)state;
    shared(&budget, MCPI_HELD_BYTES, LIMIT, &a, 1);
    assert_false(mcpi_account_take(&a, MCPI_HELD_BYTES, LIMIT + 1));
    assert_false(mcpi_account_take(&a, MCPI_HELD_BYTES, SIZE_MAX));
    assert_int_equal(mcpi_budget_bytes(&budget), 0);
    assert_true(mcpi_account_change(&a, MCPI_HELD_BYTES, &held, 400));
    assert_false(mcpi_account_change(&a, MCPI_HELD_BYTES, &held, LIMIT));
    assert_int_equal(held, 400);
    assert_true(mcpi_account_change(&a, MCPI_HELD_BYTES, &held, 100));
    assert_int_equal(mcpi_budget_bytes(&budget), 100);
    assert_true(mcpi_account_change(&a, MCPI_HELD_BYTES, &held, 0));
    assert_int_equal(mcpi_budget_bytes(&budget), 0);
}

/* A limit that was set to a few means a few. */
static void
few_things_are_not_shared(void **state)
{
    struct mcpi_budget budget;
    struct mcpi_account a[2];

    (void)state;
    shared(&budget, MCPI_HELD_SESSIONS, 3, a, 2);
    assert_int_equal(take_all(&a[0], MCPI_HELD_SESSIONS), 3);
    assert_int_equal(take_all(&a[1], MCPI_HELD_SESSIONS), 0);
    shared(&budget, MCPI_HELD_SESSIONS, MCPI_UNSHARED_MAX, a, 2);
    assert_int_equal(take_all(&a[0], MCPI_HELD_SESSIONS), MCPI_UNSHARED_MAX);
    shared(&budget, MCPI_HELD_SESSIONS, LIMIT, a, 2);
    assert_int_equal(take_all(&a[0], MCPI_HELD_SESSIONS), LIMIT / 2);
}

static void
what_is_held_is_counted_apart(void **state)
{
    struct mcpi_budget budget;
    struct mcpi_account a;

    (void)state;
    shared(&budget, MCPI_HELD_ARRIVING, LIMIT, &a, 1);
    assert_int_equal(take_all(&a, MCPI_HELD_ARRIVING), LIMIT / 2);
    assert_int_equal(take_all(&a, MCPI_HELD_BYTES), 0);
    mcpi_budget_raise(&budget, MCPI_HELD_BYTES, LIMIT);
    assert_int_equal(take_all(&a, MCPI_HELD_BYTES), LIMIT / 2);
    assert_int_equal(mcpi_budget_bytes(&budget), LIMIT);
    mcpi_budget_raise(&budget, MCPI_HELD_BYTES, SIZE_MAX);
    assert_true(mcpi_account_take(&a, MCPI_HELD_BYTES, LIMIT));
}

static void
a_search_is_made_from_a_time_on(void **state)
{
    struct mcpi_budget budget;
    struct mcpi_account a;

    (void)state;
    shared(&budget, MCPI_HELD_SESSIONS, 1, &a, 1);
    assert_true(mcpi_account_may_search(&a, 0));
    mcpi_account_search_from(&a, 7);
    assert_false(mcpi_account_may_search(&a, 6));
    assert_true(mcpi_account_may_search(&a, 7));
    mcpi_account_search_from(NULL, 7);
    assert_true(mcpi_account_may_search(NULL, 0));
}

static void
a_limit_is_raised_within_another(void **state)
{
    struct mcpi_budget budget;
    struct mcpi_account a;

    (void)state;
    shared(&budget, MCPI_HELD_SESSIONS, 60, &a, 1);
    mcpi_budget_raise_within(&budget, MCPI_HELD_SESSIONS, 20, 100);
    assert_int_equal(mcpi_budget_share(&budget, MCPI_HELD_SESSIONS), 40);
    mcpi_budget_raise_within(&budget, MCPI_HELD_SESSIONS, SIZE_MAX, 100);
    assert_int_equal(mcpi_budget_share(&budget, MCPI_HELD_SESSIONS), 50);
    mcpi_budget_raise_within(&budget, MCPI_HELD_SESSIONS, 20,
                             50); /* it does not fall */
    assert_int_equal(mcpi_budget_share(&budget, MCPI_HELD_SESSIONS), 50);
}

static void
nobody_is_never_refused(void **state)
{
    size_t held = 0;

    (void)state;
    assert_true(mcpi_account_take(NULL, MCPI_HELD_BYTES, SIZE_MAX));
    assert_true(mcpi_account_has_room(NULL, MCPI_HELD_SESSIONS, SIZE_MAX));
    assert_true(mcpi_account_change(NULL, MCPI_HELD_BYTES, &held, 7));
    assert_int_equal(held, 7);
    mcpi_account_give(NULL, MCPI_HELD_BYTES, SIZE_MAX);
    assert_null(mcpi_account_ref(NULL));
    mcpi_account_unref(NULL);
}

static void
a_place_is_sought_kept_and_used_once(void **state)
{
    struct mcpi_budget budget;
    struct mcpi_account a;

    (void)state;
    shared(&budget, MCPI_HELD_SESSIONS, 64, &a, 1);
    assert_false(mcpi_account_use_place(NULL));
    assert_false(mcpi_account_use_place(&a));
    assert_false(mcpi_account_keep_place(&a));
    assert_true(mcpi_account_seek_place(&a));
    assert_false(mcpi_account_seek_place(&a));
    assert_true(mcpi_account_lose_place(&a));
    assert_true(mcpi_account_seek_place(&a));
    assert_true(mcpi_account_keep_place(&a));
    assert_false(mcpi_account_lose_place(&a));
    assert_false(mcpi_account_seek_place(&a));
    assert_true(mcpi_account_use_place(&a));
    assert_false(mcpi_account_use_place(&a));
}

static void
it_is_calm_where_most_bytes_were_given_back(void **state)
{
    struct mcpi_budget budget;
    struct mcpi_account a;

    (void)state;
    shared(&budget, MCPI_HELD_BYTES, 256 * MIB, &a, 1);
    assert_true(mcpi_account_take(&a, MCPI_HELD_BYTES, 64 * MIB));
    assert_false(mcpi_budget_is_calm(&budget));
    mcpi_account_give(&a, MCPI_HELD_BYTES, 48 * MIB);
    assert_true(mcpi_budget_is_calm(&budget));
    assert_true(mcpi_budget_settle(&budget));
    assert_false(mcpi_budget_is_calm(&budget));
    mcpi_account_give(&a, MCPI_HELD_BYTES, 16 * MIB);
}

TEST_MAIN(TEST(one_client_gets_half), TEST(greedy_clients_leave_a_share_for_the_next),
          TEST(what_is_over_leaves_no_trace), TEST(few_things_are_not_shared),
          TEST(what_is_held_is_counted_apart), TEST(a_search_is_made_from_a_time_on),
          TEST(a_limit_is_raised_within_another), TEST(nobody_is_never_refused),
          TEST(a_place_is_sought_kept_and_used_once),
          TEST(it_is_calm_where_most_bytes_were_given_back))
