/* listener_test.c - a modern client listens: one subscriptions/listen request, served */
#include "core/listener.h"

#include <stdio.h>
#include <string.h>

#include "support/endpoint.h"
#include "support/listeners.h"

/* ---- the acknowledgment ---------------------------------------------------- */

static void
H15_ack_is_first_and_says_what_is_honored(void **state)
{
    static const struct {
        const char *asked;
        unsigned offered;
        const char *ack;
    } rows[] = {
        {LISTEN("1", "{}"), EVERYTHING, ACK("1", "{}")},
        {LISTEN("\"7\"", "{" ALL_LISTS "}"), EVERYTHING,
         ACK("\"7\"", "{" ALL_LISTS "}")},
        {LISTEN("18446744073709551615", "{\"toolsListChanged\":true}"), EVERYTHING,
         ACK("18446744073709551615", "{\"toolsListChanged\":true}")},
        {LISTEN("\"a\\\"b\"", "{" URIS("\"x:1\",\"x:2\",\"x:1\"") "}"), EVERYTHING,
         ACK("\"a\\\"b\"", "{" URIS("\"x:1\",\"x:2\"") "}")},
        {LISTEN("1", "{\"toolsListChanged\":false,\"promptsListChanged\":true}"),
         EVERYTHING, ACK("1", "{\"promptsListChanged\":true}")},
        {LISTEN("1", "{" ALL_LISTS "," URIS("\"x:1\"") "}"), MCPI_TOPIC_TOOLS,
         ACK("1", "{\"toolsListChanged\":true}")},
        {LISTEN("1", "{" ALL_LISTS "," URIS("\"x:1\"") "}"), MCPI_TOPIC_UPDATED,
         ACK("1", "{" URIS("\"x:1\"") "}")},
        {LISTEN("1", "{" ALL_LISTS "}"), 0, ACK("1", "{}")},
        {LISTEN("1", "{\"taskChanged\":[7],\"toolsListChanged\":true}"), EVERYTHING,
         ACK("1", "{\"toolsListChanged\":true}")},
    };
    struct stream s;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        start(&f);
        assert_int_equal(try_listen(&f, rows[i].asked, rows[i].offered, &s), 0);
        assert_false(mcpi_outlet_is_empty(mcpi_peer_outlet(f.peer)));
        expect_texts(&f, &rows[i].ack, 1);
        fake_close(&f);
    }
}

static void
H15_events_meanwhile_follow_the_ack(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    listen_to(&f, LISTEN("5", "{" ALL_LISTS "," URIS("\"x:1\"") "}"), &s);
    update(&f, "x:1");
    publish(&f, &tools);
    assert_int_equal(fake_take(&f), 1);
    publish(&f, &prompts); /* its ack is half written */
    assert_int_equal(fake_take(&f), 0);
    fake_written(&f, 0);
    EXPECT(&f, ACK("5", "{" ALL_LISTS "," URIS("\"x:1\"") "}"), UPDATED("5", "x:1"),
           CHANGED("5", "tools"), CHANGED("5", "prompts"));
    fake_close(&f);
}

static void
filter_that_is_none_is_refused_and_leaves_nothing(void **state)
{
    static const char *const bad[] = {
        REQUEST("1", "subscriptions/listen", "{" STAMP "}"),
        LISTEN("1", "null"),
        LISTEN("1", "[]"),
        LISTEN("1", "\"toolsListChanged\""),
        LISTEN("1", "{\"toolsListChanged\":1}"),
        LISTEN("1", "{\"promptsListChanged\":\"true\"}"),
        LISTEN("1", "{\"resourcesListChanged\":null}"),
        LISTEN("1", "{\"resourceSubscriptions\":\"x:1\"}"),
        LISTEN("1", "{\"resourceSubscriptions\":{}}"),
        LISTEN("1", "{" URIS("\"x:1\",2") "}"),
        LISTEN("1", "{" URIS("\"x:1\",null") "}"),
        LISTEN("1", "{" URIS("\"x:\\u0000\"") "}"),
        LISTEN("1", "{\"toolsListChanged\":true,\"toolsListChanged\":false}"),
    };
    struct stream s;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        start(&f);
        if (try_listen(&f, bad[i], MCPI_TOPIC_TOOLS, &s) != MCP_E_PROTO)
            fail_msg("taken: %s", bad[i]);
        assert_int_equal(s.why.code, MCPI_RPC_INVALID_PARAMS);
        assert_non_null(strstr(s.why.message, "Invalid params: "));
        assert_int_equal(f.engine->listener_count, 0);
        EXPECT_NOTHING(&f);
        fake_close(&f);
    }
}

