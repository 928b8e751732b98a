/* http_permit_test.c - messages that wait to be allowed, and are sent again */
#include "link/http_signer.h"

#include "link/http_entries.h"

#define FRAME "notifications/cancelled"
#define CHANGED "notifications/roots/list_changed"

/* ---- signing --------------------------------------------------------------- */

static void
each_request_is_signed_for_its_method_and_its_URL(void **state)
{
    struct outcome out[2];
    struct fake_fetch *post;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        signed_start(&l, &s, both_eras[i]);
        post = lab_call(&l, NULL, &out[0]);
        lab_stream(&l, post);
        lab_event(&l, post, REQUEST("5", "ping", "{}")); /* it is answered */
        lab_call(&l, NULL, &out[1]);
        lab_stream(&l, lab_last(&l));
        lab_cancel(&l, &out[1]); /* legacy: with a frame */
        lab_run(&l);
        assert_int_equal(mcpi_peer_notify(l.w.peer[CLIENT], CHANGED, NULL, 0, l.w.now),
                         0);
        lab_run(&l);
        assert_int_equal(lab_posted(&l, FRAME), i);
        lab_shut(&l);
        lab_pass(&l, SECOND);
        assert_true(lab_count(&l) >= (i ? 8u : 3u)); /* the GET and DELETE too */
        for (size_t n = 0; n < lab_count(&l); n++)
            expect_signed(lab_at(&l, n), 1);
        outcome_done(&out[0]);
        outcome_done(&out[1]);
        signed_close(&l, &s);
    }
}

static void
a_DELETE_goes_with_what_there_is(void **state)
{
    struct signer s;
    struct lab l;

    (void)state;
    signed_start(&l, &s, MCPI_ERA_LEGACY);
    s.token = 0;
    lab_shut(&l);
    assert_string_equal(lab_last(&l)->method, "DELETE");
    assert_null(fake_field(lab_last(&l), "authorization"));
    refuse(&l, lab_last(&l), 401);
    assert_int_equal(l.closed, 1);
    signed_close(&l, &s);
    assert_int_equal(s.waited, 0);
}

