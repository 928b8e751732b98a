/* browser_desk_test.c - where the browser of one visit comes back to */
#include "auth/browser_desk.h"

#include "auth/browser_fixture.h"
#include "auth/keep_fixture.h"

#define PAGE "https://as.example/authorize?client_id=a&state=b"
#define NEVER_MS 600000 /* longer than any test: nothing here ends for want of time */

struct fixture {
    struct test_mem mem;
    struct fake_visit fake;
    struct mcpi_desk *desk;
    struct mcpi_desk_options opt;
    const char *uri;
    int descriptors, threads;
};

static void
fixture_init(struct fixture *f)
{
    f->descriptors = count_descriptors();
    f->threads = count_threads();
    test_mem_init(&f->mem);
    fake_visit_make(&f->fake);
    f->opt = (struct mcpi_desk_options){.mem = &f->mem.allocator,
                                        .host = "127.0.0.1",
                                        .path = "/callback",
                                        .client_ms = NEVER_MS,
                                        .visit = &f->fake.visit};
}

static void
fixture_open(struct fixture *f)
{
    assert_int_equal(mcpi_desk_new(&f->opt, &f->desk), 0);
    assert_int_equal(mcpi_desk_expect(f->desk, PAGE), 0);
    f->uri = mcpi_desk_uri(f->desk);
}

static void
fixture_make(struct fixture *f)
{
    fixture_init(f);
    fixture_open(f);
}

static void
fixture_done(struct fixture *f)
{
    mcpi_desk_free(f->desk);
    test_mem_done(&f->mem);
    fake_visit_done(&f->fake);
    assert_int_equal(count_descriptors(), f->descriptors);
    await_quiet(f->threads); /* one that was joined is listed for another moment */
    assert_int_equal(count_threads(), f->threads);
}

/* The visit is told of exactly what the browser was sent to. */
static void
assert_answers(struct fixture *f, const char *query)
{
    char target[256], expected[256];

    snprintf(target, sizeof target, "/callback%s", query);
    snprintf(expected, sizeof expected, "%s%s", f->uri, query);
    assert_true(fake_visit_waits(&f->fake));
    assert_int_equal(browse_get(f->uri, target), 200);
    assert_string_equal(read_line(f->fake.out), expected);
}

/* ---- answers --------------------------------------------------------------------- */

static void
the_visit_is_told_of_the_uri_with_its_query(void **state)
{
    struct fixture f;
    char expected[64];

    (void)state;
    fixture_make(&f);
    snprintf(expected, sizeof expected, "http://127.0.0.1:%d/callback",
             port_of_uri(f.uri));
    assert_string_equal(f.uri, expected);
    assert_answers(&f, "?code=a%20b&state=%62&iss=https%3A%2F%2Fas.example");
    fixture_done(&f);
}

static void
an_error_is_an_answer_too(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f);
    assert_answers(&f, "?error=access_denied&state=b");
    fixture_done(&f);
}

static void
the_page_is_whole_and_shows_nothing_of_the_request(void **state)
{
    struct fixture f;
    const char *page;
    char request[256];
    int fd;

    (void)state;
    fixture_make(&f);
    fd = browse_open(f.uri);
    snprintf(
        request, sizeof request,
        "GET /callback?code=SEEN<b>&state=b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
        port_of_uri(f.uri));
    browse_say(fd, request);
    page = browse_rest(fd);
    assert_non_null(strstr(page, "close this window"));
    assert_non_null(strstr(page, "</html>"));
    assert_null(strstr(page, "SEEN"));
    assert_null(strstr(page, "<b>"));
    fixture_done(&f);
}

