/* http_life_test.c - a server that listens on a port, on several threads, and its end */
#include "api/http_served.h"

/* ---- several threads ---------------------------------------------------- */

#define THREADS 3
#define CLIENTS 24

/* The kernel spreads connections, so with these all loops have some. */
static void
a_session_is_found_on_every_connection(void **state)
{
    struct http_raw h[CLIENTS];
    char *session[CLIENTS];
    bool seen[THREADS] = {false};
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                        MCP_HTTP_OPTIONS(.threads = THREADS));
    for (int i = 0; i < CLIENTS; i++) {
        http_open(&h[i], port, NULL);
        session[i] = http_hello(&h[i]);
        assert_in_range(session[i][0] - '0', 0, THREADS - 1);
        seen[session[i][0] - '0'] = true;
    }
    assert_true(seen[0] + seen[1] + seen[2] > 1);
    assert_int_equal(raw_counts(&raw).sessions, CLIENTS);
    for (int i = 0; i < CLIENTS; i++)
        served_says(&h[i], MCP_ERA_LEGACY, session[(i * 7 + 3) % CLIENTS]);
    for (int i = 0; i < CLIENTS; i++) {
        http_ask(&h[i], "DELETE", session[(i * 5 + 1) % CLIENTS]);
        assert_int_equal(http_answer(&h[i]), 200);
    }
    RAW_UNTIL(raw_counts(&raw).sessions == 0);
    for (int i = 0; i < CLIENTS; i++) {
        http_close(&h[i]);
        free(session[i]);
    }
    raw_done(&raw);
}

static void
changes_are_told_on_all_threads(void **state)
{
    struct http_raw h[CLIENTS];
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.offers = MCP_TOOLS_CHANGED),
                        MCP_HTTP_OPTIONS(.threads = THREADS));
    for (int i = 0; i < CLIENTS; i++) {
        http_open(&h[i], port, NULL);
        http_post(&h[i], &HTTP_POST(.method = "subscriptions/listen",
                                    .body = REQUEST("1", "subscriptions/listen",
                                                    "{\"notifications\":"
                                                    "{\"toolsListChanged\":true}," STAMP
                                                    "}")));
        assert_int_equal(http_head(&h[i]), 200);
        assert_non_null(strstr(http_event(&h[i], NULL), "acknowledged"));
    }
    assert_int_equal(raw_counts(&raw).streams, CLIENTS);
    raw_tool(&raw, MCP_TOOL(.name = "new", .reply = served_say));
    for (int i = 0; i < CLIENTS; i++)
        assert_non_null(strstr(http_event(&h[i], NULL), "list_changed"));
    mcp_server_stop(raw.server);
    for (int i = 0; i < CLIENTS; i++) {
        assert_non_null(strstr(http_event(&h[i], NULL), "\"result\""));
        assert_null(http_event(&h[i], NULL));
        assert_true(h[i].is_over);
        http_close(&h[i]);
    }
    raw_done(&raw);
}

struct caller {
    int port;
    enum mcp_era era;
    pthread_t thread;
};

static void *
caller_main(void *user)
{
    struct caller *caller = user;
    char *session = NULL;
    struct http_raw h;

    http_open(&h, caller->port, NULL);
    if (caller->era == MCP_ERA_LEGACY)
        session = http_hello(&h);
    for (int i = 0; i < 50; i++) {
        served_says(&h, caller->era, session);
        if (i % 10 == 9) { /* perhaps another loop's */
            http_close(&h);
            http_open(&h, caller->port, NULL);
        }
    }
    http_close(&h);
    free(session);
    return NULL;
}

static void
clients_call_on_all_threads_while_tools_come_and_go(void **state)
{
    struct caller callers[6];
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.changes_ms = -1),
                        MCP_HTTP_OPTIONS(.threads = THREADS));
    for (int i = 0; i < 6; i++) {
        callers[i].port = port;
        callers[i].era = i % 2 ? MCP_ERA_LEGACY : MCP_ERA_MODERN;
        assert_int_equal(
            pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]), 0);
    }
    for (int i = 0; i < 50; i++) {
        raw_tool(&raw, MCP_TOOL(.name = "passing", .reply = served_say));
        (void)mcp_server_log(raw.server, MCP_SEVERITY_INFO, NULL, "1", 1);
        assert_int_equal(mcp_server_remove_tool(raw.server, "passing"), 0);
        (void)raw_counts(&raw);
    }
    for (int i = 0; i < 6; i++)
        pthread_join(callers[i].thread, NULL);
    assert_int_equal(raw_counts(&raw).failed, 0);
    raw_done(&raw);
}

/* ---- the end ------------------------------------------------------------ */

