/* http_entries_test.c - cancel frames, ids that come again, and no memory */
#include "link/http_client_fixture.h"

#include "link/http_entries.h"

#define FRAME "notifications/cancelled"

/* ---- what a legacy cancel is ----------------------------------------------- */

static void
D1_D2_a_legacy_cancel_is_a_POST_and_the_stream_stays_open(void **state)
{
    struct fake_fetch *post, *frame;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    lab_stream(&l, post);
    lab_cancel(&l, &out);
    expect(&out, MCP_E_CANCELED);
    lab_run(&l);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    frame = lab_last(&l);
    assert_true(fetch_says(frame, "\"requestId\":1"));
    assert_string_equal(frame->method, "POST");
    assert_string_equal(fake_field(frame, "mcp-session-id"), "s-1");
    assert_string_equal(fake_field(frame, "mcp-protocol-version"), "2025-11-25");
    assert_int_equal(post->state, FAKE_OPEN);
    lab_accept(&l, frame);
    assert_int_equal(post->state, FAKE_OPEN);
    outcome_done(&out);
    lab_close(&l);
}

static void
B13_cancel_and_free_and_timeout_are_one_frame(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = 2 * SECOND};
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    lab_stream(&l, lab_call(&l, &opt, &out));
    lab_cancel(&l, &out);
    assert_int_equal(mcpi_call_cancel(out.call, "again", l.w.now), MCP_E_STATE);
    outcome_done(&out);
    lab_pass(&l, 10 * SECOND);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    lab_close(&l);
}

static void
D5_a_frame_that_is_refused_changes_nothing(void **state)
{
    static const int answers[] = {400, 404, 500, 0};
    struct outcome out;
    struct lab l;
    int code;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct lab_options opt = {.era = MCPI_ERA_LEGACY};

        code = answers[i];
        lab_connect(&l, &opt);
        lab_welcome(&l, lab_last(&l), NULL); /* no session that could be lost */
        lab_accept(&l, lab_last(&l));
        fake_answer(lab_last(&l), 405, NULL, NULL);
        lab_stream(&l, lab_call(&l, NULL, &out));
        lab_cancel(&l, &out);
        lab_run(&l);
        assert_true(fetch_says(lab_last(&l), FRAME));
        if (code)
            fake_answer(lab_last(&l), code, "text/plain", "no");
        else
            fake_fail(lab_last(&l), MCP_E_SEND_FAILED, "refused");
        lab_pass(&l, 10 * SECOND);
        expect(&out, MCP_E_CANCELED);
        assert_int_equal(lab_posted(&l, FRAME), 1);
        assert_true(lab_logged(&l, "http: a cancel was not accepted"));
        assert_int_equal(l.lost, 0);
        outcome_done(&out);
        lab_close(&l);
    }
}

/* ---- before and after the last byte ---------------------------------------- */

