/* link/http_flow_test.c - one HTTP request of ours and what comes back */
#include "link/http_flow.h"

#include "link/http_owner.h"

/* ---- without resuming ------------------------------------------------------- */

static void
a_request_is_sent_as_it_was_given(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    post(&o);
    assert_string_equal(last(&o)->method, "POST");
    assert_string_equal(last(&o)->url, URL);
    assert_int_equal(last(&o)->fields_len, 5);
    assert_string_equal(fake_field(last(&o), "a"), "b");
    assert_string_equal(last(&o)->body, "{}");
    assert_int_equal(last(&o)->body_len, 2);
    assert_int_equal(last(&o)->idle_us, 9 * SECOND);
    owner_done(&o);
}

static void
a_json_answer_is_a_message_and_whole(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    post(&o);
    fake_sent(last(&o));
    hears(&o, " sent");
    fake_head(last(&o), 200, "Content-Type: " JSON);
    hears(&o, " head(200)");
    assert_int_equal(o.flow->state, MCPI_FLOW_BODY);
    fake_body(last(&o), "{\"jsonrpc\":\"2.0\",");
    fake_body(last(&o), "\"id\":1,\"result\":{}}");
    hears(&o, "");
    fake_end(last(&o));
    hears(&o, " " ANSWER " whole");
    assert_int_equal(o.flow->reply.messages, 1);
    assert_string_equal(o.logged, "");
    stays_over(&o);
    owner_done(&o);
}

static void
a_stream_is_its_messages_and_its_end(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, DATA(NEWS) "data:");
    hears(&o, " sent head(200) " NEWS);
    fake_body(last(&o), ANSWER "\n\nevent: other\n" DATA("x"));
    hears(&o, " " ANSWER " event(other)");
    fake_end(last(&o));
    hears(&o, " whole");
    stays_over(&o);
    owner_done(&o);
}

static void
an_owner_need_not_listen_to_all(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    o.flow->ops = &few_ops;
    stream(&o, PRIMED DATA(NEWS) "event: e\n" DATA("x"));
    fake_end(last(&o));
    hears(&o, " " NEWS " whole");
    owner_done(&o);
}

static void
D10_accepted_is_whole_without_a_message(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    post(&o);
    fake_answer(last(&o), 202, NULL, NULL);
    hears(&o, " sent head(202) whole");
    assert_int_equal(o.flow->reply.messages, 0);
    assert_int_equal(o.flow->reply.kind, MCPI_REPLY_EMPTY);
    owner_done(&o);
}

static void
answers(int status, const char *type, const char *text, const char *heard)
{
    struct owner o;

    owner_init(&o);
    post(&o);
    fake_answer(last(&o), status, type, text);
    hears(&o, heard);
    stays_over(&o);
    owner_done(&o);
}

static void
D10_an_odd_answer_is_a_fault(void **state)
{
    (void)state;
    answers(200, "text/html", "<html>",
            " sent head(200) lost(-15,0,0,text/html is no answer)");
    answers(200, JSON, "[]", " sent head(200) lost(-15,0,0,batches are not supported)");
    answers(200, JSON, "{", " sent head(200) lost(-15,0,0,what came is no JSON)");
}

static void
an_error_of_http_is_a_fault_unless_it_brings_a_message(void **state)
{
    (void)state;
    answers(503, "text/html", "<html>",
            " sent head(503) lost(-17,503,0,HTTP 503 Service Unavailable)");
    answers(401, "text/plain", "who?",
            " sent head(401) lost(-17,401,0,HTTP 401 Unauthorized: who?)");
    answers(500, "text/event-stream", DATA(ANSWER),
            " sent head(500) lost(-17,500,0,HTTP 500 Internal Server Error)");
    answers(400, JSON, ERROR("1", "-32022"),
            " sent head(400) " ERROR("1", "-32022") " whole");
}

static void
a_request_that_fails_has_the_fault_of_its_fetch(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    post(&o);
    fake_fail(last(&o), MCP_E_SEND_FAILED, "nobody there");
    hears(&o, " lost(-10,0,1,nobody there)");
    stays_over(&o);
    owner_done(&o);
    owner_init(&o);
    post(&o);
    fake_sent(last(&o));
    lose(&o);
    hears(&o, " sent" LOST);
    stays_over(&o);
    owner_done(&o);
}

static void
D9_json_that_breaks_off_is_lost(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    post(&o);
    fake_head(last(&o), 200, "Content-Type: " JSON);
    fake_body(last(&o), ANSWER); /* whole, but who knows */
    lose(&o);
    hears(&o, " sent head(200)" LOST);
    stays_over(&o);
    owner_done(&o);
}

