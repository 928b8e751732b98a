/* replica_test.c - a server on several loops: each client is served where it is, and
 * all of it is one server */
#include <sched.h>

#include "api/raw_client.h"
#include "api/request.h"
#include "link/stream.h"

/* ---- clients on a branch ------------------------------------------------ */

/* A client's link to one branch, as another library would add one. */
struct seat {
    struct mcpi_server_link link;
    struct mcpi_post open;
    struct mcpi_branch *branch;
    struct mcpi_stream *stream;
    int fd;
};

static void
on_seat_closed(void *user, struct mcpi_stream *stream)
{
    struct seat *seat = user;

    mcpi_stream_free(stream);
    mcpi_branch_drop_link(seat->branch, &seat->link);
    free(seat);
}

static void
seat_close(struct mcpi_server_link *self)
{
    struct seat *seat = MCPI_CONTAINER(self, struct seat, link);

    mcpi_peer_close(mcpi_stream_peer(seat->stream),
                    mcpi_loop_now(seat->branch->host.inside));
}

static void
on_seat_open(struct mcpi_post *post)
{
    struct seat *seat = MCPI_CONTAINER(post, struct seat, open);
    const struct mcpi_stream_options opt = {.loop = seat->branch->host.inside,
                                            .engine = seat->branch->host.engine,
                                            .take_in = seat->fd,
                                            .take_out = seat->fd,
                                            .closed = on_seat_closed,
                                            .user = seat};

    if (seat->branch->stopping || mcpi_stream_new(&opt, &seat->stream) < 0) {
        close(seat->fd);
        free(seat);
        return;
    }
    mcpi_branch_add_link(seat->branch, &seat->link);
}

/* A client of raw's server, on that branch. */
static void
seat_connect(struct raw *client, const struct raw *raw, unsigned index, bool modern)
{
    static atomic_uint conversation = 1000;
    struct seat *seat = calloc(1, sizeof(*seat));
    int pair[2];

    assert_non_null(seat);
    memset(client, 0, sizeof(*client));
    client->server = raw->server;
    client->conversation = atomic_fetch_add(&conversation, 1);
    client->modern = modern;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    client->fd = pair[0];
    seat->fd = pair[1];
    seat->link.close = seat_close;
    mcpi_list_init(&seat->link.node);
    seat->branch = mcpi_server_branch(raw->server, index);
    assert_non_null(seat->branch);
    seat->open.fn = on_seat_open;
    atomic_store(&raw->server->reachable, true);
    mcpi_loop_post(seat->branch->host.inside, &seat->open);
    raw_greet(client);
}

static void
seat_leave(struct raw *client)
{
    close(client->fd);
    free(client->in);
}

/* A server with that many branches, running. */
static void
grown_make(struct raw *raw, unsigned branches, mcp_server_options opt)
{
    raw_make(raw, opt);
    assert_int_equal(mcpi_server_grow(raw->server, branches, NULL), 0);
    assert_int_equal(mcp_server_start(raw->server, NULL), 0);
}

/* ---- handlers ----------------------------------------------------------- */

/* Which thread, and which loop. */
static int
where(mcp_request *req, mcp_result *out, void *user)
{
    const struct raw *raw = user;
    bool here = mcpi_loop_is_its_thread(mcp_request_loop(req));
    unsigned index = 0;

    while (mcpi_server_branch(raw->server, index)->host.loop != mcp_request_loop(req))
        index++;
    return mcp_result_textf(out, "branch %u, %s", index, here ? "on it" : "elsewhere");
}

static int
sleep_long(mcp_request *req, mcp_result *out, void *user)
{
    struct gate *gate = user;
    int r;

    (void)out;
    atomic_fetch_add(&gate->entered, 1);
    r = mcp_request_sleep(req, 60000);
    atomic_fetch_add(&gate->left, 1);
    return r;
}

/* ---- serving ------------------------------------------------------------ */

