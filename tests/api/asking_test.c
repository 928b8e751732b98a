/* asking_test.c - asking in the legacy era: nested requests, and what ends them */
#include "ask_fixture.h"

#define ROOTS(id) "{'jsonrpc':'2.0','id':" id ",'method':'roots/list'}"
#define NO_ROOTS(id) "{'jsonrpc':'2.0','id':" id ",'result':{'roots':[]}}"
#define TAKEN_BACK(id, reason)                                       \
    "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{" \
    "'requestId':" id ",'reason':'" reason "'}}"
#define ORPHANED "the request it belongs to has ended"

/* Asks for a and b at once, and reports each time it runs. */
struct twice {
    atomic_int runs;
    bool reports;
};

static int
twice_run(mcp_request *req, mcp_result *out, void *user)
{
    struct twice *twice = user;
    int run = atomic_fetch_add(&twice->runs, 1) + 1;
    int r = 0;

    if (twice->reports)
        r = mcp_request_progress(req, run, 0, NULL);
    if (r < 0)
        return r;
    if (mcp_request_answer(req, "a") && mcp_request_answer(req, "b")) {
        if (mcp_request_progress(req, 1, 0, NULL) != MCP_E_INVAL && twice->reports)
            return mcp_result_text(out, "progress went back");
        return mcp_result_text(out, "both");
    }
    (void)mcp_request_roots(req, "a");
    return mcp_request_roots(req, "b");
}

/* A call, and both of its questions have come. */
static void
call_twice(struct raw *raw)
{
    ask_call(raw, "1", "");
    ask_expect(raw, ROOTS("1"));
    ask_expect(raw, ROOTS("2"));
}

static void
start_twice(struct raw *raw, struct twice *twice, mcp_server_options opt)
{
    ask_start_with(raw, false, MCP_TOOL(.run = twice_run, .user = twice), opt);
    call_twice(raw);
}

/* Nothing of a request is left, and its handler did not run again. */
static void
assert_over(struct raw *raw, const struct twice *twice)
{
    RAW_UNTIL(raw_counts(raw).in_flight == 0);
    RAW_UNTIL(raw_counts(raw).live_handlers == 0); /* its worker needs a moment */
    assert_int_equal(atomic_load(&twice->runs), 1);
}

/* ---- answers ------------------------------------------------------------ */

static void
handler_runs_again_when_all_are_answered(void **state)
{
    struct twice twice = {0};
    struct raw raw;

    (void)state;
    start_twice(&raw, &twice, MCP_SERVER_OPTIONS(.page = 0));
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0); /* nobody waits on a worker */
    assert_int_equal(raw_counts(&raw).in_flight, 1);
    ask_send(&raw, NO_ROOTS("2"));
    raw_expect_silence(&raw);
    assert_int_equal(atomic_load(&twice.runs), 1);
    ask_send(&raw, NO_ROOTS("1"));
    ask_expect_text(&raw, "1", "both");
    assert_int_equal(atomic_load(&twice.runs), 2);
    RAW_UNTIL(raw_counts(&raw).in_flight == 0);
    assert_int_equal(raw_counts(&raw).requests, 3); /* initialize, that, silence */
    assert_int_equal(raw_counts(&raw).answered, 2);
    ask_done(&raw);
}

static void
progress_goes_on_rising(void **state)
{
    struct twice twice = {.reports = true};
    struct raw raw;

    (void)state;
    ask_start_with(&raw, false, MCP_TOOL(.run = twice_run, .user = &twice),
                   MCP_SERVER_OPTIONS(.page = 0));
    raw_call_with(&raw, "1", "t", NULL, "\"p\"");
    raw_expect(&raw, "\"progressToken\":\"p\",\"progress\":1");
    ask_expect(&raw, ROOTS("1"));
    ask_expect(&raw, ROOTS("2"));
    ask_send(&raw, NO_ROOTS("1"));
    ask_send(&raw, NO_ROOTS("2"));
    raw_expect(&raw, "\"progressToken\":\"p\",\"progress\":2");
    ask_expect_text(&raw, "1", "both");
    ask_done(&raw);
}

/* Says where it is each time it runs, as a handler does that knows nothing of rounds. */
static int
talk_run(mcp_request *req, mcp_result *out, void *user)
{
    int r;

    r = mcp_request_progress(req, 1, 3, NULL);
    if (r == 0)
        r = mcp_request_log(req, *(const enum mcp_severity *)user, NULL, "on my way");
    if (r < 0)
        return r;
    if (!mcp_request_answer(req, "a"))
        return mcp_request_roots(req, "a");
    r = mcp_request_progress(req, 2, 3, NULL);
    return r < 0 ? r : mcp_result_text(out, "done");
}

