/* link/http_resume_test.c - a flow whose stream breaks: taken up again, or not */
#include "link/http_owner.h"

#define NOT_RESUMED "the stream was lost and not resumed: "

/* ---- resuming --------------------------------------------------------------- */

static void
D8_a_lost_stream_with_ids_is_taken_up_again(void **state)
{
    struct owner o;
    struct fake_fetch *get;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED);
    fake_body(last(&o), MARKED("8", NEWS) "id: 9\ndata: {");
    lose(&o);
    hears(&o, " sent head(200) mark(7) mark(8) " NEWS);
    get = resumes_after(&o, MCPI_HTTP_RETRY_FIRST);
    assert_string_equal(get->method, "GET");
    assert_string_equal(get->url, URL);
    assert_string_equal(fake_field(get, "Last-Event-ID"), "8");
    assert_string_equal(fake_field(get, "Accept"), "text/event-stream");
    assert_string_equal(fake_field(get, "Mcp-Session-Id"), "s1");
    assert_null(get->body);
    assert_int_equal(get->idle_us, 9 * SECOND);
    fake_stream(get);
    assert_int_equal(o.flow->state, MCPI_FLOW_STREAM);
    fake_body(get, MARKED("9", ANSWER));
    hears(&o, " head(200) mark(9) " ANSWER);
    o.flow->resumes = false;
    fake_end(get);
    hears(&o, " whole");
    stays_over(&o);
    owner_done(&o);
}

static void
D8_the_last_id_stays_until_there_is_another(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED DATA(NEWS));
    lose(&o);
    fake_stream(resumes_after(&o, SECOND));
    fake_body(last(&o), DATA(NEWS));
    lose(&o);
    assert_string_equal(fake_field(resumes_after(&o, SECOND), "Last-Event-ID"), "7");
    fake_stream(last(&o));
    fake_body(last(&o), MARKED("10", ""));
    lose(&o);
    assert_string_equal(fake_field(resumes_after(&o, SECOND), "Last-Event-ID"), "10");
    owner_done(&o);
}

static void
D9_a_server_may_take_its_ids_back(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED MARKED("", NEWS));
    forget(&o);
    lose(&o);
    hears(&o, LOST);
    stays_over(&o);
    owner_done(&o);
}

static void
D8_the_time_a_server_asks_for_is_waited(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, "retry: 20\n" PRIMED);
    lose(&o);
    fake_stream(resumes_after(&o, 20000));
    fake_body(last(&o), "retry: 90000\n\n");
    lose(&o);
    fake_stream(resumes_after(&o, 90 * SECOND));
    owner_done(&o);
}

static void
D8_a_retry_without_delay_comes_a_turn_later(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, "retry: 0\n" PRIMED);
    lose(&o);
    assert_int_equal(o.fetcher.count, 1);
    fake_stream(resumes_after(&o, 0));
    owner_done(&o);
}

/* A server that closes has no resources to spare, and is polled (SEP-1699). */
static void
D8_a_stream_that_the_server_ends_is_polled(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, "retry: 500\n" PRIMED);
    fake_end(last(&o));
    forget(&o);
    for (int i = 0; i < 3 * MCPI_HTTP_RESUMES_MAX; i++) {
        fake_stream(resumes_after(&o, 500000));
        fake_end(last(&o));
    }
    fake_stream(resumes_after(&o, 500000));
    forget(&o);
    fake_body(last(&o), DATA(ANSWER));
    o.flow->resumes = false;
    fake_end(last(&o));
    hears(&o, " " ANSWER " whole");
    stays_over(&o);
    owner_done(&o);
}

static void
D8_D9_attempts_take_ever_longer_and_then_end(void **state)
{
    struct owner o;
    int64_t delay = MCPI_HTTP_RETRY_FIRST;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED);
    lose(&o);
    forget(&o);
    for (int i = 0; i < MCPI_HTTP_RESUMES_MAX; i++) {
        hears(&o, "");
        (void)resumes_after(&o, delay);
        delay *= 2;
        if (i % 2)
            fake_fail(last(&o), MCP_E_SEND_FAILED, "nobody there");
        else
            lose(&o);
    }
    hears(&o, " lost(-7,0,0,the stream was lost and not resumed: the line broke)");
    assert_int_equal(o.fetcher.count, 1 + MCPI_HTTP_RESUMES_MAX);
    stays_over(&o);
    owner_done(&o);
}

