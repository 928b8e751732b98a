/* run/curl_test.c - many requests, their connections, and who does what from where */
#include "run/curl_fixture.h"

#include <dirent.h>

static void
a_post_and_its_answer(void **state)
{
    struct answer a = {.w = NULL};
    struct world w;
    struct visit v;

    (void)state;
    world_open(&w);
    answer_post(&a, &w, "{\"hello\":1}");
    assert_int_equal(mcpi_fetch_get_phase(a.fetch), MCPI_FETCH_UNSENT);
    visit_accept(&v, &w.script);
    visit_read(&v);
    assert_true(visit_asks(&v, "POST /mcp"));
    assert_string_equal(v.body, "{\"hello\":1}");
    assert_string_equal(visit_field(&v, "content-type"), "application/json");
    assert_string_equal(visit_field(&v, "x-test"), "yes");
    assert_null(visit_field(&v, "expect"));
    assert_null(visit_field(&v, "accept-encoding"));
    world_until(&w, &a.sent, 1);
    assert_int_equal(mcpi_fetch_get_phase(a.fetch), MCPI_FETCH_SENT);
    assert_int_equal(a.heads, 0);
    visit_say(&v, "HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nX-Extra: one\r\n"
                  "X-Extra: two\r\nContent-Length: 5\r\n\r\n");
    world_until(&w, &a.heads, 1);
    assert_int_equal(a.status, 200);
    assert_string_equal(a.type, "text/x");
    assert_string_equal(a.extra, "one");
    visit_say(&v, "hello");
    world_until(&w, &a.ended, 1);
    assert_string_equal(a.body, "hello");
    assert_false(a.faulty);
    assert_int_equal(a.sent, 1);
    visit_close(&v);
    world_close(&w);
}

/* ---- order ------------------------------------------------------------------ */

struct stop {
    struct mcpi_post post;
    struct answer *answer;
};

static struct stop stop;

static void
stop_run(struct mcpi_post *post)
{
    struct stop *self = MCPI_CONTAINER(post, struct stop, post);

    mcpi_fetch_abort(self->answer->fetch);
}

static void
stop_the_other(struct answer *a, char at)
{
    if (at != 'h')
        return;
    stop = (struct stop){.post = {.fn = stop_run}, .answer = a->other};
    mcpi_loop_post(a->w->loop, &stop.post);
}

