/* http_2024_test.c - HTTP+SSE of 2024-11-05 */
#include "link/http_2024.h"

#include "core/peer.h"
#include "link/http_site.h"

#define POST_MAX 256

static const mcp_http_field get_fields[] = {{"Host", "localhost"},
                                            {"Accept", "text/event-stream"}};
static const mcp_http_field post_fields[] = {{"Host", "localhost"},
                                             {"Content-Type", "application/json"}};

static struct site *
site_start(void)
{
    struct site *s = malloc(sizeof(*s));

    assert_non_null(s);
    site_init(s);
    s->http.sse_path = "/sse";
    s->http.message_path = "/message";
    return s;
}

static struct site *
site_new(void)
{
    struct site *s = site_start();

    site_open(s, false);
    return s;
}

static void
site_free(struct site *s)
{
    site_close(s);
    free(s);
}

/* As a carrier does. */
static void
site_serve(struct site *s, struct carrier *c, const struct mcpi_http_in *in)
{
    struct mcpi_http_out out;

    carrier_init(c);
    if (mcpi_endpoint_check_head(s->endpoint, in, in->body_len, &out))
        mcpi_endpoint_serve(s->endpoint, &c->turn, in);
    else
        (void)c->turn.ops->reply(&c->turn, &out);
    site_run(s);
}

static void
site_get(struct site *s, struct carrier *c)
{
    struct mcpi_http_in in = request_of(MCPI_HTTP_GET, "/sse", get_fields, 2, NULL);

    site_serve(s, c, &in);
}

/* What the first event of a stream says. */
static void
where_to_post(const struct carrier *stream, char into[POST_MAX])
{
    static const char before[] = "event: endpoint\ndata: ";
    size_t len;

    assert_int_equal(strncmp(stream->text, before, sizeof(before) - 1), 0);
    len = strcspn(stream->text + sizeof(before) - 1, "\n");
    assert_true(len < POST_MAX);
    memcpy(into, stream->text + sizeof(before) - 1, len);
    into[len] = '\0';
}

/* The status of the answer. */
static int
site_post_to(struct site *s, const char *target, const char *body)
{
    struct mcpi_http_in in = request_of(MCPI_HTTP_POST, target, post_fields, 2, body);
    struct carrier c;
    int status;

    site_serve(s, &c, &in);
    assert_int_equal(c.replies, 1);
    status = c.status;
    carrier_done(&c);
    return status;
}

static int
site_post(struct site *s, const struct carrier *stream, const char *body)
{
    char target[POST_MAX];

    where_to_post(stream, target);
    return site_post_to(s, target, body);
}

static void
site_greet(struct site *s, struct carrier *stream)
{
    site_get(s, stream);
    assert_int_equal(stream->status, 200);
    assert_int_equal(site_post(s, stream, INITIALIZE("1", "2024-11-05")), 202);
    assert_int_equal(carrier_heard(stream, "\"protocolVersion\":\"2024-11-05\""), 1);
    assert_int_equal(site_post(s, stream, NOTE("notifications/initialized", "{}")),
                     202);
}

/* ---- the stream ---------------------------------------------------------- */

static void
the_first_event_names_where_to_post(void **state)
{
    struct site *s = site_new();
    struct carrier c;
    char target[POST_MAX];

    (void)state;
    site_get(s, &c);
    assert_int_equal(c.opens, 1);
    assert_int_equal(c.writes, 0); /* it leaves with the head */
    assert_int_equal(c.status, 200);
    assert_string_equal(c.type, "text/event-stream");
    where_to_post(&c, target);
    assert_int_equal(strncmp(target, "/message?sessionId=0-", 21), 0);
    assert_int_equal(strlen(target), 21 + 32);
    assert_int_equal(s->endpoint->session_count, 1);
    mcpi_turn_gone(&c.turn);
    assert_int_equal(s->endpoint->session_count, 0);
    carrier_done(&c);
    site_free(s);
}

