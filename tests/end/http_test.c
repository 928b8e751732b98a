/* http_test.c - probe-server over HTTP: both eras on one endpoint, streams, the end */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end/http_probe.h"
#include "support/messages.h"

#define LISTEN(id, filter) \
    REQUEST(id, "subscriptions/listen", "{\"notifications\":" filter "," STAMP "}")
#define WATCHED "{\"resourceSubscriptions\":[\"watch://0\"]}"
#define LISTENERS 20

/* ---- both eras ------------------------------------------------------------- */

static void
G10_calls_are_answered_on_a_connection_that_lives(void **state)
{
    struct http_probe p;
    struct http_raw h;

    http_probe_start(&p, *state);
    http_probe_open(&p, &h);
    for (int i = 0; i < 20; i++)
        http_probe_alive_on(&p, &h);
    http_probe_say(&p, &h, "\"seven\"", "add", "{\"a\":12,\"b\":30}");
    assert_non_null(strstr(http_probe_message(&h), "\"sum\":42"));
    http_close(&h);
    http_probe_stop(&p);
}

static void
G10_one_endpoint_serves_clients_of_both_eras(void **state)
{
    struct http_probe p;
    struct http_raw h;

    http_probe_start(&p, *state);
    http_probe_open(&p, &h);
    for (int i = 0; i < 5; i++) {
        http_probe_alive_on(&p, &h);
        p.way.era = p.way.era == MCP_ERA_LEGACY ? MCP_ERA_MODERN : MCP_ERA_LEGACY;
        if (!p.session && p.way.era == MCP_ERA_LEGACY)
            p.session = http_hello(&h);
    }
    http_close(&h);
    http_probe_stop(&p);
}

static void
G10_several_threads_serve_one_port(void **state)
{
    struct http_way way = *(struct http_way *)*state;
    struct http_probe p;
    struct http_raw clients[40];

    way.threads = 4;
    http_probe_start(&p, &way);
    for (int i = 0; i < 40; i++)
        http_probe_open(&p, &clients[i]); /* a session is found from everywhere */
    for (int i = 0; i < 40; i++)
        http_probe_alive_on(&p, &clients[i]);
    for (int i = 0; i < 40; i++)
        http_probe_say(&p, &clients[i], i % 2 ? "1" : "2", "hang_async",
                       "{\"seconds\":0}");
    for (int i = 0; i < 40; i++) {
        (void)http_probe_message(&clients[i]);
        http_close(&clients[i]);
    }
    http_probe_stop(&p);
}

/* ---- streams --------------------------------------------------------------- */

static void
G10_progress_comes_before_the_answer(void **state)
{
    struct http_probe p;
    struct http_raw h;
    const char *event;
    char last[1024] = "";
    int reports = 0;

    http_probe_start(&p, *state);
    http_probe_open(&p, &h);
    http_call(&h,
              &HTTP_CALL(.era = p.way.era, .session = p.session, .tool = "count",
                         .progress = true, .arguments = "{\"to\":5,\"delay_ms\":20}"));
    assert_int_equal(http_head(&h), 200);
    assert_string_equal(http_field(&h, "Content-Type"), "text/event-stream");
    assert_string_equal(http_field(&h, "X-Accel-Buffering"), "no");
    for (event = http_event(&h, NULL); event; event = http_event(&h, NULL)) {
        reports += strstr(event, "notifications/progress") != NULL;
        (void)snprintf(last, sizeof(last), "%s", event);
    }
    assert_true(h.is_over);
    assert_in_range(reports, 1, 5);
    assert_non_null(strstr(last, "counted to 5"));
    http_probe_alive_on(&p, &h);
    http_close(&h);
    http_probe_stop(&p);
}

