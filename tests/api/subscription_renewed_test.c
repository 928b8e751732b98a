/* subscription_renewed_test.c - a legacy server has lost our session, and is asked anew */
#include <mcp/subscription.h>

#include "api/client.h"
#include "api/subscription_heard.h"

#define FRAME "notifications/cancelled"
#define SUBSCRIBE "\"resources/subscribe\""
#define UNSUBSCRIBE "\"resources/unsubscribe\""
#define UPDATED "resources/updated"

static const char *const a[] = {"file:///a", NULL};
static const char *const a_and_b[] = {"file:///a", "file:///b", NULL};

struct oblivion {
    struct mcpi_post post;
    mcp_client *client;
    bool happened;
};

static void
session_forget(struct mcpi_post *post)
{
    struct oblivion *o = MCPI_CONTAINER(post, struct oblivion, post);

    o->happened = mcpi_peer_session_lost(o->client->peer, NULL,
                                         mcpi_loop_now(o->client->host.inside));
}

/* The server says that it knows no such session, as it can over HTTP. */
static void
teller_forget(struct teller *t)
{
    struct oblivion o = {.post.fn = session_forget, .client = t->client};

    teller_sync(t);
    mcpi_loop_post(t->client->host.inside, &o.post);
    teller_sync(t);
    assert_true(o.happened);
}

static void
a_lost_session_is_subscribed_in_anew(void **state)
{
    mcp_subscription *first, *second;
    struct teller t;

    (void)state;
    teller_open_legacy(&t);
    first = subscribe(&t, MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED, .uris = a_and_b));
    second = subscribe(&t, MCP_SUBSCRIBE(.uris = a));
    teller_forget(&t);
    teller_line(&t, "\"initialize\"", 2);
    teller_line(&t, SUBSCRIBE, 4);
    /* whatever changed meanwhile, nobody was told of it */
    expect_event(first, MCP_TOOLS_CHANGED, NULL);
    expect_event(first, MCP_RESOURCE_UPDATED, "file:///a");
    expect_event(first, MCP_RESOURCE_UPDATED, "file:///b");
    expect_event(second, MCP_RESOURCE_UPDATED, "file:///a");
    teller_tell(&t, NULL, UPDATED, "file:///a");
    expect_event(first, MCP_RESOURCE_UPDATED, "file:///a");
    expect_event(second, MCP_RESOURCE_UPDATED, "file:///a");
    teller_sync(&t);
    expect_none(first);
    expect_none(second);
    assert_int_equal(teller_count(&t, SUBSCRIBE), 4); /* one for each resource */
    mcp_subscription_free(first);
    mcp_subscription_free(second);
    teller_line(&t, UNSUBSCRIBE, 2);
    teller_close(&t);
}

static void
what_cannot_be_had_again_is_lost_and_nothing_else(void **state)
{
    mcp_subscription *both, *other;
    static const char *const b[] = {"file:///b", NULL};
    struct teller t;
    mcp_error err;

    (void)state;
    teller_open_legacy(&t);
    both = subscribe(&t, MCP_SUBSCRIBE(.uris = a_and_b));
    other = subscribe(&t, MCP_SUBSCRIBE(.uris = b));
    teller_set_refuse(&t, "file:///a");
    teller_forget(&t);
    expect_event(other, MCP_RESOURCE_UPDATED, "file:///b");
    for (mcp_notice event; mcp_subscription_next(both, AWAIT_MS, &event) == 0;)
        continue;
    assert_int_equal(mcp_subscription_how(both), MCP_SUBSCRIPTION_LOST);
    assert_int_equal(mcp_subscription_status(both, &err), MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32602);
    expect_none(other);
    assert_int_equal(teller_count(&t, UNSUBSCRIBE), 0);
    mcp_subscription_free(both);
    mcp_subscription_free(other);
    teller_line(&t, UNSUBSCRIBE, 1);
    teller_close(&t);
}

static void
who_leaves_while_it_is_asked_for_anew_takes_it_back(void **state)
{
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open_legacy(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.uris = a));
    teller_set_mute(&t, true);
    teller_forget(&t);
    teller_line(&t, SUBSCRIBE, 2);
    mcp_subscription_free(s);
    teller_line(&t, FRAME, 1);
    teller_line(&t, UNSUBSCRIBE, 1);
    teller_close(&t);
}

