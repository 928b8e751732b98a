/* progress_test.c - reports of a handler on their way to the client */
#include <math.h>

#include "api/raw_client.h"

struct reporter {
    int statuses[16];
    atomic_int entered, returned;
    struct gate gate;
    long calls;
};

static int
report_values(mcp_request *req, mcp_result *out, void *user)
{
    struct reporter *r = user;
    int *at = r->statuses;

    *at++ = mcp_request_progress(req, 1, 0, NULL);
    *at++ = mcp_request_progress(req, 1, 0, NULL); /* does not rise */
    *at++ = mcp_request_progress(req, 0.5, 0, NULL);
    *at++ = mcp_request_progress(req, 2, 10, "two \"of\" ten");
    *at++ = mcp_request_progress(req, (double)NAN, 0, NULL);
    *at++ = mcp_request_progress(req, (double)INFINITY, 0, NULL);
    *at++ = mcp_request_progress(req, 3, (double)NAN, NULL);
    *at++ = mcp_request_progress(req, 3, -1, NULL);
    *at++ = mcp_request_progress(req, 3, 0, "\xff");
    *at++ = mcp_request_progress(NULL, 3, 0, NULL);
    *at++ = mcp_request_progress(req, 3, 0, NULL);
    return mcp_result_text(out, "reported");
}

static void
assert_statuses(const struct reporter *r)
{
    static const int wanted[] = {
        0,           MCP_E_INVAL, MCP_E_INVAL, 0, MCP_E_INVAL, MCP_E_INVAL, MCP_E_INVAL,
        MCP_E_INVAL, MCP_E_INVAL, MCP_E_INVAL, 0};

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        assert_int_equal(r->statuses[i], wanted[i]);
}

static void
reports_come_in_order_before_the_answer(struct raw *raw, const char *name)
{
    raw_call_with(raw, "1", name, NULL, "\"token\"");
    raw_expect(raw, "{\"progressToken\":\"token\",\"progress\":1.0}");
    raw_expect(raw, "{\"progressToken\":\"token\",\"progress\":2.0,\"total\":10.0,"
                    "\"message\":\"two \\\"of\\\" ten\"}");
    raw_expect(raw, "\"progress\":3.0}");
    raw_expect(raw, "reported");
}

static void
I15_what_does_not_rise_is_refused(void **state)
{
    struct reporter on_loop = {.calls = 0}, on_worker = {.calls = 0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "reply", .reply = report_values, .user = &on_loop));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = report_values, .user = &on_worker));
    raw_start(&raw, RAW_MODERN);
    reports_come_in_order_before_the_answer(&raw, "reply");
    reports_come_in_order_before_the_answer(&raw, "run");
    assert_statuses(&on_loop);
    assert_statuses(&on_worker);
    raw_done(&raw);
}

static void
a_client_that_wants_none_gets_none(void **state)
{
    struct reporter r = {.calls = 0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = report_values, .user = &r));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "run", NULL);
    raw_expect(&raw, "reported");
    assert_statuses(&r); /* the same, whoever listens */
    raw_done(&raw);
}

/* ---- faster than it can be sent ----------------------------------------- */

static int
hold_loop(mcp_request *req, mcp_result *out, void *user)
{
    struct reporter *r = user;

    (void)req;
    gate_pass(&r->gate);
    return mcp_result_text(out, "held");
}

static int
flood(mcp_request *req, mcp_result *out, void *user)
{
    struct reporter *r = user;

    RAW_UNTIL(atomic_load(&r->gate.entered) == 1); /* the loop is busy from now on */
    for (r->calls = 1; r->calls <= 1000; r->calls++)
        assert_int_equal(mcp_request_progress(req, (double)r->calls, 1000, NULL), 0);
    atomic_store(&r->gate.open, true);
    return mcp_result_text(out, "flooded");
}

static void
of_what_cannot_be_sent_in_time_the_newest_is(void **state)
{
    struct reporter r = {.calls = 0};
    const char *line;
    int reports = 0;
    bool last = false;
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "hold", .reply = hold_loop, .user = &r));
    raw_tool(&raw, MCP_TOOL(.name = "flood", .run = flood, .user = &r));
    raw_start(&raw, true);
    raw_call_with(&raw, "1", "flood", NULL, "1");
    raw_call(&raw, "2", "hold", NULL);
    raw_expect(&raw, "held");
    for (line = raw_line(&raw); !strstr(line, "flooded"); line = raw_line(&raw)) {
        last = strstr(line, "\"progress\":1000.0") != NULL;
        reports++;
    }
    assert_int_equal(reports, 64);
    assert_true(last);
    raw_done(&raw);
}

