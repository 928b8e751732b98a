/* host_test.c - who runs handlers: how many of them do not stop */
#include "api/host.h"

#include <string.h>

#include "api/request.h"
#include "support/test.h"

static void
overdue_is_who_was_told_long_ago(void **state)
{
    mcp_request *requests = test_calloc(2, sizeof(*requests));
    struct mcpi_host host;
    int64_t now = mcpi_loop_clock();

    (void)state;
    memset(&host, 0, sizeof(host));
    assert_int_equal(mcpi_host_init(&host), 0);
    assert_int_equal(mcpi_host_overdue(&host, 0), 0);
    requests[0].told_at = now - 60000000; /* a minute ago */
    requests[1].told_at = now + 60000000;
    mcpi_list_append(&host.told, &requests[0].told);
    mcpi_list_append(&host.told, &requests[1].told);
    assert_int_equal(mcpi_host_overdue(&host, 1000000), 1);
    assert_int_equal(mcpi_host_overdue(&host, MCPI_NEVER), 0);
    mcpi_list_remove(&requests[0].told);
    assert_int_equal(mcpi_host_overdue(&host, 1000000), 0);
    mcpi_list_remove(&requests[1].told);
    mcpi_host_done(&host);
    test_free(requests);
}

static void
a_count_is_added_to_and_taken_from(void **state)
{
    struct mcpi_host host;

    (void)state;
    memset(&host, 0, sizeof(host));
    mcpi_tally_add(&host.tally.in_flight, 2);
    mcpi_tally_add(&host.tally.in_flight, -1);
    assert_int_equal(atomic_load(&host.tally.in_flight), 1);
}

static void
each_end_has_its_count(void **state)
{
    struct mcpi_host host;

    (void)state;
    memset(&host, 0, sizeof(host));
    mcpi_tally_add(&host.tally.in_flight, 6);
    mcpi_tally_answered(&host.tally, 0);
    mcpi_tally_answered(&host.tally, MCPI_RPC_INTERNAL_ERROR);
    mcpi_tally_ended(&host.tally, MCPI_CANCELED);
    mcpi_tally_ended(&host.tally, MCPI_LIMITED);
    mcpi_tally_ended(&host.tally, MCPI_CLOSED);
    mcpi_tally_ended(&host.tally, MCPI_DROPPED);
    assert_int_equal(atomic_load(&host.tally.in_flight), 0);
    assert_int_equal(atomic_load(&host.tally.answered), 1);
    assert_int_equal(atomic_load(&host.tally.failed), 1);
    assert_int_equal(atomic_load(&host.tally.by_peer), 1);
    assert_int_equal(atomic_load(&host.tally.by_limit), 1);
    assert_int_equal(atomic_load(&host.tally.by_stop), 1);
    assert_int_equal(atomic_load(&host.tally.by_loss), 1);
}

TEST_MAIN(TEST(overdue_is_who_was_told_long_ago),
          TEST(a_count_is_added_to_and_taken_from), TEST(each_end_has_its_count))
