/* support/test.c - runs the cases, records verdicts, counts memory and descriptors */
#include "support/test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

/*
 * libc keeps the stacks of threads that have ended, and a little heap for each. Leaks
 * below this size are found exactly by test_mem and by LeakSanitizer.
 */
#define HEAP_SLACK ((size_t)16 * 1024)
#define LIMIT_S 120
#define BLOCK_HEADER (sizeof(max_align_t))

struct frame {
    const char *verdict; /* of the case that runs */
    FILE *results;       /* NULL: nobody asked for them */
    char program[64];
    long descriptors;     /* at the start */
    size_t heap;          /* at the start */
    atomic_long live;     /* blocks of all test_mem */
    atomic_long threads;  /* created so far */
    unsigned limit;       /* seconds for each case */
    void (*at_end)(void); /* NULL: nothing is shared */
};

static struct frame frame;

/*
 * Counts the threads that a program creates, those of libraries too: tests/programs.txt
 * says which programs do, and those run under TSan. A sanitizer has its own function of
 * this name.
 */
#if !TEST_SANITIZED
typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
               void *user)
{
    create_fn *create;

    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    atomic_fetch_add(&frame.threads, 1);
    return create(thread, attr, run, user);
}
#endif

static long
entries_of(const char *folder)
{
    DIR *dir = opendir(folder);
    long count = 0;

    if (!dir)
        return 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static long
descriptors_open(void)
{
    return entries_of("/proc/self/fd");
}

#if defined(__GLIBC__) && !TEST_SANITIZED
/* libc keeps some freed blocks of each size for the thread that freed them, and counts them
 * as in use. Which ones these are depends on chance: so we have all of them while we look. */
enum { KEPT_SIZES = 64, KEPT_EACH = 7, KEPT_STEP = 16 };

static size_t
heap_in_use(void)
{
    void *kept[KEPT_SIZES * KEPT_EACH];
    struct mallinfo2 info;
    size_t ours = 0;

    for (size_t i = 0; i < KEPT_SIZES * KEPT_EACH; i++) {
        kept[i] = malloc(i / KEPT_EACH * KEPT_STEP + KEPT_STEP + sizeof(size_t));
        ours += malloc_usable_size(kept[i]) + sizeof(size_t);
    }
    info = mallinfo2();
    for (size_t i = 0; i < KEPT_SIZES * KEPT_EACH; i++)
        free(kept[i]);
    return info.uordblks + info.hblkhd - ours;
}
#else
static size_t
heap_in_use(void)
{
    return 0;
}
#endif

static void *
thread_nothing(void *user)
{
    *(pid_t *)user = (pid_t)syscall(SYS_gettid);
    return NULL;
}

/* One that has been joined is listed for another moment: a case that counts threads
 * must not count it. TSan has a thread of its own from then on. */
static void
thread_come_and_go(void)
{
    pthread_t thread;
    pid_t id = 0;

    if (pthread_create(&thread, NULL, thread_nothing, &id) != 0)
        return;
    pthread_join(thread, NULL);
    while (syscall(SYS_tgkill, getpid(), id, 0) == 0)
        sched_yield();
}

/* What libc and libuv open or allocate once and keep comes before the baseline. With
 * its first loop libuv opens two descriptors for the whole process. A thread that
 * allocates may get a heap of its own, which libc keeps: one heap is enough here. */
static void
baseline_take(void)
{
    uv_loop_t loop;

    if (uv_loop_init(&loop) == 0)
        (void)uv_loop_close(&loop);
#ifdef M_ARENA_MAX
    (void)mallopt(M_ARENA_MAX, 1);
#endif
    thread_come_and_go();
    printf("%s, MCP_TEST_SEED=%llu\n", frame.program, (unsigned long long)test_seed(1));
    fflush(stdout);
    frame.descriptors = descriptors_open();
    frame.heap = heap_in_use();
    atomic_store(&frame.threads, 0);
}

static bool
baseline_kept(void)
{
    long descriptors = descriptors_open() - frame.descriptors;
    long live = atomic_load(&frame.live);
    size_t heap = heap_in_use();

    if (descriptors != 0)
        printf("baseline: %+ld open descriptors\n", descriptors);
    if (live != 0)
        printf("baseline: %ld blocks of test_mem still allocated\n", live);
    if (heap > frame.heap + HEAP_SLACK)
        printf("baseline: %zu bytes more heap\n", heap - frame.heap);
    return descriptors == 0 && live == 0 && heap <= frame.heap + HEAP_SLACK;
}

static void
record(const char *name, const char *verdict)
{
    if (!frame.results)
        return;
    fprintf(frame.results, "%s\t%s\n", name, verdict);
    fflush(frame.results);
}

static void
frame_name(const char *file)
{
    const char *base = strrchr(file, '/');

    snprintf(frame.program, sizeof frame.program, "%s", base ? base + 1 : file);
}

static void
frame_open(size_t count)
{
    const char *path = getenv("MCP_TEST_RESULTS");

    if (path)
        frame.results = fopen(path, "w");
    if (frame.results)
        fprintf(frame.results, "#plan\t%zu\n", count + 1);
    test_limit(LIMIT_S);
}

/* A failing assertion leaves by longjmp, so what stands after the call means PASS. */
static void
case_run(void **state)
{
    const struct test_case *c = *state;
    void *own = c->state;

    frame.verdict = "FAIL";
    alarm(frame.limit);
    c->run(&own);
    frame.verdict = "PASS";
}

static int
case_end(void **state)
{
    const struct test_case *c = *state;

    record(c->name, frame.verdict);
    return 0;
}

/* Fills in what cmocka runs: the cases whose names hold the text of MCP_TEST_CASE. */
static size_t
cases_choose(struct CMUnitTest *tests, const struct test_case *cases, size_t count)
{
    const char *wanted = getenv("MCP_TEST_CASE");
    size_t i, chosen = 0;

    for (i = 0; i < count; i++) {
        if (wanted && !strstr(cases[i].name, wanted))
            continue;
        tests[chosen++] = (struct CMUnitTest){
            .name = cases[i].name,
            .test_func = case_run,
            .teardown_func = case_end,
            .initial_state = (void *)(uintptr_t)&cases[i]};
    }
    if (chosen == 0)
        fprintf(stderr, "%s: no case is named %s\n", frame.program, wanted);
    return chosen;
}

static int
group_end(void **state)
{
    (void)state;
    if (frame.at_end)
        frame.at_end();
    return 0;
}

static void
frame_close(bool kept)
{
    record("baseline", kept ? "PASS" : "FAIL");
    if (frame.results) {
        fprintf(frame.results, "#threads\t%ld\n", atomic_load(&frame.threads));
        fclose(frame.results);
    }
}

int
test_main(const char *file, const struct test_case *cases, size_t count)
{
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    int failed;
    bool kept;

    if (!tests)
        return 1;
    frame_name(file);
    count = cases_choose(tests, cases, count);
    frame_open(count);
    baseline_take();
    failed = _cmocka_run_group_tests(frame.program, tests, count, NULL, group_end);
    /* a failed case may have left its things behind: that is not a second fault */
    kept = baseline_kept() || failed;
    frame_close(kept);
    free(tests);
    return failed || !kept || count == 0;
}

void
test_skip(const char *reason)
{
    printf("skipped: %s\n", reason);
    frame.verdict = "SKIP";
    _skip(__FILE__, __LINE__);
}

uint64_t
test_seed(uint64_t otherwise)
{
    const char *given = getenv("MCP_TEST_SEED");

    return given ? strtoull(given, NULL, 10) : otherwise;
}

void
test_at_end(void (*stop)(void))
{
    frame.at_end = stop;
}

/* How many times slower than others is this machine? */
static unsigned
slowness(void)
{
    const char *slow = getenv("MCP_TEST_SLOW");

    return slow ? (unsigned)strtoul(slow, NULL, 10) : 1;
}

void
test_limit(unsigned seconds)
{
    /* sanitizers make a program several times slower */
    frame.limit = (TEST_SANITIZED ? seconds * 3 : seconds) * slowness();
    alarm(frame.limit);
}

int
test_await_ms(void)
{
    return 60000 * (int)slowness();
}

/* Each block knows its size, so that realloc can always move and a use of the old block
 * is caught by the sanitizers. */
static bool
mem_refuses(struct test_mem *mem, size_t size)
{
    long n = atomic_fetch_add(&mem->total, 1) + 1;
    long at = atomic_load(&mem->fail_at);
    size_t largest = atomic_load(&mem->largest);

    while (size > largest &&
           !atomic_compare_exchange_weak(&mem->largest, &largest, size)) {
    }
    if (at == 0 || n < at || (n > at && !mem->fail_after))
        return false;
    atomic_fetch_add(&mem->failed, 1);
    return true;
}

static void *
mem_alloc(void *user, size_t size)
{
    struct test_mem *mem = user;
    size_t *block;

    if (mem_refuses(mem, size))
        return NULL;
    block = malloc(BLOCK_HEADER + size);
    if (!block)
        return NULL;
    *block = size;
    memset((char *)block + BLOCK_HEADER, 0xa5, size);
    atomic_fetch_add(&mem->live, 1);
    atomic_fetch_add(&frame.live, 1);
    return (char *)block + BLOCK_HEADER;
}

static size_t
block_size(const void *ptr)
{
    return *(const size_t *)(const void *)((const char *)ptr - BLOCK_HEADER);
}

static void
mem_free(void *user, void *ptr)
{
    struct test_mem *mem = user;

    if (!ptr)
        return;
    if (mem->secret && memmem(ptr, block_size(ptr), mem->secret, strlen(mem->secret)))
        atomic_fetch_add(&mem->spilled, 1);
    atomic_fetch_sub(&mem->live, 1);
    atomic_fetch_sub(&frame.live, 1);
    free((char *)ptr - BLOCK_HEADER);
}

static void *
mem_realloc(void *user, void *ptr, size_t size)
{
    size_t old = ptr ? block_size(ptr) : 0;
    void *moved = mem_alloc(user, size);

    if (!moved)
        return NULL;
    if (ptr)
        memcpy(moved, ptr, old < size ? old : size);
    mem_free(user, ptr);
    return moved;
}

void
test_mem_init(struct test_mem *mem)
{
    memset(mem, 0, sizeof *mem);
    mem->allocator.alloc = mem_alloc;
    mem->allocator.realloc = mem_realloc;
    mem->allocator.free = mem_free;
    mem->allocator.user = mem;
}

void
test_mem_done(struct test_mem *mem)
{
    assert_int_equal(atomic_load(&mem->live), 0);
    assert_int_equal(atomic_load(&mem->spilled), 0);
}

void
test_mem_await(struct test_mem *mem)
{
    int i;

    for (i = 0; i < AWAIT_MS && atomic_load(&mem->live) > 0; i++)
        (void)poll(NULL, 0, 1);
    test_mem_done(mem);
}

long
test_each_allocation_fails(void (*flow)(struct test_mem *mem, void *user), void *user)
{
    struct test_mem mem;
    long n;

    for (n = 1;; n++) {
        test_mem_init(&mem);
        atomic_store(&mem.fail_at, n);
        flow(&mem, user);
        test_mem_done(&mem);
        if (atomic_load(&mem.failed) == 0)
            return atomic_load(&mem.total);
    }
}