/* ---- events ---------------------------------------------------------------- */

static void
only_what_was_asked_for_is_told_and_under_its_own_id(void **state)
{
    struct stream a, b;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("\"a\"", "{\"toolsListChanged\":true}"), &a);
    listen_acked(&f, LISTEN("2", "{\"resourcesListChanged\":true," URIS("\"x:1\"") "}"),
                 &b);
    publish(&f, &tools);
    publish(&f, &prompts);
    publish(&f, &resources);
    update(&f, "x:1");
    update(&f, "x:12");
    update(&f, "x");
    EXPECT(&f, CHANGED("\"a\"", "tools"), CHANGED("2", "resources"),
           UPDATED("2", "x:1"));
    fake_close(&f);
}

static void
part_of_a_named_resource_is_told_too(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("1", "{" URIS("\"f:///a\",\"f:///b/\",\"n:1\"") "}"), &s);
    update(&f, "f:///a/x/y");
    update(&f, "f:///a/");
    update(&f, "f:///b/z");
    update(&f, "f:///ab"); /* these lie beside, above, or in no hierarchy */
    update(&f, "f:///b");
    update(&f, "f:///");
    update(&f, "n:1?x");
    EXPECT(&f, UPDATED("1", "f:///a/x/y"), UPDATED("1", "f:///a/"),
           UPDATED("1", "f:///b/z"));
    fake_close(&f);
}

static void
H19_what_is_due_to_a_slow_reader_is_due_once(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "," URIS("\"x:1\",\"x:2\"") "}"), &s);
    for (int i = 0; i < 5000; i++) {
        publish(&f, &tools);
        update(&f, "x:2");
        publish(&f, &prompts);
        update(&f, "x:1");
    }
    assert_int_equal(fake_take(&f), 1); /* one at a time */
    fake_written(&f, 0);
    EXPECT(&f, CHANGED("1", "tools"), UPDATED("1", "x:2"), CHANGED("1", "prompts"),
           UPDATED("1", "x:1"));
    assert_int_equal(s.slow, 0);
    fake_close(&f);
}

static void
change_after_an_event_was_taken_is_told_again_and_once(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "," URIS("\"x:1\"") "}"), &s);
    publish(&f, &tools);
    assert_int_equal(fake_take(&f), 1);
    publish(&f, &tools);
    update(&f, "x:1");
    fake_written(&f, 0);
    publish(&f, &tools); /* the second is queued, and not yet taken */
    assert_int_equal(fake_take(&f), 1);
    fake_written(&f, 0);
    assert_int_equal(fake_take(&f), 1);
    update(&f, "x:1");
    update(&f, "x:1");
    fake_written(&f, 0);
    EXPECT(&f, CHANGED("1", "tools"), CHANGED("1", "tools"), UPDATED("1", "x:1"),
           UPDATED("1", "x:1"));
    fake_close(&f);
}

static void
uri_that_is_no_text_is_told_to_nobody(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("1", "{" URIS("\"x:\"") "}"), &s);
    update(&f, "x:/\xFF");
    EXPECT_NOTHING(&f);
    assert_int_equal(s.slow, 0);
    fake_close(&f);
}

/* ---- a reader that does not keep up ---------------------------------------- */

static void
name_many(struct fake *f, int count)
{
    char uri[32];

    for (int i = 0; i < count; i++) {
        snprintf(uri, sizeof(uri), "x:/%d", i);
        update(f, uri);
    }
}

static void
H19_full_set_ends_the_stream_from_a_later_turn(void **state)
{
    struct mcpi_limits limits = {.subscribed = 3};
    struct stream s, other;
    struct fake f;

    (void)state;
    start_with(&f, &limits);
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "," URIS("\"x:\"") "}"), &s);
    listen_acked(&f, LISTEN("2", "{\"toolsListChanged\":true}"), &other);
    name_many(&f, 3);
    publish(&f, &prompts); /* lists have room of their own */
    fake_pass(&f, 0);
    assert_int_equal(s.slow, 0);
    name_many(&f, 5);
    assert_int_equal(s.slow, 0); /* not from inside */
    assert_int_equal(f.engine->listener_count, 2);
    fake_pass(&f, 0);
    assert_int_equal(s.slow, 1);
    assert_int_equal(f.engine->listener_count, 1);
    publish(&f, &tools);
    write_all(&f);
    assert_string_equal(fake_said(&f), "answer note"); /* an error; no more events */
    assert_string_equal(fake_text(&f, 1), CHANGED("2", "tools"));
    fake_pass(&f, SECOND);
    assert_int_equal(s.slow, 1);
    fake_close(&f);
}

