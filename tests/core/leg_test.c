/* leg_test.c - requests we send: their registration, their one ending */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake.h"
#include "support/ids.h"

#define PROGRESS(token) \
    NOTE("notifications/progress", "{\"progressToken\":" token ",\"progress\":1}")

/* ---- registration ---------------------------------------------------------- */

struct probe {
    struct mcpi_id id;
    int64_t deadline;
    bool was_there;
};

static void
look_for_the_leg(struct fake *f, struct mcpi_outlet *outlet)
{
    struct probe *probe = f->user;
    struct mcpi_leg *leg = mcpi_leg_find_any(f->peer, &probe->id);

    (void)outlet;
    probe->was_there = leg && leg->want_progress && mcpi_timer_is_armed(&leg->idle) &&
                       mcpi_timers_next(&f->timers) == probe->deadline;
}

static void
check_registered(int64_t timeout, int64_t total)
{
    struct fake_options fo = {
        .kind = FAKE_STREAMS, .era = MCPI_ERA_MODERN, .eager = true};
    struct probe probe = {.id = text_id("x")};
    struct mcpi_call_options opt = {.id = &probe.id,
                                    .timeout_us = timeout,
                                    .total_us = total,
                                    .ops = &outcome_progress_ops};
    struct outcome out;
    struct fake f;

    fake_start_with(&f, &fo);
    probe.deadline = f.w.now + (timeout < total ? timeout : total);
    f.on_wake = look_for_the_leg;
    f.user = &probe;
    fake_call(&f, &opt, &out);
    assert_true(probe.was_there);
    assert_string_equal(fake_said(&f), "request");
    fake_receive(&f, PROGRESS("\"x\"")); /* before its last byte has left */
    assert_int_equal(out.progressed, 1);
    outcome_done(&out);
    fake_close(&f);
}

static void
A14_entry_timers_and_progress_route_exist_before_the_first_byte(void **state)
{
    (void)state;
    check_registered(SECOND, 2 * SECOND);
    check_registered(2 * SECOND, SECOND);
}

static void
request_that_still_waits_cannot_be_answered(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_call(&f, NULL, &out);
    fake_receive(&f, RESULT("1", "{}"));
    assert_int_equal(out.done, 0);
    fake_run(&f);
    fake_receive(&f, RESULT("1", "{}"));
    assert_int_equal(out.done, 1);
    outcome_done(&out);
    fake_close(&f);
}

static void
check_failed_start(struct fake *f, const struct mcpi_call_options *opt)
{
    struct outcome out;
    int r = MCP_E_NOMEM;
    int n;

    for (n = 1; r < 0; n++) {
        f->mem->fail_at = f->mem->total + n;
        r = world_try_call(&f->w, CLIENT, opt, &out);
        f->mem->fail_at = 0;
        if (r == 0)
            break;
        assert_int_equal(r, MCP_E_NOMEM);
        assert_int_equal(out.done, 0);
        assert_string_equal(fake_said(f), "");
        fake_assert_quiet(f);
        assert_null(mcpi_leg_find_any(f->peer, opt->id));
    }
    assert_true(n > 3); /* call, leg, and the writing of it */
    assert_string_equal(fake_said(f), "request");
    outcome_done(&out);
}

static void
A17_start_that_fails_leaves_nothing_and_frees_the_id(void **state)
{
    struct fake_options fo = {
        .kind = FAKE_STREAMS, .era = MCPI_ERA_MODERN, .eager = true};
    struct mcpi_id id = text_id("x");
    struct mcpi_call_options opt = {.id = &id, .ops = &outcome_progress_ops};
    char *params = malloc(20000);
    struct fake f;

    (void)state;
    assert_non_null(params);
    snprintf(params, 20000, "{\"name\":\"%09000d\"}",
             0); /* more than the link has ready */
    opt.params = params;
    fake_start_with(&f, &fo);
    check_failed_start(&f, &opt);
    free(params);
    fake_close(&f);
}

