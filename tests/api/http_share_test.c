/*
 * http_share_test.c - a client that takes all it can get leaves enough for the others
 *
 * 127.0.0.2 is greedy, 127.0.0.3 wants to be served. Issue 20, 5 and 6.
 */
#include <stdlib.h>
#include <string.h>

#include "api/http_served.h"
#include "link/http_session.h"

#define MIB ((size_t)1024 * 1024)

enum { GREEDY = 2, OTHER = 3, THIRD = 4, MANY = 64 };

struct crowd {
    struct http_raw clients[MANY];
    size_t count;
};

static void
crowd_close(struct crowd *crowd)
{
    while (crowd->count > 0)
        http_close(&crowd->clients[--crowd->count]);
}

static mcp_server_counts
counts_of(const struct raw *raw)
{
    mcp_server_counts counts = {.size = sizeof(counts)};

    assert_int_equal(mcp_server_count(raw->server, &counts), 0);
    return counts;
}

/* Somebody else is served, in either era. */
static void
other_is_served(int port)
{
    struct http_raw h;
    char *session;

    http_open_from(&h, port, OTHER);
    served_says(&h, MCP_ERA_MODERN, NULL);
    session = http_hello(&h);
    assert_non_null(session);
    served_says(&h, MCP_ERA_LEGACY, session);
    http_ask(&h, "DELETE", session);
    assert_int_equal(http_answer(&h), 200);
    free(session);
    http_close(&h);
}

/* ---- connections ----------------------------------------------------------- */

static void
connections_of_one_address_are_half_at_most(void **state)
{
    struct crowd crowd = {.count = 0};
    struct http_raw *h;
    struct raw raw;
    int port, status = 0;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                        MCP_HTTP_OPTIONS(.connections = MANY));
    while (crowd.count < MANY / 2) {
        h = &crowd.clients[crowd.count++];
        http_open_from(h, port, GREEDY);
        served_says(h, MCP_ERA_MODERN, NULL);
    }
    h = &crowd.clients[crowd.count++];
    http_open_from(h, port, GREEDY);
    status = http_answer(h);
    assert_int_equal(status, 503);
    assert_string_equal(http_field(h, "Retry-After"), "1");
    other_is_served(port);
    crowd_close(&crowd);
    raw_done(&raw);
}

/* Behind a proxy an address says nothing. */
static void
behind_a_proxy_one_address_may_have_all(void **state)
{
    struct crowd crowd = {.count = 0};
    struct http_raw *h;
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                        MCP_HTTP_OPTIONS(.connections = MANY, .proxied = true));
    while (crowd.count < MANY) {
        h = &crowd.clients[crowd.count++];
        http_open_from(h, port, GREEDY);
        served_says(h, MCP_ERA_MODERN, NULL);
    }
    crowd_close(&crowd);
    raw_done(&raw);
}

/* ---- bodies ---------------------------------------------------------------- */

static bool
is_answered(struct http_raw *h)
{
    return !http_wait(h, 1) || h->len > 0;
}

/* The head of a body of 8 MiB, and that much of it, or what was taken before it was
 * refused. */
static void
begin_body(struct http_raw *h, int port, size_t bytes)
{
    char *some = malloc(bytes);

    assert_non_null(some);
    memset(some, ' ', bytes);
    http_open_from(h, port, GREEDY);
    http_say(h, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
                "Content-Type: application/json\r\n"
                "Accept: application/json, text/event-stream\r\n"
                "Content-Length: 8388608\r\n\r\n");
    (void)http_push(h, some, bytes);
    free(some);
}