static void
H19_slot_is_free_although_the_writer_is_stuck(void **state)
{
    struct mcpi_limits limits = {.subscribed = 2, .listeners = 1};
    struct stream s, next;
    struct fake f;

    (void)state;
    start_with(&f, &limits);
    listen_acked(&f, LISTEN("1", "{" URIS("\"x:\"") "}"), &s);
    name_many(&f, 1);
    assert_int_equal(fake_take(&f), 1); /* and it never leaves */
    name_many(&f, 4);
    fake_pass(&f, 0);
    assert_int_equal(s.slow, 1);
    assert_int_equal(f.engine->listener_count, 0);
    listen_to(&f, LISTEN("2", "{}"), &next);
    fake_close(&f);
}

static void
H19_no_memory_for_an_event_ends_the_stream(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("1", "{" URIS("\"x:1\"") "}"), &s);
    f.mem->fail_at = f.mem->total + 1;
    update(&f, "x:1");
    assert_int_equal(s.slow, 0);
    update(&f, "x:1"); /* memory is back, but one was missed */
    assert_int_equal(fake_take(&f), 0);
    fake_pass(&f, 0);
    assert_int_equal(s.slow, 1);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "answer");
    assert_int_equal(f.engine->listener_count, 0);
    fake_close(&f);
}

static void
H19_changed_list_needs_no_memory(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "}"), &s);
    f.mem->fail_at = f.mem->total + 1;
    f.mem->fail_after = true;
    publish(&f, &tools);
    publish(&f, &prompts);
    f.mem->fail_after = false;
    EXPECT(&f, CHANGED("1", "tools"), CHANGED("1", "prompts"));
    assert_int_equal(s.slow, 0);
    fake_close(&f);
}

static void
H19_no_memory_to_write_an_event_ends_the_stream(void **state)
{
    static char uri[5000] = "x:/";
    struct stream s;
    struct fake f;

    (void)state;
    memset(uri + 3, 'u', sizeof(uri) - 4);
    start(&f);
    listen_acked(&f, LISTEN("1", "{" URIS("\"x:\"") "}"), &s);
    update(&f, uri);
    f.mem->fail_at = f.mem->total + 1;
    assert_int_equal(fake_take(&f), 0);
    assert_int_equal(s.slow, 0);
    fake_pass(&f, 0);
    assert_int_equal(s.slow, 1);
    fake_close(&f);
}

/* ---- the client ends it ---------------------------------------------------- */

static void
H16_cancel_takes_back_what_waits_and_frees_the_slot(void **state)
{
    struct stream s, other;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "}"), &s);
    listen_acked(&f, LISTEN("2", "{" ALL_LISTS "}"), &other);
    publish(&f, &tools);
    publish(&f, &prompts);
    fake_receive(&f, CANCEL("1"));
    assert_int_equal(s.how, MCPI_CANCELED);
    assert_int_equal(f.engine->listener_count, 1);
    publish(&f, &resources);
    EXPECT(&f, CHANGED("2", "tools"), CHANGED("2", "prompts"),
           CHANGED("2", "resources"));
    fake_close(&f);
}

static void
H16_cancel_before_the_ack_has_left_leaves_no_trace(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    listen_to(&f, LISTEN("1", "{" ALL_LISTS "}"), &s);
    publish(&f, &tools);
    fake_receive(&f, CANCEL("1"));
    EXPECT_NOTHING(&f);
    fake_close(&f);
}

static void
H16_event_that_is_half_written_is_the_last(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "}"), &s);
    publish(&f, &tools);
    publish(&f, &prompts);
    assert_int_equal(fake_take(&f), 1);
    fake_receive(&f, CANCEL("1"));
    publish(&f, &resources);
    fake_written(&f, 0);
    EXPECT(&f, CHANGED("1", "tools"));
    assert_int_equal(f.engine->counts.exchanges, 0);
    assert_int_equal(f.engine->counts.held, 0);
    fake_close(&f);
}