static void
A17_message_that_is_too_long_fails_its_start(void **state)
{
    struct fake_options fo = {
        .kind = FAKE_STREAMS, .era = MCPI_ERA_MODERN, .eager = true};
    struct mcpi_call_options opt = {0};
    size_t size = 2 << 20; /* the fake's buffer takes one MiB */
    char *params = calloc(1, size);
    struct outcome out;
    struct fake f;

    (void)state;
    assert_non_null(params);
    memset(params, ' ', size - 1);
    params[0] = '{';
    params[size - 2] = '}';
    opt.params = params;
    fake_start_with(&f, &fo);
    assert_int_equal(world_try_call(&f.w, CLIENT, &opt, &out), MCP_E_LIMIT);
    assert_int_equal(out.done, 0);
    fake_assert_quiet(&f);
    free(params);
    fake_close(&f);
}

static void
request_that_cannot_be_encoded_later_ends_once_and_unsignaled(void **state)
{
    struct fake_options fo = {.kind = FAKE_PIPE, .era = MCPI_ERA_MODERN};
    char params[6000];
    struct mcpi_call_options opt = {.params = params};
    struct outcome out;
    struct fake f;

    (void)state;
    snprintf(params, sizeof(params), "{\"name\":\"%05000d\"}", 0);
    fake_start_with(&f, &fo);
    fake_call(&f, &opt, &out);
    f.mem->fail_at = f.mem->total + 1;
    fake_run(&f);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_NOMEM);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "");
    outcome_done(&out);
    fake_assert_quiet(&f);
    fake_close(&f);
}

/* ---- one ending ------------------------------------------------------------ */

/* A user who starts the next one with the same id as soon as the first has ended. */
struct successor {
    struct fake *f;
    struct mcpi_call_options opt;
    struct outcome out;
    int started;
};

static void
start_successor(void *user, struct mcpi_call *call, int status,
                const struct mcpi_rpc *answer)
{
    struct successor *s = user;

    (void)call;
    (void)status;
    (void)answer;
    s->started++;
    fake_call(s->f, &s->opt, &s->out);
}

static const struct mcpi_call_ops successor_ops = {.done = start_successor};

static void
A15_successor_started_inside_the_ending_stays(void **state)
{
    struct mcpi_id id = text_id("x");
    struct successor s = {.opt = {.id = &id}};
    struct mcpi_call_options opt = {
        .id = &id, .method = "ping", .ops = &successor_ops, .user = &s};
    struct mcpi_call *first;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    s.f = &f;
    assert_int_equal(mcpi_call_start(f.peer, &opt, f.w.now, &first), 0);
    fake_take(&f);
    assert_int_equal(mcpi_call_cancel(first, NULL, f.w.now), 0);
    assert_int_equal(s.started, 1);
    fake_written(&f, MCP_E_SEND_FAILED); /* of the first, which has ended */
    mcpi_call_free(first, f.w.now);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request frame request");
    fake_receive(&f, RESULT("\"x\"", "{}"));
    assert_int_equal(s.out.done, 1);
    assert_int_equal(s.out.status, 0);
    outcome_done(&s.out);
    fake_close(&f);
}

static void
A15_E15_old_stream_that_answers_or_dies_leaves_the_successor_alone(void **state)
{
    struct fake_options fo = {
        .kind = FAKE_STREAMS, .era = MCPI_ERA_LEGACY, .eager = true};
    struct mcpi_id id = text_id("x");
    struct outcome first, second;
    struct mcpi_leg *old, *new;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fo);
    start_id(&f, id, &first);
    old = fake_event(&f, 0)->leg;
    assert_int_equal(mcpi_call_cancel(first.call, NULL, f.w.now), 0);
    start_id(&f, id, &second);
    new = fake_leg(&f, &second);
    assert_ptr_not_equal(new, old);
    fake_receive_on(&f, old, RESULT("\"x\"", "{\"from\":\"old\"}"));
    mcpi_leg_fail(old, &(struct mcpi_fault){.status = MCP_E_CLOSED}, f.w.now);
    assert_int_equal(second.done, 0);
    assert_ptr_equal(mcpi_leg_find(f.peer, &id), new);
    assert_int_equal(mcpi_call_cancel(second.call, NULL, f.w.now), 0);
    assert_string_equal(fake_said(&f),
                        "request frame hangup:5000 request frame hangup:5000");
    assert_ptr_equal(fake_event(&f, 5)->leg, new);
    outcome_done(&first);
    outcome_done(&second);
    fake_close(&f);
}