static void
what_was_reported_before_is_not_sent_again_and_no_error(void **state)
{
    enum mcp_severity severity = MCP_SEVERITY_DEBUG; /* not wanted */
    struct raw raw;

    (void)state;
    ask_start(&raw, false, talk_run, &severity);
    raw_call_with(&raw, "1", "t", NULL, "\"p\"");
    raw_expect(&raw, "\"progressToken\":\"p\",\"progress\":1");
    ask_expect(&raw, ROOTS("1"));
    ask_send(&raw, NO_ROOTS("1"));
    raw_expect(&raw, "\"progressToken\":\"p\",\"progress\":2");
    ask_expect_text(&raw, "1", "done");
    ask_call(&raw, "2", ""); /* and of a client that wants no progress */
    ask_expect(&raw, ROOTS("2"));
    ask_send(&raw, NO_ROOTS("2"));
    ask_expect_text(&raw, "2", "done");
    ask_done(&raw);
}

static void
log_messages_go_on_after_an_answer(void **state)
{
    enum mcp_severity severity = MCP_SEVERITY_INFO;
    struct raw raw;

    (void)state;
    ask_start(&raw, false, talk_run, &severity);
    ask_call(&raw, "1", "");
    raw_expect(&raw, "on my way");
    ask_expect(&raw, ROOTS("1"));
    ask_send(&raw, NO_ROOTS("1"));
    raw_expect(&raw, "on my way");
    ask_expect_text(&raw, "1", "done");
    ask_done(&raw);
}

static void
level_that_is_set_while_it_asks_holds_for_the_next_run(void **state)
{
    enum mcp_severity severity = MCP_SEVERITY_DEBUG;
    struct raw raw;

    (void)state;
    ask_start(&raw, false, talk_run, &severity);
    ask_call(&raw, "1", "");
    ask_expect(&raw, ROOTS("1"));
    raw_ask(&raw, "8", "logging/setLevel", ",\"level\":\"debug\"");
    raw_expect(&raw, "\"id\":8,\"result\"");
    ask_send(&raw, NO_ROOTS("1"));
    raw_expect(&raw, "on my way");
    ask_expect_text(&raw, "1", "done");
    ask_done(&raw);
}

struct passed {
    atomic_int before, after, canceled, deferred;
};

static void
on_defer(void *user)
{
    atomic_fetch_add(&((struct passed *)user)->deferred, 1);
}

static int
on_before(mcp_request *req, void *user)
{
    struct passed *passed = user;

    if (strcmp(mcp_request_method(req), "tools/call") != 0)
        return 0;
    atomic_fetch_add(&passed->before, 1);
    return mcp_request_defer(req, on_defer, passed);
}

static void
on_after(mcp_request *req, int code, void *user)
{
    (void)code;
    if (strcmp(mcp_request_method(req), "tools/call") == 0)
        atomic_fetch_add(&((struct passed *)user)->after, 1);
}

static void
on_canceled(mcp_request *req, const char *reason, void *user)
{
    (void)req;
    if (strcmp(reason, "enough") == 0)
        atomic_fetch_add(&((struct passed *)user)->canceled, 1);
}

