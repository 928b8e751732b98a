/* accounts.c - the accounts of a budget, found by the name of a client */
#include "run/accounts.h"

#include <pthread.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "run/random.h"

struct mcpi_accounts {
    const mcp_allocator *mem;
    atomic_uint refs;
    struct mcpi_budget budget;
    pthread_mutex_t lock; /* a leaf; for the map, and for whoever comes or goes */
    struct mcpi_map by_name;
    size_t count;
};

struct account {
    struct mcpi_account account;
    struct mcpi_map_node by_name; /* unless len is 0 */
    struct mcpi_accounts *all;
    size_t len;
    char name[];
};

/* ---- all of them ----------------------------------------------------------- */

int
mcpi_accounts_new(const mcp_allocator *mem, struct mcpi_accounts **ret_accounts)
{
    unsigned char seed[MCPI_SEED_SIZE];
    struct mcpi_accounts *accounts;
    int r;

    r = mcpi_random(seed, sizeof(seed));
    if (r < 0)
        return r;
    accounts = mcpi_alloc_zero(mem, sizeof(*accounts));
    if (!accounts)
        return MCP_E_NOMEM;
    if (pthread_mutex_init(&accounts->lock, NULL) != 0) {
        mcpi_free(mem, accounts);
        return MCP_E_NOMEM;
    }
    accounts->mem = mem;
    atomic_init(&accounts->refs, 1);
    mcpi_budget_init(&accounts->budget);
    mcpi_map_init(&accounts->by_name, mem, seed);
    *ret_accounts = accounts;
    return 0;
}

struct mcpi_accounts *
mcpi_accounts_ref(struct mcpi_accounts *accounts)
{
    if (accounts)
        (void)atomic_fetch_add_explicit(&accounts->refs, 1, memory_order_relaxed);
    return accounts;
}

void
mcpi_accounts_unref(struct mcpi_accounts *accounts)
{
    if (!accounts ||
        atomic_fetch_sub_explicit(&accounts->refs, 1, memory_order_acq_rel) != 1)
        return;
    mcpi_map_done(&accounts->by_name);
    pthread_mutex_destroy(&accounts->lock);
    mcpi_free(accounts->mem, accounts);
}

struct mcpi_budget *
mcpi_accounts_budget(struct mcpi_accounts *accounts)
{
    return &accounts->budget;
}

size_t
mcpi_accounts_count(struct mcpi_accounts *accounts)
{
    size_t count;

    pthread_mutex_lock(&accounts->lock);
    count = accounts->count;
    pthread_mutex_unlock(&accounts->lock);
    return count;
}

/* ---- one ------------------------------------------------------------------- */

struct name {
    const void *text;
    size_t len;
};

static bool
account_has_name(const struct mcpi_map_node *node, const void *key)
{
    const struct account *a = MCPI_CONTAINER(node, struct account, by_name);
    const struct name *name = key;

    return a->len == name->len && memcmp(a->name, name->text, a->len) == 0;
}

static void
account_release(struct mcpi_account *account)
{
    struct account *a = MCPI_CONTAINER(account, struct account, account);
    struct mcpi_accounts *all = a->all;
    bool last;

    pthread_mutex_lock(&all->lock);
    last = atomic_fetch_sub_explicit(&account->refs, 1, memory_order_acq_rel) == 1;
    if (last) {
        if (a->len > 0)
            (void)mcpi_map_remove(&all->by_name, &a->by_name);
        all->count--;
    }
    pthread_mutex_unlock(&all->lock);
    if (!last)
        return;
    if (mcpi_account_use_place(account))
        mcpi_account_give(account, MCPI_HELD_SESSIONS, 1);
    mcpi_free(all->mem, a);
    mcpi_accounts_unref(all);
}

/* Under lock. */
static struct account *
account_new(struct mcpi_accounts *all, const struct name *name, uint64_t hash)
{
    struct account *a = mcpi_alloc(all->mem, sizeof(*a) + name->len);

    if (!a)
        return NULL;
    mcpi_account_init(&a->account, &all->budget, account_release);
    a->all = mcpi_accounts_ref(all);
    a->len = name->len;
    all->count++;
    if (name->len > 0) {
        memcpy(a->name, name->text, name->len);
        mcpi_map_add(&all->by_name, &a->by_name, hash);
    }
    return a;
}

struct mcpi_account *
mcpi_accounts_get(struct mcpi_accounts *accounts, const void *name, size_t len)
{
    const struct name wanted = {name, len};
    struct mcpi_map_node *node = NULL;
    struct account *a;
    uint64_t hash;

    if (!accounts)
        return NULL;
    hash = len > 0 ? mcpi_map_hash(&accounts->by_name, name, len) : 0;
    pthread_mutex_lock(&accounts->lock);
    if (len > 0)
        node = mcpi_map_find(&accounts->by_name, hash, account_has_name, &wanted);
    if (node) {
        a = MCPI_CONTAINER(node, struct account, by_name);
        (void)mcpi_account_ref(&a->account);
    } else {
        a = account_new(accounts, &wanted, hash);
    }
    pthread_mutex_unlock(&accounts->lock);
    return a ? &a->account : NULL;
}
