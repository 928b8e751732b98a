/* signal_test.c - what abandoning a request looks like on each kind of link, in each
 * era: the first table of the architecture, section 7, row by row */
#include <stdio.h>
#include <string.h>

#include "support/fake.h"

struct row {
    enum fake_cause cause;
    int status; /* 1: nobody to tell */
    const char *said[FAKE_LINKS];
    struct mcpi_call_options call;
};

static void
check_cell(const struct row *row, int column)
{
    struct mcpi_call_options opt = row->call;
    struct outcome out;
    struct fake f;

    opt.timeout_us = row->cause == IDLE ? SECOND : MCPI_NEVER;
    opt.total_us = row->cause == TOTAL ? SECOND : MCPI_NEVER;
    fake_start_with(&f, &fake_links[column]);
    fake_issue(&f, &opt, &out);
    fake_end_by(&f, row->cause, &out);
    assert_int_equal(out.done, row->status <= 0);
    if (out.done)
        assert_int_equal(out.status, row->status);
    fake_run(&f);
    assert_string_equal(fake_said(&f), row->said[column]);
    assert_int_equal(f.engine->counts.calls, 0);
    assert_int_equal(f.engine->counts.legs, 0);
    outcome_done(&out);
    fake_close(&f);
}

static void
check_row(void **state)
{
    for (int column = 0; column < FAKE_LINKS; column++)
        check_cell(*state, column);
}

#define SIGNALS                                           \
    {                                                     \
        "frame", "frame", "frame hangup:5000", "hangup:0" \
    }
#define DETACHES                           \
    {                                      \
        "", "", "hangup:0", "hangup:never" \
    }
#define UNFRAMED                       \
    {                                  \
        "", "", "hangup:0", "hangup:0" \
    }
#define RESUMABLE                                \
    {                                            \
        "frame", "frame", "hangup:0", "hangup:0" \
    }
#define DETACH .call = {.on_abandon = MCPI_ABANDON_DETACHES}
#define DISCOVER .call = {.method = "server/discover"}
#define INITIALIZE_BY_HAND .call = {.method = "initialize"}
#define RESUME .call = {.resume_token = "event-9"}

static struct row cancel = {CANCEL, MCP_E_CANCELED, SIGNALS, {0}};
static struct row by_hand = {BY_HAND, MCP_E_CANCELED, SIGNALS, {0}};
static struct row idle = {IDLE, MCP_E_TIMEOUT, SIGNALS, {0}};
static struct row total = {TOTAL, MCP_E_TOTAL_TIMEOUT, SIGNALS, {0}};
static struct row freed = {FREE, 1, SIGNALS, {0}};
static struct row closed = {
    CLOSE,
    MCP_E_CLOSED,
    {"drain", "drain", "frame hangup:5000 drain", "hangup:0 drain"},
    {0}};
static struct row lost = {LOST, MCP_E_CLOSED, {"", "", "", ""}, {0}};

static struct row detached_cancel = {CANCEL, MCP_E_CANCELED, DETACHES, DETACH};
static struct row detached_by_hand = {BY_HAND, MCP_E_CANCELED, DETACHES, DETACH};
static struct row detached_idle = {IDLE, MCP_E_TIMEOUT, DETACHES, DETACH};
static struct row detached_total = {TOTAL, MCP_E_TOTAL_TIMEOUT, DETACHES, DETACH};
static struct row detached_freed = {FREE, 1, DETACHES, DETACH};

static struct row resumable_idle = {IDLE, MCP_E_TIMEOUT, RESUMABLE, RESUME};
static struct row resumable_total = {TOTAL, MCP_E_TOTAL_TIMEOUT, RESUMABLE, RESUME};
static struct row resumable_freed = {FREE, 1, RESUMABLE, RESUME};
static struct row resumable_cancel = {CANCEL, MCP_E_CANCELED, SIGNALS, RESUME};
static struct row resumable_by_hand = {BY_HAND, MCP_E_CANCELED, SIGNALS, RESUME};

