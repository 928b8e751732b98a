/* http_event_test.c - messages as server-sent events: taken, kept, said once more */
#include "link/http_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/turn.h"

/* A store that has events 1 to `has` of every stream, each of that many bytes. */
struct shelf {
    mcp_event_store interface;
    uint64_t has, first;
    size_t bytes;
    char *data;
    int refuse; /* what append returns */
    uint64_t appended, forgotten;
};

static int
shelf_append(void *self, const char *session, uint64_t stream, uint64_t number,
             const char *data, size_t len)
{
    struct shelf *shelf = self;

    (void)session;
    (void)stream;
    (void)data;
    (void)len;
    assert_int_equal(number, shelf->appended + 1);
    shelf->appended++;
    return shelf->refuse;
}

static int
shelf_replay(void *self, const char *session, uint64_t stream, uint64_t after,
             void (*each)(void *user, uint64_t number, const char *data, size_t length),
             void *user)
{
    const struct shelf *shelf = self;

    (void)session;
    (void)stream;
    if (after > shelf->has || after + 1 < shelf->first)
        return MCP_E_INVAL;
    for (uint64_t i = after + 1; i <= shelf->has; i++)
        each(user, i, shelf->data, shelf->bytes);
    return 0;
}

static void
shelf_forget(void *self, const char *session, uint64_t stream)
{
    struct shelf *shelf = self;

    (void)session;
    (void)stream;
    shelf->forgotten++;
}

static void
shelf_init(struct shelf *shelf, uint64_t has, size_t bytes)
{
    static char data[40000]; /* of every event */

    assert_true(bytes <= sizeof(data));
    memset(data, 'x', sizeof(data));
    *shelf = (struct shelf){.has = has, .bytes = bytes, .data = data};
    shelf->interface = MCP_EVENT_STORE(.append = shelf_append, .replay = shelf_replay,
                                       .forget = shelf_forget, .self = shelf);
}

static struct mcpi_session *
start(struct desk *d, struct shelf *shelf)
{
    desk_start(d);
    d->http.store = &shelf->interface;
    return desk_session(d, "2025-11-25");
}

static void
finish(struct desk *d)
{
    desk_end_sessions(d);
    d->http.store = NULL;
    desk_close(d);
}

/* ---- cases ----------------------------------------------------------------- */

static void
a_long_replay_goes_in_pieces_as_the_client_reads(void **state)
{
    struct desk d;
    struct shelf shelf;
    struct mcpi_session *s;
    struct turn t;

    (void)state;
    shelf_init(&shelf, 100, 10000);
    s = start(&d, &shelf);
    desk_open_get(&d, s, &t, "77-3"); /* one that has ended */
    t.full = true;
    desk_step(&d);
    assert_false(turn_is_over(&t));
    for (int i = 0; i < 100 && !turn_is_over(&t); i++) {
        assert_true(t.longest < MCPI_HTTP_BATCH + 11000);
        turn_read(&t);
        t.full = true;
        desk_step(&d);
    }
    assert_true(turn_is_over(&t));
    assert_int_equal(turn_count(&t, "id: 77-"), 97);
    assert_int_equal(turn_count(&t, "id: 77-4\n"), 1);
    assert_int_equal(turn_count(&t, "id: 77-100\n"), 1);
    assert_non_null(strstr(t.said, "write end"));
    turn_done(&t);
    finish(&d);
}

static void
a_client_may_leave_in_the_middle_of_a_replay(void **state)
{
    struct desk d;
    struct shelf shelf;
    struct mcpi_session *s;
    struct turn t;

    (void)state;
    shelf_init(&shelf, 100, 10000);
    s = start(&d, &shelf);
    desk_open_get(&d, s, &t, "77-3");
    t.full = true;
    desk_step(&d);
    assert_true(t.kept);
    turn_go(&t);
    assert_int_equal(desk_streams(&d), 0);
    turn_done(&t);
    finish(&d);
}

static void
what_the_store_loses_meanwhile_is_lost(void **state)
{
    struct desk d;
    struct shelf shelf;
    struct mcpi_session *s;
    struct turn t;

    (void)state;
    shelf_init(&shelf, 100, 40000);
    s = start(&d, &shelf);
    desk_open_get(&d, s, &t, "77-0");
    t.full = true;
    desk_step(&d);
    shelf.first = 90;
    turn_read(&t);
    desk_step(&d);
    assert_true(turn_is_over(&t));
    turn_done(&t);
    finish(&d);
}