/* Whoever asked for the end before an answer was read does not get it any more. */
static void
F10_what_was_posted_first_comes_first(void **state)
{
    struct answer a[2] = {{.then = stop_the_other, .other = &a[1]},
                          {.then = stop_the_other, .other = &a[0]}};
    struct visit v[2];
    struct world w;

    (void)state;
    world_open(&w);
    for (int i = 0; i < 2; i++) {
        answer_post(&a[i], &w, "{}");
        visit_accept(&v[i], &w.script);
        visit_read(&v[i]);
    }
    for (int i = 0; i < 2; i++)
        visit_say(&v[i], "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    while (a[0].ended + a[1].ended == 0)
        assert_int_equal(mcpi_loop_step(w.loop), 0);
    assert_int_equal(a[0].heads + a[1].heads, 1);
    assert_int_equal(a[0].ended + a[1].ended, 1);
    for (int i = 0; i < 2; i++)
        visit_close(&v[i]);
    world_close(&w);
}

/* ---- connections ------------------------------------------------------------ */

/* A request over a connection that the script has, or over a new one. */
static void
exchange(struct world *w, struct visit *v)
{
    struct answer a = {.w = NULL};

    answer_post(&a, w, "{}");
    if (v->fd < 0)
        visit_accept(v, &w->script);
    visit_read(v);
    visit_answer(v, "200 OK", "text/x", "done");
    world_until(w, &a.ended, 1);
    assert_false(a.faulty);
    assert_string_equal(a.body, "done");
}

static void
a_connection_is_used_again(void **state)
{
    struct visit v = {.fd = -1};
    struct world w;

    (void)state;
    world_open(&w);
    for (int i = 0; i < 10; i++)
        exchange(&w, &v);
    assert_false(http_script_is_visited(&w.script, 0));
    visit_close(&v);
    world_close(&w);
}

static void
one_that_the_server_has_closed_is_not(void **state)
{
    struct visit v = {.fd = -1};
    struct world w;

    (void)state;
    world_open(&w);
    for (int i = 0; i < 5; i++) {
        exchange(&w, &v);
        visit_close(&v);
        world_step(&w, 3);
    }
    for (int i = 0; i < 5; i++) {
        exchange(&w, &v);
        visit_reset(&v);
        world_step(&w, 3);
    }
    world_close(&w);
}

enum { STREAMS = 40 };

static void
open_streams_leave_room_for_connections_that_are_kept(void **state)
{
    struct mcpi_curl_options opt = {.idle_connections = 2};
    struct answer streams[STREAMS];
    struct visit visits[STREAMS], v = {.fd = -1};
    struct world w;

    (void)state;
    memset(streams, 0, sizeof(streams));
    world_open_as(&w, opt, NULL);
    for (int i = 0; i < STREAMS; i++) {
        answer_post(&streams[i], &w, "{}");
        visit_accept(&visits[i], &w.script);
        visit_read(&visits[i]);
        visit_begin_chunks(&visits[i], "200 OK", "text/event-stream");
        world_until(&w, &streams[i].heads, 1);
    }
    for (int i = 0; i < 5; i++)
        exchange(&w, &v);
    assert_false(http_script_is_visited(&w.script, 0));
    for (int i = 0; i < STREAMS; i++) {
        visit_chunk(&visits[i], "");
        world_until(&w, &streams[i].ended, 1);
        assert_false(streams[i].faulty);
    }
    for (int i = 0; i < STREAMS; i++)
        visit_close(&visits[i]);
    visit_close(&v);
    world_close(&w);
}

static void
only_so_many_idle_connections_are_kept(void **state)
{
    struct mcpi_curl_options opt = {.idle_connections = 2};
    struct answer streams[6];
    struct visit visits[6];
    struct world w;
    int kept = 0;

    (void)state;
    memset(streams, 0, sizeof(streams));
    world_open_as(&w, opt, NULL);
    for (int i = 0; i < 6; i++) {
        answer_post(&streams[i], &w, "{}");
        visit_accept(&visits[i], &w.script);
        visit_read(&visits[i]);
    }
    for (int i = 0; i < 6; i++) {
        visit_answer(&visits[i], "200 OK", NULL, "");
        world_until(&w, &streams[i].ended, 1);
    }
    world_step(&w, 5);
    for (int i = 0; i < 6; i++) {
        kept += visit_is_there(&visits[i]);
        visit_close(&visits[i]);
    }
    assert_in_range(kept, 1, 3);
    world_close(&w);
}

static int
count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = -1; /* the folder's own */

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

enum { BURST = 65 };

static void
burst(struct world *w, struct visit *visits)
{
    struct answer answers[BURST];

    memset(answers, 0, sizeof(answers));
    for (int i = 0; i < BURST; i++)
        answer_post(&answers[i], w, "{}");
    for (int i = 0; i < BURST; i++) {
        visit_accept(&visits[i], &w->script);
        visit_read(&visits[i]);
    }
    for (int i = 0; i < BURST; i++)
        visit_answer(&visits[i], "200 OK", NULL, "");
    for (int i = 0; i < BURST; i++)
        world_until(w, &answers[i].ended, 1);
}

static void
until_descriptors(struct world *w, int count)
{
    int64_t until = mcpi_loop_clock() + AWAIT_US;
    struct pollfd one = {.fd = mcpi_loop_fd(w->loop), .events = POLLIN};
    int ms;

    while (count_descriptors() > count) {
        assert_int_equal(mcpi_loop_step(w->loop), 0);
        ms = mcpi_loop_timeout_ms(w->loop);
        (void)poll(&one, 1, ms >= 0 && ms < 1000 ? ms : 1000);
        if (mcpi_loop_clock() > until)
            fail_msg("%d descriptors are left", count_descriptors() - count);
    }
}

/* Also beside one that is open. Nothing more is asked for. */
static void
closed_ones_are_let_go(const struct tls_pair *pair)
{
    const struct mcpi_curl_options opt = {.ca_file = pair ? pair->certificate : NULL};
    struct visit visits[BURST], v;
    struct answer a = {.w = NULL};
    struct world w;
    int before;

    world_open_as(&w, opt, pair);
    before = count_descriptors();
    burst(&w, visits);
    for (int i = 0; i < BURST; i++)
        visit_close(&visits[i]);
    until_descriptors(&w, before);
    world_step(&w, 3);
    assert_int_equal(mcpi_loop_timeout_ms(w.loop), -1); /* there is no more to do */
    answer_post(&a, &w, "{}");
    visit_accept(&v, &w.script);
    visit_read(&v);
    visit_begin_chunks(&v, "200 OK", "text/event-stream");
    world_until(&w, &a.heads, 1);
    before = count_descriptors();
    burst(&w, visits);
    for (int i = 0; i < BURST; i++)
        visit_close(&visits[i]);
    until_descriptors(&w, before);
    visit_chunk(&v, "");
    world_until(&w, &a.ended, 1);
    assert_false(a.faulty);
    visit_close(&v);
    world_close(&w);
}

static void
idle_ones_that_the_server_closes_are_let_go(void **state)
{
    (void)state;
    closed_ones_are_let_go(NULL);
}

static void
idle_ones_with_TLS_that_the_server_closes_are_let_go(void **state)
{
    (void)state;
    closed_ones_are_let_go(tls_pair_shared());
}

static void
many_at_a_time_get_their_own_answers(void **state)
{
    struct answer answers[STREAMS];
    struct visit visits[STREAMS];
    struct world w;
    char text[16];

    (void)state;
    memset(answers, 0, sizeof(answers));
    world_open(&w);
    for (int i = 0; i < STREAMS; i++) {
        (void)snprintf(text, sizeof(text), "%d", i);
        answer_post(&answers[i], &w, text);
    }
    for (int i = 0; i < STREAMS; i++) {
        visit_accept(&visits[i], &w.script);
        visit_read(&visits[i]);
    }
    for (int i = STREAMS - 1; i >= 0; i--)
        visit_answer(&visits[i], "200 OK", NULL, visits[i].body);
    for (int i = 0; i < STREAMS; i++) {
        world_until(&w, &answers[i].ended, 1);
        (void)snprintf(text, sizeof(text), "%d", i);
        assert_string_equal(answers[i].body, text);
        visit_close(&visits[i]);
    }
    world_close(&w);
}

static void
an_open_stream_lets_the_loop_sleep(void **state)
{
    struct answer a = {.w = NULL};
    struct world w;
    struct visit v;
    int64_t until;
    int ms;

    (void)state;
    world_open(&w);
    answer_post(&a, &w, "{}");
    visit_accept(&v, &w.script);
    visit_read(&v);
    visit_begin_chunks(&v, "200 OK", "text/event-stream");
    world_until(&w, &a.heads, 1);
    until = mcpi_loop_clock() + AWAIT_US;
    for (ms = 0; ms >= 0 && ms <= 500;) { /* what it has begun is looked after first */
        assert_true(mcpi_loop_clock() < until);
        (void)poll(NULL, 0, ms);
        world_step(&w, 1);
        ms = mcpi_loop_timeout_ms(w.loop);
    }
    answer_abort(&a);
    visit_await_gone(&v);
    visit_close(&v);
    world_close(&w);
}

/* ---- nothing is sent twice -------------------------------------------------- */

static void
B29_a_post_that_may_have_arrived_is_not_sent_again(void **state)
{
    struct answer a = {.w = NULL};
    struct visit v = {.fd = -1};
    struct world w;

    (void)state;
    world_open(&w);
    exchange(&w, &v);
    answer_post(&a, &w, "{\"once\":1}"); /* on the same connection, */
    visit_read(&v);
    visit_reset(&v); /* which dies before a byte of the answer */
    world_until(&w, &a.ended, 1);
    assert_int_equal(a.fault.status, MCP_E_CLOSED);
    assert_false(a.fault.unsent);
    assert_int_equal(a.sent, 1);
    world_close(&w);
}

static void
B29_nor_if_the_server_closes_in_order(void **state)
{
    struct answer a = {.w = NULL};
    struct visit v = {.fd = -1}, again;
    struct world w;

    (void)state;
    world_open(&w);
    exchange(&w, &v);
    answer_post(&a, &w, "{\"once\":1}");
    visit_read(&v);
    visit_close(&v);
    world_until(&w, &a.ended, 1);
    assert_int_equal(a.fault.status, MCP_E_CLOSED);
    assert_false(a.fault.unsent);
    if (http_script_is_visited(&w.script, 50)) { /* a connection, and nothing on it */
        visit_accept(&again, &w.script);
        world_step(&w, 3);
        mcpi_curl_free(w.fetcher);
        w.fetcher = NULL;
        assert_false(visit_try_read(&again));
        visit_close(&again);
    }
    world_close(&w);
}

static void
a_get_may_be_sent_again(void **state)
{
    struct answer a = {.w = NULL};
    struct visit v = {.fd = -1};
    struct world w;

    (void)state;
    world_open(&w);
    exchange(&w, &v);
    answer_get(&a, &w);
    visit_read(&v);
    visit_close(&v);
    visit_accept(&v, &w.script);
    visit_read(&v);
    assert_true(visit_asks(&v, "GET /mcp"));
    visit_answer(&v, "200 OK", NULL, "");
    world_until(&w, &a.ended, 1);
    assert_false(a.faulty);
    visit_close(&v);
    world_close(&w);
}

/* ---- from inside ------------------------------------------------------------ */

static void
start_other_there(struct answer *a, char at)
{
    if (at == a->where && !a->other->w)
        answer_post(a->other, a->w, "{\"other\":1}");
}

/* where: when the second one is started. */
static void
start_from_inside(struct world *w, char where)
{
    struct answer b = {.w = NULL};
    struct answer a = {.then = start_other_there, .where = where, .other = &b};
    struct visit first, second = {.fd = -1};
    struct visit *v = where == 'e' ? &first : &second; /* a connection is free then */

    answer_post(&a, w, "{}");
    visit_accept(&first, &w->script);
    visit_read(&first);
    visit_say(&first, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n");
    world_until(w, &a.heads, 1);
    visit_say(&first, "do");
    world_until(w, &a.bodies, 1);
    visit_say(&first, "ne");
    world_until(w, &a.ended, 1);
    if (v->fd < 0)
        visit_accept(v, &w->script);
    visit_read(v);
    assert_string_equal(v->body, "{\"other\":1}");
    visit_answer(v, "200 OK", NULL, "");
    world_until(w, &b.ended, 1);
    assert_false(a.faulty || b.faulty);
    visit_close(&first);
    if (second.fd >= 0)
        visit_close(&second);
}

static void
a_request_can_be_started_from_inside(void **state)
{
    struct world w;

    (void)state;
    for (const char *at = "shbe"; *at; at++) {
        world_open(&w);
        start_from_inside(&w, *at);
        world_close(&w);
    }
}

/* ---- its beginning and its end ---------------------------------------------- */

static void
a_fetcher_can_be_freed_while_all_is_under_way(void **state)
{
    struct answer sending = {.w = NULL}, waiting = {.w = NULL}, reading = {.w = NULL};
    struct answer starting = {.w = NULL};
    struct visit first, second;
    struct world w;

    (void)state;
    world_open(&w);
    answer_post(&waiting, &w, "{}");
    visit_accept(&first, &w.script);
    visit_read(&first);
    answer_post(&reading, &w, "{}");
    visit_accept(&second, &w.script);
    visit_read(&second);
    visit_begin_chunks(&second, "200 OK", "text/event-stream");
    world_until(&w, &reading.heads, 1);
    answer_post(&sending, &w, "{}");
    world_step(&w, 2);
    answer_post(&starting, &w, "{}");
    mcpi_curl_free(w.fetcher);
    w.fetcher = NULL;
    visit_await_gone(&first);
    visit_await_gone(&second);
    assert_int_equal(waiting.ended + reading.ended + sending.ended + starting.ended, 0);
    visit_close(&first);
    visit_close(&second);
    world_close(&w);
}

static void
a_loop_can_be_freed_right_after_its_fetcher(void **state)
{
    struct answer a = {.w = NULL};
    struct world w;

    (void)state;
    world_open(&w);
    answer_post(&a, &w, "{}");
    world_step(&w, 2);
    world_close(&w); /* without a step between */
    assert_int_equal(a.ended, 0);
    mcpi_curl_free(NULL);
}

static void
a_file_that_is_none_is_refused(void **state)
{
    struct mcpi_curl_options options[] = {{.ca_file = "/nowhere/ca"},
                                          {.ca_path = "/nowhere"},
                                          {.cert_file = "/nowhere/cert"},
                                          {.key_file = "/nowhere/key"}};
    struct mcpi_fetcher *fetcher;
    struct mcpi_loop *loop;
    mcp_error err;

    (void)state;
    assert_int_equal(mcpi_loop_new(NULL, NULL, &loop), 0);
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        options[i].loop = loop;
        assert_int_equal(mcpi_curl_new(&options[i], &fetcher, &err), MCP_E_INVAL);
        assert_non_null(strstr(err.message, "/nowhere"));
    }
    mcpi_loop_free(loop);
}

/* Whatever fails for want of memory is told, and the next request may succeed. */
static void
exchange_or_fail(struct test_mem *mem, void *user)
{
    struct mcpi_curl_options opt = {.proxy = ""};
    struct answer a = {.w = NULL};
    struct mcpi_fetch_options request;
    struct visit v = {.fd = -1};
    struct world w = {.loop = NULL};

    (void)user;
    if (mcpi_loop_new(&mem->allocator, NULL, &w.loop) < 0)
        return;
    opt.loop = w.loop;
    if (mcpi_curl_new(&opt, &w.fetcher, NULL) == 0) {
        http_script_open(&w.script, NULL, w.loop);
        request = fetch_options("POST", w.script.url, "{}");
        request.user = &a;
        if (mcpi_fetch_start(w.fetcher, &request, &a.fetch) == 0) {
            for (int i = 0; i < 1000 && a.ended == 0 && v.fd < 0; i++)
                if (http_script_is_visited(&w.script, 1))
                    visit_accept(&v, &w.script);
            if (v.fd >= 0) {
                visit_read(&v);
                visit_answer(&v, "200 OK", NULL, "");
            }
            world_until(&w, &a.ended, 1);
            assert_int_equal(a.faulty, v.fd < 0);
            assert_true(!a.faulty || a.fault.status == MCP_E_SEND_FAILED);
            assert_true(!a.faulty || a.fault.unsent);
        }
        if (v.fd >= 0)
            visit_close(&v);
        http_script_close(&w.script);
        mcpi_curl_free(w.fetcher);
    }
    mcpi_loop_free(w.loop);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(exchange_or_fail, NULL) >= 5);
}

TEST_MAIN(TEST(a_post_and_its_answer), TEST(F10_what_was_posted_first_comes_first),
          TEST(a_connection_is_used_again), TEST(one_that_the_server_has_closed_is_not),
          TEST(open_streams_leave_room_for_connections_that_are_kept),
          TEST(only_so_many_idle_connections_are_kept),
          TEST(idle_ones_that_the_server_closes_are_let_go),
          TEST(idle_ones_with_TLS_that_the_server_closes_are_let_go),
          TEST(many_at_a_time_get_their_own_answers),
          TEST(an_open_stream_lets_the_loop_sleep),
          TEST(B29_a_post_that_may_have_arrived_is_not_sent_again),
          TEST(B29_nor_if_the_server_closes_in_order), TEST(a_get_may_be_sent_again),
          TEST(a_request_can_be_started_from_inside),
          TEST(a_fetcher_can_be_freed_while_all_is_under_way),
          TEST(a_loop_can_be_freed_right_after_its_fetcher),
          TEST(a_file_that_is_none_is_refused), TEST(each_allocation_may_fail))
