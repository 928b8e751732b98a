/* direct_test.c - a client and a server in one process, joined in memory (group G) */
#include <mcp/client.h>
#include <mcp/server.h>
#include <stdio.h>
#include <string.h>

#include "api/client.h"
#include "support/script.h"
#include "support/test.h"
#include "support/virtual_clock.h"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

struct fixture {
    struct test_mem mem;
    struct told told;   /* what the client's callbacks told */
    struct told inside; /* what handlers did: states counts those that began, done those
                           that were told to stop */
    char reason[128];   /* why the last one was */
    mcp_server *server;
    mcp_client *client;
    mcp_client *other; /* asked by `relay` */
    int relayed[2];    /* how that ended */
};

/* ---- tools --------------------------------------------------------------- */

static int
tool_echo(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    return mcp_result_textf(
        out, "%lld",
        (long long)mcp_json_int(mcp_json_get(mcp_request_arguments(req), "n"), 0));
}

static int
tool_hang(mcp_request *req, mcp_result *out, void *user)
{
    struct fixture *f = user;
    int r;

    (void)out;
    told_state(NULL, 0, &f->inside);
    r = mcp_request_sleep(req, 60000);
    if (r == MCP_E_CANCELED) {
        snprintf(f->reason, sizeof f->reason, "%s", mcp_request_cancel_reason(req));
        (void)mcp_request_progress(req, 9, 0, NULL); /* G9: nobody hears it */
        told_done(NULL, r, NULL, &f->inside);
    }
    return r;
}

static int
tool_fail(mcp_request *req, mcp_result *out, void *user)
{
    (void)out;
    (void)user;
    return mcp_request_fail(req, -32077, "{\"a\":1}", "no such %s", "thing");
}

static int
tool_steps(mcp_request *req, mcp_result *out, void *user)
{
    int i;

    (void)user;
    for (i = 1; i <= 5; i++)
        (void)mcp_request_progress(req, i, 5, NULL);
    return mcp_result_text(out, "done");
}

/* Asks another server, on behalf of this request. */
static int
tool_relay(mcp_request *req, mcp_result *out, void *user)
{
    struct fixture *f = user;
    mcp_error err;
    int r;

    (void)out;
    r = mcp_client_call_tool(f->other, "hang", NULL, &MCP_CALL_OPTIONS(.parent = req),
                             NULL, &err);
    f->relayed[0] = r;
    /* and again, now that the request is over */
    f->relayed[1] = mcp_client_call_tool(f->other, "echo", NULL,
                                         &MCP_CALL_OPTIONS(.parent = req), NULL, &err);
    told_note(NULL, "relayed", NULL, &f->inside);
    return r;
}

static void
add_tool(struct fixture *f, const char *name, mcp_handler_fn *run)
{
    mcp_error err;

    if (mcp_server_add_tool(f->server, &MCP_TOOL(.name = name, .run = run, .user = f),
                            &err) < 0)
        fail_msg("%s", err.message);
}

static mcp_client *
attach(struct fixture *f, const mcp_client_options *given)
{
    mcp_client_options opt = *given;
    mcp_client *client = NULL;
    mcp_error err;

    opt.allocator = &f->mem.allocator;
    if (mcp_client_attach_server(f->server, &opt, &client, &err) < 0)
        fail_msg("%s", err.message);
    return client;
}

static void
fixture_open(struct fixture *f, void **state)
{
    enum mcp_era *era = *state;

    memset(f, 0, sizeof *f);
    test_mem_init(&f->mem);
    told_init(&f->told);
    told_init(&f->inside);
    assert_int_equal(
        mcp_server_new(&MCP_SERVER_OPTIONS(.name = "direct", .version = "1",
                                           .stop_ms = 60000, /* handlers end first */
                                           .drain_ms = 20),
                       &f->server, NULL),
        0);
    add_tool(f, "echo", tool_echo);
    add_tool(f, "hang", tool_hang);
    add_tool(f, "fail", tool_fail);
    add_tool(f, "steps", tool_steps);
    add_tool(f, "relay", tool_relay);
    assert_int_equal(mcp_server_start(f->server, NULL), 0);
    f->client = attach(f, &SCRIPT_OPTIONS(.era = era ? *era : MCP_ERA_BOTH));
}

