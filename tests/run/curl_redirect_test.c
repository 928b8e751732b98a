/* run/curl_redirect_test.c - a request that is sent on */
#include "run/curl_fixture.h"

static void
redirect_to(struct visit *v, const char *status, const char *location)
{
    char text[512];

    (void)snprintf(text, sizeof(text),
                   "HTTP/1.1 %s\r\nLocation: %s\r\nContent-Length: 5\r\n\r\nmoved",
                   status, location);
    visit_say(v, text);
}

static void
a_redirect_keeps_method_fields_and_body(void **state)
{
    static const char *const statuses[] = {"301 A", "302 B", "307 C", "308 D"};
    struct asked c;

    (void)state;
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        asked_open(&c);
        redirect_to(&c.v, statuses[i], "../other?x=y");
        visit_read(&c.v); /* on the same connection */
        assert_true(visit_asks(&c.v, "POST /other?x=y"));
        assert_string_equal(visit_field(&c.v, "Content-Type"), "application/json");
        assert_string_equal(visit_field(&c.v, "X-Test"), "yes");
        assert_string_equal(c.v.body, "{}");
        assert_int_equal(c.a.heads, 0);
        visit_answer(&c.v, "200 OK", "text/x", "there");
        world_until(&c.w, &c.a.ended, 1);
        assert_false(c.a.faulty);
        assert_int_equal(c.a.heads, 1);
        assert_string_equal(c.a.body, "there");
        assert_int_equal(c.a.sent, 2); /* once for each */
        assert_int_equal(c.a.redirects, 1);
        assert_int_equal(c.a.redirect_status, strtol(statuses[i], NULL, 10));
        assert_non_null(strstr(c.a.redirect_url, "/other?x=y"));
        asked_close(&c);
    }
}

static void
a_redirect_that_is_not_followed_names_its_target(void **state)
{
    static const struct {
        const char *status, *location, *why;
    } cases[] = {
        {"303 See", "/x", "/x"},
        {"307 T", "http://127.0.0.2:1/x", "http://127.0.0.2:1/x"},
        {"307 T", "https://127.0.0.1/x", "https://127.0.0.1/x"},
        {"307 T", "//elsewhere/x", "http://elsewhere/x"},
        {"307 T", "ftp://127.0.0.1/x", "ftp://127.0.0.1/x"},
        {"307 T", "file:///etc/passwd", "file:///etc/passwd"},
    };
    struct asked c;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        asked_open(&c);
        redirect_to(&c.v, cases[i].status, cases[i].location);
        asked_end(&c, MCP_E_PROTO);
        assert_int_equal(c.a.heads, 0);
        assert_int_equal(c.a.redirects, 0);
        assert_non_null(strstr(c.a.why, cases[i].why));
        asked_close(&c);
    }
}

static void
redirects_have_a_limit(void **state)
{
    struct asked c;

    (void)state;
    asked_open(&c);
    for (int i = 0; i < MCPI_CURL_REDIRECTS_MAX; i++) {
        redirect_to(&c.v, "307 T", "/again");
        visit_read(&c.v);
    }
    redirect_to(&c.v, "307 T", "/again");
    world_until(&c.w, &c.a.ended, 1);
    assert_int_equal(c.a.fault.status, MCP_E_PROTO);
    assert_non_null(strstr(c.a.why, "/again"));
    assert_int_equal(c.a.redirects, MCPI_CURL_REDIRECTS_MAX);
    asked_close(&c);
}

static void
a_redirect_without_a_target_is_an_answer(void **state)
{
    struct asked c;

    (void)state;
    asked_open(&c);
    visit_answer(&c.v, "302 Found", NULL, "");
    asked_end(&c, 0);
    assert_int_equal(c.a.status, 302);
    asked_close(&c);
}

static void
another_origin_does_not_get_the_secrets(void **state)
{
    static const char fields[] = "authorization: Bearer x\0Cookie: c\0"
                                 "MCP-Session-ID: s\0DPoP: p\0X-Other: o";
    struct mcpi_curl_options opt = {.follow_any = true};
    struct mcpi_fetch_options request;
    struct answer a = {.w = NULL};
    struct http_script other;
    struct visit v, there;
    struct world w;

    (void)state;
    world_open_as(&w, opt, NULL);
    http_script_open(&other, NULL, w.loop);
    request = fetch_options("POST", w.script.url, "{}");
    request.fields = fields;
    request.fields_len = sizeof(fields);
    answer_start_as(&a, &w, request);
    visit_accept(&v, &w.script);
    visit_read(&v);
    assert_string_equal(visit_field(&v, "Authorization"), "Bearer x");
    assert_string_equal(visit_field(&v, "Cookie"), "c");
    assert_string_equal(visit_field(&v, "Mcp-Session-Id"), "s");
    assert_string_equal(visit_field(&v, "DPoP"), "p");
    redirect_to(&v, "307 T", other.url);
    visit_accept(&there, &other);
    visit_read(&there);
    assert_null(visit_field(&there, "Authorization"));
    assert_null(visit_field(&there, "Cookie"));
    assert_null(visit_field(&there, "Mcp-Session-Id"));
    assert_null(visit_field(&there, "DPoP"));
    assert_string_equal(visit_field(&there, "X-Other"), "o");
    assert_string_equal(there.body, "{}");
    redirect_to(&there, "307 T", w.script.url); /* nor does the first one any more */
    visit_read(&v);
    assert_null(visit_field(&v, "Authorization"));
    visit_answer(&v, "200 OK", NULL, "");
    world_until(&w, &a.ended, 1);
    assert_false(a.faulty);
    visit_close(&v);
    visit_close(&there);
    http_script_close(&other);
    world_close(&w);
}

