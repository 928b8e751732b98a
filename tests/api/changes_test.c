/* changes_test.c - a list or a resource has changed: who is told, and when */
#include "api/raw_client.h"

#define ALL (MCP_TOOLS_CHANGED | MCP_PROMPTS_CHANGED | MCP_RESOURCES_CHANGED)

/* In the way of its era: this client hears of the lists, and of these resources. */
static void
watch(struct raw *raw, const char *uri1, const char *uri2)
{
    char more[512];

    if (raw->modern) {
        snprintf(more, sizeof(more),
                 ",\"notifications\":{\"toolsListChanged\":true,"
                 "\"promptsListChanged\":true,\"resourcesListChanged\":true,"
                 "\"resourceSubscriptions\":[\"%s\",\"%s\"]}",
                 uri1, uri2);
        raw_ask(raw, "\"w\"", "subscriptions/listen", more);
        raw_expect(raw, "acknowledged");
        return;
    }
    snprintf(more, sizeof(more), ",\"uri\":\"%s\"", uri1);
    raw_ask(raw, "\"w\"", "resources/subscribe", more);
    raw_expect(raw, "\"result\":{}");
    snprintf(more, sizeof(more), ",\"uri\":\"%s\"", uri2);
    raw_ask(raw, "\"w\"", "resources/subscribe", more);
    raw_expect(raw, "\"result\":{}");
}

static int
reply_ok(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_text(out, "ok");
}

/* ---- lists --------------------------------------------------------------- */

static int
add_three(mcp_request *req, mcp_result *out, void *user)
{
    static const char *const names[] = {"a", "b", "c"};
    struct raw *raw = user;

    (void)req;
    for (int i = 0; i < 3; i++)
        raw_tool(raw, MCP_TOOL(.name = names[i], .reply = reply_ok));
    return mcp_result_text(out, "added");
}

static void
changes_are_told_once(struct raw *raw, int64_t changes_ms, bool modern)
{
    raw_make(raw, MCP_SERVER_OPTIONS(.offers = ALL, .changes_ms = changes_ms));
    raw_tool(raw, MCP_TOOL(.name = "three", .reply = add_three, .user = raw));
    raw_start(raw, modern);
    watch(raw, "a:1", "a:2");
    raw_call(raw, "1", "three", NULL);
    raw_expect(raw, "added");
    raw_expect(raw, "\"method\":\"notifications/tools/list_changed\"");
    raw_expect_silence(raw);
    assert_int_equal(mcp_server_remove_tool(raw->server, "a"), 0);
    raw_expect(raw, "\"method\":\"notifications/tools/list_changed\"");
    raw_expect_silence(raw);
    raw_done(raw);
}

static void
changes_of_a_turn_are_told_once(void **state)
{
    struct raw raw;

    changes_are_told_once(&raw, -1, RAW_MODERN);
    changes_are_told_once(&raw, 1, RAW_MODERN);
    changes_are_told_once(&raw, 0, RAW_MODERN);
}

static void
change_each_list(struct raw *raw)
{
    const mcp_prompt prompt = MCP_PROMPT(.name = "p", .reply = reply_ok);
    const mcp_resource resource = MCP_RESOURCE(.uri = "b:1", .name = "b", .text = "x");

    raw_tool(raw, MCP_TOOL(.name = "t", .reply = reply_ok));
    assert_int_equal(mcp_server_add_prompt(raw->server, &prompt, NULL), 0);
    assert_int_equal(mcp_server_add_resource(raw->server, &resource, NULL), 0);
    assert_int_equal(mcp_server_remove_tool(raw->server, "t"), 0);
    assert_int_equal(mcp_server_remove_prompt(raw->server, "p"), 0);
    assert_int_equal(mcp_server_remove_resource(raw->server, "b:1"), 0);
}

