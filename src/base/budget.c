/* budget.c - what clients can make a server hold, shared among them */
#include "base/budget.h"

#include <stdint.h>

static size_t
load(const atomic_size_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static size_t
add(atomic_size_t *number, size_t n)
{
    return atomic_fetch_add_explicit(number, n, memory_order_relaxed);
}

static void
subtract(atomic_size_t *number, size_t n)
{
    (void)atomic_fetch_sub_explicit(number, n, memory_order_relaxed);
}

/* ---- budgets --------------------------------------------------------------- */

void
mcpi_budget_init(struct mcpi_budget *budget)
{
    for (size_t i = 0; i < MCPI_HOLDINGS; i++) {
        atomic_init(&budget->limit[i], 0);
        atomic_init(&budget->used[i], 0);
    }
    mcpi_peak_init(&budget->peak);
}

void
mcpi_budget_raise(struct mcpi_budget *budget, enum mcpi_holding what, size_t by)
{
    mcpi_budget_raise_within(budget, what, by, SIZE_MAX);
}

void
mcpi_budget_raise_within(struct mcpi_budget *budget, enum mcpi_holding what, size_t by,
                         size_t most)
{
    size_t limit = load(&budget->limit[what]);

    while (limit < most &&
           !atomic_compare_exchange_weak(&budget->limit[what], &limit,
                                         by > most - limit ? most : limit + by))
        ;
}

static bool
is_bytes(enum mcpi_holding what)
{
    return what <= MCPI_HELD_NOTES;
}

size_t
mcpi_budget_share(const struct mcpi_budget *budget, enum mcpi_holding what)
{
    return load(&budget->limit[what]) / 2;
}

size_t
mcpi_budget_bytes(const struct mcpi_budget *budget)
{
    return load(&budget->used[MCPI_HELD_ARRIVING]) +
           load(&budget->used[MCPI_HELD_BYTES]);
}

bool
mcpi_budget_is_calm(const struct mcpi_budget *budget)
{
    return mcpi_peak_is_calm(&budget->peak, mcpi_budget_bytes(budget));
}

bool
mcpi_budget_settle(struct mcpi_budget *budget)
{
    return mcpi_peak_settle(&budget->peak, mcpi_budget_bytes(budget));
}

/* own, all: without the n that are asked for. */
static bool
budget_allows(const struct mcpi_budget *budget, enum mcpi_holding what, size_t own,
              size_t all, size_t n)
{
    size_t limit = load(&budget->limit[what]);
    size_t least = is_bytes(what) ? 0 : MCPI_UNSHARED_MAX;
    size_t left = limit > all ? limit - all : 0;

    return n <= left && (own + n <= least || own + n <= left - n);
}

/* ---- accounts -------------------------------------------------------------- */

void
mcpi_account_init(struct mcpi_account *account, struct mcpi_budget *budget,
                  void (*release)(struct mcpi_account *account))
{
    account->budget = budget;
    account->release = release;
    atomic_init(&account->place, MCPI_PLACE_NONE);
    atomic_init(&account->search_from, INT64_MIN);
    atomic_init(&account->refs, 1);
    for (size_t i = 0; i < MCPI_HOLDINGS; i++)
        atomic_init(&account->used[i], 0);
}

struct mcpi_account *
mcpi_account_ref(struct mcpi_account *account)
{
    if (account)
        (void)atomic_fetch_add_explicit(&account->refs, 1, memory_order_relaxed);
    return account;
}

/* The last one goes where accounts are found, or it could be found meanwhile. */
void
mcpi_account_unref(struct mcpi_account *account)
{
    unsigned refs;

    if (!account || !account->release)
        return;
    refs = atomic_load_explicit(&account->refs, memory_order_relaxed);
    while (refs > 1)
        if (atomic_compare_exchange_weak_explicit(&account->refs, &refs, refs - 1,
                                                  memory_order_release,
                                                  memory_order_relaxed))
            return;
    account->release(account);
}

bool
mcpi_account_take(struct mcpi_account *account, enum mcpi_holding what, size_t n)
{
    size_t own, all;

    if (!account)
        return true;
    own = add(&account->used[what], n);
    all = add(&account->budget->used[what], n);
    if (!budget_allows(account->budget, what, own, all, n)) {
        mcpi_account_give(account, what, n);
        return false;
    }
    if (is_bytes(what))
        mcpi_peak_note(&account->budget->peak, mcpi_budget_bytes(account->budget));
    return true;
}

void
mcpi_account_give(struct mcpi_account *account, enum mcpi_holding what, size_t n)
{
    if (!account)
        return;
    subtract(&account->used[what], n);
    subtract(&account->budget->used[what], n);
}

static bool
account_step(struct mcpi_account *account, int from, enum mcpi_place to)
{
    return atomic_compare_exchange_strong(&account->place, &from, to);
}

bool
mcpi_account_seek_place(struct mcpi_account *account)
{
    return account_step(account, MCPI_PLACE_NONE, MCPI_PLACE_SOUGHT);
}

bool
mcpi_account_keep_place(struct mcpi_account *account)
{
    return account_step(account, MCPI_PLACE_SOUGHT, MCPI_PLACE_KEPT);
}

bool
mcpi_account_lose_place(struct mcpi_account *account)
{
    return account_step(account, MCPI_PLACE_SOUGHT, MCPI_PLACE_NONE);
}

bool
mcpi_account_use_place(struct mcpi_account *account)
{
    return account && account_step(account, MCPI_PLACE_KEPT, MCPI_PLACE_NONE);
}

bool
mcpi_account_may_search(const struct mcpi_account *account, int64_t now)
{
    return !account ||
           now >= atomic_load_explicit(&account->search_from, memory_order_relaxed);
}

void
mcpi_account_search_from(struct mcpi_account *account, int64_t then)
{
    if (account)
        atomic_store_explicit(&account->search_from, then, memory_order_relaxed);
}

size_t
mcpi_account_holds(const struct mcpi_account *account, enum mcpi_holding what)
{
    return account ? load(&account->used[what]) : 0;
}

bool
mcpi_account_has_room(const struct mcpi_account *account, enum mcpi_holding what,
                      size_t n)
{
    return !account || budget_allows(account->budget, what, load(&account->used[what]),
                                     load(&account->budget->used[what]), n);
}

bool
mcpi_account_change(struct mcpi_account *account, enum mcpi_holding what, size_t *held,
                    size_t to)
{
    if (to > *held && !mcpi_account_take(account, what, to - *held))
        return false;
    if (to < *held)
        mcpi_account_give(account, what, *held - to);
    *held = to;
    return true;
}
