/* http_wire_test.c - bytes of one connection: what leaves, what is kept, what comes */
#include "link/http_wire.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/budget.h"
#include "link/tls_fixture.h"

struct fixture {
    struct test_mem mem;
    struct mcpi_loop *loop;
    struct mcpi_http_wires wires;
    struct mcpi_http_wire wire;
    int fd; /* the other end */
    char got[256];
    size_t got_len, came;
    int lost, left, closed;
};

static struct fixture *
fixture_of(struct mcpi_http_wire *wire)
{
    return MCPI_CONTAINER(wire, struct fixture, wire);
}

static void
on_got(struct mcpi_http_wire *wire, const char *data, size_t len)
{
    struct fixture *f = fixture_of(wire);

    f->came += len;
    if (len > sizeof(f->got) - f->got_len)
        len = sizeof(f->got) - f->got_len;
    memcpy(f->got + f->got_len, data, len);
    f->got_len += len;
}

static void
on_lost(struct mcpi_http_wire *wire)
{
    fixture_of(wire)->lost++;
    mcpi_http_wire_close(wire, false);
}

static void
on_left(struct mcpi_http_wire *wire)
{
    fixture_of(wire)->left++;
}

static void
on_closed(struct mcpi_http_wire *wire)
{
    fixture_of(wire)->closed++;
}

static const struct mcpi_http_wire_ops ops = {on_got, on_lost, on_left, on_closed};

static void
fixture_open(struct fixture *f, struct mcpi_tls_context *tls)
{
    int fds[2];

    memset(f, 0, sizeof(*f));
    test_mem_init(&f->mem);
    assert_int_equal(mcpi_loop_new(&f->mem.allocator, NULL, &f->loop), 0);
    assert_int_equal(mcpi_http_wires_init(&f->wires, f->loop, tls), 0);
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    assert_int_equal(mcpi_http_wire_open(&f->wire, &f->wires, &ops, fds[0]), 0);
    f->fd = fds[1];
}

static void
fixture_close(struct fixture *f)
{
    mcpi_http_wire_close(&f->wire, false);
    mcpi_http_wire_close(&f->wire, true); /* nothing more */
    mcpi_loop_free(f->loop);
    assert_int_equal(f->closed, 1);
    mcpi_http_wires_done(&f->wires);
    close(f->fd);
    test_mem_done(&f->mem);
}

static void
step(struct fixture *f)
{
    assert_int_equal(mcpi_loop_step(f->loop), 0);
}

#define UNTIL(f, condition)                                                    \
    for (int64_t until_ = mcpi_loop_clock() + AWAIT_US; !(condition); step(f)) \
    assert_true(mcpi_loop_clock() < until_)

static uv_buf_t
part(const char *text, size_t len)
{
    return uv_buf_init((char *)(uintptr_t)text, (unsigned)len);
}

static void
parts_leave_as_one(void **state)
{
    uv_buf_t parts[3] = {part("one ", 4), part("", 0), part("two", 3)};
    struct fixture f;
    char bytes[100];

    (void)state;
    fixture_open(&f, NULL);
    assert_true(mcpi_http_wire_send(&f.wire, parts, 3));
    assert_int_equal(recv(f.fd, bytes, sizeof(bytes), 0), 7);
    assert_memory_equal(bytes, "one two", 7);
    assert_int_equal(mcpi_http_wire_waiting(&f.wire), 0);
    fixture_close(&f);
}

static void
what_comes_is_got_and_the_end_is_lost(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, NULL);
    assert_int_equal(send(f.fd, "hello", 5, 0), 5);
    UNTIL(&f, f.got_len == 5);
    assert_memory_equal(f.got, "hello", 5);
    assert_int_equal(shutdown(f.fd, SHUT_WR), 0);
    UNTIL(&f, f.closed == 1);
    assert_int_equal(f.lost, 1);
    fixture_close(&f);
}

