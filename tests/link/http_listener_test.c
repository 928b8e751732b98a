/* http_listener_test.c - listening, its limit, its closing, and failing memory */
#include "link/http_listener.h"

#include "link/http_fixture.h"

/* ---- addresses ---------------------------------------------------------------------- */

static int
listen_on(const char *host, int port, enum mcpi_http_share share, int *ret_port,
          bool *ret_loopback)
{
    mcp_error err = {0};
    int fd = -1;
    int r;

    *ret_port = port;
    r = mcpi_http_listen(host, ret_port, share, &fd, ret_loopback, &err);
    if (r < 0) {
        assert_int_equal(err.status, r);
        assert_int_not_equal(err.message[0], '\0');
        assert_int_equal(*ret_port, port);
        return r;
    }
    assert_true(mcpi_unix_listens(fd));
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(*ret_port > 0);
    return fd;
}

static void
addresses_are_numbers_or_names_of_this_machine(void **state)
{
    static const struct {
        const char *host;
        bool loopback;
    } rows[] = {{NULL, true},
                {"127.0.0.1", true},
                {"127.0.0.2", true},
                {"0.0.0.0", false},
                {"localhost", true}};
    bool loopback;
    int fd, port;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        loopback = !rows[i].loopback;
        fd = listen_on(rows[i].host, 0, MCPI_HTTP_ALONE, &port, &loopback);
        assert_true(fd >= 0);
        assert_int_equal(loopback, rows[i].loopback);
        close(fd);
    }
}

static void
ipv6_works_with_brackets_and_without(void **state)
{
    static const char *const hosts[] = {"::1", "[::1]", "::"};
    bool loopback;
    int fd, port;

    (void)state;
    fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        struct sockaddr_in6 to = {.sin6_family = AF_INET6,
                                  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
        int r = bind(fd, (struct sockaddr *)&to, sizeof(to));

        close(fd);
        fd = r;
    }
    if (fd < 0)
        test_skip("this machine has no IPv6");
    for (size_t i = 0; i < 3; i++) {
        fd = listen_on(hosts[i], 0, MCPI_HTTP_ALONE, &port, &loopback);
        assert_true(fd >= 0);
        assert_int_equal(loopback, i < 2);
        if (i == 2)
            close(socket_to(port)); /* IPv4 reaches it too */
        close(fd);
    }
}

static void
what_cannot_be_listened_on_is_said(void **state)
{
    bool loopback;
    int port, ignored, fd;

    (void)state;
    assert_int_equal(listen_on("", 0, MCPI_HTTP_ALONE, &port, &loopback), MCP_E_INVAL);
    assert_int_equal(listen_on("[]", 0, MCPI_HTTP_ALONE, &port, &loopback),
                     MCP_E_INVAL);
    assert_int_equal(listen_on("127.0.0.1", 65536, MCPI_HTTP_ALONE, &port, &loopback),
                     MCP_E_INVAL);
    assert_int_equal(listen_on("127.0.0.1", -1, MCPI_HTTP_ALONE, &port, &loopback),
                     MCP_E_INVAL);
    assert_int_equal(listen_on("256.1.1.1.1", 0, MCPI_HTTP_ALONE, &port, &loopback),
                     MCP_E_INVAL);
    assert_int_equal(listen_on("192.0.2.1", 0, MCPI_HTTP_ALONE, &port, &loopback),
                     MCP_E_INVAL); /* not of this machine */
    fd = listen_on(NULL, 0, MCPI_HTTP_ALONE, &port, &loopback);
    assert_int_equal(listen_on(NULL, port, MCPI_HTTP_ALONE, &ignored, &loopback),
                     MCP_E_INVAL);
    assert_int_equal(listen_on(NULL, port, MCPI_HTTP_NEXT, &ignored, &loopback),
                     MCP_E_INVAL);
    close(fd);
}

static void
several_share_a_port(void **state)
{
    bool loopback;
    int port, again, fd, other;

    (void)state;
    fd = listen_on(NULL, 0, MCPI_HTTP_FIRST, &port, &loopback);
    other = listen_on(NULL, port, MCPI_HTTP_NEXT, &again, &loopback);
    assert_true(other >= 0);
    assert_int_equal(port, again);
    close(fd);
    close(other);
}

/* Its clients would go here and there. */
static void
nobody_joins_a_port_that_others_share(void **state)
{
    bool loopback;
    int port, again, fd, other;

    (void)state;
    fd = listen_on(NULL, 0, MCPI_HTTP_FIRST, &port, &loopback);
    other = listen_on(NULL, port, MCPI_HTTP_NEXT, &again, &loopback);
    assert_int_equal(listen_on(NULL, port, MCPI_HTTP_FIRST, &again, &loopback),
                     MCP_E_INVAL);
    assert_int_equal(listen_on(NULL, port, MCPI_HTTP_ALONE, &again, &loopback),
                     MCP_E_INVAL);
    close(fd);
    close(other);
}

