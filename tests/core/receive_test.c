/* receive_test.c - the one door: order, direction, cancel frames good and bad */
#include <string.h>

#include "support/endpoint.h"

static enum mcpi_era modern = MCPI_ERA_MODERN, legacy = MCPI_ERA_LEGACY;

static bool
is_modern(void **state)
{
    return *(enum mcpi_era *)*state == MCPI_ERA_MODERN;
}

/* A request of that era, by hand. */
#define CALL(state, id) (is_modern(state) ? MODERN_CALL(id) : LEGACY_CALL(id))

/* A world of that era, in which the server works on request 1. */
static void
start_busy(struct world *w, void **state)
{
    world_start(w, *(enum mcpi_era *)*state);
    world_inject(w, CLIENT, CALL(state, "1"));
    world_run(w);
    assert_int_equal(w->job_count[SERVER], 1);
    world_forget(w);
}

/* Request 1 was left alone and is still answered. */
static void
check_unharmed(struct world *w)
{
    assert_int_equal(w->jobs[SERVER][0].told, 0);
    world_forget(w);
    job_finish(w, &w->jobs[SERVER][0], "{}");
    world_run(w);
    assert_int_equal(w->sent_count[SERVER], 1);
    assert_non_null(strstr(world_sent(w, SERVER, 0), "\"id\":1,\"result\""));
    world_close(w);
}

/* ---- order --------------------------------------------------------------- */

static void
F1_request_is_in_the_table_when_its_handler_begins(void **state)
{
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, 0, NULL);
    endpoint_post(&ep, MODERN_CALL("1"));
    assert_true(endpoint_job(&ep)->entered);
    endpoint_close(&ep);
}

static void
F1_frame_right_behind_its_request_finds_it(void **state)
{
    struct world w;

    world_start(&w, *(enum mcpi_era *)*state);
    world_inject(&w, CLIENT, CALL(state, "1"));
    world_inject(&w, CLIENT, CANCEL("1"));
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    assert_int_equal(world_job(&w, SERVER)->how, MCPI_CANCELED);
    assert_int_equal(w.sent_count[SERVER], 0);
    world_close(&w);
}

static void
C6_F1_frame_is_applied_while_handlers_are_busy(void **state)
{
    struct world w;

    start_busy(&w, state);
    world_inject(&w, CLIENT, CALL(state, "2"));
    world_inject(&w, CLIENT, CALL(state, "3"));
    world_inject(&w, CLIENT, CANCEL("2"));
    world_run(&w);
    assert_int_equal(w.jobs[SERVER][1].told, 1);
    assert_int_equal(w.jobs[SERVER][2].told, 0);
    check_unharmed(&w);
}

static void
F36_I12_progress_is_delivered_before_the_response_behind_it(void **state)
{
    struct world w;
    struct outcome out;
    struct mcpi_id id = mcpi_id_int(1);
    struct mcpi_call_options opt = {.id = &id, .ops = &outcome_progress_ops};

    world_start(&w, *(enum mcpi_era *)*state);
    world_call(&w, CLIENT, &opt, &out);
    world_run(&w);
    world_inject(
        &w, SERVER,
        NOTE("notifications/progress", "{\"progressToken\":1,\"progress\":1}"));
    world_inject(&w, SERVER, RESULT("1", "{\"resultType\":\"complete\"}"));
    world_inject(
        &w, SERVER,
        NOTE("notifications/progress", "{\"progressToken\":1,\"progress\":2}"));
    world_run(&w);
    assert_int_equal(out.progressed, 1);
    assert_true(out.last.progress == 1.0);
    assert_int_equal(out.done, 1);
    outcome_done(&out);
    world_close(&w);
}

static void
F36_notification_is_observed_before_the_response_behind_it(void **state)
{
    struct world w;
    struct outcome out;
    struct mcpi_id id = mcpi_id_int(1);
    struct mcpi_call_options opt = {.id = &id};

    world_start(&w, *(enum mcpi_era *)*state);
    world_call(&w, CLIENT, &opt, &out);
    world_run(&w);
    world_forget(&w);
    world_inject(&w, SERVER, NOTE("notifications/tools/list_changed", "{}"));
    while (mcpi_pair_step(w.end[CLIENT], w.now) > 0)
        continue;
    assert_int_equal(w.notice_count, 1);
    assert_int_equal(out.done, 0);
    world_inject(&w, SERVER, RESULT("1", "{}"));
    world_run(&w);
    assert_int_equal(out.done, 1);
    outcome_done(&out);
    world_close(&w);
}