static void
an_event_that_is_not_kept_is_still_said(void **state)
{
    struct desk d;
    struct shelf shelf;
    struct mcpi_session *s;
    struct turn t;

    (void)state;
    shelf_init(&shelf, 0, 1);
    shelf.refuse = MCP_E_LIMIT;
    s = start(&d, &shelf);
    desk_post(&d, s, &t, LEGACY_CALL("1"));
    desk_step(&d);
    desk_notify(&d, 0, "a");
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "open write end");
    assert_true(turn_says(&t, "id: 2-3\n"));
    assert_int_equal(shelf.appended, 3);
    turn_done(&t);
    finish(&d);
}

static void
nothing_is_kept_of_a_session_that_ends(void **state)
{
    struct desk d;
    struct shelf shelf;
    struct mcpi_session *s;
    struct turn t;

    (void)state;
    shelf_init(&shelf, 0, 1);
    s = start(&d, &shelf);
    desk_post(&d, s, &t, LEGACY_CALL("1"));
    desk_step(&d);
    assert_int_equal(shelf.appended, 1);
    mcpi_session_end(s, "enough");
    desk_step(&d);
    assert_true(turn_says(&t, "-32800"));
    assert_int_equal(shelf.appended, 1);
    assert_int_equal(shelf.forgotten, 1);
    turn_done(&t);
    finish(&d);
}

static void
one_long_message_is_not_kept_for_ever(void **state)
{
    size_t len = (size_t)3 * 1024 * 1024;
    struct mcpi_result result;
    struct desk d;
    struct turn t;
    char *text = malloc(len + 1);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', len);
    text[len] = '\0';
    desk_start(&d);
    desk_post(&d, NULL, &t, MODERN_CALL("1"));
    mcpi_result_init(&result, d.engine);
    mcpi_buf_text(&result.body, "{\"x\":\"");
    mcpi_buf_append(&result.body, text, len);
    mcpi_buf_text(&result.body, "\"}");
    mcpi_exchange_finish(desk_job(&d, 0), &result, d.now);
    desk_step(&d);
    assert_true(t.len > len);
    assert_true(d.endpoint.scratch.cap > len);
    turn_done(&t);
    desk_post(&d, NULL, &t, MODERN_CALL("1"));
    desk_finish(&d, 1, "{}");
    desk_step(&d);
    turn_assert_said(&t, "reply");
    assert_true(d.endpoint.scratch.cap < len);
    turn_done(&t);
    desk_close(&d);
    free(text);
}

/* However small whoever made the buffer thought it could be. */
static void
the_longest_message_fits_behind_others(void **state)
{
    struct mcpi_result result;
    struct desk d;
    struct turn t;
    size_t len;
    char *text;

    (void)state;
    desk_start(&d);
    len = (size_t)1024 * 1024;
    d.engine->limits.message_bytes = len + 1024;
    d.endpoint.scratch.max = (uint32_t)len + 1024;
    text = malloc(len);
    assert_non_null(text);
    memset(text, 'x', len);
    desk_post(&d, NULL, &t, MODERN_CALL("1"));
    for (int i = 0; i < 200; i++)
        desk_notify(&d, 0, "a");
    mcpi_result_init(&result, d.engine);
    mcpi_buf_text(&result.body, "{\"x\":\"");
    mcpi_buf_append(&result.body, text, len);
    mcpi_buf_text(&result.body, "\"}");
    mcpi_exchange_finish(desk_job(&d, 0), &result, d.now);
    desk_step(&d);
    turn_assert_said(&t, "open end");
    assert_true(t.len > len);
    assert_true(turn_says(&t, "\"result\""));
    turn_done(&t);
    desk_close(&d);
    free(text);
}

TEST_MAIN(TEST(a_long_replay_goes_in_pieces_as_the_client_reads),
          TEST(a_client_may_leave_in_the_middle_of_a_replay),
          TEST(what_the_store_loses_meanwhile_is_lost),
          TEST(an_event_that_is_not_kept_is_still_said),
          TEST(nothing_is_kept_of_a_session_that_ends),
          TEST(one_long_message_is_not_kept_for_ever),
          TEST(the_longest_message_fits_behind_others))