/* An hour that only the stop ends: all that came before it is one, of each list. */
static void
changes_within_the_time_are_told_once(void **state)
{
    struct raw raw;
    const char *line;
    int tools = 0, prompts = 0, resources = 0;

    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .changes_ms = 3600000));
    raw_start(&raw, RAW_MODERN);
    watch(&raw, "a:1", "a:2");
    for (int i = 0; i < 3; i++) {
        change_each_list(&raw);
        raw_expect_silence(&raw); /* turns pass */
    }
    mcp_server_stop(raw.server);
    for (int i = 0; i < 3; i++) {
        line = raw_expect(&raw, "/list_changed\"");
        tools += strstr(line, "\"notifications/tools/") != NULL;
        prompts += strstr(line, "\"notifications/prompts/") != NULL;
        resources += strstr(line, "\"notifications/resources/") != NULL;
    }
    assert_true(tools == 1 && prompts == 1 && resources == 1);
    if (RAW_MODERN)
        raw_expect(&raw, "\"id\":\"w\",\"result\"");
    assert_true(raw_at_eof(&raw));
    raw_done(&raw);
}

/* Only what was negotiated may be used (2025-11-25, basic/lifecycle): this session was
 * told that there are prompts, and no tools. */
static void
a_session_hears_of_no_list_that_it_was_not_promised(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = MCP_PROMPTS_CHANGED, .changes_ms = -1));
    raw_start(&raw, false);
    raw_tool(&raw, MCP_TOOL(.name = "t", .reply = reply_ok));
    assert_int_equal(mcp_server_add_prompt(
                         raw.server, &MCP_PROMPT(.name = "p", .reply = reply_ok), NULL),
                     0);
    raw_expect(&raw, "\"method\":\"notifications/prompts/list_changed\"");
    raw_expect_silence(&raw);
    raw_done(&raw);
}

/* Log messages are dropped when a client does not read them; what has changed is not. */
static void
a_session_that_does_not_read_hears_of_changes_when_it_does(void **state)
{
    static char noise[16384];
    const char *line;
    struct raw raw;

    (void)state;
    memset(noise, 'n', sizeof(noise));
    noise[0] = noise[sizeof(noise) - 1] = '"';
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .changes_ms = -1));
    raw_start(&raw, false);
    watch(&raw, "a:1", "a:2");
    for (int i = 0; i < 640; i++) { /* five times what waits for one client, */
        assert_int_equal(mcp_server_log(raw.server, MCP_SEVERITY_ERROR, NULL,
                                        i < 320 ? noise : "1",
                                        i < 320 ? sizeof(noise) : 1),
                         0); /* and then what fits between */
        if (i % 16 == 0)
            raw_pause();
    }
    raw_tool(&raw, MCP_TOOL(.name = "t", .reply = reply_ok));
    assert_int_equal(mcp_server_resource_updated(raw.server, "a:2"), 0);
    raw_pause();
    do
        line = raw_line(&raw);
    while (strstr(line, "notifications/message"));
    if (strstr(line, "tools/list_changed")) {
        raw_expect(&raw, "\"uri\":\"a:2\"");
    } else { /* either may be first */
        assert_non_null(strstr(line, "\"uri\":\"a:2\""));
        raw_expect(&raw, "\"method\":\"notifications/tools/list_changed\"");
    }
    raw_done(&raw);
}

static void
changes_without_end_are_told_all_the_same(void **state)
{
    struct raw raw;
    int i;

    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .changes_ms = 100));
    raw_start(&raw, RAW_MODERN);
    raw_hold_time(&raw);
    watch(&raw, "a:1", "a:2");
    for (i = 0; i < 5; i++) {
        raw_tool(&raw, MCP_TOOL(.name = "t", .reply = reply_ok));
        raw_expect_silence(&raw);
        virtual_clock_pass(&raw.clock, 20);
        assert_int_equal(mcp_server_remove_tool(raw.server, "t"), 0);
    }
    raw_expect(&raw, "\"method\":\"notifications/tools/list_changed\"");
    raw_done(&raw);
}

/* ---- resources ----------------------------------------------------------- */

static int
hold_loop(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    gate_pass(user);
    return mcp_result_text(out, "held");
}

static void
loop_hold(struct raw *raw, struct gate *gate)
{
    raw_call(raw, "\"hold\"", "hold", NULL);
    RAW_UNTIL(atomic_load(&gate->entered) == 1);
}

