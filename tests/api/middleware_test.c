/* middleware_test.c - what stands around every request of a server */
#include "api/raw_client.h"

struct ring {
    const char *name;
    int refuse;
};

static char trail[2048]; /* the loop's; read when it is quiet */

static void
note(const char *who, char what, const char *which)
{
    size_t len = strlen(trail);

    snprintf(trail + len, sizeof(trail) - len, "%s%c%s ", who, what, which);
}

static int
before(mcp_request *req, void *user)
{
    struct ring *ring = user;

    note(ring->name, '<', mcp_request_method(req));
    if (ring->refuse == MCP_E_PEER)
        return mcp_request_fail(req, -32060, NULL, "%s says no", ring->name);
    return ring->refuse;
}

static void
after(mcp_request *req, int rpc_code, void *user)
{
    struct ring *ring = user;
    char code[16];

    (void)req;
    snprintf(code, sizeof(code), "%d", rpc_code);
    note(ring->name, '>', code);
}

static void
on_cancel(mcp_request *req, const char *reason, void *user)
{
    struct ring *ring = user;

    note(ring->name, '!', mcp_request_id(req));
    note("why", ':', reason);
}

static void
use(struct raw *raw, struct ring *ring)
{
    assert_int_equal(
        mcp_server_use(raw->server,
                       &MCP_MIDDLEWARE(.before = before, .after = after,
                                       .on_cancel = on_cancel, .user = ring)),
        0);
}

static int
say(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    note("handler", '.', "");
    return mcp_result_text(out, "said");
}

static void
open_rings(struct raw *raw, struct ring rings[2], bool modern)
{
    raw_make(raw, MCP_SERVER_OPTIONS(.page = 0));
    rings[0].name = "a";
    rings[1].name = "b";
    use(raw, &rings[0]);
    use(raw, &rings[1]);
    raw_tool(raw, MCP_TOOL(.name = "say", .reply = say));
    raw_start(raw, modern);
    raw_expect_silence(raw);
    trail[0] = '\0';
}

static void
the_first_is_the_outermost(void **state)
{
    struct ring rings[2] = {{.refuse = 0}};
    struct raw raw;

    open_rings(&raw, rings, RAW_MODERN);
    raw_call(&raw, "1", "say", NULL);
    raw_expect(&raw, "said");
    assert_string_equal(trail, "a<tools/call b<tools/call handler. b>0 a>0 ");
    raw_done(&raw);
}

static void
all_methods_pass_through_it(void **state)
{
    struct ring rings[2] = {{.refuse = 0}};
    struct raw raw;

    open_rings(&raw, rings, RAW_MODERN);
    raw_ask(&raw, "1", "tools/list", "");
    raw_expect(&raw, "\"tools\"");
    raw_ask(&raw, "2", "own/method", "");
    raw_expect(&raw, "-32601");
    raw_call(&raw, "3", "none", NULL);
    raw_expect(&raw, "-32602");
    assert_string_equal(trail, "a<tools/list b<tools/list b>0 a>0 "
                               "a<own/method b<own/method b>-32601 a>-32601 "
                               "a<tools/call b<tools/call b>-32602 a>-32602 ");
    trail[0] = '\0';
    raw_ask(&raw, "4", RAW_MODERN ? "server/discover" : "ping", "");
    raw_expect(&raw, "\"result\"");
    assert_string_equal(trail, RAW_MODERN
                                   ? "a<server/discover b<server/discover b>0 a>0 "
                                   : "a<ping b<ping b>0 a>0 ");
    raw_done(&raw);
}