static void
bodies_that_never_end_have_a_bound(void **state)
{
    struct crowd crowd = {.count = 0};
    struct http_raw *h;
    struct raw raw;
    uint64_t held;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.memory_bytes = 64 * MIB),
                        MCP_HTTP_OPTIONS(.port = 0));
    do {
        held = counts_of(&raw).held_bytes;
        h = &crowd.clients[crowd.count++];
        begin_body(h, port, MIB);
        RAW_UNTIL(counts_of(&raw).held_bytes >= held + MIB || is_answered(h));
        assert_true(counts_of(&raw).held_bytes <= 8 * MIB);
    } while (h->len == 0);
    assert_int_equal(http_answer(h), 503);
    assert_string_equal(http_field(h, "Retry-After"), "1");
    other_is_served(port);
    crowd_close(&crowd);
    RAW_UNTIL(counts_of(&raw).held_bytes == 0);
    raw_done(&raw);
}

/* Coming back would not help. */
static void
body_that_can_never_fit_is_too_long(void **state)
{
    struct http_raw h;
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.memory_bytes = 16 * MIB),
                        MCP_HTTP_OPTIONS(.port = 0));
    begin_body(&h, port, 1);
    assert_int_equal(http_answer(&h), 413);
    assert_null(http_field(&h, "Retry-After"));
    http_close(&h);
    raw_done(&raw);
}

/* ---- who is asked who they are --------------------------------------------- */

struct desk {
    mcp_http_ticket *tickets[MANY];
    atomic_int count;
};

/* Whoever has a name is who they say; the others wait. */
static void
ask_the_desk(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    const char *name = mcp_http_header(request, "X-Name");
    struct desk *desk = user;

    if (name)
        mcp_http_allow(ticket, name);
    else
        desk->tickets[atomic_fetch_add(&desk->count, 1)] = ticket;
}

static void
requests_that_wait_for_their_sender_have_a_bound(void **state)
{
    static char text[2 * MIB];
    struct crowd crowd = {.count = 0};
    struct desk desk = {.count = 0};
    struct http_raw h;
    struct raw raw;
    int port, refused = 0;

    (void)state;
    memset(text, ' ', sizeof(text) - 1);
    port = served_start(
        &raw, MCP_SERVER_OPTIONS(.memory_bytes = 64 * MIB),
        MCP_HTTP_OPTIONS(.identify = ask_the_desk, .identify_user = &desk));
    while (refused == 0 && crowd.count < 20) {
        http_open_from(&crowd.clients[crowd.count], port, GREEDY);
        http_post(&crowd.clients[crowd.count],
                  &HTTP_POST(.era = MCP_ERA_MODERN, .method = "tools/call",
                             .name = "say", .body = text));
        crowd.count++;
        while (atomic_load(&desk.count) + refused < (int)crowd.count)
            refused += is_answered(&crowd.clients[crowd.count - 1]);
    }
    assert_int_equal(refused, 1);
    assert_true(counts_of(&raw).held_bytes <= 8 * MIB);
    assert_int_equal(http_answer(&crowd.clients[crowd.count - 1]), 503);
    http_open_from(&h, port, OTHER);
    http_post(&h, &HTTP_POST(.era = MCP_ERA_MODERN, .method = "tools/call",
                             .name = "say", .fields = "X-Name: ann\r\n", .body = "{"));
    assert_int_equal(http_answer(&h), 400); /* it was read */
    http_close(&h);
    crowd_close(&crowd);
    for (int i = 0; i < atomic_load(&desk.count); i++)
        mcp_http_allow(desk.tickets[i], "");
    RAW_UNTIL(counts_of(&raw).held_bytes == 0);
    raw_done(&raw);
}

/* ---- sessions -------------------------------------------------------------- */

