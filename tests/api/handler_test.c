/* handler_test.c - a tool's handler is run: at once, on a worker, or begun */
#include "api/raw_client.h"
#include "api/request.h"

struct place {
    const char *name;
    int64_t size;
};

static const mcp_field place_fields[] = {
    MCP_FIELD(struct place, name, MCP_STRING, MCP_REQUIRED, NULL),
    MCP_FIELD_WITH(struct place, size, MCP_INT, 0, NULL, MCP_MINIMUM(1)),
    {0},
};

static const char place_schema[] =
    "{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{\"name\":"
    "{\"type\":\"string\"},\"size\":{\"type\":\"integer\",\"minimum\":1}}}";

struct handler {
    atomic_int runs;
    atomic_bool on_worker;
    mcp_request *req;
    mcp_timer *timer;
    pthread_t thread;
    struct gate gate;
};

static int
note_run(mcp_request *req, mcp_result *out, void *user)
{
    struct handler *h = user;

    (void)req;
    atomic_fetch_add(&h->runs, 1);
    atomic_store(&h->on_worker, !mcpi_loop_any_here());
    return mcp_result_text(out, "ran");
}

/* ---- arguments ---------------------------------------------------------- */

static void
call_with_arguments(struct raw *raw, struct handler *h, const char *name)
{
    int runs = atomic_load(&h->runs);

    raw_call(raw, "1", name, "{\"name\":5}");
    raw_expect(raw, "{\"type\":\"text\",\"text\":\"Invalid arguments: /name");
    raw_call(raw, "1", name, "{\"name\":\"a\",\"size\":0}");
    assert_non_null(strstr(raw_expect(raw, "/size"), "\"isError\":true"));
    raw_call(raw, "1", name, NULL);
    raw_expect(raw, "\"isError\":true");
    assert_int_equal(atomic_load(&h->runs), runs); /* it has not seen them */
    raw_call(raw, "1", name, "{\"name\":\"a\"}");
    raw_expect(raw, "ran");
}

static void
arguments_that_do_not_fit_are_told_to_the_model(void **state)
{
    struct handler h = {.timer = NULL};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "reply_fields", .fields = place_fields,
                            .reply = note_run, .user = &h));
    raw_tool(&raw, MCP_TOOL(.name = "reply_schema", .input_schema = place_schema,
                            .reply = note_run, .user = &h));
    raw_tool(&raw, MCP_TOOL(.name = "run_fields", .fields = place_fields,
                            .run = note_run, .user = &h));
    raw_tool(&raw, MCP_TOOL(.name = "run_schema", .input_schema = place_schema,
                            .run = note_run, .user = &h));
    raw_start(&raw, RAW_MODERN);
    call_with_arguments(&raw, &h, "reply_fields");
    assert_false(atomic_load(&h.on_worker));
    call_with_arguments(&raw, &h, "reply_schema");
    call_with_arguments(&raw, &h, "run_fields");
    assert_true(atomic_load(&h.on_worker));
    call_with_arguments(&raw, &h, "run_schema");
    raw_done(&raw);
}

static const char where_schema[] =
    "{\"type\":\"object\",\"required\":[\"at\"],\"properties\":{\"at\":{\"anyOf\":["
    "{\"type\":\"string\",\"minLength\":2},{\"type\":\"object\",\"required\":[\"x\"],"
    "\"properties\":{\"x\":{\"type\":\"number\"}}}]}}}";

static void
an_argument_may_be_of_one_kind_or_another(void **state)
{
    static const char *const bad[] = {"{\"at\":5}", "{\"at\":\"x\"}", "{\"at\":{}}",
                                      "{\"at\":{\"x\":\"1\"}}"};
    static const char *const good[] = {"{\"at\":\"home\"}", "{\"at\":{\"x\":1.5}}"};
    struct handler h = {.timer = NULL};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "go", .input_schema = where_schema, .run = note_run,
                            .user = &h));
    raw_start(&raw, RAW_MODERN);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        raw_call(&raw, "1", "go", bad[i]);
        assert_non_null(
            strstr(raw_expect(&raw, "Invalid arguments: /at"), "\"isError\":true"));
    }
    assert_int_equal(atomic_load(&h.runs), 0);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        raw_call(&raw, "2", "go", good[i]);
        raw_expect(&raw, "ran");
    }
    raw_done(&raw);
}

/* ---- start -------------------------------------------------------------- */

static int
start_refuse(mcp_request *req, mcp_result *out, void *user)
{
    (void)out;
    (void)user;
    return mcp_request_fail(req, -32050, NULL, "not today");
}