static void
many_changes_of_a_resource_are_one(void **state)
{
    struct gate gate = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL));
    raw_tool(&raw, MCP_TOOL(.name = "hold", .reply = hold_loop, .user = &gate));
    raw_start(&raw, RAW_MODERN);
    watch(&raw, "a:1", "a:2");
    loop_hold(&raw, &gate);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(mcp_server_resource_updated(raw.server, "a:1"), 0);
        assert_int_equal(mcp_server_resource_updated(raw.server, "a:2"), 0);
        assert_int_equal(mcp_server_resource_updated(raw.server, "a:3"), 0);
    }
    atomic_store(&gate.open, true);
    raw_expect(&raw, "held");
    raw_expect(&raw, "\"uri\":\"a:1\"");
    raw_expect(&raw, "\"uri\":\"a:2\"");
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static void
too_many_to_be_kept_apart_are_all(void **state)
{
    struct gate gate = {0};
    const char *line;
    struct raw raw;
    char uri[32];
    int one = 0, two = 0;

    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL));
    raw_tool(&raw, MCP_TOOL(.name = "hold", .reply = hold_loop, .user = &gate));
    raw_start(&raw, RAW_MODERN);
    watch(&raw, "a:1", "a:2");
    loop_hold(&raw, &gate);
    for (int i = 0; i <= 4096; i++) {
        snprintf(uri, sizeof(uri), "b:%d", i); /* none that anybody watches */
        assert_int_equal(mcp_server_resource_updated(raw.server, uri), 0);
    }
    atomic_store(&gate.open, true);
    raw_expect(&raw, "held");
    for (int i = 0; i < 2; i++) {
        line = raw_expect(&raw, "\"method\":\"notifications/resources/updated\"");
        one += strstr(line, "\"uri\":\"a:1\"") != NULL;
        two += strstr(line, "\"uri\":\"a:2\"") != NULL;
    }
    assert_true(one == 1 && two == 1);
    raw_expect_silence(&raw);
    assert_int_equal(mcp_server_resource_updated(raw.server, "b:1"), 0); /* as before */
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static void
what_is_no_uri_is_refused(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_server_resource_updated(NULL, "a:b"), MCP_E_INVAL);
    assert_int_equal(mcp_server_resource_updated(raw.server, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_resource_updated(raw.server, ""), MCP_E_INVAL);
    assert_int_equal(mcp_server_resource_updated(raw.server, "b"), MCP_E_INVAL);
    assert_int_equal(mcp_server_resource_updated(raw.server, "a:\xff"), MCP_E_INVAL);
    assert_int_equal(mcp_server_resource_updated(raw.server, "a:b\n"), MCP_E_INVAL);
    assert_int_equal(mcp_server_resource_updated(raw.server, "a:b"), 0);
    raw_done(&raw);
}

/* ---- buses --------------------------------------------------------------- */

/* One that a program might bring along. */
struct strange_bus {
    mcp_bus bus;
    atomic_int published, subscribed;
    int publish_status, subscribe_status, unsubscribe_status;
    bool has_last_word; /* says something while it is being left */
    void (*on_event)(void *user, const mcp_event *event);
    void *user;
};

static int
strange_publish(void *self, const mcp_event *event)
{
    struct strange_bus *bus = self;

    atomic_fetch_add(&bus->published, 1);
    if (bus->publish_status == 0)
        bus->on_event(bus->user, event);
    return bus->publish_status;
}

static int
strange_subscribe(void *self, void (*on_event)(void *user, const mcp_event *event),
                  void *user, void **ret_ticket)
{
    struct strange_bus *bus = self;

    if (bus->subscribe_status < 0)
        return bus->subscribe_status;
    bus->on_event = on_event;
    bus->user = user;
    atomic_fetch_add(&bus->subscribed, 1);
    *ret_ticket = bus;
    return 0;
}

static int
strange_unsubscribe(void *self, void *ticket)
{
    struct strange_bus *bus = self;

    assert_ptr_equal(ticket, bus);
    if (bus->has_last_word)
        bus->on_event(bus->user, &(mcp_event){.change = MCP_TOOLS_CHANGED});
    atomic_fetch_sub(&bus->subscribed, 1);
    return bus->unsubscribe_status;
}

