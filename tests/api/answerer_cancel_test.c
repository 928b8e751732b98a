/* answerer_cancel_test.c - a legacy server takes its questions back */
#include "api/desk.h"

/* Begun, and ended by its own cancel hook. */
static void
finish_canceled(void *user)
{
    mcp_request *req = user;
    struct desk *d = mcp_request_server_user(req);

    desk_add(d, &d->told);
    mcp_request_finish(req, desk_leave(d, req, MCP_E_CANCELED));
}

static int
start_for_cancel(mcp_request *req, mcp_result *out, void *user)
{
    (void)out;
    (void)user;
    (void)desk_of(req);
    assert_null(mcp_request_server(req)); /* it is a client's */
    return mcp_request_on_cancel(req, finish_canceled, req, NULL);
}

static mcp_handler waiting[] = {{.run = wait_for_cancel}, {.start = start_for_cancel}};

static void
J1_a_canceled_question_reaches_its_handler(void **state)
{
    struct desk d;

    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit = *(const mcp_handler *)*state));
    script_say(&d.f.s, DESK_ELICIT("\"q\""));
    desk_await(&d, &d.asked, 1);
    script_say(&d.f.s, DESK_CANCEL("\"q\""));
    desk_await(&d, &d.canceled, 1);
    assert_int_equal(desk_count(&d, &d.told), 1);
    assert_string_equal(d.reason, "no need");
    desk_sync(&d, "after");
    assert_int_equal(script_count(&d.f.s, "\"q\""), 0);
    desk_close(&d);
}

static void
J2_a_late_answer_is_not_sent(void **state)
{
    struct desk d;

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit.run = answer_late));
    script_say(&d.f.s, DESK_ELICIT("\"q\""));
    desk_await(&d, &d.asked, 1);
    script_say(&d.f.s, DESK_CANCEL("\"q\""));
    desk_sync(&d, "before");
    desk_open(&d);
    desk_await(&d, &d.returned, 1);
    assert_int_equal(desk_count(&d, &d.canceled), 1);
    script_say(&d.f.s, DESK_ELICIT("\"r\"")); /* the handler is as good as before */
    (void)script_line(&d.f.s, "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"result\"", 1);
    assert_int_equal(script_count(&d.f.s, "\"q\""), 0);
    desk_close(&d);
}

static void
J3_a_cancel_is_for_what_its_sender_asked(void **state)
{
    struct desk d;
    mcp_call *call;

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit.run = wait_for_cancel));
    assert_int_equal(mcp_client_start_tool(d.f.client, "hang", NULL,
                                           &MCP_CALL_OPTIONS(.id = MCP_NUMBER_ID(7)),
                                           NULL, NULL, &call),
                     0);
    (void)script_line(&d.f.s, "\"id\":7", 1);
    script_say(&d.f.s, DESK_ELICIT("7"));
    desk_await(&d, &d.asked, 1);
    script_say(&d.f.s, DESK_CANCEL("7")); /* of its own question */
    desk_await(&d, &d.canceled, 1);
    assert_int_equal(mcp_call_wait(call, 0, NULL, NULL), MCP_E_AGAIN);

    script_say(&d.f.s, DESK_ELICIT("7"));
    desk_await(&d, &d.asked, 2);
    assert_int_equal(mcp_call_cancel(call, NULL), 0); /* of our own call */
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    (void)script_line(&d.f.s, "notifications/cancelled", 1);
    desk_sync(&d, "after");
    assert_int_equal(desk_count(&d, &d.told), 1); /* the second one waits on */
    mcp_call_free(call);
    desk_close(&d);
}

static void
a_question_that_waits_for_a_worker_is_never_begun(void **state)
{
    struct desk d;
    char line[256];

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d,
                SCRIPT_OPTIONS(.elicit.run = answer_late, .callbacks_on_loop = true));
    for (int i = 0; i < 17; i++) { /* one more than there are workers */
        snprintf(line, sizeof line, DESK_ELICIT("%d"), i);
        script_say(&d.f.s, line);
    }
    desk_await(&d, &d.asked, 16);
    script_say(&d.f.s, DESK_CANCEL("16"));
    desk_sync(&d, "after");
    desk_open(&d);
    desk_await(&d, &d.returned, 16);
    (void)script_line(&d.f.s, "\"accept\"", 16);
    desk_sync(&d, "again");
    assert_int_equal(desk_count(&d, &d.asked), 16);
    desk_close(&d);
}

