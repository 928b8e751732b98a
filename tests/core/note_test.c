/* note_test.c - notifications, and refusals of what never became an exchange */
#include "core/note.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/fake.h"

static struct mcpi_outlet *
outlet_of(struct fake *f)
{
    return mcpi_peer_outlet(f->peer);
}

/* A server with one request in hand that wants progress. */
static struct mcpi_exchange *
serve_one(struct fake *f, const struct mcpi_limits *limits)
{
    struct fake_options opt = {.role = MCPI_SERVER};

    if (limits)
        opt.limits = *limits;
    assert_int_equal(fake_open(f, &opt), 0);
    fake_receive(
        f, REQUEST("5", "tools/call",
                   "{\"_meta\":{\"progressToken\":\"p\"," META_KEY(
                       "protocolVersion") ":\"2026-07-28\"," META_KEY("clientCapabiliti"
                                                                      "es") ":{}}}"));
    assert_int_equal(f->job_count, 1);
    return f->jobs[0];
}

static void
notification_is_one_whole_message(void **state)
{
    static const char params[] = "{\"a\":1}";
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MANUAL);
    assert_int_equal(mcpi_note_push(outlet_of(&f), NULL, "notifications/x", params, 7),
                     0);
    assert_int_equal(mcpi_note_push(outlet_of(&f), NULL, "notifications/y", NULL, 0),
                     0);
    fake_run(&f);
    assert_string_equal(fake_text(&f, 0), NOTE("notifications/x", "{\"a\":1}"));
    assert_string_equal(fake_text(&f, 1),
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/y\"}");
    fake_close(&f);
}

static void
greeting_passes_while_negotiating_and_others_wait(void **state)
{
    struct fake_options opt = {.era = MCPI_ERA_MODERN};
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    assert_int_equal(mcpi_note_push(outlet_of(&f), NULL, "notifications/x", NULL, 0),
                     0);
    assert_int_equal(mcpi_note_push_greeting(outlet_of(&f), "notifications/hello"), 0);
    assert_int_equal(fake_take(&f), 1);
    assert_non_null(strstr(fake_text(&f, 0), "notifications/hello"));
    fake_close(&f);
}

static void
check_progress(double progress, double total, const char *message, const char *want)
{
    struct mcpi_progress p = {progress, total, message};
    struct mcpi_exchange *x;
    struct fake f;
    char text[200];

    x = serve_one(&f, NULL);
    assert_int_equal(mcpi_note_push_progress(x, &p), 0);
    fake_run(&f);
    snprintf(text, sizeof(text),
             NOTE("notifications/progress", "{\"progressToken\":\"p\",%s}"), want);
    assert_string_equal(fake_text(&f, 0), text);
    fake_close(&f);
}

static void
progress_carries_what_is_known(void **state)
{
    (void)state;
    check_progress(0.5, (double)NAN, NULL, "\"progress\":0.5");
    check_progress(0.5, 1.5, NULL, "\"progress\":0.5,\"total\":1.5");
    check_progress(
        0.5, 1.5, "h\xC3\xA4lf \"way\"",
        "\"progress\":0.5,\"total\":1.5,\"message\":\"h\xC3\xA4lf \\\"way\\\"\"");
}

