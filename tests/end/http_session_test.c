/*
 * http_session_test.c - probe-server over HTTP: sessions of 2025, whose they are, who
 * comes back; questions on the way; the transport of 2024
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end/http_probe.h"
#include "support/messages.h"

#define ALICE "Authorization: Bearer alice\r\n"
#define BOB "Authorization: Bearer bob\r\n"

#define ASKABLE                                                                      \
    REQUEST(                                                                         \
        "\"hello\"", "initialize",                                                   \
        "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{}}," \
        "\"clientInfo\":{\"name\":\"raw\",\"version\":\"1\"}}")
#define ASK(id)               \
    REQUEST(id, "tools/call", \
            "{\"name\":\"ask\",\"arguments\":{\"question\":\"why?\"}}")
#define CALL(id, tool, arguments) \
    REQUEST(id, "tools/call", "{\"name\":\"" tool "\",\"arguments\":" arguments "}")

/* ---- whose --------------------------------------------------------------- */

static int
post_as(struct http_probe *p, const char *fields, const char *body)
{
    struct http_raw h;
    int status;

    http_probe_open(p, &h);
    http_post(&h, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = p->session,
                             .fields = fields, .body = body));
    status = http_answer(&h);
    http_close(&h);
    return status;
}

static void
D20_a_session_is_nobody_elses(void **state)
{
    struct http_way way = *(struct http_way *)*state;
    struct http_probe p;
    struct http_raw h, hangs;

    way.more = "--bearer";
    way.silent = true;
    http_probe_start(&p, &way);
    http_probe_open(&p, &h);
    p.session = http_hello_as(&h, INITIALIZE("1", "2025-11-25"), ALICE);
    assert_non_null(p.session);
    http_probe_open(&p, &hangs);
    http_post(&hangs,
              &HTTP_POST(.era = MCP_ERA_LEGACY, .session = p.session, .fields = ALICE,
                         .body = CALL("7", "deaf", "{\"seconds\":600}")));
    assert_int_equal(post_as(&p, BOB, CANCEL("7")), 404);
    assert_int_equal(post_as(&p, NULL, CANCEL("7")), 401);
    http_say(&h, "DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n" BOB "Mcp-Session-Id: ");
    http_say(&h, p.session);
    http_say(&h, "\r\n\r\n");
    assert_int_equal(http_answer(&h), 404);
    assert_int_equal(kill(p.server.pid, SIGUSR1), 0);
    assert_non_null(
        strstr(http_probe_message(&hangs), "heard nothing")); /* no cancel */
    http_close(&hangs);
    http_close(&h);
    http_probe_stop(&p);
}

/* ---- who comes back ------------------------------------------------------ */

static void
get_after(struct http_probe *p, struct http_raw *h, const char *id)
{
    char fields[HTTP_ID_ROOM + 64];

    http_probe_open(p, h);
    (void)snprintf(fields, sizeof(fields), "%s\r\nLast-Event-ID: %s", p->session, id);
    http_ask(h, "GET", fields);
}

static void
D8_D12_the_answer_waits_for_a_client_that_comes_back(void **state)
{
    struct http_way way = *(struct http_way *)*state;
    char id[HTTP_ID_ROOM], again[HTTP_ID_ROOM];
    struct http_probe p;
    struct http_raw h;
    const char *event;

    way.more = "--resume";
    http_probe_start(&p, &way);
    http_probe_open(&p, &h);
    http_call(&h, &HTTP_CALL(.era = MCP_ERA_LEGACY, .session = p.session, .id = "7",
                             .tool = "hang_async", .progress = true,
                             .arguments = "{\"seconds\":0.3}"));
    assert_int_equal(http_head(&h), 200);
    event = http_event(&h, id);
    assert_string_equal(event, ""); /* it only has an id */
    assert_string_not_equal(id, "");
    http_close(&h);
    assert_int_equal(http_probe_calm(&p, 0).canceled, 0); /* it has run to its end */
    for (int i = 0; i < 2; i++) {                         /* as often as it likes */
        get_after(&p, &h, id);
        assert_int_equal(http_head(&h), 200);
        event = http_event(&h, again);
        assert_non_null(event);
        if (strstr(event, "notifications/progress"))
            event = http_event(&h, again);
        assert_non_null(strstr(event, "slept"));
        assert_string_not_equal(again, id);
        http_close(&h);
    }
    http_probe_stop(&p);
}

