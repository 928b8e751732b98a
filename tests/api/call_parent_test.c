/* call_parent_test.c - a call that is made for a request: what it hands on, its end */
#include <mcp/server.h>
#include <stdio.h>
#include <string.h>

#include "api/client_fixture.h"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

#define TRACE \
    "\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01\""
#define STATE "\"tracestate\":\"a=\\\"1\\\"\""

/* A tool of a server of ours asks the scripted one. */
struct relay {
    struct fixture f; /* the scripted one, and its client */
    struct told inside;
    mcp_server *server;
    mcp_client *client;          /* of ours */
    const mcp_call_options *opt; /* of what it asks, without its parent */
    int status;                  /* how that ended */
};

static int
tool_relay(mcp_request *req, mcp_result *out, void *user)
{
    struct relay *relay = user;
    mcp_call_options opt = relay->opt ? *relay->opt : MCP_CALL_OPTIONS();

    opt.parent = req;
    relay->status = mcp_client_call_tool(relay->f.client, "t", NULL, &opt, NULL, NULL);
    told_note(NULL, "relayed", NULL, &relay->inside);
    return relay->status < 0 ? relay->status : mcp_result_text(out, "relayed");
}

static int
think(mcp_request *req, mcp_result *out, void *user)
{
    told_state(NULL, 0, user);
    if (mcp_request_sleep(req, 60000) == MCP_E_CANCELED)
        told_done(NULL, MCP_E_CANCELED, NULL, user);
    return mcp_result_decline(out);
}

static void
relay_open(struct relay *relay, void **state)
{
    enum mcp_era era = *(enum mcp_era *)*state;

    memset(relay, 0, sizeof *relay);
    fixture_prepare(&relay->f, era);
    told_init(&relay->inside);
    relay->f.client = script_client(
        &relay->f.s, &SCRIPT_OPTIONS(.allocator = &relay->f.mem.allocator,
                                     .elicit = {.run = think, .user = &relay->inside}));
    assert_int_equal(mcp_server_new(&MCP_SERVER_OPTIONS(.name = "r", .version = "1",
                                                        .stop_ms = 20000),
                                    &relay->server, NULL),
                     0); /* its handlers end before it is gone */
    assert_int_equal(mcp_server_add_tool(
                         relay->server,
                         &MCP_TOOL(.name = "relay", .run = tool_relay, .user = relay),
                         NULL),
                     0);
    assert_int_equal(mcp_server_start(relay->server, NULL), 0);
    assert_int_equal(mcp_client_attach_server(relay->server,
                                              &SCRIPT_OPTIONS(.era = era),
                                              &relay->client, NULL),
                     0);
}

static void
relay_close(struct relay *relay)
{
    mcp_client_free(relay->client);
    mcp_server_free(relay->server);
    fixture_close(&relay->f);
    told_clear(&relay->inside);
}

/* The line that the scripted server gets if the tool is called with this _meta. */
static const char *
relayed(struct relay *relay, const char *meta, size_t nth)
{
    script_plan(&relay->f.s, "tools/call",
                "\"result\":{\"resultType\":\"complete\",\"content\":[]}");
    assert_int_equal(mcp_client_call_tool(relay->client, "relay", NULL,
                                          &MCP_CALL_OPTIONS(.meta = meta), NULL, NULL),
                     0);
    return script_line(&relay->f.s, "tools/call", nth);
}

static void
assert_has(const char *line, const char *part)
{
    if (!strstr(line, part))
        fail_msg("%s is not in %s", part, line);
}

static void
trace_context_is_handed_on(void **state)
{
    struct relay relay;
    const char *line;

    relay_open(&relay, state);
    line = relayed(&relay, "{" TRACE "," STATE ",\"other\":1}", 1);
    assert_has(line, "\"_meta\":{" TRACE "," STATE);
    assert_null(strstr(line, "other"));
    line = relayed(&relay, "{\"baggage\":\"k=v\",\"traceparent\":7}", 2);
    assert_has(line, "\"_meta\":{\"baggage\":\"k=v\"");
    assert_null(strstr(line, "traceparent")); /* that one was none */
    line = relayed(&relay, NULL, 3);
    assert_null(strstr(line, "trace"));
    relay_close(&relay);
}

static void
what_the_caller_says_of_it_counts(void **state)
{
    static const mcp_call_options own = {
        .size = sizeof own, .meta = " { \"traceparent\" : \"mine\" , \"k\":1 } "};
    static const mcp_call_options empty = {.size = sizeof empty, .meta = "{ }"};
    struct relay relay;
    const char *line;

    relay_open(&relay, state);
    relay.opt = &own;
    line = relayed(&relay, "{" TRACE ",\"baggage\":\"k=v\"}", 1);
    assert_has(line, "\"_meta\":{ \"traceparent\" : \"mine\" , \"k\":1 ,"
                     "\"baggage\":\"k=v\"");
    assert_null(strstr(line, "0af7651916cd43dd"));
    relay.opt = &empty;
    line = relayed(&relay, "{" TRACE "}", 2);
    assert_has(line, "\"_meta\":{ " TRACE);
    relay_close(&relay);
}

static void
L2_a_parent_ends_its_call_between_two_rounds(void **state)
{
    struct relay relay;
    mcp_call *call;

    relay_open(&relay, state);
    script_plan(
        &relay.f.s, "tools/call",
        "\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"a\":"
        "{\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\","
        "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}}}");
    assert_int_equal(
        mcp_client_start_tool(relay.client, "relay", NULL, NULL, NULL, NULL, &call), 0);
    told_await(&relay.inside, states, 1);
    assert_int_equal(mcp_call_cancel(call, "no more"), 0);
    told_await(&relay.inside, notes, 1);
    assert_int_equal(relay.status, MCP_E_CANCELED);
    told_await(&relay.inside, done, 1); /* who was asked is told, too */
    mcp_call_free(call);
    mcp_client_close(relay.f.client);
    script_await_end(&relay.f.s);
    assert_int_equal(script_count(&relay.f.s, "tools/call"), 1);
    assert_int_equal(script_count(&relay.f.s, "notifications/cancelled"), 0);
    relay_close(&relay);
}

#define IN_BOTH_ERAS(test) \
    TEST_AS("modern." #test, test, &modern), TEST_AS("legacy." #test, test, &legacy)

TEST_MAIN(IN_BOTH_ERAS(trace_context_is_handed_on),
          IN_BOTH_ERAS(what_the_caller_says_of_it_counts),
          TEST_AS("modern.L2_a_parent_ends_its_call_between_two_rounds",
                  L2_a_parent_ends_its_call_between_two_rounds, &modern))
