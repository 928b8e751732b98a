/* http_entry_test.c - one message on its way: hung up, resumed, or no request */
#include "link/http_client_fixture.h"

#include "link/http_entry.h"

#define FRAME "notifications/cancelled"
#define PROGRESS(token) \
    NOTE("notifications/progress", "{\"progressToken\":" token ",\"progress\":1}")

static void
start(struct lab *l, bool modern)
{
    if (modern)
        lab_start_modern(l);
    else
        lab_start_legacy(l);
}

/* ---- hung up --------------------------------------------------------------- */

static void
D6_a_canceled_legacy_stream_is_kept_for_the_grace(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    lab_stream(&l, post);
    lab_cancel(&l, &out);
    lab_run(&l);
    lab_accept(&l, lab_last(&l));
    lab_pass(&l, 4 * SECOND);
    lab_event(&l, post, REQUEST("5", "roots/list", "{}")); /* what belongs to it */
    assert_non_null(l.asked);
    lab_event(&l, post, ANSWER("1"));
    expect(&out, MCP_E_CANCELED);
    assert_true(lab_logged(&l, "D: late answer"));
    assert_int_equal(post->state, FAKE_OPEN);
    lab_pass(&l, SECOND);
    assert_int_equal(post->state, FAKE_ABORTED);
    outcome_done(&out);
    lab_close(&l);
}

static void
D6_a_canceled_stream_that_ends_in_time_is_let_go(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    lab_stream(&l, post);
    lab_cancel(&l, &out);
    lab_run(&l);
    lab_accept(&l, lab_last(&l));
    lab_event(&l, post, ERROR("1", "-32800"));
    fake_end(post);
    lab_run(&l);
    assert_int_equal(mcpi_timers_next(mcpi_loop_timers(l.loop)), MCPI_NEVER);
    outcome_done(&out);
    lab_close(&l);
}

/* In all its phases a request is brought to, and then abandoned. */
enum phase { CONNECTING, SENDING, AWAITING, IN_JSON, IDLE_STREAM, MID_EVENT, PINGED };

static void
bring_to(struct lab *l, struct fake_fetch *post, enum phase phase)
{
    if (phase == SENDING)
        fake_sending(post);
    if (phase == AWAITING)
        fake_sent(post);
    if (phase == IN_JSON) {
        fake_head(post, 200, "Content-Type: " JSON_TYPE);
        fake_body(post, "{\"jsonrpc\":");
    }
    if (phase >= IDLE_STREAM)
        fake_stream(post);
    if (phase == MID_EVENT)
        fake_body(post, "data: {\"json");
    if (phase == PINGED)
        fake_body(post, ": ping\n\n: ping\n\n");
    lab_run(l);
}

/* ---- hung up in no session (D16) -------------------------------------------- */

static void
start_stateless(struct lab *l)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};

    lab_connect(l, &opt);
    lab_welcome(l, lab_last(l), NULL);
    lab_accept_without_stream(l, lab_last(l));
}

/* Its server may know of no frame, but it sees who leaves. What it has answered it has
 * read: then the frame does not wait. */
static void
D16_in_no_session_a_cancel_posts_a_frame_and_closes_at_once(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int phase = SENDING; phase <= PINGED; phase++) {
        start_stateless(&l);
        post = lab_call(&l, NULL, &out);
        bring_to(&l, post, (enum phase)phase);
        lab_cancel(&l, &out);
        assert_int_equal(post->state, FAKE_ABORTED);
        expect(&out, MCP_E_CANCELED);
        lab_run(&l);
        assert_int_equal(lab_posted(&l, FRAME), phase != AWAITING);
        lab_pass(&l, MCPI_HTTP_OVERTAKEN_MAX);
        assert_int_equal(lab_posted(&l, FRAME), 1);
        assert_true(fetch_says(lab_last(&l), "\"requestId\":1,"));
        assert_null(fake_field(lab_last(&l), "mcp-session-id"));
        lab_accept(&l, lab_last(&l));
        assert_int_equal(mcpi_timers_next(mcpi_loop_timers(l.loop)), MCPI_NEVER);
        assert_int_equal(l.fetcher.aborts, 1);
        outcome_done(&out);
        lab_close(&l);
    }
}