static void
D9_a_stream_without_ids_that_breaks_is_lost(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, DATA(NEWS));
    lose(&o);
    hears(&o, " sent head(200) " NEWS LOST);
    stays_over(&o);
    owner_done(&o);
}

static void
what_is_too_long_is_a_fault(void **state)
{
    char text[1200];
    struct owner o;

    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text, "data: ", 6);
    text[sizeof(text) - 1] = '\0';
    owner_init(&o);
    stream(&o, PRIMED);
    forget(&o);
    fake_body(last(&o), text);
    hears(&o, " lost(-12,0,0,a message is longer than 1000 bytes, or too deep)");
    assert_int_equal(last(&o)->stopped, MCP_E_LIMIT);
    stays_over(&o); /* it would be as long the next time */
    owner_done(&o);
}

static void
what_cannot_start_has_not_begun(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    o.fetcher.refuse = MCP_E_NOMEM;
    assert_int_equal(mcpi_http_flow_start(o.flow, "POST", NULL, 0, NULL, 0),
                     MCP_E_NOMEM);
    assert_int_equal(mcpi_http_flow_resume(o.flow, "7"), MCP_E_NOMEM);
    assert_int_equal(o.flow->state, MCPI_FLOW_IDLE);
    assert_int_equal(mcpi_timers_next(&o.timers), MCPI_NEVER);
    o.fetcher.refuse = 0;
    post(&o); /* and may be tried again */
    lose(&o);
    hears(&o, " lost(-7,0,1,the line broke)");
    owner_done(&o);
}

static void
events_that_were_no_messages_are_logged_once(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, DATA("no") DATA(NEWS));
    assert_string_equal(o.logged, "");
    fake_end(last(&o));
    assert_string_equal(
        o.logged, "2: events of a stream that were no messages, and passed over: 1\n");
    owner_done(&o);
}

/* ---- what an owner says to a head ------------------------------------------- */

static void
an_owner_may_refuse_a_head(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    o.head_answer = MCP_E_HTTP;
    post(&o);
    fake_head(last(&o), 404, "Content-Type: " JSON);
    hears(&o, " sent head(404) lost(-17,404,0,HTTP 404 Not Found)");
    assert_int_equal(last(&o)->stopped, MCP_E_HTTP);
    owner_done(&o);
    owner_init(&o);
    o.head_answer = MCP_E_CANCELED;
    post(&o);
    fake_stream(last(&o));
    hears(&o, " sent head(200) lost(-4,0,0,canceled)");
    stays_over(&o);
    owner_done(&o);
}

/* ---- owners that free it, or begin it anew ---------------------------------- */

static const struct {
    enum call call;
    const char *heard;
} calls[] = {
    {SENT, " sent"},
    {HEAD, " sent head(200)"},
    {MARK, " sent head(200) mark(7)"},
    {MESSAGE, " sent head(200) mark(7) " ANSWER},
    {EVENT, " sent head(200) mark(7) " ANSWER " event(e)"},
    {ENDED, " sent head(200) mark(7) " ANSWER " event(e) whole"},
};

static void
stream_whole(struct owner *o)
{
    struct fake_fetch *fetch = fake_at(&o->fetcher, 0);

    fake_stream(fetch);
    if (fetch->state == FAKE_OPEN)
        fake_body(fetch, MARKED("7", ANSWER) "event: e\n" DATA("x"));
    if (fetch->state == FAKE_OPEN)
        fake_end(fetch);
}

static void
E12_an_owner_may_free_it_in_any_call(void **state)
{
    struct owner o;

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        owner_init(&o);
        o.flow->resumes = false;
        o.free_in = calls[i].call;
        post(&o);
        stream_whole(&o);
        assert_null(o.flow);
        assert_int_equal(o.fetcher.aborts, calls[i].call != ENDED);
        hears(&o, calls[i].heard);
        owner_done(&o);
    }
}

static void
E12_an_owner_may_free_it_with_its_json(void **state)
{
    static const enum call in[] = {SENT, HEAD, MESSAGE, ENDED};
    static const char *const heard[] = {" sent", " sent head(200)",
                                        " sent head(200) " ANSWER,
                                        " sent head(200) " ANSWER " whole"};
    struct owner o;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        owner_init(&o);
        o.free_in = in[i];
        post(&o);
        fake_answer(last(&o), 200, JSON, ANSWER);
        assert_null(o.flow);
        hears(&o, heard[i]);
        owner_done(&o);
    }
}