static void
fails_to_resume_after(const char *body, const int64_t delays[4])
{
    struct owner o;

    owner_init(&o);
    stream(&o, body);
    lose(&o);
    for (int i = 0; i < 4; i++) {
        (void)resumes_after(&o, delays[i]);
        lose(&o);
    }
    owner_done(&o);
}

static void
D8_the_time_between_attempts_has_bounds(void **state)
{
    static const int64_t at_once[] = {0, 2 * SECOND, 4 * SECOND, 8 * SECOND};
    static const int64_t longer[] = {7 * SECOND, 14 * SECOND, 28 * SECOND, 30 * SECOND};
    static const int64_t most[] = {30 * SECOND, 30 * SECOND, 30 * SECOND, 30 * SECOND};
    static const int64_t beyond[] = {40 * SECOND, 40 * SECOND, 40 * SECOND,
                                     40 * SECOND};

    (void)state;
    fails_to_resume_after("retry: 0\n" PRIMED, at_once);
    fails_to_resume_after("retry: 7000\n" PRIMED, longer);
    fails_to_resume_after("retry: 30000\n" PRIMED, most);
    fails_to_resume_after("retry: 40000\n" PRIMED, beyond);
}

static void
D8_a_stream_that_opens_ends_the_row_of_failures(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED);
    lose(&o);
    for (int i = 0; i < 3; i++) {
        int64_t delay = MCPI_HTTP_RETRY_FIRST;

        for (int j = 1; j < MCPI_HTTP_RESUMES_MAX; j++) {
            (void)resumes_after(&o, delay);
            lose(&o);
            delay *= 2;
        }
        fake_stream(resumes_after(&o, delay));
        lose(&o);
    }
    assert_int_equal(o.ended, 0);
    owner_done(&o);
}

static void
D8_an_attempt_without_memory_is_one_that_failed(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED);
    lose(&o);
    o.fetcher.refuse = MCP_E_NOMEM;
    o.fetcher.refuse_times = 2;
    turn(&o);
    pass(&o, SECOND);
    assert_int_equal(o.fetcher.refused, 1);
    assert_int_equal(o.flow->state, MCPI_FLOW_BROKEN);
    turn(&o);
    pass(&o, 2 * SECOND);
    assert_int_equal(o.fetcher.refused, 2);
    (void)resumes_after(&o, 4 * SECOND);
    fake_fail(last(&o), MCP_E_NOMEM, "no memory");
    fake_stream(resumes_after(&o, 8 * SECOND));
    owner_done(&o);
}

static void
D8_an_attempt_without_memory_for_its_lines_is_not_made(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED);
    lose(&o);
    turn(&o);
    atomic_store(&o.mem->fail_at, atomic_load(&o.mem->total) + 1);
    pass(&o, SECOND);
    assert_int_equal(o.fetcher.count, 1);
    assert_string_equal(o.logged, "4: a stream was not resumed yet: out of memory\n");
    assert_non_null(fake_field(resumes_after(&o, 2 * SECOND), "Mcp-Session-Id"));
    owner_done(&o);
}

static void
D9_attempts_without_memory_end_too(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED);
    lose(&o);
    forget(&o);
    o.fetcher.refuse = MCP_E_NOMEM;
    for (int i = 0; i < MCPI_HTTP_RESUMES_MAX; i++) {
        hears(&o, "");
        turn(&o);
        pass(&o, 60 * SECOND);
    }
    assert_int_equal(o.fetcher.refused, MCPI_HTTP_RESUMES_MAX);
    hears(&o, " lost(-7,0,0,the stream was lost and not resumed: out of memory)");
    stays_over(&o);
    owner_done(&o);
}

