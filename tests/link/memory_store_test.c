/* memory_store_test.c - events of sessions' streams, in memory */
#include "link/memory_store.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/peak.h"
#include "support/test.h"
#include "support/trims.h"

/* ---- hands ----------------------------------------------------------------- */

struct heard {
    char text[512]; /* "1:a 2:b" */
};

static void
hear(void *user, uint64_t number, const char *data, size_t len)
{
    struct heard *heard = user;
    size_t used = strlen(heard->text);

    snprintf(heard->text + used, sizeof(heard->text) - used, "%s%d:%.*s",
             used > 0 ? " " : "", (int)number, (int)len, data);
}

static int
keep(const mcp_memory_store *store, const char *session, uint64_t stream,
     uint64_t number, const char *data)
{
    const mcp_event_store *i = mcp_memory_store_interface(store);

    return i->append(i->self, session, stream, number, data, strlen(data));
}

static void
forget(const mcp_memory_store *store, const char *session, uint64_t stream)
{
    const mcp_event_store *i = mcp_memory_store_interface(store);

    i->forget(i->self, session, stream);
}

/* What comes behind that event; "?" if it is not known. */
static const char *
behind(const mcp_memory_store *store, const char *session, uint64_t stream,
       uint64_t after)
{
    const mcp_event_store *i = mcp_memory_store_interface(store);
    static struct heard heard;
    int r;

    heard.text[0] = '\0';
    r = i->replay(i->self, session, stream, after, hear, &heard);
    if (r == 0)
        return heard.text;
    assert_int_equal(r, MCP_E_INVAL);
    assert_string_equal(heard.text, "");
    return "?";
}

static mcp_memory_store *
store_new(struct test_mem *mem, size_t bytes)
{
    mcp_memory_store *store;

    test_mem_init(mem);
    assert_int_equal(mcp_memory_store_new(&mem->allocator, bytes, &store), 0);
    return store;
}

static void
store_done(struct test_mem *mem, mcp_memory_store *store)
{
    mcp_memory_store_free(store);
    test_mem_done(mem);
}

/* ---- cases ----------------------------------------------------------------- */

static void
a_stream_is_replayed_in_order_and_alone(void **state)
{
    struct test_mem mem;
    mcp_memory_store *store = store_new(&mem, 0);

    (void)state;
    assert_int_equal(keep(store, "s", 1, 1, "a"), 0);
    assert_int_equal(keep(store, "s", 2, 1, "other"), 0);
    assert_int_equal(keep(store, "s", 1, 2, ""), 0);
    assert_int_equal(keep(store, "t", 1, 1, "other session"), 0);
    assert_int_equal(keep(store, "s", 1, 3, "c"), 0);
    assert_string_equal(behind(store, "s", 1, 0), "1:a 2: 3:c");
    assert_string_equal(behind(store, "s", 1, 1), "2: 3:c");
    assert_string_equal(behind(store, "s", 1, 3), "");
    assert_string_equal(behind(store, "s", 2, 0), "1:other");
    store_done(&mem, store);
}

static void
what_is_not_known_is_an_error(void **state)
{
    struct test_mem mem;
    mcp_memory_store *store = store_new(&mem, 0);

    (void)state;
    assert_string_equal(behind(store, "s", 1, 0), "?");
    assert_int_equal(keep(store, "s", 1, 1, "a"), 0);
    assert_string_equal(behind(store, "s", 1, 2), "?");
    assert_string_equal(behind(store, "s", 1, UINT64_MAX), "?");
    assert_string_equal(behind(store, "s", 2, 0), "?");
    assert_string_equal(behind(store, "t", 1, 1), "?");
    store_done(&mem, store);
}

static void
the_oldest_leave_first(void **state)
{
    struct test_mem mem;
    mcp_memory_store *store = store_new(&mem, 3 * 1000);
    char data[800];

    (void)state;
    memset(data, 'x', sizeof(data) - 1);
    data[sizeof(data) - 1] = '\0';
    assert_int_equal(keep(store, "s", 1, 1, data), 0);
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(keep(store, "s", 2, i, data), 0);
    assert_string_equal(behind(store, "s", 1, 0), "?");
    assert_string_not_equal(behind(store, "s", 2, 0), "?");
    assert_int_equal(keep(store, "s", 2, 4, data), 0);
    assert_string_equal(behind(store, "s", 2, 0), "?");
    assert_string_not_equal(behind(store, "s", 2, 1), "?");
    assert_int_equal(keep(store, "t", 1, 1, data), 0);
    assert_string_not_equal(behind(store, "s", 2, 1), "?");
    store_done(&mem, store);
}

