/*
 * support/test.h - the frame of every test program, over cmocka
 *
 * A program is a table of cases and one main:
 *
 *     static void
 *     late_answer_is_dropped(void **state)
 *     {
 *         struct test_mem mem;
 *
 *         (void)state;
 *         test_mem_init(&mem);
 *         ... pass &mem.allocator to what is tested ...
 *         test_mem_done(&mem);
 *     }
 *
 *     TEST_MAIN(TEST(late_answer_is_dropped), TEST(...))
 *
 * Each case has a time limit. The program closes with one more case, `baseline`: the open
 * descriptors and the heap are what they were at its start. Each verdict is written to
 * the file that MCP_TEST_RESULTS names, as soon as it is known, so that a crash loses
 * nothing (see scripts/run-tests). MCP_TEST_CASE chooses the cases whose names hold its
 * text (see scripts/check).
 */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

/* cmocka.h wants these before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <mcp/base.h>
#include <stdatomic.h>
#include <stdbool.h>

/* One case. `state` is passed to it as cmocka does, by address. */
struct test_case {
    const char *name;
    void (*run)(void **state);
    void *state;
};

/* A case named as its function; one with a name of its own, for a case that is run on
 * several links ("pair.B1_cancel_reaches_peer") or with several inputs. */
/* clang-format off */
#define TEST(function) { #function, function, NULL }
#define TEST_AS(name, function, state) { name, function, state }
/* clang-format on */

#define TEST_MAIN(...)                                                     \
    int main(void)                                                         \
    {                                                                      \
        static const struct test_case cases[] = {__VA_ARGS__};             \
                                                                           \
        return test_main(__FILE__, cases, sizeof cases / sizeof cases[0]); \
    }

/* The same for a program that is executed anew: enter(argc, argv) runs first. */
#define TEST_MAIN_AFTER(enter, ...)                                        \
    int main(int argc, char **argv)                                        \
    {                                                                      \
        static const struct test_case cases[] = {__VA_ARGS__};             \
                                                                           \
        enter(argc, argv);                                                 \
        return test_main(__FILE__, cases, sizeof cases / sizeof cases[0]); \
    }

/* Runs the cases in order and then `baseline`. Returns what main should. For a table
 * that is made at run time; else TEST_MAIN. */
int test_main(const char *file, const struct test_case *cases, size_t count);

/* Ends the case as SKIPPED and says why. Does not return. */
void test_skip(const char *reason);

/* A bare skip() would not be counted. */
#undef skip
#define skip() test_skip("no reason given")

/* The number that MCP_TEST_SEED sets, for a case with random steps, or else its own one. */
uint64_t test_seed(uint64_t otherwise);

/* Called when the last case has ended, whichever cases were chosen: stops what several of
 * them share. One a program. */
void test_at_end(void (*stop)(void));

/* Replaces the time limit of a case, 120 s, for this one and those that follow. It only
 * ends what hangs. */
void test_limit(unsigned seconds);

/* The longest wait for what should happen at once: a minute. It only ends what hangs, too.
 * Both limits are MCP_TEST_SLOW times as long, where a machine is so many times slower. */
#define AWAIT_MS test_await_ms()
#define AWAIT_US (INT64_C(1000) * test_await_ms())
int test_await_ms(void);

/*
 * Counting memory. Give &mem.allocator to what is tested. With fail_at = n (from 1) the
 * nth allocation from now on fails, and with fail_after all later ones too.
 * Thread-safe. A realloc counts as an allocation.
 */
struct test_mem {
    mcp_allocator allocator;
    atomic_long live;      /* blocks that are allocated now */
    atomic_long total;     /* allocations tried so far, failed ones included */
    atomic_long failed;    /* allocations that were refused */
    atomic_size_t largest; /* block that was asked for */
    atomic_long fail_at;   /* refuse the allocation that makes total this; 0: none */
    bool fail_after;       /* refuse all later ones too */
    const char *secret;    /* no block holds it when it is freed; NULL: whatever */
    atomic_long spilled;   /* so many did */
};

void test_mem_init(struct test_mem *mem);

/* Fails the case if a block is still allocated, or held the secret when it was freed. */
void test_mem_done(struct test_mem *mem);

/* The same, but for what a thread frees at its end that nobody has waited for long: a
 * handler of a server that was freed, on a machine that is busy. Waits for it. */
void test_mem_await(struct test_mem *mem);

/*
 * Runs `flow` with the 1st allocation failing, then the 2nd, and so on until a run in
 * which none failed; fails the case if a run leaves a block allocated. `flow` must make
 * everything from mem->allocator, expect failure, and free what it made. Returns how
 * many allocations the flow makes when nothing fails.
 */
long test_each_allocation_fails(void (*flow)(struct test_mem *mem, void *user),
                                void *user);

#endif