static void
a_post_is_accepted_and_answered_on_the_stream(void **state)
{
    struct site *s = site_new();
    struct carrier c;

    (void)state;
    site_greet(s, &c);
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("2", "echo")), 202);
    assert_int_equal(carrier_heard(&c, "event: message\ndata: {"), 2);
    assert_int_equal(carrier_heard(&c, "\"id\":2"), 1);
    assert_int_equal(carrier_heard(&c, "\n\n"), 3);
    mcpi_turn_gone(&c.turn);
    carrier_done(&c);
    site_free(s);
}

static void
a_second_initialize_is_answered(void **state)
{
    struct site *s = site_new();
    struct carrier c;

    (void)state;
    site_greet(s, &c);
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("2", "hold")), 202);
    assert_int_equal(site_post(s, &c, INITIALIZE("3", "2025-03-26")), 202);
    assert_int_equal(carrier_heard(&c, "\"id\":3,\"result\""), 1);
    assert_int_equal(site_post(s, &c, NOTE("notifications/initialized", "{}")), 202);
    site_let_go(s);
    site_run(s);
    assert_int_equal(carrier_heard(&c, "\"id\":2,\"result\""), 1);
    mcpi_turn_gone(&c.turn);
    carrier_done(&c);
    site_free(s);
}

static void
sessions_have_nothing_in_common(void **state)
{
    struct site *s = site_new();
    struct carrier a, b;

    (void)state;
    site_greet(s, &a);
    site_greet(s, &b);
    assert_int_equal(site_post(s, &a, LEGACY_TOOL("7", "hold")), 202);
    assert_int_equal(site_post(s, &b, LEGACY_TOOL("7", "hold")), 202);
    assert_int_equal(s->held_count, 2);
    site_let_go(s);
    site_run(s);
    assert_int_equal(carrier_heard(&a, "\"id\":7"), 1);
    assert_int_equal(carrier_heard(&b, "\"id\":7"), 0);
    mcpi_turn_gone(&a.turn);
    mcpi_turn_gone(&b.turn);
    carrier_done(&a);
    carrier_done(&b);
    site_free(s);
}

static void
a_quiet_stream_is_pinged(void **state)
{
    struct site *s = site_new();
    struct carrier c;
    size_t len;

    (void)state;
    site_greet(s, &c);
    len = c.len;
    site_pass(s, 14 * SITE_SECOND);
    assert_int_equal(c.len, len);
    site_pass(s, SITE_SECOND);
    assert_true(c.len > len);
    assert_int_equal(c.text[len], ':');
    site_pass(s, 10 * SITE_SECOND);
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("2", "echo")), 202);
    len = c.len;
    site_pass(s, 10 * SITE_SECOND); /* 10 s of silence, not 20 */
    assert_int_equal(c.len, len);
    site_pass(s, 5 * SITE_SECOND);
    assert_true(c.len > len);
    mcpi_turn_gone(&c.turn);
    carrier_done(&c);
    site_free(s);
}

static void
a_slow_client_gets_all_in_order_and_nothing_is_taken_early(void **state)
{
    struct site *s = site_new();
    struct carrier c;
    const char *at;
    char mark[16];

    (void)state;
    site_greet(s, &c);
    c.full = true;
    s->flood = 100;
    s->flood_bytes = 1000;
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("2", "flood")), 202);
    assert_true(c.keeps);
    assert_true(c.len < 70000);     /* the rest waits where it can be taken back */
    site_pass(s, 60 * SITE_SECOND); /* no ping overtakes */
    for (int i = 0; i < 200 && c.keeps; i++) {
        carrier_drain(&c);
        site_run(s);
    }
    at = c.text;
    for (int i = 0; i < 100; i++) {
        (void)snprintf(mark, sizeof(mark), "<%d>", i);
        at = strstr(at, mark);
        assert_non_null(at);
    }
    assert_non_null(strstr(at, "\"id\":2"));
    mcpi_turn_gone(&c.turn);
    carrier_done(&c);
    site_free(s);
}

