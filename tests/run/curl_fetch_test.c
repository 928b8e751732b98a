/* run/curl_fetch_test.c - one request: what is sent, what is told, how it ends */
#include "run/curl_fixture.h"

#define HEAD_OK "HTTP/1.1 200 OK\r\nContent-Type: text/x\r\n"

/* ---- what is sent ----------------------------------------------------------- */

static void
answer_quickly(struct world *w, struct answer *a, struct visit *v)
{
    visit_accept(v, &w->script);
    visit_read(v);
    visit_answer(v, "200 OK", NULL, "");
    world_until(w, &a->ended, 1);
    assert_false(a->faulty);
    assert_int_equal(a->status, 200);
    assert_string_equal(a->type, "(none)");
}

static void
a_get_has_no_body_and_no_type(void **state)
{
    struct answer a = {.w = NULL};
    struct world w;
    struct visit v;

    (void)state;
    world_open(&w);
    answer_get(&a, &w);
    answer_quickly(&w, &a, &v);
    assert_true(visit_asks(&v, "GET /mcp"));
    assert_null(visit_field(&v, "Content-Type"));
    assert_null(visit_field(&v, "Content-Length"));
    assert_string_equal(visit_field(&v, "X-Test"), "yes");
    visit_close(&v);
    world_close(&w);
}

static void
any_method_can_be_asked_for(void **state)
{
    struct answer a = {.w = NULL};
    struct world w;
    struct visit v;

    (void)state;
    world_open(&w);
    answer_start_as(&a, &w, fetch_options("DELETE", w.script.url, NULL));
    answer_quickly(&w, &a, &v);
    assert_true(visit_asks(&v, "DELETE /mcp"));
    assert_null(visit_field(&v, "Content-Length"));
    visit_close(&v);
    world_close(&w);
}

static void
a_post_without_a_body_has_length_0_and_no_type(void **state)
{
    struct answer a = {.w = NULL};
    struct mcpi_fetch_options opt;
    struct world w;
    struct visit v;

    (void)state;
    world_open(&w);
    opt = fetch_options("POST", w.script.url, NULL);
    opt.fields = NULL;
    opt.fields_len = 0;
    answer_start_as(&a, &w, opt);
    answer_quickly(&w, &a, &v);
    assert_string_equal(visit_field(&v, "Content-Length"), "0");
    assert_null(visit_field(&v, "Content-Type"));
    visit_close(&v);
    world_close(&w);
}

static void
a_field_without_a_value_is_sent(void **state)
{
    static const char fields[] = "X-Empty: \0X-Full: 1";
    struct answer a = {.w = NULL};
    struct mcpi_fetch_options opt;
    struct world w;
    struct visit v;

    (void)state;
    world_open(&w);
    opt = fetch_options("POST", w.script.url, "{}");
    opt.fields = fields;
    opt.fields_len = sizeof(fields);
    answer_start_as(&a, &w, opt);
    answer_quickly(&w, &a, &v);
    assert_string_equal(visit_field(&v, "X-Empty"), "");
    assert_string_equal(visit_field(&v, "X-Full"), "1");
    visit_close(&v);
    world_close(&w);
}

static void
what_is_sent_was_copied(void **state)
{
    char url[64], fields[16] = "X-Mine: 1", body[] = "{}";
    struct answer a = {.w = NULL};
    struct mcpi_fetch_options opt;
    struct world w;
    struct visit v;

    (void)state;
    world_open(&w);
    (void)snprintf(url, sizeof(url), "%s", w.script.url);
    opt = fetch_options("POST", url, body);
    opt.fields = fields;
    opt.fields_len = strlen(fields) + 1;
    answer_start_as(&a, &w, opt);
    memset(url, 'x', sizeof(url));
    memset(fields, 'x', sizeof(fields));
    memset(body, 'x', sizeof(body));
    answer_quickly(&w, &a, &v);
    assert_string_equal(visit_field(&v, "X-Mine"), "1");
    assert_string_equal(v.body, "{}");
    visit_close(&v);
    world_close(&w);
}

static void
what_is_no_url_of_http_is_refused(void **state)
{
    static const char *const urls[] = {"",         "nonsense",      "localhost:80/x",
                                       "ftp://a/", "file:///etc/x", "http://a b/"};
    struct mcpi_fetch *fetch = NULL;
    struct mcpi_fetch_options opt;
    struct world w;

    (void)state;
    world_open(&w);
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        opt = fetch_options("GET", urls[i], NULL);
        assert_int_equal(mcpi_fetch_start(w.fetcher, &opt, &fetch), MCP_E_INVAL);
    }
    assert_null(fetch);
    world_close(&w);
}

