/* http_matrix_listen.c - over HTTP: clients are told of changes, in both eras */
#include "end/http_matrix.h"

#define LISTENERS 12
#define ACKNOWLEDGED "notifications/subscriptions/acknowledged"
#define TOOLS "\"toolsListChanged\":true"
#define RESOURCE "\"resourceSubscriptions\":[\"test://a\"]"

/* ---- words that repeat ----------------------------------------------------- */

static void
listen_on(struct matrix *m, struct http_raw *h, const char *id, const char *filter)
{
    char more[256];

    (void)snprintf(more, sizeof(more), "\"notifications\":{%s},", filter);
    matrix_ask(m, h,
               MATRIX_ASK(.id = id, .method = "subscriptions/listen", .more = more));
}

/* A subscription that is open. */
static void
listen_to(struct matrix *m, struct http_raw *h, const char *id, const char *filter)
{
    const char *message;
    char part[64];

    matrix_open(m, h);
    listen_on(m, h, id, filter);
    message = matrix_expect(m, h, ACKNOWLEDGED);
    assert_int_equal(h->status, 200);
    assert_string_equal(http_field(h, "Content-Type"), "text/event-stream");
    (void)snprintf(part, sizeof(part), "subscriptionId\":%s", id);
    matrix_has(message, part);
}

static int
tool_nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_text(out, "nothing");
}

static void
change_tools(struct matrix *m)
{
    static atomic_int count;
    char name[32];

    (void)snprintf(name, sizeof(name), "new_%d", atomic_fetch_add(&count, 1));
    assert_int_equal(mcp_server_add_tool(m->server,
                                         &MCP_TOOL(.name = name, .reply = tool_nothing),
                                         NULL),
                     0);
}

static void
change_resource(struct matrix *m, const char *uri)
{
    assert_int_equal(mcp_server_resource_updated(m->server, uri), 0);
}

/* ---- listening: modern ------------------------------------------------------ */

static void
a_listener_is_told_what_it_asked_for(struct matrix *m)
{
    struct http_raw tools, resource;

    listen_to(m, &tools, "\"t\"", TOOLS);
    matrix_has(tools.event, TOOLS);
    assert_null(strstr(tools.event, "resource"));
    listen_to(m, &resource, "2", RESOURCE);
    matrix_has(resource.event, "test://a");
    assert_int_equal(matrix_counts(m).streams, 2);
    change_resource(m, "test://b"); /* nobody's */
    change_resource(m, "test://a");
    change_tools(m);
    matrix_has(matrix_expect(m, &tools, "notifications/tools/list_changed"),
               "subscriptionId\":\"t\"");
    matrix_has(matrix_expect(m, &resource, "notifications/resources/updated"),
               "subscriptionId\":2");
    matrix_has(resource.event, "\"uri\":\"test://a\"");
    change_tools(m);
    change_resource(m, "test://a/b");
    matrix_expect(m, &tools, "notifications/tools/list_changed");
    matrix_has(matrix_expect(m, &resource, "notifications/resources/updated"),
               "test://a/b");
    http_close(&tools);
    http_close(&resource);
}

static void
many_listen_at_once_and_each_leaves_alone(struct matrix *m)
{
    static struct http_raw h[LISTENERS];

    for (int i = 0; i < LISTENERS; i++)
        listen_to(m, &h[i], "1", TOOLS); /* equal ids do not meet (E28) */
    assert_int_equal(matrix_counts(m).streams, LISTENERS);
    for (int i = 0; i < LISTENERS; i += 2)
        http_close(&h[i]);
    MATRIX_UNTIL(matrix_counts(m).streams == LISTENERS / 2);
    MATRIX_UNTIL(matrix_counts(m).in_flight == LISTENERS / 2);
    change_tools(m);
    for (int i = 1; i < LISTENERS; i += 2) {
        matrix_expect(m, &h[i], "notifications/tools/list_changed");
        http_close(&h[i]);
    }
    matrix_rest(m, 0, 0);
    assert_int_equal(matrix_counts(m).answered, 0); /* no result for who has left */
}

static void
a_slot_is_free_when_its_listener_has_left(struct matrix *m)
{
    struct http_raw h[2];

    for (int i = 0; i < 3; i++) {
        listen_to(m, &h[0], "1", TOOLS);
        matrix_open(m, &h[1]);
        listen_on(m, &h[1], "2", TOOLS);
        matrix_expect_last(m, &h[1], "\"error\""); /* before any acknowledgment */
        http_close(&h[0]);
        http_close(&h[1]);
        matrix_rest(m, 0, 0);
    }
}

static void
a_listener_must_read_events(struct matrix *m)
{
    char *text = matrix_ask_text(m,
                                 MATRIX_ASK(.id = "1", .method = "subscriptions/listen",
                                            .more = "\"notifications\":{},"));
    char *events = strstr(text, ", text/event-stream");
    struct http_raw h;

    assert_non_null(events);
    memset(events, ' ', strlen(", text/event-stream"));
    matrix_open(m, &h);
    http_say(&h, text);
    assert_int_equal(http_answer(&h), 406);
    matrix_has(h.body, "\"error\"");
    matrix_alive_on(m, &h);
    http_close(&h);
    free(text);
}