static void
A15_successor_is_answered_while_the_frame_of_the_first_still_waits(void **state)
{
    struct mcpi_id id = text_id("x");
    struct mcpi_call_options opt = {.id = &id};
    struct outcome first, second;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, &opt, &first);
    assert_int_equal(mcpi_call_cancel(first.call, NULL, f.w.now), 0);
    fake_call(&f, &opt, &second);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "frame request");
    outcome_done(&first);
    fake_receive(&f, RESULT("\"x\"", "{}"));
    assert_int_equal(second.done, 1);
    assert_int_equal(second.status, 0);
    outcome_done(&second);
    fake_close(&f);
}

enum { ANSWERED, TIMED_OUT, CANCELED, CLOSED, ENDINGS };

static void
land(struct fake *f, int ending, struct outcome *out)
{
    if (ending == ANSWERED)
        fake_receive(f, RESULT("1", "{}"));
    else if (ending == TIMED_OUT)
        fake_pass(f, SECOND);
    else if (ending == CANCELED)
        (void)mcpi_call_cancel(out->call, NULL, f->w.now); /* may come too late */
    else
        mcpi_peer_close(f->peer, f->w.now);
}

static void
check_order(const int order[ENDINGS])
{
    static const int statuses[] = {0, MCP_E_TIMEOUT, MCP_E_CANCELED, MCP_E_CLOSED};
    struct mcpi_call_options opt = {.timeout_us = SECOND};
    struct outcome out;
    struct fake f;

    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, &opt, &out);
    for (int i = 0; i < ENDINGS; i++)
        land(&f, order[i], &out);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, statuses[order[0]]);
    outcome_done(&out);
    fake_close(&f);
}

static void
A16_the_first_of_any_order_of_endings_is_the_outcome(void **state)
{
    int order[ENDINGS];
    int seen = 0;

    (void)state;
    for (int n = 0; n < ENDINGS * ENDINGS * ENDINGS * ENDINGS; n++) {
        int used = 0;

        for (int i = 0, rest = n; i < ENDINGS; i++, rest /= ENDINGS) {
            order[i] = rest % ENDINGS;
            used |= 1 << order[i];
        }
        if (used != 15)
            continue;
        check_order(order);
        seen++;
    }
    assert_int_equal(seen, 24);
}

static void
A16_ended_leg_is_not_ended_again(void **state)
{
    struct mcpi_leg *leg;
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, NULL, &out);
    leg = mcpi_leg_ref(fake_leg(&f, &out));
    assert_true(mcpi_leg_end(leg, MCP_E_CANCELED, NULL, NULL));
    assert_false(mcpi_leg_end(leg, MCP_E_TIMEOUT, NULL, NULL));
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_CANCELED);
    mcpi_leg_unref(leg);
    outcome_done(&out);
    fake_close(&f);
}

static void
stream_that_fails_ends_its_leg_with_that_status(void **state)
{
    struct fake_options fo = {
        .kind = FAKE_STREAMS, .era = MCPI_ERA_MODERN, .eager = true};
    struct outcome out, other;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fo);
    fake_issue(&f, NULL, &out);
    fake_issue(&f, NULL, &other);
    mcpi_leg_fail(fake_leg(&f, &out), &(struct mcpi_fault){.status = MCP_E_SEND_FAILED},
                  f.w.now);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_SEND_FAILED);
    assert_int_equal(other.done, 0);
    outcome_done(&out);
    outcome_done(&other);
    fake_close(&f);
}

TEST_MAIN(TEST(A14_entry_timers_and_progress_route_exist_before_the_first_byte),
          TEST(request_that_still_waits_cannot_be_answered),
          TEST(A17_start_that_fails_leaves_nothing_and_frees_the_id),
          TEST(A17_message_that_is_too_long_fails_its_start),
          TEST(request_that_cannot_be_encoded_later_ends_once_and_unsignaled),
          TEST(A15_successor_started_inside_the_ending_stays),
          TEST(A15_E15_old_stream_that_answers_or_dies_leaves_the_successor_alone),
          TEST(A15_successor_is_answered_while_the_frame_of_the_first_still_waits),
          TEST(A16_the_first_of_any_order_of_endings_is_the_outcome),
          TEST(A16_ended_leg_is_not_ended_again),
          TEST(stream_that_fails_ends_its_leg_with_that_status))
