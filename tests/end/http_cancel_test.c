/* http_cancel_test.c - probe-server over HTTP, and clients that cancel and leave */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end/http_probe.h"
#include "support/messages.h"

#include <mcp/http.h>

/* Fifty in all, ten at a time: that many resources there are. */
#define ROUNDS 5
#define AT_ONCE 10
#define MANY 50
#define WORKERS 32 /* of probe-server */

#define CANCELED "-32800"

static struct http_raw clients[MANY];

/* ---- ways to leave ------------------------------------------------------- */

static void
leave_half(struct http_raw *h)
{
    http_shut(h);
    http_expect_end(h); /* it closes too */
    http_close(h);
}

static void
leave_notify(struct http_raw *h)
{
    if (h->tls)
        http_notify(h);
    else
        http_shut(h);
    http_expect_end(h);
    http_close(h);
}

static void (*const leavings[])(struct http_raw *h) = {http_close, http_reset,
                                                       leave_half, leave_notify};
#define LEAVINGS (sizeof(leavings) / sizeof(leavings[0]))

static void
expect_full_pool(struct http_probe *p, int64_t canceled)
{
    struct probe_stats s = http_probe_calm(p, 0);

    assert_int_equal(s.pool_free, AT_ONCE);
    assert_int_equal(s.workers, 0);
    assert_int_equal(s.canceled, canceled);
    assert_int_equal(s.completed, 0);
}

/* ---- a client that leaves cancels ---------------------------------------- */

static void
hang_and_leave(struct http_probe *p, void (*leave)(struct http_raw *h))
{
    for (int i = 0; i < AT_ONCE; i++)
        http_probe_call(p, &clients[i], NULL, "hang", "{\"seconds\":600}");
    assert_int_equal(http_probe_calm(p, AT_ONCE).pool_free, 0);
    for (int i = 0; i < AT_ONCE; i++)
        leave(&clients[i]);
}

static void
leaving_cancels(void **state)
{
    struct http_probe p;

    http_probe_start(&p, *state);
    for (size_t i = 0; i < ROUNDS; i++) {
        hang_and_leave(&p, leavings[i % LEAVINGS]);
        expect_full_pool(&p, (int64_t)(i + 1) * AT_ONCE);
    }
    http_probe_alive(&p);
    http_probe_stop(&p);
}

static void
E18_E25_clients_that_leave_cancel_their_calls(void **state)
{
    leaving_cancels(state);
}

static void
E19_E25_clients_that_leave_cancel_their_calls_in_json_mode(void **state)
{
    leaving_cancels(state);
}

static void
D16_E25_stateless_clients_that_leave_cancel_their_calls(void **state)
{
    leaving_cancels(state);
}

static void
E18_E21_closing_an_open_stream_cancels_its_call(void **state)
{
    struct http_probe p;

    http_probe_start(&p, *state);
    for (size_t i = 0; i < LEAVINGS; i++) {
        for (int k = 0; k < AT_ONCE; k++)
            http_probe_stream(&p, &clients[k], NULL);
        for (int k = 0; k < AT_ONCE; k++)
            leavings[i](&clients[k]);
        expect_full_pool(&p, (int64_t)(i + 1) * AT_ONCE);
    }
    http_probe_stop(&p);
}

static void
E18_E28_only_the_call_of_who_left_is_canceled(void **state)
{
    struct http_probe p;
    struct http_raw leaves, stays;

    http_probe_start(&p, *state);
    http_probe_call(&p, &leaves, "7", "hang_async", "{\"seconds\":600}");
    http_probe_call(&p, &stays, "7", "deaf", "{\"seconds\":600}");
    (void)http_probe_calm(&p, 2);
    http_close(&leaves);
    assert_int_equal(http_probe_calm(&p, 1).canceled, 1);
    assert_int_equal(kill(p.server.pid, SIGUSR1), 0);
    assert_non_null(strstr(http_probe_message(&stays), "heard nothing"));
    assert_int_equal(http_probe_calm(&p, 0).canceled, 1);
    http_close(&stays);
    http_probe_stop(&p);
}

/* ---- our own client, in no session --------------------------------------- */

#define DAY_MS 86400000