/* ---- frames that end nothing --------------------------------------------- */

struct frame {
    const char *name;
    const char *text;
};

#define FRAME(params) NOTE("notifications/cancelled", params)

static const struct frame odd_frames[] = {
    {"unknown id", CANCEL("99")},
    {"unknown text id", CANCEL("\"one\"")},
    {"spelling that does not fold", CANCEL("\"01\"")},
    {"no params", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}"},
    {"params no object", FRAME("[1]")},
    {"no id", FRAME("{}")},
    {"id null", FRAME("{\"requestId\":null}")},
    {"id true", FRAME("{\"requestId\":true}")},
    {"id a fraction", FRAME("{\"requestId\":1.0}")},
    {"id an exponent", FRAME("{\"requestId\":1e0}")},
    {"id an array", FRAME("{\"requestId\":[1]}")},
    {"id an object", FRAME("{\"requestId\":{\"id\":1}}")},
    {"id in the wrong member", FRAME("{\"id\":1}")},
    {"id twice", FRAME("{\"requestId\":1,\"requestId\":2}")},
    {"id and an unknown one", FRAME("{\"requestId\":2,\"requestid\":1,\"more\":[1]}")},
};

static void
F13_F15_F16_odd_frame_is_ignored_and_never_replied_to(void **state)
{
    struct world w;

    for (size_t i = 0; i < sizeof(odd_frames) / sizeof(odd_frames[0]); i++) {
        start_busy(&w, state);
        world_inject(&w, CLIENT, odd_frames[i].text);
        world_run(&w);
        if (w.sent_count[SERVER] != 0 || w.jobs[SERVER][0].told != 0)
            fail_msg("%s: not ignored", odd_frames[i].name);
        assert_false(world_logged(&w, 'E', ""));
        check_unharmed(&w);
    }
}

static void
F15_odd_reason_and_unknown_members_do_not_spoil_a_frame(void **state)
{
    static const char *const good[] = {
        FRAME("{\"requestId\":1,\"reason\":17}"),
        FRAME("{\"requestId\":1,\"reason\":null,\"_meta\":{\"x\":1},\"other\":[]}"),
        FRAME("{\"requestId\":1}"),
    };
    struct world w;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        start_busy(&w, state);
        world_inject(&w, CLIENT, good[i]);
        world_run(&w);
        assert_int_equal(w.jobs[SERVER][0].told, 1);
        assert_string_equal(w.jobs[SERVER][0].reason, "");
        assert_int_equal(w.sent_count[SERVER], 0);
        world_close(&w);
    }
}

static void
F2_long_reason_is_cut_and_kept(void **state)
{
    struct world w;
    char frame[1000] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                       "\"params\":{\"requestId\":1,\"reason\":\"";

    start_busy(&w, state);
    memset(frame + strlen(frame), 'r', 500);
    strcat(frame, "\"}}");
    world_inject(&w, CLIENT, frame);
    world_run(&w);
    assert_int_equal(w.jobs[SERVER][0].told, 1);
    assert_int_equal(strlen(w.jobs[SERVER][0].reason), MCPI_REASON_MAX);
    assert_int_equal(w.jobs[SERVER][0].reason[0], 'r');
    world_close(&w);
}

static void
F13_F25_unknown_id_is_a_debug_line_and_observers_see_it(void **state)
{
    struct world w;

    start_busy(&w, state);
    world_inject(&w, CLIENT, CANCEL("99"));
    world_run(&w);
    assert_true(world_logged(&w, 'D', "cancel of unknown request 99"));
    assert_false(world_logged(&w, 'W', ""));
    assert_int_equal(w.notice_count, 1);
    assert_string_equal(w.notices[0].method, "notifications/cancelled");
    assert_null(w.notices[0].about);
    check_unharmed(&w);
}

static void
F14_frame_for_a_completed_request_is_ignored(void **state)
{
    struct world w;

    start_busy(&w, state);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    world_inject(&w, CLIENT, CANCEL("1"));
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 0);
    assert_int_equal(w.sent_count[SERVER], 1);
    assert_int_equal(w.notice_count, 1);
    assert_null(w.notices[0].about);
    assert_true(world_logged(&w, 'D', "ignored"));
    world_close(&w);
}

static void
F17_frame_for_an_unknown_id_does_not_poison_a_later_request(void **state)
{
    struct world w;

    world_start(&w, *(enum mcpi_era *)*state);
    world_inject(&w, CLIENT, CANCEL("1"));
    world_run(&w);
    world_inject(&w, CLIENT, CALL(state, "1"));
    world_run(&w);
    check_unharmed(&w);
}