static void
resumed_by(int status, const char *type, const char *text, const char *heard)
{
    struct owner o;

    owner_init(&o);
    stream(&o, PRIMED);
    lose(&o);
    forget(&o);
    fake_answer(resumes_after(&o, SECOND), status, type, text);
    hears(&o, heard);
    stays_over(&o);
    owner_done(&o);
}

/* What it brings is about the GET, and not the answer to what was asked. */
static void
D9_a_resume_that_is_refused_is_the_end(void **state)
{
    (void)state;
    resumed_by(405, NULL, NULL,
               " head(405) lost(-7,405,0," NOT_RESUMED "HTTP 405 Method Not Allowed)");
    resumed_by(404, JSON, ERROR("null", "-32001"),
               " head(404) lost(-7,404,0," NOT_RESUMED "HTTP 404 Not Found)");
    resumed_by(400, JSON, ERROR("1", "-32600"),
               " head(400) lost(-7,400,0," NOT_RESUMED "HTTP 400 Bad Request)");
    resumed_by(500, "text/event-stream", DATA(ANSWER),
               " head(500) lost(-7,500,0," NOT_RESUMED
               "HTTP 500 Internal Server Error)");
}

/* It says nothing of the stream: a proxy whose server starts again, say. */
static void
D8_a_server_that_is_busy_is_asked_again(void **state)
{
    static const int busy[] = {429, 502, 503, 504};
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED);
    lose(&o);
    for (int i = 0; i < 4; i++)
        fake_answer(resumes_after(&o, (int64_t)(1 << i) * SECOND), busy[i], NULL, NULL);
    fake_stream(resumes_after(&o, 16 * SECOND));
    assert_int_equal(o.flow->state, MCPI_FLOW_STREAM);
    owner_done(&o);
}

/* What a busy one said is over: what becomes of the next attempt is another story. */
static void
D8_one_that_was_busy_and_is_then_away_is_asked_again(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED);
    lose(&o);
    forget(&o);
    fake_answer(resumes_after(&o, SECOND), 503, NULL, NULL);
    hears(&o, " head(503)");
    (void)resumes_after(&o, 2 * SECOND);
    fake_fail(last(&o), MCP_E_SEND_FAILED, "nobody there");
    hears(&o, "");
    fake_stream(resumes_after(&o, 4 * SECOND));
    fake_body(last(&o), DATA(ANSWER));
    hears(&o, " head(200) " ANSWER);
    owner_done(&o);
}

/* It asks for no delay, and brings nothing: it is not asked at once, for ever. */
static void
D8_a_server_cannot_make_us_spin(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, "retry: 0\n" PRIMED);
    fake_end(last(&o));
    fake_stream(resumes_after(&o, 0));
    fake_end(last(&o));
    fake_stream(resumes_after(&o, MCPI_HTTP_RETRY_LEAST));
    fake_body(last(&o), DATA(NEWS));
    fake_end(last(&o));
    fake_stream(resumes_after(&o, 0));
    fake_body(last(&o), MARKED("8", "")); /* an id alone is no news */
    fake_end(last(&o));
    fake_stream(resumes_after(&o, MCPI_HTTP_RETRY_LEAST));
    owner_done(&o);
}

static void
D9_D10_a_resume_that_is_no_stream_is_the_end(void **state)
{
    (void)state;
    resumed_by(200, JSON, ANSWER,
               " head(200) lost(-15,0,0,application/json is no answer)");
    resumed_by(200, "text/html", "<html>",
               " head(200) lost(-15,0,0,text/html is no answer)");
    resumed_by(202, NULL, NULL, " head(202) lost(-15,0,0,HTTP 202 is no answer)");
    resumed_by(204, NULL, NULL, " head(204) lost(-15,0,0,HTTP 204 is no answer)");
}

static void
D9_a_resume_that_is_not_even_http_is_the_end(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED);
    lose(&o);
    forget(&o);
    (void)resumes_after(&o, SECOND);
    fake_sent(last(&o));
    fake_fail(last(&o), MCP_E_PROTO, "no HTTP");
    hears(&o, " lost(-15,0,0,no HTTP)");
    stays_over(&o);
    owner_done(&o);
}

