/* forget_test.c - a request that lasts, without the document that it came in */
#include <string.h>

#include "core/peer.h"
#include "support/listeners.h"

static void
what_follows_has_the_id_and_the_names(void **state)
{
    struct stream number, text;
    struct fake f;

    (void)state;
    start(&f);
    listen_to(&f, LISTEN("5", "{\"toolsListChanged\":true}"), &number);
    listen_to(&f, LISTEN("\"a\\\"b\"", "{" URIS("\"x:1\",\"x:2\"") "}"), &text);
    mcpi_exchange_forget(number.x);
    mcpi_exchange_forget(text.x);
    EXPECT(&f, ACK("5", "{\"toolsListChanged\":true}"),
           ACK("\"a\\\"b\"", "{" URIS("\"x:1\",\"x:2\"") "}"));
    publish(&f, &tools);
    update(&f, "x:2");
    EXPECT(&f, CHANGED("5", "tools"), UPDATED("\"a\\\"b\"", "x:2"));
    fake_close(&f);
}

static void
memory_is_given_back_and_not_counted(void **state)
{
    struct stream number, text;
    struct fake f;
    size_t both;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("5", "{}"), &number);
    listen_acked(&f, LISTEN("\"five\"", "{}"), &text);
    both = f.peer->request_bytes;
    mcpi_exchange_forget(number.x);
    assert_null(number.x->doc);
    assert_null(number.x->rpc.params);
    assert_int_equal(number.x->request_bytes, 0);
    assert_string_equal(number.x->rpc.method_name, "subscriptions/listen");
    mcpi_exchange_forget(text.x);
    assert_true(text.x->request_bytes < both / 2);
    assert_int_equal(f.peer->request_bytes, text.x->request_bytes);
    fake_receive(&f, NOTE("notifications/cancelled", "{\"requestId\":\"five\"}"));
    assert_int_equal(text.how, MCPI_CANCELED);
    fake_close(&f);
}

static void
without_memory_all_stays_as_it_is(void **state)
{
    struct stream text;
    struct fake f;
    mcp_doc *doc;

    (void)state;
    start(&f);
    listen_acked(&f, LISTEN("\"five\"", "{}"), &text);
    doc = text.x->doc;
    for (int n = 1; n <= 2; n++) {
        atomic_store(&f.mem->fail_at, atomic_load(&f.mem->total) + n);
        mcpi_exchange_forget(text.x);
        assert_ptr_equal(text.x->doc, doc);
        assert_non_null(text.x->rpc.params);
    }
    atomic_store(&f.mem->fail_at, 0);
    mcpi_exchange_forget(text.x);
    assert_ptr_not_equal(text.x->doc, doc);
    fake_close(&f);
}

TEST_MAIN(TEST(what_follows_has_the_id_and_the_names),
          TEST(memory_is_given_back_and_not_counted),
          TEST(without_memory_all_stays_as_it_is))
