/* subscribe_test.c - who wants to hear of changes, and is told, in either era */
#include "core/subscribe.h"

#include <stdio.h>
#include <string.h>

#include "support/fake.h"
#include "support/listening.h"

static void
start_with(struct fake *f, const struct mcpi_limits *limits)
{
    struct fake_options opt = {.role = MCPI_SERVER};

    if (limits)
        opt.limits = *limits;
    assert_int_equal(fake_open(f, &opt), 0);
}

static void
start(struct fake *f)
{
    start_with(f, NULL);
}

static int
try_listen(struct fake *f, const char *request, unsigned offered, struct stream *s)
{
    size_t before = f->job_count;

    memset(s, 0, sizeof(*s));
    fake_receive(f, request);
    assert_int_equal(f->job_count, before + 1);
    return stream_serve(s, f->jobs[before], offered);
}

static void
listen_to(struct fake *f, const char *request, struct stream *s)
{
    assert_int_equal(try_listen(f, request, EVERYTHING, s), 0);
}

/* The same, and its acknowledgment is written and forgotten. */
static void
listen_acked(struct fake *f, const char *request, struct stream *s)
{
    listen_to(f, request, s);
    fake_run(f);
    fake_forget(f);
}

static void
publish(struct fake *f, const struct mcpi_event *event)
{
    mcpi_engine_publish(f->engine, event, f->w.now);
}

static void
update(struct fake *f, const char *uri)
{
    struct mcpi_event event = {MCPI_TOPIC_UPDATED, uri};

    publish(f, &event);
}

/* Write until nothing is left. */
static void
write_all(struct fake *f)
{
    while (fake_take(f) > 0)
        fake_written(f, 0);
}

static void
expect_texts(struct fake *f, const char *const *texts, size_t count)
{
    write_all(f);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(fake_text(f, i), texts[i]);
    assert_int_equal(f->event_count, count);
    fake_forget(f);
}

#define EXPECT(f, ...)                                               \
    do {                                                             \
        static const char *const texts_[] = {__VA_ARGS__};           \
        expect_texts(f, texts_, sizeof(texts_) / sizeof(texts_[0])); \
    } while (0)
#define EXPECT_NOTHING(f) expect_texts(f, NULL, 0)

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
    assert_int_equal(mcpi_peer_subscribe(f.peer, "x:1"), 0);
    assert_int_equal(mcpi_peer_subscribe(f.peer, "x:1"), 0);
    assert_int_equal(mcpi_peer_subscribe(f.peer, "f:///d"), 0);
    update(&f, "x:1");
    update(&f, "x:2");
    update(&f, "f:///d/e");
    EXPECT(&f, LEGACY_UPDATED("x:1"), LEGACY_UPDATED("f:///d/e"));
    assert_true(mcpi_peer_unsubscribe(f.peer, "x:1"));
    assert_false(mcpi_peer_unsubscribe(f.peer, "x:1"));
    update(&f, "x:1");
    EXPECT_NOTHING(&f);
    mcpi_peer_unsubscribe_all(f.peer);
    update(&f, "f:///d");
    EXPECT_NOTHING(&f);
    fake_close(&f);
}

static void
session_may_subscribe_to_a_bounded_number(void **state)
{
    struct mcpi_limits limits = {.subscribed = 1000};
    char uri[32];
    struct fake f;

    (void)state;
    start_legacy(&f, &limits);
    for (int i = 0; i < 1000; i++) {
        snprintf(uri, sizeof(uri), "x:%d", i);
        assert_int_equal(mcpi_peer_subscribe(f.peer, uri), 0);
    }
    assert_int_equal(mcpi_peer_subscribe(f.peer, "y:"), MCP_E_LIMIT);
    assert_int_equal(mcpi_peer_subscribe(f.peer, "x:7"), 0);
    assert_true(mcpi_peer_unsubscribe(f.peer, "x:7"));
    assert_int_equal(mcpi_peer_subscribe(f.peer, "y:"), 0);
    update(&f, "x:999");
    update(&f, "x:7");
    EXPECT(&f, LEGACY_UPDATED("x:999"));
    fake_close(&f); /* and all are freed with it */
}

static void
session_that_cannot_be_told_is_mentioned_in_the_log(void **state)
{
    struct fake f;

    (void)state;
    start_legacy(&f, NULL);
    assert_int_equal(mcpi_peer_subscribe(f.peer, "x:1"), 0);
    f.mem->fail_at = f.mem->total + 1;
    f.mem->fail_after = true;
    assert_int_equal(mcpi_peer_subscribe(f.peer, "x:2"), MCP_E_NOMEM);
    publish(&f, &tools);
    update(&f, "x:1");
    assert_true(fake_logged(&f, "W: a client was not told of a change"));
    f.mem->fail_after = false;
    EXPECT_NOTHING(&f);
    fake_close(&f);
}

static void
session_that_is_closed_is_told_nothing(void **state)
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
change_is_told_to_either_era_in_its_own_spelling(void **state)
{
    struct stream s;
    struct fake f;

    (void)state;
    start_legacy(&f, NULL);
    listen_acked(&f, LISTEN("1", "{\"toolsListChanged\":true," URIS("\"x:1\"") "}"),
                 &s); /* a pipe is not locked into one */
    assert_int_equal(mcpi_peer_subscribe(f.peer, "x:1"), 0);
    publish(&f, &tools);
    EXPECT(&f, CHANGED("1", "tools"), LEGACY_CHANGED("tools"));
    update(&f, "x:1");
    EXPECT(&f, UPDATED("1", "x:1"), LEGACY_UPDATED("x:1"));
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
            (void)mcpi_peer_subscribe(f.peer, uri);
        }
        update(&f, "x:39");
        fake_run(&f);
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
          TEST(session_that_cannot_be_told_is_mentioned_in_the_log),
          TEST(session_that_is_closed_is_told_nothing),
          TEST(change_is_told_to_either_era_in_its_own_spelling),
          TEST(every_allocation_of_a_session_may_fail))