/* ---- cancel -------------------------------------------------------------- */

static void
D23_a_posted_cancel_ends_the_request(void **state)
{
    struct site *s = site_new();
    struct carrier c, other;

    (void)state;
    site_greet(s, &c);
    site_greet(s, &other);
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("7", "hold")), 202);
    assert_int_equal(site_post(s, &other, CANCEL("7")), 202);
    assert_int_equal(atomic_load(&s->told), 0); /* another one's 7 */
    assert_int_equal(site_post(s, &c, CANCEL("7")), 202);
    assert_int_equal(atomic_load(&s->canceled), 1);
    assert_int_equal(carrier_heard(&c, "\"id\":7"), 0);
    mcpi_turn_gone(&c.turn);
    mcpi_turn_gone(&other.turn);
    carrier_done(&c);
    carrier_done(&other);
    site_free(s);
}

static void
D23_a_lost_stream_ends_the_session_and_its_handlers(void **state)
{
    struct site *s = site_new();
    struct carrier c, other;

    (void)state;
    site_greet(s, &c);
    site_greet(s, &other);
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("7", "hold")), 202);
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("8", "hold")), 202);
    assert_int_equal(site_post(s, &other, LEGACY_TOOL("7", "hold")), 202);
    mcpi_turn_gone(&c.turn);
    assert_int_equal(atomic_load(&s->told), 2);
    assert_int_equal(s->held_count, 1);
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("9", "echo")), 404);
    mcpi_turn_gone(&other.turn);
    assert_int_equal(s->held_count, 0);
    assert_int_equal(s->engine->counts.exchanges + s->engine->counts.held, 0);
    carrier_done(&c);
    carrier_done(&other);
    site_free(s);
}

static void
D23_a_stream_may_be_lost_while_it_is_written_to(void **state)
{
    struct site *s = site_new();
    struct carrier c;

    (void)state;
    site_greet(s, &c);
    c.full = true;
    s->flood = 50;
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("2", "flood")), 202);
    assert_true(c.keeps);
    mcpi_turn_gone(&c.turn);
    site_run(s);
    carrier_done(&c);
    site_free(s);
}

/* ---- who may ------------------------------------------------------------- */

static void
a_session_that_is_not_known_is_not_found(void **state)
{
    struct site *s = site_new();
    struct carrier c;
    char target[POST_MAX];

    (void)state;
    site_greet(s, &c);
    where_to_post(&c, target);
    assert_int_equal(site_post_to(s, "/message", LEGACY_TOOL("2", "echo")), 404);
    assert_int_equal(site_post_to(s, "/message?sessionId=", LEGACY_TOOL("2", "echo")),
                     404);
    assert_int_equal(site_post_to(s, "/message?sessionId=0-12", "{}"), 404);
    target[strlen(target) - 1] ^= 1;
    assert_int_equal(site_post_to(s, target, LEGACY_TOOL("2", "echo")), 404);
    target[strlen(target) - 1] = '\0';
    assert_int_equal(site_post_to(s, target, LEGACY_TOOL("2", "echo")), 404);
    where_to_post(&c, target);
    strcat(target, "0000000000000000000000000000000000");
    assert_int_equal(site_post_to(s, target, LEGACY_TOOL("2", "echo")), 404);
    where_to_post(&c, target);
    strcat(target, "&more=1");
    assert_int_equal(site_post_to(s, target, LEGACY_TOOL("2", "echo")), 202);
    assert_int_equal(atomic_load(&s->served), 1);
    mcpi_turn_gone(&c.turn);
    carrier_done(&c);
    site_free(s);
}

static void
identify(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    (void)request;
    mcp_http_allow(ticket, user);
}

