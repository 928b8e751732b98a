/* rogue_test.c - our client, and servers that say what nobody wants to hear */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end/raw.h"
#include "end/rogue.h"
#include "support/client_clock.h"

static void
open_plain(struct probe *p, void **state)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.era = era_of(state));

    rogue_open(p, "plain", &opt);
    rogue_expect_seen(p, opt.era == MCP_ERA_MODERN
                             ? "server/discover"
                             : "initialize notifications/initialized");
}

/* The call survives what the tool does, and so does the session. */
static void
expect_survived(struct probe *p, const char *tool)
{
    probe_expect(p, tool, "{}", "done");
    probe_expect(p, "plain", "{}", "done");
}

/* ---- what is no message -------------------------------------------------- */

static void
C4_C11_rubbish_between_answers_is_survived_and_not_answered(void **state)
{
    struct probe p;

    open_plain(&p, state);
    expect_survived(&p, "rubbish");
    rogue_expect_seen(&p, "rubbish plain");
    probe_close(&p);
}

static void
C4_C11_rubbish_before_the_first_answer_is_survived(void **state)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.era = era_of(state));
    struct probe p;

    rogue_open(&p, "noisy", &opt);
    expect_survived(&p, "rubbish");
    rogue_expect_seen(&p, opt.era == MCP_ERA_MODERN
                              ? "server/discover rubbish plain"
                              : "initialize notifications/initialized rubbish plain");
    probe_close(&p);
}

static void
C11_a_line_over_the_limit_is_dropped(void **state)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.era = era_of(state),
                                                .message_bytes = (size_t)64 * 1024);
    struct probe p;

    rogue_open(&p, "plain", &opt);
    expect_survived(&p, "long");
    probe_close(&p);
}

static void
C4_a_flood_of_notifications_does_not_hide_the_answer(void **state)
{
    struct probe p;

    open_plain(&p, state);
    expect_survived(&p, "flood");
    rogue_expect_seen(&p, "flood plain");
    probe_close(&p);
}

/* ---- answers that do not fit --------------------------------------------- */

struct ending {
    atomic_int count, status;
    atomic_int reports, progress; /* how many, and their sum */
};

static void
ending_init(struct ending *ending)
{
    atomic_init(&ending->count, 0);
    atomic_init(&ending->status, 1);
    atomic_init(&ending->reports, 0);
    atomic_init(&ending->progress, 0);
}

static void
on_done(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct ending *ending = user;

    (void)call, (void)reply;
    atomic_store(&ending->status, status);
    atomic_fetch_add(&ending->count, 1);
}

static void
on_progress(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    struct ending *ending = user;

    (void)call, (void)total, (void)message;
    atomic_fetch_add(&ending->progress, (int)progress);
    atomic_fetch_add(&ending->reports, 1);
}

/* Start it; the callbacks run on the client's workers, and for the last time before the
 * client is freed. */
static mcp_call *
start(struct probe *p, const char *tool, struct ending *ending)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = AWAIT_MS,
                                            .on_progress = on_progress, .user = ending);
    mcp_call *call = NULL;

    ending_init(ending);
    assert_int_equal(
        mcp_client_start_tool(p->client, tool, "{}", &opt, on_done, ending, &call), 0);
    return call;
}

static void
A16_an_answer_given_twice_counts_once(void **state)
{
    struct ending ending;
    struct probe p;
    mcp_call *call;

    open_plain(&p, state);
    call = start(&p, "twice", &ending);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), 0);
    probe_expect(&p, "plain", "{}", "done");
    rogue_expect_seen(&p, "twice plain");
    probe_close(&p);
    mcp_call_free(call);
    assert_int_equal(atomic_load(&ending.count), 1);
    assert_int_equal(atomic_load(&ending.status), 0);
}

static void
A12_answers_to_nobody_are_dropped(void **state)
{
    struct probe p;

    open_plain(&p, state);
    expect_survived(&p, "others");
    rogue_expect_seen(&p, "others plain");
    probe_close(&p);
}

static void
A13_errors_without_an_id_touch_no_call(void **state)
{
    struct probe p;

    open_plain(&p, state);
    expect_survived(&p, "nobody");
    rogue_expect_seen(&p, "nobody plain");
    probe_close(&p);
}

