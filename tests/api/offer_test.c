/* offer_test.c - the common part of tools, resources, templates and prompts */
#include "api/offer.h"

#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/timers.h"
#include "support/test.h"

struct thing {
    struct mcpi_offer offer;
    int number;
};

static int destroyed;

static void
thing_destroy(struct mcpi_offer *offer)
{
    destroyed++;
    mcpi_offer_done(offer);
}

static int
nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

static struct thing *
make(struct test_mem *mem)
{
    struct thing *thing;

    test_mem_init(mem);
    thing = mcpi_offer_new(&mem->allocator, sizeof(*thing), "key", thing_destroy);
    assert_non_null(thing);
    return thing;
}

static void
it_goes_with_its_last_reference(void **state)
{
    struct test_mem mem;
    struct thing *thing = make(&mem);

    (void)state;
    destroyed = 0;
    assert_string_equal(thing->offer.key, "key");
    assert_int_equal(thing->number, 0);
    assert_ptr_equal(mcpi_offer_ref(&thing->offer), &thing->offer);
    mcpi_offer_unref(&thing->offer);
    assert_int_equal(destroyed, 0);
    mcpi_offer_unref(&thing->offer);
    assert_int_equal(destroyed, 1);
    mcpi_offer_unref(NULL);
    test_mem_done(&mem);
}

static void
a_handler_is_one_of_three(void **state)
{
    struct mcpi_handler handler;
    mcp_error err = {0};
    int user;

    (void)state;
    assert_int_equal(mcpi_handler_read(&(mcp_handler){.run = nothing, .user = &user},
                                       &handler, NULL),
                     0);
    assert_int_equal(handler.kind, MCPI_RUNS);
    assert_ptr_equal(handler.fn, nothing);
    assert_ptr_equal(handler.user, &user);
    assert_int_equal(
        mcpi_handler_read(&(mcp_handler){.start = nothing}, &handler, NULL), 0);
    assert_int_equal(handler.kind, MCPI_STARTS);
    assert_int_equal(
        mcpi_handler_read(&(mcp_handler){.reply = nothing}, &handler, NULL), 0);
    assert_int_equal(handler.kind, MCPI_REPLIES);
    assert_int_equal(mcpi_handler_read(&(mcp_handler){.user = &user}, &handler, &err),
                     MCP_E_INVAL);
    assert_string_equal(err.message, "it needs one handler: run, start or reply");
    assert_int_equal(mcpi_handler_read(&(mcp_handler){.run = nothing, .start = nothing},
                                       &handler, &err),
                     MCP_E_INVAL);
}

static void
a_handler_has_flags_and_a_limit(void **state)
{
    struct mcpi_handler handler = {.kind = MCPI_RUNS};

    (void)state;
    assert_int_equal(mcpi_handler_bound(&handler, MCP_SIGNAL_ONLY, 5, NULL), 0);
    assert_true(handler.signal_only);
    assert_int_equal(handler.limit_us, 5000);
    assert_int_equal(mcpi_handler_bound(&handler, 0, -1, NULL), 0);
    assert_false(handler.signal_only);
    assert_int_equal(handler.limit_us, MCPI_NEVER);
    assert_int_equal(mcpi_handler_bound(&handler, 0, 0, NULL), 0);
    assert_int_equal(handler.limit_us, 0);
    assert_int_equal(mcpi_handler_bound(&handler, 2, 0, NULL), MCP_E_INVAL);
}

static void
meta_is_an_object_without_reserved_keys(void **state)
{
    struct test_mem mem;
    struct thing *thing = make(&mem);
    mcp_error err = {0};

    (void)state;
    mcp_builder_begin_object(thing->offer.shown, NULL);
    assert_int_equal(mcpi_offer_write_meta(&thing->offer, NULL, &err), 0);
    assert_int_equal(mcpi_offer_write_meta(&thing->offer, "[]", &err), MCP_E_INVAL);
    assert_string_equal(err.message, "its _meta is not an object");
    assert_int_equal(mcpi_offer_write_meta(&thing->offer, "{\"a\":1,\"a\":2}", &err),
                     MCP_E_INVAL);
    assert_int_equal(mcpi_offer_write_meta(&thing->offer, "{", &err), MCP_E_INVAL);
    assert_int_equal(
        mcpi_offer_write_meta(&thing->offer,
                              "{\"io.modelcontextprotocol/clientInfo\":{}}", &err),
        MCP_E_INVAL);
    assert_non_null(strstr(err.message, "reserved"));
    assert_int_equal(mcpi_offer_write_meta(&thing->offer, "{\"a\":\n1}", &err), 0);
    mcp_builder_end(thing->offer.shown);
    assert_string_equal(mcp_builder_text(thing->offer.shown, NULL),
                        "{\"_meta\":{\"a\":1}}");
    mcpi_offer_unref(&thing->offer);
    test_mem_done(&mem);
}

static void
make_in(struct test_mem *mem, void *user)
{
    struct thing *thing = mcpi_offer_new(&mem->allocator, sizeof(*thing), "key",
                                         thing_destroy);

    (void)user;
    if (!thing)
        return;
    mcp_builder_begin_object(thing->offer.shown, NULL);
    (void)mcpi_offer_write_meta(&thing->offer, "{\"a\":1}", NULL);
    mcpi_offer_unref(&thing->offer);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(make_in, NULL) > 2);
}

TEST_MAIN(TEST(it_goes_with_its_last_reference), TEST(a_handler_is_one_of_three),
          TEST(a_handler_has_flags_and_a_limit),
          TEST(meta_is_an_object_without_reserved_keys), TEST(each_allocation_may_fail))