/* ---- how much has left ------------------------------------------------------ */

#define MUCH 40000000

static char *
much(void)
{
    char *body = malloc(MUCH + 1);

    assert_non_null(body);
    memset(body, 'x', MUCH);
    body[MUCH] = '\0';
    return body;
}

static void
B6_a_long_body_is_sending_until_its_last_byte_has_left(void **state)
{
    struct answer a = {.w = NULL};
    char *body = much();
    struct world w;
    struct visit v;

    (void)state;
    world_open(&w);
    answer_post(&a, &w, body);
    assert_int_equal(mcpi_fetch_get_phase(a.fetch), MCPI_FETCH_UNSENT);
    visit_accept(&v, &w.script);
    visit_read_head(&v);
    world_step(&w, 20);
    assert_int_equal(mcpi_fetch_get_phase(a.fetch), MCPI_FETCH_SENDING);
    assert_int_equal(a.sent, 0);
    visit_read_bytes(&v, MUCH);
    world_until(&w, &a.sent, 1);
    assert_int_equal(mcpi_fetch_get_phase(a.fetch), MCPI_FETCH_SENT);
    visit_answer(&v, "202 Accepted", NULL, "");
    world_until(&w, &a.ended, 1);
    assert_false(a.faulty);
    assert_int_equal(a.sent, 1);
    free(body);
    visit_close(&v);
    world_close(&w);
}

static void
an_answer_that_comes_too_early_is_one(void **state)
{
    struct answer a = {.w = NULL};
    char *body = much();
    struct world w;
    struct visit v;

    (void)state;
    world_open(&w);
    answer_post(&a, &w, body);
    visit_accept(&v, &w.script);
    visit_read_head(&v);
    visit_answer(&v, "413 Too Large", "text/plain", "no");
    world_until(&w, &a.ended, 1);
    assert_false(a.faulty);
    assert_int_equal(a.status, 413);
    assert_string_equal(a.body, "no");
    assert_int_equal(a.sent, 1);
    assert_int_equal(a.phase_at_head, MCPI_FETCH_SENT);
    visit_await_gone(&v);
    free(body);
    visit_close(&v);
    world_close(&w);
}

/* ---- heads ------------------------------------------------------------------ */

static void
the_head_is_the_last_one(void **state)
{
    struct asked c;

    (void)state;
    asked_open(&c);
    visit_say(&c.v, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX-Extra: early"
                    "\r\n\r\nHTTP/1.1 201 Made\r\nContent-Length: 2\r\n\r\nok");
    asked_end(&c, 0);
    assert_int_equal(c.a.heads, 1);
    assert_int_equal(c.a.status, 201);
    assert_string_equal(c.a.extra, "(none)");
    assert_string_equal(c.a.body, "ok");
    asked_close(&c);
}

static void
trailers_are_not_told(void **state)
{
    struct asked c;

    (void)state;
    asked_open(&c);
    visit_say(&c.v, HEAD_OK "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
                            "X-Extra: late\r\n\r\n");
    asked_end(&c, 0);
    assert_int_equal(c.a.heads, 1);
    assert_string_equal(c.a.body, "ok");
    asked_close(&c);
}

static void
pieces_come_as_they_are_sent(void **state)
{
    struct asked c;

    (void)state;
    asked_open(&c);
    visit_begin_chunks(&c.v, "200 OK", "text/event-stream");
    world_until(&c.w, &c.a.heads, 1);
    assert_string_equal(c.a.type, "text/event-stream");
    assert_int_equal(c.a.bodies, 0);
    visit_chunk(&c.v, "data: a\n");
    world_until(&c.w, &c.a.bodies, 1);
    assert_string_equal(c.a.body, "data: a\n");
    visit_say(&c.v, "2\r\n\n");
    world_until(&c.w, &c.a.bodies, 2);
    assert_string_equal(c.a.body, "data: a\n\n");
    visit_say(&c.v, "\n\r\n0\r\n\r\n");
    asked_end(&c, 0);
    assert_string_equal(c.a.body, "data: a\n\n\n");
    asked_close(&c);
}

static void
a_body_without_a_length_ends_with_its_connection(void **state)
{
    struct asked c;

    (void)state;
    asked_open(&c);
    visit_say(&c.v, HEAD_OK "\r\nhello");
    world_until(&c.w, &c.a.bodies, 1);
    assert_int_equal(c.a.ended, 0);
    visit_close(&c.v);
    asked_end(&c, 0);
    assert_string_equal(c.a.body, "hello");
    asked_close(&c);
}