static void
A6_an_answer_in_the_other_spelling_is_found(void **state)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("4711"));
    mcp_reply *reply = NULL;
    struct probe p;

    open_plain(&p, state);
    expect_survived(&p, "spelled");
    assert_int_equal(
        mcp_client_call_tool(p.client, "spelled", "{}", &opt, &reply, NULL), 0);
    assert_string_equal(mcp_reply_text(reply), "done");
    mcp_reply_free(reply);
    probe_close(&p);
}

static void
an_answer_that_is_none_ends_its_call(void **state)
{
    struct probe p;
    mcp_error err = {0};

    open_plain(&p, state);
    assert_int_equal(mcp_client_call_tool(p.client, "kindless", "{}", NULL, NULL, &err),
                     MCP_E_PROTO);
    assert_int_equal(err.status, MCP_E_PROTO);
    assert_int_equal(mcp_client_call_tool(p.client, "both", "{}", NULL, NULL, NULL),
                     MCP_E_PROTO);
    probe_expect(&p, "plain", "{}", "done");
    rogue_expect_seen(&p, "kindless both plain"); /* nothing is said about it */
    probe_close(&p);
}

static bool
has_progress(void *user)
{
    const struct ending *ending = user;

    return atomic_load(&ending->progress) > 0;
}

static void
B20_B14_an_answer_after_a_cancel_is_dropped(void **state)
{
    struct ending ending;
    struct probe p;
    mcp_call *call;
    char words[64];

    open_plain(&p, state);
    call = start(&p, "late", &ending);
    snprintf(words, sizeof(words), "late cancel:%s plain", mcp_call_id(call));
    wait_until(has_progress, &ending); /* it has arrived */
    assert_int_equal(mcp_call_cancel(call, "enough"), 0);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    assert_int_equal(mcp_call_flush(call, AWAIT_MS), 0);
    assert_int_equal(mcp_call_cancel(call, "again"), MCP_E_STATE);
    probe_expect(&p, "plain", "{}", "done");
    rogue_expect_seen(&p, words);
    probe_close(&p);
    mcp_call_free(call);
    assert_int_equal(atomic_load(&ending.count), 1);
    assert_int_equal(atomic_load(&ending.status), MCP_E_CANCELED);
}

static void
B3_B20_B30_an_answer_after_a_timeout_is_dropped(void **state)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = HOUR_MS,
                                            .id = MCP_NUMBER_ID(4711));
    struct virtual_clock clock;
    mcp_call *call = NULL;
    struct probe p;

    open_plain(&p, state);
    client_clock_hold(&clock, p.client);
    assert_int_equal(
        mcp_client_start_tool(p.client, "late", "{}", &opt, NULL, NULL, &call), 0);
    virtual_clock_pass(&clock, 0); /* the loop has turned: it has been sent */
    virtual_clock_pass(&clock, HOUR_MS);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_TIMEOUT);
    mcp_call_free(call);
    probe_expect(&p, "plain", "{}", "done");
    rogue_expect_seen(&p, "late cancel:4711 plain");
    probe_close(&p);
}

/* ---- notifications and requests that do not fit -------------------------- */

static void
I10_I11_progress_of_nobody_reaches_nobody(void **state)
{
    struct ending ending;
    struct probe p;
    mcp_call *call;

    open_plain(&p, state);
    call = start(&p, "progress", &ending);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), 0);
    probe_expect(&p, "plain", "{}", "done");
    rogue_expect_seen(&p, "progress plain");
    probe_close(&p);
    mcp_call_free(call);
    assert_int_equal(atomic_load(&ending.reports), 1);
    assert_int_equal(atomic_load(&ending.progress), 5);
}

static void
J4_a_cancel_of_our_own_request_is_ignored(void **state)
{
    struct probe p;

    open_plain(&p, state);
    expect_survived(&p, "cancel");
    rogue_expect_seen(&p, "cancel plain");
    probe_close(&p);
}

static void
J7_J3_a_server_that_asks_is_answered_only_where_servers_ask(void **state)
{
    struct probe p;
    bool legacy = era_of(state) == MCP_ERA_LEGACY;

    open_plain(&p, state);
    expect_survived(&p, "ask");
    rogue_expect_seen(&p, legacy ? "ask answer plain" : "ask plain");
    probe_close(&p);
}

/* ---- a server that goes in mid-call -------------------------------------- */