static void
a_quiet_listener_is_kept_alive(struct matrix *m)
{
    struct http_raw h;

    listen_to(m, &h, "1", TOOLS);
    while (!memmem(h.data + h.start, h.len - h.start, ":", 1))
        assert_true(http_wait(&h, MATRIX_BOUND_MS));
    change_tools(m);
    matrix_expect(m, &h, "notifications/tools/list_changed");
    assert_true(h.comments > 0);
    http_close(&h);
}

static void
a_posted_frame_does_not_end_a_listener(struct matrix *m)
{
    struct http_raw h;

    listen_to(m, &h, "1", TOOLS);
    matrix_frame(m, "1");
    change_tools(m);
    matrix_expect(m, &h, "notifications/tools/list_changed");
    http_close(&h);
}

static void
our_stop_gives_each_listener_its_result(struct matrix *m)
{
    struct http_raw h[3];

    for (int i = 0; i < 3; i++)
        listen_to(m, &h[i], i == 1 ? "\"one\"" : "1", TOOLS);
    change_tools(m);
    for (int i = 0; i < 3; i++)
        matrix_expect(m, &h[i], "notifications/tools/list_changed");
    matrix_stop(m);
    for (int i = 0; i < 3; i++) {
        matrix_has(matrix_expect(m, &h[i], "\"result\""),
                   i == 1 ? "subscriptionId\":\"one\"" : "subscriptionId\":1");
        assert_null(matrix_next(m, &h[i]));
        http_expect_end(&h[i]);
        http_close(&h[i]);
    }
}

/* ---- GET: legacy ------------------------------------------------------------ */

static void
get_open(struct matrix *m, struct http_raw *h)
{
    matrix_open(m, h);
    matrix_get(m, h, NULL);
    assert_int_equal(http_head(h), 200);
    assert_string_equal(http_field(h, "Content-Type"), "text/event-stream");
    assert_string_equal(http_field(h, "X-Accel-Buffering"), "no");
}

static void
subscribe(struct matrix *m, const char *method)
{
    struct http_raw h;

    matrix_open(m, &h);
    matrix_ask(
        m, &h,
        MATRIX_ASK(.id = "1", .method = method, .more = "\"uri\":\"test://a\","));
    matrix_expect_last(m, &h, "\"result\"");
    http_close(&h);
}

static void
a_session_is_told_where_it_listens(struct matrix *m)
{
    struct http_raw h, post;

    get_open(m, &h);
    assert_int_equal(matrix_counts(m).streams, 1);
    matrix_call_streamed(m, &post, "7", "hold", NULL);
    assert_int_equal(mcp_request_progress(matrix_job(m, 0)->req, 1, 2, NULL), 0);
    matrix_expect(m, &post, "\"progress\":1"); /* a stream beside it */
    change_tools(m);
    matrix_expect(m, &h, "notifications/tools/list_changed");
    assert_int_equal(
        mcp_server_log(m->server, MCP_SEVERITY_WARNING, "me", "\"for all\"", 9), 0);
    matrix_has(matrix_expect(m, &h, "notifications/message"), "for all");
    matrix_finish(matrix_job(m, 0), "no news");
    matrix_expect_last(m, &post, "no news");
    http_close(&post);
    subscribe(m, "resources/subscribe");
    change_resource(m, "test://b");
    change_resource(m, "test://a");
    matrix_has(matrix_expect(m, &h, "notifications/resources/updated"), "test://a");
    subscribe(m, "resources/unsubscribe");
    change_resource(m, "test://a");
    change_tools(m);
    matrix_expect(m, &h, "notifications/tools/list_changed");
    http_close(&h);
}

static void
what_belongs_to_no_request_waits_for_a_listener(struct matrix *m)
{
    struct http_raw h;

    change_tools(m);
    matrix_alive(m); /* not there */
    get_open(m, &h);
    matrix_expect(m, &h, "notifications/tools/list_changed");
    http_close(&h);
    MATRIX_UNTIL(matrix_counts(m).streams == 0);
    change_tools(m);
    get_open(m, &h);
    matrix_expect(m, &h, "notifications/tools/list_changed");
    http_close(&h);
}