static void
a_session_is_found_by_its_own_principal_only(void **state)
{
    struct site *s = site_start();
    char who[8] = "alice";
    struct carrier c;

    (void)state;
    s->http.identify = identify;
    s->http.identify_user = who;
    site_open(s, false);
    site_greet(s, &c);
    strcpy(who, "bob");
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("2", "hold")), 404);
    strcpy(who, "alice2");
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("2", "hold")), 404);
    strcpy(who, "");
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("2", "hold")), 404);
    assert_int_equal(atomic_load(&s->served), 0);
    strcpy(who, "alice");
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("2", "hold")), 202);
    assert_int_equal(s->held_count, 1);
    assert_string_equal(s->held[0]->caller.principal, "alice");
    mcpi_turn_gone(&c.turn);
    carrier_done(&c);
    site_free(s);
}

static void
identify_later(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    (void)request;
    *(mcp_http_ticket **)user = ticket;
}

/* A lost connection for a message is not a lost stream. */
static void
D23_a_cancel_counts_though_its_client_leaves_while_it_is_asked(void **state)
{
    struct site *s = site_start();
    mcp_http_ticket *ticket = NULL;
    char target[POST_MAX], who[8] = "alice";
    struct mcpi_http_in in;
    struct carrier c, other;

    (void)state;
    s->http.identify = identify;
    s->http.identify_user = who;
    site_open(s, false);
    site_greet(s, &c);
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("2", "hold")), 202);
    s->http.identify = identify_later;
    s->http.identify_user = &ticket;
    where_to_post(&c, target);
    for (int i = 0; i < 2; i++) {
        in = request_of(MCPI_HTTP_POST, target, post_fields, 2, CANCEL("2"));
        site_serve(s, &other, &in);
        mcpi_turn_gone(&other.turn);
        mcp_http_allow(ticket, i == 0 ? "bob" : "alice");
        site_run(s);
        assert_int_equal(other.replies, 0);
        carrier_done(&other);
        assert_int_equal(atomic_load(&s->told), i);
    }
    mcpi_turn_gone(&c.turn);
    carrier_done(&c);
    site_free(s);
}

/* Nor is a request, whose answer goes to the stream, which is there. */
static void
D23_a_request_counts_though_its_client_leaves_while_it_is_asked(void **state)
{
    struct site *s = site_start();
    mcp_http_ticket *ticket = NULL;
    char target[POST_MAX], who[8] = "alice";
    struct mcpi_http_in in;
    struct carrier c, other;

    (void)state;
    s->http.identify = identify;
    s->http.identify_user = who;
    site_open(s, false);
    site_greet(s, &c);
    s->http.identify = identify_later;
    s->http.identify_user = &ticket;
    where_to_post(&c, target);
    for (int i = 0; i < 2; i++) {
        in = request_of(MCPI_HTTP_POST, target, post_fields, 2,
                        LEGACY_TOOL("\"mine\"", "echo"));
        site_serve(s, &other, &in);
        mcpi_turn_gone(&other.turn);
        mcp_http_allow(ticket, i == 0 ? "bob" : "alice");
        site_run(s);
        assert_int_equal(other.replies, 0);
        carrier_done(&other);
        assert_int_equal(atomic_load(&s->served), i);
    }
    assert_non_null(strstr(c.text, "\"mine\""));
    mcpi_turn_gone(&c.turn);
    carrier_done(&c);
    site_free(s);
}

static void
D23_D25_a_cancel_that_is_authenticated_first_ends_its_request(void **state)
{
    static const char *const bodies[] = {LEGACY_TOOL("2", "hold"), CANCEL("2")};
    struct site *s = site_start();
    mcp_http_ticket *tickets[2];
    char target[POST_MAX], who[8] = "alice";
    struct carrier c, others[2];
    struct mcpi_http_in in;

    (void)state;
    s->http.identify = identify;
    s->http.identify_user = who;
    site_open(s, false);
    site_greet(s, &c);
    s->http.identify = identify_later;
    where_to_post(&c, target);
    for (int i = 0; i < 2; i++) {
        s->http.identify_user = &tickets[i];
        in = request_of(MCPI_HTTP_POST, target, post_fields, 2, bodies[i]);
        site_serve(s, &others[i], &in);
    }
    for (int i = 1; i >= 0; i--) {
        mcp_http_allow(tickets[i], "alice");
        site_run(s);
        assert_int_equal(others[i].replies, 1);
    }
    assert_int_equal(atomic_load(&s->served), 0);
    assert_null(strstr(c.text, "-32800")); /* as on a pipe, nothing is said */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(others[i].status, 202);
        carrier_done(&others[i]);
    }
    mcpi_turn_gone(&c.turn);
    carrier_done(&c);
    site_free(s);
}