static void
what_cannot_be_signed_yet_waits_and_nothing_is_sent(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;
    size_t before;

    (void)state;
    for (int i = 0; i < 2; i++) {
        signed_start(&l, &s, both_eras[i]);
        before = lab_count(&l);
        waiting_call(&l, &s, NULL, false, &out);
        lab_pass(&l, 20 * SECOND);
        assert_int_equal(lab_count(&l), before);
        assert_int_equal(s.signed_so_far, before + 1); /* nobody asks twice */
        signer_grant(&s, &l);
        assert_int_equal(lab_count(&l), before + 1);
        expect_signed(lab_last(&l), 1);
        lab_reply(&l, lab_last(&l), ANSWER("1"));
        expect(&out, 0);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
what_cannot_be_signed_at_all_fails_unsent(void **state)
{
    static const int faults[] = {MCP_E_AUTH, MCP_E_NOMEM, MCP_E_INVAL};
    struct outcome out;
    struct signer s;
    struct lab l;
    size_t before;

    (void)state;
    for (int i = 0; i < 6; i++) {
        signed_start(&l, &s, both_eras[i % 2]);
        before = lab_count(&l);
        s.cannot = faults[i / 2];
        world_plain_call(&l.w, &out);
        lab_run(&l);
        expect(&out, faults[i / 2]);
        s.cannot = 0;
        lab_pass(&l, 10 * SECOND);
        assert_int_equal(lab_count(&l), before);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
a_frame_that_there_is_no_memory_to_sign_waits_for_some(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    signed_start(&l, &s, MCPI_ERA_LEGACY);
    lab_stream(&l, lab_call(&l, NULL, &out));
    s.cannot = MCP_E_NOMEM;
    lab_cancel(&l, &out);
    lab_pass(&l, SECOND);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    s.cannot = 0;
    lab_pass(&l, 20 * MS);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    outcome_done(&out);
    signed_close(&l, &s);
}

/* ---- a refusal ------------------------------------------------------------- */

/* All but what was signed. */
static void
expect_same(const struct fake_fetch *a, const struct fake_fetch *b)
{
    static const char *const names[] = {"mcp-method", "mcp-name", "mcp-session-id",
                                        "mcp-protocol-version", "content-type"};
    const char *one, *other;

    assert_string_equal(a->body, b->body);
    assert_string_equal(a->url, b->url);
    assert_string_equal(a->method, b->method);
    assert_int_equal(a->fields_len, b->fields_len);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        one = fake_field(a, names[i]);
        other = fake_field(b, names[i]);
        assert_int_equal(one != NULL, other != NULL);
        if (one)
            assert_string_equal(one, other);
    }
}

static void
what_is_refused_is_sent_again_as_it_was_but_signed_anew(void **state)
{
    static const char params[] = "{\"name\":\"look\",\"arguments\":{}}";
    struct mcpi_call_options opt = {.params = params, .params_len = sizeof(params) - 1};
    struct fake_fetch *first, *second;
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        signed_start(&l, &s, both_eras[i % 2]);
        first = lab_call(&l, &opt, &out);
        fake_head(first, i < 2 ? 401 : 403, "Content-Type: text/html");
        assert_int_equal(first->state, FAKE_ABORTED);
        lab_pass(&l, 20 * SECOND);
        assert_int_equal(s.count, 1);
        expect_open(&out);
        signer_grant(&s, &l);
        second = lab_last(&l);
        assert_ptr_not_equal(first, second);
        expect_same(first, second);
        if (i % 2 == 0)
            assert_string_equal(fake_field(second, "mcp-name"), "look");
        expect_signed(first, 1);
        expect_signed(second, 2);
        lab_reply(&l, second, ANSWER("1"));
        expect(&out, 0);
        assert_int_equal(lab_posted(&l, "tools/call"), 2);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
it_may_be_refused_more_than_once(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        signed_start(&l, &s, both_eras[i]);
        waiting_call(&l, &s, NULL, true, &out);
        for (int n = 0; n < 3; n++) {
            signer_grant(&s, &l);
            refuse(&l, lab_last(&l), 401);
            assert_int_equal(s.count, 1);
        }
        s.token = 0; /* taken back before it was used */
        signer_tell(&s, 0, 0, NULL);
        lab_run(&l);
        assert_int_equal(s.count, 1);
        signer_grant(&s, &l);
        lab_reply(&l, lab_last(&l), ANSWER("1"));
        expect(&out, 0);
        assert_int_equal(lab_posted(&l, "tools/call"), 5);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
those_that_wait_are_sent_in_the_order_in_which_they_came(void **state)
{
    enum { CALLS = 50 };
    struct outcome out[CALLS];
    char expected[32];
    struct signer s;
    struct lab l;
    size_t before;

    (void)state;
    for (int i = 0; i < 2; i++) {
        signed_start(&l, &s, both_eras[i]);
        for (int n = 0; n < CALLS / 2; n++)
            waiting_call(&l, &s, NULL, true, &out[n]);
        for (int n = CALLS / 2; n < CALLS; n++)
            waiting_call(&l, &s, NULL, false, &out[n]);
        assert_int_equal(s.count, CALLS);
        before = lab_count(&l);
        signer_grant(&s, &l);
        assert_int_equal(lab_count(&l), before + CALLS);
        for (int n = 0; n < CALLS; n++) {
            snprintf(expected, sizeof(expected), "\"id\":%d,", n + 1);
            assert_true(fetch_says(lab_at(&l, before + (size_t)n), expected));
            expect_open(&out[n]);
            outcome_done(&out[n]);
        }
        signed_close(&l, &s);
    }
}

static void
expect_fault(const struct outcome *out, int http, const char *why)
{
    const struct mcpi_fault *fault = mcpi_call_fault(out->call);

    expect(out, MCP_E_AUTH);
    assert_non_null(fault);
    assert_int_equal(fault->status, MCP_E_AUTH);
    assert_int_equal(fault->http, http);
    assert_string_equal(fault->why, why);
}

static void
what_is_refused_for_good_fails_and_leaves_no_frame(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        signed_start(&l, &s, both_eras[i % 2]);
        s.never = true;
        refuse(&l, lab_call(&l, NULL, &out), i < 2 ? 401 : 403);
        expect_fault(&out, i < 2 ? 401 : 403, "not you");
        lab_pass(&l, 10 * SECOND);
        assert_int_equal(lab_posted(&l, "tools/call"), 1);
        assert_int_equal(lab_posted(&l, FRAME), 0);
        assert_int_equal(s.waited, 0);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
what_has_waited_in_vain_fails_and_leaves_no_frame(void **state)
{
    struct outcome out[3];
    struct signer s;
    struct lab l;
    size_t before;

    (void)state;
    for (int i = 0; i < 4; i++) {
        signed_start(&l, &s, both_eras[i % 2]);
        for (int n = 0; n < 3; n++)
            waiting_call(&l, &s, NULL, i < 2, &out[n]);
        before = lab_count(&l);
        signer_deny(&s, &l);
        for (int n = 0; n < 3; n++) {
            expect_fault(&out[n], 401, "the user said no");
            assert_int_equal(out[n].order, n + 1);
            outcome_done(&out[n]);
        }
        lab_pass(&l, 10 * SECOND);
        assert_int_equal(lab_count(&l), before);
        assert_int_equal(s.left, 0);
        signed_close(&l, &s);
    }
}

static void
other_errors_of_HTTP_are_as_ever(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        signed_start(&l, &s, both_eras[i]);
        refuse(&l, lab_call(&l, NULL, &out), 500);
        expect(&out, MCP_E_HTTP);
        outcome_done(&out);
        signed_close(&l, &s);
        lab_start_modern(&l); /* and so is a 401, if nobody signs */
        refuse(&l, lab_call(&l, NULL, &out), 401);
        expect(&out, MCP_E_HTTP);
        outcome_done(&out);
        lab_close(&l);
    }
}

/* What was accepted may have been carried out. */
static void
what_was_accepted_is_never_sent_again(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        signed_start(&l, &s, both_eras[i]);
        waiting_call(&l, &s, NULL, true, &out);
        signer_grant(&s, &l);
        post = lab_last(&l);
        lab_stream(&l, post);
        fake_fail(post, MCP_E_CLOSED, "reset");
        lab_run(&l);
        expect(&out, MCP_E_CLOSED);
        signer_grant(&s, &l);
        lab_pass(&l, 10 * SECOND);
        assert_int_equal(lab_posted(&l, "tools/call"), 2);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
a_message_is_kept_until_its_head_has_come(void **state)
{
    struct outcome out;
    struct fake_fetch *post;
    struct signer s;
    struct lab l;
    long before;

    (void)state;
    signed_start(&l, &s, MCPI_ERA_MODERN);
    post = lab_call(&l, NULL, &out);
    before = l.mem->live;
    fake_head(post, 200, "Content-Type: " JSON_TYPE);
    assert_true(l.mem->live <= before - 2); /* its text and its lines */
    outcome_done(&out);
    signed_close(&l, &s);
}

/* ---- its ends -------------------------------------------------------------- */

enum step { UNSIGNED, REFUSED, GRANTED, STEPS };
enum cause { CANCEL, FREE, TIMEOUT, TOTAL, CLOSE, CAUSES };

static void
end_by(struct lab *l, enum cause cause, struct outcome *out)
{
    switch (cause) {
    case CANCEL:
        lab_cancel(l, out);
        break;
    case FREE:
        mcpi_call_free(out->call, l->w.now);
        out->call = NULL;
        break;
    case TIMEOUT:
    case TOTAL:
        l->w.now += 2 * SECOND;
        break;
    default:
        mcpi_peer_close(l->w.peer[CLIENT], l->w.now);
    }
    lab_run(l);
}

static void
check_end(enum mcpi_era era, enum step step, enum cause cause)
{
    static const int ends[] = {MCP_E_CANCELED, 0, MCP_E_TIMEOUT, MCP_E_TOTAL_TIMEOUT,
                               MCP_E_CLOSED};
    struct mcpi_call_options opt = {.timeout_us = cause == TIMEOUT ? 2 * SECOND
                                                                   : MCPI_NEVER,
                                    .total_us = cause == TOTAL ? 2 * SECOND : 0};
    struct outcome out;
    struct signer s;
    struct lab l;
    size_t before;

    signed_start(&l, &s, era);
    waiting_call(&l, &s, &opt, step != UNSIGNED, &out);
    if (step == GRANTED)
        signer_tell(&s, 0, 0, NULL); /* to be sent in the next turn */
    before = lab_posted(&l, "");
    end_by(&l, cause, &out);
    if (cause != FREE)
        expect(&out, ends[cause]);
    lab_pass(&l, 10 * SECOND);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    /* A timer may be a turn late: then it was sent, and is canceled as any other. */
    if (step != GRANTED || (cause != TIMEOUT && cause != TOTAL))
        assert_int_equal(lab_posted(&l, ""), before);
    assert_int_equal(s.count, 0);
    assert_int_equal(s.left, step != GRANTED);
    outcome_done(&out);
    signed_close(&l, &s);
}

static void
B5_E1_one_that_waits_ends_without_a_word_on_the_wire(void **state)
{
    (void)state;
    for (int era = 0; era < 2; era++)
        for (int step = 0; step < STEPS; step++)
            for (int cause = 0; cause < CAUSES; cause++)
                check_end(both_eras[era], (enum step)step, (enum cause)cause);
}

static void
B7_one_canceled_before_it_is_signed_is_never(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;
    size_t before;

    (void)state;
    for (int i = 0; i < 2; i++) {
        signed_start(&l, &s, both_eras[i]);
        before = s.signed_so_far;
        s.token = 0;
        world_plain_call(&l.w, &out);
        lab_cancel(&l, &out);
        lab_run(&l);
        expect(&out, MCP_E_CANCELED);
        assert_int_equal(s.signed_so_far, before);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
one_that_is_detached_while_it_waits_is_gone(void **state)
{
    struct mcpi_call_options opt = {.on_abandon = MCPI_ABANDON_DETACHES};
    struct outcome out;
    struct signer s;
    struct lab l;
    size_t before;

    (void)state;
    for (int i = 0; i < 4; i++) {
        signed_start(&l, &s, both_eras[i % 2]);
        waiting_call(&l, &s, &opt, i < 2, &out);
        before = lab_count(&l);
        outcome_done(&out);
        lab_run(&l);
        assert_int_equal(s.left, 1);
        signer_grant(&s, &l);
        lab_pass(&l, 10 * SECOND);
        assert_int_equal(lab_count(&l), before);
        signed_close(&l, &s);
    }
}

static void
a_link_can_be_freed_while_messages_wait(void **state)
{
    struct outcome out[3];
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        signed_start(&l, &s, both_eras[i]);
        for (int n = 0; n < 3; n++) {
            waiting_call(&l, &s, NULL, n > 0, &out[n]);
            s.token = 1;
        }
        assert_int_equal(mcpi_peer_notify(l.w.peer[CLIENT], CHANGED, NULL, 0, l.w.now),
                         0);
        s.token = 0;
        lab_run(&l);
        assert_int_equal(s.count, 4);
        lab_free_link(&l);
        assert_int_equal(s.count, 0);
        for (int n = 0; n < 3; n++) {
            expect(&out[n], MCP_E_CLOSED);
            outcome_done(&out[n]);
        }
        signed_close(&l, &s);
    }
}

/* It is refused after it was canceled: there is nothing to cancel. */
static void
B5_B8_the_frame_of_one_that_is_refused_meanwhile_is_not_sent(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        signed_start(&l, &s, MCPI_ERA_LEGACY);
        s.never = i % 2;
        post = lab_call(&l, NULL, &out);
        if (i < 2)
            fake_sending(post);
        else
            fake_sent(post);
        lab_cancel(&l, &out);
        lab_run(&l);
        assert_int_equal(post->state, FAKE_OPEN);
        refuse(&l, post, 401);
        lab_pass(&l, 10 * SECOND);
        assert_int_equal(lab_posted(&l, FRAME), 0);
        assert_int_equal(s.waited, 0);
        assert_int_equal(mcpi_timers_next(mcpi_loop_timers(l.loop)), MCPI_NEVER);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

/* The frame cannot be taken for long, because a greeting by hand waits too. */
static void
B5_B19_a_frame_that_is_taken_late_still_finds_it_unsent(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_MANUAL};
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    signer_init(&s, 1);
    opt.auth = &s.auth;
    lab_connect(&l, &opt);
    waiting_call(&l, &s, NULL, true, &out);
    s.token = 0;
    assert_int_equal(mcpi_peer_notify(l.w.peer[CLIENT], "notifications/initialized",
                                      NULL, 0, l.w.now),
                     0);
    lab_run(&l);
    assert_int_equal(s.count, 2);
    lab_cancel(&l, &out);
    assert_int_equal(s.left, 1); /* at once */
    lab_pass(&l, 60 * SECOND);
    signer_grant(&s, &l);
    lab_accept(&l, lab_post(&l, "notifications/initialized"));
    lab_pass(&l, 10 * SECOND);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    assert_int_equal(lab_count(&l), 2);
    assert_int_equal(mcpi_timers_next(mcpi_loop_timers(l.loop)), MCPI_NEVER);
    outcome_done(&out);
    signed_close(&l, &s);
}

static void
one_that_is_refused_when_its_frame_is_long_sent_is_gone(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    signed_start(&l, &s, MCPI_ERA_LEGACY);
    post = lab_call(&l, NULL, &out);
    fake_sent(post);
    lab_cancel(&l, &out);
    lab_pass(&l, SECOND);
    lab_accept(&l, lab_post(&l, FRAME));
    refuse(&l, post, 401);
    lab_pass(&l, 10 * SECOND);
    assert_int_equal(lab_posted(&l, "tools/call"), 1);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    assert_int_equal(s.waited, 0);
    outcome_done(&out);
    signed_close(&l, &s);
}

/* A legacy one whose GET streams. */
static struct fake_fetch *
start_streaming(struct lab *l, struct signer *s)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY, .auth = &s->auth};
    struct fake_fetch *get;

    signer_init(s, 1);
    lab_connect(l, &opt);
    lab_welcome(l, lab_last(l), SESSION_HEAD);
    lab_accept(l, lab_last(l));
    get = lab_last(l);
    assert_string_equal(get->method, "GET");
    lab_stream(l, get);
    return get;
}

/* Somebody answers what he was never asked. */
static void
one_that_is_answered_while_it_waits_is_not_sent(void **state)
{
    struct fake_fetch *get;
    struct outcome out;
    struct signer s;
    struct lab l;
    size_t before;

    (void)state;
    for (int granted = 0; granted < 2; granted++) {
        get = start_streaming(&l, &s);
        waiting_call(&l, &s, NULL, true, &out);
        before = lab_count(&l);
        lab_event(&l, get, ANSWER("1"));
        expect(&out, 0);
        assert_int_equal(s.left, 1);
        assert_int_equal(mcpi_timers_next(mcpi_loop_timers(l.loop)), MCPI_NEVER);
        if (granted)
            signer_grant(&s, &l);
        lab_pass(&l, 10 * SECOND);
        assert_int_equal(lab_count(&l), before);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
one_that_waits_in_a_session_that_is_lost_goes_with_it(void **state)
{
    struct outcome out[2], met;
    struct signer s;
    struct lab l;

    (void)state;
    signed_start(&l, &s, MCPI_ERA_LEGACY);
    waiting_call(&l, &s, NULL, true, &out[0]);
    waiting_call(&l, &s, NULL, false, &out[1]);
    s.token = 1;
    refuse(&l, lab_call(&l, NULL, &met), 404);
    for (int i = 0; i < 2; i++)
        expect(&out[i], MCP_E_CLOSED);
    assert_int_equal(s.left, 2);
    expect_open(&met);
    signer_grant(&s, &l);
    assert_true(fetch_says(lab_last(&l), "\"initialize\""));
    assert_int_equal(lab_posted(&l, "\"id\":1,"), 1);
    assert_int_equal(lab_posted(&l, "\"id\":2,"), 0);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    outcome_done(&out[0]);
    outcome_done(&out[1]);
    outcome_done(&met);
    signed_close(&l, &s);
}

/* ---- frames, notifications and answers ------------------------------------- */

/* A legacy call that is canceled, and whose frame waits. */
static void
start_waiting_frame(struct lab *l, struct signer *s, bool refused,
                    const struct mcpi_call_options *opt, struct outcome *out)
{
    signed_start(l, s, MCPI_ERA_LEGACY);
    lab_stream(l, lab_call(l, opt, out));
    if (!refused)
        s->token = 0;
    lab_cancel(l, out);
    lab_run(l);
    if (refused)
        refuse(l, lab_post(l, FRAME), 401);
    assert_int_equal(s->count, 1);
    assert_int_equal(lab_posted(l, FRAME), refused);
    s->token = 1;
}

static void
D1_a_frame_waits_to_be_allowed_and_others_do_not_wait_for_it(void **state)
{
    struct outcome out, other;
    struct signer s;
    struct lab l;

    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        start_waiting_frame(&l, &s, refused, NULL, &out);
        lab_reply(&l, lab_call(&l, NULL, &other), ANSWER("2"));
        expect(&other, 0);
        lab_pass(&l, 20 * SECOND);
        signer_grant(&s, &l);
        assert_int_equal(lab_posted(&l, FRAME), (size_t)refused + 1);
        expect_signed(lab_last(&l), 2);
        assert_true(fetch_says(lab_last(&l), "\"requestId\":1,"));
        lab_accept(&l, lab_last(&l));
        assert_int_equal(fake_open_count(&l.fetcher), 0);
        outcome_done(&out);
        outcome_done(&other);
        signed_close(&l, &s);
    }
}

static void
D5_a_frame_waits_only_so_long_and_nobodys_outcome_changes(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        start_waiting_frame(&l, &s, refused, NULL, &out);
        lab_pass(&l, MCPI_HTTP_NOTE_MAX - 1);
        assert_int_equal(s.count, 1);
        lab_pass(&l, 1);
        assert_int_equal(s.count, 0);
        assert_int_equal(s.left, 1);
        assert_true(lab_logged(&l, "given up"));
        signer_grant(&s, &l);
        assert_int_equal(lab_posted(&l, FRAME), refused);
        expect(&out, MCP_E_CANCELED);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
note_flushed(void *user, int status)
{
    *(int *)user = status;
}

static void
B10_who_waits_for_a_frame_that_waits_hears_told_or_not(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int granted = 0; granted < 2; granted++) {
        int heard = 1;

        start_waiting_frame(&l, &s, true, NULL, &out);
        assert_int_equal(
            mcpi_call_flush(out.call, 10 * SECOND, note_flushed, &heard, l.w.now), 0);
        lab_pass(&l, SECOND);
        assert_int_equal(heard, 1);
        if (granted) {
            signer_grant(&s, &l);
            lab_accept(&l, lab_last(&l));
        } else {
            signer_deny(&s, &l);
            assert_true(lab_logged(&l, "a cancel was not accepted: the user said no"));
        }
        assert_int_equal(heard, granted ? 0 : MCP_E_CLOSED);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
E15_a_frame_that_waits_does_not_cancel_the_successor(void **state)
{
    struct mcpi_id id = mcpi_id_string("seven", 5);
    struct mcpi_call_options opt = {.id = &id};
    struct outcome old, new;
    struct signer s;
    struct lab l;

    (void)state;
    for (int soon = 0; soon < 2; soon++) {
        start_waiting_frame(&l, &s, true, &opt, &old);
        world_call(&l.w, CLIENT, &opt, &new);
        lab_run(&l);
        assert_int_equal(lab_posted(&l, "tools/call"), 1);
        if (soon) { /* the frame goes first, and its successor when it has arrived */
            signer_grant(&s, &l);
            assert_int_equal(lab_posted(&l, FRAME), 2);
            assert_int_equal(lab_posted(&l, "tools/call"), 1);
            lab_accept(&l, lab_last(&l));
        } else { /* or not at all */
            lab_pass(&l, MCPI_HTTP_LINGER);
            assert_int_equal(s.left, 1);
            assert_int_equal(lab_posted(&l, "tools/call"), 2);
            signer_grant(&s, &l);
            assert_int_equal(lab_posted(&l, FRAME), 1);
        }
        assert_int_equal(lab_posted(&l, "tools/call"), 2);
        lab_reply(&l, lab_last(&l), ANSWER("\"seven\""));
        expect(&new, 0);
        outcome_done(&old);
        outcome_done(&new);
        signed_close(&l, &s);
    }
}

static void
a_notification_waits_and_is_sent_or_given_up(void **state)
{
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        signed_start(&l, &s, MCPI_ERA_LEGACY);
        assert_int_equal(mcpi_peer_notify(l.w.peer[CLIENT], CHANGED, NULL, 0, l.w.now),
                         0);
        lab_run(&l);
        s.never = i == 3;
        refuse(&l, lab_post(&l, CHANGED), 401);
        if (i == 0)
            signer_grant(&s, &l);
        if (i == 1)
            signer_deny(&s, &l);
        if (i == 2)
            lab_pass(&l, MCPI_HTTP_NOTE_MAX);
        assert_int_equal(lab_posted(&l, CHANGED), i == 0 ? 2 : 1);
        assert_int_equal(s.count, 0);
        signed_close(&l, &s);
    }
}

static void
answers_that_wait_count_as_on_their_way(void **state)
{
    enum { ASKED = MCPI_HTTP_ANSWERS_MAX + 10 };
    struct fake_fetch *get;
    char text[128];
    struct signer s;
    struct lab l;
    size_t before;

    (void)state;
    for (int i = 0; i < 3; i++) {
        get = start_streaming(&l, &s);
        before = lab_count(&l);
        s.token = 0;
        for (int n = 0; n < ASKED; n++) {
            snprintf(text, sizeof(text), REQUEST("%d", "ping", "{}"), n);
            lab_event(&l, get, text);
        }
        assert_int_equal(s.count, MCPI_HTTP_ANSWERS_MAX);
        if (i == 0) {
            signer_grant(&s, &l);
            assert_int_equal(lab_count(&l), before + MCPI_HTTP_ANSWERS_MAX);
            for (size_t n = before; n < before + ASKED; n++) {
                snprintf(text, sizeof(text), "\"id\":%zu,", n - before);
                assert_true(fetch_says(lab_at(&l, n), text));
                lab_accept(&l, lab_at(&l, n));
            }
        } else if (i == 1) { /* the others have their turn, and wait too */
            signer_deny(&s, &l);
            assert_int_equal(s.count, ASKED - MCPI_HTTP_ANSWERS_MAX);
            signer_grant(&s, &l);
            assert_int_equal(lab_count(&l), before + ASKED - MCPI_HTTP_ANSWERS_MAX);
        } else {
            lab_pass(&l, MCPI_HTTP_NOTE_MAX);
            assert_int_equal(lab_count(&l), before);
            assert_int_equal(s.count, 0);
        }
        signed_close(&l, &s);
    }
}

static void
closing_does_not_wait_for_what_waits(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    start_waiting_frame(&l, &s, true, NULL, &out);
    lab_shut(&l);
    lab_pass(&l, 300 * MS);
    assert_string_equal(lab_last(&l)->method, "DELETE");
    lab_accept(&l, lab_last(&l));
    assert_int_equal(l.closed, 1);
    assert_int_equal(s.left, 1);
    outcome_done(&out);
    signed_close(&l, &s);
}

/* ---- no memory ------------------------------------------------------------- */

struct visit {
    enum mcpi_era era;
    size_t waited; /* so many did */
};

/* It was not sent before. */
static bool
is_first(const struct lab *l, size_t index)
{
    const struct fake_fetch *fetch = lab_at(l, index), *other;

    for (size_t i = 0; i < index; i++) {
        other = lab_at(l, i);
        if (strcmp(fetch->method, other->method) == 0 && !fetch->body == !other->body &&
            (!fetch->body || strcmp(fetch->body, other->body) == 0))
            return false;
    }
    return true;
}

/* Each is refused once. */
static void
serve_blindly(struct lab *l)
{
    for (size_t i = 0; i < lab_count(l); i++) {
        struct fake_fetch *fetch = lab_at(l, i);

        if (fetch->state != FAKE_OPEN)
            continue;
        if (is_first(l, i))
            fake_answer(fetch, 401, NULL, NULL);
        else if (fetch_says(fetch, "server/discover"))
            fake_answer(fetch, 200, JSON_TYPE,
                        RESULT("\"libmcp:discover\"", DISCOVERED));
        else if (fetch_says(fetch, "\"initialize\""))
            lab_welcome(l, fetch, SESSION_HEAD);
        else if (fetch_says(fetch, "\"id\":1,"))
            fake_answer(fetch, 200, "text/event-stream", "data: " ANSWER("1") "\n\n");
        else if (fetch_says(fetch, "\"id\":") && !fetch->told_head)
            fake_stream(fetch);
        else if (fetch_says(fetch, "\"id\":"))
            continue;
        else if (strcmp(fetch->method, "GET") == 0)
            fake_answer(fetch, 405, NULL, NULL);
        else
            fake_answer(fetch, 202, NULL, NULL);
    }
    lab_run(l);
}

static void
serve_a_while(struct lab *l, struct signer *s, int turns)
{
    for (int i = 0; i < turns; i++) {
        lab_pass(l, 100 * MS);
        serve_blindly(l);
        signer_grant(s, l);
    }
}

static void
visit(struct test_mem *mem, void *user)
{
    struct visit *visit = user;
    struct signer s;
    struct lab_options opt = {.mem = mem, .era = visit->era, .auth = &s.auth};
    struct outcome out[3] = {{0}, {0}, {0}};
    bool called[3];
    struct lab l;

    signer_init(&s, 1);
    if (lab_open(&l, &opt) < 0 || mcpi_peer_connect(l.w.peer[CLIENT], l.w.now) < 0) {
        lab_close(&l);
        return;
    }
    for (int i = 0; i < 3; i++)
        called[i] = world_try_call(&l.w, CLIENT, NULL, &out[i]) == 0;
    serve_a_while(&l, &s, 12);
    if (called[1] && out[1].done == 0)
        lab_cancel(&l, &out[1]);
    serve_a_while(&l, &s, 6);
    visit->waited = s.waited;
    lab_shut(&l);
    serve_a_while(&l, &s, 4);
    lab_pass(&l, 2 * SECOND);
    assert_int_equal(l.lost, 1);
    assert_int_equal(l.closed, 1);
    for (int i = 0; i < 3; i++)
        if (called[i]) {
            assert_int_equal(out[i].done, 1);
            outcome_done(&out[i]);
        }
    signed_close(&l, &s);
}

static void
each_allocation_of_a_visit_may_fail(void **state)
{
    struct visit row;

    (void)state;
    for (int i = 0; i < 2; i++) {
        row = (struct visit){.era = both_eras[i]};
        assert_true(test_each_allocation_fails(visit, &row) > 30);
        assert_true(row.waited >= (i ? 7u : 4u));
    }
}

TEST_MAIN(TEST(each_request_is_signed_for_its_method_and_its_URL),
          TEST(a_DELETE_goes_with_what_there_is),
          TEST(what_cannot_be_signed_yet_waits_and_nothing_is_sent),
          TEST(what_cannot_be_signed_at_all_fails_unsent),
          TEST(a_frame_that_there_is_no_memory_to_sign_waits_for_some),
          TEST(what_is_refused_is_sent_again_as_it_was_but_signed_anew),
          TEST(it_may_be_refused_more_than_once),
          TEST(those_that_wait_are_sent_in_the_order_in_which_they_came),
          TEST(what_is_refused_for_good_fails_and_leaves_no_frame),
          TEST(what_has_waited_in_vain_fails_and_leaves_no_frame),
          TEST(other_errors_of_HTTP_are_as_ever),
          TEST(what_was_accepted_is_never_sent_again),
          TEST(a_message_is_kept_until_its_head_has_come),
          TEST(B5_E1_one_that_waits_ends_without_a_word_on_the_wire),
          TEST(B7_one_canceled_before_it_is_signed_is_never),
          TEST(one_that_is_detached_while_it_waits_is_gone),
          TEST(a_link_can_be_freed_while_messages_wait),
          TEST(B5_B8_the_frame_of_one_that_is_refused_meanwhile_is_not_sent),
          TEST(B5_B19_a_frame_that_is_taken_late_still_finds_it_unsent),
          TEST(one_that_is_refused_when_its_frame_is_long_sent_is_gone),
          TEST(one_that_is_answered_while_it_waits_is_not_sent),
          TEST(one_that_waits_in_a_session_that_is_lost_goes_with_it),
          TEST(D1_a_frame_waits_to_be_allowed_and_others_do_not_wait_for_it),
          TEST(D5_a_frame_waits_only_so_long_and_nobodys_outcome_changes),
          TEST(B10_who_waits_for_a_frame_that_waits_hears_told_or_not),
          TEST(E15_a_frame_that_waits_does_not_cancel_the_successor),
          TEST(a_notification_waits_and_is_sent_or_given_up),
          TEST(answers_that_wait_count_as_on_their_way),
          TEST(closing_does_not_wait_for_what_waits),
          TEST(each_allocation_of_a_visit_may_fail))
