/* subscribe_test.c - who wants to hear of changes, and is told, in either era */
#include "core/subscribe.h"

#include <stdio.h>
#include <string.h>

#include "core/names.h"
#include "support/listeners.h"

/* ---- legacy sessions ------------------------------------------------------- */

static void
start_legacy(struct fake *f, const struct mcpi_limits *limits)
{
    start_with(f, limits);
    fake_receive(f, INITIALIZE("0", "2025-11-25"));
    fake_run(f);
    fake_forget(f);
}

#define LEGACY_CHANGED(list) \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" list "/list_changed\"}"
#define LEGACY_UPDATED(uri) \
    NOTE("notifications/resources/updated", "{\"uri\":\"" uri "\"}")

static void
session_is_told_of_lists_once_it_has_introduced_itself(void **state)
{
    struct fake f;

    (void)state;
    start(&f);
    publish(&f, &tools);
    EXPECT_NOTHING(&f);
    fake_receive(&f, INITIALIZE("0", "2025-11-25"));
    write_all(&f);
    fake_forget(&f);
    publish(&f, &tools); /* and has not yet said that it is ready */
    publish(&f, &prompts);
    publish(&f, &resources);
    EXPECT(&f, LEGACY_CHANGED("tools"), LEGACY_CHANGED("prompts"),
           LEGACY_CHANGED("resources"));
    fake_close(&f);
}

static void
session_is_told_of_the_resources_it_subscribed_to(void **state)
{
    struct fake f;

    (void)state;
    start_legacy(&f, NULL);
    update(&f, "x:1");
    assert_null(subscribe(&f, "x:1"));
    assert_null(subscribe(&f, "x:1"));
    assert_null(subscribe(&f, "f:///d"));
    update(&f, "x:1");
    update(&f, "x:2");
    update(&f, "f:///d/e");
    EXPECT(&f, LEGACY_UPDATED("x:1"), LEGACY_UPDATED("f:///d/e"));
    assert_true(mcpi_peer_unsubscribe(f.peer, "x:1"));
    assert_false(mcpi_peer_unsubscribe(f.peer, "x:1"));
    update(&f, "x:1");
    EXPECT_NOTHING(&f);
    fake_close(&f);
}

static void
session_may_subscribe_to_a_bounded_number(void **state)
{
    struct mcpi_limits limits = {.subscribed = 1000};
    static char longest[MCPI_WATCHED_URI_MAX + 2];
    char uri[32];
    struct fake f;

    (void)state;
    start_legacy(&f, &limits);
    for (int i = 0; i < 1000; i++) {
        snprintf(uri, sizeof(uri), "x:%d", i);
        assert_null(subscribe(&f, uri));
    }
    assert_string_equal(subscribe(&f, "y:"),
                        "Too many subscriptions; the limit is 1000");
    assert_null(subscribe(&f, "x:7"));
    assert_true(mcpi_peer_unsubscribe(f.peer, "x:7"));
    assert_null(subscribe(&f, "y:"));
    memset(longest, 'z', MCPI_WATCHED_URI_MAX + 1);
    longest[MCPI_WATCHED_URI_MAX + 1] = '\0';
    assert_true(mcpi_peer_unsubscribe(f.peer, "y:"));
    assert_string_equal(subscribe(&f, longest),
                        "The URI is too long; the limit is 8192 bytes");
    assert_null(subscribe(&f, longest + 1));
    update(&f, "x:999");
    update(&f, "x:7");
    EXPECT(&f, LEGACY_UPDATED("x:999"));
    fake_close(&f); /* and all are freed with it */
}

static void
session_that_is_closed_is_told_nothing_new(void **state)
{
    struct fake f;

    (void)state;
    start_legacy(&f, NULL);
    mcpi_peer_close(f.peer, f.w.now);
    publish(&f, &tools);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "drain");
    fake_close(&f);
}

static void
session_that_is_closed_is_told_what_was_due(void **state)
{
    struct fake f;

    (void)state;
    start_legacy(&f, NULL);
    publish(&f, &tools);
    publish(&f, &prompts);
    mcpi_peer_close(f.peer, f.w.now);
    publish(&f, &resources);
    write_all(&f);
    assert_string_equal(fake_said(&f), "drain note note");
    mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
    publish(&f, &tools);
    assert_int_equal(fake_take(&f), 0);
    fake_close(&f);
}

static void
session_that_is_lost_leaves_nothing_behind(void **state)
{
    struct fake f;

    (void)state;
    start_legacy(&f, NULL);
    assert_null(subscribe(&f, "f:///d"));
    publish(&f, &tools);
    assert_int_equal(fake_take(&f), 1); /* half written */
    update(&f, "f:///d/e");
    update(&f, "f:///d");
    mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
    fake_written(&f, MCP_E_CLOSED);
    publish(&f, &tools);
    assert_int_equal(fake_take(&f), 0);
    fake_close(&f); /* no timer, no memory */
}

