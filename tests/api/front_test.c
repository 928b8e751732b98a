/* front_test.c - ids in flight and counters, asked on any thread */
#include "api/front.h"

#include <string.h>

#include "support/test.h"

static const unsigned char seed[MCPI_SEED_SIZE] = "sixteen bytes...";

struct fixture {
    struct test_mem mem;
    struct mcpi_front front;
};

static void
front_open(struct fixture *f, bool negotiates)
{
    test_mem_init(&f->mem);
    assert_int_equal(mcpi_front_init(&f->front, &f->mem.allocator, seed, negotiates),
                     0);
}

static void
front_close(struct fixture *f)
{
    mcpi_front_done(&f->front);
    test_mem_done(&f->mem);
}

static int
claim_text(struct fixture *f, struct mcpi_claim *claim, const char *text)
{
    *claim = (struct mcpi_claim){.id = mcpi_id_string(text, strlen(text))};
    return mcpi_front_claim(&f->front, claim);
}

static int
claim_number(struct fixture *f, struct mcpi_claim *claim, int64_t number)
{
    *claim = (struct mcpi_claim){.id = mcpi_id_int(number)};
    return mcpi_front_claim(&f->front, claim);
}

static int64_t
mint(struct fixture *f, struct mcpi_claim *claim)
{
    *claim = (struct mcpi_claim){.id.kind = MCPI_ID_NONE};
    assert_int_equal(mcpi_front_claim(&f->front, claim), 0);
    assert_int_equal(claim->id.kind, MCPI_ID_INT);
    return claim->id.number;
}

static void
release(struct fixture *f, struct mcpi_claim *claim)
{
    mcpi_front_release(&f->front, claim, 0);
}

static void
A1_minted_ids_count_from_one_and_never_return(void **state)
{
    struct mcpi_claim a, b;
    struct fixture f;

    (void)state;
    front_open(&f, false);
    assert_int_equal(mint(&f, &a), 1);
    release(&f, &a);
    assert_int_equal(mint(&f, &a), 2);
    assert_int_equal(mint(&f, &b), 3);
    release(&f, &a);
    release(&f, &b);
    front_close(&f);
}

static void
A4_a_text_and_its_number_are_one_id(void **state)
{
    struct mcpi_claim a, b;
    struct fixture f;

    (void)state;
    front_open(&f, false);
    assert_int_equal(claim_number(&f, &a, 7), 0);
    assert_int_equal(claim_text(&f, &b, "7"), MCP_E_ID_IN_USE);
    assert_int_equal(claim_text(&f, &b, "07"), 0);
    release(&f, &a);
    assert_int_equal(claim_text(&f, &a, "7"), 0);
    release(&f, &a);
    release(&f, &b);
    front_close(&f);
}

static void
A7_minting_passes_over_what_is_taken(void **state)
{
    struct mcpi_claim taken, a, b, c;
    struct fixture f;

    (void)state;
    front_open(&f, false);
    assert_int_equal(claim_text(&f, &taken, "3"), 0);
    assert_int_equal(mint(&f, &a), 1);
    assert_int_equal(mint(&f, &b), 2);
    assert_int_equal(mint(&f, &c), 4);
    release(&f, &taken);
    release(&f, &a);
    release(&f, &b);
    release(&f, &c);
    front_close(&f);
}

static void
A8_an_id_is_free_again_after_its_end(void **state)
{
    struct mcpi_claim a;
    struct fixture f;

    (void)state;
    front_open(&f, false);
    assert_int_equal(claim_text(&f, &a, "again"), 0);
    release(&f, &a);
    assert_int_equal(claim_text(&f, &a, "again"), 0);
    release(&f, &a);
    front_close(&f);
}

static void
A9_ids_of_negotiation_are_taken_while_it_lasts(void **state)
{
    struct mcpi_claim a, b;
    struct fixture f;

    (void)state;
    front_open(&f, true);
    assert_int_equal(claim_number(&f, &a, 0), MCP_E_ID_IN_USE);
    assert_int_equal(claim_text(&f, &a, "0"), MCP_E_ID_IN_USE);
    assert_int_equal(claim_text(&f, &a, "libmcp:discover"), MCP_E_ID_IN_USE);
    mcpi_front_ready(&f.front);
    assert_int_equal(claim_number(&f, &a, 0), 0);
    assert_int_equal(claim_text(&f, &b, "libmcp:discover"), 0);
    release(&f, &a);
    release(&f, &b);
    front_close(&f);
}

static void
A11_zero_and_empty_are_ids(void **state)
{
    struct mcpi_claim zero, empty, other;
    struct fixture f;

    (void)state;
    front_open(&f, false);
    assert_int_equal(claim_number(&f, &zero, 0), 0);
    assert_int_equal(claim_text(&f, &empty, ""), 0);
    assert_int_equal(claim_text(&f, &other, ""), MCP_E_ID_IN_USE);
    assert_int_equal(claim_text(&f, &other, "0"), MCP_E_ID_IN_USE);
    release(&f, &zero);
    release(&f, &empty);
    front_close(&f);
}