static void
a_client_is_served_on_its_branch(void **state)
{
    struct raw raw, at[3];

    grown_make(&raw, 3, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "reply", .reply = where, .user = &raw));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = where, .user = &raw));
    for (unsigned i = 0; i < 3; i++) {
        char expected[64];

        seat_connect(&at[i], &raw, i, RAW_MODERN);
        raw_call(&at[i], "1", "reply", NULL);
        snprintf(expected, sizeof(expected), "branch %u, on it", i);
        raw_expect(&at[i], expected);
        raw_call(&at[i], "2", "run", NULL);
        snprintf(expected, sizeof(expected), "branch %u, elsewhere", i);
        raw_expect(&at[i], expected);
    }
    assert_int_equal(raw_counts(&raw).answered, 3 * (RAW_MODERN ? 2 : 3));
    assert_int_equal(raw_counts(&raw).in_flight, 0);
    for (unsigned i = 0; i < 3; i++)
        seat_leave(&at[i]);
    raw_done(&raw);
}

static void
all_branches_introduce_the_same_server(void **state)
{
    struct raw raw, at;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.name = "many", .instructions = "be \"brief\"",
                                      .extensions = "{\"a/b\":{\"c\":1}}"));
    assert_int_equal(mcpi_server_grow(raw.server, 2, NULL), 0);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    seat_connect(&at, &raw, 1, true);
    raw_ask(&at, "1", "server/discover", "");
    raw_expect(&at, "\"name\":\"many\"");
    raw_tool(&raw, MCP_TOOL(.name = "late", .reply = where, .user = &raw));
    raw_ask(&at, "2", "server/discover", "");
    raw_expect(&at, "\"tools\":{\"listChanged\":true}"); /* said from now on */
    raw_ask(&at, "3", "server/discover", "");
    raw_expect(&at, "\"instructions\":\"be \\\"brief\\\"\"");
    raw_ask(&at, "4", "server/discover", "");
    raw_expect(&at, "\"a/b\":{\"c\":1}");
    seat_leave(&at);
    raw_done(&raw);
}

static void
a_cancel_reaches_the_handler_of_a_replica(void **state)
{
    struct gate gate = {0};
    struct raw raw, at;

    grown_make(&raw, 2, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "hang", .run = sleep_long, .user = &gate));
    seat_connect(&at, &raw, 1, RAW_MODERN);
    raw_call(&at, "1", "hang", NULL);
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    assert_int_equal(raw_counts(&raw).live_handlers, 1);
    assert_int_equal(raw_counts(&raw).busy_workers, 1);
    raw_cancel(&at, "1", "enough");
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0 && raw_counts(&raw).stopped == 1);
    assert_int_equal(raw_counts(&raw).canceled_by_peer, 1);
    raw_expect_silence(&at);
    seat_leave(&at);
    raw_done(&raw);
}

static atomic_int asked_before;

static int
count_before(mcp_request *req, void *user)
{
    (void)req;
    (void)user;
    atomic_fetch_add(&asked_before, 1);
    return 0;
}

static void
middleware_stands_around_the_requests_of_all(void **state)
{
    struct raw raw, at[2];

    (void)state;
    atomic_store(&asked_before, 0);
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(
        mcp_server_use(raw.server, &MCP_MIDDLEWARE(.before = count_before)), 0);
    assert_int_equal(mcpi_server_grow(raw.server, 2, NULL), 0);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        seat_connect(&at[i], &raw, i, true);
        raw_expect_silence(&at[i]);
        seat_leave(&at[i]);
    }
    assert_int_equal(atomic_load(&asked_before), 2);
    raw_done(&raw);
}

/* ---- telling ------------------------------------------------------------ */

