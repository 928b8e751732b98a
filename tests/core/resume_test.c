/* resume_test.c - calls that can be taken up again: who is told, what abandons them,
 * and what comes on a stream of one's own */
#include <stdio.h>
#include <string.h>

#include "support/fake.h"

static const struct fake_options legacy = {.kind = FAKE_STREAMS,
                                           .era = MCPI_ERA_LEGACY};

/* ---- a caller who keeps tokens --------------------------------------------- */

struct keeper {
    struct mcpi_call *call;
    struct fake *f;
    char token[32];
    int told, done, status, progressed;
    bool cancel_when_told;
};

static void
keep_token(void *user, struct mcpi_call *call, const char *token)
{
    struct keeper *k = user;

    assert_ptr_equal(call, k->call);
    k->told++;
    snprintf(k->token, sizeof(k->token), "%s", token);
    if (k->cancel_when_told)
        assert_int_equal(mcpi_call_cancel(call, NULL, k->f->w.now), 0);
}

static void
keep_end(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *answer)
{
    struct keeper *k = user;

    (void)call;
    (void)answer;
    k->done++;
    k->status = status;
}

static void
keep_progress(void *user, struct mcpi_call *call, const struct mcpi_progress *p)
{
    struct keeper *k = user;

    (void)call;
    (void)p;
    k->progressed++;
}

static const struct mcpi_call_ops keeping_ops = {
    .done = keep_end, .progress = keep_progress, .resumable = keep_token};

/* Its request is out. */
static struct mcpi_leg *
start_keeping(struct fake *f, struct keeper *k, const struct mcpi_call_options *given)
{
    struct mcpi_call_options opt = {0};

    if (given)
        opt = *given;
    memset(k, 0, sizeof(*k));
    k->f = f;
    opt.method = "tools/call";
    opt.params = "{\"name\":\"t\"}";
    opt.params_len = strlen(opt.params);
    opt.ops = &keeping_ops;
    opt.user = k;
    assert_int_equal(mcpi_call_start(f->peer, &opt, f->w.now, &k->call), 0);
    fake_run(f);
    fake_forget(f);
    return mcpi_leg_find(f->peer, mcpi_call_id(k->call));
}

static void
keeper_done(struct keeper *k)
{
    mcpi_call_free(k->call, k->f->w.now);
}

/* ---- who is told ----------------------------------------------------------- */

static void
B27_owner_is_told_each_time_from_where_it_can_be_resumed(void **state)
{
    struct mcpi_leg *leg;
    struct keeper k;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    leg = mcpi_leg_ref(start_keeping(&f, &k, NULL));
    mcpi_leg_resumable_from(leg, "e1");
    assert_string_equal(k.token, "e1");
    mcpi_leg_resumable_from(leg, "e2");
    assert_string_equal(k.token, "e2");
    assert_int_equal(k.told, 2);
    fake_receive_on(&f, leg, RESULT("1", "{}"));
    mcpi_leg_resumable_from(leg, "e3"); /* over */
    assert_int_equal(k.told, 2);
    assert_string_equal(fake_said(&f), "");
    mcpi_leg_unref(leg);
    keeper_done(&k);
    fake_close(&f);
}

static void
B27_nobody_wants_to_know_and_that_is_fine(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    fake_issue(&f, NULL, &out);
    mcpi_leg_resumable_from(fake_leg(&f, &out), "e1");
    fake_end_by(&f, CANCEL, &out);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "hangup:5000 frame");
    outcome_done(&out);
    fake_close(&f);
}

static void
E13_modern_stream_is_never_resumed(void **state)
{
    struct mcpi_call_options opt = {.resumable = true};
    struct mcpi_leg *leg;
    struct keeper k;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fake_links[MODERN_STREAMS]);
    leg = start_keeping(&f, &k, &opt);
    mcpi_leg_resumable_from(leg, "e1");
    assert_int_equal(k.told, 0);
    keeper_done(&k);
    assert_string_equal(fake_said(&f), "hangup:0");
    fake_close(&f);
}