static void
what_is_no_answer_gets_its_page_and_the_waiting_goes_on(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f);
    assert_int_equal(browse_get(f.uri, "/favicon.ico"), 404);
    assert_int_equal(browse_get(f.uri, "/callback"), 400);
    assert_int_equal(browse_get(f.uri, "/callback?code=a"), 400);
    assert_int_equal(browse_raw(f.uri, "hello\r\n\r\n"), 400);
    assert_int_equal(browse_raw(f.uri, "\x16\x03\x01\x02\x01\xfc"), 400);
    assert_int_equal(browse_raw(f.uri, "GET /callback?code=a&state=b HTTP/1.1\r\n"
                                       "Host: evil.example\r\n\r\n"),
                     421);
    assert_answers(&f, "?code=a&state=b");
    fixture_done(&f);
}

/* Spoilers, while the user looks at the page. */
static void
who_does_not_know_the_state_is_in_nobodys_way(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(browse_get(f.uri, "/callback?code=a&state=c"), 400);
        assert_int_equal(browse_get(f.uri, "/callback?error=no&state=c"), 400);
    }
    assert_answers(&f, "?code=a&state=b");
    fixture_done(&f);
}

static void
a_page_is_expected_once(void **state)
{
    struct fixture f;
    char page[20000];

    (void)state;
    fixture_make(&f);
    assert_int_equal(mcpi_desk_expect(f.desk, "https://as.example/?state=c"),
                     MCP_E_STATE);
    assert_int_equal(browse_get(f.uri, "/callback?code=a&state=c"), 400);
    assert_answers(&f, "?code=a&state=b");
    mcpi_desk_free(f.desk);
    assert_int_equal(mcpi_desk_new(&f.opt, &f.desk), 0);
    f.uri = mcpi_desk_uri(f.desk);
    atomic_store(&f.fake.visit.answered_once, false);
    memset(page, 'x', sizeof page);
    memcpy(page, "https://as.example/?state=", 26);
    page[sizeof page - 1] = '\0';
    assert_int_equal(mcpi_desk_expect(f.desk, "https://as.example/"), MCP_E_INVAL);
    assert_int_equal(mcpi_desk_expect(f.desk, "https://as.example/?state=&a=b"),
                     MCP_E_INVAL);
    assert_int_equal(browse_get(f.uri, "/callback?code=a&state="), 400);
    assert_int_equal(browse_get(f.uri, "/callback?code=a&state=b"), 400);
    assert_int_equal(mcpi_desk_expect(f.desk, PAGE), 0); /* that was nothing */
    assert_answers(&f, "?code=a&state=b");
    mcpi_desk_free(f.desk);
    assert_int_equal(mcpi_desk_new(&f.opt, &f.desk), 0);
    assert_int_equal(mcpi_desk_expect(f.desk, page),
                     MCP_E_INVAL); /* cannot come back */
    fixture_done(&f);
}

static void
a_second_answer_counts_as_none(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f);
    assert_answers(&f, "?code=1&state=b");
    assert_int_equal(browse_get(f.uri, "/callback?code=2&state=b"), 410);
    assert_int_equal(browse_get(f.uri, "/favicon.ico"), 404);
    assert_true(fake_visit_waits(&f.fake));
    fixture_done(&f);
}

static void
a_request_may_come_in_pieces(void **state)
{
    struct fixture f;
    char request[128], piece[2] = "";
    int fd;

    (void)state;
    fixture_make(&f);
    fd = browse_open(f.uri);
    snprintf(request, sizeof request,
             "GET /callback?code=a&state=b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
             port_of_uri(f.uri));
    for (const char *at = request; *at; at++) {
        piece[0] = *at;
        browse_say(fd, piece);
    }
    assert_string_equal(read_line(f.fake.out) + strlen(f.uri), "?code=a&state=b");
    assert_non_null(strstr(browse_rest(fd), " 200 OK"));
    fixture_done(&f);
}

/* ---- ports ------------------------------------------------------------------------ */