/* The request may still be on its way to whoever reads it. */
static void
D16_B8_B12_its_frame_and_what_follows_wait_as_ever(void **state)
{
    struct outcome out, other;
    struct lab l;

    (void)state;
    start_stateless(&l);
    fake_sent(lab_call(&l, NULL, &out));
    lab_pass(&l, MCPI_HTTP_OVERTAKEN_MAX / 2);
    lab_cancel(&l, &out);
    world_plain_call(&l.w, &other);
    lab_pass(&l, MCPI_HTTP_OVERTAKEN_MAX / 2 - 1);
    assert_int_equal(lab_posted(&l, FRAME) + lab_posted(&l, "\"id\":2"), 0);
    lab_pass(&l, 1);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    assert_int_equal(lab_posted(&l, "\"id\":2"), 1);
    assert_true(fetch_says(lab_last(&l), "\"id\":2"));
    outcome_done(&out);
    outcome_done(&other);
    lab_close(&l);
}

/* All its bytes have left, and nobody was told yet. */
static void
D16_B8_one_that_has_just_been_sent_may_not_be_read_yet(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    start_stateless(&l);
    post = lab_call(&l, NULL, &out);
    post->phase = MCPI_FETCH_SENT;
    lab_cancel(&l, &out);
    assert_int_equal(post->state, FAKE_ABORTED);
    lab_pass(&l, MCPI_HTTP_OVERTAKEN_MAX - 1);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    lab_pass(&l, 1);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    outcome_done(&out);
    lab_close(&l);
}