static void
change_is_told_to_either_era_in_its_own_spelling(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start_legacy(&f, NULL);
    listen_acked(&f, LISTEN("1", "{\"toolsListChanged\":true," URIS("\"x:1\"") "}"),
                 &s); /* a pipe is not locked into one */
    assert_null(subscribe(&f, "x:1"));
    publish(&f, &tools);
    EXPECT(&f, CHANGED("1", "tools"), LEGACY_CHANGED("tools"));
    update(&f, "x:1");
    EXPECT(&f, UPDATED("1", "x:1"), LEGACY_UPDATED("x:1"));
    fake_close(&f);
}

/* ---- a session that does not keep up --------------------------------------- */

/* Log messages wait until not one more is taken. */
static void
fill_outlet(struct fake *f)
{
    static const char params[] = "{\"level\":\"info\",\"data\":\"noise\"}";
    size_t before = f->engine->counts.dropped;

    while (f->engine->counts.dropped == before)
        assert_int_equal(mcpi_peer_notify(f->peer, "notifications/message", params,
                                          sizeof(params) - 1, f->w.now),
                         0);
}

/* How often a text was written, since the last time it was forgotten. */
static int
times_told(struct fake *f, const char *text)
{
    int count = 0;

    for (size_t i = 0; i < f->event_count; i++)
        count += f->events[i].kind == FAKE_TAKE && strcmp(f->events[i].text, text) == 0;
    return count;
}

static void
session_that_lags_is_told_once_it_reads(void **state)
{
    struct mcpi_limits limits = {.queued_bytes = 4096};
    struct fake f;

    (void)state;
    start_legacy(&f, &limits);
    assert_null(subscribe(&f, "x:1"));
    fill_outlet(&f);
    for (int i = 0; i < 100; i++) {
        publish(&f, &tools);
        publish(&f, &prompts);
        update(&f, "x:1");
    }
    write_all(&f);
    assert_int_equal(times_told(&f, LEGACY_CHANGED("tools")), 1);
    assert_int_equal(times_told(&f, LEGACY_CHANGED("prompts")), 1);
    assert_int_equal(times_told(&f, LEGACY_UPDATED("x:1")), 1);
    fake_close(&f);
}

/* What lies below needs room; when there is none it is named by what it lies below. */
static void
session_that_lags_far_is_told_of_all_that_it_watches(void **state)
{
    struct mcpi_limits limits = {.subscribed = 3};
    char uri[32];
    struct fake f;

    (void)state;
    start_legacy(&f, &limits);
    assert_null(subscribe(&f, "x:"));
    assert_null(subscribe(&f, "y:1"));
    for (int i = 0; i < 4; i++) {
        snprintf(uri, sizeof(uri), "x:/%d", i);
        update(&f, uri);
    }
    update(&f, "x:/9"); /* there is room again */
    publish(&f, &tools);
    write_all(&f);
    assert_int_equal(f.event_count, 4);
    assert_int_equal(times_told(&f, LEGACY_UPDATED("x:")), 1);
    assert_int_equal(times_told(&f, LEGACY_UPDATED("y:1")), 1);
    assert_int_equal(times_told(&f, LEGACY_UPDATED("x:/9")), 1);
    assert_int_equal(times_told(&f, LEGACY_CHANGED("tools")), 1);
    assert_int_equal(f.engine->counts.dropped, 0);
    fake_close(&f);
}

static void
session_is_told_of_all_that_it_watches_if_nobody_knows_which(void **state)
{
    char uri[32];
    struct fake f;

    (void)state;
    start_legacy(&f, NULL);
    for (int i = 0; i < 100; i++) {
        snprintf(uri, sizeof(uri), "x:%d", i);
        assert_null(subscribe(&f, uri));
    }
    update(&f, NULL);
    update(&f, NULL);
    update(&f, "x:7");
    write_all(&f);
    assert_int_equal(f.event_count, 100);
    assert_int_equal(times_told(&f, LEGACY_UPDATED("x:7")), 1);
    assert_int_equal(times_told(&f, LEGACY_UPDATED("x:99")), 1);
    fake_close(&f);
}

static void
session_that_unsubscribes_is_told_no_more_of_it(void **state)
{
    struct fake f;

    (void)state;
    start_legacy(&f, NULL);
    assert_null(subscribe(&f, "x:"));
    assert_null(subscribe(&f, "y:1"));
    publish(&f, &tools);
    assert_int_equal(fake_take(&f), 1); /* half written */
    update(&f, "x:/1");
    update(&f, "x:");
    update(&f, "y:1");
    assert_true(mcpi_peer_unsubscribe(f.peer, "x:"));
    fake_written(&f, 0);
    assert_int_equal(fake_take(&f), 1);
    assert_true(mcpi_peer_unsubscribe(f.peer, "y:1")); /* too late */
    fake_written(&f, MCP_E_NOMEM);
    fake_pass(&f, 2 * SECOND);
    EXPECT(&f, LEGACY_CHANGED("tools"), LEGACY_UPDATED("y:1"));
    fake_close(&f);
}

/* ---- without memory -------------------------------------------------------- */