static void
B33_owner_may_end_it_when_it_is_told(void **state)
{
    struct mcpi_call_options opt = {.resumable = true};
    struct mcpi_leg *leg;
    struct keeper k;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    leg = mcpi_leg_ref(start_keeping(&f, &k, &opt));
    k.cancel_when_told = true;
    mcpi_leg_resumable_from(leg, "e1");
    assert_int_equal(k.status, MCP_E_CANCELED);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "hangup:5000 frame");
    mcpi_leg_unref(leg);
    keeper_done(&k);
    fake_close(&f);
}

static void
note_flushed(void *user, int status)
{
    *(int *)user = status;
}

/* ---- what abandons it ------------------------------------------------------ */

enum abandon {
    BY_CANCEL,
    BY_FRAME,
    BY_IDLE,
    BY_TOTAL,
    BY_FREE,
    BY_LOSS,
    BY_CLOSE,
    ALL
};

static void
abandon(struct fake *f, struct keeper *k, struct mcpi_leg *leg, enum abandon how)
{
    const struct mcpi_fault fault = {.status = MCP_E_CLOSED, .why = "gone"};

    if (how == BY_CANCEL)
        assert_int_equal(mcpi_call_cancel(k->call, NULL, f->w.now), 0);
    else if (how == BY_FRAME)
        fake_frame(f, "{\"requestId\":1}");
    else if (how == BY_IDLE || how == BY_TOTAL)
        fake_pass(f, SECOND);
    else if (how == BY_LOSS)
        mcpi_leg_fail(leg, &fault, f->w.now);
    else if (how == BY_CLOSE)
        mcpi_peer_close(f->peer, f->w.now);
    else
        keeper_done(k);
}

/* How it was asked for, and what was known when it was abandoned. */
struct hint {
    const char *token;
    bool wanted, told, detaches;
};

static void
check_abandon(const struct hint *hint, enum abandon how)
{
    static const char *const detached[ALL] = {[BY_CANCEL] = "hangup:5000 frame",
                                              [BY_FRAME] = "hangup:5000 frame",
                                              [BY_IDLE] = "hangup:0",
                                              [BY_TOTAL] = "hangup:0",
                                              [BY_FREE] = "hangup:0",
                                              [BY_LOSS] = "hangup:0",
                                              [BY_CLOSE] = "hangup:5000 drain frame"};
    const char *signaled = how == BY_CLOSE ? detached[how] : "hangup:5000 frame";
    struct mcpi_call_options opt = {
        .resume_token = hint->token,
        .resumable = hint->wanted,
        .timeout_us = how == BY_IDLE ? SECOND : MCPI_NEVER,
        .total_us = how == BY_TOTAL ? SECOND : MCPI_NEVER,
    };
    struct mcpi_leg *leg;
    struct keeper k;
    struct fake f;

    fake_start_with(&f, &legacy);
    leg = start_keeping(&f, &k, &opt);
    if (hint->told)
        mcpi_leg_resumable_from(leg, "e1");
    abandon(&f, &k, leg, how);
    fake_run(&f);
    assert_string_equal(fake_said(&f), hint->detaches ? detached[how] : signaled);
    if (how != BY_FREE)
        keeper_done(&k);
    fake_close(&f);
}