#define INITIALIZE_BODY                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"     \
    "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":" \
    "{\"name\":\"raw\",\"version\":\"1\"}}}"

/* The status; the session is left behind. */
static int
begin_session(int port, int from, const char *fields, struct http_raw *h)
{
    http_open_from(h, port, from);
    http_post(h, &HTTP_POST(.era = MCP_ERA_LEGACY, .fields = fields,
                            .body = INITIALIZE_BODY));
    return http_answer(h);
}

static void
sessions_that_are_left_behind_lock_nobody_out(void **state)
{
    struct http_raw h;
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                        MCP_HTTP_OPTIONS(.sessions = MANY));
    for (int i = 0; i < 3 * MANY; i++) {
        assert_int_equal(begin_session(port, GREEDY, NULL, &h), 200);
        http_close(&h);
    }
    assert_int_equal(counts_of(&raw).sessions, MANY / 2);
    for (int i = 0; i < MANY / 4; i++) {
        assert_int_equal(begin_session(port, OTHER, NULL, &h), 200);
        http_close(&h);
    }
    assert_int_equal(counts_of(&raw).sessions, MANY / 2 + MANY / 4);
    other_is_served(port);
    raw_done(&raw);
}

/* Issue 20: more than the memory has room for would not be counted. */
static void
sessions_are_as_few_as_the_memory_allows(void **state)
{
    struct http_raw h;
    struct raw raw;
    int port;

    (void)state;
    port = served_start(
        &raw, MCP_SERVER_OPTIONS(.memory_bytes = 8 * MANY * MCPI_SESSION_WEIGHT),
        MCP_HTTP_OPTIONS(.threads = 2));
    for (int i = 0; i < 3 * MANY; i++) {
        (void)begin_session(port, GREEDY, NULL, &h);
        http_close(&h);
    }
    assert_in_range(counts_of(&raw).sessions, 1, MANY / 2);
    raw_done(&raw);
}

/* One with a stream is not idle. Two addresses of one principal are one client. */
static void
sessions_of_one_principal_are_half_at_most(void **state)
{
    static const char name[] = "X-Name: greedy\r\n";
    struct crowd crowd = {.count = 0};
    struct desk desk = {.count = 0};
    struct http_raw h;
    struct raw raw;
    char *session, text[512];
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                        MCP_HTTP_OPTIONS(.sessions = MANY, .identify = ask_the_desk,
                                         .identify_user = &desk));
    while (crowd.count < MANY / 2) {
        assert_int_equal(begin_session(port, GREEDY + (int)crowd.count % 2, name, &h),
                         200);
        session = strdup(http_field(&h, "Mcp-Session-Id"));
        http_close(&h);
        http_open_from(&crowd.clients[crowd.count], port, GREEDY);
        snprintf(text, sizeof(text),
                 "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                 "X-Name: greedy\r\nMcp-Session-Id: %s\r\n\r\n",
                 session);
        http_say(&crowd.clients[crowd.count], text);
        assert_int_equal(http_head(&crowd.clients[crowd.count]), 200);
        crowd.count++;
        free(session);
    }
    assert_int_equal(begin_session(port, OTHER, name, &h), 503);
    http_close(&h);
    assert_int_equal(begin_session(port, GREEDY, "X-Name: ann\r\n", &h), 200);
    http_close(&h);
    crowd_close(&crowd);
    raw_done(&raw);
}

/* One that fills a loop would end the idle sessions of others there. */
static void
sessions_are_shared_by_all_loops(void **state)
{
    struct http_raw h;
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                        MCP_HTTP_OPTIONS(.sessions = MANY / 2, .threads = 2));
    assert_int_equal(begin_session(port, OTHER, NULL, &h), 200);
    for (int i = 0; i < 3 * MANY; i++) {
        struct http_raw greedy;

        (void)begin_session(port, GREEDY, NULL, &greedy); /* or there is no idle one */
        http_close(&greedy);
        assert_true(counts_of(&raw).sessions <= MANY / 2 + 1);
    }
    served_says(&h, MCP_ERA_LEGACY, http_field(&h, "Mcp-Session-Id"));
    http_close(&h);
    raw_done(&raw);
}

static void
say_initialize(struct http_raw *h)
{
    http_post(h, &HTTP_POST(.era = MCP_ERA_LEGACY, .body = INITIALIZE_BODY));
}