static struct row discover_cancel = {CANCEL, MCP_E_CANCELED, UNFRAMED, DISCOVER};
static struct row discover_by_hand = {BY_HAND, MCP_E_CANCELED, UNFRAMED, DISCOVER};
static struct row discover_idle = {IDLE, MCP_E_TIMEOUT, UNFRAMED, DISCOVER};
static struct row discover_freed = {FREE, 1, UNFRAMED, DISCOVER};
static struct row initialize_cancel = {CANCEL, MCP_E_CANCELED, UNFRAMED,
                                       INITIALIZE_BY_HAND};
static struct row initialize_idle = {IDLE, MCP_E_TIMEOUT, UNFRAMED, INITIALIZE_BY_HAND};

static void
B35_one_table_for_all_causes(void **state)
{
    static const struct row *const rows[] = {&cancel, &idle,   &total,
                                             &freed,  &closed, &lost};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int column = 0; column < FAKE_LINKS; column++)
            check_cell(rows[i], column);
}

/* ---- issued or not --------------------------------------------------------- */

static void
B5_B7_what_has_not_left_is_taken_back_without_a_trace(void **state)
{
    struct outcome waiting, flying;
    struct fake f;

    (void)state;
    for (int i = 0; i < FAKE_LINKS; i++) {
        struct fake_options opt = {.kind = fake_links[i].kind,
                                   .era = fake_links[i].era};

        fake_start_with(&f, &opt);
        fake_issue(&f, NULL, &flying);
        fake_call(&f, NULL, &waiting);
        assert_int_equal(mcpi_call_cancel(waiting.call, NULL, f.w.now), 0);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "");
        assert_int_equal(mcpi_call_cancel(flying.call, NULL, f.w.now), 0);
        assert_int_equal(waiting.status, flying.status);
        assert_int_equal(waiting.status, MCP_E_CANCELED);
        outcome_done(&waiting);
        outcome_done(&flying);
        fake_close(&f);
    }
}

static void
B5_timeout_of_a_request_that_has_not_left_sends_nothing(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_LEGACY);
    fake_call(&f, &opt, &out);
    fake_pass(&f, SECOND);
    fake_run(&f);
    assert_int_equal(out.status, MCP_E_TIMEOUT);
    assert_string_equal(fake_said(&f), "");
    outcome_done(&out);
    fake_close(&f);
}

static void
B6_B8_begun_write_counts_as_issued_and_the_frame_follows(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_call(&f, NULL, &out);
    fake_take(&f); /* its first byte may have left, its last has not */
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    assert_string_equal(fake_said(&f), "request");
    fake_written(&f, 0);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request frame");
    outcome_done(&out);
    fake_close(&f);
}

static void
B6_write_that_fails_after_the_cancel_changes_nothing(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_call(&f, NULL, &out);
    fake_take(&f);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    fake_written(&f, MCP_E_SEND_FAILED);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request frame");
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_CANCELED);
    outcome_done(&out);
    fake_close(&f);
}

static void
B24_write_the_link_gives_up_is_SEND_FAILED_and_signaled(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_call(&f, &opt, &out);
    fake_take(&f);
    fake_forget(&f);
    fake_written(&f, MCP_E_SEND_FAILED);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_SEND_FAILED);
    fake_pass(&f, SECOND);
    fake_run(&f);
    assert_int_equal(out.done, 1);
    assert_string_equal(fake_said(&f), "frame");
    outcome_done(&out);
    fake_close(&f);
}

static void
B25_dead_pipe_ends_the_request_CLOSED_and_drops_the_frame(void **state)
{
    struct outcome canceled, pending;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, NULL, &canceled);
    fake_call(&f, NULL, &pending);
    assert_int_equal(mcpi_call_cancel(canceled.call, NULL, f.w.now), 0);
    fake_take(&f); /* both are being written when the pipe turns out to be dead */
    assert_string_equal(fake_said(&f), "request frame");
    mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
    fake_written(&f, MCP_E_CLOSED);
    assert_int_equal(pending.done, 1);
    assert_int_equal(pending.status, MCP_E_CLOSED);
    assert_int_equal(canceled.done, 1);
    assert_int_equal(canceled.status, MCP_E_CANCELED);
    assert_int_equal(fake_take(&f), 0);
    outcome_done(&canceled);
    outcome_done(&pending);
    fake_close(&f);
}

/* ---- order ----------------------------------------------------------------- */

