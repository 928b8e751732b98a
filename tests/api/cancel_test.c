/* cancel_test.c - a request is told to stop: flag, reason, descriptor, hooks;
 * silence */
#include "api/raw_client.h"
#include "api/request.h"

/* A handler that waits for its cancel and then notes what it sees. */
struct listener {
    atomic_int entered, returned, hooked, deferred;
    int answer; /* what it returns */
    bool is_canceled;
    int progress, fd_ready, late_hook;
    char reason[256];
    pthread_t hook_thread, loop_thread;
};

static void
on_hook(void *user)
{
    struct listener *l = user;

    l->hook_thread = pthread_self();
    atomic_fetch_add(&l->hooked, 1);
}

static void
on_late_hook(void *user)
{
    struct listener *l = user;

    l->late_hook++;
}

static void
on_defer(void *user)
{
    struct listener *l = user;

    atomic_fetch_add(&l->deferred, 1);
}

static int
fd_is_ready(mcp_request *req)
{
    struct pollfd fd = {.events = POLLIN};

    assert_int_equal(mcp_request_cancel_fd(req, &fd.fd), 0);
    return poll(&fd, 1, 0);
}

static int
listen_for_cancel(mcp_request *req, mcp_result *out, void *user)
{
    struct listener *l = user;

    assert_int_equal(fd_is_ready(req), 0);
    assert_int_equal(mcp_request_on_cancel(req, on_hook, l, NULL), 0);
    assert_int_equal(mcp_request_defer(req, on_defer, l), 0);
    atomic_fetch_add(&l->entered, 1);
    (void)mcp_request_sleep(req, AWAIT_MS);
    RAW_UNTIL(atomic_load(&l->hooked) == 1);
    l->is_canceled = mcp_request_is_canceled(req);
    snprintf(l->reason, sizeof(l->reason), "%s", mcp_request_cancel_reason(req));
    l->fd_ready = fd_is_ready(req);
    l->progress = mcp_request_progress(req, 1, 0, NULL);
    assert_int_equal(mcp_request_on_cancel(req, on_late_hook, l, NULL), 0);
    mcp_result_text(out, "nobody reads this");
    atomic_fetch_add(&l->returned, 1);
    return l->answer;
}

static int
who_is_the_loop(mcp_request *req, mcp_result *out, void *user)
{
    struct listener *l = user;

    (void)req;
    (void)out;
    l->loop_thread = pthread_self();
    return 0;
}

static void
open_listening(struct raw *raw, struct listener *l, bool modern)
{
    raw_make(raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(raw, MCP_TOOL(.name = "listen", .run = listen_for_cancel, .user = l));
    raw_tool(raw, MCP_TOOL(.name = "loop", .reply = who_is_the_loop, .user = l));
    raw_start(raw, modern);
    raw_call(raw, "\"who\"", "loop", NULL);
    raw_expect(raw, "\"id\":\"who\"");
    raw_call_with(raw, "5", "listen", NULL, "5");
    RAW_UNTIL(atomic_load(&l->entered) == 1);
}

static void
F2_F3_F6_F7_F26_a_cancel_is_heard_in_every_way_and_never_answered(void **state)
{
    struct listener l = {.answer = 0};
    struct raw raw;

    open_listening(&raw, &l, RAW_MODERN);
    raw_cancel(&raw, "5", "enough of that");
    RAW_UNTIL(atomic_load(&l.deferred) == 1);
    assert_true(l.is_canceled);
    assert_string_equal(l.reason, "enough of that");
    assert_int_equal(l.fd_ready, 1);
    assert_int_equal(l.progress, MCP_E_CANCELED);
    assert_int_equal(atomic_load(&l.hooked), 1);
    assert_true(pthread_equal(l.hook_thread, l.loop_thread));
    assert_int_equal(l.late_hook, 1);
    raw_expect_silence(&raw);
    assert_int_equal(raw_counts(&raw).canceled_by_peer, 1);
    RAW_UNTIL(raw_counts(&raw).ran_to_end == 1);
    raw_done(&raw);
}

static void
F8_F11_a_failure_after_the_cancel_is_logged_and_not_sent(void **state)
{
    struct listener l = {.answer = MCP_E_LIMIT};
    struct raw raw;

    open_listening(&raw, &l, RAW_MODERN);
    raw_cancel(&raw, "5", "enough");
    RAW_UNTIL(atomic_load(&l.deferred) == 1);
    RAW_UNTIL(raw_logged(&raw, "request 5 failed after its end"));
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static void
a_handler_that_passes_its_status_on_has_stopped(void **state)
{
    struct listener l = {.answer = MCP_E_CANCELED};
    struct raw raw;

    open_listening(&raw, &l, RAW_MODERN);
    raw_cancel(&raw, "\"5\"", "enough"); /* the other spelling (F18) */
    RAW_UNTIL(raw_counts(&raw).stopped == 1);
    assert_false(raw_logged(&raw, "failed"));
    raw_expect_silence(&raw);
    assert_int_equal(raw_counts(&raw).live_handlers, 0);
    assert_int_equal(raw_counts(&raw).in_flight, 0);
    raw_done(&raw);
}

static void
F13_F19_other_frames_change_nothing(void **state)
{
    struct listener l = {.answer = MCP_E_CANCELED};
    struct raw raw;

    open_listening(&raw, &l, RAW_MODERN);
    raw_cancel(&raw, "6", "not this one");
    raw_expect_silence(&raw);
    assert_int_equal(atomic_load(&l.returned), 0);
    raw_cancel(&raw, "5", "first");
    raw_cancel(&raw, "5", "second");
    RAW_UNTIL(atomic_load(&l.deferred) == 1);
    assert_string_equal(l.reason, "first");
    assert_int_equal(atomic_load(&l.hooked), 1);
    raw_expect_silence(&raw);
    assert_int_equal(raw_counts(&raw).canceled_by_peer, 1);
    raw_done(&raw);
}

static void
F27_a_client_that_goes_cancels(void **state)
{
    struct listener l = {.answer = MCP_E_CANCELED};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.drain_ms = -1));
    raw_tool(&raw, MCP_TOOL(.name = "listen", .run = listen_for_cancel, .user = &l));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "5", "listen", NULL);
    RAW_UNTIL(atomic_load(&l.entered) == 1);
    close(raw.fd);
    raw.fd = -1;
    RAW_UNTIL(atomic_load(&l.deferred) == 1);
    assert_string_equal(l.reason, "connection lost");
    assert_int_equal(raw_counts(&raw).canceled_by_loss, 1);
    raw_done(&raw);
}