static void
B27_timeout_free_or_loss_detaches_what_can_be_resumed_and_cancel_cancels(void **state)
{
    static const struct hint hints[] = {
        {"event-9", false, false, true}, /* it resumes an earlier one */
        {NULL, true, true, true},        /* its caller has a token */
        {NULL, true, false, false},      /* nobody could ever take it up again */
        {NULL, false, true, false},      /* nobody has asked for that */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        for (enum abandon how = 0; how < ALL; how++)
            check_abandon(&hints[i], how);
}

/* Queued: only what it takes up again is known to the peer. */
static void
check_abandon_queued(enum abandon how, const struct fake_options *link,
                     const struct mcpi_call_options *given, const char *said)
{
    struct mcpi_id id = mcpi_id_string("x", 1);
    struct mcpi_call_options opt = *given;
    struct outcome out = {0};
    struct keeper k = {0};
    struct fake f;

    opt.id = &id;
    opt.timeout_us = how == BY_IDLE ? SECOND : MCPI_NEVER;
    opt.total_us = how == BY_TOTAL ? SECOND : MCPI_NEVER;
    fake_start_with(&f, link);
    fake_call(&f, &opt, &out);
    k.f = &f;
    k.call = out.call;
    if (how == BY_FRAME)
        fake_frame(&f, "{\"requestId\":\"x\",\"reason\":\"enough\"}");
    else
        abandon(&f, &k, NULL, how);
    assert_int_equal(out.done, how != BY_FREE);
    fake_run(&f);
    assert_string_equal(fake_said(&f), said);
    if (strcmp(said, "frame") == 0)
        assert_non_null(strstr(fake_text(&f, 0), "\"requestId\":\"x\""));
    if (how != BY_FREE)
        outcome_done(&out);
    fake_close(&f);
}

static void
B27_cancel_of_what_waits_to_be_resumed_reaches_what_it_resumes(void **state)
{
    static const char *const said[ALL] = {
        "frame", "frame", "", "", "", NULL, "drain"}; /* as told by closing */
    const struct mcpi_call_options resumes = {.resume_token = "event-9"};

    (void)state;
    for (enum abandon how = 0; how < ALL; how++)
        if (said[how])
            check_abandon_queued(how, &legacy, &resumes, said[how]);
}

static void
B5_B26_cancel_of_what_waits_and_resumes_nothing_says_nothing(void **state)
{
    static const struct fake_options modern = {.kind = FAKE_STREAMS,
                                               .era = MCPI_ERA_MODERN};
    static const struct fake_options pipe = {.kind = FAKE_PIPE, .era = MCPI_ERA_LEGACY};
    const struct mcpi_call_options resumes = {.resume_token = "event-9"};
    const struct mcpi_call_options detaches = {.resume_token = "event-9",
                                               .on_abandon = MCPI_ABANDON_DETACHES};
    const struct mcpi_call_options fresh = {.resumable = true};

    (void)state;
    for (enum abandon how = BY_CANCEL; how <= BY_FRAME; how++) {
        check_abandon_queued(how, &legacy, &fresh, "");
        check_abandon_queued(how, &legacy, &detaches, "");
        check_abandon_queued(how, &modern, &resumes, "");
        check_abandon_queued(how, &pipe, &resumes, "");
    }
}

static void
B10_the_frame_of_what_waited_can_be_waited_for(void **state)
{
    struct mcpi_call_options opt = {.resume_token = "event-9"};
    struct outcome out;
    struct fake f;
    int flushed = 1;

    (void)state;
    fake_start_with(&f, &legacy);
    fake_call(&f, &opt, &out);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    assert_int_equal(mcpi_call_flush(out.call, SECOND, note_flushed, &flushed, f.w.now),
                     0);
    assert_int_equal(flushed, 1);
    fake_run(&f);
    assert_int_equal(flushed, 0);
    outcome_done(&out);
    fake_close(&f);
}

static void
B27_B28_wish_of_a_call_made_inside_a_handler_does_not_count(void **state)
{
    struct mcpi_call_options opt = {.resumable = true, .timeout_us = SECOND};
    struct mcpi_leg *leg;
    struct keeper k;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    fake_receive(&f, REQUEST("5", "roots/list", "{}"));
    opt.parent = f.jobs[0];
    leg = start_keeping(&f, &k, &opt);
    mcpi_leg_resumable_from(leg, "e1");
    fake_pass(&f, SECOND);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "hangup:5000 frame");
    keeper_done(&k);
    fake_close(&f);
}