static void
B5_D16_in_no_session_what_has_not_left_is_not_told_of(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    start_stateless(&l);
    post = lab_call(&l, NULL, &out);
    lab_cancel(&l, &out);
    lab_pass(&l, 60 * SECOND);
    assert_int_equal(post->state, FAKE_ABORTED);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
by_timeout(struct lab *l, struct outcome *out)
{
    lab_pass(l, 2 * SECOND);
    expect(out, MCP_E_TIMEOUT);
}

static void
by_free(struct lab *l, struct outcome *out)
{
    mcpi_call_free(out->call, l->w.now);
    out->call = NULL;
    lab_run(l);
}

static void
by_close(struct lab *l, struct outcome *out)
{
    mcpi_peer_close(l->w.peer[CLIENT], l->w.now);
    lab_run(l);
    expect(out, MCP_E_CLOSED);
}

static void
B35_D16_so_do_a_timeout_a_free_and_a_close(void **state)
{
    static void (*const causes[])(struct lab *, struct outcome *) = {by_timeout,
                                                                     by_free, by_close};
    struct mcpi_call_options opt = {.timeout_us = 2 * SECOND};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        start_stateless(&l);
        post = lab_call(&l, &opt, &out);
        lab_stream(&l, post);
        causes[i](&l, &out);
        assert_int_equal(post->state, FAKE_ABORTED);
        assert_int_equal(lab_posted(&l, FRAME), 1);
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
E3_E12_a_modern_abort_works_in_every_phase_and_tells_nobody(void **state)
{
    struct outcome out, other;
    struct fake_fetch *post, *sibling;
    struct lab l;

    (void)state;
    for (int phase = CONNECTING; phase <= PINGED; phase++) {
        lab_start_modern(&l);
        sibling = lab_call(&l, NULL, &other);
        post = lab_call(&l, NULL, &out);
        bring_to(&l, post, (enum phase)phase);
        lab_cancel(&l, &out);
        assert_int_equal(post->state, FAKE_ABORTED); /* at once */
        lab_pass(&l, SECOND);
        expect(&out, MCP_E_CANCELED);
        assert_int_equal(lab_count(&l), 3);
        assert_int_equal(l.fetcher.aborts, 1); /* E17 */
        assert_int_equal(mcpi_timers_next(mcpi_loop_timers(l.loop)),
                         l.w.now + 59 * SECOND);
        lab_reply(&l, sibling, ANSWER("1"));
        expect(&other, 0);
        outcome_done(&out);
        outcome_done(&other);
        lab_close(&l);
    }
}

static void
E12_a_timeout_aborts_like_a_cancel(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = 2 * SECOND};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    post = lab_call(&l, &opt, &out);
    lab_pass(&l, 2 * SECOND);
    expect(&out, MCP_E_TIMEOUT);
    assert_int_equal(post->state, FAKE_ABORTED);
    lab_pass(&l, SECOND);
    assert_int_equal(lab_count(&l), 2); /* the question before it; and no frame */
    outcome_done(&out);
    lab_close(&l);
}

static void
E11_a_cancel_after_the_answer_sends_nothing(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    for (int modern = 0; modern < 2; modern++) {
        size_t before;

        start(&l, modern);
        lab_reply(&l, lab_call(&l, NULL, &out), ANSWER("1"));
        before = lab_count(&l);
        assert_int_equal(mcpi_call_cancel(out.call, NULL, l.w.now), MCP_E_STATE);
        lab_pass(&l, SECOND);
        assert_int_equal(lab_count(&l), before);
        outcome_done(&out);
        lab_close(&l);
    }
}

/* A cancel from inside the callback of another answer, on the stack of its flow. */
static void
cancel_the_other(void *user, struct mcpi_call *call, int status,
                 const struct mcpi_rpc *answer)
{
    struct outcome *other = user;

    (void)call;
    (void)status;
    (void)answer;
    assert_int_equal(mcpi_call_cancel(other->call, NULL, other->world->now), 0);
}

static void
one_may_be_canceled_from_inside_of_another_answer(void **state)
{
    static const struct mcpi_call_ops ops = {.done = cancel_the_other};
    struct mcpi_call_options co = {.method = "tools/call", .ops = &ops};
    struct mcpi_call *first;
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int modern = 0; modern < 2; modern++) {
        start(&l, modern);
        co.user = &out;
        co.params = "{\"name\":\"t\"}";
        co.params_len = strlen(co.params);
        assert_int_equal(mcpi_call_start(l.w.peer[CLIENT], &co, l.w.now, &first), 0);
        lab_run(&l);
        post = lab_last(&l);
        lab_stream(&l, lab_call(&l, NULL, &out));
        lab_reply(&l, post, ANSWER("1"));
        expect(&out, MCP_E_CANCELED);
        assert_int_equal(lab_posted(&l, FRAME), !modern);
        mcpi_call_free(first, l.w.now);
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
B26_a_detached_modern_request_is_read_to_its_end(void **state)
{
    struct mcpi_call_options opt = {.on_abandon = MCPI_ABANDON_DETACHES};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    post = lab_call(&l, &opt, &out);
    lab_stream(&l, post);
    lab_cancel(&l, &out);
    lab_pass(&l, 60 * SECOND);
    assert_int_equal(post->state, FAKE_OPEN);
    lab_event(&l, post, ANSWER("1"));
    fake_end(post);
    lab_run(&l);
    expect(&out, MCP_E_CANCELED);
    assert_int_equal(lab_count(&l), 2);
    outcome_done(&out);
    lab_close(&l);
}

static void
B26_a_detached_legacy_request_is_closed_without_a_frame(void **state)
{
    struct mcpi_call_options opt = {.on_abandon = MCPI_ABANDON_DETACHES};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, &opt, &out);
    lab_stream(&l, post);
    lab_cancel(&l, &out);
    assert_int_equal(post->state, FAKE_ABORTED);
    lab_pass(&l, SECOND);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
B26_D16_a_detached_request_in_no_session_is_read_to_its_end(void **state)
{
    struct mcpi_call_options opt = {.on_abandon = MCPI_ABANDON_DETACHES};
    struct lab_options lo = {.era = MCPI_ERA_LEGACY};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int left = 0; left < 2; left++) {
        lab_connect(&l, &lo);
        lab_welcome(&l, lab_last(&l), NULL);
        lab_accept_without_stream(&l, lab_last(&l));
        post = lab_call(&l, &opt, &out);
        if (left)
            fake_sent(post);
        lab_cancel(&l, &out);
        lab_pass(&l, 60 * SECOND);
        assert_int_equal(post->state, left ? FAKE_OPEN : FAKE_ABORTED);
        assert_int_equal(lab_posted(&l, FRAME), 0);
        if (left)
            lab_reply(&l, post, ANSWER("1"));
        expect(&out, MCP_E_CANCELED);
        outcome_done(&out);
        lab_close(&l);
    }
}

/* ---- resumption (B27, B28) ------------------------------------------------- */

static char resumed_from[64];

static void
on_resumable(void *user, struct mcpi_call *call, const char *token)
{
    (void)user;
    (void)call;
    snprintf(resumed_from, sizeof(resumed_from), "%s", token);
}

static void
B27_a_call_is_told_from_where_it_can_be_resumed(void **state)
{
    struct mcpi_call_ops ops = outcome_ops;
    struct mcpi_call_options opt = {
        .resumable = true, .ops = &ops, .timeout_us = 5 * SECOND};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    ops.resumable = on_resumable;
    for (int modern = 0; modern < 2; modern++) {
        *resumed_from = '\0';
        start(&l, modern);
        post = lab_call(&l, &opt, &out);
        lab_stream(&l, post);
        fake_body(post, "id: five\ndata:\n\n");
        assert_string_equal(resumed_from, modern ? "" : "five");
        lab_pass(&l, 5 * SECOND);
        expect(&out, MCP_E_TIMEOUT);
        assert_int_equal(post->state, FAKE_ABORTED);
        assert_int_equal(lab_posted(&l, FRAME), 0); /* detached */
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
B27_a_token_is_a_GET_whose_answer_is_ours_whatever_its_id(void **state)
{
    struct mcpi_call_options opt = {.resume_token = "five"};
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    get = lab_call(&l, &opt, &out);
    assert_string_equal(get->method, "GET");
    assert_null(get->body);
    assert_string_equal(fake_field(get, "last-event-id"), "five");
    assert_string_equal(fake_field(get, "mcp-session-id"), "s-1");
    lab_stream(&l, get);
    lab_event(&l, get, ANSWER("77"));
    expect(&out, 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
B27_B28_canceling_a_resumed_call_posts_a_frame_without_hints(void **state)
{
    struct mcpi_call_options opt = {.resume_token = "five"};
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int opened = 0; opened < 2; opened++) {
        lab_start_legacy(&l);
        get = lab_call(&l, &opt, &out);
        if (opened)
            lab_stream(&l, get);
        lab_cancel(&l, &out);
        lab_run(&l);
        assert_int_equal(lab_posted(&l, FRAME), 1);
        assert_string_equal(lab_last(&l)->method, "POST");
        assert_null(fake_field(lab_last(&l), "last-event-id"));
        outcome_done(&out);
        lab_close(&l);
    }
}

/* Without a session, leaving is a cancel (D16); and it is the same request. */
static void
B27_resuming_does_not_sever_the_request_that_it_resumes(void **state)
{
    struct lab_options lo = {.era = MCPI_ERA_LEGACY, .no_stream = true};
    struct mcpi_id id = mcpi_id_int(71);
    struct mcpi_call_options opt = {.id = &id, .resumable = true, .timeout_us = SECOND};
    struct fake_fetch *post, *get;
    struct outcome first, again;
    struct lab l;

    (void)state;
    lab_connect(&l, &lo);
    lab_welcome(&l, lab_last(&l), NULL);
    lab_accept(&l, lab_last(&l));
    post = lab_call(&l, &opt, &first);
    lab_stream(&l, post);
    fake_body(post, "id: five\ndata:\n\n");
    lab_pass(&l, SECOND);
    expect(&first, MCP_E_TIMEOUT);
    assert_int_equal(post->state, FAKE_OPEN);
    opt.resume_token = "five";
    opt.timeout_us = MCPI_NEVER;
    get = lab_call(&l, &opt, &again);
    assert_string_equal(get->method, "GET");
    assert_int_equal(post->state, FAKE_OPEN);
    lab_cancel(&l, &again);
    lab_run(&l);
    assert_true(fetch_says(lab_last(&l), FRAME));
    assert_true(fetch_says(lab_last(&l), "\"requestId\":71"));
    lab_event(&l, post, ANSWER("71")); /* nobody's any more */
    outcome_done(&first);
    outcome_done(&again);
    lab_close(&l);
}

static void
B27_a_token_means_nothing_in_the_modern_era(void **state)
{
    struct mcpi_call_options opt = {.resume_token = "five"};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    post = lab_call(&l, &opt, &out);
    assert_string_equal(post->method, "POST");
    assert_null(fake_field(post, "last-event-id"));
    outcome_done(&out);
    lab_close(&l);
}

/* ---- messages that are no requests ----------------------------------------- */

static void
notify(struct lab *l, const char *method)
{
    assert_int_equal(mcpi_peer_notify(l->w.peer[CLIENT], method, NULL, 0, l->w.now), 0);
    lab_run(l);
}

static void
a_notification_is_accepted_by_any_success(void **state)
{
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    notify(&l, "notifications/roots/list_changed");
    lab_accept(&l, lab_last(&l));
    notify(&l, "notifications/roots/list_changed");
    lab_reply(&l, lab_last(&l), "{}"); /* there are servers that do */
    notify(&l, "notifications/roots/list_changed");
    fake_answer(lab_last(&l), 200, NULL, NULL);
    lab_run(&l);
    assert_int_equal(fake_open_count(&l.fetcher), 0);
    lab_close(&l);
}

static void
what_answers_a_notification_answers_no_request(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    lab_call(&l, NULL, &out);
    notify(&l, "notifications/roots/list_changed");
    lab_stream(&l, lab_last(&l));
    lab_event(&l, lab_last(&l), ANSWER("1"));
    expect_open(&out);
    lab_event(&l, lab_last(&l), NOTE("notifications/tools/list_changed", "{}"));
    assert_int_equal(l.notices, 1);
    lab_pass(&l, MCPI_HTTP_LINGER);
    assert_int_equal(lab_last(&l)->state, FAKE_ABORTED);
    outcome_done(&out);
    lab_close(&l);
}

static void
a_notification_that_nobody_answers_is_given_up(void **state)
{
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    notify(&l, "notifications/roots/list_changed");
    lab_pass(&l, MCPI_HTTP_NOTE_MAX - 1);
    assert_int_equal(lab_last(&l)->state, FAKE_OPEN);
    lab_pass(&l, 1);
    assert_int_equal(lab_last(&l)->state, FAKE_ABORTED);
    assert_true(lab_logged(&l, "W: http: a message was not accepted in time"));
    lab_close(&l);
}

TEST_MAIN(TEST(D6_a_canceled_legacy_stream_is_kept_for_the_grace),
          TEST(D6_a_canceled_stream_that_ends_in_time_is_let_go),
          TEST(D16_in_no_session_a_cancel_posts_a_frame_and_closes_at_once),
          TEST(D16_B8_B12_its_frame_and_what_follows_wait_as_ever),
          TEST(D16_B8_one_that_has_just_been_sent_may_not_be_read_yet),
          TEST(B5_D16_in_no_session_what_has_not_left_is_not_told_of),
          TEST(B35_D16_so_do_a_timeout_a_free_and_a_close),
          TEST(E3_E12_a_modern_abort_works_in_every_phase_and_tells_nobody),
          TEST(E12_a_timeout_aborts_like_a_cancel),
          TEST(E11_a_cancel_after_the_answer_sends_nothing),
          TEST(one_may_be_canceled_from_inside_of_another_answer),
          TEST(B26_a_detached_modern_request_is_read_to_its_end),
          TEST(B26_a_detached_legacy_request_is_closed_without_a_frame),
          TEST(B26_D16_a_detached_request_in_no_session_is_read_to_its_end),
          TEST(B27_a_call_is_told_from_where_it_can_be_resumed),
          TEST(B27_a_token_is_a_GET_whose_answer_is_ours_whatever_its_id),
          TEST(B27_B28_canceling_a_resumed_call_posts_a_frame_without_hints),
          TEST(B27_resuming_does_not_sever_the_request_that_it_resumes),
          TEST(B27_a_token_means_nothing_in_the_modern_era),
          TEST(a_notification_is_accepted_by_any_success),
          TEST(what_answers_a_notification_answers_no_request),
          TEST(a_notification_that_nobody_answers_is_given_up))
