/* client_wire_test.c - who watches the wire of a client */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/client_fixture.h"

/* All that was shown, each with a mark before it and a newline behind. */
struct watcher {
    struct fixture f;
    pthread_mutex_t lock; /* guards the next three */
    char text[16384];
    size_t count;
    pthread_t thread; /* on which the last one was */
};

static void
on_wire(mcp_client *client, enum mcp_wire what, const char *text, size_t length,
        void *user)
{
    struct watcher *w = user;
    size_t used;

    assert_non_null(client);
    pthread_mutex_lock(&w->lock);
    used = strlen(w->text);
    (void)snprintf(w->text + used, sizeof(w->text) - used, "%c %.*s\n", " ><="[what],
                   (int)length, text);
    w->count++;
    w->thread = pthread_self();
    pthread_mutex_unlock(&w->lock);
}

static void
watcher_open(struct watcher *w, mcp_client_options opt, enum mcp_era era)
{
    memset(w, 0, sizeof(*w));
    assert_int_equal(pthread_mutex_init(&w->lock, NULL), 0);
    fixture_prepare(&w->f, era);
    opt.allocator = &w->f.mem.allocator;
    opt.on_wire = on_wire;
    opt.user = w;
    w->f.client = script_client(&w->f.s, &opt);
}

static void
watcher_close(struct watcher *w)
{
    fixture_close(&w->f);
    pthread_mutex_destroy(&w->lock);
}

static size_t
watcher_count(struct watcher *w)
{
    size_t count;

    pthread_mutex_lock(&w->lock);
    count = w->count;
    pthread_mutex_unlock(&w->lock);
    return count;
}

/* The lines that begin so; fails the case unless there are that many. Where the last
 * one stands. */
static const char *
watcher_has(struct watcher *w, const char *line, size_t times)
{
    const char *at, *found = NULL;
    size_t n = 0;

    pthread_mutex_lock(&w->lock);
    for (at = w->text; *at; at = strchr(at, '\n') + 1)
        if (strncmp(at, line, strlen(line)) == 0) {
            found = at;
            n++;
        }
    pthread_mutex_unlock(&w->lock);
    if (n != times)
        fail_msg("%zu times, not %zu: %s\n%s", n, times, line, w->text);
    return found;
}

/* Wait for such a line. */
static void
watcher_await(struct watcher *w, const char *line)
{
    const struct timespec moment = {0, 1000000};
    bool seen = false;

    for (int i = 0; i < 60000 && !seen; i++) {
        pthread_mutex_lock(&w->lock);
        seen = strstr(w->text, line) != NULL;
        pthread_mutex_unlock(&w->lock);
        if (!seen)
            (void)nanosleep(&moment, NULL);
    }
    assert_true(seen);
}

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

#define DISCOVER "> {\"jsonrpc\":\"2.0\",\"id\":\"libmcp:discover\",\"method\""
#define INITIALIZE "> {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\""

static void
a_conversation_is_shown_from_its_first_message_to_its_end(void **state)
{
    enum mcp_era era = *(enum mcp_era *)*state;
    const char *sent, *came, *asks;
    struct watcher w;

    watcher_open(&w, SCRIPT_OPTIONS(.era = era), era);
    asks = watcher_has(&w, era == MCP_ERA_MODERN ? DISCOVER : INITIALIZE, 1);
    assert_ptr_equal(asks, w.text);
    assert_int_equal(mcp_client_call_tool(w.f.client, "echo", "{\"a\":1}",
                                          &MCP_CALL_OPTIONS(.id = MCP_NUMBER_ID(77)),
                                          NULL, NULL),
                     0);
    sent = watcher_has(&w, "> {\"jsonrpc\":\"2.0\",\"id\":77,", 1);
    came = watcher_has(&w, "< {\"jsonrpc\":\"2.0\",\"id\":77,", 1);
    assert_true(asks < sent && sent < came);
    watcher_has(&w, "= ", 0);
    mcp_client_free(w.f.client); /* and it still sees what that leads to */
    w.f.client = NULL;
    assert_true(came < watcher_has(&w, "= the connection is closed", 1));
    watcher_close(&w);
}

static void
a_cancel_is_shown_once_with_its_id(void **state)
{
    enum mcp_era era = *(enum mcp_era *)*state;
    struct watcher w;
    mcp_call *call;

    watcher_open(&w, SCRIPT_OPTIONS(.era = era), era);
    assert_int_equal(mcp_client_start_tool(w.f.client, "hang", NULL,
                                           &MCP_CALL_OPTIONS(.id = MCP_NUMBER_ID(77)),
                                           NULL, NULL, &call),
                     0);
    (void)script_line(&w.f.s, "\"hang\"", 1);
    assert_int_equal(mcp_call_cancel(call, "enough"), 0);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    assert_int_equal(mcp_call_flush(call, AWAIT_MS), 0);
    watcher_has(&w,
                "> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                "\"params\":{\"requestId\":77,",
                1);
    mcp_call_free(call);
    watcher_close(&w);
}