static void
who_comes_while_it_is_asked_for_anew_waits_for_that(void **state)
{
    struct opening second;
    mcp_subscription *first;
    struct teller t;

    (void)state;
    teller_open_legacy(&t);
    first = subscribe(&t, MCP_SUBSCRIBE(.uris = a));
    teller_set_mute(&t, true);
    teller_forget(&t);
    teller_line(&t, SUBSCRIBE, 2);
    opening_begin(&second, &t, MCP_SUBSCRIBE(.uris = a));
    teller_sync(&t);
    teller_answer(&t, line_id(teller_line(&t, SUBSCRIBE, 2)), "");
    assert_int_equal(opening_end(&second), 0);
    expect_event(first, MCP_RESOURCE_UPDATED, "file:///a");
    teller_set_mute(&t, false);
    mcp_subscription_free(first);
    mcp_subscription_free(second.s);
    teller_close(&t);
}

static void
a_lost_session_is_asked_for_its_log_messages_anew(void **state)
{
    struct teller t;

    (void)state;
    teller_open_as(&t, MCP_ERA_LEGACY, "{\"logging\":{}}",
                   TELLER_OPTIONS(.messages = MCP_SEVERITY_INFO));
    teller_line(&t, "\"level\":\"info\"", 1);
    teller_forget(&t);
    teller_line(&t, "\"level\":\"info\"", 2);
    teller_close(&t);
}

struct changes {
    atomic_uint set;
    atomic_uint count;
};

static void
note_change(mcp_client *client, enum mcp_change change, const char *uri, void *user)
{
    struct changes *changes = user;

    (void)client;
    assert_true((change == MCP_RESOURCE_UPDATED) == (uri != NULL));
    atomic_fetch_or(&changes->set, (unsigned)change);
    atomic_fetch_add(&changes->count, 1);
}

static void
all_that_a_server_tells_of_may_have_changed(void **state)
{
    struct changes changes = {0};
    struct timespec little = {.tv_nsec = 1000000};
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open_as(&t, MCP_ERA_LEGACY,
                   "{\"tools\":{\"listChanged\":true},\"prompts\":{},"
                   "\"resources\":{\"subscribe\":true}}",
                   TELLER_OPTIONS(.on_change = note_change, .user = &changes));
    s = subscribe(&t, MCP_SUBSCRIBE(.uris = a));
    teller_forget(&t);
    for (int i = 0; i < AWAIT_MS && atomic_load(&changes.count) < 2; i++)
        (void)nanosleep(&little, NULL);
    assert_int_equal(atomic_load(&changes.set),
                     MCP_TOOLS_CHANGED | MCP_RESOURCE_UPDATED);
    assert_int_equal(atomic_load(&changes.count), 2);
    mcp_subscription_free(s);
    teller_close(&t);
}

/* What the server said of itself first is borrowed, and stays. */
static void
a_lost_session_changes_nothing_of_what_is_known(void **state)
{
    const mcp_json *info;
    struct teller t;

    (void)state;
    teller_open_legacy(&t);
    info = mcp_client_server_info(t.client);
    teller_forget(&t);
    assert_ptr_equal(mcp_client_server_info(t.client), info);
    assert_string_equal(mcp_client_version(t.client), "2025-11-25");
    teller_close(&t);
}

static void
renew_once(struct test_mem *mem, void *user)
{
    struct oblivion o = {.post.fn = session_forget};
    mcp_subscription *s = NULL;
    mcp_notice event;
    struct teller t;
    int fd;

    (void)user;
    fd = teller_prepare(&t, MCP_ERA_LEGACY, TELLS_ALL);
    teller_start(&t);
    if (mcp_client_attach(
            fd, fd,
            &TELLER_OPTIONS(.allocator = &mem->allocator, .era = MCP_ERA_LEGACY),
            &t.client, NULL) < 0)
        close(fd);
    o.client = t.client;
    if (t.client && mcp_client_subscribe(
                        t.client, &MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = a_and_b),
                        &s, NULL) == 0) {
        mcpi_loop_post(t.client->host.inside, &o.post);
        (void)mcp_client_ping(t.client, NULL, NULL);
        /* it goes on, or says that it does not */
        while (mcp_subscription_next(s, 0, &event) == 0)
            continue;
        teller_tell(&t, NULL, UPDATED, "file:///a");
        do
            fd = mcp_subscription_next(s, AWAIT_MS, &event);
        while (fd == 0 && event.change != MCP_RESOURCE_UPDATED);
        assert_true(fd == 0 || fd == MCP_E_CLOSED);
    }
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_in_range(test_each_allocation_fails(renew_once, NULL), 20, 300);
}

TEST_MAIN(TEST(a_lost_session_is_subscribed_in_anew),
          TEST(what_cannot_be_had_again_is_lost_and_nothing_else),
          TEST(who_leaves_while_it_is_asked_for_anew_takes_it_back),
          TEST(who_comes_while_it_is_asked_for_anew_waits_for_that),
          TEST(a_lost_session_is_asked_for_its_log_messages_anew),
          TEST(all_that_a_server_tells_of_may_have_changed),
          TEST(a_lost_session_changes_nothing_of_what_is_known),
          TEST(each_allocation_may_fail))