static void
F18_frame_in_the_other_spelling_cancels(void **state)
{
    struct world w;

    start_busy(&w, state);
    world_inject(&w, CLIENT, CALL(state, "\"7\""));
    world_inject(&w, CLIENT, CANCEL("7"));
    world_inject(&w, CLIENT, CANCEL("\"1\""));
    world_run(&w);
    assert_int_equal(w.jobs[SERVER][0].told, 1);
    assert_int_equal(w.jobs[SERVER][1].told, 1);
    world_close(&w);
}

static void
A11_requests_with_id_zero_and_empty_text_are_canceled(void **state)
{
    struct world w;

    start_busy(&w, state);
    world_inject(&w, CLIENT, CALL(state, "0"));
    world_inject(&w, CLIENT, CALL(state, "\"\""));
    world_inject(&w, CLIENT, CANCEL("\"\""));
    world_run(&w);
    assert_int_equal(w.jobs[SERVER][1].told, 0);
    assert_int_equal(w.jobs[SERVER][2].told, 1);
    world_inject(&w, CLIENT, CANCEL("0"));
    world_run(&w);
    assert_int_equal(w.jobs[SERVER][1].told, 1);
    check_unharmed(&w);
}

static void
A10_large_ids_are_told_apart(void **state)
{
    struct world w;

    start_busy(&w, state);
    world_inject(&w, CLIENT, CALL(state, "9007199254740993"));
    world_inject(&w, CLIENT, CALL(state, "9007199254740992"));
    world_inject(&w, CLIENT, CANCEL("9007199254740993"));
    world_run(&w);
    assert_int_equal(w.jobs[SERVER][1].told, 1);
    assert_int_equal(w.jobs[SERVER][2].told, 0);
    check_unharmed(&w);
}

/* ---- negotiation --------------------------------------------------------- */

static void
F20_negotiation_is_answered_although_a_frame_names_it(void **state)
{
    struct world w;
    struct world_options opt = {.client_era = MCPI_ERA_MANUAL};

    (void)state;
    world_start_with(&w, &opt);
    world_inject(&w, CLIENT, MODERN_DISCOVER("\"d\""));
    world_inject(&w, CLIENT, CANCEL("\"d\""));
    world_inject(&w, CLIENT, INITIALIZE("\"i\"", "2025-11-25"));
    world_inject(&w, CLIENT, CANCEL("\"i\""));
    world_run(&w);
    assert_int_equal(world_count_sent(&w, SERVER, "\"id\":\"d\",\"result\""), 1);
    assert_int_equal(world_count_sent(&w, SERVER, "\"id\":\"i\",\"result\""), 1);
    assert_int_equal(w.sent_count[SERVER], 2);
    world_close(&w);
}

/* Our own handlers of these answer at once; one that takes its time is safe as well. */
static void
F20_slow_negotiation_is_not_canceled_by_a_frame(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_inject(&w, SERVER, REQUEST("5", "initialize", "{}"));
    world_inject(&w, SERVER, CANCEL("5"));
    world_run(&w);
    assert_int_equal(world_job(&w, CLIENT)->told, 0);
    job_finish(&w, world_job(&w, CLIENT), "{}");
    world_run(&w);
    assert_int_equal(world_count_sent(&w, CLIENT, "\"id\":5,\"result\""), 1);
    world_close(&w);
}

/* ---- equal ids ----------------------------------------------------------- */

static void
F21_second_request_with_an_id_in_flight_is_refused(void **state)
{
    struct world w;

    start_busy(&w, state);
    world_inject(&w, CLIENT, CALL(state, "1"));
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 1);
    assert_int_equal(w.sent_count[SERVER], 1);
    assert_non_null(strstr(world_sent(&w, SERVER, 0), "\"id\":1,\"error\""));
    assert_non_null(strstr(world_sent(&w, SERVER, 0), "\"code\":-32600"));
    check_unharmed(&w);
}

static void
F21_twin_of_an_id_in_flight_is_refused_under_its_own_spelling(void **state)
{
    struct world w;

    start_busy(&w, state);
    world_inject(&w, CLIENT, CALL(state, "\"1\""));
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 1);
    assert_non_null(strstr(world_sent(&w, SERVER, 0), "\"id\":\"1\",\"error\""));
    assert_non_null(strstr(world_sent(&w, SERVER, 0), "\"code\":-32600"));
    check_unharmed(&w);
}

