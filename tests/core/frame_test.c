/* frame_test.c - cancel frames: when one is due, and which id and reason it carries */
#include <stdio.h>
#include <string.h>

#include "core/versions.h"
#include "support/fake.h"
#include "support/wire.h"

/* ---- negotiation ----------------------------------------------------------- */

static void
open_and_connect(struct fake *f, enum fake_kind kind, enum mcpi_era era)
{
    struct fake_options opt = {.kind = kind, .era = era, .eager = true};

    assert_int_equal(fake_open(f, &opt), 0);
    assert_int_equal(mcpi_peer_connect(f->peer, f->w.now), 0);
    assert_string_equal(fake_said(f), "request");
    fake_written(f, 0);
    fake_forget(f);
}

static void
B16_B18_initialize_that_times_out_is_never_framed(void **state)
{
    static const char *const said[] = {"drain", "hangup:0 drain"};
    struct fake f;

    (void)state;
    for (int kind = FAKE_PIPE; kind <= FAKE_STREAMS; kind++) {
        open_and_connect(&f, kind, MCPI_ERA_LEGACY);
        fake_pass(&f, 60 * SECOND);
        assert_int_equal(f.ready, 1);
        assert_int_equal(f.ready_status, MCP_E_TIMEOUT);
        assert_string_equal(fake_said(&f), said[kind]);
        mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
        fake_assert_quiet(&f);
        fake_close(&f);
    }
}

static void
B16_initialize_named_by_a_frame_of_our_own_is_not_framed(void **state)
{
    struct fake f;

    (void)state;
    open_and_connect(&f, FAKE_PIPE, MCPI_ERA_LEGACY);
    fake_frame(&f, "{\"requestId\":0}");
    assert_int_equal(f.ready_status, MCP_E_CANCELED);
    assert_string_equal(fake_said(&f), "drain");
    fake_close(&f);
}

static void
B17_probe_that_times_out_on_a_pipe_is_followed_by_initialize(void **state)
{
    struct fake f;

    (void)state;
    open_and_connect(&f, FAKE_PIPE, MCPI_ERA_BOTH);
    fake_pass(&f, 10 * SECOND);
    assert_string_equal(fake_said(&f), "request");
    assert_non_null(strstr(fake_text(&f, 0), "\"initialize\""));
    assert_int_equal(f.ready, 0);
    fake_close(&f);
}

static void
B17_B18_probe_that_times_out_on_streams_fails_and_is_hung_up(void **state)
{
    struct fake f;

    (void)state;
    open_and_connect(&f, FAKE_STREAMS, MCPI_ERA_BOTH);
    fake_pass(&f, 10 * SECOND);
    assert_string_equal(fake_said(&f), "hangup:0 drain");
    assert_int_equal(f.ready_status, MCP_E_TIMEOUT);
    mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
    fake_assert_quiet(&f);
    fake_close(&f);
}

static void
B18_closing_while_negotiating_releases_the_stream_at_once(void **state)
{
    static const enum mcpi_era eras[] = {MCPI_ERA_LEGACY, MCPI_ERA_MODERN};
    struct fake f;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        open_and_connect(&f, FAKE_STREAMS, eras[i]);
        mcpi_peer_close(f.peer, f.w.now);
        assert_string_equal(fake_said(&f), "hangup:0 drain");
        assert_int_equal(f.ready_status, MCP_E_CLOSED);
        fake_close(&f);
    }
}

static void
B19_D3_early_requests_are_signaled_in_the_legacy_way(void **state)
{
    static const char *const said[] = {"frame", "frame hangup:5000"};
    struct mcpi_call_options opt = {.method = "tools/list"};
    struct outcome out;
    struct fake f;

    (void)state;
    for (int kind = FAKE_PIPE; kind <= FAKE_STREAMS; kind++) {
        struct fake_options fo = {.kind = kind, .era = MCPI_ERA_MANUAL, .eager = true};

        fake_start_with(&f, &fo);
        fake_issue(&f, &opt, &out);
        assert_string_equal(mcpi_peer_spoken(f.peer), "");
        assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
        assert_string_equal(fake_said(&f), said[kind]);
        outcome_done(&out);
        fake_close(&f);
    }
}

