/*
 * budget.h - what clients can make a server hold, shared among them
 *
 * What is held for a client is charged to the client's account, and all accounts share
 * one budget. An account may have as much as is then left for all others: one greedy
 * client gets half of the budget, the next one half of the rest. Nothing waits: what
 * does not fit is refused.
 *
 * Any thread. Two that take at once may both be refused where one would have fit.
 */
#ifndef MCPI_BASE_BUDGET_H
#define MCPI_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/peak.h"

enum mcpi_holding {
    MCPI_HELD_ARRIVING, /* bytes of requests, before it is known what they are */
    MCPI_HELD_BYTES,    /* all others */
    MCPI_HELD_NOTES,    /* of those: of what may be dropped */
    MCPI_HELD_CONNECTIONS,
    MCPI_HELD_SESSIONS,
    MCPI_HELD_LISTENERS,
    MCPI_HELD_REQUESTS, /* in flight, where clients share a peer */
    MCPI_HOLDINGS
};

/* So many of what is no bytes an account may have while any are left:
 * few do no harm. */
#define MCPI_UNSHARED_MAX 16

struct mcpi_budget {
    atomic_size_t limit[MCPI_HOLDINGS];
    atomic_size_t used[MCPI_HOLDINGS];
    struct mcpi_peak peak; /* of bytes */
};

/* A place for one more session, for an account that may have no more of them:
 *
 *   NONE -> SOUGHT   one of its sessions is to end, wherever that is
 *   SOUGHT -> KEPT   one has, and its place is still charged: for the next session
 *   SOUGHT -> NONE   none has
 *   KEPT -> NONE     the place is used, or given back with the account's last reference */
enum mcpi_place { MCPI_PLACE_NONE, MCPI_PLACE_SOUGHT, MCPI_PLACE_KEPT };

struct mcpi_account {
    struct mcpi_budget *budget; /* outlives it */
    atomic_size_t used[MCPI_HOLDINGS];
    atomic_int place;
    _Atomic int64_t search_from; /* no search for a place before this time */
    atomic_uint refs;
    void (*release)(struct mcpi_account *account); /* drops the last reference */
};

/* All limits are 0. */
void mcpi_budget_init(struct mcpi_budget *budget);

/* Raise the limit by that much; the second, but not above `most`. */
void mcpi_budget_raise(struct mcpi_budget *budget, enum mcpi_holding what, size_t by);
void mcpi_budget_raise_within(struct mcpi_budget *budget, enum mcpi_holding what,
                              size_t by, size_t most);

/* The most that an account may ever have of it. */
size_t mcpi_budget_share(const struct mcpi_budget *budget, enum mcpi_holding what);

/* All that is held of bytes. */
size_t mcpi_budget_bytes(const struct mcpi_budget *budget);

/* Of these bytes (base/peak.h). */
bool mcpi_budget_is_calm(const struct mcpi_budget *budget);
bool mcpi_budget_settle(struct mcpi_budget *budget);

/* One reference, nothing held. release is called instead of dropping the last one, and
 * may be NULL for an account that nobody counts. */
void mcpi_account_init(struct mcpi_account *account, struct mcpi_budget *budget,
                       void (*release)(struct mcpi_account *account));

struct mcpi_account *mcpi_account_ref(struct mcpi_account *account); /* NULL ok */
void mcpi_account_unref(struct mcpi_account *account); /* NULL ok; nothing is held */

/* Charge it. False: that would be more than its share, and nothing happened. account
 * NULL: nobody counts, true. Whoever takes keeps a reference until it has given back. */
bool mcpi_account_take(struct mcpi_account *account, enum mcpi_holding what, size_t n);
void mcpi_account_give(struct mcpi_account *account, enum mcpi_holding what, size_t n);

/* The steps of enum mcpi_place; account not NULL, except for the last. False: it is in
 * another state, and nothing happened. */
bool mcpi_account_seek_place(struct mcpi_account *account); /* NONE -> SOUGHT */
bool mcpi_account_keep_place(struct mcpi_account *account); /* SOUGHT -> KEPT */
bool mcpi_account_lose_place(struct mcpi_account *account); /* SOUGHT -> NONE */
bool mcpi_account_use_place(struct mcpi_account *account);  /* KEPT -> NONE */

/* A search for a place looks at many sessions. After one that found none, the next begins
 * at `then` at the earliest. If account is NULL, at any time. */
bool mcpi_account_may_search(const struct mcpi_account *account, int64_t now);
void mcpi_account_search_from(struct mcpi_account *account, int64_t then);

/* How much of it has it? */
size_t mcpi_account_holds(const struct mcpi_account *account, enum mcpi_holding what);

/* Would that many fit now? */
bool mcpi_account_has_room(const struct mcpi_account *account, enum mcpi_holding what,
                           size_t n);

/* Make `*held` of what it holds `to`. False, and nothing happened: that is more, and
 * does not fit. */
bool mcpi_account_change(struct mcpi_account *account, enum mcpi_holding what,
                         size_t *held, size_t to);

#endif