static void
B12_signal_is_ahead_of_the_next_request(void **state)
{
    static const char *const said[] = {"frame request", "frame request",
                                       "frame hangup:5000 request", "hangup:0 request"};
    struct outcome out, next;
    struct fake f;

    (void)state;
    for (int i = 0; i < FAKE_LINKS; i++) {
        fake_start_with(&f, &fake_links[i]);
        fake_issue(&f, NULL, &out);
        assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
        fake_call(&f, NULL, &next);
        fake_run(&f);
        assert_string_equal(fake_said(&f), said[i]);
        outcome_done(&out);
        outcome_done(&next);
        fake_close(&f);
    }
}

static void
B12_signal_is_ahead_of_the_close(void **state)
{
    static const char *const said[] = {"frame drain", "frame drain",
                                       "frame hangup:5000 drain", "hangup:0 drain"};
    struct outcome out;
    struct fake f;

    (void)state;
    for (int i = 0; i < FAKE_LINKS; i++) {
        struct fake_options opt = fake_links[i];

        opt.eager = true;
        fake_start_with(&f, &opt);
        fake_issue(&f, NULL, &out);
        assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
        mcpi_peer_close(f.peer, f.w.now);
        assert_string_equal(fake_said(&f), said[i]);
        outcome_done(&out);
        fake_close(&f);
    }
}

/* What had been said when a call was told its end. */
struct told {
    struct fake *fake;
    int status;
    char said[64];
};

static void
look_in_done(void *user, struct mcpi_call *call, int status,
             const struct mcpi_rpc *answer)
{
    struct told *told = user;

    (void)call;
    (void)answer;
    told->status = status;
    snprintf(told->said, sizeof(told->said), "%s", fake_said(told->fake));
}

static const struct mcpi_call_ops look_ops = {.done = look_in_done};

static void
B3_B12_timeout_is_signaled_before_the_caller_is_told(void **state)
{
    static const char *const said[] = SIGNALS;
    struct mcpi_call *call;
    struct fake f;

    (void)state;
    for (int i = 0; i < FAKE_LINKS; i++) {
        struct told told = {.fake = &f};
        struct mcpi_call_options call_opt = {.method = "tools/list",
                                             .ops = &look_ops,
                                             .timeout_us = SECOND,
                                             .user = &told};
        struct fake_options opt = fake_links[i];

        opt.eager = true;
        fake_start_with(&f, &opt);
        assert_int_equal(mcpi_call_start(f.peer, &call_opt, f.w.now, &call), 0);
        fake_run(&f);
        fake_forget(&f);
        fake_pass(&f, SECOND);
        assert_int_equal(told.status, MCP_E_TIMEOUT);
        assert_string_equal(told.said, said[i]);
        mcpi_call_free(call, f.w.now);
        fake_close(&f);
    }
}

static void
B12_frame_that_still_waits_is_flushed_by_the_close(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_LEGACY);
    fake_issue(&f, NULL, &out);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    mcpi_peer_close(f.peer, f.w.now);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "drain frame");
    outcome_done(&out);
    fake_close(&f);
}

static void
B13_cancel_twice_then_time_then_free_is_one_signal(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND, .total_us = 2 * SECOND};
    struct outcome out;
    struct fake f;

    (void)state;
    for (int i = 0; i < FAKE_LINKS; i++) {
        fake_start_with(&f, &fake_links[i]);
        fake_issue(&f, &opt, &out);
        assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
        assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), MCP_E_STATE);
        fake_pass(&f, 3 * SECOND);
        outcome_done(&out);
        fake_run(&f);
        assert_string_equal(fake_said(&f), cancel.said[i]);
        assert_int_equal(out.done, 1);
        fake_close(&f);
    }
}

static void
B13_timeout_then_free_is_one_signal(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND, .total_us = SECOND};
    struct outcome out;
    struct fake f;

    (void)state;
    for (int i = 0; i < FAKE_LINKS; i++) {
        fake_start_with(&f, &fake_links[i]);
        fake_issue(&f, &opt, &out);
        fake_pass(&f, SECOND);
        assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), MCP_E_STATE);
        outcome_done(&out);
        fake_run(&f);
        assert_string_equal(fake_said(&f), cancel.said[i]);
        assert_int_equal(out.done, 1);
        fake_close(&f);
    }
}