/* ---- the era of a request -------------------------------------------------- */

/* As if the session had been negotiated anew. */
static void
move_to(struct fake *f, bool modern)
{
    f->peer->dialect = modern ? &mcpi_dialect_modern : &mcpi_dialect_legacy;
    f->peer->version = modern ? MCPI_VERSION_MODERN : MCPI_VERSION_LEGACY;
}

static void
D4_E4_request_sent_under_legacy_keeps_the_legacy_signal(void **state)
{
    struct outcome old, new;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fake_links[LEGACY_STREAMS]);
    fake_issue(&f, NULL, &old);
    move_to(&f, true);
    fake_issue(&f, NULL, &new);
    assert_int_equal(mcpi_call_cancel(old.call, NULL, f.w.now), 0);
    assert_string_equal(fake_said(&f), "frame hangup:5000");
    fake_forget(&f);
    assert_int_equal(mcpi_call_cancel(new.call, NULL, f.w.now), 0);
    assert_string_equal(fake_said(&f), "hangup:0");
    outcome_done(&old);
    outcome_done(&new);
    fake_close(&f);
}

static void
E4_era_is_the_one_of_the_moment_the_request_is_taken(void **state)
{
    struct fake_options opt = {.kind = FAKE_STREAMS, .era = MCPI_ERA_LEGACY};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start_with(&f, &opt);
    fake_call(&f, NULL, &out);
    move_to(&f, true);
    fake_take(&f);
    move_to(&f, false);
    assert_non_null(strstr(fake_text(&f, 0), MCPI_VERSION_MODERN));
    fake_forget(&f);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    assert_string_equal(fake_said(&f), "hangup:0");
    outcome_done(&out);
    fake_close(&f);
}

static void
E6_E7_version_spoken_is_set_by_stamps_and_cleared_by_initialize(void **state)
{
    struct fake_options opt = {.kind = FAKE_PIPE, .era = MCPI_ERA_BOTH};
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    assert_int_equal(mcpi_peer_connect(f.peer, f.w.now), 0);
    assert_string_equal(mcpi_peer_spoken(f.peer), "");
    fake_take(
        &f); /* not when it is queued, not when it has arrived: when it is taken */
    assert_string_equal(mcpi_peer_spoken(f.peer), MCPI_VERSION_MODERN);
    fake_written(&f, 0);
    fake_receive(&f, ERROR("\"libmcp:discover\"", "-32601"));
    assert_string_equal(mcpi_peer_spoken(f.peer), MCPI_VERSION_MODERN);
    fake_take(&f);
    assert_string_equal(mcpi_peer_spoken(f.peer), "");
    fake_close(&f);
}

static void
E7_unstamped_traffic_leaves_the_version_spoken_alone(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, NULL, &out);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    assert_int_equal(mcpi_peer_notify(f.peer, "notifications/x", NULL, 0, f.w.now), 0);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "frame note");
    assert_string_equal(mcpi_peer_spoken(f.peer), MCPI_VERSION_MODERN);
    outcome_done(&out);
    fake_close(&f);
}

/* ---- frames written by hand ------------------------------------------------ */

static void
check_rewritten(const struct fake_options *fo, const struct mcpi_id *id,
                const char *written, const char *sent)
{
    struct mcpi_call_options opt = {.id = id};
    struct outcome out;
    struct fake f;

    fake_start_with(&f, fo);
    fake_issue(&f, &opt, &out);
    fake_frame(&f, written);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_CANCELED);
    fake_run(&f);
    if (sent)
        assert_string_equal(fake_text(&f, 0), sent);
    else
        assert_string_equal(fake_said(&f), "hangup:0");
    outcome_done(&out);
    fake_close(&f);
}

