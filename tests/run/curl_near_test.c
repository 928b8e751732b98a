/*
 * run/curl_near_test.c - who may not go near is not lured there
 *
 * Names have the addresses that a case gives them, and every connection that is let
 * through ends at the script on loopback, wherever it was to go.
 */
#include "run/curl_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#define FAR "93.184.216.34"

/* Where connections were to go, and where they go instead. */
struct detour {
    int port;  /* of loopback; 0: they go where they were to */
    int count; /* connections so far */
    char last[INET6_ADDRSTRLEN];
};

static void
on_connecting(void *user, struct sockaddr *address)
{
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)address;
    struct detour *d = user;

    d->count++;
    if (address->sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &four->sin_addr, d->last, sizeof(d->last));
    else
        (void)inet_ntop(AF_INET6, &six->sin6_addr, d->last, sizeof(d->last));
    if (d->port == 0)
        return;
    *four = (struct sockaddr_in){.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)d->port),
                                 .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static void
world_open_detour(struct world *w, struct detour *d, struct mcpi_curl_options opt,
                  const char *line, const char *more)
{
    const char *lines[] = {line, more, NULL};

    opt.resolve = lines;
    opt.connecting = on_connecting;
    opt.connecting_user = d;
    world_open_as(w, opt, NULL);
    *d = (struct detour){.port = w->script.port};
}

/* one.test, port 8080, is at these addresses. */
static void
world_open_at(struct world *w, struct detour *d, const char *addresses)
{
    char line[200];

    (void)snprintf(line, sizeof(line), "one.test:8080:%s", addresses);
    world_open_detour(w, d, (struct mcpi_curl_options){.loop = NULL}, line, NULL);
}

static void
answer_ask(struct answer *a, struct world *w, const char *url,
           enum mcpi_address_kind nearest)
{
    struct mcpi_fetch_options opt = fetch_options("POST", url, "{}");

    *a = (struct answer){.w = NULL};
    opt.nearest = nearest;
    answer_start_as(a, w, opt);
}

#define ONE "http://one.test:8080/x"

/* It ends without a byte, and says why. */
static void
expect_refused(struct world *w, struct answer *a)
{
    world_until(w, &a->ended, 1);
    assert_int_equal(a->fault.status, MCP_E_SEND_FAILED);
    assert_true(a->fault.unsent);
    assert_string_equal(a->why, "the address is not to be reached from here");
    assert_int_equal(a->sent + a->heads, 0);
    assert_false(http_script_is_visited(&w->script, 0));
}

static void
expect_answered(struct world *w, struct answer *a, struct visit *v)
{
    visit_read(v);
    visit_answer(v, "200 OK", NULL, "here");
    world_until(w, &a->ended, 1);
    assert_false(a->faulty);
    assert_string_equal(a->body, "here");
}

/* ---- names ------------------------------------------------------------------ */

static void
a_name_with_a_near_address_is_not_connected_to(void **state)
{
    static const char *const near[] = {
        "127.0.0.1", "[::1]",           "10.0.0.1",  "192.168.1.1",
        "0.0.0.0",   "169.254.169.254", "[fd00::1]", "[fe80::1]",
        "[::]",      "[::ffff:7f00:1]", "224.0.0.1", "10.0.0.1,[::1],169.254.169.254",
    };
    struct answer a;
    struct detour d;
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
        world_open_at(&w, &d, near[i]);
        answer_ask(&a, &w, ONE, MCPI_ADDRESS_PUBLIC);
        expect_refused(&w, &a);
        assert_int_equal(d.count, 0);
        world_close(&w);
    }
}

static void
the_limit_says_how_near(void **state)
{
    static const struct {
        const char *address;
        enum mcpi_address_kind kind;
    } cases[] = {{FAR, MCPI_ADDRESS_PUBLIC},
                 {"[2606:4700::1111]", MCPI_ADDRESS_PUBLIC},
                 {"10.0.0.1", MCPI_ADDRESS_PRIVATE},
                 {"127.0.0.1", MCPI_ADDRESS_LOOPBACK},
                 {"169.254.169.254", MCPI_ADDRESS_SPECIAL}};
    struct answer a;
    struct detour d;
    struct visit v;
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int nearest = 0; nearest <= MCPI_ADDRESS_SPECIAL; nearest++) {
            world_open_at(&w, &d, cases[i].address);
            answer_ask(&a, &w, ONE, (enum mcpi_address_kind)nearest);
            if (nearest != 0 && (int)cases[i].kind > nearest) {
                expect_refused(&w, &a);
            } else {
                visit_accept(&v, &w.script);
                expect_answered(&w, &a, &v);
                assert_int_equal(a.from, cases[i].kind);
                visit_close(&v);
            }
            world_close(&w);
        }
}