static void
fixture_close(struct fixture *f)
{
    mcp_client_free(f->other);
    mcp_client_free(f->client);
    mcp_server_free(f->server);
    told_clear(&f->inside);
    told_clear(&f->told);
    test_mem_done(&f->mem);
}

static mcp_call *
start_hanging(struct fixture *f, const mcp_call_options *opt)
{
    mcp_call *call;

    assert_int_equal(
        mcp_client_start_tool(f->client, "hang", NULL, opt, told_done, &f->told, &call),
        0);
    return call;
}

/* ---- the cases ----------------------------------------------------------- */

static void
G1_a_cancel_tells_the_handler(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    call = start_hanging(
        &f, &MCP_CALL_OPTIONS(.on_progress = told_progress, .user = &f.told));
    told_await(&f.inside, states, 1);
    assert_int_equal(mcp_call_cancel(call, "no more"), 0);
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), MCP_E_CANCELED);
    told_await(&f.inside, done, 1);
    assert_string_equal(f.reason, "no more");
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    assert_int_equal(told_count(&f.told, done), 1);
    assert_int_equal(told_count(&f.told, steps), 0); /* G9 */
    mcp_call_free(call);
    fixture_close(&f);
}

static void
G2_a_timeout_tells_the_handler(void **state)
{
    struct virtual_clock clock;
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    virtual_clock_init(&clock);
    virtual_clock_hold(&clock, f.client->host.inside);
    call = start_hanging(&f, &MCP_CALL_OPTIONS(.timeout_ms = 2500));
    told_await(&f.inside, states, 1);
    virtual_clock_pass(&clock, 2500);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL), MCP_E_TIMEOUT);
    mcp_call_free(call);
    told_await(&f.inside, done, 1);
    assert_string_equal(f.reason, "timed out after 2500 ms");
    fixture_close(&f);
}

static void
G4_ids_obey_the_same_rules(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    call = start_hanging(&f, &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("2")));
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL,
                                          &MCP_CALL_OPTIONS(.id = MCP_NUMBER_ID(2)),
                                          NULL, NULL),
                     MCP_E_ID_IN_USE);
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0); /* 1 */
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0); /* 3, not 2 */
    mcp_call_free(call);
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0); /* it is ended by now */
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL,
                                          &MCP_CALL_OPTIONS(.id = MCP_NUMBER_ID(2)),
                                          NULL, NULL),
                     0);
    fixture_close(&f);
}

static void
G5_a_client_that_closes_ends_its_calls_and_their_handlers(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    call = start_hanging(&f, NULL);
    told_await(&f.inside, states, 1);
    mcp_client_close(f.client);
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), MCP_E_CLOSED);
    told_await(&f.inside, done, 1);
    mcp_call_free(call);
    fixture_close(&f);
}

static void
G5_a_server_that_stops_ends_all_calls(void **state)
{
    struct fixture f;
    mcp_error err;
    mcp_call *call;
    int r;

    fixture_open(&f, state);
    call = start_hanging(&f, NULL);
    told_await(&f.inside, states, 1);
    mcp_server_stop(f.server);
    r = mcp_call_wait(call, AWAIT_MS, NULL, &err);
    assert_true(r == MCP_E_PEER || r == MCP_E_CLOSED); /* F29: it was answered */
    do
        r = mcp_client_call_tool(f.client, "echo", NULL, NULL, NULL, &err);
    while (r == MCP_E_PEER);
    assert_int_equal(r, MCP_E_CLOSED);
    assert_int_equal(mcp_client_notify(f.client, "x/y", NULL), 0);
    mcp_call_free(call);
    fixture_close(&f);
}