static void
end_session(struct http_raw *h)
{
    char *session = strdup(http_field(h, "Mcp-Session-Id"));

    http_ask(h, "DELETE", session);
    assert_int_equal(http_answer(h), 200);
    free(session);
}

/* A connection of that client to each of two loops, in their order. A session is gone a
 * moment after its DELETE was answered: until then it has a place. */
static void
open_on_both_loops(struct raw *raw, int port, int from, struct http_raw h[2])
{
    uint64_t before = counts_of(raw).sessions;
    bool has[2] = {false, false};
    struct http_raw one;
    unsigned loop;

    for (int i = 0; i < 10 * MANY && !(has[0] && has[1]); i++) {
        assert_int_equal(begin_session(port, from, NULL, &one), 200);
        assert_int_equal(mcpi_session_shard(http_field(&one, "Mcp-Session-Id"), &loop),
                         0);
        end_session(&one);
        if (has[loop]) {
            http_close(&one);
        } else {
            h[loop] = one;
            has[loop] = true;
        }
    }
    assert_true(has[0] && has[1]); /* or all connections went to one loop */
    RAW_UNTIL(counts_of(raw).sessions == before);
}

/* So many sessions that are left behind. */
static void
fill(int port, int from, int count)
{
    struct http_raw h;

    for (int i = 0; i < count; i++) {
        assert_int_equal(begin_session(port, from, NULL, &h), 200);
        http_close(&h);
    }
}

/* So many sessions are begun on this connection. */
static void
begin_on(struct http_raw *h, int count)
{
    for (int i = 0; i < count; i++) {
        say_initialize(h);
        assert_int_equal(http_answer(h), 200);
    }
}

/* A server of two loops, of which the first has all idle sessions of a client: it is
 * refused one on the second. */
static void
serve_one_full_loop(struct raw *raw, struct http_raw h[2], int *ret_port)
{
    *ret_port = served_start(raw, MCP_SERVER_OPTIONS(.page = 0),
                             MCP_HTTP_OPTIONS(.sessions = MANY / 2, .threads = 2));
    open_on_both_loops(raw, *ret_port, GREEDY, h);
    begin_on(&h[0], MANY / 2);
    say_initialize(&h[1]);
    assert_int_equal(http_answer(&h[1]), 503);
    assert_non_null(http_field(&h[1], "Retry-After"));
    RAW_UNTIL(counts_of(raw).sessions == MANY / 2 - 1);
}

/* Issue 20: a client whose idle sessions were all on another loop was locked out. */
static void
room_is_made_on_another_loop(void **state)
{
    struct http_raw h[2];
    struct raw raw;
    int port;

    (void)state;
    serve_one_full_loop(&raw, h, &port);
    fill(port, OTHER, MANY / 4);
    fill(port, THIRD, MANY / 4 - 1); /* its share has become smaller meanwhile */
    say_initialize(&h[1]);
    assert_int_equal(http_answer(&h[1]), 200);
    assert_int_equal(counts_of(&raw).sessions, MANY - 1);
    http_close(&h[0]);
    http_close(&h[1]);
    raw_done(&raw);
}

/* The search that failed was on the other loop. */
static void
idle_sessions_are_found_here_though_none_was_there(void **state)
{
    struct http_raw h[2];
    struct raw raw;
    int port;

    (void)state;
    serve_one_full_loop(&raw, h, &port);
    begin_on(&h[0], 5);
    http_close(&h[0]);
    http_close(&h[1]);
    raw_done(&raw);
}