static int
start_at_once(mcp_request *req, mcp_result *out, void *user)
{
    struct handler *h = user;

    mcp_result_text(out, "at once");
    mcp_request_finish(req, 0);
    mcp_request_finish(req, MCP_E_NOMEM); /* it is over, though not yet gone */
    atomic_fetch_add(&h->runs, 1);
    return 0;
}

static void
on_timer(void *user)
{
    struct handler *h = user;
    mcp_request *req = h->req;

    mcp_timer_free(h->timer);
    mcp_request_finish(req, mcp_result_text(mcp_request_result(req), "by a timer"));
}

static int
start_timer(mcp_request *req, mcp_result *out, void *user)
{
    struct handler *h = user;

    (void)out;
    h->req = req;
    return mcp_timer_new(mcp_request_loop(req), 1, on_timer, h, &h->timer);
}

static void *
finish_main(void *user)
{
    struct handler *h = user;
    mcp_request *req = h->req;

    assert_int_equal(mcp_request_progress(req, 1, 0, NULL), 0);
    mcp_request_finish(req, mcp_result_text(mcp_request_result(req), "by a thread"));
    return NULL;
}

static int
start_thread(mcp_request *req, mcp_result *out, void *user)
{
    struct handler *h = user;

    (void)out;
    h->req = req;
    return pthread_create(&h->thread, NULL, finish_main, h) == 0 ? 0 : MCP_E_LIMIT;
}

static void
what_was_begun_is_finished_from_anywhere(void **state)
{
    struct handler h = {.timer = NULL};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "refuse", .start = start_refuse, .user = &h));
    raw_tool(&raw, MCP_TOOL(.name = "at_once", .start = start_at_once, .user = &h));
    raw_tool(&raw, MCP_TOOL(.name = "timer", .start = start_timer, .user = &h));
    raw_tool(&raw, MCP_TOOL(.name = "thread", .start = start_thread, .user = &h));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "refuse", NULL);
    raw_expect(&raw, "\"error\":{\"code\":-32050,\"message\":\"not today\"}");
    raw_call(&raw, "2", "at_once", NULL);
    raw_expect(&raw, "at once");
    assert_int_equal(atomic_load(&h.runs), 1);
    raw_call(&raw, "3", "timer", NULL);
    raw_expect(&raw, "by a timer");
    raw_call_with(&raw, "4", "thread", NULL, "4");
    raw_expect(&raw, "\"progress\":1.0"); /* before the answer */
    raw_expect(&raw, "by a thread");
    pthread_join(h.thread, NULL);
    assert_int_equal(raw_counts(&raw).live_handlers, 0);
    raw_done(&raw);
}

static void
on_cancel_finish(void *user)
{
    struct handler *h = user;

    atomic_fetch_add(&h->runs, 1);
    mcp_request_finish(h->req, MCP_E_CANCELED); /* from inside the hook */
}

static int
start_waiting(mcp_request *req, mcp_result *out, void *user)
{
    struct handler *h = user;

    (void)out;
    h->req = req;
    return mcp_request_on_cancel(req, on_cancel_finish, h, NULL);
}

static void
a_hook_may_finish_its_request(void **state)
{
    struct handler h = {.timer = NULL};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "wait", .start = start_waiting, .user = &h));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "wait", NULL);
    raw_expect_silence(&raw);
    assert_int_equal(raw_counts(&raw).live_handlers, 1);
    raw_cancel(&raw, "1", "x");
    raw_expect_silence(&raw);
    assert_int_equal(atomic_load(&h.runs), 1);
    assert_int_equal(raw_counts(&raw).stopped, 1);
    assert_int_equal(raw_counts(&raw).live_handlers, 0);
    raw_done(&raw);
}

static int
finish_wrongly(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    mcp_request_finish(NULL, 0);
    mcp_request_finish(req, MCP_E_NOMEM); /* its return ends it, nothing else does */
    return mcp_result_text(out, "returned");
}

static void
only_what_was_begun_can_be_finished(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "reply", .reply = finish_wrongly));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = finish_wrongly));
    raw_start(&raw, true);
    raw_call(&raw, "1", "reply", NULL);
    raw_expect(&raw, "returned");
    raw_call(&raw, "2", "run", NULL);
    raw_expect(&raw, "returned");
    raw_done(&raw);
}

/* ---- workers ------------------------------------------------------------ */

static void
on_deferred(void *user)
{
    struct handler *h = user;

    atomic_fetch_add(&h->runs, 1);
}

static int
defer_before(mcp_request *req, void *user)
{
    return mcp_request_defer(req, on_deferred, user);
}

