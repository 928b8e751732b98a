/* http_client_2024_test.c - a server of 2024-11-05 is found, spoken to, and lost */
#include "link/http_client_fixture.h"

#include "link/http_client_2024.h"

#define FRAME "notifications/cancelled"
#define ENDPOINT "event: endpoint\ndata: /messages?s=1\n\n"
#define MESSAGES "http://server.test/messages?s=1"

/* initialize is refused; a GET follows. */
static struct fake_fetch *
refuse(struct lab *l, int code)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};

    lab_connect(l, &opt);
    fake_answer(lab_last(l), code, "text/html", "<p>");
    lab_run(l);
    return lab_last(l);
}

/* And the server is one of them: its stream. */
static struct fake_fetch *
start(struct lab *l)
{
    struct fake_fetch *get = refuse(l, 405), *post;

    lab_stream(l, get);
    fake_body(get, ENDPOINT);
    lab_run(l);
    post = lab_last(l);
    assert_true(fetch_says(post, "\"initialize\""));
    lab_accept(l, post);
    lab_event(l, get, RESULT("0", INITIALIZED("2024-11-05")));
    assert_int_equal(l->ready, 1);
    assert_int_equal(l->ready_status, 0);
    assert_true(fetch_says(lab_last(l), "notifications/initialized"));
    lab_accept(l, lab_last(l));
    return get;
}

static void
D23_a_refused_initialize_is_followed_by_a_GET(void **state)
{
    static const int codes[] = {400, 404, 405};
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    for (int i = 0; i < 3; i++) {
        get = refuse(&l, codes[i]);
        assert_string_equal(get->method, "GET");
        assert_string_equal(get->url, URL);
        assert_string_equal(fake_field(get, "accept"), "text/event-stream");
        assert_int_equal(l.ready, 0);
        lab_close(&l);
    }
}

static void
D23_what_says_nothing_of_that_is_not(void **state)
{
    static const int codes[] = {401, 403, 500, 503};
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        (void)refuse(&l, codes[i]);
        assert_int_equal(lab_count(&l), 1);
        assert_int_equal(l.ready_status, MCP_E_HTTP);
        lab_close(&l);
    }
    lab_connect(&l, &opt); /* a message is the answer, whatever the status */
    fake_answer(lab_last(&l), 400, JSON_TYPE, ERROR("0", "-32602"));
    lab_run(&l);
    assert_int_equal(lab_count(&l), 1);
    assert_int_equal(l.ready_status, MCP_E_PEER);
    lab_close(&l);
    opt.no_2024 = true;
    lab_connect(&l, &opt);
    fake_answer(lab_last(&l), 405, NULL, NULL);
    lab_run(&l);
    assert_int_equal(lab_count(&l), 1);
    assert_int_equal(l.ready_status, MCP_E_HTTP);
    lab_close(&l);
}

#define REFUSAL(code)                                                            \
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":" code ",\"message\":" \
    "\"m\"}}"

static void
D23_an_error_that_names_no_request_says_nothing_of_that(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    for (int found = 0; found < 2; found++) {
        lab_connect(&l, &opt);
        fake_answer(lab_last(&l), 405, JSON_TYPE, REFUSAL("-32000"));
        lab_run(&l);
        get = lab_last(&l);
        assert_string_equal(get->method, "GET");
        assert_int_equal(l.ready, 0);
        if (found) {
            lab_stream(&l, get);
            fake_body(get, ENDPOINT);
            lab_run(&l);
            assert_string_equal(lab_last(&l)->url, MESSAGES);
            lab_accept(&l, lab_last(&l));
            lab_event(&l, get, RESULT("0", INITIALIZED("2024-11-05")));
        } else {
            fake_answer(get, 405, NULL, NULL);
            lab_run(&l);
        }
        assert_int_equal(l.ready, 1);
        assert_int_equal(l.ready_status, found ? 0 : MCP_E_HTTP); /* as at first */
        lab_close(&l);
    }
}

static void
D23_an_error_of_a_modern_server_does(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    fake_answer(lab_last(&l), 400, JSON_TYPE, REFUSAL("-32020"));
    lab_run(&l);
    assert_int_equal(lab_count(&l), 1);
    assert_int_equal(l.ready_status, MCP_E_PEER);
    lab_close(&l);
    opt.no_2024 = true; /* who does not look hears it at once */
    lab_connect(&l, &opt);
    fake_answer(lab_last(&l), 405, JSON_TYPE, REFUSAL("-32000"));
    lab_run(&l);
    assert_int_equal(lab_count(&l), 1);
    assert_int_equal(l.ready_status, MCP_E_HTTP);
    lab_close(&l);
}