static void
of_several_addresses_only_those_far_enough_are_tried(void **state)
{
    struct answer a;
    struct detour d;
    struct visit v;
    struct world w;

    (void)state;
    world_open_at(&w, &d, "10.0.0.1,[::1],169.254.169.254," FAR ",127.0.0.1");
    answer_ask(&a, &w, ONE, MCPI_ADDRESS_PUBLIC);
    visit_accept(&v, &w.script);
    expect_answered(&w, &a, &v);
    assert_int_equal(d.count, 1);
    assert_string_equal(d.last, FAR);
    assert_int_equal(a.from, MCPI_ADDRESS_PUBLIC);
    visit_close(&v);
    world_close(&w);
}

/* libcurl goes on to the next one by itself, and that is looked at too. */
static void
nor_is_a_near_one_if_the_far_one_fails(void **state)
{
    struct answer a;
    struct detour d;
    struct world w;

    (void)state;
    world_open_at(&w, &d, FAR ",127.0.0.1");
    d.port = 1; /* nobody listens there */
    answer_ask(&a, &w, ONE, MCPI_ADDRESS_PUBLIC);
    expect_refused(&w, &a);
    assert_int_equal(d.count, 1);
    assert_string_equal(d.last, FAR);
    world_close(&w);
}

/* ---- addresses in a URL ----------------------------------------------------- */

static void
an_address_in_a_url_is_looked_at_in_all_its_forms(void **state)
{
    static const char *const urls[] = {
        "http://127.0.0.1:8080/",
        "http://127.1:8080/",
        "http://0x7f.1:8080/",
        "http://2130706433:8080/",
        "http://017700000001/",
        "http://[::1]:8080/",
        "http://[::ffff:7f00:1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "https://192.168.0.1/",
        "http://localhost:8080/",
        "http://a.localhost:8080/",
        "http://[64:ff9b::a00:1]/",
        "http://x@127.0.0.1/",
        "http://0/",
        "http://[fe80::1%25lo]/",
    };
    struct answer a;
    struct detour d;
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        world_open_at(&w, &d, FAR);
        answer_ask(&a, &w, urls[i], MCPI_ADDRESS_PUBLIC);
        expect_refused(&w, &a);
        assert_int_equal(d.count, 0);
        world_close(&w);
    }
}

/* ---- redirects -------------------------------------------------------------- */

static void
say_redirect(struct visit *v, const char *location)
{
    char text[512];

    (void)snprintf(text, sizeof(text),
                   "HTTP/1.1 307 T\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n",
                   location);
    visit_say(v, text);
}

static void
a_redirect_to_a_near_address_is_not_followed(void **state)
{
    static const char *const targets[] = {
        "http://two.test:8080/",
        "http://127.0.0.1:8080/",
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost:8080/",
    };
    struct answer a;
    struct detour d;
    struct visit v;
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        world_open_detour(&w, &d, (struct mcpi_curl_options){.follow_any = true},
                          "one.test:8080:" FAR, "two.test:8080:10.0.0.1");
        answer_ask(&a, &w, ONE, MCPI_ADDRESS_PUBLIC);
        visit_accept(&v, &w.script);
        visit_read(&v);
        say_redirect(&v, targets[i]);
        world_until(&w, &a.ended, 1);
        assert_int_equal(a.fault.status, MCP_E_SEND_FAILED);
        assert_false(a.fault.unsent); /* it was, before the redirect */
        assert_string_equal(a.why, "the address is not to be reached from here");
        assert_int_equal(d.count, 1);
        assert_false(http_script_is_visited(&w.script, 0));
        visit_close(&v);
        world_close(&w);
    }
}

/* Within the origin, and the name has another address by now: here the first connection
 * is closed, and what was the far address fails. */
