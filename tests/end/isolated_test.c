/*
 * isolated_test.c - the tool that no SDK survives: one that does not listen
 *
 * deaf_isolated of probe-server sleeps in a helper process and never looks at its flag.
 * Whatever the reason to stop, its process is gone soon after the grace, and the next
 * call is answered at once.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end/below.h"
#include "end/http_probe.h"
#include "support/client_clock.h"
#include "support/curl_warm.h"

#include <mcp/http.h>

enum { FIFTY = 50, FEW = 3, LONGEST_S = 280 };

#define LONG_SLEEP "{\"seconds\":300}"

struct cell {
    enum mcp_era era;
    bool is_http;
};

static struct cell cells[] = {{MCP_ERA_MODERN, false},
                              {MCP_ERA_LEGACY, false},
                              {MCP_ERA_MODERN, true},
                              {MCP_ERA_LEGACY, true}};

#define IN_ALL(fn)                                   \
    TEST_AS("stdio.modern." #fn, fn, &cells[0]),     \
        TEST_AS("stdio.legacy." #fn, fn, &cells[1]), \
        TEST_AS("http.modern." #fn, fn, &cells[2]),  \
        TEST_AS("http.legacy." #fn, fn, &cells[3])

struct rig {
    struct cell cell;
    struct probe probe; /* the client */
    struct http_probe http;
    pid_t server;
    struct below below; /* those that are deaf, each with its keeper; and who is warm */
    mcp_call *calls[FIFTY];
    int count;
    atomic_int begun; /* handlers that have said so */
};

/* ---- a server and its client -------------------------------------------- */

static void
rig_connect(struct rig *rig)
{
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0",
                                                     .era = rig->cell.era);
    const mcp_http_client_options http = MCP_HTTP_CLIENT_OPTIONS(.grace_ms = 200);
    mcp_error err = {0};
    char url[64];

    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/mcp", rig->http.port);
    if (mcp_client_connect_http(url, &http, &me, &rig->probe.client, &err) < 0)
        fail_msg("%s: %s", url, err.message);
}

static void
rig_open(struct rig *rig, void **state)
{
    struct http_way way = {.silent = true};

    memset(rig, 0, sizeof(*rig));
    rig->cell = *(struct cell *)*state;
    test_limit(LONGEST_S);
    if (rig->cell.is_http) {
        way.era = rig->cell.era;
        http_probe_start(&rig->http, &way);
        rig->server = rig->http.server.pid;
        rig_connect(rig);
    } else {
        probe_open(&rig->probe, rig->cell.era);
        rig->server = (pid_t)mcp_client_pid(rig->probe.client);
    }
}

static void
rig_close(struct rig *rig)
{
    if (rig->cell.is_http) {
        mcp_client_free(rig->probe.client);
        http_probe_stop(&rig->http);
    } else {
        probe_close(&rig->probe);
    }
}

/* ---- calls that do not listen ------------------------------------------- */

static void
on_progress(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    (void)call, (void)progress, (void)total, (void)message;
    atomic_fetch_add(&((struct rig *)user)->begun, 1);
}

static bool
all_are_asleep(void *user)
{
    struct rig *rig = user;

    return atomic_load(&rig->begun) == rig->count &&
           probe_stats(&rig->probe).busy_helpers == rig->count;
}

/* So many, each in its helper. */
static void
rig_start(struct rig *rig, int count, mcp_call_options *opt)
{
    rig->count = count;
    opt->on_progress = on_progress;
    opt->user = rig;
    for (int i = 0; i < count; i++)
        assert_int_equal(mcp_client_start_tool(rig->probe.client, "deaf_isolated",
                                               LONG_SLEEP, opt, NULL, NULL,
                                               &rig->calls[i]),
                         0);
    wait_until(all_are_asleep, rig);
    below_list(&rig->below, rig->server);
    assert_true(rig->below.count >= 2 * (size_t)count);
}

static void
rig_end(struct rig *rig, int status)
{
    for (int i = 0; i < rig->count; i++) {
        assert_int_equal(mcp_call_wait(rig->calls[i], AWAIT_MS, NULL, NULL), status);
        mcp_call_free(rig->calls[i]);
    }
}

static bool
only_the_warm_are_left(void *user)
{
    const struct rig *rig = user;
    size_t warm = rig->below.count - 2 * (size_t)rig->count;

    return below_alive(&rig->below) <= warm;
}