static void
start_with_middleware(struct raw *raw, struct twice *twice, struct passed *passed)
{
    raw_make(raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(
        mcp_server_use(raw->server,
                       &MCP_MIDDLEWARE(.before = on_before, .after = on_after,
                                       .on_cancel = on_canceled, .user = passed)),
        0);
    raw_tool(raw, MCP_TOOL(.name = "t", .run = twice_run, .user = twice));
    raw_start(raw, false); /* it has roots */
    ask_call(raw, "1", "");
    ask_expect(raw, ROOTS("1"));
    ask_expect(raw, ROOTS("2"));
}

static void
middleware_sees_one_request(void **state)
{
    struct passed passed = {0};
    struct twice twice = {0};
    struct raw raw;

    (void)state;
    start_with_middleware(&raw, &twice, &passed);
    assert_int_equal(atomic_load(&passed.deferred), 0); /* the request is not over */
    assert_int_equal(atomic_load(&passed.after), 0);
    ask_send(&raw, NO_ROOTS("1"));
    ask_send(&raw, NO_ROOTS("2"));
    ask_expect_text(&raw, "1", "both");
    assert_int_equal(atomic_load(&passed.before), 1);
    assert_int_equal(atomic_load(&passed.deferred), 1);
    assert_int_equal(atomic_load(&passed.after), 1);
    assert_int_equal(atomic_load(&passed.canceled), 0);
    ask_done(&raw);
}

static void
middleware_is_told_of_a_cancel_while_asking(void **state)
{
    struct passed passed = {0};
    struct twice twice = {0};
    struct raw raw;

    (void)state;
    start_with_middleware(&raw, &twice, &passed);
    raw_cancel(&raw, "1", "enough");
    RAW_UNTIL(atomic_load(&passed.canceled) == 1);
    assert_int_equal(atomic_load(&passed.after), 0);
    assert_over(&raw, &twice);
    RAW_UNTIL(atomic_load(&passed.deferred) == 1);
    ask_done(&raw);
}

/* ---- refusals ----------------------------------------------------------- */

static void
L4_refused_question_ends_the_request_and_its_siblings(void **state)
{
    struct twice twice = {0};
    struct raw raw;

    (void)state;
    start_twice(&raw, &twice, MCP_SERVER_OPTIONS(.page = 0));
    ask_send(&raw, "{'jsonrpc':'2.0','id':2,'error':{'code':-1,'message':'User "
                   "rejected it'}}");
    ask_expect(&raw, TAKEN_BACK("1", "abandoned by the caller"));
    ask_expect(&raw, "{'jsonrpc':'2.0','id':1,'error':{'code':-1,'message':'User "
                     "rejected it'}}");
    assert_over(&raw, &twice);
    assert_int_equal(raw_counts(&raw).failed, 1);
    ask_send(&raw, NO_ROOTS("1")); /* too late */
    raw_expect_silence(&raw);
    ask_done(&raw);
}

static void
what_is_no_answer_ends_the_request(void **state)
{
    struct twice twice = {0};
    struct raw raw;

    (void)state;
    start_twice(&raw, &twice, MCP_SERVER_OPTIONS(.page = 0));
    ask_send(&raw, "{'jsonrpc':'2.0','id':1,'result':{'roots':7}}");
    ask_expect(&raw, TAKEN_BACK("2", "abandoned by the caller"));
    ask_expect_member(&raw, "error",
                      "{'code':-32603,'message':'The answer to roots/list is none: "
                      "roots must be an array'}");
    assert_over(&raw, &twice);
    ask_done(&raw);
}

static void
J1_question_that_times_out_is_taken_back(void **state)
{
    struct twice twice = {0};
    mcp_doc *doc;
    struct raw raw;

    (void)state;
    ask_start_with(&raw, false, MCP_TOOL(.run = twice_run, .user = &twice),
                   MCP_SERVER_OPTIONS(.ask_ms = 20));
    raw_hold_time(&raw);
    call_twice(&raw);
    virtual_clock_pass(&raw.clock, 20);
    doc = ask_next(&raw);
    assert_true(mcp_json_is_string(mcp_json_get(mcp_doc_root(doc), "method"),
                                   "notifications/cancelled"));
    mcp_doc_free(doc);
    raw_expect(&raw, "notifications/cancelled");
    ask_expect_member(&raw, "error",
                      "{'code':-32603,'message':'The client has not answered "
                      "roots/list: timed out'}");
    assert_over(&raw, &twice);
    ask_done(&raw);
}

static void
J2_late_answer_is_dropped(void **state)
{
    struct twice twice = {0};
    struct raw raw;

    (void)state;
    start_twice(&raw, &twice, MCP_SERVER_OPTIONS(.page = 0));
    raw_cancel(&raw, "1", "enough");
    ask_send(&raw, NO_ROOTS("1"));
    ask_send(&raw, NO_ROOTS("2"));
    ask_expect(&raw, TAKEN_BACK("1", ORPHANED));
    ask_expect(&raw, TAKEN_BACK("2", ORPHANED));
    raw_expect_silence(&raw);
    assert_over(&raw, &twice);
    ask_done(&raw);
}

/* What was answered is kept until all is: that counts as the requests themselves do. */
static void
answers_that_are_kept_are_bounded(void **state)
{
    static char answer[40000], line[sizeof(answer) + 200];
    struct twice twice = {0};
    struct raw raw;
    char id[16];
    int calls;

    (void)state;
    memset(answer, 'a', sizeof(answer) - 1);
    ask_start_with(&raw, false, MCP_TOOL(.run = twice_run, .user = &twice),
                   MCP_SERVER_OPTIONS(.held_bytes = 200000));
    for (calls = 1; calls <= 20; calls++) {
        snprintf(id, sizeof(id), "%d", calls);
        ask_call(&raw, id, "");
        if (!strstr(raw_line(&raw), "roots/list"))
            break;
        ask_expect_member(&raw, "method", "'roots/list'");
        snprintf(
            line, sizeof(line),
            "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"roots\":[],\"x\":\"%s\"}}",
            2 * calls - 1, answer);
        raw_send(&raw, line); /* and never the other one */
    }
    assert_in_range(calls, 3, 10);
    ask_done(&raw);
}

/* ---- the end of the request, from outside ------------------------------- */

static void
L10_J6_cancel_takes_all_questions_back_and_says_no_more(void **state)
{
    struct twice twice = {0};
    struct raw raw;

    (void)state;
    start_twice(&raw, &twice, MCP_SERVER_OPTIONS(.page = 0));
    raw_cancel(&raw, "1", "enough");
    ask_expect(&raw, TAKEN_BACK("1", ORPHANED));
    ask_expect(&raw, TAKEN_BACK("2", ORPHANED));
    raw_expect_silence(&raw);
    assert_over(&raw, &twice);
    assert_int_equal(raw_counts(&raw).canceled_by_peer, 1);
    assert_int_equal(raw_counts(&raw).never_started, 1);
    ask_call(&raw, "1", ""); /* the id is free */
    ask_expect(&raw, ROOTS("3"));
    ask_done(&raw);
}

/* Its questions are not taken back one by one: the end of the link says it. */
static void
F29_stop_answers_a_request_that_asks(void **state)
{
    struct twice twice = {0};
    struct raw raw;

    (void)state;
    start_twice(&raw, &twice, MCP_SERVER_OPTIONS(.page = 0));
    mcp_server_stop(raw.server);
    raw_expect(&raw, "\"id\":1,\"error\":{\"code\":-32000,");
    assert_true(raw_at_eof(&raw));
    assert_over(&raw, &twice);
    assert_int_equal(raw_counts(&raw).canceled_by_stop, 1);
    ask_done(&raw);
}

static void
J8_client_that_is_gone_takes_its_request_along(void **state)
{
    struct twice twice = {0};
    struct raw raw;

    (void)state;
    start_twice(&raw, &twice, MCP_SERVER_OPTIONS(.drain_ms = 60000));
    close(raw.fd);
    raw.fd = -1;
    assert_over(&raw, &twice);
    assert_int_equal(raw_counts(&raw).canceled_by_loss, 1);
    ask_done(&raw);
}

/* It can hear us still, but nobody answers any more: there is nothing to drain. */
static void
J8_client_that_says_no_more_is_not_waited_for(void **state)
{
    struct twice twice = {0};
    struct raw raw;

    (void)state;
    start_twice(&raw, &twice, MCP_SERVER_OPTIONS(.drain_ms = 60000));
    assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
    assert_true(raw_at_eof(&raw));
    assert_over(&raw, &twice);
    assert_int_equal(raw_counts(&raw).canceled_by_loss, 1);
    ask_done(&raw);
}

static void
server_is_freed_while_it_asks(void **state)
{
    struct twice twice = {0};
    struct raw raw;

    (void)state;
    start_twice(&raw, &twice, MCP_SERVER_OPTIONS(.page = 0));
    ask_done(&raw);
}

static void
time_of_a_question_does_not_count_as_a_run(void **state)
{
    struct twice twice = {0};
    struct raw raw;

    (void)state;
    ask_start_with(&raw, false,
                   MCP_TOOL(.run = twice_run, .user = &twice, .limit_ms = 2500),
                   MCP_SERVER_OPTIONS(.page = 0));
    raw_hold_time(&raw);
    call_twice(&raw);
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    virtual_clock_pass(&raw.clock, 2700);
    ask_send(&raw, NO_ROOTS("1"));
    ask_send(&raw, NO_ROOTS("2"));
    ask_expect_text(&raw, "1", "both");
    ask_done(&raw);
}

/* ---- many --------------------------------------------------------------- */

static void
fifty_canceled_while_asking_leave_nothing(void **state)
{
    struct twice twice = {0};
    char id[16];
    struct raw raw;

    (void)state;
    ask_start_with(&raw, false, MCP_TOOL(.run = twice_run, .user = &twice),
                   MCP_SERVER_OPTIONS(.page = 0));
    for (int i = 1; i <= 50; i++) {
        snprintf(id, sizeof(id), "%d", i);
        ask_call(&raw, id, "");
    }
    for (int i = 0; i < 100; i++)
        raw_expect(&raw, "roots/list");
    for (int i = 1; i <= 50; i++) {
        snprintf(id, sizeof(id), "%d", i);
        raw_cancel(&raw, id, "enough");
    }
    for (int i = 0; i < 100; i++)
        raw_expect(&raw, "notifications/cancelled");
    raw_expect_silence(&raw);
    RAW_UNTIL(raw_counts(&raw).in_flight == 0);
    assert_int_equal(raw_counts(&raw).live_handlers, 0);
    assert_int_equal(raw_counts(&raw).canceled_by_peer, 50);
    assert_int_equal(atomic_load(&twice.runs), 50);
    ask_done(&raw); /* no memory is left, and `baseline` counts descriptors */
}

/* ---- a state alone ------------------------------------------------------ */

static int
count_run(mcp_request *req, mcp_result *out, void *user)
{
    int n = atoi(mcp_request_state(req));
    char next[16];

    if (n == *(const int *)user)
        return mcp_result_textf(out, "after %d", n);
    snprintf(next, sizeof(next), "%d", n + 1);
    (void)mcp_request_set_state(req, next);
    return MCP_E_INPUT;
}

static void
state_alone_runs_again_at_once(void **state)
{
    struct raw raw;
    int times = 10;

    (void)state;
    ask_start(&raw, false, count_run, &times);
    ask_call(&raw, "1", "");
    ask_expect_text(&raw, "1", "after 10");
    ask_done(&raw);
}

static void
L6_state_alone_comes_to_an_end_too(void **state)
{
    struct raw raw;
    int times = 11;

    (void)state;
    ask_start(&raw, false, count_run, &times);
    ask_call(&raw, "1", "");
    raw_expect(&raw, "\"id\":1,\"error\":{\"code\":-32603,");
    assert_true(raw_logged(&raw, "it has asked 10 times already"));
    ask_done(&raw);
}

/* ---- out of memory ------------------------------------------------------ */

/* Answer whatever is asked until the call is over or the link is. */
static void
flow_answer(struct raw *raw)
{
    const char *line;

    for (line = raw_next(raw); line; line = raw_next(raw)) {
        if (strstr(line, "\"id\":7,"))
            return;
        if (strstr(line, "\"id\":1,\"method\":\"roots/list\""))
            ask_send(raw, NO_ROOTS("1"));
        if (strstr(line, "\"id\":2,\"method\":\"roots/list\""))
            ask_send(raw, NO_ROOTS("2"));
    }
}

static void
flow(struct test_mem *mem, void *user)
{
    struct passed passed = {0};
    struct twice twice = {0};
    struct raw raw;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    raw.lenient = true;
    (void)mcp_server_use(raw.server,
                         &MCP_MIDDLEWARE(.before = on_before, .user = &passed));
    if (mcp_server_add_tool(raw.server,
                            &MCP_TOOL(.name = "t", .reply = twice_run, .user = &twice),
                            NULL) == 0 &&
        raw_try_connect(&raw, false) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        raw_send(&raw, INITIALIZE("0", "2025-11-25"));
        raw_send(&raw, NOTE("notifications/initialized", "{}"));
        ask_call(&raw, "7", "");
        flow_answer(&raw);
    }
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 20);
}

