/* http_account_test.c - who is one client, and who is another */
#include "link/http_account.h"

#include "base/mem.h"
#include "support/test.h"

struct fixture {
    struct test_mem mem;
    struct mcpi_http_clients clients;
};

static void
open_clients(struct fixture *f, bool proxied)
{
    test_mem_init(&f->mem);
    f->clients.proxied = proxied;
    assert_int_equal(mcpi_accounts_new(&f->mem.allocator, &f->clients.accounts), 0);
}

static void
close_clients(struct fixture *f)
{
    assert_int_equal(mcpi_accounts_count(f->clients.accounts), 0);
    mcpi_accounts_unref(f->clients.accounts);
    test_mem_done(&f->mem);
}

/* Are these addresses of one client? */
static bool
are_one(const struct fixture *f, const char *address, const char *other)
{
    struct mcpi_account *a = mcpi_http_account_of_address(&f->clients, address);
    struct mcpi_account *b = mcpi_http_account_of_address(&f->clients, other);
    bool same = a == b;

    assert_non_null(a);
    assert_non_null(b);
    mcpi_account_unref(a);
    mcpi_account_unref(b);
    return same;
}

static void
addresses_tell_clients_apart(void **state)
{
    static const struct {
        const char *address, *other;
        bool same;
    } rows[] = {
        {"192.0.2.1", "192.0.2.1", true},
        {"192.0.2.1", "192.0.2.2", false},
        {"::ffff:192.0.2.1", "192.0.2.1", true},
        {"2001:db8::1", "2001:db8::2", true}, /* one network */
        {"2001:db8::1", "2001:db8:0:0:ffff::", true},
        {"2001:db8:0:1::1", "2001:db8:0:2::1", false},
        {"::1", "127.0.0.1", false},
        {"a socket", "a socket", true}, /* what another HTTP server calls it */
        {"a socket", "b socket", false},
        {"", "", false}, /* nobody knows */
        {NULL, NULL, false},
    };
    struct fixture f;

    (void)state;
    open_clients(&f, false);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (are_one(&f, rows[i].address, rows[i].other) != rows[i].same)
            fail_msg("row %zu", i);
    close_clients(&f);
}

static void
behind_a_proxy_each_connection_is_a_client(void **state)
{
    struct fixture f;

    (void)state;
    open_clients(&f, true);
    assert_false(are_one(&f, "192.0.2.1", "192.0.2.1"));
    close_clients(&f);
}

static void
a_principal_is_no_address(void **state)
{
    struct mcpi_account *a, *b, *c;
    struct fixture f;

    (void)state;
    open_clients(&f, true);
    a = mcpi_http_account_of_principal(&f.clients, "a socket");
    b = mcpi_http_account_of_principal(&f.clients, "a socket");
    f.clients.proxied = false;
    c = mcpi_http_account_of_address(&f.clients, "a socket");
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    mcpi_account_unref(a);
    mcpi_account_unref(b);
    mcpi_account_unref(c);
    close_clients(&f);
}

static void
nobody_may_count(void **state)
{
    const struct mcpi_http_clients clients = {0};

    (void)state;
    assert_null(mcpi_http_account_of_address(&clients, "192.0.2.1"));
    assert_null(mcpi_http_account_of_principal(&clients, "ann"));
}

TEST_MAIN(TEST(addresses_tell_clients_apart),
          TEST(behind_a_proxy_each_connection_is_a_client),
          TEST(a_principal_is_no_address), TEST(nobody_may_count))