static void
B22_nothing_can_be_claimed_once_it_is_closed(void **state)
{
    struct mcpi_claim a, b;
    struct fixture f;

    (void)state;
    front_open(&f, false);
    mint(&f, &a);
    mcpi_front_close(&f.front);
    assert_int_equal(claim_number(&f, &b, 5), MCP_E_CLOSED);
    release(&f, &a);
    front_close(&f);
}

static void
each_round_has_an_id_of_its_own(void **state)
{
    struct mcpi_claim a, b;
    struct mcpi_id first;
    struct fixture f;

    (void)state;
    front_open(&f, false);
    assert_int_equal(claim_text(&f, &a, "2"), 0);
    first = a.key;
    assert_int_equal(mcpi_front_renew(&f.front, &a, &first), 0);
    assert_int_equal(a.id.number, 1);
    assert_int_equal(claim_text(&f, &b, "2"), 0); /* it is free again */
    release(&f, &b);
    assert_int_equal(mcpi_front_renew(&f.front, &a, &first), 0);
    assert_int_equal(a.id.number, 3); /* 2 was its first, 1 its last */
    assert_int_equal(claim_number(&f, &b, 3), MCP_E_ID_IN_USE);
    assert_int_equal(claim_number(&f, &b, 1), 0);
    release(&f, &b);
    mcpi_front_close(&f.front);
    assert_int_equal(mcpi_front_renew(&f.front, &a, &first), MCP_E_CLOSED);
    assert_int_equal(a.id.number, 3);
    release(&f, &a);
    front_close(&f);
}

static void
A8_an_id_is_free_as_soon_as_its_call_is_given_up(void **state)
{
    mcp_client_counts counts = {0};
    struct mcpi_claim a, b;
    struct fixture f;

    (void)state;
    front_open(&f, false);
    assert_int_equal(claim_text(&f, &a, "again"), 0);
    mcpi_front_let_go(&f.front, &a);
    mcpi_front_let_go(&f.front, &a);
    assert_int_equal(claim_text(&f, &b, "again"), 0);
    assert_int_equal(mcpi_front_renew(&f.front, &a, &b.key), MCP_E_CANCELED);
    mcpi_front_count(&f.front, &counts);
    assert_int_equal(counts.calls, 2); /* it has not ended */
    mcpi_front_release(&f.front, &a, MCP_E_CANCELED);
    mcpi_front_let_go(&f.front, &a);
    assert_int_equal(claim_text(&f, &a, "again"), MCP_E_ID_IN_USE);
    mcpi_front_count(&f.front, &counts);
    assert_int_equal(counts.calls, 1);
    assert_int_equal(counts.canceled, 1);
    release(&f, &b);
    front_close(&f);
}

static void
each_end_has_its_counter(void **state)
{
    static const int ends[] = {0,
                               MCP_E_PEER,
                               MCP_E_PROTO,
                               MCP_E_CANCELED,
                               MCP_E_TIMEOUT,
                               MCP_E_TOTAL_TIMEOUT,
                               MCP_E_CLOSED};
    mcp_client_counts counts = {.size = 3};
    struct mcpi_claim a;
    struct fixture f;
    size_t i;

    (void)state;
    front_open(&f, false);
    for (i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        mint(&f, &a);
        mcpi_front_release(&f.front, &a, ends[i]);
    }
    mint(&f, &a);
    mcpi_front_count(&f.front, &counts);
    assert_int_equal(counts.size, 3);
    assert_int_equal(counts.calls, 1);
    assert_int_equal(counts.started, 8);
    assert_int_equal(counts.answered, 1);
    assert_int_equal(counts.failed, 2);
    assert_int_equal(counts.canceled, 1);
    assert_int_equal(counts.timed_out, 2);
    assert_int_equal(counts.closed, 1);
    release(&f, &a);
    front_close(&f);
}

TEST_MAIN(TEST(A1_minted_ids_count_from_one_and_never_return),
          TEST(A4_a_text_and_its_number_are_one_id),
          TEST(A7_minting_passes_over_what_is_taken),
          TEST(A8_an_id_is_free_again_after_its_end),
          TEST(A9_ids_of_negotiation_are_taken_while_it_lasts),
          TEST(A11_zero_and_empty_are_ids),
          TEST(B22_nothing_can_be_claimed_once_it_is_closed),
          TEST(each_round_has_an_id_of_its_own),
          TEST(A8_an_id_is_free_as_soon_as_its_call_is_given_up),
          TEST(each_end_has_its_counter))