static void
G6_errors_are_as_over_a_wire(void **state)
{
    struct fixture f;
    mcp_error err;

    fixture_open(&f, state);
    assert_int_equal(mcp_client_call_tool(f.client, "fail", NULL, NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32077);
    assert_string_equal(err.message, "no such thing");
    assert_int_equal(mcp_client_call(f.client, "x/none", NULL, NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32601);
    fixture_close(&f);
}

static void
call_again(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct fixture *f = user;
    bool more = told_count(&f->told, done) < 9;

    if (more)
        assert_int_equal(mcp_client_start_tool(f->client, "echo", "{\"n\":4}", NULL,
                                               call_again, f, NULL),
                         0);
    told_done(call, status, reply, &f->told);
}

static void
G7_a_callback_may_call_back(void **state)
{
    struct fixture f;

    fixture_open(&f, state);
    mcp_client_free(f.client);
    f.client = attach(&f, &SCRIPT_OPTIONS(.callbacks_on_loop = true));
    assert_int_equal(
        mcp_client_start_tool(f.client, "echo", NULL, NULL, call_again, &f, NULL), 0);
    told_await(&f.told, done, 10);
    assert_string_equal(f.told.text, "4");
    fixture_close(&f);
}

static void
I12_progress_arrives_before_the_answer(void **state)
{
    struct fixture f;

    fixture_open(&f, state);
    assert_int_equal(
        mcp_client_call_tool(
            f.client, "steps", NULL,
            &MCP_CALL_OPTIONS(.on_progress = told_progress, .user = &f.told), NULL,
            NULL),
        0);
    assert_in_range(told_count(&f.told, steps), 1, 5); /* the newest, at least */
    assert_false(f.told.out_of_order);
    fixture_close(&f);
}

static void
F24_the_end_of_a_request_ends_what_was_asked_for_it(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    f.other = attach(&f, &SCRIPT_OPTIONS());
    assert_int_equal(
        mcp_client_start_tool(f.client, "relay", NULL, NULL, told_done, &f.told, &call),
        0);
    told_await(&f.inside, states, 1); /* the inner one runs */
    mcp_call_cancel(call, "outermost");
    told_await(&f.inside, done, 1); /* and was told to stop */
    assert_string_equal(f.reason, "outermost");
    told_await(&f.inside, notes, 1);
    assert_int_equal(f.relayed[0], MCP_E_CANCELED);
    assert_int_equal(f.relayed[1], MCP_E_CANCELED); /* B5 */
    mcp_call_free(call);
    fixture_close(&f);
}

static void
a_server_that_has_stopped_takes_no_client(void **state)
{
    mcp_client *client = NULL;
    struct fixture f;
    mcp_error err;
    int r;

    fixture_open(&f, state);
    mcp_server_stop(f.server);
    do { /* it stops soon */
        mcp_client_free(client);
        client = NULL;
        r = mcp_client_attach_server(f.server, &SCRIPT_OPTIONS(), &client, &err);
    } while (r == 0);
    assert_int_equal(r, MCP_E_CLOSED);
    fixture_close(&f);
}

#define IN_BOTH_ERAS(test) \
    TEST_AS("modern." #test, test, &modern), TEST_AS("legacy." #test, test, &legacy)

TEST_MAIN(IN_BOTH_ERAS(G1_a_cancel_tells_the_handler),
          IN_BOTH_ERAS(G2_a_timeout_tells_the_handler),
          IN_BOTH_ERAS(G4_ids_obey_the_same_rules),
          IN_BOTH_ERAS(G5_a_client_that_closes_ends_its_calls_and_their_handlers),
          IN_BOTH_ERAS(G5_a_server_that_stops_ends_all_calls),
          IN_BOTH_ERAS(G6_errors_are_as_over_a_wire),
          IN_BOTH_ERAS(G7_a_callback_may_call_back),
          IN_BOTH_ERAS(I12_progress_arrives_before_the_answer),
          IN_BOTH_ERAS(F24_the_end_of_a_request_ends_what_was_asked_for_it),
          TEST(a_server_that_has_stopped_takes_no_client))