static void
an_event_that_is_not_kept_leaves_no_gap(void **state)
{
    struct test_mem mem;
    mcp_memory_store *store = store_new(&mem, 1000);
    char data[1001];

    (void)state;
    memset(data, 'x', sizeof(data) - 1);
    data[sizeof(data) - 1] = '\0';
    assert_int_equal(keep(store, "s", 1, 1, "a"), 0);
    assert_int_equal(keep(store, "s", 2, 1, "b"), 0);
    assert_int_equal(keep(store, "s", 1, 2, data), MCP_E_LIMIT);
    assert_int_equal(keep(store, "s", 1, 3, "c"), 0);
    assert_string_equal(behind(store, "s", 1, 1), "?");
    assert_string_equal(behind(store, "s", 1, 2), "3:c");
    assert_string_equal(behind(store, "s", 2, 0), "1:b");
    mem.fail_at = mem.total + 1;
    assert_int_equal(keep(store, "s", 1, 4, "d"), MCP_E_NOMEM);
    mem.fail_at = mem.total + 1;
    assert_int_equal(keep(store, "u", 1, 1, "d"), MCP_E_NOMEM);
    assert_string_equal(behind(store, "s", 1, 3), "?");
    store_done(&mem, store);
}

static void
what_is_forgotten_is_gone(void **state)
{
    struct test_mem mem;
    mcp_memory_store *store = store_new(&mem, 0);
    long live;

    (void)state;
    live = mem.live;
    assert_int_equal(keep(store, "s", 1, 1, "a"), 0);
    assert_int_equal(keep(store, "s", 2, 1, "b"), 0);
    forget(store, "s", 1);
    assert_string_equal(behind(store, "s", 1, 0), "?");
    assert_string_equal(behind(store, "s", 2, 0), "1:b");
    forget(store, "s", 0);
    assert_string_equal(behind(store, "s", 2, 0), "?");
    forget(store, "s", 0);
    forget(store, "never", 5);
    assert_int_equal(mem.live, live);
    store_done(&mem, store);
}

static void
sessions_are_bounded_too(void **state)
{
    struct test_mem mem;
    mcp_memory_store *store = store_new(&mem, 0);
    char id[32];

    (void)state;
    assert_int_equal(keep(store, "first", 1, 1, "a"), 0);
    assert_int_equal(keep(store, "second", 1, 1, "b"), 0);
    for (int i = 2; i < MCPI_STORE_SESSIONS; i++) {
        snprintf(id, sizeof(id), "%d", i);
        assert_int_equal(keep(store, id, 1, 1, ""), 0);
    }
    assert_int_equal(keep(store, "first", 1, 2, "c"), 0);
    assert_int_equal(keep(store, "one more", 1, 1, "d"), 0);
    assert_string_equal(behind(store, "second", 1, 0), "?");
    assert_string_equal(behind(store, "first", 1, 0), "1:a 2:c");
    assert_string_equal(behind(store, "one more", 1, 0), "1:d");
    store_done(&mem, store);
}

static void
flow(struct test_mem *mem, void *user)
{
    mcp_memory_store *store;

    (void)user;
    if (mcp_memory_store_new(&mem->allocator, 0, &store) < 0)
        return;
    if (keep(store, "s", 1, 1, "a") == 0)
        assert_string_equal(behind(store, "s", 1, 0), "1:a");
    mcp_memory_store_free(store);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) >= 3);
    assert_int_equal(mcp_memory_store_new(NULL, 0, NULL), MCP_E_INVAL);
    mcp_memory_store_free(NULL);
}

/* ---- several loops --------------------------------------------------------- */

#define ROUNDS 2000

struct loop {
    pthread_t thread;
    const mcp_memory_store *store;
    char session[16];
    bool fine;
};

static void
count(void *user, uint64_t number, const char *data, size_t len)
{
    (void)number;
    (void)data;
    *(size_t *)user += len;
}

/* Sessions of its own, as a loop has. */
static void *
loop_run(void *user)
{
    struct loop *loop = user;
    const mcp_event_store *i = mcp_memory_store_interface(loop->store);
    size_t heard;

    loop->fine = true;
    for (uint64_t n = 1; n <= ROUNDS; n++) {
        heard = 0;
        if (i->append(i->self, loop->session, 1, n, "abc", 3) < 0 ||
            i->replay(i->self, loop->session, 1, n - 1, count, &heard) < 0 ||
            heard != 3)
            loop->fine = false;
        if (n % 100 == 0)
            i->forget(i->self, loop->session, 0);
    }
    return NULL;
}