static void
a_stream_that_is_not_http_any_more_is_not_resumed(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED);
    forget(&o);
    fake_fail(last(&o), MCP_E_PROTO, "bad chunk");
    hears(&o, " lost(-15,0,0,bad chunk)");
    stays_over(&o);
    owner_done(&o);
}

/* ---- not resuming ----------------------------------------------------------- */

static void
E13_what_does_not_resume_never_does(void **state)
{
    struct owner o;

    (void)state;
    for (int i = 0; i < 4; i++) {
        owner_init(&o);
        if (i % 2)
            o.flow->resumes = false;
        else
            o.flow->ops = &few_ops; /* nobody to write the header lines */
        stream(&o, PRIMED);
        forget(&o);
        if (i < 2)
            lose(&o);
        else
            fake_end(last(&o));
        hears(&o, i < 2 ? LOST : " whole");
        stays_over(&o);
        owner_done(&o);
    }
}

static void
D7_the_stream_of_the_abandoned_is_not_taken_up_again(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED);
    assert_false(mcpi_http_flow_forgo(o.flow));
    fake_body(last(&o), DATA(NEWS)); /* until then it goes on */
    forget(&o);
    lose(&o);
    hears(&o, LOST);
    stays_over(&o);
    owner_done(&o);
}

static void
D7_one_that_is_forgone_while_it_speaks_ends_with_its_stream(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    o.forgo_in = MESSAGE;
    stream(&o, MARKED("7", ANSWER) DATA(NEWS));
    fake_end(last(&o));
    hears(&o, " sent head(200) mark(7) " ANSWER " " NEWS " whole");
    stays_over(&o);
    owner_done(&o);
}

static void
D7_a_first_request_is_not_forgone(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    assert_false(mcpi_http_flow_forgo(o.flow));
    post(&o);
    assert_false(mcpi_http_flow_forgo(o.flow));
    fake_answer(last(&o), 200, JSON, ANSWER);
    hears(&o, " sent head(200) " ANSWER " whole");
    assert_false(mcpi_http_flow_forgo(o.flow));
    owner_done(&o);
}

/* How far a resumption has come. */
enum { JUST_BROKEN, WAITING, OPENING, OPENING_SENT, STREAMING, RESUMPTIONS };

static void
resume_until(struct owner *o, int stage)
{
    stream(o, PRIMED);
    lose(o);
    if (stage == WAITING) {
        turn(o);
        pass(o, SECOND / 2);
    }
    if (stage >= OPENING)
        (void)resumes_after(o, SECOND);
    if (stage == OPENING_SENT)
        fake_sent(last(o));
    if (stage == STREAMING)
        fake_stream(last(o));
    forget(o);
}

static void
D7_D11_forgoing_ends_a_resumption_at_once(void **state)
{
    struct owner o;

    (void)state;
    for (int stage = 0; stage < RESUMPTIONS; stage++) {
        owner_init(&o);
        resume_until(&o, stage);
        assert_true(mcpi_http_flow_forgo(o.flow));
        assert_int_equal(o.fetcher.aborts, stage >= OPENING);
        stays_over(&o);
        hears(&o, ""); /* silently */
        assert_false(mcpi_http_flow_forgo(o.flow));
        owner_done(&o);
    }
}

static void
D11_closing_ends_a_resumption_at_once(void **state)
{
    struct owner o;

    (void)state;
    for (int stage = 0; stage < RESUMPTIONS; stage++) {
        owner_init(&o);
        resume_until(&o, stage);
        mcpi_http_flow_close(o.flow);
        assert_int_equal(o.fetcher.aborts, stage >= OPENING);
        stays_over(&o);
        hears(&o, "");
        mcpi_http_flow_close(o.flow);
        owner_done(&o);
    }
}

