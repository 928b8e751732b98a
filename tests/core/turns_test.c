/* turns_test.c - the later legs of a call: their ids, and those its owner asks for */
#include "support/rounds.h"

/* ---- ids ------------------------------------------------------------------- */

static void
retry_never_has_the_id_of_what_it_repeats(void **state)
{
    struct mcpi_id ids[] = {mcpi_id_int(1), mcpi_id_string("1", 1), mcpi_id_int(2)};
    static const int64_t next[][2] = {{2, 3}, {2, 3}, {1, 3}};
    struct mcpi_call_options opt = {0};
    struct outcome out;
    struct fake f;

    (void)state;
    for (int i = 0; i < 3; i++) {
        fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
        opt.id = &ids[i];
        fake_issue(&f, &opt, &out);
        if (i == 1)
            fake_receive(&f, RESULT("\"1\"", ONE));
        else
            answer(&f, &out, ONE);
        for (int n = 0; n < 2; n++) {
            reply(&f, n, NO_ROOTS);
            fake_run(&f);
            assert_int_equal(mcpi_call_id(out.call)->number, next[i][n]);
            answer(&f, &out, ONE);
        }
        stop(&f, &out);
    }
}

struct claimer {
    struct fake *f;
    struct outcome out; /* the user of the call */
    int claims;
    int fails_with;
    bool cancels, frees;
    const struct mcpi_id *gives;
    int turns;          /* that are still wanted */
    const char *method; /* of these; NULL: tools/list */
    int status;
};

static int
on_claim(void *user, struct mcpi_call *call, struct mcpi_id *ret_id)
{
    struct claimer *c = MCPI_CONTAINER(user, struct claimer, out);

    c->claims++;
    if (c->cancels)
        assert_int_equal(mcpi_call_cancel(call, NULL, c->f->w.now), 0);
    if (c->frees) {
        mcpi_call_free(call, c->f->w.now);
        c->out.call = NULL;
    }
    *ret_id = c->gives ? *c->gives : mcpi_id_string("mine", 4);
    return c->fails_with;
}

static void
claimed_done(void *user, struct mcpi_call *call, int status,
             const struct mcpi_rpc *last)
{
    outcome_ops.done(user, call, status, last);
}

static const struct mcpi_call_ops claim_ops = {.done = claimed_done, .claim = on_claim};

static void
start_claimer(struct claimer *c, struct fake *f, const struct mcpi_call_ops *ops,
              const char *result)
{
    struct mcpi_call_options opt = {.ops = ops};

    c->f = f;
    fake_start(f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(f, &opt, &c->out);
    answer(f, &c->out, result);
}

static void
owner_chooses_the_ids_of_later_legs(void **state)
{
    struct claimer c = {0};
    struct fake f;

    (void)state;
    start_claimer(&c, &f, &claim_ops, ONE);
    assert_int_equal(c.claims, 0); /* not before it is due */
    reply(&f, 0, NO_ROOTS);
    fake_run(&f);
    assert_int_equal(c.claims, 1);
    assert_non_null(strstr(fake_text(&f, 0), "\"id\":\"mine\""));
    fake_receive(&f, RESULT("\"mine\"", ANSWERED));
    assert_int_equal(c.out.status, 0);
    stop(&f, &c.out);
}

static void
claim_that_fails_ends_the_call_with_its_status(void **state)
{
    struct mcpi_id taken = mcpi_id_int(77), bad = {0};
    struct claimer cs[] = {{.fails_with = MCP_E_NOMEM},
                           {.gives = &taken},
                           {.gives = &bad},
                           {.cancels = true},
                           {.cancels = true, .fails_with = MCP_E_NOMEM},
                           {.frees = true}};
    static const int statuses[] = {MCP_E_NOMEM,    MCP_E_ID_IN_USE, MCP_E_INVAL,
                                   MCP_E_CANCELED, MCP_E_CANCELED,  0};
    struct mcpi_call_options opt = {.id = &taken};
    struct outcome other;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < sizeof(cs) / sizeof(cs[0]); i++) {
        start_claimer(&cs[i], &f, &claim_ops, ONE);
        fake_issue(&f, &opt, &other);
        reply(&f, 0, NO_ROOTS);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "");
        assert_int_equal(cs[i].out.done, !cs[i].frees);
        assert_int_equal(cs[i].out.status, statuses[i]);
        assert_int_equal(other.done, 0);
        outcome_done(&other);
        stop(&f, &cs[i].out);
    }
}

static void
cancel_on_wake(struct fake *f, struct mcpi_outlet *outlet)
{
    struct outcome *out = f->user;

    (void)outlet;
    f->on_wake = NULL;
    assert_int_equal(mcpi_call_cancel(out->call, NULL, f->w.now), 0);
}

static void
L7_call_that_is_canceled_while_its_next_leg_opens_takes_it_back(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    start_asked(&f, NULL, ONE, &out);
    f.on_wake = cancel_on_wake;
    f.user = &out;
    reply(&f, 0, NO_ROOTS);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "");
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_CANCELED);
    fake_assert_quiet(&f);
    stop(&f, &out);
}