static void
B34_hand_written_frame_settles_and_goes_out_with_the_verbatim_id(void **state)
{
    struct mcpi_id seven = mcpi_id_int(7), text = mcpi_id_string("7", 1);
    const char *as_int = CANCEL_FRAME("{\"requestId\":7,\"reason\":\"stop\"}");
    const char *as_text = CANCEL_FRAME("{\"requestId\":\"7\",\"reason\":\"stop\"}");

    (void)state;
    for (int i = 0; i < FAKE_LINKS; i++) {
        bool hangs_up = &fake_links[i] == &fake_links[MODERN_STREAMS];

        check_rewritten(&fake_links[i], &seven,
                        "{\"requestId\":\"7\",\"reason\":\"stop\"}",
                        hangs_up ? NULL : as_int);
        check_rewritten(&fake_links[i], &text, "{\"requestId\":7,\"reason\":\"stop\"}",
                        hangs_up ? NULL : as_text);
    }
}

static void
B34_hand_written_frame_for_a_waiting_request_takes_it_back(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_call(&f, NULL, &out);
    fake_frame(&f, "{\"requestId\":1}");
    fake_run(&f);
    assert_int_equal(out.status, MCP_E_CANCELED);
    assert_string_equal(fake_said(&f), "");
    outcome_done(&out);
    fake_close(&f);
}

static void
B34_no_memory_to_read_a_hand_written_frame_is_an_error_and_sends_none(void **state)
{
    static const char params[] = "{\"requestId\":\"1\"}";
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, NULL, &out);
    f.mem->fail_at = f.mem->total + 1;
    assert_int_equal(mcpi_peer_notify(f.peer, "notifications/cancelled", params,
                                      sizeof(params) - 1, f.w.now),
                     MCP_E_NOMEM);
    fake_run(&f);
    assert_int_equal(out.done, 0);
    assert_string_equal(fake_said(&f), "");
    outcome_done(&out);
    fake_close(&f);
}

static const char *const unmatched[] = {
    "{\"requestId\":99}",
    "{\"requestId\":\"one\"}",
    "{\"requestId\":true}",
    "{\"requestId\":1.5}",
    "{\"requestId\":null}",
    "{\"requestId\":[1]}",
    "{\"reason\":\"none\"}",
    "{}",
    NULL,
};

static void
check_unmatched(const struct fake_options *fo, const char *said)
{
    struct outcome out;
    struct fake f;

    fake_start_with(&f, fo);
    fake_issue(&f, NULL, &out);
    wire_recording(false);
    for (size_t i = 0; i < sizeof(unmatched) / sizeof(unmatched[0]); i++) {
        fake_frame(&f, unmatched[i]);
        fake_run(&f);
        assert_string_equal(fake_said(&f), said);
        fake_forget(&f);
    }
    wire_recording(true);
    assert_int_equal(out.done, 0);
    assert_non_null(fake_leg(&f, &out));
    outcome_done(&out);
    fake_close(&f);
}

static void
E8_unmatched_frame_is_swallowed_at_modern_on_streams(void **state)
{
    (void)state;
    check_unmatched(&fake_links[MODERN_STREAMS], "");
}

static void
E9_unmatched_frame_is_sent_at_legacy_before_any_version_and_on_pipes(void **state)
{
    const struct fake_options manual = {
        .kind = FAKE_STREAMS, .era = MCPI_ERA_MANUAL, .eager = true};

    (void)state;
    check_unmatched(&fake_links[LEGACY_STREAMS], "frame");
    check_unmatched(&manual, "frame");
    check_unmatched(&fake_links[LEGACY_PIPE], "frame");
    check_unmatched(&fake_links[MODERN_PIPE], "frame");
}

static void
E8_E9_frame_that_waited_for_negotiation_obeys_its_outcome(void **state)
{
    static const char *const answers[] = {
        RESULT("\"libmcp:discover\"", "{\"supportedVersions\":[\"2026-07-28\"]}"),
        ERROR("\"libmcp:discover\"", "-32601")};
    static const char *const said[] = {"", "request note frame"};
    struct fake f;

    (void)state;
    for (int i = 0; i < 2; i++) {
        open_and_connect(&f, FAKE_STREAMS, MCPI_ERA_BOTH);
        fake_frame(&f, "{\"requestId\":99}");
        assert_string_equal(fake_said(&f), "");
        fake_receive(&f, answers[i]);
        fake_receive(&f, RESULT("0", "{\"protocolVersion\":\"2025-11-25\"}"));
        assert_int_equal(f.ready_status, 0);
        assert_string_equal(fake_said(&f), said[i]);
        fake_close(&f);
    }
}

