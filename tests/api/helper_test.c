/* helper_test.c - one helper: what crosses, and how it ends */
#include "api/helper_fixture.h"

/* ---- what crosses ------------------------------------------------------- */

static void
a_call_is_made_in_another_process(void **state)
{
    struct raw raw;
    pid_t pid;

    jobs_start(&raw, JOB, RAW_MODERN);
    pid = jobs_call_pid(&raw, "1", JOB);
    assert_true(pid > 1 && pid != getpid());
    assert_int_equal(jobs_call_pid(&raw, "2", JOB), pid); /* it was idle again */
    jobs_done(&raw);
    assert_true(process_is_gone(pid));
}

static void
results_of_all_kinds_cross(void **state)
{
    static const char *const parts[] = {
        "{\"type\":\"text\",\"text\":\"a "
        "text\",\"annotations\":{\"audience\":[\"user\"]",
        "{\"type\":\"image\",\"data\":\"cG5n\",\"mimeType\":\"image/png\"}",
        "{\"type\":\"audio\",\"data\":\"d2F2\",\"mimeType\":\"audio/wav\"}",
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///a\",\"mimeType\":"
        "\"text/plain\",\"text\":\"inside\"}}",
        "{\"type\":\"resource_link\",\"uri\":\"file:///b\",\"name\":\"b\"}",
        "\"structuredContent\":{\"n\":1}",
        "\"own/key\":{\"a\":[1,2]}",
    };
    const char *line;
    struct raw raw;

    jobs_start(&raw, JOB, RAW_MODERN);
    jobs_call(&raw, "1", JOB, "all");
    line = raw_line(&raw);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!strstr(line, parts[i]))
            fail_msg("no %s in %s", parts[i], line);
    }
    assert_null(strstr(line, "isError"));
    assert_null(strstr(line, "libmcp"));
    jobs_done(&raw);
}

static void
arguments_cross_whole(void **state)
{
    static const char arguments[] =
        "{\"do\":\"echo\",\"big\":18446744073709551615,\"text\":\"\\u0000\\n\","
        "\"list\":[1.5,null,{\"a\":true}]}";
    struct raw raw;

    jobs_start(&raw, JOB, RAW_MODERN);
    raw_call(&raw, "1", "job", arguments);
    raw_expect(&raw, "\"structuredContent\":{\"do\":\"echo\",\"big\":"
                     "18446744073709551615,\"text\":\"\\u0000\\n\",\"list\":[1.5,null,"
                     "{\"a\":true}]}");
    jobs_done(&raw);
}

static void
failures_and_errors_cross(void **state)
{
    const char *line;
    struct raw raw;

    jobs_start(&raw, JOB, RAW_MODERN);
    jobs_call(&raw, "1", JOB, "fail");
    line = raw_expect(&raw, "\"text\":\"the job failed\"");
    assert_non_null(strstr(line, "\"isError\":true"));
    jobs_call(&raw, "2", JOB, "refuse");
    line = raw_expect(&raw, "\"code\":-32050");
    assert_non_null(strstr(line, "\"message\":\"not today\""));
    assert_non_null(strstr(line, "\"data\":{\"why\":[1]}"));
    jobs_call(&raw, "3", JOB, "nomem");
    raw_expect(&raw, "\"code\":-32603");
    jobs_done(&raw);
}

static void
arguments_are_checked_before_they_cross(void **state)
{
    struct raw raw;

    jobs_start(&raw, JOB, RAW_MODERN);
    raw_call(&raw, "1", "job", "{\"do\":5}");
    raw_expect(&raw, "Invalid arguments: /do");
    assert_int_equal(raw_counts(&raw).busy_helpers, 0);
    jobs_done(&raw);
}