static void
F29_our_stop_cancels_and_answers(void **state)
{
    struct listener l = {.answer = MCP_E_CANCELED};
    struct raw raw;

    open_listening(&raw, &l, RAW_MODERN);
    mcp_server_stop(raw.server);
    raw_expect(&raw, RAW_MODERN ? "\"code\":-32603" : "\"code\":-32000");
    RAW_UNTIL(atomic_load(&l.deferred) == 1);
    assert_string_equal(l.reason, "connection closed");
    assert_true(raw_at_eof(&raw));
    assert_int_equal(raw_counts(&raw).canceled_by_stop, 1);
    raw_done(&raw);
}

/* ---- hooks by hand ------------------------------------------------------ */

struct hooks {
    atomic_int entered, returned, kept, removed;
    atomic_bool go;
};

static void
on_kept(void *user)
{
    struct hooks *h = user;

    atomic_fetch_add(&h->kept, 1);
}

static void
on_removed(void *user)
{
    struct hooks *h = user;

    atomic_fetch_add(&h->removed, 1);
}

static int
hook_and_unhook(mcp_request *req, mcp_result *out, void *user)
{
    struct hooks *h = user;
    mcp_cancel_hook *kept = NULL, *removed = NULL;

    (void)out;
    assert_int_equal(mcp_request_on_cancel(req, on_kept, h, &kept), 0);
    assert_int_equal(mcp_request_on_cancel(req, on_removed, h, &removed), 0);
    mcp_request_off_cancel(req, removed);
    mcp_request_off_cancel(req, NULL);
    atomic_fetch_add(&h->entered, 1);
    (void)mcp_request_sleep(req, AWAIT_MS);
    RAW_UNTIL(atomic_load(&h->kept) == 1);
    mcp_request_off_cancel(req, kept);
    atomic_fetch_add(&h->returned, 1);
    return MCP_E_CANCELED;
}

static void
F26_a_hook_that_was_removed_does_not_run(void **state)
{
    struct hooks h = {0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "hooks", .run = hook_and_unhook, .user = &h));
    raw_start(&raw, true);
    raw_call(&raw, "1", "hooks", NULL);
    RAW_UNTIL(atomic_load(&h.entered) == 1);
    raw_cancel(&raw, "1", "x");
    RAW_UNTIL(atomic_load(&h.returned) == 1);
    assert_int_equal(atomic_load(&h.kept), 1);
    assert_int_equal(atomic_load(&h.removed), 0);
    raw_done(&raw);
}

static int
leave_hooks(mcp_request *req, mcp_result *out, void *user)
{
    struct hooks *h = user;

    assert_int_equal(mcp_request_on_cancel(req, on_removed, h, NULL), 0);
    assert_int_equal(mcp_request_on_cancel(req, on_removed, h, NULL), 0);
    return mcp_result_text(out, "left");
}

static void
hooks_left_behind_go_with_the_request(void **state)
{
    struct hooks h = {0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "reply", .reply = leave_hooks, .user = &h));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = leave_hooks, .user = &h));
    raw_start(&raw, true);
    raw_call(&raw, "1", "reply", NULL);
    raw_expect(&raw, "left");
    raw_call(&raw, "2", "run", NULL);
    raw_expect(&raw, "left");
    raw_cancel(&raw, "1", "late");
    raw_cancel(&raw, "2", "late");
    raw_expect_silence(&raw);
    assert_int_equal(atomic_load(&h.removed), 0);
    raw_done(&raw);
}

/* ---- signal only -------------------------------------------------------- */