/* ---- one more leg, because its owner wants it ------------------------------ */

static bool
on_more(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *last,
        struct mcpi_next_leg *next)
{
    struct claimer *c = MCPI_CONTAINER(user, struct claimer, out);

    assert_non_null(last);
    c->status = status;
    if (c->cancels)
        assert_int_equal(mcpi_call_cancel(call, NULL, c->f->w.now), 0);
    next->method = c->method ? c->method : "tools/list";
    next->params = c->method ? "{\"name\":\"2\"}" : "{\"cursor\":\"2\"}";
    next->params_len = strlen(next->params);
    return c->turns-- > 0;
}

static const struct mcpi_call_ops more_ops = {.done = claimed_done, .more = on_more};
static const struct mcpi_call_ops more_claim_ops = {
    .done = claimed_done, .more = on_more, .claim = on_claim};

static void
owner_may_ask_for_one_more_leg_instead_of_the_end(void **state)
{
    struct claimer c = {.turns = 2};
    struct fake f;

    (void)state;
    start_claimer(&c, &f, &more_ops, ANSWERED);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request");
    assert_non_null(strstr(fake_text(&f, 0), "\"id\":2,\"method\":\"tools/list\","
                                             "\"params\":{\"cursor\":\"2\",\"_meta\""));
    assert_int_equal(c.out.done, 0);
    fake_receive(&f, ERROR("2", "-32000"));
    assert_int_equal(c.status, MCP_E_PEER); /* an error is an answer too */
    fake_run(&f);
    answer(&f, &c.out, ANSWERED);
    assert_int_equal(c.out.done, 1);
    assert_int_equal(c.out.status, 0);
    fake_assert_quiet(&f);
    stop(&f, &c.out);
}

static void
rounds_of_a_later_turn_repeat_that_turn(void **state)
{
    struct claimer c = {.turns = 1, .method = "prompts/get"};
    struct fake f;

    (void)state;
    start_claimer(&c, &f, &more_claim_ops, ANSWERED);
    fake_run(&f);
    fake_forget(&f);
    c.gives = &(struct mcpi_id){.kind = MCPI_ID_INT, .number = 9};
    fake_receive(&f, RESULT("\"mine\"", STATE));
    assert_int_equal(c.turns, 0); /* it is not the end, so nobody is asked */
    fake_pass(&f, MCPI_PAUSE_FIRST);
    fake_run(&f);
    assert_non_null(strstr(fake_text(&f, 0),
                           "\"id\":9,\"method\":\"prompts/get\",\"params\":{\"name\":"
                           "\"2\",\"requestState\":\"s2\",\"_meta\""));
    assert_int_equal(c.claims, 2);
    stop(&f, &c.out);
}

static void
turn_that_cannot_be_asked_back_is_not(void **state)
{
    struct claimer c = {.turns = 1};
    struct fake f;

    (void)state;
    start_claimer(&c, &f, &more_claim_ops, ANSWERED);
    fake_run(&f);
    fake_forget(&f);
    fake_receive(&f, RESULT("\"mine\"", STATE)); /* to tools/list */
    assert_int_equal(c.out.done, 1);
    assert_int_equal(c.out.status, MCP_E_PROTO);
    fake_pass(&f, MCPI_PAUSE_FIRST);
    fake_assert_quiet(&f);
    stop(&f, &c.out);
}

static void
call_that_is_canceled_in_more_has_no_more(void **state)
{
    struct fake f;

    (void)state;
    for (int turns = 0; turns < 2; turns++) { /* whatever it returns */
        struct claimer c = {.cancels = true, .turns = turns};

        start_claimer(&c, &f, &more_ops, ANSWERED);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "");
        assert_int_equal(c.out.done, 1);
        assert_int_equal(c.out.status, MCP_E_CANCELED);
        stop(&f, &c.out);
    }
}

static void
only_answers_lead_to_more(void **state)
{
    struct mcpi_call_options opt = {.ops = &more_ops, .timeout_us = SECOND};
    struct claimer c = {.turns = 5, .status = 1};
    struct fake f;

    (void)state;
    c.f = &f;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, &opt, &c.out);
    fake_pass(&f, SECOND);
    assert_int_equal(c.status, 1);
    assert_int_equal(c.out.status, MCP_E_TIMEOUT);
    stop(&f, &c.out);
}

TEST_MAIN(TEST(retry_never_has_the_id_of_what_it_repeats),
          TEST(owner_chooses_the_ids_of_later_legs),
          TEST(claim_that_fails_ends_the_call_with_its_status),
          TEST(L7_call_that_is_canceled_while_its_next_leg_opens_takes_it_back),
          TEST(owner_may_ask_for_one_more_leg_instead_of_the_end),
          TEST(rounds_of_a_later_turn_repeat_that_turn),
          TEST(turn_that_cannot_be_asked_back_is_not),
          TEST(call_that_is_canceled_in_more_has_no_more),
          TEST(only_answers_lead_to_more))