static void
output_is_what_was_promised(void **state)
{
    struct raw raw;

    jobs_start(&raw, PROMISING, RAW_MODERN);
    jobs_call(&raw, "1", PROMISING, "echo");
    raw_expect(&raw, "\"code\":-32603");
    jobs_call(&raw, "2", PROMISING, "all");
    raw_expect(&raw, "\"structuredContent\":{\"n\":1}");
    jobs_done(&raw);
}

static void
progress_and_messages_cross_in_order(void **state)
{
    const char *line;
    struct raw raw;

    jobs_start(&raw, JOB, RAW_MODERN);
    jobs_call_logged(&raw, "1", JOB, "tell");
    line = raw_expect(&raw, "\"data\":\"log 1\"");
    assert_non_null(strstr(line, "\"level\":\"warning\",\"logger\":\"job\""));
    line = raw_expect(&raw, "notifications/progress");
    assert_non_null(strstr(line, "\"progress\":1.5,\"total\":20"));
    assert_non_null(strstr(line, "\"message\":\"some\""));
    line = raw_expect(&raw, "\"level\":\"info\"");
    assert_non_null(strstr(line, "\"data\":{\"n\":2}"));
    raw_expect(&raw, "\"text\":\"told\"");
    jobs_done(&raw);
}

/* Of progress only the newest may be heard; all of it before the answer. */
static void
much_progress_and_many_messages_cross(void **state)
{
    double progress = 0, next;
    int logs = 0;
    const char *line;
    struct raw raw;

    jobs_start(&raw, JOB, RAW_MODERN);
    jobs_call_logged(&raw, "1", JOB, "tell much");
    for (line = raw_line(&raw); !strstr(line, "\"text\":\"told\"");
         line = raw_line(&raw)) {
        if (strstr(line, "\"progress\":")) {
            next = strtod(strstr(line, "\"progress\":") + 11, NULL);
            assert_true(next > progress);
            progress = next;
        } else {
            assert_int_equal(strtol(strstr(line, "\"log ") + 5, NULL, 10), ++logs);
        }
    }
    assert_int_equal(logs, 100);
    assert_true(progress == 100);
    jobs_done(&raw);
}

static void
what_nobody_wants_to_hear_does_not_cross(void **state)
{
    struct raw raw;

    (void)state;
    jobs_start(&raw, JOB, true);
    raw_call(&raw, "1", "job", "{\"do\":\"tell\"}");
    raw_expect(&raw, "\"text\":\"told\"");
    jobs_done(&raw);
}

static void
who_asks_crosses_and_cannot_be_forged(void **state)
{
    struct raw raw;

    (void)state;
    setenv("HELPER_SECRET", "1", 1);
    jobs_start(&raw, JOB, true);
    raw_send(&raw,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
             "\"name\":\"job\",\"arguments\":{\"do\":\"look\"},\"_meta\":{" RAW_STAMP
             ",\"traceparent\":\"00-1-2-01\",\"own/number\":5,\"libmcp/left\":true,"
             "\"libmcp/principal\":\"root\"}}}");
    raw_expect(&raw,
               "trace 00-1-2-01 own 5 forged 0 principal \\\"\\\" env yes no secret "
               "Europe/Nowhere");
    jobs_done(&raw);
    unsetenv("HELPER_SECRET");
}

/* ---- told to stop ------------------------------------------------------- */

static void
F3_one_that_listens_stops_and_serves_the_next_call(void **state)
{
    struct raw raw;
    pid_t pid;

    jobs_start(&raw, ONE, RAW_MODERN);
    jobs_call(&raw, "1", ONE, "wait");
    pid = jobs_await_running(&raw);
    raw_cancel(&raw, "1", "enough");
    RAW_UNTIL(raw_counts(&raw).stopped == 1 && raw_counts(&raw).busy_helpers == 0);
    assert_int_equal(jobs_call_pid(&raw, "2", ONE), pid);
    assert_int_equal(raw_counts(&raw).killed_helpers, 0);
    jobs_done(&raw);
}

