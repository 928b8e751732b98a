/* shelf_test.c - a token store, asked without waiting: told, dropped, given back */
#include "auth/shelf.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth/safe.h"

#define TEXT SECRET "-text"

/* A store that writes down what it is asked, a shelf before it, and who was told what.
 * Cases are run with a pool of workers and without. */
struct room {
    struct safe safe;
    struct test_mem mem; /* of loop and pool */
    struct mcpi_loop *loop;
    struct mcpi_pool *pool;
    mcp_token_store store;
    struct mcpi_shelf shelf;
    char seen[256]; /* what the store was asked */
    int status;     /* that it answers with */
    const char *text;
    char *left; /* by a load that failed */
    sem_t gate; /* that it waits for first, if there is a pool */
    bool closed;
};

static void
room_see(struct room *room, const char *what, const char *key, const char *text)
{
    size_t len = strlen(room->seen);

    if (room->pool)
        while (sem_wait(&room->gate) < 0)
            assert_int_equal(errno, EINTR);
    (void)snprintf(room->seen + len, sizeof(room->seen) - len, "%s %s%s%s;", what, key,
                   text ? " " : "", text ? text : "");
}

static int
room_load(void *self, const char *key, char **ret_text)
{
    struct room *room = self;

    room_see(room, "load", key, NULL);
    if (room->left)
        *ret_text = room->left;
    if (room->status >= 0 && room->text)
        *ret_text = strdup(room->text);
    return room->status;
}

static int
room_save(void *self, const char *key, const char *text)
{
    struct room *room = self;

    room_see(room, "save", key, text ? text : "(forget)");
    return room->status;
}

static int
room_lock(void *self, const char *key)
{
    struct room *room = self;

    room_see(room, "lock", key, NULL);
    return room->status;
}

static void
room_unlock(void *self, const char *key)
{
    room_see(self, "unlock", key, NULL);
}

static void
room_open(struct room *room, void **state, struct test_mem *mem)
{
    struct mcpi_pool_options opt = {.workers = 2};

    memset(room, 0, sizeof(*room));
    test_mem_init(&room->mem);
    safe_init(&room->safe, mem);
    opt.mem = &room->mem.allocator;
    assert_int_equal(mcpi_loop_new(&room->mem.allocator, NULL, &room->loop), 0);
    if (*state)
        assert_int_equal(mcpi_pool_new(&opt, &room->pool), 0);
    assert_int_equal(sem_init(&room->gate, 0, 0), 0);
    room->store = MCP_TOKEN_STORE(.load = room_load, .save = room_save,
                                  .lock = room_lock, .unlock = room_unlock,
                                  .self = room);
    room->shelf = (struct mcpi_shelf){.mem = room->safe.allocator,
                                      .store = &room->store};
    assert_int_equal(mcpi_errands_new(room->loop, room->pool, &room->shelf.errands), 0);
}

static void
on_closed(void *user)
{
    struct room *room = user;

    room->closed = true;
    mcpi_loop_stop(room->loop);
}

/* Lets the store answer, and everything come home. */
static void
room_close(struct room *room)
{
    for (int i = 0; i < 16; i++)
        sem_post(&room->gate);
    mcpi_errands_close(room->shelf.errands, on_closed, room);
    while (!room->closed)
        assert_int_equal(mcpi_loop_run(room->loop), 0);
    assert_int_equal(mcpi_pool_free(room->pool, AWAIT_US), 0);
    mcpi_loop_free(room->loop);
    sem_destroy(&room->gate);
    if (room->safe.mem == &room->safe.own)
        safe_done(&room->safe);
    test_mem_done(&room->mem);
}

/* Who asked. */
struct asker {
    struct room *room;
    struct mcpi_shelf_op *op;
    int count, status;
    char text[64];
};

