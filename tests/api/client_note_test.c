/* client_note_test.c - callbacks of the client itself: its state, and notifications */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client_fixture.h"

static void
fixture_attach(struct fixture *f, mcp_client_options opt)
{
    opt.allocator = &f->mem.allocator;
    opt.user = &f->told;
    f->client = script_client(&f->s, &opt);
}

static void
a_client_tells_that_it_is_ready_and_that_it_is_gone(void **state)
{
    struct fixture f;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_state = told_state));
    told_await(&f.told, states, 1);
    assert_int_equal(told_status(&f.told), 0);
    script_leave(&f.s);
    told_await(&f.told, states, 2);
    assert_int_equal(told_status(&f.told), MCP_E_CLOSED);
    fixture_close(&f);
}

static void
B22_a_client_that_is_closed_tells_so_and_ends_its_calls(void **state)
{
    mcp_call *calls[3];
    struct fixture f;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_state = told_state));
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            mcp_client_start_tool(f.client, "hang", NULL, NULL, NULL, NULL, &calls[i]),
            0);
    script_line(&f.s, "\"hang\"", 3);
    mcp_client_close(f.client);
    told_await(&f.told, states, 2);
    assert_int_equal(told_status(&f.told), MCP_E_CLOSED);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, NULL, NULL), MCP_E_CLOSED);
        mcp_call_free(calls[i]);
    }
    script_await_end(&f.s);
    mcp_client_free(f.client);
    f.client = NULL;
    assert_int_equal(told_count(&f.told, states), 2); /* once, though it is freed */
    fixture_close(&f);
}

static void
a_client_tells_that_it_could_not_be_opened(void **state)
{
    mcp_error err = {0};
    struct fixture f;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    script_ignore(&f.s, true);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_state = told_state, .no_wait = true,
                                      .era = MCP_ERA_LEGACY, .hello_ms = 20));
    told_await(&f.told, states, 1);
    assert_int_equal(told_status(&f.told), MCP_E_TIMEOUT);
    assert_int_equal(mcp_client_opening(f.client, &err), MCP_E_TIMEOUT);
    assert_int_equal(err.status, MCP_E_TIMEOUT);
    assert_string_not_equal(err.message, "");
    assert_int_equal(mcp_client_opening(f.client, NULL), MCP_E_TIMEOUT);
    script_await_end(&f.s);
    mcp_client_free(f.client);
    f.client = NULL;
    assert_int_equal(told_count(&f.told, states), 1); /* it was never ready */
    fixture_close(&f);
}

static void
a_client_that_is_freed_tells_nothing_more(void **state)
{
    struct fixture f;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_state = told_state));
    told_await(&f.told, states, 1);
    mcp_client_free(f.client);
    f.client = NULL;
    assert_int_equal(told_count(&f.told, states), 1);
    fixture_close(&f);
}

static void
free_inside(mcp_client *client, int status, void *user)
{
    if (status < 0)
        mcp_client_free(client);
    told_state(NULL, status, user);
}

static bool on_workers = false, on_loop = true;

static void
M26_a_client_may_be_freed_inside_its_callback(void **state)
{
    struct fixture f;

    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_state = free_inside,
                                      .callbacks_on_loop = *(bool *)*state));
    told_await(&f.told, states, 1);
    script_leave(&f.s);
    told_await(&f.told, states, 2);
    f.client = NULL;
    while (atomic_load(&f.mem.live) > 0) /* its own thread frees it, soon */
        sched_yield();
    fixture_close(&f);
}

static void
a_notification_is_told(void **state)
{
    struct fixture f;
    int i;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_notification = told_note));
    for (i = 0; i < 20; i++)
        assert_int_equal(mcp_client_call_tool(f.client, "ask", NULL, NULL, NULL, NULL),
                         0);
    told_await(&f.told, notes, 20);
    assert_string_equal(f.told.text, "test/note");
    script_line(&f.s, "\"id\":\"s1\",\"result\":{}", 20); /* its pings were answered */
    fixture_close(&f);
}

static void
what_is_the_librarys_own_is_not_told(void **state)
{
    struct fixture f;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_notification = told_note));
    script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                     "\"params\":{\"requestId\":5}}");
    script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                     "\"params\":{\"progressToken\":5,\"progress\":1}}");
    script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}");
    told_await(&f.told, notes, 1);
    assert_string_equal(f.told.text, "notifications/message");
    fixture_close(&f);
}

/* ---- those with a callback of their own ---------------------------------- */

/* What was told, one line each: "message 4 net {"a":1}". The client's user. */
struct heard {
    struct told told; /* notes counts the lines */
    char text[1024];
};

static void
heard_add(struct heard *h, const char *line)
{
    size_t len;

    pthread_mutex_lock(&h->told.lock);
    len = strlen(h->text);
    snprintf(h->text + len, sizeof h->text - len, "%s\n", line);
    pthread_mutex_unlock(&h->told.lock);
    told_note(NULL, "", NULL, &h->told);
}