static void
changes_reach_the_clients_of_all(void **state)
{
    struct raw raw, at[3];

    (void)state;
    grown_make(&raw, 3,
               MCP_SERVER_OPTIONS(.offers = MCP_TOOLS_CHANGED | MCP_RESOURCES_CHANGED,
                                  .changes_ms = -1));
    for (unsigned i = 0; i < 3; i++) {
        seat_connect(&at[i], &raw, i, false);
        raw_ask(&at[i], "1", "resources/subscribe", ",\"uri\":\"a://b\"");
        raw_expect(&at[i], "\"result\"");
    }
    raw_tool(&raw, MCP_TOOL(.name = "new", .reply = where, .user = &raw));
    for (unsigned i = 0; i < 3; i++)
        raw_expect(&at[i], "notifications/tools/list_changed");
    assert_int_equal(mcp_server_resource_updated(raw.server, "a://b"), 0);
    for (unsigned i = 0; i < 3; i++)
        raw_expect(&at[i], "\"uri\":\"a://b\"");
    for (unsigned i = 0; i < 3; i++)
        seat_leave(&at[i]);
    raw_done(&raw);
}

static void
listen_streams_of_all_end_with_their_result(void **state)
{
    struct raw raw, at[2];

    (void)state;
    grown_make(&raw, 2,
               MCP_SERVER_OPTIONS(.offers = MCP_TOOLS_CHANGED, .changes_ms = -1));
    for (unsigned i = 0; i < 2; i++) {
        seat_connect(&at[i], &raw, i, true);
        raw_ask(&at[i], "1", "subscriptions/listen",
                ",\"notifications\":{\"toolsListChanged\":true}");
        raw_expect(&at[i], "acknowledged");
    }
    raw_tool(&raw, MCP_TOOL(.name = "new", .reply = where, .user = &raw));
    for (unsigned i = 0; i < 2; i++)
        raw_expect(&at[i], "tools/list_changed");
    mcp_server_stop(raw.server);
    for (unsigned i = 0; i < 2; i++) {
        raw_expect(&at[i], "\"result\"");
        assert_true(raw_at_eof(&at[i]));
        seat_leave(&at[i]);
    }
    raw_done(&raw);
}

static void
log_messages_reach_the_sessions_of_all(void **state)
{
    struct raw raw, at[3];

    (void)state;
    grown_make(&raw, 3, MCP_SERVER_OPTIONS(.page = 0));
    for (unsigned i = 0; i < 3; i++)
        seat_connect(&at[i], &raw, i, false);
    for (unsigned i = 0; i < 3; i++)
        raw_expect_silence(&at[i]); /* so initialized was read */
    assert_int_equal(
        mcp_server_log(raw.server, MCP_SEVERITY_ERROR, NULL, "\"fire\"", 6), 0);
    for (unsigned i = 0; i < 3; i++) {
        raw_expect(&at[i], "\"data\":\"fire\"");
        seat_leave(&at[i]);
    }
    raw_done(&raw);
}

static int
note_elicitation(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    assert_int_equal(mcpi_server_note_elicitation(req->server, "e1", req->x->peer), 0);
    return mcp_result_text(out, "noted");
}

static void
who_was_asked_by_a_url_hears_that_it_is_done(void **state)
{
    struct raw raw, at;

    (void)state;
    grown_make(&raw, 2, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "ask", .reply = note_elicitation));
    seat_connect(&at, &raw, 1, false);
    raw_call(&at, "1", "ask", NULL);
    raw_expect(&at, "noted");
    assert_int_equal(mcp_server_elicitation_complete(raw.server, "e1"), 0);
    raw_expect(&at, "\"elicitationId\":\"e1\"");
    raw_call(&at, "2", "ask", NULL);
    raw_expect(&at, "noted");
    seat_leave(&at);
    RAW_UNTIL(mcp_server_elicitation_complete(raw.server, "e1") == MCP_E_INVAL ||
              (raw_pause(), false));
    raw_done(&raw);
}

static _Atomic(mcp_server *) notified;

static void
on_note(mcp_server *server, const char *method, const mcp_json *params, void *user)
{
    (void)method;
    (void)params;
    (void)user;
    atomic_store(&notified, server);
}

static void
notifications_name_the_server_itself(void **state)
{
    struct raw raw, at;

    (void)state;
    grown_make(&raw, 2, MCP_SERVER_OPTIONS(.on_notification = on_note));
    seat_connect(&at, &raw, 1, false);
    raw_send(&at, NOTE("notifications/roots/list_changed", "{}"));
    RAW_UNTIL(atomic_load(&notified) == raw.server);
    seat_leave(&at);
    raw_done(&raw);
}