static void
a_lost_connection_reaches_the_handler(void **state)
{
    struct desk d;

    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit = *(const mcp_handler *)*state));
    script_say(&d.f.s, DESK_ELICIT("\"q\""));
    desk_await(&d, &d.asked, 1);
    script_leave(&d.f.s);
    desk_await(&d, &d.canceled, 1);
    assert_string_equal(d.reason, "connection lost");
    desk_close(&d);
}

static void
a_client_that_closes_waits_for_its_handlers(void **state)
{
    struct desk d;

    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit = *(const mcp_handler *)*state));
    script_say(&d.f.s, DESK_ELICIT("\"q\""));
    script_say(&d.f.s, DESK_ELICIT("\"r\""));
    desk_await(&d, &d.asked, 2);
    mcp_client_free(d.f.client);
    d.f.client = NULL;
    assert_int_equal(desk_count(&d, &d.canceled), 2);
    script_await_end(&d.f.s);
    assert_non_null(strstr(script_line(&d.f.s, "\"id\":\"q\"", 1), "\"error\""));
    desk_close(&d);
}

static int
free_client(mcp_request *req, mcp_result *out, void *user)
{
    struct desk *d = desk_of(req);
    mcp_client *client;

    (void)out;
    (void)user;
    pthread_mutex_lock(&d->lock);
    client = d->f.client;
    pthread_mutex_unlock(&d->lock);
    mcp_client_free(client);
    return desk_leave(d, req, MCP_E_CANCELED);
}

static mcp_handler freeing[] = {{.run = free_client}, {.reply = free_client}};

static void
M26_a_client_may_be_freed_by_its_handler(void **state)
{
    struct desk d;

    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit = *(const mcp_handler *)*state));
    script_say(&d.f.s, DESK_ELICIT("\"q\""));
    desk_await(&d, &d.returned, 1);
    script_await_end(&d.f.s);
    d.f.client = NULL;
    while (atomic_load(&d.f.mem.live) > 0) /* its own thread frees it, soon */
        sched_yield();
    desk_close(&d);
}

static void
J1_fifty_canceled_questions_leave_nothing_behind(void **state)
{
    struct desk d;
    char line[256];

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.elicit.run = wait_for_cancel,
                                   .sample.start = start_for_cancel));
    for (int i = 0; i < 50; i++) {
        snprintf(line, sizeof line, DESK_ELICIT("\"q%d\""), i);
        script_say(&d.f.s, line);
        snprintf(line, sizeof line, DESK_CANCEL("\"q%d\""), i);
        script_say(&d.f.s, line);
        snprintf(line, sizeof line,
                 "{\"jsonrpc\":\"2.0\",\"id\":\"s%d\",\"method\":"
                 "\"sampling/createMessage\",\"params\":{\"maxTokens\":1,"
                 "\"messages\":[]}}",
                 i);
        script_say(&d.f.s, line);
        snprintf(line, sizeof line, DESK_CANCEL("\"s%d\""), i);
        script_say(&d.f.s, line);
    }
    desk_sync(&d, "after");
    /* those of workers may have been canceled before they began */
    desk_await(&d, &d.canceled, 50);
    desk_await(&d, &d.returned, desk_count(&d, &d.asked));
    desk_sync(&d, "again");
    assert_int_equal(script_count(&d.f.s, "\"q"), 0);
    assert_int_equal(script_count(&d.f.s, "\"s1"), 0);
    desk_close(&d);
}

#define OF_EACH(kind, number, test, table) \
    TEST_AS(kind "." #test, test, (table) + (number))

TEST_MAIN(OF_EACH("run", 0, J1_a_canceled_question_reaches_its_handler, waiting),
          OF_EACH("start", 1, J1_a_canceled_question_reaches_its_handler, waiting),
          TEST(J2_a_late_answer_is_not_sent),
          TEST(J3_a_cancel_is_for_what_its_sender_asked),
          TEST(a_question_that_waits_for_a_worker_is_never_begun),
          OF_EACH("run", 0, a_lost_connection_reaches_the_handler, waiting),
          OF_EACH("start", 1, a_lost_connection_reaches_the_handler, waiting),
          OF_EACH("run", 0, a_client_that_closes_waits_for_its_handlers, waiting),
          OF_EACH("start", 1, a_client_that_closes_waits_for_its_handlers, waiting),
          OF_EACH("run", 0, M26_a_client_may_be_freed_by_its_handler, freeing),
          OF_EACH("reply", 1, M26_a_client_may_be_freed_by_its_handler, freeing),
          TEST(J1_fifty_canceled_questions_leave_nothing_behind))