/* Issue 20, 5: however much it sends, others have their turn. */
static void
one_turn_reads_as_much_as_a_buffer_holds(void **state)
{
    static char much[MCPI_HTTP_INPUT];
    struct fixture f;
    size_t sent = 0;
    ssize_t n;
    int room = 1 << 20;

    (void)state;
    fixture_open(&f, NULL);
    assert_int_equal(setsockopt(f.fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
    for (n = 1; n > 0; sent += n > 0 ? (size_t)n : 0)
        n = send(f.fd, much, sizeof(much), MSG_DONTWAIT | MSG_NOSIGNAL);
    assert_true(sent > 2 * MCPI_HTTP_INPUT);
    while (f.came < sent) {
        size_t before = f.came;

        step(&f);
        assert_true(f.came - before <= MCPI_HTTP_INPUT);
    }
    assert_int_equal(shutdown(f.fd, SHUT_WR), 0);
    UNTIL(&f, f.closed == 1); /* and the end is noticed */
    fixture_close(&f);
}

/* Read it all; returns how much, and checks that it counts up. */
static size_t
drain(struct fixture *f, size_t from)
{
    unsigned char bytes[65536];
    ssize_t n = recv(f->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    for (ssize_t i = 0; i < n; i++)
        assert_int_equal(bytes[i], (from + (size_t)i) % 251);
    return n > 0 ? (size_t)n : 0;
}

static void
what_does_not_fit_is_kept_in_order_and_then_left(void **state)
{
    enum { LONG = 3000000 };
    char *text = malloc(2 * LONG);
    struct fixture f;
    uv_buf_t parts[2];
    size_t waiting, at = 0;

    (void)state;
    for (size_t i = 0; i < 2 * LONG; i++)
        text[i] = (char)(i % 251);
    fixture_open(&f, NULL);
    parts[0] = part(text, LONG);
    parts[1] = part(text + LONG, 1000);
    assert_false(mcpi_http_wire_send(&f.wire, parts, 2));
    waiting = mcpi_http_wire_waiting(&f.wire);
    assert_in_range(waiting, 1, LONG + 1000);
    parts[0] = part(text + LONG + 1000, 500); /* behind it */
    assert_false(mcpi_http_wire_send(&f.wire, parts, 1));
    assert_int_equal(mcpi_http_wire_waiting(&f.wire), waiting + 500);
    step(&f);
    assert_int_equal(f.left, 0);
    while (at < LONG + 1500) {
        step(&f);
        at += drain(&f, at);
    }
    UNTIL(&f, f.left == 1);
    assert_int_equal(mcpi_http_wire_waiting(&f.wire), 0);
    fixture_close(&f);
    free(text);
}

static void
no_more_comes_after_what_is_kept(void **state)
{
    enum { LONG = 3000000 };
    char *text = calloc(1, LONG);
    char bytes[65536];
    uv_buf_t one = part(text, LONG);
    struct fixture f;
    size_t len = 0;
    ssize_t n = 1;

    (void)state;
    fixture_open(&f, NULL);
    assert_false(mcpi_http_wire_send(&f.wire, &one, 1));
    mcpi_http_wire_shut(&f.wire);
    mcpi_http_wire_shut(&f.wire);
    assert_false(mcpi_http_wire_send(&f.wire, &one, 1)); /* too late */
    while (n != 0) {
        step(&f);
        n = recv(f.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        len += n > 0 ? (size_t)n : 0;
    }
    assert_int_equal(len, LONG);
    assert_int_equal(send(f.fd, "hello", 5, 0), 5); /* is still read */
    UNTIL(&f, f.got_len == 5);
    fixture_close(&f);
    free(text);
}

static void
a_write_that_fails_is_seen_at_once(void **state)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    uv_buf_t one = part("x", 1);
    struct fixture f;

    (void)state;
    fixture_open(&f, NULL);
    assert_int_equal(shutdown(f.fd, SHUT_RD), 0);
    sigaction(SIGPIPE, &ignore, &before); /* a turn of the loop would block it */
    assert_false(mcpi_http_wire_send(&f.wire, &one, 1));
    sigaction(SIGPIPE, &before, NULL);
    assert_true(f.wire.failed);
    assert_false(mcpi_http_wire_send(&f.wire, &one, 1));
    assert_int_equal(f.lost, 0); /* its owner knows */
    fixture_close(&f);
}

static void
without_memory_for_the_rest_it_fails(void **state)
{
    enum { LONG = 3000000 };
    char *text = calloc(1, LONG);
    uv_buf_t one = part(text, LONG);
    struct fixture f;

    (void)state;
    for (int i = 1; i <= 2; i++) {
        fixture_open(&f, NULL);
        f.mem.fail_at = f.mem.total + i;
        assert_false(mcpi_http_wire_send(&f.wire, &one, 1));
        assert_true(f.wire.failed);
        fixture_close(&f);
    }
    free(text);
}

/* Issue 20: what a client does not read is charged to it before it is copied, and nothing
 * is left of what does not fit. */
static void
what_a_client_may_not_have_is_not_kept(void **state)
{
    enum { LONG = 3000000, SHARE = 1000000 };
    char *text = calloc(1, LONG);
    uv_buf_t one = part(text, LONG);
    struct mcpi_account account;
    struct mcpi_budget budget;
    struct fixture f;

    (void)state;
    mcpi_budget_init(&budget);
    mcpi_budget_raise(&budget, MCPI_HELD_BYTES, 2 * (size_t)SHARE);
    mcpi_account_init(&account, &budget, NULL);
    fixture_open(&f, NULL);
    f.wire.account = &account;
    assert_false(mcpi_http_wire_send(&f.wire, &one, 1));
    assert_true(f.wire.failed);
    assert_int_equal(mcpi_budget_bytes(&budget), 0);
    assert_true(f.mem.largest < SHARE);
    fixture_close(&f);
    free(text);
}

static void
what_no_longer_fits_leaves_what_was_kept(void **state)
{
    enum { LONG = 3000000 };
    char *text = calloc(1, LONG);
    uv_buf_t one = part(text, LONG);
    struct mcpi_account account;
    struct mcpi_budget budget;
    struct fixture f;
    size_t held;
    long live;

    (void)state;
    mcpi_budget_init(&budget);
    mcpi_budget_raise(&budget, MCPI_HELD_BYTES, 3 * (size_t)LONG);
    mcpi_account_init(&account, &budget, NULL);
    fixture_open(&f, NULL);
    f.wire.account = &account;
    assert_false(mcpi_http_wire_send(&f.wire, &one, 1));
    assert_false(f.wire.failed);
    held = mcpi_budget_bytes(&budget);
    live = f.mem.live;
    one.len = 1000;
    assert_false(mcpi_http_wire_send(&f.wire, &one, 1));
    assert_true(mcpi_budget_bytes(&budget) > held);
    one.len = LONG;
    assert_false(mcpi_http_wire_send(&f.wire, &one, 1));
    assert_true(f.wire.failed);
    assert_int_equal(mcpi_budget_bytes(&budget), held);
    assert_int_equal(f.mem.live, live);
    mcpi_http_wire_close(&f.wire, false);
    step(&f);
    assert_int_equal(f.closed, 1);
    assert_int_equal(mcpi_budget_bytes(&budget), 0);
    fixture_close(&f);
    free(text);
}

static void
it_may_close_with_something_kept(void **state)
{
    enum { LONG = 3000000 };
    char *text = calloc(1, LONG);
    uv_buf_t one = part(text, LONG);
    struct fixture f;

    (void)state;
    fixture_open(&f, NULL);
    assert_false(mcpi_http_wire_send(&f.wire, &one, 1));
    mcpi_http_wire_close(&f.wire, false);
    step(&f);
    assert_int_equal(f.closed, 1);
    assert_int_equal(f.left + f.lost, 0);
    fixture_close(&f);
    free(text);
}

static void
shake_hands(struct fixture *f, struct tls_client *client)
{
    char bytes[65536];
    ssize_t n;

    for (int i = 0; i < 6; i++) {
        (void)tls_client_read(client, bytes, sizeof(bytes));
        n = (ssize_t)tls_client_take(client, bytes, sizeof(bytes));
        if (n > 0)
            assert_int_equal(send(f->fd, bytes, (size_t)n, 0), n);
        step(f);
        n = recv(f->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        tls_client_give(client, bytes, n > 0 ? (size_t)n : 0);
    }
}

/* Each time it is told so, and it reads nothing of that. */
static void
who_asks_for_new_keys_without_end_is_lost(void **state)
{
    enum { OFTEN = 100000 };
    struct mcpi_tls_context *context = tls_context(NULL);
    struct tls_client client;
    struct fixture f;
    char bytes[4096];
    size_t most = 0;
    ssize_t n;

    (void)state;
    fixture_open(&f, context);
    mcpi_tls_context_unref(context);
    tls_client_open(&client, TLS1_3_VERSION);
    shake_hands(&f, &client);
    for (int i = 0; i < OFTEN && f.lost == 0; i++) {
        assert_int_equal(SSL_key_update(client.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        assert_int_equal(SSL_do_handshake(client.ssl), 1);
        n = (ssize_t)tls_client_take(&client, bytes, sizeof(bytes));
        assert_int_equal(send(f.fd, bytes, (size_t)n, 0), n);
        if (mcpi_http_wire_waiting(&f.wire) > most)
            most = mcpi_http_wire_waiting(&f.wire);
        step(&f);
    }
    assert_int_equal(f.lost, 1);
    assert_in_range(most, 1, MCPI_HTTP_TALK);
    tls_client_close(&client);
    fixture_close(&f);
}

static void
small_parts_are_one_record_of_tls(void **state)
{
    struct mcpi_tls_context *context = tls_context(NULL);
    uv_buf_t parts[2] = {part("one ", 4), part("two", 3)};
    struct tls_client client;
    struct fixture f;
    char bytes[65536];
    ssize_t n;

    (void)state;
    fixture_open(&f, context);
    mcpi_tls_context_unref(context);
    tls_client_open(&client, TLS1_3_VERSION);
    shake_hands(&f, &client);
    assert_true(mcpi_http_wire_send(&f.wire, parts, 2));
    n = recv(f.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    assert_int_equal(n, 5 + 7 + 1 + 16); /* head, text, type, tag */
    tls_client_give(&client, bytes, (size_t)n);
    assert_int_equal(tls_client_read(&client, bytes, sizeof(bytes)), 7);
    tls_client_close(&client);
    fixture_close(&f);
}

static void
flow(struct test_mem *mem, void *user)
{
    struct mcpi_http_wires wires;
    struct mcpi_loop *loop;
    int r;

    (void)user;
    if (mcpi_loop_new(&mem->allocator, NULL, &loop) < 0)
        return;
    r = mcpi_http_wires_init(&wires, loop, NULL);
    assert_int_equal(r, mem->failed ? MCP_E_NOMEM : 0);
    mcpi_http_wires_done(&wires);
    mcpi_loop_free(loop);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) >= 2);
}

TLS_TEST_MAIN(TEST(parts_leave_as_one), TEST(what_comes_is_got_and_the_end_is_lost),
              TEST(one_turn_reads_as_much_as_a_buffer_holds),
              TEST(what_does_not_fit_is_kept_in_order_and_then_left),
              TEST(no_more_comes_after_what_is_kept),
              TEST(a_write_that_fails_is_seen_at_once),
              TEST(without_memory_for_the_rest_it_fails),
              TEST(what_a_client_may_not_have_is_not_kept),
              TEST(what_no_longer_fits_leaves_what_was_kept),
              TEST(it_may_close_with_something_kept),
              TEST(who_asks_for_new_keys_without_end_is_lost),
              TEST(small_parts_are_one_record_of_tls), TEST(each_allocation_may_fail))