/* Lists that have changed are told all the same: they cost nothing. */
static void
of_what_waits_for_a_listener_too_much_is_dropped(struct matrix *m)
{
    static char noise[16384];
    const char *message;
    struct http_raw h;
    int count = 0;

    memset(noise, 'n', sizeof(noise));
    noise[0] = noise[sizeof(noise) - 1] = '"';
    for (int i = 0; i < 200; i++) { /* three times what may wait */
        assert_int_equal(
            mcp_server_log(m->server, MCP_SEVERITY_ERROR, NULL, noise, sizeof(noise)),
            0);
        if (i % 16 == 0)
            matrix_alive(m);
    }
    change_tools(m);
    matrix_alive(m);
    get_open(m, &h);
    message = matrix_expect(m, &h, "notifications/message");
    for (; strstr(message, "notifications/message"); count++)
        message = matrix_expect(m, &h, "\"method\"");
    matrix_has(message, "notifications/tools/list_changed");
    assert_in_range(count, 1, 64);
    http_close(&h);
}

static void
of_several_the_newest_is_told(struct matrix *m)
{
    struct http_raw old, new;

    get_open(m, &old);
    get_open(m, &new);
    change_tools(m);
    matrix_expect(m, &new, "notifications/tools/list_changed");
    http_close(&new);
    MATRIX_UNTIL(matrix_counts(m).streams == 1);
    change_resource(m, "test://none");
    assert_int_equal(
        mcp_server_log(m->server, MCP_SEVERITY_ERROR, NULL, "\"second\"", 8), 0);
    matrix_expect(m, &old, "second"); /* and not the first */
    http_close(&old);
}

static void
a_quiet_get_is_kept_alive(struct matrix *m)
{
    struct http_raw h;

    get_open(m, &h);
    while (!memmem(h.data + h.start, h.len - h.start, ":", 1))
        assert_true(http_wait(&h, MATRIX_BOUND_MS));
    change_tools(m);
    matrix_expect(m, &h, "notifications/tools/list_changed");
    assert_true(h.comments > 0);
    http_close(&h);
}

static void
a_get_can_be_resumed(struct matrix *m)
{
    char last[HTTP_ID_ROOM];
    struct http_raw h;

    get_open(m, &h);
    change_tools(m);
    matrix_has(http_event(&h, last), "notifications/tools/list_changed");
    assert_true(last[0] != '\0');
    http_close(&h);
    MATRIX_UNTIL(matrix_counts(m).connections == 0);
    assert_int_equal(
        mcp_server_log(m->server, MCP_SEVERITY_ERROR, NULL, "\"missed\"", 8), 0);
    matrix_open(m, &h);
    matrix_get(m, &h, last);
    matrix_expect(m, &h, "missed");
    change_tools(m);
    matrix_expect(m, &h, "notifications/tools/list_changed");
    http_close(&h);
}

static void
without_streams_get_is_not_allowed(struct matrix *m)
{
    struct http_raw h;

    matrix_open(m, &h);
    http_ask(&h, "GET", m->session ? m->session : "none");
    assert_int_equal(http_answer(&h), 405);
    assert_string_equal(http_field(&h, "Allow"),
                        m->cell == LEGACY_JSON ? "POST, DELETE" : "POST");
    matrix_has(h.body, "\"error\"");
    matrix_alive_on(m, &h);
    if (m->cell == STATELESS) {
        http_ask(&h, "DELETE", "none");
        assert_int_equal(http_answer(&h), 405);
    }
    http_close(&h);
}

static void
listening_is_not_of_this_era(struct matrix *m)
{
    struct http_raw h;

    matrix_open(m, &h);
    listen_on(m, &h, "1", TOOLS);
    matrix_expect_last(m, &h, "-32601");
    http_close(&h);
}

static const struct matrix_case cases[] = {
    CASE("H15_", a_listener_is_told_what_it_asked_for, MODERN_SSE),
    CASE("H15_H22_", a_listener_is_told_what_it_asked_for, MODERN_JSON),
    CASE("E18_E28_H16_", many_listen_at_once_and_each_leaves_alone, MODERN),
    CASE_WITH("H16_H20_", a_slot_is_free_when_its_listener_has_left, MODERN,
              .server = {.listeners = 1}),
    CASE("H22_", a_listener_must_read_events, MODERN),
    CASE_WITH("E22_", a_quiet_listener_is_kept_alive, MODERN, .http = {.ping_ms = 20}),
    CASE("E24_", a_posted_frame_does_not_end_a_listener, MODERN),
    CASE("H17_", our_stop_gives_each_listener_its_result, MODERN),
    CASE("", a_session_is_told_where_it_listens, LEGACY_SSE),
    CASE("", what_belongs_to_no_request_waits_for_a_listener, LEGACY_SSE),
    CASE("", of_what_waits_for_a_listener_too_much_is_dropped, LEGACY_SSE),
    CASE("", of_several_the_newest_is_told, LEGACY_SSE),
    CASE_WITH("E22_", a_quiet_get_is_kept_alive, LEGACY_SSE, .http = {.ping_ms = 20}),
    CASE_WITH("", a_get_can_be_resumed, LEGACY_SSE, .store = true),
    CASE("", without_streams_get_is_not_allowed, LEGACY_JSON | STATELESS),
    CASE("", listening_is_not_of_this_era, LEGACY),
};

const struct matrix_table matrix_listens = {cases, MATRIX_COUNT(cases)};