static void
D8_an_event_that_nobody_knows_is_refused(void **state)
{
    static const char *const ids[] = {
        "0-0", "99-1", "1-99", "x", "", "1-1-1", "99999999999999999999-1"};
    struct http_way way = *(struct http_way *)*state;
    struct http_probe p;
    struct http_raw h;

    way.more = "--resume";
    http_probe_start(&p, &way);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        get_after(&p, &h, ids[i]);
        if (*ids[i])
            assert_in_range(http_answer(&h), 400, 404);
        else
            assert_int_equal(http_head(&h), 200); /* as if it were not there */
        http_close(&h);
    }
    http_probe_alive(&p);
    http_probe_stop(&p);
}

/* ---- questions ----------------------------------------------------------- */

/* A call of ask in a session that can be asked; the id of the question is kept. */
static void
ask_open(struct http_probe *p, struct http_raw *h, char *id, size_t room)
{
    const char *event, *at;

    http_probe_open(p, h);
    p->session = http_hello_as(h, ASKABLE, NULL);
    http_post(
        h, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = p->session, .body = ASK("7")));
    assert_int_equal(http_head(h), 200);
    event = http_event(h, NULL);
    assert_non_null(event);
    assert_non_null(strstr(event, "elicitation/create"));
    at = strstr(event, "\"id\":");
    assert_non_null(at);
    (void)snprintf(id, room, "%.*s", (int)strcspn(at + 5, ",}"), at + 5);
}

static void
J5_a_question_comes_on_the_stream_of_its_call(void **state)
{
    struct http_way way = *(struct http_way *)*state;
    char id[64], answer[256];
    struct http_probe p;
    struct http_raw h;

    way.silent = true;
    http_probe_start(&p, &way);
    ask_open(&p, &h, id, sizeof(id));
    (void)snprintf(answer, sizeof(answer),
                   "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"action\":\"accept\","
                   "\"content\":{\"answer\":\"because\"}}}",
                   id);
    assert_int_equal(http_probe_post(&p, answer), 202);
    assert_non_null(strstr(http_event(&h, NULL), "answer: because"));
    http_close(&h);
    http_probe_stop(&p);
}

static void
D21_J6_a_canceled_call_takes_its_question_back_first(void **state)
{
    struct http_way way = *(struct http_way *)*state;
    char id[64], named[96];
    struct http_probe p;
    struct http_raw h;
    const char *event;

    way.silent = true;
    http_probe_start(&p, &way);
    ask_open(&p, &h, id, sizeof(id));
    assert_int_equal(http_probe_post(&p, CANCEL("7")), 202);
    (void)snprintf(named, sizeof(named), "\"requestId\":%s", id);
    event = http_event(&h, NULL);
    assert_non_null(strstr(event, "notifications/cancelled"));
    assert_non_null(strstr(event, named));
    assert_non_null(strstr(http_event(&h, NULL), "-32800"));
    assert_null(http_event(&h, NULL));
    assert_true(h.is_over);
    (void)http_probe_calm(&p, 0);
    http_close(&h);
    http_probe_stop(&p);
}

static void
J9_where_there_is_no_room_nobody_is_asked(void **state)
{
    struct http_way way = *(struct http_way *)*state;
    struct http_probe p;
    struct http_raw h;

    way.silent = true;
    http_probe_start(&p, &way);
    http_probe_open(&p, &h);
    p.session = http_hello_as(&h, ASKABLE, NULL);
    http_post(
        &h, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = p.session, .body = ASK("7")));
    assert_null(strstr(http_probe_message(&h), "answer:"));
    http_close(&h);
    (void)http_probe_calm(&p, 0);
    http_probe_stop(&p);
}

