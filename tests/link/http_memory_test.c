/* http_memory_test.c - the fetcher in memory, which the worlds over HTTP stand on */
#include "link/http_front.h"
#include "support/memory_fetch.h"

/* ---- one that fetches ------------------------------------------------------ */

struct got {
    struct mcpi_fetch *fetch; /* NULL: ended */
    int sent, heads, bodies, ended;
    int status; /* of the head */
    char type[64], session[64];
    struct mcpi_fetch_fault fault;
    char text[8192];
    size_t len;
    int refuse_head, refuse_body; /* what these return */
    struct got *abort_in_body;    /* this one is aborted from inside */
};

static void
got_abort(struct got *g)
{
    mcpi_fetch_abort(g->fetch);
    g->fetch = NULL;
}

static void
on_sent(void *user)
{
    struct got *g = user;

    assert_int_equal(g->heads + g->ended, 0);
    g->sent++;
}

static int
on_head(void *user, const struct mcpi_fetch_head *head)
{
    struct got *g = user;
    const char *type = head->find(head, "content-type");
    const char *session = head->find(head, "Mcp-Session-ID");

    assert_int_equal(g->sent, 1);
    g->heads++;
    g->status = head->status;
    snprintf(g->type, sizeof(g->type), "%s", type ? type : "");
    snprintf(g->session, sizeof(g->session), "%s", session ? session : "");
    return g->refuse_head;
}

static int
on_body(void *user, const char *data, size_t len)
{
    struct got *g = user;

    assert_int_equal(g->heads, 1);
    assert_true(g->len + len < sizeof(g->text));
    memcpy(g->text + g->len, data, len);
    g->len += len;
    g->text[g->len] = '\0';
    g->bodies++;
    if (g->abort_in_body && g->abort_in_body->fetch)
        got_abort(g->abort_in_body);
    return g->refuse_body;
}

static void
on_ended(void *user, const struct mcpi_fetch_fault *fault)
{
    struct got *g = user;

    g->ended++;
    g->fetch = NULL;
    if (fault)
        g->fault = *fault;
}

/* ---- a net ----------------------------------------------------------------- */

struct net {
    struct front f;
    struct memory_http http;
};

static void
net_open(struct net *n)
{
    front_init(&n->f);
    front_open(&n->f);
    memory_http_init(&n->http);
    n->http.endpoint = n->f.endpoint;
}

static void
net_serve(struct net *n)
{
    do
        front_run(&n->f);
    while (memory_http_serve(&n->http));
}

static void
net_run(struct net *n)
{
    bool moved;

    do {
        net_serve(n);
        moved = memory_http_hear(&n->http);
        moved = memory_http_send(&n->http) || moved;
    } while (moved);
}

static void
net_close(struct net *n)
{
    front_close(&n->f);
    n->http.endpoint = NULL;
    memory_http_done(&n->http);
}

/* Header lines, with a newline behind each, as tests write them. */
static void
net_start(struct net *n, struct got *g, const char *method, const char *headers,
          const char *body)
{
    static const struct mcpi_fetch_ops ops = {
        .sent = on_sent, .head = on_head, .body = on_body, .ended = on_ended};
    struct mcpi_fetch_options opt = {.method = method,
                                     .url = "http://localhost:8080/mcp",
                                     .body = body,
                                     .body_len = body ? strlen(body) : 0,
                                     .idle_us = MCPI_NEVER,
                                     .ops = &ops,
                                     .user = g};
    char *fields = strdup(headers);

    assert_non_null(fields);
    opt.fields_len = strlen(fields);
    for (char *at = strchr(fields, '\n'); at; at = strchr(at + 1, '\n'))
        *at = '\0';
    opt.fields = fields;
    memset(g, 0, sizeof(*g));
    assert_int_equal(mcpi_fetch_start(&n->http.fetcher, &opt, &g->fetch), 0);
    free(fields);
    assert_int_equal(g->sent + g->heads + g->ended, 0);
}

#undef MODERN
#define MODERN BOTH JSON VERSION("2026-07-28")
#define CALL_T MODERN METHOD("tools/call") NAME("t")
#define CALL_HOLD MODERN METHOD("tools/call") NAME("hold")
#define ONE REQUEST("1", "tools/call", "{\"name\":\"t\"," STAMP "}")

static void
start_held(struct net *n, struct got *g)
{
    net_start(n, g, "POST", CALL_HOLD, HOLD("1"));
    net_run(n);
    assert_int_equal(g->ended, 0);
}