static void
F37_what_waits_for_a_worker_is_canceled_without_a_trace(void **state)
{
    struct handler h = {.timer = NULL}, deferred = {.timer = NULL};
    struct gate gate = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.workers = 1));
    assert_int_equal(mcp_server_use(raw.server, &MCP_MIDDLEWARE(.before = defer_before,
                                                                .user = &deferred)),
                     0);
    raw_tool(&raw, MCP_TOOL(.name = "gate", .run = gate_run, .user = &gate));
    raw_tool(&raw, MCP_TOOL(.name = "note", .run = note_run, .user = &h));
    raw_start(&raw, RAW_MODERN);
    atomic_store(&deferred.runs, 0);
    raw_call(&raw, "1", "gate", NULL);
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    raw_call(&raw, "2", "note", NULL);
    RAW_UNTIL(raw_counts(&raw).queued == 1);
    raw_cancel(&raw, "2", "never mind");
    RAW_UNTIL(raw_counts(&raw).never_started == 1);
    assert_int_equal(raw_counts(&raw).queued, 0);
    assert_int_equal(raw_counts(&raw).in_flight, 1); /* the other one */
    assert_int_equal(atomic_load(&deferred.runs), 1);
    atomic_store(&gate.open, true);
    raw_expect(&raw, "passed");
    raw_expect_silence(&raw);
    assert_int_equal(atomic_load(&h.runs), 0);
    raw_done(&raw);
}

static void
F5_C6_a_deaf_handler_holds_only_itself(void **state)
{
    struct handler h = {.timer = NULL};
    struct gate gate = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.workers = 1, .overdue_ms = 1));
    raw_tool(&raw, MCP_TOOL(.name = "deaf", .run = gate_run, .user = &gate));
    raw_tool(&raw, MCP_TOOL(.name = "note", .run = note_run, .user = &h));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "deaf", NULL);
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    raw_call(&raw, "2", "note", NULL);
    raw_cancel(&raw, "1", "listen!");
    raw_expect(&raw, "\"id\":2"); /* the one worker was replaced */
    RAW_UNTIL(raw_counts(&raw).overdue_handlers == 1);
    assert_int_equal(raw_counts(&raw).live_handlers, 1);
    RAW_UNTIL(raw_logged(&raw, "still runs"));
    atomic_store(&gate.open, true);
    RAW_UNTIL(raw_counts(&raw).overdue_handlers == 0);
    RAW_UNTIL(raw_counts(&raw).ran_to_end == 1);
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static void
F10_an_answer_that_is_home_first_wins(void **state)
{
    struct handler h = {.timer = NULL};
    char id[16];
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "note", .run = note_run, .user = &h));
    raw_start(&raw, true);
    for (int i = 0; i < 200; i++) { /* an answer or none, never two, whoever wins */
        snprintf(id, sizeof(id), "%d", i);
        raw_call(&raw, id, "note", NULL);
        raw_cancel(&raw, id, "race");
    }
    raw_ask(&raw, "\"last\"", "no/such", "");
    for (bool last = false; !last;)
        last = strstr(raw_line(&raw), "\"last\"") != NULL;
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    RAW_UNTIL(raw_counts(&raw).answered + raw_counts(&raw).canceled_by_peer == 200);
    RAW_UNTIL(raw_counts(&raw).never_started + raw_counts(&raw).ran_to_end ==
              raw_counts(&raw).canceled_by_peer);
    raw_done(&raw);
}

/* ---- limits ------------------------------------------------------------- */

static int
sleep_on(mcp_request *req, mcp_result *out, void *user)
{
    struct handler *h = user;
    int r = mcp_request_sleep(req, AWAIT_MS);

    (void)out;
    if (r == MCP_E_CANCELED &&
        strcmp(mcp_request_cancel_reason(req), "run limit reached") == 0)
        atomic_fetch_add(&h->runs, 1);
    return r;
}