static void
D7_what_nobody_wants_any_more_is_lost_without_a_get(void **state)
{
    struct owner o;

    (void)state;
    for (int stage = JUST_BROKEN; stage <= WAITING; stage++) {
        owner_init(&o);
        resume_until(&o, stage);
        o.flow->resumes = false;
        pass(&o, SECOND);
        hears(&o, " lost(-7,0,0,the stream was lost and not resumed: "
                  "nobody waits for it)");
        stays_over(&o);
        owner_done(&o);
    }
    owner_init(&o);
    resume_until(&o, OPENING);
    o.flow->resumes = false;
    lose(&o);
    hears(&o, " lost(-7,0,0,the stream was lost and not resumed: the line broke)");
    stays_over(&o);
    owner_done(&o);
}

static void
E12_closing_aborts_in_every_state_and_is_silent(void **state)
{
    struct owner o;

    (void)state;
    for (int stage = 0; stage < 5; stage++) {
        owner_init(&o);
        if (stage > 0)
            post(&o);
        if (stage > 1)
            fake_sent(last(&o));
        if (stage > 2)
            fake_head(last(&o), 200,
                      stage > 3 ? "Content-Type: text/event-stream"
                                : "Content-Type: " JSON);
        if (stage > 3)
            fake_body(last(&o), PRIMED "id: 8\ndata: {\"half");
        else if (stage > 2)
            fake_body(last(&o), "{\"half");
        forget(&o);
        mcpi_http_flow_close(o.flow);
        assert_int_equal(o.fetcher.aborts, stage > 0);
        stays_over(&o);
        hears(&o, "");
        mcpi_http_flow_close(o.flow);
        owner_done(&o);
    }
}

/* ---- a stream of a session's own -------------------------------------------- */

static void
get(struct owner *o)
{
    o->flow->reopens = true;
    assert_int_equal(mcpi_http_flow_start(o->flow, "GET", "A: b", 5, NULL, 0), 0);
}

static void
D8_a_stream_that_reopens_needs_no_ids(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    get(&o);
    fake_stream(last(&o));
    hears(&o, " sent head(200)");
    lose(&o);
    assert_null(fake_field(resumes_after(&o, SECOND), "Last-Event-ID"));
    assert_string_equal(fake_field(last(&o), "Accept"), "text/event-stream");
    fake_stream(last(&o));
    fake_end(last(&o));
    fake_stream(resumes_after(&o, SECOND));
    fake_body(last(&o), PRIMED);
    lose(&o);
    assert_string_equal(fake_field(resumes_after(&o, SECOND), "Last-Event-ID"), "7");
    hears(&o, " head(200) head(200) mark(7)");
    owner_done(&o);
}

static void
D7_a_stream_that_reopens_can_be_forgone(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    get(&o);
    fake_stream(last(&o));
    assert_false(mcpi_http_flow_forgo(o.flow));
    lose(&o);
    hears(&o, " sent head(200)" LOST);
    stays_over(&o);
    owner_done(&o);
}

static void
got(int status, const char *type, const char *text, const char *heard)
{
    struct owner o;

    owner_init(&o);
    get(&o);
    fake_answer(last(&o), status, type, text);
    hears(&o, heard);
    stays_over(&o);
    owner_done(&o);
}

static void
a_get_is_answered_by_a_stream_or_refused(void **state)
{
    (void)state;
    got(405, JSON, ERROR("null", "-32000"),
        " sent head(405) lost(-17,405,0,HTTP 405 Method Not Allowed)");
    got(200, JSON, ANSWER,
        " sent head(200) lost(-15,0,0,application/json is no answer)");
    got(202, NULL, NULL, " sent head(202) lost(-15,0,0,HTTP 202 is no answer)");
}

static void
a_first_get_that_fails_is_not_tried_again(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    get(&o);
    fake_fail(last(&o), MCP_E_SEND_FAILED, "nobody there");
    hears(&o, " lost(-10,0,1,nobody there)");
    stays_over(&o);
    owner_done(&o);
}

/* ---- beginning with an earlier stream --------------------------------------- */

