/* client_test.c - a client: asked about, shared by threads, freed by any of them */
#include <stdio.h>
#include <string.h>

#include "api/client_fixture.h"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

/* It is all there: a program may look at what the client itself does not need. */
static void
discovery_has(mcp_client *client)
{
    static const char *const parts[] = {
        "\"supportedVersions\":[\"2026-07-28\"]", "\"capabilities\":{\"tools\":{}}",
        "\"ttlMs\":0", "\"cacheScope\":\"private\"",
        "\"io.modelcontextprotocol/serverInfo\":{\"name\":\"script\""};
    const char *said = mcp_client_discovery(client);

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!strstr(said, parts[i]))
            fail_msg("no %s in %s", parts[i], said);
}

static void
a_client_knows_its_server(void **state)
{
    bool is_modern = *(enum mcp_era *)*state == MCP_ERA_MODERN;
    struct fixture f;

    fixture_open(&f, state);
    assert_string_equal(mcp_client_version(f.client),
                        is_modern ? "2026-07-28" : "2025-11-25");
    assert_true(mcp_json_is_string(
        mcp_json_get(mcp_client_server_info(f.client), "name"), "script"));
    assert_non_null(mcp_json_get(mcp_client_server_capabilities(f.client), "tools"));
    assert_string_equal(mcp_client_instructions(f.client), "be kind");
    assert_int_equal(mcp_client_discovery(f.client) != NULL, is_modern);
    if (is_modern)
        discovery_has(f.client);
    assert_int_equal(mcp_client_pid(f.client), 0);
    fixture_close(&f);
}

static void
a_client_says_who_it_is(void **state)
{
    static const mcp_icon icons[] = {{.src = "https://example.org/i.png"}, {0}};
    enum mcp_era era = *(enum mcp_era *)*state;
    struct fixture f;

    fixture_prepare(&f, era);
    f.client = script_client(
        &f.s, &SCRIPT_OPTIONS(.allocator = &f.mem.allocator, .title = "Test",
                              .description = "it tests", .era = era,
                              .website = "https://example.org", .icons = icons));
    (void)script_line(&f.s,
                      "lientInfo\":{\"name\":\"test\",\"title\":\"Test\","
                      "\"version\":\"1\",\"description\":\"it tests\",\"websiteUrl\":"
                      "\"https://example.org\",\"icons\":[{\"src\":"
                      "\"https://example.org/i.png\"}]}",
                      1);
    fixture_close(&f);
}

/* ---- counters ------------------------------------------------------------ */

static void
calls_are_counted_by_how_they_end(void **state)
{
    mcp_client_counts counts = {.size = sizeof counts};
    mcp_client_counts old = {.size = offsetof(mcp_client_counts, answered),
                             .answered = 77};
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL, NULL, NULL, NULL), 0);
    assert_int_equal(mcp_client_call_tool(f.client, "fail", NULL, NULL, NULL, NULL),
                     MCP_E_PEER);
    assert_int_equal(mcp_client_call_tool(f.client, "hang", NULL,
                                          &MCP_CALL_OPTIONS(.timeout_ms = 10), NULL,
                                          NULL),
                     MCP_E_TIMEOUT);
    assert_int_equal(
        mcp_client_start_tool(f.client, "hang", NULL, NULL, NULL, NULL, &call), 0);
    assert_int_equal(mcp_client_count(f.client, &counts), 0);
    assert_int_equal(counts.size, sizeof counts);
    assert_int_equal(counts.calls, 1);
    assert_int_equal(counts.started, 4);
    assert_int_equal(counts.answered, 1);
    assert_int_equal(counts.failed, 1);
    assert_int_equal(counts.timed_out, 1);
    assert_int_equal(mcp_client_count(f.client, &old), 0);
    assert_int_equal(old.started, 4);
    assert_int_equal(old.answered, 77); /* beyond what that program knows */
    counts.size = 1;
    assert_int_equal(mcp_client_count(f.client, &counts), MCP_E_INVAL);
    mcp_call_free(call);
    fixture_close(&f);
}

