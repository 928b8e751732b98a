/* shared_test.c - one peer that is many clients: the trouble of one is its own */
#include <string.h>

#include "support/endpoint.h"
#include "wire/broken.h"

enum { SHARED = MCPI_PRIVATE_IDS | MCPI_GONE_CANCELS | MCPI_NO_REQUESTS };

#define LOG "{\"level\":\"info\",\"data\":1}"

/* The peer is well, and serves who comes next. */
static void
check_well(struct endpoint *ep)
{
    struct endpoint_stream *next;
    size_t jobs = ep->job_count;

    assert_int_equal(ep->peer[0]->failing, 0);
    next = endpoint_post(ep, MODERN_CALL("\"next\""));
    assert_int_equal(ep->job_count, jobs + 1);
    endpoint_finish(ep, endpoint_job(ep));
    endpoint_pass(ep, 0);
    assert_int_equal(next->count, 1);
    assert_int_equal(next->codes[0], 0);
    assert_int_equal(next->failed, 0);
    assert_int_equal(ep->closes, 0);
}

/* ---- what cannot be said ------------------------------------------------- */

/* Take with no room at all. */
static void
take_nothing(struct endpoint *ep, struct endpoint_stream *stream)
{
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, &ep->mem.allocator, 8);
    assert_null(mcpi_outlet_take(stream->outlet, &buf, ep->now));
    mcpi_buf_done(&buf);
}

static void
answer_that_cannot_be_written_fails_its_own_stream(void **state)
{
    struct endpoint_stream *post, *other;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    post = endpoint_post(&ep, MODERN_CALL("1"));
    other = endpoint_post(&ep, MODERN_CALL("1"));
    endpoint_finish(&ep, ep.jobs[0]);
    take_nothing(&ep, post);
    assert_int_equal(post->failed, 1);
    assert_int_equal(post->fail_status, MCP_E_LIMIT);
    assert_int_equal(other->failed, 0);
    assert_int_equal(ep.jobs[1]->told, 0);
    check_well(&ep);
    endpoint_close(&ep);
}

static void
code_of_an_answer_is_that_of_what_is_written(void **state)
{
    struct endpoint_stream *post;
    struct mcpi_out *out;
    struct mcpi_buf buf;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    post = endpoint_post(&ep, MODERN_CALL("1"));
    endpoint_finish_long(&ep, ep.jobs[0], 3 * MCPI_FRAME_MAX);
    mcpi_buf_init(&buf, &ep.mem.allocator, MCPI_FRAME_MAX);
    out = mcpi_outlet_take(post->outlet, &buf, ep.now);
    assert_non_null(out);
    assert_int_equal(mcpi_out_get_kind(out), MCPI_OUT_ANSWER);
    assert_int_equal(mcpi_out_code(out), -32603); /* the result did not fit */
    mcpi_out_done(out, 0, ep.now);
    post = endpoint_post(&ep, MODERN_CALL("2"));
    assert_int_equal(mcpi_exchange_notify(ep.jobs[1]->x, "notifications/message", LOG,
                                          strlen(LOG), ep.now),
                     0);
    mcpi_buf_clear(&buf);
    out = mcpi_outlet_take(post->outlet, &buf, ep.now);
    assert_int_equal(mcpi_out_get_kind(out), MCPI_OUT_NOTE);
    assert_int_equal(mcpi_out_code(out), 0);
    mcpi_out_done(out, 0, ep.now);
    mcpi_buf_done(&buf);
    check_well(&ep);
    endpoint_close(&ep);
}

static void
refusal_that_cannot_be_written_fails_its_own_stream(void **state)
{
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    post = endpoint_post(&ep, LEGACY_CALL("1")); /* it is not introduced */
    take_nothing(&ep, post);
    assert_int_equal(post->failed, 1);
    check_well(&ep);
    endpoint_close(&ep);
}

static void
what_a_link_has_read_is_not_read_again(void **state)
{
    static const char text[] = MODERN_CALL("1");
    struct mcpi_arrival arrival = {0};
    struct endpoint_stream *post;
    struct mcpi_rpc rpc;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    post = endpoint_post(&ep, NOTE("notifications/x", "{}")); /* for its outlet */
    arrival.outlet = post->outlet;
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &arrival.take_doc, NULL),
                     0);
    mcpi_rpc_read(mcp_doc_root(arrival.take_doc), &rpc);
    rpc.id = mcpi_id_int(77);
    arrival.rpc = &rpc;
    mcpi_peer_receive(ep.peer[0], &arrival, ep.now);
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_run(&ep);
    assert_non_null(strstr(post->sent[0], "\"id\":77"));
    endpoint_close(&ep);
}