static void
F34_a_run_has_a_limit(void **state)
{
    struct handler h = {.timer = NULL};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.limit_ms = 20));
    raw_tool(&raw, MCP_TOOL(.name = "server", .run = sleep_on, .user = &h));
    raw_tool(&raw,
             MCP_TOOL(.name = "own", .run = sleep_on, .limit_ms = 10, .user = &h));
    raw_tool(&raw,
             MCP_TOOL(.name = "none", .run = sleep_on, .limit_ms = -1, .user = &h));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "none", NULL);
    raw_call(&raw, "2", "own", NULL);
    raw_expect(&raw, "\"code\":-32603,\"message\":\"Run limit of 10 ms reached\"");
    raw_call(&raw, "3", "server", NULL);
    raw_expect(&raw, "\"code\":-32603,\"message\":\"Run limit of 20 ms reached\"");
    /* one that was still queued never runs */
    RAW_UNTIL(raw_counts(&raw).stopped + raw_counts(&raw).never_started == 2);
    assert_int_equal(raw_counts(&raw).canceled_by_limit, 2);
    assert_int_equal(raw_counts(&raw).in_flight, 1);
    raw_cancel(&raw, "1", "no limit for this one");
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static void
F38_over_the_limit_is_refused_and_cancels_are_read(void **state)
{
    struct gate gate = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.in_flight = 2));
    raw_tool(&raw, MCP_TOOL(.name = "gate", .run = gate_run, .user = &gate));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "gate", NULL);
    raw_call(&raw, "2", "gate", NULL);
    RAW_UNTIL(atomic_load(&gate.entered) == 2);
    raw_call(&raw, "3", "gate", NULL);
    raw_expect(&raw, "Too many requests in flight; the limit is 2");
    raw_cancel(&raw, "1", "make room");
    RAW_UNTIL(raw_counts(&raw).canceled_by_peer == 1);
    atomic_store(&gate.open, true);
    raw_expect(&raw, "\"id\":2");
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    RAW_UNTIL(raw_counts(&raw).ran_to_end == 1);
    raw_call(&raw, "4", "gate", NULL);
    raw_expect(&raw, "\"id\":4");
    raw_done(&raw);
}

/* ---- memory ------------------------------------------------------------- */

static void
run_in(struct test_mem *mem, void *user)
{
    struct handler h = {.timer = NULL};

    (void)user;
    raw_flow(mem,
             &MCP_TOOL(.name = "run", .run = note_run, .user = &h,
                       .input_schema = "{\"type\":\"object\"}"),
             NULL);
}

static void
start_in(struct test_mem *mem, void *user)
{
    struct handler h = {.timer = NULL};

    (void)user;
    raw_flow(mem, &MCP_TOOL(.name = "start", .start = start_at_once, .user = &h), NULL);
}

/* ---- no threads --------------------------------------------------------- */

static size_t
count_logged(struct raw *raw, const char *part)
{
    size_t count = 0;

    pthread_mutex_lock(&raw_log_lock);
    for (const char *at = strstr(raw->log, part); at; at = strstr(at + 1, part))
        count++;
    pthread_mutex_unlock(&raw_log_lock);
    return count;
}

static void
call_without_workers(struct raw *raw, int times)
{
    for (int i = 0; i < times; i++) {
        raw_call(raw, "1", "note", NULL);
        raw_expect(raw, "No worker is free");
    }
}

static void
that_no_worker_can_be_started_is_logged_once_a_minute(void **state)
{
    const struct mcpi_pool_options no_thread = {.stack = SIZE_MAX / 4};
    struct handler h = {.timer = NULL};
    struct mcpi_pool *pool;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "note", .run = note_run, .user = &h));
    pool = raw.server->trunk.host.pool;
    assert_int_equal(mcpi_pool_new(&no_thread, &raw.server->trunk.host.pool), 0);
    raw_start(&raw, RAW_MODERN);
    raw_hold_time(&raw);
    call_without_workers(&raw, 20);
    assert_int_equal(count_logged(&raw, "no worker for tools/call note"), 1);
    virtual_clock_pass(&raw.clock, 60000);
    call_without_workers(&raw, 20);
    assert_int_equal(count_logged(&raw, "no worker for tools/call note"), 2);
    assert_int_equal(atomic_load(&h.runs), 0);
    assert_int_equal(mcpi_pool_free(pool, 0), 0);
    raw_done(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(run_in, NULL) > 10);
    assert_true(test_each_allocation_fails(start_in, NULL) > 10);
}

TEST_MAIN(TEST_ERAS(arguments_that_do_not_fit_are_told_to_the_model),
          TEST_ERAS(an_argument_may_be_of_one_kind_or_another),
          TEST_ERAS(what_was_begun_is_finished_from_anywhere),
          TEST_ERAS(a_hook_may_finish_its_request),
          TEST(only_what_was_begun_can_be_finished),
          TEST_ERAS(F37_what_waits_for_a_worker_is_canceled_without_a_trace),
          TEST_ERAS(F5_C6_a_deaf_handler_holds_only_itself),
          TEST(F10_an_answer_that_is_home_first_wins), TEST_ERAS(F34_a_run_has_a_limit),
          TEST_ERAS(F38_over_the_limit_is_refused_and_cancels_are_read),
          TEST_ERAS(that_no_worker_can_be_started_is_logged_once_a_minute),
          TEST(each_allocation_may_fail))