/* ---- many threads -------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 120 };

struct hammer {
    struct fixture *f;
    unsigned seed;
    int wrong;
};

static unsigned
next_random(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

static void
hammer_blocking(struct hammer *h)
{
    char arguments[32];
    mcp_reply *reply;

    snprintf(arguments, sizeof arguments, "{\"n\":%u}", next_random(&h->seed));
    if (mcp_client_call_tool(h->f->client, "echo", arguments, NULL, &reply, NULL) < 0) {
        h->wrong++;
        return;
    }
    h->wrong += strcmp(mcp_reply_text(reply), arguments) != 0;
    mcp_reply_free(reply);
}

static void
hammer_canceled(struct hammer *h)
{
    mcp_call *call;
    int r;

    r = mcp_client_start_tool(h->f->client, next_random(&h->seed) % 2 ? "echo" : "hang",
                              NULL, NULL, told_done, &h->f->told, &call);
    if (r < 0) {
        h->wrong++;
        return;
    }
    if (next_random(&h->seed) % 2)
        sched_yield();
    (void)mcp_call_cancel(call, "hammered");
    if (next_random(&h->seed) % 2)
        (void)mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL);
    if (next_random(&h->seed) % 2)
        mcp_call_free(call);
    else
        mcp_call_release(call);
}

static void *
hammer_main(void *user)
{
    struct hammer *h = user;
    int i;

    for (i = 0; i < ROUNDS; i++) {
        if (next_random(&h->seed) % 2)
            hammer_blocking(h);
        else
            hammer_canceled(h);
    }
    return NULL;
}

static void
B33_eight_threads_hammer_one_client(void **state)
{
    mcp_client_counts counts = {.size = sizeof counts};
    struct hammer hammers[THREADS];
    pthread_t threads[THREADS];
    struct fixture f;
    int i;

    fixture_open(&f, state);
    for (i = 0; i < THREADS; i++) {
        hammers[i] = (struct hammer){&f, 17u * (unsigned)i + 1, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, hammer_main, &hammers[i]),
                         0);
    }
    for (i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(hammers[i].wrong, 0);
    }
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    assert_int_equal(mcp_client_count(f.client, &counts), 0);
    assert_int_equal(counts.calls, 0);
    assert_int_equal(counts.started, THREADS * ROUNDS + 1);
    assert_int_equal(counts.answered + counts.canceled, THREADS * ROUNDS + 1);
    fixture_close(&f);
}

static void *
call_until_closed(void *user)
{
    struct fixture *f = user;
    int r;

    do
        r = mcp_client_call_tool(f->client, "echo", NULL, NULL, NULL, NULL);
    while (r == 0);
    return (void *)(intptr_t)r;
}

static void
B22_a_close_ends_the_calls_of_all_threads(void **state)
{
    pthread_t threads[4];
    struct fixture f;
    void *r;
    int i;

    fixture_open(&f, state);
    for (i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_until_closed, &f), 0);
    script_line(&f.s, "\"echo\"", 20);
    mcp_client_close(f.client);
    for (i = 0; i < 4; i++) {
        pthread_join(threads[i], &r);
        assert_int_equal((int)(intptr_t)r, MCP_E_CLOSED);
    }
    fixture_close(&f);
}

/* ---- freeing ------------------------------------------------------------- */

static void
free_client_inside(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct fixture *f = user;

    mcp_client_free(f->client);
    told_done(call, status, reply, &f->told);
}

static void
M26_a_client_is_freed_inside_the_callback_of_a_call(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    assert_int_equal(mcp_client_start_tool(f.client, "echo", NULL, NULL,
                                           free_client_inside, &f, &call),
                     0);
    told_await(&f.told, done, 1);
    f.client = NULL;
    script_await_end(&f.s);
    mcp_call_free(call);
    while (atomic_load(&f.mem.live) > 0) /* its own thread frees it, soon */
        sched_yield();
    fixture_close(&f);
}

static void *
free_client(void *user)
{
    mcp_client_free(user);
    return NULL;
}

static void
M26_a_client_is_freed_by_another_thread_while_callbacks_run(void **state)
{
    struct fixture f;
    pthread_t thread;
    int i;

    fixture_open(&f, state);
    told_gate(&f.told, true);
    for (i = 0; i < 5; i++)
        assert_int_equal(mcp_client_start_tool(f.client, i % 2 ? "hang" : "echo", NULL,
                                               NULL, told_done, &f.told, NULL),
                         0);
    told_await(&f.told, at_gate, 3);
    assert_int_equal(pthread_create(&thread, NULL, free_client, f.client), 0);
    f.client = NULL;
    told_await(&f.told, at_gate, 5);
    told_gate(&f.told, false);
    pthread_join(thread, NULL);
    assert_int_equal(told_count(&f.told, done), 5); /* none runs after it */
    fixture_close(&f);
}

static void
nothing_is_a_client(void **state)
{
    (void)state;
    mcp_client_free(NULL);
    mcp_client_close(NULL);
    assert_null(mcp_client_version(NULL));
    assert_null(mcp_client_server_info(NULL));
    assert_null(mcp_client_discovery(NULL));
    assert_int_equal(mcp_client_pid(NULL), 0);
}

#define IN_BOTH_ERAS(test) \
    TEST_AS("modern." #test, test, &modern), TEST_AS("legacy." #test, test, &legacy)

TEST_MAIN(IN_BOTH_ERAS(a_client_knows_its_server),
          IN_BOTH_ERAS(a_client_says_who_it_is),
          TEST(calls_are_counted_by_how_they_end),
          IN_BOTH_ERAS(B33_eight_threads_hammer_one_client),
          TEST(B22_a_close_ends_the_calls_of_all_threads),
          TEST(M26_a_client_is_freed_inside_the_callback_of_a_call),
          TEST(M26_a_client_is_freed_by_another_thread_while_callbacks_run),
          TEST(nothing_is_a_client))