static void
the_earlier_port_is_used_again(void **state)
{
    struct fixture f;
    int port;

    (void)state;
    fixture_make(&f);
    port = port_of_uri(f.uri);
    assert_answers(&f, "?code=a&state=b"); /* leaves a connection that has just ended */
    mcpi_desk_free(f.desk);
    f.opt.earlier = port;
    atomic_store(&f.fake.visit.answered_once, false);
    fixture_open(&f);
    assert_int_equal(port_of_uri(f.uri), port);
    assert_answers(&f, "?code=c&state=b");
    fixture_done(&f);
}

static void
a_port_that_is_taken_is_not_shared(void **state)
{
    struct mcpi_desk *second;
    struct fixture f;
    int port;

    (void)state;
    fixture_make(&f);
    port = port_of_uri(f.uri);
    f.opt.earlier = port;
    assert_int_equal(mcpi_desk_new(&f.opt, &second), 0);
    assert_int_not_equal(port_of_uri(mcpi_desk_uri(second)), port);
    mcpi_desk_free(second);
    f.opt.port = port;
    assert_int_equal(mcpi_desk_new(&f.opt, &second), MCP_E_STATE);
    assert_answers(&f, "?code=a&state=b");
    fixture_done(&f);
}

static void
only_this_machine_is_listened_to(void **state)
{
    struct sockaddr_in other = {.sin_family = AF_INET,
                                .sin_addr = {htonl(INADDR_LOOPBACK + 1)}};
    struct fixture f;
    int fd;

    (void)state;
    fixture_make(&f);
    other.sin_port = htons((uint16_t)port_of_uri(f.uri));
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&other, sizeof other), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
    assert_int_equal(try_connect(AF_INET6, port_of_uri(f.uri)), -1);
    fixture_done(&f);
}

static void
localhost_is_both_of_its_addresses(void **state)
{
    struct fixture f;
    char request[128];
    int fd;

    (void)state;
    fixture_init(&f);
    f.opt.host = "localhost";
    fixture_open(&f);
    assert_memory_equal(f.uri, "http://localhost:", 17);
    snprintf(request, sizeof request,
             "GET /callback?code=a&state=b HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
             port_of_uri(f.uri));
    fd = try_connect(AF_INET6, port_of_uri(f.uri));
    if (fd < 0) /* no IPv6 here: then nobody else can be there either */
        fd = browse_open(f.uri);
    browse_say(fd, request);
    assert_non_null(strstr(browse_rest(fd), " 200 OK"));
    assert_string_equal(read_line(f.fake.out) + strlen(f.uri), "?code=a&state=b");
    assert_int_equal(browse_get(f.uri, "/favicon.ico"), 404);
    fixture_done(&f);
}

/* ---- clients that mean no good ------------------------------------------------------- */

static void
a_slow_client_is_closed_and_in_nobodys_way(void **state)
{
    struct fixture f;
    int slow;

    (void)state;
    fixture_init(&f);
    f.opt.client_ms = 30;
    fixture_open(&f);
    slow = browse_open(f.uri);
    browse_say(slow, "GET /callback?code=a");
    assert_string_equal(browse_rest(slow), "");
    mcpi_desk_free(f.desk);
    f.opt.client_ms = NEVER_MS;
    fixture_open(&f);
    slow = browse_open(f.uri);
    browse_say(slow, "GET /callback?code=a");
    assert_answers(&f, "?code=a&state=b");
    close(slow);
    fixture_done(&f);
}

#define MANY 50

static void
many_silent_connections_are_in_nobodys_way(void **state)
{
    struct fixture f;
    int fds[MANY];

    (void)state;
    fixture_make(&f);
    for (int i = 0; i < MANY; i++)
        fds[i] = browse_open(f.uri);
    assert_answers(&f, "?code=a&state=b");
    /* There was room for some; the others, the oldest, had to go. */
    assert_string_equal(browse_rest(fds[0]), "");
    assert_string_equal(browse_rest(fds[MANY - 20]), "");
    for (int i = 1; i < MANY; i++) {
        if (i != MANY - 20)
            close(fds[i]);
    }
    fixture_done(&f);
}