/* Each POST comes on a connection of its own. */
static void
D23_D25_a_cancel_that_arrives_first_ends_its_request(void **state)
{
    struct site *s = site_new();
    struct carrier c;

    (void)state;
    site_greet(s, &c);
    assert_int_equal(site_post(s, &c, CANCEL("2")), 202);
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("2", "hold")), 202);
    site_run(s);
    assert_int_equal(atomic_load(&s->served), 0);
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("3", "hold")), 202);
    assert_int_equal(s->held_count, 1);
    mcpi_turn_gone(&c.turn);
    carrier_done(&c);
    site_free(s);
}

static void
too_many_sessions_are_turned_away(void **state)
{
    struct site *s = site_start();
    struct carrier c[3];

    (void)state;
    s->http.sessions = 2;
    site_open(s, false);
    for (int i = 0; i < 3; i++)
        site_get(s, &c[i]);
    assert_int_equal(c[0].status, 200);
    assert_int_equal(c[1].status, 200);
    assert_int_equal(c[2].status, 503);
    carrier_done(&c[2]);
    mcpi_turn_gone(&c[0].turn);
    site_get(s, &c[2]);
    assert_int_equal(c[2].status, 200);
    mcpi_turn_gone(&c[1].turn);
    mcpi_turn_gone(&c[2].turn);
    for (int i = 0; i < 3; i++)
        carrier_done(&c[i]);
    site_free(s);
}

/* ---- bad requests -------------------------------------------------------- */

static void
what_is_no_message_is_refused_and_nothing_else_is_lost(void **state)
{
    struct site *s = site_new();
    struct carrier c;

    (void)state;
    site_greet(s, &c);
    assert_int_equal(site_post(s, &c, "{\"jsonrpc\":"), 400);
    assert_int_equal(site_post(s, &c, ""), 400);
    assert_int_equal(site_post(s, &c, MODERN_TOOL("2", "echo")), 400);
    assert_int_equal(site_post(s, &c, "[]"), 202); /* refused on the stream */
    assert_int_equal(carrier_heard(&c, "-32600"), 1);
    /* many clients hear of their requests on the stream alone */
    assert_int_equal(site_post(s, &c, REQUEST("4", "ping", "{\"a\":NaN}")), 202);
    assert_int_equal(carrier_heard(&c, "\"id\":4,\"error\":{\"code\":-32700"), 1);
    assert_int_equal(site_post(s, &c, RESULT("4", "NaN")), 202);
    assert_int_equal(carrier_heard(&c, "-32700"), 1);
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("3", "echo")), 202);
    assert_int_equal(carrier_heard(&c, "\"id\":3"), 1);
    mcpi_turn_gone(&c.turn);
    carrier_done(&c);
    site_free(s);
}

static void
half_of_a_surrogate_pair_is_served(void **state)
{
    struct site *s = site_new();
    struct carrier c;

    (void)state;
    site_greet(s, &c);
    assert_int_equal(site_post(s, &c,
                               REQUEST("2", "tools/call",
                                       "{\"name\":\"echo\",\"arguments\":"
                                       "{\"a\":\"\\ud83d\"}}")),
                     202);
    assert_int_equal(carrier_heard(&c, "\"id\":2,\"result\""), 1);
    mcpi_turn_gone(&c.turn);
    carrier_done(&c);
    site_free(s);
}