static mcp_client *
client_connect(const struct http_probe *p)
{
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "leaver", .version = "1.0",
                                                     .era = p->way.era);
    const mcp_http_client_options http = MCP_HTTP_CLIENT_OPTIONS(
            .grace_ms = DAY_MS, .tls_ca_file = p->way.tls ? p->pair.certificate : NULL);
    mcp_client *client = NULL;
    mcp_error err = {0};
    char url[128];

    (void)snprintf(url, sizeof(url), "%s://127.0.0.1:%d/mcp",
                   p->way.tls ? "https" : "http", p->port);
    if (mcp_client_connect_http(url, &http, &me, &client, &err) != 0)
        fail_msg("%s", err.message);
    return client;
}

/* No grace is waited for: the server only hears of it by the end of the response. */
static void
B1_B32_D16_our_client_ends_its_calls_there_at_once(void **state)
{
    mcp_call *calls[AT_ONCE];
    struct http_probe p;
    mcp_client *client;

    http_probe_start(&p, *state);
    client = client_connect(&p);
    for (int i = 0; i < AT_ONCE; i++)
        assert_int_equal(mcp_client_start_tool(client, "hang", "{\"seconds\":600}",
                                               NULL, NULL, NULL, &calls[i]),
                         0);
    http_probe_begun(&p, AT_ONCE);
    for (int i = 0; i < AT_ONCE; i++) {
        if (i % 2)
            assert_int_equal(mcp_call_cancel(calls[i], NULL), 0);
        mcp_call_free(calls[i]);
    }
    expect_full_pool(&p, AT_ONCE);
    mcp_client_free(client);
    http_probe_stop(&p);
}

static bool
all_are_there(void *user)
{
    return http_probe_stats(user).connections > WORKERS + AT_ONCE; /* and its own */
}

static bool
those_in_line_have_left(void *user)
{
    return http_probe_stats(user).connections == WORKERS + 1; /* and its own */
}

/* All workers are busy, until those that wait for them have left. */
static void
F37_a_call_that_waits_for_a_worker_leaves_with_its_client(void **state)
{
    struct http_probe p;

    http_probe_start(&p, *state);
    for (int i = 0; i < WORKERS; i++)
        http_probe_call(&p, &clients[i], NULL, "deaf", "{\"seconds\":600}");
    http_probe_begun(&p, WORKERS);
    for (int i = WORKERS; i < WORKERS + AT_ONCE; i++)
        http_probe_call(&p, &clients[i], NULL, "hang", "{\"seconds\":600}");
    wait_until(all_are_there, &p);
    for (int i = WORKERS; i < WORKERS + AT_ONCE; i++)
        http_close(&clients[i]);
    wait_until(those_in_line_have_left, &p);
    assert_int_equal(kill(p.server.pid, SIGUSR1), 0);
    for (int i = 0; i < WORKERS; i++) {
        assert_non_null(strstr(http_probe_message(&clients[i]), "heard nothing"));
        http_close(&clients[i]);
    }
    assert_int_equal(http_probe_calm(&p, 0).started, WORKERS);
    http_probe_stop(&p);
}

static void
E24_a_posted_cancel_is_dropped(void **state)
{
    struct http_probe p;
    struct http_raw h, other;

    http_probe_start(&p, *state);
    http_probe_call(&p, &h, "7", "hang_async", "{\"seconds\":600}");
    (void)http_probe_calm(&p, 1);
    http_probe_open(&p, &other);
    http_post(&other,
              &HTTP_POST(.era = MCP_ERA_MODERN, .method = "notifications/cancelled",
                         .body = NOTE("notifications/cancelled",
                                      "{\"requestId\":7," STAMP "}")));
    assert_int_equal(http_answer(&other), 202);
    http_close(&other);
    assert_int_equal(http_probe_calm(&p, 1).canceled, 0);
    http_close(&h);
    (void)http_probe_calm(&p, 0);
    http_probe_stop(&p);
}

/* ---- a posted cancel ----------------------------------------------------- */

static void
call_and_cancel(struct http_probe *p, const char *tool, int count)
{
    char text[256];

    for (int i = 0; i < count; i++) {
        (void)snprintf(text, sizeof(text), "%d", i);
        http_probe_call(p, &clients[i], text, tool, "{\"seconds\":600}");
    }
    (void)http_probe_calm(p, count);
    for (int i = 0; i < count; i++) {
        (void)snprintf(text, sizeof(text),
                       NOTE("notifications/cancelled", "{\"requestId\":%d}"), i);
        assert_int_equal(http_probe_post(p, text), 202);
    }
    for (int i = 0; i < count; i++) {
        const char *message = http_probe_message(&clients[i]);

        (void)snprintf(text, sizeof(text), "\"id\":%d,", i);
        assert_non_null(strstr(message, text));
        assert_non_null(strstr(message, CANCELED));
        http_close(&clients[i]);
    }
}