static void
E12_an_owner_may_free_it_when_it_could_not_be_resumed(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED);
    lose(&o);
    o.free_in = ENDED;
    o.fetcher.refuse = MCP_E_NOMEM;
    for (int i = 0; i < MCPI_HTTP_RESUMES_MAX; i++) {
        turn(&o);
        pass(&o, 60 * SECOND);
    }
    assert_null(o.flow);
    owner_done(&o);
    owner_init(&o);
    stream(&o, PRIMED);
    lose(&o);
    o.free_in = HEAD;
    fake_stream(resumes_after(&o, SECOND));
    assert_null(o.flow);
    owner_done(&o);
}

static void
an_owner_may_begin_it_anew_in_any_call(void **state)
{
    struct owner o;

    (void)state;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        owner_init(&o);
        o.flow->resumes = false;
        o.renew_in = calls[i].call;
        post(&o);
        stream_whole(&o);
        hears(&o, calls[i].heard);
        assert_int_equal(o.fetcher.count, 2);
        assert_int_equal(o.flow->state, MCPI_FLOW_OPENING);
        fake_answer(last(&o), 200, JSON, ANSWER);
        hears(&o, " sent head(200) " ANSWER " whole");
        stays_over(&o);
        owner_done(&o);
    }
}

/* ---- memory ----------------------------------------------------------------- */

/* Until the next one that is open is there, or nothing will come any more. */
static struct fake_fetch *
next(struct owner *o)
{
    for (int i = 0; i < 20 && o->flow->state == MCPI_FLOW_BROKEN; i++)
        pass(o, 60 * SECOND);
    return o->flow->state == MCPI_FLOW_OVER ? NULL : last(o);
}

static void
resume_with_little_memory(struct test_mem *mem, void *user)
{
    struct fake_fetch *fetch;
    struct owner o;
    int r;

    (void)user;
    owner_init_with(&o, mem);
    r = mcpi_http_flow_start(o.flow, "POST", "A: b", 5, "{}", 2);
    if (r < 0) {
        assert_int_equal(r, MCP_E_NOMEM);
        owner_done(&o);
        return;
    }
    fetch = last(&o);
    fake_stream(fetch);
    fake_body(fetch, MARKED("7", NEWS));
    if (fetch->state == FAKE_OPEN)
        fake_fail(fetch, MCP_E_CLOSED, "the line broke");
    fetch = next(&o);
    if (fetch) {
        fake_stream(fetch);
        fake_body(fetch, "data: ");
        o.flow->resumes = false;
        if (fetch->state == FAKE_OPEN)
            fake_body(fetch, ANSWER "\n\n");
        if (fetch->state == FAKE_OPEN)
            fake_end(fetch);
    }
    assert_int_equal(o.ended, 1);
    stays_over(&o);
    owner_done(&o);
}

static void
without_memory_it_ends_once_and_keeps_nothing(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(resume_with_little_memory, NULL) > 5);
}

static void
a_message_without_memory_is_a_fault_and_not_read_again(void **state)
{
    struct owner o;

    (void)state;
    owner_init(&o);
    stream(&o, PRIMED);
    forget(&o);
    atomic_store(&o.mem->fail_at, atomic_load(&o.mem->total) + 1);
    o.mem->fail_after = true;
    fake_body(last(&o), DATA(NEWS));
    hears(&o, " lost(-1,0,0,out of memory)");
    stays_over(&o);
    owner_done(&o);
}

TEST_MAIN(TEST(a_request_is_sent_as_it_was_given),
          TEST(a_json_answer_is_a_message_and_whole),
          TEST(a_stream_is_its_messages_and_its_end),
          TEST(an_owner_need_not_listen_to_all),
          TEST(D10_accepted_is_whole_without_a_message),
          TEST(D10_an_odd_answer_is_a_fault),
          TEST(an_error_of_http_is_a_fault_unless_it_brings_a_message),
          TEST(a_request_that_fails_has_the_fault_of_its_fetch),
          TEST(D9_json_that_breaks_off_is_lost),
          TEST(D9_a_stream_without_ids_that_breaks_is_lost),
          TEST(what_is_too_long_is_a_fault), TEST(what_cannot_start_has_not_begun),
          TEST(events_that_were_no_messages_are_logged_once),
          TEST(an_owner_may_refuse_a_head), TEST(E12_an_owner_may_free_it_in_any_call),
          TEST(E12_an_owner_may_free_it_with_its_json),
          TEST(E12_an_owner_may_free_it_when_it_could_not_be_resumed),
          TEST(an_owner_may_begin_it_anew_in_any_call),
          TEST(without_memory_it_ends_once_and_keeps_nothing),
          TEST(a_message_without_memory_is_a_fault_and_not_read_again))