/* Likewise one that has no session yet, where all are those of others. */
static void
room_is_made_for_a_newcomer_on_another_loop(void **state)
{
    struct http_raw h[2], newcomer[2];
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.page = 0),
                        MCP_HTTP_OPTIONS(.sessions = MANY / 2, .threads = 2));
    open_on_both_loops(&raw, port, THIRD, newcomer);
    for (int from = THIRD + 1; counts_of(&raw).sessions < MANY; from++) {
        open_on_both_loops(&raw, port, from, h);
        begin_on(&h[0], MCPI_UNSHARED_MAX);
        http_close(&h[0]);
        http_close(&h[1]);
    }
    say_initialize(&newcomer[1]);
    assert_int_equal(http_answer(&newcomer[1]), 503);
    RAW_UNTIL(counts_of(&raw).sessions == MANY - 1);
    say_initialize(&newcomer[1]);
    assert_int_equal(http_answer(&newcomer[1]), 200);
    http_close(&newcomer[0]);
    http_close(&newcomer[1]);
    raw_done(&raw);
}

/* ---- subscriptions --------------------------------------------------------- */

static int
listen_from(int port, int from, struct http_raw *h)
{
    static const char body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":"
        "{\"notifications\":{\"toolsListChanged\":true},\"_meta\":"
        "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
    const char *event;

    http_open_from(h, port, from);
    http_post(h, &HTTP_POST(.era = MCP_ERA_MODERN, .method = "subscriptions/listen",
                            .body = body));
    assert_int_equal(http_head(h), 200);
    if (strcmp(http_field(h, "Content-Type"), "application/json") == 0)
        return strstr(http_body(h), "Too many subscriptions") ? -1 : 0;
    event = http_event(h, NULL);
    assert_non_null(event);
    assert_non_null(strstr(event, "acknowledged"));
    return 0;
}

static void
subscriptions_of_one_address_are_half_at_most(void **state)
{
    struct crowd crowd = {.count = 0};
    struct http_raw h;
    struct raw raw;
    int port;

    (void)state;
    port = served_start(&raw, MCP_SERVER_OPTIONS(.listeners = MANY),
                        MCP_HTTP_OPTIONS(.port = 0));
    while (crowd.count < MANY / 2)
        assert_int_equal(listen_from(port, GREEDY, &crowd.clients[crowd.count++]), 0);
    assert_true(listen_from(port, GREEDY, &crowd.clients[crowd.count++]) < 0);
    assert_int_equal(listen_from(port, OTHER, &h), 0);
    http_close(&h);
    crowd_close(&crowd);
    raw_done(&raw);
}

/* ---- requests -------------------------------------------------------------- */

static int
hang(mcp_request *req, mcp_result *out, void *user)
{
    (void)out, (void)user;
    return mcp_request_sleep(req, 600000);
}

/* All modern clients are one peer of the engine. */
static void
long_requests_of_one_client_lock_nobody_out(void **state)
{
    struct crowd crowd = {.count = 0};
    char *arguments = malloc(MIB);
    struct raw raw;
    int port;

    (void)state;
    assert_non_null(arguments);
    memset(arguments, ' ', MIB - 1);
    memcpy(arguments, "{}", 2);
    arguments[MIB - 1] = '\0';
    raw_make(&raw, MCP_SERVER_OPTIONS(.held_bytes = MIB));
    raw_tool(&raw, MCP_TOOL(.name = "say", .reply = served_say));
    raw_tool(&raw, MCP_TOOL(.name = "hang", .run = hang));
    port = served_listen(&raw, MCP_HTTP_OPTIONS(.port = 0));
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    while (crowd.count < 3) {
        http_open_from(&crowd.clients[crowd.count], port, GREEDY);
        http_call(
            &crowd.clients[crowd.count++],
            &HTTP_CALL(.era = MCP_ERA_MODERN, .tool = "hang", .arguments = arguments));
    }
    RAW_UNTIL(counts_of(&raw).live_handlers == 3);
    other_is_served(port);
    crowd_close(&crowd);
    RAW_UNTIL(counts_of(&raw).held_bytes == 0);
    raw_done(&raw);
    free(arguments);
}