static void
the_body_of_a_redirect_may_have_no_end(void **state)
{
    char piece[4096];
    struct visit again;
    struct asked c;

    (void)state;
    memset(piece, 'x', sizeof(piece));
    asked_open(&c);
    visit_say(&c.v, "HTTP/1.1 307 T\r\nLocation: /other\r\n\r\n");
    for (int i = 0; i < 10000 && visit_is_there(&c.v); i++) {
        (void)visit_push(&c.v, piece, sizeof(piece));
        world_step(&c.w, 1);
    }
    visit_await_gone(&c.v);
    visit_accept(&again, &c.w.script);
    visit_read(&again);
    assert_true(visit_asks(&again, "POST /other"));
    visit_answer(&again, "200 OK", NULL, "");
    world_until(&c.w, &c.a.ended, 1);
    assert_false(c.a.faulty);
    visit_close(&again);
    asked_close(&c);
}

static void
B5_a_redirect_to_nobody_was_not_unsent(void **state)
{
    struct mcpi_curl_options opt = {.follow_any = true};
    struct answer a = {.w = NULL};
    struct http_script other;
    struct world w;
    struct visit v;

    (void)state;
    world_open_as(&w, opt, NULL);
    http_script_open(&other, NULL, NULL);
    http_script_close(&other); /* nobody listens there any more */
    answer_post(&a, &w, "{}");
    visit_accept(&v, &w.script);
    visit_read(&v);
    redirect_to(&v, "307 T", other.url);
    world_until(&w, &a.ended, 1);
    assert_int_equal(a.fault.status, MCP_E_SEND_FAILED);
    assert_false(a.fault.unsent);
    visit_close(&v);
    world_close(&w);
}

static void
for_who_stays_a_redirect_is_an_answer(void **state)
{
    static const char *const cases[][2] = {{"302 Found", "/x"},
                                           {"303 See", "/x"},
                                           {"307 T", "http://elsewhere.invalid/x"},
                                           {"308 P", "file:///etc/passwd"}};
    struct mcpi_fetch_options opt;
    struct visit v;
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answer a = {.w = NULL};

        world_open(&w);
        opt = fetch_options("POST", w.script.url, "{}");
        opt.stays = true;
        answer_start_as(&a, &w, opt);
        visit_accept(&v, &w.script);
        visit_read(&v);
        redirect_to(&v, cases[i][0], cases[i][1]);
        world_until(&w, &a.ended, 1);
        assert_false(a.faulty);
        assert_int_equal(a.status, atoi(cases[i][0]));
        assert_string_equal(a.body, "moved");
        assert_int_equal(a.sent, 1);
        visit_close(&v);
        world_close(&w);
    }
}

static void
who_wants_to_be_within_is_not_sent_to_another_origin(void **state)
{
    static const char *const targets[] = {"http://127.0.0.2:1/x", "https://127.0.0.1/x",
                                          "//elsewhere.invalid/x"};
    struct mcpi_fetch_options opt;
    struct visit v;
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        struct answer a = {.w = NULL};

        world_open_as(&w, (struct mcpi_curl_options){.follow_any = true}, NULL);
        opt = fetch_options("GET", w.script.url, NULL);
        opt.within = true;
        answer_start_as(&a, &w, opt);
        visit_accept(&v, &w.script);
        visit_read(&v);
        redirect_to(&v, "307 T", "/here");
        visit_read(&v); /* that is followed */
        assert_true(visit_asks(&v, "GET /here"));
        redirect_to(&v, "307 T", targets[i]);
        world_until(&w, &a.ended, 1);
        assert_int_equal(a.fault.status, MCP_E_PROTO);
        assert_non_null(strstr(a.why, "another origin"));
        visit_close(&v);
        world_close(&w);
    }
}

static void
what_a_redirect_asks_for_is_not_told(void **state)
{
    struct asked c;

    (void)state;
    asked_open(&c);
    redirect_to(&c.v, "307 T", "http://127.0.0.2:1/x?code=geheim#geheim");
    asked_end(&c, MCP_E_PROTO);
    assert_non_null(strstr(c.a.why, "http://127.0.0.2:1/x"));
    assert_null(strstr(c.a.why, "geheim"));
    asked_close(&c);
}

TEST_MAIN(TEST(a_redirect_keeps_method_fields_and_body),
          TEST(a_redirect_that_is_not_followed_names_its_target),
          TEST(redirects_have_a_limit), TEST(a_redirect_without_a_target_is_an_answer),
          TEST(another_origin_does_not_get_the_secrets),
          TEST(the_body_of_a_redirect_may_have_no_end),
          TEST(for_who_stays_a_redirect_is_an_answer),
          TEST(who_wants_to_be_within_is_not_sent_to_another_origin),
          TEST(what_a_redirect_asks_for_is_not_told),
          TEST(B5_a_redirect_to_nobody_was_not_unsent))