static void
it_may_end_a_request_itself(void **state)
{
    struct ring rings[2] = {{.refuse = 0}};
    struct raw raw;

    open_rings(&raw, rings, RAW_MODERN);
    rings[0].refuse = MCP_E_PEER;
    raw_call(&raw, "1", "say", NULL);
    raw_expect(&raw, "\"code\":-32060,\"message\":\"a says no\"");
    assert_string_equal(trail, "a<tools/call a>-32060 ");
    trail[0] = '\0';
    rings[0].refuse = 0;
    rings[1].refuse = MCP_E_LIMIT;
    raw_ask(&raw, "2", RAW_MODERN ? "server/discover" : "ping", "");
    raw_expect(&raw, "\"code\":-32603,\"message\":\"limit reached\"");
    assert_non_null(strstr(trail, "b>-32603 a>-32603 "));
    raw_done(&raw);
}

static int
wait_for_cancel(mcp_request *req, mcp_result *out, void *user)
{
    atomic_int *entered = user;

    (void)out;
    atomic_fetch_add(entered, 1);
    return mcp_request_sleep(req, AWAIT_MS);
}

static void
F25_it_sees_cancels_with_id_and_reason(void **state)
{
    struct ring rings[2] = {{.refuse = 0}};
    atomic_int entered = 0;
    struct raw raw;

    open_rings(&raw, rings, RAW_MODERN);
    raw_tool(&raw, MCP_TOOL(.name = "wait", .run = wait_for_cancel, .user = &entered));
    if (!RAW_MODERN)
        raw_expect(&raw, "list_changed");
    raw_call(&raw, "\"x\"", "wait", NULL);
    RAW_UNTIL(atomic_load(&entered) == 1);
    raw_cancel(&raw, "\"x\"", "too slow");
    RAW_UNTIL(raw_counts(&raw).stopped == 1);
    raw_expect_silence(&raw);
    assert_non_null(strstr(trail, "a<tools/call b<tools/call b!\"x\" why:too slow "
                                  "a!\"x\" why:too slow a<no/such"));
    raw_done(&raw);
}

/* ---- what it does with the requests it sees ------------------------------ */

/* Hooks on the request 2, and what became of them. */
struct hooked {
    atomic_int early, late, deferred, finished;
    atomic_int after_hook, after_defer; /* what they returned in after */
};

static void
count_up(void *user)
{
    atomic_int *count = user;

    atomic_fetch_add(count, 1);
}

static int
hook_before(mcp_request *req, void *user)
{
    struct hooked *h = user;

    if (strcmp(mcp_request_id(req), "2") != 0)
        return 0;
    assert_int_equal(mcp_request_defer(req, count_up, &h->deferred), 0);
    return mcp_request_on_cancel(req, count_up, &h->early, NULL);
}

static void
hook_on_cancel(mcp_request *req, const char *reason, void *user)
{
    struct hooked *h = user;

    (void)reason;
    assert_int_equal(mcp_request_on_cancel(req, count_up, &h->late, NULL), 0);
}

static void
F26_F37_its_hooks_run_for_a_call_that_never_got_a_worker(void **state)
{
    struct hooked h = {0};
    struct gate gate = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.workers = 1));
    assert_int_equal(
        mcp_server_use(raw.server,
                       &MCP_MIDDLEWARE(.before = hook_before,
                                       .on_cancel = hook_on_cancel, .user = &h)),
        0);
    raw_tool(&raw, MCP_TOOL(.name = "gate", .run = gate_run, .user = &gate));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "gate", NULL);
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    raw_call(&raw, "2", "gate", NULL);
    raw_cancel(&raw, "2", "too late");
    RAW_UNTIL(atomic_load(&h.deferred) == 1);
    assert_int_equal(atomic_load(&h.early), 1);
    assert_int_equal(atomic_load(&h.late), 1);
    atomic_store(&gate.open, true);
    raw_expect(&raw, "passed");
    raw_expect_silence(&raw);
    assert_int_equal(atomic_load(&gate.entered), 1);
    assert_int_equal(atomic_load(&h.early), 1);
    assert_int_equal(raw_counts(&raw).canceled_by_peer, 1);
    raw_done(&raw);
}

