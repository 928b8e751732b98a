/*
 * http_client_life_test.c - legacy sessions over HTTP: streams that are resumed,
 * sessions that are lost, and the end, as the server sees them
 */
#include "end/http_client_place.h"

#include <pthread.h>

#define JSON "application/json"
#define SSE "text/event-stream"
#define CHUNKS "Transfer-Encoding: chunked\r\n"

/* ---- resuming ------------------------------------------------------------ */

static void
take_get(struct place *p, struct visit *v, const char *last)
{
    rig_await_visit(&p->r);
    visit_accept(v, &p->r.s);
    visit_read(v);
    assert_true(visit_asks(v, "GET /mcp"));
    assert_string_equal(visit_field(v, "Last-Event-ID"), last);
    assert_string_equal(visit_field(v, "Mcp-Session-Id"), p->r.session);
    assert_string_equal(visit_field(v, "MCP-Protocol-Version"), "2025-11-25");
}

/* Ended by the server, and lost: both are taken up, from the last id that came. */
static void
D8_a_wanted_stream_is_taken_up_again(void **state)
{
    struct place *p = place_open(CELL_SESSION, NULL);
    struct visit v;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", SSE, CHUNKS);
    visit_chunk(&v, "id: a\nretry: 1\ndata:\n\n");
    visit_chunk(&v, "");
    visit_close(&v);
    take_get(p, &v, "a");
    rig_head(&v, "200 OK", SSE, CHUNKS);
    visit_chunk(&v, "id: b\ndata:\n\n");
    rig_await_read(&v);
    visit_reset(&v);
    take_get(p, &v, "b");
    rig_head(&v, "200 OK", SSE, "");
    rig_event(&v, rig_result(p->c.id, "at last"));
    visit_close(&v);
    rig_ends(&p->c, 0, "at last");
    rig_works(&p->r);
    place_close(p);
}

static void
E13_no_stream_of_the_modern_era_is(void **state)
{
    struct place *p = place_open(CELL_MODERN, NULL);
    struct visit v;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", SSE, CHUNKS);
    visit_chunk(&v, "id: a\nretry: 1\ndata:\n\n");
    visit_chunk(&v, "");
    visit_close(&v);
    rig_fails(&p->c, MCP_E_CLOSED, 0, "");
    rig_works(&p->r);
    place_close(p);
}

static void
D7_no_stream_of_a_canceled_request_is(void **state)
{
    struct place *p = place_open(CELL_SESSION, NULL);
    struct visit v;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", SSE, CHUNKS);
    visit_chunk(&v, "id: a\nretry: 1\ndata:\n\n");
    rig_await_read(&v);
    assert_int_equal(mcp_call_cancel(p->c.call, NULL), 0);
    rig_ends(&p->c, MCP_E_CANCELED, NULL);
    rig_take_cancel(&p->r, p->c.id);
    visit_reset(&v);
    rig_works(&p->r);
    place_close(p);
}

/* The server does not know that id, or the stream. */
static void
D9_a_stream_that_is_refused_is_lost(void **state)
{
    struct place *p = place_open(CELL_SESSION, NULL);
    struct visit v;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", SSE, CHUNKS);
    visit_chunk(&v, "id: a\nretry: 1\ndata:\n\n");
    visit_chunk(&v, "");
    visit_close(&v);
    take_get(p, &v, "a");
    rig_say(&v, "400 Bad Request", NULL, "");
    RIG_UNTIL(atomic_load(&p->c.end.times) == 1);
    assert_true(p->c.end.status == MCP_E_CLOSED || p->c.end.status == MCP_E_HTTP);
    mcp_call_free(p->c.call);
    rig_take_cancel(&p->r, p->c.id); /* what was asked may still be done */
    rig_works(&p->r);
    place_close(p);
}

/* ---- a session that is lost ---------------------------------------------- */