static void
expect_gone_after(void **state, const char *tool)
{
    struct ending first, second;
    mcp_call *calls[2];
    struct probe p;
    pid_t pid;

    open_plain(&p, state);
    pid = (pid_t)mcp_client_pid(p.client);
    calls[0] = start(&p, "mute", &first);
    calls[1] = start(&p, tool, &second);
    for (int i = 0; i < 2; i++)
        assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, NULL, NULL), MCP_E_CLOSED);
    assert_int_equal(mcp_client_call_tool(p.client, "plain", "{}", NULL, NULL, NULL),
                     MCP_E_CLOSED);
    assert_int_equal(mcp_client_notify(p.client, "notifications/any", NULL), 0);
    probe_close_dead(&p, pid);
    for (int i = 0; i < 2; i++)
        mcp_call_free(calls[i]);
    assert_int_equal(atomic_load(&first.count), 1);
    assert_int_equal(atomic_load(&second.count), 1);
}

static void
M14_B22_half_an_answer_and_the_end_is_a_closed_connection(void **state)
{
    expect_gone_after(state, "half");
}

static void
M14_B22_a_server_that_exits_in_mid_call_closes_the_connection(void **state)
{
    expect_gone_after(state, "leave");
}

/* ---- a server that does not read ----------------------------------------- */

#define MEGABYTE ((size_t)1024 * 1024)

/* Arguments that no pipe takes at once. */
static char *
big_arguments(void)
{
    char *text = malloc(MEGABYTE + 16);

    assert_non_null(text);
    memcpy(text, "{\"text\":\"", 9);
    memset(text + 9, 'x', MEGABYTE);
    memcpy(text + 9 + MEGABYTE, "\"}", 3);
    return text;
}

static mcp_call *
start_big(struct probe *p, const char *tool, int64_t timeout_ms, struct ending *ending)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = timeout_ms);
    char *arguments = big_arguments();
    mcp_call *call = NULL;

    ending_init(ending);
    assert_int_equal(
        mcp_client_start_tool(p->client, tool, arguments, &opt, on_done, ending, &call),
        0);
    free(arguments);
    return call;
}

/* When this has timed out, what was started before it has begun to leave. */
static void
expect_a_turn(struct probe *p)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = 50);

    assert_int_equal(mcp_client_call_tool(p->client, "plain", "{}", &opt, NULL, NULL),
                     MCP_E_TIMEOUT);
}

static void
B6_B7_B8_what_never_left_is_withdrawn_and_what_began_to_leave_is_canceled(void **state)
{
    struct ending began, waits;
    mcp_call *first, *second;
    struct probe p;
    char words[64];

    open_plain(&p, state);
    probe_expect(&p, "stop", "{}", "done");
    first = start_big(&p, "plain", AWAIT_MS, &began);
    second = start_big(&p, "mute", AWAIT_MS, &waits);
    snprintf(words, sizeof(words), "stop plain cancel:%s", mcp_call_id(first));
    expect_a_turn(&p);
    assert_int_equal(mcp_call_cancel(second, NULL), 0);
    assert_int_equal(mcp_call_cancel(first, NULL), 0);
    assert_int_equal(mcp_call_wait(second, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    assert_int_equal(mcp_call_wait(first, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    rogue_go_on(&p);
    assert_int_equal(mcp_call_flush(first, AWAIT_MS), 0);
    rogue_expect_seen(&p, words);
    probe_close(&p);
    mcp_call_free(first);
    mcp_call_free(second);
    assert_int_equal(atomic_load(&began.count), 1);
    assert_int_equal(atomic_load(&waits.count), 1);
}

static void
I2_B10_F31_a_server_that_never_reads_holds_nobody(void **state)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.era = era_of(state), .exit_ms = 100,
                                                .flush_ms = 100);
    struct ending endings[3];
    mcp_call *calls[3];
    struct probe p;

    rogue_open(&p, "plain", &opt);
    probe_expect(&p, "stop", "{}", "done");
    for (int i = 0; i < 2; i++)
        calls[i] = start_big(&p, "plain", 100, &endings[i]);
    calls[2] = start_big(&p, "plain", MCP_TIMEOUT_NONE, &endings[2]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, NULL, NULL), MCP_E_TIMEOUT);
    /* the first began to leave, and its cancel cannot: that is bounded; the second is
     * gone without a trace */
    assert_int_equal(mcp_call_flush(calls[0], 50), MCP_E_TIMEOUT);
    assert_int_equal(mcp_call_flush(calls[1], 50), 0);
    probe_close(&p); /* with one more in its queue */
    assert_int_equal(mcp_call_wait(calls[2], AWAIT_MS, NULL, NULL), MCP_E_CLOSED);
    for (int i = 0; i < 3; i++)
        mcp_call_free(calls[i]);
}

static void
B32_freeing_calls_to_a_server_that_never_reads_returns(void **state)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.era = era_of(state), .exit_ms = 100,
                                                .flush_ms = 100);
    struct ending endings[20];
    struct probe p;

    rogue_open(&p, "plain", &opt);
    probe_expect(&p, "stop", "{}", "done");
    for (int i = 0; i < 20; i++)
        mcp_call_free(start_big(&p, "plain", AWAIT_MS, &endings[i]));
    for (int i = 0; i < 20; i++)
        assert_int_equal(atomic_load(&endings[i].count), 0);
    rogue_go_on(&p);
    probe_expect(&p, "plain", "{}", "done");
    probe_close(&p);
}