static void
E10_metadata_of_a_frame_does_not_matter(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fake_links[MODERN_STREAMS]);
    fake_issue(&f, NULL, &out);
    fake_frame(&f, "{\"requestId\":1,\"_meta\":{\"related\":5}}");
    assert_int_equal(out.status, MCP_E_CANCELED);
    assert_string_equal(fake_said(&f), "hangup:0");
    fake_frame(&f, "{\"requestId\":42,\"_meta\":{\"related\":5}}");
    assert_string_equal(fake_said(&f), "hangup:0");
    outcome_done(&out);
    fake_close(&f);
}

static void
E11_frame_just_after_the_answer_is_not_posted(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fake_links[MODERN_STREAMS]);
    fake_issue(&f, NULL, &out);
    fake_receive_on(&f, fake_leg(&f, &out), RESULT("1", "{}"));
    fake_frame(&f, "{\"requestId\":1}");
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, 0);
    assert_string_equal(fake_said(&f), "");
    outcome_done(&out);
    fake_close(&f);
}

/* ---- reasons --------------------------------------------------------------- */

static void
check_reason(enum fake_cause cause, const struct fake_options *fo, const char *reason)
{
    struct mcpi_call_options opt = {.timeout_us = cause == IDLE ? SECOND : MCPI_NEVER,
                                    .total_us = cause == TOTAL ? SECOND : MCPI_NEVER};
    struct outcome out;
    struct fake f;
    char want[200];

    fake_start_with(&f, fo);
    fake_issue(&f, &opt, &out);
    fake_end_by(&f, cause, &out);
    fake_run(&f);
    snprintf(want, sizeof(want), CANCEL_FRAME("{\"requestId\":1%s}"), reason);
    assert_string_equal(fake_text(&f, 0), want);
    outcome_done(&out);
    fake_close(&f);
}

static void
B15_each_cause_has_its_reason(void **state)
{
    (void)state;
    check_reason(CANCEL, &fake_links[LEGACY_PIPE],
                 ",\"reason\":\"canceled by the caller\"");
    check_reason(IDLE, &fake_links[LEGACY_PIPE],
                 ",\"reason\":\"timed out after 1000 ms\"");
    check_reason(TOTAL, &fake_links[LEGACY_PIPE],
                 ",\"reason\":\"total time of 1000 ms used up\"");
    check_reason(FREE, &fake_links[LEGACY_PIPE],
                 ",\"reason\":\"abandoned by the caller\"");
    check_reason(CLOSE, &fake_links[LEGACY_STREAMS],
                 ",\"reason\":\"connection closing\"");
}

/* What stands as reason in the frame of a cancel with this reason. */
static void
reason_sent(const char *reason, char *into, size_t size)
{
    struct outcome out;
    struct fake f;
    mcp_doc *doc;
    const mcp_json *said;

    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, NULL, &out);
    assert_int_equal(mcpi_call_cancel(out.call, reason, f.w.now), 0);
    fake_run(&f);
    assert_int_equal(
        mcp_doc_parse(fake_text(&f, 0), strlen(fake_text(&f, 0)), NULL, &doc, NULL), 0);
    said = mcp_json_get(mcp_json_get(mcp_doc_root(doc), "params"), "reason");
    snprintf(into, size, "%s", mcp_json_string(said, "(none)"));
    mcp_doc_free(doc);
    outcome_done(&out);
    fake_close(&f);
}

static void
B15_reason_of_the_caller_is_cut_at_120_bytes_between_characters(void **state)
{
    char given[200], sent[200];

    (void)state;
    memset(given, 'a', sizeof(given));
    memcpy(given + 119, "\xC3\xA9", 2); /* would stand on the border */
    given[199] = '\0';
    reason_sent(given, sent, sizeof(sent));
    assert_int_equal(strlen(sent), 119);
    assert_memory_equal(sent, given, 119);
    memset(given, 'a', 199);
    reason_sent(given, sent, sizeof(sent));
    assert_int_equal(strlen(sent), 120);
}