static void
session_is_told_although_there_is_no_memory(void **state)
{
    struct fake f;

    (void)state;
    start_legacy(&f, NULL);
    assert_null(subscribe(&f, "x:1"));
    f.mem->fail_at = f.mem->total + 1;
    f.mem->fail_after = true;
    assert_string_equal(subscribe(&f, "x:2"), "no memory");
    publish(&f, &tools);
    update(&f, "x:1/2"); /* no memory for its name: told by that of x:1 */
    f.mem->fail_after = false;
    EXPECT(&f, LEGACY_CHANGED("tools"), LEGACY_UPDATED("x:1"));
    fake_close(&f);
}

static void
session_is_told_later_if_there_is_no_memory_to_write(void **state)
{
    static char uri[5000] = "x:";
    struct fake f;

    (void)state;
    memset(uri + 2, 'u', sizeof(uri) - 3);
    start_legacy(&f, NULL);
    assert_null(subscribe(&f, uri));
    update(&f, uri);
    publish(&f, &tools);
    f.mem->fail_at = f.mem->total + 1;
    assert_int_equal(fake_take(&f), 0);
    assert_true(mcpi_outlet_is_empty(mcpi_peer_outlet(f.peer)));
    fake_pass(&f, 2 * SECOND);
    write_all(&f);
    assert_int_equal(f.event_count, 2);
    assert_string_equal(fake_text(&f, 0), LEGACY_CHANGED("tools"));
    assert_non_null(strstr(fake_text(&f, 1), uri));
    fake_close(&f);
}

/* A link that can write nothing, from inside of being woken. */
static void
fail_from_inside(struct fake *f, struct mcpi_outlet *outlet)
{
    (void)outlet;
    if (fake_take(f) > 0)
        fake_written(f, MCP_E_NOMEM);
}

static void
session_that_cannot_be_written_to_is_not_tried_without_end(void **state)
{
    struct fake f;

    (void)state;
    start_legacy(&f, NULL);
    f.on_wake = fail_from_inside;
    publish(&f, &tools);
    publish(&f, &prompts);
    assert_int_equal(f.event_count, 2);
    fake_forget(&f);
    f.on_wake = NULL;
    fake_pass(&f, 2 * SECOND);
    write_all(&f);
    assert_int_equal(f.event_count, 2);
    assert_int_equal(times_told(&f, LEGACY_CHANGED("tools")), 1);
    assert_int_equal(times_told(&f, LEGACY_CHANGED("prompts")), 1);
    fake_close(&f);
}

static void
change_whose_name_fits_into_no_message_is_mentioned_in_the_log(void **state)
{
    struct mcpi_limits limits = {.message_bytes = 4096};
    static char uri[9000] = "x:/";
    struct fake f;

    (void)state;
    memset(uri + 3, 'u', sizeof(uri) - 4);
    start_legacy(&f, &limits);
    f.buf.max = 8192;
    assert_null(subscribe(&f, "x:"));
    update(&f, uri);
    publish(&f, &tools);
    write_all(&f);
    assert_true(fake_logged(&f, "W: a client was not told of a change"));
    EXPECT(&f, LEGACY_CHANGED("tools"));
    fake_close(&f);
}

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
session_flow(struct test_mem *mem, void *user)
{
    struct fake_options opt = {.role = MCPI_SERVER, .mem = mem};
    char uri[16];
    struct fake f;

    (void)user;
    if (fake_open(&f, &opt) == 0) {
        (void)receive_if_possible(&f, INITIALIZE("0", "2025-11-25"));
        fake_run(&f);
        for (int i = 0; i < 40; i++) {
            snprintf(uri, sizeof(uri), "x:%d", i);
            (void)subscribe(&f, uri);
        }
        update(&f, "x:39");
        update(&f, "x:38/1");
        publish(&f, &tools);
        update(&f, NULL);
        write_all(&f);
        fake_pass(&f, 2 * SECOND);
        write_all(&f);
        if (f.peer->initialized)
            assert_int_equal(times_told(&f, LEGACY_CHANGED("tools")), 1);
    }
    fake_close(&f);
}

static void
every_allocation_of_a_session_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(session_flow, NULL) > 40);
}

TEST_MAIN(TEST(session_is_told_of_lists_once_it_has_introduced_itself),
          TEST(session_is_told_of_the_resources_it_subscribed_to),
          TEST(session_may_subscribe_to_a_bounded_number),
          TEST(session_that_is_closed_is_told_nothing_new),
          TEST(session_that_is_closed_is_told_what_was_due),
          TEST(session_that_is_lost_leaves_nothing_behind),
          TEST(change_is_told_to_either_era_in_its_own_spelling),
          TEST(session_that_lags_is_told_once_it_reads),
          TEST(session_that_lags_far_is_told_of_all_that_it_watches),
          TEST(session_is_told_of_all_that_it_watches_if_nobody_knows_which),
          TEST(session_that_unsubscribes_is_told_no_more_of_it),
          TEST(session_is_told_although_there_is_no_memory),
          TEST(session_is_told_later_if_there_is_no_memory_to_write),
          TEST(session_that_cannot_be_written_to_is_not_tried_without_end),
          TEST(change_whose_name_fits_into_no_message_is_mentioned_in_the_log),
          TEST(every_allocation_of_a_session_may_fail))