static void
H16_nothing_follows_although_its_owner_is_late(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "}"), &s);
    s.lazy = true;
    publish(&f, &tools);
    publish(&f, &prompts);
    fake_receive(&f, CANCEL("1"));
    publish(&f, &resources);
    EXPECT_NOTHING(&f);
    stream_end(&s, MCPI_RPC_INTERNAL_ERROR);
    EXPECT_NOTHING(&f);
    fake_close(&f);
}

static void
H16_H23_lost_client_leaves_nothing_behind(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "}"), &s);
    publish(&f, &tools);
    publish(&f, &prompts);
    fake_take(&f);
    mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
    assert_int_equal(s.how, MCPI_DROPPED);
    assert_int_equal(f.engine->listener_count, 0);
    publish(&f, &tools);
    fake_pass(&f, 0);
    assert_int_equal(s.slow, 0);
    fake_written(&f, MCP_E_CLOSED);
    fake_close(&f);
}

/* A listen on a stream of its own. */
static struct endpoint_stream *
endpoint_listen(struct endpoint *ep, const char *request, struct stream *s)
{
    struct endpoint_stream *stream = endpoint_post(ep, request);

    memset(s, 0, sizeof(*s));
    s->finished = &endpoint_job(ep)->finished;
    assert_int_equal(stream_serve(s, endpoint_job(ep)->x, EVERYTHING), 0);
    return stream;
}

static void
H16_client_that_leaves_its_own_stream_ends_that_one(void **state)
{
    struct endpoint_stream *here, *there;
    struct stream a, b;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, MCPI_PRIVATE_IDS | MCPI_GONE_CANCELS, NULL);
    here = endpoint_listen(&ep, LISTEN("1", "{" ALL_LISTS "}"), &a);
    there = endpoint_listen(&ep, LISTEN("1", "{" ALL_LISTS "}"), &b);
    endpoint_run(&ep);
    mcpi_engine_publish(ep.engine, &tools, ep.now);
    endpoint_leave(&ep, here);
    assert_int_equal(a.how, MCPI_CANCELED);
    mcpi_engine_publish(ep.engine, &prompts, ep.now);
    endpoint_run(&ep);
    assert_int_equal(here->count, 1);
    assert_int_equal(there->count, 3);
    assert_string_equal(there->sent[2], CHANGED("1", "prompts"));
    assert_int_equal(ep.engine->listener_count, 1);
    endpoint_close(&ep);
}

static void
H16_stream_that_breaks_is_given_up_although_nobody_says_so(void **state)
{
    struct endpoint_stream *stream;
    struct stream s;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, MCPI_PRIVATE_IDS, NULL);
    stream = endpoint_listen(&ep, LISTEN("1", "{" ALL_LISTS "}"), &s);
    endpoint_run(&ep);
    endpoint_leave(&ep, stream); /* without the trait that cancels */
    assert_int_equal(s.ended, 0);
    mcpi_engine_publish(ep.engine, &tools, ep.now);
    endpoint_pass(&ep, 0);
    assert_int_equal(s.slow, 1);
    assert_int_equal(ep.engine->listener_count, 0);
    endpoint_close(&ep);
}

static void
F28_end_of_input_ends_a_stream_and_not_the_request_beside_it(void **state)
{
    struct mcpi_result result;
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    fake_receive(&f, MODERN_CALL("9"));
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "}"), &s);
    mcpi_peer_input_ended(f.peer, f.w.now);
    assert_int_equal(s.how, MCPI_DROPPED);
    assert_int_equal(s.closing, 0);
    publish(&f, &tools);
    fake_run(&f);
    assert_int_equal(f.event_count, 0); /* the request drains */
    mcpi_result_init(&result, f.engine);
    mcpi_exchange_finish(f.jobs[0], &result, f.w.now);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "drain answer");
    fake_close(&f);
}

static void
F28_end_of_input_closes_at_once_if_only_streams_are_open(void **state)
{
    struct stream a, b;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "}"), &a);
    listen_acked(&f, LISTEN("2", "{}"), &b);
    mcpi_peer_input_ended(f.peer, f.w.now);
    assert_string_equal(fake_said(&f), "drain");
    assert_int_equal(a.how, MCPI_DROPPED);
    assert_int_equal(b.how, MCPI_DROPPED);
    fake_close(&f);
}

/* ---- we end it ------------------------------------------------------------- */