TEST_MAIN(TEST(handler_runs_again_when_all_are_answered), TEST(progress_goes_on_rising),
          TEST(what_was_reported_before_is_not_sent_again_and_no_error),
          TEST(log_messages_go_on_after_an_answer),
          TEST(level_that_is_set_while_it_asks_holds_for_the_next_run),
          TEST(middleware_sees_one_request),
          TEST(middleware_is_told_of_a_cancel_while_asking),
          TEST(L4_refused_question_ends_the_request_and_its_siblings),
          TEST(what_is_no_answer_ends_the_request),
          TEST(answers_that_are_kept_are_bounded),
          TEST(J1_question_that_times_out_is_taken_back),
          TEST(J2_late_answer_is_dropped),
          TEST(L10_J6_cancel_takes_all_questions_back_and_says_no_more),
          TEST(F29_stop_answers_a_request_that_asks),
          TEST(J8_client_that_is_gone_takes_its_request_along),
          TEST(J8_client_that_says_no_more_is_not_waited_for),
          TEST(server_is_freed_while_it_asks),
          TEST(time_of_a_question_does_not_count_as_a_run),
          TEST(fifty_canceled_while_asking_leave_nothing),
          TEST(state_alone_runs_again_at_once),
          TEST(L6_state_alone_comes_to_an_end_too), TEST(each_allocation_may_fail))