static void
B14_cancel_after_the_answer_says_so_and_sends_nothing(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    for (int i = 0; i < FAKE_LINKS; i++) {
        fake_start_with(&f, &fake_links[i]);
        fake_issue(&f, NULL, &out);
        fake_receive_on(&f, fake_leg(&f, &out), RESULT("1", "{}"));
        assert_int_equal(out.status, 0);
        assert_int_equal(mcpi_call_cancel(out.call, "late", f.w.now), MCP_E_STATE);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "");
        assert_int_equal(out.done, 1);
        outcome_done(&out);
        fake_close(&f);
    }
}

/* ---- all at once ----------------------------------------------------------- */

static void
B22_close_wakes_all_once_and_later_starts_fail_alike(void **state)
{
    struct outcome out[3], late;
    struct fake f;

    (void)state;
    for (int i = 0; i < FAKE_LINKS; i++) {
        fake_start_with(&f, &fake_links[i]);
        for (int n = 0; n < 3; n++)
            fake_call(&f, NULL, &out[n]);
        fake_run(&f);
        mcpi_peer_close(f.peer, f.w.now);
        mcpi_peer_close(f.peer, f.w.now);
        mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
        for (int n = 0; n < 3; n++) {
            assert_int_equal(out[n].done, 1);
            assert_int_equal(out[n].status, MCP_E_CLOSED);
            outcome_done(&out[n]);
        }
        fake_forget(&f);
        assert_int_equal(world_try_call(&f.w, CLIENT, NULL, &late), MCP_E_CLOSED);
        assert_int_equal(late.done, 0);
        assert_int_equal(mcpi_peer_notify(f.peer, "notifications/x", NULL, 0, f.w.now),
                         0);
        assert_int_equal(fake_take(&f), 0);
        fake_close(&f);
    }
}

static void
B22_lost_link_wakes_all_once(void **state)
{
    struct outcome taken, waiting;
    struct fake f;

    (void)state;
    for (int i = 0; i < FAKE_LINKS; i++) {
        struct fake_options opt = {.kind = fake_links[i].kind,
                                   .era = fake_links[i].era};

        fake_start_with(&f, &opt);
        fake_issue(&f, NULL, &taken);
        fake_call(&f, NULL, &waiting);
        mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
        mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
        assert_int_equal(taken.done, 1);
        assert_int_equal(taken.status, MCP_E_CLOSED);
        assert_int_equal(waiting.done, 1);
        assert_int_equal(waiting.status, MCP_E_CLOSED);
        assert_int_equal(fake_take(&f), 0);
        outcome_done(&taken);
        outcome_done(&waiting);
        fake_close(&f);
    }
}

static void
B23_closing_asks_a_legacy_link_with_streams_for_every_frame_first(void **state)
{
    struct outcome out[3];
    struct fake f;

    (void)state;
    fake_start_with(&f, &fake_links[LEGACY_STREAMS]);
    for (int n = 0; n < 3; n++)
        fake_issue(&f, NULL, &out[n]);
    mcpi_peer_close(f.peer, f.w.now);
    assert_string_equal(fake_said(&f), "frame hangup:5000 frame hangup:5000 "
                                       "frame hangup:5000 drain");
    assert_int_equal(mcpi_timers_next(&f.timers), f.w.now + SECOND);
    fake_pass(&f, SECOND); /* the link did not make it: core bounds the time */
    assert_int_equal(fake_event(&f, f.event_count - 1)->how, MCPI_CLOSE_NOW);
    assert_int_equal(f.closed, 1);
    for (int n = 0; n < 3; n++)
        outcome_done(&out[n]);
    fake_close(&f);
}

/* ---- memory ---------------------------------------------------------------- */