static void
hook_after(mcp_request *req, int rpc_code, void *user)
{
    struct hooked *h = user;

    (void)rpc_code;
    if (strcmp(mcp_request_method(req), "tools/call") != 0)
        return;
    atomic_store(&h->after_hook, mcp_request_on_cancel(req, count_up, &h->late, NULL));
    atomic_store(&h->after_defer, mcp_request_defer(req, count_up, &h->deferred));
    atomic_fetch_add(&h->finished, 1);
}

static void
nothing_can_be_hung_on_a_request_that_is_over(void **state)
{
    static const char *const names[] = {"reply", "run"};
    struct hooked h = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(
        mcp_server_use(raw.server, &MCP_MIDDLEWARE(.after = hook_after, .user = &h)),
        0);
    raw_tool(&raw, MCP_TOOL(.name = "reply", .reply = say));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = say));
    raw_start(&raw, RAW_MODERN);
    for (int i = 0; i < 2; i++) {
        atomic_store(&h.finished, 0);
        raw_call(&raw, "1", names[i], NULL);
        raw_expect(&raw, "said");
        RAW_UNTIL(atomic_load(&h.finished) == 1);
        assert_int_equal(atomic_load(&h.after_hook), MCP_E_STATE);
        assert_int_equal(atomic_load(&h.after_defer), MCP_E_STATE);
    }
    raw_expect_silence(&raw);
    assert_int_equal(atomic_load(&h.late), 0);
    assert_int_equal(atomic_load(&h.deferred), 0);
    raw_done(&raw);
}

static int
finish_before(mcp_request *req, void *user)
{
    (void)user;
    mcp_request_finish(req, 0);
    return 0;
}

static int
start_and_finish(mcp_request *req, mcp_result *out, void *user)
{
    count_up(user);
    mcp_result_text(out, "started");
    mcp_request_finish(req, 0);
    return 0;
}

static void
it_cannot_finish_what_was_not_begun(void **state)
{
    atomic_int started = 0;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(
        mcp_server_use(raw.server, &MCP_MIDDLEWARE(.before = finish_before)), 0);
    raw_tool(&raw,
             MCP_TOOL(.name = "start", .start = start_and_finish, .user = &started));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "start", NULL);
    raw_expect(&raw, "started");
    raw_expect_silence(&raw);
    assert_int_equal(atomic_load(&started), 1);
    raw_done(&raw);
}

static void
it_is_added_before_anybody_can_come(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_server_use(NULL, &MCP_MIDDLEWARE(.user = NULL)), MCP_E_INVAL);
    assert_int_equal(mcp_server_use(raw.server, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_use(raw.server, &MCP_MIDDLEWARE(.user = NULL)), 0);
    raw_start(&raw, true);
    raw_expect_silence(&raw); /* one without functions changes nothing */
    assert_int_equal(mcp_server_use(raw.server, &MCP_MIDDLEWARE(.user = NULL)),
                     MCP_E_STATE);
    raw_done(&raw);
}

static void
flow_in(struct test_mem *mem, void *user)
{
    struct raw raw;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    (void)mcp_server_use(raw.server, &MCP_MIDDLEWARE(.user = NULL));
    (void)mcp_server_use(raw.server, &MCP_MIDDLEWARE(.user = NULL));
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow_in, NULL) > 4);
}

TEST_MAIN(TEST_ERAS(the_first_is_the_outermost), TEST_ERAS(all_methods_pass_through_it),
          TEST_ERAS(it_may_end_a_request_itself),
          TEST_ERAS(F25_it_sees_cancels_with_id_and_reason),
          TEST_ERAS(F26_F37_its_hooks_run_for_a_call_that_never_got_a_worker),
          TEST_ERAS(nothing_can_be_hung_on_a_request_that_is_over),
          TEST_ERAS(it_cannot_finish_what_was_not_begun),
          TEST(it_is_added_before_anybody_can_come), TEST(each_allocation_may_fail))