static void
on_message(mcp_client *client, enum mcp_severity severity, const char *logger,
           const mcp_json *data, void *user)
{
    char line[256];
    char *text = NULL;

    (void)client;
    if (data)
        assert_int_equal(mcp_json_print(data, false, NULL, &text, NULL), 0);
    snprintf(line, sizeof line, "message %d %s %s", (int)severity,
             logger ? logger : "-", text ? text : "-");
    mcp_text_free(text, NULL);
    heard_add(user, line);
}

static void
on_change(mcp_client *client, enum mcp_change change, const char *uri, void *user)
{
    char line[256];

    (void)client;
    snprintf(line, sizeof line, "change %d %s", (int)change, uri ? uri : "-");
    heard_add(user, line);
}

static void
on_elicited(mcp_client *client, const char *id, void *user)
{
    char line[256];

    (void)client;
    snprintf(line, sizeof line, "elicited %s", id);
    heard_add(user, line);
}

static void
on_other(mcp_client *client, const char *method, const mcp_json *params, void *user)
{
    (void)client;
    (void)params;
    heard_add(user, method);
}

#define NOTE(method, params)                                                           \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" method "\",\"params\":{" params \
    "}}"

static const char *const said[] = {
    NOTE("message", "\"level\":\"warning\",\"logger\":\"net\",\"data\":{\"a\":1}"),
    NOTE("message", "\"level\":\"dire\",\"data\":\"x\""),
    NOTE("tools/list_changed", ""),
    NOTE("prompts/list_changed", ""),
    NOTE("resources/list_changed", ""),
    NOTE("resources/updated", "\"uri\":\"file:///a\""),
    NOTE("elicitation/complete", "\"elicitationId\":\"e1\""), /* nobody asked */
    NOTE("elicitation/complete", "\"elicitationId\":\"e1\""), /* it was done */
    NOTE("resources/updated", "\"uri\":7"),                   /* says nothing */
    NOTE("elicitation/complete", ""),
    NOTE("resources/updated", "\"uri\":\"a\\u0000b\""),  /* not of "a" */
    NOTE("tools/list_changed", "\"uri\":\"file:///a\""), /* of no resource */
};
#define NOTES (sizeof said / sizeof said[0])

static void
heard_is(struct fixture *f, struct heard *h, mcp_client_options opt, size_t lines,
         const char *text)
{
    memset(h, 0, sizeof *h);
    fixture_prepare(f, MCP_ERA_LEGACY);
    told_init(&h->told);
    opt.allocator = &f->mem.allocator;
    opt.user = h;
    f->client = script_client(&f->s, &opt);
    for (size_t i = 0; i < NOTES; i++)
        script_say(&f->s, said[i]);
    told_await(&h->told, notes, lines);
    assert_int_equal(mcp_client_ping(f->client, NULL, NULL), 0);
    assert_string_equal(h->text, text);
    fixture_close(f);
    told_clear(&h->told);
}

static void
each_kind_has_its_callback(void **state)
{
    struct fixture f;
    struct heard h;

    (void)state;
    heard_is(&f, &h,
             SCRIPT_OPTIONS(.on_message = on_message, .on_change = on_change,
                            .on_elicited = on_elicited, .on_notification = on_other),
             NOTES,
             "message 4 net {\"a\":1}\n"
             "message 3 - \"x\"\n" /* a level that nobody knows */
             "change 1 -\nchange 2 -\nchange 4 -\nchange 8 file:///a\n"
             "elicited e1\nelicited e1\n"
             "notifications/resources/updated\n"
             "notifications/elicitation/complete\n"
             "notifications/resources/updated\n"
             "change 1 -\n");
}

static void
what_has_no_callback_is_a_notification_like_any(void **state)
{
    struct fixture f;
    struct heard h;

    (void)state;
    heard_is(&f, &h, SCRIPT_OPTIONS(.on_notification = on_other), NOTES,
             "notifications/message\nnotifications/message\n"
             "notifications/tools/list_changed\nnotifications/prompts/list_changed\n"
             "notifications/resources/list_changed\nnotifications/resources/updated\n"
             "notifications/elicitation/complete\nnotifications/elicitation/complete\n"
             "notifications/resources/updated\n"
             "notifications/elicitation/complete\nnotifications/resources/updated\n"
             "notifications/tools/list_changed\n");
    heard_is(&f, &h, SCRIPT_OPTIONS(.on_change = on_change), 5,
             "change 1 -\nchange 2 -\nchange 4 -\nchange 8 file:///a\nchange 1 -\n");
    heard_is(&f, &h, SCRIPT_OPTIONS(.on_message = on_message), 2,
             "message 4 net {\"a\":1}\nmessage 3 - \"x\"\n");
    heard_is(&f, &h,
             SCRIPT_OPTIONS(.on_elicited = on_elicited, .callbacks_on_loop = true), 2,
             "elicited e1\nelicited e1\n");
}