static void
told(void *user, struct mcpi_shelf_op *op, int status, const char *text)
{
    struct asker *asker = user;

    assert_true(mcpi_loop_is_here(asker->room->loop));
    assert_ptr_equal(op, asker->op);
    asker->count++;
    asker->status = status;
    (void)snprintf(asker->text, sizeof(asker->text), "%s", text ? text : "(none)");
    mcpi_loop_stop(asker->room->loop);
}

/* Runs until it is told. */
static void
await(struct asker *asker)
{
    sem_post(&asker->room->gate);
    while (asker->count == 0)
        assert_int_equal(mcpi_loop_run(asker->room->loop), 0);
    assert_int_equal(asker->count, 1);
}

/* Asks under a key that is gone at once. */
static void
load(struct asker *asker)
{
    char key[] = "key";

    assert_int_equal(mcpi_shelf_load(&asker->room->shelf, key, told, asker, &asker->op),
                     0);
    memset(key, 'x', 3);
}

static void
save(struct asker *asker, const char *what)
{
    char text[64] = "";

    if (what)
        (void)snprintf(text, sizeof(text), "%s", what);
    assert_int_equal(mcpi_shelf_save(&asker->room->shelf, "key", what ? text : NULL,
                                     told, asker, &asker->op),
                     0);
    memset(text, 'x', sizeof(text) - 1);
}

static void
lock(struct asker *asker)
{
    char key[] = "key";

    assert_int_equal(mcpi_shelf_lock(&asker->room->shelf, key, told, asker, &asker->op),
                     0);
    memset(key, 'x', 3);
}

/* ---- asked and told -------------------------------------------------------------- */

static void
what_is_kept_is_told(void **state)
{
    struct room room;
    struct asker asker = {.room = &room};

    room_open(&room, state, NULL);
    room.text = TEXT;
    load(&asker);
    assert_int_equal(asker.count, 0); /* not from inside */
    await(&asker);
    assert_int_equal(asker.status, 0);
    assert_string_equal(asker.text, TEXT);
    room_close(&room);
    assert_string_equal(room.seen, "load key;");
}

static void
nothing_kept_is_told_as_nothing(void **state)
{
    struct room room;
    struct asker asker = {.room = &room};

    room_open(&room, state, NULL);
    load(&asker);
    await(&asker);
    assert_int_equal(asker.status, 0);
    assert_string_equal(asker.text, "(none)");
    room_close(&room);
}

static void
what_is_saved_is_copied(void **state)
{
    struct room room;
    struct asker one = {.room = &room}, other = {.room = &room};

    room_open(&room, state, NULL);
    save(&one, TEXT);
    await(&one);
    assert_int_equal(one.status, 0);
    assert_string_equal(one.text, "(none)");
    save(&other, NULL);
    await(&other);
    room_close(&room);
    assert_string_equal(room.seen, "save key " TEXT ";save key (forget);");
}

static void
a_failure_is_told(void **state)
{
    struct room room;
    struct asker loader = {.room = &room}, saver = {.room = &room};

    room_open(&room, state, NULL);
    room.status = MCP_E_SYNTAX;
    load(&loader);
    await(&loader);
    assert_int_equal(loader.status, MCP_E_SYNTAX);
    assert_string_equal(loader.text, "(none)");
    room.status = MCP_E_LIMIT;
    save(&saver, TEXT);
    await(&saver);
    assert_int_equal(saver.status, MCP_E_LIMIT);
    room_close(&room);
}

/* Outputs are written on success only: what is there else is nobody's to free. */
static void
what_a_failed_load_leaves_is_not_touched(void **state)
{
    static char left[] = TEXT;
    struct room room;
    struct asker asker = {.room = &room};

    room_open(&room, state, NULL);
    room.status = MCP_E_LIMIT;
    room.left = left;
    load(&asker);
    await(&asker);
    assert_int_equal(asker.status, MCP_E_LIMIT);
    assert_string_equal(asker.text, "(none)");
    assert_string_equal(left, TEXT);
    room_close(&room);
}

