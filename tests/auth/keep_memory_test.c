/* keep_memory_test.c - tokens in memory */
#include <pthread.h>

#include "auth/keep_fixture.h"

static mcp_token_keep *
keep_new(struct test_mem *mem)
{
    mcp_token_keep *keep;

    test_mem_init(mem);
    assert_int_equal(mcp_token_keep_memory(&mem->allocator, &keep), 0);
    return keep;
}

static void
keep_done(struct test_mem *mem, mcp_token_keep *keep)
{
    mcp_token_keep_free(keep);
    test_mem_done(mem);
}

static void
what_is_saved_is_found_until_it_is_forgotten(void **state)
{
    struct test_mem mem;
    mcp_token_keep *keep = keep_new(&mem);

    (void)state;
    assert_string_equal(keep_load(keep, "a"), "(none)");
    assert_int_equal(keep_save(keep, "a", "1"), 0);
    assert_int_equal(keep_save(keep, "b", "2"), 0);
    assert_int_equal(keep_save(keep, "a", "3"), 0);
    assert_string_equal(keep_load(keep, "a"), "3");
    assert_string_equal(keep_load(keep, "b"), "2");
    assert_int_equal(keep_save(keep, "a", NULL), 0);
    assert_int_equal(keep_save(keep, "a", NULL), 0);
    assert_string_equal(keep_load(keep, "a"), "(none)");
    assert_string_equal(keep_load(keep, "b"), "2");
    keep_done(&mem, keep);
}

static void
a_lock_is_for_one(void **state)
{
    struct test_mem mem;
    mcp_token_keep *keep = keep_new(&mem);

    (void)state;
    assert_int_equal(keep_lock(keep, "a"), 0);
    assert_int_equal(keep_lock(keep, "a"), MCP_E_AGAIN);
    assert_int_equal(keep_lock(keep, "b"), 0);
    assert_string_equal(keep_load(keep, "a"), "(none)");
    keep_unlock(keep, "a");
    keep_unlock(keep, "never locked");
    assert_int_equal(keep_lock(keep, "a"), 0);
    assert_int_equal(keep_save(keep, "a", "1"), 0);
    assert_int_equal(keep_save(keep, "a", NULL), 0);
    assert_int_equal(keep_lock(keep, "a"), MCP_E_AGAIN); /* forgotten, and locked */
    keep_unlock(keep, "a");
    keep_done(&mem, keep); /* b is locked to the end */
}

static void
what_is_no_key_is_refused(void **state)
{
    struct test_mem mem;
    mcp_token_keep *keep = keep_new(&mem);
    const char *text;

    (void)state;
    assert_int_equal(keep_load_status(keep, "", &text), MCP_E_INVAL);
    assert_int_equal(keep_save(keep, NULL, "1"), MCP_E_INVAL);
    assert_int_equal(keep_lock(keep, ""), MCP_E_INVAL);
    keep_unlock(keep, NULL);
    assert_int_equal(mcp_token_keep_memory(NULL, NULL), MCP_E_INVAL);
    keep_done(&mem, keep);
}

static void
secrets_are_wiped(void **state)
{
    struct watched watched;
    mcp_token_keep *keep;

    (void)state;
    watched_init(&watched);
    assert_int_equal(mcp_token_keep_memory(&watched.allocator, &keep), 0);
    assert_int_equal(keep_save(keep, "a", "{\"t\":\"" SECRET "\"}"), 0);
    assert_int_equal(keep_save(keep, "a", SECRET), 0);
    assert_int_equal(keep_save(keep, "a", NULL), 0);
    assert_int_equal(keep_save(keep, "a", SECRET), 0);
    mcp_token_keep_free(keep);
    watched_done(&watched);
}

static void
flow(struct test_mem *mem, void *user)
{
    mcp_token_keep *keep;
    int r;

    (void)user;
    r = mcp_token_keep_memory(&mem->allocator, &keep);
    if (r < 0) {
        assert_int_equal(r, MCP_E_NOMEM);
        return;
    }
    r = keep_save(keep, "a", "1");
    assert_true(r == 0 || r == MCP_E_NOMEM);
    assert_string_equal(keep_load(keep, "a"), r == 0 ? "1" : "(none)");
    if (r == 0 && keep_save(keep, "a", "2") < 0)
        assert_string_equal(keep_load(keep, "a"), "1"); /* what was, is */
    r = keep_lock(keep, "b");
    assert_true(r == 0 || r == MCP_E_NOMEM);
    keep_unlock(keep, "b");
    mcp_token_keep_free(keep);
}

static void
every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) >= 5);
}

/* ---- threads ------------------------------------------------------------------ */

#define THREADS 4
#define TURNS 500

static void *
count_up(void *user)
{
    const mcp_token_keep *keep = user;
    const mcp_token_store *i = mcp_token_keep_interface(keep);
    char text[32], *found;

    for (int n = 0; n < TURNS;) {
        if (i->lock(i->self, "count") == MCP_E_AGAIN)
            continue;
        if (i->load(i->self, "count", &found) < 0)
            return NULL;
        snprintf(text, sizeof text, "%ld", (found ? strtol(found, NULL, 10) : 0) + 1);
        mcp_text_free(found, NULL);
        if (i->save(i->self, "count", text) < 0)
            return NULL;
        i->unlock(i->self, "count");
        n++;
    }
    return user;
}

static void
threads_take_turns(void **state)
{
    struct test_mem mem;
    mcp_token_keep *keep = keep_new(&mem);
    pthread_t threads[THREADS];
    void *done;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, keep), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &done), 0);
        assert_ptr_equal(done, keep);
    }
    assert_string_equal(keep_load(keep, "count"), "2000");
    keep_done(&mem, keep);
}

TEST_MAIN(TEST(what_is_saved_is_found_until_it_is_forgotten), TEST(a_lock_is_for_one),
          TEST(what_is_no_key_is_refused), TEST(secrets_are_wiped),
          TEST(every_allocation_may_fail), TEST(threads_take_turns))