static void
request_that_cannot_even_be_refused_fails_its_own_stream(void **state)
{
    static const char text[] = MODERN_CALL("1");
    struct mcpi_arrival arrival = {0};
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    post = endpoint_post(&ep, NOTE("notifications/x", "{}")); /* for its outlet */
    arrival.outlet = post->outlet;
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &arrival.take_doc, NULL),
                     0);
    ep.mem.fail_at = ep.mem.total + 1;
    ep.mem.fail_after = true;
    mcpi_peer_receive(ep.peer[0], &arrival, ep.now);
    ep.mem.fail_at = 0;
    ep.mem.fail_after = false;
    assert_int_equal(post->failed, 1);
    assert_int_equal(post->fail_status, MCP_E_NOMEM);
    assert_int_equal(ep.job_count, 0);
    check_well(&ep);
    endpoint_close(&ep);
}

static void
stream_is_failed_once(void **state)
{
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    take_nothing(&ep, post);
    mcpi_outlet_fail(post->outlet, MCP_E_NOMEM, "again");
    assert_int_equal(post->failed, 1);
    mcpi_outlet_kill(post->outlet);
    mcpi_outlet_fail(post->outlet, MCP_E_NOMEM, "again");
    assert_int_equal(post->failed, 1);
    endpoint_close(&ep);
}

static void
what_clients_do_is_a_warning_once(void **state)
{
    struct endpoint ep;
    const char *first;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    for (int i = 0; i < 3; i++)
        take_nothing(&ep, endpoint_post(&ep, LEGACY_CALL("1")));
    first = strstr(ep.log, "giving a response up");
    assert_non_null(first);
    assert_null(strstr(first + 1, "giving a response up"));
    endpoint_close(&ep);
}

static void
link_that_cannot_fail_one_stream_is_given_up(void **state)
{
    struct endpoint_options opt = {.traits = SHARED, .bare = true};
    struct endpoint ep;

    (void)state;
    endpoint_open_with(&ep, &opt);
    take_nothing(&ep, endpoint_post(&ep, LEGACY_CALL("1")));
    assert_int_equal(ep.peer[0]->failing, MCP_E_LIMIT);
    endpoint_pass(&ep, 0);
    assert_int_equal(ep.closes, 1);
    assert_int_equal(ep.how, MCPI_CLOSE_NOW);
    endpoint_close(&ep);
}

static void
what_is_nobodys_outlet_keeps_nothing(void **state)
{
    struct mcpi_arrival arrival = {0};
    static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}";
    struct endpoint ep;
    struct mcpi_rpc rpc;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &arrival.take_doc, NULL),
                     0);
    mcpi_peer_receive(ep.peer[0], &arrival, ep.now); /* without an outlet */
    mcpi_broken_read(NULL, "x", 1, -32700, "nonsense", &rpc);
    mcpi_peer_receive(ep.peer[0], &(struct mcpi_arrival){.rpc = &rpc}, ep.now);
    assert_true(mcpi_outlet_is_empty(mcpi_peer_outlet(ep.peer[0])));
    assert_int_equal(ep.peer[0]->answer_bytes, 0);
    check_well(&ep);
    endpoint_close(&ep);
}

/* ---- who does not read --------------------------------------------------- */

static void
C7_answers_that_are_not_read_cost_the_streams_that_come_too_late(void **state)
{
    enum { LONG = 4096 };
    struct endpoint_options opt = {.traits = SHARED, .limits = {.held_bytes = LONG}};
    struct endpoint_stream *slow, *late;
    struct endpoint ep;

    (void)state;
    endpoint_open_with(&ep, &opt);
    slow = endpoint_post(&ep, MODERN_CALL("1"));
    late = endpoint_post(&ep, MODERN_CALL("2"));
    endpoint_finish_long(&ep, ep.jobs[0], 2 * LONG);
    assert_false(mcpi_peer_has_room(ep.peer[0]));
    assert_int_equal(slow->failed, 0); /* one answer is always let in */
    endpoint_finish_long(&ep, ep.jobs[1], LONG);
    assert_int_equal(late->failed, 1);
    assert_int_equal(late->fail_status, MCP_E_LIMIT);
    assert_int_equal(slow->failed, 0);
    assert_int_equal(ep.peer[0]->failing, 0);
    endpoint_leave(&ep, late); /* as the link does, later */
    endpoint_run(&ep);         /* the slow one reads at last */
    assert_int_equal(slow->count, 1);
    assert_int_equal(slow->codes[0], 0);
    assert_true(mcpi_peer_has_room(ep.peer[0]));
    assert_int_equal(ep.peer[0]->answer_bytes, 0);
    check_well(&ep);
    endpoint_close(&ep);
}