static void
F21_client_refuses_a_second_request_of_a_legacy_server_too(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_inject(&w, SERVER, REQUEST("1", "roots/list", "{}"));
    world_inject(&w, SERVER, REQUEST("1", "roots/list", "{}"));
    world_run(&w);
    assert_int_equal(w.job_count[CLIENT], 1);
    assert_int_equal(world_count_sent(&w, CLIENT, "-32600"), 1);
    world_close(&w);
}

/* A legacy client says that it is ready after the answer; not all wait for that. */
static void
legacy_requests_before_initialized_are_served(void **state)
{
    struct world w;

    (void)state;
    assert_int_equal(world_open(&w, NULL), 0);
    world_inject(&w, CLIENT, INITIALIZE("1", "2025-11-25"));
    world_inject(&w, CLIENT, LEGACY_CALL("2"));
    world_run(&w);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    assert_int_equal(world_count_sent(&w, SERVER, "\"id\":2,\"result\""), 1);
    world_inject(&w, CLIENT, NOTE("notifications/initialized", "{}"));
    world_inject(&w, CLIENT, LEGACY_CALL("3"));
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 2);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    assert_int_equal(world_count_sent(&w, SERVER, "\"id\":3,\"result\""), 1);
    world_close(&w);
}

/* ---- answers nobody waits for -------------------------------------------- */

static void
B20_A13_answers_nobody_asked_for_are_dropped(void **state)
{
    static const char *const strays[] = {
        RESULT("99", "{}"),
        RESULT("\"libmcp:discover\"", "{\"supportedVersions\":[]}"),
        ERROR("99", "-32601"),
        ERROR("null", "-32700"),
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"m\"}}",
    };
    struct world w;
    struct outcome out;

    world_start(&w, *(enum mcpi_era *)*state);
    world_plain_call(&w, &out);
    world_run(&w);
    world_forget(&w);
    for (size_t i = 0; i < sizeof(strays) / sizeof(strays[0]); i++) {
        world_inject(&w, SERVER, strays[i]);
        world_inject(&w, CLIENT, strays[i]);
    }
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER] + w.sent_count[CLIENT], 0);
    assert_int_equal(out.done, 0);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    assert_int_equal(out.status, 0);
    outcome_done(&out);
    world_close(&w);
}

/* clang-format off */
#define IN_BOTH_ERAS(function) \
    TEST_AS("modern." #function, function, &modern), \
    TEST_AS("legacy." #function, function, &legacy)

TEST_MAIN(TEST(F1_request_is_in_the_table_when_its_handler_begins),
          IN_BOTH_ERAS(F1_frame_right_behind_its_request_finds_it),
          IN_BOTH_ERAS(C6_F1_frame_is_applied_while_handlers_are_busy),
          IN_BOTH_ERAS(F36_I12_progress_is_delivered_before_the_response_behind_it),
          IN_BOTH_ERAS(F36_notification_is_observed_before_the_response_behind_it),
          IN_BOTH_ERAS(F13_F15_F16_odd_frame_is_ignored_and_never_replied_to),
          IN_BOTH_ERAS(F15_odd_reason_and_unknown_members_do_not_spoil_a_frame),
          IN_BOTH_ERAS(F2_long_reason_is_cut_and_kept),
          IN_BOTH_ERAS(F13_F25_unknown_id_is_a_debug_line_and_observers_see_it),
          IN_BOTH_ERAS(F14_frame_for_a_completed_request_is_ignored),
          IN_BOTH_ERAS(F17_frame_for_an_unknown_id_does_not_poison_a_later_request),
          IN_BOTH_ERAS(F18_frame_in_the_other_spelling_cancels),
          IN_BOTH_ERAS(A11_requests_with_id_zero_and_empty_text_are_canceled),
          IN_BOTH_ERAS(A10_large_ids_are_told_apart),
          TEST(F20_negotiation_is_answered_although_a_frame_names_it),
          TEST(F20_slow_negotiation_is_not_canceled_by_a_frame),
          IN_BOTH_ERAS(F21_second_request_with_an_id_in_flight_is_refused),
          IN_BOTH_ERAS(F21_twin_of_an_id_in_flight_is_refused_under_its_own_spelling),
          TEST(F21_client_refuses_a_second_request_of_a_legacy_server_too),
          TEST(legacy_requests_before_initialized_are_served),
          IN_BOTH_ERAS(B20_A13_answers_nobody_asked_for_are_dropped))
/* clang-format on */