static void
every_byte_alone_makes_the_same_answer(void **state)
{
    static const char answer[] =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-Extra: 1\r\n"
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
    struct asked c;

    (void)state;
    asked_open(&c);
    for (size_t i = 0; answer[i]; i++) {
        visit_send(&c.v, answer + i, 1);
        world_step(&c.w, 1);
    }
    asked_end(&c, 0);
    assert_int_equal(c.a.heads, 1);
    assert_string_equal(c.a.body, "abcde");
    asked_close(&c);
}

/* ---- who refuses ------------------------------------------------------------ */

static void
a_head_that_is_refused_ends_it(void **state)
{
    struct asked c;

    (void)state;
    asked_open(&c);
    c.a.refuse_head = MCP_E_SYNTAX;
    visit_say(&c.v, HEAD_OK "Content-Length: 2\r\n\r\nok");
    asked_end(&c, MCP_E_SYNTAX);
    assert_int_equal(c.a.bodies, 0);
    visit_await_gone(&c.v);
    asked_close(&c);
}

static void
a_piece_that_is_refused_ends_it(void **state)
{
    struct asked c;

    (void)state;
    asked_open(&c);
    c.a.refuse_body = MCP_E_LIMIT;
    visit_begin_chunks(&c.v, "200 OK", "text/event-stream");
    visit_chunk(&c.v, "too much");
    asked_end(&c, MCP_E_LIMIT);
    assert_int_equal(c.a.bodies, 1);
    visit_await_gone(&c.v);
    asked_close(&c);
}

/* ---- limits ----------------------------------------------------------------- */

static void
a_head_without_an_end_is_cut(void **state)
{
    char line[1000];
    struct asked c;

    (void)state;
    memset(line, 'x', sizeof(line));
    memcpy(line, "X-More: ", 8);
    memcpy(line + sizeof(line) - 2, "\r\n", 2);
    asked_open(&c);
    visit_say(&c.v, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 1000 && c.a.ended == 0; i++) {
        (void)visit_push(&c.v, line, sizeof(line));
        world_step(&c.w, 1);
    }
    asked_end(&c, MCP_E_LIMIT);
    assert_non_null(strstr(c.a.why, "65536"));
    assert_int_equal(c.a.heads, 0);
    visit_await_gone(&c.v);
    asked_close(&c);
}

static void
a_line_without_an_end_is_cut(void **state)
{
    char piece[4096];
    struct asked c;

    (void)state;
    memset(piece, 'x', sizeof(piece));
    asked_open(&c);
    visit_say(&c.v, "HTTP/1.1 200 OK\r\nX-More: ");
    for (int i = 0; i < 1000 && c.a.ended == 0; i++) {
        (void)visit_push(&c.v, piece, sizeof(piece));
        world_step(&c.w, 1);
    }
    asked_end(&c, MCP_E_LIMIT);
    visit_await_gone(&c.v);
    asked_close(&c);
}

static void
provisional_heads_without_an_end_are_cut(void **state)
{
    static const char early[] = "HTTP/1.1 103 Early Hints\r\nX-More: yes\r\n\r\n";
    struct asked c;

    (void)state;
    asked_open(&c);
    for (int i = 0; i < 10000 && c.a.ended == 0; i++) {
        (void)visit_push(&c.v, early, sizeof(early) - 1);
        world_step(&c.w, 1);
    }
    asked_end(&c, MCP_E_LIMIT);
    visit_await_gone(&c.v);
    asked_close(&c);
}

/* ---- silence ---------------------------------------------------------------- */

static int64_t
clock_read(void *user)
{
    return *(int64_t *)user;
}

/* Its time is the test's. */
static void
quiet_open(struct asked *c, int64_t *now, const char *body)
{
    struct mcpi_fetch_options opt;

    memset(&c->a, 0, sizeof(c->a));
    world_open(&c->w);
    mcpi_loop_set_clock(c->w.loop, clock_read, now);
    opt = fetch_options("POST", c->w.script.url, body);
    opt.idle_us = 1000000;
    answer_start_as(&c->a, &c->w, opt);
    visit_accept(&c->v, &c->w.script);
    visit_read_head(&c->v);
}

static void
silence_ends_a_request_only_after_its_time(void **state)
{
    int64_t now = 1000000;
    struct asked c;

    (void)state;
    quiet_open(&c, &now, "{}");
    world_until(&c.w, &c.a.sent, 1);
    now += 999999;
    world_step(&c.w, 2);
    visit_say(&c.v, HEAD_OK "Transfer-Encoding: chunked\r\n\r\n");
    world_until(&c.w, &c.a.heads, 1);
    for (int i = 1; i <= 5; i++) { /* each piece counts */
        now += 999999;
        world_step(&c.w, 2);
        visit_chunk(&c.v, "x");
        world_until(&c.w, &c.a.bodies, i);
    }
    now += 999999;
    world_step(&c.w, 2);
    assert_int_equal(c.a.ended, 0);
    now += 1;
    asked_end(&c, MCP_E_CLOSED);
    assert_string_equal(c.a.why, "nothing came for 1000 ms");
    visit_await_gone(&c.v);
    asked_close(&c);
}