static void
a_port_is_free_again_at_once(void **state)
{
    struct fixture f;
    struct client c;
    bool loopback;
    int port, again, fd;

    fixture_open(&f, state);
    port = f.port;
    client_open(&c, &f);
    client_send(&c, "GET / HTTP/1.0\r\n\r\n"); /* we close first: TIME_WAIT is ours */
    client_await_end(&c);
    client_close(&c);
    UNTIL(&f, f.connections == 0);
    fixture_close(&f);
    fd = listen_on(NULL, port, MCPI_HTTP_ALONE, &again, &loopback);
    assert_true(fd >= 0);
    close(fd);
}

/* ---- its limit ------------------------------------------------------------------------ */

static void
one_too_many_is_told_so_and_others_are_served(void **state)
{
    struct fixture f;
    struct client first, second, third;

    fixture_open(&f, state);
    f.http.connections = 1;
    client_open(&first, &f);
    client_open_raw(&second, &f);
    client_send(&second, GET("/a"));
    client_await_end(&second);
    if (!f.tls) {
        assert_memory_equal(second.text, "HTTP/1.1 503 Service Unavailable\r\n", 34);
        assert_non_null(strstr(second.text, "\r\nRetry-After: 1\r\n"));
        assert_non_null(strstr(second.text, "\"code\":-32603"));
    }
    assert_int_equal(f.connections, 1);
    client_send(&first, GET("/b"));
    client_await(&first, "GET /b ");
    client_close(&first);
    UNTIL(&f, f.connections == 0);
    client_open(&third, &f);
    client_send(&third, GET("/c"));
    client_await(&third, "GET /c ");
    client_close(&second);
    client_close(&third);
    fixture_close(&f);
}

/* ---- closing -------------------------------------------------------------------------- */

static void
closing_takes_no_more_closes_the_idle_and_lets_others_finish(void **state)
{
    struct fixture f;
    struct client idle, busy;

    fixture_open(&f, state);
    f.hold = true;
    client_open(&idle, &f);
    client_open(&busy, &f);
    client_send(&busy, GET("/a"));
    UNTIL(&f, f.held_count == 1);
    mcpi_http_listener_close(f.listener);
    mcpi_http_listener_close(f.listener);
    client_await_end(&idle);
    assert_false(idle.reset);
    step(&f);
    assert_int_equal(f.closed, 0);
    assert_int_equal(f.connections, 1);
    assert_true(turn_reply(f.held[0], "the last one"));
    client_await_end(&busy);
    assert_non_null(strstr(busy.text, "\r\nConnection: close\r\n"));
    assert_string_equal(client_body(&busy), "the last one");
    client_close(&busy);
    UNTIL(&f, f.closed == 1);
    step(&f);
    assert_int_equal(f.closed, 1);
    client_close(&idle);
    fixture_close(&f);
}

static void
a_request_that_has_begun_is_served_while_closing(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c, "GET /a HTTP/1.1\r\nHo");
    step(&f);
    mcpi_http_listener_close(f.listener);
    step(&f);
    client_send(&c, "st: a\r\n\r\n" GET("/b"));
    client_await_end(&c);
    assert_string_equal(client_body(&c), "GET /a ");
    client_close(&c);
    UNTIL(&f, f.closed == 1);
    fixture_close(&f);
}

static void
without_connections_closing_is_told_later(void **state)
{
    struct fixture f;

    fixture_open(&f, state);
    f.free_when_closed = true;
    mcpi_http_listener_close(f.listener);
    assert_int_equal(f.closed, 0);
    UNTIL(&f, f.closed == 1);
    fixture_close(&f);
}

static void
freeing_cuts_what_is_served_and_tells_its_endpoint(void **state)
{
    struct fixture f;
    struct client c[4];

    fixture_open(&f, state);
    f.hold = true;
    for (int i = 0; i < 4; i++) {
        client_open(&c[i], &f);
        client_send(&c[i], i < 2 ? GET("/a") : "GET /b HT");
    }
    UNTIL(&f, f.held_count == 2);
    assert_true(turn_open(f.held[0], "event"));
    mcpi_http_listener_free(f.listener);
    f.listener = NULL;
    assert_int_equal(f.gone, 2);
    assert_int_equal(f.connections, 0);
    for (int i = 0; i < 4; i++) {
        client_await_end(&c[i]);
        client_close(&c[i]);
    }
    fixture_close(&f);
}

static void
on_post(struct mcpi_post *post)
{
    struct fixture *f = MCPI_CONTAINER(post, struct fixture, post);

    mcpi_http_listener_free(f->listener);
    f->listener = NULL;
}