/* Where it is small they take each other's events. */
static void
run_loops(mcp_memory_store *store, struct loop loops[4])
{
    for (int i = 0; i < 4; i++) {
        loops[i] = (struct loop){.store = store};
        snprintf(loops[i].session, sizeof(loops[i].session), "s%d", i);
        assert_int_equal(pthread_create(&loops[i].thread, NULL, loop_run, &loops[i]),
                         0);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(loops[i].thread, NULL), 0);
}

static void
several_loops_use_it_at_once(void **state)
{
    struct test_mem mem;
    mcp_memory_store *store = store_new(&mem, 0);
    struct loop loops[4];

    (void)state;
    run_loops(store, loops);
    for (int i = 0; i < 4; i++)
        assert_true(loops[i].fine);
    store_done(&mem, store);
}

static void
several_loops_take_events_from_each_other(void **state)
{
    mcp_memory_store *store;
    struct test_mem mem;
    struct loop loops[4];

    (void)state;
    test_mem_init(&mem);
    assert_int_equal(mcpi_memory_store_new(&mem.allocator, 2000, 6000, &store), 0);
    run_loops(store, loops);
    for (int i = 0; i < 4; i++) /* the newest of all sessions fit */
        assert_true(loops[i].fine);
    store_done(&mem, store);
}

/* ---- all sessions together ------------------------------------------------- */

#define EVENT 500

/* A store for about so many events of EVENT bytes, a session of it for half of them. */
static mcp_memory_store *
small_store_new(struct test_mem *mem, size_t events)
{
    mcp_memory_store *store;
    size_t bytes = events * EVENT;

    test_mem_init(mem);
    assert_int_equal(mcpi_memory_store_new(&mem->allocator, bytes / 2, bytes, &store),
                     0);
    return store;
}

/* The first of them has number 1. */
static void
keep_many(const mcp_memory_store *store, const char *session, size_t events)
{
    static char text[EVENT];

    memset(text, 'x', sizeof(text) - 1);
    for (size_t i = 1; i <= events; i++)
        assert_int_equal(keep(store, session, 1, i, text), 0);
}

/* Issue 20, 5: however many sessions there are, and however much each is told. */
static void
all_sessions_together_are_bounded(void **state)
{
    mcp_memory_store *store;
    struct test_mem mem;
    char name[16];

    (void)state;
    store = small_store_new(&mem, 200);
    for (unsigned s = 0; s < 20; s++) {
        snprintf(name, sizeof(name), "s%u", s);
        keep_many(store, name, 200);
        assert_true(atomic_load(&mem.live) < 200 + 2 * 20);
        assert_string_equal(behind(store, name, 1, 200), "");
    }
    for (unsigned s = 0; s < 20; s++) {
        snprintf(name, sizeof(name), "s%u", s);
        assert_string_equal(behind(store, name, 1, 200), "");
        forget(store, name, 0);
    }
    assert_true(atomic_load(&mem.live) < 20);
    keep_many(store, "last", 200); /* nothing stays counted */
    assert_true(atomic_load(&mem.live) > 90);
    store_done(&mem, store);
}

/* Issue 20, 5: whoever is told little loses nothing to those that are told much. */
static void
who_holds_the_most_loses_its_oldest(void **state)
{
    mcp_memory_store *store;
    struct test_mem mem;
    char name[16];

    (void)state;
    store = small_store_new(&mem, 200);
    assert_int_equal(keep(store, "quiet", 1, 1, "a"), 0);
    keep_many(store, "greedy", 200);
    for (unsigned s = 0; s < 10; s++) {
        snprintf(name, sizeof(name), "s%u", s);
        keep_many(store, name, 10);
    }
    assert_string_equal(behind(store, "quiet", 1, 0), "1:a");
    for (unsigned s = 0; s < 10; s++) {
        snprintf(name, sizeof(name), "s%u", s);
        assert_string_not_equal(behind(store, name, 1, 0), "?");
    }
    assert_string_equal(behind(store, "greedy", 1, 100), "?");
    assert_string_equal(behind(store, "greedy", 1, 200), "");
    store_done(&mem, store);
}

struct reader {
    const mcp_memory_store *store;
    size_t events;
};