/* ---- cases ----------------------------------------------------------------- */

static void
a_request_is_answered_when_both_halves_have_run(void **state)
{
    struct net n;
    struct got g;

    (void)state;
    net_open(&n);
    net_start(&n, &g, "POST", CALL_T, ONE);
    assert_int_equal(mcpi_fetch_get_phase(g.fetch), MCPI_FETCH_UNSENT);
    net_serve(&n);
    assert_int_equal(n.f.served, 0);
    assert_true(memory_http_send(&n.http));
    assert_int_equal(mcpi_fetch_get_phase(g.fetch), MCPI_FETCH_SENT);
    net_serve(&n);
    assert_int_equal(n.f.served, 1);
    assert_int_equal(g.sent + g.heads, 0);
    net_run(&n);
    assert_int_equal(g.ended, 1);
    assert_int_equal(g.fault.status, 0);
    assert_int_equal(g.status, 200);
    assert_string_equal(g.type, "application/json");
    assert_non_null(strstr(g.text, "\"content\":[]"));
    assert_int_equal(n.http.arrived[0], 1);
    net_close(&n);
}

static void
an_answer_comes_byte_by_byte_if_it_is_to(void **state)
{
    struct net n;
    struct got g;

    (void)state;
    net_open(&n);
    n.http.every_byte = true;
    net_start(&n, &g, "POST", CALL_T, ONE);
    net_run(&n);
    assert_int_equal(g.ended, 1);
    assert_int_equal(g.bodies, g.len);
    assert_true(g.len > 10);
    net_close(&n);
}

static void
E18_aborting_is_a_hang_up_and_tells_nobody_here(void **state)
{
    struct net n;
    struct got g;

    (void)state;
    net_open(&n);
    start_held(&n, &g);
    got_abort(&g);
    assert_int_equal(n.f.told, 0); /* not from inside */
    net_run(&n);
    assert_int_equal(n.f.canceled, 1);
    assert_int_equal(n.http.hangups, 1);
    assert_int_equal(g.ended + g.heads, 0);
    net_close(&n);
}

static void
B5_what_has_not_left_never_arrives(void **state)
{
    struct net n;
    struct got g, half;
    char *body = malloc(200000);

    (void)state;
    assert_non_null(body);
    memset(body, ' ', 200000);
    memcpy(body, ONE, sizeof(ONE) - 1);
    body[199999] = '\0';
    net_open(&n);
    n.http.held = true;
    net_start(&n, &g, "POST", CALL_T, ONE);
    net_run(&n);
    assert_int_equal(mcpi_fetch_get_phase(g.fetch), MCPI_FETCH_UNSENT);
    got_abort(&g);
    n.http.held = false;
    net_start(&n, &half, "POST", CALL_T, body);
    (void)memory_http_send(&n.http);
    assert_int_equal(mcpi_fetch_get_phase(half.fetch), MCPI_FETCH_SENDING);
    got_abort(&half);
    net_run(&n);
    assert_int_equal(n.f.served, 0);
    assert_int_equal(n.http.hangups, 0);
    net_start(&n, &half, "POST", CALL_T, body);
    net_run(&n);
    assert_int_equal(half.status, 200);
    assert_int_equal(n.f.served, 1);
    net_close(&n);
    free(body);
}

static void
E20_who_leaves_before_it_arrives_is_not_served(void **state)
{
    struct net n;
    struct got g;

    (void)state;
    net_open(&n);
    net_start(&n, &g, "POST", CALL_HOLD, HOLD("1"));
    (void)memory_http_send(&n.http);
    got_abort(&g);
    net_run(&n);
    assert_int_equal(n.f.served, 0);
    net_close(&n);
}

static void
a_stream_can_be_aborted_from_inside_of_another(void **state)
{
    struct net n;
    struct got g, other;

    (void)state;
    net_open(&n);
    start_held(&n, &other);
    net_start(&n, &g, "POST", CALL_T, ONE);
    g.abort_in_body = &other;
    net_run(&n);
    assert_int_equal(g.ended, 1);
    assert_int_equal(n.f.canceled, 1);
    net_start(&n, &g, "POST", CALL_T, ONE);
    g.abort_in_body = &g;
    net_run(&n);
    assert_int_equal(g.ended, 0);
    assert_int_equal(g.bodies, 1);
    net_close(&n);
}