/* ---- ending ------------------------------------------------------------- */

static void
a_stop_closes_the_clients_of_all(void **state)
{
    struct gate gate = {0};
    struct raw raw, at[3];

    grown_make(&raw, 3, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "hang", .run = sleep_long, .user = &gate));
    for (unsigned i = 0; i < 3; i++) {
        seat_connect(&at[i], &raw, i, RAW_MODERN);
        raw_call(&at[i], "1", "hang", NULL);
    }
    RAW_UNTIL(atomic_load(&gate.entered) == 3);
    mcp_server_stop(raw.server);
    for (unsigned i = 0; i < 3; i++) {
        raw_expect(&at[i], "\"error\""); /* F29 */
        assert_true(raw_at_eof(&at[i]));
        seat_leave(&at[i]);
    }
    RAW_UNTIL(atomic_load(&raw.server->stopped));
    RAW_UNTIL(atomic_load(&gate.left) == 3);
    assert_int_equal(raw_counts(&raw).canceled_by_stop, 3);
    assert_int_equal(mcpi_server_grow(raw.server, 4, NULL), MCP_E_CLOSED);
    assert_int_equal(mcpi_server_grow(raw.server, 3, NULL), 0); /* they are there */
    raw_done(&raw);
}

/* Links that go when they are told to, or when the test says so. */
struct plain_link {
    struct mcpi_server_link link;
    struct mcpi_post post; /* opens it, then drops it */
    struct mcpi_branch *branch;
    atomic_bool is_open, closes;
};

static void
on_plain_open(struct mcpi_post *post)
{
    struct plain_link *plain = MCPI_CONTAINER(post, struct plain_link, post);

    mcpi_branch_add_link(plain->branch, &plain->link);
    atomic_store(&plain->is_open, true);
}

static void
on_plain_drop(struct mcpi_post *post)
{
    struct plain_link *plain = MCPI_CONTAINER(post, struct plain_link, post);

    mcpi_branch_drop_link(plain->branch, &plain->link);
}

static void
plain_goes(struct mcpi_server_link *self)
{
    struct plain_link *plain = MCPI_CONTAINER(self, struct plain_link, link);

    mcpi_branch_drop_link(plain->branch, &plain->link);
}

static void
plain_stays(struct mcpi_server_link *self)
{
    struct plain_link *plain = MCPI_CONTAINER(self, struct plain_link, link);

    atomic_store(&plain->closes, true);
}

static void
plain_open(struct plain_link *plain, const struct raw *raw, unsigned index,
           void (*close)(struct mcpi_server_link *self))
{
    memset(plain, 0, sizeof(*plain));
    mcpi_list_init(&plain->link.node);
    plain->link.close = close;
    plain->branch = mcpi_server_branch(raw->server, index);
    plain->post.fn = on_plain_open;
    mcpi_loop_post(plain->branch->host.inside, &plain->post);
    RAW_UNTIL(atomic_load(&plain->is_open));
}

/* Though the trunk has nothing left at the first moment of the stop. */
static void
it_has_not_stopped_while_a_replica_has_a_link(void **state)
{
    struct plain_link at_trunk, at_replica;
    struct raw raw;

    (void)state;
    grown_make(&raw, 2, MCP_SERVER_OPTIONS(.page = 0));
    plain_open(&at_trunk, &raw, 0, plain_goes);
    plain_open(&at_replica, &raw, 1, plain_stays);
    mcp_server_stop(raw.server);
    RAW_UNTIL(atomic_load(&at_replica.closes));
    assert_false(atomic_load(&raw.server->stopped));
    at_replica.post.fn = on_plain_drop;
    mcpi_loop_post(at_replica.branch->host.inside, &at_replica.post);
    RAW_UNTIL(atomic_load(&raw.server->stopped));
    raw_done(&raw);
}