static void
listen_open(struct http_probe *p, struct http_raw *h)
{
    const char *event;

    http_probe_open(p, h);
    http_post(h, &HTTP_POST(.era = MCP_ERA_MODERN, .method = "subscriptions/listen",
                            .body = LISTEN("\"ear\"", WATCHED)));
    assert_int_equal(http_head(h), 200);
    assert_string_equal(http_field(h, "Content-Type"), "text/event-stream");
    event = http_event(h, NULL);
    assert_non_null(event);
    assert_non_null(strstr(event, "notifications/subscriptions/acknowledged"));
}

/* A comment has come, which is no event. */
static void
await_ping(struct http_raw *h)
{
    while (!memmem(h->data + h->start, h->len - h->start, ":", 1))
        assert_true(http_wait(h, AWAIT_MS));
}

static void
E22_E23_what_is_silent_for_long_becomes_a_stream_that_is_pinged(void **state)
{
    struct http_way way = *(struct http_way *)*state;
    struct http_probe p;
    struct http_raw silent, listens;

    way.more = "--ping";
    way.value = "50"; /* instead of 15 s */
    http_probe_start(&p, &way);
    http_probe_call(&p, &silent, "1", "deaf", "{\"seconds\":600}");
    listen_open(&p, &listens);
    assert_int_equal(http_head(&silent), 200); /* though it has said nothing */
    assert_string_equal(http_field(&silent, "Content-Type"), "text/event-stream");
    await_ping(&silent);
    await_ping(&listens);
    assert_int_equal(kill(p.server.pid, SIGUSR1), 0);
    assert_non_null(strstr(http_event(&silent, NULL), "heard nothing"));
    assert_int_equal(kill(p.server.pid, SIGTERM), 0);
    assert_non_null(strstr(http_event(&listens, NULL), "\"result\""));
    http_close(&silent);
    http_close(&listens);
    http_probe_done(&p);
}

static void
H15_H16_a_listener_hears_until_it_leaves(void **state)
{
    struct http_probe p;
    struct http_raw ears[LISTENERS], h;
    struct probe_stats before;
    const char *event;

    http_probe_start(&p, *state);
    before = http_probe_stats(&p);
    for (int i = 0; i < LISTENERS; i++)
        listen_open(&p, &ears[i]);
    http_probe_call(&p, &h, NULL, "touch", "{\"uri\":\"watch://0\"}");
    assert_non_null(strstr(http_probe_message(&h), "touched"));
    http_close(&h);
    for (int i = 0; i < LISTENERS; i++) {
        event = http_event(&ears[i], NULL);
        assert_non_null(event);
        assert_non_null(strstr(event, "notifications/resources/updated"));
        assert_non_null(strstr(event, META_KEY("subscriptionId") ":\"ear\""));
        http_close(&ears[i]);
    }
    (void)http_probe_rest(&p, before.open_fds);
    http_probe_stop(&p);
}

/* ---- the end ----------------------------------------------------------------- */

static void
H17_our_stop_gives_each_listener_its_result(void **state)
{
    struct http_probe p;
    struct http_raw ears[LISTENERS];
    const char *event;

    http_probe_start(&p, *state);
    for (int i = 0; i < LISTENERS; i++)
        listen_open(&p, &ears[i]);
    assert_int_equal(kill(p.server.pid, SIGTERM), 0);
    for (int i = 0; i < LISTENERS; i++) {
        event = http_event(&ears[i], NULL);
        assert_non_null(event);
        assert_non_null(strstr(event, "\"id\":\"ear\""));
        assert_non_null(strstr(event, "\"result\""));
        assert_non_null(strstr(event, META_KEY("subscriptionId") ":\"ear\""));
        assert_null(http_event(&ears[i], NULL));
        assert_true(ears[i].is_over);
        http_expect_end(&ears[i]);
        http_close(&ears[i]);
    }
    http_probe_done(&p);
}

/* A call is under way when the server, which has that patience, is told to stop: its
 * last word has this in it. */