static void
who_must_go_for_others_is_heard_before(void **state)
{
    struct fixture f;
    char request[128];
    int fds[MANY], first;

    (void)state;
    fixture_make(&f);
    first = browse_open(f.uri);
    snprintf(request, sizeof request,
             "GET /callback?code=a&state=b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
             port_of_uri(f.uri));
    browse_say(first, request);
    for (int i = 0; i < MANY; i++)
        fds[i] = browse_open(f.uri);
    assert_string_equal(read_line(f.fake.out) + strlen(f.uri), "?code=a&state=b");
    assert_non_null(strstr(browse_rest(first), "</html>"));
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    fixture_done(&f);
}

static void
a_huge_head_is_refused(void **state)
{
    struct fixture f;
    char block[4097];
    int fd;

    (void)state;
    fixture_make(&f);
    fd = browse_open(f.uri);
    memset(block, 'x', 4096);
    block[4096] = '\0';
    for (int i = 0; i < 5;
         i++) /* more than is read: the page must arrive all the same */
        browse_say(fd, block);
    assert_non_null(strstr(browse_rest(fd), "HTTP/1.1 431 "));
    assert_answers(&f, "?code=a&state=b");
    fixture_done(&f);
}

static void
who_does_not_stop_talking_is_closed(void **state)
{
    struct fixture f;
    char block[8192];
    ssize_t n = 1;
    int fd;

    (void)state;
    fixture_make(&f);
    fd = browse_open(f.uri);
    memset(block, 'x', sizeof block);
    while (n > 0) /* for ever, if it were listened to */
        n = send(fd, block, sizeof block, MSG_NOSIGNAL);
    assert_true(errno == EPIPE || errno == ECONNRESET);
    close(fd);
    assert_answers(&f, "?code=a&state=b");
    fixture_done(&f);
}

static void
who_goes_in_the_middle_is_forgotten(void **state)
{
    struct fixture f;
    struct linger hard = {.l_onoff = 1};
    int fd;

    (void)state;
    fixture_make(&f);
    for (int i = 0; i < 20; i++) {
        fd = browse_open(f.uri);
        browse_say(fd, "GET /callback?code=a");
        if (i % 2)
            assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard),
                             0);
        close(fd);
    }
    assert_answers(&f, "?code=a&state=b");
    fixture_done(&f);
}

/* ---- the end ---------------------------------------------------------------------------- */

static void
the_end_waits_for_no_client(void **state)
{
    struct fixture f;
    int silent, half, port;

    (void)state;
    fixture_make(&f);
    silent = browse_open(f.uri);
    half = browse_open(f.uri);
    browse_say(half, "GET /callback?code=a");
    assert_int_equal(browse_get(f.uri, "/x"), 404); /* those two were accepted before */
    port = port_of_uri(f.uri);
    mcpi_desk_free(f.desk);
    f.desk = NULL;
    assert_int_equal(try_connect(AF_INET, port), -1);
    assert_int_equal(errno, ECONNREFUSED);
    assert_true(fake_visit_waits(&f.fake));
    close(silent);
    close(half);
    fixture_done(&f);
}

/* From inside of the answer nothing ends, but right behind it: while the client that
 * brought it is still there. */
static void
the_end_may_come_right_behind_the_answer(void **state)
{
    struct fixture f;
    char request[128];
    int fd;

    (void)state;
    for (int i = 0; i < 20; i++) {
        fixture_make(&f);
        fd = browse_open(f.uri);
        snprintf(request, sizeof request,
                 "GET /callback?code=a&state=b HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
                 port_of_uri(f.uri));
        browse_say(fd, request);
        (void)read_line(f.fake.out);
        mcpi_desk_free(f.desk);
        f.desk = NULL;
        assert_non_null(strstr(browse_rest(fd), "</html>")); /* the page came before */
        fixture_done(&f);
    }
}