static void
silence_before_a_head_ends_a_request(void **state)
{
    int64_t now = 1000000;
    struct asked c;

    (void)state;
    quiet_open(&c, &now, "{}");
    world_until(&c.w, &c.a.sent, 1);
    now += 1000000;
    asked_end(&c, MCP_E_CLOSED);
    visit_await_gone(&c.v);
    asked_close(&c);
}

static void
a_server_that_does_not_read_is_silent(void **state)
{
    int64_t now = 1000000;
    char *body = much();
    struct asked c;

    (void)state;
    quiet_open(&c, &now, body);
    world_step(&c.w, 100);
    for (int i = 0; i < 5; i++) { /* reading on is no silence */
        now += 999999;
        visit_read_bytes(&c.v, c.v.len + 4000000);
        world_step(&c.w, 100);
    }
    assert_int_equal(c.a.ended, 0);
    for (int i = 0; i < 100 && c.a.ended == 0; i++) { /* something may be on its way */
        now += 1000000;
        world_step(&c.w, 10);
    }
    assert_int_equal(c.a.ended, 1);
    assert_int_equal(c.a.fault.status, MCP_E_CLOSED);
    assert_false(c.a.fault.unsent);
    assert_int_equal(c.a.sent, 0);
    visit_await_gone(&c.v);
    asked_close(&c);
    free(body);
}

static void
a_field_that_comes_twice_is_found_twice(void **state)
{
    struct asked c;

    (void)state;
    asked_open(&c);
    visit_say(&c.v, "HTTP/1.1 103 Early\r\nX-Extra: a\r\nX-Extra: b\r\n\r\n"
                    "HTTP/1.1 200 OK\r\nX-Extra: 1\r\nContent-Length: 0\r\n"
                    "x-extra: 2\r\n\r\n");
    asked_end(&c, 0);
    assert_string_equal(c.a.extra, "1");
    assert_string_equal(c.a.second, "2");
    asked_close(&c);
}

static void
nothing_of_a_request_is_left_in_memory(void **state)
{
    static const char fields[] = "Authorization: Bearer geheim";
    struct mcpi_fetch_options opt;
    struct answer a = {.w = NULL}, b = {.w = NULL};
    struct world w;
    struct visit v;

    (void)state;
    world_open(&w);
    w.mem.secret = "geheim";
    opt = fetch_options("POST", w.script.url, "secret=geheim");
    opt.fields = fields;
    opt.fields_len = sizeof(fields);
    answer_start_as(&a, &w, opt);
    visit_accept(&v, &w.script);
    visit_read(&v);
    assert_string_equal(v.body, "secret=geheim");
    answer_start_as(&b, &w, opt);
    answer_abort(&b);
    visit_answer(&v, "200 OK", NULL, "");
    world_until(&w, &a.ended, 1);
    visit_close(&v);
    world_close(&w);
}

TEST_MAIN(TEST(a_get_has_no_body_and_no_type), TEST(any_method_can_be_asked_for),
          TEST(a_post_without_a_body_has_length_0_and_no_type),
          TEST(a_field_without_a_value_is_sent), TEST(what_is_sent_was_copied),
          TEST(what_is_no_url_of_http_is_refused),
          TEST(B6_a_long_body_is_sending_until_its_last_byte_has_left),
          TEST(an_answer_that_comes_too_early_is_one), TEST(the_head_is_the_last_one),
          TEST(a_field_that_comes_twice_is_found_twice),
          TEST(nothing_of_a_request_is_left_in_memory), TEST(trailers_are_not_told),
          TEST(pieces_come_as_they_are_sent),
          TEST(a_body_without_a_length_ends_with_its_connection),
          TEST(every_byte_alone_makes_the_same_answer),
          TEST(a_head_that_is_refused_ends_it), TEST(a_piece_that_is_refused_ends_it),
          TEST(a_head_without_an_end_is_cut), TEST(a_line_without_an_end_is_cut),
          TEST(provisional_heads_without_an_end_are_cut),
          TEST(silence_ends_a_request_only_after_its_time),
          TEST(silence_before_a_head_ends_a_request),
          TEST(a_server_that_does_not_read_is_silent))