static void
strange_init(struct strange_bus *bus)
{
    *bus = (struct strange_bus){
        .bus = MCP_BUS(.publish = strange_publish, .subscribe = strange_subscribe,
                       .unsubscribe = strange_unsubscribe, .self = bus)};
}

static void
before_anybody_can_see_it_nothing_is_published(void **state)
{
    struct strange_bus bus;
    struct raw raw;

    strange_init(&bus);
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .bus = &bus.bus, .changes_ms = 1));
    raw_tool(&raw, MCP_TOOL(.name = "first", .reply = reply_ok));
    raw_start(&raw, RAW_MODERN);
    watch(&raw, "a:1", "a:2");
    raw_tool(&raw, MCP_TOOL(.name = "second", .reply = reply_ok));
    raw_expect(&raw, "notifications/tools/list_changed");
    assert_int_equal(bus.published, 1);
    assert_int_equal(bus.subscribed, 1);
    raw_done(&raw);
    assert_int_equal(bus.subscribed, 0);
}

static void
what_has_stopped_publishes_nothing(void **state)
{
    struct strange_bus bus;
    struct raw raw;

    (void)state;
    strange_init(&bus);
    raw_make(&raw,
             MCP_SERVER_OPTIONS(.offers = ALL, .bus = &bus.bus, .changes_ms = -1));
    raw_start(&raw, true);
    raw_expect_silence(&raw);
    mcp_server_stop(raw.server);
    assert_true(raw_at_eof(&raw));
    RAW_UNTIL(atomic_load(&bus.subscribed) == 0);
    raw_tool(&raw, MCP_TOOL(.name = "t", .reply = reply_ok));
    assert_int_equal(mcp_server_resource_updated(raw.server, "a:b"), MCP_E_CLOSED);
    raw_done(&raw);
    assert_int_equal(bus.published, 0);
}

static void
H21_a_faulty_bus_does_not_keep_a_server_from_ending(void **state)
{
    struct strange_bus bus;
    struct raw raw;

    strange_init(&bus);
    bus.publish_status = MCP_E_LIMIT;
    bus.unsubscribe_status = MCP_E_STATE;
    raw_make(&raw,
             MCP_SERVER_OPTIONS(.offers = ALL, .bus = &bus.bus, .changes_ms = -1));
    raw_start(&raw, RAW_MODERN);
    watch(&raw, "a:1", "a:2");
    assert_int_equal(mcp_server_resource_updated(raw.server, "a:1"), MCP_E_LIMIT);
    raw_tool(&raw, MCP_TOOL(.name = "t", .reply = reply_ok));
    RAW_UNTIL(raw_logged(&raw, "the bus does not take a change"));
    mcp_server_stop(raw.server);
    if (RAW_MODERN)
        raw_expect(&raw, "\"id\":\"w\",\"result\"");
    assert_true(raw_at_eof(&raw));
    raw_done(&raw);
    assert_true(raw_logged(&raw, "the bus does not let the server go"));
}

static void
a_bus_that_cannot_be_used_makes_no_server(void **state)
{
    struct strange_bus bus;
    struct raw raw;

    (void)state;
    strange_init(&bus);
    bus.subscribe_status = MCP_E_LIMIT;
    assert_int_equal(raw_make_in(&raw, NULL, MCP_SERVER_OPTIONS(.bus = &bus.bus)),
                     MCP_E_LIMIT);
    test_mem_done(raw.mem);
    bus.subscribe_status = 0;
    bus.bus.size = 0;
    assert_int_equal(raw_make_in(&raw, NULL, MCP_SERVER_OPTIONS(.bus = &bus.bus)),
                     MCP_E_INVAL);
    test_mem_done(raw.mem);
    bus.bus.size = offsetof(mcp_bus, unsubscribe); /* older than that member */
    assert_int_equal(raw_make_in(&raw, NULL, MCP_SERVER_OPTIONS(.bus = &bus.bus)),
                     MCP_E_INVAL);
    test_mem_done(raw.mem);
    bus.bus.size = sizeof(bus.bus);
    bus.bus.unsubscribe = NULL;
    assert_int_equal(raw_make_in(&raw, NULL, MCP_SERVER_OPTIONS(.bus = &bus.bus)),
                     MCP_E_INVAL);
    test_mem_done(raw.mem);
    assert_int_equal(raw_make_in(&raw, NULL, MCP_SERVER_OPTIONS(.changes_ms = -2)),
                     MCP_E_INVAL);
    test_mem_done(raw.mem);
}