static void
progress_that_cannot_be_written_is_refused_and_not_queued(void **state)
{
    const struct mcpi_progress bad[] = {{(double)NAN, 1, NULL},
                                        {(double)INFINITY, 1, NULL},
                                        {0.5, (double)INFINITY, NULL},
                                        {0.5, 1, "\xFF"}};
    struct mcpi_exchange *x;
    struct fake f;

    (void)state;
    x = serve_one(&f, NULL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(mcpi_note_push_progress(x, &bad[i]), MCP_E_INVAL);
    assert_int_equal(fake_take(&f), 0);
    fake_close(&f);
}

static void
full_outlet_drops_notes_and_counts_them(void **state)
{
    struct mcpi_limits limits = {.queued_bytes = 1000};
    struct mcpi_progress p = {0.5, (double)NAN, NULL};
    struct mcpi_exchange *x;
    size_t kept = 0;
    struct fake f;

    (void)state;
    x = serve_one(&f, &limits);
    for (; f.engine->counts.dropped == 0; kept++)
        assert_int_equal(mcpi_note_push_progress(x, &p), 0);
    assert_int_equal(mcpi_note_push(outlet_of(&f), x, "notifications/x", NULL, 0), 0);
    assert_int_equal(f.engine->counts.dropped, 2);
    assert_int_equal(fake_take(&f), kept - 1);
    fake_close(&f);
}

static void
expect_progress(struct fake *f, size_t index, int value)
{
    char part[32];

    snprintf(part, sizeof(part), "\"progress\":%d.0}", value);
    if (!strstr(fake_text(f, index), part))
        fail_msg("no %s in %s", part, fake_text(f, index));
}

static void
I12_of_progress_that_is_not_read_the_newest_report_survives(void **state)
{
    struct mcpi_limits limits = {.queued_bytes = 1000};
    struct mcpi_exchange *x;
    struct fake f;
    size_t kept;

    (void)state;
    x = serve_one(&f, &limits);
    for (int i = 1001; i <= 1100; i++)
        assert_int_equal(mcpi_exchange_progress(x, i, NAN, NULL, f.w.now), 0);
    assert_true(outlet_of(&f)->weight <= limits.queued_bytes);
    fake_run(&f);
    kept = f.event_count;
    assert_true(kept > 2);
    assert_int_equal(f.engine->counts.dropped, 100 - kept);
    for (size_t i = 0; i + 1 < kept; i++)
        expect_progress(&f, i, 1001 + (int)i);
    expect_progress(&f, kept - 1, 1100);
    assert_int_equal(mcpi_exchange_progress(x, 1101, NAN, NULL, f.w.now), 0);
    fake_run(&f); /* there is room again */
    expect_progress(&f, kept, 1101);
    fake_close(&f);
}

/* Log messages until one is dropped; how many wait. */
static size_t
fill_with_logs(struct fake *f, struct mcpi_exchange *x)
{
    size_t kept = 0;

    for (; f->engine->counts.dropped == 0; kept++)
        assert_int_equal(mcpi_exchange_notify(x, "notifications/message",
                                              "{\"level\":\"info\",\"data\":1}", 25,
                                              f->w.now),
                         0);
    return kept - 1;
}

static size_t
count_texts(struct fake *f, const char *part)
{
    size_t n = 0;

    for (size_t i = 0; i < f->event_count; i++)
        n += strstr(fake_text(f, i), part) != NULL;
    return n;
}

static void
I12_progress_that_is_not_read_never_takes_the_place_of_a_log_message(void **state)
{
    struct mcpi_limits limits = {.queued_bytes = 2000};
    struct mcpi_exchange *x;
    struct fake f;
    size_t logs;

    (void)state;
    x = serve_one(&f, &limits);
    for (int i = 1001; i <= 1003; i++)
        assert_int_equal(mcpi_exchange_progress(x, i, NAN, NULL, f.w.now), 0);
    logs = fill_with_logs(&f, x);
    assert_true(logs > 2);
    for (int i = 2001; i <= 2100; i++)
        assert_int_equal(mcpi_exchange_progress(x, i, NAN, NULL, f.w.now), 0);
    assert_true(outlet_of(&f)->weight <= limits.queued_bytes);
    fake_run(&f);
    assert_int_equal(count_texts(&f, "notifications/message"), logs);
    expect_progress(&f, 0, 1001);
    expect_progress(&f, f.event_count - 1, 2100);
    fake_close(&f);
}

static void
I12_progress_finds_no_room_among_log_messages_and_is_dropped(void **state)
{
    struct mcpi_limits limits = {.queued_bytes = 1000};
    struct mcpi_exchange *x;
    struct fake f;
    size_t logs;

    (void)state;
    x = serve_one(&f, &limits);
    logs = fill_with_logs(&f, x);
    assert_int_equal(mcpi_exchange_progress(x, 1, NAN, NULL, f.w.now), 0);
    assert_int_equal(f.engine->counts.dropped, 2);
    assert_int_equal(fake_take(&f), logs);
    assert_int_equal(count_texts(&f, "notifications/progress"), 0);
    fake_close(&f);
}

static void
I14_what_an_exchange_still_has_waiting_is_taken_back(void **state)
{
    struct mcpi_progress p = {0.5, (double)NAN, NULL};
    struct mcpi_exchange *x;
    struct fake f;

    (void)state;
    x = serve_one(&f, NULL);
    assert_int_equal(mcpi_note_push_progress(x, &p), 0);
    fake_take(&f); /* this one has begun to leave */
    assert_int_equal(mcpi_note_push_progress(x, &p), 0);
    assert_int_equal(mcpi_note_push(outlet_of(&f), x, "notifications/a", NULL, 0), 0);
    assert_int_equal(mcpi_note_push(outlet_of(&f), NULL, "notifications/b", NULL, 0),
                     0);
    fake_forget(&f);
    mcpi_note_withdraw_all(x);
    fake_written(&f, 0);
    fake_run(&f);
    assert_int_equal(f.event_count, 1);
    assert_non_null(strstr(fake_text(&f, 0), "notifications/b"));
    fake_close(&f);
}

static void
note_for_a_killed_outlet_is_swallowed(void **state)
{
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MANUAL);
    mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
    assert_int_equal(mcpi_note_push(outlet_of(&f), NULL, "notifications/x", NULL, 0),
                     0);
    assert_int_equal(mcpi_note_push_frame(outlet_of(&f), "{}", 2), 0);
    assert_int_equal(mcpi_note_push_greeting(outlet_of(&f), "notifications/x"), 0);
    assert_int_equal(fake_take(&f), 0);
    fake_close(&f);
}