static void
a_redirect_within_the_origin_looks_again(void **state)
{
    struct answer a;
    struct detour d;
    struct visit v;
    struct world w;

    (void)state;
    world_open_at(&w, &d, FAR ",10.0.0.1");
    answer_ask(&a, &w, ONE, MCPI_ADDRESS_PUBLIC);
    visit_accept(&v, &w.script);
    visit_read(&v);
    d.port = 1;
    visit_say(&v, "HTTP/1.1 307 T\r\nLocation: /y\r\nConnection: close\r\n"
                  "Content-Length: 0\r\n\r\n");
    world_until(&w, &a.ended, 1);
    assert_int_equal(a.fault.status, MCP_E_SEND_FAILED);
    assert_int_equal(d.count, 2);
    assert_string_equal(d.last, FAR);
    assert_false(http_script_is_visited(&w.script, 0));
    visit_close(&v);
    world_close(&w);
}

/* ---- connections that are kept ---------------------------------------------- */

static void
a_kept_connection_is_not_for_who_may_not_go_there(void **state)
{
    struct answer a;
    struct detour d;
    struct visit v;
    struct world w;

    (void)state;
    world_open_at(&w, &d, "10.0.0.1");
    answer_ask(&a, &w, ONE, MCPI_ADDRESS_ANY);
    visit_accept(&v, &w.script);
    expect_answered(&w, &a, &v);
    answer_ask(&a, &w, ONE, MCPI_ADDRESS_PRIVATE);
    expect_answered(&w, &a, &v); /* it is kept, and this one may use it */
    answer_ask(&a, &w, ONE, MCPI_ADDRESS_PUBLIC);
    expect_refused(&w, &a);
    assert_int_equal(d.count, 1);
    assert_false(visit_try_read(&v)); /* closed without a byte */
    visit_close(&v);
    world_close(&w);
}

static void
a_kept_connection_remembers_where_it_goes(void **state)
{
    struct answer a;
    struct detour d;
    struct visit v;
    struct world w;

    (void)state;
    world_open_at(&w, &d, FAR);
    for (int i = 0; i < 3; i++) {
        answer_ask(&a, &w, ONE, MCPI_ADDRESS_PUBLIC);
        if (i == 0)
            visit_accept(&v, &w.script);
        expect_answered(&w, &a, &v);
        assert_int_equal(a.from, MCPI_ADDRESS_PUBLIC);
    }
    assert_int_equal(d.count, 1);
    visit_close(&v);
    world_close(&w);
}

/* Without a detour: what libcurl says of a connection counts. */
static void
a_kept_connection_to_loopback_is_known_as_such(void **state)
{
    const char *lines[2] = {NULL, NULL};
    struct http_script script;
    char line[64], url[64];
    struct answer a;
    struct visit v;
    struct world w;

    (void)state;
    http_script_open(&script, NULL, NULL);
    (void)snprintf(line, sizeof(line), "one.test:%d:127.0.0.1", script.port);
    (void)snprintf(url, sizeof(url), "http://one.test:%d/x", script.port);
    lines[0] = line;
    world_open_as(&w, (struct mcpi_curl_options){.resolve = lines}, NULL);
    script.loop = w.loop;
    answer_ask(&a, &w, url, MCPI_ADDRESS_PRIVATE);
    expect_refused(&w, &a);
    assert_false(http_script_is_visited(&script, 0));
    answer_ask(&a, &w, url, MCPI_ADDRESS_ANY);
    visit_accept(&v, &script);
    expect_answered(&w, &a, &v);
    assert_int_equal(a.from, MCPI_ADDRESS_LOOPBACK);
    answer_ask(&a, &w, url, MCPI_ADDRESS_LOOPBACK);
    expect_answered(&w, &a, &v);
    assert_int_equal(a.from, MCPI_ADDRESS_LOOPBACK);
    answer_ask(&a, &w, url, MCPI_ADDRESS_PRIVATE);
    expect_refused(&w, &a);
    assert_false(visit_try_read(&v));
    assert_false(http_script_is_visited(&script, 0));
    visit_close(&v);
    world_close(&w);
    http_script_close(&script);
}

/* ---- proxies ---------------------------------------------------------------- */