static void
what_a_server_prints_by_accident_is_shown(void **state)
{
    struct watcher w;

    (void)state;
    watcher_open(&w, SCRIPT_OPTIONS(.era = MCP_ERA_LEGACY), MCP_ERA_LEGACY);
    script_say(&w.f.s, "Listening on \x1b[1mstdio");
    assert_int_equal(mcp_client_ping(w.f.client, NULL, NULL), 0);
    watcher_has(&w, "= what came is no message (Parse error): Listening on ?[1mstdio\n",
                1);
    script_leave(&w.f.s);
    watcher_await(&w, "= the connection is closed\n");
    watcher_has(&w, "= EOF: nothing more will come\n", 1);
    watcher_close(&w);
}

static pthread_t loop_thread;

static void
note_thread(void *user)
{
    mcp_loop_stop(user);
    loop_thread = pthread_self();
}

static void *
run_loop(void *user)
{
    return (void *)(intptr_t)mcp_loop_run(user);
}

static void
it_is_called_on_the_thread_of_the_loop(void **state)
{
    struct watcher w;
    pthread_t thread;
    mcp_loop *loop;
    void *ran;

    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, run_loop, loop), 0);
    watcher_open(&w, SCRIPT_OPTIONS(.loop = loop), MCP_ERA_LEGACY);
    assert_int_equal(mcp_client_ping(w.f.client, NULL, NULL), 0);
    mcp_client_free(w.f.client);
    w.f.client = NULL;
    assert_int_equal(mcp_loop_post(loop, note_thread, loop), 0);
    assert_int_equal(pthread_join(thread, &ran), 0);
    assert_null(ran);
    assert_true(pthread_equal(w.thread, loop_thread));
    mcp_loop_free(loop);
    watcher_close(&w);
}

static void
whoever_frees_it_without_waiting_sees_nothing_any_more(void **state)
{
    struct watcher w;
    mcp_loop *loop;
    size_t count;

    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), 0);
    watcher_open(&w, SCRIPT_OPTIONS(.loop = loop, .no_wait = true), MCP_ERA_LEGACY);
    while (watcher_count(&w) < 3) /* we are who runs it */
        assert_int_equal(mcp_loop_step(loop), 0);
    mcp_client_free(w.f.client); /* so this only begins */
    w.f.client = NULL;
    count = watcher_count(&w);
    while (w.f.mem.live > 0)
        assert_int_equal(mcp_loop_step(loop), 0);
    assert_int_equal(watcher_count(&w), count);
    script_await_end(&w.f.s);
    mcp_loop_free(loop);
    watcher_close(&w);
}

static void
one_that_could_not_be_opened_was_watched_too(void **state)
{
    static const char *const command[] = {"/bin/sh", "-c", "echo hello; exit 7", NULL};
    struct watcher w = {.count = 0};
    mcp_client *client = NULL;
    mcp_error err = {0};

    (void)state;
    assert_int_equal(pthread_mutex_init(&w.lock, NULL), 0);
    assert_int_equal(mcp_client_spawn(command,
                                      &SCRIPT_OPTIONS(.on_wire = on_wire, .user = &w),
                                      &client, &err),
                     MCP_E_CLOSED);
    watcher_has(&w, "= process ", 2);
    assert_non_null(strstr(w.text, " was started\n"));
    watcher_has(&w, "= what came is no message (Parse error): hello\n", 1);
    assert_non_null(strstr(w.text, " exited with status 7\n"));
    watcher_has(&w, "= the connection is closed\n", 1);
    pthread_mutex_destroy(&w.lock);
}

static void
a_server_that_we_end_is_told_too(void **state)
{
    static const char *const command[] = {"/bin/sh", "-c",
                                          "trap '' HUP; exec sleep 600", NULL};
    struct watcher w = {.count = 0};
    mcp_client *client = NULL;

    (void)state;
    assert_int_equal(pthread_mutex_init(&w.lock, NULL), 0);
    assert_int_equal(
        mcp_client_spawn(command,
                         &SCRIPT_OPTIONS(.on_wire = on_wire, .user = &w,
                                         .era = MCP_ERA_LEGACY, .hello_ms = 10,
                                         .exit_ms = 10, .term_ms = 60000),
                         &client, NULL),
        MCP_E_TIMEOUT);
    watcher_has(&w, INITIALIZE, 1);
    watcher_has(&w, "= signal 15 ended process ", 1);
    pthread_mutex_destroy(&w.lock);
}

static void
a_caller_who_does_not_know_it_is_served(void **state)
{
    mcp_client_options opt = SCRIPT_OPTIONS(.era = MCP_ERA_LEGACY);
    struct fixture f;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    opt.size = offsetof(mcp_client_options, on_wire);
    opt.allocator = &f.mem.allocator;
    opt.on_wire = on_wire; /* behind its size */
    f.client = script_client(&f.s, &opt);
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    fixture_close(&f);
}

#define IN_BOTH_ERAS(fn) \
    TEST_AS("modern." #fn, fn, &modern), TEST_AS("legacy." #fn, fn, &legacy)

TEST_MAIN(IN_BOTH_ERAS(a_conversation_is_shown_from_its_first_message_to_its_end),
          IN_BOTH_ERAS(a_cancel_is_shown_once_with_its_id),
          TEST(what_a_server_prints_by_accident_is_shown),
          TEST(it_is_called_on_the_thread_of_the_loop),
          TEST(whoever_frees_it_without_waiting_sees_nothing_any_more),
          TEST(one_that_could_not_be_opened_was_watched_too),
          TEST(a_server_that_we_end_is_told_too),
          TEST(a_caller_who_does_not_know_it_is_served))