#define GRACEFUL(id)                                                               \
    RESULT(id,                                                                     \
           "{\"resultType\":\"complete\",\"_meta\":{" META_KEY(                    \
               "subscriptionId") ":" id                                            \
                                 "," META_KEY("serverInfo") ":{\"name\":\"fake\"," \
                                                            "\"version\":\"1\"}}}")

static void
H17_stop_says_what_is_due_and_then_the_result(void **state)
{
    struct stream a, b;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("\"a\"", "{" ALL_LISTS "," URIS("\"x:1\"") "}"), &a);
    listen_acked(&f, LISTEN("2", "{}"), &b);
    publish(&f, &tools);
    assert_int_equal(fake_take(&f), 1); /* half written, and due again */
    publish(&f, &tools);
    update(&f, "x:1");
    fake_forget(&f);
    mcpi_peer_close(f.peer, f.w.now);
    assert_int_equal(f.engine->listener_count, 0);
    publish(&f, &prompts);
    fake_take(&f);
    fake_written(&f, 0);
    assert_string_equal(fake_said(&f), "drain note note answer answer");
    assert_string_equal(fake_text(&f, 1), CHANGED("\"a\"", "tools"));
    assert_string_equal(fake_text(&f, 2), UPDATED("\"a\"", "x:1"));
    assert_string_equal(fake_text(&f, 3), GRACEFUL("\"a\""));
    assert_string_equal(fake_text(&f, 4), GRACEFUL("2"));
    assert_int_equal(a.how, MCPI_CLOSED);
    fake_close(&f);
}

static void
H17_stop_before_the_ack_has_left_says_it_first(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    listen_to(&f, LISTEN("1", "{\"toolsListChanged\":true}"), &s);
    publish(&f, &tools);
    mcpi_peer_close(f.peer, f.w.now);
    fake_take(&f);
    fake_written(&f, 0);
    assert_string_equal(fake_said(&f), "drain note note answer");
    assert_string_equal(fake_text(&f, 1), ACK("1", "{\"toolsListChanged\":true}"));
    assert_string_equal(fake_text(&f, 2), CHANGED("1", "tools"));
    fake_close(&f);
}

static void
H17_F31_stop_is_bounded_though_nobody_reads(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    listen_to(&f, LISTEN("1", "{" ALL_LISTS "}"), &s);
    publish(&f, &tools);
    mcpi_peer_close(f.peer, f.w.now);
    fake_pass(&f, SECOND);
    assert_string_equal(fake_said(&f), "drain now");
    assert_int_equal(f.closed, 1);
    fake_close(&f);
}

static void
H17_H18_one_stream_is_ended_by_a_result_and_never_by_a_frame(void **state)
{
    struct mcpi_result last;
    struct stream a, b;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "}"), &a);
    listen_acked(&f, LISTEN("2", "{" ALL_LISTS "}"), &b);
    publish(&f, &tools);
    mcpi_result_init(&last, f.engine);
    stream_closing(a.x, &last);
    stream_finish(&a, &last);
    EXPECT(&f, CHANGED("1", "tools"), CHANGED("2", "tools"), GRACEFUL("1"));
    publish(&f, &prompts);
    EXPECT(&f, CHANGED("2", "prompts"));
    fake_close(&f);
}

static void
H21_closing_needs_no_memory_and_cannot_fail(void **state)
{
    struct mcpi_result last;
    struct stream a, b;
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "," URIS("\"x:1\"") "}"), &a);
    listen_acked(&f, LISTEN("2", "{" ALL_LISTS "," URIS("\"x:1\"") "}"), &b);
    publish(&f, &tools);
    publish(&f, &prompts);
    update(&f, "x:1");
    f.mem->fail_at = f.mem->total + 1;
    f.mem->fail_after = true;
    fake_receive_on(&f, NULL, CANCEL("1"));
    mcpi_result_init(&last, f.engine);
    stream_closing(b.x, &last);
    stream_finish(&b, &last);
    assert_int_equal(f.engine->listener_count, 0);
    f.mem->fail_after = false;
    write_all(&f);
    assert_string_equal(fake_said(&f), "note note note answer");
    assert_non_null(
        strstr(fake_text(&f, 3), "Internal error")); /* no room for its id */
    mcpi_listener_close(NULL, NULL);
    fake_close(&f);
}

/* ---- limits ---------------------------------------------------------------- */

