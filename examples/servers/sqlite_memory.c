/*
 * sqlite_memory.c - memory for SQLite, bounded for each connection
 *
 * SQLite's own limit is of the process: one statement that collects much would leave
 * nothing to those of others. Here each connection has OWN bytes, which nobody else can
 * take. What it needs beyond comes from COMMON bytes, which all share. So a statement may
 * be large while others are small, and fails alone ("out of memory") when it may not.
 *
 * A request has a connection on its thread, and runs on no other: what is allocated there
 * meanwhile is the connection's. SQLite keeps a little for all connections to a file, and
 * who frees that may be another than who has it on the account; those few bytes are gone
 * from the account when the connection is closed.
 */
#include "sqlite_server.h"

#include <stdatomic.h>

enum {
    OWN = 8 << 20, /* the longest value and its copy; or SQLite's cache, and rows */
    COMMON = 256 << 20, /* to sort and collect in */
};

static sqlite3_mem_methods system_memory;
static atomic_llong common; /* bytes that are taken of COMMON */
static _Thread_local struct connection *payer;

static int64_t
beyond_own(int64_t bytes)
{
    return bytes > OWN ? bytes - OWN : 0;
}

/* Negative: gives back. */
static void
pay(struct connection *c, int64_t bytes)
{
    int64_t before = beyond_own(c->memory);

    c->memory += bytes;
    atomic_fetch_add(&common, beyond_own(c->memory) - before);
}

/* May that much more be allocated? Then it is paid for. */
static bool
can_pay(int64_t bytes)
{
    if (!payer)
        return true;
    pay(payer, bytes);
    if (bytes <= 0 || payer->memory <= OWN || atomic_load(&common) <= COMMON)
        return true;
    pay(payer, -bytes);
    return false;
}

/* What was paid for is not what there is now. */
static void
settle(int64_t bytes)
{
    if (payer)
        pay(payer, bytes);
}

static int64_t
size_of(void *memory)
{
    return memory ? system_memory.xSize(memory) : 0;
}

static void *
allocate(int bytes)
{
    void *memory;

    if (!can_pay(bytes))
        return NULL;
    memory = system_memory.xMalloc(bytes);
    settle(size_of(memory) - bytes);
    return memory;
}

static void *
reallocate(void *memory, int bytes)
{
    int64_t before = size_of(memory), more = bytes - before;
    void *moved;

    if (!can_pay(more))
        return NULL;
    moved = system_memory.xRealloc(memory, bytes);
    settle((moved ? size_of(moved) - before : 0) - more);
    return moved;
}

static void
release(void *memory)
{
    settle(-size_of(memory));
    system_memory.xFree(memory);
}

bool
memory_bound(void)
{
    sqlite3_mem_methods ours;

    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &system_memory) != SQLITE_OK)
        return false;
    ours = system_memory;
    ours.xMalloc = allocate;
    ours.xRealloc = reallocate;
    ours.xFree = release;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &ours) == SQLITE_OK;
}

void
memory_charge(struct connection *c)
{
    payer = c;
}

void
memory_close(struct connection *c)
{
    pay(c, -c->memory);
}

bool
memory_is_high(const struct connection *c)
{
    return c->memory > OWN / 2;
}