static void
D13_D14_D15_posted_cancels_end_their_posts(void **state)
{
    struct http_probe p;

    http_probe_start(&p, *state);
    for (int i = 0; i < ROUNDS; i++) {
        call_and_cancel(&p, "hang", AT_ONCE);
        expect_full_pool(&p, (int64_t)(i + 1) * AT_ONCE);
    }
    call_and_cancel(&p, "hang_async", MANY);
    expect_full_pool(&p, 2 * MANY);
    http_probe_stop(&p);
}

static void
D14_a_canceled_stream_ends_with_its_error(void **state)
{
    struct http_probe p;
    const char *event;
    char last[1024] = "";

    http_probe_start(&p, *state);
    http_probe_stream(&p, &clients[0], "7");
    assert_int_equal(http_probe_post(&p, CANCEL("7")), 202);
    for (event = http_event(&clients[0], NULL); event;
         event = http_event(&clients[0], NULL))
        (void)snprintf(last, sizeof(last), "%s", event);
    assert_true(clients[0].is_over);
    assert_non_null(strstr(last, CANCELED));
    http_probe_alive_on(&p, &clients[0]); /* the connection is good */
    http_close(&clients[0]);
    http_probe_stop(&p);
}

static void
D13_F13_a_cancel_finds_nothing_outside_its_session(void **state)
{
    struct http_probe p;
    struct http_raw h, other;
    char *stranger;

    http_probe_start(&p, *state);
    http_probe_call(&p, &h, "7", "hang_async", "{\"seconds\":600}");
    (void)http_probe_calm(&p, 1);
    http_probe_open(&p, &other);
    stranger = http_hello(&other);
    assert_string_not_equal(stranger, p.session);
    http_post(&other, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = stranger,
                                 .body = CANCEL("7")));
    assert_int_equal(http_answer(&other), 202);
    http_post(&other, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = "nobody",
                                 .body = CANCEL("7")));
    assert_int_equal(http_answer(&other), 404);
    assert_int_equal(http_probe_calm(&p, 1).canceled, 0);
    assert_int_equal(http_probe_post(&p, CANCEL("7")), 202);
    (void)http_probe_calm(&p, 0);
    free(stranger);
    http_close(&other);
    http_close(&h);
    http_probe_stop(&p);
}

/* ---- a session outlives its connections ---------------------------------- */

static int
session_delete(struct http_probe *p)
{
    struct http_raw h;
    int status;

    http_probe_open(p, &h);
    http_ask(&h, "DELETE", p->session);
    status = http_answer(&h);
    http_close(&h);
    return status;
}

static void
D12_D17_disconnects_cancel_nothing_and_delete_does(void **state)
{
    struct http_probe p;
    struct probe_stats before, s;
    char id[16];

    http_probe_start(&p, *state);
    before = http_probe_stats(&p);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof(id), "%d", i);
        http_probe_call(&p, &clients[i], id, "hang_async", "{\"seconds\":600}");
    }
    (void)http_probe_calm(&p, MANY);
    for (int i = 0; i < MANY; i++)
        leavings[(size_t)i % LEAVINGS](&clients[i]);
    s = http_probe_stats(&p);
    assert_int_equal(s.live_handlers, MANY);
    assert_int_equal(s.canceled, 0);
    http_probe_alive(&p); /* the session is there */
    assert_int_equal(session_delete(&p), 200);
    s = http_probe_rest(&p, before.open_fds);
    assert_int_equal(s.canceled, MANY);
    assert_int_equal(http_probe_post(&p, CANCEL("1")), 404);
    assert_int_equal(session_delete(&p), 404);
    http_probe_stop(&p);
}