static void
F5_a_deaf_one_is_killed_after_its_grace_and_replaced(void **state)
{
    struct raw raw;
    pid_t pid;

    jobs_start(&raw, QUICK, RAW_MODERN);
    jobs_call(&raw, "1", QUICK, "deaf");
    pid = jobs_await_running(&raw);
    raw_cancel(&raw, "1", "enough");
    assert_true(jobs_call_pid(&raw, "2", QUICK) !=
                pid); /* at once, and no answer to 1 */
    RAW_UNTIL(process_is_gone(pid));
    RAW_UNTIL(raw_counts(&raw).busy_helpers == 0);
    assert_int_equal(raw_counts(&raw).killed_helpers, 1);
    assert_int_equal(raw_counts(&raw).overdue_handlers, 0);
    jobs_done(&raw);
}

static void
without_a_grace_it_is_killed_at_once(void **state)
{
    struct raw raw;
    pid_t pid;

    jobs_start(&raw, NOW, RAW_MODERN);
    jobs_call(&raw, "1", NOW, "wait"); /* it would listen */
    pid = jobs_await_running(&raw);
    raw_cancel(&raw, "1", "enough");
    RAW_UNTIL(process_is_gone(pid));
    assert_int_equal(raw_counts(&raw).killed_helpers, 1);
    jobs_done(&raw);
}

/* Whichever comes first, one call is over and the next is answered. */
static void
an_answer_and_a_cancel_may_come_at_once(void **state)
{
    char id[16];
    const char *line;
    struct raw raw;

    jobs_start(&raw, JOB, RAW_MODERN);
    for (int i = 1; i <= 100; i++) {
        snprintf(id, sizeof(id), "%d", i);
        raw_call(&raw, id, "job", NULL);
        if (i % 3 == 0)
            raw_pause();
        raw_cancel(&raw, id, "never mind");
    }
    raw_call(&raw, "\"last\"", "job", NULL);
    do
        line = raw_line(&raw);
    while (!strstr(line, "\"last\""));
    assert_non_null(strstr(line, "pid "));
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    jobs_done(&raw);
}

/* ---- its death ---------------------------------------------------------- */

static void
expect_failure(struct raw *raw, int tool, const char *what, const char *part)
{
    pid_t pid = jobs_call_pid(raw, "0", tool);
    char arguments[64];
    const char *line;

    snprintf(arguments, sizeof(arguments), "{\"do\":\"%s\"}", what);
    raw_call(raw, "1", jobs[tool].name, arguments);
    line = raw_expect(raw, part);
    assert_non_null(strstr(line, "\"isError\":true"));
    assert_true(process_is_gone(pid));
    assert_true(jobs_call_pid(raw, "2", tool) != pid);
}

static void
a_crash_is_a_failure_of_its_call_only(void **state)
{
    struct raw raw;

    jobs_start(&raw, JOB, RAW_MODERN);
    for (int i = 0; i < 3; i++) {
        expect_failure(&raw, JOB, "segv",
                       "the tool was ended by signal 11 (SIGSEGV)\"");
        expect_failure(&raw, JOB, "abort",
                       "the tool was ended by signal 6 (SIGABRT)\"");
        expect_failure(&raw, JOB, "exit", "the tool ended its process with status 3\"");
    }
    assert_int_equal(raw_counts(&raw).killed_helpers, 0);
    jobs_done(&raw);
}

static void
a_limit_that_it_may_have_met_is_named(void **state)
{
    struct raw raw;

    (void)state;
    jobs_start(&raw, BOUND, true);
    expect_failure(&raw, BOUND, "abort",
                   "signal 6 (SIGABRT); its memory limit is 1125899906842624 bytes");
    expect_failure(&raw, BOUND, "xcpu",
                   "signal 24 (SIGXCPU); its limit is 70 s of processor time");
    jobs_done(&raw);
}