static void
D23_all_is_posted_to_the_endpoint_and_comes_on_the_stream(void **state)
{
    struct fake_fetch *get, *post;
    struct outcome out;
    struct lab l;

    (void)state;
    get = start(&l);
    post = lab_call(&l, NULL, &out);
    assert_string_equal(post->method, "POST");
    assert_string_equal(post->url, MESSAGES);
    assert_null(fake_field(post, "mcp-session-id"));
    lab_accept(&l, post);
    expect_open(&out);
    lab_event(&l, get, NOTE("notifications/tools/list_changed", "{}"));
    assert_int_equal(l.notices, 1);
    lab_event(&l, get, ANSWER("1"));
    expect(&out, 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
D23_an_answer_that_is_no_message_ends_its_call_and_no_other(void **state)
{
    struct fake_fetch *get;
    struct outcome out, other;
    struct lab l;

    (void)state;
    get = start(&l);
    lab_accept(&l, lab_call(&l, NULL, &out));
    lab_accept(&l, lab_call(&l, NULL, &other));
    lab_event(&l, get, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":NaN}}");
    expect(&out, MCP_E_PROTO);
    expect_open(&other);
    lab_event(&l, get, ANSWER("2"));
    expect(&other, 0);
    outcome_done(&out);
    outcome_done(&other);
    lab_close(&l);
}

static void
D23_a_cancel_is_posted_to_the_endpoint(void **state)
{
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    get = start(&l);
    lab_accept(&l, lab_call(&l, NULL, &out));
    lab_cancel(&l, &out);
    lab_run(&l);
    assert_true(fetch_says(lab_last(&l), FRAME));
    assert_string_equal(lab_last(&l)->url, MESSAGES);
    assert_int_equal(get->state, FAKE_OPEN);
    lab_accept(&l, lab_last(&l));
    lab_pass(&l, 10 * SECOND);
    assert_int_equal(get->state, FAKE_OPEN);
    lab_event(&l, get, ANSWER("1")); /* late */
    expect(&out, MCP_E_CANCELED);
    outcome_done(&out);
    lab_close(&l);
}

static void
D23_a_cancel_of_what_has_not_left_is_not_posted(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    (void)start(&l);
    post = lab_call(&l, NULL, &out);
    lab_cancel(&l, &out);
    lab_run(&l);
    assert_int_equal(post->state, FAKE_ABORTED);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
D23_B27_nothing_is_taken_up_again_there(void **state)
{
    struct mcpi_call_options opt = {.resume_token = "five"};
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;
    size_t before;

    (void)state;
    get = start(&l);
    before = lab_count(&l);
    world_call(&l.w, CLIENT, &opt, &out);
    lab_run(&l);
    expect(&out, MCP_E_STATE);
    assert_string_equal(mcpi_call_fault(out.call)->why,
                        "2024-11-05 takes nothing up again");
    assert_true(mcpi_call_fault(out.call)->unsent);
    assert_int_equal(lab_count(&l), before);
    assert_int_equal(get->state, FAKE_OPEN);
    outcome_done(&out);
    lab_close(&l);
}

/* A stream as the answer to a POST is of another transport. */
static void
D23_a_stream_that_breaks_there_is_not_taken_up_again(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;
    size_t before;

    (void)state;
    (void)start(&l);
    post = lab_call(&l, NULL, &out);
    before = lab_count(&l);
    lab_stream(&l, post);
    fake_body(post, "id: five\ndata:\n\n");
    fake_fail(post, MCP_E_CLOSED, "reset");
    lab_run(&l);
    expect(&out, MCP_E_CLOSED);
    lab_pass(&l, 10 * SECOND);
    for (size_t i = before; i < lab_count(&l); i++)
        assert_string_equal(lab_at(&l, i)->method, "POST"); /* a cancel */
    outcome_done(&out);
    lab_close(&l);
}

static void
D23_a_refused_POST_fails_its_request(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    (void)start(&l);
    fake_answer(lab_call(&l, NULL, &out), 503, NULL, NULL);
    lab_run(&l);
    expect(&out, MCP_E_HTTP);
    assert_int_equal(mcpi_call_fault(out.call)->http, 503);
    assert_int_equal(l.lost, 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
D23_a_lost_stream_ends_the_session(void **state)
{
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        get = start(&l);
        lab_accept(&l, lab_call(&l, NULL, &out));
        if (whole)
            fake_end(get);
        else
            fake_fail(get, MCP_E_CLOSED, "reset");
        expect(&out, MCP_E_CLOSED);
        assert_int_equal(l.lost, 1);
        assert_int_equal(l.closed, 0); /* not from inside */
        lab_run(&l);
        assert_int_equal(l.closed, 1);
        assert_int_equal(lab_posted(&l, FRAME), 0);
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
D23_a_server_of_another_kind_is_refused_as_at_first(void **state)
{
    static const int codes[] = {404, 405, 500, 200};
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        fake_answer(refuse(&l, 404), codes[i], "text/html", "<p>");
        lab_run(&l);
        assert_int_equal(l.ready_status, MCP_E_HTTP);
        assert_int_equal(lab_count(&l), 2);
        assert_int_equal(l.closed, 1);
        lab_close(&l);
    }
    fake_fail(refuse(&l, 404), MCP_E_SEND_FAILED, "refused");
    lab_run(&l);
    assert_int_equal(l.ready_status, MCP_E_HTTP);
    lab_close(&l);
    lab_stream(&l, refuse(&l, 404)); /* a stream that says nothing */
    fake_end(lab_last(&l));
    lab_run(&l);
    assert_int_equal(l.ready_status, MCP_E_HTTP);
    lab_close(&l);
}

static void
D23_the_endpoint_must_be_of_the_same_origin(void **state)
{
    static const char *const bad[] = {"http://elsewhere.test/m", "//elsewhere.test/m",
                                      "https://server.test/m", "not a path",
                                      "http://server.test:81/m"};
    char event[128];
    struct lab l;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        lab_stream(&l, refuse(&l, 405));
        snprintf(event, sizeof(event), "event: endpoint\ndata: %s\n\n", bad[i]);
        fake_body(lab_last(&l), event);
        lab_run(&l);
        assert_int_equal(l.ready_status, MCP_E_HTTP);
        assert_int_equal(lab_count(&l), 2); /* nothing went there */
        assert_true(lab_logged(&l, "W: http: the server names an endpoint"));
        lab_close(&l);
    }
}

static void
D23_the_endpoint_is_waited_for_as_long_as_for_initialize(void **state)
{
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    for (int stream = 0; stream < 2; stream++) {
        get = refuse(&l, 405);
        if (stream)
            lab_stream(&l, get);
        lab_pass(&l, 59 * SECOND);
        assert_int_equal(get->state, FAKE_OPEN);
        lab_pass(&l, 2 * SECOND);
        assert_int_equal(l.ready_status, MCP_E_TIMEOUT);
        assert_int_equal(get->state, FAKE_ABORTED);
        assert_int_equal(l.closed, 1);
        lab_close(&l);
    }
}

static void
D23_a_second_endpoint_is_passed_over(void **state)
{
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    get = start(&l);
    fake_body(get, "event: endpoint\ndata: /other\n\n");
    lab_run(&l);
    assert_string_equal(lab_call(&l, NULL, &out)->url, MESSAGES);
    outcome_done(&out);
    lab_close(&l);
}

static void
D23_a_stream_that_begins_with_a_message_is_of_another_kind(void **state)
{
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    get = refuse(&l, 400);
    lab_stream(&l, get);
    fake_body(get, ": ping\n\n");
    assert_int_equal(get->state, FAKE_OPEN);
    lab_event(&l, get, NOTE("notifications/tools/list_changed", "{}"));
    assert_int_equal(l.notices, 0);
    assert_int_equal(get->state, FAKE_ABORTED);
    assert_int_equal(l.ready_status, MCP_E_HTTP);
    lab_close(&l);
}

static void
D23_a_refusal_at_the_endpoint_is_final(void **state)
{
    struct lab l;

    (void)state;
    lab_stream(&l, refuse(&l, 405));
    fake_body(lab_last(&l), ENDPOINT);
    lab_run(&l);
    fake_answer(lab_last(&l), 404, NULL, NULL);
    lab_run(&l);
    assert_int_equal(l.ready_status, MCP_E_HTTP);
    assert_int_equal(lab_count(&l), 3);
    lab_close(&l);
}

static void
D23_closing_posts_frames_first_and_deletes_nothing(void **state)
{
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    get = start(&l);
    lab_accept(&l, lab_call(&l, NULL, &out));
    lab_shut(&l);
    expect(&out, MCP_E_CLOSED);
    assert_true(fetch_says(lab_last(&l), FRAME));
    assert_int_equal(get->state, FAKE_OPEN); /* else the session is gone too soon */
    lab_accept(&l, lab_last(&l));
    assert_int_equal(get->state, FAKE_ABORTED);
    assert_int_equal(l.closed, 1);
    for (size_t i = 0; i < lab_count(&l); i++)
        assert_true(strcmp(lab_at(&l, i)->method, "DELETE") != 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
F30_who_closes_hears_nothing_more_on_the_stream(void **state)
{
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    get = start(&l);
    lab_accept(&l, lab_call(&l, NULL, &out));
    lab_shut(&l);
    lab_event(&l, get, REQUEST("5", "roots/list", "{}"));
    assert_null(l.asked);
    assert_int_equal(lab_posted(&l, "\"error\""), 0);
    outcome_done(&out);
    lab_close(&l);
}

/* By hand: nobody closes the link for it. */
static void
B18_an_initialize_that_is_canceled_looks_no_further(void **state)
{
    struct mcpi_call_options opt = {.method = "initialize"};
    struct lab_options lo = {.era = MCPI_ERA_MANUAL};
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_connect(&l, &lo);
    fake_answer(lab_call(&l, &opt, &out), 405, NULL, NULL);
    lab_run(&l);
    get = lab_last(&l);
    assert_string_equal(get->method, "GET");
    lab_cancel(&l, &out);
    expect(&out, MCP_E_CANCELED);
    lab_run(&l);
    assert_int_equal(get->state, FAKE_ABORTED);
    assert_int_equal(l.lost, 0);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
it_can_be_freed_in_any_state(void **state)
{
    struct lab l;

    (void)state;
    (void)refuse(&l, 405);
    lab_close(&l);
    lab_stream(&l, refuse(&l, 405));
    lab_close(&l);
    lab_stream(&l, refuse(&l, 405));
    fake_body(lab_last(&l), ENDPOINT);
    lab_close(&l);
    (void)start(&l);
    lab_close(&l);
}

static void
without_memory_initialize_fails(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    l.fetcher.refuse = MCP_E_NOMEM;
    fake_answer(lab_last(&l), 405, NULL, NULL);
    lab_run(&l);
    assert_int_equal(l.ready_status, MCP_E_HTTP);
    lab_close(&l);
    lab_stream(&l, refuse(&l, 405));
    l.fetcher.refuse = MCP_E_NOMEM;
    fake_body(lab_last(&l), ENDPOINT);
    lab_run(&l);
    assert_int_equal(l.ready_status, MCP_E_NOMEM);
    lab_close(&l);
}

/* What the answer to a POST says was never laid down: that it is one is enough. */
static void
D23_whatever_a_POST_is_accepted_with_is_fine(void **state)
{
    struct fake_fetch *get, *post;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int i = 0; i < 3; i++) {
        get = start(&l);
        post = lab_call(&l, NULL, &out);
        fake_head(post, 200, i == 0 ? "Content-Type: text/plain" : NULL);
        if (i < 2)
            fake_body(post, "ok");
        else
            fake_fail(post, MCP_E_CLOSED, "the line broke");
        if (post->state == FAKE_OPEN)
            fake_end(post);
        lab_run(&l);
        expect_open(&out);
        lab_event(&l, get, ANSWER("1"));
        expect(&out, 0);
        assert_int_equal(lab_posted(&l, FRAME), 0);
        outcome_done(&out);
        lab_close(&l);
    }
}

TEST_MAIN(TEST(D23_a_refused_initialize_is_followed_by_a_GET),
          TEST(D23_what_says_nothing_of_that_is_not),
          TEST(D23_an_error_that_names_no_request_says_nothing_of_that),
          TEST(D23_an_error_of_a_modern_server_does),
          TEST(D23_all_is_posted_to_the_endpoint_and_comes_on_the_stream),
          TEST(D23_whatever_a_POST_is_accepted_with_is_fine),
          TEST(D23_an_answer_that_is_no_message_ends_its_call_and_no_other),
          TEST(D23_a_cancel_is_posted_to_the_endpoint),
          TEST(D23_a_cancel_of_what_has_not_left_is_not_posted),
          TEST(D23_B27_nothing_is_taken_up_again_there),
          TEST(D23_a_stream_that_breaks_there_is_not_taken_up_again),
          TEST(D23_a_refused_POST_fails_its_request),
          TEST(D23_a_lost_stream_ends_the_session),
          TEST(D23_a_server_of_another_kind_is_refused_as_at_first),
          TEST(D23_the_endpoint_must_be_of_the_same_origin),
          TEST(D23_the_endpoint_is_waited_for_as_long_as_for_initialize),
          TEST(D23_a_second_endpoint_is_passed_over),
          TEST(D23_a_stream_that_begins_with_a_message_is_of_another_kind),
          TEST(D23_a_refusal_at_the_endpoint_is_final),
          TEST(D23_closing_posts_frames_first_and_deletes_nothing),
          TEST(F30_who_closes_hears_nothing_more_on_the_stream),
          TEST(B18_an_initialize_that_is_canceled_looks_no_further),
          TEST(it_can_be_freed_in_any_state), TEST(without_memory_initialize_fails))