/* initialize again, with another id. */
static void
greet_again(struct place *p, const char *id)
{
    struct visit v;
    char more[96];

    rig_take(&p->r, &v, "initialize");
    (void)snprintf(p->r.session, sizeof(p->r.session), "%s", id);
    (void)snprintf(more, sizeof(more), "Mcp-Session-Id: %s\r\n", id);
    rig_head(&v, "200 OK", JSON, more);
    visit_say(&v, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":"
                  "\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{"
                  "\"name\":\"played\",\"version\":\"1\"}}}");
    visit_close(&v);
    rig_take(&p->r, &v, "notifications/initialized");
    rig_say(&v, "202 Accepted", NULL, "");
}

/* The stream of the session and the call come at once: in any order. */
static void
take_call_and_stream(struct place *p, struct visit *v)
{
    struct visit get;

    visit_accept(v, &p->r.s);
    visit_read(v);
    rig_await_visit(&p->r); /* a call waits for the answer to the GET, for a second */
    visit_accept(&get, &p->r.s);
    visit_read(&get);
    if (visit_asks(v, "GET /mcp")) {
        struct visit swap = *v;

        *v = get;
        get = swap;
    }
    assert_true(visit_asks(&get, "GET /mcp"));
    assert_string_equal(visit_field(&get, "Mcp-Session-Id"), p->r.session);
    rig_say(&get, "405 Method Not Allowed", NULL, "");
    rig_check(&p->r, v, "tools/call");
}

static void
a_lost_session_is_made_anew(void **state)
{
    struct place *p = place_open(CELL_BODIES, NULL);
    struct visit v, w;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_call(&p->r, &p->d, NULL);
    rig_take(&p->r, &w, "tools/call");
    rig_say(&w, "404 Not Found", NULL, "");
    rig_ends(&p->c, MCP_E_CLOSED, NULL); /* its answer will not come */
    visit_await_gone(&v);
    visit_close(&v);
    greet_again(p, "session-2");
    take_call_and_stream(p, &w);
    rig_answer(&p->r, &w, p->d.id, "once more");
    rig_ends(&p->d, 0, "once more");
    rig_works(&p->r);
    place_close(p);
}

static void
a_session_that_is_lost_twice_fails_the_call(void **state)
{
    struct place *p = place_open(CELL_BODIES, NULL);
    struct visit v;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_say(&v, "404 Not Found", NULL, "");
    greet_again(p, "session-2");
    take_call_and_stream(p, &v);
    rig_say(&v, "404 Not Found", NULL, "");
    rig_fails(&p->c, MCP_E_HTTP, 404, "session");
    mcp_client_free(p->r.client); /* with or without a session: it is not waited for */
    while (http_script_is_visited(&p->r.s, 0)) {
        visit_accept(&v, &p->r.s);
        visit_close(&v);
    }
    http_script_close(&p->r.s);
    test_mem_done(&p->r.mem);
    free(p);
}

/* A frame or a call of the old session does not end the new one. */
static void
a_cancel_that_meets_a_lost_session_is_not_sent_again(void **state)
{
    struct place *p = place_open(CELL_BODIES, NULL);
    struct visit v, frame;

    (void)state;
    rig_works(&p->r); /* a session in which nothing was answered is not tried again */
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    assert_int_equal(mcp_call_cancel(p->c.call, NULL), 0);
    rig_ends(&p->c, MCP_E_CANCELED, NULL);
    rig_take_cancel_as(&p->r, &frame, p->c.id);
    rig_say(&frame, "404 Not Found", NULL, "");
    visit_close(&v);
    greet_again(p, "session-2");
    visit_accept(&v, &p->r.s);
    visit_read(&v);
    assert_true(visit_asks(&v, "GET /mcp"));
    rig_say(&v, "405 Method Not Allowed", NULL, "");
    rig_works(&p->r);
    place_close(p);
}

/* ---- the end ------------------------------------------------------------- */