static void
H20_no_slot_is_refused_before_any_ack(void **state)
{
    struct mcpi_limits limits = {.listeners = 2};
    struct stream a, b, c;
    struct fake f;

    (void)state;
    start_with(&f, &limits);
    listen_acked(&f, LISTEN("1", "{}"), &a);
    listen_acked(&f, LISTEN("2", "{}"), &b);
    assert_int_equal(try_listen(&f, LISTEN("3", "{}"), EVERYTHING, &c), MCP_E_LIMIT);
    assert_int_equal(c.why.code, MCPI_RPC_INTERNAL_ERROR);
    assert_string_equal(c.why.message, "Too many subscriptions; the limit is 2");
    EXPECT_NOTHING(&f);
    fake_receive(&f, CANCEL("1"));
    listen_to(&f, LISTEN("4", "{}"), &a);
    EXPECT(&f, ACK("4", "{}"));
    fake_close(&f);
}

static void
H20_too_many_resources_are_refused_and_twins_count_once(void **state)
{
    struct mcpi_limits limits = {.subscribed = 2};
    struct stream a, b;
    struct fake f;

    (void)state;
    start_with(&f, &limits);
    assert_int_equal(try_listen(&f,
                                LISTEN("1", "{" URIS("\"x:1\",\"x:2\",\"x:3\"") "}"),
                                EVERYTHING, &a),
                     MCP_E_LIMIT);
    assert_int_equal(a.why.code, MCPI_RPC_INVALID_PARAMS);
    EXPECT_NOTHING(&f);
    listen_to(&f, LISTEN("2", "{" URIS("\"x:1\",\"x:1\",\"x:2\",\"x:1\"") "}"), &b);
    EXPECT(&f, ACK("2", "{" URIS("\"x:1\",\"x:2\"") "}"));
    fake_close(&f);
}

static void
H20_defaults_are_a_thousand_of_each(void **state)
{
    struct fake f;

    (void)state;
    start(&f);
    assert_int_equal(f.engine->limits.listeners, 1024);
    assert_int_equal(f.engine->limits.subscribed, 1024);
    fake_close(&f);
}

static void
F34_run_limit_does_not_end_a_stream(void **state)
{
    struct fake_options opt = {.role = MCPI_SERVER, .times = {.run = SECOND}};
    struct stream s;
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "}"), &s);
    fake_pass(&f, 3600 * SECOND);
    assert_int_equal(s.ended, 0);
    publish(&f, &tools);
    EXPECT(&f, CHANGED("1", "tools"));
    fake_close(&f);
}

/* ---- links that do much from inside ---------------------------------------- */

static void
write_from_inside(struct fake *f, struct mcpi_outlet *outlet)
{
    (void)outlet;
    if (f->user)
        return; /* from inside of itself */
    f->user = f;
    fake_run(f);
    f->user = NULL;
}

static void
link_that_writes_from_inside_gets_all_in_order(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    f.on_wake = write_from_inside;
    listen_to(&f, LISTEN("1", "{" ALL_LISTS "," URIS("\"x:\"") "}"), &s);
    publish(&f, &tools);
    name_many(&f, 2);
    publish(&f, &tools);
    f.on_wake = NULL;
    EXPECT(&f, ACK("1", "{" ALL_LISTS "," URIS("\"x:\"") "}"), CHANGED("1", "tools"),
           UPDATED("1", "x:/0"), UPDATED("1", "x:/1"), CHANGED("1", "tools"));
    fake_close(&f);
}

/* What a link, or who watches it, may do to the others while one is told. */
static void
close_others(struct fake *f, struct mcpi_outlet *outlet)
{
    struct stream *s = f->user;

    (void)outlet;
    for (int i = 1; i < 3; i++)
        if (s[i].listener)
            stream_end(&s[i], MCPI_RPC_INTERNAL_ERROR);
}

static void
stream_that_goes_while_another_is_told_is_not_told(void **state)
{
    struct stream s[4];
    struct fake f;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("0", "{" ALL_LISTS "}"), &s[0]);
    listen_acked(&f, LISTEN("1", "{" ALL_LISTS "}"), &s[1]);
    listen_acked(&f, LISTEN("2", "{" ALL_LISTS "}"), &s[2]);
    listen_acked(&f, LISTEN("3", "{" ALL_LISTS "}"), &s[3]);
    f.user = s;
    f.on_wake = close_others;
    publish(&f, &tools);
    f.on_wake = NULL;
    write_all(&f);
    assert_string_equal(fake_said(&f), "note answer answer note");
    assert_string_equal(fake_text(&f, 3), CHANGED("3", "tools"));
    assert_int_equal(f.engine->listener_count, 2);
    fake_close(&f);
}