static void
requests_of_one_client_are_half_at_most(void **state)
{
    struct crowd crowd = {.count = 0};
    struct http_raw h;
    struct raw raw;
    int port;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.in_flight = MANY, .workers = MANY));
    raw_tool(&raw, MCP_TOOL(.name = "say", .reply = served_say));
    raw_tool(&raw, MCP_TOOL(.name = "hang", .run = hang));
    port = served_listen(&raw, MCP_HTTP_OPTIONS(.port = 0));
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    while (crowd.count < MANY / 2) {
        http_open_from(&crowd.clients[crowd.count], port, GREEDY);
        http_call(&crowd.clients[crowd.count++],
                  &HTTP_CALL(.era = MCP_ERA_MODERN, .tool = "hang"));
    }
    RAW_UNTIL(counts_of(&raw).in_flight == MANY / 2);
    http_open_from(&h, port, GREEDY);
    http_call(&h, &HTTP_CALL(.era = MCP_ERA_MODERN, .tool = "say"));
    assert_int_equal(http_answer(&h), 503);
    http_close(&h);
    other_is_served(port);
    crowd_close(&crowd);
    RAW_UNTIL(counts_of(&raw).in_flight == 0);
    raw_done(&raw);
}

/* ---- answers --------------------------------------------------------------- */

static int
say_much(mcp_request *req, mcp_result *out, void *user)
{
    (void)mcp_request_progress(req, 1, 2,
                               NULL); /* if it was asked for: then it is a stream */
    return mcp_result_text(out, user);
}

/* A server of 64 MiB whose tool "much" answers with so many bytes. */
static int
serve_much(struct raw *raw, char *much, size_t size, mcp_http_options http)
{
    int port;

    assert_non_null(much);
    memset(much, 'x', size - 1);
    much[size - 1] = '\0';
    raw_make(raw, MCP_SERVER_OPTIONS(.memory_bytes = 64 * MIB));
    raw_tool(raw, MCP_TOOL(.name = "say", .reply = served_say));
    raw_tool(raw, MCP_TOOL(.name = "much", .reply = say_much, .user = much));
    port = served_listen(raw, http);
    assert_int_equal(mcp_server_start(raw->server, NULL), 0);
    return port;
}

static void
answers_that_nobody_reads_have_a_bound(void **state)
{
    struct crowd crowd = {.count = 0};
    char *much = malloc(4 * MIB);
    struct raw raw;
    int port;

    (void)state;
    port = serve_much(&raw, much, 4 * MIB, MCP_HTTP_OPTIONS(.port = 0));
    while (crowd.count < 30) {
        http_open_from(&crowd.clients[crowd.count], port, GREEDY);
        http_call(&crowd.clients[crowd.count++],
                  &HTTP_CALL(.era = MCP_ERA_MODERN, .tool = "much"));
        assert_true(counts_of(&raw).held_bytes <= 24 * MIB);
    }
    other_is_served(port);
    crowd_close(&crowd);
    RAW_UNTIL(counts_of(&raw).held_bytes == 0);
    raw_done(&raw);
    free(much);
}

/* Its client has room for it once, and once is enough: it is not held a second time when
 * it waits on the wire. */
static void
answer_that_fits_is_told_to_a_slow_reader(void **state)
{
    const size_t size = 15 * MIB;
    char *much = malloc(size);
    struct http_raw h;
    struct raw raw;
    int port;

    (void)state;
    port = serve_much(&raw, much, size, MCP_HTTP_OPTIONS(.port = 0));
    for (int stream = 0; stream < 2; stream++) {
        http_open_from(&h, port, GREEDY);
        http_call(
            &h, &HTTP_CALL(.era = MCP_ERA_MODERN, .tool = "much", .progress = stream));
        assert_int_equal(http_answer(&h), 200);
        assert_string_equal(http_field(&h, "Content-Type"),
                            stream ? "text/event-stream" : "application/json");
        assert_true(strlen(http_body(&h)) > size);
        assert_non_null(strstr(http_body(&h), "xxx\""));
        http_close(&h);
    }
    RAW_UNTIL(counts_of(&raw).held_bytes == 0);
    raw_done(&raw);
    free(much);
}