/* ---- the transport of 2024 ----------------------------------------------- */

static void
sse_open(struct http_probe *p, struct http_raw *h, char *where, size_t room)
{
    const char *event;

    http_probe_open(p, h);
    http_say(h, "GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                "Accept: text/event-stream\r\n\r\n");
    assert_int_equal(http_head(h), 200);
    event = http_event(h, NULL);
    assert_non_null(event);
    assert_memory_equal(event, "/message", 8);
    (void)snprintf(where, room, "%s", event);
}

static int
sse_post(struct http_probe *p, const char *where, const char *body)
{
    struct http_raw h;
    char head[1024];
    int status;

    http_probe_open(p, &h);
    (void)snprintf(head, sizeof(head),
                   "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                   "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                   where, strlen(body));
    http_say(&h, head);
    http_say(&h, body);
    status = http_answer(&h);
    http_close(&h);
    return status;
}

static void
D23_a_client_of_2024_calls_cancels_and_leaves(void **state)
{
    struct http_way way = *(struct http_way *)*state;
    struct http_probe p;
    struct http_raw h;
    char where[512];

    way.more = "--sse";
    http_probe_start(&p, &way);
    sse_open(&p, &h, where, sizeof(where));
    assert_int_equal(sse_post(&p, where, INITIALIZE("1", "2024-11-05")), 202);
    assert_non_null(strstr(http_event(&h, NULL), "\"protocolVersion\":\"2024-11-05\""));
    assert_int_equal(sse_post(&p, where, NOTE("notifications/initialized", "{}")), 202);
    assert_int_equal(sse_post(&p, where, CALL("2", "echo", "{\"text\":\"hi\"}")), 202);
    assert_non_null(strstr(http_event(&h, NULL), "hi"));
    assert_int_equal(sse_post(&p, where, CALL("3", "hang", "{\"seconds\":600}")), 202);
    (void)http_probe_calm(&p, 1);
    assert_int_equal(sse_post(&p, where, CANCEL("3")), 202);
    assert_int_equal(http_probe_calm(&p, 0).canceled, 1);
    for (int i = 0; i < 5; i++)
        assert_int_equal(
            sse_post(&p, where, CALL("9", "hang_async", "{\"seconds\":600}")), 202);
    (void)http_probe_calm(&p, 1); /* an id in flight is refused (F21) */
    http_close(&h);
    assert_int_equal(http_probe_calm(&p, 0).canceled, 2);
    assert_int_equal(sse_post(&p, where, CANCEL("9")), 404);
    http_probe_stop(&p);
}

TEST_MAIN(ON_LEGACY(D20_a_session_is_nobody_elses),
          ON_LEGACY_JSON(D20_a_session_is_nobody_elses),
          ON_LEGACY_TLS(D20_a_session_is_nobody_elses),
          ON_LEGACY(D8_D12_the_answer_waits_for_a_client_that_comes_back),
          ON_LEGACY_TLS(D8_D12_the_answer_waits_for_a_client_that_comes_back),
          ON_LEGACY(D8_an_event_that_nobody_knows_is_refused),
          ON_LEGACY(J5_a_question_comes_on_the_stream_of_its_call),
          ON_LEGACY_TLS(J5_a_question_comes_on_the_stream_of_its_call),
          ON_LEGACY(D21_J6_a_canceled_call_takes_its_question_back_first),
          ON_LEGACY_TLS(D21_J6_a_canceled_call_takes_its_question_back_first),
          ON_LEGACY_JSON(J9_where_there_is_no_room_nobody_is_asked),
          ON_STATELESS(J9_where_there_is_no_room_nobody_is_asked),
          ON_LEGACY(D23_a_client_of_2024_calls_cancels_and_leaves),
          ON_LEGACY_TLS(D23_a_client_of_2024_calls_cancels_and_leaves))