/* The post runs while the bytes of this connection stand in the listener's memory. */
static void
it_may_be_freed_while_bytes_come_in(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c, GET("/a"));
    f.post.fn = on_post;
    mcpi_loop_post(f.loop, &f.post);
    client_await_end(&c);
    assert_null(f.listener);
    client_close(&c);
    fixture_close(&f);
}

static void
serve_and_free(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
               const struct mcpi_http_in *in)
{
    struct fixture *f = (struct fixture *)(void *)endpoint;

    fake_serve(endpoint, turn, in);
    mcpi_http_listener_free(f->listener);
    f->listener = NULL;
}

static void
it_may_be_freed_from_inside_its_endpoint(void **state)
{
    struct fixture f;
    struct client c;

    for (int hold = 0; hold < 2; hold++) {
        fixture_open(&f, state);
        f.hold = hold;
        f.listener->opt.serve = serve_and_free;
        client_open(&c, &f);
        client_send(&c, GET("/a") GET("/b"));
        client_await_end(&c);
        assert_int_equal(f.served, 1);
        assert_int_equal(f.gone, hold);
        client_close(&c);
        fixture_close(&f);
    }
}

static void
two_listeners_share_a_loop(void **state)
{
    struct fixture f, g;
    struct client c, d;

    fixture_open(&f, state);
    fixture_prepare(&g, !*(const bool *)*state);
    g.loop = f.loop;
    assert_int_equal(fixture_listen(&g), 0);
    client_open(&c, &f);
    client_open(&d, &g);
    client_send(&c, GET("/c"));
    client_send(&d, GET("/d"));
    client_await(&c, "GET /c ");
    client_await(&d, "GET /d ");
    assert_int_equal(f.served, 1);
    assert_int_equal(g.served, 1);
    client_close(&c);
    client_close(&d);
    mcpi_http_listener_free(g.listener);
    mcpi_tls_context_unref(g.tls);
    fixture_close(&f);
}

/* ---- memory ---------------------------------------------------------------------------- */

static void
flow_talk(struct fixture *f)
{
    char *text = malloc(8 << 20);
    struct client c;

    memset(text, 'x', 8 << 20);
    client_open_raw(&c, f);
    f->hold = true;
    client_send(&c,
                GET("/a") "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na");
    for (int i = 0; i < 20; i++) {
        step(f);
        client_read(&c);
        if (f->held_count == 1 && f->gone == 0) {
            f->held_count++;
            if (turn_open(f->held[0], "event"))
                (void)f->held[0]->ops->write(f->held[0], text, 8 << 20);
            turn_end(f->held[0]);
            client_push(&c, "bc", 2);
        }
        if (f->held_count == 3 && f->gone == 0) {
            (void)turn_reply(f->held[2], "fine");
            f->held_count++;
        }
    }
    if (strstr(c.text, "Content-Length: 4\r\n"))
        assert_non_null(strstr(c.text, "\r\n\r\nfine")); /* whole, or not at all */
    client_close(&c);
    step(f);
    free(text);
}

static void
flow(struct test_mem *mem, void *user)
{
    struct fixture f;
    void *state = user;

    fixture_prepare(&f, *(bool *)state);
    f.now = 1000 * SECOND;
    if (mcpi_loop_new(&mem->allocator, NULL, &f.loop) == 0) {
        mcpi_loop_set_clock(f.loop, fixture_clock, &f);
        if (fixture_listen(&f) == 0)
            flow_talk(&f);
        mcpi_http_listener_free(f.listener);
        mcpi_loop_free(f.loop);
    }
    mcpi_tls_context_unref(f.tls);
    assert_int_equal(f.connections, 0);
}

static void
each_allocation_may_fail(void **state)
{
    assert_true(test_each_allocation_fails(flow, *state) > 10);
}

TLS_TEST_MAIN(
    TEST(addresses_are_numbers_or_names_of_this_machine),
    TEST(ipv6_works_with_brackets_and_without),
    TEST(what_cannot_be_listened_on_is_said), TEST(several_share_a_port),
    TEST(nobody_joins_a_port_that_others_share), BOTH(a_port_is_free_again_at_once),
    BOTH(one_too_many_is_told_so_and_others_are_served),
    BOTH(closing_takes_no_more_closes_the_idle_and_lets_others_finish),
    BOTH(a_request_that_has_begun_is_served_while_closing),
    BOTH(without_connections_closing_is_told_later),
    BOTH(freeing_cuts_what_is_served_and_tells_its_endpoint),
    BOTH(it_may_be_freed_while_bytes_come_in),
    BOTH(it_may_be_freed_from_inside_its_endpoint), BOTH(two_listeners_share_a_loop),
    TEST_AS("plain.each_allocation_may_fail", each_allocation_may_fail, &plain))