static void
what_is_no_event_is_left_alone(void **state)
{
    struct strange_bus bus;
    struct raw raw;

    strange_init(&bus);
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .bus = &bus.bus));
    raw_start(&raw, RAW_MODERN);
    watch(&raw, "a:1", "a:2");
    bus.on_event(bus.user, NULL);
    bus.on_event(bus.user, &(mcp_event){.change = MCP_RESOURCE_UPDATED});
    bus.on_event(bus.user, &(mcp_event){.change = (enum mcp_change)64, .uri = "a:1"});
    bus.on_event(bus.user,
                 &(mcp_event){.change = MCP_RESOURCE_UPDATED, .uri = "a:1/\xff"});
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static void
servers_that_share_a_bus_tell_of_each_other_s_changes(void **state)
{
    mcp_local_bus *bus;
    struct raw a, b;

    assert_int_equal(mcp_local_bus_new(NULL, &bus), 0);
    raw_make(&a, MCP_SERVER_OPTIONS(.offers = ALL, .changes_ms = -1,
                                    .bus = mcp_local_bus_interface(bus)));
    raw_make(&b, MCP_SERVER_OPTIONS(.offers = ALL, .changes_ms = -1,
                                    .bus = mcp_local_bus_interface(bus)));
    raw_start(&a, RAW_MODERN);
    raw_start(&b, RAW_MODERN);
    watch(&a, "a:1", "a:2");
    watch(&b, "a:1", "a:2");
    assert_int_equal(mcp_server_resource_updated(a.server, "a:1"), 0);
    raw_expect(&a, "\"uri\":\"a:1\"");
    raw_expect(&b, "\"uri\":\"a:1\"");
    raw_tool(&b, MCP_TOOL(.name = "t", .reply = reply_ok));
    raw_expect(&a, "notifications/tools/list_changed");
    raw_expect(&b, "notifications/tools/list_changed");
    raw_done(&a); /* and the other goes on */
    assert_int_equal(mcp_server_resource_updated(b.server, "a:2"), 0);
    raw_expect(&b, "\"uri\":\"a:2\"");
    raw_expect_silence(&b);
    raw_done(&b);
    mcp_local_bus_free(bus);
}

/* ---- threads -------------------------------------------------------------- */

static atomic_bool enough;

static void *
publish_on(void *user)
{
    const mcp_bus *bus = user;
    char uri[32];

    for (int i = 0; !atomic_load(&enough); i++) {
        snprintf(uri, sizeof(uri), "a:/%d", i % 300);
        bus->publish(bus->self,
                     &(mcp_event){.change = MCP_RESOURCE_UPDATED, .uri = uri});
    }
    return NULL;
}

static void *
run_loop(void *user)
{
    assert_int_equal(mcp_loop_run(user), 0);
    return NULL;
}

/* On a loop of the program's, where nothing but the loop frees it. */
static void
a_server_may_go_while_others_publish(void **state)
{
    mcp_local_bus *bus;
    pthread_t threads[2], runner;
    mcp_loop *loop;
    struct raw raw;

    (void)state;
    assert_int_equal(mcp_local_bus_new(NULL, &bus), 0);
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), 0);
    assert_int_equal(pthread_create(&runner, NULL, run_loop, loop), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, publish_on,
                           (void *)(uintptr_t)mcp_local_bus_interface(bus)),
            0);
    for (int i = 0; i < 20; i++) {
        raw_make(&raw, MCP_SERVER_OPTIONS(.offers = ALL, .loop = i % 2 ? loop : NULL,
                                          .bus = mcp_local_bus_interface(bus)));
        raw_connect(&raw, true);
        if (i % 2 == 0)
            assert_int_equal(mcp_server_start(raw.server, NULL), 0);
        watch(&raw, "a:/1", "a:/2");
        raw_done(&raw);
    }
    atomic_store(&enough, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    mcp_loop_stop(loop);
    pthread_join(runner, NULL);
    mcp_loop_free(loop);
    mcp_local_bus_free(bus);
}