/* ---- without memory -------------------------------------------------------- */

static bool
receive_if_possible(struct fake *f, const char *text)
{
    struct mcpi_arrival arrival = {0};
    size_t before = f->job_count;

    if (mcp_doc_parse(text, strlen(text), NULL, &arrival.take_doc, NULL) < 0)
        return false;
    mcpi_peer_receive(f->peer, &arrival, f->w.now);
    return f->job_count > before && f->jobs[before]->running;
}

static void
listen_flow(struct test_mem *mem, void *user)
{
    struct fake_options opt = {.role = MCPI_SERVER, .mem = mem};
    bool graceful = *(bool *)user;
    struct stream s = {0};
    struct fake f;

    if (fake_open(&f, &opt) == 0 &&
        receive_if_possible(
            &f, LISTEN("1", "{" ALL_LISTS "," URIS("\"x:1\",\"x:2\"") "}")) &&
        stream_serve(&s, f.jobs[0], EVERYTHING) == 0) {
        publish(&f, &tools);
        fake_run(&f);
        update(&f, "x:1");
        update(&f, "x:2");
        fake_run(&f);
        fake_pass(&f, 0);
        if (graceful)
            mcpi_peer_close(f.peer, f.w.now);
        else
            fake_receive(&f, CANCEL("1"));
        fake_run(&f);
        assert_int_equal(f.engine->listener_count, 0);
    }
    fake_close(&f);
}

static void
every_allocation_of_a_stream_may_fail(void **state)
{
    bool graceful = false;

    (void)state;
    assert_true(test_each_allocation_fails(listen_flow, &graceful) > 10);
    graceful = true;
    assert_true(test_each_allocation_fails(listen_flow, &graceful) > 10);
}

TEST_MAIN(TEST(H15_ack_is_first_and_says_what_is_honored),
          TEST(H15_events_meanwhile_follow_the_ack),
          TEST(filter_that_is_none_is_refused_and_leaves_nothing),
          TEST(only_what_was_asked_for_is_told_and_under_its_own_id),
          TEST(part_of_a_named_resource_is_told_too),
          TEST(H19_what_is_due_to_a_slow_reader_is_due_once),
          TEST(change_after_an_event_was_taken_is_told_again_and_once),
          TEST(uri_that_is_no_text_is_told_to_nobody),
          TEST(H19_full_set_ends_the_stream_from_a_later_turn),
          TEST(H19_slot_is_free_although_the_writer_is_stuck),
          TEST(H19_no_memory_for_an_event_ends_the_stream),
          TEST(H19_changed_list_needs_no_memory),
          TEST(H19_no_memory_to_write_an_event_ends_the_stream),
          TEST(H16_cancel_takes_back_what_waits_and_frees_the_slot),
          TEST(H16_cancel_before_the_ack_has_left_leaves_no_trace),
          TEST(H16_event_that_is_half_written_is_the_last),
          TEST(H16_nothing_follows_although_its_owner_is_late),
          TEST(H16_H23_lost_client_leaves_nothing_behind),
          TEST(H16_client_that_leaves_its_own_stream_ends_that_one),
          TEST(H16_stream_that_breaks_is_given_up_although_nobody_says_so),
          TEST(F28_end_of_input_ends_a_stream_and_not_the_request_beside_it),
          TEST(F28_end_of_input_closes_at_once_if_only_streams_are_open),
          TEST(H17_stop_says_what_is_due_and_then_the_result),
          TEST(H17_stop_before_the_ack_has_left_says_it_first),
          TEST(H17_F31_stop_is_bounded_though_nobody_reads),
          TEST(H17_H18_one_stream_is_ended_by_a_result_and_never_by_a_frame),
          TEST(H21_closing_needs_no_memory_and_cannot_fail),
          TEST(H20_no_slot_is_refused_before_any_ack),
          TEST(H20_too_many_resources_are_refused_and_twins_count_once),
          TEST(H20_defaults_are_a_thousand_of_each),
          TEST(F34_run_limit_does_not_end_a_stream),
          TEST(link_that_writes_from_inside_gets_all_in_order),
          TEST(stream_that_goes_while_another_is_told_is_not_told),
          TEST(every_allocation_of_a_stream_may_fail))