static void
C7_refusals_that_are_not_read_cost_the_streams_that_come_too_late(void **state)
{
    struct endpoint_options opt = {.traits = SHARED, .limits = {.held_bytes = 4096}};
    struct endpoint_stream *stream;
    struct endpoint ep;
    int failed = 0, served = 0;

    (void)state;
    endpoint_open_with(&ep, &opt);
    for (int i = 0; i < 200; i++) {
        stream = endpoint_post(&ep, LEGACY_CALL("1"));
        failed += stream->failed;
        served += !stream->failed;
    }
    assert_true(served > 10);
    assert_true(failed > 10);
    assert_int_equal(ep.peer[0]->failing, 0);
    for (size_t i = 0; i < ep.stream_count; i++)
        endpoint_leave(&ep, ep.streams[i]);
    assert_int_equal(ep.peer[0]->answer_bytes, 0);
    check_well(&ep);
    endpoint_close(&ep);
}

/* ---- every allocation fails once ----------------------------------------- */

/* One POST on a peer that serves others. It ends answered, refused or failed, and never
 * otherwise. */
static void
post_once(struct endpoint *ep, const char *text, long at)
{
    struct mcpi_arrival arrival = {.principal = "somebody", .scope = "some"};
    struct endpoint_stream *stream;
    size_t jobs = ep->job_count;

    stream = endpoint_post(ep, NOTE("notifications/x", "{}"));
    arrival.outlet = stream->outlet;
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &arrival.take_doc, NULL),
                     0);
    ep->mem.fail_at = ep->mem.total + at;
    mcpi_peer_receive(ep->peer[0], &arrival, ep->now);
    if (ep->job_count > jobs)
        endpoint_finish_long(ep, endpoint_job(ep), 100);
    ep->mem.fail_at = 0;
    endpoint_pass(ep, 0);
    assert_true(stream->count == 1 || stream->failed == 1);
    assert_int_equal(ep->peer[0]->failing, 0);
}

static void
each_allocation_that_fails_costs_one_post_at_the_most(void **state)
{
    static const char *const texts[] = {
        MODERN_CALL("1"), LEGACY_CALL("1"), MODERN_DISCOVER("1"),
        REQUEST("1", "no/such", "{" STAMP "}"), INITIALIZE("1", "2025-11-25")};
    struct endpoint_stream *waits;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SHARED | MCPI_STATELESS, NULL);
    waits = endpoint_post(&ep, MODERN_CALL("\"waits\""));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        for (long at = 1; at <= 12; at++)
            post_once(&ep, texts[i], at);
    assert_int_equal(ep.jobs[0]->told, 0);
    endpoint_finish(&ep, ep.jobs[0]);
    endpoint_run(&ep);
    assert_int_equal(waits->count, 1);
    check_well(&ep);
    endpoint_close(&ep);
}

/* ---- many ------------------------------------------------------------------ */

static void
F33_all_of_ten_thousand_leave_at_once_and_nothing_is_left(void **state)
{
    struct endpoint ep;
    long live;

    (void)state;
    endpoint_open(&ep, SHARED, NULL);
    endpoint_leave(&ep, endpoint_post(&ep, MODERN_CALL("1")));
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_forget(&ep);
    live = ep.mem.live;
    for (int i = 0; i < 10000; i++)
        endpoint_post(&ep, MODERN_CALL("1"));
    for (size_t i = 0; i < ep.stream_count; i++)
        endpoint_leave(&ep, ep.streams[i]);
    assert_int_equal(ep.engine->counts.exchanges, 0);
    assert_int_equal(ep.engine->counts.held, 10000);
    for (size_t i = 0; i < ep.job_count; i++)
        endpoint_finish(&ep, ep.jobs[i]);
    endpoint_forget(&ep);
    assert_int_equal(ep.engine->counts.held, 0);
    assert_int_equal(ep.mem.live, live);
    assert_int_equal(ep.peer[0]->request_bytes, 0);
    assert_true(mcpi_peer_is_idle(ep.peer[0]));
    endpoint_close(&ep);
}

TEST_MAIN(TEST(answer_that_cannot_be_written_fails_its_own_stream),
          TEST(code_of_an_answer_is_that_of_what_is_written),
          TEST(refusal_that_cannot_be_written_fails_its_own_stream),
          TEST(request_that_cannot_even_be_refused_fails_its_own_stream),
          TEST(stream_is_failed_once), TEST(what_clients_do_is_a_warning_once),
          TEST(link_that_cannot_fail_one_stream_is_given_up),
          TEST(what_is_nobodys_outlet_keeps_nothing),
          TEST(what_a_link_has_read_is_not_read_again),
          TEST(C7_answers_that_are_not_read_cost_the_streams_that_come_too_late),
          TEST(C7_refusals_that_are_not_read_cost_the_streams_that_come_too_late),
          TEST(each_allocation_that_fails_costs_one_post_at_the_most),
          TEST(F33_all_of_ten_thousand_leave_at_once_and_nothing_is_left))
