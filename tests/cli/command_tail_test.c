/* command_tail_test.c - mcpctl tail: what a server tells, one JSON line each */
#include <signal.h>
#include <string.h>

#include "cli/program.h"

static const char *const eras[] = {"modern", "legacy"};

/* Somebody else updates a resource of the same server, which is on a port. */
static void
an_update_is_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *url = probe_http();
        const char *const words[] = {"--trace",   "tail",    url, "--era",
                                     eras[i],     "--count", "1", "--resource",
                                     "watch://1", NULL};
        struct running running = start_mcpctl(words, NULL);
        struct ran ran;

        (void)running_until(running.err, i == 0 ? "notifications/subscriptions/ack"
                                                : "\"method\":\"resources/subscribe\"");
        if (i == 1)
            (void)running_until(running.err, "\"result\":{}");
        CHECK_RAN(0, NULL, NULL, "call", url, "touch", "uri=watch://1");
        ran = running_end(&running);
        assert_int_equal(ran.code, 0);
        assert_non_null(strstr(ran.out,
                               "\"method\":\"notifications/resources/updated\","
                               "\"params\":{\"uri\":\"watch://1\"}}\n"));
        assert_int_equal(strncmp(ran.out, "{\"at\":\"20", 9), 0);
        ran_done(&ran);
        probe_stop();
    }
}

/* Two updates, and not the first one twice. */
static void
each_update_is_told_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *url = probe_http();
        const char *const words[] = {
            "--trace", "tail",       url,         "--era",      eras[i],     "--count",
            "2",       "--resource", "watch://1", "--resource", "watch://2", NULL};
        struct running running = start_mcpctl(words, NULL);
        struct ran ran;

        if (i == 0)
            (void)running_until(running.err, "notifications/subscriptions/ack");
        for (int n = 0; i == 1 && n < 3; n++) /* the level, and both subscriptions */
            (void)running_until(running.err, "\"result\":{}");
        CHECK_RAN(0, NULL, NULL, "call", url, "touch", "uri=watch://1");
        CHECK_RAN(0, NULL, NULL, "call", url, "touch", "uri=watch://2");
        ran = running_end(&running);
        assert_int_equal(ran.code, 0);
        assert_non_null(strstr(ran.out, "\"watch://1\"}}\n{\"at\":\"20"));
        assert_non_null(strstr(ran.out, "\"watch://2\"}}\n"));
        ran_done(&ran);
        probe_stop();
    }
}

static void
Ctrl_C_ends_it_in_the_server_too(void **state)
{
    const char *url = probe_http();
    const char *const words[] = {"--trace", "tail", url, NULL};
    struct running running = start_mcpctl(words, NULL);
    struct ran ran;

    (void)state;
    (void)running_until(running.err, "notifications/subscriptions/ack");
    assert_int_equal(kill(running.pid, SIGINT), 0);
    ran = running_end(&running);
    check_ran(&ran, 130, "", "and the server answers");
    AWAIT_STATS(url, "\"streams\":0");
    probe_stop();
}

/* No request of the legacy era could be canceled. */
static void
Ctrl_C_says_what_was_done_in_the_legacy_era(void **state)
{
    const char *url = probe_http();
    const char *const words[] = {"--trace", "tail",       url,         "--era",
                                 "legacy",  "--resource", "watch://1", NULL};
    struct running running = start_mcpctl(words, NULL);
    struct ran ran;

    (void)state;
    for (int n = 0; n < 2; n++) /* the level, and the subscription */
        (void)running_until(running.err, "\"result\":{}");
    assert_int_equal(kill(running.pid, SIGINT), 0);
    ran = running_end(&running);
    check_ran(&ran, 130, "", "canceled the subscription: resources/unsubscribe sent");
    probe_stop();
}

static void
it_ends_when_its_time_is_over(void **state)
{
    (void)state;
    CHECK_RAN(0, "", NULL, "tail", PROBE, "--duration", "50ms");
    CHECK_RAN(0, "", NULL, "tail", PROBE, "--duration", "50ms", "--era", "legacy");
}

static void
a_server_that_goes_away_is_4(void **state)
{
    const char *const words[] = {"--trace", "tail", probe_http(), NULL};
    struct running running = start_mcpctl(words, NULL);
    struct ran ran;

    (void)state;
    (void)running_until(running.err, "notifications/subscriptions/ack");
    probe_kill();
    ran = running_end(&running);
    check_ran(&ran, 4, "", "the subscription was lost");
}

TEST_MAIN(TEST(each_update_is_told_once), TEST(an_update_is_one_line),
          TEST(Ctrl_C_ends_it_in_the_server_too),
          TEST(Ctrl_C_says_what_was_done_in_the_legacy_era),
          TEST(it_ends_when_its_time_is_over), TEST(a_server_that_goes_away_is_4))
