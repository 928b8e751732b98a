/* subscription_server_test.c - subscriptions to a server of ours, in both eras */
#include <mcp/server.h>
#include <mcp/subscription.h>

#include "api/subscription_fixture.h"

struct fixture {
    struct test_mem mem;
    mcp_server *server;
    mcp_client *client;
    bool modern;
};

static int
tool_run(mcp_request *req, mcp_result *result, void *user)
{
    (void)req;
    (void)result;
    (void)user;
    return 0;
}

static void
add_tool(struct fixture *f, const char *name)
{
    assert_int_equal(
        mcp_server_add_tool(f->server, &MCP_TOOL(.name = name, .run = tool_run), NULL),
        0);
}

static void
updated(struct fixture *f, const char *uri)
{
    assert_int_equal(mcp_server_resource_updated(f->server, uri), 0);
}

static void
server_open(struct fixture *f, const enum mcp_era *era)
{
    memset(f, 0, sizeof *f);
    test_mem_init(&f->mem);
    f->modern = *era == MCP_ERA_MODERN;
    assert_int_equal(
        mcp_server_new(
            &MCP_SERVER_OPTIONS(.name = "server", .version = "1",
                                .offers = MCP_TOOLS_CHANGED | MCP_RESOURCES_CHANGED,
                                .changes_ms = -1),
            &f->server, NULL),
        0);
    assert_int_equal(mcp_server_start(f->server, NULL), 0);
}

static void
fixture_open(struct fixture *f, const enum mcp_era *era)
{
    mcp_error err;

    server_open(f, era);
    if (mcp_client_attach_server(
            f->server, &TELLER_OPTIONS(.allocator = &f->mem.allocator, .era = *era),
            &f->client, &err) < 0)
        fail_msg("no client: %s", err.message);
}

static void
fixture_close(struct fixture *f)
{
    mcp_client_free(f->client);
    mcp_server_free(f->server);
    test_mem_done(&f->mem);
}

static mcp_subscription *
open_one(struct fixture *f, mcp_subscribe opt)
{
    mcp_subscription *s = NULL;
    mcp_error err;

    if (mcp_client_subscribe(f->client, &opt, &s, &err) < 0)
        fail_msg("no subscription: %s", err.message);
    return s;
}

static const char *const uris[] = {"file:///a", "file:///b", NULL};

static void
what_changes_at_the_server_is_heard_of(void **state)
{
    mcp_subscription *s, *other;
    struct fixture f;

    fixture_open(&f, *state);
    s = open_one(&f, MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = uris));
    other = open_one(&f, MCP_SUBSCRIBE(.uris = uris));
    assert_int_equal(mcp_subscription_lists(s),
                     MCP_TOOLS_CHANGED | MCP_RESOURCES_CHANGED);
    assert_true(mcp_subscription_watches(s, "file:///a"));
    assert_true(mcp_subscription_watches(other, "file:///b"));
    updated(&f, "file:///c"); /* nobody asked for it */
    updated(&f, "file:///a/below");
    expect_event(s, MCP_RESOURCE_UPDATED, "file:///a/below");
    expect_event(other, MCP_RESOURCE_UPDATED, "file:///a/below");
    add_tool(&f, "first");
    expect_event(s, MCP_TOOLS_CHANGED, NULL);
    mcp_subscription_free(other);
    updated(&f, "file:///b");
    expect_event(s, MCP_RESOURCE_UPDATED, "file:///b");
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    expect_none(s);
    mcp_subscription_free(s);
    fixture_close(&f);
}

static void
what_was_let_go_of_may_be_had_again(void **state)
{
    mcp_subscription *s;
    struct fixture f;
    int i;

    fixture_open(&f, *state);
    for (i = 0; i < 10; i++) {
        s = open_one(&f, MCP_SUBSCRIBE(.uris = uris));
        updated(&f, "file:///a");
        expect_event(s, MCP_RESOURCE_UPDATED, "file:///a");
        mcp_subscription_free(s);
    }
    fixture_close(&f);
}

/* A modern server says that it ends; a legacy one hangs up. */
static void
H7_a_server_that_stops_ends_it(void **state)
{
    mcp_subscription *s;
    struct fixture f;

    fixture_open(&f, *state);
    s = open_one(&f, MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = uris));
    updated(&f, "file:///a");
    expect_event(s, MCP_RESOURCE_UPDATED, "file:///a");
    mcp_server_stop(f.server);
    if (f.modern)
        expect_end(s, MCP_SUBSCRIPTION_GRACEFUL, 0);
    else
        expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    mcp_subscription_free(s);
    fixture_close(&f);
}

#define MANY 100

static void
a_hundred_at_once(void **state)
{
    mcp_subscription *s[MANY];
    const char *own[] = {NULL, NULL};
    struct fixture f;
    char uri[32];
    size_t i;

    fixture_open(&f, *state);
    for (i = 0; i < MANY; i++) {
        snprintf(uri, sizeof uri, "file:///%zu", i / 2);
        own[0] = uri;
        s[i] = open_one(&f, MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED, .uris = own));
    }
    for (i = 0; i < MANY / 2; i++) {
        snprintf(uri, sizeof uri, "file:///%zu", i);
        updated(&f, uri);
    }
    for (i = 0; i < MANY; i++) {
        snprintf(uri, sizeof uri, "file:///%zu", i / 2);
        expect_event(s[i], MCP_RESOURCE_UPDATED, uri);
    }
    add_tool(&f, "one");
    for (i = 0; i < MANY; i++) {
        expect_event(s[i], MCP_TOOLS_CHANGED, NULL);
        expect_none(s[i]);
        mcp_subscription_free(s[i]);
    }
    fixture_close(&f);
}

static void
hear_once(struct test_mem *mem, void *user)
{
    mcp_subscription *s = NULL;
    struct fixture f;
    mcp_notice event;

    server_open(&f, user);
    (void)mcp_client_attach_server(f.server,
                                   &TELLER_OPTIONS(.allocator = &mem->allocator,
                                                   .era = *(const enum mcp_era *)user),
                                   &f.client, NULL);
    if (f.client &&
        mcp_client_subscribe(f.client, &MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = uris),
                             &s, NULL) == 0) {
        updated(&f, "file:///a");
        mcp_server_stop(f.server);
        while (mcp_subscription_next(s, AWAIT_MS, &event) == 0) {
        }
        assert_int_not_equal(mcp_subscription_how(s), MCP_SUBSCRIPTION_OPEN);
    }
    mcp_subscription_free(s);
    fixture_close(&f);
}

static void
each_allocation_of_the_client_may_fail(void **state)
{
    assert_in_range(test_each_allocation_fails(hear_once, *state), 20, 300);
}

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

#define BOTH(function)                               \
    TEST_AS("modern." #function, function, &modern), \
        TEST_AS("legacy." #function, function, &legacy)

TEST_MAIN(BOTH(what_changes_at_the_server_is_heard_of),
          BOTH(what_was_let_go_of_may_be_had_again),
          BOTH(H7_a_server_that_stops_ends_it), BOTH(a_hundred_at_once),
          BOTH(each_allocation_of_the_client_may_fail))