static void
a_message_about_a_call_is_told(void **state)
{
    struct fixture f;
    struct heard h;

    (void)state;
    memset(&h, 0, sizeof h);
    fixture_prepare(&f, MCP_ERA_MODERN);
    told_init(&h.told);
    f.client = script_client(&f.s,
                             &SCRIPT_OPTIONS(.allocator = &f.mem.allocator,
                                             .on_message = on_message, .user = &h));
    script_say(&f.s, NOTE("message", "\"level\":\"info\",\"data\":7"));
    told_await(&h.told, notes, 1);
    assert_string_equal(h.text, "message 2 - 7\n");
    fixture_close(&f);
    told_clear(&h.told);
}

static void
hear_once(struct test_mem *mem, void *user)
{
    mcp_client *client = NULL;
    struct fixture f;
    struct heard h;
    int r;

    (void)user;
    memset(&h, 0, sizeof h);
    fixture_prepare(&f, MCP_ERA_LEGACY);
    told_init(&h.told);
    r = mcp_client_attach(
        f.s.give_fd, f.s.give_fd,
        &SCRIPT_OPTIONS(.allocator = &mem->allocator, .era = MCP_ERA_LEGACY,
                        .on_message = on_message, .on_change = on_change,
                        .on_elicited = on_elicited, .user = &h),
        &client, NULL);
    if (r == 0) {
        f.s.give_fd = -1;
        for (size_t i = 0; i < NOTES; i++)
            script_say(&f.s, said[i]);
        (void)mcp_client_ping(client, NULL, NULL);
        mcp_client_free(client);
    }
    fixture_close(&f);
    told_clear(&h.told);
}

static void
each_allocation_of_a_note_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(hear_once, NULL) > 20);
}

static void
a_flood_does_not_fill_memory(void **state)
{
    struct fixture f;
    size_t notes;
    int i;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_notification = told_note));
    told_gate(&f.told, true);
    for (i = 0; i < 3000; i++) {
        script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"method\":\"test/flood\"}");
        told_await(&f.told, at_gate, 1); /* it waits no longer, from the first on */
    }
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    told_gate(&f.told, false);
    assert_int_equal(mcp_client_call_tool(f.client, "ask", NULL, NULL, NULL, NULL), 0);
    told_await(&f.told, notes, 1024);
    mcp_client_free(f.client);
    f.client = NULL;
    notes = told_count(&f.told, notes);
    assert_in_range(notes, 1024, 1030);
    fixture_close(&f);
}

static void
count_line(void *user, enum mcp_log_level level, const char *line)
{
    (void)level;
    if (strstr(line, "dropped"))
        atomic_fetch_add((atomic_int *)user, 1);
}

static void
a_flood_of_long_ones_does_not_fill_memory(void **state)
{
    enum { LONG = 1 << 20, MANY = 60 };
    char *line = malloc(LONG + 200);
    atomic_int dropped = 0;
    struct fixture f;
    int at, i;

    (void)state;
    assert_non_null(line);
    at = snprintf(line, 100, "%s",
                  "{\"jsonrpc\":\"2.0\",\"method\":\"test/flood\","
                  "\"params\":{\"a\":\"");
    memset(line + at, 'x', LONG);
    snprintf(line + at + LONG, 10, "\"}}");
    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_notification = told_note,
                                      .on_log = count_line, .log_user = &dropped));
    told_gate(&f.told, true);
    for (i = 0; i < MANY; i++) {
        script_say(&f.s, line);
        told_await(&f.told, at_gate, 1); /* it waits no longer, from the first on */
    }
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    assert_int_equal(atomic_load(&dropped), 1); /* said once, not for each */
    told_gate(&f.told, false);
    told_await(&f.told, notes, 2);
    mcp_client_free(f.client);
    f.client = NULL;
    assert_in_range(told_count(&f.told, notes), 2, 18);
    fixture_close(&f);
    free(line);
}

TEST_MAIN(TEST(a_client_tells_that_it_is_ready_and_that_it_is_gone),
          TEST(B22_a_client_that_is_closed_tells_so_and_ends_its_calls),
          TEST(a_client_tells_that_it_could_not_be_opened),
          TEST(a_client_that_is_freed_tells_nothing_more),
          TEST_AS("workers.M26_a_client_may_be_freed_inside_its_callback",
                  M26_a_client_may_be_freed_inside_its_callback, &on_workers),
          TEST_AS("loop.M26_a_client_may_be_freed_inside_its_callback",
                  M26_a_client_may_be_freed_inside_its_callback, &on_loop),
          TEST(a_notification_is_told), TEST(what_is_the_librarys_own_is_not_told),
          TEST(each_kind_has_its_callback),
          TEST(what_has_no_callback_is_a_notification_like_any),
          TEST(a_message_about_a_call_is_told), TEST(a_flood_does_not_fill_memory),
          TEST(a_flood_of_long_ones_does_not_fill_memory),
          TEST(each_allocation_of_a_note_may_fail))