static bool
one_more_page(void *user, struct mcpi_call *call, int status,
              const struct mcpi_rpc *answer, struct mcpi_next_leg *next)
{
    struct keeper *k = user;

    (void)call;
    (void)answer;
    next->method = "tools/list";
    return status == 0 && k->told == 1;
}

static void
B27_wish_holds_for_each_leg_of_a_call(void **state)
{
    static const struct mcpi_call_ops ops = {
        .done = keep_end, .resumable = keep_token, .more = one_more_page};
    struct keeper k = {0};
    struct mcpi_call_options opt = {
        .method = "tools/list", .resumable = true, .ops = &ops, .user = &k};
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    k.f = &f;
    assert_int_equal(mcpi_call_start(f.peer, &opt, f.w.now, &k.call), 0);
    fake_run(&f);
    mcpi_leg_resumable_from(fake_event(&f, 0)->leg, "e1");
    fake_receive(&f, RESULT("1", "{}"));
    fake_run(&f);
    mcpi_leg_resumable_from(fake_event(&f, 1)->leg, "e2");
    assert_string_equal(k.token, "e2");
    keeper_done(&k);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request request hangup:0");
    fake_close(&f);
}

static void
B28_frame_carries_no_hints(void **state)
{
    struct mcpi_call_options opt = {.resumable = true};
    struct mcpi_leg *leg;
    struct keeper k;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    leg = start_keeping(&f, &k, &opt);
    mcpi_leg_resumable_from(leg, "event-9");
    assert_null(mcpi_leg_resume_token(leg)); /* it is a request of its own */
    assert_int_equal(mcpi_call_cancel(k.call, NULL, f.w.now), 0);
    fake_run(&f);
    assert_string_equal(fake_text(&f, 1),
                        CANCEL_FRAME("{\"requestId\":1,"
                                     "\"reason\":\"canceled by the caller\"}"));
    keeper_done(&k);
    fake_close(&f);
}

/* ---- what comes on a stream of its own ------------------------------------- */

#define PROGRESS(token) \
    NOTE("notifications/progress", "{\"progressToken\":" token ",\"progress\":1}")

static void
B27_resumed_stream_brings_the_answer_under_the_first_id(void **state)
{
    static const char *const answers[] = {RESULT("71", "{}"), RESULT("\"x\"", "{}"),
                                          RESULT("1", "{}")};
    struct mcpi_call_options opt = {.resume_token = "event-9"};
    struct mcpi_leg *leg;
    struct keeper k;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        fake_start_with(&f, &legacy);
        leg = start_keeping(&f, &k, &opt);
        fake_receive(&f, RESULT("71", "{}")); /* elsewhere it means nothing */
        fake_receive(&f, PROGRESS("71"));
        assert_int_equal(k.done + k.progressed, 0);
        fake_receive_on(&f, leg, PROGRESS("71"));
        assert_int_equal(k.progressed, 1);
        fake_receive_on(&f, leg, answers[i]);
        assert_int_equal(k.done, 1);
        assert_int_equal(k.status, 0);
        keeper_done(&k);
        fake_close(&f);
    }
}

static void
resumed_stream_brings_an_error_or_nonsense_under_the_first_id(void **state)
{
    struct mcpi_call_options opt = {.resume_token = "event-9"};
    struct keeper k;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    fake_receive_on(&f, start_keeping(&f, &k, &opt), ERROR("71", "-32603"));
    assert_int_equal(k.status, MCP_E_PEER);
    keeper_done(&k);
    fake_receive_on(&f, start_keeping(&f, &k, &opt), RESULT("71", "17"));
    assert_int_equal(k.status, MCP_E_PROTO);
    keeper_done(&k);
    fake_close(&f);
}