static int
site_ask(struct site *s, enum mcpi_http_method method, const char *target,
         const mcp_http_field *fields)
{
    struct mcpi_http_in in = request_of(method, target, fields, 2, NULL);
    struct carrier c;
    int status;

    site_serve(s, &c, &in);
    assert_int_equal(c.replies, 1);
    status = c.status;
    carrier_done(&c);
    return status;
}

static void
other_methods_and_types_are_refused(void **state)
{
    static const mcp_http_field html[] = {{"Host", "localhost"},
                                          {"Accept", "text/html"}};
    struct site *s = site_new();

    (void)state;
    assert_int_equal(site_ask(s, MCPI_HTTP_POST, "/sse", post_fields), 405);
    assert_int_equal(site_ask(s, MCPI_HTTP_DELETE, "/sse", get_fields), 405);
    assert_int_equal(site_ask(s, MCPI_HTTP_GET, "/message", get_fields), 405);
    assert_int_equal(site_ask(s, MCPI_HTTP_GET, "/sse", html), 406);
    assert_int_equal(site_ask(s, MCPI_HTTP_GET, "/sse2", get_fields), 404);
    site_free(s);
}

static void
it_is_not_served_unless_asked_for(void **state)
{
    struct site *s = site_start();

    (void)state;
    s->http.sse_path = NULL;
    site_open(s, false);
    assert_int_equal(site_ask(s, MCPI_HTTP_GET, "/sse", get_fields), 404);
    assert_int_equal(site_post_to(s, "/message?sessionId=0-1", "{}"), 404);
    site_free(s);
}

/* ---- several loops ------------------------------------------------------- */

static void
note_shard(void *user, unsigned shard, struct mcpi_turn *turn,
           const struct mcpi_http_in *in)
{
    const struct mcpi_http_out out = {.status = 299};

    (void)in;
    (void)user;
    assert_int_equal(shard, 1);
    (void)turn->ops->reply(turn, &out);
}

static void
a_session_of_another_loop_is_looked_for_there(void **state)
{
#define SECRET "00000000000000000000000000000000"
    struct site *s = site_new();

    (void)state;
    s->endpoint->opt.shards = 2;
    s->endpoint->opt.elsewhere = note_shard;
    assert_int_equal(site_post_to(s, "/message?sessionId=1-" SECRET, "{}"), 299);
    assert_int_equal(site_post_to(s, "/message?sessionId=0-" SECRET, "{}"), 404);
    assert_int_equal(site_post_to(s, "/message?sessionId=2-" SECRET, "{}"), 404);
    site_free(s);
}

/* ---- the end ------------------------------------------------------------- */

static void
our_stop_answers_and_ends_the_stream(void **state)
{
    struct site *s = site_new();
    struct carrier c, idle;

    (void)state;
    site_greet(s, &c);
    site_get(s, &idle);
    assert_int_equal(site_post(s, &c, LEGACY_TOOL("7", "hold")), 202);
    mcpi_endpoint_close(s->endpoint);
    site_run(s);
    assert_int_equal(idle.ends, 1);
    assert_int_equal(c.ends, 0); /* it has time to finish */
    site_let_go(s);
    site_run(s);
    assert_int_equal(carrier_heard(&c, "\"id\":7,\"result\""), 1);
    assert_int_equal(c.ends, 1);
    assert_true(atomic_load(&s->closed));
    carrier_done(&c);
    carrier_done(&idle);
    site_free(s);
}

static void
our_stop_does_not_wait_for_ever(void **state)
{
    struct site *s = site_new();
    struct carrier held, slow;

    (void)state;
    site_greet(s, &held);
    site_greet(s, &slow);
    assert_int_equal(site_post(s, &held, LEGACY_TOOL("7", "hold")), 202);
    slow.full = true;
    assert_int_equal(site_post(s, &slow, LEGACY_TOOL("7", "echo")), 202);
    mcpi_endpoint_close(s->endpoint);
    site_run(s);
    for (int i = 0; i < 20 && !atomic_load(&s->closed); i++)
        site_pass(s, SITE_SECOND);
    assert_true(atomic_load(&s->closed));
    assert_int_equal(held.ends, 1);
    assert_int_equal(carrier_heard(&held, "\"id\":7,\"error\""), 1);
    assert_int_equal(slow.aborts, 1);
    carrier_done(&held);
    carrier_done(&slow);
    site_free(s);
}