/* Nor between two loops. */
static void
answer_that_fits_is_told_by_another_loop(void **state)
{
    const size_t size = 15 * MIB;
    char *much = malloc(size), *session;
    struct http_raw h[2];
    struct raw raw;
    int port;

    (void)state;
    port = serve_much(&raw, much, size, MCP_HTTP_OPTIONS(.threads = 2));
    open_on_both_loops(&raw, port, GREEDY, h);
    session = http_hello(&h[0]);
    http_call(&h[1],
              &HTTP_CALL(.era = MCP_ERA_LEGACY, .session = session, .tool = "much"));
    assert_int_equal(http_answer(&h[1]), 200);
    assert_true(strlen(http_body(&h[1])) > size);
    http_close(&h[0]);
    http_close(&h[1]);
    RAW_UNTIL(counts_of(&raw).held_bytes < MIB); /* the session's */
    raw_done(&raw);
    free(session);
    free(much);
}

/* A message of the transport of 2024, which is answered on the stream. */
static void
say_2024(struct http_raw *h, const char *path, const char *body)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             path, strlen(body), body);
    http_say(h, text);
    assert_int_equal(http_answer(h), 202);
}

static void
answer_that_fits_is_told_to_a_slow_reader_of_2024(void **state)
{
    const size_t size = 15 * MIB;
    char *much = malloc(size), *path;
    struct http_raw get, h;
    const char *event;
    struct raw raw;
    int port;

    (void)state;
    port = serve_much(&raw, much, size, MCP_HTTP_OPTIONS(.sse_path = "/sse"));
    http_open_from(&get, port, GREEDY);
    http_say(&get, "GET /sse HTTP/1.1\r\nHost: localhost\r\n"
                   "Accept: text/event-stream\r\n\r\n");
    assert_int_equal(http_head(&get), 200);
    path = strdup(http_event(&get, NULL));
    http_open_from(&h, port, GREEDY);
    say_2024(&h, path, INITIALIZE_BODY);
    assert_non_null(http_event(&get, NULL));
    say_2024(&h, path,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
             "\"params\":{\"name\":\"much\"}}");
    event = http_event(&get, NULL);
    assert_non_null(event);
    assert_true(strlen(event) > size);
    http_close(&h);
    http_close(&get);
    RAW_UNTIL(counts_of(&raw).held_bytes == 0);
    raw_done(&raw);
    free(path);
    free(much);
}

TEST_MAIN(TEST(connections_of_one_address_are_half_at_most),
          TEST(behind_a_proxy_one_address_may_have_all),
          TEST(bodies_that_never_end_have_a_bound),
          TEST(requests_that_wait_for_their_sender_have_a_bound),
          TEST(sessions_that_are_left_behind_lock_nobody_out),
          TEST(sessions_are_as_few_as_the_memory_allows),
          TEST(sessions_of_one_principal_are_half_at_most),
          TEST(subscriptions_of_one_address_are_half_at_most),
          TEST(body_that_can_never_fit_is_too_long),
          TEST(sessions_are_shared_by_all_loops),
          TEST(idle_sessions_are_found_here_though_none_was_there),
          TEST(room_is_made_on_another_loop),
          TEST(room_is_made_for_a_newcomer_on_another_loop),
          TEST(long_requests_of_one_client_lock_nobody_out),
          TEST(requests_of_one_client_are_half_at_most),
          TEST(answers_that_nobody_reads_have_a_bound),
          TEST(answer_that_fits_is_told_to_a_slow_reader),
          TEST(answer_that_fits_is_told_by_another_loop),
          TEST(answer_that_fits_is_told_to_a_slow_reader_of_2024))