static int
hear_only_the_flag(mcp_request *req, mcp_result *out, void *user)
{
    struct hooks *h = user;
    struct pollfd none = {.fd = -1};
    int ready = -1;

    assert_int_equal(mcp_request_on_cancel(req, on_removed, h, NULL), 0);
    atomic_fetch_add(&h->entered, 1);
    RAW_UNTIL(mcp_request_is_canceled(req));
    assert_string_equal(mcp_request_cancel_reason(req), "just so you know");
    assert_int_equal(mcp_request_sleep(req, 1), 0);
    assert_int_equal(mcp_request_poll(req, &none, 1, 1, &ready), 0);
    assert_int_equal(ready, 0);
    assert_int_equal(mcp_request_on_cancel(req, on_removed, h, NULL), 0);
    atomic_fetch_add(&h->returned, 1);
    return mcp_result_text(out, "went on");
}

static void
F4_signal_only_changes_the_flag_and_nothing_else(void **state)
{
    struct hooks h = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "flag", .run = hear_only_the_flag,
                            .flags = MCP_SIGNAL_ONLY, .user = &h));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "flag", NULL);
    RAW_UNTIL(atomic_load(&h.entered) == 1);
    raw_cancel(&raw, "1", "just so you know");
    RAW_UNTIL(raw_counts(&raw).ran_to_end == 1);
    assert_int_equal(atomic_load(&h.removed), 0);
    raw_expect_silence(&raw);
    raw_done(&raw);
}

/* ---- what is bound to it ------------------------------------------------ */

struct bound {
    struct mcpi_token *token;
    atomic_int entered;
    atomic_bool go;
};

static int
bind_token(mcp_request *req, mcp_result *out, void *user)
{
    struct bound *b = user;

    b->token = mcpi_request_token(req);
    assert_non_null(b->token);
    assert_false(mcpi_token_is_set(b->token));
    atomic_fetch_add(&b->entered, 1);
    if (!mcpi_loop_any_here())
        RAW_UNTIL(atomic_load(&b->go) || mcp_request_is_canceled(req));
    return mcp_result_text(out, "bound");
}

static void
on_bound(void *user)
{
    int *runs = user;

    (*runs)++;
}

static void
F24_what_is_bound_to_a_request_ends_with_it(void **state)
{
    static const char *const names[] = {"reply", "run", "signal"};
    struct bound b = {0};
    int runs = 0;
    struct mcpi_hook hook = {.fn = on_bound, .user = &runs};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "reply", .reply = bind_token, .user = &b));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = bind_token, .user = &b));
    raw_tool(&raw, MCP_TOOL(.name = "signal", .run = bind_token, .user = &b,
                            .flags = MCP_SIGNAL_ONLY));
    raw_start(&raw, true);
    atomic_store(&b.go, true);
    for (int i = 0; i < 3; i++) {
        raw_call(&raw, "1", names[i], NULL);
        raw_expect(&raw, "bound");
        assert_true(mcpi_token_is_set(b.token));
        assert_string_equal(mcpi_token_reason(b.token), "the request is over");
        mcpi_token_hook(b.token, &hook); /* a late one runs at once */
        assert_int_equal(runs, i + 1);
        mcpi_token_unref(b.token);
    }
    atomic_store(&b.go, false);
    raw_call(&raw, "2", "signal", NULL);
    RAW_UNTIL(atomic_load(&b.entered) == 4);
    raw_cancel(&raw, "2", "stop");
    RAW_UNTIL(raw_counts(&raw).ran_to_end == 1);
    assert_string_equal(mcpi_token_reason(b.token), "stop");
    mcpi_token_hook(b.token, &hook);
    assert_int_equal(runs, 4); /* of a signal-only request too, now that it is over */
    mcpi_token_unref(b.token);
    raw_done(&raw);
}

static void
bad_arguments_are_refused(void **state)
{
    int fd;

    (void)state;
    assert_false(mcp_request_is_canceled(NULL));
    assert_string_equal(mcp_request_cancel_reason(NULL), "");
    assert_int_equal(mcp_request_cancel_fd(NULL, &fd), MCP_E_INVAL);
    assert_int_equal(mcp_request_on_cancel(NULL, on_bound, NULL, NULL), MCP_E_INVAL);
    mcp_request_off_cancel(NULL, NULL);
}

TEST_MAIN(TEST_ERAS(F2_F3_F6_F7_F26_a_cancel_is_heard_in_every_way_and_never_answered),
          TEST_ERAS(F8_F11_a_failure_after_the_cancel_is_logged_and_not_sent),
          TEST_ERAS(a_handler_that_passes_its_status_on_has_stopped),
          TEST_ERAS(F13_F19_other_frames_change_nothing),
          TEST_ERAS(F27_a_client_that_goes_cancels),
          TEST_ERAS(F29_our_stop_cancels_and_answers),
          TEST(F26_a_hook_that_was_removed_does_not_run),
          TEST(hooks_left_behind_go_with_the_request),
          TEST_ERAS(F4_signal_only_changes_the_flag_and_nothing_else),
          TEST(F24_what_is_bound_to_a_request_ends_with_it),
          TEST(bad_arguments_are_refused))