static void
a_reader_that_has_enough_ends_it(void **state)
{
    struct net n;
    struct got g;

    (void)state;
    net_open(&n);
    for (int body = 0; body < 2; body++) {
        net_start(&n, &g, "POST", CALL_T, ONE);
        g.refuse_head = body ? 0 : MCP_E_PROTO;
        g.refuse_body = MCP_E_LIMIT;
        net_run(&n);
        assert_int_equal(g.ended, 1);
        assert_int_equal(g.fault.status, body ? MCP_E_LIMIT : MCP_E_PROTO);
        assert_false(g.fault.unsent);
    }
    net_close(&n);
}

static void
a_server_that_dies_loses_its_connections_and_refuses_others(void **state)
{
    struct net n;
    struct got g, late;

    (void)state;
    net_open(&n);
    start_held(&n, &g);
    net_start(&n, &late, "POST", CALL_T, ONE);
    memory_http_cut(&n.http);
    net_run(&n);
    assert_int_equal(g.ended, 1);
    assert_int_equal(g.fault.status, MCP_E_CLOSED);
    assert_false(g.fault.unsent);
    assert_int_equal(late.ended, 1);
    assert_int_equal(late.fault.status, MCP_E_SEND_FAILED);
    assert_true(late.fault.unsent);
    net_close(&n);
}

/* A session's GET; the head of initialize names it. */
static void
a_stream_goes_on_and_is_written_no_faster_than_read(void **state)
{
    struct net n;
    struct got g, get;
    char headers[256];

    (void)state;
    net_open(&n);
    net_start(&n, &g, "POST", BOTH JSON, HELLO);
    net_run(&n);
    assert_int_equal(g.status, 200);
    assert_true(strlen(g.session) > 10);
    snprintf(headers, sizeof(headers), BOTH "Mcp-Session-Id: %s\n", g.session);
    net_start(&n, &get, "GET", headers, NULL);
    net_run(&n);
    assert_int_equal(get.status, 200);
    assert_string_equal(get.type, "text/event-stream");
    assert_int_equal(memory_http_count(&n.http, "GET"), 1);
    n.http.clogged = true;
    n.f.now += 15 * SECOND;
    net_serve(&n); /* a ping, which is kept */
    n.f.now += 15 * SECOND;
    net_serve(&n); /* so no other follows */
    net_run(&n);
    assert_string_equal(get.text, ":\n\n");
    assert_false(n.http.clogged);
    n.f.now += 15 * SECOND;
    net_run(&n);
    net_run(&n);
    assert_string_equal(get.text, ":\n\n:\n\n");
    got_abort(&get);
    net_run(&n);
    assert_int_equal(n.http.hangups, 0); /* of a POST */
    assert_int_equal(n.f.streams, 0);
    net_close(&n);
}

static void
what_is_said_by_hand_comes_on_the_stream_it_names(void **state)
{
    struct net n;
    struct got a, b;

    (void)state;
    net_open(&n);
    net_start(&n, &a, "POST", CALL_HOLD, HOLD("1"));
    net_start(&n, &b, "POST", CALL_HOLD, HOLD("\"b\""));
    net_run(&n);
    assert_true(memory_http_say(&n.http, CANCEL("1")));
    assert_true(memory_http_say(&n.http, RESULT("\"b\"", "{}")));
    assert_true(memory_http_say(&n.http, "no JSON")); /* the newest */
    net_run(&n);
    assert_string_equal(a.text, "data: " CANCEL("1") "\n\n");
    assert_string_equal(b.text, "data: " RESULT("\"b\"", "{}") "\n\ndata: no JSON\n\n");
    assert_string_equal(a.type, "text/event-stream");
    front_let_go(&n.f);
    front_let_go(&n.f);
    net_run(&n);
    assert_int_equal(a.ended + b.ended, 2);
    assert_non_null(strstr(a.text, "\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,"));
    assert_false(memory_http_say(&n.http, CANCEL("1")));
    net_close(&n);
}

TEST_MAIN(TEST(a_request_is_answered_when_both_halves_have_run),
          TEST(an_answer_comes_byte_by_byte_if_it_is_to),
          TEST(E18_aborting_is_a_hang_up_and_tells_nobody_here),
          TEST(B5_what_has_not_left_never_arrives),
          TEST(E20_who_leaves_before_it_arrives_is_not_served),
          TEST(a_stream_can_be_aborted_from_inside_of_another),
          TEST(a_reader_that_has_enough_ends_it),
          TEST(a_server_that_dies_loses_its_connections_and_refuses_others),
          TEST(a_stream_goes_on_and_is_written_no_faster_than_read),
          TEST(what_is_said_by_hand_comes_on_the_stream_it_names))
