/* wait_test.c - blocking for a request, until something comes or its cancel does */
#include "api/raw_client.h"

struct waiter {
    atomic_int entered, woken, returned;
    int pipe[2];
    int timeout_ms;
    int status, ready, revents;
};

static int
sleep_long(mcp_request *req, mcp_result *out, void *user)
{
    struct waiter *w = user;
    int r;

    (void)out;
    atomic_fetch_add(&w->entered, 1);
    r = mcp_request_sleep(req, INT64_MAX);
    atomic_fetch_add(r == MCP_E_CANCELED ? &w->woken : &w->returned, 1);
    return r;
}

static void
F3_a_cancel_ends_a_sleep(void **state)
{
    struct waiter w = {.status = 0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "sleep", .run = sleep_long, .user = &w));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "sleep", NULL);
    RAW_UNTIL(atomic_load(&w.entered) == 1);
    raw_cancel(&raw, "1", "wake up");
    RAW_UNTIL(atomic_load(&w.woken) == 1);
    RAW_UNTIL(raw_counts(&raw).stopped == 1);
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static int
sleep_short(mcp_request *req, mcp_result *out, void *user)
{
    int64_t before = raw_now_ms();
    int r = mcp_request_sleep(req, 20);

    (void)user;
    if (raw_now_ms() - before < 19)
        return MCP_E_STATE;
    if (r == 0)
        r = mcp_request_sleep(req, 0);
    return r < 0 ? r : mcp_result_text(out, "slept");
}

static void
a_sleep_takes_its_time(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "sleep", .run = sleep_short));
    raw_tool(&raw,
             MCP_TOOL(.name = "signal", .run = sleep_short, .flags = MCP_SIGNAL_ONLY));
    raw_start(&raw, true);
    raw_call(&raw, "1", "sleep", NULL);
    raw_expect(&raw, "slept");
    raw_call(&raw, "2", "signal", NULL);
    raw_expect(&raw, "slept");
    raw_done(&raw);
}

static int
poll_pipe(mcp_request *req, mcp_result *out, void *user)
{
    struct waiter *w = user;
    struct pollfd fds[2] = {{.fd = -1}, {.fd = w->pipe[0], .events = POLLIN}};

    atomic_fetch_add(&w->entered, 1);
    w->status = mcp_request_poll(req, fds, 2, w->timeout_ms, &w->ready);
    w->revents = fds[1].revents;
    atomic_fetch_add(&w->returned, 1);
    return w->status < 0 ? w->status : mcp_result_text(out, "polled");
}

static void
open_polling(struct raw *raw, struct waiter *w, int timeout_ms)
{
    *w = (struct waiter){.timeout_ms = timeout_ms, .status = 1, .ready = -1};
    assert_int_equal(pipe(w->pipe), 0);
    raw_make(raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(raw, MCP_TOOL(.name = "poll", .run = poll_pipe, .user = w));
    raw_start(raw, true);
    raw_call(raw, "1", "poll", NULL);
    RAW_UNTIL(atomic_load(&w->entered) == 1);
}

static void
close_polling(struct raw *raw, struct waiter *w)
{
    raw_done(raw);
    close(w->pipe[0]);
    close(w->pipe[1]);
}

static void
a_poll_ends_when_something_comes(void **state)
{
    struct waiter w;
    struct raw raw;

    (void)state;
    open_polling(&raw, &w, -1);
    assert_int_equal(write(w.pipe[1], "x", 1), 1);
    raw_expect(&raw, "polled");
    assert_int_equal(w.ready, 1);
    assert_int_equal(w.revents, POLLIN);
    close_polling(&raw, &w);
}

static void
a_poll_ends_when_its_time_is_up(void **state)
{
    struct waiter w;
    struct raw raw;

    (void)state;
    open_polling(&raw, &w, 1);
    raw_expect(&raw, "polled");
    assert_int_equal(w.ready, 0);
    assert_int_equal(w.revents, 0);
    close_polling(&raw, &w);
}

static void
F3_a_cancel_ends_a_poll(void **state)
{
    struct waiter w;
    struct raw raw;

    (void)state;
    open_polling(&raw, &w, -1);
    raw_cancel(&raw, "1", "stop");
    RAW_UNTIL(atomic_load(&w.returned) == 1);
    assert_int_equal(w.status, MCP_E_CANCELED);
    raw_expect_silence(&raw);
    close_polling(&raw, &w);
}

/* ---- where it cannot wait ----------------------------------------------- */

static int
wait_here(mcp_request *req, mcp_result *out, void *user)
{
    int ready;

    (void)user;
    return mcp_result_textf(out, "%d %d", mcp_request_sleep(req, 1),
                            mcp_request_poll(req, NULL, 0, 1, &ready));
}

static void
on_the_loop_nothing_waits(void **state)
{
    char text[32];
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "wait", .reply = wait_here));
    raw_start(&raw, true);
    raw_call(&raw, "1", "wait", NULL);
    snprintf(text, sizeof(text), "%d %d", MCP_E_STATE, MCP_E_STATE);
    raw_expect(&raw, text);
    raw_done(&raw);
}