static void
free_server(void *user)
{
    mcp_server_free(user);
}

static void
an_event_that_comes_while_the_bus_is_left_does_no_harm(void **state)
{
    struct strange_bus bus;
    mcp_loop *loop;
    struct raw raw;

    (void)state;
    strange_init(&bus);
    bus.has_last_word = true;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), 0);
    raw_make(&raw, MCP_SERVER_OPTIONS(.loop = loop, .bus = &bus.bus));
    assert_int_equal(mcp_loop_post(loop, free_server, raw.server), 0);
    for (int i = 0; i < 1000 && atomic_load(&raw.mem->live) > 0; i++)
        assert_int_equal(mcp_loop_step(loop), 0); /* which looks at it still */
    test_mem_done(raw.mem);
    mcp_loop_free(loop);
    raw_make(&raw, MCP_SERVER_OPTIONS(.bus = &bus.bus));
    raw_done(&raw);
}

/* ---- what clients tell ---------------------------------------------------- */

struct heard {
    atomic_int count;
    char methods[4][64];
    int64_t number;
    mcp_server *server;
};

static void
on_notification(mcp_server *server, const char *method, const mcp_json *params,
                void *user)
{
    struct heard *heard = user;
    int n = atomic_load(&heard->count);

    heard->server = server;
    snprintf(heard->methods[n % 4], sizeof(heard->methods[0]), "%s", method);
    if (params)
        heard->number = mcp_json_int(mcp_json_get(params, "n"), -1);
    atomic_store(&heard->count, n + 1);
}

static void
notifications_of_a_client_are_heard(void **state)
{
    struct heard heard = {.number = 0};
    struct raw raw;

    raw_make(&raw,
             MCP_SERVER_OPTIONS(.on_notification = on_notification, .user = &heard));
    raw_start(&raw, RAW_MODERN);
    raw_cancel(&raw, "1", "nothing"); /* the library's own business */
    raw_send(&raw, NOTE("notifications/progress", "{\"progressToken\":1}"));
    raw_send(&raw, NOTE("notifications/roots/list_changed", "{}"));
    raw_send(&raw, NOTE("notifications/message", "{}")); /* not theirs to send */
    raw_send(&raw, NOTE("x/y", "{\"n\":7}"));
    raw_send(&raw, "{\"jsonrpc\":\"2.0\",\"method\":\"x/z\"}");
    raw_expect_silence(&raw);
    assert_int_equal(heard.count, 3);
    assert_string_equal(heard.methods[0], "notifications/roots/list_changed");
    assert_string_equal(heard.methods[1], "x/y");
    assert_string_equal(heard.methods[2], "x/z");
    assert_int_equal(heard.number, 7);
    assert_ptr_equal(heard.server, raw.server);
    raw_done(&raw);
}

TEST_MAIN(TEST_ERAS(changes_of_a_turn_are_told_once),
          TEST_ERAS(changes_within_the_time_are_told_once),
          TEST(a_session_hears_of_no_list_that_it_was_not_promised),
          TEST(a_session_that_does_not_read_hears_of_changes_when_it_does),
          TEST_ERAS(changes_without_end_are_told_all_the_same),
          TEST_ERAS(many_changes_of_a_resource_are_one),
          TEST_ERAS(too_many_to_be_kept_apart_are_all), TEST(what_is_no_uri_is_refused),
          TEST_ERAS(before_anybody_can_see_it_nothing_is_published),
          TEST(what_has_stopped_publishes_nothing),
          TEST_ERAS(H21_a_faulty_bus_does_not_keep_a_server_from_ending),
          TEST(a_bus_that_cannot_be_used_makes_no_server),
          TEST_ERAS(what_is_no_event_is_left_alone),
          TEST_ERAS(servers_that_share_a_bus_tell_of_each_other_s_changes),
          TEST(a_server_may_go_while_others_publish),
          TEST(an_event_that_comes_while_the_bus_is_left_does_no_harm),
          TEST_ERAS(notifications_of_a_client_are_heard))