static void
B27_an_earlier_stream_can_be_taken_up(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    assert_int_equal(mcpi_http_flow_resume(o.flow, "41"), 0);
    assert_string_equal(last(&o)->method, "GET");
    assert_string_equal(fake_field(last(&o), "Last-Event-ID"), "41");
    assert_string_equal(fake_field(last(&o), "Mcp-Session-Id"), "s1");
    fake_stream(last(&o));
    fake_body(last(&o), DATA(ANSWER));
    hears(&o, " head(200) " ANSWER); /* nothing of a request was sent */
    lose(&o);
    assert_string_equal(fake_field(resumes_after(&o, SECOND), "Last-Event-ID"), "41");
    owner_done(&o);
}

static void
B27_D8_an_earlier_stream_is_tried_again(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    assert_int_equal(mcpi_http_flow_resume(o.flow, "41"), 0);
    fake_fail(last(&o), MCP_E_SEND_FAILED, "nobody there");
    hears(&o, "");
    assert_string_equal(fake_field(resumes_after(&o, 2 * SECOND), "Last-Event-ID"),
                        "41");
    assert_true(mcpi_http_flow_forgo(o.flow));
    owner_done(&o);
}

static void
B27_an_earlier_stream_may_be_resumed_from_now_on(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    assert_int_equal(mcpi_http_flow_resume(o.flow, ""), 0);
    assert_null(fake_field(last(&o), "Last-Event-ID"));
    fake_fail(last(&o), MCP_E_SEND_FAILED, "nobody there");
    hears(&o, " lost(-7,0,0,the stream was lost and not resumed: nobody there)");
    stays_over(&o);
    owner_done(&o);
}

static void
B27_what_is_no_id_is_refused(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    assert_int_equal(mcpi_http_flow_resume(o.flow, "1\r\nEvil: yes"), MCP_E_INVAL);
    o.flow->ops = &few_ops;
    assert_int_equal(mcpi_http_flow_resume(o.flow, "1"), MCP_E_INVAL);
    assert_int_equal(o.fetcher.count, 0);
    assert_int_equal(o.flow->state, MCPI_FLOW_IDLE);
    owner_done(&o);
}

/* ---- what may not be sent yet ------------------------------------------------ */

/* A stream with an id was lost, and its GET may not be sent. */
static void
start_resting(struct owner *o, bool refused)
{
    owner_init(o);
    stream(o, PRIMED);
    lose(o);
    if (refused) {
        (void)resumes_after(o, SECOND);
        mcpi_http_flow_rest(o->flow);
    } else {
        o->fields_answer = MCP_E_AGAIN;
        turn(o);
        pass(o, SECOND);
        o->fields_answer = 0;
    }
    forget(o);
    assert_int_equal(o->flow->state, MCPI_FLOW_BROKEN);
    assert_int_equal(fake_open_count(&o->fetcher), 0);
}

static void
one_that_may_not_be_sent_yet_rests_until_it_is_woken(void **state)
{
    struct owner o;
    size_t before;

    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        start_resting(&o, refused);
        before = o.fetcher.count;
        pass(&o, 3600 * SECOND);
        assert_int_equal(o.fetcher.count, before);
        assert_int_equal(o.flow->failures, 0);
        mcpi_http_flow_wake(o.flow);
        assert_int_equal(o.fetcher.count, before); /* in the next turn */
        mcpi_http_flow_wake(o.flow);
        turn(&o);
        assert_int_equal(o.fetcher.count, before + 1);
        assert_string_equal(fake_field(last(&o), "Last-Event-ID"), "7");
        mcpi_http_flow_wake(o.flow); /* it does not rest */
        turn(&o);
        assert_int_equal(o.fetcher.count, before + 1);
        fake_stream(last(&o));
        fake_body(last(&o), DATA(ANSWER));
        hears(&o, " head(200) " ANSWER);
        owner_done(&o);
    }
}