static void
keep_another(void *user, uint64_t number, const char *data, size_t len)
{
    struct reader *reader = user;
    static char text[EVENT];

    (void)data;
    assert_int_equal(len, EVENT - 1);
    memset(text, 'y', sizeof(text) - 1);
    (void)keep(reader->store, "other", 1, number, text);
    reader->events++;
}

static void
who_is_being_read_loses_nothing(void **state)
{
    mcp_memory_store *store;
    const mcp_event_store *i;
    struct reader reader;
    struct test_mem mem;

    (void)state;
    store = small_store_new(&mem, 40);
    i = mcp_memory_store_interface(store);
    keep_many(store, "a", 18);
    keep_many(store, "b", 16);
    reader = (struct reader){.store = store};
    assert_int_equal(i->replay(i->self, "a", 1, 0, keep_another, &reader), 0);
    assert_int_equal(reader.events, 18);
    assert_string_not_equal(behind(store, "a", 1, 0), "?");
    assert_string_equal(behind(store, "b", 1, 0), "?"); /* it held the most then */
    keep_many(store, "c", 16);
    assert_string_equal(behind(store, "a", 1, 0), "?"); /* read no more */
    store_done(&mem, store);
}

static void
an_event_above_an_equal_part_may_find_no_room(void **state)
{
    static char text[4 * EVENT];
    mcp_memory_store *store;
    struct test_mem mem;
    char name[16];

    (void)state;
    store = small_store_new(&mem, 40);
    memset(text, 'x', sizeof(text) - 1);
    for (unsigned s = 0; s < 36; s++) {
        snprintf(name, sizeof(name), "s%u", s);
        keep_many(store, name, 1);
    }
    assert_int_equal(keep(store, "late", 1, 1, "a"), 0);
    assert_int_equal(keep(store, "late", 2, 1, text), MCP_E_LIMIT);
    assert_string_equal(behind(store, "late", 1, 0), "1:a"); /* nothing went for it */
    assert_string_not_equal(behind(store, "s0", 1, 0), "?");
    assert_int_equal(keep(store, "late", 2, 2, "b"), 0);
    assert_string_equal(behind(store, "late", 2, 1), "2:b");
    store_done(&mem, store);
}

static void
one_session_has_no_more_than_all(void **state)
{
    mcp_memory_store *store;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    assert_int_equal(mcpi_memory_store_new(&mem.allocator, 100000, 10000, &store), 0);
    keep_many(store, "s", 200);
    assert_true(atomic_load(&mem.live) < 30); /* 20 events of that size */
    store_done(&mem, store);
}

/* ---- memory goes back ------------------------------------------------------ */

/* Issue 20: a gigabyte stayed with the server after its sessions were deleted. */
static void
what_was_forgotten_goes_back_to_the_system(void **state)
{
    const size_t half = MCPI_PEAK_LEAST / EVENT;
    mcp_memory_store *store;

    (void)state;
    trims = 0;
    assert_int_equal(
        mcpi_memory_store_new(NULL, MCPI_PEAK_LEAST, 4 * MCPI_PEAK_LEAST, &store), 0);
    keep_many(store, "a", half / 2);
    forget(store, "a", 0);
    assert_int_equal(trims, 0); /* that was not much */
    keep_many(store, "a", half);
    keep_many(store, "b", half);
    forget(store, "a", 0);
    assert_int_equal(trims, 0); /* and half of it is still needed */
    forget(store, "b", 1);
    assert_int_equal(trims, 1);
    forget(store, "b", 0);
    assert_int_equal(trims, 1);
    mcp_memory_store_free(store);
}

TEST_MAIN(TEST(a_stream_is_replayed_in_order_and_alone),
          TEST(one_session_has_no_more_than_all),
          TEST(all_sessions_together_are_bounded),
          TEST(who_holds_the_most_loses_its_oldest),
          TEST(who_is_being_read_loses_nothing),
          TEST(an_event_above_an_equal_part_may_find_no_room),
          TEST(what_was_forgotten_goes_back_to_the_system),
          TEST(what_is_not_known_is_an_error), TEST(the_oldest_leave_first),
          TEST(an_event_that_is_not_kept_leaves_no_gap),
          TEST(what_is_forgotten_is_gone), TEST(sessions_are_bounded_too),
          TEST(each_allocation_may_fail), TEST(several_loops_use_it_at_once),
          TEST(several_loops_take_events_from_each_other))