static void
A15_answer_under_another_id_is_dropped_and_the_request_waits_on(void **state)
{
    const struct mcpi_fault fault = {.status = MCP_E_CLOSED};
    struct outcome out, other;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    fake_issue(&f, NULL, &out);
    fake_issue(&f, NULL, &other);
    fake_receive_on(&f, fake_leg(&f, &out), RESULT("71", "{}"));
    fake_receive_on(&f, fake_leg(&f, &out), RESULT("2", "{}")); /* of the other one */
    fake_receive_on(&f, fake_leg(&f, &out), RESULT("null", "{}"));
    assert_int_equal(out.done + other.done, 0);
    mcpi_leg_fail(fake_leg(&f, &out), &fault, f.w.now); /* the stream ends with that */
    assert_int_equal(out.status, MCP_E_CLOSED);
    outcome_done(&out);
    outcome_done(&other);
    fake_close(&f);
}

static void
A13_error_without_an_id_is_the_answer_on_a_stream_of_ones_own_only(void **state)
{
    static const char *const texts[] = {
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"m\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,"
        "\"message\":\"m\"}}"};
    struct outcome out, other;
    struct fake f;

    (void)state;
    for (int i = 0; i < 2; i++) {
        for (int link = LEGACY_STREAMS; link <= MODERN_STREAMS; link++) {
            fake_start_with(&f, &fake_links[link]);
            fake_issue(&f, NULL, &out);
            fake_issue(&f, NULL, &other);
            fake_receive(&f, texts[i]);
            assert_int_equal(out.done + other.done, 0);
            fake_receive_on(&f, fake_leg(&f, &out), texts[i]);
            assert_int_equal(out.status, MCP_E_PEER);
            assert_int_equal(out.code, -32600);
            assert_int_equal(other.done, 0);
            outcome_done(&out);
            outcome_done(&other);
            fake_close(&f);
        }
    }
}

static void
E12_stream_of_what_is_over_says_nothing(void **state)
{
    struct mcpi_call_options opt = {.resume_token = "event-9",
                                    .reset_on_progress = true};
    struct outcome out;
    struct mcpi_leg *leg;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    fake_issue(&f, &opt, &out);
    leg = mcpi_leg_ref(fake_leg(&f, &out));
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    fake_receive_on(&f, leg, RESULT("71", "{}"));
    fake_receive_on(&f, leg, PROGRESS("71"));
    fake_receive_on(&f, leg, ERROR("null", "-32600"));
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_CANCELED);
    fake_assert_quiet(&f); /* no clock is set again */
    mcpi_leg_unref(leg);
    outcome_done(&out);
    fake_close(&f);
}

TEST_MAIN(
    TEST(B27_owner_is_told_each_time_from_where_it_can_be_resumed),
    TEST(B27_nobody_wants_to_know_and_that_is_fine),
    TEST(E13_modern_stream_is_never_resumed),
    TEST(B33_owner_may_end_it_when_it_is_told),
    TEST(B27_timeout_free_or_loss_detaches_what_can_be_resumed_and_cancel_cancels),
    TEST(B27_cancel_of_what_waits_to_be_resumed_reaches_what_it_resumes),
    TEST(B5_B26_cancel_of_what_waits_and_resumes_nothing_says_nothing),
    TEST(B10_the_frame_of_what_waited_can_be_waited_for),
    TEST(B27_B28_wish_of_a_call_made_inside_a_handler_does_not_count),
    TEST(B27_wish_holds_for_each_leg_of_a_call), TEST(B28_frame_carries_no_hints),
    TEST(B27_resumed_stream_brings_the_answer_under_the_first_id),
    TEST(resumed_stream_brings_an_error_or_nonsense_under_the_first_id),
    TEST(A15_answer_under_another_id_is_dropped_and_the_request_waits_on),
    TEST(A13_error_without_an_id_is_the_answer_on_a_stream_of_ones_own_only),
    TEST(E12_stream_of_what_is_over_says_nothing))