static void
B7_E5_a_cancel_in_the_same_turn_finds_nothing_sent(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    for (int legacy = 0; legacy < 2; legacy++) {
        size_t before;

        if (legacy)
            lab_start_legacy(&l);
        else
            lab_start_modern(&l);
        before = lab_count(&l);
        world_call(&l.w, CLIENT, NULL, &out);
        lab_cancel(&l, &out);
        expect(&out, MCP_E_CANCELED);
        lab_run(&l);
        assert_int_equal(lab_count(&l), before);
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
B5_a_request_of_which_nothing_has_left_is_aborted_without_a_frame(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    assert_int_equal(post->phase, MCPI_FETCH_UNSENT);
    lab_cancel(&l, &out);
    lab_run(&l);
    assert_int_equal(post->state, FAKE_ABORTED);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    assert_int_equal(mcpi_timers_next(mcpi_loop_timers(l.loop)), MCPI_NEVER);
    outcome_done(&out);
    lab_close(&l);
}

static void
B8_a_frame_waits_for_the_last_byte_of_its_request(void **state)
{
    struct fake_fetch *post, *next;
    struct outcome out, other;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    fake_sending(post);
    lab_cancel(&l, &out);
    lab_run(&l);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    assert_int_equal(post->state, FAKE_OPEN);
    next = lab_call(&l, NULL, &other); /* others do not wait */
    fake_sent(post);
    lab_pass(&l, MCPI_HTTP_OVERTAKEN_MAX);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    assert_true(fetch_says(lab_last(&l), "\"requestId\":1,"));
    lab_reply(&l, next, ANSWER("2"));
    expect(&other, 0);
    outcome_done(&out);
    outcome_done(&other);
    lab_close(&l);
}

/* That it was sent does not mean that it was read. */
static void
B8_B12_a_frame_does_not_overtake_a_request_that_was_sent(void **state)
{
    struct fake_fetch *post;
    struct outcome out, other;
    struct lab l;

    (void)state;
    for (int with_head = 0; with_head < 2; with_head++) {
        lab_start_legacy(&l);
        post = lab_call(&l, NULL, &out);
        fake_sent(post);
        lab_pass(&l, MCPI_HTTP_OVERTAKEN_MAX / 2);
        lab_cancel(&l, &out);
        lab_run(&l);
        world_plain_call(&l.w, &other); /* others wait too */
        lab_pass(&l, MCPI_HTTP_OVERTAKEN_MAX / 4);
        assert_int_equal(lab_posted(&l, FRAME) + lab_posted(&l, "\"id\":2"), 0);
        if (with_head)
            lab_stream(&l, post);
        else
            lab_pass(&l, MCPI_HTTP_OVERTAKEN_MAX / 4);
        lab_run(&l);
        assert_int_equal(lab_posted(&l, FRAME), 1);
        assert_int_equal(lab_posted(&l, "\"id\":2"), 1);
        assert_true(fetch_says(lab_last(&l), "\"id\":2"));
        outcome_done(&out);
        outcome_done(&other);
        lab_close(&l);
    }
}

static void
B8_a_frame_is_not_late_for_a_request_that_is_old(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    fake_sent(post);
    lab_pass(&l, MCPI_HTTP_OVERTAKEN_MAX);
    lab_cancel(&l, &out);
    lab_run(&l);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    outcome_done(&out);
    lab_close(&l);
}

/* Two deadlines in one turn of the loop: the end of its request's grace, which sets it
 * free, and that of its own patience. */
static void
B1_a_frame_that_may_go_is_not_given_up(void **state)
{
    const struct lab_options opt = {.era = MCPI_ERA_LEGACY,
                                    .times = {.grace = MCPI_HTTP_OVERTAKEN_MAX / 4}};
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy_with(&l, &opt);
    fake_sent(lab_call(&l, NULL, &out));
    lab_cancel(&l, &out);
    lab_run(&l);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    l.w.now += MCPI_HTTP_OVERTAKEN_MAX;
    lab_run(&l);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    outcome_done(&out);
    lab_close(&l);
}

/* It was on its way when its request was canceled. */
static void
B8_a_frame_that_waited_for_the_last_byte_waits_on(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    fake_sending(post);
    lab_cancel(&l, &out);
    lab_run(&l);
    fake_sent(post);
    lab_run(&l);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    lab_pass(&l, MCPI_HTTP_OVERTAKEN_MAX);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    outcome_done(&out);
    lab_close(&l);
}

static void
note_flushed(void *user, int status)
{
    *(int *)user = status;
}

/* How it went is a matter of the link: whoever waits hears that it was told, or cannot be. */
static void
B10_D5_who_waits_for_a_frame_hears_told_or_not(void **state)
{
    static const struct {
        int http, fault, heard;
    } rows[] = {{202, 0, 0},
                {400, 0, MCP_E_CLOSED},
                {503, 0, MCP_E_CLOSED},
                {0, MCP_E_SEND_FAILED, MCP_E_CLOSED},
                {0, MCP_E_CLOSED, MCP_E_CLOSED}};
    struct outcome out;
    struct lab l;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int before = 1, after = 1;

        lab_start_legacy(&l);
        fake_sent(lab_call(&l, NULL, &out));
        lab_cancel(&l, &out);
        lab_pass(&l, MCPI_HTTP_OVERTAKEN_MAX);
        assert_int_equal(
            mcpi_call_flush(out.call, SECOND, note_flushed, &before, l.w.now), 0);
        if (rows[i].http)
            fake_answer(lab_post(&l, FRAME), rows[i].http, NULL, NULL);
        else
            fake_fail(lab_post(&l, FRAME), rows[i].fault, "no way");
        lab_run(&l);
        assert_int_equal(before, rows[i].heard);
        assert_int_equal(
            mcpi_call_flush(out.call, SECOND, note_flushed, &after, l.w.now), 0);
        assert_int_equal(after, rows[i].heard);
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
B6_B8_a_request_that_breaks_while_it_is_sent_is_still_taken_back(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    fake_sending(post);
    lab_cancel(&l, &out);
    lab_run(&l);
    fake_fail(post, MCP_E_CLOSED, "reset");
    lab_run(&l);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    outcome_done(&out);
    lab_close(&l);
}

static void
B8_a_request_that_cannot_be_sent_to_its_end_goes_after_the_grace(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    fake_sending(post);
    lab_cancel(&l, &out);
    lab_pass(&l, 4 * SECOND);
    assert_int_equal(post->state, FAKE_OPEN);
    lab_pass(&l, 2 * SECOND);
    assert_int_equal(post->state, FAKE_ABORTED);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    outcome_done(&out);
    lab_close(&l);
}

static void
B12_the_frame_is_posted_before_what_follows_it(void **state)
{
    struct fake_fetch *post;
    struct outcome out, other;
    struct lab l;
    size_t before;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    lab_stream(&l, post);
    before = lab_count(&l);
    lab_cancel(&l, &out);
    world_call(&l.w, CLIENT, NULL, &other);
    lab_run(&l);
    assert_int_equal(lab_count(&l), before + 2);
    assert_true(fetch_says(lab_at(&l, before), FRAME));
    assert_true(fetch_says(lab_at(&l, before + 1), "tools/call"));
    outcome_done(&out);
    outcome_done(&other);
    lab_close(&l);
}

static void
a_frame_for_a_lost_stream_is_posted(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    lab_stream(&l, post);
    fake_fail(post, MCP_E_CLOSED, "reset");
    lab_run(&l);
    expect(&out, MCP_E_CLOSED);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    outcome_done(&out);
    lab_close(&l);
}

/* ---- negotiation ----------------------------------------------------------- */

static void
B16_B17_B18_negotiation_is_aborted_at_once_and_never_framed(void **state)
{
    static const enum mcpi_era eras[] = {MCPI_ERA_LEGACY, MCPI_ERA_MODERN};
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        for (int phase = 0; phase < 4; phase++) {
            struct lab_options opt = {.era = eras[i]};
            struct fake_fetch *post;

            lab_connect(&l, &opt);
            post = lab_last(&l);
            if (phase == 1)
                fake_sending(post);
            if (phase == 2)
                fake_sent(post);
            if (phase == 3)
                fake_head(post, 200, SSE_HEAD);
            lab_pass(&l, 61 * SECOND);
            assert_int_equal(l.ready, 1);
            assert_int_equal(l.ready_status, MCP_E_TIMEOUT);
            assert_int_equal(post->state, FAKE_ABORTED);
            assert_int_equal(lab_count(&l), 1);
            assert_int_equal(l.closed, 1);
            lab_close(&l);
        }
    }
}

static void
D3_before_a_version_is_known_a_cancel_is_a_frame(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_MANUAL};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    post = lab_call(&l, NULL, &out);
    assert_null(fake_field(post, "mcp-protocol-version"));
    lab_stream(&l, post);
    lab_cancel(&l, &out);
    lab_run(&l);
    assert_true(fetch_says(lab_last(&l), FRAME));
    assert_null(fake_field(lab_last(&l), "mcp-protocol-version"));
    assert_int_equal(post->state, FAKE_ABORTED); /* nor is there a session (D16) */
    outcome_done(&out);
    lab_close(&l);
}

/* The session moves on to the other era, as no peer of ours does by itself. */
static void
D4_E4_a_request_is_canceled_as_it_was_sent(void **state)
{
    struct fake_fetch *old_post, *new_post;
    struct outcome old, new;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    old_post = lab_call(&l, NULL, &old);
    lab_stream(&l, old_post);
    l.w.peer[CLIENT]->dialect = &mcpi_dialect_modern;
    l.w.peer[CLIENT]->version = "2026-07-28";
    new_post = lab_call(&l, NULL, &new);
    assert_string_equal(fake_field(new_post, "mcp-protocol-version"), "2026-07-28");
    assert_null(fake_field(new_post, "mcp-session-id"));
    lab_cancel(&l, &old);
    lab_cancel(&l, &new);
    lab_run(&l);
    assert_int_equal(old_post->state, FAKE_OPEN);
    assert_int_equal(new_post->state, FAKE_ABORTED);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    assert_true(fetch_says(lab_last(&l), "\"requestId\":1,"));
    outcome_done(&old);
    outcome_done(&new);
    lab_close(&l);
}

static void
E8_E9_a_frame_by_hand_that_names_nothing_is_for_legacy_servers(void **state)
{
    static const char params[] = "{\"requestId\":\"nobody\"}";
    struct lab l;
    size_t before;

    (void)state;
    lab_start_modern(&l);
    before = lab_count(&l);
    assert_int_equal(
        mcpi_peer_notify(l.w.peer[CLIENT], FRAME, params, sizeof(params) - 1, l.w.now),
        0);
    lab_run(&l);
    assert_int_equal(lab_count(&l), before);
    lab_close(&l);
    lab_start_legacy(&l);
    assert_int_equal(
        mcpi_peer_notify(l.w.peer[CLIENT], FRAME, params, sizeof(params) - 1, l.w.now),
        0);
    lab_run(&l);
    assert_true(fetch_says(lab_last(&l), "nobody"));
    lab_close(&l);
}

/* ---- an id that comes again ------------------------------------------------ */

static void
E15_E16_an_id_that_is_issued_again_severs_its_old_POST(void **state)
{
    struct mcpi_id id = mcpi_id_string("seven", 5);
    struct mcpi_call_options opt = {.id = &id};
    struct fake_fetch *first, *second;
    struct outcome old, new;
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    first = lab_call(&l, &opt, &old);
    lab_stream(&l, first);
    lab_event(&l, first, ANSWER("\"seven\"")); /* and lingers */
    expect(&old, 0);
    assert_int_equal(first->state, FAKE_OPEN);
    second = lab_call(&l, &opt, &new);
    assert_int_equal(first->state, FAKE_ABORTED);
    lab_pass(&l, 5 * SECOND); /* the first one is long gone */
    assert_int_equal(second->state, FAKE_OPEN);
    lab_cancel(&l, &new); /* the second is still found */
    assert_int_equal(second->state, FAKE_ABORTED);
    outcome_done(&old);
    outcome_done(&new);
    lab_close(&l);
}

static void
E15_nothing_of_the_old_stream_reaches_the_successor(void **state)
{
    struct mcpi_id id = mcpi_id_string("seven", 5);
    struct mcpi_call_options opt = {.id = &id};
    struct fake_fetch *first, *frame, *second;
    struct outcome old, new;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    first = lab_call(&l, &opt, &old);
    lab_stream(&l, first);
    lab_cancel(&l, &old);
    lab_run(&l);
    frame = lab_last(&l);
    lab_accept(&l, frame);
    second = lab_call(&l, &opt, &new);
    assert_int_equal(first->state, FAKE_ABORTED);
    expect_open(&new);
    lab_reply(&l, second, ANSWER("\"seven\""));
    expect(&new, 0);
    outcome_done(&old);
    outcome_done(&new);
    lab_close(&l);
}

static void
E15_a_frame_on_its_way_does_not_cancel_the_successor(void **state)
{
    struct mcpi_id id = mcpi_id_string("seven", 5);
    struct mcpi_call_options opt = {.id = &id};
    struct fake_fetch *first, *frame;
    struct outcome old, new;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    first = lab_call(&l, &opt, &old);
    lab_stream(&l, first);
    lab_cancel(&l, &old);
    world_call(&l.w, CLIENT, &opt, &new);
    lab_run(&l);
    assert_int_equal(first->state, FAKE_ABORTED);
    frame = lab_last(&l);
    assert_true(fetch_says(frame, FRAME));
    fake_answer(frame, 202, NULL, NULL); /* now the server has read it */
    lab_run(&l);
    assert_true(fetch_says(lab_last(&l), "tools/call"));
    lab_reply(&l, lab_last(&l), ANSWER("\"seven\""));
    expect(&new, 0);
    outcome_done(&old);
    outcome_done(&new);
    lab_close(&l);
}

static void
E15_a_successor_waits_for_that_frame_only_so_long(void **state)
{
    struct mcpi_id id = mcpi_id_string("seven", 5);
    struct mcpi_call_options opt = {.id = &id};
    struct outcome old, new;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    lab_stream(&l, lab_call(&l, &opt, &old));
    lab_cancel(&l, &old);
    world_call(&l.w, CLIENT, &opt, &new);
    lab_run(&l);
    assert_int_equal(lab_posted(&l, "tools/call"), 1);
    lab_pass(&l, MCPI_HTTP_LINGER);
    assert_int_equal(lab_posted(&l, "tools/call"), 2);
    outcome_done(&old);
    outcome_done(&new);
    lab_close(&l);
}

static void
E15_a_successor_goes_as_soon_as_that_frame_is_answered(void **state)
{
    struct mcpi_id id = mcpi_id_string("seven", 5);
    struct mcpi_call_options opt = {.id = &id};
    struct outcome old, new;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    lab_stream(&l, lab_call(&l, &opt, &old));
    lab_cancel(&l, &old);
    world_call(&l.w, CLIENT, &opt, &new);
    lab_run(&l);
    lab_stream(&l, lab_last(&l)); /* an answer that does not end */
    assert_int_equal(lab_posted(&l, "tools/call"), 2);
    outcome_done(&old);
    outcome_done(&new);
    lab_close(&l);
}

static void
E15_a_successor_canceled_as_it_may_go_does_not_go(void **state)
{
    struct mcpi_id id = mcpi_id_string("seven", 5);
    struct mcpi_call_options opt = {.id = &id};
    struct outcome old, new;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    lab_stream(&l, lab_call(&l, &opt, &old));
    lab_cancel(&l, &old);
    world_call(&l.w, CLIENT, &opt, &new);
    lab_run(&l);
    lab_cancel(&l, &new);
    lab_accept(&l, lab_last(&l));
    assert_int_equal(lab_posted(&l, "tools/call"), 1);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    outcome_done(&old);
    outcome_done(&new);
    lab_close(&l);
}

/* In the other era, which no peer of ours moves to by itself. */
static void
E15_a_successor_that_is_detached_while_it_waits_is_gone(void **state)
{
    struct mcpi_id id = mcpi_id_string("seven", 5);
    struct mcpi_call_options opt = {.id = &id};
    struct outcome old, new;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    lab_stream(&l, lab_call(&l, &opt, &old));
    lab_cancel(&l, &old);
    lab_run(&l);
    l.w.peer[CLIENT]->dialect = &mcpi_dialect_modern;
    l.w.peer[CLIENT]->version = "2026-07-28";
    opt.on_abandon = MCPI_ABANDON_DETACHES;
    world_call(&l.w, CLIENT, &opt, &new);
    lab_run(&l);
    lab_cancel(&l, &new);
    lab_accept(&l, lab_last(&l));
    lab_pass(&l, 10 * SECOND);
    assert_int_equal(lab_posted(&l, "tools/call"), 1);
    lab_shut(&l);
    lab_accept(&l, lab_last(&l)); /* DELETE: nothing is waited for */
    assert_int_equal(l.closed, 1);
    outcome_done(&old);
    outcome_done(&new);
    lab_close(&l);
}

static void
E15_a_successor_that_waits_can_be_canceled_without_a_trace(void **state)
{
    struct mcpi_id id = mcpi_id_string("seven", 5);
    struct mcpi_call_options opt = {.id = &id};
    struct outcome old, new;
    struct lab l;
    size_t before;

    (void)state;
    lab_start_legacy(&l);
    lab_stream(&l, lab_call(&l, &opt, &old));
    lab_cancel(&l, &old);
    world_call(&l.w, CLIENT, &opt, &new);
    lab_run(&l);
    before = lab_count(&l);
    lab_cancel(&l, &new);
    expect(&new, MCP_E_CANCELED);
    lab_run(&l);
    lab_accept(&l, lab_last(&l));
    lab_pass(&l, 10 * SECOND);
    assert_int_equal(lab_count(&l), before);
    outcome_done(&old);
    outcome_done(&new);
    lab_close(&l);
}

static void
E15_a_request_cut_off_by_its_successor_needs_no_frame(void **state)
{
    struct mcpi_id id = mcpi_id_string("seven", 5);
    struct mcpi_call_options opt = {.id = &id};
    struct fake_fetch *first;
    struct outcome old, new;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    first = lab_call(&l, &opt, &old);
    fake_sending(first);
    lab_cancel(&l, &old);
    lab_run(&l);
    lab_call(&l, &opt, &new);
    assert_int_equal(first->state, FAKE_ABORTED);
    lab_pass(&l, 10 * SECOND);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    expect_open(&new);
    outcome_done(&old);
    outcome_done(&new);
    lab_close(&l);
}

/* ---- no memory ------------------------------------------------------------- */

static void
D1_a_frame_waits_for_memory_and_is_not_lost(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    lab_stream(&l, lab_call(&l, NULL, &out));
    l.fetcher.refuse = MCP_E_NOMEM;
    lab_cancel(&l, &out);
    lab_pass(&l, SECOND);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    assert_true(l.fetcher.refused > 10);
    assert_true(l.fetcher.refused < 1000); /* and nobody spins */
    l.fetcher.refuse = 0;
    lab_pass(&l, 20 * MS);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    assert_true(fetch_says(lab_last(&l), "\"requestId\":1,"));
    outcome_done(&out);
    lab_close(&l);
}

static void
a_message_waits_for_memory_only_so_long(void **state)
{
    struct outcome out;
    struct lab l;
    unsigned refused;

    (void)state;
    lab_start_legacy(&l);
    lab_stream(&l, lab_call(&l, NULL, &out));
    l.fetcher.refuse = MCP_E_NOMEM;
    lab_cancel(&l, &out);
    lab_pass(&l, MCPI_HTTP_STARVED_MAX + SECOND);
    refused = l.fetcher.refused;
    assert_true(lab_logged(&l, "given up"));
    lab_pass(&l, SECOND);
    assert_int_equal(l.fetcher.refused, refused);
    outcome_done(&out);
    lab_close(&l);
}

static void
a_request_for_which_there_is_no_memory_fails_unsent(void **state)
{
    struct outcome out;
    struct lab l;
    size_t before;

    (void)state;
    lab_start_legacy(&l);
    before = lab_count(&l);
    l.fetcher.refuse = MCP_E_NOMEM;
    l.fetcher.refuse_times = 1;
    world_call(&l.w, CLIENT, NULL, &out);
    lab_run(&l);
    expect(&out, MCP_E_NOMEM);
    lab_pass(&l, 10 * SECOND);
    assert_int_equal(lab_count(&l), before); /* no frame either */
    outcome_done(&out);
    lab_close(&l);
}

static void
without_an_entry_nothing_is_taken(void **state)
{
    struct outcome out[2];
    struct lab l;
    size_t before;

    (void)state;
    lab_start_legacy(&l);
    lab_stream(&l, lab_call(&l, NULL, &out[0]));
    world_call(&l.w, CLIENT, NULL, &out[1]);
    before = lab_count(&l);
    l.mem->fail_at = l.mem->total + 1;
    l.mem->fail_after = true;
    lab_cancel(&l, &out[0]);
    lab_run(&l);
    assert_int_equal(lab_count(&l), before);
    lab_cancel(&l, &out[1]); /* still in the queue, or failed for want of memory */
    l.mem->fail_at = 0;
    lab_pass(&l, 20 * MS);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    assert_int_equal(lab_count(&l), before + 1);
    for (int i = 0; i < 2; i++)
        outcome_done(&out[i]);
    lab_close(&l);
}

TEST_MAIN(TEST(D1_D2_a_legacy_cancel_is_a_POST_and_the_stream_stays_open),
          TEST(B13_cancel_and_free_and_timeout_are_one_frame),
          TEST(D5_a_frame_that_is_refused_changes_nothing),
          TEST(B7_E5_a_cancel_in_the_same_turn_finds_nothing_sent),
          TEST(B5_a_request_of_which_nothing_has_left_is_aborted_without_a_frame),
          TEST(B8_a_frame_waits_for_the_last_byte_of_its_request),
          TEST(B8_B12_a_frame_does_not_overtake_a_request_that_was_sent),
          TEST(B8_a_frame_is_not_late_for_a_request_that_is_old),
          TEST(B1_a_frame_that_may_go_is_not_given_up),
          TEST(B8_a_frame_that_waited_for_the_last_byte_waits_on),
          TEST(B10_D5_who_waits_for_a_frame_hears_told_or_not),
          TEST(B6_B8_a_request_that_breaks_while_it_is_sent_is_still_taken_back),
          TEST(B8_a_request_that_cannot_be_sent_to_its_end_goes_after_the_grace),
          TEST(B12_the_frame_is_posted_before_what_follows_it),
          TEST(a_frame_for_a_lost_stream_is_posted),
          TEST(B16_B17_B18_negotiation_is_aborted_at_once_and_never_framed),
          TEST(D3_before_a_version_is_known_a_cancel_is_a_frame),
          TEST(D4_E4_a_request_is_canceled_as_it_was_sent),
          TEST(E8_E9_a_frame_by_hand_that_names_nothing_is_for_legacy_servers),
          TEST(E15_E16_an_id_that_is_issued_again_severs_its_old_POST),
          TEST(E15_nothing_of_the_old_stream_reaches_the_successor),
          TEST(E15_a_frame_on_its_way_does_not_cancel_the_successor),
          TEST(E15_a_successor_waits_for_that_frame_only_so_long),
          TEST(E15_a_successor_goes_as_soon_as_that_frame_is_answered),
          TEST(E15_a_successor_canceled_as_it_may_go_does_not_go),
          TEST(E15_a_successor_that_is_detached_while_it_waits_is_gone),
          TEST(E15_a_successor_that_waits_can_be_canceled_without_a_trace),
          TEST(E15_a_request_cut_off_by_its_successor_needs_no_frame),
          TEST(D1_a_frame_waits_for_memory_and_is_not_lost),
          TEST(a_message_waits_for_memory_only_so_long),
          TEST(a_request_for_which_there_is_no_memory_fails_unsent),
          TEST(without_an_entry_nothing_is_taken))