/* ---- finding the era ----------------------------------------------------- */

static void
expect_legacy(const char *name, int64_t probe_ms)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.probe_ms = probe_ms);
    struct probe p;

    rogue_open(&p, name, &opt);
    assert_string_equal(mcp_client_version(p.client), "2025-11-25");
    rogue_expect_seen(&p, "server/discover initialize notifications/initialized");
    probe_expect(&p, "plain", "{}", "done");
    probe_close(&p);
}

static void
B17_a_legacy_server_is_found_whatever_it_answers_to_discover(void **state)
{
    (void)state;
    expect_legacy("nonsense", 0);
    expect_legacy("old", 0);
    expect_legacy("mute", 100);
    expect_legacy("slow", 100); /* its answer comes when nobody waits any more */
}

static void
M2_a_server_of_another_time_is_refused(void **state)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.era = MCP_ERA_BOTH);
    mcp_client *client = NULL;

    (void)state;
    assert_int_equal(rogue_try("future", &opt, &client), MCP_E_PROTO);
    assert_null(client);
    opt.era = MCP_ERA_MODERN;
    assert_int_equal(rogue_try("old", &opt, &client), MCP_E_PEER);
    assert_null(client);
    expect_no_children();
}

static const struct test_case cases[] = {
    IN_BOTH_ERAS(C4_C11_rubbish_between_answers_is_survived_and_not_answered),
    IN_BOTH_ERAS(C4_C11_rubbish_before_the_first_answer_is_survived),
    IN_BOTH_ERAS(C11_a_line_over_the_limit_is_dropped),
    IN_BOTH_ERAS(C4_a_flood_of_notifications_does_not_hide_the_answer),
    IN_BOTH_ERAS(A16_an_answer_given_twice_counts_once),
    IN_BOTH_ERAS(A12_answers_to_nobody_are_dropped),
    IN_BOTH_ERAS(A13_errors_without_an_id_touch_no_call),
    IN_BOTH_ERAS(A6_an_answer_in_the_other_spelling_is_found),
    IN_BOTH_ERAS(an_answer_that_is_none_ends_its_call),
    IN_BOTH_ERAS(B20_B14_an_answer_after_a_cancel_is_dropped),
    IN_BOTH_ERAS(B3_B20_B30_an_answer_after_a_timeout_is_dropped),
    IN_BOTH_ERAS(I10_I11_progress_of_nobody_reaches_nobody),
    IN_BOTH_ERAS(J4_a_cancel_of_our_own_request_is_ignored),
    IN_BOTH_ERAS(J7_J3_a_server_that_asks_is_answered_only_where_servers_ask),
    IN_BOTH_ERAS(M14_B22_half_an_answer_and_the_end_is_a_closed_connection),
    IN_BOTH_ERAS(M14_B22_a_server_that_exits_in_mid_call_closes_the_connection),
    IN_BOTH_ERAS(
        B6_B7_B8_what_never_left_is_withdrawn_and_what_began_to_leave_is_canceled),
    IN_BOTH_ERAS(I2_B10_F31_a_server_that_never_reads_holds_nobody),
    IN_BOTH_ERAS(B32_freeing_calls_to_a_server_that_never_reads_returns),
    TEST(B17_a_legacy_server_is_found_whatever_it_answers_to_discover),
    TEST(M2_a_server_of_another_time_is_refused),
};

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], ROGUE_ARGUMENT) == 0)
        rogue_main(argv[2]);
    return test_main(__FILE__, cases, sizeof(cases) / sizeof(cases[0]));
}