static void
expect_last_word(const struct http_way *of, const char *patience, const char *arguments,
                 const char *word)
{
    struct http_way way = *of;
    struct http_probe p;
    struct http_raw h;

    way.more = "--patience";
    way.value = patience;
    http_probe_start(&p, &way);
    http_probe_call(&p, &h, "1", "hang_async", arguments);
    http_probe_begun(&p, 1);
    assert_int_equal(kill(p.server.pid, SIGTERM), 0);
    assert_non_null(strstr(http_probe_message(&h), word));
    http_close(&h);
    http_probe_done(&p);
}

static void
F28_F29_our_stop_lets_what_is_nearly_done_finish(void **state)
{
    expect_last_word(*state, "60000", "{\"seconds\":0.3}", "slept");
    expect_last_word(*state, "100,60000", "{\"seconds\":600}", "\"error\"");
}

static void
F30_F31_idle_and_unfinished_clients_do_not_hold_our_stop(void **state)
{
    struct http_way way = *(struct http_way *)*state;
    struct http_probe p;
    struct http_raw idle, begun, half;

    way.more = "--patience";
    way.value = "100";
    http_probe_start(&p, &way);
    http_probe_open(&p, &idle);
    http_probe_alive_on(&p, &idle);
    http_probe_open(&p, &begun);
    http_say(&begun, "POST /mcp HT");
    http_probe_open(&p, &half);
    http_say(&half, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    "Content-Type: application/json\r\n"
                    "Accept: application/json, text/event-stream\r\n"
                    "Content-Length: 1000\r\n\r\n{");
    http_probe_alive(&p);
    assert_int_equal(kill(p.server.pid, SIGTERM), 0);
    http_expect_end(&idle);
    http_expect_end(&begun);
    http_expect_end(&half);
    http_probe_done(&p);
    http_close(&idle);
    http_close(&begun);
    http_close(&half);
}

/* ---- pages of other origins --------------------------------------------------- */

static void
pages_of_each_origin_that_was_given_may_call(void **state)
{
    static const char *const origins[] = {"https://one.example", "https://two.example"};
    struct http_way way = *(struct http_way *)*state;
    struct http_probe p;
    struct http_raw h;

    way.more = "--origin";
    way.value = origins[0];
    way.again = origins[1];
    http_probe_start(&p, &way);
    http_probe_open(&p, &h);
    for (int i = 0; i < 2; i++) {
        http_say(&h, "OPTIONS /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                     "Access-Control-Request-Method: POST\r\nOrigin: ");
        http_say(&h, origins[i]);
        http_say(&h, "\r\n\r\n");
        assert_int_equal(http_answer(&h), 204);
        assert_string_equal(http_field(&h, "Access-Control-Allow-Origin"), origins[i]);
    }
    http_close(&h);
    http_probe_stop(&p);
}

TEST_MAIN(ON_ALL(G10_calls_are_answered_on_a_connection_that_lives),
          ON_ALL(G10_one_endpoint_serves_clients_of_both_eras),
          ON_ALL(G10_several_threads_serve_one_port),
          ON_MODERN(pages_of_each_origin_that_was_given_may_call),
          ON_MODERN(G10_progress_comes_before_the_answer),
          ON_MODERN_TLS(G10_progress_comes_before_the_answer),
          ON_LEGACY(G10_progress_comes_before_the_answer),
          ON_LEGACY_TLS(G10_progress_comes_before_the_answer),
          ON_STATELESS(G10_progress_comes_before_the_answer),
          ON_MODERN(E22_E23_what_is_silent_for_long_becomes_a_stream_that_is_pinged),
          ON_MODERN(H15_H16_a_listener_hears_until_it_leaves),
          ON_MODERN_TLS(H15_H16_a_listener_hears_until_it_leaves),
          ON_MODERN(H17_our_stop_gives_each_listener_its_result),
          ON_MODERN_TLS(H17_our_stop_gives_each_listener_its_result),
          ON_ALL(F28_F29_our_stop_lets_what_is_nearly_done_finish),
          ON_ALL(F30_F31_idle_and_unfinished_clients_do_not_hold_our_stop))