static void
B27_an_earlier_stream_may_rest_before_it_is_asked_for(void **state)
{
    struct owner o;

    (void)state;
    for (int woken = 0; woken < 2; woken++) {
        owner_init(&o);
        o.fields_answer = MCP_E_AGAIN;
        assert_int_equal(mcpi_http_flow_resume(o.flow, "41"), MCP_E_AGAIN);
        assert_int_equal(o.fetcher.count, 0);
        o.fields_answer = 0;
        if (woken) {
            mcpi_http_flow_wake(o.flow);
            turn(&o);
            assert_string_equal(fake_field(last(&o), "Last-Event-ID"), "41");
        } else {
            assert_true(mcpi_http_flow_forgo(o.flow));
            mcpi_http_flow_wake(o.flow);
            stays_over(&o);
        }
        hears(&o, "");
        owner_done(&o);
    }
}

static void
D7_one_that_rests_can_be_closed_or_forgone(void **state)
{
    struct owner o;

    (void)state;
    for (int i = 0; i < 4; i++) {
        start_resting(&o, i % 2);
        if (i < 2)
            mcpi_http_flow_close(o.flow);
        else
            assert_true(mcpi_http_flow_forgo(o.flow));
        hears(&o, "");
        stays_over(&o);
        owner_done(&o);
    }
}

static void
one_that_may_never_be_sent_is_over(void **state)
{
    struct owner o;

    (void)state;
    start_resting(&o, true);
    o.fields_answer = MCP_E_AUTH;
    mcpi_http_flow_wake(o.flow);
    turn(&o);
    hears(&o, " lost(-18,0,0,not authorized)");
    stays_over(&o);
    owner_done(&o);
}

TEST_MAIN(TEST(D8_a_lost_stream_with_ids_is_taken_up_again),
          TEST(D8_the_last_id_stays_until_there_is_another),
          TEST(D9_a_server_may_take_its_ids_back),
          TEST(D8_the_time_a_server_asks_for_is_waited),
          TEST(D8_a_retry_without_delay_comes_a_turn_later),
          TEST(D8_a_stream_that_the_server_ends_is_polled),
          TEST(D8_D9_attempts_take_ever_longer_and_then_end),
          TEST(D8_the_time_between_attempts_has_bounds),
          TEST(D8_a_stream_that_opens_ends_the_row_of_failures),
          TEST(D8_an_attempt_without_memory_is_one_that_failed),
          TEST(D8_an_attempt_without_memory_for_its_lines_is_not_made),
          TEST(D9_attempts_without_memory_end_too),
          TEST(D9_a_resume_that_is_refused_is_the_end),
          TEST(D8_a_server_that_is_busy_is_asked_again),
          TEST(D8_one_that_was_busy_and_is_then_away_is_asked_again),
          TEST(D8_a_server_cannot_make_us_spin),
          TEST(D9_D10_a_resume_that_is_no_stream_is_the_end),
          TEST(D9_a_resume_that_is_not_even_http_is_the_end),
          TEST(a_stream_that_is_not_http_any_more_is_not_resumed),
          TEST(E13_what_does_not_resume_never_does),
          TEST(D7_the_stream_of_the_abandoned_is_not_taken_up_again),
          TEST(D7_one_that_is_forgone_while_it_speaks_ends_with_its_stream),
          TEST(D7_a_first_request_is_not_forgone),
          TEST(D7_D11_forgoing_ends_a_resumption_at_once),
          TEST(D11_closing_ends_a_resumption_at_once),
          TEST(D7_what_nobody_wants_any_more_is_lost_without_a_get),
          TEST(E12_closing_aborts_in_every_state_and_is_silent),
          TEST(D8_a_stream_that_reopens_needs_no_ids),
          TEST(D7_a_stream_that_reopens_can_be_forgone),
          TEST(a_get_is_answered_by_a_stream_or_refused),
          TEST(a_first_get_that_fails_is_not_tried_again),
          TEST(B27_an_earlier_stream_can_be_taken_up),
          TEST(B27_D8_an_earlier_stream_is_tried_again),
          TEST(B27_an_earlier_stream_may_be_resumed_from_now_on),
          TEST(B27_what_is_no_id_is_refused),
          TEST(one_that_may_not_be_sent_yet_rests_until_it_is_woken),
          TEST(B27_an_earlier_stream_may_rest_before_it_is_asked_for),
          TEST(D7_one_that_rests_can_be_closed_or_forgone),
          TEST(one_that_may_never_be_sent_is_over))