static void
without_a_store_nothing_is_kept(void **state)
{
    struct room room;
    struct asker loader = {.room = &room}, saver = {.room = &room},
                 locker = {.room = &room};

    room_open(&room, state, NULL);
    room.shelf.store = NULL;
    save(&saver, TEXT);
    await(&saver);
    assert_int_equal(saver.status, 0);
    load(&loader);
    await(&loader);
    assert_int_equal(loader.status, 0);
    assert_string_equal(loader.text, "(none)");
    lock(&locker);
    await(&locker);
    assert_int_equal(locker.status, 0);
    mcpi_shelf_unlock(locker.op);
    room_close(&room);
    assert_string_equal(room.seen, "");
}

static void
questions_are_asked_in_their_order(void **state)
{
    struct room room;
    struct asker a = {.room = &room}, b = {.room = &room}, c = {.room = &room};

    room_open(&room, state, NULL);
    lock(&a);
    load(&b);
    save(&c, TEXT);
    sem_post(&room.gate);
    sem_post(&room.gate);
    await(&c);
    assert_int_equal(a.count, 1);
    assert_int_equal(b.count, 1);
    mcpi_shelf_unlock(a.op);
    room_close(&room);
    assert_string_equal(room.seen, "lock key;load key;save key " TEXT ";unlock key;");
}

/* ---- locks ------------------------------------------------------------------------- */

static void
a_lock_is_ours_until_we_give_it_back(void **state)
{
    struct room room;
    struct asker asker = {.room = &room}, other = {.room = &room};

    room_open(&room, state, NULL);
    lock(&asker);
    await(&asker);
    assert_int_equal(asker.status, 0);
    load(&other);
    await(&other);
    assert_string_equal(room.seen, "lock key;load key;");
    mcpi_shelf_unlock(asker.op);
    room_close(&room);
    assert_string_equal(room.seen, "lock key;load key;unlock key;");
}

static void
a_lock_that_somebody_else_has_is_not_ours(void **state)
{
    struct room room;
    struct asker asker = {.room = &room};

    room_open(&room, state, NULL);
    room.status = MCP_E_AGAIN;
    lock(&asker);
    await(&asker);
    assert_int_equal(asker.status, MCP_E_AGAIN);
    room_close(&room);
    assert_string_equal(room.seen, "lock key;");
}

/* Somebody's function says true. It holds it all the same. */
static void
more_than_nothing_is_success(void **state)
{
    struct room room;
    struct asker asker = {.room = &room}, loader = {.room = &room};

    room_open(&room, state, NULL);
    room.status = 1;
    room.text = TEXT;
    load(&loader);
    await(&loader);
    assert_int_equal(loader.status, 0);
    assert_string_equal(loader.text, TEXT);
    lock(&asker);
    await(&asker);
    assert_int_equal(asker.status, 0);
    mcpi_shelf_unlock(asker.op);
    room_close(&room);
    assert_string_equal(room.seen, "load key;lock key;unlock key;");
}

static void
a_store_that_nobody_shares_has_no_locks(void **state)
{
    struct room room;
    struct asker asker = {.room = &room};

    room_open(&room, state, NULL);
    room.store.lock = NULL;
    room.store.unlock = NULL;
    lock(&asker);
    await(&asker);
    assert_int_equal(asker.status, 0);
    mcpi_shelf_unlock(asker.op);
    room_close(&room);
    assert_string_equal(room.seen, "");
}

/* ---- nobody waits any more ----------------------------------------------------------- */

static void
who_does_not_wait_is_not_told(void **state)
{
    struct room room;
    struct asker loader = {.room = &room}, saver = {.room = &room};

    room_open(&room, state, NULL);
    room.text = TEXT;
    load(&loader);
    save(&saver, TEXT);
    mcpi_shelf_drop(loader.op);
    mcpi_shelf_drop(saver.op);
    mcpi_shelf_drop(NULL);
    room_close(&room);
    assert_int_equal(loader.count + saver.count, 0);
    /* what was to be saved is */
    assert_string_equal(room.seen, "load key;save key " TEXT ";");
}