/* First what is to be said, then DELETE, and only then is anything cut off. */
static void
B23_D19_frames_then_delete_then_the_sockets(void **state)
{
    struct place *p = place_open(CELL_SESSION, NULL);
    struct visit v, w, frames[2];

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", SSE, "");
    rig_call(&p->r, &p->d, NULL);
    rig_take(&p->r, &w, "tools/call");
    mcp_client_close(p->r.client);
    rig_ends(&p->c, MCP_E_CLOSED, NULL);
    rig_ends(&p->d, MCP_E_CLOSED, NULL);
    for (int i = 0; i < 2; i++)
        rig_take(&p->r, &frames[i], "notifications/cancelled");
    rig_quiet(&p->r); /* no DELETE before they are accepted */
    for (int i = 0; i < 2; i++)
        rig_say(&frames[i], "202 Accepted", NULL, "");
    assert_true(http_script_is_visited(&p->r.s, AWAIT_MS));
    assert_true(visit_is_there(&v));
    assert_true(visit_is_there(&w));
    rig_take_delete(&p->r, "405 Method Not Allowed");
    visit_await_gone(&v);
    visit_await_gone(&w);
    visit_close(&v);
    visit_close(&w);
    rig_done(&p->r);
    free(p);
}

#define FLUSH_MS 6000

static void *
free_client(void *client)
{
    mcp_client_free(client);
    return NULL;
}

/* A server that says nothing any more does not hold a client that closes. */
static void
B10_B23_D19_the_end_is_bounded(void **state)
{
    const struct rig_options opt = {.client.flush_ms = FLUSH_MS};
    struct place *p = place_open(CELL_SESSION, &opt);
    struct visit v, frame, deletion;
    pthread_t thread;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    assert_int_equal(pthread_create(&thread, NULL, free_client, p->r.client), 0);
    rig_ends(&p->c, MCP_E_CLOSED, NULL);
    visit_accept(&frame, &p->r.s);
    visit_read(&frame);
    rig_check_cancel(&p->r, &frame, p->c.id); /* it is not answered, nor is DELETE */
    virtual_clock_pass(&p->r.clock, FLUSH_MS / 2);
    visit_accept(&deletion, &p->r.s);
    visit_read(&deletion);
    assert_true(visit_asks(&deletion, "DELETE /mcp"));
    virtual_clock_pass(&p->r.clock, FLUSH_MS);
    assert_int_equal(pthread_join(thread, NULL), 0);
    p->r.client = NULL;
    visit_close(&frame);
    visit_close(&deletion);
    visit_await_gone(&v);
    visit_close(&v);
    rig_done(&p->r);
    free(p);
}

static void
D19_a_session_is_deleted_whatever_the_server_says(void **state)
{
    const char *const statuses[] = {"200 OK", "204 No Content", "404 Not Found",
                                    "405 Method Not Allowed",
                                    "500 Internal Server Error"};

    (void)state;
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        struct place *p = place_open(CELL_BODIES, NULL);

        mcp_client_close(p->r.client);
        rig_take_delete(&p->r, statuses[i]);
        rig_done(&p->r);
        free(p);
    }
}

static void
D23_the_end_of_its_stream_ends_a_client_of_2024(void **state)
{
    struct place *p = place_open(CELL_OLD, NULL);
    mcp_call *call = NULL;
    struct visit v;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_say(&v, "202 Accepted", NULL, "");
    visit_close(&p->r.inlet);
    p->r.inlet.fd = -1;
    rig_ends(&p->c, MCP_E_CLOSED, NULL);
    RIG_UNTIL(atomic_load(&p->r.states) == 2); /* it was ready, and is gone */
    assert_int_equal(p->r.state, MCP_E_CLOSED);
    assert_int_equal(
        mcp_client_start(p->r.client, "tools/list", NULL, NULL, NULL, NULL, &call),
        MCP_E_CLOSED);
    rig_done(&p->r);
    free(p);
}

TEST_MAIN(TEST(D8_a_wanted_stream_is_taken_up_again),
          TEST(E13_no_stream_of_the_modern_era_is),
          TEST(D7_no_stream_of_a_canceled_request_is),
          TEST(D9_a_stream_that_is_refused_is_lost), TEST(a_lost_session_is_made_anew),
          TEST(a_session_that_is_lost_twice_fails_the_call),
          TEST(a_cancel_that_meets_a_lost_session_is_not_sent_again),
          TEST(B23_D19_frames_then_delete_then_the_sockets),
          TEST(B10_B23_D19_the_end_is_bounded),
          TEST(D19_a_session_is_deleted_whatever_the_server_says),
          TEST(D23_the_end_of_its_stream_ends_a_client_of_2024))