static void
B11_cancel_goes_out_though_the_outlet_is_full_and_memory_is_none(void **state)
{
    struct fake_options opt = {.era = MCPI_ERA_MODERN,
                               .limits = {.queued_bytes = 4096}};
    char params[1200] = "";
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start_with(&f, &opt);
    fake_issue(&f, NULL, &out);
    snprintf(params, sizeof(params), "{\"x\":\"%01000d\"}", 0);
    while (f.engine->counts.dropped == 0)
        assert_int_equal(mcpi_peer_notify(f.peer, "notifications/x", params,
                                          strlen(params), f.w.now),
                         0);
    f.mem->fail_at = f.mem->total + 1;
    f.mem->fail_after = true;
    assert_int_equal(mcpi_call_cancel(out.call, "stop", f.w.now), 0);
    assert_int_equal(out.status, MCP_E_CANCELED);
    fake_run(&f);
    assert_string_equal(fake_text(&f, f.event_count - 1),
                        CANCEL_FRAME("{\"requestId\":1,\"reason\":\"stop\"}"));
    assert_int_equal(f.mem->failed, 0);
    outcome_done(&out);
    fake_close(&f);
}

TEST_MAIN(TEST_AS("B35_cancel_of_the_caller", check_row, &cancel),
          TEST_AS("B34_B35_frame_written_by_hand", check_row, &by_hand),
          TEST_AS("B3_B35_idle_timeout", check_row, &idle),
          TEST_AS("B35_I6_total_timeout", check_row, &total),
          TEST_AS("B9_B32_B35_handle_freed", check_row, &freed),
          TEST_AS("B22_B23_B35_session_closed", check_row, &closed),
          TEST_AS("B22_B35_peer_died", check_row, &lost),
          TEST_AS("B26_detached_cancel", check_row, &detached_cancel),
          TEST_AS("B26_detached_frame_by_hand", check_row, &detached_by_hand),
          TEST_AS("B26_detached_idle_timeout", check_row, &detached_idle),
          TEST_AS("B26_detached_total_timeout", check_row, &detached_total),
          TEST_AS("B26_detached_handle_freed", check_row, &detached_freed),
          TEST_AS("B27_resumable_idle_timeout", check_row, &resumable_idle),
          TEST_AS("B27_resumable_total_timeout", check_row, &resumable_total),
          TEST_AS("B27_resumable_handle_freed", check_row, &resumable_freed),
          TEST_AS("B27_resumable_cancel_cancels", check_row, &resumable_cancel),
          TEST_AS("B27_resumable_frame_by_hand_cancels", check_row, &resumable_by_hand),
          TEST_AS("B17_B18_discover_cancel", check_row, &discover_cancel),
          TEST_AS("B17_B18_discover_frame_by_hand", check_row, &discover_by_hand),
          TEST_AS("B17_B18_discover_idle_timeout", check_row, &discover_idle),
          TEST_AS("B17_B18_discover_handle_freed", check_row, &discover_freed),
          TEST_AS("B16_B18_initialize_cancel", check_row, &initialize_cancel),
          TEST_AS("B16_B18_initialize_idle_timeout", check_row, &initialize_idle),
          TEST(B35_one_table_for_all_causes),
          TEST(B5_B7_what_has_not_left_is_taken_back_without_a_trace),
          TEST(B5_timeout_of_a_request_that_has_not_left_sends_nothing),
          TEST(B6_B8_begun_write_counts_as_issued_and_the_frame_follows),
          TEST(B6_write_that_fails_after_the_cancel_changes_nothing),
          TEST(B24_write_the_link_gives_up_is_SEND_FAILED_and_signaled),
          TEST(B25_dead_pipe_ends_the_request_CLOSED_and_drops_the_frame),
          TEST(B12_signal_is_ahead_of_the_next_request),
          TEST(B12_signal_is_ahead_of_the_close),
          TEST(B3_B12_timeout_is_signaled_before_the_caller_is_told),
          TEST(B12_frame_that_still_waits_is_flushed_by_the_close),
          TEST(B13_cancel_twice_then_time_then_free_is_one_signal),
          TEST(B13_timeout_then_free_is_one_signal),
          TEST(B14_cancel_after_the_answer_says_so_and_sends_nothing),
          TEST(B22_close_wakes_all_once_and_later_starts_fail_alike),
          TEST(B22_lost_link_wakes_all_once),
          TEST(B23_closing_asks_a_legacy_link_with_streams_for_every_frame_first),
          TEST(B11_cancel_goes_out_though_the_outlet_is_full_and_memory_is_none))