/* Also while all is being closed. */
static void
a_lock_that_nobody_wants_any_more_is_given_back(void **state)
{
    struct room room;
    struct asker asker = {.room = &room};

    room_open(&room, state, NULL);
    lock(&asker);
    mcpi_shelf_drop(asker.op);
    room_close(&room);
    assert_int_equal(asker.count, 0);
    assert_string_equal(room.seen, "lock key;unlock key;");
}

static void
a_lock_that_did_not_come_is_not_given_back(void **state)
{
    struct room room;
    struct asker asker = {.room = &room};

    room_open(&room, state, NULL);
    room.status = MCP_E_AGAIN;
    lock(&asker);
    mcpi_shelf_drop(asker.op);
    room_close(&room);
    assert_string_equal(room.seen, "lock key;");
}

/* ---- memory ------------------------------------------------------------------------- */

static void
without_memory_nothing_is_begun(void **state)
{
    struct mcpi_shelf_op *op = NULL;
    struct room room;

    room_open(&room, state, NULL);
    room.safe.own.fail_after = true;
    atomic_store(&room.safe.own.fail_at, atomic_load(&room.safe.own.total) + 1);
    assert_int_equal(mcpi_shelf_load(&room.shelf, "key", told, NULL, &op), MCP_E_NOMEM);
    assert_int_equal(mcpi_shelf_save(&room.shelf, "key", TEXT, told, NULL, &op),
                     MCP_E_NOMEM);
    assert_int_equal(mcpi_shelf_lock(&room.shelf, "key", told, NULL, &op), MCP_E_NOMEM);
    assert_null(op);
    room_close(&room);
    assert_string_equal(room.seen, "");
}

/* ---- a store of ours ------------------------------------------------------------------- */

static void
our_own_store_is_such_a_store(void **state)
{
    struct room room;
    struct asker saver = {.room = &room}, loader = {.room = &room},
                 one = {.room = &room}, other = {.room = &room};
    mcp_token_keep *keep = NULL;

    room_open(&room, state, NULL);
    assert_int_equal(mcp_token_keep_memory(NULL, &keep), 0);
    room.shelf.store = mcp_token_keep_interface(keep);
    save(&saver, TEXT);
    await(&saver);
    load(&loader);
    await(&loader);
    assert_string_equal(loader.text, TEXT);
    lock(&one);
    await(&one);
    assert_int_equal(one.status, 0);
    lock(&other);
    await(&other);
    assert_int_equal(other.status, MCP_E_AGAIN);
    mcpi_shelf_unlock(one.op);
    memset(&other, 0, sizeof(other));
    other.room = &room;
    lock(&other);
    await(&other);
    assert_int_equal(other.status, 0);
    mcpi_shelf_unlock(other.op);
    room_close(&room);
    mcp_token_keep_free(keep);
}

/* On the loop, and on workers. */
static char workers[] = "workers";
#define BOTH(function)                          \
    TEST_AS("loop." #function, function, NULL), \
        TEST_AS("pool." #function, function, workers)

TEST_MAIN(BOTH(what_is_kept_is_told), BOTH(nothing_kept_is_told_as_nothing),
          BOTH(what_is_saved_is_copied), BOTH(a_failure_is_told),
          BOTH(what_a_failed_load_leaves_is_not_touched),
          BOTH(without_a_store_nothing_is_kept),
          BOTH(questions_are_asked_in_their_order),
          BOTH(a_lock_is_ours_until_we_give_it_back),
          BOTH(a_lock_that_somebody_else_has_is_not_ours),
          BOTH(more_than_nothing_is_success),
          BOTH(a_store_that_nobody_shares_has_no_locks),
          BOTH(who_does_not_wait_is_not_told),
          BOTH(a_lock_that_nobody_wants_any_more_is_given_back),
          BOTH(a_lock_that_did_not_come_is_not_given_back),
          BOTH(without_memory_nothing_is_begun), BOTH(our_own_store_is_such_a_store))