static void
no_memory_for_a_note_is_told_and_leaves_nothing(void **state)
{
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MANUAL);
    f.mem->fail_at = f.mem->total + 1;
    f.mem->fail_after = true;
    assert_int_equal(mcpi_note_push(outlet_of(&f), NULL, "notifications/x", NULL, 0),
                     MCP_E_NOMEM);
    assert_int_equal(mcpi_note_push_frame(outlet_of(&f), "{}", 2), MCP_E_NOMEM);
    assert_int_equal(fake_take(&f), 0);
    f.mem->fail_at = 0;
    f.mem->fail_after = false;
    assert_int_equal(mcpi_note_push(outlet_of(&f), NULL, "notifications/x", NULL, 0),
                     0);
    assert_int_equal(fake_take(&f), 1);
    fake_close(&f);
}

static void
B11_frame_by_hand_is_not_dropped_by_a_full_outlet(void **state)
{
    struct fake_options opt = {.era = MCPI_ERA_MANUAL, .limits = {.queued_bytes = 1}};
    struct fake f;

    (void)state;
    fake_start_with(&f, &opt);
    assert_int_equal(mcpi_note_push(outlet_of(&f), NULL, "notifications/x", NULL, 0),
                     0);
    assert_int_equal(f.engine->counts.dropped, 1);
    assert_int_equal(mcpi_note_push_frame(outlet_of(&f), "{\"requestId\":9}", 15), 0);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "frame");
    assert_string_equal(fake_text(&f, 0),
                        NOTE("notifications/cancelled", "{\"requestId\":9}"));
    fake_close(&f);
}

static void
refusal_is_an_answer_with_the_id_or_without_one(void **state)
{
    struct fake_options opt = {.role = MCPI_SERVER};
    struct mcpi_id id = mcpi_id_string("q", 1), none = {0};
    struct mcpi_refusal why;
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    mcpi_refuse(&why, -32600, "no %s", "way");
    mcpi_refusal_push(outlet_of(&f), &id, &why);
    snprintf(why.data, sizeof(why.data), "{\"k\":[1]}");
    mcpi_refusal_push(outlet_of(&f), &none, &why);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "answer answer");
    assert_string_equal(fake_text(&f, 0), "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":"
                                          "{\"code\":-32600,\"message\":\"no way\"}}");
    assert_string_equal(fake_text(&f, 1),
                        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,"
                        "\"message\":\"no way\",\"data\":{\"k\":[1]}}}");
    fake_close(&f);
}

static void
no_memory_even_to_refuse_gives_the_link_up(void **state)
{
    struct fake_options opt = {.role = MCPI_SERVER};
    struct mcpi_id id = mcpi_id_int(1);
    struct mcpi_refusal why;
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    mcpi_refuse(&why, -32600, "no");
    f.mem->fail_at = f.mem->total + 1;
    f.mem->fail_after = true;
    mcpi_refusal_push(outlet_of(&f), &id, &why);
    assert_int_equal(f.closed, 0);
    fake_pass(&f, 0);
    assert_string_equal(fake_said(&f), "now");
    assert_int_equal(f.closed, 1);
    fake_close(&f);
}

TEST_MAIN(TEST(notification_is_one_whole_message),
          TEST(greeting_passes_while_negotiating_and_others_wait),
          TEST(progress_carries_what_is_known),
          TEST(progress_that_cannot_be_written_is_refused_and_not_queued),
          TEST(full_outlet_drops_notes_and_counts_them),
          TEST(I12_of_progress_that_is_not_read_the_newest_report_survives),
          TEST(I12_progress_that_is_not_read_never_takes_the_place_of_a_log_message),
          TEST(I12_progress_finds_no_room_among_log_messages_and_is_dropped),
          TEST(I14_what_an_exchange_still_has_waiting_is_taken_back),
          TEST(note_for_a_killed_outlet_is_swallowed),
          TEST(no_memory_for_a_note_is_told_and_leaves_nothing),
          TEST(B11_frame_by_hand_is_not_dropped_by_a_full_outlet),
          TEST(refusal_is_an_answer_with_the_id_or_without_one),
          TEST(no_memory_even_to_refuse_gives_the_link_up))