static void
the_code_is_wiped(void **state)
{
    struct watched watched;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    watched_init(&watched);
    f.opt.mem = &watched.allocator;
    fixture_open(&f);
    assert_answers(&f, "?code=" SECRET "&state=b");
    assert_int_equal(browse_get(f.uri, "/callback?code=" SECRET "&state=b"), 410);
    assert_int_equal(browse_get(f.uri, "/callback?code=" SECRET), 400);
    mcpi_desk_free(f.desk);
    f.desk = NULL;
    watched_done(&watched);
    fixture_done(&f);
}

static void
the_state_is_wiped(void **state)
{
    struct watched watched;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    watched_init(&watched);
    f.opt.mem = &watched.allocator;
    assert_int_equal(mcpi_desk_new(&f.opt, &f.desk), 0);
    f.uri = mcpi_desk_uri(f.desk);
    assert_int_equal(mcpi_desk_expect(f.desk, "https://as.example/?state=" SECRET), 0);
    assert_int_equal(browse_get(f.uri, "/callback?code=a&state=" SECRET "x"), 400);
    assert_answers(&f, "?code=a&state=" SECRET);
    mcpi_desk_free(f.desk);
    f.desk = NULL;
    watched_done(&watched);
    fixture_done(&f);
}

static void
flow(struct test_mem *mem, void *user)
{
    struct mcpi_desk_options *opt = user;
    struct mcpi_desk *desk;
    int r;

    opt->mem = &mem->allocator;
    r = mcpi_desk_new(opt, &desk);
    if (r < 0) {
        assert_int_equal(r, MCP_E_NOMEM);
        return;
    }
    r = mcpi_desk_expect(desk, PAGE);
    assert_int_equal(r, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    /* 0: there was no memory for the client, which was closed. */
    r = browse_get(mcpi_desk_uri(desk), "/favicon.ico");
    assert_true(r == 404 || (r == 0 && atomic_load(&mem->failed) > 0));
    mcpi_desk_free(desk);
}

static void
every_allocation_may_fail(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f);
    assert_int_equal(test_each_allocation_fails(flow, &f.opt), 3);
    fixture_done(&f);
}

static void
a_path_that_is_too_long_is_refused(void **state)
{
    char path[MCP_AUTH_URI_MAX];
    struct mcpi_desk *desk;
    struct fixture f;

    (void)state;
    fixture_make(&f);
    memset(path, '/', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    f.opt.path = path;
    assert_int_equal(mcpi_desk_new(&f.opt, &desk), MCP_E_INVAL);
    fixture_done(&f);
}

TEST_MAIN(TEST(the_visit_is_told_of_the_uri_with_its_query),
          TEST(an_error_is_an_answer_too),
          TEST(the_page_is_whole_and_shows_nothing_of_the_request),
          TEST(what_is_no_answer_gets_its_page_and_the_waiting_goes_on),
          TEST(who_does_not_know_the_state_is_in_nobodys_way),
          TEST(a_page_is_expected_once), TEST(a_second_answer_counts_as_none),
          TEST(a_request_may_come_in_pieces), TEST(the_earlier_port_is_used_again),
          TEST(a_port_that_is_taken_is_not_shared),
          TEST(only_this_machine_is_listened_to),
          TEST(localhost_is_both_of_its_addresses),
          TEST(a_slow_client_is_closed_and_in_nobodys_way),
          TEST(many_silent_connections_are_in_nobodys_way),
          TEST(who_must_go_for_others_is_heard_before), TEST(a_huge_head_is_refused),
          TEST(who_does_not_stop_talking_is_closed),
          TEST(who_goes_in_the_middle_is_forgotten), TEST(the_end_waits_for_no_client),
          TEST(the_end_may_come_right_behind_the_answer), TEST(the_code_is_wiped),
          TEST(the_state_is_wiped), TEST(every_allocation_may_fail),
          TEST(a_path_that_is_too_long_is_refused))