/* ---- after the end ------------------------------------------------------ */

static int
report_on(mcp_request *req, mcp_result *out, void *user)
{
    struct reporter *r = user;
    double value = 0;
    int status = 0;

    atomic_fetch_add(&r->entered, 1);
    while (status == 0) {
        status = mcp_request_progress(req, ++value, 0, NULL);
        raw_pause();
    }
    r->statuses[0] = status;
    (void)out;
    return status;
}

static void
I14_F7_a_cancel_ends_who_only_reports(void **state)
{
    struct reporter r = {.calls = 0};
    const char *line;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "on", .run = report_on, .user = &r));
    raw_start(&raw, RAW_MODERN);
    raw_call_with(&raw, "1", "on", NULL, "1");
    raw_expect(&raw, "\"progress\":1.0");
    raw_cancel(&raw, "1", "enough");
    RAW_UNTIL(raw_counts(&raw).stopped == 1);
    assert_int_equal(r.statuses[0], MCP_E_CANCELED);
    raw_ask(&raw, "\"end\"", "no/such", "");
    for (line = raw_line(&raw); strstr(line, "\"progress\""); line = raw_line(&raw))
        continue; /* what was on its way when the cancel came */
    assert_non_null(strstr(line, "\"id\":\"end\""));
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static void
flow_in(struct test_mem *mem, void *user)
{
    struct reporter r = {.calls = 0};

    (void)user;
    raw_flow(mem, &MCP_TOOL(.name = "run", .run = report_values, .user = &r), "1");
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    test_limit(120);
    assert_true(test_each_allocation_fails(flow_in, NULL) > 10);
}

/* ---- letting the client go: where nobody could come back ---------------- */

static int
detach(mcp_request *req, mcp_result *out, void *user)
{
    struct reporter *r = user;

    r->statuses[0] = mcp_request_detach(req);
    r->statuses[1] = mcp_request_detach(req);
    return mcp_result_text(out, "here");
}

static int
detach_canceled(mcp_request *req, mcp_result *out, void *user)
{
    struct reporter *r = user;

    (void)out;
    atomic_store(&r->entered, 1);
    while (!mcp_request_is_canceled(req))
        raw_pause();
    r->statuses[0] = mcp_request_detach(req);
    atomic_store(&r->returned, 1);
    return MCP_E_CANCELED;
}

static void
nobody_is_let_go_on_a_pipe(void **state)
{
    struct reporter r = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "reply", .reply = detach, .user = &r));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = detach, .user = &r));
    raw_tool(&raw, MCP_TOOL(.name = "late", .run = detach_canceled, .user = &r));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "reply", NULL);
    raw_expect(&raw, "here");
    assert_int_equal(r.statuses[0], MCP_E_NO_CHANNEL);
    raw_call(&raw, "2", "run", NULL);
    raw_expect(&raw, "here");
    assert_int_equal(r.statuses[0], 0); /* not known there */
    assert_int_equal(r.statuses[1], 0);
    raw_call(&raw, "3", "late", NULL);
    RAW_UNTIL(atomic_load(&r.entered));
    raw_cancel(&raw, "3", "x");
    RAW_UNTIL(atomic_load(&r.returned));
    assert_int_equal(r.statuses[0], MCP_E_CANCELED);
    assert_int_equal(mcp_request_detach(NULL), MCP_E_INVAL);
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static void
detach_flow(struct test_mem *mem, void *user)
{
    struct reporter r = {0};

    (void)user;
    raw_flow(mem, &MCP_TOOL(.name = "detach", .run = detach, .user = &r), NULL);
}

static void
each_allocation_of_a_detach_may_fail(void **state)
{
    (void)state;
    test_each_allocation_fails(detach_flow, NULL);
}

TEST_MAIN(TEST_ERAS(I15_what_does_not_rise_is_refused),
          TEST_ERAS(a_client_that_wants_none_gets_none),
          TEST(of_what_cannot_be_sent_in_time_the_newest_is),
          TEST_ERAS(I14_F7_a_cancel_ends_who_only_reports),
          TEST(each_allocation_may_fail), TEST_ERAS(nobody_is_let_go_on_a_pipe),
          TEST(each_allocation_of_a_detach_may_fail))