static bool
nobody_is_left(void *user)
{
    return below_alive(&((struct rig *)user)->below) == 0;
}

static bool
all_are_killed(void *user)
{
    struct rig *rig = user;
    struct probe_stats s = probe_stats(&rig->probe);

    return s.busy_helpers == 0 && s.killed_helpers == rig->count;
}

/* The next call is answered, though they are all still there; and then they are not. */
static void
rig_expect_killed(struct rig *rig)
{
    probe_expect(&rig->probe, "deaf_isolated", "{\"seconds\":0}", "heard nothing");
    probe_expect(&rig->probe, "echo", "{\"text\":\"hello\"}", "hello");
    wait_until(only_the_warm_are_left, rig);
    wait_until(all_are_killed, rig);
    assert_int_equal(probe_stats(&rig->probe).live_handlers, 0);
    probe_expect(&rig->probe, "deaf_isolated", "{\"seconds\":0}", "heard nothing");
}

/* ---- the ways to stop --------------------------------------------------- */

static void
B1_F5_fifty_that_do_not_listen_are_gone_after_a_cancel(void **state)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    struct rig rig;

    rig_open(&rig, state);
    rig_start(&rig, FIFTY, &opt);
    for (int i = 0; i < FIFTY; i++)
        assert_int_equal(mcp_call_cancel(rig.calls[i], "enough"), 0);
    rig_end(&rig, MCP_E_CANCELED);
    rig_expect_killed(&rig);
    rig_close(&rig);
}

static void
B1_F5_they_are_gone_after_the_cancel_of_a_scope(void **state)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    struct rig rig;

    rig_open(&rig, state);
    assert_int_equal(mcp_scope_new(NULL, &opt.scope), 0);
    rig_start(&rig, FEW, &opt);
    assert_int_equal(mcp_scope_cancel(opt.scope, "enough"), 0);
    rig_end(&rig, MCP_E_CANCELED);
    rig_expect_killed(&rig);
    mcp_scope_free(opt.scope);
    rig_close(&rig);
}

static void
B3_F5_they_are_gone_after_a_timeout(void **state)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = HOUR_MS);
    struct virtual_clock clock;
    struct rig rig;

    rig_open(&rig, state);
    client_clock_hold(&clock, rig.probe.client);
    rig_start(&rig, FEW, &opt);
    virtual_clock_pass(&clock, HOUR_MS);
    rig_end(&rig, MCP_E_TIMEOUT);
    rig_expect_killed(&rig);
    rig_close(&rig);
}

/* On a pipe the server ends with its client; over HTTP it serves the next one. */
static void
F5_M16_they_are_gone_when_their_client_goes(void **state)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    struct rig rig;

    rig_open(&rig, state);
    rig_start(&rig, FEW, &opt);
    if (rig.cell.is_http) {
        mcp_client_free(rig.probe.client);
        rig_end(&rig, MCP_E_CLOSED);
        rig_connect(&rig);
        rig_expect_killed(&rig);
        rig_close(&rig);
    } else {
        rig_close(&rig);
        rig_end(&rig, MCP_E_CLOSED);
    }
    wait_until(nobody_is_left, &rig);
}

static void
M22_nobody_survives_a_server_that_was_killed(void **state)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    struct rig rig;

    rig_open(&rig, state);
    rig_start(&rig, FEW, &opt);
    assert_int_equal(kill(rig.server, SIGKILL), 0);
    wait_until(nobody_is_left, &rig);
    rig_end(&rig, MCP_E_CLOSED);
    if (rig.cell.is_http) {
        mcp_client_free(rig.probe.client);
        expect_signal(raw_close(&rig.http.server), SIGKILL);
    } else {
        probe_close_dead(&rig.probe, rig.server);
    }
}

TEST_MAIN(IN_ALL(B1_F5_fifty_that_do_not_listen_are_gone_after_a_cancel),
          IN_ALL(B1_F5_they_are_gone_after_the_cancel_of_a_scope),
          IN_ALL(B3_F5_they_are_gone_after_a_timeout),
          IN_ALL(F5_M16_they_are_gone_when_their_client_goes),
          IN_ALL(M22_nobody_survives_a_server_that_was_killed))