static void
one_that_hangs_up_is_ended(void **state)
{
    struct raw raw;

    (void)state;
    jobs_start(&raw, JOB, true);
    expect_failure(&raw, JOB, "hang up",
                   "the tool has closed its connection to the server");
    assert_int_equal(raw_counts(&raw).killed_helpers, 1);
    jobs_done(&raw);
}

static void
an_answer_that_is_too_long_is_a_failure(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.message_bytes = 100000));
    raw_tool(&raw, jobs[JOB]);
    raw_start(&raw, RAW_MODERN);
    jobs_call(&raw, "1", JOB, "big");
    raw_expect(&raw, "the answer of the tool cannot be read");
    (void)jobs_call_pid(&raw, "2", JOB);
    jobs_done(&raw);
}

static void
a_long_answer_crosses(void **state)
{
    struct raw raw;

    jobs_start(&raw, JOB, RAW_MODERN);
    jobs_call(&raw, "1", JOB, "big");
    assert_true(strlen(raw_expect(&raw, "00000000")) > 200000);
    jobs_done(&raw);
}

static void
what_it_leaves_behind_is_ended_after_its_answer(void **state)
{
    struct raw raw;
    pid_t daemon;

    (void)state;
    jobs_start(&raw, JOB, true);
    jobs_call(&raw, "1", JOB, "leave");
    daemon = jobs_read_pid(raw_line(&raw), "\"text\":\"left ");
    assert_true(daemon > 1);
    RAW_UNTIL(process_is_gone(daemon));
    jobs_call(&raw, "2", JOB, "leave and fail");
    daemon = jobs_read_pid(raw_expect(&raw, "\"code\":-32050"), "left ");
    RAW_UNTIL(process_is_gone(daemon));
    RAW_UNTIL(raw_counts(&raw).killed_helpers == 2);
    (void)jobs_call_pid(&raw, "3", JOB);
    jobs_done(&raw);
}

static void
one_that_dies_while_it_is_idle_is_replaced(void **state)
{
    pid_t pid, keeper = 0, now = 0;
    struct raw raw;

    (void)state;
    jobs_start(&raw, ONE, true);
    pid = jobs_call_pid(&raw, "1", ONE);
    assert_int_equal(jobs_children_of(getpid(), &keeper, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    RAW_UNTIL(jobs_children_of(getpid(), &now, 1) == 1 && now != keeper);
    assert_true(jobs_call_pid(&raw, "2", ONE) != pid);
    jobs_done(&raw);
}

TEST_MAIN_AFTER(jobs_enter, TEST_ERAS(a_call_is_made_in_another_process),
                TEST_ERAS(results_of_all_kinds_cross), TEST_ERAS(arguments_cross_whole),
                TEST_ERAS(failures_and_errors_cross),
                TEST_ERAS(arguments_are_checked_before_they_cross),
                TEST_ERAS(output_is_what_was_promised),
                TEST_ERAS(progress_and_messages_cross_in_order),
                TEST_ERAS(much_progress_and_many_messages_cross),
                TEST(what_nobody_wants_to_hear_does_not_cross),
                TEST(who_asks_crosses_and_cannot_be_forged),
                TEST_ERAS(F3_one_that_listens_stops_and_serves_the_next_call),
                TEST_ERAS(F5_a_deaf_one_is_killed_after_its_grace_and_replaced),
                TEST_ERAS(without_a_grace_it_is_killed_at_once),
                TEST_ERAS(an_answer_and_a_cancel_may_come_at_once),
                TEST_ERAS(a_crash_is_a_failure_of_its_call_only),
                TEST(a_limit_that_it_may_have_met_is_named),
                TEST(one_that_hangs_up_is_ended),
                TEST_ERAS(an_answer_that_is_too_long_is_a_failure),
                TEST_ERAS(a_long_answer_crosses),
                TEST(what_it_leaves_behind_is_ended_after_its_answer),
                TEST(one_that_dies_while_it_is_idle_is_replaced))