static void
F29_a_stop_answers_what_runs_and_closes(void **state)
{
    const bool *modern = *state;
    struct gate gate = {0};
    struct http_raw h, idle;
    char *session = NULL;
    struct raw raw;
    int port;

    port = served_start(&raw, MCP_SERVER_OPTIONS(.drain_ms = -1),
                        MCP_HTTP_OPTIONS(.threads = 2));
    raw_tool(&raw, MCP_TOOL(.name = "hang", .run = served_sleep, .user = &gate));
    http_open(&idle, port, NULL);
    http_open(&h, port, NULL);
    if (!*modern)
        session = http_hello(&h);
    http_call(&h, &HTTP_CALL(.era = *modern ? MCP_ERA_MODERN : MCP_ERA_LEGACY,
                             .session = session, .tool = "hang"));
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    mcp_server_stop(raw.server);
    assert_true(http_answer(&h) > 0);
    assert_non_null(strstr(h.body, "\"error\""));
    http_expect_end(&h);
    http_expect_end(&idle);
    RAW_UNTIL(atomic_load(&gate.left) == 1);
    RAW_UNTIL(atomic_load(&raw.server->stopped));
    assert_true(served_is_refused(port));
    assert_int_equal(raw_counts(&raw).connections, 0);
    assert_int_equal(raw_counts(&raw).sessions, 0);
    assert_int_equal(raw_counts(&raw).streams, 0);
    http_close(&h);
    http_close(&idle);
    free(session);
    raw_done(&raw);
}

static void
what_runs_may_finish_within_the_drain(void **state)
{
    struct gate gate = {0};
    struct http_raw h;
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.drain_ms = 60000),
                        MCP_HTTP_OPTIONS(.port = 0));
    raw_tool(&raw, MCP_TOOL(.name = "gate", .run = gate_run, .user = &gate));
    http_open(&h, port, NULL);
    http_call(&h, &HTTP_CALL(.tool = "gate"));
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    mcp_server_stop(raw.server);
    RAW_UNTIL(served_is_refused(port));
    atomic_store(&gate.open, true);
    assert_int_equal(http_answer(&h), 200);
    assert_non_null(strstr(h.body, "passed"));
    http_expect_end(&h);
    http_close(&h);
    raw_done(&raw);
}

static int
say_much(mcp_request *req, mcp_result *out, void *user)
{
    char *text = malloc(1 << 20);
    int r;

    (void)req;
    (void)user;
    memset(text, 'x', 1 << 20);
    r = mcp_result_text_n(out, text, 1 << 20);
    free(text);
    return r;
}

static void
F31_a_client_that_does_not_read_cannot_hold_it(void **state)
{
    struct http_raw h[8];
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.stop_ms = 50, .drain_ms = 50),
                        MCP_HTTP_OPTIONS(.threads = 2));
    raw_tool(&raw, MCP_TOOL(.name = "much", .reply = say_much));
    for (int i = 0; i < 8; i++) {
        http_open(&h[i], port, NULL);
        for (int n = 0; n < 8; n++) /* one after the other, if it read them */
            http_call(&h[i], &HTTP_CALL(.tool = "much"));
    }
    RAW_UNTIL(raw_counts(&raw).answered >= 8);
    raw_done(&raw); /* returns: that is the test */
    for (int i = 0; i < 8; i++)
        http_close(&h[i]);
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
a_handler_may_free_the_server(void **state)
{
    struct http_raw h;
    struct raw raw;
    int port;

    (void)state;
    for (unsigned threads = 1; threads <= 3; threads++) {
        port = served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                            MCP_HTTP_OPTIONS(.threads = threads));
        raw_tool(&raw, MCP_TOOL(.name = "end", .reply = free_server, .user = &raw));
        http_open(&h, port, NULL);
        http_call(&h, &HTTP_CALL(.tool = "end"));
        http_expect_end(&h);
        http_close(&h);
        RAW_UNTIL(atomic_load(&raw.mem->live) == 0);
    }
}

static void
one_that_never_ran_closes_its_port(void **state)
{
    struct http_raw h;
    struct raw raw;
    int port;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    port = served_listen(&raw, MCP_HTTP_OPTIONS(.threads = 2));
    http_open(&h, port, NULL);
    raw_done(&raw);
    http_expect_end(&h);
    http_close(&h);
    assert_true(served_is_refused(port));
}

static void
it_serves_on_a_loop_of_the_programs(void **state)
{
    struct http_raw h;
    mcp_loop *loop;
    struct raw raw;
    int port;

    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), 0);
    raw_make(&raw, MCP_SERVER_OPTIONS(.loop = loop));
    raw_tool(&raw, MCP_TOOL(.name = "say", .reply = served_say));
    port = served_listen(&raw, MCP_HTTP_OPTIONS(.threads = 2));
    http_open(&h, port, NULL);
    http_call(&h, &HTTP_CALL(.tool = "say"));
    RAW_UNTIL((mcp_loop_step(loop), raw_counts(&raw).answered == 1));
    for (int i = 0; i < 3; i++)
        (void)mcp_loop_step(loop);
    assert_int_equal(http_answer(&h), 200);
    mcp_server_free(raw.server);
    mcp_loop_free(loop);
    http_expect_end(&h);
    http_close(&h);
    test_mem_done(raw.mem);
}

TEST_MAIN(TEST(a_session_is_found_on_every_connection),
          TEST(changes_are_told_on_all_threads),
          TEST(clients_call_on_all_threads_while_tools_come_and_go),
          TEST_ERAS(F29_a_stop_answers_what_runs_and_closes),
          TEST(what_runs_may_finish_within_the_drain),
          TEST(F31_a_client_that_does_not_read_cannot_hold_it),
          TEST(a_handler_may_free_the_server), TEST(one_that_never_ran_closes_its_port),
          TEST(it_serves_on_a_loop_of_the_programs))