static void
B15_reason_is_clean_utf8_and_an_empty_one_is_left_out(void **state)
{
    char sent[200];

    (void)state;
    reason_sent("a\xFF"
                "b\xC3",
                sent, sizeof(sent));
    assert_string_equal(sent, "a?b?");
    reason_sent("r\xC3\xA9sum\xC3\xA9 \"x\" \\ y", sent, sizeof(sent));
    assert_string_equal(sent, "r\xC3\xA9sum\xC3\xA9 \"x\" \\ y");
    reason_sent("", sent, sizeof(sent));
    assert_string_equal(sent, "(none)");
}

/* ---- resumption ------------------------------------------------------------ */

static void
B28_frame_inherits_no_resumption_hints(void **state)
{
    struct mcpi_call_options opt = {.resume_token = "event-9"};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fake_links[LEGACY_STREAMS]);
    fake_call(&f, &opt, &out);
    assert_string_equal(mcpi_leg_resume_token(fake_event(&f, 0)->leg), "event-9");
    assert_null(strstr(fake_text(&f, 0), "event-9"));
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    assert_string_equal(fake_said(&f), "request frame hangup:5000");
    assert_null(fake_event(&f, 1)->leg); /* nothing to ask for a token */
    assert_null(strstr(fake_text(&f, 1), "event-9"));
    outcome_done(&out);
    fake_close(&f);
}

static void
B27_B28_hints_given_inside_a_handler_do_not_count(void **state)
{
    struct mcpi_call_options opt = {.resume_token = "event-9", .timeout_us = SECOND};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fake_links[LEGACY_STREAMS]);
    fake_receive(&f, REQUEST("5", "roots/list", "{}"));
    opt.parent = f.jobs[0];
    fake_call(&f, &opt, &out);
    assert_null(mcpi_leg_resume_token(fake_event(&f, 0)->leg));
    fake_pass(&f, SECOND);
    assert_int_equal(out.status, MCP_E_TIMEOUT);
    assert_string_equal(fake_said(&f), "request frame hangup:5000");
    outcome_done(&out);
    fake_close(&f);
}

TEST_MAIN(TEST(B16_B18_initialize_that_times_out_is_never_framed),
          TEST(B16_initialize_named_by_a_frame_of_our_own_is_not_framed),
          TEST(B17_probe_that_times_out_on_a_pipe_is_followed_by_initialize),
          TEST(B17_B18_probe_that_times_out_on_streams_fails_and_is_hung_up),
          TEST(B18_closing_while_negotiating_releases_the_stream_at_once),
          TEST(B19_D3_early_requests_are_signaled_in_the_legacy_way),
          TEST(D4_E4_request_sent_under_legacy_keeps_the_legacy_signal),
          TEST(E4_era_is_the_one_of_the_moment_the_request_is_taken),
          TEST(E6_E7_version_spoken_is_set_by_stamps_and_cleared_by_initialize),
          TEST(E7_unstamped_traffic_leaves_the_version_spoken_alone),
          TEST(B34_hand_written_frame_settles_and_goes_out_with_the_verbatim_id),
          TEST(B34_hand_written_frame_for_a_waiting_request_takes_it_back),
          TEST(B34_no_memory_to_read_a_hand_written_frame_is_an_error_and_sends_none),
          TEST(E8_unmatched_frame_is_swallowed_at_modern_on_streams),
          TEST(E9_unmatched_frame_is_sent_at_legacy_before_any_version_and_on_pipes),
          TEST(E8_E9_frame_that_waited_for_negotiation_obeys_its_outcome),
          TEST(E10_metadata_of_a_frame_does_not_matter),
          TEST(E11_frame_just_after_the_answer_is_not_posted),
          TEST(B15_each_cause_has_its_reason),
          TEST(B15_reason_of_the_caller_is_cut_at_120_bytes_between_characters),
          TEST(B15_reason_is_clean_utf8_and_an_empty_one_is_left_out),
          TEST(B28_frame_inherits_no_resumption_hints),
          TEST(B27_B28_hints_given_inside_a_handler_do_not_count))