static void
D14_D17_delete_ends_the_posts_of_its_session(void **state)
{
    struct http_probe p;

    http_probe_start(&p, *state);
    for (int i = 0; i < AT_ONCE; i++) {
        char id[16];

        (void)snprintf(id, sizeof(id), "%d", i);
        http_probe_call(&p, &clients[i], id, "hang", "{\"seconds\":600}");
    }
    (void)http_probe_calm(&p, AT_ONCE);
    assert_int_equal(session_delete(&p), 200);
    for (int i = 0; i < AT_ONCE; i++) {
        assert_non_null(strstr(http_probe_message(&clients[i]), "\"error\""));
        http_close(&clients[i]);
    }
    expect_full_pool(&p, AT_ONCE);
    http_probe_stop(&p);
}

static void
F21_an_id_in_flight_is_refused_within_its_session(void **state)
{
    struct http_probe p;
    struct http_raw first, second;

    http_probe_start(&p, *state);
    http_probe_call(&p, &first, "7", "hang_async", "{\"seconds\":600}");
    (void)http_probe_calm(&p, 1);
    http_probe_call(&p, &second, "\"7\"", "echo", "{\"text\":\"x\"}");
    assert_non_null(strstr(http_probe_message(&second), "-32600"));
    assert_int_equal(second.status, 400);
    http_close(&second);
    assert_int_equal(http_probe_post(&p, CANCEL("7")), 202);
    assert_non_null(strstr(http_probe_message(&first), CANCELED));
    http_close(&first);
    http_probe_stop(&p);
}

/* ---- several threads ----------------------------------------------------- */

static void
G10_a_cancel_finds_its_call_on_another_thread(void **state)
{
    struct http_way way = *(struct http_way *)*state;
    struct http_probe p;

    way.threads = 4;
    http_probe_start(&p, &way);
    for (size_t i = 0; i < ROUNDS; i++) {
        if (way.era == MCP_ERA_LEGACY && !way.stateless)
            call_and_cancel(&p, "hang", AT_ONCE);
        else
            hang_and_leave(&p, leavings[i % LEAVINGS]);
        expect_full_pool(&p, (int64_t)(i + 1) * AT_ONCE);
    }
    if (p.session)
        assert_int_equal(session_delete(&p), 200);
    http_probe_stop(&p);
}

TEST_MAIN(
    ON_MODERN(E18_E25_clients_that_leave_cancel_their_calls),
    ON_MODERN_TLS(E18_E25_clients_that_leave_cancel_their_calls),
    ON_MODERN_JSON(E19_E25_clients_that_leave_cancel_their_calls_in_json_mode),
    ON_MODERN_JSON_TLS(E19_E25_clients_that_leave_cancel_their_calls_in_json_mode),
    ON_ALL_STATELESS(D16_E25_stateless_clients_that_leave_cancel_their_calls),
    ON_ALL_STATELESS(B1_B32_D16_our_client_ends_its_calls_there_at_once),
    ON_MODERN(E18_E21_closing_an_open_stream_cancels_its_call),
    ON_MODERN_TLS(E18_E21_closing_an_open_stream_cancels_its_call),
    ON_STATELESS(E18_E21_closing_an_open_stream_cancels_its_call),
    ON_ALL_MODERN(E18_E28_only_the_call_of_who_left_is_canceled),
    ON_ALL_STATELESS(E18_E28_only_the_call_of_who_left_is_canceled),
    ON_MODERN(F37_a_call_that_waits_for_a_worker_leaves_with_its_client),
    ON_MODERN_JSON(F37_a_call_that_waits_for_a_worker_leaves_with_its_client),
    ON_STATELESS(F37_a_call_that_waits_for_a_worker_leaves_with_its_client),
    ON_ALL_MODERN(E24_a_posted_cancel_is_dropped),
    ON_ALL_SESSIONS(D13_D14_D15_posted_cancels_end_their_posts),
    ON_LEGACY(D14_a_canceled_stream_ends_with_its_error),
    ON_LEGACY_TLS(D14_a_canceled_stream_ends_with_its_error),
    ON_ALL_SESSIONS(D13_F13_a_cancel_finds_nothing_outside_its_session),
    ON_ALL_SESSIONS(D12_D17_disconnects_cancel_nothing_and_delete_does),
    ON_ALL_SESSIONS(D14_D17_delete_ends_the_posts_of_its_session),
    ON_ALL_SESSIONS(F21_an_id_in_flight_is_refused_within_its_session),
    ON_ALL(G10_a_cancel_finds_its_call_on_another_thread))
