/*
 * run/curl_resolve_test.c - an abort while a name is being resolved
 *
 * getaddrinfo is ours here: it does not return before the test says so.
 */
#include "run/curl_fixture.h"

#include <dirent.h>
#include <netdb.h>
#include <pthread.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int inside; /* how many are in there */
    bool open;  /* they may return */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Seen by libcurl, unlike the rest of a program of ours. */
__attribute__((visibility("default"))) int
getaddrinfo(const char *name, const char *service, const struct addrinfo *req,
            struct addrinfo **pai)
{
    (void)name, (void)service, (void)req, (void)pai;
    pthread_mutex_lock(&gate.lock);
    gate.inside++;
    pthread_cond_broadcast(&gate.changed);
    while (!gate.open)
        pthread_cond_wait(&gate.changed, &gate.lock);
    gate.inside--;
    pthread_mutex_unlock(&gate.lock);
    return EAI_NONAME;
}

static int
threads_alive(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = 0;

    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void
gate_set(bool open)
{
    pthread_mutex_lock(&gate.lock);
    gate.open = open;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static int
still_inside(void)
{
    int inside;

    pthread_mutex_lock(&gate.lock);
    inside = gate.inside;
    pthread_mutex_unlock(&gate.lock);
    return inside;
}

/* A request whose name is being resolved. */
static void
stuck_open(struct world *w, struct answer *a, int *threads)
{
    *threads = threads_alive();
    gate_set(false);
    world_open(w);
    answer_start_as(a, w, fetch_options("POST", "http://slow.invalid/", "{}"));
    for (int i = 0; i < AWAIT_MS && still_inside() == 0; i++) {
        world_step(w, 1);
        (void)poll(NULL, 0, 1);
    }
    assert_true(still_inside() > 0);
}

/* All are let go, and the fetcher is freed: no thread is left. */
static void
stuck_release(int threads)
{
    gate_set(true);
    for (int i = 0; i < AWAIT_MS && threads_alive() > threads; i++)
        (void)poll(NULL, 0, 1);
    assert_int_equal(threads_alive(), threads);
}

static void
E3_an_abort_does_not_wait_for_a_name(void **state)
{
    struct answer a = {.w = NULL}, b = {.w = NULL};
    struct world w;
    struct visit v;
    int threads;

    (void)state;
    stuck_open(&w, &a, &threads);
    assert_int_equal(mcpi_fetch_get_phase(a.fetch), MCPI_FETCH_UNSENT);
    answer_abort(&a); /* would wait for ever */
    assert_true(still_inside() > 0);
    answer_post(&b, &w, "{}"); /* and the loop goes on */
    visit_accept(&v, &w.script);
    visit_read(&v);
    visit_answer(&v, "200 OK", NULL, "");
    world_until(&w, &b.ended, 1);
    assert_false(b.faulty);
    assert_true(still_inside() > 0);
    gate_set(true);
    for (int i = 0; i < AWAIT_MS && still_inside() > 0; i++)
        (void)poll(NULL, 0, 1);
    world_step(&w, 3);
    assert_int_equal(a.ended, 0);
    visit_close(&v);
    world_close(&w);
    stuck_release(threads);
}

static void
E3_nor_does_the_end_of_a_fetcher(void **state)
{
    struct answer a = {.w = NULL};
    struct world w;
    int threads;

    (void)state;
    stuck_open(&w, &a, &threads);
    world_close(&w);
    assert_true(still_inside() > 0);
    assert_int_equal(a.ended, 0);
    stuck_release(threads);
}

static void
B5_a_name_that_takes_too_long_is_given_up(void **state)
{
    struct mcpi_curl_options opt = {.connect_us = 50000};
    struct answer a = {.w = NULL};
    int threads = threads_alive();
    struct world w;

    (void)state;
    gate_set(false);
    world_open_as(&w, opt, NULL);
    answer_start_as(&a, &w, fetch_options("POST", "http://slow.invalid/", "{}"));
    world_until(&w, &a.ended, 1);
    assert_int_equal(a.fault.status, MCP_E_SEND_FAILED);
    assert_true(a.fault.unsent);
    world_close(&w);
    stuck_release(threads);
}

static void
B5_a_name_that_nobody_knows(void **state)
{
    struct answer a = {.w = NULL};
    struct world w;
    int threads;

    (void)state;
    stuck_open(&w, &a, &threads);
    gate_set(true);
    world_until(&w, &a.ended, 1);
    assert_int_equal(a.fault.status, MCP_E_SEND_FAILED);
    assert_true(a.fault.unsent);
    assert_non_null(strstr(a.why, "slow.invalid"));
    world_close(&w);
    stuck_release(threads);
}

TEST_MAIN(TEST(E3_an_abort_does_not_wait_for_a_name),
          TEST(E3_nor_does_the_end_of_a_fetcher),
          TEST(B5_a_name_that_takes_too_long_is_given_up),
          TEST(B5_a_name_that_nobody_knows))