/* The proxy itself is on loopback. */
static void
over_a_proxy_only_the_url_is_looked_at(void **state)
{
    static const char *const near[] = {"http://10.0.0.1/", "http://[::1]/",
                                       "http://localhost/", "http://2130706433/"};
    struct http_script proxy;
    struct answer a;
    struct visit v;
    struct world w;

    (void)state;
    http_script_open(&proxy, NULL, NULL);
    world_open_as(&w, (struct mcpi_curl_options){.proxy = proxy.url, .no_proxy = ""},
                  NULL);
    proxy.loop = w.loop;
    for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
        answer_ask(&a, &w, near[i], MCPI_ADDRESS_PUBLIC);
        expect_refused(&w, &a);
        assert_false(http_script_is_visited(&proxy, 0));
    }
    answer_ask(&a, &w, "http://far.invalid/", MCPI_ADDRESS_PUBLIC);
    visit_accept(&v, &proxy);
    expect_answered(&w, &a, &v);
    assert_int_equal(a.from, MCPI_ADDRESS_ANY);
    answer_ask(&a, &w, "http://far.invalid/", MCPI_ADDRESS_PUBLIC);
    expect_answered(&w, &a, &v); /* kept */
    assert_int_equal(a.from, MCPI_ADDRESS_ANY);
    for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
        answer_ask(&a, &w, near[i], MCPI_ADDRESS_PUBLIC);
        expect_refused(&w, &a);
    }
    visit_close(&v);
    world_close(&w);
    http_script_close(&proxy);
}

static void
a_host_that_goes_without_the_proxy_is_looked_at(void **state)
{
    struct mcpi_curl_options opt = {.proxy = "http://127.0.0.1:1",
                                    .no_proxy = "one.test"};
    struct answer a;
    struct detour d;
    struct visit v;
    struct world w;

    (void)state;
    world_open_detour(&w, &d, opt, "one.test:8080:10.0.0.1", "one.test:8081:" FAR);
    answer_ask(&a, &w, ONE, MCPI_ADDRESS_PUBLIC);
    expect_refused(&w, &a);
    assert_int_equal(d.count, 0);
    answer_ask(&a, &w, "http://one.test:8081/", MCPI_ADDRESS_PUBLIC);
    visit_accept(&v, &w.script);
    expect_answered(&w, &a, &v);
    assert_int_equal(a.from, MCPI_ADDRESS_PUBLIC);
    visit_close(&v);
    world_close(&w);
}

/* Whatever the proxy is, and also if it has the URL's port. */
static void
with_a_proxy_loopback_is_looked_at_all_the_same(void **state)
{
    struct http_script proxy;
    struct answer a;
    struct visit v;
    struct world w;
    char url[64];

    (void)state;
    http_script_open(&proxy, NULL, NULL);
    world_open_as(&w, (struct mcpi_curl_options){.proxy = proxy.url, .no_proxy = ""},
                  NULL);
    proxy.loop = w.loop;
    (void)snprintf(url, sizeof(url), "http://a.localhost:%d/", w.script.port);
    answer_ask(&a, &w, url, MCPI_ADDRESS_PRIVATE);
    expect_refused(&w, &a);
    answer_ask(&a, &w, url, MCPI_ADDRESS_LOOPBACK);
    visit_accept(&v, &w.script);
    expect_answered(&w, &a, &v);
    assert_int_equal(a.from, MCPI_ADDRESS_LOOPBACK);
    answer_ask(&a, &w, url, MCPI_ADDRESS_PRIVATE); /* and one that is kept */
    expect_refused(&w, &a);
    assert_false(visit_try_read(&v));
    assert_false(http_script_is_visited(&proxy, 0));
    visit_close(&v);
    world_close(&w);
    http_script_close(&proxy);
}

TEST_MAIN(TEST(a_name_with_a_near_address_is_not_connected_to),
          TEST(the_limit_says_how_near),
          TEST(of_several_addresses_only_those_far_enough_are_tried),
          TEST(nor_is_a_near_one_if_the_far_one_fails),
          TEST(an_address_in_a_url_is_looked_at_in_all_its_forms),
          TEST(a_redirect_to_a_near_address_is_not_followed),
          TEST(a_redirect_within_the_origin_looks_again),
          TEST(a_kept_connection_is_not_for_who_may_not_go_there),
          TEST(a_kept_connection_remembers_where_it_goes),
          TEST(a_kept_connection_to_loopback_is_known_as_such),
          TEST(over_a_proxy_only_the_url_is_looked_at),
          TEST(a_host_that_goes_without_the_proxy_is_looked_at),
          TEST(with_a_proxy_loopback_is_looked_at_all_the_same))