static int
wait_wrongly(mcp_request *req, mcp_result *out, void *user)
{
    struct pollfd fds[65];
    int ready;

    (void)user;
    memset(fds, 0, sizeof(fds));
    assert_int_equal(mcp_request_sleep(NULL, 1), MCP_E_INVAL);
    assert_int_equal(mcp_request_sleep(req, -1), MCP_E_INVAL);
    assert_int_equal(mcp_request_poll(NULL, fds, 1, 1, &ready), MCP_E_INVAL);
    assert_int_equal(mcp_request_poll(req, NULL, 1, 1, &ready), MCP_E_INVAL);
    assert_int_equal(mcp_request_poll(req, fds, 65, 1, &ready), MCP_E_INVAL);
    assert_int_equal(mcp_request_poll(req, fds, 1, -2, &ready), MCP_E_INVAL);
    assert_int_equal(mcp_request_poll(req, fds, 1, 1, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_request_poll(req, NULL, 0, 0, &ready), 0);
    return mcp_result_text(out, "refused");
}

static void
bad_arguments_are_refused(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "wait", .run = wait_wrongly));
    raw_start(&raw, true);
    raw_call(&raw, "1", "wait", NULL);
    raw_expect(&raw, "refused");
    raw_done(&raw);
}

/* ---- many who sleep ----------------------------------------------------- */

#define SLEEPERS 12

static void
more_sleep_than_the_pool_has_room_for(void **state)
{
    struct waiter w = {0};
    char id[16];
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.workers = 2, .overdue = 4));
    raw_tool(&raw, MCP_TOOL(.name = "sleep", .run = sleep_long, .user = &w));
    raw_start(&raw, true);
    for (int i = 0; i < SLEEPERS; i++) {
        snprintf(id, sizeof(id), "%d", i);
        raw_call(&raw, id, "sleep", NULL);
    }
    RAW_UNTIL(atomic_load(&w.entered) >= 6); /* those that count, and those beyond */
    for (int i = 0; i < SLEEPERS; i++) {
        snprintf(id, sizeof(id), "%d", i);
        raw_cancel(&raw, id, "all");
    }
    RAW_UNTIL(raw_counts(&raw).stopped + raw_counts(&raw).never_started == SLEEPERS);
    raw_expect_silence(&raw);
    raw_done(&raw);
}

TEST_MAIN(TEST_ERAS(F3_a_cancel_ends_a_sleep), TEST(a_sleep_takes_its_time),
          TEST(a_poll_ends_when_something_comes), TEST(a_poll_ends_when_its_time_is_up),
          TEST(F3_a_cancel_ends_a_poll), TEST(on_the_loop_nothing_waits),
          TEST(bad_arguments_are_refused), TEST(more_sleep_than_the_pool_has_room_for))