/* ---- no memory ----------------------------------------------------------- */

static void
without_memory_a_stream_is_refused(void **state)
{
    struct site *s = site_new();
    long first, live = atomic_load(&s->mem.live);

    (void)state;
    for (first = 1; first < 100; first++) {
        long failed = atomic_load(&s->mem.failed);
        struct carrier c;

        atomic_store(&s->mem.fail_at, atomic_load(&s->mem.total) + first);
        site_get(s, &c);
        atomic_store(&s->mem.fail_at, 0);
        if (c.status == 200)
            mcpi_turn_gone(&c.turn);
        else
            assert_int_equal(c.status, 503);
        carrier_done(&c);
        assert_int_equal(atomic_load(&s->mem.live), live);
        if (atomic_load(&s->mem.failed) == failed)
            break;
    }
    assert_true(first > 3);
    site_free(s);
}

/* Whatever fails, the client hears of it: by the answer, by an error, or by the end. */
static void
without_memory_nobody_waits_for_ever(void **state)
{
    struct site *s = site_new();
    long first;

    (void)state;
    for (first = 1; first < 200; first++) {
        long failed = atomic_load(&s->mem.failed);
        struct carrier c;
        int status;

        site_greet(s, &c);
        atomic_store(&s->mem.fail_at, atomic_load(&s->mem.total) + first);
        status = site_post(s, &c, LEGACY_TOOL("7", "echo"));
        site_pass(s, 1);
        atomic_store(&s->mem.fail_at, 0);
        if (status == 202)
            assert_true(carrier_heard(&c, "\"id\":7") + (size_t)c.aborts == 1);
        else
            assert_int_equal(status, 503);
        mcpi_turn_gone(&c.turn);
        carrier_done(&c);
        if (atomic_load(&s->mem.failed) == failed)
            break;
    }
    assert_true(first > 3);
    site_free(s);
}

TEST_MAIN(TEST(the_first_event_names_where_to_post),
          TEST(a_post_is_accepted_and_answered_on_the_stream),
          TEST(a_second_initialize_is_answered), TEST(sessions_have_nothing_in_common),
          TEST(a_quiet_stream_is_pinged),
          TEST(a_slow_client_gets_all_in_order_and_nothing_is_taken_early),
          TEST(D23_a_posted_cancel_ends_the_request),
          TEST(D23_a_lost_stream_ends_the_session_and_its_handlers),
          TEST(D23_a_stream_may_be_lost_while_it_is_written_to),
          TEST(a_session_that_is_not_known_is_not_found),
          TEST(a_session_is_found_by_its_own_principal_only),
          TEST(D23_a_cancel_counts_though_its_client_leaves_while_it_is_asked),
          TEST(D23_a_request_counts_though_its_client_leaves_while_it_is_asked),
          TEST(D23_D25_a_cancel_that_is_authenticated_first_ends_its_request),
          TEST(D23_D25_a_cancel_that_arrives_first_ends_its_request),
          TEST(too_many_sessions_are_turned_away),
          TEST(what_is_no_message_is_refused_and_nothing_else_is_lost),
          TEST(half_of_a_surrogate_pair_is_served),
          TEST(other_methods_and_types_are_refused),
          TEST(it_is_not_served_unless_asked_for),
          TEST(a_session_of_another_loop_is_looked_for_there),
          TEST(our_stop_answers_and_ends_the_stream),
          TEST(our_stop_does_not_wait_for_ever),
          TEST(without_memory_a_stream_is_refused),
          TEST(without_memory_nobody_waits_for_ever))
