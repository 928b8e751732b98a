/* http_client_odd_test.c - the HTTP client and servers that do what they should not */
#include "link/http_client_fixture.h"
#include "link/http_entries.h"

#define FRAME "notifications/cancelled"

/* A legacy session with its GET stream open. */
static struct fake_fetch *
start(struct lab *l)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct fake_fetch *get;

    lab_connect(l, &opt);
    lab_welcome(l, lab_last(l), SESSION_HEAD);
    lab_accept(l, lab_last(l));
    get = lab_last(l);
    assert_string_equal(get->method, "GET");
    lab_stream(l, get);
    return get;
}

/* ---- an answer on another stream ------------------------------------------- */

/* It counts, and the stream of the request is not kept for ever. */
static void
D6_a_request_that_is_answered_elsewhere_lets_its_stream_go(void **state)
{
    struct fake_fetch *get, *post;
    struct outcome out;
    struct lab l;

    (void)state;
    get = start(&l);
    post = lab_call(&l, NULL, &out);
    lab_stream(&l, post);
    lab_event(&l, get, ANSWER("1"));
    expect(&out, 0);
    lab_pass(&l, 60 * SECOND);
    assert_int_equal(post->state, FAKE_ABORTED);
    assert_int_equal(get->state, FAKE_OPEN);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
D11_a_request_that_is_answered_elsewhere_is_not_taken_up_again(void **state)
{
    struct fake_fetch *get, *post;
    struct outcome out;
    size_t before;
    struct lab l;

    (void)state;
    get = start(&l);
    post = lab_call(&l, NULL, &out);
    lab_stream(&l, post);
    fake_body(post, "id: 7\ndata:\n\n");
    fake_end(post);
    lab_run(&l);
    lab_event(&l, get, ANSWER("1"));
    expect(&out, 0);
    before = lab_count(&l);
    lab_pass(&l, 60 * SECOND);
    assert_int_equal(lab_count(&l), before);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    outcome_done(&out);
    lab_close(&l);
}

/* ---- one that asks and does not listen ------------------------------------- */

#define PING "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}"

static void
ask(struct lab *l, struct fake_fetch *get, int from, int count)
{
    char event[128];

    for (int i = 0; i < count && get->state == FAKE_OPEN; i++) {
        snprintf(event, sizeof(event), "data: " PING "\n\n", from + i);
        fake_body(get, event);
    }
    lab_run(l);
}

/* Whatever waits, a cancel does not. */
static void
C7_answers_beyond_a_number_wait_and_nothing_else_does(void **state)
{
    struct fake_fetch *get, *post;
    struct outcome out;
    struct lab l;

    (void)state;
    get = start(&l);
    ask(&l, get, 1000, MCPI_HTTP_ANSWERS_MAX + 2);
    assert_int_equal(lab_posted(&l, "\"result\":{}"), MCPI_HTTP_ANSWERS_MAX);
    post = lab_call(&l, NULL, &out);
    lab_stream(&l, post);
    lab_cancel(&l, &out);
    lab_run(&l);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    assert_int_equal(lab_posted(&l, "\"result\":{}"), MCPI_HTTP_ANSWERS_MAX);
    lab_accept(&l, lab_post(&l, "\"id\":1000,"));
    assert_int_equal(lab_posted(&l, "\"result\":{}"), MCPI_HTTP_ANSWERS_MAX + 1);
    fake_answer(lab_post(&l, "\"id\":1001,"), 500, NULL, NULL);
    lab_run(&l);
    assert_int_equal(lab_posted(&l, "\"result\":{}"), MCPI_HTTP_ANSWERS_MAX + 2);
    outcome_done(&out);
    lab_close(&l);
}

static void
C7_an_answer_does_not_wait_for_ever(void **state)
{
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    get = start(&l);
    ask(&l, get, 0, 2 * MCPI_HTTP_ANSWERS_MAX);
    lab_pass(&l, 2 * MCPI_HTTP_NOTE_MAX);
    assert_int_equal(fake_open_count(&l.fetcher), 1); /* the GET */
    lab_close(&l);
}

static void
a_server_that_refuses_answers_does_not_fill_the_log(void **state)
{
    struct fake_fetch *get;
    char post[32];
    struct lab l;

    (void)state;
    get = start(&l);
    for (int i = 1000; i < 1003; i++) {
        ask(&l, get, i, 1);
        snprintf(post, sizeof(post), "\"id\":%d,", i);
        fake_answer(lab_post(&l, post), 500, NULL, NULL);
        lab_run(&l);
    }
    assert_true(lab_logged(&l, "I: http: a message of ours was not accepted"));
    assert_null(strstr(strstr(l.logged, "I: http: a message") + 1, "I: http: a mess"));
    assert_true(lab_logged(&l, "D: http: a message of ours was not accepted"));
    lab_close(&l);
}

static void
C7_a_server_that_asks_without_end_and_takes_no_answer_is_given_up(void **state)
{
    enum { MOST = MCPI_HTTP_ANSWERS_MAX + MCPI_HTTP_CROWD_MAX, AT_ONCE = 64 };
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    get = start(&l);
    for (int i = 0; i < MOST; i += AT_ONCE) {
        ask(&l, get, i, MOST - i < AT_ONCE ? MOST - i : AT_ONCE);
        assert_true(fake_open_count(&l.fetcher) <= 1 + MCPI_HTTP_ANSWERS_MAX);
    }
    assert_int_equal(l.lost, 0);
    ask(&l, get, MOST, 1);
    assert_int_equal(l.lost, 1);
    lab_close(&l);
}

TEST_MAIN(TEST(D6_a_request_that_is_answered_elsewhere_lets_its_stream_go),
          TEST(D11_a_request_that_is_answered_elsewhere_is_not_taken_up_again),
          TEST(C7_answers_beyond_a_number_wait_and_nothing_else_does),
          TEST(C7_an_answer_does_not_wait_for_ever),
          TEST(a_server_that_refuses_answers_does_not_fill_the_log),
          TEST(C7_a_server_that_asks_without_end_and_takes_no_answer_is_given_up))