static void
one_that_never_ran_is_freed(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcpi_server_grow(raw.server, 4, NULL), 0);
    raw_done(&raw);
}

static int
free_server(mcp_request *req, mcp_result *out, void *user)
{
    const struct raw *raw = user;

    (void)req;
    mcp_server_free(raw->server);
    return mcp_result_text(out, "freed");
}

static void
a_handler_of_a_replica_may_free_the_server(void **state)
{
    static const char *const kinds[] = {"reply", "run"};
    struct raw raw, at;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        grown_make(&raw, 3, MCP_SERVER_OPTIONS(.page = 0));
        raw_tool(&raw, MCP_TOOL(.name = "reply", .reply = free_server, .user = &raw));
        raw_tool(&raw, MCP_TOOL(.name = "run", .run = free_server, .user = &raw));
        seat_connect(&at, &raw, 2, true);
        raw_call(&at, "1", kinds[i], NULL);
        while (raw_next(&at)) /* its answer, or the one of the stop */
            continue;
        seat_leave(&at);
        RAW_UNTIL(atomic_load(&raw.mem->live) == 0);
        free(raw.in);
    }
}

static void
F5_a_deaf_handler_of_a_replica_is_left_behind(void **state)
{
    struct gate gate = {0};
    struct raw raw, at;

    (void)state;
    grown_make(&raw, 3, MCP_SERVER_OPTIONS(.stop_ms = 50));
    raw_tool(&raw, MCP_TOOL(.name = "deaf", .run = gate_run, .user = &gate));
    seat_connect(&at, &raw, 1, true);
    raw_call(&at, "1", "deaf", NULL);
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    mcp_server_free(raw.server);
    assert_int_equal(atomic_load(&gate.left), 0); /* the gate is shut */
    assert_true(raw_logged(&raw, "1 handlers do not end"));
    assert_true(atomic_load(&raw.mem->live) > 0);
    atomic_store(&gate.open, true);
    RAW_UNTIL(atomic_load(&raw.mem->live) == 0);
    seat_leave(&at);
    free(raw.in);
}

struct stepper {
    mcp_loop *loop;
    atomic_bool end;
    pthread_t thread;
};

static void *
stepper_main(void *user)
{
    struct stepper *stepper = user;
    struct pollfd fd = {.fd = mcp_loop_fd(stepper->loop), .events = POLLIN};

    while (!atomic_load(&stepper->end)) {
        (void)mcp_loop_step(stepper->loop);
        (void)poll(&fd, 1, 5);
    }
    return NULL;
}

static void
a_server_on_a_loop_of_the_programs_has_replicas_too(void **state)
{
    struct stepper stepper = {0};
    struct raw raw, at[2];

    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &stepper.loop, NULL), 0);
    raw_make(&raw, MCP_SERVER_OPTIONS(.loop = stepper.loop));
    raw_tool(&raw, MCP_TOOL(.name = "where", .reply = where, .user = &raw));
    assert_int_equal(mcpi_server_grow(raw.server, 2, NULL), 0);
    assert_int_equal(pthread_create(&stepper.thread, NULL, stepper_main, &stepper), 0);
    for (unsigned i = 0; i < 2; i++) {
        seat_connect(&at[i], &raw, i, true);
        raw_call(&at[i], "1", "where", NULL);
        raw_expect(&at[i], "on it");
    }
    mcp_server_free(raw.server);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(raw_at_eof(&at[i]));
        seat_leave(&at[i]);
    }
    RAW_UNTIL(atomic_load(&raw.mem->live) == 0);
    atomic_store(&stepper.end, true);
    pthread_join(stepper.thread, NULL);
    mcp_loop_free(stepper.loop);
}

/* Nobody steps the loop before it is freed: that does the rest. */
static void
a_loop_that_is_freed_takes_the_replicas_along(void **state)
{
    mcp_loop *loop;
    struct raw raw;

    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), 0);
    raw_make(&raw, MCP_SERVER_OPTIONS(.loop = loop));
    assert_int_equal(mcpi_server_grow(raw.server, 3, NULL), 0);
    mcp_server_free(raw.server);
    mcp_loop_free(loop);
    test_mem_done(raw.mem);
}

/* ---- what can go wrong -------------------------------------------------- */

static void
grow_flow(struct test_mem *mem, void *user)
{
    struct raw raw;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.instructions = "x")) < 0)
        return;
    (void)mcpi_server_grow(raw.server, 2, NULL);
    mcp_server_free(raw.server);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    test_each_allocation_fails(grow_flow, NULL);
}

/* ---- at the same time --------------------------------------------------- */

#define CALLS 200

struct busy {
    struct raw *raw;
    unsigned index;
    bool modern;
    pthread_t thread;
};

static void *
busy_main(void *user)
{
    struct busy *busy = user;
    struct raw at;
    char id[16];

    seat_connect(&at, busy->raw, busy->index, busy->modern);
    for (int i = 0; i < CALLS; i++) {
        const char *line;

        snprintf(id, sizeof(id), "%d", i + 10);
        raw_call(&at, id, i % 2 ? "reply" : "run", NULL);
        do
            line = raw_line(&at);
        while (strstr(line, "\"method\"")); /* a change, or a log message */
        assert_non_null(strstr(line, "branch"));
    }
    seat_leave(&at);
    return NULL;
}

/* While clients of all branches call, everything that all share is changed. */
static void
clients_of_all_call_while_tools_come_and_go(void **state)
{
    struct busy busy[4];
    struct raw raw;

    (void)state;
    grown_make(&raw, 2, MCP_SERVER_OPTIONS(.changes_ms = -1));
    raw_tool(&raw, MCP_TOOL(.name = "reply", .reply = where, .user = &raw));
    raw_tool(&raw, MCP_TOOL(.name = "run", .run = where, .user = &raw));
    for (unsigned i = 0; i < 4; i++) {
        busy[i] = (struct busy){.raw = &raw, .index = i / 2, .modern = i % 2 != 0};
        assert_int_equal(pthread_create(&busy[i].thread, NULL, busy_main, &busy[i]), 0);
    }
    for (int i = 0; i < 100; i++) {
        raw_tool(&raw, MCP_TOOL(.name = "passing", .reply = where, .user = &raw));
        assert_int_equal(mcp_server_log(raw.server, MCP_SEVERITY_INFO, "t", "1", 1), 0);
        assert_int_equal(mcp_server_resource_updated(raw.server, "a://b"), 0);
        assert_int_equal(mcp_server_remove_tool(raw.server, "passing"), 0);
        (void)raw_counts(&raw);
        sched_yield();
    }
    for (unsigned i = 0; i < 4; i++)
        pthread_join(busy[i].thread, NULL);
    assert_int_equal(raw_counts(&raw).answered, 4 * CALLS + 2);
    raw_done(&raw);
}

TEST_MAIN(TEST_ERAS(a_client_is_served_on_its_branch),
          TEST(all_branches_introduce_the_same_server),
          TEST_ERAS(a_cancel_reaches_the_handler_of_a_replica),
          TEST(middleware_stands_around_the_requests_of_all),
          TEST(changes_reach_the_clients_of_all),
          TEST(listen_streams_of_all_end_with_their_result),
          TEST(log_messages_reach_the_sessions_of_all),
          TEST(who_was_asked_by_a_url_hears_that_it_is_done),
          TEST(notifications_name_the_server_itself),
          TEST_ERAS(a_stop_closes_the_clients_of_all),
          TEST(it_has_not_stopped_while_a_replica_has_a_link),
          TEST(one_that_never_ran_is_freed),
          TEST(a_handler_of_a_replica_may_free_the_server),
          TEST(F5_a_deaf_handler_of_a_replica_is_left_behind),
          TEST(a_server_on_a_loop_of_the_programs_has_replicas_too),
          TEST(a_loop_that_is_freed_takes_the_replicas_along),
          TEST(each_allocation_may_fail),
          TEST(clients_of_all_call_while_tools_come_and_go))
